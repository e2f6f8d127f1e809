//! The inside of a level set: blocks that nobody stored because nothing in them is near the surface.

use squall_core::Volume;
use squall_core::volume::BLOCK;

/// Blocks that the box around a level set may have: 4096 cells along each side.
const MOST_BLOCKS: i64 = 1 << 27;

/// Missing blocks in a row along z.
struct Run {
    from: i32,
    to: i32,
    /// Another run of the same region; the first of them is its own.
    parent: usize,
    /// Cells that face it, positive ones less negative ones.
    votes: i64,
}

/// The box around all blocks: the lowest, and how many along each axis.
fn extent(volume: &Volume) -> ([i32; 3], [i64; 3]) {
    let least = |a: usize| volume.blocks.iter().map(|block| block[a]).min().unwrap_or(0);
    let behind = |a: usize| volume.blocks.iter().map(|block| i64::from(block[a]) + 1).max().unwrap_or(0);
    let low = std::array::from_fn(least);
    (low, std::array::from_fn(|a| behind(a) - i64::from(low[a])))
}

/// Refuses blocks that are too far apart.
pub fn check(volume: &Volume) -> Result<(), String> {
    let (_, count) = extent(volume);
    let all = count.into_iter().try_fold(1_i64, |all, n| all.checked_mul(n));
    if all.is_none_or(|all| all > MOST_BLOCKS) {
        return Err(format!("its inside cannot be told from its outside in a box of {count:?} blocks"));
    }
    Ok(())
}

/// The blocks inside that are not stored, in no order.
///
/// Missing blocks that touch each other are a region, all of it on one side of the surface: that of most stored cells around it.
/// Beyond the box around all stored blocks is outside.
pub fn missing_inside(volume: &Volume) -> Vec<[i32; 3]> {
    let mut regions = Regions::new(volume);
    regions.join();
    regions.vote(volume);
    regions.inside()
}

struct Regions {
    low: [i32; 3],
    count: [usize; 3],
    runs: Vec<Run>,
    /// For each column of blocks, x slowest, where its runs begin; then how many runs there are.
    starts: Vec<usize>,
}

impl Regions {
    fn new(volume: &Volume) -> Self {
        let (low, count) = extent(volume);
        let count = count.map(|n| n as usize);
        let mut regions = Regions { low, count, runs: Vec::new(), starts: Vec::new() };
        let end = low[2] + count[2] as i32;
        let mut stored = volume.blocks.iter().peekable();
        for column in 0..count[0] * count[1] {
            regions.starts.push(regions.runs.len());
            let at = [low[0] + (column / count[1]) as i32, low[1] + (column % count[1]) as i32];
            let mut z = low[2];
            while let Some(block) = stored.next_if(|block| block[..2] == at) {
                regions.push(z, block[2]);
                z = block[2] + 1;
            }
            regions.push(z, end);
        }
        regions.starts.push(regions.runs.len());
        regions
    }

    fn push(&mut self, from: i32, to: i32) {
        if from < to {
            self.runs.push(Run { from, to, parent: self.runs.len(), votes: 0 });
        }
    }

    /// The first run of the region that a run belongs to.
    fn root(&mut self, mut run: usize) -> usize {
        while self.runs[run].parent != run {
            // Half of the way is left out the next time.
            self.runs[run].parent = self.runs[self.runs[run].parent].parent;
            run = self.runs[run].parent;
        }
        run
    }

    /// Makes one region of runs that touch: those of columns side by side that overlap.
    fn join(&mut self) {
        let [nx, ny, _] = self.count;
        for column in 0..nx * ny {
            let beside = [(column + ny < nx * ny).then_some(column + ny), (column % ny + 1 < ny).then_some(column + 1)];
            for other in beside.into_iter().flatten() {
                let (mut a, mut b) = (self.starts[column], self.starts[other]);
                while a < self.starts[column + 1] && b < self.starts[other + 1] {
                    let (one, two) = (&self.runs[a], &self.runs[b]);
                    let is_first_over = one.to < two.to;
                    if one.from < two.to && two.from < one.to {
                        let (one, two) = (self.root(a), self.root(b));
                        self.runs[one.max(two)].parent = one.min(two);
                    }
                    if is_first_over { a += 1 } else { b += 1 }
                }
            }
        }
    }

    /// The run that a block belongs to; none if it is stored or outside the box.
    fn find(&self, block: [i32; 3]) -> Option<usize> {
        let at: [i32; 3] = std::array::from_fn(|a| block[a] - self.low[a]);
        if !(0..3).all(|a| (0..self.count[a] as i32).contains(&at[a])) {
            return None;
        }
        let column = at[0] as usize * self.count[1] + at[1] as usize;
        let runs = self.starts[column]..self.starts[column + 1];
        let run = runs.start + self.runs[runs].partition_point(|run| run.to <= block[2]);
        (run < self.starts[column + 1] && self.runs[run].from <= block[2]).then_some(run)
    }

    /// Every stored cell that faces a region tells on which side it lies.
    fn vote(&mut self, volume: &Volume) {
        for (b, &block) in volume.blocks.iter().enumerate() {
            for (axis, step) in [(0, -1), (0, 1), (1, -1), (1, 1), (2, -1), (2, 1)] {
                let mut beside = block;
                beside[axis] += step;
                let Some(run) = self.find(beside) else { continue };
                let layer = if step < 0 { 0 } else { BLOCK - 1 };
                let stride = BLOCK.pow(axis as u32);
                let cells = volume.block(b).iter().enumerate().filter(|(i, _)| i / stride % BLOCK == layer);
                let votes: i64 = cells.map(|(_, v)| i64::from(*v > 0.0) - i64::from(*v < 0.0)).sum();
                let root = self.root(run);
                self.runs[root].votes += votes;
            }
        }
    }

    fn inside(mut self) -> Vec<[i32; 3]> {
        let mut blocks = Vec::new();
        for column in 0..self.starts.len() - 1 {
            let [x, y] = [column / self.count[1], column % self.count[1]];
            for run in self.starts[column]..self.starts[column + 1] {
                let root = self.root(run);
                if self.runs[root].votes < 0 {
                    let z = self.runs[run].from..self.runs[run].to;
                    blocks.extend(z.map(|z| [self.low[0] + x as i32, self.low[1] + y as i32, z]));
                }
            }
        }
        blocks
    }
}

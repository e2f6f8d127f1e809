//! Where obstacles are on a grid, at one time.

use smallvec::SmallVec;

use super::{BAND, Obstacle, cell_size};
use crate::grid::{Axis, Grid};
use crate::layout::Row;
use crate::ops::each;

/// A box of cells: from `lo` on, up to and without `hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellBox<const D: usize> {
    /// The first cell along each axis.
    pub lo: [isize; D],
    /// The cell behind the last one along each axis.
    pub hi: [isize; D],
}

impl<const D: usize> CellBox<D> {
    /// All cells there are.
    pub(super) const EVERYTHING: Self = CellBox { lo: [isize::MIN / 4; D], hi: [isize::MAX / 4; D] };

    /// The cells of a row, from `x` on.
    pub(super) fn of_row(row: Row<'_, D>, x: usize, len: usize) -> Self {
        let mut lo = row.index;
        lo[0] += x as isize;
        let mut hi = lo.map(|i| i + 1);
        hi[0] = lo[0] + len as isize;
        CellBox { lo, hi }
    }

    /// Whether two boxes have a cell in common.
    pub fn meets(&self, other: &Self) -> bool {
        (0..D).all(|a| self.lo[a] < other.hi[a] && other.lo[a] < self.hi[a])
    }

    /// Whether a cell is in the box.
    pub fn holds(&self, index: [isize; D]) -> bool {
        (0..D).all(|a| self.lo[a] <= index[a] && index[a] < self.hi[a])
    }

    /// The middle of the box in metres, and the distance from there to its corners.
    fn middle(&self, grid: &Grid<D>) -> ([f64; D], f64) {
        let at = each(|a| grid.origin[a] + 0.5 * (self.lo[a] + self.hi[a]) as f64 * grid.spacing[a]);
        let size = (0..D).map(|a| (self.hi[a] - self.lo[a]) as f64 * grid.spacing[a]);
        (at, 0.5 * size.map(|s| s * s).sum::<f64>().sqrt())
    }
}

/// One obstacle, or a periodic image of it.
pub(crate) struct Placed<'a, const D: usize> {
    pub obstacle: &'a Obstacle<D>,
    /// Which of the obstacles that is.
    pub number: usize,
    shift: [f64; D],
    /// The cells that it may touch, with a margin of a little more than [`BAND`] cells.
    pub cells: CellBox<D>,
}

impl<const D: usize> Placed<'_, D> {
    pub fn distance(&self, x: [f64; D], t: f64) -> f64 {
        self.obstacle.shape.distance(each(|a| x[a] - self.shift[a]), t) - self.obstacle.grow
    }

    pub fn velocity(&self, x: [f64; D], t: f64) -> [f64; D] {
        self.obstacle.shape.velocity(each(|a| x[a] - self.shift[a]), t)
    }

    /// Where a point that goes along with it comes to.
    pub fn carried(&self, x: [f64; D], from: f64, to: f64) -> [f64; D] {
        let there = self.obstacle.shape.carried(each(|a| x[a] - self.shift[a]), from, to);
        each(|a| there[a] + self.shift[a])
    }
}

/// All obstacles at time `t`. One that reaches over the end of a periodic axis comes in again on the other side.
pub(super) fn place<'a, const D: usize>(
    obstacles: &'a [Obstacle<D>],
    grid: &Grid<D>,
    t: f64,
) -> SmallVec<[Placed<'a, D>; 4]> {
    let margin = (BAND + 1.0) * cell_size(grid);
    let size = grid.size();
    let mut placed = SmallVec::new();
    for (number, obstacle) in obstacles.iter().enumerate() {
        let finite = |x: &[f64; D]| x.iter().all(|x| x.is_finite());
        let Some((lo, hi)) = obstacle.shape.bounds(t).filter(|(lo, hi)| finite(lo) && finite(hi)) else {
            placed.push(Placed { obstacle, number, shift: [0.0; D], cells: CellBox::EVERYTHING });
            continue;
        };
        let (lo, hi): ([f64; D], [f64; D]) =
            (each(|a| lo[a] - obstacle.grow - margin), each(|a| hi[a] + obstacle.grow + margin));
        // Images along each periodic axis, by how many lengths of the box they are shifted: the one that has its middle in
        // the box, and the two next to it, if they reach into the box.
        let images: [(i64, i64); D] = each(|a| match grid.axes[a] {
            Axis::Periodic => {
                let home = -((0.5 * (lo[a] + hi[a]) - grid.origin[a]) / size[a]).floor();
                let first = ((grid.origin[a] - hi[a]) / size[a]).ceil();
                let last = ((grid.origin[a] + size[a] - lo[a]) / size[a]).floor();
                (first.max(home - 1.0) as i64, last.min(home + 1.0) as i64)
            }
            Axis::Bounded { .. } | Axis::Unbounded => (0, 0),
        });
        let counts = images.map(|(first, last)| (last - first + 1).max(0));
        for i in 0..counts.iter().product() {
            let mut rest = i;
            let shift: [f64; D] = each(|a| {
                let image = images[a].0 + rest % counts[a];
                rest /= counts[a];
                image as f64 * size[a]
            });
            // Far away is far enough.
            let index = |x: f64, a: usize| {
                ((x + shift[a] - grid.origin[a]) / grid.spacing[a]).floor().clamp(-1e12, 1e12) as isize
            };
            let cells = CellBox { lo: each(|a| index(lo[a], a)), hi: each(|a| index(hi[a], a) + 1) };
            placed.push(Placed { obstacle, number, shift, cells });
        }
    }
    placed
}

/// What is known about all points of a block of cells.
pub(super) enum Block<'a, const D: usize> {
    /// They are further than [`BAND`] from everything.
    Far,
    /// They are inside this solid, further than [`BAND`] from its surface.
    Inside(&'a Placed<'a, D>),
    /// These obstacles may be near.
    Near(Near<'a, D>),
}

/// Obstacles near a block; there is at least one.
pub(super) struct Near<'a, const D: usize> {
    pub placed: SmallVec<[&'a Placed<'a, D>; 4]>,
}

impl<'a, const D: usize> Near<'a, D> {
    /// The smallest distance, and to which obstacle. The first of equals.
    pub fn nearest(&self, x: [f64; D], t: f64) -> (f64, &'a Placed<'a, D>) {
        let mut best = (self.placed[0].distance(x, t), self.placed[0]);
        for &p in &self.placed[1..] {
            let d = p.distance(x, t);
            if d < best.0 {
                best = (d, p);
            }
        }
        best
    }
}

impl<'a, const D: usize> Block<'a, D> {
    /// One look at each obstacle that may be there: no distance changes by more than the way between two points, so what
    /// is far from the middle of a block is far from all of it.
    pub fn look(placed: &'a [Placed<'a, D>], block: &CellBox<D>, grid: &Grid<D>, t: f64) -> Self {
        let mut near = SmallVec::new();
        let mut middle = None;
        for p in placed.iter().filter(|p| p.cells.meets(block)) {
            let (at, radius) = *middle.get_or_insert_with(|| block.middle(grid));
            let reach = radius + BAND * cell_size(grid);
            let d = p.distance(at, t);
            if d < -reach {
                return Block::Inside(p);
            }
            if d <= reach {
                near.push(p);
            }
        }
        if near.is_empty() { Block::Far } else { Block::Near(Near { placed: near }) }
    }

    /// The distance at a point of the block; beyond [`BAND`] only its sign is right.
    pub fn distance(&self, x: [f64; D], grid: &Grid<D>, t: f64) -> f64 {
        match self {
            Block::Far => BAND * cell_size(grid),
            Block::Inside(_) => -BAND * cell_size(grid),
            Block::Near(near) => near.nearest(x, t).0,
        }
    }
}

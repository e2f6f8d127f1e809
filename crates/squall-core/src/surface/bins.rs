//! Points in space, found by where they are: lists by cells, cells in blocks, blocks in order.

use super::blocks::{BlockMap, Numbered, cell_at};

/// Cells along each side of a block.
const SIDE: i32 = 8;

/// Points sorted into cells of one size.
#[derive(Clone, Debug)]
pub(super) struct Bins<const D: usize> {
    /// Which blocks hold points, in ascending order.
    blocks: Vec<[i32; D]>,
    slots: BlockMap<D>,
    /// Where the points of each cell of each block begin, and one more at the end.
    starts: Vec<u32>,
    /// Places in cells.
    places: Vec<[f64; D]>,
    /// Which of the points that were given each is.
    pub order: Vec<u32>,
}

impl<const D: usize> Bins<D> {
    const CELLS: usize = (SIDE as usize).pow(D as u32);

    /// Sorts `places`, in cells.
    pub fn new(places: &[[f64; D]]) -> Self {
        let mut found = Numbered::default();
        let slots_of: Vec<u32> = places.iter().map(|p| found.number(cell_at(*p).map(|i| i.div_euclid(SIDE)))).collect();
        let blocks = found.blocks;
        let mut sorted: Vec<u32> = (0..blocks.len() as u32).collect();
        sorted.sort_unstable_by_key(|&slot| blocks[slot as usize]);
        let mut rank = vec![0u32; blocks.len()];
        sorted.iter().enumerate().for_each(|(new, &old)| rank[old as usize] = new as u32);
        let blocks: Vec<[i32; D]> = sorted.iter().map(|&old| blocks[old as usize]).collect();
        let slots = blocks.iter().enumerate().map(|(slot, &b)| (b, slot as u32)).collect();
        // Counted, then put in their places: points of a cell stay in the order in which they came.
        let keys: Vec<u32> = places
            .iter()
            .zip(&slots_of)
            .map(|(p, &slot)| {
                let local = cell_at(*p).map(|i| i.rem_euclid(SIDE) as usize);
                let within = (0..D).rev().fold(0, |at, a| SIDE as usize * at + local[a]);
                rank[slot as usize] * Self::CELLS as u32 + within as u32
            })
            .collect();
        let mut starts = vec![0u32; blocks.len() * Self::CELLS + 1];
        keys.iter().for_each(|&key| starts[key as usize + 1] += 1);
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut order = vec![0; places.len()];
        for (i, &key) in keys.iter().enumerate() {
            order[next[key as usize] as usize] = i as u32;
            next[key as usize] += 1;
        }
        let places = order.iter().map(|&i| places[i as usize]).collect();
        Bins { blocks, slots, starts, places, order }
    }

    /// Calls `f` with every cell that has points.
    pub fn for_each_occupied(&self, mut f: impl FnMut([i32; D])) {
        for (slot, block) in self.blocks.iter().enumerate() {
            for i in 0..Self::CELLS {
                let at = slot * Self::CELLS + i;
                if self.starts[at + 1] > self.starts[at] {
                    f(std::array::from_fn(|a| SIDE * block[a] + (i as i32 / SIDE.pow(a as u32)) % SIDE));
                }
            }
        }
    }

    /// Calls `f` with the points of the cells from `low` to `high`, both included, run by run: where the run begins, and its places.
    #[inline(always)]
    pub fn near(&self, low: [i32; D], high: [i32; D], mut f: impl FnMut(usize, &[[f64; D]])) {
        self.runs(low, high, |starts| {
            let (begin, end) = (starts[0] as usize, starts[starts.len() - 1] as usize);
            if begin < end {
                f(begin, &self.places[begin..end]);
            }
        });
    }

    /// The starts of the cells of each row of cells between two, block by block.
    #[inline(always)]
    fn runs(&self, low: [i32; D], high: [i32; D], mut f: impl FnMut(&[u32])) {
        let block_low = low.map(|i| i.div_euclid(SIDE));
        let spans: [i32; D] = std::array::from_fn(|a| high[a].div_euclid(SIDE) - block_low[a] + 1);
        for b in 0..spans.iter().product::<i32>() {
            let mut rest = b;
            let block: [i32; D] = std::array::from_fn(|a| {
                let i = rest % spans[a];
                rest /= spans[a];
                block_low[a] + i
            });
            let Some(&slot) = self.slots.get(&block) else { continue };
            let from: [i32; D] = std::array::from_fn(|a| (low[a] - SIDE * block[a]).max(0));
            let to: [i32; D] = std::array::from_fn(|a| (high[a] - SIDE * block[a]).min(SIDE - 1));
            let rows: i32 = (1..D).map(|a| to[a] - from[a] + 1).product();
            for r in 0..rows {
                let (mut rest, mut at, mut stride) = (r, 0, SIDE);
                for a in 1..D {
                    let n = to[a] - from[a] + 1;
                    at += (from[a] + rest % n) * stride;
                    rest /= n;
                    stride *= SIDE;
                }
                let first = slot as usize * Self::CELLS + at as usize;
                f(&self.starts[first + from[0] as usize..=first + to[0] as usize + 1]);
            }
        }
    }
}

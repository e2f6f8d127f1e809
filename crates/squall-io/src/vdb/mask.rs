//! Where there is something: what keeps files small.

use squall_core::Volume;
use squall_core::volume::{BLOCK, BLOCK_CELLS};

/// Some cells of a grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    /// Blocks with cells, in ascending order, and which of their cells: one word for each z, x fastest.
    blocks: Vec<([i32; 3], [u64; BLOCK])>,
}

impl Mask {
    /// The cells in which a value is `threshold` or more away from zero.
    pub fn of(volume: &Volume, threshold: f32) -> Self {
        let bits = |values: &[f32]| {
            let mut words = [0; BLOCK];
            for (word, plane) in words.iter_mut().zip(values.chunks_exact(BLOCK * BLOCK)) {
                for (i, v) in plane.iter().enumerate() {
                    // What is not a number is something.
                    *word |= u64::from(v.is_nan() || v.abs() >= threshold && *v != 0.0) << i;
                }
            }
            words
        };
        let all = volume.blocks.iter().zip(volume.values.chunks_exact(BLOCK_CELLS)).map(|(b, v)| (*b, bits(v)));
        Self { blocks: all.filter(|(_, words)| *words != [0; BLOCK]).collect() }
    }

    /// The cells of either.
    pub fn or(mut self, mut other: Self) -> Self {
        self.blocks.append(&mut other.blocks);
        self.merged()
    }

    /// Also the cells at most `cells` away, corners included.
    pub fn grown(mut self, cells: usize) -> Self {
        for _ in 0..cells {
            for axis in 0..3 {
                self = self.grown_along(axis);
            }
        }
        self
    }

    fn grown_along(self, axis: usize) -> Self {
        let mut all = Vec::with_capacity(3 * self.blocks.len());
        for (block, words) in self.blocks {
            let beside = |by: i32| std::array::from_fn(|a| block[a] + if a == axis { by } else { 0 });
            // Cells that are moved out of a block appear at the other end of the next.
            let (within, below, above): ([u64; BLOCK], [u64; BLOCK], [u64; BLOCK]) = match axis {
                0 => (
                    words.map(|w| w | (w << 1) & !COLUMN | (w >> 1) & !(COLUMN << 7)),
                    words.map(|w| (w & COLUMN) << 7),
                    words.map(|w| (w >> 7) & COLUMN),
                ),
                1 => (words.map(|w| w | (w << 8) | (w >> 8)), words.map(|w| w << 56), words.map(|w| w >> 56)),
                _ => {
                    let at = |z: usize, by: isize| z.checked_add_signed(by).and_then(|z| words.get(z)).unwrap_or(&0);
                    let only = |z: usize, word: u64| std::array::from_fn(|i| if i == z { word } else { 0 });
                    let within = std::array::from_fn(|z| words[z] | at(z, -1) | at(z, 1));
                    (within, only(BLOCK - 1, words[0]), only(0, words[BLOCK - 1]))
                }
            };
            all.extend([(beside(-1), below), (block, within), (beside(1), above)]);
        }
        all.retain(|(_, words)| *words != [0; BLOCK]);
        Self { blocks: all }.merged()
    }

    /// In order, each block once.
    fn merged(mut self) -> Self {
        self.blocks.sort_unstable_by_key(|(block, _)| *block);
        self.blocks.dedup_by(|(later, more), (block, words)| {
            let same = later == block;
            if same {
                words.iter_mut().zip(more).for_each(|(w, m)| *w |= *m);
            }
            same
        });
        self
    }

    /// How many cells.
    pub fn count(&self) -> u64 {
        self.blocks.iter().flat_map(|(_, words)| words).map(|w| u64::from(w.count_ones())).sum()
    }

    /// Makes everything else the background; blocks in which nothing is left vanish.
    pub fn apply(&self, volume: &mut Volume) {
        let mut kept = Volume { blocks: Vec::new(), values: Vec::new(), ..*volume };
        for (b, block) in volume.blocks.iter().enumerate() {
            let Ok(found) = self.blocks.binary_search_by_key(block, |(block, _)| *block) else { continue };
            let words = &self.blocks[found].1;
            kept.blocks.push(*block);
            kept.values.extend(volume.block(b).iter().enumerate().map(|(i, &v)| {
                let inside = words[i / 64] >> (i % 64) & 1 == 1;
                // Zero has no sign here: it is what it is elsewhere.
                if inside && v != 0.0 { v } else { volume.background }
            }));
        }
        *volume = kept;
    }
}

/// The cells with x = 0 of a word.
const COLUMN: u64 = 0x0101_0101_0101_0101;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grown_mask_holds_the_cells_around_in_all_blocks_and_no_others() {
        for cell in [[0, 0, 0], [7, 7, 7], [3, 0, 7], [-1, 5, 8], [1, 6, -16]] {
            let block = cell.map(|i: i32| i.div_euclid(8));
            let mut values = vec![0.0; BLOCK_CELLS];
            let [x, y, z] = cell.map(|i| i.rem_euclid(8) as usize);
            values[x + 8 * (y + 8 * z)] = 1.0;
            let one = Volume { spacing: 1.0, blocks: vec![block], values, ..Volume::default() };
            let mask = Mask::of(&one, 0.5).grown(2);
            assert_eq!(mask.count(), 125);
            // Seen through a volume that is 1 everywhere.
            let mut full = Volume { spacing: 1.0, ..Volume::default() };
            for b in 0..125 {
                full.blocks.push([b / 25 - 2, b / 5 % 5 - 2, b % 5 - 3].map(|i| i));
            }
            full.values = vec![1.0; full.blocks.len() * BLOCK_CELLS];
            mask.apply(&mut full);
            for n in 0..7i32.pow(3) {
                let by = [n % 7 - 3, n / 7 % 7 - 3, n / 49 - 3];
                let there = full.get(std::array::from_fn(|a| cell[a] + by[a]));
                assert_eq!(there == 1.0, by.iter().all(|d| d.abs() <= 2), "{cell:?} {by:?}");
            }
        }
    }

    #[test]
    fn what_is_faint_or_zero_is_left_out_and_what_is_no_number_stays() {
        let mut values = vec![0.0; 2 * BLOCK_CELLS];
        (values[0], values[1], values[2], values[3]) = (-4.6e-33, 0.2, -0.3, f32::NAN);
        values[BLOCK_CELLS] = 0.09;
        let mut volume = Volume { spacing: 1.0, blocks: vec![[0; 3], [1, 0, 0]], values, ..Volume::default() };
        let mask = Mask::of(&volume, 0.1);
        assert_eq!(mask.count(), 3);
        mask.apply(&mut volume);
        assert_eq!(volume.blocks, [[0; 3]]);
        assert_eq!(volume.values[..3], [0.0, 0.2, -0.3]);
        assert!(volume.values[3].is_nan());
        assert_eq!(Mask::of(&volume, 0.0).or(mask.clone()), mask, "nothing at zero");
    }
}

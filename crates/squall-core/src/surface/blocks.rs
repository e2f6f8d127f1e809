//! Blocks of cells found by their coordinates.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Which of some blocks lies where.
pub(super) type BlockMap<const D: usize> = HashMap<[i32; D], u32, BuildHasherDefault<CoordinateHasher>>;

/// Coordinates are small numbers of our own making: no one attacks them, and the usual hash took a third of the time to make a surface.
#[derive(Default)]
pub(super) struct CoordinateHasher(u64);

impl Hasher for CoordinateHasher {
    fn finish(&self) -> u64 {
        // The map takes the upper bits as well as the lower ones.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(4) {
            let value = part.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    // The length of a list is always the same.
    fn write_usize(&mut self, _: usize) {}
}

/// Numbers blocks in the order in which they are met.
#[derive(Clone, Debug)]
pub(super) struct Numbered<const D: usize> {
    pub slots: BlockMap<D>,
    /// Those met last, by whether their coordinates are odd: particles come tile by tile, and a tile is a few blocks.
    recent: [([i32; D], u32); 8],
    pub blocks: Vec<[i32; D]>,
}

impl<const D: usize> Default for Numbered<D> {
    fn default() -> Self {
        // No cell has such coordinates.
        Numbered { slots: BlockMap::default(), recent: [([i32::MAX; D], 0); 8], blocks: Vec::new() }
    }
}

impl<const D: usize> Numbered<D> {
    /// The number of a block.
    #[inline(always)]
    pub fn number(&mut self, block: [i32; D]) -> u32 {
        let recent = &mut self.recent[(0..D).fold(0, |n, a| n << 1 | (block[a] & 1) as usize)];
        if recent.0 != block {
            let number = *self.slots.entry(block).or_insert_with(|| {
                self.blocks.push(block);
                self.blocks.len() as u32 - 1
            });
            *recent = (block, number);
        }
        recent.1
    }
}

/// The cell that a place in cells lies in.
#[inline(always)]
pub(super) fn cell_at<const D: usize>(place: [f64; D]) -> [i32; D] {
    // `floor` is a function call where SSE 4.1 is not taken for granted.
    place.map(|x| {
        let towards_zero = x as i32;
        towards_zero.wrapping_sub(i32::from(f64::from(towards_zero) > x))
    })
}

/// The blocks around one along each axis, itself in the middle, x fastest.
pub(super) fn around<const D: usize>(block: [i32; D]) -> impl Iterator<Item = [i32; D]> {
    (0..3i32.pow(D as u32)).map(move |mut n| {
        block.map(|i| {
            let by = n % 3 - 1;
            n /= 3;
            i + by
        })
    })
}

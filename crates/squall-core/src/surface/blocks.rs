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

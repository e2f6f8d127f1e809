//! Pixels to palette entries. A colour between two entries becomes a fixed pattern of both, so that smooth smoke does
//! not band; the pattern stands still from frame to frame.

use crate::palette::Palette;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Bayer's 8 x 8 matrix: 0 to 63, each once.
const fn bayer(x: usize, y: usize) -> u8 {
    let (mut value, mut bit) = (0, 0);
    while bit < 3 {
        let (xb, yb) = ((x >> bit) & 1, (y >> bit) & 1);
        value |= (((xb ^ yb) << 1) | yb) << (2 * (2 - bit));
        bit += 1;
    }
    value as u8
}

/// Maps pixels to a palette and remembers every colour it has seen.
pub struct Mapper {
    palette: Palette,
    // One slot per 24-bit colour: 0 or 2^24 + the mixture. Threads may fill a slot twice, with the same value. Movies have few
    // colours: slots are made for 16 levels of each channel together, when the first of them is seen.
    seen: Vec<OnceLock<Box<[AtomicU32]>>>,
    thresholds: [[u8; 8]; 8],
}

impl Mapper {
    pub fn new(palette: Palette) -> Self {
        let thresholds = std::array::from_fn(|y| std::array::from_fn(|x| 4 * bayer(x, y) + 2));
        Self { palette, seen: (0..1 << 12).map(|_| OnceLock::new()).collect(), thresholds }
    }

    pub fn palette(&self) -> &Palette {
        &self.palette
    }

    /// The palette entry for each pixel of a picture whose rows are `width` long.
    pub fn indices(&self, rgba: &[u8], width: usize) -> Vec<u8> {
        let pixels = rgba.as_chunks().0.iter().enumerate();
        pixels.map(|(i, &pixel)| self.index(opaque(pixel), i % width, i / width)).collect()
    }

    fn index(&self, [r, g, b]: [u8; 3], x: usize, y: usize) -> u8 {
        let at = |by: fn(u8) -> u8| [r, g, b].into_iter().fold(0, |at, v| at << 4 | usize::from(by(v)));
        let slots = self.seen[at(|v| v >> 4)].get_or_init(|| (0..1 << 12).map(|_| AtomicU32::new(0)).collect());
        let slot = &slots[at(|v| v & 15)];
        let mut known = slot.load(Relaxed);
        if known == 0 {
            let (first, second, share) = self.palette.mixture([r, g, b]);
            known = u32::from_le_bytes([first, second, share, 1]);
            slot.store(known, Relaxed);
        }
        let [first, second, share, _] = known.to_le_bytes();
        if share > self.thresholds[y % 8][x % 8] { second } else { first }
    }
}

/// The pixel over black: GIF has no half-transparent pixels.
pub fn opaque([r, g, b, a]: [u8; 4]) -> [u8; 3] {
    if a == 255 { [r, g, b] } else { [r, g, b].map(|v| (u16::from(v) * u16::from(a) / 255) as u8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bayers_matrix_holds_every_threshold_once() {
        let mut all: Vec<u8> = (0..64).map(|i| bayer(i % 8, i / 8)).collect();
        all.sort();
        assert!(all.iter().enumerate().all(|(i, &v)| usize::from(v) == i));
    }

    #[test]
    fn a_pattern_has_the_mean_of_the_colour_it_stands_for() {
        let mapper = Mapper::new(Palette::of(vec![[0, 0, 0], [64, 64, 64], [255, 0, 0]]));
        for level in (0..=64u8).step_by(8) {
            let indices = mapper.indices(&[level, level, level, 255].repeat(64), 8);
            let mean =
                indices.iter().map(|&i| f32::from(mapper.palette().colors[usize::from(i)][1])).sum::<f32>() / 64.0;
            // One threshold of 64 between two entries 64 apart is one level.
            assert!((mean - f32::from(level)).abs() <= 1.0, "{level}: {mean}");
        }
    }
}

//! The finished picture: 8-bit sRGB.

use crate::color::{Encoder, from_srgb8};
use rayon::prelude::*;

/// A picture: 8-bit sRGB with alpha (not premultiplied), the top row first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green, blue, alpha.
    pub pixels: Vec<[u8; 4]>,
}

impl Image {
    /// All samples in one row of bytes, four per pixel.
    pub fn rgba(&self) -> &[u8] {
        self.pixels.as_flattened()
    }

    /// All samples in one row of bytes, three per pixel: for pictures without transparency.
    pub fn to_rgb(&self) -> Vec<u8> {
        self.pixels.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect()
    }

    /// The same picture in fewer pixels, each the mean of those that it covers, in linear light.
    pub fn shrunk(&self, width: usize, height: usize) -> Self {
        let part =
            |i: usize, of: usize, all: usize| (i * all / of)..((i + 1) * all / of).max(i * all / of + 1).min(all);
        Self::draw(width, height, |y, row| {
            let rows = part(y, height, self.height);
            for (x, out) in row.iter_mut().enumerate() {
                let columns = part(x, width, self.width);
                let (mut sum, count) = ([0.0f32; 4], (rows.len() * columns.len()).max(1) as f32);
                for row in rows.clone() {
                    for &[r, g, b, a] in &self.pixels[row * self.width..][columns.clone()] {
                        let alpha = f32::from(a) / 255.0;
                        let light = from_srgb8([r, g, b]);
                        (0..3).for_each(|c| sum[c] += alpha * light[c]);
                        sum[3] += alpha;
                    }
                }
                let whole = 1.0 / sum[3].max(1e-6);
                *out = [sum[0] * whole, sum[1] * whole, sum[2] * whole, sum[3] / count];
            }
        })
    }

    /// Draws row by row in parallel: `f` gets the number of a row, counted from the top, and its pixels in linear
    /// light with straight alpha, opaque black at first.
    pub(crate) fn draw(width: usize, height: usize, f: impl Fn(usize, &mut [[f32; 4]]) + Sync) -> Self {
        let mut pixels = vec![[0; 4]; width * height];
        let encoder = Encoder::new();
        let draw_row = |linear: &mut Vec<[f32; 4]>, (y, row): (usize, &mut [[u8; 4]])| {
            linear.clear();
            linear.resize(width, [0.0, 0.0, 0.0, 1.0]);
            f(y, linear);
            for (x, (pixel, &[r, g, b, a])) in row.iter_mut().zip(linear.iter()).enumerate() {
                let noise = pattern(x, y);
                // The whole part after adding 0 to 1: right on average. `as u8` turns what is left of NaN into 0.
                let level = |v: f32| (encoder.encode(v) + noise) as u8;
                *pixel = [level(r), level(g), level(b), (255.0 * a.clamp(0.0, 1.0) + 0.5) as u8];
            }
        };
        pixels.par_chunks_mut(width.max(1)).enumerate().for_each_init(Vec::new, draw_row);
        Self { width, height, pixels }
    }
}

/// A fixed pattern of numbers between 0 and 1, every small patch of which is evenly spread ("interleaved gradient
/// noise", Jimenez 2014). It keeps away from the ends so that a colour that is exact stays exact.
#[inline(always)]
pub(crate) fn pattern(x: usize, y: usize) -> f32 {
    let inner = 0.067_110_56 * x as f32 + 0.005_837_15 * y as f32;
    let outer = 52.982_918 * (inner - inner.floor());
    0.02 + 0.96 * (outer - outer.floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_is_evenly_spread_everywhere() {
        for (left, top) in [(0, 0), (1000, 31), (4000, 4000)] {
            let sum: f32 = (0..64).map(|i| pattern(left + i % 8, top + i / 8)).sum();
            assert!((sum / 64.0 - 0.5).abs() < 0.05, "{}", sum / 64.0);
        }
    }

    #[test]
    fn a_shrunk_picture_has_the_mean_light_of_the_whole() {
        // Black and white in turns are half the light, which is far above the middle of the levels.
        let image = Image::draw(63, 40, |y, row| {
            row.iter_mut()
                .enumerate()
                .for_each(|(x, p)| *p = if (x + y) % 2 == 0 { [1.0; 4] } else { [0.0, 0.0, 0.0, 1.0] });
        });
        let small = image.shrunk(21, 10);
        assert_eq!((small.width, small.height), (21, 10));
        let light = small.pixels.iter().map(|p| from_srgb8([p[0], p[1], p[2]])[0]).sum::<f32>() / 210.0;
        assert!((light - 0.5).abs() < 0.01, "{light}");
        assert_eq!(image.shrunk(63, 40), image, "nothing changes where there is nothing to do");
    }

    #[test]
    fn a_slow_gradient_has_the_right_mean_in_8_bits() {
        // Between levels 20 and 21, where an undithered picture would show one flat band.
        let linear = crate::color::from_srgb8([20; 3])[0] * 0.5 + crate::color::from_srgb8([21; 3])[0] * 0.5;
        let image = Image::draw(64, 64, |_, row| row.fill([linear, linear, linear, 1.0]));
        let mean = image.pixels.iter().map(|p| f32::from(p[0])).sum::<f32>() / 4096.0;
        assert!((mean - 20.5).abs() < 0.05, "{mean}");
    }
}

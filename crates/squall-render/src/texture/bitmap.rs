//! A picture that is looked up at any place and repeats.

use crate::color::Rgb;

/// A picture in linear light that repeats in both directions, and smaller and smaller copies of it for places where it is seen
/// from afar.
#[derive(Clone, PartialEq)]
pub struct Bitmap {
    /// Width, height and pixels of each size, the largest first; the bottom row first.
    levels: Vec<(usize, usize, Vec<Rgb>)>,
}

impl std::fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (width, height, _) = &self.levels[0];
        write!(f, "Bitmap({width} x {height})")
    }
}

impl Bitmap {
    /// From pixels in linear light, the top row first. There must be one at least.
    pub fn new(width: usize, height: usize, pixels: &[Rgb]) -> Self {
        assert!(width > 0 && pixels.len() == width * height, "one colour per pixel");
        let flipped: Vec<Rgb> = pixels.chunks_exact(width).rev().flatten().copied().collect();
        let mut levels = vec![(width, height, flipped)];
        while let Some((w, h, last)) = levels.last()
            && (*w > 1 || *h > 1)
        {
            levels.push(halved(*w, *h, last));
        }
        Bitmap { levels }
    }

    /// Pixels per row, and rows.
    pub fn size(&self) -> [usize; 2] {
        [self.levels[0].0, self.levels[0].1]
    }

    /// The mean of all pixels.
    pub fn mean(&self) -> Rgb {
        // The smallest copy: weighed evenly where sides are powers of two, and nearly so elsewhere.
        self.levels.last().map_or([0.0; 3], |(_, _, pixels)| pixels[0])
    }

    /// The colour at a place, in widths and heights of the picture from its lower left corner, averaged over about `footprint`
    /// pixels.
    pub fn at(&self, place: [f64; 2], footprint: f32) -> Rgb {
        let level = footprint.max(1.0).log2().min((self.levels.len() - 1) as f32);
        let (low, t) = (level.floor() as usize, level.fract());
        let fine = self.sample(low, place);
        if t < 1e-3 || low + 1 == self.levels.len() {
            return fine;
        }
        let coarse = self.sample(low + 1, place);
        std::array::from_fn(|c| fine[c] + t * (coarse[c] - fine[c]))
    }

    /// Linear between the pixels of one size.
    fn sample(&self, level: usize, place: [f64; 2]) -> Rgb {
        let (width, height, pixels) = &self.levels[level];
        let along = |p: f64, n: usize| {
            let x = p * n as f64 - 0.5;
            let low = x.floor();
            // Far away places lose digits, never the picture.
            let i = (low as i64).rem_euclid(n as i64) as usize;
            (i, if i + 1 == n { 0 } else { i + 1 }, (x - low) as f32)
        };
        let ((x0, x1, s), (y0, y1, t)) = (along(place[0], *width), along(place[1], *height));
        let at = |x: usize, y: usize| pixels[y * width + x];
        let (a, b, c, d) = (at(x0, y0), at(x1, y0), at(x0, y1), at(x1, y1));
        std::array::from_fn(|k| {
            let (low, high) = (a[k] + s * (b[k] - a[k]), c[k] + s * (d[k] - c[k]));
            low + t * (high - low)
        })
    }
}

/// Half as large: each pixel the mean of those that it covers.
fn halved(w: usize, h: usize, pixels: &[Rgb]) -> (usize, usize, Vec<Rgb>) {
    let (half_w, half_h) = (w.div_ceil(2), h.div_ceil(2));
    let mut out = Vec::with_capacity(half_w * half_h);
    for y in 0..half_h {
        for x in 0..half_w {
            let (xs, ys) = ([2 * x, (2 * x + 1) % w], [2 * y, (2 * y + 1) % h]);
            let mut sum = [0.0; 3];
            for y in ys {
                for x in xs {
                    (0..3).for_each(|c| sum[c] += 0.25 * pixels[y * w + x][c]);
                }
            }
            out.push(sum);
        }
    }
    (half_w, half_h, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_repeats_and_its_first_row_is_the_top() {
        let pixels: Vec<Rgb> = (0..4).map(|i| [i as f32; 3]).collect();
        let bitmap = Bitmap::new(2, 2, &pixels);
        assert_eq!(bitmap.at([0.25, 0.75], 1.0), [0.0; 3]);
        assert_eq!(bitmap.at([0.75, 0.25], 1.0), [3.0; 3]);
        assert_eq!(bitmap.at([0.75 + 5.0, 0.25 - 3.0], 1.0), [3.0; 3]);
        assert_eq!(bitmap.at([0.0, 0.75], 1.0), [0.5; 3], "half-way to the pixel beyond the edge");
        assert_eq!(bitmap.mean(), [1.5; 3]);
    }

    #[test]
    fn from_afar_only_the_mean_is_left() {
        let pixels: Vec<Rgb> = (0..64 * 32).map(|i| [((i / 64 + i % 64) % 2) as f32; 3]).collect();
        let bitmap = Bitmap::new(64, 32, &pixels);
        for i in 0..50 {
            let color = bitmap.at([0.137 * i as f64, 0.071 * i as f64], 64.0);
            assert!((color[0] - 0.5).abs() < 1e-5);
        }
    }
}

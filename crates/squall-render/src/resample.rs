//! From cells to pixels: cubic between cells when enlarging, averages over cells when shrinking.

use crate::plane::Plane;
use rayon::prelude::*;

/// The field at the centre of each pixel, the TOP row first.
///
/// Enlarging uses Catmull-Rom's cubic, clamped to the two cells around: nothing rings, ramps stay monotone. Shrinking
/// weighs every cell by the area that it shares with the pixel. Values that are not finite stay so.
pub fn resample(plane: &Plane<'_>, width: usize, height: usize) -> Vec<f32> {
    let [nx, ny] = plane.cells;
    let [wraps_x, wraps_y] = plane.wraps;
    let (across, down) = (taps(nx, width, wraps_x), taps(ny, height, wraps_y));
    let mut wide = vec![0.0; width * ny];
    wide.par_chunks_mut(width).zip(plane.values.par_chunks(nx)).for_each(|(out, row)| {
        for (value, tap) in out.iter_mut().zip(&across) {
            *value = tap.apply(|i| row[i]);
        }
    });
    let mut pixels = vec![0.0; width * height];
    pixels.par_chunks_mut(width).enumerate().for_each(|(y, out)| {
        // y is up in the field and down in the picture.
        down[height - 1 - y].combine(&wide, width, out);
    });
    pixels
}

/// What one pixel takes from a line of cells.
enum Tap {
    /// Cells and weights of the cubic; the two in the middle bound the result.
    Cubic([usize; 4], [f32; 4]),
    /// The first cell and the weight of each.
    Average(usize, Vec<f32>),
}

fn taps(cells: usize, pixels: usize, wraps: bool) -> Vec<Tap> {
    let cells_per_pixel = cells as f64 / pixels as f64;
    let cubic = |pixel: usize| {
        let x = (pixel as f64 + 0.5) * cells_per_pixel - 0.5;
        let base = x.floor();
        let t = (x - base) as f32;
        let cell = |offset: f64| match wraps {
            true => (base + offset).rem_euclid(cells as f64) as usize,
            false => (base + offset).clamp(0.0, (cells - 1) as f64) as usize,
        };
        let weights = [
            0.5 * t * (-1.0 + t * (2.0 - t)),
            0.5 * (2.0 + t * t * (3.0 * t - 5.0)),
            0.5 * t * (1.0 + t * (4.0 - 3.0 * t)),
            0.5 * t * t * (t - 1.0),
        ];
        Tap::Cubic([-1.0, 0.0, 1.0, 2.0].map(cell), weights)
    };
    let average = |pixel: usize| {
        let (from, to) = (pixel as f64 * cells_per_pixel, (pixel + 1) as f64 * cells_per_pixel);
        let first = (from.floor() as usize).min(cells - 1);
        let last = (to.ceil() as usize).clamp(first + 1, cells);
        let shared = |i: usize| ((i as f64 + 1.0).min(to) - (i as f64).max(from)).max(0.0) / cells_per_pixel;
        Tap::Average(first, (first..last).map(|i| shared(i) as f32).collect())
    };
    (0..pixels).map(|pixel| if cells_per_pixel > 1.0 { average(pixel) } else { cubic(pixel) }).collect()
}

/// `v` between `a` and `b`, but left alone if it is not finite: the reader shall see it.
#[inline(always)]
fn between(v: f32, a: f32, b: f32) -> f32 {
    if v.is_finite() { v.max(a.min(b)).min(a.max(b)) } else { v }
}

impl Tap {
    fn apply(&self, cell: impl Fn(usize) -> f32) -> f32 {
        match self {
            Self::Cubic(cells, w) => {
                let [a, b, c, d] = cells.map(cell);
                between(w[0] * a + w[1] * b + w[2] * c + w[3] * d, b, c)
            }
            Self::Average(first, weights) => {
                weights.iter().enumerate().map(|(i, w)| w * cell(first + i)).fold(0.0, |sum, v| sum + v)
            }
        }
    }

    /// The same for whole rows at once.
    fn combine(&self, rows: &[f32], width: usize, out: &mut [f32]) {
        let row = |i: usize| &rows[i * width..][..width];
        match self {
            Self::Cubic(cells, w) => {
                let [a, b, c, d] = cells.map(row);
                for (x, value) in out.iter_mut().enumerate() {
                    *value = between(w[0] * a[x] + w[1] * b[x] + w[2] * c[x] + w[3] * d[x], b[x], c[x]);
                }
            }
            Self::Average(first, weights) => {
                out.fill(0.0);
                for (i, w) in weights.iter().enumerate() {
                    for (value, v) in out.iter_mut().zip(row(first + i)) {
                        *value += w * v;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_of_a_field_is_the_bottom_of_the_picture() {
        let values = [1.0, 2.0, 3.0, 4.0];
        let plane = Plane::new(&values, [2, 2], [1.0; 2]).unwrap();
        assert_eq!(resample(&plane, 2, 2), [3.0, 4.0, 1.0, 2.0]);
    }

    #[test]
    fn enlarging_a_ramp_keeps_it_monotone_and_a_step_does_not_ring() {
        let ramp: Vec<f32> = (0..16).map(|i| i as f32).collect();
        let step: Vec<f32> = (0..16).map(|i| if i < 7 { 0.0 } else { 1.0 }).collect();
        for values in [ramp, step] {
            let plane = Plane::new(&values, [16, 1], [1.0; 2]).unwrap();
            let pixels = resample(&plane, 157, 4);
            assert!(pixels[..157].is_sorted());
            assert!(pixels.iter().all(|v| (values[0]..=values[15]).contains(v)));
        }
    }

    #[test]
    fn a_field_that_repeats_is_enlarged_without_a_seam() {
        // Moving the field by some cells moves the picture by as many pixels, across its edges.
        let (n, zoom, by) = (8, 5, 3);
        let values: Vec<f32> = (0..n * n).map(|i| ((i * 37) % 11) as f32).collect();
        let moved: Vec<f32> = (0..n * n).map(|i| values[(i / n + by) % n * n + (i % n + by) % n]).collect();
        let draw = |v: &[f32]| {
            let plane = Plane::new(v, [n, n], [1.0; 2]).unwrap().wrapping([true; 2]);
            resample(&plane, n * zoom, n * zoom)
        };
        let (a, b) = (draw(&values), draw(&moved));
        let size = n * zoom;
        for y in 0..size {
            for x in 0..size {
                let there = (y + size - by * zoom) % size * size + (x + by * zoom) % size;
                // Places within cells are rounded at different numbers.
                assert!((b[y * size + x] - a[there]).abs() < 1e-4, "{x} {y}");
            }
        }
    }

    #[test]
    fn shrinking_keeps_the_mean() {
        let (nx, ny) = (101, 67);
        let values: Vec<f32> = (0..nx * ny).map(|i| ((i * 7919) % 1000) as f32 / 1000.0).collect();
        let plane = Plane::new(&values, [nx, ny], [1.0; 2]).unwrap();
        let mean = |v: &[f32]| v.iter().sum::<f32>() / v.len() as f32;
        for (width, height) in [(50, 30), (7, 9), (1, 1)] {
            // Sums of thousands of f32: 1e-4.
            assert!((mean(&resample(&plane, width, height)) - mean(&values)).abs() < 1e-4);
        }
    }

    #[test]
    fn what_is_not_finite_stays_visible() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut values = vec![0.5; 64];
            values[27] = bad;
            let plane = Plane::new(&values, [8, 8], [1.0; 2]).unwrap();
            for size in [4, 8, 40] {
                assert!(resample(&plane, size, size).iter().any(|v| !v.is_finite()), "{bad} at {size}");
            }
        }
    }
}

//! From cells to pixels: cubic between cells when enlarging, averages over cells when shrinking.

use crate::plane::Plane;
use rayon::prelude::*;

/// The field at the centre of each pixel, the TOP row first.
///
/// Enlarging uses cubics without ringing; shrinking weighs every cell by the area that it shares with the pixel. Values that are not finite
/// stay so.
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
    /// Cells and weights of Catmull-Rom's cubic, which goes through the values; the two cells in the middle bound the result.
    Sharp([usize; 4], [f32; 4]),
    /// The same of the cubic of Mitchell & Netravali (1988); all four bound the result.
    Smooth([usize; 4], [f32; 4]),
    /// The first cell and the weight of each.
    Average(usize, Vec<f32>),
}

/// With more pixels to a cell than this the bounds of the sharp cubic show: filaments that cross the grid look like strings of beads.
const SMOOTH_FROM: f64 = 1.5;

fn taps(cells: usize, pixels: usize, wraps: bool) -> Vec<Tap> {
    let cells_per_pixel = cells as f64 / pixels as f64;
    let smooth = cells_per_pixel * SMOOTH_FROM <= 1.0;
    let cubic = |pixel: usize| {
        let x = (pixel as f64 + 0.5) * cells_per_pixel - 0.5;
        let base = x.floor();
        let t = (x - base) as f32;
        let cell = |offset: f64| match wraps {
            true => (base + offset).rem_euclid(cells as f64) as usize,
            false => (base + offset).clamp(0.0, (cells - 1) as f64) as usize,
        };
        let cells = [-1.0, 0.0, 1.0, 2.0].map(cell);
        if smooth {
            // Within a cell of the middle, and up to two.
            let near = |x: f32| (7.0 * x * x * x - 12.0 * x * x + 16.0 / 3.0) / 6.0;
            let far = |x: f32| (-7.0 / 3.0 * x * x * x + 12.0 * x * x - 20.0 * x + 32.0 / 3.0) / 6.0;
            return Tap::Smooth(cells, [far(1.0 + t), near(t), near(1.0 - t), far(2.0 - t)]);
        }
        let weights = [
            0.5 * t * (-1.0 + t * (2.0 - t)),
            0.5 * (2.0 + t * t * (3.0 * t - 5.0)),
            0.5 * t * (1.0 + t * (4.0 - 3.0 * t)),
            0.5 * t * t * (t - 1.0),
        ];
        Tap::Sharp(cells, weights)
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

/// `v` within some values, but left alone if it is not finite: the reader shall see it.
#[inline(always)]
fn within<const N: usize>(v: f32, values: [f32; N]) -> f32 {
    let [low, high] = [f32::min, f32::max].map(|f| values[1..].iter().fold(values[0], |a, b| f(a, *b)));
    if v.is_finite() { v.max(low).min(high) } else { v }
}

#[inline(always)]
fn sum(w: &[f32; 4], [a, b, c, d]: [f32; 4]) -> f32 {
    w[0] * a + w[1] * b + w[2] * c + w[3] * d
}

impl Tap {
    fn apply(&self, cell: impl Fn(usize) -> f32) -> f32 {
        match self {
            Self::Sharp(cells, w) => {
                let all = cells.map(cell);
                within(sum(w, all), [all[1], all[2]])
            }
            Self::Smooth(cells, w) => {
                let all = cells.map(cell);
                within(sum(w, all), all)
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
            Self::Sharp(cells, w) => {
                let rows = cells.map(row);
                for (x, value) in out.iter_mut().enumerate() {
                    let all = rows.map(|row| row[x]);
                    *value = within(sum(w, all), [all[1], all[2]]);
                }
            }
            Self::Smooth(cells, w) => {
                let rows = cells.map(row);
                for (x, value) in out.iter_mut().enumerate() {
                    let all = rows.map(|row| row[x]);
                    *value = within(sum(w, all), all);
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
    fn a_thin_line_across_the_grid_is_enlarged_without_beads() {
        // A line 1.5 cells wide, at a slope that meets cells everywhere between their centres.
        let (n, zoom) = (32, 4);
        let (across, along) = (-0.6_f32, 0.8_f32);
        let off = |x: f32, y: f32| (x - 16.0) * across + (y - 16.0) * along;
        let line = |x: f32, y: f32| (-off(x, y).powi(2) / 1.1).exp();
        let values: Vec<f32> = (0..n * n).map(|i| line((i % n) as f32 + 0.5, (i / n) as f32 + 0.5)).collect();
        let plane = Plane::new(&values, [n, n], [1.0; 2]).unwrap();
        let pixels = resample(&plane, n * zoom, n * zoom);
        let crest: Vec<f32> = (0..n * zoom * n * zoom)
            .map(|i| {
                (
                    ((i % (n * zoom)) as f32 + 0.5) / zoom as f32,
                    n as f32 - ((i / (n * zoom)) as f32 + 0.5) / zoom as f32,
                    i,
                )
            })
            .filter(|(x, y, _)| off(*x, *y).abs() < 0.1 && (4.0..28.0).contains(x) && (4.0..28.0).contains(y))
            .map(|(_, _, i)| pixels[i])
            .collect();
        let (low, high) = crest.iter().fold((f32::MAX, f32::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        assert!(crest.len() > 50);
        // The eye sees some percent of ripple along a line. A cubic held between the two cells beside gives 26 %.
        assert!((high - low) / high < 0.06, "{low} to {high}");
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

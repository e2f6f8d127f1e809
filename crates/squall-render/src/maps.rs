//! Maps of two-dimensional fields: what games and compositors read besides colours. Where the box is periodic a map goes
//! on exactly from one edge to the other.

use crate::plane::{Plane, RenderError};
use rayon::prelude::*;

/// The field at the centre of each pixel, the TOP row first: cubic between cells when enlarging, averages over cells when
/// shrinking.
pub fn sample(plane: &Plane<'_>, width: usize, height: usize) -> Result<Vec<f32>, RenderError> {
    if !(1..=32768).contains(&width) || !(1..=32768).contains(&height) {
        return Err(RenderError::Size { width, height });
    }
    let [nx, ny] = plane.cells;
    let (across, down) = (taps(nx, width, plane.wraps[0]), taps(ny, height, plane.wraps[1]));
    let mut wide = vec![0.0; width * ny];
    wide.par_chunks_mut(width).zip(plane.values.par_chunks(nx)).for_each(|(out, row)| {
        for (value, taps) in out.iter_mut().zip(&across) {
            *value = taps.iter().map(|&(i, weight)| weight * row[i]).sum();
        }
    });
    let mut pixels = vec![0.0; width * height];
    pixels.par_chunks_mut(width).enumerate().for_each(|(y, out)| {
        // y is up in the field and down in the picture.
        for &(row, weight) in &down[height - 1 - y] {
            for (value, v) in out.iter_mut().zip(&wide[row * width..]) {
                *value += weight * v;
            }
        }
    });
    Ok(pixels)
}

/// A picture in another size, with C numbers for each pixel: averages when shrinking, smooth between pixels when
/// enlarging. `wraps`: whether it goes on at opposite edges, along x and y.
pub fn resize<const C: usize>(
    pixels: &[[f32; C]],
    from: [usize; 2],
    to: [usize; 2],
    wraps: [bool; 2],
) -> Vec<[f32; C]> {
    assert_eq!(pixels.len(), from[0] * from[1], "as many pixels as the size says");
    if from == to {
        return pixels.to_vec();
    }
    let (across, down) = (taps(from[0], to[0], wraps[0]), taps(from[1], to[1], wraps[1]));
    let mut out = vec![[0.0; C]; to[0] * to[1]];
    out.par_chunks_mut(to[0]).zip(&down).for_each(|(out, rows)| {
        for (out, columns) in out.iter_mut().zip(&across) {
            for &(y, v) in rows {
                for &(x, u) in columns {
                    (0..C).for_each(|c| out[c] += u * v * pixels[y * from[0] + x][c]);
                }
            }
        }
    });
    out
}

/// The cells that a pixel takes its value from, and their weights.
fn taps(cells: usize, pixels: usize, wraps: bool) -> Vec<Vec<(usize, f32)>> {
    let per_pixel = cells as f64 / pixels as f64;
    let inside = |i: i64| match wraps {
        true => i.rem_euclid(cells as i64) as usize,
        false => i.clamp(0, cells as i64 - 1) as usize,
    };
    let cubic = |pixel: usize| {
        let x = (pixel as f64 + 0.5) * per_pixel - 0.5;
        let (base, t) = (x.floor() as i64, (x - x.floor()) as f32);
        // The cubic B-spline: slopes are smooth, as normals need them, and nothing rings.
        let weights = [
            (1.0 - t).powi(3) / 6.0,
            (4.0 + t * t * (3.0 * t - 6.0)) / 6.0,
            (1.0 + t * (3.0 + t * (3.0 - 3.0 * t))) / 6.0,
            t.powi(3) / 6.0,
        ];
        (0..4).map(|k| (inside(base - 1 + k), weights[k as usize])).collect()
    };
    let average = |pixel: usize| {
        let (from, to) = (pixel as f64 * per_pixel, (pixel + 1) as f64 * per_pixel);
        let shared = |i: i64| ((i as f64 + 1.0).min(to) - (i as f64).max(from)).max(0.0) / per_pixel;
        (from.floor() as i64..to.ceil() as i64).map(|i| (inside(i), shared(i) as f32)).collect()
    };
    (0..pixels).map(|pixel| if per_pixel > 1.0 { average(pixel) } else { cubic(pixel) }).collect()
}

/// Normals of a landscape, of length 1: to the right, up in the picture, towards the viewer. `heights` are in pixels, the
/// top row first.
pub fn normals(heights: &[f32], width: usize, wraps: [bool; 2]) -> Vec<[f32; 3]> {
    let rows = heights.len() / width.max(1);
    // Centred differences; one-sided at edges that do not wrap.
    let beside = |i: usize, n: usize, wraps: bool| match wraps {
        true => (((i + n - 1) % n), ((i + 1) % n), 2.0f32),
        false => {
            let (low, high) = (i.saturating_sub(1), (i + 1).min(n - 1));
            (low, high, (high - low).max(1) as f32)
        }
    };
    let at = |x: usize, y: usize| heights[y * width + x];
    let normal = |i: usize| {
        let (x, y) = (i % width, i / width);
        let (left, right, dx) = beside(x, width, wraps[0]);
        let (above, below, dy) = beside(y, rows, wraps[1]);
        let slope = [(at(right, y) - at(left, y)) / dx, (at(x, above) - at(x, below)) / dy];
        let length = (1.0 + slope[0] * slope[0] + slope[1] * slope[1]).sqrt();
        [-slope[0] / length, -slope[1] / length, 1.0 / length]
    };
    (0..heights.len()).map(normal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(nx: usize, ny: usize, shift: usize) -> Vec<f32> {
        let value = |i: usize, n: usize| (std::f64::consts::TAU * (i % n) as f64 / n as f64).sin();
        (0..nx * ny).map(|i| (value(i % nx + shift, nx) + 0.5 * value(i / nx, ny)) as f32).collect()
    }

    #[test]
    fn maps_of_a_periodic_box_tile_also_when_enlarged() {
        // A box moved by eight cells of 32 gives the map moved by a quarter of its width, whatever lies at the edges.
        let (nx, ny) = (32, 24);
        for width in [64, 160, 16] {
            let height = width * 3 / 4;
            let map = |shift| {
                let values = wave(nx, ny, shift);
                let plane = Plane::new(&values, [nx, ny], [1.0; 2]).unwrap();
                let heights = sample(&plane.wrapping([true; 2]), width, height).unwrap();
                (normals(&heights, width, [true; 2]), heights)
            };
            let ((normals, heights), (moved_normals, moved)) = (map(0), map(8));
            for y in 0..height {
                for x in 0..width {
                    let (here, there) = (y * width + x, y * width + (x + width / 4) % width);
                    // Sums of a few f32 near 1.
                    assert!((moved[here] - heights[there]).abs() < 2e-6);
                    assert!((0..3).all(|a| (moved_normals[here][a] - normals[there][a]).abs() < 2e-6));
                }
            }
        }
    }

    #[test]
    fn a_slope_to_the_right_faces_left_and_one_upwards_faces_down() {
        let ramp =
            |dx: f32, dy: f32| -> Vec<f32> { (0..64).map(|i| dx * (i % 8) as f32 - dy * (i / 8) as f32).collect() };
        let normal = |dx, dy| normals(&ramp(dx, dy), 8, [false; 2])[27];
        assert_eq!(normal(0.0, 0.0), [0.0, 0.0, 1.0]);
        let s = std::f32::consts::FRAC_1_SQRT_2;
        for (found, right) in [(normal(1.0, 0.0), [-s, 0.0, s]), (normal(0.0, 1.0), [0.0, -s, s])] {
            assert!((0..3).all(|a| (found[a] - right[a]).abs() < 1e-6), "{found:?}");
        }
    }

    #[test]
    fn a_pixel_of_a_shrunk_map_is_the_mean_of_its_cells() {
        let values: Vec<f32> = (0..16).map(|i| i as f32).collect();
        let plane = Plane::new(&values, [4, 4], [1.0; 2]).unwrap();
        assert_eq!(sample(&plane, 2, 2).unwrap(), [10.5, 12.5, 2.5, 4.5]);
        assert!(sample(&plane, 0, 2).is_err());
    }
}

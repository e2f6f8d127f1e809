//! Motion vectors fitted to the pictures before and after.
//!
//! The velocity of smoke says where it goes. What is *seen* to move is not quite that: sources stand still while smoke leaves them,
//! smoke fades, layers move across each other, and velocities change until the next frame. So the motion that a velocity gives is
//! only where the search begins (Lucas & Kanade 1981): it is changed until the picture, moved by it, is as near as can be to the
//! next picture, and moved back by it, to the one before; those are the two ways in which an engine uses it.

use rayon::prelude::*;

/// Numbers of a pixel: colours and opacity, premultiplied.
type Pixel = [f32; 4];

/// How often the motion is improved.
const ROUNDS: usize = 12;
/// Radius, in pixels, of the bell over which motion is taken to be one: two boxes of this half width.
const WINDOW: usize = 1;
/// How far motion may change in a round, in pixels.
const STRIDE: f32 = 1.0;
/// Where slopes are smaller than this, per pixel, nothing can be seen to move, and motion stays what it was.
const FAINT: f32 = 0.02;

/// Improves `motion` (pixels to the right and down until the next frame) of picture `now`, given the next picture and the one
/// before, if there are such. `wraps`: whether pictures go on at opposite edges, along x and y.
pub fn fit(
    motion: &mut [[f32; 2]],
    width: usize,
    wraps: [bool; 2],
    now: &[Pixel],
    next: Option<&[Pixel]>,
    before: Option<&[Pixel]>,
) {
    assert_eq!(motion.len(), now.len(), "one motion for each pixel");
    let rows = now.len() / width;
    if width < 2 || rows < 2 {
        return;
    }
    let first = motion.to_vec();
    let slopes = slopes(now, width, wraps);
    let mut sums = vec![[0.0f32; 5]; now.len()];
    for _ in 0..ROUNDS {
        // Normal equations of a small change d: sum (J J^T + faint) d = sum J r + faint (first - m).
        sums.par_iter_mut().zip(&*motion).enumerate().for_each(|(i, (sum, m))| {
            *sum = [0.0; 5];
            let place = [(i % width) as f32, (i / width) as f32];
            for (other, sign) in [(next, -1.0), (before, 1.0)] {
                let Some(other) = other else { continue };
                let at = [place[0] + sign * m[0], place[1] + sign * m[1]];
                let (value, slope) = (look(now, width, wraps, at), look(&slopes, width, wraps, at));
                for c in 0..4 {
                    let (left, j) = (other[i][c] - value[c], [sign * slope[c], sign * slope[4 + c]]);
                    let terms = [j[0] * j[0], j[0] * j[1], j[1] * j[1], j[0] * left, j[1] * left];
                    sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                }
            }
        });
        for _ in 0..2 {
            blur(&mut sums, width, wraps);
        }
        motion.par_iter_mut().zip(&sums).zip(&first).for_each(|((m, &[xx, xy, yy, bx, by]), first)| {
            let faint = FAINT * FAINT;
            let (xx, yy) = (xx + faint, yy + faint);
            let (bx, by) = (bx + faint * (first[0] - m[0]), by + faint * (first[1] - m[1]));
            let determinant = xx * yy - xy * xy;
            let change = [(yy * bx - xy * by) / determinant, (xx * by - xy * bx) / determinant];
            let length = change[0].hypot(change[1]);
            let part = if length > STRIDE { STRIDE / length } else { 1.0 };
            if length.is_finite() {
                (0..2).for_each(|a| m[a] += part * change[a]);
            }
        });
    }
}

/// Slopes to the right of all four numbers, then slopes downwards.
fn slopes(pixels: &[Pixel], width: usize, wraps: [bool; 2]) -> Vec<[f32; 8]> {
    let rows = pixels.len() / width;
    (0..pixels.len())
        .into_par_iter()
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let at = |x: usize, y: usize| &pixels[y * width + x];
            let [left, right] = [-1, 1].map(|by| at(beside(x, by, width, wraps[0]), y));
            let [above, below] = [-1, 1].map(|by| at(x, beside(y, by, rows, wraps[1])));
            std::array::from_fn(|c| 0.5 * if c < 4 { right[c] - left[c] } else { below[c - 4] - above[c - 4] })
        })
        .collect()
}

/// The pixel `by` further, of `n`: on the other side if they wrap, else the last.
fn beside(i: usize, by: isize, n: usize, wraps: bool) -> usize {
    match wraps {
        true => (i as isize + by).rem_euclid(n as isize) as usize,
        false => i.saturating_add_signed(by).min(n - 1),
    }
}

/// Linear between pixels; the edge is repeated where they do not wrap.
fn look<const N: usize>(pixels: &[[f32; N]], width: usize, wraps: [bool; 2], [x, y]: [f32; 2]) -> [f32; N] {
    let rows = pixels.len() / width;
    // Also where motion has become nonsense.
    let inside = |v: f32, n: usize, wraps: bool| {
        let wrapped = if wraps { v.rem_euclid(n as f32) } else { v };
        let v = wrapped.max(0.0).min(if wraps { n as f32 } else { (n - 1) as f32 });
        let i = (v as usize).min(if wraps { n - 1 } else { n - 2 });
        (i, v - i as f32)
    };
    let ((i, u), (j, v)) = (inside(x, width, wraps[0]), inside(y, rows, wraps[1]));
    let (columns, rows) = ([i, beside(i, 1, width, wraps[0])], [j, beside(j, 1, rows, wraps[1])]);
    let at = |dx: usize, dy: usize| &pixels[rows[dy] * width + columns[dx]];
    let (a, b, c, d) = (at(0, 0), at(1, 0), at(0, 1), at(1, 1));
    std::array::from_fn(|n| (1.0 - v) * (a[n] + u * (b[n] - a[n])) + v * (c[n] + u * (d[n] - c[n])))
}

/// The mean over a box around each pixel, along both axes.
fn blur(values: &mut [[f32; 5]], width: usize, wraps: [bool; 2]) {
    let rows = values.len() / width;
    let mean = |line: &[[f32; 5]], wraps: bool| -> Vec<[f32; 5]> {
        let window = WINDOW as isize;
        // Beyond an edge that does not wrap there is nothing.
        let inside = |i: isize| wraps || (0..line.len() as isize).contains(&i);
        let around = |i: usize| (i as isize - window..=i as isize + window).filter(move |&k| inside(k));
        (0..line.len())
            .map(|i| {
                let mut sum = [0.0; 5];
                around(i).for_each(|k| {
                    let value = &line[k.rem_euclid(line.len() as isize) as usize];
                    (0..5).for_each(|n| sum[n] += value[n]);
                });
                sum.map(|v| v / (2 * WINDOW + 1) as f32)
            })
            .collect()
    };
    values.par_chunks_mut(width).for_each(|row| row.copy_from_slice(&mean(row, wraps[0])));
    let columns: Vec<Vec<[f32; 5]>> = (0..width)
        .into_par_iter()
        .map(|x| mean(&(0..rows).map(|y| values[y * width + x]).collect::<Vec<_>>(), wraps[1]))
        .collect();
    values.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
        row.iter_mut().zip(&columns).for_each(|(value, column)| *value = column[y]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Soft waves of a length of 16 pixels and more, moved to the right and down.
    fn waves(width: usize, rows: usize, [dx, dy]: [f32; 2]) -> Vec<Pixel> {
        let value = |i: usize| {
            let (x, y) = ((i % width) as f32 - dx, (i / width) as f32 - dy);
            0.5 + 0.5 * (0.35 * x + 0.1 * y).sin() + 0.5 * (0.3 * y - 0.15 * x).sin()
        };
        (0..width * rows).map(|i| [value(i); 4]).collect()
    }

    #[test]
    fn a_motion_that_is_off_by_a_pixel_finds_its_way() {
        let (width, rows) = (64, 48);
        let [before, now, next] = [-1.0, 0.0, 1.0].map(|t| waves(width, rows, [2.3 * t, -1.4 * t]));
        let mut motion = vec![[1.5, -0.6]; width * rows];
        fit(&mut motion, width, [false; 2], &now, Some(&next), Some(&before));
        let mut off = 0.0;
        for y in 6..rows - 6 {
            for [u, v] in &motion[y * width + 6..(y + 1) * width - 6] {
                off += (u - 2.3).hypot(v + 1.4) / ((width - 12) * (rows - 12)) as f32;
            }
        }
        // It was off by 1.13 pixels; where slopes are small it stays nearer to where it was.
        assert!(off < 0.25, "{off}");
    }

    #[test]
    fn what_stands_still_does_not_move_and_what_is_empty_keeps_its_motion() {
        let (width, rows) = (40, 40);
        let still = waves(width, rows, [0.0; 2]);
        let mut motion = vec![[0.8, 0.0]; width * rows];
        fit(&mut motion, width, [false; 2], &still, Some(&still), Some(&still));
        let mean = motion.iter().map(|[u, v]| u.hypot(*v)).sum::<f32>() / motion.len() as f32;
        // It was 0.8.
        assert!(mean < 0.3, "a source that gives off smoke stands still: {mean}");
        let empty = vec![[0.0; 4]; width * rows];
        let mut motion = vec![[0.8, 0.2]; width * rows];
        fit(&mut motion, width, [false; 2], &empty, Some(&empty), None);
        assert_eq!(motion, vec![[0.8, 0.2]; width * rows]);
    }

    #[test]
    fn at_the_seam_of_pictures_that_wrap_motion_is_as_good_as_inside() {
        let (width, rows) = (48usize, 48usize);
        // Whole waves along both sides.
        let at = |t: f32| -> Vec<Pixel> {
            let turn = std::f32::consts::TAU / width as f32;
            let value = |i: usize| {
                let (x, y) = ((i % width) as f32 - 2.3 * t, (i / width) as f32 + 1.4 * t);
                0.5 + 0.5 * (turn * (3.0 * x + y)).sin() + 0.5 * (turn * (2.0 * y - x)).sin()
            };
            (0..width * rows).map(|i| [value(i); 4]).collect()
        };
        let [before, now, next] = [-1.0, 0.0, 1.0].map(at);
        let off = |wraps: [bool; 2]| {
            let mut motion = vec![[1.5, -0.6]; width * rows];
            fit(&mut motion, width, wraps, &now, Some(&next), Some(&before));
            let seam = motion.iter().enumerate().filter(|(i, _)| i % width == 0 || i / width == 0);
            let off: Vec<f32> = seam.map(|(_, [u, v])| (u - 2.3).hypot(v + 1.4)).collect();
            off.iter().sum::<f32>() / off.len() as f32
        };
        // The bound of the inside, above.
        assert!(off([true; 2]) < 0.25, "{}", off([true; 2]));
        assert!(off([false; 2]) > 2.0 * off([true; 2]), "{} {}", off([false; 2]), off([true; 2]));
    }
}

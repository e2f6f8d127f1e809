//! Where a 2D fluid goes, drawn over its picture.
//!
//! * [`draw_streaks`]: line integral convolution (Cabral & Leedom 1993). Noise is averaged along the streamline through each pixel, so
//!   neighbours along the flow are alike and neighbours across it are not. It changes the lightness of the picture and keeps its hue.
//! * [`draw_arrows`]: an arrow in each square of a lattice, as long as the fluid there is fast.

use crate::color::{from_oklab, from_srgb8, to_oklab};
use crate::image::Image;
use crate::plane::Plane;
use crate::resample::resample;

/// Streamlines are followed this far to both sides, in parts of the picture's width.
const REACH: f32 = 0.02;
/// A grain of noise, in parts of the width; a pixel at the least.
const GRAIN: f32 = 1.0 / 900.0;
/// By how much lightness (0 to 1) changes for a standard deviation of the noise, and how many of these at the most.
const CONTRAST: f32 = 0.06;
const LARGEST: f32 = 2.5;
/// Below this part of the typical speed streaks fade: rounding has a direction as well.
const SLOW: f32 = 0.001;
/// Arrows along the longer side of a picture.
const ARROWS: f32 = 36.0;

/// Velocities at pixels, in pixels: x to the right, y down.
struct Ways {
    width: usize,
    height: usize,
    wraps: [bool; 2],
    ways: Vec<[f32; 2]>,
    /// A speed that one place in twenty exceeds.
    fast: f32,
}

impl Ways {
    fn new([u, v]: [&Plane<'_>; 2], width: usize, height: usize) -> Self {
        let [u, v] = [u, v].map(|plane| (resample(plane, width, height), plane.wraps));
        let ways: Vec<[f32; 2]> = u.0.iter().zip(&v.0).map(|(x, y)| [*x, -*y]).collect();
        let mut speeds: Vec<f32> = ways.iter().map(|w| w[0].hypot(w[1])).filter(|s| s.is_finite()).collect();
        let rank = speeds.len().saturating_sub(1) * 19 / 20;
        let fast = if speeds.is_empty() { 0.0 } else { *speeds.select_nth_unstable_by(rank, f32::total_cmp).1 };
        Self { width, height, wraps: u.1, ways, fast }
    }

    /// The pixel at a place; `None` beyond the sides.
    fn pixel(&self, [x, y]: [f32; 2]) -> Option<usize> {
        let along = |v: f32, n: usize, wraps: bool| {
            let i = v.floor() as isize;
            let inside = (0..n as isize).contains(&i);
            (inside || wraps).then(|| i.rem_euclid(n as isize) as usize)
        };
        Some(along(y, self.height, self.wraps[1])? * self.width + along(x, self.width, self.wraps[0])?)
    }

    /// Which way, as a vector of length 1.
    fn direction(&self, at: [f32; 2]) -> Option<[f32; 2]> {
        let [x, y] = self.ways[self.pixel(at)?];
        let speed = x.hypot(y);
        (speed > SLOW * self.fast && speed.is_finite()).then(|| [x / speed, y / speed])
    }
}

/// Noise from -1 to 1 that belongs to a pixel.
fn noise(x: usize, y: usize) -> f32 {
    let mut h = (x as u32).wrapping_mul(0x9e37_79b1) ^ (y as u32).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
    (h ^ (h >> 15)) as f32 / (u32::MAX as f32 / 2.0) - 1.0
}

/// Draws streaks along the flow: `velocity` in metres per second, on the cells that the picture shows.
pub fn draw_streaks(image: &Image, velocity: [&Plane<'_>; 2]) -> Image {
    let (width, height) = (image.width, image.height);
    let ways = Ways::new(velocity, width, height);
    let grain = (width as f32 * GRAIN).max(1.0);
    let reach = ((width as f32 * REACH / grain) as usize).max(4);
    // A bell, so that what enters and leaves the sum does so gradually.
    let weights: Vec<f32> =
        (0..=reach).map(|k| (0.5 * std::f32::consts::PI * k as f32 / reach as f32).cos().powi(2)).collect();
    let squares = weights[0].powi(2) + 2.0 * weights[1..].iter().map(|w| w * w).sum::<f32>();
    let deviation = (squares / 3.0).sqrt();
    let at = |place: [f32; 2]| -> f32 {
        let Some(i) = ways.pixel(place) else { return 0.0 };
        noise(((i % width) as f32 / grain) as usize, ((i / width) as f32 / grain) as usize)
    };
    Image::draw(width, height, |y, row| {
        for (x, out) in row.iter_mut().enumerate() {
            let here = [x as f32 + 0.5, y as f32 + 0.5];
            let pixel = image.pixels[y * width + x];
            let [r, g, b] = from_srgb8([pixel[0], pixel[1], pixel[2]]);
            let alpha = f32::from(pixel[3]) / 255.0;
            *out = [r, g, b, alpha];
            if ways.direction(here).is_none() {
                continue;
            }
            let mut sum = weights[0] * at(here);
            for sense in [1.0, -1.0] {
                let mut place = here;
                for weight in &weights[1..] {
                    // Midpoint rule: circles stay circles.
                    let Some(half) = ways.direction(place) else { break };
                    let middle = [0, 1].map(|a| place[a] + 0.5 * sense * grain * half[a]);
                    let Some(way) = ways.direction(middle) else { break };
                    place = [0, 1].map(|a| place[a] + sense * grain * way[a]);
                    sum += weight * at(place);
                }
            }
            let [lightness, a, b] = to_oklab([r, g, b]);
            let change = CONTRAST * (sum / deviation).clamp(-LARGEST, LARGEST);
            let [r, g, b] = from_oklab([(lightness + change).clamp(0.0, 1.0), a, b]);
            *out = [r.max(0.0), g.max(0.0), b.max(0.0), alpha];
        }
    })
}

/// The distance from a point to a line between two others.
fn distance(p: [f32; 2], a: [f32; 2], b: [f32; 2]) -> f32 {
    let (along, from) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
    let length = along[0] * along[0] + along[1] * along[1];
    let t = ((from[0] * along[0] + from[1] * along[1]) / length.max(1e-12)).clamp(0.0, 1.0);
    (from[0] - t * along[0]).hypot(from[1] - t * along[1])
}

/// Draws white arrows with dark edges; the longest are for the fastest twentieth of all places. Where nothing moves there are none.
pub fn draw_arrows(image: &Image, velocity: [&Plane<'_>; 2]) -> Image {
    let (width, height) = (image.width, image.height);
    let ways = Ways::new(velocity, width, height);
    let square = (width.max(height) as f32 / ARROWS).max(4.0);
    let (columns, rows) = ((width as f32 / square).ceil() as usize, (height as f32 / square).ceil() as usize);
    let thickness = (square / 28.0).max(0.6);
    // Shaft and two barbs of the arrow in each square.
    let arrows: Vec<Option<[[[f32; 2]; 2]; 3]>> = (0..columns * rows)
        .map(|i| {
            let middle = [(i % columns) as f32 + 0.5, (i / columns) as f32 + 0.5].map(|v| v * square);
            let way = ways.direction(middle)?;
            let [x, y] = ways.ways[ways.pixel(middle)?];
            let length = 0.9 * square * (x.hypot(y) / ways.fast).min(1.0);
            let along = |forth: f32, aside: f32| {
                [middle[0] + forth * way[0] - aside * way[1], middle[1] + forth * way[1] + aside * way[0]]
            };
            let (tip, barb) = (along(0.5 * length, 0.0), 0.32 * length);
            let side = |aside: f32| [tip, along(0.5 * length - barb, aside * barb)];
            (length > 2.5 * thickness).then(|| [[along(-0.5 * length, 0.0), tip], side(0.6), side(-0.6)])
        })
        .collect();
    Image::draw(width, height, |y, row| {
        for (x, out) in row.iter_mut().enumerate() {
            let here = [x as f32 + 0.5, y as f32 + 0.5];
            let [column, line] = here.map(|v| (v / square) as usize);
            let near = |i: usize, n: usize| i.saturating_sub(1)..(i + 2).min(n);
            let mut off = f32::MAX;
            for j in near(line, rows) {
                for arrow in arrows[j * columns..][near(column, columns)].iter().flatten() {
                    off = arrow.iter().map(|[a, b]| distance(here, *a, *b)).fold(off, f32::min);
                }
            }
            let pixel = image.pixels[y * width + x];
            let color = from_srgb8([pixel[0], pixel[1], pixel[2]]);
            let cover = |radius: f32| (radius + 0.5 - off).clamp(0.0, 1.0);
            let (edge, core) = (0.6 * cover(2.0 * thickness), cover(thickness));
            let shown = color.map(|c| c * (1.0 - edge) * (1.0 - core) + core);
            let alpha = f32::from(pixel[3]) / 255.0;
            *out = [shown[0], shown[1], shown[2], alpha.max(edge).max(core)];
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 360;

    fn grey() -> Image {
        Image { width: N, height: N, pixels: vec![[128, 128, 128, 255]; N * N] }
    }

    /// A picture over the flow `f(x, y)` in a box of 1 m, y up.
    fn over(f: impl Fn(f32, f32) -> [f32; 2], draw: fn(&Image, [&Plane<'_>; 2]) -> Image) -> Vec<f32> {
        let cells = 24;
        let at = |a: usize| -> Vec<f32> {
            let middle = |i: usize| (i as f32 + 0.5) / cells as f32;
            (0..cells * cells).map(|i| f(middle(i % cells), middle(i / cells))[a]).collect()
        };
        let (u, v) = (at(0), at(1));
        let plane = |values| Plane::new(values, [cells; 2], [1.0 / cells as f64; 2]).unwrap();
        let picture = draw(&grey(), [&plane(&u), &plane(&v)]);
        picture.pixels.iter().map(|p| f32::from(p[0])).collect()
    }

    /// The mean square of differences between pixels that are `dx` and `dy` apart.
    fn roughness(values: &[f32], dx: usize, dy: usize) -> f32 {
        let inside = |i: usize| i % N + dx < N && i / N + dy < N;
        let squares: Vec<f32> =
            (0..N * N).filter(|i| inside(*i)).map(|i| (values[i + dy * N + dx] - values[i]).powi(2)).collect();
        squares.iter().sum::<f32>() / squares.len() as f32
    }

    #[test]
    fn streaks_run_along_the_flow_and_keep_the_mean() {
        for (flow, along, across) in
            [([1.0, 0.0], (1, 0), (0, 1)), ([0.0, -2.0], (0, 1), (1, 0)), ([1.0, -1.0], (1, 1), (1, 0))]
        {
            let values = over(|_, _| flow, draw_streaks);
            let (along, across) = (roughness(&values, along.0, along.1), roughness(&values, across.0, across.1));
            // Oblique streaks meet grains at other places of theirs from pixel to pixel.
            assert!(along < 0.4 * across, "{flow:?}: {along} along, {across} across");
            let mean = values.iter().sum::<f32>() / values.len() as f32;
            assert!((mean - 128.0).abs() < 4.0, "{mean}");
        }
    }

    #[test]
    fn still_fluid_has_neither_streaks_nor_arrows() {
        for draw in [draw_streaks as fn(&Image, [&Plane<'_>; 2]) -> Image, draw_arrows] {
            for still in [0.0, f32::NAN] {
                assert!(over(|_, _| [still; 2], draw).iter().all(|v| (127.0..=129.0).contains(v)));
            }
            // And so has the still half of a box, where the other half moves.
            let half = over(|x, _| if x < 0.5 { [0.0; 2] } else { [0.0, 1.0] }, draw);
            let changed = |columns: std::ops::Range<usize>| {
                (0..N * N).filter(|i| columns.contains(&(i % N)) && (half[*i] - 128.0).abs() > 3.0).count()
            };
            // But for two cells, in which it is enlarged.
            assert_eq!(changed(0..N / 2 - N / 12), 0);
            assert!(changed(N / 2 + N / 12..N) > 100);
        }
    }

    #[test]
    fn arrows_are_as_long_as_the_flow_is_fast_and_wider_at_the_tip() {
        let white = |values: &[f32], columns: std::ops::Range<usize>| {
            (0..N * N).filter(|i| columns.contains(&(i % N)) && values[*i] > 200.0).count()
        };
        // Twice as fast in the right half.
        let values = over(|x, _| if x < 0.5 { [0.5, 0.0] } else { [1.0, 0.0] }, draw_arrows);
        let (slow, fast) = (white(&values, 0..N / 2), white(&values, N / 2..N));
        assert!(slow > 0 && fast > slow * 3 / 2, "{slow} {fast}");
        // Arrows that point up have their barbs above.
        let square = N as f32 / ARROWS;
        let up = over(|_, _| [0.0, 1.0], draw_arrows);
        let (mut above, mut below) = (0, 0);
        for (i, _) in up.iter().enumerate().filter(|(_, v)| **v > 200.0) {
            let within = ((i / N) as f32 + 0.5) / square;
            if within.fract() < 0.5 { above += 1 } else { below += 1 }
        }
        assert!(above > below, "{above} {below}");
    }
}

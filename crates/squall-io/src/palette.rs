//! The 255 colours that serve a movie best: a variance cut (Wu 1991 in spirit), then k-means.
//!
//! One palette for the whole movie rather than one per frame: colours that change their nearest entry from frame to
//! frame flicker, and a pixel that does not change is then written as "unchanged".

use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How strongly the eye minds an error in red, green and blue. Squared distances use the squares.
const EYE: [f32; 3] = [1.0, 1.4, 0.8];

/// Counts colours with 7 bits per channel. Integer sums do not depend on the order, so threads may share it.
pub struct Histogram(Vec<AtomicU32>);

impl Histogram {
    pub fn new() -> Self {
        Self((0..1 << 21).map(|_| AtomicU32::new(0)).collect())
    }

    pub fn add(&self, [r, g, b]: [u8; 3]) {
        let bin = (usize::from(r >> 1) << 14) | (usize::from(g >> 1) << 7) | usize::from(b >> 1);
        self.0[bin].fetch_add(1, Relaxed);
    }

    fn colors(&self) -> Vec<Weighted> {
        let filled = self.0.iter().enumerate().filter(|(_, count)| count.load(Relaxed) > 0);
        let weighted = filled.map(|(bin, count)| {
            // 0 and 255 are exact: a black background stays black.
            let channel = |shift: u32| ((bin >> shift & 127) * 255 / 127) as f32;
            let count = count.load(Relaxed) as f32;
            // Less than proportional: small bright details need colours too.
            Weighted { color: eye([channel(14), channel(7), channel(0)]), weight: (count * count.sqrt()).sqrt() }
        });
        weighted.collect()
    }
}

#[derive(Clone, Copy)]
struct Weighted {
    color: [f32; 3],
    weight: f32,
}

fn eye(color: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|c| color[c] * EYE[c])
}

/// Up to 255 colours, ready for nearest-colour queries.
pub struct Palette {
    pub colors: Vec<[u8; 3]>,
    // In the eye's scale, by channel, padded with a far-away colour: the search is one straight loop.
    channels: [[f32; 256]; 3],
}

impl Palette {
    pub fn fitting(histogram: &Histogram) -> Self {
        let mut colors = histogram.colors();
        let mut centers = cut(&mut colors, 255);
        for _ in 0..4 {
            centers = improved(&colors, centers);
        }
        let mut bytes: Vec<[u8; 3]> = centers
            .iter()
            .map(|center| std::array::from_fn(|c| (center[c] / EYE[c]).round().clamp(0.0, 255.0) as u8))
            .collect();
        bytes.sort_unstable();
        bytes.dedup();
        Self::of(bytes)
    }

    pub fn of(colors: Vec<[u8; 3]>) -> Self {
        let mut channels = [[1e6; 256]; 3];
        for (i, color) in colors.iter().enumerate() {
            for (c, value) in eye(color.map(f32::from)).into_iter().enumerate() {
                channels[c][i] = value;
            }
        }
        Self { colors, channels }
    }

    fn nearest(&self, color: [f32; 3]) -> usize {
        let [r, g, b] = &self.channels;
        smallest(|i| {
            let (dr, dg, db) = (color[0] - r[i], color[1] - g[i], color[2] - b[i]);
            dr * dr + dg * dg + db * db
        })
    }

    /// The nearest entry, a second one, and how much of the second (0 to 128 of 256) makes a pattern of both look
    /// like the colour.
    pub fn mixture(&self, color: [u8; 3]) -> (u8, u8, u8) {
        let color = eye(color.map(f32::from));
        let first = self.nearest(color);
        let near: [f32; 3] = std::array::from_fn(|c| self.channels[c][first]);
        let error: [f32; 3] = std::array::from_fn(|c| color[c] - near[c]);
        // The part of the way to entry i that comes closest to the colour, and the squared length of that way.
        let way = |i: usize| {
            let step: [f32; 3] = std::array::from_fn(|c| self.channels[c][i] - near[c]);
            let length = step[0] * step[0] + step[1] * step[1] + step[2] * step[2];
            let along = error[0] * step[0] + error[1] * step[1] + error[2] * step[2];
            ((along / length.max(1e-9)).clamp(0.0, 0.5), length, step)
        };
        // What remains wrong with the mean, plus how much the pattern itself shows: `t (1 - t) length` is its variance.
        let second = smallest(|i| {
            let (t, length, step) = way(i);
            let rest: [f32; 3] = std::array::from_fn(|c| error[c] - t * step[c]);
            rest[0] * rest[0] + rest[1] * rest[1] + rest[2] * rest[2] + 0.1 * t * (1.0 - t) * length
        });
        (first as u8, second as u8, (256.0 * way(second).0) as u8)
    }
}

/// The first index below 256 at which `f` is smallest.
#[inline(always)]
fn smallest(f: impl Fn(usize) -> f32) -> usize {
    // Values first, then the search: the first loop then runs on vectors.
    let values: [f32; 256] = std::array::from_fn(f);
    (1..256).fold(0, |best, i| if values[i] < values[best] { i } else { best })
}

/// Splits the colours into up to `count` boxes, always the one with the largest weighted variance, at its mean along
/// the axis on which it varies most. Returns the means.
fn cut(colors: &mut [Weighted], count: usize) -> Vec<[f32; 3]> {
    struct Part<'a> {
        colors: &'a mut [Weighted],
        mean: [f32; 3],
        axis: usize,
        spread: f64,
    }

    fn measure(colors: &mut [Weighted]) -> Part<'_> {
        let (mut sum, mut squares, mut weight) = ([0.0f64; 3], [0.0f64; 3], 0.0f64);
        for w in colors.iter() {
            weight += f64::from(w.weight);
            for c in 0..3 {
                let value = f64::from(w.color[c]);
                sum[c] += f64::from(w.weight) * value;
                squares[c] += f64::from(w.weight) * value * value;
            }
        }
        let spread: [f64; 3] = std::array::from_fn(|c| squares[c] - sum[c] * sum[c] / weight.max(1e-30));
        let axis = (1..3).fold(0, |best, c| if spread[c] > spread[best] { c } else { best });
        let mean = sum.map(|s| (s / weight.max(1e-30)) as f32);
        let spread = if colors.len() > 1 { spread[axis] } else { 0.0 };
        Part { colors, mean, axis, spread }
    }

    let mut parts = vec![measure(colors)];
    while parts.len() < count {
        let widest = (1..parts.len()).fold(0, |best, i| if parts[i].spread > parts[best].spread { i } else { best });
        // A spread this small is rounding: all colours of the part are one.
        if parts[widest].spread < 1e-3 {
            break;
        }
        let Part { colors, mean, axis, .. } = parts.swap_remove(widest);
        colors.sort_unstable_by(|a, b| a.color[axis].total_cmp(&b.color[axis]).then_with(|| order(a, b)));
        let middle = colors.partition_point(|w| w.color[axis] < mean[axis]).clamp(1, colors.len() - 1);
        let (low, high) = colors.split_at_mut(middle);
        parts.push(measure(low));
        parts.push(measure(high));
    }
    parts.iter().map(|part| part.mean).collect()
}

fn order(a: &Weighted, b: &Weighted) -> std::cmp::Ordering {
    a.color.partial_cmp(&b.color).unwrap_or(std::cmp::Ordering::Equal)
}

/// One round of k-means.
fn improved(colors: &[Weighted], centers: Vec<[f32; 3]>) -> Vec<[f32; 3]> {
    let mut palette = Palette::of(Vec::new());
    for (i, center) in centers.iter().enumerate() {
        for c in 0..3 {
            palette.channels[c][i] = center[c];
        }
    }
    let nearest: Vec<usize> = colors.par_iter().with_min_len(1024).map(|w| palette.nearest(w.color)).collect();
    let mut sums = vec![[0.0f64; 4]; centers.len()];
    for (w, &i) in colors.iter().zip(&nearest) {
        for c in 0..3 {
            sums[i][c] += f64::from(w.weight) * f64::from(w.color[c]);
        }
        sums[i][3] += f64::from(w.weight);
    }
    let mean = |(sum, old): (&[f64; 4], &[f32; 3])| -> [f32; 3] {
        if sum[3] > 0.0 { std::array::from_fn(|c| (sum[c] / sum[3]) as f32) } else { *old }
    };
    sums.iter().zip(&centers).map(mean).collect()
}

//! Bloom.
//!
//! The picture is halved again and again, each time with a soft filter, and what is left at every size is brought back to
//! full size: the sum of these blurs has a bright core and a wide faint rim, as glare has. Light is moved, not made.

type Light = [f32; 3];

/// How often the picture is halved at the most.
const LEVELS: usize = 6;
/// Sides are not made shorter than this.
const SHORTEST: usize = 4;

/// A picture, one row after the other.
struct Level {
    size: [usize; 2],
    light: Vec<Light>,
}

pub(super) fn spread(rgba: &mut [[f32; 4]], size: [usize; 2], part: f32) {
    // What is not finite is shown, but not spread.
    let finite = |p: &[f32; 4]| std::array::from_fn(|c| if p[c].is_finite() { p[c] } else { 0.0 });
    let mut levels = vec![Level { size, light: rgba.iter().map(finite).collect() }];
    while let Some(last) = levels.last()
        && levels.len() <= LEVELS
        && last.size.iter().all(|&n| n >= 2 * SHORTEST)
    {
        let half = last.along(0, halve).along(1, halve);
        levels.push(half);
    }
    // From the smallest up, each level is added to what comes from below.
    let count = levels.len() - 1;
    let mut sum: Option<Level> = None;
    for level in levels.drain(1..).rev() {
        let mut level = level;
        if let Some(below) = sum {
            add(&mut level.light, &below.grown(level.size).light);
        }
        sum = Some(level);
    }
    let Some(sum) = sum else { return };
    let blurred = sum.grown(size).light;
    let share = part / count as f32;
    for (pixel, blurred) in rgba.iter_mut().zip(&blurred) {
        (0..3).for_each(|c| pixel[c] += share * blurred[c] - part * pixel[c]);
    }
}

fn add(to: &mut [Light], what: &[Light]) {
    to.iter_mut().zip(what).for_each(|(to, what)| (0..3).for_each(|c| to[c] += what[c]));
}

fn mix(parts: [(Light, f32); 4]) -> Light {
    std::array::from_fn(|c| parts.iter().map(|(light, weight)| weight * light[c]).sum())
}

/// Half as many values, rounded up: `(1 3 3 1) / 8`.
fn halve(line: &[Light], out: &mut Vec<Light>) {
    let last = line.len() - 1;
    for i in 0..line.len().div_ceil(2) {
        let at = |k: isize| line[(2 * i as isize + k).clamp(0, last as isize) as usize];
        out.push(mix([(at(-1), 0.125), (at(0), 0.375), (at(1), 0.375), (at(2), 0.125)]));
    }
}

impl Level {
    /// Twice as large in both directions, cut to `size`: `(1 3) / 4` on both sides.
    fn grown(&self, size: [usize; 2]) -> Level {
        let double = |line: &[Light], out: &mut Vec<Light>, n: usize| {
            let last = line.len() as isize - 1;
            for i in 0..n as isize {
                let other = if i % 2 == 0 { i / 2 - 1 } else { i / 2 + 1 };
                let at = |k: isize| line[k.clamp(0, last) as usize];
                out.push(mix([(at(i / 2), 0.75), (at(other), 0.25), ([0.0; 3], 0.0), ([0.0; 3], 0.0)]));
            }
        };
        self.along(0, |line, out| double(line, out, size[0])).along(1, |line, out| double(line, out, size[1]))
    }

    /// The same with every line along an axis changed.
    fn along(&self, axis: usize, change: impl Fn(&[Light], &mut Vec<Light>)) -> Level {
        let [width, height] = self.size;
        let mut changed = Vec::new();
        if axis == 0 {
            self.light.chunks(width).for_each(|line| change(line, &mut changed));
            return Level { size: [changed.len() / height, height], light: changed };
        }
        let mut column = Vec::with_capacity(height);
        for x in 0..width {
            column.clear();
            column.extend((0..height).map(|y| self.light[y * width + x]));
            change(&column, &mut changed);
        }
        let height = changed.len() / width;
        let light = (0..width * height).map(|i| changed[i % width * height + i / width]).collect();
        Level { size: [width, height], light }
    }
}

//! Colours of what is drawn: their mean, and the picture taken apart by them.

use super::ink::{Coverage, Ink};

/// Pixels covered less than this are edges, whose colour is mixed with the paper's: they do not found colours.
const WHOLE: f32 = 0.75;

/// Colours nearer to each other than this, of sqrt(3), are shades of one.
const SAME: f64 = 0.15;

/// A colour that covers less than this share of what is drawn is left to the others.
const LEAST_SHARE: f64 = 0.02;

/// Colours are counted in boxes of 32 along each of red, green and blue.
const BOXES: usize = 32;

/// More colours than these are not told apart.
const MOST_COLORS: usize = 16;

/// Rounds of k-means: it has long come to rest by then.
const ROUNDS: usize = 32;

/// The mean colour, as light. The fourth power of the coverage keeps edges, which are mixed with the paper, out of it.
pub fn mean(pixels: &[[f32; 4]], coverage: &[f32]) -> [f32; 3] {
    let mut sums = [0.0_f64; 4];
    for (pixel, &covered) in pixels.iter().zip(coverage) {
        let weight = f64::from(covered) * f64::from(covered);
        let weight = weight * weight;
        if weight > 0.0 {
            (0..3).for_each(|c| sums[c] += weight * to_light(f64::from(pixel[c])));
            sums[3] += weight;
        }
    }
    std::array::from_fn(|c| if sums[3] > 0.0 { (sums[c] / sums[3]) as f32 } else { 0.0 })
}

/// The coverage apart by at most `most` colours. `paper` is what edges are mixed with, if anything.
pub fn split(pixels: &[[f32; 4]], whole: Coverage, paper: Option<[f32; 3]>, most: usize) -> Vec<Ink> {
    let inked = |i: usize| unmixed(&pixels[i], whole.values[i], paper);
    let colors = dominant(&histogram(pixels, &whole.values), most);
    let mut parts: Vec<Vec<f32>> = vec![vec![0.0; pixels.len()]; colors.len()];
    for (i, &covered) in whole.values.iter().enumerate() {
        if covered > 0.0 {
            parts[nearest(&colors, inked(i)).0][i] = covered;
        }
    }
    let ink = |values: Vec<f32>| {
        let color = mean(pixels, &values);
        Ink { coverage: Coverage { width: whole.width, height: whole.height, values }, color }
    };
    let mut inks: Vec<Ink> = parts.into_iter().map(ink).filter(|ink| ink.coverage.mean() > 0.0).collect();
    inks.sort_by(|a, b| b.coverage.mean().total_cmp(&a.coverage.mean()));
    inks
}

/// The ink of a pixel that shows the paper through it: pixel = covered * ink + (1 - covered) * paper.
fn unmixed(pixel: &[f32; 4], covered: f32, paper: Option<[f32; 3]>) -> [f64; 3] {
    std::array::from_fn(|c| match paper {
        Some(paper) => f64::from(paper[c] + (pixel[c] - paper[c]) / covered).clamp(0.0, 1.0),
        None => f64::from(pixel[c]),
    })
}

/// A group of similar colours.
#[derive(Clone, Copy, Default)]
struct Group {
    weight: f64,
    color: [f64; 3],
}

/// The colours of the pixels that are covered as a whole (of all if there are none), grouped by boxes.
fn histogram(pixels: &[[f32; 4]], coverage: &[f32]) -> Vec<Group> {
    let least = if coverage.iter().any(|&c| c >= WHOLE) { WHOLE } else { 0.0 };
    let mut boxes = vec![Group::default(); BOXES * BOXES * BOXES];
    for (pixel, &covered) in pixels.iter().zip(coverage).filter(|(_, covered)| **covered >= least) {
        let place = |c: usize| ((pixel[c] * BOXES as f32) as usize).min(BOXES - 1);
        let group = &mut boxes[place(0) + BOXES * (place(1) + BOXES * place(2))];
        group.weight += f64::from(covered);
        (0..3).for_each(|c| group.color[c] += f64::from(covered) * f64::from(pixel[c]));
    }
    boxes.retain(|group| group.weight > 0.0);
    boxes.iter_mut().for_each(|group| group.color = group.color.map(|sum| sum / group.weight));
    boxes
}

/// k-means that begins with the heaviest group and goes on with what is heavy and far from all so far: nothing is random.
fn dominant(groups: &[Group], most: usize) -> Vec<[f64; 3]> {
    let all: f64 = groups.iter().map(|group| group.weight).sum();
    let heaviest = groups.iter().reduce(|a, b| if b.weight > a.weight { b } else { a });
    let mut colors: Vec<[f64; 3]> = heaviest.map(|group| group.color).into_iter().collect();
    while colors.len() < most.min(MOST_COLORS) {
        let (mut next, mut best) = (None, 0.0);
        for group in groups {
            let far = nearest(&colors, group.color).1;
            let score = group.weight * far;
            if far > SAME * SAME && score > best {
                (next, best) = (Some(group.color), score);
            }
        }
        let Some(next) = next else { break };
        colors.push(next);
        settle(groups, &mut colors);
    }
    let shares = shares(groups, &colors);
    let large: Vec<_> = (0..colors.len()).filter(|&k| shares[k].weight >= LEAST_SHARE * all).collect();
    large.iter().map(|&k| colors[k]).collect()
}

/// Each colour goes to the mean of the groups nearest to it, until they rest.
fn settle(groups: &[Group], colors: &mut [[f64; 3]]) {
    for _ in 0..ROUNDS {
        let shares = shares(groups, colors);
        let moved: Vec<_> =
            colors.iter().zip(&shares).map(|(old, s)| if s.weight > 0.0 { s.color } else { *old }).collect();
        if moved == colors {
            break;
        }
        colors.copy_from_slice(&moved);
    }
}

/// Weight and mean of the groups nearest to each colour.
fn shares(groups: &[Group], colors: &[[f64; 3]]) -> Vec<Group> {
    let mut shares = vec![Group::default(); colors.len()];
    for group in groups {
        let share = &mut shares[nearest(colors, group.color).0];
        share.weight += group.weight;
        (0..3).for_each(|c| share.color[c] += group.weight * group.color[c]);
    }
    shares.iter_mut().filter(|s| s.weight > 0.0).for_each(|s| s.color = s.color.map(|sum| sum / s.weight));
    shares
}

/// The nearest colour, the first of equals, and its squared distance.
fn nearest(colors: &[[f64; 3]], to: [f64; 3]) -> (usize, f64) {
    let squared = |color: &[f64; 3]| (0..3).map(|c| (color[c] - to[c]) * (color[c] - to[c])).sum::<f64>();
    let distances = colors.iter().map(squared).enumerate();
    distances.reduce(|a, b| if b.1 < a.1 { b } else { a }).unwrap_or((0, 0.0))
}

fn to_light(stored: f64) -> f64 {
    if stored <= 0.04045 { stored / 12.92 } else { libm::pow((stored + 0.055) / 1.055, 2.4) }
}

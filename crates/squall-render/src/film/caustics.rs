//! Shadows and caustics of water.
//!
//! From each corner of a regular grid of light, a ray follows the light through the surface. Where the four corners of a
//! square of the grid arrive, the light of the square arrives: spread over a larger area it is weaker, gathered on a
//! smaller one it is stronger (Watt 1990). Nothing is drawn by chance, so there is no grain; and no light is lost but
//! what the water takes away and what its surface mirrors.
//!
//! A map holds several heights. Its coordinates follow the unbent light down to the lowest of them, so that light
//! that meets no water arrives in its own square at every height: the map is exactly 1 there.

use super::liquid::Water;
use super::optics::{against, bend, fresnel, mirror};
use super::stage::go_on;
use super::style::{Light, Source};
use super::surface::Surfaces;
use super::vector::{Vec3, along, dot, unit};
use crate::color::{Rgb, mix};
use crate::plane::RenderError;
use rayon::prelude::*;
use squall_core::CancelToken;

/// Heights between the ground and the water's highest place at which light is found for objects.
const SLICES: usize = 6;
/// The lowest light that has a map: below, shadows are too long.
const LOWEST: f64 = 0.2;
/// Texels along a side of a map.
const MOST_TEXELS: f64 = 1400.0;
/// Rows of rays that are followed at once.
const STRIP: usize = 64;
/// Times that a ray of light may meet the surface.
const MOST_EVENTS: u8 = 8;
/// Corners of a square that are further apart than this many texels do not belong together any more.
const TORN: f32 = 10.0;

/// The heights at which light falls on something.
pub(super) struct Receivers {
    heights: Vec<f64>,
}

impl Receivers {
    /// `None` if there is nothing to fall on.
    pub fn new(ground: Option<f64>, surfaces: &Surfaces<'_>, low: f64, high: f64) -> Option<Self> {
        let objects = (!surfaces.is_empty()).then(|| {
            let (bottom, top) = surfaces.bounds().map_or((low, high), |(l, h)| (l[1], h[1]));
            let bottom = ground.map_or(bottom, |ground| bottom.max(ground));
            [bottom, top.min(high)]
        });
        let lowest = ground.or(objects.map(|o| o[0]))?;
        let mut heights = vec![lowest];
        if let Some([bottom, top]) = objects.filter(|o| o[1] > o[0]) {
            let between = (0..SLICES).map(|k| bottom + (top - bottom) * k as f64 / (SLICES - 1) as f64);
            heights.extend(between.filter(|&y| y > lowest));
        }
        Some(Self { heights })
    }
}

/// How much of a light reaches places at several heights, relative to no water.
pub(super) struct LightMap {
    heights: Vec<f64>,
    /// Metres along x and z that unbent light moves for each metre that it falls.
    slant: [f64; 2],
    /// The lower corner of the map, in metres along x and z at the lowest height.
    low: [f64; 2],
    texel: f64,
    size: [usize; 2],
    slices: Vec<Vec<Rgb>>,
}

/// Bytes of the light maps of water within `low` and `high`, above a ground, for directions towards lights. `texel` in metres.
pub fn light_map_bytes(low: Vec3, high: Vec3, ground: f64, has_objects: bool, suns: &[Vec3], texel: f64) -> u64 {
    let heights = if has_objects { SLICES as u64 } else { 1 };
    let tall = (high[1] - ground).max(0.0);
    let map = |sun: &Vec3| {
        let Some(to) = unit(*sun).filter(|to| to[1] >= LOWEST) else { return 0 };
        let side = |a: usize| high[a] - low[a] + (to[a] / to[1]).abs() * tall + 2.0 * tall;
        let texel = texel.max(side(0).max(side(2)) / MOST_TEXELS);
        let count = |a: usize| (side(a) / texel).ceil().max(1.0) as u64;
        // The map itself, and the strip of rays that is followed.
        heights * (12 * count(0) * count(2) + 24 * (STRIP as u64 + 1) * (count(0) + 1))
    };
    suns.iter().map(map).sum()
}

/// Where a corner of the grid arrives, in texels, how much of its light is left, and how it came.
#[derive(Clone, Copy)]
struct Arrival {
    at: [f32; 2],
    light: Rgb,
    events: u8,
}

/// Light that never arrives.
const LOST: u8 = u8::MAX;

impl LightMap {
    /// `None` if the light does not come from above, or from too near.
    pub fn new(
        water: &Water,
        light: &Light,
        receivers: &Receivers,
        texel: f64,
        cancel: &CancelToken,
    ) -> Result<Option<Self>, RenderError> {
        let Source::Directional(_) = light.source else { return Ok(None) };
        let (to, ..) = light.at([0.0; 3]);
        let heights = receivers.heights.clone();
        let (low, high) = (water.levels.low, water.levels.high);
        if to[1] < LOWEST || high[1] <= heights[0] {
            return Ok(None);
        }
        let slant = [-to[0] / to[1], -to[2] / to[1]];
        // As wide as the shadow of the box, and once more its height all around for light that is bent outwards.
        let tall = high[1] - heights[0];
        let (mut from, mut until) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for (k, a) in [0, 2].into_iter().enumerate() {
            for y in [low[1].max(heights[0]), high[1]] {
                let shift = slant[k] * (y - heights[0]);
                from[k] = from[k].min(low[a] + shift);
                until[k] = until[k].max(high[a] + shift);
            }
            (from[k], until[k]) = (from[k] - tall, until[k] + tall);
        }
        let longest = (until[0] - from[0]).max(until[1] - from[1]);
        let texel = texel.max(longest / MOST_TEXELS);
        let size: [usize; 2] = std::array::from_fn(|k| ((until[k] - from[k]) / texel).ceil().max(1.0) as usize);
        let slices = vec![vec![[0.0; 3]; size[0] * size[1]]; heights.len()];
        let mut map = Self { heights, slant, low: from, texel, size, slices };
        map.fill(water, to, cancel)?;
        let spread = light.spread(f64::INFINITY);
        map.soften(spread, low[1] + 0.7 * (high[1] - low[1]));
        Ok(Some(map))
    }

    pub fn memory(&self) -> usize {
        self.slices.iter().map(|slice| 12 * slice.len()).sum()
    }

    /// Texels at which a place lies if light were not bent.
    fn texels(&self, x: Vec3) -> [f64; 2] {
        let down = x[1] - self.heights[0];
        let [u, v] = [x[0] + self.slant[0] * down, x[2] + self.slant[1] * down];
        [(u - self.low[0]) / self.texel, (v - self.low[1]) / self.texel]
    }

    /// How much of the light reaches a place, between heights and texels.
    pub fn at(&self, x: Vec3) -> Rgb {
        let [u, v] = self.texels(x);
        let above = self.heights.partition_point(|&y| y < x[1]);
        let last = self.heights.len() - 1;
        let look = |k: usize| self.slice_at(k, u, v);
        if above == 0 || above > last {
            return look(above.min(last));
        }
        let (low, high) = (self.heights[above - 1], self.heights[above]);
        mix(look(above - 1), look(above), ((x[1] - low) / (high - low)) as f32)
    }

    fn slice_at(&self, k: usize, u: f64, v: f64) -> Rgb {
        let [w, h] = self.size;
        let (u, v) = (u - 0.5, v - 0.5);
        if !(u >= 0.0 && v >= 0.0 && u < (w - 1) as f64 && v < (h - 1) as f64) {
            return [1.0; 3];
        }
        let (i, j) = (u as usize, v as usize);
        let (fu, fv) = ((u - i as f64) as f32, (v - j as f64) as f32);
        let row = |j: usize| mix(self.slices[k][i + w * j], self.slices[k][i + 1 + w * j], fu);
        mix(row(j), row(j + 1), fv)
    }

    /// Follows all rays, a strip of rows at a time, and puts down their light.
    fn fill(&mut self, water: &Water, to: Vec3, cancel: &CancelToken) -> Result<(), RenderError> {
        let count = self.heights.len();
        let (columns, rows) = (self.size[0] + 1, self.size[1] + 1);
        let mut slices = std::mem::take(&mut self.slices);
        for first in (0..rows - 1).step_by(STRIP) {
            go_on(cancel)?;
            // One row more than squares: the next strip follows it once more.
            let here = STRIP.min(rows - 1 - first) + 1;
            let mut arrivals = vec![Arrival { at: [0.0; 2], light: [0.0; 3], events: LOST }; here * columns * count];
            arrivals.par_chunks_mut(columns * count).enumerate().for_each(|(j, row)| {
                for (i, out) in row.chunks_mut(count).enumerate() {
                    self.follow(water, to, [i as f64, (first + j) as f64], out);
                }
            });
            slices.par_iter_mut().enumerate().for_each(|(k, slice)| {
                for j in 0..here - 1 {
                    for i in 0..columns - 1 {
                        let corner = |di: usize, dj: usize| arrivals[((j + dj) * columns + i + di) * count + k];
                        put_square(slice, self.size, [corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)]);
                    }
                }
            });
        }
        self.slices = slices;
        Ok(())
    }

    /// One ray of light down through the water.
    fn follow(&self, water: &Water, to: Vec3, corner: [f64; 2], out: &mut [Arrival]) {
        let lowest = self.heights[0];
        let cell = water.levels.spacing;
        let ground = [self.low[0] + corner[0] * self.texel, lowest, self.low[1] + corner[1] * self.texel];
        let start = (water.levels.high[1] + cell - lowest) / to[1];
        let mut x = along(ground, to, start);
        let mut direction = to.map(|v| -v);
        let (mut inside, mut light, mut events) = (false, [1.0; 3], 0);
        // Heights not yet reached, from the top down.
        let mut next = self.heights.len();
        while next > 0 {
            let hit = water.levels.crossing(x, direction, inside, events > 0, f64::INFINITY);
            let mut end = hit.unwrap_or(f64::INFINITY);
            // Water that wets the ground goes on to it.
            if inside && direction[1] < 0.0 && x[1] + end * direction[1] - lowest < cell {
                end = f64::INFINITY;
            }
            while next > 0 && direction[1] < 0.0 {
                let t = (self.heights[next - 1] - x[1]) / direction[1];
                if t > end {
                    break;
                }
                let left = if inside { water.left(x, direction, t.max(0.0)) } else { [1.0; 3] };
                let at = self.texels(along(x, direction, t)).map(|v| v as f32);
                next -= 1;
                out[next] = Arrival { at, light: std::array::from_fn(|c| light[c] * left[c]), events };
            }
            if !end.is_finite() || events >= MOST_EVENTS {
                return;
            }
            if inside {
                let left = water.left(x, direction, end);
                (0..3).for_each(|c| light[c] *= left[c]);
            }
            x = along(x, direction, end);
            events += 1;
            let Some(normal) = water.levels.normal(x) else {
                inside = !inside;
                continue;
            };
            let normal = against(normal, direction);
            let eta = water.eta(inside);
            match bend(direction, normal, eta) {
                Some(bent) => {
                    let passes = 1.0 - fresnel(-dot(direction, normal), eta);
                    light = light.map(|v| v * passes as f32);
                    (direction, inside) = (bent, !inside);
                }
                None => direction = mirror(direction, normal),
            }
        }
    }

    /// Blurs every height by the size of the light, as seen past water whose edges are at about the height `edges`.
    fn soften(&mut self, spread: f64, edges: f64) {
        let Self { size, texel, heights, .. } = self;
        self.slices.par_iter_mut().zip(heights).for_each(|(slice, y)| {
            let reach = (spread * (edges - *y).max(0.0) / *texel).clamp(1.25, 24.0) as f32;
            blur(slice, *size, reach);
        });
    }
}

/// Puts down the light of one square of the grid.
fn put_square(slice: &mut [Rgb], size: [usize; 2], corners: [Arrival; 4]) {
    let [a, b, c, d] = corners;
    let apart = |p: Arrival, q: Arrival| (p.at[0] - q.at[0]).abs().max((p.at[1] - q.at[1]).abs());
    let widest = apart(a, b).max(apart(a, c)).max(apart(b, d)).max(apart(c, d));
    // Corners that came on different ways belong together only if they arrive together.
    let same = corners.iter().all(|p| p.events == a.events);
    if corners.iter().any(|p| p.events == LOST) || widest > if same { TORN } else { 1.5 } {
        for p in corners.iter().filter(|p| p.events != LOST) {
            // Over nine texels: nothing is known of where the light between the corners went.
            for n in 0..9 {
                let at = [p.at[0] + (n % 3) as f32 - 1.0, p.at[1] + (n / 3) as f32 - 1.0];
                put(slice, size, at, p.light.map(|v| v * (0.25 / 9.0)));
            }
        }
        return;
    }
    let light: Rgb = std::array::from_fn(|i| 0.25 * (a.light[i] + b.light[i] + c.light[i] + d.light[i]));
    // As many points as it takes to leave no gaps.
    let n = (widest - 0.01).ceil().max(1.0);
    let share = light.map(|v| v / (n * n));
    let count = n as usize;
    for j in 0..count {
        for i in 0..count {
            let (u, v) = ((i as f32 + 0.5) / n, (j as f32 + 0.5) / n);
            let at = std::array::from_fn(|k| {
                let (near, far) = (a.at[k] + u * (b.at[k] - a.at[k]), c.at[k] + u * (d.at[k] - c.at[k]));
                near + v * (far - near)
            });
            put(slice, size, at, share);
        }
    }
}

/// Shares light among the four nearest texels; a texel's middle is at a half.
fn put(slice: &mut [Rgb], [w, h]: [usize; 2], at: [f32; 2], light: Rgb) {
    let (u, v) = (at[0] - 0.5, at[1] - 0.5);
    let (i, j) = (u.floor(), v.floor());
    for (di, dj) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
        let (x, y) = (i + di, j + dj);
        if x >= 0.0 && y >= 0.0 && x < w as f32 && y < h as f32 {
            let weight = (1.0 - (u - x).abs()) * (1.0 - (v - y).abs());
            let out = &mut slice[x as usize + w * y as usize];
            (0..3).for_each(|c| out[c] += weight * light[c]);
        }
    }
}

/// A tent of `reach` texels to either side, along both axes; beyond the edge is light that meets no water.
fn blur(slice: &mut [Rgb], [w, h]: [usize; 2], reach: f32) {
    let n = reach.ceil() as isize;
    let mut weights: Vec<f32> = (-n..=n).map(|k| (reach - k.abs() as f32).max(0.0)).collect();
    let sum: f32 = weights.iter().sum();
    weights.iter_mut().for_each(|v| *v /= sum);
    for (count, stride, lines, across) in [(w, 1, h, w), (h, w, w, 1)] {
        let mut line = vec![[0.0; 3]; count];
        for l in 0..lines {
            let first = l * across;
            for (i, out) in line.iter_mut().enumerate() {
                let mut sum = [0.0; 3];
                for (k, weight) in weights.iter().enumerate() {
                    let at = i as isize + k as isize - n;
                    let inside = at >= 0 && at < count as isize;
                    let value = if inside { slice[first + at as usize * stride] } else { [1.0; 3] };
                    (0..3).for_each(|c| sum[c] += weight * value[c]);
                }
                *out = sum;
            }
            for (i, value) in line.iter().enumerate() {
                slice[first + i * stride] = *value;
            }
        }
    }
}

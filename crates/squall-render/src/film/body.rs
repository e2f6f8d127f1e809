//! Liquids that scatter light below their surface: chocolate, wax, slime, lava.
//!
//! Light that enters such a liquid comes out again nearby. Where it falls on the surface is found once for each picture, on voxels around the
//! liquid; it then spreads through the liquid, and only through it, by passes of averaging, further in the channels that are absorbed less. What
//! leaves the surface is the mean of the light that fell on it within that reach:
//!
//! ```text
//! light = spread(w E) / spread(w),    E what falls on the surface, w how much surface a voxel holds
//! ```
//!
//! So a surface under even light looks evenly lit whatever its shape, shadows have soft edges of the liquid's colour, and what is thinner than the
//! reach shines when it is lit from behind. A part of the direct light is added as it falls, so that small bumps are seen; and the surface
//! mirrors what is around it, as clear liquids do.

use super::camera::Ray;
use super::levels::Levels;
use super::liquid::{Liquid, Water};
use super::lookup::Lookup;
use super::optics::{against, fresnel, mirror};
use super::ramp::Emission;
use super::shading::Shader;
use super::stage::go_on;
use super::style::{Finish, Quality, Style};
use super::surface::Surfaces;
use super::vector::{Vec3, add, along, cross, dot, length, scale, sub, unit};
use crate::color::{Rgb, mix};
use crate::plane::RenderError;
use rayon::prelude::*;
use squall_core::CancelToken;

/// The part of the direct light that has been below the surface.
const BELOW: f32 = 0.6;
/// Most voxels along the longest side.
const MOST_VOXELS: f64 = 128.0;
/// Most passes of averaging.
const MOST_PASSES: usize = 120;
/// What surfaces that are seen by others send back, as a part of the light from all around.
const BOUNCE: f32 = 0.35;
/// The brightest that a light itself can be in the surface.
const BRIGHTEST: f32 = 5.0;

/// How light leaves a liquid, ready for rays.
pub(super) struct Body {
    color: Rgb,
    /// How far light goes, in metres.
    spread: f64,
    roughness: f32,
    heat: Option<Lookup>,
    /// How many metres of it are seen to glow.
    glows: f32,
    glow: Option<(Emission, [f32; 2])>,
    inner: Option<Inner>,
}

impl Body {
    /// `None` if the liquid is clear.
    pub fn new(liquid: &Liquid<'_>) -> Result<Option<Self>, RenderError> {
        let Some(body) = &liquid.body else { return Ok(None) };
        let heat = body.heat.map(Lookup::new).transpose()?;
        let (color, spread) = (body.color, f64::from(body.spread));
        let (roughness, glows) = (liquid.roughness, body.glows);
        Ok(Some(Self { color, spread, roughness, heat, glows, glow: None, inner: None }))
    }

    /// Bytes in use.
    pub fn memory(&self) -> usize {
        self.heat.as_ref().map_or(0, Lookup::memory) + self.inner.as_ref().map_or(0, Inner::memory)
    }

    /// Finds the light below the surface.
    pub fn shine(
        &mut self,
        levels: &Levels,
        style: &Style,
        surfaces: &Surfaces<'_>,
        quality: Quality,
        cancel: &CancelToken,
    ) -> Result<(), RenderError> {
        self.glow = self.heat.is_some().then(|| (Emission::new(&style.glow), style.glow.range));
        self.inner = Some(Inner::new(self, levels, style, surfaces, quality, cancel)?);
        Ok(())
    }

    /// Direct light and light from all around that leave the surface at a place, of a white liquid.
    fn light(&self, x: Vec3) -> [Rgb; 2] {
        self.inner.as_ref().and_then(|inner| inner.at(x)).unwrap_or([[0.0; 3]; 2])
    }

    /// Light that the liquid itself sends out below a place of its surface.
    fn sent(&self, x: Vec3) -> Rgb {
        let (Some(heat), Some((emission, [cold, hot]))) = (&self.heat, &self.glow) else { return [0.0; 3] };
        emission.at((heat.at(x) - cold) / (hot - cold).max(1e-9)).map(|v| v * self.glows)
    }
}

impl<const N: usize> Shader<'_, N> {
    /// Light that reaches the camera from a liquid that scatters, met at `distance` metres.
    pub(super) fn look_at_body(&self, water: &Water, body: &Body, ray: &Ray, distance: f64, footprint: f64) -> Rgb {
        let x = along(ray.origin, ray.direction, distance);
        let cell = water.levels.spacing;
        let outward = water.levels.normal(x).unwrap_or(scale(ray.direction, -1.0));
        let normal = against(outward, ray.direction);
        let inside = along(x, outward, -1.5 * cell);
        let above = along(x, outward, 0.7 * cell);
        let [below, around] = body.light(along(x, outward, -0.5 * cell));
        // A white matt surface, less the light from all around, of which the voxels know more.
        let white = Finish { color: [1.0; 3], roughness: 1.0, metal: 0.0 };
        let lamps = self.lamps(ray, above, normal, white);
        let color = water.mixed(body.color, inside);
        let sent = body.sent(inside);
        let mirrored = fresnel(-dot(ray.direction, normal), water.ior) as f32 * (1.0 - 0.6 * body.roughness);
        let seen = self.mirrored_in_body(water, body, x, mirror(ray.direction, normal), footprint);
        std::array::from_fn(|c| {
            let lit = (1.0 - BELOW) * lamps[c] + BELOW * below[c] + around[c];
            (1.0 - mirrored) * color[c] * lit + (mirrored * seen[c]).min(BRIGHTEST) + sent[c]
        })
    }

    /// What is seen in the surface of a liquid that scatters.
    fn mirrored_in_body(&self, water: &Water, body: &Body, x: Vec3, direction: Vec3, footprint: f64) -> Rgb {
        let blur = water.blur;
        let ray = Ray { origin: along(x, direction, 0.5 * water.levels.spacing), direction };
        let crossing = water.levels.crossing(ray.origin, direction, false, true, f64::INFINITY);
        let sky = || {
            let (seen, lights) = (self.sky.seen(direction, blur), self.sky.lights(x, direction, blur));
            std::array::from_fn(|c| seen[c] + lights[c])
        };
        let solid = self.solid(&ray, crossing.unwrap_or(f64::INFINITY), |t| footprint + blur * t);
        if let Some(hit) = solid {
            let [r, g, b, a] = self.shade(&ray, &hit, footprint + blur * hit.distance, false);
            let behind: Rgb = if a < 1.0 { sky() } else { [0.0; 3] };
            return [r + (1.0 - a) * behind[0], g + (1.0 - a) * behind[1], b + (1.0 - a) * behind[2]];
        }
        let Some(t) = crossing else { return sky() };
        // Light that met the surface twice is not followed further.
        let there = along(ray.origin, direction, t + 0.5 * water.levels.spacing);
        let ([below, around], sent) = (body.light(there), body.sent(there));
        let color = water.mixed(body.color, there);
        std::array::from_fn(|c| color[c] * (below[c] + around[c]) + sent[c])
    }
}

/// Light on voxels of a liquid.
struct Inner {
    /// The centre of the first voxel, and the side of voxels, in metres.
    origin: Vec3,
    voxel: f64,
    size: [usize; 3],
    /// Which of the values belongs to each voxel.
    numbers: Vec<u32>,
    /// Direct light and light from all around.
    values: Vec<[Rgb; 2]>,
}

const NONE: u32 = u32::MAX;

/// Sums of direct light and of light from all around, and of surface, in one channel.
type Sums = [f32; 3];

impl Inner {
    fn new(
        body: &Body,
        levels: &Levels,
        style: &Style,
        surfaces: &Surfaces<'_>,
        quality: Quality,
        cancel: &CancelToken,
    ) -> Result<Self, RenderError> {
        let cell = levels.spacing;
        let extent = sub(levels.high, levels.low);
        let longest = extent.iter().fold(0.0, |most: f64, v| most.max(*v));
        // Distances are known up to four cells.
        let voxel = (0.5 * body.spread).clamp(cell, 3.5 * cell).max(longest / MOST_VOXELS);
        let size = extent.map(|v| (v / voxel).ceil() as usize + 3);
        let origin = levels.low.map(|v| v - voxel);
        let place = |i: usize| -> Vec3 {
            let at = [i % size[0], i / size[0] % size[1], i / (size[0] * size[1])];
            std::array::from_fn(|a| origin[a] + at[a] as f64 * voxel)
        };
        let total = size.iter().product::<usize>();
        let inside = |i: usize| levels.distance(place(i)) / voxel < 1.0;
        let cells: Vec<u32> = (0..total as u32).into_par_iter().filter(|&i| inside(i as usize)).collect();
        let mut numbers = vec![NONE; total];
        cells.iter().enumerate().for_each(|(n, &i)| numbers[i as usize] = n as u32);
        go_on(cancel)?;
        let mean = mix(style.ambient.ground, style.ambient.sky, 0.5);
        let bounce: Rgb = std::array::from_fn(|c| BOUNCE * body.color[c] * mean[c]);
        let directions = hemisphere(if quality.samples == 1 { 6 } else { 16 });
        let fallen: Vec<([Rgb; 2], f32)> = cells
            .par_iter()
            .map(|&i| {
                let x = place(i as usize);
                let distance = levels.distance(x);
                let weight = (1.0 - distance.abs() / voxel).max(0.0) as f32;
                let slope = || levels.normal(x).or_else(|| levels.slope(x, voxel));
                let Some(normal) = (weight > 0.0).then(slope).flatten() else { return ([[0.0; 3]; 2], 0.0) };
                let above = along(x, normal, cell - distance);
                let direct = direct(levels, style, surfaces, above, normal);
                let around = around(levels, style, surfaces, (above, normal), &directions, bounce);
                ([direct, around], weight)
            })
            .collect();
        go_on(cancel)?;
        let strides = [1, size[0], size[0] * size[1]];
        let beside: Vec<[u32; 6]> = cells
            .par_iter()
            .enumerate()
            .map(|(n, &i)| {
                std::array::from_fn(|k| {
                    let stride = strides[k / 2];
                    let at = i as usize / stride % size[k / 2];
                    let other = if k % 2 == 0 {
                        (at > 0).then(|| i as usize - stride)
                    } else {
                        (at + 1 < size[k / 2]).then(|| i as usize + stride)
                    };
                    other.map(|o| numbers[o]).filter(|&o| o != NONE).unwrap_or(n as u32)
                })
            })
            .collect();
        let most = body.color.iter().fold(1e-6, |most: f32, v| most.max(*v));
        let mut values = vec![[[0.0; 3]; 2]; cells.len()];
        for c in 0..3 {
            go_on(cancel)?;
            let mut now: Vec<Sums> =
                fallen.iter().map(|([direct, around], w)| [w * direct[c], w * around[c], *w]).collect();
            let mut next = now.clone();
            // Of what a channel absorbs, less goes far.
            let reach = body.spread * f64::from(0.3 + 0.7 * body.color[c] / most) / voxel;
            let passes = ((3.0 * reach * reach).round() as usize).clamp(1, MOST_PASSES);
            for _ in 0..passes {
                let before = &now;
                next.par_iter_mut().zip(&beside).enumerate().for_each(|(n, (next, beside))| {
                    let mut sum = [0.0; 3];
                    for &b in beside {
                        (0..3).for_each(|k| sum[k] += before[b as usize][k]);
                    }
                    *next = std::array::from_fn(|k| 0.5 * before[n][k] + sum[k] * (1.0 / 12.0));
                });
                std::mem::swap(&mut now, &mut next);
            }
            for (value, [direct, around, w]) in values.iter_mut().zip(now) {
                // Nothing is known where no surface is within reach.
                let per = if w > 1e-12 { 1.0 / w } else { 0.0 };
                (value[0][c], value[1][c]) = (per * direct, per * around);
            }
        }
        Ok(Self { origin, voxel, size, numbers, values })
    }

    fn memory(&self) -> usize {
        4 * self.numbers.len() + size_of::<[Rgb; 2]>() * self.values.len()
    }

    /// Linear between the voxels that hold liquid; `None` where there are none.
    fn at(&self, x: Vec3) -> Option<[Rgb; 2]> {
        let mut first = [0; 3];
        let mut f = [0.0f32; 3];
        for a in 0..3 {
            let p = ((x[a] - self.origin[a]) / self.voxel).clamp(0.0, (self.size[a] - 2) as f64);
            first[a] = p as usize;
            f[a] = (p - first[a] as f64) as f32;
        }
        let (mut sum, mut weights) = ([[0.0; 3]; 2], 0.0);
        for corner in 0..8 {
            let up: [usize; 3] = std::array::from_fn(|a| corner >> a & 1);
            let at: [usize; 3] = std::array::from_fn(|a| first[a] + up[a]);
            let number = self.numbers[at[0] + self.size[0] * (at[1] + self.size[1] * at[2])];
            let weight: f32 = (0..3).map(|a| if up[a] == 1 { f[a] } else { 1.0 - f[a] }).product();
            if number == NONE || weight <= 0.0 {
                continue;
            }
            weights += weight;
            for (sum, value) in sum.iter_mut().zip(&self.values[number as usize]) {
                (0..3).for_each(|c| sum[c] += weight * value[c]);
            }
        }
        (weights > 0.0).then(|| sum.map(|sum| sum.map(|v| v / weights)))
    }
}

/// Light of all lamps that falls on a place of the surface.
fn direct(levels: &Levels, style: &Style, surfaces: &Surfaces<'_>, x: Vec3, normal: Vec3) -> Rgb {
    let mut sum = [0.0; 3];
    for light in &style.lights {
        let (to, far, strength) = light.at(x);
        let cos = dot(normal, to);
        if cos <= 0.0 {
            continue;
        }
        let spread = light.spread(far);
        let mut seen = levels.light_past(x, to, far, spread);
        if seen > 0.0 {
            seen *= surfaces.light_past(x, to, far, spread);
        }
        (0..3).for_each(|c| sum[c] += strength * light.color[c] * cos as f32 * seen);
    }
    sum
}

/// Light from all around that falls on a place of the surface; other parts of it send back `bounce`.
fn around(
    levels: &Levels,
    style: &Style,
    surfaces: &Surfaces<'_>,
    (x, normal): (Vec3, Vec3),
    directions: &[Vec3],
    bounce: Rgb,
) -> Rgb {
    let side = if normal[0].abs() < 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] };
    let e = unit(cross(normal, side)).unwrap_or(side);
    let g = cross(normal, e);
    // What is further away than the liquid is large takes little of the sky.
    let far = length(sub(levels.high, levels.low));
    let mut sum = [0.0; 3];
    for d in directions {
        let to = add(add(scale(e, d[0]), scale(g, d[1])), scale(normal, d[2]));
        let open = match levels.crossing(x, to, false, false, f64::INFINITY) {
            Some(_) => 0.0,
            None => surfaces.light_past(x, to, far, 0.2),
        };
        let sky = mix(style.ambient.ground, style.ambient.sky, (0.5 + 0.5 * to[1]) as f32);
        (0..3).for_each(|c| sum[c] += open * sky[c] + (1.0 - open) * bounce[c]);
    }
    sum.map(|v| v / directions.len() as f32)
}

/// Directions above a plane, denser towards its normal, the last axis, by the cosine (a spiral of golden angles).
fn hemisphere(count: usize) -> Vec<Vec3> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let one = |k: usize| {
        let r = ((k as f64 + 0.5) / count as f64).sqrt();
        let angle = golden * k as f64;
        [r * angle.cos(), r * angle.sin(), (1.0 - r * r).sqrt()]
    };
    (0..count).map(one).collect()
}

//! Three-dimensional smoke and fire: rays through the volume, front to back, with light, shadow and glow.
//!
//! Emission and absorption with single scattering; the shadows are those of `light`, softened as several
//! scatterings would (octaves of weaker extinction, Wrenninge et al. 2013).

use crate::color::{Background, NOT_FINITE, Rgb};
use crate::colormap::{ColorMap, Table};
use crate::image::{Image, pattern};
use crate::light::optical_depth;
use crate::plane::{RenderError, check, even_size};
use rayon::prelude::*;

/// A three-dimensional field of density: one value per cell, x fastest, then y (up), then z (towards the viewer of
/// the front view). Negative values count as none.
#[derive(Clone, Copy, Debug)]
pub struct Volume<'a> {
    pub(crate) density: &'a [f32],
    pub(crate) cells: [usize; 3],
    pub(crate) spacing: [f64; 3],
}

impl<'a> Volume<'a> {
    /// `spacing` is the size of a cell in metres.
    pub fn new(density: &'a [f32], cells: [usize; 3], spacing: [f64; 3]) -> Result<Self, RenderError> {
        check(density, &cells, &spacing)?;
        Ok(Self { density, cells, spacing })
    }
}

/// Where the viewer stands, in degrees; very far away, so that nothing shrinks with distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Around the vertical axis: 0 looks along -z with x to the right, 90 looks along -x.
    pub yaw: f64,
    /// Above the horizon: 90 looks straight down with x to the right and -z up.
    pub pitch: f64,
}

impl View {
    /// Along -z: x to the right, y up.
    pub const FRONT: Self = Self { yaw: 0.0, pitch: 0.0 };
    /// Along -x: -z to the right, y up.
    pub const SIDE: Self = Self { yaw: 90.0, pitch: 0.0 };
    /// Along -y: x to the right, -z up.
    pub const TOP: Self = Self { yaw: 0.0, pitch: 90.0 };

    /// Unit vectors to the right, up, and towards the viewer.
    fn axes(self) -> [[f32; 3]; 3] {
        let ((sy, cy), (sp, cp)) = (self.yaw.to_radians().sin_cos(), self.pitch.to_radians().sin_cos());
        let axes = [[cy, 0.0, -sy], [-sy * sp, cp, -cy * sp], [sy * cp, sp, cy * cp]];
        // A right angle is meant exactly: `cos(90 degrees)` is 6e-17.
        axes.map(|axis: [f64; 3]| axis.map(|v| if v.abs() < 1e-12 { 0.0 } else { v as f32 }))
    }
}

/// How smoke looks.
#[derive(Clone, Debug, PartialEq)]
pub struct SmokeStyle {
    /// Optical depth per metre for a density of 1: larger is thicker.
    pub kappa: f32,
    /// The colour of the smoke in white light.
    pub albedo: Rgb,
    /// Towards the light; any length.
    pub light_from: [f32; 3],
    /// The colour and strength of that light.
    pub light: Rgb,
    /// The colour and strength of the sky, which lights from above and reaches everywhere.
    pub sky: Rgb,
}

impl SmokeStyle {
    /// Pale smoke in warm light from the upper left, under a bluish sky. `size` is the size of the domain in metres:
    /// smoke of density 1 is then dense in a tenth of it.
    pub fn new(size: f32) -> Self {
        Self {
            kappa: 20.0 / size,
            albedo: [0.86, 0.85, 0.84],
            light_from: [-0.65, 0.8, 0.45],
            light: [1.12, 1.0, 0.84],
            sky: [0.16, 0.2, 0.28],
        }
    }
}

/// Light that the fluid itself sends out.
#[derive(Clone, Copy, Debug)]
pub struct Flame<'a> {
    /// From 0 (dark) to 1 (hottest), on the cells of the smoke.
    pub heat: &'a [f32],
    /// The colours of heat; its darkest part sends out nothing.
    pub map: &'a ColorMap,
    /// Light sent out per metre.
    pub strength: f32,
}

/// Draws smoke (and fire) over a background, `width` pixels wide (made even); the picture just holds the whole box.
pub fn draw_volume(
    volume: &Volume<'_>,
    flame: Option<Flame<'_>>,
    view: View,
    width: usize,
    style: &SmokeStyle,
    background: Background,
) -> Result<Image, RenderError> {
    let (width, height, rays) = march_volume(volume, flame, view, width, style)?;
    Ok(Image::draw(width, height, |y, row| {
        let ground = background.row(y, height);
        for (pixel, &[r, g, b, a]) in row.iter_mut().zip(&rays[y * width..]) {
            // The background keeps its own colour: only the light of smoke and fire is bent.
            let over = |front: f32, c: usize| shoulder(front) + (1.0 - a) * ground[c];
            *pixel = [over(r, 0), over(g, 1), over(b, 2), 1.0];
        }
    }))
}

/// Bright light bends towards white instead of being cut off; below 0.8 nothing changes.
fn shoulder(v: f32) -> f32 {
    if v <= 0.8 { v } else { 1.0 - 0.2 * (-(v - 0.8) / 0.2).exp() }
}

/// The rays alone: width, height, and linear light premultiplied by opacity, the top row first. For compositing; see
/// [`Image::from_premultiplied`].
pub fn march_volume(
    volume: &Volume<'_>,
    flame: Option<Flame<'_>>,
    view: View,
    width: usize,
    style: &SmokeStyle,
) -> Result<(usize, usize, Vec<[f32; 4]>), RenderError> {
    if let Some(flame) = &flame {
        check(flame.heat, &volume.cells, &volume.spacing)?;
    }
    let lit = LitVolume::new(volume, flame, style);
    let [right, up, back] = view.axes();
    let half: [f32; 3] = std::array::from_fn(|a| (0.5 * volume.cells[a] as f64 * volume.spacing[a]) as f32);
    // How far the box reaches on the picture.
    let reach = |axis: [f32; 3]| (0..3).map(|a| axis[a].abs() * half[a]).sum::<f32>();
    let (reach_x, reach_y) = (reach(right), reach(up));
    let (width, height) = even_size(width, f64::from(reach_y) / f64::from(reach_x))?;

    let mut pixels = vec![[0.0; 4]; width * height];
    pixels.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
        let v = reach_y * (1.0 - (2 * y + 1) as f32 / height as f32);
        for (x, pixel) in row.iter_mut().enumerate() {
            let u = reach_x * ((2 * x + 1) as f32 / width as f32 - 1.0);
            let origin = std::array::from_fn(|a| right[a] * u + up[a] * v);
            *pixel = lit.ray(origin, back.map(|v| -v), half, pattern(x, y), style);
        }
    });
    Ok((width, height, pixels))
}

/// Cells per side of a block; empty blocks are leapt over.
const BLOCK: usize = 4;
/// Length of a step along a ray, in cells.
const STEP: f32 = 0.75;
/// Less light than this coming through is not worth following.
const OPAQUE: f32 = 0.003;
/// A cell that hides or sends out less light than this counts as empty: transport leaves traces everywhere, and a
/// hundred cells of them would still change a pixel by less than a quarter of a level.
const TRACE: f32 = 1e-5;

/// Smoke and the light in it.
struct LitVolume<'a> {
    density: &'a [f32],
    /// Direct light and sky light of each cell, from 0 to 1 in steps too small to see: half the memory of `f32`.
    light: Vec<[u16; 2]>,
    cells: [usize; 3],
    spacing: [f32; 3],
    blocks: [usize; 3],
    filled: Vec<bool>,
    flame: Option<(&'a [f32], Table, f32)>,
}

/// The step of a stored light.
const LEVEL: f32 = 1.0 / 65535.0;

impl<'a> LitVolume<'a> {
    fn new(volume: &Volume<'a>, flame: Option<Flame<'a>>, style: &SmokeStyle) -> Self {
        // Light that has been scattered several times goes deeper: octaves of half the light and 0.3 of the depth.
        let soft = |depth: f32| ((-depth).exp() + 0.5 * (-0.3 * depth).exp() + 0.25 * (-0.09 * depth).exp()) / 1.75;
        let stored = |light: f32| (light / LEVEL).round() as u16;
        let mut light = vec![[0u16; 2]; volume.density.len()];
        optical_depth(volume, style.light_from, style.kappa, |i, depth| light[i][0] = stored(soft(depth)));
        optical_depth(volume, [0.0, 1.0, 0.0], style.kappa, |i, depth| {
            light[i][1] = stored(0.35 + 0.65 * soft(0.7 * depth))
        });
        let blocks = volume.cells.map(|n| n.div_ceil(BLOCK));
        let mut filled = vec![false; blocks.iter().product()];
        let across = volume.spacing.iter().fold(0.0f64, |most, &h| most.max(h)) as f32;
        let thinnest = TRACE / (style.kappa * across);
        let darkest = flame.as_ref().map_or(0.0, |flame| TRACE / (flame.strength * across));
        // What is not finite has to be seen.
        let empty = |v: f32, least: f32| v <= least && v.is_finite();
        for (i, &density) in volume.density.iter().enumerate() {
            if empty(density, thinnest) && flame.as_ref().is_none_or(|f| empty(f.heat[i], darkest)) {
                continue;
            }
            let at = coordinates(i, volume.cells);
            // A sample between two cells belongs to the lower one's block but needs both.
            let range = |a: usize| at[a].saturating_sub(1) / BLOCK..=at[a] / BLOCK;
            for z in range(2) {
                for y in range(1) {
                    for x in range(0) {
                        filled[(z * blocks[1] + y) * blocks[0] + x] = true;
                    }
                }
            }
        }
        let flame = flame.map(|flame| (flame.heat, flame.map.table(1.0), flame.strength));
        let (density, cells, spacing) = (volume.density, volume.cells, volume.spacing.map(|h| h as f32));
        Self { density, light, cells, spacing, blocks, filled, flame }
    }

    /// What comes back along one ray: light premultiplied by opacity, and opacity.
    fn ray(&self, origin: [f32; 3], along: [f32; 3], half: [f32; 3], jitter: f32, style: &SmokeStyle) -> [f32; 4] {
        // Where the ray enters and leaves the box.
        let (mut enter, mut leave) = (f32::NEG_INFINITY, f32::INFINITY);
        for a in 0..3 {
            if along[a] == 0.0 {
                if origin[a].abs() > half[a] {
                    return [0.0; 4];
                }
            } else {
                let (p, q) = ((-half[a] - origin[a]) / along[a], (half[a] - origin[a]) / along[a]);
                (enter, leave) = (enter.max(p.min(q)), leave.min(p.max(q)));
            }
        }
        if leave <= enter {
            return [0.0; 4];
        }
        // Equal steps that fill the way exactly. Positions are in cells, 0 at the centre of the first.
        let per_metre: [f32; 3] = std::array::from_fn(|a| along[a] / self.spacing[a]);
        let cells = per_metre.iter().map(|v| v * v).sum::<f32>().sqrt() * (leave - enter);
        let steps = (cells / STEP).ceil().max(1.0) as usize;
        let ds = (leave - enter) / steps as f32;
        let delta: [f32; 3] = per_metre.map(|v| v * ds);
        let start: [f32; 3] = std::array::from_fn(|a| {
            (origin[a] + along[a] * enter + half[a]) / self.spacing[a] - 0.5 + jitter * delta[a]
        });

        let mut light = [0.0; 3];
        let mut through = 1.0f32;
        let mut step = 0;
        while step < steps {
            let at: [f32; 3] = std::array::from_fn(|a| start[a] + step as f32 * delta[a]);
            let (base, fraction) = self.locate(at);
            if let Some(leap) = self.leap(at, base, delta) {
                step += leap;
                continue;
            }
            let corners = self.corners(base, fraction);
            let density = corners.mean(|i| positive(self.density[i]));
            let heat = self.flame.as_ref().map_or(0.0, |flame| corners.mean(|i| positive(flame.0[i])));
            if !density.is_finite() || !heat.is_finite() {
                return [NOT_FINITE[0], NOT_FINITE[1], NOT_FINITE[2], 1.0];
            }
            // Next to smoke many samples have none: what light falls there does not matter.
            if density == 0.0 && heat == 0.0 {
                step += 1;
                continue;
            }
            let [sun, sky] = [0, 1].map(|which| LEVEL * corners.mean(|i| f32::from(self.light[i][which])));
            let passed = (-style.kappa * density * ds).exp();
            let opacity = through * (1.0 - passed);
            for c in 0..3 {
                light[c] += opacity * style.albedo[c] * (style.light[c] * sun + style.sky[c] * sky);
            }
            if let Some((_, table, strength)) = &self.flame {
                let glow = table.at(heat);
                for c in 0..3 {
                    light[c] += through * glow[c] * strength * heat * ds;
                }
            }
            through *= passed;
            if through < OPAQUE {
                break;
            }
            step += 1;
        }
        [light[0], light[1], light[2], 1.0 - through]
    }

    /// The lower cell and the fraction of the way to the next; beyond the outermost centres, the outermost value.
    #[inline(always)]
    fn locate(&self, at: [f32; 3]) -> ([usize; 3], [f32; 3]) {
        let clamped: [f32; 3] = std::array::from_fn(|a| at[a].clamp(0.0, (self.cells[a] - 1) as f32));
        let base: [usize; 3] = clamped.map(|v| v as usize);
        (base, std::array::from_fn(|a| clamped[a] - base[a] as f32))
    }

    /// How many steps lead out of an empty block; `None` in a filled one.
    #[inline(always)]
    fn leap(&self, at: [f32; 3], base: [usize; 3], delta: [f32; 3]) -> Option<usize> {
        let block = base.map(|i| i / BLOCK);
        if self.filled[(block[2] * self.blocks[1] + block[1]) * self.blocks[0] + block[0]] {
            return None;
        }
        let mut steps = f32::INFINITY;
        for a in 0..3 {
            // The outermost blocks reach to the faces of the box.
            let (lo, hi) = (block[a] * BLOCK, (block[a] + 1) * BLOCK);
            let lo = if block[a] == 0 { -1.0 } else { lo as f32 };
            let hi = if block[a] + 1 == self.blocks[a] { self.cells[a] as f32 } else { hi as f32 };
            if delta[a] != 0.0 {
                steps = steps.min((if delta[a] > 0.0 { hi - at[a] } else { lo - at[a] }) / delta[a]);
            }
        }
        Some((steps.clamp(0.0, 1e6)) as usize + 1)
    }

    /// The eight cells around a place and how much each counts there.
    #[inline(always)]
    fn corners(&self, base: [usize; 3], f: [f32; 3]) -> Corners {
        let stride = [1, self.cells[0], self.cells[0] * self.cells[1]];
        let first = base[0] + base[1] * stride[1] + base[2] * stride[2];
        // On the last cell the next one is the same one.
        let [dx, dy, dz]: [usize; 3] = std::array::from_fn(|a| if base[a] + 1 < self.cells[a] { stride[a] } else { 0 });
        let ([x, y, z], [u, v, w]) = (f, f.map(|f| 1.0 - f));
        let (far, near) = (first, first + dz);
        Corners {
            cells: [far, far + dx, far + dy, far + dx + dy, near, near + dx, near + dy, near + dx + dy],
            shares: [u * v * w, x * v * w, u * y * w, x * y * w, u * v * z, x * v * z, u * y * z, x * y * z],
        }
    }
}

struct Corners {
    cells: [usize; 8],
    shares: [f32; 8],
}

impl Corners {
    #[inline(always)]
    fn mean(&self, value: impl Fn(usize) -> f32) -> f32 {
        let mut sum = 0.0;
        for k in 0..8 {
            sum += self.shares[k] * value(self.cells[k]);
        }
        sum
    }
}

/// What is not finite stays so, for the ray to notice.
#[inline(always)]
fn positive(v: f32) -> f32 {
    if v < 0.0 && v > f32::NEG_INFINITY { 0.0 } else { v }
}

fn coordinates(i: usize, cells: [usize; 3]) -> [usize; 3] {
    [i % cells[0], i / cells[0] % cells[1], i / cells[0] / cells[1]]
}

#[cfg(test)]
#[path = "volume_tests.rs"]
mod tests;

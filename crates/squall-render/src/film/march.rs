//! Rays through smoke, front to back: absorption, scattered light and glow.
//!
//! For every step of length s, with the optical depth tau of the step and `through`, the share of light that still comes
//! through from behind:
//!
//! color += through (1 - exp(-tau)) albedo sum(light sum(phase shadow))  +  through e s (1 - exp(-tau)) / tau
//! through *= exp(-tau)
//!
//! The inner sum is over octaves of scattering: light that was scattered once comes from one direction and does not get far, what was
//! scattered often comes from everywhere and gets further. So the edges of smoke before a light shine.

use super::bricks::{BRICK, Bricks, LANES, Spots};
use super::fire::Fire;
use super::index::{Crossing, Line};
use super::ramp::Emission;
use super::shadow::{LightGrid, OCTAVES, octaves, powers};
use super::style::{Scatter, Source, Style};
use super::vector::unit;
use crate::color::NOT_FINITE;
use squall_core::sample::Kernel;

/// Less light than this coming through is not worth following.
pub(super) const OPAQUE: f32 = 1e-3;

/// Where a whole brick hides less than this, steps are twice as long.
pub(super) const THIN: f32 = 0.03;

/// Into which directions light is scattered, relative to scattering that is even, for each octave: its weight and the
/// anisotropies of its two lobes.
#[derive(Clone, Copy)]
struct Phase {
    octaves: [(f32, [f32; 2]); OCTAVES],
    /// The share of the lobe that goes back.
    back: f32,
}

/// What goes back is spread more widely than what goes on.
const BACK: f32 = -0.5;

impl Phase {
    /// What has been scattered several times has lost more of its direction.
    fn new(scatter: &Scatter) -> Self {
        let weights = octaves(scatter.softness);
        let lobes = |i: usize| [1.0, BACK].map(|lobe| lobe * scatter.anisotropy / (1 << i) as f32);
        Self { octaves: std::array::from_fn(|i| (weights[i], lobes(i))), back: scatter.back }
    }

    /// Henyey and Greenstein's function times 4 pi, (1 - g²) / (1 + g² - 2 g cos)^(3/2), of both lobes. `cos` is 1 when looking into
    /// the light.
    #[inline(always)]
    fn at(&self, cos: f32) -> [f32; OCTAVES] {
        let lobe = |g: f32| {
            let d = 1.0 + g * g - 2.0 * g * cos;
            (1.0 - g * g) / (d * d.sqrt())
        };
        let mut found = [0.0; OCTAVES];
        for (found, (weight, [ahead, behind])) in found.iter_mut().zip(self.octaves) {
            *found = weight * ((1.0 - self.back) * lobe(ahead) + self.back * lobe(behind));
        }
        found
    }
}

/// How much of a light is scattered towards the viewer where a grid holds `root` of it.
#[inline(always)]
fn scattered(phase: [f32; OCTAVES], root: f32) -> f32 {
    let left = powers(root);
    let mut sum = 0.0;
    for i in 0..OCTAVES {
        sum += phase[i] * left[i];
    }
    sum
}

/// How much light from all around there is where the part `open` of it comes in directly: what does not leave again is scattered, and the
/// part `albedo` of that stays light: `open + open albedo (1 - open) + ..`. White smoke under an even sky is as bright as the sky, as it must be.
#[inline(always)]
fn held(open: f32, albedo: f32) -> f32 {
    // Where nothing comes in, white smoke is still as bright as what is around.
    const LITTLE: f32 = 1e-5;
    (open + LITTLE) / (1.0 - albedo * (1.0 - open) + LITTLE)
}

/// A distant light or the sky, as a ray sees it.
struct Far {
    towards: [f32; 3],
    even: bool,
    color: [f32; 3],
}

/// A light at a place, in cells.
struct Near {
    channel: usize,
    place: [f32; 3],
    color: [f32; 3],
    /// The square of the distance below which it grows no stronger.
    least: f32,
}

/// The lights of a style in the order of the channels of a [`LightGrid`], as rays see them.
pub(super) struct Shine {
    phase: Phase,
    far: Vec<Far>,
    near: Vec<Near>,
    /// The light of the sky and from below, the last two channels: the mean over all directions is half of each.
    around: [[f32; 3]; 2],
}

impl Shine {
    pub fn new(style: &Style, bricks: &Bricks) -> Self {
        let (mut far, mut near) = (Vec::new(), Vec::new());
        for (channel, light) in style.lights.iter().enumerate() {
            let color = light.color.map(|v| v * light.intensity);
            match light.source {
                Source::Directional(v) => {
                    let towards = unit(v).unwrap_or([0.0, 1.0, 0.0]).map(|v| v as f32);
                    far.push(Far { towards, even: false, color });
                }
                Source::Point(p) => {
                    // Weaker with the square of the distance in metres.
                    let h = bricks.spacing as f32;
                    let least = (light.size.max(1e-9) / bricks.spacing).powi(2) as f32;
                    let place = bricks.local(p).map(|v| v as f32);
                    near.push(Near { channel, place, color: color.map(|v| v / (h * h)), least });
                    far.push(Far { towards: [0.0; 3], even: true, color: [0.0; 3] });
                }
            }
        }
        // Light from all around is added by itself.
        let around = [style.ambient.sky, style.light_below()].map(|half| half.map(|v| 0.5 * v));
        far.extend(around.map(|_| Far { towards: [0.0; 3], even: true, color: [0.0; 3] }));
        Self { phase: Phase::new(&style.scatter), far, near, around }
    }

    /// How many lights there are; the last two are the sky and the light from below.
    pub fn distant(&self) -> usize {
        self.far.len() - 2
    }

    /// How much of a distant light is scattered against a ray, relative to scattering that is even, by what a grid holds of it.
    pub fn towards(&self, direction: [f32; 3], light: usize) -> impl Fn(f32) -> f32 + use<> {
        let phase = self.phase.at(dot(direction, self.far[light].towards));
        move |root| scattered(phase, root)
    }
}

/// One ray: its part in the smoke, if any, and how far into its first step it starts.
pub(super) type SmokeRay = Option<(Line, f32)>;

/// What a ray brings back.
#[derive(Clone, Copy)]
pub(super) struct Marched {
    /// Light that is sent towards the viewer.
    pub color: [f32; 3],
    /// The share of what is behind that is seen.
    pub through: f32,
    /// Where half of it is hidden, in cells along the line; infinite if nowhere.
    pub half_way: f32,
}

impl Marched {
    pub const NOTHING: Self = Self { color: [0.0; 3], through: 1.0, half_way: f32::INFINITY };
}

/// Marches many rays.
pub(super) struct March<'a, const N: usize> {
    pub bricks: &'a Bricks,
    pub lights: &'a LightGrid<N>,
    pub shine: &'a Shine,
    pub emission: &'a Emission,
    /// What fire throws on smoke, if there is any.
    pub fire: Option<&'a Fire>,
    /// Length of a step, in cells.
    pub step: f32,
    pub rays: &'a [SmokeRay],
    pub out: &'a mut [Marched],
}

impl<const N: usize> Kernel for March<'_, N> {
    #[inline(always)]
    fn run(self) {
        for (ray, out) in self.rays.iter().zip(self.out) {
            *out = Marched::NOTHING;
            if let Some((line, jitter)) = ray {
                let scene = Scene {
                    bricks: self.bricks,
                    lights: self.lights,
                    shine: self.shine,
                    emission: self.emission,
                    fire: self.fire,
                    step: self.step,
                };
                scene.ray(line, *jitter, out);
            }
        }
    }
}

struct Scene<'a, const N: usize> {
    bricks: &'a Bricks,
    lights: &'a LightGrid<N>,
    shine: &'a Shine,
    emission: &'a Emission,
    fire: Option<&'a Fire>,
    step: f32,
}

impl<const N: usize> Scene<'_, N> {
    #[inline(always)]
    fn ray(&self, line: &Line, jitter: f32, out: &mut Marched) {
        let Self { bricks, lights, shine, emission, .. } = *self;
        // What is the same all along the ray.
        let mut far = [[0.0f32; 4]; N];
        // Of the sky the grid holds what is left.
        let mut phases = [[0.0, 0.0, 1.0]; N];
        for ((far, phase), light) in far.iter_mut().zip(&mut phases).zip(&shine.far) {
            far[..3].copy_from_slice(&light.color);
            if !light.even {
                *phase = shine.phase.at(dot(line.direction, light.towards));
            }
        }
        let metres = bricks.spacing as f32;
        let mut last = -1.0f32;
        let mut walk = bricks.index.walk(line, None);
        while let Some(Crossing { brick, place, from, to }) = walk.next() {
            // Samples lie at (k + jitter) s, wherever bricks begin and end.
            let thin = bricks.thickest(brick) * (BRICK as f32) < THIN;
            let s = if thin { 2.0 * self.step } else { self.step };
            let mut k = ((from / s - jitter).max(-1.0) + 1.0).trunc();
            if (k + jitter) * s <= last {
                k += 1.0;
            }
            let start = line.within(place, 0.0);
            while (k + jitter) * s < to {
                let mut t = [0.0; LANES];
                let mut p = [[0.0; LANES]; 3];
                for l in 0..LANES {
                    t[l] = (k + l as f32 + jitter) * s;
                    for a in 0..3 {
                        p[a][l] = start[a] + line.direction[a] * t[l];
                    }
                }
                let spots = Spots::new(&p);
                let (depth, color) = bricks.depth_and_color(brick, &spots);
                let heat = bricks.heat(brick, &spots);
                let mut hidden = [0.0; LANES];
                for l in 0..LANES {
                    hidden[l] = one_minus_exp(depth[l] * s);
                }
                for l in 0..LANES {
                    if t[l] >= to {
                        break;
                    }
                    last = t[l];
                    let at = [p[0][l], p[1][l], p[2][l]];
                    if bricks.has_bad(brick) && bricks.is_bad(place, at) {
                        for c in 0..3 {
                            out.color[c] += out.through * NOT_FINITE[c];
                        }
                        out.through = 0.0;
                        out.half_way = out.half_way.min(t[l]);
                        return;
                    }
                    if let Some(heat) = heat {
                        let within = if hidden[l] > 1e-6 { hidden[l] / (depth[l] * s) } else { 1.0 };
                        let length = out.through * within * s * metres;
                        let glow = emission.at(heat[l]);
                        for c in 0..3 {
                            out.color[c] += length * glow[c];
                        }
                    }
                    // Next to smoke many samples have none.
                    if depth[l] <= 0.0 {
                        continue;
                    }
                    let (roots, past) = lights.at(brick, at);
                    let mut light = self.fire.map_or([0.0; 4], |fire| fire.at(brick, at));
                    for n in 0..N {
                        let strength = past[n] * scattered(phases[n], roots[n]);
                        for c in 0..4 {
                            light[c] += strength * far[n][c];
                        }
                    }
                    for near in &shine.near {
                        let here = line.within([0; 3], t[l]);
                        let way = [near.place[0] - here[0], near.place[1] - here[1], near.place[2] - here[2]];
                        let squared = dot(way, way);
                        let cos = dot(way, line.direction) / squared.sqrt().max(1e-6);
                        let reaches = past[near.channel] * scattered(shine.phase.at(cos), roots[near.channel]);
                        let strength = reaches / squared.max(near.least);
                        for c in 0..3 {
                            light[c] += strength * near.color[c];
                        }
                    }
                    let sent = out.through * hidden[l] / depth[l];
                    let [above, below] = [roots[shine.far.len() - 2], roots[shine.far.len() - 1]];
                    for c in 0..3 {
                        let albedo = color[c][l] / depth[l];
                        let around =
                            shine.around[0][c] * held(above, albedo) + shine.around[1][c] * held(below, albedo);
                        out.color[c] += sent * color[c][l] * (light[c] + around);
                    }
                    out.through *= 1.0 - hidden[l];
                    if out.through < 0.5 && out.half_way == f32::INFINITY {
                        out.half_way = t[l];
                    }
                    if out.through < OPAQUE {
                        out.through = 0.0;
                        return;
                    }
                }
                k += LANES as f32;
            }
        }
    }
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// 1 - exp(-x) for x >= 0, to the last digits also for small x; simple enough that the compiler makes vectors of it.
#[inline(always)]
pub(super) fn one_minus_exp(x: f32) -> f32 {
    // exp(-x) = 2^n 2^f with |f| <= 1/2; the series of 2^f ends where f32 does.
    const ROUND: f32 = 12_582_912.0;
    let y = (x * -std::f32::consts::LOG2_E).max(-126.0);
    let rounded = y + ROUND;
    let f = (y - (rounded - ROUND)) * std::f32::consts::LN_2;
    let series = 1.0 + f * (1.0 + f * (0.5 + f * (1.0 / 6.0 + f * (1.0 / 24.0 + f * (1.0 / 120.0 + f / 720.0)))));
    let power = f32::from_bits((rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127)) << 23);
    let small = x * (1.0 - x * (0.5 - x * (1.0 / 6.0)));
    if x < 0.01 { small } else { 1.0 - series * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_exponential_agrees_with_the_exact_one() {
        for i in 0..20_000 {
            let x = (f64::from(i) * 1e-3 - 12.0).exp() as f32;
            let exact = -(-f64::from(x)).exp_m1();
            assert!((f64::from(one_minus_exp(x)) - exact).abs() < 1e-5 * exact.min(0.03) + 1e-7, "{x}");
        }
        assert_eq!(one_minus_exp(0.0), 0.0);
        assert_eq!(one_minus_exp(1e30), 1.0);
    }

    #[test]
    fn light_is_neither_gained_nor_lost_by_scattering_it_forward() {
        for (anisotropy, softness, back) in [(0.0, 0.0, 0.0), (0.6, 0.0, 0.3), (-0.9, 1.0, 0.0), (0.9, 0.5, 1.0)] {
            let phase = Phase::new(&Scatter { anisotropy, softness, back });
            let n = 20_000;
            let all = |i: u32| phase.at((2 * i + 1) as f32 / n as f32 - 1.0).iter().sum::<f32>();
            let mean = (0..n).map(all).sum::<f32>() / n as f32;
            // The mean over the sphere; the peak of g = 0.9 is 190 high and a tenth wide.
            assert!((mean - 1.0).abs() < 1e-3, "{anisotropy}: {mean}");
        }
    }
}

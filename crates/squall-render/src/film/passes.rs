//! More than colour from the rays of a picture: how smoke moves, which way it faces, how hot it is, and how it looks in
//! light from six sides.
//!
//! Every sample along a ray counts with the share of the picture that it makes: `through (1 - exp(-tau))`, as in
//! `march`. Water counts with what smoke leaves of the ray where it meets the surface; it moves and faces as its surface
//! does, and hides what is behind it. Objects and the ground hide smoke and have no values of their own.

use super::bricks::{BRICK, Bricks, Channel, LANES, Spots};
use super::camera::{Camera, Lens};
use super::environment::Sky;
use super::index::{Crossing, Line};
use super::liquid::Water;
use super::lookup::Lookup;
use super::march::{OPAQUE, Shine, THIN, one_minus_exp};
use super::ramp::Emission;
use super::shadow::LightGrid;
use super::slope::{slopes, total};
use super::stage::{Lights, Row, Scene, Stage};
use super::style::{Ambient, Light, Quality, Style};
use super::vector::{Vec3, along, dot, scale};
use crate::plane::RenderError;
use rayon::prelude::*;
use squall_core::Volume;

/// What is wanted besides colour.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// How far smoke and water move on the picture.
    pub motion: Option<Motion<'a>>,
    /// Whether the way that smoke and water face is wanted.
    pub normal: bool,
    /// A field whose mean is wanted.
    pub temperature: Option<&'a Volume>,
    /// Whether light from six sides is wanted.
    pub six_way: bool,
}

/// How smoke, water and the camera move.
#[derive(Clone, Copy)]
pub struct Motion<'a> {
    /// Components of the velocity, m/s.
    pub velocity: [&'a Volume; 3],
    /// Seconds to the next frame.
    pub seconds: f64,
    /// The camera of the next frame.
    pub next: Camera,
}

/// Values for each pixel, the top row first. What was not wanted is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passes {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// How much of what is behind smoke hides, 0 to 1; 1 where water is.
    pub opacity: Vec<f32>,
    /// Pixels to the right and up from this frame to the next, the mean of smoke and water in the pixel; 0 where
    /// there is none.
    pub motion: Vec<[f32; 2]>,
    /// Away from smoke or water, of length 1: to the right, up, towards the viewer. Towards the viewer where there is none.
    pub normal: Vec<[f32; 3]>,
    /// The mean of the field over what is seen of smoke and glow; 0 where there is neither.
    pub temperature: Vec<f32>,
    /// Light towards the viewer from white smoke under one white light from the right, the top, the back (from behind
    /// the smoke), the left, the bottom and the front. Premultiplied by opacity.
    pub six_way: Vec<[f32; 6]>,
    /// The luminance of what glows. Always with `six_way`.
    pub glow: Vec<f32>,
}

/// Follows the rays of one picture for more than its colour.
pub fn passes(
    scene: &Scene<'_>,
    style: &Style,
    camera: &Camera,
    [width, height]: [usize; 2],
    frame: u64,
    quality: Quality,
    wanted: &Wanted<'_>,
) -> Result<Passes, RenderError> {
    let lens = camera.lens(width, height)?;
    let next = wanted.motion.map(|motion| motion.next.lens(width, height)).transpose()?;
    // Each light reaches white smoke alone; the engine that uses the maps has colours of its own.
    let lights = if wanted.six_way { six_lights(&lens) } else { vec![] };
    let style = Style { lights, ambient: Ambient::NONE, background: None, ..style.clone() };
    let mut scene = scene.clone();
    scene.substances.iter_mut().for_each(|s| s.albedo = [1.0; 3]);
    let stage = Stage::new(&scene, &style, Quality { sky_directions: 1, ..quality })?;
    let bricks = &stage.bricks;
    let flow = match wanted.motion.filter(|_| stage.water.is_some()) {
        Some(Motion { velocity: [u, v, w], .. }) => Some([Lookup::new(u)?, Lookup::new(v)?, Lookup::new(w)?]),
        None => None,
    };
    let velocity = wanted.motion.map(|motion| motion.velocity.map(|v| bricks.channel(v)));
    let normal = wanted.normal.then(|| {
        let volumes: Vec<(&Volume, f32)> = scene.substances.iter().map(|s| (s.amount, s.kappa)).collect();
        slopes(&total(&volumes)).each_ref().map(|slope| bricks.channel(slope))
    });
    let follower = Follower {
        bricks,
        emission: &stage.emission,
        shine: Shine::new(&style, bricks),
        step: quality.step,
        motion: velocity.zip(next).zip(wanted.motion).map(|((v, next), motion)| (v, next, motion.seconds)),
        temperature: wanted.temperature.map(|t| bricks.channel(t)),
        normal,
        flow,
        lens: &lens,
    };
    let sums = match &stage.lights {
        Lights::Few(grid) => stage.follow(grid, &follower, [width, height], frame),
        Lights::Many(grid) => stage.follow(grid, &follower, [width, height], frame),
    };
    stage.go_on()?;
    Ok(collect(&sums, [width, height], wanted, &lens))
}

/// From the right, the top, the back, the left, the bottom and the front of the picture.
fn six_lights(lens: &Lens) -> Vec<Light> {
    let [right, up, back] = lens.axes();
    let towards = [right, up, scale(back, -1.0), scale(right, -1.0), scale(up, -1.0), back];
    towards.map(|v| Light::directional(v, [1.0; 3], 1.0)).to_vec()
}

/// What the rays of a pixel have met.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// The sum of the weights: opacity.
    opacity: f32,
    motion: [f32; 2],
    slope: [f32; 3],
    /// The sum of the normals of water, times their weights.
    water: [f32; 3],
    temperature: f32,
    /// The weights of `temperature`: what glows counts as well.
    seen: f32,
    six_way: [f32; 6],
    glow: f32,
}

impl Sums {
    fn scale(&mut self, by: f32) {
        let Self { opacity, motion, slope, water, temperature, seen, six_way, glow } = self;
        for v in [opacity, temperature, seen, glow].into_iter().chain(motion).chain(slope).chain(water).chain(six_way) {
            *v *= by;
        }
    }
}

struct Follower<'a> {
    bricks: &'a Bricks,
    emission: &'a Emission,
    shine: Shine,
    step: f32,
    /// Velocity, the lens of the next frame, seconds until then.
    motion: Option<([Channel; 3], Lens, f64)>,
    temperature: Option<Channel>,
    normal: Option<[Channel; 3]>,
    /// Velocity at the surface of water.
    flow: Option<[Lookup; 3]>,
    lens: &'a Lens,
}

impl Stage<'_> {
    fn follow<const N: usize>(
        &self,
        lights: &LightGrid<N>,
        follower: &Follower<'_>,
        [width, height]: [usize; 2],
        frame: u64,
    ) -> Vec<Sums> {
        let sky = Sky::new(&self.style, follower.lens);
        let shader = self.shader(lights, &sky);
        let mut sums = vec![Sums::default(); width * height];
        sums.par_chunks_mut(width).enumerate().for_each(|(y, sums)| {
            let mut row = Row::new(width);
            for sample in 0..self.quality.samples {
                if self.go_on().is_err() {
                    return;
                }
                row.aim(y, sample, frame, self.quality.samples, follower.lens, &shader);
                for (x, (ray, sums)) in row.smoke.iter().zip(&mut *sums).enumerate() {
                    let through = ray.map_or(1.0, |(line, jitter)| follower.ray(lights, &line, jitter, sums));
                    if let (Some(water), Some(place)) = (&self.water, row.water(x)) {
                        follower.water(water, place, through, sums);
                    }
                }
            }
            let share = 1.0 / self.quality.samples as f32;
            sums.iter_mut().for_each(|sums| sums.scale(share));
        });
        sums
    }
}

impl Follower<'_> {
    /// The surface of water at a place, of which `weight` is seen.
    fn water(&self, water: &Water, x: Vec3, weight: f32, sums: &mut Sums) {
        sums.opacity += weight;
        let normal = water.levels.normal(x).unwrap_or([0.0; 3]);
        (0..3).for_each(|a| sums.water[a] += weight * normal[a] as f32);
        if let (Some(flow), Some((_, next, seconds))) = (&self.flow, &self.motion) {
            let velocity = flow.each_ref().map(|component| f64::from(component.at(x)));
            self.moves(x, along(x, velocity, *seconds), next, weight, sums);
        }
    }

    /// Counts a move from here to there.
    fn moves(&self, here: Vec3, there: Vec3, next: &Lens, weight: f32, sums: &mut Sums) {
        if let (Some(now), Some(then)) = (self.lens.project(here), next.project(there)) {
            sums.motion[0] += weight * (then[0] - now[0]) as f32;
            // Up, where pixels are counted downwards.
            sums.motion[1] += weight * (now[1] - then[1]) as f32;
        }
    }

    /// The same samples and weights as `march`: the two must agree on what is seen. What is left of the ray.
    fn ray<const N: usize>(&self, lights: &LightGrid<N>, line: &Line, jitter: f32, sums: &mut Sums) -> f32 {
        let Self { bricks, emission, .. } = self;
        let lit = self.shine.distant();
        let scattered: [_; N] = std::array::from_fn(|n| (n < lit).then(|| self.shine.towards(line.direction, n)));
        let metres = bricks.spacing as f32;
        let (mut through, mut last) = (1.0f32, -1.0f32);
        let mut walk = bricks.index.walk(line, None);
        while let Some(Crossing { brick, place, from, to }) = walk.next() {
            let thin = bricks.thickest(brick) * (BRICK as f32) < THIN;
            let s = if thin { 2.0 * self.step } else { self.step };
            let mut k = ((from / s - jitter).max(-1.0) + 1.0).trunc();
            if (k + jitter) * s <= last {
                k += 1.0;
            }
            let start = line.within(place, 0.0);
            while (k + jitter) * s < to {
                let t: [f32; LANES] = std::array::from_fn(|l| (k + l as f32 + jitter) * s);
                let p: [[f32; LANES]; 3] =
                    std::array::from_fn(|a| std::array::from_fn(|l| start[a] + line.direction[a] * t[l]));
                let spots = Spots::new(&p);
                let depth = bricks.depth(brick, &spots);
                let heat = bricks.heat(brick, &spots);
                let sample = |channel: &Channel| channel.sample(brick, &spots);
                let velocity = self.motion.as_ref().map(|(channels, ..)| channels.each_ref().map(sample));
                let slope = self.normal.as_ref().map(|channels| channels.each_ref().map(sample));
                let temperature = self.temperature.as_ref().map(sample);
                for l in (0..LANES).take_while(|&l| t[l] < to) {
                    last = t[l];
                    let at = [p[0][l], p[1][l], p[2][l]];
                    if bricks.has_bad(brick) && bricks.is_bad(place, at) {
                        sums.opacity += through;
                        return 0.0;
                    }
                    let hidden = one_minus_exp(depth[l] * s);
                    let weight = through * hidden;
                    let mut glow = 0.0;
                    if let Some(heat) = heat {
                        let within = if hidden > 1e-6 { hidden / (depth[l] * s) } else { 1.0 };
                        glow = through * within * s * metres * luminance(emission.at(heat[l]));
                    }
                    sums.glow += glow;
                    if let Some(temperature) = temperature {
                        sums.temperature += (weight + glow) * temperature[l];
                        sums.seen += weight + glow;
                    }
                    if depth[l] <= 0.0 {
                        continue;
                    }
                    if let (Some(v), Some((_, next, seconds))) = (&velocity, &self.motion) {
                        let here = bricks.place(line.within([0; 3], t[l]));
                        let moved = along(here, v.map(|v| f64::from(v[l])), *seconds);
                        self.moves(here, moved, next, weight, sums);
                    }
                    if let Some(slope) = &slope {
                        (0..3).for_each(|a| sums.slope[a] += weight * slope[a][l]);
                    }
                    if lit > 0 {
                        let (roots, past) = lights.at(brick, at);
                        for (n, scattered) in scattered.iter().flatten().enumerate() {
                            sums.six_way[n] += weight * past[n] * scattered(roots[n]);
                        }
                    }
                    sums.opacity += weight;
                    through *= 1.0 - hidden;
                    if through < OPAQUE {
                        sums.opacity += through;
                        return 0.0;
                    }
                }
                k += LANES as f32;
            }
        }
        through
    }
}

fn luminance([r, g, b]: [f32; 3]) -> f32 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn collect(sums: &[Sums], [width, height]: [usize; 2], wanted: &Wanted<'_>, lens: &Lens) -> Passes {
    let mut out = Passes { width, height, opacity: sums.iter().map(|s| s.opacity).collect(), ..Passes::default() };
    let mean = |v: f32, weight: f32| if weight > 1e-12 { v / weight } else { 0.0 };
    if wanted.motion.is_some() {
        out.motion = sums.iter().map(|s| s.motion.map(|v| mean(v, s.opacity))).collect();
    }
    if wanted.temperature.is_some() {
        out.temperature = sums.iter().map(|s| mean(s.temperature, s.seen)).collect();
    }
    if wanted.normal {
        let axes = lens.axes();
        out.normal = sums.iter().map(|s| facing(s, &axes)).collect();
    }
    if wanted.six_way {
        out.six_way = sums.iter().map(|s| s.six_way).collect();
        out.glow = sums.iter().map(|s| s.glow).collect();
    }
    out
}

/// The direction away from smoke, against the slope of its density, and from water, as the camera sees it.
fn facing(sums: &Sums, axes: &[Vec3; 3]) -> [f32; 3] {
    let slope = sums.slope.map(f64::from);
    let mut away = axes.map(|axis| -dot(slope, axis));
    let wet = dot(sums.water.map(f64::from), sums.water.map(f64::from)).sqrt();
    if wet > 0.0 {
        // The slope of smoke has a size of its own: its direction counts with how much smoke there is.
        let dry = (f64::from(sums.opacity) - wet).max(0.0) / dot(away, away).sqrt().max(1e-12);
        away = std::array::from_fn(|a| dry * away[a] + dot(sums.water.map(f64::from), axes[a]));
    }
    let length = dot(away, away).sqrt();
    if length > 1e-12 { away.map(|v| (v / length) as f32) } else { [0.0, 0.0, 1.0] }
}

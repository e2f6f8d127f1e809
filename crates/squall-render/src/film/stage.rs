//! From a scene to a picture.

use super::bricks::{BRICK, Bricks};
use super::camera::{Camera, Lens, Ray};
use super::environment::Sky;
use super::fire::Fire;
use super::frame::Frame;
use super::ground_sky::GroundSky;
use super::index::Line;
use super::liquid::{Liquid, Water};
use super::march::{March, Marched, Shine, SmokeRay};
use super::ramp::Emission;
use super::shading::{Hit, Shader, What};
use super::shadow::{LightGrid, octaves, sky_directions};
use super::style::{Quality, Style, check_substance};
use super::surface::{Surface, Surfaces};
use super::vector::{Vec3, add, along, clip, length, scale, sub};
use super::water::NEAR;
use crate::color::Rgb;
use crate::image::pattern;
use crate::plane::RenderError;
use rayon::prelude::*;
use squall_core::sample::Isa;
use squall_core::{CancelToken, Volume};
use std::ops::Range;

/// One kind of smoke.
#[derive(Clone, Copy, Debug)]
pub struct Substance<'a> {
    /// How much there is; negative values count as none, and so does everything outside of the stored blocks.
    pub amount: &'a Volume,
    /// Optical depth per metre for an amount of 1: larger is thicker.
    pub kappa: f32,
    /// The colour of the smoke in white light. Where there are several, the mean by optical depth counts.
    pub albedo: Rgb,
}

impl<'a> Substance<'a> {
    /// Pale smoke, of which an amount of 1 is dense in a twentieth of the size of the volume.
    pub fn new(amount: &'a Volume) -> Self {
        let size = amount.bounds().map_or(1.0, |(low, high)| {
            let longest = (0..3).map(|a| i64::from(high[a]) - i64::from(low[a])).max().unwrap_or(1);
            longest as f64 * amount.spacing
        });
        Self { amount, kappa: (40.0 / size) as f32, albedo: [0.88, 0.87, 0.86] }
    }
}

/// What is to be seen. All volumes of smoke and heat must have the same cells (origin and spacing); each has its own
/// blocks.
#[derive(Clone, Default)]
pub struct Scene<'a> {
    /// Smoke, of one kind or several.
    pub substances: Vec<Substance<'a>>,
    /// What glows; [`Style::glow`] says how.
    pub heat: Option<&'a Volume>,
    /// Water. Smoke is seen before it and in the air around; not through it, and it is not mirrored.
    pub liquid: Option<Liquid<'a>>,
    /// Solid objects.
    pub surfaces: Vec<&'a dyn Surface>,
    /// Stops the work, which then ends in [`RenderError::Cancelled`].
    pub cancel: CancelToken,
}

/// Draws one picture of `size` pixels (width and height). `frame` is its number: the fine grain of smoke is different in
/// every frame, so that it does not stand still like dirt on the lens.
pub fn render(
    scene: &Scene<'_>,
    style: &Style,
    camera: &Camera,
    size: [usize; 2],
    frame: u64,
    quality: Quality,
) -> Result<Frame, RenderError> {
    Stage::new(scene, style, quality)?.shoot(camera, size, frame)
}

/// A scene with everything that does not depend on the camera: smoke made ready for rays, and the light in it.
pub struct Stage<'a> {
    pub(super) bricks: Bricks,
    pub(super) lights: Lights,
    pub(super) surfaces: Surfaces<'a>,
    pub(super) emission: Emission,
    pub(super) fire: Option<Fire>,
    pub(super) water: Option<Water>,
    ground_sky: Option<GroundSky>,
    pub(super) style: Style,
    pub(super) quality: Quality,
    pub(super) middle: Vec3,
    pub(super) size: f64,
    cancel: CancelToken,
}

/// Grids of different width, so that a few lights do not cost the memory of many.
pub(super) enum Lights {
    Few(LightGrid<4>),
    Many(LightGrid<8>),
}

impl<'a> Stage<'a> {
    /// Prepares a scene.
    pub fn new(scene: &Scene<'a>, style: &Style, quality: Quality) -> Result<Self, RenderError> {
        style.check()?;
        quality.check()?;
        scene.substances.iter().try_for_each(|s| check_substance(s.kappa, s.albedo))?;
        let emission = Emission::new(&style.glow);
        let bricks = Bricks::new(&scene.substances, scene.heat, &style.glow, &emission)?;
        let surfaces = Surfaces::new(&scene.surfaces);
        let (spacing, sky) = (quality.light_spacing, quality.sky_directions);
        // Two more than lights: the sky, and light from below.
        let lights = if style.lights.len() + 2 <= 4 {
            Lights::Few(LightGrid::new(&bricks, &surfaces, style, spacing, sky, &scene.cancel)?)
        } else {
            Lights::Many(LightGrid::new(&bricks, &surfaces, style, spacing, sky, &scene.cancel)?)
        };
        go_on(&scene.cancel)?;
        let fire = Fire::new(&bricks, &emission, style);
        let ground_sky = style.ground.as_ref().and_then(|ground| {
            // More directions than smoke has: they cost little here.
            GroundSky::new(&bricks, ground.height, &sky_directions(17), &octaves(style.scatter.softness))
        });
        go_on(&scene.cancel)?;
        let mut water = scene.liquid.as_ref().map(|liquid| Water::new(liquid, &scene.cancel)).transpose()?.flatten();
        if let Some(water) = &mut water {
            water.shine(style, &surfaces, quality, &scene.cancel)?;
        }
        let (low, high) = around(&bricks, &surfaces, water.as_ref()).unwrap_or(([-1.0; 3], [1.0; 3]));
        let (middle, size) = (scale(add(low, high), 0.5), length(sub(high, low)));
        let cancel = scene.cancel.clone();
        Ok(Self {
            bricks,
            lights,
            surfaces,
            emission,
            fire,
            water,
            ground_sky,
            style: style.clone(),
            quality,
            middle,
            size,
            cancel,
        })
    }

    /// A box around everything that has an end: lower and upper corner of the smoke that can be seen, of the water and of
    /// all objects with bounds. For [`Camera::framing`].
    pub fn bounds(&self) -> Option<([f64; 3], [f64; 3])> {
        around(&self.bricks, &self.surfaces, self.water.as_ref())
    }

    /// Bytes that smoke and water and the light in them take.
    pub fn memory(&self) -> usize {
        self.bricks.memory()
            + self.fire.as_ref().map_or(0, Fire::memory)
            + self.water.as_ref().map_or(0, Water::memory)
            + match &self.lights {
                Lights::Few(grid) => grid.memory(),
                Lights::Many(grid) => grid.memory(),
            }
    }

    /// Draws one picture; see [`render`].
    pub fn shoot(&self, camera: &Camera, size: [usize; 2], frame: u64) -> Result<Frame, RenderError> {
        self.expose(camera, size, frame, 0..self.quality.samples)
    }

    /// Draws a picture with some of the rays of each pixel, those of a part of the time that the shutter is open: [`Frame::mean`] of all parts
    /// is the whole picture.
    pub fn expose(
        &self,
        camera: &Camera,
        [width, height]: [usize; 2],
        frame: u64,
        rays: Range<u32>,
    ) -> Result<Frame, RenderError> {
        let lens = camera.lens(width, height)?;
        let picture = match &self.lights {
            Lights::Few(grid) => self.draw(grid, &lens, [width, height], frame, rays),
            Lights::Many(grid) => self.draw(grid, &lens, [width, height], frame, rays),
        };
        self.go_on()?;
        Ok(match &self.style.background {
            Some(background) => picture.over(background),
            None => picture,
        })
    }

    /// An error if the work is to stop. What was drawn so far is not whole then.
    pub(super) fn go_on(&self) -> Result<(), RenderError> {
        go_on(&self.cancel)
    }

    fn draw<const N: usize>(
        &self,
        lights: &LightGrid<N>,
        lens: &Lens,
        size: [usize; 2],
        frame: u64,
        samples: Range<u32>,
    ) -> Frame {
        let [width, height] = size;
        let Self { bricks, style, .. } = self;
        let sky = Sky::new(style, lens);
        let shader = self.shader(lights, &sky);
        let shine = Shine::new(style, bricks);
        let isa = Isa::best();
        let mut rgba = vec![[0.0f32; 4]; width * height];
        let mut depth = vec![f32::INFINITY; width * height];
        let rows = rgba.par_chunks_mut(width).zip(depth.par_chunks_mut(width)).enumerate();
        rows.for_each(|(y, (rgba, depth))| {
            let mut row = Row::new(width);
            for sample in samples.clone() {
                if self.go_on().is_err() {
                    return;
                }
                row.aim(y, sample, frame, self.quality.samples, lens, &shader);
                let Row { smoke, marched, .. } = &mut row;
                let (emission, fire, step) = (&self.emission, self.fire.as_ref(), self.quality.step);
                isa.run(March { bricks, lights, shine: &shine, emission, fire, step, rays: smoke, out: marched });
                row.collect(lens, &shader, rgba, depth);
            }
            let share = 1.0 / samples.len() as f32;
            rgba.iter_mut().flatten().for_each(|v| *v *= share);
        });
        Frame { width, height, rgba, depth }
    }
}

impl<'a> Stage<'a> {
    /// What surfaces need to know to be shaded.
    pub(super) fn shader<'s, const N: usize>(&'s self, lights: &'s LightGrid<N>, sky: &'s Sky<'s>) -> Shader<'s, N> {
        let Self { bricks, surfaces, style, middle, size, .. } = self;
        let (fire, water) = (self.fire.as_ref(), self.water.as_ref());
        let ground_sky = self.ground_sky.as_ref();
        Shader { style, surfaces, bricks, lights, fire, water, ground_sky, sky, middle: *middle, size: *size }
    }
}

/// A box around everything that has an end.
fn around(bricks: &Bricks, surfaces: &Surfaces<'_>, water: Option<&Water>) -> Option<(Vec3, Vec3)> {
    let all = [bricks.bounds(), surfaces.bounds(), water.map(|water| (water.levels.low, water.levels.high))];
    all.into_iter().flatten().reduce(|(low, high), (l, h)| {
        (std::array::from_fn(|a| low[a].min(l[a])), std::array::from_fn(|a| high[a].max(h[a])))
    })
}

/// An error if the work is to stop.
pub(super) fn go_on(cancel: &CancelToken) -> Result<(), RenderError> {
    if cancel.is_cancelled() { Err(RenderError::Cancelled) } else { Ok(()) }
}

/// One ray for each pixel of a row.
pub(super) struct Row<'a> {
    rays: Vec<Ray>,
    hits: Vec<Option<Hit<'a>>>,
    pub smoke: Vec<SmokeRay>,
    /// Metres from the start of each ray to where its part in the smoke is counted from.
    before: Vec<f64>,
    marched: Vec<Marched>,
}

impl<'a> Row<'a> {
    pub fn new(width: usize) -> Self {
        Self {
            rays: Vec::with_capacity(width),
            hits: Vec::with_capacity(width),
            smoke: Vec::with_capacity(width),
            before: Vec::with_capacity(width),
            marched: vec![Marched::NOTHING; width],
        }
    }

    /// Points the rays and finds the surfaces that they meet.
    pub fn aim<const N: usize>(
        &mut self,
        y: usize,
        sample: u32,
        frame: u64,
        samples: u32,
        lens: &Lens,
        shader: &Shader<'a, N>,
    ) {
        self.rays.clear();
        self.hits.clear();
        self.smoke.clear();
        self.before.clear();
        let bricks = shader.bricks;
        for x in 0..self.marched.len() {
            let [u, v] = place_in_pixel(sample, samples);
            let ray = lens.ray_through(x as f64 + u, y as f64 + v, place_on_lens(x, y, sample));
            let hit = shader.hit(&ray, |t| lens.footprint(t));
            let far = hit.as_ref().map_or(f64::INFINITY, |hit| hit.distance);
            let part = bricks.part_inside(&ray, far);
            self.before.push(part.map_or(0.0, |part| part.0));
            self.smoke.push(part.map(|part| (part.1, start_of_steps(x, y, sample, frame))));
            self.rays.push(ray);
            self.hits.push(hit);
        }
    }

    /// Where the ray of a pixel meets water from outside.
    pub fn water(&self, x: usize) -> Option<Vec3> {
        let hit = self.hits[x].as_ref().filter(|hit| matches!(hit.what, What::Water(false)))?;
        Some(along(self.rays[x].origin, self.rays[x].direction, hit.distance))
    }

    /// Puts the light of smoke and surfaces together, and adds it to the pixels.
    fn collect<const N: usize>(&self, lens: &Lens, shader: &Shader<'a, N>, rgba: &mut [[f32; 4]], depth: &mut [f32]) {
        for (x, marched) in self.marched.iter().enumerate() {
            let mut color = marched.color;
            let mut through = marched.through;
            let mut distance = self.before[x] + f64::from(marched.half_way) * shader.bricks.spacing;
            if let Some(hit) = self.hits[x].as_ref().filter(|_| through > 0.0) {
                let [r, g, b, a] = shader.shade(&self.rays[x], hit, lens.footprint(hit.distance.max(NEAR)), false);
                (0..3).for_each(|c| color[c] += through * [r, g, b][c]);
                through *= 1.0 - a;
                if a > 0.5 {
                    distance = distance.min(hit.distance);
                }
            }
            if shader.style.environment.is_some() && through > 0.0 {
                let behind = shader.sky.behind(self.rays[x].direction);
                (0..3).for_each(|c| color[c] += through * behind[c]);
                through = 0.0;
            }
            (0..3).for_each(|c| rgba[x][c] += color[c]);
            rgba[x][3] += 1.0 - through;
            depth[x] = depth[x].min(distance as f32);
        }
    }
}

/// Where in a pixel a ray goes through: its middle if it is the only one, else evenly spread in both directions (Hammersley's points), denser
/// in the middle and into the neighbours, so that edges have no steps. The same in all pixels: with few rays, edges that differ from pixel to pixel
/// look dotted.
fn place_in_pixel(sample: u32, samples: u32) -> [f64; 2] {
    if samples == 1 {
        return [0.5; 2];
    }
    let half = 0.5 / f64::from(samples);
    let (u, v) =
        (f64::from(sample) / f64::from(samples) + half, f64::from(sample.reverse_bits()) / 4_294_967_296.0 + half);
    let tent = |u: f64| if u < 0.5 { (2.0 * u).sqrt() - 1.0 } else { 1.0 - (2.0 - 2.0 * u).max(0.0).sqrt() };
    [0.5 + FILTER * tent(u), 0.5 + FILTER * tent(v)]
}

/// How far from the middle of a pixel its rays reach, in pixels.
const FILTER: f64 = 0.9;

/// Where on the lens a ray starts, from 0 to 1 both ways: spread evenly over the rays of a pixel, by the sequence of Roberts' plastic number.
fn place_on_lens(x: usize, y: usize, sample: u32) -> [f64; 2] {
    let at = |k: usize, step: f64| (f64::from(pattern(x + 29 * k, y + 83 * k)) + step * f64::from(sample)) % 1.0;
    [at(3, 0.754_877_666), at(4, 0.569_840_291)]
}

/// How far into its first step a ray starts: different for neighbours, for the rays of a pixel and for frames.
fn start_of_steps(x: usize, y: usize, sample: u32, frame: u64) -> f32 {
    let turn = (frame % 64) as usize;
    let golden = 0.618_034 * sample as f32;
    (pattern(x + 47 * turn, y + 17 * turn) + golden) % 1.0
}

impl Bricks {
    /// From metres to cells.
    pub(super) fn local(&self, x: Vec3) -> Vec3 {
        scale(sub(x, self.origin), 1.0 / self.spacing)
    }

    /// From cells to metres.
    pub(super) fn place(&self, p: [f32; 3]) -> Vec3 {
        std::array::from_fn(|a| self.origin[a] + f64::from(p[a]) * self.spacing)
    }

    /// From a cell of a brick to metres.
    pub(super) fn world(&self, brick: usize, cell: [usize; 3]) -> Vec3 {
        let place = self.places[brick];
        std::array::from_fn(|a| self.origin[a] + (f64::from(place[a]) * BRICK as f64 + cell[a] as f64) * self.spacing)
    }

    /// The part of a ray in the box of all bricks, before `far`: metres to its start, and the part itself.
    fn part_inside(&self, ray: &Ray, far: f64) -> Option<(f64, Line)> {
        let high = self.index.size.map(|n| f64::from(n) * BRICK as f64);
        let origin = self.local(ray.origin);
        let (enter, leave) = clip(origin, ray.direction, [0.0; 3], high)?;
        let (enter, leave) = (enter.max(0.0), leave.min(far / self.spacing));
        // From here on in single precision, counted from where the box begins.
        let start: Vec3 = std::array::from_fn(|a| origin[a] + enter * ray.direction[a]);
        let line = Line::new(start.map(|v| v as f32), ray.direction.map(|v| v as f32), 0.0, (leave - enter) as f32);
        (leave > enter).then_some((enter * self.spacing, line))
    }

    /// The line from a place in metres, as far as it is in the box of all bricks.
    pub(super) fn line(&self, x: Vec3, direction: Vec3, far: f64) -> Option<Line> {
        self.part_inside(&Ray { origin: x, direction }, far).map(|part| part.1)
    }
}

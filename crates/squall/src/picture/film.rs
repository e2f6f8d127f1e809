//! 3D pictures.

use squall_core::volume::BLOCK;
use squall_core::{CancelToken, Shape, Simulation, Volume};
use squall_render::color::{Background, from_srgb8};
use squall_render::film::{
    Ambient, Camera, ClearSky, Cloudy, Dome, Environment, Finish, Frame, Glow, Ground, Ink, Light, Liquid, Orbit,
    OrbitKey, Passes, Projection, Quality, Ramp, Scatter, Scene, ShapeSurface, Source, Spark, SparkStyle, Stage, Style,
    Substance, Surface as FilmSurface, Tiles, Tone, Wanted, draw_sparks, moved, passes,
};
use squall_render::texture::fine::refined;
use squall_render::{ColorMap, RenderError, Rgb};

use super::PainterError;
use super::{color_map, scalar};
use crate::build::shape;
use crate::setup::{self, Film, PictureMode, Setup, Show, Sky};
use crate::surface::Surface;
use crate::texture::Detail;
use std::sync::Arc;

/// What is to be seen at one time: the substances that are shown, in order, and the one that glows.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    /// One for each name of [`FilmPainter::substances`].
    pub substances: Vec<Volume>,
    /// That of [`FilmPainter::heat`].
    pub heat: Option<Volume>,
    /// A liquid.
    pub liquid: Option<Arc<Surface>>,
    /// What is dissolved in it: one for each name of [`FilmPainter::inks`].
    pub inks: Vec<Volume>,
    /// Embers.
    pub sparks: Vec<Spark>,
    /// For the pass of motion.
    pub velocity: Option<[Volume; 3]>,
    /// For the pass of temperature.
    pub temperature: Option<Volume>,
    /// When objects are where they are seen, seconds: in a loop not when the picture is taken. `None`: then.
    pub objects_at: Option<f64>,
}

/// Takes pictures of 3D scenes as `[camera]`, `[[light]]`, `[render]` and `[[object]]` say.
pub struct FilmPainter {
    /// Names of the substances that are shown, and their colours.
    shown: Vec<(String, Rgb)>,
    heat: Option<String>,
    /// Names of the inks in a liquid that is shown, and their colours.
    inks: Vec<(String, Rgb)>,
    /// The colours of a field that is seen as light.
    light: Option<ColorMap>,
    /// What of the style may change with time.
    setup: Setup,
    objects: Vec<(Box<dyn Shape<3>>, Finish, bool)>,
    quality: Quality,
    camera: CameraPath,
    size: [usize; 2],
    detail: Option<Detail>,
    cancel: CancelToken,
    /// What takes pictures from a frame on, after edits of the scene.
    later: Vec<(u64, FilmPainter)>,
    /// Distances to objects that were asked for last.
    distances: Option<Distances>,
}

/// Distances to objects at many points.
struct Distances {
    time: f64,
    /// The first and the last of the points.
    ends: [[f64; 3]; 2],
    values: Vec<f32>,
}

/// From how many pixels on a cell is seen as one.
const SEEN_CELLS: f64 = 2.5;
/// More cells than this are not made finer: eight times as many would take gigabytes.
const MOST_SMOOTH: usize = 12_000_000;

impl Volumes {
    /// The same `seconds` later; `time` is when pictures are taken.
    fn later(&self, seconds: f64, time: f64) -> Result<Self, RenderError> {
        let Some([u, v, w]) = &self.velocity else { return Ok(self.clone()) };
        let carried = |volume: &Volume| moved(volume, [u, v, w], seconds);
        Ok(Self {
            substances: self.substances.iter().map(carried).collect::<Result<_, _>>()?,
            heat: self.heat.as_ref().map(carried).transpose()?,
            objects_at: Some(self.objects_at.unwrap_or(time) + seconds),
            ..self.clone()
        })
    }

    /// A field of values from 0 to 1 that is seen as light and hides itself.
    pub(crate) fn of_light(field: Volume, objects_at: Option<f64>) -> Self {
        Self { substances: vec![field.clone()], heat: Some(field), objects_at, ..Self::default() }
    }
}

impl FilmPainter {
    /// A painter for the scene.
    pub fn new(setup: &Setup, film: &Film) -> Result<Self, PainterError> {
        let r = &film.render;
        let color = |index: usize| (setup.substances[index].name.clone(), from_srgb8(setup.substances[index].color));
        let one = match setup.picture.mode {
            _ if setup.shows_light() => [0.0; 3],
            PictureMode::Ink => [0.03; 3],
            PictureMode::Emission => from_srgb8(r.color),
        };
        let shown = match setup.picture.show {
            Show::Substance(index) => vec![(setup.substances[index].name.clone(), one)],
            Show::Speed => vec![("speed".to_owned(), one)],
            Show::Vorticity => vec![("vorticity".to_owned(), one)],
            Show::Pressure => vec![("pressure".to_owned(), one)],
            Show::Water => Vec::new(),
            // Heat is not seen but by its glow.
            _ => (0..setup.substances.len()).filter(|&i| setup.is_smoke(i)).map(color).collect(),
        };
        // Finer than the simulation sees them: pictures show edges.
        let resolution = 0.5 * setup.grid.spacing()[0];
        let mut objects = Vec::new();
        for object in setup.objects.iter().filter(|o| o.visible) {
            let finish = Finish {
                color: from_srgb8(object.color),
                roughness: object.roughness as f32,
                metal: object.metal as f32,
            };
            objects.push((shape::moving::<3>(&object.shape, &object.motion, resolution)?, finish, object.glass));
        }
        let quality = match r.quality {
            setup::Quality::Preview => Quality::PREVIEW,
            setup::Quality::Final => Quality::FINAL,
            setup::Quality::Best => Quality::BEST,
        };
        let inks = setup.inks().filter(|_| setup.picture.show == Show::Water);
        Ok(Self {
            inks: inks.map(|ink| (ink.name.clone(), from_srgb8(ink.color))).collect(),
            shown,
            heat: r.glow.as_ref().map(|g| setup.substances[g.substance].name.clone()),
            light: if setup.shows_light() { Some(color_map(&setup.picture.map)?) } else { None },
            setup: setup.clone(),
            objects,
            quality: Quality { samples: r.samples, ..quality },
            camera: CameraPath::new(setup, &film.camera),
            size: [setup.output.width as usize, setup.output.height as usize],
            detail: Detail::new(setup),
            cancel: CancelToken::default(),
            distances: None,
            later: setup
                .later()
                .iter()
                .filter_map(|(frame, later)| Some((*frame, FilmPainter::new(later, later.film.as_ref()?))))
                .map(|(frame, painter)| Ok((frame, painter?)))
                .collect::<Result<_, PainterError>>()?,
        })
    }

    /// What takes the picture of a frame.
    fn at_frame(&mut self, frame: u64) -> &mut Self {
        match self.later.iter().rposition(|(from, _)| *from <= frame) {
            Some(i) => &mut self.later[i].1,
            None => self,
        }
    }

    /// Lets `cancel` stop pictures on their way, which then end in [`RenderError::Cancelled`].
    pub fn set_cancel(&mut self, cancel: &CancelToken) {
        self.cancel = cancel.clone();
        self.later.iter_mut().for_each(|(_, painter)| painter.set_cancel(cancel));
    }

    /// Names of the substances that are shown.
    pub fn substances(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(|(name, _)| name.as_str())
    }

    /// The name of the substance that glows.
    pub fn heat(&self) -> Option<&str> {
        self.heat.as_deref()
    }

    /// Names of the inks in the liquid that is shown.
    pub fn inks(&self) -> impl Iterator<Item = &str> {
        self.inks.iter().map(|(name, _)| name.as_str())
    }

    /// What a simulation shows now.
    pub fn volumes(&self, sim: &dyn Simulation) -> Volumes {
        let displacements = self.detail.as_ref().map(|detail| detail.displacements(sim));
        let volume = |name: &str| {
            let out = volume_of(sim, name);
            match (&self.detail, &displacements) {
                (Some(detail), Some(displacements)) => detail.apply(name, &out, displacements),
                _ => out,
            }
        };
        let (substances, heat) = (self.substances().map(volume).collect(), self.heat().map(volume));
        let velocity = self.wants_velocity().then(|| velocity_of(sim));
        let inks = self.inks().map(|name| volume_of(sim, name)).collect();
        let sparks = if self.setup.embers.is_some() { sparks(sim) } else { Vec::new() };
        Volumes { substances, heat, inks, sparks, velocity, objects_at: Some(sim.time()), ..Volumes::default() }
    }

    /// Takes the picture of a frame at a time, in seconds.
    pub fn shoot(&mut self, volumes: &Volumes, time: f64, frame: u64) -> Result<Frame, RenderError> {
        let (size, samples) = (self.size, self.quality.samples);
        self.camera.look(volumes);
        let smooth = self.smooth(volumes, time)?;
        let volumes = smooth.as_ref().unwrap_or(volumes);
        let open = self.open_shutter();
        if open == 0.0 || volumes.velocity.is_none() || samples < 2 {
            let camera = self.camera.at(time)?;
            let shot = self.at_frame(frame).with_scene(volumes, time, |scene, style, quality| {
                Stage::new(scene, style, quality)?.shoot(&camera, size, frame)
            })?;
            return self.add_sparks(shot, volumes, time);
        }
        // Each ray of a pixel sees another moment. A moment before or after, everything is where its velocity carries it.
        let parts = (0..samples).map(|ray| {
            let later = open * ((f64::from(ray) + 0.5) / f64::from(samples) - 0.5);
            let camera = self.camera.at(time + later)?;
            let there = volumes.later(later, time)?;
            self.at_frame(frame).with_scene(&there, time, |scene, style, quality| {
                Stage::new(scene, style, quality)?.expose(&camera, size, frame, ray..ray + 1)
            })
        });
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let shot = Frame::mean(parts).ok_or(RenderError::Size { width: size[0], height: size[1] })?;
        self.add_sparks(shot, volumes, time)
    }

    /// Draws embers, whose trails are their motion blur.
    fn add_sparks(&self, mut shot: Frame, volumes: &Volumes, time: f64) -> Result<Frame, RenderError> {
        if let Some(embers) = &self.setup.embers {
            let (size, trail, strength) = (embers.size, embers.trail, embers.strength as f32);
            let style = SparkStyle { size, trail, strength, ..SparkStyle::default() };
            draw_sparks(&mut shot, &self.camera.at(time)?, &volumes.sparks, &style)?;
        }
        Ok(shot)
    }

    /// Seconds that the shutter is open.
    fn open_shutter(&self) -> f64 {
        self.setup.film.as_ref().map_or(0.0, |film| film.camera.shutter / 360.0 / self.setup.time.fps)
    }

    /// Whether pictures need the velocity.
    pub fn wants_velocity(&self) -> bool {
        self.open_shutter() > 0.0 && self.quality.samples > 1 && self.setup.picture.show != Show::Water
    }

    /// The same on finer cells, smooth between those of the simulation, where pixels are so fine that its cells would be seen.
    fn smooth(&self, volumes: &Volumes, time: f64) -> Result<Option<Volumes>, RenderError> {
        let wanted = self.setup.film.as_ref().is_some_and(|film| film.render.smooth);
        let Some(spacing) = volumes.substances.iter().map(|v| v.spacing).find(|&h| h > 0.0) else { return Ok(None) };
        let cells: usize = volumes.substances.iter().chain(&volumes.heat).map(|v| v.values.len()).sum();
        let pixels = spacing / self.camera.pixel(time, self.size[1])?;
        if !wanted || pixels < SEEN_CELLS || cells > MOST_SMOOTH {
            return Ok(None);
        }
        let finer = |volume: &Volume| refined(volume, 2, None);
        Ok(Some(Volumes {
            substances: volumes.substances.iter().map(finer).collect(),
            heat: volumes.heat.as_ref().map(finer),
            ..volumes.clone()
        }))
    }

    /// More than colour from the same rays.
    pub fn passes(
        &mut self,
        volumes: &Volumes,
        time: f64,
        frame: u64,
        wanted: &Wanted<'_>,
    ) -> Result<Passes, RenderError> {
        let (camera, size) = (self.camera.at(time)?, self.size);
        self.at_frame(frame).with_scene(volumes, time, |scene, style, quality| {
            passes(scene, style, &camera, size, frame, quality, wanted)
        })
    }

    /// The longest side of the box, in metres.
    fn longest(&self) -> f64 {
        self.setup.grid.size.iter().fold(0.0, |longest: f64, v| longest.max(*v))
    }

    /// The camera at a time, in seconds.
    pub fn camera_at(&self, time: f64) -> Result<Camera, RenderError> {
        self.camera.at(time)
    }

    /// Takes pictures with this camera instead of that of the scene; `None`: with that of the scene.
    pub fn look_with(&mut self, camera: Option<Camera>) {
        self.camera.instead = camera;
        self.later.iter_mut().for_each(|(_, painter)| painter.look_with(camera));
    }

    /// Distances to the nearest object at so many points, at a time; `None`: nothing is to be seen but the fluid.
    pub fn object_distances(
        &mut self,
        time: f64,
        frame: u64,
        count: usize,
        place: impl Fn(usize) -> [f64; 3],
    ) -> Option<Vec<f32>> {
        let painter = self.at_frame(frame);
        let ends = [place(0), place(count.saturating_sub(1))];
        // Distances to meshes take long: those of objects at rest are kept.
        if let Some(known) =
            painter.distances.as_ref().filter(|known| known.ends == ends && known.values.len() == count)
            && !painter.objects.iter().any(|(shape, ..)| shape.changes(known.time, time))
        {
            return Some(known.values.clone());
        }
        painter.objects.iter_mut().for_each(|(shape, ..)| shape.prepare(time));
        let nearest = |i: usize| {
            let x = place(i);
            painter.objects.iter().map(|(shape, ..)| shape.distance(x, time)).fold(f64::INFINITY, f64::min) as f32
        };
        if painter.objects.is_empty() {
            return None;
        }
        let values: Vec<f32> = (0..count).map(nearest).collect();
        painter.distances = Some(Distances { time, ends, values: values.clone() });
        Some(values)
    }

    /// What everything looks like at a frame.
    pub fn style_at(&self, time: f64, frame: u64) -> Style {
        let setup = self.setup.at_frame(frame);
        setup.film.as_ref().map_or_else(Style::default, |film| style(setup, film, time))
    }

    fn with_scene<R>(&mut self, volumes: &Volumes, time: f64, see: impl FnOnce(&Scene<'_>, &Style, Quality) -> R) -> R {
        let objects_at = volumes.objects_at.unwrap_or(time);
        for (shape, ..) in &mut self.objects {
            shape.prepare(objects_at);
        }
        let surfaces: Vec<ShapeSurface<'_>> = self
            .objects
            .iter()
            .map(|(shape, finish, glass)| ShapeSurface { shape, time: objects_at, finish: *finish, glass: *glass })
            .collect();
        let substances = volumes.substances.iter().zip(&self.shown);
        let film = self.setup.film.as_ref();
        let opacity = self.setup.picture.opacity.at(time).max(0.0);
        let kappa = film.map_or(0.0, |film| film.render.thickness.at(time).max(0.0) * opacity) as f32;
        let mut style = film.map_or_else(Style::default, |film| style(&self.setup, film, time));
        if let Some(map) = &self.light {
            // As much light per metre as is hidden: thick places have the colour of the map.
            style.glow = Glow { ramp: Ramp::Map(map.clone()), range: [0.0, 1.0], strength: kappa, light: 0.0 };
        }
        // A liquid that nobody sees through glows at its surface; smoke and clear liquids inside.
        let body = film.and_then(|film| film.render.water.body).filter(|_| volumes.liquid.is_some());
        let heat = volumes.heat.as_ref();
        let scene = Scene {
            substances: substances.map(|(amount, &(_, albedo))| Substance { amount, kappa, albedo }).collect(),
            heat: heat.filter(|_| body.is_none()),
            surfaces: surfaces.iter().map(|s| s as &dyn FilmSurface).collect(),
            liquid: volumes.liquid.as_ref().and_then(|surface| surface.volume()).map(|distance| {
                let water = film.map(|film| &film.render.water);
                water.map_or_else(
                    || Liquid::new(distance),
                    |water| Liquid {
                        tint: from_srgb8(water.tint),
                        depth: water.depth as f32,
                        ior: water.ior as f32,
                        roughness: water.roughness as f32,
                        body: body.map(|color| Cloudy {
                            color: from_srgb8(color),
                            spread: water.spread as f32,
                            heat,
                            glows: (self.longest() / 12.0) as f32,
                        }),
                        inks: volumes
                            .inks
                            .iter()
                            .zip(&self.inks)
                            .map(|(amount, &(_, tint))| Ink { amount, tint, depth: water.ink_depth as f32 })
                            .collect(),
                        ..Liquid::new(distance)
                    },
                )
            }),
            cancel: self.cancel.clone(),
        };
        see(&scene, &style, self.quality)
    }
}

/// Embers as a camera sees them.
fn sparks(sim: &dyn Simulation) -> Vec<Spark> {
    let Some(embers) = sim.particles() else { return Vec::new() };
    let Some((_, heat)) = embers.attributes.iter().find(|(name, _)| name == "heat") else { return Vec::new() };
    let vector = |of: &[Vec<f32>], i: usize| std::array::from_fn(|a| of.get(a).map_or(0.0, |axis| f64::from(axis[i])));
    let spark = |(i, &heat): (usize, &f32)| Spark {
        place: vector(&embers.positions, i),
        velocity: vector(&embers.velocities, i),
        heat,
    };
    heat.iter().enumerate().map(spark).collect()
}

/// A field as a camera sees it; a setup names only fields that exist.
pub(super) fn volume_of(sim: &dyn Simulation, name: &str) -> Volume {
    let mut out = Volume::default();
    if matches!(name, "speed" | "vorticity") || !sim.volume(name, 0, &mut out) {
        out = dense(sim, &scalar(sim, name));
    }
    out
}

/// The velocity at the centres of cells.
fn velocity_of(sim: &dyn Simulation) -> [Volume; 3] {
    std::array::from_fn(|a| {
        let mut out = Volume::default();
        if !sim.volume("velocity", a, &mut out) {
            let mut values = Vec::new();
            sim.read("velocity", a, &mut values);
            out = dense(sim, &values);
        }
        out
    })
}

/// Values of the cells of a box as a volume, whose cells are cubes.
fn dense(sim: &dyn Simulation, values: &[f32]) -> Volume {
    let (origin, h) = sim.placement();
    let (origin, h): ([f64; 3], [f64; 3]) = (std::array::from_fn(|a| origin[a]), std::array::from_fn(|a| h[a]));
    let n: [usize; 3] = std::array::from_fn(|a| sim.cells()[a]);
    let spacing = h.into_iter().fold(f64::INFINITY, f64::min);
    if h.iter().all(|h| (h / spacing - 1.0).abs() < 1e-6) {
        return Volume::from_dense(origin, spacing, 0.0, n, values);
    }
    // Cells that are no cubes are cut into some that are.
    let cells: [usize; 3] = std::array::from_fn(|a| (n[a] as f64 * h[a] / spacing).round().max(1.0) as usize);
    let mut fine = Vec::with_capacity(cells.iter().product());
    let at = |i: usize, a: usize| {
        let x = ((i as f64 + 0.5) * n[a] as f64 / cells[a] as f64 - 0.5).clamp(0.0, (n[a] - 1) as f64);
        (x as usize, (x as usize + 1).min(n[a] - 1), x.fract() as f32)
    };
    for z in 0..cells[2] {
        for y in 0..cells[1] {
            for x in 0..cells[0] {
                let (x, y, z) = (at(x, 0), at(y, 1), at(z, 2));
                let along_x = |y: usize, z: usize| {
                    let row = &values[n[0] * (y + n[1] * z)..];
                    row[x.0] + x.2 * (row[x.1] - row[x.0])
                };
                let along_y = |z: usize| along_x(y.0, z) + y.2 * (along_x(y.1, z) - along_x(y.0, z));
                fine.push(along_y(z.0) + z.2 * (along_y(z.1) - along_y(z.0)));
            }
        }
    }
    Volume::from_dense(origin, spacing, 0.0, cells, &fine)
}

/// What everything looks like at a time.
fn style(setup: &Setup, film: &Film, time: f64) -> Style {
    let r = &film.render;
    // As it was chosen, whatever the tone and an automatic exposure make of light.
    let shown = super::tone(setup, time);
    let per = if setup.picture.exposure.is_none() { 1.0 / shown.exposure } else { 1.0 };
    let [top, bottom] = setup.picture.background.map(|color| shown.light_for(from_srgb8(color)).map(|v| v * per));
    Style { background: (!r.transparent).then_some(Background { bottom, top }), ..without_background(film, time) }
}

/// The same before whatever the style has behind it.
fn without_background(film: &Film, time: f64) -> Style {
    let r = &film.render;
    let light = |l: &setup::Light| Light {
        source: match l.source.at(time, l.path.as_ref()) {
            (false, towards) => Source::Directional(towards),
            (true, position) => Source::Point(position),
        },
        color: from_srgb8(l.color),
        intensity: l.strength.at(time).max(0.0) as f32,
        size: l.size.at(time).max(0.0),
    };
    let glow = r.glow.as_ref().map_or_else(Glow::default, |g| Glow {
        ramp: match &g.colors {
            None => Ramp::Blackbody(g.kelvin.map(|k| k as f32)),
            // Its name was found to be one when the scene was read.
            Some(map) => color_map(map).map_or(Ramp::Blackbody([700.0, 2300.0]), Ramp::Map),
        },
        range: g.range.map(|v| v as f32),
        strength: g.strength.at(time).max(0.0) as f32,
        light: g.light.at(time).max(0.0) as f32,
    });
    let dome = dome(film, time);
    let occlusion = r.ambient.occlusion as f32;
    Style {
        scatter: Scatter { anisotropy: r.anisotropy as f32, softness: r.softness as f32, back: r.back as f32 },
        glow,
        lights: film.lights.iter().map(light).collect(),
        ambient: match &dome {
            Some(dome) => Ambient::of(dome, occlusion),
            None => Ambient { sky: from_srgb8(r.ambient.sky), ground: from_srgb8(r.ambient.below), occlusion },
        },
        ground: r.ground.as_ref().map(|g| Ground {
            height: g.height,
            finish: Finish { color: from_srgb8(g.color), roughness: g.roughness as f32, metal: 0.0 },
            bounce: g.bounce as f32,
            fade: g.fade,
            only_shadow: g.only_shadow,
            pattern: (g.tiles > 0.0).then(|| Tiles {
                size: g.tiles,
                color: from_srgb8(g.joints),
                joint: Some(0.05 * g.tiles),
            }),
        }),
        environment: match dome {
            // Behind what is to be transparent there is nothing.
            _ if r.transparent => None,
            Some(dome) => Some(Environment::of(dome)),
            None => (r.sky == Sky::Studio).then(Environment::studio),
        },
        background: None,
    }
}

/// A sky, or a picture of all around.
fn dome(film: &Film, time: f64) -> Option<Dome> {
    let r = &film.render;
    let strength = r.sky_light.at(time).max(0.0);
    if let Some((_, picture)) = &r.environment {
        return Some(Dome::Picture(picture.turned(r.environment_turn.at(time), strength as f32)));
    }
    let sun = film.lights.iter().find_map(|light| match light.source.at(time, light.path.as_ref()) {
        (false, towards) => Some(towards),
        (true, _) => None,
    });
    (r.sky == Sky::Day).then(|| Dome::Clear(ClearSky::new(sun.unwrap_or([0.3, 0.6, -0.7]), r.haze, strength)))
}

/// The automatic exposure: a thick ball of the scene's smoke is put where the camera looks at the start, lit as the scene is and measured as a
/// photographer measures a grey card. It depends on the scene alone, so all frames have the same, in whatever order they are made.
pub(super) fn metered(setup: &Setup, film: &Film, tone: &Tone) -> f32 {
    /// How bright the brightest part of the ball is shown, in linear light: 0.8 on a screen.
    const SHOWN: f32 = 0.6;
    const CELLS: usize = 24;
    const PIXELS: usize = 48;
    let path = CameraPath::new(setup, &film.camera);
    let Ok(camera) = path.at(0.0) else { return 1.0 };
    let radius = 0.12 * setup.grid.size.iter().fold(0.0f64, |most, &v| most.max(v));
    let h = 2.0 * radius / (CELLS - 2) as f64;
    let corner = camera.target.map(|v| v - 0.5 * CELLS as f64 * h);
    let inside = |i: usize| {
        let at =
            [i % CELLS, i / CELLS % CELLS, i / (CELLS * CELLS)].map(|c| (c as f64 + 0.5) * h - 0.5 * CELLS as f64 * h);
        let away = at.iter().map(|v| v * v).sum::<f64>().sqrt();
        (0.5 + (radius - h - away) / h).clamp(0.0, 1.0) as f32
    };
    let values: Vec<f32> = (0..CELLS.pow(3)).map(inside).collect();
    let ball = Volume::from_dense(corner, h, 0.0, [CELLS; 3], &values);
    // The brightest of what is shown: thick enough that nothing is seen through it.
    let one = from_srgb8(film.render.color);
    let substance = Substance { amount: &ball, kappa: (6.0 / radius) as f32, albedo: one };
    let scene = Scene { substances: vec![substance], ..Scene::default() };
    let style = Style { environment: None, ..without_background(film, 0.0) };
    let eye = {
        let way: [f64; 3] = std::array::from_fn(|a| camera.position[a] - camera.target[a]);
        let length = way.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-9);
        std::array::from_fn(|a| camera.target[a] + way[a] * (8.0 * radius / length))
    };
    let projection = Projection::Perspective { fov: 16.0 };
    let camera = Camera { position: eye, projection, aperture: 0.0, focus: None, ..camera };
    let Ok(frame) = Stage::new(&scene, &style, Quality::PREVIEW).and_then(|s| s.shoot(&camera, [PIXELS; 2], 0)) else {
        return 1.0;
    };
    let luminance = |p: &[f32; 4]| {
        let [r, g, b]: [f32; 3] = std::array::from_fn(|c| p[c] / tone.white[c]);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    // The ground around it, if any, does not count.
    let near = |i: usize| {
        let from = |v: usize| (v as f64 + 0.5) / PIXELS as f64 - 0.5;
        from(i % PIXELS).hypot(from(i / PIXELS)) < 0.4
    };
    let mut found: Vec<f32> =
        frame.rgba.iter().enumerate().filter(|(i, p)| near(*i) && p[3] > 0.5).map(|(_, p)| luminance(p)).collect();
    found.sort_unstable_by(f32::total_cmp);
    let bright = found.get(found.len() * 97 / 100).copied().unwrap_or(0.0);
    let light = tone.light_for([SHOWN; 3])[1];
    // In the dark nothing is made visible at any price.
    if bright > 0.0 { (light / bright).clamp(0.1, 8.0) } else { 1.0 }
}

/// Where the camera is at any time.
struct CameraPath {
    camera: setup::Camera,
    low: [f64; 3],
    high: [f64; 3],
    aspect: f64,
    /// A box around the smoke of the frame, if that is followed.
    seen: Option<([f64; 3], [f64; 3])>,
    /// Replaces the camera of the scene.
    instead: Option<Camera>,
}

/// The part of all smoke that may lie outside on each side of the box that is framed.
const OUTSIDE: f64 = 0.004;

/// Lower and upper corner of a box around all but a little of some volumes: it moves smoothly, as no single cell decides.
fn around(volumes: &[Volume]) -> Option<([f64; 3], [f64; 3])> {
    let h = volumes.iter().map(|v| v.spacing).find(|&h| h > 0.0)?;
    let origin = volumes[0].origin;
    let mut ends = [[0.0; 2]; 3];
    for (a, ends) in ends.iter_mut().enumerate() {
        let mut layers = std::collections::BTreeMap::<i32, f64>::new();
        for volume in volumes {
            for (b, block) in volume.blocks.iter().enumerate() {
                for (i, &v) in volume.block(b).iter().enumerate().filter(|(_, v)| **v > 0.0) {
                    let cell = [i % BLOCK, i / BLOCK % BLOCK, i / (BLOCK * BLOCK)][a];
                    *layers.entry(block[a] * BLOCK as i32 + cell as i32).or_default() += f64::from(v);
                }
            }
        }
        let whole: f64 = layers.values().sum();
        let end = |layers: &mut dyn Iterator<Item = (&i32, &f64)>, side: f64| {
            let mut sum = 0.0;
            for (&layer, &amount) in layers {
                if sum + amount > OUTSIDE * whole {
                    // Somewhere within this layer.
                    let part = (OUTSIDE * whole - sum) / amount;
                    return Some(f64::from(layer) + 0.5 - side * (0.5 - part));
                }
                sum += amount;
            }
            None
        };
        *ends = [end(&mut layers.iter(), 1.0)?, end(&mut layers.iter().rev(), -1.0)?];
    }
    let corner = |k: usize| std::array::from_fn(|a| origin[a] + ends[a][k] * h);
    Some((corner(0), corner(1)))
}

impl CameraPath {
    /// Looks at the smoke of a frame, if it is to be followed.
    fn look(&mut self, volumes: &Volumes) {
        if self.camera.follow {
            self.seen = around(&volumes.substances);
        }
    }

    /// The side of a pixel where the camera looks, in metres.
    fn pixel(&self, time: f64, rows: usize) -> Result<f64, RenderError> {
        let camera = self.at(time)?;
        let way: f64 = (0..3).map(|a| (camera.position[a] - camera.target[a]).powi(2)).sum();
        let height = match camera.projection {
            Projection::Perspective { fov } => 2.0 * way.sqrt() * (0.5 * fov).to_radians().tan(),
            Projection::Orthographic { height } => height,
        };
        Ok(height / rows as f64)
    }

    fn new(setup: &Setup, camera: &setup::Camera) -> Self {
        let low: [f64; 3] = std::array::from_fn(|a| setup.grid.origin[a]);
        let high: [f64; 3] = std::array::from_fn(|a| low[a] + setup.grid.size[a]);
        let aspect = f64::from(setup.output.width) / f64::from(setup.output.height);
        Self { camera: camera.clone(), low, high, aspect, seen: None, instead: None }
    }

    /// A key with a distance.
    fn key(&self, k: &setup::CameraKey) -> OrbitKey {
        // On a turntable the box must be seen whole from all sides.
        let views = if self.camera.turntable.is_some() { 24 } else { 1 };
        let framing = (0..views).map(|i| {
            let yaw = k.yaw + 360.0 * f64::from(i) / f64::from(views);
            let (low, high) = self.seen.unwrap_or((self.low, self.high));
            let framed = Camera::framing(low, high, yaw, k.pitch, k.fov, self.aspect, self.camera.margin);
            let way: [f64; 3] = std::array::from_fn(|a| framed.position[a] - framed.target[a]);
            way.iter().map(|v| v * v).sum::<f64>().sqrt()
        });
        OrbitKey {
            time: k.time,
            yaw: k.yaw,
            pitch: k.pitch,
            distance: k.distance.unwrap_or_else(|| framing.fold(0.0, f64::max)),
            target: match self.seen {
                Some((low, high)) if k.distance.is_none() => std::array::from_fn(|a| 0.5 * (low[a] + high[a])),
                _ => k.target,
            },
            fov: k.fov,
            roll: k.roll,
        }
    }

    fn at(&self, time: f64) -> Result<Camera, RenderError> {
        if let Some(camera) = self.instead {
            return Ok(camera);
        }
        let mut keys: Vec<OrbitKey> = match self.camera.orbit.as_slice() {
            [] => vec![self.key(&self.camera.key(time))],
            orbit => orbit.iter().map(|key| self.key(key)).collect(),
        };
        if let Some(seconds) = self.camera.turntable {
            keys.iter_mut().for_each(|key| key.yaw += 360.0 * time / seconds);
        }
        let camera = Camera {
            aperture: self.camera.aperture.at(time).max(0.0),
            focus: self.camera.focus.as_ref().map(|focus| focus.at(time)),
            ..Orbit::new(keys)?.camera(time)
        };
        let (Projection::Perspective { fov }, true) = (camera.projection, self.camera.orthographic) else {
            return Ok(camera);
        };
        let way: f64 = (0..3).map(|a| (camera.position[a] - camera.target[a]).powi(2)).sum();
        let height = 2.0 * way.sqrt() * (0.5 * fov).to_radians().tan();
        Ok(Camera { projection: Projection::Orthographic { height }, ..camera })
    }
}

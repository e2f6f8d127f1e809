//! From a simulation to a picture, as the scene's `[picture]` asks.
//!
//! | shows | in 2D | in 3D |
//! |---|---|---|
//! | a substance | through the colour map; with `mode = "ink"`, in its own colour on the background | `smoke` and `grey`: lit smoke; other maps: it glows in the colours of the map |
//! | `substances` | all in their colours, as light or as ink | lit smoke in their colours |
//! | `texture` | what is painted on the fluid, in its own colours or through the colour map | |
//! | speed, vorticity, pressure | through the colour map | glowing; vorticity and pressure by their size |
//!
//! In 3D pictures are taken by [`FilmPainter`].

mod film;
mod objects;
pub mod passes;

use squall_core::{CancelToken, Simulation, StateVisitor, Volume};
use squall_render::color::from_srgb8;
use squall_render::derived::{curl_magnitude, speed, vorticity};
use squall_render::film::{Camera, Frame, Tone, View};
use squall_render::lines::{draw_arrows, draw_streaks};
use squall_render::map::Range;
use squall_render::maps::sample;
use squall_render::texture::flat::{self, Pixelated};
use squall_render::{Background, ColorMap, Image, Layer, MapStyle, Mixing, Plane, RenderError, Rgb, Texture};
use squall_render::{WetStyle, draw_layers, draw_map, draw_wet};

use crate::build::BuildError;
use crate::setup::{self, Axis, FlowLines, PictureMode, Setup, Show};
use crate::surface::{Solids, Surface};
use crate::texture::{FlatCoordinates, texture};
pub use film::{FilmPainter, Volumes};
use objects::FlatObjects;
use passes::{PassImage, PassPainter};
use std::sync::Arc;

/// From how many cells below the surface water is deep: as far as distances are known.
const DEEP: f32 = 5.0;

/// Values of a field, one component after the other for each cell: `u v u v ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldValues {
    /// Values per cell.
    pub components: usize,
    /// `components` values for each cell, x fastest.
    pub values: Vec<f32>,
}

/// Reads a field by its name: a substance, `velocity`, `pressure`, and what follows from velocity: `speed` and
/// `vorticity` (in 3D its length). `None`: the simulation has no such field.
pub fn read_field(sim: &dyn Simulation, name: &str) -> Option<FieldValues> {
    let component = |name: &str, a: usize| {
        let mut out = Vec::new();
        sim.read(name, a, &mut out).then_some(out)
    };
    if !matches!(name, "velocity" | "speed" | "vorticity") {
        return component(name, 0).map(|values| FieldValues { components: 1, values });
    }
    let u: Vec<Vec<f32>> = (0..sim.cells().len()).map(|a| component("velocity", a)).collect::<Option<_>>()?;
    let (_, h) = sim.placement();
    let values = match (name, sim.cells(), &u[..]) {
        ("velocity", ..) => {
            let values = (0..u[0].len()).flat_map(|i| u.iter().map(move |u| u[i])).collect();
            return Some(FieldValues { components: u.len(), values });
        }
        ("vorticity", &[nx, ny], [u, v]) => vorticity(u, v, [nx, ny], [h[0], h[1]]),
        ("vorticity", &[nx, ny, nz], [u, v, w]) => curl_magnitude([u, v, w], [nx, ny, nz], [h[0], h[1], h[2]]),
        _ => speed(&u.iter().map(Vec::as_slice).collect::<Vec<_>>()),
    };
    values.ok().map(|values| FieldValues { components: 1, values })
}

/// Draws one frame after the other. Where the scene gives no range, the range grows with what was drawn so far: it
/// never shrinks, so that pictures do not flicker, and it is part of the state, so that a resumed run draws the same.
pub struct Painter {
    film: Option<FilmPainter>,
    /// Whether it shows light in the colours of the map.
    light: bool,
    passes: PassPainter,
    objects: FlatObjects,
    picture: setup::Picture,
    /// What of it changes with time, as it is now.
    now: Look,
    names: Vec<String>,
    colors: Vec<Rgb>,
    width: usize,
    map: ColorMap,
    /// What pictures have shown so far, or all that they will show.
    seen: [f64; 2],
    ahead: Option<Ahead>,
    /// What is painted on a 2D fluid.
    texture: Option<Texture<2>>,
    /// The liquid that was drawn last.
    surface: Option<Arc<Surface>>,
    cancel: CancelToken,
    solids: Solids,
    setup: Setup,
    /// Whether pictures go on at opposite edges, along x and y.
    wraps: [bool; 2],
}

/// What of a picture may change with time, at one time.
struct Look {
    relief: f64,
    exposure: f64,
    opacity: f64,
    gamma: f64,
}

impl Look {
    fn at(picture: &setup::Picture, time: f64) -> Self {
        Self {
            relief: picture.relief.at(time).max(0.0),
            exposure: exposure(picture, time),
            opacity: picture.opacity.at(time).max(0.0),
            gamma: picture.gamma.at(time).clamp(0.1, 10.0),
        }
    }
}

/// The brightness of pictures at a time, if the scene says it.
fn exposure(picture: &setup::Picture, time: f64) -> f64 {
    picture.exposure.as_ref().map_or(1.0, |curve| curve.at(time).max(1e-9))
}

/// What all pictures will show, found before the first.
struct Ahead {
    /// Whether it is found.
    fixed: bool,
    /// The frame of the preparation that was looked at last.
    frame: u64,
    /// The extremes of the last frames of the preparation: as many as the loop has.
    frames: Vec<[f64; 2]>,
}

impl Ahead {
    /// `None`: the range is given, or grows.
    fn new(setup: &Setup) -> Option<Self> {
        let p = &setup.picture;
        let wanted = p.range.is_none()
            && (setup.film.is_none() || setup.shows_light())
            && (p.steady || setup.time.looped.is_some());
        let frames = setup.time.looped.as_ref().map_or(0, |_| setup.time.frames as usize);
        wanted.then(|| Self { fixed: false, frame: u64::MAX, frames: vec![[0.0; 2]; frames] })
    }
}

/// A finished picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// For a screen.
    Screen(Image),
    /// In linear light.
    Film(Frame),
}

impl Picture {
    /// For a screen; `tone` says how linear light is shown.
    pub fn to_image(&self, tone: &Tone) -> Image {
        match self {
            Picture::Screen(image) => image.clone(),
            Picture::Film(frame) => frame.to_image(tone),
        }
    }
}

/// How linear light is shown at a time.
pub fn tone(setup: &Setup, time: f64) -> Tone {
    let picture = &setup.picture;
    let view = match picture.tone {
        setup::Tone::Soft => View::Soft,
        setup::Tone::Filmic => View::Filmic,
        setup::Tone::Aces => View::Aces,
        setup::Tone::Srgb => View::Srgb,
        setup::Tone::Linear => View::Linear,
    };
    let kelvin = picture.white.at(time).clamp(1000.0, 40_000.0);
    let plain = Tone { view, ..Tone::default() }.balanced(kelvin);
    let exposure = match (&picture.exposure, &setup.film) {
        (None, Some(film)) => film::metered(setup, film, &plain),
        _ => exposure(picture, time) as f32,
    };
    Tone { exposure, ..plain }
}

/// Why there is no painter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PainterError {
    /// The picture cannot be drawn.
    #[error(transparent)]
    Picture(#[from] RenderError),
    /// An object cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

fn color_map(map: &setup::ColorMap) -> Result<ColorMap, RenderError> {
    match map {
        setup::ColorMap::Named(name) => ColorMap::by_name(name),
        setup::ColorMap::Ramp(colors) => {
            let last = (colors.len() - 1).max(1) as f32;
            let hex: Vec<String> = colors.iter().map(|[r, g, b]| format!("#{r:02x}{g:02x}{b:02x}")).collect();
            let stops: Vec<_> = hex.iter().enumerate().map(|(i, hex)| (i as f32 / last, hex.as_str())).collect();
            ColorMap::ramp(&stops)
        }
    }
}

impl Painter {
    /// A painter for the scene.
    pub fn new(setup: &Setup) -> Result<Self, PainterError> {
        Ok(Self {
            film: setup.film.as_ref().map(|film| FilmPainter::new(setup, film)).transpose()?,
            light: setup.shows_light(),
            passes: PassPainter::new(setup),
            objects: FlatObjects::new(setup)?,
            names: setup.substances.iter().map(|s| s.name.clone()).collect(),
            colors: setup.substances.iter().map(|s| from_srgb8(s.color)).collect(),
            width: setup.output.width as usize * setup.picture.supersample as usize,
            now: Look::at(&setup.picture, 0.0),
            picture: setup.picture.clone(),
            map: color_map(&setup.picture.map)?,
            seen: [0.0; 2],
            ahead: Ahead::new(setup),
            texture: if setup.dimensions() == 2 { texture::<2>(setup) } else { None },
            surface: None,
            cancel: CancelToken::default(),
            solids: Solids::new(setup)?,
            setup: setup.clone(),
            wraps: [0, 1].map(|a| setup.grid.axes[a] == Axis::Periodic),
        })
    }

    /// Shows what the next picture depends on.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        let [lo, hi] = &mut self.seen;
        visitor.real("picture.lo", lo);
        visitor.real("picture.hi", hi);
        if let Some(ahead) = &mut self.ahead {
            let mut fixed = u64::from(ahead.fixed);
            visitor.integer("picture.fixed", &mut fixed);
            ahead.fixed = fixed != 0;
            visitor.integer("picture.ahead", &mut ahead.frame);
            ahead.frames.iter_mut().flatten().for_each(|value| visitor.real("picture.extreme", value));
        }
    }

    /// Looks at frame `frame` of the preparation of a loop: its last round shows what the loop will.
    pub fn look_ahead(&mut self, sim: &dyn Simulation, frame: u64) {
        if !self.ahead.as_ref().is_some_and(|ahead| !ahead.fixed && !ahead.frames.is_empty()) {
            return;
        }
        let [lo, hi] = self.extremes(sim);
        let Some(ahead) = &mut self.ahead else { return };
        let place = (frame % ahead.frames.len() as u64) as usize;
        let before = if ahead.frame == frame { ahead.frames[place] } else { [0.0; 2] };
        ahead.frames[place] = [before[0].min(lo), before[1].max(hi)];
        ahead.frame = frame;
    }

    /// Pictures drawn elsewhere have shown this range.
    pub fn has_seen(&mut self, [lo, hi]: [f64; 2]) {
        self.seen = [self.seen[0].min(lo), self.seen[1].max(hi)];
    }

    /// All pictures will have this range.
    pub fn fix_range(&mut self, range: [f64; 2]) {
        self.seen = range;
        if let Some(ahead) = &mut self.ahead {
            ahead.fixed = true;
        }
    }

    /// The extremes of what is shown, without outliers; 0 is among them.
    pub fn extremes(&self, sim: &dyn Simulation) -> [f64; 2] {
        let names: Vec<&str> = match self.picture.show {
            Show::Substance(i) => vec![&self.names[i]],
            Show::Substances => self.names.iter().map(String::as_str).collect(),
            Show::Speed | Show::Texture | Show::Water => vec!["speed"],
            Show::Vorticity => vec!["vorticity"],
            Show::Pressure => vec!["pressure"],
        };
        names.into_iter().fold([0.0f64; 2], |[least, most], name| {
            let mut values = scalar(sim, name);
            if name == "pressure" && sim.cells().len() == 3 {
                values.iter_mut().for_each(|v| *v = v.abs());
            }
            let Range { lo, hi } = Range::robust(&values, 0.001);
            [least.min(lo.into()), most.max(hi.into())]
        })
    }

    /// Draws what [`Output::passes`](setup::Output::passes) wants of the present state, after its picture.
    pub fn draw_passes(
        &mut self,
        sim: &dyn Simulation,
        time: f64,
        frame: u64,
        picture: &Picture,
    ) -> Result<Vec<PassImage>, RenderError> {
        if self.passes.passes.is_empty() {
            return Ok(Vec::new());
        }
        let volumes = self.volumes(sim);
        match (&mut self.film, picture) {
            (Some(film), Picture::Film(shot)) => {
                let mut volumes = volumes;
                self.passes.take(&mut volumes, |name, component| {
                    let mut out = Volume::default();
                    sim.volume(name, component, &mut out);
                    out
                });
                self.passes.film(film, &volumes, shot, time, frame)
            }
            (_, Picture::Screen(image)) if sim.cells().len() == 2 => {
                let size = [image.width, image.height];
                let heights = self.heights(sim, size)?;
                self.passes.flat(sim, &heights, size)
            }
            // A setup has no passes then.
            _ => Ok(Vec::new()),
        }
    }

    /// What is shown, all substances together, from 0 to 1 in the range of the picture: at every pixel, the top row first.
    fn heights(&mut self, sim: &dyn Simulation, [width, rows]: [usize; 2]) -> Result<Vec<f32>, RenderError> {
        let names: Vec<String> = match self.picture.show {
            Show::Substance(i) => vec![self.names[i].clone()],
            Show::Substances => self.names.clone(),
            Show::Speed => vec!["speed".to_owned()],
            Show::Vorticity => vec!["vorticity".to_owned()],
            Show::Pressure => vec!["pressure".to_owned()],
            Show::Water => vec!["liquid".to_owned()],
            Show::Texture => {
                let (Some(texture), Some(now)) = (&self.texture, FlatCoordinates::of(sim)) else {
                    return Ok(Vec::new());
                };
                let amounts = flat::amounts(texture, &now.planes(|values| self.plane(sim, values))?, self.width)?;
                let mut heights = sample(&amounts.plane()?, width, rows)?;
                // Patterns have mean 1: half way up.
                heights.iter_mut().for_each(|h| *h *= 0.5);
                return Ok(heights);
            }
        };
        let mut total = vec![0.0; width * rows];
        for name in names {
            let amounts = self.amounts(sim, &name);
            let fine = self.detailed(sim, &name, &amounts)?;
            let plane = fine.as_ref().map_or_else(|| self.plane(sim, &amounts), Pixelated::plane)?;
            let heights = sample(&plane, width, rows)?;
            total.iter_mut().zip(&heights).for_each(|(sum, v)| *sum += v);
        }
        Ok(total)
    }

    /// Takes 3D pictures with this camera instead of that of the scene; `None`: with that of the scene.
    pub fn look_with(&mut self, camera: Option<Camera>) {
        if let Some(film) = &mut self.film {
            film.look_with(camera);
        }
    }

    /// What takes 3D pictures.
    pub fn film(&mut self) -> Option<&mut FilmPainter> {
        self.film.as_mut()
    }

    /// The liquid as it is now.
    pub fn surface_now(&mut self, sim: &dyn Simulation) -> Option<Arc<Surface>> {
        let found = Surface::of(&self.setup, &mut self.solids, sim, &CancelToken::default());
        found.ok().flatten().map(Arc::new)
    }

    /// Lets `cancel` stop surfaces of liquids and pictures that a camera takes, which then end in [`RenderError::Cancelled`]. Others are quick.
    pub fn set_cancel(&mut self, cancel: &CancelToken) {
        self.cancel = cancel.clone();
        if let Some(film) = &mut self.film {
            film.set_cancel(cancel);
        }
    }

    /// Draws the present state as a frame of a film, `time` seconds after its beginning: that is where its camera is. Objects are
    /// where they are at the simulation's own time.
    pub fn draw(&mut self, sim: &dyn Simulation, time: f64, frame: u64) -> Result<Picture, RenderError> {
        self.now = Look::at(&self.picture, time);
        let found = self.ahead.as_ref().filter(|ahead| !ahead.fixed).map(|ahead| {
            let all = ahead.frames.iter();
            all.fold([0.0f64; 2], |[least, most], [lo, hi]| [least.min(*lo), most.max(*hi)])
        });
        // If nothing was seen, the range grows as it would.
        if let Some(range) = found.filter(|[lo, hi]| lo < hi) {
            self.fix_range(range);
        }
        if self.picture.show == Show::Water {
            self.surface = Surface::of(&self.setup, &mut self.solids, sim, &self.cancel)?.map(Arc::new);
        }
        let volumes = self.volumes(sim);
        if let Some(film) = &mut self.film {
            return film.shoot(&volumes, time, frame).map(Picture::Film);
        }
        let mut image = self.draw_image(sim)?;
        if self.picture.flow != FlowLines::None {
            image = self.draw_flow(sim, &image)?;
        }
        self.objects.draw(&mut image, sim.time());
        if self.picture.supersample > 1 {
            image = image.shrunk(self.setup.output.width as usize, self.setup.output.height as usize);
        }
        Ok(Picture::Screen(image))
    }

    /// What a camera sees; nothing in 2D.
    fn volumes(&mut self, sim: &dyn Simulation) -> Volumes {
        match &self.film {
            None => Volumes::default(),
            Some(film) if !self.light => Volumes { liquid: self.surface.clone(), ..film.volumes(sim) },
            Some(film) => {
                let name = film.substances().next().unwrap_or_default().to_owned();
                let mut field = film::volume_of(sim, &name);
                self.normalize(&name, &mut field.values);
                Volumes::of_light(field, Some(sim.time()))
            }
        }
    }

    fn draw_image(&mut self, sim: &dyn Simulation) -> Result<Image, RenderError> {
        let shown = match self.picture.show {
            Show::Substance(i) => vec![i],
            Show::Substances => (0..self.names.len()).collect(),
            Show::Speed => return self.draw_scalar(sim, "speed"),
            Show::Vorticity => return self.draw_scalar(sim, "vorticity"),
            Show::Pressure => return self.draw_scalar(sim, "pressure"),
            Show::Texture => return self.draw_texture(sim),
            Show::Water => return self.draw_water(sim),
        };
        match (&self.picture.show, self.picture.mode) {
            (Show::Substance(one), PictureMode::Emission) => {
                let name = self.names[*one].clone();
                self.draw_scalar(sim, &name)
            }
            _ => self.draw_substances(sim, &shown),
        }
    }

    /// Where the fluid goes, over a picture; in a liquid, where there is some.
    fn draw_flow(&self, sim: &dyn Simulation, image: &Image) -> Result<Image, RenderError> {
        let [mut u, mut v]: [Vec<f32>; 2] = std::array::from_fn(|a| {
            let mut component = Vec::new();
            sim.read("velocity", a, &mut component);
            component
        });
        let mut outside = Vec::new();
        if sim.read("surface", 0, &mut outside) {
            let air = |phi: &f32| if *phi > 0.0 { 0.0 } else { 1.0 };
            u.iter_mut().chain(&mut v).zip(outside.iter().chain(&outside)).for_each(|(u, phi)| *u *= air(phi));
        }
        let velocity = [&self.plane(sim, &u)?, &self.plane(sim, &v)?];
        Ok(match self.picture.flow {
            FlowLines::Arrows => draw_arrows(image, velocity),
            _ => draw_streaks(image, velocity),
        })
    }

    /// The range for these values, after taking note of them.
    fn range(&mut self, values: &[f32]) -> Range {
        let is_fixed = self.ahead.as_ref().is_some_and(|ahead| ahead.fixed);
        let known = self.picture.range.or(is_fixed.then_some(self.seen));
        let [lo, hi] = known.unwrap_or_else(|| {
            let Range { lo, hi } = Range::robust(values, 0.001);
            self.seen = [self.seen[0].min(lo.into()), self.seen[1].max(hi.into())];
            self.seen
        });
        Range { lo: lo as f32, hi: hi as f32 }
    }

    /// The values of a field, from 0 to 1 where they lie in the range, never below 0.
    fn amounts(&mut self, sim: &dyn Simulation, name: &str) -> Vec<f32> {
        let mut values = scalar(sim, name);
        self.normalize(name, &mut values);
        values
    }

    fn normalize(&mut self, name: &str, values: &mut [f32]) {
        if name == "pressure" {
            values.iter_mut().for_each(|v| *v = v.abs());
        }
        let range = self.range(values);
        normalize(values, range, self.now.gamma);
    }

    fn draw_scalar(&mut self, sim: &dyn Simulation, name: &str) -> Result<Image, RenderError> {
        let values = scalar(sim, name);
        let range = self.range(&values);
        match self.detailed(sim, name, &values)? {
            Some(pixels) => self.draw_plane(&pixels.plane()?, range),
            None => self.draw_plane(&self.plane(sim, &values)?, range),
        }
    }

    /// One field through the colour map.
    fn draw_plane(&self, plane: &Plane<'_>, range: Range) -> Result<Image, RenderError> {
        // Twice as bright: what was half way is at the end.
        let exposure = self.now.exposure as f32;
        let range = match self.map.is_diverging() {
            true => Range { lo: range.lo / exposure, hi: range.hi / exposure },
            false => Range { lo: range.lo, hi: range.lo + (range.hi - range.lo) / exposure },
        };
        let relief = self.now.relief as f32;
        let opacity = self.picture.transparent.then_some(self.now.opacity as f32);
        let style = MapStyle { map: self.map.clone(), range, gamma: 1.0 / self.now.gamma as f32, relief, opacity };
        draw_map(plane, self.width, &style)
    }

    /// The liquid as it is now: that of the picture, if it was just drawn and showed one.
    pub fn surface(&mut self, sim: &dyn Simulation) -> Result<Option<Arc<Surface>>, RenderError> {
        if self.picture.show != Show::Water {
            return Ok(Surface::of(&self.setup, &mut self.solids, sim, &self.cancel)?.map(Arc::new));
        }
        Ok(self.surface.clone())
    }

    /// A liquid from the side.
    fn draw_water(&mut self, sim: &dyn Simulation) -> Result<Image, RenderError> {
        let Some((distance, cells, spacing)) = self.surface.as_ref().and_then(|s| s.plane(&self.setup)) else {
            return self.draw_scalar(sim, "speed");
        };
        let h = sim.placement().1[0] as f32;
        let depth: Vec<f32> = scalar(sim, "surface").iter().map(|phi| -phi / (DEEP * h)).collect();
        // What moves as fast as if it had fallen half of the box is white.
        let fast = (9.81 * self.setup.grid.size[1]).sqrt().max(1e-9) as f32;
        let foam: Vec<f32> = scalar(sim, "speed").iter().map(|v| (v / fast - 0.35).max(0.0)).collect();
        let amounts: Vec<(Vec<f32>, Rgb)> =
            self.setup.inks().map(|ink| (scalar(sim, &ink.name), from_srgb8(ink.color))).collect();
        let inks = amounts.iter().map(|(amount, color)| Ok((self.plane(sim, amount)?, *color)));
        let inks = inks.collect::<Result<Vec<_>, RenderError>>()?;
        let background = (!self.picture.transparent).then(|| self.background());
        let style = WetStyle { map: self.map.clone(), background, exposure: self.now.exposure as f32 };
        let distance = Plane::new(&distance, cells, spacing)?.wrapping(self.wraps);
        draw_wet(&distance, &self.plane(sim, &depth)?, &self.plane(sim, &foam)?, &inks, self.width, &style)
    }

    /// What is painted on the fluid.
    fn draw_texture(&mut self, sim: &dyn Simulation) -> Result<Image, RenderError> {
        // A setup that shows a texture has one.
        let (Some(texture), Some(now)) = (&self.texture, FlatCoordinates::of(sim)) else {
            return self.draw_scalar(sim, "speed");
        };
        let coordinates = now.planes(|values| self.plane(sim, values))?;
        if texture.pattern.is_colored() {
            return flat::draw_texture(texture, &coordinates, self.width, self.now.exposure as f32);
        }
        let mut pixels = flat::amounts(texture, &coordinates, self.width)?;
        let range = self.range(pixels.values_mut());
        self.draw_plane(&pixels.plane()?, range)
    }

    /// The values of a substance at every pixel, with the detail of the texture; `None` if it has none.
    fn detailed(&self, sim: &dyn Simulation, name: &str, values: &[f32]) -> Result<Option<Pixelated>, RenderError> {
        let Some(texture) = self.texture.as_ref().filter(|t| t.strength > 0.0) else { return Ok(None) };
        let (true, Some(now)) = (self.names.iter().any(|n| n == name), FlatCoordinates::of(sim)) else {
            return Ok(None);
        };
        let coordinates = now.planes(|values| self.plane(sim, values))?;
        flat::detailed(texture, &coordinates, &self.plane(sim, values)?, self.width).map(Some)
    }

    fn plane<'a>(&self, sim: &dyn Simulation, values: &'a [f32]) -> Result<Plane<'a>, RenderError> {
        let (n, (_, h)) = (sim.cells(), sim.placement());
        Ok(Plane::new(values, [n[0], n[1]], [h[0], h[1]])?.wrapping(self.wraps))
    }

    fn draw_substances(&mut self, sim: &dyn Simulation, shown: &[usize]) -> Result<Image, RenderError> {
        let amounts: Vec<Vec<f32>> = shown.iter().map(|&i| self.amounts(sim, &self.names[i].clone())).collect();
        let mut fine = Vec::with_capacity(shown.len());
        for (amount, &i) in amounts.iter().zip(shown) {
            fine.push(self.detailed(sim, &self.names[i], amount)?);
        }
        let p = &self.picture;
        // An amount of 1 glows at nine tenths of its colour, and as ink has just its colour.
        let (mixing, strength) = match p.mode {
            PictureMode::Emission => (Mixing::Glow, 2.3 * self.now.exposure * self.now.opacity),
            PictureMode::Ink => (Mixing::Ink, self.now.opacity),
        };
        let mut layers = Vec::new();
        for ((amount, fine), &i) in amounts.iter().zip(&fine).zip(shown) {
            let amount = fine.as_ref().map_or_else(|| self.plane(sim, amount), Pixelated::plane)?;
            layers.push(Layer { amount, color: self.colors[i], strength: strength as f32 });
        }
        let background = (!p.transparent).then(|| self.background());
        draw_layers(&layers, self.width, mixing, background, self.now.relief as f32)
    }

    fn background(&self) -> Background {
        let [top, bottom] = self.picture.background.map(from_srgb8);
        Background { bottom, top }
    }
}

/// Makes values run from 0 at the lower end of a range, and not below, to 1 at its upper end.
pub(crate) fn normalize(values: &mut [f32], Range { lo, hi }: Range, gamma: f64) {
    let (scale, power) = (if hi > lo { 1.0 / (hi - lo) } else { 0.0 }, 1.0 / gamma as f32);
    values.iter_mut().for_each(|v| {
        *v = ((*v - lo) * scale).max(0.0);
        if power != 1.0 {
            *v = v.powf(power);
        }
    });
}

/// A scalar field; a setup names only fields that exist.
fn scalar(sim: &dyn Simulation, name: &str) -> Vec<f32> {
    read_field(sim, name).map_or_else(Vec::new, |field| field.values)
}

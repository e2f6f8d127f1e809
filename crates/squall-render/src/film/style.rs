//! How things look: plain data, every part with a default.

use super::environment::Environment;
use super::sky::Dome;
use super::vector::{Vec3, unit};
use crate::color::{Background, Rgb, mix};
use crate::colormap::ColorMap;
use crate::plane::RenderError;

/// The most lights that a picture can have.
pub const MAX_LIGHTS: usize = 6;

/// Everything about a picture that is not the thing itself or the camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// How smoke scatters light.
    pub scatter: Scatter,
    /// How heat glows.
    pub glow: Glow,
    /// At most [`MAX_LIGHTS`].
    pub lights: Vec<Light>,
    /// Light from all around.
    pub ambient: Ambient,
    /// A floor to stand on and to catch shadows.
    pub ground: Option<Ground>,
    /// What is behind everything; `None` leaves the picture transparent.
    pub background: Option<Background>,
    /// What is all around: behind everything instead of `background`, and in what water mirrors. `None`: water mirrors
    /// the background.
    pub environment: Option<Environment>,
}

impl Default for Style {
    /// A warm key light from the upper left, a cool rim light from behind on the right, a soft blue sky.
    fn default() -> Self {
        Self {
            scatter: Scatter::default(),
            glow: Glow::default(),
            lights: vec![
                Light::directional([-0.7, 0.8, 0.35], [1.0, 0.9, 0.76], 1.25),
                Light::directional([0.75, 0.3, -0.75], [0.62, 0.78, 1.0], 0.55),
            ],
            ambient: Ambient::default(),
            ground: None,
            background: Some(Background { bottom: [0.05, 0.06, 0.075], top: [0.012, 0.015, 0.022] }),
            environment: None,
        }
    }
}

/// How smoke scatters light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatter {
    /// Henyey-Greenstein anisotropy from -0.9 to 0.9: 0 scatters evenly, above 0 forward, so that smoke before a light
    /// is bright at its edges.
    pub anisotropy: f32,
    /// From 0 to 1. At 0 light is scattered once, as in a textbook. At 1 shadows are lifted as if light were scattered
    /// several times: octaves of half the light, a quarter of the extinction and half the anisotropy (Wrenninge et al. 2013).
    pub softness: f32,
    /// From 0 to 1: the part of the light that goes back instead, as soot and drops throw some back.
    pub back: f32,
}

impl Default for Scatter {
    fn default() -> Self {
        Self { anisotropy: 0.2, softness: 1.0, back: 0.0 }
    }
}

/// The colours of what glows.
#[derive(Clone, Debug, PartialEq)]
pub enum Ramp {
    /// The colour of a hot body: the kelvins at the cold and at the hot end. Brightness falls with the fourth power of
    /// temperature, to nothing at the cold end.
    Blackbody([f32; 2]),
    /// The colours of a map, times the heat, so that the cold end is dark in every map.
    Map(ColorMap),
}

/// How heat glows.
#[derive(Clone, Debug, PartialEq)]
pub struct Glow {
    /// The colours.
    pub ramp: Ramp,
    /// The heat at the cold and at the hot end of the ramp.
    pub range: [f32; 2],
    /// Light sent out per metre at the hot end.
    pub strength: f32,
    /// How strongly it lights smoke, objects and the ground: 1 is as much as it sends out, 0 is a glow that lights nothing.
    pub light: f32,
}

impl Default for Glow {
    fn default() -> Self {
        Self { ramp: Ramp::Blackbody([700.0, 2300.0]), range: [0.0, 1.0], strength: 12.0, light: 1.0 }
    }
}

/// Where light comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// From very far away, in this direction from the scene (any length).
    Directional([f64; 3]),
    /// From a place; weaker with the square of the distance.
    Point([f64; 3]),
}

/// One light.
///
/// A distant light of colour and intensity 1 gives a white matt surface that faces it, and thick white smoke where no
/// shadow falls, the value 1. A point light does so at a distance of one metre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// Where it is.
    pub source: Source,
    /// Its colour, in linear light.
    pub color: Rgb,
    /// How strong it is.
    pub intensity: f32,
    /// How large it looks: half the angle in degrees of a distant light; the radius in metres of a point light, within
    /// which it grows no stronger. Objects have softer shadows under larger lights.
    pub size: f64,
}

impl Light {
    /// A distant light; `towards` points from the scene to the light.
    pub const fn directional(towards: [f64; 3], color: Rgb, intensity: f32) -> Self {
        Self { source: Source::Directional(towards), color, intensity, size: 2.0 }
    }

    /// A light at a place, of five centimetres.
    pub const fn point(position: [f64; 3], color: Rgb, intensity: f32) -> Self {
        Self { source: Source::Point(position), color, intensity, size: 0.05 }
    }

    /// The direction to the light at `x`, the distance, and how strong it is there.
    pub(super) fn at(&self, x: Vec3) -> (Vec3, f64, f32) {
        match self.source {
            Source::Directional(towards) => (unit(towards).unwrap_or([0.0, 1.0, 0.0]), f64::INFINITY, self.intensity),
            Source::Point(position) => {
                let way = super::vector::sub(position, x);
                let distance = super::vector::length(way);
                let near = distance.max(self.size).max(1e-9);
                (unit(way).unwrap_or([0.0, 1.0, 0.0]), distance, self.intensity / (near * near) as f32)
            }
        }
    }

    /// The tangent of half the angle under which the light is seen from `distance`.
    pub(super) fn spread(&self, distance: f64) -> f64 {
        match self.source {
            Source::Directional(_) => self.size.to_radians().tan(),
            Source::Point(_) => self.size / distance.max(self.size).max(1e-9),
        }
        .max(1e-4)
    }
}

/// Light from all around.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ambient {
    /// From above.
    pub sky: Rgb,
    /// From below.
    pub ground: Rgb,
    /// From 0 to 1: how much of it smoke and objects keep from what they cover.
    pub occlusion: f32,
}

impl Default for Ambient {
    fn default() -> Self {
        Self { sky: [0.12, 0.15, 0.21], ground: [0.04, 0.036, 0.032], occlusion: 0.85 }
    }
}

impl Ambient {
    /// The light of a sky or a picture. What comes from below is that of its lower half: a [`Ground`] sends back light by itself.
    pub fn of(dome: &Dome, occlusion: f32) -> Self {
        Self { sky: dome.light_above(), ground: dome.light_below(), occlusion }
    }

    /// No light but that of the lights.
    pub const NONE: Self = Self { sky: [0.0; 3], ground: [0.0; 3], occlusion: 0.0 };
}

/// How a surface looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// Its colour in white light.
    pub color: Rgb,
    /// From 0 (polished) to 1 (matt).
    pub roughness: f32,
    /// From 0 (paint, stone) to 1 (metal): metal has no light but what it mirrors, in its own colour.
    pub metal: f32,
}

impl Default for Finish {
    fn default() -> Self {
        Self { color: [0.5, 0.5, 0.5], roughness: 0.45, metal: 0.0 }
    }
}

/// A horizontal floor, seen from above only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// Its height, in metres.
    pub height: f64,
    /// How it looks.
    pub finish: Finish,
    /// It fades into the background between these distances from the middle of the scene, in metres. `None`: between
    /// once and four times the size of what is shown.
    pub fade: Option<[f64; 2]>,
    /// Only its shadows are drawn, as darkness over whatever the picture is laid on.
    pub only_shadow: bool,
    /// A pattern, by which the eye sees what water bends.
    pub pattern: Option<Tiles>,
    /// From 0 to 1: how much of the light that falls on it goes up again to smoke and objects, instead of [`Ambient::ground`].
    pub bounce: f32,
}

impl Default for Ground {
    fn default() -> Self {
        let finish = Finish { color: [0.22, 0.21, 0.2], roughness: 0.9, metal: 0.0 };
        Self { height: 0.0, finish, fade: None, only_shadow: false, pattern: None, bounce: 0.0 }
    }
}

impl Ground {
    /// A bright floor of tiles, each of `size` metres: for water.
    pub fn tiled(height: f64, size: f64) -> Self {
        let finish = Finish { color: [0.55, 0.57, 0.6], roughness: 0.9, metal: 0.0 };
        let tiles = Tiles { size, color: [0.3, 0.33, 0.37], joint: Some(0.05 * size) };
        Self { height, finish, pattern: Some(tiles), ..Self::default() }
    }

    /// What it sends back where no shadow falls.
    pub(super) fn sent_back(&self, ambient: &Ambient, lights: &[Light]) -> Rgb {
        let color = self.mean();
        std::array::from_fn(|c| {
            let lights = lights.iter().map(|light| {
                let (to, _, strength) = light.at([0.0, self.height, 0.0]);
                strength * light.color[c] * to[1].max(0.0) as f32
            });
            color[c] * (ambient.sky[c] + lights.sum::<f32>())
        })
    }

    /// The mean colour.
    pub(super) fn mean(&self) -> Rgb {
        self.pattern.map_or(self.finish, |tiles| tiles.finish(self.finish, [0.0; 3], f64::INFINITY)).color
    }
}

/// The pattern of a floor: squares along x and z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tiles {
    /// The side of a tile, in metres.
    pub size: f64,
    /// The other colour: that of the joints, or of every second tile.
    pub color: Rgb,
    /// The width of the joints, in metres; `None` for a checkerboard.
    pub joint: Option<f64>,
}

impl Tiles {
    /// How the floor looks at a place; details smaller than `width` metres melt into one colour.
    pub(super) fn finish(&self, finish: Finish, x: Vec3, width: f64) -> Finish {
        let w = (width / self.size).max(1e-6);
        // How much of a stretch of length `w` around `x` is in the part from 0 to `part` of each whole number.
        let share = |x: f64, part: f64, w: f64| {
            let filled = |x: f64| part * x.floor() + (x - x.floor()).min(part);
            // Where a stretch holds many tiles the exact number flickers.
            let exact = (filled(x + 0.5 * w) - filled(x - 0.5 * w)) / w;
            if w > 8.0 { part } else { exact.clamp(0.0, 1.0) }
        };
        let [u, v] = [x[0] / self.size, x[2] / self.size];
        let other = match self.joint {
            Some(joint) => {
                let part = joint / self.size;
                1.0 - (1.0 - share(u + 0.5 * part, part, w)) * (1.0 - share(v + 0.5 * part, part, w))
            }
            None => {
                let (p, q) = (share(0.5 * u, 0.5, 0.5 * w), share(0.5 * v, 0.5, 0.5 * w));
                p + q - 2.0 * p * q
            }
        } as f32;
        Finish { color: mix(finish.color, self.color, other), ..finish }
    }
}

/// How much work goes into a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Length of a step along a ray, in cells.
    pub step: f32,
    /// Rays per pixel, from 1 to 64.
    pub samples: u32,
    /// Light is computed at every cell (1) or at every second (2). The difference is hard to see; every cell takes six
    /// times as long and eight times the memory.
    pub light_spacing: usize,
    /// From how many directions the light of the sky comes, from 1 to 9.
    pub sky_directions: usize,
}

impl Quality {
    /// To see how things are.
    pub const PREVIEW: Self = Self { step: 1.0, samples: 1, light_spacing: 2, sky_directions: 1 };
    /// For stills: nothing is saved on.
    pub const BEST: Self = Self { step: 0.5, samples: 16, light_spacing: 1, sky_directions: 9 };
    /// To show. Rays of one pixel start at different places, so that together they see every half cell and finer.
    pub const FINAL: Self = Self { step: 0.75, samples: 4, light_spacing: 2, sky_directions: 5 };
}

impl Default for Quality {
    fn default() -> Self {
        Self::FINAL
    }
}

fn check(what: &'static str, value: impl Into<f64>, lo: f64, hi: f64) -> Result<(), RenderError> {
    let value = value.into();
    if value >= lo && value <= hi { Ok(()) } else { Err(RenderError::Value { what, value, lo, hi }) }
}

/// The largest number that makes sense for strengths: what is larger is a mistake and would end as infinity.
const LARGE: f64 = 1e9;

fn check_color(what: &'static str, color: Rgb) -> Result<(), RenderError> {
    color.iter().try_for_each(|&v| check(what, v, 0.0, LARGE))
}

impl Style {
    /// Light from below: that of the surroundings, and what the ground sends back. Half of the ground under smoke lies in its shadow.
    pub(super) fn light_below(&self) -> Rgb {
        const LIT: f32 = 0.5;
        let below = self.ambient.ground;
        let Some(ground) = self.ground.as_ref().filter(|g| !g.only_shadow) else { return below };
        let back = ground.sent_back(&self.ambient, &self.lights);
        mix(below, back.map(|v| LIT * v), ground.bounce)
    }

    /// Refuses what cannot be drawn.
    pub(super) fn check(&self) -> Result<(), RenderError> {
        check("anisotropy", self.scatter.anisotropy, -0.9, 0.9)?;
        check("softness", self.scatter.softness, 0.0, 1.0)?;
        check("light scattered back", self.scatter.back, 0.0, 1.0)?;
        check("glow strength", self.glow.strength, 0.0, LARGE)?;
        check("light of the glow", self.glow.light, 0.0, LARGE)?;
        let [cold, hot] = self.glow.range;
        check("cold end of the glow", cold, -LARGE, LARGE)?;
        check("hot end of the glow", hot, -LARGE, LARGE)?;
        check("hot end of the glow, less the cold end", hot - cold, 1e-30, LARGE)?;
        if let Ramp::Blackbody([cold, hot]) = self.glow.ramp {
            check("kelvins of the cold end", cold, 0.0, 1e5)?;
            check("kelvins of the hot end", hot, f64::from(cold).max(1.0), 1e5)?;
        }
        check("number of lights", self.lights.len() as u32, 0.0, MAX_LIGHTS as f64)?;
        for light in &self.lights {
            check_color("light colour", light.color)?;
            check("light intensity", light.intensity, 0.0, LARGE)?;
            check("light size", light.size, 0.0, if matches!(light.source, Source::Point(_)) { LARGE } else { 60.0 })?;
            let (Source::Directional(v) | Source::Point(v)) = light.source;
            v.iter().try_for_each(|&v| check("light place", v, -1e12, 1e12))?;
            if let Source::Directional(towards) = light.source {
                check("length of the way to a distant light", super::vector::length(towards), 1e-30, f64::MAX)?;
            }
        }
        check_color("sky colour", self.ambient.sky)?;
        check_color("colour of light from below", self.ambient.ground)?;
        check("ambient occlusion", self.ambient.occlusion, 0.0, 1.0)?;
        if let Some(ground) = &self.ground {
            check("ground height", ground.height, -1e12, 1e12)?;
            check_color("ground colour", ground.finish.color)?;
            check("ground roughness", ground.finish.roughness, 0.0, 1.0)?;
            check("light from the ground", ground.bounce, 0.0, 1.0)?;
            if let Some([from, to]) = ground.fade {
                check("start of the ground's fading", from, 0.0, 1e12)?;
                check("end of the ground's fading", to, from.max(1e-12), 1e12)?;
            }
            if let Some(tiles) = &ground.pattern {
                check("size of the tiles", tiles.size, 1e-9, 1e12)?;
                check_color("colour of the tiles", tiles.color)?;
                check("joint between the tiles", tiles.joint.unwrap_or(0.0), 0.0, tiles.size)?;
            }
        }
        if let Some(environment) = &self.environment {
            let Environment { zenith, horizon, nadir, haze, boxes, dome: _ } = environment;
            [zenith, horizon, nadir].into_iter().try_for_each(|&c| check_color("colour of the surroundings", c))?;
            check("haze", *haze, 0.1, 90.0)?;
            for lamp in boxes {
                check_color("softbox colour", lamp.color)?;
                check("softbox intensity", lamp.intensity, 0.0, LARGE)?;
                lamp.size.iter().try_for_each(|&v| check("softbox size", v, 0.01, 80.0))?;
                check("length of the way to a softbox", super::vector::length(lamp.towards), 1e-30, f64::MAX)?;
            }
        }
        Ok(())
    }
}

impl Quality {
    /// Refuses what cannot be drawn.
    pub(super) fn check(&self) -> Result<(), RenderError> {
        check("step", self.step, 0.01, 8.0)?;
        check("samples", self.samples, 1.0, 64.0)?;
        check("light spacing", self.light_spacing as u32, 1.0, 2.0)?;
        check("sky directions", self.sky_directions as u32, 1.0, 9.0)
    }
}

/// Refuses a substance that cannot be drawn.
pub(super) fn check_substance(kappa: f32, albedo: Rgb) -> Result<(), RenderError> {
    check("kappa", kappa, 0.0, LARGE)?;
    albedo.iter().try_for_each(|&v| check("albedo", v, 0.0, 1.0))
}

/// Refuses a liquid that cannot be drawn.
pub(super) fn check_liquid(tint: Rgb, depth: f32, ior: f32, roughness: f32) -> Result<(), RenderError> {
    check_ink(tint, depth)?;
    check("ior", ior, 1.0, 3.0)?;
    check("roughness of the liquid", roughness, 0.0, 1.0)
}

/// Refuses a liquid that scatters light and cannot be drawn.
pub(super) fn check_cloudy(color: Rgb, spread: f32) -> Result<(), RenderError> {
    color.iter().try_for_each(|&v| check("colour of the liquid", v, 0.0, 1.0))?;
    check("spread of light", spread, 1e-9, LARGE)
}

/// Refuses an ink that cannot be drawn.
pub(super) fn check_ink(tint: Rgb, depth: f32) -> Result<(), RenderError> {
    tint.iter().try_for_each(|&v| check("tint", v, 0.0, 1.0))?;
    check("depth of the tint", depth, 1e-9, LARGE)
}

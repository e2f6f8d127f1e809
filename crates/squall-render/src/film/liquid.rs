//! Water: a liquid with a surface, clear or not.

use super::body::Body;
use super::caustics::{LightMap, Receivers};
use super::levels::Levels;
use super::lookup::Lookup;
use super::optics::fresnel;
use super::style::{Quality, Style, check_cloudy, check_ink, check_liquid};
use super::surface::Surfaces;
use super::vector::{Vec3, add, along, cross, dot, scale, unit};
use crate::color::{Rgb, mix};
use crate::plane::RenderError;
use squall_core::{CancelToken, Volume};

/// A liquid, by the distance to its surface. It is clear unless it has a [`Self::body`].
///
/// Blocks that are not stored count as air. So every block that holds liquid must be stored, also deep inside, where
/// any negative values will do. Where the liquid stands against a wall that is not drawn, the distance should end it
/// there: it then looks like water in a tank of thin clear glass. Liquid that ends with its blocks ends there too.
///
/// Where the surface comes closer than a cell to the ground or to an object, the liquid wets it.
#[derive(Clone, Debug)]
pub struct Liquid<'a> {
    /// Metres to the surface at the centres of cells, negative in the liquid. Its cells need not be those of the smoke.
    pub distance: &'a Volume,
    /// The colour of white light after [`Self::depth`] metres of liquid; white is perfectly clear.
    pub tint: Rgb,
    /// In metres.
    pub depth: f32,
    /// How many times slower than in air light is, from 1 to 3.
    pub ior: f32,
    /// From 0 (a mirror) to 1: how blurred lights and the sky are in the surface.
    pub roughness: f32,
    /// What is dissolved in the liquid. One with a body takes its colour where there is much of it.
    pub inks: Vec<Ink<'a>>,
    /// What scatters light in it, so that nobody sees through; [`Self::tint`] and [`Self::depth`] then mean nothing.
    pub body: Option<Cloudy<'a>>,
}

/// A liquid that scatters light below its surface: chocolate, wax, slime.
#[derive(Clone, Copy, Debug)]
pub struct Cloudy<'a> {
    /// Its colour in white light.
    pub color: Rgb,
    /// How far light goes below the surface, in metres: what is thinner shines when it is lit from behind.
    pub spread: f32,
    /// The heat by which it glows, as [`Style::glow`] says.
    pub heat: Option<&'a Volume>,
    /// How many metres of it send out the light that leaves it where it glows.
    pub glows: f32,
}

/// Something dissolved in a liquid that takes away light. It scatters none: ink, not milk.
#[derive(Clone, Copy, Debug)]
pub struct Ink<'a> {
    /// How much there is; negative values count as none, and so does everything outside of the stored blocks.
    pub amount: &'a Volume,
    /// The colour of white light after [`Self::depth`] metres with an amount of 1.
    pub tint: Rgb,
    /// In metres.
    pub depth: f32,
}

impl<'a> Liquid<'a> {
    /// Water with a touch of blue: the tint is that of half the size of the volume.
    pub fn new(distance: &'a Volume) -> Self {
        let size = distance.bounds().map_or(1.0, |(low, high)| {
            let longest = (0..3).map(|a| i64::from(high[a]) - i64::from(low[a])).max().unwrap_or(1);
            longest as f64 * distance.spacing
        });
        let depth = (0.5 * size) as f32;
        Self { distance, tint: [0.62, 0.86, 0.92], depth, ior: 1.333, roughness: 0.02, inks: vec![], body: None }
    }

    fn check(&self) -> Result<(), RenderError> {
        check_liquid(self.tint, self.depth, self.ior, self.roughness)?;
        super::bricks::check(self.distance)?;
        check_reach(self.distance)?;
        for ink in &self.inks {
            check_ink(ink.tint, ink.depth)?;
            super::bricks::check(ink.amount)?;
            check_reach(ink.amount)?;
        }
        if let Some(body) = &self.body {
            check_cloudy(body.color, body.spread)?;
            body.heat.into_iter().try_for_each(|heat| {
                super::bricks::check(heat)?;
                check_reach(heat)
            })?;
        }
        Ok(())
    }
}

/// Refuses blocks so far away that their cells cannot be counted.
fn check_reach(volume: &Volume) -> Result<(), RenderError> {
    const FURTHEST: i32 = 1 << 26;
    let far = volume.blocks.iter().flatten().any(|v| !(-FURTHEST..FURTHEST).contains(v));
    if far { Err(RenderError::Spread { cells: [usize::MAX; 3] }) } else { Ok(()) }
}

/// Light lost per metre. Black would be infinite, which is not needed: after `depth` metres a millionth is left.
fn loss(tint: Rgb, depth: f32) -> Rgb {
    tint.map(|v| -v.max(1e-6).ln() / depth)
}

/// A liquid ready for rays.
pub(super) struct Water {
    pub levels: Levels,
    pub ior: f64,
    /// The tangent of the angle over which mirrored things are blurred.
    pub blur: f64,
    /// How it scatters light, if it does.
    pub body: Option<Body>,
    loss: Rgb,
    /// How much there is of each, what it takes away per metre, and its colour.
    inks: Vec<(Lookup, Rgb, Rgb)>,
    /// For each light that comes from above.
    maps: Vec<Option<LightMap>>,
}

/// Rays to a light past a liquid that scatters.
const RAYS: u32 = 6;

/// Surfaces that a straight line to a light may cross.
const MOST_CROSSINGS: usize = 12;

/// How much of the light that would pass straight through is seen in the darkest shadow: light that has gone to and
/// fro between the water, what it stands on and what is around is not followed.
const SCATTERED: f32 = 0.35;

impl Water {
    /// `None` if there is no liquid.
    pub fn new(liquid: &Liquid<'_>, cancel: &CancelToken) -> Result<Option<Self>, RenderError> {
        liquid.check()?;
        let Some(levels) = Levels::new(liquid.distance, cancel)? else { return Ok(None) };
        let ink = |ink: &Ink<'_>| Ok((Lookup::new(ink.amount)?, loss(ink.tint, ink.depth), ink.tint));
        let inks = liquid.inks.iter().map(ink).collect::<Result<_, RenderError>>()?;
        let blur = 0.5 * f64::from(liquid.roughness).powi(2);
        let loss = loss(liquid.tint, liquid.depth);
        Ok(Some(Self { levels, ior: f64::from(liquid.ior), blur, body: Body::new(liquid)?, loss, inks, maps: vec![] }))
    }

    /// Finds the light that falls through the liquid on what is below, or spreads in it.
    pub fn shine(
        &mut self,
        style: &Style,
        surfaces: &Surfaces<'_>,
        quality: Quality,
        cancel: &CancelToken,
    ) -> Result<(), RenderError> {
        if let Some(body) = &mut self.body {
            return body.shine(&self.levels, style, surfaces, quality, cancel);
        }
        let ground = style.ground.as_ref().map(|ground| ground.height);
        let Some(receivers) = Receivers::new(ground, surfaces, self.levels.low[1], self.levels.high[1]) else {
            return Ok(());
        };
        // A preview has no use for light finer than its pixels.
        let texel = self.levels.spacing * if quality.samples == 1 { 1.0 } else { 0.5 };
        let mut maps = Vec::new();
        for light in &style.lights {
            maps.push(LightMap::new(self, light, &receivers, texel, cancel)?);
        }
        self.maps = maps;
        Ok(())
    }

    /// Bytes in use.
    pub fn memory(&self) -> usize {
        let inks: usize = self.inks.iter().map(|ink| ink.0.memory()).sum();
        let maps: usize = self.maps.iter().flatten().map(LightMap::memory).sum();
        self.levels.memory() + inks + maps + self.body.as_ref().map_or(0, Body::memory)
    }

    /// How many times slower light is behind the surface than before it.
    pub fn eta(&self, inside: bool) -> f64 {
        if inside { 1.0 / self.ior } else { self.ior }
    }

    /// What is left of light after a way through the liquid: exp(-loss length), inks by samples every cell.
    pub fn left(&self, x: Vec3, direction: Vec3, length: f64) -> Rgb {
        let mut lost = self.loss.map(|v| v * length as f32);
        if !self.inks.is_empty() {
            let steps = (length / self.levels.spacing).ceil().clamp(1.0, 512.0) as u32;
            let step = length / f64::from(steps);
            for k in 0..steps {
                let place = along(x, direction, (f64::from(k) + 0.5) * step);
                for (amount, loss, _) in &self.inks {
                    let here = amount.at(place).max(0.0) * step as f32;
                    (0..3).for_each(|c| lost[c] += here * loss[c]);
                }
            }
        }
        lost.map(|v| (-v).exp())
    }

    /// A colour at a place in the liquid, mixed with those of what is dissolved there.
    pub fn mixed(&self, color: Rgb, x: Vec3) -> Rgb {
        let mut color = color;
        for (amount, _, tint) in &self.inks {
            color = mix(color, *tint, amount.at(x).clamp(0.0, 1.0));
        }
        color
    }

    /// How open the half space above a place is where only a liquid that scatters covers it, from 0 to 1.
    pub fn openness(&self, x: Vec3, normal: Vec3) -> f32 {
        if self.body.is_some() { self.levels.openness(x, normal) } else { 1.0 }
    }

    /// How much of a light of the style reaches `x`, relative to what would without the liquid: less in its shadow,
    /// more where it gathers light. `spread` is the tangent of half the angle of the light.
    pub fn light(&self, channel: usize, x: Vec3, to: Vec3, far: f64, spread: f64) -> Rgb {
        if self.body.is_some() {
            // Some rays over the width of the light, each with soft edges of its own.
            let side = if to[1].abs() < 0.9 { [0.0, 1.0, 0.0] } else { [1.0, 0.0, 0.0] };
            let e = unit(cross(to, side)).unwrap_or(side);
            let g = cross(to, e);
            let past = |k: u32| {
                let (angle, way) = (2.4 * f64::from(k), spread * ((f64::from(k) + 0.5) / f64::from(RAYS)).sqrt());
                let aside = add(scale(e, way * angle.cos()), scale(g, way * angle.sin()));
                let towards = unit(add(to, aside)).unwrap_or(to);
                self.levels.light_past(x, towards, far, spread / f64::from(RAYS).sqrt())
            };
            return [(0..RAYS).map(past).sum::<f32>() / RAYS as f32; 3];
        }
        match self.maps.get(channel).and_then(|map| map.as_ref()) {
            Some(map) => {
                let light = map.at(x);
                if light.iter().all(|&v| v > SCATTERED) {
                    return light;
                }
                let straight = self.straight(x, to, far);
                std::array::from_fn(|c| light[c].max(SCATTERED * straight[c]))
            }
            None => self.straight(x, to, far),
        }
    }

    /// The same as if light were not bent: for lights from the side, from below and near by.
    fn straight(&self, x: Vec3, to: Vec3, far: f64) -> Rgb {
        let mut inside = self.levels.inside(along(x, to, self.levels.spacing));
        let (mut x, mut far, mut leaving) = (x, far, inside);
        let mut light = [1.0; 3];
        for _ in 0..MOST_CROSSINGS {
            let Some(t) = self.levels.crossing(x, to, inside, leaving, far) else { break };
            let y = along(x, to, t);
            let cos = self.levels.normal(y).map_or(1.0, |normal| dot(normal, to).abs());
            // The other side is the one the light comes from. Bent light would not be lost at the edge, but go elsewhere.
            let passes = (1.0 - fresnel(cos, self.ior)).max(0.3) as f32;
            let left = if inside { self.left(x, to, t) } else { [1.0; 3] };
            (0..3).for_each(|c| light[c] *= passes * left[c]);
            (x, far, inside, leaving) = (y, far - t, !inside, true);
        }
        light
    }
}

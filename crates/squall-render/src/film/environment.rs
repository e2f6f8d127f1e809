//! The environment by ray direction: what water reflects and refracts.

use super::camera::Lens;
use super::sky::Dome;
use super::style::{Light, Source, Style};
use super::vector::{Vec3, cross, dot, smoothstep, sub, unit};
use crate::color::{Background, Rgb, mix};

/// A sky with soft lamps, seen by direction.
///
/// It is what surfaces mirror and what is behind everything; it does not light matt surfaces or smoke, which is
/// what [`Light`]s and [`super::Ambient`] are for: [`super::Ambient::of`] is the light of a sky.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Straight above.
    pub zenith: Rgb,
    /// At the horizon.
    pub horizon: Rgb,
    /// Straight below, where there is no ground.
    pub nadir: Rgb,
    /// How far up the horizon reaches, in degrees: there a third of it is left.
    pub haze: f64,
    /// Large soft lamps.
    pub boxes: Vec<Softbox>,
    /// A sky or a picture instead of the three colours; the lights of the style that are very far away are seen in it, too.
    pub dome: Option<Dome>,
}

/// A large soft lamp, very far away: a bright rectangle in what water mirrors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softbox {
    /// The direction from the scene to its middle, of any length.
    pub towards: [f64; 3],
    /// Half its width and half its height, in degrees.
    pub size: [f64; 2],
    /// Its colour, in linear light.
    pub color: Rgb,
    /// How bright it is; 1 is white.
    pub intensity: f32,
}

impl Default for Environment {
    fn default() -> Self {
        Self::studio()
    }
}

impl Environment {
    /// A bright room for product shots: a pale wall all around, a large lamp above, one on either side.
    pub fn studio() -> Self {
        let lamp = |towards, size, intensity| Softbox { towards, size, color: [1.0; 3], intensity };
        Self {
            zenith: [0.06, 0.09, 0.13],
            horizon: [0.58, 0.65, 0.72],
            nadir: [0.3, 0.32, 0.34],
            haze: 20.0,
            boxes: vec![
                lamp([-0.35, 1.0, -0.3], [24.0, 16.0], 9.0),
                lamp([-1.0, 0.45, 0.5], [9.0, 26.0], 7.0),
                lamp([1.0, 0.5, -0.25], [7.0, 28.0], 6.0),
            ],
            dome: None,
        }
    }

    /// A clear day.
    pub fn day() -> Self {
        Self {
            zenith: [0.1, 0.24, 0.56],
            horizon: [0.72, 0.82, 0.92],
            nadir: [0.3, 0.32, 0.34],
            haze: 18.0,
            boxes: vec![],
            dome: None,
        }
    }

    /// A sky or a picture all around.
    pub fn of(dome: Dome) -> Self {
        Self { dome: Some(dome), ..Self::day() }
    }
}

/// A lamp with its directions worked out.
struct Lamp {
    axes: [Vec3; 3],
    half: [f64; 2],
    light: Rgb,
}

impl Lamp {
    fn new(lamp: &Softbox) -> Self {
        let towards = unit(lamp.towards).unwrap_or([0.0, 1.0, 0.0]);
        let up = if towards[1].abs() > 0.99 { [0.0, 0.0, 1.0] } else { [0.0, 1.0, 0.0] };
        let right = unit(cross(up, towards)).unwrap_or([1.0, 0.0, 0.0]);
        let half = lamp.size.map(|v| v.to_radians().tan());
        Self { axes: [right, cross(towards, right), towards], half, light: lamp.color.map(|v| v * lamp.intensity) }
    }

    /// How much of the lamp is in a direction, from 0 to 1.
    fn share(&self, direction: Vec3, blur: f64) -> f32 {
        let before = dot(direction, self.axes[2]);
        if before < 0.05 {
            return 0.0;
        }
        let mut share = 1.0;
        for a in 0..2 {
            let away = (dot(direction, self.axes[a]) / before).abs();
            let soft = 0.12 * self.half[a] + blur;
            share *= 1.0 - smoothstep(self.half[a] - soft, self.half[a] + soft, away);
        }
        share as f32
    }
}

/// What is behind everything, ready for rays.
pub(super) struct Sky<'a> {
    style: &'a Style,
    lamps: Vec<Lamp>,
    haze: f64,
    /// The rows of a flat background, from the top down, and the axes and the height of the picture they fill.
    rows: Vec<Rgb>,
    axes: [Vec3; 3],
    half: f64,
    /// About what the ground sends back, where it does not matter much.
    ground: Option<Rgb>,
}

/// Half the angle of the sun as it is seen in a sky, radians: three times that of the real one, as large as it looks in haze.
const SUN: f64 = 0.014;
/// Rows of a flat background that are told apart.
const ROWS: usize = 512;
/// Lights look at least as large as this, in degrees: smaller ones would be sparks in single pixels.
const LEAST_SIZE: f64 = 1.2;

impl<'a> Sky<'a> {
    pub fn new(style: &'a Style, lens: &Lens) -> Self {
        let lamps = style.environment.iter().flat_map(|e| &e.boxes).map(Lamp::new).collect();
        let haze = style.environment.as_ref().map_or(1.0, |e| e.haze.to_radians().sin());
        let rows = style.background.iter().flat_map(|b: &Background| (0..ROWS).map(|y| b.row(y, ROWS))).collect();
        let ground = style.ground.as_ref().filter(|g| !g.only_shadow);
        let ground = ground.map(|ground| ground.sent_back(&style.ambient, &style.lights));
        Self { style, lamps, haze, rows, axes: lens.axes(), half: lens.half(), ground }
    }

    /// What a ray that meets nothing sees; `blur` is the tangent of the angle over which details are lost.
    pub fn seen(&self, direction: Vec3, blur: f64) -> Rgb {
        let Some(environment) = &self.style.environment else { return self.flat(direction) };
        let up = direction[1];
        let share = |depth: f64| (1.0 - (-up.abs() / depth).exp()) as f32;
        let Environment { zenith, horizon, nadir, .. } = *environment;
        let mut color = match &environment.dome {
            Some(dome) => dome.at(direction, blur),
            None if up >= 0.0 => mix(horizon, zenith, share(self.haze)),
            None => mix(horizon, nadir, share(0.7)),
        };
        for lamp in &self.lamps {
            let share = lamp.share(direction, blur);
            if share > 0.0 {
                color = mix(color, lamp.light, share);
            }
        }
        color
    }

    /// The flat background, where the direction is on the picture; away from it, light from all around, where that is
    /// brighter: a world as dark as most backgrounds would leave holes in drops.
    fn flat(&self, direction: Vec3) -> Rgb {
        let ambient = &self.style.ambient;
        let around = mix(ambient.ground, ambient.sky, (0.5 + 0.5 * direction[1]) as f32);
        if self.rows.is_empty() {
            return around;
        }
        let [right, up, back] = self.axes.map(|axis| dot(direction, axis));
        let away = -back * self.half;
        let (v, beside) = if away > 1e-3 {
            ((up / away).clamp(-1.0, 1.0), smoothstep(1.0, 3.0, up.hypot(0.5 * right) / away) as f32)
        } else {
            (direction[1].signum(), 1.0)
        };
        let row = self.rows[((0.5 - 0.5 * v) * (ROWS - 1) as f64).round() as usize];
        std::array::from_fn(|c| row[c] + beside * (around[c] - row[c]).max(0.0))
    }

    /// What a ray that is not worth following sees, more or less.
    pub fn about(&self, direction: Vec3, blur: f64) -> Rgb {
        self.with_ground(self.seen(direction, blur), direction, blur)
    }

    /// What matt and polished objects mirror: without surroundings the light from all around, and not the background, on which a picture may
    /// only be laid later.
    pub fn around(&self, direction: Vec3, blur: f64) -> Rgb {
        let ambient = &self.style.ambient;
        let seen = match &self.style.environment {
            Some(_) => self.seen(direction, blur),
            None => mix(ambient.ground, ambient.sky, (0.5 + 0.5 * direction[1]) as f32),
        };
        self.with_ground(seen, direction, blur)
    }

    fn with_ground(&self, seen: Rgb, direction: Vec3, blur: f64) -> Rgb {
        let Some(ground) = self.ground else { return seen };
        // A wide ray sees both at the horizon.
        let below = 0.5 - 0.5 * direction[1] / blur.max(1e-6);
        mix(seen, ground, below.clamp(0.0, 1.0) as f32)
    }

    /// What is behind everything on the picture: as it is seen, with the sun in a sky.
    pub fn behind(&self, direction: Vec3) -> Rgb {
        let mut seen = self.seen(direction, 0.0);
        if self.style.environment.as_ref().is_some_and(|e| matches!(e.dome, Some(Dome::Clear(_)))) {
            for light in self.style.lights.iter().filter(|l| matches!(l.source, Source::Directional(_))).take(1) {
                let (to, _, strength) = light.at([0.0; 3]);
                // As wide as the sun, with a soft edge.
                let away = 2.0 - 2.0 * dot(direction, to);
                let disc = 1.0 - smoothstep(0.8 * SUN, 1.2 * SUN, away.max(0.0).sqrt());
                let radiance = strength / (SUN * SUN) as f32 * disc as f32;
                (0..3).for_each(|c| seen[c] += radiance * light.color[c]);
            }
        }
        seen
    }

    /// The lights themselves, as a ray from `x` sees them.
    pub fn lights(&self, x: Vec3, direction: Vec3, blur: f64) -> Rgb {
        let mut sum = [0.0; 3];
        for light in &self.style.lights {
            let (to, far, strength) = light.at(x);
            let size = disc(light, far, blur);
            // A soft disc of the same light as a sharp one: radiance times solid angle is pi times what a white matt
            // surface sends back.
            let away = sub(direction, to);
            let fall = (-dot(away, away) / (size * size)).exp();
            if fall > 1e-3 {
                (0..3).for_each(|c| sum[c] += strength * light.color[c] * (fall / (size * size)) as f32);
            }
        }
        sum
    }
}

/// The sine of half the angle under which a light is seen.
fn disc(light: &Light, far: f64, blur: f64) -> f64 {
    let size = light.spread(far).atan().sin();
    size.max(LEAST_SIZE.to_radians().sin()).hypot(blur)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::Camera;

    #[test]
    fn a_light_in_the_sky_sends_as_much_as_it_gives_a_white_surface() {
        let style = Style { lights: vec![Light::directional([0.0, 1.0, 0.0], [1.0; 3], 0.7)], ..Style::default() };
        let sky = Sky::new(&style, &Camera::default().lens(8, 8).unwrap());
        for blur in [0.0, 0.1] {
            // The integral of radiance over the sky: pi times what a white matt surface sends back.
            let n = 20_000;
            let ring = |k: usize| {
                let angle = (k as f64 + 0.5) / n as f64;
                let radiance = f64::from(sky.lights([0.0; 3], [angle.sin(), angle.cos(), 0.0], blur)[0]);
                std::f64::consts::TAU * angle.sin() * radiance / n as f64
            };
            let sum = (0..n).map(ring).sum::<f64>() / std::f64::consts::PI;
            assert!((sum / 0.7 - 1.0).abs() < 0.02, "{blur}: {sum}");
        }
    }

    #[test]
    fn a_softbox_is_as_wide_as_it_says_and_the_sky_is_brightest_at_the_horizon() {
        let lamp = Softbox { towards: [0.0, 0.0, -2.0], size: [20.0, 10.0], color: [1.0; 3], intensity: 5.0 };
        let environment = Environment { boxes: vec![lamp], ..Environment::day() };
        let style = Style { environment: Some(environment), ..Style::default() };
        let sky = Sky::new(&style, &Camera::default().lens(8, 8).unwrap());
        let at = |right: f64, up: f64| {
            let (right, up) = (right.to_radians().tan(), up.to_radians().tan());
            sky.seen(unit([right, up, -1.0]).unwrap(), 0.0)[0]
        };
        assert!(at(0.0, 0.0) == 5.0 && at(17.0, 8.0) == 5.0 && at(23.0, 0.0) < 1.0 && at(0.0, 12.0) < 1.0);
        assert!(sky.seen([0.0, 0.0, 1.0], 0.0)[0] > sky.seen([0.0, 0.6, 0.8], 0.0)[0]);
        assert!(sky.seen([0.0, 0.6, 0.8], 0.0)[0] > sky.seen([0.0, 1.0, 0.0], 0.0)[0]);
    }
}

//! Shading of surfaces and the ground, with shadows of objects and smoke.

use super::bricks::Bricks;
use super::camera::Ray;
use super::environment::Sky;
use super::fire::Fire;
use super::ground_sky::GroundSky;
use super::liquid::Water;
use super::shadow::LightGrid;
use super::style::{Finish, Ground, Style};
use super::surface::{Surface, Surfaces};
use super::vector::{Vec3, add, along, dot, length, scale, smoothstep, sub, unit};
use crate::color::Rgb;

/// What surfaces need to know to be shaded.
pub(super) struct Shader<'a, const N: usize> {
    pub style: &'a Style,
    pub surfaces: &'a Surfaces<'a>,
    pub bricks: &'a Bricks,
    pub lights: &'a LightGrid<N>,
    pub fire: Option<&'a Fire>,
    pub water: Option<&'a Water>,
    pub ground_sky: Option<&'a GroundSky>,
    pub sky: &'a Sky<'a>,
    /// The middle and the size of everything, in metres.
    pub middle: Vec3,
    pub size: f64,
}

/// The first thing that a ray meets.
pub(super) struct Hit<'a> {
    pub distance: f64,
    pub what: What<'a>,
}

/// What it is.
pub(super) enum What<'a> {
    Object(&'a dyn Surface),
    Ground,
    /// Water; whether the ray starts in it.
    Water(bool),
    /// Glass, from outside.
    Glass,
}

impl<'a, const N: usize> Shader<'a, N> {
    /// The first surface along a ray, or the water, or the ground.
    pub fn hit(&self, ray: &Ray, footprint: impl Fn(f64) -> f64) -> Option<Hit<'a>> {
        let clear = self.clear(ray, &footprint);
        let solid = self.solid(ray, clear.as_ref().map_or(f64::INFINITY, |hit| hit.distance), footprint);
        solid.or(clear)
    }

    /// The first that light passes through along a ray: water or glass.
    fn clear(&self, ray: &Ray, footprint: &impl Fn(f64) -> f64) -> Option<Hit<'a>> {
        let water = self.water_ahead(ray);
        let far = water.as_ref().map_or(f64::INFINITY, |hit| hit.distance);
        let glass = if self.surfaces.has_glass() { self.surfaces.pane(ray, far, footprint) } else { None };
        glass.map(|pane| Hit { distance: pane.distance, what: What::Glass }).or(water)
    }

    fn water_ahead(&self, ray: &Ray) -> Option<Hit<'a>> {
        let water = self.water?;
        let inside = water.levels.inside(ray.origin);
        let surface = if inside {
            Some(0.0)
        } else {
            water.levels.crossing(ray.origin, ray.direction, false, false, f64::INFINITY)
        };
        surface.map(|distance| Hit { distance, what: What::Water(inside) })
    }

    /// The first object along a ray, or the ground, before `far`.
    pub fn solid(&self, ray: &Ray, far: f64, footprint: impl Fn(f64) -> f64) -> Option<Hit<'a>> {
        let floor = self.style.ground.as_ref().and_then(|ground| {
            let t = (ground.height - ray.origin[1]) / ray.direction[1];
            (ray.direction[1] < 0.0 && t > 0.0 && t < self.fade(ground)[1] + length(sub(ray.origin, self.middle)))
                .then_some(t)
        });
        let floor = floor.filter(|&t| t < far);
        let object = self.surfaces.hit(ray, floor.unwrap_or(far), footprint);
        match object {
            Some((distance, surface)) => Some(Hit { distance, what: What::Object(surface) }),
            None => floor.map(|distance| Hit { distance, what: What::Ground }),
        }
    }

    fn fade(&self, ground: &Ground) -> [f64; 2] {
        // A sky has a horizon of its own colour to fade into.
        let under_sky = self.style.environment.as_ref().is_some_and(|e| e.dome.is_some());
        ground.fade.unwrap_or(if under_sky {
            [6.0 * self.size, 160.0 * self.size]
        } else {
            [self.size, 4.0 * self.size]
        })
    }

    /// Light premultiplied by opacity, and opacity, of what a ray meets. What is `wet` does not shine.
    pub fn shade(&self, ray: &Ray, hit: &Hit<'_>, footprint: f64, wet: bool) -> [f32; 4] {
        let x = along(ray.origin, ray.direction, hit.distance);
        let dull = |finish: Finish| if wet { Finish { roughness: 1.0, ..finish } } else { finish };
        if let (What::Water(_), Some(water @ Water { body: Some(body), .. })) = (&hit.what, self.water) {
            let [r, g, b] = self.look_at_body(water, body, ray, hit.distance, footprint);
            return [r, g, b, 1.0];
        }
        if let What::Water(_) | What::Glass = hit.what {
            let [r, g, b] = self.look(ray, hit, footprint);
            return [r, g, b, 1.0];
        }
        if let What::Object(surface) = hit.what {
            let step = (0.5 * footprint).max(1e-9);
            let normal = surface.normal(x, step);
            // Seen from inside, the other side is lit.
            let normal = if dot(normal, ray.direction) > 0.0 { scale(normal, -1.0) } else { normal };
            let (lit, _) = self.light(ray, x, normal, dull(surface.finish(x)));
            return [lit[0], lit[1], lit[2], 1.0];
        }
        let Some(ground) = &self.style.ground else { return [0.0; 4] };
        let [from, to] = self.fade(ground);
        let away = length([x[0] - self.middle[0], 0.0, x[2] - self.middle[2]]);
        let opacity = 1.0 - smoothstep(from, to, away) as f32;
        let finish = match &ground.pattern {
            // A slanted view sees more of the ground in a pixel.
            Some(tiles) => tiles.finish(ground.finish, x, footprint / ray.direction[1].abs().max(0.02)),
            None => ground.finish,
        };
        let (lit, bare) = self.light(ray, x, [0.0, 1.0, 0.0], dull(finish));
        if ground.only_shadow {
            let luminance = |c: Rgb| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
            let shadow = 1.0 - (luminance(lit) / luminance(bare).max(1e-9)).clamp(0.0, 1.0);
            return [0.0, 0.0, 0.0, opacity * shadow];
        }
        [lit[0] * opacity, lit[1] * opacity, lit[2] * opacity, opacity]
    }

    /// Light that a point of a surface sends along the ray, and what it would be without any shadow.
    fn light(&self, ray: &Ray, x: Vec3, normal: Vec3, finish: Finish) -> (Rgb, Rgb) {
        let Surround { sky, open } = self.ambient(x, normal);
        let matt = finish.color.map(|v| v * (1.0 - finish.metal));
        let mut lit: Rgb = std::array::from_fn(|c| matt[c] * sky[c] * open);
        let mut bare: Rgb = std::array::from_fn(|c| matt[c] * sky[c]);
        if let Some((mirrored, direction)) = self.mirrored(ray, normal, finish) {
            let blur = f64::from(finish.roughness * finish.roughness).max(0.02);
            let free = open.max(0.3) * self.surfaces.light_past(x, direction, f64::INFINITY, blur);
            for c in 0..3 {
                lit[c] += free * mirrored[c];
                bare[c] += mirrored[c];
            }
        }
        let lights = self.style.lights.iter().enumerate().map(|(channel, light)| (Some(channel), light));
        let glow = self.fire.iter().flat_map(|fire| &fire.lamps).map(|lamp| (None, lamp));
        for (channel, light) in lights.chain(glow) {
            let (to, far, strength) = light.at(x);
            let cos = dot(normal, to);
            if cos <= 0.0 {
                continue;
            }
            let seen = self.surfaces.light_past(x, to, far, light.spread(far));
            let smoke = match (channel, self.fire) {
                _ if seen <= 0.0 => 0.0,
                (Some(channel), _) => self.lights.past_smoke(self.bricks, channel, x, to, far),
                (None, Some(fire)) => fire.past_smoke_to(self.bricks, x, to, far),
                (None, None) => 1.0,
            };
            let shadow = seen * smoke;
            let through = match (self.water, channel) {
                (Some(water), Some(channel)) if shadow > 0.0 => water.light(channel, x, to, far, light.spread(far)),
                _ => [1.0; 3],
            };
            let glass = self.surfaces.light_through_glass(x, to, far);
            let highlight = highlight(finish, normal, to, ray.direction);
            for c in 0..3 {
                let light = strength * light.color[c] * cos as f32 * (matt[c] + highlight[c]);
                lit[c] += shadow * through[c] * glass[c] * light;
                bare[c] += light;
            }
        }
        (lit, bare)
    }

    /// The same of lights alone, without that from all around.
    pub(super) fn lamps(&self, ray: &Ray, x: Vec3, normal: Vec3, finish: Finish) -> Rgb {
        let (lit, _) = self.light(ray, x, normal, finish);
        let Surround { sky, open } = self.ambient(x, normal);
        std::array::from_fn(|c| (lit[c] - finish.color[c] * sky[c] * open).max(0.0))
    }

    /// What a surface mirrors of what is all around, and where that is; `None` if it is matt. Rough surfaces mirror less, as their parts hide each other.
    fn mirrored(&self, ray: &Ray, normal: Vec3, finish: Finish) -> Option<(Rgb, Vec3)> {
        let smooth = (1.0 - finish.roughness).max(finish.metal);
        if smooth <= 0.0 {
            return None;
        }
        let cos = -dot(normal, ray.direction);
        let direction = add(ray.direction, scale(normal, 2.0 * cos));
        let seen = self.sky.around(direction, f64::from(finish.roughness).max(0.02));
        let share = fresnel(finish, cos);
        Some((std::array::from_fn(|c| smooth * smooth * share[c] * seen[c]), direction))
    }

    /// Light from all around, and how much of it reaches a point of a surface.
    fn ambient(&self, x: Vec3, normal: Vec3) -> Surround {
        let ambient = &self.style.ambient;
        let up = 0.5 + 0.5 * normal[1] as f32;
        let below = self.style.light_below();
        let sky = std::array::from_fn(|c| below[c] + up * (ambient.sky[c] - below[c]));
        let objects = self.surfaces.openness(x, normal, 0.15 * self.size);
        let objects = objects * self.water.map_or(1.0, |water| water.openness(x, normal));
        let on_ground = self.style.ground.as_ref().is_some_and(|g| normal[1] == 1.0 && (x[1] - g.height).abs() < 1e-9);
        let smoke = match self.ground_sky.filter(|_| on_ground) {
            Some(map) => 1.0 - ambient.occlusion * (1.0 - map.at(x)),
            None => {
                let up = unit(add(normal, [0.0, 1.0, 0.0])).unwrap_or(normal);
                self.lights.past_smoke(self.bricks, self.style.lights.len(), x, up, f64::INFINITY)
            }
        };
        Surround { sky, open: (1.0 - ambient.occlusion * (1.0 - objects)) * smoke }
    }
}

struct Surround {
    sky: Rgb,
    open: f32,
}

/// How much a surface mirrors at an angle, of each colour (Schlick's approximation of Fresnel's law): glass and paint 4 % straight on, metal its colour.
fn fresnel(finish: Finish, cos: f64) -> Rgb {
    let rise = (1.0 - cos.clamp(0.0, 1.0)).powi(5) as f32;
    finish.color.map(|v| {
        let straight = 0.04 + finish.metal * (v - 0.04);
        straight + (1.0 - straight) * rise
    })
}

/// The mirrored light of a source, relative to a white matt surface (Blinn and Phong, normalised).
fn highlight(finish: Finish, normal: Vec3, to: Vec3, ray: Vec3) -> Rgb {
    let Some(half) = unit(sub(to, ray)) else { return [0.0; 3] };
    let roughness = f64::from(finish.roughness).max(0.05);
    let power = 2.0 / roughness.powi(4) - 2.0;
    let shine = (power + 8.0) / 8.0 * dot(half, normal).max(0.0).powf(power.max(0.0));
    let matt = roughness * f64::from(1.0 - finish.metal);
    fresnel(finish, dot(half, to)).map(|v| v * (shine * (1.0 - matt)) as f32)
}

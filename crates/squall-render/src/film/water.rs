//! Reflections and refractions of water and glass.
//!
//! A ray that meets the surface goes on as two: mirrored with the weight `F` of Fresnel's law, bent with `1 - F`. The
//! heavier of both is followed at once and the other later, if it is worth it; nothing is left to chance, so there is no
//! grain. Way in the water takes light away (Beer and Lambert). What is not followed to its end, because it counts for
//! little, has met the surface too often or was scattered by its bends, takes its light from the surroundings in its
//! direction, so that nothing turns black.

use super::camera::Ray;
use super::environment::Sky;
use super::liquid::Water;
use super::optics::{GLASS, against, bend, fresnel, mirror};
use super::shading::{Hit, Shader, What};
use super::surface::Pane;
use super::vector::{Vec3, along, cross, dot, length, sub, unit};
use crate::color::Rgb;

/// Times that a ray may meet the surface.
const MOST_EVENTS: u32 = 8;
/// The same where there is glass: water in a glass is behind two surfaces on either side.
const MOST_EVENTS_WITH_GLASS: u32 = 14;
/// A part of a ray that counts for less than this is not followed.
const LEAST: f32 = 0.03;
/// The same for what the first surface mirrors: it makes water look like water.
const LEAST_FIRST: f32 = 0.004;
/// The brightest that a light itself can make a ray: more would be sparks in single pixels.
const BRIGHTEST: f32 = 5.0;
/// The least distance at which the size of a pixel is looked up, in metres.
pub(super) const NEAR: f64 = 1e-6;
/// The widest cone that is told apart from a wider one.
const WIDEST: f64 = 1.0;
/// A cone that spreads more than this is not followed: what it would meet changes from ray to ray, and single rays would be grain.
const SCATTERED: f64 = 0.5;
/// Parts of a ray that wait to be followed.
const WAITING: usize = 8;
/// How close to a solid, in cells, water wets it; and how far behind the water's surface such a solid may be met.
const WETS: [f64; 2] = [1.0, 6.0];
/// What is closer to glass than this part of its size touches it.
const RESTS: f64 = 2e-3;

/// What a ray is in. Where water reaches into glass, it is glass.
#[derive(Clone, Copy, PartialEq)]
enum Medium {
    Air,
    Water,
    Glass,
}

/// A part of a ray.
#[derive(Clone, Copy)]
struct Leg {
    ray: Ray,
    medium: Medium,
    /// Whether it starts on the surface.
    leaving: bool,
    /// What its light counts for.
    weight: Rgb,
    events: u32,
    /// A ray is a thin cone: its width in metres where the leg starts, and by how much that grows with each metre.
    width: f64,
    spread: f64,
}

impl<'a, const N: usize> Shader<'a, N> {
    /// Light that reaches the camera along a ray that meets water or glass, or starts in water.
    pub(super) fn look(&self, ray: &Ray, hit: &Hit<'_>, footprint: f64) -> Rgb {
        // A ray is as wide as a pixel wherever it is.
        let spread = (footprint / hit.distance.max(NEAR)).min(0.05);
        let mut color = [0.0; 3];
        let medium = if let What::Water(true) = hit.what { Medium::Water } else { Medium::Air };
        let first = Leg { ray: *ray, medium, leaving: false, weight: [1.0; 3], events: 0, width: 0.0, spread };
        let mut waiting = [first; WAITING];
        let mut count = 1;
        let mut known = matches!(hit.what, What::Water(false)).then_some(hit.distance);
        while count > 0 {
            count -= 1;
            let mut leg = waiting[count];
            while let Some([next, other]) = self.step(&mut leg, known.take(), &mut color) {
                if let Some(other) = other {
                    let least = if other.events == 1 { LEAST_FIRST } else { LEAST };
                    if other.weight.iter().any(|&w| w > least) && other.spread < SCATTERED && count < WAITING {
                        waiting[count] = other;
                        count += 1;
                    } else {
                        self.end(&mut color, &other, Sky::about);
                    }
                }
                match next {
                    Some(next) => leg = next,
                    None => break,
                }
            }
        }
        color
    }

    /// Takes a leg to what it meets next. What is seen there is added to `color`; at the surface of water or glass it splits:
    /// the heavier part, and the other.
    fn step(&self, leg: &mut Leg, known: Option<f64>, color: &mut Rgb) -> Option<[Option<Leg>; 2]> {
        let Leg { ray, medium, width, spread, .. } = *leg;
        let wide = |t: f64| width + t * spread;
        let inside = medium == Medium::Water;
        let water = self.water.filter(|_| medium != Medium::Glass);
        let crossing =
            known.or_else(|| water?.levels.crossing(ray.origin, ray.direction, inside, leg.leaving, f64::INFINITY));
        let pane = match known {
            None if self.surfaces.has_glass() => self.surfaces.pane(&ray, crossing.unwrap_or(f64::INFINITY), wide),
            _ => None,
        };
        let end = pane.map(|pane| pane.distance).or(crossing);
        let cell = self.water.map_or(0.0, |water| water.levels.spacing);
        let reach = match (end, pane) {
            (None, _) => f64::INFINITY,
            // What stands on the ground has no gap below.
            (Some(t), Some(pane)) => t + if pane.enters { 0.0 } else { RESTS * pane.size },
            (Some(t), None) => t + if inside { WETS[1] * cell } else { 0.0 },
        };
        let solid = self.solid(&ray, reach, wide);
        let solid = solid
            .filter(|hit| end.is_none_or(|t| hit.distance <= t || pane.is_some() || self.wets(&ray, t, hit, cell)));
        if let Some(hit) = solid {
            self.weaken(leg, pane, hit.distance);
            let [r, g, b, a] = self.shade(&ray, &hit, wide(hit.distance), medium != Medium::Air);
            (0..3).for_each(|c| color[c] += leg.weight[c] * [r, g, b][c]);
            if a < 1.0 {
                leg.weight = leg.weight.map(|w| w * (1.0 - a));
                self.end(color, leg, Sky::seen);
            }
            return None;
        }
        let Some(t) = end else {
            self.end(color, leg, Sky::seen);
            return None;
        };
        self.weaken(leg, pane, t);
        let x = along(ray.origin, ray.direction, t);
        let width = wide(t);
        let part = |direction: Vec3, medium: Medium, share: f64, wider: f64| Leg {
            ray: Ray { origin: x, direction },
            medium,
            leaving: pane.is_none(),
            weight: leg.weight.map(|w| w * share as f32),
            events: leg.events + 1,
            width,
            spread: (spread + wider).min(WIDEST),
        };
        let beyond = self.beyond(leg, pane, t);
        let normal = match (pane, self.water) {
            (Some(pane), _) => Some((pane.surface.normal(x, width.max(NEAR)), 0.0)),
            (None, Some(water)) => water.levels.normal(x).map(|normal| {
                let normal = self.upright(x, normal, cell);
                (normal, water.turns(x, normal, ray.direction, width))
            }),
            (None, None) => None,
        };
        let Some((normal, turns)) = normal else {
            return self.go_on_with(part(ray.direction, beyond, 1.0, 0.0), None, color);
        };
        let normal = against(normal, ray.direction);
        let eta = self.slowness(beyond) / self.slowness(medium);
        let mirrored = fresnel(-dot(ray.direction, normal), eta);
        let back = part(mirror(ray.direction, normal), medium, mirrored, 2.0 * turns);
        match bend(ray.direction, normal, eta) {
            None => self.go_on_with(Leg { weight: leg.weight, ..back }, None, color),
            Some(bent) => {
                let on = part(bent, beyond, 1.0 - mirrored, (1.0 - eta).abs() * turns);
                let back = (mirrored > 1e-9).then_some(back);
                match back {
                    Some(back) if mirrored > 0.5 => self.go_on_with(back, Some(on), color),
                    back => self.go_on_with(on, back, color),
                }
            }
        }
    }

    /// What is behind a surface at `t`.
    fn beyond(&self, leg: &Leg, pane: Option<Pane<'_>>, t: f64) -> Medium {
        match (pane, leg.medium) {
            (Some(pane), _) if pane.enters => Medium::Glass,
            (Some(pane), _) => {
                let behind = along(leg.ray.origin, leg.ray.direction, t + RESTS * pane.size);
                let wet = self.water.is_some_and(|water| water.levels.inside(behind));
                if wet { Medium::Water } else { Medium::Air }
            }
            (None, Medium::Air) => Medium::Water,
            (None, _) => Medium::Air,
        }
    }

    /// How many times slower light is than in air.
    fn slowness(&self, medium: Medium) -> f64 {
        match medium {
            Medium::Air => 1.0,
            Medium::Water => self.water.map_or(1.0, |water| water.ior),
            Medium::Glass => GLASS,
        }
    }

    /// Loses what water or glass takes away on the first `length` metres.
    fn weaken(&self, leg: &mut Leg, pane: Option<Pane<'_>>, length: f64) {
        let left = match (leg.medium, self.water, pane) {
            (Medium::Water, Some(water), _) => water.left(leg.ray.origin, leg.ray.direction, length),
            (Medium::Glass, _, Some(pane)) => pane.left(leg.ray.origin, length),
            _ => return,
        };
        (0..3).for_each(|c| leg.weight[c] *= left[c]);
    }

    /// Both parts of a ray, or neither if it has met the surface too often or is scattered.
    fn go_on_with(&self, next: Leg, other: Option<Leg>, color: &mut Rgb) -> Option<[Option<Leg>; 2]> {
        let most = if self.surfaces.has_glass() { MOST_EVENTS_WITH_GLASS } else { MOST_EVENTS };
        if next.events < most && next.spread < SCATTERED {
            return Some([Some(next), other]);
        }
        self.end(color, &next, Sky::about);
        if let Some(other) = other {
            self.end(color, &other, Sky::about);
        }
        None
    }

    /// The light of the surroundings, where a leg meets nothing or is not followed any further.
    fn end(&self, color: &mut Rgb, leg: &Leg, see: impl Fn(&Sky<'a>, Vec3, f64) -> Rgb) {
        let blur = self.water.map_or(0.0, |water| water.blur) + 0.5 * leg.spread;
        let Ray { origin, direction } = leg.ray;
        let seen = see(self.sky, direction, blur);
        let lights = self.sky.lights(origin, direction, blur);
        for c in 0..3 {
            color[c] += leg.weight[c] * seen[c] + (leg.weight[c] * lights[c]).min(BRIGHTEST);
        }
    }

    /// The normal where water stands on the ground: its lower edge, rounded by a cell, goes straight down to it.
    fn upright(&self, x: Vec3, normal: Vec3, cell: f64) -> Vec3 {
        match &self.style.ground {
            Some(ground) if normal[1] < 0.0 && x[1] - ground.height < WETS[0] * cell => {
                unit([normal[0], 0.0, normal[2]]).unwrap_or(normal)
            }
            _ => normal,
        }
    }

    /// Whether a solid just behind the surface, at `t`, is wet: then there is no air between.
    fn wets(&self, ray: &Ray, t: f64, hit: &Hit<'_>, cell: f64) -> bool {
        if hit.distance - t > WETS[1] * cell {
            return false;
        }
        let x = along(ray.origin, ray.direction, t);
        let gap = match (&hit.what, &self.style.ground) {
            (What::Ground, Some(ground)) => x[1] - ground.height,
            (What::Object(surface), _) => surface.distance(x),
            _ => f64::INFINITY,
        };
        gap < WETS[0] * cell
    }
}

impl Water {
    /// By how much the normal turns over the `width` of a ray: a curved surface spreads what it mirrors and bends.
    fn turns(&self, x: Vec3, normal: Vec3, direction: Vec3, width: f64) -> f64 {
        let width = width.min(2.0 * self.levels.spacing);
        let across = unit(cross(normal, direction)).unwrap_or([1.0, 0.0, 0.0]);
        let turn = |way: Vec3| {
            let there = self.levels.normal(along(x, way, width)).unwrap_or(normal);
            length(sub(there, normal))
        };
        turn(across).max(turn(cross(across, normal)))
    }
}

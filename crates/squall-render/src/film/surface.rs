//! Solid objects, given by their distance: found, shadowed and shaded by sphere tracing (Hart 1996).

use super::camera::Ray;
use super::optics::{GLASS, fresnel};
use super::style::Finish;
use super::vector::{Vec3, add, along, clip, dot, length, scale, smoothstep, sub, unit};
use crate::color::Rgb;
use squall_core::Shape;

/// A surface to draw.
pub trait Surface: Send + Sync {
    /// Signed distance in metres, negative inside. Away from the surface its size may be less than the true distance,
    /// never more.
    fn distance(&self, x: [f64; 3]) -> f64;

    /// The direction away from the surface, of length 1; details smaller than `step` metres do not matter.
    fn normal(&self, x: [f64; 3], step: f64) -> [f64; 3] {
        let slope = std::array::from_fn(|a| {
            let shifted = |by: f64| std::array::from_fn(|i| x[i] + if i == a { by } else { 0.0 });
            self.distance(shifted(step)) - self.distance(shifted(-step))
        });
        unit(slope).unwrap_or([0.0, 1.0, 0.0])
    }

    /// How the surface looks at a point on it.
    fn finish(&self, _x: [f64; 3]) -> Finish {
        Finish::default()
    }

    /// Whether light passes through it, as through glass. The colour of its [`finish`](Self::finish) is then what is left of white light behind
    /// as much of it as its longest side.
    fn is_glass(&self) -> bool {
        false
    }

    /// A box around the surface, lower and upper corner; `None` if it reaches infinitely far.
    fn bounds(&self) -> Option<([f64; 3], [f64; 3])> {
        None
    }
}

/// A ball.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Its centre, in metres.
    pub center: [f64; 3],
    /// In metres.
    pub radius: f64,
    /// How it looks.
    pub finish: Finish,
}

impl Surface for Sphere {
    fn distance(&self, x: [f64; 3]) -> f64 {
        length(sub(x, self.center)) - self.radius
    }

    fn normal(&self, x: [f64; 3], _step: f64) -> [f64; 3] {
        unit(sub(x, self.center)).unwrap_or([0.0, 1.0, 0.0])
    }

    fn finish(&self, _x: [f64; 3]) -> Finish {
        self.finish
    }

    fn bounds(&self) -> Option<([f64; 3], [f64; 3])> {
        Some((self.center.map(|v| v - self.radius), self.center.map(|v| v + self.radius)))
    }
}

/// A shape of the simulation at one time, to be drawn.
#[derive(Clone, Copy)]
pub struct ShapeSurface<'a> {
    /// The shape.
    pub shape: &'a dyn Shape<3>,
    /// In seconds.
    pub time: f64,
    /// How it looks.
    pub finish: Finish,
    /// Whether it is glass.
    pub glass: bool,
}

impl Surface for ShapeSurface<'_> {
    fn distance(&self, x: [f64; 3]) -> f64 {
        self.shape.distance(x, self.time)
    }

    fn finish(&self, _x: [f64; 3]) -> Finish {
        self.finish
    }

    fn is_glass(&self) -> bool {
        self.glass
    }

    fn bounds(&self) -> Option<([f64; 3], [f64; 3])> {
        self.shape.bounds(self.time)
    }
}

/// A function of the signed distance as a surface.
pub struct FnSurface<F> {
    /// The distance.
    pub distance: F,
    /// A box around it.
    pub bounds: Option<([f64; 3], [f64; 3])>,
    /// How it looks.
    pub finish: Finish,
}

impl<F: Fn([f64; 3]) -> f64 + Send + Sync> Surface for FnSurface<F> {
    fn distance(&self, x: [f64; 3]) -> f64 {
        (self.distance)(x)
    }

    fn finish(&self, _x: [f64; 3]) -> Finish {
        self.finish
    }

    fn bounds(&self) -> Option<([f64; 3], [f64; 3])> {
        self.bounds
    }
}

/// Steps after which a ray is given up: it runs along a surface.
const MOST_STEPS: usize = 256;

/// Lower and upper corner of a box around something that has an end.
type Bounds = Option<(Vec3, Vec3)>;

/// All objects of a scene.
pub(super) struct Surfaces<'a> {
    /// Those that hide what is behind them.
    all: Vec<(&'a dyn Surface, Bounds)>,
    glass: Vec<(&'a dyn Surface, Bounds)>,
}

/// Where a ray enters or leaves glass.
#[derive(Clone, Copy)]
pub(super) struct Pane<'a> {
    pub distance: f64,
    pub surface: &'a dyn Surface,
    /// Whether the ray enters it.
    pub enters: bool,
    /// The longest side of the object, in metres.
    pub size: f64,
}

/// A ray that starts on glass starts this part of its size behind the surface.
const SKIN: f64 = 1e-5;
/// Surfaces of glass that a straight line to a light may cross.
const MOST_PANES: usize = 8;

impl<'a> Surfaces<'a> {
    pub fn new(surfaces: &[&'a dyn Surface]) -> Self {
        let (glass, all) = surfaces.iter().map(|&s| (s, s.bounds())).partition(|(s, _)| s.is_glass());
        Self { all, glass }
    }

    pub fn has_glass(&self) -> bool {
        !self.glass.is_empty()
    }

    /// Where a ray next enters or leaves glass, before `far`.
    pub fn pane(&self, ray: &Ray, far: f64, footprint: impl Fn(f64) -> f64) -> Option<Pane<'a>> {
        let mut nearest: Option<Pane<'a>> = None;
        for &(surface, bounds) in &self.glass {
            let far = nearest.map_or(far, |n| n.distance);
            let Some((enter, leave)) = part_inside(ray.origin, ray.direction, bounds, 0.0) else { continue };
            let size = longest_side(bounds);
            let from = enter.max(SKIN * size);
            let enters = surface.distance(along(ray.origin, ray.direction, from)) >= 0.0;
            if let Some(distance) = trace(surface, ray, from, leave.min(far), &footprint) {
                nearest = Some(Pane { distance, surface, enters, size });
            }
        }
        nearest
    }

    /// What glass leaves of light that comes straight from direction `to` and distance `far`.
    pub fn light_through_glass(&self, x: Vec3, to: Vec3, far: f64) -> Rgb {
        let (mut ray, mut far, mut light) = (Ray { origin: x, direction: to }, far, [1.0; 3]);
        for _ in 0..if self.has_glass() { MOST_PANES } else { 0 } {
            let Some(pane) = self.pane(&ray, far, |_| 1e-3 * self.size_of_glass()) else { break };
            ray.origin = along(ray.origin, to, pane.distance);
            far -= pane.distance;
            let cos = dot(pane.surface.normal(ray.origin, SKIN * pane.size), to).abs();
            // As for water: bent light goes elsewhere, but is not lost.
            let passes = (1.0 - fresnel(cos, GLASS)).max(0.3) as f32;
            let left = if pane.enters { [1.0; 3] } else { pane.left(ray.origin, pane.distance) };
            (0..3).for_each(|c| light[c] *= passes * left[c]);
        }
        light
    }

    fn size_of_glass(&self) -> f64 {
        self.glass.iter().map(|g| longest_side(g.1)).fold(f64::INFINITY, f64::min)
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A box around all objects that have one.
    pub fn bounds(&self) -> Bounds {
        self.all.iter().chain(&self.glass).filter_map(|s| s.1).reduce(|(low, high), (l, h)| {
            (std::array::from_fn(|a| low[a].min(l[a])), std::array::from_fn(|a| high[a].max(h[a])))
        })
    }

    /// Signed distance to the nearest object.
    fn distance(&self, x: Vec3) -> f64 {
        self.all.iter().map(|s| s.0.distance(x)).fold(f64::INFINITY, f64::min)
    }

    /// The first surface along a ray, before `far`: how far it is, and which. `footprint` is the size of a pixel at a
    /// distance. A camera inside of an object sees the inside of its surface.
    pub fn hit(&self, ray: &Ray, far: f64, footprint: impl Fn(f64) -> f64) -> Option<(f64, &'a dyn Surface)> {
        let mut nearest: Option<(f64, &dyn Surface)> = None;
        for &(surface, bounds) in &self.all {
            let far = nearest.map_or(far, |n| n.0);
            let Some((enter, leave)) = part_inside(ray.origin, ray.direction, bounds, 0.0) else { continue };
            if let Some(t) = trace(surface, ray, enter.max(0.0), leave.min(far), &footprint) {
                nearest = Some((t, surface));
            }
        }
        nearest
    }

    /// How much light passes the objects on its way from direction `to` and distance `far`, from 0 to 1. `spread` is
    /// the tangent of half the angle of the light: what misses a surface by less than that is in half shadow.
    pub fn light_past(&self, x: Vec3, to: Vec3, far: f64, spread: f64) -> f32 {
        let mut light = 1.0f64;
        for &(surface, bounds) in &self.all {
            let reach = bounds.map_or(0.0, |(low, high)| spread * (length(sub(x, low)) + length(sub(high, low))));
            let Some((enter, leave)) = part_inside(x, to, bounds, reach) else { continue };
            let size = bounds.map_or(1.0, |(low, high)| length(sub(high, low)));
            let (least, end) = (1e-4 * size, leave.min(far));
            let mut t = enter.max(10.0 * least);
            for _ in 0..MOST_STEPS {
                if t >= end || light <= 0.0 {
                    break;
                }
                let distance = surface.distance(along(x, to, t));
                light = light.min(0.5 + 0.5 * distance / (spread * t));
                // Steps shorter than the distance see where the line comes closest.
                t += 0.7 * distance.abs() + least;
            }
        }
        smoothstep(0.0, 1.0, light) as f32
    }

    /// The nearest place outside of all objects, if `x` is inside of one.
    pub fn outside(&self, x: Vec3) -> Vec3 {
        let mut x = x;
        for &(surface, bounds) in &self.all {
            let distance = surface.distance(x);
            if distance < 0.0 {
                let size = bounds.map_or(1.0, |(low, high)| length(sub(high, low)));
                x = add(x, scale(surface.normal(x, 1e-3 * size), 1e-3 * size - distance));
            }
        }
        x
    }

    /// How open the half space above a point of a surface is, from 0 to 1 (Evans 2006: compares the distance to the
    /// nearest surface with how far a few points along the normal have gone).
    pub fn openness(&self, x: Vec3, normal: Vec3, reach: f64) -> f32 {
        if self.all.is_empty() {
            return 1.0;
        }
        let (mut covered, mut weight) = (0.0, 1.0);
        for k in 1..=5 {
            let t = reach * f64::from(k * k) / 25.0;
            covered += weight * (t - self.distance(along(x, normal, t)).clamp(0.0, t)) / t;
            weight *= 0.65;
        }
        (1.0 - 0.45 * covered).clamp(0.0, 1.0) as f32
    }
}

impl Pane<'_> {
    /// What is left of light after `length` metres of glass that end at `x`.
    pub fn left(&self, x: Vec3, length: f64) -> Rgb {
        let part = (length / self.size) as f32;
        self.surface.finish(x).color.map(|v| v.max(1e-6).powf(part))
    }
}

fn longest_side(bounds: Bounds) -> f64 {
    bounds.map_or(1.0, |(low, high)| (0..3).map(|a| high[a] - low[a]).fold(0.0, f64::max))
}

fn part_inside(origin: Vec3, direction: Vec3, bounds: Bounds, reach: f64) -> Option<(f64, f64)> {
    match bounds {
        None => Some((0.0, f64::INFINITY)),
        Some((low, high)) => clip(origin, direction, low.map(|v| v - reach), high.map(|v| v + reach)),
    }
    .filter(|part| part.1 > 0.0)
}

fn trace(surface: &dyn Surface, ray: &Ray, from: f64, to: f64, footprint: &impl Fn(f64) -> f64) -> Option<f64> {
    let at = |t: f64| surface.distance(along(ray.origin, ray.direction, t));
    let (mut t, mut before) = (from, from);
    let mut distance = at(t);
    let side = if distance < 0.0 { -1.0 } else { 1.0 };
    for _ in 0..MOST_STEPS {
        let close = (1e-3 * footprint(t)).max(1e-12);
        if t > to || !distance.is_finite() {
            return None;
        }
        if side * distance < 0.0 {
            // A step along the surface went in: where it did so lies between its two ends.
            let (mut outside, mut inside) = (before, t);
            for _ in 0..20 {
                let middle = 0.5 * (outside + inside);
                *(if side * at(middle) < 0.0 { &mut inside } else { &mut outside }) = middle;
            }
            return (outside <= to).then_some(outside);
        }
        if side * distance < close {
            // A few more steps to the surface itself: depth and normals are better than pictures need.
            for _ in 0..3 {
                t += side * at(t);
            }
            return (t <= to).then_some(t);
        }
        // Along a surface steps are a part of a pixel: shorter ones run out before its edge, which then has holes.
        before = t;
        t += (side * distance).max(100.0 * close);
        distance = at(t);
    }
    None
}

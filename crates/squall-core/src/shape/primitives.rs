//! Simple shapes at rest, with exact distances inside and outside. In 2D a sphere is a disc and a cylinder is a rectangle.

use super::Shape;
use super::vector::{add, dot, length, lerp, scale, sub};
use std::array::from_fn;

/// What all shapes of this file share: they never move.
macro_rules! at_rest {
    () => {
        fn velocity(&self, _: [f64; D], _: f64) -> [f64; D] {
            [0.0; D]
        }

        fn moves(&self) -> bool {
            false
        }
    };
}

/// All points within `radius` of `center`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere<const D: usize> {
    /// Its middle.
    pub center: [f64; D],
    /// Its radius, in metres.
    pub radius: f64,
}

impl<const D: usize> Shape<D> for Sphere<D> {
    at_rest!();

    fn distance(&self, x: [f64; D], _: f64) -> f64 {
        length(sub(x, self.center)) - self.radius
    }

    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        let r = self.radius;
        Some((self.center.map(|c| c - r), self.center.map(|c| c + r)))
    }
}

/// A box along the axes. To tilt it, see [`Motion`](super::Motion).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuboid<const D: usize> {
    /// Its middle.
    pub center: [f64; D],
    /// Half of its sides, in metres.
    pub half: [f64; D],
    /// Radius of its edges and corners, in metres: 0 is sharp. At most the smallest half side counts.
    pub rounding: f64,
}

impl<const D: usize> Cuboid<D> {
    /// The sharp box between two corners.
    pub fn between(low: [f64; D], high: [f64; D]) -> Self {
        Cuboid { center: lerp(low, high, 0.5), half: scale(sub(high, low), 0.5), rounding: 0.0 }
    }
}

impl<const D: usize> Shape<D> for Cuboid<D> {
    at_rest!();

    /// |max(q, 0)| + min(max_a q_a, 0) - r, where q = |x - c| - (half - r) is how far outside x lies along each axis.
    fn distance(&self, x: [f64; D], _: f64) -> f64 {
        let r = self.half.into_iter().fold(self.rounding, f64::min);
        let q: [f64; D] = from_fn(|a| (x[a] - self.center[a]).abs() - (self.half[a] - r));
        let inside = q.into_iter().fold(f64::NEG_INFINITY, f64::max).min(0.0);
        length(q.map(|q| q.max(0.0))) + inside - r
    }

    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        Some((sub(self.center, self.half), add(self.center, self.half)))
    }
}

/// All points within `radius` of a line segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule<const D: usize> {
    /// One end of the segment.
    pub from: [f64; D],
    /// The other end.
    pub to: [f64; D],
    /// The radius, in metres.
    pub radius: f64,
}

impl<const D: usize> Shape<D> for Capsule<D> {
    at_rest!();

    fn distance(&self, x: [f64; D], _: f64) -> f64 {
        let axis = sub(self.to, self.from);
        let length2 = dot(axis, axis);
        let along = dot(sub(x, self.from), axis);
        // Both ends may be the same point.
        let s = if length2 > 0.0 { (along / length2).clamp(0.0, 1.0) } else { 0.0 };
        length(sub(x, lerp(self.from, self.to, s))) - self.radius
    }

    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        Some((
            from_fn(|a| self.from[a].min(self.to[a]) - self.radius),
            from_fn(|a| self.from[a].max(self.to[a]) + self.radius),
        ))
    }
}

/// A cylinder with flat ends, which lie at `from` and `to`. In 2D: the rectangle of that axis, `2 radius` wide. Both ends
/// must differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cylinder<const D: usize> {
    /// Middle of one end.
    pub from: [f64; D],
    /// Middle of the other end.
    pub to: [f64; D],
    /// The radius, in metres.
    pub radius: f64,
}

impl<const D: usize> Cylinder<D> {
    /// Unit vector from end to end, and half the length.
    fn axis(&self) -> ([f64; D], f64) {
        let axis = sub(self.to, self.from);
        let size = length(axis);
        (if size > 0.0 { scale(axis, 1.0 / size) } else { [0.0; D] }, 0.5 * size)
    }
}

impl<const D: usize> Shape<D> for Cylinder<D> {
    at_rest!();

    /// The distance to a rectangle in the plane of the axis and x.
    fn distance(&self, x: [f64; D], _: f64) -> f64 {
        let (axis, half) = self.axis();
        let from_middle = sub(x, lerp(self.from, self.to, 0.5));
        let along = dot(from_middle, axis);
        let across = length(sub(from_middle, scale(axis, along)));
        let q = [along.abs() - half, across - self.radius];
        length(q.map(|q| q.max(0.0))) + q[0].max(q[1]).min(0.0)
    }

    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        // A disc of normal n reaches r sqrt(1 - n_a^2) along axis a.
        let (axis, _) = self.axis();
        let reach: [f64; D] = axis.map(|n| self.radius * (1.0 - n * n).max(0.0).sqrt());
        Some((
            from_fn(|a| self.from[a].min(self.to[a]) - reach[a]),
            from_fn(|a| self.from[a].max(self.to[a]) + reach[a]),
        ))
    }
}

/// Everything on one side of a plane (in 2D: of a line): a floor, a slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfSpace<const D: usize> {
    point: [f64; D],
    normal: [f64; D],
}

impl<const D: usize> HalfSpace<D> {
    /// The side of the plane through `point` that `normal` points away from. The normal has any length but 0.
    pub fn new(point: [f64; D], normal: [f64; D]) -> Self {
        HalfSpace { point, normal: scale(normal, 1.0 / length(normal)) }
    }
}

impl<const D: usize> Shape<D> for HalfSpace<D> {
    at_rest!();

    fn distance(&self, x: [f64; D], _: f64) -> f64 {
        dot(sub(x, self.point), self.normal)
    }

    fn plane(&self) -> Option<([f64; D], [f64; D])> {
        Some((self.point, self.normal))
    }

    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        None
    }
}

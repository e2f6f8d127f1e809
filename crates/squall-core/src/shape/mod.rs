//! Shapes: obstacles, sources, initial smoke and targets are one concept.
//!
//! | module | what it holds |
//! |---|---|
//! | [`primitives`] | sphere, box, capsule, cylinder, half-space |
//! | [`combinations`] | union, intersection, difference, inverse, offset, shell |
//! | [`motion`] | a shape on keyframes, drifting or turning |
//! | [`path`] | a shape that is dragged while the simulation runs |
//! | [`mesh`] | triangle meshes, also deforming ones |
//! | [`polygon`] | closed outlines in 2D |
//! | [`baked`] | distances on a grid, for shapes whose distance is dear |
//!
//! A half-buried ball that rolls along the floor:
//!
//! ```
//! use squall_core::Shape;
//! use squall_core::shape::{HalfSpace, Motion, Moving, Sphere, Union};
//!
//! let roll = Motion { velocity: [1.0, 0.0], ..Motion::default() };
//! let ball = Moving::new(Sphere { center: [0.0, 0.0], radius: 0.5 }, roll);
//! let floor = HalfSpace::new([0.0, 0.0], [0.0, 1.0]);
//! let mut solid = Union(vec![Box::new(ball), Box::new(floor)]);
//!
//! solid.prepare(3.0);
//! assert_eq!(solid.distance([3.0, 1.5], 3.0), 1.0);
//! assert_eq!(solid.velocity([3.0, 1.5], 3.0), [1.0, 0.0]);
//! ```

pub mod baked;
pub mod combinations;
pub mod mesh;
pub mod motion;
pub mod path;
pub mod polygon;
pub mod primitives;
pub(crate) mod vector;

pub use baked::{BakeError, Baked};
pub use combinations::{Difference, Intersection, Inverse, Offset, Shell, Union};
pub use mesh::{MeshError, MeshOptions, MeshReport, MeshSequence, MeshShape, SequenceError, TriangleMesh};
pub use motion::{Beyond, Interpolation, Key, Motion, Moving, Track, TrackError};
pub use path::{Dragged, Path};
pub use polygon::{PolygonError, PolygonShape};
pub use primitives::{Capsule, Cuboid, Cylinder, HalfSpace, Sphere};

/// Something with an inside, which may move.
pub trait Shape<const D: usize>: Send + Sync {
    /// Signed distance to the surface at time `t`, in metres: negative inside. Exact near the surface; further away its
    /// size may be less than the true distance, never more.
    fn distance(&self, x: [f64; D], t: f64) -> f64;

    /// Velocity of the material at (or nearest to) a point, in metres per second.
    fn velocity(&self, x: [f64; D], t: f64) -> [f64; D];

    /// Where a point that goes along with the shape comes to: it is at `x` at the time `from`. Asks only about the time `to`, as if the shape had moved
    /// as it then does.
    fn carried(&self, x: [f64; D], from: f64, to: f64) -> [f64; D] {
        if !self.moves() || from == to {
            return x;
        }
        // The classical rule of fourth order, in parts: a whole turn may be a few of them.
        const PARTS: usize = 2;
        let dt = (to - from) / PARTS as f64;
        (0..PARTS).fold(x, |x, _| {
            let v = |x| self.velocity(x, to);
            let ahead = |v: [f64; D], by: f64| std::array::from_fn(|a| x[a] + by * v[a]);
            let first = v(x);
            let second = v(ahead(first, 0.5 * dt));
            let third = v(ahead(second, 0.5 * dt));
            let fourth = v(ahead(third, dt));
            ahead(std::array::from_fn(|a| first[a] + 2.0 * (second[a] + third[a]) + fourth[a]), dt / 6.0)
        })
    }

    /// A box that holds the shape at time `t`: lower and upper corner. `None` if it reaches infinitely far.
    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])>;

    /// Whether the shape or its velocity ever changes: what is computed from a shape at rest can be kept.
    fn moves(&self) -> bool;

    /// Whether the shape or its velocity at the time `to` differs from what it was at `from`.
    fn changes(&self, _from: f64, _to: f64) -> bool {
        self.moves()
    }

    /// How far, along one axis, a motion of the shape as a whole takes its points from one time to another, in metres. What deforms by
    /// itself need not say so.
    fn way(&self, _from: f64, _to: f64) -> f64 {
        0.0
    }

    /// If the shape is all that lies behind a plane at rest: a point of the plane and its normal, of length 1, away from the
    /// shape.
    fn plane(&self) -> Option<([f64; D], [f64; D])> {
        None
    }

    /// Makes questions about time `t` cheap. It changes no answer: every time can be asked about, but those that were
    /// not prepared last may take much longer.
    fn prepare(&mut self, _t: f64) {}
}

impl<const D: usize, S: Shape<D> + ?Sized> Shape<D> for Box<S> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        (**self).distance(x, t)
    }

    fn velocity(&self, x: [f64; D], t: f64) -> [f64; D] {
        (**self).velocity(x, t)
    }

    fn carried(&self, x: [f64; D], from: f64, to: f64) -> [f64; D] {
        (**self).carried(x, from, to)
    }

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        (**self).bounds(t)
    }

    fn moves(&self) -> bool {
        (**self).moves()
    }

    fn changes(&self, from: f64, to: f64) -> bool {
        (**self).changes(from, to)
    }

    fn way(&self, from: f64, to: f64) -> f64 {
        (**self).way(from, to)
    }

    fn plane(&self) -> Option<([f64; D], [f64; D])> {
        (**self).plane()
    }

    fn prepare(&mut self, t: f64) {
        (**self).prepare(t);
    }
}

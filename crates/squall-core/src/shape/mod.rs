//! Shapes: obstacles, sources, initial smoke and targets are one concept.
//!
//! | module | what it holds |
//! |---|---|
//! | [`primitives`] | sphere, box, capsule, cylinder, half-space |
//! | [`combinations`] | union, intersection, difference, inverse, offset, shell |
//! | [`motion`] | a shape on keyframes, drifting or turning |
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
pub mod polygon;
pub mod primitives;
pub(crate) mod vector;

pub use baked::{BakeError, Baked};
pub use combinations::{Difference, Intersection, Inverse, Offset, Shell, Union};
pub use mesh::{MeshError, MeshOptions, MeshReport, MeshSequence, MeshShape, SequenceError, TriangleMesh};
pub use motion::{Beyond, Interpolation, Key, Motion, Moving, Track, TrackError};
pub use polygon::{PolygonError, PolygonShape};
pub use primitives::{Capsule, Cuboid, Cylinder, HalfSpace, Sphere};

/// Something with an inside, which may move.
pub trait Shape<const D: usize>: Send + Sync {
    /// Signed distance to the surface at time `t`, in metres: negative inside. Exact near the surface; further away its
    /// size may be less than the true distance, never more.
    fn distance(&self, x: [f64; D], t: f64) -> f64;

    /// Velocity of the material at (or nearest to) a point, in metres per second.
    fn velocity(&self, x: [f64; D], t: f64) -> [f64; D];

    /// A box that holds the shape at time `t`: lower and upper corner. `None` if it reaches infinitely far.
    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])>;

    /// Whether the shape or its velocity ever changes: what is computed from a shape at rest can be kept.
    fn moves(&self) -> bool;

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

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        (**self).bounds(t)
    }

    fn moves(&self) -> bool {
        (**self).moves()
    }

    fn plane(&self) -> Option<([f64; D], [f64; D])> {
        (**self).plane()
    }

    fn prepare(&mut self, t: f64) {
        (**self).prepare(t);
    }
}

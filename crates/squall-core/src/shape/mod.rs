//! Shapes: obstacles, sources, initial smoke and targets are one concept.

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
}

//! Semi-Lagrangian advection.
//!
//! | scheme | order | samples per field | bounds | ns per cell, 2D / 3D | energy kept |
//! |---|---|---|---|---|---|
//! | [`Advection::SemiLagrangian`] | 1 | 1 linear | never exceeds old values | 17 / 45 | 0.70 |
//! | [`Advection::MonotoneCubic`] | 2 | 1 cubic | never exceeds old values | 237 / 958 | 0.99 |
//! | [`Advection::MacCormack`] | 2 | 3 linear + limiter | never exceeds the values around the departure point | 48 / 116 | 0.99 |
//!
//! Cost: five fields along a lively flow of two cells per step, 512² and 128³, one thread (`cargo bench --bench
//! transport`), measured before MacCormack took its error out at the departure point. Energy: Taylor–Green vortex, 64², two turns, CFL 1, lagged pressure (`docs/quality.md`).
//!
//! All fields at one location share one map of departure points. None of the schemes has a limit on the time step. Transport
//! that loses no mass, at up to one cell per step, is in [`hyperbolic`].
//! What loses most of a flow's energy is not the interpolation but the splitting of the step, see
//! [`Splitting`](crate::model::stable_fluids::Splitting).

mod account;
mod correct;
mod cubic;
mod exchange;
mod extent;
pub mod hyperbolic;
mod mapped;
mod pool;

pub use account::{settle, through_sides};
pub use mapped::{MapScratch, advect_mapped, carry};

use crate::field::VectorField;
use crate::grid::Grid;
use crate::sample::Isa;
use crate::trace::Tracer;

/// How values are taken from departure points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advection {
    /// Linear interpolation (Stam 1999): robust and smooth, blurs details.
    SemiLagrangian,
    /// Cubic interpolation that makes no new extrema (Fedkiw, Stam & Jensen 2001).
    MonotoneCubic,
    /// Linear interpolation there and back to measure its error, corrected and limited (Dupont & Liu 2003, Selle et al. 2008).
    MacCormack,
}

/// How and by what fields are moved.
#[derive(Clone, Copy)]
pub struct Flow<'a, const D: usize> {
    /// The grid that all fields live on.
    pub grid: &'a Grid<D>,
    /// The velocity that moves them, centred or staggered, with its ghosts.
    pub velocity: &'a VectorField<D>,
    /// The rule that traces paths.
    pub tracer: Tracer,
    /// The instruction set to use.
    pub isa: Isa,
}

//! What happened in a step. Reports are returned, never swallowed.

use crate::ledger::Ledger;

/// What one step did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Seconds advanced.
    pub dt: f64,
    /// Largest velocity component, in metres per second.
    pub max_speed: f64,
    /// Largest distance, in cells, that fluid moved along one axis.
    pub cfl: f64,
    /// Largest `|div u|` of the advecting field, in 1/s.
    pub max_divergence: f64,
    /// The same, made dimensionless: `max |div u| h / max |u|`.
    pub relative_divergence: f64,
    /// Kinetic energy per unit mass, integrated over the box.
    pub energy: f64,
    /// How the step was split: what was used, where the step was too long for what was asked for.
    pub splitting: &'static str,
    /// Where the amount of each substance went.
    pub ledger: Ledger,
    /// The integral of each substance over the box, in the order in which they were given.
    pub mass: smallvec::SmallVec<[f64; 8]>,
    /// How many cells there are.
    pub cells: u64,
    /// What the pressure solver did.
    pub pressure: SolveReport,
    /// Wall-clock seconds spent in each part of the step.
    pub timings: Timings,
}

/// What a linear solver did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolveReport {
    /// Iterations; 1 for a direct solve, 2 if it needed a round of refinement.
    pub iterations: u32,
    /// What remains of the right side, relative to the right side.
    pub residual: f64,
    /// The part of the right side that no solution can match, relative to the right side: its mean over rooms that
    /// nothing can leave. It was dropped; if it is large, something presses fluid into a closed room or out of it.
    pub imbalance: f64,
    /// Whether the solver reached its tolerance.
    pub converged: bool,
}

/// Wall-clock seconds spent in each part of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timings {
    /// Finding out where the grid has to be, where it follows the fluid; moving solids.
    pub follow: f64,
    /// Tracing and sampling.
    pub advect: f64,
    /// Forces and sources.
    pub force: f64,
    /// Viscosity and diffusion.
    pub diffuse: f64,
    /// Divergence, Poisson solve, gradient.
    pub project: f64,
    /// Sums and maxima for the report.
    pub measure: f64,
}

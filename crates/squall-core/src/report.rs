//! Reports of steps and solves.

use crate::clock::Stopwatch;
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
    /// More than this, of the relative one, is a fault of the solver; infinite where nothing is promised.
    pub divergence_promised: f64,
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
    /// What the solvers for viscosity and diffusion did, all together.
    pub viscous: SolveReport,
    /// Wall-clock seconds spent in each part of the step.
    pub timings: Timings,
}

impl StepReport {
    /// The report of this step and the next one, as if they were one.
    pub fn followed_by(self, next: StepReport) -> StepReport {
        let timings = self.timings.plus(&next.timings);
        StepReport {
            dt: self.dt + next.dt,
            cfl: self.cfl + next.cfl,
            max_divergence: self.max_divergence.max(next.max_divergence),
            relative_divergence: self.relative_divergence.max(next.relative_divergence),
            ledger: self.ledger.followed_by(&next.ledger),
            pressure: self.pressure.and(&next.pressure),
            viscous: self.viscous.and(&next.viscous),
            timings,
            ..next
        }
    }
}

/// What a linear solver did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolveReport {
    /// Iterations; 1 for a direct solve, 2 if it needed a round of refinement.
    pub iterations: u32,
    /// The 2-norm of the true residual over that of the right side, both over the unknowns and without what was dropped.
    pub residual: f64,
    /// The part of the right side that no solution can match, relative to the right side: its mean over rooms that
    /// nothing can leave. It was dropped; if it is large, something presses fluid into a closed room or out of it.
    pub imbalance: f64,
    /// Whether the solver reached its tolerance.
    pub converged: bool,
}

impl SolveReport {
    /// Of nothing that was to be solved.
    pub const NONE: Self = SolveReport { iterations: 0, residual: 0.0, imbalance: 0.0, converged: true };

    /// Of a direct solve: the sums of squares of a right side of so many cells and of what is left of it, both with the mean that
    /// was dropped.
    pub fn of_direct(before: f64, left: f64, mean: f64, cells: usize) -> Self {
        let relative = |part: f64, all: f64| if part <= 0.0 { 0.0 } else { (part / all).sqrt() };
        let dropped = mean * mean * cells as f64;
        let (size, rest) = (before - dropped, left - dropped);
        // A right side that is nothing but a mean leaves nothing but rounding.
        let residual = if size > 1e-12 * dropped || !size.is_finite() { relative(rest, size) } else { 0.0 };
        let imbalance = relative(dropped, before);
        SolveReport { iterations: 1, residual, imbalance, converged: residual.is_finite() }
    }

    /// Of two solves as if they were one: the worse of both.
    pub fn and(&self, other: &Self) -> Self {
        SolveReport {
            iterations: self.iterations + other.iterations,
            residual: self.residual.max(other.residual),
            imbalance: self.imbalance.max(other.imbalance),
            converged: self.converged && other.converged,
        }
    }
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

/// A part of a step, for its timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Finding out where the grid has to be; moving solids.
    Follow,
    /// Tracing and sampling.
    Advect,
    /// Forces and sources.
    Force,
    /// Viscosity and diffusion.
    Diffuse,
    /// Divergence, Poisson solve, gradient.
    Project,
    /// Sums and maxima for the report.
    Measure,
}

impl Timings {
    fn plus(&self, other: &Timings) -> Timings {
        Timings {
            follow: self.follow + other.follow,
            advect: self.advect + other.advect,
            force: self.force + other.force,
            diffuse: self.diffuse + other.diffuse,
            project: self.project + other.project,
            measure: self.measure + other.measure,
        }
    }

    /// A stopwatch for [`Timings::stop`].
    pub fn start(&self) -> Stopwatch {
        Stopwatch::start()
    }

    /// Adds what the stopwatch shows to a stage.
    pub fn stop(&mut self, stage: Stage, stopwatch: Stopwatch) {
        let seconds = match stage {
            Stage::Follow => &mut self.follow,
            Stage::Advect => &mut self.advect,
            Stage::Force => &mut self.force,
            Stage::Diffuse => &mut self.diffuse,
            Stage::Project => &mut self.project,
            Stage::Measure => &mut self.measure,
        };
        *seconds += stopwatch.seconds();
    }
}

//! Recorded flows: recording, changing, replaying, and advecting along them.
//!
//! A recorded flow is a [`Snapshot`]: snapshots can be mixed, compared and saved. A mixture of flows without divergence has none
//! either.

use crate::report::StepReport;
use crate::sim::{Simulation, StepError};
use crate::snapshot::Snapshot;

/// A simulation whose flow can be recorded, and whose contents can be moved along a recorded flow.
///
/// ```
/// use squall_core::model::stable_fluids::{Options, StableFluids};
/// use squall_core::{Grid, Replay};
///
/// let mut sim = StableFluids::new(Grid::<2>::periodic([16, 16]), Options::default())?;
/// let grid = sim.flow.grid;
/// sim.set_velocity_component(0, |u| u.set_from(&grid, |p| (6.28 * p[1]).sin()));
/// sim.step(0.02)?;
///
/// let before = sim.record_flow();
/// sim.step(0.02)?;
/// // The mean of both, in place of the flow that is there.
/// let mut mean = sim.record_flow();
/// mean.mix(0.5, &before, 0.5);
/// sim.replay(&mean, &[(0.04, 1.0)], 0.02)?;
/// assert!(sim.record_flow() == mean);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Replay: Simulation {
    /// The flow as it is.
    fn record_flow(&mut self) -> Snapshot;

    /// Replaces the flow.
    fn set_flow(&mut self, flow: &Snapshot);

    /// What the flow carries, as it is.
    fn contents(&self) -> Snapshot;

    /// Replaces what the flow carries, wherever it is.
    fn set_contents(&mut self, contents: &Snapshot);

    /// Moves everything but the flow itself along a flow for `dt` seconds; sources are what they are at some times, each
    /// with its weight, which add up to 1. The clock goes on by `dt`.
    fn replay(&mut self, flow: &Snapshot, sources: &[(f64, f64)], dt: f64) -> Result<StepReport, StepError>;
}

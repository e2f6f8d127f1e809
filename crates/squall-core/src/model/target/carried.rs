//! Smoke that is carried by a flow from outside, without looking at its targets.

use super::TargetSmoke;
use crate::force::blend_contents;
use crate::looped::Carries;
use crate::ops;
use crate::project::Projected;
use crate::report::{SolveReport, StepReport, Timings};
use crate::sim::StepError;
use crate::snapshot::Snapshot;

impl<const D: usize> Carries for TargetSmoke<D> {
    fn flow(&mut self) -> Snapshot {
        self.velocity.iter_mut().for_each(|u| u.fill_halo());
        Snapshot::of(self.potential.layout(), self.velocity.iter().map(|u| (u, 0.0)))
    }

    fn set_flow(&mut self, flow: &Snapshot) {
        self.velocity.iter_mut().enumerate().for_each(|(c, u)| flow.restore(c, u, 0.0));
        self.max_speed = self.velocity.iter().map(|u| ops::max_abs(u) as f64).fold(0.0, f64::max);
    }

    fn contents(&self) -> Snapshot {
        Snapshot::of(self.potential.layout(), self.substances.iter().map(|s| (&s.field, s.ambient)))
    }

    fn set_contents(&mut self, contents: &Snapshot) {
        for (i, s) in self.substances.iter_mut().enumerate() {
            contents.restore(i, &mut s.field, s.ambient);
        }
    }

    fn carry(&mut self, flow: &Snapshot, sources: &[(f64, f64)], dt: f64) -> Result<StepReport, StepError> {
        self.timings = Timings::default();
        self.set_flow(flow);
        self.carry_smoke(self.clock.time, dt)?;
        self.carry_texture(dt);
        blend_contents(self, sources, |sim, time| sim.emit(time, dt), |sim| &mut sim.substances);
        self.clock.tick(dt);
        let solve = SolveReport { converged: true, ..SolveReport::default() };
        self.report(dt, Projected { max_speed: self.max_speed, solve, ..Projected::default() })
    }
}

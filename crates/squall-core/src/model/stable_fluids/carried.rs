//! Substances that are carried by a flow from outside.

use super::StableFluids;
use super::parts::{Carried, Through};
use crate::field::Field;
use crate::force::blend_contents;
use crate::grid::At;
use crate::looped::Carries;
use crate::project::Projected;
use crate::report::{SolveReport, StepReport, Timings};
use crate::sim::StepError;
use crate::snapshot::Snapshot;

impl<const D: usize> Carries for StableFluids<D> {
    fn flow(&mut self) -> Snapshot {
        self.carrier.iter_mut().for_each(|u| u.fill_halo());
        Snapshot::of(self.pressure.layout(), self.carrier.iter().map(|u| (u, 0.0)))
    }

    fn set_flow(&mut self, flow: &Snapshot) {
        for (c, (u, carrier)) in self.velocity.iter_mut().zip(&mut self.carrier).enumerate() {
            flow.restore(c, carrier, 0.0);
            set_centers(u, carrier, c);
        }
    }

    fn contents(&self) -> Snapshot {
        Snapshot::of(self.pressure.layout(), self.substances.iter().map(|s| (&s.field, 0.0)))
    }

    fn set_contents(&mut self, contents: &Snapshot) {
        for (i, s) in self.substances.iter_mut().enumerate() {
            contents.restore(i, &mut s.field, 0.0);
        }
    }

    fn carry(&mut self, flow: &Snapshot, sources: &[(f64, f64)], dt: f64) -> Result<StepReport, StepError> {
        if self.scratch.is_none() {
            self.start().expect("memory for the working fields");
        }
        self.timings = Timings::default();
        self.set_flow(flow);
        let cfl = self.speed() * dt;
        self.transport(Carried::Substances, Through::Now, dt);
        self.carry_texture(dt);
        blend_contents(self, sources, |sim, time| sim.emit(time, dt), |sim| &mut sim.substances);
        self.diffuse_substances(dt);
        self.clock.tick(dt);
        let solve = SolveReport { converged: true, ..SolveReport::default() };
        let max_speed = self.speed() * self.grid.min_spacing();
        self.report(dt, cfl, Projected { max_speed, solve, ..Projected::default() })
    }
}

/// The mean of the faces on both sides, if the carrier lives on faces.
fn set_centers<const D: usize>(u: &mut Field<D>, carrier: &Field<D>, c: usize) {
    let staggered = carrier.at() != At::Center;
    u.par_rows(|row, u| {
        let (low, high) = (carrier.row(row), carrier.row(if staggered { row.up(c) } else { row }));
        u.iter_mut().zip(low.iter().zip(high)).for_each(|(u, (low, high))| *u = 0.5 * (low + high));
    });
}

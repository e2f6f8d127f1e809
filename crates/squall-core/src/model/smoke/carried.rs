//! Smoke that is carried by a flow from outside.

use super::Smoke;
use super::parts::Carried;
use crate::force::blend_contents;
use crate::looped::Carries;
use crate::ops;
use crate::project::Projected;
use crate::report::{SolveReport, StepReport, Timings};
use crate::sim::StepError;
use crate::snapshot::Snapshot;

impl<const D: usize> Carries for Smoke<D> {
    fn flow(&mut self) -> Snapshot {
        self.velocity.iter_mut().for_each(|u| u.fill_halo());
        Snapshot::of(&self.layout, self.velocity.iter().zip(self.away()))
    }

    fn set_flow(&mut self, flow: &Snapshot) {
        for (c, away) in self.away().into_iter().enumerate() {
            flow.restore(c, &mut self.velocity[c], away);
        }
        self.max_speed = self.velocity.iter().map(|u| ops::max_abs(u) as f64).fold(0.0, f64::max);
        self.acceleration = 0.0;
    }

    fn contents(&self) -> Snapshot {
        Snapshot::of(&self.layout, self.substances.iter().map(|s| (&s.field, s.ambient)))
    }

    fn set_contents(&mut self, contents: &Snapshot) {
        if let (Some(coords), Some(tiles)) = (contents.tiles::<D>(), self.layout.as_tiles())
            && coords != tiles.coords()
        {
            self.move_to(coords, Vec::new()).expect("memory for the tiles");
        }
        for (i, s) in self.substances.iter_mut().enumerate() {
            contents.restore(i, &mut s.field, s.ambient);
        }
    }

    fn carry(&mut self, flow: &Snapshot, sources: &[(f64, f64)], dt: f64) -> Result<StepReport, StepError> {
        self.timings = Timings::default();
        let t = self.clock.time;
        self.set_flow(flow);
        let cfl = self.speed() * dt;
        self.follow_the_smoke(cfl, dt);
        if self.layout.as_tiles().is_some() {
            // Tiles that are new know nothing of it yet.
            self.set_flow(flow);
        }
        self.trace_now(dt);
        self.transport(Carried::Substances);
        self.move_obstacles(t, dt);
        self.diffuse_substances(dt);
        self.carry_texture(dt);
        blend_contents(self, sources, |sim, time| sim.emit(time, dt), |sim| &mut sim.substances);
        self.clock.tick(dt);
        let solve = SolveReport { converged: true, ..SolveReport::default() };
        let max_speed = self.max_speed;
        self.report(dt, cfl, Projected { max_speed, solve, ..Projected::default() })
    }
}

impl<const D: usize> Smoke<D> {
    /// The flow far away.
    fn away(&self) -> [crate::Real; D] {
        if self.layout.as_tiles().is_some() { self.options.wind } else { [0.0; D] }
    }
}

//! The parts of a step that only target smoke has.

use super::{Projections, TargetSmoke};
use crate::Real;
use crate::advect::hyperbolic::{Carrier, TooFast};
use crate::field::Field;
use crate::flow::too_fast;
use crate::force::Substance;
use crate::grid::At;
use crate::ops::{each, max_abs};
use crate::report::Stage;
use crate::sim::StepError;
use crate::solid::Solids;

/// A flow of more cells per step than this is a mistake, not a flow.
const MOST_PARTS: f64 = 64.0;

impl<const D: usize> TargetSmoke<D> {
    /// `u += dt v_f rt (g + l_f grad phi)` for every smoke with a target, and what other forces add. Keeps the flow as it was before,
    /// which is what carries momentum.
    pub(super) fn drive(&mut self, time: f64, dt: f64) {
        let timer = self.flow.timings.start();
        self.keep_carrier();
        let flat = self.closed();
        let Self { flow, guided, smooth, blur, .. } = self;
        for guided in guided {
            let v_f = guided.drive_at(time);
            let aim = &mut guided.aim;
            if v_f == 0.0 && guided.gathering.at(time).0[0] == 0.0 {
                continue;
            }
            let smoke = &flow.substances[guided.substance].field;
            smooth.copy_all(smoke);
            smooth.relabel(At::Center, flat);
            blur.apply(smooth, aim.sigma);
            smooth.fill_halo();
            aim.thickest = max_abs(smooth) as f64;
            aim.level(guided.levelling, &flow.grid, smoke, smooth, blur);
            // On a face: half of both sides together.
            let half = (0.5 * dt * v_f) as Real;
            for a in 0..D {
                let (smooth, pull, phi) = (&*smooth, &aim.pull[a], &aim.potential);
                let level = (aim.level_force / flow.grid.spacing[a]) as Real;
                flow.velocity[a].par_rows(|row, u| {
                    let (low, high, pull) = (smooth.row(row.down(a)), smooth.row(row), pull.row(row));
                    let (phi_low, phi_high) = (phi.row(row.down(a)), phi.row(row));
                    for x in 0..u.len() {
                        u[x] += half * (low[x] + high[x]) * (pull[x] + level * (phi_high[x] - phi_low[x]));
                    }
                });
            }
        }
        flow.timings.stop(Stage::Force, timer);
        flow.push(time, dt);
    }

    /// `u /= 1 + dt v_d`: damping, implicit.
    pub(super) fn attenuate(&mut self, time: f64, dt: f64) {
        let timer = self.flow.timings.start();
        let keep = (1.0 / (1.0 + dt * self.damping.at(time).0[0].max(0.0))) as Real;
        for u in &mut self.flow.velocity {
            u.par_rows(|_, u| u.iter_mut().for_each(|u| *u *= keep));
        }
        self.flow.timings.stop(Stage::Force, timer);
    }

    /// With two projections, momentum is carried by the flow with its new forces.
    pub(super) fn project_before_advection(&mut self) {
        if self.options.projections == Projections::Twice {
            self.flow.project(None);
            self.keep_carrier();
        }
    }

    /// What carries things is the flow through the faces as it is now: `A u + (1 - A) u_s` where solids close a part of them.
    fn keep_carrier(&mut self) {
        for a in 0..D {
            self.flow.velocity[a].fill_halo();
            self.carrier[a].copy_all(&self.flow.velocity[a]);
            if let Some(solids) = self.flow.solids() {
                close(solids, a, &mut self.carrier[a]);
            }
        }
    }

    /// `du/dt = -div(u v)` for every component, with the control volumes around its faces.
    pub(super) fn advect_momentum(&mut self, dt: f64) -> Result<(), StepError> {
        let timer = self.flow.timings.start();
        let parts = self.parts_of(dt)?;
        let Self { flow, options, carrier, sweeps, .. } = self;
        let first = flow.clock.steps as usize % D;
        let along = Carrier::new(&flow.grid, carrier, dt / parts as f64, options.limiter, flow.options.isa);
        let along = along.map_err(|TooFast { cells }| too_fast(carrier, &flow.clock, cells, MOST_PARTS))?;
        for (c, u) in flow.velocity.iter_mut().enumerate() {
            // What enters through an open side was at rest; but along its own axis a component goes on as it is.
            let (usual, transported) = (flow.grid.velocity_ends(c), flow.grid.transported_velocity_ends(c));
            u.relabel(At::Face(c), each(|a| if a == c { usual[a] } else { transported[a] }));
            (0..parts).for_each(|n| along.transport(first + n, u, sweeps));
            u.relabel(At::Face(c), usual);
        }
        flow.timings.stop(Stage::Advect, timer);
        Ok(())
    }

    /// `drho/dt = -div(rho u)` for all substances; then solids move on.
    pub(super) fn advect_smoke(&mut self, time: f64, dt: f64) -> Result<(), StepError> {
        let timer = self.flow.timings.start();
        self.keep_carrier();
        let parts = self.parts_of(dt)?;
        let Self { flow, options, carrier, sweeps, .. } = self;
        flow.account_for_fluxes();
        let first = flow.clock.steps as usize % D;
        let along = Carrier::new(&flow.grid, carrier, dt / parts as f64, options.limiter, flow.options.isa);
        let along = along.map_err(|TooFast { cells }| too_fast(carrier, &flow.clock, cells, MOST_PARTS))?;
        for Substance { field, .. } in &mut flow.substances {
            (0..parts).for_each(|n| along.transport(first + n, field, sweeps));
        }
        flow.fluxes_done();
        flow.timings.stop(Stage::Advect, timer);
        flow.move_obstacles(time + dt);
        flow.balance();
        Ok(())
    }

    /// In how many parts things have to be carried, so that none is longer than a cell.
    fn parts_of(&self, dt: f64) -> Result<usize, StepError> {
        let Self { flow, options, carrier, .. } = self;
        let Err(TooFast { cells }) = Carrier::new(&flow.grid, carrier, dt, options.limiter, flow.options.isa) else {
            return Ok(1);
        };
        if cells <= MOST_PARTS {
            // A little less than a cell each, so that rounding does not make it more.
            return Ok((cells * 1.0001).ceil() as usize);
        }
        Err(too_fast(carrier, &flow.clock, cells, MOST_PARTS))
    }
}

/// The flow through faces across axis `a`, of which solids close a part: `A u + (1 - A) u_s`, which is free of divergence.
fn close<const D: usize>(solids: &Solids<D>, a: usize, u: &mut Field<D>) {
    let (open, solid) = (&solids.open()[a], &solids.velocity()[a]);
    let flow = |u: Real, open: Real, solid: Real| u + (1.0 - open) * (solid - u);
    u.par_rows(|row, u| {
        if solids.is_near(row) {
            let (open, solid) = (open.row(row), solid.row(row));
            for x in 0..u.len() {
                u[x] = flow(u[x], open[x], solid[x]);
            }
        }
    });
    u.fill_halo();
}

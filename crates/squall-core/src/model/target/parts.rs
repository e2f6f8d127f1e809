//! The parts of which a step is made. Each takes its own time.

use std::time::Instant;

use smallvec::SmallVec;

use super::{Projections, TargetSmoke};
use crate::Real;
use crate::advect::Flow;
use crate::advect::hyperbolic::{Carrier, TooFast};
use crate::clock::Clock;
use crate::diffuse::DiffusionScheme;
use crate::field::VectorField;
use crate::force::{Moment, Substance};
use crate::grid::At;
use crate::model::smoke::parts::{add_change, center};
use crate::ops::{each, max_abs};
use crate::project::Projected;
use crate::sim::StepError;
use crate::trace::Tracer;

/// A flow of more cells per step than this is a mistake, not a flow.
const MOST_PARTS: f64 = 64.0;

impl<const D: usize> TargetSmoke<D> {
    /// `u += dt v_f rt g` for every smoke with a target, and what other forces add. Keeps the flow as it was before, which is
    /// what carries momentum.
    pub(super) fn drive(&mut self, time: f64, dt: f64) {
        let start = Instant::now();
        self.keep_carrier();
        let flat = self.closed();
        let Self { velocity, substances, guided, smooth, blur, .. } = self;
        for guided in guided {
            let v_f = guided.drive_at(time);
            let aim = &mut guided.aim;
            if v_f == 0.0 {
                continue;
            }
            smooth.copy_all(&substances[guided.substance].field);
            smooth.relabel(At::Center, flat);
            blur.apply(smooth, aim.sigma);
            smooth.fill_halo();
            aim.thickest = max_abs(smooth) as f64;
            // On a face: half of both sides together.
            let half = (0.5 * dt * v_f) as Real;
            for a in 0..D {
                let (smooth, pull) = (&*smooth, &aim.pull[a]);
                velocity[a].par_rows(|row, u| {
                    let (low, high, pull) = (smooth.row(row.down(a)), smooth.row(row), pull.row(row));
                    for x in 0..u.len() {
                        u[x] += half * (low[x] + high[x]) * pull[x];
                    }
                });
            }
        }
        self.push(time, dt);
        self.timings.force += start.elapsed().as_secs_f64();
    }

    /// `u += dt f` for all other forces.
    fn push(&mut self, time: f64, dt: f64) {
        let Self { grid, velocity, substances, forces, carrier, .. } = self;
        let now = Moment { time, dt };
        let mut others: SmallVec<[usize; 8]> = SmallVec::new();
        for (i, force) in forces.iter_mut().enumerate() {
            if !force.apply_to_faces(grid, now, velocity, substances) {
                others.push(i);
            }
        }
        if !others.is_empty() {
            // The carrier is not needed while it is computed anew below.
            center(velocity, carrier);
            for &i in &others {
                forces[i].apply(grid, now, carrier, substances);
            }
            add_change(velocity, carrier);
        }
        self.velocity.iter_mut().for_each(|u| u.set_end_faces());
    }

    /// `u /= 1 + dt v_d`: damping, implicit.
    pub(super) fn attenuate(&mut self, time: f64, dt: f64) {
        let start = Instant::now();
        let keep = (1.0 / (1.0 + dt * self.damping.at(time).0[0].max(0.0))) as Real;
        for u in &mut self.velocity {
            u.par_rows(|_, u| u.iter_mut().for_each(|u| *u *= keep));
        }
        self.timings.force += start.elapsed().as_secs_f64();
    }

    /// With two projections, momentum is carried by the flow with its new forces.
    pub(super) fn project_before_transport(&mut self) {
        if self.options.projections == Projections::Twice {
            self.make_incompressible();
            self.keep_carrier();
        }
    }

    /// What carries things is the flow through the faces as it is now: `A u + (1 - A) u_s` where solids close a part of them.
    fn keep_carrier(&mut self) {
        for a in 0..D {
            self.velocity[a].fill_halo();
            self.carrier[a].copy_all(&self.velocity[a]);
            if let Some(o) = &self.obstacles {
                o.close(a, &mut self.carrier[a]);
            }
        }
    }

    /// `du/dt = -div(u v)` for every component, with the control volumes around its faces.
    pub(super) fn carry_momentum(&mut self, dt: f64) -> Result<(), StepError> {
        let start = Instant::now();
        let parts = self.parts_of(dt)?;
        let Self { grid, options, velocity, carrier, sweeps, clock, .. } = self;
        let first = clock.steps as usize % D;
        let part = dt / parts as f64;
        if let Ok(flow) = Carrier::new(grid, carrier, part, options.limiter, options.isa) {
            for (c, u) in velocity.iter_mut().enumerate() {
                // What enters through an open side was at rest; but along its own axis a component goes on as it is.
                let (usual, transported) = (grid.velocity_ends(c), grid.transported_velocity_ends(c));
                u.relabel(At::Face(c), each(|a| if a == c { usual[a] } else { transported[a] }));
                (0..parts).for_each(|n| flow.transport(first + n, u, sweeps));
                u.relabel(At::Face(c), usual);
            }
        }
        self.timings.advect += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// `drho/dt = -div(rho u)` for all substances; then solids move on and push what is in their way.
    pub(super) fn carry_smoke(&mut self, time: f64, dt: f64) -> Result<(), StepError> {
        let start = Instant::now();
        self.keep_carrier();
        let parts = self.parts_of(dt)?;
        let Self { grid, options, substances, carrier, sweeps, clock, .. } = self;
        let first = clock.steps as usize % D;
        let part = dt / parts as f64;
        if let Ok(flow) = Carrier::new(grid, carrier, part, options.limiter, options.isa) {
            for Substance { field, .. } in substances {
                (0..parts).for_each(|n| flow.transport(first + n, field, sweeps));
            }
        }
        self.timings.advect += start.elapsed().as_secs_f64();
        self.move_obstacles(time, dt);
        Ok(())
    }

    /// Carries what is painted on the fluid with the present flow for `dt` seconds.
    pub(super) fn carry_texture(&mut self, dt: f64) {
        let Some(texture) = &mut self.texture else { return };
        let start = Instant::now();
        let speed = self.velocity.iter().map(|u| max_abs(u) as f64).fold(0.0, f64::max) / self.grid.min_spacing();
        self.velocity.iter_mut().for_each(|u| u.fill_halo());
        let tracer = Tracer::Auto.resolve(speed * dt);
        let flow = Flow { grid: &self.grid, velocity: &self.velocity, tracer, isa: self.options.isa };
        texture.carry(flow, self.clock.time, dt).expect("memory for the working fields");
        self.timings.advect += start.elapsed().as_secs_f64();
    }

    /// In how many parts things have to be carried, so that none is longer than a cell.
    fn parts_of(&self, dt: f64) -> Result<usize, StepError> {
        let Self { grid, options, carrier, clock, .. } = self;
        let Err(TooFast { cells }) = Carrier::new(grid, carrier, dt, options.limiter, options.isa) else {
            return Ok(1);
        };
        if cells <= MOST_PARTS {
            // A little less than a cell each, so that rounding does not make it more.
            return Ok((cells * 1.0001).ceil() as usize);
        }
        Err(too_fast(carrier, clock, cells))
    }

    pub(super) fn make_incompressible(&mut self) -> Projected {
        let start = Instant::now();
        let Self { grid, options, velocity, potential, smooth, pressure, obstacles, .. } = self;
        velocity.iter_mut().for_each(|u| u.set_end_faces());
        let solids = obstacles.as_mut().map(|o| &mut o.solids);
        let done = pressure.project(grid, velocity, potential, smooth, solids, options.tolerance);
        self.timings.project += start.elapsed().as_secs_f64();
        done
    }

    /// Substances enter, spread and vanish, and momentum comes in with them.
    pub(super) fn emit(&mut self, time: f64, dt: f64) {
        let start = Instant::now();
        let Self { grid, velocity, substances, sources, carrier, diffuser, .. } = self;
        let now = Moment { time, dt };
        let pushing = sources.iter().any(|s| s.pushes());
        if pushing {
            center(velocity, carrier);
        }
        for source in sources.iter_mut() {
            source.apply(grid, now, carrier, substances);
        }
        if pushing {
            add_change(velocity, carrier);
            velocity.iter_mut().for_each(|u| u.set_end_faces());
        }
        for s in substances.iter_mut() {
            if s.diffusion > 0.0 {
                let spread = diffuser.apply(&mut s.field, s.diffusion * dt, DiffusionScheme::Exact);
                spread.expect("memory for the ends of a substance");
            }
            if s.dissipation > 0.0 {
                let (keep, ambient) = ((1.0 / (1.0 + dt * s.dissipation)) as Real, s.ambient);
                s.field.par_rows(|_, a| a.iter_mut().for_each(|a| *a = ambient + keep * (*a - ambient)));
            }
            s.losses.iter().for_each(|loss| loss.apply(&mut s.field, s.ambient, dt));
        }
        self.timings.force += start.elapsed().as_secs_f64();
    }
}

/// An error that names the fastest place.
fn too_fast<const D: usize>(flow: &VectorField<D>, clock: &Clock, cells: f64) -> StepError {
    let mut found = (0, [0; D], 0, 0.0);
    for (a, u) in flow.iter().enumerate() {
        for row in (0..u.layout().rows()).map(|r| u.layout().row(r)) {
            for (x, v) in u.row(row).iter().enumerate() {
                // The bits of sizes are ordered like the sizes, with NaN on top.
                if v.abs().to_bits() > found.0 {
                    let mut cell = row.index;
                    cell[0] += x as isize;
                    found = (v.abs().to_bits(), cell, a, *v);
                }
            }
        }
    }
    StepError::TooFast {
        field: ["u", "v", "w"][found.2].to_string(),
        value: found.3,
        cell: found.1.to_vec(),
        time: clock.time,
        step: clock.steps,
        cells,
        limit: MOST_PARTS,
    }
}

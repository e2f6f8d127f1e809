//! The parts of which the steps are made. Each takes its own time.

use std::time::Instant;

use rayon::prelude::*;
use smallvec::SmallVec;

use super::{AdvectWith, StableFluids};
use crate::Real;
use crate::advect::{self, Flow};
use crate::diffuse::DiffusionScheme;
use crate::field::Field;
use crate::force::Moment;
use crate::grid::At;
use crate::ops;
use crate::project::{Projected, project, subtract_centered_gradient};

/// Values that a task handles where rows do not matter.
const BLOCK: usize = 1 << 14;

/// What a transport moves.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Carried {
    Velocity,
    Substances,
    Everything,
}

/// Which of the two carriers it follows.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Through {
    Now,
    Before,
}

impl<const D: usize> StableFluids<D> {
    /// `u += dt f`.
    pub(super) fn push(&mut self, time: f64, dt: f64) {
        let start = Instant::now();
        for f in &mut self.forces {
            f.apply(&self.grid, Moment { time, dt }, &mut self.velocity, &self.substances);
        }
        self.timings.force += start.elapsed().as_secs_f64();
    }

    /// Substances enter, and momentum with them.
    pub(super) fn emit(&mut self, time: f64, dt: f64) {
        let start = Instant::now();
        for s in &mut self.sources {
            s.apply(&self.grid, Moment { time, dt }, &mut self.velocity, &mut self.substances);
        }
        self.timings.force += start.elapsed().as_secs_f64();
    }

    /// Moves fields along a carrier; then takes the shortest waves out of the velocity.
    pub(super) fn transport(&mut self, what: Carried, through: Through, dt: f64) {
        let start = Instant::now();
        let speed = self.speed();
        let Self { grid, options, velocity, substances, carrier, carrier_before, scratch, .. } = self;
        let scratch = scratch.as_mut().expect("allocated at the start");
        let mut fields: SmallVec<[&mut Field<D>; 16]> = SmallVec::new();
        if what != Carried::Substances {
            velocity.iter_mut().enumerate().for_each(|(a, u)| u.relabel(At::Center, grid.transported_velocity_ends(a)));
            fields.extend(velocity.iter_mut());
        }
        if what != Carried::Velocity {
            fields.extend(substances.iter_mut().map(|s| &mut s.field));
        }
        let flow = Flow {
            grid,
            velocity: if through == Through::Now { carrier } else { carrier_before },
            tracer: options.tracer.resolve(speed * dt),
            isa: options.isa,
        };
        advect::advect(options.advection, flow, dt, &mut fields, scratch);
        drop(fields);
        velocity.iter_mut().enumerate().for_each(|(a, u)| u.relabel(At::Center, grid.velocity_ends(a)));
        if what != Carried::Substances && options.filter > 0.0 {
            for u in &mut *velocity {
                remove_shortest_waves(u, options.filter, scratch.lend().0);
            }
        }
        self.timings.advect += start.elapsed().as_secs_f64();
    }

    /// Carries what is painted on the fluid with the present flow for `dt` seconds.
    pub(super) fn carry_texture(&mut self, dt: f64) {
        let Some(texture) = &mut self.texture else { return };
        let start = Instant::now();
        let speed = self.carrier.iter().map(|u| ops::max_abs(u) as f64).fold(0.0, f64::max) / self.grid.min_spacing();
        self.carrier.iter_mut().for_each(|u| u.fill_halo());
        let tracer = self.options.tracer.resolve(speed * dt);
        let flow = Flow { grid: &self.grid, velocity: &self.carrier, tracer, isa: self.options.isa };
        texture.carry(flow, self.clock.time, dt).expect("memory for the working fields");
        self.timings.advect += start.elapsed().as_secs_f64();
    }

    /// `v = u + (dt/2) / dt_before (u - u_before)`: the carrier in the middle of the step, in place of the one before.
    pub(super) fn extrapolate_carrier(&mut self, dt: f64) {
        let start = Instant::now();
        let last = self.clock.last_dt;
        let ahead = if last > 0.0 { (0.5 * dt / last).min(1.0) as Real } else { 0.0 };
        for (before, now) in self.carrier_before.iter_mut().zip(&self.carrier) {
            before.relabel(now.at(), now.ends());
            // The last faces, too, lie behind the cells.
            before.data_mut().par_chunks_mut(BLOCK).zip(now.data.par_chunks(BLOCK)).for_each(|(before, now)| {
                for (b, n) in before.iter_mut().zip(now) {
                    *b = n + ahead * (n - *b);
                }
            });
            before.fill_halo();
        }
        self.timings.advect += start.elapsed().as_secs_f64();
    }

    pub(super) fn diffuse(&mut self, dt: f64) {
        self.diffuse_velocity(dt);
        self.diffuse_substances(dt);
    }

    pub(super) fn diffuse_velocity(&mut self, dt: f64) {
        let start = Instant::now();
        if self.viscosity > 0.0 {
            for u in &mut self.velocity {
                self.diffuser.apply(u, self.viscosity * dt, self.options.diffusion).expect("prepared at the start");
            }
        }
        self.timings.diffuse += start.elapsed().as_secs_f64();
    }

    pub(super) fn diffuse_substances(&mut self, dt: f64) {
        let start = Instant::now();
        for s in &mut self.substances {
            if s.diffusion > 0.0 {
                let k_dt = s.diffusion * dt;
                self.diffuser.apply(&mut s.field, k_dt, self.options.diffusion).expect("prepared at the start");
            }
            if s.dissipation > 0.0 {
                let keep = match self.options.diffusion {
                    DiffusionScheme::Implicit => 1.0 / (1.0 + dt * s.dissipation),
                    DiffusionScheme::Exact => libm::exp(-dt * s.dissipation),
                } as Real;
                s.field.par_rows(|_, a| a.iter_mut().for_each(|a| *a *= keep));
            }
        }
        self.timings.diffuse += start.elapsed().as_secs_f64();
    }

    /// Projects the velocity; the carrier becomes the new one, the old one is kept. Leaves the potential in the scratch.
    pub(super) fn make_incompressible(&mut self) -> Projected {
        let start = Instant::now();
        std::mem::swap(&mut self.carrier, &mut self.carrier_before);
        let scratch = self.scratch.as_mut().expect("allocated at the start");
        let (q, spare) = scratch.lend();
        let done = project(&self.grid, &mut self.velocity, &mut self.carrier, q, &mut *self.poisson, spare);
        self.refresh_cell_carrier();
        self.timings.project += start.elapsed().as_secs_f64();
        done
    }

    /// If the velocity at the centres is to carry things, the carrier becomes a copy of it.
    pub(super) fn refresh_cell_carrier(&mut self) {
        if self.options.advect_with == AdvectWith::Cell {
            for (c, u) in self.carrier.iter_mut().zip(&mut self.velocity) {
                u.fill_halo();
                c.copy_all(u);
            }
        }
    }

    /// `u -= dt grad p`.
    pub(super) fn apply_pressure(&mut self, dt: f64) {
        let start = Instant::now();
        self.pressure.fill_halo();
        for a in 0..D {
            subtract_centered_gradient(&mut self.velocity[a], &self.pressure, a, self.grid.spacing[a] / dt);
        }
        self.timings.project += start.elapsed().as_secs_f64();
    }

    /// `u -= grad q` once more: the mirror image of the field before the last projection.
    pub(super) fn subtract_potential(&mut self) {
        let q = &*self.scratch.as_mut().expect("allocated at the start").lend().0;
        for a in 0..D {
            subtract_centered_gradient(&mut self.velocity[a], q, a, self.grid.spacing[a]);
        }
    }

    /// `p += q / dt`.
    pub(super) fn accumulate_pressure(&mut self, dt: f64) {
        let q = &*self.scratch.as_mut().expect("allocated at the start").lend().0;
        let inv_dt = (1.0 / dt) as Real;
        self.pressure.par_rows(|row, p| p.iter_mut().zip(q.row(row)).for_each(|(p, q)| *p += inv_dt * q));
    }

    /// `p = q / dt`.
    pub(super) fn replace_pressure(&mut self, dt: f64) {
        self.pressure.par_rows(|_, p| p.fill(0.0));
        self.accumulate_pressure(dt);
    }

    /// The largest speed along one axis, in cells per second.
    pub(super) fn speed(&self) -> f64 {
        (0..D).map(|a| ops::max_abs(&self.carrier[a]) as f64 / self.grid.spacing[a]).fold(0.0, f64::max)
    }
}

/// `u -= (c / 16) sum over axes of (u[-2] - 4 u[-1] + 6 u[0] - 4 u[+1] + u[+2])`.
fn remove_shortest_waves<const D: usize>(u: &mut Field<D>, c: Real, scratch: &mut Field<D>) {
    let k = c / 16.0;
    u.fill_halo();
    let old = &*u;
    scratch.par_rows(|row, out| {
        let here = old.row(row);
        out.copy_from_slice(here);
        for a in 0..D {
            let [d2, d1, u1, u2] = [-2, -1, 1, 2].map(|by| old.row(row.shifted(a, by)));
            for x in 0..out.len() {
                out[x] -= k * ((d2[x] + u2[x]) - 4.0 * (d1[x] + u1[x]) + 6.0 * here[x]);
            }
        }
    });
    u.swap_values(scratch);
}

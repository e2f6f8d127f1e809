//! Advection of a flow: tracing paths, moving velocity and substances along them, correcting mass.

use smallvec::SmallVec;

use super::obstacles::Obstacles;
use super::{Flow, Options, velocity_ends, with_wind};
use crate::Real;
use crate::advect::{Flow as Carrier, MapScratch, carry};
use crate::field::{Field, VectorField};
use crate::force::Substance;
use crate::grid::{At, Grid};
use crate::ops::{each, max_abs_faces};
use crate::report::Stage;
use crate::sample::furthest;

/// What advection moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The velocity.
    Velocity,
    /// The substances.
    Substances,
    /// Both, along the same paths.
    Everything,
}

impl<const D: usize> Flow<D> {
    /// Traces paths through the velocity in the middle of the step, `u + (dt/2) / dt_before (u - u_before)`, and keeps the
    /// present one for the next step.
    pub fn trace_ahead(&mut self, dt: f64) {
        let timer = self.timings.start();
        let ahead = if self.before_by > 0.0 { (0.5 * dt / self.before_by).min(1.0) as Real } else { 0.0 };
        let tracer = self.options.tracer.resolve(self.speed() * dt);
        let Self { grid, options, velocity, before, scratch, .. } = self;
        for ((v, now), before) in scratch.lend().iter_mut().zip(&mut *velocity).zip(before) {
            now.fill_halo();
            v.relabel(now.at(), now.ends());
            v.set_ahead(now, before, ahead);
            v.fill_halo();
        }
        scratch.trace_lent(options.advection, grid, tracer, options.isa, dt);
        self.note_head(true, dt);
        self.before_by = dt;
        self.timings.stop(Stage::Advect, timer);
    }

    /// Traces paths through the present velocity.
    pub fn trace(&mut self, dt: f64) {
        let timer = self.timings.start();
        let tracer = self.options.tracer.resolve(self.speed() * dt);
        let Self { grid, options, velocity, scratch, .. } = self;
        velocity.iter_mut().for_each(|u| u.fill_halo());
        let carrier = Carrier { grid, velocity, tracer, isa: options.isa };
        scratch.trace(options.advection, carrier, dt);
        self.note_head(false, dt);
        // What is kept from before belongs to another step.
        self.before_by = 0.0;
        self.timings.stop(Stage::Advect, timer);
    }

    /// Moves the velocity on faces, the substances or both along the paths traced last.
    pub fn advect(&mut self, what: Moved) {
        let timer = self.timings.start();
        self.account_for_advection(what);
        if what != Moved::Substances {
            self.keep_ring();
        }
        let Self { grid, options, velocity, substances, scratch, obstacles, .. } = self;
        for (c, u) in velocity.iter_mut().enumerate().filter(|_| what != Moved::Substances) {
            // What enters through an open side was at rest; but along its own axis a component goes on as it is.
            let (usual, transported) = (grid.velocity_ends(c), grid.transported_velocity_ends(c));
            let ends = each(|a| if a == c { usual[a] } else { transported[a] });
            u.relabel(At::Face(c), with_wind(ends, options, c));
        }
        advect_along(options, scratch, obstacles.as_ref(), velocity, substances, what);
        velocity.iter_mut().enumerate().for_each(|(c, u)| u.relabel(At::Face(c), velocity_ends(grid, options, c)));
        if let (true, Some(rate)) = (what != Moved::Velocity, &self.swelling) {
            self.books.swelled(&self.grid, &self.substances, self.obstacles.as_ref(), self.scratch.back(), rate);
        }
        if what != Moved::Substances {
            self.restore_ring(true);
        }
        self.timings.stop(Stage::Advect, timer);
    }

    /// [`Flow::advect`] for a model whose velocities live at cell centres.
    pub fn advect_centered(&mut self, velocity: &mut VectorField<D>, what: Moved) {
        let timer = self.timings.start();
        self.account_for_advection(what);
        let Self { grid, options, substances, scratch, obstacles, .. } = self;
        velocity.iter_mut().enumerate().for_each(|(a, u)| u.relabel(At::Center, grid.transported_velocity_ends(a)));
        advect_along(options, scratch, obstacles.as_ref(), velocity, substances, what);
        velocity.iter_mut().enumerate().for_each(|(a, u)| u.relabel(At::Center, grid.velocity_ends(a)));
        self.timings.stop(Stage::Advect, timer);
    }

    /// What the accounts need to know before substances move.
    fn account_for_advection(&mut self, what: Moved) {
        if what != Moved::Velocity {
            self.fill_obstacles();
            let Self { grid, options, substances, scratch, obstacles, books, .. } = self;
            books.before_advection(grid, substances, (options.advection, scratch), obstacles.as_ref());
        }
    }

    /// What the accounts need to know before substances are advected in flux form, which changes nothing but through the sides.
    pub(crate) fn account_for_fluxes(&mut self) {
        let Self { substances, obstacles, books, .. } = self;
        books.before_fluxes(substances, obstacles.as_ref());
    }

    /// After that, before solids move.
    pub(crate) fn fluxes_done(&mut self) {
        let Self { grid, substances, books, .. } = self;
        books.after_fluxes(grid, substances);
    }

    /// What advection gained or lost of a substance is put back, where that makes no new extremes; the accounts tell how
    /// much it was. Call it after solids have moved.
    pub fn balance(&mut self) {
        let timer = self.timings.start();
        let Self { grid, substances, obstacles, books, scratch, .. } = self;
        books.after_advection(grid, substances, obstacles.as_ref(), &mut scratch.lend()[0]);
        self.timings.stop(Stage::Advect, timer);
    }

    /// Moves what is painted on the fluid along the present flow for `dt` seconds.
    pub fn advect_texture(&mut self, dt: f64) {
        let Some(texture) = &mut self.texture else { return };
        let timer = self.timings.start();
        let speed = fastest(&self.velocity, &self.grid);
        self.velocity.iter_mut().for_each(|u| u.fill_halo());
        let tracer = self.options.tracer.resolve(speed * dt);
        let flow = Carrier { grid: &self.grid, velocity: &self.velocity, tracer, isa: self.options.isa };
        texture.advect(flow, self.clock.time, dt, &mut self.scratch);
        self.timings.stop(Stage::Advect, timer);
    }

    /// How many cells things can move by in one step, with some to spare for what is yet to push; in a box no limit.
    pub fn furthest(&self) -> f64 {
        if self.is_unbounded() { 0.7 * furthest::<D>() as f64 } else { f64::INFINITY }
    }

    /// How many cells per second the wind goes by, outside of an unbounded grid; in a box none.
    pub fn wind_speed(&self) -> f64 {
        if !self.is_unbounded() {
            return 0.0;
        }
        let along = (0..D).map(|a| f64::from(self.options.wind[a]).abs() / self.grid.spacing[a]);
        along.fold(0.0, f64::max)
    }

    /// The largest speed along one axis of the fluid, of solids and of moving walls, in cells per second.
    pub fn speed(&self) -> f64 {
        let solids = self.solids().map_or(0.0, |s| s.max_speed() / self.grid.min_spacing());
        self.fastest.max(solids).max(self.grid.fastest_side())
    }
}

fn advect_along<const D: usize>(
    options: &Options<D>,
    scratch: &mut MapScratch<D>,
    obstacles: Option<&Obstacles<D>>,
    velocity: &mut VectorField<D>,
    substances: &mut [Substance<D>],
    what: Moved,
) {
    let mut moving: SmallVec<[&mut Field<D>; 3]> = SmallVec::new();
    if what != Moved::Substances {
        moving.extend(velocity.iter_mut());
    }
    let mut conserved: SmallVec<[&mut Field<D>; 16]> = SmallVec::new();
    if what != Moved::Velocity {
        conserved.extend(substances.iter_mut().map(|s| &mut s.field));
    }
    let beside = obstacles.map(|o| &o.exact);
    // Solids hold velocities that continue the flow beside them, so that it can be of second order there, too. First order
    // made a cylinder of 10 cells 6 % harder to pass.
    carry(options.advection, options.isa, &mut moving, &mut [], None, scratch);
    carry(options.advection, options.isa, &mut [], &mut conserved, beside, scratch);
}

/// The largest speed along one axis, in cells per second.
pub(crate) fn fastest<const D: usize>(u: &VectorField<D>, grid: &Grid<D>) -> f64 {
    (0..D).map(|a| max_abs_faces(&u[a]) as f64 / grid.spacing[a]).fold(0.0, f64::max)
}

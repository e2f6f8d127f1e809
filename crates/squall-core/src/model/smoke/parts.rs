//! The parts of which the steps are made. Each takes its own time.

use std::time::Instant;

use smallvec::SmallVec;

use super::Smoke;
use crate::Real;
use crate::advect::{Flow, carry};
use crate::field::{Field, Pad, VectorField};
use crate::force::Moment;
use crate::grid::{At, Axis, Ends};
use crate::ops::{above, each, max_abs};
use crate::rows;

/// What a transport moves.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Carried {
    Velocity,
    Substances,
    Everything,
}

impl<const D: usize> Smoke<D> {
    /// Traces paths through the velocity in the middle of the step, `u + (dt/2) / dt_before (u - u_before)`, and keeps the
    /// present one for the next step.
    pub(super) fn trace_ahead(&mut self, dt: f64) {
        let start = Instant::now();
        let last = self.clock.last_dt;
        let ahead = if last > 0.0 { (0.5 * dt / last).min(1.0) as Real } else { 0.0 };
        let tracer = self.options.tracer.resolve(self.speed() * dt);
        let Self { grid, options, velocity, velocity_before, scratch, .. } = self;
        let scratch = scratch.as_mut().expect("allocated at the start");
        let carrier = scratch.lend();
        for ((v, now), before) in carrier.iter_mut().zip(&*velocity).zip(velocity_before) {
            v.relabel(now.at(), now.ends());
            v.set_ahead(now, before, ahead);
            v.fill_halo();
            before.copy_all(now);
        }
        scratch.trace_lent(options.advection, grid, tracer, options.isa, dt);
        self.timings.advect += start.elapsed().as_secs_f64();
    }

    /// Traces paths through the present velocity.
    pub(super) fn trace_now(&mut self, dt: f64) {
        let start = Instant::now();
        let tracer = self.options.tracer.resolve(self.speed() * dt);
        let Self { grid, options, velocity, scratch, .. } = self;
        velocity.iter_mut().for_each(|u| u.fill_halo());
        let scratch = scratch.as_mut().expect("allocated at the start");
        let flow = Flow { grid, velocity, tracer, isa: options.isa };
        scratch.trace(options.advection, flow, dt);
        self.timings.advect += start.elapsed().as_secs_f64();
    }

    /// Moves fields along the paths traced last.
    pub(super) fn transport(&mut self, what: Carried) {
        let start = Instant::now();
        if what != Carried::Velocity {
            self.fill_obstacles();
        }
        let Self { grid, options, velocity, substances, scratch, obstacles, .. } = self;
        let mut fields: SmallVec<[&mut Field<D>; 16]> = SmallVec::new();
        if what != Carried::Substances {
            for (c, u) in velocity.iter_mut().enumerate() {
                if grid.axes[0] != Axis::Unbounded {
                    u.relabel(
                        At::Face(c),
                        transported_ends(grid.velocity_ends(c), grid.transported_velocity_ends(c), c),
                    );
                }
                fields.push(u);
            }
        }
        let mut conserved: SmallVec<[&mut Field<D>; 16]> = SmallVec::new();
        if what != Carried::Velocity {
            conserved.extend(substances.iter_mut().map(|s| &mut s.field));
        }
        let scratch = scratch.as_mut().expect("allocated at the start");
        let exact = obstacles.as_ref().map(|o| &o.exact);
        carry(options.advection, options.isa, &mut fields, &mut conserved, exact, scratch);
        drop(fields);
        if grid.axes[0] != Axis::Unbounded {
            velocity.iter_mut().enumerate().for_each(|(c, u)| u.relabel(At::Face(c), grid.velocity_ends(c)));
        }
        self.timings.advect += start.elapsed().as_secs_f64();
    }

    /// Carries what is painted on the fluid with the present flow for `dt` seconds.
    pub(super) fn carry_texture(&mut self, dt: f64) {
        let Some(texture) = &mut self.texture else { return };
        let start = Instant::now();
        let speed = self.velocity.iter().map(|u| max_abs(u) as f64).fold(0.0, f64::max) / self.grid.spacing[0];
        self.velocity.iter_mut().for_each(|u| u.fill_halo());
        let tracer = self.options.tracer.resolve(speed * dt);
        let flow = Flow { grid: &self.grid, velocity: &self.velocity, tracer, isa: self.options.isa };
        texture.carry(flow, self.clock.time, dt).expect("memory for the working fields");
        self.timings.advect += start.elapsed().as_secs_f64();
    }

    /// `u += dt f`.
    pub(super) fn push(&mut self, time: f64, dt: f64) {
        let start = Instant::now();
        let Self { grid, velocity, substances, forces, scratch, .. } = self;
        let now = Moment { time, dt };
        let mut others: SmallVec<[usize; 8]> = SmallVec::new();
        for (i, force) in forces.iter_mut().enumerate() {
            if !force.apply_to_faces(grid, now, velocity, substances) {
                others.push(i);
            }
        }
        if !others.is_empty() {
            let centered = scratch.as_mut().expect("allocated at the start").lend();
            center(velocity, centered);
            for &i in &others {
                forces[i].apply(grid, now, centered, substances);
            }
            add_change(velocity, centered);
        }
        self.blow_at_the_edge(dt);
        for u in &mut self.velocity {
            u.set_end_faces();
            u.slow_what_enters(&self.grid, dt);
        }
        self.timings.force += start.elapsed().as_secs_f64();
    }

    /// Substances enter and vanish, and momentum comes in with them.
    pub(super) fn emit(&mut self, time: f64, dt: f64) {
        let start = Instant::now();
        let Self { grid, velocity, substances, sources, scratch, swelling, obstacles, .. } = self;
        let now = Moment { time, dt };
        let centered = scratch.as_mut().expect("allocated at the start").lend();
        let pushing = sources.iter().any(|s| s.pushes());
        if pushing {
            center(velocity, centered);
        }
        for source in sources.iter_mut() {
            source.apply(grid, now, centered, substances);
        }
        if pushing {
            add_change(velocity, centered);
        }
        if let Some(rate) = swelling {
            rate.fill(0.0);
            sources.iter().for_each(|s| s.swell(grid, now, rate));
            if let Some(o) = obstacles {
                o.solids.clear_inside(rate, 0.0);
            }
        }
        for s in substances.iter_mut().filter(|s| s.dissipation > 0.0) {
            let (keep, ambient) = ((1.0 / (1.0 + dt * s.dissipation)) as Real, s.ambient);
            s.field.par_rows(|_, a| a.iter_mut().for_each(|a| *a = ambient + keep * (*a - ambient)));
        }
        for s in substances.iter_mut() {
            s.losses.iter().for_each(|loss| loss.apply(&mut s.field, s.ambient, dt));
        }
        self.timings.force += start.elapsed().as_secs_f64();
    }

    /// Viscosity and diffusion, by small explicit steps.
    pub(super) fn diffuse(&mut self, dt: f64) {
        let start = Instant::now();
        if self.viscosity > 0.0 {
            let k = self.viscosity * dt / (self.grid.spacing[0] * self.grid.spacing[0]);
            let spare = &mut self.scratch.as_mut().expect("allocated at the start").lend()[0];
            self.velocity.iter_mut().for_each(|u| spread(u, k, spare));
        }
        self.timings.diffuse += start.elapsed().as_secs_f64();
        self.diffuse_substances(dt);
    }

    /// Diffusion, by small explicit steps.
    pub(super) fn diffuse_substances(&mut self, dt: f64) {
        let start = Instant::now();
        let Self { grid, substances, scratch, .. } = self;
        let spare = &mut scratch.as_mut().expect("allocated at the start").lend()[0];
        let per_cell = |k: f64| k * dt / (grid.spacing[0] * grid.spacing[0]);
        for s in substances.iter_mut().filter(|s| s.diffusion > 0.0) {
            spread(&mut s.field, per_cell(s.diffusion), spare);
        }
        self.timings.diffuse += start.elapsed().as_secs_f64();
    }

    /// The largest speed along one axis, in cells per second.
    pub(super) fn speed(&self) -> f64 {
        let solids = self.solids().map_or(0.0, |s| s.max_speed() / self.grid.spacing[0]);
        solids.max(self.max_speed / self.grid.spacing[0])
    }
}

/// While velocity is transported, what enters through an open side was at rest; but along its own axis a component goes
/// on as it is.
fn transported_ends<const D: usize>(usual: [Ends; D], transported: [Ends; D], c: usize) -> [Ends; D] {
    each(|a| if a == c { usual[a] } else { transported[a] })
}

/// `centered = mean of the two faces`.
pub(in crate::model) fn center<const D: usize>(faces: &mut VectorField<D>, centered: &mut VectorField<D>) {
    for a in 0..D {
        faces[a].fill_halo();
        centered[a].relabel(At::Center, faces[a].ends());
    }
    let faces = &*faces;
    rows::for_each(centered.each_mut(), |row, out| {
        let mut pad = Pad::default();
        let next = above(faces, row, &mut pad);
        for (a, out) in out.into_iter().enumerate() {
            let here = faces[a].row(row);
            for x in 0..out.len() {
                out[x] = 0.5 * (here[x] + next[a][x]);
            }
        }
    });
}

/// Each face takes the mean of the changes on its two sides, where `centered` was the mean of faces before it changed.
pub(in crate::model) fn add_change<const D: usize>(faces: &mut VectorField<D>, centered: &mut VectorField<D>) {
    let old = &*faces;
    rows::for_each(centered.each_mut(), |row, change| {
        let mut pad = Pad::default();
        let next = above(old, row, &mut pad);
        for (a, change) in change.into_iter().enumerate() {
            let here = old[a].row(row);
            for x in 0..change.len() {
                change[x] -= 0.5 * (here[x] + next[a][x]);
            }
        }
    });
    for a in 0..D {
        // Beyond an end as beside it; nothing changes where no tile is.
        let ends = faces[a].ends().map(|ends| match ends {
            Ends::Bounded { .. } => Ends::FLAT,
            Ends::Unbounded(_) => Ends::Unbounded(0.0),
            Ends::Periodic => Ends::Periodic,
        });
        centered[a].relabel(At::Center, ends);
        centered[a].fill_halo();
        faces[a].add_face_means(&centered[a], a);
    }
}

/// `a += k lap a` in cells, in as many parts as stability asks for.
fn spread<const D: usize>(field: &mut Field<D>, k: f64, spare: &mut Field<D>) {
    // Explicit diffusion is stable up to 1 / (2 D); at 0.8 of that no wave changes its sign.
    let parts = (k * 2.0 * D as f64 / 0.8).ceil().clamp(1.0, 1000.0);
    let k = (k / parts) as Real;
    for _ in 0..parts as usize {
        field.finish_end_faces();
        field.fill_halo();
        spare.relabel(field.at(), field.ends());
        let old = &*field;
        spare.par_rows(|row, out| {
            let here = old.row(row);
            let mut pads = [Pad::default(); 2];
            out.copy_from_slice(here);
            for a in 0..D {
                let [pad, other] = &mut pads;
                let (up, down) = (old.up(row, a, pad), old.down(row, a, other));
                for x in 0..out.len() {
                    out[x] += k * ((up[x] - here[x]) - (here[x] - down[x]));
                }
            }
        });
        field.swap_values(spare);
    }
    field.finish_end_faces();
}

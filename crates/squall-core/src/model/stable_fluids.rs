//! Stable Fluids (Stam 1999) with velocities at cell centres, and three splittings that lose less energy than the paper's.
//!
//! Advection follows the staggered field of the flow, which is free of divergence to rounding; the velocities at the centres
//! are what is advected. The projection is that of the faces between them, exact, and the centres follow approximately
//! (Almgren, Bell & Szymczak 1996):
//!
//! 1. face velocity = mean of the two cells beside it; on walls what the wall says;
//! 2. `lap q = div`, face velocity -= `(q_right - q_left) / h`: now `div = 0` to rounding;
//! 3. cell velocity -= mean of the two face gradients, which is the centred gradient of Stam's paper.

use super::{Model, in_parts};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::flow::{Flow, Moved, show, vector};
use crate::grid::{At, Grid};
use crate::ops::{Sums, each};
use crate::project::{Projected, REFINE_ABOVE, subtract_centered_gradients};
use crate::replay::Replay;
use crate::report::{Stage, StepReport};
use crate::sample::{Isa, Kernel};
use crate::sim::{StateVisitor, StepError};
use crate::snapshot::Snapshot;

pub use super::Splitting;
pub use crate::flow::Options;

/// Which velocity carries things along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvectWith {
    /// The staggered field that has no divergence.
    Face,
    /// The velocity at the centres, as in the paper.
    Cell,
}

/// A fluid that fills a box, and what it carries.
pub struct StableFluids<const D: usize> {
    /// The staggered flow that carries things.
    pub flow: Flow<D>,
    /// Which velocity carries things along.
    pub advect_with: AdvectWith,
    /// The part of a wave two cells long that is removed from the velocity per step and axis. Centred velocities do not
    /// feel such waves; advection that hardly blurs would let them grow.
    pub filter: Real,
    /// Velocity at cell centres.
    velocity: VectorField<D>,
    started: bool,
}

impl<const D: usize> StableFluids<D> {
    /// A fluid at rest.
    pub fn new(grid: Grid<D>, options: Options<D>) -> Result<Self, OutOfMemory> {
        let mut flow = Flow::new(grid, options)?;
        flow.refine_above = REFINE_ABOVE;
        Ok(StableFluids {
            flow,
            advect_with: AdvectWith::Face,
            filter: 0.05,
            velocity: vector(|a| Field::new(grid.cells, At::Center, grid.velocity_ends(a)))?,
            started: false,
        })
    }

    /// How many fields, each of one number per cell, a fluid with this many substances takes; without noise forces.
    pub fn fields_needed(options: &Options<D>, substances: usize) -> usize {
        D + Flow::fields_needed(options, substances)
    }

    /// Velocity at cell centres.
    pub fn velocity(&self) -> &VectorField<D> {
        &self.velocity
    }

    /// Sets the velocity at the centres; the start makes it free of divergence.
    pub fn set_velocity(&mut self, f: impl Fn([f64; D]) -> [f64; D] + Sync) {
        for a in 0..D {
            self.velocity[a].set_from(&self.flow.grid, |p| f(p)[a]);
        }
        self.started = false;
    }

    /// Lets `f` set one component of the initial velocity at the centres.
    pub fn set_velocity_component(&mut self, a: usize, f: impl FnOnce(&mut Field<D>)) {
        f(&mut self.velocity[a]);
        self.started = false;
    }

    /// Makes the initial velocity free of divergence. Called by the first step if nobody did before.
    pub fn start(&mut self) -> Result<(), OutOfMemory> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        self.velocity.iter_mut().for_each(|u| u.fill_halo());
        for a in 0..D {
            self.flow.velocity[a].set_face_means(&self.velocity[a], a);
        }
        self.flow.start()?;
        self.project();
        // What was before the start says nothing.
        self.flow.before_by = 0.0;
        Ok(())
    }

    /// One time step.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        self.start()?;
        let (splitting, parts) = self.flow.options.splitting.resolve(self.flow.speed() * dt);
        if parts > 1 {
            return in_parts(self, dt, parts);
        }
        let cfl = self.flow.begin(dt)?;
        let projected = match splitting {
            Splitting::LaggedPressure => self.lagged_pressure(dt)?,
            Splitting::Plain => self.plain(dt)?,
            Splitting::Reflection => self.reflection(dt)?,
            Splitting::Paper => self.paper(dt)?,
        };
        self.flow.advect_texture(dt);
        let energy = self.energy();
        Ok(StepReport { cfl, splitting: splitting.name(), ..self.flow.report(dt, projected, energy)? })
    }

    /// v = u + dt/2 du/dt;  u* = A(u + dt/2 (f - G); v) + dt/2 (f - G);  G += grad q / dt
    fn lagged_pressure(&mut self, dt: f64) -> Result<Projected, StepError> {
        let (t, half) = (self.flow.time(), 0.5 * dt);
        self.flow.trace_ahead(dt);
        self.push(t, half);
        self.apply_pressure(half);
        self.advect(Moved::Everything);
        self.emit(t, dt);
        self.apply_pressure(half);
        self.push(t + half, half);
        self.diffuse(dt)?;
        let done = self.project();
        self.flow.accumulate_pressure(dt);
        Ok(done)
    }

    /// u1 = A(u; u) over half a step;  uh = P u1;  u2 = A(2 uh - u1; uh) over the other half;  u = P u2
    fn reflection(&mut self, dt: f64) -> Result<Projected, StepError> {
        let (t, half) = (self.flow.time(), 0.5 * dt);
        self.flow.trace(half);
        self.advect(Moved::Velocity);
        self.push(t, half);
        self.project();
        self.flow.replace_pressure(half);
        self.apply_pressure(half); // the mirror image: 2 uh - u1 = uh - grad q
        self.flow.trace(dt);
        self.advect(Moved::Substances);
        self.flow.trace(half);
        self.advect(Moved::Velocity);
        self.emit(t, dt);
        self.push(t + half, half);
        self.diffuse(dt)?;
        let done = self.project();
        self.flow.replace_pressure(half);
        Ok(done)
    }

    /// One map for everything: advect, force, diffuse, project.
    fn plain(&mut self, dt: f64) -> Result<Projected, StepError> {
        let t = self.flow.time();
        self.flow.trace(dt);
        self.advect(Moved::Everything);
        self.emit(t, dt);
        self.push(t, dt);
        self.diffuse(dt)?;
        let done = self.project();
        self.flow.replace_pressure(dt);
        Ok(done)
    }

    /// Stam 1999, section 2.2: w0 -(add force)-> w1 -(advect)-> w2 -(diffuse)-> w3 -(project)-> w4; then section 2.4.
    fn paper(&mut self, dt: f64) -> Result<Projected, StepError> {
        let t = self.flow.time();
        self.push(t, dt); //                                             w1 = w0 + dt f
        self.carry_by_centers();
        self.flow.trace(dt);
        self.advect(Moved::Velocity); //                                 w2(x) = w1(p(x, -dt))
        self.flow.diffuse_centered(&mut self.velocity, dt)?; //          (I - nu dt lap) w3 = w2
        let done = self.project(); //                                    lap q = div w3,  w4 = w3 - grad q
        self.flow.replace_pressure(dt);
        self.emit(t, dt);
        self.flow.trace(dt);
        self.advect(Moved::Substances);
        self.flow.diffuse_substances(dt)?;
        Ok(done)
    }

    /// `u += dt f`.
    fn push(&mut self, time: f64, dt: f64) {
        self.flow.push_centered(&mut self.velocity, time, dt);
    }

    /// Substances enter and vanish, and momentum comes in with them.
    fn emit(&mut self, time: f64, dt: f64) {
        self.flow.emit_centered(&mut self.velocity, time, dt);
        self.flow.lose(dt);
    }

    fn diffuse(&mut self, dt: f64) -> Result<(), StepError> {
        self.flow.diffuse_centered(&mut self.velocity, dt)?;
        self.flow.diffuse_substances(dt)
    }

    /// Moves things along the paths traced last; then takes the shortest waves out of the velocity.
    fn advect(&mut self, what: Moved) {
        self.flow.advect_centered(&mut self.velocity, what);
        if what != Moved::Velocity {
            self.flow.balance();
        }
        if what != Moved::Substances && self.filter > 0.0 {
            for u in &mut self.velocity {
                remove_shortest_waves(self.flow.options.isa, u, self.filter, &mut self.flow.scratch.lend()[0]);
            }
        }
    }

    /// `lap q = div u`, `u -= grad q`: exactly for the faces, approximately at the centres.
    fn project(&mut self) -> Projected {
        for a in 0..D {
            self.velocity[a].fill_halo();
            self.flow.velocity[a].set_face_means(&self.velocity[a], a);
        }
        let done = self.flow.project(None);
        subtract_centered_gradients(&mut self.velocity, &self.flow.potential, self.flow.grid.spacing);
        self.carry_by_centers();
        done
    }

    /// If the velocity at the centres is to carry things, the flow becomes a copy of it.
    fn carry_by_centers(&mut self) {
        if self.advect_with == AdvectWith::Cell {
            for (c, u) in self.flow.velocity.iter_mut().zip(&mut self.velocity) {
                u.fill_halo();
                c.copy_all(u);
            }
        }
    }

    /// `u -= dt grad p`, at the centres.
    fn apply_pressure(&mut self, dt: f64) {
        let timer = self.flow.timings.start();
        self.flow.pressure.fill_halo();
        subtract_centered_gradients(&mut self.velocity, &self.flow.pressure, self.flow.grid.spacing.map(|h| h / dt));
        self.flow.timings.stop(Stage::Project, timer);
    }

    /// Kinetic energy per unit mass density, integrated over the box.
    pub fn energy(&self) -> f64 {
        let squares = self.velocity.iter().map(|u| Sums::of(self.flow.options.isa, u).squares).sum::<f64>();
        0.5 * squares * self.flow.grid.cell_volume()
    }
}

/// `u -= (c / 16) sum over axes of (u[-2] - 4 u[-1] + 6 u[0] - 4 u[+1] + u[+2])`.
fn remove_shortest_waves<const D: usize>(isa: Isa, u: &mut Field<D>, c: Real, scratch: &mut Field<D>) {
    u.fill_halo();
    let old = &*u;
    scratch.relabel(old.at(), old.ends());
    scratch.par_rows_and_ghosts(|row, out| {
        let beside: [_; D] = each(|a| [-2, -1, 1, 2].map(|by| old.row(row.shifted(a, by))));
        isa.run(Smoothed { k: c / 16.0, here: old.row(row), beside, out });
    });
    u.swap_values(scratch);
}

struct Smoothed<'a, const D: usize> {
    k: Real,
    here: &'a [Real],
    beside: [[&'a [Real]; 4]; D],
    out: &'a mut [Real],
}

impl<const D: usize> Kernel for Smoothed<'_, D> {
    #[inline(always)]
    fn run(self) {
        let Smoothed { k, here, beside, out } = self;
        let n = out.len();
        let (here, beside) = (&here[..n], beside.map(|rows| rows.map(|row| &row[..n])));
        for x in 0..n {
            let mut sum = here[x];
            for [d2, d1, u1, u2] in beside {
                sum -= k * ((d2[x] + u2[x]) - 4.0 * (d1[x] + u1[x]) + 6.0 * here[x]);
            }
            out[x] = sum;
        }
    }
}

impl<const D: usize> Model<D> for StableFluids<D> {
    fn flow(&self) -> &Flow<D> {
        &self.flow
    }

    fn flow_mut(&mut self) -> &mut Flow<D> {
        &mut self.flow
    }

    fn start(&mut self) -> Result<(), OutOfMemory> {
        StableFluids::start(self)
    }

    fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        StableFluids::step(self, dt)
    }

    fn field(&self, name: &str, component: usize) -> Option<&Field<D>> {
        if name == "velocity" { self.velocity.get(component) } else { self.flow.field(name, component) }
    }

    fn visit_own_state(&mut self, visitor: &mut dyn StateVisitor) {
        self.started = true;
        self.velocity.iter_mut().for_each(|f| show(visitor, "velocity", f));
    }
}

impl<const D: usize> Replay for StableFluids<D> {
    fn record_flow(&mut self) -> Snapshot {
        self.flow.snapshot()
    }

    fn set_flow(&mut self, flow: &Snapshot) {
        self.flow.restore(flow);
        for (c, (u, faces)) in self.velocity.iter_mut().zip(&self.flow.velocity).enumerate() {
            set_centers(u, faces, c);
        }
    }

    fn contents(&self) -> Snapshot {
        self.flow.contents()
    }

    fn set_contents(&mut self, contents: &Snapshot) {
        self.flow.set_contents(contents);
    }

    fn replay(&mut self, recorded: &Snapshot, sources: &[(f64, f64)], dt: f64) -> Result<StepReport, StepError> {
        self.start()?;
        self.set_flow(recorded);
        let cfl = self.flow.begin(dt)?;
        self.flow.trace(dt);
        self.flow.advect(Moved::Substances);
        self.flow.balance();
        self.flow.advect_texture(dt);
        self.flow.emit_at(sources, dt)?;
        self.flow.diffuse_substances(dt)?;
        let done = self.flow.not_projected();
        Ok(StepReport { cfl, splitting: "recorded", ..self.flow.finish(dt, done)? })
    }
}

/// The mean of the faces on both sides, if the flow lives on faces.
fn set_centers<const D: usize>(u: &mut Field<D>, faces: &Field<D>, c: usize) {
    let staggered = faces.at() != At::Center;
    u.par_rows(|row, u| {
        let (low, high) = (faces.row(row), faces.row(if staggered { row.up(c) } else { row }));
        u.iter_mut().zip(low.iter().zip(high)).for_each(|(u, (low, high))| *u = 0.5 * (low + high));
    });
}

super::simulation!(StableFluids);

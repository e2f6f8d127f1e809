//! Stable Fluids (Stam 1999) with velocities at cell centres, and three ways to lose less energy than the paper does.
//!
//! Transport follows a staggered field that is free of divergence to rounding ([`project`](mod@crate::project)); the
//! velocities at the centres are what is transported.

use std::time::Instant;

use smallvec::SmallVec;

use crate::Real;
use crate::advect::{self, Advection, Flow, MAX_FIELDS, Scratch};
use crate::clock::Clock;
use crate::diffuse::{Diffuser, DiffusionScheme};
use crate::field::{Field, OutOfMemory, VectorField};
use crate::force::{Force, Moment, Source, Substance};
use crate::grid::{At, Grid};
use crate::ops::{self, each};
use crate::poisson::{self, PoissonSolver};
use crate::project::{Projected, project, subtract_centered_gradient};
use crate::report::{StepReport, Timings};
use crate::sample::Isa;
use crate::sim::NotFinite;
use crate::trace::Tracer;

/// How a step is split into parts. What a fluid loses, it loses mostly here.
///
/// | splitting | transports | projections | order in time | use |
/// |---|---|---|---|---|
/// | `LaggedPressure` | 1 | 1 | 2 | default: keeps vortices alive at the price of a plain step |
/// | `Reflection` | 2 | 2 | 2 | the same for long steps (Zehnder, Narain & Thomaszewski 2018) |
/// | `Plain` | 1 | 1 | 1 | everything is moved at once, then forces, then projection |
/// | `Paper` | 2 | 1 | 1 | the order of the paper: force, transport, diffuse, project, then substances |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splitting {
    /// Half of the last pressure and half of the forces act before transport, half after it.
    LaggedPressure,
    /// Half a step, mirror at the divergence-free fields, half a step.
    Reflection,
    /// Move, push, project.
    Plain,
    /// The order of Stam's paper.
    Paper,
}

/// Which velocity carries things along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvectWith {
    /// The staggered field that has no divergence.
    Face,
    /// The velocity at the centres, as in the paper.
    Cell,
}

/// How a step is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// How values are taken from departure points.
    pub advection: Advection,
    /// How the step is split.
    pub splitting: Splitting,
    /// Which velocity carries things along.
    pub advect_with: AdvectWith,
    /// How departure points are found.
    pub tracer: Tracer,
    /// How viscosity, diffusion and dissipation act.
    pub diffusion: DiffusionScheme,
    /// The part of a wave two cells long that is removed from the velocity per step and axis. Centred velocities do not
    /// feel such waves; transport that hardly blurs would let them grow.
    pub filter: Real,
    /// The instruction set to compute with. All give the same bits.
    pub isa: Isa,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            advection: Advection::MacCormack,
            splitting: Splitting::LaggedPressure,
            advect_with: AdvectWith::Face,
            tracer: Tracer::Auto,
            diffusion: DiffusionScheme::Implicit,
            filter: 0.05,
            isa: Isa::best(),
        }
    }
}

/// Above this many cells per step the last pressure says nothing about the next: it is left out.
const LAGGED_UP_TO: f64 = 4.0;

/// A fluid that fills a box, and what it carries.
pub struct StableFluids<const D: usize> {
    /// The box.
    pub grid: Grid<D>,
    /// How a step is computed.
    pub options: Options,
    /// Kinematic viscosity, in square metres per second.
    pub viscosity: f64,
    /// What is carried along.
    pub substances: Vec<Substance<D>>,
    /// What pushes.
    pub forces: Vec<Box<dyn Force<D>>>,
    /// What gives off substances.
    pub sources: Vec<Box<dyn Source<D>>>,
    clock: Clock,
    /// Velocity at cell centres.
    velocity: VectorField<D>,
    /// The velocity that carries things, now and one step ago.
    carrier: VectorField<D>,
    carrier_before: VectorField<D>,
    /// Pressure over density.
    pressure: Field<D>,
    scratch: Option<Scratch<D>>,
    poisson: Box<dyn PoissonSolver<D>>,
    diffuser: Diffuser<D>,
    timings: Timings,
}

impl<const D: usize> StableFluids<D> {
    /// A fluid at rest.
    pub fn new(grid: Grid<D>, options: Options) -> Result<Self, OutOfMemory> {
        let velocity = vector(|a| Field::new(grid.cells, At::Center, grid.velocity_ends(a)))?;
        let faces = || vector(|a| Field::new(grid.cells, At::Face(a), grid.velocity_ends(a)));
        Ok(StableFluids {
            options,
            viscosity: 0.0,
            substances: Vec::new(),
            forces: Vec::new(),
            sources: Vec::new(),
            clock: Clock::default(),
            velocity,
            carrier: faces()?,
            carrier_before: faces()?,
            pressure: Field::new(grid.cells, At::Center, grid.pressure_ends())?,
            scratch: None,
            poisson: poisson::plan(&grid, grid.pressure_ends()),
            diffuser: Diffuser::new(grid.cells, grid.spacing),
            timings: Timings::default(),
            grid,
        })
    }

    /// How many fields, each of one number per cell, a fluid with this many substances takes; without noise forces.
    pub fn fields_needed(options: Options, substances: usize) -> usize {
        let carried = D + substances;
        carried + 2 * D + 1 + Scratch::<D>::fields(options.advection, carried.min(MAX_FIELDS))
    }

    /// Sets the velocity at the centres and makes it free of divergence.
    pub fn set_velocity(&mut self, f: impl Fn([f64; D]) -> [f64; D] + Sync) -> Result<(), OutOfMemory> {
        for a in 0..D {
            self.velocity[a].set_from(&self.grid, |p| f(p)[a]);
        }
        self.start()
    }

    /// Makes the initial velocity free of divergence. Called by the first step if nobody did before.
    pub fn start(&mut self) -> Result<(), OutOfMemory> {
        self.allocate()?;
        for f in &mut self.velocity {
            f.fill_halo();
        }
        for s in &mut self.substances {
            s.field.fill_halo();
        }
        // What a starting field has of divergence is no pressure that goes on acting.
        self.make_incompressible();
        for a in 0..D {
            let (before, now) = (&mut self.carrier_before[a], &self.carrier[a]);
            before.relabel(now.at(), now.ends());
            before.data.copy_from_slice(&now.data);
        }
        Ok(())
    }

    fn allocate(&mut self) -> Result<(), OutOfMemory> {
        let carried = (D + self.substances.len()).min(MAX_FIELDS);
        self.scratch = Some(Scratch::new(&self.velocity[0], self.options.advection, carried)?);
        if self.viscosity > 0.0 {
            self.velocity.iter().try_for_each(|f| self.diffuser.prepare(f))?;
        }
        let spreading = self.substances.iter().filter(|s| s.diffusion > 0.0);
        spreading.map(|s| &s.field).try_for_each(|f| self.diffuser.prepare(f))
    }

    /// One time step.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, NotFinite> {
        assert!(dt > 0.0 && dt.is_finite(), "a time step must be positive, not {dt}");
        if self.scratch.is_none() {
            self.start().expect("memory for the working fields");
        }
        self.timings = Timings::default();
        let cfl = self.speed() * dt;
        let projected = match self.options.splitting {
            Splitting::LaggedPressure if cfl <= LAGGED_UP_TO => self.lagged_pressure(dt),
            Splitting::LaggedPressure | Splitting::Plain => self.plain(dt),
            Splitting::Reflection => self.reflection(dt),
            Splitting::Paper => self.paper(dt),
        };
        self.clock.tick(dt);
        self.report(dt, cfl, projected)
    }

    /// v = u + dt/2 du/dt;  u* = A(u + dt/2 (f - G); v) + dt/2 (f - G);  G += grad q / dt
    fn lagged_pressure(&mut self, dt: f64) -> Projected {
        let (t, half) = (self.clock.time, 0.5 * dt);
        self.push(t, half);
        self.apply_pressure(half);
        self.extrapolate_carrier(dt);
        self.transport(Carried::Everything, Through::Before, dt);
        self.emit(t, dt);
        self.apply_pressure(half);
        self.push(t + half, half);
        self.diffuse(dt);
        let done = self.make_incompressible();
        self.accumulate_pressure(dt);
        done
    }

    /// u1 = A(u; u) over half a step;  uh = P u1;  u2 = A(2 uh - u1; uh) over the other half;  u = P u2
    fn reflection(&mut self, dt: f64) -> Projected {
        let (t, half) = (self.clock.time, 0.5 * dt);
        self.transport(Carried::Velocity, Through::Now, half);
        self.push(t, half);
        self.make_incompressible();
        self.transport(Carried::Substances, Through::Now, dt);
        self.subtract_potential();
        self.transport(Carried::Velocity, Through::Now, half);
        self.emit(t, dt);
        self.push(t + half, half);
        self.diffuse(dt);
        let done = self.make_incompressible();
        self.replace_pressure(half);
        done
    }

    /// One map for everything: advect, force, diffuse, project.
    fn plain(&mut self, dt: f64) -> Projected {
        let t = self.clock.time;
        self.transport(Carried::Everything, Through::Now, dt);
        self.emit(t, dt);
        self.push(t, dt);
        self.diffuse(dt);
        let done = self.make_incompressible();
        self.replace_pressure(dt);
        done
    }

    /// Stam 1999, section 2.2: w0 -(add force)-> w1 -(advect)-> w2 -(diffuse)-> w3 -(project)-> w4; then section 2.4.
    fn paper(&mut self, dt: f64) -> Projected {
        let t = self.clock.time;
        self.push(t, dt); //                                        w1 = w0 + dt f
        self.refresh_cell_carrier();
        self.transport(Carried::Velocity, Through::Now, dt); //     w2(x) = w1(p(x, -dt))
        self.diffuse_velocity(dt); //                               (I - nu dt lap) w3 = w2
        let done = self.make_incompressible(); //                   lap q = div w3,  w4 = w3 - grad q
        self.replace_pressure(dt);
        self.emit(t, dt);
        self.transport(Carried::Substances, Through::Now, dt);
        self.diffuse_substances(dt);
        done
    }
}

/// What a transport moves.
#[derive(Clone, Copy, PartialEq)]
enum Carried {
    Velocity,
    Substances,
    Everything,
}

/// Which of the two carriers it follows.
#[derive(Clone, Copy, PartialEq)]
enum Through {
    Now,
    Before,
}

/// The parts of a step. Each takes its own time.
impl<const D: usize> StableFluids<D> {
    /// `u += dt f`.
    fn push(&mut self, time: f64, dt: f64) {
        let start = Instant::now();
        for f in &mut self.forces {
            f.apply(&self.grid, Moment { time, dt }, &mut self.velocity, &self.substances);
        }
        if !self.forces.is_empty() {
            self.velocity.iter_mut().for_each(Field::fill_halo);
        }
        self.timings.force += start.elapsed().as_secs_f64();
    }

    /// Substances enter, and momentum with them.
    fn emit(&mut self, time: f64, dt: f64) {
        let start = Instant::now();
        for s in &mut self.sources {
            s.apply(&self.grid, Moment { time, dt }, &mut self.velocity, &mut self.substances);
        }
        if !self.sources.is_empty() {
            self.velocity.iter_mut().for_each(Field::fill_halo);
            self.substances.iter_mut().for_each(|s| s.field.fill_halo());
        }
        self.timings.force += start.elapsed().as_secs_f64();
    }

    /// Moves fields along a carrier; then takes the shortest waves out of the velocity.
    fn transport(&mut self, what: Carried, through: Through, dt: f64) {
        let start = Instant::now();
        let speed = self.speed();
        let Self { grid, options, velocity, substances, carrier, carrier_before, scratch, .. } = self;
        let scratch = scratch.as_mut().expect("allocated at the start");
        let mut fields: SmallVec<[&mut Field<D>; 16]> = SmallVec::new();
        if what != Carried::Substances {
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
        if what != Carried::Substances && options.filter > 0.0 {
            for u in velocity {
                remove_shortest_waves(u, options.filter, scratch.lend().0);
            }
        }
        self.timings.advect += start.elapsed().as_secs_f64();
    }

    /// `v = u + (dt/2) / dt_before (u - u_before)`: the carrier in the middle of the step, in place of the one before.
    fn extrapolate_carrier(&mut self, dt: f64) {
        let start = Instant::now();
        let last = self.clock.last_dt;
        let ahead = if last > 0.0 { (0.5 * dt / last).min(1.0) as Real } else { 0.0 };
        for (before, now) in self.carrier_before.iter_mut().zip(&self.carrier) {
            before.relabel(now.at(), now.ends());
            // Ghosts and last faces too: they are the same combination.
            for (b, n) in before.data.iter_mut().zip(&now.data) {
                *b = n + ahead * (n - *b);
            }
        }
        self.timings.advect += start.elapsed().as_secs_f64();
    }

    fn diffuse(&mut self, dt: f64) {
        self.diffuse_velocity(dt);
        self.diffuse_substances(dt);
    }

    fn diffuse_velocity(&mut self, dt: f64) {
        let start = Instant::now();
        if self.viscosity > 0.0 {
            for u in &mut self.velocity {
                self.diffuser.apply(u, self.viscosity * dt, self.options.diffusion).expect("prepared at the start");
                u.fill_halo();
            }
        }
        self.timings.diffuse += start.elapsed().as_secs_f64();
    }

    fn diffuse_substances(&mut self, dt: f64) {
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
            if s.diffusion > 0.0 || s.dissipation > 0.0 {
                s.field.fill_halo();
            }
        }
        self.timings.diffuse += start.elapsed().as_secs_f64();
    }

    /// Projects the velocity; the carrier becomes the new one, the old one is kept. Leaves the potential in the scratch.
    fn make_incompressible(&mut self) -> Projected {
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
    fn refresh_cell_carrier(&mut self) {
        if self.options.advect_with == AdvectWith::Cell {
            for (c, u) in self.carrier.iter_mut().zip(&self.velocity) {
                c.relabel(At::Center, u.ends());
                c.data.copy_from_slice(&u.data);
            }
        }
    }

    /// `u -= dt grad p`.
    fn apply_pressure(&mut self, dt: f64) {
        let start = Instant::now();
        for a in 0..D {
            subtract_centered_gradient(&mut self.velocity[a], &self.pressure, a, self.grid.spacing[a] / dt);
            self.velocity[a].fill_halo();
        }
        self.timings.project += start.elapsed().as_secs_f64();
    }

    /// `u -= grad q` once more: the mirror image of the field before the last projection.
    fn subtract_potential(&mut self) {
        let q = &*self.scratch.as_mut().expect("allocated at the start").lend().0;
        for a in 0..D {
            subtract_centered_gradient(&mut self.velocity[a], q, a, self.grid.spacing[a]);
            self.velocity[a].fill_halo();
        }
    }

    /// `p += q / dt`.
    fn accumulate_pressure(&mut self, dt: f64) {
        let q = &*self.scratch.as_mut().expect("allocated at the start").lend().0;
        let inv_dt = (1.0 / dt) as Real;
        self.pressure.par_rows(|row, p| p.iter_mut().zip(q.row(row)).for_each(|(p, q)| *p += inv_dt * q));
        self.pressure.fill_halo();
    }

    /// `p = q / dt`.
    fn replace_pressure(&mut self, dt: f64) {
        self.pressure.par_rows(|_, p| p.fill(0.0));
        self.accumulate_pressure(dt);
    }

    /// The largest speed along one axis, in cells per second.
    fn speed(&self) -> f64 {
        (0..D).map(|a| ops::max_abs(&self.carrier[a]) as f64 / self.grid.spacing[a]).fold(0.0, f64::max)
    }
}

/// `u -= (c / 16) sum over axes of (u[-2] - 4 u[-1] + 6 u[0] - 4 u[+1] + u[+2])`.
fn remove_shortest_waves<const D: usize>(u: &mut Field<D>, c: Real, scratch: &mut Field<D>) {
    let k = c / 16.0;
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
    u.fill_halo();
}

fn vector<const D: usize>(
    f: impl Fn(usize) -> Result<Field<D>, OutOfMemory>,
) -> Result<VectorField<D>, OutOfMemory> {
    let fields: Vec<_> = (0..D).map(f).collect::<Result<_, _>>()?;
    Ok(fields.try_into().expect("one field per axis"))
}

/// What can be seen from outside.
impl<const D: usize> StableFluids<D> {
    /// Velocity at cell centres.
    pub fn velocity(&self) -> &VectorField<D> {
        &self.velocity
    }

    /// The velocity that carries things: on faces, free of divergence, unless the options say otherwise.
    pub fn carrier(&self) -> &VectorField<D> {
        &self.carrier
    }

    /// Pressure over density, in square metres per second squared.
    pub fn pressure(&self) -> &Field<D> {
        &self.pressure
    }

    /// How far the simulation is.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The clock, to be set.
    pub(crate) fn clock_mut(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// How the pressure is solved for.
    pub fn solver(&self) -> String {
        self.poisson.describe()
    }

    /// Fields that make up the state, by name, besides the substances.
    pub(crate) fn state_fields(&mut self) -> impl Iterator<Item = (&'static str, &mut Field<D>)> {
        let named = |name, fields: &'_ mut VectorField<D>| fields.iter_mut().map(move |f| (name, f)).collect::<Vec<_>>();
        let mut all = named("velocity", &mut self.velocity);
        all.extend(named("carrier", &mut self.carrier));
        all.extend(named("carrier_before", &mut self.carrier_before));
        all.push(("pressure", &mut self.pressure));
        all.into_iter()
    }

    /// Kinetic energy per unit mass density, integrated over the box.
    pub fn energy(&self) -> f64 {
        0.5 * self.velocity.iter().map(|u| ops::dot(u, u)).sum::<f64>() * self.grid.cell_volume()
    }

    /// The integral of each substance over the box.
    pub fn mass(&self) -> SmallVec<[f64; 8]> {
        self.substances.iter().map(|s| ops::sum(&s.field) * self.grid.cell_volume()).collect()
    }

    fn report(&mut self, dt: f64, cfl: f64, projected: Projected) -> Result<StepReport, NotFinite> {
        let start = Instant::now();
        let energy = self.energy();
        let mass = self.mass();
        // A sum is finite only if its terms are (or cancel, as infinities of both signs do not: that is NaN).
        if !energy.is_finite() || !mass.iter().all(|m| m.is_finite()) {
            self.find_not_finite()?;
        }
        self.timings.measure += start.elapsed().as_secs_f64();
        Ok(StepReport {
            dt,
            cfl,
            max_speed: projected.max_speed,
            max_divergence: projected.max_divergence,
            relative_divergence: projected.relative_divergence,
            energy,
            mass,
            pressure: projected.solve,
            timings: self.timings.clone(),
        })
    }

    fn find_not_finite(&self) -> Result<(), NotFinite> {
        let velocity = self.velocity.iter().enumerate().map(|(a, f)| (["u", "v", "w"][a], f));
        let substances = self.substances.iter().map(|s| (s.name.as_str(), &s.field));
        for (name, field) in velocity.chain(substances) {
            let layout = field.layout();
            for r in 0..layout.rows() {
                let row = layout.row(r);
                if let Some(x) = field.row(row).iter().position(|v| !v.is_finite()) {
                    let mut cell: Vec<usize> = row.index.iter().map(|&i| i as usize).collect();
                    cell[0] = x;
                    return Err(NotFinite {
                        field: name.to_string(),
                        value: field.row(row)[x],
                        cell,
                        time: self.clock.time,
                        step: self.clock.steps - 1,
                        stage: "end of step",
                    });
                }
            }
        }
        Ok(())
    }
}

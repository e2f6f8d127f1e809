//! Stable Fluids (Stam 1999) with velocities at cell centres, and three ways to lose less energy than the paper does.
//!
//! Transport follows a staggered field that is free of divergence to rounding ([`project`](mod@crate::project)); the
//! velocities at the centres are what is transported.

mod carried;
mod outside;
mod parts;

use crate::Real;
use crate::advect::{Advection, Scratch};
use crate::clock::Clock;
use crate::diffuse::{Diffuser, DiffusionScheme};
use crate::field::{Field, OutOfMemory, VectorField};
use crate::force::{Force, Source, Substance};
use crate::grid::{At, Grid};
use crate::poisson::{self, PoissonSolver};
use crate::project::Projected;
use crate::report::{StepReport, Timings};
use crate::sample::Isa;
use crate::sim::StepError;
use crate::texture::TextureCoordinates;
use crate::trace::Tracer;
use parts::{Carried, Through};

use super::LAGGED_UP_TO;
pub use super::Splitting;

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
    /// Coordinates of what is painted on the fluid, if anything is.
    pub texture: Option<TextureCoordinates<D>>,
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
            texture: None,
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
        carried + 2 * D + 1 + Scratch::<D>::fields(options.advection, carried)
    }

    /// Sets the velocity at the centres and makes it free of divergence.
    pub fn set_velocity(&mut self, f: impl Fn([f64; D]) -> [f64; D] + Sync) -> Result<(), OutOfMemory> {
        for a in 0..D {
            self.velocity[a].set_from(&self.grid, |p| f(p)[a]);
        }
        self.start()
    }

    /// Lets `f` set one component of the initial velocity at the centres. [`StableFluids::start`] must follow.
    pub fn set_velocity_component(&mut self, a: usize, f: impl FnOnce(&mut Field<D>)) {
        f(&mut self.velocity[a]);
    }

    /// Makes the initial velocity free of divergence. Called by the first step if nobody did before.
    pub fn start(&mut self) -> Result<(), OutOfMemory> {
        self.allocate()?;
        // What a starting field has of divergence is no pressure that goes on acting.
        self.make_incompressible();
        for a in 0..D {
            self.carrier_before[a].copy_all(&self.carrier[a]);
        }
        Ok(())
    }

    fn allocate(&mut self) -> Result<(), OutOfMemory> {
        let carried = D + self.substances.len();
        self.scratch = Some(Scratch::new(&self.velocity[0], self.options.advection, carried)?);
        if self.viscosity > 0.0 {
            self.velocity.iter().try_for_each(|f| self.diffuser.prepare(f))?;
        }
        let spreading = self.substances.iter().filter(|s| s.diffusion > 0.0);
        spreading.map(|s| &s.field).try_for_each(|f| self.diffuser.prepare(f))
    }

    /// One time step.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
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
        self.carry_texture(dt);
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
        self.subtract_potential();
        self.transport(Carried::Substances, Through::Now, dt);
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

fn vector<const D: usize>(f: impl Fn(usize) -> Result<Field<D>, OutOfMemory>) -> Result<VectorField<D>, OutOfMemory> {
    let fields: Vec<_> = (0..D).map(f).collect::<Result<_, _>>()?;
    Ok(fields.try_into().expect("one field per axis"))
}

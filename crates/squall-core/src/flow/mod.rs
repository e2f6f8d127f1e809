//! The flow that all models share: face velocities, substances, forces, obstacles, and the parts of a time step.
//!
//! A model holds a `Flow` and what only it has, and writes its step as a list of parts. Each part is a public method that
//! reads like its formula, so a step of your own takes a few lines. Smoke past a ball:
//!
//! ```
//! use squall_core::flow::{Flow, Moved, Options};
//! use squall_core::force::{Buoyancy, Emitter, Supply};
//! use squall_core::solid::{Boundary, Obstacle};
//! use squall_core::{Axis, Grid, Side, shape::Sphere};
//!
//! let chimney = Axis::Bounded { lo: Side::Slip, hi: Side::Open };
//! let grid = Grid::<2>::new([48, 72], [1.0, 1.5], [Axis::Periodic, chimney]);
//! let mut flow = Flow::new(grid, Options::default())?;
//! let smoke = flow.add_substance("smoke", 0.0)?;
//! flow.forces.push(Box::new(Buoyancy { substance: smoke, strength: 4.0, ambient: 0.0 }));
//! let mut source = Emitter::new(Box::new(Sphere { center: [0.5, 0.15], radius: 0.08 }));
//! source.supply.push((smoke, Supply::Hold(1.0)));
//! flow.sources.push(Box::new(source));
//! let ball = Obstacle::new("ball", Box::new(Sphere { center: [0.45, 0.7], radius: 0.12 }));
//! flow.set_obstacles(vec![ball], Boundary::CutCells)?;
//!
//! for _ in 0..90 {
//!     let (t, dt) = (flow.time(), flow.longest_step(2.0).min(1.0 / 30.0));
//!     flow.begin(dt)?; //                       the accounts of this step; solids where they are now
//!     flow.trace(dt); //                        where everything comes from
//!     flow.advect(Moved::Everything);
//!     flow.move_obstacles(t + dt);
//!     flow.balance(); //                        what advection gained or lost of a substance is put back
//!     flow.emit(t, dt);
//!     flow.push(t, dt); //                      u += dt f
//!     let done = flow.project(None); //         lap q = div u,  u -= grad q
//!     flow.replace_pressure(dt);
//!     let report = flow.finish(dt, done)?;
//!     assert!(report.ledger.substances[smoke].excess() < 1e-3, "no more smoke than the source gives");
//! }
//! let field = &flow.substances[smoke].field;
//! assert!((0..48).any(|x| field.get([x, 44]) > 0.1), "it has risen past the ball");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | parts |
//! |---|---|
//! | `advection` | `trace`, `trace_ahead`, `advect`, `balance`, `advect_texture` |
//! | `act` | `push`, `emit`, `lose`, `diffuse` |
//! | `burn` | `burn`: fuel becomes heat, soot, flame and volume |
//! | `pressure` | `project`, `apply_pressure`, `accumulate_pressure`, `replace_pressure` |
//! | `obstacles` | `set_obstacles`, `move_obstacles` |
//! | `follow` | tiles that follow the fluid |
//! | `far` | the air without end around them |
//! | `books` | what is conserved is accounted for |
//! | `parameters` | what can be changed by name while it runs |
//! | `state` | `begin`, `finish`, reports, named fields, saving and restoring |

mod act;
mod advection;
mod books;
mod burn;
mod far;
mod follow;
mod obstacles;
mod parameters;
mod pressure;
mod replay;
mod state;

use crate::Real;
use crate::advect::{Advection, MapScratch};
use crate::cancel::CancelToken;
use crate::clock::Clock;
use crate::diffuse::{Diffusion, DiffusionScheme};
use crate::field::{Field, OutOfMemory, VectorField};
use crate::force::{Force, Source, Substance};
use crate::grid::{At, End, Ends, Grid};
use crate::layout::Layout;
use crate::model::Splitting;
use crate::report::{SolveReport, Timings};
use crate::sample::Isa;
use crate::sim::StepError;
use crate::texture::TextureCoordinates;
use crate::trace::Tracer;

pub use act::{add_change, center};
pub use advection::Moved;
pub(crate) use advection::fastest;
use books::Books;
pub use burn::Combustion;
use follow::Following;
use obstacles::Obstacles;
use pressure::{Pressure, With};
pub(crate) use state::{show, too_fast};

/// How a step is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options<const D: usize> {
    /// How values are taken from departure points.
    pub advection: Advection,
    /// How the step is split.
    pub splitting: Splitting,
    /// How departure points are found.
    pub tracer: Tracer,
    /// How viscosity and diffusion are solved where transforms can do it: what lives at centres of a box without solids, and
    /// velocities across periodic axes. All else is implicit.
    pub diffusion: DiffusionScheme,
    /// What an iterative pressure solver may leave of the divergence, relative to what it found.
    pub tolerance: f64,
    /// Where there are no bounds, the air far away moves like this, in metres per second.
    pub wind: [Real; D],
    /// Cells of clean air kept around the fluid where the grid follows it; more if the flow is fast.
    pub buffer: usize,
    /// The instruction set to compute with. All give the same bits, but for direct solves, which may differ in the last ones.
    pub isa: Isa,
}

impl<const D: usize> Default for Options<D> {
    fn default() -> Self {
        Options {
            advection: Advection::MacCormack,
            splitting: Splitting::LaggedPressure,
            tracer: Tracer::Auto,
            diffusion: DiffusionScheme::Implicit,
            tolerance: 1e-4,
            wind: [0.0; D],
            buffer: 3,
            isa: Isa::best(),
        }
    }
}

/// An incompressible flow in a box or without bounds, and what it carries.
pub struct Flow<const D: usize> {
    /// The box; or, if its axes are unbounded, the cell size and the part that is looked at.
    pub grid: Grid<D>,
    /// How a step is computed.
    pub options: Options<D>,
    /// Kinematic viscosity, in square metres per second.
    pub viscosity: f64,
    /// What is carried along.
    pub substances: Vec<Substance<D>>,
    /// What pushes.
    pub forces: Vec<Box<dyn Force<D>>>,
    /// What gives off substances.
    pub sources: Vec<Box<dyn Source<D>>>,
    /// How fuel burns, if some does.
    pub combustion: Option<Combustion>,
    /// Coordinates of what is painted on the fluid, if anything is.
    pub texture: Option<TextureCoordinates<D>>,
    /// Steps end when it asks for that.
    pub cancel: CancelToken,
    pub(crate) layout: Layout<D>,
    pub(crate) clock: Clock,
    /// How long the present step is, in seconds.
    step: f64,
    /// On faces, free of divergence between steps.
    pub(crate) velocity: VectorField<D>,
    /// The same at the beginning of the last step.
    pub(crate) before: VectorField<D>,
    /// How long before now `before` was; 0 if it says nothing.
    pub(crate) before_by: f64,
    /// Pressure over density.
    pub(crate) pressure: Field<D>,
    /// The potential that the last projection found.
    pub(crate) potential: Field<D>,
    pub(crate) scratch: MapScratch<D>,
    /// The scheme that the scratch was made for.
    scratch_for: Advection,
    pub(crate) solver: Pressure<D>,
    /// Whether it is a liquid's, and whether that comes off walls and objects that would have to draw.
    has_surface: bool,
    pub(crate) walls_let_go: bool,
    diffusion: Diffusion<D>,
    /// What the solvers for viscosity and diffusion did in this step.
    pub(crate) viscous: SolveReport,
    /// How much fluid appears, per volume and second; if any ever does.
    swelling: Option<Field<D>>,
    /// The sum of that in the last step.
    swelled: f64,
    pub(crate) obstacles: Option<Obstacles<D>>,
    /// The tiles, where the grid follows the fluid.
    following: Option<Following<D>>,
    pub(crate) books: Books,
    /// A direct solve that leaves more relative divergence than this gets a second round.
    pub(crate) refine_above: f64,
    /// Whether the initial velocity has been made free of divergence.
    started: bool,
    /// Why a state could not be restored: the next step says so.
    pub(crate) not_restored: Option<StepError>,
    /// The largest velocity component of the fluid, in metres per second, and how fast it grew in the last step; the largest in
    /// cells per second.
    pub(crate) max_speed: f64,
    pub(crate) acceleration: f64,
    pub(crate) fastest: f64,
    pub(crate) timings: Timings,
}

impl<const D: usize> Flow<D> {
    /// Clean air at rest in a box; moving with the wind where there are no bounds.
    pub fn new(grid: Grid<D>, mut options: Options<D>) -> Result<Self, OutOfMemory> {
        let unbounded = grid.is_unbounded();
        options.wind = std::array::from_fn(|a| grid.wind_past_sides(a).unwrap_or(options.wind[a]));
        // Some tile has to be there; the first step finds the right ones.
        let layout = match unbounded {
            true => Layout::tiles_within([[0; D]], grid.tile_bounds()),
            false => Layout::dense(grid.cells),
        };
        let mut flow = Flow {
            viscosity: 0.0,
            substances: Vec::new(),
            forces: Vec::new(),
            sources: Vec::new(),
            combustion: None,
            texture: None,
            clock: Clock::default(),
            step: 0.0,
            velocity: faces(&layout, |c| velocity_ends(&grid, &options, c))?,
            before: faces(&layout, |c| velocity_ends(&grid, &options, c))?,
            before_by: 0.0,
            pressure: Field::on(&layout, At::Center, grid.pressure_ends())?,
            potential: Field::on(&layout, At::Center, grid.pressure_ends())?,
            scratch: MapScratch::new(&layout, options.advection)?,
            scratch_for: options.advection,
            solver: Pressure::new(&grid, &layout, With::default(), options.isa)?,
            has_surface: false,
            walls_let_go: true,
            diffusion: Diffusion::with_isa(&layout, grid.spacing, options.isa),
            viscous: SolveReport::NONE,
            following: Following::new(&layout, &grid, options.isa)?,
            swelling: None,
            swelled: 0.0,
            obstacles: None,
            books: Books::default(),
            cancel: CancelToken::default(),
            refine_above: f64::INFINITY,
            started: false,
            not_restored: None,
            max_speed: 0.0,
            acceleration: 0.0,
            fastest: 0.0,
            timings: Timings::default(),
            layout,
            options,
            grid,
        };
        if unbounded {
            flow.fill_with_wind();
        }
        Ok(flow)
    }

    /// How many fields, each of one number per cell, a flow with this many substances takes in a box.
    pub fn fields_needed(options: &Options<D>, substances: usize) -> usize {
        2 * D + 2 + substances + MapScratch::<D>::fields(options.advection)
    }

    /// The same of a flow that nothing is advected in on the grid.
    pub fn fields_needed_by_particles(substances: usize) -> usize {
        3 * D + 2 + substances
    }

    /// Takes the memory that it takes to advect velocities and substances on the grid, or gives it back.
    pub(crate) fn advects_on_grid(&mut self, advects: bool) -> Result<(), OutOfMemory> {
        self.scratch = match advects {
            true => MapScratch::new(&self.layout, self.options.advection)?,
            false => MapScratch::to_lend(&self.layout)?,
        };
        self.scratch_for = self.options.advection;
        Ok(())
    }

    /// Adds something to be carried, of which there is `ambient` everywhere; returns its place in the list.
    pub fn add_substance(&mut self, name: &str, ambient: Real) -> Result<usize, OutOfMemory> {
        self.substances.push(Substance::on(&self.layout, &self.grid, name, ambient)?);
        Ok(self.substances.len() - 1)
    }

    /// Which cells exist.
    pub fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    /// Velocity on the faces of cells, free of divergence between steps.
    pub fn velocity(&self) -> &VectorField<D> {
        &self.velocity
    }

    /// Sets the initial velocity on faces, one component after the other; the start makes it free of divergence.
    pub fn set_velocity(&mut self, mut f: impl FnMut(usize, &mut Field<D>)) {
        for (a, u) in self.velocity.iter_mut().enumerate() {
            f(a, u);
        }
        self.started = false;
        self.before_by = 0.0;
    }

    /// Pressure over density, in square metres per second squared.
    pub fn pressure(&self) -> &Field<D> {
        &self.pressure
    }

    /// How far the simulation is.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Simulated seconds.
    pub fn time(&self) -> f64 {
        self.clock.time
    }

    /// How the pressure is solved for.
    pub fn solver(&self) -> String {
        self.solver.describe()
    }

    /// Whether the grid follows the fluid.
    pub fn is_unbounded(&self) -> bool {
        self.following.is_some()
    }
}

/// What velocity component `c` does at the ends: as the sides of the box say, or the wind far away.
fn velocity_ends<const D: usize>(grid: &Grid<D>, options: &Options<D>, c: usize) -> [Ends; D] {
    with_wind(grid.velocity_ends(c), options, c)
}

/// The ends of velocity component `c`, with the wind where there is no end.
fn with_wind<const D: usize>(ends: [Ends; D], options: &Options<D>, c: usize) -> [Ends; D] {
    ends.map(|ends| ends.map(|end| if let End::Outside(_) = end { End::Outside(options.wind[c]) } else { end }))
}

/// One field on the faces across each axis, ghosts filled.
pub(crate) fn faces<const D: usize>(
    layout: &Layout<D>,
    ends: impl Fn(usize) -> [Ends; D],
) -> Result<VectorField<D>, OutOfMemory> {
    vector(|c| {
        let mut field = Field::on(layout, At::Face(c), ends(c))?;
        field.fill_halo();
        Ok(field)
    })
}

/// One field for each axis.
pub(crate) fn vector<const D: usize>(
    f: impl Fn(usize) -> Result<Field<D>, OutOfMemory>,
) -> Result<VectorField<D>, OutOfMemory> {
    let fields: Vec<_> = (0..D).map(f).collect::<Result<_, _>>()?;
    Ok(fields.try_into().expect("one field per axis"))
}

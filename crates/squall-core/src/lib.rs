//! Fluid simulation: grids, operators, solvers and models. Physics and numbers only; files, pictures and scenes live in
//! other crates.
//!
//! A puff of warm smoke rises in a box, open at the top:
//!
//! ```
//! use squall_core::force::{Buoyancy, Substance};
//! use squall_core::model::stable_fluids::{Options, StableFluids};
//! use squall_core::{Axis, Grid, Side};
//!
//! let walls = Axis::Bounded { lo: Side::Slip, hi: Side::Slip };
//! let chimney = Axis::Bounded { lo: Side::STICKY, hi: Side::Open };
//! let grid = Grid::<2>::new([64, 96], [1.0, 1.5], [walls, chimney]);
//!
//! let mut sim = StableFluids::new(grid, Options::default())?;
//! let mut smoke = Substance::new(&grid, "smoke")?;
//! smoke.field.set_from(&grid, |p| if (p[0] - 0.5).hypot(p[1] - 0.3) < 0.1 { 1.0 } else { 0.0 });
//! sim.flow.substances.push(smoke);
//! sim.flow.forces.push(Box::new(Buoyancy { substance: 0, strength: 5.0, ambient: 0.0 }));
//!
//! for _ in 0..20 {
//!     let report = sim.step(1.0 / 30.0)?;
//!     assert!(report.relative_divergence < 1e-5);
//! }
//! assert!(sim.flow.substances[0].field.get([32, 40]) > 0.1, "the smoke has risen");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything a model does is made of public functions, so that a step of your own takes a few lines. This is Stam's
//! method, written by hand:
//!
//! ```
//! use squall_core::advect::{Advection, Flow, MapScratch, advect_mapped};
//! use squall_core::{At, Field, Grid, VectorField, poisson, project::Projection, sample::Isa, trace::Tracer};
//!
//! let grid = Grid::<2>::periodic([64, 64]);
//! let new = |at| Field::new(grid.cells, at, grid.pressure_ends()).unwrap();
//! let mut u: VectorField<2> = [new(At::Center), new(At::Center)];
//! let mut faces: VectorField<2> = [new(At::Face(0)), new(At::Face(1))];
//! let (mut q, mut spare) = (new(At::Center), [new(At::Center), new(At::Center)]);
//! let mut solver = poisson::plan(poisson::Problem::of(&grid)).build_for(&grid).unwrap();
//! let mut scratch = MapScratch::new(q.layout(), Advection::MacCormack).unwrap();
//! u[0].set_from(&grid, |p| (6.28 * p[1]).sin());
//!
//! for _ in 0..10 {
//!     let flow = Flow { grid: &grid, velocity: &faces, tracer: Tracer::Rk2, isa: Isa::best() };
//!     let [ux, uy] = &mut u;
//!     advect_mapped(Advection::MacCormack, flow, 0.02, &mut [ux, uy], &mut [], None, &mut scratch); // move
//!     u[1].par_rows(|_, v| v.iter_mut().for_each(|v| *v += 0.02 * 0.1)); //              push
//!     Projection::new(&grid, &mut *solver).centers(&mut u, &mut faces, &mut q, &mut spare); // make incompressible
//! }
//! assert!((u[1].get([5, 5]) - 0.02).abs() < 1e-3);
//! ```
//!
//! # Conventions
//!
//! * SI units: metres, seconds. Whatever decays or is emitted is a rate per second.
//! * Axes are x, y, z; **y points up** in 2D and in 3D. Cell 0 begins at the origin of the grid.
//! * A value lives at the centre of its cell, on a lower face or at the lower corner ([`At`]); the field knows which.
//! * Ghost cells hold the boundary conditions. Who needs them fills them first ([`Field::fill_halo`], free if it was done).
//! * 2D and 3D are one source: `const D: usize`.
//! * The same input gives the same bits on any number of threads, on one kind of machine. Kernels of ours give the same bits
//!   on every instruction set, too; the FFTs of the direct solver do not, as their library has other algorithms for each.
//!   Who needs the same from those everywhere builds them for [`sample::Isa::Portable`].
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`grid`], [`layout`], [`field`], [`rows`] | where cells are, how they lie in memory, values on them, loops over rows |
//! | `halo` (private) | the one file that knows what each boundary means |
//! | [`tiles`], [`scatter`] | loops over tiles; sums of what particles contribute |
//! | [`sample`], [`trace`], [`advect`] | values between cells, paths of the flow, transport |
//! | [`ops`] | divergence, sums, maxima |
//! | [`poisson`], [`diffuse`], [`mod@project`] | direct solvers, diffusion, the divergence-free part of a field |
//! | [`force`], [`shape`] | what acts on a fluid, what is inside of what |
//! | [`solid`] | obstacles: open parts of faces, flow and smoke around them |
//! | [`texture`], [`embers`] | coordinates that the flow carries, for patterns painted on it; glowing bits that it carries |
//! | [`model`] | whole time steps |
//! | [`surface`] | the surface of a liquid for files and pictures: fine distances, meshes |
//! | [`snapshot`], [`replay`] | fields at one moment; flows that are recorded, mixed and put back |
//! | [`parameter`] | what can be read and changed by name while a simulation runs |
//! | [`cancel`] | stopping within a step |
//! | [`clock`], [`report`], [`ledger`], [`sim`], [`volume`] | time, what happened, what is conserved, what others see |

pub mod advect;
pub mod cancel;
pub mod clock;
pub mod diffuse;
pub mod embers;
pub mod field;
pub mod flow;
pub mod force;
pub mod grid;
mod halo;
mod large_pages;
pub mod layout;
pub mod ledger;
pub mod level_set;
pub mod model;
pub mod ops;
pub mod parameter;
pub mod particles;
pub mod poisson;
pub mod project;
pub mod replay;
pub mod report;
pub mod rows;
pub mod sample;
pub mod scatter;
pub mod shape;
pub mod sim;
pub mod snapshot;
pub mod solid;
pub mod surface;
pub mod texture;
mod threads;
pub mod tiles;
pub mod trace;
pub mod visit;
pub mod volume;

/// The number type of fields. Time, sums and norms are `f64`.
pub type Real = f32;

pub use cancel::CancelToken;
pub use clock::Clock;
pub use field::{Field, OutOfMemory, VectorField};
pub use grid::{At, Axis, End, Ends, Grid, Side};
pub use layout::{HALO, Layout, Row};
pub use parameter::{Parameter, ParameterError, Value};
pub use replay::Replay;
pub use report::{SolveReport, StepReport, Timings};
pub use shape::Shape;
pub use sim::{FieldInfo, Figure, NotFinite, Particles, Simulation, StateVisitor, StepError};
pub use snapshot::Snapshot;
pub use texture::TextureCoordinates;
pub use volume::Volume;

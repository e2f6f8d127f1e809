//! Fluid simulation: grids, operators, solvers and models.

pub mod advect;
pub mod clock;
pub mod diffuse;
pub mod field;
pub mod force;
pub mod grid;
mod halo;
pub mod layout;
pub mod model;
pub mod ops;
pub mod poisson;
pub mod project;
pub mod report;
pub mod rows;
pub mod sample;
pub mod sim;
pub mod trace;

/// The number type of fields. Time, sums and norms are `f64`.
pub type Real = f32;

pub use clock::Clock;
pub use field::{Field, OutOfMemory, VectorField};
pub use grid::{At, Axis, End, Ends, Grid, Side};
pub use layout::{HALO, Layout, Row};
pub use report::{SolveReport, StepReport, Timings};
pub use sim::{FieldInfo, NotFinite, Simulation, StateVisitor};

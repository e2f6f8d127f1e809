//! Fluid simulation: grids, operators, solvers and models.

pub mod field;
pub mod grid;
mod halo;
pub mod layout;
pub mod ops;
pub mod rows;

/// The number type of fields. Time, sums and norms are `f64`.
pub type Real = f32;

pub use field::{Field, OutOfMemory, VectorField};
pub use grid::{At, Axis, End, Ends, Grid, Side};
pub use layout::{HALO, Layout, Row};

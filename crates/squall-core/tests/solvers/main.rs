//! Facts about linear solvers: free surfaces and implicit diffusion against dense matrices, iteration counts, bits.

#[path = "../facts/common/mod.rs"]
mod common;

mod bits;
mod dense;
mod diffusion;
mod flows;
mod stress;
mod surface;
mod transforms;

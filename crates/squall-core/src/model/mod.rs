//! Models: each file holds one whole time step.

pub mod stable_fluids;

pub use stable_fluids::StableFluids;

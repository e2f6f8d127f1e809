//! Facts about fluids: what the solvers must do, against exact solutions, published data and each other.
//!
//! One program, as each test program compiles all kernels anew.

mod common;

mod cancel;
mod confinement;
mod conservation;
mod faults;
mod fire;
mod flows;
mod free_space;
mod karman;
mod ledger;
mod mac;
mod multigrid;
mod noise;
mod parameters;
mod projection;
mod promises;
mod scatter;
mod shapes;
mod smoke;
mod solids;
mod solids_smoke;
mod spectral;
mod target;
mod texture;
mod tiles;
mod transport;
mod viscous;
mod walls;

//! Models: each file holds one whole time step.

pub mod smoke;
pub mod stable_fluids;
pub mod target;

pub use smoke::Smoke;
pub use stable_fluids::StableFluids;
pub use target::TargetSmoke;

/// How a step is split into parts. What a fluid loses, it loses mostly here.
///
/// | splitting | transports | projections | order in time | use |
/// |---|---|---|---|---|
/// | `LaggedPressure` | 1 | 1 | 2 | default: keeps vortices alive at the price of a plain step |
/// | `Reflection` | 2 | 2 | 2 | the same for long steps (Zehnder, Narain & Thomaszewski 2018) |
/// | `Plain` | 1 | 1 | 1 | everything is moved at once, then forces, then projection |
/// | `Paper` | 2 | 1 | 1 | the order of Stam's paper: force, transport, diffuse, project, then substances |
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

/// Above this many cells per step the last pressure says nothing about the next: it is left out.
pub(crate) const LAGGED_UP_TO: f64 = 4.0;

//! Words that scenes choose from.

use super::read::{Read, Reader, choices, word};
use super::tree::Node;

/// Names of the built-in colour maps.
pub const MAPS: &[&str] = squall_render::ColorMap::names();

choices! {
    /// Which model computes the fluid.
    pub enum Model {
        /// Stable fluids: smoke, ink and air in a box.
        StableFluids = "stable_fluids",
    }

    /// How values are carried along with the fluid.
    pub enum Advection {
        /// Second order, with a limiter: the sharpest.
        MacCormack = "maccormack",
        /// First order: soft and quick.
        SemiLagrangian = "semi_lagrangian",
        /// Monotone cubic interpolation: between the two.
        MonotoneCubic = "monotone_cubic",
    }

    /// How a step is split into advection and pressure.
    pub enum Splitting {
        /// Pressure of the last step and a centred trace: second order, one projection.
        LaggedPressure = "lagged_pressure",
        /// Advection-reflection: two projections, best at large steps.
        Reflection = "reflection",
        /// Advect, then forces, then project.
        Plain = "plain",
        /// The order of Stam's paper: forces, advect, diffuse, project.
        Paper = "paper",
    }

    /// Which velocity carries values.
    pub enum AdvectWith {
        /// That of the faces, which has no divergence.
        Face = "face",
        /// That of the cell centres.
        Cell = "cell",
    }

    /// How paths are traced back.
    pub enum Tracer {
        /// Second order, third order at large steps.
        Auto = "auto",
        /// Midpoint rule.
        Rk2 = "rk2",
        /// Ralston's third-order rule.
        Rk3 = "rk3",
        /// Shorter steps where the velocity changes quickly.
        Adaptive = "adaptive",
    }

    /// How viscosity and diffusion are stepped.
    pub enum Diffusion {
        /// Backward Euler.
        Implicit = "implicit",
        /// The exact decay of each mode.
        Exact = "exact",
    }

    /// The movie written after the last frame.
    pub enum Movie {
        /// GIF: plays everywhere, 256 colours.
        Gif = "gif",
        /// Animated PNG: all colours.
        Apng = "apng",
        /// MP4 (H.264).
        Mp4 = "mp4",
        /// Only the frames.
        None = "none",
    }

    /// How substances look.
    pub enum PictureMode {
        /// They glow.
        Emission = "emission",
        /// They absorb, as ink on paper does.
        Ink = "ink",
    }
}

//! Textures advected with the fluid, and stirring rods.

use super::choices::Photo;
use super::key::Matters::Look;
use super::key::Range::{Above, Within};
use super::table::table;
use super::{Animated, Vector};
use crate::diagnostic::Spanned;

table! {
    /// A texture advected with the fluid: exactly one of detail, noise, lines, image and pattern.
    pub struct Texture {
        /// Interval after which texture coordinates are reset. Three sets are reset in turn and blended, so that nothing jumps. If longer than the run they are never reset.
        period: f64 ["s", Above(0.0)] (4.0),
        /// Finer detail than the grid has, for smoke and fire in 3D: what is shown is displaced by swirls that the flow carries; `{}` uses the defaults.
        detail: TextureDetail [Look] (none ""),
        /// Cloud noise; `{}` uses the defaults.
        noise: TextureNoise [Look] (none ""),
        /// Parallel lines, or in 3D sheets; `{}` uses the defaults.
        lines: TextureLines [Look] (none ""),
        /// A PNG, JPEG, WebP, GIF, BMP, TIFF or SVG file in the folder of the scene; transparent pixels are white.
        image: String [Look] (none ""),
        /// A built-in pattern; `"inks"` are drops of ink, as for marbled paper.
        pattern: Photo [Look] (none ""),
        /// Width and height of an `image` or `pattern`, which then repeats.
        size: Vec<Spanned<f64>> ["m", Above(0.0), Look] (none "the box; patterns are square"),
        /// Strength in substances: their density is multiplied by the pattern, whose mean is 1. With `detail`, the strength of the displacement.
        strength: f64 [Within(0.0, 1.0), Look] (0.7),
        /// Restore the contrast that is lost by blending.
        contrast: bool [Look] (none "true for noise and lines"),
        /// Upsampling factor of 3D pictures and volumes.
        refine: u32 [Within(1.0, 4.0), Look] (2),
    }

    /// Swirls that displace what is shown.
    pub struct TextureDetail {
        /// Size of the largest swirls.
        scale: f64 ["m", Above(0.0)] (|r| 8.0 * r.cell(); "8 cells"),
        /// Number of octaves, each half the size of the one before.
        octaves: u32 [Within(1.0, 8.0)] (4),
        /// Seed of the swirls.
        seed: u64 [] (|r| r.seed; "that of the scene"),
    }

    /// Clouds.
    pub struct TextureNoise {
        /// Size of the largest features.
        scale: f64 ["m", Above(0.0)] (|r| r.longest() / 12.0; "1/12 of the longest side"),
        /// Number of octaves, each half the size of the one before.
        octaves: u32 [Within(1.0, 8.0)] (4),
        /// Amplitude of each octave relative to the one before.
        gain: f64 [Within(0.0, 1.0)] (0.6),
        /// Seed of the noise.
        seed: u64 [] (|r| r.seed; "that of the scene"),
    }

    /// Lines, or in 3D sheets, side by side.
    pub struct TextureLines {
        /// Distance between lines.
        spacing: f64 ["m", Above(0.0)] (|r| r.longest() / 24.0; "1/24 of the longest side"),
        /// Direction from one line to the next.
        direction: Vector [] (|r| r.along_x(); "along x"),
        /// Amplitude of their bends, in spacings.
        warp: f64 [Within(0.0, 5.0)] (0.35),
        /// Seed of their bends.
        seed: u64 [] (|r| r.seed; "that of the scene"),
    }

    /// Moves rods along a path through the fluid, which they drag along.
    pub struct Stir {
        /// Points of a smooth path: two or more. In a periodic box the path may cross the sides.
        path: Vec<Spanned<Vector>> ["m"] (required "[[0.2, 0.5], [0.8, 0.5]]"),
        /// Speed of the rod.
        speed: f64 ["m/s", Above(0.0)] (none "the longest side in 2 s"),
        /// Time at each point, in seconds after `from`; replaces `speed`.
        times: Vec<Spanned<f64>> ["s"] (none "by `speed`"),
        /// Radius of the rod.
        radius: f64 ["m", Above(0.0)] (|r| r.longest() / 40.0; "1/40 of the longest side"),
        /// Rate at which fluid at the rod takes on its velocity: 5 is weak, 60 strong.
        rate: Animated ["1/s", Above(0.0)] (Animated::constant(30.0)),
        /// Repeat the path until `to`. In a periodic box, a path that ends one period from its start continues from there.
        r#loop: bool [] (false),
        /// Number of rods side by side, like a comb.
        rods: u32 [Within(1.0, 100.0)] (1),
        /// Offset from one rod to the next; required if there are several.
        apart: Vector ["m"] (|r| r.zeros(); "0"),
    }
}

//! What is painted on the fluid.

use super::choices::Photo;
use super::read::{Read, Reader, plain_key, read_keys, table};
use super::tree::Node;
use crate::diagnostic::Spanned;

table! {
    /// A pattern that the fluid carries along: exactly one of noise, lines, image and pattern.
    pub struct Texture {
        /// Seconds after which the fluid forgets what was painted on it. Default 4.
        period: f64,
        /// Clouds.
        noise: TextureNoise,
        /// Lines, or in 3D sheets, side by side.
        lines: TextureLines,
        /// A picture: PNG, JPEG, WebP, GIF, BMP, TIFF or SVG.
        image: String,
        /// A pattern drawn by Squall.
        pattern: Photo,
        /// Width and height of `image` or `pattern`, metres: then it repeats. Default: the box; patterns are square.
        size: Vec<Spanned<f64>>,
        /// How much of it is seen in substances: 0 nothing, 1 all of it. Default 0.7.
        strength: f64,
        /// Whether the contrast that blending takes is given back. Default: true for noise and lines.
        contrast: bool,
        /// How many times finer than the grid 3D pictures and volumes are made, 1 to 4. Default 2.
        refine: u64,
    }

    /// Clouds.
    pub struct TextureNoise {
        /// Size of the largest features, metres. Default: 1/12 of the longest side.
        scale: f64,
        /// How many sizes there are, each half of the one before. Default 4.
        octaves: u64,
        /// How strong each size is, as a part of the one before. Default 0.6.
        gain: f64,
        /// Another number makes other clouds. Default: the seed of the scene.
        seed: u64,
    }

    /// Lines, or in 3D sheets, side by side.
    pub struct TextureLines {
        /// From one line to the next, metres. Default: 1/24 of the longest side.
        spacing: f64,
        /// The direction from one line to the next. Default: along x.
        direction: Vec<Spanned<f64>>,
        /// How much they are bent, in spacings. Default 0.35.
        warp: f64,
        /// Another number bends them otherwise. Default: the seed of the scene.
        seed: u64,
    }

    /// Moves rods along a path through the fluid, which they drag along.
    pub struct Stir {
        /// Points that the path passes, smoothly. Required.
        path: Vec<Spanned<Vec<Spanned<f64>>>>,
        /// How fast, m/s. Default: the longest side in 2 seconds.
        speed: f64,
        /// When it is at each point, seconds after `from`: instead of `speed`.
        times: Vec<Spanned<f64>>,
        /// How thick the rod is, metres. Default: 1/40 of the longest side.
        radius: f64,
        /// How fast the fluid at the rod takes its velocity, 1/s. Default 30.
        rate: f64,
        /// Whether the path closes and is followed again and again. Default false.
        r#loop: bool,
        /// How many rods there are, side by side: more than one are a comb. Default 1.
        rods: u64,
        /// From one rod to the next, metres. Required if there are several.
        apart: Vec<Spanned<f64>>,
    }
}

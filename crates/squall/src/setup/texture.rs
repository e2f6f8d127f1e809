//! Textures, resolved.

use squall_render::Bitmap;

use super::File;
use crate::assets::Loaded;
pub use crate::scene::choices::Photo;

/// A pattern that the fluid carries along.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// Seconds after which the fluid forgets it.
    pub period: f64,
    /// What is painted.
    pub pattern: TexturePattern,
    /// How much of it is seen in substances, 0 to 1.
    pub strength: f64,
    /// Whether the contrast that blending takes is given back.
    pub contrast: bool,
    /// How many times finer than the grid 3D pictures and volumes are made.
    pub refine: u32,
}

/// What is painted.
#[derive(Clone, Debug, PartialEq)]
pub enum TexturePattern {
    /// Swirls that displace what is shown.
    Detail {
        /// Size of the largest, metres.
        scale: f64,
        /// How many sizes there are.
        octaves: u32,
        /// Which swirls.
        seed: u64,
    },
    /// Clouds.
    Noise {
        /// Size of the largest features, metres.
        scale: f64,
        /// How many sizes there are.
        octaves: u32,
        /// How strong each is, as a part of the one before.
        gain: f64,
        /// Which clouds.
        seed: u64,
    },
    /// Lines, or in 3D sheets, side by side.
    Lines {
        /// From one to the next, metres.
        spacing: f64,
        /// The direction from one to the next.
        direction: Vec<f64>,
        /// How much they are bent, in spacings.
        warp: f64,
        /// Which way.
        seed: u64,
    },
    /// A picture.
    Image {
        /// Its file.
        file: File,
        /// What it shows.
        picture: Loaded<Bitmap>,
        /// Width and height, metres.
        size: [f64; 2],
    },
    /// A pattern drawn by Squall.
    Photo {
        /// Which.
        photo: Photo,
        /// Width and height, metres.
        size: [f64; 2],
    },
}

impl TexturePattern {
    /// Whether it has colours of its own.
    pub fn is_colored(&self) -> bool {
        matches!(self, TexturePattern::Image { .. } | TexturePattern::Photo { .. })
    }
}

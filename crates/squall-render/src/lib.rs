//! Pictures from fluid fields.
//!
//! | module | what it draws |
//! |---|---|
//! | [`map`] | one field through a [`ColorMap`] |
//! | [`layers`] | several substances at once: glowing light or ink on paper |
//! | [`wet`] | a liquid from the side, in 2D |
//! | [`lines`] | where a 2D fluid goes: streaks and arrows over a picture |
//! | [`texture`] | patterns that a fluid carries along, in 2D and 3D |
//! | [`film`] | smoke, fire and light in three dimensions, with objects, cameras, several lights |
//! | [`maps`] | maps of two-dimensional fields for games: values that tile, normals |
//! | [`fill`] | values where there are none, from those around |
//! | [`derived`] | fields to draw that are made from velocity: vorticity, speed |
//!
//! Conventions: fields hold one value per cell, x fastest, y up: the first row of a field is the BOTTOM of the
//! picture. Pictures have their top row first. Colours are computed in linear light ([`Rgb`], 0 to 1) and become
//! 8-bit sRGB in [`Image`], with a fixed fine pattern against banding. A value that is not finite is drawn in
//! magenta. Equal input gives equal bytes for any number of threads.

pub mod color;
pub mod colormap;
pub mod derived;
pub mod fill;
pub mod film;
pub mod flow;
pub mod image;
pub mod layers;
pub mod lines;
pub mod map;
pub mod maps;
pub mod plane;
mod relief;
mod resample;
pub mod texture;
pub mod wet;

pub use color::{Background, Rgb};
pub use colormap::ColorMap;
pub use image::Image;
pub use layers::{Layer, Mixing, draw_layers};
pub use map::{MapStyle, Range, draw_map};
pub use plane::{Plane, RenderError};
pub use texture::{Bitmap, Pattern, Photo, Swirls, Texture};
pub use wet::{WetStyle, draw_wet};

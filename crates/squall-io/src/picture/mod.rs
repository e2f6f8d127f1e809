//! What users draw, as densities: smoke forms a logo, a word, a photograph.
//!
//! A file becomes an [`Artwork`] (colours), that becomes an [`Ink`] (how much is drawn where, and in which colour), and
//! that becomes a density on the cells of a grid.
//!
//! ```
//! use squall_core::{Grid, Side};
//! use squall_io::picture::{Font, Placement, draw_text};
//!
//! let word = draw_text("Hello", &Font::carried(), [400, 400])?;
//! let grid = Grid::walled([64, 32], Side::Slip);
//! let density = word.density(&grid, &Placement::default())?;
//! assert_eq!(density.len(), 64 * 32);
//! # Ok::<(), squall_io::picture::PictureError>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `decode` | PNG, JPEG, WebP, GIF, BMP, TIFF, also their frames |
//! | `svg`, `svg_limits` | SVG drawings (the feature `svg`, on by default) |
//! | `text` | letters of a font |
//! | `ink`, `colors` | what is drawn and what is paper; the colours apart from each other |
//! | `place`, `weights` | from pixels to cells |
//!
//! Files come from anywhere: sizes are checked before memory is taken, and no file opens another one. The same file gives
//! the same values on every machine: no fonts or colour profiles of the system are used.

mod colors;
mod decode;
mod error;
mod ink;
mod place;
#[cfg(feature = "svg")]
mod svg;
#[cfg(feature = "svg")]
mod svg_limits;
#[cfg(test)]
mod tests;
mod text;
mod weights;

pub use decode::{Frames, load_picture, parse_frames, parse_picture};
pub use error::PictureError;
pub use ink::{Channel, Coverage, Ink};
pub use place::{Fit, Placement};
#[cfg(feature = "svg")]
pub use svg::{load_svg, parse_svg};
pub use text::{Font, draw_text};
pub use weights::AxisWeights;

use crate::output::IoError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Larger files are refused.
const MOST_BYTES: u64 = 512 << 20;

/// Longest side of a picture in a file, in pixels.
const MOST_PIXELS_A_SIDE: u32 = 16_384;

/// What the pixels of a picture may take when decoded, in bytes: 50 million pixels of four bytes.
const MOST_DECODED_BYTES: u64 = 200_000_000;

/// What else a file may hold, such as colour profiles, in bytes when unpacked. It is not even used.
const MOST_OTHER_BYTES: u64 = 16 << 20;

/// Longest side of an [`Artwork`], in pixels: larger pictures are averaged down to it while they are read.
const MOST_KEPT_A_SIDE: usize = 4096;

/// A picture: colours, before it is decided what of it is smoke.
#[derive(Clone, Debug, PartialEq)]
pub struct Artwork {
    /// What it is called in messages: its file.
    pub name: String,
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green, blue as sRGB stores them and alpha, from 0 to 1, not multiplied with each other; the top row first.
    ///
    /// As stored, not as light: programs draw the smooth edges of shapes by mixing stored values, so a pixel that is half
    /// covered lies half-way between ink and paper there.
    pub pixels: Vec<[f32; 4]>,
}

/// Whether a file is an SVG drawing: by its beginning, or else by its extension.
pub fn is_svg(data: &[u8], path: &Path) -> bool {
    let text = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data).trim_ascii_start();
    text.starts_with(b"<svg")
        || text.starts_with(b"<?xml")
        || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg") && !text.starts_with(b"\x89PNG"))
}

/// Reads a picture or, as large as fits into `resolution` pixels, a drawing, from the content of the file `path`.
pub fn parse_artwork(data: &[u8], path: &Path, resolution: [usize; 2]) -> Result<Artwork, PictureError> {
    if !is_svg(data, path) {
        return parse_picture(data, path);
    }
    #[cfg(feature = "svg")]
    return parse_svg(data, path, resolution);
    #[cfg(not(feature = "svg"))]
    {
        let _ = resolution;
        Err(PictureError::Unknown { path: path.to_owned() })
    }
}

/// [`parse_artwork`] of a file.
pub fn load_artwork(path: impl AsRef<Path>, resolution: [usize; 2]) -> Result<Artwork, PictureError> {
    let path = path.as_ref();
    parse_artwork(&read_limited(path, MOST_BYTES)?, path, resolution)
}

/// The bytes of a regular file of limited size.
fn read_limited(path: &Path, most: u64) -> Result<Vec<u8>, PictureError> {
    // Asked before opening: opening a pipe would wait for its other end.
    let about = std::fs::metadata(path).map_err(IoError::file(path, "read"))?;
    if !about.is_file() {
        return Err(IoError::content(path, "this is not a file").into());
    }
    if about.len() > most {
        let what = format!("{} MB, where at most {} MB are read", about.len() >> 20, most >> 20);
        return Err(PictureError::TooLarge { path: path.to_owned(), what });
    }
    let mut data = Vec::with_capacity(about.len() as usize);
    let file = File::open(path).map_err(IoError::file(path, "read"))?;
    // It may have grown since.
    file.take(most).read_to_end(&mut data).map_err(IoError::file(path, "read"))?;
    Ok(data)
}

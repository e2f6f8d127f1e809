//! What can be wrong with a picture, a drawing, a font or a text.

use crate::output::IoError;
use std::path::PathBuf;

/// Why something drawn cannot be used. The message names the file, what is wrong and what helps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The file cannot be read at all.
    #[error(transparent)]
    Io(#[from] IoError),
    /// It is none of the formats.
    #[error("{}: the format is not known: use PNG, JPEG, WebP, GIF, BMP, TIFF or SVG", .path.display())]
    Unknown {
        /// Which file.
        path: PathBuf,
    },
    /// It breaks off, or breaks the rules of its format.
    #[error("{} is not a whole {format} picture: {reason}; save it again, or as PNG", .path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What it looks like.
        format: &'static str,
        /// What the decoder says.
        reason: String,
    },
    /// It would take too much memory.
    #[error("{} is too large: {what}; make it smaller", .path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// What is how large.
        what: String,
    },
    /// It would take too much time or memory to draw.
    #[error("{} is too complex: {what}; simplify it, or save it as PNG", .path.display())]
    TooComplex {
        /// Which file.
        path: PathBuf,
        /// Which limit it exceeds.
        what: String,
    },
    /// There is nothing to be seen in it.
    #[error(
        "nothing is drawn in {name}: {why}; draw something, or say which channel is meant (alpha, darkness, brightness)"
    )]
    Blank {
        /// Which picture.
        name: String,
        /// How it looks instead.
        why: &'static str,
    },
    /// An SVG drawing has pictures in it.
    #[error("{} has pictures of pixels in it, and these are not drawn: save it as PNG", .path.display())]
    PictureInDrawing {
        /// Which file.
        path: PathBuf,
    },
    /// The file is no font.
    #[error("{} is not a font: use a TTF or OTF file", .path.display())]
    NotAFont {
        /// Which file.
        path: PathBuf,
    },
    /// The font lacks letters.
    #[error("the font {font} has no {characters}: leave it out, or name a font file that has it")]
    MissingCharacters {
        /// Which font.
        font: String,
        /// What is missing, each in quotes.
        characters: String,
    },
    /// The text is empty, or all spaces.
    #[error("the text has no visible letters: write some")]
    NoVisibleText,
    /// The text cannot be drawn in so many letters or pixels.
    #[error("the text cannot be drawn: {what}")]
    Text {
        /// What is wrong and what helps.
        what: String,
    },
    /// A number that places the picture makes no sense.
    #[error("a picture cannot be placed with {what}")]
    Placement {
        /// Which number, and what it may be.
        what: String,
    },
}

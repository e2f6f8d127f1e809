//! How frames are packed into textures.

use super::{Alpha, Green, Pass};

/// How `squall flipbook` packs frames into textures.
#[derive(Clone, Debug, PartialEq)]
pub struct Flipbook {
    /// Frames beside each other; `None`: nearly square.
    pub columns: Option<u32>,
    /// Rows of frames; `None`: as many as it takes.
    pub rows: Option<u32>,
    /// How many frames; `None`: what fits, at most 64.
    pub count: Option<u32>,
    /// The first frame; `None`: the first that is written.
    pub from: Option<u32>,
    /// Every how many frames of the scene one is taken; `None`: such that the whole scene is shown.
    pub every: Option<u32>,
    /// Width of a frame in pixels.
    pub width: u32,
    /// Height of a frame in pixels; `None`: as the pictures.
    pub height: Option<u32>,
    /// Pixels around each frame that repeat its edge; `None`: as `mips` needs.
    pub padding: Option<u32>,
    /// How many times a texture may be halved before frames run into each other.
    pub mips: u32,
    /// Whether both sides of the textures are powers of two.
    pub power_of_two: bool,
    /// How colours and opacity go together.
    pub alpha: Alpha,
    /// Maps besides the colours, in the order of [`Pass`].
    pub maps: Vec<Pass>,
    /// Bits of the motion map: 8 or 16.
    pub motion_bits: u32,
    /// Whether motion is fitted to what is seen in the frames before and after; otherwise it is the velocity.
    pub fit: bool,
    /// What more green means in motion and normal maps.
    pub green: Green,
    /// Whether the last frame is followed by the first.
    pub looped: bool,
    /// Whether a GIF shows the textures as a game would.
    pub preview: bool,
}

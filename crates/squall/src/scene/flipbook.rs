//! Textures for games.

use super::choices::{Alpha, Green, Pass};
use super::read::{OneOrMany, Read, Reader, plain_key, read_keys, table};
use super::tree::Node;
use crate::diagnostic::Spanned;

table! {
    /// How `squall flipbook` packs frames into textures.
    pub struct Flipbook {
        /// Frames beside each other. Default: nearly square.
        columns: u64,
        /// Rows of frames. Default: as many as it takes.
        rows: u64,
        /// How many frames. Default: what columns and rows hold, else at most 64.
        count: u64,
        /// The first frame. Default: the first that is written.
        from: u64,
        /// Every how many frames of the scene one is taken. Default: such that the whole scene is shown.
        every: u64,
        /// Width of a frame in pixels, or width and height. Default 128, and the height as the pictures.
        size: OneOrMany<Spanned<u64>>,
        /// Pixels around each frame that repeat its edge. Default: as `mips` needs.
        padding: u64,
        /// How many times a texture may be halved before frames run into each other, 0 to 6. Default 2.
        mips: u64,
        /// Whether both sides of the textures are powers of two. Default false.
        power_of_two: bool,
        /// How colours and opacity go together. Default "straight".
        alpha: Alpha,
        /// Maps besides the colours: "motion", "six_way", "normal", "depth", "temperature". Default ["motion"].
        maps: Vec<Spanned<Pass>>,
        /// Bits of the motion map: 8 or 16. Default 8.
        motion_bits: u64,
        /// Whether motion is fitted to what is seen in the frames before and after; otherwise it is the velocity. Default true.
        fit: bool,
        /// What more green means in motion and normal maps. Default "up".
        green: Green,
        /// Whether the last frame is followed by the first. Default: if the scene is a loop.
        r#loop: bool,
        /// Whether a GIF shows the textures as a game would. Default true.
        preview: bool,
    }
}

//! Textures for games.

use super::choices::{Alpha, Green, Pass};
use super::kind::OneOrMany;
use super::table::table;
use super::{MAX_FRAMES, MAX_PIXELS};
use crate::diagnostic::{Span, Spanned};
use crate::scene::key::Range::Within;

table! {
    /// How `squall flipbook` packs frames into textures.
    pub struct Flipbook {
        /// Frames per row.
        columns: u32 [Within(1.0, 1024.0)] (none "nearly square"),
        /// Rows of frames.
        rows: u32 [Within(1.0, 1024.0)] (none "as many as it takes"),
        /// Number of frames.
        count: u32 [Within(1.0, 4096.0)] (none "what columns and rows hold, else at most 64"),
        /// The first frame.
        from: u32 [Within(0.0, MAX_FRAMES)] (none "the first that is written"),
        /// Take every Nth frame of the scene.
        every: u32 [Within(1.0, MAX_FRAMES)] (none "so that the whole scene is covered"),
        /// Width of a frame, or width and height.
        size: OneOrMany<Spanned<u32>> ["pixels", Within(1.0, MAX_PIXELS)] (|_r| OneOrMany::One(Spanned { value: 128, span: Span::DEFAULT }); "128, and the height as the pictures"),
        /// Border around each frame that repeats its edge.
        padding: u32 ["pixels", Within(0.0, 256.0)] (none "as `mips` needs"),
        /// Number of mip levels without bleeding between frames: a border of 2^mips pixels.
        mips: u32 [Within(0.0, 6.0)] (2),
        /// Whether both sides of the textures are powers of two.
        power_of_two: bool [] (false),
        /// Alpha mode.
        alpha: Alpha [] (Alpha::Straight),
        /// Textures besides the colours: `"motion"`, `"six_way"`, `"normal"`, `"depth"`, `"temperature"`.
        maps: Vec<Spanned<Pass>> [] (vec![Spanned { value: Pass::Motion, span: Span::DEFAULT }]),
        /// Bits of the motion map: 8 or 16.
        motion_bits: u32 [] (8),
        /// Fit motion vectors to the neighbouring frames; otherwise they are the velocity.
        fit: bool [] (true),
        /// Green-channel convention of motion and normal maps: up as in Unity and Godot, or down as in Unreal.
        green: Green [] (Green::Up),
        /// Whether the last frame is followed by the first.
        r#loop: bool [] (|r| r.is_loop; "if the scene is a loop"),
        /// Write a GIF that plays the textures as a game would.
        preview: bool [] (true),
    }
}

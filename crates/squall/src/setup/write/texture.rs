//! Textures as TOML.

use std::fmt::{self, Write};

use super::{list, text};
use crate::setup::{Texture, TexturePattern};

pub(super) fn write_texture(out: &mut String, t: &Texture) -> fmt::Result {
    writeln!(out, "\n[texture]\nperiod = {:?}", t.period)?;
    match &t.pattern {
        TexturePattern::Noise { scale, octaves, gain, seed } => {
            writeln!(out, "noise = {{ scale = {scale:?}, octaves = {octaves}, gain = {gain:?}, seed = {seed} }}")?;
        }
        TexturePattern::Lines { spacing, direction, warp, seed } => {
            let direction = list(direction);
            writeln!(
                out,
                "lines = {{ spacing = {spacing:?}, direction = {direction}, warp = {warp:?}, seed = {seed} }}"
            )?;
        }
        TexturePattern::Image { file, size, .. } => {
            writeln!(out, "# {:?} holds {:016x}", file.name, file.fingerprint)?;
            writeln!(out, "image = {}\nsize = {}", text(&file.name), list(size))?;
        }
        TexturePattern::Photo { photo, size } => {
            writeln!(out, "pattern = \"{}\"\nsize = {}", photo.word(), list(size))?;
        }
    }
    writeln!(out, "strength = {:?}\ncontrast = {}\nrefine = {}", t.strength, t.contrast, t.refine)
}

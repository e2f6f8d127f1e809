//! Pictures, still and moving.

use super::{DensitySequence, TargetError};
use crate::assets::{Assets, numbered};
use squall_core::Grid;
use squall_core::shape::Beyond;
use squall_io::picture::{Artwork, Channel, PictureError, Placement, parse_frames};
use std::path::Path;

/// What of a picture is smoke, and where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PictureOptions {
    /// What counts as drawn.
    pub channel: Channel,
    /// Takes what is not drawn instead.
    pub invert: bool,
    /// Where it goes.
    pub placement: Placement,
}

/// The density of a picture, and its mean colour: red, green, blue as light.
pub fn picture_density(
    picture: &Artwork,
    grid: &Grid<2>,
    options: &PictureOptions,
) -> Result<(Vec<f32>, [f32; 3]), TargetError> {
    let ink = picture.ink(options.channel, options.invert)?;
    Ok((ink.coverage.density(grid, &options.placement)?, ink.color))
}

/// The density of an animated GIF, PNG or WebP, from the content of the file `path`. Frames on which nothing is drawn are
/// empty. What counts as drawn is decided for each frame: say which channel is meant if it changes. The last picture stays for its time; with [`Beyond::Loop`] it fades into the first one.
pub fn film(
    data: &[u8],
    path: &Path,
    grid: &Grid<2>,
    options: &PictureOptions,
    beyond: Beyond,
) -> Result<DensitySequence, TargetError> {
    let mut keys: Vec<(f64, Vec<f32>)> = Vec::new();
    let mut blank = None;
    for frame in parse_frames(data, path)? {
        DensitySequence::check_memory(keys.len() + 1, grid.cell_count())?;
        let (time, density) = match frame? {
            (time, Some(picture)) => match picture_density(&picture, grid, options) {
                Ok((density, _)) => (time, density),
                Err(TargetError::Picture(error @ PictureError::Blank { .. })) => {
                    blank.get_or_insert(error);
                    (time, vec![0.0; grid.cell_count()])
                }
                Err(error) => return Err(error),
            },
            (end, None) => {
                let last = if beyond == Beyond::Loop { 0 } else { keys.len().saturating_sub(1) };
                (end, keys.get(last).map_or_else(Vec::new, |key| key.1.clone()))
            }
        };
        keys.push((time, density));
    }
    match blank {
        Some(blank) if keys.iter().all(|(_, density)| density.iter().all(|&v| v == 0.0)) => Err(blank.into()),
        _ => DensitySequence::new(keys, beyond),
    }
}

/// The densities of numbered files, `fps` of them per second from time 0 on: `pattern` holds `{frame}` or `####`.
/// `density` makes one of the content of a file and its name.
pub fn numbered_files(
    assets: &Assets,
    pattern: &str,
    [first, last]: [u64; 2],
    fps: f64,
    beyond: Beyond,
    mut density: impl FnMut(&[u8], &Path) -> Result<Vec<f32>, TargetError>,
) -> Result<DensitySequence, TargetError> {
    let wrong = |what: String| TargetError::Sequence { what };
    if !(fps.is_finite() && fps > 0.0) {
        return Err(wrong(format!("{fps} frames per second: give a positive number")));
    }
    let mut keys: Vec<(f64, Vec<f32>)> = Vec::new();
    for frame in first..=last {
        let name = numbered(pattern, frame)
            .ok_or_else(|| wrong(format!("`{pattern}` has no `{{frame}}` and no `####` for the number")))?;
        DensitySequence::check_memory(keys.len() + 1, keys.first().map_or(0, |key| key.1.len()))?;
        let loaded = keys.len() * keys.first().map_or(0, |key| size_of_val(&*key.1));
        let density = density(&assets.read_after(loaded as u64, &name)?, Path::new(&name))?;
        keys.push(((frame - first) as f64 / fps, density));
    }
    DensitySequence::new(keys, beyond)
}

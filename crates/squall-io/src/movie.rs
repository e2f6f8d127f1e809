//! Movies, assembled from the finished PNG frames on disk: a resumed run gives the same bytes as an uninterrupted one.

use crate::image::{Picture, read_png};
use crate::output::IoError;
use crate::{gif_movie, mp4_movie, png_chunks};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// What kind of movie is made of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovieFormat {
    /// Plays everywhere, loops for ever; 255 colours, dithered.
    Gif,
    /// An animated PNG: lossless, loops for ever, plays in browsers.
    Apng,
    /// H.264, made by an installed `ffmpeg`.
    Mp4,
    /// No movie.
    None,
}

impl MovieFormat {
    /// The format that a file name's extension stands for.
    pub fn from_extension(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "gif" => Some(Self::Gif),
            "apng" => Some(Self::Apng),
            "mp4" => Some(Self::Mp4),
            _ => None,
        }
    }

    /// The usual extension; `None` for no movie.
    pub fn extension(self) -> Option<&'static str> {
        match self {
            Self::Gif => Some("gif"),
            Self::Apng => Some("apng"),
            Self::Mp4 => Some("mp4"),
            Self::None => None,
        }
    }
}

/// Why there is no movie.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MovieError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// There is nothing to show.
    #[error("a movie needs at least one frame")]
    NoFrames,
    /// Frames are shown at a rate that is not a positive number up to 1000.
    #[error("{0} frames per second cannot be played; choose a number above 0 and up to 1000")]
    FrameRate(f64),
    /// A frame is not like the first one.
    #[error("{}: {found}, but the first frame is {first}", .path.display())]
    UnlikeFirst {
        /// Which frame.
        path: PathBuf,
        /// What it is.
        found: String,
        /// What the first frame is.
        first: String,
    },
    /// GIF stores sizes in 16 bits.
    #[error("{width} x {height} pixels are too many for a GIF: 65535 along each side is the limit")]
    TooLargeForGif {
        /// Pixels per row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// MP4 needs a program that is not there.
    #[error("MP4 needs the program `ffmpeg`, which is not installed; install it, or choose gif or apng")]
    NoFfmpeg,
    /// That program failed.
    #[error("ffmpeg could not make {}: {message}", .path.display())]
    Ffmpeg {
        /// Which movie.
        path: PathBuf,
        /// The end of what it said.
        message: String,
    },
    /// The caller asked to stop. No movie was written.
    #[error("the movie was cancelled")]
    Cancelled,
}

/// Makes one movie of `frames`, in the order given, and writes it to `out`. `progress` hears how many frames are
/// done; `cancelled` is asked every few frames. Nothing exists under `out` unless the movie is whole.
pub fn assemble(
    frames: &[PathBuf],
    fps: f64,
    format: MovieFormat,
    out: &Path,
    progress: &mut dyn FnMut(usize),
    cancelled: &dyn Fn() -> bool,
) -> Result<(), MovieError> {
    if format == MovieFormat::None {
        return Ok(());
    }
    if frames.is_empty() {
        return Err(MovieError::NoFrames);
    }
    // Also false for NaN.
    if !(fps > 0.0 && fps <= 1000.0) {
        return Err(MovieError::FrameRate(fps));
    }
    let mut watch = |done| {
        progress(done);
        if cancelled() { Err(MovieError::Cancelled) } else { Ok(()) }
    };
    watch(0)?;
    match format {
        MovieFormat::Gif => gif_movie::write(frames, fps, out, &mut watch),
        MovieFormat::Apng => png_chunks::write_apng(frames, fps, out, &mut watch),
        MovieFormat::Mp4 => mp4_movie::write("ffmpeg".as_ref(), frames, fps, out, &mut watch),
        MovieFormat::None => Ok(()),
    }
}

/// Hears how many frames are done, and says whether to go on.
pub(crate) type Watch<'a> = dyn FnMut(usize) -> Result<(), MovieError> + 'a;

/// Pictures that are decoded at a time: enough for all cores, little enough for memory.
pub fn batch(width: u32, height: u32) -> usize {
    const MOST_BYTES: u64 = 128 << 20;
    (MOST_BYTES / (4 * u64::from(width) * u64::from(height)).max(1)).clamp(2, 16) as usize
}

/// Reads some frames in parallel; all must have the size of the first frame of the movie.
pub(crate) fn read_batch(paths: &[&PathBuf], width: u32, height: u32) -> Result<Vec<Picture>, MovieError> {
    let read = |path: &&PathBuf| {
        let picture = read_png(path)?;
        if (picture.width, picture.height) != (width, height) {
            return Err(MovieError::UnlikeFirst {
                path: path.to_path_buf(),
                found: format!("{} x {} pixels", picture.width, picture.height),
                first: format!("{width} x {height} pixels"),
            });
        }
        Ok(picture)
    };
    paths.par_iter().map(read).collect()
}

#[cfg(test)]
#[path = "movie_tests.rs"]
mod tests;

//! The movie, made of the finished pictures.

use std::path::PathBuf;

use squall_io::{MovieError, MovieFormat, assemble, movie};

use super::{End, Expected, FRAMES, FrameOutput, Job, Shot, numbered_path};
use crate::run::{Event, RunError};
use crate::setup::{Movie, Setup};

/// The format of a movie.
pub fn format(movie: Movie) -> MovieFormat {
    match movie {
        Movie::Gif => MovieFormat::Gif,
        Movie::Apng => MovieFormat::Apng,
        Movie::Mp4 => MovieFormat::Mp4,
        Movie::None => MovieFormat::None,
    }
}

pub(super) struct MovieOutput {
    format: MovieFormat,
    file: String,
    fps: f64,
    size: [u32; 2],
    frames: u32,
}

impl MovieOutput {
    /// `None` if the scene wants none.
    pub fn new(setup: &Setup, name: &str) -> Option<Self> {
        let format = format(setup.output.movie);
        let file = format!("{name}.{}", format.extension()?);
        let size = [setup.output.width, setup.output.height];
        Some(Self { format, file, fps: setup.time.fps, size, frames: setup.time.frames })
    }
}

impl FrameOutput for MovieOutput {
    fn name(&self) -> &'static str {
        "movie"
    }

    fn files(&self, _: u64) -> Vec<String> {
        Vec::new()
    }

    fn single(&self) -> Vec<String> {
        vec![self.file.clone()]
    }

    fn movie(&self) -> Option<&str> {
        Some(&self.file)
    }

    fn expected(&self) -> Expected {
        let [width, height] = self.size;
        let pixels = u64::from(width) * u64::from(height);
        // Each picture that is decoded, its colours in the palette, and what was packed of it.
        let decoded = movie::batch(width, height).min(self.frames as usize) as u64;
        // 0.1 to 0.2 bytes per pixel on the disk.
        Expected { disk: pixels / 10, memory: 0, at_the_end: (32 << 20) + pixels.saturating_mul(5 * decoded + 8) }
    }

    fn capture(&mut self, _: &Shot<'_>) -> Result<Job, RunError> {
        Ok(Box::new(|_| Ok(())))
    }

    fn finish(&self, end: &mut End<'_>) -> Result<(), RunError> {
        if (end.is_whole)(&self.file) {
            return Ok(());
        }
        let pictures: Vec<PathBuf> = end.frames.clone().map(|k| numbered_path(end.folder, FRAMES, k, "png")).collect();
        let mut progress = |done| end.observer.event(&Event::Movie { done, of: pictures.len() });
        let (path, cancel) = (end.folder.join(&self.file), end.cancel);
        match assemble(&pictures, self.fps, self.format, &path, &mut progress, &|| cancel.is_cancelled()) {
            Ok(()) => end.made.push(self.file.clone()),
            Err(MovieError::Cancelled) => end.cancelled = true,
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }
}

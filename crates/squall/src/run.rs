//! The run loop: from a setup to frames, raw fields, a log and a movie. The command, studios and bindings call it.
//!
//! A run may stop at any step and go on later: what it writes is the same, byte for byte, as if it had never stopped.

mod budget;
mod log;
mod passes;
mod render;
mod report;
mod simulate;
mod writer;

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Instant;

use squall_io::{CheckpointError, IoError, MovieError, MovieFormat, OutputFolder, Start, checkpoint};

use crate::setup::{Movie, Setup};
pub use budget::{available_memory, disk_needed, memory_needed, peak_memory};
pub use render::render;
pub use report::{Event, Mass, Observer, Outcome, RunError, Summary};
use simulate::Simulator;
pub use squall_core::CancelToken;

/// How a setup is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What the scene is called; the movie bears this name.
    pub name: String,
    /// The folder for everything that is written.
    pub out: PathBuf,
    /// What is done with output that is already there.
    pub start: Start,
    /// Whether a pressure solve that misses its tolerance is an error.
    pub strict: bool,
    /// Most bytes of memory that the run may take; `None`: nine tenths of what is available, if that is known.
    pub memory_limit: Option<u64>,
}

impl RunOptions {
    /// Resumes, is not strict, and leaves a tenth of the available memory free.
    pub fn new(name: impl Into<String>, out: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), out: out.into(), start: Start::Resume, strict: false, memory_limit: None }
    }
}

/// Runs a setup and writes its frames. Threads are those of the rayon pool that it is called in.
pub fn run(
    setup: &Setup,
    options: &RunOptions,
    observer: &mut dyn Observer,
    cancel: &CancelToken,
) -> Result<Summary, RunError> {
    let start = Instant::now();
    let last = u64::from(setup.time.frames);
    if setup.output.movie == Movie::Mp4 && !is_installed("ffmpeg") {
        // Better now than after a night of computing.
        return Err(MovieError::NoFfmpeg.into());
    }
    budget::check_memory(setup, options)?;
    let _lock = lock(&options.out)?;
    let mut folder = open_folder(setup, options)?;
    let checkpoint = newest_checkpoint(&folder, setup, options, observer)?;
    let resumed_from = checkpoint.as_ref().map(|c| c.position.frame);
    for frame in frames(setup, resumed_from.unwrap_or(0).min(last)).filter(|_| resumed_from.is_some()) {
        require(&folder.frame_path(FRAMES, frame, "png"))?;
    }

    let mut summary = Summary::new(setup, &folder, resumed_from);
    if resumed_from.is_some_and(|frame| frame >= last) {
        summary.outcome = Outcome::AlreadyDone;
    } else {
        budget::check_disk(setup, folder.path(), last - resumed_from.unwrap_or(0))?;
        remove(&movie_path(&folder, setup, options))?;
        observer.event(&Event::Started { first: resumed_from.unwrap_or(0) + 1, last, resumed_from });
        let mut simulator = Simulator::new(setup, options, folder, checkpoint)?;
        let ran = simulator.run_to(last, observer, cancel);
        // Whatever happened, finished frames and the log reach the disk.
        folder = simulator.close(ran, &mut summary, observer)?;
    }
    if summary.outcome != Outcome::Cancelled {
        summary.movie = make_movie(setup, options, &folder, observer, cancel)?;
    }
    if cancel.is_cancelled() && summary.movie.is_none() && setup.output.movie != Movie::None {
        summary.outcome = Outcome::Cancelled;
    }
    summary.seconds = start.elapsed().as_secs_f64();
    summary.peak_memory = peak_memory();
    Ok(summary)
}

/// The series of the pictures: `frame_0001.png`.
const FRAMES: &str = "frame";
/// The series of the volumes: `volume_0001.vdb`.
const VOLUMES: &str = "volume";
/// The scene with every value filled in.
const SCENE: &str = "scene.toml";
const STEPS: &str = "steps.csv";
const TIMINGS: &str = "timings.csv";
/// How well smokes meet their targets, frame by frame.
const TARGETS: &str = "targets.csv";

/// The frames that are written, up to `last`.
fn frames(setup: &Setup, last: u64) -> std::ops::RangeInclusive<u64> {
    u64::from(!setup.time.include_start)..=last
}

/// Keeps other runs out of the folder until it is dropped, or the process ends in whatever way.
fn lock(folder: &Path) -> Result<File, RunError> {
    let path = folder.join(".squall-lock");
    let failed = |action| move |source| IoError::File { path: folder.to_owned(), action, source };
    std::fs::create_dir_all(folder).map_err(failed("create the folder"))?;
    let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed("write into"))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RunError::Busy { folder: folder.to_owned() }),
        // Some file systems have no locks: better run without than not at all.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(file),
    }
}

fn open_folder(setup: &Setup, options: &RunOptions) -> Result<OutputFolder, RunError> {
    let volumes = setup.output.vdb.as_ref().map(|_| VOLUMES);
    let fields = setup.output.fields.iter().map(String::as_str);
    let series: Vec<&str> = [FRAMES].into_iter().chain(volumes).chain(fields).chain(passes::series(setup)).collect();
    let hash = setup.hash().into();
    let folder = OutputFolder::open(&options.out, &options.name, hash, setup.time.fps, &series, options.start)?;
    if options.start != Start::Resume {
        for log in [STEPS, TIMINGS, TARGETS, passes::SIDECAR] {
            remove(&folder.path().join(log))?;
        }
        remove(&movie_path(&folder, setup, options))?;
    }
    squall_io::write_whole(folder.path().join(SCENE), setup.to_toml().as_bytes())?;
    Ok(folder)
}

/// The checkpoint to go on from, if there is one.
fn newest_checkpoint(
    folder: &OutputFolder,
    setup: &Setup,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Option<squall_io::Checkpoint>, RunError> {
    if options.start != Start::Resume {
        return Ok(None);
    }
    match checkpoint::open_latest(folder.checkpoint_path(), setup.hash().into()) {
        Ok((checkpoint, damage)) => {
            if let Some(damage) = damage {
                observer.event(&Event::Notice(format!("{damage}; going on from the checkpoint before it")));
            }
            Ok(Some(checkpoint))
        }
        Err(CheckpointError::Io(e)) if e.is_not_found() => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn require(path: &Path) -> Result<(), RunError> {
    if path.exists() { Ok(()) } else { Err(RunError::MissingFrame { path: path.to_owned() }) }
}

fn remove(path: &Path) -> Result<(), RunError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(RunError::remove(path, e)),
        _ => Ok(()),
    }
}

fn is_installed(program: &str) -> bool {
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|p| p.join(&name).is_file()))
}

fn movie_format(setup: &Setup) -> MovieFormat {
    match setup.output.movie {
        Movie::Gif => MovieFormat::Gif,
        Movie::Apng => MovieFormat::Apng,
        Movie::Mp4 => MovieFormat::Mp4,
        Movie::None => MovieFormat::None,
    }
}

fn movie_path(folder: &OutputFolder, setup: &Setup, options: &RunOptions) -> PathBuf {
    folder.path().join(format!("{}.{}", options.name, movie_format(setup).extension().unwrap_or("gif")))
}

/// Assembles the movie unless it is there; `None`: none was wanted, or the run was cancelled.
fn make_movie(
    setup: &Setup,
    options: &RunOptions,
    folder: &OutputFolder,
    observer: &mut dyn Observer,
    cancel: &CancelToken,
) -> Result<Option<PathBuf>, RunError> {
    let (format, path) = (movie_format(setup), movie_path(folder, setup, options));
    if format == MovieFormat::None {
        return Ok(None);
    }
    if path.exists() {
        return Ok(Some(path));
    }
    let last = u64::from(setup.time.frames);
    let pictures: Vec<PathBuf> = frames(setup, last).map(|k| folder.frame_path(FRAMES, k, "png")).collect();
    let mut progress = |done| observer.event(&Event::Movie { done, of: pictures.len() });
    match squall_io::assemble(&pictures, setup.time.fps, format, &path, &mut progress, &|| cancel.is_cancelled()) {
        Ok(()) => Ok(Some(path)),
        Err(MovieError::Cancelled) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

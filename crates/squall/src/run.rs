//! The run loop: from a setup to frames, raw fields, a log and a movie. The command, studios and bindings call it.
//!
//! A run may stop at any step and go on later: what it writes is the same, byte for byte, as if it had never stopped.

mod budget;
mod log;
mod range;
mod render;
mod report;
mod resume;
mod reuse;
mod simulate;
mod stored;
mod writer;

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Instant;

use squall_io::{Files, IoError, MovieError, OutputFolder, Owner, Start};

use crate::output::{End, Outputs};
use crate::setup::{self, Movie, Setup};
pub use budget::{available_memory, disk_needed, memory_needed, memory_needed_at, peak_memory, usable_memory};
pub use render::{mesh, render};
pub use report::{Event, Mass, Observer, Outcome, RunError, Summary};
use resume::Beginning;
use reuse::Reuse;
use simulate::Simulator;
pub use squall_core::CancelToken;

/// How a setup is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What the scene is called; the movie bears this name.
    pub name: String,
    /// What tells the scene apart from others of its name, even if it is edited: then its own former output is replaced.
    pub origin: Option<String>,
    /// Where the files are that the scene names ([`Assets::place`](crate::Assets::place)): the output says it, so that it can be drawn again.
    pub assets: Option<String>,
    /// The folder for everything that is written.
    pub out: PathBuf,
    /// What is done with output that is already there.
    pub start: Start,
    /// Whether a pressure solve that misses its tolerance is an error.
    pub strict: bool,
    /// Most bytes of memory that the run may take; `None`: nine tenths of what is available, if that is known.
    pub memory_limit: Option<u64>,
    /// Only these frames are written; a run still computes those before.
    pub only: Option<std::ops::RangeInclusive<u64>>,
}

impl RunOptions {
    /// Resumes, is not strict, and leaves a tenth of the available memory free.
    pub fn new(name: impl Into<String>, out: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            origin: None,
            assets: None,
            out: out.into(),
            start: Start::Resume,
            strict: false,
            memory_limit: None,
            only: None,
        }
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
    let every = frames(setup, options);
    if every.is_empty() {
        return Err(RunError::NoFrames { frames: setup.time.frames });
    }
    let last = *every.end();
    if setup.output.movie == Movie::Mp4 && !is_installed("ffmpeg") {
        // Better now than after a night of computing.
        return Err(MovieError::NoFfmpeg.into());
    }
    budget::check_memory(setup, options)?;
    let _lock = lock(&options.out)?;
    let outputs = Outputs::new(setup, &options.name);
    let reused = reuse::draw_again(setup, options, &outputs, observer, cancel)?;
    if reused == Reuse::Cancelled {
        return Ok(Summary { outcome: Outcome::Cancelled, frames: 0, ..Summary::new(setup, &options.out, None) });
    }
    let mut folder = open_folder(setup, options, &outputs)?;
    tell_of_replacing(&folder, reused, observer);
    let (checkpoint, resumed_from) = match resume::newest_state(&mut folder, setup, options, &outputs, observer)? {
        Beginning::Start => (None, None),
        Beginning::Checkpoint(checkpoint) => {
            let frame = checkpoint.position.frame;
            (Some(*checkpoint), Some(frame))
        }
        Beginning::Done(last) => (None, Some(last)),
    };

    let mut summary = Summary::new(setup, folder.path(), resumed_from);
    if resumed_from.is_some_and(|frame| frame >= last) {
        summary.outcome = if reused == Reuse::Drawn { Outcome::DrawnAgain } else { Outcome::AlreadyDone };
    } else {
        budget::check_disk(setup, folder.path(), last - resumed_from.unwrap_or(0))?;
        observer.event(&Event::Started { first: resumed_from.unwrap_or(0) + 1, last, resumed_from });
        let untouched = checkpoint.as_ref().is_none_or(|c| c.position.step == 0);
        let range = if untouched { range::find(setup, observer, cancel)? } else { range::Found::Unneeded };
        if range == range::Found::Cancelled {
            (summary.outcome, summary.frames) = (Outcome::Cancelled, 0);
            return Ok(summary);
        }
        let mut simulator = Simulator::new(setup, options, folder, outputs, checkpoint, range)?;
        let ran = simulator.run_to(last, observer, cancel);
        // Whatever happened, finished frames and the log reach the disk.
        folder = simulator.close(ran, &mut summary, observer)?;
    }
    if summary.outcome != Outcome::Cancelled {
        let outputs = Outputs::new(setup, &options.name);
        finish(&outputs, every, folder, &mut summary, observer, cancel)?;
    }
    summary.seconds = start.elapsed().as_secs_f64();
    summary.peak_memory = peak_memory();
    Ok(summary)
}

/// The scene with every value filled in.
const SCENE: &str = "scene.toml";
const STEPS: &str = "steps.csv";
const TIMINGS: &str = "timings.csv";
/// How well smokes meet their targets, frame by frame.
const TARGETS: &str = "targets.csv";

/// The frames that are written.
fn frames(setup: &Setup, options: &RunOptions) -> std::ops::RangeInclusive<u64> {
    let (first, last) = (u64::from(!setup.time.include_start), u64::from(setup.time.frames));
    match &options.only {
        Some(only) => first.max(*only.start())..=last.min(*only.end()),
        None => first..=last,
    }
}

/// Keeps other runs out of the folder until it is dropped, or the process ends in whatever way.
fn lock(folder: &Path) -> Result<File, RunError> {
    let path = folder.join(".squall-lock");
    // A link would lead out of the folder, and opening a pipe would wait for ever.
    if path.symlink_metadata().is_ok_and(|data| !data.is_file()) {
        return Err(IoError::Content { path, reason: "not a file".to_owned() }.into());
    }
    let failed = |action| move |source| IoError::File { path: folder.to_owned(), action, source };
    std::fs::create_dir_all(folder).map_err(failed("create the folder"))?;
    let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed("write into"))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RunError::Busy { folder: folder.to_owned() }),
        // Some file systems have no locks: better run without than not at all.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(file),
    }
}

/// What a run writes besides numbered files.
fn single_files(setup: &Setup, outputs: &Outputs) -> Vec<String> {
    let own = [STEPS, TIMINGS, SCENE].into_iter().chain(figures_table(setup)).map(str::to_owned);
    own.chain(outputs.single()).collect()
}

/// The table of what the model measures of itself, if it does.
fn figures_table(setup: &Setup) -> Option<&'static str> {
    matches!(setup.model, setup::Model::TargetSmoke | setup::Model::Liquid).then_some(TARGETS)
}

/// Whose output a run is.
fn owner<'a>(setup: &Setup, options: &'a RunOptions) -> Owner<'a> {
    let origin = options.origin.as_deref();
    let assets = options.assets.as_deref().filter(|_| setup.names_files());
    Owner { scene: &options.name, origin, assets, hash: setup.hash().into(), fps: setup.time.fps }
}

fn tell_of_replacing(folder: &OutputFolder, reused: Reuse, observer: &mut dyn Observer) {
    if let Some(version) = folder.begun_by() {
        let here = env!("CARGO_PKG_VERSION");
        observer.event(&Event::Notice(format!(
            "this run was begun by Squall {version}, and this is {here}: what is computed from here on may differ; --restart begins again"
        )));
    }
    if folder.replaced() {
        let folder = folder.path().display();
        let text = match reused {
            Reuse::NotStored { by_render: true } => format!(
                "only the looks of the scene have changed, but its files do not hold what its pictures show exactly: the output in \
                 {folder} is replaced and simulated again (`squall render` draws other pictures from volumes without that)"
            ),
            Reuse::NotStored { by_render: false } => format!(
                "only the looks of the scene have changed, but no output.fields are stored to draw it from: the output in {folder} \
                 is replaced and simulated again"
            ),
            _ => format!("the scene has changed: its former output in {folder} is replaced"),
        };
        observer.event(&Event::Notice(text));
    }
}

fn open_folder(setup: &Setup, options: &RunOptions, outputs: &Outputs) -> Result<OutputFolder, RunError> {
    let single = single_files(setup, outputs);
    let files = Files { series: &outputs.series(), single: &single, end: frames(setup, options).end() + 1 };
    let folder = OutputFolder::open(&options.out, owner(setup, options), files, options.start)?;
    squall_io::write_whole(folder.path().join(SCENE), setup.to_toml().as_bytes())?;
    Ok(folder)
}

/// Makes what is made of all frames, and waits until everything is on the disk.
fn finish(
    outputs: &Outputs,
    frames: std::ops::RangeInclusive<u64>,
    mut folder: OutputFolder,
    summary: &mut Summary,
    observer: &mut dyn Observer,
    cancel: &CancelToken,
) -> Result<(), RunError> {
    outputs.update(folder.path(), *frames.end())?;
    let is_whole = |file: &str| folder.is_whole(file);
    let path = folder.path().to_owned();
    let mut end =
        End { folder: &path, frames, is_whole: &is_whole, observer, cancel, made: Vec::new(), cancelled: false };
    for output in &outputs.all {
        output.finish(&mut end)?;
    }
    let End { made, cancelled, .. } = end;
    if cancelled {
        summary.outcome = Outcome::Cancelled;
    }
    for file in &made {
        folder.record_end(file)?;
    }
    if summary.outcome != Outcome::AlreadyDone || !made.is_empty() {
        folder.sync(&outputs.single())?;
    }
    summary.movie = outputs.all.iter().filter_map(|o| o.movie()).map(|file| path.join(file)).find(|p| p.exists());
    Ok(())
}

fn is_installed(program: &str) -> bool {
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|p| p.join(&name).is_file()))
}

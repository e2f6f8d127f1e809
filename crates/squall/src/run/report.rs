//! Events, summaries and errors of a run.

use std::path::{Path, PathBuf};

use crate::looped::{Preparation, Seam};
use squall_core::StepReport;
use squall_core::ledger::{DRIFT, SLACK, Watched};
use squall_io::{CheckpointError, FolderError, IoError, MeshFileError, MovieError};
use squall_render::{Image, RenderError};

use crate::build::BuildError;
use crate::driver::{DriveError, Trouble};
use crate::picture::PainterError;
use crate::setup::Setup;

/// What happens during a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The simulation begins, or goes on.
    Started {
        /// The first frame that will be computed.
        first: u64,
        /// The last frame.
        last: u64,
        /// The finished frame of the checkpoint that the run goes on from.
        resumed_from: Option<u64>,
    },
    /// A step was made.
    Step {
        /// Its number, counted from 1 over the whole run.
        step: u64,
        /// The frame that it leads to.
        frame: u64,
        /// How far it is on the way from the frame before, 0 to 1.
        progress: f64,
        /// Wall-clock seconds that it took.
        seconds: f64,
        /// What it did.
        report: &'a StepReport,
        /// The names of the substances, in the order of their accounts.
        substances: &'a [String],
    },
    /// The accounts of a step show what nothing explains; told once for each substance and kind.
    Trouble(&'a Trouble),
    /// A step was made before the first frame can begin: for loops.
    Preparing(Preparation),
    /// A picture was drawn; it is not on disk yet.
    Picture {
        /// Which frame.
        frame: u64,
        /// The picture.
        image: &'a Image,
    },
    /// All files of a frame are on disk.
    Frame {
        /// Which frame.
        frame: u64,
        /// Its picture.
        path: &'a Path,
    },
    /// The state is on disk.
    Checkpoint {
        /// The last finished frame.
        frame: u64,
        /// Steps made.
        step: u64,
    },
    /// The movie grows.
    Movie {
        /// Frames that it has.
        done: usize,
        /// Frames that it will have.
        of: usize,
    },
    /// Something that the user should know.
    Notice(String),
}

/// Whoever watches a run.
pub trait Observer: Send {
    /// Hears of an event. The run waits meanwhile.
    fn event(&mut self, event: &Event<'_>);
}

impl<F: FnMut(&Event<'_>) + Send> Observer for F {
    fn event(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All frames are there.
    Done,
    /// All frames had been there before.
    AlreadyDone,
    /// All frames had been there, in other looks, and were drawn again without simulating.
    DrawnAgain,
    /// It was cancelled; the same call goes on.
    Cancelled,
}

/// How much there was of a substance, and where it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mass {
    /// The substance.
    pub name: String,
    /// Its integral over the fluid after the first step.
    pub first: f64,
    /// The same after the last step.
    pub last: f64,
    /// Sums over all steps of [`Account::entries`](squall_core::ledger::Account::entries).
    pub entries: [f64; 7],
    /// The smallest and the largest value after the last step.
    pub range: [f64; 2],
    /// What sources, initial and boundary values allow.
    pub allowed: [f64; 2],
    /// The worst that its accounts showed.
    pub watched: Watched,
}

impl Mass {
    /// The change relative to what there was at first; `None` if that was nothing.
    pub fn drift(&self) -> Option<f64> {
        (self.first != 0.0).then(|| (self.last - self.first) / self.first.abs())
    }

    /// What its accounts showed that nothing explains; `None`: all is well.
    pub fn trouble(&self) -> Option<String> {
        let Watched { worst_drift, worst_excess, worst_value, .. } = self.watched;
        let mut troubles = Vec::new();
        if worst_drift.abs() > DRIFT {
            let way = if worst_drift < 0.0 { "vanished" } else { "appeared" };
            troubles
                .push(format!("up to {:.2} % {way} within a second without an explanation", 100.0 * worst_drift.abs()));
        }
        if worst_excess > SLACK {
            let [low, high] = self.allowed;
            troubles.push(format!("a value of {worst_value:.5}, outside of {low:.5} to {high:.5}"));
        }
        (!troubles.is_empty()).then(|| troubles.join("; "))
    }
}

/// What a run did.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How it ended.
    pub outcome: Outcome,
    /// The last finished frame.
    pub frames: u64,
    /// The finished frame that it went on from.
    pub resumed_from: Option<u64>,
    /// Steps made over the whole run, before and after interruptions.
    pub steps: u64,
    /// Steps made by this call.
    pub steps_here: u64,
    /// Wall-clock seconds of this call.
    pub seconds: f64,
    /// Wall-clock seconds per step of this call, pictures not counted; 0 if it made none.
    pub seconds_per_step: f64,
    /// The same for each cell, in nanoseconds.
    pub ns_per_cell_step: f64,
    /// Largest `max |div u| h / max |u|` of all steps.
    pub largest_divergence: f64,
    /// How much of each substance there was; empty if no step was made.
    pub masses: Vec<Mass>,
    /// How well the loop is closed, if the run made one.
    pub seam: Option<Seam>,
    /// The folder of the output.
    pub folder: PathBuf,
    /// The movie, if there is one.
    pub movie: Option<PathBuf>,
    /// The most memory that the process ever had, in bytes, if the system says.
    pub peak_memory: Option<u64>,
}

impl Summary {
    pub(super) fn new(setup: &Setup, folder: &Path, resumed_from: Option<u64>) -> Self {
        Self {
            outcome: Outcome::Done,
            frames: u64::from(setup.time.frames),
            resumed_from,
            steps: 0,
            steps_here: 0,
            seconds: 0.0,
            seconds_per_step: 0.0,
            ns_per_cell_step: 0.0,
            largest_divergence: 0.0,
            masses: Vec::new(),
            seam: None,
            folder: folder.to_owned(),
            movie: None,
            peak_memory: None,
        }
    }
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Pictures that are taken again would replace those of the run.
    #[error("{} is the folder of the run itself", .folder.display())]
    OverItself {
        /// Which folder.
        folder: PathBuf,
    },
    /// None of the frames that were asked for is there.
    #[error("the run has frames 1 to {frames}, none of those requested")]
    NoFrames {
        /// The last one.
        frames: u32,
    },
    /// The scene needs more memory than it may take.
    #[error("the scene needs about {} of memory; {} may be used", bytes(*.needed), bytes(*.limit))]
    Memory {
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that it may take.
        limit: u64,
    },
    /// The output needs more disk space than is free.
    #[error("the output needs about {} of disk space; {} has {} left", bytes(*.needed), .folder.display(), bytes(*.free))]
    Disk {
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// Where.
        folder: PathBuf,
    },
    /// The simulation cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Another run writes into the folder.
    #[error("another run is writing into {} at this moment", .folder.display())]
    Busy {
        /// Which folder.
        folder: PathBuf,
    },
    /// The checkpoint cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A frame of an earlier run has vanished.
    #[error("{} of the run so far is missing", .path.display())]
    MissingFrame {
        /// Its file.
        path: PathBuf,
    },
    /// The run has no volumes to take pictures of.
    #[error("{} holds no volumes of a finished run", .folder.display())]
    NoVolumes {
        /// Which folder.
        folder: PathBuf,
    },
    /// The run has no raw fields to draw pictures from.
    #[error("{} lacks the fields that these pictures show", .folder.display())]
    NoFields {
        /// Which folder.
        folder: PathBuf,
    },
    /// A volume lacks what is to be shown.
    #[error("{} has no `{name}`", .path.display())]
    NoField {
        /// Which file.
        path: PathBuf,
        /// What it lacks.
        name: String,
    },
    /// The volumes were computed by another scene.
    #[error("{} was computed with another simulation: not only the appearance has changed", .folder.display())]
    OtherPhysics {
        /// Which folder.
        folder: PathBuf,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A file of particles or of a mesh cannot be read.
    #[error(transparent)]
    Mesh(#[from] MeshFileError),
    /// The run has no surface to make meshes of.
    #[error("{} holds neither particles nor volumes of a liquid", .folder.display())]
    NoSurface {
        /// Which folder.
        folder: PathBuf,
    },
    /// The picture cannot be drawn.
    #[error(transparent)]
    Picture(#[from] RenderError),
    /// The movie cannot be made. All frames are on disk.
    #[error(transparent)]
    Movie(#[from] MovieError),
    /// The simulation cannot go on.
    #[error(transparent)]
    Drive(#[from] DriveError),
}

impl From<PainterError> for RunError {
    fn from(error: PainterError) -> Self {
        match error {
            PainterError::Picture(e) => e.into(),
            PainterError::Build(e) => e.into(),
        }
    }
}

impl RunError {
    /// What the user can do about it, where that is known.
    pub fn advice(&self) -> Option<String> {
        let text = match self {
            RunError::Memory { .. } => {
                "use fewer cells (half as many along each axis take an eighth of the memory in 3D, a quarter in 2D), or raise \
                 --memory-limit"
            }
            RunError::Disk { .. } => "free some space, write fewer frames or raw fields, or choose another folder",
            RunError::Busy { .. } => "wait until it ends, or choose another folder with --out",
            RunError::Build(BuildError::Edit { .. }) => "change the [[edit]], or leave it out",
            RunError::Build(BuildError::Mesh { .. }) => "repair the mesh, give it another `scale`, or use larger cells",
            RunError::Build(_) => "use fewer cells, or close other programs",
            RunError::Folder(FolderError::OtherScene { .. }) => {
                "choose another folder with --out, or replace its output with --overwrite"
            }
            RunError::Folder(FolderError::UnknownFiles { .. }) => {
                "choose another folder with --out, or move that file away: Squall replaces nothing but its own output"
            }
            RunError::OverItself { .. } => "choose another folder with --out: the pictures of the run stay as they are",
            RunError::NoFrames { .. } => "choose frames that the run has, or raise --frames",
            RunError::Folder(FolderError::Io(IoError::Content { .. })) => {
                "choose another folder with --out, or replace what is there with --overwrite"
            }
            RunError::Checkpoint(CheckpointError::Io(_)) => return None,
            RunError::Checkpoint(_) | RunError::MissingFrame { .. } => "begin again with --restart",
            RunError::NoSurface { .. } => {
                "run the scene first, with output.particles = true, or in 3D with output.vdb = true (the default for liquids)"
            }
            RunError::NoVolumes { .. } => {
                "run the 3D scene first, with output.vdb = true (the default for smoke), or name its folder with --run"
            }
            RunError::NoFields { .. } => {
                "pictures of 2D scenes are drawn again from raw fields: add what is shown to `output.fields`, for example \
                 [\"density\"], and run the scene; textures cannot be drawn again"
            }
            RunError::NoField { .. } => "add it to `output.vdb` (fields = [...]) and run the scene again",
            RunError::OtherPhysics { .. } => {
                "run the scene again; without that only [picture], [camera], [[light]], [render] and colours may change"
            }
            RunError::Drive(e) => e.advice(),
            RunError::Movie(MovieError::NoFfmpeg) => "for example --set output.movie=gif",
            RunError::Movie(_) => "all frames are on disk; running the same command again only makes the movie",
            RunError::Io(e) | RunError::Folder(FolderError::Io(e)) if e.is_full_disk() => {
                "free some space and run the same command again to resume"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// A number of bytes for people.
pub(crate) fn bytes(n: u64) -> String {
    let n = n as f64;
    match n {
        n if n >= 1e12 => format!("{:.1} TB", n / 1e12),
        n if n >= 1e9 => format!("{:.1} GB", n / 1e9),
        n if n >= 1e6 => format!("{:.0} MB", n / 1e6),
        n => format!("{:.0} kB", n / 1e3),
    }
}

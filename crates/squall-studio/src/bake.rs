//! Finished frames of a take, in the background: what `squall run` makes of its scene file, while playing goes on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use squall::flipbook::{pack, prepare};
use squall::run::Outcome;
use squall::setup::Edit;
use squall::{CancelToken, Event, RunOptions, Setup};

use crate::open::Opened;
use crate::session::Wake;

/// What is made of a take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Export {
    /// What `[output]` of the scene says.
    #[default]
    Scene,
    /// A GIF.
    Gif,
    /// An animated PNG.
    Apng,
    /// An MP4.
    Mp4,
    /// Only the pictures.
    Frames,
    /// Textures for games.
    Flipbook,
    /// The scene without its edits, as a loop.
    Loop,
    /// OpenVDB volumes.
    Volumes,
    /// The surface of a liquid.
    Meshes,
}

impl Export {
    /// All of them.
    pub const ALL: [Export; 9] = [
        Export::Scene,
        Export::Gif,
        Export::Apng,
        Export::Mp4,
        Export::Frames,
        Export::Flipbook,
        Export::Loop,
        Export::Volumes,
        Export::Meshes,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Export::Scene => "As the scene says",
            Export::Gif => "Movie: GIF",
            Export::Apng => "Movie: animated PNG",
            Export::Mp4 => "Movie: MP4",
            Export::Frames => "Pictures",
            Export::Flipbook => "Flipbook",
            Export::Loop => "Loop",
            Export::Volumes => "VDB volumes",
            Export::Meshes => "Meshes",
        }
    }

    /// Whether a scene has it.
    pub fn fits(self, setup: &Setup) -> bool {
        match self {
            Export::Volumes => setup.dimensions() == 3,
            Export::Meshes => setup.liquid.is_some(),
            Export::Loop => setup.liquid.is_none(),
            _ => true,
        }
    }

    /// What is run for it: a take, and how many frames of it.
    pub fn setup(self, opened: &Opened, edits: &[Edit], frames: u64) -> Result<Setup, String> {
        let flat = opened.setup.dimensions() == 2;
        let keys = match self {
            Export::Scene | Export::Flipbook | Export::Loop => Vec::new(),
            Export::Gif => vec!["output.movie=\"gif\""],
            Export::Apng => vec!["output.movie=\"apng\""],
            Export::Mp4 => vec!["output.movie=\"mp4\""],
            Export::Frames => vec!["output.movie=\"none\""],
            Export::Volumes => vec!["output.movie=\"none\"", "output.vdb=true"],
            Export::Meshes if flat => vec!["output.movie=\"none\"", "output.mesh=[\"svg\"]"],
            Export::Meshes => vec!["output.movie=\"none\"", "output.mesh=[\"ply\"]"],
        };
        if self == Export::Loop {
            return opened.to_loop(frames);
        }
        let keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
        let mut setup = opened.to_bake(edits, frames, &keys)?;
        if self == Export::Flipbook {
            prepare(&mut setup).map_err(|e| e.to_string())?;
        }
        Ok(setup)
    }
}

/// How far a bake is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Frames that are on disk, and how many there will be.
    pub frames: (u64, u64),
    /// How it ended: what was made, or why it was not.
    pub ended: Option<Result<String, String>>,
}

/// A take that is being baked.
pub struct Bake {
    /// Where its frames go.
    pub out: PathBuf,
    progress: Arc<Mutex<Progress>>,
    cancel: CancelToken,
    thread: Option<JoinHandle<()>>,
}

impl Bake {
    /// Begins.
    pub fn start(setup: Setup, export: Export, name: &str, out: &Path, wake: Wake) -> Result<Self, String> {
        let frames = (0, u64::from(setup.time.frames));
        let progress = Arc::new(Mutex::new(Progress { frames, ended: None }));
        let (cancel, options) = (CancelToken::default(), RunOptions::new(name, out));
        let body = {
            let (progress, cancel) = (progress.clone(), cancel.clone());
            move || {
                let note = |f: &dyn Fn(&mut Progress)| {
                    f(&mut progress.lock().unwrap_or_else(PoisonError::into_inner));
                    wake();
                };
                let mut observer = |event: &Event<'_>| {
                    if let Event::Frame { frame, .. } = event {
                        note(&|progress| progress.frames.0 = *frame);
                    }
                };
                let ended = match squall::run(&setup, &options, &mut observer, &cancel) {
                    Ok(summary) if summary.outcome != Outcome::Cancelled && export == Export::Flipbook => {
                        let folder = options.out.join("flipbook");
                        let packed =
                            pack(&setup, &options.name, &options.out, &folder, &mut |_: &Event<'_>| (), &cancel);
                        packed.map(|_| folder.display().to_string()).map_err(|e| e.to_string())
                    }
                    Ok(summary) if summary.outcome == Outcome::Cancelled => Err("cancelled".to_owned()),
                    Ok(summary) => {
                        let made = summary.movie.unwrap_or_else(|| options.out.clone());
                        Ok(made.display().to_string())
                    }
                    Err(e) => Err(e.to_string()),
                };
                note(&|progress| progress.ended = Some(ended.clone()));
            }
        };
        let thread = std::thread::Builder::new().name("bake".to_owned()).spawn(body).map_err(|e| e.to_string())?;
        Ok(Bake { out: out.to_owned(), progress, cancel, thread: Some(thread) })
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops it. Finished frames stay, and the next bake of the same take goes on from them.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Drop for Bake {
    fn drop(&mut self) {
        self.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! Finished frames of a take, in the background: what `squall run` makes of its scene file, while playing goes on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use squall::run::Outcome;
use squall::{CancelToken, Event, RunOptions, Setup};

use crate::session::Wake;

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
    pub fn start(setup: Setup, name: &str, out: &Path, wake: Wake) -> Result<Self, String> {
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

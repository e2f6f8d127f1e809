//! Small moving pictures of the gallery: every scene is played for a moment with few cells, in the background.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use squall::gallery;
use squall_render::Image;

use crate::open::Opened;
use crate::player::{Command, Player};
use crate::session::Wake;

/// Pictures of a scene, and how far they are apart in frames of the film.
pub const PICTURES: usize = 12;
const APART: u64 = 4;
/// Their longest side, in pixels.
const PIXELS: f64 = 72.0;
/// Cells along the longest side.
const CELLS: f64 = 40.0;
/// Nobody waits longer for one scene.
const PATIENCE: Duration = Duration::from_secs(4);

/// Pictures of the scenes that have some.
type Known = Arc<Mutex<HashMap<&'static str, Vec<Image>>>>;

/// What makes the pictures.
pub struct Thumbs {
    known: Known,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Thumbs {
    /// Begins with the first scene. One core is enough for all of them.
    pub fn start(wake: Wake) -> Result<Self, String> {
        let (known, stop) = (Known::default(), Arc::new(AtomicBool::new(false)));
        let body = {
            let (known, stop) = (known.clone(), stop.clone());
            move || {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                let work = || {
                    for scene in gallery::all() {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let Ok(pictures) = pictures(scene.name, &stop) else { continue };
                        known.lock().unwrap_or_else(PoisonError::into_inner).insert(scene.name, pictures);
                        wake();
                    }
                };
                // Whatever goes wrong, scenes without pictures have their names.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match pool {
                    Ok(pool) => pool.install(work),
                    Err(_) => work(),
                }));
            }
        };
        let thread = std::thread::Builder::new().name("thumbs".to_owned()).spawn(body).map_err(|e| e.to_string())?;
        Ok(Thumbs { known, stop, thread: Some(thread) })
    }

    /// Takes the pictures of a scene, if they are there and were not taken before.
    pub fn take(&self, name: &str) -> Option<Vec<Image>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(name)
    }
}

impl Drop for Thumbs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A scene of the gallery with few cells and small pictures, and some moments of it.
pub fn pictures(name: &str, stop: &AtomicBool) -> Result<Vec<Image>, String> {
    let start = Instant::now();
    let whole = Opened::named(name)?;
    let cells = whole.setup.grid.cells.iter().copied().max().unwrap_or(1) as f64;
    let small = whole.scaled((CELLS / cells).min(1.0))?;
    let output = &small.view.output;
    let factor = PIXELS / f64::from(output.width.max(output.height));
    let width = format!("output.width={}", (f64::from(output.width) * factor).round().max(8.0));
    let height = format!("output.height={}", (f64::from(output.height) * factor).round().max(8.0));
    let keys = if small.view.film.is_some() { vec![width, height] } else { vec![width] };
    let mut player = Player::new(small.changed(&keys, &[])?)?;
    player.set_room(1);
    let mut pictures = Vec::new();
    player.command(Command::Speed(f64::INFINITY));
    while pictures.len() < PICTURES && !stop.load(Ordering::Relaxed) && start.elapsed() < PATIENCE {
        player.command(Command::GoTo((pictures.len() as u64 + 1) * APART));
        while player.has_work() {
            player.tick();
        }
        pictures.extend(player.show().image);
    }
    Ok(pictures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_has_small_pictures_that_move() {
        let pictures = pictures("plume", &AtomicBool::new(false)).unwrap();
        assert!(!pictures.is_empty() && pictures.iter().all(|p| p.width.max(p.height) <= 80), "{}", pictures[0].width);
        if pictures.len() > 1 {
            assert!(pictures[0].pixels != pictures[pictures.len() - 1].pixels);
        }
    }
}

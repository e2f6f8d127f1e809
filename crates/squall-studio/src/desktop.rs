//! Where the studio is: a desktop, with threads and a disk. `browser.rs` has the same names.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::link::Share;
use crate::session::Play;

/// Whether there are folders, and threads that write into them.
pub const HAS_DISK: bool = true;

/// So many cells run smoothly, in 2D and 3D.
pub const MOST_CELLS: [f64; 2] = [f64::INFINITY; 2];

/// The widest picture that is shown, in pixels: of flat scenes, and of those that a camera looks at.
pub const WIDEST: [u32; 2] = [640, 320];

/// Whether the graphics card draws 3D coarsely not only while the camera moves, but while time runs.
pub const COARSE_WHILE_PLAYING: bool = false;

/// What snapshots may take of memory, in bytes.
pub const SNAPSHOTS: usize = 512 << 20;

/// Makes a link of a scene, where the studio is a page that links can lead to.
pub const SHARE: Option<Share> = None;

/// A session that is played by a thread of its own.
pub struct Running(Option<JoinHandle<()>>);

impl Running {
    /// Begins.
    pub(crate) fn start(play: Play) -> Result<Self, String> {
        let thread = std::thread::Builder::new().name("simulation".to_owned()).spawn(move || run(play));
        Ok(Running(Some(thread.map_err(|e| e.to_string())?)))
    }

    /// The window need not lend a hand.
    pub(crate) fn turn(&mut self) -> Option<Duration> {
        None
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

/// As many threads as the machine has, but one for the window if there are several.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1).max(1))
}

fn run(mut play: Play) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads()).build();
    let mut whole = || -> Result<(), String> {
        while let Some(wait) = play.turn()? {
            // The next turn notices if nobody is there any more.
            play.asked = play.inbox.recv_timeout(wait).ok();
        }
        Ok(())
    };
    // A bug must not take the window along, and what was played with it: it is told.
    let played = catch_unwind(AssertUnwindSafe(|| match pool {
        Ok(pool) => pool.install(&mut whole),
        Err(_) => whole(),
    }));
    match played {
        Ok(Ok(())) => {}
        Ok(Err(reason)) => play.end(reason),
        Err(_) => play
            .end("the simulation has crashed: this is a bug, please report it; the take can still be saved".to_owned()),
    }
}

/// Does something that may take a while in a thread of its own.
pub fn aside(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop).map_err(|e| e.to_string())
}

/// Writes a file as a whole.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    squall_io::write_whole(path, bytes).map_err(|e| e.to_string())
}

/// Files that were dropped on the window, and what they say where they have no path.
#[cfg(feature = "window")]
pub fn dropped(ctx: &eframe::egui::Context) -> Vec<(std::path::PathBuf, Option<String>)> {
    ctx.input(|input| input.raw.dropped_files.iter().map(|file| (file.path().to_owned(), None)).collect())
}

/// `squall-studio [SCENE]`: a window on a scene.
#[cfg(feature = "window")]
pub fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    use crate::app::Studio;

    const USAGE: &str = "Play with fluids, paint them, and bake exactly what was played.

Usage: squall-studio [SCENE]

SCENE is a scene file, or the name of a scene of the gallery; without one the first of the gallery plays.";

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scene = match &arguments[..] {
        [] => "plume",
        [flag] if flag == "--help" || flag == "-h" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [flag] if flag == "--version" || flag == "-V" => {
            println!("squall-studio {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        [scene] => scene,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let opened = match crate::open::Opened::named(scene) {
        Ok(opened) => opened,
        Err(reason) => {
            eprintln!("{reason}");
            return ExitCode::from(3);
        }
    };
    let viewport = eframe::egui::ViewportBuilder::default().with_inner_size([1280.0, 800.0]);
    let viewport = viewport.with_min_inner_size([800.0, 500.0]).with_title("Squall");
    let ran = eframe::run_native(
        "squall-studio",
        eframe::NativeOptions { viewport, ..Default::default() },
        Box::new(|context| {
            let studio = Studio::new(&context.egui_ctx, opened)?.with_gpu(context.gl.as_ref());
            Ok(Box::new(studio.with_thumbs().with_recovery(crate::recover::folder())))
        }),
    );
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("there is no window: {e}");
            ExitCode::FAILURE
        }
    }
}

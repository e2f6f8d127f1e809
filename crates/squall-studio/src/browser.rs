//! Where the studio is: a page in a browser, without threads and without a disk. `desktop.rs` has the same names.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use eframe::egui;
use squall::gallery;
use squall_core::clock::Stopwatch;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;

use crate::app::Studio;
use crate::link::{self, Share};
use crate::open::Opened;
use crate::session::Play;

/// Whether there are folders, and threads that write into them.
pub const HAS_DISK: bool = false;

/// So many cells run smoothly, in 2D and 3D.
pub const MOST_CELLS: [f64; 2] = [128.0 * 192.0, 40.0 * 40.0 * 40.0];

/// The widest picture that is shown, in pixels: of flat scenes, and of those that a camera looks at.
pub const WIDEST: [u32; 2] = [384, 240];

/// Whether the graphics card draws 3D coarsely not only while the camera moves, but while time runs.
pub const COARSE_WHILE_PLAYING: bool = true;

/// What snapshots may take of memory, in bytes.
pub const SNAPSHOTS: usize = 128 << 20;

/// Makes a link of a scene, where the studio is a page that links can lead to.
pub const SHARE: Option<Share> = Some(share);

/// How a link says that a scene follows.
const SCENE: &str = "#scene=";

/// If there is more to do it plays for so many seconds before the window is drawn again.
const MOMENT: f64 = 0.012;

/// A session that is played by whoever draws the window, between two pictures.
pub struct Running(Option<Play>);

impl Running {
    /// Begins.
    pub(crate) fn start(play: Play) -> Result<Self, String> {
        Ok(Running(Some(play)))
    }

    /// Plays for a moment, or for a frame if that is longer.
    pub(crate) fn turn(&mut self) -> Option<Duration> {
        let play = self.0.as_mut()?;
        let clock = Stopwatch::start();
        loop {
            match play.turn() {
                Ok(Some(wait)) if wait.is_zero() && clock.seconds() < MOMENT => {}
                Ok(Some(wait)) => return Some(wait),
                Ok(None) => return None,
                Err(reason) => {
                    play.end(reason);
                    self.0 = None;
                    return None;
                }
            }
        }
    }
}

/// Does something that may take a while: nobody else can.
pub fn aside(_name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    work();
    Ok(())
}

/// What the browser says of something that it does not do.
fn told(reason: JsValue) -> String {
    format!("the browser refuses it: {reason:?}")
}

fn page() -> Result<(web_sys::Window, web_sys::Document), String> {
    let window = web_sys::window().ok_or("this is no page")?;
    let document = window.document().ok_or("this is no page")?;
    Ok((window, document))
}

/// The browser saves a file, among what it has downloaded.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let (_, document) = page()?;
    let name = path.file_name().ok_or("a file needs a name")?.to_string_lossy();
    let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(bytes));
    let blob = web_sys::Blob::new_with_u8_array_sequence(&parts).map_err(told)?;
    let address = web_sys::Url::create_object_url_with_blob(&blob).map_err(told)?;
    let anchor: web_sys::HtmlAnchorElement = document.create_element("a").map_err(told)?.unchecked_into();
    anchor.set_href(&address);
    anchor.set_download(&name);
    anchor.click();
    web_sys::Url::revoke_object_url(&address).map_err(told)
}

/// The address of this page with a scene, which also becomes what is seen in the address bar.
fn share(scene: &str) -> Result<String, String> {
    let (window, _) = page()?;
    let fragment = format!("{SCENE}{}", link::encode(scene));
    let history = window.history().map_err(told)?;
    history.replace_state_with_url(&JsValue::NULL, "", Some(&fragment)).map_err(told)?;
    window.location().href().map_err(told)
}

thread_local! {
    /// Files that were dropped and have been read.
    static READ: RefCell<Vec<(PathBuf, Option<String>)>> = const { RefCell::new(Vec::new()) };
}

/// Files that were dropped on the window, and what they say where they have no path.
pub fn dropped(ctx: &egui::Context) -> Vec<(PathBuf, Option<String>)> {
    for file in ctx.input(|input| input.raw.dropped_files.clone()) {
        let ctx = ctx.clone();
        spawn_local(async move {
            let bytes = file.bytes_async().await;
            let text = bytes.ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            READ.with_borrow_mut(|read| read.push((file.path().to_owned(), text)));
            ctx.request_repaint();
        });
    }
    READ.take()
}

/// The scene that the address of the page names: `#scene=` and the scene itself, or `#` and the name of one of the gallery.
fn addressed(fragment: &str) -> Result<Opened, String> {
    let opened = match (fragment.strip_prefix(SCENE), fragment.trim_start_matches('#')) {
        (Some(letters), _) => Opened::text("shared", &link::decode(letters)?, gallery::assets(), None),
        (None, "") => Opened::named("plume"),
        (None, name) => Opened::named(name),
    };
    opened?.within(MOST_CELLS)
}

async fn start() -> Result<(), String> {
    let (window, document) = page()?;
    let fragment = window.location().hash().map_err(told)?;
    let opened = addressed(&fragment).or_else(|reason| {
        let mut usual = addressed("")?;
        usual.notice = Some(reason);
        Ok::<_, String>(usual)
    })?;
    let canvas = document.get_element_by_id("studio").ok_or("the page has no canvas `studio`")?;
    let runner = eframe::WebRunner::new();
    let begun = runner.start(
        canvas.unchecked_into(),
        eframe::WebOptions::default(),
        Box::new(|context| {
            let studio = Studio::new(&context.egui_ctx, opened)?;
            Ok(Box::new(studio.with_gpu(context.gl.as_ref())))
        }),
    );
    begun.await.map_err(told)
}

/// The page has been loaded.
pub fn main() -> ExitCode {
    spawn_local(async {
        let told = start().await.err();
        let note = page().ok().and_then(|(_, document)| document.get_element_by_id("note"));
        match (note, told) {
            (Some(note), Some(reason)) => note.set_text_content(Some(&reason)),
            (Some(note), None) => note.remove(),
            (None, _) => {}
        }
    });
    ExitCode::SUCCESS
}

//! The window: a gallery, the picture to paint on, tools, parameters, and what was played.

mod gl;
mod keys;
mod panels;
mod targets;
mod things;
mod view;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex};

use eframe::egui::{self, Key, Modifiers, TextureHandle, Ui};
use squall::gallery;
use squall::setup::{Edit, Thing};

use crate::bake::{Bake, Export};
use crate::open::Opened;
use crate::place;
use crate::player::{Command, Shown};
use crate::recover;
use crate::session::{Session, Wake};
use crate::thumbs::Thumbs;
use targets::Targets;
use view::{Brush, View};

/// Seconds between two copies of what is not saved.
const COPY: f64 = 3.0;

/// What the window waits for an answer to: its take is not saved.
#[derive(Clone, Debug, PartialEq)]
enum Then {
    /// The window closes.
    Close,
    /// Another scene is opened.
    Open(Box<Source>),
}

/// A scene to be opened.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    Gallery(&'static str),
    File(PathBuf),
    /// What a file says that has no path here.
    Text(PathBuf, String),
    Scaled(f64),
    /// Smoke that takes one shape after the other.
    Morph(Box<squall::morph::Wishes>),
    /// A take that was left behind.
    Recovered(PathBuf),
    /// The same scene with other values of some keys, and what was played.
    Changed(Vec<String>),
}

/// The studio.
pub struct Studio {
    session: Session,
    opened: Opened,
    /// The one before, until it is known whether this one can be built.
    before: Option<Opened>,
    /// A scene that is being read, and whether it is the one that plays with other values of its keys.
    opening: Option<(bool, Receiver<Result<Opened, String>>)>,
    /// The scene as the session told of it last.
    told: Option<Arc<Opened>>,
    /// Whether the session has ended.
    ended: bool,
    wake: Wake,
    /// What is to be seen.
    shown: Shown,
    view: View,
    brush: Brush,
    /// What the parameters were when the scene was opened.
    first: Vec<squall_core::Parameter>,
    /// How many scenes the session was asked for.
    scene: u64,
    speed: f64,
    search: String,
    file: String,
    /// Where the take will be saved, and frames go.
    take: String,
    out: String,
    frames: u64,
    /// What was saved last.
    saved: Vec<Edit>,
    message: Option<String>,
    ask: Option<Then>,
    closing: bool,
    bake: Option<Bake>,
    export: Export,
    /// What was chosen of what can be moved.
    selected: Option<Thing>,
    /// Keys: what they are filtered by, what is being typed, and whether they change from the start on.
    filter: String,
    drafts: HashMap<String, String>,
    from_start: bool,
    keys: Vec<squall::scene::key::Listed>,
    targets: Targets,
    /// Small pictures of the gallery.
    thumbs: Option<Thumbs>,
    pictures: HashMap<&'static str, Vec<TextureHandle>>,
    /// Where a copy of what is not saved is kept; when that was last done, and of what.
    recovery: Option<PathBuf>,
    copied: (f64, Vec<Edit>),
    left_behind: Vec<PathBuf>,
    /// Changes of the whole scene that were saved.
    saved_changes: Vec<String>,
    arrows: bool,
    /// Pictures of the last second: when they came.
    came: std::collections::VecDeque<f64>,
}

impl Studio {
    /// A window on a scene, which plays.
    pub fn new(ctx: &egui::Context, opened: Opened) -> Result<Self, String> {
        let wake: Wake = {
            let ctx = ctx.clone();
            Arc::new(move || ctx.request_repaint())
        };
        let session = Session::start(opened.clone(), wake.clone())?;
        let mut studio = Studio {
            session,
            before: None,
            opening: None,
            ended: false,
            told: None,
            export: Export::default(),
            selected: None,
            filter: String::new(),
            drafts: HashMap::new(),
            from_start: false,
            keys: opened.setup.keys(),
            targets: Targets::default(),
            thumbs: None,
            pictures: HashMap::new(),
            recovery: None,
            copied: (0.0, Vec::new()),
            left_behind: Vec::new(),
            saved_changes: Vec::new(),
            arrows: false,
            brush: Brush::new(&opened.setup),
            wake,
            shown: Shown::default(),
            view: View::default(),
            first: Vec::new(),
            scene: 0,
            speed: 1.0,
            search: String::new(),
            file: String::new(),
            take: String::new(),
            out: String::new(),
            frames: 0,
            saved: Vec::new(),
            message: None,
            ask: None,
            closing: false,
            bake: None,
            came: std::collections::VecDeque::new(),
            opened,
        };
        studio.name_files();
        Ok(studio)
    }

    /// Draws 3D scenes on the graphics card, if there is one that can.
    pub fn with_gpu(mut self, gl: Option<&Arc<eframe::glow::Context>>) -> Self {
        match gl.map(|gl| gl::View::new(gl)) {
            Some(Ok(view)) => {
                self.view.gpu = Some(Arc::new(Mutex::new(view)));
                self.send(Command::Film(false));
            }
            Some(Err(reason)) => self.message = Some(format!("3D is drawn without the graphics card: {reason}")),
            None => {}
        }
        self
    }

    /// Shows small moving pictures of the gallery.
    pub fn with_thumbs(mut self) -> Self {
        self.thumbs = Thumbs::start(self.wake.clone()).ok();
        self
    }

    /// Keeps a copy of what is not saved in a folder, and offers what other programs have left behind there.
    pub fn with_recovery(mut self, folder: Option<PathBuf>) -> Self {
        if let Some(folder) = folder {
            self.left_behind = recover::left_behind(&folder);
            self.recovery = Some(folder);
        }
        self
    }

    /// Writes a copy of what is not saved, now and then, in a thread of its own; takes it away if all is saved.
    fn keep_copy(&mut self, now: f64) {
        let Some(folder) = &self.recovery else { return };
        if now < self.copied.0 + COPY || self.copied.1 == self.shown.edits {
            return;
        }
        self.copied = (now, self.shown.edits.clone());
        let (path, folder) = (recover::own(folder), folder.clone());
        if !self.is_unsaved() {
            let _ = std::fs::remove_file(path);
            return;
        }
        let (opened, edits) = (self.opened.clone(), self.shown.edits.clone());
        // If it cannot be written, nothing is lost but the copy.
        let _ = std::thread::Builder::new().name("copy".to_owned()).spawn(move || {
            let _ = std::fs::create_dir_all(folder);
            let _ = squall_io::write_whole(&path, recover::text(&opened, &edits).as_bytes());
        });
    }

    /// Asks what is to be done with a take that another program left behind.
    fn ask_about_left_behind(&mut self, ctx: &egui::Context) {
        let Some(path) = self.left_behind.first().cloned() else { return };
        let mut answer = None;
        egui::Modal::new(egui::Id::unique("left behind")).show(ctx, |ui| {
            ui.heading("A take was not saved");
            ui.label("The studio has ended without being closed. What was played then is still here.");
            ui.horizontal(|ui| {
                for (number, label) in ["Recover it", "Discard the take", "Ask me later"].into_iter().enumerate() {
                    if ui.button(label).clicked() {
                        answer = Some(number);
                    }
                }
            });
        });
        match answer {
            Some(0) => self.open_now(Source::Recovered(path)),
            Some(1) => {
                let _ = std::fs::remove_file(path);
            }
            Some(_) => {}
            None => return,
        }
        self.left_behind.remove(0);
    }

    /// Gives keys of the whole scene other values.
    fn change_scene(&mut self, keys: Vec<String>) {
        self.open_now(Source::Changed(keys));
    }

    fn name_files(&mut self) {
        self.take = self.opened.take_path().display().to_string();
        self.out = format!("out/{}_take", self.opened.name);
        self.saved.clone_from(&self.opened.setup.edits);
        self.saved_changes.clone_from(&self.opened.changes);
        self.keys = self.opened.setup.keys();
        self.drafts.clear();
        self.selected = None;
        self.frames = 0;
    }

    /// What is to be seen.
    pub fn shown(&self) -> &Shown {
        &self.shown
    }

    /// The scene.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// What the user was told last.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Whether something was played that is not saved.
    pub fn is_unsaved(&self) -> bool {
        self.shown.edits != self.saved && !self.shown.edits.is_empty() || self.opened.changes != self.saved_changes
    }

    /// Opens a scene of the gallery or a file; asks first if something is not saved.
    fn open(&mut self, source: Source) {
        if self.is_unsaved() {
            self.ask = Some(Then::Open(Box::new(source)));
        } else {
            self.open_now(source);
        }
    }

    /// Reads a scene in a thread of its own: its meshes and pictures may take a while.
    fn open_now(&mut self, source: Source) {
        let (sender, receiver) = channel();
        let (now, wake, edits) = (self.opened.clone(), self.wake.clone(), self.shown.edits.clone());
        let is_change = matches!(source, Source::Changed(_));
        let fitted = |opened: Opened| opened.within(place::MOST_CELLS);
        let read = move || {
            let opened = match source {
                Source::Gallery(name) => Opened::named(name).and_then(fitted),
                Source::File(path) => Opened::file(&path).and_then(fitted),
                Source::Text(path, text) => {
                    let name =
                        path.file_stem().map_or_else(|| "scene".to_owned(), |s| s.to_string_lossy().into_owned());
                    Opened::text(&name, &text, gallery::assets(), None).and_then(fitted)
                }
                Source::Scaled(factor) => now.scaled(factor),
                Source::Recovered(path) => recover::open(&path).inspect(|_| {
                    let _ = std::fs::remove_file(&path);
                }),
                Source::Changed(keys) => now.changed(&keys, &edits),
                Source::Morph(wishes) => targets::opened(&wishes).and_then(fitted),
            };
            // If the window is gone, nobody wants it.
            let _ = sender.send(opened);
            wake();
        };
        match place::aside("open", read) {
            Ok(()) => self.opening = Some((is_change, receiver)),
            Err(reason) => self.message = Some(reason),
        }
    }

    /// A scene that was read begins to play; what was there goes on if it is not right.
    fn take_opened(&mut self) {
        let Some((is_change, receiver)) = &self.opening else { return };
        let is_change = *is_change;
        let read = match receiver.try_recv() {
            Err(TryRecvError::Empty) => return,
            Ok(read) => read,
            Err(TryRecvError::Disconnected) => Err("the scene could not be read: this is a bug".to_owned()),
        };
        self.opening = None;
        match read {
            Ok(opened) if is_change && !self.ended => self.send(Command::Rebase(Box::new(opened))),
            Ok(opened) => {
                if self.ended {
                    match Session::start(opened.clone(), self.wake.clone()) {
                        Ok(session) => {
                            (self.session, self.ended, self.scene) = (session, false, 0);
                            self.send(Command::Film(self.view.gpu.is_none() || self.view.film));
                        }
                        Err(reason) => return self.message = Some(reason),
                    }
                } else {
                    self.session.send(Command::Open(Box::new(opened.clone())));
                    self.scene += 1;
                }
                self.before = Some(std::mem::replace(&mut self.opened, opened));
                self.brush = Brush::new(&self.opened.setup);
                self.first.clear();
                self.shown = Shown { scene: self.scene, ..Shown::default() };
                self.message = None;
                self.name_files();
                (self.view.look, self.view.solid) = (None, None);
                if self.opened.recovered {
                    self.saved.clear();
                }
            }
            Err(reason) => self.message = Some(reason),
        }
    }

    /// Files that were dropped on the window.
    fn take_dropped(&mut self, ctx: &egui::Context) {
        for (path, text) in place::dropped(ctx) {
            // Scenes are opened; pictures and meshes become shapes that smoke takes.
            match (path.extension().and_then(|e| e.to_str()).map(str::to_lowercase).as_deref(), text) {
                (Some("toml"), Some(text)) => self.open(Source::Text(path, text)),
                (Some("toml"), None) => self.open(Source::File(path)),
                (Some("png" | "jpg" | "jpeg" | "svg" | "obj" | "ply" | "stl" | "glb" | "gltf" | "vdb"), None) => {
                    self.targets.add_file(&path);
                }
                _ => {
                    let known = if place::HAS_DISK {
                        "a scene (.toml), a picture, a mesh, a volume"
                    } else {
                        "a scene (.toml)"
                    };
                    self.message = Some(format!("{} is none of these: {known}", path.display()));
                }
            }
        }
    }

    /// Saves what was played as a scene file.
    fn save(&mut self) -> bool {
        let text = self.opened.take(&self.shown.edits);
        match place::write(Path::new(self.take.trim()), text.as_bytes()) {
            Ok(()) => {
                self.saved.clone_from(&self.shown.edits);
                self.saved_changes.clone_from(&self.opened.changes);
                self.message = Some(format!("Saved: squall run {}", self.take.trim()));
                if let Some(folder) = &self.recovery {
                    let _ = std::fs::remove_file(recover::own(folder));
                }
                true
            }
            Err(reason) => {
                self.message = Some(reason);
                false
            }
        }
    }

    fn start_bake(&mut self) {
        let frames = if self.frames == 0 { self.shown.last } else { self.frames };
        let begun = self.export.setup(&self.opened, &self.shown.edits, frames).and_then(|setup| {
            let name = format!("{}_take", self.opened.name);
            Bake::start(setup, self.export, &name, Path::new(self.out.trim()), self.wake.clone())
        });
        match begun {
            Ok(bake) => self.bake = Some(bake),
            Err(reason) => self.message = Some(reason),
        }
    }

    /// What the session has to show.
    fn look(&mut self, ctx: &egui::Context) {
        let Some(mut shown) = self.session.latest() else { return };
        if let Some(message) = shown.message.take() {
            self.message = Some(message);
        }
        if shown.ended {
            // What was played is still here, and can be saved.
            (self.ended, self.shown.playing, self.shown.busy) = (true, false, false);
            return;
        }
        if shown.scene != self.scene {
            // Another scene is on its way.
            return;
        }
        match self.before.take() {
            Some(before) if shown.kept => {
                self.opened = before;
                self.brush = Brush::new(&self.opened.setup);
                self.name_files();
            }
            _ => {}
        }
        let has_new = shown.image.is_some() || shown.volume.is_some();
        if let Some(image) = shown.image.take() {
            self.view.show(ctx, &image);
        }
        if let Some(volume) = shown.volume.take() {
            self.view.solid = Some(volume);
        }
        if has_new {
            let now = ctx.input(|input| input.time);
            self.came.push_back(now);
            while self.came.front().is_some_and(|&t| t < now - 1.0) {
                self.came.pop_front();
            }
        }
        match (&self.told, shown.opened.take()) {
            (Some(known), Some(told)) if Arc::ptr_eq(known, &told) => {}
            (_, Some(told)) => {
                self.opened = (*told).clone();
                self.keys = self.opened.setup.keys();
                self.told = Some(told);
            }
            _ => {}
        }
        if self.first.is_empty() {
            self.first.clone_from(&shown.parameters);
        }
        self.shown = shown;
    }

    fn send(&self, command: Command) {
        self.session.send(command);
    }

    fn play_or_stop(&self) {
        self.send(if self.shown.playing { Command::Stop } else { Command::Play });
    }

    /// Keys, unless somebody types.
    fn keys(&mut self, ctx: &egui::Context) {
        if ctx.egui_wants_keyboard_input() || self.ask.is_some() {
            return;
        }
        let pressed = |modifiers: Modifiers, key: Key| ctx.input_mut(|input| input.consume_key(modifiers, key));
        if pressed(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z) || pressed(Modifiers::COMMAND, Key::Y) {
            self.send(Command::Redo);
        }
        if pressed(Modifiers::COMMAND, Key::Z) {
            self.send(Command::Undo);
        }
        if pressed(Modifiers::COMMAND, Key::S) {
            self.save();
        }
        if pressed(Modifiers::NONE, Key::Space) {
            self.play_or_stop();
        }
        if pressed(Modifiers::NONE, Key::ArrowRight) {
            self.send(Command::Step);
        }
        if pressed(Modifiers::NONE, Key::ArrowLeft) {
            self.send(Command::GoTo(self.shown.frame.saturating_sub(1)));
        }
        if pressed(Modifiers::NONE, Key::Home) {
            self.send(Command::GoTo(0));
        }
        for (key, factor) in [(Key::OpenBracket, 0.8), (Key::CloseBracket, 1.25)] {
            if pressed(Modifiers::NONE, key) {
                self.brush.resize(factor);
            }
        }
        if pressed(Modifiers::NONE, Key::F) {
            self.frame_all();
        }
        if pressed(Modifiers::NONE, Key::F11) {
            let full = ctx.input(|input| input.viewport().fullscreen.unwrap_or(false));
            ctx.send_viewport_cmd(egui::ViewportCommand::Fullscreen(!full));
        }
        for (key, yaw, pitch) in [
            (Key::ArrowLeft, -10.0, 0.0),
            (Key::ArrowRight, 10.0, 0.0),
            (Key::ArrowUp, 0.0, 10.0),
            (Key::ArrowDown, 0.0, -10.0),
        ] {
            if pressed(Modifiers::SHIFT, key) {
                self.orbit(yaw, pitch, 1.0);
            }
        }
        for (key, away) in [(Key::Plus, 0.8), (Key::Equals, 0.8), (Key::Minus, 1.25)] {
            if pressed(Modifiers::NONE, key) {
                self.orbit(0.0, 0.0, away);
            }
        }
        for (number, key) in
            [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7].into_iter().enumerate()
        {
            if pressed(Modifiers::NONE, key) {
                self.brush.choose(number);
            }
        }
    }

    /// Asks before something is lost.
    fn ask(&mut self, ctx: &egui::Context) {
        if ctx.input(|input| input.viewport().close_requested()) && !self.closing && self.is_unsaved() {
            ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
            self.ask = Some(Then::Close);
        }
        let Some(then) = self.ask.clone() else { return };
        let mut answer = None;
        let modal = egui::Modal::new(egui::Id::unique("ask")).show(ctx, |ui| {
            ui.heading("Save what was played?");
            let count = self.shown.edits.len() + self.opened.changes.len();
            ui.label(format!("{count} edits of {} are not saved.", self.opened.name));
            ui.horizontal(|ui| {
                for (number, label) in ["Save it", "Discard it", "Go back"].into_iter().enumerate() {
                    if ui.button(label).clicked() {
                        answer = Some(number);
                    }
                }
            });
        });
        if modal.should_close() {
            answer = Some(2);
        }
        let go_on = match answer {
            None => return,
            Some(0) => self.save(),
            Some(1) => true,
            _ => false,
        };
        self.ask = None;
        if go_on {
            match then {
                Then::Close => {
                    self.closing = true;
                    ctx.send_viewport_cmd(egui::ViewportCommand::Close);
                }
                Then::Open(source) => {
                    self.saved.clone_from(&self.shown.edits);
                    self.saved_changes.clone_from(&self.opened.changes);
                    self.open_now(*source);
                }
            }
        }
    }

    /// The whole window.
    pub fn ui(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        self.take_opened();
        self.look(&ctx);
        self.take_dropped(&ctx);
        self.keep_copy(ctx.input(|input| input.time));
        self.keys(&ctx);
        egui::Panel::top("controls").show(ui, |ui| self.controls(ui));
        egui::Panel::bottom("status").show(ui, |ui| self.status(ui));
        egui::Panel::left("gallery").default_size(190.0).show(ui, |ui| self.gallery(ui));
        egui::Panel::right("tools").exact_size(330.0).show(ui, |ui| {
            egui::ScrollArea::vertical().show(ui, |ui| {
                self.tools(ui);
                self.things(ui);
                self.parameters(ui);
                self.scene_keys(ui);
                self.takes(ui);
                self.plots(ui);
            });
        });
        egui::CentralPanel::default().show(ui, |ui| self.picture(ui));
        self.targets(&ctx);
        self.ask(&ctx);
        self.ask_about_left_behind(&ctx);
        if let Some(wait) = self.session.turn() {
            ctx.request_repaint_after(wait);
        }
    }
}

impl eframe::App for Studio {
    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        Studio::ui(self, ui);
    }

    /// The window was closed as it should be: nothing is to be recovered.
    fn on_exit(&mut self, gl: Option<&eframe::glow::Context>) {
        if let Some(folder) = &self.recovery {
            let _ = std::fs::remove_file(recover::own(folder));
        }
        if let (Some(gl), Some(view)) = (gl, &self.view.gpu) {
            view.lock().unwrap_or_else(std::sync::PoisonError::into_inner).destroy(gl);
        }
    }
}

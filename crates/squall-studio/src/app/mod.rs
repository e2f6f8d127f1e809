//! The window: a gallery, the picture to paint on, tools, parameters, and what was played.

mod panels;
mod view;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use eframe::egui::{self, Key, Modifiers, Ui};
use squall::setup::Edit;

use crate::bake::Bake;
use crate::open::Opened;
use crate::player::{Command, Shown};
use crate::session::{Session, Wake};
use view::{Brush, View};

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
    Scaled(f64),
}

/// The studio.
pub struct Studio {
    session: Session,
    opened: Opened,
    /// The one before, until it is known whether this one can be built.
    before: Option<Opened>,
    /// A scene that is being read.
    opening: Option<Receiver<Result<Opened, String>>>,
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

    fn name_files(&mut self) {
        self.take = self.opened.take_path().display().to_string();
        self.out = format!("out/{}_take", self.opened.name);
        self.saved.clone_from(&self.opened.setup.edits);
        self.frames = 0;
    }

    /// What is to be seen.
    pub fn shown(&self) -> &Shown {
        &self.shown
    }

    /// What the user was told last.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Whether something was played that is not saved.
    pub fn is_unsaved(&self) -> bool {
        self.shown.edits != self.saved && !self.shown.edits.is_empty()
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
        let (now, wake) = (self.opened.clone(), self.wake.clone());
        let read = move || {
            let opened = match source {
                Source::Gallery(name) => Opened::named(name),
                Source::File(path) => Opened::file(&path),
                Source::Scaled(factor) => now.scaled(factor),
            };
            // If the window is gone, nobody wants it.
            let _ = sender.send(opened);
            wake();
        };
        match std::thread::Builder::new().name("open".to_owned()).spawn(read) {
            Ok(_) => self.opening = Some(receiver),
            Err(e) => self.message = Some(e.to_string()),
        }
    }

    /// A scene that was read begins to play; what was there goes on if it is not right.
    fn take_opened(&mut self) {
        let read = match self.opening.as_ref().map(Receiver::try_recv) {
            None | Some(Err(TryRecvError::Empty)) => return,
            Some(Ok(read)) => read,
            Some(Err(TryRecvError::Disconnected)) => Err("the scene could not be read: this is a bug".to_owned()),
        };
        self.opening = None;
        match read {
            Ok(opened) => {
                if self.ended {
                    match Session::start(opened.clone(), self.wake.clone()) {
                        Ok(session) => (self.session, self.ended, self.scene) = (session, false, 0),
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
            }
            Err(reason) => self.message = Some(reason),
        }
    }

    /// Files that were dropped on the window.
    fn take_dropped(&mut self, ctx: &egui::Context) {
        let dropped = ctx.input(|input| input.raw.dropped_files.first().map(|file| file.path().to_owned()));
        if let Some(path) = dropped {
            self.open(Source::File(path));
        }
    }

    /// Saves what was played as a scene file.
    fn save(&mut self) -> bool {
        let text = self.opened.take(&self.shown.edits);
        match squall_io::write_whole(Path::new(self.take.trim()), text.as_bytes()) {
            Ok(()) => {
                self.saved.clone_from(&self.shown.edits);
                self.message = Some(format!("Saved: squall run {}", self.take.trim()));
                true
            }
            Err(e) => {
                self.message = Some(e.to_string());
                false
            }
        }
    }

    fn start_bake(&mut self) {
        let frames = if self.frames == 0 { self.shown.last } else { self.frames };
        let begun = self.opened.to_bake(&self.shown.edits, frames).and_then(|setup| {
            let name = format!("{}_take", self.opened.name);
            Bake::start(setup, &name, Path::new(self.out.trim()), self.wake.clone())
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
        if let Some(image) = shown.image.take() {
            self.view.show(ctx, &image);
            let now = ctx.input(|input| input.time);
            self.came.push_back(now);
            while self.came.front().is_some_and(|&t| t < now - 1.0) {
                self.came.pop_front();
            }
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
        for (number, key) in [Key::Num1, Key::Num2, Key::Num3, Key::Num4].into_iter().enumerate() {
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
            ui.label(format!("{} edits of {} are not saved.", self.shown.edits.len(), self.opened.name));
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
        self.keys(&ctx);
        egui::Panel::top("controls").show(ui, |ui| self.controls(ui));
        egui::Panel::bottom("status").show(ui, |ui| self.status(ui));
        egui::Panel::left("gallery").default_size(190.0).show(ui, |ui| self.gallery(ui));
        egui::Panel::right("tools").default_size(280.0).show(ui, |ui| {
            egui::ScrollArea::vertical().show(ui, |ui| {
                self.tools(ui);
                self.parameters(ui);
                self.takes(ui);
                self.plots(ui);
            });
        });
        egui::CentralPanel::default().show(ui, |ui| self.picture(ui));
        self.ask(&ctx);
    }
}

impl eframe::App for Studio {
    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        Studio::ui(self, ui);
    }
}

//! Plays a scene frame by frame, between two of which it can be painted, changed, rewound: no thread, no window.
//!
//! A moment is a frame and the edits before it: whoever comes there, by playing, rewinding, undoing or baking, finds the same bits.

mod shown;
pub mod things;

use std::path::Path;
use std::sync::Arc;

use squall::picture::{Painter, tone};
use squall::setup::{Change, Edit, Move, Stroke, Thing, edit::MOST};
use squall::{CancelToken, Driver, Setup, Step};
use squall_core::clock::Stopwatch;
use squall_core::visit::StateCopy;
use squall_render::Image;
use squall_render::film::Camera;

use crate::open::Opened;
use crate::place::SNAPSHOTS;
use crate::volume::Solid;
pub use shown::{Command, Measured, Shown};
pub use things::{Grey, Handle};

/// The longest history that plots show, in frames.
const HISTORY: usize = 100_000;

/// A moment that can be returned to.
struct Snapshot {
    frame: u64,
    state: StateCopy,
    history: usize,
}

/// Something that was taken back.
enum Undone {
    /// An edit, and the frame that was reached then.
    Edit { edit: Edit, reached: u64 },
    /// Other values of keys of the whole scene.
    Scene(Box<Opened>),
}

/// What is held in the hand.
#[derive(Clone)]
struct Hand {
    thing: Thing,
    /// How far it is from its own place; `None`: it was only taken.
    place: Option<Vec<f64>>,
    /// Whether it was carried since the last frame.
    moved: bool,
}

/// Plays one scene.
pub struct Player {
    opened: Opened,
    scene: u64,
    kept: bool,
    driver: Driver,
    painter: Painter,
    /// Moments that can be returned to, in order; every so many frames.
    snapshots: Vec<Snapshot>,
    every: u64,
    room: usize,
    undone: Vec<Undone>,
    playing: bool,
    speed: f64,
    /// The frame that it is on its way to.
    target: Option<u64>,
    /// The furthest frame that was reached.
    last: u64,
    /// The brush that is down, and where it is now.
    brush: Option<(Stroke, Vec<f64>, f64)>,
    /// What is held in the hand.
    hand: Option<Hand>,
    /// The scene as it was before keys of the whole of it were changed, and how many edits there were then.
    before: Vec<(usize, Arc<Opened>)>,
    /// What takes 3D pictures instead of the camera of the scene.
    look: Option<Camera>,
    /// Whether the film renderer draws what is seen in 3D; if not, a volume is sent.
    films: bool,
    /// Where something is asked about, and whether arrows are wanted.
    probe: Option<Vec<f64>>,
    arrows: bool,
    compares: bool,
    /// What smoke was at first.
    source: Option<Grey>,
    /// The scene as edits have made it, and by which.
    now: (Vec<String>, Arc<Setup>),
    /// The scene as others see it.
    told: Arc<Opened>,
    history: Arc<Vec<Measured>>,
    step: Option<Step>,
    seconds: [f64; 2],
    steps: u64,
    particles: Option<usize>,
    /// What the model measures of itself.
    figures: Vec<(String, f64)>,
    message: Option<String>,
    /// Whether the picture is out of date.
    stale: bool,
    failed: bool,
}

/// The first smoke that is guided to a target.
fn guided(driver: &Driver) -> Option<String> {
    let fields = driver.simulation().fields();
    fields.iter().find_map(|field| field.name.strip_prefix("target of ").map(str::to_owned))
}

fn built(setup: &Setup) -> Result<Driver, String> {
    Driver::new(setup).map_err(|e| e.to_string())
}

impl Player {
    /// Opens a scene at its first moment.
    pub fn new(opened: Opened) -> Result<Self, String> {
        let driver = built(&opened.setup)?;
        let painter = Painter::new(&opened.view).map_err(|e| e.to_string())?;
        Ok(Player {
            scene: 0,
            kept: false,
            painter,
            snapshots: Vec::new(),
            every: 1,
            room: SNAPSHOTS,
            undone: Vec::new(),
            playing: false,
            speed: 1.0,
            target: None,
            last: 0,
            brush: None,
            hand: None,
            before: Vec::new(),
            look: None,
            films: true,
            probe: None,
            arrows: false,
            compares: false,
            source: guided(&driver).and_then(|name| Grey::of(driver.simulation(), &name)),
            now: (Vec::new(), Arc::new(opened.setup.clone())),
            told: Arc::new(opened.clone()),
            history: Arc::default(),
            step: None,
            seconds: [0.0; 2],
            steps: 0,
            particles: None,
            figures: Vec::new(),
            message: opened.notice.clone(),
            stale: true,
            failed: false,
            driver,
            opened,
        })
    }

    /// How much memory snapshots may take, in bytes.
    pub fn set_room(&mut self, bytes: usize) {
        self.room = bytes;
    }

    /// What leads it.
    pub fn driver(&mut self) -> &mut Driver {
        &mut self.driver
    }

    /// The scene.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Whether there is a frame to be made at once, or when its time has come.
    pub fn has_work(&self) -> bool {
        !self.failed && (self.target.is_some() || self.playing || self.brush.is_some() || self.is_carried())
    }

    /// Whether the picture is out of date.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// How long a frame lasts, in seconds; 0 if nobody waits for it.
    pub fn pace(&self) -> f64 {
        match self.target {
            Some(_) => 0.0,
            None => 1.0 / (self.opened.setup.time.fps * self.speed),
        }
    }

    /// Does what is wanted. What cannot be done is told.
    pub fn command(&mut self, command: Command) {
        match self.obey(command) {
            Ok(()) => {}
            Err(reason) => self.message = Some(reason),
        }
    }

    fn obey(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::Open(opened) => {
                (self.scene, self.kept) = (self.scene + 1, true);
                let (scene, room, speed, films) = (self.scene, self.room, self.speed, self.films);
                let (arrows, compares) = (self.arrows, self.compares);
                let new = Player::new(*opened)?;
                *self = Player { scene, room, speed, films, arrows, compares, playing: true, ..new };
            }
            Command::Play => {
                self.refuse_if_failed()?;
                (self.playing, self.target) = (true, None);
            }
            Command::Stop => {
                (self.playing, self.target) = (false, None);
                self.lift();
            }
            Command::Step => {
                self.refuse_if_failed()?;
                (self.playing, self.target) = (false, Some(self.driver.frame() + 1));
            }
            Command::GoTo(frame) => {
                self.lift();
                self.playing = false;
                self.go_to(frame)?;
            }
            Command::Reset => {
                let mut opened = self.opened.clone();
                opened.play(&[])?;
                self.begin_again(opened)?;
            }
            Command::Speed(speed) => self.speed = if speed > 0.0 { speed } else { 1.0 },
            Command::Down(stroke) => {
                self.may_edit()?;
                let first = stroke.points.first().cloned().ok_or("a stroke begins at a point")?;
                let hard = stroke.pressure.first().copied().unwrap_or(1.0);
                let stroke = Stroke { points: Vec::new(), pressure: Vec::new(), ..stroke };
                // The next frame makes an edit of it.
                self.brush = Some((stroke, first, hard));
            }
            Command::Move(point, pressure) => {
                if let Some((_, at, hard)) = &mut self.brush {
                    (*at, *hard) = (point, pressure);
                }
            }
            Command::Up => self.lift(),
            Command::Set(name, value) => {
                self.may_edit()?;
                self.lift();
                let edit = Edit { frame: self.driver.frame(), change: Change::Parameter { name, value } };
                self.edit(edit)?;
            }
            Command::Undo => {
                self.lift();
                let mut edits = self.driver.edits().to_vec();
                if self.before.last().is_some_and(|(count, _)| *count >= edits.len())
                    && let Some((_, before)) = self.before.pop()
                {
                    let now = self.opened.clone();
                    self.rebase((*before).clone())?;
                    self.undone.push(Undone::Scene(Box::new(now)));
                    return Ok(());
                }
                let Some(edit) = edits.pop() else { return Ok(()) };
                let (frame, reached) = (edit.frame, self.driver.frame());
                self.play_as(edits, frame, frame)?;
                self.undone.push(Undone::Edit { edit, reached });
            }
            Command::Redo => {
                self.lift();
                match self.undone.pop() {
                    None => {}
                    Some(Undone::Scene(opened)) => {
                        let (count, before) = (self.driver.edits().len(), self.told.clone());
                        self.rebase(*opened)?;
                        self.before.push((count, before));
                    }
                    Some(Undone::Edit { edit, reached }) => {
                        let mut edits = self.driver.edits().to_vec();
                        let from = edit.frame;
                        edits.push(edit);
                        self.play_as(edits, from, reached)?;
                    }
                }
            }
            Command::Drop(number) => {
                self.lift();
                let mut edits = self.driver.edits().to_vec();
                if number < edits.len() {
                    let (edit, now) = (edits.remove(number), self.driver.frame());
                    self.play_as(edits, edit.frame, now)?;
                    self.undone.clear();
                }
            }
            Command::Shift(number, by) => {
                self.lift();
                let mut edits = self.driver.edits().to_vec();
                if let Some(edit) = edits.get_mut(number) {
                    let (old, now) = (edit.frame, self.driver.frame());
                    edit.frame = old.saturating_add_signed(by);
                    let first = edit.frame.min(old);
                    edits.sort_by_key(|edit| edit.frame);
                    self.play_as(edits, first, now)?;
                    self.undone.clear();
                }
            }
            Command::Grab(thing) => {
                self.may_edit()?;
                self.lift();
                self.hand = Some(Hand { thing, place: None, moved: false });
            }
            Command::Carry(displacement) => {
                if let Some(hand) = &mut self.hand {
                    (hand.moved, hand.place) = (true, Some(displacement));
                }
            }
            Command::Release => self.lift(),
            Command::Change(keys) => {
                self.may_edit()?;
                self.lift();
                self.edit(Edit { frame: self.driver.frame(), change: Change::Set(keys) })?;
                self.repaint()?;
            }
            Command::Rebase(opened) => {
                self.lift();
                let (count, before) = (self.driver.edits().len(), self.told.clone());
                self.rebase(*opened)?;
                self.before.push((count, before));
                self.undone.clear();
            }
            Command::Look(camera) => {
                self.look = camera;
                self.painter.look_with(camera);
                self.stale |= self.films;
            }
            Command::Film(films) => (self.films, self.stale) = (films, true),
            Command::Still(path) => self.still(&path)?,
            Command::Probe(place) => self.probe = place,
            Command::Arrows(arrows) => self.arrows = arrows,
            Command::Compare(compares) => self.compares = compares,
        }
        Ok(())
    }

    /// The same session with another scene, from its start.
    fn begin_again(&mut self, opened: Opened) -> Result<(), String> {
        let new = Player::new(opened)?;
        let (scene, room, speed, playing, look) = (self.scene, self.room, self.speed, self.playing, self.look);
        let (films, arrows, compares) = (self.films, self.arrows, self.compares);
        *self = Player { scene, room, speed, playing, look, films, arrows, compares, ..new };
        self.painter.look_with(look);
        Ok(())
    }

    /// Goes on with another form of the scene: at once if only pictures differ, else from the start to where it was.
    fn rebase(&mut self, mut opened: Opened) -> Result<(), String> {
        opened.play(self.driver.edits())?;
        let current = self.opened.setup.with_edits(self.driver.edits()).map_err(|e| crate::open::told(&e))?;
        if opened.setup.physics_hash() == current.physics_hash() {
            self.opened = opened;
            self.told = Arc::new(self.opened.clone());
            return self.repaint();
        }
        let (frame, last) = (self.driver.frame(), self.last);
        let (before, undone) = (std::mem::take(&mut self.before), std::mem::take(&mut self.undone));
        let begun = self.begin_again(opened);
        (self.before, self.undone) = (before, undone);
        begun?;
        self.last = last.max(frame);
        self.target = (frame > 0).then_some(frame);
        Ok(())
    }

    /// A painter for the scene as it is now, which goes on where the old one was.
    fn repaint(&mut self) -> Result<(), String> {
        self.opened.play(self.driver.edits())?;
        let mut painter = Painter::new(&self.opened.view).map_err(|e| e.to_string())?;
        let mut state = StateCopy::default();
        if state.save(|visitor| self.painter.visit_state(visitor)) {
            // If it shows something else, it begins with nothing seen.
            let _ = state.restore_if_it_fits(|visitor| painter.visit_state(visitor));
        }
        painter.look_with(self.look);
        (self.painter, self.stale) = (painter, true);
        Ok(())
    }

    /// The present moment as the final renderer draws it.
    fn still(&mut self, path: &Path) -> Result<(), String> {
        let setup = self.opened.setup.with_edits(self.driver.edits()).map_err(|e| crate::open::told(&e))?;
        let mut painter = Painter::new(&setup).map_err(|e| e.to_string())?;
        let mut state = StateCopy::default();
        if state.save(|visitor| self.painter.visit_state(visitor)) {
            let _ = state.restore_if_it_fits(|visitor| painter.visit_state(visitor));
        }
        painter.look_with(self.look);
        let (time, frame) = (self.driver.time(), self.driver.frame());
        let picture = painter.draw(self.driver.simulation(), time, frame).map_err(|e| e.to_string())?;
        let image = picture.to_image(&tone(&setup, time));
        let [width, height] = [image.width as u32, image.height as u32];
        squall_io::image::write_png(path, width, height, &image.to_rgb()).map_err(|e| e.to_string())?;
        self.message = Some(format!("Written: {}", path.display()));
        Ok(())
    }

    /// Whether something is being carried.
    fn is_carried(&self) -> bool {
        self.hand.as_ref().is_some_and(|hand| hand.place.is_some())
    }

    /// Begins an edit with what is in the hand, or carries it on.
    fn carry(&mut self) -> Result<(), String> {
        let Some(Hand { thing, place: Some(place), .. }) = self.hand.clone() else { return Ok(()) };
        if let Some(hand) = &mut self.hand {
            hand.moved = false;
        }
        let length = match self.driver.edits().last() {
            Some(Edit { change: Change::Move(last), .. }) if last.thing == thing => last.points.len(),
            _ => MOST,
        };
        if length < MOST && self.driver.carry_to(&place) {
            self.opened.view.tell_moved(self.driver.edits());
            return Ok(());
        }
        let change = Change::Move(Move { thing, points: vec![place] });
        self.edit(Edit { frame: self.driver.frame(), change })?;
        self.repaint()
    }

    fn refuse_if_failed(&self) -> Result<(), String> {
        match self.failed {
            true => Err("the simulation cannot go on: rewind, undo or reset".to_owned()),
            false => Ok(()),
        }
    }

    /// Edits belong to the moment that is seen.
    fn may_edit(&mut self) -> Result<(), String> {
        self.refuse_if_failed()?;
        if self.target.is_some_and(|target| target > self.driver.frame() + 1) {
            return Err("wait until the moment is reached".to_owned());
        }
        if self.driver.edits().len() >= MOST {
            return Err(format!("a take has at most {MOST} edits: save it and go on with another"));
        }
        // What was played after this moment is another story now.
        let now = self.driver.frame();
        let is_later = |edit: &Edit| edit.frame > now;
        if self.driver.edits().iter().any(is_later) {
            let edits = self.driver.edits().iter().filter(|edit| !is_later(edit)).cloned().collect();
            self.play_as(edits, now, now)?;
        }
        Ok(())
    }

    fn edit(&mut self, edit: Edit) -> Result<(), String> {
        self.driver.edit(edit).map_err(|e| e.to_string())?;
        self.undone.clear();
        self.forget_after(self.driver.frame());
        Ok(())
    }

    /// Begins an edit with the brush that is down, or moves the one that is painting on.
    fn put_down(&mut self) -> Result<(), String> {
        let Some((stroke, at, hard)) = self.brush.clone() else { return Ok(()) };
        let begun = !stroke.points.is_empty();
        let length = match self.driver.edits().last() {
            Some(Edit { change: Change::Stroke(last), .. }) if begun => last.points.len(),
            _ => 0,
        };
        if begun && length < MOST && self.driver.stroke_to(&at, hard) {
            return Ok(());
        }
        let first = Stroke { points: vec![at.clone()], pressure: vec![hard], ..stroke };
        if let Some((stroke, ..)) = &mut self.brush {
            stroke.points.clone_from(&first.points);
        }
        self.edit(Edit { frame: self.driver.frame(), change: Change::Stroke(first) })
    }

    /// The stroke, or the way of what is in the hand, is over. One that was shorter than a frame still makes one.
    fn lift(&mut self) {
        if self.hand.as_ref().is_some_and(|hand| hand.moved) {
            match self.carry() {
                Ok(()) => self.target = self.target.or(Some(self.driver.frame() + 1)),
                Err(reason) => self.message = Some(reason),
            }
        }
        self.hand = None;
        if self.brush.as_ref().is_some_and(|(stroke, ..)| stroke.points.is_empty()) {
            match self.put_down() {
                Ok(()) => self.target = self.target.or(Some(self.driver.frame() + 1)),
                Err(reason) => self.message = Some(reason),
            }
        }
        self.brush = None;
    }

    /// Moments after a frame are not those that were.
    fn forget_after(&mut self, frame: u64) {
        self.snapshots.retain(|snapshot| snapshot.frame <= frame);
        self.last = frame;
    }

    /// What was played is this now, the same as before until the frame `same`; and the moment is `frame`.
    fn play_as(&mut self, edits: Vec<Edit>, same: u64, frame: u64) -> Result<(), String> {
        self.opened.play(&edits)?;
        self.forget_after(same.min(self.last));
        self.return_to(frame.min(same))?;
        self.last = frame;
        self.target = (frame > self.driver.frame()).then_some(frame);
        Ok(())
    }

    fn go_to(&mut self, frame: u64) -> Result<(), String> {
        self.opened.play(self.driver.edits())?;
        if frame < self.driver.frame() || self.failed {
            self.return_to(frame)?;
        }
        self.target = (frame > self.driver.frame()).then_some(frame);
        Ok(())
    }

    /// To the last moment not after a frame that is known.
    fn return_to(&mut self, frame: u64) -> Result<(), String> {
        let mut driver = built(&self.opened.setup)?;
        let mut painter = Painter::new(&self.opened.view).map_err(|e| e.to_string())?;
        let known = self.snapshots.iter().rev().find(|snapshot| snapshot.frame <= frame);
        if let Some(Snapshot { state, .. }) = known {
            state.restore(|visitor| {
                driver.visit_state(visitor);
                painter.visit_state(visitor);
            });
        }
        painter.look_with(self.look);
        let history = known.map_or(0, |snapshot| snapshot.history);
        Arc::make_mut(&mut self.history).truncate(history);
        (self.driver, self.painter, self.step) = (driver, painter, None);
        (self.failed, self.stale, self.target) = (false, true, (self.driver.frame() < frame).then_some(frame));
        Ok(())
    }

    /// Keeps the present moment; if there is no room, every second one is forgotten.
    fn keep(&mut self) {
        let frame = self.driver.frame();
        if !frame.is_multiple_of(self.every) || self.snapshots.last().is_some_and(|last| last.frame >= frame) {
            return;
        }
        let mut state = StateCopy::default();
        let saved = state.save(|visitor| {
            self.driver.visit_state(visitor);
            self.painter.visit_state(visitor);
        });
        if saved {
            self.snapshots.push(Snapshot { frame, state, history: self.history.len() });
        }
        while self.snapshots.len() > 1 && self.snapshots.iter().map(|s| s.state.bytes()).sum::<usize>() > self.room {
            self.every *= 2;
            let every = self.every;
            self.snapshots.retain(|snapshot| snapshot.frame.is_multiple_of(every));
        }
    }

    /// Makes a frame, if time runs. `false`: nothing was to be done.
    pub fn tick(&mut self) -> bool {
        if !self.has_work() {
            return false;
        }
        self.keep();
        let start = Stopwatch::start();
        let steps = self.driver.steps();
        let next = self.driver.frame() + 1;
        let mut last = None;
        let made = self.put_down().and_then(|()| self.carry()).and_then(|()| {
            let ran = self.driver.run_to(next, &mut |step| last = Some(step.clone()), &CancelToken::default());
            ran.map_err(|e| format!("{e}\n{}", e.advice()))
        });
        if let Err(reason) = made {
            (self.message, self.failed, self.playing) = (Some(reason), true, false);
            (self.target, self.brush, self.hand) = (None, None, None);
            return true;
        }
        self.seconds[0] = start.seconds();
        self.steps = self.driver.steps() - steps;
        if let Some(step) = &last {
            let mass = step.report.mass.first().copied().unwrap_or(0.0);
            let figures = self.driver.simulation_mut().figures();
            self.figures = figures.into_iter().map(|figure| (figure.name, figure.value)).collect();
            // Energy has a plot already.
            self.figures.retain(|(name, _)| name.contains('.'));
            let figure = self.figures.first().map_or(0.0, |(_, value)| *value);
            let measured = Measured { frame: next, energy: step.report.energy, mass, figure };
            let history = Arc::make_mut(&mut self.history);
            history.push(measured);
            if history.len() > HISTORY {
                history.clear();
            }
        }
        self.step = last.or(self.step.take());
        self.last = self.last.max(next);
        if self.target.is_some_and(|target| target <= next) {
            self.target = None;
        }
        self.stale = true;
        true
    }

    /// The scene as edits of its keys have made it.
    fn now(&mut self) -> Arc<Setup> {
        let frame = self.driver.frame();
        let mut keys = Vec::new();
        for edit in self.driver.edits().iter().filter(|edit| edit.frame <= frame) {
            if let Change::Set(set) = &edit.change {
                keys.extend_from_slice(set);
            }
        }
        if keys != self.now.0 {
            self.now = (keys, Arc::new(self.driver.scene().clone()));
        }
        self.now.1.clone()
    }

    /// What smoke was at first, what it is, and what it is to be.
    fn compared(&self) -> Vec<Grey> {
        let Some(name) = guided(&self.driver) else { return Vec::new() };
        let grey = |name: &str| Grey::of(self.driver.simulation(), name);
        let all = [self.source.clone(), grey(&name), grey(&format!("target of {name}"))];
        all.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// What a view in 3D shows of the present moment.
    fn volume(&mut self) -> Option<Arc<Solid>> {
        let start = Stopwatch::start();
        let (time, frame) = (self.driver.time(), self.driver.frame());
        let surface = match self.opened.setup.liquid.is_some() {
            true => self.painter.surface_now(self.driver.simulation()),
            false => None,
        };
        let film = self.painter.film()?;
        let solid = Solid::new(
            self.opened.view.at_frame(frame),
            film,
            self.driver.simulation(),
            surface.as_deref(),
            time,
            frame,
        );
        self.seconds[1] = start.seconds();
        Some(Arc::new(solid))
    }

    /// The picture of the present moment.
    fn draw(&mut self) -> Option<Image> {
        let start = Stopwatch::start();
        let (time, frame) = (self.driver.time(), self.driver.frame());
        let drawn = self.painter.draw(self.driver.simulation(), time, frame);
        self.seconds[1] = start.seconds();
        match drawn {
            Ok(picture) => Some(picture.to_image(&tone(&self.opened.view, time))),
            Err(e) => {
                self.message = Some(e.to_string());
                None
            }
        }
    }

    /// What can be seen now.
    pub fn show(&mut self) -> Shown {
        let (frame, time) = (self.driver.frame(), self.driver.time());
        let is_solid = self.opened.view.film.is_some();
        // Who sees volumes needs no film.
        let as_volume = is_solid && !self.films;
        if self.stale && self.opened.setup.liquid.is_some() {
            self.particles = self.driver.simulation().particles().map(|particles| particles.len());
        }
        let volume = if self.stale && as_volume { self.volume() } else { None };
        let image = if self.stale && !as_volume { self.draw() } else { None };
        self.stale = false;
        let now = self.now();
        let camera = self.painter.film().and_then(|film| film.camera_at(time).ok());
        let step = self.step.as_ref();
        Shown {
            scene: self.scene,
            kept: self.kept,
            ended: false,
            image,
            opened: Some(self.told.clone()),
            now: Some(now),
            compared: if self.compares { self.compared() } else { Vec::new() },
            figures: self.figures.clone(),
            volume,
            camera,
            handles: things::handles(&self.opened.view, frame, time),
            probe: self.probe.as_ref().map_or_else(Vec::new, |at| things::probe(self.driver.simulation(), at)),
            arrows: if self.arrows { things::arrows(self.driver.simulation()) } else { Vec::new() },
            frame,
            last: self.last,
            time,
            playing: self.playing,
            busy: self.target.is_some(),
            edits: self.driver.edits().to_vec(),
            undone: self.undone.len(),
            history: self.history.clone(),
            seconds: self.seconds,
            steps: self.steps,
            cells: step.map_or(0, |step| step.report.cells),
            particles: self.particles,
            divergence: step.map_or(0.0, |step| step.report.relative_divergence),
            message: self.message.take(),
            parameters: self.driver.parameters(),
        }
    }
}

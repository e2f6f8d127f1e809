//! Plays a scene frame by frame, between two of which it can be painted, changed, rewound: no thread, no window.
//!
//! A moment is a frame and the edits before it: whoever comes there, by playing, rewinding, undoing or baking, finds the same bits.

use std::sync::Arc;

use squall::picture::{FilmPainter, Painter, tone};
use squall::setup::{Change, Edit, Stroke, edit::MOST};
use squall::{CancelToken, Driver, Setup, Step};
use squall_core::visit::StateCopy;
use squall_core::{Parameter, Value};
use squall_render::Image;
use squall_render::film::Camera;

use crate::open::Opened;

/// What snapshots may take of memory, in bytes.
const SNAPSHOTS: usize = 512 << 20;

/// The longest history that plots show, in frames.
const HISTORY: usize = 100_000;

/// Something that the one who plays wants.
#[derive(Clone, Debug)]
pub enum Command {
    /// Another scene, from its first moment on.
    Open(Box<Opened>),
    /// Time runs.
    Play,
    /// Time stands still.
    Stop,
    /// One frame more.
    Step,
    /// To an earlier moment, or a later one. Nothing that was played is lost.
    GoTo(u64),
    /// To the start, and nothing was played.
    Reset,
    /// How fast time runs, compared with the film; infinite: as fast as it can.
    Speed(f64),
    /// A brush is put down: what it does, and its first point.
    Down(Stroke),
    /// It moves: where to, and how hard it is pressed.
    Move(Vec<f64>, f64),
    /// It is lifted.
    Up,
    /// A parameter changes.
    Set(String, Value),
    /// The last edit is taken back, and time goes back to where it began.
    Undo,
    /// The edit that was taken back last is made again.
    Redo,
    /// An edit is left out, by its number, and everything after it is played again.
    Drop(usize),
}

/// What is known of a frame that was played.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Its number.
    pub frame: u64,
    /// Kinetic energy.
    pub energy: f64,
    /// How much of the first substance there is; of a liquid, its volume.
    pub mass: f64,
}

/// What can be seen of a player.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// How many scenes were asked for since the first.
    pub scene: u64,
    /// Whether the last of them could not be opened, so that the one before plays on.
    pub kept: bool,
    /// Whether nothing will come any more: the message says why.
    pub ended: bool,
    /// The picture; `None` if it is the one that was seen last.
    pub image: Option<Image>,
    /// Where it was taken from, in 3D.
    pub camera: Option<Camera>,
    /// The last finished frame.
    pub frame: u64,
    /// The furthest frame that was reached.
    pub last: u64,
    /// Seconds of the film.
    pub time: f64,
    /// Whether time runs.
    pub playing: bool,
    /// Whether it is on its way to a moment that was asked for.
    pub busy: bool,
    /// Everything that was done.
    pub edits: Vec<Edit>,
    /// How many edits can be made again.
    pub undone: usize,
    /// What can be changed, and what it is.
    pub parameters: Vec<Parameter>,
    /// What the frames were like.
    pub history: Arc<Vec<Measured>>,
    /// Wall-clock seconds of the last frame: its steps, and its picture.
    pub seconds: [f64; 2],
    /// Steps of the last frame.
    pub steps: u64,
    /// Cells, and particles.
    pub cells: u64,
    /// Particles, if there are some.
    pub particles: Option<usize>,
    /// The largest divergence that the last step left, relative to speed and cell size.
    pub divergence: f64,
    /// What the user should know: why something was not done, or why nothing goes on.
    pub message: Option<String>,
}

/// A moment that can be returned to.
struct Snapshot {
    frame: u64,
    state: StateCopy,
    history: usize,
}

/// An edit that was taken back, and the frame that was reached then.
struct Undone {
    edit: Edit,
    reached: u64,
}

/// Plays one scene.
pub struct Player {
    opened: Opened,
    scene: u64,
    kept: bool,
    driver: Driver,
    painter: Painter,
    camera: Option<FilmPainter>,
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
    history: Arc<Vec<Measured>>,
    step: Option<Step>,
    seconds: [f64; 2],
    steps: u64,
    particles: Option<usize>,
    message: Option<String>,
    /// Whether the picture is out of date.
    stale: bool,
    failed: bool,
}

fn built(setup: &Setup) -> Result<Driver, String> {
    Driver::new(setup).map_err(|e| e.to_string())
}

impl Player {
    /// Opens a scene at its first moment.
    pub fn new(opened: Opened) -> Result<Self, String> {
        let driver = built(&opened.setup)?;
        let painter = Painter::new(&opened.view).map_err(|e| e.to_string())?;
        let film = opened.view.film.as_ref().map(|film| FilmPainter::new(&opened.view, film)).transpose();
        Ok(Player {
            scene: 0,
            kept: false,
            driver,
            painter,
            camera: film.map_err(|e| e.to_string())?,
            snapshots: Vec::new(),
            every: 1,
            room: SNAPSHOTS,
            undone: Vec::new(),
            playing: false,
            speed: 1.0,
            target: None,
            last: 0,
            brush: None,
            history: Arc::default(),
            step: None,
            seconds: [0.0; 2],
            steps: 0,
            particles: None,
            message: opened.notice.clone(),
            stale: true,
            failed: false,
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
        !self.failed && (self.target.is_some() || self.playing || self.brush.is_some())
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
                let (scene, room, speed) = (self.scene, self.room, self.speed);
                *self = Player { scene, room, speed, playing: true, ..Player::new(*opened)? };
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
                opened.setup = opened.setup.with_edits(&[]);
                let (scene, room, speed, playing) = (self.scene, self.room, self.speed, self.playing);
                *self = Player { scene, room, speed, playing, ..Player::new(opened)? };
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
                let Some(edit) = edits.pop() else { return Ok(()) };
                let (frame, reached) = (edit.frame, self.driver.frame());
                self.play_as(edits, frame, frame)?;
                self.undone.push(Undone { edit, reached });
            }
            Command::Redo => {
                self.lift();
                let Some(Undone { edit, reached }) = self.undone.pop() else { return Ok(()) };
                let mut edits = self.driver.edits().to_vec();
                let from = edit.frame;
                edits.push(edit);
                self.play_as(edits, from, reached)?;
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
        }
        Ok(())
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

    /// The stroke is over. One that was shorter than a frame still makes one.
    fn lift(&mut self) {
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
        self.opened.setup = self.opened.setup.with_edits(&edits);
        self.forget_after(same.min(self.last));
        self.return_to(frame.min(same))?;
        self.last = frame;
        self.target = (frame > self.driver.frame()).then_some(frame);
        Ok(())
    }

    fn go_to(&mut self, frame: u64) -> Result<(), String> {
        self.opened.setup = self.opened.setup.with_edits(self.driver.edits());
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
        let start = std::time::Instant::now();
        let steps = self.driver.steps();
        let next = self.driver.frame() + 1;
        let mut last = None;
        let made = self.put_down().and_then(|()| {
            let ran = self.driver.run_to(next, &mut |step| last = Some(step.clone()), &CancelToken::default());
            ran.map_err(|e| format!("{e}\n{}", e.advice()))
        });
        if let Err(reason) = made {
            (self.message, self.failed, self.playing) = (Some(reason), true, false);
            (self.target, self.brush) = (None, None);
            return true;
        }
        self.seconds[0] = start.elapsed().as_secs_f64();
        self.steps = self.driver.steps() - steps;
        if let Some(step) = &last {
            let mass = step.report.mass.first().copied().unwrap_or(0.0);
            let measured = Measured { frame: next, energy: step.report.energy, mass };
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

    /// The picture of the present moment.
    fn draw(&mut self) -> Option<Image> {
        let start = std::time::Instant::now();
        let (time, frame) = (self.driver.time(), self.driver.frame());
        if self.opened.setup.liquid.is_some() {
            self.particles = self.driver.simulation().particles().map(|particles| particles.len());
        }
        let drawn = self.painter.draw(self.driver.simulation(), time, frame);
        self.seconds[1] = start.elapsed().as_secs_f64();
        self.stale = false;
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
        let image = if self.stale { self.draw() } else { None };
        let (frame, time) = (self.driver.frame(), self.driver.time());
        let step = self.step.as_ref();
        Shown {
            scene: self.scene,
            kept: self.kept,
            ended: false,
            image,
            camera: self.camera.as_ref().and_then(|film| film.camera_at(time).ok()),
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

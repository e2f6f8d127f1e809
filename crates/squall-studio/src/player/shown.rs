//! What goes into a player, and what can be seen of it.

use std::path::PathBuf;
use std::sync::Arc;

use squall::Setup;
use squall::setup::{Edit, Stroke, Thing};
use squall_core::{Parameter, Value};
use squall_render::Image;
use squall_render::film::Camera;

use super::things::{Grey, Handle};
use crate::open::Opened;
use crate::volume::Solid;

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
    /// An edit is made so many frames later (or earlier), by its number, and everything is played again.
    Shift(usize, i64),
    /// Something is taken in the hand.
    Grab(Thing),
    /// It is carried: how far it is from its own place now.
    Carry(Vec<f64>),
    /// It is let go.
    Release,
    /// Keys of the scene have other values from now on: each `key.path=value`.
    Change(Vec<String>),
    /// Keys of the scene have other values from its start on, and what was played is played again if that needs to be: the scene as it is then.
    Rebase(Box<Opened>),
    /// 3D pictures are taken with this camera; `None`: with that of the scene.
    Look(Option<Camera>),
    /// Whether 3D scenes are drawn by the film renderer, or sent as volumes.
    Film(bool),
    /// The view that is seen, by the final renderer, as a PNG file.
    Still(PathBuf),
    /// What is under a point is told.
    Probe(Option<Vec<f64>>),
    /// Arrows are drawn for the velocity.
    Arrows(bool),
    /// Smoke and its target are compared.
    Compare(bool),
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
    /// The first of what the model measures of itself: how far smoke is from its target.
    pub figure: f64,
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
    /// The scene, as it was opened and changed.
    pub opened: Option<Arc<Opened>>,
    /// The picture; `None` if it is the one that was seen last.
    pub image: Option<Image>,
    /// The same in 3D, for a view that is drawn elsewhere; `None` if it is the one that was seen last.
    pub volume: Option<Arc<Solid>>,
    /// The scene as edits of its keys have made it by now.
    pub now: Option<Arc<Setup>>,
    /// What smoke was at first, what it is, and what it is to be, if that was asked for.
    pub compared: Vec<Grey>,
    /// What the model measures of itself.
    pub figures: Vec<(String, f64)>,
    /// What can be moved, and where it is.
    pub handles: Vec<Handle>,
    /// What is under the point that was asked for: names, values and units.
    pub probe: Vec<(String, f64)>,
    /// Velocities at some places of a 2D picture: place and velocity.
    pub arrows: Vec<[f64; 4]>,
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

//! The driver: advances a scene from frame to frame, without folders, pictures or files.
//!
//! ```
//! use squall::{CancelToken, Driver, Scene};
//!
//! let text = "[grid]\ncells = [32, 48]\n[substance.density]\ninitial = \"y < 0.2\"\n[fluid]\nvelocity = [\"sin(tau*y)\", 0]";
//! let (setup, _) = Scene::parse("smoke.toml", text, &[])?.setup()?;
//! let mut driver = Driver::new(&setup)?;
//!
//! let mut steps = 0;
//! driver.run_to(3, &mut |step| steps = step.number, &CancelToken::default())?;
//! assert_eq!((driver.frame(), driver.steps()), (3, steps));
//!
//! driver.set("viscosity", 1e-3)?;
//! driver.set("advection", "semi_lagrangian")?;
//! driver.run_to(4, &mut |step| assert!(step.troubles.is_empty()), &CancelToken::default())?;
//!
//! let mut density = Vec::new();
//! assert!(driver.simulation().read("density", 0, &mut density));
//! assert_eq!(density.len(), 32 * 48);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use squall_core::clock::{Stopwatch, next_dt};
use squall_core::force::Brush;
use squall_core::ledger::{Finding, Watch};
use squall_core::shape::Path;
use squall_core::visit::{StateCopy, visit_list};
use squall_core::{Parameter, ParameterError, Simulation, StateVisitor, StepError, StepReport, Value};

use crate::build::{BuildError, film};
use crate::diagnostic::SceneError;
use crate::looped::{Looped, Preparation, Seam};
use crate::run::CancelToken;
use crate::setup::{Change, Curve, Edit, Move, Setup, Thing, edit};

/// Steps that take fewer seconds are not worth to be cancelled.
const PATIENCE: f64 = 0.5;
/// Nobody has more parameters: a longer list is damage.
const MOST_CHANGES: u64 = 10_000;
/// Most steps in a frame: who needs more has made a mistake.
pub(crate) const MAX_STEPS: u32 = 10_000;

/// Leads a simulation from frame to frame. The lengths of steps depend on the state alone, so one that is saved between two
/// steps and restored goes on as if nothing had happened.
pub struct Driver {
    film: Film,
    /// The scene, with the forms that it takes later.
    setup: Setup,
    /// How many of the edits that need another simulation this one has, in the order of their frames.
    built: usize,
    /// How things are moved by hand.
    paths: Vec<(Thing, Path)>,
    fps: f64,
    cfl: f64,
    /// The longest step, in seconds.
    longest: f64,
    substances: Vec<String>,
    /// Finished frames, and steps made.
    frame: u64,
    steps: u64,
    /// Steps made since the last frame, or part of the preparation.
    since: u32,
    watch: Watch,
    /// Whether a finding of each kind was told, for each substance.
    told: Vec<[bool; 2]>,
    /// Parameters that change with time.
    animated: Vec<(String, Curve)>,
    /// What was changed while running, in order, the last change of each parameter.
    changes: Vec<(String, Value)>,
    /// What is done while it plays, and what of that is painted now.
    edits: Vec<Edit>,
    brush: Brush,
    /// The frame whose edits have been made; `None` after a state was restored.
    edited: Option<u64>,
    /// The state before a long step, so that the step can be cancelled; and whether such copies are made.
    copy: StateCopy,
    copies: bool,
    /// Wall-clock seconds of the last step.
    seconds: f64,
}

/// A step that was made.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its number, counted from 1.
    pub number: u64,
    /// Simulated seconds at its end.
    pub time: f64,
    /// The frame that it leads to, and how far it is on the way from the frame before, 0 to 1; `None` before the first frame can
    /// begin: for loops.
    pub towards: Option<(u64, f64)>,
    /// Whether it has reached that frame.
    pub reached: bool,
    /// Wall-clock seconds that it took.
    pub seconds: f64,
    /// What it did.
    pub report: StepReport,
    /// What its accounts show for the first time in this run.
    pub troubles: Vec<Trouble>,
}

impl Step {
    /// An error if the pressure solve missed its tolerance, or the accounts show something.
    pub fn strictly(&self) -> Result<(), DriveError> {
        let Step { number: step, time, ref report, .. } = *self;
        let left = report.relative_divergence;
        if left.is_nan() || left > report.divergence_promised || !report.pressure.converged {
            let (divergence, residual) = (report.relative_divergence, report.pressure.residual);
            return Err(DriveError::NotConverged { step, time, divergence, residual });
        }
        if !report.viscous.converged {
            return Err(DriveError::NotDiffused { step, time, residual: report.viscous.residual });
        }
        match self.troubles.first() {
            Some(trouble) => Err(DriveError::NotAccountedFor(trouble.clone())),
            None => Ok(()),
        }
    }
}

/// Something that the accounts of a step show, and that no part of the scene explains: a fault of the method.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// The substance.
    pub substance: String,
    /// The step, counted from 1.
    pub step: u64,
    /// Simulated seconds at its end.
    pub time: f64,
    /// What was found.
    pub finding: Finding,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trouble { substance, step, time, finding } = self;
        let (step, time) = (step, (time * 1e6).round() / 1e6);
        match finding {
            Finding::Unexplained { part, .. } => write!(
                f,
                "{substance}: {:.2} % {} within a second without an explanation (step {step}, t = {time} s)",
                100.0 * part.abs(),
                if *part < 0.0 { "vanished" } else { "appeared" },
            ),
            Finding::OutOfRange { value, allowed: [low, high], .. } => write!(
                f,
                "{substance}: a value of {value:.5} is outside of {low:.5} to {high:.5}, the range of sources, initial and boundary \
                 values (step {step}, t = {time} s)"
            ),
        }
    }
}

/// Why a driver cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// A step could not be made.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A solve for viscosity or diffusion missed its tolerance, and that was to be an error.
    #[error(
        "the solve for viscosity or diffusion of step {step} (t = {time} s) did not converge: residual {residual:.1e}"
    )]
    NotDiffused {
        /// Which step, counted from 1.
        step: u64,
        /// When, in seconds.
        time: f64,
        /// The residual, relative to the right side.
        residual: f64,
    },
    /// A pressure solve missed its tolerance, and that was to be an error.
    #[error(
        "the pressure solve of step {step} (t = {time} s) did not converge: residual {residual:.1e}, relative divergence \
         {divergence:.1e}"
    )]
    NotConverged {
        /// Which step, counted from 1.
        step: u64,
        /// When, in seconds.
        time: f64,
        /// What it left of divergence, relative to speed and cell size.
        divergence: f64,
        /// What it left of the right side.
        residual: f64,
    },
    /// The accounts of a step show something, and that was to be an error.
    #[error("{0}")]
    NotAccountedFor(Trouble),
    /// A parameter could not be changed as an edit says.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The scene could not become what an edit makes of it.
    #[error("the edit after frame {frame}: {reason}")]
    Rebuild {
        /// After which frame.
        frame: u64,
        /// Why.
        reason: String,
    },
    /// The fluid is too fast for the frame rate.
    #[error("frame {frame} takes more than {limit} steps: fluid crosses {cells_per_second:.2e} cells per second")]
    TooManySteps {
        /// Which frame.
        frame: u64,
        /// Most steps in a frame.
        limit: u32,
        /// How fast the fluid is.
        cells_per_second: f64,
    },
}

impl DriveError {
    /// What the user can do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            DriveError::Step(StepError::TooFast { .. }) => {
                "the flow is too fast for the steps: weaker forces, shorter steps (solver.cfl, solver.max_dt) or larger cells"
            }
            DriveError::Step(StepError::TooFar { .. }) => {
                "the fluid has left the world: slower wind or forces, larger cells, or sources nearer to the origin"
            }
            DriveError::Step(StepError::OutOfMemory(_)) => {
                "the fluid has spread: a coarser grid, a faster fade or a smaller buffer takes less memory"
            }
            DriveError::Step(_) => {
                "look for an expression that divides by zero or grows without bound, and for very strong forces; \
                 smaller steps (solver.cfl, solver.max_dt) may help"
            }
            DriveError::NotConverged { .. } | DriveError::NotDiffused { .. } => {
                "smaller steps (solver.cfl) may help; without --strict this is only reported"
            }
            DriveError::NotAccountedFor(_) => {
                "if obstacles compress fluid that cannot leave, open a side; otherwise this is a fault of the method: please report it. \
                 Smaller steps (solver.cfl) may help, and without --strict this is only a warning"
            }
            DriveError::Parameter(_) | DriveError::Rebuild { .. } => "look at the [[edit]]s of the scene",
            DriveError::TooManySteps { .. } => "raise solver.cfl, raise time.fps, or make forces and velocities weaker",
        }
    }
}

/// Why something cannot be done while a scene plays.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The frame after which it was to be done is past.
    #[error("cannot edit after frame {frame}: frame {now} is already finished")]
    TooLate {
        /// After which frame it was to be done.
        frame: u64,
        /// The frame that was finished last.
        now: u64,
    },
    /// A parameter cannot be changed so.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The scene cannot be changed so.
    #[error("{0}")]
    Scene(String),
    /// What it would become cannot take over the state.
    #[error("this cannot change while the scene plays: {0}")]
    Rebuild(String),
}

/// What is wrong with a scene, in a line.
fn told(error: &SceneError) -> String {
    error.problems().first().map_or_else(|| error.to_string(), ToString::to_string)
}

/// What a driver leads from frame to frame.
pub(crate) enum Film {
    /// A simulation as it is.
    Once(Box<dyn Simulation>),
    /// One that became a loop.
    Loop(Box<Looped>),
}

/// Shows a text to the visitor.
fn visit_text(visitor: &mut dyn StateVisitor, name: &str, text: &mut String) {
    let mut bytes = std::mem::take(text).into_bytes();
    visit_list(visitor, name, &mut bytes);
    *text = String::from_utf8_lossy(&bytes).into_owned();
}

impl Film {
    fn simulation(&self) -> &dyn Simulation {
        match self {
            Film::Once(sim) => &**sim,
            Film::Loop(looped) => looped.simulation(),
        }
    }

    fn simulation_mut(&mut self) -> &mut dyn Simulation {
        match self {
            Film::Once(sim) => &mut **sim,
            Film::Loop(looped) => looped.simulation_mut(),
        }
    }

    fn time(&self) -> f64 {
        match self {
            Film::Once(sim) => sim.time(),
            Film::Loop(looped) => looped.time(),
        }
    }

    /// A loop knows its frames by itself.
    fn snap_time(&mut self, t: f64) {
        if let Film::Once(sim) = self {
            sim.snap_time(t);
        }
    }

    fn longest_step(&self, cfl: f64) -> f64 {
        match self {
            Film::Once(sim) => sim.longest_step(cfl),
            Film::Loop(looped) => looped.longest_step(cfl),
        }
    }

    fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        match self {
            Film::Once(sim) => sim.step(dt),
            Film::Loop(looped) => looped.step(dt),
        }
    }

    fn set_parameter(&mut self, name: &str, value: Value) -> Result<(), ParameterError> {
        match self {
            Film::Once(sim) => sim.set_parameter(name, value),
            Film::Loop(looped) => looped.set_parameter(name, value),
        }
    }

    fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        match self {
            Film::Once(sim) => sim.visit_state(visitor),
            Film::Loop(looped) => looped.visit_state(visitor),
        }
    }
}

/// The parameters of a simulation that a scene changes with time. Forces and sources look at the time themselves.
fn animated(setup: &Setup) -> Vec<(String, Curve)> {
    let Some(smoke) = setup.smoke.as_ref().filter(|_| setup.grid.is_unbounded()) else { return Vec::new() };
    let wind = ["wind.x", "wind.y", "wind.z"].into_iter().zip(&smoke.wind).enumerate();
    let free = wind.filter(|(a, _)| setup.grid.wind_past_sides(*a).is_none()).map(|(_, wind)| wind);
    free.filter(|(_, curve)| !curve.is_constant()).map(|(name, curve)| (name.to_owned(), curve.clone())).collect()
}

/// What only scenes with solids have in their state: it begins as it is where the first object comes, and is forgotten with the last one.
const OF_SOLIDS: [&str; 2] = ["induced_charges", "leaving_objects"];

/// A state on its way from one simulation to another.
#[derive(Default)]
struct Carried {
    kept: std::collections::VecDeque<(String, Kept)>,
    restoring: bool,
    failed: bool,
}

/// A part of a state.
enum Kept {
    Number(u64),
    Array(Vec<f32>),
}

impl Carried {
    /// From now on what was kept is put back.
    fn restore(&mut self) {
        self.restoring = true;
    }

    /// Whether everything was put back.
    fn fits(&self) -> bool {
        !self.failed && self.kept.iter().all(|(name, _)| OF_SOLIDS.contains(&name.as_str()))
    }

    /// The next part, if it is called so.
    fn next(&mut self, name: &str) -> Option<Kept> {
        while !OF_SOLIDS.contains(&name)
            && self.kept.front().is_some_and(|(kept, _)| OF_SOLIDS.contains(&kept.as_str()))
        {
            self.kept.pop_front();
        }
        let is_next = self.kept.front().is_some_and(|(kept, _)| kept == name);
        self.failed |= !is_next && !OF_SOLIDS.contains(&name);
        if is_next && !self.failed { self.kept.pop_front().map(|(_, kept)| kept) } else { None }
    }
}

impl StateVisitor for Carried {
    fn integer(&mut self, name: &str, value: &mut u64) {
        match self.restoring {
            false => self.kept.push_back((name.to_owned(), Kept::Number(*value))),
            true => match self.next(name) {
                Some(Kept::Number(kept)) => *value = kept,
                Some(Kept::Array(_)) => self.failed = true,
                None => {}
            },
        }
    }

    fn real(&mut self, name: &str, value: &mut f64) {
        let mut bits = value.to_bits();
        self.integer(name, &mut bits);
        *value = f64::from_bits(bits);
    }

    fn array(&mut self, name: &str, values: &mut [f32]) {
        match self.restoring {
            false => self.kept.push_back((name.to_owned(), Kept::Array(values.to_vec()))),
            true => match self.next(name) {
                Some(Kept::Array(kept)) if kept.len() == values.len() => values.copy_from_slice(&kept),
                Some(_) => self.failed = true,
                None => {}
            },
        }
    }

    fn refuse(&mut self, _: &str) {
        self.failed |= self.restoring;
    }
}

/// The longest step of a scene, in seconds.
fn longest(setup: &Setup) -> f64 {
    let share = 1.0 / (setup.time.fps * f64::from(setup.solver.steps_per_frame));
    setup.solver.max_dt.map_or(share, |max| max.min(share))
}

/// After which frames something is done that needs another simulation, in ascending order, each with what is moved from then on. What is moved again has its path already, and lights are
/// seen by pictures alone.
fn rebuilds(edits: &[Edit]) -> Vec<(u64, Option<Thing>)> {
    let mut all: Vec<(u64, Option<Thing>)> = Vec::new();
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| edit.frame);
    for edit in sorted {
        match &edit.change {
            Change::Set(_) => all.push((edit.frame, None)),
            Change::Move(Move { thing: Thing::Light(_), .. }) => {}
            Change::Move(Move { thing, .. }) if all.iter().all(|(_, known)| *known != Some(*thing)) => {
                all.push((edit.frame, Some(*thing)));
            }
            _ => {}
        }
    }
    all
}

impl Driver {
    /// Builds the simulation that a setup describes.
    pub fn new(setup: &Setup) -> Result<Self, BuildError> {
        let brush = Brush::default();
        let mut start = setup.clone();
        start.take_paths(&[]);
        let mut driver = Driver {
            film: film(&start, &brush)?,
            setup: setup.clone(),
            built: 0,
            paths: Vec::new(),
            fps: setup.time.fps,
            cfl: setup.solver.cfl,
            longest: longest(setup),
            substances: setup.substances.iter().map(|s| s.name.clone()).collect(),
            frame: 0,
            steps: 0,
            since: 0,
            watch: Watch::new(setup.substances.len()),
            told: vec![[false; 2]; setup.substances.len()],
            animated: animated(setup),
            changes: Vec::new(),
            edits: Vec::new(),
            brush,
            edited: None,
            copy: StateCopy::default(),
            copies: true,
            seconds: 0.0,
        };
        for edit in &setup.edits {
            driver.add(edit.clone()).map_err(|error| BuildError::Edit { frame: edit.frame, error })?;
        }
        Ok(driver)
    }

    /// The simulation as it is. In a loop its time is that of the scene, which objects and sources are at, and not
    /// [that of the film](Self::time).
    pub fn simulation(&self) -> &dyn Simulation {
        self.film.simulation()
    }

    /// The simulation, to be looked at or changed between steps.
    pub fn simulation_mut(&mut self) -> &mut dyn Simulation {
        self.film.simulation_mut()
    }

    /// What can be changed while it runs, and what it is now.
    pub fn parameters(&mut self) -> Vec<Parameter> {
        self.film.simulation_mut().parameters()
    }

    /// Changes a parameter from the next step on. Saved states hold what was changed so.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<(), ParameterError> {
        let value = value.into();
        self.film.set_parameter(name, value.clone())?;
        match self.changes.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.changes.push((name.to_owned(), value)),
        }
        Ok(())
    }

    /// What is done while it plays, in the order in which it was added.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// Does something after the frame that is finished now, or a later one: [`Edit::frame`]. A run of the same scene with the same edits
    /// comes to the same bits.
    pub fn edit(&mut self, edit: Edit) -> Result<(), EditError> {
        if edit.frame < self.frame || edit.frame == self.frame && self.since > 0 {
            return Err(EditError::TooLate { frame: edit.frame, now: self.frame });
        }
        // Of what is changed again and again after the same frame, only the last value ever acts.
        fn keys(set: &[String]) -> impl Iterator<Item = Option<&str>> {
            set.iter().map(|text| text.split('=').next())
        }
        let is_again = |last: &Edit| {
            last.frame == edit.frame
                && match (&last.change, &edit.change) {
                    (Change::Parameter { name: known, .. }, Change::Parameter { name, .. }) => known == name,
                    (Change::Set(known), Change::Set(set)) => keys(known).eq(keys(set)),
                    _ => false,
                }
        };
        let replaced = if self.edits.last().is_some_and(is_again) { self.edits.pop() } else { None };
        let changes_scene = matches!(edit.change, Change::Set(_));
        self.add(edit)?;
        if changes_scene && let Err(reason) = self.try_scene() {
            self.edits.pop();
            self.edits.extend(replaced);
            self.setup = self.setup.with_edits(&self.edits).map_err(|e| EditError::Scene(told(&e)))?;
            return Err(reason);
        }
        Ok(())
    }

    /// Works out what the scene becomes by the last edit, and whether that can take over the state.
    fn try_scene(&mut self) -> Result<(), EditError> {
        self.setup = self.setup.with_edits(&self.edits).map_err(|e| EditError::Scene(told(&e)))?;
        if self.edits.last().is_some_and(|edit| edit.frame == self.frame) {
            let wanted = rebuilds(&self.edits).iter().filter(|(frame, _)| *frame <= self.frame).count();
            self.carry_over(wanted).map_err(EditError::Rebuild)?;
        }
        Ok(())
    }

    /// The scene as edits of its keys have made it until the frame that was finished last.
    pub fn scene(&self) -> &Setup {
        self.setup.at_frame(self.frame)
    }

    /// Goes on moving what the last edit moves: to this displacement in the frame that comes next. `false`: that moves nothing, or ended before.
    pub fn carry_to(&mut self, displacement: &[f64]) -> bool {
        let Some(Edit { frame, change: Change::Move(m) }) = self.edits.last_mut() else { return false };
        if *frame + m.points.len() as u64 != self.frame || self.since > 0 {
            return false;
        }
        m.points.push(displacement.to_vec());
        self.edited = None;
        true
    }

    /// Tells everything that is moved by hand where it was and will be until the end of the next frame, and nothing of what comes later.
    fn place_moved(&mut self) {
        let until = (self.frame + 1) as f64 / self.fps;
        for (thing, points) in edit::moved(&self.edits, self.fps) {
            match self.paths.iter().find(|(known, _)| *known == thing) {
                Some((_, path)) => path.set(points, until),
                None => {
                    let path = Path::default();
                    path.set(points, until);
                    self.paths.push((thing, path));
                }
            }
        }
    }

    /// The simulation of the scene as the first so many of its [`rebuilds`] make it.
    fn build(&mut self, built: usize) -> Result<(Film, Setup), BuildError> {
        self.place_moved();
        let done = &rebuilds(&self.edits)[..built];
        let sets = done.iter().rev().find(|(_, thing)| thing.is_none());
        let mut setup = sets.map_or(&self.setup, |(frame, _)| self.setup.at_frame(*frame)).clone();
        let is_moved = |thing: &Thing| done.iter().any(|(_, known)| *known == Some(*thing));
        let paths: Vec<_> = self.paths.iter().filter(|(thing, _)| is_moved(thing)).cloned().collect();
        setup.take_paths(&paths);
        let mut film = film(&setup, &self.brush)?;
        for (name, value) in &self.changes {
            // What the scene has no more is not to be changed.
            let _ = film.set_parameter(name, value.clone());
        }
        Ok((film, setup))
    }

    /// Becomes what `build` made.
    fn take(&mut self, film: Film, setup: &Setup, built: usize) {
        (self.film, self.built) = (film, built);
        (self.cfl, self.longest, self.animated) = (setup.solver.cfl, longest(setup), animated(setup));
    }

    /// Builds another simulation and gives it the state of this one.
    fn carry_over(&mut self, built: usize) -> Result<(), String> {
        let (film, setup) = self.build(built).map_err(|e| e.to_string())?;
        self.hand_over(film, &setup, built)
    }

    fn hand_over(&mut self, mut film: Film, setup: &Setup, built: usize) -> Result<(), String> {
        let mut state = Carried::default();
        self.film.visit_state(&mut state);
        state.restore();
        film.visit_state(&mut state);
        if !state.fits() {
            return Err("its state is of another kind".to_owned());
        }
        self.take(film, setup, built);
        Ok(())
    }

    /// Whether a parameter may have a value; why not.
    pub(crate) fn check_parameter(&mut self, name: &str, value: &Value) -> Result<(), ParameterError> {
        match self.parameters().iter().find(|known| known.name == *name) {
            Some(known) => known.check(value),
            // Says why not, and changes nothing.
            None => self.film.set_parameter(name, value.clone()),
        }
    }

    /// Goes through all edits that need another simulation, as if no time passed between them: the frame of the first after which that cannot take over the
    /// state, and why. One that cannot be built is left out.
    pub(crate) fn try_edits(&mut self) -> Option<(u64, String)> {
        let all = rebuilds(&self.edits);
        (1..=all.len()).find_map(|count| {
            let (film, setup) = self.build(count).ok()?;
            Some((all[count - 1].0, self.hand_over(film, &setup, count).err()?))
        })
    }

    fn add(&mut self, edit: Edit) -> Result<(), ParameterError> {
        if let Change::Parameter { name, value } = &edit.change {
            self.check_parameter(name, value)?;
        }
        self.edits.push(edit);
        self.edited = None;
        Ok(())
    }

    /// Moves the brush of the last edit on: to this point in the frame that comes next. `false`: that is no stroke, or none that goes on there.
    pub fn stroke_to(&mut self, point: &[f64], pressure: f64) -> bool {
        let Some(Edit { frame, change: Change::Stroke(stroke) }) = self.edits.last_mut() else { return false };
        if *frame + stroke.points.len() as u64 != self.frame || self.since > 0 {
            return false;
        }
        stroke.points.push(point.to_vec());
        stroke.pressure.push(pressure);
        self.edited = None;
        true
    }

    /// Makes the edits that belong to the frame that was finished last.
    fn make_edits(&mut self) -> Result<(), DriveError> {
        if self.edited == Some(self.frame) {
            return Ok(());
        }
        let due = rebuilds(&self.edits).iter().filter(|(frame, _)| *frame <= self.frame).count();
        if due != self.built {
            let frame = self.frame;
            self.carry_over(due).map_err(|reason| DriveError::Rebuild { frame, reason })?;
        }
        self.place_moved();
        let mut dabs = Vec::new();
        for i in 0..self.edits.len() {
            let Edit { frame, change } = &self.edits[i];
            match (self.frame.checked_sub(*frame), change) {
                (Some(since), Change::Stroke(stroke)) => dabs.extend(stroke.dab(since, self.fps, &self.substances)),
                (Some(0), Change::Parameter { name, value }) => {
                    let (name, value) = (name.clone(), value.clone());
                    self.set(&name, value)?;
                }
                _ => {}
            }
        }
        self.brush.set(dabs);
        self.edited = Some(self.frame);
        Ok(())
    }

    /// Whether a copy of the state is kept during steps that take long (half a second and more), so that they can be cancelled;
    /// they do by default. Short steps are always finished.
    pub fn keep_copies(&mut self, copies: bool) {
        self.copies = copies;
        if !copies {
            self.copy = StateCopy::default();
        }
    }

    /// The names of the substances, in the order of their accounts.
    pub fn substances(&self) -> &[String] {
        &self.substances
    }

    /// The last finished frame; 0 at the start.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// Steps made.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Seconds of the film: 0 at its beginning; negative while a loop is made.
    pub fn time(&self) -> f64 {
        self.film.time()
    }

    /// What the accounts showed so far.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// How far the making of a loop is; `None`: the next step leads to a frame.
    pub fn preparation(&self) -> Option<Preparation> {
        match &self.film {
            Film::Once(_) => None,
            Film::Loop(looped) => looped.preparation(),
        }
    }

    /// How well a loop is closed.
    pub fn seam(&self) -> Option<Seam> {
        match &self.film {
            Film::Once(_) => None,
            Film::Loop(looped) => looped.seam(),
        }
    }

    /// Makes a step towards the next frame, or towards where the first one can begin.
    pub fn step(&mut self) -> Result<Step, DriveError> {
        let frame = self.frame + 1;
        if let Some(before) = self.preparation() {
            self.count(before.done + 1, 0.0)?;
            let step = self.make(self.limit(), None)?;
            if self.preparation().is_none_or(|now| now.done != before.done) {
                self.since = 0;
            }
            return Ok(step);
        }
        self.make_edits()?;
        let end = frame as f64 / self.fps;
        let remaining = end - self.film.time();
        self.count(frame, remaining)?;
        let dt = next_dt(remaining, self.limit());
        let mut step = self.make(dt, Some((frame, 1.0 - (remaining - dt) * self.fps)))?;
        // Steps add up to frames but for rounding; a loop knows its frames by itself.
        step.reached = dt == remaining || self.film.time() >= end;
        if step.reached {
            self.film.snap_time(end);
            (self.frame, self.since) = (frame, 0);
        }
        Ok(step)
    }

    /// Makes a step, unless it is asked not to, before or while it is made. `None`: the state is the one before the step.
    pub fn step_unless(&mut self, cancel: &CancelToken) -> Result<Option<Step>, DriveError> {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        if self.copies && self.seconds >= PATIENCE { self.try_step(cancel) } else { self.step().map(Some) }
    }

    /// Makes a step that can be cancelled, if there is memory for a copy of the state.
    fn try_step(&mut self, cancel: &CancelToken) -> Result<Option<Step>, DriveError> {
        let (mut copy, since) = (std::mem::take(&mut self.copy), self.since);
        let saved = copy.save(|visitor| self.visit_state(visitor));
        if saved {
            self.film.simulation_mut().set_cancel(cancel);
        }
        let made = self.step();
        self.film.simulation_mut().set_cancel(&CancelToken::default());
        let made = match made {
            Err(DriveError::Step(StepError::Cancelled)) => {
                copy.restore(|visitor| self.visit_state(visitor));
                self.since = since;
                Ok(None)
            }
            made => made.map(Some),
        };
        self.copy = copy;
        made
    }

    /// Makes the steps that lead to a frame, and shows each. `false`: it was cancelled before; the state is that after the last
    /// step that was shown.
    pub fn run_to(
        &mut self,
        frame: u64,
        on_step: &mut dyn FnMut(&Step),
        cancel: &CancelToken,
    ) -> Result<bool, DriveError> {
        while self.frame < frame {
            let Some(step) = self.step_unless(cancel)? else { return Ok(false) };
            on_step(&step);
        }
        Ok(true)
    }

    /// Makes the steps that lead to a time between frames. The frames on the way are not counted.
    pub fn run_to_time(&mut self, end: f64) -> Result<(), DriveError> {
        let next = self.frame + 1;
        while self.film.time() < end {
            let remaining = end - self.film.time();
            self.count(next, remaining)?;
            let dt = next_dt(remaining, self.limit());
            self.make(dt, None)?;
            if dt == remaining {
                break;
            }
        }
        self.film.snap_time(end);
        self.since = 0;
        Ok(())
    }

    /// The longest step from here. At rest this may be infinite but for the share of a frame.
    fn limit(&self) -> f64 {
        self.film.longest_step(self.cfl).min(self.longest)
    }

    /// Counts a step towards a frame that is `remaining` seconds away. Whether steps will be too many is known long before.
    fn count(&mut self, frame: u64, remaining: f64) -> Result<(), DriveError> {
        let hopeless = self.since >= MAX_STEPS / 50 && remaining > self.limit() * f64::from(MAX_STEPS);
        if self.since >= MAX_STEPS || hopeless {
            let cells_per_second = self.film.simulation().cells_per_second();
            return Err(DriveError::TooManySteps { frame, limit: MAX_STEPS, cells_per_second });
        }
        self.since += 1;
        Ok(())
    }

    fn make(&mut self, dt: f64, towards: Option<(u64, f64)>) -> Result<Step, DriveError> {
        let stopwatch = Stopwatch::start();
        let middle = self.film.simulation().time() + 0.5 * dt;
        for i in 0..self.animated.len() {
            let (name, value) = (self.animated[i].0.clone(), self.animated[i].1.at(middle));
            // A simulation has the parameters that its scene animates. Saved states hold them: the length of the next step, and
            // what is around the grid, depend on them.
            let set = self.set(&name, value);
            debug_assert!(set.is_ok(), "{set:?}");
        }
        let report = self.film.step(dt)?;
        let seconds = stopwatch.seconds();
        self.seconds = seconds;
        self.steps += 1;
        let (number, time) = (self.steps, self.film.time());
        let mut troubles = Vec::new();
        for finding in self.watch.observe(&report.ledger, report.dt) {
            let (substance, kind) = match finding {
                Finding::Unexplained { substance, .. } => (substance, 0),
                Finding::OutOfRange { substance, .. } => (substance, 1),
            };
            if substance >= self.told.len() {
                self.told.resize(substance + 1, [false; 2]);
            }
            if !std::mem::replace(&mut self.told[substance][kind], true) {
                let name = self.substances.get(substance).cloned();
                let substance = name.unwrap_or_else(|| format!("substance {substance}"));
                troubles.push(Trouble { substance, step: number, time, finding });
            }
        }
        Ok(Step { number, time, towards, reached: false, seconds, report, troubles })
    }

    /// Parameters first: what they change may need memory for the state.
    fn visit_changes(&mut self, visitor: &mut dyn StateVisitor) {
        let before = self.changes.clone();
        let mut count = self.changes.len() as u64;
        visitor.parts("driver.changes", &mut count);
        self.changes.resize(count.min(MOST_CHANGES) as usize, (String::new(), Value::Number(0.0)));
        for (name, value) in &mut self.changes {
            visit_text(visitor, "driver.changed", name);
            let mut is_word = u64::from(matches!(value, Value::Choice(_)));
            visitor.integer("driver.is_word", &mut is_word);
            if is_word != 0 {
                let mut word = if let Value::Choice(word) = value { std::mem::take(word) } else { String::new() };
                visit_text(visitor, "driver.word", &mut word);
                *value = Value::Choice(word);
            } else {
                let mut number = if let Value::Number(number) = value { *number } else { 0.0 };
                visitor.real("driver.number", &mut number);
                *value = Value::Number(number);
            }
        }
        if self.changes != before {
            for (name, value) in &self.changes {
                // What cannot be set any more was set before the state was saved: it is part of that.
                let _ = self.film.set_parameter(name, value.clone());
            }
        }
    }

    /// The simulation that a state belongs to.
    fn restore_built(&mut self, built: u64, visitor: &mut dyn StateVisitor) {
        let known = rebuilds(&self.edits).len() as u64;
        if built > known {
            return visitor.refuse("it was saved after more edits than the scene has");
        }
        match self.build(built as usize) {
            Ok((film, setup)) => self.take(film, &setup, built as usize),
            Err(reason) => visitor.refuse(&reason.to_string()),
        }
    }

    /// Shows the visitor everything that the rest of the run depends on, always in the same order.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        self.edited = None;
        visitor.integer("driver.frame", &mut self.frame);
        let mut built = self.built as u64;
        visitor.integer("driver.built", &mut built);
        if built != self.built as u64 {
            self.restore_built(built, visitor);
        }
        self.place_moved();
        visitor.integer("driver.steps", &mut self.steps);
        for told in self.told.iter_mut().flatten() {
            let mut value = u64::from(*told);
            visitor.integer("driver.told", &mut value);
            *told = value != 0;
        }
        self.visit_changes(visitor);
        self.watch.visit_state(visitor);
        self.film.visit_state(visitor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(finding: Option<Finding>) -> Step {
        let trouble = |finding| Trouble { substance: "smoke".to_owned(), step: 7, time: 0.25, finding };
        let mut report = StepReport::default();
        (report.pressure.converged, report.viscous.converged) = (true, true);
        Step {
            number: 7,
            time: 0.25,
            towards: Some((1, 0.5)),
            reached: false,
            seconds: 0.0,
            report,
            troubles: finding.map(trouble).into_iter().collect(),
        }
    }

    fn scene() -> Driver {
        let text = "model = \"smoke\"\n[grid]\ncells = [32, 48]\nsize = [2, 3]\n[[source]]\n\
                    shape = { sphere = { center = [1, 0.5], radius = 0.3 } }\nset = { density = 1, temperature = 1 }\n";
        let (setup, _) = crate::Scene::parse("smoke.toml", text, &[]).unwrap().setup().unwrap();
        Driver::new(&setup).unwrap()
    }

    fn state(driver: &mut Driver) -> StateCopy {
        let mut copy = StateCopy::default();
        assert!(copy.save(|visitor| driver.visit_state(visitor)));
        copy
    }

    #[test]
    fn a_step_that_is_cancelled_on_its_way_was_never_made() {
        let (mut driver, mut other) = (scene(), scene());
        let never = CancelToken::default();
        for driver in [&mut driver, &mut other] {
            assert!(driver.run_to(2, &mut |_| (), &never).unwrap());
        }
        let before = state(&mut driver);
        let mut cancelled = 0;
        while driver.try_step(&CancelToken::after(cancelled)).unwrap().is_none() {
            assert!(state(&mut driver) == before && driver.since == other.since, "{cancelled} looks");
            cancelled += 1;
        }
        assert!(cancelled >= 3, "looked at {cancelled} times");
        other.step().unwrap();
        assert!(state(&mut driver) == state(&mut other), "and the next one is as if nothing had happened");
    }

    #[test]
    fn states_hold_parameters_that_were_changed_while_running() {
        let mut driver = scene();
        let never = CancelToken::default();
        driver.run_to(1, &mut |_| (), &never).unwrap();
        driver.set("viscosity", 0.05).unwrap();
        driver.set("viscosity", 0.02).unwrap();
        driver.set("advection", "semi_lagrangian").unwrap();
        driver.run_to(2, &mut |_| (), &never).unwrap();
        let saved = state(&mut driver);
        driver.run_to(3, &mut |_| (), &never).unwrap();

        let mut resumed = scene();
        saved.restore(|visitor| resumed.visit_state(visitor));
        assert_eq!(resumed.parameters(), driver.parameters());
        resumed.run_to(3, &mut |_| (), &never).unwrap();
        assert!(state(&mut resumed) == state(&mut driver));
    }

    #[test]
    fn what_is_not_accounted_for_is_an_error_if_one_is_strict() {
        assert_eq!(step(None).strictly(), Ok(()));
        let error = step(Some(Finding::Unexplained { substance: 0, part: -0.0123 })).strictly().unwrap_err();
        let told = error.to_string();
        assert_eq!(told, "smoke: 1.23 % vanished within a second without an explanation (step 7, t = 0.25 s)");
        let error = step(Some(Finding::OutOfRange { substance: 0, value: 1.5, allowed: [0.0, 1.0] })).strictly();
        let told = error.unwrap_err().to_string();
        assert!(told.starts_with("smoke: a value of 1.50000 is outside of 0.00000 to 1.00000"), "{told}");
        let mut left = step(None);
        left.report.pressure.converged = false;
        assert!(matches!(left.strictly(), Err(DriveError::NotConverged { step: 7, .. })));
    }
}

//! The computing part of a run: steps, pictures, checkpoints.

use std::path::PathBuf;
use std::time::Instant;

use squall_core::ledger::Account;
use squall_core::{StateVisitor, StepReport};
use squall_io::{Checkpoint, OutputFolder, Position, SceneHash, checkpoint};
use squall_render::RenderError;

use super::log::Log;
use super::range::Found;
use super::report::{Event, Mass, Observer, Outcome, RunError, Summary};
use super::writer::{Failed, Frame, Writer, Written};
use super::{CancelToken, RunOptions, STEPS, TIMINGS, budget, figures_table, single_files};
use crate::driver::{Driver, Step};
use crate::output::{Outputs, Shot, needs_surface};
use crate::picture::Painter;
use crate::setup::Setup;

/// Seconds between savings of the log, apart from checkpoints.
const LOG_SECONDS: f64 = 5.0;

pub(super) struct Simulator<'a> {
    setup: &'a Setup,
    options: &'a RunOptions,
    told_of_pressure: bool,
    told_of_viscosity: bool,
    /// Whether it was told that 16 bits are too few.
    saturated: bool,
    hash: SceneHash,
    driver: Driver,
    painter: Painter,
    outputs: Outputs,
    totals: Totals,
    /// The last finished frame.
    frame: u64,
    writer: Writer,
    steps: Log,
    timings: Log,
    /// What the model measures of itself: for smoke with targets, how well they are met.
    targets: Option<Log>,
    folder: PathBuf,
    checkpoint_path: PathBuf,
    saved: Instant,
    logged: Instant,
    steps_here: u64,
    seconds_stepping: f64,
    /// Cells of all steps of this call.
    cell_steps: u64,
}

/// Why the computing ended before its time.
pub(super) enum Stop {
    Cancelled,
    /// The writer has the error.
    WriterFailed,
    Error(Box<RunError>),
}

impl<E: Into<RunError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Error(Box::new(error.into()))
    }
}

impl From<Failed> for Stop {
    fn from(_: Failed) -> Self {
        Stop::WriterFailed
    }
}

impl<'a> Simulator<'a> {
    /// Builds the simulation and puts it where the checkpoint was taken.
    pub fn new(
        setup: &'a Setup,
        options: &'a RunOptions,
        folder: OutputFolder,
        outputs: Outputs,
        checkpoint: Option<Checkpoint>,
        range: Found,
    ) -> Result<Self, RunError> {
        let mut driver = Driver::new(setup)?;
        driver.keep_copies(budget::has_room_for_a_copy(setup, options));
        let mut painter = Painter::new(setup)?;
        let mut totals = Totals::new(setup.substances.len());
        let (resumed, frame) = (checkpoint.is_some(), checkpoint.as_ref().map_or(0, |c| c.position.frame));
        if let Some(checkpoint) = checkpoint {
            checkpoint.restore(|v| visit(v, &mut driver, &mut painter, &mut totals))?;
        }
        if let Found::Range(range) = range {
            painter.fix_range(range);
        }
        let made = driver.steps();
        let steps = Log::open(folder.path().join(STEPS), &steps_header(driver.substances()), resumed.then_some(made))?;
        let header = "step,seconds,advect,force,diffuse,project,measure";
        let timings = Log::open(folder.path().join(TIMINGS), header, resumed.then_some(made))?;
        let columns: String = driver.simulation_mut().figures().iter().map(|f| format!(",{}", f.name)).collect();
        let header = format!("frame,time{columns}");
        let targets = match figures_table(setup) {
            Some(table) => Some(Log::open(folder.path().join(table), &header, resumed.then_some(frame))?),
            None => None,
        };
        Ok(Self {
            setup,
            options,
            told_of_pressure: false,
            told_of_viscosity: false,
            saturated: false,
            hash: setup.hash().into(),
            driver,
            painter,
            outputs,
            totals,
            frame,
            folder: folder.path().to_owned(),
            checkpoint_path: folder.checkpoint_path(),
            writer: Writer::new(folder),
            steps,
            timings,
            targets,
            saved: Instant::now(),
            logged: Instant::now(),
            steps_here: 0,
            seconds_stepping: 0.0,
            cell_steps: 0,
        })
    }

    /// Computes and draws all frames up to `last`, and leaves a checkpoint of the end.
    pub fn run_to(&mut self, last: u64, observer: &mut dyn Observer, cancel: &CancelToken) -> Result<(), Stop> {
        self.painter.set_cancel(cancel);
        // The last time may have ended in the middle of a picture.
        if self.driver.frame() > self.frame || self.driver.steps() == 0 && self.setup.time.include_start {
            self.show(self.driver.frame(), observer)?;
        }
        while self.driver.frame() < last {
            if let Some(preparation) = self.driver.preparation() {
                observer.event(&Event::Preparing(preparation));
            }
            let Some(step) = self.driver.step_unless(cancel)? else { return Err(Stop::Cancelled) };
            if let Some(preparation) = self.driver.preparation() {
                self.painter.look_ahead(self.driver.simulation(), preparation.done);
            }
            self.note(&step, observer)?;
            if step.reached {
                self.show(self.driver.frame(), observer)?;
            } else {
                self.save_from_time_to_time(observer)?;
            }
            if let Err(error) = budget::check_cells(self.setup, self.options, step.report.cells) {
                // With more memory it can go on from here.
                self.save(observer)?;
                return Err(error.into());
            }
        }
        self.save(observer)
    }

    fn save_from_time_to_time(&mut self, observer: &mut dyn Observer) -> Result<(), Stop> {
        let seconds = self.setup.output.checkpoint_seconds;
        if seconds > 0.0 && self.saved.elapsed().as_secs_f64() >= seconds {
            self.save(observer)?;
        }
        Ok(())
    }

    /// Writes down what a step did, and tells it.
    fn note(&mut self, step: &Step, observer: &mut dyn Observer) -> Result<(), Stop> {
        let Step { number, seconds, report, .. } = step;
        self.seconds_stepping += seconds;
        self.steps_here += 1;
        self.cell_steps += report.cells;
        self.totals.add(*number, report);
        self.steps.row(*number, steps_row(step));
        let t = &report.timings;
        self.timings.row(*number, [*seconds, t.advect, t.force, t.diffuse, t.project, t.measure]);
        if let Some((frame, progress)) = step.towards {
            let (step, seconds, substances) = (*number, *seconds, self.driver.substances());
            observer.event(&Event::Step { step, frame, progress, seconds, report, substances });
        }
        if self.options.strict {
            step.strictly()?;
        }
        step.troubles.iter().for_each(|trouble| observer.event(&Event::Trouble(trouble)));
        if !report.viscous.converged && !self.told_of_viscosity {
            self.told_of_viscosity = true;
            let left = report.viscous.residual;
            observer.event(&Event::Notice(format!(
                "the solve for viscosity or diffusion did not converge in step {number}: residual {left:.1e} (--strict makes \
                 this an error)"
            )));
        }
        if !report.pressure.converged && !self.told_of_pressure {
            self.told_of_pressure = true;
            let left = report.pressure.residual;
            observer.event(&Event::Notice(format!(
                "the pressure solve of step {number} did not converge: {left:.1e} of the divergence is left; smoke may gain or \
                 lose volume there (--strict makes this an error)"
            )));
        }
        Ok(())
    }

    /// Whether files of 16 bits cannot hold all values: they hold the largest number instead.
    fn saturates(&self, shot: &Shot<'_>) -> bool {
        const LARGEST_HALF: f32 = 65504.0;
        let output = &self.setup.output;
        let in_volumes = output.vdb.as_ref().is_some_and(|vdb| vdb.half)
            && self.totals.masses.iter().flat_map(|m| m.range).any(|v| v.abs() > f64::from(LARGEST_HALF));
        let light = shot.film.as_ref().filter(|_| output.exr);
        in_volumes || light.is_some_and(|film| film.rgba.as_flattened().iter().any(|v| v.abs() > LARGEST_HALF))
    }

    /// Draws the present state as a frame and hands it to the writer.
    fn show(&mut self, number: u64, observer: &mut dyn Observer) -> Result<(), Stop> {
        let time = self.driver.time();
        if let Some(log) = &mut self.targets {
            let figures = self.driver.simulation_mut().figures().into_iter().map(|figure| figure.value);
            log.row(number, std::iter::once(time).chain(figures));
        }
        if !super::frames(self.setup, self.options).contains(&number) {
            self.frame = number;
            return Ok(());
        }
        let sim = self.driver.simulation();
        let picture = drawn(self.painter.draw(sim, time, number))?;
        let passes = drawn(self.painter.draw_passes(sim, time, number, &picture))?;
        let mut shot = Shot::new(self.setup, number, time, Some(sim), picture, passes);
        if needs_surface(self.setup) {
            shot.surface = drawn(self.painter.surface(sim))?;
        }
        observer.event(&Event::Picture { frame: number, image: shot.pixels.image() });
        if !self.saturated && self.saturates(&shot) {
            self.saturated = true;
            observer.event(&Event::Notice(format!(
                "frame {number} has values above 65504, the largest number of 16 bits: they are written as that; \
                 output.vdb = {{ half = false }} keeps them in volumes"
            )));
        }
        let (jobs, files) = (self.outputs.capture(&shot)?, self.outputs.files(number));
        let tables = [Some((STEPS, &self.steps)), figures_table(self.setup).zip(self.targets.as_ref())];
        let tables = tables.into_iter().flatten().map(|(name, log)| (name.to_owned(), log.stamp())).collect();
        self.writer.send(Frame { number, files, tables, jobs })?;
        self.frame = number;
        tell(self.writer.news(), observer);
        if self.logged.elapsed().as_secs_f64() >= LOG_SECONDS {
            self.save_logs()?;
        }
        Ok(())
    }

    fn save_logs(&mut self) -> Result<(), Stop> {
        self.steps.save()?;
        self.timings.save()?;
        if let Some(targets) = &mut self.targets {
            targets.save()?;
        }
        self.logged = Instant::now();
        Ok(())
    }

    /// Puts the state on disk, after everything that led to it.
    fn save(&mut self, observer: &mut dyn Observer) -> Result<(), Stop> {
        tell(self.writer.flush()?, observer);
        self.save_logs()?;
        if self.frame >= *super::frames(self.setup, self.options).start() {
            self.outputs.update(&self.folder, self.frame)?;
        }
        // A checkpoint must not survive what it rests on.
        self.writer.sync(single_files(self.setup, &self.outputs))?;
        if self.setup.output.checkpoint_seconds > 0.0 {
            let position = Position { frame: self.frame, step: self.driver.steps() };
            let Self { driver, painter, totals, .. } = self;
            checkpoint::save(&self.checkpoint_path, self.hash, position, |v| visit(v, driver, painter, totals))?;
            observer.event(&Event::Checkpoint { frame: position.frame, step: position.step });
        }
        self.saved = Instant::now();
        Ok(())
    }

    /// Ends the run after what [`run_to`](Self::run_to) said: keeps what is finished, and tells how it went.
    pub fn close(
        mut self,
        ran: Result<(), Stop>,
        summary: &mut Summary,
        observer: &mut dyn Observer,
    ) -> Result<OutputFolder, RunError> {
        let saved = match &ran {
            Err(Stop::Cancelled) => self.save(observer),
            // The state may be broken: only the log is kept.
            Err(_) => self.save_logs(),
            Ok(()) => Ok(()),
        };
        let (folder, news) = self.writer.finish()?;
        tell(news, observer);
        summary.frames = self.frame;
        summary.steps = self.driver.steps();
        summary.steps_here = self.steps_here;
        if self.steps_here > 0 {
            summary.seconds_per_step = self.seconds_stepping / self.steps_here as f64;
            summary.ns_per_cell_step = 1e9 * self.seconds_stepping / self.cell_steps.max(1) as f64;
        }
        summary.seam = self.driver.seam();
        summary.largest_divergence = self.totals.divergence;
        let known = self.totals.masses.iter().zip(self.driver.substances()).zip(self.driver.watch().substances());
        summary.masses = known.map(|((mass, name), &watched)| Mass { name: name.clone(), watched, ..*mass }).collect();
        // The first error is the one to tell; a writer's error has been told by `finish`.
        for result in [ran, saved] {
            match result {
                Err(Stop::Error(error)) => return Err(*error),
                Err(Stop::Cancelled) => summary.outcome = Outcome::Cancelled,
                Err(Stop::WriterFailed) | Ok(()) => {}
            }
        }
        Ok(folder)
    }
}

/// A picture, unless it was stopped.
fn drawn<T>(result: Result<T, RenderError>) -> Result<T, Stop> {
    result.map_err(|error| match error {
        RenderError::Cancelled => Stop::Cancelled,
        error => error.into(),
    })
}

/// The columns of `steps.csv`: after those of the whole fluid, for each substance its mass; then its accounts.
fn steps_header(substances: &[String]) -> String {
    let masses = substances.iter().map(|name| format!(",mass_{name}"));
    let accounts = substances.iter().flat_map(|name| {
        Account::ENTRIES.into_iter().chain(["max", "allowed_max"]).map(move |entry| format!(",{name}.{entry}"))
    });
    let columns = "step,time,dt,cfl,max_speed,max_divergence,relative_divergence,energy,cells";
    columns.to_owned() + &masses.chain(accounts).collect::<String>()
}

/// A row of it, without the number of the step.
fn steps_row(step: &Step) -> impl Iterator<Item = f64> {
    let r = &step.report;
    let flow = [step.time, r.dt, r.cfl, r.max_speed, r.max_divergence, r.relative_divergence, r.energy, r.cells as f64];
    // Where there is no fluid, there is no largest value.
    let largest = |a: &Account| [a.range[1], a.allowed[1]].map(|v| if v == f64::NEG_INFINITY { 0.0 } else { v });
    let accounts = r.ledger.substances.iter().flat_map(move |a| a.entries().into_iter().chain(largest(a)));
    flow.into_iter().chain(r.mass.iter().copied()).chain(accounts)
}

fn tell(news: Vec<Written>, observer: &mut dyn Observer) {
    for Written { frame, path } in news {
        observer.event(&Event::Frame { frame, path: &path });
    }
}

/// Everything that the rest of the run depends on, always in the same order.
pub(super) fn visit(visitor: &mut dyn StateVisitor, driver: &mut Driver, painter: &mut Painter, totals: &mut Totals) {
    totals.visit_state(visitor);
    painter.visit_state(visitor);
    driver.visit_state(visitor);
}

/// What is told at the end, over the whole run.
pub(super) struct Totals {
    divergence: f64,
    masses: Vec<Mass>,
}

impl Totals {
    pub fn new(substances: usize) -> Self {
        Self { divergence: 0.0, masses: vec![Mass::default(); substances] }
    }

    fn add(&mut self, step: u64, report: &StepReport) {
        self.divergence = self.divergence.max(report.relative_divergence);
        for (mass, account) in self.masses.iter_mut().zip(&report.ledger.substances) {
            if step == 1 {
                mass.first = account.after;
            }
            mass.last = account.after;
            mass.entries.iter_mut().zip(account.entries()).for_each(|(sum, entry)| *sum += entry);
            (mass.range, mass.allowed) = (account.range, account.allowed);
        }
    }

    fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        visitor.real("run.divergence", &mut self.divergence);
        for Mass { first, last, entries, range, allowed, .. } in &mut self.masses {
            let values = [first, last].into_iter().chain(entries).chain(range).chain(allowed);
            values.for_each(|value| visitor.real("run.mass", value));
        }
    }
}

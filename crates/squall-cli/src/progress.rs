//! Progress of a run: a bar on terminals, lines elsewhere, JSON for programs.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use squall::{Event, Observer, Preparation, Trouble};
use squall_core::ledger::{Account, Finding, Ledger};

use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::{say, seconds};

/// Seconds between lines where there is no bar.
const LINE_SECONDS: f64 = 5.0;
/// The bar counts in thousandths of frames, so that it moves within slow ones.
const PARTS: f64 = 1000.0;

enum Form {
    Silent,
    Bar(ProgressBar),
    Lines { next: Instant },
    Json { every_step: bool },
}

/// Tells how a run goes on.
pub struct Progress {
    form: Form,
    last: u64,
    /// Steps made towards the present frame.
    frame_steps: u64,
    begun: Instant,
    /// Where the run began, in frames.
    first: f64,
    /// Mean seconds per step, recent ones counting most.
    pace: f64,
    /// Cells of the last step.
    cells: u64,
    /// Whether time so far went into what precedes the first frame.
    prepared: bool,
    /// When the present frame began, and mean seconds of the frames before it, pictures included.
    frame_begun: Instant,
    per_frame: f64,
    fps: f64,
    /// Why the standard output cannot be written to.
    broken: Option<std::io::Error>,
}

impl Progress {
    pub fn new(json: bool, voice: Voice) -> Self {
        let form = match (json, voice) {
            (true, _) => Form::Json { every_step: voice.verbose > 0 },
            (_, Voice { quiet: true, .. }) => Form::Silent,
            // A bar and log lines would overwrite each other.
            (_, Voice { verbose: 0, .. }) if std::io::stderr().is_terminal() => {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
                bar.set_style(bar_style());
                Form::Bar(bar)
            }
            _ => Form::Lines { next: Instant::now() + Duration::from_secs_f64(LINE_SECONDS) },
        };
        let now = Instant::now();
        Self {
            form,
            last: 0,
            frame_steps: 0,
            begun: now,
            first: 0.0,
            pace: 0.0,
            cells: 0,
            prepared: false,
            frame_begun: now,
            per_frame: 0.0,
            fps: 0.0,
            broken: None,
        }
    }

    /// Knows when frames are shown.
    pub fn with_fps(mut self, fps: f64) -> Self {
        self.fps = fps;
        self
    }

    /// An error if somebody was to be told what could not be written.
    pub fn check(&mut self) -> Result<(), Failure> {
        match self.broken.take() {
            Some(e) => Err(Failure::new(Code::Io, format!("cannot write to the standard output: {e}"), None)),
            None => Ok(()),
        }
    }

    /// Seconds left, from where the run is, in frames.
    fn left(&self, at: f64) -> f64 {
        if self.per_frame > 0.0 {
            // Frames take as long as those before: steps and pictures.
            let whole = self.per_frame * (self.last as f64 - at.floor());
            return (whole - self.frame_begun.elapsed().as_secs_f64()).max(0.0);
        }
        let share = (at - self.first) / (self.last as f64 - self.first).max(1e-9);
        self.begun.elapsed().as_secs_f64() * (1.0 - share) / share.max(1e-9)
    }

    /// A frame is drawn.
    fn frame_is_drawn(&mut self) {
        let spent = self.frame_begun.elapsed().as_secs_f64();
        self.per_frame = if self.per_frame == 0.0 { spent } else { 0.8 * self.per_frame + 0.2 * spent };
        self.frame_begun = Instant::now();
    }

    /// Removes the bar.
    pub fn end(&mut self) {
        if let Form::Bar(bar) = &self.form {
            bar.finish_and_clear();
        }
    }

    /// How far the run is: for the bar and for lines.
    fn status(&self, frame: u64, at: f64) -> String {
        let left = self.left(at);
        let steps = match self.frame_steps {
            0 => String::new(),
            n => format!(", sub-step {n}, {} per step of {} cells", seconds(self.pace), count(self.cells)),
        };
        format!("frame {frame}/{}{steps}, {} left", self.last, seconds(left.ceil()))
    }

    fn step(&mut self, frame: u64, progress: f64, spent: f64, cells: u64) {
        if std::mem::take(&mut self.prepared) {
            (self.begun, self.frame_begun) = (Instant::now(), Instant::now());
        }
        self.frame_steps += 1;
        self.pace = if self.pace == 0.0 { spent } else { 0.9 * self.pace + 0.1 * spent };
        self.cells = cells;
        self.advance(frame, (frame - 1) as f64 + progress);
    }

    /// Shows how far a loop is before its first frame.
    fn prepare(&mut self, p: &Preparation) {
        let share = p.done as f64 / p.of.max(1) as f64;
        let left = self.begun.elapsed().as_secs_f64() * (1.0 - share) / share.max(1e-9);
        let left = if p.done == 0 { String::new() } else { format!(", {} left", seconds(left.ceil())) };
        let status = format!("before the loop: {}, frame {}/{}{left}", p.doing, p.done, p.of);
        match &mut self.form {
            Form::Bar(bar) => bar.set_message(status),
            Form::Lines { next } if Instant::now() >= *next => {
                say!("{status}");
                *next = Instant::now() + Duration::from_secs_f64(LINE_SECONDS);
            }
            _ => {}
        }
        self.prepared = true;
    }

    /// Shows how far the run is.
    fn advance(&mut self, frame: u64, at: f64) {
        let status = self.status(frame, at);
        match &mut self.form {
            Form::Bar(bar) => {
                bar.set_position((PARTS * at) as u64);
                bar.set_message(status);
            }
            Form::Lines { next } if Instant::now() >= *next => {
                say!("{status}");
                *next = Instant::now() + Duration::from_secs_f64(LINE_SECONDS);
            }
            _ => {}
        }
    }
}

impl Observer for Progress {
    fn event(&mut self, event: &Event<'_>) {
        if let Form::Json { every_step } = self.form
            && let Some(mut line) = json(event, self.last, every_step)
        {
            if let Event::Frame { frame, .. } = event {
                line["time"] = (*frame as f64 / self.fps.max(1e-9)).into();
                line["seconds_left"] = self.left(*frame as f64).into();
            }
            if let Err(e) = write_line(&line) {
                // A reader that has seen enough is no error.
                self.broken = Some(e).filter(|e| e.kind() != std::io::ErrorKind::BrokenPipe).or(self.broken.take());
            }
        }
        match event {
            Event::Started { first, last, resumed_from } => {
                (self.last, self.first, self.begun) = (*last, (*first - 1) as f64, Instant::now());
                self.frame_begun = self.begun;
                if let Form::Bar(bar) = &self.form {
                    bar.set_length((PARTS * *last as f64) as u64);
                    bar.set_position((PARTS * self.first) as u64);
                }
                if let (Some(frame), Form::Bar(_) | Form::Lines { .. }) = (resumed_from, &self.form) {
                    say!("Resuming after frame {frame}.");
                }
            }
            Event::Preparing(preparation) => self.prepare(preparation),
            Event::Step { step, frame, progress, seconds, report, .. } => {
                tracing::debug!(step, frame, dt = report.dt, cfl = report.cfl, divergence = report.relative_divergence);
                self.step(*frame, *progress, *seconds, report.cells);
            }
            Event::Picture { frame, .. } => {
                // Where nothing is simulated, pictures are all that happens.
                if self.frame_steps == 0 {
                    self.advance(*frame, *frame as f64);
                }
                self.frame_steps = 0;
                self.frame_is_drawn();
            }
            Event::Frame { frame, path } => tracing::info!(frame, path = %path.display(), "written"),
            Event::Checkpoint { frame, step } => tracing::info!(frame, step, "checkpoint"),
            Event::Movie { done, of } => {
                if let Form::Bar(bar) = &self.form {
                    bar.set_message(format!("movie, frame {done}/{of}"));
                }
            }
            Event::Notice(text) => tracing::warn!("{text}"),
            Event::Trouble(trouble) => tracing::warn!("{trouble}; --strict makes this an error"),
            _ => {}
        }
    }
}

/// A number of cells for people.
fn count(n: u64) -> String {
    match n as f64 {
        n if n >= 1e6 => format!("{:.1} M", n / 1e6),
        n if n >= 1e3 => format!("{:.0} k", n / 1e3),
        n => format!("{n}"),
    }
}

fn bar_style() -> ProgressStyle {
    // The template is ours; if it were wrong the default would do.
    ProgressStyle::with_template("{bar:24} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn json(event: &Event<'_>, last: u64, every_step: bool) -> Option<serde_json::Value> {
    Some(match event {
        Event::Started { first, last, resumed_from } => {
            serde_json::json!({ "event": "started", "first": first, "last": last, "resumed_from": resumed_from })
        }
        Event::Step { step, frame, seconds, report, substances, .. } if every_step => serde_json::json!({
            "event": "step", "step": step, "frame": frame, "seconds": seconds, "dt": report.dt, "cfl": report.cfl, "cells": report.cells,
            "relative_divergence": report.relative_divergence, "ledger": ledger(&report.ledger, substances),
        }),
        Event::Trouble(trouble) => {
            let Trouble { substance, step, time, finding } = trouble;
            let (kind, figure, allowed) = match finding {
                Finding::Unexplained { part, .. } => ("unexplained", part, None),
                Finding::OutOfRange { value, allowed, .. } => ("out_of_range", value, Some(allowed)),
            };
            serde_json::json!({
                "event": "trouble", "substance": substance, "step": step, "time": time, "kind": kind, "figure": figure,
                "allowed": allowed, "message": trouble.to_string(),
            })
        }
        Event::Frame { frame, path } => {
            serde_json::json!({ "event": "frame", "frame": frame, "last": last, "path": path })
        }
        Event::Checkpoint { frame, step } => {
            serde_json::json!({ "event": "checkpoint", "frame": frame, "step": step })
        }
        Event::Notice(text) => serde_json::json!({ "event": "notice", "message": text }),
        _ => return None,
    })
}

/// The accounts of a step.
fn ledger(ledger: &Ledger, substances: &[String]) -> serde_json::Value {
    let all = |account: &Account| {
        let mut all = entries(account.entries());
        all.insert("before".to_owned(), account.before.into());
        all.insert("after".to_owned(), account.after.into());
        all
    };
    let substance = |(name, account): (&String, &Account)| {
        let mut all = all(account);
        all.insert("range".to_owned(), account.range.to_vec().into());
        all.insert("allowed".to_owned(), account.allowed.to_vec().into());
        (name.clone(), all.into())
    };
    let substances: serde_json::Map<_, _> = substances.iter().zip(&ledger.substances).map(substance).collect();
    // Momentum that nothing keeps has no account.
    let momentum = ledger.momentum.iter().map(|m| (*m != Account::default()).then(|| all(m)));
    serde_json::json!({
        "substances": substances,
        "volume": { "emitted": ledger.volume.emitted, "sides": ledger.volume.sides, "unexplained": ledger.volume.unexplained() },
        "momentum": momentum.collect::<Vec<_>>(),
    })
}

/// Entries of an account by name.
pub fn entries(values: [f64; 7]) -> serde_json::Map<String, serde_json::Value> {
    Account::ENTRIES.into_iter().zip(values).map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// Writes a line to the standard output. If nobody reads it any more, the run goes on all the same.
pub fn json_line(value: serde_json::Value) {
    let _ = write_line(&value);
}

fn write_line(value: &serde_json::Value) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}").and_then(|()| out.flush())
}

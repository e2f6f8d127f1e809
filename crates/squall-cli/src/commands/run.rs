//! `squall run`: a scene becomes frames and a movie.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use squall::run::{CancelToken, Mass, Outcome, RunOptions, Summary};
use squall_core::ledger::Account;
use squall_io::Start;

use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::{bytes, count, print, say, seconds};
use crate::progress::{Progress, entries, json_line};
use crate::scene::{Loaded, SceneArgs};

/// Run a scene: frames, a movie, logs
///
/// Running the same command again resumes a run that was interrupted; the result is the same, byte for byte. Raising --frames
/// extends a finished run. If the scene was edited, its own former output is replaced.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,
    /// Preview: half the cells along each axis, small pictures of preview quality, no volumes; in out/NAME_preview
    #[arg(long, help_heading = "Changes to the scene")]
    preview: bool,
    /// A still: compute up to this frame and write no other; in out/NAME_still
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Output")]
    frame: Option<u64>,
    #[command(flatten)]
    how: HowArgs,
}

/// How a scene is run, wherever it comes from.
#[derive(clap::Args)]
pub struct HowArgs {
    /// Folder for everything that is written [default: out/NAME]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Write no movie, only frames
    #[arg(long, help_heading = "Output")]
    pub no_movie: bool,
    /// Plot how well smoke matches its targets: targets.png
    #[arg(long, help_heading = "Output")]
    pub plot: bool,
    /// One JSON object per line on the standard output: started, frame, checkpoint, finished, error
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Resume where an earlier run stopped; this is the default
    #[arg(long, help_heading = "Earlier output", conflicts_with_all = ["restart", "overwrite"])]
    pub resume: bool,
    /// Start over, replacing what an earlier run of the same scene wrote
    #[arg(long, help_heading = "Earlier output")]
    pub restart: bool,
    /// Start over, replacing the output of another scene. Files that are not the output of a run are never replaced
    #[arg(long, help_heading = "Earlier output")]
    pub overwrite: bool,
    /// Threads to compute with [default: all cores]. The result does not depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Limits")]
    pub threads: Option<u16>,
    /// Refuse to run if more memory is needed, for example 8GB [default: nine tenths of what is free]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_bytes, help_heading = "Limits")]
    pub memory_limit: Option<u64>,
    /// Stop with an error if the pressure solve does not converge, or a substance is not accounted for
    #[arg(long, help_heading = "Limits")]
    pub strict: bool,
}

pub fn run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    let again = || {
        let mut words = [vec!["run".to_owned()], args.scene.typed(), args.how.typed()].concat();
        words.extend(args.preview.then(|| "--preview".to_owned()));
        words.extend(args.frame.iter().flat_map(|n| ["--frame".to_owned(), n.to_string()]));
        words
    };
    args.how.telling(|| {
        let limit = args.how.memory_limit;
        let mut loaded = match args.preview {
            true => args.scene.load_preview(limit, voice)?,
            false => args.scene.load_within(limit, voice)?,
        };
        if args.frame.is_some() {
            loaded.name += "_still";
            loaded.setup = loaded.setup.without_movie();
        }
        args.how.run(loaded, args.frame.map(|n| n..=n), &again, voice)
    })
}

impl HowArgs {
    /// Does something; whoever reads JSON hears of its failure.
    pub fn telling(&self, action: impl FnOnce() -> Result<Code, Failure>) -> Result<Code, Failure> {
        let result = action();
        if let (true, Err(failure)) = (self.json, &result) {
            json_line(serde_json::json!({
                "event": "error",
                "code": failure.code as u8,
                "message": failure.report.to_string(),
                "help": failure.report.help().map(|h| h.to_string()),
            }));
        }
        result
    }

    /// The folder for everything that the scene of this name writes.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from("out").join(name))
    }

    /// Runs a scene; `again` gives the words of the command that goes on with it.
    pub fn run(
        &self,
        mut loaded: Loaded,
        only: Option<RangeInclusive<u64>>,
        again: &dyn Fn() -> Vec<String>,
        voice: Voice,
    ) -> Result<Code, Failure> {
        if self.no_movie {
            loaded.setup = loaded.setup.without_movie();
        }
        let options = RunOptions {
            out: self.folder(&loaded.name),
            start: match (self.overwrite, self.restart) {
                (true, _) => Start::Overwrite,
                (_, true) => Start::Restart,
                _ => Start::Resume,
            },
            strict: self.strict,
            memory_limit: self.memory_limit,
            origin: Some(loaded.origin.clone()),
            assets: loaded.assets.place(),
            only,
            ..RunOptions::new(&loaded.name, "")
        };
        let cancel = stop_on_signals(voice)?;
        let pool = pool(self.threads)?;
        let mut progress = Progress::new(self.json, voice).with_fps(loaded.setup.time.fps);
        let summary = pool.install(|| squall::run(&loaded.setup, &options, &mut progress, &cancel));
        progress.end();
        let summary = summary?;
        progress.check()?;
        let plot = if self.plot { plot(&summary, voice)? } else { None };

        if self.json {
            json_line(finished(&summary, plot.as_deref()));
        } else if !voice.quiet {
            print(describe(&summary, plot.as_deref()))?;
        }
        if summary.outcome == Outcome::Cancelled {
            if !voice.quiet {
                say!("Interrupted. To resume: {}", command(&again()));
            }
            return Ok(Code::Interrupted);
        }
        Ok(Code::Done)
    }

    /// The same arguments as they would be typed to go on.
    pub fn typed(&self) -> Vec<String> {
        let mut words = Vec::new();
        words.extend(self.out.iter().flat_map(|out| ["--out".to_owned(), out.display().to_string()]));
        let flags =
            [(self.no_movie, "--no-movie"), (self.strict, "--strict"), (self.plot, "--plot"), (self.json, "--json")];
        words.extend(flags.iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| (*flag).to_owned()));
        words.extend(self.threads.iter().flat_map(|n| ["--threads".to_owned(), n.to_string()]));
        words.extend(self.memory_limit.iter().flat_map(|n| ["--memory-limit".to_owned(), n.to_string()]));
        words
    }
}

/// Draws `targets.png`; `None` if the scene has no targets.
fn plot(summary: &Summary, voice: Voice) -> Result<Option<PathBuf>, Failure> {
    let drawn = squall::plot::draw_targets(&summary.folder).map_err(Failure::from)?;
    if drawn.is_none() && !voice.quiet {
        say!("Nothing to plot: the scene has no targets.");
    }
    Ok(drawn)
}

/// Threads to compute with; all cores if no number is given.
pub fn pool(threads: Option<u16>) -> Result<rayon::ThreadPool, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0).into()).build();
    pool.map_err(|e| Failure::new(Code::Io, format!("cannot start threads: {e}"), None))
}

/// The first signal stops cleanly; the second one at once.
pub fn stop_on_signals(voice: Voice) -> Result<CancelToken, Failure> {
    let cancel = CancelToken::default();
    let token = cancel.clone();
    let handler = move || {
        if token.is_cancelled() {
            std::process::exit(Code::Interrupted as i32);
        }
        token.cancel();
        if !voice.quiet {
            say!("Stopping after this step; again to stop at once.");
        }
    };
    match ctrlc::set_handler(handler) {
        Ok(()) => Ok(cancel),
        Err(e) => Err(Failure::new(Code::Io, format!("cannot listen for signals: {e}"), None)),
    }
}

/// A command as it is typed into a shell.
pub fn command(words: &[String]) -> String {
    std::iter::once("squall".to_owned()).chain(words.iter().map(|w| quoted(w))).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Frames and steps up to here.
fn how_far(s: &Summary) -> String {
    format!("{}, {}", count(s.frames, "frame"), count(s.steps, "step"))
}

fn describe(s: &Summary, plot: Option<&Path>) -> String {
    let folder = s.folder.display();
    let mut text = match s.outcome {
        Outcome::AlreadyDone => format!("All {} frames already exist.\n", s.frames),
        Outcome::DrawnAgain => {
            format!("{} redrawn in {}, without simulating.\n", count(s.frames, "frame"), seconds(s.seconds))
        }
        Outcome::Cancelled => format!("{} so far.\n", how_far(s)),
        Outcome::Done => format!("{} in {}", how_far(s), seconds(s.seconds)),
    };
    if s.outcome == Outcome::Done {
        text += &match s.resumed_from {
            Some(frame) => format!(" (resumed after frame {frame}).\n"),
            None => ".\n".to_owned(),
        };
    }
    if s.steps_here > 0 {
        text += &format!("{} per step, {:.1} ns per cell.\n", seconds(s.seconds_per_step), s.ns_per_cell_step);
        text += &format!("Largest relative divergence {:.1e}.\n", s.largest_divergence);
        for mass in &s.masses {
            text += &format!(
                "{}: {:.6} at the start, {:.6} at the end{}.\n",
                mass.name,
                mass.first,
                mass.last,
                change(mass)
            );
        }
        text += &accounts(&s.masses);
    }
    if let Some(seam) = &s.seam {
        text += &format!(
            "Loop: from its last frame to its first the velocity changes by {:.2} and the substances by {:.2} times the \
             median change between frames.\n",
            seam.flow, seam.contents
        );
    }
    if let Some(peak) = s.peak_memory {
        text += &format!("At most {} of memory.\n", bytes(peak));
    }
    if let Some(movie) = &s.movie {
        text += &format!("Movie:  {}\n", movie.display());
    }
    if let Some(plot) = plot {
        text += &format!("Plot:   {}\n", plot.display());
    }
    text + &format!("Frames: {folder}/frame_*.png\nLog:    {folder}/steps.csv\n")
}

/// Why there is more or less of a substance than at the start: what went in and out, or the drift where nothing did.
fn change(mass: &Mass) -> String {
    let scale = mass.first.abs().max(mass.last.abs());
    // Solids, corrections and what is unexplained are errors, and belong to the drift.
    let flows = Account::ENTRIES.iter().zip(mass.entries).take(4).filter(|(_, amount)| amount.abs() > 1e-6 * scale);
    let flows: Vec<_> = flows.map(|(name, amount)| format!("{name} {amount:.6}")).collect();
    match mass.drift() {
        _ if !flows.is_empty() => format!(" ({})", flows.join(", ")),
        Some(drift) => format!(" ({:+.2} %)", 100.0 * drift),
        None => String::new(),
    }
}

/// One line if everything is accounted for; else one for each substance that is not.
fn accounts(masses: &[Mass]) -> String {
    let troubles = masses.iter().filter_map(|m| Some(format!("Not accounted for: {}, {}.\n", m.name, m.trouble()?)));
    let troubles: String = troubles.collect();
    if masses.is_empty() || !troubles.is_empty() {
        return troubles;
    }
    let worst = masses.iter().map(|m| m.watched.worst_drift.abs()).fold(0.0, f64::max);
    match worst {
        0.0 => "All substances are accounted for.\n".to_owned(),
        _ => format!("All substances are accounted for to within {worst:.0e} per second.\n"),
    }
}

fn finished(s: &Summary, plot: Option<&Path>) -> serde_json::Value {
    let masses: Vec<_> = s.masses.iter().map(mass_json).collect();
    serde_json::json!({
        "event": "finished",
        "outcome": match s.outcome {
            Outcome::Done => "done",
            Outcome::AlreadyDone => "already_done",
            Outcome::DrawnAgain => "drawn_again",
            Outcome::Cancelled => "cancelled",
        },
        "frames": s.frames,
        "steps": s.steps,
        "seconds": s.seconds,
        "seconds_per_step": s.seconds_per_step,
        "ns_per_cell_step": s.ns_per_cell_step,
        "largest_divergence": s.largest_divergence,
        "masses": masses,
        "resumed_from": s.resumed_from,
        "peak_memory": s.peak_memory,
        "folder": s.folder,
        "movie": s.movie,
        "plot": plot,
    })
}

/// How much there was of a substance, and where it went.
fn mass_json(m: &Mass) -> serde_json::Value {
    serde_json::json!({
        "name": m.name,
        "first": m.first,
        "last": m.last,
        "drift": m.drift(),
        "ledger": entries(m.entries),
        "range": m.range,
        "allowed": m.allowed,
        "worst_unexplained_per_second": m.watched.worst_drift,
        "trouble": m.trouble(),
    })
}

/// `8GB`, `500 MB`, `2GiB`, `1e9`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic() && !"eE".contains(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "tib" => 1_099_511_627_776.0,
        _ => return Err(format!("{unit:?} is not a unit: use kB, MB, GB or TB")),
    };
    match number.trim().parse::<f64>() {
        Ok(n) if n.is_finite() && n * factor >= 1e6 => Ok((n * factor) as u64),
        Ok(n) if n > 0.0 => Err(format!("less than a megabyte: did you mean {number}MB or {number}GB?")),
        _ => Err("write it like 8GB or 500MB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        assert_eq!(parse_bytes("8GB"), Ok(8_000_000_000));
        assert_eq!(parse_bytes("1.5 gib"), Ok(1_610_612_736));
        assert_eq!(parse_bytes("1e9"), Ok(1_000_000_000));
        for wrong in ["", "GB", "-1GB", "8 parsecs", "nan", "inf"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    fn mass(first: f64, last: f64) -> Mass {
        Mass { name: "density".to_owned(), first, last, allowed: [0.0, 1.0], ..Mass::default() }
    }

    #[test]
    fn a_change_is_told_relative_to_the_first_value() {
        let grown = mass(0.01545, 0.02423);
        assert!((grown.drift().unwrap() - 0.568).abs() < 1e-3);
        assert!((mass_json(&grown)["drift"].as_f64().unwrap() - 0.568).abs() < 1e-3);
        assert!((mass(-2.0, -1.0).drift().unwrap() - 0.5).abs() < 1e-12, "nearer to zero is more");
        assert_eq!(mass(0.0, 1.0).drift(), None);
        assert!(mass_json(&mass(0.0, 1.0))["drift"].is_null());
    }

    #[test]
    fn one_line_says_that_all_is_well_and_others_name_who_is_not() {
        let mut masses = [mass(1.0, 1.0), mass(1.0, 2.0)];
        masses[0].watched.worst_drift = -2e-6;
        assert_eq!(accounts(&masses), "All substances are accounted for to within 2e-6 per second.\n");
        assert_eq!(accounts(&masses[1..]), "All substances are accounted for.\n");
        masses[1].name = "heat".to_owned();
        let watched = &mut masses[1].watched;
        (watched.worst_drift, watched.worst_excess, watched.worst_value) = (0.0123, 0.5, 1.5);
        let told = accounts(&masses);
        assert!(told.starts_with("Not accounted for: heat, up to 1.23 % appeared"), "{told}");
        assert!(told.contains("1.50000, outside of 0.00000 to 1.00000") && told.lines().count() == 1, "{told}");
    }

    #[test]
    fn what_was_emitted_is_told_where_a_percentage_would_mislead() {
        let mut filled = mass(0.001, 0.08);
        filled.entries[0] = 0.079;
        assert_eq!(change(&filled), " (emitted 0.079000)");
        assert_eq!(change(&mass(1.0, 1.0001)), " (+0.01 %)");
        assert_eq!(change(&mass(0.0, 0.0)), "");
    }

    #[test]
    fn words_with_spaces_are_quoted() {
        assert_eq!(quoted("time.frames=3"), "time.frames=3");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}

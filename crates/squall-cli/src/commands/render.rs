//! `squall render`: renders a finished run again.

use std::path::{Path, PathBuf};

use squall::run::{CancelToken, Observer, Outcome, RunOptions, Summary, render};
use squall::{Assets, Setup};
use squall_io::Start;

use super::run::{pool, stop_on_signals};
use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::{count, print, say, seconds};
use crate::progress::Progress;
use crate::scene::{Loaded, SceneArgs};

/// Render a finished run again, without simulating
///
/// Camera, lights, looks and colours may change (--set camera.yaw=90); whatever affects the simulation may not. A 3D run
/// must have written volumes (output.vdb), a 2D run the fields that are shown (output.fields).
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,
    /// Folder of the finished run [default: SCENE, if that is one, else out/NAME]
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Folder for the pictures [default: render in the folder of the run]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Write no movie, only frames
    #[arg(long, help_heading = "Output")]
    no_movie: bool,
    /// Only these frames, for example 10-20 or 15: for render farms, each machine with its own --out
    #[arg(long = "only", value_name = "FRAMES", allow_negative_numbers = true, value_parser = parse_frames, help_heading = "Output")]
    only: Option<std::ops::RangeInclusive<u64>>,
    /// Replace pictures of another scene
    #[arg(long, help_heading = "Output")]
    overwrite: bool,
    /// Threads to draw with [default: all cores]. The result does not depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// `10-20`, or one frame.
pub fn parse_frames(text: &str) -> Result<std::ops::RangeInclusive<u64>, String> {
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| "write it like 10-20, or 15".to_owned());
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first <= last { Ok(first..=last) } else { Err("the first frame comes after the last".to_owned()) }
}

pub fn run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    let mut loaded = args.scene.load(voice)?;
    // A movie of a part of the frames would pass for one of all.
    if args.no_movie || args.only.is_some() {
        loaded.setup = loaded.setup.without_movie();
    }
    let Args { scene, run, out, only, overwrite, threads, .. } = args;
    let again =
        Again { scene, run, out, only, overwrite: *overwrite, threads: *threads, what: "picture", within: "render" };
    again.make(&loaded, render, voice, |summary| {
        let movie = summary.movie.as_ref().map(|movie| format!("Movie:  {}\n", movie.display())).unwrap_or_default();
        format!("{movie}Frames: {}/frame_*.png\n", summary.folder.display())
    })
}

/// Something that is made again of a finished run.
pub struct Again<'a> {
    pub scene: &'a SceneArgs,
    /// The folder of the run.
    pub run: &'a Option<PathBuf>,
    pub out: &'a Option<PathBuf>,
    pub only: &'a Option<std::ops::RangeInclusive<u64>>,
    pub overwrite: bool,
    pub threads: Option<u16>,
    /// What is made of each frame, for messages.
    pub what: &'static str,
    /// The folder for it within that of the run.
    pub within: &'static str,
}

/// Makes it: [`squall::run::render`] or [`squall::run::mesh`].
type Work =
    fn(&Setup, &Path, &Assets, &RunOptions, &mut dyn Observer, &CancelToken) -> Result<Summary, squall::RunError>;

impl Again<'_> {
    /// Makes it, and says so; `files` says where it is.
    pub fn make(
        self,
        loaded: &Loaded,
        work: Work,
        voice: Voice,
        files: impl FnOnce(&Summary) -> String,
    ) -> Result<Code, Failure> {
        let folder = match (self.run, self.scene.folder()) {
            (Some(run), _) => run.clone(),
            (None, Some(folder)) => folder.to_owned(),
            (None, None) => Path::new("out").join(&loaded.name),
        };
        let out = self.out.clone().unwrap_or_else(|| folder.join(self.within));
        let start = if self.overwrite { Start::Overwrite } else { Start::Resume };
        let (origin, only) = (Some(loaded.origin.clone()), self.only.clone());
        let assets = loaded.assets.place();
        let options = RunOptions { start, origin, assets, only, ..RunOptions::new(&loaded.name, out) };
        let cancel = stop_on_signals(voice)?;
        let mut progress = Progress::new(false, voice);
        let summary = pool(self.threads)?
            .install(|| work(&loaded.setup, &folder, &loaded.assets, &options, &mut progress, &cancel));
        progress.end();
        let summary = summary?;
        if !voice.quiet {
            // The summary has the number of the last frame.
            let first = self.only.as_ref().map_or(0, |only| *only.start());
            let first = first.max(u64::from(!loaded.setup.time.include_start));
            let made = count((summary.frames + 1).saturating_sub(first), self.what);
            let text = match summary.outcome {
                Outcome::AlreadyDone => format!("All {made} already exist.\n"),
                _ => format!("{made} in {}.\n", seconds(summary.seconds)),
            };
            print(text + &files(&summary))?;
        }
        match summary.outcome {
            Outcome::Cancelled => {
                if !voice.quiet {
                    say!("Interrupted. Run the same command to resume.");
                }
                Ok(Code::Interrupted)
            }
            _ => Ok(Code::Done),
        }
    }
}

//! `squall check`: validates a scene and estimates memory, time and disk space.

use squall::build::{estimate, estimated_cells, trial};
use squall::run::{available_memory, disk_needed, memory_needed, memory_needed_at};

use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::{bytes, print};
use crate::scene::SceneArgs;

/// Check a scene and show every value that will be used
///
/// What is printed is itself a scene: redirect it to a file to have every value spelled out.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,
}

pub fn run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    let loaded = args.scene.load(voice)?;
    let setup = &loaded.setup;
    let estimate = estimate(setup);
    let spread = trial::spread(setup);
    let memory = spread.map_or_else(|| memory_needed(setup), |s| memory_needed_at(setup, s.cells));
    let told = match available_memory() {
        Some(available) => format!("{} of {} available", bytes(memory), bytes(available)),
        None => bytes(memory),
    };
    let frames = setup.time.frames;
    let steps = setup.time.simulated_frames() * (setup.fewest_steps_per_frame().ceil() as u64).max(1);
    if !voice.quiet {
        print(format!("{setup}\n# Pressure: {}: {}.\n", estimate.solver, estimate.why))?;
        let cells = spread.map_or(estimated_cells(setup), |s| s.cells);
        let when = match spread {
            Some(s) if s.frames < u64::from(frames) => format!(" after {} frames, more after that", s.frames),
            Some(_) => " at most, from a trial run on a coarse grid".to_owned(),
            None => String::new(),
        };
        print(format!("# Memory: about {told}, for {} fields of {cells} cells{when}.\n", estimate.fields))?;
        let of = setup.time.looped.as_ref().map_or("", |_| " of a loop");
        print(format!("# Time: {frames} frames{of}, {:.3} s, at least {steps} steps.\n", setup.time.duration()))?;
        let disk = bytes(disk_needed(setup, frames.into()));
        print(format!("# Disk: about {disk} or more.\n"))?;
        print(format!("# {}: no errors.\n", loaded.name))?;
    }
    if available_memory().is_some_and(|available| memory > available / 10 * 9) {
        tracing::warn!("this machine does not have enough free memory to run it");
    }
    Ok(Code::Done)
}

//! `squall check`: is a scene right, and what will it take?

use squall::Setup;
use squall::build::estimate;
use squall::run::{available_memory, disk_needed, memory_needed};
use squall::setup::{Axis, Curve, Side};

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
    let memory = memory_needed(setup);
    let told = match available_memory() {
        Some(available) => format!("{} of {} available", bytes(memory), bytes(available)),
        None => bytes(memory),
    };
    let steps = fewest_steps(setup);
    let frames = setup.time.frames;
    if !voice.quiet {
        print(format!("{setup}\n# Pressure: {}: {}.\n", estimate.solver, estimate.why))?;
        print(format!("# Memory: about {told}, for {} fields of {} cells.\n", estimate.fields, setup.cell_count()))?;
        let of = setup.time.looped.as_ref().map_or("", |_| " of a loop");
        print(format!("# Time: {frames} frames{of}, {} s, at least {steps} steps.\n", setup.time.duration()))?;
        let disk = bytes(disk_needed(setup, frames.into()));
        print(format!("# Disk: about {disk} or more.\n"))?;
        print(format!("# {} is right.\n", loaded.name))?;
    }
    if available_memory().is_some_and(|available| memory > available / 10 * 9) {
        tracing::warn!("this machine has not enough memory free to run it");
    }
    Ok(Code::Done)
}

/// Steps that the run takes if the fluid is never faster than what the scene prescribes: usually it will be.
fn fewest_steps(setup: &Setup) -> u64 {
    let spacing = setup.grid.spacing();
    let cells_per_second = |v: &Vec<f64>| v.iter().zip(&spacing).map(|(v, h)| v.abs() / h).fold(0.0, f64::max);
    let sides = setup.grid.axes.iter().flat_map(|axis| match axis {
        Axis::Periodic | Axis::Unbounded => vec![],
        Axis::Bounded { lo, hi } => vec![lo, hi],
    });
    let sides = sides.filter_map(|side| match side {
        Side::Inflow(v) | Side::NoSlip(v) => Some(v),
        _ => None,
    });
    let duration = setup.time.duration();
    let largest = |v: &Vec<Curve>| v.iter().map(|curve| curve.largest_abs(duration)).collect::<Vec<f64>>();
    let sources = setup.sources.iter().filter_map(|s| s.velocity.as_ref()).map(largest);
    let fastest = sides.cloned().chain(sources).map(|v| cells_per_second(&v));
    let by_speed = fastest.fold(0.0, f64::max) / setup.solver.cfl;
    let per_frame = by_speed.max(setup.solver.max_dt.map_or(0.0, |max| 1.0 / max)) / setup.time.fps;
    setup.time.simulated_frames() * (per_frame.ceil() as u64).max(u64::from(setup.solver.steps_per_frame))
}

//! `squall mesh`: meshes of the liquid of a finished run.

use std::path::{Path, PathBuf};

use squall::run::{Outcome, RunOptions, mesh};
use squall_io::Start;

use super::render::parse_frames;
use super::run::{pool, stop_on_signals};
use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::{print, seconds};
use crate::progress::Progress;
use crate::scene::SceneArgs;

/// Make meshes of the liquid of a finished run, without simulating
///
/// From its particles (output.particles = true) at any fineness, with velocities; without them, in 3D, from its volumes as fine as those
/// are.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,
    /// Folder of the finished run [default: SCENE, if that is one, else out/NAME]
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Folder for the meshes [default: mesh in the folder of the run]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Files to write, separated by commas: ply, obj, glb, usda; in 2D svg [default: output.mesh, else ply or svg]
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', help_heading = "Output")]
    format: Vec<String>,
    /// Cells of the surface along each cell of the grid, 1 to 4 [default: surface.refine]
    #[arg(long, value_name = "N", help_heading = "Output")]
    refine: Option<u32>,
    /// How often the surface is smoothed [default: surface.smoothing]
    #[arg(long, value_name = "N", help_heading = "Output")]
    smoothing: Option<u32>,
    /// Only these frames, for example 10-20 or 15
    #[arg(long = "only", value_name = "FRAMES", value_parser = parse_frames, help_heading = "Output")]
    only: Option<std::ops::RangeInclusive<u64>>,
    /// Replace meshes that were made otherwise
    #[arg(long, help_heading = "Output")]
    overwrite: bool,
    /// Threads to work with [default: all cores]. The result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

pub fn run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    // As if they had been given by --set: one place knows what is allowed.
    let mut set = Vec::new();
    set.extend(args.refine.map(|n| format!("surface.refine={n}")));
    set.extend(args.smoothing.map(|n| format!("surface.smoothing={n}")));
    if !args.format.is_empty() {
        let formats: Vec<String> = args.format.iter().map(|f| format!("{f:?}")).collect();
        set.push(format!("output.mesh=[{}]", formats.join(", ")));
    }
    let mut loaded = args.scene.load_with(&set, voice)?;
    if loaded.setup.output.mesh.is_empty() {
        let usual = if loaded.setup.dimensions() == 2 { "svg" } else { "ply" };
        set.push(format!("output.mesh=[{usual:?}]"));
        loaded = args.scene.load_with(&set, Voice { quiet: true, ..voice })?;
    }
    let folder = match (&args.run, args.scene.folder()) {
        (Some(run), _) => run.clone(),
        (None, Some(folder)) => folder.to_owned(),
        (None, None) => Path::new("out").join(&loaded.name),
    };
    let out = args.out.clone().unwrap_or_else(|| folder.join("mesh"));
    let start = if args.overwrite { Start::Overwrite } else { Start::Resume };
    let (origin, only) = (Some(loaded.origin.clone()), args.only.clone());
    let assets = loaded.assets.place();
    let options = RunOptions { start, origin, assets, only, ..RunOptions::new(&loaded.name, out) };
    let cancel = stop_on_signals(voice)?;
    let mut progress = Progress::new(false, voice);
    let summary =
        pool(args.threads)?.install(|| mesh(&loaded.setup, &folder, &loaded.assets, &options, &mut progress, &cancel));
    progress.end();
    let summary = summary?;
    if !voice.quiet {
        let text = match summary.outcome {
            Outcome::AlreadyDone => format!("All {} meshes were there already.\n", summary.frames),
            _ => format!("{} meshes in {}.\n", summary.frames, seconds(summary.seconds)),
        };
        print(text + &format!("Meshes: {}/surface_*\n", summary.folder.display()))?;
    }
    match summary.outcome {
        Outcome::Cancelled => {
            if !voice.quiet {
                eprintln!("Interrupted. Run the same command to resume.");
            }
            Ok(Code::Interrupted)
        }
        _ => Ok(Code::Done),
    }
}

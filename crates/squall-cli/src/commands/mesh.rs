//! `squall mesh`: meshes of the liquid of a finished run.

use std::path::PathBuf;

use squall::run::mesh;
use squall::setup::Model;

use super::render::{Again, parse_frames};
use crate::Voice;
use crate::exit::{Code, Failure};
use crate::scene::SceneArgs;

/// Mesh the liquid of a finished run, without simulating
///
/// From its particles (output.particles = true) at any resolution, with velocities; without particles, in 3D, from its volumes at their
/// resolution, with velocities if they hold them.
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Output")]
    refine: Option<u32>,
    /// How often the surface is smoothed [default: surface.smoothing]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Output")]
    smoothing: Option<u32>,
    /// Only these frames, for example 10-20 or 15
    #[arg(long = "only", value_name = "FRAMES", allow_negative_numbers = true, value_parser = parse_frames, help_heading = "Output")]
    only: Option<std::ops::RangeInclusive<u64>>,
    /// Replace meshes that were made with other options
    #[arg(long, help_heading = "Output")]
    overwrite: bool,
    /// Threads to work with [default: all cores]. The result does not depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
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
    if loaded.setup.model != Model::Liquid {
        let help = "only runs with model = \"liquid\" have a surface".to_owned();
        return Err(Failure::new(Code::Input, format!("`{}` is not a liquid", loaded.name), Some(help)));
    }
    if loaded.setup.output.mesh.is_empty() {
        let usual = if loaded.setup.dimensions() == 2 { "svg" } else { "ply" };
        set.push(format!("output.mesh=[{usual:?}]"));
        loaded = args.scene.load_with(&set, Voice { quiet: true, ..voice })?;
    }
    let Args { scene, run, out, only, overwrite, threads, .. } = args;
    let again = Again { scene, run, out, only, overwrite: *overwrite, threads: *threads, what: "mesh", within: "mesh" };
    again.make(&loaded, mesh, voice, |summary| format!("Meshes: {}/surface_*\n", summary.folder.display()))
}

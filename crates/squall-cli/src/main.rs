//! The `squall` command: thin, one file per subcommand. What it does lives in the library `squall`.

mod commands;
mod drawn;
mod exit;
mod output;
mod progress;
mod scene;

use clap::{ArgAction, Parser, Subcommand};
use commands::{bench, check, completions, flipbook, info, man, mesh, morph, new, render, run, scenes, schema, studio};

const EXAMPLES: &str = "\
Examples:
  squall run plume                       a scene of the gallery: frames and a movie in out/plume
  squall run plume --frames 300          extend it: resumes where it stopped
  squall studio plume                    play with it: paint, change, bake what was played
  squall morph text:Hello logo.png       text made of smoke becomes a picture
  squall new storm --template 3d         a commented scene of your own, storm.toml
  squall check storm.toml                is it valid, and how much memory does it need?
  squall run storm.toml --set solver.cfl=1 --set picture.map=ice
  squall flipbook burst --size 128 --power-of-two      textures for games, with motion vectors
  squall render out/storm --set camera.turntable=6    render the same run again
  squall mesh out/dam_3d --refine 3      mesh the water of a run, finer than its grid

Exit codes:
  0 done            3 bad input: scene, checkpoint       6 numerical failure
  1 a bug           4 refused: too large for the machine 130 interrupted
  2 wrong usage     5 a file cannot be read or written";

/// Animated smoke, water, ink and air: one scene file in, finished frames out.
#[derive(Parser)]
#[command(name = "squall", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Verbose; -vv logs every step
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Print nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scene: frames, a movie, logs
    Run(run::Args),
    /// Play with a scene in a window
    Studio(studio::Args),
    /// Morph smoke from shape to shape: pictures, text, meshes
    Morph(morph::Args),
    /// Render a finished run again, without simulating
    Render(render::Args),
    /// Mesh the liquid of a finished run, without simulating
    Mesh(mesh::Args),
    /// Pack the frames of a scene into textures for games
    Flipbook(flipbook::Args),
    /// Check a scene and show every value that will be used
    Check(check::Args),
    /// Show what is in volumes and checkpoints
    Info(info::Args),
    /// List the scenes of the gallery, or print one
    Scenes(scenes::Args),
    /// Write a commented scene to start from
    New(new::Args),
    /// Print the JSON Schema of scenes, for editors
    Schema,
    /// Print completions for a shell
    Completions(completions::Args),
    /// Print the manual page
    Man(man::Args),
    /// Measure how fast this machine simulates
    Bench(bench::Args),
}

/// What applies to every subcommand.
#[derive(Clone, Copy)]
pub(crate) struct Voice {
    pub verbose: u8,
    pub quiet: bool,
}

fn main() -> std::process::ExitCode {
    exit::prepare();
    completions::answer();
    let Cli { command, verbose, quiet } = Cli::parse();
    let voice = Voice { verbose, quiet };
    output::start_logging(voice);
    let result = match command {
        Command::Run(args) => run::run(&args, voice),
        Command::Studio(args) => studio::run(&args),
        Command::Morph(args) => morph::run(&args, voice),
        Command::Render(args) => render::run(&args, voice),
        Command::Mesh(args) => mesh::run(&args, voice),
        Command::Flipbook(args) => flipbook::run(&args, voice),
        Command::Check(args) => check::run(&args, voice),
        Command::Info(args) => info::run(&args),
        Command::Scenes(args) => scenes::run(&args),
        Command::New(args) => new::run(&args, voice),
        Command::Schema => schema::run(),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    match result {
        Ok(code) => code.into(),
        Err(failure) => failure.tell(),
    }
}

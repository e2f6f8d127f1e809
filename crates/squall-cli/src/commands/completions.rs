//! `squall completions`: for shells. The shell asks the program itself what may come next, so that it knows the scenes of the
//! gallery and the files that are there.

use std::ffi::OsStr;

use clap::{CommandFactory, ValueEnum};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use squall::gallery;

use crate::exit::{Code, Failure};
use crate::output::print;

/// The variable by which a shell asks for completions.
const VARIABLE: &str = "COMPLETE";

/// Print completions for a shell
#[derive(clap::Args)]
pub struct Args {
    /// Which shell
    shell: Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

pub fn run(args: &Args) -> Result<Code, Failure> {
    let name = args.shell.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&name) else {
        return Err(Failure::new(Code::Usage, format!("there are no completions for {name}"), None));
    };
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "squall", "squall", "squall", &mut script)
        .map_err(|e| Failure::new(Code::Io, format!("cannot write completions: {e}"), None))?;
    print(String::from_utf8_lossy(&script))?;
    Ok(Code::Done)
}

/// Answers a shell that asks what may come next, and ends then.
pub fn answer() {
    CompleteEnv::with_factory(crate::Cli::command).var(VARIABLE).complete();
}

/// Scenes of the gallery, scene files and folders of runs.
pub fn scenes() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let typed = current.to_string_lossy();
        let named = gallery::all().iter().filter(|scene| scene.name.starts_with(&*typed));
        let mut all: Vec<CompletionCandidate> =
            named.map(|scene| CompletionCandidate::new(scene.name).help(Some(scene.description().into()))).collect();
        let toml = |path: &std::path::Path| path.is_dir() || path.extension().is_some_and(|e| e == "toml");
        all.extend(PathCompleter::any().filter(toml).complete(current));
        all
    })
}

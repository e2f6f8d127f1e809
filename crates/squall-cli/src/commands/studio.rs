//! `squall studio`: starts the window, which is a program of its own because it takes long to build.

use std::path::PathBuf;
use std::process::Command;

use crate::exit::{Code, Failure};

const INSTALL: &str = "cargo install --path crates/squall-studio installs it beside this command";

/// Play with a scene in a window: paint, change, and bake what was played
#[derive(clap::Args)]
pub struct Args {
    /// A scene file, or the name of a scene of the gallery [default: the first of the gallery]
    #[arg(value_name = "SCENE", add = crate::commands::completions::scenes())]
    scene: Option<String>,
}

/// The program beside this one.
fn program() -> Option<PathBuf> {
    let name = format!("squall-studio{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::current_exe().ok()?.canonicalize().ok()?.with_file_name(name);
    path.is_file().then_some(path)
}

pub fn run(args: &Args) -> Result<Code, Failure> {
    let Some(program) = program() else {
        let message = "the studio is not installed: there is no squall-studio beside this command";
        return Err(Failure::new(Code::Input, message, Some(INSTALL.to_owned())));
    };
    let ended = Command::new(&program).args(&args.scene).status();
    match ended {
        Ok(status) if status.success() => Ok(Code::Done),
        // It has said why.
        Ok(status) if status.code() == Some(3) => Ok(Code::Input),
        Ok(_) => Ok(Code::Bug),
        Err(e) => Err(Failure::new(Code::Io, format!("{} cannot be started: {e}", program.display()), None)),
    }
}

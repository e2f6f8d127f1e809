//! `squall new`: a scene to start from.

use std::path::PathBuf;

use squall::gallery;

use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::print;

/// Write a commented scene to start from
#[derive(clap::Args)]
pub struct Args {
    /// The scene is written to NAME.toml
    name: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

pub fn run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    let mut path = args.name.clone();
    if path.extension().is_none_or(|e| e != "toml") {
        path.as_mut_os_string().push(".toml");
    }
    let Some(stem) = path.file_stem().filter(|s| *s != ".toml").map(|s| s.to_string_lossy().into_owned()) else {
        return Err(Failure::new(Code::Usage, "a scene needs a name", None));
    };
    if path.exists() && !args.force {
        let text = format!("{} exists already", path.display());
        return Err(Failure::new(Code::Usage, text, Some("choose another name, or replace it with --force".into())));
    }
    squall_io::write_whole(&path, gallery::template(&stem).as_bytes())?;
    if !voice.quiet {
        let path = path.display();
        print(format!("Wrote {path}. Run it with `squall run {path}`.\n"))?;
    }
    Ok(Code::Done)
}

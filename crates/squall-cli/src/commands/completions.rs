//! `squall completions`: for shells.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::exit::{Code, Failure};
use crate::output::print;

/// Print completions for a shell
#[derive(clap::Args)]
pub struct Args {
    /// Which shell
    shell: Shell,
}

pub fn run(args: &Args) -> Result<Code, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut crate::Cli::command(), "squall", &mut script);
    print(String::from_utf8_lossy(&script))?;
    Ok(Code::Done)
}

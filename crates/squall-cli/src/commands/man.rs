//! `squall man`: the manual page.

use std::path::PathBuf;

use clap::CommandFactory;

use crate::exit::{Code, Failure};
use crate::output::print;

/// Print the manual page, or write those of all commands into a folder
#[derive(clap::Args)]
pub struct Args {
    /// Folder for squall.1, squall-run.1 and so on
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<Code, Failure> {
    let failed = |e: std::io::Error| Failure::new(Code::Io, format!("cannot write the manual page: {e}"), None);
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).map_err(failed)?;
        clap_mangen::generate_to(crate::Cli::command(), folder).map_err(failed)?;
        return Ok(Code::Done);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(crate::Cli::command()).render(&mut page).map_err(failed)?;
    print(String::from_utf8_lossy(&page))?;
    Ok(Code::Done)
}

//! `squall bench`: how fast this machine simulates.

use crate::exit::{Code, Failure};

/// Measure how fast this machine simulates
#[derive(clap::Args)]
pub struct Args {
    /// Fewer steps
    #[arg(long)]
    quick: bool,
}

pub fn run(args: &Args) -> Result<Code, Failure> {
    let _ = args.quick;
    Ok(Code::Done)
}

//! `squall scenes`: the gallery.

use squall::gallery;

use crate::exit::{Code, Failure};
use crate::output::print;

/// List the scenes of the gallery, or print one
#[derive(clap::Args)]
pub struct Args {
    /// Print the text of this scene: a start for your own
    name: Option<String>,
    /// Print only the names, one per line
    #[arg(long, conflicts_with = "name")]
    names: bool,
}

pub fn run(args: &Args) -> Result<Code, Failure> {
    match &args.name {
        None if args.names => print(gallery::all().iter().map(|s| format!("{}\n", s.name)).collect::<String>())?,
        None => {
            let width = gallery::all().iter().map(|s| s.name.len()).max().unwrap_or(0);
            let lines = gallery::all().iter().map(|s| format!("{:width$}  {}\n", s.name, s.description()));
            print(
                lines.collect::<String>() + "\nRun one with `squall run NAME`, print one with `squall scenes NAME`.\n",
            )?;
        }
        Some(name) => {
            let scene = gallery::find(name).ok_or_else(|| {
                let help = gallery::nearest(name).map(|near| format!("did you mean `{near}`?"));
                let help = help.unwrap_or_else(|| "`squall scenes` lists them".to_owned());
                Failure::new(Code::Input, format!("the gallery has no scene {name:?}"), Some(help))
            })?;
            print(scene.text)?;
        }
    }
    Ok(Code::Done)
}

//! `squall new`: a scene to start from.

use std::path::PathBuf;

use squall::gallery::{self, TEMPLATES};

use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::print;

/// Write a commented scene to start from
#[derive(clap::Args)]
pub struct Args {
    /// The scene is written to NAME.toml
    #[arg(required_unless_present = "list")]
    name: Option<PathBuf>,
    /// What to start from: see --list
    #[arg(long, short, value_name = "TEMPLATE", default_value = TEMPLATES[0].name)]
    template: String,
    /// List the templates
    #[arg(long)]
    list: bool,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

pub fn run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    let Some(name) = args.name.as_ref().filter(|_| !args.list) else {
        let width = TEMPLATES.iter().map(|t| t.name.len()).max().unwrap_or(0);
        let lines = TEMPLATES.iter().map(|t| format!("{:width$}  {}\n", t.name, t.description));
        print(lines.collect::<String>() + "\nStart from one with `squall new NAME --template TEMPLATE`.\n")?;
        return Ok(Code::Done);
    };
    let template = gallery::find_template(&args.template).ok_or_else(|| {
        let names: Vec<&str> = TEMPLATES.iter().map(|t| t.name).collect();
        let help = format!("there are: {}", names.join(", "));
        Failure::new(Code::Usage, format!("there is no template {:?}", args.template), Some(help))
    })?;
    let mut path = name.clone();
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
    squall_io::write_whole(&path, template.scene(&stem).as_bytes())?;
    if !voice.quiet {
        let path = path.display();
        print(format!("Wrote {path}. Run it with `squall run {path}`.\n"))?;
    }
    Ok(Code::Done)
}

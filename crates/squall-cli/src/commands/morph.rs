//! `squall morph`: smoke takes one shape after the other, without a scene file.

use std::path::{Path, PathBuf};

use squall::morph::{Morph, Push, Thing, Tuned, Wishes};
use squall::plot::TargetTable;

use super::run::{HowArgs, command, pool};
use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::{print, say};
use crate::progress::json_line;
use crate::scene::Found;

const EXAMPLES: &str = "\
Examples:
  squall morph text:Hello text:Squall              letters of smoke become others
  squall morph cloud logo.png --release            a cloud forms a logo and drifts away
  squall morph a.png b.svg text:End --hold 2       three pictures, one after the other
  squall morph cloud horse.obj --resolution 128    in 3D
  squall morph text:3D horse.obj --3d              letters with a thickness become a mesh
  squall morph a.png b.png --tune 0.1 --plot       as sharp as that, and a chart of how it went
  squall morph a.png b.png --print-scene > my.toml to go on from there";

/// Morph smoke from shape to shape: pictures, text, meshes
///
/// Shapes are picture files (PNG, JPEG, WebP, GIF, BMP, TIFF, SVG), text:LETTERS, meshes (OBJ, PLY, STL, glTF), volumes (VDB)
/// or `cloud`, a disc or a ball with as much smoke as the shape next to it. Parameters are chosen automatically; --print-scene prints
/// them as a scene.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What the smoke is at first
    #[arg(value_name = "FROM")]
    from: String,
    /// What it becomes; several: one after the other
    #[arg(value_name = "TO", required = true)]
    to: Vec<String>,
    /// Seconds that each shape takes to form
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value = "4", value_parser = seconds_above_zero, help_heading = "Motion")]
    duration: f64,
    /// Seconds that each shape is held
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value = "1", value_parser = seconds, help_heading = "Motion")]
    hold: f64,
    /// Let the smoke drift away at the end, for 3 seconds or as many as given: --release=5
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "3",
          value_parser = seconds_above_zero, help_heading = "Motion")]
    release: Option<f64>,
    /// Strength of the driving force: 2 is stronger, 0.5 weaker
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, value_parser = factor, help_heading = "Motion")]
    strength: Option<f64>,
    /// Drive at full strength from the start, as with a cloud: for shapes that lie far apart
    #[arg(long, help_heading = "Motion")]
    eager: bool,
    /// Smoothing of the targets: 2 is softer and reaches further, 0.5 is finer
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, value_parser = factor, help_heading = "Motion")]
    softness: Option<f64>,
    /// Sharpen shapes by moving smoke apart from the flow: 2 is more, 0.5 less, 0 none
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, value_parser = factor_or_zero, help_heading = "Motion")]
    gathering: Option<f64>,
    /// Search for strength, damping and gathering until shapes are matched to this error (0: exactly, 2: nothing in common)
    #[arg(long, value_name = "ERROR", allow_negative_numbers = true, value_parser = match_error, conflicts_with_all = ["strength", "gathering"], help_heading = "Motion")]
    tune: Option<f64>,
    /// Cells along the longer side [default: 256; 96 in 3D]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(16..=4096), help_heading = "Looks")]
    resolution: Option<u16>,
    /// Simulate in 3D even if all shapes are flat
    #[arg(long = "3d", help_heading = "Looks")]
    solid: bool,
    /// Colour of the smoke, like ff8800; several: from thin smoke to dense
    #[arg(long, value_name = "COLOR", value_delimiter = ',', value_parser = color, help_heading = "Looks")]
    color: Vec<String>,
    /// Background colour
    #[arg(long, value_name = "COLOR", value_parser = color, help_heading = "Looks")]
    background: Option<String>,
    /// Font of the text, a TTF or OTF file [default: Noto Sans Bold]
    #[arg(long, value_name = "FILE", help_heading = "Looks")]
    font: Option<PathBuf>,
    /// Frames per second
    #[arg(long, value_name = "FPS", allow_negative_numbers = true, default_value = "30", value_parser = clap::value_parser!(u16).range(1..=240), help_heading = "Looks")]
    fps: u16,
    /// Width of the pictures in pixels
    #[arg(long, value_name = "PIXELS", allow_negative_numbers = true, default_value = "640", value_parser = clap::value_parser!(u32).range(16..=8192), help_heading = "Looks")]
    width: u32,
    /// Print the scene instead of running it
    #[arg(long, help_heading = "Scene")]
    print_scene: bool,
    /// Change a value of the scene, for example --set output.movie=mp4; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Scene")]
    set: Vec<String>,
    #[command(flatten)]
    how: HowArgs,
}

impl Args {
    /// What was typed for each shape.
    fn shapes(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.from).chain(&self.to)
    }

    fn wishes(&self) -> Result<Wishes, Failure> {
        Ok(Wishes {
            things: self.shapes().map(|word| Thing::parse(word)).collect::<Result<_, _>>()?,
            duration: self.duration,
            hold: self.hold,
            release: self.release,
            strength: self.strength,
            eager: self.eager,
            softness: self.softness,
            gathering: self.gathering,
            resolution: self.resolution.map(usize::from),
            solid: self.solid,
            colors: self.color.clone(),
            background: self.background.clone(),
            font: self.font.clone(),
            fps: self.fps.into(),
            width: self.width,
            written_by: command(&typed_again()),
        })
    }
}

pub fn run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    args.how.telling(|| try_run(args, voice))
}

fn try_run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    let mut morph = Morph::new(&args.wishes()?)?;
    morph.assets = morph.assets.within(args.how.memory_limit);
    if let Some(wanted) = args.tune {
        let mut tell = |push: Push, error: f64| {
            if !voice.quiet && !args.how.json {
                say!("Tried strength {:.2}, gathering {:.2}: error {error:.3}", push.strength, push.gathering);
            }
        };
        let tuned = pool(args.how.threads)?.install(|| morph.tune(wanted, &args.set, &mut tell))?;
        tell_tuned(wanted, &tuned, args, voice)?;
        morph.plan = tuned.plan;
    }
    if args.print_scene {
        print(morph.plan.to_toml())?;
        return Ok(Code::Done);
    }
    let found = Found {
        name: morph.name.clone(),
        file: morph.file(),
        text: morph.plan.to_toml(),
        assets: morph.assets.clone(),
        origin: format!("morph:{}", args.shapes().cloned().collect::<Vec<_>>().join(" ")),
    };
    let code = args.how.run(found.load(&args.set, None, voice)?, None, &typed_again, voice)?;
    if let (Some(wanted), Code::Done) = (args.tune, code) {
        tell_reached(wanted, &morph, &args.how.folder(&morph.name), args, voice)?;
    }
    Ok(code)
}

fn tell_tuned(wanted: f64, tuned: &Tuned, args: &Args, voice: Voice) -> Result<(), Failure> {
    let Tuned { found, plan, .. } = tuned;
    if args.how.json {
        json_line(serde_json::json!({
            "event": "tuned",
            "wanted": wanted,
            "reached": found.reached,
            "error": found.error,
            "runs": found.runs,
            "strength": plan.strength,
            "damping": plan.damping,
            "gathering": plan.gathering,
        }));
    } else if !voice.quiet {
        // A scene that is printed is all that belongs on the standard output.
        let text = describe(wanted, tuned);
        if args.print_scene { say!("{}", text.trim_end()) } else { print(text)? }
    }
    Ok(())
}

fn describe(wanted: f64, Tuned { found, plan, cells }: &Tuned) -> String {
    let cells = cells.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
    let [damping, gathering] = [plan.damping, plan.gathering].map(Option::unwrap_or_default);
    let Push { strength, gathering: factor } = found.push;
    let chosen = format!(
        "strength {strength:.2}, damping {damping:.3}, gathering {gathering:.3e} ({factor:.2} of the usual): error {:.3} after {} runs of {cells} cells",
        found.error, found.runs
    );
    match found.reached {
        true => format!("Tuned: {chosen}.\n"),
        false => format!(
            "An error of {wanted} was not reached. The best is {chosen}.\nMore time (--duration), finer cells (--resolution) \
             or shapes with as much smoke as each other may help.\n"
        ),
    }
}

/// Says which error the run itself reached when its targets were to be formed.
fn tell_reached(wanted: f64, morph: &Morph, folder: &Path, args: &Args, voice: Voice) -> Result<(), Failure> {
    let Some(table) = TargetTable::read(folder.join("targets.csv"))? else { return Ok(()) };
    let plan = &morph.plan;
    let errors = (0..plan.targets.len()).filter_map(|k| table.error_at(plan.reached_at(k)));
    let Some(error) = errors.reduce(f64::max) else { return Ok(()) };
    if args.how.json {
        json_line(serde_json::json!({ "event": "reached", "wanted": wanted, "error": error }));
    } else if !voice.quiet {
        let missed = if error > wanted { ": more than wanted" } else { "" };
        print(format!("Error:  {error:.3} when the shapes were to be formed; {wanted} was wanted{missed}.\n"))?;
    }
    Ok(())
}

/// The words that this command was called with, without those that begin again or run nothing.
fn typed_again() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    words.filter(|word| !["--overwrite", "--restart", "--print-scene"].contains(&word.as_str())).collect()
}

fn number_in(text: &str, is_right: impl Fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if is_right(number) => Ok(number),
        _ => Err(expected.to_owned()),
    }
}

fn seconds_above_zero(text: &str) -> Result<f64, String> {
    number_in(text, |s| (0.05..=3600.0).contains(&s), "must be 0.05 to 3600 seconds")
}

fn seconds(text: &str) -> Result<f64, String> {
    number_in(text, |s| (0.0..=3600.0).contains(&s), "must be 0 to 3600 seconds")
}

fn factor(text: &str) -> Result<f64, String> {
    number_in(text, |f| (0.01..=100.0).contains(&f), "must be 0.01 to 100")
}

fn factor_or_zero(text: &str) -> Result<f64, String> {
    number_in(text, |f| (0.0..=100.0).contains(&f), "must be 0 to 100")
}

fn match_error(text: &str) -> Result<f64, String> {
    number_in(text, |e| e > 0.0 && e < 2.0, "must be above 0, the shape itself, and below 2, nothing in common")
}

/// `#ff8800`, or without `#`, which shells take for a comment.
fn color(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    match digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        true => Ok(format!("#{}", digits.to_ascii_lowercase())),
        false => Err("write it like ff8800: two digits 0 to f each for red, green and blue".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parse(words: &[&str]) -> Args {
        Cli::try_parse_from(std::iter::once(&"morph").chain(words)).unwrap_or_else(|e| panic!("{e}")).args
    }

    #[test]
    fn wrong_numbers_are_refused() {
        for (option, value) in [
            ("--duration", "0"),
            ("--duration", "nan"),
            ("--hold", "-1"),
            ("--strength", "0"),
            ("--gathering", "-1"),
            ("--tune", "3"),
            ("--resolution", "4"),
            ("--color", "red"),
            ("--fps", "0"),
        ] {
            let words = ["morph", "text:A", "text:B", &format!("{option}={value}")];
            let Err(told) = Cli::try_parse_from(words) else { panic!("{option}={value} is taken") };
            assert!(told.to_string().contains(option), "{told}");
            let Err(apart) = Cli::try_parse_from(["morph", "text:A", "text:B", option, value]) else {
                panic!("{option}")
            };
            assert_eq!(apart.to_string(), told.to_string());
        }
        assert!(Cli::try_parse_from(["morph", "text:A"]).is_err(), "one shape is no morph");
        assert!(Cli::try_parse_from(["morph", "text:A", "text:B", "--tune=0.1", "--strength=2"]).is_err());
    }

    #[test]
    fn options_reach_the_scene() {
        let words =
            ["text:A", "text:B", "text:C", "--strength=2", "--gathering=0", "--release", "--color=FF8800,fff0e0"];
        let Ok(wishes) = parse(&words).wishes() else { panic!("{words:?}") };
        let Ok(Morph { plan, .. }) = Morph::new(&wishes) else { panic!("{words:?}") };
        assert_eq!((plan.strength, plan.gathering, plan.release), (Some(2.0), Some(0.0), Some(3.0)));
        assert_eq!(plan.colors, ["#ff8800", "#fff0e0"]);
        // Two shapes of five seconds, and three of drifting away.
        assert_eq!(plan.frames(), 390);
    }
}

//! `squall morph`: smoke takes one shape after the other, without a scene file.

mod scene;
mod search;
mod thing;
mod tune;

use std::path::{Path, PathBuf};

use squall::Assets;

use super::run::{HowArgs, command};
use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::print;
use crate::scene::Found;
use scene::{Figure, Plan, tidy};
use thing::Thing;

const EXAMPLES: &str = "\
Examples:
  squall morph text:Hello text:Squall              letters of smoke become others
  squall morph cloud logo.png --release            a cloud forms a logo and drifts away
  squall morph a.png b.svg text:End --hold 2       three pictures, one after the other
  squall morph cloud horse.obj --resolution 128    in 3D
  squall morph text:3D horse.obj --3d              letters with a thickness become a mesh
  squall morph a.png b.png --tune 0.1 --plot       as sharp as that, and a chart of how it went
  squall morph a.png b.png --print-scene > my.toml to go on from there";

/// Make smoke take one shape after the other: pictures, letters, meshes
///
/// Shapes are picture files (PNG, JPEG, WebP, GIF, BMP, TIFF, SVG), text:LETTERS, meshes (OBJ, PLY, STL, glTF), volumes (VDB)
/// or `cloud`, a disc or a ball of just as much smoke as its neighbour needs. Everything is chosen for you; --print-scene shows what
/// was chosen, as a scene.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What the smoke is at first
    #[arg(value_name = "FROM")]
    from: String,
    /// What it becomes; several: one after the other
    #[arg(value_name = "TO", required = true)]
    to: Vec<String>,
    /// Seconds in which each shape forms
    #[arg(long, value_name = "SECONDS", default_value = "4", value_parser = seconds_above_zero, help_heading = "Motion")]
    duration: f64,
    /// Seconds that each shape stays
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds, help_heading = "Motion")]
    hold: f64,
    /// Let the smoke drift away at the end, for 3 seconds or as many as given: --release=5
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "3",
          value_parser = seconds_above_zero, help_heading = "Motion")]
    release: Option<f64>,
    /// Drive smoke more strongly (2) or less (0.5)
    #[arg(long, value_name = "FACTOR", value_parser = factor, help_heading = "Motion")]
    strength: Option<f64>,
    /// Push with all strength from the start, as with a cloud: for shapes that lie far from each other
    #[arg(long, help_heading = "Motion")]
    eager: bool,
    /// Feel targets more softly and from further away (2), or more finely (0.5)
    #[arg(long, value_name = "FACTOR", value_parser = factor, help_heading = "Motion")]
    softness: Option<f64>,
    /// Sharpen shapes more (2) or less (0.5) by what is not flow; 0: not at all
    #[arg(long, value_name = "FACTOR", value_parser = factor_or_zero, help_heading = "Motion")]
    gathering: Option<f64>,
    /// Choose strength, damping and gathering such that shapes are met up to this error, from 0, the shape itself, to 2, nothing in common
    #[arg(long, value_name = "ERROR", value_parser = match_error, conflicts_with_all = ["strength", "gathering"], help_heading = "Motion")]
    tune: Option<f64>,
    /// Cells along the longer side [default: 256; 96 in 3D]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(16..=4096), help_heading = "Looks")]
    resolution: Option<u16>,
    /// In 3D, also if all shapes are flat
    #[arg(long = "3d", help_heading = "Looks")]
    solid: bool,
    /// Colour of the smoke, like ff8800; several: from thin smoke to dense
    #[arg(long, value_name = "COLOR", value_delimiter = ',', value_parser = color, help_heading = "Looks")]
    color: Vec<String>,
    /// Colour behind it
    #[arg(long, value_name = "COLOR", value_parser = color, help_heading = "Looks")]
    background: Option<String>,
    /// Font of letters, a TTF or OTF file [default: Noto Sans Bold]
    #[arg(long, value_name = "FILE", help_heading = "Looks")]
    font: Option<PathBuf>,
    /// Frames per second
    #[arg(long, value_name = "FPS", default_value = "30", value_parser = clap::value_parser!(u16).range(1..=240), help_heading = "Looks")]
    fps: u16,
    /// Width of the pictures in pixels
    #[arg(long, value_name = "PIXELS", default_value = "640", value_parser = clap::value_parser!(u32).range(16..=8192), help_heading = "Looks")]
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
}

pub fn run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    args.how.telling(|| try_run(args, voice))
}

fn try_run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    let things = args.shapes().map(|word| Thing::parse(word)).collect::<Result<Vec<_>, _>>()?;
    let (mut plan, assets) = compose(args, &things)?;
    let name = name_of(&things);
    let origin = format!("morph:{}", args.shapes().cloned().collect::<Vec<_>>().join(" "));
    let found = |plan: &Plan| Found {
        name: name.clone(),
        file: format!("the scene of {name} (see --print-scene)"),
        text: plan.to_toml(),
        assets: assets.clone().within(args.how.memory_limit),
        origin: origin.clone(),
    };
    if let Some(wanted) = args.tune {
        plan = tune::tune(wanted, plan, &found, args, voice)?;
    }
    if args.print_scene {
        print(plan.to_toml())?;
        return Ok(Code::Done);
    }
    let loaded = found(&plan).load(&args.set, None, voice)?;
    let code = args.how.run(loaded, None, &typed_again, voice)?;
    if let (Some(wanted), Code::Done) = (args.tune, code) {
        tune::tell_reached(wanted, &plan, &args.how.folder(&name), args, voice)?;
    }
    Ok(code)
}

/// The words that this command was called with, without those that begin again or run nothing.
fn typed_again() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    words.filter(|word| !["--overwrite", "--restart", "--print-scene"].contains(&word.as_str())).collect()
}

/// What is to be done, and where its files are.
fn compose(args: &Args, things: &[Thing]) -> Result<(Plan, Assets), Failure> {
    let is_solid = dimensions(args, things)?;
    let aspect = if is_solid && things.iter().any(Thing::is_solid) { 1.0 } else { aspect(things)? };
    let cells = cells(args, aspect, is_solid);
    if is_solid && args.color.len() > 1 {
        let help = "in 3D smoke is lit: give one colour, and lights by --set or in the scene".to_owned();
        return Err(Failure::new(Code::Usage, "--color has several colours", Some(help)));
    }
    let files: Vec<&Path> = things.iter().filter_map(Thing::file).chain(args.font.as_deref()).collect();
    let (root, names) = asset_root(&files)?;
    let font = args.font.as_ref().and(names.last().cloned());
    let mut plan = Plan {
        header: Vec::new(),
        description: things.iter().map(Thing::name).collect::<Vec<_>>().join(" becomes "),
        cells,
        start: Figure::Ball { center: Vec::new(), radius: 0.0 },
        targets: Vec::new(),
        thickness: 0.0,
        duration: args.duration,
        hold: args.hold,
        release: args.release,
        strength: args.strength,
        softness: args.softness,
        gathering: None,
        damping: None,
        // A cloud has far to go, and nobody needs to read it.
        eased: !args.eager && !things.contains(&Thing::Cloud),
        usual: [0.0; 2],
        colors: args.color.clone(),
        background: args.background.clone(),
        fps: args.fps.into(),
        width: args.width,
    };
    let size = plan.size();
    plan.thickness = tidy(0.25 * size.iter().copied().fold(f64::INFINITY, f64::min));
    let usual = tune::usual(&plan);
    plan.usual = [usual.drive, usual.gathering];
    plan.gathering = args.gathering.map(|factor| factor * usual.gathering);
    plan.header = header(&root, &plan.description);

    let mut names = names.into_iter();
    let mut figures = Vec::with_capacity(things.len());
    for (k, thing) in things.iter().enumerate() {
        let mut file = || names.next().expect("one name for each file");
        figures.push(match thing {
            Thing::Picture(_) => Figure::Picture { file: file() },
            Thing::Mesh(_) => Figure::Mesh { file: file() },
            Thing::Volume(_) => Figure::Volume { file: file() },
            Thing::Text(text) => Figure::Text { text: text.clone(), font: font.clone() },
            Thing::Cloud => cloud(things, k, &plan, args.font.as_deref())?,
        });
    }
    plan.start = figures.remove(0);
    plan.targets = figures;
    Ok((plan, Assets::folder(root)))
}

/// Whether the scene is in 3D.
fn dimensions(args: &Args, things: &[Thing]) -> Result<bool, Failure> {
    let word =
        |is: fn(&Thing) -> bool| things.iter().zip(args.shapes()).find(|(thing, _)| is(thing)).map(|(_, word)| word);
    match (word(Thing::is_flat), word(Thing::is_solid)) {
        (None, None) => {
            let help = "give it something to become: a picture, text:LETTERS, a mesh".to_owned();
            Err(Failure::new(Code::Usage, "a cloud only becomes a cloud", Some(help)))
        }
        (Some(flat), Some(solid)) if !args.solid => {
            let help = "add --3d to give flat ones a thickness".to_owned();
            Err(Failure::new(Code::Usage, format!("`{flat}` is flat and `{solid}` is solid"), Some(help)))
        }
        (_, solid) => Ok(args.solid || solid.is_some()),
    }
}

/// Width over height: of the first picture, else that of a screen for letters.
fn aspect(things: &[Thing]) -> Result<f64, Failure> {
    let first = things.iter().find(|t| matches!(t, Thing::Picture(_))).or(things.iter().find(|t| t.is_flat()));
    let aspect = first.map_or(Ok(None), Thing::aspect)?.unwrap_or(1.0);
    // Very long boxes are mostly empty.
    Ok(aspect.clamp(0.25, 4.0))
}

/// The longer side has as many cells as are asked for, the others a multiple of four, which transforms like.
fn cells(args: &Args, aspect: f64, is_solid: bool) -> Vec<usize> {
    let longest = usize::from(args.resolution.unwrap_or(if is_solid { 96 } else { 256 }));
    let shorter = ((longest as f64 * aspect.min(1.0 / aspect) / 4.0).round() as usize * 4).clamp(8, longest.max(8));
    let mut cells = if aspect >= 1.0 { vec![longest, shorter] } else { vec![shorter, longest] };
    if is_solid {
        cells.push(shorter);
    }
    cells
}

/// A disc or a ball in the middle, of as much smoke as the next thing that has a size.
fn cloud(things: &[Thing], k: usize, plan: &Plan, font: Option<&Path>) -> Result<Figure, Failure> {
    use std::f64::consts::PI;
    let size = plan.size();
    let neighbour = things[k..].iter().chain(things[..k].iter().rev()).find(|t| **t != Thing::Cloud);
    let extent = neighbour.map_or(Ok(None), |thing| thing.extent(&size, plan.thickness, font))?.unwrap_or(0.1);
    let radius = if plan.is_solid() { (0.75 * extent / PI).cbrt() } else { (extent / PI).sqrt() };
    let shortest = size.iter().copied().fold(f64::INFINITY, f64::min);
    let radius = tidy(radius.clamp(0.08 * shortest, 0.42 * shortest));
    Ok(Figure::Ball { center: size.iter().map(|length| tidy(0.5 * length)).collect(), radius })
}

fn header(root: &Path, description: &str) -> Vec<String> {
    let mut lines = vec![format!("{description}. Written by:"), format!("  {}", command(&typed_again()))];
    let root = if root == Path::new(".") { String::new() } else { format!(" --asset-root {}", root.display()) };
    lines.push(format!("To go on: squall run THIS_FILE{root}"));
    lines
}

/// The folder that files are named from, and their names: the present one, or, if it does not hold them all, the smallest that does.
fn asset_root(files: &[&Path]) -> Result<(PathBuf, Vec<String>), Failure> {
    let real = |path: &Path| {
        path.canonicalize().map_err(|e| Failure::new(Code::Io, format!("cannot read {}: {e}", path.display()), None))
    };
    let paths = files.iter().map(|path| real(path)).collect::<Result<Vec<_>, _>>()?;
    let here = real(Path::new("."))?;
    let all_here = paths.iter().all(|path| path.starts_with(&here));
    let root = match (all_here, paths.first().and_then(|path| path.parent())) {
        (false, Some(folder)) => folder.ancestors().find(|root| paths.iter().all(|path| path.starts_with(root))),
        _ => None,
    };
    let root = root.unwrap_or(&here);
    let names = paths.iter().map(|path| {
        let parts = path.strip_prefix(root).unwrap_or(path).iter().map(|part| part.to_str());
        let parts = parts.collect::<Option<Vec<_>>>().ok_or_else(|| {
            let help = "rename it: scenes are text, and this name is none".to_owned();
            Failure::new(Code::Input, format!("{} cannot be named in a scene", path.display()), Some(help))
        })?;
        Ok(parts.join("/"))
    });
    let names = names.collect::<Result<_, Failure>>()?;
    Ok((if all_here { PathBuf::from(".") } else { root.to_owned() }, names))
}

/// `hello-to-squall`: for folders and movies.
fn name_of(things: &[Thing]) -> String {
    let slug = |thing: &Thing| {
        let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = thing.name().chars().map(plain).take(24).collect();
        let name = name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
        if name.is_empty() { "shape".to_owned() } else { name }
    };
    let names: Vec<String> = things.iter().take(4).map(slug).collect();
    names.join("-to-")
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

    fn plan(words: &[&str]) -> Result<Plan, String> {
        let args = parse(words);
        let told = |f: Failure| format!("{} {}", f.report, f.report.help().map(|h| h.to_string()).unwrap_or_default());
        let things = args.shapes().map(|word| Thing::parse(word)).collect::<Result<Vec<_>, _>>().map_err(told)?;
        compose(&args, &things).map(|(plan, _)| plan).map_err(told)
    }

    #[test]
    fn letters_are_seen_on_a_wide_screen() {
        let plan = plan(&["text:Hello", "text:Squall", "--resolution", "192"]).unwrap();
        assert_eq!(plan.cells, [192, 108]);
        assert_eq!(plan.description, "Hello becomes Squall");
        assert_eq!((plan.frames(), plan.targets.len()), (150, 1));
    }

    #[test]
    fn a_cloud_has_as_much_smoke_as_what_it_becomes() {
        let plan = plan(&["cloud", "text:Smoke"]).unwrap();
        let Figure::Ball { center, radius } = &plan.start else { panic!("{:?}", plan.start) };
        assert_eq!(center, &[0.5, 0.28125]);
        let area = Thing::Text("Smoke".into()).extent(&plan.size(), 0.0, None).unwrap().unwrap();
        assert!((std::f64::consts::PI * radius * radius / area - 1.0).abs() < 1e-4, "{radius} for {area}");
    }

    #[test]
    fn in_3d_letters_have_a_thickness_and_clouds_are_balls() {
        let plan = plan(&["cloud", "text:Hi", "--3d", "--resolution", "48"]).unwrap();
        assert_eq!(plan.cells, [48, 28, 28]);
        assert!(plan.to_toml().contains("thickness = 0.145833"), "{}", plan.to_toml());
        assert!(matches!(&plan.start, Figure::Ball { center, .. } if center.len() == 3));
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_a_way_out() {
        let mesh = "../../scenes/meshes/cow.obj";
        for (words, parts) in [
            (&["cloud", "cloud"][..], &["cloud", "text:LETTERS"][..]),
            (&["text:A", "--3d", "text:B", "--color", "ff0000,00ff00"], &["--color", "one colour"]),
            (&["text:A", "nothing.png"], &["`nothing.png`"]),
            (&["text:A", "text:"], &["`text:`"]),
        ] {
            let told = plan(words).unwrap_err();
            assert!(parts.iter().all(|part| told.contains(part)), "{words:?}: {told}");
        }
        let (args, things) = (parse(&["text:A", mesh]), [Thing::Text("A".into()), Thing::Mesh(mesh.into())]);
        let told = dimensions(&args, &things).unwrap_err().report;
        assert_eq!(told.to_string(), format!("`text:A` is flat and `{mesh}` is solid"));
        assert!(told.help().unwrap().to_string().contains("--3d"));
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
        }
        assert!(Cli::try_parse_from(["morph", "text:A"]).is_err(), "one shape is no morph");
        assert!(Cli::try_parse_from(["morph", "text:A", "text:B", "--tune=0.1", "--strength=2"]).is_err());
    }

    #[test]
    fn options_reach_the_scene() {
        let words =
            ["text:A", "text:B", "text:C", "--strength=2", "--gathering=0", "--release", "--color=FF8800,fff0e0"];
        let plan = plan(&words).unwrap();
        assert_eq!((plan.strength, plan.gathering, plan.release), (Some(2.0), Some(0.0), Some(3.0)));
        assert_eq!(plan.colors, ["#ff8800", "#fff0e0"]);
        // Two shapes of five seconds, and three of drifting away.
        assert_eq!(plan.frames(), 390);
    }

    #[test]
    fn names_suit_folders() {
        let name = |words: &[&str]| name_of(&words.iter().map(|word| Thing::Text((*word).into())).collect::<Vec<_>>());
        assert_eq!(name(&["Hello", "Squall"]), "hello-to-squall");
        assert_eq!(name(&["../a b/", "!?"]), "a-b-to-shape");
    }

    #[test]
    fn files_elsewhere_are_named_from_a_folder_that_holds_them_all() {
        let folder = std::env::temp_dir().join(format!("squall-morph-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("a")).unwrap();
        let files = [folder.join("a/x.png"), folder.join("y.png")];
        for file in &files {
            std::fs::write(file, "").unwrap();
        }
        let (root, names) = asset_root(&[&files[0], &files[1]]).unwrap();
        assert_eq!((root, names), (folder.canonicalize().unwrap(), vec!["a/x.png".to_owned(), "y.png".to_owned()]));
        std::fs::remove_dir_all(&folder).unwrap();
        // Tests run in the folder of the crate.
        let (root, names) = asset_root(&[Path::new("src/main.rs")]).unwrap();
        assert_eq!((root, names), (PathBuf::from("."), vec!["src/main.rs".to_owned()]));
    }
}

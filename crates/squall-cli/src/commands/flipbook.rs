//! `squall flipbook`: a scene becomes textures for games.

use std::path::{Path, PathBuf};

use squall::flipbook::{FlipbookError, Packed, pack, prepare};
use squall::run::{Outcome, RunOptions};
use squall_io::Start;

use super::run::{command, pool, stop_on_signals};
use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::{print, say};
use crate::progress::Progress;
use crate::scene::{Loaded, SceneArgs};

/// Pack the frames of a scene into textures for games, with motion vectors and other maps
///
/// Runs the scene with pictures in the size of a frame, without a background, and packs them: NAME_color.png, a texture for
/// each map, NAME.json that says how to read them, and NAME_preview.gif. Packing again with other options does not simulate.
/// Given the folder of a finished run with the passes that it takes, it packs that. What [flipbook] in the scene says
/// are the defaults.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,
    /// Folder for everything that is written [default: out/NAME_flipbook]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Write no preview
    #[arg(long, help_heading = "Output")]
    no_preview: bool,
    /// Write a preview, though the scene says none
    #[arg(long, help_heading = "Output", conflicts_with = "no_preview")]
    preview: bool,
    /// How many frames [default: what columns and rows hold, else at most 64]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Frames")]
    count: Option<u32>,
    /// The first frame
    #[arg(long, value_name = "FRAME", allow_negative_numbers = true, help_heading = "Frames")]
    from: Option<u32>,
    /// Take every Nth frame of the scene [default: so that the whole scene is shown]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Frames")]
    every: Option<u32>,
    /// The last frame is followed by the first
    #[arg(long = "loop", help_heading = "Frames")]
    looped: bool,
    /// Columns of frames [default: nearly square]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Texture")]
    columns: Option<u32>,
    /// Rows of frames [default: as many as it takes]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Texture")]
    rows: Option<u32>,
    /// Pixels of a frame: 128 or 128x192 [default: 128, and the height as the pictures]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size, help_heading = "Texture")]
    size: Option<String>,
    /// Pixels around each frame that repeat its edge [default: as --mips needs]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Texture")]
    padding: Option<u32>,
    /// How many times the texture may be halved before frames run into each other [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Texture")]
    mips: Option<u32>,
    /// Make both sides of the textures powers of two
    #[arg(long, help_heading = "Texture")]
    power_of_two: bool,
    /// Colours premultiplied by opacity
    #[arg(long, help_heading = "Texture", conflicts_with_all = ["straight", "opaque"])]
    premultiplied: bool,
    /// Straight (unassociated) alpha; this is the default
    #[arg(long, help_heading = "Texture", conflicts_with = "opaque")]
    straight: bool,
    /// No opacity: frames keep their background
    #[arg(long, help_heading = "Texture")]
    opaque: bool,
    /// Maps besides the colours: motion, six-way, normal, depth, temperature; or none [default: motion]
    #[arg(long, value_name = "LIST", help_heading = "Maps")]
    maps: Option<String>,
    /// Bits of the motion map: 8 or 16 [default: 8]
    #[arg(long, value_name = "BITS", help_heading = "Maps")]
    motion_bits: Option<u32>,
    /// Green-channel convention of motion and normal maps: up (Unity, OpenGL) or down (Unreal, DirectX) [default: up]
    #[arg(long, value_name = "WORD", help_heading = "Maps")]
    green: Option<String>,
    /// Start over, removing what an earlier run of the same scene wrote
    #[arg(long, help_heading = "Earlier output")]
    restart: bool,
    /// Start over, even if the folder holds the frames of another scene
    #[arg(long, help_heading = "Earlier output")]
    overwrite: bool,
    /// Threads to compute with [default: all cores]. The result does not depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Limits")]
    threads: Option<u16>,
}

/// `128` or `128x192`, as a scene writes it.
fn parse_size(text: &str) -> Result<String, String> {
    let number =
        |text: &str| text.trim().parse::<u32>().map_err(|_| "use a width, or width x height: 128x192".to_owned());
    match text.split_once(['x', 'X']) {
        Some((width, height)) => Ok(format!("[{}, {}]", number(width)?, number(height)?)),
        None => Ok(number(text)?.to_string()),
    }
}

pub fn run(args: &Args, voice: Voice) -> Result<Code, Failure> {
    let Loaded { name, mut setup, origin, assets } = args.load(voice)?;
    let finished = args.scene.folder().map(Path::to_owned);
    let out = match (&args.out, &finished) {
        (Some(out), _) => out.clone(),
        (None, Some(folder)) => folder.join("flipbook"),
        (None, None) => Path::new("out").join(format!("{name}_flipbook")),
    };
    let cancel = stop_on_signals(voice)?;
    let pool = pool(args.threads)?;
    let mut progress = Progress::new(false, voice);
    let frames = match finished {
        Some(folder) => folder,
        None => {
            prepare(&mut setup)?;
            let folder = out.join("frames");
            let start = match (args.overwrite, args.restart) {
                (true, _) => Start::Overwrite,
                (_, true) => Start::Restart,
                _ => Start::Resume,
            };
            let (origin, assets) = (Some(origin), assets.place());
            let options = RunOptions { start, origin, assets, ..RunOptions::new(&name, &folder) };
            let summary = pool.install(|| squall::run(&setup, &options, &mut progress, &cancel));
            progress.end();
            if summary?.outcome == Outcome::Cancelled {
                return Ok(args.interrupted(voice));
            }
            folder
        }
    };
    let packed = pool.install(|| pack(&setup, &name, &frames, &out, &mut progress, &cancel));
    progress.end();
    let packed = packed?;
    if packed.cancelled {
        return Ok(args.interrupted(voice));
    }
    if !voice.quiet {
        print(describe(&packed, setup.time.fps))?;
    }
    Ok(Code::Done)
}

impl Args {
    /// The scene, with what was typed for its `[flipbook]`.
    fn load(&self, voice: Voice) -> Result<Loaded, Failure> {
        self.scene.load_with(&self.changes(), voice)
    }

    fn changes(&self) -> Vec<String> {
        let numbers = [
            ("count", self.count),
            ("from", self.from),
            ("every", self.every),
            ("columns", self.columns),
            ("rows", self.rows),
            ("padding", self.padding),
            ("mips", self.mips),
            ("motion_bits", self.motion_bits),
        ];
        let mut changes: Vec<String> =
            numbers.iter().filter_map(|(key, n)| n.map(|n| format!("flipbook.{key}={n}"))).collect();
        let flags = [
            (self.looped, "loop=true"),
            (self.power_of_two, "power_of_two=true"),
            (self.premultiplied, "alpha=\"premultiplied\""),
            (self.straight, "alpha=\"straight\""),
            (self.opaque, "alpha=\"opaque\""),
            (self.no_preview, "preview=false"),
            (self.preview, "preview=true"),
        ];
        changes.extend(flags.iter().filter(|(is_given, _)| *is_given).map(|(_, change)| format!("flipbook.{change}")));
        changes.extend(self.size.iter().map(|size| format!("flipbook.size={size}")));
        changes.extend(self.green.iter().map(|word| format!("flipbook.green=\"{}\"", word.replace('"', ""))));
        changes.extend(self.maps.iter().map(|list| {
            let words = list.split(',').map(|word| word.trim().replace('-', "_").replace('"', ""));
            let words = words.filter(|word| !word.is_empty() && word != "none");
            format!("flipbook.maps=[{}]", words.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", "))
        }));
        changes
    }

    fn interrupted(&self, voice: Voice) -> Code {
        if !voice.quiet {
            let mut words = vec!["flipbook".to_owned()];
            words.extend(std::env::args().skip_while(|word| word != "flipbook").skip(1));
            words.retain(|word| word != "--restart" && word != "--overwrite");
            say!("Interrupted. To resume: {}", command(&words));
        }
        Code::Interrupted
    }
}

fn describe(packed: &Packed, fps: f64) -> String {
    let Packed { layout, selection, .. } = packed;
    let [width, height] = layout.size();
    let mut text = format!(
        "{} frames of {} x {} pixels in {} x {}, {width} x {height} in all; {:.4} frames per second.\n",
        selection.count,
        layout.frame[0],
        layout.frame[1],
        layout.columns,
        layout.rows,
        fps / f64::from(selection.every),
    );
    for file in packed.files.iter().chain(&packed.preview) {
        text += &format!("{}\n", file.display());
    }
    text
}

impl From<FlipbookError> for Failure {
    fn from(error: FlipbookError) -> Self {
        let code = match &error {
            FlipbookError::Layout(_)
            | FlipbookError::Map { .. }
            | FlipbookError::Background { .. }
            | FlipbookError::Missing { .. } => Code::Usage,
            _ => Code::Io,
        };
        Self::new(code, error.to_string(), error.advice())
    }
}

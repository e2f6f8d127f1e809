//! Finds and reads the scene that a command was given.

use crate::output::say;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use squall::scene::MAX_BYTES;
use squall::{Assets, Scene, Setup, gallery};
use squall_io::folder::read_manifest;

use crate::Voice;
use crate::exit::{Code, Failure};

/// Which scene, and what to change in it.
#[derive(clap::Args)]
pub struct SceneArgs {
    /// A scene file, or the name of a scene of the gallery (see `squall scenes`)
    #[arg(value_name = "SCENE", add = crate::commands::completions::scenes())]
    scene: String,
    /// Change a value of the scene, for example --set solver.cfl=1; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Changes to the scene")]
    set: Vec<String>,
    /// Last frame: short for --set time.frames=N
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_count, help_heading = "Changes to the scene")]
    frames: Option<u64>,
    /// Finer or coarser cells in the same box: 0.5 halves the cells along each axis, for a quick look
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, value_parser = parse_scale, help_heading = "Changes to the scene")]
    scale: Option<f64>,
    /// Folder of the meshes that the scene names [default: the folder of the scene]
    #[arg(long, value_name = "DIR", help_heading = "Changes to the scene")]
    asset_root: Option<PathBuf>,
}

fn parse_count(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "write a whole number, 1 or more".to_owned())
}

fn parse_scale(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.001..=100.0).contains(&factor) { Ok(factor) } else { Err("must lie between 0.001 and 100".to_owned()) }
}

/// A scene that was read and found right.
pub struct Loaded {
    pub name: String,
    pub setup: Setup,
    /// The files that it may name.
    pub assets: Assets,
    /// What tells it apart from other scenes of its name, even if it is edited.
    pub origin: String,
}

/// The scale of a preview, and its largest width in pixels.
const PREVIEW: (f64, u32) = (0.5, 320);

impl SceneArgs {
    /// Reads the scene; tells its warnings.
    pub fn load(&self, voice: Voice) -> Result<Loaded, Failure> {
        self.load_with(&[], voice)
    }

    /// The same for a run that may take this much memory.
    pub fn load_within(&self, memory_limit: Option<u64>, voice: Voice) -> Result<Loaded, Failure> {
        self.find()?.within(memory_limit).load(&self.changes(&[]), self.scale, voice)
    }

    /// The same with more changes, each `key.path=value`.
    pub fn load_with(&self, more: &[String], voice: Voice) -> Result<Loaded, Failure> {
        let (found, changes) = (self.find()?, self.changes(more));
        found.load(&changes, self.scale, voice)
    }

    /// The scene for a quick look.
    pub fn load_preview(&self, memory_limit: Option<u64>, voice: Voice) -> Result<Loaded, Failure> {
        let mut found = self.find()?.within(memory_limit);
        let mut changes = self.changes(&[]);
        let (setup, _) = found.setup(&changes)?;
        changes.extend(preview(&setup));
        found.name += "_preview";
        found.load(&changes, Some(self.scale.unwrap_or(1.0) * PREVIEW.0), voice)
    }

    fn find(&self) -> Result<Found, Failure> {
        let mut found = find(&self.scene)?;
        if let Some(root) = &self.asset_root {
            found.assets = Assets::folder(root);
        }
        // Other values are another film: they never replace what the scene itself has made.
        let changed = format!("{:?} {:?}", self.set, self.scale);
        found.origin += &format!("-{:016x}", squall::assets::fingerprint(changed.as_bytes()));
        Ok(found)
    }

    fn changes(&self, more: &[String]) -> Vec<String> {
        let mut changes = [more, &self.set].concat();
        changes.extend(self.frames.map(|n| format!("time.frames={n}")));
        changes
    }

    /// The folder of a finished run, if that is what was named.
    pub fn folder(&self) -> Option<&Path> {
        Some(Path::new(&self.scene)).filter(|path| path.is_dir() && gallery::find(&self.scene).is_none())
    }

    /// The same arguments as they would be typed.
    pub fn typed(&self) -> Vec<String> {
        let mut words = vec![self.scene.clone()];
        words.extend(self.set.iter().flat_map(|s| ["--set".to_owned(), s.clone()]));
        words.extend(self.frames.iter().flat_map(|n| ["--frames".to_owned(), n.to_string()]));
        words.extend(self.asset_root.iter().flat_map(|d| ["--asset-root".to_owned(), d.display().to_string()]));
        words.extend(self.scale.iter().flat_map(|f| ["--scale".to_owned(), f.to_string()]));
        words
    }
}

/// What a preview changes besides the cells.
fn preview(setup: &Setup) -> Vec<String> {
    let width = setup.output.width.min(PREVIEW.1);
    let mut changes = vec![format!("output.width={width}")];
    if let Some(film) = &setup.film {
        let height = f64::from(setup.output.height) * f64::from(width) / f64::from(setup.output.width);
        changes.push(format!("output.height={}", height.round().max(1.0)));
        changes.extend(["render.quality=\"preview\"".to_owned(), "render.samples=1".to_owned()]);
        debug_assert!(film.render.samples > 0);
    }
    if setup.output.vdb.is_some() {
        changes.push("output.vdb=false".to_owned());
    }
    changes
}

/// A scene before it is read.
pub struct Found {
    pub name: String,
    /// What messages call it.
    pub file: String,
    pub text: String,
    /// The files that it may name.
    pub assets: Assets,
    /// What tells it apart from other scenes of its name, even if it is edited.
    pub origin: String,
}

/// A fingerprint of where a scene is: the same however it is edited.
fn origin_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    format!("{:016x}", squall::assets::fingerprint(whole.as_os_str().as_encoded_bytes()))
}

impl Found {
    /// The same for a run that may take this much memory.
    pub fn within(self, memory_limit: Option<u64>) -> Self {
        Self { assets: self.assets.within(memory_limit), ..self }
    }

    /// Reads it with changes, with finer or coarser cells; tells its warnings.
    pub fn load(self, changes: &[String], scale: Option<f64>, voice: Voice) -> Result<Loaded, Failure> {
        let (mut setup, mut warnings) = self.setup(changes)?;
        if let Some(factor) = scale {
            // Through the parser again, so that whatever depends on the cells is worked out anew.
            let changes = [changes, &setup.scaled(factor)].concat();
            (setup, warnings) = self.setup(&changes)?;
        }
        if !voice.quiet {
            for warning in warnings {
                say!("{:?}", miette::Report::new(crate::drawn::Message::from(&warning)));
            }
        }
        Ok(Loaded { name: self.name, setup, assets: self.assets, origin: self.origin })
    }

    /// Reads it with changes.
    pub fn setup(&self, changes: &[String]) -> Result<(Setup, Vec<squall::Problem>), Failure> {
        Ok(Scene::parse(&self.file, &self.text, changes)?.with_assets(self.assets.clone()).setup()?)
    }
}

/// A file wins over the gallery, and the gallery over a folder of that name (`./plume` is the folder). The folder of a run holds
/// the scene that it was computed by.
fn find(scene: &str) -> Result<Found, Failure> {
    let path = Path::new(scene);
    let stem = |path: &Path| path.file_stem().map_or_else(|| "scene".into(), |s| s.to_string_lossy().into_owned());
    if path.is_file() {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let assets = Assets::folder(folder);
        let origin = origin_of(path);
        return Ok(Found { name: stem(path), file: scene.to_owned(), text: read(path)?, assets, origin });
    }
    if let Some(found) = gallery::find(scene) {
        let (name, file) = (found.name.to_owned(), format!("{scene} (gallery)"));
        let origin = format!("gallery:{}", found.name);
        return Ok(Found { name, file, text: found.text.to_owned(), assets: gallery::assets(), origin });
    }
    let inside = path.join("scene.toml");
    if inside.is_file() {
        let (file, text) = (inside.display().to_string(), read(&inside)?);
        let origin = origin_of(&inside);
        let place = read_manifest(path).ok().flatten().and_then(|manifest| manifest.assets);
        let assets = place.map_or_else(|| Assets::folder(path), |place| Assets::at(&place));
        return Ok(Found { name: stem(path), file, text, assets, origin });
    }
    let help = match (path.is_dir(), gallery::nearest(scene)) {
        (true, _) => "it is a folder: name the scene file in it".to_owned(),
        (_, Some(near)) => format!("did you mean `{near}`? `squall scenes` lists the gallery"),
        _ => "`squall scenes` lists the gallery; `squall new NAME` writes a scene of your own".to_owned(),
    };
    let text = format!("there is no scene file, no gallery scene and no folder of a run called {scene:?}");
    Err(Failure::new(Code::Input, text, Some(help)))
}

fn read(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    // One byte too many is enough for the reader to refuse it; more need not be read.
    let result = File::open(path).and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    result.map_err(|e| Failure::new(Code::Io, format!("cannot read {}: {e}", path.display()), None))?;
    String::from_utf8(bytes).map_err(|e| {
        let place = e.utf8_error().valid_up_to();
        let text = format!("{} is not a text file: byte {place} is not UTF-8", path.display());
        Failure::new(Code::Input, text, Some("is this really a scene file?".to_owned()))
    })
}

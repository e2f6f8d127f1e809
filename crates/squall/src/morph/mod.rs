//! Morphs: from a list of shapes to a scene of target smoke.
//!
//! | file | what it holds |
//! |---|---|
//! | `thing` | what smoke can be: letters, pictures, meshes, volumes, a cloud |
//! | `scene` | the scene of a morph, as text |
//! | `tune` | how hard smoke is pushed to meet its targets up to a stated error, tried on few cells |
//! | `search` | the search for that push |

mod scene;
mod search;
mod thing;
mod tune;

use std::path::{Path, PathBuf};

use crate::diagnostic::Problem;
use crate::{Assets, RunError, Scene, SceneError, Setup};
pub use scene::{Figure, Plan};
pub use search::{Found, Push};
pub use thing::Thing;
pub use tune::Tuned;

use scene::tidy;

/// What is wished for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wishes {
    /// What the smoke is at first, and what it becomes, one after the other: two at least.
    pub things: Vec<Thing>,
    /// Seconds in which each forms.
    pub duration: f64,
    /// Seconds that each stays.
    pub hold: f64,
    /// Seconds for which the smoke drifts away at the end.
    pub release: Option<f64>,
    /// Factor on how strongly smoke is driven.
    pub strength: Option<f64>,
    /// Whether it is pushed with all strength from the start.
    pub eager: bool,
    /// Factor on how softly, and from how far, targets are felt.
    pub softness: Option<f64>,
    /// Factor on how much shapes are sharpened by what is not flow.
    pub gathering: Option<f64>,
    /// Cells along the longer side; `None`: 256, and 96 in 3D.
    pub resolution: Option<usize>,
    /// In 3D, also if all things are flat.
    pub solid: bool,
    /// `#rrggbb`, from thin smoke to dense; empty: the usual ones.
    pub colors: Vec<String>,
    /// `#rrggbb`.
    pub background: Option<String>,
    /// The file of the font of letters.
    pub font: Option<PathBuf>,
    /// Frames per second.
    pub fps: f64,
    /// Width of the pictures in pixels.
    pub width: u32,
    /// The command that the scene says it was written by.
    pub written_by: String,
}

/// Why there is no morph. The message says what, [`help`](Self::help) what can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MorphError {
    /// Wishes that do not go together.
    #[error("{what}")]
    Usage {
        /// What is wrong.
        what: String,
        /// What helps.
        help: String,
    },
    /// Something that cannot be a shape.
    #[error("{what}")]
    Input {
        /// What is wrong.
        what: String,
        /// What helps.
        help: String,
    },
    /// A file that is there cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The scene is wrong.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The scene cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl MorphError {
    fn usage(what: impl Into<String>, help: impl Into<String>) -> Self {
        MorphError::Usage { what: what.into(), help: help.into() }
    }

    fn input(what: impl Into<String>, help: impl Into<String>) -> Self {
        MorphError::Input { what: what.into(), help: help.into() }
    }

    /// What can be done about it.
    pub fn help(&self) -> Option<&str> {
        match self {
            MorphError::Usage { help, .. } | MorphError::Input { help, .. } if !help.is_empty() => Some(help),
            _ => None,
        }
    }
}

/// A scene in which smoke takes one shape after the other.
#[derive(Clone, Debug)]
pub struct Morph {
    /// `hello-to-squall`: for folders and movies.
    pub name: String,
    /// What its scene is written from.
    pub plan: Plan,
    /// The files that the scene names.
    pub assets: Assets,
}

impl Morph {
    /// What is to be done to have what is wished for.
    pub fn new(wishes: &Wishes) -> Result<Self, MorphError> {
        let things = &wishes.things;
        let is_solid = is_solid(wishes)?;
        if is_solid && wishes.colors.len() > 1 {
            let help = "in 3D smoke is lit: give one colour, and lights by --set or in the scene";
            return Err(MorphError::usage("--color has several colours", help));
        }
        let aspect = if is_solid && things.iter().any(Thing::is_solid) { 1.0 } else { aspect(things)? };
        let files: Vec<&Path> = things.iter().filter_map(Thing::file).chain(wishes.font.as_deref()).collect();
        let (root, names) = asset_root(&files)?;
        let font = wishes.font.as_ref().and(names.last().cloned());
        let mut plan = Plan {
            header: Vec::new(),
            description: things.iter().map(Thing::name).collect::<Vec<_>>().join(" becomes "),
            cells: cells(wishes, aspect, is_solid),
            start: Figure::Ball { center: Vec::new(), radius: 0.0 },
            targets: Vec::new(),
            thickness: 0.0,
            duration: wishes.duration,
            hold: wishes.hold,
            release: wishes.release,
            strength: wishes.strength,
            softness: wishes.softness,
            gathering: None,
            damping: None,
            // A cloud has far to go, and nobody needs to read it.
            eased: !wishes.eager && !things.contains(&Thing::Cloud),
            usual: [0.0; 2],
            colors: wishes.colors.clone(),
            background: wishes.background.clone(),
            fps: wishes.fps,
            width: wishes.width,
        };
        let size = plan.size();
        plan.thickness = tidy(0.25 * size.iter().copied().fold(f64::INFINITY, f64::min));
        let usual = tune::usual(&plan);
        plan.usual = [usual.drive, usual.gathering];
        plan.gathering = wishes.gathering.map(|factor| factor * usual.gathering);
        plan.header = header(&root, &plan.description, &wishes.written_by);

        let mut names = names.into_iter();
        let mut figures = Vec::with_capacity(things.len());
        for (k, thing) in things.iter().enumerate() {
            let mut file = || names.next().expect("one name for each file");
            figures.push(match thing {
                Thing::Picture(_) => Figure::Picture { file: file() },
                Thing::Mesh(_) => Figure::Mesh { file: file() },
                Thing::Volume(_) => Figure::Volume { file: file() },
                Thing::Text(text) => Figure::Text { text: text.clone(), font: font.clone() },
                Thing::Cloud => cloud(things, k, &plan, wishes.font.as_deref())?,
            });
        }
        plan.start = figures.remove(0);
        plan.targets = figures;
        Ok(Morph { name: name_of(things), plan, assets: Assets::folder(root) })
    }

    /// What messages call the scene.
    pub fn file(&self) -> String {
        format!("the scene of {} (see --print-scene)", self.name)
    }

    /// Its scene with changes, each `key.path=value`; and warnings.
    pub fn setup(&self, changes: &[String]) -> Result<(Setup, Vec<Problem>), SceneError> {
        Scene::parse(&self.file(), &self.plan.to_toml(), changes)?.with_assets(self.assets.clone()).setup()
    }
}

/// Whether the scene is in 3D.
fn is_solid(wishes: &Wishes) -> Result<bool, MorphError> {
    let first = |is: fn(&Thing) -> bool| wishes.things.iter().find(|thing| is(thing));
    match (first(Thing::is_flat), first(Thing::is_solid)) {
        (None, None) => {
            let help = "give it something to become: a picture, text:LETTERS, a mesh";
            Err(MorphError::usage("a cloud only becomes a cloud", help))
        }
        (Some(flat), Some(solid)) if !wishes.solid => {
            let help = "add --3d to give flat ones a thickness";
            Err(MorphError::usage(format!("`{flat}` is flat and `{solid}` is solid"), help))
        }
        (_, solid) => Ok(wishes.solid || solid.is_some()),
    }
}

/// Width over height: of the first picture, else that of a screen for letters.
fn aspect(things: &[Thing]) -> Result<f64, MorphError> {
    let first = things.iter().find(|t| matches!(t, Thing::Picture(_))).or(things.iter().find(|t| t.is_flat()));
    let aspect = first.map_or(Ok(None), Thing::aspect)?.unwrap_or(1.0);
    // Very long boxes are mostly empty.
    Ok(aspect.clamp(0.25, 4.0))
}

/// The longer side has as many cells as are asked for, the others a multiple of four, which transforms like.
fn cells(wishes: &Wishes, aspect: f64, is_solid: bool) -> Vec<usize> {
    let longest = wishes.resolution.unwrap_or(if is_solid { 96 } else { 256 });
    let shorter = ((longest as f64 * aspect.min(1.0 / aspect) / 4.0).round() as usize * 4).clamp(8, longest.max(8));
    let mut cells = if aspect >= 1.0 { vec![longest, shorter] } else { vec![shorter, longest] };
    if is_solid {
        cells.push(shorter);
    }
    cells
}

/// A disc or a ball in the middle, of as much smoke as the next thing that has a size.
fn cloud(things: &[Thing], k: usize, plan: &Plan, font: Option<&Path>) -> Result<Figure, MorphError> {
    use std::f64::consts::PI;
    let size = plan.size();
    let neighbour = things[k..].iter().chain(things[..k].iter().rev()).find(|t| **t != Thing::Cloud);
    let extent = neighbour.map_or(Ok(None), |thing| thing.extent(&size, plan.thickness, font))?.unwrap_or(0.1);
    let radius = if plan.is_solid() { (0.75 * extent / PI).cbrt() } else { (extent / PI).sqrt() };
    let shortest = size.iter().copied().fold(f64::INFINITY, f64::min);
    let radius = tidy(radius.clamp(0.08 * shortest, 0.42 * shortest));
    Ok(Figure::Ball { center: size.iter().map(|length| tidy(0.5 * length)).collect(), radius })
}

fn header(root: &Path, description: &str, written_by: &str) -> Vec<String> {
    let mut lines = vec![format!("{description}. Written by:"), format!("  {written_by}")];
    let root = if root == Path::new(".") { String::new() } else { format!(" --asset-root {}", root.display()) };
    lines.push(format!("To go on: squall run THIS_FILE{root}"));
    lines
}

/// The folder that files are named from, and their names: the present one, or, if it does not hold them all, the smallest that does.
fn asset_root(files: &[&Path]) -> Result<(PathBuf, Vec<String>), MorphError> {
    let real = |path: &Path| path.canonicalize().map_err(|source| MorphError::Io { path: path.to_owned(), source });
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
            let help = "rename it: scenes are text, and this name is none";
            MorphError::input(format!("{} cannot be named in a scene", path.display()), help)
        })?;
        Ok(parts.join("/"))
    });
    let names = names.collect::<Result<_, MorphError>>()?;
    Ok((if all_here { PathBuf::from(".") } else { root.to_owned() }, names))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(words: &[&str]) -> Wishes {
        Wishes {
            things: words.iter().map(|word| Thing::parse(word).unwrap()).collect(),
            duration: 4.0,
            hold: 1.0,
            release: None,
            strength: None,
            eager: false,
            softness: None,
            gathering: None,
            resolution: None,
            solid: false,
            colors: Vec::new(),
            background: None,
            font: None,
            fps: 30.0,
            width: 640,
            written_by: "a test".to_owned(),
        }
    }

    fn plan(wishes: &Wishes) -> Plan {
        Morph::new(wishes).unwrap_or_else(|e| panic!("{e}")).plan
    }

    #[test]
    fn letters_are_seen_on_a_wide_screen() {
        let plan = plan(&Wishes { resolution: Some(192), ..wishes(&["text:Hello", "text:Squall"]) });
        assert_eq!(plan.cells, [192, 108]);
        assert_eq!(plan.description, "Hello becomes Squall");
        assert_eq!((plan.frames(), plan.targets.len()), (150, 1));
    }

    #[test]
    fn a_cloud_has_as_much_smoke_as_what_it_becomes() {
        let plan = plan(&wishes(&["cloud", "text:Smoke"]));
        let Figure::Ball { center, radius } = &plan.start else { panic!("{:?}", plan.start) };
        assert_eq!(center, &[0.5, 0.28125]);
        let area = Thing::Text("Smoke".into()).extent(&plan.size(), 0.0, None).unwrap().unwrap();
        assert!((std::f64::consts::PI * radius * radius / area - 1.0).abs() < 1e-4, "{radius} for {area}");
    }

    #[test]
    fn in_3d_letters_have_a_thickness_and_clouds_are_balls() {
        let plan = plan(&Wishes { resolution: Some(48), solid: true, ..wishes(&["cloud", "text:Hi"]) });
        assert_eq!(plan.cells, [48, 28, 28]);
        assert!(plan.to_toml().contains("thickness = 0.145833"), "{}", plan.to_toml());
        assert!(matches!(&plan.start, Figure::Ball { center, .. } if center.len() == 3));
    }

    #[test]
    fn the_scene_is_without_fault() {
        let morph = Morph::new(&wishes(&["text:A", "text:B", "cloud"])).unwrap();
        let (setup, warnings) = morph.setup(&[]).unwrap();
        assert_eq!((setup.time.frames, warnings.len(), morph.name.as_str()), (300, 0, "a-to-b-to-cloud"));
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_a_way_out() {
        let told = |wishes: Wishes| {
            let error = Morph::new(&wishes).unwrap_err();
            format!("{error} {}", error.help().unwrap_or_default())
        };
        let colors = vec!["#ff0000".to_owned(), "#00ff00".to_owned()];
        let solid = Wishes { solid: true, colors, ..wishes(&["text:A", "text:B"]) };
        let mixed = wishes(&["text:A", "../../scenes/meshes/knot.ply"]);
        for (told, parts) in [
            (told(wishes(&["cloud", "cloud"])), ["cloud", "text:LETTERS"]),
            (told(solid), ["--color", "one colour"]),
            (told(mixed), ["`text:A` is flat and `../../scenes/meshes/knot.ply` is solid", "--3d"]),
        ] {
            assert!(parts.iter().all(|part| told.contains(part)), "{told}");
        }
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
        let (root, names) = asset_root(&[Path::new("src/lib.rs")]).unwrap();
        assert_eq!((root, names), (PathBuf::from("."), vec!["src/lib.rs".to_owned()]));
    }
}

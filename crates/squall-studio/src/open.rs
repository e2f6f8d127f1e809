//! A scene that was opened, and takes: the scene with everything that was done while it played.

use std::path::{Path, PathBuf};

use squall::diagnostic::SceneError;
use squall::scene::MAX_BYTES;
use squall::setup::{Edit, edit};
use squall::{Assets, Scene, Setup, gallery};

use crate::place;

/// What stands between a scene and the edits that were played.
const MARK: &str = "\n# What was played, by squall-studio.\n";

/// A scene that was opened.
#[derive(Clone, Debug)]
pub struct Opened {
    /// What it is called.
    pub name: String,
    /// Its file; `None`: of the gallery.
    pub path: Option<PathBuf>,
    /// What it says, without edits that a studio has written.
    text: String,
    assets: Assets,
    /// Keys that have other values than the text says: each `key.path=value`.
    pub changes: Vec<String>,
    /// Finer or coarser cells than it says: 0.5 halves them along each axis.
    pub scale: f64,
    /// What is simulated, with the edits that it came with.
    pub setup: Setup,
    /// The same with pictures that are quick to draw.
    pub view: Setup,
    /// What the user should know.
    pub notice: Option<String>,
    /// Whether it is a take that was never saved.
    pub recovered: bool,
}

/// What is wrong, in a few lines.
pub fn told(error: &SceneError) -> String {
    let lines = error.problems().iter().take(5).map(|p| match p.advice() {
        Some(advice) => format!("{p} ({advice})"),
        None => p.to_string(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl Opened {
    /// A scene of the gallery, or a file.
    pub fn named(name: &str) -> Result<Self, String> {
        match gallery::find(name) {
            Some(scene) => Self::text(scene.name, scene.text, gallery::assets(), None),
            None => Self::file(Path::new(name)),
        }
    }

    /// A scene file.
    pub fn file(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let size = std::fs::metadata(path).map_err(|e| format!("{shown} cannot be opened: {e}"))?;
        if !size.is_file() || size.len() > MAX_BYTES as u64 {
            return Err(format!("{shown} is no scene file"));
        }
        let bytes = std::fs::read(path).map_err(|e| format!("{shown} cannot be read: {e}"))?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{shown} is no scene file: it is no text"))?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_stem().map_or_else(|| "scene".to_owned(), |s| s.to_string_lossy().into_owned());
        Self::text(&name, &text, Assets::folder(folder), Some(path.to_owned()))
    }

    /// The same scene with finer or coarser cells, and without what was played.
    pub fn scaled(&self, factor: f64) -> Result<Self, String> {
        Self::read(&self.name, &self.text, &self.assets, self.path.clone(), factor, &self.changes)
    }

    /// The same scene, and what was played, with so many cells at most, in 2D and 3D.
    pub fn within(self, most: [f64; 2]) -> Result<Self, String> {
        let cells = &self.setup.grid.cells;
        let part = most[cells.len() - 2] / cells.iter().map(|&n| n as f64).product::<f64>();
        if part >= 1.0 {
            return Ok(self);
        }
        // Whole per cent, which can be shown.
        let factor = (100.0 * part.powf(1.0 / cells.len() as f64)).floor().max(1.0) / 100.0;
        let mut fewer = self.scaled(factor)?;
        fewer.play(&self.setup.edits)?;
        Ok(fewer)
    }

    /// The same scene with other values of some keys, each `key.path=value`, and with what was played.
    pub fn changed(&self, keys: &[String], edits: &[Edit]) -> Result<Self, String> {
        let mut changes = self.changes.clone();
        for key in keys {
            let path = |text: &String| text.split('=').next().map(str::to_owned);
            changes.retain(|known| path(known) != path(key));
            changes.push(key.clone());
        }
        let mut opened = Self::read(&self.name, &self.text, &self.assets, self.path.clone(), self.scale, &changes)?;
        opened.play(edits)?;
        Ok(opened)
    }

    /// A scene as text.
    pub fn text(name: &str, text: &str, assets: Assets, path: Option<PathBuf>) -> Result<Self, String> {
        Self::read(name, text, &assets, path, 1.0, &[])
    }

    fn read(
        name: &str,
        text: &str,
        assets: &Assets,
        path: Option<PathBuf>,
        scale: f64,
        changed: &[String],
    ) -> Result<Self, String> {
        let read = |changes: &[String]| setup(name, text, assets, changes);
        let mut setup = read(changed)?;
        let mut changes = changed.to_vec();
        if scale != 1.0 {
            changes.extend(setup.scaled(scale));
            setup = read(&changes)?;
        }
        let view = read(&[changes, quick_look(&setup)].concat())?;
        let loops = Scene::parse(name, text, &[]).is_ok_and(|scene| is_loop(&scene));
        let notice = loops.then(|| "This scene becomes a loop when it is run; here it plays on.".to_owned());
        let base = text.split(MARK).next().unwrap_or_default().to_owned();
        let (name, assets, changes) = (name.to_owned(), assets.clone(), changed.to_vec());
        Ok(Opened { name, path, text: base, assets, changes, scale, setup, view, notice, recovered: false })
    }

    /// What was played is this.
    pub fn play(&mut self, edits: &[Edit]) -> Result<(), String> {
        self.setup = self.setup.with_edits(edits).map_err(|e| told(&e))?;
        self.view = self.view.with_edits(edits).map_err(|e| told(&e))?;
        Ok(())
    }

    /// The scene file of a take.
    pub fn take(&self, edits: &[Edit]) -> String {
        // Edits that somebody wrote by hand stand within the scene, and a loop has none: then it is written as a whole.
        let is_whole = self.text.contains("[[edit]]") || self.notice.is_some() && !edits.is_empty();
        if is_whole || !self.changes.is_empty() {
            let own = setup(&self.name, &self.text, &self.assets, &self.changes);
            let whole = own.and_then(|own| own.with_edits(edits).map_err(|e| told(&e)));
            // The edits were made with this scene, so they are right.
            return whole.unwrap_or_else(|_| self.setup.clone()).to_toml();
        }
        if edits.is_empty() { self.text.clone() } else { format!("{}{MARK}{}", self.text, edit::to_toml(edits)) }
    }

    /// What is baked of a take: so many frames, with other values of some keys.
    pub fn to_bake(&self, edits: &[Edit], frames: u64, keys: &[String]) -> Result<Setup, String> {
        let mut changes = vec![format!("time.frames={}", frames.max(1))];
        changes.extend_from_slice(keys);
        let text = self.take(edits);
        let mut scene = setup(&self.name, &text, &self.assets, &changes)?;
        if self.scale != 1.0 {
            changes.extend(scene.scaled(self.scale));
            scene = setup(&self.name, &text, &self.assets, &changes)?;
        }
        Ok(scene)
    }

    /// The scene as a loop of so many frames, which has no edits.
    pub fn to_loop(&self, frames: u64) -> Result<Setup, String> {
        let mut changes = self.changes.clone();
        changes.push(format!("time.loop={}", frames.max(8)));
        let plain = self.text.split("[[edit]]").next().unwrap_or_default();
        let read = |changes: &[String]| {
            let scene = Scene::parse(&self.name, plain, changes).map_err(|e| told(&e))?;
            scene.with_assets(self.assets.clone()).setup().map(|(setup, _)| setup).map_err(|e| told(&e))
        };
        let mut scene = read(&changes)?;
        if self.scale != 1.0 {
            changes.extend(scene.scaled(self.scale));
            scene = read(&changes)?;
        }
        Ok(scene)
    }

    /// Where a take is saved if nobody says.
    pub fn take_path(&self) -> PathBuf {
        let folder = self.path.as_deref().and_then(Path::parent).map_or_else(PathBuf::new, Path::to_owned);
        let name = self.name.strip_suffix(".take").unwrap_or(&self.name);
        folder.join(format!("{name}.take.toml"))
    }

    /// Lower corner and size of the box.
    pub fn bounds(&self) -> (&[f64], &[f64]) {
        (&self.setup.grid.origin, &self.setup.grid.size)
    }
}

/// A scene that plays on, although it may say that it is a loop.
fn setup(name: &str, text: &str, assets: &Assets, changes: &[String]) -> Result<Setup, String> {
    let scene = Scene::parse(name, text, changes).map_err(|e| told(&e))?.with_assets(assets.clone());
    without_loop(scene).setup().map(|(setup, _)| setup).map_err(|e| told(&e))
}

fn is_loop(scene: &Scene) -> bool {
    scene.file.time.as_ref().is_some_and(|time| time.value.r#loop.is_some())
}

/// A loop has no beginning that one could play from.
fn without_loop(mut scene: Scene) -> Scene {
    if let Some(time) = &mut scene.file.time {
        time.value.r#loop = None;
    }
    scene
}

/// Changes that make pictures quick to draw.
fn quick_look(setup: &Setup) -> Vec<String> {
    let (wide, tall) = (setup.output.width, setup.output.height);
    let width = wide.min(place::WIDEST[usize::from(setup.film.is_some())]);
    let mut changes = vec![format!("output.width={width}"), "output.movie=\"none\"".to_owned()];
    if setup.film.is_some() {
        let height = (f64::from(tall) * f64::from(width) / f64::from(wide)).round().max(1.0);
        changes.push(format!("output.height={height}"));
        changes.extend(["render.quality=\"preview\"".to_owned(), "render.samples=1".to_owned()]);
    }
    if setup.output.vdb.is_some() {
        changes.push("output.vdb=false".to_owned());
    }
    changes
}

//! What was played survives a crash: it is written to a file while it is played, which is gone when the window closes as it should.

use std::path::{Path, PathBuf};

use squall::setup::Edit;
use squall::{Assets, gallery};

use crate::open::Opened;

/// The folder for such files, instead of the usual one.
pub const FOLDER: &str = "SQUALL_STUDIO_STATE";

/// How the first line of such a file begins.
const HEADER: &str = "# Not saved by squall-studio: ";

/// Where takes that are not saved are kept: beside other state of programs.
pub fn folder() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    named(FOLDER)
        .or_else(|| Some(named("XDG_STATE_HOME")?.join("squall")))
        .or_else(|| Some(named("HOME")?.join(".local/state/squall")))
}

/// The file of this program.
pub fn own(folder: &Path) -> PathBuf {
    folder.join(format!("take-{}.toml", std::process::id()))
}

/// What is written: the take, and where its scene is from.
pub fn text(opened: &Opened, edits: &[Edit]) -> String {
    let path = opened
        .path
        .as_ref()
        .map_or_else(String::new, |path| path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string());
    format!("{HEADER}{}|{path}\n{}", opened.name, opened.take(edits))
}

/// Takes that programs left behind that do not run any more.
pub fn left_behind(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let abandoned = |path: &PathBuf| {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let number = name.strip_prefix("take-").and_then(|n| n.strip_suffix(".toml"));
        number.and_then(|n| n.parse::<u32>().ok()).is_some_and(|pid| !runs(pid))
    };
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(abandoned).collect();
    all.sort();
    all
}

/// Whether a program of this number runs; where that cannot be known, none but this one.
fn runs(pid: u32) -> bool {
    pid == std::process::id() || Path::new(&format!("/proc/{pid}")).exists()
}

/// Opens such a file.
pub fn open(path: &Path) -> Result<Opened, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
    let first = text.lines().next().unwrap_or_default();
    let (name, scene) = first.strip_prefix(HEADER).and_then(|rest| rest.split_once('|')).unwrap_or(("recovered", ""));
    let body = text.split_once('\n').map_or("", |(_, body)| body);
    let mut opened = match scene {
        "" => Opened::text(name, body, gallery::assets(), None)?,
        scene => {
            let scene = PathBuf::from(scene);
            let folder = scene.parent().unwrap_or(Path::new(".")).to_owned();
            Opened::text(name, body, Assets::folder(folder), Some(scene))?
        }
    };
    opened.recovered = true;
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall::setup::{Change, Stroke};

    #[test]
    fn a_take_that_was_left_behind_is_found_and_opened() {
        let folder = std::env::temp_dir().join(format!("squall-recover-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let opened = Opened::named("plume").unwrap();
        let stroke = Stroke {
            points: vec![vec![0.5, 0.5]],
            pressure: vec![1.0],
            radius: 0.1,
            push: 3.0,
            force: vec![0.0; 2],
            ..Stroke::default()
        };
        let edits = [Edit { frame: 3, change: Change::Stroke(stroke) }];
        std::fs::write(own(&folder), text(&opened, &edits)).unwrap();
        assert!(left_behind(&folder).is_empty(), "this program runs");
        // No program has this number: the largest is below.
        let other = folder.join("take-4294967295.toml");
        std::fs::rename(own(&folder), &other).unwrap();
        std::fs::write(folder.join("notes.txt"), "").unwrap();
        assert_eq!(left_behind(&folder), std::slice::from_ref(&other));
        let again = open(&other).unwrap();
        assert_eq!((again.name.as_str(), &again.setup.edits[..]), ("plume", &edits[..]));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

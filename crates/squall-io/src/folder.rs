//! The folder that a scene's frames go to, and the manifest that says whose they are.

use crate::SceneHash;
use crate::output::{IoError, sweep_temporaries, sync_files, sync_folder, write_whole};
use crate::records::{Damage, RECORDS, Records, Stamp};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// What is done with a folder that already holds output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Resume the same scene; begin again if it was edited; refuse another scene's output.
    Resume,
    /// Begin again with the same scene, edited or not; refuse another scene's output.
    Restart,
    /// Begin again, whichever scene's output the folder holds. Files that Squall did not write are refused all the same.
    Overwrite,
}

/// What an output folder says about itself: `squall.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of Squall that wrote it.
    pub squall: String,
    /// A name for people.
    pub scene: String,
    /// The scene's hash, in hexadecimal.
    pub scene_hash: String,
    /// What tells the scene apart from others of its name, even if it is edited.
    #[serde(default)]
    pub origin: Option<String>,
    /// Where the files are that the scene names, if it names any.
    #[serde(default)]
    pub assets: Option<String>,
    /// Frames per second.
    pub fps: f64,
    /// All files of the frames before this number are written.
    pub frames_done: u64,
    /// The series of numbered files: `smoke` stands for `smoke_0000.png`, `smoke_0001.png`, ...
    pub series: Vec<String>,
    /// The other files.
    #[serde(default)]
    pub single: Vec<String>,
    /// Numbered files of frames before this number are the run's own, finished or not.
    #[serde(default)]
    pub frames_begun: u64,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// It holds the output of another scene.
    #[error("{} holds the output of {}", .folder.display(), whose(.scene, *.same_name))]
    OtherScene {
        /// Which folder.
        folder: PathBuf,
        /// The name of the scene whose output it is.
        scene: String,
        /// Whether the scene that is to be run has the same name.
        same_name: bool,
    },
    /// It holds files that would be overwritten and that Squall has not written.
    #[error("{} has a file {file} that is not the output of a run", .folder.display())]
    UnknownFiles {
        /// Which folder.
        folder: PathBuf,
        /// One of the files.
        file: String,
    },
}

fn whose(scene: &str, same_name: bool) -> String {
    match same_name {
        true => format!("`{scene}` run with other options, or of another file of that name"),
        false => format!("another scene, `{scene}`"),
    }
}

const MANIFEST: &str = "squall.json";
const CHECKPOINT: &str = "checkpoint.sqc";
const PREVIOUS_CHECKPOINT: &str = "checkpoint.prev.sqc";
/// A manifest is small; whatever is larger is not one.
const MAX_MANIFEST: u64 = 1 << 20;

/// Whose output a folder holds.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// The name of the scene.
    pub scene: &'a str,
    /// What tells it apart from other scenes of that name, even if it is edited: a fingerprint of where it is.
    pub origin: Option<&'a str>,
    /// Where the files are that it names, if it names any.
    pub assets: Option<&'a str>,
    /// Its hash.
    pub hash: SceneHash,
    /// Frames per second.
    pub fps: f64,
}

/// What a run writes besides its manifest, its checkpoints and the table of its files.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// The series of its numbered files.
    pub series: &'a [String],
    /// Its other files.
    pub single: &'a [String],
    /// One more than the number of its last frame.
    pub end: u64,
}

/// An output folder that may be written to.
#[derive(Debug)]
pub struct OutputFolder {
    folder: PathBuf,
    manifest: Manifest,
    records: Records,
    replaced: bool,
    begun_by: Option<String>,
    /// Finished files that may not be on the disk yet.
    unsynced: Vec<PathBuf>,
}

impl OutputFolder {
    /// Makes the folder ready for `files`: created if needed, left-over temporaries swept, the manifest written. Starting again removes the
    /// files of the run before, and nothing else.
    pub fn open(
        folder: impl AsRef<Path>,
        owner: Owner<'_>,
        files: Files<'_>,
        start: Start,
    ) -> Result<Self, FolderError> {
        let folder = folder.as_ref();
        fs::create_dir_all(folder).map_err(IoError::file(folder, "create the folder"))?;
        sweep_temporaries(folder)?;
        let mut manifest = Manifest {
            squall: env!("CARGO_PKG_VERSION").into(),
            scene: owner.scene.into(),
            scene_hash: owner.hash.to_string(),
            origin: owner.origin.map(str::to_owned),
            assets: owner.assets.map(str::to_owned),
            fps: owner.fps,
            frames_done: 0,
            series: Vec::new(),
            single: Vec::new(),
            frames_begun: 0,
        };
        let (mut replaced, mut begun_by) = (false, None);
        let before = read_manifest(folder)?;
        let unknown = unknown_file(folder, before.as_ref(), files)?;
        let refuse_unknown = || match unknown {
            Some(file) => Err(FolderError::UnknownFiles { folder: folder.to_owned(), file }),
            None => Ok(()),
        };
        match before {
            Some(before) if before.scene_hash == manifest.scene_hash && start == Start::Resume => {
                refuse_unknown()?;
                manifest.frames_done = before.frames_done;
                manifest.claim(Files { series: &before.series, single: &before.single, end: before.frames_begun });
                if before.squall != manifest.squall {
                    begun_by = Some(before.squall.clone());
                    manifest.squall = before.squall;
                }
            }
            // Of the same scene, edited or not; or whatever it is, if that was asked for.
            Some(before)
                if before.scene_hash == manifest.scene_hash
                    || start == Start::Overwrite
                    || (before.origin.is_some()
                        && (&before.origin, &before.scene) == (&manifest.origin, &manifest.scene)) =>
            {
                refuse_unknown()?;
                replaced = before.scene_hash != manifest.scene_hash;
                remove_output(folder, &before)?;
            }
            Some(before) => {
                let same_name = before.scene == manifest.scene;
                return Err(FolderError::OtherScene { folder: folder.to_owned(), scene: before.scene, same_name });
            }
            None => refuse_unknown()?,
        }
        manifest.claim(files);
        let records = Records::read(folder);
        let unsynced = Vec::new();
        let opened = Self { records, folder: folder.to_owned(), manifest, replaced, begun_by, unsynced };
        opened.write_manifest()?;
        Ok(opened)
    }

    /// Gives the run in this folder, of a scene whose looks alone were edited, to the edited one. `files` of the frames up to `last`
    /// have been made, `keep` belongs to every run; all other files of the old run are removed. No checkpoint is left: whoever is killed
    /// in between begins again.
    pub fn become_edited(
        self,
        owner: Owner<'_>,
        all: Files<'_>,
        keep: &[String],
        frames: std::ops::RangeInclusive<u64>,
        files: impl Fn(u64) -> Vec<String>,
    ) -> Result<(), FolderError> {
        let Self { folder, manifest, mut records, .. } = self;
        remove_checkpoints(&folder)?;
        let kept: std::collections::HashSet<String> = frames.clone().flat_map(&files).collect();
        let old = own_frames(&folder, &manifest)?.into_iter().filter(|name| !kept.contains(name));
        old.chain(manifest.single.iter().filter(|name| !keep.contains(name)).cloned())
            .try_for_each(|name| remove(&folder, &name))?;
        let tables: Vec<_> = keep.iter().map(|name| (name, records.table(name))).collect();
        records.keep(None, false)?;
        let mut manifest = Manifest {
            scene_hash: owner.hash.to_string(),
            assets: owner.assets.map(str::to_owned),
            frames_done: 0,
            series: Vec::new(),
            single: Vec::new(),
            ..manifest
        };
        manifest.claim(all);
        let (replaced, begun_by, unsynced) = (true, None, Vec::new());
        let mut edited = Self { folder, manifest, records, replaced, begun_by, unsynced };
        for frame in frames {
            let held = tables.iter().flat_map(|(name, held)| {
                let held = held.iter().filter(|(known, _)| *known == frame);
                held.map(|(_, stamp)| ((*name).clone(), *stamp))
            });
            edited.record_frame(frame, &files(frame), &held.collect::<Vec<_>>())?;
        }
        edited.write_manifest()?;
        Ok(edited.sync(keep)?)
    }

    /// Makes more files the run's own; refused if some are there and are not.
    pub fn claim(&mut self, files: Files<'_>) -> Result<(), FolderError> {
        if let Some(file) = unknown_file(&self.folder, Some(&self.manifest), files)? {
            return Err(FolderError::UnknownFiles { folder: self.folder.clone(), file });
        }
        self.manifest.claim(files);
        Ok(self.write_manifest()?)
    }

    /// Whether the output of another scene, or of this one before it was edited, was removed.
    pub fn replaced(&self) -> bool {
        self.replaced
    }

    /// The version of Squall that began the run, if it is another one.
    pub fn begun_by(&self) -> Option<&str> {
        self.begun_by.as_deref()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// What it says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where the newest checkpoint belongs.
    pub fn checkpoint_path(&self) -> PathBuf {
        self.folder.join(CHECKPOINT)
    }

    /// The file of one frame: `smoke_0012.png` for `("smoke", 12, "png")`.
    pub fn frame_path(&self, series: &str, frame: u64, extension: &str) -> PathBuf {
        self.folder.join(format!("{series}_{frame:04}.{extension}"))
    }

    /// The frames of a series that exist, in order.
    pub fn existing_frames(&self, series: &str, extension: &str) -> Result<Vec<u64>, IoError> {
        let files = numbered_files(&self.folder, &[series.to_owned()])?;
        let of_kind = |name: &str| name.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.'));
        Ok(files.into_iter().filter(|(_, name)| of_kind(name)).map(|(frame, _)| frame).collect())
    }

    /// Notes that `files` of a frame are written, and so are those of all frames before it; and what tables hold by then.
    pub fn record_frame(&mut self, frame: u64, files: &[String], tables: &[(String, Stamp)]) -> Result<(), IoError> {
        self.records.add(Some(frame), files, tables)?;
        self.unsynced.extend(files.iter().map(|name| self.folder.join(name)));
        self.manifest.frames_done = frame + 1;
        self.write_manifest()
    }

    /// Notes that a file of the whole run is written.
    pub fn record_end(&mut self, file: &str) -> Result<(), IoError> {
        self.unsynced.push(self.folder.join(file));
        self.records.add(None, &[file.to_owned()], &[])
    }

    /// Whether a file of the whole run is there as it was written.
    pub fn is_whole(&self, file: &str) -> bool {
        self.records.is_whole(file)
    }

    /// The earliest of `frames` whose files are not there as they were written; `files` names those of a frame.
    pub fn first_damage(
        &self,
        frames: std::ops::RangeInclusive<u64>,
        files: impl Fn(u64) -> Vec<String> + Sync,
    ) -> Option<Damage> {
        self.records.first_damage(frames, files)
    }

    /// The earliest frame up to `last` with which a table does not hold any more what it held.
    pub fn table_damage(&self, name: &str, last: u64) -> Option<Damage> {
        self.records.table_damage(name, last)
    }

    /// The frames up to `last` (`None`: none) are kept; later ones will be written again, and what is made of all frames as well, unless
    /// the run is `done`.
    pub fn keep_frames(&mut self, last: Option<u64>, done: bool) -> Result<(), IoError> {
        self.records.keep(last, done)?;
        self.manifest.frames_done = last.map_or(0, |last| last + 1);
        self.write_manifest()
    }

    /// Waits until everything that was recorded, and `more` files, are on the disk.
    pub fn sync(&mut self, more: &[String]) -> Result<(), IoError> {
        let mut files = std::mem::take(&mut self.unsynced);
        let single = more.iter().map(String::as_str).chain([MANIFEST, RECORDS]);
        files.extend(single.map(|name| self.folder.join(name)));
        sync_files(&self.folder, &files)
    }

    fn write_manifest(&self) -> Result<(), IoError> {
        let path = self.folder.join(MANIFEST);
        let text = serde_json::to_string_pretty(&self.manifest).map_err(|e| IoError::content(&path, e))?;
        write_whole(path, (text + "\n").as_bytes())
    }
}

/// The manifest of a folder; `None` if it has none.
pub fn read_manifest(folder: impl AsRef<Path>) -> Result<Option<Manifest>, IoError> {
    let path = folder.as_ref().join(MANIFEST);
    let text = match fs::metadata(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(IoError::file(&path, "read")(e)),
        Ok(data) if !data.is_file() => return Err(IoError::content(&path, "not a file")),
        Ok(data) if data.len() > MAX_MANIFEST => return Err(IoError::content(&path, "too large for a manifest")),
        Ok(_) => fs::read_to_string(&path).map_err(IoError::file(&path, "read"))?,
    };
    let manifest = serde_json::from_str(&text).map_err(|e| IoError::content(&path, format!("not a manifest: {e}")))?;
    Ok(Some(manifest))
}

impl Manifest {
    /// Notes that files are the run's own.
    fn claim(&mut self, files: Files<'_>) {
        for (mine, more) in [(&mut self.series, files.series), (&mut self.single, files.single)] {
            let new: Vec<String> = more.iter().filter(|name| !mine.contains(name)).cloned().collect();
            mine.extend(new);
        }
        self.frames_begun = self.frames_begun.max(files.end);
    }
}

/// One of `files` that is there and does not belong to the run that the folder is of.
fn unknown_file(folder: &Path, run: Option<&Manifest>, files: Files<'_>) -> Result<Option<String>, IoError> {
    let own_series = |name: &str| run.is_some_and(|run| run.series.iter().any(|s| is_numbered(name, s).is_some()));
    let begun = run.map_or(0, |run| run.frames_begun);
    let mut frames = numbered_files(folder, files.series)?.into_iter();
    let frame = frames.find(|(frame, name)| *frame < files.end && !(*frame < begun && own_series(name)));
    let records = [CHECKPOINT, PREVIOUS_CHECKPOINT, RECORDS].into_iter().filter(|_| run.is_none());
    let own = |name: &str| run.is_some_and(|run| run.single.iter().any(|own| own == name));
    let mut single = files.single.iter().map(String::as_str).filter(|name| !own(name)).chain(records);
    let single = || single.find(|name| folder.join(name).symlink_metadata().is_ok()).map(str::to_owned);
    Ok(frame.map(|(_, name)| name).or_else(single))
}

/// The numbered files of a run.
fn own_frames(folder: &Path, run: &Manifest) -> Result<Vec<String>, IoError> {
    let all = numbered_files(folder, &run.series)?;
    Ok(all.into_iter().filter(|(frame, _)| *frame < run.frames_begun).map(|(_, name)| name).collect())
}

/// Removes the files of a run. Checkpoints go first, and durably: whatever happens then, no run goes on from a state whose
/// frames are gone. The manifest goes last: killed in between, the folder still says whose it is.
fn remove_output(folder: &Path, run: &Manifest) -> Result<(), IoError> {
    remove_checkpoints(folder)?;
    own_frames(folder, run)?.iter().chain(&run.single).try_for_each(|name| remove(folder, name))?;
    [RECORDS, MANIFEST].into_iter().try_for_each(|name| remove(folder, name))
}

fn remove_checkpoints(folder: &Path) -> Result<(), IoError> {
    // The older one first: what is left alone in between is the newest, whose frames are all there.
    [PREVIOUS_CHECKPOINT, CHECKPOINT].into_iter().try_for_each(|name| remove(folder, name))?;
    sync_folder(folder)
}

/// Removes a file, if it is there.
fn remove(folder: &Path, name: &str) -> Result<(), IoError> {
    let path = folder.join(name);
    match fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(IoError::file(&path, "remove")(e)),
        _ => Ok(()),
    }
}

/// Files with names of the form `series_0000.extension` and their numbers, sorted.
fn numbered_files(folder: &Path, series: &[String]) -> Result<Vec<(u64, String)>, IoError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(IoError::file(folder, "list"))? {
        let entry = entry.map_err(IoError::file(folder, "list"))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if let Some(number) = series.iter().find_map(|series| is_numbered(&name, series)) {
            files.push((number, name));
        }
    }
    files.sort();
    Ok(files)
}

/// The number of a file of a series.
fn is_numbered(name: &str, series: &str) -> Option<u64> {
    let (stem, digits) = name.split_once('.')?.0.rsplit_once('_')?;
    let is_number = digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_digit());
    (stem == series && is_number).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    fn open(folder: &Path, hash: u64, start: Start) -> Result<OutputFolder, FolderError> {
        open_to(folder, hash, start, 100)
    }

    fn open_to(folder: &Path, hash: u64, start: Start, end: u64) -> Result<OutputFolder, FolderError> {
        let owner = Owner { scene: "plume", origin: None, assets: None, hash: hash.into(), fps: 30.0 };
        let files = Files { series: &["smoke".to_owned()], single: &["steps.csv".to_owned()], end };
        OutputFolder::open(folder, owner, files, start)
    }

    fn write_frames(folder: &mut OutputFolder, count: u64) {
        folder.keep_frames(None, false).unwrap();
        for frame in 0..count {
            write_whole(folder.frame_path("smoke", frame, "png"), b"picture").unwrap();
            folder.record_frame(frame, &[format!("smoke_{frame:04}.png")], &[]).unwrap();
        }
    }

    #[test]
    fn a_run_finds_its_own_frames_again() {
        let folder = TestFolder::new("folder-resume");
        let inside = folder.join("new/folder");
        write_frames(&mut open(&inside, 1, Start::Resume).unwrap(), 3);
        let again = open(&inside, 1, Start::Resume).unwrap();
        assert_eq!(again.manifest().frames_done, 3);
        assert_eq!(again.existing_frames("smoke", "png").unwrap(), [0, 1, 2]);
        assert!(again.existing_frames("smoke", "npy").unwrap().is_empty());
        assert_eq!(read_manifest(&inside).unwrap().as_ref(), Some(again.manifest()));
    }

    #[test]
    fn another_scenes_output_is_refused_unless_overwriting_is_allowed() {
        let folder = TestFolder::new("folder-other");
        write_frames(&mut open(&folder, 1, Start::Resume).unwrap(), 3);
        fs::write(folder.join("notes.txt"), b"mine").unwrap();
        for start in [Start::Resume, Start::Restart] {
            let error = open(&folder, 2, start).unwrap_err();
            assert!(matches!(&error, FolderError::OtherScene { scene, .. } if scene == "plume"), "{error}");
        }
        assert_eq!(folder.names().len(), 6);
        open(&folder, 2, Start::Overwrite).unwrap();
        assert_eq!(folder.names(), ["notes.txt", "squall.json"]);
    }

    #[test]
    fn starting_again_removes_the_frames_of_the_run_before() {
        let folder = TestFolder::new("folder-restart");
        let mut first = open(&folder, 1, Start::Resume).unwrap();
        write_frames(&mut first, 2);
        fs::write(first.checkpoint_path(), b"").unwrap();
        for name in ["smoke_1.png", "smoke_final.png", "steam_0001.png"] {
            fs::write(folder.join(name), b"mine").unwrap();
        }
        let again = open(&folder, 1, Start::Restart).unwrap();
        assert_eq!(again.manifest().frames_done, 0);
        assert_eq!(folder.names(), ["smoke_1.png", "smoke_final.png", "squall.json", "steam_0001.png"]);
    }

    #[test]
    fn frames_without_a_manifest_are_not_touched() {
        let folder = TestFolder::new("folder-unknown");
        fs::write(folder.join("smoke_0007.png"), b"someone's").unwrap();
        let error = open(&folder, 1, Start::Resume).unwrap_err();
        assert!(error.to_string().contains("smoke_0007.png"), "{error}");
        assert_eq!(folder.names(), ["smoke_0007.png"]);
        fs::rename(folder.join("smoke_0007.png"), folder.join("steps.csv")).unwrap();
        for start in [Start::Resume, Start::Restart, Start::Overwrite] {
            let error = open(&folder, 1, start).unwrap_err();
            assert!(error.to_string().contains("steps.csv"), "{error}");
        }
        assert_eq!(fs::read(folder.join("steps.csv")).unwrap(), b"someone's");
    }

    #[test]
    fn a_scene_that_was_edited_replaces_its_own_output_and_no_other() {
        let folder = TestFolder::new("folder-edited");
        let files = Files { series: &["smoke".to_owned()], single: &["steps.csv".to_owned()], end: 100 };
        let open = |origin, hash: u64| {
            let owner = Owner { scene: "plume", origin: Some(origin), assets: None, hash: hash.into(), fps: 30.0 };
            OutputFolder::open(&*folder, owner, files, Start::Resume)
        };
        write_frames(&mut open("here", 1).unwrap(), 3);
        assert!(!open("here", 1).unwrap().replaced());
        assert!(matches!(open("elsewhere", 2), Err(FolderError::OtherScene { .. })));
        let edited = open("here", 2).unwrap();
        assert!(edited.replaced() && edited.existing_frames("smoke", "png").unwrap().is_empty());
    }

    #[test]
    fn a_damaged_manifest_is_an_error_as_nothing_says_whose_files_are_there() {
        let folder = TestFolder::new("folder-damaged");
        fs::write(folder.join(MANIFEST), b"{ \"squall\": ").unwrap();
        fs::write(folder.join("smoke_0003.png"), b"mine").unwrap();
        for start in [Start::Resume, Start::Restart, Start::Overwrite] {
            let error = open(&folder, 1, start).unwrap_err();
            assert!(error.to_string().contains("squall.json: not a manifest"), "{error}");
        }
        assert_eq!(folder.names(), ["smoke_0003.png", "squall.json"]);
    }

    #[test]
    fn files_that_the_run_has_not_written_are_neither_removed_nor_replaced() {
        let folder = TestFolder::new("folder-mine");
        write_frames(&mut open_to(&folder, 1, Start::Resume, 3).unwrap(), 3);
        for name in ["smoke_0003.png", "smoke_0099.png", "targets.csv", "ink_0001.npy"] {
            fs::write(folder.join(name), b"mine").unwrap();
        }
        // Longer, it would need the name of one of them, whatever is allowed.
        for (hash, start) in [(1, Start::Resume), (1, Start::Restart), (2, Start::Overwrite)] {
            let error = open_to(&folder, hash, start, 5).unwrap_err();
            assert!(error.to_string().contains("smoke_0003.png"), "{error}");
        }
        // So would a series that it did not have.
        let mut run = open_to(&folder, 1, Start::Resume, 3).unwrap();
        let more = Files { series: &["ink".to_owned()], single: &[], end: 3 };
        assert!(matches!(run.claim(more), Err(FolderError::UnknownFiles { file, .. }) if file == "ink_0001.npy"));
        assert_eq!(run.existing_frames("smoke", "png").unwrap(), [0, 1, 2, 3, 99]);
        open_to(&folder, 1, Start::Restart, 3).unwrap();
        let mine = ["ink_0001.npy", "smoke_0003.png", "smoke_0099.png", "squall.json", "targets.csv"];
        assert_eq!(folder.names(), mine);
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_named() {
        let folder = TestFolder::new("folder-file");
        fs::write(folder.join("out"), b"").unwrap();
        let error = open(&folder.join("out"), 1, Start::Resume).unwrap_err();
        assert!(error.to_string().contains("out"), "{error}");
    }
}

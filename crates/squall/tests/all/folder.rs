//! Folders of tests, and runs into them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use squall::run::{CancelToken, Outcome, RunOptions, run};
use squall::{Event, Setup};

/// A folder that is gone when the test ends.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Empty. The name must be that of one test alone.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("squall-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// What is in a folder within, without what differs from run to run.
    pub fn files(&self, out: &str) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(self.0.join(out)).unwrap().map(|e| e.unwrap()).filter(|e| e.path().is_file());
        let files = entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap()));
        files.filter(|(name, _)| name != "timings.csv" && name != "checkpoint.prev.sqc").collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn options(out: &Path) -> RunOptions {
    RunOptions::new("test", out)
}

/// Runs to the end.
pub fn go(setup: &Setup, out: &Path) {
    let summary = run(setup, &options(out), &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
    assert_eq!(summary.outcome, Outcome::Done);
}

//! A folder, a scene and a command for each test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A plume that takes a fraction of a second. Checkpoints come as often as they can.
pub const TINY: &str = r#"
[grid]
cells = [24, 32]
[boundary]
y = { lo = "no_slip", hi = "open" }
[substance.density]
[[source]]
shape = { sphere = { center = [0.5, 0.3], radius = 0.15 } }
set = { density = 1.0 }
velocity = [0.1, 0.8]
[[force]]
buoyancy = { substance = "density", strength = 9.0 }
[time]
frames = 6
[output]
width = 48
fields = ["density", "velocity"]
checkpoint_seconds = 0.001
"#;

/// A folder that is removed at the end of the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("squall-cli-test-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// With `tiny.toml` in it.
    pub fn with_tiny(name: &str) -> Self {
        let folder = Self::new(name);
        folder.write("tiny.toml", TINY);
        folder
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The command, to be run in this folder.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        command.current_dir(&self.0).args(args);
        command
    }

    /// Runs the command to its end.
    pub fn squall(&self, args: &[&str]) -> Ended {
        Ended::from(self.command(args).output().unwrap())
    }

    /// Runs it and expects success.
    pub fn ok(&self, args: &[&str]) -> Ended {
        let ended = self.squall(args);
        assert_eq!(ended.code, Some(0), "{args:?}: {}{}", ended.stdout, ended.stderr);
        ended
    }

    /// Every file of an output folder that must not depend on interruptions, threads or the clock.
    pub fn files(&self, out: &str) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.0.join(out)).unwrap().map(|e| e.unwrap());
        let files = entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap()));
        files.filter(|(name, _)| name != "timings.csv" && name != "checkpoint.prev.sqc").collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Asserts that two folders hold the same files, and says which differ.
pub fn assert_same(a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>, what: &str) {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{what}");
    for (name, bytes) in a {
        assert!(bytes == &b[name], "{what}: {name} differs");
    }
}

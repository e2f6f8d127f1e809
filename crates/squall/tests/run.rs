//! The run loop as a library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use squall::run::{CancelToken, Outcome, RunOptions, run};
use squall::{Event, RunError, Scene, Setup};

/// Several steps per frame, and a range that grows as the fluid gains speed.
const SCENE: &str = r#"
[grid]
cells = [16, 24]
[fluid]
velocity = ["0.3*sin(tau*y)", "0.2*cos(tau*x)"]
[substance.dye]
initial = "x < 0.5"
[[force]]
noise = { strength = 2.0, scale = 0.3 }
[solver]
steps_per_frame = 3
[time]
frames = 5
include_start = true
[output]
width = 32
fields = ["vorticity"]
[picture]
show = "speed"
"#;

fn setup(overrides: &[&str]) -> Setup {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    Scene::parse("test.toml", SCENE, &overrides).unwrap().setup().unwrap().0
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("squall-run-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn files(&self, out: &str) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(self.0.join(out)).unwrap().map(|e| e.unwrap());
        let files = entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap()));
        files.filter(|(name, _)| name != "timings.csv" && name != "checkpoint.prev.sqc").collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn options(out: &Path) -> RunOptions {
    RunOptions::new("test", out)
}

#[test]
fn a_run_cancelled_after_every_single_step_writes_the_same_bytes() {
    let folder = Folder::new("every-step");
    let setup = setup(&[]);
    let whole =
        run(&setup, &options(&folder.0.join("whole")), &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
    assert_eq!((whole.outcome, whole.frames), (Outcome::Done, 5));
    assert!(whole.steps >= 15);

    let mut sessions = 0;
    let summary = loop {
        let cancel = CancelToken::default();
        let token = cancel.clone();
        let mut stop = move |event: &Event<'_>| {
            if matches!(event, Event::Step { .. }) {
                token.cancel();
            }
        };
        let summary = run(&setup, &options(&folder.0.join("parts")), &mut stop, &cancel).unwrap();
        assert!(summary.steps_here <= 1);
        sessions += 1;
        if summary.outcome != Outcome::Cancelled {
            break summary;
        }
    };
    assert!(sessions >= whole.steps, "{sessions}");
    assert_eq!(summary.outcome, Outcome::AlreadyDone);
    let (a, b) = (folder.files("whole"), folder.files("parts"));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in &a {
        assert!(*bytes == b[name], "{name} differs");
    }
}

#[test]
fn frames_are_told_when_they_are_on_disk_and_in_order() {
    let folder = Folder::new("told");
    let mut told = Vec::new();
    let mut watch = |event: &Event<'_>| {
        if let Event::Frame { frame, path } = event {
            assert!(path.exists());
            told.push(*frame);
        }
    };
    run(&setup(&[]), &options(&folder.0), &mut watch, &CancelToken::default()).unwrap();
    assert_eq!(told, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn too_much_memory_is_refused_before_a_folder_is_made() {
    let folder = Folder::new("memory");
    let options = RunOptions { memory_limit: Some(1000), ..options(&folder.0) };
    let error = run(&setup(&[]), &options, &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap_err();
    assert!(matches!(error, RunError::Memory { limit: 1000, .. }), "{error}");
    assert!(!folder.0.exists());
}

#[test]
fn a_run_without_checkpoints_begins_again_and_writes_the_same_bytes() {
    let folder = Folder::new("none");
    let setup = setup(&["output.checkpoint_seconds=0"]);
    let go = || run(&setup, &options(&folder.0.join("a")), &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
    go();
    let first = folder.files("a");
    assert!(!first.contains_key("checkpoint.sqc"));
    assert_eq!(go().resumed_from, None);
    assert!(first == folder.files("a"));
}

/// Dye that is fed and fades in a box that is stirred.
const LOOP: &str = r#"
[grid]
cells = [24, 24]
[boundary]
x = "periodic"
y = "periodic"
[substance.dye]
source = "8*exp(-((x - 0.5)^2 + (y - 0.5)^2)/0.02)"
dissipation = 2.0
[[force]]
noise = { strength = 3.0, scale = 0.4, speed = 2.0 }
[time]
frames = 20
loop = 16
[output]
width = 24
fields = ["dye"]
movie = "none"
checkpoint_seconds = 0.001
[picture]
range = [0.0, 1.0]
"#;

#[test]
fn a_loop_is_written_frame_by_frame_and_its_interruption_changes_nothing() {
    let folder = Folder::new("loop");
    let setup = Scene::parse("loop.toml", LOOP, &[]).unwrap().setup().unwrap().0;
    let whole = folder.0.join("whole");
    let mut prepared = 0;
    let mut count = |event: &Event<'_>| prepared += usize::from(matches!(event, Event::Preparing(_)));
    let summary = run(&setup, &options(&whole), &mut count, &CancelToken::default()).unwrap();
    assert_eq!((summary.outcome, summary.frames), (Outcome::Done, 16));
    let seam = summary.seam.expect("a loop has a seam");
    assert!(seam.flow <= 1.0 && seam.contents <= 1.0, "{seam:?}");
    assert!(prepared > 20 + 16 + 8, "frames before the loop are told of: {prepared}");

    // Stopped in the middle of the preparation, and again among the frames.
    let parts = folder.0.join("parts");
    for stop in [30, prepared - 25] {
        let cancel = CancelToken::default();
        let mut steps = 0;
        let mut watch = |event: &Event<'_>| {
            steps += usize::from(matches!(event, Event::Preparing(_) | Event::Step { .. }));
            if steps == stop {
                cancel.cancel();
            }
        };
        assert_eq!(run(&setup, &options(&parts), &mut watch, &cancel).unwrap().outcome, Outcome::Cancelled);
    }
    run(&setup, &options(&parts), &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
    assert!(folder.files("whole") == folder.files("parts"), "the same bytes");

    // The file says the same again.
    let text = std::fs::read_to_string(whole.join("scene.toml")).unwrap();
    assert_eq!(Scene::parse("again.toml", &text, &[]).unwrap().setup().unwrap().0, setup);
}

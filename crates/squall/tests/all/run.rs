//! The run loop as a library.

use std::path::Path;

use crate::folder::{Folder, options};
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

#[test]
fn a_run_cancelled_after_every_single_step_writes_the_same_bytes() {
    let folder = Folder::new("run-every-step");
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
    let folder = Folder::new("run-told");
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
    let folder = Folder::new("run-memory");
    let out = folder.0.join("out");
    let options = RunOptions { memory_limit: Some(1000), ..options(&out) };
    let error = run(&setup(&[]), &options, &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap_err();
    assert!(matches!(error, RunError::Memory { limit: 1000, .. }), "{error}");
    assert!(!out.exists());
}

#[test]
fn a_run_without_checkpoints_begins_again_and_writes_the_same_bytes() {
    let folder = Folder::new("run-none");
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
    let folder = Folder::new("run-loop");
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

/// Runs again and gives what was told besides the usual.
fn again(setup: &Setup, out: &Path) -> (Outcome, Vec<String>) {
    let mut notices = Vec::new();
    let mut watch = |event: &Event<'_>| {
        if let Event::Notice(text) = event {
            notices.push(text.clone());
        }
    };
    let summary = run(setup, &options(out), &mut watch, &CancelToken::default()).unwrap();
    (summary.outcome, notices)
}

/// What happens to a file.
type Change<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn whatever_is_missing_or_damaged_is_made_again_with_the_same_bytes() {
    let folder = Folder::new("run-damage");
    let (setup, out) = (setup(&["output.checkpoint_seconds=0.000001"]), folder.0.join("a"));
    assert_eq!(again(&setup, &out).0, Outcome::Done);
    let whole = folder.files("a");
    assert_eq!(again(&setup, &out), (Outcome::AlreadyDone, vec![]), "nothing is wrong");

    let damage = |name: &str, change: Change<'_>| {
        let mut bytes = whole[name].clone();
        change(&mut bytes);
        std::fs::write(out.join(name), bytes).unwrap();
    };
    let empty = |bytes: &mut Vec<u8>| bytes.clear();
    let flip = |bytes: &mut Vec<u8>| *bytes.last_mut().unwrap() ^= 1;
    let digit = |bytes: &mut Vec<u8>| {
        let place = bytes.iter().rposition(|b| *b == b'1').unwrap();
        bytes[place] = b'2';
    };
    let cases: [(&str, Change<'_>); 7] = [
        ("frame_0000.png", &flip),
        ("vorticity_0003.npy", &empty),
        ("vorticity_0005.npy", &flip),
        ("frame_0005.png", &empty),
        ("steps.csv", &empty),
        ("steps.csv", &digit),
        ("files.csv", &empty),
    ];
    for (name, change) in cases {
        damage(name, change);
        let (outcome, notices) = again(&setup, &out);
        assert_eq!(outcome, Outcome::Done, "{name}");
        let told = notices.iter().any(|n| (name == "files.csv" || n.contains(name)) && n.contains("made again"));
        assert!(told, "{name}: {notices:?}");
        let now = folder.files("a");
        assert!(now.keys().eq(whole.keys()) && now.values().eq(whole.values()), "{name}");
    }
    // The movie alone is made of what is there.
    for remove in [true, false] {
        if remove {
            std::fs::remove_file(out.join("test.gif")).unwrap()
        } else {
            damage("test.gif", &flip)
        }
        assert_eq!(again(&setup, &out), (Outcome::AlreadyDone, vec![]));
        assert!(folder.files("a").values().eq(whole.values()), "the movie");
    }
}

#[test]
fn what_somebody_else_put_into_the_folder_is_not_touched() {
    let folder = Folder::new("run-foreign");
    for name in ["test.gif", "steps.csv", "scene.toml"] {
        let _ = std::fs::remove_dir_all(&folder.0);
        std::fs::create_dir_all(&folder.0).unwrap();
        std::fs::write(folder.0.join(name), "mine").unwrap();
        let error = run(&setup(&[]), &options(&folder.0), &mut |_: &Event<'_>| {}, &CancelToken::default());
        assert!(error.unwrap_err().to_string().contains(name));
        assert_eq!(std::fs::read(folder.0.join(name)).unwrap(), b"mine");
    }
}

/// The mean difference of two pictures, in grey levels.
fn difference(out: &Path, a: u64, b: u64) -> f64 {
    let read = |k: u64| squall_io::read_png(out.join(format!("frame_{k:04}.png"))).unwrap().rgba;
    let (a, b) = (read(a), read(b));
    a.iter().zip(&b).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / a.len() as f64
}

#[test]
fn a_loop_without_a_range_is_seamless_in_its_pictures_and_when_it_is_interrupted() {
    let folder = Folder::new("run-loop-range");
    let text = LOOP.replace("range = [0.0, 1.0]", "show = \"speed\"").replace("fields = [\"dye\"]", "");
    let setup = Scene::parse("loop.toml", &text, &[]).unwrap().setup().unwrap().0;
    assert_eq!(setup.picture.range, None);
    let whole = folder.0.join("whole");
    run(&setup, &options(&whole), &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
    let largest = (1..16).map(|k| difference(&whole, k, k + 1)).fold(0.0, f64::max);
    let seam = difference(&whole, 16, 1);
    // The flow's own seam is not larger than its other steps; a range that grows made it several times as large.
    assert!(seam <= 1.05 * largest, "{seam} {largest}");
    let (cancel, mut steps) = (CancelToken::default(), 0);
    let mut watch = |event: &Event<'_>| {
        steps += usize::from(matches!(event, Event::Preparing(_)));
        if steps == 40 {
            cancel.cancel();
        }
    };
    let parts = options(&folder.0.join("parts"));
    assert_eq!(run(&setup, &parts, &mut watch, &cancel).unwrap().outcome, Outcome::Cancelled);
    run(&setup, &parts, &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
    assert!(folder.files("whole") == folder.files("parts"), "the same bytes");
}

#[test]
fn a_steady_range_is_that_of_all_frames_from_the_first_on() {
    let folder = Folder::new("run-steady");
    // From rest: the fluid gains speed from frame to frame.
    let changes =
        ["fluid.velocity=[0, 0]", "output.movie=\"none\"", "picture.map=\"grey\"", "time.include_start=false"];
    let brightest = |out: &Path, k: u64| {
        let picture = squall_io::read_png(out.join(format!("frame_{k:04}.png"))).unwrap();
        picture.rgba.as_chunks::<4>().0.iter().map(|p| p[0]).max().unwrap()
    };
    let (grows, steady) = (folder.0.join("grows"), folder.0.join("steady"));
    let mut told = 0;
    let mut watch = |event: &Event<'_>| told += usize::from(matches!(event, Event::Preparing(_)));
    run(&setup(&changes), &options(&grows), &mut watch, &CancelToken::default()).unwrap();
    assert_eq!(told, 0);
    let with = [&changes[..], &["picture.steady=true"]].concat();
    let mut watch = |event: &Event<'_>| told += usize::from(matches!(event, Event::Preparing(_)));
    run(&setup(&with), &options(&steady), &mut watch, &CancelToken::default()).unwrap();
    assert!(told > 0, "the search is told of");
    let (a, b) = (brightest(&grows, 1), brightest(&steady, 1));
    assert!(a > 200 && b < 100, "the first frame is slow, and looks so: {a} {b}");
    assert!(brightest(&steady, 5) > 200);
    // What was found is part of the state.
    let (cancel, parts) = (CancelToken::default(), folder.0.join("parts"));
    let mut stop = |event: &Event<'_>| {
        if matches!(event, Event::Step { step: 4, .. }) {
            cancel.cancel();
        }
    };
    run(&setup(&with), &options(&parts), &mut stop, &cancel).unwrap();
    let mut told = 0;
    let mut watch = |event: &Event<'_>| told += usize::from(matches!(event, Event::Preparing(_)));
    run(&setup(&with), &options(&parts), &mut watch, &CancelToken::default()).unwrap();
    assert_eq!(told, 0, "nothing is searched twice");
    assert!(folder.files("steady") == folder.files("parts"));
}

fn assert_same_files(folder: &Folder, a: &str, b: &str, what: &str) {
    let [a, b] = [a, b].map(|out| folder.files(out));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{what}");
    a.iter().for_each(|(name, bytes)| assert!(*bytes == b[name], "{what}: {name} differs"));
}

#[test]
fn other_looks_are_drawn_from_stored_fields_as_if_everything_had_been_simulated_again() {
    const SMOKE: &str = r#"
        model = "smoke"
        grid = { cells = [24, 32], size = [1.5, 2.0] }
        object = [{ name = "ball", shape = { sphere = { center = [0.6, 1.2], radius = 0.2 } } }]
        source = [{ shape = { sphere = { center = [0.7, 0.3], radius = 0.2 } }, set = { density = 1.0, temperature = 100.0 } }]
        time = { frames = 4 }
        output = { width = 48, fields = ["density", "temperature", "velocity"] }
    "#;
    let stable = SCENE.replace("[\"vorticity\"]", "[\"dye\", \"velocity\"]");
    for (name, text, edits) in [
        ("smoke", SMOKE, &["picture.map=fire", "output.passes=[\"flow\"]", "picture.show=temperature"][..]),
        ("smoke-less", SMOKE, &["picture.show=speed", "output.fields=[\"velocity\"]", "output.width=24"]),
        (
            "stable",
            &*stable,
            &["picture.show=vorticity", "picture.relief=1.0", "picture.exposure={ keys = [[0, 1], [1, 2]] }"],
        ),
    ] {
        let folder = Folder::new(&format!("run-looks-{name}"));
        let out = folder.0.join("edited");
        let setup = |edits: &[&str]| {
            let edits: Vec<String> = edits.iter().map(|&edit| edit.to_owned()).collect();
            Scene::parse("test.toml", text, &edits).unwrap().setup().unwrap().0
        };
        let go = |setup: &Setup, out: &Path| {
            let options = RunOptions { origin: Some("here".to_owned()), ..options(out) };
            run(setup, &options, &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap()
        };
        // Stopped before its end, edited, gone on with, and edited once more.
        go(&setup(&["time.frames=3"]), &out);
        let edited = go(&setup(&[&["time.frames=3"], edits].concat()), &out);
        assert_eq!((edited.outcome, edited.steps_here), (Outcome::DrawnAgain, 0), "{name}");
        let last = setup(&[&["time.frames=5"], edits].concat());
        assert_eq!(go(&last, &out).resumed_from, Some(3), "{name}");
        go(&last, &folder.0.join("fresh"));
        assert_same_files(&folder, "fresh", "edited", name);
        // What is not stored is simulated again, and so is what flows otherwise.
        let more = setup(&[edits, &["time.frames=5", "output.fields=[\"pressure\"]"]].concat());
        assert_eq!(go(&more, &out).resumed_from, None, "{name}");
    }
}

#[test]
fn what_is_killed_while_other_looks_are_drawn_is_made_again_whichever_scene_goes_on() {
    let folder = Folder::new("run-looks-killed");
    let fields = "output.fields=[\"velocity\"]";
    let (old, new) = (setup(&[fields]), setup(&[fields, "picture.map=fire"]));
    let go = |setup: &Setup, out: &str, stop_at: u64| {
        let options = RunOptions { origin: Some("here".to_owned()), ..options(&folder.0.join(out)) };
        let cancel = CancelToken::default();
        let token = cancel.clone();
        let mut stop = move |event: &Event<'_>| {
            if matches!(event, Event::Frame { frame, .. } if *frame == stop_at) {
                token.cancel();
            }
        };
        run(setup, &options, &mut stop, &cancel).unwrap().outcome
    };
    for (out, then) in [("old", &old), ("new", &new)] {
        go(&old, out, u64::MAX);
        assert_eq!(go(&new, out, 2), Outcome::Cancelled);
        go(then, out, u64::MAX);
        go(then, "fresh", u64::MAX);
        assert_same_files(&folder, "fresh", out, out);
    }
}

//! Scenes of the model target_smoke: read, run, stopped, let go.

use std::path::Path;

use crate::folder::{Folder, go, options};
use squall::run::{CancelToken, Outcome, run};
use squall::setup::{Dial, FigureKind, Release, Show};
use squall::{Assets, Event, Scene, Setup};

/// One word becomes another.
const WORDS: &str = r#"
model = "target_smoke"
[grid]
cells = [64, 64]
[substance.density]
start = { text = "O" }
[[target]]
time = 1.0
figure = { text = "S" }
[time]
fps = 10
frames = 10
[output]
width = 32
movie = "none"
"#;

/// Everything at once: two smokes, an obstacle, a source, a force, keyframes, targets that move, release.
const FULL: &str = r##"
model = "target_smoke"
[grid]
cells = [32, 24]
size = [4.0, 3.0]
origin = [-2.0, 0.0]
[boundary]
x = "periodic"
[substance.red]
start = { text = "A\nB", center = [-1.0, 1.5], size = [1.0, 2.0], rotation = 10.0 }
color = "#ff0000"
drive = [[0.0, 5.0], [0.1, 9.0]]
match = "area"
[substance.blue]
initial = "x > 1"
color = "#0000ff"
[[target]]
substance = "red"
time = 0.1
figure = { shape = { sphere = { center = [0.0, 1.0], radius = 0.5 } }, motion = { velocity = [2.0, 0.0] } }
strength = 2.0
smoothing = [0.3, 0.2]
blend = 0.05
[[target]]
substance = "blue"
time = 0.15
figure = { formula = "exp(-4*((x + sin(t))^2 + (y - 1)^2))" }
[[target]]
substance = "red"
time = 0.2
figure = { text = "C", margin = 0.2, fit = "stretch" }
[guide]
release = 0.15
release_over = 0.1
limiter = "minmod"
projections = 1
[[object]]
name = "ball"
shape = { sphere = { center = [0.0, 2.2], radius = 0.3 } }
motion = { velocity = [0.0, -0.5] }
[[source]]
shape = { sphere = { center = [1.0, 0.5], radius = 0.3 } }
rate = { blue = 1.0 }
[[force]]
noise = { strength = 0.5 }
[time]
fps = 20
frames = 4
include_start = true
[output]
width = 40
fields = ["red", "velocity"]
"##;

fn read(text: &str, overrides: &[&str], assets: Assets) -> Result<Setup, String> {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    match Scene::parse("target.toml", text, &overrides).and_then(|s| s.with_assets(assets).setup()) {
        Ok((setup, _)) => Ok(setup),
        Err(e) => Err(e.to_text()),
    }
}

fn setup(text: &str, overrides: &[&str]) -> Setup {
    read(text, overrides, Assets::none()).unwrap_or_else(|e| panic!("{e}"))
}

/// A column of `targets.csv`.
fn column(out: &Path, name: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(out.join("targets.csv")).unwrap();
    let mut lines = text.lines();
    let place = lines.next().unwrap().split(',').position(|c| c == name).unwrap_or_else(|| panic!("no column {name}"));
    lines.map(|line| line.split(',').nth(place).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_word_becomes_another_word_and_the_table_says_how_well() {
    let folder = Folder::new("target-words");
    go(&setup(WORDS, &[]), &folder.0);
    let error = column(&folder.0, "density.raw_error");
    // From nearly nothing in common (2 is nothing) to most of the letter.
    assert!(error[0] > 0.5 && error[9] < 0.3, "{error:?}");
    let header = std::fs::read_to_string(folder.0.join("targets.csv")).unwrap();
    assert_eq!(
        header.lines().next().unwrap(),
        "frame,time,energy,density.target,density.raw_error,density.raw_error_of_first,density.smooth_error,\
         density.smooth_error_of_first,density.mass,density.peak_ratio,density.sigma"
    );
    assert_eq!(column(&folder.0, "frame"), (1..=10).map(f64::from).collect::<Vec<_>>());
    let mass = column(&folder.0, "density.mass");
    // Transport in flux form keeps mass to the rounding of single precision.
    assert!((mass[9] / mass[0] - 1.0).abs() < 1e-4, "{mass:?}");
    assert!(column(&folder.0, "density.target").iter().all(|&k| k == 1.0));
}

#[test]
fn target_smoke_stopped_after_every_step_writes_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new("target-steps");
    let setup = setup(FULL, &[]);
    let threads = |n: usize| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    threads(1).install(|| go(&setup, &folder.0.join("whole")));
    let whole = folder.files("whole");
    for name in ["frame_0000.png", "frame_0004.png", "red_0004.npy", "targets.csv", "checkpoint.sqc"] {
        assert!(whole.contains_key(name), "{name} is missing");
    }
    loop {
        let cancel = CancelToken::default();
        let token = cancel.clone();
        let mut stop = move |event: &Event<'_>| {
            if matches!(event, Event::Step { .. }) {
                token.cancel();
            }
        };
        let part = threads(2).install(|| run(&setup, &options(&folder.0.join("parts")), &mut stop, &cancel)).unwrap();
        if part.outcome != Outcome::Cancelled {
            break;
        }
    }
    let parts = folder.files("parts");
    assert_eq!(whole.keys().collect::<Vec<_>>(), parts.keys().collect::<Vec<_>>());
    for (name, bytes) in &whole {
        assert!(*bytes == parts[name], "{name} differs");
    }
    assert_eq!(column(&folder.0.join("whole"), "red.target"), [1.0, 1.0, 1.0, 2.0, 2.0]);
}

#[test]
fn a_resolved_scene_with_targets_reads_back_as_itself() {
    for text in [WORDS, FULL] {
        let once = setup(text, &[]);
        let again = setup(&once.to_toml(), &[]);
        assert!(once == again, "{}", once.to_toml());
        assert_eq!((once.hash(), once.physics_hash()), (again.hash(), again.physics_hash()));
    }
    let (a, b) = (setup(FULL, &[]), setup(FULL, &["substance.red.color=\"#123456\""]));
    assert!(a.hash() != b.hash() && a.physics_hash() == b.physics_hash(), "colours are not physics");
    assert!(a.physics_hash() != setup(FULL, &["target.1.time=0.16"]).physics_hash());
}

#[test]
fn what_is_left_open_is_chosen_and_what_is_typed_is_kept() {
    let words = setup(WORDS, &[]);
    let guide = words.guide.as_ref().unwrap();
    let smoke = &guide.smokes[0];
    // Four times as fast as four seconds: drive grows by 16, damping by 4 (3, 6 and 0.006 are what core suggests for 4 s).
    let reached = smoke.targets[0].time;
    assert_eq!((smoke.drive.at(reached), guide.damping.clone()), (48.0, Dial::constant(24.0)));
    // Gently at first, and what flow has not done is gathered in the end.
    assert!(smoke.drive.at(0.0) < 1.0 && smoke.gathering.at(0.5 * reached) == 0.0 && smoke.gathering.at(reached) > 0.0);
    let [wide, narrow] = smoke.targets[0].smoothing;
    assert!(wide > narrow && narrow > 0.0);
    assert_eq!(words.solver.cfl, 0.8);
    assert_eq!(words.picture.show, Show::Substance(0));
    let full = setup(FULL, &[]);
    let guide = full.guide.as_ref().unwrap();
    assert_eq!(guide.smokes[0].drive, Dial(vec![[0.0, 5.0], [0.1, 9.0]]));
    assert_eq!(guide.smokes[0].targets[0].smoothing, [0.3, 0.2]);
    assert_eq!(full.picture.show, Show::Substances);
}

#[test]
fn dials_go_down_to_nothing_when_smoke_is_let_go() {
    let release = Release { from: 2.0, over: 1.0 };
    assert_eq!(Dial::constant(3.0).released(release), Dial(vec![[0.0, 3.0], [2.0, 3.0], [3.0, 0.0]]));
    let ramp = Dial(vec![[1.0, 0.0], [3.0, 4.0]]);
    assert_eq!((ramp.at(0.0), ramp.at(1.5), ramp.at(9.0)), (0.0, 1.0, 4.0));
    assert_eq!(ramp.released(release), Dial(vec![[1.0, 0.0], [2.0, 2.0], [3.0, 0.0]]));
    let at_once = Dial::constant(3.0).released(Release { from: 4.0, over: 1e-17 });
    assert!(at_once.0.is_sorted_by(|a, b| a[0] < b[0]), "times grow, however short it is: {at_once:?}");
}

#[test]
fn smoke_that_is_let_go_is_free_again() {
    let folder = Folder::new("target-release");
    // A breeze drives it away as soon as nothing holds it.
    let wind = "\n[[force]]\nwind = { velocity = [0.0, 1.0], rate = 20.0 }\nfrom = 0.5\n[[force]]\nvortex = { center = [0.5, 0.5], radius = 0.3, strength = 6.0 }\nfrom = 0.5\n";
    let text = format!("{WORDS}{wind}");
    go(&setup(&text, &[]), &folder.0.join("held"));
    go(&setup(&text, &["guide.release=0.5", "guide.release_over=0.1"]), &folder.0.join("free"));
    let last = |name: &str| column(&folder.0.join(name), "density.raw_error")[9];
    assert!(last("free") > 2.0 * last("held"), "{} {}", last("free"), last("held"));
}

#[test]
fn solids_in_3d_are_formed_and_drawn_by_a_camera() {
    let folder = Folder::new("target-solids");
    let cube = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv 0 0 1\nv 1 0 1\nv 0 1 1\nv 1 1 1\nf 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";
    std::fs::write(folder.0.join("cube.obj"), cube).unwrap();
    let scene = |figure: &str| {
        format!(
            "model = \"target_smoke\"\n[grid]\ncells = [16, 16, 16]\n[substance.density]\nstart = {{ shape = {{ sphere = {{ center = [0.5, 0.5, 0.5], radius = 0.3 }} }} }}\n\
             [[target]]\ntime = 0.4\nfigure = {{ {figure} }}\n[time]\nfps = 10\nframes = 4\n[output]\nwidth = 24\n[render]\nquality = \"preview\"\n"
        )
    };
    for (name, figure) in [
        ("shape", "shape = { box = { min = [0.2, 0.2, 0.2], max = [0.8, 0.6, 0.8] } }"),
        ("mesh", "mesh = \"cube.obj\", margin = 0.25"),
        ("text", "text = \"I\", thickness = 0.4, normal = \"x\", center = [0.6, 0.5, 0.5]"),
    ] {
        let assets = || Assets::folder(&folder.0);
        let setup = read(&scene(figure), &[], assets()).unwrap_or_else(|e| panic!("{e}"));
        assert!(setup.film.is_some() && setup.output.vdb.is_some());
        assert!(setup == read(&setup.to_toml(), &[], assets()).unwrap(), "{}", setup.to_toml());
        let out = folder.0.join(name);
        go(&setup, &out);
        let error = column(&out, "density.raw_error_of_first");
        assert!(error[3] < 0.7, "{name}: {error:?}");
        assert!(out.join("volume_0004.vdb").exists() && out.join("frame_0004.png").exists());
    }
}

#[test]
fn smoke_follows_pictures_from_the_folder_of_the_scene() {
    let folder = Folder::new("target-pictures");
    // A bright square that moves from left to right.
    let picture = |left: usize| {
        let inside = |p: usize| (5..11).contains(&(p / 16)) && (left..left + 5).contains(&(p % 16));
        (0..256).flat_map(|p| [if inside(p) { 255 } else { 0 }; 3]).collect::<Vec<u8>>()
    };
    for (k, left) in [1, 5, 10].into_iter().enumerate() {
        squall_io::write_png(folder.0.join(format!("walk_{k:02}.png")), 16, 16, &picture(left)).unwrap();
    }
    let scene = |figure: &str| WORDS.replace("{ text = \"S\" }", figure);
    let assets = || Assets::folder(&folder.0);
    let film = "{ images = \"walk_##.png\", frames = [0, 2], fps = 4.0, channel = \"brightness\" }";
    let setup = read(&scene(film), &[], assets()).unwrap();
    let again = read(&setup.to_toml(), &[], assets()).unwrap();
    assert!(setup == again && setup.hash() == again.hash(), "{}", setup.to_toml());
    let figure = &setup.guide.as_ref().unwrap().smokes[0].targets[0].figure;
    assert!(figure.moves() && matches!(figure.kind, FigureKind::Film { .. }));
    go(&setup, &folder.0.join("film"));
    let error = column(&folder.0.join("film"), "density.raw_error");
    // It has come to rest half a second ago, and most of the smoke has arrived: 2 is nothing in common.
    assert!(error[9] < 0.7, "{error:?}");

    let still = read(&scene("{ image = \"walk_00.png\" }"), &[], assets()).unwrap();
    std::fs::copy(folder.0.join("walk_01.png"), folder.0.join("walk_00.png")).unwrap();
    let other = read(&scene("{ image = \"walk_00.png\" }"), &[], assets()).unwrap();
    assert!(still.physics_hash() != other.physics_hash(), "the file has changed");

    for (figure, message) in [
        ("{ image = \"missing.png\" }", "cannot be read"),
        ("{ images = \"walk_##.png\", frames = [0, 3] }", "walk_03.png cannot be read"),
        ("{ image = \"../secret.png\" }", "leads out of the folder"),
        ("{ text = \"S\", font = \"walk_01.png\" }", "is not a font"),
    ] {
        let error = read(&scene(figure), &[], assets()).unwrap_err();
        assert!(error.contains(message) && error.contains("target.toml:"), "{error}");
    }
}

#[test]
fn the_estimate_of_memory_counts_figures() {
    let setup = setup(WORDS, &["grid.cells=[256, 256]"]);
    let estimate = squall::build::estimate(&setup);
    // Two figures, and at least a dozen fields.
    assert!(estimate.fields >= 12 && estimate.bytes > 14 * 256 * 256 * 4, "{estimate:?}");
}

/// Files as Blender exports them: a cube of a metre with one corner pulled up to 3 m.
fn blender_files() -> Assets {
    Assets::folder(concat!(env!("CARGO_MANIFEST_DIR"), "/../squall-io/tests/blender_files"))
}

#[test]
fn meshes_with_z_up_stand_upright_and_can_be_turned() {
    let density = |figure: &str| {
        let scene = format!(
            "model = \"target_smoke\"\n[grid]\ncells = [20, 20, 20]\n[substance.density]\nstart = {{ text = \"A\" }}\n\
             [[target]]\ntime = 1.0\nfigure = {{ {figure} }}\n"
        );
        let setup = read(&scene, &[], blender_files()).unwrap();
        let again = read(&setup.to_toml(), &[], blender_files()).unwrap();
        let target = |setup: &Setup| match &setup.guide.as_ref().unwrap().smokes[0].targets[0].figure.kind {
            FigureKind::Mesh { density, .. } => density.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(target(&setup), target(&again), "{figure}");
        target(&setup)
    };
    let upright = density("mesh = \"marked.obj\"");
    let close = |other: &[f32]| upright.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-3);
    assert!(close(&density("mesh = \"marked.ply\", up = \"z\"")));
    assert!(!close(&density("mesh = \"marked.ply\"")), "it lies on its back");
    assert!(close(&density("mesh = \"marked.ply\", rotation = [-90.0, 0.0, 0.0]")), "z to y is a turn about x");
}

#[test]
fn meshes_outside_of_the_box_are_warned_of_with_a_hint_and_animations_move() {
    let scene = |mesh: &str, more: &str| {
        let text = format!(
            "model = \"smoke\"\n[grid]\ncells = [16, 16, 16]\norigin = [0.0, 0.0, 0.0]\n[[source]]\n\
             shape = {{ sphere = {{ center = [0.5, 0.5, 0.5], radius = 0.2 }} }}\nset = {{ density = 1.0 }}\n\
             [[object]]\nname = \"it\"\nshape = {{ mesh = {mesh} }}\n{more}\n[time]\nfps = 24\n"
        );
        let read = Scene::parse("blender.toml", &text, &[]).and_then(|s| s.with_assets(blender_files()).setup());
        let (setup, warnings) = read.unwrap_or_else(|e| panic!("{}", e.to_text()));
        (setup, warnings.iter().map(|w| format!("{w}: {}", w.advice().unwrap())).collect::<Vec<_>>())
    };
    // The box of the scene lies where z is positive, and Blender's y is our -z.
    let (_, warnings) = scene("{ file = \"marked.ply\", up = \"z\" }", "");
    assert!(warnings.len() == 1 && warnings[0].contains("outside the box"), "{warnings:?}");
    assert!(warnings[0].contains("along z it reaches from -1.0000 to 0.0000 m"), "{warnings:?}");
    let (_, warnings) = scene("\"marked.ply\"", "position = [0.0, -2.0, 0.0]");
    assert!(warnings[0].contains("up = \"z\""), "{warnings:?}");
    let (_, warnings) = scene("\"marked.ply\"", "scale = 100.0");
    assert!(warnings[0].contains("times as large as the box"), "{warnings:?}");
    let (setup, warnings) = scene("{ file = \"marked.ply\", up = \"z\" }", "position = [0.0, 0.0, 1.0]");
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(setup.objects[0].shape.meshes()[0].meshes.len(), 1);
    let (setup, _) = scene("\"moving.glb\"", "position = [0.0, 0.0, 1.0]");
    let frames = setup.objects[0].shape.meshes()[0].meshes.len();
    assert!((25..=26).contains(&frames), "a second of 24 frames: {frames}");
    assert!(setup.to_toml().contains("fps = 24.0"), "{}", setup.to_toml());
}

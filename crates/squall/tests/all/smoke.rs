//! Scenes of the model smoke: read, run, stopped, drawn again.

use std::collections::BTreeMap;
use std::path::Path;

use crate::folder::{Folder, go, options};
use squall::run::{CancelToken, Outcome, render, run};
use squall::setup::{Axis, Shape};
use squall::{Assets, Event, RunError, Scene, Setup};
use squall_io::vdb::{VdbFile, VdbLoaded};
use squall_io::{VdbValues, read_exr, read_vdb};

/// A small plume without bounds around a moving ball, with everything that is written.
const PLUME: &str = r#"
model = "smoke"
[grid]
cells = [16, 24, 16]
[[source]]
shape = { sphere = { center = [0.5, 0.3, 0.5], radius = 0.15 } }
set = { density = 1.0, temperature = 200.0 }
noise = 0.5
[[object]]
name = "ball"
shape = { sphere = { center = [0.3, 0.8, 0.5], radius = 0.1 } }
motion = { velocity = [0.5, 0.0, 0.0] }
[[source]]
follow = "ball"
rate = { density = 2.0 }
to = 0.05
every = 0.1
[time]
frames = 4
[output]
width = 32
exr = true
vdb = { fields = ["density", "temperature", "velocity"] }
[render]
quality = "preview"
glow = {}
"#;

fn setup(text: &str, overrides: &[&str]) -> Setup {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    match Scene::parse("smoke.toml", text, &overrides).and_then(|s| s.setup()) {
        Ok((setup, _)) => setup,
        Err(e) => panic!("{}", e.to_text()),
    }
}

fn assert_same(a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>, what: &str) {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{what}");
    for (name, bytes) in a {
        if name.ends_with(".csv") {
            assert_eq!(String::from_utf8_lossy(bytes), String::from_utf8_lossy(&b[name]), "{what}");
        }
        assert!(*bytes == b[name], "{what}: {name} differs");
    }
}

#[test]
fn smoke_stopped_after_every_step_writes_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new("smoke-steps");
    let setup = setup(PLUME, &[]);
    let threads = |n: usize| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    threads(1).install(|| go(&setup, &folder.0.join("whole")));
    let whole = folder.files("whole");
    for name in ["frame_0004.png", "frame_0004.exr", "volume_0004.vdb", "scene.toml", "checkpoint.sqc"] {
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
    assert_same(&whole, &folder.files("parts"), "stopped after every step");
}

#[test]
fn a_picture_that_is_stopped_on_its_way_is_drawn_when_the_run_goes_on() {
    let folder = Folder::new("smoke-pictures");
    let setup = setup(PLUME, &["output.passes=[\"motion\"]"]);
    go(&setup, &folder.0.join("whole"));
    // The token is looked at before every step, every row of a picture and every sample: this stops at all of them in turn.
    let mut stopped = 0;
    for looks in (1..).step_by(7) {
        let cancel = CancelToken::after(looks);
        let none = &mut |_: &Event<'_>| {};
        match run(&setup, &options(&folder.0.join("parts")), none, &cancel).unwrap().outcome {
            Outcome::Cancelled => stopped += 1,
            _ => break,
        }
    }
    assert!(stopped > 10, "stopped only {stopped} times");
    assert_same(&folder.files("whole"), &folder.files("parts"), "stopped within pictures");
}

#[test]
fn pictures_are_taken_again_from_volumes_with_another_camera() {
    let folder = Folder::new("smoke-render");
    let run_folder = folder.0.join("run");
    go(&setup(PLUME, &[]), &run_folder);
    let draw = |overrides: &[&str], out: &str| {
        let setup = setup(PLUME, overrides);
        let options = options(&folder.0.join(out));
        render(&setup, &run_folder, &Assets::none(), &options, &mut |_: &Event<'_>| {}, &CancelToken::default())
    };
    let same = draw(&[], "same").unwrap();
    assert_eq!((same.outcome, same.frames), (Outcome::Done, 4));
    assert_eq!(draw(&[], "same").unwrap().outcome, Outcome::AlreadyDone);
    draw(&["camera.yaw=120", "object.0.color=\"#ff0000\""], "turned").unwrap();
    let (before, same, turned) = (folder.files("run"), folder.files("same"), folder.files("turned"));
    let picture = |files: &BTreeMap<String, Vec<u8>>| files["frame_0004.png"].clone();
    assert!(picture(&same) != picture(&turned), "the camera has moved");
    // Volumes have 16 bits: pictures from them differ from the first ones by rounding, in few pixels.
    assert!(!before.is_empty() && picture(&before).len().abs_diff(picture(&same).len()) < picture(&same).len() / 4);
    let error = draw(&["smoke.rise=0.01"], "other").unwrap_err();
    assert!(matches!(error, RunError::OtherPhysics { .. }), "{error}");
    assert!(error.advice().unwrap().contains("[camera]"));
}

#[test]
fn a_run_without_volumes_cannot_be_drawn_again() {
    let folder = Folder::new("smoke-none");
    let setup = setup(PLUME, &["output.vdb=false", "time.frames=1"]);
    go(&setup, &folder.0.join("run"));
    let options = options(&folder.0.join("again"));
    let none = |_: &Event<'_>| {};
    let error =
        render(&setup, &folder.0.join("run"), &Assets::none(), &options, &mut { none }, &CancelToken::default());
    assert!(matches!(error, Err(RunError::NoVolumes { .. })));
}

#[test]
fn a_resolved_scene_of_smoke_reads_back_as_itself() {
    let full = r##"
model = "smoke"
light = []
[grid]
cells = [16, 24, 16]
origin = [-0.5, 0.0, -0.5]
[smoke]
fall = 0.3
fade_law = "even"
radiation = 100.0
wind = [0.1, 0.0, 0.2]
[substance.fuel]
initial = "x > 0"
threshold = 0.01
[[object]]
name = "cup"
shape = { difference = { from = { cylinder = { from = [0, 0, 0], to = [0, 0.5, 0], radius = 0.2 } }, cut = { shell = { shape = { box = { min = [-1, 0.1, -1], max = [1, 1, 1], rounding = 0.02 } }, thickness = 0.1 } } } }
position = [0.1, 0.0, 0.0]
rotation = [0.0, 45.0, 0.0]
scale = 0.5
friction = 1.0
[[object]]
name = "arm"
shape = { union = [{ capsule = { from = [0, 0, 0], to = [0, 1, 0], radius = 0.1 } }, { grown = { shape = { sphere = { center = [0, 1, 0], radius = 0.1 } }, by = 0.05 } }] }
motion = { keys = [{ time = 0.0 }, { time = 1.0, position = [1, 0, 0], rotation = [0, 0, 90] }], interpolation = "linear", loop = true, spin = [0, 10, 0] }
visible = false
[[source]]
follow = "arm"
rate = { fuel = 1.0 }
to = 0.1
every = 0.5
[[source]]
shape = { intersection = [{ plane = { point = [0, 0.1, 0], normal = [0, 1, 0] } }, { inverse = { sphere = { center = [0, 0, 0], radius = 0.05 } } }] }
sink = 3.0
expansion = 0.5
[camera]
orbit = [{ time = 0.0, yaw = 0.0 }, { time = 2.0, yaw = 90.0, distance = 3.0 }]
orthographic = true
[render]
glow = { colors = ["#000000", "#ff0000"], range = [0.0, 2.0], substance = "fuel" }
ground = { only_shadow = true, fade = [1.0, 2.0] }
transparent = true
[output]
height = 100
bits = 16
vdb = { fields = ["fuel"], half = false }
"##;
    for text in [PLUME, full] {
        let once = setup(text, &[]);
        let again = setup(&once.to_toml(), &[]);
        assert!(once == again, "{}", once.to_toml());
        assert_eq!((once.hash(), once.physics_hash()), (again.hash(), again.physics_hash()));
    }
    let (a, b) = (setup(full, &[]), setup(full, &["object.0.color=\"#123456\"", "camera.fov=20"]));
    assert!(a.hash() != b.hash() && a.physics_hash() == b.physics_hash(), "looks are not physics");
    assert!(a.physics_hash() != setup(full, &["object.0.friction=0.5"]).physics_hash());
}

#[test]
fn smoke_has_no_bounds_unless_it_is_given_some_and_knows_its_substances() {
    let open = setup("model = \"smoke\"\n[grid]\ncells = [8, 8]\n[substance.soot]\ninitial = 1.0\n", &[]);
    assert_eq!(open.grid.axes, [Axis::Unbounded, Axis::Unbounded]);
    let names: Vec<&str> = open.substances.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["density", "temperature", "soot"]);
    assert!(open.film.is_none() && open.output.vdb.is_none(), "2D has neither camera nor volumes");
    let walls =
        setup("model = \"smoke\"\n[grid]\ncells = [8, 8, 8]\n[boundary]\n[substance.density]\ninitial = 1.0\n", &[]);
    assert!(!walls.grid.is_unbounded() && walls.film.is_some() && walls.output.vdb.is_some());
}

#[test]
fn meshes_come_from_the_folder_of_the_scene() {
    let folder = Folder::new("smoke-mesh");
    std::fs::create_dir_all(&folder.0).unwrap();
    let tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    for name in ["solid.obj", "walk_0001.obj", "walk_0002.obj"] {
        std::fs::write(folder.0.join(name), tetrahedron).unwrap();
    }
    let scene = |mesh: &str| {
        let text = format!(
            "model = \"smoke\"\n[grid]\ncells = [8, 8, 8]\n[substance.density]\ninitial = 1.0\n[[object]]\nname = \"a\"\nshape = {{ mesh = {mesh} }}\n"
        );
        Scene::parse("mesh.toml", &text, &[]).unwrap().with_assets(Assets::folder(&folder.0)).setup()
    };
    let (setup, _) = scene("\"solid.obj\"").unwrap();
    assert!(matches!(&setup.objects[0].shape, Shape::Mesh(m) if m.meshes[0].triangles.len() == 4));
    squall::build::build(&setup).unwrap();
    let (walk, _) = scene("{ file = \"walk_{frame}.obj\", frames = [1, 2], fps = 10.0 }").unwrap();
    assert!(matches!(&walk.objects[0].shape, Shape::Mesh(m) if m.meshes.len() == 2));
    std::fs::write(folder.0.join("solid.obj"), tetrahedron.replace("v 1 0 0", "v 2 0 0")).unwrap();
    assert!(scene("\"solid.obj\"").unwrap().0.physics_hash() != setup.physics_hash(), "the file has changed");
    for (mesh, message) in [
        ("\"../secret.obj\"", "leads out of the folder"),
        ("\"missing.obj\"", "cannot be read"),
        ("{ file = \"walk_{frame}.obj\" }", "how long is it"),
        ("{ file = \"solid.obj\", frames = [1, 2] }", "needs a file for each frame"),
    ] {
        let error = scene(mesh).unwrap_err().to_text();
        assert!(error.contains(message), "{error}");
    }
}

fn volumes(out: &Path) -> VdbFile {
    read_vdb(out.join("volume_0004.vdb")).unwrap()
}

fn grid<'a>(file: &'a VdbFile, name: &str) -> &'a VdbLoaded {
    file.grids.iter().find(|grid| grid.name == name).unwrap()
}

fn cells(values: &VdbValues<squall_core::Volume>) -> Vec<[i32; 3]> {
    let all: Vec<&squall_core::Volume> = match values {
        VdbValues::Scalar(volume) => vec![volume],
        VdbValues::Vector(volumes) => volumes.iter().collect(),
    };
    let mut cells = Vec::new();
    for volume in all {
        for (b, block) in volume.blocks.iter().enumerate() {
            let some = volume.block(b).iter().enumerate().filter(|(_, v)| **v != 0.0);
            cells.extend(some.map(|(i, _)| {
                let within = [i % 8, i / 8 % 8, i / 64];
                std::array::from_fn(|a| 8 * block[a] + within[a] as i32)
            }));
        }
    }
    cells.sort_unstable();
    cells.dedup();
    cells
}

#[test]
fn volumes_hold_what_is_there_and_velocity_only_around_the_smoke() {
    let folder = Folder::new("smoke-masked");
    let run_to = |changes: &[&str], out: &str| {
        go(&setup(PLUME, changes), &folder.0.join(out));
        volumes(&folder.0.join(out))
    };
    let small = ["output.exr=false", "output.movie=\"none\"", "output.width=8"];
    let file = run_to(&small, "masked");
    let everywhere = run_to(&[&small[..], &["output.vdb.mask=false"]].concat(), "everywhere");
    let (density, velocity) = (cells(&grid(&file, "density").values), cells(&grid(&file, "velocity").values));
    let VdbValues::Scalar(volume) = &grid(&file, "density").values else { unreachable!() };
    // A thousandth of the 1.0 that is emitted, rounded to 16 bits.
    assert!(density.iter().all(|&cell| volume.get(cell) >= 9.99e-4));
    let near = |cell: &[i32; 3]| density.iter().any(|smoke| (0..3).all(|a| (smoke[a] - cell[a]).abs() <= 2));
    assert!(velocity.iter().all(near), "within two cells of smoke");
    assert!(density.iter().all(|cell| velocity.binary_search(cell).is_ok()), "and in all of it");
    let all = cells(&grid(&everywhere, "velocity").values);
    assert!(all.len() > 2 * velocity.len(), "{} {}", all.len(), velocity.len());
    let VdbValues::Scalar(heat) = &grid(&file, "temperature").values else { unreachable!() };
    let coldest = cells(&grid(&file, "temperature").values).iter().map(|&c| heat.get(c).abs()).fold(f32::MAX, f32::min);
    assert!(coldest >= 9.99e-4 * 200.0, "no zeros and no dust: {coldest}");
}

#[test]
fn volumes_with_z_up_are_the_same_volumes_and_are_drawn_as_such() {
    let folder = Folder::new("smoke-up");
    let changes = ["output.exr=false", "output.movie=\"none\"", "output.passes=[\"motion\"]"];
    go(&setup(PLUME, &changes), &folder.0.join("y"));
    let turned = [&changes[..], &["output.vdb.up=\"z\""]].concat();
    go(&setup(PLUME, &turned), &folder.0.join("z"));
    let (y, z) = (volumes(&folder.0.join("y")), volumes(&folder.0.join("z")));
    for (y, z) in y.grids.into_iter().zip(z.grids) {
        assert!(y.values != z.values && y.values == z.values.y_up(), "{}", y.name);
    }
    for (out, axis) in [("y", "Y"), ("z", "Z")] {
        let usda = std::fs::read_to_string(folder.0.join(out).join("volume.usda")).unwrap();
        for line in
            [&*format!("upAxis = \"{axis}\""), "endTimeCode = 4", "timeCodesPerSecond = 30", "4: @./volume_0004.vdb@,"]
        {
            assert!(usda.contains(line), "{line} in {usda}");
        }
        let setup = setup(PLUME, if out == "y" { &changes } else { &turned });
        let (run, options) = (folder.0.join(out), options(&folder.0.join(out).join("again")));
        render(&setup, &run, &Assets::none(), &options, &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
    }
    let picture = |out: &str| std::fs::read(folder.0.join(out).join("again/frame_0004.exr")).unwrap();
    assert!(picture("y") == picture("z"), "the same pictures and the same motion");
}

#[test]
fn a_picture_and_its_passes_are_layers_of_one_file_and_any_lost_file_comes_back() {
    let folder = Folder::new("smoke-layers");
    let passes = ["output.passes=[\"motion\", \"normal\", \"depth\", \"six_way\", \"temperature\"]"];
    let (setup, out) = (setup(PLUME, &passes), folder.0.join("a"));
    go(&setup, &out);
    let whole = folder.files("a");
    let layer = |name: &str| read_exr(out.join("frame_0004.exr"), name).unwrap().unwrap().pixels;
    for name in ["Motion", "Normal", "SixWayPositive", "SixWayNegative", "Temperature", "Opacity"] {
        assert!(layer(name).iter().flatten().any(|v| *v != 0.0), "{name}");
    }
    let (depth, opacity) = (layer("Depth"), layer("Opacity"));
    assert!(depth.iter().all(|d| d[0].is_finite() && d[0] > 0.0), "what is endless is far");
    assert!(opacity.iter().zip(&depth).any(|(o, d)| o[0] == 0.0 && d[0] == 1e10));
    for name in ["volume_0002.vdb", "frame_0003.exr", "normal_0004.png", "volume.usda"] {
        std::fs::remove_file(out.join(name)).unwrap();
        run(&setup, &options(&out), &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
        assert_same(&whole, &folder.files("a"), name);
    }
}

#[test]
fn all_files_of_a_scene_together_must_fit_into_its_memory() {
    let folder = Folder::new("smoke-mesh-budget");
    // A tetrahedron, and a comment of two megabytes.
    let mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n".to_owned()
        + "# "
        + &"x".repeat(2 << 20);
    std::fs::write(folder.0.join("a.obj"), mesh).unwrap();
    let setup = |limit: u64| {
        let text = "model = \"smoke\"\ngrid = { cells = [8, 8, 8] }\nobject = [{ name = \"a\", shape = { mesh = \"a.obj\" } }]";
        let assets = Assets::folder(&folder.0).within(Some(limit));
        Scene::parse("mesh.toml", text, &[]).unwrap().with_assets(assets).setup()
    };
    assert!(setup(4 << 20).is_ok());
    let error = setup(1 << 20).unwrap_err();
    assert!(matches!(error, squall::SceneError::Budget(_)));
    assert!(error.to_text().contains("1 MB may be used"), "{}", error.to_text());
}

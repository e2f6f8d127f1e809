//! `squall render`: other pictures of the same run.

use crate::common::Folder;

const SMOKE: &str = r#"
model = "smoke"
[grid]
cells = [16, 24, 16]
[[source]]
shape = { sphere = { center = [0.5, 0.3, 0.5], radius = 0.15 } }
set = { density = 1.0, temperature = 200.0 }
[time]
frames = 2
[output]
width = 24
[render]
quality = "preview"
"#;

#[test]
fn pictures_of_a_2d_run_are_drawn_again_from_its_fields_in_other_colours() {
    let folder = Folder::with_tiny("recolour");
    folder.ok(&["run", "tiny.toml", "-q"]);
    let film = folder.files("out/tiny");
    let draw = |out: &str, more: &[&str]| {
        folder.ok(&[&["render", "out/tiny", "-q", "--out", out], more].concat());
        folder.files(out)
    };
    // The same pictures from the same numbers; also in parts, and where the range grows with what is seen.
    let same = draw("same", &[]);
    assert!((1..=6).map(|k| format!("frame_{k:04}.png")).all(|name| same[&name] == film[&name]));
    let fire = draw("fire", &["--set", "picture.map=fire"]);
    assert!(fire["frame_0006.png"] != film["frame_0006.png"]);
    let spinning = draw("spin", &["--set", "picture.show=vorticity"]);
    let part = draw("part", &["--set", "picture.show=vorticity", "--only", "4-6"]);
    assert!(part["frame_0006.png"] == spinning["frame_0006.png"] && !part.contains_key("frame_0003.png"));
    let told = |only: &str| folder.ok(&["render", "out/tiny", "--out", "told", "--overwrite", "--only", only]).stdout;
    assert!(told("4-6").starts_with("3 pictures in "), "{}", told("4-6"));
    assert!(told("2").starts_with("1 picture in "), "{}", told("2"));
    let ended = folder.squall(&["render", "out/tiny", "--set", "picture.show=pressure", "--out", "none"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("output.fields"), "{}", ended.stderr);
}

#[test]
fn the_folder_of_a_run_knows_where_its_meshes_are() {
    let folder = Folder::new("meshes");
    let changes = ["output.width=32", "output.height=32", "output.exr=true", "render.transparent=true"];
    let changes = changes.iter().chain(&["output.passes=[\"motion\"]"]).flat_map(|change| ["--set", change]);
    let small = ["--scale", "0.25", "-q", "--no-movie"].into_iter().chain(changes).collect::<Vec<_>>();
    folder.ok(&[&["run", "spinning_knot", "--frames", "1"], &small[..]].concat());
    folder.ok(&["render", "out/spinning_knot", "--set", "output.passes=[]", "-q", "--no-movie"]);
    folder.ok(&["flipbook", "out/spinning_knot", "--count", "1", "-q"]);
    folder.ok(&["run", "out/spinning_knot", "--frames", "1", "-q", "--no-movie", "--out", "again"]);
    // A scene of one's own, in another folder than the run.
    std::fs::create_dir(folder.path().join("scene")).unwrap();
    let mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
    folder.write("scene/m.obj", mesh);
    let text = "model = \"smoke\"\n[grid]\ncells = [16, 16, 16]\n[[source]]\nshape = { mesh = \"m.obj\" }\n\
                set = { density = 1.0 }\n[time]\nframes = 1\n[output]\nwidth = 16\nmovie = \"none\"\n";
    folder.write("scene/s.toml", text);
    folder.ok(&["run", "scene/s.toml", "-q"]);
    folder.ok(&["render", "out/s", "-q"]);
}

#[test]
fn a_finished_run_is_drawn_again_from_its_folder_and_from_its_scene() {
    let folder = Folder::new("render");
    folder.write("smoke.toml", SMOKE);
    folder.ok(&["run", "smoke.toml"]);
    let told = folder.ok(&["render", "out/smoke", "--set", "camera.yaw=100"]);
    assert!(told.stdout.contains("2 pictures"), "{}", told.stdout);
    let files = folder.files("out/smoke/render");
    assert!(files.contains_key("frame_0002.png") && files.contains_key("smoke.gif"), "{:?}", files.keys());

    let other = folder.squall(&["render", "smoke.toml", "--set", "camera.yaw=10"]);
    assert_eq!(other.code, Some(2), "pictures taken in another way are not replaced unasked: {}", other.stderr);
    folder.ok(&["render", "smoke.toml", "--set", "camera.yaw=10", "--overwrite"]);
    let changed = folder.squall(&["render", "smoke.toml", "--set", "smoke.rise=0.1", "--out", "elsewhere"]);
    assert_eq!(changed.code, Some(2));
    assert!(changed.stderr.contains("another simulation"), "{}", changed.stderr);
}

#[test]
fn a_scene_that_was_never_run_cannot_be_drawn_again() {
    let folder = Folder::new("render-nothing");
    folder.write("smoke.toml", SMOKE);
    let ended = folder.squall(&["render", "smoke.toml"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("no volumes") && ended.stderr.contains("output.vdb"), "{}", ended.stderr);
}

#[test]
fn meshes_are_looked_for_next_to_the_scene_or_in_the_asset_root() {
    let folder = Folder::new("assets");
    let scene = format!("{SMOKE}\n[[object]]\nname = \"a\"\nshape = {{ mesh = \"a.obj\" }}\n");
    folder.write("smoke.toml", &scene);
    let missing = folder.squall(&["check", "smoke.toml"]);
    assert_eq!(missing.code, Some(3));
    assert!(missing.stderr.contains("a.obj") && missing.stderr.contains("--asset-root"), "{}", missing.stderr);
    std::fs::create_dir(folder.path().join("meshes")).unwrap();
    folder.write("meshes/a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    folder.ok(&["check", "smoke.toml", "--asset-root", "meshes"]);
}

//! Passes as files: what tiles, what a scene cannot have, what resuming keeps.

use std::path::{Path, PathBuf};

use squall::run::{CancelToken, RunOptions};
use squall::{Event, Scene, run};
use squall_io::{read_exr, read_png16};

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("squall-passes-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// A box without sides whose whole pattern starts `shift` cells to the left.
fn periodic(shift: u32) -> String {
    let x = format!("(x + {})", f64::from(shift) / 32.0);
    format!(
        r#"
[grid]
cells = [32, 16]
[boundary]
x = "periodic"
y = "periodic"
[fluid]
velocity = ["0.3*sin(tau*2*y)", "0.2*sin(tau*{x})"]
[substance.ink]
initial = "0.5 + 0.3*sin(tau*{x})*cos(tau*2*y)"
[time]
fps = 10
frames = 2
[output]
width = 96
movie = "none"
passes = ["motion", "normal", "height", "flow"]
[picture]
range = [0.0, 1.0]
"#
    )
}

fn write(text: &str, name: &str) -> PathBuf {
    let (setup, _) = Scene::parse("test.toml", text, &[]).unwrap().setup().unwrap();
    let out = folder(name);
    run(&setup, &RunOptions::new("test", &out), &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
    out
}

/// A pass of the second frame.
fn layer(folder: &Path, name: &str) -> Vec<[f32; 4]> {
    read_exr(folder.join("frame_0002.exr"), name).unwrap().unwrap().pixels
}

#[test]
fn maps_of_a_periodic_box_go_on_from_edge_to_edge() {
    // The same flow, moved by a quarter of the box: what was inside lies at the edge, and the maps must not notice.
    let (here, there) = (write(&periodic(0), "tile-a"), write(&periodic(8), "tile-b"));
    let (width, height) = (96usize, 48usize);
    for name in ["Motion", "Normal", "Height", "Flow", "Opacity"] {
        let read = |folder: &PathBuf| layer(folder, name);
        let (a, b) = (read(&here), read(&there));
        let most = a.iter().flatten().fold(0.0f32, |most, v| most.max(v.abs()));
        for i in 0..width * height {
            let moved = a[i / width * width + (i + width / 4) % width];
            let near = (0..4).all(|c| (moved[c] - b[i][c]).abs() <= 2e-3 * most);
            // Numbers of 16 bits have three digits; the solver's transforms round differently.
            assert!(near, "{name} {i}: {moved:?} {:?}", b[i]);
        }
    }
    for folder in [here, there] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_flow_map_decodes_to_the_velocity_with_the_scale_of_its_sidecar() {
    let out = write(&periodic(0), "flow");
    let sidecar: serde_json::Value = serde_json::from_slice(&std::fs::read(out.join("passes.json")).unwrap()).unwrap();
    let scales = sidecar.pointer("/passes/flow/png/scales").unwrap().as_array().unwrap();
    let scale = scales.last().unwrap()["scale"].as_f64().unwrap() as f32;
    let exact = layer(&out, "Flow");
    let (_, _, map) = read_png16(out.join("flow_0002.png")).unwrap();
    for (exact, coded) in exact.iter().zip(map.as_chunks::<4>().0) {
        for c in 0..2 {
            let v = (f32::from(coded[c]) / 65535.0 - 0.5) * 2.0 * scale;
            // The full numbers have 11 bits.
            assert!((v - exact[c]).abs() < 1e-3 * scale, "{v} {}", exact[c]);
        }
    }
    let heights = layer(&out, "Height");
    let (_, _, map) = read_png16(out.join("height_0002.png")).unwrap();
    assert!(heights.iter().zip(map.as_chunks::<4>().0).all(|(h, m)| (h[0] - f32::from(m[0]) / 65535.0).abs() < 1e-3));
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn what_a_scene_says_of_passes_and_flipbooks_survives_being_written_and_only_passes_make_another_run() {
    let flipbook =
        "[flipbook]\nsize = [30, 20]\ncount = 5\nmaps = [\"normal\"]\nloop = true\nmips = 0\ngreen = \"down\"\n";
    let read = |text: &str| Scene::parse("test.toml", text, &[]).unwrap().setup().unwrap().0;
    let plain = read(&periodic(0));
    let setup = read(&format!(
        "{}{flipbook}",
        periodic(0).replace("[picture]", "green = \"down\"\n[picture]\ntransparent = true")
    ));
    assert_eq!(read(&setup.to_toml()), setup);
    assert_eq!(read(&format!("{}{flipbook}", periodic(0))).hash(), plain.hash());
    assert_ne!(read(&periodic(0).replace(", \"flow\"", "")).hash(), plain.hash());
}

#[test]
fn passes_that_a_scene_cannot_have_are_refused_with_a_reason() {
    let refused = |text: &str, pass: &str| {
        let change = format!("output.passes=[\"{pass}\"]");
        let error = Scene::parse("test.toml", text, &[change]).and_then(|scene| scene.setup()).unwrap_err();
        format!("{error:?}")
    };
    let flat = periodic(0);
    let deep = "[grid]\ncells = [8, 8, 8]\n[substance.ink]\ninitial = 1.0\n";
    assert!(refused(&flat, "six_way").contains("2D"));
    assert!(refused(&flat, "depth").contains("2D"));
    assert!(refused(&flat, "temperature").contains("heat"));
    let flattened = deep.replace("[substance", "size = [1.0, 1.0, 2.0]\n[substance");
    assert!(refused(&flattened, "motion").contains("cubes"));
    assert!(refused(deep, "flow").contains("2D"));
    assert!(refused(&flat, "motoin").contains("motion"));
}

//! `squall info`.

use squall_core::Volume;
use squall_io::vdb::{MetaValue, Metadata};
use squall_io::{VdbClass, VdbGrid, VdbOptions, VdbPrecision, VdbValues, write_vdb};

use super::common::Folder;

/// A unit box of smoke, 16 cells wide, and a wind in it.
fn write_smoke(folder: &Folder) {
    let values: Vec<f32> = (0..4096).map(|i| 0.5 + i as f32 / 4096.0).collect();
    let density = Volume::from_dense([0.0; 3], 1.0 / 16.0, 0.0, [16; 3], &values);
    let wind = Volume::from_dense([0.0; 3], 1.0 / 16.0, 0.0, [16; 3], &[-2.5; 4096]);
    let still = Volume { blocks: vec![], values: vec![], ..wind.clone() };
    let grids = [
        VdbGrid {
            name: "density",
            values: VdbValues::Scalar(&density),
            class: VdbClass::FogVolume,
            precision: VdbPrecision::Half,
        },
        VdbGrid {
            name: "velocity",
            values: VdbValues::Vector([&wind, &still, &still]),
            class: VdbClass::Staggered,
            precision: VdbPrecision::Full,
        },
    ];
    let metadata = Metadata::from([("creator".into(), "Squall".into()), ("frame".into(), MetaValue::Int(7))]);
    let options = VdbOptions { metadata, ..VdbOptions::default() };
    write_vdb(folder.path().join("smoke.vdb"), &grids, &options).unwrap();
}

#[test]
fn info_tells_what_is_in_a_volume() {
    let folder = Folder::new("info");
    write_smoke(&folder);
    let text = folder.ok(&["info", "smoke.vdb"]).stdout;
    for part in [
        "smoke.vdb: OpenVDB 224, 2 grids",
        "creator = Squall",
        "frame = 7",
        "density: float, fog volume, half floats, compression zip + active values",
        "voxel size 0.0625 m",
        "cells [0, 0, 0] to [15, 15, 15], [0.0, 0.0, 0.0] to [1.0, 1.0, 1.0] m",
        "4096 active voxels",
        "values 0.5 to 1.5, background 0",
        "velocity: vec3s, staggered, full floats",
        "x -2.5 to -2.5, background 0",
        "y 0 to 0",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn info_as_json_is_one_object_per_file() {
    let folder = Folder::with_tiny("info-json");
    write_smoke(&folder);
    folder.ok(&["run", "tiny.toml", "-q"]);
    let ended = folder.ok(&["info", "--json", "smoke.vdb", "out/tiny/checkpoint.sqc"]);
    let lines: Vec<serde_json::Value> = ended.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let density = &lines[0]["grids"][0];
    assert_eq!((&density["name"], &density["active_voxels"]), (&"density".into(), &4096.into()));
    assert_eq!(density["metres"], serde_json::json!([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]));
    assert_eq!(lines[0]["metadata"]["frame"], 7);
    assert_eq!((&lines[1]["type"], &lines[1]["frame"]), (&"checkpoint".into(), &6.into()));
    let density =
        lines[1]["entries"].as_array().unwrap().iter().find(|e| e["name"].as_str().unwrap().contains("density"));
    assert!(density.unwrap()["values"].as_u64().unwrap() >= 24 * 32, "{density:?}");
    let text = folder.ok(&["info", "out/tiny/checkpoint.sqc"]).stdout;
    assert!(text.contains("checkpoint after frame 6") && text.contains("density"), "{text}");
}

#[test]
fn info_knows_runs_pictures_meshes_and_particles() {
    let folder = Folder::with_tiny("info-others");
    folder.ok(&["run", "tiny.toml", "-q"]);
    folder.write("tetrahedron.obj", "v 0 0 0\nv 2 0 0\nv 0 1 0\nv 0 0 0.5\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    let particles = squall_core::Particles {
        ids: vec![7, 8],
        positions: vec![vec![0.0, 1.0], vec![0.5, 2.0], vec![0.0, -1.0]],
        velocities: vec![],
        attributes: vec![("heat".to_owned(), vec![1.0, 2.0])],
    };
    squall_io::write_particles_ply(folder.path().join("drops.ply"), &particles, &[]).unwrap();
    for (name, parts) in [
        ("out/tiny", &["run of `tiny`", "6 frames", "of each frame: ", "frame", "steps.csv"][..]),
        ("out/tiny/frame_0001.png", &["PNG picture of "]),
        ("tetrahedron.obj", &["mesh of 4 triangles and 4 vertices", "[0.0, 0.0, 0.0] to [2.0, 1.0, 0.5] m"]),
        ("drops.ply", &["2 particles", "[0.0, 0.5, -1.0] to [1.0, 2.0, 0.0] m", "each with heat"]),
    ] {
        let text = folder.ok(&["info", name]).stdout;
        parts.iter().for_each(|part| assert!(text.contains(part), "{name}, {part}: {text}"));
        let json: serde_json::Value = serde_json::from_str(&folder.ok(&["info", "--json", name]).stdout).unwrap();
        assert_eq!(json["path"], name);
    }
    folder.write("broken.obj", "v 0 0\n");
    folder.write("broken.png", "no picture");
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    for name in ["broken.obj", "broken.png", "empty"] {
        let ended = folder.squall(&["info", name]);
        assert_eq!(ended.code, Some(3), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(name), "{name}: {}", ended.stderr);
    }
}

#[test]
fn info_refuses_what_it_does_not_know() {
    let folder = Folder::with_tiny("info-wrong");
    write_smoke(&folder);
    let whole = std::fs::read(folder.path().join("smoke.vdb")).unwrap();
    std::fs::write(folder.path().join("torn.vdb"), &whole[..whole.len() / 2]).unwrap();
    folder.write("fake.sqc", "SQUALLCP and no more");
    for (args, code, part) in [
        (&["info"][..], 2, "FILE"),
        (&["info", "tiny.toml"], 3, "squall check"),
        (&["info", "torn.vdb"], 3, "torn.vdb"),
        (&["info", "fake.sqc"], 3, "fake.sqc"),
        (&["info", "missing.vdb"], 5, "missing.vdb"),
    ] {
        let ended = folder.squall(args);
        assert_eq!(ended.code, Some(code), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(part), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn info_ends_with_3_if_a_part_of_a_volume_cannot_be_read() {
    let folder = Folder::new("info-part");
    write_smoke(&folder);
    let whole = std::fs::read(folder.path().join("smoke.vdb")).unwrap();
    // Somewhere among the values there are lengths and kinds: without them values are unknown, and the rest is told.
    let damaged = (1..64).find_map(|part| {
        let mut bytes = whole.clone();
        let at = part * whole.len() / 64;
        bytes[at..at + 48].fill(0xff);
        std::fs::write(folder.path().join("part.vdb"), bytes).unwrap();
        Some(folder.squall(&["info", "part.vdb"])).filter(|ended| ended.stdout.contains("values unknown"))
    });
    let ended = damaged.expect("a place that is no value");
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    assert!(ended.stdout.contains("density") && ended.stdout.contains("velocity"), "{}", ended.stdout);
    let pipe = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    if pipe.is_ok_and(|status| status.success()) {
        assert_eq!(folder.squall(&["info", "pipe"]).code, Some(3), "a pipe is not waited for");
    }
}

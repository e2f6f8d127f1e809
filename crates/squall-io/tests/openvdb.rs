//! OpenVDB itself as the judge, through Debian's `python3-openvdb`. Skipped where that is not installed, unless
//! `SQUALL_REQUIRE_OPENVDB=1`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use squall_core::volume::BLOCK_CELLS;
use squall_core::{Particles, Volume};
use squall_io::vdb::{MetaValue, Metadata, VdbLoaded};
use squall_io::{
    UpAxis, VdbClass, VdbCompression, VdbGrid, VdbOptions, VdbPoints, VdbPrecision, VdbValues, read_vdb, read_vdb_info,
    write_vdb, write_vdb_points,
};

fn script(python: &str) -> Command {
    let mut command = Command::new(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openvdb.py"));
    command
}

/// A Python that has OpenVDB.
fn python() -> Option<&'static str> {
    let found = ["python3", "/usr/bin/python3"]
        .into_iter()
        .find(|python| script(python).arg("probe").output().is_ok_and(|output| output.status.success()));
    if found.is_none() {
        assert!(
            std::env::var_os("SQUALL_REQUIRE_OPENVDB").is_none_or(|v| v != "1"),
            "SQUALL_REQUIRE_OPENVDB=1, but no Python has OpenVDB: install python3-openvdb"
        );
        eprintln!("skipped: no Python here can import pyopenvdb (Debian: apt install python3-openvdb)");
    }
    found
}

/// OpenVDB's own tool.
fn has_vdb_tool() -> bool {
    let is_there = Command::new("vdb_tool").arg("-version").output().is_ok();
    if !is_there {
        eprintln!("skipped: no vdb_tool here (Debian: apt install libopenvdb-tools)");
    }
    is_there
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("squall-openvdb-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Smooth in one block, constant in another, noise in the rest; some cells are background everywhere.
fn volume(blocks: &[[i32; 3]], background: f32, seed: u32) -> Volume {
    let mut blocks = blocks.to_vec();
    blocks.sort_unstable();
    let value = |i: usize| {
        let hash = (i as u32 ^ seed).wrapping_mul(2_654_435_761);
        match (hash >> 29, i / BLOCK_CELLS % 3) {
            (0, _) => background,
            (_, 0) => 1.0 + (i % BLOCK_CELLS) as f32 / 512.0,
            (_, 1) => 1.0,
            _ => (hash >> 8) as f32 / 1e5 - 80.0,
        }
    };
    let values = (0..blocks.len() * BLOCK_CELLS).map(value).collect();
    // All of them sums of powers of two: half a cell is added without rounding.
    Volume { origin: [0.25, -1.5, 3.0], spacing: 0.125, background, blocks, values }
}

/// What OpenVDB must find in a grid: some cells with bits and activity, and the rest in numbers.
fn expectation(grid: &VdbGrid<'_>) -> serde_json::Value {
    let volumes: Vec<&Volume> = match &grid.values {
        VdbValues::Scalar(volume) => vec![volume],
        VdbValues::Vector(volumes) => volumes.to_vec(),
    };
    let half = grid.precision == VdbPrecision::Half;
    let round = |v: f32| if half { half::f16::from_f32(v).to_f32() } else { v };
    let mut blocks: Vec<[i32; 3]> = volumes.iter().flat_map(|v| v.blocks.clone()).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let is_active = |cell: [i32; 3]| {
        volumes.iter().any(|v| {
            let negative = grid.class == VdbClass::LevelSet && v.get(cell) == -v.background;
            v.get(cell).to_bits() != v.background.to_bits() && !negative
        })
    };
    let (mut active, mut low, mut high, mut cells, mut leaves) = (0, [i32::MAX; 3], [i32::MIN; 3], vec![], 0);
    for block in &blocks {
        let before = active;
        for i in 0..BLOCK_CELLS as i32 {
            let cell = [8 * block[0] + i % 8, 8 * block[1] + i / 8 % 8, 8 * block[2] + i / 64];
            if is_active(cell) {
                active += 1;
                for a in 0..3 {
                    (low[a], high[a]) = (low[a].min(cell[a]), high[a].max(cell[a]));
                }
            }
            let bits: Vec<u32> = volumes.iter().map(|v| round(v.get(cell)).to_bits()).collect();
            cells.push(json!([cell, bits, is_active(cell)]));
        }
        leaves += i32::from(active > before);
    }
    json!({
        "name": grid.name, "class": grid.class.name(), "half": half, "vector": volumes.len() == 3,
        "active": active, "bbox": [low, high], "leaves": leaves, "cells": cells,
        "centre": volumes[0].origin.map(|x| x + 0.5 * volumes[0].spacing), "spacing": volumes[0].spacing,
    })
}

#[test]
fn openvdb_reads_what_squall_writes() {
    let Some(python) = python() else { return };
    let folder = Folder::new("ours");
    let fog = volume(&[[0, 0, 0], [-1, -1, -1], [15, 16, 17], [-513, 512, 0], [100_000, -7, 7], [3, 3, 3]], 0.0, 1);
    let warm = volume(&[[0, 0, 0], [1, 0, 0], [2, 0, 0]], 300.0, 2);
    let empty = volume(&[], 0.0, 3);
    let parts = [volume(&[[0, 0, 0], [4, 4, 4]], 0.0, 4), volume(&[[0, 0, 0], [-9, 0, 0]], 0.0, 5), empty.clone()];
    let mut distance = volume(&[[0, 0, 0], [1, 0, 0], [2, 0, 0]], 0.75, 6);
    for (i, value) in distance.values.iter_mut().enumerate() {
        // A front across x; all of the first block lies deep inside.
        *value = (((i / BLOCK_CELLS * 8 + i % 8) as f32 - 14.0) * 0.125).clamp(-0.75, 0.75);
    }
    let grid = |name, values, class, precision| VdbGrid { name, values, class, precision };
    use VdbClass::{FogVolume, LevelSet, Staggered, Unknown};
    use VdbPrecision::{Full, Half};
    let grids = [
        grid("density", VdbValues::Scalar(&fog), FogVolume, Full),
        grid("density half", VdbValues::Scalar(&fog), FogVolume, Half),
        grid("temperature", VdbValues::Scalar(&warm), Unknown, Full),
        grid("empty", VdbValues::Scalar(&empty), FogVolume, Half),
        grid("velocity", VdbValues::Vector(parts.each_ref()), Staggered, Full),
        grid("velocity half", VdbValues::Vector(parts.each_ref()), Staggered, Half),
        grid("distance", VdbValues::Scalar(&distance), LevelSet, Full),
        grid("distance half", VdbValues::Scalar(&distance), LevelSet, Half),
    ];
    for compression in [VdbCompression::Zip, VdbCompression::ActiveOnly, VdbCompression::None] {
        let path = folder.0.join(format!("{compression:?}.vdb"));
        let metadata = Metadata::from([("creator".into(), "Squall".into()), ("frame".into(), MetaValue::Int(7))]);
        write_vdb(&path, &grids, &VdbOptions { compression, metadata }).unwrap();
        let expected = json!({ "path": path, "grids": grids.iter().map(expectation).collect::<Vec<_>>() });
        let list = folder.0.join("expected.json");
        std::fs::write(&list, expected.to_string()).unwrap();
        run(script(python).arg("check").arg(&list));
    }
}

fn find<'a>(grids: &'a [VdbLoaded], name: &str) -> &'a VdbLoaded {
    grids.iter().find(|grid| grid.name == name).unwrap()
}

/// The values that `openvdb.py` sets.
fn theirs([x, y, z]: [i32; 3]) -> f32 {
    let is_set =
        (-20..20).contains(&x) && (-3..12).contains(&y) && (0..30).contains(&z) && (x + y + z).rem_euclid(3) > 0;
    let is_filled = (128..144).contains(&x) && (0..8).contains(&y) && (0..8).contains(&z);
    match (is_set, is_filled) {
        (true, _) => x as f32 + y as f32 / 8.0 + z as f32 / 64.0,
        (_, true) => 9.0,
        _ => 0.5,
    }
}

fn check_theirs(path: &Path) {
    let file = read_vdb(path).unwrap();
    assert_eq!(file.metadata["creator"], "OpenVDB".into());
    assert_eq!(file.skipped, [("mask".to_owned(), "Tree_bool_5_4_3".to_owned())]);
    for (name, precision) in [("density", VdbPrecision::Full), ("half", VdbPrecision::Half)] {
        let grid = find(&file.grids, name);
        assert_eq!((grid.class, grid.precision), (VdbClass::FogVolume, precision));
        let VdbValues::Scalar(volume) = &grid.values else { panic!("{name} is a vector") };
        assert_eq!((volume.origin, volume.spacing), ([1.0 - 0.125, 2.0 - 0.125, 3.0 - 0.125], 0.25));
        for x in -24..150 {
            for y in -8..16 {
                for z in -8..32 {
                    let (got, expected) = (volume.get([x, y, z]), theirs([x, y, z]));
                    // Half floats below 32 are at most 1/64 apart; the values are multiples of 1/64, so exact.
                    assert_eq!(got, expected, "{name} at {:?}", [x, y, z]);
                }
            }
        }
    }
    let VdbValues::Vector(velocity) = &find(&file.grids, "velocity").values else { panic!("velocity is a scalar") };
    assert_eq!(find(&file.grids, "velocity").class, VdbClass::Staggered);
    for cell in [[-9, 0, 0], [8, 8, 8], [3, 4, 5], [0, 0, 0]] {
        assert_eq!(velocity.each_ref().map(|v| v.get(cell)), cell.map(|i| i as f32));
    }
    let sphere = find(&file.grids, "sphere");
    let VdbValues::Scalar(distance) = &sphere.values else { panic!("a sphere is a scalar") };
    assert_eq!(sphere.class, VdbClass::LevelSet);
    for (cell, expected) in [([0, 0, 0], -0.15_f32), ([30, 0, 0], 0.15), ([20, 0, 0], 0.0), ([0, -19, 0], -0.05)] {
        // Single precision, and distances of the order of 1.
        assert!((distance.get(cell) - expected).abs() < 1e-6, "{cell:?}: {}", distance.get(cell));
    }
    let info = read_vdb_info(path).unwrap();
    for grid in &info.grids {
        assert_eq!(
            grid.metadata["file_voxel_count"],
            MetaValue::Long(grid.active_voxels.unwrap() as i64),
            "{}",
            grid.name
        );
        let (low, high) = grid.bounds.unwrap();
        let told = ["file_bbox_min", "file_bbox_max"].map(|key| grid.metadata[key].clone());
        assert_eq!(told, [MetaValue::Ints(low), MetaValue::Ints(high)], "{}", grid.name);
    }
}

#[test]
fn what_openvdb_writes_is_read() {
    let Some(python) = python() else { return };
    let folder = Folder::new("theirs");
    run(script(python).arg("write").arg(&folder.0));
    check_theirs(&folder.0.join("theirs.vdb"));
}

/// OpenVDB's own tool packs in other ways than the Python module does.
#[test]
fn what_openvdb_zips_is_read() {
    let Some(python) = python() else { return };
    if !has_vdb_tool() {
        return;
    }
    let folder = Folder::new("zipped");
    run(script(python).arg("write").arg(&folder.0));
    let theirs = folder.0.join("theirs.vdb");
    let grids = read_vdb(&theirs).unwrap().grids;
    for codec in ["zip", "none", "active", "blosc"] {
        let path = folder.0.join(format!("{codec}.vdb"));
        let mut tool = Command::new("vdb_tool");
        run(tool.args(["-quiet", "-read"]).arg(&theirs).arg("-write").arg(format!("codec={codec}")).arg(&path));
        let again = read_vdb(&path).unwrap().grids;
        assert_eq!(again.len(), grids.len(), "{codec}");
        for grid in &grids {
            assert!(find(&again, &grid.name).values == grid.values, "{codec}: {}", grid.name);
        }
    }
    let info = read_vdb_info(folder.0.join("zip.vdb")).unwrap();
    assert!(info.grids.iter().any(|grid| grid.kind == "vec3s" && grid.compression == "zip + active values"));
}

#[test]
fn openvdb_finds_every_particle_where_it_is() {
    if !has_vdb_tool() {
        return;
    }
    let folder = Folder::new("points");
    let (vdb, ply) = (folder.0.join("points.vdb"), folder.0.join("points.ply"));
    // Crowds and single ones, on both sides of zero, on borders of cells, far away. All are sums of powers of two, so nothing is rounded.
    let noise = |i: usize, a: usize| ((i * 3 + a) as u32).wrapping_mul(2_654_435_761) >> 8;
    let place = |i: usize, a: usize| match i {
        0 => 0.0,
        1 => [-300.0, 77.25, 0.125][a],
        _ => (noise(i, a) >> 12) as f32 / 4096.0 * [2.0, 1.0, 4.0][a] - 0.5,
    };
    let count = 5000;
    for up in [UpAxis::Y, UpAxis::Z] {
        for axes in [2, 3] {
            let lists: Vec<Vec<f32>> = (0..axes).map(|a| (0..count).map(|i| place(i, a)).collect()).collect();
            let particles = Particles {
                ids: (0..count as u64).collect(),
                positions: lists.clone(),
                velocities: lists,
                attributes: vec![("warm ink".into(), vec![0.5; count])],
            };
            let points = VdbPoints { name: "points", origin: [0.125, -1.0, 0.0], spacing: 0.0625, radius: 0.02, up };
            write_vdb_points(&vdb, &particles, &points, &Metadata::new()).unwrap();
            run(Command::new("vdb_tool").args(["-quiet", "-read"]).arg(&vdb).args(["-vdb2points", "-write"]).arg(&ply));
            let bytes = std::fs::read(&ply).unwrap();
            let body = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
            let floats: Vec<f32> = bytes[body..].as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            let mut found = floats.as_chunks::<3>().0.to_vec();
            let mut expected: Vec<[f32; 3]> = (0..count)
                .map(|i| [place(i, 0), place(i, 1), if axes == 3 { place(i, 2) } else { 0.0 }])
                .map(|[x, y, z]| if up == UpAxis::Z { [x, 0.0 - z, y] } else { [x, y, z] })
                .collect();
            let order = |a: &[f32; 3], b: &[f32; 3]| a.partial_cmp(b).unwrap();
            found.sort_by(order);
            expected.sort_by(order);
            assert!(found == expected, "{up:?}, {axes} axes");
        }
    }
}

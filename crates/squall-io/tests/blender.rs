//! Blender as the judge of where volumes lie. Only where `SQUALL_BLENDER` names the program, for example
//! `SQUALL_BLENDER=blender cargo test -p squall-io --test blender`.

use std::process::Command;

use squall_core::Volume;
use squall_io::{VdbClass, VdbGrid, VdbOptions, VdbPrecision, VdbValues, write_vdb};

const CELLS: usize = 32;

#[test]
fn blender_puts_a_unit_box_where_it_belongs() {
    let Some(blender) = std::env::var_os("SQUALL_BLENDER") else {
        eprintln!("skipped: SQUALL_BLENDER does not name a Blender");
        return;
    };
    // From (1, 2, 3) to (2, 3, 4), full of smoke.
    let spacing = 1.0 / CELLS as f64;
    let fill = |v: f32| Volume::from_dense([1.0, 2.0, 3.0], spacing, 0.0, [CELLS; 3], &vec![v; CELLS.pow(3)]);
    let (density, wind) = (fill(1.0), fill(2.0));
    let grids = [
        VdbGrid {
            name: "density",
            values: VdbValues::Scalar(&density),
            class: VdbClass::FogVolume,
            precision: VdbPrecision::Half,
        },
        VdbGrid {
            name: "velocity",
            values: VdbValues::Vector([&wind; 3]),
            class: VdbClass::Staggered,
            precision: VdbPrecision::Half,
        },
    ];
    let path = std::env::temp_dir().join(format!("squall-blender-{}.vdb", std::process::id()));
    write_vdb(&path, &grids, &VdbOptions::default()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/blender.py");
    let output =
        Command::new(blender).args(["-b", "--factory-startup", "--python", script, "--"]).arg(&path).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = told.lines().find_map(|line| line.strip_prefix("SQUALL ")).expect(&told);
    println!("{line}");
    let seen: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(seen["error"], "");
    let number = |list: &serde_json::Value, a: usize| list[a].as_f64().unwrap();
    for a in 0..3 {
        let low = [1.0, 2.0, 3.0][a];
        // Blender's box goes around the centres of the outermost cells: half a cell is missing on each side.
        assert!((number(&seen["low"], a) - (low + 0.5 * spacing)).abs() < 1e-5, "{line}");
        assert!((number(&seen["high"], a) - (low + 1.0 - 0.5 * spacing)).abs() < 1e-5, "{line}");
    }
    let velocity = seen["grids"].as_array().unwrap().iter().find(|g| g["name"] == "velocity").unwrap();
    assert_eq!((&velocity["type"], &velocity["channels"]), (&"VECTOR_FLOAT".into(), &3.into()));
    assert_eq!(seen["velocity_grid"], "velocity");
}

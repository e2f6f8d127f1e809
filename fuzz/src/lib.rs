//! What must hold for any bytes: an answer, soon, without a panic. One function for each reader; `fuzz_targets/` calls them
//! with what libFuzzer makes up, and `crates/squall/tests/fuzz.rs` with damaged good files.

use std::path::Path;

use squall::expr::Expr;
use squall::{CancelToken, Driver, Scene};
use squall_io::checkpoint::Checkpoint;
use squall_io::vdb::parse_vdb;
use squall_io::{parse_mesh_frames, picture};

/// A scene: read, checked, and written out again. What is written must be a scene again.
pub fn scene(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(scene) = Scene::parse("fuzz.toml", text, &[]) else { return };
    if let Ok((setup, _)) = scene.with_assets(squall::gallery::assets()).setup() {
        let again = Scene::parse("again.toml", &setup.to_toml(), &[]);
        assert!(again.is_ok(), "{again:?}");
    }
}

/// An expression: compiled, and evaluated for 64 cells.
pub fn expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let names = ["x", "y", "z", "t"].map(String::from);
    if let Ok(expression) = Expr::parse(text, &names) {
        let inputs = vec![squall::expr::Lanes::splat(0.5); expression.variables().len()];
        expression.eval(&inputs);
    }
}

/// A drawing.
pub fn svg(data: &[u8]) {
    if let Ok(drawn) = picture::parse_svg(data, "fuzz.svg", [64, 64]) {
        assert!(drawn.width <= 64 && drawn.height <= 64 && drawn.pixels.len() == drawn.width * drawn.height);
    }
}

/// A picture, and a film.
pub fn pixels(data: &[u8]) {
    if let Ok(read) = picture::parse_picture(data, "fuzz.png") {
        assert!(read.pixels.iter().flatten().all(|v| (0.0..=1.0).contains(v)));
    }
    if let Ok(frames) = picture::parse_frames(data, Path::new("fuzz.gif")) {
        // Whatever comes after has been seen.
        frames.take(20).for_each(drop);
    }
}

/// A volume.
pub fn vdb(data: &[u8]) {
    if let Ok(file) = parse_vdb(data, "fuzz.vdb") {
        file.upright();
    }
}

/// A mesh of the format that the extension names, or the data themselves.
pub fn mesh(data: &[u8], extension: &str) {
    if let Ok(meshes) = parse_mesh_frames(data, format!("/no such folder/fuzz.{extension}"), 4.0) {
        meshes.iter().for_each(|mesh| mesh.check().expect("a mesh that can be used"));
    }
}

/// A small scene on tiles, whose checkpoints are restored.
pub const TILES: &str = r#"
model = "smoke"
[grid]
cells = [16, 16]
[[source]]
shape = { sphere = { center = [0.5, 0.3], radius = 0.2 } }
set = { density = 1.0, temperature = 100.0 }
[time]
frames = 2
fps = 24
"#;

/// A checkpoint. Its length and checksums are made right first: without that nothing but they would be tested. What can be
/// restored must be able to make a step, or say why not.
pub fn checkpoint(data: &[u8], folder: &Path) {
    let mut data = data.to_vec();
    if data.len() > 12 {
        let end = data.len() - 12;
        let length = data.len() as u64;
        data[end..end + 8].copy_from_slice(&length.to_le_bytes());
        let sum = crc32(&data[..end + 8]);
        data[end + 8..].copy_from_slice(&sum.to_le_bytes());
    }
    let path = folder.join("fuzz.sqc");
    std::fs::write(&path, &data).expect("a folder for files");
    let Ok(found) = Checkpoint::open_any(&path) else { return };
    let _ = found.entries();
    let (setup, _) = Scene::parse("tiles.toml", TILES, &[]).and_then(|scene| scene.setup()).expect("a scene");
    let mut driver = Driver::new(&setup).expect("a simulation");
    let restored = Checkpoint::open_any(&path).map(|found| found.restore(|visitor| driver.visit_state(visitor)));
    if let Ok(Ok(_)) = restored {
        let _ = driver.step_unless(&CancelToken::default());
    }
}

/// CRC-32 as in zlib, bit by bit: files here are small.
pub fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |sum: u32, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

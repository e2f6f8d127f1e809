//! Good files, damaged at random: every reader answers. The bodies are those of the fuzz targets in `fuzz/`.
//!
//! `SQUALL_FUZZ_SECONDS=600 cargo test -p squall --test all fuzz -- --nocapture` goes on for ten minutes and counts the cases.

#[path = "../../../../fuzz/src/lib.rs"]
mod readers;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use squall::{CancelToken, Driver, Scene};
use squall_core::Volume;
use squall_io::checkpoint::{Checkpoint, save};
use squall_io::{Position, SceneHash, VdbClass, VdbGrid, VdbOptions, VdbPrecision, VdbValues, write_png, write_vdb};

/// Cases per reader where no time is given: some seconds in all.
const CASES: u64 = 700;

/// A case that takes longer hangs. (The limit of a drawing is 1.5 s, and machines are busy.)
const LONGEST: Duration = Duration::from_secs(20);

/// Random numbers: SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % end.max(1) as u64) as usize
    }

    /// One to eight changes: bits, bytes, words, numbers; pieces left out, doubled, taken from another file.
    fn damaged(&mut self, file: &[u8], other: &[u8]) -> Vec<u8> {
        const WORDS: [&[u8]; 16] = [
            b"\xff\xff\xff\xff",
            b"\xff\xff\xff\x7f",
            b"\0\0\0\0",
            b"\0\0\x80\x7f",
            b"\0\0\xc0\x7f",
            b"\0\0\0\0\0\0\xf0\x7f",
            b"\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\0\0\0\0\0\0\0\x10",
            b"1e30",
            b"-1",
            b"nan",
            b"999999999",
            b"1e-30",
            b"\"",
            b"[",
            b"{",
        ];
        let mut data = file.to_vec();
        for _ in 0..1 + self.below(8) {
            let at = self.below(data.len());
            let end = (at + 1 + self.below(64)).min(data.len());
            match self.below(8) {
                0 if !data.is_empty() => data[at] ^= 1 << self.below(8),
                1 if !data.is_empty() => data[at] = self.below(256) as u8,
                2 | 3 => {
                    let word = WORDS[self.below(WORDS.len())];
                    let end = (at + word.len()).min(data.len());
                    data.splice(at..end, word.iter().copied());
                }
                4 => drop(data.drain(at..end)),
                5 => {
                    let piece = data[at..end].to_vec();
                    let times = 1 + self.below(8);
                    data.splice(at..at, piece.repeat(times));
                }
                6 => {
                    let from = self.below(other.len());
                    let piece = &other[from..(from + 32).min(other.len())];
                    data.splice(at..at, piece.iter().copied());
                }
                _ => data.truncate(data.len() - self.below(data.len() / 8 + 1)),
            }
        }
        data
    }
}

struct TestFolder(PathBuf);

impl TestFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("squall-fuzz-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        TestFolder(path)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn volumes(folder: &TestFolder) -> Vec<Vec<u8>> {
    let values: Vec<f32> = (0..16 * 8 * 8).map(|i| if i % 3 == 0 { 0.0 } else { i as f32 }).collect();
    let volume = Volume::from_dense([0.0; 3], 0.1, 0.0, [16, 8, 8], &values);
    let grid = |values, precision| VdbGrid { name: "density", values, class: VdbClass::FogVolume, precision };
    let files = [
        grid(VdbValues::Scalar(&volume), VdbPrecision::Full),
        grid(VdbValues::Vector([&volume, &volume, &volume]), VdbPrecision::Half),
    ];
    let path = folder.0.join("a.vdb");
    files
        .into_iter()
        .map(|grid| {
            write_vdb(&path, &[grid], &VdbOptions::default()).unwrap();
            std::fs::read(&path).unwrap()
        })
        .collect()
}

fn meshes() -> Vec<(&'static str, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../squall-io/tests/blender_files");
    let read = |name: &str| std::fs::read(format!("{folder}/{name}")).unwrap();
    let ply = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 4\n\
               property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n";
    let stl = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n";
    vec![
        ("obj", read("marked.obj")),
        ("ply", read("marked.ply")),
        ("ply", ply.into()),
        ("stl", read("marked.stl")),
        ("stl", stl.into()),
        ("glb", read("marked.glb")),
        ("glb", read("moving.glb")),
    ]
}

fn pictures(folder: &TestFolder) -> Vec<Vec<u8>> {
    let path = folder.0.join("a.png");
    let samples: Vec<u8> = (0..3 * 9 * 7).map(|i| (i * 37 % 256) as u8).collect();
    write_png(&path, 9, 7, &samples).unwrap();
    let mut bmp =
        b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\x18\0\0\0\0\0\x10\0\0\0".to_vec();
    bmp.extend([0; 16]);
    bmp.extend([0, 0, 255, 255, 255, 255, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0]);
    // Two frames of 2 x 2 pixels.
    let mut gif = b"GIF89a\x02\0\x02\0\x80\0\0\0\0\0\xff\xff\xff".to_vec();
    for _ in 0..2 {
        gif.extend(b"\x21\xf9\x04\0\x0a\0\0\0\x2c\0\0\0\0\x02\0\x02\0\0\x02\x03\x44\x02\x05\0");
    }
    gif.push(b';');
    vec![std::fs::read(&path).unwrap(), bmp, gif]
}

fn a_checkpoint(folder: &TestFolder) -> Vec<u8> {
    let (setup, _) = Scene::parse("tiles.toml", readers::TILES, &[]).unwrap().setup().unwrap();
    let mut driver = Driver::new(&setup).unwrap();
    driver.step_unless(&CancelToken::default()).unwrap();
    let path = folder.0.join("a.sqc");
    save(&path, SceneHash([7; 32]), Position { frame: 0, step: 1 }, |visitor| driver.visit_state(visitor)).unwrap();
    std::fs::read(&path).unwrap()
}

const DRAWING: &str = r##"<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10">
<defs><linearGradient id="g"><stop offset="0.5" stop-color="#123"/></linearGradient>
<filter id="f"><feGaussianBlur stdDeviation="1"/><feTurbulence baseFrequency="0.1" numOctaves="2"/><feMorphology radius="1"/></filter>
<marker id="m" markerWidth="3" markerHeight="3"><path d="M0 0L1 1"/></marker></defs>
<g id="a" transform="rotate(3 4 5) scale(1.5)" opacity="0.5"><path d="M 1 1 C 2 2 3 3 9 1 z" stroke="url(#g)" stroke-dasharray="1 2"/>
<text x="1" y="5" font-size="4">Ag</text></g><use href="#a" x="2"/><circle r="2" filter="url(#f)"/>
<path d="M0 0L5 5 7 1A2 3 0 0 1 9 9" marker-mid="url(#m)" style="fill:none;stroke:#1e9999;stroke-width:2"/></svg>"##;

/// A name, good files, and who reads a file that was made of the one with that number.
type Reader<'a> = (&'static str, Vec<Vec<u8>>, &'a dyn Fn(&[u8], usize));

#[test]
fn damaged_files_of_every_kind_are_answered() {
    let folder = TestFolder::new("damaged");
    let scenes: Vec<Vec<u8>> = squall::gallery::all().iter().map(|scene| scene.text.as_bytes().to_vec()).collect();
    let expressions =
        ["sin(3*x)*y^2 + noise(x, y, t)", "if(x > 0.5 && y < 1, -exp(-t), max(x, 2e3))", "clamp(x/y, 0, 1)^-2"];
    let expressions: Vec<Vec<u8>> = expressions.iter().map(|text| text.as_bytes().to_vec()).collect();
    let [volumes, pictures] = [volumes(&folder), pictures(&folder)];
    let (formats, meshes): (Vec<_>, Vec<_>) = meshes().into_iter().unzip();
    let mesh = |data: &[u8], i: usize| readers::mesh(data, formats[i]);
    let checkpoint = |data: &[u8], _: usize| readers::checkpoint(data, &folder.0);
    let readers: [Reader<'_>; 7] = [
        ("scene", scenes, &|data, _| readers::scene(data)),
        ("expression", expressions, &|data, _| readers::expression(data)),
        ("svg", vec![DRAWING.into()], &|data, _| readers::svg(data)),
        ("pixels", pictures, &|data, _| readers::pixels(data)),
        ("vdb", volumes, &|data, _| readers::vdb(data)),
        ("mesh", meshes, &mesh),
        ("checkpoint", vec![a_checkpoint(&folder)], &checkpoint),
    ];
    let seconds = std::env::var("SQUALL_FUZZ_SECONDS").ok().and_then(|s| s.parse::<f64>().ok());
    let only = std::env::var("SQUALL_FUZZ_ONLY").ok();
    for (name, files, read) in readers {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let start = Instant::now();
        let mut dice = Dice(seconds.map_or(1, |_| std::process::id().into()));
        let (mut cases, mut longest) = (0, Duration::ZERO);
        loop {
            let go_on = match seconds {
                Some(seconds) => start.elapsed().as_secs_f64() < seconds / 7.0,
                None => cases < CASES,
            };
            if !go_on {
                break;
            }
            let i = dice.below(files.len());
            let other = &files[dice.below(files.len())];
            // The first ones as they are.
            let data =
                if cases < files.len() as u64 { files[cases as usize].clone() } else { dice.damaged(&files[i], other) };
            let i = if cases < files.len() as u64 { cases as usize } else { i };
            let case = Instant::now();
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(&data, i)));
            longest = longest.max(case.elapsed());
            if outcome.is_err() || case.elapsed() > LONGEST {
                let path = std::env::temp_dir().join(format!("squall-fuzz-found-{name}"));
                std::fs::write(&path, &data).unwrap();
                panic!("{name}, case {cases}: {:?}; the file is {}", case.elapsed(), path.display());
            }
            cases += 1;
        }
        println!("{name}: {cases} cases in {:.1} s, the longest {longest:?}", start.elapsed().as_secs_f64());
    }
}

#[test]
fn numbers_in_a_checkpoint_that_cannot_be_are_refused() {
    let folder = TestFolder::new("forged");
    let good = a_checkpoint(&folder);
    let (setup, _) = Scene::parse("tiles.toml", readers::TILES, &[]).unwrap().setup().unwrap();
    let restore = |kind: u8, name: &str, value: u64| {
        let mut file = good.clone();
        let key = [&[kind, name.len() as u8], name.as_bytes()].concat();
        let at = file.windows(key.len()).position(|w| w == key).expect(name) + key.len();
        if value != 1 {
            file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let end = file.len() - 4;
        let sum = readers::crc32(&file[..end]);
        file[end..].copy_from_slice(&sum.to_le_bytes());
        let path = folder.0.join("forged.sqc");
        std::fs::write(&path, file).unwrap();
        let mut driver = Driver::new(&setup).unwrap();
        let restored = Checkpoint::open(&path, SceneHash([7; 32])).unwrap().restore(|v| driver.visit_state(v));
        restored.map_err(|error| error.to_string())
    };
    assert!(restore(b'r', "time", 1).is_ok(), "nothing is changed");
    for value in [f64::NAN, f64::INFINITY, -f64::INFINITY] {
        for name in ["time", "max_speed", "acceleration"] {
            let error = restore(b'r', name, value.to_bits()).unwrap_err();
            assert!(error.contains("no number that can be"), "{name} = {value}: {error}");
        }
    }
    for count in [0, 1 << 31, 1 << 40, 1 << 60] {
        for name in ["tile_coords", "tile_ages"] {
            let error = restore(b'i', name, count).unwrap_err();
            assert!(error.contains(name) && error.contains("damaged"), "{name} = {count}: {error}");
        }
    }
}

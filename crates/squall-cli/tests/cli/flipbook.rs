//! `squall flipbook`: textures for games.

use crate::common::{Folder, assert_same};

const SMALL: [&str; 3] = ["flipbook", "tiny.toml", "--no-preview"];

#[test]
fn a_flipbook_is_made_of_a_scene_and_packing_again_does_not_simulate() {
    let folder = Folder::with_tiny("flipbook");
    let told = folder.ok(&["flipbook", "tiny.toml", "--size", "24", "--power-of-two"]);
    assert!(told.stdout.contains("6 frames of 24 x 24"), "{}", told.stdout);
    let out = "out/tiny_flipbook";
    let names: Vec<String> = std::fs::read_dir(folder.path().join(out))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in ["tiny_color.png", "tiny_motion.png", "tiny.json", "tiny_preview.gif", "frames"] {
        assert!(names.iter().any(|n| n == name), "{name} of {names:?}");
    }
    assert_eq!(names.len(), 5, "nothing is left over: {names:?}");
    // The scene says how it is packed.
    let run = || {
        let mut files = folder.files(&format!("{out}/frames"));
        files.remove("scene.toml");
        files
    };
    let frames = run();
    assert!(frames.contains_key("frame_0006.exr") && !frames.contains_key("density_0001.npy"));
    // The same frames with other borders and columns.
    folder.ok(&["flipbook", "tiny.toml", "--size", "24", "--power-of-two", "--columns", "4", "--premultiplied"]);
    assert_same(&frames, &run(), "packed again");
    // And from the folder of the run alone.
    folder.ok(&["flipbook", &format!("{out}/frames"), "--out", "again", "--no-preview"]);
    assert!(folder.path().join("again/frames_color.png").exists());
}

#[test]
fn what_cannot_be_made_is_refused_before_anything_is_simulated() {
    let folder = Folder::with_tiny("flipbook-refused");
    let refused = |more: &[&str], words: &[&str]| {
        let ended = folder.squall(&[&SMALL, more].concat());
        assert!(matches!(ended.code, Some(2 | 3)), "{more:?}: {:?} {}", ended.code, ended.stderr);
        for word in words {
            // Long lines are wrapped where there is a space.
            assert!(ended.stderr.replace("\n  │ ", " ").contains(word), "{more:?}: {}", ended.stderr);
        }
    };
    refused(&["--count", "7"], &["6 frames", "--count 6"]);
    refused(&["--from", "9"], &["frame 9"]);
    refused(&["--maps", "six-way"], &["six_way", "2D"]);
    refused(&["--maps", "motion,norml"], &["norml"]);
    refused(&["--columns", "3", "--power-of-two"], &["--columns 2 or 4"]);
    refused(&["--set", "flipbook.size=16000"], &["16384", "--size"]);
    refused(&["--size", "12by12"], &["128x192"]);
    assert!(!folder.path().join("out").exists());
}

#[test]
fn passes_survive_an_interruption_byte_for_byte() {
    let folder = Folder::with_tiny("passes-resume");
    let passes = ["--no-movie", "--set", "output.passes=[\"motion\", \"flow\", \"height\", \"normal\"]"];
    let run = |frames: &str, out: &str| {
        folder.ok(&[&["run", "tiny.toml", "--frames", frames, "--out", out], &passes[..]].concat());
    };
    run("6", "whole");
    run("3", "parts");
    run("6", "parts");
    let whole = folder.files("whole");
    assert!(whole.contains_key("flow_0006.png") && whole.contains_key("passes.json"));
    assert_same(&whole, &folder.files("parts"), "resumed");
}

//! Runs that are stopped in the middle.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::common::{Folder, TINY, assert_same};

/// Half a second of work, in frames of several steps.
fn scene() -> String {
    TINY.replace("[24, 32]", "[48, 64]").replace("frames = 6", "frames = 40")
}

fn start(folder: &Folder) -> Child {
    let mut command = folder.command(&["run", "s.toml", "--out", "parts"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
    assert!(sent.is_ok());
}

/// Stops the run after pauses that are different each time until it ends by itself; `look` sees the folder each time.
fn stop_until_done(folder: &Folder, signal: &str, mut look: impl FnMut(Option<i32>, &str)) -> usize {
    // Any fixed sequence without a pattern will do.
    let mut random = 0x2545_f491_4f6c_dd1du64;
    for stops in 0.. {
        let child = start(folder);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Longer with each attempt, so that a slow machine gets there as well.
        std::thread::sleep(Duration::from_millis(20 + (random >> 33) % 100 + 10 * stops));
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            return stops as usize;
        }
        look(output.status.code(), &String::from_utf8_lossy(&output.stderr));
        assert!(stops < 200, "never done");
    }
    unreachable!()
}

#[test]
fn ctrl_c_at_any_moment_loses_nothing_and_says_how_to_go_on() {
    let folder = Folder::new("sigint");
    folder.write("s.toml", &scene());
    folder.ok(&["run", "s.toml", "-q", "--out", "whole"]);
    let mut heard = 0;
    let stops = stop_until_done(&folder, "-INT", |code, stderr| {
        // Before the handler is there, the signal ends the process itself: nothing has begun then.
        if let Some(code) = code {
            assert_eq!(code, 130, "{stderr}");
            assert!(stderr.contains("squall run s.toml --out parts"), "{stderr}");
            heard += 1;
        }
    });
    assert!(stops == 0 || heard > 0);
    assert_same(&folder.files("whole"), &folder.files("parts"), "after SIGINT");
}

#[test]
fn a_killed_run_leaves_no_torn_file_and_goes_on_to_the_same_bytes() {
    let folder = Folder::new("sigkill");
    folder.write("s.toml", &scene());
    folder.ok(&["run", "s.toml", "-q", "--out", "whole"]);
    let whole = folder.files("whole");
    let parts = folder.path().join("parts");
    let stops = stop_until_done(&folder, "-KILL", |_, _| {
        if parts.exists() {
            assert_whole(&parts, &whole);
        }
    });
    assert!(stops > 0, "the run was too quick to be killed");
    assert_same(&whole, &folder.files("parts"), "after SIGKILL");
}

/// Every file under a final name is whole: frames are those of the uninterrupted run, logs are the beginning of its.
fn assert_whole(folder: &Path, whole: &std::collections::BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        match name {
            "squall.json" => assert!(squall_io::folder::read_manifest(folder).is_ok()),
            // Rows are added; the last may be cut off.
            "steps.csv" | "files.csv" => assert!(whole[name].starts_with(&bytes), "{name}"),
            // Checked by the run that goes on.
            "checkpoint.sqc" | "checkpoint.prev.sqc" | "timings.csv" => {}
            temporary if temporary.starts_with('.') => {}
            _ => assert!(whole[name] == bytes, "{name} is torn"),
        }
        if name.ends_with(".png") && !name.starts_with('.') {
            squall_io::read_png(&path).unwrap();
        }
    }
}

#[test]
fn a_restart_that_is_killed_at_once_is_made_good_by_the_next_run() {
    let folder = Folder::new("restart");
    folder.write("s.toml", &scene().replace("frames = 40", "frames = 12"));
    folder.ok(&["run", "s.toml", "-q", "--out", "parts"]);
    let whole = folder.files("parts");
    for delay in 0..16 {
        let mut command = folder.command(&["run", "s.toml", "-q", "--out", "parts", "--restart"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(2 * delay));
        send("-KILL", &child);
        child.wait_with_output().unwrap();
        folder.ok(&["run", "s.toml", "-q", "--out", "parts"]);
        assert_same(&whole, &folder.files("parts"), &format!("killed {} ms after --restart", 2 * delay));
    }
}

#[test]
fn a_run_keeps_others_out_and_stops_soon_after_ctrl_c() {
    let folder = Folder::new("soon");
    folder.write("s.toml", &scene().replace("frames = 40", "frames = 100000"));
    let child = start(&folder);
    std::thread::sleep(Duration::from_millis(400));
    // Meanwhile the folder belongs to that run.
    let other = folder.squall(&["run", "s.toml", "--out", "parts"]);
    assert_eq!(other.code, Some(5));
    assert!(other.stderr.contains("another run"), "{}", other.stderr);
    let begun = Instant::now();
    send("-INT", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    // A step takes milliseconds; the rest is for busy machines.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

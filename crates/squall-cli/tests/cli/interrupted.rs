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
fn stop_until_done(folder: &Folder, signal: &str, seed: u64, mut look: impl FnMut(Option<i32>, &str)) -> usize {
    // Any fixed sequence without a pattern will do.
    let mut random = 0x2545_f491_4f6c_dd1du64 ^ seed;
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
    let stops = stop_until_done(&folder, "-INT", 0, |code, stderr| {
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

/// Kills a run again and again until it is done; `SQUALL_KILLS` times over, once if that is not set.
fn kill_until_done(name: &str, scene: &str) {
    let times = std::env::var("SQUALL_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let folder = Folder::new(name);
    folder.write("s.toml", scene);
    folder.ok(&["run", "s.toml", "-q", "--out", "whole"]);
    let whole = folder.files("whole");
    let parts = folder.path().join("parts");
    for round in 0..times {
        let _ = std::fs::remove_dir_all(&parts);
        let stops = stop_until_done(&folder, "-KILL", round, |_, _| {
            if parts.exists() {
                assert_whole(&parts, &whole);
            }
        });
        assert!(stops > 0, "the run was too quick to be killed");
        assert_same(&whole, &folder.files("parts"), "after SIGKILL");
    }
}

#[test]
fn a_killed_run_leaves_no_torn_file_and_goes_on_to_the_same_bytes() {
    kill_until_done("sigkill", &scene());
}

#[test]
fn killed_smoke_in_3d_with_wind_objects_volumes_and_passes_goes_on_to_the_same_bytes() {
    let scene = r#"
        model = "smoke"
        [grid]
        cells = [16, 24, 16]
        [smoke]
        wind = ["0.3 + 0.2*sin(5*t)", 0.0, 0.0]
        [[source]]
        shape = { sphere = { center = [0.5, 0.2, 0.5], radius = 0.15 } }
        set = { density = 1.0, temperature = "150 + 50*sin(9*t)" }
        noise = 0.5
        [[object]]
        name = "ball"
        shape = { sphere = { center = [0.5, 0.9, 0.5], radius = 0.2 } }
        position = ["0.3*sin(4*t)", 0.0, 0.0]
        [texture]
        noise = { scale = 0.3 }
        [time]
        frames = 8
        [output]
        width = 48
        height = 64
        bits = 16
        exr = true
        passes = ["motion", "depth"]
        vdb = { fields = ["density", "velocity"] }
        fields = ["density"]
        movie = "apng"
        checkpoint_seconds = 0.001
    "#;
    kill_until_done("kill-smoke", scene);
}

#[test]
fn killed_smoke_that_forms_words_goes_on_to_the_same_bytes() {
    let scene = r#"
        model = "target_smoke"
        [grid]
        cells = [96, 64]
        [substance.density]
        start = { text = "ab" }
        [[target]]
        time = 0.6
        figure = { text = "cd" }
        [[target]]
        time = 1.2
        figure = { text = "ef" }
        [time]
        frames = 36
        [output]
        width = 96
        fields = ["density"]
        checkpoint_seconds = 0.001
    "#;
    kill_until_done("kill-target", scene);
}

#[test]
fn killed_water_goes_on_to_the_same_bytes() {
    let scene = r#"
        model = "liquid"
        [grid]
        cells = [24, 24, 16]
        [[blob]]
        shape = { box = { min = [0.0, 0.0, 0.0], max = [0.4, 0.6, 0.7] } }
        [[blob]]
        shape = { sphere = { center = [0.7, 0.8, 0.3], radius = 0.1 } }
        velocity = [0.0, -1.0, 0.0]
        time = 0.1
        [[object]]
        name = "ball"
        shape = { sphere = { center = [0.7, 0.2, 0.3], radius = 0.15 } }
        position = ["0.1*sin(9*t)", 0.0, 0.0]
        [time]
        frames = 10
        [output]
        width = 48
        vdb = { fields = ["liquid", "velocity"] }
        fields = ["liquid", "pressure"]
        checkpoint_seconds = 0.001
    "#;
    kill_until_done("kill-liquid", scene);
}

#[test]
fn killed_honey_that_melts_and_flows_without_bounds_goes_on_to_the_same_bytes() {
    let scene = r#"
        model = "liquid"
        [grid]
        cells = [32, 32]
        size = [0.1, 0.1]
        [boundary]
        x = "unbounded"
        y = { lo = "no_slip", hi = "unbounded" }
        [liquid]
        viscosity = 0.005
        melting = { range = [300.0, 360.0], solid = 0.5, latent = 20.0 }
        heat = { cooling = 500.0 }
        [substance.temperature]
        initial = "280 + 100*(x > 0.05)"
        diffusion = 1e-6
        [[blob]]
        shape = { box = { min = [0.02, 0.0], max = [0.06, 0.05] } }
        [[spout]]
        center = [0.07, 0.08]
        direction = [-1.0, -0.5]
        width = 0.01
        speed = 0.5
        set = { temperature = 370.0 }
        [time]
        frames = 10
        [output]
        width = 48
        fields = ["liquid"]
        particles = ["npy"]
        mesh = ["svg"]
        checkpoint_seconds = 0.001
    "#;
    kill_until_done("kill-honey", scene);
}

#[test]
fn killed_jelly_goes_on_to_the_same_bytes() {
    let scene = r#"
        model = "liquid"
        [grid]
        cells = [16, 16, 16]
        [boundary]
        y = { lo = "no_slip", hi = "open" }
        [liquid]
        elasticity = "putty"
        [[blob]]
        shape = { box = { min = [0.25, 0.0, 0.25], max = [0.75, 0.5, 0.75] } }
        velocity = [0.5, -1.0, 0.0]
        [time]
        frames = 10
        [output]
        width = 48
        particles = true
        mesh = ["ply"]
        checkpoint_seconds = 0.001
    "#;
    kill_until_done("kill-jelly", scene);
}

#[test]
fn a_killed_take_of_smoke_without_bounds_goes_on_to_the_same_bytes() {
    let scene = r#"
        model = "smoke"
        [grid]
        cells = [48, 48]
        [[source]]
        shape = { sphere = { center = [0.5, 0.2], radius = 0.08 } }
        set = { density = 1.0, temperature = 150.0 }
        [[edit]]
        frame = 5
        stroke = { points = [[0.2, 0.5], [0.3, 0.5], [0.4, 0.55]], radius = 0.1, paint = { density = 20.0 }, push = 30.0 }
        [[edit]]
        frame = 9
        parameter = { name = "confinement", value = 2.0 }
        [time]
        frames = 24
        [output]
        width = 96
        fields = ["density", "velocity"]
        checkpoint_seconds = 0.001
    "#;
    kill_until_done("kill-take", scene);
}

#[test]
fn pipes_and_devices_in_the_folder_of_a_run_are_not_waited_for() {
    let folder = Folder::new("pipes");
    folder.write("s.toml", &scene().replace("frames = 40", "frames = 4"));
    let make_pipe = |path: &Path| Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success());
    for name in
        ["squall.json", "checkpoint.sqc", "files.csv", "steps.csv", "scene.toml", ".squall-lock", "frame_0002.png"]
    {
        // In a folder with nothing else, and in that of a finished run.
        for finished in [false, true] {
            let out = format!("{finished}-{name}");
            let path = folder.path().join(&out).join(name);
            if finished {
                folder.ok(&["run", "s.toml", "-q", "--out", &out]);
            } else {
                std::fs::create_dir(folder.path().join(&out)).unwrap();
            }
            let _ = std::fs::remove_file(&path);
            if !make_pipe(&path) {
                return;
            }
            let mut child =
                folder.command(&["run", "s.toml", "-q", "--out", &out]).stderr(Stdio::null()).spawn().unwrap();
            let begun = Instant::now();
            let ended = loop {
                match child.try_wait().unwrap() {
                    Some(status) => break Some(status),
                    // Such a run takes a tenth of a second; the rest is for busy machines.
                    None if begun.elapsed() > Duration::from_secs(60) => break None,
                    None => std::thread::sleep(Duration::from_millis(5)),
                }
            };
            if ended.is_none() {
                child.kill().unwrap();
            }
            let code = ended.unwrap_or_else(|| panic!("{out} is waited for")).code();
            // Refused, or made again where it is the run's own.
            assert!(matches!(code, Some(0 | 2 | 3 | 5)), "{out}: {code:?}");
            if !finished {
                assert_ne!(code, Some(0), "{out} is not the run's own");
            }
        }
    }
}

#[test]
fn a_killed_loop_with_a_texture_goes_on_to_the_same_bytes() {
    let scene = r#"
        [grid]
        cells = [48, 48]
        [boundary]
        x = "periodic"
        y = "periodic"
        [substance.fog]
        source = "smooth(0.35 + 0.9*noise)"
        dissipation = 0.5
        [[force]]
        noise = { strength = 0.2, scale = 0.3, speed = 0.35 }
        [texture]
        noise = { scale = 0.3 }
        period = 0.4
        [time]
        frames = 30
        loop = { frames = 20, even = true }
        [output]
        width = 96
        passes = ["flow"]
        fields = ["fog"]
        checkpoint_seconds = 0.001
    "#;
    kill_until_done("kill-loop", scene);
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
            "steps.csv" | "targets.csv" | "files.csv" => assert!(whole[name].starts_with(&bytes), "{name}"),
            // They name the frames that there are.
            "passes.json" => assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok()),
            "volume.usda" => assert!(bytes.ends_with(b"}\n")),
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
fn a_file_that_may_not_grow_is_an_error_like_a_full_disk() {
    let folder = Folder::new("limit");
    folder.write("s.toml", &scene().replace("width = 48", "width = 640"));
    let squall = env!("CARGO_BIN_EXE_squall");
    let script = format!("ulimit -f 4; exec {squall} run s.toml -q --out parts");
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    // Without the limit it goes on.
    folder.ok(&["run", "s.toml", "-q", "--out", "parts"]);
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

//! What runs write.

use super::common::{Folder, TINY, assert_same};

#[test]
fn a_run_writes_every_frame_and_a_movie() {
    let folder = Folder::with_tiny("frames");
    let ended = folder.ok(&["run", "tiny.toml"]);
    let files = folder.files("out/tiny");
    let of = |end: &str| files.keys().filter(|name| name.ends_with(end)).count();
    assert_eq!((of(".png"), of(".npy"), of(".gif")), (6, 12, 1), "{:?}", files.keys());
    let picture = squall_io::read_png(folder.path().join("out/tiny/frame_0006.png")).unwrap();
    assert_eq!((picture.width, picture.height), (48, 64));
    let mut decoder = gif::DecodeOptions::new().read_info(&files["tiny.gif"][..]).unwrap();
    assert!((0..6).all(|_| decoder.read_next_frame().unwrap().is_some()));
    assert!(decoder.read_next_frame().unwrap().is_none());
    for part in ["6 frames", "per step", "divergence", "density", "out/tiny/tiny.gif"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
}

#[test]
fn raw_fields_have_numpys_shape_with_components_last() {
    let folder = Folder::with_tiny("npy");
    folder.ok(&["run", "tiny.toml", "-q"]);
    let files = folder.files("out/tiny");
    assert!(String::from_utf8_lossy(&files["velocity_0006.npy"]).contains("'shape': (32, 24, 2,)"));
    assert!(String::from_utf8_lossy(&files["density_0006.npy"]).contains("'shape': (32, 24,)"));
}

#[test]
fn the_log_has_a_row_for_each_step_and_ends_at_the_last_frame() {
    let folder = Folder::with_tiny("log");
    folder.ok(&["run", "tiny.toml", "-q"]);
    let log = String::from_utf8(folder.files("out/tiny").remove("steps.csv").unwrap()).unwrap();
    let mut lines = log.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!((header[0], header[1], *header.last().unwrap()), ("step", "time", "density.allowed_max"));
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|v| v.parse().unwrap()).collect()).collect();
    assert!(rows.iter().enumerate().all(|(i, row)| row[0] == (i + 1) as f64 && row.len() == header.len()));
    assert!((rows.last().unwrap()[1] - 0.2).abs() < 1e-12);
    // The accounts of all steps lead from nothing to what is there.
    let column = |name: &str| header.iter().position(|h| *h == name).unwrap_or_else(|| panic!("{name} in {header:?}"));
    let entries = ["emitted", "dissipated", "sides", "tiles", "solids", "unexplained"];
    let of = |row: &Vec<f64>| entries.iter().map(|e| row[column(&format!("density.{e}"))]).sum::<f64>();
    let (sum, mass) = (rows.iter().map(of).sum::<f64>(), rows.last().unwrap()[column("mass_density")]);
    assert!(mass > 0.01 && (sum - mass).abs() < 1e-9 * mass, "{sum} against {mass}");
    assert!(rows.iter().all(|row| row[column("density.max")] <= row[column("density.allowed_max")] * 1.001));
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = Folder::with_tiny("threads");
    let mut first = None;
    for threads in ["1", "2", "3", "7"] {
        folder.ok(&["run", "tiny.toml", "-q", "--threads", threads, "--out", threads]);
        let files = folder.files(threads);
        assert_same(first.get_or_insert_with(|| files.clone()), &files, threads);
    }
}

#[test]
fn three_dimensions_give_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new("threads-3d");
    folder.write("s.toml", &three_dimensional());
    for threads in ["1", "3"] {
        folder.ok(&["run", "s.toml", "-q", "--threads", threads, "--out", threads]);
    }
    assert_same(&folder.files("1"), &folder.files("3"), "3D");
}

fn three_dimensional() -> String {
    TINY.replace("[24, 32]", "[12, 16, 10]")
        .replace("[0.5, 0.3]", "[0.5, 0.3, 0.4]")
        .replace("[0.1, 0.8]", "[0.1, 0.8, 0.0]")
        .replace("frames = 6", "frames = 2")
}

#[test]
fn everything_that_a_picture_can_show_is_drawn() {
    let folder = Folder::with_tiny("shows");
    folder.write("solid.toml", &three_dimensional());
    for scene in ["tiny.toml", "solid.toml"] {
        for (i, set) in [
            "show=substances",
            "show=speed",
            "show=vorticity",
            "show=pressure",
            "mode=ink",
            "map=[\"#000\", \"#f80\", \"#fff\"]",
            "map=neon",
            "range=[0.2, 0.3]",
            "gamma=2",
            "exposure=2",
            "relief=0.5",
        ]
        .iter()
        .enumerate()
        {
            let (set, out) = (format!("picture.{set}"), format!("{scene}-{i}"));
            folder.ok(&["run", scene, "-q", "--no-movie", "--frames", "2", "--out", &out, "--set", &set]);
            let picture = squall_io::read_png(folder.path().join(&out).join("frame_0002.png")).unwrap();
            let first = &picture.rgba[..4];
            assert!(picture.rgba.chunks(4).any(|pixel| pixel != first), "{scene} {set}: one flat colour");
            // What is not finite would be magenta.
            assert!(picture.rgba.chunks(4).all(|pixel| pixel != [255, 0, 255, 255]), "{scene} {set}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_estimate_is_near_the_peak_and_not_below_it() {
    let folder = Folder::new("memory");
    let flat = TINY.replace("[24, 32]", "[1000, 1200]");
    let solid = three_dimensional().replace("[12, 16, 10]", "[112, 96, 112]");
    for (name, scene) in [("flat.toml", flat), ("solid.toml", solid)] {
        // Raw fields that wait for a slow disk are counted, but here none waits.
        let scene = scene.replace("fields =", "# fields =");
        folder.write(name, &scene);
        let ended = folder.ok(&["run", name, "--json", "--no-movie", "--frames", "1"]);
        let last: serde_json::Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
        let peak = last["peak_memory"].as_f64().unwrap();
        let (mut setup, _) = squall::Scene::parse(name, &scene, &[]).unwrap().setup().unwrap();
        setup.output.movie = squall::setup::Movie::None;
        let ratio = squall::run::memory_needed(&setup) as f64 / peak;
        println!("{name}: estimate / peak = {ratio}");
        // Allocators and thread stacks come on top of what can be counted.
        assert!((0.97..1.15).contains(&ratio), "{name}: estimate / peak = {ratio}, peak {peak}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_estimate_of_fog_without_bounds_is_near_the_peak() {
    let folder = Folder::new("fog-memory");
    let fog = "model = \"smoke\"\n[grid]\ncells = [96, 32, 64]\nsize = [3.0, 1.0, 2.0]\n[boundary]\nx = \"unbounded\"\n\
               y = { lo = \"slip\", hi = \"unbounded\" }\nz = \"unbounded\"\n[substance.density]\ninitial = \"0.5+0.4*noise\"\n\
               [[force]]\nnoise = { strength = 1.0, scale = 0.4, speed = 1.0 }\n[time]\nframes = 1\n[output]\nwidth = 64\n\
               movie = \"none\"\nvdb = false\n[render]\nquality = \"preview\"\n";
    folder.write("fog.toml", fog);
    let ended = folder.ok(&["run", "fog.toml", "--json"]);
    let last: serde_json::Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
    let peak = last["peak_memory"].as_f64().unwrap();
    let (setup, _) = squall::Scene::parse("fog.toml", fog, &[]).unwrap().setup().unwrap();
    let ratio = squall::run::memory_needed(&setup) as f64 / peak;
    println!("estimate / peak = {ratio}");
    // Without the cells around the fog and the noise it was less than half. Tiles at corners that no fog reaches are counted: 1.2.
    assert!((0.85..1.3).contains(&ratio), "estimate / peak = {ratio}, peak {peak}");
}

#[test]
fn the_initial_state_is_frame_0_if_it_is_asked_for() {
    let folder = Folder::with_tiny("start");
    folder.ok(&["run", "tiny.toml", "-q", "--set", "time.include_start=true", "--frames", "2"]);
    let files = folder.files("out/tiny");
    assert!((0..=2).all(|k| files.contains_key(&format!("frame_000{k}.png"))), "{:?}", files.keys());
}

#[test]
fn a_finished_run_is_not_computed_again_but_its_movie_is_made_if_missing() {
    let folder = Folder::with_tiny("again");
    folder.ok(&["run", "tiny.toml", "-q"]);
    let before = folder.files("out/tiny");
    std::fs::remove_file(folder.path().join("out/tiny/tiny.gif")).unwrap();
    let ended = folder.ok(&["run", "tiny.toml"]);
    assert!(ended.stdout.contains("already exist"), "{}", ended.stdout);
    assert_same(&before, &folder.files("out/tiny"), "again");
}

#[test]
fn a_longer_run_goes_on_from_a_shorter_one() {
    let folder = Folder::with_tiny("longer");
    folder.ok(&["run", "tiny.toml", "-q", "--out", "whole"]);
    folder.ok(&["run", "tiny.toml", "-q", "--out", "parts", "--frames", "2"]);
    let ended = folder.ok(&["run", "tiny.toml", "--out", "parts"]);
    assert!(ended.stdout.contains("resumed after frame 2"), "{}", ended.stdout);
    assert_same(&folder.files("whole"), &folder.files("parts"), "longer");
}

/// Wind, tiles that come and go, and an object that moves by an expression: whatever the next step depends on is saved.
#[test]
fn unbounded_smoke_past_a_turning_plate_in_changing_wind_goes_on_to_the_same_bytes() {
    let folder = Folder::new("plate");
    let scene = r#"
        model = "smoke"
        [grid]
        cells = [48, 48]
        [smoke]
        wind = ["0.4 + 0.2*sin(5*t)", 0.0]
        [[source]]
        shape = { sphere = { center = [0.5, 0.15], radius = 0.06 } }
        set = { density = 1.0, temperature = 150.0 }
        velocity = [0.0, 0.7]
        [[object]]
        name = "plate"
        shape = { box = { min = [0.4, 0.5], max = [0.6, 0.53] } }
        rotation = "40*t"
        [time]
        frames = 48
        [output]
        width = 48
        fields = ["density", "velocity"]
        movie = "none"
    "#;
    folder.write("plate.toml", scene);
    folder.ok(&["run", "plate.toml", "-q", "--out", "whole"]);
    for frames in ["6", "13", "20", "27", "34", "41", "48"] {
        folder.ok(&["run", "plate.toml", "-q", "--out", "parts", "--frames", frames]);
    }
    assert_same(&folder.files("whole"), &folder.files("parts"), "in parts");
}

#[test]
fn smoke_that_outgrows_its_memory_stops_with_its_state_saved() {
    let folder = Folder::new("grows");
    let scene = r#"
        model = "smoke"
        [grid]
        cells = [24, 40, 24]
        [[source]]
        shape = { sphere = { center = [0.5, 0.2, 0.5], radius = 0.2 } }
        set = { density = 1.0, temperature = 240.0 }
        velocity = [0.0, 3.0, 0.0]
        [time]
        frames = 20
        [output]
        width = 32
        vdb = false
        movie = "none"
    "#;
    folder.write("s.toml", scene);
    let ended = folder.squall(&["run", "s.toml", "-q", "--memory-limit", "45MB"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("--memory-limit"), "{}", ended.stderr);
    let ended = folder.ok(&["run", "s.toml"]);
    assert!(ended.stdout.contains("resumed after frame"), "{}", ended.stdout);
    folder.ok(&["run", "s.toml", "-q", "--out", "whole"]);
    assert_same(&folder.files("whole"), &folder.files("out/s"), "with more memory");
}

#[test]
fn a_still_is_one_frame_of_the_film_and_a_later_one_goes_on_from_it() {
    let folder = Folder::with_tiny("still");
    folder.ok(&["run", "tiny.toml", "-q"]);
    let film = folder.files("out/tiny");
    for frame in [2, 5, 3] {
        folder.ok(&["run", "tiny.toml", "-q", "--frame", &frame.to_string()]);
        let still = folder.files("out/tiny_still");
        let name = format!("frame_{frame:04}.png");
        assert!(still[&name] == film[&name], "{name} differs");
        assert!(!still.contains_key("frame_0001.png") && !still.contains_key("tiny_still.gif"), "{:?}", still.keys());
    }
    let ended = folder.squall(&["run", "tiny.toml", "--frame", "7"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
}

#[test]
fn restarting_computes_everything_again() {
    let folder = Folder::with_tiny("restart");
    folder.ok(&["run", "tiny.toml", "-q"]);
    let before = folder.files("out/tiny");
    let ended = folder.ok(&["run", "tiny.toml", "--restart"]);
    assert!(!ended.stdout.contains("resumed") && !ended.stdout.contains("already"), "{}", ended.stdout);
    assert_same(&before, &folder.files("out/tiny"), "restart");
}

#[test]
fn another_scenes_folder_is_refused_unless_overwriting_is_allowed() {
    let folder = Folder::with_tiny("other");
    folder.ok(&["run", "tiny.toml", "-q", "--out", "here"]);
    let before = folder.files("here");
    let other = ["run", "tiny.toml", "--out", "here", "--set", "seed=2", "--set", "picture.map=ice"];
    let ended = folder.squall(&other);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("`tiny` run with other options") && ended.stderr.contains("--overwrite"),
        "{}",
        ended.stderr
    );
    assert_same(&before, &folder.files("here"), "refused");
    folder.ok(&[&other[..], &["--overwrite"]].concat());
    assert_ne!(before["frame_0006.png"], folder.files("here")["frame_0006.png"]);
}

#[test]
fn an_edited_scene_replaces_its_own_output_and_nothing_of_the_users() {
    let folder = Folder::with_tiny("edited");
    folder.ok(&["run", "tiny.toml", "-q"]);
    let before = folder.files("out/tiny");
    std::fs::write(folder.path().join("out/tiny/notes.txt"), "mine").unwrap();
    folder.write("tiny.toml", &TINY.replace("strength = 9.0", "strength = 4.0"));
    let ended = folder.ok(&["run", "tiny.toml"]);
    assert!(ended.stderr.contains("the scene has changed"), "{}", ended.stderr);
    assert_ne!(before["frame_0006.png"], folder.files("out/tiny")["frame_0006.png"]);
    assert_eq!(std::fs::read(folder.path().join("out/tiny/notes.txt")).unwrap(), b"mine");

    // In a folder that is not a run's, files with our names are somebody's.
    std::fs::create_dir(folder.path().join("work")).unwrap();
    for name in ["scene.toml", "tiny.gif", "steps.csv", "frame_0001.png"] {
        folder.write(&format!("work/{name}"), TINY);
        for flag in ["--resume", "--restart", "--overwrite"] {
            let ended = folder.squall(&["run", "tiny.toml", "--out", "work", flag]);
            assert_eq!(ended.code, Some(2), "{name} {flag}: {}", ended.stderr);
            assert!(ended.stderr.contains(name), "{}", ended.stderr);
        }
        assert_eq!(std::fs::read_to_string(folder.path().join("work").join(name)).unwrap(), TINY);
        std::fs::remove_file(folder.path().join("work").join(name)).unwrap();
    }
}

#[test]
fn a_preview_is_quick_and_has_a_folder_of_its_own() {
    let folder = Folder::with_tiny("preview");
    folder.ok(&["run", "tiny.toml", "--preview", "-q"]);
    let scene = std::fs::read_to_string(folder.path().join("out/tiny_preview/scene.toml")).unwrap();
    assert!(scene.contains("cells = [12, 16]"), "{scene}");
    assert!(!folder.path().join("out/tiny").exists());
}

#[test]
fn a_frame_that_has_vanished_is_named_and_made_again() {
    let folder = Folder::with_tiny("vanished");
    folder.ok(&["run", "tiny.toml", "-q"]);
    std::fs::remove_file(folder.path().join("out/tiny/frame_0002.png")).unwrap();
    let ended = folder.squall(&["run", "tiny.toml", "--frames", "7"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("frame_0002.png") && ended.stderr.contains("made again"), "{}", ended.stderr);
    assert!(folder.path().join("out/tiny/frame_0002.png").exists());
}

#[test]
fn cells_that_are_cubes_stay_cubes_at_any_scale() {
    let folder = Folder::new("scale");
    for scale in ["0.55", "0.1", "0.37", "1.3"] {
        folder.ok(&["check", "ground_fog", "--scale", scale]);
    }
}

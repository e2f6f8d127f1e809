//! What the command says, and its exit codes.

use std::time::{Duration, Instant};

use super::common::{Folder, TINY};

#[test]
fn help_lists_every_subcommand_and_the_exit_codes() {
    let help = Folder::new("help").ok(&["--help"]).stdout;
    for word in ["run", "check", "info", "scenes", "new", "schema", "completions", "bench", "Examples", "Exit codes"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    let run = Folder::new("help-run").ok(&["run", "--help"]).stdout;
    for word in ["--set", "--frames", "--threads", "--json", "--restart", "--overwrite", "--strict", "--memory-limit"] {
        assert!(run.contains(word), "{word}: {run}");
    }
}

#[test]
fn the_version_is_told() {
    let ended = Folder::new("version").ok(&["--version"]);
    assert_eq!(ended.stdout.trim(), concat!("squall ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_exist_for_every_shell() {
    let folder = Folder::new("completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(folder.ok(&["completions", shell]).stdout.contains("squall"), "{shell}");
    }
    // The shell asks the program: what begins with "plu"?
    let words = ["--", "squall", "run", "plu"];
    let mut asked = folder.command(&words);
    asked.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "2").env("_CLAP_IFS", "\n");
    let answer = String::from_utf8(asked.output().unwrap().stdout).unwrap();
    assert!(answer.lines().any(|line| line.starts_with("plume_3d")), "{answer}");
}

#[test]
fn there_is_a_manual_page_and_a_list_of_templates() {
    let folder = Folder::new("manual");
    assert!(folder.ok(&["man"]).stdout.contains(".TH squall"));
    folder.ok(&["man", "--out", "pages"]);
    assert!(folder.path().join("pages/squall-run.1").exists());
    let list = folder.ok(&["new", "--list"]).stdout;
    for template in ["3d", "fire", "morph", "tile", "loop", "obstacle", "water"] {
        assert!(list.contains(template), "{list}");
        folder.ok(&["new", template, "--template", template, "-q"]);
        folder.ok(&["check", &format!("{template}.toml"), "-q"]);
    }
    assert_eq!(folder.squall(&["new", "x", "--template", "nothing"]).code, Some(2));
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = Folder::with_tiny("usage");
    for args in [
        &["run"][..],
        &["dance"],
        &["run", "tiny.toml", "--frames", "many"],
        &["run", "tiny.toml", "--threads", "0"],
        &["run", "tiny.toml", "--memory-limit", "8 parsecs"],
        &["run", "tiny.toml", "--resume", "--restart"],
    ] {
        let ended = folder.squall(args);
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn an_unknown_scene_suggests_the_nearest() {
    let ended = Folder::new("unknown").squall(&["run", "plumme"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("did you mean `plume`?"), "{}", ended.stderr);
}

#[test]
fn a_mistake_in_an_override_shows_the_override() {
    let folder = Folder::with_tiny("typo");
    let ended = folder.squall(&["run", "tiny.toml", "--set", "solver.clf=1"]);
    assert_eq!(ended.code, Some(3));
    for part in ["--set", "solver.clf=1", "did you mean `cfl`?"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_mistake_in_a_file_shows_the_line() {
    let folder = Folder::new("mistake");
    folder.write("s.toml", &TINY.replace("frames = 6", "frames = -6"));
    let ended = folder.squall(&["check", "s.toml"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("s.toml:14") && ended.stderr.contains("frames = -6"), "{}", ended.stderr);
}

#[test]
fn a_file_that_is_no_text_is_refused() {
    let folder = Folder::new("binary");
    std::fs::write(folder.path().join("s.toml"), [0x41, 0xff, 0xfe]).unwrap();
    let ended = folder.squall(&["run", "s.toml"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("byte 1"), "{}", ended.stderr);
}

#[test]
fn a_box_that_cannot_fit_is_refused_at_once() {
    let folder = Folder::new("huge");
    for (cells, limit) in
        [("[4096, 4096, 4096]", None), ("[1200, 1200, 1200]", Some("20GB")), ("[64, 64]", Some("1MB"))]
    {
        folder.write("s.toml", &format!("[grid]\ncells = {cells}\n"));
        let begun = Instant::now();
        let mut args = vec!["run", "s.toml"];
        args.extend(limit.iter().flat_map(|limit| ["--memory-limit", limit]));
        let ended = folder.squall(&args);
        assert_eq!(ended.code, Some(4), "{cells}: {}", ended.stderr);
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert!(!folder.path().join("out").exists(), "{cells}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_ends_with_5_and_is_named() {
    let folder = Folder::with_tiny("no-folder");
    let ended = folder.squall(&["run", "tiny.toml", "--out", "tiny.toml/out"]);
    assert_eq!(ended.code, Some(5));
    assert!(ended.stderr.contains("tiny.toml/out"), "{}", ended.stderr);
}

#[cfg(unix)]
#[test]
fn a_write_that_fails_ends_with_5_and_leaves_no_torn_file() {
    let folder = Folder::with_tiny("full");
    let squall = env!("CARGO_BIN_EXE_squall");
    // Files may not grow beyond a block: what a full disk looks like to a program that ignores the signal.
    let script = format!("trap '' XFSZ; ulimit -f 1; exec {squall} run tiny.toml --out out --set output.width=400");
    let output = std::process::Command::new("sh").current_dir(folder.path()).args(["-c", &script]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    assert!(stderr.contains("cannot write"), "{stderr}");
    for entry in std::fs::read_dir(folder.path().join("out")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!([".squall-lock", "squall.json", "steps.csv", "timings.csv"].contains(&name.as_str()), "{name}");
    }
}

#[test]
fn a_value_that_is_not_finite_ends_with_6_and_names_field_cell_and_time() {
    let folder = Folder::new("nan");
    // Fine until t = 0.1 s, then the square root of a negative number.
    folder.write("s.toml", &(TINY.to_owned() + "\n[[force]]\nexpression = [\"sqrt(0.1 - t)\", \"0\"]\n"));
    let ended = folder.squall(&["run", "s.toml"]);
    assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    for part in ["became NaN", "in cell [", "at t = 0."] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let files = folder.files("out/s");
    assert!(files.contains_key("frame_0002.png") && !files.contains_key("frame_0005.png"), "{:?}", files.keys());
    assert!(!String::from_utf8_lossy(&files["steps.csv"]).contains("NaN"));
}

#[test]
fn too_many_steps_in_a_frame_name_the_fix() {
    let folder = Folder::new("fast");
    let scene = TINY.replace("velocity = [0.1, 0.8]", "velocity = [0.0, 1e7]");
    folder.write("source.toml", &(scene + "\n[solver]\ncfl = 0.01\n"));
    // What the scene prescribes is known before; what forces do, after some steps.
    folder.write(
        "force.toml",
        &(TINY.to_owned() + "\n[[force]]\nexpression = [\"0\", \"1e12*x\"]\n[solver]\ncfl = 0.01\n"),
    );
    for (file, code) in [("source.toml", 3), ("force.toml", 6)] {
        let ended = folder.squall(&["run", file]);
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        assert!(ended.stderr.contains("solver.cfl"), "{}", ended.stderr);
    }
}

#[test]
fn an_mp4_without_ffmpeg_is_refused_before_anything_is_computed() {
    let folder = Folder::with_tiny("mp4");
    let output = folder.command(&["run", "tiny.toml", "--set", "output.movie=mp4"]).env("PATH", "").output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stderr).contains("ffmpeg"));
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_strict_run_ends_well_because_the_solver_is_direct() {
    let told = Folder::with_tiny("strict").ok(&["run", "tiny.toml", "--strict"]).stdout;
    assert_eq!(told.matches("accounted for").count(), 1, "{told}");
}

#[test]
fn a_damaged_checkpoint_matters_only_to_a_run_that_is_not_finished_and_the_way_out_is_named() {
    let folder = Folder::with_tiny("damaged");
    folder.ok(&["run", "tiny.toml", "-q"]);
    for name in ["checkpoint.sqc", "checkpoint.prev.sqc"] {
        std::fs::write(folder.path().join("out/tiny").join(name), "nonsense").unwrap();
    }
    let ended = folder.ok(&["run", "tiny.toml"]);
    assert!(
        ended.stderr.contains("checkpoint.sqc") && ended.stderr.contains("all frames are there"),
        "{}",
        ended.stderr
    );
    let ended = folder.squall(&["run", "tiny.toml", "--frames", "8"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("checkpoint.sqc") && ended.stderr.contains("--restart"), "{}", ended.stderr);
    folder.ok(&["run", "tiny.toml", "-q", "--restart"]);
}

#[test]
fn the_benchmark_measures_one_case_and_knows_its_cases() {
    let folder = Folder::new("bench");
    let case = ["bench", "--quick", "--json", "--case", "plume64", "--threads", "2"];
    let ended = folder.ok(&case);
    let line: serde_json::Value = serde_json::from_str(ended.stdout.trim()).unwrap();
    assert!(line["seconds_per_step"].as_f64().unwrap() > 0.0);
    assert!(line["times_faster"].is_null());
    let ended = folder.ok(&[&case[..], &["--against", "100"]].concat());
    let line: serde_json::Value = serde_json::from_str(ended.stdout.trim()).unwrap();
    let (seconds, faster) = (line["seconds_per_step"].as_f64().unwrap(), line["times_faster"].as_f64().unwrap());
    assert!((faster * seconds / 100.0 - 1.0).abs() < 1e-12);
    for (against, message) in [("1,2", "2 times for 1 numbers of threads"), ("0", "is no time")] {
        let ended = folder.squall(&[&case[..], &["--against", against]].concat());
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains(message), "{}", ended.stderr);
    }
    let ended = folder.squall(&["bench", "--case", "plume65"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("plume64"), "{}", ended.stderr);
}

#[test]
fn json_lines_are_json_and_tell_the_whole_story() {
    let folder = Folder::with_tiny("json");
    let ended = folder.ok(&["run", "tiny.toml", "--json"]);
    let lines: Vec<serde_json::Value> = ended.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let events: Vec<&str> = lines.iter().map(|l| l["event"].as_str().unwrap()).collect();
    assert_eq!((events[0], *events.last().unwrap()), ("started", "finished"));
    assert_eq!(events.iter().filter(|e| **e == "frame").count(), 6);
    let last = lines.last().unwrap();
    assert_eq!((&last["outcome"], &last["frames"]), (&"done".into(), &6.into()));
    assert_eq!(ended.stderr, "");

    let (mass, ledger) = (&last["masses"][0], &last["masses"][0]["ledger"]);
    assert!(ledger["emitted"].as_f64() > Some(0.0) && ledger["unexplained"].is_number(), "{mass}");
    assert!(mass["trouble"].is_null() && mass["worst_unexplained_per_second"].is_number(), "{mass}");

    let ended = folder.ok(&["run", "tiny.toml", "--json", "-v", "--restart"]);
    let mut lines = ended.stdout.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    let step = lines.rfind(|l| l["event"] == "step").unwrap();
    let account = &step["ledger"]["substances"]["density"];
    for entry in ["before", "emitted", "sides", "solids", "corrected", "unexplained", "after"] {
        assert!(account[entry].is_number(), "{entry} in {step}");
    }
    assert!(step["ledger"]["volume"]["sides"].is_number() && step["ledger"]["momentum"].is_array(), "{step}");

    let ended = folder.squall(&["run", "nothing.toml", "--json"]);
    let line: serde_json::Value = serde_json::from_str(ended.stdout.trim()).unwrap();
    assert_eq!((&line["event"], &line["code"]), (&"error".into(), &3.into()));
}

#[test]
fn what_check_prints_is_a_scene_with_the_same_meaning() {
    let folder = Folder::with_tiny("check");
    let first = folder.ok(&["check", "tiny.toml"]).stdout;
    for part in ["# Pressure:", "# Memory:", "# Time: 6 frames"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    folder.write("full.toml", &first);
    let second = folder.ok(&["check", "full.toml"]).stdout;
    let without_remarks = |s: &str| s.lines().filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("\n");
    assert_eq!(without_remarks(&first), without_remarks(&second));
}

#[test]
fn scaling_changes_the_cells_but_not_the_box() {
    let folder = Folder::new("scale");
    folder.write("box.toml", "[grid]\ncells = [40, 20]\n");
    let half = folder.ok(&["check", "box.toml", "--scale", "0.5"]).stdout;
    assert!(half.contains("cells = [20, 10]") && half.contains("size = [1.0, 0.5]"), "{half}");
    let ended = folder.squall(&["check", "box.toml", "--scale", "0"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("between 0.001 and 100"), "{}", ended.stderr);
}

#[test]
fn a_new_scene_runs_and_is_never_overwritten() {
    let folder = Folder::new("new");
    folder.ok(&["new", "storm"]);
    folder.ok(&["check", "storm.toml", "-q"]);
    folder.write("storm.toml", "mine");
    let ended = folder.squall(&["new", "storm"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("--force"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(folder.path().join("storm.toml")).unwrap(), "mine");
    folder.ok(&["new", "storm", "--force"]);
    folder.ok(&["check", "storm.toml", "-q"]);
}

#[test]
fn every_scene_of_the_gallery_is_listed_and_right() {
    let folder = Folder::new("gallery");
    let list = folder.ok(&["scenes"]).stdout;
    for scene in squall::gallery::all() {
        assert!(list.contains(scene.name) && list.contains(&scene.description()), "{list}");
        assert_eq!(folder.ok(&["scenes", scene.name]).stdout, scene.text);
        folder.ok(&["check", scene.name, "-q"]);
    }
}

#[test]
fn a_file_wins_over_the_gallery() {
    let folder = Folder::new("wins");
    folder.write("plume", "[grid]\ncells = [5, 7]\n");
    assert!(folder.ok(&["check", "plume"]).stdout.contains("cells = [5, 7]"));
}

#[test]
fn the_schema_is_json() {
    let text = Folder::new("schema").ok(&["schema"]).stdout;
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["title"], "Squall scene");
}

#[test]
fn errors_have_no_colours_where_nobody_sees_them() {
    let ended = Folder::new("colours").squall(&["run", "nothing.toml"]);
    assert!(!ended.stderr.contains('\u{1b}'), "{}", ended.stderr);
}

#[test]
fn quiet_runs_say_nothing() {
    let folder = Folder::with_tiny("quiet");
    let ended = folder.ok(&["run", "tiny.toml", "-q"]);
    assert_eq!((ended.stdout, ended.stderr), (String::new(), String::new()));
}

/// Smoke that forms what is in a file.
fn target(figure: &str) -> String {
    format!(
        "model = \"target_smoke\"\n[grid]\ncells = [32, 32]\n[substance.density]\nstart = {{ text = \"A\" }}\n[[target]]\n\
         time = 1.0\nfigure = {{ {figure} }}\n"
    )
}

#[test]
fn a_drawing_that_makes_the_library_panic_is_bad_input_and_no_bug() {
    let folder = Folder::new("svg-panic");
    folder.write("scene.toml", &target("image = \"a.svg\""));
    let scaled = |n: usize, inner: &str| {
        let (open, close) = ("<g transform=\"scale(9e6)\">".repeat(n), "</g>".repeat(n));
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\">{open}{inner}{close}</svg>")
    };
    // Each factor is allowed; together they overflow.
    for inner in
        ["<circle r=\"9e6\"/>", "<text y=\"5\" font-size=\"9e6\">Ag</text>", "<circle r=\"1\" stroke=\"red\"/>"]
    {
        for n in [1, 2, 3, 5, 7] {
            folder.write("a.svg", &scaled(n, inner));
            let ended = folder.squall(&["check", "scene.toml"]);
            assert!([Some(0), Some(3)].contains(&ended.code), "{n} {inner}: {:?} {}", ended.code, ended.stderr);
            assert!(!ended.stderr.contains("bug"), "{}", ended.stderr);
        }
    }
}

#[test]
fn messages_name_the_scene_even_if_nothing_in_it_is_to_blame() {
    let folder = Folder::new("no-place");
    folder.write("empty.toml", "");
    folder.write(
        "aimless.toml",
        "model = \"target_smoke\"\n[grid]\ncells = [8, 8]\n[substance.density]\ninitial = 1.0\n",
    );
    folder.write("deep.toml", &format!("a = {}", "[".repeat(100_000)));
    for name in ["empty.toml", "aimless.toml", "deep.toml"] {
        let ended = folder.squall(&["check", name]);
        assert_eq!(ended.code, Some(3), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(name), "{name}: {}", ended.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_is_there_but_cannot_be_read_ends_with_5() {
    let folder = Folder::new("unreadable");
    folder.write("scene.toml", &target("image = \"loop.png\""));
    assert_eq!(
        folder.squall(&["check", "scene.toml"]).code,
        Some(3),
        "a file that is missing is a mistake of the scene"
    );
    // A link to itself: what permissions are to others than root.
    std::os::unix::fs::symlink("loop.png", folder.path().join("loop.png")).unwrap();
    let ended = folder.squall(&["check", "scene.toml"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert!(ended.stderr.contains("loop.png"), "{}", ended.stderr);
}

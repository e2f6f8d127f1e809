//! `squall morph`: a movie without a scene file.

use super::common::Folder;

const SMALL: [&str; 6] = ["--resolution=48", "--duration=1", "--hold=0.2", "--width=64", "--fps=10", "--quiet"];

fn words<'a>(shapes: &[&'a str], options: &[&'a str]) -> Vec<&'a str> {
    [&["morph"], shapes, &SMALL[..], options].concat()
}

#[test]
fn letters_become_others_in_frames_a_movie_and_a_chart() {
    let folder = Folder::new("morph");
    folder.ok(&words(&["text:A", "text:B"], &["--plot"]));
    let files = folder.files("out/a-to-b");
    for name in ["frame_0001.png", "frame_0012.png", "a-to-b.gif", "targets.csv", "targets.png", "scene.toml"] {
        assert!(files.contains_key(name), "{name}: {:?}", files.keys());
    }
    assert!(!files.contains_key("frame_0013.png"), "1.2 seconds at 10 frames per second");
    let table = String::from_utf8(files["targets.csv"].clone()).unwrap();
    let column = table.lines().next().unwrap().split(',').position(|name| name == "density.raw_error").unwrap();
    let errors: Vec<f64> =
        table.lines().skip(1).map(|line| line.split(',').nth(column).unwrap().parse().unwrap()).collect();
    // A and B share about half of their area; formed, all but edges is in place.
    assert!(errors.last() < Some(&(0.6 * errors[0])), "{errors:?}");
}

#[test]
fn the_printed_scene_makes_the_same_frames() {
    let folder = Folder::new("morph-scene");
    let printed = folder.ok(&words(&["cloud", "text:Hi"], &["--release=0.5", "--softness=1.5", "--print-scene"]));
    assert!(!folder.path().join("out").exists(), "nothing is run");
    folder.write("mine.toml", &printed.stdout);
    folder.ok(&["run", "mine.toml", "--quiet", "--out", "mine"]);
    folder.ok(&words(&["cloud", "text:Hi"], &["--release=0.5", "--softness=1.5", "--out=direct"]));
    let (mine, direct) = (folder.files("mine"), folder.files("direct"));
    for name in ["frame_0001.png", "frame_0017.png"] {
        assert!(mine[name] == direct[name], "{name} differs");
    }
}

#[test]
fn pictures_of_other_folders_are_found() {
    let folder = Folder::new("morph-elsewhere");
    std::fs::create_dir_all(folder.path().join("work")).unwrap();
    folder.write(
        "disc.svg",
        "<svg xmlns='http://www.w3.org/2000/svg' width='30' height='20'><circle cx='15' cy='10' r='8'/></svg>",
    );
    let mut command = folder.command(&words(&["text:O", "../disc.svg"], &["--overwrite", "--set", "time.frames=2"]));
    let ended = command.current_dir(folder.path().join("work")).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(folder.path().join("work/out/o-to-disc/frame_0002.png").is_file());
}

#[test]
fn tuning_tells_what_it_chose_and_what_came_of_it() {
    let folder = Folder::new("morph-tune");
    let mut words = words(&["cloud", "text:I"], &["--tune=0.5"]);
    words.retain(|word| *word != "--quiet");
    let told = folder.ok(&words).stdout;
    assert!(told.contains("strength") && told.contains("gathering") && told.contains("48 x 28 cells"), "{told}");
    assert!(told.contains("0.5 was wanted"), "{told}");
}

#[test]
fn a_solid_morph_is_taken_by_a_camera() {
    let folder = Folder::new("morph-3d");
    folder.write("tetra.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    let mut words = words(&["cloud", "tetra.obj"], &["--resolution=20", "--set", "time.frames=2"]);
    words.retain(|word| *word != SMALL[0]);
    folder.ok(&words);
    assert!(folder.files("out/cloud-to-tetra").contains_key("frame_0002.png"));
}

#[test]
fn wrong_arguments_are_named_with_a_way_out() {
    let folder = Folder::new("morph-wrong");
    folder.write("a.obj", "v 0 0 0\n");
    folder.write("notes.txt", "hello");
    for (args, code, parts) in [
        (&["morph", "text:A"][..], 2, &["TO"][..]),
        (&["morph", "text:A", "text:"], 2, &["`text:`", "text:Hello"]),
        (&["morph", "text:A", "Squall"], 3, &["`Squall`", "text:Squall"]),
        (&["morph", "text:A", "b.png"], 3, &["`b.png`", "present folder"]),
        (&["morph", "text:A", "notes.txt"], 3, &["notes.txt", "svg"]),
        (&["morph", "text:A", "a.obj"], 2, &["`text:A` is flat", "--3d"]),
        (&["morph", "cloud", "cloud"], 2, &["cloud", "picture"]),
    ] {
        let ended = folder.squall(args);
        assert_eq!(ended.code, Some(code), "{args:?}: {}", ended.stderr);
        assert!(parts.iter().all(|part| ended.stderr.contains(part)), "{args:?}: {}", ended.stderr);
    }
    assert!(!folder.path().join("out").exists());
}

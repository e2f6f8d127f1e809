//! Scenes with `[fire]`: read, run, stopped, written.

use crate::folder::{Folder, go, options};
use squall::run::{CancelToken, Outcome, run};
use squall::{Event, Scene, Setup};
use squall_io::read_vdb;

/// A burner without bounds above a floor, with embers, detail, and everything that is written.
const BURNER: &str = r#"
model = "smoke"
[grid]
cells = [16, 24, 16]
[boundary]
x = "unbounded"
y = { lo = "slip", hi = "unbounded" }
z = "unbounded"
[fire]
rate = 30.0
[embers]
rate = 3000.0
[texture]
detail = {}
[[source]]
shape = { sphere = { center = [0.5, 0.2, 0.5], radius = 0.15 } }
set = { fuel = 1.0, temperature = 600.0 }
noise = 0.5
[time]
frames = 4
[output]
width = 32
particles = ["ply", "npy"]
[render]
quality = "preview"
"#;

fn parse(text: &str, overrides: &[&str]) -> Result<(Setup, Vec<squall::diagnostic::Problem>), String> {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    Scene::parse("fire.toml", text, &overrides).and_then(|s| s.setup()).map_err(|e| e.to_text())
}

fn setup(text: &str, overrides: &[&str]) -> Setup {
    parse(text, overrides).unwrap_or_else(|text| panic!("{text}")).0
}

#[test]
fn fire_stopped_after_every_step_writes_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new("fire-steps");
    let setup = setup(BURNER, &[]);
    let threads = |n: usize| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    threads(1).install(|| go(&setup, &folder.0.join("whole")));
    let whole = folder.files("whole");
    for name in ["frame_0004.png", "volume_0004.vdb", "particles_0004.ply", "particles_heat_0004.npy"] {
        assert!(whole.contains_key(name), "{name} is missing");
    }
    loop {
        let cancel = CancelToken::default();
        let token = cancel.clone();
        let mut stop = move |event: &Event<'_>| {
            if matches!(event, Event::Step { .. }) {
                token.cancel();
            }
        };
        let part = threads(2).install(|| run(&setup, &options(&folder.0.join("parts")), &mut stop, &cancel)).unwrap();
        if part.outcome != Outcome::Cancelled {
            break;
        }
    }
    let parts = folder.files("parts");
    for (name, bytes) in whole.iter().filter(|(name, _)| !name.ends_with(".csv") && !name.ends_with(".json")) {
        assert!(*bytes == parts[name], "{name} differs");
    }
}

#[test]
fn volumes_of_fire_have_the_names_that_other_programs_look_for() {
    let folder = Folder::new("fire-volumes");
    go(&setup(BURNER, &["output.particles=false"]), &folder.0.join("run"));
    let file = read_vdb(folder.0.join("run/volume_0004.vdb")).unwrap();
    let names: Vec<&str> = file.grids.iter().map(|grid| grid.name.as_str()).collect();
    for name in ["density", "temperature", "flame", "fuel"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}

#[test]
fn what_cannot_burn_is_told() {
    let told = |overrides: &[&str]| match parse(BURNER, overrides) {
        Ok((_, warnings)) => warnings.iter().map(|w| w.message().to_owned()).collect::<Vec<_>>().join("\n"),
        Err(text) => text,
    };
    assert_eq!(told(&[]), "");
    assert!(told(&["source.0.set={ temperature = 600.0 }"]).contains("never any fuel"));
    assert!(told(&["source.0.set={ fuel = 1.0, temperature = 100.0 }"]).contains("hot enough to light"));
    assert!(told(&["time.loop=16"]).contains("`embers` in a loop"));
    let without = BURNER.replace("[fire]\nrate = 30.0\n", "").replace("fuel = 1.0, ", "");
    assert!(parse(&without, &[]).unwrap_err().contains("`embers` without a fire"));
    let nothing = without.replace("[embers]\nrate = 3000.0\n", "");
    assert!(parse(&nothing, &[]).unwrap_err().contains("smoke has no particles"));
    let flat = BURNER.replace("[16, 24, 16]", "[16, 24]").replace("z = \"unbounded\"\n", "");
    assert!(parse(&flat, &[]).unwrap_err().contains("`texture.detail` in a 2D scene"));
}

#[test]
fn letters_can_be_a_source() {
    let text =
        BURNER.replace("shape = { sphere = { center = [0.5, 0.2, 0.5], radius = 0.15 } }", "figure = { text = \"I\" }");
    let overrides = ["output.particles=false", "output.vdb=false", "time.frames=1"];
    let setup = setup(&text, &overrides);
    let mut driver = squall::Driver::new(&setup).unwrap();
    driver.run_to_time(1.0 / 30.0).unwrap();
    let mut fuel = Vec::new();
    assert!(driver.simulation().read("fuel", 0, &mut fuel));
    // An upright bar in the middle of the box.
    let at = |x: usize, y: usize| fuel[x + 16 * (y + 24 * 8)];
    assert!(at(8, 12) > 0.1 && at(2, 12) == 0.0 && at(14, 12) == 0.0, "{} {} {}", at(8, 12), at(2, 12), at(14, 12));
}

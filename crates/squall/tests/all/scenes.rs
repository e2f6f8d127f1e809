//! Good scenes: what they resolve to, that the resolved form reads back, and that no text whatever makes the reader panic.

use squall::expr::Expr;
use squall::setup::{Axis, ColorMap, End, ForceKind, Formula, Shape, Show, Side};
use squall::{Scene, Setup, gallery, schema};

fn setup_with(text: &str, overrides: &[&str]) -> Setup {
    let overrides: Vec<String> = overrides.iter().map(|o| o.to_string()).collect();
    let scene = Scene::parse("scene.toml", text, &overrides);
    match scene.and_then(|s| s.with_assets(gallery::assets()).setup()) {
        Ok((setup, _)) => setup,
        Err(e) => panic!("{}", e.to_text()),
    }
}

fn setup(text: &str) -> Setup {
    setup_with(text, &[])
}

/// Every key once, in 3D, with every kind of everything.
const FULL: &str = r##"
description = "all \"of\" it \\ ü"
model = "stable_fluids"
seed = 7
[grid]
cells = [16, 24, 8]
size = [1.0, 1.5, 0.25]
origin = [-0.5, 0.0, 0.1]
[boundary]
x = "periodic"
y = { lo = { inflow = [0.0, 0.5, 0.0] }, hi = "open" }
z = { lo = { moving = [1.0, 0.0, 0.0] }, hi = "no_slip" }
[fluid]
viscosity = 1e-5
velocity = [0, "0.1*sin(tau*x)", "noise_z"]
noise_scale = 0.2
[substance.density]
diffusion = 1e-4
dissipation = 0.1
initial = "exp(-(x^2 + y^2)/0.01)"
boundary = { y = { lo = 1.0 }, z = "insulated" }
color = "#f80"
source = "max(0, 0.5 - temperature)*(t < 2)"
[substance.temperature]
initial = "1/3"
[[source]]
shape = { sphere = { center = [0.0, 0.2, 0.2], radius = 0.1 } }
softness = 0.05
set = { temperature = 3.0, density = 1.0 }
velocity = [0.0, 1.0, 0.0]
noise = 0.5
from = 0.25
to = 2.0
[[source]]
shape = { box = { min = [-0.1, 0.0, 0.1], max = [0.1, 0.1, 0.2] } }
rate = { density = 2.0 }
[[source]]
shape = { capsule = { from = [-0.1, 0.5, 0.2], to = [0.1, 0.5, 0.2], radius = 0.04 } }
rate = { temperature = -1.0 }
[[force]]
buoyancy = { substance = "temperature", strength = 0.5, ambient = 0.1 }
from = 0.1
to = 0.7
[[force]]
uniform = [0.0, -1.0, 0.0]
[[force]]
wind = { velocity = [1.0, 0.0, 0.0], rate = 2.0 }
[[force]]
vortex = { center = [0.0, 0.5, 0.2], axis = [1.0, 2.0, 2.0], radius = 0.2, strength = -1.0 }
[[force]]
noise = { strength = 1.0, scale = 0.1, speed = 2.0, substance = "density" }
[[force]]
radial = { center = [0.0, 0.5, 0.2], radius = 0.2, strength = 1.0 }
[[force]]
expression = ["-u", "density*temperature", "0"]
[solver]
advection = "monotone_cubic"
splitting = "reflection"
advect_with = "cell"
tracer = "rk3"
diffusion = "exact"
filter = 0.1
cfl = 1.5
max_dt = 0.01
steps_per_frame = 2
[time]
fps = 23.976
frames = 48
include_start = true
[output]
width = 320
movie = "apng"
fields = ["density", "velocity"]
checkpoint_seconds = 5
[picture]
show = "substances"
map = ["#000", "#ff8800", "#ffffff"]
range = [0.0, 2.0]
mode = "ink"
background = ["#ffffff", "#eeeeff"]
relief = 0.2
exposure = 1.1
opacity = 2.0
gamma = 1.5
"##;

#[test]
fn two_numbers_make_a_scene() {
    let s = setup("[grid]\ncells = [128, 192]");
    assert_eq!((s.dimensions(), s.cell_count()), (2, 128 * 192));
    assert_eq!((s.grid.size, s.grid.origin), (vec![1.0, 1.5], vec![0.0, 0.0]));
    assert!(s.grid.axes.iter().all(|a| *a == Axis::Bounded { lo: Side::Slip, hi: Side::Slip }));
    assert_eq!((s.time.fps, s.time.frames, s.time.include_start), (30.0, 90, false));
    assert_eq!((s.output.width, s.output.height), (640, 960));
    assert_eq!(s.picture.show, Show::Speed);
    assert_eq!((s.seed, s.solver.cfl, s.solver.max_dt, s.solver.filter), (1, 2.0, None, None));
}

#[test]
fn every_key_arrives_where_it_belongs() {
    let s = setup(FULL);
    assert_eq!(s.description, "all \"of\" it \\ ü");
    assert_eq!(s.grid.axes[0], Axis::Periodic);
    assert_eq!(s.grid.axes[1], Axis::Bounded { lo: Side::Inflow(vec![0.0, 0.5, 0.0]), hi: Side::Open });
    assert_eq!(s.grid.axes[2], Axis::Bounded { lo: Side::NoSlip(vec![1.0, 0.0, 0.0]), hi: Side::NoSlip(vec![0.0; 3]) });
    assert_eq!(s.fluid.velocity[0], Formula::Number(0.0));
    assert!(matches!(&s.fluid.velocity[1], Formula::Expression(e) if e.text() == "0.1*sin(tau*x)"));
    let [density, temperature] = &s.substances[..] else { panic!() };
    // File order numbers the substances, whatever their names.
    assert_eq!((density.name.as_str(), temperature.name.as_str()), ("density", "temperature"));
    assert_eq!(density.color, [0xff, 0x88, 0x00]);
    assert_eq!(density.boundary[1], [End::Value(1.0), End::Value(0.0)]);
    // What comes from outside carries nothing unless the scene says so.
    assert_eq!(temperature.boundary[1], [End::Value(0.0), End::Value(0.0)]);
    assert_eq!(temperature.initial, Formula::Number(f64::from(1.0f32 / 3.0)));
    assert_eq!(s.sources[0].set, [(0, 1.0.into()), (1, 3.0.into())]);
    assert_eq!((s.sources[0].active.from, s.sources[1].active.to), (0.25, f64::INFINITY));
    // One cell along the finest axis.
    assert_eq!(s.sources[1].softness, 0.25 / 8.0);
    assert!(matches!(s.sources[2].shape, Shape::Capsule { radius: 0.04, .. }));
    let ForceKind::Vortex { axis, .. } = &s.forces[3].kind else { panic!() };
    assert!(axis.iter().zip([1.0, 2.0, 2.0]).all(|(a, b)| (a - b / 3.0).abs() < 1e-15));
    assert_eq!(s.forces.len(), 7);
    assert_eq!(s.picture.map, ColorMap::Ramp(vec![[0; 3], [0xff, 0x88, 0], [0xff; 3]]));
    assert_eq!((s.time.fps, s.output.height), (23.976, 480));
}

#[test]
fn the_resolved_scene_reads_back_as_itself() {
    let mut texts = vec!["[grid]\ncells = [5, 7]".to_owned(), FULL.to_owned()];
    texts.extend(gallery::TEMPLATES.iter().map(|t| t.scene("mine")));
    texts.extend(gallery::all().iter().map(|s| s.text.to_owned()));
    for text in texts {
        let once = setup(&text);
        let again = setup(&once.to_toml());
        assert_eq!(once, again, "{once}");
        assert_eq!((once.hash(), once.physics_hash()), (again.hash(), again.physics_hash()));
    }
}

#[test]
fn the_fingerprint_follows_what_matters_and_nothing_else() {
    let base = setup(FULL);
    let hashes = |o: &str| {
        let s = setup_with(FULL, &[o]);
        (s.hash() == base.hash(), s.physics_hash() == base.physics_hash())
    };
    for same in ["time.frames=500", "output.checkpoint_seconds=1", "description=other"] {
        assert_eq!(hashes(same), (true, true), "{same}");
    }
    for look in ["picture.gamma=2", "output.width=64", "picture.map=viridis", "time.include_start=false"] {
        assert_eq!(hashes(look), (false, true), "{look}");
    }
    for physics in ["seed=8", "fluid.viscosity=2e-5", "source.0.noise=0.4", "force.6.expression.0=-2*u", "time.fps=24"]
    {
        assert_eq!(hashes(physics), (false, false), "{physics}");
    }
}

#[test]
fn overrides_reach_everything() {
    let s = setup_with(
        FULL,
        &[
            "grid.cells=[8, 8, 8]",
            "grid.cells.1=12",
            " fluid.viscosity = 0.5 ",
            "source.0.set.density=9",
            "picture.map=viridis",
            "picture.show=speed",
            "boundary.x={lo=\"open\"}",
            "substance.dye.initial=x*y",
        ],
    );
    assert_eq!(s.grid.cells, [8, 12, 8]);
    assert_eq!(s.fluid.viscosity, 0.5);
    assert_eq!(s.sources[0].set, [(0, 9.0.into()), (1, 3.0.into())]);
    assert_eq!(s.picture.map, ColorMap::Named("viridis".into()));
    assert_eq!(s.grid.axes[0], Axis::Bounded { lo: Side::Open, hi: Side::Slip });
    assert!(matches!(&s.substances[2].initial, Formula::Expression(e) if e.variables() == ["x", "y"]));
}

#[test]
fn inflow_that_leaves_again_needs_no_open_side() {
    let s =
        setup("[grid]\ncells = [8, 8]\n[boundary]\nx = { lo = { inflow = [0.3, 0.0] }, hi = { inflow = [0.3, 0.1] } }");
    assert!(matches!(&s.grid.axes[0], Axis::Bounded { hi: Side::Inflow(v), .. } if *v == [0.3, 0.1]));
}

#[test]
fn pictures_span_what_the_scene_emits() {
    let base = "[grid]\ncells = [8, 8]\n[substance.heat]\ninitial = 2.0\n";
    assert_eq!(setup(base).picture.range, Some([0.0, 2.0]));
    let emitter = "[[source]]\nset = { heat = 300.0 }\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\n";
    assert_eq!(setup(&format!("{base}{emitter}")).picture.range, Some([0.0, 300.0]));
    assert_eq!(setup(&format!("{base}[picture]\nshow = \"vorticity\"")).picture.range, None);
}

#[test]
fn the_templates_and_the_gallery_are_without_fault() {
    let templates = gallery::TEMPLATES.iter().map(|t| (t.name, t.scene("My \"scene\"\n")));
    for (name, text) in gallery::all().iter().map(|s| (s.name, s.text.to_owned())).chain(templates) {
        let scene = Scene::parse(name, &text, &[]).unwrap().with_assets(gallery::assets());
        let (setup, warnings) = scene.setup().unwrap();
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
        assert!(!setup.description.is_empty(), "{name} has no description");
    }
    assert!(gallery::TEMPLATES.iter().all(|t| t.scene("My \"scene\"\n").contains("My scene: ")));
    assert_eq!(gallery::find("plume").unwrap().description(), "A plume of warm smoke rises in open air");
    assert!(gallery::find("nothing").is_none());
}

#[test]
fn numbers_over_time_are_numbers_keyframes_or_expressions() {
    let base = "model = \"smoke\"\n[grid]\ncells = [16, 16, 16]\n[[source]]\n\
                shape = { sphere = { center = [0.5, 0.2, 0.5], radius = 0.1 } }\n";
    let curve = |value: &str| setup(&format!("{base}set = {{ density = {value} }}")).sources[0].set[0].1.clone();
    assert!(curve("2.0").is(2.0));
    let keys = curve("{ keys = [[0.0, 1.0], [2.0, 3.0]], ease = \"linear\" }");
    assert_eq!([keys.at(-1.0), keys.at(0.5), keys.at(2.0), keys.at(9.0)], [1.0, 1.5, 3.0, 3.0]);
    // Without overshooting, and at rest at its ends.
    let smooth = curve("{ keys = [[0.0, 1.0], [2.0, 3.0]] }");
    assert!(smooth.at(0.1) < 1.05 && (smooth.at(1.0) - 2.0).abs() < 1e-12 && smooth.at(1.9) > 2.95);
    let looped = curve("{ keys = [[0.0, 1.0], [1.0, 3.0]], ease = \"step\", loop = true }");
    assert_eq!([looped.at(0.5), looped.at(1.5)], [1.0, 1.0]);
    assert!((curve("\"1 + t^2\"").at(1.5) - 3.25).abs() < 1e-6);

    let vector = |value: &str| {
        let s = setup(&format!("{base}velocity = {value}"));
        squall::setup::curve::at(s.sources[0].velocity.as_ref().unwrap(), 1.0)
    };
    assert_eq!(vector("[1.0, \"2*t\", { keys = [[0.0, 0.0], [1.0, 3.0]] }]"), [1.0, 2.0, 3.0]);
    assert_eq!(vector("{ keys = [[0.0, [0.0, 0.0, 0.0]], [1.0, [1.0, 2.0, 3.0]]] }"), [1.0, 2.0, 3.0]);
    // What is animated reads back as it was written.
    for text in [
        "[1.0, \"2*t\", { keys = [[0.0, 0.0], [1.0, 3.0]] }]",
        "{ keys = [[0.0, [0.0, 0.0, 0.0]], [1.0, [1.0, 2.0, 3.0]]] }",
    ] {
        let once = setup(&format!("{base}velocity = {text}\nrotation = [0.0, \"90*t\", 0.0]"));
        assert_eq!(once, setup(&once.to_toml()), "{once}");
        assert!(once.sources[0].motion.moves());
    }
}

/// All `(path, key)` that a schema names.
fn keys(schema: &serde_json::Value, path: &str, out: &mut Vec<(String, String)>) {
    match schema {
        serde_json::Value::Object(map) => {
            for (name, inner) in map {
                if name == "properties" {
                    for (key, value) in inner.as_object().unwrap() {
                        out.push((path.to_owned(), key.clone()));
                        keys(value, &format!("{path}.{key}"), out);
                    }
                } else {
                    keys(inner, path, out);
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|inner| keys(inner, path, out)),
        _ => {}
    }
}

/// The tables of docs/scene-format.md stand between marks, and are made from the declarations of the keys. To write them anew:
/// SQUALL_UPDATE_DOCS=1 cargo test -p squall --test all scenes
#[test]
fn the_tables_of_the_reference_are_those_of_the_declared_keys() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scene-format.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut made = text.clone();
    for name in squall::scene::reference::TABLES {
        let (begin, end) = (format!("<!-- keys: {name} -->\n"), format!("<!-- end: {name} -->"));
        let from = made.find(&begin).unwrap_or_else(|| panic!("no mark {begin}")) + begin.len();
        let to = from + made[from..].find(&end).unwrap_or_else(|| panic!("no mark {end}"));
        made.replace_range(from..to, &squall::scene::reference::reference(name).unwrap());
    }
    if std::env::var_os("SQUALL_UPDATE_DOCS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    assert!(made == text, "docs/scene-format.md is out of date: run with SQUALL_UPDATE_DOCS=1");
}

#[test]
fn the_reference_names_every_key_and_every_choice() {
    let schema: serde_json::Value = serde_json::from_str(&schema::schema_json()).unwrap();
    let doc = include_str!("../../../../docs/scene-format.md");
    let mut all = Vec::new();
    keys(&schema, "", &mut all);
    assert!(all.len() > 90, "{}", all.len());
    for (path, key) in all {
        // Keys of a table stand in the section of that table.
        let table = path.split('.').nth(1).unwrap_or("Top-level keys");
        let headed = |section: &&str| {
            let heading = section.lines().next().unwrap_or_default();
            heading == table || heading.contains(&format!("[{table}"))
        };
        let section = doc.split("\n## ").find(headed).unwrap_or_else(|| panic!("no section for {table}"));
        // Keys of keyframes are explained once, for all numbers over time.
        let over_time = doc.split("\n## ").find(|section| section.starts_with("Numbers over time")).unwrap();
        let named = |text: &str| text.contains(&format!("`{key}`")) || text.contains(&format!(".{key}`"));
        // Shapes and motion as well, for sources, objects and figures.
        let shared = path.contains(".shape") || path.contains(".motion");
        assert!(
            named(if shared { doc } else { section }) || named(over_time),
            "docs/scene-format.md does not mention `{key}` of {path}"
        );
    }
    for map in squall::setup::MAPS {
        assert!(doc.contains(&format!("`{map}`")), "colour map {map}");
    }
    for function in squall::expr::function_names() {
        assert!(doc.contains(&format!("`{function}(")), "function {function}");
    }
    // The schema asks for what the reader asks for.
    assert_eq!(schema["required"], serde_json::json!(["grid"]));
    assert_eq!(schema["properties"]["grid"]["required"], serde_json::json!(["cells"]));
}

#[test]
fn the_examples_of_the_reference_are_valid() {
    let doc = include_str!("../../../../docs/scene-format.md");
    let blocks: Vec<&str> = doc.split("```toml\n").skip(1).filter_map(|b| b.split("```").next()).collect();
    assert!(blocks.len() > 3);
    for block in blocks {
        let text =
            if block.contains("[grid]") { block.to_owned() } else { format!("{block}\n[grid]\ncells = [8, 8]\n") };
        setup(&text);
    }
}

/// A small generator of repeatable numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

const SCRAPS: &[&str] = &[
    "nan",
    "-inf",
    "1e400",
    "-1",
    "0",
    "99999999999",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'''",
    "=",
    ".",
    ",",
    "\n",
    "#",
    "ü",
    "\u{0}",
    "[[source]]",
    "[grid]",
    "cells",
    "true",
    "2024-01-01",
    "\"periodic\"",
    "{}",
    "[]",
    "((((",
    "x^y",
    "sin(",
    "🌀",
    "\\u0000",
];

#[test]
fn no_mutation_of_a_scene_makes_the_reader_panic() {
    let seeds = [FULL.to_owned(), gallery::TEMPLATES[0].scene("fuzz")];
    let mut random = Random(1);
    let mut refused = 0;
    for round in 0..4000 {
        let mut text: Vec<char> = seeds[round % 2].chars().collect();
        for _ in 0..1 + random.below(4) {
            let at = random.below(text.len());
            let length = random.below(12).min(text.len() - at);
            let scrap = SCRAPS[random.below(SCRAPS.len())].chars();
            match random.below(4) {
                0 => drop(text.splice(at..at + length, [])),
                1 => drop(text.splice(at..at, scrap)),
                2 => drop(text.splice(at..at + length, scrap)),
                _ => {
                    let piece = text[at..at + length].to_vec();
                    let to = random.below(text.len());
                    drop(text.splice(to..to, piece));
                }
            }
        }
        let text: String = text.into_iter().collect();
        if let Err(e) = Scene::parse("fuzz", &text, &[]).and_then(|s| s.setup()) {
            refused += 1;
            assert!(!e.problems().is_empty());
            // Rendering and locating must not panic either, wherever the spans lie.
            if round % 8 == 0 {
                assert!(!e.to_text().is_empty());
            }
            for problem in e.problems() {
                problem.location();
            }
        }
    }
    // The mutations are neither all harmless nor all fatal.
    assert!((1000..3999).contains(&refused), "{refused}");
}

#[test]
fn deep_nesting_is_refused_without_overflow() {
    for n in [200, 20_000, 200_000] {
        for text in [
            format!("seed = {}", "[".repeat(n)),
            format!("seed = {}1{}", "[".repeat(n), "]".repeat(n)),
            format!("seed = {}", "{a=".repeat(n)),
            format!("{}seed = 1", "a.".repeat(n)),
            format!("[{}seed]", "a.".repeat(n)),
        ] {
            assert!(Scene::parse("deep", &text, &[]).is_err(), "{}", &text[..20]);
        }
        let path = format!("{}a=1", "a.".repeat(n));
        assert!(Scene::parse("deep", FULL, &[path]).is_err());
        assert!(Scene::parse("deep", FULL, &[format!("seed={}", "[".repeat(n))]).is_err());
    }
}

#[test]
fn huge_and_hostile_files_get_a_short_answer_quickly() {
    let start = std::time::Instant::now();
    let megabyte = 1_000_000;
    for text in [
        "x".repeat(megabyte),
        format!("{} = 1", "x".repeat(megabyte)),
        format!("[substance.{}]\n[grid]\ncells = [2, 2]", "x".repeat(megabyte)),
        format!("description = \"{}\"", "\\u001b[31m".repeat(megabyte / 10)),
        (0..megabyte / 10).map(|i| format!("k{i} = 1\n")).collect(),
        (0..megabyte / 20).map(|i| format!("[[force]]\na{i}=1\n")).collect(),
        format!("[grid]\ncells = [{}]", "1,".repeat(megabyte / 2)),
        "\"\\u001b[2J\" = 1".to_owned(),
    ] {
        let error = Scene::parse("huge", &text, &[]).and_then(|s| s.setup()).unwrap_err();
        let report = error.to_text();
        assert!(report.len() < 20_000, "{} bytes", report.len());
        assert!(!error.to_string().contains('\u{1b}'));
    }
    // Each takes some hundredths of a second; the bound only catches what grows with the square of the size.
    assert!(start.elapsed().as_secs() < 16);
}

#[test]
fn no_mutation_of_an_override_or_an_expression_makes_the_reader_panic() {
    let mut random = Random(2);
    let pieces = [
        "grid",
        ".",
        "cells",
        "=",
        "source",
        "0",
        "shape",
        "[1, 2]",
        "ü",
        "{",
        "x",
        "\"",
        " ",
        "-1",
        "substance",
        "99999999999999999999",
    ];
    let tokens = [
        "x", "+", "-", "*", "/", "^", "(", ")", "sin(", "max(", ",", "1e", ".5", "<", "<=", "density", " ", "ä",
        "1e-9", "**",
    ];
    for _ in 0..1500 {
        let text: String = (0..random.below(9)).map(|_| pieces[random.below(pieces.len())]).collect();
        if let Err(e) = Scene::parse("fuzz", FULL, &[text]).and_then(|s| s.setup()) {
            assert!(e.problems().iter().all(|p| p.location().is_none_or(|(_, line, _)| line >= 1)));
        }
    }
    for _ in 0..20_000 {
        let text: String = (0..random.below(20)).map(|_| tokens[random.below(tokens.len())]).collect();
        match Expr::parse(&text, &["x".to_owned(), "density".to_owned()]) {
            Ok(e) => drop(e.eval(&vec![Default::default(); e.variables().len()])),
            Err(e) => assert!(e.position.is_none_or(|p| text.get(p).is_some()), "{text}"),
        }
    }
}

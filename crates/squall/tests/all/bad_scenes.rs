//! Every mistake that we could think of, and what Squall says to it. The snapshots in `snapshots/` are meant to be
//! read: each message should say what is wrong, where, and what to do.

// As the command draws them.
#[path = "../../../squall-cli/src/drawn.rs"]
mod drawn;

use drawn::Message;
use miette::{GraphicalReportHandler, GraphicalTheme};
use squall::{Scene, SceneError};

/// A scene that is right, to which the cases add what is wrong.
const GRID: &str = "[grid]\ncells = [32, 48]\n";
const SMOKE: &str = "[grid]\ncells = [32, 48]\n\n[substance.density]\ninitial = 0.5\n\n";
const PLUME: &str = "model = \"smoke\"\n[grid]\ncells = [16, 24, 16]\n";
/// A smoke that is to become something.
const MORPH: &str =
    "model = \"target_smoke\"\n[grid]\ncells = [32, 32]\n[substance.density]\nstart = { text = \"A\" }\n";
const GRID_3D: &str = "[grid]\ncells = [16, 16, 16]\n";

/// Without colours.
fn plain(message: impl Into<Message>) -> String {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none()).with_width(100).with_context_lines(1);
    handler.render_report(&mut text, &message.into()).unwrap();
    text
}

fn report(text: &str, overrides: &[&str]) -> String {
    let overrides: Vec<String> = overrides.iter().map(|o| o.to_string()).collect();
    match Scene::parse("scene.toml", text, &overrides).and_then(|scene| scene.setup()) {
        Err(e @ SceneError::Budget(_)) => format!("refused:\n{}", plain(&e)),
        Err(e) => plain(&e),
        Ok((_, warnings)) => {
            assert!(!warnings.is_empty(), "nothing was wrong with\n{text}");
            warnings.iter().map(plain).collect()
        }
    }
}

fn catalogue(cases: &[(&str, String)]) -> String {
    let mut out = String::new();
    for (title, text) in cases {
        out += &format!("=== {title}\n{}\n", report(text, &[]).trim_end());
    }
    out
}

fn with(base: &str, text: &str) -> String {
    format!("{base}{text}")
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

macro_rules! cases {
    ($name:ident, $base:expr, { $($title:literal => $text:literal,)* }) => {
        #[test]
        fn $name() {
            snapshot(stringify!($name), &catalogue(&[$(($title, with($base, $text)),)*]));
        }
    };
}

cases!(hardly_meant, "", {
    "still air" => "[grid]\ncells = [32, 48]\n",
    "smoke that is nowhere and becomes nothing" => "model = \"target_smoke\"\n[grid]\ncells = [32, 32]\n",
    "a source inside of an object" => "model = \"smoke\"\n[grid]\ncells = [32, 32]\n[[object]]\nname = \"ball\"\nshape = { sphere = { center = [0.5, 0.5], radius = 0.3 } }\n[[source]]\nshape = { box = { min = [0.4, 0.4], max = [0.6, 0.6] } }\nset = { density = 1.0 }\n",
    "random numbers" => "[grid]\ncells = [32, 48]\n[substance.ink]\ninitial = \"rand()\"\n",
    "pictures too large for OpenEXR" => "model = \"smoke\"\n[grid]\ncells = [16, 16, 16]\n[[source]]\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.2 } }\nset = { density = 1.0 }\n[output]\nwidth = 10000\nheight = 10000\nexr = true\n",
});

cases!(liquids, "model = \"liquid\"\n[grid]\ncells = [32, 48]\n", {
    "an empty box" => "",
    "keys of other models" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\n[[source]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\nset = { liquid = 1.0 }\n[substance.ink]\n[smoke]\nfade = 1.0\n",
    "no shape" => "[[blob]]\ntime = 1.0\n",
    "outside of the box" => "[[blob]]\nshape = { sphere = { center = [5.0, 0.5], radius = 0.2 } }\n",
    "too late" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\ntime = 100.0\n",
    "numbers out of range" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\ntime = -1.0\nvelocity = [1.0, 2.0, 3.0]\n[liquid]\nflip = 1.5\ntransfer = \"pic\"\ngravity = -9.81\n",
    "flowing in" => "[boundary]\nx = { lo = { inflow = [1.0, 0.0] }, hi = \"open\" }\n[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\n",
    "without bounds beside periodic sides" => "[boundary]\nx = \"unbounded\"\ny = \"periodic\"\n[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\n",
    "without bounds, far from the picture" => "[boundary]\nx = \"unbounded\"\ny = \"unbounded\"\n[[blob]]\nshape = { sphere = { center = [9.0, 0.5], radius = 0.2 } }\n",
    "without bounds, and in centimetres" => "[boundary]\nx = \"unbounded\"\ny = \"unbounded\"\n[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 20.0 } }\n",
    "a loop" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\n[time]\nloop = 30\n",
    "too fast" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\nvelocity = [1e6, 0.0]\n",
    "a blob that ends without beginning again" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\nto = 2.0\n",
    "a source without a task" => "[[source]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\n",
    "a source that fills and drains" => "[[source]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\nfill = true\ndrain = true\n",
    "a spout without an opening" => "[[spout]]\ncenter = [0.5, 0.5]\ndirection = [1.0, 0.0]\n",
    "a spout with two openings, to nowhere" => "[[spout]]\ncenter = [0.5, 0.5]\ndirection = [0.0, 0.0]\nradius = 0.1\nwidth = 0.2\n",
    "a spout outside" => "[[spout]]\ncenter = [1.0, 0.5]\ndirection = [1.0, 0.0]\nradius = 0.1\n",
    "a spout inside of an object" => "[[spout]]\ncenter = [0.5, 0.5]\ndirection = [1.0, 0.0]\nradius = 0.1\n[[object]]\nname = \"wall\"\nshape = { box = { min = [0.4, 0.0], max = [0.7, 1.0] } }\n",
    "a spout in space" => "[[spout]]\ncenter = [0.5, 0.5, 0.5]\ndirection = [1.0, 0.0]\nradius = -0.1\nspeed = -1.0\nside = 3\n",
    "a spout with keys of space" => "[[spout]]\ncenter = [0.5, 0.5]\ndirection = [1.0, 0.0]\nwidth = 0.1\nheight = 0.2\nside = [0.0, 1.0]\n",
    "a drain outside, and one inside of an object" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\n[[source]]\nshape = { sphere = { center = [2.5, 0.5], radius = 0.2 } }\ndrain = true\n[[source]]\nshape = { sphere = { center = [0.9, 0.1], radius = 0.05 } }\ndrain = true\n[[object]]\nname = \"wall\"\nshape = { box = { min = [0.8, 0.0], max = [1.0, 1.0] } }\n",
    "inks that are not there" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\nset = { red = 1.0, liquid = 2.0 }\n[substance.read]\n[[spout]]\ncenter = [0.5, 0.5]\ndirection = [1.0, 0.0]\nradius = 0.1\nset = { blue = 1.0 }\n",
    "inks with keys of smoke" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\nset = { red = 1.0 }\n[substance.red]\nboundary = { x = 1.0 }\nsource = 2.0\nthreshold = 0.1\n[substance.surface]\n[substance.liquid]\ndiffusion = 1.0\n",
    "an ink that is never there" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\n[substance.red]\ncolor = \"#ff0000\"\n",
    "an ink that mixes fast" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\nset = { red = 1.0 }\n[substance.red]\ndiffusion = 0.5\n",
    "an ink that mixes at once" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\nset = { red = 1.0 }\n[substance.red]\ndiffusion = 100.0\n",
    "a shape and a figure" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\nfigure = { text = \"A\" }\n",
    "a figure of nothing" => "[[blob]]\nfigure = { formula = \"0.2\" }\n",
    "a figure that moves" => "[[blob]]\nfigure = { formula = \"t\" }\n",
    "a picture that is not there" => "[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\n[[blob]]\nfigure = { image = \"missing.png\" }\n",
    "a spout that never starts" => "[[spout]]\ncenter = [0.5, 0.5]\ndirection = [1.0, 0.0]\nradius = 0.1\nfrom = 100.0\n",
});

cases!(liquid_that_does_not_appear, "model = \"liquid\"\n[grid]\ncells = [32, 48]\n[[blob]]\nshape = { box = { min = [0, 0], max = [1, 0.2] } }\n", {
    "a blob inside of an object" => "[[blob]]\nshape = { sphere = { center = [0.5, 1.0], radius = 0.1 } }\n[[object]]\nname = \"block\"\nshape = { box = { min = [0.2, 0.8], max = [0.8, 1.2] } }\n",
    "a blob without a particle" => "[[blob]]\nshape = { sphere = { center = [0.5, 1.0], radius = 0.002 } }\n",
    "a blob of which nothing is left" => "[[blob]]\nshape = { difference = { from = { sphere = { center = [0.5, 1.0], radius = 0.1 } }, cut = { sphere = { center = [0.5, 1.0], radius = 0.2 } } } }\n",
    "an object that fills the box" => "[[object]]\nname = \"block\"\nshape = { box = { min = [-0.2, -0.2], max = [1.8, 1.8] } }\n",
    "a spout wider than the box" => "[[spout]]\ncenter = [0.5, 1.0]\ndirection = [0, -1]\nradius = 2.0\nspeed = 0.01\n",
    "a spout narrower than a cell" => "[[spout]]\ncenter = [0.5, 1.0]\ndirection = [0, -1]\nwidth = 0.015\n",
    "a spout that stands still" => "[[spout]]\ncenter = [0.5, 1.0]\ndirection = [0, -1]\nradius = 0.05\nspeed = 0\n",
    "a spout that is on when its speed is 0" => "[[spout]]\ncenter = [0.5, 1.0]\ndirection = [0, -1]\nradius = 0.05\nfrom = 1.0\nspeed = { keys = [[0.0, 1.0], [1.0, 0.0]] }\n",
    "more than fits from a spout" => "[[spout]]\ncenter = [0.5, 1.0]\ndirection = [0, -1]\nradius = 0.2\nspeed = 3.0\n",
    "more than fits from drops" => "[[blob]]\nshape = { sphere = { center = [0.5, 1.0], radius = 0.2 } }\ntime = 0.2\nevery = 0.2\n",
});

cases!(viscosities, "model = \"liquid\"\n[grid]\ncells = [32, 48]\n[[blob]]\nshape = { box = { min = [0, 0], max = [1, 0.2] } }\n[substance.temperature]\ninitial = 20\n[liquid]\n", {
    "negative" => "viscosity = -0.1\n",
    "not a number" => "viscosity = nan\n",
    "negative everywhere" => "viscosity = \"0 - 1\"\n",
    "negative somewhere" => "viscosity = \"0.1 - x\"\n",
    "negative some time" => "viscosity = \"1 - t\"\n",
    "negative where it is warm" => "viscosity = \"0.01 - 0.001*temperature\"\n",
    "a root of nothing" => "viscosity = \"sqrt(x - 0.5)\"\n",
    "keyframes" => "viscosity = { keys = [[0.0, 1.0], [1.0, -1.0]] }\n",
});

cases!(edits, "model = \"smoke\"\n[grid]\ncells = [32, 32]\n[[source]]\nshape = { sphere = { center = [0.5, 0.2], radius = 0.1 } }\nset = { density = 1, temperature = 200 }\n[[edit]]\nframe = 1\n", {
    "no such parameter" => "parameter = { name = \"viscositi\", value = 0.1 }\n",
    "a parameter out of range" => "parameter = { name = \"viscosity\", value = -0.1 }\n",
    "a word for a number" => "parameter = { name = \"viscosity\", value = \"thick\" }\n",
    "a word that is no choice" => "parameter = { name = \"advection\", value = \"best\" }\n",
    "a parameter that cannot change" => "parameter = { name = \"cells\", value = 3 }\n",
    "no such key" => "set = [\"smoke.rise=1.0\", \"smoke.fad=1.0\"]\n",
    "a value out of range" => "set = [\"smoke.fade=-1.0\"]\n",
    "no such entry" => "set = [\"source.3.noise=0.5\"]\n",
    "a key that cannot change" => "set = [\"grid.cells=[8, 8]\"]\n",
    "no such object" => "move = { what = \"object.0\", points = [[0, 0]] }\n",
    "an object that comes later" => "move = { what = \"object.0\", points = [[0, 0]] }\n[[edit]]\nframe = 2\nset = [\"object.0={ name = 'ball', shape = { sphere = { center = [0.5, 0.7], radius = 0.1 } } }\"]\n",
    "no such substance" => "stroke = { points = [[0.5, 0.5]], paint = { densty = 1.0 } }\n",
    "a brush without a radius" => "stroke = { points = [[0.5, 0.5]], push = 3.0, radius = 0.0 }\n",
    "after the last frame" => "set = [\"smoke.fade=1.0\"]\n[[edit]]\nframe = 90\nparameter = { name = \"viscosity\", value = 0.1 }\n",
});

#[test]
fn an_edit_whose_scene_cannot_take_over_the_state_is_an_error_at_its_place() {
    let text = "model = \"liquid\"\n[grid]\ncells = [32, 32]\n[[blob]]\nshape = { box = { min = [0, 0], max = [1, 0.2] } }\n\
                [[edit]]\nframe = 3\nset = [\"liquid.tracking=\\\"level_set\\\"\"]\n";
    let told = report(text, &[]);
    assert!(told.contains("cannot take over the state") && told.contains("scene.toml:8"), "{told}");
}

#[test]
fn a_blob_of_a_mesh_that_encloses_nothing_is_an_error_at_its_place() {
    let folder = crate::folder::Folder::new("open-mesh");
    std::fs::write(folder.0.join("sheet.obj"), "v 0.2 0.5 0.2\nv 0.8 0.5 0.2\nv 0.8 0.6 0.8\nf 1 2 3\n").unwrap();
    let text = "model = \"liquid\"\n[grid]\ncells = [16, 16, 16]\n[[blob]]\nshape = { mesh = \"sheet.obj\" }\n";
    let scene = Scene::parse("scene.toml", text, &[]).unwrap().with_assets(squall::Assets::folder(&folder.0));
    let error = plain(&scene.setup().unwrap_err());
    assert!(error.contains("`blob.0` encloses nothing") && error.contains("scene.toml:5"), "{error}");
}

cases!(level_sets, "model = \"liquid\"\n[grid]\ncells = [32, 48]\n[[blob]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }\n", {
    "particles of a level set" => "[liquid]\ntracking = \"level_set\"\n[output]\nparticles = true\n",
    "inks of a level set" => "[liquid]\ntracking = \"level_set\"\n[substance.red]\ncolor = \"#ff0000\"\n",
    "markers without bounds" => "[liquid]\ntracking = \"markers\"\n[boundary]\nx = { lo = \"slip\", hi = \"unbounded\" }\n",
    "a narrow band of a level set" => "[liquid]\ntracking = \"level_set\"\nnarrow_band = 4\n",
    "inks in a narrow band" => "[liquid]\nnarrow_band = 4\n[substance.red]\ncolor = \"#ff0000\"\n",
    "no such tracking" => "[liquid]\ntracking = \"levelset\"\n",
    "advection of particles" => "[solver]\nadvection = \"semi_lagrangian\"\n",
});

cases!(textures, "[grid]\ncells = [32, 48]\n[boundary]\nx = \"periodic\"\n", {
    "nothing painted" => "[texture]\nperiod = 2.0\n",
    "two patterns" => "[texture]\nnoise = {}\npattern = \"wood\"\n",
    "no such pattern" => "[texture]\npattern = \"pebble\"\n",
    "a key of something else" => "[texture]\nnoise = { spacing = 0.1 }\n",
    "no time at all" => "[texture]\nnoise = {}\nperiod = 0\n",
    "too strong" => "[texture]\nnoise = {}\nstrength = 1.5\n",
    "too fine" => "[texture]\nnoise = {}\nrefine = 8\n",
    "a size for noise" => "[texture]\nnoise = {}\nsize = [0.5, 0.5]\n",
    "a picture that does not fit" => "[texture]\npattern = \"wood\"\nsize = [0.3, 0.3]\n",
    "one length" => "[texture]\npattern = \"wood\"\nsize = [0.5]\n",
    "no such file" => "[texture]\nimage = \"../secret.png\"\n",
    "lines in no direction" => "[texture]\nlines = { direction = [0.0, 0.0] }\n",
    "showing what is not there" => "[picture]\nshow = \"texture\"\n",
    "detail of nothing, in 2D" => "[output]\nvdb = { detail = true }\n",
});

cases!(textures_3d, GRID_3D, {
    "a texture by itself" => "[texture]\nnoise = {}\n[picture]\nshow = \"texture\"\n",
    "detail without a texture" => "[output]\nvdb = { fields = [\"velocity\"], detail = true }\n",
});

cases!(stirring, GRID, {
    "no path" => "[[force]]\nstir = { speed = 1.0 }\n",
    "one point" => "[[force]]\nstir = { path = [[0.5, 0.5]] }\n",
    "a point in space" => "[[force]]\nstir = { path = [[0.5, 0.5, 0.5], [0.2, 0.2]] }\n",
    "the same point twice" => "[[force]]\nstir = { path = [[0.5, 0.5], [0.5, 0.5], [0.6, 0.5]] }\n",
    "too few times" => "[[force]]\nstir = { path = [[0.2, 0.5], [0.5, 0.5], [0.6, 0.5]], times = [0.0, 1.0] }\n",
    "times for a loop" => "[[force]]\nstir = { path = [[0.2, 0.5], [0.5, 0.5], [0.6, 0.7]], times = [0.0, 1.0, 2.0], loop = true }\n",
    "times that do not grow" => "[[force]]\nstir = { path = [[0.2, 0.5], [0.5, 0.5]], times = [1.0, 1.0] }\n",
    "speed and times" => "[[force]]\nstir = { path = [[0.2, 0.5], [0.5, 0.5]], times = [0.0, 1.0], speed = 1.0 }\n",
    "standing still" => "[[force]]\nstir = { path = [[0.2, 0.5], [0.5, 0.5]], speed = 0.0 }\n",
    "rods on top of each other" => "[[force]]\nstir = { path = [[0.2, 0.5], [0.5, 0.5]], rods = 5 }\n",
});

cases!(syntax, "", {
    "not TOML at all" => "this is not a scene",
    "text without quotes" => "[picture]\nmap = viridis\n",
    "a list that never closes" => "[grid]\ncells = [32, 48\n",
    "a key given twice" => "[grid]\ncells = [32, 48]\ncells = [64, 96]\n",
    "a table given twice" => "[grid]\ncells = [32, 48]\n[grid]\nsize = [1.0, 1.0]\n",
    "a decimal comma" => "[grid]\ncells = [32, 48]\n[fluid]\nviscosity = 0,1\n",
    "a number beyond 64 bits" => "seed = 99999999999999999999999\n[grid]\ncells = [32, 48]\n",
    "an empty file" => "",
});

cases!(keys_and_kinds, GRID, {
    "a misspelt key" => "[fluid]\nviscosty = 0.1\n",
    "a misspelt table" => "[solvr]\ncfl = 1.0\n",
    "a key like no other" => "[fluid]\ncolour = 3\n",
    "a key by another name" => "[time]\nduration = 3.0\n",
    "a kind of force misspelt" => "[[force]]\nbuoyency = { substance = \"density\" }\n",
    "gravity" => "[[force]]\ngravity = [0.0, -9.81]\n",
    "a number in quotes" => "[fluid]\nviscosity = \"0.1\"\n",
    "a list for a number" => "[fluid]\nviscosity = [0.1]\n",
    "a number for a list" => "[fluid]\nvelocity = 0.1\n",
    "a table for a key of another" => "fluid = 3\n",
    "a key below the wrong table" => "seed = 3\n",
    "a number for a table" => "[boundary]\nx = 3\n",
    "a table for a list of tables" => "[force]\nuniform = [0.0, 1.0]\n",
    "a date" => "[time]\nfps = 2024-01-01\n",
    "yes for true" => "[time]\ninclude_start = \"yes\"\n",
    "a misspelt choice" => "[solver]\nadvection = \"mac_cormak\"\n",
    "a choice in capitals" => "[solver]\nadvection = \"MacCormack\"\n",
    "a choice like no other" => "[solver]\nadvection = \"best\"\n",
    "nan" => "[fluid]\nviscosity = nan\n",
    "infinity" => "[fluid]\nviscosity = inf\n",
    "a number too large" => "[fluid]\nviscosity = 1e300\n",
    "three mistakes at once" => "[fluid]\nviscosty = 1.0\n[time]\nfps = \"fast\"\n[output]\nmovie = \"avi\"\n",
});

cases!(grid, "", {
    "no grid" => "[fluid]\nviscosity = 0.0\n",
    "no cells" => "[grid]\nsize = [1.0, 1.0]\n",
    "one axis" => "[grid]\ncells = [32]\n",
    "four axes" => "[grid]\ncells = [8, 8, 8, 8]\n",
    "no cells along an axis" => "[grid]\ncells = [32, 0]\n",
    "minus cells" => "[grid]\ncells = [32, -4]\n",
    "cells with a point" => "[grid]\ncells = [32.0, 48.0]\n",
    "half a cell" => "[grid]\ncells = [32.5, 48]\n",
    "size zero" => "[grid]\ncells = [32, 48]\nsize = [1.0, 0.0]\n",
    "size of another dimension" => "[grid]\ncells = [32, 48]\nsize = [1.0, 1.0, 1.0]\n",
    "more cells than memory" => "[grid]\ncells = [4096, 4096, 4096]\n",
    "an axis beyond all bounds" => "[grid]\ncells = [9000000000000000000, 1]\n",
});

cases!(unbounded_sides, "model = \"smoke\"\n[grid]\ncells = [40, 64]\n[boundary]\n", {
    "beside periodic ones" => "x = \"periodic\"\ny = \"unbounded\"\n",
    "a far side inside of a tile" => "x = { lo = \"unbounded\", hi = \"slip\" }\ny = \"unbounded\"\n",
    "a value where no side is" => "x = \"unbounded\"\ny = { lo = \"slip\", hi = \"unbounded\" }\n[substance.ink]\nboundary = { y = { hi = 1.0 } }\n",
});

cases!(boundary, GRID, {
    "unbounded in a model of boxes" => "[boundary]\nx = \"unbounded\"\n",
    "no such kind" => "[boundary]\nx = \"wall\"\n",
    "periodic at one end" => "[boundary]\nx = { lo = \"periodic\", hi = \"open\" }\n",
    "z in 2D" => "[boundary]\nz = \"open\"\n",
    "by the name of a side" => "[boundary]\ntop = \"open\"\n",
    "a wall that moves across itself" => "[boundary]\ny = { hi = { moving = [1.0, 0.5] } }\n",
    "moving and inflow" => "[boundary]\ny = { hi = { moving = [1.0, 0.0], inflow = [0.0, 1.0] } }\n",
    "an empty side" => "[boundary]\ny = { hi = {} }\n",
    "inflow for both ends at once" => "[boundary]\ny = { inflow = [0.0, 1.0] }\n",
    "inflow of the wrong length" => "[boundary]\ny = { lo = { inflow = [0.0, 1.0, 0.0] }, hi = \"open\" }\n",
    "inflow that cannot leave" => "[boundary]\nx = { lo = { inflow = [0.5, 0.0] } }\ny = \"no_slip\"\n",
    "outflow that nothing replaces" => "[boundary]\nx = { hi = { inflow = [0.5, 0.0] } }\n",
});

cases!(loops, SMOKE, {
    "a loop of one frame" => "[time]\nloop = 1\n",
    "a loop of no length" => "[time]\nloop = { overlap = 4 }\n",
    "an overlap longer than the loop" => "[time]\nloop = { frames = 16, overlap = 17 }\n",
    "a loop that is a word" => "[time]\nloop = \"yes\"\n",
    "a key of loops misspelt" => "[time]\nloop = { frames = 16, overlaps = 4 }\n",
    "a loop with a frame 0" => "[time]\nloop = 16\ninclude_start = true\n",
});

cases!(fluid_and_substances, SMOKE, {
    "negative viscosity" => "[fluid]\nviscosity = -0.1\n",
    "three velocities in 2D" => "[fluid]\nvelocity = [0.0, 0.0, 0.0]\n",
    "a reserved name" => "[substance.speed]\n",
    "the name of a function" => "[substance.sin]\n",
    "not a name" => "[substance.\"hot air\"]\n",
    "the same substance twice" => "[substance.density]\n",
    "negative dissipation" => "[substance.dye]\ndissipation = -1.0\ninitial = 1.0\n",
    "a colour that is none" => "[substance.dye]\ncolor = \"orange\"\ninitial = 1.0\n",
    "values on a side that is misspelt" => "[substance.dye]\nboundary = { x = \"isolated\" }\n",
    "values on the ends of a periodic axis" => "[substance.dye]\nboundary = { x = 1.0 }\n[boundary]\nx = \"periodic\"\n",
    "values along z in 2D" => "[substance.dye]\nboundary = { z = 1.0 }\n",
});

cases!(expressions, SMOKE, {
    "a variable misspelt" => "[substance.dye]\nsource = \"0.5*densty\"\n",
    "no such variable" => "[fluid]\nvelocity = [\"0\", \"q\"]\n",
    "z in 2D" => "[fluid]\nvelocity = [\"0\", \"sin(tau*z)\"]\n",
    "a field at the start" => "[fluid]\nvelocity = [\"0\", \"0.1*density\"]\n",
    "a missing operator" => "[fluid]\nvelocity = [\"0\", \"2x + 1\"]\n",
    "a missing parenthesis" => "[fluid]\nvelocity = [\"0\", \"sin(tau*x\"]\n",
    "no such function" => "[fluid]\nvelocity = [\"0\", \"sine(x)\"]\n",
    "too few arguments" => "[fluid]\nvelocity = [\"0\", \"max(x)\"]\n",
    "an empty expression" => "[fluid]\nvelocity = [\"0\", \"\"]\n",
    "python's power" => "[fluid]\nvelocity = [\"0\", \"x**2\"]\n",
    "infinite everywhere" => "[fluid]\nvelocity = [\"0\", \"1/0\"]\n",
    "in a multi-line text" => "[fluid]\nvelocity = [\"0\", '''x + yy''']\n",
    "one for two axes" => "[[force]]\nexpression = [\"x\"]\n",
    "a list in place of an expression" => "[substance.dye]\ninitial = [1.0]\n",
});

cases!(sources, SMOKE, {
    "nothing in it" => "[[source]]\n",
    "no shape" => "[[source]]\nset = { density = 1.0 }\n",
    "nothing emitted" => "[[source]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.1 } }\n",
    "no such substance" => "[[source]]\nset = { densty = 1.0 }\nshape = { sphere = { center = [0.5, 0.5], radius = 0.1 } }\n",
    "the old way to name a substance" => "[[source]]\nsubstance = \"density\"\nshape = { sphere = { center = [0.5, 0.5], radius = 0.1 } }\n",
    "set and rate at once" => "[[source]]\nset = { density = 1.0 }\nrate = { density = 1.0 }\nshape = { sphere = { center = [0.5, 0.5], radius = 0.1 } }\n",
    "no such shape" => "[[source]]\nset = { density = 1.0 }\nshape = { circle = { center = [0.5, 0.5], radius = 0.1 } }\n",
    "two shapes" => "[[source]]\nset = { density = 1.0 }\nshape = { sphere = { center = [0.5, 0.5], radius = 0.1 }, box = { min = [0.0, 0.0], max = [1.0, 1.0] } }\n",
    "no radius" => "[[source]]\nset = { density = 1.0 }\nshape = { sphere = { center = [0.5, 0.5] } }\n",
    "radius zero" => "[[source]]\nset = { density = 1.0 }\nshape = { sphere = { center = [0.5, 0.5], radius = 0.0 } }\n",
    "a centre in 3D" => "[[source]]\nset = { density = 1.0 }\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.1 } }\n",
    "a box inside out" => "[[source]]\nset = { density = 1.0 }\nshape = { box = { min = [0.5, 0.5], max = [0.4, 0.6] } }\n",
    "stops before it starts" => "[[source]]\nset = { density = 1.0 }\nfrom = 2.0\nto = 1.0\nshape = { sphere = { center = [0.5, 0.5], radius = 0.1 } }\n",
    "too much noise" => "[[source]]\nset = { density = 1.0 }\nnoise = 2.0\nshape = { sphere = { center = [0.5, 0.5], radius = 0.1 } }\n",
});

cases!(forces, SMOKE, {
    "nothing in it" => "[[force]]\nfrom = 1.0\n",
    "two in one" => "[[force]]\nuniform = [0.0, 1.0]\nwind = { velocity = [1.0, 0.0] }\n",
    "buoyancy of nothing" => "[[force]]\nbuoyancy = { strength = 2.0 }\n",
    "buoyancy of an unknown substance" => "[[force]]\nbuoyancy = { substance = \"temperature\" }\n",
    "wind without velocity" => "[[force]]\nwind = { rate = 2.0 }\n",
    "a vortex with an axis in 2D" => "[[force]]\nvortex = { center = [0.5, 0.5], radius = 0.1, strength = 1.0, axis = [0.0, 0.0, 1.0] }\n",
    "a vortex without anything" => "[[force]]\nvortex = {}\n",
    "noise of scale zero" => "[[force]]\nnoise = { strength = 1.0, scale = 0.0 }\n",
});

cases!(forces_in_3d, GRID_3D, {
    "an axis without direction" => "[[force]]\nvortex = { center = [0.5, 0.5, 0.5], radius = 0.1, strength = 1.0, axis = [0.0, 0.0, 0.0] }\n",
    "two entries in 3D" => "[[force]]\nuniform = [0.0, 1.0]\n",
    "buoyancy without any substance" => "[[force]]\nbuoyancy = { substance = \"density\" }\n",
});

cases!(solver_time_and_output, SMOKE, {
    "no speed at all" => "[solver]\ncfl = 0.0\n",
    "max_dt zero" => "[solver]\nmax_dt = 0.0\n",
    "max_dt far too short" => "[solver]\nmax_dt = 1e-12\n",
    "filter above one" => "[solver]\nfilter = 5\n",
    "no frames per second" => "[time]\nfps = 0\n",
    "no frames" => "[time]\nframes = 0\n",
    "a million seconds" => "[time]\nframes = 100000000\n",
    "no pixels" => "[output]\nwidth = 0\n",
    "an unknown movie" => "[output]\nmovie = \"mpeg4\"\n",
    "an unknown field" => "[output]\nfields = [\"density\", \"velocty\"]\n",
});

cases!(passes_and_flipbooks, SMOKE, {
    "an unknown pass" => "[output]\npasses = [\"motion\", \"normals\"]\n",
    "a pass that only 3D has" => "[output]\npasses = [\"six_way\"]\n",
    "heat where nothing is hot" => "[output]\npasses = [\"temperature\"]\n",
    "a map that is no map of a flipbook" => "[flipbook]\nmaps = [\"flow\"]\n",
    "a size of three numbers" => "[flipbook]\nsize = [64, 64, 64]\n",
    "a size of nothing" => "[flipbook]\nsize = 0\n",
    "more frames than places" => "[flipbook]\ncolumns = 3\nrows = 2\ncount = 7\n",
    "no columns" => "[flipbook]\ncolumns = 0\n",
    "twelve bits" => "[flipbook]\nmotion_bits = 12\n",
    "an unknown kind of opacity" => "[flipbook]\nalpha = \"additive\"\n",
    "mips without end" => "[flipbook]\nmips = 12\n",
});

cases!(passes_in_3d, GRID_3D, {
    "passes of cells that are no cubes" => "size = [1.0, 2.0, 1.0]\n[substance.smoke]\ninitial = 1.0\n[output]\npasses = [\"motion\"]\n",
    "a pass that only 2D has" => "[substance.smoke]\ninitial = 1.0\n[camera]\n[output]\npasses = [\"height\"]\n",
    "transparent in the wrong table" => "[substance.smoke]\ninitial = 1.0\n[camera]\n[picture]\ntransparent = true\n",
});

cases!(pictures, SMOKE, {
    "an unknown field" => "[picture]\nshow = \"smoke\"\n",
    "an unknown map" => "[picture]\nmap = \"infreno\"\n",
    "a map of one colour" => "[picture]\nmap = [\"#ffffff\"]\n",
    "a map with a colour that is none" => "[picture]\nmap = [\"#000000\", \"#ff88\"]\n",
    "a range upside down" => "[picture]\nrange = [1.0, 0.0]\n",
    "a range of one" => "[picture]\nrange = [1.0]\n",
    "three backgrounds" => "[picture]\nbackground = [\"#000\", \"#111\", \"#222\"]\n",
    "exposure zero" => "[picture]\nexposure = 0\n",
    "a view without a camera" => "[picture]\nview = { pitch = 20 }\n",
});

cases!(pictures_without_substances, GRID, {
    "all substances, of which there are none" => "[picture]\nshow = \"substances\"\n",
});

cases!(smoke_and_objects, PLUME, {
    "cells that are not cubes" => "size = [1.0, 1.0, 1.0]\n",
    "too cold" => "[smoke]\ncooling = -1.0\n",
    "a law that is none" => "[smoke]\nfade_law = \"linear\"\n",
    "a softness" => "[[source]]\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.1 } }\nset = { density = 1.0 }\nsoftness = 0.1\n",
    "an emitted density" => "[[source]]\ndensity = 1.0\n",
    "bursts without an end" => "[[source]]\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.1 } }\nset = { density = 1.0 }\nevery = 1.0\n",
    "bursts that overlap" => "[[source]]\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.1 } }\nset = { density = 1.0 }\nto = 2.0\nevery = 1.0\n",
    "following nobody" => "[[source]]\nfollow = \"ball\"\nset = { density = 1.0 }\n",
    "an object without anything" => "[[object]]\n",
    "a mesh in the wrong place" => "[[object]]\nname = \"a\"\nmesh = \"horse.ply\"\n",
    "a mesh without a folder" => "[[object]]\nname = \"a\"\nshape = { mesh = \"horse.ply\" }\n",
    "a mesh from somewhere else" => "[[object]]\nname = \"a\"\nshape = { mesh = \"/etc/passwd\" }\n",
    "a polygon in 3D" => "[[object]]\nname = \"a\"\nshape = { polygon = [[0, 0], [1, 0], [0, 1]] }\n",
    "nothing united" => "[[object]]\nname = \"a\"\nshape = { union = [] }\n",
    "one angle in 3D" => "[[object]]\nname = \"a\"\nshape = { sphere = { center = [0, 0, 0], radius = 1 } }\nrotation = 90\n",
    "keys out of order" => "[[object]]\nname = \"a\"\nshape = { sphere = { center = [0, 0, 0], radius = 1 } }\nmotion = { keys = [{ time = 1.0 }, { time = 0.5 }] }\n",
    "a speed in the wrong place" => "[[object]]\nname = \"a\"\nshape = { sphere = { center = [0, 0, 0], radius = 1 } }\nvelocity = [1, 0, 0]\n",
    "the filter of the other model" => "[solver]\nfilter = 0.5\n",
});

cases!(camera_and_lights, PLUME, {
    "a camera in its target" => "[camera]\nposition = [0.0, 0.0, 0.0]\ntarget = [0.0, 0.0, 0.0]\n",
    "position and yaw" => "[camera]\nposition = [0.0, 0.0, 4.0]\nyaw = 30.0\n",
    "an orbit out of order" => "[camera]\norbit = [{ time = 1.0 }, { time = 1.0 }]\n",
    "orbit and turntable" => "[camera]\nturntable = 5.0\norbit = [{ time = 1.0 }]\n",
    "a light that is nowhere" => "[[light]]\nstrength = 2.0\n",
    "a light by another name" => "[[light]]\ndirection = [0.0, 1.0, 0.0]\n",
    "a sun and a point" => "[[light]]\nsun = [0.0, 1.0, 0.0]\npoint = [0.0, 1.0, 0.0]\n",
    "too many rays" => "[render]\nsamples = 100\n",
    "a glow of nothing" => "[render]\nglow = { substance = \"heat\" }\n",
    "exposure in the wrong place" => "[render]\nexposure = 2.0\n",
    "12 bits" => "[output]\nbits = 12\n",
    "volumes of nothing" => "[output]\nvdb = { fields = [\"soot\"] }\n",
    "a camera for the speed" => "[picture]\nshow = \"speed\"\n[camera]\nyaw = 3.0\n",
});

cases!(only_for_smoke, SMOKE, {
    "objects" => "[[object]]\nname = \"a\"\nshape = { sphere = { center = [0, 0], radius = 1 } }\n",
    "the table of smoke" => "[smoke]\nrise = 1.0\n",
    "an explosion" => "[[source]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.1 } }\nexpansion = 1.0\n",
    "a camera in 2D" => "[camera]\nyaw = 3.0\n",
    "volumes in 2D" => "[output]\nvdb = true\n",
    "a height of its own" => "[output]\nheight = 100\n",
});

cases!(warnings, SMOKE, {
    "a source outside" => "[[source]]\nset = { density = 1.0 }\nshape = { sphere = { center = [0.5, 3.0], radius = 0.1 } }\n",
    "a source thinner than a cell" => "[[source]]\nset = { density = 1.0 }\nshape = { sphere = { center = [0.5, 0.5], radius = 0.001 } }\n",
    "a source after the end" => "[[source]]\nset = { density = 1.0 }\nfrom = 100.0\nshape = { sphere = { center = [0.5, 0.5], radius = 0.1 } }\n",
    "a substance that is never there" => "[substance.dye]\n",
    "a uniform force between walls" => "[[force]]\nuniform = [0.0, -9.81]\n",
});

cases!(warnings_about_smoke, PLUME, {
    "a source in centimetres" => "[[source]]\nset = { density = 1.0 }\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 5.0 } }\n",
    "a source far away" => "[[source]]\nset = { density = 1.0 }\nshape = { sphere = { center = [50.0, 10.0, 50.0], radius = 0.2 } }\n",
    "heat without smoke" => "[[source]]\nset = { temperature = 100.0 }\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.2 } }\n",
    "an expression that divides by nothing" => "[substance.density]\ninitial = 0.5\nsource = \"1/density\"\n",
});

cases!(numbers_over_time, PLUME, {
    "an expression of place" => "[smoke]\nwind = [\"x\", 0.0, 0.0]\n",
    "keyframes out of order" => "[smoke]\nrise = { keys = [[0.0, 1.0], [2.0, 3.0], [1.0, 1.0]] }\n",
    "a keyframe of three numbers" => "[smoke]\nrise = { keys = [[0.0, 1.0, 2.0]] }\n",
    "no keyframes" => "[smoke]\nrise = { keys = [] }\n",
    "keyframes of two axes" => "[smoke]\nwind = { keys = [[0.0, [1.0, 0.0]]] }\n",
    "a keyframe out of range" => "[smoke]\nconfinement = { keys = [[0.0, 1.0], [1.0, -1.0]] }\n",
    "a number that becomes infinite" => "[smoke]\nrise = \"1/(t - 1.5)\"\n",
    "an easing that does not exist" => "[smoke]\nrise = { keys = [[0.0, 1.0]], ease = \"bounce\" }\n",
    "moved twice" => "[[object]]\nname = \"a\"\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.1 } }\nposition = [\"t\", 0.0, 0.0]\nmotion = { keys = [{ time = 0.0 }] }\n",
    "a word for a velocity" => "[[force]]\nwind = { velocity = \"fast\" }\n",
    "an expression out of range" => "[smoke]\nconfinement = \"1 - t\"\n[[force]]\nwind = { velocity = [1, 0, 0], rate = \"0 - 1\" }\n",
    "an expression beyond all bounds" => "[substance.density]\ninitial = \"1e30*x\"\n[smoke]\nrise = \"1e30*t\"\n",
    "an initial value that is not a number" => "[substance.density]\ninitial = \"ln(y - 0.5)\"\n",
});

cases!(late_targets, MORPH, {
    "after the end" => "[[target]]\ntime = 9.0\nfigure = { text = \"B\" }\n",
    "after the release" => "[[target]]\ntime = 2.0\nfigure = { text = \"B\" }\n[guide]\nrelease = 1.0\n",
});

cases!(targets, MORPH, {
    "no target at all" => "",
    "a target without time and figure" => "[[target]]\n",
    "an unknown key" => "[[target]]\ntime = 1.0\nfigur = { text = \"B\" }\n",
    "a text beside the figure" => "[[target]]\ntime = 1.0\ntext = \"B\"\n",
    "two kinds in one figure" => "[[target]]\ntime = 1.0\nfigure = { text = \"B\", image = \"b.png\" }\n",
    "a figure of nothing" => "[[target]]\ntime = 1.0\nfigure = { margin = 0.2 }\n",
    "a file without a folder" => "[[target]]\ntime = 1.0\nfigure = { image = \"logo.png\" }\n",
    "a file outside" => "[[target]]\ntime = 1.0\nfigure = { image = \"../logo.png\" }\n",
    "a text without letters" => "[[target]]\ntime = 1.0\nfigure = { text = \"  \" }\n",
    "a text that the font does not have" => "[[target]]\ntime = 1.0\nfigure = { text = \"你好\" }\n",
    "a mesh in 2D" => "[[target]]\ntime = 1.0\nfigure = { mesh = \"horse.ply\" }\n",
    "a thickness in 2D" => "[[target]]\ntime = 1.0\nfigure = { text = \"B\", thickness = 0.1 }\n",
    "a font for a shape" => "[[target]]\ntime = 1.0\nfigure = { shape = { sphere = { center = [0.5, 0.5], radius = 0.2 } }, font = \"a.ttf\" }\n",
    "times out of order" => "[[target]]\ntime = 2.0\nfigure = { text = \"B\" }\n[[target]]\ntime = 1.0\nfigure = { text = \"C\" }\n",
    "an unknown smoke" => "[[target]]\nsubstance = \"densty\"\ntime = 1.0\nfigure = { text = \"B\" }\n",
    "several smokes and none named" => "[substance.dye]\nstart = { text = \"B\" }\n[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\n",
    "a figure outside the box" => "[[target]]\ntime = 1.0\nfigure = { shape = { sphere = { center = [5.0, 0.5], radius = 0.2 } } }\n",
    "a figure inside of an object" => "[[target]]\ntime = 1.0\nfigure = { text = \"B\", size = [0.2, 0.2] }\n[[object]]\nname = \"block\"\nshape = { box = { min = [0.3, 0.3], max = [0.7, 0.7] } }\n",
    "an empty formula" => "[[target]]\ntime = 1.0\nfigure = { formula = \"x < 0\" }\n",
    "images without a number" => "[[target]]\ntime = 1.0\nfigure = { images = \"walk.png\", frames = [1, 2] }\n",
    "images without frames" => "[[target]]\ntime = 1.0\nfigure = { images = \"walk_##.png\" }\n",
    "keyframes out of order" => "drive = [[1.0, 3.0], [0.0, 0.0]]\n[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\n",
    "a keyframe that is no pair" => "drive = [1.0, 3.0]\n[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\n",
    "a negative drive" => "drive = -1.0\n[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\n",
    "a word for smoothing" => "[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\nsmoothing = \"wide\"\n",
    "three widths" => "[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\nsmoothing = [0.1, 0.05, 0.02]\n",
    "start and initial" => "initial = 1.0\n[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\n",
    "a drive without a target" => "[substance.dye]\ninitial = 1.0\ndrive = 3.0\n[[target]]\nsubstance = \"density\"\ntime = 1.0\nfigure = { text = \"B\" }\n",
    "no smoke to form anything" => "[substance.dye]\n[[target]]\nsubstance = \"dye\"\ntime = 1.0\nfigure = { text = \"B\" }\n",
    "a release without its time" => "[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\n[guide]\nrelease_over = 2.0\n",
    "three projections" => "[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\n[guide]\nprojections = 3\n",
    "pressure" => "[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\n[picture]\nshow = \"pressure\"\n",
    "what it does not have" => "[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\n[fluid]\nviscosity = 0.1\n[solver]\nadvection = \"maccormack\"\n[[source]]\nshape = { sphere = { center = [0.5, 0.5], radius = 0.1 } }\nexpansion = 1.0\n",
    "a figure that flow cannot reach" => "gathering = 0.0\n[[target]]\ntime = 1.0\nfigure = { text = \"B\", size = [0.2, 0.2] }\n",
    "a target after the end" => "[[target]]\ntime = 5.0\nfigure = { text = \"B\" }\n[[target]]\ntime = 6.0\nfigure = { text = \"C\" }\n[time]\nfps = 10\nframes = 10\n",
});

cases!(targets_without_the_model, SMOKE, {
    "a target" => "[[target]]\ntime = 1.0\nfigure = { text = \"B\" }\n",
    "a start" => "[substance.dye]\nstart = { text = \"B\" }\n",
    "a guide" => "[guide]\ndamping = 3.0\n",
});

#[test]
fn overrides() {
    let mut out = String::new();
    for case in [
        "fluid.viscosity",
        "fluid.viscosity=",
        "=3",
        "fluid.viscosty=1",
        "fluid.viscosity=-1",
        "fluid.viscosity=thick",
        "grid.cells=[32, 48",
        "grid.cells.x=3",
        "grid.cells.7=3",
        "source.0.noise=0.5",
        "object.0.visible=false",
        "solver.advection=maccormak",
        "fluid.velocity=[\"0\", \"2*qq\"]",
    ] {
        out += &format!("=== --set {case}\n{}\n", report(SMOKE, &[case]).trim_end());
    }
    snapshot("overrides", &out);
}

#[test]
fn a_file_that_is_too_large_is_not_even_parsed() {
    let text = "#".repeat(2 << 20);
    snapshot("too_large", &report(&text, &[]));
}

//! Scenes with something painted on the fluid: tiles without a seam, detail in volumes, stirring.

use std::path::PathBuf;

use crate::folder::Folder;
use squall::picture::{Painter, Picture};
use squall::run::{CancelToken, RunOptions, render, run};
use squall::{Assets, Event, Scene, Setup, build, gallery};
use squall_core::sim::StepError;
use squall_core::{FieldInfo, Simulation, StateVisitor, StepReport, Volume};
use squall_io::{VdbValues, read_vdb};
use squall_render::Image;

fn setup(text: &str, overrides: &[&str]) -> Setup {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    match Scene::parse("texture.toml", text, &overrides).and_then(|s| s.setup()) {
        Ok((setup, _)) => setup,
        Err(e) => panic!("{}", e.to_text()),
    }
}

/// A scene of the gallery after so many seconds, smaller.
fn gallery_scene(name: &str, overrides: &[&str], seconds: f64) -> (Setup, Box<dyn Simulation>) {
    let setup = setup(gallery::find(name).unwrap().text, overrides);
    let mut sim = build::build(&setup).unwrap();
    while sim.time() < seconds {
        let dt = sim.longest_step(2.0).min(1.0 / 30.0);
        sim.step(dt).unwrap();
    }
    (setup, sim)
}

fn picture(setup: &Setup, sim: &dyn Simulation) -> Image {
    draw(&mut Painter::new(setup).unwrap(), sim)
}

fn draw(painter: &mut Painter, sim: &dyn Simulation) -> Image {
    match painter.draw(sim, sim.time(), 1).unwrap() {
        Picture::Screen(image) => image,
        Picture::Film(_) => panic!("a 2D scene"),
    }
}

/// A 2D simulation seen from half a box away: in a periodic box there is no other difference.
struct Shifted(Box<dyn Simulation>);

impl Simulation for Shifted {
    fn cells(&self) -> &[usize] {
        self.0.cells()
    }
    fn placement(&self) -> (Vec<f64>, Vec<f64>) {
        self.0.placement()
    }
    fn time(&self) -> f64 {
        self.0.time()
    }
    fn cells_per_second(&self) -> f64 {
        self.0.cells_per_second()
    }
    fn step(&mut self, _: f64) -> Result<StepReport, StepError> {
        unreachable!("only looked at")
    }
    fn snap_time(&mut self, _: f64) {}
    fn fields(&self) -> Vec<FieldInfo> {
        self.0.fields()
    }
    fn read(&self, name: &str, component: usize, out: &mut Vec<f32>) -> bool {
        let mut values = Vec::new();
        let found = self.0.read(name, component, &mut values);
        let (nx, ny) = (self.cells()[0], self.cells()[1]);
        out.clear();
        out.extend((0..nx * ny).map(|i| values[(i / nx + ny / 2) % ny * nx + (i % nx + nx / 2) % nx]));
        found
    }
    fn scalar(&self, name: &str) -> Option<f64> {
        self.0.scalar(name)
    }
    fn visit_state(&mut self, _: &mut dyn StateVisitor) {}
}

fn assert_tiles(setup: &Setup, sim: Box<dyn Simulation>, what: &str) {
    let mut painter = Painter::new(setup).unwrap();
    let here = draw(&mut painter, &*sim);
    let there = draw(&mut painter, &Shifted(sim));
    let (w, h) = (here.width, here.height);
    let mut differ = 0;
    for y in 0..h {
        for x in 0..w {
            let (a, b) = (here.pixels[y * w + x], there.pixels[(y + h / 2) % h * w + (x + w / 2) % w]);
            // The pattern against banding does not move along: one level, or two where two roundings meet.
            differ += usize::from((0..3).any(|c| a[c].abs_diff(b[c]) > 2));
        }
    }
    assert_eq!(differ, 0, "{what}: of {} pixels", w * h);
    // Laid side by side, neighbours across the seam differ as neighbours elsewhere do.
    let level = |x: usize, y: usize| i32::from(here.pixels[y * w + x][1]);
    let across = |x: usize| (0..h).map(|y| (level(x, y) - level((x + 1) % w, y)).abs()).sum::<i32>();
    let along = |y: usize| (0..w).map(|x| (level(x, y) - level(x, (y + 1) % h)).abs()).sum::<i32>();
    for (steps, seam) in
        [((0..w - 1).map(across).collect::<Vec<_>>(), across(w - 1)), ((0..h - 1).map(along).collect(), along(h - 1))]
    {
        let mean = steps.iter().sum::<i32>() as f64 / steps.len() as f64;
        let most = steps.iter().copied().max().unwrap_or(0);
        // A column of features is not the mean; but no more than the roughest one inside, and no smoother than half the mean.
        assert!(
            f64::from(seam) > 0.3 * mean && seam <= most,
            "{what}: {seam} at the seam, {mean} inside, {most} at most"
        );
    }
}

const SMALL: [&str; 2] = ["grid.cells=[48, 48]", "output.width=120"];

#[test]
fn pictures_of_periodic_boxes_tile_without_a_seam() {
    let (setup, sim) = gallery_scene("lava_lamp", &SMALL, 0.7);
    assert_tiles(&setup, sim, "lava_lamp");
}

#[test]
fn liquid_textures_tile_without_a_seam() {
    // Half a box away the stones are the same ones.
    let (setup, sim) = gallery_scene("stirred_pebbles", &[SMALL[0], SMALL[1], "texture.size=[0.5, 0.5]"], 0.7);
    assert_tiles(&setup, sim, "stirred_pebbles");
    let (setup, sim) = gallery_scene("marbled_paper", &[SMALL[0], SMALL[1], "texture.size=[0.25, 0.5]"], 1.2);
    assert_tiles(&setup, sim, "marbled_paper");
}

#[test]
fn a_stirred_pattern_moves_and_a_fluid_at_rest_shows_it_as_it_is() {
    let still = "[grid]\ncells = [32, 32]\n[texture]\npattern = \"mosaic\"\n[picture]\nshow = \"texture\"\n[output]\nwidth = 64\n";
    let setup_still = setup(still, &[]);
    let mut sim = build::build(&setup_still).unwrap();
    let before = picture(&setup_still, &*sim);
    (0..10).for_each(|_| drop(sim.step(0.3).unwrap()));
    assert_eq!(picture(&setup_still, &*sim), before, "nothing moves, whatever the blend");
    let stirred = setup(
        &format!("{still}[[force]]\nstir = {{ path = [[0.2, 0.5], [0.8, 0.5]], speed = 1.0, radius = 0.1 }}\n"),
        &[],
    );
    let mut sim = build::build(&stirred).unwrap();
    (0..20).for_each(|_| drop(sim.step(0.03).unwrap()));
    let after = picture(&stirred, &*sim);
    let differ = before.pixels.iter().zip(&after.pixels).filter(|(a, b)| a[0].abs_diff(b[0]) > 8).count();
    assert!(differ > before.pixels.len() / 10, "{differ}");
}

#[test]
fn detail_in_2d_pictures_keeps_their_brightness_and_strength_zero_leaves_them_alone() {
    let scene = "[grid]\ncells = [48, 48]\n[boundary]\nx = \"periodic\"\ny = \"periodic\"\n[fluid]\nvelocity = [\"0.3*sin(tau*y)\", \"0.3*sin(tau*x)\"]\n\
                 [substance.density]\ninitial = 0.5\n[picture]\nmap = \"grey\"\nrange = [0.0, 2.0]\n[output]\nwidth = 192\n";
    let draw = |extra: &str| {
        let setup = setup(&format!("{scene}{extra}"), &[]);
        let mut sim = build::build(&setup).unwrap();
        (0..20).for_each(|_| drop(sim.step(0.05).unwrap()));
        picture(&setup, &*sim)
    };
    let plain = draw("");
    assert_eq!(draw("[texture]\nnoise = {}\nstrength = 0.0\n"), plain);
    let spread = |image: &Image| {
        // The lightness of greys, which the map makes of values, is the cubic root of their light.
        let value = |p: &[u8; 4]| f64::from(squall_render::color::from_srgb8([p[0]; 3])[0]).cbrt();
        let n = image.pixels.len() as f64;
        let mean = image.pixels.iter().map(value).sum::<f64>() / n;
        (mean, (image.pixels.iter().map(|p| (value(p) - mean).powi(2)).sum::<f64>() / n).sqrt())
    };
    for pattern in ["noise = { scale = 0.1 }", "lines = { spacing = 0.06, direction = [1.0, 0.5] }"] {
        let textured = draw(&format!("[texture]\n{pattern}\n"));
        let ((before, flat), (after, rough)) = (spread(&plain), spread(&textured));
        // A hundred features, of which the flow has stretched some.
        assert!((after / before - 1.0).abs() < 0.08, "{pattern}: {before} {after}");
        assert!(rough > 10.0 * flat.max(0.003), "{pattern}: {flat} {rough}");
    }
}

const PLUME: &str = r#"
model = "smoke"
[grid]
cells = [16, 24, 16]
origin = [0.5, 0.25, -1.0]
[texture]
noise = { scale = 0.15 }
refine = 3
period = 0.3
[[source]]
shape = { sphere = { center = [1.0, 0.5, -0.5], radius = 0.2 } }
set = { density = 1.0, temperature = 200.0 }
[time]
frames = 3
[output]
width = 48
vdb = { fields = ["density", "temperature", "velocity"], half = false }
movie = "none"
[render]
quality = "preview"
glow = {}
"#;

fn volumes(setup: &Setup, folder: &Folder, name: &str) -> Vec<(String, VdbValues<Volume>)> {
    let out = folder.0.join(name);
    run(setup, &RunOptions::new("test", &out), &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
    let file = read_vdb(out.join("volume_0003.vdb")).unwrap();
    file.grids.into_iter().map(|grid| (grid.name, grid.values)).collect()
}

fn scalar<'a>(grids: &'a [(String, VdbValues<Volume>)], wanted: &str) -> &'a Volume {
    match grids.iter().find(|(name, _)| name == wanted) {
        Some((_, VdbValues::Scalar(volume))) => volume,
        _ => panic!("no {wanted}"),
    }
}

fn mass(volume: &Volume) -> f64 {
    volume.values.iter().map(|&v| f64::from(v)).sum::<f64>() * volume.spacing.powi(3)
}

#[test]
fn volumes_with_detail_are_finer_at_the_same_place_and_hold_as_much() {
    let folder = Folder::new("texture-detail");
    let fine = volumes(&setup(PLUME, &[]), &folder, "fine");
    let coarse = volumes(&setup(PLUME, &["output.vdb.detail=false"]), &folder, "coarse");
    let (a, b) = (scalar(&fine, "density"), scalar(&coarse, "density"));
    assert!((a.spacing * 3.0 / b.spacing - 1.0).abs() < 1e-9, "{} {}", a.spacing, b.spacing);
    // The lower corners of cell 0, which VDB keeps as the centre of that cell.
    assert!((0..3).all(|k| (a.origin[k] - b.origin[k]).abs() < 1e-9), "{:?} {:?}", a.origin, b.origin);
    // A ball of few features of the pattern.
    assert!((mass(a) / mass(b) - 1.0).abs() < 0.12, "{} {}", mass(a), mass(b));
    let (a, b) = (scalar(&fine, "temperature"), scalar(&coarse, "temperature"));
    assert!(a == b, "textures do not affect temperature: it is as coarse as it was");
}

#[test]
fn pictures_are_taken_again_from_volumes_with_their_detail() {
    let folder = Folder::new("texture-again");
    // Everything, in 32 bits.
    let fine = setup(PLUME, &["output.vdb.mask=false"]);
    let out = folder.0.join("run");
    let quiet = &mut |_: &Event<'_>| {};
    run(&fine, &RunOptions::new("test", &out), quiet, &CancelToken::default()).unwrap();
    let again = folder.0.join("again");
    render(&fine, &out, &Assets::none(), &RunOptions::new("test", &again), quiet, &CancelToken::default()).unwrap();
    let bytes = |folder: &PathBuf| std::fs::read(folder.join("frame_0003.png")).unwrap();
    assert!(bytes(&out) == bytes(&again), "whole numbers in the file are those that were drawn");
}

#[test]
fn a_resolved_scene_with_a_texture_and_strokes_reads_back_as_itself() {
    let scene = "[grid]\ncells = [32, 32]\n[boundary]\nx = \"periodic\"\ny = \"slip\"\n\
                 [[force]]\nstir = { path = [[0.2, 0.5], [0.8, 0.6], [0.5, 0.2]], loop = true, rods = 3, apart = [0.0, 0.1] }\nfrom = 1.0\n\
                 [[force]]\nstir = { path = [[0.0, 0.5], [1.0, 0.5]], times = [0.5, 1.5], loop = true }\n";
    for pattern in ["noise = {}", "lines = { direction = [1.0, 2.0] }", "pattern = \"wood\"\nsize = [0.5, 0.3]"] {
        let first = setup(&format!("{scene}[texture]\n{pattern}\nperiod = 3.0\n"), &[]);
        let again = setup(&first.to_toml(), &[]);
        assert_eq!(first, again, "{pattern}");
        assert_eq!(first.hash(), again.hash());
        let other = setup(&format!("{scene}[texture]\n{pattern}\nperiod = 3.0\nstrength = 0.1\n"), &[]);
        assert_eq!(first.physics_hash(), other.physics_hash(), "looks are no physics");
        let forgetful = setup(&format!("{scene}[texture]\n{pattern}\nperiod = 2.0\n"), &[]);
        assert_ne!(first.physics_hash(), forgetful.physics_hash(), "how long is");
    }
}

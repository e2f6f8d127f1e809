//! From scene text to a running simulation.

use squall::Scene;
use squall::build::{build, estimate};
use squall_core::Simulation;

fn simulation(text: &str) -> Box<dyn Simulation> {
    let (setup, _) = Scene::parse("test.toml", text, &[]).and_then(|s| s.setup()).unwrap();
    build(&setup).unwrap()
}

fn values(sim: &dyn Simulation, field: &str, component: usize) -> Vec<f32> {
    let mut out = Vec::new();
    assert!(sim.read(field, component, &mut out), "no field {field}");
    out
}

#[test]
fn every_gallery_scene_and_the_template_take_ten_steps() {
    let scenes = squall::gallery::all().iter().map(|s| (s.name, s.text.to_string()));
    for (name, text) in scenes.chain(squall::gallery::TEMPLATES.iter().map(|t| (t.name, t.scene("mine")))) {
        let read = |changes: &[String]| {
            let scene = Scene::parse(name, &text, changes).unwrap().with_assets(squall::gallery::assets());
            scene.setup().unwrap().0
        };
        // The same scene on a coarse grid. Some cells must be cubes, so the box changes a little.
        let grid = read(&[]).grid;
        let longest = *grid.cells.iter().max().unwrap();
        let cells: Vec<usize> = grid.cells.iter().map(|n| (n * 32 / longest).max(1)).collect();
        let h = grid.size[0] / cells[0] as f64;
        let size: Vec<f64> = cells.iter().map(|&n| h * n as f64).collect();
        let setup = read(&[format!("grid.cells={cells:?}"), format!("grid.size={size:?}")]);
        let iterative = setup.smoke.is_some() || setup.liquid.is_some();
        let mut sim = build(&setup).unwrap();
        for _ in 0..10 {
            let report = sim.step(1.0 / 30.0).unwrap_or_else(|e| panic!("{name}: {e}"));
            // An iterative solver stops at 1e-4 in the mean over all cells; single ones may have more.
            let most = if iterative { 1e-3 } else { 1e-5 };
            assert!(report.pressure.converged, "{name}: {:?}", report.pressure);
            assert!(report.relative_divergence < most, "{name}: divergence {}", report.relative_divergence);
        }
    }
}

#[test]
fn an_expression_force_in_proportion_to_a_substance_acts_like_buoyancy() {
    let scene = |force: &str| {
        format!(
            "[grid]\ncells = [24, 24]\n[substance.heat]\ninitial = \"exp(-40*((x-0.5)^2 + (y-0.4)^2))\"\n[[force]]\n{force}\n"
        )
    };
    let mut named = simulation(&scene("buoyancy = { substance = \"heat\", strength = 3.0, ambient = 0.25 }"));
    let mut typed = simulation(&scene("expression = [\"0\", \"3*(heat - 0.25)\"]"));
    for _ in 0..5 {
        named.step(0.05).unwrap();
        typed.step(0.05).unwrap();
    }
    for (a, b) in values(&*named, "velocity", 1).iter().zip(values(&*typed, "velocity", 1)) {
        // Only the order of a multiplication differs.
        assert!((a - b).abs() < 1e-5, "{a} and {b}");
    }
}

#[test]
fn a_reaction_source_reads_the_substance_that_it_feeds_and_the_others() {
    // A turns into B: da/dt = -a, db/dt = +a. Small steps, so that Euler's rule is exact to 1 %.
    let text = "[grid]\ncells = [70, 3]\nsize = [70.0, 3.0]\n[substance.a]\ninitial = \"x\"\nsource = \"-a\"\n[substance.b]\nsource = \"a\"\n";
    let mut sim = simulation(text);
    for _ in 0..100 {
        sim.step(0.01).unwrap();
    }
    let (a, b) = (values(&*sim, "a", 0), values(&*sim, "b", 0));
    for x in 0..70 {
        let start = x as f32 + 0.5;
        assert!((a[x] - start * (-1f32).exp()).abs() < 0.01 * start, "a = {} at {x}", a[x]);
        // b grows by the a that is already reduced in the same step: 1 % less than a loses.
        assert!((a[x] + b[x] - start).abs() < 0.012 * start, "a + b = {} at {x}", a[x] + b[x]);
    }
}

#[test]
fn initial_expressions_see_position_and_noise_and_noise_depends_on_the_seed() {
    let text = |seed: u64| {
        format!(
            "seed = {seed}\n[grid]\ncells = [40, 30]\n[substance.a]\ninitial = \"x + 10*y\"\n[substance.b]\ninitial = \"noise\"\n"
        )
    };
    let sim = simulation(&text(1));
    let a = values(&*sim, "a", 0);
    assert!((a[0] - 11.0 * 0.5 / 40.0).abs() < 1e-6);
    assert!((a[40 * 29 + 39] - (39.5 + 295.0) / 40.0).abs() < 1e-5);
    let b = values(&*sim, "b", 0);
    assert!(b.iter().any(|&v| v > 0.2) && b.iter().any(|&v| v < -0.2) && b.iter().all(|v| v.abs() < 2.0));
    assert_eq!(b, values(&*simulation(&text(1)), "b", 0));
    assert_ne!(b, values(&*simulation(&text(2)), "b", 0));
}

#[test]
fn a_source_acts_only_in_its_time_and_its_place() {
    let text = "[grid]\ncells = [32, 32]\n[substance.ink]\n[[source]]\nrate = { ink = 2.0 }\nfrom = 0.1\nto = 0.2\nshape = { box = { min = [0.25, 0.25], max = [0.5, 0.5] } }\n";
    let mut sim = simulation(text);
    let mass = |sim: &dyn Simulation| values(sim, "ink", 0).iter().map(|&v| v as f64).sum::<f64>() / 1024.0;
    for _ in 0..5 {
        sim.step(0.02).unwrap();
    }
    assert_eq!(mass(&*sim), 0.0);
    for _ in 0..15 {
        sim.step(0.02).unwrap();
    }
    // Rate 2 per second for 0.1 s over a sixteenth of the box; the soft edge is symmetric about the outline.
    assert!((mass(&*sim) - 2.0 * 0.1 / 16.0).abs() < 1e-4, "{}", mass(&*sim));
}

#[test]
fn the_estimate_names_the_transforms_and_grows_with_the_grid() {
    let of = |cells: &str| {
        let text = format!(
            "[grid]\ncells = {cells}\n[boundary]\nx = \"periodic\"\ny = {{ lo = \"no_slip\", hi = \"open\" }}\n[substance.smoke]\n"
        );
        let (setup, _) = Scene::parse("test.toml", &text, &[]).and_then(|s| s.setup()).unwrap();
        estimate(&setup)
    };
    assert!(of("[64, 64]").solver.starts_with("direct: FFT x DCT-IV"), "{}", of("[64, 64]").solver);
    assert!(of("[2048, 2048]").bytes > 50 * of("[64, 64]").bytes / 10);
}

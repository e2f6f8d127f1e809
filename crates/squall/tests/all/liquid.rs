//! Facts about liquids in scenes.

use squall::build::build;
use squall::{Scene, Setup};
use squall_core::{Simulation, StepReport};

fn setup(text: &str) -> Setup {
    Scene::parse("liquid.toml", text, &[]).unwrap().setup().unwrap().0
}

/// Goes on to a time, in steps of a cell at most.
fn go_on(sim: &mut dyn Simulation, until: f64, mut look: impl FnMut(&StepReport)) {
    while sim.time() < until - 1e-9 {
        let dt = sim.longest_step(1.0).min(until - sim.time()).min(1.0 / 60.0);
        look(&sim.step(dt).unwrap());
    }
}

fn figure(sim: &mut dyn Simulation, name: &str) -> f64 {
    sim.figures().into_iter().find(|f| f.name == name).map(|f| f.value).unwrap()
}

const BOX: &str = "model = \"liquid\"\n[grid]\ncells = [48, 48]\n[[blob]]\nshape = { box = { min = [0.0, 0.0], max = [1.0, 0.3] } }\n";

#[test]
fn a_blob_appears_at_its_time_and_only_where_there_is_no_liquid() {
    let later = "[[blob]]\nshape = { box = { min = [0.2, 0.2], max = [0.6, 0.6] } }\ntime = 0.1\n";
    let mut sim = build(&setup(&format!("{BOX}{later}"))).unwrap();
    let volume = figure(&mut *sim, "volume");
    // Cells are filled as a whole, or by the points of their lattice: to a particle in a row of 96.
    assert!((volume - 0.3).abs() < 0.01, "{volume}");
    let mut emitted = 0.0;
    go_on(&mut *sim, 0.09, |report| emitted += report.ledger.substances[0].emitted);
    assert_eq!((emitted, figure(&mut *sim, "volume")), (0.0, volume));
    go_on(&mut *sim, 0.12, |report| emitted += report.ledger.substances[0].emitted);
    // A quarter of it lies in the pool, and half a cell beside that.
    assert!((emitted - 0.4 * 0.3).abs() < 0.012, "{emitted}");
    assert!((figure(&mut *sim, "volume") - volume - emitted).abs() < 1e-9, "all of it is accounted for");
}

#[test]
fn water_runs_out_of_an_open_side_and_is_accounted_for() {
    let open = "[boundary]\nx = { lo = \"slip\", hi = \"open\" }\n";
    let mut sim = build(&setup(&format!("{BOX}{open}"))).unwrap();
    let before = figure(&mut *sim, "volume");
    let (mut left, mut unexplained) = (0.0, 0.0f64);
    go_on(&mut *sim, 1.5, |report| {
        left -= report.ledger.substances[0].sides;
        unexplained = unexplained.max(report.ledger.substances[0].unexplained().abs());
    });
    let after = figure(&mut *sim, "volume");
    assert!(left > 0.3 * before, "{left} of {before}");
    assert!((before - after - left).abs() < 1e-9 && unexplained < 1e-9, "{before} {after} {left} {unexplained}");
}

#[test]
fn water_that_leaves_a_periodic_box_comes_in_at_the_other_side() {
    // A pool that moves along, and a drop that falls into it.
    let text = "model = \"liquid\"\n[grid]\ncells = [40, 40]\n[boundary]\nx = \"periodic\"\n\
                [[blob]]\nshape = { box = { min = [-1.0, 0.0], max = [2.0, 0.3] } }\nvelocity = [2.0, 0.0]\n\
                [[blob]]\nshape = { sphere = { center = [0.5, 0.6], radius = 0.1 } }\nvelocity = [2.0, 0.0]\n";
    let mut sim = build(&setup(text)).unwrap();
    let momentum = |sim: &dyn Simulation| {
        let particles = sim.particles().unwrap();
        let sum: f64 = particles.velocities[0].iter().map(|v| f64::from(*v)).sum();
        assert!(particles.positions[0].iter().all(|x| (0.0..=1.0).contains(x)));
        sum / particles.len() as f64
    };
    let (count, along) = (figure(&mut *sim, "particles"), momentum(&*sim));
    go_on(&mut *sim, 1.0, |report| assert!(report.pressure.converged));
    assert_eq!(figure(&mut *sim, "particles"), count);
    // Nothing pushes along x: only the transfers at the surface may change it a little.
    let kept = momentum(&*sim) / along;
    assert!((kept - 1.0).abs() < 0.02, "{kept}");
}

#[test]
fn a_plate_that_rises_through_water_pushes_it_away_and_none_gets_inside() {
    let text = "model = \"liquid\"\n[grid]\ncells = [48, 48]\n\
                [[blob]]\nshape = { box = { min = [0.0, 0.0], max = [1.0, 0.5] } }\n\
                [[object]]\nname = \"plate\"\nshape = { box = { min = [0.3, 0.06], max = [0.7, 0.14] } }\n\
                position = { keys = [[0.0, [0.0, 0.0]], [0.5, [0.0, 0.4]]] }\n";
    let mut sim = build(&setup(text)).unwrap();
    let count = figure(&mut *sim, "particles");
    go_on(&mut *sim, 0.5, |_| {});
    assert_eq!(figure(&mut *sim, "particles"), count);
    let particles = sim.particles().unwrap();
    let (x, y) = (&particles.positions[0], &particles.positions[1]);
    // Half a cell less: distances are interpolated between cell centres, and corners are round.
    let within = |i: &usize| (0.31..0.69).contains(&x[*i]) && (0.47..0.53).contains(&y[*i]);
    assert_eq!((0..x.len()).filter(within).count(), 0);
    let above = (0..x.len()).filter(|&i| y[i] > 0.56).count();
    assert!(above > 20, "it lifts what lies on it: {above}");
}

//! Transport in flux form, and smoke that takes shapes.

use crate::common::strokes::Strokes;
use crate::common::{Random, values};
use squall_core::advect::hyperbolic::{Carrier, Limiter, SweepScratch};
use squall_core::clock::next_dt;
use squall_core::force::Buoyancy;
use squall_core::model::target::*;
use squall_core::project::Projection;
use squall_core::sample::Isa;
use squall_core::shape::{Interpolation, Key, Motion, Moving, Sphere, Track};
use squall_core::solid::{Boundary, Obstacle};
use squall_core::*;

const LIMITERS: [Limiter; 3] = [Limiter::MonotonizedCentral, Limiter::Minmod, Limiter::Superbee];

/// A flow without divergence, as the projection leaves it, whose fastest face moves by `cells` cells in a step of one second.
fn random_flow<const D: usize>(grid: &Grid<D>, seed: u64, cells: f64) -> VectorField<D> {
    let mut random = Random::new(seed);
    let mut u: VectorField<D> =
        std::array::from_fn(|a| Field::new(grid.cells, At::Face(a), grid.velocity_ends(a)).unwrap());
    u.iter_mut().for_each(|u| {
        random.fill(u);
        u.set_end_faces();
        u.fill_halo();
    });
    let [mut q, a, b] = [0, 1, 2].map(|_| Field::new(grid.cells, At::Center, grid.pressure_ends()).unwrap());
    let mut solver = poisson::plan(poisson::Problem::of(grid)).build_for(grid).unwrap();
    let mut spare = [a, b];
    let scale = |u: &mut VectorField<D>, factor: f32| {
        u.iter_mut().for_each(|u| {
            u.par_rows(|_, u| u.iter_mut().for_each(|u| *u *= factor));
            u.set_end_faces();
            u.fill_halo();
        });
    };
    Projection::new(grid, &mut *solver).faces(&mut u, &mut q, &mut spare);
    let fastest = u.iter().map(ops::max_abs).fold(0.0, f32::max) as f64;
    // A hair less, so that rounding does not make it more than a cell.
    scale(&mut u, (0.9999 * cells * grid.min_spacing() / fastest) as f32);
    Projection::new(grid, &mut *solver).faces(&mut u, &mut q, &mut spare);
    u
}

fn keeps_bounds_mass_and_constants<const D: usize>(grid: Grid<D>) {
    for cfl in [0.4, 0.8, 0.999] {
        for limiter in LIMITERS {
            let u = random_flow(&grid, 3, cfl);
            let flow = Carrier::new(&grid, &u, 1.0, limiter, Isa::best()).unwrap();
            let mut smoke = Field::new(grid.cells, At::Center, grid.substance_ends(0.0)).unwrap();
            let mut constant = smoke.clone();
            smoke.set_from(&grid, |p| if p.iter().all(|x| (x - 0.5).abs() < 0.3) { 1.0 } else { 0.0 });
            constant.fill(0.7);
            let mut scratch = SweepScratch::new(smoke.layout()).unwrap();
            let mass = ops::sum(&smoke);
            for step in 0..100 {
                flow.transport(step, &mut smoke, &mut scratch);
                flow.transport(step, &mut constant, &mut scratch);
            }
            let what = format!("{D}D, CFL {cfl}, {limiter:?}");
            let [low, high] = range(&smoke);
            assert!(low >= 0.0 && high <= 1.0 + 1e-6, "{what}: from {low} to {high}");
            // The divergence that single precision leaves, weighted with the smoke; and the same in each cell of a constant.
            let drift = ops::sum(&smoke) / mass - 1.0;
            assert!(drift.abs() < 1e-6, "{what}: mass changed by {drift:e}");
            let [low, high] = range(&constant);
            assert!(low > 0.7 - 1e-5 && high < 0.7 + 1e-5, "{what}: a constant became {low} to {high}");
        }
    }
}

fn range<const D: usize>(field: &Field<D>) -> [f32; 2] {
    values(field).iter().fold([f32::INFINITY, f32::NEG_INFINITY], |r, v| [r[0].min(*v), r[1].max(*v)])
}

#[test]
fn any_flow_up_to_a_cell_per_step_keeps_bounds_mass_and_constants() {
    keeps_bounds_mass_and_constants(Grid::<2>::walled([40, 33], Side::Slip));
    keeps_bounds_mass_and_constants(Grid::<2>::periodic([32, 32]));
    keeps_bounds_mass_and_constants(Grid::<3>::walled([17, 12, 14], Side::Slip));
    keeps_bounds_mass_and_constants(Grid::<3>::periodic([12, 12, 12]));
}

#[test]
fn a_flow_of_more_than_a_cell_per_step_is_an_error() {
    let grid = Grid::<2>::periodic([16, 16]);
    let u = random_flow(&grid, 1, 1.5);
    let error = Carrier::new(&grid, &u, 1.0, Limiter::default(), Isa::best()).map(|_| ()).unwrap_err();
    assert!((error.cells - 1.5).abs() < 0.01 && error.to_string().contains("shorter steps"), "{error}");
}

#[test]
fn a_smooth_wave_is_carried_with_second_order() {
    // Once around a periodic box, diagonally; errors in the mean, as limiters clip extrema.
    let error = |n: usize| {
        let grid = Grid::<2>::periodic([n, n]);
        let wave = |p: [f64; 2]| 0.5 + 0.5 * (std::f64::consts::TAU * (p[0] + p[1])).sin();
        let mut u: VectorField<2> =
            std::array::from_fn(|a| Field::new(grid.cells, At::Face(a), grid.velocity_ends(a)).unwrap());
        u[0].fill(1.0);
        u[1].fill(0.5);
        u.iter_mut().for_each(Field::fill_halo);
        let mut q = Field::new(grid.cells, At::Center, grid.substance_ends(0.0)).unwrap();
        q.set_from(&grid, wave);
        let start = values(&q);
        let mut scratch = SweepScratch::new(q.layout()).unwrap();
        let flow = Carrier::new(&grid, &u, 0.5 / n as f64, Limiter::default(), Isa::best()).unwrap();
        (0..4 * n).for_each(|step| flow.transport(step, &mut q, &mut scratch));
        values(&q).iter().zip(&start).map(|(a, b)| (a - b).abs() as f64).sum::<f64>() / (n * n) as f64
    };
    let order = (error(32) / error(64)).log2();
    // Clipping at crests costs a little of the two.
    assert!(order > 1.7, "order {order}: {} and {}", error(32), error(64));
}

/// A smoke in a unit box with slippery walls, drawn by strokes, with no target yet.
fn smoke_of(n: usize, from: &Strokes) -> (TargetSmoke<2>, usize) {
    let grid = Grid::<2>::walled([n, n], Side::Slip);
    let mut sim = TargetSmoke::new(grid, Options::default()).unwrap();
    let substance = sim.flow.add_substance("smoke", 0.0).unwrap();
    sim.flow.substances[substance].field = from.draw(&grid);
    let id = sim.guide(substance).unwrap();
    (sim, id)
}

/// Drives with these parameters to a target that is to be reached at a time.
fn use_parameters(sim: &mut TargetSmoke<2>, id: usize, p: Parameters, goal: Field<2>, time: f64) {
    sim.damping = Track::constant([p.damping]);
    sim.guided_mut()[id].drive = Track::constant([p.drive]);
    sim.guided_mut()[id].gathering = Track::constant([p.gathering]);
    let target = Target { smoothing: p.smoothing, ..Target::new(time, Box::new(goal), 0.0) };
    sim.add_target(id, target).unwrap();
}

/// The parameters of the paper's first experiment, in a unit box.
const PAPER: Parameters = Parameters {
    smoothing: Smoothing { begin: 2.5 / 64.0, end: 2.5 / 64.0, over: 0.0 },
    drive: 1.5,
    damping: 3.0,
    gathering: 0.0,
    duration: 3.0,
};

/// Runs to a time by steps as long as allowed. The largest change of mass, relative, and the range of densities.
fn run<const D: usize>(sim: &mut TargetSmoke<D>, until: f64) -> (f64, [f32; 2]) {
    let mass = sim.flow.mass()[0];
    let (mut drift, mut all): (f64, _) = (0.0, [f32::INFINITY, f32::NEG_INFINITY]);
    while sim.time() < until - 1e-9 {
        let dt = next_dt(until - sim.time(), sim.longest_step(0.8).min(1.0 / 30.0));
        let report = sim.step(dt).unwrap();
        drift = drift.max((report.mass[0] / mass - 1.0).abs());
        let [low, high] = range(&sim.flow.substances[0].field);
        all = [all[0].min(low), all[1].max(high)];
    }
    (drift, all)
}

#[test]
fn psi_becomes_omega_with_the_parameters_of_the_paper() {
    let (mut sim, id) = smoke_of(64, &Strokes::psi());
    let goal = Strokes::omega().draw(&sim.flow.grid);
    use_parameters(&mut sim, id, PAPER, goal, 3.0);
    sim.guided_mut()[id].levelling = 0.0;
    run(&mut sim, 0.3);
    let lively = sim.flow.energy();
    let (drift, [low, high]) = run(&mut sim, 3.0);
    let m = sim.metrics()[0];
    assert!(m.peaks_match, "ratio of peaks {}", m.peak_ratio);
    assert!(m.smooth_error_of_first <= 0.15, "smoothed error {} of the first", m.smooth_error_of_first);
    assert!(drift <= 1e-6, "mass changed by {drift:e}");
    // Without gathering a flow only rearranges densities: 0 to 1, up to rounding.
    assert!(low >= 0.0 && high <= 1.0 + 1e-5, "densities from {low} to {high}");
    assert!(sim.flow.energy() < 0.25 * lively, "the flow settles: energy {} after {lively}", sim.flow.energy());
}

#[test]
fn suggested_parameters_bring_shapes_to_their_targets() {
    // Largest raw error, relative to the mass, after the suggested duration. In the comments: what it was half of that time later,
    // before there was levelling.
    let cases = [
        ("psi to omega", 64, Strokes::psi(), Strokes::omega(), 0.10), //                                         0.20
        ("cross to tick", 128, Strokes::cross(), Strokes::tick(), 0.10), //                                      0.25
        ("word to logo", 128, Strokes::word(), Strokes::logo(), 0.15), //                                        0.25
        ("disc to far ring", 128, Strokes::disc([0.2, 0.2], 0.15), Strokes::ring([0.68, 0.68], 0.2, 0.07), 0.20), // 0.30
        ("disc to 49 dots", 128, Strokes::disc([0.5, 0.5], 0.25), Strokes::small_dots(), 0.30), //               0.60
        ("lines to disc", 128, Strokes::lines(), Strokes::disc([0.5, 0.5], 0.26), 0.20), //                      0.82
    ];
    for (name, n, from, to, most) in cases {
        let (mut sim, id) = smoke_of(n, &from);
        let goal = to.draw(&sim.flow.grid);
        let p = suggest(&sim.flow.grid, &sim.flow.substances[0].field, &goal).unwrap();
        use_parameters(&mut sim, id, p, goal, 100.0);
        let bound = 1f32.max(sim.metrics()[0].peak_ratio as f32);
        let (drift, [low, high]) = run(&mut sim, p.duration);
        let m = sim.metrics()[0];
        println!("{name}: raw {:.3} smoothed {:.3} of the first; {p:?}", m.raw_error, m.smooth_error_of_first);
        assert!(m.raw_error <= most, "{name}: raw error {}", m.raw_error);
        assert!(drift <= 1e-6, "{name}: mass changed by {drift:e}");
        assert!(low >= 0.0 && high <= bound * (1.0 + 1e-5), "{name}: densities from {low} to {high}, bound {bound}");
    }
}

#[test]
fn a_disc_becomes_a_picture_of_grey_that_no_flow_could_make() {
    let (mut sim, id) = smoke_of(64, &Strokes::disc([0.5, 0.5], 0.3));
    let mut goal = Strokes::psi().draw(&sim.flow.grid);
    goal.set_from(&sim.flow.grid, |[x, y]| {
        let spot = |a: f64, b: f64, s: f64| (-((x - a).powi(2) + (y - b).powi(2)) / (2.0 * s * s)).exp();
        let face = 0.15 + 0.25 * y + 0.6 * spot(0.5, 0.5, 0.2) + 0.1 * (40.0 * x).sin() * (31.0 * y).cos();
        (face - 0.5 * (spot(0.4, 0.6, 0.04) + spot(0.6, 0.6, 0.04))).clamp(0.0, 1.0)
    });
    let p = suggest(&sim.flow.grid, &sim.flow.substances[0].field, &goal).unwrap();
    use_parameters(&mut sim, id, p, goal, 100.0);
    run(&mut sim, p.duration);
    // Without levelling it is 0.93: the smoke stays in the middle.
    let m = sim.metrics()[0];
    assert!(m.raw_error < 0.4, "raw error {}", m.raw_error);
}

#[test]
fn gathering_keeps_mass_however_strong_it_is() {
    let (mut sim, id) = smoke_of(64, &Strokes::disc([0.5, 0.5], 0.25));
    let goal = Strokes::dots().draw(&sim.flow.grid);
    let p = suggest(&sim.flow.grid, &sim.flow.substances[0].field, &goal).unwrap();
    use_parameters(&mut sim, id, Parameters { gathering: 32.0 * p.gathering, ..p }, goal, 100.0);
    let (drift, [low, _]) = run(&mut sim, p.duration);
    // Random rounding of some thousand small steps, no trend: without whole grains it is above 1e-5.
    assert!(drift <= 1e-6 && low >= 0.0, "mass changed by {drift:e}, lowest {low}");
}

#[test]
fn smoke_that_is_its_own_target_stays_put() {
    let (mut sim, id) = smoke_of(64, &Strokes::psi());
    let goal = Strokes::psi().draw(&sim.flow.grid);
    use_parameters(&mut sim, id, Parameters { gathering: 2e-3, ..PAPER }, goal, 3.0);
    run(&mut sim, 3.0);
    let m = sim.metrics()[0];
    assert!(m.raw_error < 0.01, "error {}", m.raw_error);
}

#[test]
fn targets_that_make_no_sense_are_errors_that_say_so() {
    let (mut sim, id) = smoke_of(32, &Strokes::psi());
    let zero = Field::new([32, 32], At::Center, [Ends::FLAT; 2]).unwrap();
    let message = |e: TargetError| e.to_string();
    let error = message(sim.add_target(id, Target::new(1.0, Box::new(zero.clone()), 0.04)).unwrap_err());
    assert!(error.contains("target 1 of \"smoke\"") && error.contains("empty"), "{error}");
    let mut bad = zero.clone();
    bad.set([3, 3], f32::NAN);
    let error = message(sim.add_target(id, Target::new(1.0, Box::new(bad), 0.04)).unwrap_err());
    assert!(error.contains("NaN"), "{error}");
    let good = || Box::new(Strokes::omega().draw(&Grid::<2>::walled([32, 32], Side::Slip)));
    let error = message(sim.add_target(id, Target::new(1.0, good(), -0.04)).unwrap_err());
    assert!(error.contains("smoothing") && error.contains("-0.04"), "{error}");
    sim.add_target(id, Target::new(1.0, good(), 0.04)).unwrap();
    assert!(message(sim.add_target(id, Target::new(0.5, good(), 0.04)).unwrap_err()).contains("time"));
    assert!(matches!(sim.add_target(7, Target::new(2.0, good(), 0.04)), Err(TargetError::Missing { .. })));
    assert!(sim.step(0.01).is_ok(), "what was refused left no trace");
}

#[test]
fn extreme_targets_and_parameters_stay_sane() {
    for n in [1, 2, 3, 17, 32] {
        for (sigma, drive, damping, gathering) in [
            (0.0, 1.5, 3.0, 2e-3),
            (10.0, 1.5, 3.0, 2e-3),
            (0.04, 1e4, 0.0, 10.0),
            (0.04, 1e30, 1e30, 1e30),
            (1e-9, 1.0, 1e9, 1e9),
        ] {
            for all_ones in [false, true] {
                let (mut sim, id) = smoke_of(n, &Strokes::disc([0.4, 0.5], 0.3));
                let mut goal = Strokes::disc([0.6, 0.5], 0.3).draw(&sim.flow.grid);
                if all_ones {
                    goal.fill(1.0);
                }
                let p = Parameters { smoothing: Smoothing::constant(sigma), drive, damping, gathering, duration: 1.0 };
                use_parameters(&mut sim, id, p, goal, 1.0);
                let what = format!("{n} cells, sigma {sigma}, {drive} {damping} {gathering}, ones {all_ones}");
                let mass = sim.flow.mass()[0];
                for _ in 0..10 {
                    // A step of any length is carried out or refused.
                    let Ok(report) = sim.step(0.01) else { break };
                    let [low, high] = range(&sim.flow.substances[0].field);
                    assert!(low >= 0.0 && high.is_finite(), "{what}: {low} {high}");
                    assert!((report.mass[0] - mass).abs() <= 1e-5 * mass, "{what}: mass {} of {mass}", report.mass[0]);
                }
            }
        }
    }
}

#[test]
fn matching_by_area_gives_the_target_the_density_of_the_smoke() {
    // Rings of twice and of half the area of the disc: with equal mass their density is half and double.
    for width in [0.1, 0.025] {
        let ratio = |matching| {
            let (mut sim, id) = smoke_of(128, &Strokes::disc([0.5, 0.5], 0.17));
            sim.set_matching(id, matching).unwrap();
            let goal = Strokes::ring([0.5, 0.5], 0.3, width).draw(&sim.flow.grid);
            use_parameters(&mut sim, id, PAPER, goal, 10.0);
            sim.metrics()[0]
        };
        let (by_mass, by_area) = (ratio(Matching::Mass), ratio(Matching::Area));
        assert!(!by_mass.peaks_match, "a warning is due: {}", by_mass.peak_ratio);
        // Edges are softer or sharper than they were: within a fifth.
        assert!((0.8..1.2).contains(&by_area.peak_ratio), "{} for width {width}", by_area.peak_ratio);
    }
}

#[test]
fn several_targets_are_reached_one_after_the_other() {
    let shapes = [Strokes::omega(), Strokes::cross(), Strokes::logo(), Strokes::tick(), Strokes::psi()];
    let (mut sim, id) = smoke_of(64, &Strokes::psi());
    sim.damping = Track::constant([6.0]);
    sim.guided_mut()[id].drive = Track::constant([3.0]);
    sim.guided_mut()[id].gathering = Track::constant([6e-3]);
    for (k, shape) in shapes.iter().enumerate() {
        let goal = shape.draw(&sim.flow.grid);
        let mut target = Target::new(4.0 * (k + 1) as f64, Box::new(goal), 0.0);
        target.smoothing = Smoothing { begin: 0.1, end: 0.02, over: 2.4 };
        sim.add_target(id, target).unwrap();
    }
    for k in 0..shapes.len() {
        run(&mut sim, 4.0 * (k + 1) as f64);
        let m = sim.metrics()[0];
        assert_eq!(m.target, Some(k));
        assert!(m.raw_error < 0.4, "target {k}: raw error {}", m.raw_error);
    }
}

#[test]
fn smoke_is_free_again_when_the_drive_has_faded() {
    let (mut sim, id) = smoke_of(48, &Strokes::omega());
    let fade = |from: f64| {
        let keys = vec![Key { time: 0.5, value: [from] }, Key { time: 1.0, value: [0.0] }];
        Track::new(keys, Interpolation::Linear, Default::default()).unwrap()
    };
    let goal = Strokes::omega().draw(&sim.flow.grid);
    use_parameters(&mut sim, id, PAPER, goal, 1.0);
    sim.damping = fade(3.0);
    (sim.guided_mut()[id].drive, sim.guided_mut()[id].gathering) = (fade(1.5), fade(2e-3));
    sim.flow.forces.push(Box::new(Buoyancy { substance: 0, strength: 2.0, ambient: 0.0 }));
    run(&mut sim, 0.5);
    let held = sim.metrics()[0].raw_error;
    let height = |sim: &TargetSmoke<2>| {
        let mut moment = sim.flow.substances[0].field.clone();
        let rho = sim.flow.substances[0].field.clone();
        moment.par_rows(|row, out| out.iter_mut().for_each(|v| *v *= row.index[1] as f32));
        ops::sum(&moment) / ops::sum(&rho)
    };
    let before = height(&sim);
    run(&mut sim, 2.5);
    assert!(held < 0.3, "held against buoyancy: {held}");
    assert!(height(&sim) > before + 2.0, "it rises: {} after {before}", height(&sim));
    assert_eq!(sim.longest_step(0.8), sim.flow.longest_step(0.8), "targets limit the step no longer");
}

#[test]
fn two_smokes_in_one_flow_each_go_to_their_own_target() {
    let grid = Grid::<2>::walled([64, 64], Side::Slip);
    let mut sim = TargetSmoke::new(grid, Options::default()).unwrap();
    sim.damping = Track::constant([6.0]);
    for (name, from, to) in [("left", [0.3, 0.3], [0.3, 0.7]), ("right", [0.7, 0.7], [0.7, 0.3])] {
        let s = sim.flow.add_substance(name, 0.0).unwrap();
        sim.flow.substances[s].field = Strokes::disc(from, 0.12).draw(&grid);
        let id = sim.guide(s).unwrap();
        let goal = Strokes::disc(to, 0.12).draw(&grid);
        let mut target = Target::new(4.0, Box::new(goal), 0.0);
        target.smoothing = Smoothing { begin: 0.15, end: 0.03, over: 2.0 };
        sim.add_target(id, target).unwrap();
    }
    run(&mut sim, 4.0);
    for m in sim.metrics() {
        assert!(m.raw_error < 0.5, "{m:?}");
    }
}

#[test]
fn a_moving_target_is_followed_and_a_target_can_be_replaced() {
    let (mut sim, id) = smoke_of(64, &Strokes::disc([0.3, 0.5], 0.15));
    let ball = Sphere { center: [0.3, 0.5], radius: 0.15 };
    let motion = Motion { velocity: [0.1, 0.0], ..Motion::default() };
    let source = ShapeTarget(Box::new(Moving::new(ball, motion)));
    sim.add_target(id, Target::new(3.0, Box::new(source), 0.05)).unwrap();
    run(&mut sim, 3.0);
    let m = sim.metrics()[0];
    assert!(m.raw_error < 0.3, "it has moved along by two radii: {}", m.raw_error);
    let goal = Strokes::disc([0.6, 0.3], 0.15).draw(&sim.flow.grid);
    sim.set_target(id, 0, Target::new(9.0, Box::new(goal), 0.08)).unwrap();
    run(&mut sim, 6.0);
    let m = sim.metrics()[0];
    assert!(m.raw_error < 0.4, "the new one is reached: {}", m.raw_error);
}

#[test]
fn a_ball_becomes_a_ring_in_three_dimensions() {
    let grid = Grid::<3>::walled([32, 32, 32], Side::Slip);
    let mut sim = TargetSmoke::new(grid, Options::default()).unwrap();
    let s = sim.flow.add_substance("smoke", 0.0).unwrap();
    let ball = |p: [f64; 3]| p.iter().map(|x| (x - 0.5) * (x - 0.5)).sum::<f64>().sqrt() - 0.25;
    let ring = |p: [f64; 3]| ((p[0] - 0.5).hypot(p[1] - 0.5) - 0.3).hypot(p[2] - 0.5) - 0.11;
    let soft = |d: f64| (0.5 - 32.0 * d).clamp(0.0, 1.0);
    sim.flow.substances[s].field.set_from(&grid, |p| soft(ball(p)));
    let mut goal = sim.flow.substances[s].field.clone();
    goal.set_from(&grid, |p| soft(ring(p)));
    let p = suggest(&grid, &sim.flow.substances[s].field, &goal).unwrap();
    let id = sim.guide(s).unwrap();
    sim.damping = Track::constant([p.damping]);
    sim.guided_mut()[id].drive = Track::constant([p.drive]);
    sim.guided_mut()[id].gathering = Track::constant([p.gathering]);
    sim.add_target(id, Target { smoothing: p.smoothing, ..Target::new(4.0, Box::new(goal), 0.0) }).unwrap();
    let (drift, [low, _]) = run(&mut sim, 4.0);
    let m = sim.metrics()[0];
    assert!(m.raw_error < 0.35, "raw error {}", m.raw_error);
    assert!(drift <= 1e-6 && low >= 0.0, "mass changed by {drift:e}, lowest {low}");
}

#[test]
fn a_swapped_scene_gives_the_swapped_result() {
    let mirror = |v: Vec<f32>| -> Vec<f32> { (0..64 * 64).map(|i| v[i % 64 * 64 + i / 64]).collect() };
    let run_one = |swap: bool| {
        let (mut sim, id) = smoke_of(64, &Strokes::psi());
        let mut goal = Strokes::omega().draw(&sim.flow.grid);
        if swap {
            let start = mirror(values(&sim.flow.substances[0].field));
            sim.flow.substances[0].field.copy_from(&start);
            let turned = mirror(values(&goal));
            goal.copy_from(&turned);
        }
        use_parameters(&mut sim, id, PAPER, goal, 3.0);
        run(&mut sim, 0.4);
        values(&sim.flow.substances[0].field)
    };
    let (plain, swapped) = (run_one(false), mirror(run_one(true)));
    let mass: f32 = plain.iter().sum();
    let difference: f32 = plain.iter().zip(&swapped).map(|(a, b)| (a - b).abs()).sum();
    // Axes take turns, but one has to be the first; what is left of that is of the order of the splitting error.
    assert!(difference < 0.05 * mass, "differs by {} of the mass", difference / mass);
}

/// Saves into and restores from a list.
#[derive(Default)]
struct State {
    bits: Vec<u64>,
    restoring: Option<usize>,
}

impl State {
    fn each(&mut self, value: u64) -> u64 {
        match &mut self.restoring {
            None => {
                self.bits.push(value);
                value
            }
            Some(at) => {
                *at += 1;
                self.bits[*at - 1]
            }
        }
    }
}

impl StateVisitor for State {
    fn integer(&mut self, _: &str, value: &mut u64) {
        *value = self.each(*value);
    }
    fn real(&mut self, _: &str, value: &mut f64) {
        *value = f64::from_bits(self.each(value.to_bits()));
    }
    fn array(&mut self, _: &str, values: &mut [f32]) {
        values.iter_mut().for_each(|v| *v = f32::from_bits(self.each(v.to_bits() as u64) as u32));
    }
}

/// Two targets with a change between them, a moving solid, on more cells than one thread takes at a time.
fn busy() -> TargetSmoke<2> {
    let (mut sim, id) = smoke_of(128, &Strokes::psi());
    let ball = Sphere { center: [0.2, 0.5], radius: 0.08 };
    let motion = Motion { velocity: [0.5, 0.1], ..Motion::default() };
    let ball = Obstacle::new("ball", Box::new(Moving::new(ball, motion)));
    sim.flow.set_obstacles(vec![ball], Boundary::CutCells).unwrap();
    for (time, shape) in [(0.08, Strokes::omega()), (1.0, Strokes::cross())] {
        let mut target = Target::new(time, Box::new(shape.draw(&sim.flow.grid)), 0.0);
        target.smoothing = Smoothing { begin: 0.08, end: 0.03, over: 0.2 };
        sim.add_target(id, target).unwrap();
    }
    sim
}

#[test]
fn any_number_of_threads_and_any_interruption_give_the_same_bits() {
    let end = |threads: usize, interrupted: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut sim = busy();
            for step in 0..24 {
                if interrupted && step == 13 {
                    let mut state = State::default();
                    sim.visit_state(&mut state);
                    state.restoring = Some(0);
                    sim = busy();
                    sim.visit_state(&mut state);
                }
                sim.step(0.01).unwrap();
            }
            let mut state = State::default();
            sim.visit_state(&mut state);
            state.bits
        })
    };
    let one = end(1, false);
    assert!(one == end(3, false), "threads change the result");
    assert!(one == end(2, true), "an interruption changes the result");
}

#[test]
fn smoke_goes_around_a_solid_and_none_is_lost() {
    let (mut sim, id) = smoke_of(64, &Strokes::disc([0.25, 0.5], 0.14));
    let wall = Sphere { center: [0.5, 0.5], radius: 0.1 };
    sim.flow.set_obstacles(vec![Obstacle::new("ball", Box::new(wall))], Boundary::CutCells).unwrap();
    let goal = Strokes::disc([0.72, 0.5], 0.2).draw(&sim.flow.grid);
    let p = suggest(&sim.flow.grid, &sim.flow.substances[0].field, &goal).unwrap();
    use_parameters(&mut sim, id, p, goal, 4.0);
    let (drift, [low, _]) = run(&mut sim, 5.0);
    let m = sim.metrics()[0];
    let inside = sim.flow.solids().unwrap().sum_inside(&sim.flow.substances[0].field, 0.0)
        / ops::sum(&sim.flow.substances[0].field);
    // What an iterative solver leaves of the divergence acts like rounding does, only larger.
    assert!(drift <= 1e-4 && low >= 0.0, "mass changed by {drift:e}, lowest {low}");
    assert!(inside.abs() < 1e-6, "{inside} of the smoke is inside of the solid");
    assert!(m.raw_error < 0.5, "raw error {}", m.raw_error);
}

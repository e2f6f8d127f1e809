//! Viscosity and diffusion in the staggered model: any value, in a box and on tiles, around solids.

use crate::common::{table, values};
use squall_core::diffuse::DiffusionScheme;
use squall_core::force::Uniform;
use squall_core::model::smoke::{Options, Smoke};
use squall_core::shape::Sphere;
use squall_core::solid::{Boundary, Obstacle};
use squall_core::*;
use std::f64::consts::PI;

fn ball<const D: usize>(center: [f64; D], radius: f64, friction: f64) -> Vec<Obstacle<D>> {
    vec![Obstacle { friction, ..Obstacle::new("ball", Box::new(Sphere { center, radius })) }]
}

/// Sets a velocity that is a vortex of this radius, at rest outside.
fn set_vortex<const D: usize>(sim: &mut Smoke<D>, center: [f64; D], radius: f64, speed: f64) {
    let grid = sim.flow.grid;
    sim.flow.set_velocity(|a, u| {
        u.set_from(&grid, |p| {
            let [x, y] = [0, 1].map(|b| (p[b] - center[b]) / radius);
            let r2 = x * x + y * y;
            if r2 >= 1.0 { 0.0 } else { speed * (1.0 - r2).powi(2) * [-y, x, 0.0][a] }
        });
    });
}

#[test]
fn honey_comes_to_rest() {
    let grid = Grid::<2>::new([256; 2], [0.1; 2], [Axis::Bounded { lo: Side::STICKY, hi: Side::STICKY }; 2]);
    let mut sim = Smoke::new(grid, Options::default()).unwrap();
    sim.flow.viscosity = 5e-3;
    set_vortex(&mut sim, [0.05; 2], 0.04, 0.3);
    sim.flow.start().unwrap();
    let mut energy = sim.flow.energy();
    for frame in 0..10 {
        let report = sim.step(1.0 / 30.0).unwrap();
        assert!(report.viscous.converged && report.pressure.converged, "{:?}", report.viscous);
        // The slowest motion in the box decays with 9.2 nu (pi / L)^2 at least (its stream function vanishes on the walls with
        // its slope); an implicit step turns exp(-k dt) of a velocity into 1 / (1 + k dt).
        let kept = 1.0 / (1.0 + 5e-3 * (PI / 0.1).powi(2) * 2.0 / 30.0);
        assert!(report.energy < kept * kept * energy, "frame {frame}: {} after {energy}", report.energy);
        energy = report.energy;
    }
}

#[test]
fn a_viscosity_of_a_billion_stops_everything_at_once() {
    fn check<const D: usize>(grid: Grid<D>, left: f64) {
        for friction in [0.0, 0.3, 1.0] {
            let mut sim = Smoke::new(grid, Options::default()).unwrap();
            sim.flow.viscosity = 1e9;
            sim.flow.set_obstacles(ball([0.3; D], 0.12, friction), Boundary::CutCells).unwrap();
            // Within the tile that is there at first.
            set_vortex(&mut sim, [0.35; D], 0.25, 1.0);
            for _ in 0..3 {
                let report = sim.step(1.0 / 30.0).unwrap();
                assert!(report.viscous.converged, "{:?}", report.viscous);
                assert!(report.max_speed < left, "friction {friction}: {}", report.max_speed);
            }
        }
    }
    // Walls are at rest: what is left is the solver's tolerance.
    check(Grid::<2>::walled([40; 2], Side::STICKY), 1e-3);
    check(Grid::<3>::walled([20; 3], Side::STICKY), 1e-3);
    // The cells within reach of the edge of tiles belong to the air around, a potential flow that no viscosity changes: that of
    // the first projection is left, 2 % of what was there.
    check(Grid::<2> { origin: [0.0; 2], spacing: [1.0 / 40.0; 2], cells: [40; 2], axes: [Axis::Unbounded; 2] }, 0.04);
}

#[test]
fn a_channel_starts_up_as_computed() {
    let n = 32;
    // Half width 1, viscosity 1: times are those of the table.
    let axes = [Axis::Periodic, Axis::Bounded { lo: Side::STICKY, hi: Side::STICKY }];
    let grid = Grid::<2>::new([4, n], [8.0 / n as f64, 2.0], axes);
    for scheme in [DiffusionScheme::Implicit, DiffusionScheme::Exact] {
        let mut sim = Smoke::new(grid, Options { diffusion: scheme, ..Options::default() }).unwrap();
        sim.flow.viscosity = 1.0;
        sim.flow.forces.push(Box::new(Uniform([2.0, 0.0])));
        let data = table(include_str!("data/08_poiseuille_startup.csv"));
        let (dt, mut steps) = (0.0025, 0);
        for (column, t) in [(1, 0.05), (2, 0.1), (3, 0.3), (4, 1.0)] {
            while (steps as f64) < t / dt - 0.5 {
                sim.step(dt).unwrap();
                steps += 1;
            }
            for row in &data {
                let y = (1.0 + row[0]) * 0.5 * n as f64;
                let ours = f64::from(sim.flow.velocity()[0].sample([2.0, y]));
                // Backward steps are of first order: dt du/dt / 2, up to 0.0025; and linear interpolation, h^2 / 8 times 2.
                assert!((ours - row[column]).abs() < 5e-3, "{scheme:?}, t {t}, y {}: {ours}, {}", row[0], row[column]);
            }
        }
    }
}

#[test]
fn tiles_diffuse_as_a_box_does() {
    let boxed = Grid::<2> {
        origin: [-1.0; 2],
        ..Grid::new([128; 2], [4.0; 2], [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; 2])
    };
    let tiles = Grid { origin: [0.0; 2], cells: [64; 2], axes: [Axis::Unbounded; 2], ..boxed };
    let mut results = Vec::new();
    for grid in [boxed, tiles] {
        let mut sim = Smoke::new(grid, Options { buffer: 24, tolerance: 1e-7, ..Options::default() }).unwrap();
        let smoke = sim.flow.add_substance("smoke", 0.0).unwrap();
        sim.flow.set_obstacles(ball([1.0, 0.8], 0.23, 1.0), Boundary::CutCells).unwrap();
        // Tiles follow the smoke; a step of almost nothing puts them there.
        let bell = |p: [f64; 2]| (-((p[0] - 1.0).powi(2) + (p[1] - 1.2).powi(2)) / 0.02).exp();
        let mut source = force::Emitter::new(Box::new(Sphere { center: [1.0; 2], radius: 0.5 }));
        source.supply = vec![(smoke, force::Supply::Hold(1.0))];
        sim.flow.sources.push(Box::new(source));
        sim.step(1e-6).unwrap();
        sim.flow.sources.clear();
        sim.flow.substances[smoke].field.set_from(&grid, bell);
        sim.flow.substances[smoke].diffusion = 0.1;
        sim.flow.viscosity = 0.1;
        set_vortex(&mut sim, [1.0, 1.2], 0.4, 1.0);
        // A fiftieth of a second: about two cells.
        sim.flow.diffuse(0.02).unwrap();
        let first = ((0.0 - grid.origin[0]) / grid.spacing[0]).round() as isize;
        let mut all = Vec::new();
        for index in (0..64 * 64).map(|i| [first + i % 64, first + i / 64]) {
            all.push(sim.flow.velocity()[0].get_signed(index));
            all.push(sim.flow.velocity()[1].get_signed(index));
            all.push(sim.flow.substances[smoke].field.get_signed(index));
        }
        results.push(all);
    }
    let worst = results[0].iter().zip(&results[1]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("box and tiles differ by {worst:.1e}");
    // The solver's tolerance, 1e-5 of a change of order 1, and what has come to the edge of the tiles, exp(-10).
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn heat_between_walls_of_given_temperature_becomes_a_straight_line() {
    for (scheme, solid) in
        [(DiffusionScheme::Implicit, false), (DiffusionScheme::Exact, false), (DiffusionScheme::Implicit, true)]
    {
        let grid = Grid::<2>::walled([40, 24], Side::STICKY);
        let grid = Grid { spacing: [grid.spacing[0]; 2], ..grid };
        let mut sim = Smoke::new(grid, Options { diffusion: scheme, ..Options::default() }).unwrap();
        let heat = sim.flow.add_substance("heat", 0.0).unwrap();
        let ends = Ends::Bounded { lo: End::Value(3.0), hi: End::Value(1.0) };
        sim.flow.substances[heat].field.relabel(At::Center, [ends, Ends::FLAT]);
        sim.flow.substances[heat].diffusion = 0.2;
        if solid {
            // A plate from wall to wall: insulated, so that it changes nothing.
            let plate = shape::Cuboid { center: [0.5, 12.0 / 40.0], half: [0.6, 2.0 / 40.0], rounding: 0.0 };
            sim.flow.set_obstacles(vec![Obstacle::new("plate", Box::new(plate))], Boundary::CutCells).unwrap();
        }
        for _ in 0..40 {
            sim.step(0.5).unwrap();
        }
        for x in 0..40 {
            let (ours, exact) = (sim.flow.substances[heat].field.get([x, 3]), 3.0 - 2.0 * (x as f32 + 0.5) / 40.0);
            // The solver's tolerance for the change in each of the last steps, 1e-5 of 3.
            assert!((ours - exact).abs() < 1e-4, "{scheme:?} {solid}: {ours} at {x}, exact {exact}");
        }
    }
}

#[test]
fn diffusion_keeps_what_is_in_a_closed_box_with_a_ball_in_it() {
    fn check<const D: usize>(cells: [usize; D]) {
        let grid = Grid::walled(cells, Side::Slip);
        let mut sim = Smoke::new(grid, Options::default()).unwrap();
        let smoke = sim.flow.add_substance("smoke", 0.0).unwrap();
        sim.flow.set_obstacles(ball([0.45; D], 0.24, 0.0), Boundary::CutCells).unwrap();
        sim.flow.substances[smoke].field.set_from(&grid, |p| f64::from(p[0] < 0.3));
        sim.flow.substances[smoke].diffusion = 0.1;
        let mut first = None;
        for _ in 0..60 {
            let report = sim.step(0.05).unwrap();
            let account = report.ledger.substances[smoke];
            assert!(report.viscous.converged);
            // Sums of single numbers.
            assert!(
                account.unexplained().abs() < 1e-6 * account.present,
                "{} of {}",
                account.unexplained(),
                account.present
            );
            assert!(account.sides.abs() < 1e-6 * account.present, "through walls: {}", account.sides);
            assert!(account.excess() < 1e-4, "{:?}", account.range);
            first.get_or_insert(account.before);
        }
        let mass = sim.step(0.05).unwrap().mass[smoke];
        let field = &sim.flow.substances[smoke].field;
        assert_eq!(sim.flow.solids().unwrap().sum_inside(field, 0.0), 0.0, "nothing in the ball");
        assert!((mass / first.unwrap() - 1.0).abs() < 1e-5, "{mass} of {first:?}");
        // It has spread around the ball.
        let (mut there, mut most) = (1.0f32, 0.0f32);
        for (i, v) in values(field).into_iter().enumerate() {
            let x = i % cells[0];
            if x == cells[0] - 1 || x == 0 {
                (there, most) = (there.min(v), most.max(v));
            }
        }
        assert!(there > 0.1 && most < 0.7, "{there} to {most}");
    }
    check([48, 48]);
    check([20, 20, 20]);
}

#[test]
fn diffusion_that_evens_everything_out_at_once_is_accounted_for_around_solids() {
    for top in [Side::Slip, Side::Open] {
        let axes = [Side::Slip, top].map(|hi| Axis::Bounded { lo: Side::Slip, hi });
        let grid = Grid::<2>::new([24; 2], [1.0; 2], axes);
        let mut sim = Smoke::new(grid, Options::default()).unwrap();
        let smoke = sim.flow.add_substance("smoke", 0.0).unwrap();
        sim.flow.set_obstacles(ball([0.45; 2], 0.24, 0.0), Boundary::CutCells).unwrap();
        sim.flow.substances[smoke].field.set_from(&grid, |p| f64::from(p[0] < 0.5 && p[1] < 0.5));
        sim.flow.substances[smoke].diffusion = 1e3;
        // An implicit step leaves `1 / (1 + k dt pi^2)`, a 330th, of the longest wave.
        for uneven in [0.03, 1e-3, 1e-3] {
            let account = sim.step(1.0 / 30.0).unwrap().ledger.substances[smoke];
            // Some percent while cells that the ball cuts counted as whole: in an even field there is no room to put anything back.
            assert!(account.unexplained().abs() < 1e-5 * account.before, "{top:?}: {account:?}");
            if top == Side::Slip {
                assert_eq!(account.sides, 0.0);
                let there = || values(&sim.flow.substances[smoke].field).into_iter().filter(|v| *v > 0.0);
                let (low, high) = (there().fold(f32::MAX, f32::min), there().fold(0.0, f32::max));
                assert!(high - low < uneven * high, "{low} to {high}");
            } else {
                // The open side lets almost all of it out in a step: it is less than a diffusion length away.
                assert!(account.after < 0.05 * account.before, "{account:?}");
            }
        }
    }
}

/// A square array of cylinders across which a force drives a fluid as slow as honey: the force on one of them per length,
/// viscosity and mean velocity.
fn array_drag(n: usize, part: f64, dt: f64) -> f64 {
    let grid = Grid::<2>::periodic([n; 2]);
    let mut sim = Smoke::new(grid, Options { tolerance: 1e-6, ..Options::default() }).unwrap();
    sim.flow.viscosity = 1.0;
    sim.flow.forces.push(Box::new(Uniform([1.0, 0.0])));
    // Off the grid's symmetries.
    sim.flow.set_obstacles(ball([0.512, 0.493], (part / PI).sqrt(), 1.0), Boundary::CutCells).unwrap();
    for _ in 0..(0.4 / dt) as usize {
        sim.step(dt).unwrap();
    }
    let (u, open) = (&sim.flow.velocity()[0], &sim.flow.solids().unwrap().open()[0]);
    let through = (0..n).map(|j| f64::from(u.get([0, j]) * open.get([0, j]))).sum::<f64>() / n as f64;
    1.0 / through
}

#[test]
fn creeping_flow_through_an_array_of_cylinders_has_the_known_drag() {
    // Sangani & Acrivos (1982), table 1: volume fractions 0.05, 0.2, 0.4. Diameters are 16, 20 and 29 cells.
    for (n, part, known) in [(64, 0.05, 15.56), (40, 0.2, 51.53), (40, 0.4, 217.9)] {
        for dt in [0.02, 0.005] {
            let found = array_drag(n, part, dt);
            // Long steps, of 8 to 80 in units of h^2 / nu, push what is half in the cylinder a little too far.
            assert!(
                (found / known - 1.0).abs() < if dt > 0.01 { 0.03 } else { 0.01 },
                "{n}, dt {dt}: {found}, {known}"
            );
            println!(
                "{n} cells, {part} solid, dt {dt}: drag {found:.2}, known {known}, {:+.1} %",
                100.0 * (found / known - 1.0)
            );
        }
    }
}

//! Stability without limits, the same bytes for any number of threads, exact resumption, early discovery of blow-ups.

use crate::common::{Random, axes, values};
use squall_core::StepError;
use squall_core::advect::Advection;
use squall_core::force::{Buoyancy, Emitter, Force, Moment, Noise, NoiseField, Substance, Supply};
use squall_core::model::smoke;
use squall_core::model::stable_fluids::{AdvectWith, Options, Splitting, StableFluids};
use squall_core::sample::Isa;
use squall_core::shape::Cuboid;
use squall_core::*;

const SPLITTINGS: [Splitting; 4] =
    [Splitting::LaggedPressure, Splitting::Reflection, Splitting::Plain, Splitting::Paper];

/// A stirred box with one substance: random velocities of about `speed`.
fn stirred<const D: usize>(
    grid: Grid<D>,
    options: Options<D>,
    viscosity: f64,
    speed: f64,
    seed: u64,
) -> StableFluids<D> {
    let mut sim = StableFluids::new(grid, options).unwrap();
    sim.flow.viscosity = viscosity;
    let mut random = Random::new(seed);
    let mut ink = Substance::new(&grid, "ink").unwrap();
    random.fill(&mut ink.field);
    ink.diffusion = viscosity;
    sim.flow.substances.push(ink);
    for a in 0..D {
        sim.set_velocity_component(a, |u| {
            random.fill(u);
            u.par_rows(|_, u| u.iter_mut().for_each(|u| *u *= speed as f32));
        });
    }
    sim.start().unwrap();
    sim
}

#[test]
fn no_time_step_speed_or_viscosity_makes_the_simulation_blow_up() {
    let all = axes::<2>();
    let mut case = 0;
    for splitting in SPLITTINGS {
        for advection in [Advection::SemiLagrangian, Advection::MacCormack] {
            for dt in [1e-6, 1e-2, 1.0, 1e3] {
                // Cells per step: gentle, fast, absurd.
                for cells in [1e-3, 1.0, 30.0, 1e6] {
                    for viscosity in [0.0, 1e-3, 1e9] {
                        case += 1;
                        let grid = Grid::new([12, 9], [12.0, 9.0], [all[case % 17], all[case * 7 % 17]]);
                        let options = Options { splitting, advection, ..Options::default() };
                        let speed = cells / dt;
                        let mut sim = stirred(grid, options, viscosity, speed, case as u64);
                        let mut most = f64::INFINITY;
                        for step in 0..12 {
                            let what = || {
                                format!(
                                    "{splitting:?} {advection:?} dt {dt} cells {cells} nu {viscosity} step {step} {:?}",
                                    grid.axes
                                )
                            };
                            let report = sim.step(dt).unwrap_or_else(|e| panic!("{}: {e}", what()));
                            // Ink starts between -1 and 1 and the sides bring 0: nothing may ever lie beyond.
                            let ink = ops::max_abs(&sim.flow.substances[0].field);
                            assert!(ink <= 1.0 + 1e-5, "{}: ink {ink}", what());
                            // Once the first steps have settled the field, speed stays of the size it started with.
                            most = most.min(report.max_speed.max(speed));
                            assert!(
                                report.max_speed < 4.0 * most,
                                "{}: speed {} after {most}",
                                what(),
                                report.max_speed
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn white_noise_never_gains_energy() {
    for splitting in SPLITTINGS {
        for cfl in [0.5, 2.0, 8.0] {
            let mut sim =
                stirred(Grid::<2>::periodic([32, 32]), Options { splitting, ..Options::default() }, 0.0, 1.0, 8);
            let mut before = sim.energy();
            for step in 0..100 {
                sim.step(cfl / 32.0).unwrap();
                let now = sim.energy();
                // A tenth of a per cent per step: second-order schemes hand energy to and fro.
                assert!(now <= 1.001 * before, "{splitting:?} CFL {cfl} step {step}: {before} became {now}");
                before = now;
            }
        }
    }
}

#[test]
fn vortices_on_open_sides_do_not_feed_themselves() {
    // Two jets meet in an open box, and gentle noise makes them shed vortices that leave through the sides.
    let grid = Grid::<2>::new([160, 120], [1.0, 0.75], [Axis::Bounded { lo: Side::Open, hi: Side::Open }; 2]);
    let mut sim = StableFluids::new(grid, Options::default()).unwrap();
    for (x, y, speed) in [(0.02, 0.385, 1.1), (0.98, 0.365, -1.1)] {
        let nozzle = Cuboid { center: [x, y], half: [0.025, 0.02], rounding: 0.0 };
        sim.flow.sources.push(Box::new(Emitter {
            softness: 0.015,
            velocity: Some([speed, 0.0]),
            ..Emitter::new(Box::new(nozzle))
        }));
    }
    let field = NoiseField::swirls(&grid, 0.08, 0.25, 3);
    sim.flow.forces.push(Box::new(Noise { field, strength: 0.25, substance: None }));
    let mut fastest: f64 = 0.0;
    while sim.flow.clock().time < 6.0 {
        let dt = (2.0 / sim.cells_per_second().max(1.0)).min(1.0 / 30.0);
        fastest = fastest.max(sim.step(dt).unwrap().max_speed);
    }
    // When what came in brought the velocity it found inside, speeds of 9 and more were seen.
    println!("fastest {fastest}, energy {}", sim.energy());
    assert!(fastest < 2.5, "jets of 1.1 m/s made {fastest} m/s");
}

/// A small plume with everything that a step can contain.
fn plume<const D: usize>(cells: [usize; D], options: Options<D>) -> StableFluids<D> {
    let mut axes = [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; D];
    axes[1] = Axis::Bounded { lo: Side::STICKY, hi: Side::Open };
    let grid = Grid::new(cells, cells.map(|n| n as f64 / cells[0] as f64), axes);
    let mut sim = StableFluids::new(grid, options).unwrap();
    sim.flow.viscosity = 1e-4;
    let mut heat = Substance::new(&grid, "heat").unwrap();
    heat.field.set_from(&grid, |p| (-50.0 * ((p[0] - 0.45f64).powi(2) + (p[1] - 0.2).powi(2))).exp());
    heat.diffusion = 1e-4;
    heat.dissipation = 0.1;
    sim.flow.substances.push(heat);
    sim.flow.forces.push(Box::new(Buoyancy { substance: 0, strength: 5.0, ambient: 0.0 }));
    let field = NoiseField::swirls(&grid, 0.2, 0.25, 3);
    sim.flow.forces.push(Box::new(Noise { field, strength: 1.0, substance: Some(0) }));
    sim
}

/// Every bit of the state.
fn bits<const D: usize>(sim: &mut StableFluids<D>) -> Vec<u64> {
    struct Collect(Vec<u64>);
    impl StateVisitor for Collect {
        fn integer(&mut self, _: &str, value: &mut u64) {
            self.0.push(*value);
        }
        fn real(&mut self, _: &str, value: &mut f64) {
            self.0.push(value.to_bits());
        }
        fn array(&mut self, _: &str, values: &mut [f32]) {
            self.0.extend(values.iter().map(|v| u64::from(v.to_bits())));
        }
    }
    let mut collect = Collect(Vec::new());
    sim.visit_state(&mut collect);
    collect.0
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for splitting in SPLITTINGS {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut flat = plume([160, 130], Options { splitting, ..Options::default() });
                let mut solid = plume([40, 33, 29], Options { splitting, ..Options::default() });
                let mut reports = Vec::new();
                for _ in 0..20 {
                    reports.push(flat.step(0.03).unwrap().energy.to_bits());
                    reports.push(solid.step(0.03).unwrap().energy.to_bits());
                }
                (bits(&mut flat), bits(&mut solid), reports)
            })
        };
        let one = run(1);
        for threads in [2, 3, 7] {
            assert!(run(threads) == one, "{splitting:?} with {threads} threads");
        }
    }
}

#[test]
fn every_instruction_set_gives_the_same_simulation_up_to_the_rounding_of_transforms() {
    let run = |isa| {
        let mut sim = plume([40, 33, 29], Options { isa, ..Options::default() });
        (0..3).for_each(|_| drop(sim.step(0.03).unwrap()));
        values(&sim.flow.substances[0].field)
    };
    let (portable, best) = (run(Isa::Portable), run(Isa::best()));
    // Everything else has the same bits: `faults.rs` has a flow without a transform.
    let worst = portable.iter().zip(&best).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst < 1e-5, "differs by {worst}");
}

#[test]
fn a_restored_state_goes_on_exactly_where_it_was_saved() {
    struct Restore(std::vec::IntoIter<u64>);
    impl StateVisitor for Restore {
        fn integer(&mut self, _: &str, value: &mut u64) {
            *value = self.0.next().unwrap();
        }
        fn real(&mut self, _: &str, value: &mut f64) {
            *value = f64::from_bits(self.0.next().unwrap());
        }
        fn array(&mut self, _: &str, values: &mut [f32]) {
            values.iter_mut().for_each(|v| *v = f32::from_bits(self.0.next().unwrap() as u32));
        }
    }
    for splitting in SPLITTINGS {
        for advect_with in [AdvectWith::Face, AdvectWith::Cell] {
            let options = Options { splitting, ..Options::default() };
            let mut whole = plume([30, 41], options);
            whole.advect_with = advect_with;
            (0..7).for_each(|k| drop(whole.step(0.02 + 0.01 * f64::from(k % 3)).unwrap()));
            let saved = bits(&mut whole);
            let mut resumed = plume([30, 41], options);
            resumed.advect_with = advect_with;
            resumed.start().unwrap();
            resumed.visit_state(&mut Restore(saved.into_iter()));
            for _ in 0..7 {
                whole.step(0.03).unwrap();
                resumed.step(0.03).unwrap();
            }
            assert!(bits(&mut whole) == bits(&mut resumed), "{splitting:?} {advect_with:?}");
        }
    }
}

#[test]
fn a_value_that_stops_being_finite_is_found_in_the_step_it_happens() {
    /// Poisons one value at its third call.
    struct Poison(u32, f32);
    impl Force<2> for Poison {
        fn apply(&mut self, _: &Grid<2>, _: Moment, u: &mut VectorField<2>, _: &[Substance<2>]) {
            self.0 += 1;
            if self.0 == 3 {
                u[1].set([4, 5], self.1);
            }
        }
    }
    for poison in [f32::NAN, f32::INFINITY] {
        let mut sim = stirred(
            Grid::<2>::periodic([16, 16]),
            Options { splitting: Splitting::Plain, ..Options::default() },
            0.0,
            1.0,
            1,
        );
        sim.flow.forces.push(Box::new(Poison(0, poison)));
        assert!(sim.step(0.01).is_ok() && sim.step(0.01).is_ok());
        let StepError::NotFinite(error) = sim.step(0.01).unwrap_err() else { panic!("not finite") };
        assert_eq!(error.step, 2);
        assert!(!error.value.is_finite());
        assert!(error.to_string().contains("in cell ["), "{error}");
    }
    // And in a substance.
    let mut sim = stirred(Grid::<2>::periodic([16, 16]), Options::default(), 0.0, 1.0, 1);
    sim.step(0.01).unwrap();
    sim.flow.substances[0].field.set([3, 3], f32::NAN);
    let StepError::NotFinite(error) = sim.step(0.01).unwrap_err() else { panic!("not finite") };
    assert_eq!(error.field, "ink");
}

#[test]
fn a_value_on_the_last_faces_that_is_not_finite_is_found_in_its_step() {
    /// Poisons the velocities that are this fast.
    struct Poison(f32);
    impl StateVisitor for Poison {
        fn integer(&mut self, _: &str, _: &mut u64) {}
        fn real(&mut self, _: &str, _: &mut f64) {}
        fn array(&mut self, name: &str, values: &mut [f32]) {
            let poisoned = values.iter_mut().filter(|v| name == "velocity" && **v == self.0);
            poisoned.for_each(|v| *v = f32::NAN);
        }
    }
    // Nothing is as fast as what comes in through the far side, on its faces.
    let inflow = -0.123_456_7;
    let across = Axis::Bounded { lo: Side::Slip, hi: Side::Slip };
    let along = Axis::Bounded { lo: Side::Open, hi: Side::Inflow { velocity: [0.0, inflow] } };
    let grid = Grid::<2>::new([8, 6], [1.0, 0.75], [across, along]);
    let mut sim = smoke::Smoke::new(grid, smoke::Options::default()).unwrap();
    sim.flow.set_velocity(|a, u| u.set_from(&grid, |p| if a == 1 { 0.1 * p[0] } else { 0.0 }));
    sim.step(0.01).unwrap();
    sim.flow.begin(0.01).unwrap();
    let done = sim.flow.project(None);
    sim.flow.visit_state(&mut Poison(inflow));
    let StepError::NotFinite(error) = sim.flow.finish(0.01, done).unwrap_err() else { panic!("not finite") };
    assert_eq!((error.field.as_str(), error.cell[1], error.step), ("v", 6, 1), "{error}");
}

#[test]
fn fluid_beyond_the_last_tile_is_an_error_that_says_where() {
    // Tiles of 32 cells, 2^20 of them in each direction.
    let grid = Grid::<2> { origin: [0.0; 2], spacing: [1.0; 2], cells: [32; 2], axes: [Axis::Unbounded; 2] };
    for (x, within) in [(3.0e7, true), (3.4e7, false), (-3.4e7, false)] {
        let mut sim = smoke::Smoke::new(grid, smoke::Options::default()).unwrap();
        let ink = sim.flow.add_substance("ink", 0.0).unwrap();
        let mut source = Emitter::new(Box::new(Cuboid { center: [x, 12.0], half: [2.0; 2], rounding: 0.0 }));
        source.supply = vec![(ink, Supply::Hold(1.0))];
        sim.flow.sources.push(Box::new(source));
        match sim.step(0.01) {
            Ok(_) => assert!(within, "{x} cells away"),
            Err(StepError::TooFar { cell, limit, .. }) => {
                assert!(!within && limit == 1 << 25 && (cell[0] as f64 - x).abs() < 100.0, "{cell:?} for {x}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_state_with_tiles_beyond_the_last_is_refused_by_the_next_step() {
    /// Moves all tiles away.
    struct Away;
    impl StateVisitor for Away {
        fn integer(&mut self, _: &str, _: &mut u64) {}
        fn real(&mut self, _: &str, _: &mut f64) {}
        fn array(&mut self, name: &str, values: &mut [f32]) {
            // Whole numbers of 32 bits, shown as the words of an array.
            let tiles = values.iter_mut().filter(|_| name == "tile_coords");
            tiles.for_each(|v| *v = f32::from_bits(v.to_bits().wrapping_add(1 << 21)));
        }
    }
    let grid = Grid::<2> { origin: [0.0; 2], spacing: [1.0; 2], cells: [32; 2], axes: [Axis::Unbounded; 2] };
    let mut sim = smoke::Smoke::new(grid, smoke::Options::default()).unwrap();
    sim.step(0.01).unwrap();
    sim.flow.visit_state(&mut Away);
    assert!(matches!(sim.step(0.01), Err(StepError::TooFar { .. })));
}

#[test]
fn a_mirror_image_stays_a_mirror_image() {
    let mut sim = plume([48, 48], Options::default());
    sim.flow.forces.truncate(1);
    let grid = sim.flow.grid;
    sim.flow.substances[0].field.set_from(&grid, |p| (-50.0 * ((p[0] - 0.5f64).powi(2) + (p[1] - 0.2).powi(2))).exp());
    for _ in 0..60 {
        sim.step(0.03).unwrap();
    }
    let heat = &sim.flow.substances[0].field;
    let most = ops::max_abs(heat);
    for y in 0..48 {
        for x in 0..24 {
            let (left, right) = (heat.get([x, y]), heat.get([47 - x, y]));
            // Rounding differs between left and right, and a rising plume multiplies it.
            assert!((left - right).abs() < 1e-3 * most, "{left} and {right} at {x}, {y}");
        }
    }
    assert!(values(&sim.velocity()[1]).iter().any(|&v| v > 0.1), "the plume rises");
}

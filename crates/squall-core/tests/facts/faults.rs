//! Faults that reading the code brought to light.

use crate::common::values;
use squall_core::force::Buoyancy;
use squall_core::model::Splitting;
use squall_core::model::smoke::{Options, Smoke};
use squall_core::sample::Isa;
use squall_core::shape::{Sphere, mesh::samples::torus};
use squall_core::solid::{Boundary, Obstacle};
use squall_core::*;

#[test]
fn wind_of_any_strength_carries_smoke_on_tiles_as_far_as_it_blows() {
    let grid = Grid::<2> { origin: [0.0; 2], spacing: [1.0 / 32.0; 2], cells: [32; 2], axes: [Axis::Unbounded; 2] };
    // 20, 50 and 200 cells in a step, where paths on tiles are 30 long at most.
    for (splitting, cells) in [
        (Splitting::Plain, 20.0),
        (Splitting::Plain, 50.0),
        (Splitting::Plain, 200.0),
        (Splitting::Reflection, 80.0),
        (Splitting::LaggedPressure, 80.0),
    ] {
        let wind = [cells as f32, -0.5 * cells as f32];
        let mut sim = Smoke::new(grid, Options { wind, splitting, ..Options::default() }).unwrap();
        let smoke = sim.flow.add_substance("smoke", 0.0).unwrap();
        let bell = |p: [f64; 2]| (-((p[0] - 0.5).powi(2) + (p[1] - 0.5).powi(2)) / 0.02).exp();
        sim.flow.substances[smoke].field.set_from(&grid, bell);
        for _ in 0..3 {
            sim.step(1.0 / 32.0).unwrap();
        }
        let (mut first, mut total) = ([0.0; 2], 0.0);
        let field = &sim.flow.substances[smoke].field;
        for row in (0..field.layout().rows()).map(|r| field.layout().row(r)) {
            for (x, v) in field.row(row).iter().enumerate() {
                let p = grid.position(At::Center, [row.index[0] + x as isize, row.index[1]]);
                first = [0, 1].map(|a| first[a] + f64::from(*v) * p[a]);
                total += f64::from(*v);
            }
        }
        let travelled = first.map(|f| (f / total - 0.5) * 32.0);
        let wanted = [3.0 * cells, -1.5 * cells];
        // Uniform wind is followed exactly; what the edge of the tiles does to it is a tenth of a cell.
        assert!((0..2).all(|a| (travelled[a] - wanted[a]).abs() < 0.1), "{splitting:?}: {travelled:?}, {wanted:?}");
    }
}

#[test]
fn a_field_of_more_values_than_32_bits_can_count_is_refused() {
    assert!(Field::<3, u8>::new([1300; 3], At::Center, [Ends::FLAT; 3]).is_err());
    assert!(Field::<2>::new([usize::MAX >> 34, 1 << 20], At::Center, [Ends::FLAT; 2]).is_err());
}

#[test]
fn a_periodic_scene_that_is_shifted_does_the_same_elsewhere() {
    let run = |shift: usize| {
        let grid = Grid::<2>::periodic([32, 32]);
        let mut sim = Smoke::new(grid, Options::default()).unwrap();
        let heat = sim.flow.add_substance("heat", 0.0).unwrap();
        let by = shift as f64 / 32.0;
        let bell = |x: f64| (-((x - 0.5).powi(2)) / 0.01).exp();
        sim.flow.substances[heat].field.set_from(&grid, |p| bell(p[0]) * bell((p[1] - by).rem_euclid(1.0)));
        sim.flow.forces.push(Box::new(Buoyancy { substance: heat, strength: 4.0, ambient: 0.0 }));
        for _ in 0..20 {
            sim.step(0.02).unwrap();
        }
        values(&sim.flow.substances[heat].field)
    };
    // Rows 0 and 31 in the middle of the warm air.
    let (plain, shifted) = (run(0), run(16));
    for i in 0..32 * 32 {
        let (x, y) = (i % 32, i / 32);
        // Transforms round differently elsewhere.
        assert!((plain[i] - shifted[x + 32 * ((y + 16) % 32)]).abs() < 1e-5, "cell {x}, {y}");
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits_around_solids() {
    let run = |isa: Isa| {
        let grid = Grid::<2>::walled([50, 37], Side::STICKY);
        let grid = Grid { spacing: [1.0 / 50.0; 2], ..grid };
        let mut sim = Smoke::new(grid, Options { isa, ..Options::default() }).unwrap();
        sim.flow.viscosity = 1e-3;
        let heat = sim.flow.add_substance("heat", 0.0).unwrap();
        sim.flow.substances[heat].diffusion = 1e-3;
        sim.flow.substances[heat].field.set_from(&grid, |p| f64::from(p[1] < 0.2));
        sim.flow.forces.push(Box::new(Buoyancy { substance: heat, strength: 4.0, ambient: 0.0 }));
        let ball =
            Obstacle { friction: 1.0, ..Obstacle::new("ball", Box::new(Sphere { center: [0.4; 2], radius: 0.1 })) };
        sim.flow.set_obstacles(vec![ball], Boundary::CutCells).unwrap();
        for _ in 0..5 {
            sim.step(0.02).unwrap();
        }
        values(&sim.flow.substances[heat].field).into_iter().map(f32::to_bits).collect::<Vec<_>>()
    };
    assert!(run(Isa::Portable) == run(Isa::best()));
}

#[test]
fn the_bounds_of_a_mesh_that_deforms_hold_it_prepared_or_not() {
    let (first, mut last) = (torus(0.3, 0.1, 24, 12), torus(0.3, 0.1, 24, 12));
    last.vertices.iter_mut().for_each(|v| v[0] *= 1.5);
    for options in [
        shape::MeshOptions::default(),
        shape::MeshOptions { thicken: true, ..Default::default() },
        shape::MeshOptions { sheet: Some(0.05), ..Default::default() },
    ] {
        let keys = vec![(0.0, first.clone()), (1.0, last.clone())];
        let mut sequence = shape::MeshSequence::new(keys, shape::Beyond::Hold, 0.02, options).unwrap();
        let before = sequence.bounds(0.4).unwrap();
        sequence.prepare(0.4);
        let after = sequence.bounds(0.4).unwrap();
        // Samples lie up to one resolution apart; single numbers.
        let holds = |a: f64, b: f64| b > a - 1e-6 && b < a + 0.021;
        assert!(
            (0..3).all(|i| holds(-before.0[i], -after.0[i]) && holds(before.1[i], after.1[i])),
            "{before:?}, {after:?}"
        );
    }
}

#[test]
fn a_fluid_at_rest_beside_a_moving_wall_takes_steps_that_the_wall_allows() {
    let moving = Axis::Bounded { lo: Side::STICKY, hi: Side::NoSlip { velocity: [2.0, 0.0] } };
    let grid = Grid::<2>::new([32, 32], [1.0; 2], [Axis::Periodic, moving]);
    let still = model::StableFluids::new(grid, Default::default()).unwrap();
    assert!(still.longest_step(1.0) <= 1.0 / 64.0, "{}", still.longest_step(1.0));
    let smoke = Smoke::new(grid, Options::default()).unwrap();
    assert!(smoke.longest_step(1.0) <= 1.0 / 64.0, "{}", smoke.longest_step(1.0));
}

//! Smoke near solids.

use crate::common::Random;
use crate::common::around::*;
use squall_core::advect::{Advection, Flow, Scratch, advect};
use squall_core::ops::sum;
use squall_core::sample::Isa;
use squall_core::solid::*;
use squall_core::trace::Tracer;
use squall_core::*;

fn smoke<const D: usize>(grid: &Grid<D>) -> Field<D> {
    let mut smoke = Field::new(grid.cells, At::Center, grid.substance_ends(0.0)).unwrap();
    let mut random = Random::new(1);
    random.fill(&mut smoke);
    smoke.par_rows(|_, row| row.iter_mut().for_each(|v| *v = v.abs()));
    smoke
}

/// A plate that moves five cells a step sweeps a box full of smoke, with no flow to help.
fn sweep<const D: usize>(thickness_in_cells: f64) {
    let mut count = [16; D];
    count[0] = 64;
    let grid = Grid::<D>::new(count, count.map(|n| n as f64), [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; D]);
    let mut half = [10.0; D];
    half[0] = 0.5 * thickness_in_cells;
    let mut center = [8.0; D];
    center[0] = 6.3;
    let mut velocity = [0.0; D];
    velocity[0] = 5.0;
    let plate = Brick { center, half, velocity };
    let mut solids = Solids::new(&grid, vec![Obstacle::new("plate", Box::new(plate))], Boundary::CutCells).unwrap();
    if thickness_in_cells < 1.0 {
        assert_eq!(solids.thicken(&grid, 0.0).len(), 1);
    }
    solids.update(&grid, 0.0);
    let mut smoke = smoke(&grid);
    let mut temperature = Field::like(&smoke).unwrap();
    temperature.fill(300.0);
    solids.clear_inside(&mut smoke, 0.0);
    let before = sum(&smoke);
    let behind = |field: &Field<D>, x: f64| {
        let cells = cells(&grid).filter(|index| (8.0..x).contains(&(index[0] as f64)));
        cells.map(|index| field.get(index) as f64).sum::<f64>()
    };
    for step in 1..=9 {
        let t = step as f64;
        solids.update(&grid, t);
        let pushed = solids.push_out(&grid, [t - 1.0, t], &mut [(&mut smoke, 0.0), (&mut temperature, 300.0)]);
        assert!(pushed.moved > 0 && pushed.stuck == 0, "{pushed:?}");
        // Single precision: some hundred additions to each cell.
        assert!((sum(&smoke) / before - 1.0).abs() < 1e-5, "step {step}: {} of {before}", sum(&smoke));
        let inside = solids.sum_inside(&smoke, 0.0);
        assert!(inside < 1e-6 * before, "step {step}: {inside} inside");
        // Nothing is left behind the plate where it passed: it did not slip through.
        let left = behind(&smoke, 6.3 + 5.0 * t - 3.0);
        assert!(left < 1e-6 * before, "step {step}: {left} behind the plate");
    }
    assert!(
        (sum(&temperature) / (300.0 * grid.cell_count() as f64) - 1.0).abs() < 1e-6,
        "the air is as warm as it was"
    );
}

#[test]
fn a_plate_that_moves_five_cells_a_step_keeps_all_smoke_in_front_of_it_and_none_inside() {
    for thickness in [0.2, 2.0, 7.0] {
        sweep::<2>(thickness);
        sweep::<3>(thickness);
    }
}

#[test]
fn a_ball_that_flies_through_smoke_loses_none_and_holds_none() {
    let grid = Grid::<3>::periodic([32, 32, 32]);
    let ball = Ball { center: [0.2, 0.5, 0.5], radius: 0.13, velocity: [1.0, 0.4, -0.3] };
    let mut solids = single(&grid, ball, 0.0, Boundary::CutCells);
    let mut smoke = smoke(&grid);
    solids.clear_inside(&mut smoke, 0.0);
    let before = sum(&smoke);
    for step in 1..=20 {
        let t = 0.06 * step as f64;
        solids.update(&grid, t);
        let pushed = solids.push_out(&grid, [t - 0.06, t], &mut [(&mut smoke, 0.0)]);
        assert_eq!(pushed.stuck, 0);
        assert!((sum(&smoke) / before - 1.0).abs() < 1e-5, "step {step}");
        assert!(solids.sum_inside(&smoke, 0.0) < 1e-6 * before, "step {step}");
    }
}

/// Smoke of density one above a tilted wall, after it glided along the wall for a while: the least density next to the
/// wall.
fn density_at_the_wall(fill: bool) -> f32 {
    let grid = Grid::<2>::walled([48, 48], Side::Open);
    let h = grid.spacing[0];
    let normal = unit([-0.37, 1.0]);
    let wall = HalfSpace { point: [0.5, 0.4], normal, velocity: [0.0; 2] };
    let mut solids = single(&grid, wall.clone(), 0.0, Boundary::CutCells);
    let mut smoke = Field::new(grid.cells, At::Center, [Ends::FLAT; 2]).unwrap();
    smoke.fill(1.0);
    solids.clear_inside(&mut smoke, 0.0);
    let u = faces(&grid, |a, _| [normal[1], -normal[0]][a]);
    let mut scratch = Scratch::new(&smoke, Advection::SemiLagrangian, 1).unwrap();
    for _ in 0..40 {
        if fill {
            solids.fill_inside(&grid, &mut smoke, 0.0);
        }
        let flow = Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk2, isa: Isa::best() };
        advect(Advection::SemiLagrangian, flow, 0.7 * h, &mut [&mut smoke], &mut scratch);
        solids.clear_inside(&mut smoke, 0.0);
    }
    let outside =
        cells(&grid).filter(|&index| wall.distance(grid.position(At::Center, index.map(|i| i as isize)), 0.0) > 0.0);
    outside.map(|index| smoke.get(index)).fold(1.0, f32::min)
}

#[test]
fn smoke_that_glides_along_a_wall_keeps_its_density() {
    let (filled, bare) = (density_at_the_wall(true), density_at_the_wall(false));
    println!("density at the wall {filled}, without the values inside {bare}");
    assert!(filled > 0.999, "{filled}");
    assert!(bare < 0.8, "then the values inside are not needed: {bare}");
}

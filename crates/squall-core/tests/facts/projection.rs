//! What a projection leaves is free of divergence, whatever bounds the box.

use crate::common::{Random, axes};
use squall_core::poisson::{Problem, plan};
use squall_core::project::Projection;
use squall_core::*;

/// Random velocities in a random box of the given axes, projected: the relative divergence and the face field.
fn projected<const D: usize>(cells: [usize; D], axes: [Axis<D>; D], seed: u64) -> (f64, VectorField<D>, Grid<D>) {
    // Cells of different shapes: spacings 1, 0.7, 1.3.
    let size = std::array::from_fn(|a| cells[a] as f64 * [1.0, 0.7, 1.3][a]);
    let grid = Grid::new(cells, size, axes);
    let mut random = Random::new(seed);
    let mut velocity: VectorField<D> =
        std::array::from_fn(|a| Field::new(cells, At::Center, grid.velocity_ends(a)).unwrap());
    velocity.iter_mut().for_each(|u| random.fill(u));
    let mut faces: VectorField<D> =
        std::array::from_fn(|a| Field::new(cells, At::Face(a), grid.velocity_ends(a)).unwrap());
    let mut q = Field::new(cells, At::Center, grid.pressure_ends()).unwrap();
    let mut spare = [Field::like(&q).unwrap(), Field::like(&q).unwrap()];
    // Nothing may depend on what was in the working fields.
    q.fill(f32::NAN);
    spare.iter_mut().for_each(|f| f.fill(f32::NAN));
    let mut solver = plan(Problem::of(&grid)).build_for(&grid).unwrap();
    let done = Projection::new(&grid, &mut *solver).centers(&mut velocity, &mut faces, &mut q, &mut spare);
    assert!(velocity.iter().all(|u| ops::max_abs(u).is_finite()), "velocity not finite for {cells:?} {axes:?}");
    (done.relative_divergence, faces, grid)
}

/// The promise: five digits of the largest velocity, in single precision.
const PROMISE: f64 = 1e-5;

#[test]
fn projection_leaves_no_divergence_in_2d_for_every_combination_of_sides() {
    let sizes = [[16, 16], [17, 12], [1, 13], [31, 1], [2, 3], [1, 1]];
    for (i, x) in axes::<2>().into_iter().enumerate() {
        for (j, y) in axes::<2>().into_iter().enumerate() {
            for cells in sizes {
                let (left, ..) = projected(cells, [x, y], (i * 100 + j) as u64);
                assert!(left <= PROMISE, "{left:e} left on {cells:?} with {x:?} and {y:?}");
            }
        }
    }
}

#[test]
fn projection_leaves_no_divergence_in_3d_for_every_combination_of_pressure_conditions() {
    // Pressure knows only periodic, flat and zero ends: one side of each kind stands for the others, which 2D covers.
    let kinds: Vec<Axis<3>> = axes().into_iter().filter(|a| !format!("{a:?}").contains("Inflow")).collect();
    for (i, &x) in kinds.iter().enumerate() {
        for (j, &y) in kinds.iter().enumerate() {
            for (k, &z) in kinds.iter().enumerate() {
                let cells = [[8, 9, 7], [1, 6, 11], [5, 1, 4]][(i + j + k) % 3];
                let (left, ..) = projected(cells, [x, y, z], (i * 100 + j * 10 + k) as u64);
                assert!(left <= PROMISE, "{left:e} left on {cells:?} with {x:?}, {y:?} and {z:?}");
            }
        }
    }
}

#[test]
fn projection_leaves_no_divergence_in_large_boxes_of_even_odd_and_prime_sizes() {
    let wall = Axis::Bounded { lo: Side::Slip, hi: Side::Slip };
    let chimney = Axis::Bounded { lo: Side::STICKY, hi: Side::Open };
    let open = Axis::Bounded { lo: Side::Open, hi: Side::Open };
    for cells in [[128, 128], [127, 113], [125, 128], [128, 1]] {
        for axes in [[Axis::Periodic; 2], [wall; 2], [wall, chimney], [open; 2], [Axis::Periodic, open]] {
            let (left, ..) = projected(cells, axes, 7);
            assert!(left <= PROMISE, "{left:e} left on {cells:?} with {axes:?}");
        }
    }
    let (wall, chimney) =
        (Axis::Bounded { lo: Side::Slip, hi: Side::Slip }, Axis::Bounded { lo: Side::STICKY, hi: Side::Open });
    for cells in [[128, 128, 128], [127, 61, 37]] {
        for axes in [[Axis::Periodic; 3], [wall; 3], [wall, chimney, wall]] {
            let (left, ..) = projected(cells, axes, 7);
            assert!(left <= PROMISE, "{left:e} left on {cells:?} with {axes:?}");
        }
    }
}

#[test]
fn a_jet_that_starts_in_a_long_channel_leaves_no_divergence_either() {
    // The potential of this field grows by one per cell: the worst case for single precision.
    let inflow = Side::Inflow { velocity: [1.0, 0.0] };
    let axes = [Axis::Bounded { lo: inflow, hi: Side::Open }, Axis::Bounded { lo: Side::Slip, hi: Side::Slip }];
    let grid = Grid::<2>::new([512, 16], [512.0, 16.0], axes);
    let mut u: VectorField<2> =
        std::array::from_fn(|a| Field::new(grid.cells, At::Center, grid.velocity_ends(a)).unwrap());
    u.iter_mut().for_each(Field::fill_halo);
    let mut faces = u.clone();
    let mut q = Field::new(grid.cells, At::Center, grid.pressure_ends()).unwrap();
    let mut spare = [q.clone(), q.clone()];
    let mut solver = plan(Problem::of(&grid)).build_for(&grid).unwrap();
    let done = Projection::new(&grid, &mut *solver).centers(&mut u, &mut faces, &mut q, &mut spare);
    assert!(done.relative_divergence <= PROMISE, "{:e} left", done.relative_divergence);
    // What enters leaves: every face carries the same flow.
    for x in [0, 100, 511] {
        assert!((faces[0].get([x, 8]) - 1.0).abs() < 1e-4, "{} at {x}", faces[0].get([x, 8]));
    }
}

#[test]
fn projecting_twice_is_projecting_once() {
    let chimney = Axis::Bounded { lo: Side::STICKY, hi: Side::Open };
    for axes in [[Axis::Periodic; 2], [chimney; 2]] {
        let (_, faces, grid) = projected([48, 37], axes, 3);
        let mut again = faces.clone();
        let mut q = Field::new(grid.cells, At::Center, grid.pressure_ends()).unwrap();
        let mut spare = [q.clone(), q.clone()];
        let mut solver = plan(Problem::of(&grid)).build_for(&grid).unwrap();
        Projection::new(&grid, &mut *solver).faces(&mut again, &mut q, &mut spare);
        for (a, b) in faces.iter().zip(&again) {
            for (x, y) in crate::common::values(a).iter().zip(crate::common::values(b)) {
                // Velocities up to 1: the second projection moves them by rounding only.
                assert!((x - y).abs() < 1e-5, "{x} became {y}");
            }
        }
    }
}

#[test]
fn projection_keeps_a_field_that_has_no_divergence_and_removes_a_gradient() {
    let grid = Grid::<2>::periodic([64, 64]);
    let k = std::f64::consts::TAU;
    let mut solver = plan(Problem::of(&grid)).build_for(&grid).unwrap();
    let mut q = Field::new(grid.cells, At::Center, grid.pressure_ends()).unwrap();
    let mut spare = [q.clone(), q.clone()];
    let mut run = |f: &(dyn Fn([f64; 2]) -> [f64; 2] + Sync)| {
        let mut u: VectorField<2> =
            std::array::from_fn(|a| Field::new(grid.cells, At::Center, grid.velocity_ends(a)).unwrap());
        u.iter_mut().enumerate().for_each(|(a, u)| u.set_from(&grid, |p| f(p)[a]));
        let before = u.clone();
        let mut faces = u.clone();
        Projection::new(&grid, &mut *solver).centers(&mut u, &mut faces, &mut q, &mut spare);
        (before, u)
    };
    let (before, after) = run(&|p| [(k * p[0]).sin() * (k * p[1]).cos(), -(k * p[0]).cos() * (k * p[1]).sin()]);
    for a in 0..2 {
        for (x, y) in crate::common::values(&before[a]).iter().zip(crate::common::values(&after[a])) {
            // Discretely, too, this field has no divergence: only rounding changes it.
            assert!((x - y).abs() < 2e-6, "{x} became {y}");
        }
    }
    let (_, after) = run(&|p| [(k * p[0]).cos(), (2.0 * k * p[1]).cos()]);
    for u in &after {
        // Centred and compact differences of a wave 32 cells long differ by (pi / 32)^2, about 1 %; the mean survives.
        assert!(ops::max_abs(u) < 0.011, "{} left of a gradient", ops::max_abs(u));
    }
}

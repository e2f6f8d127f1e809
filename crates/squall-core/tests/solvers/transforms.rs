//! Transforms of the empty box as a preconditioner around solids.

use squall_core::poisson::{Domain, PoissonSolver, Problem, plan};
use squall_core::shape::{Cuboid, Shape, Sphere};
use squall_core::solid::{Boundary, Obstacle, Solids};
use squall_core::{At, Axis, Field, Grid, Side, SolveReport};

use crate::common::values;
use crate::dense::set;

const OPEN: Axis<3> = Axis::Bounded { lo: Side::Open, hi: Side::Open };
const WALLS: Axis<3> = Axis::Bounded { lo: Side::Slip, hi: Side::Slip };
const CHIMNEY: Axis<3> = Axis::Bounded { lo: Side::Slip, hi: Side::Open };

fn around(grid: &Grid<3>, shapes: Vec<Box<dyn Shape<3>>>) -> Solids<3> {
    let obstacles = shapes.into_iter().map(|shape| Obstacle::new("object", shape)).collect();
    let mut solids = Solids::new(grid, obstacles, Boundary::CutCells).unwrap();
    solids.update(grid, 0.0);
    solids
}

fn ball() -> Box<dyn Shape<3>> {
    Box::new(Sphere { center: [0.47, 0.55, 0.47], radius: 0.13 })
}

fn solver(grid: &Grid<3>, solids: &Solids<3>, stays: bool) -> Box<dyn PoissonSolver<3>> {
    let mut solver = plan(Problem::of(grid).with_solids(true)).build_for(grid).unwrap();
    solver.set(Domain { open: Some(solids.open()), ..Domain::default() }).unwrap();
    if stays {
        solver.stay();
    }
    solver
}

/// A smooth right side with as much in as out.
fn solve(grid: &Grid<3>, solver: &mut dyn PoissonSolver<3>) -> (SolveReport, Vec<f32>) {
    let new = || Field::<3>::new(grid.cells, At::Center, grid.pressure_ends()).unwrap();
    let (mut rhs, mut q) = (new(), new());
    let n = grid.cells.map(|n| n as f64);
    set(&mut rhs, |i| (0..3).map(|a| ((a + 2) as f64 * 6.2 * i[a] as f64 / n[a]).sin()).sum::<f64>() as f32);
    let report = solver.solve(&mut rhs, &mut q, 1e-4);
    assert!(report.converged, "{report:?}");
    (report, values(&q))
}

fn compare(grid: &Grid<3>) {
    let solids = around(grid, vec![ball()]);
    let (mut usual, mut quick) = (solver(grid, &solids, false), solver(grid, &solids, true));
    assert!(quick.describe().contains("transforms") && !usual.describe().contains("transforms"));
    let ((many, a), (few, b)) = (solve(grid, &mut *usual), solve(grid, &mut *quick));
    println!("{} iterations, multigrid {}", few.iterations, many.iterations);
    // On grids as small as these multigrid is as quick; the more cells, the more iterations it takes.
    assert!(few.iterations <= 4 && few.iterations <= many.iterations, "{few:?} {many:?}");
    let largest = a.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    for (a, b) in a.iter().zip(&b) {
        // A residual of 1e-4 leaves some ten times as much of an error in smooth parts.
        assert!((a - b).abs() < 2e-3 * largest, "{a} and {b} of {largest}");
    }
}

#[test]
fn around_a_ball_transforms_take_few_iterations_to_the_same_pressure() {
    for axes in [[OPEN; 3], [WALLS, CHIMNEY, WALLS], [WALLS; 3], [Axis::Periodic, OPEN, CHIMNEY], [Axis::Periodic; 3]] {
        compare(&Grid::new([48, 40, 45], [1.0, 40.0 / 48.0, 45.0 / 48.0], axes));
    }
}

#[test]
fn around_a_thin_plate_and_on_odd_grids_multigrid_stays() {
    let grid = Grid::<3>::walled([48; 3], Side::Open);
    let plate = Cuboid { center: [0.5, 0.52, 0.5], half: [0.25, 0.02, 0.25], rounding: 0.0 };
    let mut thin = solver(&grid, &around(&grid, vec![Box::new(plate)]), true);
    assert!(!thin.describe().contains("transforms"));
    assert!(solve(&grid, &mut *thin).0.iterations < 12);
    // Transforms of a prime number of cells take several times as long.
    let odd = Grid::<3>::walled([47; 3], Side::Open);
    assert!(!solver(&odd, &around(&odd, vec![ball()]), true).describe().contains("transforms"));
}

#[test]
fn the_bits_of_transforms_around_a_ball_do_not_depend_on_the_number_of_threads() {
    let grid = Grid::<3>::walled([48; 3], Side::Open);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut solver = solver(&grid, &around(&grid, vec![ball(), ball()]), true);
            solve(&grid, &mut *solver).1.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        })
    };
    let one = with(1);
    assert!([2, 5].into_iter().all(|threads| with(threads) == one));
}

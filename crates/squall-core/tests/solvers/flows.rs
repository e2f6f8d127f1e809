//! Flows between plates, by the viscosity of components on faces alone.

use squall_core::diffuse::{Around, Diffusion};
use squall_core::{At, Axis, Field, Grid, Layout, Side};

use crate::common::table;

/// The velocity along x over the height of a channel of `n` cells at certain times: plates at y = 0 and y = 1, periodic
/// along x or open, driven by the upper plate or by a force.
fn profile(n: usize, steps: usize, until: f64, plate: f32, force: f64, along: Axis<2>) -> Vec<f64> {
    let h = 1.0 / n as f64;
    let y = Axis::Bounded { lo: Side::STICKY, hi: Side::NoSlip { velocity: [plate, 0.0] } };
    let grid = Grid::<2>::new([4, n], [4.0 * h, 1.0], [along, y]);
    let layout = Layout::dense(grid.cells);
    let mut u = Field::on(&layout, At::Face(0), grid.velocity_ends(0)).unwrap();
    let mut diffusion = Diffusion::new(&layout, grid.spacing);
    let dt = until / steps as f64;
    for _ in 0..steps {
        u.par_rows(|_, u| u.iter_mut().for_each(|u| *u += (dt * force) as f32));
        assert!(diffusion.apply(&mut u, dt, Around::Nothing).unwrap().converged);
    }
    (0..n).map(|j| u.get([2, j]) as f64).collect()
}

/// Linear interpolation of cell centres at `y`.
fn at(profile: &[f64], y: f64) -> f64 {
    let x = (y * profile.len() as f64 - 0.5).clamp(0.0, profile.len() as f64 - 1.000001);
    let (i, t) = (x as usize, x.fract());
    (1.0 - t) * profile[i] + t * profile[i + 1]
}

const OPEN: Axis<2> = Axis::Bounded { lo: Side::Open, hi: Side::Open };

#[test]
fn a_plate_that_starts_to_move_drags_the_fluid_as_in_couettes_solution() {
    let reference = table(include_str!("../facts/data/08_couette_startup.csv"));
    for along in [Axis::Periodic, OPEN] {
        for (column, until) in [(1, 0.01), (2, 0.05), (3, 0.1), (4, 0.25)] {
            let u = profile(100, 200, until, 1.0, 0.0, along);
            for row in reference.iter().filter(|row| (0.02..0.98).contains(&row[0])) {
                let (got, right) = (at(&u, row[0]), row[column]);
                // Backward Euler: the error is dt/2 of the second derivative in time, 200 steps make less than 0.4 %.
                assert!((got - right).abs() < 4e-3, "{along:?} t {until}, y {}: {got}, not {right}", row[0]);
            }
        }
        let u = profile(100, 1, 1e9, 1.0, 0.0, along);
        for row in reference.iter().filter(|row| (0.02..0.98).contains(&row[0])) {
            assert!((at(&u, row[0]) - row[5]).abs() < 1e-3, "{along:?} steady, y {}: {}", row[0], at(&u, row[0]));
        }
    }
}

#[test]
fn a_force_in_a_channel_starts_poiseuilles_flow() {
    // Half width 1/2, so that t is four times that of the table; Umax = f H^2 / 2.
    let reference = table(include_str!("../facts/data/08_poiseuille_startup.csv"));
    for along in [Axis::Periodic, OPEN] {
        for (column, until) in [(1, 0.05), (2, 0.1), (3, 0.3), (4, 1.0)] {
            let u = profile(100, 200, 0.25 * until, 0.0, 8.0, along);
            for row in reference.iter().filter(|row| row[0] < 0.97) {
                let (got, right) = (at(&u, 0.5 + 0.5 * row[0]), row[column]);
                assert!((got - right).abs() < 4e-3, "{along:?} t {until}, Y {}: {got}, not {right}", row[0]);
            }
        }
    }
}

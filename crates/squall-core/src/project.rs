//! Projection: the part of a velocity field that is free of divergence.
//!
//! Velocities live at cell centres, where no compact divergence can be zero exactly. So the face velocities between
//! them are projected, exactly, and the centres follow approximately (Almgren, Bell & Szymczak 1996):
//!
//! 1. face velocity = mean of the two cells beside it; on walls what the wall says;
//! 2. `lap q = div`, solved directly;
//! 3. face velocity -= `(q_right - q_left) / h`: now `div = 0` to rounding. This field carries everything in the next step;
//! 4. cell velocity -= mean of the two face gradients, which is the centred gradient of Stam's paper.
//!
//! Subtracting gradients of numbers that grow with the size of the box leaves rounding errors; if they show, a second,
//! cheap round of the same takes them away.

use crate::Real;
use crate::field::{Field, Pad, VectorField};
use crate::grid::{At, Grid};
use crate::halo::subtract_gradient;
use crate::ops::{divergence, max_abs, max_divergence};
use crate::poisson::{PoissonSolver, Symbol};
use crate::report::SolveReport;

/// A second round is made when `max |div u| h / max |u|` is above this: half of what is promised.
const REFINE_ABOVE: f64 = 5e-6;

/// To which part of the divergence a solver that is not direct has to come.
const TOLERANCE: f64 = 1e-4;

/// What a projection left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projected {
    /// What the solver did.
    pub solve: SolveReport,
    /// Largest `|div u|` over the cells, in 1/s.
    pub max_divergence: f64,
    /// The same times the smallest cell size over the largest velocity before or after.
    pub relative_divergence: f64,
    /// Largest face velocity component, in m/s.
    pub max_speed: f64,
    /// Kinetic energy of the face velocities per unit mass density, integrated over the cells; `None` if it was not measured.
    pub energy: Option<f64>,
}

/// Makes `faces` the divergence-free field next to the centred velocity `u`, and takes the same gradient from `u`.
///
/// Leaves the ghosts of `faces` filled. `q` is left with the potential, ghosts filled: the
/// pressure is `q / dt`. `scratch` may be any field.
pub fn project<const D: usize>(
    grid: &Grid<D>,
    u: &mut VectorField<D>,
    faces: &mut VectorField<D>,
    q: &mut Field<D>,
    solver: &mut dyn PoissonSolver<D>,
    scratch: &mut Field<D>,
) -> Projected {
    for a in 0..D {
        u[a].fill_halo();
        faces[a].set_face_means(&u[a], a);
    }
    let done = project_from(grid, faces, q, solver, scratch, || largest(u));
    for a in 0..D {
        subtract_centered_gradient(&mut u[a], q, a, grid.spacing[a]);
    }
    done
}

/// Makes a staggered field free of divergence: `lap q = div u`, `u -= grad q`. Fills the ghosts of `u` and `q`.
pub fn project_faces<const D: usize>(
    grid: &Grid<D>,
    faces: &mut VectorField<D>,
    q: &mut Field<D>,
    solver: &mut dyn PoissonSolver<D>,
    scratch: &mut Field<D>,
) -> Projected {
    let before = largest(faces);
    project_from(grid, faces, q, solver, scratch, || before)
}

/// `before` is the largest velocity that went in: what is left of a field that was all gradient is only rounding, and has
/// to be compared with that.
fn project_from<const D: usize>(
    grid: &Grid<D>,
    faces: &mut VectorField<D>,
    q: &mut Field<D>,
    solver: &mut dyn PoissonSolver<D>,
    scratch: &mut Field<D>,
    before: impl Fn() -> f64,
) -> Projected {
    q.relabel(At::Center, grid.pressure_ends());
    scratch.relabel(q.at(), q.ends());
    divergence(faces, grid.spacing, scratch);
    let mut solve = solver.solve(scratch, q, TOLERANCE);
    subtract(grid, faces, q);
    let mut done = measure(grid, faces, &before);
    if done.relative_divergence > REFINE_ABOVE
        && let Some(direct) = solver.direct()
    {
        divergence(faces, grid.spacing, scratch);
        direct.apply(scratch, Symbol::InverseLaplacian);
        subtract(grid, faces, scratch);
        solve.iterations += 1;
        let more = &*scratch;
        q.par_rows(|row, q| q.iter_mut().zip(more.row(row)).for_each(|(q, m)| *q += m));
        q.fill_halo();
        done = measure(grid, faces, &before);
    }
    Projected { solve, ..done }
}

/// `u -= grad q`. Fills the ghosts of both.
fn subtract<const D: usize>(grid: &Grid<D>, faces: &mut VectorField<D>, q: &mut Field<D>) {
    q.fill_halo();
    subtract_gradient(faces, q, grid.spacing);
    faces.iter_mut().for_each(|u| u.fill_halo());
}

fn largest<const D: usize>(u: &VectorField<D>) -> f64 {
    u.iter().map(|f| max_abs(f) as f64).fold(0.0, f64::max)
}

fn measure<const D: usize>(grid: &Grid<D>, faces: &VectorField<D>, before: &impl Fn() -> f64) -> Projected {
    let max_speed = largest(faces);
    let max_divergence = max_divergence(faces, grid.spacing) as f64;
    let relative = |speed: f64| if speed > 0.0 { max_divergence * grid.min_spacing() / speed } else { 0.0 };
    let mut relative_divergence = relative(max_speed);
    if relative_divergence > REFINE_ABOVE {
        relative_divergence = relative(before().max(max_speed));
    }
    Projected { max_divergence, relative_divergence, max_speed, ..Projected::default() }
}

/// `u -= (q(i + e_a) - q(i - e_a)) / 2h`. Needs the ghosts of `q`.
pub fn subtract_centered_gradient<const D: usize>(u: &mut Field<D>, q: &Field<D>, a: usize, h: f64) {
    let half_inv_h = (0.5 / h) as Real;
    u.par_rows_and_ghosts(|row, u| {
        let mut pads = [Pad::default(); 2];
        let [pad, other] = &mut pads;
        let (up, down) = (q.up(row, a, pad), q.down(row, a, other));
        for x in 0..u.len() {
            u[x] -= half_inv_h * (up[x] - down[x]);
        }
    });
}

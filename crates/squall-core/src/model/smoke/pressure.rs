//! The pressure makes the flow incompressible.

use std::time::Instant;

use super::Smoke;
use super::tiles::{Edge, each_bit};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Grid};
use crate::layout::{Layout, Row};
use crate::ops::{divergence, max_abs};
use crate::poisson::{self, Multigrid, PoissonSolver};
use crate::project::Projected;
use crate::report::SolveReport;
use crate::solid::{Solids, divergence_around};

/// A solver that needs more iterations than this does not get there.
const MAX_ITERATIONS: u32 = 300;

/// How the pressure is found.
pub(super) enum Pressure<const D: usize> {
    /// Directly, in a box without objects.
    Direct(Box<dyn PoissonSolver<D>>),
    /// Step by step, around objects and on tiles.
    Iterative(Box<Multigrid<D>>),
}

impl<const D: usize> Pressure<D> {
    pub fn new(grid: &Grid<D>, layout: &Layout<D>, with_solids: bool) -> Result<Self, OutOfMemory> {
        if layout.as_tiles().is_none() && !with_solids {
            return Ok(Pressure::Direct(poisson::plan(grid, grid.pressure_ends())));
        }
        Ok(Pressure::Iterative(Box::new(Multigrid::new(layout, grid.spacing[0], grid.pressure_ends())?)))
    }

    /// Solids leave these parts of faces open.
    pub fn set_open_faces(&mut self, open: &VectorField<D>) {
        match self {
            Pressure::Direct(_) => panic!("the direct solver knows no solids"),
            Pressure::Iterative(solver) => solver.set_open_faces(Some(open)),
        }
    }

    /// Solves `lap q = r`. May use `r` for its work.
    fn solve(&mut self, rhs: &mut Field<D>, q: &mut Field<D>, tolerance: f64) -> SolveReport {
        match self {
            Pressure::Direct(solver) => {
                q.swap_values(rhs);
                solver.solve(q)
            }
            Pressure::Iterative(solver) => {
                q.fill(0.0);
                solver.solve(rhs, q, tolerance, MAX_ITERATIONS)
            }
        }
    }

    pub fn describe(&self) -> String {
        match self {
            Pressure::Direct(solver) => solver.describe(),
            Pressure::Iterative(solver) => solver.describe(),
        }
    }
}

impl<const D: usize> Smoke<D> {
    /// `lap q = div u - e`, `u -= grad q`, where `e` is what swells. Leaves the potential `q` in the first of the lent
    /// fields. `pushed` is the time for which the present pressure has pushed already.
    pub(super) fn make_incompressible(&mut self, pushed: Option<f64>) -> Projected {
        let start = Instant::now();
        let Self { grid, options, velocity, pressure, scratch, solver, swelling, obstacles, edge, .. } = self;
        let mut solids = obstacles.as_mut().map(|o| &mut o.solids);
        let [q, rhs, ..] = &mut scratch.as_mut().expect("allocated at the start").lend()[..] else {
            unreachable!("two axes at least")
        };
        velocity.iter_mut().for_each(|u| u.set_end_faces());
        if let Some(solids) = &mut solids {
            solids.prepare(grid, velocity, pushed.map(|dt| (&*pressure, dt)));
        }
        velocity.iter_mut().for_each(|u| u.fill_halo());
        q.relabel(At::Center, grid.pressure_ends());
        rhs.relabel(At::Center, grid.pressure_ends());

        outflow(velocity, grid, solids.as_deref(), swelling.as_ref(), edge.as_ref(), rhs);
        let before = max_abs(rhs) as f64;
        let solve = solver.solve(rhs, q, options.tolerance);
        q.fill_halo();
        for a in 0..D {
            match &solids {
                None => velocity[a].subtract_face_gradient(q, a, grid.spacing[a]),
                Some(s) => {
                    let near = |row: Row<'_, D>| s.is_near(row);
                    let (open, solid) = (&s.open()[a], &s.velocity()[a]);
                    velocity[a].subtract_open_gradient(q, (a, grid.spacing[a]), open, solid, near);
                }
            }
            velocity[a].fill_halo();
        }
        outflow(velocity, grid, solids.as_deref(), swelling.as_ref(), edge.as_ref(), rhs);
        let max_divergence = max_abs(rhs) as f64;
        if let Some(solids) = &mut solids {
            solids.constrain(grid, velocity);
        }

        let max_speed = velocity.iter().map(|u| max_abs(u) as f64).fold(0.0, f64::max);
        let relative = |speed: f64| if speed > 0.0 { max_divergence * grid.min_spacing() / speed } else { 0.0 };
        // What is left of a field that was all gradient is compared with what it was.
        let relative_divergence = relative(max_speed.max(before * grid.min_spacing()));
        self.timings.project += start.elapsed().as_secs_f64();
        Projected { solve, max_divergence, relative_divergence, max_speed }
    }

    /// `u -= dt grad p`.
    pub(super) fn apply_pressure(&mut self, dt: f64) {
        let start = Instant::now();
        self.pressure.fill_halo();
        for a in 0..D {
            let across = (a, self.grid.spacing[a] / dt);
            match &self.obstacles {
                None => self.velocity[a].subtract_face_gradient(&self.pressure, across.0, across.1),
                Some(o) => self.velocity[a].subtract_gradient_where_open(&self.pressure, across, &o.solids.open()[a]),
            }
        }
        self.timings.project += start.elapsed().as_secs_f64();
    }

    /// `p += q / dt`.
    pub(super) fn accumulate_pressure(&mut self, dt: f64) {
        let q = &self.scratch.as_mut().expect("allocated at the start").lend()[0];
        let inv_dt = (1.0 / dt) as Real;
        self.pressure.par_rows(|row, p| p.iter_mut().zip(q.row(row)).for_each(|(p, q)| *p += inv_dt * q));
    }

    /// `p = q / dt`.
    pub(super) fn replace_pressure(&mut self, dt: f64) {
        self.pressure.par_rows(|_, p| p.fill(0.0));
        self.accumulate_pressure(dt);
    }
}

/// The flow out of every cell in excess of what appears in it; zero in the outermost cells of an unbounded grid, which
/// belong to the open air.
fn outflow<const D: usize>(
    u: &VectorField<D>,
    grid: &Grid<D>,
    solids: Option<&Solids<D>>,
    swelling: Option<&Field<D>>,
    edge: Option<&Edge<D>>,
    out: &mut Field<D>,
) {
    match solids {
        None => divergence(u, grid.spacing, out),
        Some(solids) => divergence_around(u, solids, grid.spacing, out),
    }
    if let Some(rate) = swelling {
        out.par_rows(|row, out| out.iter_mut().zip(rate.row(row)).for_each(|(o, e)| *o -= e));
    }
    if let Some(edge) = edge {
        let layout = out.layout().clone();
        out.par_rows(|row, out| each_bit(edge.cells[layout.row_number(row)], |x| out[x] = 0.0));
    }
}

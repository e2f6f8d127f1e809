//! Solids, and the pressure with and without them.

use std::time::Instant;

use smallvec::SmallVec;

use super::TargetSmoke;
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::Grid;
use crate::layout::Layout;
use crate::poisson::{self, Multigrid, PoissonSolver};
use crate::project::{Projected, project_faces};
use crate::solid::{Boundary, Obstacle, Solids, project_around};

/// A solver that needs more iterations than this does not get there.
const MAX_ITERATIONS: u32 = 300;

pub(super) struct Obstacles<const D: usize> {
    pub solids: Solids<D>,
    /// When solids were last put in their places.
    time: Option<f64>,
}

impl<const D: usize> Obstacles<D> {
    /// The flow through faces across axis `a`, of which solids close a part: `A u + (1 - A) u_s`, which is free of divergence.
    pub fn close(&self, a: usize, u: &mut Field<D>) {
        let (open, solid) = (&self.solids.open()[a], &self.solids.velocity()[a]);
        let flow = |u: Real, open: Real, solid: Real| u + (1.0 - open) * (solid - u);
        u.par_rows(|row, u| {
            if self.solids.is_near(row) {
                let (open, solid) = (open.row(row), solid.row(row));
                for x in 0..u.len() {
                    u[x] = flow(u[x], open[x], solid[x]);
                }
            }
        });
        u.fill_halo();
    }
}

/// How the pressure is found.
pub(super) enum Pressure<const D: usize> {
    /// Directly, in a box without solids.
    Direct(Box<dyn PoissonSolver<D>>),
    /// Step by step, around solids.
    Iterative(Box<Multigrid<D>>),
}

impl<const D: usize> Pressure<D> {
    pub fn direct(grid: &Grid<D>) -> Self {
        Pressure::Direct(poisson::plan(grid, grid.pressure_ends()))
    }

    /// Makes the velocity free of divergence.
    pub fn project(
        &mut self,
        grid: &Grid<D>,
        u: &mut VectorField<D>,
        q: &mut Field<D>,
        scratch: &mut Field<D>,
        solids: Option<&mut Solids<D>>,
        tolerance: f64,
    ) -> Projected {
        match (self, solids) {
            (Pressure::Iterative(solver), Some(solids)) => {
                let solve = &mut |r: &Field<D>, q: &mut Field<D>| {
                    q.fill(0.0);
                    solver.solve(r, q, tolerance, MAX_ITERATIONS)
                };
                project_around(grid, u, q, solids, solve, scratch)
            }
            (Pressure::Direct(solver), _) => project_faces(grid, u, q, &mut **solver, scratch),
            (Pressure::Iterative(_), None) => unreachable!("the solver is chosen with the solids"),
        }
    }

    pub fn describe(&self) -> String {
        match self {
            Pressure::Direct(solver) => solver.describe(),
            Pressure::Iterative(solver) => solver.describe(),
        }
    }
}

impl<const D: usize> TargetSmoke<D> {
    /// Puts solids into the smoke; cells must be cubes. Shapes that are too thin for the cells are made thicker; returns their
    /// names. Parts of targets inside of solids do not count.
    pub fn set_obstacles(
        &mut self,
        obstacles: Vec<Obstacle<D>>,
        boundary: Boundary,
    ) -> Result<Vec<String>, OutOfMemory> {
        if obstacles.is_empty() {
            (self.obstacles, self.pressure) = (None, Pressure::direct(&self.grid));
            return Ok(Vec::new());
        }
        let h = self.grid.spacing;
        assert!(h.iter().all(|s| (s / h[0] - 1.0).abs() < 1e-6), "around solids cells are cubes");
        let mut solids = Solids::new(&self.grid, obstacles, boundary)?;
        let thin = solids.thicken(&self.grid, self.clock.time).into_iter().map(String::from).collect();
        let layout = Layout::dense(self.grid.cells);
        let solver = Multigrid::new(&layout, h[0], self.grid.pressure_ends())?;
        self.pressure = Pressure::Iterative(Box::new(solver));
        self.obstacles = Some(Obstacles { solids, time: None });
        self.place_obstacles(self.clock.time);
        Ok(thin)
    }

    /// The solids, as they are now.
    pub fn solids(&self) -> Option<&Solids<D>> {
        self.obstacles.as_ref().map(|o| &o.solids)
    }

    /// Makes sure that solids are where they are at this time.
    pub(super) fn place_obstacles(&mut self, time: f64) {
        let Some(o) = &mut self.obstacles else { return };
        if o.time == Some(time) {
            return;
        }
        o.time = Some(time);
        if o.solids.update(&self.grid, time).anything()
            && let Pressure::Iterative(solver) = &mut self.pressure
        {
            solver.set_open_faces(Some(o.solids.open()));
        }
    }

    /// Solids move on and push what is in their way.
    pub(super) fn move_obstacles(&mut self, time: f64, dt: f64) {
        let start = Instant::now();
        self.place_obstacles(time + dt);
        if let Some(Obstacles { solids, .. }) = &self.obstacles {
            let mut all: SmallVec<[(&mut Field<D>, Real); 8]> =
                self.substances.iter_mut().map(|s| (&mut s.field, s.ambient)).collect();
            solids.push_out(&self.grid, [time, time + dt], &mut all);
        }
        self.timings.follow += start.elapsed().as_secs_f64();
    }
}

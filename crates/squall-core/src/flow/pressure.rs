//! The pressure projection of a flow.

use super::Flow;
use super::far::Far;
use super::follow::{Air, Edge, each_bit};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::Grid;
use crate::halo::{Closed, subtract_gradient, subtract_gradient_around};
use crate::layout::{Layout, Row};
use crate::poisson::{self, AroundTiles, Domain, PoissonSolver, Problem};
use crate::project::{FreeSurface, Outside, Projected, Projection};
use crate::report::{SolveReport, Stage};
use crate::sample::Isa;
use crate::solid::Solids;

/// What a solver has to know of.
#[derive(Clone, Copy, Default)]
pub(crate) struct With {
    pub solids: bool,
    pub surface: bool,
}

/// How the pressure is found: directly in a box without objects, step by step around objects and on tiles.
pub(crate) struct Pressure<const D: usize>(Box<dyn PoissonSolver<D>>);

impl<const D: usize> Pressure<D> {
    pub fn new(grid: &Grid<D>, layout: &Layout<D>, with: With, isa: Isa) -> Result<Self, OutOfMemory> {
        let problem = Problem::of(grid).with_solids(with.solids).with_surface(with.surface);
        let mut plan = poisson::plan(problem);
        plan.isa = isa;
        Ok(Pressure(plan.build(layout, grid.spacing, grid.pressure_ends())?))
    }

    /// Solids leave these parts of faces open; `still`: for good.
    pub fn set_open_faces(&mut self, open: &VectorField<D>, still: bool) {
        self.0.set(Domain { open: Some(open), ..Domain::default() }).expect("planned with solids");
        if still {
            self.0.stay();
        }
    }

    pub(super) fn is_direct(&mut self) -> bool {
        self.0.direct().is_some()
    }

    pub fn describe(&self) -> String {
        self.0.describe()
    }

    /// `lap q = rhs`, to a part of the right side.
    pub fn solve(&mut self, rhs: &mut Field<D>, q: &mut Field<D>, tolerance: f64) -> SolveReport {
        self.0.solve(rhs, q, tolerance)
    }
}

impl<const D: usize> Flow<D> {
    /// `lap q = div u - e`, `u -= grad q`, where `e` is what swells ([`Projection`]). `pushed` is the time for which the present
    /// pressure has pushed already. Leaves `q` as the potential, ghosts filled.
    pub fn project(&mut self, pushed: Option<f64>) -> Projected {
        self.project_where(pushed, None)
    }

    /// [`Flow::project`] of a liquid: `q` is zero on its surface, and what is not in it stays as it is.
    pub fn project_liquid(&mut self, surface: FreeSurface<'_, D>) -> Projected {
        self.set_liquid(surface);
        self.project_where(None, Some(surface))
    }

    /// Says to the solver where the liquid is.
    pub(crate) fn set_liquid(&mut self, surface: FreeSurface<'_, D>) {
        let open = self.obstacles.as_ref().map(|o| o.solids.open());
        let domain = Domain { open, state: Some(surface.state), phi: Some(surface.phi) };
        self.solver.0.set(domain).expect("planned with a surface");
    }

    /// `lap q = rhs` for the same liquid as the last projection, to a part of the right side; leaves `q` as the potential, ghosts filled.
    pub(crate) fn solve_in_liquid(&mut self, rhs: &mut Field<D>, tolerance: f64) -> SolveReport {
        self.potential.fill(0.0);
        let report = self.solver.solve(rhs, &mut self.potential, tolerance);
        self.potential.fill_halo();
        report
    }

    fn project_where(&mut self, pushed: Option<f64>, surface: Option<FreeSurface<'_, D>>) -> Projected {
        let timer = self.timings.start();
        let Self { grid, options, velocity, pressure, potential: q, scratch, solver, swelling, obstacles, .. } = self;
        let pressure = &*pressure;
        let swelling = swelling.as_ref();
        let mut outside = Air::of(&mut self.following).map(|air| OpenAir {
            grid: *grid,
            far: &mut air.far,
            edge: &air.edge,
            pressure,
            wind: options.wind,
        });
        solver.0.set_cancel(&self.cancel);
        let [rhs, more, ..] = &mut scratch.lend()[..] else { unreachable!("two axes at least") };
        let mut projection = Projection {
            tolerance: options.tolerance,
            refine_above: self.refine_above,
            solids: obstacles.as_mut().map(|o| &mut o.solids),
            pushed: pushed.map(|dt| (pressure, dt)),
            swelling,
            surface,
            lets_go: surface.filter(|_| self.walls_let_go).map(|_| (pressure, self.step)),
            isa: options.isa,
            outside: outside.as_mut().map(|o| o as &mut dyn Outside<D>),
            ..Projection::new(grid, &mut *solver.0)
        };
        let done = projection.faces_with(velocity, q, rhs, more);
        self.books.volume(grid, done.total_divergence, swelling);
        self.fastest = done.cells_per_second;
        self.timings.stop(Stage::Project, timer);
        done
    }

    /// `u -= dt grad p`, on faces.
    pub fn apply_pressure(&mut self, dt: f64) {
        let timer = self.timings.start();
        self.pressure.fill_halo();
        let spacing = self.grid.spacing.map(|h| h / dt);
        match &self.obstacles {
            None => subtract_gradient(&mut self.velocity, &self.pressure, spacing),
            Some(o) => {
                let near = |row: Row<'_, D>| o.solids.is_near(row);
                let closed = Closed { open: o.solids.open(), solid: None, near };
                subtract_gradient_around(&mut self.velocity, &self.pressure, spacing, Some(closed));
            }
        }
        self.note_push(dt);
        self.calm_the_outside();
        self.timings.stop(Stage::Project, timer);
    }

    /// Reduces the lagged pressure by `1 / (1 + (nu dt / h^2)^2)` if obstacles move. In very viscous fluid the pressure balances viscous
    /// stresses of the geometry at the last step; applied to a new geometry it drives spurious flow (a plate that turned at
    /// 0.6 m/s made 140 m/s).
    pub(super) fn weaken_pressure(&mut self, dt: f64) {
        let moves = self.obstacles.as_ref().is_some_and(|o| !o.solids.are_still());
        if !moves || self.viscosity == 0.0 || self.has_surface {
            return;
        }
        let cells = self.viscosity * dt / self.grid.spacing[0].powi(2);
        let keep = (1.0 / (1.0 + cells * cells)) as Real;
        self.pressure.par_runs(|_, p| p.iter_mut().for_each(|p| *p *= keep));
    }

    /// `p += q / dt`.
    pub fn accumulate_pressure(&mut self, dt: f64) {
        let (q, inv_dt) = (&self.potential, (1.0 / dt) as Real);
        self.pressure.par_runs_and_ghosts(|row, p| p.iter_mut().zip(q.run(row)).for_each(|(p, q)| *p += inv_dt * q));
    }

    /// `p = q / dt`.
    pub fn replace_pressure(&mut self, dt: f64) {
        let (q, inv_dt) = (&self.potential, (1.0 / dt) as Real);
        self.pressure.par_runs_and_ghosts(|row, p| p.iter_mut().zip(q.run(row)).for_each(|(p, q)| *p = inv_dt * q));
    }
}

/// The air around an unbounded grid: a potential flow without end.
struct OpenAir<'a, const D: usize> {
    grid: Grid<D>,
    far: &'a mut Far<D>,
    edge: &'a Edge<D>,
    pressure: &'a Field<D>,
    wind: [Real; D],
}

impl<const D: usize> Outside<D> for OpenAir<'_, D> {
    fn hold(&mut self, solids: Option<&Solids<D>>, rhs: &mut Field<D>, spare: &mut Field<D>) {
        self.far.hold_edge(&self.grid, self.edge, self.pressure, solids, rhs, spare);
    }

    fn solve_around(&mut self, space: &mut AroundTiles<D>, rhs: &Field<D>, q: &mut Field<D>, spare: &mut Field<D>) {
        self.far.solve_around(&self.grid, self.edge, self.pressure, (rhs, space), q, spare);
    }

    fn finish(&mut self, solids: Option<&Solids<D>>, q: &mut Field<D>, spare: &mut Field<D>) {
        self.far.finish_edge(&self.grid, self.pressure, solids, q, spare);
    }

    fn calm(&self, u: &mut VectorField<D>) {
        self.edge.calm(u, self.wind);
    }

    /// The outermost cells belong to the open air.
    fn leave_out(&self, div: &mut Field<D>) {
        let layout = div.layout().clone();
        div.par_rows(|row, div| each_bit(self.edge.cells[layout.row_number(row)], |x| div[x] = 0.0));
    }
}

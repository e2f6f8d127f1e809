//! The pressure makes the flow incompressible.

use super::Flow;
use super::follow::{Edge, each_bit};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Grid};
use crate::layout::{Layout, Row};
use crate::ops::{self, divergence, max_abs};
use crate::poisson::{self, Domain, PoissonSolver, Problem};
use crate::project::Projected;
use crate::report::Stage;
use crate::sample::Isa;
use crate::solid::{Solids, divergence_around};

/// How the pressure is found: directly in a box without objects, step by step around objects and on tiles.
pub(super) struct Pressure<const D: usize>(Box<dyn PoissonSolver<D>>);

impl<const D: usize> Pressure<D> {
    pub fn new(grid: &Grid<D>, layout: &Layout<D>, with_solids: bool, isa: Isa) -> Result<Self, OutOfMemory> {
        let mut plan = poisson::plan(Problem::of(grid).with_solids(with_solids));
        plan.isa = isa;
        Ok(Pressure(plan.build(layout, grid.spacing, grid.pressure_ends())?))
    }

    /// Solids leave these parts of faces open.
    pub fn set_open_faces(&mut self, open: &VectorField<D>) {
        self.0.set(Domain { open: Some(open), ..Domain::default() }).expect("planned with solids");
    }

    pub(super) fn is_direct(&mut self) -> bool {
        self.0.direct().is_some()
    }

    pub fn describe(&self) -> String {
        self.0.describe()
    }
}

/// Single precision leaves about this much of a right side, at best.
const FINEST: f64 = 3e-6;

impl<const D: usize> Flow<D> {
    /// `lap q = div u - e`, `u -= grad q`, where `e` is what swells. `pushed` is the time for which the present pressure has
    /// pushed already. Leaves `q` as the potential, ghosts filled.
    pub fn project(&mut self, pushed: Option<f64>) -> Projected {
        let timer = self.timings.start();
        let Self { grid, options, velocity, pressure, potential: q, scratch, solver, swelling, obstacles, .. } = self;
        let (edge, mut far) = self.following.as_mut().map(|f| (&f.edge, &mut f.far)).unzip();
        let [rhs, more, ..] = &mut scratch.lend()[..] else { unreachable!("two axes at least") };
        velocity.iter_mut().for_each(|u| u.set_end_faces());
        if let Some(o) = obstacles {
            o.solids.prepare(grid, velocity, pushed.map(|dt| (&*pressure, dt)));
        }
        velocity.iter_mut().for_each(|u| u.fill_halo());
        for field in [&mut *q, rhs, more] {
            field.relabel(At::Center, grid.pressure_ends());
        }

        let solids = obstacles.as_ref().map(|o| &o.solids);
        outflow(velocity, grid, solids, swelling.as_ref(), edge, rhs);
        let before = max_abs(rhs) as f64;
        let mut tolerance = options.tolerance;
        if let Some(far) = &mut far {
            let wanted = tolerance * ops::dot(rhs, rhs).sqrt();
            far.hold_edge(grid, pressure, obstacles.as_ref(), rhs, more);
            // What is held adds to the right side, but must not add to what is left of it.
            let size = ops::dot(rhs, rhs).sqrt();
            tolerance = if size > 0.0 { (wanted / size).clamp(tolerance.min(FINEST), tolerance) } else { tolerance };
        }
        let mut solve = solver.0.solve(rhs, q, tolerance);
        if let Some(far) = &mut far {
            far.finish_edge(grid, pressure, obstacles.as_ref(), q, more);
        }
        subtract_gradient(grid, velocity, q, solids);
        if let Some(edge) = edge {
            edge.calm(velocity, options.wind);
        }
        outflow(velocity, grid, solids, swelling.as_ref(), edge, rhs);
        // What is left of a field that was all gradient is compared with what it was.
        let relative = |divergence: f64, speed: f64| {
            let speed = speed.max(before * grid.min_spacing());
            if speed > 0.0 { divergence * grid.min_spacing() / speed } else { 0.0 }
        };
        let (mut speeds, (mut left, mut max_divergence)) = (Speeds::of(velocity), ops::sum_and_max(rhs));
        // Gradients of numbers that grow with the size of the box round; a second round takes that away.
        if solver.is_direct() && relative(max_divergence as f64, speeds.most()) > self.refine_above {
            solve.iterations += solver.0.solve(rhs, more, options.tolerance).iterations;
            subtract_gradient(grid, velocity, more, solids);
            let more = &*more;
            q.par_rows(|row, q| q.iter_mut().zip(more.row(row)).for_each(|(q, m)| *q += m));
            q.fill_halo();
            outflow(velocity, grid, solids, swelling.as_ref(), edge, rhs);
            (speeds, (left, max_divergence)) = (Speeds::of(velocity), ops::sum_and_max(rhs));
        }
        self.books.volume(grid, left, swelling.as_ref());
        if let Some(o) = obstacles {
            o.solids.constrain(grid, velocity);
            speeds = Speeds::of(velocity);
        }
        self.fastest = (0..D).map(|a| speeds.most[a] / grid.spacing[a]).fold(0.0, f64::max);
        let (max_divergence, max_speed) = (max_divergence as f64, speeds.most());
        let relative_divergence = relative(max_divergence, max_speed);
        let energy = Some(0.5 * speeds.squares * grid.cell_volume());
        self.timings.stop(Stage::Project, timer);
        Projected { solve, max_divergence, relative_divergence, max_speed, energy }
    }

    /// `u -= dt grad p`, on faces.
    pub fn apply_pressure(&mut self, dt: f64) {
        let timer = self.timings.start();
        self.pressure.fill_halo();
        for a in 0..D {
            let across = (a, self.grid.spacing[a] / dt);
            match &self.obstacles {
                None => self.velocity[a].subtract_face_gradient(&self.pressure, across.0, across.1),
                Some(o) => self.velocity[a].subtract_gradient_where_open(&self.pressure, across, &o.solids.open()[a]),
            }
        }
        self.note_push(dt);
        self.calm_the_outside();
        self.timings.stop(Stage::Project, timer);
    }

    /// `p += q / dt`.
    pub fn accumulate_pressure(&mut self, dt: f64) {
        let (q, inv_dt) = (&self.potential, (1.0 / dt) as Real);
        self.pressure.par_rows(|row, p| p.iter_mut().zip(q.row(row)).for_each(|(p, q)| *p += inv_dt * q));
    }

    /// `p = q / dt`.
    pub fn replace_pressure(&mut self, dt: f64) {
        let (q, inv_dt) = (&self.potential, (1.0 / dt) as Real);
        self.pressure.par_rows(|row, p| p.iter_mut().zip(q.row(row)).for_each(|(p, q)| *p = inv_dt * q));
    }
}

/// What there is to know of velocities on faces.
struct Speeds<const D: usize> {
    /// The largest of each component.
    most: [f64; D],
    /// The sum of the squares of all.
    squares: f64,
}

impl<const D: usize> Speeds<D> {
    fn of(u: &VectorField<D>) -> Self {
        let each = u.each_ref().map(ops::squares_and_max);
        Speeds { most: each.map(|(_, most)| most as f64), squares: each.iter().map(|(squares, _)| squares).sum() }
    }

    fn most(&self) -> f64 {
        self.most.iter().copied().fold(0.0, f64::max)
    }
}

/// `u -= grad q` on all faces that are open, at least in part; fills all ghosts.
fn subtract_gradient<const D: usize>(
    grid: &Grid<D>,
    u: &mut VectorField<D>,
    q: &mut Field<D>,
    solids: Option<&Solids<D>>,
) {
    q.fill_halo();
    for a in 0..D {
        match solids {
            None => u[a].subtract_face_gradient(q, a, grid.spacing[a]),
            Some(s) => {
                let near = |row: Row<'_, D>| s.is_near(row);
                let (open, solid) = (&s.open()[a], &s.velocity()[a]);
                u[a].subtract_open_gradient(q, (a, grid.spacing[a]), open, solid, near);
            }
        }
        u[a].fill_halo();
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

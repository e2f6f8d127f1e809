//! The pressure makes the flow incompressible.

use super::Flow;
use super::follow::{Edge, each_bit};
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Grid};
use crate::halo::{Closed, subtract_gradient, subtract_gradient_around};
use crate::layout::{Layout, Row};
use crate::ops::{self, PIECE, Sums, divergence};
use crate::poisson::{self, Domain, PoissonSolver, Problem};
use crate::project::Projected;
use crate::report::{SolveReport, Stage};
use crate::rows;
use crate::sample::{Isa, Kernel};
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
        let around = Around { grid, solids, swelling: swelling.as_ref(), edge, isa: options.isa };
        let before = around.outflow(velocity, rhs);
        let mut tolerance = options.tolerance;
        if let Some(far) = &mut far {
            let wanted = tolerance * before.squares.sqrt();
            far.hold_edge(grid, pressure, obstacles.as_ref(), rhs, more);
            // What is held adds to the right side, but must not add to what is left of it.
            let size = ops::dot(rhs, rhs).sqrt();
            tolerance = if size > 0.0 { (wanted / size).clamp(tolerance.min(FINEST), tolerance) } else { tolerance };
        }
        // What a direct solve leaves is found below, with what is left of the outflow.
        let (mut solve, dropped) = match solver.0.direct() {
            Some(direct) => (SolveReport::NONE, Some(direct.solve_into(rhs, q))),
            None => (solver.0.solve(rhs, q, tolerance), None),
        };
        if let Some(far) = &mut far {
            far.finish_edge(grid, pressure, obstacles.as_ref(), q, more);
        }
        around.subtract_gradient(velocity, q);
        if let Some(edge) = edge {
            edge.calm(velocity, options.wind);
        }
        let (mut left, mut speeds) = around.measure(velocity, rhs);
        if let Some(mean) = dropped {
            solve = SolveReport::of_direct(before.squares, left.squares, mean, grid.cells.iter().product());
        }
        // What is left of a field that was all gradient is compared with what it was.
        let relative = |divergence: f64, speed: f64| {
            let speed = speed.max(before.most * grid.min_spacing());
            if speed > 0.0 { divergence * grid.min_spacing() / speed } else { 0.0 }
        };
        // Gradients of numbers that grow with the size of the box round; a second round takes that away.
        if let Some(direct) = solver.0.direct()
            && relative(left.most, speeds.most()) > self.refine_above
        {
            around.outflow(velocity, rhs);
            direct.solve_into(rhs, more);
            solve.iterations += 1;
            around.subtract_gradient(velocity, more);
            let more = &*more;
            q.par_rows(|row, q| q.iter_mut().zip(more.row(row)).for_each(|(q, m)| *q += m));
            q.fill_halo();
            (left, speeds) = around.measure(velocity, rhs);
        }
        self.books.volume(grid, left.sum, swelling.as_ref());
        if let Some(o) = obstacles {
            o.solids.constrain(grid, velocity);
            speeds = Speeds::of(options.isa, velocity);
        }
        self.fastest = (0..D).map(|a| speeds.most[a] / grid.spacing[a]).fold(0.0, f64::max);
        let (max_divergence, max_speed) = (left.most, speeds.most());
        let relative_divergence = relative(max_divergence, max_speed);
        let energy = Some(0.5 * speeds.squares * grid.cell_volume());
        self.timings.stop(Stage::Project, timer);
        Projected { solve, max_divergence, relative_divergence, max_speed, energy }
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
    fn of(isa: Isa, u: &VectorField<D>) -> Self {
        let each = u.each_ref().map(|u| Sums::with_last(isa, u));
        Speeds { most: each.map(Sums::most), squares: each.iter().map(|sums| sums.squares).sum() }
    }

    fn most(&self) -> f64 {
        self.most.iter().copied().fold(0.0, f64::max)
    }
}

/// The flow out of all cells, in excess of what appears in them.
#[derive(Clone, Copy)]
struct Outflow {
    sum: f64,
    squares: f64,
    most: f64,
}

impl Outflow {
    fn of(sums: Sums) -> Self {
        Outflow { sum: sums.sum, squares: sums.squares, most: sums.most() }
    }
}

/// What a flow is bounded by.
struct Around<'a, const D: usize> {
    grid: &'a Grid<D>,
    solids: Option<&'a Solids<D>>,
    swelling: Option<&'a Field<D>>,
    edge: Option<&'a Edge<D>>,
    isa: Isa,
}

impl<const D: usize> Around<'_, D> {
    /// `u -= grad q` on all faces that are open, at least in part; fills all ghosts.
    fn subtract_gradient(&self, u: &mut VectorField<D>, q: &mut Field<D>) {
        q.fill_halo();
        match self.solids {
            None => subtract_gradient(u, q, self.grid.spacing),
            Some(s) => {
                let near = |row: Row<'_, D>| s.is_near(row);
                let closed = Closed { open: s.open(), solid: Some(s.velocity()), near };
                subtract_gradient_around(u, q, self.grid.spacing, Some(closed));
            }
        }
        u.iter_mut().for_each(|u| u.fill_halo());
    }

    /// The flow out of every cell in excess of what appears in it; zero in the outermost cells of an unbounded grid, which
    /// belong to the open air.
    fn outflow(&self, u: &VectorField<D>, out: &mut Field<D>) -> Outflow {
        match self.solids {
            None => divergence(u, self.grid.spacing, out),
            Some(solids) => divergence_around(u, solids, self.grid.spacing, out),
        }
        if let Some(rate) = self.swelling {
            out.par_rows(|row, out| out.iter_mut().zip(rate.row(row)).for_each(|(o, e)| *o -= e));
        }
        if let Some(edge) = self.edge {
            let layout = out.layout().clone();
            out.par_rows(|row, out| each_bit(edge.cells[layout.row_number(row)], |x| out[x] = 0.0));
        }
        Outflow::of(Sums::of(self.isa, out))
    }

    /// [`Around::outflow`], and the speeds. What is left in `out` is of no use.
    fn measure(&self, u: &VectorField<D>, out: &mut Field<D>) -> (Outflow, Speeds<D>) {
        if self.solids.is_some() || self.swelling.is_some() || self.edge.is_some() {
            return (self.outflow(u, out), Speeds::of(self.isa, u));
        }
        let inv_h = self.grid.spacing.map(|h| (1.0 / h) as Real);
        let of_row = |row: Row<'_, D>| {
            let mut pad = Pad::default();
            let (here, next): ([_; D], _) = (ops::each(|a| u[a].row(row)), ops::above(u, row, &mut pad));
            let mut sums = (Sums::default(), [Sums::default(); D]);
            self.isa.run(MeasureRow { here, next, inv_h, sums: &mut sums });
            sums
        };
        let add = |a: Both<D>, b: Both<D>| (a.0.add(b.0), ops::each(|c| a.1[c].add(b.1[c])));
        let (left, mut each) = rows::reduce(u[0].layout(), of_row, add);
        u.iter().zip(&mut each).for_each(|(u, sums)| sums.note_last(u));
        let squares = each.iter().map(|sums| sums.squares).sum();
        (Outflow::of(left), Speeds { most: each.map(Sums::most), squares })
    }
}

type Both<const D: usize> = (Sums, [Sums; D]);

/// Of the divergence of a row, and of velocities on its lower faces.
struct MeasureRow<'a, const D: usize> {
    here: [&'a [Real]; D],
    next: [&'a [Real]; D],
    inv_h: [Real; D],
    sums: &'a mut Both<D>,
}

impl<const D: usize> Kernel for MeasureRow<'_, D> {
    #[inline(always)]
    fn run(self) {
        let MeasureRow { here, next, inv_h, sums } = self;
        let n = here[0].len();
        let mut out = [0.0; PIECE];
        for begin in (0..n).step_by(PIECE) {
            let out = &mut out[..(n - begin).min(PIECE)];
            out.fill(0.0);
            for a in 0..D {
                let (here, next) = (&here[a][begin..][..out.len()], &next[a][begin..][..out.len()]);
                for x in 0..out.len() {
                    out[x] += (next[x] - here[x]) * inv_h[a];
                }
                sums.1[a].note(here);
            }
            sums.0.note(out);
        }
    }
}

//! Projection onto divergence-free velocities, for the models and for steps of your own.
//!
//! Velocities live on faces. What is projected is exact up to the tolerance of the solver, or to rounding if that is direct:
//!
//! 1. what solids and sides prescribe;
//! 2. `lap q = div u - e`, where `e` is what swells;
//! 3. `u -= (q_right - q_left) / h` on faces that are open, at least in part.
//!
//! Velocities at cell centres follow approximately ([`Projection::centers`]; Almgren, Bell & Szymczak 1996), as no compact
//! divergence of theirs can be zero exactly: the faces between them are projected, and the centres lose the mean of the gradients on
//! both sides, which is the centred gradient of Stam's paper.
//!
//! Subtracting gradients of numbers that grow with the size of the box leaves rounding errors; if they show, a second,
//! cheap round of the same takes them away.

use crate::Real;
use crate::field::{Field, Pad, VectorField};
use crate::grid::{At, Grid};
use crate::halo::{Closed, subtract_gradient_around};
use crate::layout::Row;
use crate::level_set::sharpen_gradient;
use crate::ops::{self, PIECE, Sums, divergence};
use crate::poisson::{AroundTiles, CellState, PoissonSolver};
use crate::report::SolveReport;
use crate::rows;
use crate::sample::{Isa, Kernel};
use crate::solid::{Solids, divergence_around};

/// A direct solver makes a second round when `max |div u| h / max |u|` is above this: half of what is promised.
pub const REFINE_ABOVE: f64 = 5e-6;

/// To which part of the divergence a solver that is not direct has to come.
pub const TOLERANCE: f64 = 1e-4;

/// Single precision leaves about this much of a right side, at best.
const FINEST: f64 = 3e-6;

/// What a projection left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projected {
    /// What the solver did.
    pub solve: SolveReport,
    /// Largest `|div u|` over the cells, in 1/s.
    pub max_divergence: f64,
    /// The same times the smallest cell size over the largest velocity before or after.
    pub relative_divergence: f64,
    /// The sum of `div u` over the cells, in 1/s.
    pub total_divergence: f64,
    /// Largest face velocity component, in m/s.
    pub max_speed: f64,
    /// The largest in cells per second.
    pub cells_per_second: f64,
    /// Kinetic energy of the face velocities per unit mass density, integrated over the cells; `None` if it was not measured.
    pub energy: Option<f64>,
}

/// A projection, and what takes part in it.
///
/// ```
/// use squall_core::project::Projection;
/// use squall_core::{At, Field, Grid, VectorField, poisson};
///
/// let grid = Grid::<2>::periodic([32, 32]);
/// let new = |at| Field::new(grid.cells, at, grid.pressure_ends()).unwrap();
/// let mut u: VectorField<2> = [new(At::Face(0)), new(At::Face(1))];
/// u[0].set_from(&grid, |p| (6.28 * (p[0] + p[1])).sin());
/// let mut solver = poisson::plan(poisson::Problem::of(&grid)).build_for(&grid).unwrap();
/// let (mut q, mut spare) = (new(At::Center), [new(At::Center), new(At::Center)]);
/// let done = Projection::new(&grid, &mut *solver).faces(&mut u, &mut q, &mut spare);
/// assert!(done.relative_divergence < 1e-5);
/// ```
pub struct Projection<'a, const D: usize> {
    /// Where cells are.
    pub grid: &'a Grid<D>,
    /// What solves for the potential.
    pub solver: &'a mut dyn PoissonSolver<D>,
    /// To which part of the divergence a solver that is not direct has to come.
    pub tolerance: f64,
    /// From which relative divergence on a direct solver makes a second round.
    pub refine_above: f64,
    /// What is in the way. The solver has to know which faces it leaves open.
    pub solids: Option<&'a mut Solids<D>>,
    /// A pressure that has pushed the velocity already, and for how long: see [`Solids::prepare`].
    pub pushed: Option<(&'a Field<D>, f64)>,
    /// How much fluid appears, per volume and second.
    pub swelling: Option<&'a Field<D>>,
    /// The surface of a liquid: only its cells are made free of divergence. The solver has to know of it.
    pub surface: Option<FreeSurface<'a, D>>,
    /// The last pressure of a liquid, which lets go of walls and objects that would have to draw, and how long the step is.
    pub(crate) lets_go: Option<(&'a Field<D>, f64)>,
    /// The instruction set to use.
    pub isa: Isa,
    /// What is outside of an unbounded grid.
    pub(crate) outside: Option<&'a mut dyn Outside<D>>,
}

/// Where a liquid is, and where air.
#[derive(Clone, Copy)]
pub struct FreeSurface<'a, const D: usize> {
    /// The distance to the surface, negative inside, ghosts filled.
    pub phi: &'a Field<D>,
    /// What each cell is.
    pub state: &'a Field<D, CellState>,
}

/// What is outside of an unbounded grid, as a projection sees it.
pub(crate) trait Outside<const D: usize> {
    /// Brings what is held in the outermost cells into the right side. `spare` may be any field.
    fn hold(&mut self, solids: Option<&Solids<D>>, rhs: &mut Field<D>, spare: &mut Field<D>);
    /// Finds the potential where nothing is in the way, in the box around the tiles. `spare` may be any field.
    fn solve_around(&mut self, space: &mut AroundTiles<D>, rhs: &Field<D>, q: &mut Field<D>, spare: &mut Field<D>);
    /// Puts what was held into the potential. `spare` holds what [`hold`](Self::hold) left there.
    fn finish(&mut self, solids: Option<&Solids<D>>, q: &mut Field<D>, spare: &mut Field<D>);
    /// Says what velocities behind the outermost cells are.
    fn calm(&self, u: &mut VectorField<D>);
    /// Sets what belongs to the outside to zero.
    fn leave_out(&self, div: &mut Field<D>);
}

impl<'a, const D: usize> Projection<'a, D> {
    /// In a box, or on tiles, where nothing is in the way.
    pub fn new(grid: &'a Grid<D>, solver: &'a mut dyn PoissonSolver<D>) -> Self {
        Projection {
            grid,
            solver,
            tolerance: TOLERANCE,
            refine_above: REFINE_ABOVE,
            solids: None,
            pushed: None,
            swelling: None,
            surface: None,
            lets_go: None,
            isa: Isa::best(),
            outside: None,
        }
    }

    /// Around solids. The solver has to know which faces they leave open.
    pub fn around(mut self, solids: &'a mut Solids<D>) -> Self {
        self.solids = Some(solids);
        self
    }

    /// Makes `faces` the divergence-free field next to the centred velocity `u`, and takes the same gradient from `u`. Otherwise
    /// like [`Projection::faces`].
    pub fn centers(
        self,
        u: &mut VectorField<D>,
        faces: &mut VectorField<D>,
        q: &mut Field<D>,
        spare: &mut [Field<D>; 2],
    ) -> Projected {
        let spacing = self.grid.spacing;
        for a in 0..D {
            u[a].fill_halo();
            faces[a].set_face_means(&u[a], a);
        }
        let done = self.faces(faces, q, spare);
        subtract_centered_gradients(u, q, spacing);
        done
    }

    /// Makes a staggered field free of divergence: `lap q = div u - e`, `u -= grad q`. Leaves the ghosts of `u` filled, `q` with the
    /// potential, ghosts filled (the pressure is `q / dt`), and closed faces as [`Solids::constrain`] says. `spare` may be
    /// any fields.
    pub fn faces(mut self, u: &mut VectorField<D>, q: &mut Field<D>, spare: &mut [Field<D>; 2]) -> Projected {
        let [rhs, more] = spare;
        self.faces_with(u, q, rhs, more)
    }

    pub(crate) fn faces_with(
        &mut self,
        u: &mut VectorField<D>,
        q: &mut Field<D>,
        rhs: &mut Field<D>,
        more: &mut Field<D>,
    ) -> Projected {
        let Projection { grid, solver, refine_above, solids, swelling, outside, surface, .. } = self;
        let surface = *surface;
        let lets_go = self.lets_go;
        u.iter_mut().for_each(|u| match lets_go {
            Some((p, _)) => u.set_end_faces_that_press(p),
            None => u.set_end_faces(),
        });
        if let Some(solids) = solids {
            solids.prepare(grid, u, self.pushed);
        }
        u.iter_mut().for_each(|u| u.fill_halo());
        if let (Some(solids), Some(p), Some(surface)) = (solids.as_deref_mut(), lets_go, surface) {
            solids.let_go(grid, u, p, surface.phi);
        }
        for field in [&mut *q, rhs, more] {
            field.relabel(At::Center, grid.pressure_ends());
        }

        let (around, swelling) = (solids.as_deref(), *swelling);
        let isa = self.isa;
        let outflow = |u: &VectorField<D>, outside: &Option<&mut dyn Outside<D>>, out: &mut Field<D>| {
            match around {
                None if swelling.is_none() && outside.is_none() && surface.is_none() => {
                    return divergence_and_sums(isa, u, grid.spacing, out);
                }
                None => divergence(u, grid.spacing, out),
                Some(solids) => divergence_around(u, solids, grid.spacing, out),
            }
            if let Some(rate) = swelling {
                out.par_rows(|row, out| out.iter_mut().zip(rate.row(row)).for_each(|(o, e)| *o -= e));
            }
            if let Some(outside) = outside {
                outside.leave_out(out);
            }
            if let Some(surface) = surface {
                surface.leave_out_air(out);
            }
            Sums::of(isa, out)
        };
        // Speeds, and what is left of the outflow.
        let measure = |u: &VectorField<D>, outside: &Option<&mut dyn Outside<D>>, spare: &mut Field<D>| {
            if around.is_none() && swelling.is_none() && outside.is_none() && surface.is_none() {
                return Speeds::and_divergence(isa, u, grid.spacing);
            }
            (Speeds::of(isa, u), outflow(u, outside, spare))
        };
        // A direct solver works in place.
        let before = outflow(u, outside, if solver.direct().is_some() { &mut *q } else { &mut *rhs });
        // What a direct solve leaves is found below, with what is left of the outflow.
        let (mut solve, dropped) = if let Some(direct) = solver.direct() {
            (SolveReport::NONE, Some(direct.solve_in_place(q)))
        } else if let (Some(outside), Some(space)) = (outside.as_mut(), solver.around_tiles()) {
            outside.solve_around(space, rhs, q, more);
            (SolveReport::NONE, Some(0.0))
        } else if let Some(outside) = outside {
            let wanted = self.tolerance * before.squares.sqrt();
            outside.hold(around, rhs, more);
            // What is held adds to the right side, but must not add to what is left of it.
            let size = ops::dot(rhs, rhs).sqrt();
            let tolerance = if size > 0.0 { wanted / size } else { 1.0 };
            let mut solve = solver.solve(rhs, q, tolerance.clamp(self.tolerance.min(FINEST), self.tolerance));
            // Where what is held is much larger than the divergence, rounding may stop the solver a little above that.
            solve.converged |= solve.residual < 4.0 * FINEST;
            outside.finish(around, q, more);
            (solve, None)
        } else {
            (solver.solve(rhs, q, self.tolerance), None)
        };
        take_gradient(grid, u, q, around, surface);
        if let Some(outside) = outside {
            outside.calm(u);
        }
        let (mut speeds, mut left) = measure(u, outside, rhs);
        if let Some(mean) = dropped {
            solve = SolveReport::of_direct(before.squares, left.squares, mean, grid.cells.iter().product());
        }
        // What is left of a field that was all gradient is compared with what it was.
        let relative = |divergence: f64, speed: f64| {
            let speed = speed.max(before.most() * grid.min_spacing());
            if speed > 0.0 { divergence * grid.min_spacing() / speed } else { 0.0 }
        };
        // Gradients of numbers that grow with the size of the box round; a second round takes that away.
        if let Some(direct) = solver.direct()
            && relative(left.most(), speeds.most()) > *refine_above
        {
            outflow(u, outside, more);
            direct.solve_in_place(more);
            solve.iterations += 1;
            take_gradient(grid, u, more, around, surface);
            let more = &*more;
            q.par_rows(|row, q| q.iter_mut().zip(more.row(row)).for_each(|(q, m)| *q += m));
            q.fill_halo();
            (speeds, left) = measure(u, outside, rhs);
        }
        if let Some(solids) = solids {
            solids.constrain(grid, u);
            speeds = Speeds::of(isa, u);
        }
        Projected {
            solve,
            max_divergence: left.most(),
            relative_divergence: relative(left.most(), speeds.most()),
            total_divergence: left.sum,
            max_speed: speeds.most(),
            cells_per_second: (0..D).map(|a| speeds.most[a] / grid.spacing[a]).fold(0.0, f64::max),
            energy: Some(0.5 * speeds.squares * grid.cell_volume()),
        }
    }
}

impl<const D: usize> FreeSurface<'_, D> {
    /// Sets what is not in the liquid to zero.
    fn leave_out_air(&self, div: &mut Field<D>) {
        div.par_rows(|row, div| {
            for (div, state) in div.iter_mut().zip(self.state.row(row)) {
                if *state != CellState::Fluid {
                    *div = 0.0;
                }
            }
        });
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
        Speeds::from(u.each_ref().map(|u| Sums::with_last(isa, u)))
    }

    fn from(each: [Sums; D]) -> Self {
        Speeds { most: each.map(Sums::most), squares: each.iter().map(|sums| sums.squares).sum() }
    }

    /// With the divergence, in one pass.
    fn and_divergence(isa: Isa, u: &VectorField<D>, spacing: [f64; D]) -> (Self, Sums) {
        let inv_h = spacing.map(|h| (1.0 / h) as Real);
        let of_row = |row: Row<'_, D>| {
            let mut pad = Pad::default();
            let (here, next): ([_; D], _) = (ops::each(|a| u[a].row(row)), ops::above(u, row, &mut pad));
            let mut sums = (Sums::default(), [Sums::default(); D]);
            isa.run(MeasureRow { here, next, inv_h, out: None, sums: &mut sums });
            sums
        };
        let add = |a: Both<D>, b: Both<D>| (a.0.add(b.0), ops::each(|c| a.1[c].add(b.1[c])));
        let (left, mut each) = rows::reduce(u[0].layout(), of_row, add);
        u.iter().zip(&mut each).for_each(|(u, sums)| sums.note_last(u));
        (Speeds::from(each), left)
    }

    fn most(&self) -> f64 {
        self.most.iter().copied().fold(0.0, f64::max)
    }
}

type Both<const D: usize> = (Sums, [Sums; D]);

/// Of the divergence of a row, and of velocities on its lower faces.
struct MeasureRow<'a, const D: usize> {
    here: [&'a [Real]; D],
    next: [&'a [Real]; D],
    inv_h: [Real; D],
    /// Where the divergence goes; if nowhere, velocities are measured, too.
    out: Option<&'a mut [Real]>,
    sums: &'a mut Both<D>,
}

/// `div u` with its sums, in one pass.
fn divergence_and_sums<const D: usize>(isa: Isa, u: &VectorField<D>, spacing: [f64; D], div: &mut Field<D>) -> Sums {
    let inv_h = spacing.map(|h| (1.0 / h) as Real);
    let of_row = |row: Row<'_, D>, [out]: [&mut [Real]; 1]| {
        let mut pad = Pad::default();
        let (here, next): ([_; D], _) = (ops::each(|a| u[a].row(row)), ops::above(u, row, &mut pad));
        let mut sums = (Sums::default(), [Sums::default(); D]);
        isa.run(MeasureRow { here, next, inv_h, out: Some(out), sums: &mut sums });
        sums.0
    };
    rows::for_each_and_reduce([div], of_row, Sums::add)
}

impl<const D: usize> Kernel for MeasureRow<'_, D> {
    #[inline(always)]
    fn run(self) {
        let MeasureRow { here, next, inv_h, out: mut keep, sums } = self;
        let n = here[0].len();
        let mut spare = [0.0; PIECE];
        for begin in (0..n).step_by(PIECE) {
            let len = (n - begin).min(PIECE);
            let measure = keep.is_none();
            let out = keep.as_mut().map_or(&mut spare[..len], |keep| &mut keep[begin..][..len]);
            out.fill(0.0);
            for a in 0..D {
                let (here, next) = (&here[a][begin..][..out.len()], &next[a][begin..][..out.len()]);
                for x in 0..out.len() {
                    out[x] += (next[x] - here[x]) * inv_h[a];
                }
                if measure {
                    sums.1[a].note(here);
                }
            }
            sums.0.note(out);
        }
    }
}

/// `u -= grad q` on all faces that are open, at least in part; fills all ghosts.
fn take_gradient<const D: usize>(
    grid: &Grid<D>,
    u: &mut VectorField<D>,
    q: &mut Field<D>,
    solids: Option<&Solids<D>>,
    surface: Option<FreeSurface<'_, D>>,
) {
    q.fill_halo();
    let closed = solids.map(|s| {
        let near = |row: Row<'_, D>| s.is_near(row);
        Closed { open: s.open(), solid: Some(s.velocity()), near }
    });
    subtract_gradient_around(u, q, grid.spacing, closed);
    if let Some(FreeSurface { phi, .. }) = surface {
        sharpen_gradient(u, q, phi, solids.map(Solids::open), grid.spacing[0]);
    }
    u.iter_mut().for_each(|u| u.fill_halo());
}

/// `u_a -= (q(i + e_a) - q(i - e_a)) / 2 h_a` at the centres. Needs the ghosts of `q`.
pub fn subtract_centered_gradients<const D: usize>(u: &mut VectorField<D>, q: &Field<D>, spacing: [f64; D]) {
    let half_inv_h = spacing.map(|h| (0.5 / h) as Real);
    rows::for_each_with_ghosts(u.each_mut(), |row, u| {
        for (a, u) in u.into_iter().enumerate() {
            let mut pads = [Pad::default(); 2];
            let [pad, other] = &mut pads;
            let (up, down) = (q.up(row, a, pad), q.down(row, a, other));
            for x in 0..u.len() {
                u[x] -= half_inv_h[a] * (up[x] - down[x]);
            }
        }
    });
}

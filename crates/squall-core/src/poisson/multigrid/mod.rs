//! Conjugate gradients preconditioned by multigrid: for boxes with solids or a free surface in them, and for tiles.
//!
//! The equation is `sum over the faces f of cell i of A_f (q_i - q_j) / h^2 = -r_i`, where `A_f` is the open part of a
//! face (Batty, Bertails & Bridson 2007; Ng, Min & Gibou 2009); with open faces only it is the compact Laplacian. Cells
//! all of whose faces are closed are no unknowns, and neither are, on tiles, the cells at the rim: the value is zero
//! there. Air is zero too: on the surface of the liquid, if its distance is given, else in the centres of air cells.
//!
//! With a shift, the equation is `(s + S) x = b`, which is a step of implicit diffusion: see [`crate::diffuse`].
//!
//! The preconditioner is one V-cycle of geometric multigrid, after McAdams, Sifakis & Teran (2010), with these
//! differences: the smoother is Jacobi's method with the factors of the Chebyshev polynomials of the fourth kind
//! (Lottes 2023), which needs no extra work along boundaries; the interpolation gives the share of solid cells to the
//! others; the coarsest level is solved directly. All of it is symmetric, which conjugate gradients need.
//!
//! Around thick objects that stay where they are, transforms of the empty box are the better preconditioner (`transforms.rs`).
//!
//! Rounding: sums are `f64`, all else is the number type of the fields. With `f32` the true residual cannot be brought
//! below about `3e-7` times the cells along an axis, whatever the iteration believes; so it is computed anew at the end.

mod coarsest;
mod level;
mod number;
mod operator;
mod rooms;
mod shape;
mod transfer;
mod transforms;
mod vectors;

pub use number::Number;
pub(crate) use operator::wrap;
pub(crate) use shape::coarser_tiles;

use self::coarsest::Coarsest;
use self::level::Level;
use self::operator::zeros;
use self::rooms::Rooms;
use self::shape::{Around, SMALL, Shape};
use self::transforms::{Precondition, Transforms};
use super::pcg::{Fields, System, Work, clear, dot, pcg, squared};
use super::{Domain, MAX_ITERATIONS, PoissonSolver, Unsuitable};
use crate::Real;
use crate::cancel::CancelToken;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Ends};
use crate::layout::Layout;
use crate::report::SolveReport;
use crate::rows;
use crate::sample::Isa;

/// Factors of the passes of Jacobi's method: `1 / (1 - cos(2 pi j / (2 k + 1)))` for `j = k .. 1` damps all errors with
/// eigenvalues up to 2, which no weights exceed. In reverse after the coarse correction.
const FACTORS: [f64; 3] = [0.526047542, 0.817981903, 2.655970555];

/// Passes on a coarsest level that is not small enough to be solved directly, times [`FACTORS`]. It has a zero at one or
/// two cells' distance everywhere, so that few are enough.
const COARSEST_ROUNDS: usize = 4;

/// Transforms are taken if so many iterations bring a residual down to this: a V-cycle would take one or two more.
const TRIED: u32 = 3;
const SMALL_ENOUGH: f64 = 0.01;

/// Tables of places for interpolation, per cell of a short row.
const TABLE_BYTES: usize = 8;

/// A solver for fields of one layout.
///
/// Set-up ([`Multigrid::set`]) costs about as much as two iterations, so it can follow obstacles that move in every step.
/// Solving allocates nothing. Results do not depend on the number of threads, nor, without transforms, on the instruction set.
pub struct Multigrid<const D: usize, T: Number = Real> {
    spacing: f64,
    levels: Vec<Level<D, T>>,
    coarsest: Coarsest,
    rooms: Rooms,
    /// The vectors of the iteration. The finest level has no right side and no scratch of its own: it borrows these.
    work: Option<Work<D, 1, T>>,
    /// Another preconditioner, and whether it is better than a V-cycle around the present solids.
    transforms: Option<Box<dyn Precondition<D, T>>>,
    by_transforms: bool,
    cancel: CancelToken,
}

/// What a solver for values of diffusion is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kind<const D: usize> {
    pub ends: [Ends; D],
    /// The axis across whose faces the values live; `None` at centres.
    pub own: Option<usize>,
    /// One level for Jacobi's method, or all of them.
    pub all_levels: bool,
}

impl<const D: usize, T: Number> Multigrid<D, T> {
    /// A solver for fields on a box with these ends (prescribed values count as zero), or on tiles, where the ends do not
    /// matter. All faces are open at first.
    pub fn new(layout: &Layout<D>, spacing: f64, ends: [Ends; D]) -> Result<Self, OutOfMemory> {
        Multigrid::with_isa(layout, spacing, ends, Isa::best())
    }

    /// A solver that runs on a certain instruction set. The bits are the same on all of them.
    pub fn with_isa(layout: &Layout<D>, spacing: f64, ends: [Ends; D], isa: Isa) -> Result<Self, OutOfMemory> {
        Multigrid::of_kind(layout, spacing, Kind { ends, own: None, all_levels: true }, isa)
    }

    pub(crate) fn of_kind(layout: &Layout<D>, spacing: f64, kind: Kind<D>, isa: Isa) -> Result<Self, OutOfMemory> {
        let mut shapes = vec![Shape::finest(layout, kind.ends, kind.own)];
        while let (true, Some(coarser)) = (kind.all_levels, shapes.last().and_then(Shape::coarser)) {
            shapes.push(coarser);
        }
        let mut levels = Vec::with_capacity(shapes.len());
        for (l, shape) in shapes.iter().enumerate() {
            levels.push(Level::new(shape.clone(), shapes.get(l + 1), isa)?);
        }
        let lent = || zeros(&Layout::dense([1; D]), At::Center);
        let finest = &mut levels[0];
        let r = [std::mem::replace(&mut finest.b, lent()?)];
        let t = [std::mem::replace(&mut finest.scratch, lent()?)];
        let work = Some(Work { r, t, p: [zeros(layout, At::Center)?], used: Vec::new(), isa });
        let mut solver = Multigrid {
            spacing,
            levels,
            coarsest: Coarsest::default(),
            rooms: Rooms::default(),
            work,
            transforms: None,
            by_transforms: false,
            cancel: CancelToken::default(),
        };
        solver.set(Domain::default());
        Ok(solver)
    }

    /// [`Multigrid::set`] with nothing but open parts of faces.
    pub fn set_open_faces(&mut self, open: Option<&VectorField<D, T>>) {
        self.set(Domain { open, ..Domain::default() });
    }

    /// Says what is where: see [`Domain`]. Takes away the shift, if there was one.
    pub fn set(&mut self, domain: Domain<'_, D, T>) {
        domain.check(self.layout());
        let Multigrid { levels, work, .. } = self;
        let Work { r: [r], t: [t], .. } = work.as_mut().expect("not solving");
        lend(&mut levels[0], r, t);
        levels[0].set_finest(domain);
        for l in 1..levels.len() {
            let (fine, coarse) = levels.split_at_mut(l);
            coarse[0].coarsen(&mut fine[l - 1]);
        }
        for (l, level) in levels.iter_mut().enumerate() {
            level.finish(l == 0, domain.phi.is_some());
        }
        for l in 1..levels.len() {
            let (fine, coarse) = levels.split_at_mut(l);
            coarse[0].set_transfer(&mut fine[l - 1]);
        }
        levels.last_mut().expect("at least one level").set_plain();
        self.rooms.find(&mut levels[0]);
        lend(&mut levels[0], r, t);
        self.set_coarsest();
        self.clear_vectors();
        self.by_transforms = false;
    }

    /// Tries the other preconditioner. What it finds depends on nothing but the open faces.
    fn transforms_are_better(&mut self) -> bool {
        let Level { operator, shape, .. } = &self.levels[0];
        let (Some(transforms), Around::Sides(sides)) = (&mut self.transforms, shape.around) else { return false };
        if !transforms.set(operator, sides) {
            return false;
        }
        let new = || zeros(&operator.layout, At::Center);
        let (Ok(mut rhs), Ok(mut q)) = (new(), new()) else { return false };
        transforms.trial(&mut rhs);
        self.by_transforms = true;
        let tried = self.solve_from(&rhs, &mut q, 0.0, TRIED);
        tried.residual < SMALL_ENOUGH
    }

    /// Makes all vectors zero, where no unknown is, too: there nobody writes to them.
    fn clear_vectors(&mut self) {
        for level in &mut self.levels {
            [&mut level.x, &mut level.b, &mut level.scratch].into_iter().for_each(clear);
        }
        let Work { r, p, t, used, .. } = self.work.as_mut().expect("not solving");
        [r, p, t].into_iter().flatten().for_each(clear);
        used.clone_from(&self.levels[0].operator.used);
    }

    fn set_coarsest(&mut self) {
        let last = self.levels.last_mut().expect("at least one level");
        if last.is_small() {
            self.coarsest.set(last);
        }
    }

    /// Solves `(shift + S) x = b` from now on, `S` being `-h^2 lap`.
    pub(crate) fn set_shift(&mut self, shift: f64) {
        let mut shift_here = shift;
        for level in &mut self.levels {
            level.set_shift(shift_here);
            // In units of the cell size, squared.
            shift_here *= 4.0;
        }
        self.set_coarsest();
    }

    /// The layout of the fields it solves for.
    pub fn layout(&self) -> &Layout<D> {
        &self.levels[0].shape.layout
    }

    /// Solves `lap q = r` from the values in `q` on, until the 2-norm of the residual is at most `tolerance` times that of
    /// `r`. Where no unknown is, `q` becomes zero; in rooms that nothing can leave, the mean of `r` is dropped and that of
    /// `q` becomes zero. Ghosts are neither read nor written.
    ///
    /// If the tolerance is not reached, `q` holds the last iterate: conjugate gradients bring the error in the energy
    /// norm down in every iteration, so it is the best.
    pub fn solve_from(
        &mut self,
        rhs: &Field<D, T>,
        q: &mut Field<D, T>,
        tolerance: f64,
        max_iterations: u32,
    ) -> SolveReport {
        self.solve_scaled(rhs, -self.spacing * self.spacing, q, tolerance, max_iterations, false)
    }

    /// Solves `(shift + S) x = scale rhs`; with Jacobi's method instead of a V-cycle, if asked to.
    pub(crate) fn solve_scaled(
        &mut self,
        rhs: &Field<D, T>,
        scale: f64,
        x: &mut Field<D, T>,
        tolerance: f64,
        max_iterations: u32,
        jacobi: bool,
    ) -> SolveReport {
        let equation = Equation { solver: self, rhs, scale: T::of(scale), imbalance: 0.0, jacobi, from_zero: false };
        equation.solve(x, tolerance, max_iterations)
    }

    /// Takes from a field its mean over each room that nothing can leave.
    pub(crate) fn remove_means(&mut self, field: &mut Field<D, T>) {
        self.rooms.remove_means(field);
    }

    /// Zeros where no unknown is.
    pub(crate) fn keep_unknowns(&self, field: &mut Field<D, T>) {
        let inverse = &self.levels[0].operator.inverse;
        field.par_rows(|row, out| {
            for (out, &inverse) in out.iter_mut().zip(inverse.row(row)) {
                *out = if inverse > T::ZERO { *out } else { T::ZERO };
            }
        });
    }

    /// `out = lap_A q` in the unknowns, 0 elsewhere. What `q` holds elsewhere counts as 0.
    pub fn laplacian(&mut self, q: &Field<D, T>, out: &mut Field<D, T>) {
        let operator = &self.levels[0].operator;
        let p = &mut self.work.as_mut().expect("not solving").p[0];
        p.par_rows(|row, p| operator.unknowns(row, q.row(row), p));
        operator.join(p);
        clear(out);
        operator.apply(p, out);
        let scale = T::of(-1.0 / (self.spacing * self.spacing));
        out.par_rows(|_, out| out.iter_mut().for_each(|v| *v = scale * *v));
    }

    /// One V-cycle from zero: `q` becomes about what solves `lap_A q = r`. As a linear map it is symmetric and negative, as
    /// the inverse of the Laplacian is.
    pub fn v_cycle(&mut self, rhs: &Field<D, T>, q: &mut Field<D, T>) {
        let mut work = self.work.take().expect("not solving");
        let scale = T::of(-self.spacing * self.spacing);
        let mut equation = Equation { solver: self, rhs, scale, imbalance: 0.0, jacobi: false, from_zero: true };
        equation.start(&mut work.r[0]);
        equation.precondition(&mut work.r, &mut work.t);
        let z = &work.t[0];
        q.par_rows(|row, q| q.copy_from_slice(z.row(row)));
        self.work = Some(work);
        self.rooms.remove_means(q);
    }

    /// About how many bytes a solver for this many cells holds, without building anything; saturates instead of
    /// overflowing.
    pub fn estimate_bytes(cells: u64) -> u64 {
        // Weights, inverse, shares, four vectors; some tables for each row, as short as rows are on tiles; and the coarser
        // levels.
        let per_cell = (D + 6) * size_of::<T>() + TABLE_BYTES;
        let levels = 1u64 << D;
        cells.saturating_mul(per_cell as u64).saturating_mul(levels) / (levels - 1)
    }

    /// How it solves, for people.
    pub fn describe(&self) -> String {
        let of = |level: &Level<D, T>| {
            let cells = level.shape.layout.cells().map(|n| n.to_string()).join(" x ");
            match level.shape.layout.as_tiles() {
                Some(tiles) => format!("{} tiles of {cells}", tiles.coords().len()),
                None => cells,
            }
        };
        let (first, last) = (&self.levels[0], self.levels.last().expect("at least one level"));
        if self.by_transforms {
            return format!("conjugate gradients with transforms of {} cells", of(first));
        }
        format!("conjugate gradients with multigrid: {} levels, {} to {} cells", self.levels.len(), of(first), of(last))
    }
}

impl<const D: usize> Multigrid<D> {
    /// Takes the transforms of the empty box for a preconditioner, where they are better ([`PoissonSolver::stay`]): around thick objects,
    /// if the numbers of cells have small factors.
    pub fn with_transforms(mut self, ends: [Ends; D]) -> Self {
        let Level { operator, shape, .. } = &self.levels[0];
        let transforms = Transforms::new(&shape.layout, ends, operator.isa);
        self.transforms = transforms.map(|t| Box::new(t) as Box<dyn Precondition<D, Real>>);
        self
    }
}

impl<const D: usize> PoissonSolver<D> for Multigrid<D> {
    fn set_cancel(&mut self, token: &CancelToken) {
        self.cancel = token.clone();
    }

    fn solve(&mut self, rhs: &mut Field<D>, q: &mut Field<D>, tolerance: f64) -> SolveReport {
        clear(q);
        let scale = (-self.spacing * self.spacing) as Real;
        let equation = Equation { solver: self, rhs, scale, imbalance: 0.0, jacobi: false, from_zero: true };
        equation.solve(q, tolerance, MAX_ITERATIONS)
    }

    fn improve(&mut self, rhs: &mut Field<D>, q: &mut Field<D>, tolerance: f64) -> SolveReport {
        self.solve_from(rhs, q, tolerance, MAX_ITERATIONS)
    }

    fn set(&mut self, domain: Domain<'_, D>) -> Result<(), Unsuitable> {
        Multigrid::set(self, domain);
        Ok(())
    }

    fn stay(&mut self) {
        self.by_transforms = self.transforms_are_better();
    }

    fn describe(&self) -> String {
        Multigrid::describe(self)
    }
}

/// Lends the finest level the vectors that it needs, or takes them back.
fn lend<const D: usize, T>(finest: &mut Level<D, T>, b: &mut Field<D, T>, scratch: &mut Field<D, T>) {
    std::mem::swap(&mut finest.b, b);
    std::mem::swap(&mut finest.scratch, scratch);
}

/// `(shift + S) x = scale rhs` in the unknowns, without the means over closed rooms.
struct Equation<'a, const D: usize, T: Number> {
    solver: &'a mut Multigrid<D, T>,
    rhs: &'a Field<D, T>,
    scale: T,
    /// The part of the right side that was dropped, relative to it.
    imbalance: f64,
    /// Whether the diagonal is preconditioner enough.
    jacobi: bool,
    /// Whether all unknowns are zero, before the first iteration.
    from_zero: bool,
}

impl<const D: usize, T: Number> Equation<'_, D, T> {
    fn solve(mut self, x: &mut Field<D, T>, tolerance: f64, max_iterations: u32) -> SolveReport {
        let layout = self.solver.layout();
        assert!(self.rhs.layout() == layout && x.layout() == layout, "fields of the solver's layout");
        let mut work = self.solver.work.take().expect("given back after each solve");
        let mut report = pcg(&mut self, std::array::from_mut(x), &mut work, tolerance, max_iterations);
        report.imbalance = self.imbalance;
        self.solver.work = Some(work);
        if !report.converged {
            // What is not finite must not stay anywhere.
            self.solver.clear_vectors();
        }
        self.solver.rooms.remove_means(x);
        report
    }

    /// Writes the right side; returns its sum of squares.
    fn start(&mut self, b: &mut Field<D, T>) -> f64 {
        let (scale, rhs, operator) = (self.scale, self.rhs, &self.solver.levels[0].operator);
        b.par_rows(|row, b| {
            operator.unknowns(row, rhs.row(row), b);
            b.iter_mut().for_each(|b| *b = scale * *b);
        });
        let all = squared(b);
        if self.solver.rooms.is_empty() {
            return all;
        }
        let dropped = self.solver.rooms.remove_means(b);
        self.imbalance = if all > 0.0 { (dropped / all).sqrt() } else { 0.0 };
        // What is left of a constant is rounding.
        let left = squared(b);
        if left > 1e-12 * all || !left.is_finite() { left } else { 0.0 }
    }
}

impl<const D: usize, T: Number> System<D, 1, T> for Equation<'_, D, T> {
    fn goes_on(&self) -> bool {
        !self.solver.cancel.is_cancelled()
    }

    fn residual(
        &mut self,
        [x]: &mut Fields<D, 1, T>,
        [r]: &mut Fields<D, 1, T>,
        [spare]: &mut Fields<D, 1, T>,
    ) -> (f64, f64) {
        if std::mem::take(&mut self.from_zero) {
            let size = self.start(r);
            return (size, size);
        }
        let size = self.start(spare);
        let Level { operator, x: copy, .. } = &mut self.solver.levels[0];
        // The ghosts of `x` are not ours to write.
        rows::for_each([x, &mut *copy], |row, [x, copy]| {
            operator.unknowns(row, x, copy);
            x.copy_from_slice(copy);
        });
        operator.join(copy);
        (operator.residual(copy, spare, r), size)
    }

    fn precondition(&mut self, [r]: &mut Fields<D, 1, T>, [z]: &mut Fields<D, 1, T>) -> f64 {
        let Multigrid { levels, coarsest, transforms, by_transforms, .. } = &mut *self.solver;
        if self.jacobi {
            return levels[0].operator.divide(r, z);
        }
        if let (Some(transforms), true) = (transforms, *by_transforms) {
            return transforms.apply(r, z);
        }
        lend(&mut levels[0], r, z);
        let rz = v_cycle(levels, coarsest);
        // The result is in `x`; what was lent as scratch takes its place.
        let finest = &mut levels[0];
        std::mem::swap(&mut finest.x, &mut finest.scratch);
        lend(finest, r, z);
        rz
    }

    fn apply(&mut self, [p]: &mut Fields<D, 1, T>, [ap]: &mut Fields<D, 1, T>) -> f64 {
        let operator = &self.solver.levels[0].operator;
        operator.join(p);
        operator.apply(p, ap)
    }
}

impl<const D: usize, T: Number> Level<D, T> {
    fn is_small(&self) -> bool {
        self.shape.layout.as_tiles().is_none() && self.shape.layout.cell_count() <= SMALL
    }

    /// One pass of the smoother; returns the sum of `b x`.
    fn smooth(&mut self, factor: f64) {
        let Level { operator, x, b, scratch, .. } = self;
        operator.join(x);
        operator.smooth(factor, x, b, scratch);
        std::mem::swap(x, scratch);
    }

    /// The passes before the coarse correction, from zero.
    fn smooth_before(&mut self) {
        self.operator.smooth_zero(FACTORS[0], &self.b, &mut self.x);
        for &factor in &FACTORS[1..] {
            self.smooth(factor);
        }
    }

    /// The passes after the coarse correction; returns the sum of `b x`.
    fn smooth_after(&mut self) -> f64 {
        for &factor in FACTORS[1..].iter().rev() {
            self.smooth(factor);
        }
        let Level { operator, x, b, scratch, .. } = self;
        operator.join(x);
        let sum = operator.smooth_dot(FACTORS[0], x, b, scratch);
        std::mem::swap(x, scratch);
        sum
    }
}

/// `x = M b` on the first of some levels; returns the sum of `b x`.
fn v_cycle<const D: usize, T: Number>(levels: &mut [Level<D, T>], coarsest: &mut Coarsest) -> f64 {
    let Some((level, coarser)) = levels.split_first_mut() else { return 0.0 };
    let Some(below) = coarser.first_mut() else {
        if level.is_small() {
            coarsest.solve(level);
        } else {
            level.smooth_before();
            for _ in 1..COARSEST_ROUNDS {
                level.smooth_after();
                for factor in FACTORS {
                    level.smooth(factor);
                }
            }
            level.smooth_after();
        }
        let (x, b) = (&level.x, &level.b);
        return rows::reduce(x.layout(), |row| dot(x.row(row), b.row(row)), |a, b| a + b);
    };
    level.smooth_before();
    let Level { operator, x, b, scratch, transfer, .. } = &mut *level;
    let transfer = transfer.as_ref().expect("there is a coarser level");
    operator.join(x);
    operator.shared_residual(x, b, scratch);
    operator::wrap(scratch, operator.joined, below.shape.layout.cells().map(|n| 2 * n));
    transfer.restrict(scratch, &below.operator, &mut below.b);

    v_cycle(coarser, coarsest);

    let below = &mut coarser[0];
    below.operator.join(&mut below.x);
    let transfer = level.transfer.as_ref().expect("there is a coarser level");
    transfer.prolong(&below.x, &level.operator, &mut level.x);
    level.smooth_after()
}

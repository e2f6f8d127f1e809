//! Conjugate gradients preconditioned by multigrid: for boxes with obstacles in them, and for tiles.
//!
//! The equation is `sum over the faces f of cell i of A_f (q_i - q_j) / h^2 = -r_i`, where `A_f` is the open part of a
//! face (Batty, Bertails & Bridson 2007; Ng, Min & Gibou 2009); with open faces only it is the compact Laplacian. Cells
//! all of whose faces are closed are no unknowns, and neither are, on tiles, the cells at the rim: the value is zero
//! there.
//!
//! The preconditioner is one V-cycle of geometric multigrid, after McAdams, Sifakis & Teran (2010), with these
//! differences: the smoother is Jacobi's method with the factors of the Chebyshev polynomials of the fourth kind
//! (Lottes 2023), which needs no extra work along boundaries; the interpolation gives the share of solid cells to the
//! others; the coarsest level is solved directly. All of it is symmetric, which conjugate gradients need.
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
mod vectors;

pub use number::Number;

use self::coarsest::Coarsest;
use self::level::Level;
use self::operator::{dot, zeros};
use self::rooms::Rooms;
use self::shape::{SMALL, Shape};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Ends};
use crate::layout::Layout;
use crate::report::SolveReport;
use crate::rows;

/// Factors of the passes of Jacobi's method: `1 / (1 - cos(2 pi j / (2 k + 1)))` for `j = k .. 1` damps all errors with
/// eigenvalues up to 2, which no weights exceed. In reverse after the coarse correction.
const FACTORS: [f64; 3] = [0.526047542, 0.817981903, 2.655970555];

/// Passes on a coarsest level that is not small enough to be solved directly, times [`FACTORS`]. It has a zero at one or
/// two cells' distance everywhere, so that few are enough.
const COARSEST_ROUNDS: usize = 4;

/// Tables of places for interpolation, per cell of a short row.
const TABLE_BYTES: usize = 8;

/// A solver for fields of one layout.
///
/// Set-up ([`Multigrid::set_open_faces`]) costs about as much as two iterations, so it can follow obstacles that move in
/// every step. Solving allocates nothing. Results do not depend on the number of threads.
pub struct Multigrid<const D: usize, T: Number = Real> {
    spacing: f64,
    levels: Vec<Level<D, T>>,
    coarsest: Coarsest,
    rooms: Rooms,
    direction: Field<D, T>,
}

impl<const D: usize, T: Number> Multigrid<D, T> {
    /// A solver for fields on a box with these ends (prescribed values count as zero), or on tiles, where the ends do not
    /// matter. All faces are open at first.
    pub fn new(layout: &Layout<D>, spacing: f64, ends: [Ends; D]) -> Result<Self, OutOfMemory> {
        let mut shapes = vec![Shape::finest(layout, ends)];
        while let Some(coarser) = shapes.last().and_then(Shape::coarser) {
            shapes.push(coarser);
        }
        let mut levels = Vec::with_capacity(shapes.len());
        for (l, shape) in shapes.iter().enumerate() {
            levels.push(Level::new(shape.clone(), shapes.get(l + 1))?);
        }
        let direction = zeros(layout, At::Center)?;
        let mut solver =
            Multigrid { spacing, levels, coarsest: Coarsest::default(), rooms: Rooms::default(), direction };
        solver.set_open_faces(None);
        Ok(solver)
    }

    /// Says which part of each face is open, from 0 to 1, in staggered fields of the solver's layout; on a box their last
    /// faces lie behind the cells. `None`: all of it.
    pub fn set_open_faces(&mut self, open: Option<&VectorField<D, T>>) {
        if let Some(open) = open {
            assert!(open.iter().all(|f| f.layout() == self.layout()), "the solver is for fields of another layout");
        }
        self.levels[0].set_finest(open);
        for l in 1..self.levels.len() {
            let (fine, coarse) = self.levels.split_at_mut(l);
            coarse[0].set_coarse(&mut fine[l - 1]);
        }
        let last = self.levels.last_mut().expect("at least one level");
        last.set_plain();
        if last.is_small() {
            self.coarsest.set(last);
            // It held what each cell is; the direct solution is written to the unknowns alone.
            clear(&mut last.x);
        }
        self.rooms.find(&mut self.levels[0]);
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
    pub fn solve(
        &mut self,
        rhs: &Field<D, T>,
        q: &mut Field<D, T>,
        tolerance: f64,
        max_iterations: u32,
    ) -> SolveReport {
        assert!(rhs.layout() == self.layout() && q.layout() == self.layout(), "fields of the solver's layout");
        let mut report = SolveReport::default();
        let size = self.start(rhs, &mut report);
        if size == 0.0 || !size.is_finite() {
            clear(q);
            report.residual = size;
            report.converged = size == 0.0;
            return report;
        }
        let mut residual = self.subtract_guess(q).sqrt() / size;
        if residual > 1.0 || residual.is_nan() {
            // Nothing is a better guess.
            clear(q);
            self.start(rhs, &mut report);
            residual = 1.0;
        }
        // The residual that the iteration carries along drifts away from the true one. When it is small enough, but the
        // true one is not, another round may help, or rounding is in the way.
        loop {
            let before = residual;
            if residual > tolerance && report.iterations < max_iterations {
                let limit = tolerance * size;
                report.iterations += self.iterate(q, limit * limit, max_iterations - report.iterations);
                self.start(rhs, &mut report);
                residual = self.subtract_guess(q).sqrt() / size;
            }
            report.converged = residual <= tolerance;
            let goes_on = residual < 0.5 * before && report.iterations < max_iterations;
            if report.converged || !goes_on {
                break;
            }
        }
        if residual.is_nan() {
            // Numbers too large to be squared.
            clear(q);
            residual = 1.0;
        }
        self.rooms.remove_means(q);
        report.residual = residual;
        report
    }

    /// `out = lap_A q` in the unknowns, 0 elsewhere. What `q` holds elsewhere counts as 0.
    pub fn laplacian(&mut self, q: &Field<D, T>, out: &mut Field<D, T>) {
        let operator = &self.levels[0].operator;
        let p = &mut self.direction;
        p.par_rows(|row, p| operator.unknowns(row, q.row(row), p));
        operator.join(p);
        operator.apply(p, out);
        let scale = T::of(-1.0 / (self.spacing * self.spacing));
        out.par_rows(|_, out| out.iter_mut().for_each(|v| *v = scale * *v));
    }

    /// One V-cycle from zero: `q` becomes about what solves `lap_A q = r`. As a linear map it is symmetric and negative, as
    /// the inverse of the Laplacian is.
    pub fn v_cycle(&mut self, rhs: &Field<D, T>, q: &mut Field<D, T>) {
        self.start(rhs, &mut SolveReport::default());
        v_cycle(&mut self.levels, &mut self.coarsest);
        let z = &self.levels[0].x;
        q.par_rows(|row, q| q.copy_from_slice(z.row(row)));
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
        format!("conjugate gradients with multigrid: {} levels, {} to {} cells", self.levels.len(), of(first), of(last))
    }

    /// `b = -h^2 r` in the unknowns, without its means; returns its norm.
    fn start(&mut self, rhs: &Field<D, T>, report: &mut SolveReport) -> f64 {
        let scale = T::of(-self.spacing * self.spacing);
        let Level { operator, b, .. } = &mut self.levels[0];
        b.par_rows(|row, b| {
            operator.unknowns(row, rhs.row(row), b);
            b.iter_mut().for_each(|b| *b = scale * *b);
        });
        let squared = self::squared(b);
        if self.rooms.is_empty() {
            return squared.sqrt();
        }
        let dropped = self.rooms.remove_means(b);
        report.imbalance = if squared > 0.0 { (dropped / squared).sqrt() } else { 0.0 };
        // What is left of a constant is rounding.
        let left = self::squared(b);
        if left > 1e-12 * squared || !left.is_finite() { left.sqrt() } else { 0.0 }
    }

    /// Zeroes `q` where no unknown is and takes `S q` from `b`; returns the sum of squares of `b`.
    fn subtract_guess(&mut self, q: &mut Field<D, T>) -> f64 {
        let Level { operator, b, scratch, .. } = &mut self.levels[0];
        let p = &mut self.direction;
        rows::for_each([&mut *q, &mut *p], |row, [q, p]| {
            operator.unknowns(row, q, p);
            q.copy_from_slice(p);
        });
        operator.join(p);
        let squared = operator.residual(p, b, scratch);
        std::mem::swap(b, scratch);
        squared
    }

    /// Preconditioned conjugate gradients for the residual in `b`, until its sum of squares is at most `limit`. Returns
    /// the number of iterations.
    fn iterate(&mut self, q: &mut Field<D, T>, limit: f64, max_iterations: u32) -> u32 {
        let mut rz_before = 0.0;
        for iteration in 0..max_iterations {
            // z = M r, in `x`.
            let rz = v_cycle(&mut self.levels, &mut self.coarsest);
            let beta = T::of(rz / rz_before);
            rz_before = rz;

            let Level { operator, x: z, b: r, scratch: sp, .. } = &mut self.levels[0];
            let p = &mut self.direction;
            operator.advance(p, z, if iteration == 0 { None } else { Some(beta) });
            operator.join(p);
            let alpha = rz / operator.apply(p, sp);
            if !(alpha.is_finite() && rz > 0.0) {
                return iteration;
            }
            let squared = operator.step(T::of(alpha), p, sp, q, r);
            if squared <= limit || squared.is_nan() {
                return iteration + 1;
            }
        }
        max_iterations
    }
}

/// Zeros in all cells.
fn clear<const D: usize, T: Number>(field: &mut Field<D, T>) {
    field.par_rows(|_, values| values.fill(T::ZERO));
}

/// The sum of squares.
fn squared<const D: usize, T: Number>(field: &Field<D, T>) -> f64 {
    rows::reduce(field.layout(), |row| dot(field.row(row), field.row(row)), |a, b| a + b)
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
    transfer.restrict(scratch, &mut below.b);

    v_cycle(coarser, coarsest);

    let below = &mut coarser[0];
    below.operator.join(&mut below.x);
    let transfer = level.transfer.as_ref().expect("there is a coarser level");
    transfer.prolong(&below.x, &level.operator, &mut level.x);
    level.smooth_after()
}

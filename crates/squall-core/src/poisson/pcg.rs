//! Conjugate gradients with a preconditioner (Hestenes & Stiefel 1952), for `A x = b` over `K` fields that may be coupled.
//!
//! ```text
//! z = M r        beta = (r, z) / (r, z)_before        p = z + beta p
//! alpha = (r, z) / (p, A p)        x += alpha p        r -= alpha A p
//! ```
//!
//! `A` has to be symmetric and positive, at least on what `b` can be, and `M` like its inverse. Sums are `f64` in a fixed
//! order, so that the bits do not depend on the number of threads. What `A` cannot see (constants in closed rooms) is the
//! business of who owns it: `b` must have none of it, and `x` may be left with some.

use super::multigrid::Number;
use crate::field::{Field, OutOfMemory};
use crate::layout::Walk;
use crate::ops::lanes_sum;
use crate::report::SolveReport;
use crate::rows::{self, Span};
use crate::sample::{Isa, Kernel};

/// `K` fields of one layout.
pub type Fields<const D: usize, const K: usize, T> = [Field<D, T>; K];

/// An equation `A x = b` and something like the inverse of `A`. Where no unknown is, all vectors are zero.
pub trait System<const D: usize, const K: usize, T> {
    /// `r = b - A x`, with what `x` holds where no unknown is counted as zero and set to zero. Returns the sums of squares
    /// of `r` and of `b`. `spare` may hold anything, before and after.
    fn residual(&mut self, x: &mut Fields<D, K, T>, r: &mut Fields<D, K, T>, spare: &mut Fields<D, K, T>)
    -> (f64, f64);

    /// `z = M r`, whatever `z` held; returns the sum of `r z`. May move the memory of `r`, but not change it.
    fn precondition(&mut self, r: &mut Fields<D, K, T>, z: &mut Fields<D, K, T>) -> f64;

    /// `ap = A p`; returns the sum of `p ap`. May write ghosts of `p`.
    fn apply(&mut self, p: &mut Fields<D, K, T>, ap: &mut Fields<D, K, T>) -> f64;

    /// Asked in each iteration with the sum of `r M r`, which is about the square of the error in the energy norm: `true` ends them, once
    /// `M r`, which is known by then, has been added to `x`, and the equation counts as solved.
    fn is_enough(&mut self, _rz: f64) -> bool {
        false
    }

    /// Asked before each iteration: `false` ends them.
    fn goes_on(&self) -> bool {
        true
    }
}

/// The vectors of an iteration.
pub struct Work<const D: usize, const K: usize, T> {
    /// The residual.
    pub r: Fields<D, K, T>,
    /// The direction.
    pub p: Fields<D, K, T>,
    /// `z`, then `A p`.
    pub t: Fields<D, K, T>,
    /// Of each row of a box where unknowns are, if that is known: all vectors are zero elsewhere.
    pub(crate) used: Vec<Span>,
    /// What the passes over vectors run on.
    pub isa: Isa,
}

impl<const D: usize, const K: usize, T: Number> Work<D, K, T> {
    /// Vectors like `x`.
    pub fn like(x: &Fields<D, K, T>, isa: Isa) -> Result<Self, OutOfMemory> {
        let new = || -> Result<Fields<D, K, T>, OutOfMemory> {
            let fields = x.iter().map(Field::like).collect::<Result<Vec<_>, _>>()?;
            Ok(fields.try_into().unwrap_or_else(|_| unreachable!("as many as there were")))
        };
        Ok(Work { r: new()?, p: new()?, t: new()?, used: Vec::new(), isa })
    }

    /// Says where unknowns are, and makes all vectors zero.
    pub(crate) fn begin(&mut self, used: &[Span]) {
        self.used.clear();
        self.used.extend_from_slice(used);
        self.r.iter_mut().chain(&mut self.p).chain(&mut self.t).for_each(|v| v.fill(T::ZERO));
    }
}

/// Solves `A x = b` from the values in `x` on, until the 2-norm of the residual is at most `tolerance` times that of `b`.
///
/// The residual that the iteration carries along drifts away from the true one by rounding, so the true one is computed at
/// the end, unless the system said that it is enough; that is the one reported. If it is not small enough yet, another round is made, unless the last one helped
/// little: then rounding is in the way. Whatever is not finite ends the iteration, leaves `x` zero and is reported
/// as not converged.
pub fn pcg<const D: usize, const K: usize, T: Number>(
    system: &mut impl System<D, K, T>,
    x: &mut Fields<D, K, T>,
    work: &mut Work<D, K, T>,
    tolerance: f64,
    max_iterations: u32,
) -> SolveReport {
    let mut report = SolveReport::default();
    let (mut squared, size) = system.residual(x, &mut work.r, &mut work.t);
    if size == 0.0 || !size.is_finite() {
        x.iter_mut().for_each(clear);
        return SolveReport { residual: size, converged: size == 0.0, ..report };
    }
    if squared > size || squared.is_nan() {
        // Nothing is a better guess.
        x.iter_mut().for_each(clear);
        squared = system.residual(x, &mut work.r, &mut work.t).0;
    }
    let mut residual = (squared / size).sqrt();
    loop {
        let before = residual;
        if residual > tolerance && report.iterations < max_iterations {
            let limit = tolerance * tolerance * size;
            let (iterations, ended) = iterate(system, x, work, limit, max_iterations - report.iterations);
            report.iterations += iterations;
            if ended {
                report.converged = true;
                break;
            }
            let (squared, size) = system.residual(x, &mut work.r, &mut work.t);
            residual = (squared / size).sqrt();
        }
        report.converged = residual <= tolerance;
        let goes_on = residual < 0.5 * before && report.iterations < max_iterations;
        if report.converged || !goes_on {
            break;
        }
    }
    if residual.is_nan() {
        // Numbers too large to be squared.
        x.iter_mut().for_each(clear);
        residual = 1.0;
    }
    report.residual = residual;
    report
}

/// Iterates from the residual in `r` on, until its sum of squares is at most `limit`. Returns the number of iterations, and whether the
/// system says that it is enough.
fn iterate<const D: usize, const K: usize, T: Number>(
    system: &mut impl System<D, K, T>,
    x: &mut Fields<D, K, T>,
    work: &mut Work<D, K, T>,
    limit: f64,
    max_iterations: u32,
) -> (u32, bool) {
    let Work { r, p, t, used, isa } = work;
    let mut rz_before = 0.0;
    for iteration in 0..max_iterations {
        if !system.goes_on() {
            return (iteration, false);
        }
        let rz = system.precondition(r, t);
        if system.is_enough(rz) {
            for (x, z) in x.iter_mut().zip(&*t) {
                advance(*isa, used, x, z, Some(T::ONE));
            }
            return (iteration, true);
        }
        let beta = T::of(rz / rz_before);
        rz_before = rz;
        for (p, z) in p.iter_mut().zip(&*t) {
            advance(*isa, used, p, z, if iteration == 0 { None } else { Some(beta) });
        }
        let alpha = rz / system.apply(p, t);
        if !(alpha.is_finite() && rz > 0.0) {
            return (iteration, false);
        }
        let mut squared = 0.0;
        for k in 0..K {
            squared += step((*isa, used), T::of(alpha), &p[k], &t[k], &mut x[k], &mut r[k]);
        }
        if squared <= limit || squared.is_nan() {
            return (iteration + 1, false);
        }
    }
    (max_iterations, false)
}

/// Zeros in all cells.
pub(crate) fn clear<const D: usize, T: Number>(field: &mut Field<D, T>) {
    field.par_rows(|_, values| values.fill(T::ZERO));
}

/// The sum of squares.
pub(crate) fn squared<const D: usize, T: Number>(field: &Field<D, T>) -> f64 {
    rows::reduce(field.layout(), |row| dot(field.row(row), field.row(row)), |a, b| a + b)
}

/// The sum of `a b` in eight fixed lanes.
#[inline(always)]
pub(super) fn dot<T: Number>(a: &[T], b: &[T]) -> f64 {
    let b = &b[..a.len()];
    lanes_sum(a.len(), |i| a[i].to_f64() * b[i].to_f64())
}

/// `p = z + beta p`; without `beta`, `p = z`, whatever was there.
fn advance<const D: usize, T: Number>(isa: Isa, used: &[Span], p: &mut Field<D, T>, z: &Field<D, T>, beta: Option<T>) {
    let layout = p.layout().clone();
    rows::blocks([p], |rows, base, [p]| {
        isa.run(Advance { walk: Walk::new(&layout, rows), used, beta, z: &z.data, p, base });
        0.0
    });
}

/// `x += alpha p`, `r -= alpha ap`; returns the sum of squares of `r`.
fn step<const D: usize, T: Number>(
    (isa, used): (Isa, &[Span]),
    alpha: T,
    p: &Field<D, T>,
    ap: &Field<D, T>,
    x: &mut Field<D, T>,
    r: &mut Field<D, T>,
) -> f64 {
    let layout = x.layout().clone();
    rows::blocks([x, r], |rows, base, [x, r]| {
        let mut sum = 0.0;
        let walk = Walk::new(&layout, rows);
        isa.run(Step { walk, used, alpha, p: &p.data, ap: &ap.data, x, r, base, sum: &mut sum });
        sum
    })
}

/// `p = z + beta p`, for a block of rows.
struct Advance<'a, const D: usize, T> {
    walk: Walk<'a, D>,
    used: &'a [Span],
    beta: Option<T>,
    z: &'a [T],
    p: &'a mut [T],
    base: usize,
}

impl<const D: usize, T: Number> Kernel for Advance<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let Advance { mut walk, used, beta, z, p, base } = self;
        while let Some((here, n)) = walk.stretch_of(used) {
            let (z, p) = (&z[here..here + n], &mut p[here - base..here - base + n]);
            let Some(beta) = beta else {
                p.copy_from_slice(z);
                continue;
            };
            for (p, z) in p.iter_mut().zip(z) {
                *p = *z + beta * *p;
            }
        }
    }
}

/// `x += alpha p`, `r -= alpha ap`, for a block of rows.
struct Step<'a, const D: usize, T> {
    walk: Walk<'a, D>,
    used: &'a [Span],
    alpha: T,
    p: &'a [T],
    ap: &'a [T],
    x: &'a mut [T],
    r: &'a mut [T],
    base: usize,
    sum: &'a mut f64,
}

impl<const D: usize, T: Number> Kernel for Step<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let Step { mut walk, used, alpha, p, ap, x, r, base, sum } = self;
        while let Some((here, n)) = walk.stretch_of(used) {
            let (p, ap) = (&p[here..here + n], &ap[here..here + n]);
            let at = here - base;
            let (x, r) = (&mut x[at..at + n], &mut r[at..at + n]);
            for (x, p) in x.iter_mut().zip(p) {
                *x += alpha * *p;
            }
            for (r, ap) in r.iter_mut().zip(ap) {
                *r -= alpha * *ap;
            }
            *sum += dot(r, r);
        }
    }
}

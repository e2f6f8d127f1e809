//! What conjugate gradients do with whole vectors, and the first pass of the smoother: passes without neighbours.

use super::number::Number;
use super::operator::{Operator, dot};
use crate::field::Field;
use crate::layout::Walk;
use crate::rows;
use crate::sample::Kernel;

impl<const D: usize, T: Number> Operator<D, T> {
    /// The first pass from zero: `out = factor inverse b`.
    pub fn smooth_zero(&self, factor: f64, b: &Field<D, T>, out: &mut Field<D, T>) {
        let factor = T::of(factor);
        rows::blocks([out], |rows, base, [out]| {
            let walk = Walk::new(&self.layout, rows);
            self.isa.run(First { walk, factor, inverse: &self.inverse.data, b: &b.data, out, base });
            0.0
        });
    }

    /// `p = z + beta p`; without `beta`, `p = z`, whatever was there.
    pub fn advance(&self, p: &mut Field<D, T>, z: &Field<D, T>, beta: Option<T>) {
        rows::blocks([p], |rows, base, [p]| {
            let walk = Walk::new(&self.layout, rows);
            self.isa.run(Advance { walk, beta, z: &z.data, p, base });
            0.0
        });
    }

    /// `q += alpha p`, `r -= alpha sp`; returns the sum of squares of `r`.
    pub fn step(&self, alpha: T, p: &Field<D, T>, sp: &Field<D, T>, q: &mut Field<D, T>, r: &mut Field<D, T>) -> f64 {
        rows::blocks([q, r], |rows, base, [q, r]| {
            let mut sum = 0.0;
            let walk = Walk::new(&self.layout, rows);
            self.isa.run(Step { walk, alpha, p: &p.data, sp: &sp.data, q, r, base, sum: &mut sum });
            sum
        })
    }
}

/// `out = factor inverse b`, for a block of rows.
struct First<'a, const D: usize, T> {
    walk: Walk<'a, D>,
    factor: T,
    inverse: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    base: usize,
}

impl<const D: usize, T: Number> Kernel for First<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let First { mut walk, factor, inverse, b, out, base } = self;
        while let Some((here, n)) = walk.stretch() {
            let (inverse, b) = (&inverse[here..here + n], &b[here..here + n]);
            for (i, out) in out[here - base..here - base + n].iter_mut().enumerate() {
                *out = factor * inverse[i] * b[i];
            }
        }
    }
}

/// `p = z + beta p`, for a block of rows.
struct Advance<'a, const D: usize, T> {
    walk: Walk<'a, D>,
    beta: Option<T>,
    z: &'a [T],
    p: &'a mut [T],
    base: usize,
}

impl<const D: usize, T: Number> Kernel for Advance<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let Advance { mut walk, beta, z, p, base } = self;
        while let Some((here, n)) = walk.stretch() {
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

/// `q += alpha p`, `r -= alpha sp`, for a block of rows.
struct Step<'a, const D: usize, T> {
    walk: Walk<'a, D>,
    alpha: T,
    p: &'a [T],
    sp: &'a [T],
    q: &'a mut [T],
    r: &'a mut [T],
    base: usize,
    sum: &'a mut f64,
}

impl<const D: usize, T: Number> Kernel for Step<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let Step { mut walk, alpha, p, sp, q, r, base, sum } = self;
        while let Some((here, n)) = walk.stretch() {
            let (p, sp) = (&p[here..here + n], &sp[here..here + n]);
            let at = here - base;
            let (q, r) = (&mut q[at..at + n], &mut r[at..at + n]);
            for (q, p) in q.iter_mut().zip(p) {
                *q += alpha * *p;
            }
            for (r, sp) in r.iter_mut().zip(sp) {
                *r -= alpha * *sp;
            }
            *sum += dot(r, r);
        }
    }
}

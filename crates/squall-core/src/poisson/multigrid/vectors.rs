//! Passes of the smoother that need no neighbours.

use super::number::Number;
use super::operator::Operator;
use crate::field::Field;
use crate::layout::Walk;
use crate::poisson::pcg::dot;
use crate::rows::{self, Span};
use crate::sample::Kernel;

impl<const D: usize, T: Number> Operator<D, T> {
    /// The first pass from zero: `out = factor inverse b`.
    pub fn smooth_zero(&self, factor: f64, b: &Field<D, T>, out: &mut Field<D, T>) {
        self.first(T::of(factor), b, out, false);
    }

    /// `out = inverse b`; returns the sum of `b out`.
    pub fn divide(&self, b: &Field<D, T>, out: &mut Field<D, T>) -> f64 {
        self.first(T::ONE, b, out, true)
    }

    fn first(&self, factor: T, b: &Field<D, T>, out: &mut Field<D, T>, dot: bool) -> f64 {
        rows::blocks([out], |rows, base, [out]| {
            let mut sum = 0.0;
            let walk = Walk::new(&self.layout, rows);
            let (inverse, used) = (&self.inverse.data, &self.used[..]);
            self.isa.run(First { walk, used, factor, inverse, b: &b.data, out, base, dot, sum: &mut sum });
            sum
        })
    }
}

/// `out = factor inverse b`, for a block of rows.
struct First<'a, const D: usize, T> {
    walk: Walk<'a, D>,
    used: &'a [Span],
    factor: T,
    inverse: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    base: usize,
    /// Whether to sum up `b out`.
    dot: bool,
    sum: &'a mut f64,
}

impl<const D: usize, T: Number> Kernel for First<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let First { mut walk, used, factor, inverse, b, out, base, dot: sums, sum } = self;
        while let Some((here, n)) = walk.stretch_of(used) {
            let (inverse, b) = (&inverse[here..here + n], &b[here..here + n]);
            let out = &mut out[here - base..here - base + n];
            for (i, out) in out.iter_mut().enumerate() {
                *out = factor * inverse[i] * b[i];
            }
            if sums {
                *sum += dot(b, out);
            }
        }
    }
}

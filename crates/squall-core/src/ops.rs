//! Operators and reductions on fields.

pub use crate::halo::subtract_gradient;

use crate::field::{Field, Pad, VectorField};
use crate::layout::Row;
use crate::sample::{Isa, Kernel};
use crate::{Real, rows};

/// An array made by calling `f` with each axis.
#[inline(always)]
pub fn each<T, const D: usize>(f: impl FnMut(usize) -> T) -> [T; D] {
    std::array::from_fn(f)
}

/// Of each component the row one cell further along its own axis: the upper faces of a staggered field.
#[inline(always)]
pub fn above<'a, const D: usize>(u: &'a VectorField<D>, row: Row<'_, D>, pad: &'a mut Pad) -> [&'a [Real]; D] {
    let first = u[0].up(row, 0, pad);
    each(|a| if a == 0 { first } else { u[a].row(row.up(a)) })
}

/// `div u` at cell centres of a staggered field: the sum over axes of `(u_a(i + e_a) - u_a(i)) / h_a`.
/// Needs the last face along each axis; leaves the ghosts of `div` alone.
pub fn divergence<const D: usize>(u: &VectorField<D>, spacing: [f64; D], div: &mut Field<D>) {
    let inv_h = spacing.map(|h| (1.0 / h) as Real);
    div.par_rows(|row, div| {
        let mut pad = Pad::default();
        let here: [_; D] = each(|a| u[a].row(row));
        let next = above(u, row, &mut pad);
        for x in 0..div.len() {
            let mut sum = 0.0;
            for a in 0..D {
                sum += (next[a][x] - here[a][x]) * inv_h[a];
            }
            div[x] = sum;
        }
    });
}

/// The largest `|div u|` of a staggered field; NaN or infinite if any is. Needs the last face along each axis.
pub fn max_divergence<const D: usize>(u: &VectorField<D>, spacing: [f64; D]) -> Real {
    let inv_h = spacing.map(|h| (1.0 / h) as Real);
    let row_max = |row: Row<'_, D>| {
        let mut pad = Pad::default();
        let here: [_; D] = each(|a| u[a].row(row));
        let next = above(u, row, &mut pad);
        let mut most = 0;
        for x in 0..here[0].len() {
            let mut sum: Real = 0.0;
            for a in 0..D {
                sum += (next[a][x] - here[a][x]) * inv_h[a];
            }
            most = most.max(sum.abs().to_bits());
        }
        most
    };
    Real::from_bits(rows::reduce(u[0].layout(), row_max, u32::max))
}

const LANES: usize = 8;

/// Sums `f(i)` for `i < n` in eight fixed `f64` lanes.
#[inline(always)]
pub(crate) fn lanes_sum(n: usize, f: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let whole = n / LANES * LANES;
    for i in (0..whole).step_by(LANES) {
        for (l, sum) in lanes.iter_mut().enumerate() {
            *sum += f(i + l);
        }
    }
    let tail: f64 = (whole..n).map(f).sum();
    lanes.iter().sum::<f64>() + tail
}

/// Whether all of the values are one, to the bit.
#[inline(always)]
pub(crate) fn is_all(values: &[Real], value: Real) -> bool {
    // By pieces: most that differ do so early, and a piece takes few instructions.
    const PIECE: usize = 32;
    values.chunks(PIECE).all(|piece| piece.iter().fold(0, |bits, v| bits | (v.to_bits() ^ value.to_bits())) == 0)
}

/// The sum of all cells.
pub fn sum<const D: usize>(a: &Field<D>) -> f64 {
    let run_sum = |row: Row<'_, D>| {
        let a = a.run(row);
        lanes_sum(a.len(), |i| a[i] as f64)
    };
    rows::reduce_runs(a.layout(), run_sum, |x, y| x + y)
}

/// The sum over all cells of `a b`.
pub fn dot<const D: usize>(a: &Field<D>, b: &Field<D>) -> f64 {
    let run_dot = |row: Row<'_, D>| {
        let (a, b) = (a.run(row), b.run(row));
        lanes_sum(a.len(), |i| a[i] as f64 * b[i] as f64)
    };
    rows::reduce_runs(a.layout(), run_dot, |x, y| x + y)
}

/// The sum of values, of their squares, and the bits of the largest without its sign: those are ordered like numbers, with
/// infinity and then what is not a number on top.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sums {
    pub sum: f64,
    pub squares: f64,
    most: u32,
}

/// Values that are added up in single precision: eight in each of eight lanes.
pub(crate) const PIECE: usize = 64;

impl Sums {
    /// Of all cells.
    pub fn of<const D: usize>(isa: Isa, a: &Field<D>) -> Self {
        let of_run = |row: Row<'_, D>| {
            let mut sums = Sums::default();
            isa.run(SumRow { values: a.run(row), sums: &mut sums });
            sums
        };
        rows::reduce_runs(a.layout(), of_run, Sums::add)
    }

    /// Of all cells, with the last faces for the largest value.
    pub fn with_last<const D: usize>(isa: Isa, a: &Field<D>) -> Self {
        let mut sums = Sums::of(isa, a);
        sums.note_last(a);
        sums
    }

    /// Looks for the largest value among those on the far ends of bounded axes, too.
    pub fn note_last<const D: usize>(&mut self, a: &Field<D>) {
        a.for_each_last(|v| self.most = self.most.max(v.abs().to_bits()));
    }

    /// The largest value without its sign; NaN or infinite if any is.
    pub fn most(self) -> f64 {
        Real::from_bits(self.most) as f64
    }

    #[inline(always)]
    pub fn add(self, other: Self) -> Self {
        let Sums { sum, squares, most } = other;
        Sums { sum: self.sum + sum, squares: self.squares + squares, most: self.most.max(most) }
    }

    /// Of a few values.
    #[inline(always)]
    pub fn note(&mut self, values: &[Real]) {
        let (mut sum, mut squares, mut most) = ([0.0; LANES], [0.0; LANES], [0; LANES]);
        let mut note = |l: usize, v: Real| {
            sum[l] += v;
            squares[l] += v * v;
            most[l] = v.abs().to_bits().max(most[l]);
        };
        let (whole, rest) = values.as_chunks::<LANES>();
        for values in whole {
            for l in 0..LANES {
                note(l, values[l]);
            }
        }
        rest.iter().enumerate().for_each(|(l, &v)| note(l, v));
        for l in 0..LANES {
            self.sum += sum[l] as f64;
            self.squares += squares[l] as f64;
            self.most = self.most.max(most[l]);
        }
    }
}

struct SumRow<'a> {
    values: &'a [Real],
    sums: &'a mut Sums,
}

impl Kernel for SumRow<'_> {
    #[inline(always)]
    fn run(self) {
        self.values.chunks(PIECE).for_each(|piece| self.sums.note(piece));
    }
}

/// The largest absolute value; NaN or infinite if any cell is.
pub fn max_abs<const D: usize>(a: &Field<D>) -> Real {
    // The bits of non-negative floats are ordered like integers, with infinity and then NaN on top.
    let most = |row: Row<'_, D>| a.run(row).iter().fold(0, |m, v| m.max(v.abs().to_bits()));
    Real::from_bits(rows::reduce_runs(a.layout(), most, u32::max))
}

/// [`max_abs`] with the values on the far ends of bounded axes, which are stored behind the cells: the last faces of a
/// staggered field, where a flow may leave the box at its fastest.
pub fn max_abs_faces<const D: usize>(a: &Field<D>) -> Real {
    let mut most = max_abs(a).to_bits();
    a.for_each_last(|v| most = most.max(v.abs().to_bits()));
    Real::from_bits(most)
}

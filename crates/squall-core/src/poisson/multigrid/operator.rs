//! The operator of one level and the kernels that apply it.
//!
//! `(S x)_i = sum over the faces f of cell i of A_f (x_i - x_j)`, j being the cell behind the face. What the boundary
//! does is part of the weights: a wall has weight 0, and where the value is zero somewhere behind the last cell, the link
//! to that point is a face with weight 1 / distance, in cells, to a ghost that is zero and stays so. Only the ghosts of
//! periodic axes are ever written.
//!
//! Most cells have nothing but open faces. Each row knows one stretch of such cells, and kernels spare themselves the
//! weights there.

use super::number::Number;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Ends};
use crate::halo::slab_runs;
use crate::layout::{Layout, Row};
use crate::ops::{each, lanes_sum};
use crate::rows;

/// A stretch of cells of one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub begin: u32,
    pub end: u32,
}

pub(super) struct Operator<const D: usize, T> {
    pub layout: Layout<D>,
    /// Which axes are periodic.
    pub joined: [bool; D],
    /// The weight of each face.
    pub open: VectorField<D, T>,
    /// 1 / sum of the weights of a cell's faces; 0 where the cell is no unknown.
    pub inverse: Field<D, T>,
    /// What is to be multiplied with the residual before it goes to the next coarser level.
    pub share: Field<D, T>,
    /// Of each row a stretch of cells all of whose weights and shares are 1.
    pub plain: Vec<Span>,
}

/// A field of zeros. What happens at the ends is in the weights, so the field itself need not know.
pub(super) fn zeros<const D: usize, T: Number>(layout: &Layout<D>, at: At) -> Result<Field<D, T>, OutOfMemory> {
    let ends = if layout.as_tiles().is_some() { Ends::Unbounded(0.0) } else { Ends::FLAT };
    Field::on(layout, at, [ends; D])
}

/// An array of fields, or the first failure.
pub(super) fn faces<const D: usize, T: Number>(layout: &Layout<D>) -> Result<VectorField<D, T>, OutOfMemory> {
    let mut fields = Vec::with_capacity(D);
    for a in 0..D {
        fields.push(zeros(layout, At::Face(a))?);
    }
    Ok(fields.try_into().unwrap_or_else(|_| unreachable!("one field for each axis")))
}

impl<const D: usize, T: Number> Operator<D, T> {
    pub fn new(layout: &Layout<D>, joined: [bool; D]) -> Result<Self, OutOfMemory> {
        Ok(Operator {
            layout: layout.clone(),
            joined,
            open: faces(layout)?,
            inverse: zeros(layout, At::Center)?,
            share: zeros(layout, At::Center)?,
            plain: vec![Span::default(); layout.rows()],
        })
    }

    /// Writes the ghosts that the operator needs.
    pub fn join(&self, field: &mut Field<D, T>) {
        wrap(field, self.joined, self.layout.cells());
    }

    /// Copies the values of a row in the unknowns, and zeros elsewhere.
    #[inline(always)]
    pub fn unknowns(&self, row: Row<'_, D>, values: &[T], out: &mut [T]) {
        let (inverse, values) = (&self.inverse.row(row)[..out.len()], &values[..out.len()]);
        for x in 0..out.len() {
            out[x] = if inverse[x] > T::ZERO { values[x] } else { T::ZERO };
        }
    }

    /// Calls `f(x, S field, inverse)` for the cells of a row. Needs the joined ghosts of the field.
    #[inline(always)]
    fn cells(&self, r: usize, row: Row<'_, D>, field: &Field<D, T>, mut f: impl FnMut(usize, T, T)) {
        let mut pads = [Pad::default(); 3];
        let [pad_up, pad_down, pad_open] = &mut pads;
        let here = field.row(row);
        let n = here.len();
        let (next, before) = (&field.up(row, 0, pad_up)[..n], &field.down(row, 0, pad_down)[..n]);
        let up: [&[T]; D] = each(|a| if a == 0 { next } else { &field.row(row.up(a))[..n] });
        let down: [&[T]; D] = each(|a| if a == 0 { before } else { &field.row(row.down(a))[..n] });
        let plain = self.plain[r];
        let (begin, end) = (plain.begin as usize, (plain.end as usize).min(n));

        if begin > 0 || end < n {
            let last = &self.open[0].up(row, 0, pad_open)[..n];
            let low: [&[T]; D] = each(|a| &self.open[a].row(row)[..n]);
            let high: [&[T]; D] = each(|a| if a == 0 { last } else { &self.open[a].row(row.up(a))[..n] });
            let inverse = &self.inverse.row(row)[..n];
            for part in [0..begin, end.max(begin)..n] {
                for x in part {
                    let mut sum = T::ZERO;
                    for a in 0..D {
                        sum += low[a][x] * (here[x] - down[a][x]) + high[a][x] * (here[x] - up[a][x]);
                    }
                    f(x, sum, inverse[x]);
                }
            }
        }
        let inverse = T::of(1.0 / (2 * D) as f64);
        for x in begin..end {
            let mut sum = T::ZERO;
            for a in 0..D {
                sum += (here[x] - down[a][x]) + (here[x] - up[a][x]);
            }
            f(x, sum, inverse);
        }
    }

    /// `out = S x` in the unknowns, 0 elsewhere; returns the sum of `x out`. Needs the joined ghosts of `x`.
    pub fn apply(&self, x: &Field<D, T>, out: &mut Field<D, T>) -> f64 {
        rows::summed([out], |r, row, [out]| {
            self.cells(r, row, x, |i, sx, inverse| out[i] = if inverse > T::ZERO { sx } else { T::ZERO });
            dot(x.row(row), out)
        })
    }

    /// `b -= S x` in the unknowns; returns the sum of squares of `b`. Needs the joined ghosts of `x`.
    pub fn subtract(&self, x: &Field<D, T>, b: &mut Field<D, T>) -> f64 {
        rows::summed([b], |r, row, [b]| {
            self.cells(r, row, x, |i, sx, inverse| {
                if inverse > T::ZERO {
                    b[i] -= sx;
                }
            });
            dot(b, b)
        })
    }

    /// `out = share (b - S x)` in the unknowns, 0 elsewhere. Needs the joined ghosts of `x`.
    pub fn shared_residual(&self, x: &Field<D, T>, b: &Field<D, T>, out: &mut Field<D, T>) {
        rows::numbered([out], |r, row, [out]| {
            let (b, share, plain) = (b.row(row), self.share.row(row), self.plain[r]);
            self.cells(r, row, x, |i, sx, inverse| {
                out[i] = if inverse > T::ZERO { b[i] - sx } else { T::ZERO };
            });
            for i in (0..plain.begin as usize).chain(plain.end as usize..out.len()) {
                out[i] = out[i] * share[i];
            }
        });
    }

    /// One pass of Jacobi's method with this factor, `out = x + factor inverse (b - S x)`. Needs the joined ghosts of `x`.
    pub fn smooth(&self, factor: f64, x: &Field<D, T>, b: &Field<D, T>, out: &mut Field<D, T>) {
        rows::numbered([out], |r, row, [out]| self.smooth_row(factor, r, row, x, b, out));
    }

    /// [`Operator::smooth`] that returns the sum of `b out`.
    pub fn smooth_dot(&self, factor: f64, x: &Field<D, T>, b: &Field<D, T>, out: &mut Field<D, T>) -> f64 {
        rows::summed([out], |r, row, [out]| {
            self.smooth_row(factor, r, row, x, b, out);
            dot(b.row(row), out)
        })
    }

    #[inline(always)]
    fn smooth_row(&self, factor: f64, r: usize, row: Row<'_, D>, x: &Field<D, T>, b: &Field<D, T>, out: &mut [T]) {
        let (factor, here, b) = (T::of(factor), x.row(row), b.row(row));
        let (here, b) = (&here[..out.len()], &b[..out.len()]);
        self.cells(r, row, x, |i, sx, inverse| out[i] = here[i] + factor * inverse * (b[i] - sx));
    }

    /// The first pass from zero: `out = factor inverse b`.
    pub fn smooth_zero(&self, factor: f64, b: &Field<D, T>, out: &mut Field<D, T>) {
        let factor = T::of(factor);
        rows::numbered([out], |_, row, [out]| {
            let (b, inverse) = (&b.row(row)[..out.len()], &self.inverse.row(row)[..out.len()]);
            for i in 0..out.len() {
                out[i] = factor * inverse[i] * b[i];
            }
        });
    }
}

/// The sum of `a b` in eight fixed lanes.
#[inline(always)]
pub(super) fn dot<T: Number>(a: &[T], b: &[T]) -> f64 {
    let b = &b[..a.len()];
    lanes_sum(a.len(), |i| a[i].to_f64() * b[i].to_f64())
}

/// Writes the ghosts along joined axes. `period` is the number of cells after which things repeat: one more than there
/// are, where the last cell of a coarser level covers only one cell.
pub(super) fn wrap<const D: usize, T: Number>(field: &mut Field<D, T>, joined: [bool; D], period: [usize; D]) {
    for a in (0..D).filter(|&a| joined[a]) {
        let layout = field.layout().clone();
        let (n, stride) = (layout.cells()[a] as isize, layout.stride()[a] as isize);
        let data = field.data_mut();
        for ghost in [-1, n, n + 1] {
            let source = ghost.rem_euclid(period[a] as isize);
            slab_runs(&layout, a, ghost, |to, run| {
                if source < n {
                    let from = to.wrapping_add_signed((source - ghost) * stride);
                    data.copy_within(from..from + run, to);
                } else {
                    data[to..to + run].fill(T::ZERO);
                }
            });
        }
    }
}

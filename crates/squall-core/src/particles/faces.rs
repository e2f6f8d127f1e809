//! Values on the faces around one tile, as particles read them: the corners of all components found at once, four numbers at a time.
//!
//! Copies are interleaved: of `K` fields the values at a place lie side by side, so that two places along x of two fields are one
//! load of four numbers. (One sample after the other, with corners of its own, took five times as long.)

use super::Patch;
use crate::Real;
use crate::field::VectorField;
use crate::tiles::Tile;
use wide::f32x4;

/// Copies of the faces of `K` vector fields around a tile. Their memory is kept from tile to tile.
#[derive(Clone, Debug)]
pub(super) struct Faces<const D: usize, const K: usize> {
    /// Of each component.
    values: [Vec<Real>; D],
    stride: [usize; D],
    margin: Real,
    /// The last place that has one above it, along each axis.
    last: [Real; 4],
    patch: Patch<D>,
}

impl<const D: usize, const K: usize> Default for Faces<D, K> {
    fn default() -> Self {
        let values = std::array::from_fn(|_| Vec::new());
        Faces { values, stride: [0; D], margin: 0.0, last: [0.0; 4], patch: Patch::default() }
    }
}

/// The corners of the cells of faces around a place, and the ways from them.
#[derive(Clone, Copy)]
pub(super) struct Corners<const D: usize> {
    /// Of each component.
    at: [usize; D],
    /// From faces across an axis, and from the centres between them.
    way: [[Real; 4]; 2],
}

impl<const D: usize> Corners<D> {
    /// The way along axis `b` from a corner of component `a`.
    #[inline(always)]
    fn way(&self, a: usize, b: usize) -> Real {
        self.way[usize::from(a != b)][b]
    }
}

impl<const D: usize, const K: usize> Faces<D, K> {
    /// Copies what is around a tile, as [`Patch::copy`] does.
    pub fn copy(&mut self, fields: [&VectorField<D>; K], tile: &Tile<D>, margin: usize, periodic: [bool; D]) {
        self.margin = margin as Real;
        let mut stride = K;
        for a in 0..D {
            let size = tile.cells[a] + 2 * margin;
            (self.stride[a], self.last[a]) = (stride, (size - 2) as Real);
            stride *= size;
        }
        for (a, values) in self.values.iter_mut().enumerate() {
            // Four numbers are read where two may be there.
            values.resize(stride + 4, 0.0);
            for (k, field) in fields.iter().enumerate() {
                self.patch.copy(&field[a], tile, margin, periodic);
                let places = values[k..].iter_mut().step_by(K);
                places.zip(self.patch.values()).for_each(|(out, v)| *out = *v);
            }
        }
    }

    /// The corners around a place, in cells from the tile's lower corner.
    #[inline(always)]
    pub fn corners(&self, place: [Real; D]) -> Corners<D> {
        let x = four(place) + f32x4::splat(self.margin);
        let last = f32x4::new(self.last);
        let (faces, centers) = (below(x, last), below(x - f32x4::splat(0.5), last));
        let all = (0..D).map(|b| centers.0[b] as usize * self.stride[b]).sum::<usize>();
        let mut at = [all; D];
        for a in 0..D {
            at[a] = all + faces.0[a] as usize * self.stride[a] - centers.0[a] as usize * self.stride[a];
        }
        Corners { at, way: [faces.1, centers.1] }
    }

    /// Four numbers of a component: two places along x of two fields, or two and what lies behind them.
    #[inline(always)]
    fn four(&self, a: usize, at: usize) -> f32x4 {
        let mut four = [0.0; 4];
        four.copy_from_slice(&self.values[a][at..at + 4]);
        f32x4::new(four)
    }

    /// The rows of component `a` beside a place, mixed across x, with how that changes along the other axes; the first of them is unused.
    #[inline(always)]
    fn across(&self, corners: &Corners<D>, a: usize) -> (f32x4, [f32x4; D]) {
        let at = corners.at[a];
        let y = f32x4::splat(corners.way(a, 1));
        let (low, high) = (self.four(a, at), self.four(a, at + self.stride[1]));
        let mut rise = [high - low; D];
        let mut line = low + y * rise[1];
        if D == 3 {
            let z = f32x4::splat(corners.way(a, D - 1));
            let at = at + self.stride[D - 1];
            let (low, high) = (self.four(a, at), self.four(a, at + self.stride[1]));
            let upper = low + y * (high - low);
            rise[D - 1] = upper - line;
            rise[1] += z * ((high - low) - rise[1]);
            line += z * rise[D - 1];
        }
        (line, rise)
    }

    /// Component `a` of every field.
    #[inline(always)]
    pub fn values(&self, corners: &Corners<D>, a: usize) -> [Real; K] {
        let (line, _) = self.across(corners, a);
        along_x(line.to_array(), corners.way(a, 0))
    }

    /// Component `a` of every field, and how the one with number `k` changes along each axis over a cell.
    #[inline(always)]
    pub fn values_and_slope(&self, corners: &Corners<D>, a: usize, k: usize) -> ([Real; K], [Real; D]) {
        let (line, rise) = self.across(corners, a);
        let (x, line) = (corners.way(a, 0), line.to_array());
        let mut slope = [0.0; D];
        slope[0] = line[K + k] - line[k];
        for b in 1..D {
            slope[b] = along_x::<K>(rise[b].to_array(), x)[k];
        }
        (along_x(line, x), slope)
    }
}

/// The whole numbers below some that are not negative, none above `last`, and the ways from them.
#[inline(always)]
pub(super) fn below(x: f32x4, last: f32x4) -> ([i32; 4], [Real; 4]) {
    // What is no number becomes zero.
    let x = x.fast_max(f32x4::ZERO).fast_min(last + f32x4::ONE);
    let i = x.fast_min(last).fast_trunc_int();
    (i.to_array(), (x - f32x4::from_i32x4(i)).to_array())
}

/// The coordinates of a place as four numbers.
#[inline(always)]
pub(super) fn four<const D: usize>(place: [Real; D]) -> f32x4 {
    let mut x = [0.0; 4];
    x[..D].copy_from_slice(&place);
    f32x4::new(x)
}

/// Mixes two places along x.
#[inline(always)]
fn along_x<const K: usize>(line: [Real; 4], x: Real) -> [Real; K] {
    let mut out = [0.0; K];
    for k in 0..K {
        out[k] = line[k] + x * (line[K + k] - line[k]);
    }
    out
}

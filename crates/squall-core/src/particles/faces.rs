//! Values on the faces around one tile, as particles read them: of eight particles at once, the corners of all components found together.
//!
//! Copies are interleaved: of `K` fields the values at a place lie side by side, so that two places along x of all fields are read together.
//! (One particle after the other, four numbers at a time, took twice as long.)

use super::Patch;
use super::eight::{Eight, LANES};
use crate::Real;
use crate::field::VectorField;
use crate::tiles::Tile;

/// Copies of the faces of `K` vector fields around a tile. Their memory is kept from tile to tile.
#[derive(Clone, Debug)]
pub(super) struct Faces<const D: usize, const K: usize> {
    /// Of each component.
    values: [Vec<Real>; D],
    stride: [usize; D],
    margin: Real,
    /// The last place that has one above it, along each axis.
    last: [Real; D],
    patch: Patch<D>,
}

impl<const D: usize, const K: usize> Default for Faces<D, K> {
    fn default() -> Self {
        let values = std::array::from_fn(|_| Vec::new());
        Faces { values, stride: [0; D], margin: 0.0, last: [0.0; D], patch: Patch::default() }
    }
}

/// The corners of the cells of faces around some places, and the ways from them.
#[derive(Clone, Copy)]
pub(super) struct Corners<const D: usize, V> {
    /// Of each component.
    at: [[u32; LANES]; D],
    /// From faces across an axis, and from the centres between them, along each axis.
    way: [[V; D]; 2],
}

impl<const D: usize, V: Eight> Corners<D, V> {
    /// The corners around places, counted from `first` places below, along each axis up to the last one that has one above it.
    #[inline(always)]
    pub fn new(place: &[V; D], first: Real, stride: [usize; D], last: [Real; D]) -> Self {
        let mut way = [[V::splat(0.0); D]; 2];
        let mut on = [[V::splat(0.0).whole(); D]; 2];
        for center in 0..2 {
            for b in 0..D {
                // What is no number becomes zero.
                let x = place[b] + V::splat(first - 0.5 * center as Real);
                let x = x.max(V::splat(0.0)).min(V::splat(last[b] + 1.0));
                let i = x.min(V::splat(last[b])).whole();
                way[center][b] = x - V::real(i);
                on[center][b] = V::times(i, stride[b] as u32);
            }
        }
        let mut at = [[0; LANES]; D];
        for a in 0..D {
            let mut sum = on[usize::from(a != 0)][0];
            for b in 1..D {
                sum = sum + on[usize::from(a != b)][b];
            }
            at[a] = V::places(sum);
        }
        Corners { at, way }
    }

    /// The place of the corner of component `a`.
    #[inline(always)]
    pub fn at(&self, a: usize) -> &[u32; LANES] {
        &self.at[a]
    }

    /// The way along axis `b` from a corner of component `a`.
    #[inline(always)]
    pub fn way(&self, a: usize, b: usize) -> V {
        self.way[usize::from(a != b)][b]
    }
}

/// How far from a corner the `r`-th of the lines along x lies.
#[inline(always)]
pub(super) fn line<const D: usize>(r: usize, stride: [usize; D]) -> usize {
    let mut on = 0;
    for b in 1..D {
        on += (r >> (b - 1) & 1) * stride[b];
    }
    on
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
            values.resize(stride, 0.0);
            for (k, field) in fields.iter().enumerate() {
                self.patch.copy(&field[a], tile, margin, periodic);
                let places = values[k..].iter_mut().step_by(K);
                places.zip(self.patch.values()).for_each(|(out, v)| *out = *v);
            }
        }
    }

    /// The largest of the values.
    pub fn fastest(&self) -> Real {
        self.values.iter().flatten().fold(0.0, |most, v| v.abs().max(most))
    }

    /// The corners around places, in cells from the tile's lower corner.
    #[inline(always)]
    pub fn corners<V: Eight>(&self, place: &[V; D]) -> Corners<D, V> {
        Corners::new(place, self.margin, self.stride, self.last)
    }

    /// What lies at the corners of component `a` below along x, and at those above, on one of the lines along it.
    #[inline(always)]
    fn line<V: Eight>(&self, corners: &Corners<D, V>, a: usize, r: usize) -> [[V; K]; 2] {
        const { assert!(K == 1 || K == 2, "one field or two") };
        let (values, at, on) = (&self.values[a][..], corners.at(a), line(r, self.stride));
        // SAFETY: corners have another place above them along each axis, and all of both is there.
        unsafe {
            if K == 1 {
                let [low, high] = V::twos(values, at, on);
                [[low; K], [high; K]]
            } else {
                let all = V::fours(values, at, on);
                let (mut low, mut high) = ([all[0]; K], [all[2]; K]);
                (low[K - 1], high[K - 1]) = (all[K - 1], all[2 + K - 1]);
                [low, high]
            }
        }
    }

    /// Component `a` of the field with number `k`.
    #[inline(always)]
    pub fn value<V: Eight>(&self, corners: &Corners<D, V>, a: usize, k: usize) -> V {
        let x = corners.way(a, 0);
        let mut lines = [x; 4];
        for r in 0..1usize << (D - 1) {
            let [low, high] = self.line(corners, a, r);
            lines[r] = low[k].mix(high[k], x);
        }
        across(lines, corners, a).0
    }

    /// Component `a` of every field, and how that with number `k` changes along each axis over a cell.
    #[inline(always)]
    pub fn values_and_slope<V: Eight>(&self, corners: &Corners<D, V>, a: usize, k: usize) -> ([V; K], [V; D]) {
        let x = corners.way(a, 0);
        let (mut lines, mut rise) = ([[x; 4]; K], [x; 4]);
        for r in 0..1usize << (D - 1) {
            let [low, high] = self.line(corners, a, r);
            for m in 0..K {
                lines[m][r] = low[m].mix(high[m], x);
            }
            rise[r] = high[k] - low[k];
        }
        let (mut values, mut slope) = ([x; K], [x; D]);
        for m in 0..K {
            let (value, slopes) = across(lines[m], corners, a);
            values[m] = value;
            if m == k {
                slope = slopes;
            }
        }
        slope[0] = across(rise, corners, a).0;
        (values, slope)
    }
}

/// From the lines along x beside places to the places themselves, and how that changes along the other axes.
#[inline(always)]
fn across<const D: usize, V: Eight>(lines: [V; 4], corners: &Corners<D, V>, a: usize) -> (V, [V; D]) {
    let y = corners.way(a, 1);
    let (value, rise) = (lines[0].mix(lines[1], y), lines[1] - lines[0]);
    let mut slope = [rise; D];
    if D == 2 {
        return (value, slope);
    }
    let z = corners.way(a, D - 1);
    let upper = lines[2].mix(lines[3], y);
    slope[1] = rise.mix(lines[3] - lines[2], z);
    slope[D - 1] = upper - value;
    (value.mix(upper, z), slope)
}

//! The values of a field around one tile, as a dense copy to be sampled.

use crate::Real;
use crate::field::Field;
use crate::layout::HALO;
use crate::tiles::Tile;

/// A copy of a tile's values and of some cells around it. Its memory is kept from tile to tile.
#[derive(Clone, Debug)]
pub(crate) struct Patch<const D: usize> {
    margin: usize,
    sizes: [usize; D],
    /// 0 along axes that do not exist.
    stride: [usize; 3],
    values: Vec<Real>,
    /// Where each column lies in the field.
    columns: Vec<usize>,
    /// Where in a cell the values live: 0 on the lower side, a half in the middle.
    shift: [Real; D],
}

impl<const D: usize> Default for Patch<D> {
    fn default() -> Self {
        Patch { margin: 0, sizes: [0; D], stride: [0; 3], values: Vec::new(), columns: Vec::new(), shift: [0.0; D] }
    }
}

impl<const D: usize> Patch<D> {
    /// Copies what is around a tile, `margin` cells of it. Along periodic axes it goes on at the other end; beyond ghosts the last of them
    /// is repeated. Needs the ghosts of the field.
    pub fn copy(&mut self, field: &Field<D>, tile: &Tile<D>, margin: usize, periodic: [bool; D]) {
        let layout = field.layout();
        self.margin = margin;
        self.sizes = tile.cells.map(|n| n + 2 * margin);
        self.shift = std::array::from_fn(|a| if field.at().on_lower_side(a) { 0.0 } else { 0.5 });
        let mut stride = 1;
        for a in 0..D {
            self.stride[a] = stride;
            stride *= self.sizes[a];
        }
        self.values.resize(stride, 0.0);
        let place = |a: usize, i: usize| {
            let index = tile.first[a] + i as isize - margin as isize;
            if layout.as_tiles().is_some() {
                return index;
            }
            let n = layout.cells()[a] as isize;
            if periodic[a] { index.rem_euclid(n) } else { index.clamp(-(HALO as isize), n + HALO as isize - 1) }
        };
        let mut index = [0; D];
        self.columns.clear();
        (1..D).for_each(|a| index[a] = place(a, 0));
        let row = layout.as_tiles().is_none().then(|| {
            index[0] = 0;
            layout.offset(index)
        });
        for (r, out) in self.values.chunks_exact_mut(self.sizes[0]).enumerate() {
            let mut rest = r;
            for a in 1..D {
                index[a] = place(a, rest % self.sizes[a]);
                rest /= self.sizes[a];
            }
            if row.is_none() {
                for (x, out) in out.iter_mut().enumerate() {
                    index[0] = place(0, x);
                    *out = field.get_signed(index);
                }
                continue;
            }
            index[0] = 0;
            let start = layout.offset(index) as isize;
            for (x, out) in out.iter_mut().enumerate() {
                *out = field.data[(start + place(0, x)) as usize];
            }
        }
    }

    /// The corner below a place, in cells from the tile's lower corner, and the way from it along each axis.
    #[inline(always)]
    fn corner(&self, place: [Real; D]) -> (usize, [Real; D]) {
        let mut at = 0;
        let mut way = [0.0; D];
        for a in 0..D {
            let x = (place[a] - self.shift[a] + self.margin as Real).max(0.0);
            let i = (x as usize).min(self.sizes[a] - 2);
            way[a] = x - i as Real;
            at += i * self.stride[a];
        }
        (at, way)
    }

    /// The value at a place, by linear interpolation.
    #[inline(always)]
    pub fn value(&self, place: [Real; D]) -> Real {
        let (at, way) = self.corner(place);
        let mix = |a: Real, b: Real, t: Real| a + t * (b - a);
        let line = |at: usize| mix(self.values[at], self.values[at + 1], way[0]);
        let square = |at: usize| mix(line(at), line(at + self.stride[1]), way[1]);
        if D == 2 { square(at) } else { mix(square(at), square(at + self.stride[2]), way[D - 1]) }
    }

    /// The value at a place, and how it changes along each axis over a cell.
    #[inline(always)]
    pub fn value_and_slope(&self, place: [Real; D]) -> (Real, [Real; D]) {
        let (at, way) = self.corner(place);
        let mix = |a: Real, b: Real, t: Real| a + t * (b - a);
        let mut slope = [0.0; D];
        let line = |at: usize| {
            let (low, high) = (self.values[at], self.values[at + 1]);
            (mix(low, high, way[0]), high - low)
        };
        let square = |at: usize| {
            let (low, high) = (line(at), line(at + self.stride[1]));
            (mix(low.0, high.0, way[1]), mix(low.1, high.1, way[1]), high.0 - low.0)
        };
        if D == 2 {
            let (value, x, y) = square(at);
            (slope[0], slope[1]) = (x, y);
            return (value, slope);
        }
        let (low, high) = (square(at), square(at + self.stride[2]));
        slope[0] = mix(low.1, high.1, way[D - 1]);
        slope[1] = mix(low.2, high.2, way[D - 1]);
        slope[D - 1] = high.0 - low.0;
        (mix(low.0, high.0, way[D - 1]), slope)
    }
}

//! The values of a field around one tile, as a dense copy to be sampled.

use crate::Real;
use crate::field::Field;
use crate::layout::{HALO, Tiles, tile_width};
use crate::tiles::Tile;

/// A copy of a tile's values and of some cells around it. Its memory is kept from tile to tile.
#[derive(Clone, Debug)]
pub(crate) struct Patch<const D: usize> {
    margin: Real,
    sizes: [usize; D],
    /// 0 along axes that do not exist.
    stride: [usize; 3],
    values: Vec<Real>,
    /// Where in a cell the values live: 0 on the lower side, a half in the middle.
    shift: [Real; D],
}

impl<const D: usize> Default for Patch<D> {
    fn default() -> Self {
        Patch { margin: 0.0, sizes: [0; D], stride: [0; 3], values: Vec::new(), shift: [0.0; D] }
    }
}

impl<const D: usize> Patch<D> {
    /// Copies what is around a tile, `margin` cells of it. Along periodic axes it goes on at the other end; beyond ghosts the last of them
    /// is repeated. Needs the ghosts of the field.
    pub fn copy(&mut self, field: &Field<D>, tile: &Tile<D>, margin: usize, periodic: [bool; D]) {
        let layout = field.layout();
        self.margin = margin as Real;
        self.sizes = tile.cells.map(|n| n + 2 * margin);
        self.shift = std::array::from_fn(|a| if field.at().on_lower_side(a) { 0.0 } else { 0.5 });
        let mut stride = 1;
        for a in 0..D {
            self.stride[a] = stride;
            stride *= self.sizes[a];
        }
        self.values.resize(stride, 0.0);
        if let Some(tiles) = layout.as_tiles() {
            return self.copy_from_tiles(field, tiles, tile, margin);
        }
        let place = |a: usize, i: usize| {
            let index = tile.first[a] + i as isize - margin as isize;
            let n = layout.cells()[a] as isize;
            if periodic[a] { index.rem_euclid(n) } else { index.clamp(-(HALO as isize), n + HALO as isize - 1) }
        };
        // The part of a row that lies in the box, ghosts included.
        let (first, n) = (tile.first[0] - margin as isize, layout.cells()[0] as isize);
        let inside = (-first).max(0) as usize..((n - first).max(0) as usize).min(self.sizes[0]);
        for (r, out) in self.values.chunks_exact_mut(self.sizes[0]).enumerate() {
            let (mut index, mut rest) = ([0; D], r);
            for a in 1..D {
                index[a] = place(a, rest % self.sizes[a]);
                rest /= self.sizes[a];
            }
            let start = layout.offset(index) as isize;
            let from = (start + first + inside.start as isize) as usize;
            out[inside.clone()].copy_from_slice(&field.data[from..from + inside.len()]);
            for x in (0..inside.start).chain(inside.end..out.len()) {
                out[x] = field.data[(start + place(0, x)) as usize];
            }
        }
    }

    /// All values, x fastest.
    pub fn values(&self) -> &[Real] {
        &self.values
    }

    /// The same from tiles: every row is made of three, those of the tile and of its neighbours along x.
    fn copy_from_tiles(&mut self, field: &Field<D>, tiles: &Tiles<D>, tile: &Tile<D>, margin: usize) {
        let (layout, n) = (field.layout(), tile_width::<D>());
        assert!(margin <= n, "no further than the tiles beside");
        let around = tiles.around(tile.number as u32 + 1);
        // Where there is something to see: behind sides that is no more than the ghosts.
        let seen: [[isize; 2]; D] = std::array::from_fn(|a| {
            let [begin, end] = [layout.begin(a), layout.end(a)].map(|i| i.saturating_sub(tile.first[a]));
            [begin.saturating_sub(HALO as isize), end.saturating_add(HALO as isize - 1)]
        });
        for (r, out) in self.values.chunks_exact_mut(self.sizes[0]).enumerate() {
            let (mut local, mut beside, mut rest) = ([0; D], 0, r);
            for a in 1..D {
                let i = ((rest % self.sizes[a]) as isize - margin as isize).clamp(seen[a][0], seen[a][1]);
                rest /= self.sizes[a];
                local[a] = i.rem_euclid(n as isize);
                beside += (i.div_euclid(n as isize) + 1) as usize * 3usize.pow(a as u32);
            }
            let row = |x: usize| &field.data[layout.in_slot(around[beside + x], local)..][..n];
            out[..margin].copy_from_slice(&row(0)[n - margin..]);
            out[margin..margin + n].copy_from_slice(row(1));
            out[margin + n..].copy_from_slice(&row(2)[..margin]);
            let [low, high] =
                seen[0].map(|i| i.saturating_add(margin as isize).clamp(0, out.len() as isize - 1) as usize);
            let (first, last) = (out[low], out[high]);
            out[..low].fill(first);
            out[high + 1..].fill(last);
        }
    }

    /// The corner below a place, in cells from the tile's lower corner, and the way from it along each axis.
    #[inline(always)]
    fn corner(&self, place: [Real; D]) -> (usize, [Real; D]) {
        let mut at = 0;
        let mut way = [0.0; D];
        for a in 0..D {
            let x = (place[a] - self.shift[a] + self.margin).max(0.0);
            let i = (x as i32 as usize).min(self.sizes[a] - 2);
            way[a] = x - i as Real;
            at += i * self.stride[a];
        }
        (at, way)
    }

    /// Two values along x.
    #[inline(always)]
    fn pair(&self, at: usize) -> [Real; 2] {
        let two = &self.values[at..at + 2];
        [two[0], two[1]]
    }

    /// The value at a place, by linear interpolation.
    #[inline(always)]
    pub fn value(&self, place: [Real; D]) -> Real {
        self.value_and_slope(place).0
    }

    /// The value at a place, and how it changes along each axis over a cell.
    #[inline(always)]
    pub fn value_and_slope(&self, place: [Real; D]) -> (Real, [Real; D]) {
        let (at, way) = self.corner(place);
        let mut slope = [0.0; D];
        let (low, high) = (self.pair(at), self.pair(at + self.stride[1]));
        let mut line: [Real; 2] = [mix(low[0], high[0], way[1]), mix(low[1], high[1], way[1])];
        let mut rise: [Real; 2] = [high[0] - low[0], high[1] - low[1]];
        if D == 3 {
            let (low, high) = (self.pair(at + self.stride[2]), self.pair(at + self.stride[1] + self.stride[2]));
            let mut beyond = [0.0; 2];
            for k in 0..2 {
                let upper = mix(low[k], high[k], way[1]);
                beyond[k] = upper - line[k];
                line[k] = mix(line[k], upper, way[D - 1]);
                rise[k] = mix(rise[k], high[k] - low[k], way[D - 1]);
            }
            slope[D - 1] = mix(beyond[0], beyond[1], way[0]);
        }
        slope[1] = mix(rise[0], rise[1], way[0]);
        slope[0] = line[1] - line[0];
        (mix(line[0], line[1], way[0]), slope)
    }
}

#[inline(always)]
fn mix(a: Real, b: Real, t: Real) -> Real {
    a + t * (b - a)
}

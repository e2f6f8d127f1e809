//! Values between the cells.
//!
//! Sampling works on chunks of up to 128 cells: of an x-row, or several rows of a tile. A point is given as a displacement from its cell, in
//! cells: `cell = i + floor(d)`, `fraction = d - floor(d)`, which has the same rounding wherever the cell lies. All fields
//! at one location share the places of the low corners in memory and the fractions.

mod gather;
mod window;

pub(crate) use gather::{Corners, Places, gather, gather_within, max, min};
pub use gather::{Isa, Kernel};
pub(crate) use window::{Windows, furthest, reach};

use crate::Real;
use crate::field::Field;
use crate::grid::{End, Ends};
use crate::layout::{HALO, Layout, Row, SLACK, tile_width};

/// Points handled at once: small enough for the first-level cache, large enough to amortise the bookkeeping.
pub(crate) const CHUNK: usize = 128;

/// One number per point of a chunk.
pub(crate) type Lanes = [Real; CHUNK];

/// Some cells of a run: the first cell, how many, and that number rounded up to whole vectors.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<const D: usize> {
    /// Of the first cell, in the box (or the window) that is sampled.
    pub first: [i32; D],
    /// Of the first cell, in its run.
    pub x: usize,
    pub len: usize,
    pub lanes: usize,
    /// Cells per row, as a power of two: the next ones belong to the next row along y.
    row_bits: u32,
}

impl<const D: usize> Chunk<D> {
    /// The part of a whole run that belongs to the chunk.
    #[inline(always)]
    pub fn of<'a>(&self, run: &'a [Real]) -> &'a [Real] {
        &run[self.x..][..self.len]
    }

    /// Writes the chunk's values into a whole run.
    #[inline(always)]
    pub fn store(&self, values: &Lanes, run: &mut [Real]) {
        run[self.x..][..self.len].copy_from_slice(&values[..self.len]);
    }

    /// The rows that the chunk is made of, or the part of one: index of the first cell, its lane, and how many.
    #[inline(always)]
    pub fn lines(&self, row: Row<'_, D>) -> impl Iterator<Item = ([i32; D], usize, usize)> + use<D> {
        let (chunk, len) = (*self, if row.on_tiles() { 1 << self.row_bits } else { self.len });
        (0..chunk.len / len).map(move |j| {
            let mut first = chunk.first;
            first[1] += j as i32;
            (first, j * len, len)
        })
    }

    /// Index along axis `a` of the cell of each lane.
    #[inline(always)]
    fn index(&self, a: usize) -> impl Fn(usize) -> i32 + use<D> {
        let first = self.first[a];
        let (shift, mask) = match a {
            0 => (0, (1 << self.row_bits) - 1),
            1 => (self.row_bits, i32::MAX),
            _ => (0, 0),
        };
        move |l| first.wrapping_add(l as i32 >> shift & mask)
    }
}

/// The chunks of some cells of the run that begins with `row`; on tiles of all its cells, and with indices of a window with this
/// margin.
pub(crate) fn chunks<const D: usize>(
    row: Row<'_, D>,
    cells: std::ops::Range<usize>,
    margin: i32,
) -> impl Iterator<Item = Chunk<D>> {
    let (mut first, mut row_bits) = (row.index.map(|i| i as i32), CHUNK.ilog2());
    if row.on_tiles() {
        let width = tile_width::<D>();
        first = first.map(|i| margin + (i & (width as i32 - 1)));
        row_bits = width.ilog2();
    }
    let end = cells.end;
    cells.step_by(CHUNK).map(move |x| {
        let mut first = first;
        if row_bits == CHUNK.ilog2() {
            first[0] = x as i32;
        }
        let len = (end - x).min(CHUNK);
        Chunk { first, x, len, lanes: len.next_multiple_of(8), row_bits }
    })
}

/// From which point of a cell to values at which point, along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Points {
    /// From points to values of the same kind, between the faces across this axis.
    CenterToCenter,
    /// From centres to values on the lower faces.
    CenterToFace,
    /// From the lower faces to values on the lower faces.
    FaceToFace,
}

/// Adding and subtracting this number rounds to the nearest whole one; in the sum's bits the whole part can be read
/// directly. `floor()` and `as i32` would keep the loops from being vectorised on the oldest machines.
const ROUND: Real = 12_582_912.0;

/// The nearest whole number, for |x| < 2^22.
#[inline(always)]
fn round(x: Real) -> Real {
    (x + ROUND) - ROUND
}

/// The next whole number below or at `x`, for |x| < 2^22.
#[inline(always)]
fn floor(x: Real) -> Real {
    let whole = round(x);
    if whole > x { whole - 1.0 } else { whole }
}

/// The whole number `x` as an integer, for |x| < 2^22.
#[inline(always)]
fn to_int(x: Real) -> i32 {
    ((x + ROUND).to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32)
}

/// Cell and fraction along one axis for every point of a chunk.
pub(crate) struct AxisLanes {
    pub cell: [i32; CHUNK],
    pub frac: Lanes,
    /// Where the point was moved, or lies where a correction means nothing: all ones.
    pub moved: [u32; CHUNK],
}

impl AxisLanes {
    pub fn new() -> Self {
        AxisLanes { cell: [0; CHUNK], frac: [0.0; CHUNK], moved: [0; CHUNK] }
    }
}

/// How displacements along one axis are kept inside the box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisRule {
    n: Real,
    inv_n: Real,
    cells: i32,
    periodic: bool,
    /// The faces on the two ends.
    ends: [Real; 2],
    /// How far beyond the ends points may lie that are sampled from centres: what is conserved comes from cells outside.
    beyond: [Real; 2],
    /// Cells whose stencils reach no ghosts of an end that prescribes a value, for what is conserved.
    inside: [i32; 2],
}

/// Which fields a rule is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules<const D: usize> {
    /// What they do at the ends.
    pub ends: [Ends; D],
    /// For what is conserved: beyond an end that prescribes a value lie cells that hold it
    /// ([`Field::fill_halo_from_outside`]), and points whose stencils reach them count as moved.
    pub conserved: bool,
}

impl<const D: usize> Rules<D> {
    /// The rules in a box.
    pub fn of_box(&self, cells: [usize; D]) -> [AxisRule; D] {
        std::array::from_fn(|a| self.rule(a, cells[a], [Some(0), Some(cells[a] as i32)]))
    }

    /// The rule along an axis, over so many cells, with sides on these faces.
    pub fn rule(&self, a: usize, cells: usize, sides: [Option<i32>; 2]) -> AxisRule {
        let faces = [sides[0].unwrap_or(0), sides[1].unwrap_or(cells as i32)];
        let (mut beyond, mut inside) = ([0.0; 2], [i32::MIN, i32::MAX]);
        for (k, end) in self.ends[a].pair().into_iter().flatten().enumerate() {
            if self.conserved && sides[k].is_some() && matches!(end, End::Value(_)) {
                beyond[k] = 0.5;
                inside[k] = if k == 0 { faces[0] } else { faces[1] - 2 };
            }
        }
        let n = cells as Real;
        let periodic = self.ends[a] == Ends::Periodic;
        AxisRule { n, inv_n: 1.0 / n, cells: cells as i32, periodic, ends: faces.map(|f| f as Real), beyond, inside }
    }
}

impl AxisRule {
    /// Finds cell and fraction of the points `d` cells away from those of the chunk's cells. On a bounded axis points are
    /// moved to the nearest boundary face, or to the nearest cell outside ([`Rules::conserved`]).
    #[inline(always)]
    pub fn locate<const D: usize>(&self, a: usize, chunk: Chunk<D>, d: &Lanes, points: Points, out: &mut AxisLanes) {
        let n = chunk.lanes;
        let (d, cell, frac, moved) = (&d[..n], &mut out.cell[..n], &mut out.frac[..n], &mut out.moved[..n]);
        let shift = if points == Points::CenterToFace { 0.5 } else { 0.0 };
        // Lanes behind the end of the row repeat its last cell.
        let last = self.cells - 1;
        let index = chunk.index(a);
        let index = |l: usize| index(l).min(last);

        if self.periodic {
            for l in 0..n {
                let d = d[l] + shift;
                // Whole turns first, so that a small displacement keeps all its digits; then a guard against NaN.
                let d = d - round(d * self.inv_n) * self.n;
                let d = min(max(d, -self.n), self.n);
                let whole = floor(d);
                let i = index(l).wrapping_add(to_int(whole));
                let i = if i < 0 { i.wrapping_add(self.cells) } else { i };
                cell[l] = if i >= self.cells { i.wrapping_sub(self.cells) } else { i };
                frac[l] = d - whole;
            }
        } else {
            // The boundary faces, in cells from value 0: they carry values on faces, and lie half a cell out for others.
            let centered = points == Points::CenterToCenter;
            let [first, end] = self.ends;
            let (lo, hi) =
                if centered { (first - 0.5 - self.beyond[0], end - 0.5 + self.beyond[1]) } else { (first, end) };
            let inside = if centered { self.inside } else { [i32::MIN, i32::MAX] };
            // What lies on the last value is found at the upper end of the last cell.
            let last_cell = end - 1.0;
            for l in 0..n {
                let i = index(l);
                let at = i as Real;
                let free = d[l] + shift;
                let d = min(max(free, lo - at), hi - at);
                let whole = min(floor(d), last_cell - at);
                cell[l] = i.wrapping_add(to_int(whole));
                let free_inside = (d == free) & (cell[l] >= inside[0]) & (cell[l] <= inside[1]);
                moved[l] = if free_inside { 0 } else { u32::MAX };
                frac[l] = d - whole;
            }
        }
    }
}

/// Turns cells along each axis into places in memory.
#[inline(always)]
pub(crate) fn flatten<const D: usize>(layout: &Layout<D>, axis: [&AxisLanes; D], lanes: usize, places: &mut Places) {
    let stride = layout.stride().map(|s| s as i32);
    let corner = stride.iter().fold(SLACK as i32, |o, s| o + HALO as i32 * s);
    places.set(lanes, |l| {
        let mut at = corner.wrapping_add(axis[0].cell[l]);
        for a in 1..D {
            at = at.wrapping_add(axis[a].cell[l].wrapping_mul(stride[a]));
        }
        at as u32
    });
}

impl<const D: usize> Field<D> {
    pub(crate) fn corners(&self) -> Corners<'_, D> {
        Corners { data: &self.data, stride: self.layout().stride() }
    }

    /// How points are kept inside, for what is conserved or for anything else.
    pub(crate) fn rules(&self, conserved: bool) -> Rules<D> {
        Rules { ends: self.ends(), conserved }
    }

    /// The value at a point given in cells from the grid's origin, by linear interpolation between values and ghosts.
    /// Points outside a bounded axis count as on its boundary. For single look-ups; kernels sample rows.
    pub fn sample(&self, point: [f64; D]) -> Real {
        let cells = self.cells();
        let mut index = [0isize; D];
        let mut frac = [0.0; D];
        for a in 0..D {
            let shift = if self.at().on_lower_side(a) { 0.0 } else { 0.5 };
            let p = match self.ends()[a].pair() {
                None => point[a].rem_euclid(cells[a] as f64),
                Some([lo, hi]) => {
                    let is_end = |end| !matches!(end, End::Outside(_));
                    let p = if is_end(lo) { point[a].max(0.0) } else { point[a] };
                    if is_end(hi) { p.min(self.layout().end(a) as f64) } else { p }
                }
            };
            let p = p - shift;
            index[a] = p.floor() as isize;
            frac[a] = (p - p.floor()) as Real;
        }
        let mut sum = 0.0;
        for corner in 0..1usize << D {
            let mut weight = 1.0;
            let mut i = index;
            for a in 0..D {
                let high = corner >> a & 1;
                i[a] += high as isize;
                weight *= if high == 1 { frac[a] } else { 1.0 - frac[a] };
            }
            sum += weight * self.get_signed(i);
        }
        sum
    }
}

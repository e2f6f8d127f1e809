//! Values between the cells.
//!
//! Sampling works on chunks of up to 128 cells of an x-row. A point is given as a displacement from its cell, in
//! cells: `cell = i + floor(d)`, `fraction = d - floor(d)`, which has the same rounding wherever the cell lies. All fields
//! at one location share the places of the low corners in memory and the fractions.

mod gather;

pub(crate) use gather::{Corners, Places, gather, limit, max, min};
pub use gather::{Isa, Kernel};

use crate::Real;
use crate::field::Field;
use crate::grid::{At, Ends};
use crate::layout::{HALO, Layout, SLACK};

/// Points handled at once: small enough for the first-level cache, large enough to amortise the bookkeeping.
pub(crate) const CHUNK: usize = 128;

/// One number per point of a chunk.
pub(crate) type Lanes = [Real; CHUNK];

/// Some cells of one x-row: the first cell, how many, and that number rounded up to whole vectors.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<const D: usize> {
    pub first: [i32; D],
    pub len: usize,
    pub lanes: usize,
}

impl<const D: usize> Chunk<D> {
    /// The part of a whole row that belongs to the chunk.
    #[inline(always)]
    pub fn of<'a>(&self, row: &'a [Real]) -> &'a [Real] {
        &row[self.first[0] as usize..][..self.len]
    }

    /// Writes the chunk's values into a whole row.
    #[inline(always)]
    pub fn store(&self, values: &Lanes, row: &mut [Real]) {
        row[self.first[0] as usize..][..self.len].copy_from_slice(&values[..self.len]);
    }
}

/// The chunks of an x-row of `nx` cells.
pub(crate) fn chunks<const D: usize>(index: [isize; D], nx: usize) -> impl Iterator<Item = Chunk<D>> {
    (0..nx).step_by(CHUNK).map(move |x| {
        let mut first = index.map(|i| i as i32);
        first[0] = x as i32;
        let len = (nx - x).min(CHUNK);
        Chunk { first, len, lanes: len.next_multiple_of(8) }
    })
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
    /// Where the point lay outside a bounded axis: all ones.
    pub moved: [u32; CHUNK],
}

impl AxisLanes {
    pub fn new() -> Self {
        AxisLanes { cell: [0; CHUNK], frac: [0.0; CHUNK], moved: [0; CHUNK] }
    }
}

/// How displacements along one axis are kept inside the box.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AxisRule {
    n: Real,
    inv_n: Real,
    cells: i32,
    periodic: bool,
}

impl AxisRule {
    pub fn new(cells: usize, ends: Ends) -> Self {
        let n = cells as Real;
        AxisRule { n, inv_n: 1.0 / n, cells: cells as i32, periodic: ends == Ends::Periodic }
    }

    /// Finds cell and fraction of the points `d` cells away from the centres of the chunk's cells.
    ///
    /// `on_face`: for values on the faces across this axis, which lie half a cell below the centres. On a bounded axis
    /// points are moved to the nearest boundary face.
    #[inline(always)]
    pub fn locate<const D: usize>(&self, a: usize, chunk: Chunk<D>, d: &Lanes, on_face: bool, out: &mut AxisLanes) {
        let n = chunk.lanes;
        let (d, cell, frac, moved) = (&d[..n], &mut out.cell[..n], &mut out.frac[..n], &mut out.moved[..n]);
        let shift = if on_face { 0.5 } else { 0.0 };
        let (first, step) = (chunk.first[a], (a == 0) as i32);
        // Lanes behind the end of the row repeat its last cell.
        let last = self.cells - 1;
        let index = |l: usize| first.wrapping_add(step.wrapping_mul(l as i32)).min(last);

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
            let lo = shift - 0.5;
            let hi = self.n + lo;
            for l in 0..n {
                let i = index(l);
                let at = i as Real;
                let free = d[l] + shift;
                let d = min(max(free, lo - at), hi - at);
                let whole = floor(d);
                moved[l] = if d == free { 0 } else { u32::MAX };
                cell[l] = i.wrapping_add(to_int(whole));
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

    pub(crate) fn axis_rules(&self) -> [AxisRule; D] {
        std::array::from_fn(|a| AxisRule::new(self.cells()[a], self.ends()[a]))
    }

    /// The value at a point given in cells from the grid's origin, by linear interpolation between values and ghosts.
    /// Points outside a bounded axis count as on its boundary. For single look-ups; kernels sample rows.
    pub fn sample(&self, point: [f64; D]) -> Real {
        let cells = self.cells();
        let mut index = [0isize; D];
        let mut frac = [0.0; D];
        for a in 0..D {
            let n = cells[a] as f64;
            let shift = if self.at() == At::Face(a) { 0.0 } else { 0.5 };
            let p = if self.ends()[a] == Ends::Periodic { point[a].rem_euclid(n) } else { point[a].clamp(0.0, n) };
            let p = (p - shift).min(n);
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

//! Interpolation between cells.
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
use crate::layout::{Layout, Row, tile_width};

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

    /// How many indices along axis `a` the lanes have.
    #[inline(always)]
    fn extent(&self, a: usize) -> i32 {
        match a {
            0 => self.lanes.min(1 << self.row_bits) as i32,
            1 => self.lanes.div_ceil(1 << self.row_bits) as i32,
            _ => 1,
        }
    }

    /// The index along axis `a` of lane `l` is that of the first plus `l >> bits & mask`: bits and mask.
    #[inline(always)]
    fn along(&self, a: usize) -> [i32; 2] {
        match a {
            0 => [0, (1 << self.row_bits) - 1],
            1 => [self.row_bits as i32, i32::MAX],
            _ => [0, 0],
        }
    }
}

/// The chunks of some cells of the run that begins with `row`; on tiles of all its cells, and with indices of a window in which the
/// tile begins at `corner`.
pub(crate) fn chunks<const D: usize>(
    row: Row<'_, D>,
    cells: std::ops::Range<usize>,
    corner: [i32; D],
) -> impl Iterator<Item = Chunk<D>> {
    let (mut first, mut row_bits) = (row.index.map(|i| i as i32), CHUNK.ilog2());
    if row.on_tiles() {
        let width = tile_width::<D>();
        first = std::array::from_fn(|a| corner[a] + (first[a] & (width as i32 - 1)));
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

impl Points {
    /// How far the values lie before the points, in cells.
    #[inline(always)]
    fn shift(self) -> Real {
        if self == Points::CenterToFace { 0.5 } else { 0.0 }
    }
}

/// Adding and subtracting this number rounds to the nearest whole one; in the sum's bits the whole part can be read
/// directly. `floor()` and `as i32` would keep the loops from being vectorised on the oldest machines.
const ROUND: Real = 12_582_912.0;

/// The nearest whole number, for |x| < 2^22.
#[inline(always)]
fn round(x: Real) -> Real {
    (x + ROUND) - ROUND
}

/// The next whole number below or at `x`, for |x| < 2^22: as it is, and as an integer.
#[inline(always)]
fn floor(x: Real) -> (Real, i32) {
    let sum = x + ROUND;
    let (whole, int) = (sum - ROUND, (sum.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32));
    let above = whole > x;
    (if above { whole - 1.0 } else { whole }, int.wrapping_sub(above as i32))
}

/// The whole number `x` as an integer, for |x| < 2^22.
#[inline(always)]
fn to_int(x: Real) -> i32 {
    ((x + ROUND).to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32)
}

/// Where the points of a chunk lie: the places of their low corners in memory, and how much of the way from there to the next
/// along each axis.
pub(crate) struct Located<const D: usize> {
    pub places: Places,
    pub frac: [Lanes; D],
    /// Where a point was moved, or lies where a correction means nothing: not 0.
    pub moved: [u32; CHUNK],
}

impl<const D: usize> Located<D> {
    pub fn new() -> Self {
        Located { places: Places::new(), frac: [[0.0; CHUNK]; D], moved: [0; CHUNK] }
    }

    /// Locates the points `d` cells away from those of the chunk's cells, among the values of a box or a window. No displacement
    /// is longer than `longest`; that may be more than they are.
    #[inline(always)]
    pub fn find(
        &mut self,
        layout: &Layout<D>,
        rules: &[AxisRule; D],
        chunk: Chunk<D>,
        (d, longest): ([&Lanes; D], [Real; D]),
        points: [Points; D],
    ) {
        let Located { places, frac, moved } = self;
        let n = chunk.lanes;
        // Lanes behind the end of a row hold anything.
        let whole = chunk.len == n;
        let mut free = [false; D];
        for a in 0..D {
            let longest = if whole { longest[a] } else { Real::INFINITY };
            free[a] = rules[a].is_free(a, chunk, &d[a][..n], longest, points[a]);
        }
        let (places_of, moved) = (&mut places.open()[..n], &mut moved[..n]);
        // In 3D most chunks meet no end but along x, if that.
        if let (3, true, true) = (D, free[D - 2] && free[D - 1], free[0] || !rules[0].periodic) {
            let out = (&mut *places_of, &mut *moved);
            match free[0] {
                true => locate_between::<D, true>(rules, layout, chunk, (d, points), frac, out),
                false => locate_between::<D, false>(rules, layout, chunk, (d, points), frac, out),
            }
            return places.close(n);
        }
        for a in 0..D {
            let axis =
                AxisLanes { d: &d[a][..n], places: &mut *places_of, frac: &mut frac[a][..n], moved: &mut *moved };
            // No closures here: the compiler does not always inline them.
            match (a == 0, free[a]) {
                (true, true) => rules[a].locate_free::<D, true>(a, layout, chunk, points[a], axis),
                (true, false) => rules[a].locate::<D, true>(a, layout, chunk, points[a], axis),
                (false, true) => rules[a].locate_free::<D, false>(a, layout, chunk, points[a], axis),
                (false, false) => rules[a].locate::<D, false>(a, layout, chunk, points[a], axis),
            }
        }
        places.close(n);
    }
}

/// [`AxisRule::locate`] along x, or [`AxisRule::locate_free`] if those points are `FREE` as well, and [`AxisRule::locate_free`] along y
/// and z, in one loop: the same bits.
#[inline(always)]
fn locate_between<const D: usize, const FREE: bool>(
    rules: &[AxisRule; D],
    layout: &Layout<D>,
    chunk: Chunk<D>,
    (d, points): ([&Lanes; D], [Points; D]),
    frac: &mut [Lanes; D],
    (places, moved): (&mut [u32], &mut [u32]),
) {
    let (n, last) = (places.len(), D - 1);
    let Ok([fx, fy, fz]) = frac.get_disjoint_mut([0, 1, last]) else { unreachable!("three axes") };
    let three = Three {
        rule: rules[0],
        first: [chunk.first[0], chunk.first[1], chunk.first[last]],
        along: [chunk.along(0), chunk.along(1), chunk.along(last)],
        stride: [layout.stride()[1] as i32, layout.stride()[last] as i32],
        corner: layout.corner() as i32,
        points: [points[0], points[1], points[last]],
    };
    let (dx, dy, dz) = (&d[0][..n], &d[1][..n], &d[last][..n]);
    three.locate::<FREE>(dx, dy, dz, &mut fx[..n], &mut fy[..n], &mut fz[..n], places, moved);
}

struct Three {
    rule: AxisRule,
    first: [i32; 3],
    along: [[i32; 2]; 3],
    /// Along y and z.
    stride: [i32; 2],
    corner: i32,
    points: [Points; 3],
}

impl Three {
    // Each slice by itself: so the compiler knows that they do not overlap.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn locate<const FREE: bool>(
        self,
        dx: &[Real],
        dy: &[Real],
        dz: &[Real],
        fx: &mut [Real],
        fy: &mut [Real],
        fz: &mut [Real],
        places: &mut [u32],
        moved: &mut [u32],
    ) {
        let Three { rule, first, along, stride, corner, points } = self;
        let n = places.len();
        let (dx, dy, dz) = (&dx[..n], &dy[..n], &dz[..n]);
        let (fx, fy, fz, moved) = (&mut fx[..n], &mut fy[..n], &mut fz[..n], &mut moved[..n]);
        let [sx, sy, sz] = points.map(Points::shift);
        let ([lo, hi], inside) = rule.limits(points[0]);
        let (last_index, last_cell) = (rule.cells - 1, rule.ends[1] - 1.0);
        for l in 0..n {
            let lane = l as i32;
            let i = first[0].wrapping_add(lane >> along[0][0] & along[0][1]);
            let x = dx[l] + sx;
            let cell;
            if FREE {
                let (whole, int) = floor(x);
                fx[l] = x - whole;
                cell = i.wrapping_add(int);
                moved[l] = 0;
            } else {
                let i = i.min(last_index);
                let at = i as Real;
                let d = min(max(x, lo - at), hi - at);
                let whole = min(floor(d).0, last_cell - at);
                fx[l] = d - whole;
                cell = i.wrapping_add(to_int(whole));
                let free_inside = (d == x) & (cell >= inside[0]) & (cell <= inside[1]);
                moved[l] = if free_inside { 0 } else { u32::MAX };
            }
            let (y, z) = (dy[l] + sy, dz[l] + sz);
            let ((whole_y, int_y), (whole_z, int_z)) = (floor(y), floor(z));
            fy[l] = y - whole_y;
            fz[l] = z - whole_z;
            let row = first[1].wrapping_add(lane >> along[1][0] & along[1][1]).wrapping_add(int_y);
            let plane = first[2].wrapping_add(lane >> along[2][0] & along[2][1]).wrapping_add(int_z);
            let behind = row.wrapping_mul(stride[0]).wrapping_add(plane.wrapping_mul(stride[1]));
            places[l] = corner.wrapping_add(cell).wrapping_add(behind) as u32;
        }
    }
}

/// What is found along one axis, from displacements in cells; places add up over the axes.
struct AxisLanes<'a> {
    d: &'a [Real],
    places: &'a mut [u32],
    frac: &'a mut [Real],
    moved: &'a mut [u32],
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
    /// Whether no point of the chunk meets an end or a turn of the axis: so it is for most, but for those along x.
    #[inline(always)]
    fn is_free<const D: usize>(&self, a: usize, chunk: Chunk<D>, d: &[Real], longest: Real, points: Points) -> bool {
        // What rounds may not matter.
        const SPARE: Real = 0.01;
        let (first, end) = (chunk.first[a] as Real, (chunk.first[a] + chunk.extent(a)) as Real);
        let room = min(first - self.ends[0], self.ends[1] - end - points.shift()) - SPARE;
        if room < 0.0 || longest <= room {
            return room >= 0.0;
        }
        // Without their signs, bits are ordered like numbers, and what is not a number comes last.
        let mut most = 0;
        for d in d {
            let size = d.to_bits() & !(1 << 31);
            most = if size > most { size } else { most };
        }
        Real::from_bits(most) <= room
    }

    /// [`AxisRule::locate`] where all points are free.
    #[inline(always)]
    fn locate_free<const D: usize, const FIRST: bool>(
        &self,
        a: usize,
        layout: &Layout<D>,
        chunk: Chunk<D>,
        points: Points,
        out: AxisLanes,
    ) {
        let (corner, stride) = (layout.corner() as i32, layout.stride()[a] as i32);
        let (first, [bits, mask]) = (chunk.first[a], chunk.along(a));
        let AxisLanes { d, places, frac, moved } = out;
        let n = d.len();
        let (places, frac, moved) = (&mut places[..n], &mut frac[..n], &mut moved[..n]);
        let shift = points.shift();
        for l in 0..n {
            let d = d[l] + shift;
            let (whole, int) = floor(d);
            frac[l] = d - whole;
            let i = first.wrapping_add((l as i32) >> bits & mask);
            let place = i.wrapping_add(int).wrapping_mul(stride) as u32;
            places[l] = place.wrapping_add(if FIRST { corner as u32 } else { places[l] });
            if FIRST {
                moved[l] = 0;
            }
        }
    }

    /// On a bounded axis the boundary faces, in cells from value 0: they carry values on faces, and lie half a cell out for others.
    /// And the cells between which no point counts as moved.
    #[inline(always)]
    fn limits(&self, points: Points) -> ([Real; 2], [i32; 2]) {
        let [begin, end] = self.ends;
        match points {
            Points::CenterToCenter => ([begin - 0.5 - self.beyond[0], end - 0.5 + self.beyond[1]], self.inside),
            _ => ([begin, end], [i32::MIN, i32::MAX]),
        }
    }

    /// Finds places and fractions of points. On a bounded axis they are moved to the nearest boundary face, or to the nearest cell
    /// outside ([`Rules::conserved`]).
    #[inline(always)]
    fn locate<const D: usize, const FIRST: bool>(
        &self,
        a: usize,
        layout: &Layout<D>,
        chunk: Chunk<D>,
        points: Points,
        out: AxisLanes,
    ) {
        let (corner, stride) = (layout.corner() as i32, layout.stride()[a] as i32);
        let (first, [bits, mask]) = (chunk.first[a], chunk.along(a));
        let AxisLanes { d, places, frac, moved } = out;
        let n = d.len();
        let (places, frac, moved) = (&mut places[..n], &mut frac[..n], &mut moved[..n]);
        let shift = points.shift();
        // Lanes behind the end of the row repeat its last cell.
        let last = self.cells - 1;

        if self.periodic {
            for l in 0..n {
                let i = first.wrapping_add((l as i32) >> bits & mask).min(last);
                let d = d[l] + shift;
                // Whole turns first, so that a small displacement keeps all its digits; then a guard against NaN.
                let d = d - round(d * self.inv_n) * self.n;
                let d = min(max(d, -self.n), self.n);
                let (whole, int) = floor(d);
                let i = i.wrapping_add(int);
                let i = if i < 0 { i.wrapping_add(self.cells) } else { i };
                let i = if i >= self.cells { i.wrapping_sub(self.cells) } else { i };
                frac[l] = d - whole;
                let place = i.wrapping_mul(stride) as u32;
                places[l] = place.wrapping_add(if FIRST { corner as u32 } else { places[l] });
                if FIRST {
                    moved[l] = 0;
                }
            }
        } else {
            let ([lo, hi], inside) = self.limits(points);
            // What lies on the last value is found at the upper end of the last cell.
            let last_cell = self.ends[1] - 1.0;
            for l in 0..n {
                let i = first.wrapping_add((l as i32) >> bits & mask).min(last);
                let at = i as Real;
                let free = d[l] + shift;
                let d = min(max(free, lo - at), hi - at);
                let whole = min(floor(d).0, last_cell - at);
                let cell = i.wrapping_add(to_int(whole));
                let free_inside = (d == free) & (cell >= inside[0]) & (cell <= inside[1]);
                let hit = if free_inside { 0 } else { u32::MAX };
                frac[l] = d - whole;
                let place = cell.wrapping_mul(stride) as u32;
                places[l] = place.wrapping_add(if FIRST { corner as u32 } else { places[l] });
                moved[l] = if FIRST { hit } else { moved[l] | hit };
            }
        }
    }
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

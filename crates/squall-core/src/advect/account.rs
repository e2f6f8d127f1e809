//! The effect of advection on the amount of a substance: flux through the sides, and the small error that is put back.
//!
//! `sum after = sum before + through_sides` for what is carried with [`carry`](super::carry) as conserved, up to the
//! error of transport, which [`settle`] can put back. Sums are over cells, not yet times their volume.

use super::{Advection, MapScratch};
use crate::Real;
use crate::field::{Field, Pad};
use crate::grid::{End, Ends};
use crate::layout::Row;
use crate::ops::{is_all, lanes_sum};
use crate::rows;

/// The amount of `field - ambient` that enters (positive) or leaves (negative) through the ends of the box that prescribe a
/// value, along the paths that were traced last, given the field before transport.
///
/// What leaves: beyond such an end we imagine more cells, which move like the cell beside them, and look what they take
/// from the box. What enters: the part that cells of the box take from outside, times the value there. MacCormack's
/// correction moves a little against the slope, and ends before the sides: what it moved across the last cell that has it
/// counts as well.
pub fn through_sides<const D: usize>(scheme: Advection, field: &Field<D>, ambient: Real, paths: &MapScratch<D>) -> f64 {
    let value = |end| if let End::Value(b) = end { Some(b) } else { None };
    let held = field.ends().map(|ends| ends.pair().map_or([None; 2], |pair| pair.map(value)));
    if held.iter().flatten().all(Option::is_none) {
        return 0.0;
    }
    let brings = held.iter().flatten().flatten().any(|&b| b != ambient);
    let corrects = scheme == Advection::MacCormack;
    let is_end = |end| !matches!(end, End::Outside(_));
    let first = field.ends().map(|ends| if ends.pair().is_none_or(|[lo, _]| is_end(lo)) { 0 } else { isize::MIN });
    let end = std::array::from_fn(|a| field.layout().end(a));
    let Some(there) = where_it_is(field, ambient) else {
        if !brings {
            return 0.0;
        }
        let sides = Sides { field, ambient, held, corrects, d: paths.back(), first, end, there: None };
        return rows::reduce(field.layout(), |row| sides.entering(row), |a, b| a + b);
    };
    let reach = std::array::from_fn(|a| paths.longest_reach(a) as isize + 3);
    let sides = Sides { field, ambient, held, corrects, d: paths.back(), first, end, there: Some((there, reach)) };
    let of_row = |row: Row<'_, D>| sides.leaving(row) + if brings { sides.entering(row) } else { 0.0 };
    rows::reduce(field.layout(), of_row, |a, b| a + b)
}

struct Sides<'a, const D: usize> {
    field: &'a Field<D>,
    ambient: Real,
    /// The values that the ends of each axis prescribe.
    held: [[Option<Real>; 2]; D],
    corrects: bool,
    d: &'a [Field<D>],
    /// The first cell along each axis, and the one behind the last; far away where there is no end.
    first: [isize; D],
    end: [isize; D],
    /// The box of cells that differ from the ambient value, and how far away cells may take something from there.
    there: Option<([std::ops::Range<isize>; D], [isize; D])>,
}

/// The box of cells that differ from the ambient value, if any does.
fn where_it_is<const D: usize>(field: &Field<D>, ambient: Real) -> Option<[std::ops::Range<isize>; D]> {
    type Found<const D: usize> = Option<[std::ops::Range<isize>; D]>;
    let of_row = |row: Row<'_, D>| -> Found<D> {
        let a = field.row(row);
        let first = a.iter().position(|&a| a != ambient)? as isize;
        let last = a.iter().rposition(|&a| a != ambient)? as isize;
        let start = row.index[0];
        Some(std::array::from_fn(
            |b| if b == 0 { start + first..start + last + 1 } else { row.index[b]..row.index[b] + 1 },
        ))
    };
    let both = |x: Found<D>, y: Found<D>| match (x, y) {
        (Some(x), Some(y)) => Some(std::array::from_fn(|a| x[a].start.min(y[a].start)..x[a].end.max(y[a].end))),
        (x, y) => x.or(y),
    };
    rows::reduce(field.layout(), of_row, both)
}

/// Paths that are longer than so many cells are cut off.
const LONGEST: f64 = 1e4;

impl<const D: usize> Sides<'_, D> {
    /// Minus what the imagined cells beyond the ends take, over those beside the cells of a row.
    fn leaving(&self, row: Row<'_, D>) -> f64 {
        let at_end = |a: usize, i: isize| {
            i == 0 && self.held[a][0].is_some() || i == self.end[a] - 1 && self.held[a][1].is_some()
        };
        let near = |a: usize| {
            self.there.as_ref().map_or(0..0, |(there, reach)| there[a].start - reach[a]..there[a].end + reach[a])
        };
        if (1..D).any(|a| !near(a).contains(&row.index[a])) {
            return 0.0;
        }
        let whole = (1..D).any(|a| at_end(a, row.index[a]));
        let (near, first) = (near(0), row.index[0]);
        let cells = (first.max(near.start)..near.end.min(first + self.field.cells()[0] as isize))
            .filter(|&x| whole || at_end(0, x));
        cells.map(|x| self.beyond(row, x)).sum()
    }

    /// What the imagined cells beyond one cell on the rim take, negative.
    fn beyond(&self, row: Row<'_, D>, x: isize) -> f64 {
        let mut cell = row.index;
        cell[0] = x;
        let d: [f64; D] = std::array::from_fn(|a| self.d[a].get_signed(cell) as f64);
        // Nothing is taken where nothing is; the correction looks two cells further.
        let reaches = |a: usize| {
            let way = d[a].abs().min(LONGEST).ceil() as isize + 3;
            self.there.as_ref().is_some_and(|(there, _)| there[a].start - way < cell[a] && cell[a] < there[a].end + way)
        };
        if !(0..D).all(reaches) {
            return 0.0;
        }
        // How many layers may take something: those from which a path comes back into the box. (A path longer than the box
        // empties it all the same.)
        let layers: [[isize; 2]; D] = std::array::from_fn(|a| {
            let count = |way: f64| way.ceil().clamp(0.0, (2.0 * self.end[a] as f64).min(LONGEST)) as isize;
            let below = cell[a] == 0 && self.held[a][0].is_some();
            let above = cell[a] == self.end[a] - 1 && self.held[a][1].is_some();
            [if below { count(d[a]) } else { 0 }, if above { count(-d[a]) } else { 0 }]
        });
        let counts: [isize; D] = std::array::from_fn(|a| layers[a][0] + layers[a][1] + 1);
        let mut taken = 0.0;
        for k in 0..counts.iter().product::<isize>() {
            let mut rest = k;
            let offset: [isize; D] = std::array::from_fn(|a| {
                let o = rest % counts[a] - layers[a][0];
                rest /= counts[a];
                o
            });
            if offset != [0; D] {
                let point = std::array::from_fn(|a| (cell[a] + offset[a]) as f64 + d[a]);
                taken += self.corners(point, |i| (self.field.get_signed(i) - self.ambient) as f64, |_| 0.0);
            }
        }
        if self.corrects {
            taken -= self.corrected(cell, d);
        }
        -taken
    }

    /// What the correction adds to the box in the column behind a cell on the rim. With a displacement of `m + f` cells across
    /// the side, the error of going there and back is `-f (1 - f) / 2` times the second difference.
    fn corrected(&self, cell: [isize; D], d: [f64; D]) -> f64 {
        let mut added = 0.0;
        for a in 0..D {
            for (held, first, inward) in [(self.held[a][0], 0, 1), (self.held[a][1], self.end[a] - 1, -1)] {
                if held.is_none() || cell[a] != first {
                    continue;
                }
                let value = |depth: isize| {
                    let mut i = cell;
                    i[a] = (i[a] + inward * depth).clamp(self.first[a], self.end[a] - 1);
                    self.field.get_signed(i) as f64
                };
                let cells = d[a].abs();
                let (m, f) = (cells.floor(), cells - cells.floor());
                let k = 0.5 * f * (1.0 - f);
                if d[a] * inward as f64 > 0.0 {
                    // Out: the last cells lack the correction, as their way forward ends outside.
                    let m = m.min(LONGEST) as isize;
                    added -= k * (value(m) - value(m + 1));
                } else {
                    // In: what comes from outside and from the first cell lacks it. (A part of the first cell's gets
                    // through, but the limiter takes it where it is large.)
                    added += k * (value(1) - value(0));
                }
            }
        }
        added
    }

    /// What the cells of a row take from outside.
    fn entering(&self, row: Row<'_, D>) -> f64 {
        let d: [&[Real]; D] = std::array::from_fn(|a| self.d[a].row(row));
        let mut taken = 0.0;
        for x in 0..self.field.cells()[0] {
            let mut point = row.index.map(|i| i as f64);
            point[0] += x as f64;
            let mut outside = false;
            for a in 0..D {
                point[a] += d[a][x] as f64;
                outside |= point[a] < 0.0 && self.held[a][0].is_some();
                outside |= point[a] > (self.end[a] - 1) as f64 && self.held[a][1].is_some();
            }
            if outside {
                taken += self.corners(point, |_| 0.0, |b| (b - self.ambient) as f64);
            }
        }
        taken
    }

    /// Linear interpolation at a point, in cells from the first centre, of a function of cells inside and one of the value
    /// outside.
    fn corners(&self, point: [f64; D], inside: impl Fn([isize; D]) -> f64, outside: impl Fn(Real) -> f64) -> f64 {
        let low = point.map(|p| p.floor());
        let mut sum = 0.0;
        for corner in 0..1usize << D {
            let (mut weight, mut value) = (1.0, None);
            let index = std::array::from_fn(|a| {
                let high = corner >> a & 1 == 1;
                let fraction = point[a] - low[a];
                weight *= if high { fraction } else { 1.0 - fraction };
                let (i, n) = ((low[a].clamp(-1e9, 1e9) as isize) + high as isize, self.end[a]);
                // The last axis that is left decides, as it does for ghosts.
                if i < 0 {
                    value = self.held[a][0].or(value);
                } else if i >= n {
                    value = self.held[a][1].or(value);
                }
                if self.field.ends()[a] == Ends::Periodic { i.rem_euclid(n) } else { i.clamp(self.first[a], n - 1) }
            });
            if weight > 0.0 {
                sum += weight * value.map_or_else(|| inside(index), &outside);
            }
        }
        sum
    }
}

/// Parts of a sum smaller than this are rounding.
const ROUNDING: f64 = 1e-7;

/// Adds `missing`, a small part of the sum of `field - ambient`, of either sign, so that no new extrema appear:
/// `a += lambda room`, where `room` is the way to the largest (smallest, if something must go) of the values beside. Returns
/// what was added. `there` is the sum of the sizes of `field - ambient`: parts of it that are rounding are left alone.
///
/// `volumes` weigh the sum, with ghosts: the part of each cell that is fluid; or, with `whole`, every cell that is fluid at all
/// counts as a whole one. Cells that are solid are neither changed nor looked at. `spare` is overwritten.
pub fn settle<const D: usize>(
    field: &mut Field<D>,
    (volumes, whole): (Option<&Field<D>>, bool),
    ambient: Real,
    (missing, there): (f64, f64),
    spare: &mut Field<D>,
) -> f64 {
    if !missing.is_finite() || !there.is_finite() || missing.abs() <= ROUNDING * there {
        return 0.0;
    }
    field.fill_halo_from_outside();
    spare.relabel(field.at(), field.ends());
    let sign = if missing > 0.0 { 1.0 } else { -1.0 };
    let old = &*field;
    let find_room = |row: Row<'_, D>, [room]: [&mut [Real]; 1]| {
        let here = old.row(row);
        room.fill(0.0);
        let mut pads = [Pad::default(); 2];
        // Most rows hold nothing, and have nothing beside them.
        let mut empty = is_all(here, ambient);
        for a in 0..D {
            let [low, high] = &mut pads;
            empty = empty && is_all(old.down(row, a, low), ambient) && is_all(old.up(row, a, high), ambient);
        }
        if empty {
            return 0.0;
        }
        for a in 0..D {
            for upper in [false, true] {
                let [pad, other] = &mut pads;
                let beside = if upper { old.up(row, a, pad) } else { old.down(row, a, pad) };
                match volumes {
                    None => {
                        for x in 0..room.len() {
                            let way = sign * (beside[x] - here[x]);
                            room[x] = if way > room[x] { way } else { room[x] };
                        }
                    }
                    Some(v) => {
                        let (mine, theirs) =
                            (v.row(row), if upper { v.up(row, a, other) } else { v.down(row, a, other) });
                        for x in 0..room.len() {
                            let way = sign * (beside[x] - here[x]);
                            let fluid = (mine[x] > 0.0) & (theirs[x] > 0.0);
                            room[x] = if fluid & (way > room[x]) { way } else { room[x] };
                        }
                    }
                }
            }
        }
        match volumes.filter(|_| !whole) {
            None => lanes_sum(room.len(), |x| room[x] as f64),
            Some(v) => {
                let v = v.row(row);
                lanes_sum(room.len(), |x| v[x] as f64 * room[x] as f64)
            }
        }
    };
    let room = rows::for_each_and_reduce([&mut *spare], find_room, |a, b| a + b);
    // Half the way at most: what is left in the end is for the next step.
    let part = if room > 0.0 { (missing.abs() / room).min(0.5) } else { 0.0 };
    let step = (sign as f64 * part) as Real;
    let room_of = &*spare;
    field.par_rows(|row, a| {
        let room = room_of.row(row);
        if !is_all(room, 0.0) {
            a.iter_mut().zip(room).for_each(|(a, room)| *a += step * room);
        }
    });
    sign as f64 * part * room
}

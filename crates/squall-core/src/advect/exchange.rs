//! Conservative limiting: what the limiter cuts off goes to neighbouring cells that have room, so that advection conserves mass.
//!
//! With `b` the limited value, `x` what was cut off, `r+` and `r-` the room up and down to the limits, and `K` the weights
//! of the 5^D cells around, `[.02, 1, 1, 1, .02]` along each axis:
//!
//! ```text
//! s  = x / sum of K r+    where x > 0          s  = x / sum of K r-    where x < 0
//! a' = b + r+ min(1, sum of K max(s, 0)) - r- min(1, sum of K max(-s, 0))
//! ```
//!
//! Every cell asks its neighbours, so the result does not depend on any order, and it stays between the limits by
//! construction. Nothing goes where there is no room: beside solids, beyond the ends of the box, where no tile is. (Two
//! layers of cells beside solids have none, so nothing passes through thin ones.)

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::extent::Extent;
use super::pool::{Lent, Pool};
use crate::Real;
use crate::field::Field;
use crate::grid::{At, End, Ends};
use crate::layout::{HALO, Row, SLACK, TILE_RUN, tile_width};
use crate::rows;
use crate::sample::{CHUNK, Chunk, Corners, Isa, Kernel, Lanes, Rules, Windows, chunks};

/// How far what was cut off may go, in cells: as far as ghosts of a box reach.
const REACH: usize = HALO;

/// The weight of the outermost cells; those closer by have weight 1.
const FAR: Real = 0.02;

/// Which rows of a box, or runs of tiles, hold something that was cut off: most do not, and need no work.
#[derive(Debug, Default)]
pub(super) struct Clipped {
    marks: Vec<AtomicBool>,
    /// Of the box, along y and z.
    rows: [isize; 2],
    periodic: [bool; 2],
}

impl Clipped {
    /// Forgets all marks.
    pub fn reset<const D: usize>(&mut self, field: &Field<D>) {
        let layout = field.layout();
        self.marks.resize_with(layout.cell_count() / layout.run(), AtomicBool::default);
        self.marks.iter_mut().for_each(|m| *m.get_mut() = false);
        (self.rows, self.periodic) = ([1; 2], [false; 2]);
        for a in 1..D {
            self.rows[a - 1] = layout.cells()[a] as isize;
            self.periodic[a - 1] = field.ends()[a] == Ends::Periodic;
        }
    }

    /// Each row is written by one task only.
    pub fn mark<const D: usize>(&self, row: Row<'_, D>) {
        self.marks[self.number(row)].store(true, Relaxed);
    }

    fn anywhere(&self) -> bool {
        self.marks.iter().any(|m| m.load(Relaxed))
    }

    fn here<const D: usize>(&self, row: Row<'_, D>) -> bool {
        self.marks[self.number(row)].load(Relaxed)
    }

    fn number<const D: usize>(&self, row: Row<'_, D>) -> usize {
        let Some(tile) = row.tile() else {
            return (1..D).rev().fold(0, |n, a| n * self.rows[a - 1] + row.index[a]) as usize;
        };
        let width = tile_width::<D>();
        let local = (1..D).rev().fold(0, |n, a| n * width + (row.index[a] & (width as isize - 1)) as usize);
        (tile * width.pow(D as u32 - 1) + local) * width / TILE_RUN
    }

    /// Whether anything may reach this row.
    fn near<const D: usize>(&self, row: Row<'_, D>) -> bool {
        let reach = REACH as isize;
        if row.on_tiles() {
            // A run is some rows that follow each other along y: those beside it along x and y, in the planes within reach.
            let (width, rows) = (tile_width::<D>() as isize, (TILE_RUN / tile_width::<D>()) as isize);
            let planes = if D == 3 { 2 * reach + 1 } else { 1 };
            return (0..9 * planes).any(|n| {
                let mut by = [(n % 3 - 1) * width; D];
                by[1] = (n / 3 % 3 - 1) * rows;
                if D == 3 {
                    by[2] = n / 9 - reach;
                }
                let to = row.moved(by);
                to.tile().is_some() && self.here(to)
            });
        }
        let side = 2 * REACH + 1;
        (0..side.pow(D as u32 - 1)).any(|n| {
            let mut number = 0;
            for a in (1..D).rev() {
                let (i, rows) = (row.index[a] + (n / side.pow(a as u32 - 1) % side) as isize - reach, self.rows[a - 1]);
                let wrapped = if self.periodic[a - 1] { i.rem_euclid(rows) } else { i };
                if !(0..rows).contains(&wrapped) {
                    return false;
                }
                number = number * rows + wrapped;
            }
            self.marks[number as usize].load(Relaxed)
        })
    }
}

/// The ends of rooms: nothing beyond the ends of the field, nor where no tile is.
pub(super) fn no_room_outside<const D: usize>(field: &Field<D>) -> [Ends; D] {
    field.ends().map(|ends| {
        ends.map(|end| match end {
            End::Flat | End::Value(_) => End::Value(0.0),
            End::Outside(_) => End::Outside(0.0),
        })
    })
}

/// Gives what was cut off from `result` to the cells around. `rooms` are those that [`super::correct::correct`] leaves, up
/// and down; `share` is overwritten.
pub(super) fn exchange<const D: usize>(
    isa: Isa,
    result: &mut Field<D>,
    rooms: [&mut Field<D>; 2],
    share: &mut Field<D>,
    (clipped, extent): (&Clipped, &Extent),
    pool: &Pool<Windows<D>>,
) {
    let layout = &result.layout().clone();
    if !clipped.anywhere() {
        return;
    }
    let none = no_room_outside(result);
    let rules = Rules { ends: none, conserved: true };
    let [up, down] = rooms.map(|room| {
        room.relabel(At::Center, none);
        room.fill_halo_from_outside();
        &*room
    });
    rows::for_each_run(&mut [share], windows(pool), |windows, row, out| {
        let around = extent.around(layout, row);
        if around.is_empty() {
            return;
        }
        if !clipped.here(row) {
            return out[0][around].fill(0.0);
        }
        extent.fill_rest_with(layout, row, 0.0, out[0]);
        if row.on_tiles() {
            windows.enter_tile(row, rules, [up, down].into_iter());
        }
        isa.run_wide(ShareRun { up, down, windows, row, cells: extent.inside(layout, row), out: out[0] });
    });
    share.relabel(At::Center, none);
    share.fill_halo_from_outside();
    let share = &*share;
    rows::for_each_run(&mut [result], windows(pool), |windows, row, out| {
        let cells = extent.inside(layout, row);
        if cells.is_empty() || !clipped.near(row) {
            return;
        }
        if row.on_tiles() {
            windows.enter_tile(row, rules, [share].into_iter());
        }
        isa.run_wide(TakeRun { up, down, share, windows, row, cells, out: out[0] });
    });
}

fn windows<'a, const D: usize>(pool: &'a Pool<Windows<D>>) -> impl Fn() -> Lent<'a, Windows<D>> + Sync {
    || {
        let mut windows = pool.take(Windows::new);
        windows.leave();
        windows
    }
}

/// `s = x / sum of K r` where something was cut off, else 0.
struct ShareRun<'a, const D: usize> {
    up: &'a Field<D>,
    down: &'a Field<D>,
    windows: &'a Windows<D>,
    row: Row<'a, D>,
    cells: Range<usize>,
    out: &'a mut [Real],
}

impl<const D: usize> Kernel for ShareRun<'_, D> {
    #[inline(always)]
    fn run(self) {
        let ShareRun { up, down, windows, row, cells, out } = self;
        // A share that fills every room it reaches is large enough; more could be infinite.
        const MOST: Real = 1e6;
        let mut sum = [0.0; CHUNK];
        for chunk in chunks(row, cells, [0; D]) {
            let out = &mut out[chunk.x..][..chunk.len];
            out.fill(0.0);
            for (k, (room, sign)) in [(up, 1.0), (down, -1.0)].into_iter().enumerate() {
                let here = chunk.of(room.run(row));
                if here.iter().all(|&r| r >= 0.0) {
                    continue;
                }
                let from = if row.on_tiles() { windows.corners(k) } else { room.corners() };
                around(from, row, chunk, &mut sum, |r| if r > 0.0 { r } else { 0.0 });
                for l in 0..out.len() {
                    let s = -here[l] / sum[l];
                    let s = if s < MOST { s } else { MOST };
                    out[l] = if here[l] < 0.0 { sign * s } else { out[l] };
                }
            }
        }
    }
}

/// `a' = b + r+ min(1, sum of K s+) - r- min(1, sum of K s-)`.
struct TakeRun<'a, const D: usize> {
    up: &'a Field<D>,
    down: &'a Field<D>,
    share: &'a Field<D>,
    windows: &'a Windows<D>,
    row: Row<'a, D>,
    cells: Range<usize>,
    out: &'a mut [Real],
}

impl<const D: usize> Kernel for TakeRun<'_, D> {
    #[inline(always)]
    fn run(self) {
        let TakeRun { up, down, share, windows, row, cells, out } = self;
        let (mut rise, mut fall) = ([0.0; CHUNK], [0.0; CHUNK]);
        let from = if row.on_tiles() { windows.corners(0) } else { share.corners() };
        for chunk in chunks(row, cells, [0; D]) {
            around(from, row, chunk, &mut rise, |s| if s > 0.0 { s } else { 0.0 });
            around(from, row, chunk, &mut fall, |s| if s < 0.0 { -s } else { 0.0 });
            let (up, down) = (chunk.of(up.run(row)), chunk.of(down.run(row)));
            let out = &mut out[chunk.x..][..chunk.len];
            let (rise, fall) = (&rise[..chunk.len], &fall[..chunk.len]);
            let part = |s: Real| if s < 1.0 { s } else { 1.0 };
            let room = |r: Real| if r > 0.0 { r } else { 0.0 };
            for l in 0..out.len() {
                let change = room(up[l]) * part(rise[l]) - room(down[l]) * part(fall[l]);
                out[l] += change;
            }
        }
    }
}

/// Cells of a line with those that it reaches.
const WIDE: usize = CHUNK + 2 * REACH;

/// `out[l] = sum over the 5^D cells around of K f(value)`. Cells on opposite sides are added first, so that a mirror image
/// has the same sum.
#[inline(always)]
fn around<const D: usize>(
    from: Corners<D>,
    row: Row<'_, D>,
    chunk: Chunk<D>,
    out: &mut Lanes,
    f: impl Fn(Real) -> Real + Copy,
) {
    let (mut plane, mut line) = ([[0.0; WIDE]; 5], [0.0; WIDE]);
    for (first, begin, len) in chunk.lines(row) {
        let corner: usize = (0..D).map(|a| (first[a] as usize + HALO - REACH) * from.stride[a]).sum();
        let corner = corner + SLACK;
        let wide = len + 2 * REACH;
        if D == 3 {
            for (z, plane) in plane.iter_mut().enumerate() {
                fold_rows(from.data, corner + z * from.stride[2], from.stride[1], &mut plane[..wide], f);
            }
            let [a, b, c, d, e] = plane.each_ref().map(|p| &p[..wide]);
            for (x, t) in line[..wide].iter_mut().enumerate() {
                *t = weighed([a[x], b[x], c[x], d[x], e[x]]);
            }
        } else {
            fold_rows(from.data, corner, from.stride[D - 1], &mut line[..wide], f);
        }
        let line = &line[..wide];
        for (l, out) in out[begin..begin + len].iter_mut().enumerate() {
            *out = weighed([line[l], line[l + 1], line[l + 2], line[l + 3], line[l + 4]]);
        }
    }
}

#[inline(always)]
fn weighed([a, b, c, d, e]: [Real; 5]) -> Real {
    c + (b + d) + FAR * (a + e)
}

/// `out[x]` = the weighed sum of five rows, a stride apart.
#[inline(always)]
fn fold_rows(data: &[Real], at: usize, stride: usize, out: &mut [Real], f: impl Fn(Real) -> Real) {
    let n = out.len();
    let row = |y: usize| &data[at + y * stride..][..n];
    let [a, b, c, d, e] = [row(0), row(1), row(2), row(3), row(4)];
    for x in 0..n {
        out[x] = weighed([f(a[x]), f(b[x]), f(c[x]), f(d[x]), f(e[x])]);
    }
}

//! Advection in flux form, which conserves mass exactly.
//!
//! Along one axis, with `v` the flow through an interface in cells per step, `q` the value on the side where the flow comes
//! from and `s` its limited slope, what passes is the flux of Lax and Wendroff wherever the field is smooth:
//!
//! ```text
//! F = v (q + (sign v - v) s / 2)
//! ```
//!
//! | limiter | `s` from the differences `x`, `y` on both sides of a cell; 0 at extrema | look |
//! |---|---|---|
//! | [`Limiter::MonotonizedCentral`] | the smallest of `2x`, `2y`, `(x + y) / 2` | second order, keeps edges of a few cells |
//! | [`Limiter::Minmod`] | the smaller of `x`, `y` | soft |
//! | [`Limiter::Superbee`] | the larger of `min(2x, y)`, `min(x, 2y)` | makes edges out of slopes |
//!
//! Axes take turns, `q0 -> q1 -> q2 (-> q3)`, and the one that comes first changes with every step. The flow along a single
//! axis compresses and stretches; so each sweep takes back what it does to the value `q0` before the first of them
//! (after Weymouth and Yue 2010):
//!
//! ```text
//! q' = q - (F+ - F-) + q0 (v+ - v-)
//! ```
//!
//! The added terms sum to `q0 div u = 0`: mass stays exact, and a constant stays constant. Without them a constant is distorted
//! by tens of per cent.
//!
//! For the most violent flows, close to a cell per step towards and away from the same cell, even this can overshoot. Centred
//! values are then put back between the bounds they came from, and what is put back is taken from cells beside them ([`repair`]).
//!
//! Values on faces move with the control volumes around them. The flow through the sides of those is the mean of the flow at the
//! two cells that they overlap, which is again free of divergence.

use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, End, Ends, Grid};
use crate::halo::slab_runs;
use crate::layout::{Layout, Row};
use crate::ops::{each, max_abs};
use crate::rows;
use crate::sample::{Isa, Kernel};

/// How slopes are limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limiter {
    /// Second order in smooth regions, upwind at extrema.
    #[default]
    MonotonizedCentral,
    /// The most cautious.
    Minmod,
    /// The most eager.
    Superbee,
}

/// The flow is too fast for the step: information would have to cross more than one cell.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the flow moves by {cells} cells in one step, but transport in flux form allows 1: take shorter steps")]
pub struct TooFast {
    /// The largest distance that the flow moves along an axis, in cells.
    pub cells: f64,
}

/// Fields that transport works in: one less than there are axes.
#[derive(Debug)]
pub struct SweepScratch<const D: usize> {
    fields: Vec<Field<D>>,
}

impl<const D: usize> SweepScratch<D> {
    /// For fields on such cells.
    pub fn new(layout: &Layout<D>) -> Result<Self, OutOfMemory> {
        let field = || Field::on(layout, At::Center, [Ends::FLAT; D]);
        Ok(SweepScratch { fields: (1..D).map(|_| field()).collect::<Result<_, _>>()? })
    }

    /// One of the fields, for others to use between two calls.
    pub fn lend(&mut self) -> &mut Field<D> {
        &mut self.fields[0]
    }
}

/// A flow that moves fields for one step: staggered, free of divergence, ghosts filled.
#[derive(Clone, Copy)]
pub struct Carrier<'a, const D: usize> {
    flow: &'a VectorField<D>,
    /// Cells per step for one metre per second along each axis.
    cells: [Real; D],
    limiter: Limiter,
    isa: Isa,
}

impl<'a, const D: usize> Carrier<'a, D> {
    /// The flow `u` for `dt` seconds. It may not move by more than one cell along any axis.
    pub fn new(grid: &Grid<D>, u: &'a VectorField<D>, dt: f64, limiter: Limiter, isa: Isa) -> Result<Self, TooFast> {
        let cells = cells_per_step(grid, u, dt);
        if cells.is_nan() || cells > 1.0 {
            return Err(TooFast { cells });
        }
        Ok(Carrier { flow: u, cells: grid.spacing.map(|h| (dt / h) as Real), limiter, isa })
    }

    /// Moves one field, centred or on faces, for the whole step. Axis `first` goes first: it should change from step to step.
    pub fn transport(&self, first: usize, field: &mut Field<D>, scratch: &mut SweepScratch<D>) {
        let (at, ends) = (field.at(), field.ends());
        field.fill_halo();
        let bounds = (at == At::Center).then(|| bounds(field));
        for n in 0..D {
            let a = (first + n) % D;
            let (done, ahead) = scratch.fields.split_at_mut(n);
            let before = done.last_mut();
            match ahead.first_mut() {
                Some(next) => {
                    let q = before.as_deref().unwrap_or(field);
                    next.relabel(at, ends);
                    self.sweep(a, q, Some(field), next);
                    next.finish_end_faces();
                    next.fill_halo();
                }
                None => {
                    self.sweep(a, before.expect("two axes at least"), None, field);
                    field.finish_end_faces();
                }
            }
        }
        if let Some(bounds) = bounds {
            repair(field, bounds);
        }
    }

    /// `out = q - (F+ - F-) + q0 (v+ - v-)` along axis `a`. If `q0` is not given, it stands in `out`.
    fn sweep(&self, a: usize, q: &Field<D>, q0: Option<&Field<D>>, out: &mut Field<D>) {
        let u = &self.flow[a];
        // Half of it on either side of a value that lives between two cells; a centred value has one cell, twice.
        let half = 0.5 * self.cells[a];
        out.par_rows(|row, out| {
            if let Some(q0) = q0 {
                out.copy_from_slice(q0.row(row));
            }
            let beside = |row: Row<'_, D>| match q.at() {
                At::Face(c) => row.down(c).start,
                _ => row.start,
            };
            let n = out.len();
            let along = |by: isize| &q.data[row.shifted(a, by).start..][..n];
            let flow = |row: Row<'_, D>| [&u.data[row.start..][..n], &u.data[beside(row)..][..n]];
            let stencil =
                SweepRow { q: [-2, -1, 0, 1, 2].map(along), low: flow(row), high: flow(row.up(a)), half, out };
            match self.limiter {
                Limiter::MonotonizedCentral => self.isa.run(Limited(stencil, monotonized_central)),
                Limiter::Minmod => self.isa.run(Limited(stencil, minmod)),
                Limiter::Superbee => self.isa.run(Limited(stencil, superbee)),
            }
        });
    }
}

/// The largest distance that a flow moves along an axis in a step, in cells; NaN or infinite if the flow is.
pub fn cells_per_step<const D: usize>(grid: &Grid<D>, u: &VectorField<D>, dt: f64) -> f64 {
    let mut most: f64 = 0.0;
    for a in 0..D {
        // The last faces lie behind the cells.
        let mut last = 0;
        slab_runs(u[a].layout(), a, grid.cells[a] as isize, |start, run| {
            last = u[a].data[start..start + run].iter().fold(last, |m, v| m.max(v.abs().to_bits()));
        });
        let fastest = Real::from_bits(max_abs(&u[a]).to_bits().max(last)) as f64;
        let cells = fastest * dt / grid.spacing[a];
        most = if cells.is_nan() { return cells } else { most.max(cells) };
    }
    most
}

/// The lowest and highest value of a field and of what its ends bring in. NaN counts as nothing.
fn bounds<const D: usize>(field: &Field<D>) -> [Real; 2] {
    let mut all = extremes(field);
    for ends in field.ends() {
        if let Ends::Bounded { lo, hi } = ends {
            for end in [lo, hi] {
                if let End::Value(b) = end {
                    all = [least(b, all[0]), most(b, all[1])];
                }
            }
        }
    }
    all
}

fn extremes<const D: usize>(field: &Field<D>) -> [Real; 2] {
    const LANES: usize = 8;
    let of_row = |row: Row<'_, D>| {
        let (mut low, mut high) = ([Real::INFINITY; LANES], [Real::NEG_INFINITY; LANES]);
        let chunks = field.row(row).chunks_exact(LANES);
        for (l, &v) in chunks.remainder().iter().enumerate() {
            (low[l], high[l]) = (least(v, low[l]), most(v, high[l]));
        }
        for chunk in chunks {
            for l in 0..LANES {
                (low[l], high[l]) = (least(chunk[l], low[l]), most(chunk[l], high[l]));
            }
        }
        [low.into_iter().fold(Real::INFINITY, least), high.into_iter().fold(Real::NEG_INFINITY, most)]
    };
    rows::reduce(field.layout(), of_row, |a, b| [least(a[0], b[0]), most(a[1], b[1])])
}

/// Puts values back between bounds, and takes what that needs from (or gives what it frees to) cells no further than two away. The
/// sum over all cells stays the same. A few units in the last place beyond a bound are rounding and stay; but nothing is ever
/// below zero that was not.
pub fn repair<const D: usize>(field: &mut Field<D>, [low, high]: [Real; 2]) {
    const ROUNDING: Real = 1e-6;
    let (least_allowed, most_allowed) = (low - ROUNDING * low.abs(), high + ROUNDING * high.abs());
    let [lowest, highest] = extremes(field);
    if lowest >= least_allowed && highest <= most_allowed {
        return;
    }
    let (layout, cells, periodic) = (field.layout().clone(), field.cells(), field.ends().map(|e| e == Ends::Periodic));
    for row in (0..layout.rows()).map(|r| layout.row(r)) {
        for x in 0..cells[0] {
            let at = row.start + x;
            let wrong = field.data[at];
            if wrong >= least_allowed && wrong <= most_allowed || !wrong.is_finite() {
                continue;
            }
            let mut index = row.index;
            index[0] += x as isize;
            let bound = if wrong < low { low } else { high };
            let mut rest = wrong - bound;
            // Rings of cells around it, nearer ones first.
            for ring in 1..=2isize {
                for n in 0..5usize.pow(D as u32) {
                    let by: [isize; D] = each(|a| (n / 5usize.pow(a as u32) % 5) as isize - 2);
                    if by.iter().map(|b| b.abs()).max() != Some(ring) {
                        continue;
                    }
                    let place: [isize; D] = each(|a| {
                        let i = index[a] + by[a];
                        if periodic[a] { i.rem_euclid(cells[a] as isize) } else { i }
                    });
                    if (0..D).any(|a| place[a] < 0 || place[a] >= cells[a] as isize) || place == index {
                        continue;
                    }
                    let other = &mut field.data[layout.offset(place)];
                    let room = if rest < 0.0 { low - *other } else { high - *other };
                    // Only what the other can give or take without going astray itself.
                    let moved = if rest < 0.0 { most(rest, least(room, 0.0)) } else { least(rest, most(room, 0.0)) };
                    *other += moved;
                    rest -= moved;
                }
            }
            field.data[at] = bound + rest;
        }
    }
    field.ghosts_filled = false;
}

/// One row of a sweep: the values two cells to and fro along the axis, and the flow through the interfaces below and above, each
/// the sum of two rows times `half`.
struct SweepRow<'a> {
    q: [&'a [Real]; 5],
    low: [&'a [Real]; 2],
    high: [&'a [Real]; 2],
    half: Real,
    out: &'a mut [Real],
}

/// A row and the limiter for it.
struct Limited<'a, F>(SweepRow<'a>, F);

impl<F: Fn(Real, Real) -> Real> Kernel for Limited<'_, F> {
    #[inline(always)]
    fn run(self) {
        let Limited(SweepRow { q: [q0, q1, q2, q3, q4], low, high, half, out }, limited) = self;
        let n = out.len();
        let (q0, q1, q2, q3, q4) = (&q0[..n], &q1[..n], &q2[..n], &q3[..n], &q4[..n]);
        let ([l0, l1], [h0, h1]) = ([&low[0][..n], &low[1][..n]], [&high[0][..n], &high[1][..n]]);
        for x in 0..n {
            let v_low = half * (l0[x] + l1[x]);
            let v_high = half * (h0[x] + h1[x]);
            let f_low = flux(v_low, [q0[x], q1[x], q2[x], q3[x]], &limited);
            let f_high = flux(v_high, [q1[x], q2[x], q3[x], q4[x]], &limited);
            out[x] = q2[x] - (f_high - f_low) + out[x] * (v_high - v_low);
        }
    }
}

/// What passes the interface between the second and the third of four cells.
#[inline(always)]
fn flux(v: Real, q: [Real; 4], limited: &impl Fn(Real, Real) -> Real) -> Real {
    let forth = v > 0.0;
    let here = q[2] - q[1];
    let behind = if forth { q[1] - q[0] } else { q[3] - q[2] };
    let upwind = if forth { q[1] } else { q[2] };
    let sign = if forth { 1.0 } else { -1.0 };
    v * (upwind + 0.5 * (sign - v) * limited(here, behind))
}

/// `m` with the sign of `x`, or 0 if the signs of `x` and `y` differ.
#[inline(always)]
fn agreed(x: Real, y: Real, m: Real) -> Real {
    if x * y > 0.0 { m.copysign(x) } else { 0.0 }
}

#[inline(always)]
fn least(a: Real, b: Real) -> Real {
    if a < b { a } else { b }
}

#[inline(always)]
fn most(a: Real, b: Real) -> Real {
    if a > b { a } else { b }
}

#[inline(always)]
fn monotonized_central(x: Real, y: Real) -> Real {
    agreed(x, y, least(2.0 * least(x.abs(), y.abs()), 0.5 * (x + y).abs()))
}

#[inline(always)]
fn minmod(x: Real, y: Real) -> Real {
    agreed(x, y, least(x.abs(), y.abs()))
}

#[inline(always)]
fn superbee(x: Real, y: Real) -> Real {
    let (x1, y1) = (x.abs(), y.abs());
    agreed(x, y, most(least(2.0 * x1, y1), least(x1, 2.0 * y1)))
}

//! Transport in flux form: what leaves a cell enters its neighbour, so that nothing is ever lost.
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
//! Values on faces move with the control volumes around them. The flow through the sides of those is the mean of the flow at the
//! two cells that they overlap, which is again free of divergence.

use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Grid};
use crate::halo::slab_runs;
use crate::layout::{Layout, Row};
use crate::ops::max_abs;
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
        let field = || Field::on(layout, At::Center, [crate::grid::Ends::FLAT; D]);
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
        // NaN is too fast, too.
        if !(cells <= 1.0) {
            return Err(TooFast { cells });
        }
        Ok(Carrier { flow: u, cells: grid.spacing.map(|h| (dt / h) as Real), limiter, isa })
    }

    /// Moves one field, centred or on faces, for the whole step. Axis `first` goes first: it should change from step to step.
    pub fn transport(&self, first: usize, field: &mut Field<D>, scratch: &mut SweepScratch<D>) {
        let (at, ends) = (field.at(), field.ends());
        field.fill_halo();
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

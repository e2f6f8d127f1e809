//! Gathering: the error `rho - rho*` diffuses, weighted by the smoke itself.
//!
//! ```text
//! drho/dt + div(rho w) = 0,   w = v_g (l_g grad phi - rts grad(rho - rho*))
//! ```
//!
//! Upwind fluxes conserve mass. It takes as many small steps as diffusion asks for. In each, no more can leave a cell than is in it,
//! and no more can enter than there is room below the largest density of smoke and target: what diffuses is the error, which would
//! otherwise pile smoke from outside on top of what is already there.
//!
//! The error diffuses where there are smoke and target; `l_g grad phi` of `level` brings what is further away.

use super::TargetSmoke;
use crate::Real;
use crate::field::Field;
use crate::flow::Flow;
use crate::grid::{At, Grid};
use crate::layout::Row;
use crate::ops::{max_abs, sum};
use crate::report::Stage;
use crate::sample::Kernel;

/// Most small steps of gathering in one step; what would need more is gathered less.
pub const MOST_CYCLES: u32 = 50;

/// How much of the limit of stability a small step takes.
const SAFE: f64 = 0.9;

/// What gathering did in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Small steps taken.
    pub cycles: u32,
    /// Whether there should have been more: it is gathered less than asked for.
    pub capped: bool,
}

impl<const D: usize> TargetSmoke<D> {
    /// `drho/dt = v_g div(rho (rts grad(rho - rho*) - l_g grad phi))` for every smoke with a target.
    pub(super) fn gather(&mut self, time: f64, dt: f64) {
        let timer = self.flow.timings.start();
        let flat = self.closed();
        let Self { flow: Flow { grid, options, substances, obstacles, books, .. }, guided, sweeps, .. } = self;
        for guided in guided {
            let (v_g, aim) = (guided.gathering.at(time).0[0], &mut guided.aim);
            aim.gathered = Gathered::default();
            if v_g <= 0.0 || aim.total <= 0.0 {
                continue;
            }
            let field = &mut substances[guided.substance].field;
            let usual = field.ends();
            let open = obstacles.as_ref().map(|o| o.solids.open());
            let scale = aim.scale(sum(field));
            let fullest = (max_abs(field) as f64).max(scale * aim.peak);
            books.allow(guided.substance, [0.0, scale * aim.peak]);
            let (k, gathered) = cycles(grid, v_g * dt, scale, aim.smooth_peak, fullest);
            aim.gathered = gathered;
            let level = v_g * dt * aim.level_drift / gathered.cycles as f64;
            let spare = sweeps.lend();
            field.relabel(At::Center, flat);
            spare.relabel(At::Center, flat);
            for _ in 0..gathered.cycles {
                field.fill_halo();
                let (rho, aim) = (&*field, &*aim);
                spare.par_rows(|row, out| {
                    out.copy_from_slice(rho.row(row));
                    for a in 0..D {
                        options.isa.run(GatherRow::<D> {
                            rho: along(rho, row, a),
                            goal: along(&aim.density, row, a),
                            smooth: along(&aim.smooth, row, a),
                            potential: along(&aim.potential, row, a),
                            open: open.map(|open| [open[a].row(row), open[a].row(row.up(a))]),
                            scale: scale as Real,
                            k: k[a],
                            level: (level / (grid.spacing[a] * grid.spacing[a])) as Real,
                            fullest: fullest as Real,
                            out,
                        });
                    }
                });
                field.swap_values(spare);
            }
            field.relabel(At::Center, usual);
        }
        self.flow.timings.stop(Stage::Diffuse, timer);
    }
}

/// How many small steps it takes to gather with `v_g dt`, and `v_g dt / h^2 rts / rts_raw` of each of them.
fn cycles<const D: usize>(
    grid: &Grid<D>,
    v_g_dt: f64,
    scale: f64,
    smooth_peak: f64,
    fullest: f64,
) -> ([Real; D], Gathered) {
    let k = grid.spacing.map(|h| v_g_dt * scale / (h * h));
    // The flux rho rts grad(rho - rho*) is a diffusion of rho with the factor rho rts, at most.
    let wanted = (2.0 * k.iter().sum::<f64>() * smooth_peak * fullest / SAFE).ceil().max(1.0);
    let capped = wanted.is_nan() || wanted > MOST_CYCLES as f64;
    let cycles = if capped { MOST_CYCLES } else { wanted as u32 };
    // With too few small steps each does what it can without going astray.
    let share = 1.0 / if capped { wanted } else { cycles as f64 };
    (k.map(|k| (k * share) as Real), Gathered { cycles, capped })
}

/// The row below, the row itself and the row above along an axis.
#[inline(always)]
fn along<'a, const D: usize>(field: &'a Field<D>, row: Row<'_, D>, a: usize) -> [&'a [Real]; 3] {
    [field.row(row.down(a)), field.row(row), field.row(row.up(a))]
}

/// One row of gathering along one axis.
struct GatherRow<'a, const D: usize> {
    rho: [&'a [Real]; 3],
    goal: [&'a [Real]; 3],
    smooth: [&'a [Real]; 3],
    potential: [&'a [Real]; 3],
    /// The open parts of the faces below and above.
    open: Option<[&'a [Real]; 2]>,
    /// From the stored target to one with the mass of the smoke.
    scale: Real,
    k: Real,
    /// `v_g l_g dt / h^2` of a small step.
    level: Real,
    /// No cell gets more than this.
    fullest: Real,
    out: &'a mut [Real],
}

impl<const D: usize> Kernel for GatherRow<'_, D> {
    #[inline(always)]
    fn run(self) {
        let GatherRow { rho, goal, smooth, potential, open, scale, k, level, fullest, out } = self;
        let n = out.len();
        let ([r0, r1, r2], [g0, g1, g2]) = (rho.map(|s| &s[..n]), goal.map(|s| &s[..n]));
        let ([s0, s1, s2], [p0, p1, p2]) = (smooth.map(|s| &s[..n]), potential.map(|s| &s[..n]));
        // Through all sides together no more than everything, and no more than fits.
        let grain = grain(fullest);
        let snap = grain * (1 << 23) as Real;
        let rule = Rule { half: -0.5 * k, level, most: 0.5 / D as Real, scale, fullest, grain, snap };
        match open {
            None => {
                for x in 0..n {
                    let low = rule.flux([r0[x], r1[x]], [g0[x], g1[x]], [s0[x], s1[x]], p1[x] - p0[x]);
                    let high = rule.flux([r1[x], r2[x]], [g1[x], g2[x]], [s1[x], s2[x]], p2[x] - p1[x]);
                    out[x] -= high - low;
                }
            }
            Some([open_low, open_high]) => {
                let (open_low, open_high) = (&open_low[..n], &open_high[..n]);
                for x in 0..n {
                    let low = rule.flux([r0[x], r1[x]], [g0[x], g1[x]], [s0[x], s1[x]], p1[x] - p0[x]);
                    let high = rule.flux([r1[x], r2[x]], [g1[x], g2[x]], [s1[x], s2[x]], p2[x] - p1[x]);
                    out[x] -= open_high[x] * high - open_low[x] * low;
                }
            }
        }
    }
}

/// What passes a face.
#[derive(Clone, Copy)]
struct Rule {
    half: Real,
    level: Real,
    most: Real,
    scale: Real,
    fullest: Real,
    /// Fluxes are multiples of this.
    grain: Real,
    /// So large that adding it leaves whole grains.
    snap: Real,
}

/// The distance of numbers of the size of `fullest`. What is less than that would be lost where it leaves a full cell and kept where it
/// enters an empty one: the mass of 49 dots grew by 2e-4 within thousands of small steps.
fn grain(fullest: Real) -> Real {
    Real::from_bits(fullest.to_bits() & Real::INFINITY.to_bits()) * Real::EPSILON
}

impl Rule {
    /// From the first cell to the second: `w rho`, upwind. No branches, so that it is vectorised. (A method and not a closure:
    /// those are not always inlined into the vectorised code.)
    #[inline(always)]
    fn flux(self, rho: [Real; 2], goal: [Real; 2], smooth: [Real; 2], rise: Real) -> Real {
        let Rule { half, level, most, scale, fullest, grain, snap } = self;
        let error = (rho[1] - rho[0]) - scale * (goal[1] - goal[0]);
        let w = half * (smooth[0] + smooth[1]) * error + level * rise;
        let (forth, back) = (larger(w, 0.0), larger(-w, 0.0));
        let forth = smaller(smaller(forth, most) * rho[0], most * larger(fullest - rho[1], 0.0));
        let back = smaller(smaller(back, most) * rho[1], most * larger(fullest - rho[0], 0.0));
        // One of them is zero. Down to whole grains, so that no more leaves than may.
        let whole = |flux: Real| (larger(flux - 0.5 * grain, 0.0) + snap) - snap;
        whole(forth) - whole(back)
    }
}

#[inline(always)]
fn smaller(a: Real, b: Real) -> Real {
    if a < b { a } else { b }
}

#[inline(always)]
fn larger(a: Real, b: Real) -> Real {
    if a > b { a } else { b }
}

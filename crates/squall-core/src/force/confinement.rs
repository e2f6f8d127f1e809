//! Vorticity confinement (Steinhoff & Underhill 1994; Fedkiw, Stam & Jensen 2001): gives small swirls back what a coarse
//! grid takes from them.
//!
//! ```text
//! omega = curl u,   n = |omega|,   N = grad n / (|grad n| + eps),   f = strength h (N x omega)
//! ```
//!
//! All differences are centred. `N` points to where the flow turns fastest, so `f` pushes around that place in the sense
//! in which the fluid turns there already. The factor `h` makes the force vanish on fine grids. It adds energy, so it is
//! limited: in one step it moves nothing by more than a quarter of a cell.
//!
//! Cells beside a wall or a missing tile are left alone: what lies beyond is no flow that could be confined.

use super::{Force, Moment, Substance};
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Axis, Grid};
use crate::layout::{Layout, Row};
use crate::ops::{each, max_abs};
use crate::parameter::ParameterList;
use crate::rows;

/// Vorticity confinement of a centred velocity.
pub struct Confinement<const D: usize> {
    /// How strong, per second: from 0 to about 10.
    pub strength: f64,
    /// Scratch: the components of the vorticity (in 2D the one along z), and last its magnitude. Empty until it is needed.
    vorticity: Vec<Field<D>>,
}

/// Components of the vorticity: all three, or the last.
const fn components<const D: usize>() -> usize {
    if D == 3 { 3 } else { 1 }
}

/// In single precision the vorticity of a solid rotation is not quite uniform. Differences of that size, in units of the
/// largest speed per squared cell size, are no direction: they are divided by a hundred times as much.
const ROUNDING: f64 = 2e-6;

impl<const D: usize> Confinement<D> {
    /// Confinement with this strength, in 1/s. Its scratch is made when it first acts.
    pub fn new(strength: f64) -> Self {
        Confinement { strength, vorticity: Vec::new() }
    }
}

impl<const D: usize> Force<D> for Confinement<D> {
    /// Scratch for this layout.
    fn prepare(&mut self, grid: &Grid<D>, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        if self.vorticity.first().is_some_and(|f| f.layout() == layout) {
            return Ok(());
        }
        // What is lost of the magnitude beyond the ends is not looked at.
        let fields = (0..components::<D>() + 1).map(|_| Field::on(layout, At::Center, grid.flat_ends(0.0)));
        self.vorticity = fields.collect::<Result<_, _>>()?;
        Ok(())
    }

    fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        let doc = "strength of the force that keeps small whirls alive";
        if let Some(v) = visit.number("confinement", "1/s", doc, [0.0, 1e3], self.strength) {
            self.strength = v;
        }
    }

    fn avoids_solids(&self) -> bool {
        true
    }

    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, _: &[Substance<D>]) {
        self.prepare(grid, u[0].layout()).unwrap_or_else(|e| panic!("vorticity confinement, not prepared: {e}"));
        u.iter_mut().for_each(Field::fill_halo);
        vorticity(grid, u, &mut self.vorticity);
        let Some((size, omega)) = self.vorticity.split_last_mut() else { return };
        size.fill_halo();

        let h = grid.min_spacing();
        let speed = u.iter().map(max_abs).fold(0.0, Real::max) as f64;
        let eps = (1e-6 * max_abs(size) as f64 / h + ROUNDING * speed / (h * h)) as Real;
        if eps < Real::MIN_POSITIVE {
            return; // Nothing turns.
        }
        let k = (now.dt * self.strength * h) as Real;
        // All pushes of a step together: |f| step <= h / (4 step).
        let most = (0.25 * h / now.step * (now.dt / now.step)) as Real;
        let (size, omega) = (&*size, &*omega);
        rows::for_each_with_ghosts(u.each_mut(), |row, u| {
            let Some(inside) = surrounded(grid, row, u[0].len()) else { return };
            let mut pads = [Pad::default(); 2];
            let [low, high] = &mut pads;
            let (first, last) = (size.down(row, 0, low), size.up(row, 0, high));
            let below: [&[Real]; D] = each(|a| if a == 0 { first } else { size.row(row.down(a)) });
            let above: [&[Real]; D] = each(|a| if a == 0 { last } else { size.row(row.up(a)) });
            let omega: [&[Real]; 3] =
                each(|c| (c + components::<D>()).checked_sub(3).map_or(&[][..], |i| omega[i].row(row)));
            let per: [Real; D] = each(|a| (0.5 / grid.spacing[a]) as Real);
            for x in inside {
                let mut n = [0.0; 3];
                let mut square = 0.0;
                for a in 0..D {
                    n[a] = per[a] * (above[a][x] - below[a][x]);
                    square += n[a] * n[a];
                }
                let w: [Real; 3] = each(|c| if c + components::<D>() >= 3 { omega[c][x] } else { 0.0 });
                let f: [Real; D] = each(|a| {
                    let (b, c) = ((a + 1) % 3, (a + 2) % 3);
                    n[b] * w[c] - n[c] * w[b]
                });
                let scale = k / (square.sqrt() + eps);
                let length = scale * f.iter().map(|f| f * f).sum::<Real>().sqrt();
                let scale = if length > most { scale * (most / length) } else { scale };
                for a in 0..D {
                    u[a][x] += scale * f[a];
                }
            }
        });
    }
}

/// `omega_c = d(u_b)/dx_a - d(u_a)/dx_b` for `a, b, c` in cyclic order, and last `|omega|`.
fn vorticity<const D: usize>(grid: &Grid<D>, u: &VectorField<D>, out: &mut [Field<D>]) {
    let per: [Real; D] = grid.spacing.map(|h| (0.5 / h) as Real);
    rows::for_each_of(
        out,
        || (),
        |_, row, out| {
            let Some((size, omega)) = out.split_last_mut() else { return };
            size.fill(0.0);
            for (i, omega) in omega.iter_mut().enumerate() {
                let c = i + 3 - components::<D>();
                let (a, b) = ((c + 1) % 3, (c + 2) % 3);
                let mut pads = [Pad::default(); 4];
                let [p0, p1, p2, p3] = &mut pads;
                let (b_low, b_high) = (u[b].down(row, a, p0), u[b].up(row, a, p1));
                let (a_low, a_high) = (u[a].down(row, b, p2), u[a].up(row, b, p3));
                for x in 0..omega.len() {
                    omega[x] = per[a] * (b_high[x] - b_low[x]) - per[b] * (a_high[x] - a_low[x]);
                    size[x] += omega[x] * omega[x];
                }
            }
            size.iter_mut().for_each(|n| *n = n.sqrt());
        },
    );
}

/// The cells of a row that have neighbours on all sides.
fn surrounded<const D: usize>(grid: &Grid<D>, row: Row<'_, D>, len: usize) -> Option<std::ops::Range<usize>> {
    let ends_here = |a: usize, upper: bool| {
        if row.tile().is_some() {
            let far = if a == 0 { len as isize } else { 1 };
            return row.shifted(a, if upper { far } else { -far }).tile().is_none();
        }
        let last = if upper { grid.cells[a] as isize - 1 } else { 0 };
        grid.axes[a] != Axis::Periodic && (a == 0 || row.index[a] == last)
    };
    if (1..D).any(|a| ends_here(a, false) || ends_here(a, true)) {
        return None;
    }
    let (begin, end) = (usize::from(ends_here(0, false)), len - usize::from(ends_here(0, true)));
    (begin < end).then_some(begin..end)
}

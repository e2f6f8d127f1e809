//! Level sets: the signed distance to the surface of a liquid, negative inside, at cell centres.
//!
//! | file | what it holds |
//! |---|---|
//! | `balls` | the surface around particles: a union of balls |
//! | `bits` | sets of cells |
//! | `extrapolate` | velocities beyond the surface |
//! | `redistance` | distances inside from those outside |
//! | `fast_marching` | distances on both sides |
//! | `particle_level_set` | a distance that a flow carries, and particles that keep it right |

mod balls;
mod bits;
mod extrapolate;
mod fast_marching;
mod particle_level_set;
mod redistance;

pub use balls::{BALL, FAR, around_particles, outside_by};
pub use extrapolate::Extrapolation;
pub use fast_marching::FastMarching;
pub use particle_level_set::ParticleLevelSet;
pub use redistance::{BAND, redistance_inside};

use crate::Real;
use crate::field::{Field, Pad};
use crate::layout::Row;
use crate::poisson::CellState;
use crate::rows;
use crate::solid::Solids;

/// Says of each cell whether it is liquid or air.
pub fn set_states<const D: usize>(phi: &Field<D>, state: &mut Field<D, CellState>) {
    state.par_rows(|row, state| {
        for (state, phi) in state.iter_mut().zip(phi.row(row)) {
            *state = if *phi < 0.0 { CellState::Fluid } else { CellState::Air };
        }
    });
}

/// Faces that are open by no more than this are left to those around: what squeezes through them is fast (20 times as fast as the liquid
/// beside, and particles that took it for the flow drove each other to 40 km/s).
pub(crate) const SLIVER: Real = 0.1;

/// Lets a liquid reach into the cells of a solid beside it, so that there is no air between them: a cell that is nearly all solid must not be
/// air that liquid is drawn into.
pub fn wet_solids<const D: usize>(phi: &mut Field<D>, solids: &Solids<D>, h: Real) {
    phi.par_rows(|row, phi| {
        let Some(distances) = solids.distances_near(row) else { return };
        for (phi, distance) in phi.iter_mut().zip(distances) {
            if *distance < 0.0 && *phi < h {
                *phi = phi.min(-0.5 * h);
            }
        }
    });
}

/// The volume where `phi` is less than `level`, in cells: those that the surface passes count in part, and so do those that solids cut.
pub fn volume<const D: usize>(phi: &Field<D>, level: Real, h: Real, solids: Option<&Solids<D>>) -> f64 {
    let part = |phi: &Real| f64::from((0.5 - (phi - level) / h).clamp(0.0, 1.0));
    let of_row = |row: Row<'_, D>| match solids.and_then(|s| s.volumes_near(row)) {
        None => phi.row(row).iter().map(part).sum::<f64>(),
        Some(volumes) => phi.row(row).iter().zip(volumes).map(|(phi, v)| part(phi) * f64::from(*v)).sum::<f64>(),
    };
    rows::reduce(phi.layout(), of_row, |a, b| a + b)
}

/// How much of the way from a liquid cell to the air beside it lies in the liquid; as the pressure solver sees it.
#[inline(always)]
pub(crate) fn theta(inside: Real, outside: Real) -> Real {
    let (inside, outside) = (-inside, outside);
    if inside >= 0.0 && outside > 0.0 { (inside / (inside + outside)).max(LEAST_THETA) } else { 1.0 }
}

/// The smallest part of a way: what single precision can bear.
pub(crate) const LEAST_THETA: Real = 0.05;

/// Whether one of the values is negative.
#[inline(always)]
pub(crate) fn any_negative(values: &[Real]) -> bool {
    values.iter().fold(0, |bits, v| bits | v.to_bits()) >> 31 == 1
}

/// `g = grad p` on the faces of liquid cells that are open ([`SLIVER`]), zero elsewhere; `p` is zero on the surface. Needs the ghosts of `p` and `phi`.
pub(crate) fn gradient<const D: usize>(
    p: &Field<D>,
    phi: &Field<D>,
    open: Option<&[Field<D>; D]>,
    h: f64,
    g: &mut [Field<D>; D],
) {
    let inv_h = (1.0 / h) as Real;
    rows::for_each(g.each_mut(), |row, faces| {
        for (a, face) in faces.into_iter().enumerate() {
            let (mut pad_phi, mut pad_p) = (Pad::default(), Pad::default());
            let (phi_low, phi_high) = (phi.down(row, a, &mut pad_phi), phi.row(row));
            let (p_low, p_high) = (p.down(row, a, &mut pad_p), p.row(row));
            if !any_negative(phi_low) && !any_negative(phi_high) {
                face.fill(0.0);
                continue;
            }
            let open = open.map(|open| open[a].row(row));
            let n = face.len();
            let (phi_low, phi_high, p_low, p_high) = (&phi_low[..n], &phi_high[..n], &p_low[..n], &p_high[..n]);
            for x in 0..n {
                let (low, high) = (phi_low[x] < 0.0, phi_high[x] < 0.0);
                let (below, above) = (if low { p_low[x] } else { 0.0 }, if high { p_high[x] } else { 0.0 });
                // Of two values of which one is negative, their difference is as long as both together.
                let inside = if low { -phi_low[x] } else { -phi_high[x] };
                let part = (inside / (phi_low[x] - phi_high[x]).abs()).max(LEAST_THETA);
                let slope = inv_h * (above - below);
                face[x] = if low != high { slope / part } else { slope };
            }
            if let Some(open) = open {
                face.iter_mut().zip(open).for_each(|(face, open)| *face = if *open <= SLIVER { 0.0 } else { *face });
            }
        }
    });
}

/// Takes the rest of the gradient on faces between liquid and air, where the potential is zero on the surface and not in the centre of
/// the air: `u -= (1 / theta - 1) grad q`, after `u -= grad q` everywhere. `open` faces only.
pub(crate) fn sharpen_gradient<const D: usize>(
    u: &mut [Field<D>; D],
    q: &Field<D>,
    phi: &Field<D>,
    open: Option<&[Field<D>; D]>,
    h: f64,
) {
    let inv_h = (1.0 / h) as Real;
    rows::for_each(u.each_mut(), |row, faces| {
        for (a, face) in faces.into_iter().enumerate() {
            let (mut pad_phi, mut pad_q) = (Pad::default(), Pad::default());
            let (phi_low, phi_high) = (phi.down(row, a, &mut pad_phi), phi.row(row));
            let (q_low, q_high) = (q.down(row, a, &mut pad_q), q.row(row));
            if !any_negative(phi_low) && !any_negative(phi_high) {
                continue;
            }
            let open = open.map(|open| open[a].row(row));
            for x in 0..face.len() {
                let theta = match (phi_low[x] < 0.0, phi_high[x] < 0.0) {
                    (true, false) => theta(phi_low[x], phi_high[x]),
                    (false, true) => theta(phi_high[x], phi_low[x]),
                    _ => continue,
                };
                if open.is_none_or(|open| open[x] > 0.0) {
                    face[x] -= (1.0 / theta - 1.0) * inv_h * (q_high[x] - q_low[x]);
                }
            }
        }
    });
}

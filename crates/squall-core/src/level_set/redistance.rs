//! Distances inside of a liquid from what is known outside: `|grad phi| = 1`.
//!
//! Every pass gives each cell of the liquid the solution from the smallest values beside it on each axis, as the pass before left them
//! (the upwind scheme of Rouy & Tourin 1992): after `n` passes distances up to `n` cells are right. No order matters.

use crate::Real;
use crate::field::{Field, Pad};
use crate::rows;

/// How far inside distances are computed, in cells.
pub const BAND: usize = 5;

/// A liquid cell is at least this far from the surface, in cells.
const LEAST: Real = 0.02;

/// Computes `phi` anew where it is negative, from where it is not. Deeper than [`BAND`] cells it is that. Fills ghosts.
pub fn redistance_inside<const D: usize>(phi: &mut Field<D>, next: &mut Field<D>, h: Real) {
    let deepest = -(BAND as Real) * h;
    phi.par_rows(|_, phi| phi.iter_mut().filter(|phi| **phi < 0.0).for_each(|phi| *phi = deepest));
    // Both are the same beyond their cells, too: which of them is saved depends on how often they are exchanged.
    next.copy_all(phi);
    for _ in 0..BAND {
        phi.fill_halo();
        let now = &*phi;
        rows::for_each([&mut *next], |row, [out]| {
            let here = now.row(row);
            out.copy_from_slice(here);
            if here.iter().all(|phi| *phi >= 0.0) {
                return;
            }
            let mut pads = [[Pad::default(); 2]; D];
            let beside: [[&[Real]; 2]; D] = {
                let mut pads = pads.iter_mut();
                std::array::from_fn(|a| {
                    let [low, high] = pads.next().expect("one for each axis");
                    [now.down(row, a, low), now.up(row, a, high)]
                })
            };
            for x in 0..out.len() {
                if here[x] >= 0.0 {
                    continue;
                }
                // The way inwards counts.
                let mut nearest: [Real; D] = std::array::from_fn(|a| -beside[a][0][x].max(beside[a][1][x]));
                nearest.sort_unstable_by(Real::total_cmp);
                out[x] = (-inwards(nearest, h)).min(-LEAST * h).max(deepest);
            }
        });
        phi.swap_values(next);
    }
    phi.fill_halo();
}

/// The solution of `sum over axes of max(0, d - d_a)^2 = h^2`, the `d_a` in order.
#[inline(always)]
pub(super) fn inwards<const D: usize>(d: [Real; D], h: Real) -> Real {
    let (mut sum, mut squares, mut solution) = (0.0, 0.0, Real::INFINITY);
    for (a, &value) in d.iter().enumerate() {
        if solution <= value {
            break;
        }
        sum += value;
        squares += value * value;
        let n = (a + 1) as Real;
        solution = (sum + (sum * sum - n * (squares - h * h)).max(0.0).sqrt()) / n;
    }
    solution
}

//! Redistancing inside a liquid: `|grad phi| = 1`.
//!
//! Every pass gives each cell of the liquid the solution from the smallest values beside it on each axis, as the pass before left them
//! (the upwind scheme of Rouy & Tourin 1992): after `n` passes distances up to `n` cells are right. No order matters.

use crate::Real;
use crate::field::{Field, Pad};
use crate::rows::{self, Span};
use crate::sample::{Isa, Kernel};
use std::ops::Range;

/// How far inside distances are computed, in cells, if nobody needs more.
pub const BAND: usize = 5;

/// A liquid cell is at least this far from the surface, in cells.
const LEAST: Real = 0.02;

/// Computes `phi` anew where it is negative, from where it is not. Deeper than `band` cells it is that. Fills ghosts.
pub fn redistance_inside<const D: usize>(phi: &mut Field<D>, next: &mut Field<D>, h: Real, band: usize) {
    let (deepest, isa) = (-(band as Real) * h, Isa::best());
    phi.par_rows(|_, phi| phi.iter_mut().filter(|phi| **phi < 0.0).for_each(|phi| *phi = deepest));
    // Both are the same beyond their cells, too: which of them is saved depends on how often they are exchanged.
    next.copy_all(phi);
    for _ in 0..band {
        phi.fill_halo();
        let now = &*phi;
        rows::for_each([&mut *next], |row, [out]| {
            // What is not wet is the same in both.
            let here = now.row(row);
            let wet = Span::around(here.len(), |x| here[x] < 0.0).range();
            if wet.is_empty() {
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
            isa.run(Pass { here, beside, wet, h, deepest, out });
        });
        phi.swap_values(next);
    }
    phi.fill_halo();
}

/// One pass over the wet cells of a row.
struct Pass<'a, const D: usize> {
    here: &'a [Real],
    beside: [[&'a [Real]; 2]; D],
    wet: Range<usize>,
    h: Real,
    deepest: Real,
    out: &'a mut [Real],
}

impl<const D: usize> Kernel for Pass<'_, D> {
    #[inline(always)]
    fn run(self) {
        let Pass { here, beside, wet, h, deepest, out } = self;
        let least = -LEAST * h;
        let mut x = wet.start;
        // Eight at once: arrays of fixed length become vectors.
        while x < wet.end {
            let len = (wet.end - x).min(8);
            let mut nearest = [[0.0; 8]; D];
            for a in 0..D {
                let (low, high) = (&beside[a][0][x..x + len], &beside[a][1][x..x + len]);
                for i in 0..len {
                    // The way inwards counts.
                    nearest[a][i] = -low[i].max(high[i]);
                }
            }
            let (here, out) = (&here[x..x + len], &mut out[x..x + len]);
            if nearest.iter().flatten().all(|d| *d >= -deepest) {
                // Too deep, as far as is known by now.
                for i in 0..len {
                    out[i] = if here[i] < 0.0 { deepest } else { here[i] };
                }
                x += len;
                continue;
            }
            let distance = inwards(nearest, h);
            for i in 0..len {
                let new = (-distance[i]).min(least).max(deepest);
                out[i] = if here[i] < 0.0 { new } else { here[i] };
            }
            x += len;
        }
    }
}

/// The solution of `sum over axes of max(0, d - d_a)^2 = h^2` for some cells: that of as many of the smallest `d_a` as lie below it.
#[inline(always)]
pub(super) fn inwards<const D: usize, const L: usize>(mut d: [[Real; L]; D], h: Real) -> [Real; L] {
    // In order.
    for (a, b) in [(0, 1), (1, 2), (0, 1)] {
        if b < D {
            for i in 0..L {
                (d[a][i], d[b][i]) = (d[a][i].min(d[b][i]), d[a][i].max(d[b][i]));
            }
        }
    }
    let (mut sum, mut squares, mut solution) = ([0.0; L], [0.0; L], [Real::INFINITY; L]);
    for a in 0..D {
        let n = (a + 1) as Real;
        for i in 0..L {
            sum[i] += d[a][i];
            squares[i] += d[a][i] * d[a][i];
            let with = (sum[i] + (sum[i] * sum[i] - n * (squares[i] - h * h)).max(0.0).sqrt()) / n;
            solution[i] = if solution[i] <= d[a][i] { solution[i] } else { with };
        }
    }
    solution
}

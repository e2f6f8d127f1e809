//! Momentum from particles to the faces of the grid and back, and moving particles with the flow.
//!
//! The affine particle-in-cell method (Jiang, Schroeder, Selle, Teran & Stomakhin 2015): a particle carries its velocity and how that changes
//! around it, so that going to the grid and back keeps linear and angular momentum and blurs little. With linear weights `w` between
//! a particle and the faces around it:
//!
//! ```text
//! to the grid       m_f = sum_p w,   u_f = sum_p w (u_p + c_p . (x_f - x_p)) / m_f
//! to the particles  u_p = sum_f w u_f,   c_p = sum_f grad w u_f
//! ```
//!
//! FLIP (Brackbill & Ruppel 1986; Zhu & Bridson 2005) gives particles the change of the grid's velocity instead: `u_p += sum_f w (u_f - before)`.

use super::{Particle, Particles, Patch};
use crate::Real;
use crate::field::{OutOfMemory, VectorField};
use crate::layout::tile_width;
use crate::scatter::Scatter;
use crate::threads::prelude::*;
use crate::tiles::Tile;

/// What particles take from the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Blend {
    /// Velocity and how it changes around: keeps rotation, and is calm.
    Apic,
    /// This part of the change of velocity, and of the rest the velocity itself: livelier, and noisier. 0 is plain PIC.
    Flip(Real),
}

impl<const D: usize> Particles<D> {
    /// Momentum to faces: leaves velocities in `u` and in `weight` how many particles each face has heard of; zero where it is none.
    pub fn to_faces(
        &self,
        scatter: &mut Scatter<D>,
        u: &mut VectorField<D>,
        weight: &mut VectorField<D>,
    ) -> Result<(), OutOfMemory> {
        for a in 0..D {
            let (u, weight) = (&mut u[a], &mut weight[a]);
            weight.relabel(u.at(), u.ends());
            u.fill(0.0);
            weight.fill(0.0);
            scatter.add([u, weight], |tile, [momentum, mass]| {
                for p in self.of_tile(tile.number) {
                    let mut first = [0; D];
                    let mut way = [0.0; D];
                    for b in 0..D {
                        let x = if a == b { p.place[b] } else { p.place[b] - 0.5 };
                        let i = x.floor();
                        way[b] = x - i;
                        first[b] = tile.first[b] + i as isize;
                    }
                    let slope = p.slope[a];
                    // The velocity that it has at the first face.
                    let base = p.velocity[a] - (0..D).map(|b| slope[b] * way[b]).sum::<Real>();
                    for corner in 0..1usize << (D - 1) {
                        let (mut index, mut w, mut v) = (first, 1.0, base);
                        for b in 1..D {
                            let upper = corner >> (b - 1) & 1;
                            index[b] += upper as isize;
                            w *= if upper == 1 { way[b] } else { 1.0 - way[b] };
                            v += upper as Real * slope[b];
                        }
                        let weights = [w * (1.0 - way[0]), w * way[0]];
                        let sum = momentum.row(index, 2);
                        sum[0] += weights[0] * v;
                        sum[1] += weights[1] * (v + slope[0]);
                        let sum = mass.row(index, 2);
                        sum[0] += weights[0];
                        sum[1] += weights[1];
                    }
                }
            })?;
            let sums = &*weight;
            u.par_rows(|row, u| {
                for (u, m) in u.iter_mut().zip(sums.row(row)) {
                    *u = if *m > 0.0 { *u / *m } else { 0.0 };
                }
            });
            u.change_last(|index, u| {
                let m = sums.get_signed(index);
                if m > 0.0 { u / m } else { 0.0 }
            });
        }
        Ok(())
    }

    /// What particles take from faces. `before` is what the faces were when they had heard of the particles. Needs the ghosts of both.
    pub fn take_from_faces(&mut self, u: &VectorField<D>, before: &VectorField<D>, blend: Blend, periodic: [bool; D]) {
        let margin = 1;
        let layout = self.layout.clone();
        self.tiles.par_iter_mut().enumerate().filter(|(_, list)| !list.is_empty()).for_each_init(
            Patches::default,
            |patches, (number, list)| {
                let tile = layout.tile(number);
                patches.copy(u, &tile, margin, periodic);
                let old = match blend {
                    Blend::Apic => None,
                    Blend::Flip(_) => {
                        let mut old = Patches::default();
                        old.copy(before, &tile, margin, periodic);
                        Some(old)
                    }
                };
                for p in list {
                    for a in 0..D {
                        let (value, slope) = patches.0[a].value_and_slope(p.place);
                        match (blend, &old) {
                            (Blend::Flip(part), Some(old)) => {
                                let changed = p.velocity[a] + value - old.0[a].value(p.place);
                                p.velocity[a] = value + part * (changed - value);
                                p.slope[a] = [0.0; D];
                            }
                            _ => (p.velocity[a], p.slope[a]) = (value, slope),
                        }
                    }
                }
            },
        );
    }

    /// Gives particles half of a push, `u -= k g`, and moves them along a flow for a time in which a unit of velocity covers `cells` cells, by
    /// the midpoint rule. The flow is looked at no further than `margin` cells from a tile. `hold(tile, particle, from)` puts a particle back
    /// to where it may be. Needs the ghosts of `g` and `u`.
    pub fn push_and_advance(
        &mut self,
        (g, k): (&VectorField<D>, Real),
        (u, cells): (&VectorField<D>, Real),
        margin: usize,
        periodic: [bool; D],
        hold: impl Fn(&Tile<D>, &mut Particle<D>, [Real; D]) + Sync + Send,
    ) {
        let layout = self.layout.clone();
        self.tiles.par_iter_mut().enumerate().filter(|(_, list)| !list.is_empty()).for_each_init(
            || [Patches::default(), Patches::default()],
            |[flow, push], (number, list)| {
                let tile = layout.tile(number);
                flow.copy(u, &tile, margin, periodic);
                push.copy(g, &tile, 1, periodic);
                for p in list {
                    let from = p.place;
                    for a in 0..D {
                        let (value, slope) = push.0[a].value_and_slope(from);
                        p.velocity[a] -= k * value;
                        for b in 0..D {
                            p.slope[a][b] -= k * slope[b];
                        }
                    }
                    let middle = std::array::from_fn(|a| from[a] + 0.5 * cells * flow.0[a].value(from));
                    // However fast: it stays within reach of the tile beside.
                    let most = 0.5 * tile_width::<D>() as Real;
                    p.place = std::array::from_fn(|a| from[a] + (cells * flow.0[a].value(middle)).clamp(-most, most));
                    hold(&tile, p, from);
                }
            },
        );
    }
}

/// Velocities around a tile.
struct Patches<const D: usize>([Patch<D>; D]);

impl<const D: usize> Default for Patches<D> {
    fn default() -> Self {
        Patches(std::array::from_fn(|_| Patch::default()))
    }
}

impl<const D: usize> Patches<D> {
    fn copy(&mut self, u: &VectorField<D>, tile: &Tile<D>, margin: usize, periodic: [bool; D]) {
        for (patch, u) in self.0.iter_mut().zip(u) {
            patch.copy(u, tile, margin, periodic);
        }
    }
}

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
use crate::field::{Field, OutOfMemory, VectorField};
use crate::layout::tile_width;
use crate::sample::{Isa, Kernel};
use crate::scatter::{Scatter, Window};
use crate::threads::prelude::*;
use crate::tiles::Tile;
use std::cell::RefCell;

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
        let isa = Isa::best();
        for a in 0..D {
            let (u, weight) = (&mut u[a], &mut weight[a]);
            weight.relabel(u.at(), u.ends());
            u.fill(0.0);
            weight.fill(0.0);
            let lower: [bool; D] = std::array::from_fn(|b| a == b);
            scatter.add([u, weight], |tile, windows| {
                let particles = self.of_tile(tile.number);
                if !particles.is_empty() {
                    with_sums(&tile, 0.0, |sums| isa.run(Momentum { particles, axis: a, lower, sums }), windows);
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

    /// How many particles there are to each cell, as a part of `per_cell`: added to `density`. What would lie behind an end that is not periodic counts
    /// beside it.
    pub(crate) fn count(
        &self,
        scatter: &mut Scatter<D>,
        per_cell: usize,
        periodic: [bool; D],
        density: &mut Field<D>,
    ) -> Result<(), OutOfMemory> {
        let isa = Isa::best();
        let (part, layout) = (1.0 / per_cell as Real, &self.layout);
        scatter.add([density], |tile, windows| {
            let particles = self.of_tile(tile.number);
            if particles.is_empty() {
                return;
            }
            // From the tile: the centres of the first and of the last cell that a side allows.
            let limits = std::array::from_fn(|a| match periodic[a] {
                true => [Real::NEG_INFINITY, Real::INFINITY],
                false => {
                    let [begin, end] = [layout.begin(a), layout.end(a)];
                    [begin.saturating_sub(tile.first[a]) as Real, (end - 1).saturating_sub(tile.first[a]) as Real]
                }
            });
            with_sums(&tile, 0.0, |sums| isa.run(Count { particles, part, limits, sums }), windows);
        })
    }

    /// The least square of the distance, in cells, from each centre of a cell to a particle in the cells around it: where that is less than `nearest`.
    pub(crate) fn nearest(&self, scatter: &mut Scatter<D>, nearest: &mut Field<D>) -> Result<(), OutOfMemory> {
        let isa = Isa::best();
        scatter.least([nearest], |tile, windows| {
            let particles = self.of_tile(tile.number);
            if !particles.is_empty() {
                with_sums(&tile, Real::INFINITY, |sums| isa.run(Nearest { particles, sums }), windows);
            }
        })
    }

    /// What particles take from faces. `before` is what the faces were when they had heard of the particles. Needs the ghosts of both.
    pub fn take_from_faces(&mut self, u: &VectorField<D>, before: &VectorField<D>, blend: Blend, periodic: [bool; D]) {
        let (layout, isa) = (self.layout.clone(), Isa::best());
        let flips = matches!(blend, Blend::Flip(_));
        self.tiles.par_iter_mut().enumerate().filter(|(_, list)| !list.is_empty()).for_each_init(
            || [Patches::default(), Patches::default()],
            |[now, old], (number, particles)| {
                let tile = layout.tile(number);
                now.copy(u, &tile, 1, periodic);
                if flips {
                    old.copy(before, &tile, 1, periodic);
                }
                isa.run(Take { particles, now, old, blend });
            },
        );
    }

    /// Gives particles half of a push, `u -= k g`, and moves them along a flow for a time in which a unit of velocity covers `cells` cells, by
    /// the midpoint rule. The flow is looked at no further than `margin` cells from a tile. `hold(tile, particle)` puts a particle back
    /// to where it may be. Needs the ghosts of `g` and `u`.
    pub fn push_and_advance(
        &mut self,
        (g, k): (&VectorField<D>, Real),
        (u, cells): (&VectorField<D>, Real),
        margin: usize,
        periodic: [bool; D],
        hold: impl Fn(&Tile<D>, &mut Particle<D>) + Sync + Send,
    ) {
        let (layout, isa) = (self.layout.clone(), Isa::best());
        self.tiles.par_iter_mut().enumerate().filter(|(_, list)| !list.is_empty()).for_each_init(
            || [Patches::default(), Patches::default()],
            |[flow, push], (number, particles)| {
                let tile = layout.tile(number);
                flow.copy(u, &tile, margin, periodic);
                push.copy(g, &tile, 1, periodic);
                isa.run(Advance { particles, push, k, flow, cells });
                particles.iter_mut().for_each(|p| hold(&tile, p));
            },
        );
    }
}

thread_local! {
    /// Room for the sums of a tile, kept from use to use.
    static SUMS: RefCell<Vec<Real>> = const { RefCell::new(Vec::new()) };
}

/// Lets `f` add up over a tile and a cell around it, `K` values for each place side by side, which is faster than into windows; then moves all to the windows.
fn with_sums<const D: usize, const K: usize>(
    tile: &Tile<D>,
    nothing: Real,
    f: impl FnOnce(&mut Sums<'_, D>),
    windows: &mut [Window<'_, D>; K],
) {
    SUMS.with_borrow_mut(|room| {
        let sizes = tile.cells.map(|n| n + 2);
        let mut stride = [K; D];
        for a in 1..D {
            stride[a] = stride[a - 1] * sizes[a - 1];
        }
        room.clear();
        // Kernels look four values ahead.
        room.resize(stride[D - 1] * sizes[D - 1] + 4, nothing);
        f(&mut Sums { values: room, stride, last: tile.cells.map(|n| n as i32) });
        for (r, row) in room.chunks_exact(K * sizes[0]).take(sizes[1..].iter().product()).enumerate() {
            let (mut index, mut rest) = (tile.first, r);
            index[0] -= 1;
            for a in 1..D {
                index[a] += (rest % sizes[a]) as isize - 1;
                rest /= sizes[a];
            }
            if row.iter().all(|v| *v == nothing) {
                continue;
            }
            for (k, window) in windows.iter_mut().enumerate() {
                let out = window.row(index, sizes[0]);
                out.iter_mut().zip(row.iter().skip(k).step_by(K)).for_each(|(out, v)| *out = *v);
            }
        }
    });
}

/// Values for the places of a tile and of a cell around it, the first of which is that at -1.
struct Sums<'a, const D: usize> {
    values: &'a mut [Real],
    stride: [usize; D],
    /// The last place that has one above it, counted from -1.
    last: [i32; D],
}

impl<const D: usize> Sums<'_, D> {
    /// Four values from a place on.
    #[inline(always)]
    fn four(&mut self, at: usize) -> &mut [Real; 4] {
        let four: &mut [Real] = &mut self.values[at..at + 4];
        four.try_into().expect("four of them")
    }

    /// The place below `x`, where places begin at -1, and the way from it.
    #[inline(always)]
    fn corner(&self, x: [Real; D]) -> (usize, [Real; D]) {
        let (mut at, mut way) = (0, [0.0; D]);
        for a in 0..D {
            let up = x[a] + 1.0;
            // A place a rounding below the end of the tile must not be one behind it.
            let i = (up as i32).min(self.last[a]);
            way[a] = up - i as Real;
            at += i as usize * self.stride[a];
        }
        (at, way)
    }
}

/// The weights across x: pairs of the way to go on in memory, and the weight.
#[inline(always)]
fn across<const D: usize>(r: usize, stride: [usize; D], way: [Real; D]) -> (usize, Real) {
    let (mut at, mut w) = (0, 1.0);
    for b in 1..D {
        let upper = r >> (b - 1) & 1 == 1;
        at += if upper { stride[b] } else { 0 };
        w *= if upper { way[b] } else { 1.0 - way[b] };
    }
    (at, w)
}

/// `m_f += w`, `m_f u_f += w (u_p + c_p . (x_f - x_p))`.
struct Momentum<'a, 'b, const D: usize> {
    particles: &'a [Particle<D>],
    axis: usize,
    /// Along which axes faces lie on the lower side of cells.
    lower: [bool; D],
    sums: &'a mut Sums<'b, D>,
}

impl<const D: usize> Kernel for Momentum<'_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let Momentum { particles, axis, lower, sums } = self;
        for p in particles {
            let x = std::array::from_fn(|b| p.place[b] - if lower[b] { 0.0 } else { 0.5 });
            let (at, way) = sums.corner(x);
            let slope = p.slope[axis];
            // The velocity that it has at the first face.
            let mut base = p.velocity[axis];
            for b in 0..D {
                base -= slope[b] * way[b];
            }
            for r in 0..1usize << (D - 1) {
                let (on, w) = across(r, sums.stride, way);
                let mut v = base;
                for b in 1..D {
                    v += (r >> (b - 1) & 1) as Real * slope[b];
                }
                let (first, second) = (w * (1.0 - way[0]), w * way[0]);
                let sum = sums.four(at + on);
                let new = [first * v, first, second * (v + slope[0]), second];
                for k in 0..4 {
                    sum[k] += new[k];
                }
            }
        }
    }
}

struct Count<'a, 'b, const D: usize> {
    particles: &'a [Particle<D>],
    part: Real,
    limits: [[Real; 2]; D],
    sums: &'a mut Sums<'b, D>,
}

impl<const D: usize> Kernel for Count<'_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let Count { particles, part, limits, sums } = self;
        for p in particles {
            let x = std::array::from_fn(|a| (p.place[a] - 0.5).max(limits[a][0]).min(limits[a][1]));
            let (at, way) = sums.corner(x);
            for r in 0..1usize << (D - 1) {
                let (on, w) = across(r, sums.stride, way);
                let sum = sums.four(at + on);
                sum[0] += part * w * (1.0 - way[0]);
                sum[1] += part * w * way[0];
            }
        }
    }
}

struct Nearest<'a, 'b, const D: usize> {
    particles: &'a [Particle<D>],
    sums: &'a mut Sums<'b, D>,
}

impl<const D: usize> Kernel for Nearest<'_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let Nearest { particles, sums } = self;
        for p in particles {
            // From the particle to the centre of the first of three cells.
            let (mut at, mut way) = (0, [0.0; D]);
            for a in 0..D {
                let i = p.place[a] as i32;
                at += i as usize * sums.stride[a];
                way[a] = i as Real - 0.5 - p.place[a];
            }
            let x = way[0];
            let xs = [x * x, (x + 1.0) * (x + 1.0), (x + 2.0) * (x + 2.0), Real::INFINITY];
            for r in 0..3usize.pow(D as u32 - 1) {
                let (mut on, mut square, mut rest) = (at, 0.0, r);
                for a in 1..D {
                    let i = rest % 3;
                    rest /= 3;
                    on += i * sums.stride[a];
                    square += (way[a] + i as Real) * (way[a] + i as Real);
                }
                let least = sums.four(on);
                for k in 0..4 {
                    least[k] = least[k].min(square + xs[k]);
                }
            }
        }
    }
}

struct Take<'a, const D: usize> {
    particles: &'a mut [Particle<D>],
    now: &'a Patches<D>,
    old: &'a Patches<D>,
    blend: Blend,
}

impl<const D: usize> Kernel for Take<'_, D> {
    #[inline(always)]
    fn run(self) {
        for p in self.particles {
            for a in 0..D {
                let (value, slope) = self.now.0[a].value_and_slope(p.place);
                match self.blend {
                    Blend::Apic => (p.velocity[a], p.slope[a]) = (value, slope),
                    Blend::Flip(part) => {
                        let changed = p.velocity[a] + value - self.old.0[a].value(p.place);
                        p.velocity[a] = value + part * (changed - value);
                        p.slope[a] = [0.0; D];
                    }
                }
            }
        }
    }
}

struct Advance<'a, const D: usize> {
    particles: &'a mut [Particle<D>],
    push: &'a Patches<D>,
    k: Real,
    flow: &'a Patches<D>,
    cells: Real,
}

impl<const D: usize> Kernel for Advance<'_, D> {
    #[inline(always)]
    fn run(self) {
        let Advance { particles, push, k, flow, cells } = self;
        // However fast: it stays within reach of the tile beside.
        let most = 0.5 * tile_width::<D>() as Real;
        for p in particles {
            let from = p.place;
            let mut middle = from;
            for a in 0..D {
                let (value, slope) = push.0[a].value_and_slope(from);
                p.velocity[a] -= k * value;
                for b in 0..D {
                    p.slope[a][b] -= k * slope[b];
                }
                middle[a] += 0.5 * cells * flow.0[a].value(from);
            }
            for a in 0..D {
                p.place[a] = from[a] + (cells * flow.0[a].value(middle)).max(-most).min(most);
            }
        }
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

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

use super::carried::limits;
use super::eight::{Eight, Job, LANES, run, run_mut};
use super::faces::{Corners, Faces, line};
use super::{Particle, Particles};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::layout::tile_width;
use crate::sample::{Isa, Kernel};
use crate::scatter::{Scatter, Window};
use crate::threads::prelude::*;
use crate::tiles::Tile;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use wide::f32x4;

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
        let isa = self.isa;
        for (u, weight) in u.iter_mut().zip(&mut *weight) {
            weight.relabel(u.at(), u.ends());
            u.fill(0.0);
            weight.fill(0.0);
        }
        let mut pairs = u.iter_mut().zip(&mut *weight);
        let fields: [_; D] = std::array::from_fn(|_| pairs.next().map(|(u, m)| [u, m]).expect("one for each axis"));
        scatter.add_all(fields, |tile, windows| {
            let particles = self.of_tile(tile.number);
            if !particles.is_empty() {
                with_sums(&tile, 0.0, |sums| run(isa, Momentum { sums }, particles), windows);
            }
        })?;
        for (u, weight) in u.iter_mut().zip(&*weight) {
            let sums = weight;
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
        let isa = self.isa;
        let (part, layout) = (1.0 / per_cell as Real, &self.layout);
        scatter.add([density], |tile, windows| {
            let particles = self.of_tile(tile.number);
            if particles.is_empty() {
                return;
            }
            let limits = limits(layout, &tile, periodic);
            with_sums(
                &tile,
                0.0,
                |sums| isa.run(Count { particles, part, limits, sums }),
                std::array::from_mut(windows),
            );
        })
    }

    /// The least square of the distance, in cells, from each centre of a cell to a particle in the cells around it: where that is less than `nearest`.
    /// In cells of which all around hold particles, too, it is zero: whoever looks for a surface finds none there.
    pub(crate) fn nearest(&self, scatter: &mut Scatter<D>, nearest: &mut Field<D>) -> Result<(), OutOfMemory> {
        let isa = self.isa;
        scatter.least([nearest], |tile, windows| {
            let particles = self.of_tile(tile.number);
            if !particles.is_empty() {
                DEEP.with_borrow_mut(|deep| {
                    find_deep(particles, tile.cells, deep);
                    let (cells, deep) = (tile.cells, &deep[0][..]);
                    let job = |sums: &mut Sums<'_, D>| isa.run(Nearest { particles, cells, deep, sums });
                    with_sums(&tile, Real::INFINITY, job, std::array::from_mut(windows));
                });
            }
        })
    }

    /// What particles take from faces. `before` is what the faces were when they had heard of the particles. Needs the ghosts of both. Returns the
    /// largest component of what they took.
    pub fn take_from_faces(
        &mut self,
        u: &VectorField<D>,
        before: &VectorField<D>,
        blend: Blend,
        periodic: [bool; D],
    ) -> Real {
        let (layout, isa) = (self.layout.clone(), self.isa);
        // The bits of numbers that are not negative are in their order.
        let fastest = AtomicU32::new(0);
        self.tiles.par_iter_mut().enumerate().filter(|(_, list)| !list.is_empty()).for_each_init(
            || (Faces::default(), Faces::default()),
            |(now, both), (number, particles)| {
                let tile = layout.tile(number);
                match blend {
                    Blend::Apic => {
                        now.copy([u], &tile, 1, periodic);
                        run_mut(isa, TakeAffine { now }, particles);
                    }
                    Blend::Flip(part) => {
                        both.copy([u, before], &tile, 1, periodic);
                        run_mut(isa, TakeChange { both, part }, particles);
                    }
                }
                fastest.fetch_max(fastest_of(particles).to_bits(), Ordering::Relaxed);
            },
        );
        Real::from_bits(fastest.into_inner())
    }

    /// The largest component of their velocities.
    pub fn fastest(&self) -> Real {
        self.tiles.iter().map(|list| fastest_of(list)).fold(0.0, Real::max)
    }

    /// Gives particles half of a push, `u -= k g`, and moves them along a flow for a time in which a unit of velocity covers `cells` cells, by
    /// the midpoint rule. The flow is looked at no further than `margin` cells from a tile, and none goes further than `furthest` cells along an axis.
    /// `within(tile)` says how far they may go, in cells from the tile's lower corner. Needs the ghosts of `g` and `u`.
    pub fn push_and_advance(
        &mut self,
        (g, k): (&VectorField<D>, Real),
        (u, cells): (&VectorField<D>, Real),
        (margin, furthest): (usize, f64),
        periodic: [bool; D],
        within: impl Fn(&Tile<D>) -> [[Real; 2]; D] + Sync + Send,
    ) {
        // However fast: it stays within reach of the tile beside.
        let most = furthest.min(0.5 * tile_width::<D>() as f64) as Real;
        let (layout, isa) = (self.layout.clone(), self.isa);
        self.tiles.par_iter_mut().enumerate().filter(|(_, list)| !list.is_empty()).for_each_init(
            Faces::default,
            |both, (number, particles)| {
                let tile = layout.tile(number);
                both.copy([u, g], &tile, margin, periodic);
                run_mut(isa, Advance { both, k, cells, most, within: within(&tile) }, particles);
            },
        );
    }
}

fn fastest_of<const D: usize>(particles: &[Particle<D>]) -> Real {
    let of = |p: &Particle<D>| p.velocity.map(|v| v.abs().to_bits()).into_iter().fold(0, u32::max);
    Real::from_bits(particles.iter().map(of).fold(0, u32::max))
}

thread_local! {
    /// Room for the sums of a tile, kept from use to use.
    static SUMS: RefCell<Vec<Real>> = const { RefCell::new(Vec::new()) };
    /// And for which of its cells are deep.
    static DEEP: RefCell<[Vec<u8>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Lets `f` add up over a tile and a cell around it, for each of `N` kinds of places `K` values side by side, which is faster than into windows; then moves
/// all to the windows.
fn with_sums<const D: usize, const K: usize, const N: usize>(
    tile: &Tile<D>,
    nothing: Real,
    f: impl FnOnce(&mut Sums<'_, D>),
    windows: &mut [[Window<'_, D>; K]; N],
) {
    SUMS.with_borrow_mut(|room| {
        let sizes = tile.cells.map(|n| n + 2);
        let mut stride = [K; D];
        for a in 1..D {
            stride[a] = stride[a - 1] * sizes[a - 1];
        }
        let mut last = [0.0; 4];
        (0..D).for_each(|a| last[a] = tile.cells[a] as Real);
        // Kernels look four values ahead.
        let size = stride[D - 1] * sizes[D - 1] + 4;
        room.clear();
        room.resize(N * size, nothing);
        f(&mut Sums { values: room, size, stride, last });
        for (room, windows) in room.chunks_exact(size).zip(windows) {
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
        }
    });
}

/// Values for the places of a tile and of a cell around it, the first of which is that at -1.
struct Sums<'a, const D: usize> {
    values: &'a mut [Real],
    /// Of one kind of places.
    size: usize,
    stride: [usize; D],
    /// The last place that has one above it, counted from -1.
    last: [Real; 4],
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
    fn corner(&self, x: f32x4) -> (usize, [Real; 4]) {
        // A place a rounding below the end of the tile must not be one behind it.
        let (i, way) = below(x + f32x4::ONE, f32x4::new(self.last));
        ((0..D).map(|a| i[a] as usize * self.stride[a]).sum(), way)
    }
}

/// The whole numbers below some that are not negative, none above `last`, and the ways from them.
#[inline(always)]
fn below(x: f32x4, last: f32x4) -> ([i32; 4], [Real; 4]) {
    // What is no number becomes zero.
    let x = x.fast_max(f32x4::ZERO).fast_min(last + f32x4::ONE);
    let i = x.fast_min(last).fast_trunc_int();
    (i.to_array(), (x - f32x4::from_i32x4(i)).to_array())
}

/// The coordinates of a place as four numbers.
#[inline(always)]
fn four<const D: usize>(place: [Real; D]) -> f32x4 {
    let mut x = [0.0; 4];
    x[..D].copy_from_slice(&place);
    f32x4::new(x)
}

/// The weights across x: pairs of the way to go on in memory, and the weight.
#[inline(always)]
fn across<const D: usize>(r: usize, stride: [usize; D], way: [Real; 4]) -> (usize, Real) {
    let (mut at, mut w) = (0, 1.0);
    for b in 1..D {
        let upper = r >> (b - 1) & 1 == 1;
        at += if upper { stride[b] } else { 0 };
        w *= if upper { way[b] } else { 1.0 - way[b] };
    }
    (at, w)
}

/// `m_f += w`, `m_f u_f += w (u_p + c_p . (x_f - x_p))`, for all components.
struct Momentum<'a, 'b, const D: usize> {
    sums: &'a mut Sums<'b, D>,
}

impl<const D: usize> Job<D> for Momentum<'_, '_, D> {
    #[inline(always)]
    fn eight<V: Eight>(&mut self, particles: &mut [Particle<D>; LANES], count: usize) {
        let Sums { values, size, stride, last } = &mut *self.sums;
        let mut there = [1.0; LANES];
        there[count..].fill(0.0);
        let (one, there) = (V::splat(1.0), V::new(there));
        let p = V::read(particles);
        let mut ends = [0.0; D];
        ends.copy_from_slice(&last[..D]);
        // Places begin at -1.
        let corners = Corners::new(&p.place, 1.0, *stride, ends);
        for a in 0..D {
            let (slope, high) = (p.slope[a], corners.way(a, 0));
            // The velocity that each has at the first face.
            let mut first = p.velocity[a];
            for b in 0..D {
                first = first - slope[b] * corners.way(a, b);
            }
            for r in 0..1usize << (D - 1) {
                let (mut w, mut v) = (there, first);
                for b in 1..D {
                    let way = corners.way(a, b);
                    if r >> (b - 1) & 1 == 1 {
                        (w, v) = (w * way, v + slope[b]);
                    } else {
                        w = w * (one - way);
                    }
                }
                let (low, high) = (w * (one - high), w * high);
                let more = [low * v, low, high * (v + slope[0]), high];
                // SAFETY: corners have another place above them along each axis, and all of both is there.
                unsafe { V::add_fours(&mut values[a * *size..][..*size], corners.at(a), line(r, *stride), more) };
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
        let (low, high) = (four(limits.map(|l| l[0])), four(limits.map(|l| l[1])));
        for p in particles {
            let x = four(p.place).fast_max(low).fast_min(high) - f32x4::splat(0.5);
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

/// Leaves in the first list 1 for cells of a tile that hold particles as all cells around them do, 0 for others, and for those beside other tiles.
fn find_deep<const D: usize>(particles: &[Particle<D>], cells: [usize; D], [full, deep]: &mut [Vec<u8>; 2]) {
    let count = cells.iter().product();
    [&mut *full, &mut *deep].into_iter().for_each(|list| list.resize(count, 0));
    full.fill(0);
    for p in particles {
        full[cell_of(p.place, cells)] = 1;
    }
    let mut stride = 1;
    for n in cells {
        deep.fill(0);
        for (begin, line) in deep.chunks_exact_mut(stride * n).enumerate() {
            let (full, inner) =
                (&full[begin * stride * n..][..stride * n], stride..(stride * n).saturating_sub(stride));
            for i in inner {
                line[i] = full[i - stride] & full[i] & full[i + stride];
            }
        }
        std::mem::swap(full, deep);
        stride *= n;
    }
}

/// The number of the cell of a tile that a place is in.
#[inline(always)]
pub(crate) fn cell_of<const D: usize>(place: [Real; D], cells: [usize; D]) -> usize {
    (0..D).rev().fold(0, |at, a| at * cells[a] + (place[a] as i32 as usize).min(cells[a] - 1))
}

struct Nearest<'a, 'b, const D: usize> {
    particles: &'a [Particle<D>],
    cells: [usize; D],
    /// Of each cell of the tile, whether it is deep.
    deep: &'a [u8],
    sums: &'a mut Sums<'b, D>,
}

impl<const D: usize> Kernel for Nearest<'_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let Nearest { particles, cells, deep, sums } = self;
        for p in particles {
            if deep[cell_of(p.place, cells)] != 0 {
                let at = (0..D).map(|a| (p.place[a] as i32 as usize + 1) * sums.stride[a]).sum::<usize>();
                sums.values[at] = 0.0;
                continue;
            }
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

/// What particles take by APIC.
struct TakeAffine<'a, const D: usize> {
    now: &'a Faces<D, 1>,
}

impl<const D: usize> Job<D> for TakeAffine<'_, D> {
    #[inline(always)]
    fn eight<V: Eight>(&mut self, particles: &mut [Particle<D>; LANES], _: usize) {
        let mut p = V::read(particles);
        let corners = self.now.corners(&p.place);
        for a in 0..D {
            let ([value], slope) = self.now.values_and_slope(&corners, a, 0);
            (p.velocity[a], p.slope[a]) = (value, slope);
        }
        V::write(&p, particles);
    }
}

/// What particles take by FLIP.
struct TakeChange<'a, const D: usize> {
    /// The flow now and before.
    both: &'a Faces<D, 2>,
    part: Real,
}

impl<const D: usize> Job<D> for TakeChange<'_, D> {
    #[inline(always)]
    fn eight<V: Eight>(&mut self, particles: &mut [Particle<D>; LANES], _: usize) {
        let mut p = V::read(particles);
        let corners = self.both.corners(&p.place);
        for a in 0..D {
            let ([now, before], _) = self.both.values_and_slope(&corners, a, 0);
            let changed = p.velocity[a] + now - before;
            p.velocity[a] = now.mix(changed, V::splat(self.part));
            p.slope[a] = [V::splat(0.0); D];
        }
        V::write(&p, particles);
    }
}

struct Advance<'a, const D: usize> {
    /// The flow and the push.
    both: &'a Faces<D, 2>,
    k: Real,
    cells: Real,
    most: Real,
    /// Where they may be, along each axis.
    within: [[Real; 2]; D],
}

impl<const D: usize> Job<D> for Advance<'_, D> {
    #[inline(always)]
    fn eight<V: Eight>(&mut self, particles: &mut [Particle<D>; LANES], _: usize) {
        let Advance { both, k, cells, most, within } = *self;
        let (k, half, cells) = (V::splat(k), V::splat(0.5 * cells), V::splat(cells));
        let mut p = V::read(particles);
        let from = p.place;
        let mut middle = from;
        let corners = both.corners(&from);
        for a in 0..D {
            let ([flow, push], slope) = both.values_and_slope(&corners, a, 1);
            middle[a] = from[a] + half * flow;
            p.velocity[a] = p.velocity[a] - k * push;
            for b in 0..D {
                p.slope[a][b] = p.slope[a][b] - k * slope[b];
            }
        }
        let corners = both.corners(&middle);
        for a in 0..D {
            let way = (cells * both.value(&corners, a, 0)).max(V::splat(-most)).min(V::splat(most));
            p.place[a] = (from[a] + way).max(V::splat(within[a][0])).min(V::splat(within[a][1]));
        }
        V::write(&p, particles);
    }
}

/// Finds where something comes from along a flow, around one tile.
#[derive(Default)]
pub(crate) struct BackTracer<const D: usize>(Faces<D, 1>);

impl<const D: usize> BackTracer<D> {
    /// Goes to a tile: the flow is looked at no further than `margin` cells from it. Needs the ghosts of `u`.
    pub fn enter(&mut self, u: &VectorField<D>, tile: &Tile<D>, margin: usize, periodic: [bool; D]) {
        self.0.copy([u], tile, margin, periodic);
    }

    /// The largest component of the flow there.
    pub fn fastest(&self) -> Real {
        self.0.fastest()
    }

    /// Moves particles, which may be no more than points, back along the flow by the midpoint rule, for a time in which a unit of velocity covers
    /// `cells` cells.
    pub fn back(&self, cells: Real, points: &mut [Particle<D>]) {
        run_mut(Isa::best(), TraceBack { flow: &self.0, cells }, points);
    }
}

struct TraceBack<'a, const D: usize> {
    flow: &'a Faces<D, 1>,
    cells: Real,
}

impl<const D: usize> Job<D> for TraceBack<'_, D> {
    #[inline(always)]
    fn eight<V: Eight>(&mut self, particles: &mut [Particle<D>; LANES], _: usize) {
        let (half, cells) = (V::splat(0.5 * self.cells), V::splat(self.cells));
        let mut p = V::read(particles);
        let from = p.place;
        let corners = self.flow.corners(&from);
        for a in 0..D {
            p.place[a] = from[a] - half * self.flow.value(&corners, a, 0);
        }
        let corners = self.flow.corners(&p.place);
        for a in 0..D {
            p.place[a] = from[a] - cells * self.flow.value(&corners, a, 0);
        }
        V::write(&p, particles);
    }
}

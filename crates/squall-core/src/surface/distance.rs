//! Distances to the surface of a liquid from its particles, on cells finer than the grid.
//!
//! The averaged kernels of Zhu & Bridson 2005: with `k(s) = (1 - s^2)^3` around a point `x`, of radius `R`,
//!
//! ```text
//! w = sum_p k(|x_p - x| / R),   m = sum_p k (x_p - x) / w,   v = sum_p k |x_p - x|^2 / w - |m|^2
//! phi = d(|m|) + e(v)
//! ```
//!
//! `d` is the distance at which `m` has this length over the flat surface of a liquid that fills half of space: flat surfaces lie where they
//! should, and a single particle is a ball of about its own volume (0.25 R). Between two surfaces that come close `m` vanishes as it
//! does inside, but the spread `v` is larger than in the liquid: there `e` keeps them apart.
//!
//! Particles are mirrored at walls and the liquid is cut off there: it ends in flat faces. Where the room repeats itself, they are repeated instead:
//! what is cut off at one end goes on at the other.

use super::blocks::{BlockMap, around};
use super::points::Points;
use crate::sample::{Isa, Kernel};
use crate::threads::prelude::*;
use crate::volume::{BLOCK, Volume};
use std::ops::Range;

/// The radius of kernels, in cells of the grid.
pub(super) const REACH: f64 = 1.5;

/// Where the liquid was simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room<const D: usize> {
    /// The lower corner of the grid, in metres.
    pub origin: [f64; D],
    /// The side of its cells, in metres.
    pub cell: f64,
    /// Walls across each axis, below and above, in metres.
    pub walls: [[Option<f64>; 2]; D],
    /// Axes along which the room repeats itself: both walls, which must be there, are one, and no wall.
    pub periodic: [bool; D],
}

impl<const D: usize> Room<D> {
    /// Walls across an axis, in cells from the origin.
    pub(super) fn walls_in_cells(&self, a: usize) -> [Option<f64>; 2] {
        self.walls[a].map(|wall| wall.map(|x| (x - self.origin[a]) / self.cell))
    }
}

/// How fine a surface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fineness {
    /// Cells of the surface along each side of a cell of the grid, from 1 to 4.
    pub refine: usize,
    /// How often it is smoothed, at two cells to a cell of the grid; on others as often as makes it as smooth. Small bumps vanish, and the volume stays.
    pub smoothing: usize,
}

impl Default for Fineness {
    fn default() -> Self {
        Fineness { refine: 2, smoothing: 8 }
    }
}

impl Fineness {
    /// How often it takes: what is smoothed away grows with the square of the length in fine cells.
    pub(super) fn passes(&self) -> usize {
        (self.smoothing * self.refine * self.refine).div_ceil(4)
    }
}

/// The largest [`Fineness::refine`]: kernels reach no further than to the block beside.
pub const FINEST: usize = 4;

impl<const D: usize> Points<D> {
    /// Signed distances in metres around the particles, negative inside; right near the surface, and no more than 0.75 cells of the grid on both
    /// sides. All blocks near the surface and within are stored; outside is what is left.
    pub fn distances(&self, fineness: Fineness) -> Volume<D> {
        let room = &self.room;
        let refine = fineness.refine.clamp(1, FINEST);
        let spacing = room.cell / refine as f64;
        let kernel = KernelSize::new::<D>(refine);
        let background = BAND * kernel.reach * spacing as f32;
        let blocks = blocks_near(self, refine);
        let mut volume = Volume {
            origin: room.origin,
            spacing,
            background,
            values: vec![background; blocks.len() * Volume::<D>::CELLS],
            blocks,
        };
        let (blocks, isa) = (&volume.blocks, Isa::best());
        volume.values.par_chunks_mut(Volume::<D>::CELLS).enumerate().for_each_init(Vec::new, |sums, (b, values)| {
            isa.run(Around { points: self, block: blocks[b], kernel, refine, spacing: spacing as f32, sums, values });
        });
        smooth(&mut volume, fineness.passes(), (MOST_SMOOTHED * room.cell) as f32);
        cut_off(&mut volume, room);
        volume
    }
}

/// All blocks that a kernel or its next cell reaches, in ascending order; none that lie behind a wall.
fn blocks_near<const D: usize>(points: &Points<D>, refine: usize) -> Vec<[i32; D]> {
    let room = &points.room;
    let side = BLOCK as f64;
    let reach = REACH + 1.0 / refine as f64;
    let per_block = refine as f64 / side;
    let mut found = BlockMap::default();
    let mut last = None;
    let mut reached = |cell: [i32; D]| {
        let low: [i32; D] = std::array::from_fn(|a| ((f64::from(cell[a]) - reach) * per_block).floor() as i32);
        let high: [i32; D] = std::array::from_fn(|a| ((f64::from(cell[a]) + 1.0 + reach) * per_block).floor() as i32);
        // Most cells reach the same blocks as the one before.
        if last.replace((low, high)) == Some((low, high)) {
            return;
        }
        let spans: [i32; D] = std::array::from_fn(|a| high[a] - low[a] + 1);
        for mut n in 0..spans.iter().product::<i32>() {
            let block = std::array::from_fn(|a| {
                let i = n % spans[a];
                n /= spans[a];
                low[a] + i
            });
            found.insert(block, 0);
        }
    };
    points.cells.for_each_occupied(&mut reached);
    // What comes from the other end of a room that repeats itself.
    points.bins.for_each_occupied(&mut reached);
    let fine = room.cell / refine as f64;
    let within = |b: &[i32; D]| {
        (0..D).all(|a| {
            let [low, high] = room.walls[a].map(|wall| wall.map(|x| (x - room.origin[a]) / fine));
            let begin = f64::from(b[a]) * side;
            low.is_none_or(|x| begin + side > x - 1.5) && high.is_none_or(|x| begin < x + 1.5)
        })
    };
    let mut blocks: Vec<[i32; D]> = found.into_keys().filter(within).collect();
    blocks.sort_unstable();
    blocks
}

/// How far on both sides of the surface distances go, in radii of kernels: further inside `m` says little.
pub(super) const BAND: f32 = 0.5;

/// Entries of the table of distances.
const ENTRIES: usize = 64;

/// What is known of kernels.
#[derive(Clone, Copy)]
struct KernelSize {
    /// The radius, in fine cells.
    reach: f32,
    /// The spread in the middle of a liquid, in radii squared.
    spread: f32,
    /// Distances for lengths of `m` from 0 to 1, both in radii.
    distances: [f32; ENTRIES + 1],
}

impl KernelSize {
    fn new<const D: usize>(refine: usize) -> Self {
        // Across a plane at height z the kernel sums up to (1 - z^2)^e. Over a liquid at distance d, up to the same factor:
        // w = integral of that from d to 1, w |m| = (1 - d^2)^(e + 1) / (2 e + 2).
        let (e, spread) = if D == 2 { (3.5, 0.2) } else { (4.0, 3.0 / 11.0) };
        let steps = 2000u32;
        let mut curve = Vec::with_capacity(steps as usize);
        let mut w = 0.0;
        for i in (0..steps).rev() {
            let d = -1.0 + 2.0 * (f64::from(i) + 0.5) / f64::from(steps);
            w += (1.0 - d * d).powf(e) * 2.0 / f64::from(steps);
            curve.push(((1.0 - d * d).powf(e + 1.0) / (2.0 * e + 2.0) / w, d));
        }
        // From the depth up: the first steps of the sum are rough.
        let distance = |m: f64| curve.iter().rev().find(|(length, _)| *length >= m).map_or(1.0, |&(_, d)| d) as f32;
        let distances = std::array::from_fn(|i| distance(i as f64 / ENTRIES as f64).clamp(-BAND, BAND));
        KernelSize { reach: (REACH * refine as f64) as f32, spread, distances }
    }

    /// The distance in fine cells, at most [`BAND`] radii, for the square of `m` and the spread in fine cells squared.
    #[inline(always)]
    fn distance(&self, square: f32, spread: f32) -> f32 {
        let place = (square.sqrt() / self.reach * ENTRIES as f32).min(ENTRIES as f32 - 1e-3);
        let (i, way) = (place as usize, place.fract());
        let d = self.distances[i] + way * (self.distances[i + 1] - self.distances[i]);
        let beyond = spread / (self.reach * self.reach * self.spread) - 1.12;
        // As far outside as inside: else smoothing would move the surface.
        self.reach * (d + BAND * (3.0 * beyond).clamp(0.0, 1.5)).min(BAND)
    }
}

/// The sums of a row of cells: weights, three ways, squares.
type Sums = [[f32; BLOCK]; 5];

/// The distances of a block.
struct Around<'a, const D: usize> {
    points: &'a Points<D>,
    block: [i32; D],
    kernel: KernelSize,
    refine: usize,
    spacing: f32,
    sums: &'a mut Vec<Sums>,
    values: &'a mut [f32],
}

impl<const D: usize> Kernel for Around<'_, D> {
    #[inline(always)]
    fn run(self) {
        let Around { points, block, kernel, refine, spacing, sums, values } = self;
        let (side, refined) = (BLOCK as f64, refine as f64);
        let low: [i32; D] = std::array::from_fn(|a| (f64::from(block[a]) * side / refined - REACH).floor() as i32);
        let high: [i32; D] =
            std::array::from_fn(|a| ((f64::from(block[a]) + 1.0) * side / refined + REACH).floor() as i32);
        let inside = inside(points, block, refine);
        let deepest = -BAND * kernel.reach * spacing;
        if inside[..BLOCK.pow(D as u32 - 1)].iter().all(|row| *row == u8::MAX) {
            values.fill(deepest);
            return;
        }
        sums.clear();
        sums.resize(BLOCK.pow(D as u32 - 1), [[0.0; BLOCK]; 5]);
        let first = block.map(|b| f64::from(b) * side);
        let reach = kernel.reach;
        let inverse = 1.0 / (reach * reach);
        points.bins.near(low, high, |_, places| {
            for p in places {
                // From the centre of the first cell.
                let q: [f32; D] = std::array::from_fn(|a| (p[a] * refined - first[a] - 0.5) as f32);
                let range = |a: usize| {
                    let from = (q[a] - reach).ceil().max(0.0) as usize;
                    let to = (q[a] + reach).floor().min(BLOCK as f32 - 1.0);
                    from..(to + 1.0).max(0.0) as usize
                };
                if range(0).is_empty() {
                    continue;
                }
                let layers = if D == 3 { range(D - 1) } else { 0..1 };
                for z in layers {
                    let dz = if D == 3 { q[D - 1] - z as f32 } else { 0.0 };
                    for y in range(1).filter(|y| inside[y + BLOCK * z] != u8::MAX) {
                        let dy = q[1] - y as f32;
                        let across = dy * dy + dz * dz;
                        let [w, x_sum, y_sum, z_sum, squares] = &mut sums[y + BLOCK * z];
                        for x in 0..BLOCK {
                            let dx = q[0] - x as f32;
                            let square = dx * dx + across;
                            let t = (1.0 - square * inverse).max(0.0);
                            let k = t * t * t;
                            w[x] += k;
                            x_sum[x] += k * dx;
                            y_sum[x] += k * dy;
                            z_sum[x] += k * dz;
                            squares[x] += k * square;
                        }
                    }
                }
            }
        });
        let rows = values.chunks_exact_mut(BLOCK).zip(sums.iter()).zip(inside);
        for ((values, [w, x_sum, y_sum, z_sum, squares]), inside) in rows {
            for x in 0..BLOCK {
                if inside >> x & 1 == 1 {
                    values[x] = deepest;
                } else if w[x] > 1e-9 {
                    let per = 1.0 / w[x];
                    let mean = (x_sum[x] * x_sum[x] + y_sum[x] * y_sum[x] + z_sum[x] * z_sum[x]) * per * per;
                    values[x] = spacing * kernel.distance(mean, squares[x] * per - mean);
                } // else no particle is in reach: it is the background
            }
        }
    }
}

/// The cells of a block that lie in cells of the grid which are inside, a bit for each of a row: not all particles around them may be there.
fn inside<const D: usize>(points: &Points<D>, block: [i32; D], refine: usize) -> [u8; BLOCK * BLOCK] {
    let mut rows = [0; BLOCK * BLOCK];
    let fine = refine as i32;
    let first = block.map(|b| b * BLOCK as i32);
    let cells: [Range<i32>; D] =
        std::array::from_fn(|a| first[a].div_euclid(fine)..(first[a] + BLOCK as i32 - 1).div_euclid(fine) + 1);
    let spans: [i32; D] = std::array::from_fn(|a| cells[a].end - cells[a].start);
    for mut n in 0..spans.iter().product::<i32>() {
        let cell: [i32; D] = std::array::from_fn(|a| {
            let i = n % spans[a];
            n /= spans[a];
            cells[a].start + i
        });
        if !points.cells.is_inside(cell) {
            continue;
        }
        let of: [Range<usize>; 3] = std::array::from_fn(|a| match cell.get(a) {
            Some(cell) => {
                let begin = cell * fine - first[a];
                begin.max(0) as usize..(begin + fine).min(BLOCK as i32) as usize
            }
            None => 0..1,
        });
        let bits = of[0].clone().fold(0, |bits, x| bits | 1 << x);
        for z in of[2].clone() {
            of[1].clone().for_each(|y| rows[y + BLOCK * z] |= bits);
        }
    }
    rows
}

/// Blocks of a volume by their places.
pub(super) struct Places<const D: usize> {
    slots: BlockMap<D>,
    /// For each block those around it ([`around`]); `u32::MAX` where there is none.
    beside: Vec<u32>,
}

impl<const D: usize> Places<D> {
    pub fn new(volume: &Volume<D>) -> Self {
        let slots: BlockMap<D> = volume.blocks.iter().enumerate().map(|(slot, &b)| (b, slot as u32)).collect();
        let slot = |block: [i32; D]| slots.get(&block).copied().unwrap_or(u32::MAX);
        let beside = volume.blocks.iter().flat_map(|&block| around(block)).map(slot).collect();
        Places { slots, beside }
    }

    /// Which block lies at a place.
    pub fn slot(&self, block: [i32; D]) -> Option<usize> {
        self.slots.get(&block).map(|&slot| slot as usize)
    }

    /// The blocks around one, itself in the middle, x fastest: where they are stored.
    fn beside(&self, block: usize) -> &[u32] {
        let count = 3usize.pow(D as u32);
        &self.beside[count * block..count * (block + 1)]
    }

    /// Copies block number `block` with `before` cells below and `after` cells above it along each axis, x fastest.
    pub fn window(&self, volume: &Volume<D>, block: usize, before: usize, after: usize, out: &mut Vec<f32>) {
        let size = BLOCK + before + after;
        out.clear();
        out.resize(size.pow(D as u32), volume.background);
        for (mut n, &slot) in self.beside(block).iter().enumerate() {
            // The part of the block beside, and where it goes to.
            let (mut from, mut to, mut len) = ([0; D], [0; D], [0; D]);
            for a in 0..D {
                (from[a], to[a], len[a]) = match n % 3 {
                    0 => (BLOCK - before, 0, before),
                    1 => (0, before, BLOCK),
                    _ => (0, before + BLOCK, after),
                };
                n /= 3;
            }
            if slot == u32::MAX || len.contains(&0) {
                continue;
            }
            let values = volume.block(slot as usize);
            for mut r in 0..len[1..].iter().product::<usize>() {
                let (mut source, mut target) = (from[0], to[0]);
                let (mut stride, mut wide) = (BLOCK, size);
                for a in 1..D {
                    let i = r % len[a];
                    r /= len[a];
                    source += (from[a] + i) * stride;
                    target += (to[a] + i) * wide;
                    stride *= BLOCK;
                    wide *= size;
                }
                out[target..target + len[0]].copy_from_slice(&values[source..source + len[0]]);
            }
        }
    }
}

/// How far smoothing moves a surface at most, in cells of the grid: bumps are smaller, and drops must not vanish.
pub(super) const MOST_SMOOTHED: f64 = 0.08;

/// Smooths, and gives back the smooth part of what that took away, so that round surfaces do not shrink (twicing, Tukey 1977): of a wave
/// of which smoothing leaves the part `f`, this leaves `2 f - f^2`. Nothing moves further than `most`.
pub(super) fn smooth<const D: usize>(volume: &mut Volume<D>, times: usize, most: f32) {
    if times == 0 || volume.blocks.is_empty() {
        return;
    }
    let places = Places::new(volume);
    let first = volume.values.clone();
    average(volume, &places, times);
    let smoothed = volume.values.clone();
    let background = std::mem::replace(&mut volume.background, 0.0);
    volume.values.iter_mut().zip(&first).for_each(|(value, first)| *value = first - *value);
    average(volume, &places, times);
    volume.background = background;
    for ((value, smoothed), first) in volume.values.iter_mut().zip(smoothed).zip(first) {
        *value = (*value + smoothed).clamp(first - most, first + most);
    }
}

/// Moves values half of the way to the mean of those beside them, so many times.
fn average<const D: usize>(volume: &mut Volume<D>, places: &Places<D>, times: usize) {
    let mut next = volume.values.clone();
    for _ in 0..times {
        let now = &*volume;
        let all_alike = |b: usize| {
            let values = now.block(b);
            values.iter().all(|v| *v == values[0]).then_some(values[0])
        };
        let alike: Vec<Option<f32>> = (0..now.blocks.len()).into_par_iter().map(all_alike).collect();
        next.par_chunks_mut(Volume::<D>::CELLS).enumerate().for_each_init(Vec::new, |window, (b, out)| {
            // Most of what is deep inside.
            let value_of = |slot: u32| alike.get(slot as usize).map_or(Some(now.background), |value| *value);
            if let Some(value) = alike[b].filter(|value| places.beside(b).iter().all(|&s| value_of(s) == Some(*value)))
            {
                return out.fill(value);
            }
            places.window(now, b, 1, 1, window);
            let size = BLOCK + 2;
            let strides: [usize; D] = std::array::from_fn(|a| size.pow(a as u32));
            let corner: usize = strides.iter().sum();
            for (r, out) in out.chunks_exact_mut(BLOCK).enumerate() {
                let at = corner + (1..D).map(|a| r / BLOCK.pow(a as u32 - 1) % BLOCK * strides[a]).sum::<usize>();
                let mut sum = [0.0; BLOCK];
                for s in strides {
                    for x in 0..BLOCK {
                        sum[x] += window[at + x + s] + window[at + x - s];
                    }
                }
                for x in 0..BLOCK {
                    out[x] = 0.5 * (window[at + x] + sum[x] / (2 * D) as f32);
                }
            }
        });
        std::mem::swap(&mut volume.values, &mut next);
    }
}

/// Ends the liquid at walls.
pub(super) fn cut_off<const D: usize>(volume: &mut Volume<D>, room: &Room<D>) {
    let (spacing, origin, background) = (volume.spacing, volume.origin, volume.background);
    let blocks = &volume.blocks;
    volume.values.par_chunks_mut(Volume::<D>::CELLS).enumerate().for_each(|(b, values)| {
        for a in 0..D {
            for (wall, side) in room.walls[a].into_iter().zip([1.0, -1.0]) {
                let Some(wall) = wall else { continue };
                let beyond: [f32; BLOCK] = std::array::from_fn(|i| {
                    let x = origin[a] + (f64::from(blocks[b][a]) * BLOCK as f64 + i as f64 + 0.5) * spacing;
                    ((side * (wall - x)) as f32).clamp(-background, background)
                });
                if beyond.iter().all(|d| *d <= -background) {
                    continue;
                }
                let stride = BLOCK.pow(a as u32);
                values.iter_mut().enumerate().for_each(|(i, v)| *v = v.max(beyond[i / stride % BLOCK]));
            }
        }
    });
}

/// How far a liquid reaches towards a solid that it touches, and into it, in cells of the grid: there is no gap to be seen, and none behind.
const TOUCHES: f64 = 0.7;
const INTO: f64 = 0.3;

/// Lets the liquid touch solids: particles keep off them, and kernels do not see what lies behind. `solid` is the distance to the solids in
/// metres, negative inside. Walls end it as before.
pub fn touch_solids<const D: usize>(volume: &mut Volume<D>, room: &Room<D>, solid: impl Fn([f64; D]) -> f64 + Sync) {
    let (spacing, origin, background, cell) = (volume.spacing, volume.origin, volume.background, room.cell);
    let (blocks, side) = (&volume.blocks, BLOCK as f64);
    volume.values.par_chunks_mut(Volume::<D>::CELLS).enumerate().for_each(|(b, values)| {
        let first: [f64; D] = std::array::from_fn(|a| origin[a] + f64::from(blocks[b][a]) * side * spacing);
        // Most blocks are far from any solid.
        let middle = first.map(|x| x + 0.5 * side * spacing);
        let reach = 0.5 * side * spacing * (D as f64).sqrt();
        if solid(middle) > reach + TOUCHES * cell {
            return;
        }
        for (i, value) in values.iter_mut().enumerate() {
            let x = std::array::from_fn(|a| first[a] + ((i / BLOCK.pow(a as u32) % BLOCK) as f64 + 0.5) * spacing);
            let away = solid(x);
            let nearer = (TOUCHES * cell - away.max(0.0)).max(0.0) as f32;
            let inside = (-away - INTO * cell) as f32;
            *value = (*value - nearer).max(inside).clamp(-background, background);
        }
    });
    cut_off(volume, room);
}

//! Sums over charges in all tiles, `f(x) = sum of q(y) G(x - y)` with the Green's function of free space, at points that
//! lie some cells away from all charges.
//!
//! Charges are gathered in blocks of 2, 4, ... cells up to whole tiles, each with its moments up to the second order about
//! its centre; points in blocks of 4 cells up to whole tiles, each with a Taylor series of the second order (Greengard &
//! Rokhlin 1987, in Cartesian form). A pair of blocks that lie far apart for their sizes meets as blocks; of others the larger
//! one is split. All is in units of cells: `G = ln(r) / 2 pi` in 2D and `-1 / (4 pi r)` in 3D.
//!
//! There are no blocks larger than a tile, so that sums do not depend on where a tile lies in some larger block: the same
//! tiles elsewhere give the same bits, and what is symmetric stays so. All pairs of tiles meet, which takes 15 ns each.

use crate::threads::prelude::*;
use smallvec::SmallVec;
use std::f64::consts::PI;

use crate::Real;
use crate::layout::{Layout, MAX_TILE, Row, tile_width};
use crate::ops::each;
use crate::sample::{Isa, Kernel};

/// Two blocks meet as blocks if what that leaves out, which is of the third order in their widths over their distance, is below
/// this part of what all charges together do at a distance of [`UNIT`] cells. So large blocks full of charges are split early
/// and faint ones late. Measured on 4^3 tiles, 1e-3 / 3e-3 / 1e-2: 620 / 390 / 120 ns per point (on a busy machine) for errors of
/// 2 / 4 / 9 % of a field that has almost cancelled at the points.
const LEFT_OUT: f64 = 2e-3;
const UNIT: f64 = 16.0;

/// But never if their widths together, or that of a block of charges and its distance from points, are more than this times
/// the distance.
const CLOSEST: f64 = 1.5;

/// Width of the smallest blocks of points, in cells: a tile has 64 of them in 2D and in 3D.
const POINTS: usize = 4;
const POINT_BLOCKS: usize = 64;

/// Blocks of points of all sizes in a tile, at most: 64 + 16 + 4 + 1.
const ALL_POINT_BLOCKS: usize = 85;

/// A plane in which all charges have a mirror image: the effect of a wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mirror {
    /// The axis across the plane.
    pub axis: usize,
    /// Where it is, in cells: values of cell `i` lie at `i`.
    pub at: f64,
    /// What the image of a charge of 1 is.
    pub sign: f64,
}

/// All charges as they are seen in some mirrors: along an axis what is at `x` is seen at `shift + x`, or at `shift - x`.
#[derive(Clone, Copy, Debug)]
struct Image<const D: usize> {
    turned: [bool; D],
    shift: [f64; D],
    sign: f64,
}

impl<const D: usize> Image<D> {
    /// Where something is seen.
    #[inline(always)]
    fn of(&self, x: [f64; D]) -> [f64; D] {
        each(|a| if self.turned[a] { self.shift[a] - x[a] } else { self.shift[a] + x[a] })
    }

    /// The same, seen in one more mirror.
    fn seen_in(mut self, mirror: &Mirror) -> Self {
        let a = mirror.axis;
        self.turned[a] = !self.turned[a];
        self.shift[a] = 2.0 * mirror.at - self.shift[a];
        self.sign *= mirror.sign;
        self
    }
}

/// Between two mirrors that face each other, images of images go on for ever: so many are counted either way.
const BETWEEN_TWO: usize = 4;

/// The charges themselves, and how they look in every mirror, in every two or three that meet, and again and again in two that
/// face each other.
fn images<const D: usize>(mirrors: &[Mirror]) -> SmallVec<[Image<D>; 8]> {
    let mut all: SmallVec<[Image<D>; 8]> = SmallVec::new();
    all.push(Image { turned: [false; D], shift: [0.0; D], sign: 1.0 });
    for a in 0..D {
        let mut across = mirrors.iter().filter(|m| m.axis == a);
        let (first, second) = (across.next(), across.next());
        for i in 0..all.len() {
            match (first, second) {
                (Some(mirror), None) => all.push(all[i].seen_in(mirror)),
                (Some(one), Some(other)) => {
                    // In the mirror of an open side, where the sum is zero, every image has to have its opposite: one that has none adds a
                    // constant to the whole sum, and at the edge of the side the air was driven at thousands of metres per second.
                    let opposite = |mirror: &Mirror| usize::from(mirror.sign < 0.0);
                    let less = [if opposite(other) == 1 { 0 } else { opposite(one) }, opposite(other)];
                    for (one, other, less) in [(one, other, less[0]), (other, one, less[1])] {
                        let mut image = all[i];
                        for k in 0..BETWEEN_TWO - less {
                            image = image.seen_in(if k % 2 == 0 { one } else { other });
                            all.push(image);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    all
}

/// What is known of the charges in a block: their sum, first and second moments (xx, yy, zz, xy, xz, yz) about its centre,
/// and whether there are any.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    sum: f32,
    first: [f32; 3],
    second: [f32; 6],
    /// The sum of their sizes.
    size: f32,
}

/// The place of `(a, b)` among second moments.
#[inline(always)]
const fn pair(a: usize, b: usize) -> usize {
    if a == b { a } else { 2 + a + b }
}

/// A Taylor series about the centre of a block of points.
#[derive(Clone, Copy, Debug, Default)]
struct Series {
    value: f64,
    first: [f64; 3],
    second: [f64; 6],
}

/// Blocks that meet points at once: the parts of one block (in 2D only four of them), or some tiles.
const LANES: usize = 8;
type Lanes = [f32; LANES];

/// The [`Moments`] of some blocks, side by side.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    sum: Lanes,
    first: [Lanes; 3],
    second: [Lanes; 6],
    size: Lanes,
}

impl Group {
    fn get(&self, l: usize) -> Moments {
        Moments {
            sum: self.sum[l],
            first: self.first.map(|v| v[l]),
            second: self.second.map(|v| v[l]),
            size: self.size[l],
        }
    }

    fn set(&mut self, l: usize, m: &Moments) {
        (self.sum[l], self.size[l]) = (m.sum, m.size);
        (0..3).for_each(|a| self.first[a][l] = m.first[a]);
        (0..6).for_each(|k| self.second[k][l] = m.second[k]);
    }
}

/// The charges of all tiles.
pub struct Tree<const D: usize> {
    coords: Vec<[i32; D]>,
    /// For each tile the groups of blocks that are the parts of one, the smallest ones first, x fastest.
    blocks: Vec<Group>,
    /// Whole tiles.
    tiles: Vec<Group>,
    total: f64,
    isa: Isa,
}

/// Sizes of blocks of charges in a tile, the tile itself not counted.
const fn levels<const D: usize>() -> usize {
    tile_width::<D>().ilog2() as usize - 1
}

/// Groups of blocks of charges along each side of a tile.
const fn per_side<const D: usize>(level: usize) -> usize {
    tile_width::<D>() >> (level + 2)
}

/// Where the groups of a size begin among those of a tile; of the size after the last one: how many there are.
const fn first_of<const D: usize>(level: usize) -> usize {
    let (mut sum, mut l) = (0, 0);
    while l < level {
        sum += per_side::<D>(l).pow(D as u32);
        l += 1;
    }
    sum
}

/// The same for blocks of points: they are as wide as groups of charges.
const fn first_points<const D: usize>(level: usize) -> usize {
    first_of::<D>(level)
}

#[inline(always)]
fn place<const D: usize>(block: [usize; D], per_side: usize) -> usize {
    (0..D).rev().fold(0, |n, a| n * per_side + block[a])
}

/// The `n`-th of the blocks that a block is split into.
#[inline(always)]
fn child<const D: usize>(block: [usize; D], n: usize) -> [usize; D] {
    each(|a| 2 * block[a] + (n >> a & 1))
}

impl<const D: usize> Tree<D> {
    /// Room for the charges of these tiles.
    pub fn on(layout: &Layout<D>, isa: Isa) -> Self {
        let coords = layout.as_tiles().expect("charges are on tiles").coords().to_vec();
        let blocks = vec![Group::default(); coords.len() * first_of::<D>(levels::<D>())];
        let tiles = vec![Group::default(); coords.len().div_ceil(LANES)];
        Tree { blocks, tiles, coords, total: 0.0, isa }
    }

    /// Takes the charges that `f` writes for each row of the layout that it was made for.
    pub fn set(&mut self, layout: &Layout<D>, f: impl Fn(Row<'_, D>, &mut [Real]) + Sync) {
        let rows = layout.rows_per_part();
        let groups = const { first_of::<D>(levels::<D>()) };
        let tiles = self.blocks.par_chunks_mut(LANES * groups).zip(self.tiles.par_iter_mut()).enumerate();
        tiles.for_each(|(some, (blocks, tiles))| {
            *tiles = Group::default();
            for (l, blocks) in blocks.chunks_exact_mut(groups).enumerate() {
                let t = some * LANES + l;
                blocks.fill(Group::default());
                let n = tile_width::<D>();
                let mut any = false;
                for row in (t * rows..(t + 1) * rows).map(|r| layout.row(r)) {
                    let mut charges = [0.0; MAX_TILE];
                    f(row, &mut charges[..n]);
                    if charges[..n].iter().any(|&q| q != 0.0) {
                        add_row(row, &charges[..n], blocks);
                        any = true;
                    }
                }
                if any {
                    (1..levels::<D>()).for_each(|level| merge_level::<D>(level, blocks));
                    tiles.set(l, &merge::<D>(&blocks[groups - 1], levels::<D>()));
                }
            }
        });
        self.total = self.tiles.iter().flat_map(|some| some.size).map(f64::from).sum();
    }

    /// Whether there are no charges at all.
    pub fn is_empty(&self) -> bool {
        self.tiles.iter().all(|some| some.size == [0.0; LANES])
    }

    /// Sets the values at points to the sum over all charges and their images.
    pub fn sum(&self, mirrors: &[Mirror], points: &mut [Points<D>]) {
        let images = images::<D>(mirrors);
        // Images are charges, too.
        let faint = (LEFT_OUT * self.total * images.len() as f64) as f32;
        points.par_iter_mut().for_each(|points| {
            let series = [Series::default(); ALL_POINT_BLOCKS];
            points.values.fill(0.0);
            let mut meeting = Meeting { faint, tree: self, image: images[0], series, points };
            for &image in &images {
                meeting.image = image;
                self.isa.run(MeetAll(&mut meeting));
            }
            meeting.evaluate();
        });
    }
}

/// Adds a row of charges to the smallest blocks of its tile.
fn add_row<const D: usize>(row: Row<'_, D>, charges: &[Real], blocks: &mut [Group]) {
    let n = tile_width::<D>();
    let (mut group, mut part) = ([0; D], 0);
    let mut off = [0.0f32; 3];
    for a in 1..D {
        let at = (row.index[a] & (n as isize - 1)) as usize;
        off[a] = (at & 1) as f32 - 0.5;
        part |= (at >> 1 & 1) << a;
        group[a] = at >> 2;
    }
    let start = place(group, n / 4);
    for (m, four) in blocks[start..start + n / 4].iter_mut().zip(charges.chunks_exact(4)) {
        for (l, pair_of) in [part, part + 1].into_iter().zip(four.chunks_exact(2)) {
            let (sum, along) = (pair_of[0] + pair_of[1], 0.5 * (pair_of[1] - pair_of[0]));
            m.size[l] += pair_of[0].abs() + pair_of[1].abs();
            m.sum[l] += sum;
            m.first[0][l] += along;
            m.second[0][l] += 0.25 * sum;
            for a in 1..D {
                m.first[a][l] += sum * off[a];
                m.second[a][l] += 0.25 * sum;
                m.second[pair(0, a)][l] += along * off[a];
            }
            if D == 3 {
                m.second[pair(1, 2)][l] += sum * off[1] * off[2];
            }
        }
    }
}

/// The moments of the blocks of one size from those of the next smaller one.
fn merge_level<const D: usize>(level: usize, blocks: &mut [Group]) {
    let (fine, coarse) = blocks.split_at_mut(first_of::<D>(level));
    let fine = &fine[first_of::<D>(level - 1)..];
    let (sides, fine_sides) = (per_side::<D>(level), per_side::<D>(level - 1));
    for (g, out) in coarse[..sides.pow(D as u32)].iter_mut().enumerate() {
        let group: [usize; D] = each(|a| g / sides.pow(a as u32) % sides);
        for l in 0..1 << D {
            out.set(l, &merge::<D>(&fine[place(child(group, l), fine_sides)], level));
        }
    }
}

/// The moments of a block of a size from those of its parts.
fn merge<const D: usize>(parts: &Group, level: usize) -> Moments {
    let mut out = Moments::default();
    // From the centre of a block to those of its parts.
    let shift = (1 << level) as f32 * 0.5;
    for n in 0..1 << D {
        if parts.size[n] == 0.0 {
            continue;
        }
        let m = parts.get(n);
        let by: [f32; D] = each(|a| if n >> a & 1 == 1 { shift } else { -shift });
        out.size += m.size;
        out.sum += m.sum;
        for a in 0..D {
            out.first[a] += m.first[a] + m.sum * by[a];
            for b in a..D {
                let k = pair(a, b);
                out.second[k] += m.second[k] + m.first[a] * by[b] + m.first[b] * by[a] + m.sum * by[a] * by[b];
            }
        }
    }
    out
}

/// Points in one tile, which need not exist.
pub struct Points<const D: usize> {
    coords: [i32; D],
    /// How far from the centres of their cells they lie.
    shift: [f64; D],
    /// Where each point is in the tile, block after block, and where each block begins.
    places: Vec<[u8; D]>,
    /// The same, as one list for each axis: kernels work on several points at once.
    along: [Vec<f32>; D],
    starts: [u32; POINT_BLOCKS + 1],
    /// Whether there are points in each block of each size.
    any: [bool; ALL_POINT_BLOCKS],
    /// The sums at the points.
    pub values: Vec<f32>,
}

impl<const D: usize> Points<D> {
    /// Some cells of the tile at these coordinates, each given by its place in the tile.
    pub fn new(coords: [i32; D], mut places: Vec<[u8; D]>) -> Self {
        let sides = tile_width::<D>() / POINTS;
        let block = |p: &[u8; D]| place::<D>(each(|a| p[a] as usize / POINTS), sides);
        places.sort_by_key(block);
        let (mut starts, mut any) = ([0; POINT_BLOCKS + 1], [false; ALL_POINT_BLOCKS]);
        places.iter().for_each(|p| starts[block(p) + 1] += 1);
        (0..POINT_BLOCKS).for_each(|b| starts[b + 1] += starts[b]);
        for p in &places {
            for level in 0..levels::<D>() {
                let width = POINTS << level;
                any[first_points::<D>(level) + place::<D>(each(|a| p[a] as usize / width), sides >> level)] = true;
            }
        }
        let along = each(|a| places.iter().map(|p| p[a] as f32).collect());
        Points { coords, shift: [0.0; D], values: vec![0.0; places.len()], places, along, starts, any }
    }

    /// The same so far away from the centres of their cells.
    pub fn shifted(self, by: [f64; D]) -> Self {
        Points { shift: by, ..self }
    }

    /// Where the tile is.
    pub fn coords(&self) -> [i32; D] {
        self.coords
    }

    /// Calls `f` with every value and where a field on this layout, which has the tile, holds that of its cell.
    pub fn each_with(&mut self, layout: &Layout<D>, mut f: impl FnMut(usize, &mut f32)) {
        let Some(tile) = layout.as_tiles().and_then(|tiles| tiles.find(self.coords)) else { return };
        for (p, value) in self.places.iter().zip(&mut self.values) {
            f(layout.in_slot(tile as u32 + 1, p.map(isize::from)), value);
        }
    }

    /// The cell of each point.
    pub fn cells(&self) -> impl Iterator<Item = [isize; D]> {
        let width = tile_width::<D>() as isize;
        self.places.iter().map(move |p| each(|a| self.coords[a] as isize * width + p[a] as isize))
    }
}

/// The charges of a tree as the points of one tile see them.
struct Meeting<'a, const D: usize> {
    /// What a pair may leave out: [`LEFT_OUT`] of all charges.
    faint: f32,
    tree: &'a Tree<D>,
    image: Image<D>,
    series: [Series; ALL_POINT_BLOCKS],
    points: &'a mut Points<D>,
}

/// A block of points: its size and its place in the tile.
type Block<const D: usize> = (usize, [usize; D]);

/// All points meet all charges.
struct MeetAll<'m, 'a, const D: usize>(&'m mut Meeting<'a, D>);

impl<const D: usize> Kernel for MeetAll<'_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let mut pairs: SmallVec<[Pair<'_, D>; 32]> = SmallVec::new();
        for some in 0..self.0.tree.tiles.len() {
            pairs.push(self.0.tiles(some));
            // Not by recursion, which is never inlined.
            while let Some(pair) = pairs.pop() {
                self.0.meet(&pair, &mut pairs);
            }
        }
    }
}

/// A block of points that meets those blocks of a group that have a bit.
struct Pair<'a, const D: usize> {
    to: Block<D>,
    sources: Sources<'a, D>,
    wanted: u8,
}

/// Blocks of charges that meet points at once.
#[derive(Clone, Copy)]
struct Sources<'a, const D: usize> {
    moments: &'a Group,
    /// Where they are seen, from the first point that may be in the tile.
    centers: [Lanes; D],
    width: usize,
    parts_of: PartsOf<D>,
}

/// What a group of blocks is.
#[derive(Clone, Copy)]
enum PartsOf<const D: usize> {
    /// Tiles from this one on.
    Tiles(usize),
    /// Of a tile the blocks of a size within the block of the next size at a place.
    Block { tile: usize, level: usize, place: [usize; D] },
}

impl<'a, const D: usize> Meeting<'a, D> {
    /// Which one of all blocks of points it is.
    #[inline(always)]
    fn number(block: Block<D>) -> usize {
        first_points::<D>(block.0) + place(block.1, per_side::<D>(block.0))
    }

    /// All points and some whole tiles.
    #[inline(always)]
    fn tiles(&self, some: usize) -> Pair<'a, D> {
        let width = tile_width::<D>();
        let first = |a: usize| self.points.coords[a] as f64 * width as f64 + self.points.shift[a];
        let mut centers = [[0.0; LANES]; D];
        let first_tile = some * LANES;
        for (l, coords) in self.tree.coords[first_tile..].iter().take(LANES).enumerate() {
            let center = coords.map(|c| c as f64 * width as f64 + 0.5 * (width as f64 - 1.0));
            let center = self.image.of(center);
            (0..D).for_each(|a| centers[a][l] = (center[a] - first(a)) as f32);
        }
        let tree = self.tree;
        let moments = &tree.tiles[some];
        let sources = Sources { moments, centers, width, parts_of: PartsOf::Tiles(first_tile) };
        Pair { to: (levels::<D>() - 1, [0; D]), sources, wanted: !0 }
    }

    /// The parts of one block of a group.
    #[inline(always)]
    fn parts(&self, of: &Sources<'_, D>, l: usize) -> Sources<'a, D> {
        let (tile, level, place_of) = match of.parts_of {
            PartsOf::Tiles(first) => (first + l, levels::<D>() - 1, [0; D]),
            PartsOf::Block { tile, level, place } => (tile, level - 1, child(place, l)),
        };
        let tree = self.tree;
        let group = first_of::<D>(level) + place(place_of, per_side::<D>(level));
        let moments = &tree.blocks[tile * const { first_of::<D>(levels::<D>()) } + group];
        let shift = 0.25 * of.width as f32;
        let centers = each(|a| {
            let shift = if self.image.turned[a] { -shift } else { shift };
            std::array::from_fn(|n| of.centers[a][l] + if n >> a & 1 == 1 { shift } else { -shift })
        });
        let parts_of = PartsOf::Block { tile, level, place: place_of };
        Sources { moments, centers, width: of.width / 2, parts_of }
    }

    /// Adds what the blocks of a pair do that lie far enough apart; others are split, or meet point by point.
    #[inline(always)]
    fn meet(&mut self, &Pair { to, ref sources, wanted }: &Pair<'a, D>, split: &mut SmallVec<[Pair<'a, D>; 32]>) {
        let here = Self::number(to);
        let (width, source_width) = ((POINTS << to.0) as f32, sources.width as f32);
        let middle: [f32; D] = each(|a| to.1[a] as f32 * width + 0.5 * (width - 1.0));
        let mut away = [[0.0; LANES]; D];
        let mut distance = [0.0; LANES];
        for a in 0..D {
            for l in 0..LANES {
                away[a][l] = middle[a] - sources.centers[a][l];
                distance[l] += away[a][l] * away[a][l];
            }
        }
        distance.iter_mut().for_each(|d| *d = d.sqrt());
        let size = &sources.moments.size;
        let faint = self.faint;
        let far = |size: f32, width: f32, distance: f32| {
            let falls = if D == 3 { distance * const { 1.0 / UNIT as f32 } } else { 1.0 };
            let ratio = distance / width;
            (1.0 <= CLOSEST as f32 * ratio) & (size <= faint * (ratio * ratio * ratio) * falls)
        };
        let (mut as_blocks, mut others) = (0u8, 0u8);
        for l in 0..LANES {
            let there = (size[l] != 0.0) & (wanted >> l & 1 == 1);
            let is_far = far(size[l], width + source_width, distance[l]);
            as_blocks |= u8::from(there & is_far) << l;
            others |= u8::from(there & !is_far) << l;
        }
        if as_blocks != 0 {
            self.series[here].add::<D>(sources.moments, &self.image, &away, as_blocks);
        }
        if others == 0 {
            return;
        }
        if to.0 > 0 && width >= source_width {
            let part = |n: usize| Pair { to: (to.0 - 1, child(to.1, n)), sources: *sources, wanted: others };
            let has_points = |pair: &Pair<'a, D>| self.points.any[Self::number(pair.to)];
            return split.extend((0..1 << D).map(part).filter(has_points));
        }
        for l in (0..LANES).filter(|l| others >> l & 1 == 1) {
            let is_smallest = sources.width == 2;
            let clearance = distance[l] - 0.5 * width;
            if to.0 == 0 && (is_smallest || far(size[l], source_width, clearance)) {
                let block = place(to.1, per_side::<D>(0));
                let range = self.points.starts[block] as usize..self.points.starts[block + 1] as usize;
                let center = each(|a| sources.centers[a][l]);
                let source = Source::new::<D>(&sources.moments.get(l), &self.image);
                let places = self.points.along.each_ref().map(|x| &x[range.clone()]);
                source.add_at(center, places, &mut self.points.values[range.clone()]);
            } else {
                split.push(Pair { to, sources: self.parts(sources, l), wanted: !0 });
            }
        }
    }

    /// Hands the series on to smaller and smaller blocks, and evaluates them at the points.
    fn evaluate(&mut self) {
        let points = &mut *self.points;
        for level in (0..levels::<D>() - 1).rev() {
            let sides = per_side::<D>(level + 1);
            let shift = 0.25 * (POINTS << (level + 1)) as f64;
            for b in 0..sides.pow(D as u32) {
                let above = first_points::<D>(level + 1) + b;
                if !points.any[above] {
                    continue;
                }
                let block: [usize; D] = each(|a| b / sides.pow(a as u32) % sides);
                let from = self.series[above];
                for n in 0..1 << D {
                    let by: [f64; D] = each(|a| if n >> a & 1 == 1 { shift } else { -shift });
                    let to = first_points::<D>(level) + place(child(block, n), 2 * sides);
                    from.add_shifted::<D>(by, &mut self.series[to]);
                }
            }
        }
        let sides = per_side::<D>(0);
        for b in 0..POINT_BLOCKS {
            let range = points.starts[b] as usize..points.starts[b + 1] as usize;
            let middle: [f64; D] = each(|a| (b / sides.pow(a as u32) % sides * POINTS) as f64 + 1.5);
            for (value, p) in points.values[range.clone()].iter_mut().zip(&points.places[range]) {
                *value += self.series[b].at::<D>(each(|a| p[a] as f64 - middle[a])) as f32;
            }
        }
    }
}

impl Series {
    #[inline(always)]
    fn at<const D: usize>(&self, x: [f64; D]) -> f64 {
        let mut sum = self.value;
        for a in 0..D {
            sum += x[a] * (self.first[a] + 0.5 * x[a] * self.second[a]);
            for b in a + 1..D {
                sum += x[a] * x[b] * self.second[pair(a, b)];
            }
        }
        sum
    }

    /// Adds the sums over the charges of those blocks of a group that have a bit, which are seen in an image and lie `away` from the centre:
    /// all terms of the second order in the sizes of the blocks, `M G - D . grad G + 1/2 Q : grad grad G` and its derivatives.
    #[inline(always)]
    fn add<const D: usize>(&mut self, m: &Group, image: &Image<D>, away: &[Lanes; D], bits: u8) {
        let sign = image.sign as f32;
        let turned: [f32; D] = each(|a| if image.turned[a] { -1.0 } else { 1.0 });
        // Loops over lanes that do one thing each, so that all lanes are computed at once. Without a bit: no charges, at some distance.
        let kept: Lanes = std::array::from_fn(|l| (bits >> l & 1) as f32);
        let mut r2 = kept.map(|kept| 1.0 - kept);
        for x in away {
            (0..LANES).for_each(|l| r2[l] += kept[l] * x[l] * x[l]);
        }
        let (mut greens, mut g, mut s) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        (0..LANES).for_each(|l| (greens[l], g[l], s[l]) = green::<D>(r2[l]));
        let sum: Lanes = std::array::from_fn(|l| kept[l] * sign * m.sum[l]);
        let mut first = [[0.0; LANES]; D];
        let (mut one, mut trace, mut two) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for a in 0..D {
            let (x, seen) = (&away[a], sign * turned[a]);
            for l in 0..LANES {
                let d = kept[l] * seen * m.first[a][l];
                one[l] += d * x[l];
                first[a][l] = sum[l] * x[l] - d;
            }
            for l in 0..LANES {
                let q = kept[l] * sign * m.second[a][l];
                trace[l] += q;
                two[l] += q * x[l] * x[l];
            }
            for b in a + 1..D {
                let (y, seen) = (&away[b], 2.0 * sign * turned[a] * turned[b]);
                (0..LANES).for_each(|l| two[l] += kept[l] * seen * m.second[pair(a, b)][l] * x[l] * y[l]);
            }
        }
        let total = |v: &Lanes| f64::from(((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])));
        let value: Lanes =
            std::array::from_fn(|l| sum[l] * greens[l] + g[l] * (0.5 * (trace[l] - s[l] * two[l]) - one[l]));
        self.value += total(&value);
        for a in 0..D {
            let x = &away[a];
            let slope: Lanes = std::array::from_fn(|l| g[l] * (first[a][l] + s[l] * one[l] * x[l]));
            self.first[a] += total(&slope);
            let bend: Lanes = std::array::from_fn(|l| g[l] * sum[l] * (1.0 - s[l] * x[l] * x[l]));
            self.second[a] += total(&bend);
            for b in a + 1..D {
                let y = &away[b];
                let bend: Lanes = std::array::from_fn(|l| -(g[l] * sum[l]) * (s[l] * x[l] * y[l]));
                self.second[pair(a, b)] += total(&bend);
            }
        }
    }

    /// Adds the same series about a centre that lies `by` away.
    fn add_shifted<const D: usize>(&self, by: [f64; D], out: &mut Series) {
        out.value += self.at(by);
        for a in 0..D {
            out.first[a] += self.first[a] + (0..D).map(|b| self.second[pair(a, b)] * by[b]).sum::<f64>();
        }
        (0..6).for_each(|k| out.second[k] += self.second[k]);
    }
}

/// Moments as they are seen in a mirror.
struct Source {
    sum: f32,
    first: [f32; 3],
    /// Halves.
    second: [f32; 6],
}

impl Source {
    #[inline(always)]
    fn new<const D: usize>(m: &Moments, image: &Image<D>) -> Self {
        let sign = image.sign as f32;
        let turned = |a: usize| if image.turned[a] { -1.0 } else { 1.0 };
        let mut source = Source { sum: sign * m.sum, first: [0.0; 3], second: [0.0; 6] };
        for a in 0..D {
            source.first[a] = sign * turned(a) * m.first[a];
            for b in a..D {
                source.second[pair(a, b)] = 0.5 * sign * turned(a) * turned(b) * m.second[pair(a, b)];
            }
        }
        source
    }

    /// Adds the sum at some points, given by their places along each axis; the charges are about `center`.
    #[inline(always)]
    fn add_at<const D: usize>(&self, center: [f32; D], places: [&[f32]; D], out: &mut [f32]) {
        let Source { sum, first, second } = *self;
        let trace: f32 = second[..D].iter().sum();
        let places = places.map(|p| &p[..out.len()]);
        for i in 0..out.len() {
            let x: [f32; D] = each(|a| places[a][i] - center[a]);
            let mut r2 = 0.0;
            let (mut one, mut two) = (0.0, 0.0);
            for a in 0..D {
                r2 += x[a] * x[a];
                one += first[a] * x[a];
                two += second[a] * x[a] * x[a];
                for b in a + 1..D {
                    two += 2.0 * second[pair(a, b)] * x[a] * x[b];
                }
            }
            let (green, g, s) = green::<D>(r2);
            out[i] += sum * green + g * (trace - s * two - one);
        }
    }
}

/// `G`, and the factors of its derivatives: `d_a G = x_a g` and `d_a d_b G = (delta_ab - x_a x_b s) g`, at a distance.
#[inline(always)]
fn green<const D: usize>(r2: f32) -> (f32, f32, f32) {
    // One division: they take as long as all the rest.
    let inv = 1.0 / r2;
    if D == 3 {
        let green = inv.sqrt() * const { (-0.25 / PI) as f32 };
        (green, -green * inv, D as f32 * inv)
    } else {
        // Half the logarithm of the square.
        (libm::logf(r2) * const { (0.25 / PI) as f32 }, inv * const { (0.5 / PI) as f32 }, D as f32 * inv)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    /// Charges in the middle of some tiles, a few cells from their edge, with sum zero or not.
    fn charge<const D: usize>(index: [isize; D]) -> Real {
        let width = tile_width::<D>() as isize;
        let inside = index.iter().all(|i| (3..2 * width - 3).contains(i));
        let phase: f64 = index.iter().enumerate().map(|(a, &i)| 0.31 * (a + 1) as f64 * i as f64).sum();
        if inside { (phase.sin() + 0.2) as Real } else { 0.0 }
    }

    /// The Green's function.
    fn exact<const D: usize>(x: [f64; D]) -> f64 {
        let r2: f64 = x.iter().map(|x| x * x).sum();
        if D == 3 { -0.25 / (PI * r2.sqrt()) } else { 0.25 / PI * r2.ln() }
    }

    fn compare<const D: usize>(mirrors: &[Mirror]) -> f64 {
        let width = tile_width::<D>() as isize;
        let corners = |n: i32| each(|a| n >> a & 1);
        let layout = Layout::<D>::tiles((0..1 << D).map(corners));
        let mut tree = Tree::on(&layout, Isa::best());
        tree.set(&layout, |row, out| {
            let mut i = row.index;
            for q in out {
                *q = charge(i);
                i[0] += 1;
            }
        });
        let edge = |coords: [i32; D]| {
            let cells = (0..width.pow(D as u32)).map(|n| each(|a| (n / width.pow(a as u32) % width) as u8));
            let outer = |p: &[u8; D]| {
                (0..D).any(|a| [0, 2 * width - 1].contains(&(coords[a] as isize * width + p[a] as isize)))
            };
            Points::new(coords, cells.filter(outer).collect())
        };
        let mut points: Vec<_> = (0..1 << D).map(|n| edge(corners(n))).collect();
        points.push(Points::new([5; D], vec![[1; D], [7; D]]));
        tree.sum(mirrors, &mut points);
        let images = images::<D>(mirrors);
        let (mut worst, mut largest) = (0.0f64, 0.0f64);
        let all = (2 * width).pow(D as u32);
        let step = if D == 3 { 97 } else { 7 };
        for points in &points {
            for (x, &value) in points.cells().zip(&points.values).step_by(step) {
                let mut sum = 0.0;
                for n in 0..all {
                    let y: [isize; D] = each(|a| n / (2 * width).pow(a as u32) % (2 * width));
                    let q = charge(y) as f64;
                    for image in &images {
                        let y = image.of(y.map(|y| y as f64));
                        sum += if q == 0.0 { 0.0 } else { q * image.sign * exact::<D>(each(|a| x[a] as f64 - y[a])) };
                    }
                }
                worst = worst.max((sum - value as f64).abs());
                largest = largest.max(sum.abs());
            }
        }
        worst / largest
    }

    #[test]
    fn sums_over_blocks_equal_sums_over_charges() {
        // What is left out is of the third order in size over distance, and cancels where charges are smooth.
        for (error, name) in [(compare::<2>(&[]), "2D"), (compare::<3>(&[]), "3D")] {
            assert!(error < 5e-3, "{name}: {error}");
        }
    }

    #[test]
    fn sums_have_the_same_bits_on_every_instruction_set() {
        let sums = |isa: Isa| {
            let layout = Layout::<3>::tiles((0..8).map(|n| each(|a| n >> a & 1)));
            let mut tree = Tree::on(&layout, isa);
            tree.set(&layout, |row, out| {
                out.iter_mut()
                    .enumerate()
                    .for_each(|(x, q)| *q = charge([row.index[0] + x as isize, row.index[1], row.index[2]]));
            });
            let mut points = [Points::new([0, 0, 2], (0..16).map(|x| [x, 15 - x, 1]).collect())];
            tree.sum(&[Mirror { axis: 1, at: -3.5, sign: -1.0 }], &mut points);
            points[0].values.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        let all: Vec<_> = Isa::all().into_iter().map(sums).collect();
        assert!(all.iter().all(|bits| *bits == all[0]), "{all:?}");
    }

    #[test]
    fn a_mirror_adds_the_image_of_every_charge() {
        let floor = Mirror { axis: 1, at: -3.5, sign: 1.0 };
        let wall = Mirror { axis: 0, at: 70.0, sign: -1.0 };
        for error in [compare::<2>(&[floor]), compare::<2>(&[floor, wall]), compare::<3>(&[floor, wall])] {
            assert!(error < 5e-3, "{error}");
        }
    }

    #[test]
    fn a_mirror_equals_charges_behind_it() {
        // Behind the plane between tiles 0 and -1 lie mirror images of all blocks: the sums differ by rounding alone.
        let width = tile_width::<2>() as isize;
        let charge = |i: [isize; 2]| if (4..width - 4).contains(&i[0]) { charge([i[0], i[1] + 4]) } else { 0.0 };
        let set = |coords: &[[i32; 2]]| {
            let layout = Layout::<2>::tiles(coords.iter().copied());
            let mut tree = Tree::on(&layout, Isa::best());
            tree.set(&layout, |row, out| {
                for (x, q) in out.iter_mut().enumerate() {
                    let i = [row.index[0] + x as isize, row.index[1]];
                    *q = if i[1] >= 0 { charge(i) } else { charge([i[0], -1 - i[1]]) };
                }
            });
            tree
        };
        let sums = |tree: Tree<2>, mirrors: &[Mirror]| {
            let mut points = [Points::new([0, 1], (0..32).map(|x| [x, 9]).collect())];
            tree.sum(mirrors, &mut points);
            points[0].values.clone()
        };
        let with_mirror = sums(set(&[[0, 0]]), &[Mirror { axis: 1, at: -0.5, sign: 1.0 }]);
        let with_both = sums(set(&[[0, 0], [0, -1]]), &[]);
        let largest = with_both.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        for (a, b) in with_mirror.iter().zip(&with_both) {
            assert!((a - b).abs() < 1e-5 * largest, "{a} and {b}");
        }
    }
}

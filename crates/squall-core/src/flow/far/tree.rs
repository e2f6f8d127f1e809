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
                    for (one, other) in [(one, other), (other, one)] {
                        let mut image = all[i];
                        for k in 0..BETWEEN_TWO {
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

/// The charges of all tiles.
pub struct Tree<const D: usize> {
    coords: Vec<[i32; D]>,
    /// For each tile the moments of its blocks, the smallest ones first, x fastest.
    blocks: Vec<Moments>,
}

/// Sizes of blocks of charges in a tile.
const fn levels<const D: usize>() -> usize {
    tile_width::<D>().ilog2() as usize
}

/// Blocks of charges along each side of a tile.
const fn per_side<const D: usize>(level: usize) -> usize {
    tile_width::<D>() >> (level + 1)
}

/// Where the blocks of a size begin among those of a tile; of the size after the last one: how many there are.
const fn first_of<const D: usize>(level: usize) -> usize {
    let (mut sum, mut l) = (0, 0);
    while l < level {
        sum += per_side::<D>(l).pow(D as u32);
        l += 1;
    }
    sum
}

/// The same for blocks of points.
const fn first_points<const D: usize>(level: usize) -> usize {
    first_of::<D>(level + 1) - first_of::<D>(1)
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
    pub fn on(layout: &Layout<D>) -> Self {
        let coords = layout.as_tiles().expect("charges are on tiles").coords().to_vec();
        Tree { blocks: vec![Moments::default(); coords.len() * first_of::<D>(levels::<D>())], coords }
    }

    /// Takes the charges that `f` writes for each row of the layout that it was made for.
    pub fn set(&mut self, layout: &Layout<D>, f: impl Fn(Row<'_, D>, &mut [Real]) + Sync) {
        let rows = layout.rows_per_part();
        let tiles = self.blocks.par_chunks_mut(first_of::<D>(levels::<D>())).enumerate();
        tiles.for_each(|(t, blocks)| {
            blocks.fill(Moments::default());
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
                (1..levels::<D>()).for_each(|level| merge::<D>(level, blocks));
            }
        });
    }

    /// Whether there are no charges at all.
    pub fn is_empty(&self) -> bool {
        let all = first_of::<D>(levels::<D>());
        self.blocks.chunks_exact(all).all(|tile| tile[all - 1].size == 0.0)
    }

    /// Sets the values at points to the sum over all charges and their images.
    pub fn sum(&self, mirrors: &[Mirror], points: &mut [Points<D>]) {
        let images = images::<D>(mirrors);
        let all = first_of::<D>(levels::<D>());
        // Images are charges, too.
        let total: f64 = self.blocks.chunks_exact(all).map(|tile| tile[all - 1].size as f64).sum();
        let faint = LEFT_OUT * total * images.len() as f64;
        points.par_iter_mut().for_each(|points| {
            let mut meeting =
                Meeting { faint, tree: self, image: images[0], series: [Series::default(); ALL_POINT_BLOCKS] };
            points.values.fill(0.0);
            for &image in &images {
                meeting.image = image;
                for tile in 0..self.coords.len() {
                    let top = (levels::<D>() - 1, [0; D]);
                    meeting.meet(points, (top.0 - 1, top.1), tile, top);
                }
            }
            meeting.evaluate(points);
        });
    }
}

/// Adds a row of charges to the smallest blocks of its tile.
fn add_row<const D: usize>(row: Row<'_, D>, charges: &[Real], blocks: &mut [Moments]) {
    let n = tile_width::<D>();
    let mut block: [usize; D] = each(|a| (row.index[a] & (n as isize - 1)) as usize);
    let mut off = [0.0f32; 3];
    for a in 1..D {
        off[a] = (block[a] & 1) as f32 - 0.5;
        block[a] /= 2;
    }
    let start = place(block, n / 2);
    for (m, pair_of) in blocks[start..start + n / 2].iter_mut().zip(charges.chunks_exact(2)) {
        let (sum, along) = (pair_of[0] + pair_of[1], 0.5 * (pair_of[1] - pair_of[0]));
        m.size += pair_of[0].abs() + pair_of[1].abs();
        m.sum += sum;
        m.first[0] += along;
        m.second[0] += 0.25 * sum;
        for a in 1..D {
            m.first[a] += sum * off[a];
            m.second[a] += 0.25 * sum;
            m.second[pair(0, a)] += along * off[a];
        }
        if D == 3 {
            m.second[pair(1, 2)] += sum * off[1] * off[2];
        }
    }
}

/// The moments of the blocks of one size from those of the next smaller one.
fn merge<const D: usize>(level: usize, blocks: &mut [Moments]) {
    let (fine, coarse) = blocks.split_at_mut(first_of::<D>(level));
    let fine = &fine[first_of::<D>(level - 1)..];
    let (sides, fine_sides) = (per_side::<D>(level), per_side::<D>(level - 1));
    // From the centre of a block to those of its parts.
    let shift = (1 << level) as f32 * 0.5;
    for (b, out) in coarse[..sides.pow(D as u32)].iter_mut().enumerate() {
        let block: [usize; D] = each(|a| b / sides.pow(a as u32) % sides);
        for n in 0..1 << D {
            let m = fine[place(child(block, n), fine_sides)];
            if m.size == 0.0 {
                continue;
            }
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
    }
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
            for level in 0..levels::<D>() - 1 {
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
    faint: f64,
    tree: &'a Tree<D>,
    image: Image<D>,
    series: [Series; ALL_POINT_BLOCKS],
}

/// A block: its size and its place in the tile.
type Block<const D: usize> = (usize, [usize; D]);

impl<const D: usize> Meeting<'_, D> {
    fn meet(&mut self, points: &mut Points<D>, to: Block<D>, tile: usize, from: Block<D>) {
        let all = first_of::<D>(levels::<D>());
        let moments = &self.tree.blocks[tile * all + first_of::<D>(from.0) + place(from.1, per_side::<D>(from.0))];
        let here = first_points::<D>(to.0) + place(to.1, per_side::<D>(to.0 + 1));
        if moments.size == 0.0 || !points.any[here] {
            return;
        }
        let (width, source_width) = (POINTS << to.0, 2usize << from.0);
        let middle = |coords: i32, block: usize, width: usize| {
            coords as f64 * tile_width::<D>() as f64 + (block * width) as f64 + 0.5 * (width as f64 - 1.0)
        };
        let center: [f64; D] = each(|a| middle(self.tree.coords[tile][a], from.1[a], source_width));
        let center = self.image.of(center);
        let away: [f64; D] = each(|a| middle(points.coords[a], to.1[a], width) + points.shift[a] - center[a]);
        let distance2: f64 = away.iter().map(|r| r * r).sum();
        let distance = distance2.sqrt();
        let far = |width: f64, distance: f64| {
            let falls = if D == 3 { distance / UNIT } else { 1.0 };
            let left_out = moments.size as f64 * width.powi(3);
            width <= CLOSEST * distance && left_out <= self.faint * distance.powi(3) * falls
        };
        if far((width + source_width) as f64, distance) {
            return Source::new::<D>(moments, &self.image).add_to::<D>(away, &mut self.series[here]);
        }
        if to.0 > 0 && width >= source_width {
            return (0..1 << D).for_each(|n| self.meet(points, (to.0 - 1, child(to.1, n)), tile, from));
        }
        let clearance = distance - 0.5 * width as f64;
        if to.0 == 0 && (from.0 == 0 || far(source_width as f64, clearance)) {
            let block = place(to.1, per_side::<D>(1));
            let range = points.starts[block] as usize..points.starts[block + 1] as usize;
            // From the tile's first cell.
            let first = |a: usize| points.coords[a] as f64 * tile_width::<D>() as f64 + points.shift[a];
            let center = each(|a| (center[a] - first(a)) as f32);
            let source = Source::new::<D>(moments, &self.image);
            source.add_at(center, points.along.each_ref().map(|x| &x[range.clone()]), &mut points.values[range]);
            return;
        }
        (0..1 << D).for_each(|n| self.meet(points, to, tile, (from.0 - 1, child(from.1, n))));
    }

    /// Hands the series on to smaller and smaller blocks, and evaluates them at the points.
    fn evaluate(&mut self, points: &mut Points<D>) {
        for level in (0..levels::<D>() - 2).rev() {
            let sides = per_side::<D>(level + 2);
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
        let sides = per_side::<D>(1);
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
    sum: f64,
    first: [f64; 3],
    second: [f64; 6],
}

impl Source {
    #[inline(always)]
    fn new<const D: usize>(m: &Moments, image: &Image<D>) -> Self {
        let facing = |a: usize| if image.turned[a] { -image.sign } else { image.sign };
        let mut source = Source { sum: image.sign * m.sum as f64, first: [0.0; 3], second: [0.0; 6] };
        for a in 0..D {
            source.first[a] = facing(a) * m.first[a] as f64;
            for b in a..D {
                source.second[pair(a, b)] = facing(a) * facing(b) * image.sign * m.second[pair(a, b)] as f64;
            }
        }
        source
    }

    /// `G`, and the factors of its derivatives: `d_a G = x_a g` and `d_a d_b G = (delta_ab - D x_a x_b / r^2) g`.
    #[inline(always)]
    fn green<const D: usize>(x: [f64; D]) -> (f64, f64, f64) {
        let r2: f64 = x.iter().map(|x| x * x).sum();
        if D == 3 {
            let inv = 1.0 / r2.sqrt();
            let green = -inv / (4.0 * PI);
            (green, -green / r2, D as f64 / r2)
        } else {
            // Half the logarithm of the square.
            (libm::log(r2) / (4.0 * PI), 1.0 / (2.0 * PI * r2), D as f64 / r2)
        }
    }

    /// The sum at a point: `M G - D . grad G + 1/2 Q : grad grad G`.
    #[inline(always)]
    fn at<const D: usize>(&self, x: [f64; D]) -> f64 {
        let (green, g, s) = Self::green(x);
        let (mut first, mut trace, mut second) = (0.0, 0.0, 0.0);
        for a in 0..D {
            first += self.first[a] * x[a];
            trace += self.second[a];
            second += self.second[a] * x[a] * x[a];
            for b in a + 1..D {
                second += 2.0 * self.second[pair(a, b)] * x[a] * x[b];
            }
        }
        self.sum * green + g * (0.5 * (trace - s * second) - first)
    }

    /// Adds the sum at some points, given by their places along each axis; the charges are about `center`.
    fn add_at<const D: usize>(&self, center: [f32; D], places: [&[f32]; D], out: &mut [f32]) {
        let (sum, first, second) = (self.sum as f32, self.first.map(|v| v as f32), self.second.map(|v| 0.5 * v as f32));
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
            let inv = 1.0 / r2;
            let (green, g) = if D == 3 {
                let green = -(0.25 / std::f32::consts::PI) * inv.sqrt();
                (green, -green * inv)
            } else {
                ((0.25 / std::f32::consts::PI) * libm::logf(r2), (0.5 / std::f32::consts::PI) * inv)
            };
            out[i] += sum * green + g * (trace - D as f32 * two * inv - one);
        }
    }

    /// Adds the sum to the series about a centre that lies `x` away; all terms of the second order in the sizes of the blocks.
    #[inline(always)]
    fn add_to<const D: usize>(&self, x: [f64; D], out: &mut Series) {
        let (_, g, s) = Self::green(x);
        out.value += self.at(x);
        let along: f64 = (0..D).map(|a| self.first[a] * x[a]).sum();
        for a in 0..D {
            out.first[a] += g * (self.sum * x[a] - self.first[a] + s * along * x[a]);
            out.second[a] += g * self.sum;
            for b in a..D {
                out.second[pair(a, b)] -= g * self.sum * s * x[a] * x[b];
            }
        }
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

    fn compare<const D: usize>(mirrors: &[Mirror]) -> f64 {
        let width = tile_width::<D>() as isize;
        let corners = |n: i32| each(|a| n >> a & 1);
        let layout = Layout::<D>::tiles((0..1 << D).map(corners));
        let mut tree = Tree::on(&layout);
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
                        sum += if q == 0.0 {
                            0.0
                        } else {
                            q * image.sign * Source::green::<D>(each(|a| x[a] as f64 - y[a])).0
                        };
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
            let mut tree = Tree::on(&layout);
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

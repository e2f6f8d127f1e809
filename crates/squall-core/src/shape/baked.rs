//! Signed distances sampled on a grid, for shapes whose exact distance is expensive.
//!
//! Space is cut into blocks of 8 cells a side. Blocks near the surface keep the distance at all their nodes, those at the
//! rim included, so that a look-up touches one block alone; the others keep the distance of their centre, which bounds
//! all distances inside.

use super::Shape;
use super::vector::{box_around, distance_to_box, length, sub};
use crate::threads::prelude::*;
use std::array::from_fn;

/// Cells along the side of a block.
const CELLS: usize = 8;
/// Nodes along the side of a block.
const NODES: usize = CELLS + 1;
/// How far from the surface distances are exact, in cells, if nothing else is asked for.
pub const BAND: f64 = 4.0;
/// A finer grid is refused: 1024 cells along each side of a cube.
const MOST_BLOCKS: usize = 1 << 21;
/// More blocks with values are refused: 1.5 GB.
const MOST_STORED: usize = 1 << 19;
/// This block has no values.
const FAR: u32 = u32::MAX;

/// Why a grid of distances cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BakeError {
    /// Too many cells.
    #[error("cells of {spacing} m are too fine for a shape of {extent} m: use {least} m or more")]
    TooFine {
        /// The spacing asked for, in metres.
        spacing: f64,
        /// The longest side of the box around the shape, in metres.
        extent: f64,
        /// A spacing that will do.
        least: f64,
    },
    /// The shape has no end.
    #[error("a shape that reaches infinitely far cannot be put on a grid")]
    Unbounded,
}

/// Signed distances of a shape at rest on a grid with nodes `spacing` apart.
///
/// Within the band around the surface: linear interpolation of exact distances, which errs by about
/// `spacing^2 / (8 radius of curvature)` per axis, and by a fraction of the spacing at edges and corners. Beyond: a lower
/// bound.
#[derive(Clone, Debug)]
pub struct Baked<const D: usize> {
    origin: [f64; D],
    spacing: f64,
    blocks: [usize; D],
    /// Where the values of each block begin, in blocks; [`FAR`] if it has none.
    place: Vec<u32>,
    /// Distance at the centre of each block.
    centers: Vec<f32>,
    values: Vec<f32>,
    /// For each value a number that was given with it; or none at all.
    marks: Vec<u32>,
    /// No point of a block without values is nearer to the surface.
    band: f64,
    low: [f64; D],
    high: [f64; D],
}

/// The `i`-th of a box of points, the first axis fastest.
fn unravel<const D: usize>(mut i: usize, size: [usize; D]) -> [usize; D] {
    size.map(|n| {
        let at = i % n;
        i /= n;
        at
    })
}

impl<const D: usize> Baked<D> {
    /// Samples any bounded shape as it is at time `t`. `band`: see [`BAND`].
    pub fn new(shape: &impl Shape<D>, t: f64, spacing: f64, band: f64) -> Result<Self, BakeError> {
        let bounds = shape.bounds(t).ok_or(BakeError::Unbounded)?;
        Self::from_cubes(bounds, spacing, band, false, |corner, n, out, _| {
            for (node, out) in out.iter_mut().enumerate() {
                let index = unravel(node, [n; D]);
                *out = shape.distance(from_fn(|a| corner[a] + spacing * index[a] as f64), t);
            }
        })
    }

    /// Whether a grid of that spacing is small enough, and how many blocks it has along each axis.
    pub(super) fn check((low, high): ([f64; D], [f64; D]), spacing: f64, band: f64) -> Result<[f64; D], BakeError> {
        let size = sub(high, low);
        // In floating point: the count may not fit any integer.
        let counts = size.map(|s| ((s / spacing + 2.0 * (band + 1.0)) / CELLS as f64).ceil().max(1.0));
        let count: f64 = counts.into_iter().product();
        if count <= MOST_BLOCKS as f64 {
            return Ok(counts);
        }
        // The number of blocks grows with the D-th power of fineness; a little is added for what pads the box.
        let factor = 1.1 * libm::pow(count / MOST_BLOCKS as f64, 1.0 / D as f64);
        Err(BakeError::TooFine { spacing, extent: size.into_iter().fold(0.0, f64::max), least: spacing * factor })
    }

    /// Samples what `fill(corner, n, out, marks)` says about n^D nodes of a cube, the first axis fastest. Marks are numbers that go
    /// with distances; there is room for them if they are to be kept and n is more than 1.
    pub(super) fn from_cubes(
        (low, high): ([f64; D], [f64; D]),
        spacing: f64,
        band: f64,
        marked: bool,
        fill: impl Fn([f64; D], usize, &mut [f64], &mut [u32]) + Sync,
    ) -> Result<Self, BakeError> {
        let counts = Self::check((low, high), spacing, band)?;
        let side = CELLS as f64 * spacing;
        let band = band * spacing;
        let blocks = counts.map(|n| n as usize);
        let origin: [f64; D] = from_fn(|a| 0.5 * (low[a] + high[a]) - 0.5 * counts[a] * side);
        let corner = |block: usize| -> [f64; D] {
            let index = unravel(block, blocks);
            from_fn(|a| origin[a] + side * index[a] as f64)
        };
        let at = |x: [f64; D]| {
            let mut out = [0.0];
            fill(x, 1, &mut out, &mut []);
            out[0]
        };

        // A distance at the middle of a box bounds all those within half its diagonal.
        let half_diagonal = 0.5 * (D as f64).sqrt();
        let survey = |block: usize| {
            let corner = corner(block);
            let center = at(corner.map(|x| x + 0.5 * side));
            let near = center.abs() <= band + half_diagonal * side
                && (0..1 << D).any(|octant: usize| {
                    let middle = from_fn(|a| corner[a] + side * if octant >> a & 1 == 0 { 0.25 } else { 0.75 });
                    at(middle).abs() <= band + 0.5 * half_diagonal * side
                });
            (center as f32, near)
        };
        let surveyed: Vec<(f32, bool)> = (0..blocks.iter().product()).into_par_iter().map(survey).collect();

        let near: Vec<usize> = (0..surveyed.len()).filter(|&block| surveyed[block].1).collect();
        if near.len() > MOST_STORED {
            // They cover a surface: twice as fine means four (in 2D: two) times as many.
            let factor = 1.1 * libm::pow(near.len() as f64 / MOST_STORED as f64, 1.0 / (D - 1) as f64);
            let extent = sub(high, low).into_iter().fold(0.0, f64::max);
            return Err(BakeError::TooFine { spacing, extent, least: spacing * factor });
        }
        let mut place = vec![FAR; surveyed.len()];
        for (i, &block) in near.iter().enumerate() {
            place[block] = i as u32;
        }
        let nodes = NODES.pow(D as u32);
        let mut values = vec![0.0; near.len() * nodes];
        let mut marks = vec![0; if marked { values.len() } else { 0 }];
        let sample = |values: &mut [f32], marks: &mut [u32], block: usize| {
            let mut exact = vec![0.0; values.len()];
            fill(corner(block), NODES, &mut exact, marks);
            for (value, exact) in values.iter_mut().zip(exact) {
                *value = exact as f32;
            }
        };
        let blocks_of_values = values.par_chunks_exact_mut(nodes).zip(&near);
        if marked {
            let all = blocks_of_values.zip(marks.par_chunks_exact_mut(nodes));
            all.for_each(|((values, &block), marks)| sample(values, marks, block));
        } else {
            blocks_of_values.for_each(|(values, &block)| sample(values, &mut [], block));
        }
        let centers = surveyed.into_iter().map(|(center, _)| center).collect();
        Ok(Baked { origin, spacing, blocks, place, centers, values, marks, band, low, high })
    }

    /// Memory held, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + 4 * (self.values.len() + self.marks.len() + self.place.len() + self.centers.len())
    }

    /// The place of a point, in cells, its cell, and the block of that; `None` outside.
    fn find(&self, x: [f64; D]) -> Option<([f64; D], [usize; D], usize)> {
        let p: [f64; D] = from_fn(|a| (x[a] - self.origin[a]) / self.spacing);
        if !(0..D).all(|a| p[a] >= 0.0 && p[a] < (CELLS * self.blocks[a]) as f64) {
            return None;
        }
        let cell = p.map(|p| p as usize);
        Some((p, cell, (0..D).rev().fold(0, |block, a| block * self.blocks[a] + cell[a] / CELLS)))
    }

    /// The mark of the node next to a point, if marks were kept there.
    pub(super) fn mark_near(&self, x: [f64; D]) -> Option<u32> {
        let (p, cell, block) = self.find(x)?;
        let place = self.place[block];
        let node =
            (0..D).rev().fold(0, |node, a| node * NODES + cell[a] % CELLS + (p[a] - cell[a] as f64 > 0.5) as usize);
        if place == FAR { None } else { self.marks.get(place as usize * NODES.pow(D as u32) + node).copied() }
    }

    fn look_up(&self, x: [f64; D]) -> f64 {
        let Some((p, cell, block)) = self.find(x) else { return distance_to_box(x, self.low, self.high) };
        let place = self.place[block];
        if place == FAR {
            return self.bound(block, x);
        }
        let local = cell.map(|c| c % CELLS);
        let base = place as usize * NODES.pow(D as u32);
        let fraction: [f64; D] = from_fn(|a| p[a] - cell[a] as f64);
        let mut sum = 0.0;
        for corner in 0..1usize << D {
            let (mut weight, mut node) = (1.0, 0);
            for a in (0..D).rev() {
                let up = corner >> a & 1;
                weight *= if up == 1 { fraction[a] } else { 1.0 - fraction[a] };
                node = node * NODES + local[a] + up;
            }
            sum += weight * f64::from(self.values[base + node]);
        }
        sum
    }

    /// |d(x)| >= |d(c)| - |x - c|, less what rounding to `f32` may have added.
    fn bound(&self, block: usize, x: [f64; D]) -> f64 {
        let index = unravel(block, self.blocks);
        let side = CELLS as f64 * self.spacing;
        let center = from_fn(|a| self.origin[a] + side * (index[a] as f64 + 0.5));
        let at_center = f64::from(self.centers[block]);
        let bound = (at_center.abs() * (1.0 - 1e-6) - length(sub(x, center))).max(self.band);
        bound.copysign(at_center)
    }
}

impl<const D: usize> Shape<D> for Baked<D> {
    fn distance(&self, x: [f64; D], _: f64) -> f64 {
        self.look_up(x)
    }

    fn velocity(&self, _: [f64; D], _: f64) -> [f64; D] {
        [0.0; D]
    }

    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        Some(box_around([self.low, self.high]))
    }

    fn moves(&self) -> bool {
        false
    }
}

//! Fields as bricks for ray marching.
//!
//! A brick covers 8³ cells' worth of space between cell centres and holds the 9³ values at its corners and inside, so
//! that a sample never needs a neighbour. Values are 16 bits between the least and the largest of the brick: 0.7 times
//! the memory of the volume they come from. Bricks in which there is nothing to see do not exist.
//!
//! Coordinates here are in cells, 0 at the centre of the lowest cell of the lowest brick.

use super::index::Index;
use super::ramp::Emission;
use super::vector::Vec3;
use super::{Glow, Substance};
use crate::color::Rgb;
use crate::plane::RenderError;
use rayon::prelude::*;
use squall_core::Volume;
use squall_core::volume::{BLOCK, BLOCK_CELLS};

/// Cells along each side of a brick.
pub(super) const BRICK: usize = BLOCK;
/// Values along each side.
const SIDE: usize = BRICK + 1;
/// Values in a brick.
const VALUES: usize = SIDE * SIDE * SIDE;
/// Samples taken at once.
pub(super) const LANES: usize = 8;

/// A cell that hides or sends out less light than this counts as empty: transport leaves traces everywhere, and a
/// hundred cells of them would still change a pixel by less than a quarter of a level.
const TRACE: f32 = 1e-5;

/// One field in all bricks.
pub(super) struct Channel {
    values: Vec<u16>,
    /// For each brick, the value that 0 stands for and the difference from one number to the next.
    scale: Vec<[f32; 2]>,
}

/// Everything that rays meet.
pub(super) struct Bricks {
    pub index: Index,
    /// Where the bricks are, in bricks from the lowest.
    pub places: Vec<[i32; 3]>,
    /// The lowest brick, in blocks of the volumes.
    lowest: [i32; 3],
    /// In metres: where coordinate 0 is, and the side of a cell.
    pub origin: Vec3,
    pub spacing: f64,
    /// Optical depth per cell of each substance.
    substances: Vec<(Channel, Rgb)>,
    /// From 0 to 1.
    heat: Option<Channel>,
    /// The largest optical depth per cell in each brick.
    thickest: Vec<f32>,
    /// Cells with a value that is not finite, in order.
    bad: Vec<[i32; 3]>,
    has_bad: Vec<bool>,
}

/// Where samples lie in a brick.
#[derive(Clone, Copy)]
pub(super) struct Spots {
    base: [u32; LANES],
    fraction: [[f32; LANES]; 3],
}

/// Adding this number leaves the nearest whole number in the low bits.
const ROUND: f32 = 12_582_912.0;

/// The whole part and the fraction of a coordinate from 0 to just below `limit`. The whole part of a whole number may be
/// one less, with a fraction of 1: the interpolated value is the same.
#[inline(always)]
pub(super) fn split(x: f32, limit: f32) -> (u32, f32) {
    let x = x.max(0.0).min(limit - 1e-4);
    let rounded = (x - 0.5) + ROUND;
    (rounded.to_bits() & 15, x - (rounded - ROUND))
}

impl Spots {
    /// `p` are the coordinates of samples within a brick, from 0 to 8.
    #[inline(always)]
    pub fn new(p: &[[f32; LANES]; 3]) -> Self {
        let mut spots = Self { base: [0; LANES], fraction: [[0.0; LANES]; 3] };
        let mut stride = 1;
        for a in 0..3 {
            for l in 0..LANES {
                let (whole, fraction) = split(p[a][l], BRICK as f32);
                spots.base[l] += whole * stride;
                spots.fraction[a][l] = fraction;
            }
            stride *= SIDE as u32;
        }
        spots
    }
}

impl Channel {
    /// The values at all spots of one brick.
    #[inline(always)]
    pub fn sample(&self, brick: usize, spots: &Spots) -> [f32; LANES] {
        const Y: usize = SIDE;
        const Z: usize = SIDE * SIDE;
        const LAST: usize = VALUES - 1 - (1 + Y + Z);
        let (values, _) = self.values[brick * VALUES..].split_first_chunk::<VALUES>().expect("a whole brick");
        let mut corner = [[0.0f32; LANES]; 8];
        for l in 0..LANES {
            // Never more than that; said so that the compiler need not check eight times.
            let base = (spots.base[l] as usize).min(LAST);
            for c in 0..8 {
                corner[c][l] = f32::from(values[base + (c & 1) + Y * (c >> 1 & 1) + Z * (c >> 2)]);
            }
        }
        let [lo, step] = self.scale[brick];
        // Along x, then y, then z; the last pair is the result.
        for a in 0..3 {
            for c in 0..4 >> a {
                for l in 0..LANES {
                    let (low, high) = (corner[2 * c][l], corner[2 * c + 1][l]);
                    corner[c][l] = low + spots.fraction[a][l] * (high - low);
                }
            }
        }
        let mut out = [0.0; LANES];
        for l in 0..LANES {
            out[l] = lo + step * corner[0][l];
        }
        out
    }
}

/// A field on its way into bricks: its volume, and what becomes of a value.
struct Source<'a> {
    volume: &'a Volume,
    convert: Box<dyn Fn(f32) -> f32 + Sync + 'a>,
    /// Whether a value, converted, is to be seen.
    visible: Box<dyn Fn(f32) -> bool + Sync + 'a>,
}

impl Source<'_> {
    /// The values of one brick; those that are not finite as nothing.
    fn fill(&self, brick: [i32; 3], out: &mut [f32; VALUES]) {
        let nothing = (self.convert)(if self.volume.background.is_finite() { self.volume.background } else { 0.0 });
        for upper in 0..8usize {
            let high: [usize; 3] = std::array::from_fn(|a| upper >> a & 1);
            let place: [i32; 3] = std::array::from_fn(|a| brick[a].saturating_add(high[a] as i32));
            let block = self.volume.blocks.binary_search(&place).ok().map(|b| self.volume.block(b));
            // Of the block itself all cells; of the next along an axis the first layer.
            let n = high.map(|h| if h == 1 { 1 } else { BLOCK });
            for z in 0..n[2] {
                for y in 0..n[1] {
                    let to = BLOCK * high[0] + SIDE * (y + BLOCK * high[1] + SIDE * (z + BLOCK * high[2]));
                    let out = &mut out[to..to + n[0]];
                    match block {
                        None => out.fill(nothing),
                        Some(block) => {
                            for (out, &v) in out.iter_mut().zip(&block[BLOCK * (y + BLOCK * z)..]) {
                                *out = if v.is_finite() { (self.convert)(v) } else { 0.0 };
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Bricks {
    /// The bricks of some substances and the heat between them, all on the same cells.
    pub fn new(
        substances: &[Substance<'_>],
        heat: Option<&Volume>,
        glow: &Glow,
        emission: &Emission,
    ) -> Result<Self, RenderError> {
        let volumes = || substances.iter().map(|s| s.amount).chain(heat);
        volumes().try_for_each(check)?;
        let cells = volumes().find(|v| !v.blocks.is_empty()).or(volumes().next());
        let (corner, spacing) = cells.map_or(([0.0; 3], 1.0), |v| (v.origin, v.spacing));
        for volume in volumes().filter(|v| !v.blocks.is_empty()) {
            if (volume.origin, volume.spacing) != (corner, spacing) {
                let other = (volume.origin, volume.spacing);
                return Err(RenderError::Cells { one: (corner, spacing), other });
            }
        }

        let h = spacing as f32;
        let mut sources: Vec<Source<'_>> = Vec::new();
        for substance in substances {
            let depth = substance.kappa * h;
            sources.push(Source {
                volume: substance.amount,
                // Very large values stay within what numbers can hold; nothing is seen through them anyway.
                convert: Box::new(move |v| (depth * v).clamp(0.0, 1e6)),
                visible: Box::new(|depth| depth > TRACE),
            });
        }
        if let Some(volume) = heat {
            let [cold, hot] = glow.range;
            sources.push(Source {
                volume,
                convert: Box::new(move |v| ((v - cold) / (hot - cold)).clamp(0.0, 1.0)),
                visible: Box::new(move |t| emission.at(t).iter().any(|&e| e * h > TRACE)),
            });
        }

        // A brick needs its block and the first layer of the next ones: a block is part of up to eight bricks.
        let mut candidates: Vec<[i32; 3]> = Vec::new();
        for &block in volumes().flat_map(|v| &v.blocks) {
            candidates.extend(
                (0..8).map(|c: i32| -> [i32; 3] { std::array::from_fn(|a| block[a].saturating_sub(c >> a & 1)) }),
            );
        }
        candidates.sort_unstable();
        candidates.dedup();
        let bad_cells = not_finite(volumes());
        let seen = |brick: &[i32; 3]| {
            let mut values = [0.0; VALUES];
            let bad = holds_bad(&bad_cells, brick.map(|b| i64::from(b) * BRICK as i64));
            bad || sources.iter().any(|source| {
                source.fill(*brick, &mut values);
                values.iter().any(|&v| (source.visible)(v))
            })
        };
        let bricks: Vec<[i32; 3]> = candidates.into_par_iter().filter(seen).collect();

        let low: [i32; 3] = std::array::from_fn(|a| bricks.iter().map(|b| b[a]).min().unwrap_or(0));
        let places: Vec<[i32; 3]> = bricks.iter().map(|b| std::array::from_fn(|a| b[a].wrapping_sub(low[a]))).collect();
        if let Some(far) = places.iter().find(|p| p.iter().any(|&v| !(0..i32::MAX / 16).contains(&v))) {
            return Err(RenderError::Spread { cells: far.map(|v| v.unsigned_abs() as usize * BRICK) });
        }
        let index = Index::new(&places)?;
        let mut channels = sources.iter().map(|source| Channel::new(source, &bricks)).collect::<Vec<_>>();
        let heat = heat.and_then(|_| channels.pop());
        let first = low.map(|b| i64::from(b) * BRICK as i64);
        let thickest =
            (0..bricks.len()).map(|b| channels.iter().map(|c| c.scale[b][0] + 65535.0 * c.scale[b][1]).sum()).collect();
        Ok(Self {
            lowest: low,
            has_bad: bricks.iter().map(|b| holds_bad(&bad_cells, b.map(|b| i64::from(b) * BRICK as i64))).collect(),
            bad: bad_cells.iter().map(|cell| std::array::from_fn(|a| (cell[a] - first[a]) as i32)).collect(),
            origin: std::array::from_fn(|a| corner[a] + (first[a] as f64 + 0.5) * spacing),
            spacing,
            substances: channels.into_iter().zip(substances.iter().map(|s| s.albedo)).collect(),
            heat,
            thickest,
            index,
            places,
        })
    }

    /// The bounding box, in metres: lower and upper corner. `None` if there is nothing.
    pub fn bounds(&self) -> Option<(Vec3, Vec3)> {
        let size = self.index.size.map(|n| n as f64 * BRICK as f64 * self.spacing);
        (!self.places.is_empty()).then(|| (self.origin, std::array::from_fn(|a| self.origin[a] + size[a])))
    }

    /// Bytes in use.
    pub fn memory(&self) -> usize {
        let channels = self.substances.iter().map(|s| &s.0).chain(&self.heat);
        channels.map(|c| 2 * c.values.len() + 8 * c.scale.len()).sum::<usize>() + 21 * self.places.len()
    }

    /// Another field in the same bricks; values that are not finite count as 0.
    pub fn channel(&self, volume: &Volume) -> Channel {
        let source = Source { volume, convert: Box::new(|v| v), visible: Box::new(|_| true) };
        let blocks = self.places.iter().map(|p| std::array::from_fn(|a| p[a] + self.lowest[a]));
        Channel::new(&source, &blocks.collect::<Vec<_>>())
    }

    /// The largest optical depth per cell in a brick.
    #[inline(always)]
    pub fn thickest(&self, brick: usize) -> f32 {
        self.thickest[brick]
    }

    /// The mean optical depth per cell in a brick.
    pub fn mean_depth(&self, brick: usize) -> f32 {
        let mean = |(channel, _): &(Channel, Rgb)| {
            let sum: u64 = channel.values[brick * VALUES..][..VALUES].iter().map(|&v| u64::from(v)).sum();
            let [lo, step] = channel.scale[brick];
            lo + step * (sum as f64 / VALUES as f64) as f32
        };
        self.substances.iter().map(mean).sum()
    }

    /// Optical depth per cell at spots of a brick.
    #[inline(always)]
    pub fn depth(&self, brick: usize, spots: &Spots) -> [f32; LANES] {
        let mut total = [0.0; LANES];
        for (channel, _) in &self.substances {
            let depth = channel.sample(brick, spots);
            for l in 0..LANES {
                total[l] += depth[l];
            }
        }
        total
    }

    /// Optical depth per cell, and that times the colour of the smoke.
    #[inline(always)]
    pub fn depth_and_color(&self, brick: usize, spots: &Spots) -> ([f32; LANES], [[f32; LANES]; 3]) {
        let (mut total, mut color) = ([0.0; LANES], [[0.0; LANES]; 3]);
        for (channel, albedo) in &self.substances {
            let depth = channel.sample(brick, spots);
            for l in 0..LANES {
                total[l] += depth[l];
                for c in 0..3 {
                    color[c][l] += depth[l] * albedo[c];
                }
            }
        }
        (total, color)
    }

    /// Heat at spots of a brick, from 0 to 1.
    #[inline(always)]
    pub fn heat(&self, brick: usize, spots: &Spots) -> Option<[f32; LANES]> {
        let heat = self.heat.as_ref()?;
        Some(heat.sample(brick, spots))
    }

    /// Whether a brick holds a value that is not finite.
    #[inline(always)]
    pub fn has_bad(&self, brick: usize) -> bool {
        self.has_bad[brick]
    }

    /// Whether the value of the cell around `p` (within a brick) is not finite.
    pub fn is_bad(&self, place: [i32; 3], p: [f32; 3]) -> bool {
        let cell = std::array::from_fn(|a| place[a] * BRICK as i32 + p[a].round() as i32);
        self.bad.binary_search(&cell).is_ok()
    }
}

impl Channel {
    fn new(source: &Source<'_>, bricks: &[[i32; 3]]) -> Self {
        let mut values = vec![0u16; bricks.len() * VALUES];
        let fill = |(out, &brick): (&mut [u16], &[i32; 3])| {
            let mut exact = [0.0; VALUES];
            source.fill(brick, &mut exact);
            let (lo, hi) = exact.iter().fold((f32::INFINITY, 0.0f32), |(lo, hi), &v| (lo.min(v), hi.max(v)));
            let step = (hi - lo) / 65535.0;
            let per_step = if step > 0.0 { 1.0 / step } else { 0.0 };
            for (out, v) in out.iter_mut().zip(exact) {
                *out = ((v - lo) * per_step + 0.5) as u16;
            }
            [lo, step]
        };
        let scale = values.par_chunks_mut(VALUES).zip(bricks).map(fill).collect();
        Self { values, scale }
    }
}

/// Refuses a volume whose parts do not fit together.
pub(super) fn check(volume: &Volume) -> Result<(), RenderError> {
    let ordered = volume.blocks.is_sorted_by(|a, b| a < b);
    if !ordered || volume.values.len() != volume.blocks.len() * BLOCK_CELLS {
        return Err(RenderError::Blocks { blocks: volume.blocks.len(), values: volume.values.len() });
    }
    let placed = volume.origin.iter().all(|v| v.is_finite()) && volume.spacing.is_finite() && volume.spacing > 0.0;
    if !volume.blocks.is_empty() && !placed {
        return Err(RenderError::Spacing(vec![volume.spacing]));
    }
    Ok(())
}

/// All cells of the volumes with a value that is not finite, in order.
fn not_finite<'a>(volumes: impl Iterator<Item = &'a Volume>) -> Vec<[i64; 3]> {
    let mut bad = Vec::new();
    for volume in volumes {
        let blocks = volume.blocks.par_iter().zip(volume.values.par_chunks(BLOCK_CELLS));
        bad.par_extend(blocks.flat_map_iter(|(block, values)| {
            let cell = |i: usize| {
                let inside = [i % BLOCK, i / BLOCK % BLOCK, i / BLOCK / BLOCK];
                std::array::from_fn(|a| i64::from(block[a]) * BLOCK as i64 + inside[a] as i64)
            };
            values.iter().enumerate().filter(|(_, v)| !v.is_finite()).map(move |(i, _)| cell(i))
        }));
    }
    bad.sort_unstable();
    bad.dedup();
    bad
}

/// Whether one of the bad cells belongs to the brick whose first cell is `first`.
fn holds_bad(bad: &[[i64; 3]], first: [i64; 3]) -> bool {
    let start = bad.partition_point(|cell| cell[0] < first[0]);
    let inside = |cell: &&[i64; 3]| (0..3).all(|a| (0..=BRICK as i64).contains(&(cell[a] - first[a])));
    bad[start..].iter().take_while(|cell| cell[0] <= first[0] + BRICK as i64).any(|cell| inside(&cell))
}

//! Values of a sparse volume anywhere, in metres.

use super::bricks::BRICK;
use super::vector::Vec3;
use crate::plane::RenderError;
use rayon::prelude::*;
use squall_core::Volume;

const SIDE: usize = BRICK + 1;
const NODES: usize = SIDE * SIDE * SIDE;
const NONE: u32 = u32::MAX;
/// More bricks than this (64 MB) are refused.
const MOST_BRICKS: u64 = 1 << 24;

/// A volume to be looked up, linear between the centres of cells and 0 where nothing is stored.
pub(super) struct Lookup {
    origin: Vec3,
    per_metre: f64,
    size: [i32; 3],
    bricks: Vec<u32>,
    nodes: Vec<f32>,
}

impl Lookup {
    pub fn new(volume: &Volume) -> Result<Self, RenderError> {
        let side = BRICK as i32;
        let (low, high) = volume.bounds().unwrap_or_default();
        let lowest = low.map(|v| v / side - 1);
        let size: [i32; 3] = std::array::from_fn(|a| high[a] / side - lowest[a]);
        let count = size.iter().try_fold(1u64, |count, &n| count.checked_mul(n as u64)).unwrap_or(u64::MAX);
        if count > MOST_BRICKS {
            return Err(RenderError::Spread { cells: size.map(|n| n as usize * BRICK) });
        }
        let n = size.map(|n| n as usize);
        let place = |i: usize| -> [i32; 3] {
            let at = [i % n[0], i / n[0] % n[1], i / (n[0] * n[1])];
            std::array::from_fn(|a| lowest[a] + at[a] as i32)
        };
        let found: Vec<Option<Vec<f32>>> =
            (0..count as usize).into_par_iter().map(|i| nodes(volume, place(i))).collect();
        let mut bricks = vec![NONE; found.len()];
        let mut nodes = Vec::new();
        for (brick, found) in bricks.iter_mut().zip(found) {
            if let Some(found) = found {
                *brick = (nodes.len() / NODES) as u32;
                nodes.extend(found);
            }
        }
        let corner = |a: usize| volume.origin[a] + (f64::from(lowest[a] * side) + 0.5) * volume.spacing;
        Ok(Self { origin: std::array::from_fn(corner), per_metre: 1.0 / volume.spacing, size, bricks, nodes })
    }

    /// Bytes in use.
    pub fn memory(&self) -> usize {
        4 * (self.bricks.len() + self.nodes.len())
    }

    /// The value at a place.
    pub fn at(&self, x: Vec3) -> f32 {
        let (mut brick, mut first, mut f) = (0, 0, [0.0f32; 3]);
        let (mut stride, mut across) = (1, 1);
        for a in 0..3 {
            let p = (x[a] - self.origin[a]) * self.per_metre;
            if !(p >= 0.0 && p < f64::from(self.size[a] * BRICK as i32)) {
                return 0.0;
            }
            let cell = p as usize;
            brick += cell / BRICK * across;
            first += cell % BRICK * stride;
            f[a] = (p - cell as f64) as f32;
            (stride, across) = (stride * SIDE, across * self.size[a] as usize);
        }
        let slot = self.bricks[brick];
        if slot == NONE {
            return 0.0;
        }
        let nodes = &self.nodes[slot as usize * NODES..][..NODES];
        let row = |skip: usize| nodes[first + skip] + f[0] * (nodes[first + skip + 1] - nodes[first + skip]);
        let (a, b) = (row(0), row(SIDE));
        let (c, d) = (row(SIDE * SIDE), row(SIDE * SIDE + SIDE));
        let (near, far) = (a + f[1] * (b - a), c + f[1] * (d - c));
        near + f[2] * (far - near)
    }
}

/// The nodes of a brick; `None` where there is nothing. What is not finite counts as nothing.
fn nodes(volume: &Volume, place: [i32; 3]) -> Option<Vec<f32>> {
    let blocks: [Option<&[f32]>; 8] = std::array::from_fn(|i| {
        let block = [place[0] + (i & 1) as i32, place[1] + (i >> 1 & 1) as i32, place[2] + (i >> 2) as i32];
        volume.blocks.binary_search(&block).ok().map(|b| volume.block(b))
    });
    if blocks.iter().all(|block| block.is_none()) {
        return None;
    }
    let value = |i: usize| {
        let at = [i % SIDE, i / SIDE % SIDE, i / (SIDE * SIDE)];
        let [bx, by, bz] = at.map(|v| v / BRICK);
        let [x, y, z] = at.map(|v| v % BRICK);
        let value = blocks[bx + 2 * (by + 2 * bz)].map_or(0.0, |block| block[x + BRICK * (y + BRICK * z)]);
        if value.is_finite() { value } else { 0.0 }
    };
    let values: Vec<f32> = (0..NODES).map(value).collect();
    values.iter().any(|&v| v != 0.0).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_is_found_again_across_blocks_and_nothing_outside() {
        let values: Vec<f32> = (0..20 * 9 * 8).map(|i| 1.0 + (i % 20) as f32 + (i / 20 % 9) as f32).collect();
        let volume = Volume::from_dense([1.0; 3], 0.5, 0.0, [20, 9, 8], &values);
        let lookup = Lookup::new(&volume).unwrap();
        for (x, y) in [(0.5, 0.5), (3.2, 1.7), (7.9, 8.1), (12.0, 4.0)] {
            // The centre of cell 0 is at half a cell.
            let place = [1.0 + 0.5 * x, 1.0 + 0.5 * y, 2.0];
            assert!((f64::from(lookup.at(place)) - x - y).abs() < 1e-4, "{x} {y}: {}", lookup.at(place));
        }
        assert_eq!(lookup.at([-5.0; 3]), 0.0);
        assert_eq!(lookup.at([f64::NAN; 3]), 0.0);
        assert_eq!(Lookup::new(&Volume { spacing: 1.0, ..Volume::default() }).unwrap().at([0.0; 3]), 0.0);
    }
}

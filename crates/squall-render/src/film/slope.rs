//! Gradients of sparse volumes.

use rayon::prelude::*;
use squall_core::Volume;
use squall_core::volume::{BLOCK, BLOCK_CELLS};

/// The sum of volumes on the same cells, each times its weight; what is not finite counts as nothing.
pub(super) fn total(volumes: &[(&Volume, f32)]) -> Volume {
    let Some((first, _)) = volumes.iter().find(|(v, _)| !v.blocks.is_empty()).or(volumes.first()) else {
        return Volume::default();
    };
    let mut blocks: Vec<[i32; 3]> = volumes.iter().flat_map(|(v, _)| &v.blocks).copied().collect();
    blocks.sort_unstable();
    blocks.dedup();
    let mut values = vec![0.0f32; blocks.len() * BLOCK_CELLS];
    values.par_chunks_mut(BLOCK_CELLS).zip(&blocks).for_each(|(out, block)| {
        for (volume, weight) in volumes {
            if let Ok(b) = volume.blocks.binary_search(block) {
                for (out, v) in out.iter_mut().zip(volume.block(b)) {
                    *out += if v.is_finite() { weight * v.max(0.0) } else { 0.0 };
                }
            }
        }
    });
    Volume { origin: first.origin, spacing: first.spacing, background: 0.0, blocks, values }
}

/// Centred differences along each axis, in units per cell; also in the blocks around those that hold something.
pub(super) fn slopes(volume: &Volume) -> [Volume; 3] {
    let around = |b: &[i32; 3]| {
        let b = *b;
        (0..7usize).map(move |n| {
            let mut next = b;
            if n > 0 {
                next[(n - 1) / 2] += if n % 2 == 1 { 1 } else { -1 };
            }
            next
        })
    };
    let mut blocks: Vec<[i32; 3]> = volume.blocks.iter().flat_map(around).collect();
    blocks.sort_unstable();
    blocks.dedup();
    std::array::from_fn(|axis| {
        let mut values = vec![0.0f32; blocks.len() * BLOCK_CELLS];
        values.par_chunks_mut(BLOCK_CELLS).zip(&blocks).for_each(|(out, &block)| slope(volume, block, axis, out));
        Volume { background: 0.0, blocks: blocks.clone(), values, origin: volume.origin, spacing: volume.spacing }
    })
}

fn slope(volume: &Volume, block: [i32; 3], axis: usize, out: &mut [f32]) {
    let beside = |by: i32| {
        let mut place = block;
        place[axis] += by;
        volume.blocks.binary_search(&place).ok().map(|b| volume.block(b))
    };
    let [below, here, above] = [beside(-1), beside(0), beside(1)];
    let stride = BLOCK.pow(axis as u32);
    let value = |block: Option<&[f32]>, i: usize| block.map_or(volume.background, |values| values[i]);
    for (i, out) in out.iter_mut().enumerate() {
        let at = i / stride % BLOCK;
        let low = if at > 0 { value(here, i - stride) } else { value(below, i + (BLOCK - 1) * stride) };
        let high = if at + 1 < BLOCK { value(here, i + stride) } else { value(above, i - (BLOCK - 1) * stride) };
        *out = 0.5 * (high - low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_ramp_is_even_across_blocks_and_falls_off_at_its_end() {
        let cells = [24, 9, 8];
        let values: Vec<f32> = (0..24 * 9 * 8).map(|i| 1.0 + (i % 24) as f32).collect();
        let volume = Volume::from_dense([0.0; 3], 0.5, 0.0, cells, &values);
        let [x, y, z] = slopes(&volume);
        assert!((1..23).all(|i| x.get([i, 4, 4]) == 1.0), "whole numbers: exact");
        assert_eq!(x.get([24, 4, 4]), -12.0, "half of what the last cell holds");
        assert_eq!((y.get([5, 4, 4]), z.get([5, 4, 4])), (0.0, 0.0));
        assert_eq!(y.get([5, 9, 4]), -3.0);
        assert!(x.blocks.is_sorted());
    }

    #[test]
    fn a_sum_holds_the_blocks_of_all() {
        let one = Volume { spacing: 1.0, blocks: vec![[0; 3]], values: vec![2.0; 512], ..Volume::default() };
        let two =
            Volume { spacing: 1.0, blocks: vec![[0; 3], [1, 0, 0]], values: vec![1.0; 1024], ..Volume::default() };
        let sum = total(&[(&one, 2.0), (&two, 10.0)]);
        assert_eq!((sum.get([3; 3]), sum.get([9, 3, 3])), (14.0, 10.0));
    }
}

//! Distances on finer cells from those on the grid: the surface of a liquid that a level set tracks.

use super::distance::{BAND, FINEST, Fineness, MOST_SMOOTHED, REACH, Room, cut_off, smooth};
use crate::threads::prelude::*;
use crate::volume::{BLOCK, Volume};

/// Signed distances in metres from those at the centres of `cells`, x fastest: between them linear, smoothed, cut off at walls as
/// [`Points::distances`](super::Points::distances) are, and at all other ends of the grid. All blocks near the surface and within are stored.
pub fn refined<const D: usize>(values: &[f32], cells: [usize; D], room: &Room<D>, fineness: Fineness) -> Volume<D> {
    assert_eq!(values.len(), cells.iter().product::<usize>(), "one value per cell");
    let refine = fineness.refine.clamp(1, FINEST);
    let spacing = room.cell / refine as f64;
    let background = (f64::from(BAND) * REACH * room.cell) as f32;
    let mut stride = [1; D];
    for a in 1..D {
        stride[a] = stride[a - 1] * cells[a - 1];
    }
    // The value at a fine cell: beyond walls as beside them, where the grid repeats itself as at the other end, nothing beyond other ends.
    let value = |fine: [i32; D]| {
        let (mut low, mut high, mut way) = ([0; D], [0; D], [0.0; D]);
        for a in 0..D {
            let x = (f64::from(fine[a]) + 0.5) / refine as f64;
            if room.periodic[a] {
                let x = (x - 0.5).rem_euclid(cells[a] as f64);
                low[a] = (x as usize).min(cells[a] - 1);
                (high[a], way[a]) = ((low[a] + 1) % cells[a], (x - low[a] as f64) as f32);
                continue;
            }
            let beyond = [x < 0.0, x > cells[a] as f64];
            if (0..2).any(|side| beyond[side] && room.walls[a][side].is_none()) {
                return background;
            }
            let x = (x - 0.5).clamp(0.0, (cells[a] - 1) as f64);
            low[a] = (x as usize).min(cells[a].saturating_sub(2));
            (high[a], way[a]) = ((low[a] + 1).min(cells[a] - 1), (x - low[a] as f64) as f32);
        }
        let mut sum = 0.0;
        for corner in 0..1usize << D {
            let (mut at, mut weight) = (0, 1.0);
            for a in 0..D {
                let up = corner >> a & 1;
                at += [low[a], high[a]][up] * stride[a];
                weight *= if up == 1 { way[a] } else { 1.0 - way[a] };
            }
            sum += weight * values[at];
        }
        sum.clamp(-background, background)
    };
    // A block more on both sides, for what lies behind walls.
    let counts = cells.map(|n| (n * refine).div_ceil(BLOCK) + 2);
    let block_of = |mut n: usize| -> [i32; D] {
        // Ascending order is that of the first axis first.
        let mut block = [0; D];
        for a in (0..D).rev() {
            block[a] = (n % counts[a]) as i32 - 1;
            n /= counts[a];
        }
        block
    };
    let found: Vec<([i32; D], Vec<f32>)> = (0..counts.iter().product::<usize>())
        .into_par_iter()
        .filter_map(|n| {
            let block = block_of(n);
            let of = |i: usize| {
                value(std::array::from_fn(|a| block[a] * BLOCK as i32 + (i / BLOCK.pow(a as u32) % BLOCK) as i32))
            };
            let values: Vec<f32> = (0..Volume::<D>::CELLS).map(of).collect();
            values.iter().any(|v| *v < background).then_some((block, values))
        })
        .collect();
    let mut volume = Volume { origin: room.origin, spacing, background, blocks: Vec::new(), values: Vec::new() };
    for (block, values) in found {
        volume.blocks.push(block);
        volume.values.extend(values);
    }
    smooth(&mut volume, fineness.passes(), (MOST_SMOOTHED * room.cell) as f32);
    cut_off(&mut volume, room);
    volume
}

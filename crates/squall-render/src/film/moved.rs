//! Volumes a moment before or after, for pictures with an open shutter.

use super::bricks::BRICK;
use super::lookup::Lookup;
use crate::plane::RenderError;
use rayon::prelude::*;
use squall_core::Volume;
use squall_core::volume::BLOCK_CELLS;

/// A volume `seconds` later (or earlier, below 0), carried along by a velocity in m/s: `v(x, t + s) = v(x - s u(x), t)`. Meant for parts of a
/// frame, in which the velocity hardly changes.
pub fn moved(volume: &Volume, velocity: [&Volume; 3], seconds: f64) -> Result<Volume, RenderError> {
    if seconds == 0.0 || volume.blocks.is_empty() || velocity.iter().any(|v| v.blocks.is_empty()) {
        return Ok(volume.clone());
    }
    let values = Lookup::new(volume)?;
    let [u, v, w] = velocity;
    let flow = [Lookup::new(u)?, Lookup::new(v)?, Lookup::new(w)?];
    // How far values go, in blocks.
    let fastest = velocity.iter().flat_map(|v| &v.values).filter(|v| v.is_finite()).fold(0.0f32, |m, v| m.max(v.abs()));
    let reach = (f64::from(fastest) * seconds.abs() / (volume.spacing * BRICK as f64)).ceil().min(4.0) as i32;
    let side = 2 * reach + 1;
    let around = (0..side.pow(3)).map(|n| [n % side - reach, n / side % side - reach, n / (side * side) - reach]);
    let mut blocks: Vec<[i32; 3]> = around
        .flat_map(|by| volume.blocks.iter().map(move |b| std::array::from_fn(|a| b[a].saturating_add(by[a]))))
        .collect();
    blocks.sort_unstable();
    blocks.dedup();
    let found: Vec<([i32; 3], Vec<f32>)> = blocks
        .into_par_iter()
        .filter_map(|block| {
            let value = |i: usize| {
                let cell = [i % BRICK, i / BRICK % BRICK, i / (BRICK * BRICK)];
                let x: [f64; 3] = std::array::from_fn(|a| {
                    volume.origin[a] + (f64::from(block[a]) * BRICK as f64 + cell[a] as f64 + 0.5) * volume.spacing
                });
                values.at(std::array::from_fn(|a| x[a] - seconds * f64::from(flow[a].at(x))))
            };
            let cells: Vec<f32> = (0..BLOCK_CELLS).map(value).collect();
            cells.iter().any(|&v| v != 0.0).then_some((block, cells))
        })
        .collect();
    let mut out = Volume { blocks: Vec::new(), values: Vec::new(), ..volume.clone() };
    for (block, cells) in found {
        out.blocks.push(block);
        out.values.extend(cells);
    }
    Ok(out)
}

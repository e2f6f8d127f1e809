//! Closed lines where a field of distances is zero, in 2D: marching squares, with corners inside parted where both diagonals differ.

use super::Outline;
use super::distance::Places;
use crate::volume::{BLOCK, Volume};
use std::collections::BTreeMap;

/// Corners stay this far from centres of cells, as a part of the way between two: no piece of a line is without length.
const LEAST: f32 = 0.02;

/// A crossing: the cell where its way begins, and along which axis it goes.
type Crossing = ([i32; 2], usize);

/// The closed lines where `distance` is zero; the inside is where it is negative.
pub fn outline(distance: &Volume<2>) -> Outline {
    let places = Places::new(distance);
    let mut window = Vec::new();
    let wide = BLOCK + 1;
    // From each crossing to the next, with the inside on the left.
    let mut next: BTreeMap<Crossing, (Crossing, [f32; 2])> = BTreeMap::new();
    for (b, &block) in distance.blocks.iter().enumerate() {
        places.window(distance, b, 0, 1, &mut window);
        for i in 0..BLOCK * BLOCK {
            let (x, y) = (i % BLOCK, i / BLOCK);
            let cell = [block[0] * BLOCK as i32 + x as i32, block[1] * BLOCK as i32 + y as i32];
            // Corners and the ways between them, counter-clockwise.
            let turn = [[0, 0], [1, 0], [1, 1], [0, 1]];
            let value = turn.map(|[dx, dy]| window[x + dx + wide * (y + dy)]);
            let ways = [([0, 0], 0), ([1, 0], 1), ([0, 1], 0), ([0, 0], 1)];
            let crossing = |k: usize| {
                let (by, axis) = ways[k % 4];
                let from: [i32; 2] = std::array::from_fn(|a| cell[a] + by[a]);
                let (low, high) = (value[[0, 1, 3, 0][k % 4]], value[[1, 2, 2, 3][k % 4]]);
                let t = f64::from((low / (low - high)).clamp(LEAST, 1.0 - LEAST));
                let place = std::array::from_fn(|a| {
                    let cells = f64::from(from[a]) + 0.5 + if a == axis { t } else { 0.0 };
                    (distance.origin[a] + cells * distance.spacing) as f32
                });
                ((from, axis), place)
            };
            for k in 0..4 {
                // A run of corners inside begins behind way k; the line goes from where it ends to where it begins.
                if value[k] >= 0.0 && value[(k + 1) % 4] < 0.0 {
                    let end = (k + 1..k + 4).find(|j| value[(j + 1) % 4] >= 0.0).unwrap_or(k);
                    let (from, place) = crossing(end);
                    next.insert(from, (crossing(k).0, place));
                }
            }
        }
    }
    let mut loops = Vec::new();
    while let Some((start, (mut at, place))) = next.pop_first() {
        let mut corners = vec![place];
        while at != start {
            let Some((to, place)) = next.remove(&at) else { break };
            corners.push(place);
            at = to;
        }
        loops.push(corners);
    }
    Outline { loops }
}

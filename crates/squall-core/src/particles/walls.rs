//! Walls of the box for particles.

use crate::Real;
use crate::grid::{Axis, Grid, Side};
use crate::tiles::Tile;

/// How far particles of a tile may go, in cells from its lower corner: up to `apart` cells from the walls. Open sides let them go.
pub(crate) fn within<const D: usize>(
    grid: &Grid<D>,
    apart: Real,
) -> impl Fn(&Tile<D>) -> [[Real; 2]; D] + Sync + Send + use<D> {
    let cells = grid.cells;
    let walls: [[bool; 2]; D] = grid.axes.map(|axis| match axis {
        Axis::Bounded { lo, hi } => [lo, hi].map(|side| !matches!(side, Side::Open | Side::Unbounded)),
        _ => [false; 2],
    });
    move |tile| {
        std::array::from_fn(|a| {
            let low = apart - tile.first[a] as Real;
            let high = (cells[a] as isize - tile.first[a]) as Real - apart;
            [if walls[a][0] { low } else { Real::NEG_INFINITY }, if walls[a][1] { high } else { Real::INFINITY }]
        })
    }
}

/// Puts a place back to where it may be ([`within`]).
pub(crate) fn keep_within<const D: usize>(
    grid: &Grid<D>,
    apart: Real,
) -> impl Fn(&Tile<D>, &mut [Real; D]) + Sync + Send + use<D> {
    let within = within(grid, apart);
    move |tile, place| {
        for (x, [low, high]) in place.iter_mut().zip(within(tile)) {
            *x = x.max(low).min(high);
        }
    }
}

//! What keeps particles in the box.

use crate::Real;
use crate::grid::{Axis, Grid, Side};
use crate::tiles::Tile;

/// Puts a place, in cells from the lower corner of a tile, back to `apart` cells from the walls that it has passed. Open sides let it go.
pub(crate) fn keep_within<const D: usize>(
    grid: &Grid<D>,
    apart: Real,
) -> impl Fn(&Tile<D>, &mut [Real; D]) + Sync + Send + use<D> {
    let cells = grid.cells;
    let walls: [[bool; 2]; D] = grid.axes.map(|axis| match axis {
        Axis::Bounded { lo, hi } => [lo, hi].map(|side| !matches!(side, Side::Open | Side::Unbounded)),
        _ => [false; 2],
    });
    move |tile, place| {
        for a in 0..D {
            if walls[a][0] {
                place[a] = place[a].max(apart - tile.first[a] as Real);
            }
            if walls[a][1] {
                place[a] = place[a].min((cells[a] as isize - tile.first[a]) as Real - apart);
            }
        }
    }
}

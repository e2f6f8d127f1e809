//! Particles that fill a shape.

use super::Particles;
use crate::Real;
use crate::grid::Grid;
use crate::tiles::Tile;

/// How far particles are moved away from a regular lattice, as a part of its spacing, at most: enough that no direction stands out.
const JITTER: Real = 0.5;

impl<const D: usize> Particles<D> {
    /// Fills what `inside(position)` says is inside, with so many particles per cell along each axis. They move by `velocity(position)`.
    /// Places depend on the cell and on `seed` alone. Returns how many there are.
    pub fn fill(
        &mut self,
        grid: &Grid<D>,
        per_axis: usize,
        seed: u64,
        inside: impl Fn([f64; D]) -> bool,
        velocity: impl Fn([f64; D]) -> [Real; D],
    ) -> usize {
        let layout = self.layout.clone();
        let tiles: Vec<Tile<D>> = (0..layout.tile_count()).map(|n| layout.tile(n)).collect();
        let cells = tiles.iter().flat_map(cells_of);
        let new = cells.flat_map(|cell| (0..per_axis.pow(D as u32)).map(move |k| (cell, k))).filter_map(|(cell, k)| {
            let within = lattice_point(cell, k, per_axis, seed);
            let position =
                std::array::from_fn(|a| grid.origin[a] + (cell[a] as f64 + f64::from(within[a])) * grid.spacing[a]);
            inside(position).then(|| (cell, within, velocity(position)))
        });
        let new: Vec<_> = new.collect();
        self.extend(new)
    }
}

fn cells_of<const D: usize>(tile: &Tile<D>) -> impl Iterator<Item = [isize; D]> + use<D> {
    let tile = *tile;
    tile.rows().flat_map(move |local| {
        (0..tile.cells[0]).map(move |x| {
            let mut cell = std::array::from_fn(|a| tile.first[a] + local[a] as isize);
            cell[0] += x as isize;
            cell
        })
    })
}

/// The `k`-th of the points that fill a cell: a lattice, each point moved at random.
pub(crate) fn lattice_point<const D: usize>(cell: [isize; D], k: usize, per_axis: usize, seed: u64) -> [Real; D] {
    let mut hash = mix(seed ^ 0x5371_7561_6c6c);
    for i in cell.into_iter().chain([k as isize]) {
        hash = mix(hash ^ i as u64);
    }
    let mut rest = k;
    std::array::from_fn(|a| {
        let i = rest % per_axis;
        rest /= per_axis;
        hash = mix(hash.wrapping_add(a as u64 + 1));
        let random = (hash >> 40) as Real / (1u64 << 24) as Real - 0.5;
        (i as Real + 0.5 + JITTER * random) / per_axis as Real
    })
}

/// A number that shows nothing of the one it is made from (the finaliser of SplitMix64).
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

//! Particles that fill a shape.

use super::{Particle, Particles};
use crate::Real;
use crate::grid::Grid;
use crate::tiles::Tile;
use std::ops::Range;

/// How far particles are moved away from a regular lattice, as a part of its spacing, at most: enough that no direction stands out.
const JITTER: Real = 0.5;

/// Cells along each axis; `None` are all.
pub(crate) type Cells<const D: usize> = Option<[Range<isize>; D]>;

impl<const D: usize> Particles<D> {
    /// Fills what `inside(position)` says is inside, with so many particles per cell along each axis. `begin(position, carried)` fills in what each
    /// carries, and gives its velocity. Places depend on the cell and on `seed` alone. Returns how many there are.
    pub fn fill(
        &mut self,
        grid: &Grid<D>,
        per_axis: usize,
        seed: u64,
        inside: impl Fn([f64; D]) -> bool,
        begin: impl Fn([f64; D], &mut [Real]) -> [Real; D],
    ) -> usize {
        self.fill_cells(grid, None, per_axis, seed, inside, begin)
    }

    /// [`Particles::fill`] in some cells.
    pub(crate) fn fill_cells(
        &mut self,
        grid: &Grid<D>,
        cells: Cells<D>,
        per_axis: usize,
        seed: u64,
        inside: impl Fn([f64; D]) -> bool,
        begin: impl Fn([f64; D], &mut [Real]) -> [Real; D],
    ) -> usize {
        let (mut new, mut added) = (Vec::new(), 0);
        for tile in self.tiles_in(&cells) {
            for cell in cells_of(&tile).filter(|cell| is_in(&cells, *cell)) {
                for k in 0..per_axis.pow(D as u32) {
                    let within = lattice_point(cell, k, per_axis, seed);
                    if inside(position(grid, cell, within)) {
                        new.push((cell, within));
                    }
                }
            }
            added += self.extend(new.drain(..), |cell, within, carried| begin(position(grid, cell, within), carried));
        }
        added
    }

    /// Brings the number of particles where `inside` says so to what it should be, if they are too few: new ones come where there are fewest, into
    /// parts of cells that have none (of two along each axis: eighths, in 2D quarters).
    pub(crate) fn refill(
        &mut self,
        grid: &Grid<D>,
        cells: &Cells<D>,
        per_axis: usize,
        seed: u64,
        inside: impl Fn([f64; D]) -> bool,
        begin: impl Fn([f64; D], &mut [Real]) -> [Real; D],
    ) -> usize {
        let parts = per_axis.pow(D as u32);
        let (mut wanted, mut there) = (0usize, 0usize);
        let mut empty = Vec::new();
        for tile in self.tiles_in(cells) {
            let number = |local: [usize; D]| (0..D).rev().fold(0, |n, a| n * tile.cells[a] + local[a]);
            let size = tile.cells.iter().product::<usize>();
            let (mut taken, mut counts) = (vec![false; size * parts], vec![0usize; size]);
            for p in self.of_tile(tile.number) {
                let local = std::array::from_fn(|a| (p.place[a] as usize).min(tile.cells[a] - 1));
                let part = (0..D).rev().fold(0, |n, a| {
                    let i = (p.place[a].fract() * per_axis as Real) as usize;
                    n * per_axis + i.min(per_axis - 1)
                });
                taken[number(local) * parts + part] = true;
                counts[number(local)] += 1;
                there += usize::from(inside(position(grid, tile.first, p.place)));
            }
            for cell in cells_of(&tile).filter(|cell| is_in(cells, *cell)) {
                let local = number(std::array::from_fn(|a| (cell[a] - tile.first[a]) as usize));
                for k in 0..parts {
                    let within = lattice_point(cell, k, per_axis, seed);
                    if inside(position(grid, cell, within)) {
                        wanted += 1;
                        if !taken[local * parts + k] {
                            empty.push((counts[local], cell, within));
                        }
                    }
                }
            }
        }
        empty.sort_by_key(|&(count, ..)| count);
        let missing = wanted.saturating_sub(there);
        let new = empty.into_iter().take(missing).map(|(_, cell, within)| (cell, within));
        self.extend(new, |cell, within, carried| begin(position(grid, cell, within), carried))
    }

    /// Adds a particle at a position, unless that is outside of the grid. `begin(carried)` fills in what it carries, and gives its velocity.
    pub(crate) fn add(&mut self, grid: &Grid<D>, x: [f64; D], begin: impl Fn(&mut [Real]) -> [Real; D]) {
        let cells: [f64; D] = std::array::from_fn(|a| (x[a] - grid.origin[a]) / grid.spacing[a]);
        let cell = cells.map(|x| x.floor() as isize);
        // A rounding below the upper side must not become the next cell.
        let within = std::array::from_fn(|a| ((cells[a] - cell[a] as f64) as Real).min((1.0 as Real).next_down()));
        self.extend([(cell, within)], |_, _, carried| begin(carried));
    }

    /// Removes those inside; returns how many. `removed` sees what they carried.
    pub(crate) fn remove(
        &mut self,
        grid: &Grid<D>,
        cells: &Cells<D>,
        inside: impl Fn([f64; D]) -> bool,
        mut removed: impl FnMut(&[Real]),
    ) -> usize {
        let before = self.len();
        for tile in self.tiles_in(cells) {
            let stays = |p: &Particle<D>| !inside(position(grid, tile.first, p.place));
            let list = &self.tiles[tile.number];
            self.carried.retain(tile.number, |i| stays(&list[i]), &mut removed);
            self.tiles[tile.number].retain(stays);
        }
        before - self.len()
    }

    /// Gives those inside a velocity.
    pub(crate) fn drive(
        &mut self,
        grid: &Grid<D>,
        cells: &Cells<D>,
        inside: impl Fn([f64; D]) -> bool,
        velocity: impl Fn([f64; D]) -> [Real; D],
    ) {
        for tile in self.tiles_in(cells) {
            for p in &mut self.tiles[tile.number] {
                let x = position(grid, tile.first, p.place);
                if inside(x) {
                    (p.velocity, p.slope) = (velocity(x), [[0.0; D]; D]);
                }
            }
        }
    }

    /// Changes what those inside carry.
    pub(crate) fn change_carried(
        &mut self,
        grid: &Grid<D>,
        cells: &Cells<D>,
        inside: impl Fn([f64; D]) -> bool,
        change: impl Fn(&mut [Real]),
    ) {
        for tile in self.tiles_in(cells) {
            let numbers = self.carried.tiles[tile.number].chunks_exact_mut(self.carried.each.max(1));
            let inside = |p: &Particle<D>| inside(position(grid, tile.first, p.place));
            self.tiles[tile.number].iter().zip(numbers).filter(|(p, _)| inside(p)).for_each(|(_, n)| change(n));
        }
    }

    /// The tiles that have some of these cells.
    fn tiles_in(&self, cells: &Cells<D>) -> Vec<Tile<D>> {
        let touched = |tile: &Tile<D>| {
            let meets = |a: usize, range: &Range<isize>| {
                range.start < tile.first[a] + tile.cells[a] as isize && range.end > tile.first[a]
            };
            cells.as_ref().is_none_or(|cells| (0..D).all(|a| meets(a, &cells[a])))
        };
        (0..self.layout.tile_count()).map(|n| self.layout.tile(n)).filter(touched).collect()
    }
}

fn is_in<const D: usize>(cells: &Cells<D>, cell: [isize; D]) -> bool {
    cells.as_ref().is_none_or(|cells| (0..D).all(|a| cells[a].contains(&cell[a])))
}

/// Where a place within a cell lies, in metres.
pub(crate) fn position<const D: usize>(grid: &Grid<D>, cell: [isize; D], within: [Real; D]) -> [f64; D] {
    std::array::from_fn(|a| grid.origin[a] + (cell[a] as f64 + f64::from(within[a])) * grid.spacing[a])
}

/// The cells of a tile.
pub(crate) fn cells_of<const D: usize>(tile: &Tile<D>) -> impl Iterator<Item = [isize; D]> + use<D> {
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
    let random: [Real; D] = jitter(cell.into_iter().chain([k as isize]), seed);
    let mut rest = k;
    std::array::from_fn(|a| {
        let i = rest % per_axis;
        rest /= per_axis;
        (i as Real + 0.5 + JITTER * random[a]) / per_axis as Real
    })
}

/// Numbers from -1/2 to 1/2 that depend on a key and a seed alone.
pub(crate) fn jitter<const N: usize>(key: impl IntoIterator<Item = isize>, seed: u64) -> [Real; N] {
    let mut hash = mix(seed ^ 0x5371_7561_6c6c);
    for i in key {
        hash = mix(hash ^ i as u64);
    }
    std::array::from_fn(|a| {
        hash = mix(hash.wrapping_add(a as u64 + 1));
        (hash >> 40) as Real / (1u64 << 24) as Real - 0.5
    })
}

/// A number that shows nothing of the one it is made from (the finaliser of SplitMix64).
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

//! Values that particles carry besides momentum: inks, heat. Some numbers for each, in the order of the particles of a tile.
//!
//! Mixing lets every particle take a part `s` of the mean around it, by way of the cells and with linear weights `w`:
//!
//! ```text
//! m_c = sum_p w,   c_c = sum_p w c_p / m_c,   c_p += s (sum_c w c_c - c_p)
//! ```
//!
//! As the weights to the cells and back are the same, the sum over all particles stays what it was, and no value leaves the range of the
//! others. Where particles are as dense as they should be, a pass spreads like diffusion by `s h^2 / 6`.

use super::{Particle, Particles, Patch};
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad};
use crate::layout::Layout;
use crate::scatter::{Scatter, Window};
use crate::sim::StateVisitor;
use crate::threads::prelude::*;
use crate::tiles::Tile;
use crate::visit::visit_list;

/// By how much a pass of mixing spreads, as a part of the square of a cell.
pub(crate) const SPREAD: f64 = 1.0 / 6.0;

/// So many numbers for each particle, by tiles.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// How many numbers.
    pub each: usize,
    pub tiles: Vec<Vec<Real>>,
    /// Of those that leave a tile.
    pub leaving: Vec<Vec<Real>>,
    /// What is found of each tile.
    pub found: Vec<Found>,
}

/// What is known of one number of many particles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Its sum.
    pub sum: f64,
    /// The sum of its sizes.
    pub sizes: f64,
    /// The least and the largest.
    pub range: [f64; 2],
}

impl Found {
    /// Of no particle.
    const NOTHING: Found = Found { sum: 0.0, sizes: 0.0, range: [f64::INFINITY, f64::NEG_INFINITY] };

    fn and(self, Found { sum, sizes, range: [low, high] }: Found) -> Found {
        let range = [self.range[0].min(low), self.range[1].max(high)];
        Found { sum: self.sum + sum, sizes: self.sizes + sizes, range }
    }
}

impl Carried {
    /// Keeps those of a tile of which `kept(i)` says so; `removed` sees the others.
    pub fn retain(&mut self, tile: usize, kept: impl Fn(usize) -> bool, mut removed: impl FnMut(&[Real])) {
        let (each, values) = (self.each, &mut self.tiles[tile]);
        if each == 0 {
            return;
        }
        let mut to = 0;
        for i in 0..values.len() / each {
            let from = i * each..(i + 1) * each;
            if kept(i) {
                values.copy_within(from, to);
                to += each;
            } else {
                removed(&values[from]);
            }
        }
        values.truncate(to);
    }
}

/// Takes `each` numbers of particle `i` out of a list, as `swap_remove` does with particles, and adds them to another.
pub(super) fn swap_remove(values: &mut Vec<Real>, i: usize, each: usize, to: &mut Vec<Real>) {
    if each == 0 {
        return;
    }
    let last = values.len() - each;
    to.extend_from_slice(&values[i * each..][..each]);
    values.copy_within(last.., i * each);
    values.truncate(last);
}

impl<const D: usize> Particles<D> {
    /// Lets every particle carry one number more. There must be none yet.
    pub fn carry_one_more(&mut self) {
        assert!(self.is_empty(), "particles carry what they have from the beginning");
        self.carried.each += 1;
    }

    /// How many numbers each particle carries.
    pub fn carries(&self) -> usize {
        self.carried.each
    }

    /// The `k`-th number of all particles, in the order of [`Particles::iter`].
    pub fn carried(&self, k: usize) -> impl Iterator<Item = Real> {
        self.carried.tiles.iter().flat_map(move |values| values.iter().skip(k).step_by(self.carried.each)).copied()
    }

    /// Multiplies the `k`-th number of all.
    pub(crate) fn scale_carried(&mut self, k: usize, factor: Real) {
        let each = self.carried.each;
        self.carried.tiles.par_iter_mut().for_each(|v| v.iter_mut().skip(k).step_by(each).for_each(|v| *v *= factor));
    }

    /// What is known of the `k`-th number, in the order of the tiles.
    pub(crate) fn survey(&mut self, k: usize) -> Found {
        let Carried { each, tiles, found, .. } = &mut self.carried;
        found.resize(tiles.len(), Found::NOTHING);
        found.par_iter_mut().zip(&*tiles).for_each(|(found, values)| {
            let values = values.iter().skip(k).step_by(*each).map(|v| f64::from(*v));
            *found = values.fold(Found::NOTHING, |all, v| all.and(Found { sum: v, sizes: v.abs(), range: [v; 2] }));
        });
        found.iter().fold(Found::NOTHING, |all, tile| all.and(*tile))
    }

    /// The mean of the `k`-th number around the centre of each cell, in `mean`, and how many particles that is, in `weight`; zero where there is none.
    pub(crate) fn mean_to_cells(
        &self,
        k: usize,
        scatter: &mut Scatter<D>,
        periodic: [bool; D],
        mean: &mut Field<D>,
        weight: &mut Field<D>,
    ) -> Result<(), OutOfMemory> {
        let each = self.carried.each;
        weight.relabel(mean.at(), mean.ends());
        mean.fill(0.0);
        weight.fill(0.0);
        scatter.add([mean, weight], |tile, [sums, weights]| {
            let limits = limits(&self.layout, &tile, periodic);
            let values = self.carried.tiles[tile.number].iter().skip(k).step_by(each);
            for (p, value) in self.of_tile(tile.number).iter().zip(values) {
                add(sums, weights, &tile, held(p.place, &limits), *value);
            }
        })?;
        let heard = &*weight;
        mean.par_rows(|row, mean| {
            for (mean, weight) in mean.iter_mut().zip(heard.row(row)) {
                *mean = if *weight > 0.0 { *mean / *weight } else { 0.0 };
            }
        });
        Ok(())
    }

    /// Changes the `k`-th number of all particles, tile by tile, in parallel: `f(tile, particles, numbers)`.
    pub(crate) fn change_by_tiles(
        &mut self,
        k: usize,
        f: impl Fn(&Tile<D>, &[Particle<D>], &mut dyn Iterator<Item = &mut Real>) + Sync + Send,
    ) {
        let (each, layout) = (self.carried.each, &self.layout);
        let tiles = self.tiles.par_iter().zip(self.carried.tiles.par_iter_mut()).enumerate();
        tiles.filter(|(_, (list, _))| !list.is_empty()).for_each(|(n, (list, values))| {
            f(&layout.tile(n), list, &mut values.iter_mut().skip(k).step_by(each));
        });
    }

    /// Every particle takes a part of the mean that [`Particles::mean_to_cells`] has found: `take(number, more)`. Needs the ghosts of `mean` along
    /// periodic axes.
    pub(crate) fn mix(
        &mut self,
        k: usize,
        part: Real,
        periodic: [bool; D],
        mean: &Field<D>,
        take: &(impl Fn(Real, Real) -> Real + Sync),
    ) {
        let each = self.carried.each;
        let layout = &self.layout;
        let tiles = self.tiles.par_iter().zip(self.carried.tiles.par_iter_mut()).enumerate();
        tiles.filter(|(_, (list, _))| !list.is_empty()).for_each_init(Patch::default, |patch, (n, (list, values))| {
            let tile = layout.tile(n);
            let limits = limits(layout, &tile, periodic);
            patch.copy(mean, &tile, 1, periodic);
            for (p, value) in list.iter().zip(values.iter_mut().skip(k).step_by(each)) {
                let around = patch.value(held(p.place, &limits));
                *value = take(*value, part * (around - *value));
            }
        });
    }

    /// Shows the visitor what particles carry; returns whether that suits `total` particles. Tiles must have theirs by then.
    pub(super) fn visit_carried(&mut self, visitor: &mut dyn StateVisitor, total: usize) -> bool {
        let mut columns: Vec<Vec<Real>> = (0..self.carries()).map(|k| self.carried(k).collect()).collect();
        columns.iter_mut().for_each(|values| visit_list(visitor, "carried", values));
        if columns.iter().any(|values| values.len() != total || values.iter().any(|v| !v.is_finite())) {
            return false;
        }
        let mut next = 0..total;
        for (list, values) in self.tiles.iter().zip(&mut self.carried.tiles) {
            values.clear();
            for i in next.by_ref().take(list.len()) {
                values.extend(columns.iter().map(|column| column[i]));
            }
        }
        true
    }
}

/// From a tile: the centres of the first and of the last cell that sides allow.
pub(super) fn limits<const D: usize>(layout: &Layout<D>, tile: &Tile<D>, periodic: [bool; D]) -> [[Real; 2]; D] {
    std::array::from_fn(|a| match periodic[a] {
        true => [Real::NEG_INFINITY, Real::INFINITY],
        false => {
            let ends = [layout.begin(a), layout.end(a) - 1];
            ends.map(|cell| cell.saturating_sub(tile.first[a]) as Real + 0.5)
        }
    })
}

/// A place no further out than the centres of the outermost cells.
#[inline(always)]
fn held<const D: usize>(place: [Real; D], limits: &[[Real; 2]; D]) -> [Real; D] {
    std::array::from_fn(|a| place[a].max(limits[a][0]).min(limits[a][1]))
}

/// Adds a value and its weight to the cells around a place.
fn add<const D: usize>(
    sums: &mut Window<'_, D>,
    weights: &mut Window<'_, D>,
    tile: &Tile<D>,
    place: [Real; D],
    value: Real,
) {
    let (mut first, mut way) = (tile.first, [0.0; D]);
    for a in 0..D {
        // Places begin at -1/2. One a rounding below the end of the tile must not be one behind it.
        let up = place[a] + 0.5;
        let i = (up as isize).min(tile.cells[a] as isize);
        way[a] = up - i as Real;
        first[a] += i - 1;
    }
    for r in 0..1usize << (D - 1) {
        let (mut index, mut w) = (first, 1.0);
        for b in 1..D {
            let upper = r >> (b - 1) & 1 == 1;
            index[b] += isize::from(upper);
            w *= if upper { way[b] } else { 1.0 - way[b] };
        }
        let pair = [w * (1.0 - way[0]), w * way[0]];
        let out = weights.row(index, 2);
        (out[0], out[1]) = (out[0] + pair[0], out[1] + pair[1]);
        let out = sums.row(index, 2);
        (out[0], out[1]) = (out[0] + pair[0] * value, out[1] + pair[1] * value);
    }
}

/// What [`Particles::mean_to_cells`] has found, continued by one cell: where no particle was heard of, the mean of the cells beside that have heard of
/// some. Forces on the surface then see what the liquid has, and not the air. Needs the ghosts of both.
pub(crate) fn continue_beyond<const D: usize>(mean: &Field<D>, weight: &Field<D>, out: &mut Field<D>) {
    out.par_rows(|row, out| {
        let (here, heard) = (mean.row(row), weight.row(row));
        out.copy_from_slice(here);
        if heard.iter().all(|w| *w > 0.0) {
            return;
        }
        let mut pads: [[Pad; 4]; D] = std::array::from_fn(|_| Default::default());
        let mut rest = pads.iter_mut();
        let beside: [[(&[Real], &[Real]); 2]; D] = std::array::from_fn(|a| {
            let [p, q, r, s] = rest.next().expect("pads for each axis");
            [(mean.down(row, a, p), weight.down(row, a, q)), (mean.up(row, a, r), weight.up(row, a, s))]
        });
        for x in (0..out.len()).filter(|&x| heard[x] <= 0.0) {
            let (mut sum, mut count) = (0.0, 0.0);
            for (mean, weight) in beside.as_flattened() {
                if weight[x] > 0.0 {
                    (sum, count) = (sum + mean[x], count + 1.0);
                }
            }
            if count > 0.0 {
                out[x] = sum / count;
            }
        }
    });
}

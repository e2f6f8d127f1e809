//! An unbounded grid: tiles are added ahead of the fluid and removed behind it.
//!
//! A cell is occupied if some substance differs from its ambient value by more than a threshold. Tiles exist wherever an
//! occupied cell, or a source, is within the buffer: as far as the fluid can get in the coming step, and a few cells of clean
//! air more. An empty tile stays for a while, as smoke that sways would have it built again and again.
//!
//! A liquid says itself where it is ([`Flow::follow_cells`]). Around it is air at rest without pressure, so nothing has to be known of
//! what lies beyond its tiles.

use crate::threads::prelude::*;

use super::far::Far;
use super::pressure::{Pressure, With};
use super::{Flow, velocity_ends};
use crate::Real;
use crate::field::{OutOfMemory, VectorField};
use crate::force::{Moment, Substance};
use crate::grid::{At, Grid};
use crate::layout::{Bounds, Layout, REACH, Row, tile_width};
use crate::ops::each;
use crate::sample::Isa;
use crate::sim::StepError;
use std::ops::Range;

/// An empty tile goes after this many steps.
const PATIENCE: u8 = 3;

/// A solid may have this many tiles, more than the fluid has.
const FEW: usize = 64;

/// What is known about the tiles.
pub(super) struct Following<const D: usize> {
    /// For how many steps each tile has been of no use, in the order of tiles.
    pub ages: Vec<u8>,
    /// What the fluid meets where they end; `None` if that is nothing.
    pub air: Option<Air<D>>,
}

/// The same fluid without end.
pub(super) struct Air<const D: usize> {
    /// Where the tiles end.
    pub edge: Edge<D>,
    /// What lies beyond.
    pub far: Far<D>,
}

impl<const D: usize> Air<D> {
    /// `None` in a box.
    fn around(layout: &Layout<D>, grid: &Grid<D>, isa: Isa) -> Result<Option<Self>, OutOfMemory> {
        let Some(edge) = Edge::of(layout) else { return Ok(None) };
        let far = Far::on(layout, grid, &edge, isa)?;
        Ok(Some(Air { edge, far }))
    }

    /// That of a flow which has some.
    pub fn of(following: &mut Option<Following<D>>) -> Option<&mut Self> {
        following.as_mut()?.air.as_mut()
    }
}

impl<const D: usize> Following<D> {
    /// `None` in a box.
    pub fn new(layout: &Layout<D>, grid: &Grid<D>, isa: Isa) -> Result<Option<Self>, OutOfMemory> {
        // The tile to begin with goes at once, if it is not where the fluid is.
        let air = Air::around(layout, grid, isa)?;
        Ok(air.map(|air| Following { ages: vec![PATIENCE], air: Some(air) }))
    }
}

impl<const D: usize> Flow<D> {
    /// Moves the tiles to where they are needed for a step of `dt` in which things move by up to `cfl` cells.
    pub(super) fn follow(&mut self, cfl: f64, dt: f64) -> Result<(), StepError> {
        if self.following.is_none() || self.has_surface {
            return Ok(());
        }
        let reach = cfl.min(1e4).ceil() as usize;
        let buffer = self.options.buffer.max(reach + 1) + self.diffuses_by(dt);
        let wanted = self.around_substances(buffer as isize, dt);
        let (coords, ages) = self.wanted_tiles(wanted);
        self.check_reach(&coords)?;
        // What new tiles hold depends on the reach, too, and must not depend on the step before.
        self.set_reach(reach);
        self.go_to(coords, ages)?;
        self.set_reach(reach);
        Ok(())
    }

    /// By how many cells substances diffuse in a step of `dt`: `exp(-x / sqrt(k dt))` is how an implicit step spreads, of which 2 % are left at four times
    /// that length. At most two tiles: what spreads faster is thin at once.
    fn diffuses_by(&self, dt: f64) -> usize {
        let fastest = self.substances.iter().map(|s| s.diffusion).fold(0.0, f64::max);
        let cells = 4.0 * (fastest * dt).sqrt() / self.grid.min_spacing();
        (cells.ceil() as usize).min(2 * tile_width::<D>())
    }

    /// Moves the tiles of a liquid to where it is and so many cells around. Does nothing in a box.
    pub(crate) fn follow_cells(
        &mut self,
        occupied: impl IntoIterator<Item = [Range<isize>; D]>,
        around: usize,
    ) -> Result<(), StepError> {
        if self.following.is_none() {
            return Ok(());
        }
        let mut wanted = Vec::new();
        occupied.into_iter().for_each(|cells| tiles_around(&cells, around as isize, &mut wanted));
        let (coords, ages) = self.wanted_tiles(wanted);
        self.check_reach(&coords)?;
        Ok(self.go_to(coords, ages)?)
    }

    /// Makes sure that there are tiles for some cells and so many around, besides those that there are; not where they could not be told
    /// apart. Does nothing in a box.
    pub(crate) fn make_room(
        &mut self,
        cells: impl IntoIterator<Item = [Range<isize>; D]>,
        around: usize,
    ) -> Result<(), OutOfMemory> {
        let Some(following) = &self.following else { return Ok(()) };
        let ages = following.ages.clone();
        let width = tile_width::<D>();
        let limit = REACH as isize * width as isize;
        let most = i32::MAX as f64 / (width as f64).powi(D as i32);
        let mut wanted = Vec::new();
        for cells in cells {
            let cells = cells.map(|r| r.start.max(around as isize - limit)..r.end.min(limit - around as isize));
            let tiles = cells.iter().map(|r| (r.len() + 2 * around) as f64 / width as f64).product::<f64>();
            if tiles + wanted.len() as f64 > most {
                let count = cells.map(|r| r.len()).to_vec();
                return Err(OutOfMemory { cells: count, bytes: usize::MAX });
            }
            if cells.iter().all(|r| !r.is_empty()) {
                tiles_around(&cells, around as isize, &mut wanted);
            }
        }
        let tiles = self.layout.as_tiles().expect("unbounded grids have tiles");
        let bounds = self.grid.tile_bounds();
        wanted.retain(|c| tiles.find(*c).is_none() && is_within(bounds, c));
        if wanted.is_empty() {
            return Ok(());
        }
        let all = Layout::tiles(tiles.coords().iter().copied().chain(wanted));
        let coords = all.as_tiles().expect("tiles").coords().to_vec();
        let ages = coords.iter().map(|&c| tiles.find(c).map_or(0, |t| ages[t])).collect();
        self.go_to(coords, ages)
    }

    fn set_reach(&mut self, cells: usize) {
        if let Some(Air { edge, far }) = Air::of(&mut self.following) {
            far.set_reach(&self.layout, &self.grid, edge, cells);
        }
    }

    /// Refuses tiles so far away that they could not be told apart.
    pub(super) fn check_reach(&self, coords: &[[i32; D]]) -> Result<(), StepError> {
        let width = tile_width::<D>() as isize;
        let within = |c: &&[i32; D]| c.iter().all(|&c| (-REACH..REACH).contains(&i64::from(c)));
        match coords.iter().find(|c| !within(c)) {
            None => Ok(()),
            Some(c) => Err(StepError::TooFar {
                cell: c.iter().map(|&c| c as isize * width).collect(),
                time: self.clock.time,
                limit: REACH as isize * width,
            }),
        }
    }

    /// Makes sure that there are tiles around a box of cells; for initial values.
    pub fn cover(&mut self, cells: [Range<isize>; D]) -> Result<(), OutOfMemory> {
        let Some(tiles) = self.layout.as_tiles() else { return Ok(()) };
        let mut coords = tiles.coords().to_vec();
        tiles_around(&cells, self.options.buffer as isize, &mut coords);
        // Those that stay empty go in the first step.
        let layout = Layout::tiles_within(coords, self.grid.tile_bounds());
        let coords = layout.as_tiles().expect("tiles").coords().to_vec();
        let ages = vec![PATIENCE; coords.len()];
        self.go_to(coords, ages)
    }

    fn go_to(&mut self, coords: Vec<[i32; D]>, ages: Vec<u8>) -> Result<(), OutOfMemory> {
        if self.layout.as_tiles().is_some_and(|old| old.coords() != coords) {
            self.move_to(coords)?;
            self.forces.iter_mut().try_for_each(|f| f.prepare(&self.grid, &self.layout))?;
        }
        if let Some(following) = &mut self.following {
            following.ages = ages;
        }
        Ok(())
    }

    /// The tiles within `buffer` cells of substances, sources, and solids that these reach.
    fn around_substances(&self, buffer: isize, dt: f64) -> Vec<[i32; D]> {
        let (layout, substances) = (&self.layout, &self.substances[..]);
        let parts = (0..layout.tile_count()).into_par_iter().map(|t| occupied_part(layout, substances, t));
        let occupied: Vec<_> = parts.collect();
        let mut wanted: Vec<[i32; D]> = Vec::new();
        occupied.into_iter().flatten().for_each(|cells| tiles_around(&cells, buffer, &mut wanted));
        let now = Moment::whole(self.clock.time, dt);
        for cells in self.sources.iter().filter_map(|s| s.cells(&self.grid, now)) {
            tiles_around(&cells, buffer, &mut wanted);
        }
        self.tiles_around_solids(buffer, &mut wanted);
        wanted
    }

    /// The tiles for the next step in the order of storage, and for how long each has been of no use.
    fn wanted_tiles(&self, mut wanted: Vec<[i32; D]>) -> (Vec<[i32; D]>, Vec<u8>) {
        let tiles = self.layout.as_tiles().expect("unbounded grids have tiles");
        // Of what is wanted, what lies behind a side does not count.
        let bounds = self.grid.tile_bounds();
        wanted.retain(|c| is_within(bounds, c));
        let wanted = Layout::tiles(if wanted.is_empty() { vec![tiles.coords()[0]] } else { wanted });
        let wanted = wanted.as_tiles().expect("tiles");
        let ages = self.following.as_ref().map_or(&[][..], |f| &f.ages);
        let age = |t: usize| ages.get(t).copied().unwrap_or(0);
        let kept = tiles.coords().iter().enumerate().filter(|&(t, &c)| wanted.find(c).is_none() && age(t) < PATIENCE);
        let all = Layout::tiles(wanted.coords().iter().copied().chain(kept.map(|(_, &c)| c)));
        let all = all.as_tiles().expect("tiles");
        let ages = all.coords().iter().map(|&c| match (wanted.find(c), tiles.find(c)) {
            (None, Some(t)) => age(t) + 1,
            _ => 0,
        });
        (all.coords().to_vec(), ages.collect())
    }

    /// Adds the tiles around solids that the others reach, as the air beyond the edge knows of no solids; but not around
    /// landscapes, which would take more tiles than the fluid.
    fn tiles_around_solids(&self, buffer: isize, wanted: &mut Vec<[i32; D]>) {
        let Some(solids) = self.solids() else { return };
        let fluid = wanted.len();
        for obstacle in solids.obstacles() {
            let Some((from, to)) = obstacle.shape.bounds(self.clock.time) else { continue };
            let cell =
                |x: f64, a: usize| ((x - self.grid.origin[a]) / self.grid.spacing[a]).clamp(-1e9, 1e9).floor() as isize;
            let cells = each(|a| cell(from[a] - obstacle.grow, a)..cell(to[a] + obstacle.grow, a) + 1);
            let mut around = Vec::new();
            let widths = (0..D).map(|a| (cells[a].end - cells[a].start) as f64 / tile_width::<D>() as f64 + 2.0);
            if widths.product::<f64>() > (fluid + FEW) as f64 {
                continue;
            }
            tiles_around(&cells, buffer + 2, &mut around);
            if around.iter().any(|c| wanted[..fluid].contains(c)) {
                wanted.append(&mut around);
            }
        }
    }

    /// Moves everything to another set of tiles: new ones hold clean air that moves as the flow in the others makes it.
    pub(super) fn move_to(&mut self, coords: Vec<[i32; D]>) -> Result<(), OutOfMemory> {
        let layout = Layout::tiles_within(coords, self.grid.tile_bounds());
        let outside = self.look_outside(&layout);
        for c in 0..D {
            self.velocity[c].relabel(At::Face(c), velocity_ends(&self.grid, &self.options, c));
            self.velocity[c].move_to(&layout, self.options.wind[c])?;
            self.before[c].move_to(&layout, self.options.wind[c])?;
        }
        self.pressure.move_to(&layout, 0.0)?;
        self.potential.reset_on(&layout)?;
        for s in &mut self.substances {
            s.field.move_to(&layout, s.ambient)?;
        }
        if let Some(texture) = &mut self.texture {
            texture.move_to(&layout)?;
        }
        self.scratch.reset_on(&layout)?;
        if let Some(swelling) = &mut self.swelling {
            swelling.move_to(&layout, 0.0)?;
        }
        let mut time = self.clock.time;
        if let Some(obstacles) = &mut self.obstacles {
            time = obstacles.time.unwrap_or(time);
            obstacles.move_to(&layout, &self.grid)?;
        }
        let with = With { solids: self.obstacles.is_some(), surface: self.has_surface };
        self.solver = Pressure::new(&self.grid, &layout, with, self.options.isa)?;
        if let Some(air) = Air::of(&mut self.following) {
            let Some(mut new) = Air::around(&layout, &self.grid, self.options.isa)? else {
                unreachable!("around tiles")
            };
            std::mem::swap(air, &mut new);
            air.far.take_over(new.far, &layout)?;
        }
        self.layout = layout;
        if let Some(outside) = outside {
            self.fill_fresh_tiles(&outside);
        }
        self.place_obstacles(time);
        self.books.enter(&self.grid, &self.substances, self.obstacles.as_ref(), |account| &mut account.tiles);
        Ok(())
    }

    /// Air that moves with the wind, everywhere.
    pub(super) fn fill_with_wind(&mut self) {
        for c in 0..D {
            for u in [&mut self.velocity[c], &mut self.before[c]] {
                u.fill(self.options.wind[c]);
                u.fill_halo();
            }
        }
        self.max_speed = self.options.wind.iter().fold(0.0, |m: f64, w| m.max(w.abs() as f64));
        self.fastest = self.max_speed / self.grid.spacing[0];
    }
}

/// Where a grid without bounds ends, as one bit for each place of a row, for each row.
pub(super) struct Edge<const D: usize> {
    /// Cells that lack a neighbour on some side. They belong to the open air, which says what their pressure is.
    pub cells: Vec<u64>,
    /// Faces with nothing below them, for each axis.
    pub last: [Vec<u64>; D],
    /// Faces across each axis that lie, with the two on either side of them, between cells that lack a neighbour.
    pub along: [Vec<u64>; D],
    /// Whether a row has such faces, or is within two cells of one that has, along the axis.
    pub near_along: [Vec<bool>; D],
}

impl<const D: usize> Edge<D> {
    /// `None` in a box.
    pub fn of(layout: &Layout<D>) -> Option<Self> {
        layout.as_tiles()?;
        let n = tile_width::<D>();
        let rows = || (0..layout.rows()).map(|r| layout.row(r));
        let missing = |row: Row<'_, D>, c: usize| match c {
            0 => !row.shifted(0, -(n as isize)).exists() as u64,
            _ => u64::from(!row.down(c).exists()) * all_cells(n),
        };
        let cells: Vec<u64> = rows().map(|row| outer_cells(row, n)).collect();
        let outer = |row: Row<'_, D>| match row.exists() && row.tile().is_some() {
            true => cells[layout.row_number(row)],
            false => 0,
        };
        let along = |row: Row<'_, D>, c: usize| {
            if c == 0 {
                let beside = |by: isize| u128::from(outer(row.shifted(0, by * n as isize)));
                let wide = beside(-1) | u128::from(outer(row)) << n | beside(1) << (2 * n);
                return (n - 3..n + 3).fold(all_cells(n), |bits, from| bits & (wide >> from) as u64);
            }
            let (below, above) = (row.down(c), row.up(c));
            let far = [below.down(c), below.down(c).down(c), above, above.up(c)];
            far.into_iter().fold(outer(row) & outer(below), |bits, row| bits & outer(row))
        };
        let along: [Vec<u64>; D] = each(|c| rows().map(|row| along(row, c)).collect());
        let near_along = |row: Row<'_, D>, c: usize| {
            let by = if c == 0 { [-(n as isize), 0, 0, n as isize] } else { [-2, -1, 1, 2] };
            let has = |row: Row<'_, D>| row.tile().is_some() && along[c][layout.row_number(row)] != 0;
            has(row) || by.into_iter().any(|by| has(row.shifted(c, by)))
        };
        Some(Edge {
            last: each(|c| rows().map(|row| missing(row, c)).collect()),
            near_along: each(|c| rows().map(|row| near_along(row, c)).collect()),
            along,
            cells,
        })
    }
}

impl<const D: usize> Edge<D> {
    /// Beyond the outermost cells there is nothing but wind.
    pub fn calm(&self, velocity: &mut VectorField<D>, wind: [Real; D]) {
        for c in 0..D {
            let layout = velocity[c].layout().clone();
            let u = &mut velocity[c];
            u.par_rows(|row, u| each_bit(self.last[c][layout.row_number(row)], |x| u[x] = wind[c]));
        }
    }
}

/// Whether no side stands before a tile.
fn is_within<const D: usize>(bounds: Bounds<D>, c: &[i32; D]) -> bool {
    (0..D).all(|a| bounds[a][0].is_none_or(|first| first <= c[a]) && bounds[a][1].is_none_or(|end| c[a] < end))
}

/// Adds the tiles within `buffer` cells of a box of cells.
fn tiles_around<const D: usize>(cells: &[Range<isize>; D], buffer: isize, out: &mut Vec<[i32; D]>) {
    let width = tile_width::<D>() as isize;
    let low = cells.each_ref().map(|r| (r.start - buffer).div_euclid(width));
    let high = cells.each_ref().map(|r| (r.end - 1 + buffer).div_euclid(width));
    let count: [isize; D] = each(|a| (high[a] - low[a] + 1).max(0));
    for n in 0..count.iter().product::<isize>() {
        let mut rest = n;
        out.push(each(|a| {
            let c = low[a] + rest % count[a];
            rest /= count[a];
            c as i32
        }));
    }
}

/// Calls `f` with the number of every bit that is set.
#[inline(always)]
pub(super) fn each_bit(mut bits: u64, mut f: impl FnMut(usize)) {
    while bits != 0 {
        f(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

fn all_cells(n: usize) -> u64 {
    (1 << n) - 1
}

/// One bit for each cell of a row: whether it has no neighbour on some side, or is not there at all.
fn outer_cells<const D: usize>(row: Row<'_, D>, n: usize) -> u64 {
    if row.exists() && row.tile().is_none() {
        // Behind a side: what is there is no air.
        return 0;
    }
    if !row.exists() || (1..D).any(|a| !row.up(a).exists() || !row.down(a).exists()) {
        return all_cells(n);
    }
    let first = !row.shifted(0, -(n as isize)).exists() as u64;
    let last = !row.shifted(0, n as isize).exists() as u64;
    first | last << (n - 1)
}

/// The smallest box of cells that holds all occupied cells of a tile.
fn occupied_part<const D: usize>(
    layout: &Layout<D>,
    substances: &[Substance<D>],
    t: usize,
) -> Option<[Range<isize>; D]> {
    let rows = layout.rows_per_part();
    let mut found: Option<[Range<isize>; D]> = None;
    for row in (t * rows..(t + 1) * rows).map(|r| layout.row(r)) {
        let occupied = |x: usize| substances.iter().any(|s| (s.field.row(row)[x] - s.ambient).abs() > s.threshold);
        let n = tile_width::<D>();
        let Some(first) = (0..n).find(|&x| occupied(x)) else { continue };
        let last = (0..n).rfind(|&x| occupied(x)).unwrap_or(first);
        let part: [Range<isize>; D] = std::array::from_fn(|a| match a {
            0 => row.index[0] + first as isize..row.index[0] + last as isize + 1,
            _ => row.index[a]..row.index[a] + 1,
        });
        found = Some(match found {
            None => part,
            Some(f) => std::array::from_fn(|a| f[a].start.min(part[a].start)..f[a].end.max(part[a].end)),
        });
    }
    found
}

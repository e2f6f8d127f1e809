//! A grid that follows the smoke: tiles appear ahead of it and vanish behind it.
//!
//! A cell is occupied if some substance differs from its ambient value by more than a threshold. Tiles exist wherever an
//! occupied cell, or a source, is within the buffer: as far as smoke can get in the coming step, and a few cells of clean air
//! more. An empty tile stays for a while, as smoke that sways would have it built again and again.

use std::time::Instant;

use rayon::prelude::*;

use super::pressure::Pressure;
use super::{Smoke, velocity_ends};
use crate::Real;
use crate::advect::MapScratch;
use crate::field::{Field, OutOfMemory};
use crate::force::Substance;
use crate::grid::{At, Axis};
use crate::layout::{Layout, Row, tile_width};
use crate::ops::each;

/// An empty tile goes after this many steps.
pub(super) const PATIENCE: u8 = 3;

/// For how many steps each tile has been of no use, in the order of tiles.
pub(super) type Ages = Vec<u8>;

impl<const D: usize> Smoke<D> {
    /// Makes everything ready for a step of `dt` in which smoke moves by up to `cfl` cells.
    pub(super) fn follow_the_smoke(&mut self, cfl: f64, dt: f64) {
        let start = Instant::now();
        if self.grid.axes[0] == Axis::Unbounded {
            let buffer = self.options.buffer.max(cfl.min(1e4).ceil() as usize + 1);
            let (coords, ages) = self.wanted_tiles(buffer as isize, dt);
            let old = self.layout.as_tiles().expect("unbounded grids have tiles");
            if coords != old.coords() {
                self.move_to(coords, ages).expect("memory for the tiles");
            } else {
                self.ages = ages;
            }
        }
        if self.scratch.is_none() {
            self.allocate().expect("memory for the working fields");
        }
        self.place_obstacles(self.clock.time);
        self.timings.follow += start.elapsed().as_secs_f64();
    }

    fn allocate(&mut self) -> Result<(), OutOfMemory> {
        self.scratch = Some(MapScratch::new(&self.layout, self.options.advection)?);
        if self.sources.iter().any(|s| s.swells()) {
            self.swelling = Some(Field::on(&self.layout, At::Center, self.grid.pressure_ends())?);
        }
        Ok(())
    }

    /// The tiles for the next step in the order of storage, and for how long each has been of no use.
    fn wanted_tiles(&self, buffer: isize, dt: f64) -> (Vec<[i32; D]>, Ages) {
        let tiles = self.layout.as_tiles().expect("unbounded grids have tiles");
        let width = tile_width::<D>() as isize;
        let (layout, substances) = (&self.layout, &self.substances[..]);
        let parts = (0..tiles.coords().len()).into_par_iter().map(|t| occupied_part(layout, substances, t));
        let occupied: Vec<_> = parts.collect();
        let mut wanted: Vec<[i32; D]> = Vec::new();
        let mut want_cells = |cells: [std::ops::Range<isize>; D]| {
            let low = cells.each_ref().map(|r| (r.start - buffer).div_euclid(width));
            let high = cells.each_ref().map(|r| (r.end - 1 + buffer).div_euclid(width));
            let count: [isize; D] = std::array::from_fn(|a| (high[a] - low[a] + 1).max(0));
            for n in 0..count.iter().product::<isize>() {
                let mut rest = n;
                wanted.push(std::array::from_fn(|a| {
                    let c = low[a] + rest % count[a];
                    rest /= count[a];
                    c as i32
                }));
            }
        };
        occupied.into_iter().flatten().for_each(&mut want_cells);
        for source in &self.sources {
            for time in [self.clock.time, self.clock.time + dt] {
                if let Some(cells) = source.cells(&self.grid, time) {
                    want_cells(cells);
                }
            }
        }
        let wanted = Layout::tiles(if wanted.is_empty() { vec![tiles.coords()[0]] } else { wanted });
        let wanted = wanted.as_tiles().expect("tiles");
        let age = |t: usize| self.ages.get(t).copied().unwrap_or(0);
        let kept = tiles.coords().iter().enumerate().filter(|&(t, &c)| wanted.find(c).is_none() && age(t) < PATIENCE);
        let all = Layout::tiles(wanted.coords().iter().copied().chain(kept.map(|(_, &c)| c)));
        let all = all.as_tiles().expect("tiles");
        let ages = all.coords().iter().map(|&c| match (wanted.find(c), tiles.find(c)) {
            (None, Some(t)) => age(t) + 1,
            _ => 0,
        });
        (all.coords().to_vec(), ages.collect())
    }

    /// Moves everything to another set of tiles: new ones hold clean air that moves with the wind.
    pub(super) fn move_to(&mut self, coords: Vec<[i32; D]>, ages: Ages) -> Result<(), OutOfMemory> {
        let layout = Layout::tiles(coords);
        for c in 0..D {
            self.velocity[c].relabel(At::Face(c), velocity_ends(&self.grid, &self.options, c));
            self.velocity[c].move_to(&layout, self.options.wind[c])?;
            self.velocity_before[c].move_to(&layout, self.options.wind[c])?;
        }
        self.pressure.move_to(&layout, 0.0)?;
        for s in &mut self.substances {
            s.field.move_to(&layout, s.ambient)?;
        }
        if let Some(texture) = &mut self.texture {
            texture.move_to(&layout)?;
        }
        if let Some(scratch) = &mut self.scratch {
            scratch.reset_on(&layout)?;
        }
        if let Some(swelling) = &mut self.swelling {
            swelling.reset_on(&layout)?;
        }
        if let Some(obstacles) = &mut self.obstacles {
            obstacles.move_to(&layout, &self.grid)?;
        }
        self.solver = Pressure::new(&self.grid, &layout, self.obstacles.is_some())?;
        self.edge = Edge::of(&layout);
        self.layout = layout;
        self.ages = ages;
        Ok(())
    }

    /// Faces between outermost cells, which no pressure drives, take the velocity of the wind in time, `du/dt = rate (wind -
    /// u)`; beyond them there is nothing but wind.
    pub(super) fn blow_at_the_edge(&mut self, dt: f64) {
        let Some(edge) = &self.edge else { return };
        let keep = libm::exp(-dt * self.options.wind_rate) as Real;
        for c in 0..D {
            let wind = self.options.wind[c];
            let layout = &self.layout;
            self.velocity[c].par_rows(|row, u| {
                let r = layout.row_number(row);
                each_bit(edge.slack[c][r], |x| u[x] = wind + keep * (u[x] - wind));
                each_bit(edge.last[c][r], |x| u[x] = wind);
            });
        }
    }
}

/// Where a grid without bounds ends, as one bit for each place of a row, for each row.
pub(super) struct Edge<const D: usize> {
    /// Cells that lack a neighbour on some side. They belong to the open air: their pressure is zero.
    pub cells: Vec<u64>,
    /// Faces between two such cells, for each axis.
    slack: [Vec<u64>; D],
    /// Faces with nothing below them, for each axis.
    last: [Vec<u64>; D],
}

impl<const D: usize> Edge<D> {
    /// `None` in a box.
    pub fn of(layout: &Layout<D>) -> Option<Self> {
        layout.as_tiles()?;
        let n = tile_width::<D>();
        let rows = || (0..layout.rows()).map(|r| layout.row(r));
        let below = |row: Row<'_, D>, c: usize| match c {
            0 => outer_cells(row, n) << 1 | outer_cells(row.shifted(0, -(n as isize)), n) >> (n - 1),
            _ => outer_cells(row.down(c), n),
        };
        let missing = |row: Row<'_, D>, c: usize| match c {
            0 => !row.shifted(0, -(n as isize)).exists() as u64,
            _ => u64::from(!row.down(c).exists()) * all_cells(n),
        };
        Some(Edge {
            cells: rows().map(|row| outer_cells(row, n)).collect(),
            slack: each(|c| rows().map(|row| outer_cells(row, n) & below(row, c)).collect()),
            last: each(|c| rows().map(|row| missing(row, c)).collect()),
        })
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
) -> Option<[std::ops::Range<isize>; D]> {
    let rows = layout.rows_per_part();
    let mut found: Option<[std::ops::Range<isize>; D]> = None;
    for row in (t * rows..(t + 1) * rows).map(|r| layout.row(r)) {
        let occupied = |x: usize| substances.iter().any(|s| (s.field.row(row)[x] - s.ambient).abs() > s.threshold);
        let n = tile_width::<D>();
        let Some(first) = (0..n).find(|&x| occupied(x)) else { continue };
        let last = (0..n).rfind(|&x| occupied(x)).unwrap_or(first);
        let part: [std::ops::Range<isize>; D] = std::array::from_fn(|a| match a {
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

//! Particles near the surface only (the narrow band of Ferstl, Ando, Wojtan, Westermann & Thuerey 2016): deep water needs none.
//!
//! Cells further from the surface than the band is wide are *deep*: full, and without particles. Their velocity lives on the grid and is advected
//! there; all other faces hear of theirs from particles. A step does besides:
//!
//! 1. Where particles move, deep water moves as well. Every part of a cell that particles would stand for is followed back along the flow, near the
//!    edge of what was deep: what comes out of deep cells rises, and will be particles. No volume appears or vanishes by that, as the flow keeps it.
//! 2. The surface lies around particles and deep water; what is far from it is deep from now on.
//! 3. When all is known, particles in deep cells go, and what has risen elsewhere becomes particles with the velocity of the grid.
//!
//! How many particles deep cells stand for is counted (`held`): what sinks less what rises. Where their number comes to differ from what so many
//! cells hold, some more or some fewer rise, until both agree: so the volume is kept as exactly as with particles everywhere.

use super::{Liquid, PER_AXIS};
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Side};
use crate::layout::{Layout, Row};
use crate::ops::lanes_sum;
use crate::particles::{BackTracer, Particle, Patch, cell_of, cells_of, jitter, lattice_point};
use crate::report::Stage;
use crate::rows;
use crate::sim::StateVisitor;
use crate::threads::prelude::*;
use crate::tiles::{Tile, for_each_tile};
use std::ops::Range;

/// No cell this close to an object, in cells, is deep: particles know better what happens there.
const FROM_OBJECTS: Real = 3.0;

/// And none this close to an open side, a spout or a source, in cells.
const FROM_SOURCES: isize = 3;

/// At most this part of what rises is left out or doubled so that the volume is kept.
const MENDED: usize = 8;

/// What is known of deep water.
pub(super) struct Band<const D: usize> {
    /// How far from the surface particles are kept, in cells.
    pub width: usize,
    /// 1 in cells that are full and hold no particles, 0 elsewhere.
    deep: Field<D>,
    /// Where deep water has gone to: 2 where all around was deep, 1 where it has come from deep cells.
    moved: Field<D>,
    /// Whether there is any of it.
    any_moved: bool,
    /// How many particles deep cells stand for.
    pub held: i64,
    /// By how many deep cells could hold more than that, after the last step.
    gained: i64,
    /// How many there were that sank, and that rose.
    pub sunk: u64,
    pub rose: u64,
    /// What was found of each tile, and what will be particles.
    found: Vec<Found<D>>,
    new: Vec<Part<D>>,
}

/// A part of a cell: the cell, and where in it a particle would be.
type Part<const D: usize> = ([isize; D], [Real; D]);

/// What has come of deep water in a tile.
#[derive(Default)]
struct Found<const D: usize> {
    /// What its cells are; nothing, if no deep water is near.
    cells: Vec<u8>,
    /// Cells near the edge, and a bit for each of their parts that has come from deep cells.
    risen: Vec<([isize; D], u8)>,
}

impl<const D: usize> Liquid<D> {
    /// Keeps particles only so many cells from the surface, 2 at least; `None` everywhere. Before there is any liquid, for one that particles track and
    /// that carries nothing.
    pub fn keep_band(&mut self, cells: Option<usize>) -> Result<(), OutOfMemory> {
        assert!(!self.is_on_grid() && self.carried.is_empty(), "particles that carry nothing");
        assert!(self.particles.is_empty() && self.by_level_set.is_none(), "before there is any liquid");
        self.flow.advects_on_grid(cells.is_some())?;
        let layout = self.flow.layout();
        let field = || Field::on(layout, At::Center, self.flow.grid.flat_ends(0.0));
        self.band = match cells {
            None => None,
            Some(width) => Some(Band {
                width: width.max(2),
                deep: field()?,
                moved: field()?,
                any_moved: false,
                held: 0,
                gained: 0,
                sunk: 0,
                rose: 0,
                found: Vec::new(),
                new: Vec::new(),
            }),
        };
        Ok(())
    }

    /// How many particles there are, and would be in deep water.
    pub(super) fn count(&self) -> u64 {
        (self.particles.len() as i64 + self.band.as_ref().map_or(0, |band| band.held)).max(0) as u64
    }

    /// The boxes of cells that liquid is in, on tiles.
    pub(super) fn occupied(&self) -> Vec<[Range<isize>; D]> {
        let mut all = self.particles.occupied();
        if let Some(band) = &self.band {
            let (layout, rows) = (band.deep.layout(), band.deep.layout().rows_per_part());
            for tile in (0..layout.tile_count()).map(|n| layout.tile(n)) {
                let any = |field: &Field<D>| {
                    let mut rows = tile.number * rows..(tile.number + 1) * rows;
                    rows.any(|r| field.row(layout.row(r)).iter().any(|v| *v > 0.0))
                };
                if any(&band.deep) || any(&band.moved) {
                    all.push(std::array::from_fn(|a| tile.first[a]..tile.first[a] + tile.cells[a] as isize));
                }
            }
        }
        all
    }

    /// Deep water goes along with the flow in the middle of the step, by up to `cfl` cells.
    pub(super) fn move_deep(&mut self, dt: f64, cfl: f64) {
        let timer = self.flow.timings.start();
        let periodic = self.periodic();
        let seed = self.flow.clock().steps;
        let Self { flow, band: Some(band), middle, .. } = self else { return };
        let layout = flow.layout().clone();
        let cells = (dt / flow.grid.spacing[0]) as Real;
        let margins = [cfl.ceil() as usize + 2, (0.5 * cfl).ceil() as usize + 2];
        let Band { deep, moved, found, any_moved, .. } = band;
        deep.fill_halo();
        found.resize_with(layout.tile_count(), Found::default);
        let deep = &*deep;
        found.par_iter_mut().enumerate().for_each_init(Edge::default, |edge, (number, found)| {
            edge.look(&layout.tile(number), (deep, middle, cells), margins, periodic, seed, found);
        });
        *any_moved = found.iter().any(|found| !found.cells.is_empty());
        for_each_tile([&mut *moved], |tile, [mut moved]| {
            let rows = found[tile.number].cells.chunks_exact(tile.cells[0]);
            tile.rows().for_each(|row| moved.row(row).fill(0.0));
            for (row, cells) in tile.rows().zip(rows) {
                moved.row(row).iter_mut().zip(cells).for_each(|(moved, cell)| *moved = Real::from(*cell));
            }
        });
        moved.fill_halo();
        self.flow.timings.stop(Stage::Advect, timer);
    }

    /// Deep water is liquid, wherever particles are.
    pub(super) fn wet_deep(&mut self) {
        let h = self.flow.grid.spacing[0] as Real;
        let Self { phi, band: Some(Band { moved, any_moved: true, .. }), .. } = self else { return };
        phi.par_rows(|row, phi| {
            for (phi, moved) in phi.iter_mut().zip(moved.row(row)) {
                *phi = if *moved > 0.0 { phi.min(-h) } else { *phi };
            }
        });
    }

    /// Says which cells are deep, after the surface has been found.
    pub(super) fn find_deep(&mut self, time: f64) {
        let grid = self.flow.grid;
        let mut dry: Vec<[Range<isize>; D]> = Vec::new();
        let around = |(low, high): ([f64; D], [f64; D])| {
            let cell = |x: f64, a: usize| ((x - grid.origin[a]) / grid.spacing[a]).clamp(-1e12, 1e12).floor() as isize;
            std::array::from_fn(|a| cell(low[a], a) - FROM_SOURCES..cell(high[a], a) + FROM_SOURCES + 1)
        };
        let everywhere = || std::array::from_fn(|_| isize::MIN..isize::MAX);
        for zone in &self.zones {
            dry.push(zone.shape.bounds(time).map_or_else(everywhere, around));
        }
        for a in 0..D {
            let sides = grid.axes[a].sides();
            for (upper, side) in sides.into_iter().flatten().enumerate() {
                if matches!(side, Side::Open | Side::Inflow { .. }) {
                    let mut cells = everywhere();
                    let n = grid.cells[a] as isize;
                    cells[a] = if upper == 1 { n - FROM_SOURCES..isize::MAX } else { isize::MIN..FROM_SOURCES };
                    dry.push(cells);
                }
            }
        }
        let Self { flow, phi, band: Some(band), .. } = self else { return };
        let solids = flow.solids();
        let h = grid.spacing[0] as Real;
        let deepest = -(band.width as Real) * h;
        band.deep.par_rows(|row, deep| {
            for (deep, phi) in deep.iter_mut().zip(phi.row(row)) {
                *deep = if *phi <= deepest { 1.0 } else { 0.0 };
            }
            if let Some(distances) = solids.map(|s| s.distances(row)) {
                for (deep, distance) in deep.iter_mut().zip(distances) {
                    *deep = if *distance < FROM_OBJECTS * h { 0.0 } else { *deep };
                }
            }
            for cells in dry.iter().filter(|cells| (1..D).all(|a| cells[a].contains(&row.index[a]))) {
                let n = deep.len() as isize;
                let within = |x: isize| x.saturating_sub(row.index[0]).clamp(0, n) as usize;
                deep[within(cells[0].start)..within(cells[0].end)].fill(0.0);
            }
        });
    }

    /// Joins what particles have told, in `apart`, with what the grid has carried along.
    pub(super) fn join_momentum(&mut self) {
        let Self { flow, apart, band: Some(Band { moved, .. }), .. } = self else { return };
        let velocities = flow.velocity.iter_mut().zip(&mut flow.before).zip(apart);
        for (a, ((u, weight), told)) in velocities.enumerate() {
            rows::for_each([&mut *u, &mut *weight], |row, [u, weight]| {
                let mut pad = Pad::default();
                let (low, high, told) = (moved.down(row, a, &mut pad), moved.row(row), told.row(row));
                let n = u.len();
                let (low, high, told, weight) = (&low[..n], &high[..n], &told[..n], &mut weight[..n]);
                for x in 0..n {
                    let deep = (low[x] > 0.0) | (high[x] > 0.0);
                    u[x] = if deep { u[x] } else { told[x] };
                    weight[x] = if deep { 1.0 } else { weight[x] };
                }
            });
            u.finish_end_faces();
        }
    }

    /// Particles in deep cells go; what has risen becomes particles.
    pub(super) fn exchange_deep(&mut self) {
        let timer = self.flow.timings.start();
        let periodic = self.periodic();
        let seed = self.flow.clock().steps;
        let Self { flow, band: Some(band), particles, .. } = self else { return };
        let parts = PER_AXIS.pow(D as u32);
        let layout = flow.layout().clone();
        let Band { deep, moved, found, new, held, gained, .. } = band;
        if *gained > 0 {
            // Foam is not as full as deep cells are taken to be: what is not full stays as it is until both agree again.
            for_each_tile([&mut *deep], |tile, [mut deep]| {
                let list = particles.of_tile(tile.number);
                if list.is_empty() {
                    return;
                }
                let mut counts = vec![0; tile.cells.iter().product()];
                list.iter().for_each(|p| counts[cell_of(p.place, tile.cells)] += 1);
                for (row, counts) in tile.rows().zip(counts.chunks_exact(tile.cells[0])) {
                    let mut cell: [isize; D] = std::array::from_fn(|a| tile.first[a] + row[a] as isize);
                    for (deep, count) in deep.row(row).iter_mut().zip(counts) {
                        if *deep > 0.0 && *count < parts && moved.get_signed(cell) == 0.0 {
                            *deep = 0.0;
                        }
                        cell[0] += 1;
                    }
                }
            });
        }
        let deep = &*deep;
        let sunk = particles.remove_where(deep);
        let free =
            |cell: [isize; D]| deep.get_signed(cell) == 0.0 && flow.solids().is_none_or(|s| s.distance_at(cell) > 0.0);
        new.clear();
        for (cell, risen) in found.iter().flat_map(|found| &found.risen).filter(|(cell, _)| free(*cell)) {
            let parts = (0..parts).filter(|k| risen >> k & 1 == 1);
            new.extend(parts.map(|k| (*cell, anywhere(*cell, k, seed))));
        }
        // What was deep all around and is so no more: an object or a source has come.
        let left = |row: Row<'_, D>| {
            let cells = moved.row(row).iter().zip(deep.row(row));
            cells.fold(false, |any, (moved, deep)| any | ((*moved == 2.0) & (*deep == 0.0)))
        };
        if rows::reduce(&layout, left, |a, b| a || b) {
            for tile in (0..layout.tile_count()).map(|n| layout.tile(n)) {
                for cell in cells_of(&tile).filter(|cell| moved.get_signed(*cell) == 2.0 && free(*cell)) {
                    new.extend((0..parts).map(|k| (cell, lattice_point(cell, k, PER_AXIS, seed))));
                }
            }
        }
        // As many as keep what deep cells stand for at what they can hold.
        let cells = |row: Row<'_, D>| deep.row(row).iter().filter(|d| **d > 0.0).count() as i64;
        let full = parts as i64 * rows::reduce(&layout, cells, |a, b| a + b);
        let too_many = full - (*held + sunk as i64 - new.len() as i64);
        let most = new.len() / MENDED;
        let change = too_many.unsigned_abs().min(most as u64) as usize;
        if let Some(every) = new.len().checked_div(change) {
            let chosen = |i: usize| i.is_multiple_of(every) && i / every < change;
            if too_many > 0 {
                let mut i = 0;
                new.retain(|_| {
                    i += 1;
                    !chosen(i - 1)
                });
            } else {
                for i in (0..new.len()).filter(|i| chosen(*i)) {
                    // Elsewhere in the same cell.
                    let (cell, place) = new[i];
                    new.push((cell, place.map(|x| (1.0 - x).min(0.999))));
                }
            }
        }
        *held += sunk as i64 - new.len() as i64;
        *gained = full - *held;
        (band.sunk, band.rose) = (band.sunk + sunk as u64, band.rose + new.len() as u64);
        let u = &flow.velocity;
        let mut patches: [Patch<D>; D] = std::array::from_fn(|_| Patch::default());
        let mut at = usize::MAX;
        particles.extend_with_slopes(new.iter().copied(), |tile, place| {
            if at != tile.number {
                at = tile.number;
                (0..D).for_each(|a| patches[a].copy(&u[a], tile, 1, periodic));
            }
            let of: [_; D] = std::array::from_fn(|a| patches[a].value_and_slope(place));
            (of.map(|(value, _)| value), of.map(|(_, slope)| slope))
        });
        self.flow.timings.stop(Stage::Follow, timer);
    }

    /// Counts deep cells as full in what particles have been counted to: as their particles would.
    pub(super) fn count_deep(band: &mut Option<Band<D>>, density: &mut Field<D>) {
        let Some(Band { deep, .. }) = band else { return };
        deep.fill_halo();
        let deep = &*deep;
        density.par_rows(|row, density| {
            for mut n in 0..3usize.pow(D as u32 - 1) {
                let (mut beside, mut weight) = (row, 1.0);
                for a in 1..D {
                    let by = (n % 3) as isize - 1;
                    n /= 3;
                    beside = if by == 0 { beside } else { beside.shifted(a, by) };
                    weight *= if by == 0 { 0.75 } else { 0.125 };
                }
                if !beside.exists() || deep.row(beside).iter().all(|d| *d == 0.0) {
                    continue;
                }
                let (mut low, mut high) = (Pad::default(), Pad::default());
                let (down, here, up) =
                    (deep.down(beside, 0, &mut low), deep.row(beside), deep.up(beside, 0, &mut high));
                for x in 0..density.len() {
                    density[x] += weight * (0.75 * here[x] + 0.125 * (down[x] + up[x]));
                }
            }
        });
    }

    /// Kinetic energy and momentum of deep cells, over density.
    pub(super) fn deep_energy_and_momentum(&self) -> (f64, [f64; D]) {
        let Some(Band { deep, .. }) = &self.band else { return (0.0, [0.0; D]) };
        let u = &self.flow.velocity;
        let of_row = |row: Row<'_, D>| {
            let (mut energy, mut momentum) = (0.0, [0.0; D]);
            let here = deep.row(row);
            if here.iter().all(|d| *d == 0.0) {
                return (energy, momentum);
            }
            for a in 0..D {
                let mut pad = Pad::default();
                let (low, high) = (&u[a].row(row)[..here.len()], &u[a].up(row, a, &mut pad)[..here.len()]);
                // What particles in the cell would see.
                let mean = |x: usize| 0.5 * f64::from(low[x] + high[x]);
                energy += 0.5 * lanes_sum(here.len(), |x| f64::from(here[x]) * mean(x) * mean(x));
                momentum[a] += lanes_sum(here.len(), |x| f64::from(here[x]) * mean(x));
            }
            (energy, momentum)
        };
        let add = |a: (f64, [f64; D]), b: (f64, [f64; D])| (a.0 + b.0, std::array::from_fn(|k| a.1[k] + b.1[k]));
        let (energy, momentum) = rows::reduce(deep.layout(), of_row, add);
        let volume = self.flow.grid.cell_volume();
        (energy * volume, momentum.map(|m| m * volume))
    }

    /// Calls `f(cell, place in it, velocity)` for the particles that deep cells stand for: whoever looks at particles sees the liquid full.
    pub(super) fn for_each_in_deep(&self, mut f: impl FnMut([isize; D], [Real; D], [Real; D])) {
        let Some(Band { deep, .. }) = &self.band else { return };
        let (layout, u) = (deep.layout(), &self.flow.velocity);
        for tile in (0..layout.tile_count()).map(|n| layout.tile(n)) {
            for cell in cells_of(&tile).filter(|cell| deep.get_signed(*cell) > 0.0) {
                let velocity = std::array::from_fn(|a| {
                    let mut next = cell;
                    next[a] += 1;
                    0.5 * (u[a].get_signed(cell) + u[a].get_signed(next))
                });
                for k in 0..PER_AXIS.pow(D as u32) {
                    f(cell, lattice_point(cell, k, PER_AXIS, 0), velocity);
                }
            }
        }
    }
}

impl<const D: usize> Band<D> {
    /// Goes over to other tiles.
    pub fn move_to(&mut self, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        self.deep.move_to(layout, 0.0)?;
        self.moved.move_to(layout, 0.0)?;
        self.deep.fill_halo();
        self.moved.fill_halo();
        Ok(())
    }

    /// Above zero where deep water has gone to in this step.
    pub fn moved(&self) -> &Field<D> {
        &self.moved
    }

    /// Whether there is deep water.
    pub fn any_deep(&self) -> bool {
        rows::reduce(self.deep.layout(), |row| self.deep.row(row).iter().any(|d| *d > 0.0), |a, b| a || b)
    }

    /// Whether some deep water has moved in this step.
    pub fn has_moved(&self) -> bool {
        self.any_moved
    }

    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        let mut held = self.held as u64;
        visitor.integer("held_particles", &mut held);
        self.held = held as i64;
        let mut gained = self.gained as u64;
        visitor.integer("gained_particles", &mut gained);
        self.gained = gained as i64;
        visitor.integer("sunk_particles", &mut self.sunk);
        visitor.integer("risen_particles", &mut self.rose);
        crate::flow::show(visitor, "deep", &mut self.deep);
    }
}

/// Room to look at the edge of deep water in a tile.
#[derive(Default)]
struct Edge<const D: usize> {
    deep: Patch<D>,
    tracer: BackTracer<D>,
    /// Of each cell of the patch, what there is around it as far as the flow reaches; and no further than a cell away.
    near: Vec<u8>,
    beside: Vec<u8>,
    from: Vec<u8>,
    points: Vec<Particle<D>>,
    /// Cells of the tile, by their numbers, that deep and other water is near.
    edge: Vec<u32>,
    /// Those of them of which some parts may come from deep cells, and others not: all come from no further than a cell from where the centre does, half
    /// of that for what the flow stretches.
    mixed: Vec<u32>,
}

/// A place in the `k`-th part of a cell, any of which is as likely as all others: what flows out of deep water slowly must be met as often as it is there.
/// (Places that keep away from the sides of cells missed it, and pools drained into nowhere.)
fn anywhere<const D: usize>(cell: [isize; D], k: usize, seed: u64) -> [Real; D] {
    let random: [Real; D] = jitter(cell.into_iter().chain([k as isize]), seed);
    std::array::from_fn(|a| ((k / PER_AXIS.pow(a as u32) % PER_AXIS) as Real + 0.5 + random[a]) / PER_AXIS as Real)
}

/// There is deep water, and there is other.
const DEEP: u8 = 1;
const OTHER: u8 = 2;

impl<const D: usize> Edge<D> {
    /// Finds what of a tile has come from deep cells.
    fn look(
        &mut self,
        tile: &Tile<D>,
        (deep, middle, cells): (&Field<D>, &VectorField<D>, Real),
        [far, near]: [usize; 2],
        periodic: [bool; D],
        seed: u64,
        Found { cells: out, risen }: &mut Found<D>,
    ) {
        out.clear();
        risen.clear();
        self.deep.copy(deep, tile, far, periodic);
        if self.deep.values().iter().all(|d| *d == 0.0) {
            return;
        }
        out.resize(tile.cells.iter().product(), 0);
        if self.deep.values().iter().all(|d| *d > 0.0) {
            return out.fill(2);
        }
        self.near.clear();
        self.near.extend(self.deep.values().iter().map(|d| if *d > 0.0 { DEEP } else { OTHER }));
        let sizes = tile.cells.map(|n| n + 2 * far);
        self.spread(sizes, 1);
        // Where the parts of a cell come from, once it is known where its centre does.
        self.beside.clone_from(&self.near);
        self.tracer.enter(middle, tile, near, periodic);
        // As far as something in or around this tile goes.
        let reach = ((cells * self.tracer.fastest()).ceil() as usize).clamp(1, far);
        self.spread(sizes, reach - 1);
        let point = |place: [Real; D]| Particle { place, velocity: [0.0; D], slope: [[0.0; D]; D], id: 0 };
        // Of a cell of the tile by its number, and of one of the patch by its coordinates.
        let local = |mut n: usize| -> [usize; D] {
            std::array::from_fn(|a| {
                let i = n % tile.cells[a];
                n /= tile.cells[a];
                i
            })
        };
        let at = |cell: [usize; D]| (0..D).rev().fold(0, |n, a| n * sizes[a] + cell[a]);
        self.points.clear();
        self.edge.clear();
        let width = tile.cells[0];
        for (r, out) in out.chunks_exact_mut(width).enumerate() {
            let first = at(local(r * width).map(|i| i + far));
            for (x, (out, near)) in out.iter_mut().zip(&self.near[first..]).enumerate() {
                match *near {
                    OTHER => {}
                    DEEP => *out = 2,
                    _ => {
                        let n = r * width + x;
                        self.edge.push(n as u32);
                        self.points.push(point(local(n).map(|i| i as Real + 0.5)));
                    }
                }
            }
        }
        self.tracer.back(cells, &mut self.points);
        let last = sizes.map(|n| (n - 1) as Real);
        let from = |point: &Particle<D>| {
            at(std::array::from_fn(|a| (point.place[a] + far as Real).max(0.0).min(last[a]) as usize))
        };
        let deep = self.deep.values();
        let cell_of = |n: usize| -> [isize; D] {
            let local = local(n);
            std::array::from_fn(|a| tile.first[a] + local[a] as isize)
        };
        let parts = PER_AXIS.pow(D as u32);
        self.mixed.clear();
        for (&n, centre) in self.edge.iter().zip(&self.points) {
            let from = from(centre);
            out[n as usize] = u8::from(deep[from] > 0.0);
            match self.beside[from] {
                OTHER => {}
                DEEP => risen.push((cell_of(n as usize), (1u16 << parts).wrapping_sub(1) as u8)),
                _ => self.mixed.push(n),
            }
        }
        self.points.clear();
        for &n in &self.mixed {
            let (cell, first) = (cell_of(n as usize), local(n as usize));
            self.points.extend((0..parts).map(|k| {
                let within = anywhere(cell, k, seed);
                point(std::array::from_fn(|a| first[a] as Real + within[a]))
            }));
        }
        self.tracer.back(cells, &mut self.points);
        for (&n, points) in self.mixed.iter().zip(self.points.chunks_exact(parts)) {
            let was_deep = |point: &Particle<D>| u8::from(deep[from(point)] > 0.0);
            let bits = points.iter().enumerate().fold(0, |bits, (k, point)| bits | was_deep(point) << k);
            if bits != 0 {
                risen.push((cell_of(n as usize), bits));
            }
        }
    }

    /// Lets cells know of those up to so many cells away along each axis.
    fn spread(&mut self, sizes: [usize; D], reach: usize) {
        let mut stride = 1;
        for n in sizes {
            self.from.clear();
            self.from.extend_from_slice(&self.near);
            for by in 1..=reach.min(n - 1) {
                let on = by * stride;
                for (out, from) in self.near.chunks_exact_mut(stride * n).zip(self.from.chunks_exact(stride * n)) {
                    let len = out.len() - on;
                    out[..len].iter_mut().zip(&from[on..]).for_each(|(out, from)| *out |= from);
                    out[on..].iter_mut().zip(&from[..len]).for_each(|(out, from)| *out |= from);
                }
            }
            stride *= n;
        }
    }
}

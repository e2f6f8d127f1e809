//! What is known about the solids at one time.

use crate::threads::prelude::*;
use smallvec::SmallVec;

use super::border::BorderCell;
use super::fraction::{open_fraction, open_volume};
use super::ghost::{Ghost, face_nodes};
use super::place::{Block, CellBox, Placed, place};
use super::{BAND, Boundary, Made, PINHOLE, Solids, cell_of, cell_size, corner, position};
use crate::field::{Field, Pad, VectorField};
use crate::grid::{At, Grid};
use crate::layout::{HALO, Row};
use crate::ops::{above, each};
use crate::{Real, rows};

/// Cells that are looked at together.
pub(super) const BLOCK: usize = 8;

/// Distances below this, in cells, are rounding.
const ON_SURFACE: f64 = 1e-5;

/// What an update did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed<const D: usize> {
    /// Where anything may have changed; empty if nothing did.
    pub boxes: SmallVec<[CellBox<D>; 4]>,
}

impl<const D: usize> Changed<D> {
    /// Whether anything may have changed.
    pub fn anything(&self) -> bool {
        !self.boxes.is_empty()
    }

    fn touches(&self, cells: &CellBox<D>) -> bool {
        self.boxes.iter().any(|b| b.meets(cells))
    }

    /// Finishes a field of which only cells in the boxes were written: what lies on the far ends, and the ghosts, if any
    /// of it may have changed.
    fn finish(&self, field: &mut Field<D>, last: impl Fn([isize; D]) -> Option<Real>) {
        if field.layout().as_tiles().is_some() {
            field.set_last(last);
            return field.fill_halo();
        }
        let inner = CellBox { lo: [HALO as isize; D], hi: field.cells().map(|n| n as isize - HALO as isize) };
        if self.boxes.iter().all(|b| (0..D).all(|a| inner.lo[a] <= b.lo[a] && b.hi[a] <= inner.hi[a])) {
            field.ghosts_filled = true;
        } else {
            field.set_last(last);
            field.fill_halo();
        }
    }

    /// Whether anything along a row may have changed.
    pub fn touches_row(&self, row: Row<'_, D>, len: usize) -> bool {
        self.touches(&CellBox::of_row(row, 0, len))
    }

    /// Calls `f(values of a block, its first cell, block)` for the blocks of a row of values where anything may have
    /// changed. A row that is not near a solid is set to the value that it has there.
    fn write(
        &self,
        (row, values): (Row<'_, D>, &mut [Real]),
        near: impl Fn(Row<'_, D>) -> bool,
        far: Real,
        mut f: impl FnMut(&mut [Real], usize, CellBox<D>),
    ) {
        let len = values.len();
        if self.touches_row(row, len) && !near(row) {
            values.fill(far);
        } else {
            self.for_each_block(row, len, |x, block| f(&mut values[x..(x + BLOCK).min(len)], x, block));
        }
    }

    /// Calls `f(first cell, block)` for the blocks of a row where anything may have changed.
    fn for_each_block(&self, row: Row<'_, D>, len: usize, mut f: impl FnMut(usize, CellBox<D>)) {
        if !self.touches_row(row, len) {
            return;
        }
        for x in (0..len).step_by(BLOCK) {
            let block = CellBox::of_row(row, x, BLOCK.min(len - x));
            if self.touches(&block) {
                f(x, block);
            }
        }
    }
}

impl<const D: usize> Solids<D> {
    /// Puts all obstacles where they are at time `t`. Computes only what moving obstacles left or reached since the last
    /// update, and nothing if none of them moves and the grid is the same.
    pub fn update(&mut self, grid: &Grid<D>, t: f64) -> Changed<D> {
        let Solids {
            obstacles,
            boundary,
            made,
            anew,
            phi,
            distance,
            volume,
            open,
            velocity,
            near_rows,
            ghosts,
            border,
            max_speed,
            leaving: _,
        } = self;
        obstacles.iter_mut().for_each(|o| o.shape.prepare(t));
        let placed = place(obstacles, grid, t);
        let places: SmallVec<_> = placed.iter().map(|p| (p.cells, p.number)).collect();
        let changed = match made.as_ref().filter(|made| made.grid == *grid) {
            None => Changed { boxes: [CellBox::EVERYTHING].into_iter().collect() },
            Some(made) => {
                let changes = |number: usize| obstacles[number].shape.changes(made.t, t);
                let moving = made.places.iter().chain(&places).filter(|(_, number)| changes(*number));
                Changed { boxes: moving.map(|(cells, _)| *cells).chain(anew.iter().copied()).collect() }
            }
        };
        *made = Some(Made { grid: *grid, t, places });
        anew.clear();
        if !changed.anything() {
            return changed;
        }
        let now = Now { grid, t, placed: &placed, changed: &changed };

        now.distances(phi, distance);
        let layout = phi.layout().clone();
        let len = layout.cells()[0];
        let band = (BAND * cell_size(grid)) as Real;
        near_rows.par_iter_mut().enumerate().for_each(|(r, near)| {
            if changed.touches_row(layout.row(r), len) {
                *near = distance.row(layout.row(r)).iter().any(|&d| d < band);
            }
        });
        let near = |row: Row<'_, D>| near_rows[layout.row_number(row)];
        for a in 0..D {
            match boundary {
                Boundary::CutCells => now.cut_faces(a, phi, near, &mut open[a]),
                Boundary::Cells => now.cell_faces(a, distance, near, &mut open[a]),
            }
            now.face_velocities(a, &open[a], near, &mut velocity[a]);
        }
        now.volumes(phi, open, *boundary, near, volume);
        *max_speed = velocity.iter().map(|u| max_abs_where(u, near) as f64).fold(0.0, f64::max);
        let (phi, distance, open) = (&*phi, &*distance, &*open);
        ghosts.par_iter_mut().zip(border).zip(&*near_rows).enumerate().for_each(|(r, ((ghosts, border), near))| {
            let row = layout.row(r);
            if changed.touches_row(row, len) {
                ghosts.clear();
                border.clear();
                if *near {
                    Ghost::collect(&now, row, phi, distance, open, ghosts);
                }
                if *near && *boundary == Boundary::Cells {
                    BorderCell::collect(&now, row, phi, border);
                }
            }
        });
        changed
    }
}

/// A distance as it is kept: surfaces along faces shall close them all, not those that rounding chooses.
fn cut<const D: usize>(grid: &Grid<D>, d: f64) -> Real {
    let (band, on_surface) = (BAND * cell_size(grid), ON_SURFACE * cell_size(grid));
    if d.abs() < on_surface { 0.0 } else { d.clamp(-band, band) as Real }
}

/// The largest absolute value in some rows.
fn max_abs_where<const D: usize>(field: &Field<D>, rows: impl Fn(Row<'_, D>) -> bool + Sync) -> Real {
    let of_row = |row: Row<'_, D>| {
        let values = if rows(row) { field.row(row) } else { &[] };
        values.iter().fold(0, |m, v| m.max(v.abs().to_bits()))
    };
    Real::from_bits(rows::reduce(field.layout(), of_row, u32::max))
}

/// The obstacles at the time of an update.
pub(super) struct Now<'a, const D: usize> {
    pub grid: &'a Grid<D>,
    pub t: f64,
    placed: &'a [Placed<'a, D>],
    changed: &'a Changed<D>,
}

impl<'a, const D: usize> Now<'a, D> {
    /// Which obstacle has a point, if any is near, that is known to be in a block.
    pub fn owner(&self, block: &Block<'a, D>, x: [f64; D]) -> Option<&'a Placed<'a, D>> {
        match block {
            Block::Far => None,
            Block::Inside(p) => Some(p),
            // The look at the distance can be saved if there is no choice.
            Block::Near(near) if near.placed.len() == 1 => Some(near.placed[0]),
            Block::Near(near) => Some(near.nearest(x, self.t).1),
        }
    }

    /// The obstacles near the block that holds cell `x` of a row.
    pub fn look_around(&self, row: Row<'_, D>, x: usize) -> Block<'a, D> {
        let first = x / BLOCK * BLOCK;
        Block::look(self.placed, &CellBox::of_row(row, first, BLOCK), self.grid, self.t)
    }

    /// The distance at a node near a row, which may belong to a tile that is not there.
    fn node(&self, phi: &Field<D>, row: Row<'_, D>, node: [isize; D]) -> Real {
        if let Some(at) = phi.layout().offset_near(row, node) {
            return phi.data[at];
        }
        let Now { grid, t, placed, .. } = *self;
        let around = CellBox { lo: node.map(|i| i - 1), hi: node.map(|i| i + 1) };
        cut(grid, Block::look(placed, &around, grid, t).distance(corner(grid, node), grid, t))
    }

    /// Distances at nodes and centres.
    fn distances(&self, phi: &mut Field<D>, distance: &mut Field<D>) {
        let Now { grid, t, placed, changed } = *self;
        let band = BAND * cell_size(grid);
        let cut = |d: f64| cut(grid, d);
        rows::for_each([&mut *phi, &mut *distance], |row, [phi, distance]| {
            changed.for_each_block(row, phi.len(), |first, block| {
                let range = first..(first + BLOCK).min(phi.len());
                let far = match Block::look(placed, &block, grid, t) {
                    Block::Far => cut(band),
                    Block::Inside(_) => cut(-band),
                    Block::Near(near) => {
                        for x in range {
                            let index = cell_of(row, x);
                            phi[x] = cut(near.nearest(corner(grid, index), t).0);
                            distance[x] = cut(near.nearest(position(grid, At::Center, index), t).0);
                        }
                        return;
                    }
                };
                phi[range.clone()].fill(far);
                distance[range].fill(far);
            });
        });
        changed.finish(phi, |node| {
            let around = CellBox { lo: node.map(|i| i - 1), hi: node.map(|i| i + 1) };
            let distance = || Block::look(placed, &around, grid, t).distance(corner(grid, node), grid, t);
            changed.touches(&around).then(|| cut(distance()))
        });
        changed.finish(distance, |_| None);
    }

    /// Open parts of the faces across axis `a`, from the distances at their corners.
    fn cut_faces(&self, a: usize, phi: &Field<D>, near: impl Fn(Row<'_, D>) -> bool + Sync, open: &mut Field<D>) {
        let fraction = |corners: &[Real]| {
            let open = open_fraction(corners);
            if open < PINHOLE { 0.0 } else { open }
        };
        let corners = 1 << (D - 1);
        open.par_rows(|row, open| {
            self.changed.write((row, open), &near, 1.0, |open, first, _| {
                for x in 0..open.len() {
                    let nodes = face_nodes(cell_of(row, first + x), a);
                    let values: [Real; 4] = each(|i| if i < corners { self.node(phi, row, nodes[i]) } else { 0.0 });
                    open[x] = fraction(&values[..corners]);
                }
            });
        });
        self.changed.finish(open, |face| {
            self.changed.touches(&CellBox { lo: face.map(|i| i - 1), hi: face.map(|i| i + 1) }).then(|| {
                let nodes = face_nodes(face, a);
                let values: [Real; 4] = each(|i| if i < corners { phi.get_signed(nodes[i]) } else { 0.0 });
                fraction(&values[..corners])
            })
        });
    }

    /// The part of each cell that is fluid; nothing of a cell without an open face.
    fn volumes(
        &self,
        phi: &Field<D>,
        open: &VectorField<D>,
        boundary: Boundary,
        near: impl Fn(Row<'_, D>) -> bool + Sync,
        volume: &mut Field<D>,
    ) {
        volume.par_rows(|row, volume| {
            let mut pad = Pad::default();
            let (here, next): ([_; D], _) = (each(|a| open[a].row(row)), above(open, row, &mut pad));
            self.changed.write((row, volume), &near, 1.0, |volume, first, _| {
                for x in 0..volume.len() {
                    let faces: [Real; D] = each(|a| here[a][first + x] + next[a][first + x]);
                    let total: Real = faces.iter().sum();
                    volume[x] = if total == 0.0 {
                        0.0
                    } else if total == 2.0 * D as Real || boundary == Boundary::Cells {
                        1.0
                    } else {
                        let corner = cell_of(row, first + x);
                        open_volume::<D>(|node| self.node(phi, row, each(|a| corner[a] + node[a])))
                    };
                }
            });
        });
        self.changed.finish(volume, |_| None);
    }

    /// A face is open if the centres of both its cells are outside.
    fn cell_faces(&self, a: usize, distance: &Field<D>, near: impl Fn(Row<'_, D>) -> bool + Sync, open: &mut Field<D>) {
        let fraction = |low: Real, high: Real| if low <= 0.0 || high <= 0.0 { 0.0 } else { 1.0 };
        open.par_rows(|row, open| {
            self.changed.write((row, open), &near, 1.0, |open, first, _| {
                let mut pad = Pad::default();
                let (low, high) = (&distance.down(row, a, &mut pad)[first..], &distance.row(row)[first..]);
                for x in 0..open.len() {
                    open[x] = fraction(low[x], high[x]);
                }
            });
        });
        self.changed.finish(open, |high| {
            let mut low = high;
            low[a] -= 1;
            Some(fraction(distance.get_signed(low), distance.get_signed(high)))
        });
    }

    /// Velocities of solids on the faces across axis `a` that are not wide open.
    fn face_velocities(
        &self,
        a: usize,
        open: &Field<D>,
        near: impl Fn(Row<'_, D>) -> bool + Sync,
        velocity: &mut Field<D>,
    ) {
        let Now { grid, t, placed, changed } = *self;
        let at = |block: &Block<'a, D>, index: [isize; D]| {
            let x = position(grid, At::Face(a), index);
            self.owner(block, x).map_or(0.0, |p| p.velocity(x, t)[a] as Real)
        };
        velocity.par_rows(|row, velocity| {
            changed.write((row, velocity), &near, 0.0, |velocity, first, block| {
                let open = &open.row(row)[first..first + velocity.len()];
                velocity.fill(0.0);
                if open.iter().any(|&open| open < 1.0) {
                    let block = Block::look(placed, &block, grid, t);
                    for (x, (velocity, open)) in velocity.iter_mut().zip(open).enumerate() {
                        if *open < 1.0 {
                            *velocity = at(&block, cell_of(row, first + x));
                        }
                    }
                }
            });
        });
        changed.finish(velocity, |face| {
            let around = CellBox { lo: face.map(|i| i - 1), hi: face.map(|i| i + 1) };
            changed.touches(&around).then(|| {
                if open.get_signed(face) < 1.0 { at(&Block::look(placed, &around, grid, t), face) } else { 0.0 }
            })
        });
    }
}

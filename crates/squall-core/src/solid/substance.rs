//! Smoke near solids.
//!
//! Between two steps, cells inside of solids hold the ambient value, so that sums over the box count what is outside
//! alone. While a substance is transported, they hold what is outside next to them ([`Solids::fill_inside`]).
//!
//! A moving solid pushes the fluid in front of it, and that takes the smoke along. What a long time step leaves of it in
//! the way is pushed out by [`Solids::push_out`]: the motion is followed in parts of half a cell, and in each part the
//! content of covered cells moves straight up to the nearest cell outside. Nothing is lost and nothing slips through, however
//! thin and fast the solid is.

use rayon::prelude::*;

use super::ghost::{direction, unit};
use super::place::{Block, CellBox, Near, Placed, place};
use super::update::BLOCK;
use super::{Obstacle, Solids, cell_of, cell_size, position};
use crate::Real;
use crate::field::Field;
use crate::grid::{At, Axis, Grid};
use crate::layout::{Layout, Row};
use crate::ops::each;

/// How far a solid may move in one part of its motion, in cells. A solid of one and a half cells then never jumps over
/// the centre of a cell, and what it covers is always nearer to its front than to its back.
const PART: f64 = 0.5;

/// A motion is followed in so many parts at most.
const MOST_PARTS: f64 = 256.0;

/// How many places further and further out are tried.
const TRIES: usize = 12;

/// What [`Solids::push_out`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// How often the content of a cell was moved.
    pub moved: usize,
    /// How often there was no place to go: squeezed between solids. It stays where it is.
    pub stuck: usize,
}

impl<const D: usize> Solids<D> {
    /// Sets solid cells to the ambient value.
    pub fn clear_inside(&self, substance: &mut Field<D>, ambient: Real) {
        substance.par_rows(|row, values| {
            if self.is_near(row) {
                self.for_each_solid_cell(row, |x| values[x] = ambient);
            }
        });
    }

    /// The sum over all solid cells of what differs from the ambient value.
    pub fn sum_inside(&self, substance: &Field<D>, ambient: Real) -> f64 {
        let of_row = |row: Row<'_, D>| {
            let (values, mut sum) = (substance.row(row), 0.0);
            if self.is_near(row) {
                self.for_each_solid_cell(row, |x| sum += (values[x] - ambient) as f64);
            }
            sum
        };
        crate::rows::reduce(substance.layout(), of_row, |a, b| a + b)
    }

    /// Moves what obstacles run over between two times to the cells in front of them, and leaves covered cells with the
    /// ambient value. The sum over all cells stays the same. Substances come with their ambient values.
    pub fn push_out(&self, grid: &Grid<D>, [from, to]: [f64; 2], substances: &mut [(&mut Field<D>, Real)]) -> Pushed {
        let mut pushed = Pushed::default();
        if substances.is_empty() || !self.obstacles.iter().any(|o| o.shape.moves()) {
            return pushed;
        }
        let way = self.farthest_way(grid, from, to) / grid.min_spacing();
        let parts = (way / PART).ceil().clamp(1.0, MOST_PARTS);
        for part in 1..=parts as usize {
            let t = from + (to - from) * (part as f64 / parts);
            let placed = place(&self.obstacles, grid, t);
            for (from, to) in covered(grid, &placed, t, substances) {
                let Some(to) = to else {
                    pushed.stuck += 1;
                    continue;
                };
                pushed.moved += 1;
                for (field, ambient) in substances.iter_mut() {
                    let excess = field.get_signed(from) - *ambient;
                    field.set_signed(to, field.get_signed(to) + excess);
                    field.set_signed(from, *ambient);
                }
            }
        }
        pushed
    }

    /// How far any point of a moving obstacle gets along one axis, in metres: estimated from its bounds and its speeds.
    fn farthest_way(&self, grid: &Grid<D>, from: f64, to: f64) -> f64 {
        let mut way = self.max_speed * (to - from).abs();
        for Obstacle { shape, .. } in self.obstacles.iter().filter(|o| o.shape.moves()) {
            let (Some(old), Some(new)) = (shape.bounds(from), shape.bounds(to)) else { continue };
            for a in 0..D {
                way = way.max((new.0[a] - old.0[a]).abs()).max((new.1[a] - old.1[a]).abs());
            }
            // The speed of parts that are not in the grid yet, or no longer.
            for (lo, hi, t) in [(old.0, old.1, from), (new.0, new.1, to)] {
                for corner in 0..1usize << D {
                    let x: [f64; D] = each(|a| if (corner >> a) & 1 == 1 { hi[a] } else { lo[a] });
                    let fastest = shape.velocity(x, t).iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                    // A rotating box has faster corners than the shape in it: no more than the size of the grid.
                    way = way.max((fastest * (to - from).abs()).min(grid.size().iter().copied().fold(0.0, f64::max)));
                }
            }
        }
        way
    }
}

/// The cells with content and their centre inside of a solid, and where the content can go, in the order of rows.
fn covered<const D: usize>(
    grid: &Grid<D>,
    placed: &[Placed<D>],
    t: f64,
    substances: &[(&mut Field<D>, Real)],
) -> Vec<([isize; D], Option<[isize; D]>)> {
    let layout: Layout<D> = substances[0].0.layout().clone();
    let nx = layout.cells()[0];
    let moving: Vec<CellBox<D>> = placed.iter().filter(|p| p.obstacle.shape.moves()).map(|p| p.cells).collect();
    let of_row = |r: usize| {
        let row = layout.row(r);
        let mut found = Vec::new();
        let reached = |cells: CellBox<D>| moving.iter().any(|m| m.meets(&cells));
        if !reached(CellBox::of_row(row, 0, nx)) {
            return found;
        }
        for first in (0..nx).step_by(BLOCK) {
            let block = CellBox::of_row(row, first, BLOCK.min(nx - first));
            let range = first..(first + BLOCK).min(nx);
            let full = |x: usize| substances.iter().any(|(field, ambient)| field.row(row)[x] != *ambient);
            if !reached(block) || !range.clone().any(full) {
                continue;
            }
            let near = match Block::look(placed, &block, grid, t) {
                Block::Far => continue,
                Block::Inside(p) => Near { placed: [p].into_iter().collect() },
                Block::Near(near) => near,
            };
            for x in range.filter(|&x| full(x)) {
                let index = cell_of(row, x);
                let (d, solid) = near.nearest(position(grid, At::Center, index), t);
                if d < 0.0 && solid.obstacle.shape.moves() {
                    found.push((index, way_out(grid, placed, solid, index, d, t)));
                }
            }
        }
        found
    };
    // Collected in the order of rows, whatever the threads do.
    (0..layout.rows()).into_par_iter().flat_map_iter(of_row).collect()
}

/// The nearest cell straight up from the surface whose centre is outside of everything.
fn way_out<const D: usize>(
    grid: &Grid<D>,
    placed: &[Placed<D>],
    solid: &Placed<D>,
    index: [isize; D],
    d: f64,
    t: f64,
) -> Option<[isize; D]> {
    let h = cell_size(grid);
    let x = position(grid, At::Center, index);
    let slope = each(|a| {
        let shifted = |by: f64| -> [f64; D] { each(|b| if a == b { x[b] + by } else { x[b] }) };
        (solid.distance(shifted(0.25 * h), t) - solid.distance(shifted(-0.25 * h), t)) / (0.5 * h)
    });
    // In the middle of a plate, where up has no direction: where the solid goes.
    let up = direction(slope).or_else(|| unit(solid.velocity(x, t), 0.0))?;
    (1..=TRIES).find_map(|i| {
        let way = -d + 0.5 * i as f64 * h;
        let mut cell = index;
        for a in 0..D {
            let i = ((x[a] + way * up[a] - grid.origin[a]) / grid.spacing[a]).floor() as isize;
            let n = grid.cells[a] as isize;
            cell[a] = match grid.axes[a] {
                Axis::Periodic => i.rem_euclid(n),
                Axis::Bounded { .. } => i.clamp(0, n - 1),
                Axis::Unbounded => i,
            };
        }
        let center = position(grid, At::Center, cell);
        let outside = placed.iter().filter(|p| p.cells.holds(cell)).all(|p| p.distance(center, t) >= 0.0);
        outside.then_some(cell)
    })
}

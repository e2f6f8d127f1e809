//! Plates thinner than the grid can see.
//!
//! A plate between two neighbouring nodes leaves no trace in their distances, and the fluid passes it as if it were not
//! there. A plate as thick as the diagonal of a cell is seen in any position, and no cell has open faces on both sides of
//! it; for a surface of no thickness at all that is half a diagonal on either side.

use super::ghost::direction;
use super::place::{Block, CellBox, Placed, place};
use super::update::BLOCK;
use super::{Obstacle, Solids, cell_of, cell_size, corner, position};
use crate::grid::{At, Grid};
use crate::ops::each;

/// How far surfaces of too thin shapes are moved outwards, in cells: half the diagonal of a cell, and a little.
const fn grow<const D: usize>() -> f64 {
    if D == 2 { 0.75 } else { 0.9 }
}

impl<const D: usize> Solids<D> {
    /// Makes every obstacle that has places too thin for the grid a little thicker, and says which. Looks at obstacles as
    /// they are at time `t`, wherever they are. Call it before the first update.
    pub fn thicken(&mut self, grid: &Grid<D>, t: f64) -> Vec<&str> {
        let mut thin = Vec::new();
        for (i, obstacle) in self.obstacles.iter().enumerate() {
            let is_thin_on = |grid: &Grid<D>| self.is_thin(grid, &place(std::slice::from_ref(obstacle), grid, t), t);
            if is_thin_on(grid) || grids_around(obstacle, grid, t).iter().any(is_thin_on) {
                thin.push(i);
            }
        }
        for &i in &thin {
            self.obstacles[i].grow += grow::<D>() * cell_size(grid);
            self.made = None;
        }
        thin.iter().map(|&i| self.obstacles[i].name.as_str()).collect()
    }

    /// Whether any cell or pair of neighbours sees that an obstacle has a place too thin.
    fn is_thin(&self, grid: &Grid<D>, placed: &[Placed<D>], t: f64) -> bool {
        use crate::threads::prelude::*;
        let layout = self.phi.layout().clone();
        let nx = layout.cells()[0];
        (0..layout.rows()).into_par_iter().any(|r| {
            let row = layout.row(r);
            (0..nx).step_by(BLOCK).any(|first| {
                let len = BLOCK.min(nx - first);
                match Block::look(placed, &CellBox::of_row(row, first, len), grid, t) {
                    Block::Near(near) => (first..first + len).any(|x| {
                        let distance = |x: [f64; D]| near.nearest(x, t).0;
                        is_thin_at(grid, cell_of(row, x), &distance)
                    }),
                    Block::Far | Block::Inside(_) => false,
                }
            })
        })
    }
}

/// Grids that begin beside an obstacle that moves or is not inside of the grid: others than this one will see it, at other places between
/// their cells.
fn grids_around<const D: usize>(obstacle: &Obstacle<D>, grid: &Grid<D>, t: f64) -> Vec<Grid<D>> {
    let Some((low, high)) = obstacle.shape.bounds(t) else { return Vec::new() };
    let size = grid.size();
    let is_inside = (0..D).all(|a| grid.origin[a] <= low[a] && high[a] <= grid.origin[a] + size[a]);
    let shifts: &[f64] = match (obstacle.shape.moves(), is_inside) {
        (true, _) => &[1.0, 1.25, 1.5, 1.75],
        (false, false) => &[1.0],
        (false, true) => &[],
    };
    let from = |by: &f64| Grid { origin: each(|a| low[a] - by * grid.spacing[a]), ..*grid };
    shifts.iter().map(from).collect()
}

/// Whether a plate hides in a cell, between its corners, or between its centre and the next one along an axis.
fn is_thin_at<const D: usize>(grid: &Grid<D>, cell: [isize; D], distance: &impl Fn([f64; D]) -> f64) -> bool {
    let here = position(grid, At::Center, cell);
    let d = distance(here);
    let h = cell_size(grid);
    if d.abs() > h {
        return false;
    }
    if d <= 0.0 {
        // The centre is inside, all corners are outside.
        return (0..1usize << D).all(|i| {
            let node = each(|a| cell[a] + ((i >> a) & 1) as isize);
            distance(corner(grid, node)) >= 0.0
        });
    }
    let slope = |x: [f64; D]| {
        let step = 0.05 * h;
        direction::<D>(each(|a| {
            let shifted = |by: f64| -> [f64; D] { each(|b| if a == b { x[b] + by } else { x[b] }) };
            (distance(shifted(step)) - distance(shifted(-step))) / (2.0 * step)
        }))
    };
    (0..D).any(|a| {
        let mut next = cell;
        next[a] += 1;
        let there = position(grid, At::Center, next);
        let d_there = distance(there);
        if d_there <= 0.0 || d + d_there > 1.001 * grid.spacing[a] {
            return false;
        }
        // Both centres are outside and close, and away from the surface means away from each other.
        let (Some(up), Some(up_there)) = (slope(here), slope(there)) else { return false };
        let agreement: f64 = (0..D).map(|b| up[b] * up_there[b]).sum();
        agreement < -0.5 && up_there[a] > up[a]
    })
}

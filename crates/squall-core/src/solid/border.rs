//! The correction of cells at the border of solids (Foster & Fedkiw 2001), for [`Boundary::Cells`](super::Boundary).
//!
//! In each cell that a surface passes through, with `n` the way out, `u_o` the solid's velocity and `u` the fluid's, both
//! at the centre, `u += max(0, n . (u_o - u)) n`: flow into the solid is stopped, flow along it is not. Each of the cell's
//! faces takes its component of the correction. A face between two such cells takes the mean of both, so that the result
//! does not depend on an order.

use super::ghost::{cell_slope, direction, for_each_list, node_values};
use super::update::Now;
use super::{Solids, cell_of, position};
use crate::Real;
use crate::field::{Field, Pad, VectorField};
use crate::grid::{At, Axis, Grid};
use crate::layout::Row;
use crate::ops::{above, each};

/// A cell that a surface passes through.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BorderCell<const D: usize> {
    /// The cell along its row.
    x: u32,
    normal: [f64; D],
    velocity: [f64; D],
    /// What its faces shall change by.
    correction: [Real; D],
}

impl<const D: usize> BorderCell<D> {
    /// All of them along a row.
    pub fn collect(now: &Now<D>, row: Row<'_, D>, phi: &Field<D>, out: &mut Vec<Self>) {
        for x in 0..phi.cells()[0] {
            let nodes = [node_values(phi, row, x, 0, 0), node_values(phi, row, x, 0, 1)];
            let solid = nodes.iter().flat_map(|v| &v[..1 << (D - 1)]).filter(|v| **v < 0.0).count();
            if solid == 0 || solid == 1 << D {
                continue;
            }
            let point = position(now.grid, At::Center, cell_of(row, x));
            let Some(normal) = direction(cell_slope(now.grid, phi, row, x)) else { continue };
            let Some(owner) = now.owner(&now.look_around(row, x), point) else { continue };
            let velocity = owner.velocity(point, now.t);
            out.push(BorderCell { x: x as u32, normal, velocity, correction: [0.0; D] });
        }
    }
}

impl<const D: usize> Solids<D> {
    /// Stops flow into solids in the cells at their border. Call it before the pressure solve.
    pub(super) fn correct_border(&mut self, grid: &Grid<D>, u: &mut VectorField<D>) {
        u.iter_mut().for_each(Field::fill_halo);
        let flow = &*u;
        for_each_list(&self.phi, &mut self.border, |row, cells| {
            let here: [&[Real]; D] = each(|a| flow[a].row(row));
            let mut pad = Pad::default();
            let next = above(flow, row, &mut pad);
            for cell in cells {
                let x = cell.x as usize;
                let into: f64 = (0..D)
                    .map(|a| cell.normal[a] * (cell.velocity[a] - 0.5 * (here[a][x] as f64 + next[a][x] as f64)))
                    .sum();
                cell.correction = cell.normal.map(|n| (into.max(0.0) * n) as Real);
            }
        });
        for a in 0..D {
            let mut changes = self.face_changes(grid, a);
            // A face lies in two cells at most: neighbours in a sorted list.
            changes.sort_by_key(|&(face, _)| face);
            for same in changes.chunk_by(|one, other| one.0 == other.0) {
                let mean = same.iter().map(|(_, change)| change).sum::<Real>() / same.len() as Real;
                let face = same[0].0;
                u[a].set_signed(face, u[a].get_signed(face) + mean);
            }
        }
    }

    /// What each border cell wants of its faces across axis `a`: the face and the change. Faces on the sides of the box
    /// are not theirs to change.
    fn face_changes(&self, grid: &Grid<D>, a: usize) -> Vec<([isize; D], Real)> {
        let layout = self.phi.layout();
        let n = grid.cells[a] as isize;
        let mut changes = Vec::new();
        for (r, cells) in self.border.iter().enumerate() {
            for cell in cells {
                let low = cell_of(layout.row(r), cell.x as usize);
                for side in 0..2 {
                    let mut face = low;
                    face[a] += side;
                    if grid.end_faces(a).contains(&face[a]) {
                        continue;
                    }
                    if grid.axes[a] == Axis::Periodic {
                        face[a] = face[a].rem_euclid(n);
                    }
                    changes.push((face, cell.correction[a]));
                }
            }
        }
        changes
    }
}

//! Liquid that leaves an object: nothing draws it back.
//!
//! Where liquid moves away from a surface, `w = n . (u - u_s) > 0`, and the last pressure beside it does not press, the surface moves along with the
//! liquid as far as the projection sees: `u_s + w n`. Of the second part `leaving` is what flows out of each cell by it, per volume. The pressure is then
//! not asked to hold the liquid back, and a gap opens. It is the rule of the walls (`Field::set_end_faces_that_press`). Liquid whose pressure is not known
//! yet (exactly zero: it has just come) is held for a step, so that a pool that appears around an object is at rest.
//!
//! The surface within a cell is what is more open in front of it than behind, `S = sum over a of (A(i + e_a) - A(i)) e_a` in faces, and `n` its direction; so a liquid
//! that moves by `w n` as a whole flows out of no cell, however the surface cuts it. (With directions of distances, face by face, the two sides of a cell
//! in a thin wall moved apart: liquid was pressed out of what was open of it, was taken for liquid that leaves, and a drop in a glass reached the speed of light.)

use super::ghost::{sample_known, unit};
use super::{Solids, cell_of, cell_size, position};
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Grid};
use crate::halo::PRESSES;
use crate::layout::Row;
use crate::ops::{above, each};

/// How far above the surface the liquid is looked at, in cells.
const ABOVE: f64 = 0.75;

/// Less of a surface, in faces, is none.
const SMALLEST: f64 = 0.05;

/// The pressure under a surface that is rough by this part of a cell is none: liquid that leaves at `w` is pulled by at least `w / dt`.
const ROUGH: f64 = 0.1;

/// The same for liquid that left in the last step: held back, it would be drawn by a cell of it at least. Without the difference it was held in every second step.
const LEFT: f64 = 1.0;

impl<const D: usize> Solids<D> {
    /// Makes room for [`Solids::let_go`].
    pub(crate) fn expect_liquid(&mut self) -> Result<(), OutOfMemory> {
        if self.leaving.is_none() {
            self.leaving = Some(Field::like(&self.volume)?);
        }
        Ok(())
    }

    /// Says where surfaces let go of a liquid (`phi < 0`) of velocity `u`, whose last pressure was `p`, in a step of `dt` seconds. Needs the ghosts of all.
    pub(crate) fn let_go(&mut self, grid: &Grid<D>, u: &VectorField<D>, (p, dt): (&Field<D>, f64), phi: &Field<D>) {
        let Some(mut leaving) = self.leaving.take() else { return };
        let (h, solids) = (cell_size(grid), &*self);
        leaving.par_rows(|row, leaving| {
            let Some(distance) = solids.distances_near(row) else { return leaving.fill(0.0) };
            let mut pad = Pad::default();
            let (here, next): ([_; D], _) = (each(|a| solids.open[a].row(row)), above(&solids.open, row, &mut pad));
            for (x, leaving) in leaving.iter_mut().enumerate() {
                let left = std::mem::replace(leaving, 0.0) != 0.0;
                let surface: [f64; D] = each(|a| f64::from(next[a][x] - here[a][x]));
                let Some(normal) = unit(surface, SMALLEST) else { continue };
                let centre = position(grid, At::Center, cell_of(row, x));
                let point = each(|b| centre[b] + (ABOVE * h - f64::from(distance[x])) * normal[b]);
                let pressure = |cell| {
                    let p = p.get_near(row, cell);
                    let liquid = phi.get_near(row, cell) < 0.0 && !solids.is_solid_near(row, cell);
                    (liquid && p != 0.0).then_some(p)
                };
                let Some(pressure) = sample_known(grid, At::Center, point, pressure) else { continue };
                let leaves: f64 = (0..D)
                    .map(|c| {
                        let known = |i| (solids.open[c].get_near(row, i) > 0.0).then(|| u[c].get_near(row, i));
                        let solid = |i| solids.velocity_near(row, c, i);
                        let u = sample_known(grid, At::Face(c), point, known);
                        let us = sample_known(grid, At::Face(c), centre, solid);
                        normal[c] * (u.unwrap_or(0.0) - us.unwrap_or(0.0))
                    })
                    .sum();
                let calm = if left { LEFT } else { ROUGH };
                let presses = f64::from(PRESSES) * leaves * leaves + calm * h * leaves / dt;
                if leaves > 0.0 && pressure < presses {
                    let into: f64 = (0..D).map(|a| normal[a] * surface[a] / grid.spacing[a]).sum();
                    *leaving = (-leaves * into) as Real;
                }
            }
        });
        leaving.fill_halo();
        self.leaving = Some(leaving);
    }

    /// Whether a surface lets go within a cell from cell `x` of a row.
    pub(crate) fn lets_go_near(&self, row: Row<'_, D>, x: usize) -> bool {
        let (Some(leaving), cell) = (&self.leaving, cell_of(row, x)) else { return false };
        (0..D).any(|a| (-1..=1).any(|by| leaving.get_near(row, each(|b| cell[b] + by * isize::from(a == b))) != 0.0))
    }

    /// The velocity of the solid on a face, if it is not wide open.
    fn velocity_near(&self, row: Row<'_, D>, c: usize, face: [isize; D]) -> Option<Real> {
        (self.open[c].get_near(row, face) < 1.0).then(|| self.velocity[c].get_near(row, face))
    }
}

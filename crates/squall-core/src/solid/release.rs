//! Liquid that leaves an object: nothing draws it back.
//!
//! Where liquid moves away from a surface, `w = n . (u - u_s) > 0`, and the last pressure beside it does not press, the surface moves along with the
//! liquid as far as the projection sees: `u_s + w n`, of which `leaving` is the second part. The pressure is then not asked to hold the liquid back, and a gap opens. It is the
//! rule of the walls (`Field::set_end_faces_that_press`). Liquid whose pressure is not known yet (exactly zero: it has just come) is held
//! for a step, so that a pool that appears around an object is at rest.

use super::ghost::{direction, sample_known};
use super::{Solids, cell_of, cell_size, position};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Grid};
use crate::halo::PRESSES;
use crate::layout::Row;
use crate::ops::each;

/// How far above the surface the liquid is looked at, in cells.
const ABOVE: f64 = 0.75;

/// Faces deeper inside than this, in cells, belong to no surface.
const DEEPEST: f64 = 1.5;

/// The pressure under a surface that is rough by this part of a cell is none: liquid that leaves at `w` is pulled by at least `w / dt`.
const ROUGH: f64 = 0.1;

/// The same for liquid that left in the last step: held back, it would be drawn by a cell of it at least. Without the difference it was held in every second step.
const LEFT: f64 = 1.0;

/// How far behind a face the other side of a plate is, in cells.
const BEHIND: f64 = 1.5;

impl<const D: usize> Solids<D> {
    /// Makes room for [`Solids::let_go`].
    pub(crate) fn expect_liquid(&mut self) -> Result<(), OutOfMemory> {
        if self.leaving.is_none() {
            let made = self.velocity.iter().map(Field::like).collect::<Result<Vec<_>, _>>()?;
            let mut made = made.into_iter();
            self.leaving = Some(each(|_| made.next().expect("one field for each axis")));
        }
        Ok(())
    }

    /// Says where surfaces let go of a liquid (`phi < 0`) of velocity `u`, whose last pressure was `p`, in a step of `dt` seconds. Needs the ghosts of all.
    pub(crate) fn let_go(&mut self, grid: &Grid<D>, u: &VectorField<D>, (p, dt): (&Field<D>, f64), phi: &Field<D>) {
        let Some(mut leaving) = self.leaving.take() else { return };
        let (h, solids) = (cell_size(grid), &*self);
        for (a, leaving) in leaving.iter_mut().enumerate() {
            let first = grid.end_faces(a)[0];
            leaving.par_rows(|row, leaving| {
                // What stands on the sides of the box is none of the solids' business.
                if !solids.is_near(row) || a > 0 && row.index[a] == first {
                    return leaving.fill(0.0);
                }
                let open = solids.open[a].row(row);
                for (x, leaving) in leaving.iter_mut().enumerate() {
                    let left = std::mem::replace(leaving, 0.0) != 0.0;
                    if open[x] >= 1.0 {
                        continue;
                    }
                    let high = cell_of(row, x);
                    if high[a] == first {
                        continue;
                    }
                    let low: [isize; D] = each(|b| high[b] - isize::from(a == b));
                    let at = |cell: [isize; D]| f64::from(solids.distance.get_near(row, cell));
                    let beside =
                        |cell: [isize; D], b: usize, by: isize| at(each(|c| cell[c] + by * isize::from(b == c)));
                    let depth = -0.5 * (at(low) + at(high));
                    if depth > DEEPEST * h {
                        continue;
                    }
                    let slope: [f64; D] = each(|b| match a == b {
                        true => (at(high) - at(low)) / h,
                        false => {
                            (beside(low, b, 1) + beside(high, b, 1) - beside(low, b, -1) - beside(high, b, -1))
                                / (4.0 * h)
                        }
                    });
                    let Some(normal) = direction(slope) else { continue };
                    // Through a plate without a whole cell inside, what is behind it would see the same.
                    let face = position(grid, At::Face(a), high);
                    let inner = if normal[a] > 0.0 { low } else { high };
                    if open[x] == 0.0 && !solids.is_solid_near(row, inner) {
                        let behind =
                            each(|b| high[b] - (BEHIND * normal[b] + 0.5 * f64::from(a == b)).round() as isize);
                        if phi.get_near(row, grid.nearest_cell(behind)) < 0.0 {
                            continue;
                        }
                    }
                    let point = each(|b| face[b] + (depth + ABOVE * h) * normal[b]);
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
                            let (u, us) = (
                                sample_known(grid, At::Face(c), point, known),
                                sample_known(grid, At::Face(c), face, solid),
                            );
                            normal[c] * (u.unwrap_or(0.0) - us.unwrap_or(0.0))
                        })
                        .sum();
                    let calm = if left { LEFT } else { ROUGH };
                    let presses = f64::from(PRESSES) * leaves * leaves + calm * h * leaves / dt;
                    if leaves > 0.0 && pressure < presses {
                        *leaving = (leaves * normal[a]) as Real;
                    }
                }
            });
            leaving.fill_halo();
        }
        self.leaving = Some(leaving);
    }

    /// Whether a surface lets go within a cell from cell `x` of a row.
    pub(crate) fn lets_go_near(&self, row: Row<'_, D>, x: usize) -> bool {
        let (Some(leaving), cell) = (&self.leaving, cell_of(row, x)) else { return false };
        (0..D).any(|a| {
            (-1..=2).any(|by| {
                let face = each(|b| cell[b] + by * isize::from(a == b));
                leaving[a].get_near(row, face) != 0.0
            })
        })
    }

    /// The velocity of the solid on a face, if it is not wide open.
    fn velocity_near(&self, row: Row<'_, D>, c: usize, face: [isize; D]) -> Option<Real> {
        (self.open[c].get_near(row, face) < 1.0).then(|| self.velocity[c].get_near(row, face))
    }
}

//! What the projection needs around solids.
//!
//! With the open part `A` of each face and the velocity `u_s` of the surface within a cell, the flow out of the cell is the sum over its faces
//! of `+-(A u + (1 - A) u_s)`: through the open parts, and what the surface pushes. Of `u_s` each component is one number to a cell, the mean of
//! those on its two faces, by their closed parts: so what is solid on both sides of a cell and does not move as a whole (a nozzle
//! of which only the front gives, a body that swells) drives nothing, as only its surface touches the fluid. It vanishes for `u - grad q` if
//!
//! ```text
//! sum over a of [ A (q(i + e_a) - q(i)) - A (q(i) - q(i - e_a)) ] / h_a^2 = div        A of the face between the two
//! ```
//!
//! in every cell with an open face. If all `A` are one, these are the operators of the empty box, to the bit.

use super::{Boundary, Solids};
use crate::Real;
use crate::field::{Field, Pad, VectorField};
use crate::grid::Grid;
use crate::ops::{above, each};

/// The flow out of each cell per volume, in 1/s; zero in solid cells. Needs the last faces of `u`.
pub fn divergence_around<const D: usize>(
    u: &VectorField<D>,
    solids: &Solids<D>,
    spacing: [f64; D],
    div: &mut Field<D>,
) {
    let inv_h = spacing.map(|h| (1.0 / h) as Real);
    // No face of a cell further away than this is closed, not even in part.
    let reach = (1.01 * spacing.iter().copied().fold(0.0, f64::max)) as Real;
    let (open, velocity) = (&solids.open, &solids.velocity);
    // A u + (1 - A) u_s, written so that it is exactly u if A = 1 or u = u_s.
    let flow = |u: Real, open: Real, solid: Real| u + (1.0 - open) * (solid - u);
    // Exactly what both are, if they are the same.
    let surface = |[lower, upper]: [Real; 2], [below, above]: [Real; 2]| {
        let (lower, upper) = (1.0 - lower, 1.0 - upper);
        if upper > 0.0 { below + upper / (lower + upper) * (above - below) } else { below }
    };
    div.par_rows(|row, div| {
        let mut pads = [Pad::default(); 3];
        let [pad, open_pad, solid_pad] = &mut pads;
        let here: [_; D] = each(|a| u[a].row(row));
        let next = above(u, row, pad);
        for x in 0..div.len() {
            let mut sum = 0.0;
            for a in 0..D {
                sum += (next[a][x] - here[a][x]) * inv_h[a];
            }
            div[x] = sum;
        }
        // Everywhere as if there were no solids, then once more where there are.
        let Some(distance) = solids.distances_near(row) else { return };
        let (open_here, open_next): ([_; D], _) = (each(|a| open[a].row(row)), above(open, row, open_pad));
        let (solid_here, solid_next): ([_; D], _) = (each(|a| velocity[a].row(row)), above(velocity, row, solid_pad));
        let leaving = solids.leaving.as_ref().map(|leaving| leaving.row(row));
        for x in (0..div.len()).filter(|&x| distance[x] < reach) {
            let (mut sum, mut total) = (0.0, 0.0);
            for a in 0..D {
                total += open_here[a][x] + open_next[a][x];
                let solid = surface([open_here[a][x], open_next[a][x]], [solid_here[a][x], solid_next[a][x]]);
                let out = flow(next[a][x], open_next[a][x], solid);
                let into = flow(here[a][x], open_here[a][x], solid);
                sum += (out - into) * inv_h[a];
            }
            sum += leaving.map_or(0.0, |leaving| leaving[x]);
            div[x] = if total > 0.0 { sum } else { 0.0 };
        }
    });
}

impl<const D: usize> Solids<D> {
    /// What has to be done to the velocity before the pressure solve. If a pressure `p` has pushed the velocity already,
    /// `u -= dt grad p`, name it with its `dt`: what is set anew here is pushed as well. Otherwise the solve, which finds
    /// what is missing of the pressure, would find the same again in every step.
    pub fn prepare(&mut self, grid: &Grid<D>, u: &mut VectorField<D>, pushed: Option<(&Field<D>, f64)>) {
        match self.boundary {
            Boundary::CutCells => self.stick(grid, u, pushed),
            Boundary::Cells => self.correct_border(grid, u),
        }
    }
}

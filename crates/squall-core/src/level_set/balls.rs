//! The surface around particles: a union of balls, large enough that a particle anywhere in a cell covers the cell's centre.

use crate::Real;
use crate::field::{Field, OutOfMemory};
use crate::particles::Particles;
use crate::scatter::Scatter;

/// The radius of a ball, as a part of half the diagonal of a cell.
pub const BALL: Real = 1.01;

/// How far the surface of the balls is outside of the liquid, in metres, where particles fill it as they should: less than their radius by
/// the way from the outermost particles to the surface (0.22 cells measured over flat surfaces, in 2D and 3D).
pub fn outside_by<const D: usize>(h: Real) -> Real {
    (BALL * 0.5 * (D as Real).sqrt() - 0.22) * h
}

/// How far distances are known, in cells; further away they are that.
pub const FAR: Real = 2.0;

/// Leaves in `phi` the distance to the balls around particles, in metres, exact up to a cell from the surface. Deep inside
/// it is negative and no more.
pub fn around_particles<const D: usize>(
    particles: &Particles<D>,
    scatter: &mut Scatter<D>,
    h: Real,
    phi: &mut Field<D>,
) -> Result<(), OutOfMemory> {
    let radius = BALL * 0.5 * (D as Real).sqrt();
    // Squares of distances in cells, until the least is known.
    phi.fill((FAR + radius) * (FAR + radius));
    particles.nearest(scatter, phi)?;
    phi.par_rows(|_, phi| phi.iter_mut().for_each(|phi| *phi = h * (phi.sqrt() - radius)));
    phi.fill_halo();
    Ok(())
}

//! Levelling: long-range transport from where there is too much smoke to where there is too little.
//!
//! ```text
//! lap phi = rt - rts          grad phi points away from what is too much, and towards what is missing
//! F += rt l_f grad phi        beside the pull of the target
//! w += l_g grad phi           beside the gathering of the error
//! ```
//!
//! The pull `rt grad(rts) / rts` of the papers comes to rest as soon as the smoke is sorted, densest where the smoothed target is
//! densest; it does not see how much is where. A disc among dots fills those that are close and leaves out the others, and a flow
//! without divergence cannot make a mixture dense again, however strong the pull is. The potential of the error sees both.
//! (A gradient of the error itself would be no help: the pressure takes it up.)

use super::goal::{Aim, Guided};
use super::{Blur, TargetSmoke};
use crate::Real;
use crate::field::Field;
use crate::grid::Grid;
use crate::layout::Row;
use crate::ops::{dot, sum};
use crate::poisson::Symbol;
use crate::rows;

/// `l_f L^2 d / v_f` and `l_g L^2 / (d v_g)` for a levelling of one, where `L` is the shortest side of the box and `d` the density of
/// the smoke. Twice the first meets 49 dots better (0.16 instead of 0.19, measured with a third of the second) and lines worse (0.14
/// instead of 0.12); with half of the second, thin lines that become a word leave 0.26.
const OF_DRIVE: f64 = 400.0;
const OF_GATHERING: f64 = 6000.0;

impl<const D: usize> Aim<D> {
    /// Finds the potential of the error, for a smoke and what it is when smoothed.
    pub(super) fn level(
        &mut self,
        levelling: f64,
        grid: &Grid<D>,
        smoke: &Field<D>,
        smooth: &Field<D>,
        blur: &mut Blur<D>,
    ) {
        let mass = sum(smoke);
        (self.level_force, self.level_drift, self.level_steepest) = (0.0, 0.0, 0.0);
        if levelling <= 0.0 || mass.is_nan() || mass <= 0.0 || self.total <= 0.0 {
            return;
        }
        // The density that the mass has on the whole.
        let density = dot(smoke, smoke) / mass;
        let size = grid.size().into_iter().fold(f64::INFINITY, f64::min);
        let scale = self.scale(mass) as Real;
        let (goal, potential) = (&self.smooth, &mut self.potential);
        potential.par_rows(|row, out| {
            let (smooth, goal) = (smooth.row(row), goal.row(row));
            for x in 0..out.len() {
                out[x] = smooth[x] - scale * goal[x];
            }
        });
        blur.0.apply(potential, Symbol::InverseLaplacian);
        potential.fill_halo();
        self.level_force = levelling * OF_DRIVE / (size * size * density);
        self.level_drift = levelling * OF_GATHERING * density / (size * size);
        for a in 0..D {
            let of_row = |row: Row<'_, D>| {
                let (low, high) = (self.potential.row(row.down(a)), self.potential.row(row));
                low.iter().zip(high).fold(0.0 as Real, |most, (low, high)| most.max((high - low).abs()))
            };
            let most = rows::reduce(self.potential.layout(), of_row, Real::max);
            self.level_steepest = self.level_steepest.max(self.level_force * most as f64 / grid.spacing[a]);
        }
    }
}

impl<const D: usize> TargetSmoke<D> {
    /// The largest acceleration that targets give to fluid at rest: `v_f max(rt) (max|g| + l_f max|grad phi|)`.
    pub(super) fn most_pulled(&self) -> f64 {
        let pulled = |g: &Guided<D>| {
            g.drive_at(self.flow.time()).abs() * g.aim.thickest * (g.aim.steepest + g.aim.level_steepest)
        };
        self.guided.iter().map(pulled).sum()
    }
}

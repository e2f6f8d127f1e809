//! Tiles that follow a liquid. In a box none of this does anything.
//!
//! Particles say where tiles are: a drop that flies off has its own few, and air has none. When particles have moved, all that a step
//! computes lies within reach of them: the surface is a cell away at most, and velocities go on beyond it by some layers. Tiles hold all of that,
//! so that a box gives the same.

use super::{Liquid, layers};
use crate::Real;
use crate::field::OutOfMemory;
use crate::level_set;
use crate::sim::StepError;
use std::ops::Range;

/// From a particle to the last cell that is liquid because of it, and one that is not.
const SURFACE: usize = 2;

impl<const D: usize> Liquid<D> {
    /// Makes sure that there are tiles around a box of cells, to be filled.
    pub fn cover(&mut self, cells: [Range<isize>; D]) -> Result<(), OutOfMemory> {
        self.flow.make_room([cells], 0)?;
        self.go_along()
    }

    /// Makes room for particles that go no further than `cfl` cells, and for all that is computed around them.
    pub(super) fn make_room(&mut self, cfl: f64) -> Result<(), OutOfMemory> {
        if !self.flow.is_unbounded() {
            return Ok(());
        }
        self.flow.make_room(self.occupied(), layers(cfl) + SURFACE)?;
        self.go_along()
    }

    /// Tiles go where particles have gone.
    pub(super) fn follow(&mut self, cfl: f64) -> Result<(), StepError> {
        if !self.flow.is_unbounded() {
            return Ok(());
        }
        self.flow.follow_cells(self.occupied(), layers(cfl) + SURFACE)?;
        Ok(self.go_along()?)
    }

    /// Everything of the liquid's own goes to the tiles that the flow has.
    pub(super) fn go_along(&mut self) -> Result<(), OutOfMemory> {
        let layout = self.flow.layout().clone();
        if self.phi.layout() == &layout {
            return Ok(());
        }
        self.phi.move_to(&layout, level_set::FAR * self.flow.grid.spacing[0] as Real)?;
        self.last.iter_mut().chain(&mut self.apart).try_for_each(|u| u.move_to(&layout, 0.0))?;
        self.state.reset_on(&layout)?;
        [Some(&mut self.density), self.mixture.as_mut()].into_iter().flatten().try_for_each(|f| f.reset_on(&layout))?;
        self.middle.iter_mut().try_for_each(|u| u.reset_on(&layout))?;
        self.extrapolation.reset_on(&layout)?;
        self.tension = None;
        self.band.iter_mut().try_for_each(|band| band.move_to(&layout))?;
        self.particles.go_to(&layout);
        self.phi.fill_halo();
        Ok(())
    }
}

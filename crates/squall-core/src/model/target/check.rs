//! Errors in targets.

use super::{Smoothing, Target, TargetSmoke};
use crate::field::OutOfMemory;
use crate::ops::max_abs;
use crate::rows;

/// Why something cannot be a target.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// There is nothing in it.
    #[error(
        "target {target} of \"{smoke}\" (counted from 1) is empty: no value outside of solids is above zero at {time} s. \
         Give it some density, or leave it out"
    )]
    Empty {
        /// Name of the smoke.
        smoke: String,
        /// Number of the target, from 1.
        target: usize,
        /// When it was looked at, in seconds.
        time: f64,
    },
    /// A density is negative or not finite.
    #[error("target {target} of \"{smoke}\" (counted from 1) has a cell of {value}: densities are numbers from 0 on")]
    NoDensity {
        /// Name of the smoke.
        smoke: String,
        /// Number of the target, from 1.
        target: usize,
        /// The value found.
        value: f32,
    },
    /// A setting makes no sense.
    #[error("{what} of target {target} of \"{smoke}\" (counted from 1) is {value}, but must be {must}")]
    Setting {
        /// Name of the smoke.
        smoke: String,
        /// Number of the target, from 1.
        target: usize,
        /// Which setting.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What it must be.
        must: &'static str,
    },
    /// The density has another shape than the grid.
    #[error("target {target} of \"{smoke}\" (counted from 1) does not have as many cells as the grid")]
    Shape {
        /// Name of the smoke.
        smoke: String,
        /// Number of the target, from 1.
        target: usize,
    },
    /// Nothing of that number.
    #[error("there is no {what} number {given}, only {count} (counted from 0)")]
    Missing {
        /// What was looked for.
        what: &'static str,
        /// The number given.
        given: usize,
        /// How many there are.
        count: usize,
    },
    /// No memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

impl<const D: usize> TargetSmoke<D> {
    /// Everything that can be wrong with a target is found when it is given.
    pub(super) fn check(&mut self, smoke: usize, k: usize, target: &mut Target<D>) -> Result<(), TargetError> {
        let guided = &self.guided[smoke];
        let name = self.flow.substances[guided.substance].name.clone();
        let bad =
            |what, value, must| Err(TargetError::Setting { smoke: name.clone(), target: k + 1, what, value, must });
        let earlier = k.checked_sub(1).map_or(f64::NEG_INFINITY, |k| guided.targets[k].time);
        let later = guided.targets.get(k + 1).map_or(f64::INFINITY, |t| t.time);
        // Written so that NaN fails.
        if !(target.time > earlier && target.time < later) {
            return bad("the time", target.time, "a number between those of the targets before and after it");
        }
        let Smoothing { begin, end, over } = target.smoothing;
        for (what, value) in [
            ("the smoothing", begin),
            ("the smoothing", end),
            ("the time of smoothing", over),
            ("the strength", target.strength),
            ("the blend time", target.blend),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return bad(what, value, "a finite number, not negative");
            }
        }
        let look = &mut self.smooth;
        let cells = look.cells();
        // What moves is looked at when it begins to count.
        let at = if target.source.moves() { self.flow.time().max(earlier) } else { target.time };
        look.fill(0.0);
        target.source.density(&self.flow.grid, at, look);
        if look.cells() != cells {
            return Err(TargetError::Shape { smoke: name, target: k + 1 });
        }
        let lowest = rows::reduce(
            look.layout(),
            |row| look.row(row).iter().copied().find(|v| !(*v >= 0.0 && v.is_finite())),
            |a, b| a.or(b),
        );
        if let Some(value) = lowest {
            return Err(TargetError::NoDensity { smoke: name, target: k + 1, value });
        }
        self.flow.place_obstacles(self.flow.time());
        let look = &mut self.smooth;
        if let Some(o) = &self.flow.obstacles {
            o.solids.clear_inside(look, 0.0);
        }
        // In single precision the sum of what is above zero may still be nothing.
        if max_abs(&self.smooth) == 0.0 {
            return Err(TargetError::Empty { smoke: name, target: k + 1, time: at });
        }
        Ok(())
    }
}

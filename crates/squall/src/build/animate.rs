//! Forces and sources whose numbers change with time.

use std::ops::Range;

use squall_core::force::{Emitter, Force, Moment, Source, Substance};
use squall_core::{Field, Grid, Layout, OutOfMemory, VectorField};

use crate::setup::Curve;

/// Whether something changes with time.
pub fn moves<'a>(curves: impl IntoIterator<Item = &'a Curve>) -> bool {
    !curves.into_iter().all(Curve::is_constant)
}

/// A force whose numbers are set by `update` for each time; as it is, if they never change.
pub fn force<const D: usize, F: Force<D> + 'static>(
    moves: bool,
    mut force: F,
    update: impl Fn(&mut F, f64) + Send + 'static,
) -> Box<dyn Force<D>> {
    update(&mut force, 0.0);
    if moves { Box::new(Animated { effect: force, update }) } else { Box::new(force) }
}

/// The time that stands for a step: its middle.
fn middle(now: Moment) -> f64 {
    now.time + 0.5 * now.dt
}

struct Animated<E, U> {
    effect: E,
    update: U,
}

impl<const D: usize, F: Force<D>, U: Fn(&mut F, f64) + Send> Force<D> for Animated<F, U> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &[Substance<D>]) {
        (self.update)(&mut self.effect, middle(now));
        self.effect.apply(grid, now, u, substances);
    }

    fn prepare(&mut self, grid: &Grid<D>, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        self.effect.prepare(grid, layout)
    }

    fn avoids_solids(&self) -> bool {
        self.effect.avoids_solids()
    }

    fn apply_to_faces(
        &mut self,
        grid: &Grid<D>,
        now: Moment,
        u: &mut VectorField<D>,
        substances: &[Substance<D>],
    ) -> bool {
        (self.update)(&mut self.effect, middle(now));
        self.effect.apply_to_faces(grid, now, u, substances)
    }
}

/// An emitter whose numbers change with time.
pub struct AnimatedEmitter<const D: usize, U> {
    /// Its expansion is 1 or 0: `expansion` is what counts.
    pub emitter: Emitter<D>,
    /// Sets its numbers for a time.
    pub update: U,
    pub expansion: Curve,
    /// The largest velocity component that it ever gives to the fluid.
    pub speed: f64,
}

impl<const D: usize, U: Fn(&mut Emitter<D>, f64) + Send> Source<D> for AnimatedEmitter<D, U> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]) {
        (self.update)(&mut self.emitter, middle(now));
        self.emitter.apply(grid, now, u, substances);
    }

    fn cells(&self, grid: &Grid<D>, now: Moment) -> Option<[Range<isize>; D]> {
        self.emitter.cells(grid, now)
    }

    fn speed(&self) -> f64 {
        self.speed
    }

    fn swell(&self, grid: &Grid<D>, now: Moment, share: f32, rate: &mut Field<D>) {
        self.emitter.swell(grid, now, share * self.expansion.at(middle(now)) as f32, rate);
    }

    fn swells(&self) -> bool {
        self.emitter.swells()
    }

    fn pushes(&self) -> bool {
        self.emitter.pushes()
    }
}

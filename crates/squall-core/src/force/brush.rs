//! A brush that paints into a flow while it runs.
//!
//! Whoever paints and the flow hold the same [`Brush`]. Between two steps it is told what it does from then on: a list of [`Dab`]s. A brush
//! that does nothing changes no bit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::emitter::cells_within;
use super::{Emitter, Force, Moment, Source, Substance, Supply};
use crate::Real;
use crate::field::VectorField;
use crate::grid::Grid;
use crate::ops::each;
use crate::shape::{Capsule, Shape};
use std::ops::Range;

/// A piece of a stroke: what a brush does on its way from one point to another. In 2D the third coordinates do not count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dab {
    /// Where it begins, in metres.
    pub from: [f64; 3],
    /// Where it ends, in metres.
    pub to: [f64; 3],
    /// How far it reaches, in metres.
    pub radius: f64,
    /// The part of the radius over which it fades to nothing; the edge is at least one cell wide.
    pub softness: f64,
    /// How it moves, in metres per second.
    pub velocity: [f64; 3],
    /// What it adds per second: substances by their places in the list.
    pub add: Vec<(usize, f64)>,
    /// The part of all substances that it takes away per second. Of a liquid it takes all.
    pub erase: f64,
    /// How fast the fluid takes its velocity, per second.
    pub push: f64,
    /// The acceleration that it gives to the fluid, in metres per second squared.
    pub force: [f64; 3],
    /// Whether it fills what it covers with liquid.
    pub fill: bool,
}

impl Dab {
    fn changes_substances(&self) -> bool {
        !self.add.is_empty() || self.erase > 0.0
    }

    fn pushes(&self) -> bool {
        self.push > 0.0 || self.force != [0.0; 3]
    }

    /// What it covers: to the middle of its edge.
    pub(crate) fn shape<const D: usize>(&self) -> Capsule<D> {
        let radius = self.radius * (1.0 - 0.5 * self.softness);
        Capsule { from: each(|a| self.from[a]), to: each(|a| self.to[a]), radius }
    }

    fn emitter<const D: usize>(&self) -> Emitter<D> {
        Emitter { softness: self.radius * self.softness, ..Emitter::new(Box::new(self.shape())) }
    }
}

/// What is painted now, shared by who paints and what is painted on.
#[derive(Clone, Debug, Default)]
pub struct Brush(Arc<Mutex<Vec<Dab>>>);

impl Brush {
    /// Says what it does from now on.
    pub fn set(&self, dabs: Vec<Dab>) {
        *self.dabs() = dabs;
    }

    pub(crate) fn dabs(&self) -> MutexGuard<'_, Vec<Dab>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<const D: usize> Source<D> for Brush {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]) {
        for dab in self.dabs().iter().filter(|dab| dab.changes_substances()) {
            let mut emitter = dab.emitter::<D>();
            emitter.supply = dab.add.iter().map(|&(s, rate)| (s, Supply::Rate(rate as Real))).collect();
            if dab.erase > 0.0 {
                emitter.supply.extend((0..substances.len()).map(|s| (s, Supply::Drain(dab.erase as Real))));
            }
            emitter.apply(grid, now, u, substances);
        }
    }

    /// Where it adds something there must be cells; what is to be erased or pushed is in some.
    fn cells(&self, grid: &Grid<D>, _: Moment) -> Option<[Range<isize>; D]> {
        let dabs = self.dabs();
        let adding = dabs.iter().filter(|dab| !dab.add.is_empty());
        let cells = adding.filter_map(|dab| cells_within(grid, dab.shape::<D>().bounds(0.0), 1.0 + margin(dab, grid)));
        cells.reduce(|x, y| each(|a| x[a].start.min(y[a].start)..x[a].end.max(y[a].end)))
    }

    fn acts(&self) -> bool {
        self.dabs().iter().any(Dab::changes_substances)
    }

    fn pushes(&self) -> bool {
        false
    }
}

/// How many cells beyond its shape the edge of a dab reaches.
fn margin<const D: usize>(dab: &Dab, grid: &Grid<D>) -> f64 {
    0.5 * (dab.radius * dab.softness / grid.min_spacing()).max(1.0)
}

impl<const D: usize> Force<D> for Brush {
    /// `du/dt = f + push (v - u)`, by the weight of the brush.
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, _: &[Substance<D>]) {
        let layout = u[0].layout().clone();
        for dab in self.dabs().iter().filter(|dab| dab.pushes()) {
            dab.emitter::<D>().visit(&layout, grid, now.time, |row, x, _, weight| {
                let keep = libm::exp(-now.dt * dab.push * f64::from(weight)) as Real;
                for a in 0..D {
                    let (v, f) = (dab.velocity[a] as Real, (now.dt * dab.force[a]) as Real);
                    let u = &mut u[a].row_mut(row)[x];
                    *u = v + keep * (*u - v) + weight * f;
                }
            });
        }
    }

    /// On faces there is nothing to do if there is nothing at the centres.
    fn apply_to_faces(&mut self, _: &Grid<D>, _: Moment, _: &mut VectorField<D>, _: &[Substance<D>]) -> bool {
        !self.dabs().iter().any(Dab::pushes)
    }
}

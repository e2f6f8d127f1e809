//! Emitters: sources with the shape of an object, which may move, on any layout.

use smallvec::{SmallVec, smallvec};

use super::{Flicker, Moment, Source, Substance, Supply};
use crate::Real;
use crate::field::{Field, VectorField};
use crate::grid::{At, Axis, Grid};
use crate::layout::{Layout, Row};
use crate::ops::each;
use crate::shape::Shape;

/// A shape that gives off substances, or takes them away, and gives the fluid in it a velocity.
///
/// Holding a value is done once or many times with the same result, and everything else is a rate, so that what comes out
/// does not depend on the time step.
pub struct Emitter<const D: usize> {
    /// Where. In a periodic box a shape that sticks out comes in again on the other side.
    pub shape: Box<dyn Shape<D>>,
    /// How wide its edge is, in metres; at least one cell.
    pub softness: f64,
    /// What it does to which substance, by their places in the list.
    pub supply: Vec<(usize, Supply)>,
    /// The velocity held inside.
    pub velocity: Option<[Real; D]>,
    /// Whether the velocity of the shape itself is added to that; without a velocity it is the only one.
    pub drags: bool,
    /// How much fluid appears inside, per volume and second: it swells.
    pub expansion: Real,
    /// How the emission (not the velocity) comes and goes in spots; what is held is held at a part of its value.
    pub flicker: Option<Flicker<D>>,
}

impl<const D: usize> Emitter<D> {
    /// A source of nothing yet, with an edge of one cell.
    pub fn new(shape: Box<dyn Shape<D>>) -> Self {
        Emitter {
            shape,
            softness: 0.0,
            supply: Vec::new(),
            velocity: None,
            drags: false,
            expansion: 0.0,
            flicker: None,
        }
    }

    /// Calls `f(row, x, position, weight)` for the cells of the shape, weighted from 0 to 1 over its edge.
    pub(super) fn visit(
        &self,
        layout: &Layout<D>,
        grid: &Grid<D>,
        time: f64,
        mut f: impl FnMut(Row<'_, D>, usize, [f64; D], Real),
    ) {
        let soft = self.softness.max(grid.min_spacing());
        let margin = 0.5 + 0.5 * soft / grid.min_spacing();
        let bounds = self.shape.bounds(time);
        let shifts = images(grid, bounds);
        let within = if shifts.len() == 1 { cells_within(grid, bounds, margin) } else { None };
        layout.rows_within(within, |row, xs| {
            let mut x = xs.start;
            while x < xs.end {
                let mut index = row.index;
                index[0] += x as isize;
                let here = grid.position(At::Center, index);
                // The nearest image counts.
                let image = |shift: &[f64; D]| {
                    let p = each(|a| here[a] - shift[a]);
                    (self.shape.distance(p, time), p)
                };
                let nearest = shifts.iter().map(image).min_by(|a, b| a.0.total_cmp(&b.0));
                let (d, p) = nearest.unwrap_or((f64::INFINITY, here));
                let weight = (0.5 - d / soft).clamp(0.0, 1.0) as Real;
                if weight > 0.0 {
                    f(row, x, p, weight);
                }
                // The surface is at least this far away: so are its cells.
                x += (((d - 0.5 * soft) / grid.spacing[0]).floor().min(1e6) as usize).max(1);
            }
        });
    }
}

/// By how much a shape is to be shifted so that all of it that sticks out of a periodic box comes in again.
fn images<const D: usize>(grid: &Grid<D>, bounds: Option<([f64; D], [f64; D])>) -> SmallVec<[[f64; D]; 9]> {
    let mut shifts = smallvec![[0.0; D]];
    let Some((lo, hi)) = bounds else { return shifts };
    for a in (0..D).filter(|&a| grid.axes[a] == Axis::Periodic) {
        let (size, h) = (grid.size()[a], grid.spacing[a]);
        for n in 0..shifts.len() {
            for by in [-size, size] {
                // Only where the image reaches into the box.
                if lo[a] + by - h < grid.origin[a] + size && hi[a] + by + h > grid.origin[a] {
                    let mut shift = shifts[n];
                    shift[a] = by;
                    shifts.push(shift);
                }
            }
        }
    }
    shifts
}

/// The cells that a box given by two corners may touch, `margin` cells around it included.
pub(crate) fn cells_within<const D: usize>(
    grid: &Grid<D>,
    bounds: Option<([f64; D], [f64; D])>,
    margin: f64,
) -> Option<[std::ops::Range<isize>; D]> {
    bounds.map(|(lo, hi)| {
        std::array::from_fn(|a| {
            let cell = |p: f64| (p - grid.origin[a]) / grid.spacing[a];
            ((cell(lo[a]) - margin).floor() as isize)..((cell(hi[a]) + margin).ceil() as isize)
        })
    })
}

impl<const D: usize> Source<D> for Emitter<D> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]) {
        let layout = u[0].layout().clone();
        let at = now.time + now.dt;
        self.shape.prepare(at);
        if let Some(flicker) = &mut self.flicker {
            flicker.move_to(at);
        }
        self.visit(&layout, grid, at, |row, x, p, weight| {
            let mut w = weight;
            if let Some(flicker) = &self.flicker {
                let mut bright = [0.0];
                flicker.brightness(row, x, &mut bright);
                w *= bright[0];
            }
            for &(s, supply) in &self.supply {
                let ambient = substances[s].ambient;
                let a = &mut substances[s].field.row_mut(row)[x];
                match supply {
                    // In the middle exactly; towards the edge at least so much.
                    Supply::Hold(value) if weight == 1.0 => *a = ambient + w * (value - ambient),
                    Supply::Hold(value) if value >= ambient => *a = a.max(ambient + w * (value - ambient)),
                    Supply::Hold(value) => *a = a.min(ambient + w * (value - ambient)),
                    Supply::Rate(rate) => *a += w * now.dt as Real * rate,
                    Supply::Drain(rate) => {
                        *a = ambient + (*a - ambient) * libm::exp(-now.dt * (w * rate) as f64) as Real
                    }
                }
            }
            if weight >= 0.5 && (self.velocity.is_some() || self.drags) {
                let own = self.velocity.unwrap_or([0.0; D]);
                let moved = if self.drags { self.shape.velocity(p, at) } else { [0.0; D] };
                for a in 0..D {
                    u[a].row_mut(row)[x] = own[a] + moved[a] as Real;
                }
            }
        });
    }

    fn cells(&self, grid: &Grid<D>, now: Moment) -> Option<[std::ops::Range<isize>; D]> {
        let [begin, end] = [now.time, now.time + now.dt].map(|t| cells_within(grid, self.shape.bounds(t), 1.0));
        let (begin, end) = (begin?, end?);
        Some(std::array::from_fn(|a| begin[a].start.min(end[a].start)..begin[a].end.max(end[a].end)))
    }

    fn speed(&self) -> f64 {
        self.velocity.map_or(0.0, |v| v.iter().fold(0.0, |m, v| m.max(f64::from(v.abs()))))
    }

    fn swell(&self, grid: &Grid<D>, now: Moment, share: Real, rate: &mut Field<D>) {
        if self.expansion != 0.0 {
            let layout = rate.layout().clone();
            self.visit(&layout, grid, now.time + now.dt, |row, x, _, weight| {
                rate.row_mut(row)[x] += share * weight * self.expansion;
            });
        }
    }

    fn swells(&self) -> bool {
        self.expansion != 0.0
    }

    fn pushes(&self) -> bool {
        self.velocity.is_some() || self.drags
    }
}

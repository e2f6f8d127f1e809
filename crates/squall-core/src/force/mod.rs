//! Forces, and sources of substances and momentum.
//!
//! Everything is a rate per second (or a value that is held), so that a result does not depend on the time step.

mod brush;
mod confinement;
mod emitter;
mod flicker;
mod loss;
mod noise;
mod stir;

pub use brush::{Brush, Dab};
pub use confinement::Confinement;
pub use emitter::Emitter;
pub use flicker::Flicker;
pub use loss::Loss;
pub use noise::NoiseField;
pub(crate) use noise::mix;
pub use stir::{Stir, Stroke};

use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Grid};
use crate::layout::Layout;
use crate::ops::each;
use crate::parameter::ParameterList;
use crate::rows;

/// A quantity that the flow carries.
#[derive(Clone, Debug)]
pub struct Substance<const D: usize> {
    /// What it is called.
    pub name: String,
    /// Its amount per volume, at cell centres.
    pub field: Field<D>,
    /// Diffusivity, in square metres per second.
    pub diffusion: f64,
    /// The part that vanishes per second.
    pub dissipation: f64,
    /// How much of it there is far away.
    pub ambient: Real,
    /// How it vanishes, besides.
    pub losses: Vec<Loss>,
    /// What differs less than this from `ambient` counts as nothing, where the grid follows the fluid.
    pub threshold: Real,
}

impl<const D: usize> Substance<D> {
    /// A substance of which there is none yet, with insulated walls, that neither spreads nor vanishes.
    pub fn new(grid: &Grid<D>, name: &str) -> Result<Self, OutOfMemory> {
        let field = Field::new(grid.cells, At::Center, grid.substance_ends(0.0))?;
        Ok(Substance::of(field, name, 0.0))
    }

    /// A substance on a box or on tiles of which there is `ambient` everywhere.
    pub fn on(layout: &Layout<D>, grid: &Grid<D>, name: &str, ambient: Real) -> Result<Self, OutOfMemory> {
        let mut field = Field::on(layout, At::Center, grid.substance_ends(ambient))?;
        field.fill(ambient);
        Ok(Substance::of(field, name, ambient))
    }

    fn of(field: Field<D>, name: &str, ambient: Real) -> Self {
        Substance {
            name: name.to_string(),
            field,
            diffusion: 0.0,
            dissipation: 0.0,
            ambient,
            losses: Vec::new(),
            threshold: 1e-3,
        }
    }
}

/// When something acts.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Seconds since the start.
    pub time: f64,
    /// For how many seconds it acts.
    pub dt: f64,
    /// How long the whole step is, in seconds.
    pub step: f64,
}

impl Moment {
    /// All of a step.
    pub const fn whole(time: f64, dt: f64) -> Self {
        Moment { time, dt, step: dt }
    }
}

/// Adds momentum. The ghosts of substances are filled.
pub trait Force<const D: usize>: Send {
    /// `u += dt f`, where `f` may depend on the place, the time, the substances and `u` itself.
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &[Substance<D>]);

    /// Makes room for what it needs on this layout. Called at the beginning of every step.
    fn prepare(&mut self, _grid: &Grid<D>, _layout: &Layout<D>) -> Result<(), OutOfMemory> {
        Ok(())
    }

    /// Whether it makes no sense beside solids, where the flow is not resolved.
    fn avoids_solids(&self) -> bool {
        false
    }

    /// The same for velocities on faces, if it can be done more cheaply than by way of the centres; `false` if nothing was
    /// done.
    fn apply_to_faces(&mut self, _: &Grid<D>, _: Moment, _: &mut VectorField<D>, _: &[Substance<D>]) -> bool {
        false
    }

    /// Shows what can be changed while it acts.
    fn visit_parameters(&mut self, _: &mut ParameterList<'_>) {}
}

/// Adds substances, and momentum where they enter.
pub trait Source<const D: usize>: Send {
    /// Changes the substances, and the velocity if it likes.
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]);

    /// The cells that it may change in a step, where the grid follows the fluid; `None`: it changes only cells that are there
    /// anyway.
    fn cells(&self, _grid: &Grid<D>, _now: Moment) -> Option<[std::ops::Range<isize>; D]> {
        None
    }

    /// The largest velocity component that it gives to the fluid, in metres per second.
    fn speed(&self) -> f64 {
        0.0
    }

    /// Adds to `rate` how much fluid appears per volume and second, times `share`.
    fn swell(&self, _grid: &Grid<D>, _now: Moment, _share: Real, _rate: &mut Field<D>) {}

    /// Whether fluid ever appears.
    fn swells(&self) -> bool {
        false
    }

    /// Whether it ever looks at the velocity or changes it.
    fn pushes(&self) -> bool {
        true
    }

    /// Whether it does anything at present.
    fn acts(&self) -> bool {
        true
    }
}

/// The same acceleration everywhere, such as gravity.
#[derive(Clone, Copy, Debug)]
pub struct Uniform<const D: usize>(pub [Real; D]);

impl<const D: usize> Force<D> for Uniform<D> {
    fn apply(&mut self, _: &Grid<D>, now: Moment, u: &mut VectorField<D>, _: &[Substance<D>]) {
        for a in (0..D).filter(|&a| self.0[a] != 0.0) {
            let add = (now.dt * self.0[a] as f64) as Real;
            u[a].par_rows_and_ghosts(|_, u| u.iter_mut().for_each(|u| *u += add));
        }
    }

    fn apply_to_faces(
        &mut self,
        grid: &Grid<D>,
        now: Moment,
        u: &mut VectorField<D>,
        substances: &[Substance<D>],
    ) -> bool {
        self.apply(grid, now, u, substances);
        for a in 0..D {
            u[a].finish_end_faces();
        }
        true
    }
}

/// An acceleration along y in proportion to a substance: `strength (a - ambient)`.
#[derive(Clone, Copy, Debug)]
pub struct Buoyancy {
    /// Which substance, by its place in the list.
    pub substance: usize,
    /// Upward acceleration per unit of the substance; negative for what falls.
    pub strength: Real,
    /// The amount that neither rises nor falls.
    pub ambient: Real,
}

impl<const D: usize> Force<D> for Buoyancy {
    fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        let doc = "upward acceleration for each unit of the substance";
        if let Some(v) = visit.number("buoyancy", "m/s^2", doc, [-1e9, 1e9], self.strength as f64) {
            self.strength = v as Real;
        }
    }

    fn apply(&mut self, _: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &[Substance<D>]) {
        let a = &substances[self.substance].field;
        let (k, ambient) = ((now.dt * self.strength as f64) as Real, self.ambient);
        u[1].par_rows_and_ghosts(|row, up| {
            for (up, a) in up.iter_mut().zip(a.row(row)) {
                *up += k * (a - ambient);
            }
        });
    }

    /// The mean of the cells on both sides; beyond an end, of what the substance is there.
    fn apply_to_faces(
        &mut self,
        _: &Grid<D>,
        now: Moment,
        u: &mut VectorField<D>,
        substances: &[Substance<D>],
    ) -> bool {
        let k = now.dt * self.strength as f64;
        u[1].add_scaled_face_means(&substances[self.substance].field, 1, k as Real, self.ambient);
        true
    }
}

/// Draws the fluid towards a velocity: `du/dt = rate (wind - u)`.
#[derive(Clone, Copy, Debug)]
pub struct Wind<const D: usize> {
    /// The velocity it would take in the end.
    pub velocity: [Real; D],
    /// How fast, per second.
    pub rate: Real,
}

impl<const D: usize> Force<D> for Wind<D> {
    fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        let doc = "how fast the fluid is drawn to the velocity of the wind";
        if let Some(v) = visit.number("wind_force", "1/s", doc, [0.0, 1e9], self.rate as f64) {
            self.rate = v as Real;
        }
    }

    fn apply(&mut self, _: &Grid<D>, now: Moment, u: &mut VectorField<D>, _: &[Substance<D>]) {
        let keep = libm::exp(-now.dt * self.rate as f64) as Real;
        for a in 0..D {
            let wind = self.velocity[a];
            u[a].par_rows_and_ghosts(|_, u| u.iter_mut().for_each(|u| *u = wind + keep * (*u - wind)));
        }
    }
}

/// A push around or away from a point, strongest at `radius` and falling off like a bell behind it.
#[derive(Clone, Copy, Debug)]
pub struct Swirl<const D: usize> {
    /// The point, in metres.
    pub center: [f64; D],
    /// Its reach, in metres.
    pub radius: f64,
    /// The direction it turns about, counter-clockwise for one towards whom it points; in 2D `[0, 0, 1]`.
    pub axis: [Real; 3],
    /// Acceleration around the axis, at `radius`.
    pub around: Real,
    /// Acceleration away from the centre, at `radius`.
    pub outward: Real,
}

/// exp(-REACH^2 / 2) is below the last digit of anything.
const REACH: f64 = 8.0;

impl<const D: usize> Force<D> for Swirl<D> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, _: &[Substance<D>]) {
        let Swirl { center, radius, axis, around, outward } = *self;
        let (around, outward) = (now.dt as Real * around, now.dt as Real * outward);
        rows::for_each_with_ghosts(u.each_mut(), |row, u| {
            let first = grid.position(At::Center, row.index);
            let mut r: [Real; 3] = each(|a| if a < D { ((first[a] - center[a]) / radius) as Real } else { 0.0 });
            // Nothing is left of the bell REACH radii away.
            let h = grid.spacing[0] / radius;
            let start = (first[0] - center[0]) / radius;
            let begin = ((-REACH - start) / h).max(0.0) as usize;
            let end = u[0].len().min(((REACH - start) / h).max(0.0) as usize + 1);
            // r exp((1 - r^2) / 2) has its maximum, 1, at r = 1. Along a row the exponent is a parabola: two factors,
            // one of which grows geometrically, do instead of an exponential per cell.
            let x0 = start + begin as f64 * h;
            let rest = (r[1] * r[1] + r[2] * r[2]) as f64;
            let mut bell = libm::exp(0.5 * (1.0 - x0 * x0 - rest));
            let (mut factor, growth) = (libm::exp(-(x0 * h + 0.5 * h * h)), libm::exp(-h * h));
            for x in begin..end {
                r[0] = (start + x as f64 * h) as Real;
                for a in 0..D {
                    let (b, c) = ((a + 1) % 3, (a + 2) % 3);
                    let turn = axis[b] * r[c] - axis[c] * r[b];
                    u[a][x] += bell as Real * (around * turn + outward * r[a]);
                }
                bell *= factor;
                factor *= growth;
            }
        });
    }
}

/// Smooth, swirling noise, in proportion to a substance if one is named: the billowing of smoke.
pub struct Noise<const D: usize> {
    /// The noise itself.
    pub field: NoiseField<D>,
    /// Root mean square acceleration (per unit of the substance).
    pub strength: Real,
    /// Which substance it goes with, by its place in the list.
    pub substance: Option<usize>,
}

impl<const D: usize> Force<D> for Noise<D> {
    fn apply(&mut self, _: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &[Substance<D>]) {
        self.field.move_to(now.time);
        let k = (now.dt * self.strength as f64) as Real;
        let (xi, amount) = (&self.field, self.substance.map(|s| &substances[s].field));
        rows::for_each_with_ghosts(u.each_mut(), |row, u| match amount.map(|amount| amount.row(row)) {
            Some(amount) => xi.add_rows(row, |x| k * amount[x], u),
            None => xi.add_rows(row, |_| k, u),
        });
    }
}

/// An effect that acts only for a while.
pub struct During<E> {
    /// What acts.
    pub effect: E,
    /// From when on, in seconds.
    pub from: f64,
    /// Until when, in seconds.
    pub to: f64,
}

impl<E> During<E> {
    /// The part of a step that lies inside.
    fn overlap(&self, now: Moment) -> Option<Moment> {
        let time = now.time.max(self.from);
        let dt = (now.time + now.dt).min(self.to) - time;
        (dt > 0.0).then_some(Moment { time, dt, ..now })
    }
}

impl<const D: usize> Force<D> for During<Box<dyn Force<D>>> {
    fn prepare(&mut self, grid: &Grid<D>, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        self.effect.prepare(grid, layout)
    }

    fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        self.effect.visit_parameters(visit);
    }

    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &[Substance<D>]) {
        if let Some(now) = self.overlap(now) {
            self.effect.apply(grid, now, u, substances);
        }
    }

    fn avoids_solids(&self) -> bool {
        self.effect.avoids_solids()
    }
}

impl<const D: usize> Source<D> for During<Box<dyn Source<D>>> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]) {
        if let Some(now) = self.overlap(now) {
            self.effect.apply(grid, now, u, substances);
        }
    }

    fn cells(&self, grid: &Grid<D>, now: Moment) -> Option<[std::ops::Range<isize>; D]> {
        self.overlap(now).and_then(|now| self.effect.cells(grid, now))
    }

    fn speed(&self) -> f64 {
        self.effect.speed()
    }

    /// What appears in a part of the step appears at a lower rate in all of it.
    fn swell(&self, grid: &Grid<D>, now: Moment, share: Real, rate: &mut Field<D>) {
        if let Some(part) = self.overlap(now) {
            self.effect.swell(grid, part, share * (part.dt / now.dt) as Real, rate);
        }
    }

    fn swells(&self) -> bool {
        self.effect.swells()
    }

    fn pushes(&self) -> bool {
        self.effect.pushes()
    }
}

/// What an emitter does to one substance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Supply {
    /// Holds it at this value.
    Hold(Real),
    /// Adds this much per second.
    Rate(Real),
    /// Takes away what differs from the ambient value, at this rate per second.
    Drain(Real),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swirl_pushes_around_and_outward_as_its_formula_says_however_small_it_is() {
        let grid = Grid::<2>::periodic([200, 40]);
        for radius in [0.3, 0.03, 0.001] {
            let mut u: VectorField<2> =
                each(|a| Field::new(grid.cells, At::Center, grid.velocity_ends(a)).expect("memory"));
            let center = [0.8, 0.1];
            let mut swirl = Swirl { center, radius, axis: [0.0, 0.0, 1.0], around: 2.0, outward: 0.5 };
            swirl.apply(&grid, Moment::whole(0.0, 0.25), &mut u, &[]);
            for index in [[160, 20], [3, 5], [161, 22], [199, 39], [150, 14]] {
                let p = grid.position(At::Center, index.map(|i| i as isize));
                let r = [(p[0] - center[0]) / radius, (p[1] - center[1]) / radius];
                let bell = 0.25 * (0.5 * (1.0 - r[0] * r[0] - r[1] * r[1])).exp();
                let exact = [bell * (0.5 * r[0] - 2.0 * r[1]), bell * (0.5 * r[1] + 2.0 * r[0])];
                for a in 0..2 {
                    // Single precision, and a recurrence in double.
                    let error = (u[a].get(index) as f64 - exact[a]).abs();
                    assert!(error < 1e-6, "radius {radius} at {index:?}: {} and {}", u[a].get(index), exact[a]);
                }
            }
        }
    }
}

//! What acts on a fluid: accelerations, and sources of substances and momentum.
//!
//! Everything is a rate per second (or a value that is held), so that a result does not depend on the time step.

mod noise;
mod region;

pub use noise::{NoiseField, lattice_noise};
pub use region::{Region, Span};

use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Grid};
use crate::layout::Row;
use crate::ops::each;
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
}

impl<const D: usize> Substance<D> {
    /// A substance of which there is none yet, with insulated walls, that neither spreads nor vanishes.
    pub fn new(grid: &Grid<D>, name: &str) -> Result<Self, OutOfMemory> {
        let field = Field::new(grid.cells, At::Center, grid.substance_ends(0.0))?;
        Ok(Substance { name: name.to_string(), field, diffusion: 0.0, dissipation: 0.0 })
    }
}

/// When something acts.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Seconds since the start.
    pub time: f64,
    /// For how many seconds it acts.
    pub dt: f64,
}

/// Adds momentum.
pub trait Force<const D: usize>: Send {
    /// `u += dt f`, where `f` may depend on the place, the time, the substances and `u` itself. Ghosts need not be kept.
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &[Substance<D>]);
}

/// Adds substances, and momentum where they enter.
pub trait Source<const D: usize>: Send {
    /// Changes the substances, and the velocity if it likes. Ghosts need not be kept.
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]);
}

/// Adds `f(row, x, position of the row, velocities) * dt` to every component.
fn add_rows<const D: usize>(u: &mut VectorField<D>, f: impl Fn(Row<D>, [&mut [Real]; D]) + Sync) {
    rows::for_each(u.each_mut(), f);
}

/// The same acceleration everywhere, such as gravity.
#[derive(Clone, Copy, Debug)]
pub struct Uniform<const D: usize>(pub [Real; D]);

impl<const D: usize> Force<D> for Uniform<D> {
    fn apply(&mut self, _: &Grid<D>, now: Moment, u: &mut VectorField<D>, _: &[Substance<D>]) {
        for a in (0..D).filter(|&a| self.0[a] != 0.0) {
            let add = (now.dt * self.0[a] as f64) as Real;
            u[a].par_rows(|_, u| u.iter_mut().for_each(|u| *u += add));
        }
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
    fn apply(&mut self, _: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &[Substance<D>]) {
        let a = &substances[self.substance].field;
        let (k, ambient) = ((now.dt * self.strength as f64) as Real, self.ambient);
        u[1].par_rows(|row, up| {
            for (up, a) in up.iter_mut().zip(a.row(row)) {
                *up += k * (a - ambient);
            }
        });
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
    fn apply(&mut self, _: &Grid<D>, now: Moment, u: &mut VectorField<D>, _: &[Substance<D>]) {
        let keep = libm::exp(-now.dt * self.rate as f64) as Real;
        for a in 0..D {
            let wind = self.velocity[a];
            u[a].par_rows(|_, u| u.iter_mut().for_each(|u| *u = wind + keep * (*u - wind)));
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

impl<const D: usize> Force<D> for Swirl<D> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, _: &[Substance<D>]) {
        let Swirl { center, radius, axis, around, outward } = *self;
        let (around, outward) = (now.dt as Real * around, now.dt as Real * outward);
        add_rows(u, |row, u| {
            let first = grid.position(At::Center, row.index.map(|i| i as usize));
            let mut r: [Real; D] = each(|a| ((first[a] - center[a]) / radius) as Real);
            for x in 0..u[0].len() {
                r[0] = ((first[0] + x as f64 * grid.spacing[0] - center[0]) / radius) as Real;
                let r2: Real = r.iter().map(|r| r * r).sum();
                // r exp((1 - r^2) / 2) has its maximum, 1, at r = 1.
                let bell = libm::expf(0.5 * (1.0 - r2));
                let r3: [Real; 3] = each(|a| if a < D { r[a] } else { 0.0 });
                for a in 0..D {
                    let (b, c) = ((a + 1) % 3, (a + 2) % 3);
                    let turn = axis[b] * r3[c] - axis[c] * r3[b];
                    u[a][x] += bell * (around * turn + outward * r[a]);
                }
            }
        });
    }
}

/// A push in one direction around a straight stroke: `force exp(-distance^2 / 2 radius^2)`.
#[derive(Clone, Copy, Debug)]
pub struct Stroke<const D: usize> {
    /// One end of the stroke, in metres.
    pub from: [f64; D],
    /// The other end.
    pub to: [f64; D],
    /// How far it reaches, in metres.
    pub radius: f64,
    /// Acceleration on the stroke.
    pub force: [Real; D],
}

impl<const D: usize> Force<D> for Stroke<D> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, _: &[Substance<D>]) {
        let stroke = *self;
        let length2: f64 = (0..D).map(|a| (stroke.to[a] - stroke.from[a]).powi(2)).sum();
        add_rows(u, |row, u| {
            let mut p = grid.position(At::Center, row.index.map(|i| i as usize));
            let x0 = p[0];
            for x in 0..u[0].len() {
                p[0] = x0 + x as f64 * grid.spacing[0];
                let along: f64 = (0..D).map(|a| (p[a] - stroke.from[a]) * (stroke.to[a] - stroke.from[a])).sum();
                let s = if length2 > 0.0 { (along / length2).clamp(0.0, 1.0) } else { 0.0 };
                let d2: f64 =
                    (0..D).map(|a| (p[a] - stroke.from[a] - s * (stroke.to[a] - stroke.from[a])).powi(2)).sum();
                let bell = libm::expf((-d2 / (2.0 * stroke.radius * stroke.radius)) as Real);
                for a in 0..D {
                    u[a][x] += now.dt as Real * bell * stroke.force[a];
                }
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
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &[Substance<D>]) {
        self.field.move_to(grid, now.time);
        let k = (now.dt * self.strength as f64) as Real;
        for a in 0..D {
            let (xi, amount) = (&self.field, self.substance.map(|s| &substances[s].field));
            u[a].par_rows(|row, u| match amount {
                Some(amount) => xi.add_row(a, row, 0, |x| k * amount.row(row)[x], u),
                None => xi.add_row(a, row, 0, |_| k, u),
            });
        }
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
        let dt = (now.time + now.dt).min(self.to) - now.time.max(self.from);
        (dt > 0.0).then_some(Moment { time: now.time, dt })
    }
}

impl<const D: usize> Force<D> for During<Box<dyn Force<D>>> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &[Substance<D>]) {
        if let Some(now) = self.overlap(now) {
            self.effect.apply(grid, now, u, substances);
        }
    }
}

impl<const D: usize> Source<D> for During<Box<dyn Source<D>>> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]) {
        if let Some(now) = self.overlap(now) {
            self.effect.apply(grid, now, u, substances);
        }
    }
}

/// What an emitter does to one substance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Supply {
    /// Holds it at this value.
    Hold(Real),
    /// Adds this much per second.
    Rate(Real),
}

/// A region that gives off substances, and pushes the fluid in it to a velocity.
pub struct Emitter<const D: usize> {
    /// Where, and how strongly.
    pub region: Region<D>,
    /// What it does to which substance, by their places in the list.
    pub supply: Vec<(usize, Supply)>,
    /// The velocity held inside.
    pub velocity: Option<[Real; D]>,
    /// How much the emission flickers, from 0 to 1.
    pub flicker: Real,
    /// Size of the flickering spots and the time they last: metres, seconds.
    pub flicker_scale: (f64, f64),
    /// Makes emitters flicker differently.
    pub seed: u64,
}

impl<const D: usize> Source<D> for Emitter<D> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]) {
        let Emitter { region, supply, velocity, flicker, flicker_scale: (size, lasting), seed } = self;
        for span in region.spans() {
            let row = u[0].layout().row(span.row);
            let first = grid.position(At::Center, row.index.map(|i| i as usize));
            for (k, &weight) in span.weights.iter().enumerate() {
                let x = span.first + k;
                let mut w = weight;
                if *flicker > 0.0 {
                    let mut p: [f64; D] = each(|a| first[a] / *size);
                    p[0] = (first[0] + x as f64 * grid.spacing[0]) / *size;
                    let spots = 0.5 + lattice_noise(p, now.time / *lasting, *seed);
                    w *= 1.0 - *flicker * (1.0 - spots.clamp(0.0, 1.0));
                }
                for &(s, supply) in supply.iter() {
                    let a = &mut substances[s].field.row_mut(row)[x];
                    match supply {
                        Supply::Hold(value) => *a += w * (value - *a),
                        Supply::Rate(rate) => *a += w * now.dt as Real * rate,
                    }
                }
                if let Some(velocity) = velocity {
                    for a in 0..D {
                        let u = &mut u[a].row_mut(row)[x];
                        *u += weight * (velocity[a] - *u);
                    }
                }
            }
        }
    }
}

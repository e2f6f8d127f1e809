//! Elastic liquids: jelly, putty, dough (Goktekin, Bargteil & O'Brien 2004).
//!
//! Particles carry how the matter around them is strained (`particles/strain.rs`), so nothing of it is lost by going from cell to cell. The grid
//! hears the means around centres and edges, where viscous stresses live, and takes `2 k E` for a stress besides those of viscosity, with
//! the same surface, walls and solids. Strains are half a step ahead of velocities; the other half is `dt/2 D(u)` of the velocities that
//! are to be found, which is a viscosity of `k dt / 2`:
//!
//! ```text
//! u = u + dt div (2 k E + 2 (nu + k dt/2) D(u))    by `diffuse/stress`, then div u = 0
//! E += dt D(u)                                     on particles, from the flow around them
//! ```
//!
//! No modulus makes that unstable: a wave of frequency `w` is damped by `1 / sqrt(1 + (w dt)^2 / 2)` in a step and never grows. So stiff jelly takes no
//! shorter steps; waves that are too fast to be seen vanish, those that take many steps ring on. What relaxes in a time `r` has
//! `exp(-dt / 2r) E` for `E` and `r (1 - exp(-dt / 2r))` for `dt/2`: in steps that are much longer it is a viscous liquid of `k r`.

use super::thick::Thick;
use super::{DENSITY, Liquid, PER_AXIS};
use crate::Real;
use crate::diffuse::stress::Strain;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::flow::Flow;
use crate::grid::{At, Grid, Side};
use crate::layout::Layout;
use crate::particles::{Deformation, Slopes, components, edge_at};
use crate::report::Stage;

/// How a liquid remembers its shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elastic {
    /// Its shear modulus, in pascals, for a density of [`DENSITY`].
    pub modulus: f64,
    /// From which strain on it yields; infinite, if it never does.
    pub yield_strain: f64,
    /// How fast it then forgets what is beyond, in 1/s.
    pub yield_rate: f64,
    /// In which time it forgets all of its strain but 37 %, in seconds; infinite, if it never does.
    pub relaxation: f64,
}

impl Elastic {
    /// Jelly of a modulus: it never yields.
    pub fn jelly(modulus: f64) -> Self {
        Elastic { modulus, yield_strain: f64::INFINITY, yield_rate: 0.0, relaxation: f64::INFINITY }
    }

    /// The modulus over the density, in square metres per square second.
    pub fn stiffness(&self) -> f64 {
        self.modulus / DENSITY
    }

    /// What a time does to the strain.
    fn during(&self, dt: f64, h: f64) -> Deformation {
        let forgotten = dt / self.relaxation;
        let gained = if forgotten > 0.0 { -libm::expm1(-forgotten) / forgotten } else { 1.0 };
        let yields = [self.yield_strain, libm::exp(-self.yield_rate * dt)];
        Deformation { cells: dt / h, kept: libm::exp(-forgotten), gained, yields }
    }

    /// What counts of the strain in a step, as a stiffness, and the viscosity that the strain of the new velocities is worth, in m^2/s, if it is strained
    /// by so much in the mean.
    pub(super) fn within(&self, dt: f64, strain: f64) -> [f64; 2] {
        let half = self.during(0.5 * dt, 1.0);
        // What is stretched is stiffer, by as much as `B` is more than 1, and some of it more than the mean.
        let stretch = 1.0 + 4.0 * strain;
        [self.stiffness() * half.kept, self.stiffness() * half.gained * half.cells * stretch]
    }
}

/// Strains on the grid.
pub(super) struct Strained<const D: usize> {
    center: VectorField<D>,
    edge: Vec<Field<D>>,
    /// How many particles were heard of: at centres, and on edges.
    heard: Vec<Field<D>>,
    slopes: Slopes<D>,
}

impl<const D: usize> Strained<D> {
    fn new(grid: &Grid<D>, layout: &Layout<D>) -> Result<Self, OutOfMemory> {
        let ends = grid.flat_ends(0.0);
        let edge = |pair: usize| Field::on(layout, edge_at::<D>(pair), ends);
        Ok(Strained {
            center: crate::flow::vector(|_| Field::on(layout, At::Center, ends))?,
            edge: (0..components(D) - D).map(edge).collect::<Result<_, _>>()?,
            heard: (0..=components(D) - D).map(|_| Field::on(layout, At::Center, ends)).collect::<Result<_, _>>()?,
            slopes: Slopes::new(layout, ends)?,
        })
    }

    pub fn stress(&self, stiffness: f64) -> Strain<'_, D> {
        Strain { stiffness, center: &self.center, edge: &self.edge }
    }
}

impl<const D: usize> Liquid<D> {
    /// Makes the liquid elastic. There must be none yet, carried by particles with [`Apic`](crate::particles::Blend::Apic).
    pub fn set_elastic(&mut self, elastic: Elastic) {
        if self.elastic.is_none() {
            (0..components(D)).for_each(|_| self.particles.carry_one_more());
        }
        self.elastic = Some(elastic);
    }

    /// How it remembers its shape, if it does.
    pub fn elastic(&self) -> Option<Elastic> {
        self.elastic
    }

    /// The energy of its strain over the density, in m^2/s^2 times m^D, as kinetic energy is told.
    pub fn elastic_energy(&self) -> f64 {
        let of =
            |e: Elastic| e.stiffness() * self.particle_volume() * self.particles.elastic_energy(self.carried.len());
        self.elastic.map_or(0.0, of)
    }

    /// How much each particle is strained, in the order of the particles; nothing, if it is not elastic.
    pub fn strains(&self) -> Vec<f32> {
        let some = self.elastic.map(|_| self.particles.strain_norms(self.carried.len()).collect());
        some.unwrap_or_default()
    }

    /// How much it is strained in the mean.
    pub(super) fn mean_strain(&self) -> f64 {
        let (sum, count) = (self.particles.strain_sum(self.carried.len()), self.particles.len());
        if count > 0 { sum / count as f64 } else { 0.0 }
    }

    /// Tells the grid how it is strained.
    pub(super) fn gather_strain(&mut self, thick: &mut Thick<D>) -> Result<(), OutOfMemory> {
        if self.elastic.is_none() {
            thick.strained = None;
            return Ok(());
        }
        let periodic = self.periodic();
        let Self { particles, scatter, flow, carried, .. } = self;
        let first = carried.len();
        if thick.strained.is_none() {
            thick.strained = Some(Strained::new(&flow.grid, thick.walls.layout())?);
        }
        let Some(Strained { center, edge, heard, .. }) = &mut thick.strained else { unreachable!("just made") };
        for a in 0..D {
            particles.strain_to_grid(first, [a; 2], scatter, periodic, [&mut center[a], &mut heard[0]])?;
            for b in a + 1..D {
                particles.strain_to_grid(
                    first,
                    [a, b],
                    scatter,
                    periodic,
                    [&mut edge[a + b - 1], &mut heard[a + b]],
                )?;
            }
        }
        Ok(())
    }

    /// Particles are strained by the flow around them; then they yield.
    pub(super) fn strain(&mut self, dt: f64) {
        let periodic = self.periodic();
        let level = self.surface_level();
        let Self { elastic: Some(elastic), thick: Some(Thick { strained: Some(strained), .. }), .. } = self else {
            return;
        };
        let timer = self.flow.timings.start();
        let Flow { grid, velocity, .. } = &self.flow;
        let h = grid.spacing[0];
        let sides = std::array::from_fn(|a| {
            let [low, high] = grid.axes[a].sides().map_or([false; 2], |sides| sides.map(Side::sticks));
            let [first, last] = grid.end_faces(a);
            [(first, low), (last, high)]
        });
        let heard = (&strained.heard[..], PER_AXIS.pow(D as u32));
        strained.slopes.find(velocity, &self.phi, (level, h as Real), heard, sides);
        self.particles.deform(self.carried.len(), &elastic.during(dt, h), &strained.slopes, periodic);
        self.flow.timings.stop(Stage::Diffuse, timer);
    }
}

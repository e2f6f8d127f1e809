//! Smoke from a setup.

use std::ops::Range;

use squall_core::force::{Buoyancy, Confinement, During, Force, Loss, Moment, ShapedSource, Source, Substance};
use squall_core::model::smoke::{Options, Smoke};
use squall_core::solid::{Boundary, Obstacle};
use squall_core::trace::Tracer;
use squall_core::{At, Field, Grid, Layout, VectorField};

use super::effects::{ExpressionSource, Noises, Shared, fill, fill_row};
use super::{BASE_BYTES, BuildError, Estimate};
use super::{
    advection, bursts, flicker, force, grid, picture_bytes, real_vector, shape, splitting, substance_ends, supply,
    texture, texture_fields,
};
use crate::setup::{self, DENSITY, Formula, Setup, TEMPERATURE};

fn options<const D: usize>(setup: &Setup, smoke: &setup::Smoke) -> Options<D> {
    Options {
        advection: advection(setup),
        splitting: splitting(setup),
        tracer: match setup.solver.tracer {
            setup::Tracer::Auto => Tracer::Auto,
            setup::Tracer::Rk2 => Tracer::Rk2,
            setup::Tracer::Rk3 => Tracer::Rk3,
            setup::Tracer::Adaptive => Tracer::Adaptive,
        },
        wind: real_vector(&smoke.wind),
        wind_rate: smoke.wind_rate,
        buffer: smoke.buffer as usize,
        ..Options::default()
    }
}

/// Builds smoke. A setup of this model always says what smoke does.
pub fn smoke<const D: usize>(setup: &Setup) -> Result<Smoke<D>, BuildError> {
    let Some(smoke) = &setup.smoke else { unreachable!("a setup of the model smoke") };
    let grid = grid::<D>(&setup.grid);
    let noises = Noises::shared(setup, &grid);
    let mut sim = Smoke::new(grid, options(setup, smoke))?;
    sim.viscosity = setup.fluid.viscosity;
    for (i, s) in setup.substances.iter().enumerate() {
        sim.add_substance(&s.name, 0.0)?;
        let substance = &mut sim.substances[i];
        substance.diffusion = s.diffusion;
        substance.threshold = s.threshold as f32;
        substance.dissipation = s.dissipation;
        substance.losses = losses(smoke, i);
        if !setup.grid.is_unbounded() {
            substance.field = Field::new(grid.cells, At::Center, substance_ends::<D>(setup, s))?;
            fill(&mut substance.field, &grid, &s.initial, &noises);
        }
    }
    for (substance, strength) in [(TEMPERATURE, smoke.rise), (DENSITY, -smoke.fall)] {
        if strength != 0.0 {
            sim.forces.push(Box::new(Buoyancy { substance, strength: strength as f32, ambient: 0.0 }));
        }
    }
    if smoke.confinement > 0.0 {
        sim.forces.push(Box::new(Confinement::new(smoke.confinement)));
    }
    for (i, f) in setup.forces.iter().enumerate() {
        let effect: Box<dyn Force<D>> = force(setup, &grid, i, &f.kind, &noises);
        sim.forces.push(Box::new(During { effect, from: f.active.from, to: f.active.to }));
    }
    for (i, s) in setup.sources.iter().enumerate() {
        sim.sources.push(bursts::during(Box::new(source::<D>(setup, &grid, i, s)?), s));
    }
    for (i, s) in setup.substances.iter().enumerate() {
        if let Some(rate) = &s.source {
            sim.sources.push(Box::new(ExpressionSource::new(setup, i, rate, &noises)));
        }
    }
    if let Some(start) = Start::wanted(setup, &noises) {
        sim.sources.push(Box::new(start));
    }
    sim.set_obstacles(obstacles(setup, &grid)?, boundary(setup))?;
    sim.texture = texture(setup, &grid, sim.layout())?;
    Ok(sim)
}

/// The solids of the scene.
pub fn obstacles<const D: usize>(setup: &Setup, grid: &Grid<D>) -> Result<Vec<Obstacle<D>>, BuildError> {
    let obstacles = setup.objects.iter().filter(|o| o.solid).map(|o| {
        let shape = shape::moving::<D>(&o.shape, &o.motion, grid.min_spacing())?;
        Ok(Obstacle { friction: o.friction, ..Obstacle::new(&o.name, shape) })
    });
    obstacles.collect()
}

/// How they enter the grid.
pub fn boundary(setup: &Setup) -> Boundary {
    match setup.solver.solids {
        setup::Solids::CutCells => Boundary::CutCells,
        setup::Solids::Cells => Boundary::Cells,
    }
}

/// How the substance of this number vanishes. Radiation is given at 1000 K.
fn losses(smoke: &setup::Smoke, substance: usize) -> Vec<Loss> {
    const HOT: f32 = 1000.0;
    let fading = match smoke.fade_law {
        setup::FadeLaw::Even => Loss::Fade { rate: smoke.fade },
        setup::FadeLaw::ThinFirst => Loss::Subtract { rate: smoke.fade },
    };
    let cooling = Loss::Fade { rate: smoke.cooling };
    let radiating = Loss::Radiate { rate: smoke.radiation / f64::from(HOT), reference: HOT };
    let all = [
        (DENSITY, smoke.fade, fading),
        (TEMPERATURE, smoke.cooling, cooling),
        (TEMPERATURE, smoke.radiation, radiating),
    ];
    all.into_iter().filter(|&(of, rate, _)| of == substance && rate > 0.0).map(|(.., loss)| loss).collect()
}

/// An emitter, which may move.
pub fn source<const D: usize>(
    setup: &Setup,
    grid: &Grid<D>,
    i: usize,
    s: &setup::Source,
) -> Result<ShapedSource<D>, BuildError> {
    let mut shape = shape::moving::<D>(&s.shape, &s.motion, grid.min_spacing())?;
    if let Some(object) = s.follow {
        shape = shape::moved(shape, &setup.objects[object].motion);
    }
    Ok(ShapedSource {
        supply: supply(setup, s),
        velocity: s.velocity.as_ref().map(|v| real_vector(v)),
        drags: s.drag,
        expansion: s.expansion as f32,
        flicker: flicker(setup, grid, i, s),
        ..ShapedSource::new(shape)
    })
}

/// The initial values of a grid that follows the smoke, and initial velocities: put in place by the first step, since
/// before it there are no cells.
struct Start<const D: usize> {
    /// For each substance; none in a box, where they are there before the first step.
    initial: Vec<Formula>,
    velocity: Vec<Formula>,
    noises: Shared<D>,
}

impl<const D: usize> Start<D> {
    fn wanted(setup: &Setup, noises: &Shared<D>) -> Option<Self> {
        let unbounded = setup.grid.is_unbounded();
        let initial = setup.substances.iter().map(|s| s.initial.clone()).filter(|_| unbounded).collect::<Vec<_>>();
        let velocity = setup.fluid.velocity.clone();
        let something = initial.iter().chain(&velocity).any(|f| *f != Formula::Number(0.0));
        something.then(|| Start { initial, velocity, noises: noises.clone() })
    }
}

impl<const D: usize> Source<D> for Start<D> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]) {
        if now.time > 0.0 {
            return;
        }
        let moving = self.velocity.iter().any(|f| *f != Formula::Number(0.0));
        let velocities = self.velocity.iter().zip(u.iter_mut()).filter(|_| moving);
        let fields = self.initial.iter().zip(substances.iter_mut().map(|s| &mut s.field));
        for (formula, field) in fields.chain(velocities) {
            fill_row(field, grid, formula, &self.noises, |index| {
                (0..D).all(|a| index[a] >= 0 && index[a] < grid.cells[a] as isize)
            });
        }
    }

    fn cells(&self, grid: &Grid<D>, time: f64) -> Option<[Range<isize>; D]> {
        (time <= 0.0 && !self.initial.is_empty()).then(|| grid.cells.map(|n| 0..n as isize))
    }
}

/// What smoke will take. Where the grid follows the smoke, as if it filled the box that is looked at.
pub fn estimate<const D: usize>(setup: &Setup) -> Estimate {
    let Some(smoke) = &setup.smoke else { unreachable!("a setup of the model smoke") };
    let grid = grid::<D>(&setup.grid);
    // The solver keeps coarser copies and a few vectors.
    let solver_fields = 12;
    let fields = Smoke::<D>::fields_needed(&options(setup, smoke), setup.substances.len())
        + solver_fields
        + texture_fields::<D>(setup);
    let bytes = (fields as u64)
        .saturating_mul(Layout::<D>::bytes(grid.cells))
        .saturating_add(picture_bytes(setup))
        .saturating_add(BASE_BYTES);
    let why = match setup.grid.is_unbounded() {
        true => "the grid follows the smoke; the estimate is for smoke that fills the box that is looked at",
        false => "cells may be cut by solids",
    };
    Estimate { bytes, fields, solver: "conjugate gradients with multigrid".to_owned(), why: why.to_owned() }
}

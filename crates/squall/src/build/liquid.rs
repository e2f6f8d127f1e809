//! Liquids from a setup.

use squall_core::flow::Flow;
use squall_core::force::{During, Uniform};
use squall_core::model::liquid::{Blob, Liquid, Opening, PER_AXIS, Spout, Tracking as By, Zone};
use squall_core::particles::{Blend, Particle};
use squall_core::poisson::{Problem, plan};
use squall_core::shape::Motion;
use squall_core::{Grid, Layout, Shape};
use std::sync::Arc;

use super::effects::Noises;
use super::smoke::{boundary, obstacles};
use super::{BASE_BYTES, BuildError, Estimate, animate, force, grid, picture_bytes, real_vector, shape};
use crate::setup::{self, Setup, Tracking, Transfer};

/// Builds a liquid. A setup of this model always says what it does.
pub fn liquid<const D: usize>(setup: &Setup) -> Result<Liquid<D>, BuildError> {
    let Some(liquid) = &setup.liquid else { unreachable!("a setup of the model liquid") };
    let grid = grid::<D>(&setup.grid);
    let noises = Noises::shared(setup, &grid);
    let mut sim = Liquid::new(grid, super::options(setup))?;
    sim.blend = match liquid.transfer {
        Transfer::Apic => Blend::Apic,
        Transfer::Flip => Blend::Flip(liquid.flip as f32),
    };
    sim.keeps_volume = liquid.keep_volume;
    sim.track_by(match liquid.tracking {
        Tracking::Particles => By::Particles,
        Tracking::Markers => By::Markers,
        Tracking::LevelSet => By::LevelSet,
    })?;
    let gravity = liquid.gravity.clone();
    sim.flow.forces.push(animate::force(animate::moves(&gravity), Uniform([0.0; D]), move |force, t| {
        force.0 = real_vector(&setup::curve::at(&gravity, t));
    }));
    for (i, f) in setup.forces.iter().enumerate() {
        let effect = force(setup, &grid, i, &f.kind, &noises);
        sim.flow.forces.push(Box::new(During { effect, from: f.active.from, to: f.active.to }));
    }
    sim.spouts = setup.spouts.iter().map(|s| Arc::new(spout::<D>(setup, s))).collect();
    // As deep as the grid can see.
    let nozzles = sim.spouts.iter().map(|spout| spout.nozzle(2.0 * grid.min_spacing()));
    let solids = obstacles(setup, &grid)?.into_iter().chain(nozzles).collect();
    sim.flow.set_obstacles(solids, boundary(setup))?;
    for blob in &setup.blobs {
        let shape = shape::still::<D>(&blob.shape, grid.min_spacing())?;
        let velocity = real_vector(&blob.velocity);
        sim.blobs.push(Blob { every: blob.every, to: blob.to, ..Blob::at(blob.time, shape, velocity) });
    }
    for source in &setup.sources {
        sim.zones.push(zone(setup, source, &grid)?);
    }
    Ok(sim)
}

/// The motion of something that may be a part of an object, one after the other.
fn motions<const D: usize>(setup: &Setup, own: &setup::Motion, follow: Option<usize>) -> Vec<Motion<D>> {
    let object = follow.map(|object| &setup.objects[object].motion);
    [Some(own), object].into_iter().flatten().filter(|m| !m.is_rest()).map(shape::rigid).collect()
}

fn spout<const D: usize>(setup: &Setup, s: &setup::Spout) -> Spout<D> {
    let vector = |v: &[f64]| -> [f64; D] { std::array::from_fn(|a| v[a]) };
    let opening = match &s.opening {
        setup::Opening::Disc(radius) => Opening::Disc(*radius),
        setup::Opening::Rectangle(sides, side) => Opening::Rectangle(sides.map(|v| 0.5 * v), vector(side)),
    };
    let (active, every, speed) = (s.active, s.every, s.speed.clone());
    let speed = Arc::new(move |t: f64| if setup::is_on(active, every, t) { speed.at(t).max(0.0) } else { 0.0 });
    let mut spout = Spout::new(vector(&s.center), vector(&s.direction), opening, speed);
    spout.steady = s.speed.is_constant() && active.from == 0.0 && active.to == f64::INFINITY;
    spout.motions = motions(setup, &s.motion, s.follow);
    spout
}

fn zone<const D: usize>(setup: &Setup, s: &setup::Source, grid: &Grid<D>) -> Result<Zone<D>, BuildError> {
    let mut shape = shape::moving::<D>(&s.shape, &s.motion, grid.min_spacing())?;
    if let Some(object) = s.follow {
        shape = shape::moved(shape, &setup.objects[object].motion);
    }
    let (active, every) = (s.active, s.every);
    let speed = s.velocity.iter().flatten().map(|v| v.largest_abs(setup.time.duration())).fold(0.0, f64::max);
    let velocity = s.velocity.clone().map(|curves| -> Box<dyn Fn(f64) -> [f32; D] + Send + Sync> {
        Box::new(move |t| real_vector(&setup::curve::at(&curves, t)))
    });
    // What is filled and has no velocity of its own is at rest, or moves with the shape.
    let still = || -> Box<dyn Fn(f64) -> [f32; D] + Send + Sync> { Box::new(|_| [0.0; D]) };
    Ok(Zone {
        drags: s.drag && shape.moves() && !s.drain,
        shape,
        fills: s.fill,
        drains: s.drain,
        velocity: velocity.or_else(|| s.fill.then(still)),
        on: Box::new(move |t| setup::is_on(active, every, t)),
        speed,
    })
}

/// What a liquid will take: as much of it as all that comes in together.
pub fn estimate<const D: usize>(setup: &Setup) -> Estimate {
    let grid = grid::<D>(&setup.grid);
    let solids = setup.objects.iter().any(|o| o.solid) || !setup.spouts.is_empty();
    let plan = plan(Problem::of(&grid).with_solids(solids).with_surface(true));
    let around_solids = if solids { 2 * D + 3 } else { 0 };
    // Distance, density and what is to be moved; five for extrapolation; four vectors; windows of the particles.
    // A level set has its own, and one that is marched over with a flag for each cell.
    let by_level_set = setup.liquid.as_ref().is_some_and(|l| l.tracking == Tracking::LevelSet);
    let own = 3 + 5 + 4 * D + 3 + if by_level_set { 6 } else { 0 };
    let fields = Flow::<D>::fields_needed(&super::options(setup), 1) + around_solids + own;
    let cells = setup.cell_count() as f64;
    let again = |blob: &setup::Blob| {
        let end = blob.to.min(setup.time.duration());
        if blob.every.is_finite() { ((end - blob.time) / blob.every).max(0.0).floor() + 1.0 } else { 1.0 }
    };
    let blobs = setup.blobs.iter().map(|blob| again(blob) * part_inside::<D>(&grid, blob)).sum::<f64>();
    let size: f64 = setup.grid.size.iter().product();
    let spouts = setup.spouts.iter().map(|s| {
        let seconds = (s.active.to.min(setup.time.duration()) - s.active.from).max(0.0);
        spout::<D>(setup, s).area() * s.speed.largest_abs(setup.time.duration()) * seconds / size
    });
    // How much of what a source fills runs away is not known.
    let sources = if setup.sources.iter().any(|s| s.fill) { 0.3 } else { 0.0 };
    let filled = (blobs + spouts.sum::<f64>() + sources).min(1.0);
    // Those of a level set are small, many, and only near its surface: as much as if they filled it.
    let particles = cells * filled * PER_AXIS.pow(D as u32) as f64;
    // Lists grow by doubling, and a state is a copy of them.
    let bytes = ((fields as u64).saturating_mul(Layout::<D>::bytes(grid.cells)))
        .saturating_add(plan.bytes)
        .saturating_add((2.5 * particles * size_of::<Particle<D>>() as f64) as u64)
        .saturating_add(picture_bytes(setup))
        .saturating_add(BASE_BYTES);
    Estimate { bytes, fields, solver: plan.how(), why: plan.reason.to_owned() }
}

/// About how much of the box a blob fills: by points of a lattice.
fn part_inside<const D: usize>(grid: &Grid<D>, blob: &setup::Blob) -> f64 {
    const POINTS: usize = 24;
    let Ok(shape) = shape::still::<D>(&blob.shape, grid.min_spacing()) else { return 1.0 };
    let inside = |mut i: usize| {
        let x = std::array::from_fn(|a| {
            let k = i % POINTS;
            i /= POINTS;
            grid.origin[a] + (k as f64 + 0.5) / POINTS as f64 * grid.cells[a] as f64 * grid.spacing[a]
        });
        shape.distance(x, blob.time) < 0.0
    };
    let points = POINTS.pow(D as u32);
    (0..points).filter(|&i| inside(i)).count() as f64 / points as f64
}

//! Liquids from a setup.

use squall_core::diffuse::stress::Stress;
use squall_core::flow::Flow;
use squall_core::force::{Brush, During, Uniform};
use squall_core::model::liquid::{
    Beginning, Blob, Heat, Heater, Liquid, Melting, Opening, PER_AXIS, Spout, Tracking as By, Values,
    Viscous as ByViscosity, Zone,
};
use squall_core::particles::{Blend, Particle};
use squall_core::poisson::{Problem, plan};
use squall_core::shape::Motion;
use squall_core::{At, Field, Grid, Layout, Shape};
use std::sync::Arc;

use super::effects::{Noises, Shared, Thickness, fill};
use super::smoke::{boundary, obstacles};
use super::{
    BASE_BYTES, BuildError, Estimate, animate, figure, force, grid, noise_bytes, picture_bytes, real_vector, shape,
};
use crate::setup::{self, Formula, MeltingLaw, Setup, Tracking, Transfer, Viscous};

/// Builds a liquid. A setup of this model always says what it does.
pub fn liquid<const D: usize>(setup: &Setup, brush: &Brush) -> Result<Liquid<D>, BuildError> {
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
    if liquid.narrow_band > 0 {
        sim.keep_band(Some(liquid.narrow_band as usize))?;
    }
    sim.surface_tension = liquid.surface_tension;
    sim.viscous = match liquid.viscous {
        Viscous::Full => ByViscosity::Full,
        Viscous::Component => ByViscosity::Component,
    };
    match (&setup.viscosity, &liquid.melting) {
        (Formula::Number(nu), None) => sim.flow.viscosity = *nu,
        (formula, melting) => {
            let melting = melting.as_ref().map(|m| Melting {
                substance: setup.substances.iter().position(|s| s.name == m.substance).expect("it was looked for"),
                range: m.range,
                viscosity: [m.solid; 2],
                logarithmic: m.law == MeltingLaw::Log,
            });
            sim.set_viscosity_law(Box::new(Thickness::new(setup, formula, melting, &noises)));
        }
    }
    if let Some(elastic) = setup.elastic {
        sim.set_elastic(elastic);
    }
    for s in &setup.substances[1..] {
        let k = sim.carry(&s.name, beginning(&grid, &s.initial, &noises)?)?;
        let substance = &mut sim.flow.substances[k + 1];
        (substance.diffusion, substance.dissipation) = (s.diffusion, s.dissipation);
    }
    if let Some((heat, heaters)) = heat(setup, &grid)? {
        sim.set_heat(heat, heaters);
    }
    let gravity = liquid.gravity.clone();
    sim.flow.forces.push(animate::force(animate::moves(&gravity), Uniform([0.0; D]), move |force, t| {
        force.0 = real_vector(&setup::curve::at(&gravity, t));
    }));
    for (i, f) in setup.forces.iter().enumerate() {
        let effect = force(setup, &grid, i, &f.kind, &noises);
        sim.flow.forces.push(Box::new(During { effect, from: f.active.from, to: f.active.to }));
    }
    sim.flow.forces.push(Box::new(brush.clone()));
    sim.brush = brush.clone();
    sim.spouts = setup.spouts.iter().map(|s| Arc::new(spout::<D>(setup, s))).collect();
    // As deep as the grid can see.
    let nozzles = sim.spouts.iter().map(|spout| spout.nozzle(2.0 * grid.min_spacing()));
    let solids = obstacles(setup, &grid)?.into_iter().chain(nozzles).collect();
    sim.flow.set_obstacles(solids, boundary(setup))?;
    for blob in &setup.blobs {
        let (shape, velocity) = (blob_shape::<D>(setup, &grid, blob)?, real_vector(&blob.velocity));
        let set = values(&blob.set);
        sim.blobs.push(Blob { every: blob.every, to: blob.to, set, ..Blob::at(blob.time, shape, velocity) });
    }
    for source in &setup.sources {
        sim.zones.push(zone(setup, source, &grid)?);
    }
    Ok(sim)
}

/// How a liquid is heated and cooled, if it is, or takes heat to melt.
fn heat<const D: usize>(setup: &Setup, grid: &Grid<D>) -> Result<Option<(Heat, Vec<Heater<D>>)>, BuildError> {
    let Some(liquid) = &setup.liquid else { return Ok(None) };
    let (melting, loss) = (liquid.melting.as_ref(), liquid.heat.as_ref());
    let hot = setup.objects.iter().filter_map(|o| Some((o, o.temperature.clone()?)));
    let heaters = hot.map(|(o, curve)| {
        let shape = shape::moving::<D>(&o.shape, &o.motion, grid.min_spacing())?;
        Ok(Heater { shape, temperature: Arc::new(move |t| curve.at(t)) })
    });
    let heaters: Vec<_> = heaters.collect::<Result<_, BuildError>>()?;
    let latent = melting.map_or(0.0, |m| m.latent);
    if loss.is_none() && heaters.is_empty() && latent == 0.0 {
        return Ok(None);
    }
    let name = loss.map(|l| l.substance.as_str()).or(melting.map(|m| m.substance.as_str())).unwrap_or("temperature");
    let place = setup.substances.iter().position(|s| s.name == name).expect("it was looked for");
    let heat = Heat {
        carried: place - 1,
        latent,
        range: melting.map_or([0.0, 1.0], |m| m.range),
        air: loss.map_or(0.0, |l| l.air),
        cooling: loss.map_or(0.0, |l| l.cooling),
        emissivity: loss.map_or(0.0, |l| l.emissivity),
    };
    Ok(Some((heat, heaters)))
}

/// What liquid carries that says nothing of its own.
fn beginning<const D: usize>(
    grid: &Grid<D>,
    initial: &Formula,
    noises: &Shared<D>,
) -> Result<Beginning<D>, BuildError> {
    if let Formula::Number(value) = initial {
        let value = *value as f32;
        return Ok(Box::new(move |_| value));
    }
    let mut field = Field::new(grid.cells, At::Center, grid.flat_ends(0.0))?;
    fill(&mut field, grid, initial, noises);
    let grid = *grid;
    // What is no number somewhere counts as nothing there.
    let usable = |v: f32| if v.is_finite() { v } else { 0.0 };
    Ok(Box::new(move |x| {
        usable(field.get(std::array::from_fn(|a| {
            let cell = ((x[a] - grid.origin[a]) / grid.spacing[a]).max(0.0) as usize;
            cell.min(grid.cells[a] - 1)
        })))
    }))
}

/// Values over time of what a liquid carries: the first substance is the liquid itself.
fn values(set: &[(usize, setup::Curve)]) -> Values {
    let value = |(index, curve): &(usize, setup::Curve)| -> (usize, squall_core::model::liquid::Curve) {
        let curve = curve.clone();
        (index - 1, Arc::new(move |t| curve.at(t)))
    };
    set.iter().map(value).collect()
}

/// What a blob fills.
fn blob_shape<const D: usize>(
    setup: &Setup,
    grid: &Grid<D>,
    blob: &setup::Blob,
) -> Result<Box<dyn Shape<D>>, BuildError> {
    match (&blob.shape, &blob.figure) {
        (Some(shape), _) => shape::still::<D>(shape, grid.min_spacing()),
        (None, Some(drawn)) => figure::shape(setup, grid, drawn),
        (None, None) => unreachable!("a blob has a shape or a figure"),
    }
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
    spout.set = values(&s.set);
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
        set: values(&s.set),
        rate: values(&s.rate),
        on: Box::new(move |t| setup::is_on(active, every, t)),
        speed,
    })
}

/// What a liquid will take: as much of it as all that comes in together. Where the grid follows it, as if it stayed in the box that is looked at.
pub fn estimate<const D: usize>(setup: &Setup) -> Estimate {
    let grid = grid::<D>(&setup.grid);
    let solids = setup.objects.iter().any(|o| o.solid) || !setup.spouts.is_empty();
    let plan = plan(Problem::of(&grid).with_solids(solids).with_surface(true));
    let around_solids = if solids { 2 * D + 3 } else { 0 };
    // Five more and a vector for surface tension; what objects do to a liquid that leaves them. A level set has its own, and one that is marched over with a flag for each cell.
    let has = |f: fn(&setup::Liquid) -> bool| setup.liquid.as_ref().is_some_and(f);
    let tension = if has(|l| l.surface_tension > 0.0) { 5 + D } else { 0 };
    let by_level_set = if has(|l| l.tracking == Tracking::LevelSet) { 6 } else { 0 };
    let band = if has(|l| l.narrow_band > 0) { 2 } else { 0 };
    // Thick liquids have a solver of their own, two vectors, walls, and with a law three fields.
    let constant = matches!(setup.viscosity, Formula::Number(_)) && has(|l| l.melting.is_none());
    let thick = !constant || setup.viscosity != Formula::Number(0.0) || setup.elastic.is_some();
    // Those that remember their shape have strains at centres and on edges, of both grids.
    let strains = if setup.elastic.is_some() { D * (D + 1) / 2 } else { 0 };
    let elastic = if strains > 0 { 2 * strains + D + 1 } else { 0 };
    let viscous = if thick { 3 * D + 1 + if constant { 0 } else { 3 } } else { 0 };
    let solver = if thick { Stress::<D>::estimate_bytes(setup.cell_count()) } else { 0 };
    // Distance and density; what is mixed; changes beyond the surface; three vectors; windows of the particles.
    let mixture = usize::from(setup.substances.len() > 1);
    let own = viscous
        + elastic
        + 2
        + mixture
        + 1
        + 3 * D
        + (1 << D)
        + band
        + tension
        + by_level_set
        + if solids { D } else { 0 };
    let substances = setup.substances.len();
    let flow = match has(|l| l.tracking == Tracking::Particles && l.narrow_band == 0) {
        true => Flow::<D>::fields_needed_by_particles(substances),
        false => Flow::<D>::fields_needed(&super::options(setup), substances),
    };
    let fields = flow + around_solids + own;
    let cells = setup.cell_count() as f64;
    let again = |blob: &setup::Blob| {
        let end = blob.to.min(setup.time.duration());
        if blob.every.is_finite() { ((end - blob.time) / blob.every).max(0.0).floor() + 1.0 } else { 1.0 }
    };
    let blobs = setup.blobs.iter().map(|blob| again(blob) * part_inside::<D>(setup, &grid, blob)).sum::<f64>();
    let size: f64 = setup.grid.size.iter().product();
    let spouts = setup.spouts.iter().map(|s| {
        let seconds = (s.active.to.min(setup.time.duration()) - s.active.from).max(0.0);
        spout::<D>(setup, s).area() * s.speed.largest_abs(setup.time.duration()) * seconds / size
    });
    // How much of what a source fills runs away is not known.
    let sources = if setup.sources.iter().any(|s| s.fill) { 0.3 } else { 0.0 };
    let filled = blobs + spouts.sum::<f64>() + sources;
    let filled = if setup.grid.is_unbounded() { filled } else { filled.min(1.0) };
    // Those of a level set are small, many, and only near its surface: as much as if they filled it.
    let particles = cells * filled * PER_AXIS.pow(D as u32) as f64;
    let each = size_of::<Particle<D>>() + (substances - 1 + strains) * size_of::<f32>();
    let smoothing = u64::from(setup.surface.refine).pow(D as u32).saturating_mul(setup.cell_count()).saturating_mul(4);
    // Lists grow by an eighth, and a state is a copy of them.
    let bytes = ((fields as u64).saturating_mul(Layout::<D>::bytes(grid.cells)))
        .saturating_add(plan.bytes)
        .saturating_add(solver)
        .saturating_add((2.5 * particles * each as f64) as u64)
        .saturating_add(noise_bytes(setup, &grid))
        .saturating_add(picture_bytes(setup))
        // What smoothed the surface is gone by then.
        .saturating_add(caustic_bytes(setup, &grid).saturating_sub(smoothing))
        .saturating_add(BASE_BYTES);
    let why = match setup.grid.is_unbounded() {
        true => format!("{}; memory is estimated for liquid that stays in the framed box", plan.reason),
        false => plan.reason.to_owned(),
    };
    Estimate { bytes, fields, solver: plan.how(), why }
}

/// What light that falls through water takes while a 3D picture is drawn: maps as wide as the box and as high as the water gets.
fn caustic_bytes<const D: usize>(setup: &Setup, grid: &Grid<D>) -> u64 {
    let Some(film) = setup.film.as_ref().filter(|_| D == 3 && setup.picture.show == setup::Show::Water) else {
        return 0;
    };
    let has_objects = setup.objects.iter().any(|o| o.visible);
    let (low, size) = (grid.origin, grid.size());
    let ground = match &film.render.ground {
        Some(ground) => ground.height,
        None if has_objects => low[1],
        None => return 0,
    };
    let top = low[1] + size[1];
    let blobs = setup.blobs.iter().map(|blob| {
        let bounds = blob_shape::<D>(setup, grid, blob).ok().and_then(|shape| shape.bounds(blob.time));
        bounds.map_or(top, |(_, high)| high[1])
    });
    let gravity = setup.liquid.as_ref().map_or(0.0, |l| -l.gravity[1].at(0.0)).max(0.1);
    let spouts = setup.spouts.iter().map(|s| {
        // As high as a jet rises.
        let length = s.direction.iter().map(|d| d * d).sum::<f64>().sqrt();
        let upwards = s.speed.largest_abs(setup.time.duration()) * (s.direction[1] / length).max(0.0);
        s.center[1] + 0.5 * upwards * upwards / gravity
    });
    let sources = setup.sources.iter().map(|_| top);
    let highest = blobs.chain(spouts).chain(sources).fold(ground, f64::max).min(top);
    let sun = |light: &setup::Light| match &light.source {
        setup::LightSource::Sun(to) => Some(to.each_ref().map(|curve| curve.at(0.0))),
        setup::LightSource::Point(_) => None,
    };
    let suns: Vec<[f64; 3]> = film.lights.iter().filter_map(sun).collect();
    let high: [f64; 3] = std::array::from_fn(|a| if a == 1 { highest } else { low[a] + size[a] });
    let low: [f64; 3] = std::array::from_fn(|a| low[a]);
    let fine = if film.render.samples == 1 { 1.0 } else { 0.5 } / f64::from(setup.surface.refine);
    squall_render::film::light_map_bytes(low, high, ground, has_objects, &suns, fine * setup.grid.spacing()[0])
}

/// Whether a blob has an inside at all: looks at points of a lattice where it is.
pub fn has_inside<const D: usize>(setup: &Setup, blob: &setup::Blob) -> Result<bool, BuildError> {
    const POINTS: usize = 40;
    let grid = grid::<D>(&setup.grid);
    let shape = blob_shape::<D>(setup, &grid, blob)?;
    let size = grid.size();
    let (low, high) =
        shape.bounds(blob.time).unwrap_or((grid.origin, std::array::from_fn(|a| grid.origin[a] + size[a])));
    let point = |mut i: usize| {
        std::array::from_fn(|a| {
            let k = i % POINTS;
            i /= POINTS;
            low[a] + (k as f64 + 0.5) / POINTS as f64 * (high[a] - low[a])
        })
    };
    Ok((0..POINTS.pow(D as u32)).any(|i| shape.distance(point(i), blob.time) < 0.0))
}

/// About how much of the box a blob fills: by points of a lattice. Where there is no box, of all that it fills.
fn part_inside<const D: usize>(setup: &Setup, grid: &Grid<D>, blob: &setup::Blob) -> f64 {
    const POINTS: usize = 24;
    let Ok(shape) = blob_shape::<D>(setup, grid, blob) else { return 1.0 };
    let size = grid.size();
    let own = shape.bounds(blob.time).filter(|(low, high)| {
        grid.is_unbounded() && low.iter().chain(high).all(|x| x.is_finite()) && (0..D).all(|a| low[a] < high[a])
    });
    let (low, sides) = own.map_or((grid.origin, size), |(low, high)| (low, std::array::from_fn(|a| high[a] - low[a])));
    let inside = |mut i: usize| {
        let x = std::array::from_fn(|a| {
            let k = i % POINTS;
            i /= POINTS;
            low[a] + (k as f64 + 0.5) / POINTS as f64 * sides[a]
        });
        shape.distance(x, blob.time) < 0.0
    };
    let points = POINTS.pow(D as u32);
    let part = (0..points).filter(|&i| inside(i)).count() as f64 / points as f64;
    part * sides.iter().product::<f64>() / size.iter().product::<f64>()
}

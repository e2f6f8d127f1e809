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
use squall_core::solid::Solids;
use squall_core::{At, Axis, Field, Grid, Layout, Shape, Side};
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

/// What becomes of a blob in the box.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// Liquid.
    Liquid,
    /// Nothing: all of it lies in these objects.
    Covered(Vec<String>),
    /// Nothing or hardly anything: it has an inside, but particles are further apart.
    TooSmall,
    /// Nothing: it has no inside.
    Empty,
}

/// Looks what becomes of a blob: at points of a lattice, not finer than that of the particles.
pub fn fate<const D: usize>(setup: &Setup, blob: &setup::Blob) -> Result<Fate, BuildError> {
    let most = if D == 2 { 200 } else { 40 };
    let grid = grid::<D>(&setup.grid);
    let shape = blob_shape::<D>(setup, &grid, blob)?;
    let (size, apart) = (grid.size(), grid.min_spacing() / PER_AXIS as f64);
    let (low, high) = part_in_box(&grid, shape.bounds(blob.time));
    let solids = solids_around::<D>(setup, &low, &high, blob.time)?;
    let is_inside = |x: [f64; D]| shape.distance(x, blob.time) < 0.0;
    // Those particles that may be in it.
    let first: [f64; D] = std::array::from_fn(|a| ((low[a] - grid.origin[a]) / apart).floor());
    let count: [usize; D] =
        std::array::from_fn(|a| (((high[a] - grid.origin[a]) / apart).ceil() - first[a]).clamp(1.0, 1e9) as usize);
    let place = |k: [usize; D]| -> [f64; D] {
        std::array::from_fn(|a| {
            let k = if count[a] <= most { k[a] as f64 } else { (k[a] * (count[a] - 1) / (most - 1)) as f64 };
            grid.origin[a] + (first[a] + k + 0.5) * apart
        })
    };
    let in_box =
        |x: [f64; D]| grid.is_unbounded() || (0..D).all(|a| (0.0..=size[a]).contains(&(x[a] - grid.origin[a])));
    let mut covering: Vec<String> = Vec::new();
    for x in lattice(count.map(|n| n.min(most))).map(place).filter(|&x| in_box(x) && is_inside(x)) {
        match solids.iter().find(|(_, solid)| solid.distance(x, blob.time) <= 0.0) {
            None => return Ok(Fate::Liquid),
            Some((name, _)) if !covering.contains(name) => covering.push(name.clone()),
            Some(_) => {}
        }
    }
    if !covering.is_empty() {
        return Ok(Fate::Covered(covering));
    }
    let between =
        |k: [usize; D]| std::array::from_fn(|a| low[a] + (k[a] as f64 + 0.5) / most as f64 * (high[a] - low[a]));
    Ok(if lattice([most; D]).map(between).any(is_inside) { Fate::TooSmall } else { Fate::Empty })
}

/// Whether the body of a spout is too thin for the grid, which makes it thicker and closes it: then the least width of an opening that lets liquid out there.
pub fn least_opening<const D: usize>(setup: &Setup, s: &setup::Spout) -> Result<Option<f64>, BuildError> {
    let h = setup.grid.spacing()[0];
    let narrowest = s.opening.narrowest(D);
    // Plates as thick as the diagonal of a cell are seen anywhere.
    if narrowest > 1.8 * h || !is_too_thin::<D>(setup, s)? {
        return Ok(None);
    }
    for twentieths in 1..=40 {
        let width = f64::from(twentieths) / 20.0 * h;
        let wider = setup::Spout { opening: s.opening.at_least(width), ..s.clone() };
        if width > narrowest && !is_too_thin::<D>(setup, &wider)? {
            return Ok(Some(width));
        }
    }
    Ok(Some(2.0 * h))
}

/// Whether the cells around the body of a spout do not see how thick it is.
fn is_too_thin<const D: usize>(setup: &Setup, s: &setup::Spout) -> Result<bool, BuildError> {
    let whole = grid::<D>(&setup.grid);
    let h = whole.min_spacing();
    let nozzle = || Arc::new(spout::<D>(setup, s)).nozzle(2.0 * h);
    let Some((low, high)) = nozzle().shape.bounds(0.0) else { return Ok(false) };
    let size = whole.size();
    let is_inside = (0..D).all(|a| whole.origin[a] <= low[a] && high[a] <= whole.origin[a] + size[a]);
    let walls = [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; D];
    // The thin parts of a long slit are as thin elsewhere.
    let cells: [usize; D] = std::array::from_fn(|a| ((high[a] - low[a]) / h).clamp(0.0, 60.0).ceil() as usize + 4);
    let begins = |origin: [f64; D]| Grid { origin, ..Grid::new(cells, cells.map(|n| n as f64 * h), walls) };
    // Cells of the scene; and as it does, those that begin beside what leaves the box.
    let own = std::array::from_fn(|a| whole.origin[a] + (((low[a] - whole.origin[a]) / h).floor() - 1.0) * h);
    let beside = (!is_inside).then(|| low.map(|x| x - h));
    for grid in std::iter::once(own).chain(beside).map(begins) {
        let mut solids = Solids::new(&grid, vec![nozzle()], boundary(setup))?;
        if !solids.thicken(&grid, 0.0).is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The numbers of the points of a lattice.
fn lattice<const D: usize>(count: [usize; D]) -> impl Iterator<Item = [usize; D]> {
    (0..count.iter().product()).map(move |mut i: usize| {
        count.map(|n| {
            let k = i % n;
            i /= n;
            k
        })
    })
}

/// The part of a box that lies in that of the scene; all of it, where the grid follows the liquid.
fn part_in_box<const D: usize>(grid: &Grid<D>, bounds: Option<([f64; D], [f64; D])>) -> ([f64; D], [f64; D]) {
    let (from, size) = (grid.origin, grid.size());
    let to: [f64; D] = std::array::from_fn(|a| from[a] + size[a]);
    let Some((low, high)) = bounds else { return (from, to) };
    let held = |x: [f64; D]| -> [f64; D] {
        std::array::from_fn(|a| if grid.is_unbounded() && x[a].is_finite() { x[a] } else { x[a].clamp(from[a], to[a]) })
    };
    (held(low), held(high))
}

/// A solid and its name.
type Named<const D: usize> = (String, Box<dyn Shape<D>>);

/// The solids that may hide all of a box, as they are at a time, and their names. Meshes take long to build: only those at rest around the box are looked at.
fn solids_around<const D: usize>(
    setup: &Setup,
    low: &[f64; D],
    high: &[f64; D],
    time: f64,
) -> Result<Vec<Named<D>>, BuildError> {
    let h = setup.grid.spacing()[0];
    let around = |o: &setup::Object| {
        let (from, to) = o.shape.extent();
        o.motion.is_rest() && (0..D).all(|a| from[a] <= low[a] && high[a] <= to[a])
    };
    let solids = setup.objects.iter().filter(|o| o.solid && (!o.shape.has_mesh() || around(o)));
    let built = solids.map(|o| {
        let mut shape = shape::moving::<D>(&o.shape, &o.motion, h)?;
        shape.prepare(time);
        Ok((o.name.clone(), shape))
    });
    built.collect()
}

/// Whether solids fill the whole box at the start: no centre of a cell is free, as far as some of them show.
pub fn is_full_of_objects<const D: usize>(setup: &Setup) -> Result<bool, BuildError> {
    const MOST: usize = 48;
    // What moves may make room.
    if setup.objects.iter().all(|o| !o.solid) || setup.objects.iter().any(|o| o.motion.moves()) {
        return Ok(false);
    }
    let grid = grid::<D>(&setup.grid);
    let (low, high) = part_in_box(&grid, None);
    let solids = solids_around::<D>(setup, &low, &high, 0.0)?;
    let count = grid.cells.map(|n| n.min(MOST));
    let is_free = |k: [usize; D]| {
        let x = std::array::from_fn(|a| {
            let cell = if count[a] > 1 { k[a] * (grid.cells[a] - 1) / (count[a] - 1) } else { 0 };
            grid.origin[a] + (cell as f64 + 0.5) * grid.spacing[a]
        });
        solids.iter().all(|(_, solid)| solid.distance(x, 0.0) > 0.0)
    };
    Ok(!lattice(count).any(is_free))
}

/// The part of the box that is free of solids, and the parts that blobs and spouts pour into it, each with its time. Blobs of the start are counted
/// together, and meshes in the way not at all.
pub fn poured<const D: usize>(setup: &Setup) -> Result<(f64, Vec<(f64, f64)>), BuildError> {
    const POINTS: usize = 48;
    let grid = grid::<D>(&setup.grid);
    let size = grid.size();
    let volume = size.iter().product::<f64>();
    let build = |o: &setup::Object| shape::moving::<D>(&o.shape, &o.motion, grid.min_spacing());
    let solids =
        setup.objects.iter().filter(|o| o.solid && !o.shape.has_mesh()).map(build).collect::<Result<Vec<_>, _>>()?;
    let first = setup.blobs.iter().filter(|blob| blob.time <= 0.0);
    let first = first.map(|blob| blob_shape::<D>(setup, &grid, blob)).collect::<Result<Vec<_>, _>>()?;
    let (mut free, mut filled) = (0usize, 0usize);
    for k in lattice([POINTS; D]) {
        let x = std::array::from_fn(|a| grid.origin[a] + (k[a] as f64 + 0.5) / POINTS as f64 * size[a]);
        if solids.iter().all(|solid| solid.distance(x, 0.0) > 0.0) {
            free += 1;
            filled += usize::from(first.iter().any(|blob| blob.distance(x, 0.0) < 0.0));
        }
    }
    let part = |count: usize| count as f64 / POINTS.pow(D as u32) as f64;
    let mut all = vec![(0.0, part(filled))];
    let duration = setup.time.duration();
    for blob in setup.blobs.iter().filter(|blob| blob.every.is_finite() || blob.time > 0.0) {
        let part = part_inside::<D>(setup, &grid, blob);
        let times = (0..).map(|k| blob.time + if k == 0 { 0.0 } else { f64::from(k) * blob.every });
        let times = times.take_while(|t| *t <= blob.to.min(duration)).filter(|t| *t > 0.0);
        all.extend(times.map(|t| (t, part)));
    }
    for s in &setup.spouts {
        const STEPS: i32 = 1000;
        let (area, dt) = (spout::<D>(setup, s).area(), duration / f64::from(STEPS));
        let pours = (0..STEPS).map(|k| (f64::from(k) + 0.5) * dt).filter(|&t| setup::is_on(s.active, s.every, t));
        all.extend(pours.map(|t| (t, area * s.speed.at(t).max(0.0) * dt / volume)));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok((part(free), all))
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

//! Smoke from a setup.

use squall_core::diffuse::Diffusion;
use squall_core::embers::Embers;
use squall_core::flow::{Combustion, Flow};
use squall_core::force::{Brush, Buoyancy, Confinement, During, Emitter, Force, Loss, Source};
use squall_core::layout::tile_width;

use squall_core::model::smoke::{Options, Smoke};
use squall_core::poisson::{Problem, plan};
use squall_core::solid::{Boundary, Obstacle};
use squall_core::{At, Axis, Grid, Layout};

use super::effects::{ExpressionSource, Noises, Shared, fill_row};
use super::{BASE_BYTES, BuildError, Estimate};
use super::{
    animate, bursts, figure, flicker, force, grid, noise_bytes, paint, picture_bytes, real_vector, seed, shape,
    substance_ends, supply, texture, texture_fields,
};
use crate::setup::{self, DENSITY, EXHAUST, FLAME, FUEL, Formula, Setup, TEMPERATURE};

fn options<const D: usize>(setup: &Setup, smoke: &setup::Smoke) -> Options<D> {
    Options {
        wind: real_vector(&setup::curve::at(&smoke.wind, 0.0)),
        buffer: smoke.buffer as usize,
        ..super::options(setup)
    }
}

/// Builds smoke. A setup of this model always says what smoke does.
pub fn smoke<const D: usize>(setup: &Setup, brush: &Brush) -> Result<Smoke<D>, BuildError> {
    let Some(smoke) = &setup.smoke else { unreachable!("a setup of the model smoke") };
    let grid = grid::<D>(&setup.grid);
    let noises = Noises::shared(setup, &grid);
    let mut sim = Smoke::new(grid, options(setup, smoke))?;
    sim.flow.viscosity = setup.fluid.viscosity;
    for (i, s) in setup.substances.iter().enumerate() {
        sim.flow.add_substance(&s.name, 0.0)?;
        let substance = &mut sim.flow.substances[i];
        substance.diffusion = s.diffusion;
        substance.threshold = s.threshold as f32;
        substance.dissipation = s.dissipation;
        substance.losses = losses(smoke, i);
        substance.field.relabel(At::Center, substance_ends::<D>(setup, s));
    }
    sim.flow.combustion = setup.fire.as_ref().map(combustion);
    if let Some(e) = &setup.embers {
        let mut embers = Embers::new(FLAME, e.rate, e.life);
        (embers.drag, embers.gravity, embers.speed, embers.seed) = (e.drag, e.gravity, e.speed, seed(setup, 3, 0));
        sim.embers = Some(embers);
    }
    for (substance, curve, sign) in [(TEMPERATURE, &smoke.rise, 1.0), (DENSITY, &smoke.fall, -1.0)] {
        if !curve.is(0.0) {
            let (buoyancy, curve) = (Buoyancy { substance, strength: 0.0, ambient: 0.0 }, curve.clone());
            sim.flow.forces.push(animate::force(animate::moves([&curve]), buoyancy, move |force, t| {
                force.strength = (sign * curve.at(t)) as f32;
            }));
        }
    }
    if !smoke.confinement.is(0.0) {
        let curve = smoke.confinement.clone();
        let confinement = Confinement::new(curve.start());
        sim.flow.forces.push(animate::force(animate::moves([&curve]), confinement, move |force, t| {
            force.strength = curve.at(t).max(0.0);
        }));
    }
    for (i, f) in setup.forces.iter().enumerate() {
        let effect: Box<dyn Force<D>> = force(setup, &grid, i, &f.kind, &noises);
        sim.flow.forces.push(Box::new(During { effect, from: f.active.from, to: f.active.to }));
    }
    for (i, s) in setup.sources.iter().enumerate() {
        sim.flow.sources.push(bursts::during(source::<D>(setup, &grid, i, s)?, s));
    }
    for (i, s) in setup.substances.iter().enumerate() {
        if let Some(rate) = &s.source {
            sim.flow.sources.push(Box::new(ExpressionSource::new(setup, i, rate, &noises)));
        }
    }
    paint(&mut sim.flow, brush);
    sim.flow.set_obstacles(obstacles(setup, &grid)?, boundary(setup))?;
    sim.flow.texture = texture(setup, &grid, sim.flow.layout())?;
    put_initial(setup, &grid, &mut sim.flow, &noises)?;
    Ok(sim)
}

fn combustion(fire: &setup::Fire) -> Combustion {
    Combustion {
        fuel: FUEL,
        flame: FLAME,
        exhaust: EXHAUST,
        temperature: TEMPERATURE,
        soot: DENSITY,
        ignition: fire.ignition,
        rate: fire.rate,
        air: fire.air,
        heat: fire.heat,
        yields: fire.soot,
        expansion: fire.expansion,
        life: fire.life,
    }
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

/// An emitter, which may move, and whose numbers may change with time.
pub fn source<const D: usize>(
    setup: &Setup,
    grid: &Grid<D>,
    i: usize,
    s: &setup::Source,
) -> Result<Box<dyn Source<D>>, BuildError> {
    let mut shape = match &s.figure {
        Some(figure) => shape::moved(figure::shape(setup, grid, figure)?, &s.motion),
        None => shape::moving::<D>(&s.shape, &s.motion, grid.min_spacing())?,
    };
    if let Some(object) = s.follow {
        shape = shape::moved(shape, &setup.objects[object].motion);
    }
    let mut emitter = Emitter {
        softness: s.softness,
        drags: s.drag,
        expansion: s.expansion.start() as f32,
        flicker: flicker(setup, grid, i, s),
        ..Emitter::new(shape)
    };
    let (count, source) = (setup.substances.len(), s.clone());
    let update = move |emitter: &mut Emitter<D>, t: f64| {
        emitter.supply = supply(count, &source, t);
        emitter.velocity = source.velocity.as_ref().map(|v| real_vector(&setup::curve::at(v, t)));
    };
    update(&mut emitter, 0.0);
    let amounts = s.set.iter().chain(&s.rate).map(|(_, curve)| curve);
    let velocity = s.velocity.iter().flatten();
    if !animate::moves(amounts.chain(velocity.clone()).chain([&s.sink, &s.expansion])) {
        return Ok(Box::new(emitter));
    }
    emitter.expansion = if s.expansion.is(0.0) { 0.0 } else { 1.0 };
    let speed = velocity.map(|curve| curve.largest_abs(setup.time.duration())).fold(0.0, f64::max);
    Ok(Box::new(animate::AnimatedEmitter { emitter, update, expansion: s.expansion.clone(), speed }))
}

/// Puts the initial values and velocities in place.
fn put_initial<const D: usize>(
    setup: &Setup,
    grid: &Grid<D>,
    flow: &mut Flow<D>,
    noises: &Shared<D>,
) -> Result<(), BuildError> {
    let something = |formula: &Formula| *formula != Formula::Number(0.0);
    let initial = setup.substances.iter().any(|s| something(&s.initial));
    let moving = setup.fluid.velocity.iter().any(something);
    if initial || moving {
        // Where the grid follows the smoke: in the box that is looked at.
        flow.cover(grid.cells.map(|n| 0..n as isize))?;
    }
    let unbounded = setup.grid.is_unbounded();
    let inside = |index: [isize; D]| !unbounded || (0..D).all(|a| index[a] >= 0 && index[a] < grid.cells[a] as isize);
    for (s, substance) in setup.substances.iter().zip(&mut flow.substances).filter(|(s, _)| something(&s.initial)) {
        fill_row(&mut substance.field, grid, &s.initial, noises, inside);
        substance.field.fill_halo();
    }
    if moving {
        flow.set_velocity(|a, u| {
            fill_row(u, grid, &setup.fluid.velocity[a], noises, inside);
            u.finish_end_faces();
        });
    }
    Ok(())
}

/// What smoke will take. Where the grid follows the smoke, as if it filled the box that is looked at.
pub fn estimate<const D: usize>(setup: &Setup) -> Estimate {
    let Some(smoke) = &setup.smoke else { unreachable!("a setup of the model smoke") };
    let grid = grid::<D>(&setup.grid);
    let solids = setup.objects.iter().any(|o| o.solid);
    let plan = plan(Problem::of(&grid).with_solids(solids));
    // Open faces, velocities and distances of solids, and for viscosity links to them.
    let links = if setup.fluid.viscosity > 0.0 { D } else { 0 };
    let around_solids = if solids { 2 * D + 3 + links } else { 0 };
    // What is known of the outside of tiles, and the trees of its sums; with solids, what they add to the charges, and multigrid that knows them.
    let outside = match (setup.grid.is_unbounded(), solids) {
        (true, true) => D + 16,
        (true, false) => D + 8,
        (false, _) => 0,
    };
    // The vorticity and its magnitude.
    let confinement = match smoke.confinement.is(0.0) {
        true => 0,
        false if D == 3 => 4,
        false => 2,
    };
    let fields = Flow::<D>::fields_needed(&options(setup, smoke), setup.substances.len())
        + confinement
        + around_solids
        + outside
        + texture_fields::<D>(setup);
    let (dense, stored) = (Layout::<D>::bytes(grid.cells), stored_bytes(setup, &grid));
    let bytes = (fields as u64)
        .saturating_mul(stored)
        .saturating_add((plan.bytes as f64 * stored as f64 / dense as f64) as u64)
        .saturating_add(diffusion_bytes(setup, &grid, solids))
        .saturating_add(noise_bytes(setup, &grid))
        .saturating_add(picture_bytes(setup))
        .saturating_add(BASE_BYTES);
    let why = match setup.grid.is_unbounded() {
        true => format!("{}; memory is estimated for smoke that fills the framed box", plan.reason),
        false => plan.reason.to_owned(),
    };
    Estimate { bytes, fields, solver: plan.how(), why }
}

/// Cells around smoke besides `smoke.buffer`: what it moves by in a step.
pub(super) const STEP: usize = 2;

/// How many tiles along each axis hold a box full of smoke, if the grid follows it and it is there from the start. What sources emit
/// seldom fills the box: the box alone is counted then.
fn tiles<const D: usize>(setup: &Setup) -> Option<[u64; D]> {
    let smoke = setup.smoke.as_ref().filter(|_| setup.grid.is_unbounded() && is_full_at_first(setup))?;
    let (width, around) = (tile_width::<D>() as i64, (smoke.buffer as usize + STEP) as i64);
    Some(std::array::from_fn(|a| {
        let [low, high] = setup.grid.is_unbounded_at(a).map(|free| if free { around } else { 0 });
        let last = (setup.grid.cells[a] as i64 + high - 1).div_euclid(width);
        (last - (-low).div_euclid(width) + 1) as u64
    }))
}

/// Whether smoke or flow is there from the start, anywhere in the box.
fn is_full_at_first(setup: &Setup) -> bool {
    let initial = setup.substances.iter().map(|s| &s.initial);
    initial.chain(&setup.fluid.velocity).any(|formula| *formula != Formula::Number(0.0))
}

/// The cells that the estimate counts: more than those of the box where smoke fills it from the start and the grid follows.
pub fn cells<const D: usize>(setup: &Setup) -> u64 {
    let each = (tile_width::<D>() as u64).pow(D as u32);
    tiles::<D>(setup).map_or(setup.cell_count(), |n| n.iter().fold(each, |cells, &n| cells.saturating_mul(n)))
}

/// The bytes of a field with these. Tiles have others behind each side, and one for all that is not stored.
fn stored_bytes<const D: usize>(setup: &Setup, grid: &Grid<D>) -> u64 {
    let Some(n) = tiles::<D>(setup) else { return Layout::<D>::bytes(grid.cells) };
    let sides = (0..D).map(|a| {
        let bounded = setup.grid.is_unbounded_at(a).iter().filter(|free| !**free).count() as u64;
        (0..D).filter(|&b| b != a).fold(bounded, |ghosts, b| ghosts.saturating_mul(n[b] + 2))
    });
    let each = 4 * (tile_width::<D>() as u64).pow(D as u32);
    cells::<D>(setup).saturating_mul(4).saturating_add(each.saturating_mul(sides.sum::<u64>() + 1))
}

/// What solves for viscosity and diffusion where no transform does.
fn diffusion_bytes<const D: usize>(setup: &Setup, grid: &Grid<D>, solids: bool) -> u64 {
    let direct = !solids && !setup.grid.is_unbounded();
    // One solver for each component that has ends of its own, one for all that has none.
    let bounded = grid.axes.iter().filter(|axis| matches!(axis, Axis::Bounded { .. })).count();
    let flow = if solids { D } else { bounded + usize::from(setup.grid.is_unbounded()) };
    let viscous = if setup.fluid.viscosity > 0.0 { flow } else { 0 };
    let mixing = usize::from(!direct && setup.substances.iter().any(|s| s.diffusion > 0.0));
    match viscous + mixing {
        0 => 0,
        kinds => Diffusion::<D>::estimate_bytes(grid.cells.iter().map(|&n| n as u64).product(), kinds as u64),
    }
}

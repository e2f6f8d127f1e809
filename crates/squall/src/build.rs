//! From a setup to a simulation: the one place where the number of dimensions is decided.

mod animate;
mod bursts;
mod effects;
pub(crate) mod figure;
pub(crate) mod liquid;
pub(crate) mod shape;
mod smoke;
pub(crate) mod target;
pub mod trial;

use squall_core::advect::Advection;
use squall_core::diffuse::DiffusionScheme;
use squall_core::flow::Flow;
use squall_core::force::{Brush, Buoyancy, During, Flicker, Force, Noise, NoiseField, Substance, Supply};
use squall_core::force::{Stir, Stroke, Swirl, Uniform, Wind};
use squall_core::layout::tile_width;
use squall_core::model::stable_fluids::{AdvectWith, Options, Splitting, StableFluids};
use squall_core::poisson::{Problem, Spectral, plan};
use squall_core::trace::Tracer;
use squall_core::{
    At, Axis, End, Ends, Field, Grid, Layout, OutOfMemory, Replay, Side, Simulation, TextureCoordinates,
};

use crate::driver::Film;
use crate::looped::{self, Looped, Method};
use crate::setup::{self, Formula, Setup};
use effects::{ExpressionForce, ExpressionSource, Noises, fill};

/// Why a simulation cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The machine has not enough memory.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// A mesh cannot be made a solid on this grid.
    #[error("the mesh {file}: {reason}")]
    Mesh {
        /// Its file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// A parameter cannot be changed as an edit of the scene says.
    #[error("the edit after frame {frame}: {error}")]
    Edit {
        /// After which frame.
        frame: u64,
        /// What is wrong.
        error: squall_core::ParameterError,
    },
    /// Smoke cannot be driven to a target.
    #[error(transparent)]
    Target(#[from] squall_core::model::target::TargetError),
}

/// What a simulation will take, known before anything is built.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Memory at the peak, in bytes, pictures included.
    pub bytes: u64,
    /// How many fields, each of one number per cell, that is for the simulation.
    pub fields: usize,
    /// How the pressure is solved for.
    pub solver: String,
    /// Why that way.
    pub why: String,
}

/// Builds the simulation that a setup describes. Where it is to become a loop, [`Driver`](crate::Driver) makes one of it.
pub fn build(setup: &Setup) -> Result<Box<dyn Simulation>, BuildError> {
    Ok(match model(setup, &Brush::default())? {
        Built::Replay(sim) => sim,
        Built::Once(sim) => sim,
    })
}

/// The film of a setup: its simulation, or the loop that it becomes. What the brush is told is painted into it.
pub(crate) fn film(setup: &Setup, brush: &Brush) -> Result<Film, BuildError> {
    Ok(match (model(setup, brush)?, loop_options(setup)) {
        (Built::Replay(sim), Some(options)) => Film::Loop(Box::new(Looped::new(sim, options))),
        (Built::Replay(sim), None) => Film::Once(sim),
        (Built::Once(sim), _) => Film::Once(sim),
    })
}

/// A simulation that can become a loop, or one that cannot.
enum Built {
    Replay(Box<dyn Replay>),
    Once(Box<dyn Simulation>),
}

fn model(setup: &Setup, brush: &Brush) -> Result<Built, BuildError> {
    Ok(Built::Replay(match (setup.model, setup.dimensions()) {
        (setup::Model::Liquid, 2) => return Ok(Built::Once(liquid::liquid::<2>(setup, brush)?.boxed()?)),
        (setup::Model::Liquid, _) => return Ok(Built::Once(liquid::liquid::<3>(setup, brush)?.boxed()?)),
        (setup::Model::StableFluids, 2) => stable_fluids::<2>(setup, brush)?.boxed()?,
        (setup::Model::StableFluids, _) => stable_fluids::<3>(setup, brush)?.boxed()?,
        (setup::Model::Smoke, 2) => smoke::smoke::<2>(setup, brush)?.boxed()?,
        (setup::Model::Smoke, _) => smoke::smoke::<3>(setup, brush)?.boxed()?,
        (setup::Model::TargetSmoke, 2) => target::target_smoke::<2>(setup, brush)?.boxed()?,
        (setup::Model::TargetSmoke, _) => target::target_smoke::<3>(setup, brush)?.boxed()?,
    }))
}

/// The last of all sources and forces: what is painted.
fn paint<const D: usize>(flow: &mut Flow<D>, brush: &Brush) {
    flow.forces.push(Box::new(brush.clone()));
    flow.sources.push(Box::new(brush.clone()));
}

fn loop_options(setup: &Setup) -> Option<looped::Options> {
    let setup::Loop { start, overlap, rounds, even } = *setup.time.looped.as_ref()?;
    // Smoke on its way to a target must not be parted from its flow.
    let method = match setup.model {
        setup::Model::TargetSmoke => Method::Mix,
        setup::Model::StableFluids | setup::Model::Smoke => Method::Carry { rounds },
        // Refused when the scene was read.
        setup::Model::Liquid => return None,
    };
    let (fps, frames) = (setup.time.fps, setup.time.frames);
    Some(looped::Options { fps, start, frames, overlap, method, even_contrast: even })
}

/// What a loop keeps, in bytes.
fn loop_bytes(setup: &Setup) -> u64 {
    let Some(options) = loop_options(setup) else { return 0 };
    let (flows, contents) = Looped::copies(&options);
    let numbers = flows * setup.dimensions() as u64 + contents * setup.substances.len() as u64;
    setup.cell_count().saturating_mul(4).saturating_mul(numbers)
}

/// What running a setup will take.
pub fn estimate(setup: &Setup) -> Estimate {
    let once = estimate_once(setup);
    Estimate { bytes: once.bytes.saturating_add(loop_bytes(setup)), ..once }
}

/// The cells that [`estimate`] counts: where smoke fills an unbounded box from the start, more than the box has.
pub fn estimated_cells(setup: &Setup) -> u64 {
    if setup.dimensions() == 2 { smoke::cells::<2>(setup) } else { smoke::cells::<3>(setup) }
}

/// The same where the grid follows the fluid and has come to have so many cells.
pub fn estimate_at(setup: &Setup, cells: u64) -> u64 {
    let (tile, noise) = match setup.dimensions() {
        2 => (tile_width::<2>().pow(2), noise_bytes(setup, &grid::<2>(&setup.grid))),
        _ => (tile_width::<3>().pow(3), noise_bytes(setup, &grid::<3>(&setup.grid))),
    };
    let (whole, frame) = (estimate(setup).bytes, frame_bytes(setup));
    let shown = picture_bytes(setup).saturating_sub(frame).min(whole);
    let fixed = BASE_BYTES.saturating_add(frame).saturating_add(noise).min(whole - shown);
    // What is simulated takes room in every cell, what is shown in those of the box.
    let simulated = (whole - shown - fixed) as f64 / estimated_cells(setup).max(1) as f64;
    let shown = shown as f64 / setup.cell_count().max(1) as f64;
    // One tile stands for all that is not stored.
    fixed.saturating_add(((simulated + shown) * (cells as f64 + tile as f64)) as u64)
}

fn estimate_once(setup: &Setup) -> Estimate {
    match (setup.model, setup.dimensions()) {
        (setup::Model::StableFluids, 2) => estimate_for::<2>(setup),
        (setup::Model::StableFluids, _) => estimate_for::<3>(setup),
        (setup::Model::Smoke, 2) => smoke::estimate::<2>(setup),
        (setup::Model::Smoke, _) => smoke::estimate::<3>(setup),
        (setup::Model::Liquid, 2) => liquid::estimate::<2>(setup),
        (setup::Model::Liquid, _) => liquid::estimate::<3>(setup),
        (setup::Model::TargetSmoke, 2) => target::estimate::<2>(setup),
        (setup::Model::TargetSmoke, _) => target::estimate::<3>(setup),
    }
}

/// The program itself, its threads and its tables.
const BASE_BYTES: u64 = 26 << 20;

fn estimate_for<const D: usize>(setup: &Setup) -> Estimate {
    let grid = grid::<D>(&setup.grid);
    let options = options::<D>(setup);
    let lifts = (0..D).filter(|&a| setup.fluid.viscosity > 0.0 && prescribes(grid.velocity_ends(a))).count()
        + setup.substances.iter().filter(|s| s.diffusion > 0.0 && prescribes(substance_ends::<D>(setup, s))).count();
    let fields =
        StableFluids::<D>::fields_needed(&options, setup.substances.len()) + lifts + texture_fields::<D>(setup);
    let bytes = (fields as u64)
        .saturating_mul(Layout::<D>::bytes(grid.cells))
        .saturating_add(Spectral::<D>::estimate_bytes(grid.cells))
        .saturating_add(noise_bytes(setup, &grid))
        .saturating_add(picture_bytes(setup))
        .saturating_add(BASE_BYTES);
    let plan = plan(Problem::of(&grid));
    Estimate { bytes, fields, solver: plan.how(), why: plan.reason.to_owned() }
}

/// What the noise of forces, emitters and expressions takes.
fn noise_bytes<const D: usize>(setup: &Setup, grid: &Grid<D>) -> u64 {
    let stirring = setup.forces.iter().filter_map(|f| match f.kind {
        setup::ForceKind::Noise { scale, .. } => Some(scale),
        _ => None,
    });
    let flickering = setup.sources.iter().filter(|s| s.noise > 0.0).count();
    stirring
        .chain(std::iter::repeat_n(setup.fluid.noise_scale, flickering + Noises::<D>::count(setup)))
        .map(|scale| NoiseField::bytes(grid, scale))
        .sum()
}

/// What pictures take: the values that are shown, and for volumes the light that reaches them.
fn picture_bytes(setup: &Setup) -> u64 {
    let (cells, d) = (setup.cell_count(), setup.dimensions());
    let shown = match setup.picture.show {
        setup::Show::Substances => setup.substances.len() as u64,
        setup::Show::Substance(_) | setup::Show::Pressure => 1,
        setup::Show::Speed | setup::Show::Vorticity => d as u64 + 1,
        // The coordinates.
        setup::Show::Texture => 6,
        // Distances on finer cells and what smooths them; and copies of the particles.
        setup::Show::Water => 2 * u64::from(setup.surface.refine).pow(d as u32) + 8,
    };
    // In 3D what is shown becomes finer; displacements are copied.
    let shown = match &setup.texture {
        Some(t) if d == 3 => shown * u64::from(t.refine).pow(3) + 9,
        _ => shown,
    };
    let light = if d == 3 { cells.saturating_mul(4) } else { 0 };
    shown.saturating_mul(cells).saturating_mul(4).saturating_add(light) + frame_bytes(setup)
}

/// What one picture takes: in linear light and for the screen, or several times for the screen, until it is written.
fn frame_bytes(setup: &Setup) -> u64 {
    let pixel = match setup.film.is_some() {
        // Rays that are reflected and refracted keep more.
        true if setup.picture.show == setup::Show::Water => 60,
        film => {
            if film || setup.texture.is_some() {
                36
            } else {
                22
            }
        }
    };
    u64::from(setup.output.width) * u64::from(setup.output.height) * pixel
}

/// Whether an end holds a value other than zero.
fn prescribes<const D: usize>(ends: [Ends; D]) -> bool {
    let holds = |end| matches!(end, End::Value(b) if b != 0.0);
    ends.iter().any(|e| matches!(*e, Ends::Bounded { lo, hi } if holds(lo) || holds(hi)))
}

fn stable_fluids<const D: usize>(setup: &Setup, brush: &Brush) -> Result<StableFluids<D>, BuildError> {
    let grid = grid::<D>(&setup.grid);
    let noises = Noises::shared(setup, &grid);
    let mut sim = StableFluids::new(grid, options(setup))?;
    sim.flow.viscosity = setup.fluid.viscosity;
    sim.advect_with = match setup.solver.advect_with {
        setup::AdvectWith::Face => AdvectWith::Face,
        setup::AdvectWith::Cell => AdvectWith::Cell,
    };
    // Linear interpolation blurs the shortest waves by itself.
    let blurs = setup.solver.advection == setup::Advection::SemiLagrangian;
    sim.filter = setup.solver.filter.map_or(if blurs { 0.0 } else { sim.filter }, |f| f as f32);

    for s in &setup.substances {
        let mut field = Field::new(grid.cells, At::Center, substance_ends::<D>(setup, s))?;
        fill(&mut field, &grid, &s.initial, &noises);
        sim.flow.substances.push(Substance {
            name: s.name.clone(),
            field,
            diffusion: s.diffusion,
            dissipation: s.dissipation,
            ambient: 0.0,
            losses: Vec::new(),
            threshold: 0.0,
        });
    }
    for (i, f) in setup.forces.iter().enumerate() {
        let effect = force(setup, &grid, i, &f.kind, &noises);
        sim.flow.forces.push(Box::new(During { effect, from: f.active.from, to: f.active.to }));
    }
    for (i, s) in setup.sources.iter().enumerate() {
        sim.flow.sources.push(bursts::during(smoke::source(setup, &grid, i, s)?, s));
    }
    for (i, s) in setup.substances.iter().enumerate() {
        if let Some(rate) = &s.source {
            sim.flow.sources.push(Box::new(ExpressionSource::new(setup, i, rate, &noises)));
        }
    }
    paint(&mut sim.flow, brush);
    for (a, formula) in setup.fluid.velocity.iter().enumerate() {
        sim.set_velocity_component(a, |field| fill(field, &grid, formula, &noises));
    }
    sim.flow.texture = texture(setup, &grid, &Layout::dense(grid.cells))?;
    Ok(sim)
}

/// Coordinates of what is painted on the fluid, if anything is.
fn texture<const D: usize>(
    setup: &Setup,
    grid: &Grid<D>,
    layout: &Layout<D>,
) -> Result<Option<TextureCoordinates<D>>, OutOfMemory> {
    setup.texture.as_ref().map(|t| TextureCoordinates::new(grid, layout, t.period)).transpose()
}

/// How many fields these take.
fn texture_fields<const D: usize>(setup: &Setup) -> usize {
    setup.texture.as_ref().map_or(0, |_| TextureCoordinates::<D>::fields())
}

fn vector<const D: usize>(values: &[f64]) -> [f64; D] {
    std::array::from_fn(|a| values[a])
}

fn real_vector<const D: usize>(values: &[f64]) -> [f32; D] {
    std::array::from_fn(|a| values[a] as f32)
}

pub(crate) fn grid<const D: usize>(g: &setup::Grid) -> Grid<D> {
    let side = |side: &setup::Side| match side {
        setup::Side::Slip => Side::Slip,
        setup::Side::NoSlip(v) => Side::NoSlip { velocity: real_vector(v) },
        setup::Side::Inflow(v) => Side::Inflow { velocity: real_vector(v) },
        setup::Side::Open => Side::Open,
        setup::Side::Unbounded => Side::Unbounded,
    };
    let axes = std::array::from_fn(|a| match &g.axes[a] {
        setup::Axis::Periodic => Axis::Periodic,
        setup::Axis::Unbounded => Axis::Unbounded,
        setup::Axis::Bounded { lo, hi } => Axis::Bounded { lo: side(lo), hi: side(hi) },
    });
    let mut grid = Grid::new(std::array::from_fn(|a| g.cells[a]), vector(&g.size), axes);
    grid.origin = vector(&g.origin);
    grid
}

fn substance_ends<const D: usize>(setup: &Setup, s: &setup::Substance) -> [Ends; D] {
    let end = |end: &setup::End| match end {
        setup::End::Insulated => End::Flat,
        setup::End::Value(b) => End::Value(*b as f32),
    };
    std::array::from_fn(|a| {
        let unbounded = setup.grid.is_unbounded_at(a);
        let ends = [0, 1].map(|k| if unbounded[k] { End::Outside(0.0) } else { end(&s.boundary[a][k]) });
        match setup.grid.axes[a] {
            setup::Axis::Periodic => Ends::Periodic,
            setup::Axis::Unbounded => Ends::Unbounded(0.0),
            setup::Axis::Bounded { .. } => Ends::Bounded { lo: ends[0], hi: ends[1] },
        }
    })
}

fn advection(setup: &Setup) -> Advection {
    match setup.solver.advection {
        setup::Advection::MacCormack => Advection::MacCormack,
        setup::Advection::SemiLagrangian => Advection::SemiLagrangian,
        setup::Advection::MonotoneCubic => Advection::MonotoneCubic,
    }
}

fn splitting(setup: &Setup) -> Splitting {
    match setup.solver.splitting {
        setup::Splitting::LaggedPressure => Splitting::LaggedPressure,
        setup::Splitting::Reflection => Splitting::Reflection,
        setup::Splitting::Plain => Splitting::Plain,
        setup::Splitting::Paper => Splitting::Paper,
    }
}

/// How a step is computed, in every model.
fn options<const D: usize>(setup: &Setup) -> Options<D> {
    let s = &setup.solver;
    Options {
        advection: advection(setup),
        splitting: splitting(setup),
        tracer: match s.tracer {
            setup::Tracer::Auto => Tracer::Auto,
            setup::Tracer::Rk2 => Tracer::Rk2,
            setup::Tracer::Rk3 => Tracer::Rk3,
            setup::Tracer::Adaptive => Tracer::Adaptive,
        },
        diffusion: match s.diffusion {
            setup::Diffusion::Implicit => DiffusionScheme::Implicit,
            setup::Diffusion::Exact => DiffusionScheme::Exact,
        },
        ..Options::default()
    }
}

/// A seed for the `i`-th effect of a kind.
fn seed(setup: &Setup, kind: u64, i: usize) -> u64 {
    setup.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (kind << 32) ^ i as u64
}

fn force<const D: usize>(
    setup: &Setup,
    grid: &Grid<D>,
    i: usize,
    kind: &setup::ForceKind,
    noises: &effects::Shared<D>,
) -> Box<dyn Force<D>> {
    use setup::ForceKind as K;
    use setup::curve;
    let kind = kind.clone();
    match kind {
        K::Buoyancy { substance, strength, ambient } => animate::force(
            animate::moves([&strength, &ambient]),
            Buoyancy { substance, strength: 0.0, ambient: 0.0 },
            move |force, t| (force.strength, force.ambient) = (strength.at(t) as f32, ambient.at(t) as f32),
        ),
        K::Uniform(f) => animate::force(animate::moves(&f), Uniform([0.0; D]), move |force, t| {
            force.0 = real_vector(&curve::at(&f, t));
        }),
        K::Wind { velocity, rate } => animate::force(
            animate::moves(velocity.iter().chain([&rate])),
            Wind { velocity: [0.0; D], rate: 0.0 },
            move |force, t| {
                force.velocity = real_vector(&curve::at(&velocity, t));
                // A negative rate would push the fluid away from the velocity, faster and faster.
                force.rate = rate.at(t).max(0.0) as f32;
            },
        ),
        K::Vortex { center, axis, radius, strength } => {
            let axis = if D == 3 { real_vector(&axis) } else { [0.0, 0.0, 1.0] };
            let swirl = Swirl { center: [0.0; D], radius: 1.0, axis, around: 0.0, outward: 0.0 };
            animate::force(animate::moves(center.iter().chain([&radius, &strength])), swirl, move |force, t| {
                (force.center, force.radius) = (vector(&curve::at(&center, t)), radius.at(t).max(SMALLEST));
                force.around = strength.at(t) as f32;
            })
        }
        K::Radial { center, radius, strength } => {
            let swirl = Swirl { center: [0.0; D], radius: 1.0, axis: [0.0; 3], around: 0.0, outward: 0.0 };
            animate::force(animate::moves(center.iter().chain([&radius, &strength])), swirl, move |force, t| {
                (force.center, force.radius) = (vector(&curve::at(&center, t)), radius.at(t).max(SMALLEST));
                force.outward = strength.at(t) as f32;
            })
        }
        K::Noise { strength, scale, speed, substance } => {
            let field = NoiseField::swirls(grid, scale, 1.0 / speed.max(1e-9), seed(setup, 1, i));
            let noise = Noise { field, strength: 0.0, substance };
            animate::force(animate::moves([&strength]), noise, move |force, t| force.strength = strength.at(t) as f32)
        }
        K::Stir { path, times, looped, radius, rate, rods, apart } => {
            let stir = Stir {
                stroke: Stroke::new(path.iter().map(|p| vector(p)).collect(), times, looped),
                start: setup.forces[i].active.from,
                others: (1..rods).map(|k| std::array::from_fn(|a| f64::from(k) * apart[a])).collect(),
                radius,
                rate: 0.0,
            };
            animate::force(animate::moves([&rate]), stir, move |force, t| force.rate = rate.at(t).max(0.0))
        }
        K::Expression(components) => Box::new(ExpressionForce::new(setup, &components, noises)),
    }
}

/// What a radius over time is at least, metres.
const SMALLEST: f64 = 1e-9;

/// How long an emitter's flickering spots last, in seconds.
const FLICKER: f64 = 0.2;

/// What a source does to which of `count` substances at a time.
fn supply(count: usize, s: &setup::Source, time: f64) -> Vec<(usize, Supply)> {
    let hold = s.set.iter().map(|(a, value)| (*a, Supply::Hold(value.at(time) as f32)));
    let rate = s.rate.iter().map(|(a, rate)| (*a, Supply::Rate(rate.at(time) as f32)));
    let all = if s.sink.is(0.0) { 0..0 } else { 0..count };
    let drain = all.map(|a| (a, Supply::Drain(s.sink.at(time).max(0.0) as f32)));
    hold.chain(rate).chain(drain).collect()
}

/// The flickering of a source, if it does.
fn flicker<const D: usize>(setup: &Setup, grid: &Grid<D>, i: usize, s: &setup::Source) -> Option<Flicker<D>> {
    let spots = |amount: f64| Flicker::new(grid, amount as f32, setup.fluid.noise_scale, FLICKER, seed(setup, 2, i));
    (s.noise > 0.0).then(|| spots(s.noise))
}

/// Whether a formula uses noise of either kind.
fn uses_noise(formula: &Formula, swirls: bool) -> bool {
    match formula {
        Formula::Number(_) => false,
        Formula::Expression(e) => {
            e.variables().iter().any(|v| if swirls { v.starts_with("noise_") } else { v == "noise" })
        }
    }
}

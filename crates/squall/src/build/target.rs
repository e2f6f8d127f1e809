//! Smoke that takes shapes, from a setup.

use squall_core::advect::hyperbolic::Limiter;
use squall_core::force::{Brush, During};
use squall_core::model::target::{Matching, Options, Projections, Smoothing, Target, TargetSmoke};
use squall_core::poisson::{Problem, Spectral, plan};
use squall_core::shape::{Beyond, Interpolation, Key, Track};
use squall_core::{At, Field, Grid, Layout};

use super::effects::{ExpressionSource, Noises, fill};
use super::smoke::{boundary, obstacles, source};
use super::{BASE_BYTES, BuildError, Estimate};
use super::{bursts, figure, force, grid, noise_bytes, paint, picture_bytes, substance_ends, texture, texture_fields};
use crate::setup::{self, Dial, FigureKind, Guide, Setup};

/// The part of the time until its target in which smoothing becomes narrow, as core suggests it.
const NARROWING: f64 = 0.6;

/// Builds smoke with targets. A setup of this model always says how it is guided.
pub fn target_smoke<const D: usize>(setup: &Setup, brush: &Brush) -> Result<TargetSmoke<D>, BuildError> {
    let Some(guide) = &setup.guide else { unreachable!("a setup of the model target_smoke") };
    let grid = grid::<D>(&setup.grid);
    let noises = Noises::shared(setup, &grid);
    let mut sim = TargetSmoke::new(grid, options(guide))?;
    sim.damping = track(&guide.damping, guide.release);
    for (i, s) in setup.substances.iter().enumerate() {
        sim.flow.add_substance(&s.name, 0.0)?;
        let substance = &mut sim.flow.substances[i];
        substance.diffusion = s.diffusion;
        substance.dissipation = s.dissipation;
        substance.field = start(setup, &grid, i)?;
    }
    for (i, f) in setup.forces.iter().enumerate() {
        let effect = force(setup, &grid, i, &f.kind, &noises);
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
    if setup.fluid.velocity.iter().any(|f| *f != setup::Formula::Number(0.0)) {
        sim.flow.set_velocity(|a, u| {
            fill(u, &grid, &setup.fluid.velocity[a], &noises);
            u.finish_end_faces();
        });
    }
    for smoke in &guide.smokes {
        let number = sim.guide(smoke.substance)?;
        let guided = &mut sim.guided_mut()[number];
        guided.drive = track(&smoke.drive, guide.release);
        guided.gathering = track(&smoke.gathering, guide.release);
        guided.levelling = smoke.levelling;
        let matching = match smoke.matching {
            setup::Matching::Mass => Matching::Mass,
            setup::Matching::Area => Matching::Area,
        };
        sim.set_matching(number, matching)?;
        let mut begin = 0.0;
        for target in &smoke.targets {
            let [wide, narrow] = target.smoothing;
            let smoothing = Smoothing { begin: wide, end: narrow, over: NARROWING * (target.time - begin) };
            let source = figure::source(setup, &grid, &target.figure)?;
            let (strength, blend) = (target.strength, target.blend);
            sim.add_target(number, Target { time: target.time, source, smoothing, strength, blend })?;
            begin = target.time;
        }
    }
    sim.flow.texture = texture(setup, &grid, &Layout::dense(grid.cells))?;
    Ok(sim)
}

fn options(guide: &Guide) -> Options {
    Options {
        limiter: match guide.limiter {
            setup::Limiter::Mc => Limiter::MonotonizedCentral,
            setup::Limiter::Minmod => Limiter::Minmod,
            setup::Limiter::Superbee => Limiter::Superbee,
        },
        projections: if guide.projections == 1 { Projections::Once } else { Projections::Twice },
    }
}

fn track(dial: &Dial, release: Option<setup::Release>) -> Track<1> {
    let dial = release.map_or_else(|| dial.clone(), |release| dial.released(release));
    let keys = dial.0.iter().map(|&[time, value]| Key { time, value: [value] }).collect();
    // Keys were found to be finite and in order when the scene was read.
    Track::new(keys, Interpolation::Linear, Beyond::Hold).expect("keys in order")
}

/// A substance as it is at the start.
pub fn start<const D: usize>(setup: &Setup, grid: &Grid<D>, substance: usize) -> Result<Field<D>, BuildError> {
    let s = &setup.substances[substance];
    let mut field = Field::new(grid.cells, At::Center, substance_ends::<D>(setup, s))?;
    match &s.start {
        Some(start) => {
            figure::source(setup, grid, start)?.density(grid, 0.0, &mut field);
            field.fill_halo();
        }
        None => fill(&mut field, grid, &s.initial, &Noises::shared(setup, grid)),
    }
    Ok(field)
}

/// The objects that hide all of a figure at the start, where the run looks for them; `None`: some of it is free.
pub fn covered<const D: usize>(
    setup: &Setup,
    grid: &Grid<D>,
    density: &Field<D>,
) -> Result<Option<Vec<String>>, BuildError> {
    let solids = obstacles(setup, grid)?;
    if solids.is_empty() {
        return Ok(None);
    }
    // A cell whose centre is so deep has no free corner.
    let deep = -0.5 * (D as f64).sqrt() * grid.min_spacing();
    let mut covering: Vec<String> = Vec::new();
    for r in 0..density.layout().rows() {
        let row = density.layout().row(r);
        for (x, _) in density.row(row).iter().enumerate().filter(|(_, value)| **value > 0.0) {
            let mut cell = row.index;
            cell[0] += x as isize;
            let center = grid.position(At::Center, cell);
            match solids.iter().find(|solid| solid.shape.distance(center, 0.0) < deep) {
                None => return Ok(None),
                Some(solid) if !covering.contains(&solid.name) => covering.push(solid.name.clone()),
                Some(_) => {}
            }
        }
    }
    Ok(Some(covering))
}

/// What smoke with targets will take.
pub fn estimate<const D: usize>(setup: &Setup) -> Estimate {
    let Some(guide) = &setup.guide else { unreachable!("a setup of the model target_smoke") };
    let grid = grid::<D>(&setup.grid);
    let solids = setup.objects.iter().any(|o| o.solid);
    // Open faces, velocities and distances of solids; the solver keeps coarser copies and a few vectors.
    let around_solids = if solids { 12 + 2 * D + 3 } else { 0 };
    let fields = TargetSmoke::<D>::fields_needed(setup.substances.len(), guide.smokes.len())
        + around_solids
        + texture_fields::<D>(setup);
    let [drawing, kept] = drawing_bytes(setup, guide);
    // The bell that smooths and the pressure each have their tables.
    let spectral = Spectral::<D>::estimate_bytes(grid.cells).saturating_mul(2);
    let bytes = (fields as u64)
        .saturating_mul(Layout::<D>::bytes(grid.cells))
        .saturating_add(spectral)
        .saturating_add(figure_bytes(setup, guide))
        .saturating_add(noise_bytes(setup, &grid))
        .saturating_add(picture_bytes(setup))
        .saturating_add(BASE_BYTES)
        .saturating_add(kept)
        .max(drawing.saturating_add(BASE_BYTES));
    let plan = plan(Problem::of(&grid).with_solids(solids));
    Estimate { bytes, fields, solver: plan.how(), why: plan.reason.to_owned() }
}

/// What the largest figure takes while it is drawn, before anything else is there, and what of that is not given back to the system.
fn drawing_bytes(setup: &Setup, guide: &Guide) -> [u64; 2] {
    let mut pixels: Vec<u64> = setup.grid.cells.iter().map(|&n| crate::target::pixels_across(n) as u64).collect();
    pixels.sort_unstable();
    let canvas = pixels.iter().rev().take(2).product::<u64>();
    let bytes = figures(setup, guide).map(|figure| match &figure.kind {
        FigureKind::Text { text, .. } => {
            // How much of each pixel is covered, and a copy.
            [(8.0 * canvas as f64 * part_of_square(text)) as u64; 2]
        }
        // Its colours, what of them is drawn, and how much of each cell that covers. What stays is measured.
        FigureKind::Image { .. } => [24 * canvas, 12 * canvas],
        _ => [0; 2],
    });
    let largest = bytes.fold([0; 2], |most: [u64; 2], figure| [0, 1].map(|k| most[k].max(figure[k])));
    // What stays of one picture is there while the next one is drawn.
    let is_image = |figure: &&setup::Figure| matches!(figure.kind, FigureKind::Image { .. });
    let before = if figures(setup, guide).filter(is_image).count() > 1 { 12 * canvas } else { 0 };
    [largest[0] + before, largest[1]]
}

/// About how much of a square a text fills that is as large as fits: letters are about 0.6 times as wide as a line is high.
fn part_of_square(text: &str) -> f64 {
    let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(1).max(1);
    let (width, height) = (0.6 * longest as f64, 0.75 + 1.2 * (text.lines().count().max(1) - 1) as f64);
    (width / height).min(height / width)
}

fn figures<'a>(setup: &'a Setup, guide: &'a Guide) -> impl Iterator<Item = &'a setup::Figure> {
    let targets = guide.smokes.iter().flat_map(|s| &s.targets).map(|t| &t.figure);
    targets.chain(setup.substances.iter().filter_map(|s| s.start.as_ref()))
}

/// What figures take.
fn figure_bytes(setup: &Setup, guide: &Guide) -> u64 {
    let values = figures(setup, guide).map(|figure| match &figure.kind {
        FigureKind::Film { density, .. } => density.values() as u64 + setup.cell_count(),
        FigureKind::Shape { .. } | FigureKind::Formula(_) => 0,
        _ => setup.cell_count(),
    });
    values.fold(0, u64::saturating_add).saturating_mul(4)
}

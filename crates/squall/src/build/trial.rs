//! Trial runs on a coarse grid, which predict how far unbounded smoke or liquid will spread.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use squall_core::layout::tile_width;
use squall_core::shape::Cuboid;
use squall_core::volume::{BLOCK, BLOCK_CELLS};
use squall_core::{Shape, Volume};

use super::{shape, smoke::STEP};
use crate::driver::Driver;
use crate::setup::{self, Setup};

/// Cells of the box in the trial, about.
const CELLS: f64 = 4_000.0;
/// A trial that takes longer is ended.
const LONGEST: Duration = Duration::from_secs(1);
/// Cells around the particles of a liquid besides those of a step: surface, and velocities that go on beyond it.
const BEYOND_SURFACE: i32 = 4;

/// What a trial found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// How many cells there are at most.
    pub cells: u64,
    /// In the frames up to this one.
    pub frames: u64,
}

/// How far smoke or a liquid spreads where a grid follows it in 3D; `None` where it does not, or if the trial fails.
pub fn spread(setup: &Setup) -> Option<Spread> {
    // As many cells around as the model keeps.
    let around = match (&setup.smoke, &setup.liquid) {
        (Some(smoke), _) => smoke.buffer as i32 + STEP as i32,
        (_, Some(_)) => setup.solver.cfl.ceil() as i32 + BEYOND_SURFACE,
        _ => return None,
    };
    // Sides of coarse cells would have to stand elsewhere.
    let free = |a: usize| match setup.grid.is_unbounded_at(a) {
        [true, true] => true,
        [_, far] => far,
    };
    if setup.dimensions() != 3 || !(0..3).all(free) {
        return None;
    }
    // Sources may be far larger than the box: a wrong unit must not make the trial itself take long.
    let volume = |(lo, hi): (Vec<f64>, Vec<f64>)| lo.iter().zip(&hi).map(|(lo, hi)| hi - lo).product::<f64>();
    let size = |source: &setup::Source| volume(source.shape.extent()) * source.motion.scale.powi(3);
    let emitted = setup.sources.iter().map(size).filter(|volume| volume.is_finite()).sum::<f64>();
    let cells = emitted.max(setup.grid.size.iter().product()) / setup.grid.spacing()[0].powi(3);
    let refine = (cells / CELLS).cbrt().max(1.0);
    let mut coarse = setup.clone();
    let h = setup.grid.spacing()[0] * refine;
    for a in 0..3 {
        coarse.grid.cells[a] = (setup.grid.size[a] / h).round().max(1.0) as usize;
        coarse.grid.size[a] = coarse.grid.cells[a] as f64 * h;
    }
    (coarse.texture, coarse.time.looped) = (None, None);
    if setup.smoke.is_some() {
        // Smoke that parts takes as much room as smoke that rises, and is found ten times as fast.
        coarse.objects.iter_mut().for_each(|object| object.solid = false);
    }
    let solids = setup.smoke.as_ref().map_or_else(Vec::new, |_| solids(setup));
    let began = Instant::now();
    let mut driver = Driver::new(&coarse).ok()?;
    let mut most = 0;
    while driver.frame() < u64::from(setup.time.frames) && began.elapsed() < LONGEST {
        if driver.step().ok()?.reached {
            most = most.max(tiles(setup, &driver, refine, around, &solids));
        }
    }
    let per_tile = (tile_width::<3>() as u64).pow(3);
    (most > 0).then_some(Spread { cells: most as u64 * per_tile, frames: driver.frame() })
}

/// The boxes around the solids of a scene, in motion.
fn solids(setup: &Setup) -> Vec<Box<dyn Shape<3>>> {
    let boxes = setup.objects.iter().filter(|o| o.solid).filter_map(|o| {
        let (low, high) = o.shape.extent();
        let [low, high] = [low, high].map(|x| <[f64; 3]>::try_from(x).ok().filter(|x| x.iter().all(|x| x.is_finite())));
        Some(shape::moved::<3>(Box::new(Cuboid::between(low?, high?)), &o.motion))
    });
    boxes.collect()
}

/// A solid may have this many tiles, more than the fluid has: then all of its tiles are there where the fluid reaches it.
const FEW: usize = 64;

/// How many tiles of the fine grid the fluid of the coarse one needs.
fn tiles(setup: &Setup, driver: &Driver, refine: f64, around: i32, solids: &[Box<dyn Shape<3>>]) -> usize {
    let width = tile_width::<3>() as i32;
    let mut found: HashSet<[i32; 3]> = HashSet::new();
    // A cube at a place, in fine cells.
    let mut mark = |first: [f64; 3], side: f64| {
        let range = |a: usize| {
            let low = (first[a].floor() as i32 - around).div_euclid(width);
            low..=((first[a] + side).ceil() as i32 - 1 + around).div_euclid(width)
        };
        for z in range(2) {
            for y in range(1) {
                found.extend(range(0).map(|x| [x, y, z]));
            }
        }
    };
    if let Some(particles) = driver.simulation().particles() {
        let (side, h) = (0.5 * refine, setup.grid.spacing()[0]);
        for i in 0..particles.len() {
            let place = |a: usize| (f64::from(particles.positions[a][i]) - setup.grid.origin[a]) / h - 0.5 * side;
            mark(std::array::from_fn(place), side);
        }
    }
    let mut volume = Volume::default();
    for s in setup.substances.iter().filter(|_| setup.smoke.is_some()) {
        driver.simulation().volume(&s.name, 0, &mut volume);
        for (block, values) in volume.blocks.iter().zip(volume.values.chunks_exact(BLOCK_CELLS)) {
            let occupied = |&i: &usize| f64::from((values[i] - volume.background).abs()) > s.threshold;
            for i in (0..BLOCK_CELLS).filter(occupied) {
                let place = [i % BLOCK, i / BLOCK % BLOCK, i / (BLOCK * BLOCK)];
                mark(std::array::from_fn(|a| f64::from(block[a] * BLOCK as i32 + place[a] as i32) * refine), refine);
            }
        }
    }
    let fluid = found.clone();
    for (low, high) in solids.iter().filter_map(|solid| solid.bounds(driver.time())) {
        let cell =
            |x: f64, a: usize| ((x - setup.grid.origin[a]) / setup.grid.spacing()[a]).clamp(-1e8, 1e8).floor() as i32;
        let tile = |a: usize| {
            let [low, high] = [cell(low[a], a) - around, cell(high[a], a) + around].map(|cell| cell.div_euclid(width));
            low..=high
        };
        let count: f64 =
            (0..3).map(|a| f64::from(cell(high[a], a) - cell(low[a], a)) / f64::from(width) + 2.0).product();
        if count > (fluid.len() + FEW) as f64 {
            continue;
        }
        let tiles = || tile(2).flat_map(|z| tile(1).flat_map(move |y| tile(0).map(move |x| [x, y, z])));
        if tiles().any(|tile| fluid.contains(&tile)) {
            found.extend(tiles());
        }
    }
    // Nothing is behind a floor.
    let side = |a: usize| setup.grid.is_unbounded_at(a)[0];
    found.iter().filter(|c| (0..3).all(|a| side(a) || c[a] >= 0)).count()
}

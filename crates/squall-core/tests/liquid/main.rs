//! Facts about liquids.

mod band;
mod carried;
mod contact;
mod elastic;
mod level_set;
mod moving;
mod resting;
mod sources;
mod surface;
mod tension;
mod thick;
mod tracking;
mod unbounded;

use squall_core::force::Uniform;
use squall_core::model::Model;
use squall_core::model::liquid::{Liquid, Options};
use squall_core::{At, Axis, Grid, Side, StepReport};

const GRAVITY: f64 = 9.81;

/// A box with walls all around, in which things fall down.
fn tank<const D: usize>(cells: [usize; D], size: [f64; D]) -> Liquid<D> {
    let mut liquid = weightless(cells, size);
    let mut down = [0.0; D];
    down[1] = -GRAVITY as f32;
    liquid.flow.forces.push(Box::new(Uniform(down)));
    liquid
}

fn weightless<const D: usize>(cells: [usize; D], size: [f64; D]) -> Liquid<D> {
    let grid = Grid::<D>::new(cells, size, [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; D]);
    Liquid::new(grid, Options::default()).unwrap()
}

/// Goes on until a time, in steps of `cfl` cells at most; `look` sees every report.
fn run<const D: usize>(liquid: &mut Liquid<D>, until: f64, cfl: f64, mut look: impl FnMut(&Liquid<D>, &StepReport)) {
    liquid.start().unwrap();
    while liquid.flow.time() < until * (1.0 - 1e-12) {
        let left = until - liquid.flow.time();
        let dt = Model::longest_step(liquid, cfl).min(left).min(1.0 / 60.0);
        let report = liquid.step(dt).unwrap();
        look(liquid, &report);
    }
}

/// Where particles are, in metres.
fn positions<const D: usize>(liquid: &Liquid<D>) -> Vec<[f64; D]> {
    let grid = &liquid.flow.grid;
    let place = |(first, p): ([isize; D], &squall_core::particles::Particle<D>)| {
        std::array::from_fn(|a| grid.origin[a] + (first[a] as f64 + f64::from(p.place[a])) * grid.spacing[a])
    };
    liquid.particles.iter().map(place).collect()
}

/// The mean of a number over all that is liquid, whatever says where that is.
fn wet_mean<const D: usize>(liquid: &Liquid<D>, f: impl Fn([f64; D]) -> f64) -> f64 {
    let (grid, part) = (&liquid.flow.grid, &liquid.flow.substances[0].field);
    let (mut sum, mut all) = (0.0, 0.0);
    for mut n in 0..grid.cell_count() {
        let index: [usize; D] = std::array::from_fn(|a| {
            let i = n % grid.cells[a];
            n /= grid.cells[a];
            i
        });
        let part = f64::from(part.get(index));
        all += part;
        sum += part * f(grid.position(At::Center, index.map(|i| i as isize)));
    }
    sum / all
}

/// The mean of a number over all particles.
fn mean<const D: usize>(liquid: &Liquid<D>, f: impl Fn([f64; D]) -> f64) -> f64 {
    let all = positions(liquid);
    all.iter().map(|x| f(*x)).sum::<f64>() / all.len() as f64
}

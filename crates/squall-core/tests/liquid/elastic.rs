//! Liquids that remember their shape.

use super::moving::tape;
use super::{GRAVITY, mean, positions, run};
use squall_core::force::Uniform;
use squall_core::model::Model;
use squall_core::model::liquid::{DENSITY, Elastic, Liquid, Options};
use squall_core::particles::Particle;
use squall_core::solid::{Boundary, Obstacle};
use squall_core::{Axis, Grid, Shape, Side, Simulation};

/// A box with a floor to which liquid sticks, periodic along x if asked to.
fn on_floor<const D: usize>(cells: [usize; D], h: f64, wide: bool, elastic: Elastic) -> Liquid<D> {
    let mut axes = [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; D];
    if wide {
        axes[0] = Axis::Periodic;
    }
    axes[1] = Axis::Bounded { lo: Side::STICKY, hi: Side::Slip };
    let mut liquid = Liquid::new(Grid::<D>::new(cells, cells.map(|n| n as f64 * h), axes), Options::default()).unwrap();
    liquid.set_elastic(elastic);
    liquid
}

fn with_gravity<const D: usize>(mut liquid: Liquid<D>) -> Liquid<D> {
    let mut down = [0.0; D];
    down[1] = -GRAVITY as f32;
    liquid.flow.forces.push(Box::new(Uniform(down)));
    liquid
}

/// The mean velocity along an axis.
fn mean_velocity<const D: usize>(liquid: &Liquid<D>, a: usize) -> f64 {
    let of = |(_, p): (_, &Particle<D>)| f64::from(p.velocity[a]);
    liquid.particles.iter().map(of).sum::<f64>() / liquid.particles.len() as f64
}

/// Kinetic and elastic energy.
fn energy<const D: usize>(liquid: &Liquid<D>) -> f64 {
    liquid.energy_and_momentum().0 + liquid.elastic_energy()
}

/// How far particles are from where others with the same numbers are, in the mean.
fn mean_way(from: &[(u32, [f64; 2])], to: &[(u32, [f64; 2])]) -> f64 {
    let ways = from.iter().zip(to).map(|(a, b)| (a.1[0] - b.1[0]).hypot(a.1[1] - b.1[1]));
    ways.sum::<f64>() / from.len() as f64
}

fn numbered<const D: usize>(liquid: &Liquid<D>) -> Vec<(u32, [f64; D])> {
    let mut all: Vec<_> = liquid.particles.iter().map(|(_, p)| p.id).zip(positions(liquid)).collect();
    all.sort_by_key(|p| p.0);
    all
}

#[test]
fn a_layer_of_jelly_swings_at_its_frequency_and_gains_no_energy() {
    // f = sqrt(mu / rho) / (4 H) for shear waves of a layer that stands on a floor.
    for (k, dt) in [(1.0f64, 1.0 / 60.0), (25.0, 1.0 / 60.0), (25.0, 1.0 / 240.0)] {
        let (h, height) = (1.0 / 40.0, 0.5);
        let mut layer = on_floor([16, 32], h, true, Elastic::jelly(k * DENSITY));
        let wave = |x: [f64; 2]| [(0.1 * (0.5 * std::f64::consts::PI * x[1] / height).sin()) as f32, 0.0];
        layer.fill(1, |x| x[1] < height, wave);
        layer.start().unwrap();
        let (mut zeros, mut last, start) = (Vec::new(), mean_velocity(&layer, 0), energy(&layer));
        while zeros.len() < 5 {
            let t = layer.flow.time();
            layer.step(dt).unwrap();
            let now = mean_velocity(&layer, 0);
            if (now > 0.0) != (last > 0.0) {
                zeros.push(t + dt * last / (last - now));
            }
            last = now;
            // Strains are half a step ahead.
            assert!(energy(&layer) < 1.05 * start, "{k}: {} of {start}", energy(&layer));
        }
        let frequency = 4.0 / (2.0 * (zeros[4] - zeros[0]));
        let expected = k.sqrt() / (4.0 * height);
        assert!((frequency / expected - 1.0).abs() < 0.05, "{k}, {dt}: {frequency} {expected}");
    }
}

#[test]
fn jelly_returns_most_of_the_way_and_putty_keeps_its_new_shape() {
    let after = |elastic: Elastic| {
        let mut block = on_floor([48, 32], 1.0 / 32.0, false, elastic);
        block.flow.viscosity = 0.05;
        // Pushed over to the side.
        block.fill(1, |x| (x[0] - 0.75).abs() < 0.25 && x[1] < 0.5, |x| [(2.0 * x[1]) as f32, 0.0]);
        let before = numbered(&block);
        let mut furthest = 0.0f64;
        run(&mut block, 1.5, 1.0, |block, _| furthest = furthest.max(mean_way(&before, &numbered(block))));
        (furthest, mean_way(&before, &numbered(&block)))
    };
    let (far, near) = after(Elastic::jelly(4.0 * DENSITY));
    // All of it would be right. Paths and strains are added up one beside the other, each with errors of its own: 0.16 to 0.38 of the way are
    // left, by small changes at the floor.
    assert!(far > 0.02 && near < 0.5 * far, "jelly went {far} and is {near} away");
    let putty = Elastic { yield_strain: 0.02, yield_rate: 1e3, ..Elastic::jelly(4.0 * DENSITY) };
    let (far, near) = after(putty);
    assert!(far > 0.02 && near > 0.6 * far, "putty went {far} and is {near} away");
}

#[test]
fn a_block_of_jelly_sags_under_its_weight_and_comes_to_rest() {
    let mut block = with_gravity(on_floor([60, 40], 1.0 / 40.0, false, Elastic::jelly(20.0 * DENSITY)));
    block.flow.viscosity = 0.2;
    block.fill(1, |x| (x[0] - 0.75).abs() < 0.25 && x[1] < 0.5, |_| [0.0; 2]);
    let at_rest = mean(&block, |x| x[1]);
    run(&mut block, 2.0, 1.0, |_, report| assert!(report.viscous.converged));
    let (then, strains) = (mean(&block, |x| x[1]), block.strains());
    run(&mut block, 4.0, 1.0, |_, _| {});
    let sag = 1.0 - then / at_rest;
    // A column would sag by rho g H / (3 * 4 mu / 4) / 2 = 0.04 in the mean; the floor holds its foot.
    assert!(sag > 0.02 && sag < 0.06, "{sag}");
    assert!((mean(&block, |x| x[1]) / then - 1.0).abs() < 2e-3, "it goes on to creep");
    assert!(strains.iter().all(|e| *e < 0.5) && block.strains().iter().all(|e| *e < 0.5));
}

#[test]
fn jelly_that_touches_nothing_keeps_its_momentum_and_its_spin() {
    let mut disc = super::weightless([64, 64], [1.0, 1.0]);
    disc.set_elastic(Elastic::jelly(50.0 * DENSITY));
    let spin = |x: [f64; 2]| [(0.2 - 3.0 * (x[1] - 0.5)) as f32, (3.0 * (x[0] - 0.4)) as f32];
    disc.fill(1, |x| (x[0] - 0.4).hypot(x[1] - 0.5) < 0.25, spin);
    let angular = |disc: &Liquid<2>| {
        let center = [mean(disc, |x| x[0]), mean(disc, |x| x[1])];
        let of = |((_, p), x): ((_, &Particle<2>), [f64; 2])| {
            (x[0] - center[0]) * f64::from(p.velocity[1]) - (x[1] - center[1]) * f64::from(p.velocity[0])
        };
        disc.particles.iter().zip(positions(disc)).map(of).sum::<f64>()
    };
    disc.start().unwrap();
    let (momentum, before) = (disc.momentum(), angular(&disc));
    run(&mut disc, 1.0, 0.5, |_, _| {});
    let after = disc.momentum();
    // What one face gets another loses, to the bit; but faces weigh as much as the liquid around them, and particles all the same.
    let size = momentum[0].hypot(momentum[1]);
    assert!((0..2).all(|a| (after[a] - momentum[a]).abs() < 2e-2 * size), "{momentum:?} {after:?}");
    let kept = angular(&disc) / before;
    // Half a turn. Viscosity keeps as much.
    assert!((kept - 1.0).abs() < 0.05, "{kept}");
    // What turns is not strained by turning: centrifugal forces strain it by rho (w R)^2 / mu = 0.01.
    let strains = disc.strains();
    let mean = strains.iter().map(|e| f64::from(*e)).sum::<f64>() / strains.len() as f64;
    assert!(mean < 0.03, "{mean}");
}

/// A plate that swings along x.
#[derive(Clone)]
struct Swinging {
    top: f64,
    way: f64,
    period: f64,
}

impl Swinging {
    fn shift(&self, t: f64) -> f64 {
        self.way * (std::f64::consts::TAU * t / self.period).sin()
    }
}

impl Shape<2> for Swinging {
    fn distance(&self, x: [f64; 2], t: f64) -> f64 {
        let along = (x[0] - 0.75 - self.shift(t)).abs() - 0.45;
        let up = (x[1] - 0.5 * self.top).abs() - 0.5 * self.top;
        along.max(up).min(0.0) + along.max(0.0).hypot(up.max(0.0))
    }
    fn velocity(&self, _: [f64; 2], t: f64) -> [f64; 2] {
        let w = std::f64::consts::TAU / self.period;
        [self.way * w * (w * t).cos(), 0.0]
    }
    fn moves(&self) -> bool {
        true
    }
    fn bounds(&self, t: f64) -> Option<([f64; 2], [f64; 2])> {
        Some(([0.3 + self.shift(t), 0.0], [1.2 + self.shift(t), self.top]))
    }
}

#[test]
fn jelly_on_a_plate_that_swings_slowly_goes_along_and_shakes_the_more_the_nearer_its_own_frequency() {
    // A layer of 0.3 m would swing at sqrt(k) / (4 H); the block that is as wide as high a little more slowly.
    let (k, height) = (9.0f64, 0.3);
    let own = k.sqrt() / (4.0 * height);
    let swing = |period: f64| {
        let mut block = with_gravity(on_floor([48, 32], 1.0 / 32.0, false, Elastic::jelly(k * DENSITY)));
        block.flow.viscosity = 0.02;
        let plate = Swinging { top: 0.2, way: 0.02, period };
        let obstacle = Obstacle { friction: 1.0, ..Obstacle::new("plate", Box::new(plate.clone())) };
        block.flow.set_obstacles(vec![obstacle], Boundary::CutCells).unwrap();
        block.fill(1, |x| (x[0] - 0.75).abs() < 0.25 && x[1] > 0.2 && x[1] < 0.2 + height, |_| [0.0; 2]);
        let start = mean(&block, |x| x[0]);
        let (mut furthest, mut apart) = (0.0f64, 0.0f64);
        run(&mut block, 2.0 * period, 1.0, |block, report| {
            assert!(report.viscous.converged, "{:?}", report.viscous);
            let way = mean(block, |x| x[0]) - start;
            furthest = furthest.max(way.abs());
            apart = apart.max((way - plate.shift(block.flow.time())).abs());
        });
        // None has left the plate or gone into it.
        assert!(positions(&block).iter().all(|x| x[1] > 0.2 && x[1] < 0.7 && (x[0] - 0.75).abs() < 0.45));
        [furthest / plate.way, apart / plate.way]
    };
    // Six times slower than its own: all of it goes along, but for (1 / 6)^2 and what the start shakes.
    let [slow, behind] = swing(6.0 / own);
    assert!((slow - 1.0).abs() < 0.2 && behind < 0.3, "{slow} {behind}");
    let [shaken, _] = swing(1.2 / own);
    assert!(shaken > 1.5, "{shaken}");
}

fn check_splash<const D: usize>(modulus: f64, n: usize) {
    let mut drop = with_gravity(on_floor([n; D], 1.0 / n as f64, false, Elastic::jelly(modulus)));
    let inside = |x: [f64; D]| x.iter().map(|x| (x - 0.4).powi(2)).sum::<f64>() < 0.06 || x[1] < 0.1;
    drop.fill(1, inside, |x| std::array::from_fn(|a| if a == 0 { (5.0 * (x[1] - 0.4)) as f32 } else { -1.0 }));
    let mut fastest = 0.0f64;
    run(&mut drop, 0.3, 1.0, |_, report| fastest = fastest.max(report.max_speed));
    assert!(fastest < 15.0, "{D}D, {modulus}: {fastest}");
    assert!(positions(&drop).iter().flatten().all(|x| x.is_finite()));
}

#[test]
fn a_splash_of_jelly_of_any_modulus_up_to_a_hundred_kilopascals_is_stable() {
    for modulus in [0.0, 1.0, 1e3, 1e5] {
        check_splash::<2>(modulus, 32);
    }
}

#[test]
fn a_modulus_of_anything_up_to_a_billion_is_stable() {
    check_splash::<2>(1e9, 32);
    for modulus in [1e3, 1e9] {
        check_splash::<3>(modulus, 20);
    }
}

#[test]
fn jelly_goes_on_to_the_same_bits_after_it_was_restored_and_on_any_number_of_threads() {
    let elastic = Elastic { modulus: 3e3, yield_strain: 0.2, yield_rate: 20.0, relaxation: 5.0 };
    let new = || with_gravity(on_floor([24, 24, 24], 1.0 / 24.0, false, elastic));
    let on = |threads: usize, restored: bool| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let mut liquid = new();
            liquid.fill(1, |x| x[0] < 0.5 && x[1] < 0.6, |_| [0.0; 3]);
            run(&mut liquid, 0.1, 1.0, |_, _| {});
            if restored {
                let mut kept = tape(&mut liquid);
                kept.restoring = true;
                liquid = new();
                Simulation::visit_state(&mut liquid, &mut kept);
            }
            for _ in 0..4 {
                liquid.step(0.01).unwrap();
            }
            let tape = tape(&mut liquid);
            (tape.numbers, tape.arrays)
        })
    };
    let one = on(1, false);
    assert!(one == on(1, true), "resumed");
    assert!(one == on(3, false), "on three threads");
}

#[test]
fn what_relaxes_within_a_step_is_a_viscous_liquid() {
    // mu r / rho = 0.02 m^2/s, with a modulus for which waves would be too fast to be seen.
    let front = |elastic: bool| {
        let relaxing = Elastic { relaxation: 1e-4, ..Elastic::jelly(200.0 * DENSITY) };
        let mut dam =
            with_gravity(on_floor([48, 32], 1.0 / 32.0, false, if elastic { relaxing } else { Elastic::jelly(0.0) }));
        dam.flow.viscosity = if elastic { 0.0 } else { 0.02 };
        dam.fill(1, |x| x[0] < 0.5 && x[1] < 0.7, |_| [0.0; 2]);
        run(&mut dam, 0.4, 1.0, |_, _| {});
        positions(&dam).iter().map(|x| x[0]).fold(0.0, f64::max)
    };
    let (relaxing, viscous) = (front(true), front(false));
    assert!((relaxing / viscous - 1.0).abs() < 0.02, "{relaxing} {viscous}");
}

#[test]
fn jelly_on_tiles_is_that_in_a_box() {
    let (h, width) = (1.0 / 32.0, squall_core::layout::tile_width::<2>());
    let cells = [2 * width, width];
    let new = |above: Side<2>| {
        let walls = Axis::Bounded { lo: Side::STICKY, hi: Side::Slip };
        let axes = [walls, Axis::Bounded { lo: Side::STICKY, hi: above }];
        let options = Options { tolerance: 1e-6, ..Options::default() };
        let mut liquid = Liquid::new(Grid::<2>::new(cells, cells.map(|n| n as f64 * h), axes), options).unwrap();
        liquid.set_elastic(Elastic::jelly(2.0 * DENSITY));
        with_gravity(liquid)
    };
    let (mut boxed, mut tiled) = (new(Side::Slip), new(Side::Unbounded));
    tiled.cover(cells.map(|n| 0..n as isize)).unwrap();
    for liquid in [&mut boxed, &mut tiled] {
        liquid.fill(1, |x| x[0] < 0.6 && x[1] < 0.7, |_| [0.0; 2]);
        liquid.start().unwrap();
    }
    for _ in 0..20 {
        let dt = Model::longest_step(&boxed, 1.0).min(1.0 / 60.0);
        boxed.step(dt).unwrap();
        tiled.step(dt).unwrap();
    }
    let apart = mean_way(&numbered(&boxed), &numbered(&tiled));
    // What the solver for stresses may leave.
    assert!(apart < 0.05 * h, "{} cells", apart / h);
}

//! What is conserved is accounted for: in closed boxes, and in random scenes of everything that a scene can hold.

use crate::common::Random;
use squall_core::advect::Advection;
use squall_core::flow::{Flow, Options};
use squall_core::force::{Buoyancy, Confinement, During, Emitter, Loss, Source, Supply, Uniform};
use squall_core::ledger::Watch;
use squall_core::model::{Model, Smoke, Splitting, StableFluids};
use squall_core::shape::{Cuboid, Sphere};
use squall_core::solid::{Boundary, Obstacle};
use squall_core::*;

/// A drop of heavy ink in a closed box that falls and stirs it, for 300 steps: how much of it there is in the end, as a part of
/// what there was.
fn ink<M: Model<D>, const D: usize>(mut sim: M) -> f64 {
    let grid = sim.flow().grid;
    let ink = sim.flow_mut().add_substance("ink", 0.0).unwrap();
    let height = grid.size()[1];
    let start = |p: [f64; D]| {
        let r = (0..D).map(|a| (p[a] - if a == 1 { 0.75 * height } else { 0.5 }).powi(2)).sum::<f64>().sqrt();
        ((0.1 - r) / 0.02 + 0.5).clamp(0.0, 1.0)
    };
    sim.flow_mut().substances[ink].field.set_from(&grid, start);
    sim.flow_mut().forces.push(Box::new(Buoyancy { substance: ink, strength: -5.0, ambient: 0.0 }));
    let before = sim.flow().mass()[ink];
    for _ in 0..300 {
        let dt = sim.longest_step(2.5).min(1.0 / 24.0);
        let report = sim.step(dt).unwrap();
        let account = &report.ledger.substances[ink];
        assert!(account.excess() < 1e-3, "{:?} at {}", account.range, sim.flow().time());
    }
    sim.flow().mass()[ink] / before
}

#[test]
fn ink_in_a_closed_box_is_neither_made_nor_lost_whatever_the_scheme() {
    for advection in [Advection::MacCormack, Advection::MonotoneCubic, Advection::SemiLagrangian] {
        for splitting in [Splitting::LaggedPressure, Splitting::Reflection, Splitting::Plain] {
            let options = Options { advection, splitting, ..Options::default() };
            let grid = Grid::<2>::new([48, 72], [1.0, 1.5], [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; 2]);
            let kept = [ink(Smoke::new(grid, options).unwrap()), ink(StableFluids::new(grid, options).unwrap())];
            println!("{advection:?}, {splitting:?}: {kept:?}");
            // The promise is half a per cent.
            assert!(kept.iter().all(|k| (k - 1.0).abs() < 5e-3), "{advection:?}, {splitting:?}: {kept:?}");
        }
    }
    let grid = Grid::<3>::walled([24, 32, 24], Side::Slip);
    let kept = ink(Smoke::new(grid, Options::default()).unwrap());
    assert!((kept - 1.0).abs() < 5e-3, "in 3D: {kept}");
}

/// Numbers for a scene.
struct Dice(Random);

impl Dice {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * 0.5 * (self.0.next() + 1.0)
    }

    fn of(&mut self, n: usize) -> usize {
        (self.between(0.0, n as f64) as usize).min(n - 1)
    }

    fn chance(&mut self, part: f64) -> bool {
        self.between(0.0, 1.0) < part
    }

    fn point<const D: usize>(&mut self, low: f64, high: f64) -> [f64; D] {
        std::array::from_fn(|_| self.between(low, high))
    }
}

fn side<const D: usize>(dice: &mut Dice) -> Side<D> {
    match dice.of(4) {
        0 => Side::Slip,
        1 => Side::STICKY,
        2 => Side::NoSlip { velocity: std::array::from_fn(|_| dice.between(-0.3, 0.3) as f32) },
        _ => Side::Open,
    }
}

/// A ball that swings about its place.
struct Swing<const D: usize> {
    center: [f64; D],
    way: [f64; D],
    radius: f64,
    speed: f64,
}

impl<const D: usize> Swing<D> {
    fn middle(&self, t: f64) -> [f64; D] {
        std::array::from_fn(|a| self.center[a] + self.way[a] * (self.speed * t).sin())
    }
}

impl<const D: usize> Shape<D> for Swing<D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        let m = self.middle(t);
        (0..D).map(|a| (x[a] - m[a]).powi(2)).sum::<f64>().sqrt() - self.radius
    }

    fn velocity(&self, _: [f64; D], t: f64) -> [f64; D] {
        std::array::from_fn(|a| self.way[a] * self.speed * (self.speed * t).cos())
    }

    fn moves(&self) -> bool {
        true
    }

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        let m = self.middle(t);
        Some((m.map(|m| m - self.radius), m.map(|m| m + self.radius)))
    }
}

/// Sources, forces, losses and, if it is smoke, solids.
fn furnish<const D: usize>(dice: &mut Dice, flow: &mut Flow<D>, solids: bool) {
    let grid = flow.grid;
    for name in ["smoke", "heat"] {
        let s = flow.add_substance(name, 0.0).unwrap();
        if !flow.is_unbounded() && dice.chance(0.5) {
            let (center, radius): ([f64; D], _) = (dice.point(0.2, 0.8), dice.between(0.1, 0.3));
            flow.substances[s].field.set_from(&grid, |p| {
                let r = (0..D).map(|a| (p[a] - center[a]).powi(2)).sum::<f64>().sqrt();
                if r < radius { 1.0 } else { 0.0 }
            });
        }
        match dice.of(5) {
            0 => flow.substances[s].dissipation = dice.between(0.0, 1.0),
            1 => flow.substances[s].losses.push(Loss::Fade { rate: dice.between(0.0, 1.0) }),
            2 => flow.substances[s].losses.push(Loss::Subtract { rate: dice.between(0.0, 0.3) }),
            3 => flow.substances[s].diffusion = dice.between(0.0, 2e-3),
            _ => {}
        }
    }
    for _ in 0..1 + dice.of(3) {
        let center = dice.point(0.15, 0.85);
        let shape: Box<dyn Shape<D>> = match dice.of(2) {
            0 => Box::new(Sphere { center, radius: dice.between(0.05, 0.15) }),
            _ => Box::new(Cuboid { center, half: dice.point(0.05, 0.12), rounding: 0.0 }),
        };
        let supply = match dice.of(4) {
            0 => Supply::Rate(dice.between(0.5, 4.0) as f32),
            1 => Supply::Drain(dice.between(0.5, 4.0) as f32),
            _ => Supply::Hold(dice.between(0.3, 1.5) as f32),
        };
        let velocity = dice.chance(0.4).then(|| dice.point(-1.0, 1.0).map(|v| v as f32));
        flow.sources.push(Box::new(Emitter { supply: vec![(dice.of(2), supply)], velocity, ..Emitter::new(shape) }));
    }
    flow.forces.push(Box::new(Buoyancy { substance: 1, strength: dice.between(-4.0, 6.0) as f32, ambient: 0.0 }));
    if dice.chance(0.3) {
        flow.forces.push(Box::new(Uniform(dice.point(-1.0, 1.0).map(|v| v as f32))));
    }
    if dice.chance(0.3) {
        flow.forces.push(Box::new(Confinement::new(dice.between(0.0, 4.0))));
    }
    if dice.chance(0.3) {
        flow.viscosity = dice.between(0.0, 5e-3);
    }
    if solids && dice.chance(0.6) {
        let mut obstacles = Vec::new();
        for n in 0..1 + dice.of(2) {
            let (center, radius) = (dice.point(0.25, 0.75), dice.between(0.08, 0.16));
            let shape: Box<dyn Shape<D>> = if dice.chance(0.6) {
                Box::new(Swing { center, way: dice.point(-0.12, 0.12), radius, speed: dice.between(1.0, 5.0) })
            } else {
                Box::new(Sphere { center, radius })
            };
            let friction = if dice.chance(0.5) { 1.0 } else { 0.0 };
            obstacles.push(Obstacle { friction, ..Obstacle::new(format!("solid {n}"), shape) });
        }
        let boundary = if dice.chance(0.8) { Boundary::CutCells } else { Boundary::Cells };
        flow.set_obstacles(obstacles, boundary).unwrap();
    }
}

fn run<const D: usize>(seed: u64, mut sim: impl Model<D>) {
    let mut watch = Watch::new(sim.flow().substances.len());
    for step in 0..40 {
        let dt = sim.longest_step(2.5).min(1.0 / 24.0);
        let report = sim.step(dt).unwrap_or_else(|e| panic!("scene {seed}, step {step}: {e}"));
        if let Some(found) = watch.observe(&report.ledger, dt).first() {
            let flow = sim.flow();
            panic!(
                "scene {seed}, step {step}, t = {:.3}: {found:?}\n{:?}, {:?}, {:?}, solids {}\n{:#?}",
                flow.time(),
                flow.grid.axes,
                flow.options.advection,
                flow.options.splitting,
                flow.solids().is_some(),
                report.ledger.substances
            );
        }
    }
}

fn random_scene<const D: usize>(seed: u64, n: usize) {
    let mut dice = Dice(Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)));
    let axes = std::array::from_fn(|_| match dice.of(3) {
        0 => Axis::Periodic,
        _ => Axis::Bounded { lo: side(&mut dice), hi: side(&mut dice) },
    });
    let options = Options {
        advection: [Advection::MacCormack, Advection::MacCormack, Advection::SemiLagrangian, Advection::MonotoneCubic]
            [dice.of(4)],
        splitting: [Splitting::LaggedPressure, Splitting::LaggedPressure, Splitting::Plain, Splitting::Reflection]
            [dice.of(4)],
        ..Options::default()
    };
    let box_of = |axes| Grid::new([n; D], [1.0; D], axes);
    match dice.of(4) {
        0 => {
            let mut sim = StableFluids::new(box_of(axes), options).unwrap();
            furnish(&mut dice, &mut sim.flow, false);
            run(seed, sim);
        }
        1 => {
            let mut sim = Smoke::new(box_of([Axis::Unbounded; D]), options).unwrap();
            furnish(&mut dice, &mut sim.flow, true);
            run(seed, sim);
        }
        _ => {
            let mut sim = Smoke::new(box_of(axes), options).unwrap();
            furnish(&mut dice, &mut sim.flow, true);
            run(seed, sim);
        }
    }
}

#[test]
fn in_a_hundred_random_scenes_nothing_appears_or_vanishes_unexplained() {
    (0..80).for_each(|seed| random_scene::<2>(seed, 32));
    (80..100).for_each(|seed| random_scene::<3>(seed, 16));
}

#[test]
fn what_swells_brings_its_smoke_along_and_is_accounted_for() {
    // A disc held full of smoke from which fluid wells up: everything around it is displaced by smoke.
    let (radius, expansion, end) = (0.1, 8.0f64, 0.5);
    let mut sim = Smoke::new(Grid::<2>::new([64; 2], [1.0; 2], [Axis::Unbounded; 2]), Options::default()).unwrap();
    let smoke = sim.flow.add_substance("smoke", 0.0).unwrap();
    let mut source = Emitter::new(Box::new(Sphere { center: [0.5; 2], radius }));
    source.supply.push((smoke, Supply::Hold(1.0)));
    source.expansion = expansion as Real;
    sim.flow.sources.push(Box::new(source));
    let mut watch = Watch::new(1);
    while sim.flow.time() < end {
        let dt = Model::longest_step(&sim, 2.0).min(1.0 / 48.0);
        let report = sim.step(dt).unwrap();
        assert!(watch.observe(&report.ledger, dt).is_empty(), "{:?}", report.ledger.substances);
    }
    // As much as was there at first and swelled since: the disc's area times (1 + e t). The first step only fills it, and the
    // disc's soft edge of one cell counts in part: within 15 %.
    let area = std::f64::consts::PI * radius * radius;
    let (there, expected) = (sim.flow.mass()[smoke], area * (1.0 + expansion * (sim.flow.time() - 1.0 / 48.0)));
    assert!((there / expected - 1.0).abs() < 0.15, "{there} against {expected}");
}

#[test]
fn what_was_carried_by_something_that_swells_does_not_spring_back_when_it_stops() {
    let open = Axis::Bounded { lo: Side::Open, hi: Side::Open };
    let grid = Grid::<2>::new([48; 2], [1.0; 2], [open; 2]);
    let mut sim = Smoke::new(grid, Options::default()).unwrap();
    let ink = sim.flow.add_substance("ink", 0.0).unwrap();
    let blob = |p: [f64; 2]| (-((p[0] - 0.75).powi(2) + (p[1] - 0.5).powi(2)) / 0.005).exp();
    sim.flow.substances[ink].field.set_from(&grid, blob);
    let mut source = Emitter::new(Box::new(Sphere { center: [0.5; 2], radius: 0.1 }));
    source.expansion = 10.0;
    let effect: Box<dyn Source<2>> = Box::new(source);
    sim.flow.sources.push(Box::new(During { effect, from: 0.0, to: 0.1 }));
    let mut middle = |steps: usize| {
        (0..steps).for_each(|_| drop(sim.step(0.02).unwrap()));
        let field = &sim.flow.substances[ink].field;
        let cells = (0..48).flat_map(|y| (0..48).map(move |x| [x, y]));
        let (sum, moment) = cells.fold((0.0, 0.0), |(sum, moment), [x, y]| {
            let v = f64::from(field.get([x, y]));
            (sum + v, moment + v * x as f64)
        });
        moment / sum
    };
    // The flow that the fifth step left carries the sixth; then it stands still.
    let (moving, stopped, later) = (middle(5), middle(1), middle(1));
    let way = stopped - moving;
    // It moves by about a fifth of a cell. Then what the pressure solve leaves, and the correction of what advection gained: a
    // hundredth of that way. Extrapolated, it went back by half of it.
    assert!(way > 0.1 && (later - stopped).abs() < 0.02 * way, "{moving} {stopped} {later}");
}

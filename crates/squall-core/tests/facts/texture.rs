//! Texture coordinates: they move with the flow, are forgotten unseen, and blend to something steady.

use std::f64::consts::TAU;

use crate::common::values;
use squall_core::advect::{Advection, Flow, MapScratch};
use squall_core::force::Buoyancy;
use squall_core::model::stable_fluids::{Options, StableFluids};
use squall_core::model::{Smoke, smoke};
use squall_core::sample::Isa;
use squall_core::trace::Tracer;
use squall_core::*;

fn faces<const D: usize>(
    grid: &Grid<D>,
    layout: &Layout<D>,
    velocity: impl Fn(usize, [f64; D]) -> f64 + Sync,
) -> VectorField<D> {
    std::array::from_fn(|c| {
        let ends = grid.velocity_ends(c).map(|e| if e == Ends::Periodic { e } else { Ends::FLAT });
        let mut u = Field::on(layout, At::Face(c), ends).unwrap();
        u.set_from(grid, |p| velocity(c, p));
        u.fill_halo();
        u
    })
}

fn flow<'a, const D: usize>(grid: &'a Grid<D>, velocity: &'a VectorField<D>) -> Flow<'a, D> {
    Flow { grid, velocity, tracer: Tracer::Rk3, isa: Isa::best() }
}

#[test]
fn weights_add_up_to_one_and_their_squares_to_a_half_at_all_times() {
    let grid = Grid::<2>::periodic([4, 4]);
    let texture = TextureCoordinates::new(&grid, &Layout::dense(grid.cells), 1.7).unwrap();
    for i in 0..1000 {
        let w = texture.weights(0.0137 * i as f64);
        // Rounding of a few terms of size 1.
        assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((w.iter().map(|w| w * w).sum::<f64>() - 0.5).abs() < 1e-12);
    }
}

/// Moves coordinates with scratch of their own.
fn advect<const D: usize>(texture: &mut TextureCoordinates<D>, flow: Flow<D>, time: f64, dt: f64) {
    let mut scratch = MapScratch::new(flow.velocity[0].layout(), Advection::MacCormack).unwrap();
    texture.advect(flow, time, dt, &mut scratch);
}

#[test]
fn a_uniform_flow_displaces_each_set_by_its_age_to_rounding_wherever_resets_fall() {
    let grid = Grid::<2>::new([24, 16], [1.5, 1.0], [Axis::Periodic; 2]);
    let c = [0.37, -0.21];
    let u = faces(&grid, &Layout::dense(grid.cells), |a, _| c[a]);
    let period = 1.0;
    let mut texture = TextureCoordinates::new(&grid, &Layout::dense(grid.cells), period).unwrap();
    let (mut time, dt) = (0.0, 0.07);
    for step in 0..60 {
        advect(&mut texture, flow(&grid, &u), time, dt);
        time += dt;
        for (k, age) in texture.ages(time).into_iter().enumerate() {
            // Before its first turn a set is as old as the run.
            let age = (age * period).min(time);
            for a in 0..2 {
                for v in values(&texture.set(k)[a]) {
                    // Single precision in each of up to 15 steps.
                    assert!((f64::from(v) + c[a] * age).abs() < 3e-6, "step {step} set {k}: {v} for {}", -c[a] * age);
                }
            }
        }
    }
}

#[test]
fn a_reset_that_falls_on_the_end_of_a_step_is_never_missed() {
    let grid = Grid::<2>::periodic([8, 8]);
    let u = faces(&grid, &Layout::dense(grid.cells), |_, _| 0.1);
    // A third of the period is no finite binary number, and nor is the step.
    let mut texture = TextureCoordinates::new(&grid, &Layout::dense(grid.cells), 0.3).unwrap();
    for step in 0..200 {
        let time = step as f64 * 0.1;
        advect(&mut texture, flow(&grid, &u), time, (step + 1) as f64 * 0.1 - time);
        for k in 0..3 {
            // No set is ever older than its period.
            assert!(ops::max_abs(&texture.set(k)[0]) < 0.1 * 0.3 + 1e-6, "step {step} set {k}");
        }
    }
}

#[test]
fn a_fluid_at_rest_leaves_the_identity() {
    let grid = Grid::<3>::walled([8, 8, 8], Side::Slip);
    let mut sim = StableFluids::new(grid, Options::default()).unwrap();
    sim.flow.texture = Some(TextureCoordinates::new(&grid, &Layout::dense(grid.cells), 0.5).unwrap());
    for _ in 0..20 {
        sim.step(0.1).unwrap();
    }
    let texture = sim.flow.texture.as_ref().unwrap();
    assert!((0..3).all(|k| texture.set(k).iter().all(|xi| ops::max_abs(xi) == 0.0)));
}

/// The blend of a pattern in one cell.
fn blend(texture: &TextureCoordinates<2>, grid: &Grid<2>, time: f64, cell: [usize; 2]) -> f64 {
    let p = grid.position(At::Center, cell.map(|i| i as isize));
    let look = |k: usize| {
        let x: [f64; 2] = std::array::from_fn(|a| p[a] + f64::from(texture.set(k)[a].get(cell)));
        (TAU * x[0]).sin() + (TAU * 2.0 * x[1]).cos()
    };
    texture.weights(time).into_iter().enumerate().map(|(k, w)| w * look(k)).sum()
}

#[test]
fn nothing_is_seen_to_jump_when_a_set_is_forgotten() {
    let grid = Grid::<2>::periodic([32, 32]);
    let swirl = |a: usize, p: [f64; 2]| [(TAU * p[1]).sin(), (TAU * p[0]).sin()][a];
    let u = faces(&grid, &Layout::dense(grid.cells), swirl);
    let mut texture = TextureCoordinates::new(&grid, &Layout::dense(grid.cells), 1.0).unwrap();
    let dt = 0.01;
    let mut before: Option<Vec<f64>> = None;
    let mut changes = Vec::new();
    for step in 0..250 {
        let now: Vec<f64> = (0..32).map(|i| blend(&texture, &grid, step as f64 * dt, [i, (7 * i) % 32])).collect();
        if let Some(before) = before {
            changes.push(before.iter().zip(&now).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max));
        }
        before = Some(now);
        advect(&mut texture, flow(&grid, &u), step as f64 * dt, dt);
    }
    // The pattern moves with the flow: by less than speed (1.4) * slope (2 pi * 3) * dt = 0.26 in a step, and so it does
    // in the steps in which a set is forgotten, the 34th of each third of a period.
    let usual = changes.iter().copied().fold(0.0, f64::max);
    assert!(usual < 0.3, "{usual}");
    let at_resets = [34, 67, 100, 134, 167, 200].map(|s: usize| changes[s - 1].max(changes[s]));
    let median = {
        let mut sorted = changes.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    assert!(at_resets.iter().all(|c| *c < 2.0 * median), "{at_resets:?} {median}");
}

/// How far coordinates are off after a vortex has turned them, in cells: the mean over the middle of the box.
fn off_after_a_vortex(scheme: Advection) -> f64 {
    let n = 64;
    let grid = Grid::<2>::periodic([n, n]);
    // Fluid that turns slower further out; smooth, and without divergence.
    let spin = |r: f64| 2.0 * (-(r / 0.2).powi(2)).exp();
    let velocity = move |a: usize, p: [f64; 2]| {
        let d = [p[0] - 0.5, p[1] - 0.5];
        let s = spin(d[0].hypot(d[1]));
        if a == 0 { -s * d[1] } else { s * d[0] }
    };
    let layout = Layout::dense(grid.cells);
    let u = faces(&grid, &layout, velocity);
    let mut texture = TextureCoordinates::new(&grid, &layout, 100.0).unwrap().sampled_by(scheme);
    let (time, steps) = (1.5, 45);
    for step in 0..steps {
        let dt = time / steps as f64;
        advect(&mut texture, flow(&grid, &u), step as f64 * dt, dt);
    }
    let (mut sum, mut count) = (0.0, 0);
    for j in 16..48 {
        for i in 16..48 {
            let p = grid.position(At::Center, [i, j]);
            let d = [p[0] - 0.5, p[1] - 0.5];
            let angle = -time * spin(d[0].hypot(d[1]));
            let exact = [d[0] * angle.cos() - d[1] * angle.sin(), d[0] * angle.sin() + d[1] * angle.cos()];
            let xi: [f64; 2] = std::array::from_fn(|a| f64::from(texture.set(0)[a].get([i as usize, j as usize])));
            sum += (d[0] + xi[0] - exact[0]).hypot(d[1] + xi[1] - exact[1]) * n as f64;
            count += 1;
        }
    }
    sum / f64::from(count)
}

#[test]
fn a_vortex_carries_coordinates_to_a_fraction_of_a_cell() {
    let schemes = [Advection::SemiLagrangian, Advection::MonotoneCubic, Advection::MacCormack];
    let [linear, cubic, both_ways] = schemes.map(off_after_a_vortex);
    // Three radians at the middle; a twentieth of a cell cannot be seen.
    assert!(both_ways < 0.05, "{both_ways}");
    assert!(both_ways < 0.2 * linear, "{both_ways} {linear}");
    assert!(both_ways < 1.1 * cubic, "{both_ways} {cubic}");
}

const CLOSED: Axis<2> = Axis::Bounded { lo: Side::Slip, hi: Side::Slip };

fn puff(axis: Axis<2>) -> Smoke<2> {
    let axes = [axis; 2];
    let grid = Grid::new([64, 96], [0.64, 0.96], axes);
    let mut sim = Smoke::new(grid, smoke::Options::default()).unwrap();
    sim.flow.add_substance("heat", 0.0).unwrap();
    sim.flow.substances[0].field.set_from(&grid, |p| if (p[0] - 0.16).hypot(p[1] - 0.16) < 0.1 { 1.0 } else { 0.0 });
    sim.flow.forces.push(Box::new(Buoyancy { substance: 0, strength: 3.0, ambient: 0.0 }));
    sim.flow.texture = Some(TextureCoordinates::new(&grid, sim.flow.layout(), 0.5).unwrap());
    sim
}

#[test]
fn tiles_and_box_carry_coordinates_alike() {
    // One flow, prescribed, on a box and on tiles that cover it.
    let grid = Grid::<2>::new([96, 96], [0.96, 0.96], [Axis::Unbounded; 2]);
    let boxed = Grid { axes: [Axis::Bounded { lo: Side::Open, hi: Side::Open }; 2], ..grid };
    let tiles = Layout::tiles((0..9).map(|t| [t % 3, t / 3]));
    let velocity = |a: usize, p: [f64; 2]| {
        let d = [p[0] - 0.48, p[1] - 0.48];
        let square = d[0] * d[0] + d[1] * d[1];
        // Nothing moves near the sides, beyond which box and tiles differ.
        let s = if square < 0.06 { 4.0 * (-square / 0.01).exp() } else { 0.0 };
        if a == 0 { -s * d[1] } else { s * d[0] }
    };
    let dense = Layout::dense(grid.cells);
    let on_box = faces(&boxed, &dense, velocity);
    let on_tiles: VectorField<2> = std::array::from_fn(|c| {
        let mut u = Field::on(&tiles, At::Face(c), [Ends::Unbounded(0.0); 2]).unwrap();
        u.set_from(&grid, |p| velocity(c, p));
        u
    });
    let mut a = TextureCoordinates::new(&boxed, &dense, 0.5).unwrap();
    let mut b = TextureCoordinates::new(&grid, &tiles, 0.5).unwrap();
    for step in 0..30 {
        advect(&mut a, flow(&boxed, &on_box), 0.03 * step as f64, 0.03);
        advect(&mut b, flow(&grid, &on_tiles), 0.03 * step as f64, 0.03);
    }
    let mut largest = 0.0f32;
    for k in 0..3 {
        for c in 0..2 {
            for j in 8..88 {
                for i in 8..88 {
                    let (x, y) = (a.set(k)[c].get_signed([i, j]), b.set(k)[c].get_signed([i, j]));
                    assert_eq!(x.to_bits(), y.to_bits(), "set {k} at {i} {j}");
                    largest = largest.max(x.abs());
                }
            }
        }
    }
    assert!(largest > 0.05, "something has moved: {largest}");
}

/// Keeps or puts back a state.
#[derive(Default)]
struct Tape {
    numbers: Vec<f64>,
    whole: Vec<u64>,
    arrays: Vec<Vec<f32>>,
    restoring: bool,
    at: [usize; 3],
}

impl StateVisitor for Tape {
    fn integer(&mut self, _: &str, value: &mut u64) {
        if self.restoring {
            *value = self.whole[self.at[0]];
            self.at[0] += 1;
        } else {
            self.whole.push(*value);
        }
    }
    fn real(&mut self, _: &str, value: &mut f64) {
        if self.restoring {
            *value = self.numbers[self.at[1]];
            self.at[1] += 1;
        } else {
            self.numbers.push(*value);
        }
    }
    fn array(&mut self, _: &str, values: &mut [f32]) {
        if self.restoring {
            values.copy_from_slice(&self.arrays[self.at[2]]);
            self.at[2] += 1;
        } else {
            self.arrays.push(values.to_vec());
        }
    }
}

fn coordinates(sim: &Smoke<2>) -> Vec<u32> {
    let texture = sim.flow.texture.as_ref().unwrap();
    (0..3).flat_map(|k| (0..2).flat_map(move |a| values(&texture.set(k)[a]))).map(f32::to_bits).collect()
}

#[test]
fn a_run_that_is_resumed_has_the_same_coordinates_to_the_bit() {
    let open = Axis::Bounded { lo: Side::Open, hi: Side::Open };
    for axis in [Axis::Unbounded, Axis::Periodic, CLOSED, open] {
        let mut whole = puff(axis);
        (0..30).for_each(|_| drop(whole.step(0.03).unwrap()));
        let mut first = puff(axis);
        (0..13).for_each(|_| drop(first.step(0.03).unwrap()));
        let mut tape = Tape::default();
        first.visit_state(&mut tape);
        tape.restoring = true;
        let mut second = puff(axis);
        second.visit_state(&mut tape);
        (13..30).for_each(|_| drop(second.step(0.03).unwrap()));
        let bits = |f: &Field<2>| values(f).into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert!(bits(&whole.flow.velocity()[0]) == bits(&second.flow.velocity()[0]), "velocity, {axis:?}");
        assert!(coordinates(&whole) == coordinates(&second), "{axis:?}");
        assert!(ops::max_abs(&whole.flow.texture.as_ref().unwrap().set(0)[1]) > 0.01, "something has moved");
    }
}

#[test]
fn coordinates_are_the_same_bits_on_any_number_of_threads() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut sim = puff(Axis::Unbounded);
            (0..15).for_each(|_| drop(sim.step(0.03).unwrap()));
            coordinates(&sim)
        })
    };
    let one = on(1);
    assert!([2, 3, 7].into_iter().all(|threads| on(threads) == one));
}

#[test]
fn simulations_show_their_coordinates_by_name() {
    let mut sim = puff(CLOSED);
    let weights = [0, 1, 2].map(|k| sim.scalar(&format!("texture_{k}.weight")));
    assert_eq!(weights, sim.flow.texture.as_ref().unwrap().weights(0.0).map(Some));
    assert_eq!(["texture_3.weight", "texture_0", "weight"].map(|name| sim.scalar(name)), [None; 3]);
    sim.step(0.03).unwrap();
    let mut out = Vec::new();
    assert!(sim.read("texture_2", 1, &mut out) && out.len() == 64 * 96);
    assert!(!sim.read("texture_3", 1, &mut out) && !sim.read("texture_x", 0, &mut out));
    let plain = StableFluids::<2>::new(Grid::periodic([4, 4]), Options::default()).unwrap();
    assert_eq!(plain.scalar("texture_0.weight"), None);
}

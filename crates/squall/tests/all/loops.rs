//! Loops: the last frame leads into the first, in flow and smoke, and nothing grows dull on the way.

use squall::looped::{Looped, Method, Options};
use squall_core::force::{Buoyancy, Emitter, Flicker, Noise, NoiseField, Substance, Supply};
use squall_core::model::smoke::{self, Smoke};
use squall_core::model::stable_fluids::{self, StableFluids};
use squall_core::shape::Sphere;
use squall_core::texture::TextureCoordinates;
use squall_core::*;

const FPS: f64 = 24.0;

fn options(start: u32, frames: u32) -> Options {
    let method = Method::Carry { rounds: 4 };
    Options { fps: FPS, start, frames, overlap: frames / 2, method, even_contrast: false }
}

/// A flickering plume in a box that is open on top, or without bounds in a wind.
fn plume<const D: usize>(unbounded: bool) -> Smoke<D> {
    // Without bounds it is only where one looks: wide enough to see all of it.
    let cells: [usize; D] = std::array::from_fn(|a| {
        if unbounded {
            96
        } else if a == 1 {
            48
        } else {
            32
        }
    });
    let mut grid = Grid::new(cells, cells.map(|n| n as f64 / 32.0), [Axis::Periodic; D]);
    grid.axes = std::array::from_fn(|a| match (unbounded, a) {
        (true, _) => Axis::Unbounded,
        (false, 1) => Axis::Bounded { lo: Side::Slip, hi: Side::Open },
        (false, _) => Axis::Bounded { lo: Side::Open, hi: Side::Open },
    });
    let wind = std::array::from_fn(|a| if unbounded && a == 0 { 0.1 } else { 0.0 });
    let mut sim = Smoke::new(grid, smoke::Options { wind, ..smoke::Options::default() }).unwrap();
    let density = sim.flow.add_substance("density", 0.0).unwrap();
    let heat = sim.flow.add_substance("temperature", 0.0).unwrap();
    sim.flow.substances[density].dissipation = 0.8;
    sim.flow.substances[heat].dissipation = 0.8;
    let center = std::array::from_fn(|a| {
        if unbounded {
            1.0
        } else if a == 1 {
            0.15
        } else {
            0.5
        }
    });
    let mut source = Emitter::new(Box::new(Sphere { center, radius: 0.12 }));
    source.supply = vec![(density, Supply::Hold(1.0)), (heat, Supply::Hold(1.0))];
    source.flicker = Some(Flicker::new(&grid, 0.6, 0.1, 0.2, 7));
    sim.flow.sources.push(Box::new(source));
    sim.flow.forces.push(Box::new(Buoyancy { substance: heat, strength: 2.5, ambient: 0.0 }));
    sim
}

/// Dye in a closed periodic box, stirred for ever; or fed and fading.
fn stirred(fading: bool) -> StableFluids<2> {
    let grid = Grid::<2>::periodic([48, 48]);
    let mut sim = StableFluids::new(grid, stable_fluids::Options::default()).unwrap();
    sim.flow.viscosity = 1e-3;
    let mut dye = Substance::new(&grid, "dye").unwrap();
    dye.field.set_from(&grid, |p| 0.5 + 0.5 * (6.0 * std::f64::consts::TAU * p[0]).sin());
    if fading {
        dye.dissipation = 1.0;
        let mut source = Emitter::new(Box::new(Sphere { center: [0.5; 2], radius: 0.15 }));
        source.supply = vec![(0, Supply::Rate(4.0))];
        sim.flow.sources.push(Box::new(source));
    }
    sim.flow.substances.push(dye);
    let field = NoiseField::swirls(&grid, 0.4, 0.5, 3);
    sim.flow.forces.push(Box::new(Noise { field, strength: 0.7, substance: None }));
    sim.start().unwrap();
    sim
}

fn advance_a_frame(sim: &mut Looped) {
    let end = sim.time() + 1.0 / FPS;
    while end - sim.time() > 1e-9 {
        sim.step(sim.longest_step(2.0)).unwrap();
    }
}

fn prepared(sim: Box<dyn Replay>, options: Options) -> Looped {
    let mut sim = Looped::new(sim, options);
    while sim.preparation().is_some() {
        sim.step(sim.longest_step(2.0)).unwrap();
    }
    sim
}

type Picture = (Vec<f32>, Vec<f32>);

/// What carries the name first, and the velocity, as they are.
fn picture(sim: &Looped) -> Picture {
    let (mut smoke, mut flow, mut part) = (Vec::new(), Vec::new(), Vec::new());
    assert!(sim.simulation().read(&sim.simulation().fields()[0].name, 0, &mut smoke));
    for a in 0..sim.simulation().cells().len() {
        assert!(sim.simulation().read("velocity", a, &mut part));
        flow.extend_from_slice(&part);
    }
    (smoke, flow)
}

fn play(sim: &mut Looped, frames: u32) -> Vec<Picture> {
    (0..frames)
        .map(|_| {
            advance_a_frame(sim);
            picture(sim)
        })
        .collect()
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
}

/// The jump from the last frame to the first, over the median and the largest of the jumps between neighbours.
fn seam(frames: &[&[f32]]) -> (f64, f64) {
    let mut jumps: Vec<f64> = frames.windows(2).map(|w| distance(w[0], w[1])).collect();
    let last = distance(frames[frames.len() - 1], frames[0]);
    jumps.sort_by(f64::total_cmp);
    (last / jumps[jumps.len() / 2], jumps[jumps.len() - 1] / jumps[jumps.len() / 2])
}

/// The smallest and the largest standard deviation of a frame, over their mean.
fn contrast(frames: &[&[f32]]) -> (f64, f64) {
    let of = |values: &[f32]| {
        let n = values.len() as f64;
        let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        (values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n).sqrt()
    };
    let all: Vec<f64> = frames.iter().map(|f| of(f)).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    (all.iter().fold(f64::MAX, |m, &v| m.min(v)) / mean, all.iter().fold(0.0, |m: f64, &v| m.max(v)) / mean)
}

/// That the seam cannot be told from what is around it, and that contrast is kept.
fn assert_seamless(what: &str, pictures: &[Picture], deviation: f64) {
    for (name, frames) in [
        ("smoke", pictures.iter().map(|p| &p.0[..]).collect::<Vec<_>>()),
        ("flow", pictures.iter().map(|p| &p.1[..]).collect()),
    ] {
        let (jump, largest) = seam(&frames);
        println!("{what}, {name}: seam {jump:.3}, largest jump {largest:.3}, contrast {:.3?}", contrast(&frames));
        // A twentieth more or less than usual is not to be seen.
        assert!(jump < 1.05, "{what}: {name} jumps by {jump} times the median");
        // No frame of a loop may jump out of the row, wherever the seam was hidden.
        assert!(largest < 2.0, "{what}: somewhere {name} jumps by {largest} times the median");
        let (least, most) = contrast(&frames);
        if name == "smoke" {
            assert!(least > 1.0 - deviation && most < 1.0 + deviation, "{what}: contrast from {least} to {most}");
        }
    }
}

#[test]
fn a_plume_in_a_box_loops() {
    let mut sim = prepared(Box::new(plume::<2>(false)), options(36, 32));
    let seam = sim.seam().unwrap();
    assert!(seam.flow <= 1.0 && seam.contents <= 1.0 && seam.rounds >= 1, "{seam:?}");
    assert_seamless("plume", &play(&mut sim, 32), 0.05);
}

#[test]
fn a_plume_without_bounds_in_a_wind_loops() {
    let mut sim = prepared(Box::new(plume::<2>(true)), options(48, 32));
    // In free space it pulses more than one does between sides at pressure zero.
    assert_seamless("plume without bounds", &play(&mut sim, 32), 0.12);
}

#[test]
fn a_plume_in_three_dimensions_loops() {
    let mut sim = prepared(Box::new(plume::<3>(false)), options(30, 16));
    assert_seamless("plume in 3D", &play(&mut sim, 16), 0.05);
}

#[test]
fn dye_that_is_fed_and_fades_loops() {
    // Stirred by chance it is paler at some times: here that is evened out.
    let mut sim = prepared(Box::new(stirred(true)), Options { even_contrast: true, ..options(40, 32) });
    assert_seamless("fading dye", &play(&mut sim, 32), 0.01);
}

#[test]
fn dye_in_a_closed_box_loops_and_keeps_its_contrast() {
    let options = Options { method: Method::Carry { rounds: 0 }, even_contrast: true, ..options(24, 32) };
    let mut sim = prepared(Box::new(stirred(false)), options);
    assert_seamless("dye in a closed box", &play(&mut sim, 32), 0.005);
}

#[test]
fn after_its_last_frame_a_loop_begins_anew_to_the_bit() {
    for sim in [Box::new(plume::<2>(false)) as Box<dyn Replay>, Box::new(plume::<2>(true)), Box::new(stirred(false))] {
        let mut sim = prepared(sim, options(24, 12));
        let (once, again) = (play(&mut sim, 12), play(&mut sim, 12));
        assert!(once == again, "the second time is like the first");
        assert!(once[0] != once[6], "but something moves");
    }
}

#[test]
fn a_flow_that_carries_nothing_loops_too() {
    for rounds in [0, 2] {
        let mut sim = stirred(false);
        sim.flow.substances.clear();
        let options = Options { method: Method::Carry { rounds }, even_contrast: true, ..options(8, 8) };
        let mut sim = prepared(Box::new(sim), options);
        let frame = |sim: &mut Looped| {
            advance_a_frame(sim);
            let mut u = Vec::new();
            sim.simulation().read("velocity", 0, &mut u);
            u
        };
        let once: Vec<_> = (0..8).map(|_| frame(&mut sim)).collect();
        let again: Vec<_> = (0..8).map(|_| frame(&mut sim)).collect();
        assert!(once == again && once[0] != once[4]);
    }
}

#[test]
fn what_is_painted_on_the_fluid_loops_with_it() {
    let mut dye = stirred(false);
    // Two turns in a loop of half a second.
    dye.flow.texture = Some(TextureCoordinates::new(&dye.flow.grid, dye.flow.pressure().layout(), 0.25).unwrap());
    let mut sim = prepared(Box::new(dye), Options { method: Method::Carry { rounds: 0 }, ..options(12, 12) });
    let mut round = || -> Vec<(Vec<f32>, [f64; 3])> {
        let mut frame = || {
            advance_a_frame(&mut sim);
            let mut shown = Vec::new();
            assert!(sim.simulation().read("texture_1", 0, &mut shown));
            (shown, [0, 1, 2].map(|k| sim.simulation().scalar(&format!("texture_{k}.weight")).unwrap()))
        };
        (0..12).map(|_| frame()).collect()
    };
    let (once, again) = (round(), round());
    for (k, (a, b)) in once.iter().zip(&again).enumerate() {
        assert!(a.0 == b.0, "frame {k}: off by {}", distance(&a.0, &b.0));
        assert!(a.1.iter().zip(&b.1).all(|(a, b)| (a - b).abs() < 1e-9), "frame {k}");
    }
    assert!(once[3].0 != once[5].0, "something moves");
}

#[test]
fn a_mixture_of_recorded_flows_has_no_divergence() {
    let mut sim = plume::<2>(false);
    let run = |sim: &mut Smoke<2>, steps: usize| (0..steps).for_each(|_| drop(sim.step(1.0 / FPS).unwrap()));
    run(&mut sim, 40);
    let first = sim.record_flow();
    let left = ops::max_divergence(sim.flow.velocity(), sim.flow.grid.spacing);
    run(&mut sim, 30);
    let mut mixed = sim.record_flow();
    let left = left.max(ops::max_divergence(sim.flow.velocity(), sim.flow.grid.spacing));
    mixed.mix(0.4, &first, 0.9);
    sim.set_flow(&mixed);
    // What the pressure solver left of both, with their weights; and rounding of velocities: four faces of half a last bit each.
    let rounding = 2.0 * f32::EPSILON * ops::max_abs(&sim.flow.velocity()[1]) / sim.flow.grid.spacing[1] as f32;
    let mixed_left = ops::max_divergence(sim.flow.velocity(), sim.flow.grid.spacing);
    assert!(mixed_left < 1.4 * left + rounding, "{mixed_left}, {left} before");
    sim.set_flow(&first);
    assert!(sim.record_flow() == first, "what was recorded can be put back");
}

#[test]
fn a_loop_that_was_interrupted_goes_on_to_the_bit() {
    let fresh = || Looped::new(Box::new(plume::<2>(true)), options(6, 8));
    let total = 6 + 8 + 4 + 4 * 8 + 8;
    for stop in [3, 16, 24, 34] {
        let mut whole = fresh();
        let mut saved = Vec::new();
        let mut steps = 0;
        let mut frames = 0;
        while frames < 8 && steps < 4 * total {
            whole.step(whole.longest_step(2.0)).unwrap();
            steps += 1;
            if steps == stop {
                whole.visit_state(&mut Save(&mut saved));
            }
            frames = (whole.time() * FPS).round() as i64;
        }
        println!("stopped after {stop} of {steps}");
        let mut resumed = fresh();
        let mut values = saved.into_iter();
        resumed.visit_state(&mut Load(&mut values));
        assert!(values.next().is_none(), "everything saved is read");
        for _ in stop..steps {
            resumed.step(resumed.longest_step(2.0)).unwrap();
        }
        assert!(picture(&whole) == picture(&resumed), "interrupted after {stop} of {steps} steps");
    }
}

struct Save<'a>(&'a mut Vec<Vec<f64>>);
impl StateVisitor for Save<'_> {
    fn integer(&mut self, _: &str, value: &mut u64) {
        self.0.push(vec![*value as f64]);
    }
    fn real(&mut self, _: &str, value: &mut f64) {
        self.0.push(vec![*value]);
    }
    fn array(&mut self, _: &str, values: &mut [f32]) {
        self.0.push(values.iter().map(|&v| f64::from(v)).collect());
    }
}

struct Load<'a>(&'a mut std::vec::IntoIter<Vec<f64>>);
impl StateVisitor for Load<'_> {
    fn integer(&mut self, _: &str, value: &mut u64) {
        *value = self.0.next().unwrap()[0] as u64;
    }
    fn real(&mut self, _: &str, value: &mut f64) {
        *value = self.0.next().unwrap()[0];
    }
    fn array(&mut self, name: &str, values: &mut [f32]) {
        let saved = self.0.next().unwrap();
        assert_eq!(saved.len(), values.len(), "{name}");
        values.iter_mut().zip(saved).for_each(|(v, s)| *v = s as f32);
    }
}

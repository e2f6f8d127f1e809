//! Inks and heat that a liquid carries.

use super::moving::tape;
use super::{run, tank, weightless};
use squall_core::force::Buoyancy;
use squall_core::model::liquid::{Blob, Curve, HEAT_CAPACITY, Heat, Heater, Opening, Spout, Zone};
use squall_core::model::{Liquid, Model};
use squall_core::shape::{Cuboid, HalfSpace, Sphere};
use squall_core::solid::{Boundary, Obstacle};
use std::collections::BTreeMap;
use std::sync::Arc;

fn constant(value: f64) -> Curve {
    Arc::new(move |_| value)
}

/// Two columns that fall towards each other, each with an ink of its own.
fn dams(diffusion: f64) -> Liquid<2> {
    let mut dams = tank([96, 48], [2.0, 1.0]);
    for (name, left) in [("red", true), ("blue", false)] {
        let ink = dams.carry(name, Box::new(move |x| if (x[0] < 1.0) == left { 1.0 } else { 0.0 })).unwrap();
        dams.flow.substances[ink + 1].diffusion = diffusion;
    }
    dams.fill(1, |x| (x[0] < 0.4 || x[0] > 1.6) && x[1] < 0.7, |_| [0.0; 2]);
    dams
}

/// What each particle carries, by its number.
fn by_number<const D: usize>(liquid: &Liquid<D>, k: usize) -> BTreeMap<u32, f32> {
    liquid.particles.iter().map(|(_, p)| p.id).zip(liquid.particles.carried(k)).collect()
}

#[test]
fn every_particle_keeps_what_it_carries_through_a_splash() {
    let mut dams = dams(0.0);
    let before = [0, 1].map(|k| by_number(&dams, k));
    run(&mut dams, 1.0, 1.5, |_, _| {});
    assert_eq!([0, 1].map(|k| by_number(&dams, k)), before);
    // Both have come to the middle, where cells have something of each.
    let [red, blue] = [1, 2].map(|s| dams.flow.substances[s].field.get([48, 3]));
    assert!((red + blue - 1.0).abs() < 1e-5, "means of particles that have one or the other: {red} and {blue}");
}

#[test]
fn mixing_spreads_as_diffusion_does_and_keeps_the_sum_and_the_range() {
    // c = (1 + cos(pi x)) / 2 between insulated walls decays by exp(-k pi^2 t).
    let (diffusion, seconds) = (0.02, 2.0);
    let mut liquid = weightless([40, 12], [1.0, 0.3]);
    let wave = |x: f64| (std::f64::consts::PI * x).cos();
    liquid.carry("ink", Box::new(move |x| (0.5 + 0.5 * wave(x[0])) as f32)).unwrap();
    liquid.flow.substances[1].diffusion = diffusion;
    liquid.fill(1, |_| true, |_| [0.0; 2]);
    let size = |liquid: &Liquid<2>| {
        let all = super::positions(liquid).into_iter().zip(liquid.particles.carried(0));
        all.map(|(x, c)| (f64::from(c) - 0.5) * wave(x[0])).sum::<f64>()
    };
    let before = size(&liquid);
    let mut unexplained = 0.0f64;
    run(&mut liquid, seconds, 1.0, |_, report| {
        let account = &report.ledger.substances[1];
        unexplained += account.unexplained() / account.present;
        assert_eq!(account.excess(), 0.0, "no value leaves the range of the others");
    });
    // 120 steps of single precision, the errors of 1,900 particles of either sign.
    assert!(unexplained.abs() < 1e-6, "{unexplained}");
    let (left, wanted) = (size(&liquid) / before, (-diffusion * std::f64::consts::PI.powi(2) * seconds).exp());
    // Particles do not lie on a lattice: a pass spreads a little more or less than it would there.
    assert!((left / wanted - 1.0).abs() < 0.05, "{left} of {wanted}");
}

#[test]
fn the_ledger_knows_where_what_is_carried_came_from_and_went() {
    let mut liquid = tank([32, 32], [1.0; 2]);
    let ink = liquid.carry("ink", Box::new(|_| 0.25)).unwrap();
    let heat = liquid.carry("heat", Box::new(|_| 0.0)).unwrap();
    liquid.flow.substances[ink + 1].diffusion = 1e-3;
    liquid.flow.substances[heat + 1].dissipation = 0.5;
    liquid.blobs.push(Blob::at(0.0, Box::new(Cuboid::between([0.0, 0.0], [1.0, 0.3])), [0.0; 2]));
    let drop = Box::new(Sphere { center: [0.5, 0.8], radius: 0.1 });
    liquid.blobs.push(Blob { set: vec![(ink, constant(2.0))], ..Blob::at(0.1, drop, [0.0; 2]) });
    let mut spout = Spout::new([0.1, 0.6], [1.0, 0.0], Opening::Disc(0.05), constant(1.0));
    spout.set = vec![(ink, constant(1.0)), (heat, constant(10.0))];
    liquid.spouts.push(Arc::new(spout));
    let plate = || Box::new(Cuboid::between([0.6, 0.0], [0.9, 0.1]));
    liquid.zones.push(Zone { rate: vec![(heat, constant(20.0))], ..Zone::at(plate()) });
    let hole = Box::new(Cuboid::between([0.1, -0.1], [0.2, 0.05]));
    liquid.zones.push(Zone { drains: true, ..Zone::at(hole) });
    liquid.start().unwrap();
    let particle = liquid.flow.grid.cell_volume() / 4.0;
    let amount = |liquid: &Liquid<2>, k: usize| particle * liquid.particles.carried(k).map(f64::from).sum::<f64>();
    let mut known = [0, 1].map(|k| amount(&liquid, k));
    let mut sums = [[0.0; 2]; 2];
    run(&mut liquid, 0.5, 1.0, |liquid, report| {
        for k in 0..2 {
            let account = &report.ledger.substances[k + 1];
            assert!((account.before - known[k]).abs() <= 1e-12, "begins where the last step ended");
            known[k] = amount(liquid, k);
            assert!((account.after - known[k]).abs() <= 1e-12 && report.mass[k + 1] == account.after);
            // Rounding of particles that mix.
            let off = account.unexplained().abs() / account.present.max(1e-9);
            assert!(off < 1e-7, "{off} of what is there");
            sums[k][0] += account.emitted;
            sums[k][1] -= account.dissipated;
        }
    });
    let [ink, heat] = sums;
    // The drop and half a metre of jet; particles fill both to a few percent.
    let drop = std::f64::consts::PI * 0.01;
    assert!((ink[0] / (2.0 * drop + 0.05) - 1.0).abs() < 0.05, "ink from drop and spout: {}", ink[0]);
    assert!(ink[1] > 0.0, "some is drained");
    // Ten times what comes out of the spout, and 20 per second on the plate.
    assert!((heat[0] / (0.5 + 20.0 * 0.03 * 0.5) - 1.0).abs() < 0.1, "heat from spout and plate: {}", heat[0]);
    assert!(heat[1] > 0.02 && heat[1] < 0.25 * heat[0], "some of it fades: {}", heat[1]);
}

#[test]
fn hot_liquid_rises_and_cold_liquid_sinks() {
    let rise = |excess: f64| {
        let mut liquid = tank([48, 48], [1.0; 2]);
        let warmth = liquid.carry("temperature", Box::new(|_| 20.0)).unwrap();
        liquid.flow.forces.push(Box::new(Buoyancy { substance: warmth + 1, strength: 0.02, ambient: 20.0 }));
        let ball = Box::new(Sphere { center: [0.5, 0.4], radius: 0.12 });
        liquid.blobs.push(Blob { set: vec![(warmth, constant(20.0 + excess))], ..Blob::at(0.0, ball, [0.0; 2]) });
        liquid.blobs.push(Blob::at(0.0, Box::new(Cuboid::between([0.0, 0.0], [1.0, 0.8])), [0.0; 2]));
        let height = |liquid: &Liquid<2>| {
            let all = super::positions(liquid).into_iter().zip(liquid.particles.carried(0));
            let hot: Vec<f64> = all.filter(|(_, t)| (t - 20.0).abs() > 1.0).map(|(x, _)| x[1]).collect();
            hot.iter().sum::<f64>() / hot.len().max(1) as f64
        };
        liquid.start().unwrap();
        let before = height(&liquid);
        run(&mut liquid, 0.6, 1.0, |_, _| {});
        height(&liquid) - before
    };
    let [hot, cold] = [rise(30.0), rise(-30.0)];
    // A disc of fluid that is pushed by f with as much fluid around it to move begins with f/2: here 0.3 m/s^2 for 0.6 s, 5 cm.
    assert!(hot > 0.03 && hot < 0.07, "{hot} m");
    assert!(cold < -0.03 && cold > -0.07, "{cold} m");
}

#[test]
fn what_is_carried_goes_on_to_the_same_bits_after_it_was_restored_and_on_any_number_of_threads() {
    let on = |threads: usize, restored: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut whole = dams(2e-3);
            run(&mut whole, 0.4, 1.0, |_, _| {});
            if restored {
                let mut kept = tape(&mut whole);
                kept.restoring = true;
                whole = tank([96, 48], [2.0, 1.0]);
                for name in ["red", "blue"] {
                    let ink = whole.carry(name, Box::new(|_| 0.0)).unwrap();
                    whole.flow.substances[ink + 1].diffusion = 2e-3;
                }
                squall_core::Simulation::visit_state(&mut whole, &mut kept);
            }
            let mut reports = Vec::new();
            for _ in 0..10 {
                let dt = Model::longest_step(&whole, 1.0);
                reports.push(whole.step(dt).unwrap().ledger.substances);
            }
            let tape = tape(&mut whole);
            (tape.numbers, tape.arrays, reports)
        })
    };
    let one = on(1, false);
    assert!(one == on(3, false) && one == on(2, true));
}

#[test]
fn a_melting_front_goes_as_stefan_says() {
    // One phase: a solid at its melting point on a hot plate. s = 2 l sqrt(k t), where l exp(l^2) erf(l) = (T - T_m) / (L sqrt(pi)).
    let (k, h, hot, latent) = (1e-3, 1.0 / 64.0, 100.0, 100.0);
    let mut wax = weightless([8, 48], [8.0 * h, 48.0 * h]);
    // Nothing moves.
    wax.flow.viscosity = 1e3;
    let n = wax.carry("temperature", Box::new(|_: [f64; 2]| 0.0)).unwrap();
    wax.flow.substances[n + 1].diffusion = k;
    let plate = || Box::new(HalfSpace::new([0.0, 4.0 * h], [0.0, 1.0]));
    wax.flow.set_obstacles(vec![Obstacle::new("plate", plate())], Boundary::CutCells).unwrap();
    let heat = Heat { carried: n, latent, range: [0.0, 2.0], air: 0.0, cooling: 0.0, emissivity: 0.0 };
    let heater = Heater { shape: plate(), temperature: constant(hot) };
    wax.set_heat(heat, vec![heater]);
    wax.fill(1, |x| x[1] > 4.0 * h && x[1] < 44.0 * h, |_| [0.0; 2]);
    run(&mut wax, 30.0, 1.0, |_, _| {});
    // Where it is half molten.
    let temperatures: Vec<f32> = wax.particles.carried(n).collect();
    let molten = temperatures.iter().filter(|t| **t > 1.0).count() as f64 / temperatures.len() as f64;
    let front = molten * 40.0 * h;
    // l = 0.6201 for equal heats.
    let expected = 2.0 * 0.6201 * (k * 30.0f64).sqrt();
    assert!((front / expected - 1.0).abs() < 0.05, "{front} {expected}");
    // Nothing is hotter than the plate.
    assert!(temperatures.iter().all(|t| (-1e-3..=100.001).contains(t)));
}

#[test]
fn a_surface_cools_by_newtons_law_and_glows_by_stefan_and_boltzmanns() {
    // A thin layer that is mixed at once: h dT/dt = -a (T - T_air).
    let left = |cooling: f64, emissivity: f64| {
        let h = 1.0 / 32.0;
        let mut pool = tank([16, 16], [16.0 * h, 16.0 * h]);
        pool.flow.viscosity = 1.0;
        let n = pool.carry("temperature", Box::new(|_: [f64; 2]| 1000.0)).unwrap();
        pool.flow.substances[n + 1].diffusion = 0.05;
        pool.set_heat(Heat { carried: n, latent: 0.0, range: [0.0, 1.0], air: 300.0, cooling, emissivity }, Vec::new());
        pool.fill(1, |x| x[1] < 4.0 * h, |_| [0.0; 2]);
        run(&mut pool, 2.0, 1.0, |_, report| {
            let entry = &report.ledger.substances[1];
            assert!(entry.unexplained().abs() < 1e-4 * entry.present, "{entry:?}");
        });
        let all: Vec<f32> = pool.particles.carried(n).collect();
        all.iter().map(|t| f64::from(*t)).sum::<f64>() / all.len() as f64
    };
    // 0.02 m/s through a layer of 0.125 m, for 2 s.
    let expected = 300.0 + 700.0 * (-0.02f64 * 2.0 / 0.125).exp();
    let by_newton = left(0.02 * HEAT_CAPACITY, 0.0);
    // The layer that counts as the surface is a cell thick, by distances that are bumpy by a tenth of one; conduction takes a while.
    assert!((by_newton - expected).abs() < 0.1 * (1000.0 - expected), "{by_newton} {expected}");
    let (dim, bright) = (left(0.0, 1e3), left(0.0, 2e3));
    assert!(bright < dim && dim < 999.0 && bright > 300.0, "{dim} {bright}");
}

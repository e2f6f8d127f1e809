//! Inks and heat that a liquid carries.

use super::moving::tape;
use super::{run, tank, weightless};
use squall_core::force::Buoyancy;
use squall_core::model::liquid::{Blob, Curve, Opening, Spout, Zone};
use squall_core::model::{Liquid, Model};
use squall_core::shape::{Cuboid, Sphere};
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

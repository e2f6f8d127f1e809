//! Liquid that comes in and goes out.

use crate::{positions, run, tank, weightless};
use squall_core::model::Model;
use squall_core::model::liquid::{Blob, Curve, Liquid, Opening, Spout, Zone};
use squall_core::shape::{Cuboid, Key, Motion, Sphere, Track};
use squall_core::solid::Boundary;
use std::sync::Arc;

/// Adds a spout with its nozzle, two cells deep.
fn add_spout<const D: usize>(liquid: &mut Liquid<D>, spout: Spout<D>) {
    let spout = Arc::new(spout);
    let depth = 2.0 * liquid.flow.grid.spacing[0];
    liquid.flow.set_obstacles(vec![spout.nozzle(depth)], Boundary::CutCells).unwrap();
    liquid.spouts.push(spout);
}

fn constant(value: f64) -> Curve {
    Arc::new(move |_| value)
}

#[test]
fn what_a_spout_pours_does_not_depend_on_steps_and_is_its_area_times_its_speed() {
    let poured = |dt: f64| {
        let mut liquid = weightless([40, 40, 40], [1.0; 3]);
        add_spout(&mut liquid, Spout::new([0.2, 0.5, 0.5], [1.0, 0.0, 0.0], Opening::Disc(0.1), constant(1.5)));
        liquid.start().unwrap();
        for _ in 0..(0.3 / dt).round() as usize {
            liquid.step(dt).unwrap();
        }
        liquid.particles.len()
    };
    let particle = 0.025f64.powi(3) / 8.0;
    let (coarse, fine) = (poured(0.01), poured(0.0025));
    assert_eq!(coarse, fine, "as many particles whatever the steps");
    let (area, sheet) = (std::f64::consts::PI * 0.01, 0.0125);
    let (volume, wanted) = (coarse as f64 * particle, area * 1.5 * 0.3);
    assert!((volume - wanted).abs() <= area * sheet, "within one sheet of {wanted}: {volume}");
}

#[test]
fn the_jet_of_a_spout_keeps_its_speed_and_its_width() {
    let mut liquid = weightless([60, 30], [2.0, 1.0]);
    add_spout(&mut liquid, Spout::new([0.2, 0.5], [1.0, 0.0], Opening::Disc(0.1), constant(2.0)));
    run(&mut liquid, 0.6, 1.0, |_, _| ());
    let jet = positions(&liquid);
    let tip = jet.iter().map(|x| x[0]).fold(0.0, f64::max);
    assert!((tip - 1.4).abs() < 0.07, "the tip has gone 1.2: it is at {tip}");
    assert!(jet.iter().filter(|x| x[0] < 1.2).all(|x| (x[1] - 0.5).abs() < 0.14), "a jet 0.2 wide");
    let momentum = liquid.momentum()[0] / liquid.volumes()[0];
    assert!((momentum - 2.0).abs() < 0.06, "it moves at 2: {momentum}");
}

#[test]
fn a_spout_in_any_direction_drives_nothing_but_what_comes_out_of_it() {
    // Only its front gives, and its back and sides do not: cells that its side passes once saw that as liquid that appears, and pressed it out of what was
    // open of them at 5 to 18 times the speed of the spout.
    for (direction, radius) in [([1.0, 0.5], 0.05), ([1.0, 0.8], 0.06), ([0.3, -1.0], 0.06), ([0.3, -1.0], 0.073)] {
        let mut liquid = weightless([64, 64], [1.0, 1.0]);
        add_spout(&mut liquid, Spout::new([0.3, 0.3], direction, Opening::Disc(radius), constant(1.0)));
        let mut faces = 0.0f32;
        run(&mut liquid, 0.2, 1.0, |liquid, _| {
            faces = liquid.flow.velocity().iter().map(squall_core::ops::max_abs_faces).fold(faces, f32::max);
        });
        // Beside the rim faces that are open in part are a little faster than the jet.
        assert!(faces < 2.0, "{faces} m/s on a face, out of a spout at 1 m/s along {direction:?}");
    }
}

#[test]
fn a_spout_under_water_drives_a_current_and_raises_the_level() {
    let mut liquid = tank([48, 48], [1.0, 1.0]);
    let speed: Curve = Arc::new(|t| if t < 0.5 { 1.0 } else { 0.0 });
    add_spout(&mut liquid, Spout::new([0.3, 0.2], [1.0, 0.0], Opening::Disc(0.06), speed));
    liquid.blobs.push(Blob::at(0.0, Box::new(Cuboid::between([0.0, 0.0], [1.0, 0.5])), [0.0; 2]));
    let mut ledger = 0.0;
    run(&mut liquid, 0.8, 1.0, |_, report| ledger += report.ledger.substances[0].emitted);
    assert!((ledger - 0.06).abs() < 0.004, "0.12 wide, at 1 m/s for half a second: {ledger}");
    let [particles, surface] = liquid.volumes();
    assert!((particles - 0.553).abs() < 0.01, "half of the box less the nozzle, and what came in: {particles}");
    assert!((surface / particles - 1.0).abs() < 0.04, "the surface encloses {surface}");
}

#[test]
fn a_turning_spout_throws_to_all_sides() {
    let mut liquid = weightless([40, 40], [1.0; 2]);
    let turn = Track::new(
        vec![Key { time: 0.0, value: [0.0; 3] }, Key { time: 1.0, value: [0.0, 0.0, 360.0] }],
        squall_core::shape::Interpolation::Linear,
        squall_core::shape::Beyond::Loop,
    );
    let mut spout = Spout::new([0.55, 0.5], [1.0, 0.0], Opening::Disc(0.04), constant(0.6));
    spout.motions.push(Motion { pivot: [0.5, 0.5], angles: turn.unwrap(), ..Motion::default() });
    add_spout(&mut liquid, spout);
    run(&mut liquid, 0.6, 1.0, |_, _| ());
    let of = |side: fn(&[f64; 2]) -> bool| positions(&liquid).iter().filter(|x| side(x)).count();
    assert!(of(|x| x[0] > 0.65) > 5 && of(|x| x[1] > 0.65) > 5 && of(|x| x[0] < 0.35) > 5, "right, up, left");
}

#[test]
fn a_zone_that_is_kept_full_pours_as_fast_as_it_is_told() {
    let mut liquid = weightless([64, 32], [2.0, 1.0]);
    liquid.zones.push(Zone {
        fills: true,
        velocity: Some(Box::new(|_| [1.0, 0.0])),
        on: Box::new(|t| t < 0.8),
        speed: 1.0,
        ..Zone::at(Box::new(Cuboid::between([0.1, 0.4], [0.3, 0.6])))
    });
    run(&mut liquid, 0.8, 1.0, |_, _| ());
    let volume = liquid.volumes()[0];
    // The zone itself, and 0.2 times 1 m/s for 0.8 s.
    assert!((volume - 0.2).abs() < 0.02, "{volume}");
    let tip = positions(&liquid).iter().map(|x| x[0]).fold(0.0, f64::max);
    assert!((tip - 1.1).abs() < 0.1, "{tip}");
}

#[test]
fn a_drain_empties_a_pool_and_the_ledger_says_so() {
    let mut liquid = tank([32, 32], [1.0; 2]);
    liquid.blobs.push(Blob::at(0.0, Box::new(Cuboid::between([0.0, 0.0], [1.0, 0.4])), [0.0; 2]));
    liquid.zones.push(Zone { drains: true, ..Zone::at(Box::new(Cuboid::between([0.4, -0.1], [0.6, 0.05]))) });
    let (mut drained, mut unexplained) = (0.0, 0.0f64);
    liquid.start().unwrap();
    let start = liquid.volumes()[0];
    run(&mut liquid, 0.5, 1.0, |_, report| {
        drained -= report.ledger.substances[0].dissipated;
        unexplained = unexplained.max(report.ledger.substances[0].unexplained().abs());
    });
    let left = liquid.volumes()[0];
    assert!(left < 0.7 * start, "it runs out: {left} of {start}");
    assert!(
        (start - left - drained).abs() < 1e-9 && unexplained < 1e-12,
        "drained {drained}, unexplained {unexplained}"
    );
}

#[test]
fn drops_fall_again_and_again_until_they_stop() {
    let mut liquid = weightless([32, 32], [1.0; 2]);
    let drop = Sphere { center: [0.5, 0.8], radius: 0.08 };
    liquid.blobs.push(Blob { every: 0.25, to: 0.6, ..Blob::at(0.1, Box::new(drop), [0.0, -1.0]) });
    let one = std::f64::consts::PI * 0.0064;
    run(&mut liquid, 0.09, 1.0, |_, _| ());
    assert!(liquid.particles.is_empty());
    run(&mut liquid, 0.3, 1.0, |_, _| ());
    assert!((liquid.volumes()[0] / one - 1.0).abs() < 0.15, "one drop at 0.1");
    run(&mut liquid, 1.0, 1.0, |_, _| ());
    assert!((liquid.volumes()[0] / (3.0 * one) - 1.0).abs() < 0.15, "three, at 0.1, 0.35 and 0.6");
}

#[test]
fn a_pump_turns_a_pool() {
    let mut liquid = tank([32, 32], [1.0; 2]);
    liquid.blobs.push(Blob::at(0.0, Box::new(Cuboid::between([0.0, 0.0], [1.0, 0.5])), [0.0; 2]));
    liquid.zones.push(Zone {
        velocity: Some(Box::new(|_| [0.8, 0.0])),
        speed: 0.8,
        ..Zone::at(Box::new(Cuboid::between([0.4, 0.05], [0.6, 0.15])))
    });
    liquid.start().unwrap();
    let before = liquid.particles.len();
    run(&mut liquid, 0.5, 1.0, |_, _| ());
    assert_eq!(liquid.particles.len(), before, "a pump neither adds nor takes");
    let fast = liquid.particles.iter().filter(|(_, p)| p.velocity[0] > 0.3).count();
    let back = liquid.particles.iter().filter(|(_, p)| p.velocity[0] < -0.03).count();
    assert!(fast > 20 && back > 50, "forwards {fast}, and back {back}");
    assert!(Model::longest_step(&liquid, 1.0) <= 1.0 / 32.0 / 0.8);
}

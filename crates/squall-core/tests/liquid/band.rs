//! Particles near the surface only: the same water, with less of them.

use super::moving::{FRONT, tape};
use super::resting::unrest;
use super::{GRAVITY, run, tank, wet_mean};
use squall_core::force::Uniform;
use squall_core::model::Model;
use squall_core::model::liquid::{Blob, Liquid, Options, Zone};
use squall_core::shape::{Cuboid, Sphere};
use squall_core::solid::{Boundary, Obstacle};
use squall_core::{Axis, Grid, Side, Simulation};

const WIDTH: usize = 3;

/// With particles up to three cells from the surface.
fn narrow<const D: usize>(mut liquid: Liquid<D>) -> Liquid<D> {
    liquid.keep_band(Some(WIDTH)).unwrap();
    liquid
}

/// How many particles there would be if they filled all of it.
fn in_all<const D: usize>(liquid: &Liquid<D>) -> f64 {
    let volume = liquid.flow.grid.cell_volume() / (1 << D) as f64;
    liquid.volumes()[0] / volume
}

#[test]
fn deep_water_at_rest_stays_at_rest_without_particles_in_it() {
    // As calm as with particles everywhere.
    let mut pool = narrow(tank([48, 64], [0.75, 1.0]));
    pool.fill(1, |x| x[1] < 0.83, |_| [0.0; 2]);
    pool.start().unwrap();
    assert!((pool.particles.len() as f64) < 0.12 * in_all(&pool), "{} of {}", pool.particles.len(), in_all(&pool));
    let most = unrest(pool, 2.0);
    assert!(most < 0.03, "2D: {most}");
    let mut pool = narrow(tank([16, 32, 16], [0.5, 1.0, 0.5]));
    pool.fill(1, |x| x[1] < 0.83, |_| [0.0; 3]);
    let most = unrest(pool, 1.0);
    assert!(most < 0.03, "3D: {most}");
}

#[test]
fn a_wave_on_deep_water_sloshes_as_fast_as_linear_theory_says() {
    // First mode in a tank 1 m long, 0.5 m deep: period 1.18182 s (w^2 = g k tanh(k h)); 29 of 32 cells of the depth have no particles.
    let period = 1.1818155;
    let (k, amplitude) = (std::f64::consts::PI, 0.02);
    let mut tank = narrow(tank([64, 48], [1.0, 0.75]));
    tank.fill(1, |x| x[1] < 0.5 + amplitude * (k * x[0]).cos(), |_| [0.0; 2]);
    let (mut crossings, mut last) = (Vec::new(), None::<(f64, f64)>);
    let mut swing = [0.0f64; 2];
    run(&mut tank, 2.3 * period, 0.5, |liquid, _| {
        let (t, x) = (liquid.flow.time(), wet_mean(liquid, |x| x[0]) - 0.5);
        let half = usize::from(t > 1.15 * period);
        swing[half] = swing[half].max(x.abs());
        if let Some((before, was)) = last
            && was.signum() != x.signum()
        {
            crossings.push(before + (t - before) * was / (was - x));
        }
        last = Some((t, x));
    });
    assert!(crossings.len() >= 3, "{crossings:?}");
    let found = 2.0 * (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64;
    println!("period {found}, swing {swing:?}");
    assert!((found / period - 1.0).abs() < 0.02, "period {found}, expected {period}");
    // A grid that carries its velocity damps a little, and adds nothing.
    assert!(swing[1] > 0.85 * swing[0] && swing[1] < 1.02 * swing[0], "{swing:?}");
}

#[test]
fn a_column_with_a_narrow_band_spreads_as_martin_and_moyce_measured() {
    // a = 0.25 m on 24 cells, as with particles everywhere.
    let a = 0.25;
    let mut column = narrow(tank([120, 60], [5.0 * a, 2.5 * a]));
    column.fill(1, |x| x[0] < a && x[1] < 2.0 * a, |_| [0.0; 2]);
    let mut track = Vec::new();
    run(&mut column, 0.42, 0.5, |liquid, _| {
        // All of it, deep water as well; the foremost thousandth may be spray.
        let mut front = Simulation::particles(liquid).unwrap().positions.swap_remove(0);
        front.sort_by(f32::total_cmp);
        let front = f64::from(front[front.len() * 999 / 1000]);
        track.push((liquid.flow.time() * (2.0 * GRAVITY / a).sqrt(), front / a));
    });
    let first = track.iter().position(|p| p.1 >= FRONT[0].1).unwrap();
    let ((t0, z0), (t1, z1)) = (track[first - 1], track[first]);
    let shift = FRONT[0].0 - (t0 + (t1 - t0) * (FRONT[0].1 - z0) / (z1 - z0));
    for (t, z) in FRONT {
        let at = track.iter().find(|p| p.0 + shift >= t).map_or(f64::NAN, |p| p.1);
        println!("T {t} Z {z}: {at:.2}");
        assert!((at / z - 1.0).abs() < 0.05, "T = {t}: Z = {at} where {z} was measured");
    }
}

fn dam() -> Liquid<2> {
    let mut dam = narrow(tank([96, 48], [2.0, 1.0]));
    dam.fill(1, |x| x[0] < 0.5 && x[1] < 0.7, |_| [0.0; 2]);
    dam
}

#[test]
fn a_violent_dam_with_a_narrow_band_keeps_its_volume() {
    let mut dam = dam();
    dam.start().unwrap();
    let volume = dam.volumes()[0];
    let (mut most, mut drift) = (0.0f64, 0.0f64);
    run(&mut dam, 9.0, 1.0, |liquid, report| {
        most = most.max(report.energy);
        let account = &report.ledger.substances[0];
        drift = drift.max((account.after / volume - 1.0).abs());
        assert!(account.unexplained().abs() < 1e-9 * volume, "{account:?}");
        for (_, p) in liquid.particles.iter() {
            assert!(p.place.iter().chain(&p.velocity).all(|v| v.is_finite()));
        }
    });
    assert!(dam.flow.clock().steps > 1000, "{}", dam.flow.clock().steps);
    // Every particle that sinks is counted until it rises again.
    assert!(drift < 1e-9, "{drift}");
    // Calm again after nine seconds: what is inside of the surface is what was there.
    let [counted, inside] = dam.volumes();
    println!("inside {}, energy {most}, particles {} of {}", inside / counted, dam.particles.len(), in_all(&dam));
    assert!((inside / counted - 1.0).abs() < 0.01, "{}", inside / counted);
    // 0.35 m2 that fell from 0.35 to 0.0875 m, its centre.
    assert!(most < 0.92, "{most} J per unit of density, and it fell for 0.90");
}

#[test]
fn a_narrow_splash_is_the_same_on_any_number_of_threads_and_when_restored() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut dam = narrow(tank([40, 32, 20], [1.0, 0.8, 0.5]));
            dam.fill(1, |x| x[0] < 0.45 && x[1] < 0.6, |_| [0.0; 3]);
            run(&mut dam, 0.2, 1.0, |_, _| {});
            assert!((dam.particles.len() as f64) < 0.8 * in_all(&dam));
            let tape = tape(&mut dam);
            (tape.numbers, tape.arrays)
        })
    };
    let one = on(1);
    assert!(one == on(2) && one == on(5));

    let mut whole = dam();
    run(&mut whole, 0.4, 1.0, |_, _| {});
    let mut kept = tape(&mut whole);
    kept.restoring = true;
    let mut other = narrow(tank([96, 48], [2.0, 1.0]));
    Simulation::visit_state(&mut other, &mut kept);
    for _ in 0..20 {
        let dt = Model::longest_step(&whole, 1.0);
        assert_eq!(dt, Model::longest_step(&other, 1.0));
        whole.step(dt).unwrap();
        other.step(dt).unwrap();
    }
    let (a, b) = (tape(&mut whole), tape(&mut other));
    assert!(a.numbers == b.numbers && a.arrays == b.arrays);
}

#[test]
fn what_is_shown_of_a_narrow_band_is_all_of_the_liquid() {
    let mut dam = dam();
    run(&mut dam, 0.3, 1.0, |_, _| {});
    let shown = Simulation::particles(&dam).unwrap();
    assert!((shown.len() as f64 / in_all(&dam) - 1.0).abs() < 0.01, "{} of {}", shown.len(), in_all(&dam));
    let inside = |a: usize, most: f32| shown.positions[a].iter().all(|x| (0.0..most).contains(x));
    assert!(inside(0, 2.0) && inside(1, 1.0));
}

#[test]
fn a_narrow_band_on_tiles_does_what_it_does_in_a_box() {
    let axes = |ends: Side<2>| [Axis::Bounded { lo: ends, hi: ends }, Axis::Bounded { lo: Side::Slip, hi: ends }];
    let start = |side: Side<2>| {
        let grid = Grid::<2>::new([192, 96], [3.0, 1.5], axes(side));
        let mut liquid = narrow(Liquid::new(grid, Options::default()).unwrap());
        liquid.flow.forces.push(Box::new(Uniform([0.0, -GRAVITY as f32])));
        let column = Cuboid::between([1.0, 0.0], [2.0, 0.8]);
        liquid.blobs.push(Blob::at(0.0, Box::new(column), [0.0; 2]));
        liquid
    };
    let mut states = Vec::new();
    for side in [Side::Slip, Side::Unbounded] {
        let mut liquid = start(side);
        liquid.start().unwrap();
        let volume = liquid.volumes()[0];
        assert!((liquid.particles.len() as f64) < 0.6 * in_all(&liquid));
        while liquid.flow.time() < 0.3 {
            let dt = Model::longest_step(&liquid, 1.0).min(1.0 / 60.0);
            liquid.step(dt).unwrap();
        }
        assert!((liquid.volumes()[0] / volume - 1.0).abs() < 1e-9);
        let shown = Simulation::particles(&liquid).unwrap();
        let mean = |a: usize| shown.positions[a].iter().map(|x| f64::from(*x)).sum::<f64>() / shown.len() as f64;
        let spread = shown.positions[0].iter().map(|x| (f64::from(*x) - 1.5).abs()).sum::<f64>() / shown.len() as f64;
        states.push([mean(1), spread]);
    }
    // Coarse levels of the solver differ, and what it leaves grows in a splash.
    let (of_box, of_tiles) = (states[0], states[1]);
    for k in 0..2 {
        assert!((of_box[k] / of_tiles[k] - 1.0).abs() < 0.01, "{of_box:?} {of_tiles:?}");
    }
}

#[test]
fn objects_and_drains_in_deep_water_find_particles_around_them() {
    let mut pool = narrow(tank([48, 48], [1.0, 1.0]));
    let ball = Sphere { center: [0.3, 0.35], radius: 0.1 };
    pool.flow.set_obstacles(vec![Obstacle::new("ball", Box::new(ball))], Boundary::CutCells).unwrap();
    let mut drain = Zone::at(Box::new(Sphere { center: [0.75, 0.25], radius: 0.08 }));
    drain.drains = true;
    drain.on = Box::new(|t| t > 0.3);
    pool.zones.push(drain);
    pool.fill(1, |x| x[1] < 0.8 && (x[0] - 0.3).hypot(x[1] - 0.35) > 0.1, |_| [0.0; 2]);
    pool.start().unwrap();
    let volume = pool.volumes()[0];
    let mut drained = 0.0;
    run(&mut pool, 0.8, 1.0, |liquid, report| {
        drained -= report.ledger.substances[0].dissipated;
        for x in super::positions(liquid) {
            assert!((x[0] - 0.3).hypot(x[1] - 0.35) > 0.1 - 0.02 / 48.0, "inside the ball at {x:?}");
        }
    });
    assert!(drained > 0.02 * volume, "{drained} of {volume}");
    assert!((pool.volumes()[0] + drained - volume).abs() < 1e-9 * volume);
    let [counted, inside] = pool.volumes();
    // The gap that a drain leaves, and cells beside the ball, are known to a part of a cell.
    assert!((inside / counted - 1.0).abs() < 0.06, "{}", inside / counted);
}

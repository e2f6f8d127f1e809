//! Liquids that do not move, or hardly.

use super::{GRAVITY, mean, run, tank, weightless};
use squall_core::force::Uniform;
use squall_core::model::liquid::{Blob, Tracking};
use squall_core::model::{Liquid, Model};
use squall_core::shape::{Cuboid, Sphere};
use squall_core::solid::{Boundary, Obstacle};

/// The largest mean speed over the last half of `seconds`, as a part of that of a fall by one cell.
pub fn unrest<const D: usize>(mut liquid: Liquid<D>, seconds: f64) -> f64 {
    let fall = (2.0 * GRAVITY * liquid.flow.grid.spacing[0]).sqrt();
    let mut most: f64 = 0.0;
    run(&mut liquid, seconds, 1.0, |liquid, report| {
        if liquid.flow.time() > 0.5 * seconds {
            most = most.max((2.0 * report.energy / liquid.volumes()[0]).sqrt() / fall);
        }
    });
    most
}

#[test]
fn water_at_rest_stays_at_rest() {
    // The surface around particles is rough by some hundredths of a cell: what moves is as slow as what falls by a thousandth of a cell.
    let mut pool = tank([48, 32], [1.5, 1.0]);
    pool.fill(1, |x| x[1] < 0.43, |_| [0.0; 2]);
    let most = unrest(pool, 2.0);
    assert!(most < 0.03, "2D: {most}");
    let mut pool = tank([24, 24, 24], [1.0; 3]);
    pool.fill(1, |x| x[1] < 0.43, |_| [0.0; 3]);
    let most = unrest(pool, 1.0);
    assert!(most < 0.03, "3D: {most}");
}

#[test]
fn water_stays_at_rest_at_any_height_and_however_gravity_is_tilted() {
    // Surfaces that lie between the cells, level and on a slope: as calm as those above.
    for (tilt, height) in [(0.0f64, 0.41), (0.0, 0.42), (11.0, 0.43), (27.0, 0.4), (45.0, 0.37)] {
        let (sin, cos) = tilt.to_radians().sin_cos();
        let mut pool = weightless([40, 40], [1.0; 2]);
        pool.flow.forces.push(Box::new(Uniform([GRAVITY * sin, -GRAVITY * cos].map(|g| g as f32))));
        pool.fill(1, |x| (x[1] - height) * cos < (x[0] - 0.5) * sin, |_| [0.0; 2]);
        let most = unrest(pool, 1.0);
        println!("tilted by {tilt}, {height} high: {most}");
        assert!(most < 0.03, "tilted by {tilt}, {height} high: {most}");
    }
}

#[test]
fn water_at_rest_does_not_begin_to_ripple_however_long_its_steps_may_be() {
    // Waves as short as cells were too fast for steps of 1/30 s, which nothing but speeds limited: 0.1 m/s after twenty seconds.
    for tracking in [Tracking::Particles, Tracking::LevelSet] {
        let mut pool = tank([64, 64], [1.0; 2]);
        pool.track_by(tracking).unwrap();
        pool.blobs.push(Blob::at(0.0, Box::new(Cuboid::between([-1.0; 2], [2.0, 0.413])), [0.0; 2]));
        pool.start().unwrap();
        let mut fastest = 0.0f64;
        while pool.flow.time() < 12.0 {
            let dt = Model::longest_step(&pool, 1.0).min(1.0 / 30.0);
            let speed = pool.step(dt).unwrap().max_speed;
            fastest = if pool.flow.time() > 6.0 { fastest.max(speed) } else { 0.0 };
        }
        println!("{tracking:?}: {fastest} m/s");
        let most = if tracking == Tracking::LevelSet { 1e-4 } else { 0.03 };
        assert!(fastest < most, "{tracking:?}: {fastest} m/s");
    }
}

#[test]
fn water_that_fills_a_box_to_the_brim_does_not_fall() {
    // No air can get in above it. Before, the lid let go of it: it fell freely for two steps, and then again and again.
    let ball = || vec![Obstacle::new("ball", Box::new(Sphere { center: [0.47, 0.4], radius: 0.13 }))];
    for (with_object, band) in [(false, None), (true, None), (false, Some(2))] {
        let mut full = tank([32, 32], [1.0; 2]);
        full.keep_band(band).unwrap();
        if with_object {
            full.flow.set_obstacles(ball(), Boundary::CutCells).unwrap();
        }
        full.blobs.push(Blob::at(0.0, Box::new(Cuboid::between([0.0; 2], [1.0; 2])), [0.0; 2]));
        let mut fastest = 0.0f64;
        run(&mut full, 0.5, 2.0, |_, report| fastest = fastest.max(report.max_speed));
        println!("object {with_object}, band {band:?}: {fastest} m/s");
        // A step of free fall makes 0.16 m/s.
        assert!(fastest < 0.01, "object {with_object}, band {band:?}: {fastest} m/s");
    }
}

#[test]
fn pressure_under_water_grows_with_depth() {
    let mut pool = tank([32, 64], [0.5, 1.0]);
    pool.fill(1, |x| x[1] < 0.6, |_| [0.0; 2]);
    run(&mut pool, 0.5, 1.0, |_, _| {});
    let (p, h) = (pool.flow.pressure(), pool.flow.grid.spacing[1]);
    let column = |y: usize| (0..32).map(|x| f64::from(p.get([x, y]))).sum::<f64>() / 32.0;
    // Between two depths, so that it does not matter where exactly the surface lies.
    let slope = (column(4) - column(28)) / (24.0 * h);
    assert!((slope / GRAVITY - 1.0).abs() < 0.01, "{slope}");
}

#[test]
fn a_wave_in_a_tank_sloshes_as_fast_as_linear_theory_says() {
    // First mode in a tank 1 m long, 0.5 m deep: period 1.18182 s (w^2 = g k tanh(k h)).
    let period = 1.1818155;
    let (k, amplitude) = (std::f64::consts::PI, 0.02);
    let mut tank = tank([64, 48], [1.0, 0.75]);
    tank.fill(1, |x| x[1] < 0.5 + amplitude * (k * x[0]).cos(), |_| [0.0; 2]);
    // The centre of mass goes to and fro; it crosses the middle twice in a period.
    let mut crossings = Vec::new();
    let mut last: Option<(f64, f64)> = None;
    run(&mut tank, 2.3 * period, 0.5, |liquid, _| {
        let (t, x) = (liquid.flow.time(), mean(liquid, |x| x[0]) - 0.5);
        if let Some((before, was)) = last
            && was.signum() != x.signum()
        {
            crossings.push(before + (t - before) * was / (was - x));
        }
        last = Some((t, x));
    });
    assert!(crossings.len() >= 3, "{crossings:?}");
    let found = 2.0 * (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64;
    // Damping by the transfers and the rough surface shift it a little.
    assert!((found / period - 1.0).abs() < 0.02, "period {found}, expected {period}");
}

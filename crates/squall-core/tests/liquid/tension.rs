//! Surface tension: drops.

use super::{mean, positions, run, weightless};
use squall_core::model::liquid::{DENSITY, Liquid};
use squall_core::particles::Particle;
use squall_core::{Simulation, Value};

/// Tension over density of all drops here: a disc of a quarter of a metre swings about once in a second.
const SIGMA: f64 = 0.1;

fn drop<const D: usize>(cells: [usize; D], size: [f64; D], inside: impl Fn([f64; D]) -> bool) -> Liquid<D> {
    let mut drop = weightless(cells, size);
    drop.surface_tension = SIGMA * DENSITY;
    drop.fill(1, inside, |_| [0.0; D]);
    drop
}

fn from_middle<const D: usize>(x: [f64; D], middle: f64) -> f64 {
    x.iter().map(|x| (x - middle) * (x - middle)).sum::<f64>().sqrt()
}

/// The root mean square of the speed.
fn speed<const D: usize>(liquid: &Liquid<D>) -> f64 {
    let squares = liquid.particles.iter().map(|(_, p)| p.velocity.iter().map(|v| f64::from(v * v)).sum::<f64>());
    (squares.sum::<f64>() / liquid.particles.len() as f64).sqrt()
}

/// The pressure in the middle of a drop, as a part of what Laplace says, and the largest speed in the second half as a part of that of waves on it.
fn resting<const D: usize>(mut liquid: Liquid<D>, radius: f64, seconds: f64) -> (f64, f64) {
    let mut most = 0.0f64;
    let (mut sum, mut count) = (0.0, 0.0);
    run(&mut liquid, seconds, 1.0, |liquid, report| {
        assert!(report.pressure.converged);
        if liquid.flow.time() > 0.5 * seconds {
            most = most.max(speed(liquid));
            let middle = liquid.flow.grid.cells.map(|n| n / 2);
            let p = liquid.tension_pressure().unwrap().get(middle) + liquid.flow.pressure().get(middle);
            sum += f64::from(p);
            count += 1.0;
        }
    });
    (sum / count / ((D - 1) as f64 * SIGMA / radius), most / (SIGMA / radius).sqrt())
}

#[test]
fn the_pressure_in_a_drop_at_rest_is_that_of_laplace() {
    for cells in [32, 48] {
        let disc = drop([cells; 2], [1.0; 2], |x| from_middle(x, 0.5) < 0.25);
        let (pressure, unrest) = resting(disc, 0.25, 1.0);
        println!("{cells}: {pressure}, {unrest}");
        assert!((pressure - 1.0).abs() < 0.05, "2D, {cells} cells: {pressure}");
        assert!(unrest < 0.05, "2D, {cells} cells: {unrest}");
    }
    let ball = drop([32; 3], [1.0; 3], |x| from_middle(x, 0.5) < 0.25);
    let (pressure, unrest) = resting(ball, 0.25, 0.3);
    println!("3D: {pressure}, {unrest}");
    assert!((pressure - 1.0).abs() < 0.08, "3D: {pressure}");
    assert!(unrest < 0.05, "3D: {unrest}");
}

#[test]
fn a_square_drop_becomes_round_and_momentum_stays_what_it_was() {
    let mut square = drop([48; 2], [1.0; 2], |_| false);
    square.fill(1, |x| (x[0] - 0.45).abs() < 0.2 && (x[1] - 0.45).abs() < 0.2, |_| [0.03, 0.02]);
    run(&mut square, 3.0, 1.0, |_, _| {});
    let momentum = square.momentum().map(|m| m / square.volumes()[0]);
    let center: [f64; 2] = [mean(&square, |x| x[0]), mean(&square, |x| x[1])];
    // How far particles reach in each direction, the outermost hundredth left out.
    let mut ways: [Vec<f64>; 16] = Default::default();
    for x in positions(&square) {
        let (dx, dy) = (x[0] - center[0], x[1] - center[1]);
        ways[((dy.atan2(dx) / std::f64::consts::TAU + 1.0).fract() * 16.0) as usize % 16].push(dx.hypot(dy));
    }
    let reach = ways.map(|mut ways| {
        ways.sort_by(f64::total_cmp);
        ways[ways.len() * 99 / 100]
    });
    let (least, most) = reach.iter().fold((f64::INFINITY, 0.0f64), |(l, m), r| (l.min(*r), m.max(*r)));
    println!("from {least} to {most}; momentum {momentum:?}");
    assert!(most / least < 1.12, "from {least} to {most}: the corners of the square were at 1.41");
    // 1.5 % of the speed of waves on it, in three seconds.
    assert!((momentum[0] - 0.03).abs() < 0.01 && (momentum[1] - 0.02).abs() < 0.01, "{momentum:?}");
}

#[test]
fn drops_that_merge_do_not_push_themselves() {
    // A large and a small one that meet off their middles.
    let mut drops = drop([64, 48], [4.0 / 3.0, 1.0], |_| false);
    let disc = |x: f64, y: f64, r: f64| move |at: [f64; 2]| (at[0] - x).hypot(at[1] - y) < r;
    drops.fill(1, disc(0.45, 0.52, 0.16), |_| [0.2, 0.0]);
    drops.fill(2, disc(0.84, 0.44, 0.2), |_| [-0.1, 0.0]);
    let per_volume = |drops: &Liquid<2>| drops.momentum().map(|m| m / drops.volumes()[0]);
    let before = per_volume(&drops);
    let mut most = 0.0f64;
    run(&mut drops, 1.0, 1.0, |drops, _| {
        let now = per_volume(drops);
        most = most.max((now[0] - before[0]).hypot(now[1] - before[1]));
    });
    let waves = (SIGMA / 0.2).sqrt();
    println!("{} of the speed of waves", most / waves);
    // Some hundredths are left: particles do not see exactly what faces do.
    assert!(most / waves < 0.1, "momentum changes by {most} m/s, waves run at {waves}");
}

#[test]
fn a_drop_swings_as_fast_as_rayleigh_says() {
    // Mode 2 of a disc: w^2 = 6 sigma / (rho R^3).
    let radius: f64 = 0.25;
    let period = std::f64::consts::TAU / (6.0 * SIGMA / radius.powi(3)).sqrt();
    for (cells, off) in [(48, 0.1), (80, 0.08)] {
        let e: f64 = 0.1;
        let inside = |x: [f64; 2]| ((x[0] - 0.5) / (1.0 + e)).hypot((x[1] - 0.5) * (1.0 + e)) < radius;
        let mut disc = drop([cells; 2], [1.0; 2], inside);
        let mut crossings = Vec::new();
        let mut last: Option<(f64, f64)> = None;
        run(&mut disc, 1.5 * period, 1.0, |liquid, _| {
            let (t, x) = (liquid.flow.time(), mean(liquid, |x| (x[0] - 0.5).powi(2) - (x[1] - 0.5).powi(2)));
            if let Some((before, was)) = last
                && was.signum() != x.signum()
            {
                crossings.push(before + (t - before) * was / (was - x));
            }
            last = Some((t, x));
        });
        assert!(crossings.len() >= 3, "{crossings:?}");
        let found = 2.0 * (crossings[2] - crossings[0]) / 2.0;
        println!("{cells}: period {found}, {period} expected; {crossings:?}");
        // The surface that the pressure sees lies half a cell outside of the liquid, and waves are seen blurred: both make it slower.
        assert!((found / period - 1.0).abs() < off, "{cells} cells: period {found}, not {period}");
    }
}

#[test]
fn a_drop_that_turns_stays_whole_and_goes_on_turning() {
    // One turn of a disc whose tension holds it together: w^2 R^3 < 3 sigma / rho by far.
    let omega = 2.0;
    let mut disc = drop([64; 2], [1.0; 2], |_| false);
    disc.fill(1, |x| from_middle(x, 0.5) < 0.25, |x| [(-omega * (x[1] - 0.5)) as f32, (omega * (x[0] - 0.5)) as f32]);
    disc.start().unwrap();
    let angular = |disc: &Liquid<2>| {
        let of = |((_, p), x): ((_, &Particle<2>), [f64; 2])| {
            (x[0] - 0.5) * f64::from(p.velocity[1]) - (x[1] - 0.5) * f64::from(p.velocity[0])
        };
        disc.particles.iter().zip(positions(disc)).map(of).sum::<f64>()
    };
    let before = angular(&disc);
    run(&mut disc, std::f64::consts::TAU / omega, 1.0, |_, _| {});
    let kept = angular(&disc) / before;
    println!("spin kept in a turn: {kept}");
    assert!((kept - 1.0).abs() < 0.02, "{kept}");
    let furthest = positions(&disc).iter().map(|x| from_middle(*x, 0.5)).fold(0.0, f64::max);
    assert!(furthest < 0.3, "it stays whole: {furthest}");
}

#[test]
fn surface_tension_can_be_changed_while_it_runs() {
    let mut disc = drop([32; 2], [1.0; 2], |x| from_middle(x, 0.5) < 0.25);
    let free = squall_core::model::Model::longest_step(&disc, 1.0);
    disc.start().unwrap();
    disc.step(0.002).unwrap();
    disc.set_parameter("surface_tension", Value::Number(0.0)).unwrap();
    assert!(squall_core::model::Model::longest_step(&disc, 1.0) > free, "waves no longer bound the step");
    disc.step(0.002).unwrap();
    disc.set_parameter("surface_tension", Value::Number(400.0)).unwrap();
    disc.step(0.002).unwrap();
    let p = f64::from(disc.tension_pressure().unwrap().get([16, 16]));
    assert!((p / 1.6 - 1.0).abs() < 0.1, "four times as strong as before, 0.4 over 0.25: {p}");
}

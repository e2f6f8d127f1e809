//! The staggered model against exact solutions and published figures.

use crate::common::{table, values};
use squall_core::force::{Buoyancy, Uniform};
use squall_core::model::Splitting;
use squall_core::model::smoke::{Options, Smoke};
use squall_core::*;
use std::f64::consts::TAU;

/// A Taylor-Green vortex carried along by a uniform flow in a periodic box: the root mean square error of u after `t` seconds.
fn vortex_error(n: usize, drift: [f64; 2], t: f64, cfl: f64, splitting: Splitting) -> f64 {
    let grid = Grid::<2>::periodic([n; 2]);
    let mut sim = Smoke::new(grid, Options { splitting, ..Options::default() }).unwrap();
    let exact = |a: usize, p: [f64; 2], t: f64| {
        let (x, y) = (TAU * (p[0] - drift[0] * t), TAU * (p[1] - drift[1] * t));
        drift[a] + if a == 0 { x.sin() * y.cos() } else { -x.cos() * y.sin() }
    };
    sim.flow.set_velocity(|a, u| u.set_from(&grid, |p| exact(a, p, 0.0)));
    let fastest = 1.0 + drift[0].abs().max(drift[1].abs());
    let steps = (t * fastest * n as f64 / cfl).ceil();
    for _ in 0..steps as usize {
        sim.step(t / steps).unwrap();
    }
    let mut wanted = Field::new(grid.cells, At::Face(0), grid.velocity_ends(0)).unwrap();
    wanted.set_from(&grid, |p| exact(0, p, t));
    let (ours, wanted) = (values(&sim.flow.velocity()[0]), values(&wanted));
    let sum: f64 = ours.iter().zip(&wanted).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    (sum / ours.len() as f64).sqrt()
}

#[test]
fn a_vortex_at_rest_and_a_vortex_that_travels_converge_with_second_order() {
    for drift in [[0.0, 0.0], [1.0, 0.6]] {
        let [coarse, middle, fine] = [32, 64, 128].map(|n| vortex_error(n, drift, 0.5, 0.8, Splitting::LaggedPressure));
        let orders = [(coarse / middle).log2(), (middle / fine).log2()];
        println!("drift {drift:?}: {coarse:.2e} {middle:.2e} {fine:.2e}, orders {orders:.2?}");
        // The limiter acts at the extremes, a first-order spot of a second-order scheme.
        assert!(orders.iter().all(|&o| o > 1.6), "drift {drift:?}: {orders:?}");
    }
}

#[test]
fn the_error_of_long_steps_falls_with_their_square() {
    // So many cells in a step that interpolation, of which there is less in longer steps, matters little.
    let errors = [4.0, 2.0].map(|cfl| vortex_error(192, [1.0, 0.6], 0.25, cfl, Splitting::LaggedPressure));
    println!("errors at CFL 4, 2: {errors:.4?}");
    let order = (errors[0] / errors[1]).log2();
    assert!(order > 1.7, "order {order} in time: {errors:?}");
}

/// A round vortex of finite size, which is a steady flow, carried along by the wind: the root mean square error over its
/// place after `t` seconds; on tiles, or in a box with the wind blowing through.
fn round_vortex_error(n: usize, tiles: bool, t: f64) -> f64 {
    let wind = [1.0f32, 0.5];
    let h = 1.0 / n as f64;
    let axes = if tiles { [Axis::Unbounded; 2] } else { [Axis::Periodic; 2] };
    let size = if tiles { 1 } else { 3 };
    let origin = if tiles { [0.0; 2] } else { [-1.0; 2] };
    let grid = Grid::<2> { origin, spacing: [h; 2], cells: [size * n; 2], axes };
    let mut sim = Smoke::new(grid, Options { wind, tolerance: 1e-6, ..Options::default() }).unwrap();
    let mark = sim.flow.add_substance("mark", 0.0).unwrap();
    let n = n as isize;
    sim.flow.cover([-n / 8..n + n / 8, -n / 8..n + n / 8]).unwrap();
    // Its place is marked, so that tiles stay there.
    let place = |p: [f64; 2], t: f64| [0, 1].map(|a| p[a] - 0.5 - f64::from(wind[a]) * t);
    sim.flow.substances[mark].field.set_from(&grid, |p| f64::from(place(p, 0.0).iter().all(|x| x.abs() < 0.55)));
    let exact = |a: usize, p: [f64; 2], t: f64| {
        let [x, y] = place(p, t).map(|x| x / 0.4);
        f64::from(wind[a]) + (1.0 - (x * x + y * y)).max(0.0).powi(3) * [-y, x][a]
    };
    sim.flow.set_velocity(|a, u| u.set_from(&grid, |p| exact(a, p, 0.0)));
    let steps = (t * 1.5 / h / 0.8).ceil();
    for _ in 0..steps as usize {
        sim.step(t / steps).unwrap();
    }
    let first = [0, 1].map(|a| ((f64::from(wind[a]) * t - grid.origin[a]) / h).round() as isize);
    let (mut sum, mut count) = (0.0, 0.0);
    for index in (0..n * n).map(|i| [first[0] + i % n, first[1] + i / n]) {
        let p = [0, 1].map(|a| grid.origin[a] + h * (index[a] as f64 + 0.5 * a as f64));
        sum += (f64::from(sim.flow.velocity()[0].get_signed(index)) - exact(0, p, t)).powi(2);
        count += 1.0;
    }
    f64::sqrt(sum / count)
}

#[test]
fn a_round_vortex_in_the_wind_converges_with_second_order_on_tiles_as_in_a_box() {
    for tiles in [false, true] {
        let [coarse, middle, fine] = [32, 64, 128].map(|n| round_vortex_error(n, tiles, 0.5));
        let orders = [(coarse / middle).log2(), (middle / fine).log2()];
        println!("tiles {tiles}: {coarse:.2e} {middle:.2e} {fine:.2e}, orders {orders:.2?}");
        // The limiter acts at the extremes.
        assert!(orders.iter().all(|&o| o > 1.6), "tiles {tiles}: {orders:?}");
    }
}

#[test]
fn the_error_grows_smoothly_with_the_step_beyond_four_cells() {
    let errors = [3.0, 4.0, 5.0, 6.0, 8.0].map(|cfl| vortex_error(64, [1.0, 0.6], 0.5, cfl, Splitting::LaggedPressure));
    println!("errors at CFL 3, 4, 5, 6, 8: {errors:.3?}");
    // Longer steps are made in parts of four cells at most, so none is worse than twice the one before.
    assert!(errors.windows(2).all(|e| e[1] < 2.0 * e[0]), "{errors:?}");
}

/// The velocity in a lid-driven cavity of `n` cells after `t` seconds.
fn cavity(n: usize, reynolds: f64, t: f64) -> impl Fn(usize, [f64; 2]) -> f64 {
    let lid = Side::NoSlip { velocity: [1.0, 0.0] };
    let axes = [Axis::Bounded { lo: Side::STICKY, hi: Side::STICKY }, Axis::Bounded { lo: Side::STICKY, hi: lid }];
    let mut sim = Smoke::new(Grid::<2>::new([n; 2], [1.0; 2], axes), Options::default()).unwrap();
    sim.flow.viscosity = 1.0 / reynolds;
    for _ in 0..(t * n as f64) as usize {
        sim.step(1.0 / n as f64).unwrap();
    }
    move |a, p| f64::from(sim.flow.velocity()[a].sample(p.map(|x| x * n as f64)))
}

#[test]
fn the_lid_driven_cavity_matches_published_profiles() {
    // Re 100 is steady after about 15 seconds.
    let at = cavity(48, 100.0, 15.0);
    let u = table(include_str!("data/01_cavity_recomputed_u_vertical.csv"));
    let v = table(include_str!("data/01_cavity_recomputed_v_horizontal.csv"));
    let eu = u.iter().map(|r| (at(0, [0.5, r[1]]) - r[2]).abs());
    let ev = v.iter().map(|r| (at(1, [r[1], 0.5]) - r[2]).abs());
    let error = eu.chain(ev).fold(0.0, f64::max);
    println!("Re 100: largest error {error:.4}");
    assert!(error < 0.02, "{error} of the lid's speed");
}

#[test]
fn the_lid_driven_cavity_at_re_400_matches_published_profiles() {
    // Ghia, Ghia & Shin (1982), table I: y and u on the vertical centre line.
    const GHIA: [[f64; 2]; 15] = [
        [0.0547, -0.08186],
        [0.0625, -0.09266],
        [0.0703, -0.10338],
        [0.1016, -0.14612],
        [0.1719, -0.24299],
        [0.2813, -0.32726],
        [0.4531, -0.17119],
        [0.5, -0.11477],
        [0.6172, 0.02135],
        [0.7344, 0.16256],
        [0.8516, 0.29093],
        [0.9531, 0.55892],
        [0.9609, 0.61756],
        [0.9688, 0.68439],
        [0.9766, 0.75837],
    ];
    // Steady after about 40 seconds.
    let at = cavity(48, 400.0, 40.0);
    let error = GHIA.iter().map(|&[y, u]| (at(0, [0.5, y]) - u).abs()).fold(0.0, f64::max);
    println!("Re 400: largest error {error:.4}");
    // The boundary layer is three cells thick.
    assert!(error < 0.03, "{error} of the lid's speed");
}

#[test]
fn a_channel_driven_by_a_force_has_the_profile_of_poiseuille() {
    let (n, viscosity, force) = (24, 0.05, 0.4);
    let axes = [Axis::Periodic, Axis::Bounded { lo: Side::STICKY, hi: Side::STICKY }];
    let grid = Grid::<2>::new([8, n], [8.0 / n as f64, 1.0], axes);
    let mut sim = Smoke::new(grid, Options::default()).unwrap();
    sim.flow.viscosity = viscosity;
    sim.flow.forces.push(Box::new(Uniform([force as f32, 0.0])));
    for _ in 0..400 {
        sim.step(0.05).unwrap();
    }
    for j in 0..n {
        let y = (j as f64 + 0.5) / n as f64;
        let exact = 0.5 * force / viscosity * y * (1.0 - y);
        let ours = f64::from(sim.flow.velocity()[0].get([3, j]));
        // The walls are half a cell away from the nearest values: an error of h^2 / 8 times the curvature, and single precision.
        let slack = 0.125 * force / viscosity / (n * n) as f64 + 2e-4;
        assert!((ours - exact).abs() < slack, "u({y}) = {ours}, exact {exact}");
    }
}

#[test]
fn natural_convection_carries_the_published_heat() {
    // De Vahl Davis (1983), computed anew.
    for (rayleigh, fastest, known) in [(1e3, 3.7, 1.1178), (1e4, 20.0, 2.2448)] {
        let nusselt = nusselt(rayleigh, fastest);
        println!("Ra {rayleigh}: Nu {nusselt:.4}, published {known}");
        assert!((nusselt / known - 1.0).abs() < 0.015, "Ra {rayleigh}: {nusselt}, published {known}");
    }
}

/// The heat that air carries between a hot wall and a cold one, over what it conducts at rest.
fn nusselt(rayleigh: f64, fastest: f64) -> f64 {
    // Box of side 1, diffusivity 1, Prandtl number 0.71: velocities are in units of diffusivity over side.
    let n = 32;
    let grid = Grid::<2>::walled([n; 2], Side::STICKY);
    let mut sim = Smoke::new(grid, Options::default()).unwrap();
    sim.flow.viscosity = 0.71;
    let heat = sim.flow.add_substance("temperature", 0.0).unwrap();
    let field = &mut sim.flow.substances[heat].field;
    field.relabel(At::Center, [Ends::Bounded { lo: End::Value(1.0), hi: End::Value(0.0) }, Ends::FLAT]);
    field.set_from(&grid, |p| 1.0 - p[0]);
    sim.flow.substances[heat].diffusion = 1.0;
    sim.flow.forces.push(Box::new(Buoyancy { substance: heat, strength: (rayleigh * 0.71) as f32, ambient: 0.5 }));
    let dt = (0.5 / n as f64 / fastest).min(2e-3);
    for _ in 0..(0.4 / dt) as usize {
        sim.step(dt).unwrap();
    }
    // The mean of u T - dT/dx over the box; the second term is 1.
    let (u, heat) = (&sim.flow.velocity()[0], &sim.flow.substances[heat].field);
    let carried: f64 = (0..n * n)
        .map(|i| {
            let [x, y] = [i % n, i / n];
            let mean = 0.5 * (u.get_signed([x as isize, y as isize]) + u.get_signed([x as isize + 1, y as isize]));
            f64::from(mean * heat.get([x, y]))
        })
        .sum();
    1.0 + carried / (n * n) as f64
}

#[test]
fn a_blob_has_moved_with_the_flow_after_the_first_step() {
    let grid = Grid::<2>::new([128, 32], [4.0, 1.0], [Axis::Periodic; 2]);
    let mut sim = Smoke::new(grid, Options::default()).unwrap();
    let blob = sim.flow.add_substance("blob", 0.0).unwrap();
    let bell = |p: [f64; 2]| (-((p[0] - 1.0).powi(2) + (p[1] - 0.5).powi(2)) / 0.02).exp();
    sim.flow.substances[blob].field.set_from(&grid, bell);
    sim.flow.set_velocity(|a, u| u.fill(if a == 0 { 1.0 } else { 0.0 }));
    for step in 1..=10 {
        sim.step(0.05).unwrap();
        let field = &sim.flow.substances[blob].field;
        let (mut first, mut total) = (0.0, 0.0);
        for i in 0..128 * 32 {
            let v = f64::from(field.get([i % 128, i / 128]));
            first += v * ((i % 128) as f64 + 0.5) / 32.0;
            total += v;
        }
        let travelled = first / total - 1.0;
        // A hundredth of a cell.
        assert!((travelled - 0.05 * step as f64).abs() < 3e-4, "after {step} steps {travelled}");
    }
}

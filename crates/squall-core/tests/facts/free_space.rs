//! Smoke without bounds is in free space: it does what it does in a very wide box.

use squall_core::clock::next_dt;
use squall_core::force::Buoyancy;
use squall_core::model::Splitting;
use squall_core::model::smoke::{Options, Smoke};
use squall_core::shape::Sphere;
use squall_core::solid::{Boundary, Obstacle};
use squall_core::{At, Axis, Grid, Side, Simulation};

fn unbounded<const D: usize>(h: f64) -> Grid<D> {
    Grid { origin: [0.0; D], spacing: [h; D], cells: [64; D], axes: [Axis::Unbounded; D] }
}

/// A closed box with the origin in its middle, this many metres wide along each axis.
fn wide<const D: usize>(h: f64, width: [f64; D]) -> Grid<D> {
    let cells = width.map(|w| 2 * (0.5 * w / h).round() as usize);
    let origin = cells.map(|n| -0.5 * h * n as f64);
    Grid { origin, spacing: [h; D], ..Grid::walled(cells, Side::Slip) }
}

/// A ball of hot smoke at rest.
fn thermal<const D: usize>(grid: Grid<D>, options: Options<D>) -> Smoke<D> {
    let (radius, center) = (0.25, [0.0; D]);
    let mut sim = Smoke::new(grid, options).unwrap();
    let heat = sim.flow.add_substance("temperature", 0.0).unwrap();
    let h = grid.spacing[0];
    let reach = (1.5 * radius / h).ceil() as isize;
    sim.flow.cover(std::array::from_fn(|_| -reach..reach)).unwrap();
    sim.flow.substances[heat].field.set_from(&grid, |x| {
        let r = (0..D).map(|a| (x[a] - center[a]).powi(2)).sum::<f64>().sqrt();
        // Smooth over four cells.
        (0.5 - 0.25 * (r - radius) / h).clamp(0.0, 1.0)
    });
    sim.flow.forces.push(Box::new(Buoyancy { substance: heat, strength: 3.0, ambient: 0.0 }));
    sim
}

/// The centre of the smoke.
fn center<const D: usize>(sim: &Smoke<D>) -> [f64; D] {
    let field = &sim.flow.substances[0].field;
    let (mut mass, mut moment) = (0.0, [0.0; D]);
    for row in (0..field.layout().rows()).map(|r| field.layout().row(r)) {
        for (x, &v) in field.row(row).iter().enumerate() {
            let mut i = row.index;
            i[0] += x as isize;
            let p = sim.flow.grid.position(At::Center, i);
            mass += v as f64;
            (0..D).for_each(|a| moment[a] += v as f64 * p[a]);
        }
    }
    moment.map(|m| m / mass)
}

fn run<const D: usize>(sim: &mut Smoke<D>, until: f64) {
    while sim.flow.time() < until - 1e-9 {
        // The same steps everywhere, whatever the flow is like.
        sim.step(next_dt(until - sim.flow.time(), 1.0 / 48.0)).unwrap();
    }
}

/// How far the smoke has risen until a time, and how fast it rises then.
fn rise<const D: usize>(mut sim: Smoke<D>, until: f64) -> [f64; 2] {
    run(&mut sim, until - 0.1);
    let before = center(&sim)[1];
    run(&mut sim, until);
    let now = center(&sim)[1];
    if let Some(tiles) = sim.flow.layout().as_tiles() {
        println!("{} tiles", tiles.coords().len());
    }
    [now, (now - before) / 0.1]
}

fn compare<const D: usize>(name: &str, free: [f64; 2], wide: [f64; 2]) -> [f64; 2] {
    let off: [f64; 2] = std::array::from_fn(|i| free[i] / wide[i] - 1.0);
    println!("{name}: {free:?} in free space, {wide:?} in a wide box: {:+.2} %, {:+.2} %", 100.0 * off[0], 100.0 * off[1]);
    off
}

#[test]
fn a_thermal_in_a_plane_rises_as_in_a_wide_box() {
    let h = 1.0 / 32.0;
    for splitting in [Splitting::LaggedPressure, Splitting::Reflection, Splitting::Plain] {
        let options = Options { splitting, ..Options::default() };
        for until in [1.0, 2.5] {
            let reference = rise(thermal(wide::<2>(h, [12.0, 12.0]), options), until);
            let free = rise(thermal(unbounded::<2>(h), options), until);
            compare::<2>(&format!("{splitting:?}, until {until}"), free, reference);
        }
    }
}

#[test]
fn a_thermal_in_space_rises_as_in_a_wide_box() {
    let h = 1.0 / 16.0;
    for until in [1.0, 2.0] {
        let reference = rise(thermal(wide::<3>(h, [4.0, 4.0, 4.0]), Options::default()), until);
        let free = rise(thermal(unbounded::<3>(h), Options::default()), until);
        compare::<3>(&format!("3D, until {until}"), free, reference);
    }
}

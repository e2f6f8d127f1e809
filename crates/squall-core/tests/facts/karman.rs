//! The vortex street behind a cylinder.

use squall_core::model::smoke::{Options, Smoke};
use squall_core::shape::Sphere;
use squall_core::solid::{Boundary, Obstacle};
use squall_core::{Axis, Grid, Side, Simulation};

/// Williamson (1989), parallel shedding: St = -3.3265 / Re + 0.1816 + 1.6e-4 Re.
fn williamson(re: f64) -> f64 {
    -3.3265 / re + 0.1816 + 1.6e-4 * re
}

/// Strouhal number behind a sticky cylinder 20 cells across, in a channel 16 diameters wide.
fn strouhal(re: f64) -> f64 {
    let (d, wide) = (20, 16);
    let cells = [24 * d, wide * d];
    let flow = Axis::Bounded { lo: Side::Inflow { velocity: [1.0, 0.0] }, hi: Side::Open };
    let walls = Axis::Bounded { lo: Side::Slip, hi: Side::Slip };
    let grid = Grid::<2>::new(cells, cells.map(|n| n as f64 / d as f64), [flow, walls]);
    let mut sim = Smoke::new(grid, Options::default()).unwrap();
    sim.flow.viscosity = 1.0 / re;
    // A little off the middle, so that the street begins by itself.
    let center = [6.0, 0.5 * wide as f64 + 0.03];
    let cylinder = Obstacle { friction: 1.0, ..Obstacle::new("cylinder", Box::new(Sphere { center, radius: 0.5 })) };
    sim.flow.set_obstacles(vec![cylinder], Boundary::CutCells).unwrap();
    sim.flow.set_velocity(|a, u| u.fill(if a == 0 { 1.0 } else { 0.0 }));
    let probe = center.map(|c| ((c + 0.0) * d as f64) as usize);
    let probe = [probe[0] + 2 * d, probe[1] + d / 2];
    let (mut crossings, mut before) = (Vec::new(), 0.0f32);
    while sim.time() < 110.0 {
        let dt = sim.longest_step(1.0).min(0.05);
        sim.step(dt).unwrap();
        let v = sim.flow.velocity()[1].get(probe);
        if before < 0.0 && v >= 0.0 && sim.time() > 50.0 {
            // Where the straight line between two steps crosses zero.
            crossings.push(sim.time() - dt * (v / (v - before)) as f64);
        }
        before = v;
    }
    let periods = crossings.len() - 1;
    assert!(periods >= 6, "only {periods} whole periods");
    periods as f64 / (crossings[periods] - crossings[0])
}

#[test]
#[ignore = "a minute or two; run with --release"]
fn vortices_leave_a_cylinder_as_often_as_measured() {
    for re in [100.0, 150.0] {
        let (found, measured) = (strouhal(re), williamson(re));
        println!(
            "Re {re}: Strouhal number {found:.4}, measured {measured:.4}, {:+.1} %",
            100.0 * (found / measured - 1.0)
        );
        assert!((found / measured - 1.0).abs() < 0.05, "Re {re}: {found} and {measured}");
    }
}

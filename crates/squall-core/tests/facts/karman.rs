//! The flow past a cylinder that the fluid sticks to: its drag, and the vortices behind it. `benches/cylinder.rs` measures the same at
//! any size.

use crate::common::forces::Past;

#[test]
fn the_drag_in_a_channel_is_the_published_one() {
    // Schaefer & Turek (1996), case 2D-1: drag 5.5795, lift 0.0106. 20 cells per diameter.
    let mut past = Past::channel(20, 0.2, 1.0);
    let (mut sum, mut time) = ([0.0; 2], 0.0);
    while past.sim.flow.time() < 4.0 {
        let dt = past.sim.flow.longest_step(1.0).min(0.02);
        let (force, report) = past.step(dt);
        assert!(report.viscous.converged && report.pressure.converged);
        if past.sim.flow.time() > 3.0 {
            sum = [0, 1].map(|a| sum[a] + dt * force[a]);
            time += dt;
        }
    }
    // Over half of density, mean velocity squared and diameter.
    let [drag, lift] = sum.map(|f| f / time * 2.0 / (0.2 * 0.2 * 0.1));
    println!("drag {drag:.4}, lift {lift:.4}");
    // Measured with 10, 20, 40 cells: +2.6, +0.9, +0.3 %.
    assert!((drag / 5.5795 - 1.0).abs() < 0.03, "drag {drag}");
    assert!((lift - 0.0106).abs() < 0.005, "lift {lift}");
}

#[test]
fn vortices_leave_a_cylinder_as_often_as_measured() {
    // Williamson (1989), parallel shedding: St = -3.3265 / Re + 0.1816 + 1.6e-4 Re.
    let (re, known) = (100.0, 0.1643);
    let mut past = Past::free(10.0, re, 18.0, 16.0);
    let (mut crossings, mut before) = (Vec::new(), 0.0);
    while past.sim.flow.time() < 66.0 {
        let dt = past.sim.flow.longest_step(1.0).min(0.1);
        let ([_, lift], _) = past.step(dt);
        if before < 0.0 && lift >= 0.0 && past.sim.flow.time() > 38.0 {
            // Where the straight line between two steps crosses zero.
            crossings.push(past.sim.flow.time() - dt * lift / (lift - before));
        }
        before = lift;
    }
    let periods = crossings.len() - 1;
    assert!(periods >= 3, "only {periods} whole periods");
    let found = periods as f64 / (crossings[periods] - crossings[0]);
    println!("Re {re}: Strouhal number {found:.4}, measured {known}, {:+.1} %", 100.0 * (found / known - 1.0));
    // Walls 16 diameters apart let the flow pass a little faster.
    assert!((found / known - 1.0).abs() < 0.05, "{found} and {known}");
}

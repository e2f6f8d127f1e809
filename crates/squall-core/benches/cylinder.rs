//! The flow past a cylinder: drag, lift and how often vortices leave it.
//!
//! ```text
//! cargo bench -p squall-core --bench cylinder -- channel [cells per diameter] [mean velocity: 0.2 (Re 20) or 1 (Re 100)] [time] [length]
//! cargo bench -p squall-core --bench cylinder -- free [cells per diameter] [Reynolds number] [time] [length] [width]
//! ```

#[allow(missing_docs)]
#[path = "../tests/facts/common/forces.rs"]
mod forces;

use forces::Past;
use squall_core::Simulation;

fn main() {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let kind = words.next().unwrap_or_default();
    let given: Vec<f64> = words.map(|v| v.parse().expect("a number")).collect();
    let get = |i: usize, usual: f64| given.get(i).copied().unwrap_or(usual);
    let d = get(0, 20.0);
    let (mut past, end, unit, time) = if kind == "channel" {
        // Forces over half of density, mean velocity squared and diameter.
        let mean = get(1, 0.2);
        (Past::channel(d as usize, mean, get(3, 1.0)), get(2, 8.0), 2.0 / (mean * mean * 0.1), 0.1 / mean)
    } else {
        (Past::free(d, get(1, 100.0), get(3, 20.0), get(4, 12.0)), get(2, 120.0), 2.0, 1.0)
    };
    // In which the flow goes on by half a cell; `time` is how long it takes for a diameter.
    let longest = 0.5 * time / d;
    let (mut drag, mut peak, mut lifts, mut crossings, mut before) =
        ((0.0, 0.0), 0.0f64, [0.0f64; 2], Vec::new(), None);
    let mut recent = [[0.0; 2]; 5];
    while past.sim.time() < end {
        let dt = past.sim.longest_step(1.0).min(longest);
        let (force, _) = past.step(dt);
        // Over five steps: a thirtieth of a period at most. What single steps give rings a little.
        recent.rotate_left(1);
        recent[4] = force.map(|f| unit * f);
        let [x, lift] = [0, 1].map(|a| recent.iter().map(|f| f[a]).sum::<f64>() / 5.0);
        if past.sim.time() > 0.6 * end {
            drag = (drag.0 + x * dt, drag.1 + dt);
            peak = peak.max(x);
            lifts = [lifts[0].min(lift), lifts[1].max(lift)];
            if let Some(was) = before.filter(|was| *was < 0.0 && lift >= 0.0) {
                crossings.push(past.sim.time() - dt * lift / (lift - was));
            }
            before = Some(lift);
        }
    }
    let periods = crossings.len().saturating_sub(1);
    let strouhal = if periods > 0 { time * periods as f64 / (crossings[periods] - crossings[0]) } else { 0.0 };
    let (drag, [low, high]) = (drag.0 / drag.1, lifts);
    println!(
        "{kind}, {d} cells: drag {drag:.4} (at most {peak:.4}), lift {low:+.4} to {high:+.4}, Strouhal number {strouhal:.4}"
    );
}

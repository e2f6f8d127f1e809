//! How many steps per second smoke with a target takes: `cargo bench -p squall-core --bench target_speed -- [CELLS...]`.

use std::time::Instant;

use squall_core::model::target::{Options, ShapeTarget, Target, TargetSmoke, suggest};
use squall_core::shape::{Cuboid, Track};
use squall_core::{Grid, Side, Simulation};

fn main() {
    let given: Vec<usize> =
        std::env::args().skip(1).filter(|word| word != "--bench").map(|n| n.parse().expect("cells")).collect();
    for n in if given.is_empty() { vec![64, 128, 512] } else { given } {
        for threads in [1, 2] {
            // From inside the pool: from outside, every parallel loop would wake it up.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| measure(n, threads));
        }
    }
}

fn measure(n: usize, threads: usize) {
    let grid = Grid::<2>::walled([n; 2], Side::Slip);
    let mut sim = TargetSmoke::new(grid, Options::default()).expect("memory");
    let smoke = sim.flow.add_substance("smoke", 0.0).expect("memory");
    sim.flow.substances[smoke].field.set_from(&grid, |p| if (p[0] - 0.4).hypot(p[1] - 0.4) < 0.2 { 1.0 } else { 0.0 });
    let mut goal = sim.flow.substances[smoke].field.clone();
    goal.set_from(&grid, |p| if (p[0] - 0.6).abs().max((p[1] - 0.6).abs()) < 0.2 { 1.0 } else { 0.0 });
    let p = suggest(&grid, &sim.flow.substances[smoke].field, &goal).expect("memory");
    let id = sim.guide(smoke).expect("a substance");
    sim.damping = Track::constant([p.damping]);
    sim.guided_mut()[id].drive = Track::constant([p.drive]);
    sim.guided_mut()[id].gathering = Track::constant([p.gathering]);
    let square = Cuboid { center: [0.6; 2], half: [0.2; 2], rounding: 0.0 };
    sim.add_target(id, Target::new(4.0, Box::new(ShapeTarget(Box::new(square))), p.smoothing.end)).expect("a target");

    let steps = (4_000_000 / (n * n)).clamp(20, 1000);
    let mut fastest: f64 = f64::INFINITY;
    let mut parts = [0.0; 5];
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..steps / 5 {
            let dt = sim.longest_step(0.8).min(1.0 / 60.0);
            let t = sim.step(dt).expect("finite").timings;
            for (sum, t) in parts.iter_mut().zip([t.force, t.advect, t.project, t.diffuse, t.measure]) {
                *sum += t;
            }
        }
        fastest = fastest.min(start.elapsed().as_secs_f64() / (steps / 5) as f64);
    }
    let [force, advect, project, gather, measure] = parts.map(|t| t / (steps / 5 * 5) as f64 * 1e9 / (n * n) as f64);
    println!(
        "{n:4}² on {threads} threads: {:6.0} steps/s; ns per cell on average: force {force:.0} carry {advect:.0} project {project:.0} gather {gather:.0} measure {measure:.0}",
        1.0 / fastest
    );
}

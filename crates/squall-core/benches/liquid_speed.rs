//! How long a step of water takes: `cargo bench -p squall-core --bench liquid_speed -- CELLS [THREADS [STEPS [BAND]]]`: the dam of `squall bench`, with
//! particles everywhere or only so many cells from the surface.

use squall_core::force::Uniform;
use squall_core::model::liquid::{Blob, Liquid, Options};
use squall_core::shape::Cuboid;
use squall_core::{Grid, Side, Simulation};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |i: usize, usual: usize| args.get(i).map_or(usual, |n| n.parse().expect("a number"));
    let (n, threads, steps, band) = (number(0, 64), number(1, 1), number(2, 24), number(3, 0));
    // From inside the pool: from outside, every parallel loop would wake it up.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| measure(n, steps, (band > 0).then_some(band)));
}

fn measure(n: usize, steps: usize, band: Option<usize>) {
    let grid = Grid::<3>::walled([n; 3], Side::Slip);
    let mut sim = Liquid::new(grid, Options::default()).expect("memory");
    sim.keep_band(band).expect("memory");
    sim.flow.forces.push(Box::new(Uniform([0.0, -9.81, 0.0])));
    let dam = Cuboid::between([0.0; 3], [0.4, 0.6, 1.0]);
    sim.blobs.push(Blob::at(0.0, Box::new(dam), [0.0; 3]));
    sim.start().expect("memory");
    let mut all = Vec::new();
    for step in 0..steps {
        let (start, cpu) = (std::time::Instant::now(), cpu_seconds());
        let dt = sim.longest_step(2.0).min(1.0 / 30.0);
        let r = sim.step(dt).unwrap();
        let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        let t = &r.timings;
        println!(
            "{step}: {wall:.4} s, CPU {cpu:.4} s: advect {:.4} surface {:.4} force {:.4} project {:.4} measure {:.4}; {} iterations, residual {:.1e}, cfl {:.2}",
            t.advect, t.follow, t.force, t.project, t.measure, r.pressure.iterations, r.pressure.residual, r.cfl,
        );
        all.push((wall, cpu));
    }
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (wall, cpu) = all[all.len() / 2];
    println!("{n}^3, {} particles: {wall:.4} s a step, of this thread {cpu:.4} s", sim.particles.len());
}

/// What this thread has computed, where Linux tells it: on a busy machine steps take longer than they compute.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

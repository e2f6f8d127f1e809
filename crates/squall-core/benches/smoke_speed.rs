//! How long a step of smoke takes: `cargo bench -p squall-core --bench smoke_speed -- box|ball|free CELLS [THREADS]`.

use squall_core::force::{Buoyancy, Emitter, Supply};
use squall_core::model::smoke::{Options, Smoke};
use squall_core::shape::Sphere;
use squall_core::solid::{Boundary, Obstacle};
use squall_core::{Axis, Grid, Side, Simulation};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let what = args.first().map_or("box", String::as_str);
    let n: usize = args.get(1).map_or(128, |n| n.parse().expect("cells"));
    let threads: usize = args.get(2).map_or(1, |n| n.parse().expect("threads"));
    // From inside the pool: from outside, every parallel loop would wake it up.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| measure(what, n));
}

fn measure(what: &str, n: usize) {
    let mut grid = Grid::<3>::walled([n; 3], Side::Open);
    if what == "free" {
        grid.axes = [Axis::Unbounded; 3];
    }
    let mut sim = Smoke::new(grid, Options::default()).expect("memory");
    let (smoke, heat) =
        (sim.flow.add_substance("density", 0.0).unwrap(), sim.flow.add_substance("temperature", 0.0).unwrap());
    let mut source = Emitter::new(Box::new(Sphere { center: [0.5, 0.15, 0.5], radius: 0.1 }));
    source.supply = vec![(smoke, Supply::Hold(1.0)), (heat, Supply::Hold(1.0))];
    sim.flow.sources.push(Box::new(source));
    sim.flow.forces.push(Box::new(Buoyancy { substance: heat, strength: 4.0, ambient: 0.0 }));
    if what == "ball" {
        let ball = Sphere { center: [0.5, 0.55, 0.5], radius: 0.12 };
        sim.flow.set_obstacles(vec![Obstacle::new("ball", Box::new(ball))], Boundary::CutCells).unwrap();
    }
    for step in 0..24 {
        let start = std::time::Instant::now();
        let dt = sim.longest_step(2.5).min(0.04);
        let r = sim.step(dt).unwrap();
        let t = &r.timings;
        let ns = 1e9 / r.cells as f64;
        println!(
            "{step}: {:.3} s, {} cells, {:.0} ns/cell: follow {:.0} advect {:.0} force {:.0} project {:.0} measure {:.0}; {} iterations, residual {:.1e}, cfl {:.2}",
            start.elapsed().as_secs_f64(),
            r.cells,
            ns * start.elapsed().as_secs_f64(),
            ns * t.follow,
            ns * t.advect,
            ns * t.force,
            ns * t.project,
            ns * t.measure,
            r.pressure.iterations,
            r.pressure.residual,
            r.cfl,
        );
    }
}

//! How long a step of water takes: `cargo bench -p squall-core --bench liquid_speed -- CELLS [THREADS [STEPS [BAND]]]`: the dam of `squall bench`, with
//! particles everywhere or only so many cells from the surface; and how long it takes to make meshes of it.

use squall_core::force::Uniform;
use squall_core::model::liquid::{Blob, Liquid, Options};
use squall_core::shape::Cuboid;
use squall_core::surface::{Fineness, Points, Room, contour};
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
    for refine in [1, 2] {
        mesh(&sim, refine);
    }
}

/// The mesh of what is there, as files hold it: with velocities.
fn mesh(sim: &Liquid<3>, refine: usize) {
    let particles = squall_core::model::Model::particles(sim).expect("carried by particles");
    let [x, y, z] = [0, 1, 2].map(|a| &particles.positions[a]);
    let places: Vec<[f32; 3]> = (0..particles.len()).map(|i| [x[i], y[i], z[i]]).collect();
    let velocities: Vec<&[f32]> = particles.velocities.iter().map(Vec::as_slice).collect();
    let grid = &sim.flow.grid;
    let room =
        Room { origin: [0.0; 3], cell: grid.spacing[0], walls: [[Some(0.0), Some(1.0)]; 3], periodic: [false; 3] };
    let (mut best, mut least) = ([f64::INFINITY; 4], f64::INFINITY);
    let mut vertices = 0;
    for _ in 0..9 {
        let cpu = cpu_seconds();
        let mut times = vec![std::time::Instant::now()];
        let points = Points::new(&places, &room);
        times.push(std::time::Instant::now());
        let volume = points.distances(Fineness { refine, ..Fineness::default() });
        times.push(std::time::Instant::now());
        let mesh = contour(&volume);
        times.push(std::time::Instant::now());
        std::hint::black_box(points.carried(&mesh.positions, &velocities));
        times.push(std::time::Instant::now());
        vertices = mesh.positions.len();
        least = least.min(cpu_seconds() - cpu);
        (0..4).for_each(|i| best[i] = best[i].min((times[i + 1] - times[i]).as_secs_f64()));
    }
    let [sort, distances, triangles, carried] = best;
    println!(
        "mesh with {refine} cells to a cell of the grid: {:.4} s, of this thread {least:.4} s (sort {sort:.4}, distances {distances:.4}, triangles {triangles:.4}, velocities {carried:.4}), {vertices} vertices",
        best.iter().sum::<f64>(),
    );
}

/// What this thread has computed, where Linux tells it: on a busy machine steps take longer than they compute.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

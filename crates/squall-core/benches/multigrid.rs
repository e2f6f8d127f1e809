//! What a pressure solve costs: smoke past a sphere, 32^3 to 256^3 cells, on a box and on tiles, with one thread and two,
//! against copying an array of the same size. Names on the command line choose sizes: `-- 64 128`.

use std::time::Instant;

use squall_core::layout::tile_width;
use squall_core::poisson::Multigrid;
use squall_core::{At, End, Ends, Field, Layout, VectorField};

const OPEN_TOP: Ends = Ends::Bounded { lo: End::Flat, hi: End::Value(0.0) };

/// The shortest of several runs, in seconds.
fn shortest(runs: usize, mut f: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    (0..runs).map(time).fold(f64::INFINITY, f64::min)
}

fn fill(field: &mut Field<3>, f: impl Fn([f32; 3]) -> f32 + Sync) {
    field.par_rows(|row, out| {
        for (x, out) in out.iter_mut().enumerate() {
            *out = f([row.index[0] + x as isize, row.index[1], row.index[2]].map(|i| i as f32));
        }
    });
}

fn measure(n: usize, tiles: bool) {
    let width = tile_width::<3>();
    let ends = if tiles { [Ends::Unbounded(0.0); 3] } else { [Ends::FLAT, OPEN_TOP, Ends::FLAT] };
    let layout = if tiles {
        let side = n.div_ceil(width);
        Layout::tiles((0..side.pow(3)).map(|t| [t % side, t / side % side, t / side / side].map(|c| c as i32)))
    } else {
        Layout::dense([n; 3])
    };
    let new = |at| Field::<3>::on(&layout, at, ends).expect("memory");
    let size = n as f32;
    let mut open: VectorField<3> = std::array::from_fn(|a| new(At::Face(a)));
    for (a, open) in open.iter_mut().enumerate() {
        open.fill(1.0);
        fill(open, |p| {
            let offset = |b: usize| if a == b { 0.0 } else { 0.5 };
            let center = [0.5 * size, 0.45 * size, 0.5 * size];
            let squared: f32 = (0..3).map(|b| (p[b] + offset(b) - center[b]).powi(2)).sum();
            (squared.sqrt() - 0.15 * size + 0.5).clamp(0.0, 1.0)
        });
    }
    let (mut rhs, mut q, mut copy) = (new(At::Center), new(At::Center), new(At::Center));
    fill(&mut rhs, |p| (30.0 * p[0] / size).sin() * ((20.0 * p[1] + 13.0 * p[2]) / size).cos());

    let mut solver = Multigrid::new(&layout, 1.0 / n as f64, ends).expect("memory");
    let set_up = shortest(5, || solver.set_open_faces(Some(&open)));
    let mut report = Default::default();
    let solve = shortest(if n > 128 { 3 } else { 7 }, || {
        q.fill(0.0);
        report = solver.solve_from(&rhs, &mut q, 1e-4, 300);
    });
    // The same number of cells, row by row as the kernels go.
    let memcpy = shortest(10, || copy.par_rows(|row, out| out.copy_from_slice(rhs.row(row))));
    let cells = layout.cell_count() as f64;
    let per_cell = |seconds: f64| seconds * 1e9 / cells;
    let iteration = solve / report.iterations as f64;
    println!(
        "{:5} {n:4}^3 {} threads: set-up {:7.2} ms, solve {:8.2} ms, {} iterations, {:5.2} ns per cell and iteration \
         = {:4.1} copies, true residual {:.1e}",
        if tiles { "tiles" } else { "box" },
        rayon::current_num_threads(),
        set_up * 1e3,
        solve * 1e3,
        report.iterations,
        per_cell(iteration),
        iteration / memcpy,
        report.residual,
    );
}

fn main() {
    let chosen: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let sizes = if chosen.is_empty() { vec![32, 64, 128, 256] } else { chosen };
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        for &n in &sizes {
            pool.install(|| measure(n, false));
            pool.install(|| measure(n, true));
        }
    }
}

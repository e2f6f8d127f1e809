//! What viscosity costs, and how many iterations it takes: several shapes of liquid in boxes of 32^3 to 128^3 cells, `nu dt / h^2` from 1
//! to 1e6 and varying over six orders of magnitude, beside the pressure solve of the same liquid. Numbers on the command line choose sizes: `-- 64`.

use std::time::Instant;

use squall_core::diffuse::stress::{Matter, Stress, Thickness};
use squall_core::poisson::{CellState, Domain, Multigrid, PoissonSolver};
use squall_core::sample::Isa;
use squall_core::{At, Axis, Field, Grid, Layout, Side, VectorField};

const SHAPES: [&str; 6] = ["pool", "blob", "splash", "sheet", "thread", "drops"];

/// The distance to the surface, in widths of the box.
fn shape(name: &str, [x, y, z]: [f64; 3]) -> f64 {
    let ball = |c: [f64; 3], r: f64| ((x - c[0]).powi(2) + (y - c[1]).powi(2) + (z - c[2]).powi(2)).sqrt() - r;
    match name {
        "pool" => y - 0.5 - 0.02 * (20.0 * x).sin() * (14.0 * z).cos(),
        "blob" => ball([0.48, 0.52, 0.5], 0.3),
        "splash" => {
            let r = ((x - 0.5).powi(2) + (z - 0.5).powi(2)).sqrt();
            let crown = ((r - 0.25 - 0.1 * y).abs() - 0.02).max(y - 0.5);
            (y - 0.2).min(crown).min(ball([0.5, 0.75, 0.5], 0.08))
        }
        "sheet" => (y - 0.5 - 0.1 * (7.0 * x + 3.0 * z).sin()).abs() - 0.02,
        "thread" => {
            let (cx, cz) = (0.5 + 0.1 * (12.0 * y).sin(), 0.5 + 0.1 * (12.0 * y).cos());
            (((x - cx).powi(2) + (z - cz).powi(2)).sqrt() - 0.04).min(y - 0.1)
        }
        _ => {
            let at = |v: f64| (v * 6.0).rem_euclid(1.0) - 0.5;
            ((at(x).powi(2) + at(y).powi(2) + at(z).powi(2)).sqrt() - 0.25 - 0.1 * (5.0 * x + 3.0 * y).sin()) / 6.0
        }
    }
}

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![32, 64, 128] } else { sizes };
    for n in sizes {
        for name in SHAPES {
            measure(n, name);
        }
    }
}

fn measure(n: usize, name: &str) {
    let axes = [Axis::Bounded { lo: Side::STICKY, hi: Side::STICKY }; 3];
    let grid = Grid::<3>::new([n; 3], [1.0; 3], axes);
    let layout = Layout::dense(grid.cells);
    let h = grid.spacing[0];
    let mut phi = Field::on(&layout, At::Center, grid.flat_ends(1.0)).expect("memory");
    phi.set_from(&grid, |p| shape(name, p));
    let mut start: VectorField<3> =
        std::array::from_fn(|a| Field::on(&layout, At::Face(a), grid.velocity_ends(a)).expect("memory"));
    // Turning, falling, and some noise.
    for (a, u) in start.iter_mut().enumerate() {
        u.set_from(&grid, |p| {
            let noise = ((p[0] * 391.0 + p[1] * 173.0 + p[2] * 733.0 + a as f64).sin() * 43758.5).fract();
            let turn = [0.5 - p[1], p[0] - 0.5, 0.0][a];
            turn + 0.3 * noise - if a == 1 { 1.0 } else { 0.0 } + 0.3 * (9.0 * p[(a + 1) % 3]).sin()
        });
        u.finish_end_faces();
    }
    let pressure = {
        let mut solver = Multigrid::<3>::new(&layout, h, grid.pressure_ends()).expect("memory");
        let mut state = Field::<3, CellState>::on(&layout, At::Center, grid.flat_ends(0.0)).expect("memory");
        squall_core::level_set::set_states(&phi, &mut state);
        let (mut rhs, mut q) = (Field::like(&phi).expect("memory"), Field::like(&phi).expect("memory"));
        let time = || {
            squall_core::ops::divergence(&start, grid.spacing, &mut rhs);
            rhs.par_rows(|row, rhs| {
                for (rhs, phi) in rhs.iter_mut().zip(phi.row(row)) {
                    *rhs = if *phi < 0.0 { *rhs } else { 0.0 };
                }
            });
            q.fill(0.0);
            let start = Instant::now();
            PoissonSolver::set(&mut solver, Domain { open: None, state: Some(&state), phi: Some(&phi) })
                .expect("a surface");
            let report = solver.solve_from(&rhs, &mut q, 1e-4, 300);
            (start.elapsed().as_secs_f64(), report.iterations)
        };
        shortest(3, time)
    };
    print!("{n:>4} {name:>7}  pressure {:>3} {:>6.1} ms   ", pressure.1, 1e3 * pressure.0);
    let mut solver = Stress::<3>::new(&layout, &grid, Isa::best()).expect("memory");
    let mut solve = |viscosity: Thickness<'_, 3>| {
        let mut u = start.clone();
        let matter = Matter { grid: &grid, surface: Some((&phi, 0.0)), viscosity, solids: None };
        let begin = Instant::now();
        let report = solver.apply(&mut u, 1.0, matter);
        if !report.converged {
            print!("!");
        }
        (begin.elapsed().as_secs_f64(), report.iterations)
    };
    for k in [1.0, 1e2, 1e4, 1e6] {
        let nu = Thickness::Constant(k * h * h);
        let (time, iterations) = shortest(if k == 1e2 { 3 } else { 1 }, || solve(nu));
        print!("{k:>7.0e}: {iterations:>3} {:>6.1} ms", 1e3 * time);
    }
    let mut nu = Field::like(&phi).expect("memory");
    nu.set_from(&grid, |p| h * h * 1e6f64.powf(0.5 + 0.5 * (8.0 * p[0]).sin() * (9.0 * p[1] + p[2]).cos()));
    let (time, iterations) = solve(Thickness::Varying(&nu));
    println!("  varying: {iterations:>3} {:>6.1} ms", 1e3 * time);
}

/// The shortest of several runs.
fn shortest(runs: usize, mut f: impl FnMut() -> (f64, u32)) -> (f64, u32) {
    (0..runs).map(|_| f()).fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a })
}

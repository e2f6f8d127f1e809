//! Conjugate gradients with multigrid.

use squall_core::poisson::Multigrid;
use squall_core::poisson::multigrid::Number;
use squall_core::{At, End, Ends, Field, Layout, VectorField};

const OPEN_TOP: Ends = Ends::Bounded { lo: End::Flat, hi: End::Value(0.0) };

fn new<const D: usize, T: Number>(layout: &Layout<D>, at: At, ends: [Ends; D]) -> Field<D, T> {
    Field::on(layout, at, ends).unwrap()
}

/// Share of the faces outside a ball, by sampling each with a few points.
fn ball<const D: usize, T: Number>(cells: [usize; D], center: [f64; D], radius: f64) -> VectorField<D, T> {
    let layout = Layout::dense(cells);
    std::array::from_fn(|a| {
        let mut open = new(&layout, At::Face(a), [Ends::FLAT; D]);
        let mut extended = cells;
        extended[a] += 1;
        for i in indices(extended) {
            let samples = 4usize.pow(D as u32 - 1);
            let mut outside = 0;
            for s in 0..samples {
                let mut rest = s;
                let mut distance = 0.0;
                for b in 0..D {
                    let mut x = i[b] as f64;
                    if b != a {
                        x += ((rest % 4) as f64 + 0.5) / 4.0;
                        rest /= 4;
                    }
                    distance += (x - center[b]).powi(2);
                }
                outside += (distance > radius * radius) as usize;
            }
            open.set(i, T::of(outside as f64 / samples as f64));
        }
        open
    })
}

fn indices<const D: usize>(cells: [usize; D]) -> impl Iterator<Item = [usize; D]> {
    (0..cells.iter().product()).map(move |mut c| {
        cells.map(|n| {
            let i = c % n;
            c /= n;
            i
        })
    })
}

fn smoke_past_a_sphere<T: Number>(n: usize, tolerance: f64) -> u32 {
    let cells = [n; 3];
    let layout = Layout::dense(cells);
    let ends = [Ends::FLAT, OPEN_TOP, Ends::FLAT];
    let h = 1.0 / n as f64;
    let mut solver = Multigrid::<3, T>::new(&layout, h, ends).unwrap();
    let open = ball(cells, [n as f64 * 0.5, n as f64 * 0.45, n as f64 * 0.5], n as f64 * 0.15);
    let t = std::time::Instant::now();
    solver.set_open_faces(Some(&open));
    let setup = t.elapsed();
    let mut rhs = new(&layout, At::Center, ends);
    let mut q = new(&layout, At::Center, ends);
    rhs.par_rows(|row, r| {
        for (x, r) in r.iter_mut().enumerate() {
            let p = [x as f64 * h, row.index[1] as f64 * h, row.index[2] as f64 * h];
            let d = ((p[0] - 0.5).powi(2) + (p[1] - 0.2).powi(2) + (p[2] - 0.5).powi(2)).sqrt();
            *r = T::of(if d < 0.1 { 1.0 } else { 0.0 } + (30.0 * p[0]).sin() * (20.0 * p[1] + 13.0 * p[2]).cos());
        }
    });
    let t = std::time::Instant::now();
    let report = solver.solve(&rhs, &mut q, tolerance, 300);
    println!("{} setup {setup:?} solve {:?} {report:?}", solver.describe(), t.elapsed());
    assert!(report.converged);
    report.iterations
}

#[test]
fn smoke() {
    for n in [16, 32, 64, 128] {
        smoke_past_a_sphere::<f32>(n, 1e-4);
    }
    for n in [16, 32, 64] {
        smoke_past_a_sphere::<f64>(n, 1e-10);
    }
}

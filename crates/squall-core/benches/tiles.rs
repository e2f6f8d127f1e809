//! What tiles cost against one box, 128^3 cells, one thread: a Laplacian with face weights, written with neighbour rows, and
//! the transport of five fields.

use std::time::Instant;

use squall_core::advect::{Advection, Flow, MapScratch, advect_mapped};
use squall_core::field::Pad;
use squall_core::sample::Isa;
use squall_core::trace::Tracer;
use squall_core::{At, Ends, Field, Grid, Layout, Side, VectorField};

const N: usize = 128;

/// The shortest of several runs, in nanoseconds per cell.
fn shortest(mut f: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    (0..12).map(time).fold(f64::INFINITY, f64::min) * 1e9 / (N * N * N) as f64
}

fn wave(layout: &Layout<3>, at: At, scale: f64, k: f64) -> Field<3> {
    let ends = if layout.as_tiles().is_some() { Ends::Unbounded(0.0) } else { Ends::FLAT };
    let mut field = Field::on(layout, at, [ends; 3]).expect("memory");
    field.par_rows(|row, out| {
        for (x, v) in out.iter_mut().enumerate() {
            let [i, j, l] = [row.index[0] + x as isize, row.index[1], row.index[2]].map(|i| 0.11 * i as f64 + k);
            *v = (scale * ((i + 0.3 * k).sin() * (1.3 * j).sin() * l.cos() * 2.5 + 0.4 * (0.7 * i).sin())) as f32;
        }
    });
    field.fill_halo();
    field
}

/// `out = sum of w (here - beside)` over all faces.
fn laplacian(w: &VectorField<3>, q: &Field<3>, out: &mut Field<3>) {
    out.par_rows(|row, out| {
        let here = q.row(row);
        out.fill(0.0);
        let mut pads = [Pad::default(); 3];
        for a in 0..3 {
            let [down, up, next] = &mut pads;
            let (down, up) = (q.down(row, a, down), q.up(row, a, up));
            let (low, high) = (w[a].row(row), w[a].up(row, a, next));
            let n = out.len();
            let [down, up, low, high, here] = [down, up, low, high, here].map(|values| &values[..n]);
            for x in 0..n {
                out[x] += low[x] * (here[x] - down[x]) + high[x] * (here[x] - up[x]);
            }
        }
    });
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let grid = Grid::<3>::walled([N; 3], Side::Open);
    let h = grid.spacing[0];
    pool.install(|| {
        let mut of_box = [0.0; 2];
        for (name, layout) in [
            ("box", Layout::dense([N; 3])),
            ("tiles", Layout::tiles((0..512).map(|n| [n % 8, n / 8 % 8, n / 64]))),
        ] {
            let w: VectorField<3> = std::array::from_fn(|a| wave(&layout, At::Face(a), 1.0, a as f64));
            let (q, mut out) = (wave(&layout, At::Center, 1.0, 5.0), wave(&layout, At::Center, 0.0, 0.0));
            let passes = shortest(|| laplacian(&w, &q, &mut out));

            let u: VectorField<3> = std::array::from_fn(|a| wave(&layout, At::Face(a), h, a as f64));
            let mut fields: Vec<Field<3>> =
                (0..5).map(|k| wave(&layout, if k < 3 { At::Face(k) } else { At::Center }, 1.0, k as f64)).collect();
            let mut scratch = MapScratch::new(&layout, Advection::MacCormack).expect("memory");
            let transport = shortest(|| {
                let flow = Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk2, isa: Isa::best() };
                let mut all: Vec<&mut Field<3>> = fields.iter_mut().collect();
                let (velocity, substances) = all.split_at_mut(3);
                advect_mapped(Advection::MacCormack, flow, 1.0, velocity, substances, None, &mut scratch);
            });
            if name == "box" {
                of_box = [passes, transport];
            }
            println!(
                "{name:5}: Laplacian {passes:.2} ns per cell ({:.2} of the box), transport of five fields {transport:.0} ({:.2})",
                passes / of_box[0],
                transport / of_box[1],
            );
        }
    });
}

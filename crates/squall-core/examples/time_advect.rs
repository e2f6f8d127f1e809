use squall_core::advect::*;
use squall_core::sample::Isa;
use squall_core::trace::Tracer;
use squall_core::*;
fn run<const D: usize>(n: usize, count: usize, isa: Isa, scheme: Advection, cfl: f64, axis: Axis<D>) {
    let grid = Grid::<D>::new([n; D], [1.0; D], [axis; D]);
    let mk = |at, c: usize| {
        let mut f = Field::new(grid.cells, at, grid.velocity_ends(c)).unwrap();
        f.set_from(&grid, |p| {
            let k = std::f64::consts::TAU;
            let q = p[(c + 1) % D];
            let r = p[(c + 2) % D];
            {
                let _ = (q, r, k);
                0.3 * p[c]
            }
        });
        f
    };
    let u: VectorField<D> = std::array::from_fn(|a| mk(At::Face(a), a));
    let mut fields: Vec<Field<D>> = (0..count).map(|c| mk(At::Center, c % D)).collect();
    let mut scratch = Scratch::new(&fields[0], scheme, count).unwrap();
    let dt = cfl / n as f64 / 1.8;
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let t = std::time::Instant::now();
        let mut refs: Vec<&mut Field<D>> = fields.iter_mut().collect();
        advect(scheme, Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk2, isa }, dt, &mut refs, &mut scratch);
        best = best.min(t.elapsed().as_secs_f64());
    }
    println!(
        "D={D} n={n} fields={count} {scheme:?} {isa:?}: {:.1} ns/cell  ({:.1} ms)",
        best * 1e9 / grid.cell_count() as f64,
        best * 1e3
    );
}
const CFL: f64 = 1.0;
fn main() {
    let threads: usize = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().unwrap();
    for isa in [Isa::best()] {
        for s in [Advection::SemiLagrangian, Advection::MacCormack] {
            run::<3>(128, 5, isa, s, CFL, Axis::Periodic);
            run::<3>(128, 5, isa, s, CFL, Axis::Bounded { lo: Side::Slip, hi: Side::Slip });
            run::<2>(512, 5, isa, s, CFL, Axis::Bounded { lo: Side::Slip, hi: Side::Slip });
        }
    }
}

//! What transport costs, by scheme and instruction set: a velocity and two substances along a
//! smooth flow of about two cells per step.

use std::f64::consts::TAU;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use squall_core::advect::{Advection, Flow, MapScratch, advect_mapped};
use squall_core::sample::Isa;
use squall_core::trace::Tracer;
use squall_core::{At, Axis, Field, Grid, Side, VectorField};

fn measure<const D: usize>(c: &mut Criterion, n: usize, scheme: Advection, isa: Isa) {
    let grid = Grid::<D>::new([n; D], [1.0; D], [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; D]);
    let wave = |a: usize, at| {
        let mut f = Field::new(grid.cells, at, grid.velocity_ends(a)).expect("a field fits into memory");
        f.set_from(&grid, |p| (TAU * p[(a + 1) % D]).sin() + 0.3 * (2.0 * TAU * p[(a + 2) % D]).cos());
        f
    };
    let velocity: VectorField<D> = std::array::from_fn(|a| wave(a, At::Face(a)));
    let mut carried: VectorField<D> = std::array::from_fn(|a| wave(a, At::Face(a)));
    let mut substances = [wave(0, At::Center), wave(1, At::Center)];
    let mut scratch = MapScratch::new(carried[0].layout(), scheme).expect("memory");
    let mut group = c.benchmark_group(format!("{D}D {n} {scheme:?}"));
    group.throughput(Throughput::Elements(grid.cell_count() as u64)).sample_size(10);
    group.bench_function(format!("{isa:?}"), |b| {
        b.iter(|| {
            let flow = Flow { grid: &grid, velocity: &velocity, tracer: Tracer::Rk2, isa };
            let (u, s) = (&mut carried.each_mut(), &mut substances.each_mut());
            advect_mapped(scheme, flow, 1.5 / n as f64, u, s, None, &mut scratch);
        })
    });
}

fn transport(c: &mut Criterion) {
    for isa in [Isa::Portable, Isa::best()] {
        for scheme in [Advection::SemiLagrangian, Advection::MonotoneCubic, Advection::MacCormack] {
            measure::<2>(c, 512, scheme, isa);
            measure::<3>(c, 128, scheme, isa);
        }
    }
}

criterion_group!(benches, transport);
criterion_main!(benches);

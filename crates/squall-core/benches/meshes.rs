//! Meshes: sampling them on a grid, and asking for distances.

use criterion::{Criterion, criterion_group, criterion_main};
use squall_core::Shape;
use squall_core::shape::mesh::samples::trefoil_knot;
use squall_core::shape::{MeshOptions, MeshShape};
use std::hint::black_box;

fn meshes(c: &mut Criterion) {
    // 100,000 triangles, 1 m wide.
    let knot = trefoil_knot(0.1, 1000, 50);
    let mut holed = knot.clone();
    holed.triangles.truncate(99_000);
    let h = 1.0 / 128.0;
    let mut group = c.benchmark_group("mesh of 100,000 triangles, 128 cells across");
    group.sample_size(10);
    group.bench_function("closed", |b| b.iter(|| MeshShape::new(black_box(&knot), h).unwrap()));
    group.bench_function("with a hole", |b| b.iter(|| MeshShape::new(black_box(&holed), h).unwrap()));
    let thicken = MeshOptions { thicken: true, ..MeshOptions::default() };
    group.bench_function("thickened", |b| b.iter(|| MeshShape::with_options(black_box(&knot), h, thicken).unwrap()));
    let shape = MeshShape::new(&knot, h).unwrap();
    group.bench_function("a row of 128 distances", |b| {
        b.iter(|| (0..128).map(|i| shape.distance([h * f64::from(i) - 0.5, 0.2, 0.05], 0.0)).sum::<f64>())
    });
    group.finish();
}

criterion_group!(benches, meshes);
criterion_main!(benches);

//! What noise and vorticity confinement cost per cell and step, on a box and on tiles.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use squall_core::force::{Confinement, Force, Moment, Noise, NoiseField};
use squall_core::layout::tile_width;
use squall_core::{At, Axis, Field, Grid, Layout, Side, VectorField};

fn measure<const D: usize>(c: &mut Criterion, n: usize, on_tiles: bool) {
    let mut grid = Grid::<D>::walled([n; D], Side::Slip);
    let mut layout = Layout::dense(grid.cells);
    if on_tiles {
        grid.axes = [Axis::Unbounded; D];
        let side = (n / tile_width::<D>()) as i32;
        let count = side.pow(D as u32);
        layout = Layout::tiles((0..count).map(|t| std::array::from_fn(|a| t / side.pow(a as u32) % side)));
    }
    let mut u: VectorField<D> =
        std::array::from_fn(|a| Field::on(&layout, At::Center, grid.velocity_ends(a)).expect("memory"));
    let mut group = c.benchmark_group(format!("{D}D {n} {}", if on_tiles { "tiles" } else { "box" }));
    group.throughput(Throughput::Elements(layout.cell_count() as u64)).sample_size(10);
    let mut time = 0.0;
    let mut forces: [(&str, Box<dyn Force<D>>); 2] = [
        ("noise", Box::new(Noise { field: NoiseField::swirls(&grid, 0.1, 0.3, 1), strength: 1.0, substance: None })),
        ("confinement", Box::new(Confinement::new(0.5))),
    ];
    for (name, force) in &mut forces {
        group.bench_function(*name, |b| {
            b.iter(|| {
                time += 0.01;
                force.apply(&grid, Moment::whole(time, 0.01), &mut u, &[]);
            })
        });
    }
}

fn forces(c: &mut Criterion) {
    for on_tiles in [false, true] {
        measure::<2>(c, 512, on_tiles);
        measure::<3>(c, 128, on_tiles);
    }
}

criterion_group!(benches, forces);
criterion_main!(benches);

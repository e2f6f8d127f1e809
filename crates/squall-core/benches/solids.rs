//! What obstacles cost. `cargo bench -p squall-core --bench solids`

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use squall_core::solid::{Boundary, Obstacle, Solids, divergence_around};
use squall_core::{At, Field, Grid, Shape, Side, VectorField, ops};

struct Ball {
    radius: f64,
    speed: f64,
}

impl Shape<3> for Ball {
    fn distance(&self, x: [f64; 3], t: f64) -> f64 {
        let y = [x[0] - 0.4 - 0.2 * (self.speed * t).sin(), x[1] - 0.5, x[2] - 0.5];
        y.iter().map(|y| y * y).sum::<f64>().sqrt() - self.radius
    }
    fn velocity(&self, _: [f64; 3], t: f64) -> [f64; 3] {
        [0.2 * self.speed * (self.speed * t).cos(), 0.0, 0.0]
    }
    fn bounds(&self, t: f64) -> Option<([f64; 3], [f64; 3])> {
        let center = [0.4 + 0.2 * (self.speed * t).sin(), 0.5, 0.5];
        Some((center.map(|c| c - self.radius), center.map(|c| c + self.radius)))
    }
    fn moves(&self) -> bool {
        self.speed != 0.0
    }
}

fn ball(grid: &Grid<3>, radius: f64, speed: f64) -> Solids<3> {
    let obstacle = Obstacle::new("ball", Box::new(Ball { radius, speed }));
    Solids::new(grid, vec![obstacle], Boundary::CutCells).expect("memory")
}

fn bench(c: &mut Criterion) {
    let grid = Grid::<3>::walled([128; 3], Side::Slip);
    let mut group = c.benchmark_group("128^3");
    group.sample_size(10);

    group.bench_function("first update, ball of radius 32 cells", |b| {
        b.iter_batched(|| ball(&grid, 0.25, 0.0), |mut solids| solids.update(&grid, 0.0), BatchSize::PerIteration);
    });
    let mut solids = ball(&grid, 0.06, 1.0);
    let mut t = 0.0;
    group.bench_function("update, moving ball of radius 8 cells", |b| {
        b.iter(|| {
            t += 0.01;
            solids.update(&grid, t)
        });
    });
    let mut solids = ball(&grid, 0.25, 0.0);
    solids.update(&grid, 0.0);
    let new = |at, ends| Field::new(grid.cells, at, ends).expect("memory");
    let mut u: VectorField<3> = ops::each(|a| new(At::Face(a), grid.velocity_ends(a)));
    let mut div = new(At::Center, grid.pressure_ends());
    u.iter_mut().for_each(|u| u.set_from(&grid, |x| (9.0 * x[0] * x[1] + x[2]).sin()));
    group.bench_function("divergence, empty", |b| b.iter(|| ops::divergence(&u, grid.spacing, &mut div)));
    group.bench_function("divergence, ball", |b| b.iter(|| divergence_around(&u, &solids, grid.spacing, &mut div)));
    group.bench_function("constrain, ball", |b| b.iter(|| solids.constrain(&grid, &mut u)));
    group.bench_function("fill inside, ball", |b| b.iter(|| solids.fill_inside(&grid, &mut div, 0.0)));
}

criterion_group!(benches, bench);
criterion_main!(benches);

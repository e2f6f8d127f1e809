//! What evaluating an expression costs.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use squall::expr::{Expr, LANES, Lanes};

fn expressions(c: &mut Criterion) {
    let names = ["x", "y", "t", "density"].map(String::from);
    let mut group = c.benchmark_group("64 cells");
    group.throughput(Throughput::Elements(LANES as u64));
    for text in ["0.5*x + y*density - t*x + 0.25", "sin(6.28*x)*exp(-y^2)", "density*smooth((x - 0.2)/0.3)"] {
        let expr = Expr::parse(text, &names).expect("a right expression");
        let inputs: Vec<Lanes> = (0..expr.variables().len()).map(|k| Lanes::splat(0.1 * k as f32 + 0.1)).collect();
        group.bench_function(text, |b| b.iter(|| expr.eval(black_box(&inputs))));
    }
}

criterion_group!(benches, expressions);
criterion_main!(benches);

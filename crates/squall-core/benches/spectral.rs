//! What a direct Poisson solve costs, by shape and ends.

use criterion::{Criterion, criterion_group, criterion_main};
use squall_core::poisson::{Spectral, Symbol};
use squall_core::{At, End, Ends, Field};

const FLAT_VALUE: Ends = Ends::Bounded { lo: End::Flat, hi: End::Value(0.0) };
const VALUE: Ends = Ends::Bounded { lo: End::Value(0.0), hi: End::Value(0.0) };

fn measure<const D: usize>(c: &mut Criterion, name: &str, cells: [usize; D], ends: [Ends; D]) {
    let mut plan = Spectral::new(cells, [0.1; D], ends);
    let mut field = Field::new(cells, At::Center, ends).expect("a field fits into memory");
    field.par_rows(|row, out| {
        for (x, v) in out.iter_mut().enumerate() {
            *v = ((x as f32 + 7.0 * row.index[D - 1] as f32) * 12.9898).sin();
        }
    });
    c.bench_function(&format!("{name} {cells:?} {}", plan.describe()), |b| {
        b.iter(|| {
            // Next to no diffusion is the identity, so that the values neither grow nor vanish.
            plan.apply(&mut field, Symbol::Implicit { k: 1e-9 })
        })
    });
}

fn solves(c: &mut Criterion) {
    for n in [64, 128] {
        measure(c, "3D", [n; 3], [Ends::Periodic; 3]);
        measure(c, "3D", [n; 3], [Ends::FLAT; 3]);
        measure(c, "3D", [n; 3], [VALUE; 3]);
        measure(c, "3D", [n; 3], [FLAT_VALUE; 3]);
        measure(c, "3D", [n; 3], [Ends::Periodic, Ends::FLAT, FLAT_VALUE]);
    }
    measure(c, "3D", [127; 3], [Ends::FLAT; 3]);
    measure(c, "3D", [127; 3], [FLAT_VALUE; 3]);
    measure(c, "2D", [512; 2], [Ends::Periodic; 2]);
    measure(c, "2D", [512; 2], [Ends::FLAT; 2]);
    measure(c, "2D", [512; 2], [FLAT_VALUE; 2]);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = solves
}
criterion_main!(benches);

//! What a frame costs as an OpenVDB file: 128^3 cells of smoke in the shape of a plume.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use squall_core::Volume;
use squall_io::{VdbClass, VdbCompression, VdbGrid, VdbOptions, VdbPrecision, VdbValues, read_vdb, write_vdb};

const N: usize = 128;

/// Waves of many lengths.
fn noise(p: [f32; 3], seed: f32) -> f32 {
    (0..5)
        .map(|octave| {
            let (wave, size) = (6.0 * 2.03_f32.powi(octave), 0.6_f32.powi(octave));
            size * (wave * p[0] + seed).sin() * (wave * p[1] + 2.0 * seed).sin() * (wave * p[2] + 3.0 * seed).cos()
        })
        .sum()
}

/// A column that fills about half of the box, with a source of constant value at its foot.
fn plume(value: impl Fn([f32; 3]) -> f32) -> Volume {
    let mut values = Vec::with_capacity(N * N * N);
    for i in 0..N * N * N {
        let p = [i % N, i / N % N, i / (N * N)].map(|c| (c as f32 + 0.5) / N as f32);
        let radius = ((p[0] - 0.5).powi(2) + (p[2] - 0.5).powi(2)).sqrt();
        let inside = 0.6 + noise(p, 1.0) - 1.5 * radius;
        let is_source = radius < 0.15 && p[1] < 0.1;
        values.push(if is_source {
            1.0
        } else if inside > 0.0 {
            inside * value(p)
        } else {
            0.0
        });
    }
    Volume::from_dense([0.0; 3], 1.0 / N as f32 as f64, 0.0, [N; 3], &values)
}

fn frames(c: &mut Criterion) {
    let density = plume(|_| 1.0);
    let temperature = plume(|p| 1.5 + noise(p, 2.0));
    let velocity = [3.0, 4.0, 5.0].map(|seed| plume(move |p| noise(p, seed)));
    let path = std::env::temp_dir().join(format!("squall-bench-{}.vdb", std::process::id()));
    let scalar = |name, volume, precision| VdbGrid {
        name,
        values: VdbValues::Scalar(volume),
        class: VdbClass::FogVolume,
        precision,
    };
    for precision in [VdbPrecision::Full, VdbPrecision::Half] {
        let smoke = [scalar("density", &density, precision), scalar("temperature", &temperature, precision)];
        let wind = [VdbGrid {
            name: "velocity",
            values: VdbValues::Vector(velocity.each_ref()),
            class: VdbClass::Staggered,
            precision,
        }];
        for compression in [VdbCompression::Zip, VdbCompression::ActiveOnly] {
            let options = VdbOptions { compression, ..VdbOptions::default() };
            let mut group = c.benchmark_group(format!("vdb {precision:?} {compression:?}"));
            group.throughput(Throughput::Elements((N * N * N) as u64)).sample_size(20);
            for (name, grids) in [("density + temperature", &smoke[..]), ("velocity", &wind[..])] {
                group.bench_function(format!("write {name}"), |b| {
                    b.iter(|| write_vdb(&path, grids, &options).expect("a file in the temporary folder"))
                });
                println!("{name}: {} bytes", std::fs::metadata(&path).map_or(0, |m| m.len()));
            }
            group.bench_function("read velocity", |b| b.iter(|| read_vdb(&path).expect("what was written")));
        }
    }
    let _ = std::fs::remove_file(&path);
}

criterion_group!(benches, frames);
criterion_main!(benches);

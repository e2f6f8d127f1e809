//! What a picture of smoke costs: a plume of 128 x 192 x 128 cells (several hundred thousand of them filled), 960 x 540.

#[path = "../examples/film/plume.rs"]
mod plume;

use criterion::{Criterion, criterion_group, criterion_main};
use squall_render::film::{Camera, Quality, Scene, Stage, Style, Substance};

fn volume(c: &mut Criterion) {
    let (smoke, _) = plume::plume(128);
    let filled = smoke.values.iter().filter(|&&v| v > 0.0).count();
    println!("{filled} cells hold smoke");
    let scene = Scene { substances: vec![Substance::new(&smoke)], ..Scene::default() };
    let style = Style::default();
    let camera = Camera::framing([-0.5, 0.0, -0.5], [0.5, 1.4, 0.5], 22.0, 9.0, 30.0, 16.0 / 9.0, 0.02);
    let mut group = c.benchmark_group("plume 128");
    group.sample_size(10);
    for (name, quality) in [("preview", Quality::PREVIEW), ("final", Quality::FINAL)] {
        group.bench_function(format!("{name}: smoke and shadows"), |b| {
            b.iter(|| Stage::new(&scene, &style, quality).expect("a stage"))
        });
        let stage = Stage::new(&scene, &style, quality).expect("a stage");
        group.bench_function(format!("{name}: rays"), |b| {
            b.iter(|| stage.shoot(&camera, [960, 540], 0).expect("a picture"))
        });
    }
}

criterion_group!(benches, volume);
criterion_main!(benches);

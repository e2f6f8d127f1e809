//! Films an invented plume, to look at: `cargo run --release -p squall-render --example film -- FOLDER [CELLS [WIDTH]]`.

mod plume;

use squall_io::write_png;
use squall_render::film::*;
use squall_render::{Background, color::from_hex};
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "out/film".into()));
    let cells: usize = arguments.next().map_or(Ok(128), |n| n.parse())?;
    let width: usize = arguments.next().map_or(Ok(960), |n| n.parse())?;
    let size = [width, width * 9 / 16];
    std::fs::create_dir_all(&folder)?;
    let (smoke, heat) = plume::plume(cells);
    println!("{} blocks, {} MB", smoke.blocks.len(), smoke.values.len() / 250_000);

    let shoot = |name: &str, scene: &Scene<'_>, style: &Style, camera: &Camera, quality: Quality| {
        let start = Instant::now();
        let stage = Stage::new(scene, style, quality)?;
        let ready = start.elapsed();
        let mut frame = stage.shoot(camera, size, 0)?;
        frame.bloom(0.04);
        let memory = stage.memory() as f64 / (4.0 * smoke.values.len() as f64);
        println!("{name}: light {ready:.0?}, rays {:.0?}, memory {memory:.1} of the volume", start.elapsed() - ready);
        let image = frame.to_image(&Tone { view: View::Filmic, ..Tone::default() });
        write_png(folder.join(name), image.width as u32, image.height as u32, &image.to_rgb())?;
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    let aspect = 16.0 / 9.0;
    let plain = Scene { substances: vec![Substance::new(&smoke)], ..Scene::default() };
    let (low, high) = ([-0.5, 0.0, -0.5], [0.5, 1.4, 0.5]);

    // By day, on the ground, beside a ball.
    let ball = Sphere {
        center: [0.42, 0.16, 0.3],
        radius: 0.16,
        finish: Finish { color: from_hex("#b5482e")?, roughness: 0.35, ..Default::default() },
    };
    let day = Style {
        ground: Some(Ground::default()),
        background: Some(Background { bottom: from_hex("#8c99a6")?, top: from_hex("#3b4c60")? }),
        ..Style::default()
    };
    let with_ball = Scene { surfaces: vec![&ball], ..plain.clone() };
    let camera = Camera::framing(low, high, 22.0, 9.0, 30.0, aspect, 0.02);
    shoot("preview.png", &with_ball, &day, &camera, Quality::PREVIEW)?;
    shoot("day.png", &with_ball, &day, &camera, Quality::FINAL)?;

    // Lit from behind, before the dark.
    let rim = Style {
        lights: vec![
            Light::directional([0.7, 0.75, -0.55], [1.0, 0.86, 0.7], 1.7),
            Light::directional([-0.8, 0.35, 0.2], [0.45, 0.65, 1.0], 0.35),
        ],
        scatter: Scatter { anisotropy: 0.35, softness: 0.6, back: 0.0 },
        ambient: Ambient { sky: [0.035, 0.042, 0.06], ground: [0.01; 3], occlusion: 1.0 },
        ..Style::default()
    };
    let camera = Camera::framing(low, high, -15.0, 4.0, 30.0, aspect, 0.02);
    shoot("rim.png", &plain, &rim, &camera, Quality::FINAL)?;

    // Fire at night.
    let night = Style {
        lights: vec![Light::directional([-0.6, 0.7, -0.5], [0.5, 0.65, 1.0], 0.3)],
        ambient: Ambient { sky: [0.012, 0.016, 0.028], ground: [0.02, 0.009, 0.003], ..Ambient::default() },
        glow: Glow { strength: 30.0, ..Glow::default() },
        ground: Some(Ground { finish: Finish { color: [0.13; 3], roughness: 0.9, metal: 0.0 }, ..Ground::default() }),
        background: Some(Background { bottom: from_hex("#0b0d12")?, top: from_hex("#030406")? }),
        ..Style::default()
    };
    let sooty = Substance { albedo: [0.45, 0.42, 0.4], ..Substance::new(&smoke) };
    let fire = Scene { substances: vec![sooty], heat: Some(&heat), ..with_ball.clone() };
    let camera = Camera::framing(low, high, 22.0, 9.0, 30.0, aspect, 0.02);
    shoot("fire.png", &fire, &night, &camera, Quality::FINAL)?;
    Ok(())
}

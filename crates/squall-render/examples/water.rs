//! Pictures of invented water, to look at: `cargo run --release -p squall-render --example water -- FOLDER [CELLS [WIDTH]]`.

use squall_core::Volume;
use squall_io::write_png;
use squall_render::film::*;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "out/water".into()));
    let cells: usize = arguments.next().map_or(Ok(128), |n| n.parse())?;
    let width: usize = arguments.next().map_or(Ok(960), |n| n.parse())?;
    std::fs::create_dir_all(&folder)?;

    let shoot = |name: &str, scene: &Scene<'_>, style: &Style, camera: &Camera| {
        for (name, width, quality) in
            [(format!("{name}_preview"), width / 2, Quality::PREVIEW), (name.to_owned(), width, Quality::FINAL)]
        {
            let start = Instant::now();
            let stage = Stage::new(scene, style, quality)?;
            let ready = start.elapsed();
            let frame = stage.shoot(camera, [width, width * 9 / 16], 0)?;
            println!("{name}: light {ready:.0?}, rays {:.2?}, {} MB", start.elapsed() - ready, stage.memory() >> 20);
            let image = frame.to_image(&Tone::default());
            let path = folder.join(format!("{name}.png"));
            write_png(path, image.width as u32, image.height as u32, &image.to_rgb())?;
        }
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    let style = Style {
        lights: vec![
            Light::directional([-0.55, 0.85, -0.3], [1.0, 0.97, 0.92], 0.8),
            Light::directional([0.7, 0.6, 0.5], [0.8, 0.9, 1.0], 0.18),
        ],
        ambient: Ambient { sky: [0.34, 0.36, 0.39], ground: [0.2, 0.2, 0.2], occlusion: 0.7 },
        environment: Some(Environment::studio()),
        ..Style::default()
    };
    let on_tiles = |size: f64| Style { ground: Some(Ground::tiled(0.0, size)), ..style.clone() };
    let view = |low, high, yaw, pitch| Camera::framing(low, high, yaw, pitch, 28.0, 16.0 / 9.0, 0.04);

    // A ball half under in a pool with waves.
    let ball = Sphere {
        center: [0.25, 0.5, 0.2],
        radius: 0.26,
        finish: Finish { color: [0.8, 0.16, 0.05], roughness: 0.3, metal: 0.0 },
    };
    let pool = volume([-1.1, -0.05, -0.8], [2.2, 1.1, 1.6], cells, |[x, y, z]| {
        let r = (x - 0.25).hypot(z - 0.2);
        let height = 0.5
            + 0.02 * (6.0 * x + 2.5 * z).sin()
            + 0.012 * (9.0 * z - 5.0 * x).sin()
            + 0.03 * (26.0 * (r - 0.26)).cos() * (-3.0 * (r - 0.26).abs()).exp();
        let top = 0.93 * (y - height);
        top.max(outside([x, y, z], [-1.0, 0.0, -0.7], [1.0, 2.0, 0.7]))
    });
    let scene = Scene { liquid: Some(Liquid::new(&pool)), surfaces: vec![&ball], ..Scene::default() };
    shoot("pool", &scene, &on_tiles(0.2), &view([-1.0, 0.0, -0.7], [1.0, 0.7, 0.7], 24.0, 22.0))?;

    // A crown of water over a puddle, with drops.
    let splash = volume([-0.7, -0.05, -0.7], [1.4, 1.4, 1.4], cells, |[x, y, z]| {
        let (r, angle) = (x.hypot(z), z.atan2(x));
        let puddle = 0.95 * (y - 0.09 - 0.012 * (34.0 * r).cos() * (-2.0 * r).exp()).max(0.9 * (r - 0.6));
        let lip = 0.3 + 0.35 * (y - 0.1).max(0.0);
        let rim = 0.42 + 0.07 * (9.0 * angle).cos();
        let sheet = 0.85 * ((r - lip).abs() - 0.018).max(y - rim);
        let mut all = blend(puddle, sheet, 0.06);
        for k in 0..9 {
            let turn = std::f64::consts::TAU * f64::from(k) / 9.0;
            let top = 0.46 + 0.02 * (5.0 * turn).sin();
            all = blend(all, ball_at([x, y, z], [0.43 * turn.cos(), top, 0.43 * turn.sin()], 0.042), 0.05);
            let (far, up) = (0.52 + 0.03 * (3.0 * turn).cos(), 0.56 + 0.06 * (7.0 * turn).sin());
            all = all.min(ball_at(
                [x, y, z],
                [far * turn.cos(), up, far * turn.sin()],
                0.024 + 0.008 * (4.0 * turn).sin(),
            ));
        }
        let jet = (r - 0.06 - 0.03 * (12.0 * y).sin()).max(y - 0.62);
        let all = blend(all, 0.9 * jet, 0.08);
        let all = blend(all, ball_at([x, y, z], [0.0, 0.72, 0.0], 0.085), 0.04);
        all.min(ball_at([x, y, z], [0.02, 0.93, 0.01], 0.055)).max(-y)
    });
    let scene = Scene { liquid: Some(Liquid::new(&splash)), ..Scene::default() };
    shoot("splash", &scene, &on_tiles(0.15), &view([-0.3, 0.0, -0.5], [0.3, 0.92, 0.5], 18.0, 14.0))?;

    // The same at night: with nothing around but a dark background.
    let night = Style { ground: Some(Ground::default()), ..Style::default() };
    shoot("night", &scene, &night, &view([-0.3, 0.0, -0.5], [0.3, 0.92, 0.5], 18.0, 14.0))?;

    // A block of water in a tank that is not there.
    let tank = volume([-0.75, -0.05, -0.45], [1.5, 1.1, 0.9], cells, |[x, y, z]| {
        let height =
            0.52 + 0.09 * (4.0 * x + 0.6).sin() + 0.03 * (9.0 * x + 5.0 * z).sin() + 0.02 * (14.0 * z - 4.0 * x).cos();
        (0.85 * (y - height)).max(outside([x, y, z], [-0.7, 0.0, -0.4], [0.7, 2.0, 0.4]))
    });
    let stone = Sphere {
        center: [-0.3, 0.14, 0.1],
        radius: 0.14,
        finish: Finish { color: [0.85, 0.55, 0.1], roughness: 0.4, metal: 0.0 },
    };
    let scene = Scene { liquid: Some(Liquid::new(&tank)), surfaces: vec![&stone], ..Scene::default() };
    shoot("tank", &scene, &on_tiles(0.12), &view([-0.7, 0.0, -0.4], [0.7, 0.7, 0.4], 28.0, 14.0))?;
    Ok(())
}

/// The distance to a box whose lower corner is `origin`; its longest side has `cells` cells.
fn volume(origin: [f64; 3], size: [f64; 3], cells: usize, phi: impl Fn([f64; 3]) -> f64) -> Volume {
    let h = size.into_iter().fold(0.0, f64::max) / cells as f64;
    let n = size.map(|v| (v / h).round() as usize);
    let at = |i: usize| -> [f64; 3] {
        let cell = [i % n[0], i / n[0] % n[1], i / (n[0] * n[1])];
        std::array::from_fn(|a| origin[a] + (cell[a] as f64 + 0.5) * h)
    };
    let values: Vec<f32> = (0..n.iter().product()).map(|i| phi(at(i)) as f32).collect();
    Volume::from_dense(origin, h, 1e3, n, &values)
}

/// How far outside of a box a place is.
fn outside(x: [f64; 3], low: [f64; 3], high: [f64; 3]) -> f64 {
    (0..3).map(|a| (low[a] - x[a]).max(x[a] - high[a])).fold(f64::NEG_INFINITY, f64::max)
}

fn ball_at(x: [f64; 3], center: [f64; 3], radius: f64) -> f64 {
    (0..3).map(|a| (x[a] - center[a]).powi(2)).sum::<f64>().sqrt() - radius
}

/// The nearer of two, with a soft joint.
fn blend(a: f64, b: f64, width: f64) -> f64 {
    let h = (width - (a - b).abs()).max(0.0) / width;
    a.min(b) - 0.25 * h * h * width
}

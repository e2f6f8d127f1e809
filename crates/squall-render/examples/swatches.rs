//! Draws invented fields in every style, to look at: `cargo run -p squall-render --example swatches -- FOLDER`.

use squall_io::{IoError, MovieFormat, assemble, write_png};
use squall_render::color::from_hex;
use squall_render::*;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "out/swatches".into()));
    std::fs::create_dir_all(&folder)?;
    maps(&folder)?;
    inks(&folder)?;
    movie(&folder)?;
    Ok(())
}

fn save(folder: &Path, name: &str, image: &Image) -> Result<(), IoError> {
    write_png(folder.join(name), image.width as u32, image.height as u32, &image.to_rgb())
}

fn timed<T>(what: &str, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = f();
    println!("{what}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    result
}

/// A random number from 0 to 1 for each point of a lattice.
fn hash(x: i32, y: i32, z: i32) -> f32 {
    let mut h = (x as u32).wrapping_mul(0x8da6_b343)
        ^ (y as u32).wrapping_mul(0xd816_3841)
        ^ (z as u32).wrapping_mul(0xcb1a_b31f);
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
    ((h ^ (h >> 15)) >> 8) as f32 / (1 << 24) as f32
}

fn noise(p: [f32; 3]) -> f32 {
    let base = p.map(f32::floor);
    let f: [f32; 3] = std::array::from_fn(|a| {
        let t = p[a] - base[a];
        t * t * (3.0 - 2.0 * t)
    });
    let [x, y, z] = base.map(|v| v as i32);
    let mut sum = 0.0;
    for corner in 0..8 {
        let [i, j, k] = [corner & 1, corner >> 1 & 1, corner >> 2];
        let weight = |bit: i32, f: f32| if bit == 1 { f } else { 1.0 - f };
        sum += weight(i, f[0]) * weight(j, f[1]) * weight(k, f[2]) * hash(x + i, y + j, z + k);
    }
    sum
}

fn fractal(p: [f32; 3], octaves: usize) -> f32 {
    (0..octaves).map(|o| noise(p.map(|v| v * (1 << o) as f32)) / (2 << o) as f32).sum()
}

/// Swirling noise: a pattern displaced by a pattern.
fn swirl(x: f32, y: f32, t: f32) -> f32 {
    let q = [fractal([x, y, t], 4), fractal([x + 5.2, y + 1.3, t], 4)];
    let r = [
        fractal([x + 4.0 * q[0] + 1.7, y + 4.0 * q[1] + 9.2, t], 4),
        fractal([x + 4.0 * q[0] + 8.3, y + 4.0 * q[1] + 2.8, t], 4),
    ];
    (2.6 * (fractal([x + 4.0 * r[0], y + 4.0 * r[1], t], 5) - 0.28)).clamp(0.0, 1.0)
}

fn field(n: usize, f: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    (0..n * n).map(|i| f((i % n) as f32 / n as f32, (i / n) as f32 / n as f32)).collect()
}

fn maps(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let n = 512;
    let values = field(n, |x, y| {
        swirl(3.0 * x, 3.0 * y, 0.0) * (1.0 - (2.0 * x - 1.0).powi(4)) * (1.0 - (2.0 * y - 1.0).powi(4))
    });
    let plane = Plane::new(&values, [n, n], [1.0; 2])?;
    let range = Range::robust(&values, 0.002);
    // A contact sheet of all maps, four in a row.
    let (names, side) = (ColorMap::names(), 256);
    let rows = names.len().div_ceil(4);
    let mut sheet =
        Image { width: 4 * side, height: rows * side, pixels: vec![[0, 0, 0, 255]; 4 * side * rows * side] };
    for (i, name) in names.iter().enumerate() {
        let map = ColorMap::by_name(name)?;
        let centred: Vec<f32> = values.iter().map(|v| if map.is_diverging() { v - 0.4 } else { *v }).collect();
        let image = draw_map(&Plane::new(&centred, [n, n], [1.0; 2])?, side, &MapStyle::new(map, range))?;
        for y in 0..side {
            let to = (i / 4 * side + y) * sheet.width + i % 4 * side;
            sheet.pixels[to..to + side].copy_from_slice(&image.pixels[y * side..][..side]);
        }
    }
    save(folder, "maps.png", &sheet)?;
    let style = MapStyle::new(ColorMap::by_name("inferno")?, range);
    draw_map(&plane, 1024, &style)?;
    let image = timed("map, 512^2 cells to 1024^2 pixels", || draw_map(&plane, 1024, &style))?;
    timed("write its PNG", || save(folder, "inferno.png", &image))?;
    let relief = MapStyle { relief: 0.5, ..MapStyle::new(ColorMap::by_name("ice")?, range) };
    save(folder, "relief.png", &timed("map with relief", || draw_map(&plane, 1024, &relief))?)?;
    Ok(())
}

fn inks(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let n = 384;
    let blob = |x: f32, y: f32, cx: f32, cy: f32, t: f32| {
        let (dx, dy) = (fractal([3.0 * x, 3.0 * y, t], 5) - 0.5, fractal([3.0 * x + 9.0, 3.0 * y, t], 5) - 0.5);
        let d = (x + 0.7 * dx - cx).hypot(y + 0.7 * dy - cy);
        (1.0 - (d / 0.26).powi(3)).max(0.0) * (0.35 + 1.3 * swirl(4.0 * x, 4.0 * y, t))
    };
    let fields = [
        field(n, |x, y| blob(x, y, 0.36, 0.58, 1.0)),
        field(n, |x, y| blob(x, y, 0.6, 0.6, 2.0)),
        field(n, |x, y| blob(x, y, 0.5, 0.36, 3.0)),
    ];
    let layers = |colors: [&str; 3], strength: f32| -> Result<Vec<Layer<'_>>, RenderError> {
        (0..3)
            .map(|i| {
                Ok(Layer { amount: Plane::new(&fields[i], [n, n], [1.0; 2])?, color: from_hex(colors[i])?, strength })
            })
            .collect()
    };
    let paper = Background { bottom: from_hex("#efe6d4")?, top: from_hex("#fbf7ee")? };
    let ink = layers(["#1690c4", "#d8327e", "#f2c21a"], 1.3)?;
    save(folder, "ink.png", &timed("three inks, 1024^2", || draw_layers(&ink, 1024, Mixing::Ink, paper, 0.0))?)?;
    save(folder, "ink_relief.png", &draw_layers(&ink, 1024, Mixing::Ink, paper, 0.35)?)?;
    let night = Background { bottom: from_hex("#0a0c14")?, top: from_hex("#04050a")? };
    let glow = layers(["#2f9bff", "#ff4f7a", "#ffb42e"], 1.4)?;
    save(folder, "glow.png", &timed("three lights, 1024^2", || draw_layers(&glow, 1024, Mixing::Glow, night, 0.0))?)?;
    Ok(())
}

fn movie(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let (n, frames) = (160, 90);
    let style = MapStyle::new(ColorMap::by_name("smoke")?, Range { lo: 0.0, hi: 1.0 });
    let mut paths = Vec::new();
    let mut writing = 0.0;
    for frame in 0..frames {
        let t = frame as f32 / 30.0;
        let values = field(n, |x, y| {
            swirl(2.0 * x, 2.0 * y - 0.3 * t, 0.4 * t) * (1.0 - (2.0 * x - 1.0).powi(2)) * (1.0 - y * y)
        });
        let start = Instant::now();
        let image = draw_map(&Plane::new(&values, [n, n], [1.0; 2])?, 640, &style)?;
        let name = format!("frame_{frame:04}.png");
        save(folder, &name, &image)?;
        writing += start.elapsed().as_secs_f64() * 1e3;
        paths.push(folder.join(name));
    }
    println!("draw and write a 640^2 frame: {:.1} ms", writing / frames as f64);
    for (name, format) in [("movie.gif", MovieFormat::Gif), ("movie.apng", MovieFormat::Apng)] {
        let out = folder.join(name);
        timed(&format!("90 frames of 640^2 to {name}"), || {
            assemble(&paths, 30.0, format, &out, &mut |_| {}, &|| false)
        })?;
        println!("    {} kB", std::fs::metadata(out)?.len() / 1000);
    }
    Ok(())
}

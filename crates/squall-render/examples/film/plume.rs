//! An invented plume to draw: a column warped by noise, covered in billows, with a hot foot.

use rayon::prelude::*;
use squall_core::Volume;

/// Smoke and heat in a box of 1 x 1.5 x 1 metres that stands on y = 0, its middle at x = z = 0; `cells` along x.
pub fn plume(cells: usize) -> (Volume, Volume) {
    let n = [cells, cells * 3 / 2, cells];
    let h = 1.0 / cells as f64;
    let at = |i: usize| [i % n[0], i / n[0] % n[1], i / n[0] / n[1]].map(|c| (c as f32 + 0.5) * h as f32);
    let fields: Vec<[f32; 2]> =
        (0..n.iter().product::<usize>()).into_par_iter().map(|i| smoke_and_heat(at(i))).collect();
    let volume = |k: usize| {
        let values: Vec<f32> = fields.iter().map(|f| f[k]).collect();
        Volume::from_dense([-0.5, 0.0, -0.5], h, 0.0, n, &values)
    };
    (volume(0), volume(1))
}

fn smoke_and_heat([x, y, z]: [f32; 3]) -> [f32; 2] {
    let p = [x - 0.5, y, z - 0.5];
    // The column sways, more with height, and is stirred by slow eddies.
    let sway = |k: f32| 0.16 * (y + 0.05) * (2.0 * noise([0.0, 2.6 * y + k, 7.0 * k]) - 1.0);
    let eddy = |k: f32| 0.06 * y.min(0.9) * (2.0 * fractal(p.map(|v| 3.5 * v + k), 2) - 0.75);
    let q = [p[0] + sway(1.0) + eddy(11.0), y + eddy(23.0), p[2] + sway(5.0) + eddy(37.0)];
    let radius = 0.045 + 0.25 * y.powf(0.85);
    let from_axis = q[0].hypot(q[2]);
    // Billows: lumps on lumps, larger and wilder with height.
    let scale = 7.0;
    let lumps = 0.62 * lump(q.map(|v| scale * v))
        + 0.27 * lump(q.map(|v| 2.3 * scale * v + 3.0))
        + 0.15 * lump(q.map(|v| 5.1 * scale * v + 9.0));
    let top = ((1.2 - y) / 0.25).clamp(-2.0, 1.0);
    let surface = (radius - from_axis) / radius + 1.15 * (lumps - 0.52) + 0.7 * (top - 1.0).min(0.0);
    let inside = (surface / (0.12 + 0.1 * y)).clamp(0.0, 1.0);
    let thin = (0.4 + 0.9 * fractal(q.map(|v| 9.0 * v), 4)) * (1.15 - 0.55 * y);
    let smoke = inside * thin;
    let tongue = 1.0 - y / (0.34 + 0.34 * fractal(q.map(|v| 6.0 * v), 3)) - 0.35 * from_axis / radius;
    [smoke, (1.3 * tongue * inside * (1.6 * lumps - 0.25)).clamp(0.0, 1.0)]
}

/// A random number from 0 to 1 for each point of a lattice.
fn hash(x: i32, y: i32, z: i32, k: u32) -> f32 {
    let mut h = (x as u32).wrapping_mul(0x8da6_b343)
        ^ (y as u32).wrapping_mul(0xd816_3841)
        ^ (z as u32).wrapping_mul(0xcb1a_b31f)
        ^ k.wrapping_mul(0x9e37_79b9);
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
    ((h ^ (h >> 15)) >> 8) as f32 / (1 << 24) as f32
}

/// Smooth noise from 0 to 1.
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
        sum += weight(i, f[0]) * weight(j, f[1]) * weight(k, f[2]) * hash(x + i, y + j, z + k, 0);
    }
    sum
}

fn fractal(p: [f32; 3], octaves: usize) -> f32 {
    (0..octaves).map(|o| noise(p.map(|v| v * (1 << o) as f32)) / (2 << o) as f32).sum()
}

/// Round lumps: 1 at scattered points, falling with the distance to the nearest.
fn lump(p: [f32; 3]) -> f32 {
    let base = p.map(|v| v.floor() as i32);
    let mut nearest = f32::INFINITY;
    for corner in 0..27 {
        let at: [i32; 3] = std::array::from_fn(|a| base[a] + [corner % 3, corner / 3 % 3, corner / 9][a] - 1);
        let d: [f32; 3] = std::array::from_fn(|a| at[a] as f32 + hash(at[0], at[1], at[2], 1 + a as u32) - p[a]);
        nearest = nearest.min(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    }
    (1.0 - nearest).max(0.0)
}

//! Patterns that look like photographs, drawn by code. All repeat without a seam.

use super::Bitmap;
use super::noise::{Fractal, random};
use crate::color::{Rgb, mix};
use rayon::prelude::*;

/// A pattern drawn by code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Photo {
    /// Round stones of a beach, wet, seen from above.
    Pebbles,
    /// Planks with grain.
    Wood,
    /// Small glazed tiles in blues and golds.
    Mosaic,
    /// Drops of ink on water, one after the other, as for marbled paper.
    Inks,
}

impl Photo {
    /// The pattern as a square picture with `n` pixels along each side.
    pub fn draw(self, n: usize) -> Bitmap {
        let mut pixels = vec![[0.0; 3]; n * n];
        let painter = Painter::new();
        pixels.par_chunks_mut(n).enumerate().for_each(|(y, row)| {
            for (x, pixel) in row.iter_mut().enumerate() {
                let p = [(x as f64 + 0.5) / n as f64, (y as f64 + 0.5) / n as f64];
                *pixel = match self {
                    Photo::Pebbles => painter.pebbles(p),
                    Photo::Wood => painter.wood(p),
                    Photo::Mosaic => painter.mosaic(p),
                    Photo::Inks => painter.inks(p),
                };
            }
        });
        Bitmap::new(n, n, &pixels)
    }
}

struct Painter {
    broad: Fractal<2>,
    medium: Fractal<2>,
    speckles: Fractal<2>,
    grain: Fractal<2>,
    drops: Vec<([f64; 2], f64, Rgb)>,
}

/// Sizes of stones from one side of the picture to the other.
const STONES: i32 = 11;

const PLANKS: f64 = 5.0;
const MOSAIC: f64 = 20.0;

/// A stone near a place.
struct Stone {
    /// 0 at its middle, 1 at its edge.
    rim: f32,
    /// From its middle, in cells of the lattice.
    away: [f32; 2],
    cell: [i32; 2],
}

fn smooth(lo: f32, hi: f32, v: f32) -> f32 {
    let t = ((v - lo) / (hi - lo)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

impl Painter {
    fn new() -> Self {
        let fractal = |scale: f64, octaves, seed| Fractal::new([Some(1.0); 2], scale, octaves, 0.55, seed);
        let mut grain = fractal(0.02, 4, 4);
        // Grain is long.
        grain.frequency[0] = 3.0;
        grain.period[0] = 3;
        Painter {
            broad: fractal(0.25, 3, 1),
            medium: fractal(0.06, 4, 2),
            speckles: fractal(0.012, 3, 3),
            grain,
            drops: drops(),
        }
    }

    /// The stone that lies at a place: the nearest of points that lie unevenly, and how near its edge the place is.
    fn stone(&self, p: [f64; 2], count: i32, seed: u32) -> Stone {
        // Outlines are not quite straight.
        let wobble =
            [0.012 * f64::from(self.medium.at(p)), 0.012 * f64::from(self.medium.at([p[0] + 0.37, p[1] + 0.71]))];
        let q: [f64; 2] = std::array::from_fn(|a| (p[a] + wobble[a]) * f64::from(count));
        let base = q.map(|v| v.floor() as i32);
        let mut nearest = [(f32::INFINITY, [0.0; 2], [0; 2]); 2];
        for j in -2..=2 {
            for i in -2..=2 {
                let cell = [base[0] + i, base[1] + j];
                let own = cell.map(|c| c.rem_euclid(count));
                let at: [f64; 2] =
                    std::array::from_fn(|a| f64::from(cell[a]) + 0.12 + 0.76 * f64::from(random(own, seed + a as u32)));
                let away: [f32; 2] = std::array::from_fn(|a| (q[a] - at[a]) as f32);
                let d = away[0].hypot(away[1]);
                if d < nearest[0].0 {
                    nearest = [(d, away, own), nearest[0]];
                } else if d < nearest[1].0 {
                    nearest[1] = (d, away, own);
                }
            }
        }
        let [(near, away, cell), (next, ..)] = nearest;
        Stone { rim: (1.0 - (next - near) / 0.55).clamp(0.0, 1.0), away, cell }
    }

    fn pebbles(&self, p: [f64; 2]) -> Rgb {
        const COLORS: [Rgb; 7] = [
            [0.33, 0.30, 0.27],
            [0.52, 0.45, 0.36],
            [0.16, 0.17, 0.19],
            [0.62, 0.58, 0.52],
            [0.42, 0.24, 0.16],
            [0.24, 0.27, 0.30],
            [0.74, 0.68, 0.58],
        ];
        let stone = self.stone(p, STONES, 11);
        let pick = random(stone.cell, 21) * COLORS.len() as f32;
        let color = COLORS[(pick as usize).min(COLORS.len() - 1)];
        // Veins and speckles, each stone its own.
        let own = f64::from(random(stone.cell, 22)) * 7.0;
        let vein = smooth(0.02, 0.0, self.medium.at([p[0] + own, p[1]]).abs() - 0.01)
            * (random(stone.cell, 23) - 0.55).max(0.0);
        let speckle = 1.0 + 0.22 * self.speckles.at(p) + 0.15 * self.medium.at([p[0] + own, p[1] + own]);
        let color = mix(color.map(|c| 0.85 * c * speckle), [0.75, 0.72, 0.66], 0.5 * vein);
        // A dome, lit from the upper left; p goes down.
        let dome = 1.0 - stone.rim.powi(3);
        let slope = stone.rim * stone.rim * 1.1;
        let length = stone.away[0].hypot(stone.away[1]).max(1e-3);
        let facing = -(stone.away[0] + stone.away[1]) / length * 0.7;
        let light = (0.55 + 0.45 * dome) * (1.0 + 0.55 * slope * facing);
        let shine = 0.5 * smooth(0.55, 1.0, facing * (1.0 - (stone.rim - 0.45).abs() * 3.0).max(0.0));
        let lit: Rgb = std::array::from_fn(|c| color[c] * light * 1.25 + shine * 0.5);
        let gap = smooth(0.84, 0.99, stone.rim);
        let sand = 0.05 + 0.03 * (1.0 + self.speckles.at(p));
        mix(lit, [sand * 1.1, sand, sand * 0.85], gap).map(|v| v.max(0.0))
    }

    fn wood(&self, p: [f64; 2]) -> Rgb {
        let plank = (p[1] * PLANKS).floor() as i32;
        let own = f64::from(random([plank], 31));
        let at = [p[0] + own, p[1]];
        let rings = 14.0 * p[1] * PLANKS / 5.0 + 0.9 * f64::from(self.broad.at(at)) + 3.0 * own;
        let ring = 0.5 + 0.5 * (std::f64::consts::TAU * rings.fract()).cos() as f32;
        let grain = self.grain.at(at);
        let (pale, dark) = ([0.56, 0.33, 0.15], [0.25, 0.115, 0.045]);
        let tone = (0.55 * ring * ring + 0.35 * grain + 0.2).clamp(0.0, 1.0);
        let shade = (0.8 + 0.4 * random([plank], 32)) * (1.0 + 0.08 * self.speckles.at(p));
        let across = (p[1] * PLANKS).fract() as f32;
        let seam = smooth(0.0, 0.025, across.min(1.0 - across));
        mix(pale, dark, tone).map(|v| (v * shade * (0.15 + 0.85 * seam)).max(0.0))
    }

    fn mosaic(&self, p: [f64; 2]) -> Rgb {
        const COLORS: [Rgb; 6] = [
            [0.02, 0.10, 0.30],
            [0.03, 0.25, 0.42],
            [0.10, 0.48, 0.55],
            [0.72, 0.50, 0.12],
            [0.82, 0.80, 0.72],
            [0.45, 0.06, 0.05],
        ];
        let q = p.map(|v| v * MOSAIC);
        let cell = q.map(|v| v.floor() as i32);
        let inside: [f32; 2] = std::array::from_fn(|a| (q[a] - q[a].floor()) as f32 - 0.5);
        // Rings around the middle and the corners of the picture, as in a floor.
        let n = MOSAIC as i32;
        let middle = cell.map(|c| (f64::from(c) + 0.5 - MOSAIC / 2.0).abs() as f32);
        let far = (middle[0].hypot(middle[1])) / MOSAIC as f32;
        let band = (far * 13.0 + 0.35 * random(cell.map(|c| c.rem_euclid(n)), 41)) as usize;
        let color = COLORS[[0, 3, 4, 2, 1, 0, 5, 3, 1, 4][band % 10]];
        let varied = 0.75 + 0.5 * random(cell.map(|c| c.rem_euclid(n)), 42);
        let edge = inside[0].abs().max(inside[1].abs());
        let bevel = if inside[0].abs() > inside[1].abs() { -inside[0].signum() } else { -inside[1].signum() };
        let light = 1.0 + 0.35 * bevel * smooth(0.34, 0.44, edge) + 0.06 * self.medium.at(p);
        let shine = 0.10 * smooth(0.25, 0.0, (inside[0] + 0.18).hypot(inside[1] + 0.2));
        let tile = color.map(|c| c * varied * light + shine);
        let grout = 0.30 + 0.05 * self.speckles.at(p);
        mix(tile, [grout, grout * 0.96, grout * 0.88], smooth(0.44, 0.47, edge)).map(|v| v.max(0.0))
    }

    /// Each drop pushes aside what was there before; so a place is followed back from the last drop to the first.
    fn inks(&self, p: [f64; 2]) -> Rgb {
        let mut q = p;
        for (drop, &(center, radius, color)) in self.drops.iter().enumerate().rev() {
            let away: [f64; 2] = std::array::from_fn(|a| {
                let d = q[a] - center[a];
                d - d.round()
            });
            let square = away[0] * away[0] + away[1] * away[1];
            if square > FAR * FAR {
                continue;
            }
            let d = square.sqrt();
            if d < radius {
                let fibre = 1.0 + 0.05 * self.speckles.at(p);
                // The rim of a drop is a little thicker.
                let rim = 1.0 - 0.18 * smooth(0.75, 1.0, (d / radius) as f32) * random([drop as i32], 53);
                return color.map(|v| v * fibre * rim);
            }
            // A disc of the same area is pushed out; not as far as the drop's images, so that all repeats.
            let pushed = d * (1.0 - (1.0 - (radius / d).powi(2)).sqrt());
            let fade = f64::from(1.0 - smooth(0.16, FAR as f32, d as f32));
            q = std::array::from_fn(|a| q[a] - away[a] / d * pushed * fade);
        }
        PAPER
    }
}

/// Drops push aside what is nearer than this.
const FAR: f64 = 0.35;

const PAPER: Rgb = [0.80, 0.71, 0.55];

/// Places, radii and colours of drops of ink: large ones first.
fn drops() -> Vec<([f64; 2], f64, Rgb)> {
    const COLORS: [Rgb; 7] = [
        [0.012, 0.045, 0.13],
        [0.42, 0.035, 0.03],
        [0.82, 0.74, 0.58],
        [0.025, 0.20, 0.23],
        [0.78, 0.42, 0.06],
        [0.86, 0.80, 0.68],
        [0.10, 0.30, 0.45],
    ];
    let drop = |n: i32| {
        // Evenly spread, a little uneven.
        let even = [0.754_877_7, 0.569_840_3].map(|step| (f64::from(n) * step).fract());
        let place = std::array::from_fn(|a| even[a] + 0.05 * f64::from(random([n], 51 + a as u32)));
        let color = (random([n], 57) * COLORS.len() as f32) as usize % COLORS.len();
        let shrink = 1.0 - 0.65 * f64::from(n) / f64::from(DROPS);
        (place, (0.035 + 0.055 * f64::from(random([n], 55))) * shrink, COLORS[color])
    };
    (0..DROPS).map(drop).collect()
}

const DROPS: i32 = 260;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_patterns_repeat_without_a_seam_and_have_contrast() {
        for photo in [Photo::Pebbles, Photo::Wood, Photo::Mosaic, Photo::Inks] {
            let n = 128;
            let bitmap = photo.draw(n);
            let at = |x: usize, y: usize| bitmap.at([(x as f64 + 0.5) / n as f64, (y as f64 + 0.5) / n as f64], 1.0)[1];
            let step = |x: usize| (0..n).map(|y| (at(x, y) - at((x + 1) % n, y)).abs()).sum::<f32>();
            let mut inside: Vec<f32> = (0..n - 1).map(step).collect();
            inside.sort_by(f32::total_cmp);
            // Across the seam neighbours differ as they do elsewhere: mosaics have grout there, as in every sixth column.
            assert!(step(n - 1) <= 1.1 * inside[n - 2], "{photo:?}: {} of {:?}", step(n - 1), &inside[n - 6..]);
            let mean = bitmap.mean()[1];
            let values: Vec<f32> = (0..n * n).map(|i| at(i % n, i / n)).collect();
            let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / values.len() as f32;
            assert!(square.sqrt() > 0.15 * mean, "{photo:?}");
            assert!(values.iter().all(|v| (0.0..=1.5).contains(v)), "{photo:?}");
        }
    }
}

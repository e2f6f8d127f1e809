//! Volumes at several times the resolution of the simulation: density between cells, with the detail of a pattern.
//!
//! One place makes them, for pictures and for files.

use super::Texture;
use rayon::prelude::*;
use squall_core::Volume;
use squall_core::volume::{BLOCK, BLOCK_CELLS};

/// Coordinates of a 3D fluid as they are now.
#[derive(Clone, Debug, Default)]
pub struct Displacements {
    /// Of the three sets, along each axis, in metres.
    pub sets: [[Volume; 3]; 3],
    /// What each set counts.
    pub weights: [f64; 3],
}

/// Cells around a block that its finer copy depends on.
const MARGIN: usize = 2;
/// Cells along each side of a block and what is around it.
const WINDOW: usize = BLOCK + 2 * MARGIN;

/// A volume with `refine` times as many cells along each axis, at the same place: smooth between cells, nowhere above or below the
/// cells around; and, if there is a texture, with its detail.
pub fn refined(volume: &Volume, refine: usize, texture: Option<(&Texture<3>, &Displacements)>) -> Volume {
    let mut out = Volume {
        origin: volume.origin,
        spacing: volume.spacing / refine as f64,
        background: volume.background,
        ..Volume::default()
    };
    let taps = taps(refine);
    let mut fine: Vec<([i32; 3], Vec<f32>)> = candidates(volume)
        .into_par_iter()
        .flat_map_iter(|block| finer_block(volume, block, refine, &taps, texture))
        .collect();
    fine.sort_unstable_by_key(|(block, _)| *block);
    out.values.reserve_exact(fine.len() * BLOCK_CELLS);
    for (block, values) in fine {
        out.blocks.push(block);
        out.values.extend_from_slice(&values);
    }
    out
}

/// Blocks that are there, and those beside them: values between cells reach half a cell further.
fn candidates(volume: &Volume) -> Vec<[i32; 3]> {
    let around = (0..27).map(|n| [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1]);
    let mut all: Vec<[i32; 3]> = around
        .flat_map(|by: [i32; 3]| volume.blocks.iter().map(move |b| std::array::from_fn(|a| b[a] + by[a])))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// For each place within a cell: the first of its four cells, as seen from the cell, and their weights.
fn taps(refine: usize) -> Vec<(isize, [f32; 4])> {
    (0..refine)
        .map(|i| {
            let x = (i as f64 + 0.5) / refine as f64 - 0.5;
            let low = x.floor();
            let t = (x - low) as f32;
            let weights = [
                0.5 * t * (-1.0 + t * (2.0 - t)),
                0.5 * (2.0 + t * t * (3.0 * t - 5.0)),
                0.5 * t * (1.0 + t * (4.0 - 3.0 * t)),
                0.5 * t * t * (t - 1.0),
            ];
            (low as isize - 1, weights)
        })
        .collect()
}

/// The cells of a block and around it, x fastest.
fn window(volume: &Volume, block: [i32; 3]) -> Vec<f32> {
    let mut out = vec![volume.background; WINDOW * WINDOW * WINDOW];
    let side = BLOCK as isize;
    for n in 0..27isize {
        let by = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
        let wanted: [i32; 3] = std::array::from_fn(|a| block[a] + by[a] as i32);
        let Ok(b) = volume.blocks.binary_search(&wanted) else { continue };
        let values = volume.block(b);
        // The part of the window that lies in this block.
        let range = |a: usize| {
            let low = (by[a] * side + MARGIN as isize).max(0);
            let high = ((by[a] + 1) * side + MARGIN as isize).min(WINDOW as isize);
            (low as usize, high as usize, (low - MARGIN as isize - by[a] * side) as usize)
        };
        let [(x0, x1, fx), (y0, y1, fy), (z0, z1, fz)] = [range(0), range(1), range(2)];
        for z in z0..z1 {
            for y in y0..y1 {
                let from = fx + BLOCK * (fy + y - y0 + BLOCK * (fz + z - z0));
                out[WINDOW * (y + WINDOW * z)..][x0..x1].copy_from_slice(&values[from..from + x1 - x0]);
            }
        }
    }
    out
}

/// A window at all places of the finer grid within its block: x, then y, then z.
fn enlarge(window: &[f32], refine: usize, taps: &[(isize, [f32; 4])]) -> Vec<f32> {
    let n = BLOCK * refine;
    let tap = |i: usize| {
        let (first, w) = taps[i % refine];
        ((i / refine + MARGIN).wrapping_add_signed(first), w)
    };
    // Along the axis whose neighbours are `stride` apart; nothing rings.
    let mix = |from: &[f32], at: usize, stride: usize, w: &[f32; 4]| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| from[at + k * stride]);
        (w[0] * a + w[1] * b + w[2] * c + w[3] * d).max(b.min(c)).min(b.max(c))
    };
    let mut wide = vec![0.0; n * WINDOW * WINDOW];
    for (line, out) in window.chunks_exact(WINDOW).zip(wide.chunks_exact_mut(n)) {
        for (i, out) in out.iter_mut().enumerate() {
            let (first, w) = tap(i);
            *out = mix(line, first, 1, &w);
        }
    }
    let mut tall = vec![0.0; n * n * WINDOW];
    for (plane, out) in wide.chunks_exact(n * WINDOW).zip(tall.chunks_exact_mut(n * n)) {
        for (j, out) in out.chunks_exact_mut(n).enumerate() {
            let (first, w) = tap(j);
            for (i, out) in out.iter_mut().enumerate() {
                *out = mix(plane, first * n + i, n, &w);
            }
        }
    }
    let mut deep = vec![0.0; n * n * n];
    for (k, out) in deep.chunks_exact_mut(n * n).enumerate() {
        let (first, w) = tap(k);
        for (i, out) in out.iter_mut().enumerate() {
            *out = mix(&tall, first * n * n + i, n * n, &w);
        }
    }
    deep
}

/// The finer blocks that a block becomes, without those that hold nothing.
fn finer_block(
    volume: &Volume,
    block: [i32; 3],
    refine: usize,
    taps: &[(isize, [f32; 4])],
    texture: Option<(&Texture<3>, &Displacements)>,
) -> Vec<([i32; 3], Vec<f32>)> {
    let background = volume.background;
    let coarse = window(volume, block);
    if coarse.iter().all(|&v| v == background) {
        return Vec::new();
    }
    let n = BLOCK * refine;
    let mut values = enlarge(&coarse, refine, taps);
    if let Some((texture, d)) = texture {
        let weights = d.weights.map(|w| w as f32);
        // A set that counts nothing is not looked at.
        let xi = |k: usize, a: usize| match weights[k] > super::LEAST_WEIGHT {
            true => enlarge(&window(&d.sets[k][a], block), refine, taps),
            false => vec![0.0; n * n * n],
        };
        let xi: [[Vec<f32>; 3]; 3] = std::array::from_fn(|k| std::array::from_fn(|a| xi(k, a)));
        let h = volume.spacing / refine as f64;
        for (i, value) in values.iter_mut().enumerate().filter(|(_, value)| **value != 0.0) {
            let cell = [i % n, i / n % n, i / n / n];
            let place = std::array::from_fn(|a| ((block[a] as f64 * n as f64) + cell[a] as f64 + 0.5) * h);
            let xi = xi.each_ref().map(|set| set.each_ref().map(|xi| xi[i]));
            *value *= texture.factor(place, xi, weights);
        }
    }
    let mut out = Vec::new();
    for b in 0..refine.pow(3) {
        let part = [b % refine, b / refine % refine, b / refine / refine];
        let mut fine = Vec::with_capacity(BLOCK_CELLS);
        for z in 0..BLOCK {
            for y in 0..BLOCK {
                let row = part[0] * BLOCK + n * (part[1] * BLOCK + y + n * (part[2] * BLOCK + z));
                fine.extend_from_slice(&values[row..row + BLOCK]);
            }
        }
        if fine.iter().any(|&v| v != background) {
            out.push((std::array::from_fn(|a| block[a] * refine as i32 + part[a] as i32), fine));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::Pattern;

    const N: usize = 24;

    fn ball() -> Volume {
        let value = |i: usize| {
            let p = [i % N, i / N % N, i / N / N].map(|c| c as f64 + 0.5 - N as f64 / 2.0);
            (1.0 - p.iter().map(|v| v * v).sum::<f64>() / 64.0).max(0.0) as f32
        };
        let values: Vec<f32> = (0..N * N * N).map(value).collect();
        Volume::from_dense([0.1, 0.2, 0.3], 0.05, 0.0, [N; 3], &values)
    }

    fn at_rest() -> Displacements {
        let none = || Volume { origin: [0.1, 0.2, 0.3], spacing: 0.05, ..Volume::default() };
        Displacements { sets: std::array::from_fn(|_| std::array::from_fn(|_| none())), weights: [0.5, 0.3, 0.2] }
    }

    fn mass(volume: &Volume) -> f64 {
        volume.values.iter().map(|&v| f64::from(v)).sum::<f64>() * volume.spacing.powi(3)
    }

    fn clouds(strength: f32) -> Texture<3> {
        let pattern = Pattern::clouds([None; 3], 0.15, 4, 0.5, 3);
        Texture { pattern, strength, restore_contrast: true, offsets: Texture::apart(0.15) }
    }

    #[test]
    fn finer_volumes_lie_at_the_same_place_and_hold_as_much() {
        let coarse = ball();
        for refine in [1, 2, 3, 4] {
            let fine = refined(&coarse, refine, None);
            assert_eq!((fine.origin, fine.spacing), (coarse.origin, 0.05 / refine as f64));
            assert!(fine.blocks.is_sorted() && fine.blocks.windows(2).all(|b| b[0] != b[1]));
            // The ends of the ball are curved where cubic pieces are cut off.
            assert!((mass(&fine) / mass(&coarse) - 1.0).abs() < 0.01, "{refine}: {}", mass(&fine) / mass(&coarse));
            // The centre of mass stays, to a thousandth of a cell.
            let center = |v: &Volume| {
                let mut sum = [0.0; 4];
                for (b, block) in v.blocks.iter().enumerate() {
                    for (i, &m) in v.block(b).iter().enumerate() {
                        let cell = [i % BLOCK, i / BLOCK % BLOCK, i / BLOCK / BLOCK];
                        for a in 0..3 {
                            let at = (f64::from(block[a]) * BLOCK as f64 + cell[a] as f64 + 0.5) * v.spacing;
                            sum[a] += f64::from(m) * at;
                        }
                        sum[3] += f64::from(m);
                    }
                }
                [sum[0] / sum[3], sum[1] / sum[3], sum[2] / sum[3]]
            };
            let (a, b) = (center(&coarse), center(&fine));
            assert!((0..3).all(|k| (a[k] - b[k]).abs() < 5e-5), "{a:?} {b:?}");
        }
        assert_eq!(refined(&coarse, 1, None), coarse, "one for one it is a copy");
    }

    #[test]
    fn strength_zero_changes_nothing_and_detail_keeps_the_mean() {
        let (coarse, xi) = (ball(), at_rest());
        let smooth = refined(&coarse, 2, None);
        assert_eq!(refined(&coarse, 2, Some((&clouds(0.0), &xi))), smooth);
        let rough = refined(&coarse, 2, Some((&clouds(0.7), &xi)));
        // A ball of some hundred features of the pattern.
        assert!((mass(&rough) / mass(&smooth) - 1.0).abs() < 0.06, "{}", mass(&rough) / mass(&smooth));
        assert!(rough.values.iter().all(|&v| v >= 0.0));
        let change: f64 = mass(&Volume {
            values: rough.values.iter().zip(&smooth.values).map(|(a, b)| (a - b).abs()).collect(),
            ..rough.clone()
        });
        assert!(change > 0.2 * mass(&smooth), "there is detail: {change}");
    }

    #[test]
    fn blocks_are_seamless() {
        // A plane of constant slope: between cells it goes on as it is, across blocks.
        let values: Vec<f32> = (0..N * N * N).map(|i| 1.0 + (i % N) as f32).collect();
        let ramp = Volume::from_dense([0.0; 3], 1.0, 0.0, [N; 3], &values);
        let fine = refined(&ramp, 2, None);
        for x in 4..44 {
            let exact = 1.0 + (x as f32 + 0.5) / 2.0 - 0.5;
            assert!((fine.get([x, 24, 24]) - exact).abs() < 1e-5, "{x}: {}", fine.get([x, 24, 24]));
        }
    }
}

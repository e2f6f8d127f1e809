//! Volumes at several times the resolution of the simulation: density between cells, with the detail of a pattern.
//!
//! One place makes them, for pictures and for files.

use super::{Swirls, Texture};
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

/// What gives a finer volume its detail.
#[derive(Clone, Copy, Debug)]
pub enum Detail<'a> {
    /// Values are multiplied by a pattern.
    Painted(&'a Texture<3>),
    /// Values are taken from places beside.
    Swirled(&'a Swirls),
}

/// Cells around a block that its finer copy depends on.
const MARGIN: usize = 2;
/// Cells along each side of a block and what is around it.
const WINDOW: usize = BLOCK + 2 * MARGIN;
/// How far swirls may displace, in cells.
pub const FURTHEST: usize = 4;
/// The same as [`MARGIN`] and [`WINDOW`] for values from places beside.
const WIDE_MARGIN: usize = MARGIN + FURTHEST;
const WIDE: usize = BLOCK + 2 * WIDE_MARGIN;

/// A volume with `refine` times as many cells along each axis, at the same place: smooth between cells, nowhere above or below the
/// cells around; and with detail, if there is any, that leaves the sum over all cells as it is.
pub fn refined(volume: &Volume, refine: usize, detail: Option<(Detail<'_>, &Displacements)>) -> Volume {
    let mut out = Volume {
        origin: volume.origin,
        spacing: volume.spacing / refine as f64,
        background: volume.background,
        ..Volume::default()
    };
    let taps = taps(refine);
    let mut fine: Vec<([i32; 3], Vec<f32>)> = candidates(volume)
        .into_par_iter()
        .flat_map_iter(|block| finer_block(volume, block, refine, &taps, detail))
        .collect();
    fine.sort_unstable_by_key(|(block, _)| *block);
    out.values.reserve_exact(fine.len() * BLOCK_CELLS);
    for (block, values) in fine {
        out.blocks.push(block);
        out.values.extend_from_slice(&values);
    }
    if let Some((Detail::Swirled(_), _)) = detail {
        keep_sum(volume, refine, &mut out);
    }
    out
}

/// Scales what differs from the background so that its sum is that of `volume`: displacements keep it up to their squares only.
fn keep_sum(volume: &Volume, refine: usize, fine: &mut Volume) {
    let background = volume.background;
    let sum = |v: &Volume| v.values.iter().map(|&v| f64::from(v - background)).sum::<f64>();
    let (wanted, found) = (sum(volume) * refine.pow(3) as f64, sum(fine));
    // Where both signs cancel there is nothing to compare.
    let scale = wanted / found;
    if (0.8..1.25).contains(&scale) {
        fine.values.iter_mut().for_each(|v| *v = background + scale as f32 * (*v - background));
    }
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
            (low as isize - 1, cubic((x - low) as f32))
        })
        .collect()
}

/// The weights of the four cells around a place at the part `t` of the way from the second to the third.
fn cubic(t: f32) -> [f32; 4] {
    [
        0.5 * t * (-1.0 + t * (2.0 - t)),
        0.5 * (2.0 + t * t * (3.0 * t - 5.0)),
        0.5 * t * (1.0 + t * (4.0 - 3.0 * t)),
        0.5 * t * t * (t - 1.0),
    ]
}

/// The cells of a block and around it, x fastest.
fn window<const MARGIN: usize, const WINDOW: usize>(volume: &Volume, block: [i32; 3]) -> Vec<f32> {
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

/// A wide window at a place that is counted in cells from the middle of the block's first cell: as [`enlarge`], anywhere.
fn sample(window: &[f32], at: [f32; 3]) -> f32 {
    let low = at.map(f32::floor);
    let first: [usize; 3] = std::array::from_fn(|a| (low[a] as isize + WIDE_MARGIN as isize - 1) as usize);
    let w: [[f32; 4]; 3] = std::array::from_fn(|a| cubic(at[a] - low[a]));
    let mix = |w: &[f32; 4], v: [f32; 4]| {
        (w[0] * v[0] + w[1] * v[1] + w[2] * v[2] + w[3] * v[3]).max(v[1].min(v[2])).min(v[1].max(v[2]))
    };
    let mut planes = [0.0; 4];
    for (z, plane) in planes.iter_mut().enumerate() {
        let mut lines = [0.0; 4];
        for (y, line) in lines.iter_mut().enumerate() {
            let from = first[0] + WIDE * (first[1] + y + WIDE * (first[2] + z));
            let v = &window[from..from + 4];
            *line = mix(&w[0], [v[0], v[1], v[2], v[3]]);
        }
        *plane = mix(&w[1], lines);
    }
    mix(&w[2], planes)
}

/// The finer blocks that a block becomes, without those that hold nothing.
fn finer_block(
    volume: &Volume,
    block: [i32; 3],
    refine: usize,
    taps: &[(isize, [f32; 4])],
    detail: Option<(Detail<'_>, &Displacements)>,
) -> Vec<([i32; 3], Vec<f32>)> {
    let background = volume.background;
    let swirled = matches!(detail, Some((Detail::Swirled(_), _)));
    let coarse = match swirled {
        true => window::<WIDE_MARGIN, WIDE>(volume, block),
        false => window::<MARGIN, WINDOW>(volume, block),
    };
    if coarse.iter().all(|&v| v == background) {
        return Vec::new();
    }
    let n = BLOCK * refine;
    let mut values = if swirled { vec![1.0; n * n * n] } else { enlarge(&coarse, refine, taps) };
    if let Some((detail, d)) = detail {
        let weights = d.weights.map(|w| w as f32);
        // A set that counts nothing is not looked at.
        let xi = |k: usize, a: usize| match weights[k] > super::LEAST_WEIGHT {
            true => enlarge(&window::<MARGIN, WINDOW>(&d.sets[k][a], block), refine, taps),
            false => vec![0.0; n * n * n],
        };
        let xi: [[Vec<f32>; 3]; 3] = std::array::from_fn(|k| std::array::from_fn(|a| xi(k, a)));
        let h = volume.spacing / refine as f64;
        for (i, value) in values.iter_mut().enumerate().filter(|(_, value)| **value != 0.0) {
            let cell = [i % n, i / n % n, i / n / n];
            let place = std::array::from_fn(|a| ((block[a] as f64 * n as f64) + cell[a] as f64 + 0.5) * h);
            let xi = xi.each_ref().map(|set| set.each_ref().map(|xi| xi[i]));
            match detail {
                Detail::Painted(texture) => *value *= texture.factor(place, xi, weights),
                Detail::Swirled(swirls) => {
                    let by = swirls.displacement(place, xi, weights);
                    *value = sample(
                        &coarse,
                        std::array::from_fn(|a| {
                            (cell[a] as f32 + 0.5) / refine as f32 - 0.5 + by[a] / volume.spacing as f32
                        }),
                    );
                }
            }
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
        assert_eq!(refined(&coarse, 2, Some((Detail::Painted(&clouds(0.0)), &xi))), smooth);
        let rough = refined(&coarse, 2, Some((Detail::Painted(&clouds(0.7)), &xi)));
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

    /// Swirls of four cells for volumes with cells of `h` metres.
    fn swirls(h: f64) -> Swirls {
        Swirls::new([None; 3], 5.0 * h, 3, 0.7, FURTHEST as f64 * h, 5)
    }

    /// Clouds in a box of `M`^3 cells, with ever less of them the finer they are: as turbulence leaves them.
    const M: usize = 40;

    fn turbulent() -> Volume {
        let clouds = Pattern::clouds([None; 3], 16.0, 5, 0.55, 11);
        let value = |i: usize| {
            let p = [i % M, i / M % M, i / M / M].map(|c| c as f64 + 0.5);
            clouds.amount(p).max(0.0)
        };
        let values: Vec<f32> = (0..M * M * M).map(value).collect();
        Volume::from_dense([0.0; 3], 1.0, 0.0, [M; 3], &values)
    }

    fn still(volume: &Volume) -> Displacements {
        let none = || Volume { origin: volume.origin, spacing: volume.spacing, ..Volume::default() };
        Displacements { sets: std::array::from_fn(|_| std::array::from_fn(|_| none())), weights: [0.5, 0.3, 0.2] }
    }

    #[test]
    fn swirls_keep_the_mass_and_what_is_large() {
        for coarse in [ball(), turbulent()] {
            let xi = still(&coarse);
            for refine in [2, 3, 4] {
                let fine = refined(&coarse, refine, Some((Detail::Swirled(&swirls(coarse.spacing)), &xi)));
                assert!((mass(&fine) / mass(&coarse) - 1.0).abs() < 0.005, "{refine}: {}", mass(&fine) / mass(&coarse));
                let range = |v: &Volume| v.values.iter().fold([f32::MAX, f32::MIN], |r, &v| [r[0].min(v), r[1].max(v)]);
                let ([low, high], [least, most]) = (range(&fine), range(&coarse));
                assert!(low >= least.min(0.0) - 1e-6 && high <= 1.01 * most, "{low} to {high}");
                // Means over cubes three times as wide as the largest swirls: of the ball and the clouds in the middle of the box.
                let at = |v: &Volume, from: [usize; 3], n: usize| {
                    let mut sum = 0.0;
                    for i in 0..n * n * n {
                        let by = [i % n, i / n % n, i / n / n];
                        sum += f64::from(v.get(std::array::from_fn(|a| (from[a] + by[a]) as i32)));
                    }
                    sum / (n * n * n) as f64
                };
                for cube in [[8, 8, 8], [12, 8, 8], [8, 12, 8], [8, 8, 12]] {
                    let (was, is) = (at(&coarse, cube, 16), at(&fine, cube.map(|c| refine * c), 16 * refine));
                    // What swirls displace across the sides of the cube, by parts of a cell of sixteen.
                    assert!((was - is).abs() < 0.04 * was, "{cube:?}: {was} became {is}");
                }
            }
        }
    }

    /// The mean power along x of waves that fit `k` times into the box, in the middle of it.
    fn power(v: &Volume, refine: usize, k: usize) -> f64 {
        let n = M * refine;
        let mut sum = 0.0;
        for line in 0..64 {
            let (y, z) = (n / 4 + line % 8 * n / 16, n / 4 + line / 8 * n / 16);
            let (mut re, mut im) = (0.0, 0.0);
            for x in 0..n {
                // Tapered, so that the ends do not show.
                let taper = (std::f64::consts::PI * (x as f64 + 0.5) / n as f64).sin().powi(2);
                let value = taper * f64::from(v.get([x as i32, y as i32, z as i32]));
                let angle = std::f64::consts::TAU * (k * x) as f64 / n as f64;
                (re, im) = (re + value * angle.cos(), im + value * angle.sin());
            }
            sum += (re * re + im * im) / (n * n) as f64;
        }
        sum / 64.0
    }

    #[test]
    fn swirls_continue_the_spectrum_where_the_grid_ends() {
        let coarse = turbulent();
        let fine = refined(&coarse, 4, Some((Detail::Swirled(&swirls(1.0)), &still(&coarse))));
        let smooth = refined(&coarse, 4, None);
        let band = |v: &Volume, refine: usize, k: std::ops::Range<usize>| {
            let n = k.len() as f64;
            k.map(|k| power(v, refine, k).ln()).sum::<f64>() / n
        };
        // The slope of what the grid holds, from waves of 10 cells to waves of 4; and one octave beyond its finest waves, of 2 cells.
        let (large, small) = (band(&coarse, 1, 4..7), band(&coarse, 1, 9..12));
        let slope = (small - large) / (10.0f64 / 5.0).ln();
        let expected = small + slope * (28.0f64 / 10.0).ln();
        let (found, without) = (band(&fine, 4, 26..31), band(&smooth, 4, 26..31));
        println!("slope {slope}: expected {expected}, found {found}, without swirls {without}");
        // Within a factor of 8 in power where nothing but swirls puts any; interpolation alone is further below.
        assert!((found - expected).abs() < 8.0f64.ln(), "{found} instead of {expected}");
        // Interpolation alone leaves some power there as well: swirls add more than half of it (1.7 times were found).
        assert!(found > without + 1.5f64.ln(), "{found} and {without} without swirls");
    }

    #[test]
    fn swirls_go_with_the_flow_and_do_not_swim() {
        // A vortex that turns faster in the middle. Everything in it is known at all times.
        const H: f64 = 1.0;
        let middle = 0.5 * M as f64;
        let back = |p: [f64; 3], t: f64| {
            let (x, y) = (p[0] - middle, p[1] - middle);
            let angle = -t * 1.2 / (1.0 + (x * x + y * y) / 100.0);
            let (s, c) = angle.sin_cos();
            [middle + c * x - s * y, middle + s * x + c * y, p[2]]
        };
        let clouds = Pattern::clouds([None; 3], 10.0, 3, 0.6, 4);
        let dense = |f: &dyn Fn([f64; 3]) -> f64| {
            let at = |i: usize| f([i % M, i / M % M, i / M / M].map(|c| c as f64 + 0.5)) as f32;
            Volume::from_dense([0.0; 3], H, 0.0, [M; 3], &(0..M * M * M).map(at).collect::<Vec<_>>())
        };
        let (period, fps) = (2.0, 24.0);
        let detail = |t: f64| {
            let coarse = dense(&|p| f64::from(clouds.amount(back(p, t)).max(0.0)));
            // Three sets, each forgotten once in a period.
            let ages: [f64; 3] = std::array::from_fn(|k| (t / period + k as f64 / 3.0).fract());
            let weights = ages.map(|age| 2.0 / 3.0 * (std::f64::consts::PI * age).sin().powi(2));
            let sets = ages.map(|age| std::array::from_fn(|a| dense(&|p| back(p, age * period)[a] - p[a])));
            let d = Displacements { sets, weights };
            let fine = refined(&coarse, 2, Some((Detail::Swirled(&swirls(H)), &d)));
            (fine, refined(&coarse, 2, None))
        };
        let (now, next) = (detail(0.9), detail(0.9 + 1.0 / fps));
        let n = 2 * M as i32;
        let mut sums = [0.0f64; 3];
        for i in 0..n * n * 8 {
            let cell = [i % n, i / n % n, n / 2 - 4 + i / n / n];
            let p = cell.map(|c| (f64::from(c) + 0.5) * 0.5);
            let r = ((p[0] - middle).powi(2) + (p[1] - middle).powi(2)).sqrt();
            if r > 0.4 * M as f64 {
                continue;
            }
            // What is here in the next frame was there in this one.
            let from = back(p, 1.0 / fps).map(|v| 2.0 * v - 0.5);
            let look = |v: &Volume| {
                let low = from.map(|v| v.floor() as i32);
                let mut sum = 0.0;
                for corner in 0..8 {
                    let up = [corner & 1, corner >> 1 & 1, corner >> 2];
                    let weight: f64 = (0..3)
                        .map(|a| {
                            let t = from[a] - f64::from(low[a]);
                            if up[a] == 1 { t } else { 1.0 - t }
                        })
                        .product();
                    sum += weight * f64::from(v.get(std::array::from_fn(|a| low[a] + up[a])));
                }
                sum
            };
            let before = look(&now.0) - look(&now.1);
            let after = f64::from(next.0.get(cell) - next.1.get(cell));
            sums[0] += before * after;
            sums[1] += before * before;
            sums[2] += after * after;
        }
        let correlation = sums[0] / (sums[1] * sums[2]).sqrt();
        println!("correlation from frame to frame: {correlation}");
        assert!(correlation > 0.9, "{correlation}");
    }
}

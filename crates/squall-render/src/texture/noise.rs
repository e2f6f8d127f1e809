//! Smooth noise on a lattice, and sums of it that look like clouds.

/// Bits that look random, from a place on the lattice.
#[inline(always)]
fn hash<const D: usize>(cell: [i32; D], seed: u32) -> u32 {
    let mut h = seed ^ 0x9e37_79b9;
    for c in cell {
        h = (h ^ c as u32).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    }
    h ^ (h >> 16)
}

/// From 0 to 1, the same for the same place and number.
pub(super) fn random<const D: usize>(cell: [i32; D], seed: u32) -> f32 {
    (hash(cell, seed) >> 8) as f32 / 16_777_216.0
}

/// Gradient noise at a point given in cells of the lattice, which repeats after `period` cells along each axis (0: never).
/// Smooth up to the second derivative (Perlin 2002); about -1 to 1 with mean 0.
#[inline]
pub(super) fn gradient_noise<const D: usize>(p: [f64; D], period: [i32; D], seed: u32) -> f32 {
    let low: [f64; D] = p.map(f64::floor);
    let t: [f32; D] = std::array::from_fn(|a| (p[a] - low[a]) as f32);
    let ease = t.map(|t| t * t * t * (t * (6.0 * t - 15.0) + 10.0));
    let wrap = |i: i32, a: usize| if period[a] > 0 { i.rem_euclid(period[a]) } else { i };
    let ends: [[i32; 2]; D] =
        std::array::from_fn(|a| [wrap(low[a] as i32, a), wrap((low[a] as i32).wrapping_add(1), a)]);
    let mut sum = 0.0;
    for corner in 0..1usize << D {
        let bits = hash(std::array::from_fn::<_, D, _>(|a| ends[a][corner >> a & 1]), seed);
        let (mut weight, mut slope) = (1.0, 0.0);
        for a in 0..D {
            let up = corner >> a & 1;
            weight *= if up == 1 { ease[a] } else { 1.0 - ease[a] };
            let component = (bits >> (10 * a) & 1023) as f32 / 511.5 - 1.0;
            slope += component * (t[a] - up as f32);
        }
        sum += weight * slope;
    }
    1.6 * sum
}

/// Noise of several sizes on top of each other: each octave half as large as the one before, and `gain` times as strong.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fractal<const D: usize> {
    /// Cells of the coarsest lattice per metre.
    pub frequency: [f64; D],
    /// After how many of them it repeats; 0: never.
    pub period: [i32; D],
    pub octaves: u32,
    pub gain: f32,
    pub seed: u32,
}

impl<const D: usize> Fractal<D> {
    /// Features of `scale` metres. Along axes with a length the noise repeats after that length: there the lattice is stretched
    /// so that it fits.
    pub fn new(repeat: [Option<f64>; D], scale: f64, octaves: u32, gain: f32, seed: u32) -> Self {
        let cells = repeat.map(|length| length.map(|l| (l / scale).round().max(1.0)));
        Fractal {
            frequency: std::array::from_fn(|a| match (repeat[a], cells[a]) {
                (Some(length), Some(cells)) => cells / length,
                _ => 1.0 / scale,
            }),
            period: cells.map(|n| n.map_or(0, |n| n as i32)),
            octaves,
            gain,
            seed,
        }
    }

    /// The sum at a point in metres, as strong as if it were one octave.
    #[inline]
    pub fn at(&self, x: [f64; D]) -> f32 {
        let mut p: [f64; D] = std::array::from_fn(|a| x[a] * self.frequency[a]);
        let mut period = self.period;
        let (mut sum, mut strength, mut squares) = (0.0, 1.0f32, 0.0);
        for octave in 0..self.octaves {
            sum += strength * gradient_noise(p, period, self.seed.wrapping_add(octave.wrapping_mul(0x51ed_270b)));
            squares += strength * strength;
            strength *= self.gain;
            p = p.map(|v| 2.0 * v);
            period = period.map(|n| 2 * n);
        }
        sum / squares.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_smooth_and_repeats_exactly_after_its_period() {
        let noise = Fractal::<2>::new([Some(1.5), Some(1.0)], 0.21, 4, 0.5, 7);
        assert_eq!(noise.period, [7, 5]);
        for i in 0..200 {
            let p = [0.0137 * i as f64, 0.0071 * (i * i % 97) as f64];
            let here = noise.at(p);
            // Places are doubles, so whole periods away the lattice is met to 1e-15 of a cell.
            assert!((noise.at([p[0] + 1.5, p[1] - 1.0]) - here).abs() < 1e-4, "{p:?}");
            let near = noise.at([p[0] + 1e-5, p[1]]);
            // The finest octave has slopes of up to 10 per cell of 0.027.
            assert!((near - here).abs() < 1e-5 * 10.0 / 0.026 + 1e-5);
        }
    }

    #[test]
    fn noise_has_mean_zero_and_different_seeds_are_different_noises() {
        for seed in [1, 2, 3] {
            let noise = Fractal::<3>::new([None; 3], 1.0, 3, 0.5, seed);
            let at =
                |i: usize| noise.at([0.37 * i as f64, 0.11 * (i * 7 % 1009) as f64, 0.053 * (i * 31 % 997) as f64]);
            let n = 20_000;
            let mean = (0..n).map(|i| f64::from(at(i))).sum::<f64>() / n as f64;
            let square = (0..n).map(|i| f64::from(at(i)).powi(2)).sum::<f64>() / n as f64;
            // Some thousand independent spots: about 1.5 % of the standard deviation, 0.35.
            assert!(mean.abs() < 0.03 && (0.05..0.4).contains(&square), "{mean} {square}");
        }
    }
}

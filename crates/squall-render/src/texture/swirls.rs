//! Detail that a grid is too coarse for: values are looked up at places that curl noise displaces.
//!
//! ```text
//! fine(x) = coarse(x + d(x)),    d(x) = sum over sets k of  w_k / |w|  D(x + xi_k(x)),    D = curl of noise
//! ```
//!
//! where `xi_k` are the coordinates that the flow carries, so that the detail moves with the flow. `D` is a sum of octaves, each half as
//! large as the one before and displacing by half as much: eddies of all sizes turn over alike. As `D` has no
//! divergence, what is displaced keeps its amount, up to the square of the displacement.

use super::noise::random;
use super::{LEAST_WEIGHT, Repeat, Texture, mixed};

/// Places along each axis of the table that holds one octave, which repeats.
const TABLE: usize = 32;
/// How many of them a feature is wide.
const FEATURE: usize = 4;

/// Displacements that swirl.
#[derive(Clone, Debug)]
pub struct Swirls {
    /// Vectors of mean square 1.
    table: Vec<[f32; 3]>,
    /// Places of the table per metre, for the largest features.
    frequency: [f64; 3],
    octaves: u32,
    /// How far the largest swirls displace, in metres (root mean square of each component).
    reach: f32,
    /// No further than this, in metres.
    most: f32,
    offsets: [[f64; 3]; 3],
}

impl Swirls {
    /// Swirls of `scale` metres and, in each further octave, half of that. They displace by `strength` times a tenth of their size,
    /// altogether by `most` metres at most. Where the box repeats, so do they.
    pub fn new(repeat: Repeat<3>, scale: f64, octaves: u32, strength: f64, most: f64, seed: u64) -> Self {
        let period = scale * (TABLE / FEATURE) as f64;
        let frequency = repeat.map(|length| {
            // Whole tables where they have to repeat.
            let tables = length.map_or(1.0 / period, |l| (l / period).round().max(1.0) / l);
            tables * TABLE as f64
        });
        let reach = (0.1 * strength * scale) as f32;
        Self { table: table(mixed(seed)), frequency, octaves, reach, most: most as f32, offsets: Texture::apart(scale) }
    }

    /// By how much the place `x` is displaced, in metres, where the displacements of the three sets are `xi`.
    #[inline]
    pub fn displacement(&self, x: [f64; 3], xi: [[f32; 3]; 3], weights: [f32; 3]) -> [f32; 3] {
        let mut sum = [0.0f32; 3];
        let mut squares = 0.0;
        for k in (0..3).filter(|&k| weights[k] > LEAST_WEIGHT) {
            squares += weights[k] * weights[k];
            let mut p: [f64; 3] =
                std::array::from_fn(|a| (x[a] + f64::from(xi[k][a]) + self.offsets[k][a]) * self.frequency[a]);
            let mut strength = weights[k] * self.reach;
            for _ in 0..self.octaves {
                let d = self.look(p);
                (0..3).for_each(|a| sum[a] += strength * d[a]);
                strength *= 0.5;
                p = p.map(|p| 2.0 * p + 7.3);
            }
        }
        // The three are independent of each other: so is the length of their sum what each would have by itself.
        let scale = 1.0 / squares.sqrt().max(1e-6);
        sum.map(|v| (v * scale).clamp(-self.most, self.most))
    }

    /// The table between its places.
    #[inline(always)]
    fn look(&self, p: [f64; 3]) -> [f32; 3] {
        let low = p.map(f64::floor);
        let t: [f32; 3] = std::array::from_fn(|a| (p[a] - low[a]) as f32);
        let low = low.map(|v| v as i64 as usize);
        let mut sum = [0.0; 3];
        for corner in 0..8 {
            let up = [corner & 1, corner >> 1 & 1, corner >> 2];
            let at: [usize; 3] = std::array::from_fn(|a| low[a].wrapping_add(up[a]) % TABLE);
            let weight: f32 = (0..3).map(|a| if up[a] == 1 { t[a] } else { 1.0 - t[a] }).product();
            let v = self.table[at[0] + TABLE * (at[1] + TABLE * at[2])];
            (0..3).for_each(|a| sum[a] += weight * v[a]);
        }
        sum
    }
}

/// The curl of smooth noise that repeats, with components of mean square 1.
fn table(seed: u32) -> Vec<[f32; 3]> {
    let potential: [Vec<f32>; 3] = std::array::from_fn(|a| smooth_noise(seed.wrapping_add(a as u32)));
    let at = |i: [usize; 3]| i[0] % TABLE + TABLE * (i[1] % TABLE + TABLE * (i[2] % TABLE));
    let slope = |values: &[f32], i: [usize; 3], a: usize| {
        let (mut up, mut down) = (i, i);
        up[a] += 1;
        down[a] += TABLE - 1;
        values[at(up)] - values[at(down)]
    };
    let mut curl: Vec<[f32; 3]> = (0..TABLE.pow(3))
        .map(|n| {
            let i = [n % TABLE, n / TABLE % TABLE, n / TABLE / TABLE];
            std::array::from_fn(|a| {
                let (b, c) = ((a + 1) % 3, (a + 2) % 3);
                slope(&potential[c], i, b) - slope(&potential[b], i, c)
            })
        })
        .collect();
    let square = curl.iter().flatten().map(|v| f64::from(v * v)).sum::<f64>() / (3 * curl.len()) as f64;
    let scale = 1.0 / square.sqrt() as f32;
    curl.iter_mut().flatten().for_each(|v| *v *= scale);
    curl
}

/// Random numbers at every `FEATURE`th place and a quadratic spline between them, which has continuous slopes.
fn smooth_noise(seed: u32) -> Vec<f32> {
    let spots = TABLE / FEATURE;
    let spot = |i: [usize; 3]| random(i.map(|i| (i % spots) as i32), seed) - 0.5;
    let weights = |n: usize| {
        let t = (n as f32 + 0.5) / FEATURE as f32;
        [0.5 * (1.0 - t) * (1.0 - t), 0.5 + t * (1.0 - t), 0.5 * t * t]
    };
    (0..TABLE.pow(3))
        .map(|n| {
            let i = [n % TABLE, n / TABLE % TABLE, n / TABLE / TABLE];
            let w = i.map(|i| weights(i % FEATURE));
            let mut sum = 0.0;
            for near in 0..27 {
                let by = [near % 3, near / 3 % 3, near / 9];
                let weight: f32 = (0..3).map(|a| w[a][by[a]]).product();
                sum += weight * spot(std::array::from_fn(|a| i[a] / FEATURE + by[a] + spots - 1));
            }
            sum
        })
        .collect()
}

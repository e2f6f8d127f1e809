//! What is painted on a fluid: patterns that are looked up through coordinates which the flow carries
//! ([`squall_core::texture`]).
//!
//! | module | what it holds |
//! |---|---|
//! | `noise`, `bitmap`, `photo` | clouds, pictures that repeat, patterns drawn by code |
//! | [`flat`] | patterns on a 2D fluid, pixel by pixel |
//! | `swirls` | displacements by curl noise: detail that a grid is too coarse for |
//! | [`fine`] | patterns and swirls in a volume, at several times the resolution of the simulation |
//!
//! Places are in metres from the lower corner of the box.

mod bitmap;
pub mod fine;
pub mod flat;
mod noise;
mod photo;
mod swirls;

pub use bitmap::Bitmap;
pub use photo::Photo;
pub use swirls::Swirls;

use crate::color::Rgb;
use noise::Fractal;

/// The period along each axis after which a pattern has to repeat; `None` where it need not.
pub type Repeat<const D: usize> = [Option<f64>; D];

/// Something painted on a fluid of `D` dimensions.
#[derive(Clone, Debug)]
pub struct Pattern<const D: usize> {
    kind: Kind<D>,
    /// Subtracted from raw amounts, and then what they are multiplied by.
    offset: f32,
    scale: f32,
}

#[derive(Clone, Debug)]
enum Kind<const D: usize> {
    Clouds(Fractal<D>),
    Lines { waves: [f64; D], warp: f32, bend: Fractal<D> },
    Picture { bitmap: Bitmap, size: [f64; 2] },
}

/// How much clouds vary: the standard deviation of an amount whose mean is 1.
const CLOUD_DEVIATION: f32 = 0.6;

/// Places at which a pattern is looked at to find its mean.
const PROBES: usize = 4096;

impl<const D: usize> Pattern<D> {
    /// Clouds with features of `scale` metres and, in each further octave, of half that size and `gain` times the strength.
    pub fn clouds(repeat: Repeat<D>, scale: f64, octaves: u32, gain: f64, seed: u64) -> Self {
        let clouds = Fractal::new(repeat, scale, octaves, gain as f32, mixed(seed));
        Self::normalised(Kind::Clouds(clouds), repeat, scale)
    }

    /// Lines `spacing` metres apart, one after the other along `direction`, bent by `warp` times their spacing so that they look
    /// like wisps.
    pub fn lines(repeat: Repeat<D>, spacing: f64, direction: [f64; D], warp: f64, seed: u64) -> Self {
        let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
        let waves = std::array::from_fn(|a| {
            let waves = direction[a] / length / spacing;
            // Whole waves where they have to repeat.
            repeat[a].map_or(waves, |l| (waves * l).round() / l)
        });
        let bend = Fractal::new(repeat, 2.5 * spacing, 2, 0.5, mixed(seed));
        Self::normalised(Kind::Lines { waves, warp: warp as f32, bend }, repeat, spacing)
    }

    /// A picture that repeats after `size` metres along x and y. Its amount is its brightness.
    pub fn picture(bitmap: Bitmap, size: [f64; 2]) -> Self {
        let mean = brightness(bitmap.mean());
        Pattern { kind: Kind::Picture { bitmap, size }, offset: 0.0, scale: 1.0 / mean.max(1e-3) }
    }

    /// Amounts get mean 1; those of clouds their deviation, too.
    fn normalised(kind: Kind<D>, repeat: Repeat<D>, scale: f64) -> Self {
        let raw = Pattern { kind, offset: 0.0, scale: 1.0 };
        // Spread evenly over what repeats, or over many features (Roberts' sequence).
        let size = repeat.map(|length| length.unwrap_or(64.0 * scale));
        let shift = if D == 3 { [0.819_172_5, 0.671_043_6, 0.549_700_5] } else { [0.754_877_7, 0.569_840_3, 0.0] };
        let probe = |n: usize| std::array::from_fn(|a| size[a] * (n as f64 * shift[a]).fract());
        let values: Vec<f64> = (0..PROBES).map(|n| f64::from(raw.raw(probe(n)))).collect();
        let mean = values.iter().sum::<f64>() / PROBES as f64;
        let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / PROBES as f64;
        match raw.kind {
            Kind::Clouds(_) => {
                let scale = CLOUD_DEVIATION / square.sqrt().max(1e-6) as f32;
                Pattern { offset: mean as f32 - 1.0 / scale, scale, ..raw }
            }
            _ => Pattern { scale: 1.0 / mean.max(1e-3) as f32, ..raw },
        }
    }

    fn raw(&self, x: [f64; D]) -> f32 {
        match &self.kind {
            Kind::Clouds(clouds) => clouds.at(x),
            Kind::Lines { waves, warp, bend } => {
                let phase: f64 = (0..D).map(|a| waves[a] * x[a]).sum();
                let turns = phase.fract() as f32 + warp * bend.at(x);
                // Thin bright lines with soft sides.
                let wave = 0.5 + 0.5 * (std::f32::consts::TAU * turns).cos();
                wave * wave
            }
            Kind::Picture { bitmap, size } => brightness(bitmap.at([x[0] / size[0], x[1] / size[1]], 1.0)),
        }
    }

    /// How much there is at a place; 1 on average. (That of clouds may be a little below zero in places.)
    #[inline]
    pub fn amount(&self, x: [f64; D]) -> f32 {
        (self.raw(x) - self.offset) * self.scale
    }

    /// Whether it has colours of its own.
    pub fn is_colored(&self) -> bool {
        matches!(self.kind, Kind::Picture { .. })
    }

    /// Its colour at a place, averaged over about `footprint` metres; grey if it has none.
    fn color(&self, x: [f64; D], footprint: f64) -> Rgb {
        match &self.kind {
            Kind::Picture { bitmap, size } => {
                let pixels = footprint * bitmap.size()[0] as f64 / size[0];
                bitmap.at([x[0] / size[0], x[1] / size[1]], pixels as f32)
            }
            _ => [self.amount(x); 3],
        }
    }

    /// The mean of all places.
    fn mean_color(&self) -> Rgb {
        match &self.kind {
            Kind::Picture { bitmap, .. } => bitmap.mean(),
            _ => [1.0; 3],
        }
    }
}

/// A pattern, and how it is seen through the three sets of coordinates.
#[derive(Clone, Debug)]
pub struct Texture<const D: usize> {
    /// What is painted.
    pub pattern: Pattern<D>,
    /// How much of it is seen in the density of a substance: 0 nothing, 1 all of it.
    pub strength: f32,
    /// Whether the blend of the three is given back the contrast that blending takes: for patterns of which the three show
    /// different parts.
    pub restore_contrast: bool,
    /// Where in the pattern each set begins, in metres.
    pub offsets: [[f64; D]; 3],
}

/// Sets that count less than this are not looked at: they could not be seen.
const LEAST_WEIGHT: f32 = 1e-3;

impl<const D: usize> Texture<D> {
    /// Offsets that make the three sets show different parts of a pattern with features of this size.
    pub fn apart(scale: f64) -> [[f64; D]; 3] {
        let far = [[0.0, 0.0, 0.0], [13.37, 7.91, 5.23], [-6.43, 11.29, 17.61]];
        far.map(|p| std::array::from_fn(|a| scale * p[a]))
    }

    /// The blended amount at `x`, where the displacements of the three sets are `xi`; 1 on average, and never negative.
    #[inline]
    pub fn amount(&self, x: [f64; D], xi: [[f32; D]; 3], weights: [f32; 3]) -> f32 {
        let mut sum = 0.0;
        for k in (0..3).filter(|&k| weights[k] > LEAST_WEIGHT) {
            let there = std::array::from_fn(|a| x[a] + f64::from(xi[k][a]) + self.offsets[k][a]);
            sum += weights[k] * self.pattern.amount(there);
        }
        if self.restore_contrast { (1.0 + std::f32::consts::SQRT_2 * (sum - 1.0)).max(0.0) } else { sum.max(0.0) }
    }

    /// What a density is multiplied by.
    #[inline]
    pub fn factor(&self, x: [f64; D], xi: [[f32; D]; 3], weights: [f32; 3]) -> f32 {
        1.0 + self.strength * (self.amount(x, xi, weights) - 1.0)
    }

    /// The blended colour.
    fn color(&self, x: [f64; D], xi: [[f32; D]; 3], weights: [f32; 3], footprint: f64) -> Rgb {
        let mut sum = [0.0; 3];
        for k in (0..3).filter(|&k| weights[k] > LEAST_WEIGHT) {
            let there = std::array::from_fn(|a| x[a] + f64::from(xi[k][a]) + self.offsets[k][a]);
            let color = self.pattern.color(there, footprint);
            (0..3).for_each(|c| sum[c] += weights[k] * color[c]);
        }
        if self.restore_contrast {
            let mean = self.pattern.mean_color();
            sum = std::array::from_fn(|c| (mean[c] + std::f32::consts::SQRT_2 * (sum[c] - mean[c])).max(0.0));
        }
        sum
    }
}

/// 32 of the bits of a seed.
fn mixed(seed: u64) -> u32 {
    (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// How bright linear light is.
fn brightness([r, g, b]: Rgb) -> f32 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts<const D: usize>(pattern: &Pattern<D>) -> Vec<f32> {
        (0..20_000)
            .map(|i| pattern.amount(std::array::from_fn(|a| ([0.618, 0.414, 0.732][a] * i as f64 * 1.3).fract())))
            .collect()
    }

    fn check_mean<const D: usize>(pattern: &Pattern<D>, what: &str) {
        let values = amounts(pattern);
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        // Normalised by 4096 looks at some hundred features.
        assert!((mean - 1.0).abs() < 0.03, "{what}: {mean}");
        let square = values.iter().map(|v| (v - 1.0).powi(2)).sum::<f32>() / values.len() as f32;
        assert!((0.1..2.0).contains(&square), "{what}: something is to be seen: {square}");
    }

    #[test]
    fn patterns_have_mean_one_and_contrast() {
        let box_2d = [Some(1.0); 2];
        check_mean(&Pattern::clouds(box_2d, 0.08, 4, 0.5, 1), "clouds");
        check_mean(&Pattern::clouds([Some(1.0); 3], 0.12, 4, 0.5, 2), "clouds 3D");
        check_mean(&Pattern::lines(box_2d, 0.05, [1.0, 0.4], 0.3, 3), "lines");
    }

    #[test]
    fn patterns_repeat_where_the_box_does() {
        let repeat = [Some(1.0), Some(0.75)];
        let patterns = [
            Pattern::clouds(repeat, 0.083, 4, 0.5, 1),
            Pattern::lines(repeat, 0.047, [1.0, 0.4], 0.3, 3),
            Pattern::picture(Photo::Pebbles.draw(64), [0.5, 0.25]),
        ];
        for pattern in patterns {
            for i in 0..100 {
                let x = [0.0371 * i as f64, 0.0113 * i as f64];
                let (a, b) = (pattern.amount(x), pattern.amount([x[0] - 2.0, x[1] + 0.75]));
                // Phases of some tens of turns in single precision.
                assert!((a - b).abs() < 2e-3 * a.abs().max(1.0), "{a} {b}");
            }
        }
    }

    #[test]
    fn a_fluid_at_rest_shows_the_picture_itself() {
        let pattern = Pattern::<2>::picture(Photo::Mosaic.draw(64), [1.0; 2]);
        let texture = Texture { pattern, strength: 1.0, restore_contrast: false, offsets: [[0.0; 2]; 3] };
        let weights = [0.2, 0.5, 0.3];
        for i in 0..50 {
            let x = [0.0191 * i as f64, 0.0137 * i as f64];
            let (seen, there) = (texture.color(x, [[0.0; 2]; 3], weights, 0.0), texture.pattern.color(x, 0.0));
            assert!((0..3).all(|c| (seen[c] - there[c]).abs() < 1e-6));
        }
    }
}

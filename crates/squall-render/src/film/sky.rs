//! Skies by direction: a clear sky for any height of the sun, and pictures of all around.

use super::vector::{Vec3, dot, unit};
use crate::color::Rgb;
use crate::plane::RenderError;
use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::sync::Arc;

/// What is seen all around, by direction.
#[derive(Clone, Debug, PartialEq)]
pub enum Dome {
    /// A clear sky.
    Clear(ClearSky),
    /// A picture.
    Picture(Panorama),
}

/// A clear sky (after Preetham, Shirley and Smits 1999, "A Practical Analytic Model for Daylight"), scaled so that a white matt surface that faces
/// it, without the sun, has the value `strength`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClearSky {
    sun: Vec3,
    /// Perez' five numbers for luminance and the chromaticity x, and the value at the zenith over the function there.
    perez: [[f64; 5]; 2],
    zenith: [f64; 2],
    scale: f64,
}

/// Below this height of the sun, in radians, the model has no data: the sky is that of the lowest sun.
const LOWEST_SUN: f64 = 0.035;

fn perez([a, b, c, d, e]: [f64; 5], cos: f64, gamma: f64) -> f64 {
    (1.0 + a * (b / cos).exp()) * (1.0 + c * (d * gamma).exp() + e * gamma.cos().powi(2))
}

impl ClearSky {
    /// `towards` points to the sun. `turbidity` is 2 for very clear air, 3 on a clear day, 6 in haze.
    pub fn new(towards: [f64; 3], turbidity: f64, strength: f64) -> Self {
        let t = turbidity.clamp(1.7, 10.0);
        let sun = unit(towards).unwrap_or([0.0, 1.0, 0.0]);
        let theta = FRAC_PI_2 - sun[1].clamp(-1.0, 1.0).asin().max(LOWEST_SUN);
        let linear = |rows: [[f64; 2]; 5]| rows.map(|[slope, at_zero]| slope * t + at_zero);
        let coefficients = [
            linear([[0.1787, -1.4630], [-0.3554, 0.4275], [-0.0227, 5.3251], [0.1206, -2.5771], [-0.0670, 0.3703]]),
            linear([[-0.0193, -0.2592], [-0.0665, 0.0008], [-0.0004, 0.2125], [-0.0641, -0.8989], [-0.0033, 0.0452]]),
        ];
        let chi = (4.0 / 9.0 - t / 120.0) * (PI - 2.0 * theta);
        let luminance = (4.0453 * t - 4.9710) * chi.tan() - 0.2155 * t + 2.4192;
        let chromaticity = |m: [[f64; 4]; 3]| {
            let of = |row: [f64; 4]| row[0] * theta.powi(3) + row[1] * theta.powi(2) + row[2] * theta + row[3];
            t * t * of(m[0]) + t * of(m[1]) + of(m[2])
        };
        let x = chromaticity([
            [0.00166, -0.00375, 0.00209, 0.0],
            [-0.02903, 0.06377, -0.03202, 0.00394],
            [0.11693, -0.21196, 0.06052, 0.25886],
        ]);
        let at_zenith = |k: usize| perez(coefficients[k], 1.0, theta);
        let zenith = [luminance.max(0.1) / at_zenith(0), x / at_zenith(1)];
        let mut sky = Self { sun, perez: coefficients, zenith, scale: 1.0 };
        let whole = facing_up(|direction| sky.at(direction));
        let luminance = 0.2126 * whole[0] + 0.7152 * whole[1] + 0.0722 * whole[2];
        sky.scale = strength / f64::from(luminance).max(1e-9);
        sky
    }

    /// Below the horizon it is as it is just above.
    fn at(&self, direction: Vec3) -> Rgb {
        let cos = direction[1].max(0.015);
        let flat = direction[0].hypot(direction[2]).max(1e-9);
        let across = (1.0 - cos * cos).sqrt() / flat;
        let seen = [direction[0] * across, cos, direction[2] * across];
        // Not into the sun itself: the model rises without limit there in haze.
        let gamma = dot(seen, self.sun).clamp(-1.0, 1.0).acos();
        let of = |k: usize| self.zenith[k] * perez(self.perez[k], cos, gamma);
        let (luminance, x) = (self.scale * of(0), of(1).clamp(0.24, 0.5));
        // On the line of daylight (CIE 15): the chromaticity y of the model's own fit is below it near the horizon, which is pink then.
        let y = -3.0 * x * x + 2.87 * x - 0.275;
        from_xyz([x / y * luminance, luminance, (1.0 - x - y) / y * luminance])
    }
}

/// CIE XYZ to linear sRGB; what lies outside of it is cut off.
fn from_xyz([x, y, z]: [f64; 3]) -> Rgb {
    [3.2406 * x - 1.5372 * y - 0.4986 * z, -0.9689 * x + 1.8758 * y + 0.0415 * z, 0.0557 * x - 0.2040 * y + 1.0570 * z]
        .map(|v| v.max(0.0) as f32)
}

/// A picture of all around: its left and right edges meet behind, at -z, its middle is ahead, at +z turned by `yaw`; the top row is straight above.
#[derive(Clone, Debug, PartialEq)]
pub struct Panorama {
    /// From the whole picture on, each half as wide as the one before.
    levels: Arc<Vec<Level>>,
    yaw: f64,
    strength: f32,
}

#[derive(Debug, PartialEq)]
struct Level {
    width: usize,
    height: usize,
    pixels: Vec<Rgb>,
}

impl Panorama {
    /// Of linear light, the top row first, twice as wide as high. `yaw` turns it about the vertical, in degrees; all light is multiplied by `strength`.
    pub fn new(width: usize, height: usize, pixels: Vec<Rgb>, yaw: f64, strength: f32) -> Result<Self, RenderError> {
        if width == 0 || height == 0 || pixels.len() != width * height {
            return Err(RenderError::Size { width, height });
        }
        // What is not finite, or below nothing, gives no light.
        let clean = |v: f32| if v.is_finite() { v.max(0.0) } else { 0.0 };
        let mut levels = vec![Level { width, height, pixels: pixels.iter().map(|p| p.map(clean)).collect() }];
        while let Some(level) = levels.last().and_then(Level::half) {
            levels.push(level);
        }
        Ok(Self { levels: Arc::new(levels), yaw, strength })
    }

    /// The same picture, turned and scaled otherwise.
    pub fn turned(&self, yaw: f64, strength: f32) -> Self {
        Self { levels: self.levels.clone(), yaw, strength }
    }

    fn at(&self, direction: Vec3, blur: f64) -> Rgb {
        let across = direction[0].atan2(direction[2]) / TAU - self.yaw / 360.0 + 0.5;
        let down = 0.5 - direction[1].clamp(-1.0, 1.0).asin() / PI;
        // The level whose pixels are as wide as the blur.
        let level = (blur * self.levels[0].width as f64 / TAU).max(1.0).log2().min((self.levels.len() - 1) as f64);
        let (low, part) = (level.floor(), level.fract() as f32);
        let [a, b] = [low, low + 1.0].map(|l| self.levels[(l as usize).min(self.levels.len() - 1)].at(across, down));
        std::array::from_fn(|c| self.strength * (a[c] + part * (b[c] - a[c])))
    }
}

impl Level {
    fn at(&self, across: f64, down: f64) -> Rgb {
        let x = across.rem_euclid(1.0) * self.width as f64 - 0.5;
        let y = (down * self.height as f64 - 0.5).clamp(0.0, (self.height - 1) as f64);
        let column = |i: f64| (i as i64).rem_euclid(self.width as i64) as usize;
        let (x0, x1) = (column(x.floor()), column(x.floor() + 1.0));
        let (y0, y1) = (y as usize, (y as usize + 1).min(self.height - 1));
        let (u, v) = ((x - x.floor()) as f32, y.fract() as f32);
        let pixel = |x: usize, y: usize| self.pixels[y * self.width + x];
        let mix = |a: Rgb, b: Rgb, t: f32| -> Rgb { std::array::from_fn(|c| a[c] + t * (b[c] - a[c])) };
        mix(mix(pixel(x0, y0), pixel(x1, y0), u), mix(pixel(x0, y1), pixel(x1, y1), u), v)
    }

    fn half(&self) -> Option<Self> {
        if self.width < 4 || self.height < 2 {
            return None;
        }
        let (width, height) = (self.width / 2, self.height / 2);
        let mean = |i: usize| {
            let (x, y) = (2 * (i % width), 2 * (i / width));
            let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(u, v)| self.pixels[(y + v) * self.width + x + u]);
            std::array::from_fn(|c| 0.25 * four.iter().map(|p| p[c]).sum::<f32>())
        };
        Some(Self { width, height, pixels: (0..width * height).map(mean).collect() })
    }
}

impl Dome {
    /// What is seen in a direction; `blur` is the tangent of the angle over which details are lost.
    pub(super) fn at(&self, direction: Vec3, blur: f64) -> Rgb {
        match self {
            Self::Clear(sky) => sky.at(direction),
            Self::Picture(picture) => picture.at(direction, blur),
        }
    }

    /// What a white matt surface that faces straight up sends back of its light.
    pub fn light_above(&self) -> Rgb {
        facing_up(|direction| self.at(direction, 0.1))
    }

    /// The same of one that faces straight down, where there is no ground.
    pub fn light_below(&self) -> Rgb {
        facing_up(|[x, y, z]| self.at([x, -y, z], 0.1))
    }
}

/// The mean of what is seen above, weighted by the cosine.
fn facing_up(seen: impl Fn(Vec3) -> Rgb) -> Rgb {
    // Evenly spread over the cosine's square: each direction counts the same.
    const RINGS: usize = 24;
    const AROUND: usize = 48;
    let mut sum = [0.0f64; 3];
    for ring in 0..RINGS {
        let sin = ((ring as f64 + 0.5) / RINGS as f64).sqrt();
        for k in 0..AROUND {
            let (s, c) = (TAU * (k as f64 + 0.5) / AROUND as f64).sin_cos();
            let light = seen([sin * s, (1.0 - sin * sin).sqrt(), sin * c]);
            (0..3).for_each(|c| sum[c] += f64::from(light[c]));
        }
    }
    sum.map(|v| (v / (RINGS * AROUND) as f64) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(c: Rgb) -> f32 {
        0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]
    }

    #[test]
    fn a_clear_sky_gives_a_white_surface_what_it_says_and_is_brightest_around_the_sun() {
        for height in [0.05, 0.5, 1.4f64] {
            let towards = [height.cos(), height.sin(), 0.0];
            let dome = Dome::Clear(ClearSky::new(towards, 3.0, 0.3));
            // The scale was found by the same sum.
            assert!((luminance(dome.light_above()) - 0.3).abs() < 1e-3, "{height}");
            let up = |angle: f64| luminance(dome.at([angle.cos(), angle.sin(), 0.0], 0.0));
            assert!(up(height) > 1.5 * up(height + FRAC_PI_2), "{height}");
        }
    }

    #[test]
    fn the_zenith_of_a_high_sun_is_blue_and_a_low_sun_is_in_a_warm_sky() {
        let [r, _, b] = Dome::Clear(ClearSky::new([0.3, 1.0, 0.0], 2.5, 1.0)).at([0.0, 1.0, 0.0], 0.0);
        assert!(b > 1.8 * r, "{r} {b}");
        let [r, _, b] = Dome::Clear(ClearSky::new([1.0, 0.05, 0.0], 4.0, 1.0)).at([1.0, 0.05, 0.0], 0.0);
        assert!(r > 1.5 * b, "{r} {b}");
    }

    #[test]
    fn a_picture_is_seen_where_it_should_be_and_meets_itself_behind() {
        // Red ahead (+z), green to the right of it (+x), blue above.
        let (width, height) = (64, 32);
        let color = |i: usize| match (i % width, i / width) {
            (_, y) if y < 4 => [0.0, 0.0, 1.0],
            (x, _) if (28..36).contains(&x) => [1.0, 0.0, 0.0],
            (x, _) if (44..52).contains(&x) => [0.0, 1.0, 0.0],
            _ => [0.5; 3],
        };
        let picture = Panorama::new(width, height, (0..width * height).map(color).collect(), 0.0, 2.0).unwrap();
        let dome = Dome::Picture(picture.clone());
        assert_eq!(dome.at([0.0, 0.0, 1.0], 0.0), [2.0, 0.0, 0.0]);
        assert_eq!(dome.at([1.0, 0.0, 0.0], 0.0), [0.0, 2.0, 0.0]);
        assert_eq!(dome.at([0.0, 1.0, 0.0], 0.0), [0.0, 0.0, 2.0]);
        assert_eq!(dome.at([1e-9, 0.0, -1.0], 0.0), dome.at([-1e-9, 0.0, -1.0], 0.0));
        assert_eq!(Dome::Picture(picture.turned(90.0, 1.0)).at([1.0, 0.0, 0.0], 0.0), [1.0, 0.0, 0.0]);
        let even = Panorama::new(8, 4, vec![[0.25, 0.5, 1.0]; 32], 0.0, 1.0).unwrap();
        let light = Dome::Picture(even).light_above();
        assert!(light.iter().zip([0.25, 0.5, 1.0]).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn blurred_a_picture_is_its_mean() {
        let color = |i: usize| [((i / 2) % 2) as f32; 3];
        let picture = Panorama::new(128, 64, (0..128 * 64).map(color).collect(), 0.0, 1.0).unwrap();
        let [v, ..] = picture.at([0.3, 0.1, 0.9], 0.5);
        assert!((v - 0.5).abs() < 0.05, "{v}");
    }
}

//! Colours: linear light, sRGB and OKLab (Ottosson 2020).

use crate::plane::RenderError;
use std::sync::LazyLock;

/// Red, green and blue in linear light, each from 0 to 1.
pub type Rgb = [f32; 3];

/// How a value that is not finite is drawn.
pub const NOT_FINITE: Rgb = [1.0, 0.0, 1.0];

/// What is behind everything: one colour, or a vertical gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    /// At the bottom edge.
    pub bottom: Rgb,
    /// At the top edge.
    pub top: Rgb,
}

impl Background {
    /// The same colour everywhere.
    pub const fn solid(color: Rgb) -> Self {
        Self { bottom: color, top: color }
    }

    /// The colour of a row, counted from the top. Mixed in OKLab: even to the eye.
    pub fn row(&self, y: usize, height: usize) -> Rgb {
        if self.bottom == self.top {
            return self.top;
        }
        let t = (y as f32 + 0.5) / height as f32;
        from_oklab(mix(to_oklab(self.top), to_oklab(self.bottom), t))
    }
}

/// Reads `#rgb` or `#rrggbb`, with or without `#`.
pub fn from_hex(text: &str) -> Result<Rgb, RenderError> {
    let wrong = || RenderError::Color(text.to_owned());
    let digits = text.strip_prefix('#').unwrap_or(text);
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let number = u32::from_str_radix(digits, 16).map_err(|_| wrong())?;
    let bytes = match digits.len() {
        3 => [8, 4, 0].map(|shift| (number >> shift & 15) * 17),
        6 => [16, 8, 0].map(|shift| number >> shift & 255),
        _ => return Err(wrong()),
    };
    Ok(from_srgb8(bytes.map(|b| b as u8)))
}

/// 8-bit sRGB to linear light.
pub fn from_srgb8(bytes: [u8; 3]) -> Rgb {
    bytes.map(|b| from_srgb(f32::from(b) / 255.0))
}

/// sRGB from 0 to 1 to linear light.
pub fn from_srgb(v: f32) -> f32 {
    if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
}

/// The colour of a liquid with inks in it: an amount of 1 gives it the colour of the ink, less leaves some of its own. Light passes through one after the
/// other, so that yellow and blue make green: `base^(1 - sum) * ink^amount * ...`.
pub fn with_inks(base: Rgb, inks: impl Iterator<Item = (Rgb, f32)> + Clone) -> Rgb {
    let sum: f32 = inks.clone().map(|(_, amount)| amount.max(0.0)).sum();
    let scale = 1.0 / sum.max(1.0);
    // Black would hide what is beside it, however little there is.
    const DARK: f32 = 0.004;
    let log = |v: f32| v.max(DARK).ln();
    let mut logs = base.map(|v| (1.0 - sum).max(0.0) * log(v));
    for (color, amount) in inks {
        (0..3).for_each(|c| logs[c] += scale * amount.max(0.0) * log(color[c]));
    }
    logs.map(f32::exp)
}

/// Linear light to sRGB, from 0 to 255.
pub fn to_srgb(linear: f32) -> f32 {
    Encoder::new().encode(linear)
}

const STEPS: usize = 4096;

/// The sRGB curve as a table, scaled to 255: linear interpolation is wrong by less than 1/200 of a level.
static ENCODED: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let encode = |v: f64| if v <= 0.0031308 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
    // One entry more, so that 1.0 has a neighbour.
    (0..STEPS + 2).map(|i| (255.0 * encode((i as f64 / STEPS as f64).min(1.0))) as f32).collect()
});

/// Linear light to sRGB, 0 to 255.
#[derive(Clone, Copy)]
pub(crate) struct Encoder(&'static [f32]);

impl Encoder {
    pub fn new() -> Self {
        Self(&ENCODED)
    }

    #[inline(always)]
    pub fn encode(self, linear: f32) -> f32 {
        let x = linear.clamp(0.0, 1.0) * STEPS as f32;
        let i = x as usize;
        let (a, b) = (self.0[i], self.0[i + 1]);
        a + (x - i as f32) * (b - a)
    }
}

/// To OKLab, in which equal steps look equal.
pub fn to_oklab([r, g, b]: Rgb) -> [f32; 3] {
    let l = (0.412_221_47 * r + 0.536_332_54 * g + 0.051_445_993 * b).cbrt();
    let m = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
    let s = (0.088_302_46 * r + 0.281_718_84 * g + 0.629_978_7 * b).cbrt();
    [
        0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
        1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
        0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
    ]
}

/// From OKLab; what lies outside the colours of a screen is cut off.
pub fn from_oklab([lightness, a, b]: [f32; 3]) -> Rgb {
    let cube = |v: f32| v * v * v;
    let l = cube(lightness + 0.396_337_78 * a + 0.215_803_76 * b);
    let m = cube(lightness - 0.105_561_346 * a - 0.063_854_17 * b);
    let s = cube(lightness - 0.089_484_18 * a - 1.291_485_5 * b);
    [
        4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
        -1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s,
        -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
    ]
    .map(|v| v.clamp(0.0, 1.0))
}

pub(crate) fn mix(a: [f32; 3], b: [f32; 3], t: f32) -> [f32; 3] {
    std::array::from_fn(|c| a[c] + t * (b[c] - a[c]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_8_bit_colour_survives_linear_light_and_oklab() {
        let encoder = Encoder::new();
        for v in 0..=255u8 {
            for bytes in [[v, v, v], [v, 0, 255], [17, v, 99]] {
                let linear = from_srgb8(bytes);
                let there_and_back = from_oklab(to_oklab(linear));
                for c in 0..3 {
                    assert!((encoder.encode(linear[c]) - f32::from(bytes[c])).abs() < 0.01);
                    // Near black a rounding error of 1e-7 is amplified by the slope 12.92 of the curve.
                    assert!((encoder.encode(there_and_back[c]) - f32::from(bytes[c])).abs() < 0.05, "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn hex_colours_are_read_in_both_lengths_and_nonsense_is_refused() {
        assert_eq!(from_hex("#f80").unwrap(), from_srgb8([255, 136, 0]));
        assert_eq!(from_hex("102030").unwrap(), from_srgb8([16, 32, 48]));
        for text in ["", "#", "#12", "#12345", "#gggggg", "+12", "#ää", "#1234567"] {
            assert!(from_hex(text).is_err(), "{text}");
        }
    }
}

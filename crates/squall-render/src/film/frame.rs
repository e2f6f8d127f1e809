//! The finished picture in linear light, and its way to a screen.

use crate::color::{Background, Encoder};
use crate::image::Image;

/// A picture in linear light.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green and blue premultiplied by opacity, and opacity; the top row first.
    pub rgba: Vec<[f32; 4]>,
    /// Metres along the ray to the first surface, or to where smoke has hidden half of what is behind it. Infinite where
    /// there is neither. With several rays per pixel, that of the nearest.
    pub depth: Vec<f32>,
}

/// How bright light is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tone {
    /// All light is multiplied by this.
    pub exposure: f32,
    /// Whether light above 0.8 bends towards white, instead of being cut off at 1.
    pub shoulder: bool,
}

impl Default for Tone {
    fn default() -> Self {
        Self { exposure: 1.0, shoulder: true }
    }
}

impl Tone {
    /// Linear light as it is shown.
    pub fn apply(&self, v: f32) -> f32 {
        let v = v * self.exposure;
        if self.shoulder && v > 0.8 { 1.0 - 0.2 * (-(v - 0.8) / 0.2).exp() } else { v }
    }
}

impl Frame {
    /// The picture before a background: opaque.
    pub fn over(mut self, background: &Background) -> Self {
        for (y, row) in self.rgba.chunks_mut(self.width).enumerate() {
            let behind = background.row(y, self.height);
            for pixel in row {
                let through = 1.0 - pixel[3];
                (0..3).for_each(|c| pixel[c] += through * behind[c]);
                pixel[3] = 1.0;
            }
        }
        self
    }

    /// For a screen: 8-bit sRGB, with opacity.
    pub fn to_image(&self, tone: &Tone) -> Image {
        Image::draw(self.width, self.height, |y, row| {
            for (out, pixel) in row.iter_mut().zip(&self.rgba[y * self.width..]) {
                *out = straight(pixel, tone);
            }
        })
    }

    /// For grading: 16-bit sRGB samples, red, green, blue and opacity (not premultiplied) of each pixel.
    pub fn to_rgba16(&self, tone: &Tone) -> Vec<u16> {
        let encoder = Encoder::new();
        let level = |v: f32| (encoder.encode(v) * (65535.0 / 255.0) + 0.5) as u16;
        let pixel = |pixel: &[f32; 4]| {
            let [r, g, b, a] = straight(pixel, tone);
            [level(r), level(g), level(b), (a.clamp(0.0, 1.0) * 65535.0 + 0.5) as u16]
        };
        self.rgba.iter().flat_map(pixel).collect()
    }
}

/// From premultiplied light to light on a screen and opacity. Glow that hides nothing gets the opacity that it takes to
/// show it.
fn straight(&[r, g, b, a]: &[f32; 4], tone: &Tone) -> [f32; 4] {
    let [r, g, b] = [r, g, b].map(|v| tone.apply(v));
    let a = a.max(r).max(g).max(b).min(1.0);
    let whole = 1.0 / a.max(1e-6);
    [r * whole, g * whole, b * whole, a]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glow_without_opacity_survives_in_a_picture_with_straight_opacity() {
        let frame = Frame { width: 1, height: 1, rgba: vec![[0.5, 0.25, 0.0, 0.0]], depth: vec![f32::INFINITY] };
        let tone = Tone { shoulder: false, ..Tone::default() };
        let [r, g, b, a] = frame.to_image(&tone).pixels[0];
        assert_eq!((r, b, a), (255, 0, 128));
        assert!((187..=189).contains(&g), "half of the light of red: {g}");
        assert_eq!(frame.to_rgba16(&tone)[3], 32768);
    }

    #[test]
    fn the_shoulder_never_reaches_white_too_early_and_never_turns_back() {
        let tone = Tone { exposure: 2.0, shoulder: true };
        let shown: Vec<f32> = (0..100).map(|i| tone.apply(i as f32 * 0.01)).collect();
        assert!(shown.windows(2).all(|pair| pair[1] > pair[0]) && shown[99] < 1.0);
        assert!((shown[20] - 0.4).abs() < 1e-6, "below 0.8 nothing is bent");
    }
}

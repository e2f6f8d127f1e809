//! The finished picture in linear light, and tone mapping.

use super::bloom;
use crate::color::{Background, Encoder, Rgb, from_srgb};
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

/// How light becomes what a screen shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tone {
    /// All light is multiplied by this.
    pub exposure: f32,
    /// The curve from light to screen.
    pub view: View,
    /// Light of this colour is shown as white.
    pub white: Rgb,
}

/// The curve from light to screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// What the numbers say; what is brighter than 0.8 bends towards white.
    #[default]
    Soft,
    /// As film shows light: highlights roll off, bright colours keep most of their hue and go over into white.
    Filmic,
    /// The contrast of the Academy's reference look (fit of Narkowicz 2015), channel by channel.
    Aces,
    /// What the numbers say; what is brighter than white is cut off.
    Srgb,
    /// The numbers themselves, without the curve of sRGB: for who grades them.
    Linear,
}

impl Default for Tone {
    fn default() -> Self {
        Self { exposure: 1.0, view: View::default(), white: [1.0; 3] }
    }
}

/// How much of each channel [`View::Filmic`] mixes into the others before its curve, so that no colour stays pure however bright it is, and takes out after it.
const MIXED: f32 = 0.15;
/// The steepness of its curve, and the light that is shown as half.
const CONTRAST: f32 = 1.35;
const HALF: f32 = 0.443;
/// The light that is shown as white.
const WHITE: f32 = 16.0;

/// `x^c / (x^c + half^c)`, scaled to be 1 at white: how film and eyes answer to light.
fn response(x: f32) -> f32 {
    let answer = |x: f32| {
        let power = x.powf(CONTRAST);
        power / (power + HALF.powf(CONTRAST))
    };
    answer(x.clamp(0.0, WHITE)) / answer(WHITE)
}

/// A colour whose hue is brought halfway back to what it was: a curve for each channel alone turns orange into yellow, and with its whole hue
/// bright fire is salmon.
fn with_hue_of(light: Rgb, mut shown: Rgb) -> Rgb {
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| light[a].total_cmp(&light[b]));
    let [least, middle, most] = order;
    let range = light[most] - light[least];
    if range > 0.0 && range.is_finite() {
        let part = (light[middle] - light[least]) / range;
        let there = shown[least] + part * (shown[most] - shown[least]);
        shown[middle] += 0.5 * (there - shown[middle]);
    }
    shown
}

/// The light whose [`response`] is this.
fn light_for(shown: f32) -> f32 {
    let white = WHITE.powf(CONTRAST);
    let answer = shown.clamp(0.0, 1.0) * white / (white + HALF.powf(CONTRAST));
    (HALF * (answer / (1.0 - answer)).powf(1.0 / CONTRAST)).min(WHITE)
}

impl Tone {
    /// Shows light of a black body of this temperature as white; 6500 changes nothing.
    pub fn balanced(self, kelvin: f64) -> Self {
        let luminance = |c: Rgb| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
        let ([of, to], mut white) = ([kelvin, 6500.0].map(super::blackbody), [0.0; 3]);
        // As bright as before.
        let scale = luminance(to) / luminance(of);
        (0..3).for_each(|c| white[c] = scale * of[c].max(1e-3) / to[c]);
        Self { white, ..self }
    }

    /// The light that the view shows as this colour, at an exposure of 1: for backgrounds that are to look as they were chosen.
    pub fn light_for(&self, shown: Rgb) -> Rgb {
        match self.view {
            View::Filmic => {
                let mean = |[r, g, b]: Rgb| (r + g + b) / 3.0;
                let among = mean(shown);
                let light = shown.map(|v| light_for(v + MIXED * (among - v)));
                let among = mean(light);
                let mut light = light.map(|v| (v + MIXED / (1.0 - MIXED) * (v - among)).max(0.0));
                // The hue is not that simple to take back.
                let plain = Tone { view: View::Filmic, ..Tone::default() };
                for _ in 0..8 {
                    let now = plain.apply(light);
                    (0..3).for_each(|c| light[c] *= (shown[c] + 1e-6) / (now[c] + 1e-6));
                }
                light
            }
            // The positive root of the fit.
            View::Aces => shown.map(|y| {
                let y = y.clamp(0.0, 0.99);
                let (a, b, c) = (2.51 - 2.43 * y, 0.03 - 0.59 * y, -0.14 * y);
                (-b + (b * b - 4.0 * a * c).sqrt()) / (2.0 * a)
            }),
            View::Soft => shown.map(|v| if v > 0.8 { 0.8 - 0.2 * (5.0 * (1.0 - v.min(0.999))).ln() } else { v }),
            View::Srgb | View::Linear => shown,
        }
    }

    /// Linear light as it is shown, from 0 to 1 for what is within the screen's range.
    pub fn apply(&self, light: Rgb) -> Rgb {
        let light: Rgb = std::array::from_fn(|c| light[c] * self.exposure / self.white[c]);
        match self.view {
            View::Filmic => {
                let mean = |[r, g, b]: Rgb| (r + g + b) / 3.0;
                let among = mean(light);
                let shown = light.map(|v| response(v + MIXED * (among - v)));
                let among = mean(shown);
                let shown = shown.map(|v| (v + MIXED / (1.0 - MIXED) * (v - among)).clamp(0.0, 1.0));
                with_hue_of(light, shown)
            }
            View::Aces => light.map(|v| {
                let v = v.clamp(0.0, 1e6);
                (v * (2.51 * v + 0.03) / (v * (2.43 * v + 0.59) + 0.14)).min(1.0)
            }),
            View::Soft => light.map(|v| if v > 0.8 { 1.0 - 0.2 * (-(v - 0.8) / 0.2).exp() } else { v }),
            View::Srgb => light,
            View::Linear => light.map(|v| from_srgb(v.clamp(0.0, 1.0))),
        }
    }
}

impl Frame {
    /// The mean of pictures of the same size, as a shutter that was open for all of them sees it.
    pub fn mean(parts: impl IntoIterator<Item = Frame>) -> Option<Frame> {
        let mut parts = parts.into_iter();
        let (mut sum, mut count) = (parts.next()?, 1.0);
        for part in parts {
            sum.rgba.iter_mut().flatten().zip(part.rgba.iter().flatten()).for_each(|(sum, v)| *sum += v);
            sum.depth.iter_mut().zip(&part.depth).for_each(|(least, &v)| *least = least.min(v));
            count += 1.0;
        }
        sum.rgba.iter_mut().flatten().for_each(|v| *v /= count);
        Some(sum)
    }

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

    /// Lets bright light spread as it does in a lens: this part of all light goes to circles of growing width around where it belongs.
    pub fn bloom(&mut self, part: f32) {
        if part > 0.0 {
            bloom::spread(&mut self.rgba, [self.width, self.height], part);
        }
    }

    /// Grain as film has it, of about this size where light is 1, less in the dark; another in every frame.
    pub fn grain(&mut self, size: f32, frame: u64) {
        if size <= 0.0 {
            return;
        }
        for (i, pixel) in self.rgba.iter_mut().enumerate() {
            // A well mixed number of the pixel and the frame; two of them make a triangle from -1 to 1.
            let mut hash = (i as u64 ^ frame.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash = (hash ^ hash >> 31).wrapping_mul(0x94d0_49bb_1331_11eb);
            let part = |shift: u32| (hash >> shift & 0xffff) as f32 / 65535.0;
            let noise = size * (part(16) - part(40));
            let light = pixel[0].max(pixel[1]).max(pixel[2]).max(0.0);
            let by = if light > 0.0 { (1.0 + noise * light.min(1.0).sqrt() / light).max(0.0) } else { 1.0 };
            pixel[..3].iter_mut().for_each(|v| *v *= by);
        }
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
    let [r, g, b] = tone.apply([r, g, b]);
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
        let tone = Tone { view: View::Srgb, ..Tone::default() };
        let [r, g, b, a] = frame.to_image(&tone).pixels[0];
        assert_eq!((r, b, a), (255, 0, 128));
        assert!((187..=189).contains(&g), "half of the light of red: {g}");
        assert_eq!(frame.to_rgba16(&tone)[3], 32768);
    }

    const GREY: fn(f32) -> Rgb = |v| [v; 3];
    const FILM: Tone = Tone { exposure: 1.0, view: View::Filmic, white: [1.0; 3] };

    #[test]
    fn the_soft_view_changes_nothing_below_its_shoulder_and_never_turns_back() {
        let tone = Tone { exposure: 2.0, ..Tone::default() };
        let shown: Vec<f32> = (0..100).map(|i| tone.apply(GREY(i as f32 * 0.01))[0]).collect();
        assert!(shown.windows(2).all(|pair| pair[1] > pair[0]) && shown[99] < 1.0);
        assert!((shown[20] - 0.4).abs() < 1e-6, "below 0.8 nothing is bent");
    }

    #[test]
    fn film_keeps_greys_grey_and_middle_tones_where_they_are_and_never_turns_back() {
        let tone = FILM;
        let shown: Vec<Rgb> = (0..400).map(|i| tone.apply(GREY(1e-4 * 1.04f32.powi(i)))).collect();
        assert!(shown.iter().all(|c| c.iter().all(|v| (v - c[0]).abs() < 1e-6)));
        assert!(shown.windows(2).all(|pair| pair[1][0] >= pair[0][0]) && shown[399][0] <= 1.0);
        // Around middle grey nothing changes by more than 0.4 of a stop; white paper is bright, but not cut off.
        for (light, low, high) in [(0.09, 0.08, 0.113), (0.18, 0.16, 0.24), (1.0, 0.7, 0.8), (4.0, 0.93, 0.97)] {
            let [v, ..] = tone.apply(GREY(light));
            assert!((low..high).contains(&v), "{light}: {v}");
        }
    }

    #[test]
    fn bright_colours_keep_their_hue_and_go_over_into_white_with_film() {
        // The hue of a colour, in degrees.
        let hue = |[r, g, b]: Rgb| (3f32.sqrt() * (g - b)).atan2(2.0 * r - g - b).to_degrees();
        let colors = [[1.0, 0.25, 0.02], [0.1, 0.3, 1.0], [0.9, 0.1, 0.1], [0.2, 0.8, 0.3]];
        for color in colors {
            let at = |stops: i32| FILM.apply(color.map(|v: f32| v * 2f32.powi(stops)));
            let saturation = |c: Rgb| 1.0 - c[0].min(c[1]).min(c[2]) / c[0].max(c[1]).max(c[2]);
            for stops in -4..=3 {
                let turned = (hue(at(stops)) - hue(color) + 540.0) % 360.0 - 180.0;
                // Channel by channel orange turns by 34 degrees.
                assert!(turned.abs() < 20.0, "{color:?} at {stops} stops turns by {turned}");
            }
            assert!(
                saturation(at(4)) < 0.6 * saturation(at(0)) && saturation(at(-3)) > 0.8 * saturation(color),
                "{color:?}"
            );
        }
    }

    #[test]
    fn a_background_looks_as_it_was_chosen_in_every_view() {
        for view in [View::Soft, View::Filmic, View::Aces, View::Srgb] {
            let tone = Tone { view, ..Tone::default() };
            for chosen in [[0.0; 3], [0.02, 0.03, 0.05], [0.6, 0.5, 0.3], [0.9; 3]] {
                let shown = tone.apply(tone.light_for(chosen));
                assert!(shown.iter().zip(chosen).all(|(a, b)| (a - b).abs() < 2e-3), "{view:?} {chosen:?} {shown:?}");
            }
        }
    }

    #[test]
    fn white_balance_makes_the_light_of_a_lamp_white_and_leaves_daylight_alone() {
        let lamp = super::super::blackbody(2856.0);
        let tone = |kelvin| Tone { view: View::Srgb, ..Tone::default() }.balanced(kelvin);
        let [r, g, b] = tone(2856.0).apply(lamp);
        let white = super::super::blackbody(6500.0);
        assert!(
            (r / white[0] - g / white[1]).abs() < 1e-3 && (g / white[1] - b / white[2]).abs() < 1e-3,
            "{r} {g} {b}"
        );
        assert!(tone(6500.0).apply([0.3, 0.2, 0.1]).iter().zip([0.3, 0.2, 0.1]).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    #[test]
    fn numbers_are_written_as_they_are_in_the_linear_view() {
        let frame = Frame { width: 1, height: 1, rgba: vec![[0.6, 0.25, 2.0, 1.0]], depth: vec![f32::INFINITY] };
        let tone = Tone { view: View::Linear, ..Tone::default() };
        assert_eq!(
            frame.to_rgba16(&tone)[..3].iter().map(|&v| (u32::from(v) + 128) / 257).collect::<Vec<_>>(),
            [153, 64, 255]
        );
    }

    #[test]
    fn bloom_keeps_all_light_within_the_picture_and_spreads_around_what_is_bright() {
        let (width, height) = (65, 49);
        let mut rgba = vec![[0.0; 4]; width * height];
        rgba[24 * width + 32] = [100.0, 50.0, 0.0, 1.0];
        let mut frame = Frame { width, height, rgba, depth: vec![1.0; width * height] };
        frame.bloom(0.05);
        let sum: f32 = frame.rgba.iter().map(|p| p[0]).sum();
        // What is spread beyond the edge is lost: little, from the middle.
        assert!((sum / 100.0 - 1.0).abs() < 0.02, "{sum}");
        let at = |x: usize, y: usize| frame.rgba[y * width + x][0];
        assert!((at(32, 24) - 95.0).abs() < 2.0, "{}", at(32, 24));
        assert!(at(34, 24) > at(38, 24) && at(38, 24) > at(46, 24) && at(46, 24) > 0.0);
        assert!((at(32 + 7, 24) / at(32 - 7, 24) - 1.0).abs() < 0.35, "about as much on both sides");
        assert_eq!(frame.rgba[0][3], 0.0, "nothing hides more than before");
    }
}

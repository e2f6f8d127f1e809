//! Lines and text on a white canvas.

use squall_io::picture::Font;

/// sRGB.
pub type Color = [u8; 3];

/// A picture that is drawn on: three bytes per pixel, the top row first.
pub struct Canvas {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<u8>,
    font: Font,
}

/// Where the anchor of a label is.
#[derive(Clone, Copy, PartialEq)]
pub enum Align {
    Left,
    Middle,
    Right,
}

impl Canvas {
    pub fn white(width: usize, height: usize) -> Self {
        Canvas { width, height, pixels: vec![255; 3 * width * height], font: Font::carried() }
    }

    fn blend(&mut self, x: usize, y: usize, color: Color, cover: f32) {
        let pixel = &mut self.pixels[3 * (y * self.width + x)..][..3];
        for (value, ink) in pixel.iter_mut().zip(color) {
            *value = (f32::from(*value) + cover * (f32::from(ink) - f32::from(*value))).round() as u8;
        }
    }

    /// A line through points in pixels, round at its ends. It covers a pixel by how near that is: w/2 + 1/2 - distance. Where
    /// two pieces meet the nearer one counts, so that corners are not darker.
    pub fn line(&mut self, points: &[[f32; 2]], width: f32, color: Color) {
        let reach = 0.5 * width + 0.5;
        let [mut x_range, mut y_range] = [[f32::INFINITY, f32::NEG_INFINITY]; 2];
        for [x, y] in points {
            x_range = [x_range[0].min(*x), x_range[1].max(*x)];
            y_range = [y_range[0].min(*y), y_range[1].max(*y)];
        }
        let (left, right) = pixels_between(x_range, reach, self.width);
        let (top, bottom) = pixels_between(y_range, reach, self.height);
        if left >= right || top >= bottom {
            return;
        }
        let row = right - left;
        let mut cover = vec![0.0_f32; row * (bottom - top)];
        // One point is a piece of no length.
        let pieces = points.windows(2).map(|p| [p[0], p[1]]).chain((points.len() == 1).then(|| [points[0]; 2]));
        for [a, b] in pieces {
            let (x0, x1) = pixels_between([a[0].min(b[0]), a[0].max(b[0])], reach, self.width);
            let (y0, y1) = pixels_between([a[1].min(b[1]), a[1].max(b[1])], reach, self.height);
            for y in y0..y1 {
                for x in x0..x1 {
                    let near = reach - distance([x as f32 + 0.5, y as f32 + 0.5], a, b);
                    let value = &mut cover[(y - top) * row + x - left];
                    *value = value.max(near.clamp(0.0, 1.0));
                }
            }
        }
        for (k, cover) in cover.into_iter().enumerate().filter(|(_, cover)| *cover > 0.0) {
            self.blend(left + k % row, top + k / row, color, cover);
        }
    }

    /// A level or upright line, in the middle of pixels: crisp.
    pub fn rule(&mut self, from: [f32; 2], to: [f32; 2], color: Color) {
        let snap = |point: [f32; 2]| point.map(|x| x.floor() + 0.5);
        self.line(&[snap(from), snap(to)], 1.0, color);
    }

    /// A label whose middle line passes through `y`.
    pub fn label(&mut self, text: &str, [x, y]: [f32; 2], height: f32, align: Align, color: Color) {
        let ink = self.font.label(text, height);
        let shift = match align {
            Align::Left => 0.0,
            Align::Middle => 0.5 * ink.width as f32,
            Align::Right => ink.width as f32,
        };
        let (left, top) = ((x - shift).round() as i64, (y - 0.5 * height).round() as i64);
        for (k, &cover) in ink.values.iter().enumerate().filter(|(_, cover)| **cover > 0.0) {
            let (x, y) = (left + (k % ink.width) as i64, top + (k / ink.width) as i64);
            if (0..self.width as i64).contains(&x) && (0..self.height as i64).contains(&y) {
                self.blend(x as usize, y as usize, color, cover);
            }
        }
    }
}

/// The pixels that a line between two coordinates can touch.
fn pixels_between([low, high]: [f32; 2], reach: f32, count: usize) -> (usize, usize) {
    // A float as an integer is cut off at its ends: nothing is out of range.
    ((low - reach).floor().max(0.0) as usize, ((high + reach).ceil().max(0.0) as usize).min(count))
}

/// How far a point is from the piece of a line between two others.
fn distance(p: [f32; 2], a: [f32; 2], b: [f32; 2]) -> f32 {
    let (along, from) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
    let length = along[0] * along[0] + along[1] * along[1];
    let part = if length > 0.0 { (from[0] * along[0] + from[1] * along[1]) / length } else { 0.0 };
    let part = part.clamp(0.0, 1.0);
    (from[0] - part * along[0]).hypot(from[1] - part * along[1])
}

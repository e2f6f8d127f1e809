//! Patterns on a 2D fluid, pixel by pixel.

use super::Texture;
use crate::image::Image;
use crate::plane::{Plane, RenderError};
use crate::resample::resample;
use rayon::prelude::*;

/// The coordinates of a 2D fluid as they are now.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    /// Displacements of the three sets along x and y, in metres.
    pub sets: [[Plane<'a>; 2]; 3],
    /// What each set counts.
    pub weights: [f64; 3],
}

/// Looks per pixel along each axis: a pattern that the flow has stretched is finer than a pixel in places.
const LOOKS: usize = 2;

/// The coordinates at every pixel of a picture.
struct Pixels {
    width: usize,
    height: usize,
    /// Of a pixel, in metres.
    size: [f64; 2],
    wraps: [bool; 2],
    /// The top row first.
    xi: [[Vec<f32>; 2]; 3],
    weights: [f32; 3],
}

impl Pixels {
    fn new(c: &Coordinates<'_>, width: usize, height: usize) -> Self {
        let plane = &c.sets[0][0];
        let length = |a: usize| plane.cells[a] as f64 * plane.spacing[a];
        Pixels {
            width,
            height,
            size: [length(0) / width as f64, length(1) / height as f64],
            wraps: plane.wraps,
            xi: c.sets.map(|set| set.map(|plane| resample(&plane, width, height))),
            weights: c.weights.map(|w| w as f32),
        }
    }

    /// Calls `look` with each of the places of a pixel and the displacements there.
    fn look(&self, x: usize, y: usize, mut look: impl FnMut([f64; 2], [[f32; 2]; 3])) {
        let beside = |i: usize, n: usize, wraps: bool| match wraps {
            true => [(i + n - 1) % n, (i + 1) % n],
            false => [i.saturating_sub(1), (i + 1).min(n - 1)],
        };
        let ([left, right], [above, below]) =
            (beside(x, self.width, self.wraps[0]), beside(y, self.height, self.wraps[1]));
        // Over two pixels, over one at edges.
        let over = |wraps: bool, i: usize, n: usize| if !wraps && (i == 0 || i + 1 == n) { 1.0 } else { 0.5f32 };
        let (over_x, over_y) = (over(self.wraps[0], x, self.width), over(self.wraps[1], y, self.height));
        let center = [x as f64 + 0.5, (self.height - 1 - y) as f64 + 0.5];
        for j in 0..LOOKS {
            for i in 0..LOOKS {
                let part = |i: usize| (i as f32 + 0.5) / LOOKS as f32 - 0.5;
                let (dx, dy) = (part(i), part(j));
                let place = [(center[0] + f64::from(dx)) * self.size[0], (center[1] + f64::from(dy)) * self.size[1]];
                let xi = self.xi.each_ref().map(|set| {
                    set.each_ref().map(|xi| {
                        let at = |x: usize, y: usize| xi[y * self.width + x];
                        let along_x = over_x * (at(right, y) - at(left, y));
                        let along_y = over_y * (at(x, above) - at(x, below));
                        at(x, y) + dx * along_x + dy * along_y
                    })
                });
                look(place, xi);
            }
        }
    }
}

/// Draws a pattern with its own colours, `width` pixels wide (made even).
pub fn draw_texture(
    texture: &Texture<2>,
    c: &Coordinates<'_>,
    width: usize,
    exposure: f32,
) -> Result<Image, RenderError> {
    let (width, height) = c.sets[0][0].picture_size(width)?;
    let pixels = Pixels::new(c, width, height);
    let footprint = pixels.size[0] / LOOKS as f64;
    Ok(Image::draw(width, height, |y, row| {
        for (x, pixel) in row.iter_mut().enumerate() {
            let mut sum = [0.0; 3];
            pixels.look(x, y, |place, xi| {
                let color = texture.color(place, xi, pixels.weights, footprint);
                (0..3).for_each(|c| sum[c] += color[c]);
            });
            let [r, g, b] = sum.map(|v| exposure * v / (LOOKS * LOOKS) as f32);
            *pixel = [r, g, b, 1.0];
        }
    }))
}

/// The amounts of a pattern at every pixel, the bottom row first.
pub fn amounts(texture: &Texture<2>, c: &Coordinates<'_>, width: usize) -> Result<Pixelated, RenderError> {
    pixelate(c, width, |_, place, xi, weights| texture.amount(place, xi, weights))
}

/// A field at every pixel, with the detail of a pattern.
pub fn detailed(
    texture: &Texture<2>,
    c: &Coordinates<'_>,
    field: &Plane<'_>,
    width: usize,
) -> Result<Pixelated, RenderError> {
    let (width, height) = field.picture_size(width)?;
    let values = resample(field, width, height);
    pixelate(c, width, |at, place, xi, weights| values[at] * texture.factor(place, xi, weights))
}

fn pixelate(
    c: &Coordinates<'_>,
    width: usize,
    f: impl Fn(usize, [f64; 2], [[f32; 2]; 3], [f32; 3]) -> f32 + Sync,
) -> Result<Pixelated, RenderError> {
    let (width, height) = c.sets[0][0].picture_size(width)?;
    let pixels = Pixels::new(c, width, height);
    let mut values = vec![0.0; width * height];
    values.par_chunks_mut(width).enumerate().for_each(|(row, out)| {
        let y = height - 1 - row;
        for (x, value) in out.iter_mut().enumerate() {
            pixels.look(x, y, |place, xi| *value += f(y * width + x, place, xi, pixels.weights));
            *value /= (LOOKS * LOOKS) as f32;
        }
    });
    Ok(Pixelated { values, cells: [width, height], wraps: pixels.wraps })
}

/// A field with one value per pixel of a picture.
#[derive(Clone, Debug)]
pub struct Pixelated {
    values: Vec<f32>,
    cells: [usize; 2],
    wraps: [bool; 2],
}

impl Pixelated {
    /// To be drawn: as wide as it is, every pixel shows its value.
    pub fn plane(&self) -> Result<Plane<'_>, RenderError> {
        // Squares, as pixels are: the size, which is even already, stays the same.
        Ok(Plane::new(&self.values, self.cells, [1.0; 2])?.wrapping(self.wraps))
    }

    /// The values, the bottom row first.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
}

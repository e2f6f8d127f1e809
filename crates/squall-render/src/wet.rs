//! Water in 2D, as seen from the side: filled up to its surface, lighter there, darker in the depth, and coloured by what it carries.

use crate::color::{Background, Rgb, with_inks};
use crate::colormap::ColorMap;
use crate::image::Image;
use crate::maps::sample;
use crate::plane::{Plane, RenderError};

/// How water looks.
#[derive(Clone, Debug)]
pub struct WetStyle {
    /// Colours from the surface to the depth.
    pub map: ColorMap,
    /// What is behind it; `None` is transparent.
    pub background: Option<Background>,
    /// Brightness.
    pub exposure: f32,
}

/// Draws a liquid: `distance` to its surface in metres, negative inside; `depth` from 0 at the surface to 1; `foam` from 0 to 1, how white it is; `inks` with their colours, each as much as its amount.
pub fn draw_wet(
    distance: &Plane<'_>,
    depth: &Plane<'_>,
    foam: &Plane<'_>,
    inks: &[(Plane<'_>, Rgb)],
    width: usize,
    style: &WetStyle,
) -> Result<Image, RenderError> {
    let (width, height) = distance.picture_size(width)?;
    let [distances, depths, foams] =
        [sample(distance, width, height)?, sample(depth, width, height)?, sample(foam, width, height)?];
    let sampled = inks.iter().map(|(amount, color)| Ok((sample(amount, width, height)?, *color)));
    let inks = sampled.collect::<Result<Vec<_>, RenderError>>()?;
    let pixel = (distance.cells[0] as f64 * distance.spacing[0] / width as f64) as f32;
    Ok(Image::draw(width, height, |y, row| {
        let behind = style.background.as_ref().map(|background| background.row(y, height));
        for (x, out) in row.iter_mut().enumerate() {
            let i = x + width * y;
            let d = distances[i] / pixel;
            // The part of the pixel that is covered.
            let inside = (0.5 - d).clamp(0.0, 1.0);
            let mut color = style.map.at(depths[i].clamp(0.0, 1.0));
            if !inks.is_empty() {
                color = with_inks(color, inks.iter().map(|(amounts, ink)| (*ink, amounts[i])));
            }
            // A bright line along the surface, as of a film of water that catches the light.
            let near = (1.0 - 5.0 * depths[i]).clamp(0.0, 1.0);
            let line = near * (-0.16 * (d + 1.5) * (d + 1.5)).exp();
            let white = (0.45 * line + 0.5 * foams[i].clamp(0.0, 1.0)).min(0.85);
            color = mix(color, [0.93, 0.97, 1.0], white).map(|v| v * style.exposure);
            *out = match behind {
                Some(behind) => {
                    let [r, g, b] = mix(behind, color, inside);
                    [r, g, b, 1.0]
                }
                None => [color[0], color[1], color[2], inside],
            };
        }
    }))
}

fn mix(a: Rgb, b: Rgb, part: f32) -> Rgb {
    std::array::from_fn(|c| a[c] + part * (b[c] - a[c]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn water_covers_what_it_fills_and_its_edge_is_smooth() {
        let n = 32;
        let distance: Vec<f32> = (0..n * n).map(|i| (i / n) as f32 + 0.5 - 15.75).collect();
        let zeros = vec![0.0; n * n];
        let plane = |values| Plane::new(values, [n, n], [1.0; 2]).unwrap();
        let style = WetStyle { map: ColorMap::by_name("ice").unwrap(), background: None, exposure: 1.0 };
        let image = draw_wet(&plane(&distance), &plane(&zeros), &plane(&zeros), &[], n, &style).unwrap();
        let alpha = |y: usize| image.pixels[5 + n * y][3];
        // The top row first; water up to 15.75 cells from below.
        assert_eq!((alpha(0), alpha(15), alpha(17), alpha(31)), (0, 0, 255, 255));
        assert!((150..230).contains(&alpha(16)), "three quarters of a pixel: {}", alpha(16));
    }

    #[test]
    fn inks_give_water_their_colour_and_yellow_and_blue_make_green() {
        let (water, yellow, blue) = ([0.3, 0.5, 0.7], [0.9, 0.8, 0.05], [0.05, 0.3, 0.9]);
        let with = |inks: &[(Rgb, f32)]| with_inks(water, inks.iter().copied());
        let near = |a: Rgb, b: Rgb| (0..3).all(|c| (a[c] - b[c]).abs() < 1e-5);
        assert!(near(with(&[]), water) && near(with(&[(yellow, 0.0)]), water));
        assert!(near(with(&[(yellow, 1.0)]), yellow) && near(with(&[(yellow, 3.0)]), yellow));
        let [r, g, b] = with(&[(yellow, 0.5), (blue, 0.5)]);
        assert!(g > 1.5 * r && g > 1.5 * b, "{r} {g} {b}");
    }
}

//! Several substances in one picture: as light on a dark ground, or as ink on paper.

use crate::color::{Background, NOT_FINITE, Rgb};
use crate::image::Image;
use crate::plane::{Plane, RenderError};
use crate::relief::Relief;
use crate::resample::resample;

/// One substance.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    /// How much of it there is. Negative values count as none.
    pub amount: Plane<'a>,
    /// Its colour: of the light it sends out, or of the paper under an amount of 1.
    pub color: Rgb,
    /// Multiplies the amount.
    pub strength: f32,
}

/// How substances come together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mixing {
    /// Light adds up and saturates softly, so that overlaps do not clip: `1 - (1 - background) exp(-light)`.
    Glow,
    /// Ink swallows light (Beer-Lambert): amounts multiply what they let through. Cyan and yellow make green.
    Ink,
}

/// Draws all layers at once, `width` pixels wide (made even); the height follows from the shape of the first.
/// `relief` shades the total amount as a landscape: 0 is flat, 1 is strong.
///
/// Without a background the picture is transparent. Light then is as opaque as its brightest channel, so that it looks
/// on black as it would with a black background; ink is as opaque as its darkest one, and looks right on white paper.
pub fn draw_layers(
    layers: &[Layer<'_>],
    width: usize,
    mixing: Mixing,
    background: impl Into<Option<Background>>,
    relief: f32,
) -> Result<Image, RenderError> {
    let Some(first) = layers.first() else {
        return Err(RenderError::Length { cells: vec![], values: 0 });
    };
    let background = background.into();
    let (width, height) = first.amount.picture_size(width)?;
    let amounts: Vec<Vec<f32>> = layers.iter().map(|layer| resample(&layer.amount, width, height)).collect();
    // What each channel gains (glow) or loses (ink) for an amount of 1.
    let rate = |layer: &Layer<'_>| match mixing {
        Mixing::Glow => layer.color.map(|c| c * layer.strength),
        // No real ink is perfectly black; this one lets through a five-hundredth.
        Mixing::Ink => layer.color.map(|c| -c.clamp(0.002, 1.0).ln() * layer.strength),
    };
    let rates: Vec<Rgb> = layers.iter().map(rate).collect();
    let thickness = if relief == 0.0 { vec![] } else { total_thickness(layers, &amounts) };
    let relief = Relief::new(&thickness, width, height, relief).wrapping(first.amount.wraps);

    Ok(Image::draw(width, height, |y, row| {
        let clear = match mixing {
            Mixing::Glow => [0.0; 3],
            Mixing::Ink => [1.0; 3],
        };
        let ground = background.as_ref().map_or(clear, |background| background.row(y, height));
        for (x, pixel) in row.iter_mut().enumerate() {
            let mut depth = [0.0; 3];
            let mut finite = true;
            for (amounts, rate) in amounts.iter().zip(&rates) {
                let amount = amounts[y * width + x];
                finite &= amount.is_finite();
                let amount = amount.max(0.0);
                for c in 0..3 {
                    depth[c] += amount * rate[c];
                }
            }
            let through = depth.map(|d: f32| (-d).exp());
            let [r, g, b] = match mixing {
                _ if !finite => NOT_FINITE,
                Mixing::Glow => std::array::from_fn(|c| 1.0 - (1.0 - ground[c]) * through[c]),
                Mixing::Ink => std::array::from_fn(|c| ground[c] * through[c]),
            };
            let straight = match background {
                Some(_) => [r, g, b, 1.0],
                None if !finite => [r, g, b, 1.0],
                None => {
                    let opacity = 1.0 - through.iter().fold(1.0, |least: f32, t| least.min(*t));
                    // On the clear ground this is the colour from above.
                    let whole = |v: f32, ground: f32| ((v - (1.0 - opacity) * ground) / opacity.max(1e-6)).max(0.0);
                    [whole(r, ground[0]), whole(g, ground[1]), whole(b, ground[2]), opacity]
                }
            };
            *pixel = relief.shade(straight, x, y);
        }
    }))
}

/// A height that saturates: thick places are not higher than rather thick ones.
fn total_thickness(layers: &[Layer<'_>], amounts: &[Vec<f32>]) -> Vec<f32> {
    let mut total = vec![0.0; amounts[0].len()];
    for (layer, amounts) in layers.iter().zip(amounts) {
        for (sum, amount) in total.iter_mut().zip(amounts) {
            *sum += layer.strength * amount;
        }
    }
    total.iter_mut().for_each(|v| *v = if v.is_finite() { 1.0 - (-v.max(0.0)).exp() } else { f32::NAN });
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::from_hex;

    const WHITE: Background = Background::solid([1.0; 3]);
    const BLACK: Background = Background::solid([0.0; 3]);

    fn draw(amounts: [f32; 2], colors: [&str; 2], mixing: Mixing, ground: Background) -> [u8; 4] {
        let fields = amounts.map(|v| [v; 4]);
        let layers: Vec<_> = (0..2)
            .map(|i| Layer {
                amount: Plane::new(&fields[i], [2, 2], [1.0; 2]).unwrap(),
                color: from_hex(colors[i]).unwrap(),
                strength: 1.0,
            })
            .collect();
        draw_layers(&layers, 2, mixing, ground, 0.0).unwrap().pixels[0]
    }

    #[test]
    fn cyan_and_yellow_ink_make_green() {
        let [r, g, b, _] = draw([1.0, 1.0], ["#20c0e0", "#f0e020"], Mixing::Ink, WHITE);
        assert!(g > 2 * r && g > 2 * b, "{r} {g} {b}");
    }

    #[test]
    fn an_amount_of_one_shows_the_inks_own_colour_and_none_shows_the_paper() {
        assert_eq!(draw([1.0, 0.0], ["#3060c0", "#ff0000"], Mixing::Ink, WHITE), [0x30, 0x60, 0xc0, 255]);
        assert_eq!(draw([0.0, -3.0], ["#3060c0", "#ff0000"], Mixing::Ink, WHITE), [255; 4]);
    }

    #[test]
    fn lights_that_overlap_are_brighter_and_do_not_clip() {
        let one = draw([0.8, 0.0], ["#ff8040", "#40c0ff"], Mixing::Glow, BLACK);
        let both = draw([0.8, 0.8], ["#ff8040", "#40c0ff"], Mixing::Glow, BLACK);
        for c in 0..3 {
            assert!(both[c] >= one[c] && both[c] < 250);
        }
        assert_eq!(draw([0.0, 0.0], ["#fff", "#fff"], Mixing::Glow, BLACK), [0, 0, 0, 255]);
    }

    #[test]
    fn without_a_background_a_picture_looks_on_black_or_paper_as_if_drawn_there() {
        let field = [0.7; 4];
        let amount = Plane::new(&field, [2, 2], [1.0; 2]).unwrap();
        let layers = [Layer { amount, color: from_hex("#d08040").unwrap(), strength: 1.0 }];
        for (mixing, ground, behind) in [(Mixing::Glow, BLACK, 0.0), (Mixing::Ink, WHITE, 1.0)] {
            let on = draw_layers(&layers, 2, mixing, ground, 0.0).unwrap().pixels[0];
            let [r, g, b, a] = draw_layers(&layers, 2, mixing, None, 0.0).unwrap().pixels[0];
            let alpha = f32::from(a) / 255.0;
            assert!(a > 50 && a < 255, "{a}");
            for (straight, on) in [r, g, b].into_iter().zip(on) {
                let linear = |v: u8| crate::color::from_srgb8([v; 3])[0];
                let over = alpha * linear(straight) + (1.0 - alpha) * behind;
                // Two roundings to a level each, of colour and of opacity.
                assert!((over - linear(on)).abs() < 0.012, "{mixing:?}: {over} {}", linear(on));
            }
        }
        assert_eq!(draw_layers(&layers[..0], 2, Mixing::Ink, None, 0.0).map(|i| i.width).ok(), None);
    }

    #[test]
    fn not_finite_is_magenta_and_no_layers_is_an_error() {
        assert_eq!(draw([f32::NAN, 0.0], ["#fff", "#fff"], Mixing::Ink, WHITE), [255, 0, 255, 255]);
        assert!(draw_layers(&[], 16, Mixing::Ink, WHITE, 0.0).is_err());
    }
}

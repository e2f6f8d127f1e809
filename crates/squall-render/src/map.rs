//! One field through a colour map.

use crate::color::NOT_FINITE;
use crate::colormap::ColorMap;
use crate::image::Image;
use crate::plane::{Plane, RenderError};
use crate::relief::Relief;
use crate::resample::resample;

/// The values at the two ends of a colour map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Drawn in the map's first colour, like all below.
    pub lo: f32,
    /// Drawn in the map's last colour, like all above.
    pub hi: f32,
}

impl Range {
    /// A range that leaves out the lowest and highest `outside` (0 to 0.5) of all finite values, so that a few
    /// extremes do not darken the rest. Use one range for all frames of a movie, or it will flicker.
    pub fn robust(values: &[f32], outside: f64) -> Self {
        let mut finite: Vec<f32> = values.iter().copied().filter(|v| v.is_finite()).collect();
        if finite.is_empty() {
            return Self { lo: 0.0, hi: 0.0 };
        }
        let skip = (outside.clamp(0.0, 0.5) * (finite.len() - 1) as f64) as usize;
        let last = finite.len() - 1;
        let mut rank = |n: usize| *finite.select_nth_unstable_by(n, f32::total_cmp).1;
        let inner = Self { lo: rank(skip), hi: rank(last - skip) };
        // A wisp in an empty box: the robust range is empty, so take what there is.
        if inner.lo < inner.hi { inner } else { Self { lo: rank(0), hi: rank(last) } }
    }

    /// The smallest range around zero that holds this one: for diverging maps.
    pub fn symmetric(self) -> Self {
        let hi = self.lo.abs().max(self.hi.abs());
        Self { lo: -hi, hi }
    }
}

/// How a field becomes a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct MapStyle {
    /// The colours.
    pub map: ColorMap,
    /// The values of the end colours. A diverging map uses the symmetric range around it.
    pub range: Range,
    /// Below 1 brings out low values, above 1 high ones. Diverging maps leave it alone.
    pub gamma: f32,
    /// How strongly the field is shaded as if it were a landscape lit from the upper left; 0 is flat, 1 is strong.
    pub relief: f32,
    /// `None` draws an opaque picture. Else this times the share of the range that a value reaches is its opacity; in a
    /// diverging map, how far it is from the middle.
    pub opacity: Option<f32>,
}

impl MapStyle {
    /// Flat, gamma 1, opaque.
    pub fn new(map: ColorMap, range: Range) -> Self {
        Self { map, range, gamma: 1.0, relief: 0.0, opacity: None }
    }
}

/// Draws a field, `width` pixels wide (made even); the height follows from the shape of the field.
pub fn draw_map(plane: &Plane<'_>, width: usize, style: &MapStyle) -> Result<Image, RenderError> {
    let (width, height) = plane.picture_size(width)?;
    let diverging = style.map.is_diverging();
    let Range { lo, hi } = if diverging { style.range.symmetric() } else { style.range };
    let table = style.map.table(if diverging { 1.0 } else { style.gamma });
    // An empty range: everything is the middle of a diverging map, the start of another.
    let (offset, scale) = if hi > lo { (lo, 1.0 / (hi - lo)) } else { (lo, 0.0) };
    let empty = if diverging && hi <= lo { 0.5 } else { 0.0 };

    let values = resample(plane, width, height);
    let relief = Relief::new(&values, width, height, style.relief * scale).wrapping(plane.wraps);
    Ok(Image::draw(width, height, |y, row| {
        let line = &values[y * width..][..width];
        for (x, (pixel, &v)) in row.iter_mut().zip(line).enumerate() {
            let share = (v - offset) * scale + empty;
            let [r, g, b] = if v.is_finite() { table.at(share) } else { NOT_FINITE };
            let alpha = match style.opacity {
                Some(opacity) if v.is_finite() => {
                    let share = if diverging { (2.0 * share - 1.0).abs() } else { share.max(0.0).powf(style.gamma) };
                    (opacity * share).clamp(0.0, 1.0)
                }
                _ => 1.0,
            };
            *pixel = relief.shade([r, g, b, alpha], x, y);
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(name: &str, lo: f32, hi: f32) -> MapStyle {
        MapStyle::new(ColorMap::by_name(name).unwrap(), Range { lo, hi })
    }

    #[test]
    fn y_is_up_and_the_aspect_is_that_of_the_cells() {
        let values: Vec<f32> = (0..8 * 4).map(|i| (i / 8) as f32 / 3.0).collect();
        let plane = Plane::new(&values, [8, 4], [0.1, 0.4]).unwrap();
        let image = draw_map(&plane, 101, &style("grey", 0.0, 1.0)).unwrap();
        assert_eq!((image.width, image.height), (102, 202));
        assert_eq!(image.pixels[0], [255, 255, 255, 255]);
        assert_eq!(image.pixels[102 * 201], [0, 0, 0, 255]);
    }

    #[test]
    fn values_that_are_not_finite_are_magenta_and_the_rest_is_not() {
        let mut values = vec![0.5; 16 * 16];
        values[0] = f32::NAN;
        values[255] = f32::INFINITY;
        let plane = Plane::new(&values, [16, 16], [1.0; 2]).unwrap();
        for relief in [0.0, 1.0] {
            let image = draw_map(&plane, 64, &MapStyle { relief, ..style("viridis", 0.0, 1.0) }).unwrap();
            assert_eq!(image.pixels[64 * 63], [255, 0, 255, 255]);
            assert_eq!(image.pixels[63], [255, 0, 255, 255]);
            assert_ne!(image.pixels[64 * 32 + 32], [255, 0, 255, 255]);
        }
    }

    #[test]
    fn empty_ranges_are_drawn_without_complaint() {
        let values = [3.0; 9];
        let plane = Plane::new(&values, [3, 3], [1.0; 2]).unwrap();
        for name in ["grey", "diverging"] {
            for (lo, hi) in [(3.0, 3.0), (0.0, 0.0), (1.0, -1.0), (f32::NAN, 1.0), (0.0, f32::INFINITY)] {
                draw_map(&plane, 16, &style(name, lo, hi)).unwrap();
            }
        }
        assert_eq!(draw_map(&plane, 2, &style("grey", 3.0, 3.0)).unwrap().pixels[0], [0, 0, 0, 255]);
    }

    #[test]
    fn zero_is_the_middle_of_a_diverging_map() {
        let values = [0.0; 4];
        let plane = Plane::new(&values, [2, 2], [1.0; 2]).unwrap();
        let image = draw_map(&plane, 2, &style("diverging", -1.0, 5.0)).unwrap();
        assert_eq!(image.pixels[0], [0xf6, 0xf4, 0xf0, 255]);
    }

    #[test]
    fn without_a_background_the_share_of_the_range_is_the_opacity() {
        let values = [0.0, 1.0, 2.0, 8.0];
        let plane = Plane::new(&values, [4, 1], [1.0, 1.0]).unwrap();
        let style = MapStyle { opacity: Some(1.0), ..style("grey", 0.0, 4.0) };
        let alphas: Vec<u8> = draw_map(&plane, 4, &style).unwrap().pixels[..4].iter().map(|p| p[3]).collect();
        assert_eq!(alphas, [0, 64, 128, 255]);
        let diverging = MapStyle { opacity: Some(1.0), ..self::style("diverging", -8.0, 8.0) };
        assert_eq!(draw_map(&plane, 4, &diverging).unwrap().pixels.iter().map(|p| p[3]).max(), Some(255));
        assert_eq!(draw_map(&plane, 4, &diverging).unwrap().pixels[0][3], 0);
    }

    #[test]
    fn robust_ranges_leave_out_extremes_but_never_everything() {
        let mut values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        values.extend([1e9, -1e9, f32::NAN, f32::INFINITY]);
        let range = Range::robust(&values, 0.01);
        assert!((5.0..15.0).contains(&range.lo) && (985.0..995.0).contains(&range.hi), "{range:?}");
        let mut wisp = vec![0.0; 1000];
        wisp[3] = 2.0;
        assert_eq!(Range::robust(&wisp, 0.01), Range { lo: 0.0, hi: 2.0 });
        assert_eq!(Range::robust(&[f32::NAN], 0.01), Range { lo: 0.0, hi: 0.0 });
    }

    #[test]
    fn pictures_are_the_same_for_any_number_of_threads() {
        let values: Vec<f32> = (0..60 * 50).map(|i| (i as f32 * 0.37).sin()).collect();
        let plane = Plane::new(&values, [60, 50], [1.0; 2]).unwrap();
        let style = MapStyle { relief: 0.5, ..style("turbo", -1.0, 1.0) };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| draw_map(&plane, 256, &style)).unwrap()
        };
        let one = on(1);
        assert!([2, 3, 7].into_iter().all(|threads| on(threads) == one));
    }
}

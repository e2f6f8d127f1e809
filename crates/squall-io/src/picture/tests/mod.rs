//! What the whole promises; parts have their tests beside them.

mod drawn;
mod hostile;
mod pictures;

use super::*;
use squall_core::{Grid, Side};

fn grid(cells: [usize; 2]) -> Grid<2> {
    Grid::walled(cells, Side::Slip)
}

/// Exactly the box.
fn stretched() -> Placement {
    Placement { fit: Fit::Stretch, margin: 0.0, ..Placement::default() }
}

/// The share of the box that is covered.
fn mean(density: &[f32]) -> f64 {
    density.iter().map(|&v| f64::from(v)).sum::<f64>() / density.len() as f64
}

fn artwork(width: usize, height: usize, pixel: impl Fn(usize, usize) -> [f32; 4]) -> Artwork {
    let pixels = (0..width * height).map(|i| pixel(i % width, i / width)).collect();
    Artwork { name: "test".into(), width, height, pixels }
}

/// A file of the given format with a ring and some noise, opaque.
fn encoded(format: ::image::ImageFormat) -> Vec<u8> {
    let picture = ::image::RgbImage::from_fn(19, 13, |x, y| {
        let r = (x as i32 - 9).pow(2) + (y as i32 - 6).pow(2);
        let v = if (9..=30).contains(&r) { 20 } else { 235 };
        ::image::Rgb([v, v ^ (x as u8 & 3), v])
    });
    let mut file = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut file, format).unwrap();
    file.into_inner()
}

const FORMATS: [(::image::ImageFormat, &str); 6] = [
    (::image::ImageFormat::Png, "a.png"),
    (::image::ImageFormat::Jpeg, "a.jpg"),
    (::image::ImageFormat::WebP, "a.webp"),
    (::image::ImageFormat::Gif, "a.gif"),
    (::image::ImageFormat::Bmp, "a.bmp"),
    (::image::ImageFormat::Tiff, "a.tiff"),
];

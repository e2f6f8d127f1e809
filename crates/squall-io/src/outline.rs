//! Outlines of liquids in 2D as SVG drawings.

use crate::output::{IoError, write_whole};
use squall_core::surface::Outline;
use std::fmt::Write;
use std::path::Path;

/// How an outline is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutlineStyle {
    /// What is seen: the lowest x and y, width and height, in metres.
    pub view: [f32; 4],
    /// How wide the drawing is, in pixels; the height follows.
    pub width: u32,
    /// Red, green and blue of the liquid.
    pub fill: [u8; 3],
    /// Red, green and blue of what is behind it; none is transparent.
    pub background: Option<[u8; 3]>,
}

/// Writes an outline as an SVG drawing: one path, y up, to the hundredth of a pixel.
pub fn write_outline_svg(path: impl AsRef<Path>, outline: &Outline, style: &OutlineStyle) -> Result<(), IoError> {
    let path = path.as_ref();
    let [_, _, across, up] = style.view;
    // Not a number is not more than anything.
    if !(style.view.iter().all(|x| x.is_finite()) && across > 0.0 && up > 0.0 && style.width > 0) {
        let what = format!("nothing is seen in {:?}, {} pixels wide", style.view, style.width);
        return Err(IoError::content(path, what));
    }
    if !outline.loops.as_slice().concat().as_flattened().iter().all(|x| x.is_finite()) {
        return Err(IoError::content(path, "a corner of the outline is not a number"));
    }
    write_whole(path, drawing(outline, style).as_bytes())
}

fn drawing(outline: &Outline, style: &OutlineStyle) -> String {
    let [left, bottom, across, up] = style.view.map(f64::from);
    let scale = f64::from(style.width) / across;
    let (width, height) = (style.width, hundredth(up * scale));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n"
    );
    // Writing to a string cannot fail.
    if let Some([r, g, b]) = style.background {
        let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#{r:02x}{g:02x}{b:02x}\"/>");
    }
    let [r, g, b] = style.fill;
    let _ = write!(out, "<path fill=\"#{r:02x}{g:02x}{b:02x}\" fill-rule=\"evenodd\" d=\"");
    // Less than three corners enclose nothing.
    for corners in outline.loops.iter().filter(|corners| corners.len() > 2) {
        for (i, corner) in corners.iter().enumerate() {
            let [x, y] = corner.map(f64::from);
            let (x, y) = (hundredth((x - left) * scale), hundredth((bottom + up - y) * scale));
            // After `M`, further pairs are lines.
            let before = if i == 0 { "M" } else { " " };
            // A minus sign separates as well as a blank does.
            let between = if y < 0.0 { "" } else { " " };
            let _ = write!(out, "{before}{x}{between}{y}");
        }
        out.push('z');
    }
    out + "\"/>\n</svg>\n"
}

fn hundredth(x: f64) -> f64 {
    // Adding 0 makes 0 of -0.
    (x * 100.0).round() / 100.0 + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    const STYLE: OutlineStyle =
        OutlineStyle { view: [-1.0, 0.0, 4.0, 2.0], width: 400, fill: [10, 20, 255], background: None };

    #[test]
    fn a_drawing_has_one_path_with_y_up() {
        let outer = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0 / 3.0], [0.0, 3.0]];
        let outline = Outline { loops: vec![outer, vec![[0.5, 0.5], [0.5, 0.6], [0.6, 0.5]], vec![[0.0; 2]; 2]] };
        let expected = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"400\" height=\"200\" viewBox=\"0 0 400 200\">\n\
            <path fill=\"#0a14ff\" fill-rule=\"evenodd\" d=\"M100 200 200 200 200 166.67 100-100zM150 150 150 140 160 150z\"/>\n\
            </svg>\n";
        assert_eq!(drawing(&outline, &STYLE), expected);
        let behind = drawing(&Outline::default(), &OutlineStyle { background: Some([255; 3]), ..STYLE });
        assert!(behind.contains("<rect width=\"400\" height=\"200\" fill=\"#ffffff\"/>") && behind.contains("d=\"\""));
    }

    #[test]
    #[cfg(feature = "svg")]
    fn the_drawing_shows_liquid_where_it_is_and_none_in_holes() {
        let square = |low: f32, high: f32| vec![[low, low], [high, low], [high, high], [low, high]];
        let hole = square(0.5, 0.75).into_iter().rev().collect();
        let outline = Outline { loops: vec![square(0.0, 1.0), hole] };
        let text = drawing(&outline, &OutlineStyle { view: [0.0, 0.0, 2.0, 1.0], width: 20, ..STYLE });
        let tree = resvg::usvg::Tree::from_str(&text, &resvg::usvg::Options::default()).unwrap();
        let mut picture = resvg::tiny_skia::Pixmap::new(20, 10).unwrap();
        resvg::render(&tree, resvg::tiny_skia::Transform::default(), &mut picture.as_mut());
        let opacity = |x: u32, y: u32| picture.pixel(x, y).unwrap().alpha();
        // From the top: the hole lies from the third row on, half way.
        assert_eq!([opacity(1, 1), opacity(6, 3), opacity(6, 8), opacity(12, 3)], [255, 0, 255, 0]);
    }

    #[test]
    fn a_view_of_nothing_is_refused() {
        let folder = TestFolder::new("outline");
        let path = folder.join("a.svg");
        let write = |style, corner| write_outline_svg(&path, &Outline { loops: vec![vec![corner; 3]] }, &style);
        assert!(write(OutlineStyle { view: [0.0, 0.0, f32::NAN, 1.0], ..STYLE }, [0.0; 2]).is_err());
        assert!(write(OutlineStyle { width: 0, ..STYLE }, [0.0; 2]).is_err());
        assert!(write(STYLE, [f32::NAN, 0.0]).is_err());
        assert!(folder.names().is_empty());
        write(STYLE, [0.0; 2]).unwrap();
    }
}

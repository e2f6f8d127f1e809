//! Letters and drawings.

use super::*;
use crate::test_folder::TestFolder;

/// The mean in one part of a coverage: left, top, right, bottom in shares.
fn part(c: &Coverage, [left, top, right, bottom]: [f64; 4]) -> f64 {
    let (xs, ys) =
        ([left, right].map(|s| (s * c.width as f64) as usize), [top, bottom].map(|s| (s * c.height as f64) as usize));
    let values = (ys[0]..ys[1]).flat_map(|y| (xs[0]..xs[1]).map(move |x| f64::from(c.values[y * c.width + x])));
    values.sum::<f64>() / ((xs[1] - xs[0]) * (ys[1] - ys[0])) as f64
}

#[test]
fn an_l_stands_upright_with_its_bar_at_the_bottom() {
    let letter = draw_text("L", &Font::carried(), [200, 200]).unwrap();
    assert_eq!(letter.height.max(letter.width) / 2, 99, "as large as fits: {} x {}", letter.width, letter.height);
    let cells = [24, 32];
    let density = letter.density(&grid(cells), &stretched()).unwrap();
    let row = |j: usize| mean(&density[j * cells[0]..][..cells[0]]);
    assert!(row(1) > 0.9, "the bar is in the lowest rows of the simulation: {}", row(1));
    assert!(row(30) < 0.5, "only the stem is in the highest: {}", row(30));
    let left = (0..cells[1]).map(|j| f64::from(density[j * cells[0] + 2])).sum::<f64>() / cells[1] as f64;
    assert!(left > 0.9, "the stem is on the left: {left}");
}

#[test]
fn lines_are_below_each_other_and_centred() {
    let lines = draw_text("i\nMMM", &Font::carried(), [300, 300]).unwrap();
    assert!(part(&lines, [0.0, 0.0, 0.3, 0.4]) == 0.0 && part(&lines, [0.7, 0.0, 1.0, 0.4]) == 0.0);
    assert!(part(&lines, [0.4, 0.0, 0.6, 0.4]) > 0.1, "the i is in the middle of the first line");
    assert!(part(&lines, [0.0, 0.7, 0.3, 1.0]) > 0.3, "the second is full");
}

#[test]
fn letters_of_a_pair_move_together() {
    let width = |text: &str| {
        let drawn = draw_text(text, &Font::carried(), [2000, 400]).unwrap();
        drawn.width as f64 / drawn.height as f64
    };
    assert!(width("AV") < 0.97 * width("AHV") - 0.9 * (width("HH") - width("H")), "kerning");
}

#[test]
fn what_cannot_be_written_is_named() {
    let font = Font::carried();
    let error = |text: &str| draw_text(text, &font, [100, 100]).unwrap_err();
    assert!(matches!(error(""), PictureError::NoVisibleText));
    assert!(matches!(error(" \n\t "), PictureError::NoVisibleText));
    let message = error("smoke 煙 and 煙 火").to_string();
    assert!(message.contains("Noto Sans Bold has no '煙', '火'"), "{message}");
    assert!(matches!(error(&"a".repeat(3000)), PictureError::Text { .. }));
    assert!(matches!(draw_text("a", &font, [0, 10]), Err(PictureError::Text { .. })));
    assert!(draw_text("ψ → ω".replace('→', "-").as_str(), &font, [64, 64]).is_ok(), "Greek is there");
    for tiny in 1..6 {
        assert!(draw_text("Squall", &font, [tiny, tiny]).is_ok(), "{tiny} pixels");
    }
}

#[test]
fn a_font_comes_from_a_file_or_an_error_names_it() {
    let folder = TestFolder::new("font");
    let missing = Font::load(folder.join("missing.ttf")).unwrap_err();
    assert!(missing.to_string().contains("missing.ttf") && missing.to_string().contains("does not exist"), "{missing}");
    std::fs::write(folder.join("not.ttf"), b"no font at all").unwrap();
    assert!(matches!(Font::load(folder.join("not.ttf")), Err(PictureError::NotAFont { .. })));
    let whole = crate::picture::text::CARRIED;
    std::fs::write(folder.join("bold.ttf"), whole).unwrap();
    let loaded = Font::load(folder.join("bold.ttf")).unwrap();
    assert!(loaded.name().ends_with("bold.ttf"));
    let [loaded, carried] = [&loaded, &Font::carried()].map(|font| draw_text("I", font, [100, 100]).unwrap().mean());
    assert_eq!(loaded, carried);
    // Whatever of a font is cut off: an error or a picture.
    for length in (0..whole.len()).step_by(1009) {
        if let Ok(font) = Font::parse(whole[..length].to_vec(), "cut.ttf") {
            let _ = draw_text("Squall", &font, [50, 50]);
        }
    }
}

#[cfg(feature = "svg")]
mod svg {
    use super::*;

    fn svg(content: &str) -> Result<Artwork, PictureError> {
        let file = format!(r#"<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{content}</svg>"#);
        parse_svg(file.as_bytes(), "a.svg", [300, 300])
    }

    #[test]
    fn a_circle_has_its_area_and_its_colour() {
        let drawn = svg(r##"<circle cx="10" cy="10" r="8" fill="#ff0000"/>"##).unwrap();
        assert_eq!((drawn.width, drawn.height), (300, 150), "the aspect is kept");
        let ink = drawn.ink(Channel::Auto, false).unwrap();
        let expected = std::f64::consts::PI * 64.0 / 800.0;
        assert!((ink.coverage.mean() / expected - 1.0).abs() < 0.002, "{} and not {expected}", ink.coverage.mean());
        // The colour of edges is rounded to 8 bits.
        assert!((0..3).all(|c| (ink.color[c] - [1.0, 0.0, 0.0][c]).abs() < 0.01), "{:?}", ink.color);
        let placed = ink.coverage.density(&grid([64, 64]), &Placement { margin: 0.0, ..Placement::default() }).unwrap();
        assert!((mean(&placed) / (0.5 * expected) - 1.0).abs() < 0.002, "half of the box is above and below it");
        assert!(placed[32 * 64 + 16] == 1.0 && placed[32 * 64 + 48] == 0.0, "on the left");
    }

    #[test]
    fn text_in_a_drawing_is_drawn_whatever_its_font() {
        let drawn = svg(r#"<text x="2" y="16" font-family="Nowhere" font-size="16">Hi</text>"#).unwrap();
        assert!(drawn.ink(Channel::Auto, false).unwrap().coverage.mean() > 0.1);
    }

    #[test]
    fn nothing_is_opened_and_nothing_left_out_silently() {
        let folder = TestFolder::new("svg");
        let secret = folder.join("secret.png");
        crate::write_png(&secret, 1, 1, &[0; 3]).unwrap();
        for href in [secret.display().to_string(), "data:image/png;base64,iVBORw0KGgo=".into()] {
            let result = svg(&format!(r#"<image href="{href}" width="9" height="9"/>"#));
            assert!(matches!(result, Err(PictureError::PictureInDrawing { .. })), "{href}");
        }
        assert!(matches!(svg(""), Ok(drawn) if drawn.ink(Channel::Auto, false).is_err()), "an empty drawing is blank");
    }
}

#[test]
fn labels_of_one_height_stand_on_one_line() {
    let font = Font::carried();
    let lowest_row = |text: &str| {
        let label = font.label(text, 40.0);
        assert_eq!(label.height, 40);
        let inked = |row: &usize| label.values[row * label.width..][..label.width].iter().any(|&v| v > 0.5);
        (0..label.height).rev().find(inked)
    };
    assert_eq!(lowest_row("x"), lowest_row("E"));
    assert!(lowest_row("p") > lowest_row("x"), "it has a descender");
    assert_eq!(lowest_row(""), None);
    assert!(font.label("wide", 40.0).width > 2 * font.label("i", 40.0).width);
}

//! Files that are broken, or mean harm: an error each time, soon, and without much memory.

use super::*;
use std::time::{Duration, Instant};

fn never_slow(what: &str, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    assert!(start.elapsed() < Duration::from_secs(10), "{what} took {:?}", start.elapsed());
}

#[test]
fn a_file_cut_anywhere_gives_an_error_or_a_picture() {
    for (format, name) in FORMATS {
        let whole = encoded(format);
        for length in 0..whole.len() {
            match parse_picture(&whole[..length], name) {
                Ok(picture) => assert_eq!((picture.width, picture.height), (19, 13)),
                Err(PictureError::Unknown { .. } | PictureError::Damaged { .. }) => {}
                Err(other) => panic!("{name} cut at {length}: {other}"),
            }
            if let Ok(frames) = parse_frames(&whole[..length], Path::new(name)) {
                assert!(frames.count() <= 3);
            }
        }
        let half = parse_picture(&whole[..whole.len() / 3], name).unwrap_err().to_string();
        assert!(half.contains(name), "{half}");
    }
}

#[test]
fn a_file_with_one_wrong_byte_gives_an_error_or_a_picture() {
    for (format, name) in FORMATS {
        let whole = encoded(format);
        for at in 0..whole.len() {
            for wrong in [0, 0xff, whole[at] ^ 0x80] {
                let mut file = whole.clone();
                file[at] = wrong;
                let _ = parse_picture(&file, name);
            }
        }
    }
}

/// A PNG file that claims to be this large, with its checksums right.
fn png_of_size(width: u32, height: u32) -> Vec<u8> {
    let mut file = encoded(::image::ImageFormat::Png);
    file[16..20].copy_from_slice(&width.to_be_bytes());
    file[20..24].copy_from_slice(&height.to_be_bytes());
    let crc = crc32fast::hash(&file[12..29]);
    file[29..33].copy_from_slice(&crc.to_be_bytes());
    file
}

#[test]
fn a_picture_that_claims_to_be_huge_is_refused_at_once() {
    never_slow("a huge header", || {
        for [width, height] in [[u32::MAX >> 1, u32::MAX >> 1], [100_000, 2], [1, 20_000]] {
            let error = parse_picture(&png_of_size(width, height), "bomb.png").unwrap_err();
            assert!(matches!(error, PictureError::TooLarge { .. }), "{error}");
            assert!(error.to_string().contains("bomb.png"));
        }
        let mut gif = encoded(::image::ImageFormat::Gif);
        gif[6..10].copy_from_slice(&[0xff; 4]);
        assert!(matches!(parse_picture(&gif, "bomb.gif"), Err(PictureError::TooLarge { .. })));
        let mut bmp = encoded(::image::ImageFormat::Bmp);
        bmp[18..22].copy_from_slice(&60_000_u32.to_le_bytes());
        assert!(parse_picture(&bmp, "bomb.bmp").is_err());
    });
}

#[test]
fn what_is_no_picture_is_said_so() {
    for (data, name) in [(&b""[..], "empty.png"), (b"hello", "hello.jpg"), (b"\0\0\0\0\0\0\0\0", "zeros.bmp")] {
        let error = parse_picture(data, name).unwrap_err();
        assert!(error.to_string().contains("PNG, JPEG"), "{error}");
    }
    assert!(load_picture(std::env::temp_dir()).unwrap_err().to_string().contains("not a file"));
    let missing = load_picture("no/such/picture.png").unwrap_err().to_string();
    assert!(missing.contains("no/such/picture.png") && missing.contains("does not exist"), "{missing}");
}

#[test]
fn numbers_that_place_nothing_are_refused() {
    let full = Coverage { width: 2, height: 2, values: vec![1.0; 4] };
    let usual = Placement::default();
    for placement in [
        Placement { margin: f64::NAN, ..usual },
        Placement { margin: 0.5, ..usual },
        Placement { rotation: f64::INFINITY, ..usual },
        Placement { center: Some([f64::NAN, 0.0]), ..usual },
        Placement { size: Some([1.0, 0.0]), ..usual },
    ] {
        assert!(matches!(full.density(&grid([4, 4]), &placement), Err(PictureError::Placement { .. })));
    }
    for placement in [Placement { center: Some([1e30, -1e30]), ..usual }, Placement { size: Some([1e-30; 2]), ..usual }]
    {
        let density = full.density(&grid([4, 4]), &placement).unwrap();
        assert!(density.iter().all(|v| v.is_finite()) && mean(&density) < 1e-9);
    }
    let huge = Placement { size: Some([1e30; 2]), rotation: 20.0, ..usual };
    assert!(full.density(&grid([4, 4]), &huge).unwrap().iter().all(|&v| (v - 1.0).abs() < 1e-6));
}

#[cfg(feature = "svg")]
mod svg {
    use super::*;

    const DRAWING: &str = r##"<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10">
        <defs><linearGradient id="g"><stop offset="0.5" stop-color="#123"/></linearGradient></defs>
        <g transform="rotate(3 4 5)"><path d="M 1 1 C 2 2 3 3 9 1 z" stroke="url(#g)"/><text x="1" y="5">Ag</text></g></svg>"##;

    #[test]
    fn a_drawing_cut_anywhere_gives_an_error_or_a_picture() {
        assert!(parse_svg(DRAWING.as_bytes(), "a.svg", [40, 40]).is_ok());
        for length in 0..DRAWING.len() {
            let result = parse_svg(&DRAWING.as_bytes()[..length], "a.svg", [40, 40]);
            assert!(matches!(result, Err(PictureError::Damaged { .. })), "cut at {length}");
        }
    }

    #[test]
    fn drawings_that_multiply_nest_and_overflow_end_soon() {
        let head = r#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9">"#;
        let uses =
            |i: usize| format!(r##"<g id="g{}">{}</g>"##, i + 1, format!(r##"<use xlink:href="#g{i}"/>"##).repeat(10));
        let laughs: String = (0..9).map(uses).collect();
        let entities = r#"<!DOCTYPE svg [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">
            <!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;">]>"#;
        let files = [
            ("uses of uses", format!(r#"{head}<rect id="g0" width="1" height="1"/>{laughs}</svg>"#)),
            ("entities", format!("{entities}{head}<text>&f;&f;&f;</text></svg>")),
            ("nested groups", format!("{head}{}{}</svg>", "<g>".repeat(50_000), "</g>".repeat(50_000))),
            ("itself", format!(r##"{head}<g id="a"><use xlink:href="#a"/></g></svg>"##)),
            (
                "numbers",
                format!(r#"{head}<path d="M 1e38 1e38 L -1e38 NaN 1e999 0" stroke-width="1e38" stroke="red"/></svg>"#),
            ),
            ("dashes", format!(r#"{head}<path d="M 0 0 L 9e9 9" stroke="red" stroke-dasharray="1e-6"/></svg>"#)),
            ("size", r#"<svg xmlns="http://www.w3.org/2000/svg" width="1e30" height="1e-30"/>"#.into()),
            ("no size", r#"<svg xmlns="http://www.w3.org/2000/svg" width="0" height="-4"/>"#.into()),
        ];
        for (what, file) in files {
            never_slow(what, || drop(parse_svg(file.as_bytes(), "a.svg", [100, 100])));
        }
        assert!(matches!(parse_svg(b"<svg", "a.svg", [0, 9]), Err(PictureError::TooLarge { .. })));
    }
}

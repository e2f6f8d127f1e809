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

/// A PNG file of these chunks after its header.
fn png_with(width: u32, bits: u8, colors: u8, chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = [width.to_be_bytes(), width.to_be_bytes()].concat();
    header.extend([bits, colors, 0, 0, 0]);
    for (name, data) in [(b"IHDR", header)].iter().chain(chunks) {
        file.extend((data.len() as u32).to_be_bytes());
        let at = file.len();
        file.extend(*name);
        file.extend(data);
        file.extend(crc32fast::hash(&file[at..]).to_be_bytes());
    }
    file
}

#[test]
fn a_picture_that_would_take_much_memory_is_refused_before_it_is_decoded() {
    let error = parse_picture(&png_with(10_000, 16, 6, &[(b"IDAT", vec![])]), "large.png").unwrap_err().to_string();
    assert!(error.contains("large.png is too large") && error.contains("200 MB of pixels"), "{error}");
    // 64 MB of a colour profile in 64 kB. It is not used: left out or refused, but never unpacked.
    let mut profile = b"x\0\0".to_vec();
    profile.extend(miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; 64 << 20], 6));
    let pixels = miniz_oxide::deflate::compress_to_vec_zlib(&[0; 25 * 8], 6);
    let file = png_with(8, 8, 2, &[(b"iCCP", profile), (b"IDAT", pixels), (b"IEND", vec![])]);
    match parse_picture(&file, "profile.png") {
        Ok(picture) => assert_eq!(picture.width, 8),
        Err(error) => assert!(matches!(error, PictureError::TooLarge { .. }), "{error}"),
    }
}

#[test]
fn a_film_without_frames_is_an_error() {
    let empty = b"GIF89a\x08\0\x08\0\x80\0\0\0\0\0\xff\xff\xff;";
    let read = parse_frames(empty, Path::new("empty.gif"))
        .and_then(|frames| frames.collect::<Result<Vec<_>, _>>())
        .unwrap_err()
        .to_string();
    assert!(read.contains("empty.gif"), "{read}");
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
        let filter = |steps: &str| {
            format!(r##"{head}<filter id="f">{steps}</filter><rect width="9" height="9" filter="url(#f)"/></svg>"##)
        };
        let once = |what: &str| format!("{head}{what}</svg>");
        let doctype = |what: &str| format!(r#"<!DOCTYPE svg [<!ENTITY a "{what}">]>"#);
        // Each used to panic, to abort, to take more than six seconds or more than 350 MB.
        let refused = [
            ("1e15", once(r#"<circle r="1e15"/>"#)),
            ("1e15", once(r#"<text y="5" font-size="1e15">Ag</text>"#)),
            ("1e30", once(r#"<g transform="scale(1e30)"><rect width="1" height="1"/></g>"#)),
            ("3.4e38", once(r#"<path d="M1 2L3 4M138 3.4e38L5 6" stroke="red" fill="none"/>"#)),
            ("numOctaves", filter(r#"<feTurbulence baseFrequency="0.1" numOctaves="999999999"/>"#)),
            ("at most 100 ", filter(r#"<feMorphology operator="dilate" radius="1000"/>"#)),
            ("2000 steps", filter(&r#"<feGaussianBlur stdDeviation="5"/>"#.repeat(2000))),
            (
                "at most 50",
                filter(&format!(r#"<feConvolveMatrix order="300" kernelMatrix="{}"/>"#, "1 ".repeat(90_000))),
            ),
            (
                "100000 letters",
                once(&format!("<text>{}</text>", "\u{e01}\u{e33}\u{1e9e}\u{915}\u{94d}".repeat(20_000))),
            ),
            ("20000 times", format!("{}{head}{}</svg>", doctype("x"), "&a;".repeat(20_000))),
            ("plain text", format!("{}{head}&a;</svg>", doctype("<rect width='1' height='1'/>"))),
            ("plain text", format!("{}{head}<text>&a;</text></svg>", doctype(&"x".repeat(10_000)))),
            ("200 deep", once(&format!("{}{}", "<g>".repeat(50_000), "</g>".repeat(50_000)))),
            ("elements", once(&r#"<rect width="1" height="1"/>"#.repeat(150_000))),
            ("refers to", format!(r#"{head}<rect id="g0" width="1" height="1"/>{laughs}</svg>"#)),
            (
                "refers to",
                once(&format!(
                    r##"<marker id="m">{}</marker><path marker-mid="url(#m)" d="M0 0{}"/>"##,
                    r#"<path d="M0 0L1 1"/>"#.repeat(1000),
                    "L1 2 3 4".repeat(20_000)
                )),
            ),
            (
                "MB to draw",
                once(&format!(
                    "{}<rect width=\"9\" height=\"9\"/>{}",
                    r#"<g opacity="0.5">"#.repeat(190),
                    "</g>".repeat(190)
                )),
            ),
        ];
        for (why, file) in refused {
            never_slow(why, || {
                let error = parse_svg(file.as_bytes(), "a.svg", [1024, 1024]).unwrap_err();
                assert!(matches!(&error, PictureError::TooComplex { .. }), "{why}: {error}");
                assert!(error.to_string().contains(why) && error.to_string().contains("a.svg"), "{why}: {error}");
            });
        }
        // Nothing that can be counted before, but it takes a minute: the deadline.
        let slow = filter(&r#"<feMorphology operator="dilate" radius="90"/>"#.repeat(40)).replace("\"9\"", "\"900\"");
        never_slow("the deadline", || {
            let error = parse_svg(slow.as_bytes(), "a.svg", [1024, 1024]).unwrap_err();
            assert!(error.to_string().contains("1.5 s"), "{error}");
        });
        assert!(matches!(parse_svg(b"<svg", "a.svg", [0, 9]), Err(PictureError::TooLarge { .. })));
    }
}

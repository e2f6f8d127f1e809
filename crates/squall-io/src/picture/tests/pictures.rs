//! Pixels, and what becomes of them on the grid.

use super::*;
use crate::test_folder::TestFolder;
use crate::{write_png, write_png16};

/// Black ink on white paper, in one corner so that every flip shows, with soft values.
fn blob(x: usize, y: usize) -> f32 {
    if (2..9).contains(&x) && (3..6).contains(&y) { ((x + 2 * y) % 5) as f32 / 4.0 } else { 0.0 }
}

#[test]
fn the_mean_of_a_picture_is_exact_at_odd_ratios() {
    let [width, height] = [37, 23];
    let ink = |i: usize| if i == 0 { 1.0 } else { (i * 7919 % 256) as f32 / 255.0 };
    let values: Vec<f32> = (0..width * height).map(ink).collect();
    let coverage = Coverage { width, height, values };
    for cells in [[1, 1], [5, 3], [7, 11], [36, 24], [37, 23], [38, 22], [100, 101], [13, 90]] {
        let density = coverage.density(&grid(cells), &stretched()).unwrap();
        // The values of cells are rounded to f32.
        assert!((mean(&density) - coverage.mean()).abs() < 1e-7, "{cells:?}: {}", mean(&density));
    }
}

#[test]
fn cells_see_the_exact_mean_of_what_they_cover() {
    let values = (0..12).map(|i| i as f32 / 11.0).collect::<Vec<_>>();
    let coverage = Coverage { width: 4, height: 3, values: values.clone() };
    // One cell is 4/3 pixels wide and 3/2 high: the lower left one holds a third of pixel 1, half of row 1.
    let density = coverage.density(&grid([3, 2]), &stretched()).unwrap();
    let row = |y: usize| values[4 * y] + values[4 * y + 1] / 3.0;
    let expected = (row(2) + 0.5 * row(1)) / (4.0 / 3.0 * 1.5);
    assert!((density[0] - expected).abs() < 1e-6, "{} and not {expected}", density[0]);
}

#[test]
fn all_of_a_picture_is_in_its_frame_and_covers_its_share_of_the_box() {
    let full = Coverage { width: 30, height: 10, values: vec![1.0; 300] };
    let box_of = grid([40, 20]);
    // The unit box is 1 m wide, 0.5 m high: the margin is a tenth of that, 0.05 m.
    let contain = full.density(&box_of, &Placement::default()).unwrap();
    assert!((mean(&contain) * 0.5 - 0.9 * 0.3).abs() < 1e-7, "0.9 m wide, 0.3 m high");
    let cover = full.density(&box_of, &Placement { fit: Fit::Cover, ..Placement::default() }).unwrap();
    assert!(cover.iter().all(|&v| (v - 1.0).abs() < 1e-6));
    let corner = Placement { center: Some([0.2, 0.1]), size: Some([0.3, 0.3]), ..Placement::default() };
    let small = full.density(&box_of, &corner).unwrap();
    assert!((mean(&small) * 0.5 - 0.3 * 0.1).abs() < 1e-7);
    assert_eq!(small[2 * 40 + 3], 1.0, "(0.0875, 0.0625) is inside");
    assert_eq!(small[2 * 40 + 30], 0.0);
    // Turned by a right angle it is as high as it was wide: up to the margins of the points in cells.
    let turned = full.density(&box_of, &Placement { rotation: 90.0, ..corner }).unwrap();
    assert!((mean(&turned) * 0.5 - 0.1 * 0.25).abs() < 1e-3, "0.05 m of it are below the floor: {}", mean(&turned));
}

#[test]
fn a_turned_picture_keeps_its_area_and_turns_counter_clockwise() {
    // A bar whose right half alone is drawn.
    let bar =
        Coverage { width: 20, height: 4, values: (0..80).map(|i| if i % 20 >= 10 { 1.0 } else { 0.0 }).collect() };
    for rotation in [30.0, 90.0, 200.0] {
        let placement = Placement { size: Some([0.6, 0.6]), rotation, ..Placement::default() };
        let density = bar.density(&grid([50, 50]), &placement).unwrap();
        let (sin, cos) = libm::sincos(rotation.to_radians());
        // Its edges are seen through 4 x 4 points a cell.
        assert!((mean(&density) - 0.6 * 0.12 * 0.5).abs() < 4e-4, "{}", mean(&density));
        let center = |a: usize| {
            let at = |i: usize| (if a == 0 { i % 50 } else { i / 50 }) as f64 / 50.0 + 0.01;
            density.iter().enumerate().map(|(i, &v)| f64::from(v) * at(i)).sum::<f64>() / (mean(&density) * 2500.0)
        };
        let expected = [0.5 + 0.15 * cos, 0.5 + 0.15 * sin];
        assert!((center(0) - expected[0]).abs() < 2e-3 && (center(1) - expected[1]).abs() < 2e-3, "{rotation}");
    }
}

#[test]
fn alpha_dark_on_light_and_light_on_dark_are_the_same_density() {
    let of = |pixel: &dyn Fn(f32) -> [f32; 4]| {
        let drawn = artwork(16, 12, |x, y| pixel(blob(x, y)));
        drawn.ink(Channel::Auto, false).unwrap().coverage.density(&grid([9, 7]), &stretched()).unwrap()
    };
    let alpha = of(&|ink| [0.3, 0.8, 0.1, ink]);
    let ways: [&dyn Fn(f32) -> [f32; 4]; 4] = [
        &|ink| [1.0 - ink, 1.0 - ink, 1.0 - ink, 1.0],
        &|ink| [ink, ink, ink, 1.0],
        &|ink| [1.0, 1.0, 1.0 - ink, 1.0],
        &|ink| [0.2 + 0.5 * ink, 0.7 - 0.1 * ink, 0.3, 1.0],
    ];
    for (i, way) in ways.into_iter().enumerate() {
        // Differences of f32 between 0 and 1, scaled by at most 2.
        assert!(of(way).iter().zip(&alpha).all(|(a, b)| (a - b).abs() < 1e-6), "way {i}");
    }
    let inverted = artwork(16, 12, |x, y| [0.0, 0.0, 0.0, blob(x, y)]).ink(Channel::Auto, true).unwrap();
    let inverted = inverted.coverage.density(&grid([9, 7]), &stretched()).unwrap();
    assert!(inverted.iter().zip(&alpha).all(|(a, b)| (a + b - 1.0).abs() < 1e-6));
}

#[test]
fn the_grain_of_a_jpeg_does_not_become_haze() {
    let grain = |x: usize, y: usize| ((x * 31 + y * 17) % 3) as f32 * 0.01;
    let photo = artwork(40, 40, |x, y| {
        let v = if (10..30).contains(&x) && (10..30).contains(&y) { 0.1 } else { 0.9 } + grain(x, y);
        [v, v, v, 1.0]
    });
    let ink = photo.ink(Channel::Auto, false).unwrap().coverage;
    let paper = (0..1600).filter(|i| i % 40 < 10).map(|i| ink.values[i]).fold(0.0, f32::max);
    assert_eq!(paper, 0.0);
    assert!((ink.mean() - 0.25).abs() < 0.01, "{}", ink.mean());
}

#[test]
fn one_pixel_is_a_picture() {
    let half = artwork(1, 1, |_, _| [0.0, 0.0, 0.0, 0.5]).ink(Channel::Auto, false).unwrap();
    assert!(half.coverage.density(&grid([3, 5]), &stretched()).unwrap().iter().all(|&v| (v - 0.5).abs() < 1e-6));
    let black = artwork(1, 1, |_, _| [0.0, 0.0, 0.0, 1.0]);
    assert!(matches!(black.ink(Channel::Auto, false), Err(PictureError::Blank { .. })));
    assert_eq!(black.ink(Channel::Darkness, false).unwrap().coverage.values, [1.0]);
    assert!(matches!(black.ink(Channel::Brightness, false), Err(PictureError::Blank { .. })));
}

#[test]
fn sixteen_bits_are_read_as_such() {
    let folder = TestFolder::new("picture16");
    let path = folder.join("a.png");
    write_png16(&path, 2, 1, &[0, 1, 2, 65535, 257, 32768]).unwrap();
    let picture = load_picture(&path).unwrap();
    let expected = [0.0, 1.0, 2.0, 65535.0, 257.0, 32768.0].map(|v: f32| v / 65535.0);
    assert_eq!(
        picture.pixels,
        [[expected[0], expected[1], expected[2], 1.0], [expected[3], expected[4], expected[5], 1.0]]
    );
}

#[test]
fn every_format_gives_the_same_picture() {
    let expected = parse_picture(&encoded(FORMATS[0].0), "a.png").unwrap();
    for (format, name) in FORMATS {
        let picture = parse_picture(&encoded(format), name).unwrap();
        assert_eq!((picture.width, picture.height), (19, 13));
        // JPEG mixes neighbours, GIF chooses 256 colours.
        let tolerance = if matches!(name, "a.jpg" | "a.gif") { 0.25 } else { 0.0 };
        let apart = |(a, b): (&[f32; 4], &[f32; 4])| (0..4).map(|c| (a[c] - b[c]).abs()).fold(0.0, f32::max);
        let worst = picture.pixels.iter().zip(&expected.pixels).map(apart).fold(0.0, f32::max);
        assert!(worst <= tolerance, "{name}: {worst}");
    }
}

#[test]
fn a_large_picture_is_averaged_without_loss() {
    let (width, height) = (5003, 3);
    let samples: Vec<u8> = (0..width * height).flat_map(|i| [((i * 7919) % 256) as u8; 3]).collect();
    let folder = TestFolder::new("picture-large");
    let path = folder.join("a.png");
    write_png(&path, width as u32, height as u32, &samples).unwrap();
    let picture = load_picture(&path).unwrap();
    assert_eq!((picture.width, picture.height), (2502, 2));
    let ink = picture.ink(Channel::Brightness, false).unwrap().coverage;
    let expected = samples.iter().map(|&v| f64::from(v)).sum::<f64>() / 255.0 / samples.len() as f64;
    assert!((ink.mean() - expected).abs() < 1e-6, "{} and not {expected}", ink.mean());
}

#[test]
fn two_colours_become_two_inks_that_together_are_all() {
    // A red square of 6 x 8 and a green one of 4 x 8 on white, with edges half covered.
    let picture = artwork(24, 16, |x, y| {
        let inside = (4..12).contains(&y);
        let edge = |at: usize| if x == at { 0.5 } else { 1.0 };
        match x {
            3..=8 if inside => [1.0, 1.0 - edge(8), 1.0 - edge(8), 1.0],
            14..=17 if inside => [1.0 - edge(17), 1.0, 1.0 - edge(17), 1.0],
            _ => [1.0; 4],
        }
    });
    let whole = picture.ink(Channel::Auto, false).unwrap().coverage;
    let inks = picture.inks(Channel::Auto, 5).unwrap();
    assert_eq!(inks.len(), 2, "shades of red are red");
    assert_eq!(inks[0].coverage.values.iter().sum::<f32>(), 5.5 * 8.0, "red first: it covers more");
    assert_eq!(inks[1].coverage.values.iter().sum::<f32>(), 3.5 * 8.0);
    for (ink, expected) in inks.iter().zip([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]) {
        // Edges are up to 1/4 of the pixels, with 1/16 of the weight, and half of the light is 0.21: 0.0044.
        assert!((0..3).all(|c| (ink.color[c] - expected[c]).abs() < 0.005), "{:?}", ink.color);
    }
    let sums = inks[0].coverage.values.iter().zip(&inks[1].coverage.values).map(|(a, b)| a + b);
    assert!(sums.eq(whole.values.iter().copied()));
    assert_eq!(picture.inks(Channel::Auto, 1).unwrap().len(), 1);
}

#[test]
fn the_frames_of_a_gif_come_with_their_times() {
    let mut file = Vec::new();
    let mut encoder = ::image::codecs::gif::GifEncoder::new(&mut file);
    for (i, ms) in [100, 250, 0].into_iter().enumerate() {
        let picture = ::image::RgbaImage::from_pixel(4, 3, ::image::Rgba([80 * i as u8, 0, 0, 255]));
        let delay = ::image::Delay::from_numer_denom_ms(ms, 1);
        encoder.encode_frame(::image::Frame::from_parts(picture, 0, 0, delay)).unwrap();
    }
    drop(encoder);
    let frames: Vec<_> = parse_frames(&file, Path::new("a.gif")).unwrap().map(Result::unwrap).collect();
    let times: Vec<f64> = frames.iter().map(|frame| frame.0).collect();
    // The last has no duration of its own.
    assert_eq!(times, [0.0, 0.1, 0.35, 0.35 + 0.1]);
    for (i, (_, picture)) in frames[..3].iter().enumerate() {
        assert_eq!(picture.as_ref().unwrap().pixels[0], [80.0 * i as f32 / 255.0, 0.0, 0.0, 1.0]);
    }
    assert!(frames[3].1.is_none());
    let still = encoded(::image::ImageFormat::Bmp);
    assert_eq!(parse_frames(&still, Path::new("a.bmp")).unwrap().count(), 2);
}

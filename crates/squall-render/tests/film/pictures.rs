use super::*;
use squall_render::{Background, RenderError};

fn busy() -> (Volume, Sphere, Style) {
    let ball = Sphere { center: [0.8, 0.2, 0.8], radius: 0.2, finish: Finish::default() };
    let light = Light::point([0.5, 1.4, 0.2], [1.0, 0.5, 0.2], 0.4);
    let mut style = Style { ground: Some(Ground::default()), ..Style::default() };
    style.lights.push(light);
    (puff(32), ball, style)
}

#[test]
fn a_transparent_picture_laid_on_a_colour_is_the_picture_on_that_colour() {
    let (puff, ball, style) = busy();
    let scene = Scene { surfaces: vec![&ball], ..only(&puff, 20.0, 0.9) };
    let camera = Camera::framing([0.0; 3], [1.0; 3], 30.0, 20.0, 35.0, 1.5, 0.0);
    let color = [0.2, 0.5, 0.1];
    let shoot = |background| {
        let style = Style { background, ..style.clone() };
        render(&scene, &style, &camera, [72, 48], 3, Quality::FINAL).unwrap()
    };
    let (on_color, alone) = (shoot(Some(Background::solid(color))), shoot(None));
    for (pixel, &[r, g, b, a]) in on_color.rgba.iter().zip(&alone.rgba) {
        for c in 0..3 {
            let laid = [r, g, b][c] + (1.0 - a) * color[c];
            assert!((pixel[c] - laid).abs() < 1e-6);
        }
        assert_eq!(pixel[3], 1.0);
    }
    assert!(alone.rgba.iter().any(|p| p[3] == 0.0) && alone.rgba.iter().any(|p| p[3] > 0.9));
}

#[test]
fn pictures_are_the_same_for_any_number_of_threads() {
    let (puff, ball, style) = busy();
    let scene = Scene { surfaces: vec![&ball], heat: Some(&puff), ..only(&puff, 20.0, 0.9) };
    let camera = Camera::framing([0.0; 3], [1.0; 3], 30.0, 20.0, 35.0, 1.5, 0.0);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| render(&scene, &style, &camera, [72, 48], 3, Quality::FINAL)).unwrap()
    };
    let one = on(1);
    for threads in [2, 3] {
        let other = on(threads);
        let bits = |frame: &Frame| -> Vec<u32> {
            frame.rgba.iter().flatten().chain(&frame.depth).map(|v| v.to_bits()).collect()
        };
        assert!(bits(&one) == bits(&other), "{threads} threads");
    }
}

#[test]
fn frames_differ_in_their_grain_only() {
    let puff = puff(32);
    let camera = front([1.0; 3], 1.0);
    let shoot = |frame| render(&only(&puff, 20.0, 0.9), &Style::default(), &camera, [64, 64], frame, FINE).unwrap();
    assert!(shoot(0) == shoot(0));
    let apart = difference(&shoot(0), &shoot(1));
    assert!(apart > 0.0 && apart < 0.01, "{apart}");
}

#[test]
fn an_empty_scene_shows_its_background() {
    let nothing = Volume::default();
    let empty = Volume { spacing: 0.1, ..Volume::default() };
    let zeros = smoke([16, 16, 16], 0.1, |_| 0.0);
    for volume in [&nothing, &empty, &zeros] {
        let scene = Scene { heat: Some(volume), ..only(volume, 5.0, 0.9) };
        let frame = render(&scene, &Style::default(), &Camera::default(), [16, 12], 0, Quality::FINAL).unwrap();
        let background = Style::default().background.unwrap();
        for (i, pixel) in frame.rgba.iter().enumerate() {
            let [r, g, b] = background.row(i / 16, 12);
            assert!(*pixel == [r, g, b, 1.0]);
        }
        assert!(frame.depth.iter().all(|&depth| depth == f32::INFINITY));
        assert_eq!(Stage::new(&scene, &Style::default(), FINE).unwrap().bounds(), None);
    }
}

#[test]
fn several_rays_per_pixel_smooth_edges_and_keep_means() {
    // Off the middle: rays go through the same places of all pixels, so in eight mirrored parts they would be wrong by the same.
    let ball = Sphere { center: [0.017, 0.009, 0.0], radius: 1.0, finish: Finish::default() };
    let scene = Scene { surfaces: vec![&ball], ..Scene::default() };
    let camera = Camera { projection: Projection::Orthographic { height: 3.0 }, ..Camera::default() };
    let covered = |samples: u32| {
        let quality = Quality { samples, ..FINE };
        let frame = render(&scene, &bare(), &camera, [40, 40], 0, quality).unwrap();
        let partly = frame.rgba.iter().filter(|p| p[3] > 0.0 && p[3] < 1.0).count();
        (frame.rgba.iter().map(|p| f64::from(p[3])).sum::<f64>() * 9.0 / 1600.0, partly)
    };
    assert_eq!(covered(1).1, 0);
    for samples in [4, 7, 16] {
        let (area, partly) = covered(samples);
        // The edge crosses about a hundred pixels; each is wrong by at most an eighth or so, in both directions.
        assert!((area - std::f64::consts::PI).abs() < 0.02 && partly > 50, "{samples}: {area} {partly}");
    }
}

#[test]
fn a_stage_is_not_much_larger_than_its_smoke() {
    let puff = puff(64);
    let bytes = 4 * puff.values.len();
    let stage = Stage::new(&only(&puff, 20.0, 0.9), &Style::default(), Quality::FINAL).unwrap();
    assert!(stage.memory() < 2 * bytes, "{} of {bytes}", stage.memory());
    let (low, high) = stage.bounds().unwrap();
    for a in 0..3 {
        // Bricks of 8 cells, one more at the lower end for what lies between the cells.
        assert!(low[a] > -0.13 && low[a] < 0.13 && high[a] > 0.87 && high[a] < 1.13, "{low:?} {high:?}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_with_its_name() {
    let puff = puff(8);
    let scene = only(&puff, 1.0, 0.5);
    let refused = |scene: &Scene<'_>, style: Style, quality: Quality, word: &str| {
        let error = Stage::new(scene, &style, quality).err().expect(word).to_string();
        assert!(error.contains(word), "{error}");
    };
    let good = Style::default;
    let lit = |light: Light| Style { lights: vec![light], ..good() };
    refused(
        &scene,
        Style { scatter: Scatter { anisotropy: 1.0, softness: 0.0, back: 0.0 }, ..good() },
        FINE,
        "anisotropy",
    );
    refused(&scene, Style { glow: Glow { range: [1.0, 1.0], ..Glow::default() }, ..good() }, FINE, "glow");
    refused(&scene, Style { lights: vec![good().lights[0]; 7], ..good() }, FINE, "number of lights");
    refused(&scene, lit(Light::directional([0.0; 3], [1.0; 3], 1.0)), FINE, "distant light");
    refused(&scene, lit(Light::point([0.0, f64::NAN, 0.0], [1.0; 3], 1.0)), FINE, "light place");
    refused(&scene, lit(Light::point([0.0; 3], [1.0, -1.0, 0.0], 1.0)), FINE, "light colour");
    refused(&scene, good(), Quality { step: 0.0, ..FINE }, "step");
    refused(&scene, good(), Quality { samples: 65, ..FINE }, "samples");
    refused(&only(&puff, f32::NAN, 0.5), good(), FINE, "kappa");
    refused(&only(&puff, 1.0, 1.5), good(), FINE, "albedo");
    let mut short = puff.clone();
    short.values.pop();
    refused(&only(&short, 1.0, 0.5), good(), FINE, "512 values");
    let mut unordered = super::puff(16);
    unordered.blocks.reverse();
    refused(&only(&unordered, 1.0, 0.5), good(), FINE, "in order");
    let coarse = Volume { spacing: 0.5, ..puff.clone() };
    refused(&Scene { heat: Some(&coarse), ..scene.clone() }, good(), FINE, "same cells");
    let stage = Stage::new(&scene, &good(), FINE).unwrap();
    assert!(matches!(stage.shoot(&Camera::default(), [0, 9], 0), Err(RenderError::Size { .. })));
}

use super::*;
use squall_render::texture::fine::refined;

#[test]
fn white_smoke_under_an_even_sky_is_not_seen() {
    // The white furnace: what is scattered out of a ray is scattered into it from elsewhere, whatever the smoke looks like.
    let puff = puff(24);
    let around = Ambient { sky: [0.7; 3], ground: [0.7; 3], occlusion: 1.0 };
    let background = Some(squall_render::Background::solid([0.7; 3]));
    for (kappa, softness) in [(2.0, 0.0), (40.0, 1.0), (400.0, 0.8), (4000.0, 0.0)] {
        let scatter = Scatter { softness, anisotropy: 0.5, back: 0.25 };
        let style = Style { ambient: around, background, scatter, ..bare() };
        let frame =
            render(&only(&puff, kappa, 1.0), &style, &front([1.0; 3], 1.2), [24, 24], 0, Quality::FINAL).unwrap();
        for pixel in &frame.rgba {
            // Light is kept in 16 bits, and rays end where a thousandth comes through.
            assert!((pixel[0] / 0.7 - 1.0).abs() < 0.01, "kappa {kappa}: {pixel:?}");
        }
    }
    // Grey smoke is darker than the sky in its middle.
    let style = Style { ambient: around, background, ..bare() };
    let grey = draw(&only(&puff, 40.0, 0.6), &style, &front([1.0; 3], 1.2), [24, 24]);
    assert!(middle(&grey)[0] < 0.5 * 0.7, "{:?}", middle(&grey));
}

#[test]
fn hot_bodies_have_the_chromaticity_of_the_planckian_locus() {
    // CIE 1931 x and y (Wyszecki and Stiles 1982); those that a screen can show.
    for (kelvin, x, y) in [
        (2000.0, 0.5267, 0.4133),
        (2856.0, 0.4476, 0.4074),
        (4000.0, 0.3805, 0.3768),
        (6500.0, 0.3135, 0.3237),
        (10_000.0, 0.2807, 0.2884),
    ] {
        let [r, g, b] = blackbody(kelvin).map(f64::from);
        let (cx, cy, cz) = (
            0.4124 * r + 0.3576 * g + 0.1805 * b,
            0.2126 * r + 0.7152 * g + 0.0722 * b,
            0.0193 * r + 0.1192 * g + 0.9505 * b,
        );
        let sum = cx + cy + cz;
        assert!((cx / sum - x).abs() < 0.01 && (cy / sum - y).abs() < 0.01, "{kelvin}: {} {}", cx / sum, cy / sum);
    }
}

#[test]
fn an_open_shutter_sees_the_mean_of_many_moments() {
    let puff = puff(32);
    // A fifth of its width during the exposure.
    let (velocity, open) = ([0.5, -0.3, 0.2f64], 0.4);
    let wide = |v: f64| Volume { origin: [-1.0; 3], ..smoke([48; 3], 1.0 / 16.0, |_| v as f32) };
    let flow = velocity.map(wide);
    let style = one_light(Light::directional([-0.5, 0.8, 0.3], [1.0; 3], 1.0));
    let camera = front([1.0; 3], 1.4);
    let shot = |volume: &Volume| draw(&only(volume, 12.0, 0.8), &style, &camera, [40, 40]);
    let moments = |n: usize| (0..n).map(move |k| open * ((k as f64 + 0.5) / n as f64 - 0.5));
    let blurred = Frame::mean(moments(8).map(|t| shot(&moved(&puff, flow.each_ref(), t).unwrap()))).unwrap();
    // Exactly carried along.
    let carried = |t: f64| Volume { origin: std::array::from_fn(|a| t * velocity[a]), ..puff.clone() };
    let many = Frame::mean(moments(48).map(|t| shot(&carried(t)))).unwrap();
    let apart = difference(&many, &blurred);
    assert!(apart < 0.02, "{apart}");
    assert!(difference(&many, &shot(&puff)) > 0.05, "there is something to blur");
}

#[test]
fn parts_of_an_exposure_make_the_whole_picture() {
    let puff = puff(16);
    let style = one_light(Light::directional([-0.5, 0.8, 0.3], [1.0; 3], 1.0));
    let (scene, camera) = (only(&puff, 12.0, 0.8), front([1.0; 3], 1.4));
    let stage = Stage::new(&scene, &style, Quality { samples: 4, ..FINE }).unwrap();
    let whole = stage.shoot(&camera, [20, 20], 7).unwrap();
    let parts = (0..4).map(|ray| stage.expose(&camera, [20, 20], 7, ray..ray + 1).unwrap());
    let sum = Frame::mean(parts).unwrap();
    assert!(difference(&whole, &sum) < 1e-6);
    assert_eq!(whole.depth, sum.depth);
}

#[test]
fn what_is_out_of_focus_is_blurred_by_the_disc_of_the_lens() {
    // A small ball, 4 m away; how far its light is spread on the picture, as a variance in pixels.
    let ball = Sphere { center: [0.0; 3], radius: 0.05, finish: Finish { roughness: 1.0, ..Finish::default() } };
    let style = Style { ambient: Ambient { sky: [1.0; 3], ground: [1.0; 3], occlusion: 0.0 }, ..bare() };
    let scene = Scene { surfaces: vec![&ball], ..Scene::default() };
    let n = 64;
    let spread = |aperture: f64, focus: f64| {
        let projection = Projection::Perspective { fov: 10.0 };
        let camera = Camera { projection, aperture, focus: Some(focus), ..Camera::default() };
        let frame = render(&scene, &style, &camera, [n, n], 0, Quality { samples: 64, ..FINE }).unwrap();
        let (mut sum, mut squares) = (0.0, 0.0);
        for (i, pixel) in frame.rgba.iter().enumerate() {
            let x = (i % n) as f64 + 0.5 - 0.5 * n as f64;
            sum += f64::from(pixel[3]);
            squares += f64::from(pixel[3]) * x * x;
        }
        squares / sum
    };
    let sharp = spread(0.0, 4.0);
    assert!((spread(0.05, 4.0) / sharp - 1.0).abs() < 0.02, "sharp where it is in focus");
    // The disc at the ball: the lens times |d - f| / f; a disc of radius r has a variance of r²/4.
    let pixel = 2.0 * 4.0 * 5f64.to_radians().tan() / n as f64;
    for focus in [2.5f64, 8.0] {
        let radius = 0.05 * (4.0 - focus).abs() / focus / pixel;
        let expected = sharp + 0.25 * radius * radius;
        let found = spread(0.05, focus);
        // 64 rays in each of a thousand pixels.
        assert!((found / expected - 1.0).abs() < 0.05, "{focus}: {found} {expected}");
    }
}

#[test]
fn cubics_show_less_of_the_cells_than_straight_lines_do() {
    // A lump with features of a few cells, at six pixels a cell, against one that knows every pixel.
    let lump = |cells: usize| {
        smoke([cells; 3], 1.0 / cells as f64, |cell| {
            let [x, y, z] = cell.map(|c| (c as f32 + 0.5) / cells as f32 - 0.5);
            let bumps = 1.0 + 0.4 * (22.0 * x).sin() * (19.0 * y).cos() * (20.0 * z).cos();
            bumps * (-(x * x + y * y + z * z) / 0.04).exp()
        })
    };
    let (coarse, exact) = (lump(16), lump(96));
    let style = one_light(Light::directional([-0.5, 0.8, 0.3], [1.0; 3], 1.0));
    let shot = |volume: &Volume| draw(&only(volume, 10.0, 0.8), &style, &front([1.0; 3], 1.0), [96, 96]);
    let exact = shot(&exact);
    let [linear, cubic] = [difference(&exact, &shot(&coarse)), difference(&exact, &shot(&refined(&coarse, 2, None)))];
    assert!(cubic < 0.6 * linear && cubic < 0.02, "{cubic} {linear}");
}

#[test]
fn the_ground_sends_light_up_in_its_colour() {
    let puff = puff(16);
    let ground = Ground { finish: Finish { color: [0.8, 0.2, 0.1], roughness: 1.0, metal: 0.0 }, ..Ground::default() };
    let sun = one_light(Light::directional([0.0, 1.0, 0.0], [1.0; 3], 1.0));
    let shot = |bounce: f32| {
        let style = Style { ground: Some(Ground { bounce, ..ground }), ..sun.clone() };
        // From below its middle, where the sun does not reach it.
        middle(&draw(&only(&puff, 30.0, 0.8), &style, &front([1.0, 0.6, 1.0], 0.1), [4, 4]))
    };
    let (without, with) = (shot(0.0), shot(1.0));
    assert!(with[0] > without[0] + 0.02 && with[0] - without[0] > 2.0 * (with[2] - without[2]), "{without:?} {with:?}");
}

#[test]
fn metal_mirrors_the_sky_in_its_own_colour_and_paint_hardly_does() {
    let sky = ClearSky::new([0.0, 1.0, 0.2], 2.5, 1.0);
    let environment = Some(Environment::of(Dome::Clear(sky)));
    let style = Style { environment, ..bare() };
    let camera = Camera { position: [0.0, 0.0, 6.0], ..Camera::default() };
    let shot = |metal: f32, color: [f32; 3]| {
        let ball = Sphere { center: [0.0; 3], radius: 1.0, finish: Finish { color, roughness: 0.1, metal } };
        let scene = Scene { surfaces: vec![&ball], ..Scene::default() };
        let frame = draw(&scene, &style, &camera, [33, 33]);
        // The upper part mirrors the sky.
        frame.rgba[13 * 33 + 16]
    };
    let (gold, white, paint) = (shot(1.0, [1.0, 0.7, 0.2]), shot(1.0, [1.0; 3]), shot(0.0, [1.0; 3]));
    assert!((gold[2] / white[2]) < 0.35 * (gold[0] / white[0]), "{gold:?} {white:?}");
    assert!(paint[0] < 0.15 * white[0], "{paint:?} {white:?}");
}

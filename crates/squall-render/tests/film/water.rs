use super::*;
use squall_render::Background;

/// Water in a box of `cells` of `spacing` metres whose lower corner is at the origin.
fn water(cells: [usize; 3], spacing: f64, phi: impl Fn([f64; 3]) -> f64) -> Volume {
    let at = |i: usize| {
        let cell = [i % cells[0], i / cells[0] % cells[1], i / cells[0] / cells[1]];
        cell.map(|c| (c as f64 + 0.5) * spacing)
    };
    let values: Vec<f32> = (0..cells.iter().product()).map(|i| phi(at(i)) as f32).collect();
    Volume::from_dense([0.0; 3], spacing, 1e3, cells, &values)
}

/// A block of water between two corners, in a box of 1.6 m of 5 cm cells.
fn block(low: [f64; 3], high: [f64; 3]) -> Volume {
    water([32; 3], 0.05, |x| (0..3).map(|a| (low[a] - x[a]).max(x[a] - high[a])).fold(f64::NEG_INFINITY, f64::max))
}

fn clear(distance: &Volume) -> Liquid<'_> {
    Liquid { tint: [1.0; 3], roughness: 0.0, ..Liquid::new(distance) }
}

fn of(liquid: Liquid<'_>) -> Scene<'_> {
    Scene { liquid: Some(liquid), ..Scene::default() }
}

/// A ball on a tiled floor, under a sun and a sky.
fn studio() -> (Sphere, Style) {
    let ball = Sphere { center: [0.8, 0.4, 0.8], radius: 0.2, finish: Finish::default() };
    let style = Style {
        ground: Some(Ground { fade: Some([4.0, 12.0]), ..Ground::tiled(0.0, 0.2) }),
        environment: Some(Environment::studio()),
        lights: vec![
            Light::directional([-0.3, 0.9, 0.2], [1.0, 0.9, 0.8], 0.8),
            Light::point([2.0, 2.0, 2.0], [1.0; 3], 0.8),
        ],
        ..Style::default()
    };
    (ball, style)
}

fn around() -> Camera {
    Camera::framing([0.0; 3], [1.6, 1.0, 1.6], 30.0, 20.0, 35.0, 1.5, 0.0)
}

#[test]
fn clear_water_that_does_not_bend_light_is_not_seen() {
    let (ball, style) = studio();
    // What is wet does not shine, and how far objects cover each other depends on the size of everything.
    let ball = Sphere { finish: Finish { roughness: 1.0, ..ball.finish }, ..ball };
    let matt = |ground: Ground| Ground { finish: Finish { roughness: 1.0, ..ground.finish }, ..ground };
    let (ground, ambient) = (style.ground.map(matt), Ambient { occlusion: 0.0, ..style.ambient });
    let style = Style { ground, ambient, ..style };
    let volume = block([0.3, 0.0, 0.3], [1.3, 0.8, 1.3]);
    let scene = Scene { surfaces: vec![&ball], ..of(Liquid { ior: 1.0, ..clear(&volume) }) };
    let without = Scene { liquid: None, ..scene.clone() };
    let [with, without] = [&scene, &without].map(|s| render(s, &style, &around(), [72, 48], 0, FINE).unwrap());
    let values = with.rgba.iter().flatten().zip(without.rgba.iter().flatten());
    let most = values.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // Cones of rays are measured a little differently in water, which shows in the joints between the tiles.
    assert!(most < 5e-3, "{most}");
    assert!(difference(&with, &without) < 2e-4, "{}", difference(&with, &without));
}

#[test]
fn an_empty_liquid_changes_nothing() {
    let (ball, style) = studio();
    let dry = water([16; 3], 0.1, |_| 1.0);
    let nothing = Volume::default();
    let without = Scene { surfaces: vec![&ball], ..Scene::default() };
    let expected = draw(&without, &style, &around(), [48, 32]);
    for volume in [&dry, &nothing] {
        let scene = Scene { liquid: Some(Liquid::new(volume)), ..without.clone() };
        assert!(draw(&scene, &style, &around(), [48, 32]) == expected);
        assert_eq!(Stage::new(&of(Liquid::new(volume)), &style, FINE).unwrap().bounds(), None);
    }
}

/// Looks straight down on a block of water that fills the picture, over a white sky below.
fn straight_down(liquid: Liquid<'_>, above: f32, below: f32) -> [f32; 4] {
    let environment = Environment {
        zenith: [above; 3],
        horizon: [above; 3],
        nadir: [below; 3],
        haze: 0.1,
        boxes: vec![],
        dome: None,
    };
    let style = Style { environment: Some(environment), ..bare() };
    let camera = Camera::orbiting([0.8; 3], 0.0, 90.0, 4.0, Projection::Orthographic { height: 0.2 });
    middle(&draw(&of(liquid), &style, &camera, [9, 9]))
}

#[test]
fn two_percent_of_the_sky_is_seen_in_a_still_surface() {
    let volume = block([0.2; 3], [1.4; 3]);
    // Straight down a quarter of the light is still that of the horizon: exp(-1 / 0.7).
    let trace = (-1f32 / 0.7).exp();
    let [r, g, b, a] = straight_down(clear(&volume), 1.0, 0.0);
    // What the upper face mirrors, and the lower one, and what is below.
    let mirrored = (r - trace) / (1.0 - trace);
    assert!((mirrored - 0.0404).abs() < 1e-3 && r == g && g == b, "{mirrored}");
    assert_eq!(a, 1.0);
}

#[test]
fn white_light_has_the_tint_after_as_many_metres() {
    let volume = block([0.2; 3], [1.4; 3]);
    let tint = [0.9, 0.5, 0.1];
    // 1.2 m of water: twice the depth of the tint.
    let liquid = Liquid { tint, depth: 0.6, ior: 1.0, ..clear(&volume) };
    let found = straight_down(liquid.clone(), 1.0, 1.0);
    for c in 0..3 {
        assert!((found[c] / tint[c].powi(2) - 1.0).abs() < 0.02, "{c}: {} {}", found[c], tint[c].powi(2));
    }
    // An ink of the same colour, in one half of the water, makes three depths of it.
    let ink = smoke([32; 3], 0.05, |cell| if cell[1] >= 16 { 1.0 } else { 0.0 });
    let inked = Liquid { inks: vec![Ink { amount: &ink, tint, depth: 0.6 }], ..liquid };
    let found = straight_down(inked, 1.0, 1.0);
    for c in 0..3 {
        assert!((found[c] / tint[c].powi(3) - 1.0).abs() < 0.03, "{c}: {}", found[c]);
    }
}

#[test]
fn a_shadow_in_light_from_above_has_the_tint_of_the_water() {
    let volume = block([0.2, 0.6, 0.2], [1.4, 1.2, 1.4]);
    let ground = Ground { finish: Finish { color: [0.5; 3], roughness: 1.0, metal: 0.0 }, ..Ground::default() };
    let style = Style { ground: Some(ground), ..one_light(Light::directional([0.0, 1.0, 0.0], [1.0; 3], 1.0)) };
    // From the side, below the water.
    let camera = Camera {
        position: [0.8, 0.4, 5.0],
        target: [0.8, 0.0, 0.8],
        projection: Projection::Perspective { fov: 1.0 },
        ..Camera::default()
    };
    let tint = [0.9, 0.6, 0.4];
    let found = middle(&draw(&of(Liquid { tint, depth: 0.6, ..clear(&volume) }), &style, &camera, [8, 8]));
    for c in 0..3 {
        // Two surfaces let 98 % pass each.
        let expected = 0.5 * 0.96 * tint[c];
        assert!((found[c] / expected - 1.0).abs() < 0.02, "{}: {expected}", found[c]);
    }
}

#[test]
fn water_gathers_light_and_keeps_as_much_of_it_as_comes_in() {
    // A lens: its light is gathered in a spot.
    let lens = water([32; 3], 0.05, |x| {
        let r = |y: f64| ((x[0] - 0.8).powi(2) + (x[1] - y).powi(2) + (x[2] - 0.8).powi(2)).sqrt();
        (r(0.8) - 0.7).max(r(1.6) - 0.7)
    });
    let ground = Ground {
        finish: Finish { color: [1.0; 3], roughness: 1.0, metal: 0.0 },
        height: -0.6,
        fade: Some([90.0, 99.0]),
        ..Ground::default()
    };
    let style = Style { ground: Some(ground), ..one_light(Light::directional([0.0, 1.0, 0.0], [1.0; 3], 1.0)) };
    // From between the lens and the ground.
    let camera = Camera {
        position: [0.8, -0.5, 0.8],
        target: [0.8, -0.6, 0.8],
        up: [0.0, 0.0, -1.0],
        projection: Projection::Orthographic { height: 3.0 },
        ..Camera::default()
    };
    let lit = |liquid| {
        let frame = draw(&of(liquid), &style, &camera, [120, 120]);
        let mean = frame.rgba.iter().map(|p| f64::from(p[1])).sum::<f64>() / frame.rgba.len() as f64;
        let most = frame.rgba.iter().map(|p| p[1]).fold(0.0, f32::max);
        (mean, most)
    };
    let (mean, most) = lit(clear(&lens));
    // 4 % of what falls on a sixth of the picture is mirrored away.
    assert!(mean < 1.005 && mean > 0.97, "{mean}");
    assert!(most > 2.0, "{most}");
    let (mean, most) = lit(Liquid { ior: 1.0, ..clear(&lens) });
    assert!((mean - 1.0).abs() < 1e-3 && (most - 1.0).abs() < 0.02, "{mean} {most}");
}

#[test]
fn looking_up_from_below_beyond_the_critical_angle_shows_a_mirror() {
    // A camera under water, in a bright world above: the sky is in a cone of 48.6 degrees to either side, and around it
    // the black floor is mirrored.
    let volume = water([32; 3], 0.25, |x| x[1] - 4.0);
    let environment =
        Environment { zenith: [1.0; 3], horizon: [1.0; 3], nadir: [0.0; 3], haze: 1.0, boxes: vec![], dome: None };
    let ground = Ground { finish: Finish { color: [0.0; 3], roughness: 1.0, metal: 0.0 }, ..Ground::default() };
    let style = Style { environment: Some(environment), ground: Some(ground), ..bare() };
    let at = |angle: f64| {
        let (s, c) = angle.to_radians().sin_cos();
        let camera = Camera {
            position: [4.0, 3.5, 4.0],
            target: [4.0 + s, 3.5 + c, 4.0],
            up: [0.0, 0.0, 1.0],
            projection: Projection::Perspective { fov: 0.5 },
            ..Camera::default()
        };
        middle(&draw(&of(clear(&volume)), &style, &camera, [4, 4]))[0]
    };
    assert!((at(0.0) - 0.98).abs() < 0.01 && at(40.0) > 0.9, "{} {}", at(0.0), at(40.0));
    assert!(at(51.0) < 0.1 && at(60.0) < 0.1, "{} {}", at(51.0), at(60.0));
}

#[test]
fn water_is_the_first_thing_in_depth_and_opacity_and_passes() {
    let volume = block([0.4, 0.4, 0.4], [1.2, 1.2, 1.2]);
    let scene = of(Liquid::new(&volume));
    let camera = Camera::orbiting([0.8; 3], 0.0, 0.0, 3.0, Projection::Orthographic { height: 1.6 });
    let frame = draw(&scene, &bare(), &camera, [33, 33]);
    let center = 33 * 16 + 16;
    assert!((frame.depth[center] - 2.6).abs() < 0.01, "{}", frame.depth[center]);
    assert_eq!((frame.rgba[center][3], frame.rgba[0][3]), (1.0, 0.0));
    assert_eq!(frame.depth[0], f32::INFINITY);

    let moving = smoke([32; 3], 0.05, |_| 0.5);
    let still = Volume { spacing: 0.05, ..Volume::default() };
    let motion = Motion { velocity: [&moving, &moving, &still], seconds: 0.1, next: camera };
    let wanted = Wanted { motion: Some(motion), normal: true, ..Wanted::default() };
    let found = passes(&scene, &bare(), &camera, [33, 33], 0, FINE, &wanted).unwrap();
    assert_eq!((found.opacity[center], found.opacity[0]), (1.0, 0.0));
    assert!(found.normal[center][2] > 0.999, "{:?}", found.normal[center]);
    // 5 cm to the right and up; a pixel is 1.6 m / 33.
    let pixels = 0.05 * 33.0 / 1.6;
    let [right, up] = found.motion[center];
    assert!((right - pixels).abs() < 0.01 && (up - pixels).abs() < 0.01, "{right} {up}");
}

#[test]
fn smoke_before_water_hides_it_and_smoke_behind_it_is_left_out() {
    let volume = block([0.4, 0.4, 0.4], [1.2, 1.2, 1.2]);
    let style = Style { background: Some(Background::solid([0.5; 3])), ..bare() };
    let camera = Camera::orbiting([0.8; 3], 0.0, 0.0, 3.0, Projection::Orthographic { height: 0.4 });
    let look = |layer: std::ops::Range<usize>| {
        let smoke = smoke([32; 3], 0.05, |cell| if layer.contains(&cell[2]) { 1.0 } else { 0.0 });
        let scene = Scene { liquid: Some(clear(&volume)), ..only(&smoke, 200.0, 0.0) };
        middle(&draw(&scene, &style, &camera, [9, 9]))[0]
    };
    assert!(look(27..30) < 0.01, "black smoke before it");
    assert!((look(1..4) - 0.5).abs() < 0.05, "{}", look(1..4));
}

#[test]
fn water_is_the_same_for_any_number_of_threads() {
    let (ball, style) = studio();
    let volume = water([32; 3], 0.05, |x| (x[1] - 0.5 - 0.05 * (9.0 * x[0]).sin()).max(0.1 - x[0]).max(x[2] - 1.4));
    let scene = Scene { surfaces: vec![&ball], ..of(Liquid::new(&volume)) };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| render(&scene, &style, &around(), [72, 48], 3, Quality::FINAL)).unwrap()
    };
    let one = on(1);
    let bits =
        |frame: &Frame| -> Vec<u32> { frame.rgba.iter().flatten().chain(&frame.depth).map(|v| v.to_bits()).collect() };
    for threads in [2, 3] {
        assert!(bits(&one) == bits(&on(threads)), "{threads} threads");
    }
}

#[test]
fn extreme_water_has_finite_light() {
    let (ball, style) = studio();
    let noise = |x: [f64; 3]| (311.0 * x[0] + 173.0 * x[1] + 97.0 * x[2]).sin();
    let mut broken = water([8; 3], 0.2, |x| 0.3 * noise(x));
    broken.values[7] = f32::NAN;
    broken.values[77] = f32::INFINITY;
    broken.values[177] = f32::NEG_INFINITY;
    let full = water([8; 3], 0.2, |_| -1e30);
    let drop = water([8; 3], 0.2, |x| if x.iter().all(|v| (v - 0.9).abs() < 0.05) { -0.01 } else { 0.2 });
    let plain = Style { environment: None, background: None, ground: None, ..style.clone() };
    for volume in [&broken, &full, &drop] {
        for (ior, tint) in [(1.0, [0.0; 3]), (3.0, [1.0; 3]), (1.333, [0.0, 1.0, 0.5])] {
            for style in [&style, &plain] {
                let liquid = Liquid { ior, tint, depth: 1e-6, roughness: 1.0, ..Liquid::new(volume) };
                let scene = Scene { surfaces: vec![&ball], ..of(liquid) };
                let frame = render(&scene, style, &around(), [36, 24], 0, Quality::FINAL).unwrap();
                assert!(frame.rgba.iter().flatten().all(|v| v.is_finite() && *v >= 0.0));
                assert!(frame.depth.iter().all(|v| *v >= 0.0));
            }
        }
    }
}

#[test]
fn water_that_cannot_be_drawn_is_refused_with_its_name() {
    let volume = block([0.2; 3], [1.4; 3]);
    let refused = |liquid: Liquid<'_>, style: &Style, word: &str| {
        let error = Stage::new(&of(liquid), style, FINE).err().expect(word).to_string();
        assert!(error.contains(word), "{error}");
    };
    let (good, style) = (clear(&volume), studio().1);
    refused(Liquid { ior: 0.9, ..good.clone() }, &style, "ior");
    refused(Liquid { ior: f32::NAN, ..good.clone() }, &style, "ior");
    refused(Liquid { tint: [1.1, 0.0, 0.0], ..good.clone() }, &style, "tint");
    refused(Liquid { depth: 0.0, ..good.clone() }, &style, "depth");
    refused(Liquid { roughness: 2.0, ..good.clone() }, &style, "roughness");
    let short = Volume { values: vec![], ..volume.clone() };
    refused(clear(&short), &style, "512 values");
    refused(Liquid { inks: vec![Ink { amount: &short, tint: [1.0; 3], depth: 1.0 }], ..good.clone() }, &style, "512");
    let far = Volume { blocks: vec![[0; 3], [1 << 20; 3]], values: vec![-1.0; 1024], ..volume.clone() };
    refused(clear(&far), &style, "spread");
    let lost = Volume { blocks: vec![[i32::MIN; 3], [i32::MAX; 3]], ..far };
    refused(Liquid { distance: &lost, ..good.clone() }, &style, "spread");
    let tiles = Tiles { size: 0.0, color: [1.0; 3], joint: None };
    let ground = Some(Ground { pattern: Some(tiles), ..Ground::default() });
    refused(good.clone(), &Style { ground, ..style.clone() }, "tiles");
    let environment = Some(Environment { haze: 0.0, ..Environment::day() });
    refused(good, &Style { environment, ..style.clone() }, "haze");
}

#[test]
fn tiles_show_both_colours_near_by_and_their_mean_far_away() {
    let light = Light::directional([0.0, 1.0, 0.0], [1.0; 3], 1.0);
    let look = |joint: Option<f64>, height: f64| {
        let tiles = Tiles { size: 1.0, color: [0.0; 3], joint };
        let finish = Finish { color: [1.0; 3], roughness: 1.0, metal: 0.0 };
        let ground = Ground { finish, pattern: Some(tiles), fade: Some([1e5, 1e6]), ..Ground::default() };
        let camera = Camera::orbiting([0.0; 3], 0.0, 90.0, 9.0, Projection::Orthographic { height });
        let frame = draw(&Scene::default(), &Style { ground: Some(ground), ..one_light(light) }, &camera, [64, 64]);
        let values: Vec<f32> = frame.rgba.iter().map(|p| p[0]).collect();
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        (values.iter().copied().fold(1.0, f32::min), values.iter().copied().fold(0.0, f32::max), mean)
    };
    for (joint, expected) in [(None, 0.5), (Some(0.5), 0.25)] {
        let (least, most, mean) = look(joint, 8.0);
        assert!(least < 0.01 && most > 0.99 && (mean - expected).abs() < 0.02, "{least} {most} {mean}");
        let (least, most, _) = look(joint, 2000.0);
        assert!((least - expected).abs() < 1e-3 && (most - expected).abs() < 1e-3, "{least} {most}");
    }
}

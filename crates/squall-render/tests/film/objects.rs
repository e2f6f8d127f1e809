use super::*;

const BALL: Sphere =
    Sphere { center: [0.0; 3], radius: 1.0, finish: Finish { color: [0.5; 3], roughness: 1.0, metal: 0.0 } };

fn camera() -> Camera {
    Camera { position: [0.0, 0.0, 6.0], projection: Projection::Perspective { fov: 30.0 }, ..Camera::default() }
}

/// Where the ray through the middle of a pixel meets the ball, by the formula.
fn analytic(i: usize, n: usize) -> Option<f64> {
    let tan = 15f64.to_radians().tan();
    let [u, v] = [i % n, i / n].map(|k| tan * ((2 * k + 1) as f64 / n as f64 - 1.0));
    let length = (u * u + v * v + 1.0).sqrt();
    let (b, c) = (-6.0 / length, 35.0);
    let inside = b * b - c;
    (inside > 0.0).then(|| -b - inside.sqrt())
}

#[test]
fn depth_is_the_distance_to_the_surface() {
    let scene = Scene { surfaces: vec![&BALL], ..Scene::default() };
    let (n, mut seen) = (64, 0);
    let frame = draw(&scene, &bare(), &camera(), [n, n]);
    for (i, &depth) in frame.depth.iter().enumerate() {
        match analytic(i, n) {
            Some(expected) => {
                seen += 1;
                // Rays end within a thousandth of a pixel of the surface; grazing ones a little way before it.
                assert!((f64::from(depth) - expected).abs() < 2e-3, "{depth} {expected}");
                assert_eq!(frame.rgba[i][3], 1.0);
            }
            None => assert!(depth == f32::INFINITY && frame.rgba[i][3] == 0.0),
        }
    }
    assert!(seen > 800);
    // An unknown surface, found by its distance alone, is the same.
    let by_distance = FnSurface {
        distance: |x: [f64; 3]| 0.6 * (x.iter().map(|v| v * v).sum::<f64>().sqrt() - 1.0),
        bounds: None,
        finish: BALL.finish,
    };
    let style = one_light(Light::directional([1.0, 1.0, 1.0], [1.0; 3], 1.0));
    let lit = |surface: &dyn Surface| {
        let scene = Scene { surfaces: vec![surface], ..Scene::default() };
        draw(&scene, &style, &camera(), [n, n])
    };
    assert!(difference(&lit(&BALL), &lit(&by_distance)) < 1e-3);
}

#[test]
fn depth_of_thick_smoke_is_where_half_is_hidden() {
    let slab = smoke([32, 32, 32], 0.1, |_| 1.0);
    let frame = draw(&only(&slab, 4.0, 0.5), &bare(), &front([3.2; 3], 1.0), [8, 8]);
    let expected = 6.4 - 1.6 + std::f32::consts::LN_2 / 4.0;
    // Known to a step of 0.05 m.
    assert!(frame.depth.iter().all(|depth| (depth - expected).abs() < 0.06), "{} {expected}", frame.depth[0]);
}

#[test]
fn a_ball_hides_smoke_behind_it_and_not_smoke_before_it() {
    let smoke_from = |z: f64| Volume { origin: [-2.0, -2.0, z], ..smoke([40, 40, 8], 0.1, |_| 1.0) };
    let (behind, before) = (smoke_from(-3.0), smoke_from(2.0));
    let style = one_light(Light::directional([0.0, 0.0, 1.0], [1.0; 3], 1.0));
    let look = |volume: &Volume| {
        let scene = Scene { surfaces: vec![&BALL], ..only(volume, 1.5, 1.0) };
        draw(&scene, &style, &camera(), [33, 33])
    };
    let alone = draw(&Scene { surfaces: vec![&BALL], ..Scene::default() }, &style, &camera(), [33, 33]);
    assert_eq!(middle(&look(&behind)), middle(&alone));
    assert!(look(&behind).rgba[16 * 33 + 5][3] > 0.3, "beside the ball it is seen");
    let passed = (-1.5f32 * 0.8).exp();
    let [r, _, _, a] = middle(&look(&before));
    // The smoke's own light, and the ball's, dimmed on its way in and out.
    let expected = 0.5 * (1.0 - passed * passed) + middle(&alone)[0] * passed * passed;
    assert!((r / expected - 1.0).abs() < 0.02 && a == 1.0, "{r} {expected}");
}

#[test]
fn objects_and_smoke_cast_shadows_on_each_other() {
    // A ball above, a wide thin layer of smoke below it, a light above.
    let layer = Volume { origin: [-3.2, -2.8, -3.2], ..smoke([64, 8, 64], 0.1, |_| 1.0) };
    let light = Light { size: 0.5, ..Light::directional([0.0, 1.0, 0.0], [1.0; 3], 1.0) };
    let above = Camera::orbiting([0.0, -2.4, 0.0], 0.0, 90.0, 1.2, Projection::Orthographic { height: 5.0 });
    let shoot = |surfaces: Vec<&dyn Surface>| {
        let scene = Scene { surfaces, ..only(&layer, 6.0, 1.0) };
        draw(&scene, &one_light(light), &above, [64, 64])
    };
    let (with, without) = (shoot(vec![&BALL]), shoot(vec![]));
    let at = |frame: &Frame, x: usize| frame.rgba[32 * 64 + x][0];
    assert!(at(&with, 32) < 0.02 * at(&without, 32), "below the ball: {} {}", at(&with, 32), at(&without, 32));
    // 2.1 m beside the middle.
    assert!((at(&with, 5) / at(&without, 5) - 1.0).abs() < 0.01);

    // A second ball below the first lies in its shadow; one below smoke in that of the smoke.
    let low = Sphere { center: [0.0, -5.0, 0.0], ..BALL };
    let from_front = Camera { position: [0.0, -5.0, 6.0], target: [0.0, -5.0, 0.0], ..camera() };
    let top_of_low = |surfaces: Vec<&dyn Surface>, kappa: f32| {
        let frame = draw(&Scene { surfaces, ..only(&layer, kappa, 1.0) }, &one_light(light), &from_front, [64, 64]);
        frame.rgba[22 * 64 + 32][0]
    };
    let free = top_of_low(vec![&low], 0.0);
    assert!(free > 0.2 && top_of_low(vec![&low, &BALL], 0.0) < 0.01 * free);
    let expected = free * (-0.8f32).exp();
    let found = top_of_low(vec![&low], 1.0);
    assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
}

#[test]
fn the_ground_fades_into_the_background_and_can_show_shadows_only() {
    let scene = Scene { surfaces: vec![&BALL], ..Scene::default() };
    let light = Light::directional([0.6, 1.0, 0.0], [1.0; 3], 1.0);
    let ground = Ground { height: -1.0, fade: Some([3.0, 8.0]), ..Ground::default() };
    let above = Camera::orbiting([0.0; 3], 0.0, 90.0, 20.0, Projection::Orthographic { height: 20.0 });
    let shoot = |ground| draw(&scene, &Style { ground: Some(ground), ..one_light(light) }, &above, [100, 100]);
    let opacity = |frame: &Frame, x: f64| frame.rgba[50 * 100 + (50.0 + 5.0 * x) as usize][3];
    let colored = shoot(ground);
    assert!(opacity(&colored, 2.5) == 1.0 && opacity(&colored, 9.0) == 0.0);
    assert!((0.3..0.7).contains(&opacity(&colored, 5.5)));
    let shadows = shoot(Ground { only_shadow: true, ..ground });
    assert!(opacity(&shadows, 2.5) < 0.01, "no shadow, nothing to see");
    // The light comes from the right: the shadow lies to the left.
    assert!(opacity(&shadows, -1.4) > 0.9, "{}", opacity(&shadows, -1.4));
    assert!(shadows.rgba[50 * 100 + 43][..3] == [0.0; 3]);
    // From below there is no ground.
    let below = Camera::orbiting([0.0; 3], 0.0, -90.0, 20.0, Projection::Orthographic { height: 20.0 });
    let style = Style { ground: Some(ground), ..one_light(light) };
    assert_eq!(draw(&scene, &style, &below, [100, 100]).rgba[0][3], 0.0);
}

#[test]
fn a_camera_in_a_hollow_sees_its_walls() {
    // Solid everywhere but in a ball of 3 m.
    let cave = FnSurface {
        distance: |x: [f64; 3]| 3.0 - x.iter().map(|v| v * v).sum::<f64>().sqrt(),
        bounds: None,
        finish: Finish::default(),
    };
    let scene = Scene { surfaces: vec![&cave], ..Scene::default() };
    let camera = Camera { position: [0.0, 0.0, 1.0], ..camera() };
    let frame = draw(&scene, &bare(), &camera, [9, 9]);
    assert!((frame.depth[40] - 4.0).abs() < 1e-4, "{}", frame.depth[40]);
    assert!(frame.rgba.iter().all(|pixel| pixel[3] == 1.0));
}

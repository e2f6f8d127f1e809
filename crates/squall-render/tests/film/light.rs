use super::*;

/// A wide slab of 3 m, seen along its thickness; `towards` the only light. Returns what the middle sends back.
fn slab_in_light(towards: [f64; 3], kappa: f32, anisotropy: f32) -> f32 {
    let slab = smoke([64, 64, 30], 0.1, |_| 1.0);
    let style = Style {
        scatter: Scatter { anisotropy, softness: 0.0, back: 0.0 },
        ..one_light(Light::directional(towards, [1.0; 3], 2.0))
    };
    middle(&draw(&only(&slab, kappa, 0.8), &style, &front([6.4, 6.4, 3.0], 1.0), [8, 8]))[1]
}

#[test]
fn scattered_light_is_the_integral_of_single_scattering() {
    // L = albedo intensity phase INT_0^D kappa exp(-kappa s) shadow(s) ds, with phase relative to even scattering.
    let phase = |g: f32, cos: f32| (1.0 - g * g) / (1.0 + g * g - 2.0 * g * cos).powf(1.5);
    for (kappa, g) in [(0.003f32, 0.0f32), (0.2, 0.0), (0.2, 0.5), (1.0, -0.3)] {
        let depth = kappa * 3.0;
        // From the side of the viewer the way in is the way out; from behind, both together are the thickness.
        let cases = [
            ([0.0, 0.0, 1.0], 0.5 * (1.0 - (-2.0 * depth).exp()), -1.0),
            ([0.0, 0.0, -1.0], depth * (-depth).exp(), 1.0),
        ];
        for (towards, integral, cos) in cases {
            let (found, expected) = (slab_in_light(towards, kappa, g), 0.8 * 2.0 * phase(g, cos) * integral);
            // The ends of the slab are ramps of a cell, a thirtieth of it each; light is interpolated over them.
            assert!((found / expected - 1.0).abs() < 0.01, "kappa {kappa}, g {g}, {towards:?}: {found} {expected}");
        }
    }
}

#[test]
fn the_shadow_of_a_slab_on_the_ground_is_as_deep_as_the_slab() {
    // A slab from 1 to 2 m above the ground; the camera looks at the ground below it.
    let slab = smoke([32, 20, 32], 0.1, |c| if c[1] >= 10 { 0.5 } else { 0.0 });
    let ground = Ground { finish: Finish { color: [0.4; 3], roughness: 1.0, metal: 0.0 }, ..Ground::default() };
    let camera = Camera {
        position: [1.6, 0.4, 5.0],
        target: [1.6, 0.0, 1.6],
        projection: Projection::Perspective { fov: 1.0 },
        ..Camera::default()
    };
    let light = |kappa: f32, towards: [f64; 3], softness: f32| {
        let light = Light::directional(towards, [1.0; 3], 3.0);
        let style = Style {
            ground: Some(ground),
            scatter: Scatter { softness, anisotropy: 0.0, back: 0.0 },
            ..one_light(light)
        };
        middle(&draw(&only(&slab, kappa, 0.8), &style, &camera, [8, 8]))[0]
    };
    for kappa in [0.5f32, 2.0, 6.0] {
        let expected = 0.4 * 3.0 * (-kappa * 0.5).exp();
        let found = light(kappa, [0.0, 1.0, 0.0], 0.0);
        assert!((found / expected - 1.0).abs() < 3e-3, "{found} {expected}");
        // From 30 degrees off the way is longer, and less light falls on a square metre.
        let cos = 30f32.to_radians().cos();
        // Its steps do not fall on the edges of cells, where the slab begins and ends.
        let slanted = light(kappa, [0.5, f64::from(cos), 0.0], 0.0);
        let expected = 0.4 * 3.0 * cos * (-kappa * 0.5 / cos).exp();
        assert!((slanted / expected - 1.0).abs() < 0.02, "{slanted} {expected}");
        assert!(light(kappa, [0.0, 1.0, 0.0], 1.0) > found, "soft shadows are lighter");
    }
    // Light from the other side: nothing of it reaches the ground.
    assert_eq!(light(1.0, [0.0, -1.0, 0.0], 0.0), 0.0);
}

#[test]
fn turning_the_light_by_a_right_angle_turns_the_picture() {
    let n = 40;
    let ball = smoke([n; 3], 1.0 / n as f64, |cell| {
        let r = cell.map(|c| (c as f32 + 0.5) / 20.0 - 1.0).iter().map(|v| v * v).sum::<f32>();
        (1.0 - r).max(0.0)
    });
    let quality = Quality { step: 0.25, ..FINE };
    let camera = front([1.0; 3], 1.0);
    let lit = |towards: [f64; 3]| {
        let style = one_light(Light::directional(towards, [1.0; 3], 1.0));
        render(&only(&ball, 12.0, 0.9), &style, &camera, [64, 64], 0, quality).unwrap()
    };
    let right = lit([0.8, 0.3, 0.2]);
    for (towards, turn) in [
        // A quarter turn to the left on the screen: what was at the right is at the top.
        ([-0.3, 0.8, 0.2], (|x: usize, y: usize| (63 - y, x)) as fn(usize, usize) -> (usize, usize)),
        ([-0.8, -0.3, 0.2], |x, y| (63 - x, 63 - y)),
        ([0.3, -0.8, 0.2], |x, y| (y, 63 - x)),
    ] {
        let turned = lit(towards);
        let mut back = right.clone();
        for y in 0..64 {
            for x in 0..64 {
                let (from_x, from_y) = turn(x, y);
                back.rgba[y * 64 + x] = right.rgba[from_y * 64 + from_x];
            }
        }
        // The starts of the steps and the borders of bricks do not turn.
        let apart = difference(&back, &turned);
        assert!(apart < 0.01, "{towards:?}: {apart}");
        assert!(difference(&right, &turned) > 0.1, "the light makes a difference");
    }
}

#[test]
fn a_point_light_is_weaker_by_the_square_of_the_distance() {
    let puff = puff(16);
    let camera = front([1.0; 3], 1.0);
    let smoke_at = |distance: f64| {
        let light = Light::point([0.5, 0.5 + distance, 0.5], [1.0; 3], 1.0);
        middle(&draw(&only(&puff, 0.05, 0.9), &one_light(light), &camera, [9, 9]))[0]
    };
    // The puff is a metre wide: from 20 m the nearer and the further half differ by a twentieth, evenly.
    let ratio = smoke_at(20.0) / smoke_at(40.0);
    assert!((ratio - 4.0).abs() < 0.02, "{ratio}");

    let nothing = Volume::default();
    let ground = Some(Ground { finish: Finish { color: [0.5; 3], roughness: 1.0, metal: 0.0 }, ..Ground::default() });
    let camera = Camera { position: [0.0, 9.0, 0.1], up: [0.0, 0.0, -1.0], ..Camera::default() };
    let floor_at = |height: f64| {
        let style = Style { ground, ..one_light(Light::point([0.0, height, 0.0], [1.0; 3], 1.0)) };
        middle(&draw(&only(&nothing, 1.0, 1.0), &style, &camera, [101, 101]))[0]
    };
    // Straight below the light: colour times intensity over the square of the height. A pixel is 5 cm wide.
    for height in [1.0f64, 2.0, 3.0] {
        let expected = 0.5 / (height * height) as f32;
        assert!((floor_at(height) / expected - 1.0).abs() < 3e-3, "{height}: {}", floor_at(height));
    }
}

#[test]
fn the_shadow_of_a_near_light_is_as_deep_as_the_smoke_between() {
    // A slab before the camera, a light behind it: the far side is brighter by what the slab takes away.
    let slab = smoke([64, 24, 64], 0.1, |_| 1.0);
    let kappa = 0.9f32;
    let from_above = |y: f64| {
        let style = one_light(Light::point([3.2, y, 3.2], [1.0; 3], 1.0));
        let camera = Camera::orbiting([3.2, 1.2, 3.2], 0.0, 90.0, 9.0, Projection::Orthographic { height: 0.2 });
        middle(&draw(&only(&slab, kappa, 1.0), &style, &camera, [8, 8]))[0]
    };
    // Integrals of exp(-kappa s) kappa exp(-kappa way) / r^2 over s from 0 to 2.4, by sums.
    let integral = |y: f64| {
        let n = 24_000;
        let k = f64::from(kappa);
        (0..n)
            .map(|i| 2.4 * (f64::from(i) + 0.5) / f64::from(n))
            .map(|s| {
                let (height, r) = (2.4 - s, (y - (2.4 - s)).abs());
                let way = if y > 2.4 { s } else { height };
                (-k * s).exp() * k * (-k * way).exp() / (r * r) * 2.4 / f64::from(n)
            })
            .sum::<f64>() as f32
    };
    for y in [5.4, -3.0] {
        let (found, expected) = (from_above(y), integral(y));
        // A ramp of a cell at each end.
        assert!((found / expected - 1.0).abs() < 0.015, "{y}: {found} {expected}");
    }
}

#[test]
fn softness_lifts_shadows_and_leaves_thin_smoke_alone() {
    let towards = [0.0, 0.0, -1.0];
    let slab = smoke([64, 64, 30], 0.1, |_| 1.0);
    let lit = |kappa: f32, softness: f32| {
        let light = Light::directional(towards, [1.0; 3], 1.0);
        let style = Style { scatter: Scatter { anisotropy: 0.0, softness, back: 0.0 }, ..one_light(light) };
        middle(&draw(&only(&slab, kappa, 0.8), &style, &front([6.4, 6.4, 3.0], 1.0), [8, 8]))[1]
    };
    assert!(lit(2.0, 1.0) > 3.0 * lit(2.0, 0.0));
    assert!((lit(0.003, 1.0) / lit(0.003, 0.0) - 1.0).abs() < 0.01);
}

/// A cube of 16 cells that glows at full heat, 3 m above the ground, and how bright the ground below is.
fn lit_by_a_cube(glow: f32, between: impl Fn([usize; 3]) -> f32, kappa: f32) -> [f32; 3] {
    let cells = [64, 64, 64];
    let heat = smoke(cells, 0.05, |c| if c.iter().all(|c| (24..40).contains(c)) { 1.0 } else { 0.0 });
    let haze = smoke(cells, 0.05, between);
    let ground =
        Ground { height: -1.4, finish: Finish { color: [0.5; 3], roughness: 1.0, metal: 0.0 }, ..Ground::default() };
    let style = Style {
        lights: Vec::new(),
        ambient: Ambient::NONE,
        ground: Some(ground),
        background: None,
        glow: Glow { strength: 2.0, light: glow, ramp: Ramp::Blackbody([1000.0, 1900.0]), ..Glow::default() },
        scatter: Scatter { anisotropy: 0.0, softness: 0.0, back: 0.0 },
        ..Style::default()
    };
    let scene =
        Scene { substances: vec![Substance { kappa, ..Substance::new(&haze) }], heat: Some(&heat), ..Scene::default() };
    // From the side, under the box of the smoke.
    let camera = Camera {
        position: [1.6, -1.0, 6.0],
        target: [1.6, -1.4, 1.6],
        projection: Projection::Perspective { fov: 0.5 },
        ..Camera::default()
    };
    let [r, g, b, _] = middle(&render(&scene, &style, &camera, [8, 8], 0, FINE).unwrap());
    [r, g, b]
}

#[test]
fn fire_lights_the_ground_as_a_lamp_of_its_power_does() {
    let found = lit_by_a_cube(1.0, |_| 0.0, 1.0);
    // P = e V; the edge of the cube is a ramp of a cell, so that it is 15 to 17 cells wide. 3 m below, light is P / (pi r²), and the ground sends back half.
    let (volume, r) = (0.8f32.powi(3), 3.0f32);
    let expected = 0.5 * 2.0 * volume / (std::f32::consts::PI * r * r);
    assert!((found[0] / expected - 1.0).abs() < 0.1, "{found:?} {expected}");
    assert!(found[0] > 1.5 * found[1] && found[1] > 1.5 * found[2], "its colour is that of the fire: {found:?}");
    // What is not to light anything does not.
    assert_eq!(lit_by_a_cube(0.0, |_| 0.0, 1.0), [0.0; 3]);
    // A slab of smoke between them takes away what it hides: 8 of its cells, of 0.05 m, at 5 per metre.
    let slab = lit_by_a_cube(1.0, |c| if (8..16).contains(&c[1]) { 1.0 } else { 0.0 }, 5.0);
    let left = slab[0] / found[0];
    assert!((left / (-2.0f32).exp() - 1.0).abs() < 0.15, "{left}");
}

#[test]
fn fire_lights_the_smoke_beside_it_and_more_where_it_is_near() {
    let cells = [64, 32, 32];
    let heat = smoke(cells, 0.05, |c| if c[0] < 8 { 1.0 } else { 0.0 });
    let haze = smoke(cells, 0.05, |c| if c[0] >= 16 { 1.0 } else { 0.0 });
    let style = Style {
        lights: Vec::new(),
        ambient: Ambient::NONE,
        background: None,
        glow: Glow { strength: 2.0, ..Glow::default() },
        ..Style::default()
    };
    let scene = Scene {
        substances: vec![Substance { kappa: 0.5, ..Substance::new(&haze) }],
        heat: Some(&heat),
        ..Scene::default()
    };
    let frame = render(&scene, &style, &front([3.2, 1.6, 1.6], 1.6), [64, 32], 0, FINE).unwrap();
    let at = |x: usize| frame.rgba[16 * 64 + x][0];
    assert!(at(20) > 2.0 * at(34) && at(34) > 1.5 * at(50) && at(50) > 0.0, "{} {} {}", at(20), at(34), at(50));
}

#[test]
fn the_edge_of_smoke_before_a_light_shines() {
    // A thin haze and thick smoke before the light, seen against it: forward scattering brightens what is thin, and the thick core stays dark.
    let ratio = |anisotropy: f32| {
        let lit = |kappa: f32| {
            let slab = smoke([64, 64, 30], 0.1, |_| 1.0);
            let light = Light::directional([0.0, 0.0, -1.0], [1.0; 3], 1.0);
            let style = Style { scatter: Scatter { anisotropy, softness: 1.0, back: 0.0 }, ..one_light(light) };
            middle(&draw(&only(&slab, kappa, 0.8), &style, &front([6.4, 6.4, 3.0], 1.0), [8, 8]))[1]
        };
        lit(0.1) / lit(3.0)
    };
    // Light that got deep has lost its direction: were all octaves scattered alike, the ratio would not depend on anisotropy.
    assert!(ratio(0.6) > 1.5 * ratio(0.0), "{} {}", ratio(0.6), ratio(0.0));
}

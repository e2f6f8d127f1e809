//! Facts about what rays bring back besides colour.

use super::*;

/// A ball of even smoke in a box of one metre.
fn ball(cells: usize) -> Volume {
    let half = 0.5 * cells as f32;
    smoke([cells; 3], 1.0 / cells as f64, |cell| {
        let r = cell.map(|c| (c as f32 + 0.5) / half - 1.0).iter().map(|v| v * v).sum::<f32>().sqrt();
        ((0.7 - r) * half).clamp(0.0, 1.0)
    })
}

fn seen(scene: &Scene<'_>, camera: &Camera, wanted: &Wanted<'_>) -> Passes {
    passes(scene, &bare(), camera, [64; 2], 0, FINE, wanted).expect("passes")
}

#[test]
fn a_ball_is_brighter_on_the_side_that_is_lit_and_its_mirror_image_is_the_light_from_the_other_side() {
    let volume = ball(32);
    let found = seen(&only(&volume, 8.0, 0.5), &front([1.0; 3], 1.0), &Wanted { six_way: true, ..Wanted::default() });
    let [right, top, back, left, bottom, facing]: [Vec<f32>; 6] =
        std::array::from_fn(|n| found.six_way.iter().map(|six| six[n]).collect());
    let sum = |light: &[f32], inside: &dyn Fn(usize, usize) -> bool| -> f32 {
        (0..64 * 64).filter(|i| inside(i % 64, i / 64)).map(|i| light[i]).sum()
    };
    assert!(sum(&right, &|x, _| x >= 32) > 1.5 * sum(&right, &|x, _| x < 32));
    assert!(sum(&top, &|_, y| y < 32) > 1.5 * sum(&top, &|_, y| y >= 32));
    assert!(sum(&facing, &|_, _| true) > 1.5 * sum(&back, &|_, _| true), "the front is lit from the front");
    let most = right.iter().fold(0.0f32, |most, v| most.max(*v));
    for i in 0..64 * 64 {
        let (x, y) = (i % 64, i / 64);
        // Rays start at different places in their first step, half a cell long; the ball has an edge of one cell.
        assert!((right[i] - left[y * 64 + 63 - x]).abs() < 0.06 * most, "{x} {y}");
        assert!((top[i] - bottom[(63 - y) * 64 + x]).abs() < 0.06 * most, "{x} {y}");
    }
}

#[test]
fn opacity_is_that_of_the_picture_whatever_else_is_wanted() {
    let volume = puff(24);
    let scene = only(&volume, 6.0, 0.7);
    let camera = front([1.0; 3], 1.0);
    let picture = draw(&scene, &bare(), &camera, [64; 2]);
    for wanted in [Wanted::default(), Wanted { six_way: true, normal: true, temperature: Some(&volume), motion: None }]
    {
        let found = seen(&scene, &camera, &wanted);
        let apart = found.opacity.iter().zip(&picture.rgba).map(|(a, b)| (a - b[3]).abs()).fold(0.0, f32::max);
        // The same weights, summed up in another order.
        assert!(apart < 1e-5, "{apart}");
    }
}

#[test]
fn normals_of_a_ball_point_away_from_its_middle() {
    let volume = ball(32);
    for yaw in [0.0, 90.0, 200.0] {
        let camera = Camera::orbiting([0.5; 3], yaw, 0.0, 2.0, Projection::Orthographic { height: 1.0 });
        let found = seen(&only(&volume, 200.0, 0.5), &camera, &Wanted { normal: true, ..Wanted::default() });
        for (x, y) in [(32, 32), (44, 32), (32, 20), (24, 40)] {
            // A sphere of radius 0.35 in a picture of one metre.
            let [u, v] = [(x as f32 + 0.5) / 64.0 - 0.5, 0.5 - (y as f32 + 0.5) / 64.0].map(|v| v / 0.35);
            let expected = [u, v, (1.0 - u * u - v * v).sqrt()];
            let cos: f32 = found.normal[y * 64 + x].iter().zip(expected).map(|(a, b)| a * b).sum();
            // The edge of the ball is a cell wide, a tenth of its radius: a few degrees.
            assert!(cos > 0.98, "{yaw} {x} {y}: {:?} {expected:?}", found.normal[y * 64 + x]);
        }
    }
}

#[test]
fn motion_is_what_the_camera_sees_of_velocity_and_of_its_own_way() {
    let volume = ball(16);
    let even = |v: f32| Volume::from_dense([0.0; 3], 1.0 / 16.0, v, [16; 3], &vec![v + 1e-9; 4096]);
    let (u, v, w) = (even(0.5), even(0.25), even(2.0));
    let scene = only(&volume, 8.0, 0.5);
    let camera = front([1.0; 3], 1.0);
    let motion = |next: Camera, seconds: f64| Wanted {
        motion: Some(Motion { velocity: [&u, &v, &w], seconds, next }),
        ..Wanted::default()
    };
    // One metre is 64 pixels; what comes nearer does not grow in an orthographic picture.
    let found = seen(&scene, &camera, &motion(camera, 0.125));
    let [x, y] = found.motion[32 * 64 + 32];
    assert!((x - 4.0).abs() < 1e-3 && (y - 2.0).abs() < 1e-3, "{x} {y}");
    assert_eq!(found.motion[0], [0.0; 2], "no smoke, no motion");
    let mut aside = camera;
    aside.position[0] += 0.5;
    aside.target[0] += 0.5;
    let [x, _] = seen(&scene, &camera, &motion(aside, 0.0)).motion[32 * 64 + 32];
    assert!((x + 32.0).abs() < 1e-3, "a camera that goes right sees smoke go left: {x}");
}

#[test]
fn the_mean_temperature_is_that_of_the_front_where_smoke_is_thick() {
    let volume = ball(32);
    // Hot towards the viewer, who looks along -z.
    let hot = smoke([32; 3], 1.0 / 32.0, |cell| 100.0 + cell[2] as f32);
    let scene = |kappa| only(&volume, kappa, 0.5);
    let camera = front([1.0; 3], 1.0);
    let mean =
        |kappa| seen(&scene(kappa), &camera, &Wanted { temperature: Some(&hot), ..Wanted::default() }).temperature;
    let at = 32 * 64 + 32;
    let (thin, thick) = (mean(0.1)[at], mean(300.0)[at]);
    assert!((thin - 115.5).abs() < 1.0, "all of the ball: {thin}");
    // The front of the ball is at 0.85 of 32 cells.
    assert!((thick - 126.5).abs() < 1.0, "its front: {thick}");
}

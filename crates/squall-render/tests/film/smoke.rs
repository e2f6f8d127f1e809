use super::*;

#[test]
fn a_uniform_slab_lets_through_what_beer_and_lambert_say() {
    let (cells, h, kappa, amount) = ([80, 80, 24], 0.1, 0.6, 0.7);
    let size = [8.0, 8.0, 2.4];
    let slab = smoke(cells, h, |_| amount);
    let fov = 40.0;
    let perspective = Camera::orbiting(size.map(|v| 0.5 * v), 0.0, 0.0, 4.0, Projection::Perspective { fov });
    for (camera, tan) in [(front(size, 6.0), 0.0), (perspective, (0.5f64 * fov).to_radians().tan())] {
        for quality in [FINE, Quality::FINAL] {
            let n = 48;
            let frame = render(&only(&slab, kappa, 1.0), &bare(), &camera, [n, n], 0, quality).unwrap();
            for (i, pixel) in frame.rgba.iter().enumerate() {
                // A slanted ray is longer, by one over the cosine.
                let [u, v] = [i % n, i / n].map(|k| tan * ((2 * k + 1) as f64 / n as f64 - 1.0));
                let length = 2.4 * (1.0 + u * u + v * v).sqrt();
                let expected = (-f64::from(kappa * amount) * length).exp();
                assert!((f64::from(1.0 - pixel[3]) - expected).abs() < 1e-3, "{pixel:?} {expected}");
            }
        }
    }
}

#[test]
fn halving_the_step_changes_the_picture_by_less_than_a_hundredth() {
    let puff = puff(48);
    let scene = only(&puff, 20.0, 0.9);
    let camera = Camera::framing([0.0; 3], [1.0; 3], 30.0, 20.0, 35.0, 1.0, 0.0);
    let shoot = |quality| render(&scene, &Style::default(), &camera, [96, 96], 0, quality).unwrap();
    for quality in [Quality::PREVIEW, Quality::FINAL, FINE] {
        let changed = difference(&shoot(quality), &shoot(Quality { step: 0.5 * quality.step, ..quality }));
        assert!(changed < 0.01, "{quality:?}: {changed}");
    }
    // Light at every second cell is a matter of speed, not of looks.
    let changed =
        difference(&shoot(Quality { light_spacing: 1, ..FINE }), &shoot(Quality { light_spacing: 2, ..FINE }));
    assert!(changed < 0.01, "{changed}");
}

#[test]
fn black_smoke_without_glow_is_black_and_hides_as_much_as_white_smoke() {
    let puff = puff(24);
    let camera = front([1.0; 3], 1.0);
    let black = draw(&only(&puff, 9.0, 0.0), &Style { background: None, ..Style::default() }, &camera, [32, 32]);
    let white = draw(&only(&puff, 9.0, 1.0), &Style { background: None, ..Style::default() }, &camera, [32, 32]);
    assert!(black.rgba.iter().all(|pixel| pixel[..3] == [0.0; 3]));
    assert!(black.rgba.iter().zip(&white.rgba).all(|(a, b)| a[3] == b[3]));
    assert!(middle(&black)[3] > 0.9);
}

#[test]
fn a_camera_inside_of_smoke_sees_what_is_before_it_only() {
    let slab = smoke([40, 40, 40], 0.1, |_| 1.0);
    let camera = Camera {
        position: [2.0, 2.0, 1.5],
        target: [2.0, 2.0, 0.0],
        projection: Projection::Perspective { fov: 2.0 },
        ..Camera::default()
    };
    let through = 1.0 - middle(&draw(&only(&slab, 0.8, 0.5), &bare(), &camera, [8, 8]))[3];
    // A ray starts half a step of 0.05 m into the smoke on average, at most a whole one.
    assert!((through - (-0.8f32 * 1.5).exp()).abs() < 0.02, "{through}");
}

#[test]
fn smoke_looks_the_same_wherever_it_lies() {
    let here = puff(40);
    let style = Style { ground: None, ..Style::default() };
    let camera = |shift: [f64; 3]| {
        let low: [f64; 3] = shift;
        Camera::framing(low, low.map(|v| v + 1.0), 30.0, 20.0, 35.0, 1.0, 0.0)
    };
    let near = draw(&only(&here, 20.0, 0.9), &style, &camera([0.0; 3]), [64, 64]);
    for blocks in [[12_500, -12_500, 12_500], [-12_500, 3, 0]] {
        let mut there = here.clone();
        for block in &mut there.blocks {
            (0..3).for_each(|a| block[a] += blocks[a]);
        }
        let shift = blocks.map(|b| f64::from(8 * b) * here.spacing);
        let far = draw(&only(&there, 20.0, 0.9), &style, &camera(shift), [64, 64]);
        // Rounding of places 2,500 m away moves samples by 1e-12 cells; a sample that changes bricks by that changes
        // the 16-bit steps of its values.
        let most = near.rgba.iter().flatten().zip(far.rgba.iter().flatten()).map(|(a, b)| (a - b).abs());
        assert!(most.fold(0.0, f32::max) < 1e-3);
    }
}

#[test]
fn far_apart_clouds_are_both_drawn() {
    let mut both = puff(16);
    let (blocks, values) = (both.blocks.clone(), both.values.clone());
    both.blocks.extend(blocks.iter().map(|b| [b[0] + 4_000, b[1], b[2]]));
    both.values.extend(values);
    let scene = only(&both, 30.0, 0.9);
    let single = puff(16);
    for x in [0.5, 0.5 + 4_000.0 * 8.0 / 16.0] {
        let at = |x: f64| Camera::orbiting([x, 0.5, 0.5], 0.0, 0.0, 2.0, Projection::Orthographic { height: 1.0 });
        let (one, other) =
            (draw(&scene, &bare(), &at(x), [24, 24]), draw(&only(&single, 30.0, 0.9), &bare(), &at(0.5), [24, 24]));
        // Far from the lower corner places are known to a hundredth of a cell.
        assert!(difference(&one, &other) < 0.01);
        assert!(middle(&one)[3] > 0.9);
    }
}

#[test]
fn several_substances_mix_their_colours_by_how_much_there_is() {
    let red = smoke([16, 16, 16], 0.1, |_| 1.0);
    let blue = smoke([16, 16, 16], 0.1, |c| if c[0] < 8 { 3.0 } else { 0.0 });
    let substance = |amount, albedo| Substance { amount, kappa: 4.0, albedo };
    let scene = Scene {
        substances: vec![substance(&red, [1.0, 0.0, 0.0]), substance(&blue, [0.0, 0.0, 1.0])],
        ..Scene::default()
    };
    let style = Style { ambient: Ambient { sky: [1.0; 3], ground: [1.0; 3], occlusion: 0.0 }, ..bare() };
    let frame = draw(&scene, &style, &front([1.6; 3], 1.6), [16, 16]);
    let (left, right) = (frame.rgba[8 * 16 + 3], frame.rgba[8 * 16 + 12]);
    // A quarter of the optical depth on the left is red; light without shadow shows that share.
    assert!((left[0] / left[3] - 0.25).abs() < 1e-3 && (left[2] / left[3] - 0.75).abs() < 1e-3, "{left:?}");
    assert!((right[0] / right[3] - 1.0).abs() < 1e-3 && right[2] == 0.0, "{right:?}");
}

#[test]
fn heat_glows_without_smoke_and_is_hidden_by_smoke_before_it() {
    let heat = smoke([16, 16, 16], 0.1, |_| 1.0);
    let nothing = Volume::default();
    let glow = Glow { ramp: Ramp::Blackbody([1000.0, 2000.0]), range: [0.0, 1.0], strength: 0.5, light: 1.0 };
    let style = Style { glow, ..bare() };
    let scene = Scene { heat: Some(&heat), ..only(&nothing, 1.0, 1.0) };
    let pixel = middle(&draw(&scene, &style, &front([1.6; 3], 1.0), [8, 8]));
    let expected = blackbody(2000.0).map(|v| v * 0.5 * 1.6);
    // The ends of the box are ramps of a cell: their glow is less than half that of a whole one, as power falls with the
    // fourth power of temperature.
    assert!(pixel[3] == 0.0 && pixel[0] < expected[0] && pixel[0] > 0.95 * expected[0], "{pixel:?} {expected:?}");

    let (hot, soot) = (smoke([16, 16, 48], 0.1, |_| 1.0), smoke([16, 16, 48], 0.1, |_| 1.0));
    let scene = Scene { heat: Some(&hot), ..only(&soot, 1.2, 0.0) };
    let thick = middle(&draw(&scene, &style, &front([1.6, 1.6, 4.8], 1.0), [8, 8]));
    // Light sent out per metre over extinction per metre, as far as one can see.
    let expected = 0.5 / 1.2 * (1.0 - (-1.2f32 * 4.8).exp()) * blackbody(2000.0)[0];
    // The first cell is a ramp: the nearest twentieth of the way to where half is hidden glows less.
    assert!((thick[0] / expected - 1.0).abs() < 0.03, "{thick:?} {expected}");
}

#[test]
fn what_is_not_finite_is_magenta_and_poisons_nothing_else() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let volume = smoke([24, 24, 24], 1.0 / 24.0, |c| if c == [12, 12, 12] { bad } else { 0.02 });
        let style = Style { background: None, ..Style::default() };
        let frame = draw(&only(&volume, 5.0, 0.9), &style, &front([1.0; 3], 1.0), [48, 48]);
        assert!(frame.rgba.iter().flatten().all(|v| v.is_finite()));
        // The cell reaches from the middle to the right and upwards.
        let pixel = frame.rgba[23 * 48 + 24];
        assert!(pixel[0] > 0.8 && pixel[1] < 0.3 && pixel[2] > 0.8 && pixel[3] == 1.0, "{bad}: {pixel:?}");
        let magenta = frame.rgba.iter().filter(|p| p[0] > 0.8 && p[1] < 0.3).count();
        assert!((1..=9).contains(&magenta), "one cell is two by two pixels: {magenta}");
    }
}

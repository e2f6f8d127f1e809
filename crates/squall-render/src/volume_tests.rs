use super::*;

const BLACK: Background = Background::solid([0.0; 3]);

fn puff(n: usize) -> Vec<f32> {
    let at = |i: usize| coordinates(i, [n; 3]).map(|c| (c as f32 + 0.5) / n as f32 - 0.5);
    (0..n * n * n).map(|i| (1.0 - at(i).iter().map(|v| 9.0 * v * v).sum::<f32>()).max(0.0)).collect()
}

#[test]
fn a_uniform_slab_lets_through_what_beer_and_lambert_say() {
    let (cells, h) = ([12, 9, 7], [0.1, 0.2, 0.05]);
    let density = vec![0.7; 12 * 9 * 7];
    let volume = Volume::new(&density, cells, h).unwrap();
    let style = SmokeStyle { kappa: 2.0, ..SmokeStyle::new(1.0) };
    for (view, axis) in [(View::FRONT, 2), (View::SIDE, 0), (View::TOP, 1)] {
        let (width, height, rays) = march_volume(&volume, None, view, 32, &style).unwrap();
        let expected = (-2.0 * 0.7 * cells[axis] as f32 * h[axis] as f32).exp();
        for ray in &rays {
            assert!((1.0 - ray[3] - expected).abs() < 1e-3, "{} {expected}", 1.0 - ray[3]);
        }
        let extent = |a: usize| cells[a] as f64 * h[a];
        let (x, y) = [(2, 1), (0, 2), (0, 1)][axis];
        assert!((height as f64 - width as f64 * extent(y) / extent(x)).abs() <= 1.0);
    }
    // At 10 degrees the ray through the middle is longer by 1 / cos.
    let (width, height, rays) = march_volume(&volume, None, View { yaw: 10.0, pitch: 0.0 }, 64, &style).unwrap();
    let expected = (-2.0 * 0.7 * 7.0 * 0.05 / 10f32.to_radians().cos()).exp();
    assert!((1.0 - rays[width * height / 2 + width / 2][3] - expected).abs() < 1e-3);
}

#[test]
fn x_is_right_and_y_is_up_in_the_front_view() {
    let n = 16;
    let mut density = vec![0.0; n * n * n];
    for i in 0..density.len() {
        let [x, y, _] = coordinates(i, [n; 3]);
        density[i] = if x >= 12 && y >= 12 { 50.0 } else { 0.0 };
    }
    let volume = Volume::new(&density, [n; 3], [1.0; 3]).unwrap();
    let (w, h, rays) = march_volume(&volume, None, View::FRONT, 32, &SmokeStyle::new(16.0)).unwrap();
    assert_eq!((w, h), (32, 32));
    assert!(rays[2 * 32 + 29][3] > 0.99);
    assert!(rays[29 * 32 + 29][3] < 0.01 && rays[2 * 32 + 2][3] < 0.01);
}

#[test]
fn leaping_over_empty_blocks_changes_nothing() {
    let n = 40;
    let mut density = puff(n);
    density[5 + n * 5 + n * n * 5] = 3.0;
    density[n * n * n - 1] = 3.0;
    let volume = Volume::new(&density, [n; 3], [1.0 / 40.0; 3]).unwrap();
    let style = SmokeStyle::new(1.0);
    let view = View { yaw: 33.0, pitch: 21.0 };
    let (width, height, quick) = march_volume(&volume, None, view, 96, &style).unwrap();
    let mut lit = LitVolume::new(&volume, None, &style);
    lit.filled.fill(true);
    let [right, up, back] = view.axes();
    let reach = |axis: [f32; 3]| axis.iter().map(|v| 0.5 * v.abs()).sum::<f32>();
    for (i, ray) in quick.iter().enumerate() {
        let (x, y) = (i % width, i / width);
        let u = reach(right) * ((2 * x + 1) as f32 / width as f32 - 1.0);
        let v = reach(up) * (1.0 - (2 * y + 1) as f32 / height as f32);
        let origin = std::array::from_fn(|a| right[a] * u + up[a] * v);
        let slow = lit.ray(origin, back.map(|v| -v), [0.5; 3], pattern(x, y), &style);
        for c in 0..4 {
            // The two differ in the rounding of the half size only.
            assert!((ray[c] - slow[c]).abs() < 1e-3, "pixel {x}, {y}: {ray:?} {slow:?}");
        }
    }
}

#[test]
fn a_trace_too_thin_to_see_is_leapt_over_like_nothing() {
    let n = 40;
    let (clean, style) = (puff(n), SmokeStyle::new(1.0));
    // The longest way through leads over 70 cells.
    let traces: Vec<f32> = clean.iter().map(|v| v.max(2e-6)).collect();
    let filled =
        |density: &[f32]| LitVolume::new(&Volume::new(density, [n; 3], [1.0 / 40.0; 3]).unwrap(), None, &style).filled;
    assert_eq!(filled(&traces), filled(&clean));
    assert!(filled(&clean).contains(&false));
    let thick: Vec<f32> = clean.iter().map(|v| v.max(1e-3)).collect();
    assert!(!filled(&thick).contains(&false));
}

#[test]
fn the_side_towards_the_light_is_brighter() {
    let density = puff(24);
    let volume = Volume::new(&density, [24; 3], [1.0 / 24.0; 3]).unwrap();
    let style = SmokeStyle { light_from: [-1.0, 0.0, 0.0], ..SmokeStyle::new(0.5) };
    let (w, _, rays) = march_volume(&volume, None, View::FRONT, 48, &style).unwrap();
    let brightness = |x: usize| rays[24 * w + x][1];
    assert!(brightness(14) > 1.3 * brightness(33));
}

#[test]
fn black_smoke_without_flame_is_black_and_still_covers() {
    let density = puff(16);
    let volume = Volume::new(&density, [16; 3], [1.0 / 16.0; 3]).unwrap();
    let style = SmokeStyle { albedo: [0.0; 3], ..SmokeStyle::new(0.2) };
    let (w, h, rays) = march_volume(&volume, None, View::FRONT, 32, &style).unwrap();
    assert!(rays.iter().all(|ray| ray[..3] == [0.0; 3]));
    assert!(rays[h / 2 * w + w / 2][3] > 0.9);
}

#[test]
fn fire_shines_and_nothing_finite_is_lost() {
    let heat = puff(16);
    let nothing = vec![0.0; 16 * 16 * 16];
    let volume = Volume::new(&nothing, [16; 3], [1.0 / 16.0; 3]).unwrap();
    let map = ColorMap::by_name("fire").unwrap();
    let flame = Flame { heat: &heat, map: &map, strength: 4.0 };
    let image = draw_volume(&volume, Some(flame), View::FRONT, 32, &SmokeStyle::new(1.0), BLACK).unwrap();
    let [r, g, b, _] = image.pixels[16 * 32 + 16];
    assert!(r > 150 && r >= g && g >= b, "{r} {g} {b}");
    assert_eq!(image.pixels[0], [0, 0, 0, 255]);
    let short = Flame { heat: &heat[1..], map: &map, strength: 4.0 };
    assert!(draw_volume(&volume, Some(short), View::FRONT, 32, &SmokeStyle::new(1.0), BLACK).is_err());
}

#[test]
fn what_is_not_finite_is_magenta() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut density = vec![0.0; 512];
        density[4 + 8 * 4 + 64 * 4] = bad;
        let volume = Volume::new(&density, [8; 3], [1.0; 3]).unwrap();
        let image = draw_volume(&volume, None, View::FRONT, 16, &SmokeStyle::new(1.0), BLACK).unwrap();
        // Bright light is bent a little, magenta too.
        assert!(image.pixels.iter().any(|&[r, g, b, _]| r > 240 && g == 0 && b > 240));
        assert_eq!(image.pixels[0], [0, 0, 0, 255]);
    }
}

#[test]
fn pictures_are_the_same_for_any_number_of_threads() {
    let density = puff(20);
    let volume = Volume::new(&density, [20; 3], [0.05; 3]).unwrap();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let view = View { yaw: 30.0, pitch: 20.0 };
        pool.install(|| draw_volume(&volume, None, view, 64, &SmokeStyle::new(1.0), BLACK)).unwrap()
    };
    let one = on(1);
    assert!([2, 3, 7].into_iter().all(|threads| on(threads) == one));
}

#[test]
fn one_cell_and_odd_views_do_not_panic() {
    let density = [1.0];
    let volume = Volume::new(&density, [1; 3], [1.0; 3]).unwrap();
    for yaw in [-400.0, 0.0, 45.0, 1e9] {
        for pitch in [-90.0, 0.0, 90.0] {
            draw_volume(&volume, None, View { yaw, pitch }, 9, &SmokeStyle::new(1.0), BLACK).unwrap();
        }
    }
}

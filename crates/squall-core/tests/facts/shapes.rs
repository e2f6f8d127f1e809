//! Shapes: distances, combinations and rigid motion.

use squall_core::Shape;
use squall_core::shape::{
    Beyond, Capsule, Cuboid, Cylinder, Difference, HalfSpace, Interpolation, Intersection, Inverse, Key, Motion,
    Moving, Offset, Shell, Sphere, Track, TrackError, Union,
};
use std::array::from_fn;

/// Numbers in [-1, 1) that depend on a counter alone.
fn random<const D: usize>(counter: u64) -> [f64; D] {
    from_fn(|a| {
        let mut x = (counter * D as u64 + a as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

fn length<const D: usize>(v: [f64; D]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn sub<const D: usize>(a: [f64; D], b: [f64; D]) -> [f64; D] {
    from_fn(|i| a[i] - b[i])
}

/// The derivative of an exact distance has length 1, and following it for the distance leads to the surface. Points
/// where the nearest surface point jumps within the difference are rare, hence "nearly all".
fn distance_is_exact<const D: usize>(name: &str, shape: &dyn Shape<D>) {
    let (mut exact, all) = (0, 400);
    for i in 0..all {
        let x: [f64; D] = random(i).map(|x| 1.5 * x);
        let d = shape.distance(x, 0.0);
        let step = 1e-6;
        let gradient: [f64; D] = from_fn(|a| {
            let shifted = |s: f64| shape.distance(from_fn(|b| x[b] + if a == b { s } else { 0.0 }), 0.0);
            (shifted(step) - shifted(-step)) / (2.0 * step)
        });
        let foot: [f64; D] = from_fn(|a| x[a] - d * gradient[a]);
        // Differences of a curved distance err by step^2 / radius, rounding by 1e-16 / step.
        if (length(gradient) - 1.0).abs() < 1e-6 && shape.distance(foot, 0.0).abs() < 1e-6 {
            exact += 1;
        }
    }
    assert!(exact >= all - 4, "{name}: {exact} of {all}");
}

/// Inside is inside the bounds, and the bounds are reached on every side.
fn bounds_are_tight<const D: usize>(name: &str, shape: &dyn Shape<D>) {
    let (low, high) = shape.bounds(0.0).expect(name);
    for a in 0..D {
        for (side, outward) in [(low, -1.0), (high, 1.0)] {
            // The least distance over a fine mesh of points of that side of the box.
            let mut least = f64::INFINITY;
            for i in 0..20_000 {
                let mut x: [f64; D] = random(i);
                for b in 0..D {
                    x[b] = low[b] + (high[b] - low[b]) * (0.5 + 0.5 * x[b]);
                }
                x[a] = side[a];
                least = least.min(shape.distance(x, 0.0));
                x[a] += 1e-9 * outward;
                assert!(shape.distance(x, 0.0) > 0.0, "{name} sticks out of its box along axis {a}");
            }
            assert!(least < 0.02, "{name}: axis {a} has {least} to spare");
        }
    }
}

fn primitives<const D: usize>() -> Vec<(&'static str, Box<dyn Shape<D>>)> {
    let at = |v: [f64; 3]| from_fn::<f64, D, _>(|a| v[a]);
    let (from, to) = (at([-0.4, -0.2, 0.1]), at([0.5, 0.3, -0.3]));
    let half = at([0.6, 0.4, 0.3]);
    vec![
        ("sphere", Box::new(Sphere { center: at([0.1, -0.2, 0.3]), radius: 0.7 })),
        ("box", Box::new(Cuboid { center: from, half, rounding: 0.0 })),
        ("rounded box", Box::new(Cuboid { center: to, half, rounding: 0.2 })),
        ("round box", Box::new(Cuboid { center: to, half, rounding: 9.0 })),
        ("capsule", Box::new(Capsule { from, to, radius: 0.3 })),
        ("cylinder", Box::new(Cylinder { from, to, radius: 0.3 })),
    ]
}

#[test]
fn distances_of_simple_shapes_are_exact_inside_and_outside() {
    for (name, shape) in primitives::<2>() {
        distance_is_exact(name, &*shape);
        bounds_are_tight(name, &*shape);
    }
    for (name, shape) in primitives::<3>() {
        distance_is_exact(name, &*shape);
        bounds_are_tight(name, &*shape);
    }
    distance_is_exact("half-space", &HalfSpace::new([0.1, 0.2, 0.3], [1.0, -2.0, 3.0]));
}

#[test]
fn known_distances() {
    let cube = Cuboid::between([0.0; 3], [2.0; 3]);
    assert_eq!(cube.distance([1.0, 1.0, 0.5], 0.0), -0.5);
    assert_eq!(cube.distance([5.0, 6.0, 1.0], 0.0), 5.0);
    let pill = Capsule { from: [0.0, 0.0], to: [0.0, 0.0], radius: 1.0 };
    assert_eq!(pill.distance([3.0, 4.0], 0.0), 4.0, "a capsule without length is a disc");
    let can = Cylinder { from: [0.0, -1.0, 0.0], to: [0.0, 1.0, 0.0], radius: 0.5 };
    assert_eq!(can.distance([3.5, 5.0, 0.0], 0.0), 5.0);
    assert_eq!(can.distance([0.0, 0.9, 0.0], 0.0), 0.9 - 1.0);
    assert_eq!(HalfSpace::new([0.0, 1.0], [0.0, 5.0]).distance([7.0, 0.0], 0.0), -1.0);
}

#[test]
fn combinations_follow_the_logic_of_sets_and_never_overstate_distances() {
    let left = Sphere { center: [-0.3, 0.0, 0.0], radius: 0.6 };
    let right = Cuboid::between([-0.1, -0.5, -0.5], [0.9, 0.4, 0.3]);
    let both = || -> Vec<Box<dyn Shape<3>>> { vec![Box::new(left), Box::new(right)] };
    let inverse = Inverse(left);
    let shell = Shell { shape: left, thickness: 0.2 };
    let grown = Offset { shape: right, by: 0.25 };
    let shapes: Vec<Box<dyn Shape<3>>> =
        vec![Box::new(Union(both())), Box::new(Intersection(both())), Box::new(Difference { from: left, cut: right })];
    let points: Vec<[f64; 3]> = (0..3000).map(|i| random(i).map(|x| 1.2 * x)).collect();
    let insides: Vec<Vec<bool>> =
        shapes.iter().map(|shape| points.iter().map(|&x| shape.distance(x, 0.0) < 0.0).collect()).collect();
    for (i, &x) in points.iter().enumerate() {
        let (l, r) = (left.distance(x, 0.0), right.distance(x, 0.0));
        assert_eq!(insides[0][i], l < 0.0 || r < 0.0);
        assert_eq!(insides[1][i], l < 0.0 && r < 0.0);
        assert_eq!(insides[2][i], l < 0.0 && r >= 0.0);
        assert_eq!(inverse.distance(x, 0.0), -l);
        assert_eq!(shell.distance(x, 0.0) < 0.0, l.abs() < 0.1);
        assert_eq!(grown.distance(x, 0.0), r - 0.25);
        // No point of the other kind lies within the distance.
        for (shape, inside) in shapes.iter().zip(&insides) {
            let d = shape.distance(x, 0.0).abs();
            let nearest = (0..points.len())
                .filter(|&k| inside[k] != inside[i])
                .map(|k| length(sub(points[k], x)))
                .fold(f64::INFINITY, f64::min);
            assert!(d <= nearest, "{d} {nearest}");
        }
    }
    assert_eq!(inverse.bounds(0.0), None);
    assert!(length(sub(Union(both()).bounds(0.0).unwrap().1, [0.9, 0.6, 0.6])) < 1e-15);
    let (_, high) = Intersection(both()).bounds(0.0).unwrap();
    // Corners are kept as centre and half size: one rounding each.
    assert!(length(sub(high, [0.3, 0.4, 0.3])) < 1e-15);
}

#[test]
fn combinations_of_nothing_are_nothing() {
    let empty = [&Union(Vec::new()) as &dyn Shape<2>, &Intersection(Vec::new())];
    for shape in empty {
        assert_eq!(shape.distance([0.0; 2], 0.0), f64::INFINITY);
        assert_eq!(shape.velocity([0.0; 2], 0.0), [0.0; 2]);
        assert!(!shape.moves());
    }
}

#[test]
fn a_union_moves_like_its_nearest_part() {
    let drifting = |x: f64, speed: f64| {
        let motion = Motion { velocity: [speed, 0.0], ..Motion::default() };
        Box::new(Moving::new(Sphere { center: [x, 0.0], radius: 0.2 }, motion))
    };
    let parts = Union(vec![drifting(-1.0, 2.0), drifting(1.0, -3.0)]);
    assert!(parts.moves());
    assert_eq!(parts.velocity([-0.5, 0.1], 0.0), [2.0, 0.0]);
    assert_eq!(parts.velocity([0.5, 0.1], 0.0), [-3.0, 0.0]);
    let hole = Difference { from: Cuboid::between([-2.0; 2], [2.0; 2]), cut: drifting(0.0, 1.0) };
    assert_eq!(hole.velocity([0.3, 0.0], 0.0), [1.0, 0.0], "the wall of the hole moves");
    assert_eq!(hole.velocity([1.9, 0.0], 0.0), [0.0, 0.0], "the block does not");
}

fn track<const N: usize>(keys: &[(f64, [f64; N])], interpolation: Interpolation, beyond: Beyond) -> Track<N> {
    let keys = keys.iter().map(|&(time, value)| Key { time, value }).collect();
    Track::new(keys, interpolation, beyond).unwrap()
}

#[test]
fn tracks_pass_through_their_keys_and_their_rates_are_derivatives() {
    let keys = [(0.5, [1.0, 0.0]), (1.0, [3.0, -1.0]), (3.0, [3.5, 2.0]), (3.5, [1.0, 0.0])];
    for interpolation in [Interpolation::Linear, Interpolation::Smooth] {
        for beyond in [Beyond::Hold, Beyond::Loop] {
            let track = track(&keys, interpolation, beyond);
            for (time, value) in keys {
                let (at_key, _) = track.at(time);
                // Equal ends: a loop passes through all keys too. Sums of a few rounded terms.
                assert!(length(sub(at_key, value)) < 1e-14, "{interpolation:?} {beyond:?} {time}");
            }
            for i in 0..400 {
                let t = -3.0 + 0.02 * f64::from(i) + 0.007;
                let step = 1e-6;
                let (_, rate) = track.at(t);
                let difference = sub(track.at(t + step).0, track.at(t - step).0).map(|d| d / (2.0 * step));
                // No key lies within a step of t. Cubic: error of order step^2 times third derivatives of about 100.
                assert!(length(sub(rate, difference)) < 1e-7, "{interpolation:?} {beyond:?} {t}");
            }
        }
    }
}

#[test]
fn smooth_tracks_do_not_overshoot_nor_jerk() {
    let keys = [(0.0, [0.0]), (0.1, [1.0]), (2.0, [1.0]), (2.5, [5.0]), (9.0, [6.0])];
    for beyond in [Beyond::Hold, Beyond::Loop] {
        let track = track(&keys, Interpolation::Smooth, beyond);
        for pair in keys.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            for i in 0..=100 {
                let t = from.0 + (to.0 - from.0) * f64::from(i) / 100.0;
                let [value] = track.at(t).0;
                // Growing, but for the start of the next round at the last key.
                let ends = t == 9.0 && beyond == Beyond::Loop;
                assert!((from.1[0] - 1e-12..=to.1[0] + 1e-12).contains(&value) || ends, "{t}: {value}");
            }
            let (before, after) = (track.at(to.0 - 1e-9).1[0], track.at(to.0 + 1e-9).1[0]);
            // Second derivatives are below 1e3 here.
            assert!((before - after).abs() < 1e-5, "the speed jumps at {}: {before} {after}", to.0);
        }
    }
}

#[test]
fn before_and_after_its_keys_a_track_holds_or_repeats() {
    let keys = [(1.0, [10.0]), (3.0, [20.0])];
    let held = track(&keys, Interpolation::Linear, Beyond::Hold);
    assert_eq!(held.at(-5.0), ([10.0], [0.0]));
    assert_eq!(held.at(7.0), ([20.0], [0.0]));
    let looped = track(&keys, Interpolation::Linear, Beyond::Loop);
    for round in [-3.0, -1.0, 0.0, 4.0] {
        assert_eq!(looped.at(1.5 + 2.0 * round), ([12.5], [5.0]));
    }
    let steps = track(&keys, Interpolation::Step, Beyond::Loop);
    assert_eq!(steps.at(2.999), ([10.0], [0.0]));
    assert_eq!(steps.at(3.0), ([10.0], [0.0]), "the next round has begun");
    assert_eq!(track(&keys, Interpolation::Step, Beyond::Hold).at(3.0), ([20.0], [0.0]));
    assert_eq!(Track::<1>::default().at(3.0), ([0.0], [0.0]));
}

#[test]
fn keys_out_of_order_and_not_finite_are_refused() {
    let key = |time, value| Key { time, value: [value] };
    let new = |keys: Vec<Key<1>>| Track::new(keys, Interpolation::Linear, Beyond::Hold).unwrap_err();
    assert_eq!(new(vec![key(0.0, 1.0), key(0.0, 2.0)]), TrackError::NotLater { key: 2, time: 0.0 });
    assert_eq!(new(vec![key(0.0, 1.0), key(1.0, f64::NAN)]), TrackError::NotFinite { key: 2 });
    assert_eq!(new(vec![key(f64::INFINITY, 1.0)]), TrackError::NotFinite { key: 1 });
}

fn lively<const D: usize>() -> Motion<D> {
    let at = |v: [f64; 3]| from_fn::<f64, D, _>(|a| v[a]);
    let keys = [(0.0, at([0.0; 3])), (1.0, at([1.0, 2.0, -1.0])), (2.5, at([0.0; 3]))];
    let turns = [(0.0, [0.0, 10.0, 0.0]), (1.5, [300.0, -50.0, 900.0]), (2.5, [100.0, 80.0, 1080.0])];
    Motion {
        pivot: at([0.3, -0.2, 0.4]),
        scale: 1.7,
        shift: track(&keys, Interpolation::Smooth, Beyond::Loop),
        angles: track(&turns, Interpolation::Linear, Beyond::Hold),
        velocity: at([0.5, -0.25, 0.125]),
        spin: [40.0, -70.0, 90.0],
    }
}

/// Follows material points of a moving shape by solving x' = velocity(x, t): their distances must not change.
fn distances_go_with_the_material<const D: usize>() {
    let at = |v: [f64; 3]| from_fn::<f64, D, _>(|a| v[a]);
    let body = Cuboid { center: at([0.2, 0.1, 0.0]), half: at([0.5, 0.2, 0.3]), rounding: 0.05 };
    let mut shape = Moving::new(body, lively::<D>());
    for i in 0..20 {
        let mut x: [f64; D] = random(i);
        let start = shape.distance(x, 0.0);
        // From 0 to 3 s, over keys and the hold after 2.5 s. Keys are multiples of the step: each lies between two steps.
        let (steps, dt) = (6000, 5e-4);
        for n in 0..steps {
            let t = f64::from(n) * dt;
            // Midpoint rule; every second step asks the prepared pose, which must be the same.
            if n % 2 == 0 {
                shape.prepare(t + 0.5 * dt);
            }
            let k = shape.velocity(x, t);
            let half: [f64; D] = from_fn(|a| x[a] + 0.5 * dt * k[a]);
            let v = shape.velocity(half, t + 0.5 * dt);
            x = from_fn(|a| x[a] + dt * v[a]);
        }
        let end = shape.distance(x, f64::from(steps) * dt);
        // Second order: (dt w)^2 |r| w t with w up to 12 rad/s and |r| up to 6 m.
        assert!((start - end).abs() < 2e-3, "{D}D: {start} {end}");
    }
}

#[test]
fn the_velocity_of_a_moving_shape_carries_its_surface() {
    distances_go_with_the_material::<2>();
    distances_go_with_the_material::<3>();
}

#[test]
fn the_velocity_of_a_moving_shape_is_the_derivative_of_its_points() {
    // The box around a sphere tells where its centre is.
    let motion = lively::<3>();
    let center = [0.9, -0.4, 0.1];
    let position = |t: f64| {
        let shape = Moving::new(Sphere { center, radius: 0.5 }, motion.clone());
        let (low, high) = shape.bounds(t).unwrap();
        from_fn::<f64, 3, _>(|a| 0.5 * (low[a] + high[a]))
    };
    let shape = Moving::new(Sphere { center, radius: 0.5 }, motion.clone());
    for i in 0..60 {
        let t = 0.013 + 0.05 * f64::from(i);
        let step = 1e-5;
        let difference = sub(position(t + step), position(t - step)).map(|d| d / (2.0 * step));
        let velocity = shape.velocity(position(t), t);
        // step^2 w^3 r / 6 with w = 12 rad/s; rounding 1e-16 / 1e-5.
        assert!(length(sub(velocity, difference)) < 1e-6, "{t}: {velocity:?} {difference:?}");
    }
}

#[test]
fn a_held_shape_stands_still_and_a_constant_motion_does_not_count_as_motion() {
    let keys = [(0.0, [0.0, 0.0]), (1.0, [1.0, 0.0])];
    let motion = Motion { shift: track(&keys, Interpolation::Linear, Beyond::Hold), ..Motion::default() };
    let shape = Moving::new(Sphere { center: [0.0; 2], radius: 0.5 }, motion);
    assert!(shape.moves());
    assert_eq!(shape.velocity([0.3, 0.4], 0.5), [1.0, 0.0]);
    assert_eq!(shape.velocity([0.3, 0.4], 1.5), [0.0, 0.0]);

    let tilted = Motion {
        scale: 2.0,
        shift: Track::constant([1.0, 2.0]),
        angles: Track::constant([0.0, 0.0, 90.0]),
        spin: [5.0, 0.0, 0.0],
        ..Motion::default()
    };
    let plank = Moving::new(Cuboid { center: [0.0; 2], half: [1.0, 0.1], rounding: 0.0 }, tilted);
    assert!(!plank.moves(), "in 2D nothing turns about x");
    // Twice the size, upright, around (1, 2). Rounding of sin 90.
    assert!((plank.distance([1.0, 4.5], 0.0) - 0.5).abs() < 1e-12);
    assert!((plank.distance([1.5, 2.0], 0.0) - 0.3).abs() < 1e-12);
}

#[test]
fn angles_are_applied_about_x_then_y_then_z() {
    let motion = Motion { angles: Track::constant([90.0, 90.0, 0.0]), ..Motion::default() };
    let marker = Moving::new(Sphere { center: [0.0, 1.0, 0.0], radius: 0.1 }, motion);
    // About x: y -> z. About y: z -> x.
    assert!((marker.distance([1.0, 0.0, 0.0], 0.0) + 0.1).abs() < 1e-12);
}

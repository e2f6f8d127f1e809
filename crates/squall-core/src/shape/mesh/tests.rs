//! Meshes as shapes, against brute force and formulas.

use super::samples::{propeller, sphere, torus, trefoil_knot, twisted_star};
use super::tree::{FINE, ROUGH, Tree};
use super::triangle::{self, Corners};
use super::*;
use crate::shape::motion::Beyond;
use crate::shape::vector::{add, length, scale, sub};
use crate::shape::{PolygonError, PolygonShape};
use std::array::from_fn;

/// Numbers in [-1, 1) that depend on a counter alone.
fn random<const D: usize>(counter: usize) -> [f64; D] {
    from_fn(|a| {
        let mut x = ((counter * D + a + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

type Formula<'a> = &'a dyn Fn([f64; 3]) -> f64;

fn corners(mesh: &TriangleMesh) -> Vec<Corners> {
    (0..mesh.triangles.len()).map(|i| mesh.corners(i)).collect()
}

/// Triangles all over the place.
fn soup(count: usize) -> TriangleMesh {
    let mut mesh = TriangleMesh::default();
    for i in 0..count {
        let center: [f64; 3] = random(4 * i);
        mesh.vertices.extend((1..4).map(|k| add(center, scale(random(4 * i + k), 0.1))));
        mesh.triangles.push(from_fn(|k| (3 * i + k) as u32));
    }
    mesh
}

/// A mesh of which the triangles with that number are missing.
fn without(mut mesh: TriangleMesh, missing: impl Fn(usize) -> bool) -> TriangleMesh {
    let mut i = 0;
    mesh.triangles.retain(|_| {
        i += 1;
        !missing(i - 1)
    });
    mesh
}

fn samples() -> Vec<(&'static str, TriangleMesh)> {
    vec![
        ("sphere", sphere(0.5, 16)),
        ("torus", torus(0.4, 0.15, 40, 20)),
        ("knot", trefoil_knot(0.09, 120, 12)),
        ("star", twisted_star(5, 90, 40)),
        ("propeller", propeller(3)),
    ]
}

#[test]
fn sample_meshes_are_closed_look_outwards_and_are_a_metre_wide() {
    for (name, mesh) in samples() {
        mesh.check().unwrap();
        assert!(mesh.is_closed(), "{name}");
        assert!(mesh.volume() > 0.0, "{name}");
        let (low, high) = mesh.bounds();
        let width = sub(high, low).into_iter().fold(0.0, f64::max);
        assert!((0.85..1.25).contains(&width), "{name} is {width} m wide");
    }
    // 4/3 pi r^3, less what 16 rows of facets cut off: about (pi/16)^2 / 2.
    assert!((sphere(0.5, 16).volume() / (std::f64::consts::PI / 6.0) - 1.0).abs() < 0.03);
}

#[test]
fn nearest_points_of_a_triangle_are_nearer_than_any_other_point_of_it() {
    for i in 0..300 {
        let triangle: Corners = from_fn(|k| random(5 * i + k));
        let x: [f64; 3] = scale(random(5 * i + 3), 2.0);
        let weights = triangle::nearest(&triangle, x);
        assert!(weights.iter().all(|&w| w >= -1e-12) && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let found = length(sub(x, triangle::point(&triangle, weights)));
        let n = 40;
        for j in 0..=n {
            for k in 0..=n - j {
                let (u, v) = (f64::from(j) / f64::from(n), f64::from(k) / f64::from(n));
                let other = length(sub(x, triangle::point(&triangle, [1.0 - u - v, u, v])));
                assert!(found <= other + 1e-12, "{found} {other}");
            }
        }
    }
}

#[test]
fn the_tree_finds_the_same_nearest_points_as_a_search_through_all_triangles() {
    for mesh in [soup(700), torus(0.5, 0.2, 30, 20), soup(1), soup(5)] {
        let all = corners(&mesh);
        let tree = Tree::new(&all);
        for i in 0..500 {
            let x: [f64; 3] = scale(random(i), 1.5);
            let distance = |t: &Corners| length(sub(x, triangle::point(t, triangle::nearest(t, x))));
            let least = all.iter().map(distance).fold(f64::INFINITY, f64::min);
            let guess = i % all.len();
            for near in [Some(tree.nearest(x)), tree.nearest_within(x, 1.01 * least, guess)] {
                let near = near.unwrap();
                // The same operations on the same numbers.
                assert_eq!(near.distance, least);
                assert_eq!(distance(&all[tree.id(near.slot)]), least);
            }
            assert!(tree.nearest_within(x, 0.99 * least, guess).is_none());
        }
    }
}

#[test]
fn winding_numbers_of_the_tree_are_those_of_the_direct_sum() {
    let holes = without(sphere(0.5, 24), |i| i % 7 == 0);
    for (name, mesh) in samples().into_iter().chain([("soup", soup(2000)), ("sphere with holes", holes)]) {
        let all = corners(&mesh);
        let tree = Tree::new(&all);
        let (mut fine, mut rough) = (0.0f64, 0.0f64);
        for i in 0..500 {
            let x: [f64; 3] = scale(random(i), 0.8);
            let direct: f64 = all.iter().map(|t| triangle::winding(t, x)).sum();
            fine = fine.max((tree.winding(x, FINE) - direct).abs());
            rough = rough.max((tree.winding(x, ROUGH) - direct).abs());
        }
        assert!(fine < 1e-3 && rough < 1e-2, "{name}: {fine} {rough}");
    }
}

#[test]
fn baked_distances_of_a_smooth_mesh_are_right_to_a_tenth_of_a_cell() {
    let h = 0.03;
    let ball = MeshShape::new(&sphere(0.5, 64), h).unwrap();
    let ring = MeshShape::new(&torus(0.5, 0.2, 128, 64), h).unwrap();
    let exact_ball = |x: [f64; 3]| length(x) - 0.5;
    let exact_ring = |x: [f64; 3]| (x[0].hypot(x[2]) - 0.5).hypot(x[1]) - 0.2;
    // Facets cut off r (1 - cos(pi / n)) at most.
    let facet = |r: f64, n: f64| r * (1.0 - (std::f64::consts::PI / n).cos());
    let cases: [(&MeshShape, Formula, f64); 2] =
        [(&ball, &exact_ball, facet(0.5, 128.0)), (&ring, &exact_ring, facet(0.7, 128.0) + facet(0.2, 64.0))];
    for (shape, exact, facets) in cases {
        assert!(shape.report().closed && !shape.report().thin && !shape.report().flipped);
        let (mut worst, mut in_band) = (0.0f64, 0);
        for i in 0..20_000 {
            let x: [f64; 3] = scale(random(i), 1.1);
            let (d, exact) = (shape.distance(x, 0.0), exact(x));
            // On the axis of the ring and at the middle of the tube the distance has a kink, but that is far inside.
            if exact.abs() < 4.0 * h {
                worst = worst.max((d - exact).abs());
                in_band += 1;
            } else {
                assert_eq!(d > 0.0, exact > 0.0);
                assert!(d.abs() <= exact.abs() + 0.1 * h + facets, "{d} overstates {exact}");
                assert!(d.abs() >= 3.9 * h, "{d} looks near, it is {exact}");
            }
        }
        assert!(in_band > 1000);
        assert!(worst < 0.1 * h + facets, "{} cells", worst / h);
    }
}

#[test]
fn nodes_on_the_very_surface_do_not_upset_signs() {
    // Cells of 0.05 m: nodes lie on all six faces, edges and corners.
    let cube = MeshShape::new(&slab([0.25; 3]), 0.05).unwrap();
    for i in 0..20_000 {
        let x: [f64; 3] = scale(random(i), 0.6);
        let out = x.into_iter().fold(0.0f64, |out, x| out.max(x.abs())) - 0.25;
        if out.abs() > 1e-6 {
            assert_eq!(cube.distance(x, 0.0) < 0.0, out < 0.0, "{x:?}");
        }
    }
}

#[test]
fn far_away_distances_are_useful_lower_bounds() {
    let shape = MeshShape::new(&sphere(0.5, 16), 0.05).unwrap();
    let d = shape.distance([30.0, 40.0, 0.0], 0.0);
    // From the box around the sphere, and its corner is 0.37 nearer than its surface.
    assert!(d < 49.5 && d > 49.0, "{d}");
}

#[test]
fn a_mesh_that_looks_inwards_is_turned() {
    let mut mesh = sphere(0.5, 16);
    mesh.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    let shape = MeshShape::new(&mesh, 0.05).unwrap();
    assert!(shape.report().flipped);
    assert!(shape.distance([0.0; 3], 0.0) < 0.0 && shape.distance([0.9, 0.0, 0.0], 0.0) > 0.0);
}

#[test]
fn signs_survive_holes_missing_triangles_and_overlaps() {
    let h = 0.04;
    let pricked = without(sphere(0.5, 24), |i| i % 11 == 0);
    assert!(!pricked.is_closed());
    let mut overlapping = sphere(0.5, 16);
    let other = sphere(0.5, 16);
    let first = overlapping.vertices.len() as u32;
    overlapping.vertices.extend(other.vertices.iter().map(|&v| add(v, [0.4, 0.0, 0.0])));
    overlapping.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
    // As STL files are: no corner is shared.
    let whole = sphere(0.5, 16);
    let mut torn = TriangleMesh::default();
    for t in corners(&whole) {
        let first = torn.vertices.len() as u32;
        torn.vertices.extend(t);
        torn.triangles.push([first, first + 1, first + 2]);
    }
    assert!(torn.is_closed(), "corners at the same place are one");
    let one = |x: [f64; 3]| length(x) - 0.5;
    let two = |x: [f64; 3]| one(x).min(one(sub(x, [0.4, 0.0, 0.0])));
    let cases: [(&str, TriangleMesh, Formula); 3] =
        [("pricked", pricked, &one), ("overlapping", overlapping, &two), ("torn", torn, &one)];
    for (name, mesh, exact) in cases {
        let shape = MeshShape::new(&mesh, h).unwrap();
        assert!(!shape.report().thin, "{name}: {}", shape.report().thin_share);
        for i in 0..5000 {
            let x: [f64; 3] = scale(random(i), 0.9);
            // Facets are up to 0.065 m long: where one is missing, the membrane hangs in the hole.
            if exact(x).abs() > h {
                assert_eq!(shape.distance(x, 0.0) < 0.0, exact(x) < 0.0, "{name} at {x:?}");
            }
        }
    }
}

#[test]
fn a_large_hole_is_closed_by_a_smooth_membrane() {
    // A ball without its top: above 45 degrees.
    let open = sphere(0.5, 32);
    let keep = |t: &Corners| triangle::centroid(t)[1] < 0.35;
    let lid: Vec<bool> = corners(&open).iter().map(|t| !keep(t)).collect();
    let shape = MeshShape::new(&without(open, |i| lid[i]), 0.02).unwrap();
    assert!(!shape.report().closed);
    let mut crossings = Vec::new();
    for i in -5..=5 {
        let x = 0.03 * f64::from(i);
        let along: Vec<f64> = (0..200).map(|k| shape.distance([x, 0.004 * f64::from(k), 0.0], 0.0)).collect();
        let changes: Vec<usize> = (1..200).filter(|&k| (along[k] < 0.0) != (along[k - 1] < 0.0)).collect();
        assert_eq!(changes.len(), 1, "one way out");
        let k = changes[0];
        // No jump where the membrane is passed: values move like a distance, not by twice the distance to the mesh.
        assert!(along[k] - along[k - 1] < 0.008, "{} {}", along[k - 1], along[k]);
        crossings.push(0.004 * k as f64);
    }
    for pair in crossings.windows(2) {
        assert!((pair[0] - pair[1]).abs() < 0.013, "a step of half a cell at most: {crossings:?}");
    }
}

/// A closed box as a mesh.
fn slab(half: [f64; 3]) -> TriangleMesh {
    let vertices = (0..8).map(|c: usize| from_fn(|a| if c >> a & 1 == 1 { half[a] } else { -half[a] })).collect();
    let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriangleMesh { vertices, triangles }
}

#[test]
fn thin_plates_are_reported_and_can_be_made_thick_enough() {
    let h = 0.05;
    let plate = slab([0.4, 0.4, 0.2 * h]);
    assert!(plate.is_closed() && plate.volume() > 0.0);
    let thin = MeshShape::new(&plate, h).unwrap();
    assert!(thin.report().thin && thin.report().thin_share > 0.8);
    let options = MeshOptions { thicken: true, ..MeshOptions::default() };
    let thick = MeshShape::with_options(&plate, h, options).unwrap();
    for i in 0..50 {
        let [x, y]: [f64; 2] = random::<2>(i).map(|x| 0.3 * x);
        let z_of = |shape: &MeshShape, z: f64| shape.distance([x, y, z], 0.0);
        // 0.75 cells to either side. Inside, linear interpolation over the ridge flattens it by up to half a cell.
        assert!((z_of(&thick, 2.0 * h) - 1.25 * h).abs() < 0.1 * h);
        assert!(z_of(&thick, 0.0) < -0.2 * h);
    }
    let block = slab([0.4, 0.4, 2.0 * h]);
    assert!(!MeshShape::new(&block, h).unwrap().report().thin);
    let [plain, thickened] = [MeshOptions::default(), options].map(|o| Solid::new(&block, h, o).unwrap());
    for i in 0..500 {
        let x: [f64; 3] = random::<3>(i).map(|x| 0.6 * x);
        assert_eq!(plain.distance(x), thickened.distance(x), "what is thick stays as it is");
    }
}

#[test]
fn a_sheet_without_volume_is_a_shape_if_asked_for() {
    let square = TriangleMesh {
        vertices: vec![[-0.5, 0.0, -0.5], [0.5, 0.0, -0.5], [0.5, 0.0, 0.5], [-0.5, 0.0, 0.5]],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
    };
    let h = 0.05;
    assert!(MeshShape::new(&square, h).unwrap().report().thin, "it has no inside");
    let grown = MeshShape::with_options(&square, h, MeshOptions { thicken: true, ..MeshOptions::default() }).unwrap();
    let sheet =
        MeshShape::with_options(&square, h, MeshOptions { sheet: Some(0.1), ..MeshOptions::default() }).unwrap();
    for i in 0..200 {
        let [x, y, z]: [f64; 3] = random::<3>(i).map(|x| 0.4 * x);
        let y = 0.4 * y;
        if y.abs() > h {
            // Nodes lie on both sides, none in between: linear is exact.
            assert!((sheet.distance([x, y, z], 0.0) - (y.abs() - 0.05)).abs() < 1e-6);
            assert!((grown.distance([x, y, z], 0.0) - (y.abs() - 0.75 * h)).abs() < 1e-6);
        }
    }
}

#[test]
fn bad_meshes_and_resolutions_are_refused() {
    let mesh = sphere(0.5, 8);
    assert_eq!(MeshShape::new(&TriangleMesh::default(), 0.1).unwrap_err(), MeshError::Empty);
    for h in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(MeshShape::new(&mesh, h), Err(MeshError::Resolution { .. })));
    }
    for h in [1e-5, 1e-300] {
        let error = MeshShape::new(&mesh, h).unwrap_err();
        let MeshError::Bake(BakeError::TooFine { least, .. }) = error else { panic!("{error}") };
        assert!(least > h);
    }
    let mut bad = mesh.clone();
    bad.vertices[7][1] = f64::NAN;
    assert_eq!(MeshShape::new(&bad, 0.1).unwrap_err(), MeshError::NotFinite { vertex: 7 });
    let mut bad = mesh.clone();
    bad.triangles[3][2] = 1000;
    assert!(matches!(MeshShape::new(&bad, 0.1), Err(MeshError::Index { triangle: 3, vertex: 1000, .. })));
    // A point is a mesh too, if a poor one.
    let point = TriangleMesh { vertices: vec![[0.0; 3]], triangles: vec![[0, 0, 0]] };
    assert!(MeshShape::new(&point, 0.1).unwrap().distance([1.0, 0.0, 0.0], 0.0) > 0.0);
}

#[test]
fn baking_does_not_depend_on_the_number_of_threads() {
    let mesh = without(trefoil_knot(0.09, 120, 12), |i| i % 50 == 0);
    let bake = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| MeshShape::new(&mesh, 0.03).unwrap())
    };
    let (one, three) = (bake(1), bake(3));
    for i in 0..5000 {
        let x: [f64; 3] = random(i);
        assert_eq!(one.distance(x, 0.0).to_bits(), three.distance(x, 0.0).to_bits());
    }
}

fn stretched(factor: f64, shift: f64) -> TriangleMesh {
    let mut mesh = sphere(0.3, 16);
    mesh.vertices.iter_mut().for_each(|v| *v = [v[0] * factor + shift, v[1], v[2]]);
    mesh
}

#[test]
fn a_deforming_mesh_moves_with_its_triangles() {
    let keys = vec![(1.0, stretched(1.0, 0.0)), (3.0, stretched(2.0, 1.0)), (4.0, stretched(1.0, 0.0))];
    let mut shape = MeshSequence::new(keys, Beyond::Hold, 0.03, MeshOptions::default()).unwrap();
    assert!(shape.moves() && shape.has_velocity());
    for t in [1.0, 1.5, 2.9, 3.5] {
        shape.prepare(t);
        let (stretch, shift, rate) =
            if t < 3.0 { (0.5 + 0.5 * t, 0.5 * t - 0.5, 0.5) } else { (5.0 - t, 4.0 - t, -1.0) };
        for side in [-1.0, 1.0] {
            let end = [0.3 * side * stretch + shift, 0.0, 0.0];
            assert!(shape.distance(end, t).abs() < 0.015, "its tip is where it should be");
            let v = shape.velocity(end, t);
            // d/dt (0.3 side stretch + shift); stretch and shift change at the same rate here.
            // The nearest point is that of a sample up to half a resolution away, and velocities change by 0.5 to 1 a metre.
            assert!(length(sub(v, [rate * (0.3 * side + 1.0), 0.0, 0.0])) < 0.015, "{t}: {v:?}");
        }
        // Not prepared: the same, up to interpolation.
        let x = [shift, 0.32, 0.0];
        let prepared = shape.distance(x, t);
        let v = shape.velocity(x, t);
        shape.prepare(0.0);
        assert!((shape.distance(x, t) - prepared).abs() < 0.003);
        assert!(length(sub(shape.velocity(x, t), v)) < 0.015);
    }
    assert_eq!(shape.velocity([0.0; 3], 0.5), [0.0; 3], "before its first key it is at rest");
    assert_eq!(shape.velocity([0.0; 3], 9.0), [0.0; 3]);
}

#[test]
fn meshes_with_other_triangles_take_turns_and_have_no_velocity() {
    let keys = vec![(0.0, sphere(0.3, 16)), (1.0, sphere(0.5, 20))];
    let mut shape = MeshSequence::new(keys, Beyond::Loop, 0.05, MeshOptions::default()).unwrap();
    assert!(shape.moves() && !shape.has_velocity());
    shape.prepare(0.9);
    let at = |shape: &MeshSequence, t: f64| shape.distance([0.4, 0.0, 0.0], t);
    // Linear interpolation: h^2 / (8 * 0.3) along each of two axes.
    assert!((at(&shape, 0.9) - 0.1).abs() < 0.003, "{}", at(&shape, 0.9));
    assert_eq!(shape.velocity([0.4, 0.0, 0.0], 0.9), [0.0; 3]);
    shape.prepare(7.5);
    assert!((at(&shape, 7.5) - 0.1).abs() < 0.003);
}

#[test]
fn sequences_out_of_order_are_refused() {
    let new = |keys| MeshSequence::new(keys, Beyond::Hold, 0.1, MeshOptions::default()).err().unwrap();
    let ball = || sphere(0.3, 8);
    assert_eq!(new(vec![]), SequenceError::Empty);
    assert_eq!(new(vec![(1.0, ball()), (1.0, ball())]), SequenceError::Time { key: 2, time: 1.0 });
    let empty = SequenceError::Mesh { key: 2, source: MeshError::Empty };
    assert_eq!(new(vec![(1.0, ball()), (2.0, TriangleMesh::default())]), empty);
}

#[test]
fn polygons_have_exact_distances_holes_and_any_direction() {
    let square = |half: f64| vec![[-half, -half], [half, -half], [half, half], [-half, half]];
    let mut clockwise = square(0.5);
    clockwise.reverse();
    let frame = PolygonShape::new(&[square(1.0), clockwise.clone()]).unwrap();
    for (x, d) in [([0.0, 0.0], 0.5), ([0.75, 0.1], -0.25), ([4.0, 5.0], 5.0), ([0.0, -0.6], -0.1)] {
        // Squares of small decimal numbers.
        assert!((frame.distance(x, 0.0) - d).abs() < 1e-15, "{x:?}");
    }
    let solid = PolygonShape::new(&[clockwise]).unwrap();
    assert_eq!(solid.distance([0.0, 0.0], 0.0), -0.5, "clockwise is solid too");
    // A five-pointed star in one stroke: its middle is wound around twice, and is inside.
    let star = (0..5).map(|i| libm::sincos(0.8 * std::f64::consts::PI * f64::from(i)).into()).collect();
    let star = PolygonShape::new(&[star]).unwrap();
    assert!(star.distance([0.0; 2], 0.0) < 0.0 && star.distance([0.0, -0.9], 0.0) > 0.0);
    assert_eq!(star.bounds(0.0).unwrap().1[1], 1.0);

    let baked = Baked::new(&frame, 0.0, 0.05, 4.0).unwrap();
    for i in 0..2000 {
        let x: [f64; 2] = scale(random(i), 1.5);
        let (d, exact) = (baked.distance(x, 0.0), frame.distance(x, 0.0));
        // At corners, linear interpolation errs by up to half a cell; further away it is a lower bound.
        assert!(d.abs() <= exact.abs() + 0.025 && (exact.abs() > 0.2 || (d - exact).abs() < 0.025), "{x:?}");
    }
    assert_eq!(PolygonShape::new(&[vec![[0.0; 2]; 2]]), Err(PolygonError::TooFew { outline: 1, points: 2 }));
    let nan = vec![[0.0; 2], [0.0, f64::NAN], [1.0, 0.0]];
    assert_eq!(PolygonShape::new(&[square(1.0), nan]), Err(PolygonError::NotFinite { outline: 2, point: 2 }));
}

#[test]
fn triangles_on_top_of_each_other_are_refused_before_they_take_minutes() {
    // Each lies a billionth of a metre above the one before: nothing tells a tree which of them is near.
    let mut pile = TriangleMesh::default();
    for i in 0..5000 {
        let z = 1e-9 * f64::from(i);
        pile.vertices.extend([[0.0, 0.0, z], [1.0, 0.0, z], [0.0, 1.0, z]]);
        pile.triangles.push([3 * i, 3 * i + 1, 3 * i + 2]);
    }
    match MeshShape::new(&pile, 0.05) {
        Err(MeshError::Dense { near, most }) => assert!(near > most),
        other => panic!("{other:?}"),
    }
    // As many sensible triangles are no trouble at any resolution.
    for resolution in [0.2, 0.02] {
        assert!(MeshShape::new(&samples::trefoil_knot(0.09, 120, 24), resolution).is_ok());
    }
}

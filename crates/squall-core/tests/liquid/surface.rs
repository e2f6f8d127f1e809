//! The surface around particles: where it lies, and that it is closed.

use squall_core::surface::{Fineness, Outline, Points, Room, SurfaceMesh, contour, outline, refined, touch_solids};
use squall_core::volume::Volume;
use std::collections::HashMap;

/// Eight particles (in 2D four) to each cell of 0.1, shaken, where `inside` says so.
fn fill<const D: usize>(cells: [usize; D], inside: impl Fn([f64; D]) -> bool) -> Vec<[f32; D]> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5
    };
    let lattice = cells.map(|n| 2 * n);
    let mut all = Vec::new();
    for mut n in 0..lattice.iter().product::<usize>() {
        let x: [f64; D] = std::array::from_fn(|a| {
            let i = n % lattice[a];
            n /= lattice[a];
            0.05 * (i as f64 + 0.5 + 0.5 * random())
        });
        if inside(x) {
            all.push(x.map(|v| v as f32));
        }
    }
    all
}

fn free<const D: usize>() -> Room<D> {
    Room { origin: [0.0; D], cell: 0.1, walls: [[None; 2]; D], periodic: [false; D] }
}

/// Every edge has two triangles, in opposite directions; no triangle is without area; every vertex is used.
fn assert_closed(mesh: &SurfaceMesh) {
    let mut edges: HashMap<(u32, u32), usize> = HashMap::new();
    let mut used = vec![false; mesh.positions.len()];
    for t in &mesh.triangles {
        t.iter().for_each(|&v| used[v as usize] = true);
        (0..3).for_each(|k| *edges.entry((t[k], t[(k + 1) % 3])).or_default() += 1);
        let [p, q, r] = t.map(|v| mesh.positions[v as usize].map(f64::from));
        let (u, v): ([f64; 3], [f64; 3]) = (std::array::from_fn(|a| q[a] - p[a]), std::array::from_fn(|a| r[a] - p[a]));
        let across = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        assert!(across.iter().map(|x| x * x).sum::<f64>() > 0.0, "a triangle without area");
    }
    assert!(
        edges.iter().all(|(&(a, b), &n)| n == 1 && edges.get(&(b, a)) == Some(&1)),
        "an edge without two triangles"
    );
    assert!(used.iter().all(|&used| used), "a vertex of no triangle");
    assert!(mesh.normals.iter().all(|n| (n.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-4));
}

fn mesh(places: &[[f32; 3]], room: &Room<3>, refine: usize) -> SurfaceMesh {
    contour(&Points::new(places, room).distances(Fineness { refine, smoothing: 8 }))
}

#[test]
fn a_ball_of_particles_has_a_closed_surface_of_its_own_size_at_any_fineness() {
    let ball = |x: [f64; 3]| x.iter().map(|x| (x - 0.8) * (x - 0.8)).sum::<f64>() < 0.36;
    let places = fill([16; 3], ball);
    let (area, volume) = (4.0 * std::f64::consts::PI * 0.36, 4.0 / 3.0 * std::f64::consts::PI * 0.216);
    for refine in 1..=4 {
        let mesh = mesh(&places, &free(), refine);
        assert_closed(&mesh);
        let [a, v] = mesh.area_and_volume();
        // Twelve cells across: kernels of a cell and a half take a little off a curved surface.
        assert!((v / volume - 1.0).abs() < 0.06, "refined {refine} times: volume {:.3} of the ball's", v / volume);
        assert!((a / area - 1.0).abs() < 0.04, "refined {refine} times: area {:.3} of the ball's", a / area);
    }
}

#[test]
fn area_and_volume_of_an_exact_ball_converge_by_the_second_order() {
    let error = |n: usize| {
        let (h, values) = (2.0 / n as f64, (0..n * n * n).map(|i| [i % n, i / n % n, i / n / n]));
        let at = |i: usize| (i as f64 + 0.5) * h - 1.0;
        let values: Vec<f32> =
            values.map(|c| (c.map(at).iter().map(|x| x * x).sum::<f64>().sqrt() - 0.7) as f32).collect();
        let mesh = contour(&Volume::from_dense([-1.0; 3], h, 1.0, [n; 3], &values));
        assert_closed(&mesh);
        let [a, v] = mesh.area_and_volume();
        [
            (1.0 - a / (4.0 * std::f64::consts::PI * 0.49)).abs(),
            (1.0 - v / (4.0 / 3.0 * std::f64::consts::PI * 0.343)).abs(),
        ]
    };
    let (coarse, fine) = (error(20), error(40));
    assert!((0..2).all(|k| fine[k] < 0.35 * coarse[k] && fine[k] < 4e-3), "{coarse:?}, {fine:?}");
}

#[test]
fn still_water_in_a_tank_is_a_block_with_flat_sides() {
    // Water 1 deep in a tank of 1.6 by 1.6.
    let places = fill([16, 16, 16], |x| x[1] < 1.0);
    let wall = [Some(0.0), Some(1.6)];
    let room = Room { origin: [0.0; 3], cell: 0.1, walls: [wall, [Some(0.0), None], wall], periodic: [false; 3] };
    for refine in [1, 2, 3] {
        let mesh = mesh(&places, &room, refine);
        assert_closed(&mesh);
        let volume = mesh.area_and_volume()[1];
        // Edges are cut off by half a fine cell.
        assert!(
            (volume / 2.56 - 1.0).abs() < if refine == 1 { 0.015 } else { 0.01 },
            "refined {refine} times: volume {volume}, not 2.56"
        );
        for (p, n) in mesh.positions.iter().zip(&mesh.normals) {
            assert!((0..3).all(|a| p[a] > -1e-5 && (a == 1 || p[a] < 1.6 + 1e-5)), "behind a wall: {p:?}");
            if n[1] > 0.9 {
                assert!((p[1] - 1.0).abs() < 0.015, "a bump of more than a seventh of a cell: {p:?}");
            }
        }
    }
}

/// A wave whose crest lies across the ends of a room that repeats itself along x.
#[test]
fn a_surface_goes_on_at_the_other_end_of_a_periodic_room() {
    let height = |x: f64| 0.8 + 0.25 * (x * std::f64::consts::TAU / 1.6).cos();
    let wave = |x: [f64; 2]| x[1] < height(x[0]);
    let walls = [[Some(0.0), Some(1.6)], [Some(0.0), None]];
    let room = Room { origin: [0.0; 2], cell: 0.1, walls, periodic: [true, false] };
    let cells: Vec<f32> =
        (0..256).map(|i| (0.1 * ((i / 16) as f64 + 0.5) - height(0.1 * ((i % 16) as f64 + 0.5))) as f32).collect();
    let surfaces = [
        Points::new(&fill([16; 2], wave), &room).distances(Fineness::default()),
        refined(&cells, [16, 16], &room, Fineness::default()),
    ];
    for volume in surfaces {
        let lines = outline(&volume);
        assert_eq!(lines.loops.len(), 1);
        // 0.8 deep in the mean.
        assert!((lines.area() / 1.28 - 1.0).abs() < 0.015, "{}", lines.area());
        let top = |end: f32| {
            let near = lines.loops[0].iter().filter(|p| (p[0] - end).abs() < 0.08);
            near.map(|p| f64::from(p[1])).fold(0.0, f64::max)
        };
        // Without what is behind the end, the crest would be round there, by half a cell.
        assert!((top(0.0) - 1.05).abs() < 0.02 && (top(0.0) - top(1.6)).abs() < 0.01, "{} {}", top(0.0), top(1.6));
    }
}

#[test]
fn water_beside_a_post_touches_it_and_ends_at_the_floor() {
    let post = |x: [f64; 3]| ((x[0] - 0.8).powi(2) + (x[2] - 0.8).powi(2)).sqrt() - 0.3;
    let places = fill([16; 3], |x| x[1] < 0.6 && post(x) > 0.0);
    let wall = [Some(0.0), Some(1.6)];
    let room = Room { origin: [0.0; 3], cell: 0.1, walls: [wall, [Some(0.0), None], wall], periodic: [false; 3] };
    let mut volume = Points::new(&places, &room).distances(Fineness::default());
    touch_solids(&mut volume, &room, post);
    let mesh = contour(&volume);
    assert_closed(&mesh);
    let beside = mesh.positions.iter().filter(|p| (0.1..0.5).contains(&p[1]) && post(p.map(f64::from)) < 0.2);
    // Three tenths of a cell inside, so that there is no gap to be seen.
    assert!(beside.clone().count() > 50 && beside.clone().all(|p| (post(p.map(f64::from)) + 0.03).abs() < 0.01));
    let lowest = mesh.positions.iter().map(|p| p[1]).fold(f32::INFINITY, f32::min);
    assert!(lowest > -1e-5, "the floor is at 0, the lowest vertex at {lowest}");
}

#[test]
fn drops_sheets_and_gaps_are_kept() {
    let single = mesh(&[[0.52, 0.53, 0.57]], &free(), 2);
    assert_closed(&single);
    let volume = single.area_and_volume()[1];
    assert!((0.3..4.0).contains(&(volume / 1.25e-4)), "a particle of an eighth of a cell has the volume {volume}");
    // A sheet of one layer of particles has no hole: two sides, as large as it is.
    let sheet = fill([16, 16, 16], |x| (x[1] - 0.825).abs() < 0.025);
    let mesh_of_sheet = mesh(&sheet, &free(), 2);
    assert_closed(&mesh_of_sheet);
    let area = mesh_of_sheet.area_and_volume()[0];
    assert!((4.9..6.3).contains(&area), "two sides of 1.6 by 1.6, and the rim: {area}");
    let euler = mesh_of_sheet.positions.len() as isize - mesh_of_sheet.triangles.len() as isize / 2;
    assert_eq!(euler, 2, "a sheet without holes is like a ball");
    // Two slabs a cell and a half apart stay two.
    let slabs = fill([12, 16, 12], |x| (x[1] - 0.4).abs() < 0.3 || (x[1] - 1.15).abs() < 0.3);
    let mesh_of_slabs = mesh(&slabs, &free(), 2);
    let euler = mesh_of_slabs.positions.len() as isize - mesh_of_slabs.triangles.len() as isize / 2;
    assert_eq!(euler, 4, "two slabs are like two balls");
}

#[test]
fn velocities_at_vertices_are_those_of_the_particles_around() {
    let places = fill([12; 3], |x| x.iter().map(|x| (x - 0.6) * (x - 0.6)).sum::<f64>() < 0.16);
    let turning: Vec<f32> = places.iter().map(|p| 3.0 * (p[1] - 0.6)).collect();
    let mesh = mesh(&places, &free(), 2);
    let found = Points::new(&places, &free()).carried(&mesh.positions, &[&turning, &vec![2.5; places.len()]]);
    for ((x, turning), same) in mesh.positions.iter().zip(&found[0]).zip(&found[1]) {
        assert!((same - 2.5).abs() < 1e-5);
        // The particles around lie inside, up to half a cell away from the vertex.
        assert!((turning - 3.0 * (x[1] - 0.6)).abs() < 0.2, "{turning} at {x:?}");
    }
}

#[test]
fn a_surface_has_the_same_bits_on_any_number_of_threads() {
    let places = fill([16; 3], |x| (4.0 * x[0]).sin() * (5.0 * x[1]).cos() + (3.0 * x[2]).sin() > 0.3);
    let room = Room { walls: [[Some(0.0), None], [Some(0.0), Some(1.6)], [None, None]], ..free() };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| mesh(&places, &room, 2))
    };
    let first = on(1);
    assert_closed(&first);
    assert!(first == on(2) && first == on(5));
}

#[test]
fn outlines_of_flat_liquids_enclose_their_area_and_their_holes() {
    let ring = |x: [f64; 2]| (0.09..0.49).contains(&x.iter().map(|x| (x - 0.8) * (x - 0.8)).sum::<f64>());
    let places = fill([16; 2], ring);
    let Outline { loops } = outline(&Points::new(&places, &free()).distances(Fineness::default()));
    assert_eq!(loops.len(), 2, "an outer line and a hole");
    let area = Outline { loops }.area();
    assert!((area / (std::f64::consts::PI * 0.4) - 1.0).abs() < 0.04, "area {area}");
    // A pool in a box has straight sides.
    let pool = fill([16; 2], |x| x[1] < 0.6);
    let room =
        Room { origin: [0.0; 2], cell: 0.1, walls: [[Some(0.0), Some(1.6)], [Some(0.0), None]], periodic: [false; 2] };
    let lines = outline(&Points::new(&pool, &room).distances(Fineness::default()));
    assert_eq!(lines.loops.len(), 1);
    assert!((lines.area() / 0.96 - 1.0).abs() < 0.01, "{}", lines.area());
}

#[test]
fn nothing_has_no_surface() {
    assert_eq!(mesh(&[], &free(), 2), SurfaceMesh::default());
    assert_eq!(outline(&Points::new(&[], &free()).distances(Fineness::default())), Outline::default());
}

#[test]
fn what_particles_carry_is_known_on_walls_deep_below_the_surface() {
    // A box three quarters full: most of its mesh lies on walls, where all is full as far as kernels reach.
    let places = fill([16; 3], |x| x[1] < 1.2);
    let walls = [[Some(0.0), Some(1.6)], [Some(0.0), None], [Some(0.0), Some(1.6)]];
    let points = Points::new(&places, &Room { walls, ..free() });
    let mesh = contour(&points.distances(Fineness { refine: 2, smoothing: 8 }));
    let deep = mesh.positions.iter().filter(|x| x[1] < 0.6).count();
    assert!(deep > 1000, "{deep} vertices far below the surface");
    let carried = points.carried(&mesh.positions, &[&vec![3.0; places.len()]]);
    assert!(carried[0].iter().all(|v| (v - 3.0).abs() < 1e-5), "the mean of threes is three");
}

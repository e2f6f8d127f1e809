//! Free surfaces in the multigrid: the right solution, and few iterations.

use squall_core::poisson::multigrid::Number;
use squall_core::poisson::{CellState, Domain, Multigrid};
use squall_core::{At, Ends, Field, Layout, SolveReport};

use crate::dense::{Scene, cells_of, combinations, new, noise, random_faces, set};

/// Random fluid, air and solid, with random distances.
fn random_scene<const D: usize>(layout: Layout<D>, ends: [Ends; D], seed: u64, parts: [f64; 2]) -> Scene<D> {
    let mut scene = Scene::on(layout, ends);
    let state = |i| match noise(seed, i) {
        r if r < 2.0 * parts[0] - 1.0 => CellState::Air,
        r if r > 1.0 - 2.0 * parts[1] => CellState::Solid,
        _ => CellState::Fluid,
    };
    let (mut states, mut phi) = (new(&scene.layout, At::Center), new(&scene.layout, At::Center));
    set(&mut states, state);
    set(&mut phi, |i| {
        let size = noise(seed + 50, i).abs() + 1e-3;
        if state(i) == CellState::Air { size } else { -size }
    });
    scene.state = Some(states);
    if !seed.is_multiple_of(3) {
        scene.phi = Some(phi);
    }
    if seed.is_multiple_of(2) {
        scene.open = Some(random_faces(&scene.layout, seed + 7));
    }
    scene
}

fn domain<'a, const D: usize>(scene: &'a Scene<D>) -> Domain<'a, D, f64> {
    Domain { open: scene.open.as_ref(), state: scene.state.as_ref(), phi: scene.phi.as_ref() }
}

fn check_solution<const D: usize>(scene: &Scene<D>, name: &str) {
    let h = 0.3;
    let mut solver = Multigrid::<D, f64>::new(&scene.layout, h, scene.ends).unwrap();
    solver.set(domain(scene));
    let (mut rhs, mut q) = (new(&scene.layout, At::Center), new(&scene.layout, At::Center));
    set(&mut rhs, |i| noise(9, i));
    set(&mut q, |i| noise(10, i));
    let report = solver.solve_from(&rhs, &mut q, 1e-11, 300);
    let expected = scene.solve(0.0, |i| -h * h * rhs.get_signed(i), |_, _, _| 0.0);
    let largest = expected.values().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(report.converged || expected.is_empty(), "{name}: {report:?}");
    for i in cells_of(&scene.layout) {
        let (got, right) = (q.get_signed(i), expected.get(&i).copied().unwrap_or(0.0));
        // The residual is 1e-11 of the right side; the smallest eigenvalue of up to 900 cells is above 1e-3.
        assert!((got - right).abs() <= 1e-7 * largest, "{name} {i:?}: {got}, not {right}; {report:?}");
    }
}

#[test]
fn random_fluid_air_and_solid_give_the_solution_of_the_dense_matrix_in_2d() {
    let mut seed = 0;
    for cells in [[9, 12], [16, 16], [17, 13], [1, 9], [2, 3]] {
        for ends in combinations::<2>() {
            for parts in [[0.3, 0.1], [0.05, 0.0], [0.0, 0.3]] {
                seed += 1;
                let scene = random_scene(Layout::dense(cells), ends, seed, parts);
                check_solution(&scene, &format!("{cells:?} {ends:?} {parts:?} {seed}"));
            }
        }
    }
}

#[test]
fn random_fluid_air_and_solid_give_the_solution_of_the_dense_matrix_in_3d() {
    for (seed, ends) in combinations::<3>().enumerate().filter(|(seed, _)| seed % 4 == 0) {
        let cells = [[6, 8, 7], [9, 4, 8], [5, 10, 6]][seed / 4 % 3];
        let scene = random_scene(Layout::dense(cells), ends, seed as u64, [0.15, 0.1]);
        check_solution(&scene, &format!("{cells:?} {ends:?} {seed}"));
    }
}

#[test]
fn random_fluid_air_and_solid_give_the_solution_of_the_dense_matrix_on_tiles() {
    // Few unknowns, so that the matrix stays small.
    for seed in 0..4 {
        let mut scene =
            random_scene(Layout::tiles([[0, 0], [-1, 0], [0, 1]]), [Ends::Unbounded(0.0); 2], seed, [0.6, 0.05]);
        check_solution(&scene, &format!("2D tiles {seed}"));
        scene.open = None;
        check_solution(&scene, &format!("2D tiles {seed}, all open"));
    }
    for seed in 0..3 {
        let layout = Layout::tiles([[0, 0, 0], [1, 0, 0]]);
        check_solution(
            &random_scene(layout, [Ends::Unbounded(0.0); 3], seed, [0.85, 0.05]),
            &format!("3D tiles {seed}"),
        );
    }
}

#[test]
fn the_v_cycle_is_symmetric_with_a_surface_in_it() {
    let dot = |a: &Field<2, f64>, b: &Field<2, f64>| -> f64 {
        cells_of(a.layout()).into_iter().map(|i| a.get_signed(i) * b.get_signed(i)).sum()
    };
    for (k, ends) in combinations::<2>().enumerate() {
        let scene = random_scene(Layout::dense([31, 24]), ends, k as u64, [0.03, 0.03]);
        let mut solver = Multigrid::<2, f64>::new(&scene.layout, 0.1, ends).unwrap();
        solver.set(domain(&scene));
        let [mut x, mut y, mut mx, mut my] = [0; 4].map(|_| new::<2, f64>(&scene.layout, At::Center));
        set(&mut x, |i| noise(1, i));
        set(&mut y, |i| noise(2, i));
        solver.v_cycle(&x, &mut mx);
        solver.v_cycle(&y, &mut my);
        let (a, b, size) = (dot(&x, &my), dot(&y, &mx), (dot(&mx, &mx) * dot(&y, &y)).sqrt());
        // Sums in f64, in two orders.
        assert!((a - b).abs() < 1e-12 * size, "{ends:?}: {a} and {b} of {size}");
        assert!(dot(&x, &mx) < 0.0);
    }
}

// ------------------------------------------------------------------------------------------------ iteration counts

/// Iterations to a tolerance for liquid where a distance, in units of the box, is negative.
fn iterations<const D: usize, T: Number>(
    n: usize,
    with_phi: bool,
    tolerance: f64,
    liquid: impl Fn([f64; D]) -> f64 + Sync,
) -> SolveReport {
    let layout = Layout::dense([n; D]);
    let h = 1.0 / n as f64;
    let distance = |i: [isize; D]| liquid(i.map(|i| (i as f64 + 0.5) * h));
    let (mut state, mut phi) = (new(&layout, At::Center), new(&layout, At::Center));
    set(&mut state, |i| if distance(i) < 0.0 { CellState::Fluid } else { CellState::Air });
    set(&mut phi, |i| T::of(distance(i)));
    let mut solver = Multigrid::<D, T>::new(&layout, h, [Ends::FLAT; D]).unwrap();
    solver.set(Domain { open: None, state: Some(&state), phi: with_phi.then_some(&phi) });
    let (mut rhs, mut q) = (new(&layout, At::Center), new(&layout, At::Center));
    // Something smooth, but not so much that q is large: f32 ends at about 1e-7 q / h^2.
    set(&mut rhs, |i| T::of(0.1 + (0.2 * i[0] as f64).sin() + noise(3, i)));
    solver.solve_from(&rhs, &mut q, tolerance, 300)
}

fn ball<const D: usize>(p: [f64; D], center: [f64; D], radius: f64) -> f64 {
    (0..D).map(|a| (p[a] - center[a]).powi(2)).sum::<f64>().sqrt() - radius
}

/// Water half way up, its surface not on a face.
fn pool<const D: usize>(p: [f64; D]) -> f64 {
    p[1] - 0.5137
}

/// A crown of waves above a pool, and a ball that falls.
fn splash<const D: usize>(p: [f64; D]) -> f64 {
    let r = (0..D).filter(|&a| a != 1).map(|a| (p[a] - 0.5).powi(2)).sum::<f64>().sqrt();
    let crown = 0.35 + 0.12 * (-((r - 0.25) / 0.05).powi(2)).exp() * (1.0 + 0.3 * (40.0 * p[0]).sin());
    (p[1] - crown).min(ball(p, [0.5; D].map(|c: f64| c + 0.137), 0.11))
}

/// Thin sheets and many drops.
fn sheets_and_drops<const D: usize>(p: [f64; D]) -> f64 {
    let sheet = (p[1] - 0.4 - 0.1 * (6.0 * p[0]).sin()).abs() - 0.035;
    let other = (p[0] - 0.7 - 0.05 * (9.0 * p[1]).cos()).abs() - 0.03;
    let mut d = sheet.min(other);
    for k in 0..24 {
        let center = std::array::from_fn(|a| 0.5 + 0.45 * noise(k, [a as isize, 5]));
        d = d.min(ball(p, center, 0.04 + 0.03 * noise(k, [9, 9]).abs()));
    }
    d
}

/// A pool with single cells of air in it.
fn holes<const D: usize>(part: f64) -> impl Fn([f64; D]) -> f64 + Sync {
    move |p| {
        let hole = noise(11, p.map(|x| (x * 4096.0) as isize)) < 2.0 * part - 1.0;
        if hole { 0.002 } else { (p[1] - 0.8137).max(-0.01) }
    }
}

/// Prints and checks the counts to 1e-4 (and in f64 to 1e-6) over two sizes.
fn check_counts<const D: usize>(
    name: &str,
    sizes: [usize; 2],
    most: [u32; 2],
    liquid: impl Fn([f64; D]) -> f64 + Sync + Copy,
) {
    for n in sizes {
        for with_phi in [true, false] {
            let rough = iterations::<D, f32>(n, with_phi, 1e-4, liquid);
            let fine = iterations::<D, f64>(n, with_phi, 1e-6, liquid);
            println!(
                "{name} {n}^{D} phi {with_phi}: {} / {}, f32 residual {:.1e}",
                rough.iterations, fine.iterations, rough.residual
            );
            assert!(rough.converged && fine.converged, "{name} {n}^{D} {with_phi}: {rough:?} {fine:?}");
            assert!(
                rough.iterations <= most[0] && fine.iterations <= most[1],
                "{name} {n}^{D} {with_phi}: {} / {}",
                rough.iterations,
                fine.iterations
            );
        }
    }
}

#[test]
fn liquids_take_few_iterations_whatever_the_size_in_2d() {
    check_counts::<2>("pool", [64, 128], [8, 12], pool);
    check_counts::<2>("splash", [64, 128], [9, 14], splash);
    check_counts::<2>("sheets and drops", [64, 128], [9, 14], sheets_and_drops);
}

#[test]
fn liquids_take_few_iterations_whatever_the_size_in_3d() {
    check_counts::<3>("pool", [32, 64], [8, 12], pool);
    check_counts::<3>("splash", [32, 64], [9, 14], splash);
    check_counts::<3>("sheets and drops", [32, 64], [9, 14], sheets_and_drops);
    check_counts::<3>("1 % holes", [32, 64], [12, 18], &holes(0.01));
    check_counts::<3>("5 % holes", [32, 64], [12, 18], &holes(0.05));
}

#[test]
fn water_at_rest_has_the_pressure_of_its_depth_exactly() {
    // div u* = dt div g is zero inside, and what the wall below and the surface above make of it: q = g dt (H - y).
    let (n, height) = (32, 0.5137f64);
    let h = 1.0 / n as f64;
    let layout = Layout::dense([n, n]);
    let (mut state, mut phi) = (new(&layout, At::Center), new(&layout, At::Center));
    let y = |i: [isize; 2]| (i[1] as f64 + 0.5) * h;
    set(&mut state, |i| if y(i) < height { CellState::Fluid } else { CellState::Air });
    set(&mut phi, |i| y(i) - height);
    let mut solver = Multigrid::<2, f64>::new(&layout, h, [Ends::FLAT; 2]).unwrap();
    solver.set(Domain { open: None, state: Some(&state), phi: Some(&phi) });
    let (mut rhs, mut q) = (new(&layout, At::Center), new(&layout, At::Center));
    // All faces fall with -1 but those on the floor.
    set(&mut rhs, |i| if i[1] == 0 { -1.0 / h } else { 0.0 });
    assert!(solver.solve_from(&rhs, &mut q, 1e-12, 100).converged);
    for i in cells_of(&layout).into_iter().filter(|&i| y(i) < height) {
        assert!((q.get_signed(i) - (height - y(i))).abs() < 1e-9, "{i:?}: {}", q.get_signed(i));
    }
}

#[test]
fn a_liquid_that_moves_leaves_nothing_behind() {
    let layout = Layout::dense([48, 40]);
    let mut rhs = new::<2, f32>(&layout, At::Center);
    set(&mut rhs, |i| noise(3, i) as f32);
    let states = [0.3, 0.7].map(|height| {
        let mut state = new(&layout, At::Center);
        set(&mut state, |i| {
            if (i[1] as f64) < 40.0 * height + 3.0 * (0.3 * i[0] as f64).sin() {
                CellState::Fluid
            } else {
                CellState::Air
            }
        });
        state
    });
    let ends = [Ends::Periodic, Ends::FLAT];
    let solve = |solver: &mut Multigrid<2>, state| {
        solver.set(Domain { state: Some(state), ..Domain::default() });
        let mut q = new(&layout, At::Center);
        assert!(solver.solve_from(&rhs, &mut q, 1e-4, 100).converged);
        crate::common::values(&q)
    };
    let new_solver = || Multigrid::new(&layout, 0.1, ends).unwrap();
    let mut used = new_solver();
    for k in [0, 1, 0] {
        assert!(solve(&mut used, &states[k]) == solve(&mut new_solver(), &states[k]), "{k}");
    }
    used.set(Domain::default());
    let [mut a, mut b] = [0; 2].map(|_| new::<2, f32>(&layout, At::Center));
    used.solve_from(&rhs, &mut a, 1e-4, 100);
    new_solver().solve_from(&rhs, &mut b, 1e-4, 100);
    assert!(crate::common::values(&a) == crate::common::values(&b), "without air again");
}

//! The direct solver and diffusion, over every combination of ends.

use std::f64::consts::PI;

use squall_core::diffuse::{Diffuser, DiffusionScheme};
use squall_core::poisson::{Domain, Method, PoissonSolver, Problem, Spectral, Symbol, plan};
use squall_core::{At, End, Ends, Field, Layout, ops};

const EPS: f64 = f32::EPSILON as f64;

/// The five kinds of ends, prescribed values being zero.
const KINDS: [Ends; 5] = [
    Ends::Periodic,
    Ends::FLAT,
    Ends::Bounded { lo: End::Value(0.0), hi: End::Value(0.0) },
    Ends::Bounded { lo: End::Flat, hi: End::Value(0.0) },
    Ends::Bounded { lo: End::Value(0.0), hi: End::Flat },
];

/// Every combination of the five kinds over `D` axes.
fn combinations<const D: usize>() -> impl Iterator<Item = [usize; D]> {
    (0..5usize.pow(D as u32)).map(|c| std::array::from_fn(|a| c / 5usize.pow(a as u32) % 5))
}

/// Every index of a box, x fastest.
fn indices<const D: usize>(cells: [usize; D]) -> impl Iterator<Item = [usize; D]> {
    (0..cells.iter().product()).map(move |mut c| {
        cells.map(|n| {
            let i = c % n;
            c /= n;
            i
        })
    })
}

fn field_of<const D: usize>(cells: [usize; D], ends: [Ends; D], f: impl Fn([usize; D]) -> f64) -> Field<D> {
    let mut field = Field::new(cells, At::Center, ends).unwrap();
    for i in indices(cells) {
        field.set(i, f(i) as f32);
    }
    field
}

/// Unlike numbers between -1 and 1 that depend on the cell alone.
fn noise<const D: usize>(i: [usize; D]) -> f64 {
    let mut h = 0x9e37_79b9_7f4a_7c15u64;
    for i in i {
        h = (h ^ i as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ (h >> 32)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^= h >> 32;
    }
    (h >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// The compact Laplacian in f64, through the ghost cells.
fn laplacian<const D: usize>(field: &mut Field<D>, spacing: [f64; D], i: [usize; D]) -> f64 {
    let i = i.map(|i| i as isize);
    let mut sum = 0.0;
    for a in 0..D {
        let (mut up, mut down) = (i, i);
        up[a] += 1;
        down[a] -= 1;
        let at = |i| field.get_signed(i) as f64;
        sum += (at(down) - 2.0 * at(i) + at(up)) / (spacing[a] * spacing[a]);
    }
    sum
}

fn mean<const D: usize>(field: &Field<D>) -> f64 {
    ops::sum(field) / field.cells().iter().product::<usize>() as f64
}

fn bits<const D: usize>(field: &Field<D>) -> Vec<u32> {
    let mut values = Vec::new();
    field.copy_to(&mut values);
    values.into_iter().map(f32::to_bits).collect()
}

fn singular(kinds: &[usize]) -> bool {
    kinds.iter().all(|&k| k < 2)
}

// ---------------------------------------------------------------------------------------------- exact inverse

fn check_residual<const D: usize>(cells: [usize; D], spacing: [f64; D], kinds: [usize; D]) {
    let ends = kinds.map(|k| KINDS[k]);
    let rhs = field_of(cells, ends, noise);
    let mut q = rhs.clone();
    let mut solver = Spectral::new(cells, spacing, ends);
    assert_eq!(solver.is_singular(), singular(&kinds));
    let dropped = solver.apply(&mut q, Symbol::InverseLaplacian);
    let expected = if singular(&kinds) { mean(&rhs) } else { 0.0 };
    // A mean of n numbers of order 1, summed in f32 in a tree.
    assert!((dropped - expected).abs() < 4.0 * EPS, "{cells:?} {kinds:?}: mean {dropped}, {expected}");
    q.fill_halo();
    // Orthogonal transforms leave q right to some eps of its largest value; the stencil magnifies an error in
    // neighbours by up to 4 / h^2 along each axis. The right side itself is of order 1.
    let magnify: f64 = spacing.iter().map(|h| 4.0 / (h * h)).sum();
    let tolerance = 4.0 * EPS * (ops::max_abs(&q) as f64 * magnify + 1.0);
    for i in indices(cells) {
        let error = (laplacian(&mut q, spacing, i) - (rhs.get(i) as f64 - expected)).abs();
        assert!(error < tolerance, "{cells:?} {kinds:?} at {i:?}: {error} > {tolerance}");
    }
}

#[test]
fn the_laplacian_of_the_solution_is_the_right_side_in_1d() {
    for n in [1, 2, 3, 4, 7, 16, 31, 45] {
        combinations().for_each(|kinds| check_residual([n], [0.3], kinds));
    }
}

#[test]
fn the_laplacian_of_the_solution_is_the_right_side_in_2d_for_all_ends() {
    for cells in [[1, 1], [1, 8], [5, 1], [2, 3], [16, 12], [17, 31], [37, 20], [18, 33]] {
        combinations().for_each(|kinds| check_residual(cells, [0.3, 0.2], kinds));
    }
}

#[test]
fn the_laplacian_of_the_solution_is_the_right_side_in_3d_for_all_ends() {
    for cells in [[1, 1, 1], [4, 1, 3], [8, 6, 4], [5, 7, 3], [19, 10, 13], [1, 18, 2]] {
        combinations().for_each(|kinds| check_residual(cells, [0.3, 0.2, 0.25], kinds));
    }
}

#[test]
fn an_implicit_step_solves_its_equation_for_all_ends_and_unlike_prescribed_values() {
    let (cells, spacing, k) = ([9, 8, 5], [0.3, 0.2, 0.25], 0.05);
    for kinds in combinations::<3>() {
        let mut b = 0.0;
        let mut next = || {
            b += 0.75;
            End::Value(b)
        };
        let ends = kinds.map(|k| match k {
            0 => Ends::Periodic,
            1 => Ends::FLAT,
            2 => Ends::Bounded { lo: next(), hi: next() },
            3 => Ends::Bounded { lo: End::Flat, hi: next() },
            _ => Ends::Bounded { lo: next(), hi: End::Flat },
        });
        let before = field_of(cells, ends, noise);
        let mut after = before.clone();
        Diffuser::new(cells, spacing).apply(&mut after, k, DiffusionScheme::Implicit).unwrap();
        after.fill_halo();
        // As above: some eps of the largest value (b goes up to 4.5), magnified by 1 + k 4 sum 1/h^2 = 12.
        let tolerance = 4.0 * EPS * 4.5 * 12.0;
        for i in indices(cells) {
            let error = (after.get(i) as f64 - k * laplacian(&mut after, spacing, i) - before.get(i) as f64).abs();
            assert!(error < tolerance, "{kinds:?} at {i:?}: {error} > {tolerance}");
        }
    }
}

// ---------------------------------------------------------------------------------------------- order of accuracy

/// A smooth function on 0 <= s <= 1 that obeys the ends but is no eigenfunction, and its second derivative.
fn smooth(kind: usize, s: f64) -> [f64; 2] {
    let (sin, cos) = (PI * s).sin_cos();
    match kind {
        0 => {
            let (sin, cos) = (2.0 * PI * s).sin_cos();
            [sin.exp(), 4.0 * PI * PI * (cos * cos - sin) * sin.exp()]
        }
        1 => [cos.exp(), PI * PI * (sin * sin - cos) * cos.exp()],
        2 => [s.exp() * sin, s.exp() * ((1.0 - PI * PI) * sin + 2.0 * PI * cos)],
        3 => {
            let (sin, cos) = (PI / 2.0 * s).sin_cos();
            let e = (s * s / 2.0).exp();
            [e * cos, e * ((s * s + 1.0 - PI * PI / 4.0) * cos - PI * s * sin)]
        }
        _ => smooth(3, 1.0 - s),
    }
}

/// An eigenfunction of the continuous Laplacian for each kind, and its wave number on the unit interval.
fn wave(kind: usize, s: f64) -> (f64, f64) {
    match kind {
        0 => ((2.0 * PI * s).sin() + (2.0 * PI * s).cos(), 2.0 * PI),
        1 => ((PI * s).cos(), PI),
        2 => ((PI * s).sin(), PI),
        3 => ((PI / 2.0 * s).cos(), PI / 2.0),
        _ => ((PI / 2.0 * s).sin(), PI / 2.0),
    }
}

const SIZE: [f64; 3] = [1.0, 0.7, 1.3];

/// The product of the smooth functions at the cells, and its Laplacian.
fn manufactured<const D: usize>(cells: [usize; D], kinds: [usize; D]) -> impl Fn([usize; D]) -> (f64, f64) {
    let tables: [Vec<[f64; 2]>; D] =
        std::array::from_fn(|a| (0..cells[a]).map(|i| smooth(kinds[a], (i as f64 + 0.5) / cells[a] as f64)).collect());
    move |i| {
        let f: [[f64; 2]; D] = std::array::from_fn(|a| tables[a][i[a]]);
        let product: f64 = f.iter().map(|f| f[0]).product();
        let along = |a: usize| {
            let others: f64 = (0..D).filter(|&b| b != a).map(|b| f[b][0]).product();
            f[a][1] / (SIZE[a] * SIZE[a]) * others
        };
        (product, (0..D).map(along).sum())
    }
}

/// Root mean square of `field - exact`; without the mean if only that is determined.
fn error<const D: usize>(field: &Field<D>, exact: impl Fn([usize; D]) -> f64, free_constant: bool) -> f64 {
    let n = field.cells().iter().product::<usize>() as f64;
    let differences: Vec<f64> = indices(field.cells()).map(|i| field.get(i) as f64 - exact(i)).collect();
    let shift = if free_constant { differences.iter().sum::<f64>() / n } else { 0.0 };
    (differences.iter().map(|d| (d - shift) * (d - shift)).sum::<f64>() / n).sqrt()
}

fn spacing<const D: usize>(cells: [usize; D]) -> [f64; D] {
    std::array::from_fn(|a| SIZE[a] / cells[a] as f64)
}

/// Checks that the error falls like h^2 from `cells` to twice as many. The next term of the error is of order h^4,
/// a few per cent at these sizes, so the observed order is 2.0 within 0.1.
fn check_order<const D: usize>(what: &str, cells: [usize; D], kinds: [usize; D], error: impl Fn([usize; D]) -> f64) {
    let (coarse, fine) = (error(cells), error(cells.map(|n| 2 * n)));
    let order = (coarse / fine).log2();
    assert!((order - 2.0).abs() < 0.1, "{what} {kinds:?}: order {order} from {coarse} to {fine}");
}

fn poisson_error<const D: usize>(cells: [usize; D], kinds: [usize; D]) -> f64 {
    let ends = kinds.map(|k| KINDS[k]);
    let exact = manufactured(cells, kinds);
    let mut q = field_of(cells, ends, |i| exact(i).1);
    Spectral::new(cells, spacing(cells), ends).apply(&mut q, Symbol::InverseLaplacian);
    error(&q, |i| exact(i).0, singular(&kinds))
}

/// The field on whose faces every prescribed value is `b`.
fn with_value<const D: usize>(kinds: [usize; D], b: f32) -> [Ends; D] {
    let set = |end| if end == End::Flat { End::Flat } else { End::Value(b) };
    kinds.map(|k| match KINDS[k] {
        Ends::Periodic | Ends::Unbounded(_) => Ends::Periodic,
        Ends::Bounded { lo, hi } => Ends::Bounded { lo: set(lo), hi: set(hi) },
    })
}

fn implicit_error<const D: usize>(cells: [usize; D], kinds: [usize; D]) -> f64 {
    let (k, b) = (0.05, 0.7);
    let exact = manufactured(cells, kinds);
    let mut a = field_of(cells, with_value(kinds, b as f32), |i| b + exact(i).0 - k * exact(i).1);
    Diffuser::new(cells, spacing(cells)).apply(&mut a, k, DiffusionScheme::Implicit).unwrap();
    error(&a, |i| b + exact(i).0, false)
}

fn exact_error<const D: usize>(cells: [usize; D], kinds: [usize; D]) -> f64 {
    let (k, b) = (0.03, -0.4);
    let rate: f64 = (0..D).map(|a| (wave(kinds[a], 0.0).1 / SIZE[a]).powi(2)).sum();
    let at =
        |i: [usize; D]| -> f64 { (0..D).map(|a| wave(kinds[a], (i[a] as f64 + 0.5) / cells[a] as f64).0).product() };
    let mut a = field_of(cells, with_value(kinds, b as f32), |i| b + at(i));
    Diffuser::new(cells, spacing(cells)).apply(&mut a, k, DiffusionScheme::Exact).unwrap();
    error(&a, |i| b + at(i) * (-k * rate).exp(), false)
}

#[test]
fn poisson_is_second_order_accurate_for_all_ends() {
    combinations().for_each(|kinds| check_order("2D", [31, 24], kinds, |n| poisson_error::<2>(n, kinds)));
    combinations().for_each(|kinds| check_order("3D", [23, 20, 24], kinds, |n| poisson_error::<3>(n, kinds)));
}

#[test]
fn implicit_diffusion_is_second_order_accurate_in_space_for_all_ends() {
    combinations().for_each(|kinds| check_order("2D", [31, 24], kinds, |n| implicit_error::<2>(n, kinds)));
    combinations().for_each(|kinds| check_order("3D", [23, 20, 24], kinds, |n| implicit_error::<3>(n, kinds)));
}

#[test]
fn exact_diffusion_is_second_order_accurate_in_space_for_all_ends() {
    combinations().for_each(|kinds| check_order("2D", [31, 24], kinds, |n| exact_error::<2>(n, kinds)));
    combinations().for_each(|kinds| check_order("3D", [23, 20, 24], kinds, |n| exact_error::<3>(n, kinds)));
}

// ---------------------------------------------------------------------------------------------- invariants

const SCHEMES: [DiffusionScheme; 2] = [DiffusionScheme::Implicit, DiffusionScheme::Exact];

#[test]
fn diffusion_conserves_the_mean_between_periodic_and_flat_ends() {
    let cells = [24, 17, 9];
    for kinds in combinations::<3>().filter(|k| singular(k)) {
        for scheme in SCHEMES {
            let mut a = field_of(cells, kinds.map(|k| KINDS[k]), |i| 1.0 + noise(i));
            let before = mean(&a);
            Diffuser::new(cells, [0.1; 3]).apply(&mut a, 0.02, scheme).unwrap();
            // One coefficient goes forward and back through three transforms; log2 of the cell count is 12.
            assert!((mean(&a) - before).abs() < 12.0 * EPS * before, "{kinds:?} {scheme:?}: {} {before}", mean(&a));
        }
    }
}

#[test]
fn diffusion_makes_no_new_extrema() {
    let cells = [16, 13, 10];
    for kinds in combinations::<3>() {
        for (scheme, k) in SCHEMES.into_iter().flat_map(|s| [1e-4, 1e-2, 1.0].map(|k| (s, k))) {
            // Values lie in 2 +- 1; so does the value on the faces.
            let mut a = field_of(cells, with_value(kinds, 2.5), |i| 2.0 + noise(i).signum());
            Diffuser::new(cells, [0.1; 3]).apply(&mut a, k, scheme).unwrap();
            // Rounding of values up to 3 through three transforms and back.
            let slack = 8.0 * EPS * 3.0;
            for i in indices(cells) {
                let v = a.get(i) as f64;
                assert!(v > 1.0 - slack && v < 3.0 + slack, "{kinds:?} {scheme:?} {k}: {v} at {i:?}");
            }
        }
    }
}

#[test]
fn endless_diffusion_leaves_the_mean_or_the_prescribed_value() {
    let cells = [12, 7, 5];
    for kinds in combinations::<3>() {
        for scheme in SCHEMES {
            let mut a = field_of(cells, with_value(kinds, 2.5), noise);
            let expected = if singular(&kinds) { mean(&a) } else { 2.5 };
            Diffuser::new(cells, [0.1; 3]).apply(&mut a, 1e12, scheme).unwrap();
            for i in indices(cells) {
                // The slowest mode decays to 1 / (1e12 * 1) of the noise: only rounding is left.
                let error = (a.get(i) as f64 - expected).abs();
                assert!(error < 4.0 * EPS * 2.5, "{kinds:?} {scheme:?} at {i:?}: {error}");
            }
        }
    }
}

#[test]
fn endless_diffusion_between_two_values_leaves_a_straight_line() {
    let (cells, lo, hi) = ([9, 14, 8], 3.0f32, -1.0f32);
    for axis in 0..3 {
        for (scheme, other) in SCHEMES.into_iter().flat_map(|s| [(s, Ends::Periodic), (s, Ends::FLAT)]) {
            let mut ends = [other; 3];
            ends[axis] = Ends::Bounded { lo: End::Value(lo), hi: End::Value(hi) };
            let mut a = field_of(cells, ends, noise);
            Diffuser::new(cells, [0.1, 0.2, 0.3]).apply(&mut a, 1e12, scheme).unwrap();
            for i in indices(cells) {
                let s = (i[axis] as f64 + 0.5) / cells[axis] as f64;
                let error = (a.get(i) as f64 - (lo as f64 + s * (hi - lo) as f64)).abs();
                // Rounding of values up to 3.
                assert!(error < 4.0 * EPS * 3.0, "axis {axis} {scheme:?} {other:?} at {i:?}: {error}");
            }
        }
    }
}

#[test]
fn two_exact_steps_of_diffusion_are_one_of_twice_the_length() {
    let cells = [20, 11];
    for kinds in combinations::<2>() {
        let mut once = field_of(cells, with_value(kinds, 0.5), noise);
        let mut twice = once.clone();
        let mut diffuser = Diffuser::new(cells, [0.1; 2]);
        diffuser.apply(&mut once, 0.004, DiffusionScheme::Exact).unwrap();
        diffuser.apply(&mut twice, 0.002, DiffusionScheme::Exact).unwrap();
        diffuser.apply(&mut twice, 0.002, DiffusionScheme::Exact).unwrap();
        for i in indices(cells) {
            // Rounding of values of order 1, twice.
            let difference = (once.get(i) - twice.get(i)).abs() as f64;
            assert!(difference < 8.0 * EPS, "{kinds:?} at {i:?}: {difference}");
        }
    }
}

#[test]
fn no_diffusion_leaves_every_bit_alone() {
    let mut a = field_of([9, 8], [Ends::FLAT, Ends::Periodic], noise);
    let before = bits(&a);
    Diffuser::new([9, 8], [0.1; 2]).apply(&mut a, 0.0, DiffusionScheme::Implicit).unwrap();
    assert_eq!(bits(&a), before);
}

#[test]
fn multipliers_stay_finite_and_normal_for_any_diffusivity() {
    let cells = [16, 15, 14];
    for kinds in combinations::<3>() {
        for k in [1e-30, 1e-6, 1.0, 1e6, 1e12, 1e300] {
            for scheme in SCHEMES {
                let mut a = field_of(cells, kinds.map(|k| KINDS[k]), noise);
                Diffuser::new(cells, [1e-3; 3]).apply(&mut a, k, scheme).unwrap();
                assert!(ops::max_abs(&a) <= 1.001, "{kinds:?} {k} {scheme:?}: {}", ops::max_abs(&a));
            }
        }
    }
}

#[test]
fn ghost_cells_are_neither_read_nor_written() {
    let (cells, ends) = ([9, 8, 7], [KINDS[1], KINDS[3], KINDS[0]]);
    let clean = field_of(cells, ends, noise);
    let mut poisoned = clean.clone();
    poisoned.fill(f32::NAN);
    for i in indices(cells) {
        poisoned.set(i, clean.get(i));
    }
    let mut clean = clean;
    let mut solver = Spectral::new(cells, [0.1; 3], ends);
    solver.apply(&mut clean, Symbol::InverseLaplacian);
    solver.apply(&mut poisoned, Symbol::InverseLaplacian);
    assert_eq!(bits(&clean), bits(&poisoned));
    assert!(poisoned.get_signed([-1, 0, 0]).is_nan() && poisoned.get_signed([0, 8, 0]).is_nan());
    assert!(poisoned.get_signed([9, 7, 6]).is_nan() && poisoned.get_signed([0, 0, 7]).is_nan());
}

// ---------------------------------------------------------------------------------------------- bits

const SYMBOLS: [Symbol; 3] = [Symbol::InverseLaplacian, Symbol::Implicit { k: 0.01 }, Symbol::Exponential { k: 0.01 }];

fn check_threads<const D: usize>(cells: [usize; D], ends: [Ends; D]) {
    for symbol in SYMBOLS {
        let start = field_of(cells, ends, noise);
        let mut results = [1, 2, 3, 7].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut field = start.clone();
            pool.install(|| Spectral::new(cells, [0.1; D], ends).apply(&mut field, symbol));
            bits(&field)
        });
        results.rotate_left(1);
        let [others @ .., one] = results;
        assert!(others.iter().all(|bits| *bits == one), "{cells:?} {symbol:?}");
    }
}

#[test]
fn results_have_the_same_bits_for_1_2_3_and_7_threads() {
    check_threads([101], [KINDS[3]]);
    check_threads([61, 35], [KINDS[1], KINDS[3]]);
    check_threads([64, 64], [KINDS[0], KINDS[2]]);
    check_threads([33, 17, 20], [KINDS[1], KINDS[4], KINDS[0]]);
    check_threads([32, 31, 30], [KINDS[3], KINDS[2], KINDS[1]]);
}

#[test]
fn a_plan_made_in_a_small_pool_works_in_a_larger_one() {
    let (cells, ends) = ([40, 31, 20], [KINDS[1], KINDS[0], KINDS[3]]);
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    let mut solver = pool(1).install(|| Spectral::new(cells, [0.1; 3], ends));
    let (mut a, mut b) = (field_of(cells, ends, noise), field_of(cells, ends, noise));
    pool(1).install(|| solver.apply(&mut a, SYMBOLS[0]));
    pool(5).install(|| solver.apply(&mut b, SYMBOLS[0]));
    assert_eq!(bits(&a), bits(&b));
}

#[test]
fn a_plan_that_has_seen_nan_gives_the_bits_of_a_fresh_one() {
    for kinds in combinations::<2>() {
        let (cells, ends) = ([21, 14], kinds.map(|k| KINDS[k]));
        let mut used = Spectral::new(cells, [0.1; 2], ends);
        let mut field = field_of(cells, ends, |_| f64::NAN);
        used.apply(&mut field, Symbol::Implicit { k: 1.0 });
        for symbol in SYMBOLS {
            let (mut a, mut b) = (field_of(cells, ends, noise), field_of(cells, ends, noise));
            used.apply(&mut a, symbol);
            Spectral::new(cells, [0.1; 2], ends).apply(&mut b, symbol);
            assert_eq!(bits(&a), bits(&b), "{kinds:?} {symbol:?}");
        }
    }
}

// ---------------------------------------------------------------------------------------------- the planner

fn solver<const D: usize>(cells: [usize; D], ends: [Ends; D]) -> Box<dyn PoissonSolver<D>> {
    let problem = Problem { cells, ends, solids: false, surface: false };
    plan(problem).build(&Layout::dense(cells), [0.1; D], ends).unwrap()
}

#[test]
fn the_planner_says_what_it_chose_and_why() {
    let (cells, ends) = ([16, 12, 10], [KINDS[0], KINDS[1], KINDS[3]]);
    let problem = Problem { cells, ends, solids: false, surface: false };
    let direct = plan(problem);
    assert_eq!(direct.method, Method::Spectral);
    let text = direct.to_string();
    assert!(text.starts_with("direct: FFT x DCT-II x DCT-IV on 16 x 12 x 10 cells (a plain box"), "{text}");
    assert_eq!(solver(cells, ends).describe(), "direct: FFT x DCT-II x DCT-IV");

    let tiles = Problem { ends: [Ends::Unbounded(0.0); 3], ..problem };
    for (problem, word) in [(problem.with_solids(true), "obstacles"), (problem.with_surface(true), "free surface")] {
        let iterative = plan(problem);
        assert_eq!(iterative.method, Method::Multigrid);
        assert!(iterative.reason.contains(word) && iterative.to_string().starts_with("iterative"), "{iterative}");
        assert!(iterative.bytes > direct.bytes);
        let built = iterative.build(&Layout::dense(cells), [0.1; 3], ends).unwrap();
        assert!(built.describe().starts_with("conjugate gradients"), "{}", built.describe());
    }
    assert_eq!(plan(tiles).method, Method::AroundTiles);
    assert_eq!(plan(tiles.with_solids(true)).method, Method::Multigrid);
    assert_eq!(plan(Problem { cells: [1 << 40; 3], ..tiles }).bytes, u64::MAX / 7, "saturates");
}

#[test]
fn the_direct_solver_says_that_it_knows_no_solids() {
    let mut direct = solver([8; 2], [KINDS[1]; 2]);
    let open: [Field<2>; 2] = std::array::from_fn(|a| Field::new([8; 2], At::Face(a), [KINDS[1]; 2]).unwrap());
    assert!(direct.set(Domain::default()).is_ok());
    let error = direct.set(Domain { open: Some(&open), ..Domain::default() }).unwrap_err();
    assert!(error.to_string().contains("DCT-II") && error.to_string().contains("solids"), "{error}");
}

#[test]
fn the_residual_of_a_direct_solve_is_the_true_one_and_the_mean_is_what_was_dropped() {
    let cells = [16, 12, 10];
    for kinds in combinations::<3>() {
        let ends = kinds.map(|k| KINDS[k]);
        let (mut r, mut q) = (field_of(cells, ends, noise), field_of(cells, ends, |_| f64::NAN));
        let before = r.clone();
        let report = solver(cells, ends).solve(&mut r, &mut q, 1e-4);
        q.fill_halo();
        let dropped = if singular(&kinds) { mean(&before) } else { 0.0 };
        let (mut rest, mut all) = (0.0, 0.0);
        for i in indices(cells) {
            let r = before.get(i) as f64 - dropped;
            rest += (r - laplacian(&mut q, [0.1; 3], i)).powi(2);
            all += r * r;
        }
        let residual = (rest / all).sqrt();
        // Both are rounding: of f32 and, in the report, of the sum that measures it.
        assert!(report.residual < 1e-5 && residual < 1e-5, "{kinds:?}: {report:?}, {residual}");
        assert!(report.converged && report.iterations == 1);
        assert!((report.imbalance - dropped.abs() * (1920.0 / (all + 1920.0 * dropped * dropped)).sqrt()).abs() < 1e-5);
    }
    // Nothing but a mean.
    let (mut r, mut q) = (field_of(cells, [KINDS[1]; 3], |_| 0.7), field_of(cells, [KINDS[1]; 3], |_| 0.0));
    let report = solver(cells, [KINDS[1]; 3]).solve(&mut r, &mut q, 1e-4);
    assert!(report.residual == 0.0 && (report.imbalance - 1.0).abs() < 1e-6, "{report:?}");
    // Not a number.
    let mut r = field_of([8; 2], [KINDS[0]; 2], |_| f64::NAN);
    let mut q = r.clone();
    assert!(!solver([8; 2], [KINDS[0]; 2]).solve(&mut r, &mut q, 1e-4).converged);
}

#[test]
fn the_memory_estimate_is_close_to_what_a_plan_holds() {
    for cells in [[128, 64, 100], [31, 64, 17]] {
        let held = Spectral::new(cells, [0.1; 3], [KINDS[1]; 3]).scratch_bytes() as f64;
        let estimate = Spectral::<3>::estimate_bytes(cells) as f64;
        // The promise is 15 % for a whole run, where this is a small part; half is near enough here.
        assert!((estimate / held - 1.0).abs() < 0.5, "{estimate} {held}");
    }
    let absurd = Spectral::<3>::estimate_bytes([1 << 40; 3]);
    assert_eq!(absurd, u64::MAX, "an estimate must saturate");
}

//! Facts about viscous stresses: the operator, its iterations, and flows that are known.

use crate::common::table;
use squall_core::diffuse::stress::{Matter, Stress, Thickness};
use squall_core::diffuse::{Around, Diffusion};
use squall_core::layout::tile_width;
use squall_core::poisson::CellState;
use squall_core::sample::Isa;
use squall_core::shape::{Cuboid, Sphere};
use squall_core::solid::{Boundary, Obstacle, Solids, Walls};
use squall_core::*;

/// Numbers between -1 and 1 that have nothing to do with each other.
fn noise(seed: usize) -> f64 {
    let mut h = seed as u64 ^ 0x9E37_79B9_7F4A_7C15;
    for _ in 0..2 {
        h = (h ^ (h >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    (h >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn velocity<const D: usize>(
    grid: &Grid<D>,
    layout: &Layout<D>,
    f: impl Fn(usize, [f64; D]) -> f64 + Sync,
) -> VectorField<D> {
    std::array::from_fn(|a| {
        let mut u = Field::on(layout, At::Face(a), grid.velocity_ends(a)).unwrap();
        u.set_from(grid, |p| f(a, p));
        u.set_end_faces();
        u
    })
}

fn distance<const D: usize>(grid: &Grid<D>, layout: &Layout<D>, f: impl Fn([f64; D]) -> f64 + Sync) -> Field<D> {
    let mut phi = Field::on(layout, At::Center, grid.flat_ends(1.0)).unwrap();
    phi.set_from(grid, f);
    phi
}

/// The dot product of all that is stored.
fn dot<const D: usize>(a: &VectorField<D, f64>, b: &VectorField<D, f64>) -> f64 {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut sum = 0.0;
    for (a, b) in a.iter().zip(b) {
        a.copy_to(&mut x);
        b.copy_to(&mut y);
        sum += x.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>();
    }
    sum
}

fn random<const D: usize>(stress: &Stress<D, f64>, seed: usize) -> VectorField<D, f64> {
    let mut x = stress.vector().unwrap();
    for (a, x) in x.iter_mut().enumerate() {
        let values: Vec<f64> = (0..x.layout().cell_count()).map(|i| noise(seed + 7 * (D * i + a))).collect();
        x.copy_from(&values);
    }
    x
}

/// A blob between a ball that it sticks to and the floor, thick on one side and thin on the other: what is asked of the operator is
/// asked of all of it at once.
fn with_matter<const D: usize>(
    grid: &Grid<D>,
    friction: f64,
    f: impl Fn(&mut Stress<D, f64>, &mut VectorField<D>, &mut Matter<'_, D>),
) {
    let layout = Layout::dense(grid.cells);
    let obstacle = Obstacle { friction, ..Obstacle::new("ball", Box::new(Sphere { center: [0.3; D], radius: 0.17 })) };
    let mut solids = Solids::new(grid, vec![obstacle], Boundary::CutCells).unwrap();
    solids.update(grid, 0.0);
    let mut walls = Walls::new(&layout, grid).unwrap();
    let phi = distance(grid, &layout, |p| p.iter().map(|x| (x - 0.4).powi(2)).sum::<f64>().sqrt() - 0.45);
    let nu = distance(grid, &layout, |p| 1e-3 * 1e6f64.powf(p[0]));
    let mut u = velocity(grid, &layout, |a, p| (3.0 * p[(a + 1) % D]).sin());
    let mut matter = Matter {
        grid,
        surface: Some((&phi, 0.0)),
        viscosity: Thickness::Varying(&nu),
        solids: Some((&solids, &mut walls)),
    };
    let mut stress = Stress::new(&layout, grid, Isa::best()).unwrap();
    stress.set(&mut u, 1.0, &mut matter);
    f(&mut stress, &mut u, &mut matter);
}

#[test]
fn the_operator_is_symmetric_and_positive_and_so_is_its_v_cycle() {
    fn check<const D: usize>(grid: Grid<D>, friction: f64) {
        with_matter(&grid, friction, |stress, _, _| {
            for seed in 0..3 {
                let (mut x, mut y) = (random(stress, 1000 * seed), random(stress, 1000 * seed + 77));
                let (mut ax, mut ay) = (stress.vector().unwrap(), stress.vector().unwrap());
                stress.operator(&mut x, &mut ax);
                stress.operator(&mut y, &mut ay);
                let size = (dot(&x, &ax) * dot(&y, &ay)).sqrt();
                assert!(dot(&x, &ax) > 0.0 && dot(&y, &ay) > 0.0);
                assert!((dot(&y, &ax) - dot(&x, &ay)).abs() < 1e-10 * size, "A: {} {}", dot(&y, &ax), dot(&x, &ay));
                let (mut mx, mut my) = (stress.vector().unwrap(), stress.vector().unwrap());
                stress.v_cycle(&mut x, &mut mx);
                stress.v_cycle(&mut y, &mut my);
                let size = (dot(&x, &mx) * dot(&y, &my)).sqrt();
                assert!(dot(&x, &mx) > 0.0 && dot(&y, &my) > 0.0);
                assert!((dot(&y, &mx) - dot(&x, &my)).abs() < 1e-10 * size, "M: {} {}", dot(&y, &mx), dot(&x, &my));
            }
        });
    }
    fn walls<const D: usize>() -> Axis<D> {
        Axis::Bounded { lo: Side::STICKY, hi: Side::Slip }
    }
    for friction in [0.0, 0.4, 1.0] {
        check(Grid::<2>::new([37, 24], [1.0, 24.0 / 37.0], [walls(), Axis::Periodic]), friction);
        check(Grid::<3>::new([15, 20, 18], [0.75, 1.0, 0.9], [Axis::Periodic, walls(), walls()]), friction);
    }
}

/// Solves for a free blob on a box, or on tiles; returns the largest change, relative to the largest velocity.
fn change_of_blob<const D: usize>(tiles: bool, k: f64, f: impl Fn(usize, [f64; D]) -> f64 + Sync + Copy) -> (f64, u32) {
    let n = 2 * tile_width::<D>();
    let mut grid = Grid::<D>::walled([n; D], Side::Slip);
    let mut layout = Layout::dense(grid.cells);
    if tiles {
        grid.axes = [Axis::Unbounded; D];
        layout = Layout::tiles((0..1 << D).map(|t| std::array::from_fn(|a| t >> a & 1)));
    }
    let h = grid.spacing[0];
    let phi = distance(&grid, &layout, |p| p.iter().map(|x| (x - 0.48).powi(2)).sum::<f64>().sqrt() - 0.3);
    let mut u = velocity(&grid, &layout, f);
    let before = u.clone();
    let mut stress = Stress::<D>::new(&layout, &grid, Isa::best()).unwrap();
    let viscosity = Thickness::Constant(k * h * h);
    let report = stress.apply(&mut u, 1.0, Matter { grid: &grid, surface: Some((&phi, 0.0)), viscosity, solids: None });
    assert!(report.converged, "{report:?}");
    let (mut new, mut old) = (Vec::new(), Vec::new());
    let (mut most, mut size) = (0.0f32, 0.0f32);
    for a in 0..D {
        u[a].copy_to(&mut new);
        before[a].copy_to(&mut old);
        new.iter().zip(&old).for_each(|(new, old)| most = most.max((new - old).abs()));
        size = old.iter().fold(size, |m, v| m.max(v.abs()));
    }
    ((most / size).into(), report.iterations)
}

#[test]
fn what_moves_as_a_whole_is_not_braked_by_stresses_but_by_components() {
    fn rigid(a: usize, p: &[f64]) -> f64 {
        [0.3 - 2.0 * (p[1] - 0.5), 2.0 * (p[0] - 0.5) - 0.1, 0.7][a]
    }
    for k in [1.0, 1e3, 1e6] {
        for tiles in [false, true] {
            let (flat, _) = change_of_blob::<2>(tiles, k, |a, p| rigid(a, &p));
            let (solid, _) = change_of_blob::<3>(tiles, k, |a, p| rigid(a, &p));
            assert!(flat < 1e-5 && solid < 1e-5, "k = {k}, tiles: {tiles}: {flat} {solid}");
        }
    }
    // The same disc, one component after the other: faces of liquid are linked with each other, and with nothing else.
    let n = 64;
    let grid = Grid::<2>::walled([n; 2], Side::Slip);
    let (layout, h) = (Layout::dense(grid.cells), grid.spacing[0]);
    let mut u = velocity(&grid, &layout, |a, p| rigid(a, &p));
    let before = u[0].get([n / 2, 3 * n / 4 - 4]) - u[0].get([n / 2, n / 4 + 4]);
    let new = |at| Field::<2>::on(&layout, at, grid.flat_ends(1.0)).unwrap();
    let mut state = Field::<2, CellState>::on(&layout, At::Center, grid.flat_ends(0.0)).unwrap();
    let wet = |x: isize, y: isize| (x as f64 * h - 0.48).hypot((y as f64 + 0.5) * h - 0.48) < 0.3;
    let mut weight: VectorField<2> = std::array::from_fn(|b| new(At::Face(b)));
    for y in 0..n as isize {
        for x in 0..n as isize {
            let at = [x as usize, y as usize];
            state.set(at, if wet(x, y) { CellState::Fluid } else { CellState::Solid });
            weight[0].set(at, f32::from(wet(x, y) && wet(x - 1, y)));
            weight[1].set(at, f32::from(wet(x, y) && wet(x, y - 1)));
        }
    }
    weight.iter_mut().for_each(|w| w.fill_halo());
    let around = Around::Links { state: &state, weight: &weight };
    Diffusion::new(&layout, grid.spacing).apply(&mut u[0], 1e3 * h * h, around).unwrap();
    let after = u[0].get([n / 2, 3 * n / 4 - 4]) - u[0].get([n / 2, n / 4 + 4]);
    assert!((after / before).abs() < 0.5, "component by component it is braked: {before} {after}");
}

#[test]
fn energy_never_grows_and_the_thicker_the_less_is_left() {
    let grid = Grid::<3>::walled([20, 24, 22], Side::STICKY);
    let (layout, h) = (Layout::dense(grid.cells), grid.spacing[0]);
    let energy = |u: &VectorField<3>| u.iter().map(|u| ops::dot(u, u)).sum::<f64>();
    let start = velocity(&grid, &layout, |a, p| {
        (9.0 * p[(a + 1) % 3]).sin() + 0.3 * noise((1e5 * (p[0] + 3.0 * p[1] + 7.0 * p[2])) as usize)
    });
    let mut stress = Stress::<3>::new(&layout, &grid, Isa::best()).unwrap();
    let mut last = energy(&start);
    for k in [0.0, 1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6, 1e9] {
        let mut u = start.clone();
        let viscosity = Thickness::Constant(k * h * h);
        let report = stress.apply(&mut u, 1.0, Matter { grid: &grid, surface: None, viscosity, solids: None });
        let left = energy(&u);
        // Where nothing moves any more only the error of the solver is left.
        assert!(report.converged && left <= last + 1e-5 * energy(&start), "k = {k}: {left} after {last}");
        last = left;
    }
    assert!(last < 1e-5 * energy(&start), "{last}");
}

#[test]
fn iterations_stay_below_forty_for_what_is_not_thinner_than_cells() {
    let wild = |a: usize, p: [f64; 3]| {
        (9.0 * p[(a + 1) % 3]).sin() + 0.3 * noise((1e5 * (p[0] + 3.0 * p[1] + 7.0 * p[2])) as usize)
    };
    for k in [1.0, 1e2, 1e4, 1e6] {
        let (_, iterations) = change_of_blob::<3>(false, k, wild);
        assert!(iterations <= 40, "k = {k}: {iterations}");
    }
}

#[test]
fn a_swarm_of_drops_smaller_than_three_cells_takes_few_iterations_and_keeps_its_momentum() {
    // 4^3 drops, 2.4 cells wide: coarser levels do not know how each moves and turns.
    let n = 32;
    let grid = Grid::<3>::walled([n; 3], Side::Slip);
    let (layout, h) = (Layout::dense(grid.cells), grid.spacing[0]);
    let at = |x: f64| (4.0 * x).rem_euclid(1.0) / 4.0 - 0.125;
    let phi = distance(&grid, &layout, |p| p.iter().map(|x| at(*x).powi(2)).sum::<f64>().sqrt() - 1.2 * h);
    for k in [1e2, 1e4, 1e6] {
        let mut u = velocity(&grid, &layout, |a, p| (9.0 * p[(a + 1) % 3]).sin() + (31.0 * p[a]).cos());
        let before = u.clone();
        let mut stress = Stress::<3>::new(&layout, &grid, Isa::best()).unwrap();
        let viscosity = Thickness::Constant(k * h * h);
        let matter = Matter { grid: &grid, surface: Some((&phi, 0.0)), viscosity, solids: None };
        let report = stress.apply(&mut u, 1.0, matter);
        assert!(report.converged && report.iterations < 40, "{k}: {report:?}");
        // What the liquid of all faces gains: nothing, but for what the solver may leave.
        let (mut gained, mut size) = (0.0, 0.0);
        let (mut new, mut old, mut distances) = (Vec::new(), Vec::new(), Vec::new());
        phi.copy_to(&mut distances);
        u[0].copy_to(&mut new);
        before[0].copy_to(&mut old);
        for i in (0..n * n * n).filter(|i| i % n > 0) {
            let mean = 0.5 * f64::from(distances[i] + distances[i - 1]) / h;
            let liquid = (0.5 - mean).clamp(0.0, 1.0);
            gained += liquid * f64::from(new[i] - old[i]);
            size += liquid * f64::from(old[i]).abs();
        }
        // And for rounding: pushes of `k u` cancel in single precision, and what is left of each is up to `k u / 2^24`.
        assert!(gained.abs() < (1e-3 + k * f64::from(f32::EPSILON) / 2.0) * size, "{k}: {gained} of {size}");
    }
}

/// A channel along x between walls, full of liquid; `wall` is the velocity of the upper one.
fn channel(n: usize, wall: f32) -> Grid<2> {
    let hi = Side::NoSlip { velocity: [wall, 0.0] };
    Grid::new([4, n], [4.0 / n as f64, 1.0], [Axis::Periodic, Axis::Bounded { lo: Side::STICKY, hi }])
}

/// The profile of a channel after a time, by so many steps.
fn profile(grid: &Grid<2>, viscosity: Thickness<'_, 2>, time: f64, steps: usize, force: f64) -> Vec<f64> {
    let layout = Layout::dense(grid.cells);
    let mut u = velocity(grid, &layout, |_, _| 0.0);
    let mut stress = Stress::<2>::new(&layout, grid, Isa::best()).unwrap();
    let dt = time / steps as f64;
    for _ in 0..steps {
        u[0].par_rows(|_, u| u.iter_mut().for_each(|u| *u += (force * dt) as f32));
        let report = stress.apply(&mut u, dt, Matter { grid, surface: None, viscosity, solids: None });
        assert!(report.converged, "{report:?}");
    }
    (0..grid.cells[1]).map(|y| u[0].get([1, y]).into()).collect()
}

fn at(profile: &[f64], y: f64) -> f64 {
    let n = profile.len();
    let place = (y * n as f64 - 0.5).clamp(0.0, n as f64 - 1.0);
    let (i, part) = ((place as usize).min(n - 2), place - (place as usize).min(n - 2) as f64);
    profile[i] + part * (profile[i + 1] - profile[i])
}

#[test]
fn couette_and_poiseuille_flow_start_up_as_computed() {
    let grid = channel(64, 1.0);
    let couette = table(include_str!("../facts/data/08_couette_startup.csv"));
    for (column, time) in [(2, 0.05), (3, 0.1), (4, 0.25), (5, 5.0)] {
        let steps = if column == 5 { 50 } else { 200 };
        let u = profile(&grid, Thickness::Constant(1.0), time, steps, 0.0);
        for row in couette.iter().filter(|row| (0.05..0.95).contains(&row[0])) {
            assert!((at(&u, row[0]) - row[column]).abs() < 0.01, "t {time}: {} at {row:?}", at(&u, row[0]));
        }
    }
    // Half width 1/2, so that times are a quarter; the largest velocity is 1 for f = 8 nu.
    let grid = channel(64, 0.0);
    let poiseuille = table(include_str!("../facts/data/08_poiseuille_startup.csv"));
    for (column, time) in [(2, 0.1), (3, 0.3), (4, 1.0)] {
        let u = profile(&grid, Thickness::Constant(1.0), 0.25 * time, 200, 8.0);
        for row in poiseuille.iter().filter(|row| row[0] < 0.95) {
            let y = 0.5 + 0.5 * row[0];
            assert!((at(&u, y) - row[column]).abs() < 0.01, "t {time}: {} at {row:?}", at(&u, y));
        }
    }
}

#[test]
fn two_layers_share_the_stress_of_couette_flow() {
    // The geometric mean at the layer between is off by the resistance of half a cell there.
    for row in table(include_str!("../facts/data/08_couette_two_layer.csv")) {
        let (ratio, a, expected) = (row[0], row[1], row[2]);
        if ratio > 100.0 {
            continue;
        }
        let grid = channel(128, 1.0);
        let nu = distance(&grid, &Layout::dense(grid.cells), |p| if p[1] < a { ratio } else { 1.0 });
        let u = profile(&grid, Thickness::Varying(&nu), 100.0, 10, 0.0);
        // Straight below the layer: its velocity there says what it is between.
        let found = at(&u, 0.5 * a) / 0.5;
        assert!((found - expected).abs() < 0.01 * expected + 0.002, "{ratio} {a}: {found}, {expected}");
    }
}

/// Uniform motion along x.
#[derive(Clone)]
struct Sliding(Cuboid<2>, f64);

impl Shape<2> for Sliding {
    fn distance(&self, x: [f64; 2], t: f64) -> f64 {
        self.0.distance(x, t)
    }
    fn velocity(&self, _: [f64; 2], _: f64) -> [f64; 2] {
        [self.1, 0.0]
    }
    fn moves(&self) -> bool {
        false
    }
    fn bounds(&self, t: f64) -> Option<([f64; 2], [f64; 2])> {
        self.0.bounds(t)
    }
}

#[test]
fn liquid_between_two_blocks_follows_the_one_that_it_sticks_to() {
    // The faces of the blocks lie between those of the grid. The lower one rests, the upper one slides along.
    let n = 40;
    let grid = Grid::<2>::new(
        [8, n],
        [8.0 / n as f64, 1.0],
        [Axis::Periodic, Axis::Bounded { lo: Side::Slip, hi: Side::Slip }],
    );
    let layout = Layout::dense(grid.cells);
    let (low, high) = (0.211, 0.783);
    let steady = |frictions: [f64; 2]| {
        let block = |min: f64, max: f64, speed: f64, friction: f64| {
            let shape = Sliding(
                Cuboid { center: [0.5, 0.5 * (min + max)], half: [9.0, 0.5 * (max - min)], rounding: 0.0 },
                speed,
            );
            Obstacle { friction, ..Obstacle::new("block", Box::new(shape)) }
        };
        let blocks = vec![block(-1.0, low, 0.0, frictions[0]), block(high, 2.0, 1.0, frictions[1])];
        let mut solids = Solids::new(&grid, blocks, Boundary::CutCells).unwrap();
        solids.update(&grid, 0.0);
        let mut walls = Walls::new(&layout, &grid).unwrap();
        let mut u = velocity(&grid, &layout, |a, _| if a == 0 { 0.3 } else { 0.0 });
        let mut stress = Stress::<2>::new(&layout, &grid, Isa::best()).unwrap();
        for _ in 0..4 {
            let solids = Some((&solids, &mut walls));
            let matter = Matter { grid: &grid, surface: None, viscosity: Thickness::Constant(1.0), solids };
            assert!(stress.apply(&mut u, 10.0, matter).converged);
        }
        move |y: f64| {
            let place = y * n as f64 - 0.5;
            let (i, part) = (place as usize, place.fract() as f32);
            f64::from(u[0].get([3, i]) * (1.0 - part) + u[0].get([3, i + 1]) * part)
        }
    };
    let both = steady([1.0, 1.0]);
    let (upper, smooth) = (steady([0.0, 1.0]), steady([0.0, 0.0]));
    for y in [0.3, 0.5, 0.7] {
        let expected = (y - low) / (high - low);
        assert!((both(y) - expected).abs() < 0.01, "{y}: {} {expected}", both(y));
        assert!((upper(y) - 1.0).abs() < 0.01, "what slides along one moves with the other: {}", upper(y));
        assert!((smooth(y) - 0.3).abs() < 1e-3, "what slides along both goes on: {}", smooth(y));
    }
}

#[test]
fn threads_and_instruction_sets_do_not_change_a_bit() {
    let grid = Grid::<3>::walled([40, 36, 44], Side::STICKY);
    let layout = Layout::dense(grid.cells);
    let phi = distance(&grid, &layout, |p| p[1] - 0.4 - 0.1 * (9.0 * p[0]).sin());
    let solve = |threads: usize, isa: Isa| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut u = velocity(&grid, &layout, |a, p| (9.0 * p[(a + 1) % 3] + a as f64).sin());
            let mut stress = Stress::<3>::new(&layout, &grid, isa).unwrap();
            let viscosity = Thickness::Constant(0.01);
            stress.apply(&mut u, 1.0, Matter { grid: &grid, surface: Some((&phi, 0.0)), viscosity, solids: None });
            u.map(|u| crate::common::values(&u))
        })
    };
    let one = solve(1, Isa::best());
    assert!(one == solve(3, Isa::best()));
    for isa in Isa::all() {
        assert!(one == solve(2, isa), "{isa:?}");
    }
}

#[test]
fn tiles_give_what_a_box_gives() {
    let wild = |a: usize, p: [f64; 3]| (9.0 * p[(a + 1) % 3]).sin() + 0.2 * (40.0 * p[0] + 31.0 * p[1]).sin();
    let flat = |a: usize, p: [f64; 2]| (9.0 * p[(a + 1) % 2]).sin() + 0.2 * (40.0 * p[0] + 31.0 * p[1]).sin();
    for k in [1.0, 1e4] {
        let [a, b] = [false, true].map(|tiles| change_of_blob::<3>(tiles, k, wild).0);
        let [c, d] = [false, true].map(|tiles| change_of_blob::<2>(tiles, k, flat).0);
        // Coarse levels differ, and with them what the solver leaves: a thousandth of the motion as a whole, more on single faces outside.
        assert!((a - b).abs() < 5e-3 && (c - d).abs() < 5e-3, "k = {k}: {a} {b}, {c} {d}");
    }
}

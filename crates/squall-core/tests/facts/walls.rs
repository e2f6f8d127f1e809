//! Sides that bound tiles: the same values as in a box, to the bit, and smoke above a floor.

use squall_core::advect::{Advection, Flow, MapScratch, advect_mapped, through_sides};
use squall_core::force::{Buoyancy, Emitter, Supply};
use squall_core::layout::tile_width;
use squall_core::model::Splitting;
use squall_core::model::smoke::{Options, Smoke};
use squall_core::ops::{divergence, subtract_gradient};
use squall_core::poisson::{Multigrid, PoissonSolver};
use squall_core::sample::Isa;
use squall_core::shape::Sphere;
use squall_core::trace::Tracer;
use squall_core::{At, Axis, Field, Grid, HALO, Layout, Side, VectorField};

use crate::common::Random;

/// Every kind of side that can bound tiles.
fn sides<const D: usize>() -> [Side<D>; 5] {
    let along = std::array::from_fn(|a| 0.3 - 0.5 * a as f32);
    let moving = Side::NoSlip { velocity: along };
    [Side::Slip, Side::STICKY, moving, Side::Open, Side::Inflow { velocity: along }]
}

/// A box of whole tiles, at least so many along each axis, with sides of all kinds, chosen by a seed; and the same box as tiles.
fn bounded<const D: usize>(seed: u64, least: usize) -> (Grid<D>, Layout<D>, Layout<D>) {
    let mut random = Random::new(seed);
    let mut pick = |n: usize| ((random.next() * 0.5 + 0.5) * n as f64).min(n as f64 - 1.0) as usize;
    let width = tile_width::<D>();
    let cells: [usize; D] = std::array::from_fn(|_| width * (least + pick(2)));
    let axes = std::array::from_fn(|_| Axis::Bounded { lo: sides()[pick(5)], hi: sides()[pick(5)] });
    let grid = Grid::new(cells, cells.map(|n| n as f64 / width as f64), axes);
    let counts = cells.map(|n| n / width);
    let coords = (0..counts.iter().product::<usize>()).map(|n| {
        let mut rest = n;
        std::array::from_fn(|a| {
            let c = rest % counts[a];
            rest /= counts[a];
            c as i32
        })
    });
    (grid, Layout::dense(cells), Layout::tiles_within(coords, grid.tile_bounds()))
}

/// Some smooth, lively values, the same at the same place.
fn value<const D: usize>(p: [f64; D], seed: usize) -> f64 {
    let wave = |a: usize| (5.0 * p[a % D] * (1.0 + 0.2 * a as f64) + (seed + a) as f64).sin();
    (0..D + 1).map(wave).product::<f64>() + 0.5 * wave(seed)
}

fn field<const D: usize>(layout: &Layout<D>, grid: &Grid<D>, at: At, seed: usize) -> Field<D> {
    let ends = match at {
        At::Face(c) => grid.velocity_ends(c),
        _ => grid.substance_ends(0.3),
    };
    let mut field = Field::on(layout, at, ends).unwrap();
    field.set_from(grid, |p| value(p, seed));
    field.finish_end_faces();
    field.fill_halo();
    field
}

/// That two fields have the same bits in all cells, and in ghosts if asked for.
fn assert_same<const D: usize>(what: &str, grid: &Grid<D>, dense: &Field<D>, tiles: &Field<D>, ghosts: isize) {
    let counts = grid.cells.map(|n| n as isize + 2 * ghosts);
    for n in 0..counts.iter().product() {
        let mut rest: isize = n;
        let index: [isize; D] = std::array::from_fn(|a| {
            let i = rest % counts[a] - ghosts;
            rest /= counts[a];
            i
        });
        let (a, b) = (dense.get_signed(index), tiles.get_signed(index));
        assert!(a.to_bits() == b.to_bits(), "{what}, {:?}: {a} in a box, {b} on tiles at {index:?}", grid.axes);
    }
}

fn places<const D: usize>() -> Vec<At> {
    let mut all = vec![At::Center, At::Node];
    all.extend((0..D).flat_map(|a| [At::Face(a), At::Edge(a)]));
    all
}

fn ghosts_are_the_same<const D: usize>() {
    for seed in 0..12 {
        let (grid, dense, tiles) = bounded::<D>(seed, 1);
        for at in places::<D>() {
            let [a, b] = [&dense, &tiles].map(|layout| field(layout, &grid, at, 1));
            assert_same(&format!("{at:?}"), &grid, &a, &b, HALO as isize);
        }
    }
}

#[test]
fn ghost_tiles_hold_what_the_ghost_cells_of_a_box_hold() {
    ghosts_are_the_same::<2>();
    ghosts_are_the_same::<3>();
}

fn operators_are_the_same<const D: usize>() {
    for seed in 20..28 {
        let (grid, dense, tiles) = bounded::<D>(seed, 1);
        let [a, b] = [&dense, &tiles].map(|layout| {
            let mut u: VectorField<D> = std::array::from_fn(|c| field(layout, &grid, At::Face(c), c));
            let mut q = Field::on(layout, At::Center, grid.pressure_ends()).unwrap();
            q.set_from(&grid, |p| value(p, 9));
            subtract_gradient(&mut u, &q, grid.spacing);
            for c in 0..D {
                u[c].set_end_faces();
                u[c].slow_what_enters(&grid, 0.1);
                u[c].fill_halo();
            }
            let mut means = Field::on(layout, At::Face(1), grid.velocity_ends(1)).unwrap();
            means.set_face_means(&field(layout, &grid, At::Center, 4), 1);
            means.fill_halo();
            let mut div = Field::on(layout, At::Center, grid.pressure_ends()).unwrap();
            divergence(&u, grid.spacing, &mut div);
            (u, means, div)
        });
        for c in 0..D {
            assert_same("velocity", &grid, &a.0[c], &b.0[c], HALO as isize);
        }
        assert_same("means", &grid, &a.1, &b.1, 0);
        assert_same("divergence", &grid, &a.2, &b.2, 0);
    }
}

#[test]
fn operators_between_sides_give_the_same_bits_on_tiles_and_in_a_box() {
    operators_are_the_same::<2>();
    operators_are_the_same::<3>();
}

fn transport_is_the_same<const D: usize>(seeds: std::ops::Range<u64>, least: usize, schemes: &[Advection]) {
    for seed in seeds {
        let (grid, dense, tiles) = bounded::<D>(seed, least);
        for &scheme in schemes {
            // About three cells at most.
            let dt = 2.0 * grid.spacing[0];
            let [a, b] = [&dense, &tiles].map(|layout| {
                let carrier: VectorField<D> = std::array::from_fn(|c| field(layout, &grid, At::Face(c), c));
                let mut moved: Vec<Field<D>> = (0..D).map(|c| field(layout, &grid, At::Face(c), 3 + c)).collect();
                let mut kept = [field(layout, &grid, At::Center, 7), field(layout, &grid, At::Center, 8)];
                let before = kept[0].clone();
                let mut scratch = MapScratch::new(layout, scheme).unwrap();
                let flow = Flow { grid: &grid, velocity: &carrier, tracer: Tracer::Rk2, isa: Isa::best() };
                let mut fields: Vec<&mut Field<D>> = moved.iter_mut().collect();
                let mut conserved: Vec<&mut Field<D>> = kept.iter_mut().collect();
                advect_mapped(scheme, flow, dt, &mut fields, &mut conserved, None, &mut scratch);
                let through = through_sides(scheme, &before, 0.3, &scratch);
                (moved, kept, through)
            });
            for (k, (a, b)) in a.0.iter().zip(&b.0).chain(a.1.iter().zip(&b.1)).enumerate() {
                assert_same(&format!("{scheme:?}, field {k}"), &grid, a, b, 0);
            }
            // Sums of the same numbers in another order.
            let size = grid.cell_count() as f64;
            assert!((a.2 - b.2).abs() < 1e-12 * size, "{scheme:?}, {:?}: {} and {}", grid.axes, a.2, b.2);
        }
    }
}

#[test]
fn transport_between_sides_gives_the_same_bits_on_tiles_and_in_a_box() {
    let schemes = [Advection::SemiLagrangian, Advection::MonotoneCubic, Advection::MacCormack];
    transport_is_the_same::<2>(40..48, 1, &schemes);
    transport_is_the_same::<3>(60..63, 1, &schemes);
}

#[test]
fn transport_of_a_large_box_by_some_planes_at_a_time_gives_the_same_bits_as_on_tiles() {
    // On many threads more planes are taken at a time, so that this box would be done at once.
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    one.install(|| transport_is_the_same::<3>(70..73, 4, &[Advection::MacCormack]));
}

fn pressures_are_the_same<const D: usize>() {
    for seed in 80..90 {
        let (grid, dense, tiles) = bounded::<D>(seed, 1);
        let [a, b] = [&dense, &tiles].map(|layout| {
            let mut rhs = Field::on(layout, At::Center, grid.pressure_ends()).unwrap();
            rhs.set_from(&grid, |p| value(p, 5));
            let mut q = Field::like(&rhs).unwrap();
            let mut solver = Multigrid::new(layout, grid.spacing[0], grid.pressure_ends()).unwrap();
            let report = PoissonSolver::solve(&mut solver, &mut rhs, &mut q, 3e-5);
            // What single precision can reach.
            assert!(report.converged, "{:?}: {report:?}", grid.axes);
            (q, report)
        });
        // A box has coarse levels of its own: a side that falls into the middle of a coarse cell is kept less exactly on tiles.
        assert!(b.1.iterations <= a.1.iterations + 4, "{:?}: {:?} and {:?}", grid.axes, a.1, b.1);
        let largest = squall_core::ops::max_abs(&a.0);
        for r in 0..tiles.rows() {
            let row = tiles.row(r);
            for (x, v) in b.0.row(row).iter().enumerate() {
                let mut index = row.index;
                index[0] += x as isize;
                let other = a.0.get_signed(index);
                // Residuals of 3e-5 of a smooth right side: the solution is about as exact, if not quite in its largest waves.
                assert!((v - other).abs() < 1e-3 * largest, "{:?}: {v} and {other} at {index:?}", grid.axes);
            }
        }
    }
}

#[test]
fn the_pressure_between_sides_is_the_same_on_tiles_and_in_a_box() {
    pressures_are_the_same::<2>();
    pressures_are_the_same::<3>();
}

#[test]
fn multigrid_converges_quickly_on_ragged_tiles_above_a_floor_and_in_a_corner() {
    let mut random = Random::new(5);
    let open = Axis::Bounded { lo: Side::Slip, hi: Side::Unbounded };
    for axes in [[Axis::Unbounded, open, Axis::Unbounded], [open, open, open]] {
        let grid = Grid::<3> { axes, ..Grid::periodic([16; 3]) };
        let coords: Vec<[i32; 3]> =
            (0..64).map(|n| [n % 4, n / 4 % 4, n / 16]).filter(|c| c[1] == 0 || random.next() > 0.2).collect();
        let layout = Layout::tiles_within(coords, grid.tile_bounds());
        let mut rhs = Field::on(&layout, At::Center, grid.pressure_ends()).unwrap();
        rhs.par_rows(|row, out| {
            for (x, v) in out.iter_mut().enumerate() {
                let i = row.index.map(|i| i as f32);
                *v = (0.3 * (i[0] + x as f32)).sin() * (0.2 * i[1]).cos() + (0.17 * i[2]).sin();
            }
        });
        let mut q = Field::like(&rhs).unwrap();
        let mut solver = Multigrid::new(&layout, grid.spacing[0], grid.pressure_ends()).unwrap();
        let report = PoissonSolver::solve(&mut solver, &mut rhs, &mut q, 1e-5);
        // As many as the same set of tiles takes without walls.
        assert!(report.converged && report.iterations <= 9, "{axes:?}: {report:?}");
    }
}

fn puff<const D: usize>(grid: Grid<D>, center: [f64; D], strength: f32, options: Options<D>) -> Smoke<D> {
    let mut sim = Smoke::new(grid, options).unwrap();
    let smoke = sim.flow.add_substance("density", 0.0).unwrap();
    let mut source = Emitter::new(Box::new(Sphere { center, radius: 0.15 }));
    source.supply = vec![(smoke, Supply::Hold(1.0))];
    sim.flow.sources.push(Box::new(source));
    sim.flow.forces.push(Box::new(Buoyancy { substance: smoke, strength, ambient: 0.0 }));
    sim
}

/// Smoke falls to a floor and spreads, or rises to a ceiling: nothing gets through, nothing is lost.
fn falls<const D: usize>(up: bool, splitting: Splitting) {
    let width = tile_width::<D>();
    let h = 1.0 / 16.0;
    let wall = if up {
        Axis::Bounded { lo: Side::Unbounded, hi: Side::STICKY }
    } else {
        Axis::Bounded { lo: Side::Slip, hi: Side::Unbounded }
    };
    let mut axes = [Axis::Unbounded; D];
    axes[1] = wall;
    let grid = Grid { axes, ..Grid::new([width; D], [h * width as f64; D], axes) };
    let far = h * width as f64;
    let mut center = [0.5 * far; D];
    center[1] = if up { far - 0.4 } else { 0.4 };
    let mut sim = puff(grid, center, if up { 4.0 } else { -4.0 }, Options { splitting, ..Options::default() });
    for step in 0..60 {
        if step == 4 {
            sim.flow.sources.clear();
        }
        let before = sim.flow.mass()[0];
        let report = sim.step(1.0 / 30.0).unwrap();
        assert!(report.pressure.converged);
        let account = report.ledger.substances[0];
        assert!(account.unexplained().abs() < 1e-5 * account.present, "step {step}: {account:?}");
        assert!(account.excess() < 1e-5, "step {step}: {account:?}");
        if step >= 4 {
            // All that may go is what thin air takes with it when tiles vanish.
            assert!((sim.flow.mass()[0] / before - 1.0).abs() < 1e-3, "step {step}");
        }
    }
    let layout = sim.flow.layout();
    let tiles = layout.as_tiles().unwrap();
    assert!(tiles.coords().iter().all(|c| if up { c[1] <= 0 } else { c[1] >= 0 }), "{:?}", tiles.coords());
    // Nothing moves through the wall.
    let face = if up { width as isize } else { 0 };
    for c in tiles.coords() {
        let mut i: [isize; D] = c.map(|c| c as isize * width as isize + 3);
        i[1] = face;
        assert_eq!(sim.flow.velocity()[1].get_signed(i), 0.0);
    }
    let field = &sim.flow.substances[0].field;
    let (mut mass, mut height) = (0.0, 0.0);
    for r in 0..layout.rows() {
        let row = layout.row(r);
        let sum: f64 = field.row(row).iter().map(|&v| f64::from(v)).sum();
        mass += sum;
        height += sum * grid.position(At::Center, row.index)[1];
    }
    let distance = if up { far - height / mass } else { height / mass };
    assert!(distance < 0.3, "{D}D: the smoke lies along the wall, {distance} m away on average");
}

#[test]
fn smoke_falls_to_a_floor_and_rises_to_a_ceiling_without_bounds_beside_them() {
    for splitting in [Splitting::LaggedPressure, Splitting::Reflection, Splitting::Plain] {
        falls::<2>(false, splitting);
        falls::<2>(true, splitting);
    }
    falls::<3>(false, Splitting::LaggedPressure);
    falls::<3>(true, Splitting::LaggedPressure);
}

#[test]
fn smoke_in_a_shaft_without_top_rises_as_in_a_tall_box() {
    // Two walls 64 cells apart; far above and below nothing moves.
    let h = 1.0 / 32.0;
    let walls = Axis::Bounded { lo: Side::STICKY, hi: Side::Slip };
    let free = Grid::<2>::new([64, 64], [2.0, 2.0], [walls, Axis::Unbounded]);
    let tall = Axis::Bounded { lo: Side::Open, hi: Side::Open };
    let tall = Grid { origin: [0.0, -4.0], ..Grid::<2>::new([64, 320], [2.0, 320.0 * h], [walls, tall]) };
    let [free, tall] = [free, tall].map(|grid| {
        let mut sim = puff(grid, [0.8, 1.0], 3.0, Options { buffer: 48, ..Options::default() });
        for _ in 0..45 {
            sim.step(1.0 / 30.0).unwrap();
        }
        let (mut mass, mut moment) = (0.0, [0.0; 2]);
        let field = &sim.flow.substances[0].field;
        for r in 0..field.layout().rows() {
            let row = field.layout().row(r);
            for (x, &v) in field.row(row).iter().enumerate() {
                let mut i = row.index;
                i[0] += x as isize;
                let p = grid.position(At::Center, i);
                mass += f64::from(v);
                (0..2).for_each(|a| moment[a] += f64::from(v) * p[a]);
            }
        }
        (mass, moment.map(|m| m / mass))
    });
    // The sides of the tall box are four metres away, the edge of the tiles one and a half.
    assert!((free.0 / tall.0 - 1.0).abs() < 0.02, "{free:?} {tall:?}");
    assert!((free.1[1] - tall.1[1]).abs() < 0.02 && (free.1[0] - tall.1[0]).abs() < 0.02, "{free:?} {tall:?}");
}

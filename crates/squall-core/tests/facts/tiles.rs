//! Tiles hold the same values as a box, wherever they are.

use squall_core::advect::{Advection, Flow, MapScratch, advect_mapped};
use squall_core::field::Pad;
use squall_core::layout::tile_width;
use squall_core::ops::{divergence, max_abs, max_divergence};
use squall_core::poisson::{self, PoissonSolver};
use squall_core::sample::Isa;
use squall_core::trace::Tracer;
use squall_core::{At, End, Ends, Field, Grid, Layout, Side, VectorField};

/// Tiles of a ragged, disconnected set around zero, and far from it.
fn ragged<const D: usize>() -> Vec<[i32; D]> {
    let mut coords = Vec::new();
    for n in 0..5i32.pow(D as u32) {
        let c: [i32; D] = std::array::from_fn(|a| n / 5i32.pow(a as u32) % 5 - 2);
        if n * 7919 % 11 < 6 {
            coords.push(c);
        }
    }
    coords.push([1000; D]);
    coords.push([-2000; D]);
    coords
}

fn value<const D: usize>(index: [isize; D], seed: isize) -> f32 {
    let mixed = index.iter().fold(seed, |h, &i| (h * 31 + i * 17) % 1009);
    (mixed as f32 * 0.37).sin()
}

fn filled<const D: usize>(layout: &Layout<D>, at: At, outside: f32, seed: isize) -> Field<D> {
    let mut field = Field::on(layout, at, [Ends::Unbounded(outside); D]).expect("memory");
    field.par_rows(|row, out| {
        for (x, v) in out.iter_mut().enumerate() {
            let mut i = row.index;
            i[0] += x as isize;
            *v = value(i, seed);
        }
    });
    field.fill_halo();
    field
}

fn rows_know_the_cells_beside_them<const D: usize>() {
    let width = tile_width::<D>() as isize;
    let layout = Layout::<D>::tiles(ragged::<D>());
    let tiles = layout.as_tiles().expect("tiles");
    let f = filled(&layout, At::Center, -7.0, 3);
    let exists = |i: [isize; D]| tiles.find(i.map(|i| i.div_euclid(width) as i32)).is_some();
    for r in 0..layout.rows() {
        let row = layout.row(r);
        for a in 0..D {
            for by in [-1, 1] {
                let mut pad = Pad::default();
                let beside = if by > 0 { f.up(row, a, &mut pad) } else { f.down(row, a, &mut pad) };
                for x in 0..width {
                    let mut i = row.index;
                    i[0] += x;
                    i[a] += by;
                    let expected = if exists(i) { value(i, 3) } else { -7.0 };
                    assert_eq!(beside[x as usize], expected, "{D}D, axis {a}, by {by}, cell {i:?}");
                    assert_eq!(f.get_signed(i), expected);
                }
            }
        }
    }
}

#[test]
fn a_row_knows_the_cells_beside_it_in_its_own_tile_in_others_and_where_none_is() {
    rows_know_the_cells_beside_them::<2>();
    rows_know_the_cells_beside_them::<3>();
}

#[test]
fn corners_can_be_reached_step_by_step() {
    let layout = Layout::<3>::tiles([[0, 0, 0], [0, 1, 1], [0, 1, 0]]);
    let f = filled(&layout, At::Center, -7.0, 5);
    let row = layout.row(16 * 16 - 1);
    assert_eq!(row.index, [0, 15, 15]);
    assert_eq!(f.row(row.up(1).up(2))[3], value([3, 16, 16], 5));
    assert_eq!(f.row(row.up(1).down(2))[3], value([3, 16, 14], 5));
    assert!(row.up(1).exists() && !row.up(2).exists(), "the tile above along z is missing");
    assert_eq!(f.row(row.up(2))[0], -7.0);
}

#[test]
fn operators_on_tiles_equal_those_on_a_box_to_the_bit() {
    const N: usize = 48;
    let coords = (0..27).map(|n| [n % 3, n / 3 % 3, n / 9]);
    let tiles = Layout::<3>::tiles(coords);
    let dense = Layout::<3>::dense([N; 3]);
    let u: VectorField<3> = std::array::from_fn(|a| filled(&tiles, At::Face(a), 0.0, a as isize));
    let v: VectorField<3> = std::array::from_fn(|a| {
        let mut f = Field::on(&dense, At::Face(a), [Ends::FLAT; 3]).expect("memory");
        f.par_rows(|row, out| {
            for (x, v) in out.iter_mut().enumerate() {
                let mut i = row.index;
                i[0] += x as isize;
                *v = value(i, a as isize);
            }
        });
        f
    });
    let (mut on_tiles, mut on_box) = (filled(&tiles, At::Center, 0.0, 0), Field::like(&v[0]).expect("memory"));
    divergence(&u, [0.1; 3], &mut on_tiles);
    divergence(&v, [0.1; 3], &mut on_box);
    // The last layer of cells looks at faces beyond the box, which mean something else there.
    let inside = (0..N as isize - 1).flat_map(|z| (0..N as isize - 1).map(move |y| (y, z)));
    for (y, z) in inside {
        for x in 0..N as isize - 1 {
            assert_eq!(on_tiles.get_signed([x, y, z]).to_bits(), on_box.get_signed([x, y, z]).to_bits());
        }
    }
    assert_eq!(max_abs(&u[0]), max_abs(&v[0]));
    assert!(max_divergence(&u, [0.1; 3]) >= max_abs(&on_box));
}

#[test]
fn a_field_keeps_its_values_when_tiles_come_and_go() {
    let before = Layout::<2>::tiles([[0, 0], [1, 0], [5, 5]]);
    let after = Layout::<2>::tiles([[1, 0], [5, 5], [-3, 2]]);
    let mut f = filled(&before, At::Center, 0.5, 9);
    f.move_to(&after, 4.0).expect("memory");
    assert_eq!(f.get_signed([33, 4]), value([33, 4], 9));
    assert_eq!(f.get_signed([5 * 32 + 31, 5 * 32]), value([5 * 32 + 31, 5 * 32], 9));
    assert_eq!(f.get_signed([-3 * 32 + 1, 2 * 32 + 30]), 4.0, "a new tile");
    assert_eq!(f.get_signed([3, 3]), 0.5, "a tile that went reads as background");
}

#[test]
fn the_order_of_tiles_does_not_depend_on_how_they_were_named() {
    let mut coords = ragged::<3>();
    let a = Layout::<3>::tiles(coords.clone());
    coords.reverse();
    coords.push(coords[3]);
    let b = Layout::<3>::tiles(coords);
    assert!(a == b);
}

/// A smooth, lively flow without walls in sight, in cells per second.
fn flow<const D: usize>(i: [f64; D], c: usize) -> f64 {
    let s = |a: usize, k: f64| (0.11 * k * i[a] + c as f64).sin();
    (1..=D).map(|a| s(a % D, 1.0 + 0.3 * a as f64)).product::<f64>() * 2.5 + 0.4 * s(c % D, 0.7)
}

fn smooth<const D: usize>(layout: &Layout<D>, at: At, ends: Ends, f: impl Fn([f64; D]) -> f64 + Sync) -> Field<D> {
    let mut field = Field::on(layout, at, [ends; D]).expect("memory");
    field.par_rows(|row, out| {
        for (x, v) in out.iter_mut().enumerate() {
            let mut i = row.index.map(|i| i as f64);
            i[0] += x as f64;
            *v = f(i) as f32;
        }
    });
    field.fill_halo();
    field
}

fn transport_is_the_same<const D: usize>(tracer: Tracer, speed: f64) {
    let width = tile_width::<D>();
    let n = 3 * width;
    let coords = (0..3i32.pow(D as u32)).map(|n| std::array::from_fn(|a| n / 3i32.pow(a as u32) % 3));
    let layouts = [Layout::<D>::tiles(coords), Layout::dense([n; D])];
    let grid = Grid::<D>::walled([n; D], Side::Open);
    let h = grid.spacing[0];
    for scheme in [Advection::SemiLagrangian, Advection::MonotoneCubic, Advection::MacCormack] {
        let moved = layouts.each_ref().map(|layout| {
            let ends = if layout.as_tiles().is_some() { Ends::Unbounded(0.0) } else { Ends::FLAT };
            let u: VectorField<D> =
                std::array::from_fn(|c| smooth(layout, At::Face(c), ends, |i| h * speed * flow(i, c)));
            let locations = (0..D).map(At::Face).chain([At::Edge(0), At::Edge(D - 1), At::Node]);
            let locations = locations.chain([At::Center, At::Center, At::Center]);
            let mut fields: Vec<Field<D>> = locations
                .enumerate()
                .map(|(k, at)| smooth(layout, at, ends, |i| flow(i.map(|i| i + k as f64), k)))
                .collect();
            let flow = Flow { grid: &grid, velocity: &u, tracer, isa: Isa::best() };
            let mut scratch = MapScratch::new(layout, scheme).expect("memory");
            let mut refs: Vec<&mut Field<D>> = fields.iter_mut().collect();
            let (velocity, substances) = refs.split_at_mut(D + 3);
            advect_mapped(scheme, flow, 1.0, velocity, substances, None, &mut scratch);
            fields
        });
        // What is further from the ends than paths and corrections reach knows nothing of them.
        let margin = 12;
        let inner = n - 2 * margin;
        let [on_tiles, on_box] = moved;
        for (k, (a, b)) in on_tiles.iter().zip(&on_box).enumerate() {
            let mut differing = 0;
            for m in 0..inner.pow(D as u32) {
                let i: [isize; D] = std::array::from_fn(|a| (margin + m / inner.pow(a as u32) % inner) as isize);
                differing += (a.get_signed(i).to_bits() != b.get_signed(i).to_bits()) as usize;
            }
            assert_eq!(differing, 0, "{D}D {scheme:?} {tracer:?}, field {k}");
        }
    }
}

#[test]
fn transport_on_tiles_equals_that_on_a_box_to_the_bit() {
    // Slow flows are sampled through narrow windows.
    for speed in [1.0, 0.4, 0.1] {
        transport_is_the_same::<2>(Tracer::Rk2, speed);
        transport_is_the_same::<3>(Tracer::Rk2, speed);
    }
    transport_is_the_same::<3>(Tracer::Rk3, 1.0);
    transport_is_the_same::<2>(Tracer::Adaptive, 1.0);
}

#[test]
fn a_step_that_goes_further_than_the_tiles_beside_says_so() {
    let layout = Layout::<3>::tiles([[0, 0, 0], [1, 0, 0]]);
    let grid = Grid::<3>::walled([16; 3], Side::Open);
    let h = grid.spacing[0] as f32;
    for (cells, too_far) in [(13.0f32, false), (20.0, true)] {
        let mut u: VectorField<3> = std::array::from_fn(|c| filled(&layout, At::Face(c), 0.0, c as isize));
        u.iter_mut().for_each(|u| u.fill(0.0));
        u[1].fill(cells * h);
        u[1].relabel(At::Face(1), [Ends::Unbounded(cells * h); 3]);
        u.iter_mut().for_each(|u| u.fill_halo());
        let mut scratch = MapScratch::new(&layout, Advection::SemiLagrangian).expect("memory");
        let flow = Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk2, isa: Isa::best() };
        scratch.trace(Advection::SemiLagrangian, flow, 1.0);
        assert_eq!(scratch.too_far().is_some(), too_far, "{cells} cells");
        assert!(scratch.too_far().is_none_or(|far| (far - 20.0).abs() < 1e-3));
    }
}

/// Two small blobs of opposite signs in a lively flow, moved for some steps. With `marked`, the first cell of a box holds another
/// value, so that nothing counts as empty.
fn blobs_moved<const D: usize>(layout: &Layout<D>, n: usize, speed: f64, marked: bool) -> [Field<D>; 2] {
    let grid = Grid::<D>::walled([n; D], Side::Open);
    let h = grid.spacing[0];
    let ends = if layout.as_tiles().is_some() { Ends::Unbounded(0.0) } else { Ends::FLAT };
    let u: VectorField<D> = std::array::from_fn(|c| smooth(layout, At::Face(c), ends, |i| h * speed * flow(i, c)));
    let blob = |i: [f64; D], at: f64| {
        let r2: f64 = i.iter().map(|x| (x - at * n as f64).powi(2)).sum();
        if r2 < 16.0 { 1.0 - r2 / 20.0 } else { 0.0 }
    };
    let mut fields = [0.5, 0.6].map(|at| smooth(layout, At::Center, ends, |i| (0.5 - at + 0.05) * blob(i, at)));
    if marked {
        fields[0].set([0; D], 7.0);
    }
    let flow = Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk2, isa: Isa::best() };
    let mut scratch = MapScratch::new(layout, Advection::MacCormack).expect("memory");
    // What is left in the scratch from before must not be seen.
    let mut nothing = [(); 3].map(|_| smooth(layout, At::Center, ends, |_| f64::NAN));
    for conserved in [false, true] {
        let mut refs: Vec<&mut Field<D>> = nothing.iter_mut().collect();
        let (plain, kept): (&mut [_], &mut [_]) = if conserved { (&mut [], &mut refs) } else { (&mut refs, &mut []) };
        advect_mapped(Advection::MacCormack, flow, 1.0, plain, kept, None, &mut scratch);
    }
    for _ in 0..3 {
        let [a, b] = &mut fields;
        advect_mapped(Advection::MacCormack, flow, 1.0, &mut [], &mut [a, b], None, &mut scratch);
    }
    fields
}

fn moving_only_what_is_there<const D: usize>() {
    let n = 5 * tile_width::<D>();
    let coords = (0..5i32.pow(D as u32)).map(|n| std::array::from_fn(|a| n / 5i32.pow(a as u32) % 5));
    let (tiles, dense) = (Layout::<D>::tiles(coords), Layout::dense([n; D]));
    for speed in [0.3, 1.0, 1.6] {
        let everywhere = blobs_moved(&dense, n, speed, true);
        for layout in [&dense, &tiles] {
            let found = blobs_moved(layout, n, speed, false);
            for (k, (a, b)) in found.iter().zip(&everywhere).enumerate() {
                // The mark spreads by the reach of three steps at most, which is less than a quarter of the box.
                let (from, count) = (n / 4, n - 2 * (n / 4));
                for m in 0..count.pow(D as u32) {
                    let i: [isize; D] = std::array::from_fn(|a| (from + m / count.pow(a as u32) % count) as isize);
                    let (a, b) = (a.get_signed(i), b.get_signed(i));
                    assert_eq!(a, b, "{D}D, {speed}, field {k}, cell {i:?}, tiles {}", layout.as_tiles().is_some());
                }
            }
        }
    }
}

#[test]
fn moving_only_what_is_there_equals_moving_everything_to_the_bit() {
    moving_only_what_is_there::<2>();
    moving_only_what_is_there::<3>();
}

#[test]
fn the_box_around_tiles_is_solved_as_any_box() {
    let (h, n) = (0.1, tile_width::<3>());
    let layout = Layout::tiles([[-1, -1, -1], [0, -1, -1], [0, 0, -1], [0, 0, 0]]);
    let ends = [Ends::Unbounded(0.0); 3];
    let [mut rhs, mut q] = [(), ()].map(|_| filled(&layout, At::Center, 0.0, 3));
    let mut around = poisson::AroundTiles::new(&layout, h, ends, Isa::best()).unwrap().expect("half of the box");
    let report = around.improve(&mut rhs, &mut q, 0.0);
    // Single precision.
    assert!(report.converged && report.residual < 1e-5, "{report:?}");

    let zero = [Ends::Bounded { lo: End::Value(0.0), hi: End::Value(0.0) }; 3];
    let [mut right, mut found] = [(), ()].map(|_| Field::new([2 * n; 3], At::Center, zero).unwrap());
    let each_cell = |mut f: Box<dyn FnMut([usize; 3], f32, f32) + '_>| {
        for row in (0..layout.rows()).map(|r| layout.row(r)) {
            for x in 0..n {
                let i = [row.index[0] + x as isize, row.index[1], row.index[2]];
                f(i.map(|i| (i + n as isize) as usize), rhs.row(row)[x], q.row(row)[x]);
            }
        }
    };
    each_cell(Box::new(|i, rhs, _| right.set(i, rhs)));
    poisson::Spectral::new([2 * n; 3], [h; 3], zero).solve(&mut right, &mut found, 0.0);
    each_cell(Box::new(|i, _, q| assert_eq!(q.to_bits(), found.get(i).to_bits(), "{i:?}")));
    // Two tiles far apart: no box is made around them.
    let apart = Layout::tiles([[0, 0, 0], [9, 0, 0]]);
    assert!(poisson::AroundTiles::new(&apart, h, ends, Isa::best()).unwrap().is_none());
}

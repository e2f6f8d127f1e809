//! Vorticity confinement spins up what turns, and nothing else.

use squall_core::force::{Confinement, Force, Moment};
use squall_core::{At, Axis, Field, Grid, Layout, Side, VectorField};

const NOW: Moment = Moment::whole(0.0, 0.01);

fn velocity<const D: usize>(
    grid: &Grid<D>,
    layout: &Layout<D>,
    f: impl Fn([f64; D]) -> [f64; D] + Sync,
) -> VectorField<D> {
    std::array::from_fn(|a| {
        let mut u = Field::on(layout, At::Center, grid.velocity_ends(a)).expect("memory");
        u.set_from(grid, |p| f(p)[a]);
        u
    })
}

/// What one application adds, per second.
fn push<const D: usize>(grid: &Grid<D>, strength: f64, f: impl Fn([f64; D]) -> [f64; D] + Sync) -> VectorField<D> {
    let layout = Layout::dense(grid.cells);
    let before = velocity(grid, &layout, f);
    let mut after = before.clone();
    Confinement::new(strength).apply(grid, NOW, &mut after, &[]);
    for a in 0..D {
        after[a].par_rows(|row, u| {
            for (u, before) in u.iter_mut().zip(before[a].row(row)) {
                *u = (*u - before) / NOW.dt as f32;
            }
        });
    }
    after
}

/// A vortex with vorticity `peak exp(-r^2 / (2 width^2))` around the middle of the unit box; in 3D around an axis along
/// `along`, the same all along it.
fn vortex<const D: usize>(p: [f64; D], along: usize, peak: f64, width: f64) -> [f64; D] {
    let (b, c) = ((along + 1) % 3, (along + 2) % 3);
    let (x, y) = (p[b] - 0.5, p[c] - 0.5);
    let r2 = x * x + y * y;
    let turn = peak * width * width * (1.0 - (-r2 / (2.0 * width * width)).exp()) / r2.max(1e-12);
    let mut u = [0.0; D];
    u[b] = -turn * y;
    u[c] = turn * x;
    u
}

#[test]
fn flow_that_does_not_turn_feels_nothing() {
    let grid = Grid::<2>::walled([64, 64], Side::Slip);
    // The gradient of x^2 - y^2 + x y: quadratic, so that centred differences are exact.
    let f = push(&grid, 5.0, |p| [2.0 * p[0] + p[1], p[0] - 2.0 * p[1]]);
    // Cells at walls have vorticity, as what lies behind is a mirror image; the cells beside them see it.
    for y in 2..62 {
        for x in 2..62 {
            // Rounding of the vorticity: 3 m/s, seven digits, per cell size; times strength and cell size.
            assert!(f.iter().all(|f| f.get([x, y]).abs() < 5.0 * 3e-6), "{:?} at {x} {y}", f[0].get([x, y]));
        }
    }
}

#[test]
fn a_solid_rotation_feels_nothing() {
    let grid = Grid::<3>::walled([32, 32, 32], Side::Slip);
    let f = push(&grid, 5.0, |p| [-3.0 * (p[1] - 0.5), 3.0 * (p[0] - 0.5), 0.0]);
    // The full force would be strength h omega; of the directions that are rounding, a few per cent are left.
    let full = 5.0 / 32.0 * 6.0;
    for z in 2..30 {
        for (x, y) in (2..30).flat_map(|y| (2..30).map(move |x| (x, y))) {
            assert!(f.iter().all(|f| f64::from(f.get([x, y, z]).abs()) < 0.05 * full), "at {x} {y} {z}");
        }
    }
}

#[test]
fn a_gaussian_vortex_is_pushed_around_as_the_formula_says_in_either_sense() {
    let (n, width, strength) = (128, 0.1, 2.0);
    let grid = Grid::<2>::walled([n, n], Side::Slip);
    for peak in [4.0, -4.0] {
        let f = push(&grid, strength, |p| vortex(p, 2, peak, width));
        let mut energy = 0.0;
        for (x, y) in (2..n - 2).flat_map(|y| (2..n - 2).map(move |x| (x, y))) {
            let p = grid.position(At::Center, [x as isize, y as isize]);
            let (dx, dy) = (p[0] - 0.5, p[1] - 0.5);
            let r = dx.hypot(dy);
            let u = vortex(p, 2, peak, width);
            energy += f64::from(f[0].get([x, y])) * u[0] + f64::from(f[1].get([x, y])) * u[1];
            // f = strength h omega, around the middle. At the middle itself there is no direction, and far out no vortex.
            if r > 0.5 * width && r < 2.5 * width {
                let size = strength / n as f64 * peak * (-r * r / (2.0 * width * width)).exp();
                let exact = [-size * dy / r, size * dx / r];
                for a in 0..2 {
                    let error = (f64::from(f[a].get([x, y])) - exact[a]).abs();
                    // Second-order differences of a bell 13 cells wide, and rounding in what is left of the slope.
                    assert!(
                        error < 0.03 * size.abs(),
                        "peak {peak}, r {r}: {} instead of {}",
                        f[a].get([x, y]),
                        exact[a]
                    );
                }
            }
        }
        assert!(energy > 0.0, "peak {peak}: the vortex loses {energy}");
    }
}

#[test]
fn vortices_along_every_axis_are_pushed_alike() {
    let n = 48;
    let mut axes = [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; 3];
    let mut sums = Vec::new();
    for along in 0..3 {
        axes[along] = Axis::Periodic;
        let grid = Grid::<3>::new([n; 3], [1.0; 3], axes);
        let f = push(&grid, 2.0, |p| vortex(p, along, 4.0, 0.12));
        let u = velocity(&grid, &Layout::dense([n; 3]), |p| vortex(p, along, 4.0, 0.12));
        assert_eq!(squall_core::ops::max_abs(&f[along]), 0.0, "nothing along the axis");
        sums.push((0..3).map(|a| squall_core::ops::dot(&f[a], &u[a])).sum::<f64>());
        axes[along] = Axis::Bounded { lo: Side::Slip, hi: Side::Slip };
    }
    // The same numbers in another order.
    assert!(sums[0] > 0.0 && sums.iter().all(|s| (s / sums[0] - 1.0).abs() < 1e-4), "{sums:?}");
}

#[test]
fn the_force_vanishes_on_finer_grids() {
    // A fifth of a width beside the place where the vortex turns fastest, and one width out.
    for x in [0.52, 0.6] {
        let around = |n: usize| {
            let f = push(&Grid::<2>::walled([n, n], Side::Slip), 2.0, |p| vortex(p, 2, 4.0, 0.1));
            f[1].get([(x * n as f64) as usize, n / 2])
        };
        let ratio = around(100) / around(200);
        // In proportion to the cell size; the cells do not lie quite alike, by half a cell of a tenth of a width.
        assert!((1.85..2.15).contains(&ratio), "at {x}: {ratio}");
    }
}

#[test]
fn no_step_pushes_further_than_a_quarter_of_a_cell() {
    let grid = Grid::<2>::periodic([64, 64]);
    let layout = Layout::dense(grid.cells);
    let before = velocity(&grid, &layout, |p| vortex(p, 2, 4.0, 0.1));
    let mut after = before.clone();
    let now = Moment::whole(0.0, 0.1);
    Confinement::new(1e6).apply(&grid, now, &mut after, &[]);
    let mut most: f64 = 0.0;
    for (x, y) in (0..64).flat_map(|y| (0..64).map(move |x| (x, y))) {
        let moved = (0..2).map(|a| f64::from(after[a].get([x, y]) - before[a].get([x, y])) * now.dt);
        most = most.max(moved.map(|d| d * d).sum::<f64>().sqrt() * 64.0);
    }
    assert!((most - 0.25).abs() < 1e-4, "{most} cells");
}

fn box_and_tiles_agree<const D: usize>(width: usize) {
    let n = 3 * width;
    let walled = Grid::<D>::walled([n; D], Side::Slip);
    let unbounded = Grid { axes: [Axis::Unbounded; D], ..walled };
    let count = 3i32.pow(D as u32);
    let tiles = Layout::<D>::tiles((0..count).map(|t| std::array::from_fn(|a| t / 3i32.pow(a as u32) % 3)));
    let wild = |p: [f64; D]| std::array::from_fn(|a| (9.0 * p[a] + 17.0 * p[(a + 1) % D] + a as f64).sin() * p[D - 1]);
    let mut on_box = velocity(&walled, &Layout::dense([n; D]), wild);
    let mut on_tiles = velocity(&unbounded, &tiles, wild);
    // The largest vorticity, which sets a scale, should not be one at the edge, where the layouts differ.
    let calm = |p: f64| (8.0 * p * (1.0 - p)).min(1.0).powi(4);
    for (u, grid) in [(&mut on_box, &walled), (&mut on_tiles, &unbounded)] {
        for u in u.iter_mut() {
            u.par_rows(|row, u| {
                for (x, u) in u.iter_mut().enumerate() {
                    let mut i = row.index;
                    i[0] += x as isize;
                    let p = grid.position(At::Center, i);
                    *u *= p.iter().map(|&p| calm(p) as f32).product::<f32>();
                }
            });
        }
    }
    let (mut first, mut second) = (Confinement::new(3.0), Confinement::new(3.0));
    let before = on_tiles.clone();
    first.apply(&walled, NOW, &mut on_box, &[]);
    second.apply(&unbounded, NOW, &mut on_tiles, &[]);
    let mut changed = 0;
    for i in 0..n.pow(D as u32) {
        let index: [isize; D] = std::array::from_fn(|a| (i / n.pow(a as u32) % n) as isize);
        let edge = index.iter().any(|&i| i == 0 || i == n as isize - 1);
        // The cells next to the edge see the vorticity of the edge, which depends on what lies beyond.
        let near = index.iter().any(|&i| i < 2 || i > n as isize - 3);
        for a in 0..D {
            let (b, t, old) = (on_box[a].get_signed(index), on_tiles[a].get_signed(index), before[a].get_signed(index));
            assert!(near || b.to_bits() == t.to_bits(), "{D}D {index:?}: {b} and {t}");
            assert!(!edge || t == old, "{D}D: a cell beside a missing tile was pushed at {index:?}");
            changed += usize::from(t != old);
        }
    }
    assert!(changed > n.pow(D as u32) / 2, "the flow was pushed");
}

#[test]
fn tiles_and_a_box_give_the_same_bits() {
    box_and_tiles_agree::<2>(32);
    box_and_tiles_agree::<3>(16);
}

#[test]
fn scratch_follows_the_layout() {
    let grid = Grid { axes: [Axis::Unbounded; 2], ..Grid::<2>::walled([64, 64], Side::Slip) };
    let mut reused = Confinement::new(3.0);
    for tiles in [vec![[0, 0], [1, 0]], vec![[0, 0], [1, 0], [0, 1], [1, 1]]] {
        let layout = Layout::<2>::tiles(tiles);
        let mut u = velocity(&grid, &layout, |p| vortex(p, 2, 4.0, 0.1));
        let mut again = u.clone();
        reused.apply(&grid, NOW, &mut u, &[]);
        Confinement::new(3.0).apply(&grid, NOW, &mut again, &[]);
        for r in 0..layout.rows() {
            assert!(u[0].row(layout.row(r)) == again[0].row(layout.row(r)), "row {r}");
        }
    }
}

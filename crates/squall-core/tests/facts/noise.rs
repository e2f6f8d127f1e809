//! Noise looks the same everywhere, and has the size, the length and the smoothness that it promises.

use squall_core::force::{Emitter, Flicker, Moment, NoiseField, Source, Substance, Supply};
use squall_core::ops::{dot, max_abs, sum};
use squall_core::shape::Sphere;
use squall_core::{At, Axis, Field, Grid, Layout, Side, VectorField, rows};

const SCALE: f64 = 0.1;

fn swirls<const D: usize>(grid: &Grid<D>, layout: &Layout<D>, noise: &NoiseField<D>) -> VectorField<D> {
    let mut u: VectorField<D> =
        std::array::from_fn(|a| Field::on(layout, At::Center, grid.velocity_ends(a)).expect("memory"));
    rows::for_each(u.each_mut(), |row, u| noise.add_rows(row, |_| 1.0, u));
    u.iter_mut().for_each(Field::fill_halo);
    u
}

fn spots<const D: usize>(grid: &Grid<D>, noise: &NoiseField<D>) -> Field<D> {
    let mut f = Field::new(grid.cells, At::Center, grid.pressure_ends()).expect("memory");
    f.par_rows(|row, out| noise.add_row(0, row, 0, |_| 1.0, out));
    f
}

fn dense<const D: usize>(grid: &Grid<D>, seed: u64, time: f64) -> VectorField<D> {
    let mut noise = NoiseField::swirls(grid, SCALE, 0.5, seed);
    noise.move_to(time);
    swirls(grid, &Layout::dense(grid.cells), &noise)
}

fn energy<const D: usize>(u: &VectorField<D>) -> f64 {
    u.iter().map(|u| dot(u, u)).sum::<f64>() / u[0].layout().cell_count() as f64
}

/// Of all components together.
fn correlation<const D: usize>(u: &VectorField<D>, v: &VectorField<D>) -> f64 {
    let both: f64 = (0..D).map(|a| dot(&u[a], &v[a])).sum::<f64>() / u[0].layout().cell_count() as f64;
    both / (energy(u) * energy(v)).sqrt()
}

fn has_unit_size<const D: usize>(cells: [usize; D]) {
    for grid in [Grid::<D>::periodic(cells), Grid::walled(cells, Side::Slip)] {
        for time in [0.0, 0.2, 0.8, 123.4] {
            let size = energy(&dense(&grid, 7, time)).sqrt();
            // A box of ten swirls a side holds a sample of them.
            assert!((size - 1.0).abs() < 0.15, "{D}D, {:?}, time {time}: {size}", grid.axes[0]);
        }
    }
}

#[test]
fn swirls_have_unit_root_mean_square_at_all_times() {
    has_unit_size([192, 160]);
    has_unit_size([64, 64, 48]);
}

fn has_no_divergence<const D: usize>(cells: [usize; D], size: [f64; D], allowed: f64) {
    let mut grid = Grid::<D>::periodic(cells);
    grid.spacing = std::array::from_fn(|a| size[a] / cells[a] as f64);
    let u = dense(&grid, 3, 0.3);
    let layout = u[0].layout().clone();
    let (mut div, mut slopes) = (0.0, 0.0);
    for r in 0..layout.rows() {
        let row = layout.row(r);
        for x in 0..cells[0] {
            let slope =
                |a: usize| f64::from(u[a].row(row.up(a))[x] - u[a].row(row.down(a))[x]) / (2.0 * grid.spacing[a]);
            div += (0..D).map(slope).sum::<f64>().powi(2);
            slopes += (0..D).map(|a| slope(a).powi(2)).sum::<f64>();
        }
    }
    let ratio = (div / slopes).sqrt();
    assert!(ratio < allowed, "{D}D: the divergence is {ratio} of the slopes");
}

#[test]
fn swirls_have_no_divergence_but_that_of_differences() {
    // Centred differences are off by (k h)^2 / 6: with the finest octave 10 cells wide, a few per cent.
    has_no_divergence([400, 400], [1.0, 1.0], 0.05);
    has_no_divergence([800, 800], [1.0, 1.0], 0.0125);
    // A whole number of lattice cells does not fit alike along all axes.
    has_no_divergence([400, 500], [1.0, 1.13], 0.05);
    has_no_divergence([120, 112, 80], [0.3, 0.28, 0.2], 0.05);
}

#[test]
fn noise_is_periodic_where_the_box_is() {
    // The cells around a periodic box, which lie on other sides of it, are those that an index beyond it finds.
    let mut grid = Grid::<2>::walled([90, 70], Side::Slip);
    grid.axes[0] = Axis::Periodic;
    let noise = NoiseField::swirls(&grid, 0.3, 1.0, 5);
    let layout = Layout::<2>::dense([90, 70]);
    for r in 0..layout.rows() {
        let row = layout.row(r);
        let (mut here, mut there) = ([0.0; 90], [0.0; 90]);
        noise.add_row(1, row, 0, |_| 1.0, &mut here);
        noise.add_row(1, row, 90, |_| 1.0, &mut there);
        for x in 0..90 {
            // Positions are whole numbers of tiny parts, which do not fit exactly.
            assert!((here[x] - there[x]).abs() < 1e-5, "row {r}, cell {x}: {} and {}", here[x], there[x]);
        }
    }
    let u = dense(&grid, 5, 0.0);
    let v = dense(&Grid::walled([90, 70], Side::Slip), 5, 0.0);
    assert!(correlation(&u, &v) < 0.9, "without the condition the noise is another");
}

fn same_on_box_and_tiles<const D: usize>(width: usize) {
    let n = 3 * width;
    let walled = Grid::<D>::walled([n; D], Side::Slip);
    let unbounded = Grid { axes: [Axis::Unbounded; D], ..walled };
    let on_box = dense(&walled, 11, 0.7);
    let count = 3i32.pow(D as u32);
    let tiles = Layout::<D>::tiles((0..count).map(|t| std::array::from_fn(|a| t / 3i32.pow(a as u32) % 3)));
    let mut noise = NoiseField::swirls(&unbounded, SCALE, 0.5, 11);
    noise.move_to(0.7);
    let on_tiles = swirls(&unbounded, &tiles, &noise);
    for i in 0..n.pow(D as u32) {
        let index: [isize; D] = std::array::from_fn(|a| (i / n.pow(a as u32) % n) as isize);
        for a in 0..D {
            let (b, t) = (on_box[a].get_signed(index), on_tiles[a].get_signed(index));
            assert!(b.to_bits() == t.to_bits(), "{D}D {index:?}: {b} and {t}");
        }
    }
}

#[test]
fn a_box_and_tiles_see_the_same_bits() {
    same_on_box_and_tiles::<2>(32);
    same_on_box_and_tiles::<3>(16);
}

#[test]
fn noise_a_million_cells_away_is_as_smooth_as_at_home() {
    let grid = Grid { axes: [Axis::Unbounded; 3], ..Grid::<3>::walled([128; 3], Side::Slip) };
    let noise = NoiseField::swirls(&grid, SCALE, 1.0, 2);
    let roughness = |tile: [i32; 3]| {
        let layout = Layout::<3>::tiles((0..8).map(|t| [tile[0] + t % 2, tile[1] + t / 2 % 2, tile[2] + t / 4]));
        let u = swirls(&grid, &layout, &noise);
        let mut most: f64 = 0.0;
        for r in 0..layout.rows() {
            let row = u[1].row(layout.row(r));
            for w in row.windows(4) {
                // The third difference along x: about (h / finest scale)^3, and blown up by any jitter of positions.
                most = most.max(f64::from(w[3] - 3.0 * w[2] + 3.0 * w[1] - w[0]).abs());
            }
        }
        (most, energy(&u))
    };
    let home = roughness([0, 0, 0]);
    for far in [[65_000, -65_000, 65_000], [-65_000, 12_345, -40_000]] {
        let (rough, size) = roughness(far);
        assert!(rough < 3.0 * home.0 && size > 0.2 * home.1, "at {far:?}: {rough} {size}, at home {home:?}");
    }
}

#[test]
fn another_seed_is_another_noise() {
    let grid = Grid::<2>::walled([300, 300], Side::Slip);
    let u = dense(&grid, 1, 0.1);
    for seed in [2, 3, 1 << 40, u64::MAX] {
        // Some nine hundred independent swirls.
        let same = correlation(&u, &dense(&grid, seed, 0.1));
        assert!(same.abs() < 0.15, "seed {seed}: correlation {same}");
    }
    assert!((correlation(&u, &dense(&grid, 1, 0.1)) - 1.0).abs() < 1e-9);
}

#[test]
fn noise_changes_smoothly_and_forgets_within_the_time_it_lasts() {
    let grid = Grid::<2>::periodic([256, 256]);
    let at = |time: f64| dense(&grid, 4, time);
    // It lasts half a second. Moments on both sides of a knot, and between knots.
    for time in [0.1, 0.499, 0.5, 0.9999] {
        let same = correlation(&at(time), &at(time + 0.001));
        // The cosine of a five hundredth of a quarter turn.
        assert!(same > 0.9999, "from {time} s: {same}");
    }
    let later = correlation(&at(0.2), &at(1.3));
    assert!(later.abs() < 0.15, "after two times as long as it lasts: {later}");
    // The same moment is the same noise, whatever came before.
    let mut noise = NoiseField::swirls(&grid, SCALE, 0.5, 4);
    for time in [3.0, 0.2, 7.7, 0.9] {
        noise.move_to(time);
    }
    let (u, v) = (swirls(&grid, &Layout::dense(grid.cells), &noise), at(0.9));
    assert!((0..256 * 256).all(|i| u[0].get([i % 256, i / 256]) == v[0].get([i % 256, i / 256])));
}

/// Correlation of a field with itself, `by` cells further along `a`.
fn with_itself<const D: usize>(u: &Field<D>, a: usize, by: usize) -> f64 {
    let cells = u.cells();
    let (mut both, mut one) = (0.0, 0.0);
    let count: usize = cells.iter().product();
    for i in 0..count {
        let mut rest = i;
        let mut index: [usize; D] = std::array::from_fn(|b| {
            let at = rest % cells[b];
            rest /= cells[b];
            at
        });
        let here = f64::from(u.get(index));
        if index[a] + by < cells[a] {
            index[a] += by;
            both += here * f64::from(u.get(index));
            one += here * here;
        }
    }
    both / one
}

#[test]
fn nothing_repeats_within_many_swirls() {
    // Thirty swirls of eight cells along each axis; in 3D along one.
    let grid = Grid::<2>::walled([240, 240], Side::Slip);
    let mut noise = NoiseField::swirls(&grid, 8.0 / 240.0, 1.0, 6);
    noise.move_to(0.5);
    let u = swirls(&grid, &Layout::dense(grid.cells), &noise);
    for (a, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        for by in 24..128 {
            let same = with_itself(&u[c], a, by);
            // Chance alone makes some hundredths.
            assert!(same.abs() < 0.15, "2D: component {c}, {by} cells along {a}: {same}");
        }
    }
    let grid = Grid::<3>::walled([160, 40, 40], Side::Slip);
    let noise = NoiseField::swirls(&grid, 6.0 / 160.0, 1.0, 6);
    let u = swirls(&grid, &Layout::dense(grid.cells), &noise);
    for by in 18..96 {
        let same = with_itself(&u[1], 0, by);
        assert!(same.abs() < 0.15, "3D: {by} cells: {same}");
    }
}

#[test]
fn the_lattice_cannot_be_seen() {
    // The mean square over all rows that lie alike on the lattice is that of all others. Lattice cells of the first octave
    // are 0.55 scales wide: 16 cells of the grid; 128 of them.
    let n = 2048;
    let grid = Grid::<2>::walled([n, 64], Side::Slip);
    let scale = 16.0 / 0.55 / n as f64;
    let noise = NoiseField::swirls(&grid, scale, 1.0, 9);
    let u = swirls(&grid, &Layout::dense(grid.cells), &noise);
    for u in &u {
        let mut squares = [0.0; 16];
        for (x, y) in (0..64).flat_map(|y| (0..n).map(move |x| (x, y))) {
            squares[x % 16] += f64::from(u.get([x, y])).powi(2);
        }
        let mean = squares.iter().sum::<f64>() / 16.0;
        let contrast = squares.iter().map(|s| (s / mean - 1.0).abs()).fold(0.0, f64::max);
        // Gradient noise, which is zero at its nodes, has a contrast of one half and more.
        assert!(contrast < 0.3, "{contrast}");
    }
}

#[test]
fn scalar_noise_fills_the_range_from_minus_one_to_one_and_never_leaves_it() {
    let grid = Grid::<2>::walled([400, 400], Side::Slip);
    let mut noise = NoiseField::scalar(&grid, 0.03, 1.0, 8);
    for time in [0.0, 0.5, 3.3] {
        noise.move_to(time);
        let f = spots(&grid, &noise);
        let cells = grid.cell_count() as f64;
        let (mean, rms) = (sum(&f) / cells, (dot(&f, &f) / cells).sqrt());
        assert!(max_abs(&f) <= 1.0 && max_abs(&f) > 0.8, "most {}", max_abs(&f));
        assert!(mean.abs() < 0.05 && (0.3..0.45).contains(&rms), "mean {mean}, root mean square {rms}");
    }
}

#[test]
fn noise_wider_than_the_box_or_finer_than_its_cells_is_still_noise() {
    for scale in [1e-9, 1e-3, 10.0, 1e9] {
        for axes in [[Axis::Periodic; 2], [Axis::Unbounded; 2]] {
            let grid = Grid { axes, ..Grid::<2>::periodic([50, 3]) };
            let noise = NoiseField::swirls(&grid, scale, 1e-9, 1);
            let layout = Layout::dense(grid.cells);
            let (mut u, mut most) = ([[0.0; 50]; 2], 0.0f32);
            let [x, y] = &mut u;
            noise.add_rows(layout.row(1), |_| 1.0, [x, y]);
            u.iter().flatten().for_each(|u| most = most.max(u.abs()));
            assert!(most.is_finite() && most < 10.0, "{scale}: {most}");
            if axes[0] == Axis::Periodic {
                assert!(most > 1e-3, "{scale}: {most}");
            }
        }
    }
}

#[test]
fn an_emitter_that_flickers_fully_has_dark_and_bright_spots_of_the_size_it_was_told() {
    let grid = Grid::<2>::periodic([200, 200]);
    let layout = Layout::dense(grid.cells);
    let emit = |supply: Supply, amount: Option<f32>, steps: usize| {
        let mut u: VectorField<2> =
            std::array::from_fn(|a| Field::on(&layout, At::Center, grid.velocity_ends(a)).expect("memory"));
        let mut smoke = [Substance::new(&grid, "smoke").expect("memory")];
        let mut emitter = Emitter {
            supply: vec![(0, supply)],
            flicker: amount.map(|amount| Flicker::new(&grid, amount, SCALE, 0.2, 4)),
            ..Emitter::new(Box::new(Sphere { center: [0.5; 2], radius: 5.0 }))
        };
        for step in 0..steps {
            emitter.apply(&grid, Moment::whole(0.01 * step as f64, 0.01), &mut u, &mut smoke);
        }
        smoke[0].field.clone()
    };
    // Held for many steps, so that it is what is held and not how fast.
    for (supply, full) in [(Supply::Hold(2.0), 2.0), (Supply::Rate(2.0), 0.1)] {
        let steps = if full == 2.0 { 30 } else { 5 };
        let f = emit(supply, Some(1.0), steps);
        let part = |test: &dyn Fn(f32) -> bool| {
            let cells = (0..200 * 200).filter(|i| test(f.get([i % 200, i / 200]))).count();
            cells as f64 / 40_000.0
        };
        let (dark, bright) = (part(&|v| v < 0.05 * full), part(&|v| v > 0.95 * full));
        assert!(dark > 0.12 && bright > 0.12, "{supply:?}: {dark} dark, {bright} bright");
        assert!(part(&|v| (0.0..=1.0001 * full).contains(&v)) == 1.0);
        // Without its mean, a spot has nothing to do with what lies half its size and more away.
        let mean = sum(&f) / 40_000.0;
        let mut spots = f.clone();
        spots.par_rows(|_, v| v.iter_mut().for_each(|v| *v -= mean as f32));
        let (close, far) = (with_itself(&spots, 0, 4), with_itself(&spots, 0, 20));
        assert!(close > 0.6 && far < 0.3, "{supply:?}: {close} a fifth of the size away, {far} the size away");

        let half = emit(supply, Some(0.5), steps);
        assert!((0..40_000).all(|i| half.get([i % 200, i / 200]) >= 0.4999 * full), "half is left between the spots");
        let steady = emit(supply, None, steps);
        assert!((0..40_000).all(|i| (steady.get([i % 200, i / 200]) - full).abs() < 1e-4));
    }
}

#[test]
fn any_number_of_threads_makes_the_same_noise() {
    let grid = Grid::<3>::walled([48; 3], Side::Slip);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut values = Vec::new();
        pool.install(|| dense(&grid, 5, 0.4))[2].copy_to(&mut values);
        values
    };
    assert!(on(1) == on(3));
}

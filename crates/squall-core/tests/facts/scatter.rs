//! Loops over tiles, and sums of what particles contribute to the grid.

use squall_core::layout::tile_width;
use squall_core::scatter::Scatter;
use squall_core::tiles::for_each_tile;
use squall_core::{At, Ends, Field, Layout, ops};

use crate::common::{Random, values};

/// Places in cells, each with its mass, in a box of cells.
fn particles<const D: usize>(count: usize, low: [f64; D], high: [f64; D], seed: u64) -> Vec<([f32; D], f32)> {
    let mut random = Random::new(seed);
    let mut next = |low: f64, high: f64| (low + (0.5 + 0.5 * random.next()) * (high - low)) as f32;
    (0..count).map(|_| (std::array::from_fn(|a| next(low[a], high[a])), next(0.5, 1.5))).collect()
}

/// The three places along an axis that a quadratic B-spline reaches from `x` (in units of cells, from the first value on), and its
/// weights there.
fn spline(x: f32) -> (isize, [f32; 3]) {
    let near = (x + 0.5).floor();
    let d = x - near;
    (near as isize - 1, [0.5 * (0.5 - d) * (0.5 - d), 0.75 - d * d, 0.5 * (0.5 + d) * (0.5 + d)])
}

/// Calls `f` with the index of each first place of a row of three, and their weights.
fn each_row<const D: usize>(at: At, place: [f32; D], mass: f32, mut f: impl FnMut([isize; D], [f32; 3])) {
    let along: [_; D] = std::array::from_fn(|a| spline(if at.on_lower_side(a) { place[a] } else { place[a] - 0.5 }));
    for r in 0..3usize.pow(D as u32 - 1) {
        let (mut index, mut weight, mut rest) = (along.map(|(first, _)| first), mass, r);
        for a in 1..D {
            index[a] += (rest % 3) as isize;
            weight *= along[a].1[rest % 3];
            rest /= 3;
        }
        f(index, along[0].1.map(|w| w * weight));
    }
}

/// Adds particles to a field, tile by tile; each has the order of the list.
fn scattered<const D: usize>(
    layout: &Layout<D>,
    at: At,
    ends: [Ends; D],
    all: &[([f32; D], f32)],
    threads: usize,
) -> Field<D> {
    let mut of_tile = vec![Vec::new(); layout.tile_count()];
    for &(place, mass) in all {
        if let Some(tile) = layout.tile_of(place.map(|x| x.floor() as isize)) {
            of_tile[tile].push((place, mass));
        }
    }
    let mut field = Field::on(layout, at, ends).unwrap();
    let mut scatter = Scatter::new(2);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    // Twice: what the first use left behind must not matter.
    for _ in 0..2 {
        field.fill(0.0);
        let added = pool.install(|| {
            scatter.add([&mut field], |tile, [window]| {
                for &(place, mass) in &of_tile[tile.number] {
                    each_row(at, place, mass, |index, weights| {
                        window.row(index, 3).iter_mut().zip(weights).for_each(|(out, w)| *out += w);
                    });
                }
            })
        });
        added.unwrap();
    }
    field
}

const AT_3D: [At; 6] = [At::Center, At::Face(0), At::Face(1), At::Face(2), At::Edge(1), At::Node];

fn keeps_the_mass<const D: usize>(cells: [usize; D], at: At) {
    let all = particles(300, [0.0; D], cells.map(|n| n as f64 * 0.999), 7);
    let mass: f64 = all.iter().map(|p| f64::from(p.1)).sum();
    let layout = Layout::dense(cells);
    let field = scattered(&layout, at, [Ends::Periodic; D], &all, 2);
    // Sums of 300 particles in single precision, of some ten contributions per cell.
    assert!((ops::sum(&field) / mass - 1.0).abs() < 1e-6, "{cells:?} {at:?}: {} of {mass}", ops::sum(&field));
    // Against sums in double precision, place by place.
    let mut exact = vec![0.0; cells.iter().product()];
    for &(place, mass) in &all {
        each_row(at, place, mass, |index, weights| {
            for (x, w) in weights.into_iter().enumerate() {
                let mut index = index;
                index[0] += x as isize;
                let wrapped = |a: usize| index[a].rem_euclid(cells[a] as isize) as usize;
                exact[(0..D).rev().fold(0, |n, a| n * cells[a] + wrapped(a))] += f64::from(w);
            }
        });
    }
    let largest = exact.iter().copied().fold(0.0, f64::max);
    for (found, exact) in values(&field).into_iter().zip(exact) {
        // In the smallest boxes hundreds of particles meet in one place: as many roundings.
        assert!((f64::from(found) - exact).abs() < 1e-5 * largest, "{cells:?} {at:?}: {found}, {exact}");
    }
}

#[test]
fn the_mass_of_particles_is_kept_in_periodic_boxes_of_any_size() {
    for at in [At::Center, At::Face(0), At::Face(1), At::Node] {
        for cells in [[64, 96], [33, 40], [65, 1], [5, 2], [100, 63]] {
            keeps_the_mass(cells, at);
        }
    }
    for at in AT_3D {
        for cells in [[32, 16, 48], [17, 5, 20], [1, 2, 33]] {
            keeps_the_mass(cells, at);
        }
    }
}

/// Tiles that cover a box, between its sides.
fn covered<const D: usize>(cells: [usize; D]) -> Layout<D> {
    let counts = cells.map(|n| (n / tile_width::<D>()) as i32);
    let coords = (0..counts.iter().product::<i32>()).map(|mut n| {
        counts.map(|count| {
            let c = n % count;
            n /= count;
            c
        })
    });
    Layout::tiles_within(coords, counts.map(|count| [Some(0), Some(count)]))
}

fn tiles_are_like_the_box<const D: usize>(cells: [usize; D], at: At) {
    // Up to the sides: what reaches beyond them is dropped in both.
    let all = particles(2000, [0.0; D], cells.map(|n| n as f64 * 0.999), 3);
    let dense = scattered(&Layout::dense(cells), at, [Ends::FLAT; D], &all, 2);
    let tiled = scattered(&covered(cells), at, [Ends::FLAT; D], &all, 2);
    // Last faces and nodes included.
    let ends: [usize; D] = std::array::from_fn(|a| cells[a] + at.on_lower_side(a) as usize);
    let mut sum = 0.0;
    for mut n in 0..ends.iter().product::<usize>() {
        let index = ends.map(|end| {
            let i = n % end;
            n /= end;
            i as isize
        });
        let (a, b) = (dense.get_signed(index), tiled.get_signed(index));
        assert!(a.to_bits() == b.to_bits(), "{at:?} {index:?}: {a} in the box, {b} on tiles");
        sum += f64::from(a);
    }
    let mass: f64 = all.iter().map(|p| f64::from(p.1)).sum();
    assert!(sum > 0.9 * mass && sum <= 1.0001 * mass, "{sum} of {mass}");
}

#[test]
fn a_box_covered_by_tiles_gets_the_same_sums_to_the_bit() {
    for at in [At::Center, At::Face(0), At::Face(1), At::Edge(0), At::Node] {
        tiles_are_like_the_box([96, 64], at);
    }
    for at in AT_3D {
        tiles_are_like_the_box([32, 16, 48], at);
    }
}

#[test]
fn tiles_around_the_particles_are_enough() {
    let low = [34.5, 3.0, 17.0];
    let all = particles(500, low, [47.0, 14.0, 30.0], 5);
    let dense = scattered(&Layout::dense([64, 16, 48]), At::Face(1), [Ends::FLAT; 3], &all, 1);
    // One tile with particles, and one of those beside; what reaches where no tile is, is dropped.
    let tiles = Layout::tiles([[2, 0, 1], [1, 0, 1]]);
    let sparse = scattered(&tiles, At::Face(1), [Ends::Unbounded(0.0); 3], &all, 1);
    let mut written = 0;
    for tile in (0..2).map(|t| tiles.tile(t)) {
        for row in tile.rows() {
            for x in 0..16 {
                let mut index = tile.first;
                index[0] += x;
                (1..3).for_each(|a| index[a] += row[a] as isize);
                assert!(dense.get_signed(index).to_bits() == sparse.get_signed(index).to_bits(), "{index:?}");
                written += usize::from(sparse.get_signed(index) != 0.0);
            }
        }
    }
    assert!(written > 1000, "{written} places");
}

#[test]
fn sums_are_the_same_bits_on_any_number_of_threads() {
    let (dense, tiled) = (Layout::dense([40, 33, 50]), covered([32, 48, 16]));
    for (layout, ends) in [(dense, [Ends::Periodic; 3]), (tiled, [Ends::FLAT; 3])] {
        let all = particles(3000, [0.0; 3], [31.9, 32.9, 15.9], 11);
        let one = scattered(&layout, At::Node, ends, &all, 1);
        for threads in [2, 3, 7] {
            assert!(values(&one) == values(&scattered(&layout, At::Node, ends, &all, threads)), "{threads} threads");
        }
    }
}

#[test]
fn several_fields_at_one_place_are_added_to_at_once_and_keep_what_they_held() {
    let layout = Layout::dense([40, 40]);
    let new = || Field::<2>::on(&layout, At::Center, [Ends::FLAT; 2]).unwrap();
    let (mut mass, mut momentum) = (new(), new());
    mass.fill(1.0);
    let added = Scatter::new(1).add([&mut mass, &mut momentum], |tile, [mass, momentum]| {
        if tile.contains([31, 5]) {
            *mass.value([32, 5]) += 2.0;
            *momentum.value([31, 5]) += 3.0;
        }
    });
    added.unwrap();
    assert_eq!((mass.get([32, 5]), mass.get([31, 5]), mass.get([0, 39])), (3.0, 1.0, 1.0));
    assert_eq!((momentum.get([31, 5]), ops::sum(&momentum)), (3.0, 3.0));
}

#[test]
fn tiles_are_visited_once_each_with_their_own_cells() {
    fn visit<const D: usize>(layout: &Layout<D>) {
        let number = |index: [isize; D]| index.iter().fold(1.0, |n: f32, &i| 64.0 * n + i as f32);
        let mut found = Field::<D>::on(layout, At::Center, [Ends::Unbounded(0.0); D]).unwrap();
        let mut owner = Field::like(&found).unwrap();
        for_each_tile([&mut found, &mut owner], |tile, [mut found, mut owner]| {
            for row in tile.rows() {
                let mut index = tile.first;
                (1..D).for_each(|a| index[a] += row[a] as isize);
                for (x, out) in found.row(row).iter_mut().enumerate() {
                    let mut index = index;
                    index[0] += x as isize;
                    *out += number(index);
                }
                owner.row(row).fill(tile.number as f32);
            }
        });
        owner.par_tiles(|_, mut owner| *owner.value([0; D]) += 0.0);
        for r in 0..layout.rows() {
            let row = layout.row(r);
            for (x, v) in found.row(row).iter().enumerate() {
                let mut index = row.index;
                index[0] += x as isize;
                assert_eq!(*v, number(index), "{index:?}");
                let tile = layout.tile_of(index).unwrap();
                assert!(layout.tile(tile).contains(index) && owner.get_signed(index) == tile as f32, "{index:?}");
            }
        }
    }
    visit(&Layout::dense([50, 33]));
    visit(&Layout::dense([20, 5, 40]));
    visit(&Layout::<2>::tiles([[0, 0], [3, 1], [-1, 2]]));
    visit(&covered([32, 16, 16]));
}

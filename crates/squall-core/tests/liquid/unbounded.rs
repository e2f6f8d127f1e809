//! Liquids on tiles that follow them.

use super::moving::tape;
use super::{GRAVITY, mean, positions, run};
use squall_core::force::Uniform;
use squall_core::layout::tile_width;
use squall_core::model::Model;
use squall_core::model::liquid::{Blob, Liquid, Opening, Options, Spout, Zone};
use squall_core::shape::{Cuboid, Sphere};
use squall_core::solid::{Boundary, Obstacle, Solids};
use squall_core::{At, Axis, Field, Grid, Layout, Side, Simulation};
use std::sync::Arc;

fn falling<const D: usize>(cells: [usize; D], h: f64, axes: [Axis<D>; D]) -> Liquid<D> {
    let grid = Grid::<D>::new(cells, cells.map(|n| n as f64 * h), axes);
    // As exact as single precision allows: what is compared is all but the solver.
    let mut liquid = Liquid::new(grid, Options { tolerance: 1e-6, ..Options::default() }).unwrap();
    let mut down = [0.0; D];
    down[1] = -GRAVITY as f32;
    liquid.flow.forces.push(Box::new(Uniform(down)));
    liquid
}

fn walls<const D: usize>() -> Axis<D> {
    Axis::Bounded { lo: Side::Slip, hi: Side::Slip }
}

/// A floor and nothing above it.
fn floor<const D: usize>() -> Axis<D> {
    Axis::Bounded { lo: Side::Slip, hi: Side::Unbounded }
}

fn tiles<const D: usize>(liquid: &Liquid<D>) -> usize {
    liquid.flow.layout().tile_count()
}

#[test]
fn a_splash_on_tiles_is_that_in_a_box() {
    fn compare<const D: usize>(cells: [usize; D], inside: impl Fn([f64; D]) -> bool + Copy, steps: usize) {
        let h = 1.0 / 32.0;
        let mut boxed = falling(cells, h, [walls(); D]);
        let mut axes = [walls(); D];
        axes[1] = floor();
        let mut tiled = falling(cells, h, axes);
        tiled.cover(cells.map(|n| 0..n as isize)).unwrap();
        for liquid in [&mut boxed, &mut tiled] {
            liquid.fill(1, inside, |_| [0.0; D]);
            liquid.start().unwrap();
        }
        for step in 0..steps {
            // The same steps: the fastest face may be one that the other does not have.
            let dt = Model::longest_step(&boxed, 1.0).min(1.0 / 60.0);
            boxed.step(dt).unwrap();
            tiled.step(dt).unwrap();
            let (mut a, mut b): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
            for (liquid, all) in [(&boxed, &mut a), (&tiled, &mut b)] {
                all.extend(liquid.particles.iter().map(|(_, p)| p.id).zip(positions(liquid)));
                all.sort_by_key(|p| p.0);
            }
            assert_eq!(a.len(), b.len());
            let mut apart = 0.0f64;
            for (a, b) in a.iter().zip(&b) {
                assert_eq!(a.0, b.0);
                (0..D).for_each(|k| apart = apart.max((a.1[k] - b.1[k]).abs() / h));
            }
            // The pressure is found to 1e-6, from other coarse levels; a splash lets differences grow.
            let most = if step < 10 { 2e-5 } else { 5e-3 };
            assert!(apart < most, "step {step}: {apart} cells apart");
        }
    }
    compare([64, 96], |x: [f64; 2]| x[0] < 0.6 && x[1] < 1.3, 60);
    compare([32, 48, 32], |x: [f64; 3]| x[0] < 0.4 && x[1] < 0.6, 25);
}

/// A drop above a floor, moving to one side.
fn splash() -> Liquid<2> {
    let mut liquid = falling([32, 32], 1.0 / 32.0, [Axis::Unbounded, floor()]);
    let drop = Sphere { center: [0.5, 0.35], radius: 0.2 };
    liquid.blobs.push(Blob::at(0.0, Box::new(drop), [1.0, -3.0]));
    liquid
}

#[test]
fn a_splash_far_from_the_origin_is_the_same_to_the_bit() {
    // Where particles begin depends on their cells: so they are copied. 62 tiles are 1984 cells, 125 are 2000.
    fn compare<const D: usize>(radius: isize, steps: usize) {
        let shift = 2000 / tile_width::<D>() as isize * tile_width::<D>() as isize;
        let place = |a: usize, far: bool| if a != 1 && far { shift } else { 0 };
        let mut both = [false, true].map(|far| {
            let mut axes = [Axis::Unbounded; D];
            axes[1] = floor();
            let mut liquid = falling([32; D], 1.0 / 32.0, axes);
            liquid.cover(std::array::from_fn(|a| place(a, far)..place(a, far) + 2 * radius)).unwrap();
            let mut new = Vec::new();
            for i in 0..(2 * radius).pow(D as u32) {
                let cell: [isize; D] = std::array::from_fn(|a| i / (2 * radius).pow(a as u32) % (2 * radius));
                if cell.iter().map(|c| (c - radius).pow(2)).sum::<isize>() > radius * radius {
                    continue;
                }
                for k in 0..1 << D {
                    let within = std::array::from_fn(|a| 0.2 + 0.5 * (k >> a & 1) as f32 + 0.01 * ((i + k) % 7) as f32);
                    new.push((std::array::from_fn(|a| cell[a] + place(a, far)), within));
                }
            }
            let mut velocity = [0.5; D];
            velocity[1] = -2.0;
            liquid.particles.extend(new, |_, _, _| velocity);
            liquid.start().unwrap();
            liquid
        });
        for step in 0..steps {
            let dt = Model::longest_step(&both[0], 2.0).min(0.02);
            assert_eq!(dt, Model::longest_step(&both[1], 2.0).min(0.02), "step {step}");
            both.iter_mut().for_each(|liquid| drop(liquid.step(dt).unwrap()));
            let [near, far] = both.each_ref().map(|liquid| liquid.particles.iter());
            assert_eq!(both[0].particles.len(), both[1].particles.len());
            for ((first, p), (other, q)) in near.zip(far) {
                assert_eq!(p, q, "step {step}");
                assert!((0..D).all(|a| other[a] - first[a] == place(a, true)));
            }
        }
        assert!(tiles(&both[0]) > 3);
    }
    compare::<2>(9, 60);
    compare::<3>(7, 30);
}

#[test]
fn a_restored_splash_on_tiles_goes_on_to_the_same_bits() {
    let mut whole = splash();
    run(&mut whole, 0.1, 1.0, |_, _| {});
    let mut kept = tape(&mut whole);
    kept.restoring = true;
    let mut other = splash();
    Simulation::visit_state(&mut other, &mut kept);
    let mut changed = 0;
    for _ in 0..50 {
        let dt = Model::longest_step(&whole, 2.0).min(0.02);
        assert_eq!(dt, Model::longest_step(&other, 2.0).min(0.02));
        let before = whole.flow.layout().clone();
        whole.step(dt).unwrap();
        other.step(dt).unwrap();
        changed += usize::from(whole.flow.layout() != &before);
    }
    assert!(changed > 2, "tiles have to come and go: {changed}");
    let (a, b) = (tape(&mut whole), tape(&mut other));
    assert!(a.numbers == b.numbers && a.arrays == b.arrays);
}

#[test]
fn a_splash_on_tiles_is_the_same_on_any_number_of_threads() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut liquid = falling([16; 3], 1.0 / 16.0, [Axis::Unbounded, floor(), Axis::Unbounded]);
            let drop = Sphere { center: [0.5, 0.5, 0.5], radius: 0.3 };
            liquid.blobs.push(Blob::at(0.0, Box::new(drop), [0.0, -2.0, 0.0]));
            run(&mut liquid, 0.3, 2.0, |_, _| {});
            assert!(tiles(&liquid) >= 8, "{}", tiles(&liquid));
            let tape = tape(&mut liquid);
            (tape.numbers, tape.arrays)
        })
    };
    let one = on(1);
    assert!(one == on(2));
}

#[test]
fn water_at_rest_between_walls_stays_at_rest_on_tiles() {
    // As in a box: what moves is as slow as what falls by a thousandth of a cell.
    fn rests<const D: usize>(cells: [usize; D], axes: [Axis<D>; D], seconds: f64) {
        let h = 1.0 / 32.0;
        let mut pool = falling(cells, h, axes);
        pool.cover(cells.map(|n| 0..n as isize)).unwrap();
        pool.fill(1, |x| x[1] < 0.43, |_| [0.0; D]);
        let fall = (2.0 * GRAVITY * h).sqrt();
        let mut most = 0.0f64;
        run(&mut pool, seconds, 1.0, |liquid, report| {
            if liquid.flow.time() > 0.5 * seconds {
                most = most.max((2.0 * report.energy / liquid.volumes()[0]).sqrt() / fall);
            }
        });
        assert!(most < 0.03, "{D}D: {most}");
        // Between two depths, over the whole width.
        let p = pool.flow.pressure();
        let mut sums = [0.0; 2];
        let (mut index, mut count) = ([0; D], 0);
        while index[D - 1] < cells[D - 1] {
            for (sum, y) in sums.iter_mut().zip([2, 10]) {
                index[1] = y;
                *sum += f64::from(p.get(index));
            }
            count += 1;
            index[1] = 0;
            index[0] += 1;
            if D == 3 && index[0] == cells[0] {
                index[0] = 0;
                index[D - 1] += 1;
            } else if D == 2 && index[0] == cells[0] {
                break;
            }
        }
        let slope = (sums[0] - sums[1]) / (8.0 * h * count as f64);
        assert!((slope / GRAVITY - 1.0).abs() < 0.01, "{D}D: {slope}");
        // As many tiles as it takes to hold the water and the margin above it: one layer.
        let wide: usize = (0..D).filter(|&a| a != 1).map(|a| cells[a] / tile_width::<D>()).product();
        assert!(tiles(&pool) <= 2 * wide, "{} tiles", tiles(&pool));
    }
    rests([64, 32], [walls(), floor()], 1.5);
    rests([32, 16, 32], [walls(), floor(), walls()], 0.6);
}

#[test]
fn a_drop_that_falls_for_ever_keeps_its_momentum_and_its_cost() {
    let h = 1.0 / 32.0;
    let mut drop = falling([16; 3], h, [Axis::Unbounded; 3]);
    drop.blobs.push(Blob::at(0.0, Box::new(Sphere { center: [0.25; 3], radius: 0.15 }), [0.4, 0.0, 0.0]));
    drop.start().unwrap();
    let (count, volume) = (drop.particles.len(), drop.volumes()[1]);
    let (mut most, mut cells) = (0, 0.0f64);
    run(&mut drop, 1.0, 4.0, |liquid, report| {
        most = most.max(tiles(liquid));
        cells = report.cells as f64;
    });
    let place = mean(&drop, |x| x[1]);
    assert!(place < -4.0, "150 cells further down: {place}");
    let [sideways, down, _] = drop.momentum().map(|m| m / drop.volumes()[0]);
    assert!((down / (-GRAVITY * 1.0) - 1.0).abs() < 1e-4, "{down}");
    assert!((sideways / 0.4 - 1.0).abs() < 1e-4, "{sideways}");
    assert_eq!(drop.particles.len(), count);
    // Five cells of radius, of which a sixtieth of a cell is a hundredth of the volume. (It was drawn together, and lost seven.)
    assert!((drop.volumes()[1] / volume - 1.0).abs() < 0.01, "{}", drop.volumes()[1] / volume);
    // Ten cells and a margin of up to eight on each side meet two or three tiles along each axis; those behind wait for three steps.
    assert!(most <= 36 && cells <= 36.0 * 4096.0, "{most} tiles");
}

#[test]
fn a_drop_of_five_cells_keeps_the_volume_that_it_encloses() {
    let h = 1.0 / 32.0;
    let mut drop = falling([16; 3], h, [Axis::Unbounded; 3]);
    drop.blobs.push(Blob::at(0.0, Box::new(Sphere { center: [0.25, 0.26, 0.245], radius: 2.5 * h }), [0.1, 0.0, 0.0]));
    drop.start().unwrap();
    let volume = drop.volumes()[1];
    // Where it lies between the cells changes what is found by 2 hundredths; it lost 12 when it was drawn together.
    run(&mut drop, 1.3, 2.0, |liquid, _| {
        let kept = liquid.volumes()[1] / volume;
        assert!((kept - 1.0).abs() < 0.04, "{kept} after {} s", liquid.flow.time());
    });
}

#[test]
fn nothing_is_lost_but_through_open_sides() {
    let mut spreading = splash();
    spreading.start().unwrap();
    let count = spreading.particles.len();
    run(&mut spreading, 1.5, 2.0, |_, _| {});
    assert_eq!(spreading.particles.len(), count);
    let far = positions(&spreading).iter().map(|x| x[0]).fold(0.0, f64::max);
    assert!(far > 3.0, "it has left what is looked at: {far}");
    assert!(positions(&spreading).iter().all(|x| x[1] > 0.0));

    // The floor ends, and behind its end everything vanishes.
    let edge = Axis::Bounded { lo: Side::Unbounded, hi: Side::Open };
    let mut liquid = falling([64, 32], 1.0 / 32.0, [edge, floor()]);
    liquid.blobs.push(Blob::at(0.0, Box::new(Cuboid::between([0.8, 0.0], [1.4, 0.3])), [1.0, 0.0]));
    liquid.start().unwrap();
    let count = liquid.particles.len();
    let mut sides = 0.0;
    run(&mut liquid, 1.0, 2.0, |_, report| sides += report.ledger.substances[0].sides);
    let lost = count - liquid.particles.len();
    assert!(lost > count / 4 && lost < count, "{lost} of {count} have left");
    let volume = (1.0f64 / 32.0).powi(2) / 4.0;
    assert!((sides + lost as f64 * volume).abs() < 1e-9, "the ledger knows of them");
    assert!(positions(&liquid).iter().all(|x| x[0] < 2.0));
}

#[test]
fn liquid_appears_where_no_tiles_are_yet() {
    let h = 1.0 / 32.0;
    let mut liquid = falling([32, 32], h, [Axis::Unbounded; 2]);
    liquid.flow.forces.clear();
    // A spout that is far from everything, a drop later and elsewhere, and a zone that is kept full.
    let spout = Arc::new(Spout::new([-6.0, 4.0], [0.0, 1.0], Opening::Disc(0.1), Arc::new(|_| 1.0)));
    liquid.flow.set_obstacles(vec![spout.nozzle(2.0 * h)], Boundary::CutCells).unwrap();
    liquid.spouts.push(spout);
    let drop = Sphere { center: [5.0, -3.0], radius: 0.2 };
    liquid.blobs.push(Blob::at(0.11, Box::new(drop), [0.0, 0.0]));
    liquid.zones.push(Zone {
        fills: true,
        velocity: Some(Box::new(|_| [0.0; 2])),
        on: Box::new(|t| t > 0.05),
        ..Zone::at(Box::new(Cuboid::between([2.0, 8.0], [2.25, 8.25])))
    });
    run(&mut liquid, 0.3, 1.0, |_, _| {});
    let near =
        |x: [f64; 2], r: f64| positions(&liquid).iter().filter(|p| (p[0] - x[0]).hypot(p[1] - x[1]) < r).count() as f64;
    let per_area = 4.0 / (h * h);
    // A sheet more or less comes out of the spout.
    assert!((near([-6.0, 4.15], 0.5) / (0.2 * 0.3 * per_area) - 1.0).abs() < 0.06, "{}", near([-6.0, 4.15], 0.5));
    // Points of a lattice in a circle of six cells.
    assert!((near([5.0, -3.0], 0.3) / (std::f64::consts::PI * 0.04 * per_area) - 1.0).abs() < 0.05);
    assert!((near([2.125, 8.125], 0.4) / (0.0625 * per_area) - 1.0).abs() < 0.05);
    assert!(tiles(&liquid) <= 3 * 4, "{} tiles: each has its own few", tiles(&liquid));
}

#[test]
fn nothing_gets_into_a_ball_on_a_floor_without_walls() {
    let mut dam = falling([32; 3], 1.0 / 32.0, [Axis::Unbounded, floor(), Axis::Unbounded]);
    let ball = Sphere { center: [0.8, 0.15, 0.5], radius: 0.15 };
    dam.flow.set_obstacles(vec![Obstacle::new("ball", Box::new(ball))], Boundary::CutCells).unwrap();
    dam.blobs.push(Blob::at(0.0, Box::new(Cuboid::between([0.2, 0.0, 0.3], [0.6, 0.5, 0.7])), [0.5, 0.0, 0.0]));
    dam.start().unwrap();
    let count = dam.particles.len();
    run(&mut dam, 0.4, 2.0, |liquid, report| {
        assert!(report.pressure.converged, "{:?}", report.pressure);
        for x in positions(liquid) {
            let d = ((x[0] - 0.8).powi(2) + (x[1] - 0.15).powi(2) + (x[2] - 0.5).powi(2)).sqrt() - 0.15;
            // Distances between cell centres are interpolated.
            assert!(d > -0.02 / 32.0, "{d} inside the ball at {x:?}");
        }
    });
    assert_eq!(dam.particles.len(), count);
}

#[test]
fn solids_on_tiles_that_came_and_went_are_those_of_tiles_made_at_once() {
    let grid = Grid::<2>::new([32, 32], [1.0, 1.0], [Axis::Unbounded, floor()]);
    let obstacles = || {
        let ball = Sphere { center: [1.02, 0.97], radius: 0.3 };
        let wall = Cuboid::between([0.2, -1.0], [2.3, 0.11]);
        vec![Obstacle::new("ball", Box::new(ball)), Obstacle::new("wall", Box::new(wall))]
    };
    let layout = |coords: &[[i32; 2]]| Layout::tiles_within(coords.iter().copied(), grid.tile_bounds());
    let sets =
        [vec![[0, 0], [1, 0], [1, 1]], vec![[0, 0], [0, 1], [1, 1], [2, 0]], vec![[0, 0], [0, 1], [1, 0], [2, 0]]];
    let mut moved = Solids::on(&layout(&sets[0]), &grid, obstacles(), Boundary::CutCells).unwrap();
    moved.update(&grid, 0.0);
    for set in &sets[1..] {
        moved.move_to(&layout(set), &grid).unwrap();
        moved.update(&grid, 0.0);
        let mut anew = Solids::on(&layout(set), &grid, obstacles(), Boundary::CutCells).unwrap();
        anew.update(&grid, 0.0);
        let fields = |solids: &mut Solids<2>| {
            let mut all = vec![solids.distance().clone(), solids.volume().clone()];
            all.extend(solids.open().iter().chain(solids.velocity()).cloned());
            // What is inside looks at what is outside.
            let mut u = [0, 1].map(|a| Field::on(&layout(set), At::Face(a), grid.velocity_ends(a)).unwrap());
            for (a, u) in u.iter_mut().enumerate() {
                u.set_from(&grid, |x| (7.0 * x[0] + 3.0 * x[1] + a as f64).sin());
            }
            solids.constrain(&grid, &mut u);
            all.extend(u);
            all
        };
        for (n, (a, b)) in fields(&mut moved).iter().zip(&fields(&mut anew)).enumerate() {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            a.copy_to(&mut left);
            b.copy_to(&mut right);
            assert_eq!(left, right, "field {n}, tiles {set:?}");
        }
    }
}

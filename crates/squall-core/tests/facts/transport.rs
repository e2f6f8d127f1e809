//! Transport: what every scheme must do, and that fast code gives the bits of simple code.

use crate::common::{Random, axes, values};
use squall_core::advect::{Advection, Flow, MapScratch, advect_mapped};
use squall_core::sample::Isa;
use squall_core::trace::Tracer;
use squall_core::*;

const SCHEMES: [Advection; 3] = [Advection::SemiLagrangian, Advection::MonotoneCubic, Advection::MacCormack];

/// A staggered velocity field given by a function of position.
fn flow<const D: usize>(grid: &Grid<D>, u: impl Fn([f64; D]) -> [f64; D] + Sync) -> VectorField<D> {
    std::array::from_fn(|a| {
        let mut f = Field::new(grid.cells, At::Face(a), grid.velocity_ends(a)).unwrap();
        f.set_from(grid, |p| u(p)[a]);
        f
    })
}

fn scalar<const D: usize>(grid: &Grid<D>) -> Field<D> {
    Field::new(grid.cells, At::Center, grid.substance_ends(0.0)).unwrap()
}

/// Moves copies of the fields and returns them.
fn moved<const D: usize>(
    grid: &Grid<D>,
    velocity: &VectorField<D>,
    scheme: Advection,
    tracer: Tracer,
    isa: Isa,
    dt: f64,
    fields: &[Field<D>],
) -> Vec<Field<D>> {
    let mut fields = fields.to_vec();
    let mut scratch = MapScratch::new(fields[0].layout(), scheme).unwrap();
    let mut all: Vec<&mut Field<D>> = fields.iter_mut().collect();
    advect_mapped(scheme, Flow { grid, velocity, tracer, isa }, dt, &mut [], &mut all, None, &mut scratch);
    fields
}

#[test]
fn nothing_moves_without_velocity() {
    let grid = Grid::<3>::walled([17, 9, 5], Side::Slip);
    let mut a = scalar(&grid);
    Random::new(1).fill(&mut a);
    let still = flow(&grid, |_| [0.0; 3]);
    for scheme in SCHEMES {
        let after = moved(&grid, &still, scheme, Tracer::Rk2, Isa::best(), 0.3, &[a.clone()]);
        assert!(values(&after[0]) == values(&a), "{scheme:?}");
    }
}

#[test]
fn a_constant_stays_constant_to_the_bit() {
    let grid = Grid::<2>::periodic([33, 20]);
    let mut a = scalar(&grid);
    a.set_from(&grid, |_| 0.1);
    let mut u = flow(&grid, |_| [0.0; 2]);
    u.iter_mut().for_each(|u| Random::new(5).fill(u));
    for scheme in SCHEMES {
        let after = moved(&grid, &u, scheme, Tracer::Rk2, Isa::best(), 0.2, &[a.clone()]);
        assert!(values(&after[0]).iter().all(|&v| v == 0.1f32), "{scheme:?}");
    }
}

#[test]
fn a_uniform_flow_by_whole_cells_is_a_shift() {
    // 64 cells of 1/64: speed 3 for 1/64 s is three cells; -70 cells is once around and six more.
    let grid = Grid::<2>::periodic([64, 64]);
    let mut a = scalar(&grid);
    Random::new(2).fill(&mut a);
    for shift in [3isize, -70] {
        let u = flow(&grid, |_| [shift as f64, 0.0]);
        for scheme in SCHEMES {
            let after = moved(&grid, &u, scheme, Tracer::Rk2, Isa::best(), 1.0 / 64.0, &[a.clone()]);
            for x in 0..64 {
                let from = (x as isize - shift).rem_euclid(64) as usize;
                assert_eq!(after[0].get([x, 7]), a.get([from, 7]), "{scheme:?} by {shift} at {x}");
            }
        }
    }
}

#[test]
fn no_scheme_makes_values_beyond_the_old_ones_and_the_boundarys() {
    let mut random = Random::new(3);
    for (i, x) in axes::<2>().into_iter().enumerate() {
        let y = axes::<2>()[(i * 5) % 17];
        let grid = Grid::new([21, 13], [1.0, 0.5], [x, y]);
        let mut a = scalar(&grid);
        a.relabel(At::Center, grid.substance_ends(1.5));
        random.fill(&mut a);
        let mut u = flow(&grid, |_| [0.0; 2]);
        u.iter_mut().for_each(|u| random.fill(u));
        for scheme in SCHEMES {
            for dt in [0.01, 1.0, 1e6] {
                let after = moved(&grid, &u, scheme, Tracer::Rk2, Isa::best(), dt, &[a.clone()]);
                for v in values(&after[0]) {
                    // To the last digit: the ghost of a prescribed value is rounded.
                    assert!((-1.000001..=1.500001).contains(&v), "{scheme:?} made {v} with {x:?} and {y:?}");
                }
            }
        }
    }
}

#[test]
fn inflow_brings_the_value_of_the_side_into_the_box() {
    let inflow = Side::Inflow { velocity: [1.0, 0.0] };
    let axes = [Axis::Bounded { lo: inflow, hi: Side::Open }, Axis::Periodic];
    let grid = Grid::<2>::new([40, 8], [1.0, 0.2], axes);
    let mut a = scalar(&grid);
    a.relabel(At::Center, grid.substance_ends(2.0));
    a.fill_halo();
    let u = flow(&grid, |_| [1.0, 0.0]);
    // Where the side's value arrives does not depend on the number of steps.
    let after = moved(&grid, &u, Advection::SemiLagrangian, Tracer::Rk2, Isa::best(), 0.5, &[a]);
    assert_eq!(after[0].get([5, 3]), 2.0);
    assert_eq!(after[0].get([25, 3]), 0.0);
}

/// Error of a bump carried once around by a rotation, in the mean square.
fn rotation_error(n: usize, scheme: Advection, tracer: Tracer, cfl: f64) -> f64 {
    let grid = Grid::<2>::walled([n; 2], Side::Open);
    let omega = std::f64::consts::TAU;
    let u = flow(&grid, |p| [-omega * (p[1] - 0.5), omega * (p[0] - 0.5)]);
    let mut a = scalar(&grid);
    a.set_from(&grid, |p| (-((p[0] - 0.5).powi(2) + (p[1] - 0.7).powi(2)) / 0.02).exp());
    let before = values(&a);
    let steps = (omega * 0.5 * n as f64 / cfl).ceil() as usize;
    let mut fields = vec![a];
    for _ in 0..steps {
        fields = moved(&grid, &u, scheme, tracer, Isa::best(), 1.0 / steps as f64, &fields);
    }
    let sum: f64 = before.iter().zip(values(&fields[0])).map(|(a, b)| ((a - b) as f64).powi(2)).sum();
    (sum / before.len() as f64).sqrt()
}

#[test]
fn schemes_converge_with_their_orders_on_a_rotating_bump() {
    for (scheme, least) in
        [(Advection::SemiLagrangian, 0.65), (Advection::MonotoneCubic, 1.5), (Advection::MacCormack, 1.5)]
    {
        let (coarse, fine) =
            (rotation_error(64, scheme, Tracer::Rk2, 2.0), rotation_error(128, scheme, Tracer::Rk2, 2.0));
        let order = (coarse / fine).log2();
        println!("{scheme:?}: errors {coarse:.2e} and {fine:.2e}, order {order:.2}");
        // Linear interpolation is still far from its asymptotic range here; limiters clip the top of the bump.
        assert!(order > least, "{scheme:?}: order {order}");
        // Errors added where values come from are a quarter of those added where they arrive (6.9e-3 at 64).
        assert!(scheme != Advection::MacCormack || coarse < 2e-3, "{coarse}");
    }
}

#[test]
fn a_third_order_path_beats_a_second_order_one_on_long_steps() {
    let error = |tracer| rotation_error(128, Advection::MacCormack, tracer, 12.0);
    let (two, three) = (error(Tracer::Rk2), error(Tracer::Rk3));
    assert!(three < 0.7 * two, "Rk2 {two}, Rk3 {three}");
}

#[test]
fn the_adaptive_tracer_is_the_plain_one_where_gradients_are_low_and_better_where_they_are_high() {
    let grid = Grid::<2>::walled([64; 2], Side::Open);
    let mut a = scalar(&grid);
    a.set_from(&grid, |p| (9.0 * p[0]).sin() + (7.0 * p[1]).cos());
    let rotation = |rate: f64| flow(&grid, move |p| [-rate * (p[1] - 0.5), rate * (p[0] - 0.5)]);
    let run =
        |u: &VectorField<2>, tracer| moved(&grid, u, Advection::SemiLagrangian, tracer, Isa::best(), 0.1, &[a.clone()]);
    // dt |grad u| = 0.2: below the limit of 1/4.
    let slow = rotation(2.0);
    assert!(values(&run(&slow, Tracer::Adaptive)[0]) == values(&run(&slow, Tracer::Rk2)[0]));
    // A quarter turn in one step: the exact answer is a rotated copy.
    let quarter = rotation(std::f64::consts::FRAC_PI_2 / 0.1);
    let wrong = |after: &Field<2>| -> f64 {
        // Only cells that stay inside the circle around the centre.
        let cells = (0..64usize).flat_map(|j| (0..64usize).map(move |i| (i, j)));
        let inside = cells.filter(|&(i, j)| (i as f64 - 31.5).hypot(j as f64 - 31.5) < 25.0);
        inside.map(|(i, j)| (after.get([i, j]) - a.get([j, 63 - i])).abs() as f64).sum()
    };
    let (plain, adaptive) = (wrong(&run(&quarter, Tracer::Rk2)[0]), wrong(&run(&quarter, Tracer::Adaptive)[0]));
    assert!(adaptive < 0.2 * plain, "plain {plain}, adaptive {adaptive}");
}

#[test]
fn every_instruction_set_gives_the_bits_of_the_simple_path() {
    fn check<const D: usize>(cells: [usize; D], seed: u64) {
        let mut random = Random::new(seed);
        for axis in axes::<D>() {
            let grid = Grid::new(cells, std::array::from_fn(|a| cells[a] as f64), [axis; D]);
            let mut u = flow(&grid, |_| [0.0; D]);
            u.iter_mut().for_each(|u| random.fill(u));
            let fields: Vec<Field<D>> = (0..5)
                .map(|_| {
                    let mut a = scalar(&grid);
                    random.fill(&mut a);
                    a
                })
                .collect();
            for scheme in SCHEMES {
                for tracer in [Tracer::Rk2, Tracer::Rk3, Tracer::Adaptive] {
                    // Gentle, rough and wild: runs, near and far fetches.
                    for dt in [0.1, 2.0, 1000.0] {
                        let run = |isa| moved(&grid, &u, scheme, tracer, isa, dt, &fields);
                        for (a, b) in run(Isa::Portable).iter().zip(&run(Isa::best())) {
                            let bits = |f| values(f).into_iter().map(f32::to_bits).collect::<Vec<_>>();
                            assert!(bits(a) == bits(b), "{scheme:?} {tracer:?} dt {dt} {axis:?} {cells:?}");
                        }
                    }
                }
            }
        }
    }
    check([150, 6], 11);
    check([9, 7], 12);
    check([19, 5, 4], 13);
}

#[test]
fn more_fields_than_one_pass_takes_are_moved_all_the_same() {
    let grid = Grid::<2>::periodic([16, 16]);
    let mut random = Random::new(4);
    let mut u = flow(&grid, |_| [0.0; 2]);
    u.iter_mut().for_each(|u| random.fill(u));
    let mut a = scalar(&grid);
    random.fill(&mut a);
    let many = vec![a.clone(); 11];
    for scheme in SCHEMES {
        let one = moved(&grid, &u, scheme, Tracer::Rk2, Isa::best(), 0.1, &[a.clone()]);
        for f in moved(&grid, &u, scheme, Tracer::Rk2, Isa::best(), 0.1, &many) {
            assert!(values(&f) == values(&one[0]), "{scheme:?}");
        }
    }
}

#[test]
fn values_at_every_location_are_sampled_and_carried_where_they_live() {
    // A linear function is reproduced exactly by linear interpolation, wherever its values live; in a uniform flow it moves
    // as a whole.
    let grid = Grid::<3>::walled([12, 10, 9], Side::Slip);
    let h = grid.spacing[0];
    let linear = |p: [f64; 3]| 0.3 + p[0] / h - 0.7 * p[1] / h + 0.4 * p[2] / h;
    let velocity = [0.6, -0.8, 0.3];
    let mut u = flow(&grid, |_| velocity.map(|v| v * h));
    u.iter_mut().for_each(|u| u.fill_halo());
    let locations =
        [At::Center, At::Face(0), At::Face(1), At::Face(2), At::Edge(0), At::Edge(1), At::Edge(2), At::Node];
    for at in locations {
        let mut a = Field::new(grid.cells, at, [Ends::FLAT; 3]).unwrap();
        a.set_from(&grid, linear);
        let point = [5.3, 4.1, 6.2];
        assert!((a.sample(point) as f64 - linear(point.map(|p| p * h))).abs() < 1e-5, "{at:?} sampled");
        for scheme in SCHEMES {
            let mut moved = a.clone();
            let mut scratch = MapScratch::new(a.layout(), scheme).unwrap();
            let flow = Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk2, isa: Isa::best() };
            advect_mapped(scheme, flow, 1.0, &mut [&mut moved], &mut [], None, &mut scratch);
            for index in [[5, 5, 4], [6, 4, 5], [4, 6, 4]] {
                let p = grid.position(at, index.map(|i| i as isize));
                let from = std::array::from_fn(|c| p[c] - velocity[c] * h);
                let (is, should) = (moved.get(index) as f64, linear(from));
                assert!((is - should).abs() < 1e-4, "{at:?} {scheme:?}: {is}, not {should}");
            }
        }
    }
}

#[test]
fn the_fastest_face_counts_even_if_it_is_the_last_one() {
    let axes = [Axis::Bounded { lo: Side::Slip, hi: Side::Open }, Axis::Bounded { lo: Side::Slip, hi: Side::Slip }];
    let grid = Grid::<2>::new([16, 8], [1.0, 0.5], axes);
    let u = flow(&grid, |p| [p[0] * p[0], -2.0 * p[0] * p[1]]);
    assert!(ops::max_abs(&u[0]) < 0.9);
    assert_eq!(ops::max_abs_faces(&u[0]), 1.0);
    let periodic = flow(&Grid::<2>::periodic([16, 8]), |_| [0.5, 0.0]);
    assert_eq!(ops::max_abs_faces(&periodic[0]), 0.5);
}

//! Implicit diffusion of any field: against dense matrices, and what it must never do.

use squall_core::diffuse::{Around, Diffusion};
use squall_core::poisson::CellState;
use squall_core::{At, End, Ends, Field, Layout, VectorField, ops};

use crate::common::{Random, values};
use crate::dense::{Behind, Scene, cells_of, combinations, new, noise, random_faces, set};

const H: f64 = 0.1;

/// Ends with values in place of zeros.
fn with_values<const D: usize>(ends: [Ends; D]) -> [Ends; D] {
    let mut value = -0.7;
    let mut changed = |end| match end {
        End::Flat | End::Outside(_) => end,
        End::Value(_) => {
            value += 0.4;
            End::Value(value as f32)
        }
    };
    ends.map(|ends| match ends {
        Ends::Bounded { lo, hi } => Ends::Bounded { lo: changed(lo), hi: changed(hi) },
        other => other,
    })
}

/// What an end prescribes.
fn value_at(ends: Ends, step: isize) -> f64 {
    let Ends::Bounded { lo, hi } = ends else { unreachable!("only bounded axes have values") };
    match if step < 0 { lo } else { hi } {
        End::Value(b) => b as f64,
        End::Flat | End::Outside(_) => unreachable!("other ends have none"),
    }
}

/// Diffuses noise, and checks every cell against the dense matrix. Returns the iterations.
fn check<const D: usize>(scene: &Scene<D>, at: At, k: f64, name: &str) -> u32 {
    let mut field = Field::<D>::on(&scene.layout, at, scene.ends).unwrap();
    set(&mut field, |i| noise(4, i) as f32);
    // Twice: with one cell along its axis, a flat first face takes the value of the last.
    field.finish_end_faces();
    field.finish_end_faces();
    let before = field.clone();
    let open: Option<VectorField<D>> = scene.open.as_ref().map(|open| {
        std::array::from_fn(|a| {
            let mut faces = new(&scene.layout, At::Face(a));
            set(&mut faces, |i| open[a].get_signed(i) as f32);
            if scene.layout.as_tiles().is_none() {
                let mut last = scene.layout.cells();
                last[a] = 1;
                for first in cells_of(&Layout::dense(last)) {
                    let mut i = first;
                    i[a] = scene.layout.cells()[a] as isize;
                    // On a periodic axis the last face is the first one.
                    let from = if scene.ends[a] == Ends::Periodic { first } else { i };
                    faces.set(i.map(|i| i as usize), open[a].get_signed(from) as f32);
                }
            }
            faces
        })
    });
    let free = scene.state.as_ref().map(|state| {
        let mut free = Field::<D>::on(&scene.layout, at, scene.ends).unwrap();
        set(&mut free, |i| if state.get_signed(i) == CellState::Air { 0.0 } else { 0.4 });
        free
    });
    let around = match (&open, &free) {
        (Some(open), _) => Around::Open(open),
        (_, Some(free)) => Around::Held(free),
        _ => Around::Nothing,
    };
    let mut diffusion = Diffusion::new(&scene.layout, [H; D]);
    let report = diffusion.apply(&mut field, k, around).unwrap();

    let shift = H * H / k;
    let held = |behind: Behind<D>, a: usize, step: isize| match behind {
        Behind::Cell(j) => before.get_signed(j) as f64,
        _ => value_at(scene.ends[a], step),
    };
    let expected = scene.solve(shift, |i| shift * before.get_signed(i) as f64, held);
    assert!(report.converged, "{name}: {report:?}");
    for i in cells_of(&scene.layout) {
        let got = field.get_signed(i) as f64;
        let own_flat = scene.own.filter(|&a| i[a] == 0 && scene.state_of(i) == CellState::Solid);
        let mut inside = i;
        if let Some(a) = own_flat {
            inside[a] = 1;
        }
        let right = match expected.get(&inside) {
            Some(right) => *right,
            None => before.get_signed(i) as f64,
        };
        // Values are within 1; the change is solved to 1e-5 of its right side, and the smallest eigenvalues, where faces
        // are almost closed, are above 1e-2.
        assert!((got - right).abs() < 1e-3, "{name} {i:?}: {got}, not {right}; {report:?}");
    }
    report.iterations
}

#[test]
fn centred_fields_with_closed_faces_or_held_cells_agree_with_the_dense_matrix() {
    for (c, ends) in combinations::<2>().enumerate() {
        for (j, k) in [1e-12, 1e-5, 3e-3, 0.2, 50.0].into_iter().enumerate() {
            let mut scene = Scene::on(Layout::dense([[11, 16], [13, 8]][c % 2]), with_values(ends));
            scene.open = Some(random_faces(&scene.layout, (c + j) as u64));
            check(&scene, At::Center, k, &format!("open {ends:?} k {k}"));
            scene.open = None;
            check(&scene, At::Center, k, &format!("plain {ends:?} k {k}"));
            let mut state = new(&scene.layout, At::Center);
            set(&mut state, |i| if noise(c as u64, i) > 0.6 { CellState::Air } else { CellState::Fluid });
            scene.state = Some(state);
            check(&scene, At::Center, k, &format!("held {ends:?} k {k}"));
        }
    }
}

#[test]
fn components_on_faces_agree_with_the_dense_matrix_in_2d() {
    for (c, ends) in combinations::<2>().enumerate() {
        // Far larger, and the dense matrix itself cannot be solved.
        for k in [1e-12, 1e-5, 3e-3, 0.2, 50.0, 1e6] {
            for a in 0..2 {
                let mut scene = Scene::on(Layout::dense([[12, 16], [13, 9], [1, 7], [2, 5]][c % 4]), with_values(ends));
                scene.own = matches!(ends[a], Ends::Bounded { .. }).then_some(a);
                check(&scene, At::Face(a), k, &format!("face {a} {ends:?} k {k}"));
                let mut state = new(&scene.layout, At::Center);
                set(&mut state, |i| if noise(c as u64, i) > 0.6 { CellState::Air } else { CellState::Fluid });
                scene.state = Some(state);
                check(&scene, At::Face(a), k, &format!("held face {a} {ends:?} k {k}"));
            }
        }
    }
}

#[test]
fn components_on_faces_agree_with_the_dense_matrix_in_3d() {
    for (c, ends) in combinations::<3>().enumerate().filter(|(c, _)| c % 5 == 0) {
        for (j, k) in [1e-4, 0.1, 1e3].into_iter().enumerate() {
            let a = (c / 5 + j) % 3;
            let mut scene = Scene::on(Layout::dense([7, 8, 6]), with_values(ends));
            scene.own = matches!(ends[a], Ends::Bounded { .. }).then_some(a);
            check(&scene, At::Face(a), k, &format!("face {a} {ends:?} k {k}"));
        }
    }
}

#[test]
fn tiles_agree_with_the_dense_matrix() {
    // Most cells are held, so that the matrix stays small.
    for (j, k) in [1e-4, 0.1, 1e3].into_iter().enumerate() {
        let mut scene = Scene::on(Layout::tiles([[0, 0], [0, 1]]), [Ends::Unbounded(0.5); 2]);
        let mut state = new(&scene.layout, At::Center);
        set(&mut state, |i| if noise(j as u64, i) > -0.3 { CellState::Air } else { CellState::Fluid });
        scene.state = Some(state);
        for at in [At::Center, At::Face(0), At::Face(1)] {
            check(&scene, at, k, &format!("tiles {at:?} k {k}"));
        }
    }
}

#[test]
fn tiles_give_what_a_box_with_held_rims_gives() {
    let layout = Layout::tiles((0..16).map(|t| [t % 4, t / 4]));
    let (dense, n) = (Layout::dense([128; 2]), 128);
    let blob = |i: [isize; 2]| (-((i[0] - 60).pow(2) + (i[1] - 70).pow(2)) as f32 / 200.0).exp();
    let mut free = Field::<2>::on(&dense, At::Center, [Ends::FLAT; 2]).unwrap();
    set(&mut free, |i| if i.iter().any(|&i| i == 0 || i == n - 1) { 0.0 } else { 1.0 });
    for k in [1e-6, 1e-3, 1.0, 1e4] {
        let mut tiles = Field::<2>::on(&layout, At::Center, [Ends::Unbounded(0.0); 2]).unwrap();
        let mut boxed = Field::<2>::on(&dense, At::Center, [Ends::FLAT; 2]).unwrap();
        set(&mut tiles, blob);
        set(&mut boxed, blob);
        let on_tiles = Diffusion::new(&layout, [0.02; 2]).apply(&mut tiles, k, Around::Nothing).unwrap();
        let on_box = Diffusion::new(&dense, [0.02; 2]).apply(&mut boxed, k, Around::Held(&free)).unwrap();
        assert!(on_tiles.converged && on_box.converged, "{k}: {on_tiles:?} {on_box:?}");
        println!("tiles k {k}: {} and {} iterations", on_tiles.iterations, on_box.iterations);
        for i in cells_of(&dense) {
            let (a, b) = (tiles.get_signed(i), boxed.get_signed(i));
            assert!((a - b).abs() < 1e-4, "{k} {i:?}: {a} and {b}");
        }
    }
}

/// A component across y in a box with walls, with a ball of held faces in it.
fn around_a_ball(n: usize, ends: [Ends; 3]) -> (Field<3>, Field<3>) {
    let layout = Layout::dense([n; 3]);
    let [mut field, mut free] = [0; 2].map(|_| Field::<3>::on(&layout, At::Face(1), ends).unwrap());
    let s = n as f64;
    set(&mut field, |i| (noise(1, i) + (7.0 * i[0] as f64 / s).sin()) as f32);
    let inside = |i: [isize; 3]| i.iter().map(|&i| (i as f64 / s - 0.45).powi(2)).sum::<f64>() < 0.03;
    set(&mut free, |i| if inside(i) { 0.0 } else { 1.0 });
    field.finish_end_faces();
    (field, free)
}

const WALL: Ends = Ends::Bounded { lo: End::Value(0.0), hi: End::Value(0.0) };

#[test]
fn small_steps_are_cheap_and_large_ones_take_few_iterations() {
    let mut diffusion = Diffusion::new(&Layout::dense([48; 3]), [H; 3]);
    for (k, most) in
        [(1e-14, 0), (1e-9, 1), (1e-6, 2), (1e-4, 4), (1e-3, 8), (9e-3, 22), (0.02, 8), (1.0, 9), (1e3, 9), (1e12, 9)]
    {
        let (mut field, free) = around_a_ball(48, [WALL; 3]);
        let report = diffusion.apply(&mut field, k, Around::Held(&free)).unwrap();
        println!("k/h^2 {:.0e}: {} iterations, residual {:.1e}", k / (H * H), report.iterations, report.residual);
        assert!(report.converged && report.iterations <= most, "{k}: {report:?}");
    }
}

#[test]
fn no_value_leaves_the_range_of_those_it_came_from() {
    for (c, ends) in combinations::<3>().enumerate().filter(|(c, _)| c % 7 == 0) {
        for k in [1e-6, 1e-3, 0.3, 1e5, 1e12] {
            let (mut field, free) = around_a_ball(20, with_values(ends));
            let range = values(&field).into_iter().fold((-0.7f32, 1.7f32), |(lo, hi), v| (lo.min(v), hi.max(v)));
            let around = if c % 2 == 0 { Around::Held(&free) } else { Around::Nothing };
            let report = Diffusion::new(&Layout::dense([20; 3]), [H; 3]).apply(&mut field, k, around).unwrap();
            // To what the change is solved to.
            let slack = 1e-4 * (range.1 - range.0);
            for v in values(&field) {
                assert!(range.0 - slack <= v && v <= range.1 + slack, "{ends:?} {k}: {v} of {range:?}; {report:?}");
            }
        }
    }
}

#[test]
fn the_sum_is_kept_where_nothing_gets_out_and_endless_time_leaves_the_mean() {
    for at in [At::Center, At::Face(0), At::Face(1)] {
        for ends in [[Ends::FLAT; 2], [Ends::Periodic, Ends::FLAT], [Ends::FLAT, Ends::Periodic]] {
            for k in [1e-6, 1e-2, 10.0, 1e12] {
                let layout = Layout::dense([40, 33]);
                let mut field = Field::<2>::on(&layout, at, ends).unwrap();
                set(&mut field, |i| 3.0 + noise(2, i) as f32);
                field.finish_end_faces();
                let open: VectorField<2> = std::array::from_fn(|a| {
                    let mut faces = new(&layout, At::Face(a));
                    faces.fill(1.0);
                    faces
                });
                // The first face on a flat end is the next one's copy, not a value of its own.
                let first = match at {
                    At::Face(a) if ends[a] == Ends::FLAT => Some(a),
                    _ => None,
                };
                let own = |field: &Field<2>| -> Vec<f64> {
                    let is_own = |i: &[isize; 2]| first.is_none_or(|a| i[a] > 0);
                    cells_of(&layout).into_iter().filter(is_own).map(|i| field.get_signed(i) as f64).collect()
                };
                let before = own(&field);
                let around = if at == At::Center { Around::Open(&open) } else { Around::Nothing };
                let mut diffusion = Diffusion::new(&layout, [H; 2]);
                let report = diffusion.apply(&mut field, k, around).unwrap();
                let after = own(&field);
                let (sum, was) = (after.iter().sum::<f64>(), before.iter().sum::<f64>());
                // Each value is rounded once: a random walk of some 1300 steps of 1e-7.
                assert!((sum / was - 1.0).abs() < 1e-6, "{at:?} {ends:?} {k}: {was} became {sum}; {report:?}");
                if k == 1e12 {
                    let mean = was / before.len() as f64;
                    let worst = after.iter().fold(0.0f64, |m, v| m.max((v - mean).abs()));
                    // 1e-5 of the right side, which for noise is some eight times the noise, as far as it hides in smooth modes.
                    assert!(worst < 5e-4, "{at:?} {ends:?}: {worst} from the mean");
                }
            }
        }
    }
}

#[test]
fn endless_time_leaves_the_steady_state_between_prescribed_values() {
    let ends = [Ends::Bounded { lo: End::Value(-1.0), hi: End::Value(3.0) }, Ends::FLAT];
    let n = 50;
    for at in [At::Face(0), At::Face(1)] {
        let mut field = Field::<2>::on(&Layout::dense([n, 30]), at, ends).unwrap();
        Random::new(3).fill(&mut field);
        let mut diffusion = Diffusion::new(&Layout::dense([n, 30]), [H; 2]);
        let report = diffusion.apply(&mut field, 1e12, Around::Nothing).unwrap();
        field.fill_halo();
        let shift = if at == At::Face(0) { 0.0 } else { 0.5 };
        for i in cells_of(field.layout()) {
            let right = -1.0 + 4.0 * (i[0] as f64 + shift) / n as f64;
            let got = field.get_signed(i) as f64;
            assert!((got - right).abs() < 1e-3, "{at:?} {i:?}: {got}, not {right}; {report:?}");
        }
    }
}

#[test]
fn a_sine_decays_by_its_factor_over_all_steps() {
    // On faces across y between walls where the value is zero: sin(pi j / n), eigenvalue -(4 / h^2) sin^2(pi / 2n).
    let n = 64;
    let ends = [Ends::Periodic, WALL];
    let lambda = 4.0 / (H * H) * (std::f64::consts::PI / (2.0 * n as f64)).sin().powi(2);
    for k in [1e-10, 1e-6, 1e-3, 0.1, 10.0, 1e4, 1e8, 1e12] {
        let layout = Layout::dense([8, n]);
        let mut field = Field::<2>::on(&layout, At::Face(1), ends).unwrap();
        let sine = |i: [isize; 2]| (std::f64::consts::PI * i[1] as f64 / n as f64).sin();
        set(&mut field, |i| sine(i) as f32);
        Diffusion::new(&layout, [H; 2]).apply(&mut field, k, Around::Nothing).unwrap();
        for i in cells_of(&layout) {
            let right = sine(i) / (1.0 + k * lambda);
            // Of the change, which is at most 1.
            assert!(
                (field.get_signed(i) as f64 - right).abs() < 5e-5,
                "{k} {i:?}: {}, not {right}",
                field.get_signed(i)
            );
        }
    }
}

#[test]
fn what_is_not_finite_is_reported_and_zero_does_nothing() {
    let (mut field, free) = around_a_ball(12, [WALL; 3]);
    let before = values(&field);
    let mut diffusion = Diffusion::new(&Layout::dense([12; 3]), [H; 3]);
    assert!(diffusion.apply(&mut field, 0.0, Around::Held(&free)).unwrap().converged);
    assert!(values(&field) == before);
    field.set([8, 8, 8], f32::NAN);
    assert!(!diffusion.apply(&mut field, 1.0, Around::Held(&free)).unwrap().converged);
    let (mut field, _) = around_a_ball(12, [WALL; 3]);
    assert!(diffusion.apply(&mut field, 1.0, Around::Held(&free)).unwrap().converged, "and leaves nothing behind");
    assert!(ops::max_abs(&field).is_finite());
}

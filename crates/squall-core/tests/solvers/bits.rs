//! The same bits on any number of threads, and, where that is promised, on every instruction set.

use squall_core::diffuse::{Around, Diffusion};
use squall_core::poisson::{CellState, Domain, Multigrid, Spectral, Symbol};
use squall_core::sample::Isa;
use squall_core::{At, End, Ends, Field, Layout};

use crate::common::values;
use crate::dense::{new, noise, set};

const OPEN_TOP: Ends = Ends::Bounded { lo: End::Flat, hi: End::Value(0.0) };

fn bits<const D: usize>(field: &Field<D>) -> Vec<u32> {
    values(field).into_iter().map(f32::to_bits).collect()
}

/// Liquid in a box and on tiles, and viscosity around something held.
fn solve_all(isa: Isa) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    let tiles = Layout::tiles((0..8).map(|t| [t % 2, t / 2 % 2, t / 4]));
    for (layout, ends) in
        [(Layout::dense([45, 30, 37]), [Ends::FLAT, OPEN_TOP, Ends::Periodic]), (tiles, [Ends::Unbounded(0.0); 3])]
    {
        let (mut state, mut rhs, mut q) =
            (new(&layout, At::Center), new::<3, f32>(&layout, At::Center), new::<3, f32>(&layout, At::Center));
        set(&mut state, |i| if noise(2, i) > 0.95 { CellState::Air } else { CellState::Fluid });
        set(&mut rhs, |i| noise(1, i) as f32);
        let mut solver = Multigrid::with_isa(&layout, 0.1, ends, isa).unwrap();
        solver.set(Domain { state: Some(&state), ..Domain::default() });
        assert!(solver.solve_from(&rhs, &mut q, 1e-4, 100).converged);
        all.push(bits(&q));

        let mut free = Field::<3>::on(&layout, At::Face(1), ends).unwrap();
        set(&mut free, |i| if noise(3, i) > 0.9 { 0.0 } else { 1.0 });
        for k in [1e-4, 1.0] {
            let mut u = Field::<3>::on(&layout, At::Face(1), ends).unwrap();
            set(&mut u, |i| noise(4, i) as f32);
            Diffusion::with_isa(&layout, [0.1; 3], isa).apply(&mut u, k, Around::Held(&free)).unwrap();
            all.push(bits(&u));
        }
    }
    all
}

#[test]
fn the_bits_of_multigrid_do_not_depend_on_the_instruction_set() {
    assert!(solve_all(Isa::Portable) == solve_all(Isa::best()));
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve_all(Isa::best()))
    };
    let one = with(1);
    for threads in [2, 5] {
        assert!(with(threads) == one, "{threads} threads");
    }
}

#[test]
fn portable_transforms_differ_from_others_by_rounding_alone() {
    let cells = [36, 50];
    let ends = [OPEN_TOP, Ends::Periodic];
    let solve = |isa| {
        let mut field = Field::<2>::new(cells, At::Center, ends).unwrap();
        set(&mut field, |i| noise(5, i) as f32);
        Spectral::with_isa(cells, [0.1; 2], ends, isa).apply(&mut field, Symbol::InverseLaplacian);
        field
    };
    let (portable, best) = (solve(Isa::Portable), solve(Isa::best()));
    let largest = squall_core::ops::max_abs(&best);
    for (a, b) in values(&portable).into_iter().zip(values(&best)) {
        // A few hundred roundings.
        assert!((a - b).abs() < 1e-5 * largest, "{a} and {b}");
    }
}

//! The Poisson equation `lap q = r` for cell-centred fields.
//!
//! `lap` is the compact stencil: the sum over axes of `(q(i - e_a) - 2 q(i) + q(i + e_a)) / h_a^2`, with ghost values
//! that follow from what the field does at the ends of each axis ([`Ends`]). If no end prescribes a value, the problem
//! is singular: a solution exists only if `r` has mean zero and is unique up to a constant. Solvers then drop the mean of
//! `r` and return the solution with mean zero.
//!
//! | solver | for | cost |
//! |---|---|---|
//! | [`Spectral`] | boxes without obstacles, any mix of ends, any cell counts | direct, O(n log n) |
//! | [`Multigrid`] | obstacles in a box, any mix of ends, any cell counts; tiles; cubic cells | some 5 to 8 iterations of O(n) to four digits |

mod lines;
pub mod multigrid;
mod spectral;
mod transform;

pub use multigrid::Multigrid;
pub(crate) use spectral::homogeneous;
pub use spectral::{Spectral, Symbol};

use crate::field::Field;
use crate::grid::{Ends, Grid};
use crate::report::SolveReport;

/// Something that solves `lap q = r` on one box with homogeneous ends.
pub trait PoissonSolver<const D: usize>: Send {
    /// Takes `r` and leaves `q` in the cells of the same field. Ghosts are neither read nor written.
    fn solve(&mut self, rhs_in_solution_out: &mut Field<D>) -> SolveReport;

    /// How it solves, for people.
    fn describe(&self) -> String;
}

/// The solver for a box of these cells whose unknown has these ends; prescribed values count as zero.
pub fn plan<const D: usize>(grid: &Grid<D>, ends: [Ends; D]) -> Box<dyn PoissonSolver<D>> {
    Box::new(Spectral::new(grid.cells, grid.spacing, ends))
}

/// What solves the pressure in such a grid, and why, in words: what [`plan`] makes for a box, [`Multigrid`] on tiles.
pub fn plan_kind<const D: usize>(grid: &Grid<D>, ends: [Ends; D]) -> (String, String) {
    if ends.iter().any(|ends| matches!(ends, Ends::Unbounded(_))) {
        return (ITERATIVE.to_string(), "the fluid goes anywhere, so that no box holds it".to_string());
    }
    let cells = grid.cells.map(|n| n.to_string()).join(" x ");
    let how = format!("direct: {} on {cells} cells", ends.map(transform::name_for).join(" x "));
    (how, "a plain box without obstacles: transforms along each axis solve it exactly in one pass".to_string())
}

/// [`plan_kind`] with obstacles in the grid: then it is always [`Multigrid`].
pub fn plan_kind_around_obstacles() -> (String, String) {
    (ITERATIVE.to_string(), "obstacles close faces inside the grid, which transforms cannot handle".to_string())
}

const ITERATIVE: &str = "iterative: conjugate gradients with multigrid";

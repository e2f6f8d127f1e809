//! The Poisson equation `lap q = r` for cell-centred fields.
//!
//! `lap` is the compact stencil: the sum over axes of `(q(i - e_a) - 2 q(i) + q(i + e_a)) / h_a^2`, with ghost values
//! that follow from what the field does at the ends of each axis ([`Ends`](crate::Ends)), and each difference times the open
//! part of the face between the two cells. If nothing prescribes a value, the problem is singular: a solution exists only if
//! `r` has mean zero and is unique up to a constant. Solvers then drop the mean of `r` and return the solution with mean
//! zero.
//!
//! | solver | for | cost |
//! |---|---|---|
//! | [`Spectral`] | boxes without obstacles, any mix of ends, any cell counts | direct, O(n log n) |
//! | [`AroundTiles`] | tiles that fill a good part of the box around them, without obstacles | the same in that box |
//! | [`Multigrid`] | solids or a free surface in a box, any mix of ends, any cell counts; tiles; cubic cells | some 5 to 8 iterations of O(n) to four digits; around thick objects that stay, 3 to 5 with transforms |
//!
//! [`plan`] chooses, and says why; [`Plan::build`] makes the solver.

mod around_tiles;
mod lines;
pub mod multigrid;
pub mod pcg;
mod plan;
mod spectral;
mod transform;

pub use around_tiles::AroundTiles;
pub use multigrid::Multigrid;
pub use plan::{Method, Plan, Problem, plan};
pub(crate) use spectral::homogeneous;
pub use spectral::{Spectral, Symbol};

use crate::Real;
use crate::cancel::CancelToken;
use crate::field::{Field, VectorField};
use crate::layout::Layout;
use crate::report::SolveReport;

/// A solver that needs more iterations than this does not get there.
pub const MAX_ITERATIONS: u32 = 300;

/// Something that solves `lap q = r` for fields of one layout, prescribed values at the ends being zero.
///
/// Ghosts are neither read nor written. What is reported as residual is the 2-norm of `r - lap q` over that of `r`, both
/// over the unknowns and without the mean that was dropped.
pub trait PoissonSolver<const D: usize>: Send {
    /// Solves from zero, whatever `q` holds, until the residual is at most `tolerance` or a direct solver is done. May use
    /// `rhs` as work space.
    fn solve(&mut self, rhs: &mut Field<D>, q: &mut Field<D>, tolerance: f64) -> SolveReport {
        q.par_rows(|_, q| q.fill(0.0));
        self.improve(rhs, q, tolerance)
    }

    /// [`PoissonSolver::solve`] from what is in `q`, which helps an iteration if it is a good guess.
    fn improve(&mut self, rhs: &mut Field<D>, q: &mut Field<D>, tolerance: f64) -> SolveReport;

    /// Says what is where, from now on: see [`Domain`]. Fails if the solver knows nothing but empty boxes.
    fn set(&mut self, domain: Domain<'_, D>) -> Result<(), Unsuitable>;

    /// What was set last stays as it is for good, so that it pays to look for the best way to solve.
    fn stay(&mut self) {}

    /// Iterations look at this token from now on, and end early when it asks for that.
    fn set_cancel(&mut self, _token: &CancelToken) {}

    /// The direct solver, if it is one: it can solve in place.
    fn direct(&mut self) -> Option<&mut Spectral<D>> {
        None
    }

    /// The box around tiles, if it solves there: somebody has to say what is on its sides.
    fn around_tiles(&mut self) -> Option<&mut AroundTiles<D>> {
        None
    }

    /// How it solves, for people.
    fn describe(&self) -> String;
}

/// What is where in the layout of a solver. Nothing given: an empty box, or tiles full of fluid.
#[derive(Clone, Copy)]
pub struct Domain<'a, const D: usize, T = Real> {
    /// Which part of each face is open, from 0 to 1, in staggered fields; on a box their last faces lie behind the cells.
    /// `None`: all of it.
    pub open: Option<&'a VectorField<D, T>>,
    /// What each cell is. `None`: fluid.
    pub state: Option<&'a Field<D, CellState>>,
    /// The signed distance to the surface of the liquid, negative inside, in any unit; the value is zero on the surface.
    /// Only looked at in fluid cells with air beside them, and in that air. `None`: air is zero in the centres of its cells.
    pub phi: Option<&'a Field<D, T>>,
}

impl<const D: usize, T> Default for Domain<'_, D, T> {
    fn default() -> Self {
        Domain { open: None, state: None, phi: None }
    }
}

impl<const D: usize, T: Copy + Default + Send + Sync> Domain<'_, D, T> {
    fn check(&self, layout: &Layout<D>) {
        let fits = self.open.is_none_or(|open| open.iter().all(|f| f.layout() == layout))
            && self.state.is_none_or(|f| f.layout() == layout)
            && self.phi.is_none_or(|f| f.layout() == layout);
        assert!(fits, "the solver is for fields of another layout");
    }
}

/// What a cell is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CellState {
    /// An unknown, if any of its faces is open.
    #[default]
    Fluid,
    /// Held at zero. Another value `v` enters through the right side of the fluid beside it: less `A v / (theta h^2)`.
    Air,
    /// No unknown; its faces count as closed.
    Solid,
}

/// The solver cannot do what is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{solver} supports neither solids nor a free surface: plan with them")]
pub struct Unsuitable {
    /// What it is.
    pub solver: String,
}

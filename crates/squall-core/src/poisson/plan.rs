//! Choice of the Poisson solver.

use std::fmt;

use super::{AroundTiles, Multigrid, PoissonSolver, Spectral, transform};
use crate::field::OutOfMemory;
use crate::grid::{Ends, Grid};
use crate::layout::Layout;
use crate::sample::Isa;

/// What has to be known of a problem to choose a solver, without building a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem<const D: usize> {
    /// Cells along each axis; on tiles those that are looked at.
    pub cells: [usize; D],
    /// What the unknown does at the ends of each axis. Unbounded axes mean tiles.
    pub ends: [Ends; D],
    /// Whether solids close faces.
    pub solids: bool,
    /// Whether some cells may be air.
    pub surface: bool,
}

impl<const D: usize> Problem<D> {
    /// The pressure in an empty grid.
    pub fn of(grid: &Grid<D>) -> Self {
        Problem { cells: grid.cells, ends: grid.pressure_ends(), solids: false, surface: false }
    }

    /// The same with or without solids.
    pub fn with_solids(self, solids: bool) -> Self {
        Problem { solids, ..self }
    }

    /// The same with or without a free surface.
    pub fn with_surface(self, surface: bool) -> Self {
        Problem { surface, ..self }
    }

    fn on_tiles(&self) -> bool {
        self.ends.iter().any(|ends| ends.outside().is_some())
    }

    /// Whether transforms of the empty box may help an iteration. In 2D they do not: multigrid takes four or five there.
    fn may_transform(&self) -> bool {
        D == 3 && self.solids && !self.surface && !self.on_tiles()
    }
}

/// A way to solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// [`Spectral`]: transforms along each axis.
    Spectral,
    /// [`AroundTiles`]: transforms in the box around the tiles, as long as they fill enough of it; else as below.
    AroundTiles,
    /// [`Multigrid`]: conjugate gradients with multigrid as preconditioner; or with transforms, around thick objects that stay.
    Multigrid,
}

/// What solves a problem, and why. As text it is both, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<const D: usize> {
    /// How.
    pub method: Method,
    /// Why.
    pub reason: &'static str,
    /// About how many bytes the solver will hold; on tiles, if all cells that are looked at exist.
    pub bytes: u64,
    /// What the solver runs on; the best there is, if nobody says otherwise.
    pub isa: Isa,
    problem: Problem<D>,
}

/// The solver for a problem. `Problem::of(&grid)` is the pressure of an empty grid.
pub fn plan<const D: usize>(problem: Problem<D>) -> Plan<D> {
    let (method, reason) = if problem.surface {
        (Method::Multigrid, "the liquid has a free surface, which transforms cannot handle")
    } else if problem.solids {
        (Method::Multigrid, "obstacles close faces inside the grid, which transforms cannot handle")
    } else if problem.on_tiles() {
        (Method::AroundTiles, "the grid is unbounded, and its bounding box moves with the fluid")
    } else {
        (Method::Spectral, "a plain box without obstacles: transforms along each axis solve it exactly in one pass")
    };
    let count = problem.cells.iter().fold(1u64, |count, &n| count.saturating_mul(n as u64));
    let bytes = match method {
        Method::Spectral => Spectral::<D>::estimate_bytes(problem.cells),
        // Two fields and a list of places while they are tried.
        Method::Multigrid if problem.may_transform() => Multigrid::<D>::estimate_bytes(count)
            .saturating_add(Spectral::<D>::estimate_bytes(problem.cells))
            .saturating_add(count.saturating_mul(3 * size_of::<crate::Real>() as u64)),
        // The box takes a third of that.
        Method::Multigrid | Method::AroundTiles => Multigrid::<D>::estimate_bytes(count),
    };
    Plan { method, reason, bytes, isa: Isa::best(), problem }
}

impl<const D: usize> Plan<D> {
    /// Makes the solver, for fields of this layout. Around solids and on tiles cells must be cubes.
    pub fn build(
        &self,
        layout: &Layout<D>,
        spacing: [f64; D],
        ends: [Ends; D],
    ) -> Result<Box<dyn PoissonSolver<D>>, OutOfMemory> {
        Ok(match self.method {
            Method::Spectral => Box::new(Spectral::with_isa(layout.cells(), spacing, ends, self.isa)),
            Method::Multigrid | Method::AroundTiles => {
                assert!(spacing.iter().all(|h| (h / spacing[0] - 1.0).abs() < 1e-6), "cells must be cubes");
                if self.method == Method::AroundTiles
                    && let Some(solver) = AroundTiles::new(layout, spacing[0], ends, self.isa)?
                {
                    return Ok(Box::new(solver));
                }
                let solver = Multigrid::with_isa(layout, spacing[0], ends, self.isa)?;
                Box::new(if self.problem.may_transform() { solver.with_transforms(ends) } else { solver })
            }
        })
    }

    /// [`Plan::build`] for the pressure in a box.
    pub fn build_for(&self, grid: &Grid<D>) -> Result<Box<dyn PoissonSolver<D>>, OutOfMemory> {
        self.build(&Layout::dense(grid.cells), grid.spacing, grid.pressure_ends())
    }

    /// How it will be solved, for people.
    pub fn how(&self) -> String {
        match self.method {
            Method::Multigrid if self.problem.may_transform() => {
                "iterative: conjugate gradients with multigrid, or with transforms around thick objects that stay"
                    .to_string()
            }
            Method::Multigrid => "iterative: conjugate gradients with multigrid".to_string(),
            Method::AroundTiles => {
                "direct in the box around the smoke, or by conjugate gradients with multigrid where it \
                                    fills little of that"
                    .to_string()
            }
            Method::Spectral => {
                let Problem { cells, ends, .. } = self.problem;
                let cells = cells.map(|n| n.to_string()).join(" x ");
                format!("direct: {} on {cells} cells", ends.map(transform::name_for).join(" x "))
            }
        }
    }
}

impl<const D: usize> fmt::Display for Plan<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.how(), self.reason)
    }
}

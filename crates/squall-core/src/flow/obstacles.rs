//! Obstacles in the flow.
//!
//! While things are advected, solids hold the flow and the substances beside them ([`Solids::constrain`],
//! [`Solids::fill_inside`]), so that nothing looks across their surface; between steps they hold none. A moving solid needs
//! nothing else: the fluid in front of it moves as it does and takes its substances along, and what it uncovers holds
//! what was beside it.

use super::Flow;
use super::pressure::{Pressure, With};
use crate::Real;
use crate::field::{Field, OutOfMemory};
use crate::grid::{At, Grid};
use crate::layout::Layout;
use crate::report::Stage;
use crate::solid::{Boundary, NEAR, Obstacle, Solids, Walls};

pub(crate) struct Obstacles<const D: usize> {
    pub solids: Solids<D>,
    /// 1 where advection may be of second order, 0 beside solids.
    pub exact: Field<D>,
    /// What viscosity needs to know, if there is any.
    pub walls: Option<Walls<D>>,
    /// When solids were last put in their places.
    pub(super) time: Option<f64>,
}

impl<const D: usize> Obstacles<D> {
    /// Puts solids where they are at a time. Whether anything may have changed.
    fn update(&mut self, grid: &Grid<D>, time: f64) -> bool {
        if self.time == Some(time) {
            return false;
        }
        self.time = Some(time);
        if !self.solids.update(grid, time).anything() {
            return false;
        }
        let (solids, near) = (&self.solids, (NEAR * grid.min_spacing()) as Real);
        self.exact.par_rows(|row, exact| match solids.distances_near(row) {
            None => exact.fill(1.0),
            Some(distances) => {
                for (exact, d) in exact.iter_mut().zip(distances) {
                    *exact = if *d < near { 0.0 } else { 1.0 };
                }
            }
        });
        true
    }

    pub fn move_to(&mut self, layout: &Layout<D>, grid: &Grid<D>) -> Result<(), OutOfMemory> {
        self.time = None;
        self.solids.move_to(layout, grid)?;
        self.exact.reset_on(layout)
    }
}

impl<const D: usize> Flow<D> {
    /// Puts solids into the flow; cells must be cubes. Shapes that are too thin for the cells are made thicker; returns their
    /// names.
    pub fn set_obstacles(
        &mut self,
        obstacles: Vec<Obstacle<D>>,
        boundary: Boundary,
    ) -> Result<Vec<String>, OutOfMemory> {
        if obstacles.is_empty() {
            self.obstacles = None;
            self.set_solver(false)?;
            return Ok(Vec::new());
        }
        let h = self.grid.spacing;
        assert!(h.iter().all(|s| (s / h[0] - 1.0).abs() < 1e-6), "around solids cells are cubes");
        // Thin shapes are looked for in the part that is looked at, wherever the tiles are.
        let mut solids = Solids::new(&self.grid, obstacles, boundary)?;
        let thin = solids.thicken(&self.grid, self.clock.time).into_iter().map(String::from).collect();
        if self.is_unbounded() {
            solids.move_to(&self.layout, &self.grid)?;
        }
        if self.has_surface {
            solids.expect_liquid()?;
        }
        let exact = Field::on(&self.layout, At::Center, self.grid.flat_ends(1.0))?;
        self.obstacles = Some(Obstacles { solids, exact, walls: None, time: None });
        self.set_solver(true)?;
        self.started = false;
        self.place_obstacles(self.clock.time);
        Ok(thin)
    }

    fn set_solver(&mut self, solids: bool) -> Result<(), OutOfMemory> {
        let with = With { solids, surface: self.has_surface };
        self.solver = Pressure::new(&self.grid, &self.layout, with, self.options.isa)?;
        Ok(())
    }

    /// Says that the flow is that of a liquid with a surface: see [`Flow::project_liquid`].
    pub fn expect_surface(&mut self) -> Result<(), OutOfMemory> {
        self.has_surface = true;
        // Beyond the tiles of a liquid is nothing that could push it.
        if let Some(following) = &mut self.following {
            following.air = None;
        }
        self.set_solver(self.obstacles.is_some())
    }

    /// The solids, as they are now.
    pub fn solids(&self) -> Option<&Solids<D>> {
        self.obstacles.as_ref().map(|o| &o.solids)
    }

    /// Makes sure that solids are where they are at this time.
    pub(crate) fn place_obstacles(&mut self, time: f64) {
        if let Some(obstacles) = &mut self.obstacles
            && obstacles.update(&self.grid, time)
            // A liquid tells its solver in every step where it is.
            && !self.has_surface
        {
            self.solver.set_open_faces(obstacles.solids.open(), obstacles.solids.are_still());
        }
    }

    /// Fills solids with what is beside them, for advection.
    pub(super) fn fill_obstacles(&mut self) {
        if let Some(Obstacles { solids, .. }) = &mut self.obstacles {
            for s in &mut self.substances {
                solids.fill_inside(&self.grid, &mut s.field, s.ambient);
            }
        }
    }

    /// Nothing is inside of solids.
    pub(crate) fn clear_obstacles(&mut self) {
        if let Some(Obstacles { solids, .. }) = &self.obstacles {
            self.substances.iter_mut().for_each(|s| solids.clear_inside(&mut s.field, s.ambient));
        }
    }

    /// Solids move to where they are at a time. Cells that they leave keep what was advected into them from beside the
    /// solid; what they cover was advected on with the flow, and what is left in them is none of the fluid's. The pressure
    /// of cells that they leave is the one beside them.
    pub fn move_obstacles(&mut self, time: f64) {
        let Some(Obstacles { solids, .. }) = &mut self.obstacles else { return };
        let timer = self.timings.start();
        if !solids.are_still() && !self.has_surface {
            solids.fill_inside(&self.grid, &mut self.pressure, 0.0);
        }
        self.place_obstacles(time);
        self.clear_obstacles();
        self.timings.stop(Stage::Follow, timer);
    }
}

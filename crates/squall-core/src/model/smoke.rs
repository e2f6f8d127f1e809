//! Smoke on a staggered grid (Cline, Cardon & Egbert; Fedkiw, Stam & Jensen 2001), in a box or without bounds.
//!
//! Velocities live on the faces of cells, where the projection makes them free of divergence exactly. Without bounds the
//! grid consists of tiles that follow the smoke: outside is air without end, still or moving with the wind far away.
//!
//! Differences from the papers: hot smoke rises (a sign), wind and cooling are exact in time, the pressure of the last
//! step takes part in advection (second order in time), and the limit on the step knows how fast the flow may become.

use super::{MOST_PARTS, Model, Splitting, in_parts};
use crate::embers::Embers;
use crate::field::OutOfMemory;
use crate::flow::{Flow, Moved};
use crate::grid::Grid;
use crate::parameter::ParameterList;
use crate::project::Projected;
use crate::replay::Replay;
use crate::report::StepReport;
use crate::sim::{Particles, StateVisitor, StepError};
use crate::snapshot::Snapshot;

pub use crate::flow::Options;

/// Smoke: air, and what it carries.
pub struct Smoke<const D: usize> {
    /// The air, and what it carries.
    pub flow: Flow<D>,
    /// Bits of what burns, if some fly.
    pub embers: Option<Embers<D>>,
}

impl<const D: usize> Smoke<D> {
    /// Clean air, moving with the wind if there are no bounds. Cells must be cubes.
    pub fn new(grid: Grid<D>, options: Options<D>) -> Result<Self, OutOfMemory> {
        assert!(grid.spacing.iter().all(|h| (h / grid.spacing[0] - 1.0).abs() < 1e-6), "cells are cubes");
        Ok(Smoke { flow: Flow::new(grid, options)?, embers: None })
    }

    /// One time step.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        self.flow.start()?;
        let cells = self.flow.speed() * dt;
        let (splitting, parts) = self.flow.options.splitting.resolve(cells);
        // On tiles whatever the splitting: paths do not lead further than to the next tile.
        let parts = parts.max((cells / self.flow.furthest()).ceil() as u32);
        // With lagged pressure the edge of the tiles is stable while wind goes by no more than a cell (at two the air was twice as fast as the wind).
        let windy = if splitting == Splitting::LaggedPressure { self.flow.wind_speed() * dt } else { 0.0 };
        let parts = parts.max(((windy - 1e-6).ceil() as u32).min(MOST_PARTS as u32));
        if parts > 1 {
            return in_parts(self, dt, parts);
        }
        let cfl = self.flow.begin(dt)?;
        let projected = match splitting {
            Splitting::LaggedPressure => self.lagged_pressure(dt)?,
            Splitting::Reflection => self.reflection(dt)?,
            Splitting::Plain | Splitting::Paper => self.plain(dt)?,
        };
        self.flow.advect_texture(dt);
        if let Some(embers) = &mut self.embers {
            embers.step(&mut self.flow, dt);
        }
        Ok(StepReport { cfl, splitting: splitting.name(), ..self.flow.finish(dt, projected)? })
    }

    /// v = u + dt/2 du/dt;  u* = A(u + dt/2 (f - G); v) + dt/2 (f - G);  G += grad q / dt
    fn lagged_pressure(&mut self, dt: f64) -> Result<Projected, StepError> {
        let flow = &mut self.flow;
        let (t, half) = (flow.time(), 0.5 * dt);
        flow.trace_ahead(dt);
        flow.push(t, half);
        flow.apply_pressure(half);
        flow.advect(Moved::Everything);
        flow.move_obstacles(t + dt);
        flow.balance();
        flow.emit(t, dt);
        flow.burn(dt);
        flow.lose(dt);
        flow.apply_pressure(half);
        flow.push(t + half, half);
        // After all that pushes: what pushes after an implicit step, walls would see only in the next one.
        flow.diffuse(dt)?;
        let done = flow.project(Some(dt));
        flow.accumulate_pressure(dt);
        Ok(done)
    }

    /// u1 = A(u; u) over half a step;  uh = P u1;  u2 = A(2 uh - u1; uh) over the other half;  u = P u2
    fn reflection(&mut self, dt: f64) -> Result<Projected, StepError> {
        let flow = &mut self.flow;
        let (t, half) = (flow.time(), 0.5 * dt);
        flow.trace(half);
        flow.advect(Moved::Velocity);
        flow.push(t, half);
        flow.project(None);
        flow.replace_pressure(half);
        flow.trace(dt);
        flow.advect(Moved::Substances);
        flow.trace(half);
        flow.apply_pressure(half); // the mirror image: 2 uh - u1 = uh - grad q
        flow.advect(Moved::Velocity);
        flow.move_obstacles(t + dt);
        flow.balance();
        flow.emit(t, dt);
        flow.burn(dt);
        flow.lose(dt);
        flow.push(t + half, half);
        flow.diffuse(dt)?;
        let done = flow.project(None);
        flow.replace_pressure(half);
        Ok(done)
    }

    /// One map for everything: advect, force, diffuse, project.
    fn plain(&mut self, dt: f64) -> Result<Projected, StepError> {
        let flow = &mut self.flow;
        let t = flow.time();
        flow.trace(dt);
        flow.advect(Moved::Everything);
        flow.move_obstacles(t + dt);
        flow.balance();
        flow.emit(t, dt);
        flow.burn(dt);
        flow.lose(dt);
        flow.push(t, dt);
        flow.diffuse(dt)?;
        let done = flow.project(None);
        flow.replace_pressure(dt);
        Ok(done)
    }
}

impl<const D: usize> Model<D> for Smoke<D> {
    fn flow(&self) -> &Flow<D> {
        &self.flow
    }

    fn flow_mut(&mut self) -> &mut Flow<D> {
        &mut self.flow
    }

    fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        Smoke::step(self, dt)
    }

    fn visit_own_state(&mut self, visitor: &mut dyn StateVisitor) {
        self.embers.iter_mut().for_each(|embers| embers.visit_state(visitor));
    }

    fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        self.flow.visit_schemes(visit);
        self.flow.visit_parameters(visit);
        self.embers.iter_mut().for_each(|embers| embers.visit_parameters(visit));
    }

    fn particles(&self) -> Option<Particles> {
        self.embers.as_ref().map(Embers::particles)
    }
}

impl<const D: usize> Replay for Smoke<D> {
    fn record_flow(&mut self) -> Snapshot {
        self.flow.snapshot()
    }

    fn set_flow(&mut self, flow: &Snapshot) {
        self.flow.restore(flow);
    }

    fn contents(&self) -> Snapshot {
        self.flow.contents()
    }

    fn set_contents(&mut self, contents: &Snapshot) {
        self.flow.set_contents(contents);
    }

    fn replay(&mut self, recorded: &Snapshot, sources: &[(f64, f64)], dt: f64) -> Result<StepReport, StepError> {
        let flow = &mut self.flow;
        flow.restore(recorded);
        let cfl = flow.begin(dt)?;
        // Tiles that are new know nothing of it yet.
        flow.restore(recorded);
        let t = flow.time();
        flow.trace(dt);
        flow.advect(Moved::Substances);
        flow.move_obstacles(t + dt);
        flow.balance();
        flow.diffuse_substances(dt)?;
        flow.advect_texture(dt);
        flow.emit_at(sources, dt)?;
        let done = flow.not_projected();
        Ok(StepReport { cfl, splitting: "recorded", ..flow.finish(dt, done)? })
    }
}

super::simulation!(Smoke);

//! Parameters of a flow that can change while it runs. Memory that a change needs is allocated at the start of the next step.

use super::{Flow, velocity_ends};
use crate::Real;
use crate::advect::Advection;
use crate::grid::At;
use crate::model::Splitting;
use crate::parameter::ParameterList;

const ADVECTIONS: [(&str, Advection); 3] = [
    ("maccormack", Advection::MacCormack),
    ("monotone_cubic", Advection::MonotoneCubic),
    ("semi_lagrangian", Advection::SemiLagrangian),
];

const SPLITTINGS: [Splitting; 4] =
    [Splitting::LaggedPressure, Splitting::Reflection, Splitting::Plain, Splitting::Paper];

/// Anything that is not negative.
const POSITIVE: [f64; 2] = [0.0, 1e18];

impl<const D: usize> Flow<D> {
    /// Shows how advection and the splitting of a step are chosen, for models that leave the choice.
    pub(crate) fn visit_schemes(&mut self, visit: &mut ParameterList<'_>) {
        let Self { options, .. } = self;
        let now = ADVECTIONS.iter().position(|(_, a)| *a == options.advection).unwrap_or(0);
        if let Some(k) = visit.choice("advection", "how values are carried", &ADVECTIONS.map(|(name, _)| name), now) {
            options.advection = ADVECTIONS[k].1;
        }
        let now = SPLITTINGS.iter().position(|s| *s == options.splitting).unwrap_or(0);
        if let Some(k) = visit.choice("splitting", "how a step is split", &SPLITTINGS.map(Splitting::name), now) {
            options.splitting = SPLITTINGS[k];
        }
    }

    /// Shows what every flow has.
    pub(crate) fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        visit.fixed("cells", "all fields have this size; build it anew");
        visit.fixed("size", "all fields have this size; build it anew");
        visit.fixed("boundary", "solvers are made for the sides of the box; build it anew");
        if let Some(v) = visit.number("viscosity", "m^2/s", "kinematic viscosity", POSITIVE, self.viscosity) {
            self.viscosity = v;
        }
        let doc = "what an iterative pressure solver may leave of the divergence, relative to what it found";
        if let Some(v) = visit.number("tolerance", "", doc, [1e-7, 0.1], self.options.tolerance) {
            self.options.tolerance = v;
        }
        for s in &mut self.substances {
            let name = format!("{}.diffusion", s.name);
            if let Some(v) = visit.number(&name, "m^2/s", "how fast it spreads", POSITIVE, s.diffusion) {
                s.diffusion = v;
            }
            let name = format!("{}.dissipation", s.name);
            if let Some(v) = visit.number(&name, "1/s", "how fast it vanishes", POSITIVE, s.dissipation) {
                s.dissipation = v;
            }
        }
        self.forces.iter_mut().for_each(|force| force.visit_parameters(visit));
        self.visit_fire(visit);
        if self.is_unbounded() && !self.has_surface {
            self.visit_surroundings(visit);
        }
    }

    /// Shows what is far away, where the grid follows the fluid.
    fn visit_surroundings(&mut self, visit: &mut ParameterList<'_>) {
        for c in (0..D).filter(|&c| self.grid.wind_past_sides(c).is_none()) {
            let (name, now) = (["wind.x", "wind.y", "wind.z"][c], self.options.wind[c] as f64);
            if let Some(v) = visit.number(name, "m/s", "velocity of the air far away", [-1e6, 1e6], now) {
                self.options.wind[c] = v as Real;
                let ends = velocity_ends(&self.grid, &self.options, c);
                self.velocity[c].relabel(At::Face(c), ends);
                self.before[c].relabel(At::Face(c), ends);
            }
        }
        let doc = "clean air kept around the fluid, in whole cells";
        if let Some(v) = visit.number("buffer", "cells", doc, [1.0, 1e4], self.options.buffer as f64) {
            self.options.buffer = v.round() as usize;
        }
    }
}

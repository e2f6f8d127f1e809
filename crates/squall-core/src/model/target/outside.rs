//! What smoke with targets shows to others.

use std::time::Instant;

use smallvec::SmallVec;

use super::TargetSmoke;
use crate::Real;
use crate::clock::Clock;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::force::Substance;
use crate::ledger::Ledger;
use crate::ops;
use crate::project::Projected;
use crate::report::StepReport;
use crate::sim::{FieldInfo, MatchReport, Simulation, StateVisitor, StepError};

/// However far others let things move in a step: beyond this many cells transport takes several parts.
const MOST_CELLS: f64 = 0.8;

impl<const D: usize> TargetSmoke<D> {
    /// Adds something to be carried, of which there is none; returns its place in the list.
    pub fn add_substance(&mut self, name: &str) -> Result<usize, OutOfMemory> {
        self.substances.push(Substance::new(&self.grid, name)?);
        Ok(self.substances.len() - 1)
    }

    /// Velocity on the faces of cells.
    pub fn velocity(&self) -> &VectorField<D> {
        &self.velocity
    }

    /// Lets `f` set one component of the initial velocity; the first step projects it before it carries anything.
    pub fn set_velocity_component(&mut self, a: usize, f: impl FnOnce(&mut Field<D>)) {
        f(&mut self.velocity[a]);
        self.make_incompressible();
        self.max_speed = self.velocity.iter().map(|u| ops::max_abs(u) as f64).fold(0.0, f64::max);
    }

    /// How far the simulation is.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// How the pressure is solved for.
    pub fn solver(&self) -> String {
        self.pressure.describe()
    }

    /// Kinetic energy per unit mass density, integrated over the cells.
    pub fn energy(&self) -> f64 {
        0.5 * self.velocity.iter().map(|u| ops::dot(u, u)).sum::<f64>() * self.grid.cell_volume()
    }

    /// The integral of each substance, in excess of its ambient value.
    pub fn mass(&self) -> SmallVec<[f64; 8]> {
        let cells = self.grid.cell_count() as f64;
        let excess = |s: &Substance<D>| ops::sum(&s.field) - s.ambient as f64 * cells;
        self.substances.iter().map(|s| excess(s) * self.grid.cell_volume()).collect()
    }

    pub(super) fn report(&mut self, dt: f64, projected: Projected) -> Result<StepReport, StepError> {
        let start = Instant::now();
        self.max_speed = projected.max_speed;
        let (energy, mass) = (self.energy(), self.mass());
        // A sum is finite only if its terms are (or cancel, as infinities of both signs do not: that is NaN).
        if !energy.is_finite() || !mass.iter().all(|m| m.is_finite()) {
            for (a, u) in self.velocity.iter().enumerate() {
                u.find_not_finite(["u", "v", "w"][a], &self.clock)?;
            }
            for s in &self.substances {
                s.field.find_not_finite(&s.name, &self.clock)?;
            }
        }
        self.timings.measure += start.elapsed().as_secs_f64();
        Ok(StepReport {
            dt,
            cfl: self.cells_per_second() * dt,
            max_speed: projected.max_speed,
            max_divergence: projected.max_divergence,
            relative_divergence: projected.relative_divergence,
            energy,
            splitting: "",
            ledger: Ledger::default(),
            mass,
            cells: self.grid.cell_count() as u64,
            pressure: projected.solve,
            timings: self.timings.clone(),
        })
    }

    fn scalar(&self, name: &str) -> Option<&Field<D>> {
        let goal = |s: &str| {
            let substance = self.substances.iter().position(|o| o.name == s)?;
            self.guided.iter().find(|g| g.substance == substance).map(|g| g.goal())
        };
        match name.strip_prefix("target of ") {
            Some(smoke) => goal(smoke),
            None => self.substances.iter().find(|s| s.name == name).map(|s| &s.field),
        }
    }
}

impl<const D: usize> Simulation for TargetSmoke<D> {
    fn cells(&self) -> &[usize] {
        &self.grid.cells
    }

    fn placement(&self) -> (Vec<f64>, Vec<f64>) {
        (self.grid.origin.to_vec(), self.grid.spacing.to_vec())
    }

    fn time(&self) -> f64 {
        self.clock.time
    }

    fn cells_per_second(&self) -> f64 {
        let solids = self.solids().map_or(0.0, |s| s.max_speed());
        self.max_speed.max(solids) / self.grid.min_spacing()
    }

    /// `dt = min(c h / U, sqrt(c h / a))`, where `a = v_f max(rt) max|g|` is what the targets may do to a fluid at rest.
    fn longest_step(&self, cfl: f64) -> f64 {
        let cells = cfl.min(MOST_CELLS);
        let pulled = |g: &super::Guided<D>| g.drive_at(self.clock.time).abs() * g.aim.thickest * g.aim.steepest;
        let acceleration: f64 = self.guided.iter().map(pulled).sum();
        let from_rest = (cells * self.grid.min_spacing() / acceleration).sqrt();
        (cells / self.cells_per_second()).min(from_rest)
    }

    fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        TargetSmoke::step(self, dt)
    }

    fn snap_time(&mut self, t: f64) {
        self.clock.time = t;
        self.place_obstacles(t);
    }

    fn fields(&self) -> Vec<FieldInfo> {
        let scalar = |name: String| FieldInfo { name, components: 1 };
        let mut all: Vec<_> = self.substances.iter().map(|s| scalar(s.name.clone())).collect();
        let goals = self.guided.iter().map(|g| format!("target of {}", self.substances[g.substance].name));
        all.extend(goals.map(scalar));
        all.push(FieldInfo { name: "velocity".to_string(), components: D });
        all
    }

    fn read(&self, name: &str, component: usize, out: &mut Vec<f32>) -> bool {
        if name != "velocity" {
            let texture = || self.texture.as_ref()?.field(name, component);
            return self.scalar(name).or_else(texture).map(|field| field.copy_to(out)).is_some();
        }
        let u = &self.velocity[component];
        out.clear();
        for row in (0..u.layout().rows()).map(|r| u.layout().row(r)) {
            let (low, high) = (u.row(row), u.row(row.up(component)));
            out.extend(low.iter().zip(high).map(|(l, h): (&Real, &Real)| 0.5 * (l + h)));
        }
        true
    }

    fn texture_weights(&self) -> Option<[f64; 3]> {
        self.texture.as_ref().map(|texture| texture.weights(self.clock.time))
    }

    fn match_report(&mut self) -> Option<MatchReport> {
        let metrics = self.metrics();
        let names = self.guided.iter().map(|g| self.substances[g.substance].name.clone());
        Some(MatchReport { energy: self.energy(), smokes: names.zip(metrics).collect() })
    }

    fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        visitor.integer("steps", &mut self.clock.steps);
        visitor.real("time", &mut self.clock.time);
        visitor.real("last_dt", &mut self.clock.last_dt);
        visitor.real("max_speed", &mut self.max_speed);
        // Whole arrays, as last faces lie behind the cells; ghosts up to date, so that equal states are equal bytes.
        let show = |visitor: &mut dyn StateVisitor, name: &str, field: &mut Field<D>| {
            field.fill_halo();
            visitor.array(name, field.data_mut());
        };
        self.velocity.iter_mut().for_each(|f| show(visitor, "velocity", f));
        for s in &mut self.substances {
            show(visitor, &s.name, &mut s.field);
        }
        if let Some(texture) = &mut self.texture {
            texture.visit_state(visitor);
        }
        for guided in &mut self.guided {
            let aim = &mut guided.aim;
            let mut active = aim.active.map_or(0, |k| k as u64 + 1);
            visitor.integer("target", &mut active);
            aim.active = (active as usize).checked_sub(1);
            visitor.real("target_since", &mut aim.since);
            visitor.real("target_weight", &mut aim.weight);
            visitor.real("target_sigma", &mut aim.sigma);
            visitor.real("thickest", &mut aim.thickest);
            aim.first_errors.iter_mut().for_each(|e| visitor.real("first_error", e));
            show(visitor, "target_before", &mut aim.before);
            show(visitor, "target_next", &mut aim.next);
            // Everything else follows, to the bit.
            aim.rebuild(&self.grid, &mut self.blur);
        }
        self.place_obstacles(self.clock.time);
    }
}

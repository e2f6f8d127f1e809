//! What a fluid shows to others.

use std::time::Instant;

use smallvec::SmallVec;

use super::StableFluids;
use crate::clock::Clock;
use crate::field::{Field, VectorField};
use crate::ledger::Ledger;
use crate::ops;
use crate::project::Projected;
use crate::report::StepReport;
use crate::sim::{FieldInfo, NotFinite, Simulation, StateVisitor, StepError};

impl<const D: usize> StableFluids<D> {
    /// Velocity at cell centres.
    pub fn velocity(&self) -> &VectorField<D> {
        &self.velocity
    }

    /// The velocity that carries things: on faces, free of divergence, unless the options say otherwise.
    pub fn carrier(&self) -> &VectorField<D> {
        &self.carrier
    }

    /// Pressure over density, in square metres per second squared.
    pub fn pressure(&self) -> &Field<D> {
        &self.pressure
    }

    /// How far the simulation is.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// How the pressure is solved for.
    pub fn solver(&self) -> String {
        self.poisson.describe()
    }

    /// Kinetic energy per unit mass density, integrated over the box.
    pub fn energy(&self) -> f64 {
        0.5 * self.velocity.iter().map(|u| ops::dot(u, u)).sum::<f64>() * self.grid.cell_volume()
    }

    /// The integral of each substance over the box.
    pub fn mass(&self) -> SmallVec<[f64; 8]> {
        self.substances.iter().map(|s| ops::sum(&s.field) * self.grid.cell_volume()).collect()
    }

    pub(super) fn report(&mut self, dt: f64, cfl: f64, projected: Projected) -> Result<StepReport, StepError> {
        let start = Instant::now();
        let energy = self.energy();
        let mass = self.mass();
        // A sum is finite only if its terms are (or cancel, as infinities of both signs do not: that is NaN).
        if !energy.is_finite() || !mass.iter().all(|m| m.is_finite()) {
            self.find_not_finite()?;
        }
        self.timings.measure += start.elapsed().as_secs_f64();
        Ok(StepReport {
            dt,
            cfl,
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

    fn find_not_finite(&self) -> Result<(), NotFinite> {
        let velocity = self.velocity.iter().enumerate().map(|(a, f)| (["u", "v", "w"][a], f));
        let substances = self.substances.iter().map(|s| (s.name.as_str(), &s.field));
        for (name, field) in velocity.chain(substances) {
            field.find_not_finite(name, &self.clock)?;
        }
        Ok(())
    }
}

impl<const D: usize> Simulation for StableFluids<D> {
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
        self.speed()
    }

    fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        StableFluids::step(self, dt)
    }

    fn snap_time(&mut self, t: f64) {
        self.clock.time = t;
    }

    fn fields(&self) -> Vec<FieldInfo> {
        let scalar = |name: &str| FieldInfo { name: name.to_string(), components: 1 };
        let mut all: Vec<_> = self.substances.iter().map(|s| scalar(&s.name)).collect();
        all.push(FieldInfo { name: "velocity".to_string(), components: D });
        all.push(scalar("pressure"));
        all
    }

    fn read(&self, name: &str, component: usize, out: &mut Vec<f32>) -> bool {
        let field = match name {
            "velocity" => self.velocity.get(component),
            "pressure" => Some(&self.pressure),
            _ => {
                let substance = self.substances.iter().find(|s| s.name == name).map(|s| &s.field);
                substance.or_else(|| self.texture.as_ref()?.field(name, component))
            }
        };
        field.map(|f| f.copy_to(out)).is_some()
    }

    fn texture_weights(&self) -> Option<[f64; 3]> {
        self.texture.as_ref().map(|texture| texture.weights(self.clock.time))
    }

    fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        visitor.integer("steps", &mut self.clock.steps);
        visitor.real("time", &mut self.clock.time);
        visitor.real("last_dt", &mut self.clock.last_dt);
        // Whole arrays, as last faces lie behind the cells; ghosts up to date, so that equal states are equal bytes.
        let mut show = |name: &str, field: &mut Field<D>| {
            field.fill_halo();
            visitor.array(name, field.data_mut());
        };
        self.velocity.iter_mut().for_each(|f| show("velocity", f));
        self.carrier.iter_mut().for_each(|f| show("carrier", f));
        self.carrier_before.iter_mut().for_each(|f| show("carrier_before", f));
        show("pressure", &mut self.pressure);
        for s in &mut self.substances {
            show(&s.name, &mut s.field);
        }
        if let Some(texture) = &mut self.texture {
            texture.visit_state(visitor);
        }
    }
}

//! What smoke shows to others.

use std::time::Instant;

use smallvec::SmallVec;

use super::Smoke;
use crate::clock::Clock;
use crate::field::{Field, Pad, VectorField};
use crate::layout::tile_width;
use crate::ledger::Ledger;
use crate::ops;
use crate::project::Projected;
use crate::report::StepReport;
use crate::sim::{FieldInfo, NotFinite, Simulation, StateVisitor, StepError};
use crate::volume::{BLOCK, BLOCK_CELLS, Volume};

impl<const D: usize> Smoke<D> {
    /// Velocity on the faces of cells.
    pub fn velocity(&self) -> &VectorField<D> {
        &self.velocity
    }

    /// Lets `f` set one component of the initial velocity.
    pub fn set_velocity_component(&mut self, a: usize, f: impl FnOnce(&mut Field<D>)) {
        f(&mut self.velocity[a]);
        self.max_speed = self.velocity.iter().map(|u| ops::max_abs(u) as f64).fold(0.0, f64::max);
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
        self.solver.describe()
    }

    /// Kinetic energy per unit mass density, integrated over the cells.
    pub fn energy(&self) -> f64 {
        0.5 * self.velocity.iter().map(|u| ops::dot(u, u)).sum::<f64>() * self.grid.cell_volume()
    }

    /// The integral of each substance, in excess of its ambient value.
    pub fn mass(&self) -> SmallVec<[f64; 8]> {
        let cells = self.layout.cell_count() as f64;
        let excess = |s: &crate::force::Substance<D>| ops::sum(&s.field) - s.ambient as f64 * cells;
        self.substances.iter().map(|s| excess(s) * self.grid.cell_volume()).collect()
    }

    pub(super) fn report(&mut self, dt: f64, cfl: f64, projected: Projected) -> Result<StepReport, StepError> {
        let start = Instant::now();
        self.acceleration = (projected.max_speed - self.max_speed).abs() / dt;
        self.max_speed = projected.max_speed;
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
            cells: self.layout.cell_count() as u64,
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

    /// Of what lives at cell centres.
    fn centered(&self, name: &str, component: usize) -> Option<&Field<D>> {
        match name {
            "pressure" => Some(&self.pressure),
            _ => {
                let substance = self.substances.iter().find(|s| s.name == name).map(|s| &s.field);
                substance.or_else(|| self.texture.as_ref()?.field(name, component))
            }
        }
    }
}

impl<const D: usize> Simulation for Smoke<D> {
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

    /// `dt = k h / (U + sqrt(k h a))`: the flow may become faster during the step.
    fn longest_step(&self, cfl: f64) -> f64 {
        let h = self.grid.min_spacing();
        let speed = self.speed() * h;
        cfl * h / (speed + (cfl * h * self.acceleration).sqrt())
    }

    fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        Smoke::step(self, dt)
    }

    fn snap_time(&mut self, t: f64) {
        self.clock.time = t;
        self.place_obstacles(t);
    }

    fn fields(&self) -> Vec<FieldInfo> {
        let scalar = |name: &str| FieldInfo { name: name.to_string(), components: 1 };
        let mut all: Vec<_> = self.substances.iter().map(|s| scalar(&s.name)).collect();
        all.push(FieldInfo { name: "velocity".to_string(), components: D });
        all.push(scalar("pressure"));
        all
    }

    fn read(&self, name: &str, component: usize, out: &mut Vec<f32>) -> bool {
        let faces = (name == "velocity").then(|| &self.velocity[component]);
        let Some(field) = faces.or_else(|| self.centered(name, component)) else { return false };
        out.clear();
        let cells = self.grid.cells;
        for r in 0..cells[1..].iter().product::<usize>() {
            let mut index = [0isize; D];
            let mut rest = r;
            for a in 1..D {
                index[a] = (rest % cells[a]) as isize;
                rest /= cells[a];
            }
            for x in 0..cells[0] {
                index[0] = x as isize;
                let here = field.get_signed(index);
                out.push(if faces.is_some() {
                    index[component] += 1;
                    let mean = 0.5 * (here + field.get_signed(index));
                    index[component] -= 1;
                    mean
                } else {
                    here
                });
            }
        }
        true
    }

    fn volume(&self, name: &str, component: usize, out: &mut Volume) -> bool {
        let faces = (name == "velocity").then(|| &self.velocity[component]);
        let Some(field) = faces.or_else(|| self.centered(name, component)) else { return false };
        if D != 3 {
            return false;
        }
        let background = match field.ends()[0] {
            crate::Ends::Unbounded(value) => value,
            _ => self.substances.iter().find(|s| s.name == name).map_or(0.0, |s| s.ambient),
        };
        let (origin, spacing) = (std::array::from_fn(|a| self.grid.origin[a]), self.grid.spacing[0]);
        let Some(tiles) = self.layout.as_tiles() else {
            let mut values = Vec::new();
            self.read(name, component, &mut values);
            let cells = std::array::from_fn(|a| self.grid.cells[a]);
            *out = Volume::from_dense(origin, spacing, background, cells, &values);
            return true;
        };
        *out = Volume { origin, spacing, background, ..Volume::default() };
        // Every tile is made of blocks; those that hold nothing but the background are left out.
        let per_side = tile_width::<D>() / BLOCK;
        let mut blocks: Vec<([i32; 3], Vec<f32>)> = Vec::new();
        for t in 0..tiles.coords().len() {
            let mut values = vec![Vec::with_capacity(BLOCK_CELLS); per_side.pow(3)];
            for r in 0..self.layout.rows_per_part() {
                let row = self.layout.row(t * self.layout.rows_per_part() + r);
                let mut pad = Pad::default();
                let here = field.row(row);
                let next = if faces.is_some() { field.up(row, component, &mut pad) } else { here };
                let (y, z) = (r % tile_width::<D>() / BLOCK, r / tile_width::<D>() / BLOCK);
                for bx in 0..per_side {
                    let block = &mut values[bx + per_side * (y + per_side * z)];
                    block.extend((bx * BLOCK..(bx + 1) * BLOCK).map(|x| 0.5 * (here[x] + next[x])));
                }
            }
            for (b, values) in values.into_iter().enumerate() {
                if values.iter().any(|&v| v != background) {
                    let place = [b % per_side, b / per_side % per_side, b / per_side / per_side];
                    let block = std::array::from_fn(|a| tiles.coords()[t][a] * per_side as i32 + place[a] as i32);
                    blocks.push((block, values));
                }
            }
        }
        blocks.sort_unstable_by_key(|&(block, _)| block);
        for (block, values) in blocks {
            out.blocks.push(block);
            out.values.extend_from_slice(&values);
        }
        true
    }

    fn texture_weights(&self) -> Option<[f64; 3]> {
        self.texture.as_ref().map(|texture| texture.weights(self.clock.time))
    }

    fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        visitor.integer("steps", &mut self.clock.steps);
        visitor.real("time", &mut self.clock.time);
        visitor.real("last_dt", &mut self.clock.last_dt);
        visitor.real("max_speed", &mut self.max_speed);
        visitor.real("acceleration", &mut self.acceleration);
        self.visit_tiles(visitor);
        // Whole arrays, as last faces lie behind the cells; ghosts up to date, so that equal states are equal bytes.
        let mut show = |name: &str, field: &mut Field<D>| {
            field.fill_halo();
            visitor.array(name, field.data_mut());
        };
        self.velocity.iter_mut().for_each(|f| show("velocity", f));
        self.velocity_before.iter_mut().for_each(|f| show("velocity_before", f));
        show("pressure", &mut self.pressure);
        for s in &mut self.substances {
            show(&s.name, &mut s.field);
        }
        if let Some(texture) = &mut self.texture {
            texture.visit_state(visitor);
        }
        // How fast solids are limits the next step.
        self.place_obstacles(self.clock.time);
    }
}

impl<const D: usize> Smoke<D> {
    /// The tiles come first: restoring them makes room for everything else.
    fn visit_tiles(&mut self, visitor: &mut dyn StateVisitor) {
        let Some(tiles) = self.layout.as_tiles() else { return };
        let mut count = tiles.coords().len() as u64;
        visitor.integer("tiles", &mut count);
        // Coordinates are below 2^20, ages below 2^8: single precision holds them exactly.
        let mut coords: Vec<f32> = tiles.coords().iter().flatten().map(|&c| c as f32).collect();
        let mut ages: Vec<f32> = (0..tiles.coords().len()).map(|t| *self.ages.get(t).unwrap_or(&0) as f32).collect();
        coords.resize(count as usize * D, 0.0);
        ages.resize(count as usize, 0.0);
        visitor.array("tile_coords", &mut coords);
        visitor.array("tile_ages", &mut ages);
        let restored: Vec<[i32; D]> = coords.chunks_exact(D).map(|c| std::array::from_fn(|a| c[a] as i32)).collect();
        if restored != tiles.coords() {
            self.move_to(restored, Vec::new()).expect("memory for the tiles");
        }
        self.ages = ages.iter().map(|&a| a as u8).collect();
    }
}

//! Begin and end of a step, and the outside view of a flow: reports, named fields, saved state.

use smallvec::SmallVec;

use super::Flow;
use super::advection::fastest;
use super::follow::Air;
use crate::advect::{Advection, MapScratch};
use crate::clock::Clock;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::force::Substance;
use crate::grid::{At, Ends};
use crate::layout::tile_width;
use crate::ops::{self, Sums};
use crate::project::Projected;
use crate::report::{SolveReport, Stage, StepReport, Timings};
use crate::sample::furthest;
use crate::sim::{FieldInfo, NotFinite, StateVisitor, StepError};
use crate::visit::visit_list;
use crate::volume::{BLOCK, BLOCK_CELLS, Volume};

/// The time over which forces are tried at the start, to learn how fast they will be, in seconds.
const TRIAL: f64 = 1e-4;

/// So often the flow around obstacles on tiles is found at the start: each time what they do to the air outside is known better.
const ROUNDS_TO_START: usize = 5;

impl<const D: usize> Flow<D> {
    /// Begins a step of `dt` seconds: memory, tiles and solids are where they have to be, the accounts are open. Returns how
    /// many cells things move by, at most.
    pub fn begin(&mut self, dt: f64) -> Result<f64, StepError> {
        assert!(dt > 0.0 && dt.is_finite(), "a time step must be positive, not {dt}");
        if let Some(error) = self.not_restored.take() {
            return Err(error);
        }
        self.go_on()?;
        self.timings = Timings::default();
        let timer = self.timings.start();
        self.start()?;
        self.step = dt;
        self.viscous = SolveReport::NONE;
        self.books.open(&self.grid, &self.substances, self.obstacles.as_ref(), &self.velocity);
        // Where solids were last says how fast they are, and what new tiles hold.
        self.place_obstacles(self.clock.time);
        let cfl = self.speed() * dt;
        self.follow(cfl, dt)?;
        self.weaken_pressure(dt);
        self.forces.iter_mut().try_for_each(|f| f.prepare(&self.grid, &self.layout))?;
        self.timings.stop(Stage::Follow, timer);
        Ok(cfl)
    }

    /// Makes the initial velocity free of divergence, and learns how strong the forces are. The first step does this if
    /// nobody did before; who looks at the initial state does it first.
    pub fn start(&mut self) -> Result<(), OutOfMemory> {
        self.allocate()?;
        if self.started {
            return Ok(());
        }
        self.started = true;
        // An obstacle that the first tiles cut off would push air out of their ends.
        // If it reaches too far, the first step says so.
        if let Err(StepError::OutOfMemory(error)) = self.follow(1.0, TRIAL) {
            return Err(error);
        }
        self.place_obstacles(self.clock.time);
        self.clear_obstacles();
        self.velocity.iter_mut().for_each(|u| u.set_end_faces());
        self.start_velocity();
        for (before, now) in self.before.iter_mut().zip(&self.velocity) {
            before.copy_all(now);
        }
        self.step = TRIAL;
        self.push(self.clock.time, TRIAL);
        let gained = self.velocity.iter_mut().zip(&self.before).map(|(u, before)| {
            u.par_rows(|row, u| u.iter_mut().zip(before.row(row)).for_each(|(u, b)| *u -= b));
            let gained = ops::max_abs(u) as f64;
            u.copy_all(before);
            gained
        });
        self.acceleration = gained.fold(0.0, f64::max) / TRIAL;
        self.before_by = 0.0;
        Ok(())
    }

    /// Makes the initial velocity free of divergence. What it had of that is no pressure that goes on acting.
    fn start_velocity(&mut self) {
        let solids_outside = Air::of(&mut self.following).is_some_and(|air| air.far.start_at_once(true));
        for (before, now) in self.before.iter_mut().zip(&self.velocity) {
            before.copy_all(now);
        }
        for round in 0..if solids_outside { ROUNDS_TO_START } else { 1 } {
            if round > 0 {
                self.velocity.iter_mut().zip(&self.before).for_each(|(u, before)| u.copy_all(before));
            }
            self.max_speed = self.project(None).max_speed;
        }
        if let Some(air) = Air::of(&mut self.following) {
            air.far.start_at_once(false);
        }
    }

    /// Makes sure that there is memory for what is asked for, whatever was changed since the last step.
    fn allocate(&mut self) -> Result<(), OutOfMemory> {
        // Textures are always carried by the sharper scheme.
        let scheme = if self.texture.is_some() { Advection::MacCormack } else { self.options.advection };
        if scheme != self.scratch_for {
            self.scratch = MapScratch::new(&self.layout, scheme)?;
            self.scratch_for = scheme;
        }
        self.forces.iter_mut().try_for_each(|f| f.prepare(&self.grid, &self.layout))?;
        self.allow_swelling()?;
        if let (Some(air), true) = (Air::of(&mut self.following), self.obstacles.is_some()) {
            air.far.allow_solids(&self.layout)?;
        }
        Ok(())
    }

    /// Makes room for how much fluid appears, if some ever does.
    fn allow_swelling(&mut self) -> Result<(), OutOfMemory> {
        if self.swelling.is_none() && (self.combustion.is_some() || self.sources.iter().any(|s| s.swells())) {
            self.swelling = Some(Field::on(&self.layout, At::Center, self.grid.pressure_ends())?);
        }
        Ok(())
    }

    /// Ends a step: the clock goes on, and the report is made.
    pub fn finish(&mut self, dt: f64, projected: Projected) -> Result<StepReport, StepError> {
        let energy = projected.energy.unwrap_or_else(|| self.energy());
        self.report(dt, projected, energy)
    }

    /// [`Flow::finish`] with an energy that the model knows better.
    pub(crate) fn report(&mut self, dt: f64, projected: Projected, energy: f64) -> Result<StepReport, StepError> {
        self.go_on()?;
        self.clock.tick(dt);
        let timer = self.timings.start();
        let cfl = self.speed() * dt;
        self.acceleration = (projected.max_speed - self.max_speed).abs() / dt;
        self.max_speed = projected.max_speed;
        let Self { grid, substances, obstacles, velocity, books, .. } = self;
        let ledger = books.close(grid, substances, obstacles.as_ref(), velocity, dt);
        // A sum is finite only if its terms are (or cancel, as infinities of both signs do not: that is NaN). The last faces are in
        // no sum.
        let on_last = || self.velocity.iter().any(|u| u.find_last(|v| !v.is_finite()).is_some());
        if !energy.is_finite() || self.books.lost_in.is_some() || on_last() {
            self.find_not_finite()?;
        }
        self.timings.stop(Stage::Measure, timer);
        // Paths that should have led further than they could: what came of them is wrong.
        if let Some(cells) = self.scratch.too_far() {
            return Err(too_fast(&self.velocity, &self.clock, cells, furthest::<D>() as f64));
        }
        Ok(StepReport {
            dt,
            cfl,
            max_speed: projected.max_speed,
            max_divergence: projected.max_divergence,
            relative_divergence: projected.relative_divergence,
            divergence_promised: if self.solver.is_direct() { 2.0 * self.refine_above } else { f64::INFINITY },
            energy,
            splitting: "",
            mass: ledger.substances.iter().map(|account| account.after).collect(),
            ledger,
            cells: self.layout.cell_count() as u64,
            pressure: projected.solve,
            viscous: self.viscous.clone(),
            timings: self.timings.clone(),
        })
    }

    /// An error if the step is to be cancelled.
    pub fn go_on(&self) -> Result<(), StepError> {
        if self.cancel.is_cancelled() { Err(StepError::Cancelled) } else { Ok(()) }
    }

    fn find_not_finite(&self) -> Result<(), NotFinite> {
        let stage = self.books.lost_in.unwrap_or("end of step");
        let velocity = self.velocity.iter().enumerate().map(|(a, f)| (["u", "v", "w"][a], f));
        let substances = self.substances.iter().map(|s| (s.name.as_str(), &s.field));
        for (name, field) in velocity.chain(substances) {
            field.find_not_finite(name, &self.clock, stage)?;
        }
        Ok(())
    }

    /// The longest step in which nothing moves by more than `cfl` cells, although forces go on: `dt = k / (U + sqrt(k a))` with
    /// the speed `U` and the acceleration `a` in cells.
    pub fn longest_step(&self, cfl: f64) -> f64 {
        let sources = self.sources.iter().map(|s| s.speed()).fold(0.0, f64::max) / self.grid.min_spacing();
        let speed = self.speed().max(sources);
        let solids =
            self.solids().map_or(f64::INFINITY, |s| s.keep_within(cfl * self.grid.min_spacing(), self.clock.time));
        (cfl / (speed + (cfl * self.acceleration / self.grid.min_spacing()).sqrt())).min(solids)
    }

    /// Says that the time is exactly `t` now: frames fall on exact times however many steps led there.
    pub fn snap_time(&mut self, t: f64) {
        self.clock.time = t;
        self.place_obstacles(t);
    }

    /// Kinetic energy per unit mass density, integrated over the cells.
    pub fn energy(&self) -> f64 {
        let squares = self.velocity.iter().map(|u| Sums::of(self.options.isa, u).squares).sum::<f64>();
        0.5 * squares * self.grid.cell_volume()
    }

    /// The integral of each substance over all cells, in excess of its ambient value.
    pub fn mass(&self) -> SmallVec<[f64; 8]> {
        let cells = self.layout.cell_count() as f64;
        let excess = |s: &Substance<D>| ops::sum(&s.field) - s.ambient as f64 * cells;
        self.substances.iter().map(|s| excess(s) * self.grid.cell_volume()).collect()
    }

    /// What every flow has: its substances, velocity and pressure.
    pub fn fields(&self) -> Vec<FieldInfo> {
        let scalar = |name: &str| FieldInfo { name: name.to_string(), components: 1 };
        let mut all: Vec<_> = self.substances.iter().map(|s| scalar(&s.name)).collect();
        all.push(FieldInfo { name: "velocity".to_string(), components: D });
        all.push(scalar("pressure"));
        all
    }

    /// The field that is called so.
    pub fn field(&self, name: &str, component: usize) -> Option<&Field<D>> {
        match name {
            "velocity" => self.velocity.get(component),
            "pressure" => Some(&self.pressure),
            _ => {
                let substance = self.substances.iter().find(|s| s.name == name).map(|s| &s.field);
                substance.or_else(|| self.texture.as_ref()?.field(name, component))
            }
        }
    }

    /// The number that is called so: `texture_0.weight` and so on, what each set of texture coordinates counts now.
    pub fn scalar(&self, name: &str) -> Option<f64> {
        let set = name.strip_prefix("texture_")?.strip_suffix(".weight")?.parse::<usize>().ok()?;
        self.texture.as_ref()?.weights(self.time()).get(set).copied()
    }

    /// Copies a field of this flow into `out`, one value for each cell that is looked at, x fastest; of values on faces the
    /// mean over each cell.
    pub(crate) fn read(&self, field: &Field<D>, out: &mut Vec<f32>) {
        out.clear();
        let own = match field.at() {
            At::Face(a) => Some(a),
            _ => None,
        };
        if self.layout.as_tiles().is_none() {
            for row in (0..self.layout.rows()).map(|r| self.layout.row(r)) {
                let here = field.row(row);
                match own {
                    None => out.extend_from_slice(here),
                    Some(a) => out.extend(here.iter().zip(field.row(row.up(a))).map(|(l, h)| 0.5 * (l + h))),
                }
            }
            return;
        }
        let cells = self.grid.cells;
        let (mut near, mut next) = (self.layout.cursor(), self.layout.cursor());
        for r in 0..cells[1..].iter().product::<usize>() {
            let mut index = [0isize; D];
            let mut rest = r;
            for a in 1..D {
                index[a] = (rest % cells[a]) as isize;
                rest /= cells[a];
            }
            for x in 0..cells[0] {
                index[0] = x as isize;
                let here = field.data[near.offset(index)];
                out.push(own.map_or(here, |a| {
                    let mut beside = index;
                    beside[a] += 1;
                    0.5 * (here + field.data[next.offset(beside)])
                }));
            }
        }
    }

    /// A field of this flow at cell centres, wherever it is; `false` if there are not three dimensions.
    pub(crate) fn read_volume(&self, name: &str, field: &Field<D>, out: &mut Volume) -> bool {
        if D != 3 || self.grid.spacing.iter().any(|h| (h / self.grid.spacing[0] - 1.0).abs() > 1e-6) {
            return false;
        }
        let ambient = || self.substances.iter().find(|s| s.name == name).map_or(0.0, |s| s.ambient);
        let background = field.ends().into_iter().find_map(Ends::outside).unwrap_or_else(ambient);
        let (origin, spacing) = (std::array::from_fn(|a| self.grid.origin[a]), self.grid.spacing[0]);
        let Some(tiles) = self.layout.as_tiles() else {
            let mut values = Vec::new();
            self.read(field, &mut values);
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
                let next = if let At::Face(a) = field.at() { field.up(row, a, &mut pad) } else { here };
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

    /// Shows the visitor everything that the next step depends on; what a model has besides comes after it.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        visitor.integer("steps", &mut self.clock.steps);
        visitor.real("time", &mut self.clock.time);
        visitor.real("last_dt", &mut self.clock.last_dt);
        visitor.real("max_speed", &mut self.max_speed);
        visitor.real("acceleration", &mut self.acceleration);
        visitor.real("before_by", &mut self.before_by);
        visitor.real("swelled", &mut self.swelled);
        let speeds = [self.clock.last_dt, self.max_speed, self.acceleration, self.before_by];
        if !(self.clock.time.is_finite()
            && self.swelled.is_finite()
            && speeds.iter().all(|v| (0.0..f64::INFINITY).contains(v)))
        {
            visitor.refuse("its time, speed or acceleration is no number that can be");
            self.clock.time = 0.0;
        }
        let mut started = u64::from(self.started);
        visitor.integer("started", &mut started);
        self.started = started != 0;
        self.visit_tiles(visitor);
        // Whole arrays, as last faces lie behind the cells; ghosts up to date, so that equal states are equal bytes.
        self.velocity.iter_mut().for_each(|f| show(visitor, "velocity", f));
        self.before.iter_mut().for_each(|f| show(visitor, "velocity_before", f));
        show(visitor, "pressure", &mut self.pressure);
        if let (Some(air), true) = (Air::of(&mut self.following), self.obstacles.is_some()) {
            if let Err(error) = air.far.allow_solids(&self.layout) {
                self.not_restored = Some(error.into());
            }
            air.far.induced().into_iter().for_each(|f| show(visitor, "induced_charges", f));
        }
        // What swelled in the last step is told apart from what advection gains in the next.
        if let Err(error) = self.allow_swelling() {
            self.not_restored = Some(error.into());
        }
        self.swelling.iter_mut().for_each(|f| show(visitor, "swelling", f));
        for s in &mut self.substances {
            show(visitor, &s.name, &mut s.field);
        }
        if let Some(texture) = &mut self.texture {
            texture.visit_state(visitor);
        }
        self.books.visit_state(visitor, self.substances.len());
        if let Some(air) = Air::of(&mut self.following) {
            air.far.forget_step();
        }
        // How fast things are limits the next step.
        self.fastest = fastest(&self.velocity, &self.grid);
        self.place_obstacles(self.clock.time);
    }

    /// The tiles come first: restoring them makes room for everything else.
    fn visit_tiles(&mut self, visitor: &mut dyn StateVisitor) {
        let (Some(tiles), Some(following)) = (self.layout.as_tiles(), &mut self.following) else { return };
        let mut coords: Vec<i32> = tiles.coords().iter().flatten().copied().collect();
        let mut ages = following.ages.clone();
        visit_list(visitor, "tile_coords", &mut coords);
        visit_list(visitor, "tile_ages", &mut ages);
        let restored: Vec<[i32; D]> = coords.chunks_exact(D).map(|c| std::array::from_fn(|a| c[a])).collect();
        if restored != tiles.coords() && !restored.is_empty() {
            self.move_or_fail(restored);
        }
        let count = self.layout.as_tiles().map_or(0, |tiles| tiles.coords().len());
        if coords.len() != D * count || ages.len() != count {
            visitor.refuse("its tiles are none, or not different ones, or have no age each");
            ages.resize(count, 0);
        }
        if let Some(following) = &mut self.following {
            following.ages = ages;
        }
    }
}

impl<const D: usize> Flow<D> {
    /// Moves to tiles that a state asks for. If that cannot be, the next step is refused.
    pub(super) fn move_or_fail(&mut self, coords: Vec<[i32; D]>) {
        let moved = self.check_reach(&coords).and_then(|()| Ok(self.move_to(coords)?));
        self.not_restored = moved.err();
    }
}

/// Shows a whole field, ghosts up to date.
pub(crate) fn show<const D: usize>(visitor: &mut dyn StateVisitor, name: &str, field: &mut Field<D>) {
    field.fill_halo();
    visitor.array(name, field.data_mut());
    if !field.data_mut().iter().all(|v| v.is_finite()) {
        visitor.refuse(&format!("`{name}` has values that are not finite"));
    }
}

/// An error that names the fastest place.
pub(crate) fn too_fast<const D: usize>(flow: &VectorField<D>, clock: &Clock, cells: f64, limit: f64) -> StepError {
    let mut found = (0, [0; D], 0, 0.0);
    for (a, u) in flow.iter().enumerate() {
        for row in (0..u.layout().rows()).map(|r| u.layout().row(r)) {
            for (x, v) in u.row(row).iter().enumerate() {
                // The bits of sizes are ordered like the sizes, with NaN on top.
                if v.abs().to_bits() > found.0 {
                    let mut cell = row.index;
                    cell[0] += x as isize;
                    found = (v.abs().to_bits(), cell, a, *v);
                }
            }
        }
    }
    StepError::TooFast {
        field: ["u", "v", "w"][found.2].to_string(),
        value: found.3,
        cell: found.1.to_vec(),
        time: clock.time,
        step: clock.steps,
        cells,
        limit,
    }
}

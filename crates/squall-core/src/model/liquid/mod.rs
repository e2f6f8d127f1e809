//! Liquids: a free surface tracked by particles.
//!
//! The step of Foster & Fedkiw 2001 and Zhu & Bridson 2005 with what came after them: affine transfers (Jiang et al. 2015), a surface that
//! lies between cells (Gibou et al. 2002; Enright et al. 2003), solids that cut them (Batty, Bertails & Bridson 2007).
//!
//! The step is of second order: particles get half of the last pressure's push before they move, so that the projection only has to find
//! the other half (without that a drop that turns loses half of its spin in a turn), and they move with the velocity in the middle
//! of the step, extrapolated from the last two. `p = p/2 + q/dt` forgets what is no longer true within a few steps; adding to
//! the last pressure, as smoke does, would never forget what it was on the surface.
//!
//! Particles are the liquid: they carry momentum and say where it is. The grid makes their motion free of divergence. Where particles
//! crowd together they are moved apart, and where there are holes inside they are closed, by a motion of its own whose divergence is what
//! is missing, so that the volume stays what it was. It moves particles and gives them no momentum: with it in the flow a falling drop lost
//! a hundredth of its speed in a third of a second.

mod band;
mod carried;
mod contact;
mod elastic;
mod follow;
mod heat;
mod sources;
mod tension;
mod thick;
mod tracking;

use self::band::Band;
use self::contact::Contact;
use self::tension::Tension;
use super::{MOST_PARTS, Model, in_parts};
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::flow::{Flow, fastest};
use crate::force::Brush;
use crate::grid::{At, Axis, Grid, Side};
use crate::ledger::Account;
use crate::level_set::{self, Extrapolation, SLIVER};
use crate::ops;
use crate::parameter::ParameterList;
use crate::particles::{Blend, Particles, within};
use crate::poisson::CellState;
use crate::project::{FreeSurface, Projected};
use crate::report::{Stage, StepReport};
use crate::scatter::Scatter;
use crate::sim::{self, FieldInfo, Figure, StateVisitor, StepError};

pub use crate::flow::Options;
pub use carried::{Beginning, Values};
pub use elastic::Elastic;
pub use heat::{HEAT_CAPACITY, Heat, Heater};
pub use sources::{Blob, Curve, Opening, Spout, Zone};
use std::sync::Arc;
pub use tension::DENSITY;
use thick::Thick;
pub use thick::{Law, Melting, Surroundings, Viscous};
pub use tracking::Tracking;
use tracking::{ByLevelSet, NARROW};

/// Particles per cell along each axis.
pub const PER_AXIS: usize = 2;

/// The longest way of a step, in cells: longer steps are made in parts. Particles go no further than to the tile beside.
const FURTHEST: f64 = 5.0;

/// Which part of a crowd or a hole is to be gone after a step.
const CORRECT: Real = 0.1;
/// Densities this close to what they should be are left alone.
const CALM: Real = 0.1;
/// To which part it is found.
const ROUGHLY: f64 = 0.05;
/// Less room than this part of a layer of cells holds no air.
const LEAST_AIR: f64 = 0.25;
/// No cell grows or shrinks by more than this part in a step.
const MOST: Real = 0.25;

/// Water, and what it carries.
pub struct Liquid<const D: usize> {
    /// Velocities, forces, solids.
    pub flow: Flow<D>,
    /// The liquid itself, unless a level set says where it is.
    pub particles: Particles<D>,
    tracking: Tracking,
    by_level_set: Option<ByLevelSet<D>>,
    /// What is known of deep water, if particles are kept near the surface only.
    band: Option<Band<D>>,
    /// What appears at once, where there is no liquid and no solid yet.
    pub blobs: Vec<Blob<D>>,
    /// What comes out of openings; whoever adds one adds its [`Spout::nozzle`] to the obstacles.
    pub spouts: Vec<Arc<Spout<D>>>,
    /// Where it is filled, drained or driven.
    pub zones: Vec<Zone<D>>,
    /// What is painted while it runs: the last of the zones, so many of them.
    pub brush: Brush,
    painted: usize,
    carried: Vec<carried::Carried<D>>,
    /// What particles carry, as means over cells.
    mixture: Option<Field<D>>,
    /// Until when everything has appeared, in seconds.
    poured_until: f64,
    /// The acceleration by all forces at the beginning, in m/s^2: what makes waves on the surface.
    weight: f64,
    /// What particles take from the grid.
    pub blend: Blend,
    /// Whether crowds and holes are evened out.
    pub keeps_volume: bool,
    /// Surface tension, in newtons per metre, for a density of [`DENSITY`].
    pub surface_tension: f64,
    /// How its viscosity acts, which is that of the flow or follows a law: [`Liquid::set_viscosity_law`].
    pub viscous: Viscous,
    law: Option<Box<dyn Law<D>>>,
    elastic: Option<Elastic>,
    heat: Option<(Heat, Vec<Heater<D>>)>,
    /// The distance to the surface, in metres, negative inside.
    phi: Field<D>,
    state: Field<D, CellState>,
    /// How many particles there are to each cell, as a part of what there should be; between its uses, for others.
    density: Field<D>,
    /// Velocities one step before, and in the middle of the present one.
    last: VectorField<D>,
    middle: VectorField<D>,
    /// The motion that moves particles apart.
    apart: VectorField<D>,
    extrapolation: Extrapolation<D>,
    contact: Contact<D>,
    tension: Option<Tension<D>>,
    thick: Option<Thick<D>>,
    scatter: Scatter<D>,
    /// Particles that left through open sides.
    lost: u64,
    /// And that were drained.
    drained: u64,
}

/// The longest step, by the time in which the shortest waves that gravity makes go through a cell. With 0.83 of it water at rest began to ripple (in 20 seconds 0.1 m/s).
const WAVE: f64 = 0.5;

/// Before the start, in seconds.
const BEFORE: f64 = -1.0;

impl<const D: usize> Liquid<D> {
    /// A box without any liquid, or tiles that will be where it is. Cells must be cubes.
    pub fn new(grid: Grid<D>, options: Options<D>) -> Result<Self, OutOfMemory> {
        assert!(grid.spacing.iter().all(|h| (h / grid.spacing[0] - 1.0).abs() < 1e-6), "cells are cubes");
        let isa = options.isa;
        let mut flow = Flow::new(grid, options)?;
        flow.expect_surface()?;
        flow.advects_on_grid(false)?;
        flow.add_substance(LIQUID, 0.0)?;
        let layout = flow.layout().clone();
        let center = |outside| Field::on(&layout, At::Center, grid.flat_ends(outside));
        Ok(Liquid {
            particles: Particles::new(&layout, isa),
            tracking: Tracking::Particles,
            by_level_set: None,
            band: None,
            blobs: Vec::new(),
            spouts: Vec::new(),
            zones: Vec::new(),
            brush: Brush::default(),
            painted: 0,
            carried: Vec::new(),
            mixture: None,
            poured_until: BEFORE,
            weight: 0.0,
            blend: Blend::Apic,
            keeps_volume: true,
            surface_tension: 0.0,
            viscous: Viscous::Full,
            law: None,
            elastic: None,
            heat: None,
            phi: center(level_set::FAR * grid.spacing[0] as Real)?,
            state: Field::on(&layout, At::Center, grid.flat_ends(0.0))?,
            density: center(0.0)?,
            last: like(&flow.velocity)?,
            middle: like(&flow.velocity)?,
            apart: like(&flow.velocity)?,
            extrapolation: Extrapolation::new(&grid, &layout)?,
            contact: Contact::default(),
            tension: None,
            thick: None,
            scatter: Scatter::new(1),
            lost: 0,
            drained: 0,
            flow,
        })
    }

    /// Fills a shape with liquid that moves by `velocity`, whatever is there. Returns how many particles it takes; none, if a level set tracks it.
    pub fn fill(
        &mut self,
        seed: u64,
        inside: impl Fn([f64; D]) -> bool,
        velocity: impl Fn([f64; D]) -> [Real; D],
    ) -> usize {
        if self.is_on_grid() {
            tracking::drive(&self.flow.grid, &mut self.flow.velocity, &None, |_, _, x| inside(x), &velocity);
        }
        if self.by_level_set.is_some() {
            self.fill_level_set(inside);
            return 0;
        }
        let carried = &self.carried;
        self.particles.fill(&self.flow.grid, PER_AXIS, seed, inside, |x, numbers| {
            carried::begin(carried, (&Vec::new(), 0.0), x, numbers);
            velocity(x)
        })
    }

    /// One time step.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        let parts = (self.flow.speed() * dt / FURTHEST).ceil().min(MOST_PARTS) as u32;
        if parts > 1 {
            return in_parts(self, dt, parts);
        }
        let cfl = self.flow.begin(dt)?;
        let t = self.flow.time();
        self.make_room(cfl)?;
        let before = [self.count(), self.lost, self.drained];
        self.note_volume();
        self.open_carried();
        self.find_push(); //                        grad p, as objects still are
        self.flow.move_obstacles(t + dt);
        self.advance(dt, cfl)?; //                  u -= dt/2 grad p, x += dt v on particles, where v = u + dt/2 du/dt
        self.pour(t + dt)?; //                      more of it appears, or vanishes
        self.follow(cfl)?; //                       tiles go where it is
        self.mix(dt)?; //                           what particles carry mixes
        self.find_surface(t + dt)?; //                  phi from particles, or carried itself
        self.exchange_heat(t + dt, dt); //          with the air and with objects
        self.gather_momentum()?; //                 u from particles, unless it was carried itself
        self.flow.push(t, dt); //                   u += dt f
        self.pull_surface(dt)?; //                  u -= dt grad p, lap p = 0, p = sigma kappa on the surface
        let done = self.project(cfl); //            div u = 0 inside, p = 0 on the surface; u goes on beyond it
        self.renew_pressure(dt); //                 p = p/2 + q/dt
        let done = self.resist(dt, cfl, done)?; //  viscosity and elastic stresses, if there are any, and div u = 0 again
        let done = self.scatter_momentum(done); //  particles take from u
        self.strain(dt); //                         E += dt D(u) on particles, if it is elastic
        self.exchange_deep(); //                    none in deep water, if they are kept near the surface only
        self.even_out(dt)?; //                      lap s = e where particles crowd or miss; they move by grad s as well
        let (energy, _) = self.energy_and_momentum();
        let mut report = StepReport { cfl, splitting: self.tracking.name(), ..self.flow.report(dt, done, energy)? };
        self.account(before, &mut report);
        self.account_carried(&mut report);
        Ok(report)
    }

    /// Enters the volume of the liquid: its particles. What its surface encloses besides is an error of the method, and called corrected.
    fn account(&self, [count, lost, drained]: [u64; 3], report: &mut StepReport) {
        if self.by_level_set.is_some() {
            return self.account_for_level_set(report);
        }
        let [after, enclosed] = self.volumes();
        let volume = |count: u64| count as f64 * self.particle_volume();
        let (lost, drained) = (self.lost - lost, self.drained - drained);
        let range = report.ledger.substances.first().map_or([0.0, 1.0], |account| account.range);
        let account = Account {
            before: volume(count),
            emitted: volume(self.count() + lost + drained - count),
            dissipated: -volume(drained),
            sides: -volume(lost),
            corrected: enclosed - after,
            after,
            present: after,
            range,
            allowed: [0.0, 1.0],
            ..Account::default()
        };
        if let (Some(entry), Some(mass)) = (report.ledger.substances.first_mut(), report.mass.first_mut()) {
            (*entry, *mass) = (account, after);
        }
    }

    /// The volume that each particle stands for, in cubic metres.
    fn particle_volume(&self) -> f64 {
        self.flow.grid.cell_volume() / PER_AXIS.pow(D as u32) as f64
    }

    /// Which axes go on at their other end.
    fn periodic(&self) -> [bool; D] {
        self.flow.grid.axes.map(|axis| axis == Axis::Periodic)
    }

    /// How the last pressure pushes: between cells that were liquid, where objects were. (Where an object has moved on, its cells know of no pressure.)
    /// It is kept in `flow.before`, which nobody needs until momentum is gathered.
    fn find_push(&mut self) {
        let timer = self.flow.timings.start();
        let Flow { pressure, obstacles, grid, before: push, .. } = &mut self.flow;
        let (open, h) = (obstacles.as_ref().map(|o| o.solids.open()), grid.spacing[0]);
        pressure.fill_halo();
        level_set::gradient(pressure, &self.phi, open, h, push);
        self.extrapolation.apply(push, None, &self.phi, open.map(|open| (open, SLIVER)), 2);
        self.flow.timings.stop(Stage::Advect, timer);
    }

    /// Everything goes along with the flow; particles stay out of walls and solids.
    fn advance(&mut self, dt: f64, cfl: f64) -> Result<(), OutOfMemory> {
        let timer = self.flow.timings.start();
        let periodic = self.periodic();
        let flow = &mut self.flow;
        let grid = flow.grid;
        let margin = (0.5 * cfl).ceil() as usize + 2;
        // The flow in the middle of the step.
        let ahead = if flow.before_by > 0.0 { (0.5 * dt / flow.before_by).min(1.0) as Real } else { 0.0 };
        for (a, v) in self.middle.iter_mut().enumerate() {
            let (u, last, apart) = (&flow.velocity[a], &self.last[a], &self.apart[a]);
            v.par_rows(|row, v| {
                let (u, last, apart) = (u.row(row), last.row(row), apart.row(row));
                for x in 0..v.len() {
                    // Where the liquid was far away nothing is known of the last step.
                    let change = if last[x] == 0.0 { 0.0 } else { u[x] - last[x] };
                    v[x] = u[x] + ahead * change + apart[x];
                }
            });
            v.finish_end_faces();
            v.copy_end_faces(u);
            v.fill_halo();
        }
        let on_grid = self.tracking != Tracking::Particles || self.band.as_ref().is_some_and(Band::any_deep);
        for (last, u) in self.last.iter_mut().zip(&mut flow.velocity) {
            // What particles will tell is written anew.
            if on_grid { last.copy_all(u) } else { last.swap_values(u) }
        }
        flow.before_by = dt;
        self.flow.timings.stop(Stage::Advect, timer);
        self.move_deep(dt, cfl);
        if on_grid {
            self.advance_on_grid(dt)?;
        }
        let timer = self.flow.timings.start();
        let spreads = self.is_viscous() && self.elastic.is_none();
        let Self { flow, particles, phi, .. } = self;
        if spreads {
            particles.spread(phi, grid.spacing[0] as Real, periodic);
        }
        let cells = (dt / grid.spacing[0]) as Real;
        let push = (&flow.before, (0.5 * dt) as Real);
        let time = flow.time();
        let sweep = flow.solids().map(|solids| solids.sweep(&grid, time, time + dt));
        if let Some(sweep) = &sweep {
            self.contact.note(particles, sweep);
        }
        // Further than the fastest, with some to spare, goes none: beside objects and beyond the surface single faces are faster than all of the liquid.
        let reach = (margin, 1.5 * cfl + 1.0);
        particles.push_and_advance(push, (&self.middle, cells), reach, periodic, within(&grid, contact::APART));
        if let Some(sweep) = &sweep {
            self.contact.hold(particles, sweep, &grid);
        }
        drop(sweep);
        self.lost += particles.settle(periodic) as u64;
        self.enter(|account| &mut account.sides);
        self.flow.timings.stop(Stage::Advect, timer);
        Ok(())
    }

    /// The surface pulls.
    fn pull_surface(&mut self, dt: f64) -> Result<(), OutOfMemory> {
        if self.surface_tension == 0.0 {
            self.tension = None;
            return Ok(());
        }
        let timer = self.flow.timings.start();
        let periodic = self.periodic();
        let outside = -f64::from(self.surface_level());
        let Self { flow, particles, scatter, phi, state, tension, density, middle, by_level_set, band, .. } = self;
        let h = flow.grid.spacing[0];
        if tension.is_none() {
            *tension = Some(Tension::new(&flow.grid, &flow.velocity)?);
        }
        let Some(tension) = tension else { unreachable!("it has just been made") };
        let liquid = &flow.substances[0].field;
        let count = |full: &mut Field<D>| match by_level_set {
            None => {
                particles.count(scatter, PER_AXIS.pow(D as u32), periodic, full)?;
                Liquid::count_deep(band, full);
                Ok(())
            }
            Some(_) => {
                full.par_rows(|row, full| full.copy_from_slice(liquid.row(row)));
                Ok(())
            }
        };
        tension.find(self.surface_tension, (h, outside), phi, flow.solids(), count)?;
        flow.set_liquid(FreeSurface { phi, state });
        let Flow { solver, obstacles, velocity, grid, substances, .. } = flow;
        let open = obstacles.as_ref().map(|o| o.solids.open());
        tension.gradient((phi, open, h), density, middle, |rhs, p| {
            solver.solve(rhs, p, tension::TOLERANCE);
        });
        let pull = tension.balance(grid, (phi, &substances[0].field), obstacles.as_ref().map(|o| &o.solids));
        let k = dt as Real;
        for (u, g) in velocity.iter_mut().zip(pull) {
            u.par_rows(|row, u| u.iter_mut().zip(g.row(row)).for_each(|(u, g)| *u -= k * g));
        }
        flow.timings.stop(Stage::Force, timer);
        Ok(())
    }

    /// The pressure that surface tension makes, over the density; `None` without any. It is no part of the flow's pressure.
    pub fn tension_pressure(&self) -> Option<&Field<D>> {
        self.tension.as_ref().map(Tension::inside)
    }

    /// Where the liquid is.
    fn find_surface(&mut self, time: f64) -> Result<(), OutOfMemory> {
        let timer = self.flow.timings.start();
        let h = self.flow.grid.spacing[0] as Real;
        match self.tracking {
            Tracking::LevelSet => self.surface_of_level_set()?,
            _ => level_set::around_particles(&self.particles, &mut self.scatter, h, &mut self.phi)?,
        }
        let full = self.by_level_set.is_none() && self.is_full();
        if full {
            self.phi.fill(-level_set::FAR * h);
        }
        self.flow.walls_let_go = !full && self.by_level_set.is_none();
        self.wet_deep();
        // A level set goes on into solids by itself.
        if let (Some(solids), None) = (self.flow.solids(), &self.by_level_set) {
            level_set::wet_solids(&mut self.phi, solids, h);
        }
        self.dry_drains(time);
        if self.tracking != Tracking::LevelSet {
            let far = self.band.as_ref().map_or(0, |band| band.width + 1).max(level_set::BAND);
            level_set::redistance_inside(&mut self.phi, &mut self.density, h, far);
        }
        self.phi.fill_halo();
        self.find_deep(time);
        level_set::set_states(&self.phi, &mut self.state);
        // The part of each cell that is liquid, for who looks at it.
        let (phi, level) = (&self.phi, self.surface_level());
        self.flow.substances[0].field.par_rows(|row, part| {
            for (part, phi) in part.iter_mut().zip(phi.row(row)) {
                *part = (0.5 - (phi - level) / h).clamp(0.0, 1.0);
            }
        });
        self.flow.timings.stop(Stage::Follow, timer);
        Ok(())
    }

    /// Whether there is no room for air: in a closed box what is missing would be less than a part of a layer of cells under its lid.
    fn is_full(&self) -> bool {
        let grid = &self.flow.grid;
        let closed = grid.axes.iter().all(|axis| axis.sides().is_none_or(|sides| !sides.contains(&Side::Open)));
        let room = self.flow.solids().map_or(grid.cell_count() as f64, |solids| solids.fluid_volume());
        let layer = grid.cell_count() as f64 / *grid.cells.iter().max().expect("at least one axis") as f64;
        let liquid = self.count() as f64 * self.particle_volume() / grid.cell_volume();
        closed && !self.flow.is_unbounded() && room - liquid < LEAST_AIR * layer.min(liquid)
    }

    /// Velocities of particles to faces. On the grid nothing is told of by particles: beyond the surface only what is continued counts.
    fn gather_momentum(&mut self) -> Result<(), OutOfMemory> {
        if self.is_on_grid() {
            self.flow.before.iter_mut().for_each(|u| u.fill(0.0));
            return Ok(());
        }
        let timer = self.flow.timings.start();
        let Flow { velocity, before, .. } = &mut self.flow;
        if self.band.as_ref().is_some_and(Band::has_moved) {
            self.particles.to_faces(&mut self.scatter, &mut self.apart, before)?;
            self.join_momentum();
        } else {
            self.particles.to_faces(&mut self.scatter, velocity, before)?;
        }
        let Flow { velocity, before, pressure, .. } = &mut self.flow;
        // Cells beside particles are liquid, too: their other faces have heard of none.
        self.extrapolation.from_told(velocity, before, pressure, 2);
        for (u, before) in velocity.iter().zip(before) {
            before.copy_all(u);
        }
        self.flow.timings.stop(Stage::Advect, timer);
        Ok(())
    }

    /// Velocities of faces to particles. How fast the liquid is, which limits steps, particles say: faces between an object and the air that are open by
    /// little, and those beyond the surface, may be several times as fast, and carry nothing. (Water in a glass was at most 2.6 m/s fast, and single faces 6.2.)
    fn scatter_momentum(&mut self, done: Projected) -> Projected {
        let timer = self.flow.timings.start();
        let periodic = self.periodic();
        // Markers know their velocity for who looks at them.
        let blend = if self.is_on_grid() { Blend::Flip(0.0) } else { self.blend };
        let fastest = self.particles.take_from_faces(&self.flow.velocity, &self.flow.before, blend, periodic);
        let done = match self.all_in_particles() {
            true => Projected { max_speed: f64::from(fastest), ..done },
            false => done,
        };
        self.note_fastest(fastest);
        self.flow.timings.stop(Stage::Advect, timer);
        done
    }

    /// Whether nothing but particles carries momentum.
    fn all_in_particles(&self) -> bool {
        !self.is_on_grid() && self.band.is_none()
    }

    /// Says how fast particles are, if they are all that moves.
    fn note_fastest(&mut self, fastest: Real) {
        if self.all_in_particles() {
            self.flow.fastest = f64::from(fastest) / self.flow.grid.spacing[0];
        }
    }

    /// The motion that makes particles as far apart as they should be. At the surface cells are not full: there only crowds count. Cells just below it
    /// are not full either ([`due`]): compared with full ones, small drops were drawn together, and lost a tenth of their volume in a second.
    fn even_out(&mut self, dt: f64) -> Result<(), OutOfMemory> {
        if !self.keeps_volume || self.by_level_set.is_some() {
            self.apart.iter_mut().for_each(|s| s.fill(0.0));
            return Ok(());
        }
        let timer = self.flow.timings.start();
        let grid = self.flow.grid;
        let periodic = self.periodic();
        self.density.fill(0.0);
        self.particles.count(&mut self.scatter, PER_AXIS.pow(D as u32), periodic, &mut self.density)?;
        Liquid::count_deep(&mut self.band, &mut self.density);
        let solids = self.flow.solids();
        let phi = &self.phi;
        let (rate, most) = (CORRECT / dt as Real, MOST / dt as Real);
        let (h, level) = (grid.spacing[0] as Real, self.surface_level());
        let beside = 1.5 * h;
        self.density.par_rows(|row, density| {
            let here = phi.row(row);
            if !level_set::any_negative(here) {
                return density.fill(0.0);
            }
            let volumes = solids.and_then(|s| s.volumes_near(row));
            // Beside an object that liquid leaves there is a gap, and no hole.
            let leaves = solids.and_then(|s| Some((s, s.distances_near(row)?)));
            let mut pads = [[Pad::default(); 2]; D];
            let mut pads = pads.iter_mut();
            let around: [[&[Real]; 2]; D] = std::array::from_fn(|a| {
                let [low, high] = pads.next().expect("one for each axis");
                [phi.down(row, a, low), phi.up(row, a, high)]
            });
            let lets_go =
                |x: usize| leaves.is_some_and(|(s, distances)| distances[x] < beside && s.lets_go_near(row, x));
            let counts = |x: usize| volumes.is_none_or(|v| v[x] >= 1.0);
            let numbers = (level, h, rate, most);
            match leaves.is_some() || volumes.is_some() {
                true => beyond_due(density, here, around, numbers, |x| !lets_go(x), counts),
                // Nothing to ask for: several cells at once.
                false => beyond_due(density, here, around, numbers, |_| true, |_| true),
            }
        });
        let Self { flow, density, phi, apart, .. } = self;
        flow.solve_in_liquid(density, ROUGHLY);
        let open = flow.obstacles.as_ref().map(|o| o.solids.open());
        level_set::gradient(&flow.potential, phi, open, grid.spacing[0], apart);
        self.extrapolation.apply(apart, None, phi, open.map(|open| (open, SLIVER)), 2);
        self.flow.timings.stop(Stage::Follow, timer);
        Ok(())
    }

    /// Makes the flow incompressible, and continues it beyond the surface.
    fn project(&mut self, cfl: f64) -> Projected {
        let surface = FreeSurface { phi: &self.phi, state: &self.state };
        let done = self.flow.project_liquid(surface);
        let timer = self.flow.timings.start();
        let (layers, least) = (layers(cfl), if self.is_on_grid() { NARROW } else { SLIVER });
        let Flow { velocity, before, pressure, obstacles, grid, walls_let_go, .. } = &mut self.flow;
        let open = obstacles.as_ref().map(|o| (o.solids.open(), least));
        self.extrapolation.apply(velocity, Some((before, pressure)), &self.phi, open, layers);
        if !*walls_let_go {
            for u in velocity.iter_mut() {
                u.set_end_faces();
                u.fill_halo();
            }
        }
        if let Some(o) = obstacles {
            o.solids.constrain(grid, velocity);
        }
        let done = Projected { max_speed: fastest_component(velocity), ..done };
        // As it is found again when a state is restored.
        self.flow.fastest = fastest(velocity, grid);
        self.flow.timings.stop(Stage::Follow, timer);
        done
    }

    /// `p = p/2 + q/dt`, none in the air. Deep water that comes to the surface must not push as hard as it did (it shot out at 12 m/s).
    fn renew_pressure(&mut self, dt: f64) {
        let (q, phi, inv_dt) = (&self.flow.potential, &self.phi, (1.0 / dt) as Real);
        self.flow.pressure.par_rows(|row, p| {
            for ((p, q), phi) in p.iter_mut().zip(q.row(row)).zip(phi.row(row)) {
                let new = inv_dt * q;
                // What is left of the last pressure is not more than what is new: as much, where nothing changes.
                let last = (0.5 * *p).clamp(new.min(0.0), new.max(0.0));
                // Zero is what nobody knows (see `solid/release.rs`).
                let known = |p: Real| if p == 0.0 { -Real::MIN_POSITIVE } else { p };
                *p = if *phi < 0.0 { known(new + last) } else { 0.0 };
            }
        });
    }

    /// The volume of the liquid, in cubic metres: that of its particles, or of all that came in and did not go out; and that inside of its surface.
    pub fn volumes(&self) -> [f64; 2] {
        if let Some(by) = &self.by_level_set {
            return [by.volume, by.set.volume(&self.flow.grid, self.flow.solids())];
        }
        let h = self.flow.grid.spacing[0] as Real;
        let cells = level_set::volume(&self.phi, self.surface_level(), h, self.flow.solids());
        [self.count() as f64 * self.particle_volume(), cells * self.flow.grid.cell_volume()]
    }

    /// Linear momentum over density.
    pub fn momentum(&self) -> [f64; D] {
        self.energy_and_momentum().1
    }

    /// The distance to the surface, in metres, negative inside.
    pub fn phi(&self) -> &Field<D> {
        &self.phi
    }

    /// Makes of the particles that have been put in a flow that the first step can begin with.
    pub fn start(&mut self) -> Result<(), OutOfMemory> {
        // Deep water that has been started has no particles any more to start from.
        if self.flow.clock().steps > 0 || self.band.as_ref().is_some_and(|band| band.held > 0) {
            return Ok(());
        }
        // That of a whole box without a surface is none of the liquid's: velocities that were given stay.
        if self.is_on_grid() {
            self.last.iter_mut().zip(&self.flow.velocity).for_each(|(last, u)| last.copy_all(u));
        }
        self.flow.start()?;
        self.weight = self.flow.acceleration;
        if self.is_on_grid() {
            self.flow.velocity.iter_mut().zip(&self.last).for_each(|(u, last)| u.copy_all(last));
            self.last.iter_mut().for_each(|last| last.fill(0.0));
        }
        self.pour(self.flow.time())?;
        match self.follow(1.0) {
            Err(StepError::OutOfMemory(error)) => return Err(error),
            // Too far away: the first step says so.
            _ => self.mix(0.0)?,
        }
        self.find_surface(self.flow.time())?;
        self.gather_momentum()?;
        let done = self.project(1.0);
        self.flow.max_speed = self.scatter_momentum(done).max_speed;
        self.exchange_deep();
        self.particles.give_back();
        Ok(())
    }
}

impl<const D: usize> Model<D> for Liquid<D> {
    fn flow(&self) -> &Flow<D> {
        &self.flow
    }

    fn flow_mut(&mut self) -> &mut Flow<D> {
        &mut self.flow
    }

    fn start(&mut self) -> Result<(), OutOfMemory> {
        Liquid::start(self)
    }

    fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        Liquid::step(self, dt)
    }

    /// Liquid that is about to appear moves, too, and so do waves that surface tension and gravity make.
    fn longest_step(&self, cfl: f64) -> f64 {
        let expected = self.zones.iter().map(|zone| zone.speed).fold(0.0, f64::max);
        let h = self.flow.grid.min_spacing();
        let waves = tension::longest_step(self.surface_tension, h).min(WAVE * (h / self.weight).sqrt());
        self.flow.longest_step(cfl).min(cfl * h / expected).min(waves)
    }

    fn fields(&self) -> Vec<FieldInfo> {
        let mut all = self.flow.fields();
        all.push(FieldInfo { name: SURFACE.to_string(), components: 1 });
        all
    }

    fn field(&self, name: &str, component: usize) -> Option<&Field<D>> {
        if name == SURFACE { Some(&self.phi) } else { self.flow.field(name, component) }
    }

    fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        self.flow.visit_schemes(visit);
        self.flow.visit_parameters(visit);
        if let Some(elastic) = &mut self.elastic {
            let doc = "shear modulus, for a liquid of 1000 kg/m^3";
            if let Some(v) = visit.number("elasticity", "Pa", doc, [0.0, 1e12], elastic.modulus) {
                elastic.modulus = v;
            }
        }
        let doc = "surface tension, for a liquid of 1000 kg/m^3";
        if let Some(v) = visit.number("surface_tension", "N/m", doc, [0.0, 1e6], self.surface_tension) {
            self.surface_tension = v;
        }
    }

    fn visit_own_state(&mut self, visitor: &mut dyn StateVisitor) {
        // The flow may have been restored to other tiles.
        if let Err(error) = self.go_along() {
            self.flow.not_restored = Some(error.into());
            return;
        }
        visitor.integer("lost_particles", &mut self.lost);
        visitor.integer("drained_particles", &mut self.drained);
        visitor.real("poured_until", &mut self.poured_until);
        visitor.real("weight", &mut self.weight);
        if !(0.0..f64::INFINITY).contains(&self.weight) {
            visitor.refuse("its weight is no number that can be");
        }
        if let Some(leaving) = self.flow.obstacles.as_mut().and_then(|o| o.solids.leaving.as_mut()) {
            crate::flow::show(visitor, "leaving_objects", leaving);
        }
        self.particles.visit_state(visitor);
        self.visit_carried(visitor);
        self.by_level_set.iter_mut().for_each(|by| by.visit_state(visitor));
        self.band.iter_mut().for_each(|band| band.visit_state(visitor));
        crate::flow::show(visitor, SURFACE, &mut self.phi);
        self.last.iter_mut().for_each(|u| crate::flow::show(visitor, "last_velocity", u));
        self.apart.iter_mut().for_each(|u| crate::flow::show(visitor, "moving_apart", u));
        self.note_fastest(self.particles.fastest());
    }

    fn figures(&mut self) -> Vec<Figure> {
        let [particles, surface] = self.volumes();
        let mut all = vec![
            Figure::new("volume", particles),
            Figure::new("surface_volume", surface),
            Figure::new(
                "particles",
                self.by_level_set.as_ref().map_or(self.particles.len(), |by| by.set.particles()) as f64,
            ),
            Figure::new("particles_lost", self.lost as f64),
            Figure::new("particles_drained", self.drained as f64),
        ];
        if self.elastic.is_some() {
            all.push(Figure::new("elastic_energy", self.elastic_energy()));
            all.push(Figure::new("largest_strain", self.strains().into_iter().fold(0.0, f32::max).into()));
        }
        if let Some(band) = &self.band {
            all.push(Figure::new("particles_sunk", band.sunk as f64));
            all.push(Figure::new("particles_risen", band.rose as f64));
        }
        all
    }

    fn particles(&self) -> Option<sim::Particles> {
        if self.by_level_set.is_some() {
            return None;
        }
        let (grid, count) = (&self.flow.grid, self.particles.len());
        let mut all = sim::Particles {
            ids: Vec::with_capacity(count),
            positions: vec![Vec::with_capacity(count); D],
            velocities: vec![Vec::with_capacity(count); D],
            attributes: Vec::new(),
        };
        for (k, substance) in self.flow.substances[1..].iter().enumerate() {
            all.attributes.push((substance.name.clone(), self.particles.carried(k).collect()));
        }
        if self.elastic.is_some() {
            all.attributes.push(("strain".to_owned(), self.strains()));
        }
        for (first, p) in self.particles.iter() {
            all.ids.push(u64::from(p.id));
            for a in 0..D {
                let cells = first[a] as f64 + f64::from(p.place[a]);
                all.positions[a].push((grid.origin[a] + cells * grid.spacing[a]) as f32);
                all.velocities[a].push(p.velocity[a]);
            }
        }
        // Names from the far end: those of deep water last for no longer than a look.
        let mut name = u32::MAX;
        self.for_each_in_deep(|cell, place, velocity| {
            all.ids.push(u64::from(name));
            name = name.wrapping_sub(1);
            for a in 0..D {
                let cells = cell[a] as f64 + f64::from(place[a]);
                all.positions[a].push((grid.origin[a] + cells * grid.spacing[a]) as f32);
                all.velocities[a].push(velocity[a]);
            }
        });
        Some(all)
    }

    fn surface(&self) -> Option<&str> {
        Some(SURFACE)
    }
}

super::simulation!(Liquid as Simulation);

/// How full a cell is whose centre lies `depth` cells below a flat surface, as particles are counted: with weights that fall to zero within a cell.
#[inline(always)]
fn due(depth: Real) -> Real {
    let lacks = 1.0 - depth.clamp(0.0, 1.0);
    1.0 - 0.5 * lacks * lacks
}

/// Makes of densities in a row by how much they should shrink or grow, per second. Holes are closed in cells that lie deep in the liquid and `may_lack`.
#[inline(always)]
fn beyond_due<const D: usize>(
    density: &mut [Real],
    here: &[Real],
    around: [[&[Real]; 2]; D],
    (level, h, rate, most): (Real, Real, Real, Real),
    may_lack: impl Fn(usize) -> bool,
    counts: impl Fn(usize) -> bool,
) {
    let n = density.len();
    let (here, around) = (&here[..n], around.map(|beside| beside.map(|phi| &phi[..n])));
    for x in 0..n {
        let excess = density[x] - 1.0;
        let deep = around.iter().flatten().fold(may_lack(x), |deep, phi| deep & (phi[x] < 0.0));
        let lacks = if deep { due((level - here[x]) / h) - density[x] } else { 0.0 };
        let beyond = (excess - CALM).max(0.0) - (lacks - CALM).max(0.0);
        density[x] = if (here[x] < 0.0) & counts(x) { (rate * beyond).clamp(-most, most) } else { 0.0 };
    }
}

/// By how many layers of faces velocities go on beyond the surface, for steps of so many cells.
fn layers(cfl: f64) -> usize {
    (cfl.ceil() as usize + 2).clamp(3, 12)
}

/// Fields of zeros like others.
fn like<const D: usize>(fields: &VectorField<D>) -> Result<VectorField<D>, OutOfMemory> {
    crate::flow::vector(|a| Field::like(&fields[a]))
}

/// The largest velocity component on any face.
fn fastest_component<const D: usize>(u: &VectorField<D>) -> f64 {
    u.iter().map(|u| f64::from(ops::max_abs_faces(u))).fold(0.0, f64::max)
}

/// The name of the part of each cell that is liquid.
const LIQUID: &str = "liquid";
/// The name of the field that holds the distance to the surface.
const SURFACE: &str = "surface";

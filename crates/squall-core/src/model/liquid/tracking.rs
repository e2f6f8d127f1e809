//! Tracking of a liquid: particles, markers or a level set.
//!
//! | tracking | where it is | its velocity | good for |
//! |---|---|---|---|
//! | `Particles` | balls around particles | on particles (APIC, FLIP) | splashes; keeps volume and spin |
//! | `Markers` | balls around particles | on the grid | the method of Foster & Fedkiw 2001 as it is taught |
//! | `LevelSet` | a distance that the flow carries, kept right by particles (Enright et al. 2002) | on the grid | calm and smooth surfaces |
//!
//! On the grid the velocity is advected along the paths that all else takes, from the liquid and from what it was continued by beyond the surface.

use super::Liquid;
use super::sources::{Nozzle, cells_of};
use crate::Real;
use crate::advect::Flow as Carrier;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::flow::{Flow, Moved};
use crate::grid::{At, Grid, Side};
use crate::layout::Row;
use crate::ledger::Account;
use crate::level_set::{self, ParticleLevelSet};
use crate::particles::Cells;
use crate::report::{Stage, StepReport};
use crate::rows;
use crate::shape::Shape;
use crate::sim::StateVisitor;

/// What says where the liquid is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// Particles, which carry its momentum, too.
    #[default]
    Particles,
    /// Particles that only say where it is.
    Markers,
    /// A particle level set.
    LevelSet,
}

impl Tracking {
    /// What it is called in scenes and reports.
    pub fn name(self) -> &'static str {
        match self {
            Tracking::Particles => "particles",
            Tracking::Markers => "markers",
            Tracking::LevelSet => "level_set",
        }
    }
}

/// By how many cells the surface of a level set moves in a step, at most, so that the volume stays what it should be: a level set loses drops that are
/// smaller than its cells.
const SWELLS: Real = 0.02;

/// Velocities on the grid come from faces that are open by more than this, [`SLIVER`](level_set::SLIVER) for particles: water that comes out of a narrowing
/// (under a ball on the floor) faster than it is beside was read by the wider faces, the next projection made it faster still in the narrow ones, and
/// it doubled with every step.
pub(super) const NARROW: Real = 0.3;

/// A liquid that is tracked by a level set, and its accounts, in cubic metres.
pub(super) struct ByLevelSet<const D: usize> {
    pub set: ParticleLevelSet<D>,
    /// How much of it there should be: what came in less what went out.
    pub volume: f64,
    /// How much there was at the beginning of the step.
    before: f64,
    /// What came in, was drained, and left through open sides in this step.
    emitted: f64,
    drained: f64,
    left: f64,
    /// By how much it swelled in this step.
    swelled: f64,
}

impl<const D: usize> ByLevelSet<D> {
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        visitor.real("liquid_volume", &mut self.volume);
        if !self.volume.is_finite() {
            visitor.refuse("the volume of its liquid is no number");
        }
        self.set.visit_state(visitor);
    }
}

impl<const D: usize> Liquid<D> {
    /// Chooses how the liquid is tracked, before there is any. Markers and level sets need a box; a level set supports no substances.
    pub fn track_by(&mut self, tracking: Tracking) -> Result<(), OutOfMemory> {
        assert!(tracking == Tracking::Particles || !self.flow.is_unbounded(), "a box");
        assert!(self.particles.is_empty() && self.by_level_set.is_none(), "before there is any liquid");
        self.tracking = tracking;
        self.flow.advects_on_grid(self.is_on_grid())?;
        if tracking == Tracking::LevelSet {
            let mut set = ParticleLevelSet::new(&self.flow.grid)?;
            set.forgets_strays = true;
            // Beyond a wall there is nothing but what is beside it: a level set that came off would be followed by new liquid (a dam grew by a half).
            self.flow.walls_let_go = false;
            self.phi.copy_all(set.phi());
            self.by_level_set =
                Some(ByLevelSet { set, volume: 0.0, before: 0.0, emitted: 0.0, drained: 0.0, left: 0.0, swelled: 0.0 });
        }
        Ok(())
    }

    /// What says where the liquid is.
    pub fn tracking(&self) -> Tracking {
        self.tracking
    }

    /// Whether its velocity lives on the grid.
    pub(super) fn is_on_grid(&self) -> bool {
        self.tracking != Tracking::Particles
    }

    /// Where the surface is, as a distance: that around particles is outside of the liquid.
    pub(super) fn surface_level(&self) -> Real {
        match self.tracking {
            Tracking::LevelSet => 0.0,
            Tracking::Particles | Tracking::Markers => -level_set::outside_by::<D>(self.flow.grid.spacing[0] as Real),
        }
    }

    /// `u -= dt/2 grad p`, and everything on the grid goes along with the flow in the middle of the step.
    pub(super) fn advance_on_grid(&mut self, dt: f64) -> Result<(), OutOfMemory> {
        let Self { flow, middle, by_level_set, band, .. } = self;
        let timer = flow.timings.start();
        let half = (0.5 * dt) as Real;
        for (u, push) in flow.velocity.iter_mut().zip(&flow.before) {
            u.par_rows(|row, u| u.iter_mut().zip(push.row(row)).for_each(|(u, push)| *u -= half * push));
        }
        let Flow { grid, options, scratch, substances, .. } = &mut *flow;
        let tracer = options.tracer.resolve(crate::flow::fastest(middle, grid) * dt);
        let carrier = Carrier { grid, velocity: middle, tracer, isa: options.isa };
        match band {
            Some(band) => scratch.trace_only(options.advection, carrier, dt, band.moved()),
            None => scratch.trace(options.advection, carrier, dt),
        }
        if let Some(by) = by_level_set {
            (by.emitted, by.drained) = (0.0, 0.0);
            by.left = dt * outflow(grid, middle, &substances[0].field);
            by.volume = (by.volume - by.left).max(0.0);
            by.set.advance(grid, middle, dt, (options.advection, scratch))?;
        }
        flow.timings.stop(Stage::Advect, timer);
        flow.advect(Moved::Velocity);
        Ok(())
    }

    /// The distance as the level set has it; a liquid that should be more, or less, swells a little.
    pub(super) fn surface_of_level_set(&mut self) -> Result<(), OutOfMemory> {
        let Self { flow, by_level_set: Some(by), phi, keeps_volume, .. } = self else { return Ok(()) };
        let Flow { grid, obstacles, .. } = flow;
        by.set.finish(grid, obstacles.as_mut().map(|o| &mut o.solids))?;
        by.swelled = 0.0;
        if *keeps_volume {
            by.swelled = by.set.swell_to(by.volume, SWELLS, grid, obstacles.as_ref().map(|o| &o.solids));
        }
        let from = by.set.phi();
        phi.par_rows(|row, phi| phi.copy_from_slice(from.row(row)));
        phi.fill_halo();
        Ok(())
    }

    /// What comes in between two times, and what goes out: `phi = min(phi, shape)` and `max(phi, -shape)`.
    pub(super) fn pour_into_level_set(&mut self, from: f64, time: f64) {
        let Self { flow, by_level_set: Some(by), blobs, spouts, zones, .. } = self else { return };
        let grid = &flow.grid;
        for blob in blobs.iter() {
            for (_, t) in blob.times(from, time) {
                let cells = cells_of(grid, blob.shape.bounds(t));
                by.change(flow, |set| {
                    set.add(grid, cells.as_ref(), |x| blob.shape.distance(x, t));
                    set.deepen(grid);
                });
            }
        }
        for spout in spouts.iter() {
            let length = spout.poured((from, time));
            if length > 0.0 {
                let jet = Nozzle::new(spout.clone(), 2.0 * grid.spacing[0]);
                let cells = cells_of(grid, Some(jet.bounds_with_jet(time, length)));
                by.set.add(grid, cells.as_ref(), |x| jet.with_jet(x, time, length));
                // Under water it adds as much, although nothing appears in front of it.
                by.volume += spout.area() * length;
                by.emitted += spout.area() * length;
            }
        }
        for zone in zones.iter_mut().filter(|zone| (zone.on)(time)) {
            zone.shape.prepare(time);
            let shape = &zone.shape;
            let cells = cells_of(grid, shape.bounds(time));
            if zone.drains {
                by.change(flow, |set| set.remove(grid, cells.as_ref(), |x| shape.distance(x, time)));
            } else if zone.fills {
                by.change(flow, |set| set.add(grid, cells.as_ref(), |x| shape.distance(x, time)));
            }
        }
    }

    /// Gives faces the velocities of what comes in between two times, and of what is driven.
    pub(super) fn pour_onto_faces(&mut self, from: f64, time: f64) {
        let level = self.surface_level();
        let Self { flow, phi, blobs, spouts, zones, .. } = self;
        let grid = flow.grid;
        let u = &mut flow.velocity;
        for blob in blobs.iter() {
            for (_, t) in blob.times(from, time) {
                let cells = cells_of(&grid, blob.shape.bounds(t));
                let inside = |a: usize, index: [isize; D], x: [f64; D]| {
                    let mut below = index;
                    below[a] -= 1;
                    let dry = phi.get_signed(index).min(phi.get_signed(below)) > level;
                    dry && blob.shape.distance(x, t) < 0.0
                };
                drive(&grid, u, &cells, inside, |_| blob.velocity);
            }
        }
        for spout in spouts.iter() {
            let length = spout.poured((from, time));
            if length > 0.0 {
                let jet = Nozzle::new(spout.clone(), 2.0 * grid.spacing[0]);
                // All of the first cell moves: half of a velocity would be left behind.
                let length = length.max(grid.spacing[0]);
                let cells = cells_of(&grid, Some(jet.bounds_with_jet(time, length)));
                let velocity = |x| jet.velocity(x, time).map(|v| v as Real);
                drive(&grid, u, &cells, |_, _, x| jet.with_jet(x, time, length) < 0.0, velocity);
            }
        }
        for zone in zones.iter_mut().filter(|zone| !zone.drains && (zone.on)(time)) {
            if zone.velocity.is_some() || zone.drags {
                zone.shape.prepare(time);
                let cells = cells_of(&grid, zone.shape.bounds(time));
                drive(&grid, u, &cells, |_, _, x| zone.shape.distance(x, time) < 0.0, |x| zone.velocity_at(x, time));
            }
        }
    }

    /// [`Liquid::fill`] for a level set: of each cell the part that is inside is looked for.
    pub(super) fn fill_level_set(&mut self, inside: impl Fn([f64; D]) -> bool) {
        const POINTS: usize = 4;
        let Self { flow, by_level_set: Some(by), .. } = self else { return };
        let grid = flow.grid;
        let mut all = Vec::with_capacity(grid.cell_count());
        for cell in 0..grid.cell_count() {
            let mut rest = cell;
            let index: [usize; D] = std::array::from_fn(|a| {
                let i = rest % grid.cells[a];
                rest /= grid.cells[a];
                i
            });
            let wet = (0..POINTS.pow(D as u32)).filter(|&k| {
                inside(std::array::from_fn(|a| {
                    let i = k / POINTS.pow(a as u32) % POINTS;
                    grid.origin[a] + (index[a] as f64 + (i as f64 + 0.5) / POINTS as f64) * grid.spacing[a]
                }))
            });
            let part = wet.count() as f64 / POINTS.pow(D as u32) as f64;
            all.push((0.5 - part) * grid.spacing[0]);
        }
        let part_at = |x: [f64; D]| {
            let cell = |a: usize| (((x[a] - grid.origin[a]) / grid.spacing[a]) as usize).min(grid.cells[a] - 1);
            all[(0..D).rev().fold(0, |n, a| n * grid.cells[a] + cell(a))]
        };
        by.change(flow, |set| set.add(&grid, None, part_at));
    }

    /// Kinetic energy and momentum over density.
    pub fn energy_and_momentum(&self) -> (f64, [f64; D]) {
        if self.by_level_set.is_none() {
            let (energy, momentum) = self.particles.energy_and_momentum(self.particle_volume());
            let deep = self.deep_energy_and_momentum();
            return (energy + deep.0, std::array::from_fn(|a| momentum[a] + deep.1[a]));
        }
        let (u, part) = (&self.flow.velocity, &self.flow.substances[0].field);
        let of_row = |row: Row<'_, D>| {
            let (mut energy, mut momentum) = (0.0, [0.0; D]);
            for a in 0..D {
                let (low, high) = (u[a].row(row), u[a].row(row.up(a)));
                for (x, part) in part.row(row).iter().enumerate() {
                    let (low, high, part) = (f64::from(low[x]), f64::from(high[x]), f64::from(*part));
                    energy += 0.25 * part * (low * low + high * high);
                    momentum[a] += 0.5 * part * (low + high);
                }
            }
            (energy, momentum)
        };
        let add = |a: (f64, [f64; D]), b: (f64, [f64; D])| (a.0 + b.0, std::array::from_fn(|k| a.1[k] + b.1[k]));
        let (energy, momentum) = rows::reduce(part.layout(), of_row, add);
        let volume = self.flow.grid.cell_volume();
        (energy * volume, momentum.map(|m| m * volume))
    }

    /// Notes how much there is as a step begins.
    pub(super) fn note_volume(&mut self) {
        if let Some(by) = &mut self.by_level_set {
            by.before = by.set.volume(&self.flow.grid, self.flow.solids());
        }
    }

    /// Enters the volume of a liquid that a level set tracks, as its surface encloses it: what was lost and by swelling put back is called corrected, and
    /// what could not be put back is unexplained.
    pub(super) fn account_for_level_set(&self, report: &mut StepReport) {
        let (Some(by), Some(entry), Some(mass)) =
            (&self.by_level_set, report.ledger.substances.first_mut(), report.mass.first_mut())
        else {
            return;
        };
        let after = by.set.volume(&self.flow.grid, self.flow.solids());
        *mass = after;
        *entry = Account {
            before: by.before,
            emitted: by.emitted,
            dissipated: -by.drained,
            sides: -by.left,
            corrected: by.swelled,
            after,
            present: after,
            range: entry.range,
            allowed: [0.0, 1.0],
            ..Account::default()
        };
    }
}

impl<const D: usize> ByLevelSet<D> {
    /// Changes what is liquid, and enters how much comes and goes by that.
    fn change(&mut self, flow: &Flow<D>, f: impl FnOnce(&mut ParticleLevelSet<D>)) {
        let before = self.set.volume(&flow.grid, flow.solids());
        f(&mut self.set);
        let more = self.set.volume(&flow.grid, flow.solids()) - before;
        self.emitted += more.max(0.0);
        self.drained += (-more).max(0.0);
        self.volume = (self.volume + more).max(0.0);
    }
}

/// Gives the faces of some cells a velocity, where `inside(axis, index, position)` says so.
pub(super) fn drive<const D: usize>(
    grid: &Grid<D>,
    u: &mut VectorField<D>,
    cells: &Cells<D>,
    inside: impl Fn(usize, [isize; D], [f64; D]) -> bool,
    velocity: impl Fn([f64; D]) -> [Real; D],
) {
    let cells: [std::ops::Range<isize>; D] = std::array::from_fn(|a| {
        let all = 0..grid.cells[a] as isize;
        cells.as_ref().map_or(all.clone(), |c| c[a].start.max(0)..c[a].end.min(all.end))
    });
    let sizes = cells.each_ref().map(|c| c.end.saturating_sub(c.start).max(0) as usize);
    for (a, u) in u.iter_mut().enumerate() {
        for mut n in 0..sizes.iter().product::<usize>() {
            let index = std::array::from_fn(|b| {
                let i = n % sizes[b];
                n /= sizes[b];
                cells[b].start + i as isize
            });
            let x = grid.position(At::Face(a), index);
            if inside(a, index, x) {
                u.set_signed(index, velocity(x)[a]);
            }
        }
    }
}

/// How much liquid leaves through open sides, in cubic metres per second; `part` of each cell is liquid.
fn outflow<const D: usize>(grid: &Grid<D>, u: &VectorField<D>, part: &Field<D>) -> f64 {
    let mut sum = 0.0;
    for a in 0..D {
        let Some(sides) = grid.axes[a].sides() else { continue };
        let last = grid.cells[a] as isize;
        for (side, face, cell, outwards) in [(sides[0], 0, 0, -1.0), (sides[1], last, last - 1, 1.0)] {
            if side != Side::Open {
                continue;
            }
            let others: usize = (0..D).filter(|b| *b != a).map(|b| grid.cells[b]).product();
            for mut n in 0..others {
                let mut index: [isize; D] = std::array::from_fn(|b| {
                    if b == a {
                        return cell;
                    }
                    let i = n % grid.cells[b];
                    n /= grid.cells[b];
                    i as isize
                });
                let part = f64::from(part.get_signed(index));
                index[a] = face;
                sum += outwards * part * f64::from(u[a].get_signed(index));
            }
        }
    }
    sum * grid.cell_volume() / grid.spacing[0]
}

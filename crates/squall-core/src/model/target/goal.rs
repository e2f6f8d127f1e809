//! Timelines of target densities.
//!
//! The active target is the next one in time; after the last, that one stays. At a change the old density fades into
//! the new one, and everything else (smoothed density, direction of the pull) follows from the mixture.

use std::mem::swap;

use super::metrics::errors;
use super::{Blur, Gathered, TargetError, TargetSmoke, faces, flat_ends};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::flow::Flow;
use crate::grid::{At, Ends, Grid};
use crate::layout::{Layout, Row};
use crate::ops::{dot, max_abs, sum};
use crate::rows;
use crate::shape::{Shape, Track};
use crate::solid::Solids;

/// Smoothed targets below this part of their largest value pull less and less: there is nothing but rounding far away.
const FAINT: f64 = 1e-3;

/// What follows from a target is computed anew when its smoothing has changed by this part.
const SMOOTHING_STEP: f64 = 0.02;

/// A density that a smoke is to take, as it is at any time.
pub trait TargetSource<const D: usize>: Send {
    /// Writes the density at a time into the cells of a centred field. Only its form matters, not its amount.
    fn density(&mut self, grid: &Grid<D>, time: f64, out: &mut Field<D>);

    /// Whether the density changes with time: then it is asked for in every step.
    fn moves(&self) -> bool {
        false
    }
}

/// A density at rest: an image, a word.
impl<const D: usize> TargetSource<D> for Field<D> {
    fn density(&mut self, _: &Grid<D>, _: f64, out: &mut Field<D>) {
        let from = &*self;
        out.par_rows(|row, out| out.copy_from_slice(from.row(row)));
    }
}

/// The inside of a shape, with an edge of one cell.
pub struct ShapeTarget<const D: usize>(pub Box<dyn Shape<D>>);

impl<const D: usize> TargetSource<D> for ShapeTarget<D> {
    fn density(&mut self, grid: &Grid<D>, time: f64, out: &mut Field<D>) {
        self.0.prepare(time);
        let (shape, h) = (&self.0, grid.min_spacing());
        out.set_from(grid, |x| (0.5 - shape.distance(x, time) / h).clamp(0.0, 1.0));
    }

    fn moves(&self) -> bool {
        self.0.moves()
    }
}

/// How wide smoke and target are smoothed: standard deviations in metres. Wide reaches far, narrow forms details.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothing {
    /// When the target becomes active.
    pub begin: f64,
    /// In the end.
    pub end: f64,
    /// How long it takes to get there, in seconds.
    pub over: f64,
}

impl Smoothing {
    /// The same width at all times.
    pub fn constant(sigma: f64) -> Self {
        Smoothing { begin: sigma, end: sigma, over: 0.0 }
    }

    fn after(&self, seconds: f64) -> f64 {
        if seconds >= self.over { self.end } else { self.begin + (self.end - self.begin) * seconds / self.over }
    }
}

/// One entry of a timeline.
pub struct Target<const D: usize> {
    /// When it is to be reached, in seconds: then the next one becomes active.
    pub time: f64,
    /// What is to be reached.
    pub source: Box<dyn TargetSource<D>>,
    /// How wide it is smoothed.
    pub smoothing: Smoothing,
    /// A factor on the smoke's `v_f`.
    pub strength: f64,
    /// How long the change from the target before it takes, in seconds.
    pub blend: f64,
}

impl<const D: usize> Target<D> {
    /// A target that is to be reached at a time, with usual strength and a change of a fifth of a second.
    pub fn new(time: f64, source: Box<dyn TargetSource<D>>, sigma: f64) -> Self {
        Target { time, source, smoothing: Smoothing::constant(sigma), strength: 1.0, blend: 0.2 }
    }
}

/// How the amounts of smoke and target are made equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// The target gets the mass of the smoke, whatever its density has to be.
    #[default]
    Mass,
    /// The target is made thicker or thinner until it has the area (3D: volume) of the smoke; its density is then that of the
    /// smoke, which a flow can reach by itself.
    Area,
}

/// A smoke with targets.
pub struct Guided<const D: usize> {
    /// `v_f`: how strongly it is driven, in m²/s² per unit of density, over time. Ramp it down to 0 to let the smoke go.
    pub drive: Track<1>,
    /// `v_g`: how strongly it is gathered, in m²/s per unit of density squared, over time.
    pub gathering: Track<1>,
    /// How strongly drive and gathering bring smoke to where it is missing: 1 is usual, 0 leaves the terms of the papers.
    pub levelling: f64,
    pub(super) matching: Matching,
    pub(super) substance: usize,
    pub(super) targets: Vec<Target<D>>,
    pub(super) aim: Aim<D>,
}

impl<const D: usize> Guided<D> {
    /// Which substance it is, by its place in the list.
    pub fn substance(&self) -> usize {
        self.substance
    }

    /// Its targets, in order of time.
    pub fn targets(&self) -> &[Target<D>] {
        &self.targets
    }

    /// The density it is driven to now, up to a factor; all zero without targets.
    pub fn goal(&self) -> &Field<D> {
        &self.aim.density
    }

    /// The first target that is still to be reached, or the last.
    fn active_at(&self, time: f64) -> Option<usize> {
        let last = self.targets.len().checked_sub(1)?;
        Some(self.targets.partition_point(|t| t.time <= time).min(last))
    }

    /// The width of smoothing that the active target ends with.
    pub(super) fn finest(&self) -> f64 {
        self.aim.active.map_or(0.0, |k| self.targets[k].smoothing.end)
    }

    /// `v_f` at a time, with the strength of the active target.
    pub(super) fn drive_at(&self, time: f64) -> f64 {
        self.aim.active.map_or(0.0, |k| self.drive.at(time).0[0] * self.targets[k].strength)
    }
}

/// What is computed from the active target, and from the one before while they are mixed.
pub(super) struct Aim<const D: usize> {
    pub active: Option<usize>,
    /// When it became active.
    pub since: f64,
    /// The part of the mixture that is the active one.
    pub weight: f64,
    pub sigma: f64,
    pub before: Field<D>,
    pub next: Field<D>,
    /// The mixture, `rho*`; its sum; its largest value.
    pub density: Field<D>,
    pub total: f64,
    pub peak: f64,
    /// Smoothed, `rts`; its largest value.
    pub smooth: Field<D>,
    pub smooth_peak: f64,
    /// The potential of the error, `phi`.
    pub potential: Field<D>,
    /// `l_f`, `l_g`, and `l_f` times the largest slope of the potential: see `level`. Zero without levelling.
    pub level_force: f64,
    pub level_drift: f64,
    pub level_steepest: f64,
    /// `grad(rts) / rts` on faces, and its largest size.
    pub pull: VectorField<D>,
    pub steepest: f64,
    /// The largest value of the smoothed smoke, when it was last looked at.
    pub thickest: f64,
    /// Errors when the target became active: smoothed and raw.
    pub first_errors: [f64; 2],
    /// What gathering did in the last step.
    pub gathered: Gathered,
}

impl<const D: usize> Aim<D> {
    /// The factor that gives the target the mass of a smoke whose cells sum to `mass`.
    pub fn scale(&self, mass: f64) -> f64 {
        if self.total > 0.0 { mass / self.total } else { 0.0 }
    }

    fn new(grid: &Grid<D>) -> Result<Self, OutOfMemory> {
        let layout = Layout::dense(grid.cells);
        let field = || Field::on(&layout, At::Center, flat_ends(grid));
        Ok(Aim {
            active: None,
            since: 0.0,
            weight: 1.0,
            sigma: 0.0,
            before: field()?,
            next: field()?,
            density: field()?,
            total: 0.0,
            peak: 0.0,
            smooth: field()?,
            smooth_peak: 0.0,
            potential: field()?,
            level_force: 0.0,
            level_drift: 0.0,
            level_steepest: 0.0,
            pull: faces(&layout, |_| flat_ends(grid))?,
            steepest: 0.0,
            thickest: 0.0,
            first_errors: [0.0; 2],
            gathered: Gathered::default(),
        })
    }

    /// Computes everything that follows from the two densities, the weight and the width of smoothing.
    pub fn rebuild(&mut self, grid: &Grid<D>, blur: &mut Blur<D>) {
        let Aim { before, next, density, smooth, pull, .. } = self;
        let w = self.weight as Real;
        density.par_rows(|row, out| {
            let (before, next) = (before.row(row), next.row(row));
            for x in 0..out.len() {
                out[x] = if w < 1.0 { before[x] + w * (next[x] - before[x]) } else { next[x] };
            }
        });
        density.fill_halo();
        smooth.copy_all(density);
        blur.apply(smooth, self.sigma);
        // Rounding leaves traces of either sign far away.
        smooth.par_rows(|_, out| out.iter_mut().for_each(|v| *v = v.max(0.0)));
        smooth.fill_halo();
        self.total = sum(density);
        self.peak = max_abs(density) as f64;
        self.smooth_peak = max_abs(smooth) as f64;
        self.steepest = 0.0;
        let faint = ((FAINT * self.smooth_peak) as Real).max(Real::MIN_POSITIVE);
        for a in 0..D {
            // g = (R - L) / h / ((L + R) / 2 + eps); zero on walls, where both sides are equal.
            let (inv_h, smooth) = ((1.0 / grid.spacing[a]) as Real, &*smooth);
            pull[a].par_rows(|row, out| {
                let (low, high) = (smooth.row(row.down(a)), smooth.row(row));
                for x in 0..out.len() {
                    out[x] = inv_h * (high[x] - low[x]) / (0.5 * (low[x] + high[x]) + faint);
                }
            });
            self.steepest = self.steepest.max(max_abs(&pull[a]) as f64);
        }
    }
}

impl<const D: usize> TargetSmoke<D> {
    /// Gives one of the substances targets; returns the number by which it is known.
    pub fn guide(&mut self, substance: usize) -> Result<usize, TargetError> {
        let count = self.flow.substances.len();
        if substance >= count {
            return Err(TargetError::Missing { what: "substance", given: substance, count });
        }
        self.guided.push(Guided {
            drive: Track::constant([1.5]),
            gathering: Track::constant([2e-3]),
            levelling: 1.0,
            matching: Matching::default(),
            substance,
            targets: Vec::new(),
            aim: Aim::new(&self.flow.grid)?,
        });
        Ok(self.guided.len() - 1)
    }

    /// The smokes with targets.
    pub fn guided(&self) -> &[Guided<D>] {
        &self.guided
    }

    /// The smokes with targets, to change how they are driven.
    pub fn guided_mut(&mut self) -> &mut [Guided<D>] {
        &mut self.guided
    }

    /// How amounts are made equal, for targets that become active from now on.
    pub fn set_matching(&mut self, smoke: usize, matching: Matching) -> Result<(), TargetError> {
        self.check_smoke(smoke)?;
        self.guided[smoke].matching = matching;
        Ok(())
    }

    /// Adds a target, later than those before it.
    pub fn add_target(&mut self, smoke: usize, target: Target<D>) -> Result<(), TargetError> {
        self.check_smoke(smoke)?;
        let k = self.guided[smoke].targets.len();
        self.put_target(smoke, k, target)
    }

    /// Replaces a target, at any time: if it is the active one, the smoke turns to the new density at once.
    pub fn set_target(&mut self, smoke: usize, target: usize, new: Target<D>) -> Result<(), TargetError> {
        self.check_smoke(smoke)?;
        let count = self.guided[smoke].targets.len();
        if target >= count {
            return Err(TargetError::Missing { what: "target", given: target, count });
        }
        self.put_target(smoke, target, new)
    }

    fn check_smoke(&self, smoke: usize) -> Result<(), TargetError> {
        let count = self.guided.len();
        if smoke < count { Ok(()) } else { Err(TargetError::Missing { what: "guided smoke", given: smoke, count }) }
    }

    fn put_target(&mut self, smoke: usize, k: usize, mut target: Target<D>) -> Result<(), TargetError> {
        self.check(smoke, k, &mut target)?;
        let now = self.flow.time();
        let guided = &mut self.guided[smoke];
        if k < guided.targets.len() {
            guided.targets[k] = target;
        } else {
            guided.targets.push(target);
        }
        if guided.active_at(now) == Some(k) {
            // The next step finds that what is active is not what it was; so does who asks for the longest step.
            if guided.aim.active == Some(k) {
                guided.aim.active = None;
            }
            self.take_aim(now);
        }
        Ok(())
    }

    /// Finds the targets of this time, and what follows from them where something has changed.
    pub(super) fn take_aim(&mut self, time: f64) {
        self.flow.place_obstacles(time);
        let first_step = self.flow.clock.steps == 0;
        let Self { flow: Flow { grid, substances, obstacles, .. }, guided, blur, smooth, .. } = self;
        let solids = obstacles.as_ref().map(|o| &o.solids);
        if let (true, Some(solids)) = (first_step, solids) {
            substances.iter_mut().for_each(|s| solids.clear_inside(&mut s.field, s.ambient));
        }
        for guided in guided {
            let Some(k) = guided.active_at(time) else { continue };
            let smoke = &mut substances[guided.substance].field;
            let (target, aim) = (&mut guided.targets[k], &mut guided.aim);
            let changed = aim.active != Some(k);
            // Until the first step has been made the smoke itself may change in any way.
            if changed || target.source.moves() || first_step {
                if changed {
                    swap(&mut aim.before, &mut aim.density);
                    aim.since = time;
                }
                let fresh = &mut aim.next;
                target.source.density(grid, time, fresh);
                if let Some(solids) = solids {
                    solids.clear_inside(fresh, 0.0);
                }
                equalise(guided.matching, smoke, fresh, blur, grid, &mut aim.smooth, solids);
                aim.active = Some(k);
            }
            let age = time - aim.since;
            let sigma = target.smoothing.after(age);
            // There is nothing to come from at the start.
            let weight = if first_step || age >= target.blend { 1.0 } else { (age / target.blend).max(0.0) };
            let other_width = (sigma - aim.sigma).abs() > SMOOTHING_STEP * sigma
                || (sigma != aim.sigma && sigma == target.smoothing.end);
            if changed || first_step || target.source.moves() || weight != aim.weight || other_width {
                (aim.weight, aim.sigma) = (weight, sigma);
                aim.rebuild(grid, blur);
            }
            if changed || first_step {
                smooth.copy_all(smoke);
                smooth.relabel(At::Center, flat_ends(grid));
                blur.apply(smooth, aim.sigma);
                aim.thickest = max_abs(smooth) as f64;
                aim.level(guided.levelling, grid, smoke, smooth, blur);
                aim.first_errors = errors(aim, target.smoothing.end, smoke, smooth, blur);
            }
        }
    }
}

/// Gives a target the mass of the smoke, or its area and its density. Leaves it alone if there is no smoke.
fn equalise<const D: usize>(
    matching: Matching,
    smoke: &Field<D>,
    target: &mut Field<D>,
    blur: &mut Blur<D>,
    grid: &Grid<D>,
    level: &mut Field<D>,
    solids: Option<&Solids<D>>,
) {
    let mass = sum(smoke);
    if mass.is_nan() || mass <= 0.0 {
        return;
    }
    if matching == Matching::Area {
        // The density that the mass has on the whole; a smoke of one density has it everywhere.
        let density = dot(smoke, smoke) / mass;
        thicken(target, mass / density, blur, grid, level, solids);
    }
    let total = sum(target);
    if total > 0.0 {
        let factor = mass / total;
        target.par_rows(|_, out| out.iter_mut().for_each(|v| *v = (*v as f64 * factor) as Real));
    }
}

/// Makes a target a shape of density one that covers `area` cells: the part where its smoothed density is above some level. A
/// low one makes it thicker, a high one thinner.
fn thicken<const D: usize>(
    target: &mut Field<D>,
    area: f64,
    blur: &mut Blur<D>,
    grid: &Grid<D>,
    level: &mut Field<D>,
    solids: Option<&Solids<D>>,
) {
    // Edges of about a cell; wider if levels that are more than rounding do not reach far enough.
    const WIDTHS: [f64; 4] = [1.5, 3.0, 6.0, 12.0];
    const LOWEST: f64 = 1e-5;
    const HALVINGS: usize = 60;
    let inside = |v: Real, at: f64| (0.5 + 8.0 * (v as f64 / at - 1.0)).clamp(0.0, 1.0);
    let covered = |level: &Field<D>, at: f64| {
        let of_row = |row: Row<'_, D>| level.row(row).iter().map(|&v| inside(v, at)).sum::<f64>();
        rows::reduce(level.layout(), of_row, |a, b| a + b)
    };
    level.relabel(At::Center, target.ends());
    let (mut low, mut high) = (0.0, 0.0);
    for width in WIDTHS {
        level.par_rows(|row, out| out.copy_from_slice(target.row(row)));
        blur.apply(level, width * grid.min_spacing());
        if let Some(solids) = solids {
            solids.clear_inside(level, 0.0);
        }
        high = max_abs(level) as f64;
        low = LOWEST * high;
        if covered(level, low) >= area {
            break;
        }
    }
    let level = &*level;
    // What is covered grows as the level sinks; levels are compared by their logarithms, as tails are exponential.
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if covered(level, middle) > area { low = middle } else { high = middle }
    }
    target.par_rows(|row, out| {
        for (out, v) in out.iter_mut().zip(level.row(row)) {
            *out = inside(*v, high) as Real;
        }
    });
}

impl<const D: usize> TargetSmoke<D> {
    /// What a substance does at the ends while it is smoothed or gathered: nothing passes.
    pub(super) fn closed(&self) -> [Ends; D] {
        flat_ends(&self.flow.grid)
    }
}

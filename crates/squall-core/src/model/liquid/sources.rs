//! Sources and sinks of liquid: blobs, spouts, and zones that fill, drain or drive it.

use super::carried::{Values, begin};
use super::{Liquid, PER_AXIS, Tracking};
use crate::Real;
use crate::field::OutOfMemory;
use crate::force::Dab;
use crate::grid::Grid;
use crate::particles::jitter;
use crate::shape::vector::{add, cross, dot, length, scale, sub};
use crate::shape::{Motion, Shape};
use crate::solid::Obstacle;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A number that changes with time, in seconds.
pub type Curve = Arc<dyn Fn(f64) -> f64 + Send + Sync>;

/// Liquid that appears at once, where there is none yet.
pub struct Blob<const D: usize> {
    /// When, in seconds; 0 is the start.
    pub time: f64,
    /// After how many seconds it appears again, and again; infinite: never.
    pub every: f64,
    /// When that ends.
    pub to: f64,
    /// Where.
    pub shape: Box<dyn Shape<D>>,
    /// How it moves, in metres per second.
    pub velocity: [Real; D],
    /// What it carries, where that is not what all liquid begins with.
    pub set: Values,
}

impl<const D: usize> Blob<D> {
    /// Once.
    pub fn at(time: f64, shape: Box<dyn Shape<D>>, velocity: [Real; D]) -> Self {
        Blob { time, every: f64::INFINITY, to: f64::INFINITY, shape, velocity, set: Vec::new() }
    }

    /// Its times after `from` and not after `to`, by number.
    pub(super) fn times(&self, from: f64, to: f64) -> impl Iterator<Item = (u64, f64)> + use<D> {
        let (time, every, end) = (self.time, self.every, self.to);
        let first = if every.is_finite() { ((from - time) / every).floor().max(0.0) as u64 } else { 0 };
        let at = move |k: u64| if k == 0 { time } else { time + k as f64 * every };
        (first..)
            .map(move |k| (k, at(k)))
            .take_while(move |&(_, t)| t <= to)
            .filter(move |&(_, t)| t > from && t <= end)
    }
}

/// A place where liquid is made to appear, to vanish or to move, as long as it is on.
pub struct Zone<const D: usize> {
    /// Where.
    pub shape: Box<dyn Shape<D>>,
    /// Whether it is kept full.
    pub fills: bool,
    /// Whether all that comes in vanishes.
    pub drains: bool,
    /// How liquid inside moves, in metres per second; `None` leaves it alone.
    pub velocity: Option<Box<dyn Fn(f64) -> [Real; D] + Send + Sync>>,
    /// Whether liquid inside moves with the shape, besides.
    pub drags: bool,
    /// What all liquid inside carries.
    pub set: Values,
    /// And how much is added to what it carries, per second.
    pub rate: Values,
    /// When it is on.
    pub on: Box<dyn Fn(f64) -> bool + Send + Sync>,
    /// Velocities up to this one must be expected, in metres per second.
    pub speed: f64,
}

impl<const D: usize> Zone<D> {
    /// A place that is always on and does nothing yet.
    pub fn at(shape: Box<dyn Shape<D>>) -> Self {
        Zone {
            shape,
            fills: false,
            drains: false,
            velocity: None,
            drags: false,
            set: Vec::new(),
            rate: Vec::new(),
            on: Box::new(|_| true),
            speed: 0.0,
        }
    }

    /// Whether a brush does to a liquid what zones do.
    fn is_painted(dab: &Dab) -> bool {
        dab.fill || dab.erase > 0.0 || !dab.add.is_empty()
    }

    /// What a brush does: it fills with liquid at rest, takes all away, or changes what the liquid carries.
    fn painted(dab: &Dab) -> Option<Self> {
        let rate = |&(s, rate): &(usize, f64)| -> (usize, Curve) { (s - 1, Arc::new(move |_| rate)) };
        Self::is_painted(dab).then(|| Zone {
            fills: dab.fill,
            drains: dab.erase > 0.0,
            velocity: dab.fill.then(|| -> Box<dyn Fn(f64) -> [Real; D] + Send + Sync> { Box::new(|_| [0.0; D]) }),
            rate: dab.add.iter().filter(|(s, _)| *s > 0).map(rate).collect(),
            ..Zone::at(Box::new(dab.shape()))
        })
    }

    /// How liquid at a place inside moves.
    pub(super) fn velocity_at(&self, x: [f64; D], time: f64) -> [Real; D] {
        let own = self.velocity.as_ref().map_or([0.0; D], |velocity| velocity(time));
        let body = if self.drags { self.shape.velocity(x, time) } else { [0.0; D] };
        std::array::from_fn(|a| own[a] + body[a] as Real)
    }
}

/// The opening of a spout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Opening<const D: usize> {
    /// A disc of this radius; in 2D half of the width of a slit.
    Disc(f64),
    /// A rectangle: half of its sides, and the direction of the first, across the direction of the spout.
    Rectangle([f64; 2], [f64; D]),
}

impl<const D: usize> Opening<D> {
    /// How far it reaches from its middle.
    fn reach(&self) -> f64 {
        match *self {
            Opening::Disc(r) => r,
            Opening::Rectangle([a, b], _) => a.hypot(b),
        }
    }
}

/// A flat opening that liquid comes out of. What comes out does not depend on the length of steps.
pub struct Spout<const D: usize> {
    /// The middle of the opening, in metres.
    pub center: [f64; D],
    /// Where liquid goes; of length 1.
    pub direction: [f64; D],
    /// Its form.
    pub opening: Opening<D>,
    /// How it moves: by the first of these, then by the next.
    pub motions: Vec<Motion<D>>,
    /// How fast liquid comes out, in metres per second; 0 while it is off.
    pub speed: Curve,
    /// Whether that changes.
    pub steady: bool,
    /// What it carries, where that is not what all liquid begins with.
    pub set: Values,
    /// How much has come out after each millisecond, in metres.
    lengths: Mutex<Vec<f64>>,
}

/// How often the speed of a spout is looked at, per second.
const LOOKS: f64 = 1000.0;

impl<const D: usize> Spout<D> {
    /// A spout at rest.
    pub fn new(center: [f64; D], direction: [f64; D], opening: Opening<D>, speed: Curve) -> Self {
        let direction = scale(direction, 1.0 / length(direction).max(1e-300));
        let (motions, set) = (Vec::new(), Vec::new());
        Spout { center, direction, opening, motions, speed, steady: false, set, lengths: Mutex::default() }
    }

    /// How much has come out until a time, in metres: sums over fixed times, so that nothing depends on steps.
    fn length_until(&self, t: f64) -> f64 {
        let (k, rest) = ((t.max(0.0) * LOOKS).floor(), (t.max(0.0) * LOOKS).fract());
        let mut lengths = self.lengths.lock().unwrap_or_else(PoisonError::into_inner);
        let speed = |k: f64| (self.speed)((k + 0.5) / LOOKS).max(0.0) / LOOKS;
        while lengths.len() <= k as usize {
            let next = lengths.last().map_or(0.0, |l| l + speed(lengths.len() as f64 - 1.0));
            lengths.push(next);
        }
        lengths[k as usize] + rest * speed(k)
    }

    /// How much comes out between two times, in metres.
    pub(super) fn poured(&self, (from, to): (f64, f64)) -> f64 {
        self.length_until(to) - self.length_until(from)
    }

    /// When so much has come out, between two times.
    fn time_of(&self, wanted: f64, mut from: f64, mut to: f64) -> f64 {
        for _ in 0..50 {
            let middle = 0.5 * (from + to);
            (from, to) = if self.length_until(middle) < wanted { (middle, to) } else { (from, middle) };
        }
        to
    }

    /// A box around all that comes out between two times; `None` if that is nothing.
    fn reached(&self, from: f64, to: f64) -> Option<([f64; D], [f64; D])> {
        let way = self.length_until(to) - self.length_until(from);
        if way <= 0.0 {
            return None;
        }
        let [first, last] = [from.max(0.0), to].map(|t| self.place(self.center, t));
        // As far again as it has moved: it gives its own motion to what comes out.
        let moved = length(sub(last, first));
        let reach = self.size() * self.opening.reach() + 2.0 * (way + moved);
        Some((
            std::array::from_fn(|a| first[a].min(last[a]) - reach),
            std::array::from_fn(|a| first[a].max(last[a]) + reach),
        ))
    }

    /// How many times as large as it was built.
    fn size(&self) -> f64 {
        self.motions.iter().map(|motion| motion.scale).product()
    }

    /// Where a point of it is at a time.
    fn place(&self, x: [f64; D], t: f64) -> [f64; D] {
        self.motions.iter().fold(x, |x, motion| motion.place(x, t))
    }

    /// The area of the opening.
    pub fn area(&self) -> f64 {
        match (self.opening, D) {
            (Opening::Disc(r), 2) => 2.0 * r,
            (Opening::Disc(r), _) => std::f64::consts::PI * r * r,
            (Opening::Rectangle([a, _], _), 2) => 2.0 * a,
            (Opening::Rectangle([a, b], _), _) => 4.0 * a * b,
        }
    }

    /// Directions across it: one in 2D, two in 3D.
    fn across(&self) -> [[f64; D]; 2] {
        let n = self.direction;
        let first = match self.opening {
            Opening::Rectangle(_, side) => side,
            Opening::Disc(_) => {
                let least = (0..D).min_by(|&a, &b| n[a].abs().total_cmp(&n[b].abs())).unwrap_or(0);
                std::array::from_fn(|a| if a == least { 1.0 } else { 0.0 })
            }
        };
        let first = sub(first, scale(n, dot(first, n)));
        let first = scale(first, 1.0 / length(first).max(1e-300));
        let second = if D == 3 {
            let wide = |v: [f64; D]| [v[0], v[1], v[D - 1]];
            let c = cross(wide(n), wide(first));
            std::array::from_fn(|a| c[a])
        } else {
            [0.0; D]
        };
        [first, second]
    }

    /// How far out a point across the opening is: 1 on its rim.
    fn outwards(&self, [u, v]: [f64; 2]) -> f64 {
        match self.opening {
            Opening::Disc(r) => u.hypot(v) / r,
            Opening::Rectangle([a, b], _) => (u.abs() / a).max(if D == 3 { v.abs() / b } else { 0.0 }),
        }
    }

    /// The solid behind the opening, whose front moves as fast as the liquid: so the flow cannot undo what comes out.
    pub fn nozzle(self: &Arc<Self>, depth: f64) -> Obstacle<D>
    where
        Self: 'static,
    {
        Obstacle::new("spout", Box::new(Nozzle::new(self.clone(), depth)))
    }

    /// Lets everything come out between two times: calls `f(time, place, velocity)` for each particle.
    fn pour(&self, (from, to): (f64, f64), apart: f64, seed: u64, mut f: impl FnMut(f64, [f64; D], [f64; D])) {
        let (before, after) = (self.length_until(from), self.length_until(to));
        let per_sheet = self.area() / apart.powi(D as i32 - 1);
        let [e, g] = self.across();
        // Sheet k comes out when k + 1/2 distances have: never by adding up times.
        let mut sheet = (before / apart + 0.5).floor();
        while (sheet + 0.5) * apart <= after {
            let time = self.time_of((sheet + 0.5) * apart, from.max(0.0), to);
            // As many as belong to the sheet, so that the sum over sheets is what comes out.
            let count = (((sheet + 1.0) * per_sheet).round() - (sheet * per_sheet).round()) as usize;
            let speed = (self.speed)(time).max(0.0);
            for (i, [u, v]) in self.lattice(apart, count, seed ^ (sheet as u64) << 20).into_iter().enumerate() {
                let [w] = jitter([sheet as isize, i as isize], seed);
                let local: [f64; D] = std::array::from_fn(|a| self.center[a] + u * e[a] + v * g[a]);
                let here = self.place(local, time);
                let ahead = self.place(add(local, self.direction), time);
                let direction = sub(ahead, here);
                let direction = scale(direction, 1.0 / length(direction).max(1e-300));
                // The body's own motion.
                let later = self.place(local, time + 1e-4);
                let velocity: [f64; D] = std::array::from_fn(|a| speed * direction[a] + (later[a] - here[a]) * 1e4);
                // In front of the nozzle, however late it is.
                let ahead = (0.5 * apart * f64::from(w)).max(0.1 * apart - speed * (to - time));
                f(time, std::array::from_fn(|a| here[a] + velocity[a] * (to - time) + direction[a] * ahead), velocity);
            }
            sheet += 1.0;
        }
    }

    /// So many points of a lattice on the opening, those furthest inside; each shaken.
    fn lattice(&self, apart: f64, count: usize, seed: u64) -> Vec<[f64; 2]> {
        let reach = match self.opening {
            Opening::Disc(r) => [r, r],
            Opening::Rectangle(half, _) => half,
        };
        let n = reach.map(|r| (r / apart).ceil() as isize + 1);
        let last = if D == 3 { n[1] } else { 0 };
        // Every sheet begins elsewhere.
        let shift: [Real; 2] = jitter([0, 0], seed);
        let mut points = Vec::new();
        for j in -last..=last {
            for i in -n[0]..=n[0] {
                let by: [Real; 2] = jitter([i + 1, j + 1], seed);
                let at = |k: isize, a: usize| apart * (k as f64 + f64::from(shift[a]) + 0.5 * f64::from(by[a]));
                let point = [at(i, 0), if D == 3 { at(j, 1) } else { 0.0 }];
                points.push((self.outwards(point), point));
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.into_iter().take(count).map(|(_, point)| point).collect()
    }
}

/// The body of a spout.
pub(super) struct Nozzle<const D: usize> {
    spout: Arc<Spout<D>>,
    depth: f64,
}

impl<const D: usize> Nozzle<D> {
    pub fn new(spout: Arc<Spout<D>>, depth: f64) -> Self {
        Nozzle { spout, depth }
    }

    /// The distance to the body and `length` metres of what comes out of it.
    pub fn with_jet(&self, x: [f64; D], t: f64, length: f64) -> f64 {
        let (along, [u, v]) = self.local(x, t);
        let size = self.spout.size();
        let half = 0.5 * (self.depth + length / size);
        let ends = (along + self.depth - half).abs() - half;
        let mut q = [ends, 0.0, f64::NEG_INFINITY];
        match self.spout.opening {
            Opening::Disc(r) => q[1] = u.hypot(v) - r,
            Opening::Rectangle([a, b], _) => {
                q[1] = u.abs() - a;
                q[2] = if D == 3 { v.abs() - b } else { f64::NEG_INFINITY };
            }
        }
        let outside = q.iter().map(|q| q.max(0.0).powi(2)).sum::<f64>().sqrt();
        size * (outside + q.into_iter().fold(f64::NEG_INFINITY, f64::max).min(0.0))
    }

    /// A box that holds both.
    pub fn bounds_with_jet(&self, t: f64, length: f64) -> ([f64; D], [f64; D]) {
        let middle = self.spout.place(self.spout.center, t);
        let reach = self.spout.size() * (self.spout.opening.reach() + self.depth) + length;
        (middle.map(|x| x - reach), middle.map(|x| x + reach))
    }

    /// Along its direction and across it, from the opening as it was built.
    fn local(&self, x: [f64; D], t: f64) -> (f64, [f64; 2]) {
        let x = self.spout.motions.iter().rev().fold(x, |x, motion| motion.place_back(x, t));
        let way = sub(x, self.spout.center);
        (dot(way, self.spout.direction), self.spout.across().map(|e| dot(way, e)))
    }
}

impl<const D: usize> Shape<D> for Nozzle<D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        self.with_jet(x, t, 0.0)
    }

    fn velocity(&self, x: [f64; D], t: f64) -> [f64; D] {
        let spout = &self.spout;
        let (along, _) = self.local(x, t);
        let built = spout.motions.iter().rev().fold(x, |x, motion| motion.place_back(x, t));
        let [here, ahead, later] =
            [spout.place(built, t), spout.place(add(built, spout.direction), t), spout.place(built, t + 1e-4)];
        // Only its front gives: the back would draw.
        let speed = if along > -0.5 * self.depth { (spout.speed)(t).max(0.0) } else { 0.0 };
        let direction = sub(ahead, here);
        let per = speed / length(direction).max(1e-300);
        std::array::from_fn(|a| per * direction[a] + (later[a] - here[a]) * 1e4)
    }

    /// The body itself: its front only pretends to move.
    fn carried(&self, x: [f64; D], from: f64, to: f64) -> [f64; D] {
        let built = self.spout.motions.iter().rev().fold(x, |x, motion| motion.place_back(x, from));
        self.spout.place(built, to)
    }

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        Some(self.bounds_with_jet(t, 0.0))
    }

    fn moves(&self) -> bool {
        !self.spout.steady || self.spout.motions.iter().any(Motion::moves)
    }

    fn changes(&self, from: f64, to: f64) -> bool {
        let speed = |t| (self.spout.speed)(t).max(0.0);
        self.spout.motions.iter().any(Motion::moves) || !self.spout.steady && speed(from) != speed(to)
    }
}

impl<const D: usize> Liquid<D> {
    /// Lets everything appear whose time has come since the last call.
    pub(super) fn pour(&mut self, time: f64) -> Result<(), OutOfMemory> {
        let from = std::mem::replace(&mut self.poured_until, time);
        self.take_brush();
        self.make_room_to_pour(from, time)?;
        if self.is_on_grid() {
            self.pour_onto_faces(from, time);
        }
        if self.tracking() == Tracking::LevelSet {
            self.pour_into_level_set(from, time);
            return Ok(());
        }
        let (volume, surface) = (self.particle_volume(), self.surface_level());
        let Self { flow, particles, phi, blobs, spouts, zones, carried, .. } = self;
        let grid = flow.grid;
        let free = |x: [f64; D]| {
            let outside = |o: &Obstacle<D>| o.shape.distance(x, time) > o.grow;
            flow.solids().is_none_or(|s| s.obstacles().iter().all(outside))
        };
        let mut due: Vec<(f64, usize, u64)> = Vec::new();
        for (i, blob) in blobs.iter().enumerate() {
            due.extend(blob.times(from, time).map(|(k, t)| (t, i, k)));
        }
        due.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (n, &(t, i, k)) in due.iter().enumerate() {
            let within = |(t, i, _): &(f64, usize, u64), x: [f64; D]| blobs[*i].shape.distance(x, *t) < 0.0;
            let dry = |x: [f64; D]| {
                let cell = std::array::from_fn(|a| ((x[a] - grid.origin[a]) / grid.spacing[a]).floor() as isize);
                phi.get_signed(cell) > surface && !due[..n].iter().any(|other| within(other, x))
            };
            let cells = filled_cells(&grid, blobs[i].shape.bounds(t));
            let inside = |x| within(&(t, i, k), x) && dry(x) && free(x);
            particles.fill_cells(&grid, cells, PER_AXIS, i as u64 ^ k << 20, inside, |x, numbers| {
                begin(carried, (&blobs[i].set, t), x, numbers);
                blobs[i].velocity
            });
        }
        for (i, spout) in spouts.iter().enumerate() {
            spout.pour((from, time), grid.spacing[0] / PER_AXIS as f64, i as u64, |t, x, velocity| {
                if free(x) {
                    particles.add(&grid, x, |numbers| {
                        begin(carried, (&spout.set, t), x, numbers);
                        velocity.map(|v| v as Real)
                    });
                }
            });
        }
        for (i, zone) in zones.iter_mut().enumerate().filter(|(_, zone)| (zone.on)(time)) {
            zone.shape.prepare(time);
            let shape = &zone.shape;
            let inside = |x: [f64; D]| shape.distance(x, time) < 0.0;
            let cells = match zone.fills {
                true => filled_cells(&grid, shape.bounds(time)),
                false => cells_of(&grid, shape.bounds(time)),
            };
            let velocity = |x: [f64; D]| zone.velocity_at(x, time);
            if zone.drains {
                self.drained += particles.remove(&grid, &cells, inside, |numbers| {
                    carried.iter_mut().zip(numbers).for_each(|(carried, v)| carried.drain(volume * f64::from(*v)));
                }) as u64;
                continue;
            }
            if zone.velocity.is_some() || zone.drags {
                particles.drive(&grid, &cells, inside, velocity);
            }
            if zone.fills {
                let seed = i as u64 ^ flow.clock().steps << 20;
                particles.refill(
                    &grid,
                    &cells,
                    PER_AXIS,
                    seed,
                    |x| inside(x) && free(x),
                    |x, numbers| {
                        begin(carried, (&zone.set, time), x, numbers);
                        velocity(x)
                    },
                );
            }
            if !zone.set.is_empty() || !zone.rate.is_empty() {
                // Nothing has passed before the start.
                let dt = time - from.max(0.0);
                particles.change_carried(&grid, &cells, inside, |numbers| {
                    zone.set.iter().for_each(|(k, value)| numbers[*k] = value(time) as Real);
                    zone.rate.iter().for_each(|(k, rate)| numbers[*k] += (dt * rate(time)) as Real);
                });
            }
        }
        self.enter(|account| &mut account.emitted);
        self.allow_carried();
        Ok(())
    }

    /// Makes zones of what is painted now.
    fn take_brush(&mut self) {
        self.zones.truncate(self.zones.len() - self.painted);
        let dabs = self.brush.dabs();
        self.zones.extend(dabs.iter().filter_map(Zone::painted));
        self.painted = dabs.iter().filter(|dab| Zone::<D>::is_painted(dab)).count();
    }

    /// Makes sure that there are tiles for all that appears between two times.
    fn make_room_to_pour(&mut self, from: f64, to: f64) -> Result<(), OutOfMemory> {
        if !self.flow.is_unbounded() {
            return Ok(());
        }
        let grid = self.flow.grid;
        let blobs = self.blobs.iter().flat_map(|blob| {
            let bounds = blob.times(from, to).map(|(_, t)| blob.shape.bounds(t));
            bounds.map(|bounds| filled_cells(&grid, bounds)).collect::<Vec<_>>()
        });
        let zones = self.zones.iter_mut().filter(|zone| zone.fills && (zone.on)(to)).map(|zone| {
            zone.shape.prepare(to);
            filled_cells(&grid, zone.shape.bounds(to))
        });
        let spouts = self.spouts.iter().filter_map(|spout| Some(cells_of(&grid, Some(spout.reached(from, to)?))));
        let cells: Vec<_> = blobs.chain(zones).chain(spouts).flatten().collect();
        self.flow.make_room(cells, 0)?;
        self.go_along()
    }

    /// Makes air of what is drained, so that nothing presses there.
    pub(super) fn dry_drains(&mut self, time: f64) {
        let grid = self.flow.grid;
        for zone in self.zones.iter().filter(|zone| zone.drains && (zone.on)(time)) {
            let cells = cells_of(&grid, zone.shape.bounds(time));
            let shape = &zone.shape;
            self.phi.par_rows(|row, phi| {
                let start = row.index;
                if (1..D).any(|a| cells.as_ref().is_some_and(|cells| !cells[a].contains(&start[a]))) {
                    return;
                }
                for (x, phi) in phi.iter_mut().enumerate() {
                    let mut index = start;
                    index[0] += x as isize;
                    let center = std::array::from_fn(|a| grid.origin[a] + (index[a] as f64 + 0.5) * grid.spacing[a]);
                    let distance = shape.distance(center, time) as Real;
                    *phi = phi.max(-distance);
                }
            });
        }
    }
}

/// [`cells_of`], if something is to be there: on tiles no shape fills more than what is looked at, if it has no end.
fn filled_cells<const D: usize>(grid: &Grid<D>, bounds: Option<([f64; D], [f64; D])>) -> Option<[Range<isize>; D]> {
    let framed = || grid.is_unbounded().then(|| grid.cells.map(|n| 0..n as isize));
    cells_of(grid, bounds.filter(|(low, high)| low.iter().chain(high).all(|x| x.is_finite()))).or_else(framed)
}

/// The cells of a box and one around it; `None`: all.
pub(super) fn cells_of<const D: usize>(
    grid: &Grid<D>,
    bounds: Option<([f64; D], [f64; D])>,
) -> Option<[Range<isize>; D]> {
    let (low, high) = bounds?;
    // Far away is far enough.
    let cell = |x: f64, a: usize| ((x - grid.origin[a]) / grid.spacing[a]).clamp(-1e12, 1e12).floor() as isize;
    Some(std::array::from_fn(|a| cell(low[a], a) - 1..cell(high[a], a) + 2))
}

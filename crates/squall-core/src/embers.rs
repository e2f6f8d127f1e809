//! Embers: glowing bits of what burns, carried by the flow.
//!
//! ```text
//! x += dt v,    dv/dt = drag (u(x) - v) - gravity y,    heat = 1 - age / life
//! ```
//!
//! Drag is integrated exactly, so no value needs short steps. Which cells of the flame give off embers, and where they fly, follows
//! from counters alone: the same for any number of threads and after resuming.

use crate::Real;
use crate::flow::Flow;
use crate::force::mix;
use crate::grid::{Axis, Grid, Side};
use crate::parameter::ParameterList;
use crate::sim::{Particles, StateVisitor};
use crate::visit::visit_list;

/// There are never more embers than this.
const MOST: usize = 1_000_000;

/// Cells with less flame than this give off none.
const FAINT: Real = 0.05;

/// Embers, and how they fly.
#[derive(Clone, Debug)]
pub struct Embers<const D: usize> {
    /// What gives them off, by its place among the substances.
    pub flame: usize,
    /// How many come out of a cubic metre (2D: square metre) of flame per second.
    pub rate: f64,
    /// How long they glow, in seconds: from half as long to one and a half times.
    pub life: f64,
    /// How fast they take the velocity of the air, per second.
    pub drag: f64,
    /// How they fall, in m/s^2.
    pub gravity: f64,
    /// How fast they fly off, in m/s.
    pub speed: f64,
    /// Which numbers are drawn.
    pub seed: u64,
    ids: Vec<u64>,
    places: Vec<f64>,
    velocities: Vec<f32>,
    ages: Vec<f64>,
    lives: Vec<f64>,
    born: u64,
}

impl<const D: usize> Embers<D> {
    /// None yet.
    pub fn new(flame: usize, rate: f64, life: f64) -> Self {
        Embers {
            flame,
            rate,
            life,
            drag: 8.0,
            gravity: 9.81,
            speed: 0.3,
            seed: 0,
            ids: Vec::new(),
            places: Vec::new(),
            velocities: Vec::new(),
            ages: Vec::new(),
            lives: Vec::new(),
            born: 0,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// They fly for `dt` seconds, some go out, and new ones appear.
    pub fn step(&mut self, flow: &mut Flow<D>, dt: f64) {
        flow.velocity.iter_mut().for_each(|u| u.fill_halo());
        self.fly(flow, dt);
        self.appear(flow, dt);
    }

    fn fly(&mut self, flow: &Flow<D>, dt: f64) {
        // v = w + (v - w) exp(-drag dt) with w = u - g / drag; without drag v -= g dt.
        let keep = libm::exp(-self.drag * dt);
        let fall = if self.drag > 0.0 { self.gravity / self.drag * (1.0 - keep) } else { self.gravity * dt };
        let mut left = 0;
        for i in 0..self.ids.len() {
            let mut x: [f64; D] = std::array::from_fn(|a| self.places[D * i + a]);
            let mut v: [f64; D] = std::array::from_fn(|a| f64::from(self.velocities[D * i + a]));
            let air = velocity(flow, x);
            for a in 0..D {
                v[a] = air[a] + keep * (v[a] - air[a]) - if a == 1 { fall } else { 0.0 };
                x[a] += dt * v[a];
            }
            let age = self.ages[i] + dt;
            if age >= self.lives[i] || !inside(&flow.grid, &mut x, &mut v) || in_solid(flow, x) {
                continue;
            }
            // Those that are left keep their order.
            (self.ids[left], self.ages[left], self.lives[left]) = (self.ids[i], age, self.lives[i]);
            for a in 0..D {
                self.places[D * left + a] = x[a];
                self.velocities[D * left + a] = v[a] as f32;
            }
            left += 1;
        }
        self.resize(left);
    }

    fn appear(&mut self, flow: &Flow<D>, dt: f64) {
        let flame = &flow.substances[self.flame].field;
        let expected = self.rate * dt * flow.grid.cell_volume();
        let step = mix(self.seed ^ mix(flow.clock().steps));
        for row in (0..flame.layout().rows()).map(|r| flame.layout().row(r)) {
            for (x, &amount) in flame.row(row).iter().enumerate().filter(|(_, amount)| **amount > FAINT) {
                let mut cell = row.index;
                cell[0] += x as isize;
                let key = cell.iter().fold(step, |key, &i| mix(key ^ i as u64));
                let number = |n: u64| (mix(key.wrapping_add(n)) >> 11) as f64 / (1u64 << 53) as f64;
                let count = (expected * f64::from(amount) + number(0)) as u64;
                for n in 0..count.min(64) {
                    if self.ids.len() >= MOST {
                        return;
                    }
                    let draw = |k: u64| number(1 + 8 * n + k);
                    let place: [f64; D] = std::array::from_fn(|a| {
                        flow.grid.origin[a] + flow.grid.spacing[a] * (cell[a] as f64 + draw(a as u64))
                    });
                    let air = velocity(flow, place);
                    self.places.extend(place);
                    self.velocities
                        .extend((0..D).map(|a| (air[a] + self.speed * (2.0 * draw(3 + a as u64) - 1.0)) as f32));
                    self.ages.push(0.0);
                    self.lives.push(self.life * (0.5 + draw(6)));
                    self.ids.push(self.born);
                    self.born += 1;
                }
            }
        }
    }

    fn resize(&mut self, count: usize) {
        self.ids.truncate(count);
        self.ages.truncate(count);
        self.lives.truncate(count);
        self.places.truncate(D * count);
        self.velocities.truncate(D * count);
    }

    /// As others see them: `heat` is 1 for new ones and 0 for those about to go out.
    pub fn particles(&self) -> Particles {
        let axis = |a: usize| self.places.iter().skip(a).step_by(D).map(|&v| v as f32).collect();
        let along = |a: usize| self.velocities.iter().skip(a).step_by(D).copied().collect();
        let heat = self.ages.iter().zip(&self.lives).map(|(age, life)| (1.0 - age / life) as f32).collect();
        Particles {
            ids: self.ids.clone(),
            positions: (0..D).map(axis).collect(),
            velocities: (0..D).map(along).collect(),
            attributes: vec![("heat".to_owned(), heat)],
        }
    }

    /// Shows what can be changed while they fly.
    pub fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        let mut number = |name: &str, unit: &'static str, doc: &'static str, value: &mut f64| {
            if let Some(v) = visit.number(name, unit, doc, [0.0, 1e9], *value) {
                *value = v;
            }
        };
        number("embers.rate", "1/(m^3 s)", "how many come out of a cubic metre of flame", &mut self.rate);
        number("embers.drag", "1/s", "how fast they take the velocity of the air", &mut self.drag);
        number("embers.gravity", "m/s^2", "how they fall", &mut self.gravity);
        number("embers.speed", "m/s", "how fast they fly off", &mut self.speed);
    }

    /// Shows what the next step depends on.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        visitor.integer("embers_born", &mut self.born);
        visit_list(visitor, "ember_ids", &mut self.ids);
        visit_list(visitor, "ember_places", &mut self.places);
        visit_list(visitor, "ember_velocities", &mut self.velocities);
        visit_list(visitor, "ember_ages", &mut self.ages);
        visit_list(visitor, "ember_lives", &mut self.lives);
        let count = self.ids.len();
        let whole = self.ages.len() == count && self.lives.len() == count;
        let numbers = self.places.iter().chain(&self.ages).chain(&self.lives).all(|v| v.is_finite());
        if !whole || self.places.len() != D * count || self.velocities.len() != D * count || !numbers {
            visitor.refuse("its embers have not one place, velocity and age each");
            self.resize(0);
        }
    }
}

/// The velocity of the air at a place, between faces.
fn velocity<const D: usize>(flow: &Flow<D>, x: [f64; D]) -> [f64; D] {
    let grid = &flow.grid;
    std::array::from_fn(|c| {
        let mut first = [0; D];
        let mut t = [0.0; D];
        for a in 0..D {
            let cells = (x[a] - grid.origin[a]) / grid.spacing[a] - if a == c { 0.0 } else { 0.5 };
            // In a box no further than the ghosts beside it.
            let cells = match flow.layout().as_tiles() {
                None => cells.clamp(-1.0, grid.cells[a] as f64 - 1e-9),
                Some(_) => cells,
            };
            first[a] = cells.floor() as isize;
            t[a] = cells - cells.floor();
        }
        let mut sum = 0.0;
        for corner in 0..1usize << D {
            let index: [isize; D] = std::array::from_fn(|a| first[a] + (corner >> a & 1) as isize);
            let weight: f64 = (0..D).map(|a| if corner >> a & 1 == 1 { t[a] } else { 1.0 - t[a] }).product();
            sum += weight * f64::from(flow.velocity()[c].get_signed(index));
        }
        sum
    })
}

/// Keeps a place within walls, and brings it back where the box repeats; `false` if it has left.
fn inside<const D: usize>(grid: &Grid<D>, x: &mut [f64; D], v: &mut [f64; D]) -> bool {
    for a in 0..D {
        let (low, high) = (grid.origin[a], grid.origin[a] + grid.size()[a]);
        match &grid.axes[a] {
            Axis::Unbounded => {}
            Axis::Periodic => x[a] = low + (x[a] - low).rem_euclid(high - low),
            Axis::Bounded { lo, hi } => {
                for (side, out, wall) in [(lo, x[a] < low, low), (hi, x[a] > high, high)] {
                    match side {
                        Side::Slip | Side::NoSlip { .. } if out => (x[a], v[a]) = (wall, 0.0),
                        Side::Open | Side::Inflow { .. } if out => return false,
                        _ => {}
                    }
                }
            }
        }
    }
    x.iter().all(|x| x.is_finite())
}

/// Whether a place is in a solid.
fn in_solid<const D: usize>(flow: &Flow<D>, x: [f64; D]) -> bool {
    let Some(solids) = flow.solids() else { return false };
    let grid = &flow.grid;
    let cell: [isize; D] = std::array::from_fn(|a| {
        let cell = ((x[a] - grid.origin[a]) / grid.spacing[a]).floor() as isize;
        if flow.layout().as_tiles().is_some() { cell } else { cell.clamp(0, grid.cells[a] as isize - 1) }
    });
    let known = flow.layout().as_tiles().is_none() || flow.layout().tile_of(cell).is_some();
    known && solids.volume().get_signed(cell) == 0.0
}

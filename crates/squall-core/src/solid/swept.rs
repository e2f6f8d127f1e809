//! Objects as particles meet them: nothing ends inside of one, and what would pass through one ends on the side from which it came.
//!
//! A way is looked at as the object sees it: from where the particle would be if it had gone along with the object ([`Shape::carried`]) to
//! where it now is, past the object as it is at the end of the step. It is walked in strides that are as long as the distance, and at least
//! [`STRIDE`]; whoever comes too close is pushed out straight away, to the side that it is still on. Distances are those of the shapes
//! themselves, so that nothing depends on what the grid can see of a plate (what is thinner than a few tenths of a cell is
//! [thickened](Solids::thicken)).
//!
//! [`Shape::carried`]: crate::shape::Shape::carried

use super::place::{Placed, place};
use super::{BAND, Solids};
use crate::field::Field;
use crate::grid::Grid;
use crate::ops::each;
use crate::shape::vector::{add, length, scale, sub};
use smallvec::SmallVec;

/// The longest way that is not looked at in between, in cells: less than half of what the thinnest plates are thick.
const STRIDE: f64 = 0.2;

/// How often a particle that is pushed from one object into the next is pushed back.
const ROUNDS: usize = 12;

/// How far is looked for room if there is none between objects: so many steps of a lattice to each side, of half a cell, then of one, then of two.
const ROOM: isize = 8;

/// All objects during a step.
pub(crate) struct Sweep<'a, const D: usize> {
    grid: &'a Grid<D>,
    distance: &'a Field<D>,
    from: f64,
    to: f64,
    /// With how far any point of it has moved, at most.
    placed: SmallVec<[(Placed<'a, D>, f64); 4]>,
}

impl<const D: usize> Solids<D> {
    /// The objects between two times. They must have been put where they are at the second one.
    pub(crate) fn sweep<'a>(&'a self, grid: &'a Grid<D>, from: f64, to: f64) -> Sweep<'a, D> {
        let moved = |p: Placed<'a, D>| {
            let by = p.moved(grid, from, to);
            (p, by)
        };
        let placed = place(&self.obstacles, grid, to).into_iter().map(moved).collect();
        Sweep { grid, distance: &self.distance, from, to, placed }
    }
}

impl<const D: usize> Placed<'_, D> {
    /// How far any point of it moves between two times, at most: of a rigid body the corners of a box around it move furthest, and bodies
    /// that deform get a little more.
    fn moved(&self, grid: &Grid<D>, from: f64, to: f64) -> f64 {
        let shape = &self.obstacle.shape;
        if !shape.moves() {
            return 0.0;
        }
        let h = grid.min_spacing();
        let (low, high) = shape
            .bounds(to)
            .filter(|(low, high)| low.iter().chain(high).all(|x| x.is_finite()))
            .map(|(low, high)| (low.map(|x| x - BAND * h), high.map(|x| x + BAND * h)))
            .unwrap_or((grid.origin, add(grid.origin, grid.size())));
        let corner = |k: usize| -> [f64; D] { each(|a| if k >> a & 1 == 1 { high[a] } else { low[a] }) };
        let ways = (0..1usize << D).map(corner).map(|x| length(sub(shape.carried(x, from, to), x)));
        1.25 * ways.fold(0.0, f64::max)
    }
}

impl<'a, const D: usize> Sweep<'a, D> {
    /// The objects that a particle from a box of cells may meet, if it goes no further than `way` cells.
    pub fn near(&self, first: [isize; D], cells: [usize; D], way: f64) -> SmallVec<[&(Placed<'a, D>, f64); 4]> {
        let h = self.grid.min_spacing();
        let middle = each(|a| self.grid.origin[a] + (first[a] as f64 + 0.5 * cells[a] as f64) * self.grid.spacing[a]);
        let reach = h * (0.5 * length(cells.map(|n| n as f64)) + way + 1.0);
        self.placed.iter().filter(|(p, moved)| p.distance(middle, self.to) <= reach + moved).collect()
    }

    /// Whether a particle that has come to a cell over so many cells has certainly met none of the objects.
    pub fn is_clear(&self, near: &[&(Placed<'a, D>, f64)], cell: [isize; D], way: f64) -> bool {
        let h = self.grid.min_spacing();
        let moved = near.iter().map(|(_, moved)| *moved).fold(0.0, f64::max);
        // Anywhere in a cell the distance is that at its centre, but for half of a diagonal.
        f64::from(self.distance.get_signed(self.grid.nearest_cell(cell))) > h * (way + 1.0) + moved
    }

    /// Where a particle ends that goes from `x` to `to` in a step, if not there: at least `apart` metres from all of the objects. `within` puts a
    /// place back into the walls.
    pub fn hold(
        &self,
        near: &[&(Placed<'a, D>, f64)],
        x: [f64; D],
        to: [f64; D],
        apart: f64,
        within: impl Fn([f64; D]) -> [f64; D],
    ) -> Option<[f64; D]> {
        let mut end = to;
        for (p, _) in near {
            end = self.past(p, x, end, apart);
        }
        if end == to && self.is_free(near, end, apart) {
            return None;
        }
        for round in 0..ROUNDS {
            end = within(end);
            if self.is_free(near, end, apart) {
                return Some(end);
            }
            // Further every time, so that it comes out of wedges.
            for (p, _) in near {
                end = self.out_of(p, end, apart * (1.0 + 0.5 * round as f64), x);
            }
        }
        Some(self.room(near, within(end), apart, within))
    }

    /// Along the way, as an object sees it.
    fn past(&self, p: &Placed<D>, x: [f64; D], to: [f64; D], apart: f64) -> [f64; D] {
        let start = p.carried(x, self.from, self.to);
        let way = sub(to, start);
        let size = length(way);
        let stride = STRIDE * self.grid.min_spacing();
        let (mut gone, mut at, mut touched) = (0.0, start, false);
        loop {
            let d = p.distance(at, self.to);
            if d < apart * NEARLY {
                at = self.out_of(p, at, apart, start);
                touched = true;
            }
            if gone >= size {
                return if touched { at } else { to };
            }
            let next = (gone + (d - apart).max(stride)).min(size);
            at = add(at, scale(way, (next - gone) / size));
            gone = next;
        }
    }

    /// The place straight up from one that is too close to an object; back towards `start` where no direction is up.
    fn out_of(&self, p: &Placed<D>, x: [f64; D], apart: f64, start: [f64; D]) -> [f64; D] {
        let step = 0.05 * self.grid.min_spacing();
        let mut at = x;
        for _ in 0..3 {
            let d = p.distance(at, self.to);
            if d >= apart * NEARLY {
                break;
            }
            let beside = |a: usize, by: f64| p.distance(each(|b| if a == b { at[b] + by } else { at[b] }), self.to);
            let mut up: [f64; D] = each(|a| (beside(a, step) - beside(a, -step)) / (2.0 * step));
            if length(up) < 0.1 {
                up = sub(start, at);
            }
            let size = length(up);
            if size == 0.0 {
                break;
            }
            at = add(at, scale(up, (apart - d) / size));
        }
        at
    }

    fn is_free(&self, near: &[&(Placed<'a, D>, f64)], x: [f64; D], apart: f64) -> bool {
        near.iter().all(|(p, _)| p.distance(x, self.to) >= 0.5 * apart)
    }

    /// The nearest place of a lattice that is free.
    fn room(
        &self,
        near: &[&(Placed<'a, D>, f64)],
        x: [f64; D],
        apart: f64,
        within: impl Fn([f64; D]) -> [f64; D],
    ) -> [f64; D] {
        let side = 2 * ROOM + 1;
        for step in [0.5, 1.0, 2.0].map(|step| step * self.grid.min_spacing()) {
            let mut best = None;
            for k in 0..side.pow(D as u32) {
                let mut rest = k;
                let by: [f64; D] = each(|_| {
                    let i = rest % side - ROOM;
                    rest /= side;
                    i as f64 * step
                });
                let (far, at) = (length(by), within(add(x, by)));
                if best.is_none_or(|(nearest, _)| far < nearest) && self.is_free(near, at, apart) {
                    best = Some((far, at));
                }
            }
            if let Some((_, at)) = best {
                return at;
            }
        }
        x
    }
}

/// A particle this part of the distance away that it should have is left alone.
const NEARLY: f64 = 0.8;

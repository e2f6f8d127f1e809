//! A shape that is dragged: its displacement is a list of points in time that grows while the simulation runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::Shape;
use super::vector::{add, sub};
use crate::ops::each;

/// Times that differ by less are the same, in seconds: steps add up to frames but for rounding.
const SAME: f64 = 1e-9;

/// A displacement over time, linear between its points and constant before and after them. Clones share their points.
#[derive(Clone, Debug, Default)]
pub struct Path(Arc<RwLock<Known>>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    /// Times in seconds, ascending, and displacements in metres.
    points: Vec<(f64, [f64; 3])>,
    /// What comes after this time is not known yet: it stays where it is then.
    until: f64,
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        *self.known() == *other.known()
    }
}

impl Path {
    /// A path that is known as a whole.
    pub fn new(points: Vec<(f64, [f64; 3])>) -> Self {
        let path = Path::default();
        path.set(points, f64::INFINITY);
        path
    }

    /// Gives it other points, of which those after a time are ignored. Nothing that it answers about earlier times may change by that.
    pub fn set(&self, points: Vec<(f64, [f64; 3])>, until: f64) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Known { points, until };
    }

    fn known(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Displacement and velocity at a time. At a point the velocity is that of the way to it, so that it does not depend on points that come later.
    pub fn at(&self, t: f64) -> ([f64; 3], [f64; 3]) {
        let known = self.known();
        let Known { points, until } = &*known;
        let is_known = t <= until + SAME;
        let t = t.min(*until);
        let next = points.partition_point(|(time, _)| *time < t - SAME);
        let place = |i: usize| points.get(i).map_or([0.0; 3], |(_, place)| *place);
        if next == 0 || next == points.len() {
            return (place(next.saturating_sub(usize::from(next > 0))), [0.0; 3]);
        }
        let ((from, before), (to, after)) = (points[next - 1], points[next]);
        let part = ((t - from) / (to - from)).clamp(0.0, 1.0);
        let velocity = std::array::from_fn(|a| if is_known { (after[a] - before[a]) / (to - from) } else { 0.0 });
        (std::array::from_fn(|a| before[a] + part * (after[a] - before[a])), velocity)
    }
}

/// A shape displaced along a path.
pub struct Dragged<S, const D: usize> {
    shape: S,
    path: Path,
    /// Displacement and velocity at the time that was prepared.
    prepared: (f64, [f64; D], [f64; D]),
}

impl<const D: usize, S: Shape<D>> Dragged<S, D> {
    /// A shape that goes along a path.
    pub fn new(shape: S, path: Path) -> Self {
        Dragged { shape, path, prepared: (f64::NAN, [0.0; D], [0.0; D]) }
    }

    fn at(&self, t: f64) -> ([f64; D], [f64; D]) {
        let (time, shift, velocity) = self.prepared;
        if t == time {
            return (shift, velocity);
        }
        let (shift, velocity) = self.path.at(t);
        (each(|a| shift[a]), each(|a| velocity[a]))
    }
}

impl<const D: usize, S: Shape<D>> Shape<D> for Dragged<S, D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        self.shape.distance(sub(x, self.at(t).0), t)
    }

    fn velocity(&self, x: [f64; D], t: f64) -> [f64; D] {
        let (shift, velocity) = self.at(t);
        add(self.shape.velocity(sub(x, shift), t), velocity)
    }

    fn carried(&self, x: [f64; D], from: f64, to: f64) -> [f64; D] {
        add(self.shape.carried(sub(x, self.at(from).0), from, to), self.at(to).0)
    }

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        let (low, high) = self.shape.bounds(t)?;
        let shift = self.at(t).0;
        Some((add(low, shift), add(high, shift)))
    }

    fn moves(&self) -> bool {
        true
    }

    fn changes(&self, from: f64, to: f64) -> bool {
        self.at(from) != self.at(to) || self.shape.changes(from, to)
    }

    fn way(&self, from: f64, to: f64) -> f64 {
        let gone = sub(self.at(to).0, self.at(from).0);
        gone.into_iter().map(f64::abs).fold(0.0, f64::max) + self.shape.way(from, to)
    }

    fn prepare(&mut self, t: f64) {
        let (shift, velocity) = self.path.at(t);
        self.prepared = (t, each(|a| shift[a]), each(|a| velocity[a]));
        self.shape.prepare(t);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Sphere;

    #[test]
    fn a_path_knows_nothing_of_what_comes_later() {
        let points = vec![(1.0, [0.0; 3]), (1.5, [1.0, 0.0, 0.0]), (2.0, [1.0, 3.0, 0.0])];
        let path = Path::new(points.clone());
        assert_eq!(path.at(0.5), ([0.0; 3], [0.0; 3]));
        assert_eq!(path.at(1.25), ([0.5, 0.0, 0.0], [2.0, 0.0, 0.0]));
        assert_eq!(path.at(1.5), ([1.0, 0.0, 0.0], [2.0, 0.0, 0.0]), "the way to a point counts");
        assert_eq!(path.at(3.0), ([1.0, 3.0, 0.0], [0.0; 3]));
        // Cut off, it answers the same until then, whether the rest is there or not.
        let (cut, short) = (Path::default(), Path::default());
        cut.set(points.clone(), 1.5);
        short.set(points[..2].to_vec(), 1.5);
        for t in [0.0, 1.0, 1.3, 1.5, 1.5 + 1e-12, 1.6, 2.5] {
            assert_eq!(cut.at(t), short.at(t), "{t}");
        }
        assert_eq!(cut.at(1.6), ([1.0, 0.0, 0.0], [0.0; 3]));
    }

    #[test]
    fn a_dragged_ball_is_where_its_path_is() {
        let path = Path::new(vec![(0.0, [0.0; 3]), (1.0, [2.0, 0.0, 0.0])]);
        let mut ball = Dragged::new(Sphere { center: [0.0, 0.0], radius: 0.5 }, path);
        ball.prepare(0.5);
        assert_eq!(ball.distance([1.0, 0.0], 0.5), -0.5);
        assert_eq!(ball.velocity([1.0, 0.0], 0.5), [2.0, 0.0]);
        assert_eq!(ball.carried([1.0, 0.25], 0.5, 1.0), [2.0, 0.25]);
        assert_eq!(ball.bounds(1.0), Some(([1.5, -0.5], [2.5, 0.5])));
        assert!(ball.changes(0.25, 0.5) && !ball.changes(2.0, 3.0));
        assert_eq!(ball.way(0.25, 0.75), 1.0);
    }
}

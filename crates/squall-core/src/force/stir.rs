//! Rods that move along a path and drag the fluid.

use super::{Force, Moment, Substance};
use crate::Real;
use crate::field::VectorField;
use crate::grid::{At, Axis, Grid};
use crate::ops::each;
use crate::rows;

/// A smooth path through points: Catmull-Rom splines over times that need not be even.
#[derive(Clone, Debug, PartialEq)]
pub struct Stroke<const D: usize> {
    points: Vec<[f64; D]>,
    times: Vec<f64>,
    loops: bool,
}

impl<const D: usize> Stroke<D> {
    /// A path that is at each point at its time. It begins and ends at rest; or loops: then the last point is the first one of
    /// the next round, and each round goes on where the last one ended, wherever that is.
    ///
    /// There must be two points at least, and times must grow.
    pub fn new(points: Vec<[f64; D]>, times: Vec<f64>, loops: bool) -> Self {
        assert!(points.len() >= 2 && points.len() == times.len(), "two points or more, each with its time");
        assert!(times.windows(2).all(|t| t[1] > t[0]), "times grow");
        Stroke { points, times, loops }
    }

    /// Times for a path of constant speed, but for its beginning and end, in metres per second. Points that follow each other must
    /// differ.
    pub fn times(points: &[[f64; D]], speed: f64) -> Vec<f64> {
        let mut time = 0.0;
        let ways = points.windows(2).map(|p| (0..D).map(|a| (p[1][a] - p[0][a]).powi(2)).sum::<f64>().sqrt());
        let later = ways.map(|way| {
            time += way / speed;
            time
        });
        std::iter::once(0.0).chain(later).collect()
    }

    /// When it begins and when it ends.
    fn span(&self) -> [f64; 2] {
        let end = if self.loops { f64::INFINITY } else { self.times[self.times.len() - 1] };
        [self.times[0], end]
    }

    /// Where it is at a time within its span, and how fast.
    pub fn at(&self, time: f64) -> ([f64; D], [f64; D]) {
        let last = self.times.len() - 1;
        let period = self.times[last] - self.times[0];
        let rounds = if self.loops { ((time - self.times[0]) / period).floor() } else { 0.0 };
        let t = (time - rounds * period).clamp(self.times[0], self.times[last]);
        let i = self.times.partition_point(|&k| k <= t).clamp(1, last) - 1;
        let span = self.times[i + 1] - self.times[i];
        let s = (t - self.times[i]) / span;
        let (mut place, mut speed) = (self.points[i], [0.0; D]);
        for a in 0..D {
            let change = self.points[i + 1][a] - self.points[i][a];
            let (m0, m1) = (span * self.tangent(i, a), span * self.tangent(i + 1, a));
            let (quadratic, cubic) = (3.0 * change - 2.0 * m0 - m1, m0 + m1 - 2.0 * change);
            place[a] += s * (m0 + s * (quadratic + s * cubic));
            place[a] += rounds * (self.points[last][a] - self.points[0][a]);
            speed[a] = (m0 + s * (2.0 * quadratic + s * 3.0 * cubic)) / span;
        }
        (place, speed)
    }

    /// The velocity at a point: that of the parabola through it and its neighbours.
    fn tangent(&self, i: usize, a: usize) -> f64 {
        let last = self.points.len() - 1;
        let slope = |i: usize| {
            let span = self.times[i + 1] - self.times[i];
            ((self.points[i + 1][a] - self.points[i][a]) / span, span)
        };
        let ((before, span_before), (after, span_after)) = match i {
            i if i > 0 && i < last => (slope(i - 1), slope(i)),
            _ if self.loops => (slope(last - 1), slope(0)),
            _ => return 0.0,
        };
        (span_after * before + span_before * after) / (span_before + span_after)
    }
}

/// Rods that follow a path side by side and drag the fluid along: `du/dt = rate bell(distance) (velocity of the rod - u)`.
#[derive(Clone, Debug)]
pub struct Stir<const D: usize> {
    /// The path of the first rod.
    pub stroke: Stroke<D>,
    /// When the path begins, in seconds.
    pub start: f64,
    /// Where the other rods are, seen from the first.
    pub others: Vec<[f64; D]>,
    /// How thick they are: the standard deviation of the bell, in metres.
    pub radius: f64,
    /// How fast the fluid at a rod takes its velocity, per second.
    pub rate: f64,
}

/// Further away than this many radii nothing is felt: exp(-4.5^2 / 2) is a twenty-five-thousandth.
const REACH: f64 = 4.5;

/// Places along the way of a rod in one step at most.
const MOST_PLACES: f64 = 64.0;

/// A rod at one of its places during a step.
struct Rod<const D: usize> {
    place: [f64; D],
    velocity: [f64; D],
}

impl<const D: usize> Force<D> for Stir<D> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, _: &[Substance<D>]) {
        let [begin, end] = self.stroke.span();
        let from = (now.time - self.start).max(begin);
        let dt = (now.time - self.start + now.dt).min(end) - from;
        if dt <= 0.0 {
            return;
        }
        // The push is spread over the way since the last step, by places half a radius apart.
        let middle = self.stroke.at(from + 0.5 * dt).1;
        let way = middle.iter().map(|v| v * v).sum::<f64>().sqrt() * dt;
        let count = (2.0 * way / self.radius).ceil().clamp(1.0, MOST_PLACES) as usize;
        let none = [0.0; D];
        for n in 0..count {
            let (place, velocity) = self.stroke.at(from + dt * (n as f64 + 0.5) / count as f64);
            for other in std::iter::once(&none).chain(&self.others) {
                let rod = Rod { place: each(|a| place[a] + other[a]), velocity };
                rod.drag(grid, self.radius, self.rate * dt / count as f64, u);
            }
        }
    }
}

impl<const D: usize> Rod<D> {
    /// `u = v + (u - v) exp(-much bell)` around the rod and, in periodic boxes, its images.
    fn drag(&self, grid: &Grid<D>, radius: f64, much: f64, u: &mut VectorField<D>) {
        let size = grid.size();
        // The nearest image counts.
        let offset = |p: f64, a: usize| {
            let d = p - self.place[a];
            if grid.axes[a] == Axis::Periodic { d - (d / size[a]).round() * size[a] } else { d }
        };
        let reach = REACH * radius;
        rows::for_each_with_ghosts(u.each_mut(), |row, u| {
            let first = grid.position(At::Center, row.index);
            let across: f64 = (1..D).map(|a| offset(first[a], a).powi(2)).sum();
            if across > reach * reach {
                return;
            }
            for x in 0..u[0].len() {
                let d = offset(first[0] + x as f64 * grid.spacing[0], 0);
                let square = d * d + across;
                if square > reach * reach {
                    continue;
                }
                let bell = libm::exp(-0.5 * square / (radius * radius));
                let keep = libm::exp(-much * bell) as Real;
                for a in 0..D {
                    let v = self.velocity[a] as Real;
                    u[a][x] = v + keep * (u[a][x] - v);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;

    fn at_rest(grid: &Grid<2>) -> VectorField<2> {
        each(|a| Field::new(grid.cells, At::Center, grid.velocity_ends(a)).expect("memory"))
    }

    #[test]
    fn a_stroke_passes_its_points_in_time_and_begins_and_ends_at_rest() {
        let points = vec![[0.0, 0.0], [1.0, 0.5], [2.0, 0.0], [2.0, 3.0]];
        let times = vec![0.0, 1.0, 1.5, 4.0];
        let stroke = Stroke::new(points.clone(), times.clone(), false);
        for (point, &time) in points.iter().zip(&times) {
            // Rounding of numbers of size 3.
            assert!((0..2).all(|a| (stroke.at(time).0[a] - point[a]).abs() < 1e-12), "{point:?}");
        }
        assert!([0.0, 4.0].iter().all(|&t| stroke.at(t).1.iter().all(|v| v.abs() < 1e-12)));
        // The velocity is the derivative of the place, and has no jumps at points.
        for t in [0.3, 1.0, 1.2, 1.5, 3.0] {
            let (a, b) = (stroke.at(t - 1e-6).0, stroke.at(t + 1e-6).0);
            for c in 0..2 {
                // A difference over 2e-6 of numbers of size 1, where the second derivative (about 10) may jump.
                assert!(((b[c] - a[c]) / 2e-6 - stroke.at(t).1[c]).abs() < 1e-4, "{t}");
            }
        }
    }

    #[test]
    fn a_loop_goes_round_and_round_at_even_speed() {
        let n = 12;
        let points: Vec<[f64; 2]> = (0..=n)
            .map(|i| {
                let angle = std::f64::consts::TAU * i as f64 / n as f64;
                [angle.cos(), angle.sin()]
            })
            .collect();
        let times = Stroke::times(&points, 1.0);
        let round = times[n];
        let stroke = Stroke::new(points, times, true);
        for i in 0..100 {
            let t = 0.13 * i as f64;
            let (place, velocity) = stroke.at(t);
            // Twelve cubic pieces are a circle to half a per cent; at points the speed is that of the chord over two of
            // them, cos(15 degrees) = 0.966 of the mean.
            assert!((place[0].hypot(place[1]) - 1.0).abs() < 0.005);
            assert!((velocity[0].hypot(velocity[1]) - 1.0).abs() < 0.04);
            let again = stroke.at(t + 3.0 * round).0;
            assert!((again[0] - place[0]).abs() < 1e-9 && (again[1] - place[1]).abs() < 1e-9);
        }
    }

    #[test]
    fn a_rod_drags_fluid_along_its_way_and_across_the_ends_of_a_periodic_box() {
        let grid = Grid::<2>::periodic([64, 64]);
        let path = vec![[0.9, 0.5], [1.1, 0.5]];
        let times = Stroke::times(&path, 0.5);
        let stroke = Stroke::new(path, times, false);
        let mut stir = Stir { stroke, start: 1.0, others: vec![[0.0, 0.25]], radius: 0.03, rate: 50.0 };
        let mut u = at_rest(&grid);
        stir.apply(&grid, Moment::whole(0.0, 1.0), &mut u, &[]);
        assert_eq!(crate::ops::max_abs(&u[0]), 0.0, "it has not begun");
        stir.apply(&grid, Moment::whole(1.0, 0.4), &mut u, &[]);
        // In the middle of its way it is fastest, 1.5 times the mean.
        for (cell, least) in [([0, 32], 0.3), ([63, 31], 0.3), ([0, 48], 0.3)] {
            assert!(u[0].get(cell) > least, "{cell:?}: {}", u[0].get(cell));
        }
        assert_eq!(u[0].get([32, 32]), 0.0, "far away");
        assert!(crate::ops::max_abs(&u[0]) <= 0.75, "never faster than the rod");
        assert_eq!(crate::ops::max_abs(&u[1]), 0.0);
    }

    #[test]
    fn many_short_steps_drag_as_much_as_one_long_one() {
        let grid = Grid::<2>::periodic([64, 64]);
        let pushed = |steps: usize| {
            let stroke = Stroke::new(vec![[0.3, 0.5], [0.7, 0.5]], vec![0.0, 1.0], false);
            let mut stir = Stir { stroke, start: 0.0, others: Vec::new(), radius: 0.06, rate: 3.0 };
            let mut u = at_rest(&grid);
            for n in 0..steps {
                let dt = 1.0 / steps as f64;
                stir.apply(&grid, Moment::whole(n as f64 * dt, dt), &mut u, &[]);
            }
            crate::ops::sum(&u[0])
        };
        let (few, many) = (pushed(2), pushed(100));
        // The long steps see the speed at about ten places each.
        assert!((few / many - 1.0).abs() < 0.02, "{few} {many}");
    }
}

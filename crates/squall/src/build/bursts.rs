//! Sources that are on for a while, once or periodically.

use std::ops::Range;

use squall_core::force::{During, Moment, Source, Substance};
use squall_core::{Field, Grid, VectorField};

use crate::setup;

/// The source in its time.
pub fn during<const D: usize>(effect: Box<dyn Source<D>>, s: &setup::Source) -> Box<dyn Source<D>> {
    let (from, on) = (s.active.from, s.active.to - s.active.from);
    match s.every.is_finite() {
        true => Box::new(Bursts { effect, from, on, every: s.every }),
        false => Box::new(During { effect, from, to: s.active.to }),
    }
}

/// A source that is on for `on` seconds from `from` on, and again after every `every` seconds.
struct Bursts<const D: usize> {
    effect: Box<dyn Source<D>>,
    from: f64,
    on: f64,
    every: f64,
}

impl<const D: usize> Bursts<D> {
    /// The part of a step in which it is on.
    fn overlap(&self, now: Moment) -> Option<Moment> {
        let (start, end) = (now.time - self.from, now.time + now.dt - self.from);
        // What has been on before a time, from the first burst on.
        let before = |t: f64| {
            let bursts = (t / self.every).floor().max(0.0);
            bursts * self.on + (t - bursts * self.every).clamp(0.0, self.on)
        };
        let dt = before(end) - before(start);
        // Sums of many bursts round: less than a billionth of a burst is none.
        (dt > 1e-9 * self.on).then_some(Moment { dt, ..now })
    }
}

impl<const D: usize> Source<D> for Bursts<D> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]) {
        if let Some(now) = self.overlap(now) {
            self.effect.apply(grid, now, u, substances);
        }
    }

    fn cells(&self, grid: &Grid<D>, now: Moment) -> Option<[Range<isize>; D]> {
        self.overlap(now).and_then(|_| self.effect.cells(grid, now))
    }

    fn speed(&self) -> f64 {
        self.effect.speed()
    }

    fn swell(&self, grid: &Grid<D>, now: Moment, share: f32, rate: &mut Field<D>) {
        if let Some(part) = self.overlap(now) {
            self.effect.swell(grid, now, share * (part.dt / now.dt) as f32, rate);
        }
    }

    fn swells(&self) -> bool {
        self.effect.swells()
    }

    fn pushes(&self) -> bool {
        self.effect.pushes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_core::force::Emitter;
    use squall_core::shape::Sphere;

    #[test]
    fn bursts_are_on_for_their_share_of_the_time_whatever_the_steps() {
        let effect = Box::new(Emitter::new(Box::new(Sphere { center: [0.0; 2], radius: 1.0 })));
        let bursts = Bursts { effect, from: 0.5, on: 0.2, every: 1.0 };
        for dt in [0.01, 0.07, 0.3, 2.5] {
            let steps = (10.0 / dt) as usize + 1;
            let on = |k: usize| bursts.overlap(Moment::whole(k as f64 * dt, dt)).map_or(0.0, |m| m.dt);
            let end = steps as f64 * dt - 0.5;
            let exact = end.floor() * 0.2 + (end - end.floor()).min(0.2);
            let total: f64 = (0..steps).map(on).sum();
            assert!((total - exact).abs() < 1e-6, "{total} of {exact} with steps of {dt}");
        }
        assert!(bursts.overlap(Moment::whole(0.0, 0.4)).is_none());
        assert!(bursts.overlap(Moment::whole(0.8, 0.6)).is_none());
    }
}

//! Time in `f64`, steps that land on frames, and the one place that reads the machine's clock.

use web_time::Instant;

/// Measures wall-clock time. (In a browser the clock of the standard library panics, so nothing else there asks for the time.)
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// Simulated seconds.
    pub time: f64,
    /// Steps taken.
    pub steps: u64,
    /// Length of the last step, in seconds; 0 before the first.
    pub last_dt: f64,
}

impl Clock {
    /// Counts one step.
    pub fn tick(&mut self, dt: f64) {
        self.time += dt;
        self.steps += 1;
        self.last_dt = dt;
    }
}

/// The length of the next step when `remaining` seconds are left to the frame and `limit` is the longest step wanted.
///
/// Whole if it fits, halved if the rest would be a sliver: between one and two limits it gives two equal steps.
pub fn next_dt(remaining: f64, limit: f64) -> f64 {
    if limit >= remaining {
        remaining
    } else if limit * 2.0 > remaining {
        remaining / 2.0
    } else {
        limit
    }
}

#[cfg(test)]
mod tests {
    use super::next_dt;

    #[test]
    fn steps_land_on_the_frame_without_a_sliver() {
        assert_eq!(next_dt(1.0, f64::INFINITY), 1.0);
        assert_eq!(next_dt(1.0, 1.0), 1.0);
        assert_eq!(next_dt(1.0, 0.9), 0.5);
        assert_eq!(next_dt(1.0, 0.25), 0.25);
        let (mut t, mut steps) = (0.0, 0);
        while t < 1.0 {
            t += next_dt(1.0 - t, 0.3);
            steps += 1;
        }
        assert_eq!((t, steps), (1.0, 4));
    }
}

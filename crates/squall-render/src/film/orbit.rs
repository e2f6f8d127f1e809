//! Moving cameras: positions at some times, and a smooth way between them.

use super::camera::{Camera, Projection};
use crate::plane::RenderError;

/// Where the camera is at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrbitKey {
    /// In seconds.
    pub time: f64,
    /// Around the target, in degrees: 0 looks along -z, 90 along -x. Two keys 360 apart are a whole turn.
    pub yaw: f64,
    /// Above the horizon, in degrees.
    pub pitch: f64,
    /// From the target, in metres.
    pub distance: f64,
    /// What is in the middle of the picture.
    pub target: [f64; 3],
    /// The angle between the bottom and the top of the picture, in degrees.
    pub fov: f64,
    /// Turned about its axis, in degrees.
    pub roll: f64,
}

impl Default for OrbitKey {
    fn default() -> Self {
        Self { time: 0.0, yaw: 0.0, pitch: 10.0, distance: 4.0, target: [0.0; 3], fov: 35.0, roll: 0.0 }
    }
}

/// A camera that moves around a target. Between two keys it moves evenly; through several it goes without a jerk and
/// without overshooting any of them (monotone cubics, Fritsch and Carlson 1980). Before the first and after the last it
/// stands still.
#[derive(Clone, Debug, PartialEq)]
pub struct Orbit {
    keys: Vec<OrbitKey>,
}

impl Orbit {
    /// A path through these keys, which must be in the order of their times.
    pub fn new(keys: Vec<OrbitKey>) -> Result<Self, RenderError> {
        let ordered = keys.windows(2).all(|pair| pair[0].time < pair[1].time);
        let finite = keys.iter().all(|key| parts(key).iter().chain([&key.time]).all(|v| v.is_finite()));
        if keys.is_empty() || !ordered || !finite {
            return Err(RenderError::Camera("its keys must be finite and follow each other in time"));
        }
        if !keys.iter().all(|key| key.distance > 0.0 && key.fov > 0.0 && key.fov < 180.0) {
            return Err(RenderError::Camera("every key needs a distance above 0 and a `fov` between 0 and 180"));
        }
        Ok(Self { keys })
    }

    /// One turn around `target` in `seconds`, at constant speed: the picture at the end is that at the start.
    pub fn turntable(key: OrbitKey, seconds: f64) -> Result<Self, RenderError> {
        let end = OrbitKey { time: key.time + seconds, yaw: key.yaw + 360.0, ..key };
        Self::new(vec![key, end])
    }

    /// The camera at one time.
    pub fn camera(&self, time: f64) -> Camera {
        let keys = &self.keys;
        let next = keys.partition_point(|key| key.time <= time);
        let [yaw, pitch, log_distance, x, y, z, fov, roll] = if next == 0 {
            parts(&keys[0])
        } else if next == keys.len() {
            parts(&keys[next - 1])
        } else {
            let (a, b) = (parts(&keys[next - 1]), parts(&keys[next]));
            let span = keys[next].time - keys[next - 1].time;
            let t = (time - keys[next - 1].time) / span;
            let (from, to) = (self.slopes(next - 1), self.slopes(next));
            std::array::from_fn(|i| hermite(a[i], b[i], from[i] * span, to[i] * span, t))
        };
        let projection = Projection::Perspective { fov };
        Camera { roll, ..Camera::orbiting([x, y, z], yaw, pitch, log_distance.exp(), projection) }
    }

    /// How fast every part changes at a key.
    fn slopes(&self, k: usize) -> [f64; 8] {
        let secant = |k: usize| -> [f64; 8] {
            let (a, b) = (&self.keys[k], &self.keys[k + 1]);
            let (pa, pb) = (parts(a), parts(b));
            std::array::from_fn(|i| (pb[i] - pa[i]) / (b.time - a.time))
        };
        match k {
            _ if self.keys.len() < 2 => [0.0; 8],
            0 => secant(0),
            _ if k + 1 == self.keys.len() => secant(k - 1),
            _ => {
                let (before, after) = (secant(k - 1), secant(k));
                // The harmonic mean never overshoots; at a turning point the slope is 0.
                let mean = |p: f64, q: f64| if p * q > 0.0 { 2.0 * p * q / (p + q) } else { 0.0 };
                std::array::from_fn(|i| mean(before[i], after[i]))
            }
        }
    }
}

/// What is interpolated. The logarithm of the distance: a zoom at constant speed looks even.
fn parts(key: &OrbitKey) -> [f64; 8] {
    let [x, y, z] = key.target;
    [key.yaw, key.pitch, key.distance.ln(), x, y, z, key.fov, key.roll]
}

fn hermite(a: f64, b: f64, from: f64, to: f64, t: f64) -> f64 {
    let (u, s) = (1.0 - t, t * t * (3.0 - 2.0 * t));
    a + (b - a) * s + t * u * (u * from - t * to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::vector::{length, sub};

    fn key(time: f64, yaw: f64, distance: f64) -> OrbitKey {
        OrbitKey { time, yaw, distance, ..OrbitKey::default() }
    }

    #[test]
    fn a_camera_passes_its_keys_and_stands_still_outside() {
        let keys = vec![key(0.0, 0.0, 2.0), key(1.0, 40.0, 3.0), key(3.0, 50.0, 1.0)];
        let orbit = Orbit::new(keys.clone()).unwrap();
        for k in &keys {
            let Projection::Perspective { fov } = orbit.camera(k.time).projection else { panic!("perspective") };
            let here = Camera::orbiting(k.target, k.yaw, k.pitch, k.distance, Projection::Perspective { fov: k.fov });
            assert!((fov - k.fov).abs() < 1e-12);
            assert!(length(sub(orbit.camera(k.time).position, here.position)) < 1e-9);
        }
        assert_eq!(orbit.camera(-5.0), orbit.camera(0.0));
        assert_eq!(orbit.camera(9.0), orbit.camera(3.0));
    }

    #[test]
    fn the_way_has_no_jerks_and_no_overshoot() {
        let orbit =
            Orbit::new(vec![key(0.0, 0.0, 2.0), key(1.0, 5.0, 3.0), key(2.0, 60.0, 3.0), key(3.0, 61.0, 1.0)]).unwrap();
        let yaw = |t: f64| {
            let p = orbit.camera(t).position;
            p[0].atan2(p[2]).to_degrees()
        };
        for i in 1..3000 {
            let t = f64::from(i) * 1e-3;
            let (before, here, after) = (yaw(t - 1e-3), yaw(t), yaw(t + 1e-3));
            assert!(after >= here - 1e-9 && (-1e-9..61.0 + 1e-9).contains(&here), "{t}: {here}");
            // Speeds are below 150 degrees per second; a jerk would change one at once, by tens.
            assert!((after - 2.0 * here + before).abs() < 1e-3, "{t}");
        }
    }

    #[test]
    fn a_turntable_turns_evenly_and_closes() {
        let orbit = Orbit::turntable(OrbitKey::default(), 4.0).unwrap();
        let [start, quarter, end] = [0.0, 1.0, 4.0].map(|t| orbit.camera(t).position);
        assert!(length(sub(start, end)) < 1e-9);
        assert!((quarter[0] - start[2]).abs() < 1e-9, "a quarter of the time is a quarter turn");
    }

    #[test]
    fn keys_out_of_order_are_refused() {
        assert!(Orbit::new(vec![]).is_err());
        assert!(Orbit::new(vec![key(1.0, 0.0, 1.0), key(1.0, 0.0, 1.0)]).is_err());
        assert!(Orbit::new(vec![key(0.0, 0.0, 0.0)]).is_err());
        assert!(Orbit::new(vec![key(f64::NAN, 0.0, 1.0)]).is_err());
    }
}

//! Rigid motion: keyframes, drift and spin.

mod track;

use super::Shape;
use super::vector::{add, cross, scale, sub};
use std::array::from_fn;
pub(super) use track::in_loop;
pub use track::{Beyond, Interpolation, Key, Track, TrackError};

type Matrix = [[f64; 3]; 3];

/// How a rigid shape moves.
///
/// A point `p` of the shape as it was built is at `x = c(t) + R(t) scale (p - pivot)`, where the pivot has moved to
/// `c(t) = pivot + shift(t) + t velocity`, and `R(t)` turns by the keyed angles first, then by `t spin`.
///
/// Angles are degrees, as in animation software, and channels are interpolated one by one: a key at 720 makes two turns.
/// In 2D only the third angle counts, the one about z: counter-clockwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion<const D: usize> {
    /// What stays in place while the shape turns, in the coordinates in which the shape was built.
    pub pivot: [f64; D],
    /// Size, compared with the shape as it was built: greater than 0.
    pub scale: f64,
    /// Displacement, in metres.
    pub shift: Track<D>,
    /// Angles about the x, y and z axes, in degrees, applied in this order.
    pub angles: Track<3>,
    /// Constant velocity, in metres per second, on top of the keys. The displacement is 0 at time 0.
    pub velocity: [f64; D],
    /// Constant turning about this axis, in degrees per second, on top of the keys. The angle is 0 at time 0.
    pub spin: [f64; 3],
}

impl<const D: usize> Default for Motion<D> {
    fn default() -> Self {
        Motion {
            pivot: [0.0; D],
            scale: 1.0,
            shift: Track::default(),
            angles: Track::default(),
            velocity: [0.0; D],
            spin: [0.0; 3],
        }
    }
}

impl<const D: usize> Motion<D> {
    /// Whether anything ever changes.
    pub fn moves(&self) -> bool {
        let turning = if D == 2 { &[2][..] } else { &[0, 1, 2] };
        self.shift.moves()
            || self.angles.moves()
            || self.velocity != [0.0; D]
            || turning.iter().any(|&a| self.spin[a] != 0.0)
    }

    /// Where a point of the shape as it was built is at a time.
    pub fn place(&self, p: [f64; D], t: f64) -> [f64; D] {
        self.placed(&self.pose(t), p)
    }

    fn placed(&self, pose: &Pose<D>, p: [f64; D]) -> [f64; D] {
        add(pose.center, pose.turn(scale(sub(p, self.pivot), self.scale)))
    }

    /// Which point of the shape as it was built is at `x` at a time.
    pub fn place_back(&self, x: [f64; D], t: f64) -> [f64; D] {
        let pose = self.pose(t);
        add(self.pivot, scale(pose.turn_back(sub(x, pose.center)), 1.0 / self.scale))
    }

    fn pose(&self, t: f64) -> Pose<D> {
        let (shift, shift_rate) = self.shift.at(t);
        let (mut angles, mut rates) = self.angles.at(t);
        let mut spin = self.spin;
        if D == 2 {
            for flat in [&mut angles, &mut rates, &mut spin] {
                [flat[0], flat[1]] = [0.0; 2];
            }
        }
        let spin = spin.map(f64::to_radians);
        let ([rx, ry, rz], [wx, wy, wz]) = (angles.map(f64::to_radians), rates.map(f64::to_radians));
        let (about_x, about_y, about_z) = (axis_rotation(0, rx), axis_rotation(1, ry), axis_rotation(2, rz));
        let zy = product(&about_z, &about_y);
        let keyed = product(&zy, &about_x);
        let drift = axis_angle(spin, t);
        // R = S Z Y X with S' = [spin] S: w = spin + S (z' e_z + Z (y' e_y) + Z Y (x' e_x)).
        let keyed_rate = add([0.0, 0.0, wz], add(apply(&about_z, [0.0, wy, 0.0]), apply(&zy, [wx, 0.0, 0.0])));
        Pose {
            center: add(add(self.pivot, shift), scale(self.velocity, t)),
            rotation: product(&drift, &keyed),
            velocity: add(self.velocity, shift_rate),
            turning: add(spin, apply(&drift, keyed_rate)),
        }
    }
}

impl super::TriangleMesh {
    /// The same, turned about the x, y and z axes through the origin in this order, in degrees: as by the angles of a
    /// [`Motion`].
    pub fn turned(mut self, degrees: [f64; 3]) -> Self {
        for (axis, angle) in degrees.into_iter().enumerate().filter(|(_, angle)| *angle != 0.0) {
            let turn = axis_rotation(axis, angle.to_radians());
            self.vertices.iter_mut().for_each(|v| *v = apply(&turn, *v));
        }
        self
    }
}

/// Where a rigid body is and how it moves, at one time.
#[derive(Clone, Copy, Debug)]
struct Pose<const D: usize> {
    center: [f64; D],
    rotation: Matrix,
    velocity: [f64; D],
    /// Angular velocity, in radians per second.
    turning: [f64; 3],
}

impl<const D: usize> Pose<D> {
    /// R v.
    fn turn(&self, v: [f64; D]) -> [f64; D] {
        from_fn(|a| (0..D).map(|b| self.rotation[a][b] * v[b]).sum())
    }

    /// R^T v, which undoes `turn`.
    fn turn_back(&self, v: [f64; D]) -> [f64; D] {
        from_fn(|a| (0..D).map(|b| self.rotation[b][a] * v[b]).sum())
    }

    /// v + w x (x - c).
    fn velocity_at(&self, x: [f64; D]) -> [f64; D] {
        let r = sub(x, self.center);
        let arm = cross(self.turning, from_fn(|a| if a < D { r[a] } else { 0.0 }));
        from_fn(|a| self.velocity[a] + arm[a])
    }
}

/// A shape that moves as a rigid body. Its own motion, if it has any, happens in the coordinates that are moved.
#[derive(Clone, Debug)]
pub struct Moving<S, const D: usize> {
    shape: S,
    motion: Motion<D>,
    // The pose at the time that was prepared last: sines are dear, questions many.
    prepared: (f64, Pose<D>),
}

impl<const D: usize, S: Shape<D>> Moving<S, D> {
    /// Sets a shape in motion.
    pub fn new(shape: S, motion: Motion<D>) -> Self {
        let prepared = (0.0, motion.pose(0.0));
        Moving { shape, motion, prepared }
    }

    /// How it moves.
    pub fn motion(&self) -> &Motion<D> {
        &self.motion
    }

    fn pose(&self, t: f64) -> Pose<D> {
        let (time, pose) = self.prepared;
        if t == time { pose } else { self.motion.pose(t) }
    }

    /// Where a point lies in the coordinates of the shape.
    fn to_shape(&self, pose: &Pose<D>, x: [f64; D]) -> [f64; D] {
        add(self.motion.pivot, scale(pose.turn_back(sub(x, pose.center)), 1.0 / self.motion.scale))
    }
}

impl<const D: usize, S: Shape<D>> Shape<D> for Moving<S, D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        let pose = self.pose(t);
        self.motion.scale * self.shape.distance(self.to_shape(&pose, x), t)
    }

    fn velocity(&self, x: [f64; D], t: f64) -> [f64; D] {
        let pose = self.pose(t);
        let own = self.shape.velocity(self.to_shape(&pose, x), t);
        add(pose.velocity_at(x), scale(pose.turn(own), self.motion.scale))
    }

    fn carried(&self, x: [f64; D], from: f64, to: f64) -> [f64; D] {
        let within = self.shape.carried(self.to_shape(&self.pose(from), x), from, to);
        self.motion.placed(&self.pose(to), within)
    }

    /// The box around the turned box of the shape: a little more than needed.
    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        let pose = self.pose(t);
        let (low, high) = self.shape.bounds(t)?;
        let (middle, half) = (scale(add(low, high), 0.5), scale(sub(high, low), 0.5 * self.motion.scale));
        let center = add(pose.center, scale(pose.turn(sub(middle, self.motion.pivot)), self.motion.scale));
        let reach: [f64; D] = from_fn(|a| (0..D).map(|b| pose.rotation[a][b].abs() * half[b]).sum());
        Some((sub(center, reach), add(center, reach)))
    }

    fn moves(&self) -> bool {
        self.motion.moves() || self.shape.moves()
    }

    fn way(&self, from: f64, to: f64) -> f64 {
        let middle = (self.motion.pivot, self.motion.pivot);
        // Nothing is asked about other times than the one that was prepared: whatever deforms would have to be made anew.
        let (low, high) = self.shape.bounds(self.prepared.0).unwrap_or(middle);
        let corners = (0..1 << D).map(|i: usize| from_fn(|a| if i >> a & 1 == 0 { low[a] } else { high[a] }));
        let poses = [from, to].map(|t| self.motion.pose(t));
        let gone = |p: [f64; D]| {
            let [before, after] = poses.each_ref().map(|pose| self.motion.placed(pose, p));
            sub(after, before).into_iter().map(f64::abs).fold(0.0, f64::max)
        };
        corners.map(gone).fold(0.0, f64::max)
    }

    fn prepare(&mut self, t: f64) {
        self.prepared = (t, self.motion.pose(t));
        self.shape.prepare(t);
    }
}

fn apply(m: &Matrix, v: [f64; 3]) -> [f64; 3] {
    from_fn(|a| m[a][0] * v[0] + m[a][1] * v[1] + m[a][2] * v[2])
}

fn product(m: &Matrix, n: &Matrix) -> Matrix {
    from_fn(|a| from_fn(|b| m[a][0] * n[0][b] + m[a][1] * n[1][b] + m[a][2] * n[2][b]))
}

fn axis_rotation(axis: usize, angle: f64) -> Matrix {
    axis_angle(from_fn(|a| if a == axis { 1.0 } else { 0.0 }), angle)
}

/// The rotation by `|w| t` about `w` (Rodrigues): cos I + sin [n] + (1 - cos) n n^T, n = w / |w|.
fn axis_angle(w: [f64; 3], t: f64) -> Matrix {
    let speed = super::vector::length(w);
    let n = if speed > 0.0 { scale(w, 1.0 / speed) } else { w };
    let (sin, cos) = libm::sincos(speed * t);
    let skew = [[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]];
    from_fn(|a| from_fn(|b| f64::from(u8::from(a == b)) * cos + sin * skew[a][b] + (1.0 - cos) * n[a] * n[b]))
}

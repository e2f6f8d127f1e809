//! Cameras: where the rays of a picture start and go.

use super::vector::{Vec3, add, along, cross, dot, length, scale, sub, unit};
use crate::plane::RenderError;

/// How a camera shows depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// What is further away is smaller.
    Perspective {
        /// The angle between the bottom and the top of the picture, in degrees.
        fov: f64,
    },
    /// Nothing shrinks with distance.
    Orthographic {
        /// Metres between the bottom and the top of the picture.
        height: f64,
    },
}

/// A camera. Nothing behind its position is seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it stands, in metres.
    pub position: [f64; 3],
    /// What is in the middle of the picture.
    pub target: [f64; 3],
    /// What is up in the picture.
    pub up: [f64; 3],
    /// Turned about its axis, in degrees: the picture turns the other way.
    pub roll: f64,
    /// Perspective or orthographic.
    pub projection: Projection,
    /// The radius of the lens, in metres: what is not at the distance of `focus` is blurred. 0: everything is sharp.
    pub aperture: f64,
    /// At which distance along the line of sight things are sharp, in metres; `None`: at that of the target.
    pub focus: Option<f64>,
}

impl Default for Camera {
    /// From four metres before the origin, along -z.
    fn default() -> Self {
        let projection = Projection::Perspective { fov: 35.0 };
        let position = [0.0, 0.0, 4.0];
        Self { position, target: [0.0; 3], up: [0.0, 1.0, 0.0], roll: 0.0, projection, aperture: 0.0, focus: None }
    }
}

/// Degrees that are right angles give exact sines and cosines.
fn sin_cos(degrees: f64) -> (f64, f64) {
    let (s, c) = (degrees % 360.0).to_radians().sin_cos();
    let exact = |v: f64| if v.abs() < 1e-12 { 0.0 } else { v };
    (exact(s), exact(c))
}

/// From the target to the camera: yaw 0 is towards +z, 90 towards +x; pitch 90 is straight above.
pub(super) fn direction(yaw: f64, pitch: f64) -> Vec3 {
    let ((sy, cy), (sp, cp)) = (sin_cos(yaw), sin_cos(pitch));
    [sy * cp, sp, cy * cp]
}

/// Up in the picture for that direction, also when looking straight down or up.
pub(super) fn up_for(yaw: f64, pitch: f64) -> Vec3 {
    let ((sy, cy), (sp, cp)) = (sin_cos(yaw), sin_cos(pitch));
    [-sy * sp, cp, -cy * sp]
}

impl Camera {
    /// A camera on a sphere around `target`. `yaw` 0 looks along -z and 90 along -x; `pitch` 90 looks straight down.
    pub fn orbiting(target: [f64; 3], yaw: f64, pitch: f64, distance: f64, projection: Projection) -> Self {
        let position = along(target, direction(yaw, pitch), distance);
        Self { position, target, up: up_for(yaw, pitch), projection, ..Self::default() }
    }

    /// The perspective camera that just sees a whole box in a picture of this aspect (width over height); `margin` 0.1
    /// leaves a tenth of the picture free on each side.
    pub fn framing(low: [f64; 3], high: [f64; 3], yaw: f64, pitch: f64, fov: f64, aspect: f64, margin: f64) -> Self {
        let free = (1.0 - 2.0 * margin).clamp(0.05, 1.0);
        let tan_y = (0.5 * fov.clamp(0.1, 170.0)).to_radians().tan() * free;
        // A corner at (x, y) across and z towards the camera is seen if |x| <= tan (distance - z).
        let distance = corners(low, high, yaw, pitch)
            .map(|[x, y, z]| z + (y.abs() / tan_y).max(x.abs() / (tan_y * aspect)))
            .fold(0.0f64, f64::max);
        let projection = Projection::Perspective { fov };
        Self::orbiting(middle(low, high), yaw, pitch, distance.max(1e-9), projection)
    }

    /// The same without perspective.
    pub fn framing_orthographic(low: [f64; 3], high: [f64; 3], yaw: f64, pitch: f64, aspect: f64, margin: f64) -> Self {
        let free = (1.0 - 2.0 * margin).clamp(0.05, 1.0);
        let height = corners(low, high, yaw, pitch)
            .map(|[x, y, _]| 2.0 * y.abs().max(x.abs() / aspect) / free)
            .fold(0.0f64, f64::max);
        let distance = length(sub(high, low)).max(1e-9);
        let projection = Projection::Orthographic { height: height.max(1e-9) };
        Self::orbiting(middle(low, high), yaw, pitch, distance, projection)
    }

    /// The rays of a picture of this size.
    pub(super) fn lens(&self, width: usize, height: usize) -> Result<Lens, RenderError> {
        if !(1..=32768).contains(&width) || !(1..=32768).contains(&height) {
            return Err(RenderError::Size { width, height });
        }
        let numbers = [self.position, self.target, self.up, [self.roll, self.aperture, self.focus.unwrap_or(1.0)]];
        let finite = numbers.iter().flatten().all(|v| v.is_finite());
        let back = unit(sub(self.position, self.target));
        let right = back.and_then(|back| unit(cross(self.up, back)));
        let (Some(back), Some(right), true) = (back, right, finite) else {
            return Err(RenderError::Camera("it must stand away from its target, with `up` across the line of sight"));
        };
        let up = cross(back, right);
        let (s, c) = sin_cos(self.roll);
        let (right, up) = (add(scale(right, c), scale(up, s)), sub(scale(up, c), scale(right, s)));
        let half = match self.projection {
            Projection::Perspective { fov } if fov > 0.0 && fov < 180.0 => (0.5 * fov).to_radians().tan(),
            Projection::Perspective { .. } => return Err(RenderError::Camera("`fov` must lie between 0 and 180")),
            Projection::Orthographic { height } if height > 0.0 && height.is_finite() => 0.5 * height,
            Projection::Orthographic { .. } => return Err(RenderError::Camera("its picture must have a height")),
        };
        let focus = self.focus.unwrap_or_else(|| length(sub(self.position, self.target)));
        if self.aperture < 0.0 || focus <= 0.0 {
            return Err(RenderError::Camera("`aperture` must not be negative, `focus` must be positive"));
        }
        let perspective = matches!(self.projection, Projection::Perspective { .. });
        let (size, aperture) = ([width as f64, height as f64], self.aperture);
        Ok(Lens { position: self.position, right, up, back, half, perspective, size, aperture, focus })
    }

    /// The place that is seen at a place of a picture of this size, in pixels from the upper left corner, on the plane through `point` across the
    /// line of sight. `None`: there is none, or the camera cannot take pictures.
    pub fn seen_at(&self, [width, height]: [usize; 2], [x, y]: [f64; 2], point: [f64; 3]) -> Option<[f64; 3]> {
        let lens = self.lens(width, height).ok()?;
        let (Ray { origin, direction }, [_, _, back]) = (lens.ray(x, y), lens.axes());
        let way = dot(sub(point, origin), back) / dot(direction, back);
        (way.is_finite() && way > 0.0).then(|| add(origin, scale(direction, way)))
    }

    /// Where on a picture of this size a place is seen, in pixels from the upper left corner. `None`: behind the camera.
    pub fn pixel_of(&self, [width, height]: [usize; 2], place: [f64; 3]) -> Option<[f64; 2]> {
        self.lens(width, height).ok()?.project(place)
    }

    /// Right, up and towards the viewer, each of length 1; and half the height of the picture: the tangent of half its angle, or in metres without
    /// perspective.
    pub fn axes(&self) -> Option<([[f64; 3]; 3], f64)> {
        let lens = self.lens(1, 1).ok()?;
        Some((lens.axes(), lens.half()))
    }

    /// The camera turned about its target by angles in degrees, and moved away by a factor.
    pub fn orbited(&self, yaw: f64, pitch: f64, away: f64) -> Self {
        let way = sub(self.position, self.target);
        let distance = length(way).max(1e-9);
        let old_pitch = (way[1] / distance).clamp(-1.0, 1.0).asin().to_degrees();
        // Seen from straight above, up says where the front is.
        let flat = if old_pitch.abs() > 89.0 { scale(self.up, -old_pitch.signum()) } else { way };
        let old_yaw = flat[0].atan2(flat[2]).to_degrees();
        let projection = match self.projection {
            Projection::Orthographic { height } => Projection::Orthographic { height: height * away },
            perspective => perspective,
        };
        let pitch = (old_pitch + pitch).clamp(-89.9, 89.9);
        let turned = Self::orbiting(self.target, old_yaw + yaw, pitch, distance * away, projection);
        Self { roll: self.roll, ..turned }
    }

    /// The camera and its target moved together: by parts of the height of the picture to the right and up.
    pub fn panned(&self, right: f64, up: f64) -> Self {
        let Some(([to_right, to_up, _], half)) = self.axes() else { return *self };
        let height = match self.projection {
            Projection::Perspective { .. } => 2.0 * half * length(sub(self.position, self.target)),
            Projection::Orthographic { .. } => 2.0 * half,
        };
        let by = add(scale(to_right, right * height), scale(to_up, up * height));
        Self { position: add(self.position, by), target: add(self.target, by), ..*self }
    }
}

fn middle(low: Vec3, high: Vec3) -> Vec3 {
    scale(add(low, high), 0.5)
}

/// The corners of a box as (right, up, towards the camera) of its middle.
fn corners(low: Vec3, high: Vec3, yaw: f64, pitch: f64) -> impl Iterator<Item = Vec3> {
    let (back, up) = (direction(yaw, pitch), up_for(yaw, pitch));
    let right = cross(up, back);
    let half = scale(sub(high, low), 0.5);
    (0..8).map(move |corner: usize| {
        let p: Vec3 = std::array::from_fn(|a| if corner >> a & 1 == 1 { half[a] } else { -half[a] });
        [dot(p, right), dot(p, up), dot(p, back)]
    })
}

/// A ray in metres; the direction has length 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ray {
    pub origin: Vec3,
    pub direction: Vec3,
}

/// A camera made ready for a picture.
pub(super) struct Lens {
    position: Vec3,
    right: Vec3,
    up: Vec3,
    back: Vec3,
    half: f64,
    perspective: bool,
    size: [f64; 2],
    aperture: f64,
    focus: f64,
}

impl Lens {
    /// The ray through a place of the picture, in pixels from the upper left corner.
    pub fn ray(&self, x: f64, y: f64) -> Ray {
        let [width, height] = self.size;
        let (u, v) = (self.half * (2.0 * x - width) / height, self.half * (1.0 - 2.0 * y / height));
        let across: Vec3 = std::array::from_fn(|a| u * self.right[a] + v * self.up[a]);
        if self.perspective {
            let direction = sub(across, self.back);
            Ray { origin: self.position, direction: scale(direction, 1.0 / length(direction)) }
        } else {
            Ray { origin: add(self.position, across), direction: scale(self.back, -1.0) }
        }
    }

    /// The ray through a place of the picture and a place on the lens, from 0 to 1 both ways: all rays of one place of the picture meet where it
    /// is sharp.
    pub fn ray_through(&self, x: f64, y: f64, [u, v]: [f64; 2]) -> Ray {
        let middle = self.ray(x, y);
        if self.aperture <= 0.0 {
            return middle;
        }
        // Evenly over the disc.
        let (r, (s, c)) = (self.aperture * u.sqrt(), (std::f64::consts::TAU * v).sin_cos());
        let sharp = along(middle.origin, middle.direction, self.focus / -dot(middle.direction, self.back));
        let origin: Vec3 = std::array::from_fn(|a| middle.origin[a] + r * (c * self.right[a] + s * self.up[a]));
        let way = sub(sharp, origin);
        Ray { origin, direction: scale(way, 1.0 / length(way)) }
    }

    /// Right, up, and towards the viewer, each of length 1.
    pub fn axes(&self) -> [Vec3; 3] {
        [self.right, self.up, self.back]
    }

    /// Half the height of the picture: the tangent of half its angle, or in metres.
    pub fn half(&self) -> f64 {
        self.half
    }

    /// Where on the picture a place is seen, in pixels from the upper left corner; `None` behind the camera.
    pub fn project(&self, x: Vec3) -> Option<[f64; 2]> {
        let [width, height] = self.size;
        let way = sub(x, self.position);
        let away = if self.perspective { -dot(way, self.back) } else { 1.0 };
        let (u, v) = (dot(way, self.right) / (away * self.half), dot(way, self.up) / (away * self.half));
        (away > 1e-9).then_some([0.5 * (u * height + width), 0.5 * height * (1.0 - v)])
    }

    /// The size of a pixel in metres, at `distance`.
    pub fn footprint(&self, distance: f64) -> f64 {
        2.0 * self.half / self.size[1] * if self.perspective { distance } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Vec3, b: Vec3) -> bool {
        length(sub(a, b)) < 1e-9
    }

    #[test]
    fn what_is_seen_at_a_pixel_is_drawn_there() {
        let camera = Camera::framing([0.0; 3], [1.0, 2.0, 1.0], 30.0, 20.0, 40.0, 1.5, 1.1);
        let (size, point) = ([300, 200], [0.5, 1.0, 0.5]);
        for pixel in [[150.0, 100.0], [10.0, 190.0], [222.5, 31.0]] {
            let place = camera.seen_at(size, pixel, point).unwrap();
            let drawn = camera.lens(300, 200).unwrap().project(place).unwrap();
            assert!((0..2).all(|a| (drawn[a] - pixel[a]).abs() < 1e-6), "{drawn:?}");
        }
    }

    #[test]
    fn a_camera_is_turned_and_moved_by_hand() {
        let camera = Camera::framing([0.0; 3], [1.0; 3], 30.0, 20.0, 40.0, 1.5, 0.1);
        let there = camera.orbited(50.0, -35.0, 2.0);
        let expected = direction(80.0, -15.0);
        let way = sub(there.position, there.target);
        assert!(near(way, scale(expected, 2.0 * length(sub(camera.position, camera.target)))), "{way:?}");
        assert!(near(there.orbited(-50.0, 35.0, 0.5).position, camera.position));
        assert_eq!(camera.orbited(0.0, 500.0, 1.0).axes().map(|(_, half)| half > 0.0), Some(true), "never upside down");
        // What was in the middle is a quarter of the height further left and lower.
        let moved = camera.panned(0.25, 0.25);
        let pixel = moved.pixel_of([300, 200], camera.target).unwrap();
        assert!((pixel[0] - 100.0).abs() < 1e-6 && (pixel[1] - 150.0).abs() < 1e-6, "{pixel:?}");
    }

    #[test]
    fn the_middle_of_the_picture_is_the_target_whatever_the_view() {
        for (yaw, pitch) in [(0.0, 0.0), (90.0, 0.0), (37.0, 21.0), (10.0, 90.0), (0.0, -90.0)] {
            let target = [1.0, 2.0, 3.0];
            let camera = Camera::orbiting(target, yaw, pitch, 5.0, Projection::Perspective { fov: 40.0 });
            let ray = camera.lens(64, 32).unwrap().ray(32.0, 16.0);
            assert!(near(along(ray.origin, ray.direction, 5.0), target), "{yaw} {pitch}");
        }
    }

    #[test]
    fn a_place_on_a_ray_is_seen_where_the_ray_goes_through_the_picture() {
        let orthographic = Projection::Orthographic { height: 2.0 };
        for projection in [Projection::Perspective { fov: 40.0 }, orthographic] {
            let camera = Camera { roll: 20.0, ..Camera::orbiting([1.0, 2.0, 3.0], 37.0, 21.0, 5.0, projection) };
            let lens = camera.lens(64, 48).unwrap();
            let ray = lens.ray(10.5, 40.25);
            let [x, y] = lens.project(along(ray.origin, ray.direction, 3.0)).unwrap();
            assert!((x - 10.5).abs() < 1e-9 && (y - 40.25).abs() < 1e-9, "{x} {y}");
        }
    }

    #[test]
    fn x_is_right_and_y_is_up_from_the_front_and_roll_turns_the_camera() {
        let orthographic = Projection::Orthographic { height: 2.0 };
        let camera = Camera::orbiting([0.0; 3], 0.0, 0.0, 3.0, orthographic);
        assert!(near(camera.lens(20, 10).unwrap().ray(20.0, 0.0).origin, [2.0, 1.0, 3.0]));
        let above = Camera::orbiting([0.0; 3], 0.0, 90.0, 3.0, orthographic);
        assert!(near(above.lens(20, 10).unwrap().ray(20.0, 0.0).origin, [2.0, 3.0, -1.0]), "-z is up from above");
        let rolled = Camera { roll: 90.0, ..camera };
        assert!(near(rolled.lens(10, 10).unwrap().ray(10.0, 5.0).origin, [0.0, 1.0, 3.0]));
    }

    #[test]
    fn a_framed_box_fills_the_picture_and_does_not_leave_it() {
        let (low, high) = ([-1.0, 0.0, 2.0], [2.0, 5.0, 3.0]);
        for (yaw, pitch, aspect, margin) in [(0.0, 0.0, 1.0, 0.0), (33.0, 20.0, 1.8, 0.1), (200.0, 70.0, 0.5, 0.05)] {
            let perspective = Camera::framing(low, high, yaw, pitch, 40.0, aspect, margin);
            let orthographic = Camera::framing_orthographic(low, high, yaw, pitch, aspect, margin);
            for (camera, tan) in [(perspective, 20f64.to_radians().tan()), (orthographic, 0.0)] {
                let distance = length(sub(camera.position, camera.target));
                let most = corners(low, high, yaw, pitch)
                    .map(|[x, y, z]| {
                        let half = match camera.projection {
                            Projection::Perspective { .. } => tan * (distance - z),
                            Projection::Orthographic { height } => 0.5 * height,
                        };
                        (y.abs() / half).max(x.abs() / (half * aspect))
                    })
                    .fold(0.0, f64::max);
                assert!((most - (1.0 - 2.0 * margin)).abs() < 1e-9, "{most}");
            }
        }
    }

    #[test]
    fn a_camera_that_sees_nothing_is_refused() {
        let good = Camera::default();
        let bad = [
            Camera { position: good.target, ..good },
            Camera { up: [0.0, 0.0, 1.0], ..good },
            Camera { position: [f64::NAN, 0.0, 1.0], ..good },
            Camera { projection: Projection::Perspective { fov: 180.0 }, ..good },
            Camera { projection: Projection::Orthographic { height: 0.0 }, ..good },
        ];
        assert!(bad.iter().all(|camera| camera.lens(8, 8).is_err()));
        assert!(good.lens(0, 8).is_err() && good.lens(8, 40_000).is_err());
        assert!(good.lens(8, 8).is_ok());
    }
}

//! The little vector arithmetic that pictures need, in metres and `f64`.

/// A point or a direction.
pub(super) type Vec3 = [f64; 3];

pub(super) fn add(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|i| a[i] + b[i])
}

pub(super) fn sub(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|i| a[i] - b[i])
}

pub(super) fn scale(a: Vec3, s: f64) -> Vec3 {
    a.map(|v| v * s)
}

/// The point `t` along a ray.
pub(super) fn along(origin: Vec3, direction: Vec3, t: f64) -> Vec3 {
    std::array::from_fn(|i| origin[i] + direction[i] * t)
}

pub(super) fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn cross(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|i| a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3])
}

pub(super) fn length(a: Vec3) -> f64 {
    dot(a, a).sqrt()
}

/// The same direction with length 1; `None` if it has none.
pub(super) fn unit(a: Vec3) -> Option<Vec3> {
    // Scaled first: squares of very small or large numbers do not fit.
    let most = a.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    if !(most > 0.0 && most.is_finite()) {
        return None;
    }
    let a = scale(a, 1.0 / most);
    Some(scale(a, 1.0 / length(a)))
}

/// Where a ray is inside of a box: enters and leaves. `None` if it misses it.
pub(super) fn clip(origin: Vec3, direction: Vec3, low: Vec3, high: Vec3) -> Option<(f64, f64)> {
    let (mut enter, mut leave) = (f64::NEG_INFINITY, f64::INFINITY);
    for a in 0..3 {
        if direction[a] == 0.0 {
            if origin[a] < low[a] || origin[a] > high[a] {
                return None;
            }
        } else {
            let (p, q) = ((low[a] - origin[a]) / direction[a], (high[a] - origin[a]) / direction[a]);
            (enter, leave) = (enter.max(p.min(q)), leave.min(p.max(q)));
        }
    }
    (enter < leave).then_some((enter, leave))
}

/// From 0 at `a` to 1 at `b`, flat at both ends.
pub(super) fn smoothstep(a: f64, b: f64, x: f64) -> f64 {
    let t = ((x - a) / (b - a)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

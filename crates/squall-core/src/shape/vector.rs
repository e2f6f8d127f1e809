//! The few operations on small vectors that geometry needs.

use std::array::from_fn;

pub fn add<const D: usize>(a: [f64; D], b: [f64; D]) -> [f64; D] {
    from_fn(|i| a[i] + b[i])
}

pub fn sub<const D: usize>(a: [f64; D], b: [f64; D]) -> [f64; D] {
    from_fn(|i| a[i] - b[i])
}

pub fn scale<const D: usize>(a: [f64; D], s: f64) -> [f64; D] {
    from_fn(|i| a[i] * s)
}

/// a + s (b - a).
pub fn lerp<const D: usize>(a: [f64; D], b: [f64; D], s: f64) -> [f64; D] {
    from_fn(|i| a[i] + s * (b[i] - a[i]))
}

pub fn dot<const D: usize>(a: [f64; D], b: [f64; D]) -> f64 {
    let mut sum = 0.0;
    for i in 0..D {
        sum += a[i] * b[i];
    }
    sum
}

pub fn length<const D: usize>(a: [f64; D]) -> f64 {
    dot(a, a).sqrt()
}

pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The smallest box around points: the lower and upper corner. Turned inside out if there are none.
pub fn box_around<const D: usize>(points: impl IntoIterator<Item = [f64; D]>) -> ([f64; D], [f64; D]) {
    points.into_iter().fold(([f64::INFINITY; D], [f64::NEG_INFINITY; D]), |(low, high), p| {
        (from_fn(|a| low[a].min(p[a])), from_fn(|a| high[a].max(p[a])))
    })
}

/// Distance from a point to a box: 0 inside.
pub fn distance_to_box<const D: usize>(x: [f64; D], low: [f64; D], high: [f64; D]) -> f64 {
    length(from_fn::<f64, D, _>(|a| (low[a] - x[a]).max(x[a] - high[a]).max(0.0)))
}

//! Signed distances of the shapes in scenes.

use crate::setup::Shape;

fn length(v: impl Iterator<Item = f64>) -> f64 {
    v.map(|x| x * x).sum::<f64>().sqrt()
}

/// Distance from `p` to the surface, negative inside, in metres.
pub fn distance(shape: &Shape, p: &[f64]) -> f64 {
    match shape {
        Shape::Sphere { center, radius } => length(p.iter().zip(center).map(|(p, c)| p - c)) - radius,
        Shape::Box { min, max } => {
            // Per axis: how far outside, negative inside.
            let out = |a: usize| (min[a] - p[a]).max(p[a] - max[a]);
            let inside = (0..p.len()).map(out).fold(f64::NEG_INFINITY, f64::max).min(0.0);
            length((0..p.len()).map(|a| out(a).max(0.0))) + inside
        }
        Shape::Capsule { from, to, radius } => {
            let axis = |a: usize| to[a] - from[a];
            let length2: f64 = (0..p.len()).map(|a| axis(a) * axis(a)).sum();
            let along: f64 = (0..p.len()).map(|a| (p[a] - from[a]) * axis(a)).sum();
            let s = if length2 > 0.0 { (along / length2).clamp(0.0, 1.0) } else { 0.0 };
            length((0..p.len()).map(|a| p[a] - from[a] - s * axis(a))) - radius
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_negative_inside_and_metric_outside() {
        let sphere = Shape::Sphere { center: vec![1.0, 0.0], radius: 0.5 };
        assert_eq!(distance(&sphere, &[1.0, 0.0]), -0.5);
        assert_eq!(distance(&sphere, &[1.0, 2.0]), 1.5);
        let cube = Shape::Box { min: vec![0.0; 3], max: vec![2.0; 3] };
        assert_eq!(distance(&cube, &[1.0, 1.0, 0.5]), -0.5);
        assert_eq!(distance(&cube, &[5.0, 6.0, 1.0]), 5.0);
        let capsule = Shape::Capsule { from: vec![0.0, 0.0], to: vec![2.0, 0.0], radius: 0.25 };
        assert_eq!(distance(&capsule, &[1.0, 1.0]), 0.75);
        assert_eq!(distance(&capsule, &[5.0, 0.0]), 2.75);
        let point = Shape::Capsule { from: vec![0.0, 0.0], to: vec![0.0, 0.0], radius: 1.0 };
        assert_eq!(distance(&point, &[3.0, 4.0]), 4.0);
    }
}

//! Closed outlines in the plane.

use super::Shape;
use super::vector::{box_around, dot, lerp, sub};

/// Why outlines make no shape.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolygonError {
    /// An outline needs three points.
    #[error("outline {outline} (counted from 1) has {points} points: three or more are needed")]
    TooFew {
        /// Number of the outline, from 1.
        outline: usize,
        /// How many points it has.
        points: usize,
    },
    /// A coordinate is infinite or not a number.
    #[error("outline {outline}, point {point} (counted from 1) is not at a finite position")]
    NotFinite {
        /// Number of the outline, from 1.
        outline: usize,
        /// Number of the point, from 1.
        point: usize,
    },
    /// There are none.
    #[error("a polygon needs at least one outline")]
    Empty,
}

/// What closed outlines go around, in either direction: an outline inside another one is a hole if it runs the other way
/// round. Outlines may cross themselves and each other.
///
/// Distances are exact, and take time in proportion to the number of edges. With hundreds of them see
/// [`Baked`](super::Baked).
#[derive(Clone, Debug, PartialEq)]
pub struct PolygonShape {
    edges: Vec<[[f64; 2]; 2]>,
    low: [f64; 2],
    high: [f64; 2],
}

impl PolygonShape {
    /// One or more outlines. The last point of each is joined to its first.
    pub fn new(outlines: &[Vec<[f64; 2]>]) -> Result<Self, PolygonError> {
        let mut edges = Vec::new();
        for (i, points) in outlines.iter().enumerate() {
            if points.len() < 3 {
                return Err(PolygonError::TooFew { outline: i + 1, points: points.len() });
            }
            if let Some(point) = points.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
                return Err(PolygonError::NotFinite { outline: i + 1, point: point + 1 });
            }
            edges.extend((0..points.len()).map(|k| [points[k], points[(k + 1) % points.len()]]));
        }
        if edges.is_empty() {
            return Err(PolygonError::Empty);
        }
        let (low, high) = box_around(edges.iter().map(|edge| edge[0]));
        Ok(PolygonShape { edges, low, high })
    }
}

impl Shape<2> for PolygonShape {
    fn distance(&self, x: [f64; 2], _: f64) -> f64 {
        let mut least2 = f64::INFINITY;
        // How often the outlines go around x: upward edges that pass on its right, less downward ones.
        let mut winding = 0;
        for &[a, b] in &self.edges {
            let (along, to_x) = (sub(b, a), sub(x, a));
            let length2 = dot(along, along);
            let s = if length2 > 0.0 { (dot(to_x, along) / length2).clamp(0.0, 1.0) } else { 0.0 };
            let away = sub(x, lerp(a, b, s));
            least2 = least2.min(dot(away, away));
            // Lower end included, upper end not: a ray through a corner meets one of its edges.
            let side = along[0] * to_x[1] - along[1] * to_x[0];
            if a[1] <= x[1] && x[1] < b[1] && side > 0.0 {
                winding += 1;
            } else if b[1] <= x[1] && x[1] < a[1] && side < 0.0 {
                winding -= 1;
            }
        }
        if winding != 0 { -least2.sqrt() } else { least2.sqrt() }
    }

    fn velocity(&self, _: [f64; 2], _: f64) -> [f64; 2] {
        [0.0; 2]
    }

    fn bounds(&self, _: f64) -> Option<([f64; 2], [f64; 2])> {
        Some((self.low, self.high))
    }

    fn moves(&self) -> bool {
        false
    }
}

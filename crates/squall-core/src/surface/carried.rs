//! What particles carry, at the vertices of their surface: the mean of those around.

use super::points::Points;
use crate::threads::prelude::*;

/// How far a vertex looks, in cells of the grid, at first; twice as far if there is nobody.
const REACH: f64 = 1.0;

impl<const D: usize> Points<D> {
    /// For each vertex, in metres, the mean of `values` of the particles around it, weighted by `(1 - s^2)^3`: one list for each list of values,
    /// which have one for each particle.
    pub fn carried(&self, vertices: &[[f32; D]], values: &[&[f32]]) -> Vec<Vec<f32>> {
        let Points { room, bins, .. } = self;
        let count = values.len();
        let mut means = vec![0.0f32; vertices.len() * count];
        means.par_chunks_mut(count.max(1)).enumerate().for_each(|(v, means)| {
            let x: [f64; D] = std::array::from_fn(|a| (f64::from(vertices[v][a]) - room.origin[a]) / room.cell);
            for reach in [REACH, 2.0 * REACH, 4.0 * REACH] {
                let low = x.map(|x| (x - reach).floor() as i32);
                let high = x.map(|x| (x + reach).floor() as i32);
                let mut weight = 0.0;
                means.fill(0.0);
                bins.near(low, high, |begin, places| {
                    for (i, p) in places.iter().enumerate() {
                        let square: f64 = (0..D).map(|a| (p[a] - x[a]) * (p[a] - x[a])).sum();
                        let t = (1.0 - square / (reach * reach)).max(0.0) as f32;
                        let k = t * t * t;
                        if k > 0.0 {
                            weight += k;
                            let which = self.particle(begin + i);
                            means.iter_mut().zip(values).for_each(|(mean, values)| *mean += k * values[which]);
                        }
                    }
                });
                if weight > 0.0 {
                    means.iter_mut().for_each(|mean| *mean /= weight);
                    break;
                }
            }
        });
        (0..count).map(|k| means.iter().skip(k).step_by(count).copied().collect()).collect()
    }
}

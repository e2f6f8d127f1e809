//! How much of the sky the ground sees past smoke: a coarse map, smooth between its points.
//!
//! Looked up where a line from the ground meets smoke, the light of the grid jumps at the edges of bricks.

use super::bricks::Bricks;
use super::shadow::{OCTAVES, root, soften};
use super::vector::Vec3;
use rayon::prelude::*;

/// Points along each side of the map.
const POINTS: usize = 96;

pub(super) struct GroundSky {
    low: [f64; 2],
    /// Metres between points.
    step: f64,
    open: Vec<f32>,
}

impl GroundSky {
    /// `directions` are those that the light of the sky comes from, and how much each counts. `None` if there is no smoke.
    pub fn new(bricks: &Bricks, height: f64, directions: &[(Vec3, f32)], weights: &[f32; OCTAVES]) -> Option<Self> {
        let (low, high) = bricks.bounds()?;
        // Smoke hides some of the sky as far away as it is high.
        let reach = (high[1] - height).max(0.0);
        let side = (high[0] - low[0]).max(high[2] - low[2]) + 2.0 * reach;
        let step = side / (POINTS - 1) as f64;
        let corner = [0, 2].map(|a| 0.5 * (low[a] + high[a] - side));
        let thickness: Vec<f32> = (0..bricks.places.len()).into_par_iter().map(|b| bricks.mean_depth(b)).collect();
        let whole: f32 = directions.iter().map(|d| d.1).sum();
        let seen = |i: usize| {
            let x = [corner[0] + (i % POINTS) as f64 * step, height, corner[1] + (i / POINTS) as f64 * step];
            let part = |&(direction, weight): &(Vec3, f32)| {
                let mut depth = 0.0;
                if let Some(line) = bricks.line(x, direction, f64::INFINITY) {
                    let mut walk = bricks.index.walk(&line, None);
                    while let Some(crossing) = walk.next() {
                        depth += thickness[crossing.brick] * (crossing.to - crossing.from).max(0.0);
                    }
                }
                weight / whole * soften(weights, root(depth))
            };
            directions.iter().map(part).sum()
        };
        let open: Vec<f32> = (0..POINTS * POINTS).into_par_iter().map(seen).collect();
        Some(Self { low: corner, step, open })
    }

    /// From 0 to 1.
    pub fn at(&self, x: Vec3) -> f32 {
        let last = (POINTS - 1) as f64;
        let [u, v] = [(x[0] - self.low[0]) / self.step, (x[2] - self.low[1]) / self.step];
        if !(u >= 0.0 && v >= 0.0 && u < last && v < last) {
            return 1.0;
        }
        let (i, j, fu, fv) = (u as usize, v as usize, u.fract() as f32, v.fract() as f32);
        let row = |j: usize| {
            let (a, b) = (self.open[i + POINTS * j], self.open[i + 1 + POINTS * j]);
            a + fu * (b - a)
        };
        let (near, far) = (row(j), row(j + 1));
        let open = near + fv * (far - near);
        // Nothing jumps at the edge of the map.
        let edge = (u.min(v).min(last - u).min(last - v) / (0.1 * last)).min(1.0) as f32;
        1.0 - edge * (1.0 - open)
    }
}

//! The exact signed distance of a mesh, hole or no hole.

use super::tree::Tree;
use super::triangle::{Corners, area_vector, centroid, point};
use super::{MeshError, MeshOptions, TriangleMesh};
use crate::shape::baked::{BAND, BakeError, Baked};
use crate::shape::vector::{add, dot, length, lerp, scale, sub};
use std::array::from_fn;

/// How many cells thick a part must be at least for a grid to see it.
const THINNEST: f64 = 1.5;

/// A mesh with an inside: where it winds around a point more than half a time.
pub struct Solid {
    tree: Tree,
    closed: bool,
    flipped: bool,
    resolution: f64,
    options: MeshOptions,
}

impl Solid {
    pub fn new(mesh: &TriangleMesh, resolution: f64, options: MeshOptions) -> Result<Self, MeshError> {
        mesh.check()?;
        if !(resolution.is_finite() && resolution > 0.0) {
            return Err(MeshError::Resolution { resolution });
        }
        let mut corners: Vec<Corners> = (0..mesh.triangles.len()).map(|i| mesh.corners(i)).collect();
        let flipped = mesh.volume() < 0.0;
        if flipped {
            corners.iter_mut().for_each(|corners| corners.swap(1, 2));
        }
        Ok(Solid { tree: Tree::new(&corners), closed: mesh.is_closed(), flipped, resolution, options })
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub fn is_flipped(&self) -> bool {
        self.flipped
    }

    /// The box around it: lower and upper corner.
    pub fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        let grown = match self.options.sheet {
            Some(thickness) => 0.5 * thickness,
            None if self.options.thicken => 0.5 * THINNEST * self.resolution,
            None => 0.0,
        };
        let (low, high) = self.tree.bounds();
        (low.map(|x| x - grown), high.map(|x| x + grown))
    }

    /// Its distances on a grid.
    pub fn bake(&self) -> Result<Baked<3>, BakeError> {
        let h = self.resolution;
        Baked::from_rows(self.bounds(), h, self.options.band.max(BAND), |x, out| self.distances(x, h, out))
    }

    /// Signed distances at `x`, `x + h e_x`, `x + 2 h e_x`, ...: neighbours help each other.
    pub fn distances(&self, x: [f64; 3], h: f64, out: &mut [f64]) {
        let mut before: Option<(f64, bool)> = None;
        for (i, out) in out.iter_mut().enumerate() {
            let x = [x[0] + h * i as f64, x[1], x[2]];
            let within = before.map_or(f64::INFINITY, |(distance, _)| distance + h);
            let near = self.tree.nearest(x, within);
            let distance = near.distance;
            if let Some(thickness) = self.options.sheet {
                *out = distance - 0.5 * thickness;
                before = Some((distance, false));
                continue;
            }
            // A surface that passes between two points is no further from both together than they are apart (and a bit
            // for rounding). Without holes there is no other way from inside to outside.
            let (inside, to_cap) = match before {
                Some((last, inside)) if self.closed && last + distance > 1.001 * h => (inside, f64::INFINITY),
                _ => {
                    let winding = self.tree.winding(x);
                    (winding > 0.5, if self.closed { f64::INFINITY } else { self.to_cap(x, winding, distance) })
                }
            };
            before = Some((distance, inside));
            let grown = if self.options.thicken && distance < to_cap {
                let at = point(self.tree.corners(near.slot), near.weights);
                0.5 * (THINNEST * self.resolution - self.thickness(near.slot, at)).max(0.0)
            } else {
                0.0
            };
            *out = if inside { -distance.min(to_cap) } else { distance.min(to_cap) } - grown;
        }
    }

    /// Signed distance at one point.
    pub fn distance(&self, x: [f64; 3]) -> f64 {
        let mut out = [0.0];
        self.distances(x, 0.0, &mut out);
        out[0]
    }

    /// The triangle nearest to a point and where in it: numbers of the mesh, corners in its order.
    pub fn nearest(&self, x: [f64; 3]) -> (usize, [f64; 3]) {
        let near = self.tree.nearest(x, f64::INFINITY);
        let [u, v, w] = near.weights;
        (self.tree.id(near.slot), if self.flipped { [u, w, v] } else { [u, v, w] })
    }

    /// Where a hole is closed by the surface "winding number = 1/2": about how far it is from there,
    /// |w - 1/2| / |grad w|.
    fn to_cap(&self, x: [f64; 3], winding: f64, distance: f64) -> f64 {
        let step = 0.25 * self.resolution;
        // Near the mesh the winding number jumps; far from holes it is whole.
        if distance < 2.0 * step || (winding - 0.5).abs() > 0.48 {
            return f64::INFINITY;
        }
        let slope: [f64; 3] = from_fn(|a| {
            let at = |s: f64| self.tree.winding(from_fn(|b| if a == b { x[b] + s } else { x[b] }));
            (at(step) - at(-step)) / (2.0 * step)
        });
        (winding - 0.5).abs() / length(slope)
    }

    /// How thick the solid is behind a point of a triangle, up to [`THINNEST`] cells.
    fn thickness(&self, slot: usize, at: [f64; 3]) -> f64 {
        let corners = self.tree.corners(slot);
        let outward = area_vector(corners);
        let area = length(outward);
        let limit = THINNEST * self.resolution;
        if area == 0.0 {
            return limit;
        }
        let inward = scale(outward, -limit / area);
        // Away from the edges, along which the ray might slip.
        let from = lerp(at, centroid(corners), 1e-3);
        match self.tree.exit(from, inward) {
            Some(share) => share * limit,
            // No other side, and nothing solid behind: a sheet.
            None if !self.closed && self.tree.winding(add(from, scale(inward, 0.5))) < 0.5 => 0.0,
            None => limit,
        }
    }

    /// The share of the surface behind which the solid is thinner than a grid can see, from some thousand triangles.
    pub fn thin_share(&self) -> f64 {
        const SAMPLES: usize = 4096;
        let (mut thin, mut all) = (0.0, 0.0);
        for slot in (0..self.tree.len()).step_by(self.tree.len().div_ceil(SAMPLES)) {
            let corners = self.tree.corners(slot);
            let area = length(area_vector(corners));
            all += area;
            if self.thickness(slot, centroid(corners)) < THINNEST * self.resolution {
                thin += area;
            }
        }
        if all > 0.0 { thin / all } else { 0.0 }
    }
}

impl TriangleMesh {
    /// The volume inside, in cubic metres. Negative if the triangles look inwards; of little meaning if there are holes.
    pub fn volume(&self) -> f64 {
        let (low, high) = self.bounds();
        let middle = lerp(low, high, 0.5);
        let volumes = (0..self.triangles.len()).map(|i| {
            let corners = self.corners(i);
            dot(area_vector(&corners), sub(corners[0], middle)) / 3.0
        });
        volumes.sum()
    }

    /// Whether there are no holes: every edge is passed as often in one direction as in the other. Corners at the same
    /// place count as one.
    pub fn is_closed(&self) -> bool {
        let mut order: Vec<u32> = (0..self.vertices.len() as u32).collect();
        let key = |&i: &u32| self.vertices[i as usize].map(|x| (x + 0.0).to_bits());
        order.sort_unstable_by_key(key);
        let mut same = vec![0; self.vertices.len()];
        for (i, vertex) in order.iter().enumerate() {
            let first = i == 0 || key(&order[i - 1]) != key(vertex);
            same[*vertex as usize] = if first { *vertex } else { same[order[i - 1] as usize] };
        }
        let mut edges: Vec<(u32, u32, i8)> = Vec::with_capacity(3 * self.triangles.len());
        for triangle in &self.triangles {
            for i in 0..3 {
                let [from, to] = [triangle[i], triangle[(i + 1) % 3]].map(|v| same[v as usize]);
                edges.push(if from < to { (from, to, 1) } else { (to, from, -1) });
            }
        }
        edges.sort_unstable();
        edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).all(|edge| {
            // An edge of a triangle without area may lead from a corner to itself.
            edge[0].0 == edge[0].1 || edge.iter().map(|e| i64::from(e.2)).sum::<i64>() == 0
        })
    }
}

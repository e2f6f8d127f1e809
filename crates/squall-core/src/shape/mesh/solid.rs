//! The exact signed distance of a mesh, with or without holes.

use super::tree::{FINE, Nearest, ROUGH, Tree};
use super::triangle::{Corners, area_vector, centroid, point};
use super::{MeshError, MeshOptions, TriangleMesh};
use crate::shape::baked::{BAND, BakeError, Baked};
use crate::shape::vector::{add, dot, length, lerp, scale, sub};
use std::array::from_fn;

/// How many cells thick a part must be at least for a grid to see it.
const THINNEST: f64 = 1.5;

/// Meshes in which more triangles are near to a point, on average, would take minutes to sample.
const MOST_NEAR: usize = 1000;

/// What is known about a node.
#[derive(Clone, Copy)]
struct Known {
    slot: usize,
    distance: f64,
    inside: bool,
}

/// A mesh with an inside: where it winds around a point more than half a time.
pub struct Solid {
    tree: Tree,
    /// The edges of holes, as triangles without area. None if there are none.
    rim: Option<Tree>,
    flipped: bool,
    resolution: f64,
    options: MeshOptions,
}

/// How far the surface may lie outside of the triangles.
pub fn growth(options: &MeshOptions, resolution: f64) -> f64 {
    match options.sheet {
        Some(thickness) => 0.5 * thickness,
        None if options.thicken => 0.5 * THINNEST * resolution,
        None => 0.0,
    }
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
        let edges: Vec<Corners> =
            mesh.rim().iter().map(|edge| [edge[0], edge[1], edge[1]].map(|v| mesh.vertices[v as usize])).collect();
        let rim = (!edges.is_empty()).then(|| Tree::new(&edges));
        let solid = Solid { tree: Tree::new(&corners), rim, flipped, resolution, options };
        match solid.effort() {
            near if near > MOST_NEAR => Err(MeshError::Dense { near, most: MOST_NEAR }),
            _ => Ok(solid),
        }
    }

    /// How many triangles are looked at for a point beside the surface, on average. For meshes that are made of sensible
    /// triangles these are some dozens; but for triangles on top of each other all.
    fn effort(&self) -> usize {
        const SAMPLES: usize = 32;
        let slots = (0..self.tree.len()).step_by(self.tree.len().div_ceil(SAMPLES));
        let count = slots.len();
        let beside = |slot: usize| {
            let corners = self.tree.corners(slot);
            let outward = area_vector(corners);
            let by = scale(outward, 2.0 * self.resolution / length(outward).max(f64::MIN_POSITIVE));
            self.tree.effort(add(centroid(corners), by))
        };
        slots.map(beside).sum::<usize>() / count
    }

    pub fn is_closed(&self) -> bool {
        self.rim.is_none()
    }

    pub fn is_flipped(&self) -> bool {
        self.flipped
    }

    /// The box around it: lower and upper corner.
    pub fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        let (low, high) = self.tree.bounds();
        (low.map(|x| x - self.growth()), high.map(|x| x + self.growth()))
    }

    fn growth(&self) -> f64 {
        growth(&self.options, self.resolution)
    }

    fn band(&self) -> f64 {
        self.options.band.max(BAND)
    }

    /// Its distances on a grid; if asked for, marked with what is nearest: see [`Solid::near_mark`].
    pub fn bake(&self, marked: bool) -> Result<Baked<3>, BakeError> {
        Baked::from_cubes(self.bounds(), self.resolution, self.band(), marked, |x, n, out, marks| {
            self.fill(x, n, out, marks)
        })
    }

    /// Signed distances at n^3 nodes of a cube, a resolution apart, x fastest: neighbours help each other. Beyond the band
    /// nobody looks closely: there a lower bound will do.
    fn fill(&self, corner: [f64; 3], n: usize, out: &mut [f64], marks: &mut [u32]) {
        let h = self.resolution;
        if n == 1 {
            out[0] = self.distance(corner);
            return;
        }
        let calm = self.is_calm(corner, n);
        // Cells that reach into the band have all their nodes nearer than this.
        let bound = (self.band() + 2.0) * h;
        let limit = bound + self.growth();
        let mut known: Vec<Known> = Vec::with_capacity(out.len());
        for (node, out) in out.iter_mut().enumerate() {
            let index = [node % n, node / n % n, node / n / n];
            let x = from_fn(|a| corner[a] + h * index[a] as f64);
            let neighbours = (0..3).filter(|&a| index[a] > 0).map(|a| known[node - n.pow(a as u32)]);
            let guess = neighbours.clone().next().map_or(0, |known| known.slot);
            let near = self.tree.nearest_within(x, limit, guess);
            let unsigned = near.map_or(limit, |near| near.distance);
            // A surface that passes between two points is no further from both together than they are apart (and a bit
            // for rounding). Without holes there is no other way from inside to outside.
            let same_side = |known: &Known| calm && known.distance + unsigned > 1.001 * h;
            let inside = neighbours.clone().find(same_side).map(|known| known.inside);
            let (inside, to_cap) = self.side(x, unsigned, inside, calm);
            known.push(Known { slot: near.map_or(guess, |near| near.slot), distance: unsigned, inside });
            if let (Some(near), Some(mark)) = (near, marks.get_mut(node)) {
                *mark = near.slot as u32 + 1;
            }
            *out = match near {
                Some(near) => self.signed(near, inside, to_cap),
                None => bound.min(to_cap) * if inside { -1.0 } else { 1.0 },
            };
        }
    }

    /// Whether a point is inside, if that is not known yet, and how far it is from the membrane of a hole.
    fn side(&self, x: [f64; 3], distance: f64, inside: Option<bool>, calm: bool) -> (bool, f64) {
        if let Some(inside) = inside.or(self.options.sheet.map(|_| false)) {
            return (inside, f64::INFINITY);
        }
        let winding = self.tree.winding(x, ROUGH);
        // Near the mesh the winding number jumps; far from holes it is whole.
        if calm || distance < 0.5 * self.resolution || (winding - winding.round()).abs() < 0.03 {
            return (winding > 0.5, f64::INFINITY);
        }
        // A hole is closed by the surface on which the winding number w is 1/2: |w - 1/2| / |grad w| away.
        let winding = self.tree.winding(x, FINE);
        let step = 0.25 * self.resolution;
        let slope: [f64; 3] = from_fn(|a| {
            let beside = from_fn(|b| if a == b { x[b] + step } else { x[b] });
            (self.tree.winding(beside, FINE) - winding) / step
        });
        (winding > 0.5, (winding - 0.5).abs() / length(slope))
    }

    /// The signed distance, given the nearest point of the mesh and what [`side`](Self::side) says.
    fn signed(&self, near: Nearest, inside: bool, to_cap: f64) -> f64 {
        let grown = match self.options.sheet {
            Some(thickness) => 0.5 * thickness,
            None if self.options.thicken && near.distance < to_cap => {
                let at = point(self.tree.corners(near.slot), near.weights);
                0.5 * (THINNEST * self.resolution - self.thickness(near.slot, at)).max(0.0)
            }
            None => 0.0,
        };
        near.distance.min(to_cap) * if inside { -1.0 } else { 1.0 } - grown
    }

    /// Signed distance at one point.
    pub fn distance(&self, x: [f64; 3]) -> f64 {
        let near = self.tree.nearest(x);
        let (inside, to_cap) = self.side(x, near.distance, None, self.rim.is_none());
        self.signed(near, inside, to_cap)
    }

    /// Whether the membrane of no hole comes near a cube: no rim is near, and from its corners and its middle the mesh
    /// looks whole. (What a hole takes from the winding number is a harmonic function: smooth, and largest at the rim.)
    fn is_calm(&self, corner: [f64; 3], n: usize) -> bool {
        let Some(rim) = &self.rim else { return true };
        let side = (n - 1) as f64 * self.resolution;
        let middle = corner.map(|x| x + 0.5 * side);
        let far_from_rim = || rim.nearest(middle).distance > side + 4.0 * self.resolution;
        let looks_whole = |x: [f64; 3]| {
            let winding = self.tree.winding(x, ROUGH);
            (winding - winding.round()).abs() < 0.1
        };
        let corners = (0..8).map(|c: usize| from_fn(|a| corner[a] + if c >> a & 1 == 1 { side } else { 0.0 }));
        far_from_rim() && looks_whole(middle) && corners.into_iter().all(looks_whole)
    }

    /// The triangle nearest to a point and where in it: numbers of the mesh, corners in its order.
    pub fn nearest(&self, x: [f64; 3]) -> (usize, [f64; 3]) {
        self.nearest_within(x, f64::INFINITY)
    }

    /// The same, quicker if there is one within `limit`.
    pub fn nearest_within(&self, x: [f64; 3], limit: f64) -> (usize, [f64; 3]) {
        let near = self.tree.nearest_within(x, limit, 0).unwrap_or_else(|| self.tree.nearest(x));
        let [u, v, w] = near.weights;
        (self.tree.id(near.slot), if self.flipped { [u, w, v] } else { [u, v, w] })
    }

    /// Where in the triangle that a mark names a point is nearest to it; `None` for a mark that names none.
    pub fn near_mark(&self, x: [f64; 3], mark: u32) -> Option<(usize, [f64; 3])> {
        let slot = (mark as usize).checked_sub(1)?;
        let [u, v, w] = super::triangle::nearest(self.tree.corners(slot), x);
        Some((self.tree.id(slot), if self.flipped { [u, w, v] } else { [u, v, w] }))
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
            None if self.rim.is_some() && self.tree.winding(add(from, scale(inward, 0.5)), ROUGH) < 0.5 => 0.0,
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

    /// Whether there are no holes.
    pub fn is_closed(&self) -> bool {
        self.rim().is_empty()
    }

    /// The edges of holes: those that are not passed as often in one direction as in the other. Vertices at the same
    /// place count as one.
    pub fn rim(&self) -> Vec<[u32; 2]> {
        let mut order: Vec<u32> = (0..self.vertices.len() as u32).collect();
        // Adding 0 makes -0 the same place as 0.
        let place = |&i: &u32| self.vertices[i as usize].map(|x| (x + 0.0).to_bits());
        order.sort_unstable_by_key(|i| (place(i), *i));
        let mut same = vec![0; self.vertices.len()];
        for group in order.chunk_by(|a, b| place(a) == place(b)) {
            group.iter().for_each(|&vertex| same[vertex as usize] = group[0]);
        }
        let mut edges: Vec<([u32; 2], i8)> = Vec::with_capacity(3 * self.triangles.len());
        for triangle in &self.triangles {
            for i in 0..3 {
                let [from, to] = [triangle[i], triangle[(i + 1) % 3]].map(|v| same[v as usize]);
                edges.push(if from < to { ([from, to], 1) } else { ([to, from], -1) });
            }
        }
        edges.sort_unstable();
        let groups = edges.chunk_by(|a, b| a.0 == b.0);
        // An edge of a triangle without area may lead from a vertex to itself.
        let open = groups.filter(|group| group[0].0[0] != group[0].0[1]);
        open.filter(|group| group.iter().map(|edge| i64::from(edge.1)).sum::<i64>() != 0)
            .map(|group| group[0].0)
            .collect()
    }
}

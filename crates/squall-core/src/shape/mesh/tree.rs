//! A tree of boxes over triangles: nearest points, winding numbers and rays in logarithmic time.

use super::distant::Distant;
use super::triangle::{Corners, centroid, exit, nearest, point, winding};
use crate::shape::vector::{box_around, dot, sub};
use crate::threads::prelude::*;
use std::array::from_fn;
use std::ops::Range;

/// Triangles in a leaf, at most.
const LEAF: usize = 4;

/// Halving 2^32 triangles down to leaves takes fewer levels than this, and each leaves one node waiting.
const STACK: usize = 40;

/// Triangles this many radii away are seen as one: winding numbers err by less than 0.01 (tested), enough to tell inside
/// from outside.
pub const ROUGH: f64 = 2.0;

/// The same, for errors below 0.001.
pub const FINE: f64 = 3.0;

struct Node {
    low: [f64; 3],
    high: [f64; 3],
    /// The first triangle of a leaf, or the second child; the first child is the next node.
    next: u32,
    /// Triangles of a leaf; 0 for an inner node.
    count: u32,
}

/// The nearest point of the mesh.
#[derive(Clone, Copy, Debug)]
pub struct Nearest {
    pub distance: f64,
    /// Which triangle, in the order in which the tree keeps them.
    pub slot: usize,
    /// Where in the triangle.
    pub weights: [f64; 3],
}

/// See the module.
pub struct Tree {
    nodes: Vec<Node>,
    distant: Vec<Distant>,
    corners: Vec<Corners>,
    ids: Vec<u32>,
}

impl Tree {
    /// Sorts triangles into a tree. There must be at least one.
    pub fn new(triangles: &[Corners]) -> Self {
        let mut ids: Vec<u32> = (0..triangles.len() as u32).collect();
        let centers: Vec<[f64; 3]> = triangles.iter().map(centroid).collect();
        let mut tree = Tree { nodes: Vec::new(), distant: Vec::new(), corners: Vec::new(), ids: Vec::new() };
        let mut ranges = Vec::new();
        tree.grow(triangles, &centers, &mut ids, 0, &mut ranges);
        tree.distant =
            (0..ranges.len()).into_par_iter().map(|i| Distant::new(triangles, &ids[ranges[i].clone()])).collect();
        tree.corners = ids.iter().map(|&id| triangles[id as usize]).collect();
        tree.ids = ids;
        tree
    }

    /// Adds the node of the triangles `ids`, which begin at `first` in the final order, and all nodes below. `ranges` learns
    /// which triangles are in each.
    fn grow(
        &mut self,
        triangles: &[Corners],
        centers: &[[f64; 3]],
        ids: &mut [u32],
        first: usize,
        ranges: &mut Vec<Range<usize>>,
    ) {
        let here = self.nodes.len();
        let (low, high) = box_around(ids.iter().flat_map(|&id| triangles[id as usize]));
        self.nodes.push(Node { low, high, next: first as u32, count: ids.len() as u32 });
        ranges.push(first..first + ids.len());
        if ids.len() <= LEAF {
            return;
        }
        let (low, high) = box_around(ids.iter().map(|&id| centers[id as usize]));
        let extent = sub(high, low);
        let axis = (1..3).fold(0, |best, a| if extent[a] > extent[best] { a } else { best });
        let middle = ids.len() / 2;
        // Equal centres are told apart by number: the tree depends on the mesh alone.
        ids.select_nth_unstable_by(middle, |&i, &j| {
            centers[i as usize][axis].total_cmp(&centers[j as usize][axis]).then(i.cmp(&j))
        });
        let (left, right) = ids.split_at_mut(middle);
        self.grow(triangles, centers, left, first, ranges);
        let second = self.nodes.len();
        self.grow(triangles, centers, right, first + middle, ranges);
        (self.nodes[here].next, self.nodes[here].count) = (second as u32, 0);
    }

    /// The number of a triangle in the mesh that the tree was made of.
    pub fn id(&self, slot: usize) -> usize {
        self.ids[slot] as usize
    }

    /// The box around all: lower and upper corner.
    pub fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        (self.nodes[0].low, self.nodes[0].high)
    }

    /// How many triangles there are.
    pub fn len(&self) -> usize {
        self.corners.len()
    }

    /// The corners of a triangle.
    pub fn corners(&self, slot: usize) -> &Corners {
        &self.corners[slot]
    }

    /// The point of the mesh nearest to `x`.
    pub fn nearest(&self, x: [f64; 3]) -> Nearest {
        // The first triangle is as good as any to start from.
        let (first, first2) = self.nearest_of(0, x);
        self.nearer(x, first, first2)
    }

    /// The point of the mesh nearest to `x` if it is less than `limit` away. `guess` is a triangle that may be near.
    pub fn nearest_within(&self, x: [f64; 3], limit: f64, guess: usize) -> Option<Nearest> {
        let (first, first2) = self.nearest_of(guess, x);
        let near = self.nearer(x, first, first2.min(limit * limit));
        (near.distance < limit).then_some(near)
    }

    /// The nearest point, if the square of its distance is less than `best2`; else `best`, with that distance.
    fn nearer(&self, x: [f64; 3], mut best: Nearest, mut best2: f64) -> Nearest {
        let mut stack = Stack::new(self.box_distance2(0, x));
        while let Some((node, distance2)) = stack.pop() {
            if distance2 >= best2 {
                continue;
            }
            let Node { next, count, .. } = self.nodes[node];
            if count == 0 {
                let (a, b) = (node + 1, next as usize);
                let (da, db) = (self.box_distance2(a, x), self.box_distance2(b, x));
                // The nearer one is taken first, that is pushed last.
                let [near, far] = if da <= db { [(a, da), (b, db)] } else { [(b, db), (a, da)] };
                stack.push(far.0, far.1);
                stack.push(near.0, near.1);
                continue;
            }
            for slot in next as usize..(next + count) as usize {
                let (nearest, distance2) = self.nearest_of(slot, x);
                if distance2 < best2 {
                    (best, best2) = (nearest, distance2);
                }
            }
        }
        Nearest { distance: best2.sqrt(), ..best }
    }

    /// The nearest point of one triangle, and the square of its distance.
    fn nearest_of(&self, slot: usize, x: [f64; 3]) -> (Nearest, f64) {
        let weights = nearest(&self.corners[slot], x);
        let away = sub(x, point(&self.corners[slot], weights));
        (Nearest { distance: 0.0, slot, weights }, dot(away, away))
    }

    fn box_distance2(&self, node: usize, x: [f64; 3]) -> f64 {
        let Node { low, high, .. } = &self.nodes[node];
        let out: [f64; 3] = from_fn(|a| (low[a] - x[a]).max(x[a] - high[a]).max(0.0));
        dot(out, out)
    }

    /// How often the mesh winds around `x`: 1 inside and 0 outside of a closed mesh, in between where there are holes.
    /// `far`: [`ROUGH`] or
    /// [`FINE`]. (Jacobson, Kavan & Sorkine-Hornung 2013, with the tree of Barill et al. 2018.)
    pub fn winding(&self, x: [f64; 3], far: f64) -> f64 {
        let mut sum = 0.0;
        let mut stack = Stack::new(0.0);
        while let Some((node, _)) = stack.pop() {
            let seen = &self.distant[node];
            let r = sub(seen.center, x);
            let r2 = dot(r, r);
            if r2 > far * far * seen.radius * seen.radius {
                sum += seen.winding(r, r2);
                continue;
            }
            let Node { next, count, .. } = self.nodes[node];
            if count == 0 {
                stack.push(next as usize, 0.0);
                stack.push(node + 1, 0.0);
            }
            for slot in next as usize..next as usize + count as usize {
                sum += winding(&self.corners[slot], x);
            }
        }
        sum
    }

    /// How many triangles have to be looked at to learn what is nearest to `x`, and how often the mesh winds around it.
    pub fn effort(&self, x: [f64; 3]) -> usize {
        let distance = self.nearest(x).distance;
        let mut seen = 0;
        let mut stack = Stack::new(0.0);
        while let Some((node, _)) = stack.pop() {
            let Node { next, count, .. } = self.nodes[node];
            let away = sub(self.distant[node].center, x);
            let is_near = self.box_distance2(node, x) <= distance * distance;
            let winds = dot(away, away) <= (ROUGH * self.distant[node].radius).powi(2);
            if !(is_near || winds) {
                continue;
            }
            if count == 0 {
                stack.push(next as usize, 0.0);
                stack.push(node + 1, 0.0);
            }
            seen += count as usize;
        }
        seen
    }

    /// How far a ray gets (in lengths of `along`, at most 1) before it leaves the mesh.
    pub fn exit(&self, from: [f64; 3], along: [f64; 3]) -> Option<f64> {
        let mut best: Option<f64> = None;
        let mut stack = Stack::new(0.0);
        while let Some((node, _)) = stack.pop() {
            let Node { low, high, next, count } = &self.nodes[node];
            let (mut enter, mut leave) = (0.0f64, best.unwrap_or(1.0));
            for a in 0..3 {
                if along[a] == 0.0 {
                    if from[a] < low[a] || from[a] > high[a] {
                        leave = -1.0;
                    }
                    continue;
                }
                let (s, t) = ((low[a] - from[a]) / along[a], (high[a] - from[a]) / along[a]);
                (enter, leave) = (enter.max(s.min(t)), leave.min(s.max(t)));
            }
            // Flat boxes and rounding: a ray that touches counts.
            if enter > leave + 1e-9 {
                continue;
            }
            let next = *next as usize;
            if *count == 0 {
                stack.push(next, 0.0);
                stack.push(node + 1, 0.0);
            }
            for slot in next..next + *count as usize {
                let hit = exit(&self.corners[slot], from, along).filter(|&t| t <= best.unwrap_or(1.0));
                best = hit.or(best);
            }
        }
        best
    }
}

/// Nodes that wait, each with a number. Never grows beyond the depth of the tree.
struct Stack {
    waiting: [(u32, f64); STACK],
    len: usize,
}

impl Stack {
    /// Holds the root.
    fn new(number: f64) -> Self {
        Stack { waiting: [(0, number); STACK], len: 1 }
    }

    fn push(&mut self, node: usize, number: f64) {
        self.waiting[self.len] = (node as u32, number);
        self.len += 1;
    }

    fn pop(&mut self) -> Option<(usize, f64)> {
        self.len = self.len.checked_sub(1)?;
        let (node, number) = self.waiting[self.len];
        Some((node as usize, number))
    }
}

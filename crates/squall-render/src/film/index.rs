//! The index of bricks and line traversal, which skips empty space.
//!
//! Two levels: a dense grid of nodes over the bounding box, each of which is empty or a table of 8³ bricks. Coordinates
//! are in cells from the lower corner of that box, so that it does not matter where in the world it lies.

use super::bricks::BRICK;
use crate::plane::RenderError;

/// Bricks along each side of a node.
const NODE: i32 = 8;
const NONE: u32 = u32::MAX;

/// More nodes than this (64 MB) are refused.
const MOST_NODES: u64 = 1 << 24;

/// Finds bricks by where they are.
pub(super) struct Index {
    /// Bricks along each axis.
    pub size: [i32; 3],
    nodes: [i32; 3],
    tables: Vec<u32>,
    bricks: Vec<[u32; (NODE * NODE * NODE) as usize]>,
}

/// A part of a straight line, in cells.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub origin: [f32; 3],
    /// Of length 1.
    pub direction: [f32; 3],
    /// Where the part starts and ends.
    pub enter: f32,
    pub leave: f32,
    inverse: [f32; 3],
    /// Added to the time at which the line leaves a box: infinite along the axes that it never moves on.
    never: [f32; 3],
    /// By how much a coordinate changes from brick to brick.
    step: [i32; 3],
}

impl Line {
    #[inline(always)]
    pub fn new(origin: [f32; 3], direction: [f32; 3], enter: f32, leave: f32) -> Self {
        let (mut inverse, mut never, mut step) = ([0.0; 3], [f32::INFINITY; 3], [0; 3]);
        for a in 0..3 {
            if direction[a] != 0.0 {
                (inverse[a], never[a]) = (1.0 / direction[a], 0.0);
                step[a] = if direction[a] > 0.0 { 1 } else { -1 };
            }
        }
        Self { origin, direction, enter, leave, inverse, never, step }
    }

    /// Coordinate `a` of the brick in which the line is.
    #[inline(always)]
    fn brick(&self, t: f32, a: usize) -> i32 {
        let x = (self.origin[a] + self.direction[a] * t) * (1.0 / BRICK as f32);
        // Rounds down; `floor` would be a call on old machines.
        let whole = x as i32;
        whole - i32::from(x < whole as f32)
    }

    /// Where the line is, from the lower corner of a brick.
    #[inline(always)]
    pub fn within(&self, place: [i32; 3], t: f32) -> [f32; 3] {
        let mut p = [0.0; 3];
        for a in 0..3 {
            p[a] = (self.origin[a] - (place[a] * BRICK as i32) as f32) + self.direction[a] * t;
        }
        p
    }

    /// When the line leaves a box of `side` bricks that starts at brick `low`, and along which axis.
    #[inline(always)]
    pub fn exit(&self, low: [i32; 3], side: i32) -> (f32, usize) {
        let mut first = (f32::INFINITY, 0);
        for a in 0..3 {
            let face = (low[a] + if self.step[a] > 0 { side } else { 0 }) * BRICK as i32;
            let t = (face as f32 - self.origin[a]) * self.inverse[a] + self.never[a];
            if t < first.0 {
                first = (t, a);
            }
        }
        first
    }
}

impl Index {
    /// `bricks` are relative to the lowest, so none of their coordinates is negative.
    pub fn new(bricks: &[[i32; 3]]) -> Result<Self, RenderError> {
        let size: [i32; 3] = std::array::from_fn(|a| bricks.iter().map(|b| b[a] + 1).max().unwrap_or(0));
        let nodes = size.map(|n| (n + NODE - 1) / NODE);
        let count = nodes.iter().try_fold(1u64, |count, &n| count.checked_mul(n as u64)).unwrap_or(u64::MAX);
        if count > MOST_NODES {
            return Err(RenderError::Spread { cells: size.map(|n| n as usize * BRICK) });
        }
        let mut index = Self { size, nodes, tables: vec![NONE; count as usize], bricks: Vec::new() };
        for (i, &brick) in bricks.iter().enumerate() {
            let table = &mut index.tables[flat(brick.map(|b| b / NODE), nodes)];
            if *table == NONE {
                *table = index.bricks.len() as u32;
                index.bricks.push([NONE; (NODE * NODE * NODE) as usize]);
            }
            index.bricks[*table as usize][flat(brick.map(|b| b % NODE), [NODE; 3])] = i as u32;
        }
        Ok(index)
    }

    /// Starts to visit the bricks along a line; it starts in brick `from`, or else where it is.
    #[inline(always)]
    pub fn walk<'a>(&'a self, line: &'a Line, from: Option<[i32; 3]>) -> Walk<'a> {
        let mut brick = [0; 3];
        for a in 0..3 {
            brick[a] = match from {
                Some(from) => from[a],
                None => line.brick(line.enter, a).clamp(0, (self.size[a] - 1).max(0)),
            };
        }
        Walk { index: self, line, brick, t: line.enter, over: self.bricks.is_empty() }
    }
}

/// The bricks along a line, one after the other.
///
/// The coordinates of bricks only ever change in the direction of the line, whatever the rounding: shadows rely on it.
pub(super) struct Walk<'a> {
    index: &'a Index,
    line: &'a Line,
    brick: [i32; 3],
    t: f32,
    over: bool,
}

/// A brick on the way of a line, and the part of the line in it.
#[derive(Clone, Copy)]
pub(super) struct Crossing {
    pub brick: usize,
    pub place: [i32; 3],
    pub from: f32,
    pub to: f32,
}

impl Walk<'_> {
    /// The next brick. Not an `Iterator`: everything on the way of a ray must be inlined, to be compiled for the
    /// instruction set of the ray.
    #[inline(always)]
    pub fn next(&mut self) -> Option<Crossing> {
        let Self { index, line, .. } = *self;
        while !self.over {
            let place = self.brick;
            let node = [place[0] / NODE, place[1] / NODE, place[2] / NODE];
            let table = index.tables[flat(node, index.nodes)];
            let empty = table == NONE;
            let (low, side) = if empty { ([node[0] * NODE, node[1] * NODE, node[2] * NODE], NODE) } else { (place, 1) };
            let (end, axis) = line.exit(low, side);
            let (from, to) = (self.t, end.min(line.leave).max(self.t));
            let mut found = NONE;
            if empty {
                // Over the whole node at once.
                for a in 0..3 {
                    let ahead = line.brick(to, a).clamp(low[a], low[a] + NODE - 1);
                    self.brick[a] = match line.step[a] {
                        0 => place[a],
                        1 => ahead.max(place[a]),
                        _ => ahead.min(place[a]),
                    };
                }
                self.brick[axis] = if line.step[axis] > 0 { low[axis] + NODE - 1 } else { low[axis] };
            } else {
                let inside = [place[0] % NODE, place[1] % NODE, place[2] % NODE];
                found = index.bricks[table as usize][flat(inside, [NODE; 3])];
            }
            self.t = to;
            self.brick[axis] += line.step[axis];
            self.over = to >= line.leave || self.brick[axis] < 0 || self.brick[axis] >= index.size[axis];
            if found != NONE {
                return Some(Crossing { brick: found as usize, place, from, to });
            }
        }
        None
    }
}

#[inline(always)]
fn flat([x, y, z]: [i32; 3], [nx, ny, _]: [i32; 3]) -> usize {
    x as usize + nx as usize * (y as usize + ny as usize * z as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: &Line, t: f32) -> [f32; 3] {
        line.within([0; 3], t)
    }

    #[test]
    fn a_line_visits_just_the_bricks_that_it_crosses_in_order() {
        // Bricks here and there, and nodes without any.
        let mut bricks = Vec::new();
        for x in 0..40 {
            for y in 0..20 {
                for z in 0..20 {
                    if (x * 7 + y * 13 + z * 29) % 3 == 0 && (x / 8 + y / 8 + z / 8) % 2 == 0 {
                        bricks.push([x, y, z]);
                    }
                }
            }
        }
        let index = Index::new(&bricks).unwrap();
        // From outside, along every combination of signs, and along an axis.
        for direction in [[1.0f32, 0.3, 0.2], [-0.5, 0.2, -0.1], [0.0, 1.0, 0.0], [0.2, -0.3, -0.9]] {
            let norm = direction.iter().map(|v| v * v).sum::<f32>().sqrt();
            let direction = direction.map(|v| v / norm);
            let origin = std::array::from_fn(|a| [150.3, 77.7, 70.1][a] - 400.0 * direction[a]);
            let whole = Line::new(origin, direction, 0.0, 800.0);
            let inside = |t: &f32| (0..3).all(|a| (0.0..8.0 * index.size[a] as f32).contains(&at(&whole, *t)[a]));
            let times: Vec<f32> = (0..80_000).map(|k| 0.01 * k as f32).filter(inside).collect();
            let line = Line { enter: times[0], leave: times[times.len() - 1], ..whole };

            // The length of the line in each brick, by counting points and by walking.
            let mut counted = vec![0.0f32; bricks.len()];
            for &t in &times {
                if let Ok(k) = bricks.binary_search(&at(&line, t).map(|v| (v / 8.0).floor() as i32)) {
                    counted[k] += 0.01;
                }
            }
            let mut walked = vec![0.0f32; bricks.len()];
            let (mut walk, mut last) = (index.walk(&line, None), line.enter);
            while let Some(Crossing { brick, place, from, to }) = walk.next() {
                assert_eq!(bricks[brick], place);
                assert!(from >= last && to >= from);
                last = to;
                walked[brick] += to - from;
            }
            assert!(counted.iter().zip(&walked).all(|(a, b)| (a - b).abs() < 0.03), "{direction:?}");
            assert!(walked.iter().sum::<f32>() > 10.0, "{direction:?}");
        }
    }

    #[test]
    fn bricks_spread_over_half_the_world_are_refused_with_a_reason() {
        let error = Index::new(&[[0, 0, 0], [200_000, 200_000, 200_000]]).err().unwrap().to_string();
        assert!(error.contains("1600008"), "{error}");
        // A long way along one axis is fine.
        assert!(Index::new(&[[0, 0, 0], [2_000_000, 0, 0]]).is_ok());
    }
}

//! Which bricks there are, and which of them a line crosses: empty space costs next to nothing.
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
        let moves = |a: usize| direction[a] != 0.0;
        Self {
            origin,
            direction,
            enter,
            leave,
            inverse: std::array::from_fn(|a| if moves(a) { 1.0 / direction[a] } else { 0.0 }),
            never: std::array::from_fn(|a| if moves(a) { 0.0 } else { f32::INFINITY }),
            step: std::array::from_fn(|a| if moves(a) { direction[a].signum() as i32 } else { 0 }),
        }
    }

    #[inline(always)]
    pub fn at(&self, t: f32) -> [f32; 3] {
        std::array::from_fn(|a| self.origin[a] + self.direction[a] * t)
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

    /// Visits the bricks along a line in order, with the part of the line in each, until `visit` returns false. The
    /// line starts in brick `from`, or else where it is.
    ///
    /// The coordinates of bricks only ever change in the direction of the line, whatever the rounding: shadows rely on
    /// it.
    #[inline(always)]
    pub fn walk(&self, line: &Line, from: Option<[i32; 3]>, mut visit: impl FnMut(usize, [i32; 3], f32, f32) -> bool) {
        if self.bricks.is_empty() {
            return;
        }
        let brick_at = |t: f32, a: usize| ((line.origin[a] + line.direction[a] * t) / BRICK as f32).floor() as i32;
        let mut t = line.enter;
        let mut brick: [i32; 3] =
            from.unwrap_or_else(|| std::array::from_fn(|a| brick_at(t, a).clamp(0, self.size[a] - 1)));
        loop {
            let node = brick.map(|b| b / NODE);
            let table = self.tables[flat(node, self.nodes)];
            let (low, side) = if table == NONE { (node.map(|n| n * NODE), NODE) } else { (brick, 1) };
            let (end, axis) = line.exit(low, side);
            let end = end.min(line.leave).max(t);
            if table == NONE {
                // Over the whole node at once.
                for a in 0..3 {
                    let ahead = brick_at(end, a).clamp(low[a], low[a] + NODE - 1);
                    brick[a] = match line.step[a] {
                        0 => brick[a],
                        1 => ahead.max(brick[a]),
                        _ => ahead.min(brick[a]),
                    };
                }
                brick[axis] = if line.step[axis] > 0 { low[axis] + NODE - 1 } else { low[axis] };
            } else {
                let found = self.bricks[table as usize][flat(brick.map(|b| b % NODE), [NODE; 3])];
                if found != NONE && !visit(found as usize, brick, t, end) {
                    return;
                }
            }
            if end >= line.leave {
                return;
            }
            t = end;
            brick[axis] += line.step[axis];
            if brick[axis] < 0 || brick[axis] >= self.size[axis] {
                return;
            }
        }
    }
}

#[inline(always)]
fn flat([x, y, z]: [i32; 3], [nx, ny, _]: [i32; 3]) -> usize {
    x as usize + nx as usize * (y as usize + ny as usize * z as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_visits_just_the_bricks_that_it_crosses_in_order() {
        // Bricks here and there over several nodes, some of them empty.
        let mut bricks = Vec::new();
        for x in 0..40 {
            for y in 0..20 {
                for z in 0..20 {
                    if (x * 7 + y * 13 + z * 29) % 11 == 0 && (x / 8 + y / 8 + z / 8) % 2 == 0 {
                        bricks.push([x, y, z]);
                    }
                }
            }
        }
        let index = Index::new(&bricks).unwrap();
        let directions = [[1.0f32, 0.3, 0.2], [-0.5, 0.7, -0.1], [0.0, 1.0, 0.0], [0.2, -0.3, -0.9]];
        for (i, d) in directions.iter().enumerate() {
            let n = d.iter().map(|v| v * v).sum::<f32>().sqrt();
            let d = d.map(|v| v / n);
            let centre = [150.0 + i as f32, 77.0, 70.0];
            let line = Line::new(std::array::from_fn(|a| centre[a] - 400.0 * d[a]), d, 0.0, 900.0);
            // Clip to the box first, as the renderer does.
            let inside = |t: f32| (0..3).all(|a| (0.0..8.0 * index.size[a] as f32).contains(&line.at(t)[a]));
            let (enter, leave) = (0..90_000)
                .map(|k| 0.01 * k as f32)
                .filter(|&t| inside(t))
                .fold((f32::INFINITY, 0.0f32), |(lo, hi), t| (lo.min(t), hi.max(t)));
            let line = Line { enter, leave, ..line };
            let mut visited = Vec::new();
            let mut last = enter;
            index.walk(&line, None, |k, brick, from, to| {
                assert_eq!(bricks[k], brick);
                assert!(from >= last && to >= from);
                last = to;
                if to - from > 0.02 {
                    visited.push(k);
                }
                true
            });
            let mut expected = Vec::new();
            let mut t = enter;
            while t < leave {
                let brick = line.at(t).map(|v| (v / 8.0).floor() as i32);
                if let Ok(k) = bricks.binary_search(&brick)
                    && expected.last().map(|e: &(usize, u32)| e.0) != Some(k)
                {
                    expected.push((k, 0));
                } else if let Some(e) = expected.last_mut() {
                    e.1 += 1;
                }
                t += 0.01;
            }
            // Bricks that are only touched may be seen by one and not by the other.
            let expected: Vec<usize> = expected.iter().filter(|e| e.1 > 3).map(|e| e.0).collect();
            assert!(expected.iter().all(|k| visited.contains(k)), "{d:?}");
            assert!(expected.len() > 3 && visited.len() <= expected.len() + 3, "{d:?}");
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

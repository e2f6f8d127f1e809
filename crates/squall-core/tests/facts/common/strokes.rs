//! Letters and signs drawn by strokes in the unit square, as densities with edges of one cell.
#![allow(dead_code, missing_docs)] // Each test binary uses only some of it.

use squall_core::*;

type Point = [f64; 2];

/// A line through points, some of them computed.
pub struct Strokes {
    pub lines: Vec<Vec<Point>>,
    pub width: f64,
}

fn arc(center: Point, radius: Point, from: f64, to: f64) -> Vec<Point> {
    let at = |i: usize| {
        let angle = (from + (to - from) * i as f64 / 40.0).to_radians();
        [center[0] + radius[0] * angle.cos(), center[1] + radius[1] * angle.sin()]
    };
    (0..=40).map(at).collect()
}

impl Strokes {
    pub fn psi() -> Self {
        let mut cup = vec![[0.22, 0.85]];
        cup.extend(arc([0.5, 0.6], [0.28, 0.25], 180.0, 360.0));
        cup.push([0.78, 0.85]);
        Strokes { lines: vec![cup, vec![[0.5, 0.12], [0.5, 0.88]]], width: 0.145 }
    }

    pub fn omega() -> Self {
        let mut bow = vec![[0.15, 0.15], [0.37, 0.15]];
        bow.extend(arc([0.5, 0.53], [0.31, 0.32], 236.0, -56.0));
        bow.extend([[0.63, 0.15], [0.85, 0.15]]);
        Strokes { lines: vec![bow], width: 0.16 }
    }

    pub fn cross() -> Self {
        Strokes { lines: vec![vec![[0.22, 0.22], [0.78, 0.78]], vec![[0.22, 0.78], [0.78, 0.22]]], width: 0.12 }
    }

    pub fn tick() -> Self {
        Strokes { lines: vec![vec![[0.2, 0.5], [0.42, 0.25], [0.82, 0.8]]], width: 0.14 }
    }

    /// The letters F, E and R.
    pub fn word() -> Self {
        let lines = vec![
            vec![[0.12, 0.3], [0.12, 0.7], [0.3, 0.7]],
            vec![[0.12, 0.5], [0.26, 0.5]],
            vec![[0.58, 0.7], [0.4, 0.7], [0.4, 0.3], [0.58, 0.3]],
            vec![[0.4, 0.5], [0.54, 0.5]],
            vec![[0.68, 0.3], [0.68, 0.7], [0.82, 0.68], [0.86, 0.6], [0.82, 0.52], [0.68, 0.5], [0.88, 0.3]],
        ];
        Strokes { lines, width: 0.06 }
    }

    /// A ring with a bar.
    pub fn logo() -> Self {
        let ring = arc([0.5, 0.5], [0.32, 0.32], 0.0, 360.0);
        Strokes { lines: vec![ring, vec![[0.18, 0.5], [0.82, 0.5]]], width: 0.07 }
    }

    pub fn ring(center: Point, radius: f64, width: f64) -> Self {
        Strokes { lines: vec![arc(center, [radius; 2], 0.0, 360.0)], width }
    }

    pub fn disc(center: Point, radius: f64) -> Self {
        Strokes { lines: vec![vec![center, center]], width: 2.0 * radius }
    }

    /// Many small parts: dots in rows.
    pub fn dots() -> Self {
        let at = |i: usize| [0.2 + 0.15 * (i % 5) as f64, 0.2 + 0.15 * (i / 5) as f64];
        Strokes { lines: (0..25).map(|i| vec![at(i), at(i)]).collect(), width: 0.08 }
    }

    /// More and smaller ones.
    pub fn small_dots() -> Self {
        let at = |i: usize| [0.14 + 0.12 * (i % 7) as f64, 0.14 + 0.12 * (i / 7) as f64];
        Strokes { lines: (0..49).map(|i| vec![at(i), at(i)]).collect(), width: 0.065 }
    }

    /// Nine horizontal lines.
    pub fn lines() -> Self {
        let at = |i: usize| 0.12 + 0.095 * i as f64;
        Strokes { lines: (0..9).map(|i| vec![[0.1, at(i)], [0.9, at(i)]]).collect(), width: 0.03 }
    }

    fn distance(&self, p: Point) -> f64 {
        let to_segment = |a: Point, b: Point| {
            let (d, q) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
            let length = d[0] * d[0] + d[1] * d[1];
            let t = if length > 0.0 { ((q[0] * d[0] + q[1] * d[1]) / length).clamp(0.0, 1.0) } else { 0.0 };
            (q[0] - t * d[0]).hypot(q[1] - t * d[1])
        };
        let segments = self.lines.iter().flat_map(|line| line.windows(2));
        segments.map(|s| to_segment(s[0], s[1])).fold(f64::INFINITY, f64::min) - 0.5 * self.width
    }

    /// Density one inside.
    pub fn draw(&self, grid: &Grid<2>) -> Field<2> {
        let mut field = Field::new(grid.cells, At::Center, grid.substance_ends(0.0)).unwrap();
        let h = grid.min_spacing();
        field.set_from(grid, |p| (0.5 - self.distance(p) / h).clamp(0.0, 1.0));
        field
    }
}

//! Cells inside a shape, with a soft edge.

use crate::Real;
use crate::grid::{At, Grid};
use crate::layout::Layout;

/// A run of cells in one x-row and how far each lies inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Number of the row.
    pub row: usize,
    /// The first cell of the run.
    pub first: usize,
    /// From 0 (outside) to 1 (inside), per cell.
    pub weights: Vec<Real>,
}

/// The cells inside a shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region<const D: usize> {
    spans: Vec<Span>,
}

impl<const D: usize> Region<D> {
    /// The cells where `distance` (negative inside, in metres) is below half of `softness`, weighted from 0 to 1 over an
    /// edge of that width. On periodic axes a shape that sticks out comes in again on the other side.
    pub fn new(grid: &Grid<D>, softness: f64, distance: impl Fn([f64; D]) -> f64) -> Self {
        let layout = Layout::dense(grid.cells);
        let size = grid.size();
        let images = |p: [f64; D]| {
            let mut least = distance(p);
            for a in (0..D).filter(|&a| grid.axes[a] == crate::Axis::Periodic) {
                for shift in [-size[a], size[a]] {
                    let mut q = p;
                    q[a] += shift;
                    least = least.min(distance(q));
                }
            }
            least
        };
        let mut spans = Vec::new();
        for r in 0..layout.rows() {
            let mut index = layout.row(r).index;
            let mut weights = Vec::with_capacity(grid.cells[0]);
            for x in 0..grid.cells[0] {
                index[0] = x as isize;
                let d = images(grid.position(At::Center, index));
                weights.push((0.5 - d / softness).clamp(0.0, 1.0) as Real);
            }
            if let Some(first) = weights.iter().position(|&w| w > 0.0) {
                let last = weights.iter().rposition(|&w| w > 0.0).unwrap_or(first);
                spans.push(Span { row: r, first, weights: weights[first..=last].to_vec() });
            }
        }
        Region { spans }
    }

    /// The rows that it touches.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }
}

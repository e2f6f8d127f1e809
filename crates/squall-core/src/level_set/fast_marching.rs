//! Distances to the surface by fast marching (Tsitsiklis 1995; Sethian 1996): `|grad phi| = 1` on both sides, the nearest cells first.
//!
//! Cells beside the surface keep it where it is between them: their distance is
//!
//! ```text
//! d_axis = (sum over axes with a crossing of 1 / d_a^2)^(-1/2),   d_a = h |phi| / (|phi| + |phi beside|)
//! d_grad = |phi| / |grad phi|
//! d      = min(d_axis, d_grad)
//! ```
//!
//! `d_axis` alone, as in textbooks, is 0.2 cells off over oblique planes at any resolution; `d_grad` is exact for planes, and wrong where the gradient
//! vanishes between two surfaces. All other cells follow in the order of their distance (equal ones in that of memory, so that there is only one order).

use super::redistance::inwards;
use crate::Real;
use crate::field::{Field, OutOfMemory};
use crate::grid::{At, Ends, Grid};
use crate::layout::Layout;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No cell beside the surface is nearer than this, in cells, unless it is on it: else rounding could take it to the other side.
const NEAREST: Real = 1e-5;

/// Room for it, in a box.
pub struct FastMarching<const D: usize> {
    /// How far distances are computed, in cells.
    band: Real,
    /// In cells, without sign.
    distance: Field<D>,
    known: Vec<bool>,
    /// Cells on the way, by distance and place.
    trial: BinaryHeap<Reverse<(u32, u32)>>,
    /// Cells beside the surface.
    beside: Vec<u32>,
}

impl<const D: usize> FastMarching<D> {
    /// For fields of a box; distances are known up to `band` cells.
    pub fn new(grid: &Grid<D>, band: Real) -> Result<Self, OutOfMemory> {
        assert!(!grid.is_unbounded(), "a box");
        let distance = Field::on(&Layout::dense(grid.cells), At::Center, grid.flat_ends(0.0))?;
        let known = vec![false; distance.data.len()];
        Ok(FastMarching { band, distance, known, trial: BinaryHeap::new(), beside: Vec::new() })
    }

    /// Makes `phi` the distance to where it is zero, in metres, in cubes of side `h`; further away than the band it is that. No sign changes. Fills ghosts.
    pub fn redistance(&mut self, phi: &mut Field<D>, h: Real) {
        phi.fill_halo();
        self.keep_surface(phi);
        self.march();
        let distance = &self.distance;
        phi.par_rows(|row, phi| {
            for (phi, d) in phi.iter_mut().zip(distance.row(row)) {
                *phi = (h * d).copysign(*phi);
            }
        });
        phi.fill_halo();
    }

    /// The distances of cells beside the surface; all others are as far as the band.
    fn keep_surface(&mut self, phi: &Field<D>) {
        let (band, cells, ends) = (self.band, phi.cells(), phi.ends());
        self.distance.par_rows(|row, out| {
            let here = phi.row(row);
            let beside: [[&[Real]; 2]; D] = std::array::from_fn(|a| [phi.row(row.down(a)), phi.row(row.up(a))]);
            for x in 0..out.len() {
                let value = here[x];
                let crosses = |other: Real| (value < 0.0) != (other < 0.0) || (value == 0.0) != (other == 0.0);
                out[x] = band;
                if !(0..D).any(|a| crosses(beside[a][0][x]) || crosses(beside[a][1][x])) {
                    continue;
                }
                let (mut axes, mut steepness) = (0.0, 0.0);
                for a in 0..D {
                    let [low, high] = [beside[a][0][x], beside[a][1][x]];
                    let part = |other: Real| {
                        if crosses(other) { value.abs() / (value.abs() + other.abs()) } else { Real::INFINITY }
                    };
                    let nearest = part(low).min(part(high));
                    axes += 1.0 / (nearest * nearest);
                    // Behind an end that is not joined nothing is known.
                    let i = if a == 0 { x } else { row.index[a] as usize };
                    let joined = ends[a] == Ends::Periodic;
                    let slope = match (i == 0 && !joined, i + 1 == cells[a] && !joined) {
                        (true, true) => 0.0,
                        (true, false) => high - value,
                        (false, true) => value - low,
                        (false, false) => 0.5 * (high - low),
                    };
                    steepness += slope * slope;
                }
                out[x] = match value == 0.0 {
                    true => 0.0,
                    false => (1.0 / axes.sqrt()).min(value.abs() / steepness.sqrt()).max(NEAREST),
                };
            }
        });
    }

    /// From the cells beside the surface to the end of the band.
    fn march(&mut self) {
        let layout = self.distance.layout().clone();
        self.known.fill(false);
        self.trial.clear();
        self.beside.clear();
        for row in (0..layout.rows()).map(|r| layout.row(r)) {
            for (x, d) in self.distance.row(row).iter().enumerate() {
                if *d < self.band {
                    self.known[row.start + x] = true;
                    self.beside.push((row.start + x) as u32);
                }
            }
        }
        for i in 0..self.beside.len() {
            self.look_around(&layout, self.beside[i]);
        }
        while let Some(Reverse((bits, at))) = self.trial.pop() {
            // What was found again on a shorter way is known by now.
            if !std::mem::replace(&mut self.known[at as usize], true) {
                self.distance.data[at as usize] = Real::from_bits(bits);
                self.look_around(&layout, at);
            }
        }
        (self.distance.ghosts_filled, self.distance.x_filled) = (false, None);
    }

    /// Finds the distances of the cells around one that has become known.
    fn look_around(&mut self, layout: &Layout<D>, at: u32) {
        let ends = self.distance.ends();
        let index = index_of(layout, at);
        for next in beside(layout, ends, index, at as usize).into_iter().flatten().flatten() {
            if self.known[next] {
                continue;
            }
            let around = beside(layout, ends, index_of(layout, next as u32), next);
            let known = |at: Option<usize>| match at {
                Some(at) if self.known[at] => self.distance.data[at],
                _ => Real::INFINITY,
            };
            let mut nearest = around.map(|[low, high]| known(low).min(known(high)));
            nearest.sort_unstable_by(Real::total_cmp);
            // From the nearest on, which is more exact than from 0.
            let from = nearest[0];
            let [d] = inwards(nearest.map(|d| [d - from]), 1.0).map(|d| from + d);
            if d < self.band.min(self.distance.data[next]) {
                // On the way; not known until nothing shorter is left.
                self.trial.push(Reverse((d.to_bits(), next as u32)));
            }
        }
    }
}

/// The index of the cell whose value lies at a place.
#[inline(always)]
fn index_of<const D: usize>(layout: &Layout<D>, at: u32) -> [usize; D] {
    let mut rest = at as usize - layout.first();
    let mut index = [0; D];
    for a in (0..D).rev() {
        index[a] = rest / layout.stride()[a];
        rest %= layout.stride()[a];
    }
    index
}

/// Where the cells below and above along each axis lie, if there are some.
#[inline(always)]
fn beside<const D: usize>(
    layout: &Layout<D>,
    ends: [Ends; D],
    index: [usize; D],
    at: usize,
) -> [[Option<usize>; 2]; D] {
    std::array::from_fn(|a| {
        let (stride, last) = (layout.stride()[a], layout.cells()[a] - 1);
        let around = (ends[a] == Ends::Periodic).then_some(last * stride);
        [
            if index[a] > 0 { Some(at - stride) } else { around.map(|way| at + way) },
            if index[a] < last { Some(at + stride) } else { around.map(|way| at - way) },
        ]
    })
}

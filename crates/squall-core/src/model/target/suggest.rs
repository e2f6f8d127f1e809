//! Automatic parameters for a smoke and its target.
//!
//! With lengths in units of the box `L` and times in units of the duration `T`, every parameter is a number: `v_f ~ L²/T²`,
//! `v_d ~ 1/T`, `v_g ~ L²/T`. The numbers were found on five pairs of shapes (`tests/target.rs` holds the table); what has to be
//! known about the shapes themselves are two lengths:
//!
//! * how far the smoke has to feel its target: smoothing begins with the narrowest bell that reaches nearly all of the smoke;
//! * how fine the target is: smoothing ends with a part of the thickness of its strokes.
//!
//! Wide first and narrow later leaves about half of the error that narrow alone leaves (psi to omega at 64² without gathering:
//! 0.34 of the mass instead of 0.62), and two thirds of what wide alone leaves.

use super::{Blur, Smoothing, flat_ends};
use crate::Real;
use crate::field::{Field, OutOfMemory};
use crate::grid::{At, Grid};
use crate::layout::Row;
use crate::ops::{lanes_sum, max_abs, sum};
use crate::rows;

/// How to drive a smoke to a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Widths of smoothing: wide enough at first to be felt by all of the smoke, fine enough in the end to form details.
    pub smoothing: Smoothing,
    /// `v_f`, in m²/s² per unit of density.
    pub drive: f64,
    /// `v_d`, per second.
    pub damping: f64,
    /// `v_g`, in m²/s per unit of density squared.
    pub gathering: f64,
    /// How long the smoke takes, in seconds.
    pub duration: f64,
}

impl Parameters {
    /// The same motion, faster or slower.
    pub fn lasting(self, seconds: f64) -> Self {
        let faster = self.duration / seconds;
        Parameters {
            smoothing: Smoothing { over: self.smoothing.over / faster, ..self.smoothing },
            drive: self.drive * faster * faster,
            damping: self.damping * faster,
            gathering: self.gathering * faster,
            duration: seconds,
        }
    }
}

/// The part of the smoke that has to feel the target from the start.
const FELT_BY: f64 = 0.95;

/// A target is felt where its smoothed density is above this part of its largest value.
const FELT: f64 = 0.02;

/// Parameters for a smoke and a target, for a duration of four seconds; [`Parameters::lasting`] changes that.
pub fn suggest<const D: usize>(grid: &Grid<D>, smoke: &Field<D>, target: &Field<D>) -> Result<Parameters, OutOfMemory> {
    let size = grid.size().into_iter().fold(f64::INFINITY, f64::min);
    let h = grid.min_spacing();
    let duration = 4.0;
    let end = (0.25 * thickness(grid, target)).clamp(1.25 * h, 0.04 * size.max(32.0 * h));
    let begin = reach(grid, smoke, target, (2.0 * end).max(0.06 * size), 0.5 * size)?.max(end);
    // Densities of one are usual; the force is in proportion to the density.
    let peak = (max_abs(smoke) as f64).max(Real::MIN_POSITIVE as f64);
    let smoothing = Smoothing { begin, end, over: 0.6 * duration };
    let unit = size * size / peak;
    Ok(Parameters { smoothing, drive: 3.0 * unit, damping: 6.0, gathering: 6e-3 * unit / peak, duration })
}

/// The thickness of the strokes of a density: twice its volume over its surface.
fn thickness<const D: usize>(grid: &Grid<D>, target: &Field<D>) -> f64 {
    let surface: f64 = (0..D)
        .map(|a| {
            let n = grid.cells[a];
            let of_row = |row: Row<'_, D>| {
                // The last cell along the axis has no neighbour above it.
                if a > 0 && row.index[a] as usize + 1 == n {
                    return 0.0;
                }
                let (low, high) = (target.row(row), target.row(row.up(a)));
                let count = if a == 0 { n - 1 } else { low.len() };
                lanes_sum(count, |x| (high[x] as f64 - low[x] as f64).abs())
            };
            rows::reduce(target.layout(), of_row, |x, y| x + y) / grid.spacing[a]
        })
        .sum();
    if surface > 0.0 { 2.0 * sum(target) / surface } else { f64::INFINITY }
}

/// The narrowest smoothing from `from` to `to`, by factors of the fourth root of two, with which enough of the smoke feels the
/// target.
fn reach<const D: usize>(
    grid: &Grid<D>,
    smoke: &Field<D>,
    target: &Field<D>,
    from: f64,
    to: f64,
) -> Result<f64, OutOfMemory> {
    let mut blur = Blur::new(grid);
    let mut smooth = Field::new(grid.cells, At::Center, flat_ends(grid))?;
    let mass = sum(smoke);
    let mut sigma = from;
    while sigma < to {
        smooth.par_rows(|row, out| out.copy_from_slice(target.row(row)));
        blur.apply(&mut smooth, sigma);
        let level = FELT as Real * max_abs(&smooth);
        let felt_by = |row: Row<'_, D>| {
            let (smoke, smooth) = (smoke.row(row), smooth.row(row));
            lanes_sum(smoke.len(), |x| if smooth[x] > level { smoke[x] as f64 } else { 0.0 })
        };
        if rows::reduce(smoke.layout(), felt_by, |x, y| x + y) >= FELT_BY * mass {
            break;
        }
        sigma *= 1.189_207_115;
    }
    Ok(sigma.min(to.max(from)))
}

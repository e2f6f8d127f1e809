//! Smoke near solids.
//!
//! Between two steps, cells inside of solids hold the ambient value. While a substance is advected, they hold what is outside
//! next to them ([`Solids::fill_inside`]), so that a cell that a moving solid leaves gets what is beside it. Nothing has to
//! be pushed out of the way of a solid: the flow in front of it moves as it does, and has carried the substance on.

use super::Solids;
use crate::Real;
use crate::field::Field;
use crate::layout::Row;

impl<const D: usize> Solids<D> {
    /// Sets solid cells to the ambient value.
    pub fn clear_inside(&self, substance: &mut Field<D>, ambient: Real) {
        substance.par_rows(|row, values| {
            if self.is_near(row) {
                self.for_each_solid_cell(row, |x| values[x] = ambient);
            }
        });
    }

    /// Multiplies rates per volume of fluid by the part of each cell that is fluid.
    pub fn keep_fluid_part(&self, rate: &mut Field<D>) {
        rate.par_rows(|row, rate| {
            if let Some(volumes) = self.volumes_near(row) {
                rate.iter_mut().zip(volumes).for_each(|(rate, volume)| *rate *= volume);
            }
        });
    }

    /// The sum over all solid cells of what differs from the ambient value.
    pub fn sum_inside(&self, substance: &Field<D>, ambient: Real) -> f64 {
        let of_row = |row: Row<'_, D>| {
            let (values, mut sum) = (substance.row(row), 0.0);
            if self.is_near(row) {
                self.for_each_solid_cell(row, |x| sum += (values[x] - ambient) as f64);
            }
            sum
        };
        crate::rows::reduce(substance.layout(), of_row, |a, b| a + b)
    }

    /// The mean of what differs from the ambient value in the cells that surfaces pass through.
    pub fn mean_beside(&self, substance: &Field<D>, ambient: Real) -> f64 {
        let of_row = |row: Row<'_, D>| {
            let (mut sum, mut count) = (0.0, 0.0);
            if let Some(volumes) = self.volumes_near(row) {
                for (v, a) in volumes.iter().zip(substance.row(row)).filter(|(v, _)| **v > 0.0 && **v < 1.0) {
                    sum += *v as f64 * (a - ambient) as f64;
                    count += *v as f64;
                }
            }
            (sum, count)
        };
        let (sum, count) = crate::rows::reduce(substance.layout(), of_row, |a, b| (a.0 + b.0, a.1 + b.1));
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

//! Placeholder until the transport engine brings its own.
use super::MapScratch;
use crate::Real;
use crate::field::Field;

/// What enters through the sides.
pub fn through_sides<const D: usize>(_: &MapScratch<D>, _: &Field<D>, _: Real) -> f64 {
    0.0
}

/// Adds what is missing.
pub fn settle<const D: usize>(_: &mut Field<D>, _: Option<&Field<D>>, _: Real, _: f64) -> f64 {
    0.0
}

//! Numbers over time.

use squall_core::shape::{Beyond, Interpolation as Between, Key, Track};

use crate::expr::{Expr, Input};
use crate::scene::choices::Interpolation;

/// A number that may change with time.
#[derive(Clone, Debug, PartialEq)]
pub enum Curve {
    /// The same at all times.
    Constant(f64),
    /// Through keyframes.
    Keys(Track<1>),
    /// An expression of `t`, in seconds.
    Expression(Expr),
}

impl Default for Curve {
    fn default() -> Self {
        Curve::Constant(0.0)
    }
}

impl From<f64> for Curve {
    fn from(value: f64) -> Self {
        Curve::Constant(value)
    }
}

impl Curve {
    /// A curve through pairs of time and value, in order of time; the first and last values stay beyond them, or all of it
    /// repeats.
    pub(crate) fn keys(keys: Vec<[f64; 2]>, ease: Interpolation, repeat: bool) -> Self {
        if let [[_, value]] = keys.as_slice() {
            return Curve::Constant(*value);
        }
        let ease = match ease {
            Interpolation::Linear => Between::Linear,
            Interpolation::Smooth => Between::Smooth,
            Interpolation::Step => Between::Step,
        };
        let beyond = if repeat { Beyond::Loop } else { Beyond::Hold };
        let keys = keys.into_iter().map(|[time, value]| Key { time, value: [value] }).collect();
        // Scenes refuse keys that are not finite or not in order.
        Track::new(keys, ease, beyond).map_or(Curve::Constant(0.0), Curve::Keys)
    }

    /// The value at a time, in seconds.
    pub fn at(&self, time: f64) -> f64 {
        match self {
            Curve::Constant(value) => *value,
            Curve::Keys(track) => track.at(time).0[0],
            Curve::Expression(expr) => {
                let mut out = [0.0];
                let inputs = [Input::Uniform(time as f32)];
                expr.eval_row(&inputs[..expr.variables().len()], &mut out);
                f64::from(out[0])
            }
        }
    }

    /// The value at the start.
    pub fn start(&self) -> f64 {
        self.at(0.0)
    }

    /// Whether it is the same at all times.
    pub fn is_constant(&self) -> bool {
        match self {
            Curve::Constant(_) => true,
            Curve::Keys(track) => !track.moves(),
            Curve::Expression(_) => false,
        }
    }

    /// Whether it is this number at all times.
    pub fn is(&self, value: f64) -> bool {
        self.is_constant() && self.start() == value
    }

    /// Values at times from the start to `duration`: enough to judge it by.
    pub fn samples(&self, duration: f64) -> impl Iterator<Item = f64> {
        let count = if self.is_constant() { 0 } else { SAMPLES };
        (0..=count).map(move |i| self.at(duration * i as f64 / f64::from(SAMPLES)))
    }

    /// The largest value up to `duration` seconds.
    pub fn largest(&self, duration: f64) -> f64 {
        self.samples(duration).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The largest absolute value up to `duration` seconds.
    pub fn largest_abs(&self, duration: f64) -> f64 {
        self.samples(duration).map(f64::abs).fold(0.0, f64::max)
    }
}

/// How finely a curve is looked at.
const SAMPLES: i32 = 400;

/// The values of curves at a time.
pub fn at(curves: &[Curve], time: f64) -> Vec<f64> {
    curves.iter().map(|curve| curve.at(time)).collect()
}

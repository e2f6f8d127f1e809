//! Dissipation of substances and cooling.
//!
//! | law | rate of `d = a - ambient` | after `dt` | look |
//! |---|---|---|---|
//! | [`Loss::Subtract`] | `-rate sign(d)` | `sign(d) max(abs(d) - rate dt, 0)` | thin parts vanish first, like steam |
//! | [`Loss::Fade`] | `-rate d` | `d exp(-rate dt)` | all fades alike; for temperatures Newton's law of cooling |
//! | [`Loss::Radiate`] | `-rate (d / reference)^4 reference` | `d (1 + 3 rate dt abs(d / reference)^3)^(-1/3)` | hot parts glow and cool first, like flames |
//!
//! Each is integrated exactly, so a result does not depend on the time step. All of them lead towards the ambient value
//! from both sides, and none goes beyond it.

use crate::Real;
use crate::field::Field;

/// A law by which a field goes back to what surrounds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// The same amount everywhere.
    Subtract {
        /// Amount per second.
        rate: f64,
    },
    /// The same part everywhere; for temperatures this is Newton's law of cooling.
    Fade {
        /// Part per second.
        rate: f64,
    },
    /// With the fourth power of the difference, as what glows radiates.
    Radiate {
        /// Part per second at the reference.
        rate: f64,
        /// The difference from the ambient value at which the rate holds; greater than zero.
        reference: Real,
    },
}

impl Loss {
    /// Lets the law act on a field for `dt` seconds.
    pub fn apply<const D: usize>(&self, field: &mut Field<D>, ambient: Real, dt: f64) {
        match *self {
            Loss::Subtract { rate } => {
                let step = (rate * dt) as Real;
                // What is left is between -step and step: nothing.
                each_cell(field, |a| {
                    let d = a - ambient;
                    ambient + (d - d.max(-step).min(step))
                });
            }
            Loss::Fade { rate } => {
                let keep = libm::exp(-rate * dt) as Real;
                each_cell(field, |a| ambient + keep * (a - ambient));
            }
            Loss::Radiate { rate, reference } => {
                let (k, per) = ((3.0 * rate * dt) as Real, 1.0 / reference);
                each_cell(field, |a| {
                    let d = a - ambient;
                    let y = (per * d).abs();
                    ambient + d * inverse_cube_root(1.0 + k * (y * y * y))
                });
            }
        }
    }
}

#[inline(always)]
fn each_cell<const D: usize>(field: &mut Field<D>, f: impl Fn(Real) -> Real + Sync) {
    field.par_rows(|_, a| {
        for a in a {
            *a = f(*a);
        }
    });
}

/// `x^(-1/3)` for normal `x > 0`, to a few units in the last place; loops over it become vector code.
#[inline(always)]
fn inverse_cube_root(x: Real) -> Real {
    // Dividing the bits by -3 divides the exponent and comes within 5 %; Newton's method for y^-3 = x squares the error.
    let mut y = Real::from_bits(0x54a2_1d2a - x.to_bits() / 3);
    for _ in 0..3 {
        y *= 4.0 / 3.0 - x * (1.0 / 3.0) * (y * y * y);
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{At, Ends};

    const LAWS: [Loss; 3] =
        [Loss::Subtract { rate: 0.7 }, Loss::Fade { rate: 1.3 }, Loss::Radiate { rate: 2.0, reference: 1.5 }];

    /// Differences from the ambient value on both sides, small and large.
    fn differences() -> Vec<f64> {
        (0..64).map(|n| (n as f64 - 31.5) * (n as f64 - 31.5).abs() / 100.0).collect()
    }

    fn field(ambient: f64) -> Field<2> {
        let mut field = Field::new([64, 1], At::Center, [Ends::FLAT; 2]).expect("memory");
        let values: Vec<Real> = differences().iter().map(|d| (ambient + d) as Real).collect();
        field.copy_from(&values);
        field
    }

    fn values(field: &Field<2>) -> Vec<f64> {
        let mut values = Vec::new();
        field.copy_to(&mut values);
        values.into_iter().map(f64::from).collect()
    }

    #[test]
    fn each_law_is_the_solution_of_its_equation() {
        let (dt, steps) = (0.6, 60_000);
        for law in LAWS {
            let mut f = field(0.0);
            law.apply(&mut f, 0.0, dt);
            for (start, end) in differences().into_iter().zip(values(&f)) {
                let rate = |d: f64| match law {
                    Loss::Subtract { rate } => -rate * d.signum(),
                    Loss::Fade { rate } => -rate * d,
                    Loss::Radiate { rate, reference } => {
                        let r = f64::from(reference);
                        -rate * (d / r).abs().powi(3) * d
                    }
                };
                let mut d = start;
                for _ in 0..steps {
                    let step = dt / f64::from(steps);
                    let middle = d + 0.5 * step * rate(d);
                    d += step * rate(middle);
                }
                // The straightforward integration crosses zero by less than one of its steps, and follows the steepest of
                // the fourth-power curves to five digits.
                assert!((d - end).abs() < 2e-5 + 1e-4 * d.abs(), "{law:?} from {start}: {end} instead of {d}");
            }
        }
    }

    #[test]
    fn one_long_step_equals_four_short_ones() {
        for law in LAWS {
            for ambient in [0.0, 0.4] {
                let (mut once, mut often) = (field(ambient), field(ambient));
                law.apply(&mut once, ambient as Real, 0.8);
                (0..4).for_each(|_| law.apply(&mut often, ambient as Real, 0.2));
                for (a, b) in values(&once).into_iter().zip(values(&often)) {
                    // Single precision, of numbers of the size of the ambient value.
                    assert!((a - b).abs() <= 1e-5 * a.abs() + 5e-7 * (ambient + 1.0), "{law:?}: {a} and {b}");
                }
            }
        }
    }

    #[test]
    fn no_law_goes_beyond_the_ambient_value_however_long_it_acts() {
        for law in LAWS {
            let mut f = field(3.0);
            law.apply(&mut f, 3.0, 1e4);
            for (start, end) in differences().into_iter().zip(values(&f)) {
                let left = end - 3.0;
                // Radiation leaves (3 rate dt)^(-1/3) references; the others nothing.
                assert!(left * start >= 0.0 && left.abs() < 0.05, "{law:?} from {start} leaves {left}");
            }
        }
    }

    #[test]
    fn a_lost_number_stays_lost() {
        for law in LAWS {
            let mut f = field(0.0);
            f.set([7, 0], Real::NAN);
            law.apply(&mut f, 0.0, 0.1);
            assert!(f.get([7, 0]).is_nan(), "{law:?} hides a value that is not a number");
        }
    }

    #[test]
    fn the_inverse_cube_root_has_all_digits() {
        for n in -40..400 {
            let x = 1.17f64.powi(n) as Real;
            let exact = (f64::from(x)).powf(-1.0 / 3.0);
            let error = (f64::from(inverse_cube_root(x)) / exact - 1.0).abs();
            // Four units in the last place.
            assert!(error < 2.5e-7, "{x}: off by {error}");
        }
    }
}

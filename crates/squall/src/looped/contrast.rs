//! Restores contrast lost by blending.
//!
//! A mixture of two fields that know nothing of each other is duller than either: its peaks are lower and its edges wider. A
//! power law `c v^p` undoes that: what is nothing stays nothing, the order of values stays, and `c` and `p` are found such that
//! the sum and the sum of squares are what they should be.

use rayon::prelude::*;

use squall_core::{Snapshot, StateVisitor};

/// Sums over a field: what contrast is measured by. Places that hold nothing do not count, so it does not matter how many
/// there are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contrast {
    /// The sum of all values.
    pub sum: f64,
    /// The sum of their squares.
    pub square: f64,
}

/// Values that a task handles.
const BLOCK: usize = 1 << 14;

/// Values are counted in so many classes, finer towards nothing.
const CLASSES: usize = 2048;

/// Powers that are tried.
const POWERS: [f64; 2] = [0.25, 4.0];

/// The contrast of every field.
pub fn measure(fields: &Snapshot) -> Vec<Contrast> {
    fields.fields().map(Contrast::of).collect()
}

impl Contrast {
    fn of(values: &[f32]) -> Self {
        let part = |c: &[f32]| {
            c.iter().fold((0.0, 0.0), |(sum, square), &v| (sum + f64::from(v), square + f64::from(v) * f64::from(v)))
        };
        let parts: Vec<(f64, f64)> = values.par_chunks(BLOCK).map(part).collect();
        let (sum, square) = parts.iter().fold((0.0, 0.0), |(a, b), (sum, square)| (a + sum, b + square));
        Contrast { sum, square }
    }

    /// Between two contrasts; `weight` is that of `self`.
    pub fn between(self, other: Contrast, weight: f64) -> Contrast {
        let mix = |a: f64, b: f64| weight * a + (1.0 - weight) * b;
        let root = mix(self.square.sqrt(), other.square.sqrt());
        Contrast { sum: mix(self.sum, other.sum), square: root * root }
    }

    pub(super) fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        visitor.real("contrast.sum", &mut self.sum);
        visitor.real("contrast.square", &mut self.square);
    }
}

/// Gives a field the contrast that is wanted.
pub fn restore(values: &mut [f32], wanted: Contrast) {
    let found = Contrast::of(values);
    let usable = |c: &Contrast| c.sum.is_finite() && c.square.is_finite() && c.square > 0.0;
    if found == wanted || !usable(&found) || !usable(&wanted) {
        return;
    }
    let low = values.iter().fold(0.0, |m: f32, &v| m.min(v));
    let high = values.iter().fold(0.0, |m: f32, &v| m.max(v));
    if low < -1e-3 * high || wanted.sum <= 0.0 || found.sum <= 0.0 {
        // Values of both signs are only made larger or smaller.
        let factor = (wanted.square / found.square).sqrt() as f32;
        return values.par_chunks_mut(BLOCK).for_each(|c| c.iter_mut().for_each(|v| *v *= factor));
    }
    let classes = classes(values, high);
    // The larger the power, the larger the squares for the same sum.
    let (mut least, mut most) = (POWERS[0], POWERS[1]);
    for _ in 0..30 {
        let power = 0.5 * (least + most);
        let (sum, square) = sums(&classes, power);
        if square / (sum * sum) < wanted.square / (wanted.sum * wanted.sum) {
            least = power;
        } else {
            most = power;
        }
    }
    let power = 0.5 * (least + most);
    let factor = wanted.sum / (sums(&classes, power).0 * f64::from(high));
    let (top, scale) = (high, (factor * f64::from(high)) as f32);
    values.par_chunks_mut(BLOCK).for_each(|c| {
        for v in c.iter_mut().filter(|v| **v > 0.0) {
            *v = scale * libm::powf(*v / top, power as f32);
        }
    });
}

/// How many values lie in each class, and their mean as a part of the highest.
fn classes(values: &[f32], high: f32) -> Vec<(f64, f64)> {
    let mut classes = vec![(0.0, 0.0); CLASSES];
    for v in values.iter().filter(|v| **v > 0.0) {
        let part = v / high;
        let class = &mut classes[((part.sqrt() * CLASSES as f32) as usize).min(CLASSES - 1)];
        class.0 += 1.0;
        class.1 += f64::from(part);
    }
    classes.retain(|&(count, _)| count > 0.0);
    classes.iter_mut().for_each(|(count, mean)| *mean /= *count);
    classes
}

fn sums(classes: &[(f64, f64)], power: f64) -> (f64, f64) {
    classes.iter().fold((0.0, 0.0), |(sum, square), &(count, value)| {
        let v = libm::pow(value, power);
        (sum + count * v, square + count * v * v)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waves(seed: f64) -> Vec<f32> {
        (0..20_000)
            .map(|i| ((f64::from(i) * seed).sin().max(0.0) * (f64::from(i) * 0.0031 * seed).cos().abs()) as f32)
            .collect()
    }

    #[test]
    fn a_mixture_gets_back_the_sum_and_the_squares_of_what_was_mixed() {
        let (a, b) = (waves(0.7), waves(1.3));
        let mut mixed: Vec<f32> = a.iter().zip(&b).map(|(a, b)| 0.5 * (a + b)).collect();
        let wanted = Contrast::of(&a).between(Contrast::of(&b), 0.5);
        let dull = Contrast::of(&mixed);
        assert!(dull.square < 0.75 * wanted.square, "the mixture is dull: {dull:?}, {wanted:?}");
        restore(&mut mixed, wanted);
        let found = Contrast::of(&mixed);
        // Values are counted in classes a thousandth wide.
        assert!((found.sum / wanted.sum - 1.0).abs() < 1e-3, "{found:?}, {wanted:?}");
        assert!((found.square / wanted.square - 1.0).abs() < 2e-3, "{found:?}, {wanted:?}");
        for (v, (a, b)) in mixed.iter().zip(a.iter().zip(&b)) {
            assert_eq!(*v == 0.0, *a == 0.0 && *b == 0.0, "nothing stays nothing");
        }
    }

    #[test]
    fn a_field_that_has_the_contrast_wanted_is_hardly_touched() {
        let values = waves(0.7);
        let mut same = values.clone();
        let mut wanted = Contrast::of(&values);
        wanted.square *= 1.0 + 1e-9;
        restore(&mut same, wanted);
        let change = values.iter().zip(&same).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(change < 2e-3, "{change}");
    }

    #[test]
    fn values_of_both_signs_keep_their_signs() {
        let mut values = vec![-1.0, 2.0, 0.0, -3.0];
        restore(&mut values, Contrast { sum: 0.0, square: 56.0 });
        assert_eq!(values, [-2.0, 4.0, 0.0, -6.0]);
    }
}

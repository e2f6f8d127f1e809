//! The number type of a solve.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// `f32` for simulations; `f64` to look at the method itself, without the noise of rounding.
pub trait Number:
    Copy
    + Default
    + Debug
    + Send
    + Sync
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + AddAssign
    + SubAssign
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The nearest number of this type.
    fn of(value: f64) -> Self;
    /// The same value.
    fn to_f64(self) -> f64;
}

impl Number for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

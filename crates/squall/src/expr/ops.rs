//! The operators and functions of expressions, over 64 cells at a time.

use super::{LANES, Lanes};

macro_rules! functions {
    ($Kind:ident($($arg:ident),+) { $($Variant:ident $($name:literal)? => $value:expr,)* }) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) enum $Kind { $($Variant,)* }

        impl $Kind {
            /// The function of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($($name => Some($Kind::$Variant),)?)*
                    _ => None,
                }
            }

            /// Names of the functions; operators have none.
            pub const NAMES: &[&str] = &[$($($name,)?)*];

            /// For one cell.
            pub fn value(self, $($arg: f32),+) -> f32 {
                match self { $($Kind::$Variant => $value,)* }
            }
        }
    };
}

functions! { Unary(a) {
    Neg => -a,
    Sin "sin" => libm::sinf(a),
    Cos "cos" => libm::cosf(a),
    Tan "tan" => libm::tanf(a),
    Exp "exp" => libm::expf(a),
    Ln "ln" => libm::logf(a),
    Log10 "log10" => libm::log10f(a),
    Sqrt "sqrt" => a.sqrt(),
    Abs "abs" => a.abs(),
    Floor "floor" => a.floor(),
    Sign "sign" => if a > 0.0 { 1.0 } else if a < 0.0 { -1.0 } else { a },
    Tanh "tanh" => libm::tanhf(a),
    Step "step" => flag(a >= 0.0),
    Smooth "smooth" => { let c = min(max(a, 0.0), 1.0); c * c * (3.0 - 2.0 * c) },
} }

functions! { Binary(a, b) {
    Add => a + b,
    Sub => a - b,
    Mul => a * b,
    Div => a / b,
    Pow => libm::powf(a, b),
    Less => flag(a < b),
    Greater => flag(a > b),
    AtMost => flag(a <= b),
    AtLeast => flag(a >= b),
    Min "min" => min(a, b),
    Max "max" => max(a, b),
    Atan2 "atan2" => libm::atan2f(a, b),
    Mod "mod" => a - b * (a / b).floor(),
} }

/// Names of all functions.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    Unary::NAMES.iter().chain(Binary::NAMES).copied().chain(["clamp"])
}

fn flag(condition: bool) -> f32 {
    if condition { 1.0 } else { 0.0 }
}

/// The smaller; NaN if either is (`f32::min` would hide it).
pub(super) fn min(a: f32, b: f32) -> f32 {
    if a < b || a.is_nan() { a } else { b }
}

/// The larger; NaN if either is.
pub(super) fn max(a: f32, b: f32) -> f32 {
    if a > b || a.is_nan() { a } else { b }
}

/// `x^n` by repeated squaring, in the same order everywhere.
pub(super) fn powi(x: f32, n: i32) -> f32 {
    let (mut result, mut base, mut left) = (1.0, x, n.unsigned_abs());
    while left > 0 {
        if left & 1 == 1 {
            result *= base;
        }
        base *= base;
        left >>= 1;
    }
    if n < 0 { 1.0 / result } else { result }
}

impl Unary {
    pub fn apply(self, a: &mut Lanes) {
        // One loop per operator, so that each can vectorise: a match inside one loop would not.
        macro_rules! each {
            ($($Variant:ident)*) => {
                match self {
                    $(Unary::$Variant => for x in &mut a.0 { *x = Unary::$Variant.value(*x); },)*
                }
            };
        }
        each!(Neg Sin Cos Tan Exp Ln Log10 Sqrt Abs Floor Sign Tanh Step Smooth);
    }
}

impl Binary {
    pub fn apply(self, a: &mut Lanes, b: &Lanes) {
        macro_rules! each {
            ($($Variant:ident)*) => {
                match self {
                    $(Binary::$Variant => for i in 0..LANES { a.0[i] = Binary::$Variant.value(a.0[i], b.0[i]); },)*
                }
            };
        }
        each!(Add Sub Mul Div Pow Less Greater AtMost AtLeast Min Max Atan2 Mod);
    }
}

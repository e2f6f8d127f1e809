//! Expressions, over space and over time.

use super::*;
use crate::diagnostic::number;
use crate::expr::{Expr, ExprError, Input};
use crate::scene::kind::MAX_NUMBER;

/// What is said of the values of expressions that no number in a scene may have either.
const UNUSABLE: &str = "infinite, undefined or too large";

/// A value of an expression as one would write it: they have single precision.
fn rounded(value: f64) -> String {
    number(five_digits(value))
}

fn five_digits(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

fn is_usable(value: f64) -> bool {
    value.is_finite() && value.abs() <= MAX_NUMBER
}

impl Resolver<'_> {
    /// When something acts.
    pub(super) fn interval(&mut self, from: f64, to: &Option<Spanned<f64>>, key: &str) -> Interval {
        if let Some(end) = to.as_ref().filter(|end| end.value <= from) {
            let message = format!("`{key}` stops at {} s, before it starts at {from} s", end.value);
            self.problems
                .error(end.span, message, "too early")
                .help("`to` must be later than `from`; without `to` it never stops");
        }
        Interval { from, to: to.as_ref().map_or(f64::INFINITY, |t| t.value) }
    }

    /// One formula per axis.
    pub(super) fn formulas(
        &mut self,
        list: &[Spanned<NumberOrText>],
        span: Span,
        key: &str,
        known: Known,
    ) -> Vec<Formula> {
        if !self.has_length(list.len(), span, key) {
            return vec![Formula::Number(0.0); self.d];
        }
        list.iter().map(|f| self.formula(f, key, known)).collect()
    }

    pub(super) fn formula(&mut self, typed: &Spanned<NumberOrText>, key: &str, known: Known) -> Formula {
        let text = match &typed.value {
            NumberOrText::Number(value) => return Formula::Number(*value),
            NumberOrText::Text(text) => text,
        };
        match Expr::parse(text, &self.variables(known)) {
            Ok(expr) => match expr.constant() {
                Some(value) => Formula::Number(self.finite(f64::from(value), typed.span, key)),
                None => {
                    self.evaluate_once(&expr, typed.span, key, known);
                    Formula::Expression(expr)
                }
            },
            Err(e) => {
                let name = e.position.clone().and_then(|p| text.get(p)).unwrap_or("");
                let unknown = e.message.ends_with(crate::expr::UNKNOWN);
                let help = if unknown && self.d == 2 && ["z", "w", "noise_z"].contains(&name) {
                    Some("this scene is 2D; give `grid.cells` three entries to have a z axis".to_owned())
                } else if unknown
                    && known == Known::Start
                    && self.variables(Known::Everything).iter().any(|v| v == name)
                {
                    Some("at the start only the position (x, y, z) and noise are known".to_owned())
                } else {
                    None
                };
                self.bad_expression(e, help, text, typed.span, key);
                Formula::Number(0.0)
            }
        }
    }

    /// Looks whether an expression is a usable number all over the box: without noise, and where it depends on fields, without any.
    fn evaluate_once(&mut self, expr: &Expr, span: Span, key: &str, known: Known) {
        let Some((place, value)) = self.find(expr, known, &|_| 0.0, |value| !is_usable(value)) else { return };
        let message = format!("`{key}` is {} {place}", rounded(value));
        let help = "is something divided by zero, or a logarithm or root taken of a negative number? For example max(.., 1e-6)";
        let by_place = expr.variables().iter().all(|name| AXES.contains(&name.as_str()));
        if known == Known::Start || by_place {
            self.problems.error(span, message, UNUSABLE).help(help);
        } else {
            self.problems.warn(span, format!("{message} without flow and substances"), UNUSABLE).help(help);
        }
    }

    /// Reports an expression that is negative somewhere: a mistake if that is certain. Substances are what they are at first, if that is a number.
    pub(super) fn not_negative(&mut self, expr: &Expr, span: Span, key: &str, file: &SceneFile, help: &str) {
        let initial = |name: &str| {
            let mut named = file.substance.iter().flat_map(|named| &named.0);
            match named.find(|(known, _)| known.value == name).and_then(|(_, s)| s.initial.as_deref()) {
                Some(NumberOrText::Number(value)) => *value as f32,
                _ => 0.0,
            }
        };
        let Some((place, value)) = self.find(expr, Known::Thickness, &initial, |value| value < 0.0) else { return };
        let message = format!("`{key}` must not be negative, but is {} {place}", rounded(value));
        if expr.variables().iter().all(|name| AXES.contains(&name.as_str()) || name == "t") {
            self.problems.error(span, message, "0 or more").help(help);
        } else {
            self.problems.warn(span, format!("{message} as the scene begins"), "0 or more").help(help);
        }
    }

    /// Where and when an expression has a value of some kind, in words, and that value: looks at some places all over the box, and if it
    /// depends on time, at some times. `field` gives what it does not know of place and time.
    fn find(
        &self,
        expr: &Expr,
        known: Known,
        field: &dyn Fn(&str) -> f32,
        is_such: impl Fn(f64) -> bool,
    ) -> Option<(String, f64)> {
        const ALONG: usize = 33;
        let h = self.grid.spacing();
        // Some cells along each axis, the first and the last among them.
        let places = |a: usize| -> Vec<f64> {
            let n = self.grid.cells[a];
            let count = n.min(ALONG);
            let cell = |i: usize| if count > 1 { i * (n - 1) / (count - 1) } else { 0 };
            (0..count).map(|i| self.grid.origin[a] + (cell(i) as f64 + 0.5) * h[a]).collect()
        };
        let [xs, ys, zs] = [places(0), places(1), if self.d == 3 { places(2) } else { vec![0.0] }];
        let row: Vec<f32> = xs.iter().map(|x| *x as f32).collect();
        let mut out = vec![0.0; row.len()];
        let changes = known != Known::Start && expr.variables().iter().any(|name| name == "t");
        let times: &[f64] = if changes { &[0.0, 0.25, 0.5, 0.75, 1.0] } else { &[0.0] };
        for time in times.iter().map(|part| part * self.duration) {
            for (y, z) in zs.iter().flat_map(|z| ys.iter().map(move |y| (*y, *z))) {
                let inputs: Vec<Input<'_>> = expr
                    .variables()
                    .iter()
                    .map(|name| match name.as_str() {
                        "x" => Input::Row(&row),
                        "y" => Input::Uniform(y as f32),
                        "z" => Input::Uniform(z as f32),
                        "t" => Input::Uniform(time as f32),
                        name => Input::Uniform(field(name)),
                    })
                    .collect();
                expr.eval_row(&inputs, &mut out);
                if let Some(i) = out.iter().position(|value| is_such(f64::from(*value))) {
                    let place = &[xs[i], y, z][..self.d];
                    let when = if changes { format!(" and {time:.3} s") } else { String::new() };
                    return Some((format!("at {place:.4?}{when}"), f64::from(out[i])));
                }
            }
        }
        None
    }

    /// An expression of time.
    pub(crate) fn curve(&mut self, text: &str, span: Span, key: &str) -> Curve {
        match Expr::parse(text, &["t".to_owned()]) {
            Ok(expr) => {
                if let Some(value) = expr.constant() {
                    return Curve::Constant(self.finite(f64::from(value), span, key));
                }
                let curve = Curve::Expression(expr);
                if let Some(time) = self.times().find(|time| !is_usable(curve.at(*time))) {
                    let message = format!("`{key}` is {} at {time:.3} s", rounded(curve.at(time)));
                    self.problems
                        .error(span, message, UNUSABLE)
                        .help("is something divided by zero, or a logarithm or root taken of a negative number?");
                    return Curve::Constant(0.0);
                }
                curve
            }
            Err(e) => {
                let known = e.message.ends_with(crate::expr::UNKNOWN);
                let help = known.then(|| "what changes with time depends on `t` alone, in seconds".to_owned());
                self.bad_expression(e, help, text, span, key);
                Curve::Constant(0.0)
            }
        }
    }

    /// Times at which expressions are looked at, from the start to the last frame.
    fn times(&self) -> impl Iterator<Item = f64> + use<> {
        const STEPS: u32 = 200;
        let duration = self.duration;
        (0..=STEPS).map(move |i| duration * f64::from(i) / f64::from(STEPS))
    }

    /// Reports an expression of time that leaves the range of its key.
    pub(crate) fn check_range(&mut self, key: &Key, path: &str, curve: &Curve, span: Span) {
        let Some(range) = key.range else { return };
        if let Some(time) = self.times().find(|time| !range.contains(curve.at(*time))) {
            let when = if curve.is_constant() { String::new() } else { format!(" at {time:.3} s") };
            key.check_at(path, five_digits(curve.at(time)), &when, span, &mut self.problems);
        }
    }

    fn finite(&mut self, value: f64, span: Span, key: &str) -> f64 {
        if is_usable(value) {
            return value;
        }
        self.problems
            .error(span, format!("`{key}` is {} everywhere", rounded(value)), UNUSABLE)
            .help("is something divided by zero, or a number too large?");
        0.0
    }

    fn bad_expression(&mut self, e: ExprError, help: Option<String>, text: &str, span: Span, key: &str) {
        let place = e.position.map_or(span, |p| inside_text(self.problems.sources, span, text, p));
        let fix = self.problems.error(place, format!("in `{key}`: {}", e.message), "here");
        if let Some(help) = help.or(e.help) {
            fix.help(help);
        }
    }

    fn variables(&self, known: Known) -> Vec<String> {
        let axes = |names: [&str; 3]| names.into_iter().take(self.d).map(str::to_owned).collect::<Vec<_>>();
        let mut names = axes(AXES);
        names.push("t".to_owned());
        names.push("noise".to_owned());
        names.extend(axes(["noise_x", "noise_y", "noise_z"]));
        if known != Known::Start {
            names.extend(axes(["u", "v", "w"]));
            names.extend(self.names.iter().cloned());
        }
        if known == Known::Thickness {
            names.retain(|name| !["u", "v", "w"].contains(&name.as_str()));
            names.push("shear".to_owned());
        }
        names
    }
}

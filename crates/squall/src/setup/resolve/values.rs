//! Expressions, over space and over time.

use super::*;
use crate::expr::{Expr, ExprError, Input};

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

    /// Looks whether an expression is a finite number all over the box, at the start: without noise, and where it depends on
    /// fields, without any.
    fn evaluate_once(&mut self, expr: &Expr, span: Span, key: &str, known: Known) {
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
        for z in zs {
            for y in &ys {
                let inputs: Vec<Input<'_>> = expr
                    .variables()
                    .iter()
                    .map(|name| match name.as_str() {
                        "x" => Input::Row(&row),
                        "y" => Input::Uniform(*y as f32),
                        "z" => Input::Uniform(z as f32),
                        _ => Input::Uniform(0.0),
                    })
                    .collect();
                expr.eval_row(&inputs, &mut out);
                let Some(i) = out.iter().position(|value| !value.is_finite()) else { continue };
                let place = &[xs[i], *y, z][..self.d];
                let message = format!("`{key}` is {} at {place:.4?}", out[i]);
                let help = "is something divided by zero, or a logarithm or root taken of a negative number? For example max(.., 1e-6)";
                if known == Known::Start {
                    self.problems.error(span, message, "not a finite number").help(help);
                } else {
                    self.problems
                        .warn(span, format!("{message} without flow and substances"), "not a finite number")
                        .help(help);
                }
                return;
            }
        }
    }

    /// An expression of time.
    pub(crate) fn curve(&mut self, text: &str, span: Span, key: &str) -> Curve {
        match Expr::parse(text, &["t".to_owned()]) {
            Ok(expr) => {
                if let Some(value) = expr.constant() {
                    return Curve::Constant(self.finite(f64::from(value), span, key));
                }
                let curve = Curve::Expression(expr);
                let steps = 200;
                let times = (0..=steps).map(|i| self.duration * f64::from(i) / f64::from(steps));
                if let Some(time) = times.into_iter().find(|time| !curve.at(*time).is_finite()) {
                    let message = format!("`{key}` is {} at {time:.3} s", curve.at(time));
                    self.problems
                        .error(span, message, "not a finite number")
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

    fn finite(&mut self, value: f64, span: Span, key: &str) -> f64 {
        if value.is_finite() {
            return value;
        }
        self.problems
            .error(span, format!("`{key}` is {value} everywhere"), "not a finite number")
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

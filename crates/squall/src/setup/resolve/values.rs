//! Numbers, vectors, colours and expressions, each with its bounds.

use super::*;
use crate::diagnostic::number;
use crate::expr::Expr;

impl Resolver<'_> {
    /// One entry per axis; zeros if absent or wrong.
    pub(super) fn vector(&mut self, typed: &Vector, key: &str) -> Vec<f64> {
        let Some(typed) = typed else { return vec![0.0; self.d] };
        if typed.len() != self.d {
            self.wrong_length(typed.len(), typed.span, key);
            return vec![0.0; self.d];
        }
        typed.iter().map(|v| v.value).collect()
    }

    fn wrong_length(&mut self, got: usize, span: Span, key: &str) {
        let message = format!("`{key}` has {}, but the scene is {}D", entries(got), self.d);
        let help =
            format!("`grid.cells` has {} entries, so every position and velocity has {} as well", self.d, self.d);
        self.problems.error(span, message, format!("expected {} entries", self.d)).help(help);
    }

    pub(super) fn not_negative(&mut self, typed: &Number, default: f64, key: &str) -> f64 {
        self.checked(typed, default, key, |v| v >= 0.0, "must not be negative", "0 or more")
    }

    pub(super) fn positive(&mut self, typed: &Number, default: f64, key: &str) -> f64 {
        self.checked(typed, default, key, |v| v > 0.0, "must be above zero", "more than 0")
    }

    pub(super) fn between(&mut self, typed: &Number, lo: f64, hi: f64, default: f64, key: &str) -> f64 {
        let rule = format!("must lie between {lo} and {hi}");
        self.checked(typed, default, key, |v| (lo..=hi).contains(&v), &rule, &format!("{lo} to {hi}"))
    }

    fn checked(
        &mut self,
        typed: &Number,
        default: f64,
        key: &str,
        ok: impl Fn(f64) -> bool,
        rule: &str,
        label: &str,
    ) -> f64 {
        match typed {
            Some(v) if ok(v.value) => v.value,
            Some(v) => {
                let fix = self.problems.error(v.span, format!("`{key}` {rule}, but is {}", number(v.value)), label);
                if default.is_finite() {
                    fix.help(format!("the default is {}", number(default)));
                }
                default
            }
            None => default,
        }
    }

    pub(super) fn count(&mut self, typed: &Option<Spanned<u64>>, lo: u64, hi: u64, default: u32, key: &str) -> u32 {
        match typed {
            Some(v) if (lo..=hi).contains(&v.value) => v.value as u32,
            Some(v) => {
                let message = format!("`{key}` must lie between {lo} and {hi}, but is {}", v.value);
                self.problems.error(v.span, message, format!("{lo} to {hi}")).help(format!("the default is {default}"));
                default
            }
            None => default,
        }
    }

    pub(super) fn interval(&mut self, from: &Number, to: &Number, key: &str) -> Interval {
        let start = self.not_negative(from, 0.0, &format!("{key}.from"));
        if let Some(end) = to.as_ref().filter(|end| end.value <= start) {
            let message = format!("`{key}` stops at {} s, before it starts at {start} s", end.value);
            self.problems
                .error(end.span, message, "too early")
                .help("`to` must be later than `from`; without `to` it never stops");
        }
        Interval { from: start, to: to.as_ref().map_or(f64::INFINITY, |t| t.value) }
    }

    /// Whether a required key is there; says so if not.
    pub(super) fn required<T>(
        &mut self,
        typed: &Option<T>,
        table: Span,
        place: &str,
        key: &str,
        example: &str,
    ) -> bool {
        if typed.is_none() {
            self.problems
                .error(table, format!("`{place}` has no `{key}`"), format!("`{key}` is missing"))
                .help(format!("for example {key} = {example}"));
        }
        typed.is_some()
    }

    pub(super) fn formulas(
        &mut self,
        typed: &Spanned<Vec<Spanned<NumberOrText>>>,
        key: &str,
        known: Known,
    ) -> Vec<Formula> {
        if typed.len() != self.d {
            self.wrong_length(typed.len(), typed.span, key);
            return vec![Formula::Number(0.0); self.d];
        }
        typed.iter().map(|f| self.formula(f, key, known)).collect()
    }

    pub(super) fn formula(&mut self, typed: &Spanned<NumberOrText>, key: &str, known: Known) -> Formula {
        let text = match &typed.value {
            NumberOrText::Number(value) => return Formula::Number(*value),
            NumberOrText::Text(text) => text,
        };
        match Expr::parse(text, &self.variables(known)) {
            Ok(expr) => match expr.constant() {
                Some(value) if value.is_finite() => Formula::Number(f64::from(value)),
                Some(value) => {
                    self.problems
                        .error(typed.span, format!("`{key}` is {value} everywhere"), "not a finite number")
                        .help("is something divided by zero, or a number too large?");
                    Formula::Number(0.0)
                }
                None => Formula::Expression(expr),
            },
            Err(e) => {
                let span =
                    e.position.clone().map_or(typed.span, |p| inside_text(self.problems.sources, typed.span, text, p));
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
                    e.help
                };
                let fix = self.problems.error(span, format!("in `{key}`: {}", e.message), "here");
                if let Some(help) = help {
                    fix.help(help);
                }
                Formula::Number(0.0)
            }
        }
    }

    fn variables(&self, known: Known) -> Vec<String> {
        let axes = |names: [&str; 3]| names.into_iter().take(self.d).map(str::to_owned).collect::<Vec<_>>();
        let mut names = axes(AXES);
        names.push("t".to_owned());
        names.push("noise".to_owned());
        names.extend(axes(["noise_x", "noise_y", "noise_z"]));
        if known == Known::Everything {
            names.extend(axes(["u", "v", "w"]));
            names.extend(self.names.iter().cloned());
        }
        names
    }

    pub(super) fn color(&mut self, typed: &Spanned<String>) -> [u8; 3] {
        let digits = typed.strip_prefix('#').unwrap_or("");
        let hex = u32::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        match (digits.len(), hex) {
            (6, Some(c)) => [(c >> 16) as u8, (c >> 8) as u8, c as u8],
            (3, Some(c)) => [(c >> 8 & 15) as u8 * 17, (c >> 4 & 15) as u8 * 17, (c & 15) as u8 * 17],
            _ => {
                let message = format!("`{}` is not a colour", short(typed));
                self.problems
                    .error(typed.span, message, "not a colour")
                    .help("colours are written \"#rrggbb\", for example \"#ff8800\"");
                [0; 3]
            }
        }
    }
}

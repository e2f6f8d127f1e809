//! From text to nodes: a recursive-descent parser whose errors point at the culprit.

use std::ops::Range;

use super::ops::{Binary, Unary, function_names, powi};
use super::{CONSTANTS, Expr, ExprError, MAX_LENGTH, MAX_VARIABLES, Node, UNKNOWN};
use crate::diagnostic::nearest;

/// Deepest nesting. Far more than anyone writes, far less than a thread's stack holds.
const MAX_DEPTH: usize = 50;

pub(super) fn parse(text: &str, allowed: &[String]) -> Result<Expr, ExprError> {
    if text.chars().count() > MAX_LENGTH {
        let message = format!("the expression has more than {MAX_LENGTH} characters");
        return Err(ExprError { message, position: None, help: Some("split it over several forces".into()) });
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens, next: 0, depth: 0, allowed, variables: Vec::new(), nodes: Vec::new() };
    if parser.tokens.is_empty() {
        return Err(ExprError {
            message: "the expression is empty".into(),
            position: None,
            help: Some("write a number, for example \"0\"".into()),
        });
    }
    parser.comparison()?;
    if let Some((token, place)) = parser.peek() {
        let help = match token {
            Token::Symbol(")") => "there is one `)` too many",
            Token::Symbol(",") => "write numbers with a point, 0.5; commas only separate the arguments of a function",
            _ => "is an operator missing? Multiplication is written with `*`: 2*x",
        };
        return Err(error(format!("did not expect `{}`", &text[place.clone()]), place, Some(help.into())));
    }
    Ok(Expr { text: text.to_owned(), variables: parser.variables, nodes: parser.nodes })
}

fn error(message: impl Into<String>, position: Range<usize>, help: Option<String>) -> ExprError {
    ExprError { message: message.into(), position: Some(position), help }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Number(f32),
    Name(&'a str),
    Symbol(&'a str),
}

fn tokens(text: &str) -> Result<Vec<(Token<'_>, Range<usize>)>, ExprError> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let run = |from: usize, ok: fn(u8) -> bool| from + bytes[from..].iter().take_while(|&&b| ok(b)).count();
        match bytes[at] {
            b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            b'0'..=b'9' | b'.' => {
                at = run(at, |b| b.is_ascii_digit() || b == b'.');
                if matches!(bytes.get(at), Some(b'e' | b'E')) {
                    let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
                    if bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit) {
                        at = run(at + 1 + sign, |b| b.is_ascii_digit());
                    }
                }
                let number = &text[start..at];
                match number.parse::<f32>() {
                    Ok(value) if value.is_finite() => tokens.push((Token::Number(value), start..at)),
                    Ok(_) => return Err(error(format!("{number} is too large"), start..at, None)),
                    Err(_) => return Err(error(format!("`{number}` is not a number"), start..at, None)),
                }
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at = run(at, |b| b.is_ascii_alphanumeric() || b == b'_');
                tokens.push((Token::Name(&text[start..at]), start..at));
            }
            b'<' | b'>' if bytes.get(at + 1) == Some(&b'=') => {
                at += 2;
                tokens.push((Token::Symbol(&text[start..at]), start..at));
            }
            b'*' if bytes.get(at + 1) == Some(&b'*') => {
                return Err(error("`**` is not an operator", start..at + 2, Some("powers are written x^2".into())));
            }
            b'+' | b'-' | b'*' | b'/' | b'^' | b'<' | b'>' | b'(' | b')' | b',' => {
                at += 1;
                tokens.push((Token::Symbol(&text[start..at]), start..at));
            }
            _ => {
                let c = text[at..].chars().next().unwrap_or(' ');
                let help = match c {
                    '=' => "comparisons are `<`, `>`, `<=` and `>=`",
                    '&' => "for \"and\", multiply two comparisons: (x > 0.2)*(x < 0.4)",
                    '|' => "for \"or\", take the larger of two comparisons: max(x < 0.2, x > 0.4)",
                    '%' => "write mod(a, b)",
                    _ => "operators are + - * / ^ < > <= >= and parentheses",
                };
                let message = format!("`{}` is not allowed in an expression", c.escape_debug());
                return Err(error(message, at..at + c.len_utf8(), Some(help.into())));
            }
        }
    }
    Ok(tokens)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token<'a>, Range<usize>)>,
    next: usize,
    depth: usize,
    allowed: &'a [String],
    variables: Vec<String>,
    nodes: Vec<Node>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<(Token<'a>, Range<usize>)> {
        self.tokens.get(self.next).cloned()
    }

    /// Takes the next token if it is one of these symbols.
    fn take(&mut self, symbols: &[&str]) -> Option<&'a str> {
        match self.peek() {
            Some((Token::Symbol(symbol), _)) if symbols.contains(&symbol) => {
                self.next += 1;
                Some(symbol)
            }
            _ => None,
        }
    }

    /// Where the text ends, for "something is missing here".
    fn end(&self) -> Range<usize> {
        let end = self.text.trim_end().len();
        end.saturating_sub(1)..end
    }

    fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Adds `op(a, b)`, or its value if both are known.
    fn binary(&mut self, op: Binary, a: usize, b: usize) -> usize {
        match (self.nodes[a], self.nodes[b]) {
            (Node::Constant(x), Node::Constant(y)) => {
                let whole = op == Binary::Pow && small_whole(y).is_some();
                let value = if whole { powi(x, y as i32) } else { op.value(x, y) };
                self.push(Node::Constant(value))
            }
            (_, Node::Constant(y)) if op == Binary::Pow && small_whole(y).is_some() => {
                self.push(Node::Power(a, y as i32))
            }
            _ => self.push(Node::Binary(op, a, b)),
        }
    }

    fn unary(&mut self, op: Unary, a: usize) -> usize {
        match self.nodes[a] {
            Node::Constant(x) => self.push(Node::Constant(op.value(x))),
            _ => self.push(Node::Unary(op, a)),
        }
    }

    fn comparison(&mut self) -> Result<usize, ExprError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let place = self.peek().map_or(self.end(), |(_, place)| place);
            return Err(error(format!("nested more than {MAX_DEPTH} deep"), place, None));
        }
        let mut left = self.sum()?;
        if let Some(symbol) = self.take(&["<", ">", "<=", ">="]) {
            let right = self.sum()?;
            let op = match symbol {
                "<" => Binary::Less,
                ">" => Binary::Greater,
                "<=" => Binary::AtMost,
                _ => Binary::AtLeast,
            };
            left = self.binary(op, left, right);
            if let Some((Token::Symbol("<" | ">" | "<=" | ">="), place)) = self.peek() {
                let help = "for a range, multiply two comparisons: (0.2 < x)*(x < 0.4)";
                return Err(error("comparisons cannot be chained", place, Some(help.into())));
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    fn sum(&mut self) -> Result<usize, ExprError> {
        let mut left = self.product()?;
        while let Some(symbol) = self.take(&["+", "-"]) {
            let right = self.product()?;
            left = self.binary(if symbol == "+" { Binary::Add } else { Binary::Sub }, left, right);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<usize, ExprError> {
        let mut left = self.signed()?;
        while let Some(symbol) = self.take(&["*", "/"]) {
            let right = self.signed()?;
            left = self.binary(if symbol == "*" { Binary::Mul } else { Binary::Div }, left, right);
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<usize, ExprError> {
        let mut minus = false;
        while let Some(symbol) = self.take(&["-", "+"]) {
            minus ^= symbol == "-";
        }
        let a = self.power()?;
        Ok(if minus { self.unary(Unary::Neg, a) } else { a })
    }

    fn power(&mut self) -> Result<usize, ExprError> {
        let base = self.primary()?;
        if self.take(&["^"]).is_none() {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(error(format!("nested more than {MAX_DEPTH} deep"), self.end(), None));
        }
        let exponent = self.signed()?;
        self.depth -= 1;
        Ok(self.binary(Binary::Pow, base, exponent))
    }

    fn primary(&mut self) -> Result<usize, ExprError> {
        let Some((token, place)) = self.peek() else {
            return Err(error(
                "the expression stops too early",
                self.end(),
                Some("a value is missing at the end".into()),
            ));
        };
        self.next += 1;
        match token {
            Token::Number(value) => Ok(self.push(Node::Constant(value))),
            Token::Symbol("(") => {
                let inner = self.comparison()?;
                self.close(place)?;
                Ok(inner)
            }
            Token::Name(name) if self.take(&["("]).is_some() => self.call(name, place),
            Token::Name(name) => self.variable(name, place),
            Token::Symbol(symbol) => Err(error(format!("a value is missing before `{symbol}`"), place, None)),
        }
    }

    fn close(&mut self, opened: Range<usize>) -> Result<(), ExprError> {
        match self.take(&[")"]) {
            Some(_) => Ok(()),
            None if self.next < self.tokens.len() => {
                let (_, place) = self.tokens[self.next].clone();
                let message = format!("expected `)` or an operator before `{}`", &self.text[place.clone()]);
                Err(error(message, place, None))
            }
            None => Err(error("this parenthesis is never closed", opened, Some("add a `)`".into()))),
        }
    }

    fn call(&mut self, name: &str, place: Range<usize>) -> Result<usize, ExprError> {
        let mut arguments = Vec::new();
        if self.take(&[")"]).is_none() {
            arguments.push(self.comparison()?);
            while self.take(&[","]).is_some() {
                arguments.push(self.comparison()?);
            }
            self.close(place.clone())?;
        }
        let wanted = match name {
            "clamp" => 3,
            _ if Unary::named(name).is_some() => 1,
            _ if Binary::named(name).is_some() => 2,
            _ if self.allowed.iter().any(|a| a == name) => {
                let help = format!("write {name}*(...)");
                return Err(error(format!("`{name}` is a value, not a function"), place, Some(help)));
            }
            _ => {
                let help = match nearest(name, function_names()) {
                    _ if RANDOM.contains(&name) => USE_NOISE.to_owned(),
                    Some(best) => format!("did you mean `{best}`?"),
                    None => format!("functions: {}", function_names().collect::<Vec<_>>().join(", ")),
                };
                return Err(error(format!("there is no function `{name}`"), place, Some(help)));
            }
        };
        if arguments.len() != wanted {
            let help = ["x", "x, y", "x, lo, hi"][wanted - 1];
            let message = format!("`{name}` takes {wanted} argument{}, not {}", plural(wanted), arguments.len());
            return Err(error(message, place, Some(format!("write {name}({help})"))));
        }
        Ok(match (Unary::named(name), Binary::named(name)) {
            (Some(op), _) => self.unary(op, arguments[0]),
            (_, Some(op)) => self.binary(op, arguments[0], arguments[1]),
            _ => {
                let raised = self.binary(Binary::Max, arguments[0], arguments[1]);
                self.binary(Binary::Min, raised, arguments[2])
            }
        })
    }

    fn variable(&mut self, name: &str, place: Range<usize>) -> Result<usize, ExprError> {
        if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            return Ok(self.push(Node::Constant(*value)));
        }
        if !self.allowed.iter().any(|a| a == name) {
            return Err(self.unknown(name, place));
        }
        let index = match self.variables.iter().position(|v| v == name) {
            Some(index) => index,
            None if self.variables.len() == MAX_VARIABLES => {
                return Err(error(format!("more than {MAX_VARIABLES} variables in one expression"), place, None));
            }
            None => {
                self.variables.push(name.to_owned());
                self.variables.len() - 1
            }
        };
        Ok(self.push(Node::Variable(index)))
    }

    fn unknown(&self, name: &str, place: Range<usize>) -> ExprError {
        if function_names().any(|f| f == name) {
            return error(format!("`{name}` is a function"), place, Some(format!("write {name}(...)")));
        }
        let names = || self.allowed.iter().map(String::as_str).chain(CONSTANTS.iter().map(|(name, _)| *name));
        let help = match nearest(name, names()) {
            _ if RANDOM.contains(&name) => USE_NOISE.to_owned(),
            Some(best) => format!("did you mean `{best}`?"),
            None => format!("known here: {}", names().collect::<Vec<_>>().join(", ")),
        };
        error(format!("`{name}` {UNKNOWN}"), place, Some(help))
    }
}

/// What other languages call random numbers.
const RANDOM: [&str; 3] = ["rand", "random", "rnd"];
const USE_NOISE: &str = "use `noise`: a smooth random field, the same in every run; `seed` changes it";

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// Whole exponents small enough to multiply out.
fn small_whole(y: f32) -> Option<i32> {
    (y.fract() == 0.0 && y.abs() <= 16.0).then_some(y as i32)
}

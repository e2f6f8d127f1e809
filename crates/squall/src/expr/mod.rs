//! Expressions in scenes: `0.1*sin(tau*x) + 0.5*density`.
//!
//! An expression is compiled once and evaluated over 64 cells at a time ([`Lanes`]) without touching the heap.
//! Transcendental functions come from `libm`, so that a scene gives the same bytes on every machine.
//!
//! The grammar, loosest first: comparisons (`<` `>` `<=` `>=`, giving 0 or 1), `+ -`, `* /`, unary `-`, `^` (binds to
//! the right, so `-x^2` is `-(x^2)`), then numbers, variables, `pi`, `tau`, calls and parentheses.
//! We wrote our own parser of 200 lines because only then can a message point at the character that is wrong.

mod ops;
mod parse;

use std::ops::Range;

pub use ops::function_names;
use ops::{Binary, Unary};

/// How many cells one evaluation handles.
pub const LANES: usize = 64;

/// Longest expression, in characters.
pub const MAX_LENGTH: usize = 1000;

/// Names of constants.
pub const CONSTANTS: [(&str, f32); 2] = [("pi", std::f32::consts::PI), ("tau", std::f32::consts::TAU)];

/// Values of 64 neighbouring cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lanes(pub [f32; LANES]);

impl Lanes {
    /// The same value in every cell.
    pub const fn splat(value: f32) -> Self {
        Lanes([value; LANES])
    }
}

impl Default for Lanes {
    fn default() -> Self {
        Lanes::splat(0.0)
    }
}

/// What a variable holds along a row of cells.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The same value in every cell of the row.
    Uniform(f32),
    /// One value per cell.
    Row(&'a [f32]),
}

/// A compiled expression. Two are equal if their texts are.
#[derive(Clone, Debug)]
pub struct Expr {
    text: String,
    variables: Vec<String>,
    /// Children stand before their parents; the last node is the root.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Constant(f32),
    Variable(usize),
    Unary(Unary, usize),
    Binary(Binary, usize, usize),
    /// A small whole power, as multiplications: exact for negative bases, and fast.
    Power(usize, i32),
}

/// How the message about an unknown variable ends.
pub(crate) const UNKNOWN: &str = "is not known here";

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// What is wrong.
    pub message: String,
    /// Which bytes of the text.
    pub position: Option<Range<usize>>,
    /// How to put it right.
    pub help: Option<String>,
}

impl Expr {
    /// Compiles `text`, which may use the variables in `allowed`.
    pub fn parse(text: &str, allowed: &[String]) -> Result<Expr, ExprError> {
        parse::parse(text, allowed)
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The variables it uses: [`Expr::eval`] wants them in this order.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Its value, if it is the same everywhere and always.
    pub fn constant(&self) -> Option<f32> {
        match self.nodes.last() {
            Some(&Node::Constant(value)) => Some(value),
            _ => None,
        }
    }

    /// Evaluates 64 cells. `inputs` are the values of [`Expr::variables`], in that order.
    pub fn eval(&self, inputs: &[Lanes]) -> Lanes {
        assert_eq!(inputs.len(), self.variables.len(), "`{}` wants one input per variable", self.text);
        let mut out = Lanes::default();
        self.node(self.nodes.len() - 1, inputs, &mut out);
        out
    }

    /// Evaluates a whole row of cells. `inputs` are the values of [`Expr::variables`], in that order; rows are as long
    /// as `out`.
    pub fn eval_row(&self, inputs: &[Input<'_>], out: &mut [f32]) {
        assert_eq!(inputs.len(), self.variables.len(), "`{}` wants one input per variable", self.text);
        let mut lanes = [Lanes::splat(0.0); MAX_VARIABLES];
        for (lane, input) in lanes.iter_mut().zip(inputs) {
            if let Input::Uniform(value) = input {
                *lane = Lanes::splat(*value);
            }
        }
        for (block, out) in out.chunks_mut(LANES).enumerate() {
            for (lane, input) in lanes.iter_mut().zip(inputs) {
                if let Input::Row(row) = input {
                    let start = block * LANES;
                    lane.0[..out.len()].copy_from_slice(&row[start..start + out.len()]);
                }
            }
            out.copy_from_slice(&self.eval(&lanes[..inputs.len()]).0[..out.len()]);
        }
    }

    fn node(&self, index: usize, inputs: &[Lanes], out: &mut Lanes) {
        match self.nodes[index] {
            Node::Constant(value) => *out = Lanes::splat(value),
            Node::Variable(v) => *out = inputs[v],
            Node::Unary(op, a) => {
                self.node(a, inputs, out);
                op.apply(out);
            }
            Node::Power(a, n) => {
                self.node(a, inputs, out);
                for x in &mut out.0 {
                    *x = ops::powi(*x, n);
                }
            }
            Node::Binary(op, a, b) => {
                self.node(a, inputs, out);
                match self.nodes[b] {
                    Node::Variable(v) => op.apply(out, &inputs[v]),
                    Node::Constant(value) => op.apply(out, &Lanes::splat(value)),
                    _ => {
                        let mut right = Lanes::default();
                        self.node(b, inputs, &mut right);
                        op.apply(out, &right);
                    }
                }
            }
        }
    }
}

/// Most variables that one expression may use.
pub const MAX_VARIABLES: usize = 32;

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests;

//! Boundary conditions: words, or tables where numbers are needed.

use serde_json::{Value as Json, json};

use super::Vector;
use super::kind::{Kind, Reader};
use super::table::{choices, table, word};
use super::tree::{Node, Value};
use super::write::Writer;
use crate::diagnostic::Span;
use crate::setup::Resolver;

table! {
    /// The two ends of an axis.
    pub struct EndPair {
        /// At the origin: left, bottom, far.
        lo: Side [] (none "`\"slip\"`"),
        /// At the other end: right, top, near.
        hi: Side [] (none "`\"slip\"`"),
    }

    /// A side of the box that is not just a word: exactly one of these.
    pub struct SpecialSide {
        /// A no-slip wall that moves along itself with this velocity.
        moving: Vector ["m/s"] (none ""),
        /// Fluid enters with this velocity.
        inflow: Vector ["m/s"] (none ""),
    }

    /// The two ends of an axis for a substance.
    pub struct SubstanceEndPair {
        /// At the origin: left, bottom, far.
        lo: SubstanceEnd [] (none ""),
        /// At the other end: right, top, near.
        hi: SubstanceEnd [] (none ""),
    }
}

choices! {
    /// Kinds of sides that need no numbers.
    pub enum PlainSide {
        /// A wall along which fluid slides.
        Slip = "slip",
        /// A wall to which fluid sticks.
        NoSlip = "no_slip",
        /// Outside air.
        Open = "open",
        /// No side: the grid follows the smoke there.
        Unbounded = "unbounded",
    }
}

/// What bounds an axis, as typed.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisEnds {
    /// `"periodic"`.
    Periodic,
    /// The same at both ends.
    Both(PlainSide),
    /// `{ lo = ..., hi = ... }`.
    Pair(Box<EndPair>),
}

impl Kind for AxisEnds {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "periodic" => Some(AxisEnds::Periodic),
            Value::Text(_) => {
                word(node, reader, &["periodic", "slip", "no_slip", "open", "unbounded"])?;
                PlainSide::read(node, reader).map(AxisEnds::Both)
            }
            Value::Table(_) => EndPair::read(node, reader).map(|pair| AxisEnds::Pair(Box::new(pair))),
            _ => reader.wrong(
                node,
                "a kind of boundary",
                "for example \"periodic\", or { lo = \"no_slip\", hi = \"open\" }",
            ),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "enum": ["periodic", "slip", "no_slip", "open", "unbounded"] }, EndPair::schema()] })
    }
    fn kind() -> String {
        "kind of boundary".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            AxisEnds::Periodic => "\"periodic\"".to_owned(),
            AxisEnds::Both(side) => side.write(writer),
            AxisEnds::Pair(pair) => pair.write(writer),
        }
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        if let AxisEnds::Pair(pair) = self {
            pair.complete(span, path, resolver);
        }
    }
}

/// One side of the box, as typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// A word.
    Plain(PlainSide),
    /// `{ moving = [...] }` or `{ inflow = [...] }`.
    Special(SpecialSide),
}

impl Kind for Side {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "periodic" => {
                let message = format!("`{}` cannot be periodic by itself", reader.key());
                let axis = reader.path.iter().rev().nth(1).cloned().unwrap_or_default();
                let help = format!("an axis is periodic at both ends or at neither: write {axis} = \"periodic\"");
                reader.problems.error(node.span, message, "only one end").help(help);
                None
            }
            Value::Text(_) => PlainSide::read(node, reader).map(Side::Plain),
            Value::Table(_) => SpecialSide::read(node, reader).map(Side::Special),
            _ => reader.wrong(node, "a kind of side", "for example \"open\", or { inflow = [0.0, 0.5] }"),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [PlainSide::schema(), SpecialSide::schema()] })
    }
    fn kind() -> String {
        "kind of boundary".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            Side::Plain(side) => side.write(writer),
            Side::Special(side) => side.write(writer),
        }
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        if let Side::Special(side) = self {
            side.complete(span, path, resolver);
        }
    }
}

/// What a substance does at both ends of an axis, as typed.
#[derive(Clone, Debug, PartialEq)]
pub enum SubstanceEnds {
    /// The same at both.
    Both(SubstanceEnd),
    /// `{ lo = ..., hi = ... }`.
    Pair(SubstanceEndPair),
}

impl Kind for SubstanceEnds {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Table(_) => SubstanceEndPair::read(node, reader).map(SubstanceEnds::Pair),
            _ => SubstanceEnd::read(node, reader).map(SubstanceEnds::Both),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [SubstanceEnd::schema(), SubstanceEndPair::schema()] })
    }
    fn kind() -> String {
        "number, or a table".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            SubstanceEnds::Both(end) => end.write(writer),
            SubstanceEnds::Pair(pair) => pair.write(writer),
        }
    }
}

/// What a substance does at one end of an axis, as typed.
#[derive(Clone, Debug, PartialEq)]
pub enum SubstanceEnd {
    /// No slope.
    Insulated,
    /// This value.
    Value(f64),
}

impl Kind for SubstanceEnd {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Text(_) => word(node, reader, &["insulated"]).map(|_| SubstanceEnd::Insulated),
            Value::Float(_) | Value::Int(_) => f64::read(node, reader).map(SubstanceEnd::Value),
            _ => reader.wrong(node, "a number or \"insulated\"", ""),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "number" }, { "enum": ["insulated"] }] })
    }
    fn kind() -> String {
        "number".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            SubstanceEnd::Insulated => "\"insulated\"".to_owned(),
            SubstanceEnd::Value(value) => value.write(writer),
        }
    }
}

//! Kinds of values: each type says, side by side, how it is read, checked, completed, written and described.

use serde_json::{Value as Json, json};

use super::key::{Key, Listed};
use super::tree::{Node, Value};
use super::write::{Writer, quoted};
use crate::diagnostic::{Problems, Span, Spanned, number};
use crate::setup::{Curve, Resolver};

/// Longest text in a scene, in characters.
const MAX_TEXT: usize = 4000;
/// Longest list in a scene.
const MAX_LIST: usize = 1000;
/// Largest number: fields are 32-bit, and its square must still be one.
pub(crate) const MAX_NUMBER: f64 = 1e18;

/// Where we are in the scene, and what was wrong so far.
pub(crate) struct Reader<'a, 'b> {
    pub problems: &'a mut Problems<'b>,
    pub path: Vec<String>,
}

impl Reader<'_, '_> {
    /// The key being read, as one would write it: `source.0.shape`.
    pub fn key(&self) -> String {
        self.path.join(".")
    }

    /// Reports a value of the wrong kind.
    pub fn wrong<T>(&mut self, node: &Node, wanted: &str, help: &str) -> Option<T> {
        let message = format!("`{}` must be {wanted}, not {}", self.key(), node.kind());
        let fix = self.problems.error(node.span, message, format!("expected {wanted}"));
        if !help.is_empty() {
            fix.help(help);
        }
        None
    }
}

/// A kind of value in a scene.
pub(crate) trait Kind: Sized {
    /// Reads it; `None` after having reported what is wrong.
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self>;

    /// What it accepts, as JSON Schema.
    fn schema() -> Json;

    /// What it is, for the reference: "number", "text".
    fn kind() -> String;

    /// As TOML, within a line.
    fn write(&self, writer: &Writer) -> String;

    /// As TOML, at the top of a file: tables have a heading.
    fn write_section(&self, heading: &str, writer: &Writer, out: &mut String) {
        *out += &format!("{heading} = {}\n", self.write(writer));
    }

    /// Whether it has a heading there.
    fn is_section(&self) -> bool {
        false
    }

    /// Shows all numbers whose range is declared with the key, and where they were written.
    fn numbers(&self, _span: Span, _visit: &mut dyn FnMut(f64, Span)) {}

    /// Shows all expressions of time whose range is declared with the key, once they are completed, and where they were written.
    fn curves(&self, _span: Span, _visit: &mut dyn FnMut(&Curve, Span)) {}

    /// Fills in defaults and checks what can be checked only now: how many axes there are, which substances.
    fn complete(&mut self, _span: Span, _path: &str, _resolver: &mut Resolver<'_>) {}

    /// Adds all keys in it, or itself, to a list.
    fn list(&self, path: &str, key: &'static Key, out: &mut Vec<Listed>) {
        out.push(Listed { path: path.to_owned(), key, value: Some(self.write(&Writer::everything())) });
    }
}

impl<T: Kind> Kind for Spanned<T> {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        Some(Spanned { value: T::read(node, reader)?, span: node.span })
    }
    fn schema() -> Json {
        T::schema()
    }
    fn kind() -> String {
        T::kind()
    }
    fn write(&self, writer: &Writer) -> String {
        self.value.write(writer)
    }
    fn write_section(&self, heading: &str, writer: &Writer, out: &mut String) {
        self.value.write_section(heading, writer, out);
    }
    fn is_section(&self) -> bool {
        self.value.is_section()
    }
    fn numbers(&self, _: Span, visit: &mut dyn FnMut(f64, Span)) {
        self.value.numbers(self.span, visit);
    }
    fn curves(&self, _: Span, visit: &mut dyn FnMut(&Curve, Span)) {
        self.value.curves(self.span, visit);
    }
    fn complete(&mut self, _: Span, path: &str, resolver: &mut Resolver<'_>) {
        self.value.complete(self.span, path, resolver);
    }
    fn list(&self, path: &str, key: &'static Key, out: &mut Vec<Listed>) {
        self.value.list(path, key, out);
    }
}

impl Kind for f64 {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let value = match &node.value {
            Value::Float(value) => *value,
            Value::Int(value) => *value as f64,
            Value::Text(text) if text.trim().parse::<f64>().is_ok() => {
                return reader.wrong(node, "a number", "leave out the quotes");
            }
            _ => return reader.wrong(node, "a number", ""),
        };
        if value.is_finite() && value.abs() <= MAX_NUMBER {
            return Some(value);
        }
        let message = format!("`{}` must be a usable number, not {}", reader.key(), number(value));
        let help = format!("numbers lie between -{MAX_NUMBER:e} and {MAX_NUMBER:e}");
        reader.problems.error(node.span, message, "infinite, undefined or too large").help(help);
        None
    }
    fn schema() -> Json {
        json!({ "type": "number" })
    }
    fn kind() -> String {
        "number".to_owned()
    }
    fn write(&self, _: &Writer) -> String {
        // The shortest text that reads back as the same number, always with a point or an exponent.
        format!("{self:?}")
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        visit(*self, span);
    }
}

impl Kind for u64 {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Int(value) if *value >= 0 => Some(*value as u64),
            Value::Float(value) if value.fract() == 0.0 && (0.0..1e15).contains(value) => {
                reader.wrong(node, "a whole number", &format!("write {value:.0}"))
            }
            _ => reader.wrong(node, "a whole number from 0 on", ""),
        }
    }
    fn schema() -> Json {
        json!({ "type": "integer", "minimum": 0 })
    }
    fn kind() -> String {
        "whole number".to_owned()
    }
    fn write(&self, _: &Writer) -> String {
        self.to_string()
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        visit(*self as f64, span);
    }
}

impl Kind for bool {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => reader.wrong(node, "true or false", ""),
        }
    }
    fn schema() -> Json {
        json!({ "type": "boolean" })
    }
    fn kind() -> String {
        "true or false".to_owned()
    }
    fn write(&self, _: &Writer) -> String {
        self.to_string()
    }
}

impl Kind for String {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let Value::Text(text) = &node.value else { return reader.wrong(node, "a text in quotes", "") };
        if text.chars().count() > MAX_TEXT {
            let message = format!("`{}` is longer than {MAX_TEXT} characters", reader.key());
            reader.problems.error(node.span, message, "too long");
            return None;
        }
        Some(text.clone())
    }
    fn schema() -> Json {
        json!({ "type": "string" })
    }
    fn kind() -> String {
        "text".to_owned()
    }
    fn write(&self, _: &Writer) -> String {
        quoted(self)
    }
}

impl<T: Kind> Kind for Vec<T> {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let items = match &node.value {
            Value::List(items) => items,
            Value::Table(_) => {
                let help = format!("write [[{}]] with two brackets: there may be several", reader.key());
                return reader.wrong(node, "a list", &help);
            }
            _ => return reader.wrong(node, "a list", "lists are written [1.0, 2.0]"),
        };
        if items.len() > MAX_LIST {
            let message = format!("`{}` has {} entries; at most {MAX_LIST} are allowed", reader.key(), items.len());
            reader.problems.error(node.span, message, "too long");
            return None;
        }
        let mut values = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            reader.path.push(index.to_string());
            values.push(T::read(item, reader));
            reader.path.pop();
        }
        values.into_iter().collect()
    }
    fn schema() -> Json {
        json!({ "type": "array", "items": T::schema() })
    }
    fn kind() -> String {
        format!("list: {}", T::kind())
    }
    fn write(&self, writer: &Writer) -> String {
        format!("[{}]", self.iter().map(|item| item.write(writer)).collect::<Vec<_>>().join(", "))
    }
    fn write_section(&self, heading: &str, writer: &Writer, out: &mut String) {
        self.iter().for_each(|item| item.write_section(&format!("[{heading}]"), writer, out));
    }
    fn is_section(&self) -> bool {
        self.first().is_some_and(Kind::is_section)
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        self.iter().for_each(|item| item.numbers(span, visit));
    }
    fn curves(&self, span: Span, visit: &mut dyn FnMut(&Curve, Span)) {
        self.iter().for_each(|item| item.curves(span, visit));
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        for (index, item) in self.iter_mut().enumerate() {
            item.complete(span, &format!("{path}.{index}"), resolver);
        }
    }
    fn list(&self, path: &str, key: &'static Key, out: &mut Vec<Listed>) {
        match self.is_section() {
            true => self.iter().enumerate().for_each(|(i, item)| item.list(&format!("{path}.{i}"), key, out)),
            false => out.push(Listed { path: path.to_owned(), key, value: Some(self.write(&Writer::everything())) }),
        }
    }
}

/// A table whose keys are names chosen by the user, in file order.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(Spanned<String>, Spanned<T>)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<T: Kind> Kind for Named<T> {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let Value::Table(entries) = &node.value else {
            return reader.wrong(node, "a table of names", "for example { density = 1.0 }");
        };
        if entries.len() > MAX_LIST {
            let message = format!("`{}` has more than {MAX_LIST} entries", reader.key());
            reader.problems.error(node.span, message, "too many");
            return None;
        }
        let mut named = Vec::with_capacity(entries.len());
        for entry in entries {
            reader.path.push(entry.key.clone());
            let value = Spanned::read(&entry.node, reader);
            reader.path.pop();
            named.push(value.map(|value| (Spanned { value: entry.key.clone(), span: entry.key_span }, value)));
        }
        named.into_iter().collect::<Option<_>>().map(Named)
    }
    fn schema() -> Json {
        json!({ "type": "object", "additionalProperties": T::schema() })
    }
    fn kind() -> String {
        format!("table of names: {}", T::kind())
    }
    fn write(&self, writer: &Writer) -> String {
        let entries = self.0.iter().map(|(name, value)| format!("{} = {}", name.value, value.write(writer)));
        format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
    }
    fn write_section(&self, heading: &str, writer: &Writer, out: &mut String) {
        for (name, value) in &self.0 {
            value.write_section(&format!("{heading}.{}", name.value), writer, out);
        }
    }
    fn is_section(&self) -> bool {
        true
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        self.0.iter().for_each(|(_, value)| value.numbers(span, visit));
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        for (name, value) in &mut self.0 {
            value.complete(span, &format!("{path}.{}", name.value), resolver);
        }
    }
    fn list(&self, path: &str, key: &'static Key, out: &mut Vec<Listed>) {
        self.0.iter().for_each(|(name, value)| value.list(&format!("{path}.{}", name.value), key, out));
    }
}

/// A number, or an expression in quotes.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberOrText {
    /// A number.
    Number(f64),
    /// An expression, not yet compiled.
    Text(String),
}

impl Kind for NumberOrText {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Float(_) | Value::Int(_) => f64::read(node, reader).map(NumberOrText::Number),
            Value::Text(_) => String::read(node, reader).map(NumberOrText::Text),
            _ => reader.wrong(node, "a number or an expression in quotes", "for example \"0.1*sin(tau*x)\""),
        }
    }
    fn schema() -> Json {
        json!({ "type": ["number", "string"] })
    }
    fn kind() -> String {
        "number or expression".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            NumberOrText::Number(value) => value.write(writer),
            NumberOrText::Text(text) => quoted(text),
        }
    }
}

/// One value, or a list of them.
#[derive(Clone, Debug, PartialEq)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// Several.
    Many(Vec<T>),
}

impl<T: Kind> Kind for OneOrMany<T> {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::List(_) => Vec::read(node, reader).map(OneOrMany::Many),
            _ => T::read(node, reader).map(OneOrMany::One),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [T::schema(), Vec::<T>::schema()] })
    }
    fn kind() -> String {
        format!("{}, or a list", T::kind())
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            OneOrMany::One(value) => value.write(writer),
            OneOrMany::Many(list) => list.write(writer),
        }
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        match self {
            OneOrMany::One(value) => value.numbers(span, visit),
            OneOrMany::Many(list) => list.numbers(span, visit),
        }
    }
}

/// A kind of value that others use as a plain one.
pub trait Plain {
    /// What they use.
    type Plain;
    /// The value, of a completed scene.
    fn plain(&self) -> Self::Plain;
}

/// Values that are plain already.
macro_rules! plain {
    ($($T:ty),*) => { $(impl Plain for $T {
        type Plain = $T;
        fn plain(&self) -> $T {
            self.clone()
        }
    })* };
}
plain!(f64, u64, u32, bool, String, NumberOrText);

impl Plain for super::Vector {
    type Plain = Vec<f64>;
    fn plain(&self) -> Vec<f64> {
        self.values()
    }
}

impl Plain for super::Pair {
    type Plain = [f64; 2];
    fn plain(&self) -> [f64; 2] {
        self.0
    }
}

impl Plain for super::Angles {
    type Plain = [f64; 3];
    fn plain(&self) -> [f64; 3] {
        self.0
    }
}

impl Plain for super::Color {
    type Plain = [u8; 3];
    fn plain(&self) -> [u8; 3] {
        self.0
    }
}

impl<T: Plain> Plain for Vec<Spanned<T>> {
    type Plain = Vec<T::Plain>;
    fn plain(&self) -> Self::Plain {
        self.iter().map(|item| item.plain()).collect()
    }
}

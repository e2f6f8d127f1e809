//! How values are read from the tree: each type says, side by side, what it accepts and what its schema is.

use serde_json::{Value as Json, json};

use super::tree::{Node, Value};
use crate::diagnostic::{Problems, Spanned, did_you_mean, number};

/// Longest text in a scene, in characters.
const MAX_TEXT: usize = 4000;
/// Longest list in a scene.
const MAX_LIST: usize = 1000;
/// Largest number: fields are 32-bit, and its square must still be one.
const MAX_NUMBER: f64 = 1e18;

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

/// A type that can be read from a scene.
pub(crate) trait Read: Sized {
    /// Reads it; `None` after having reported what is wrong.
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self>;
    /// What it accepts, as JSON Schema.
    fn schema() -> Json;
}

impl<T: Read> Read for Spanned<T> {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        Some(Spanned { value: T::read(node, reader)?, span: node.span })
    }
    fn schema() -> Json {
        T::schema()
    }
}

impl Read for f64 {
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
}

impl Read for u64 {
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
}

impl Read for bool {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => reader.wrong(node, "true or false", ""),
        }
    }
    fn schema() -> Json {
        json!({ "type": "boolean" })
    }
}

impl Read for String {
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
}

impl<T: Read> Read for Vec<T> {
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
}

/// A table whose keys are names chosen by the user, in file order.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(Spanned<String>, Spanned<T>)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<T: Read> Read for Named<T> {
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
}

/// A number, or an expression in quotes.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberOrText {
    /// A number.
    Number(f64),
    /// An expression, not yet compiled.
    Text(String),
}

impl Read for NumberOrText {
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
}

/// One value, or a list of them.
#[derive(Clone, Debug, PartialEq)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// Several.
    Many(Vec<T>),
}

impl<T: Read> Read for OneOrMany<T> {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::List(_) => Vec::read(node, reader).map(OneOrMany::Many),
            _ => T::read(node, reader).map(OneOrMany::One),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [T::schema(), Vec::<T>::schema()] })
    }
}

/// Reads the keys of a table: hands each known one to `field`, reports the others.
pub(crate) fn read_keys(
    node: &Node,
    reader: &mut Reader<'_, '_>,
    keys: &[&str],
    mut field: impl FnMut(&str, &Node, &mut Reader<'_, '_>),
) -> Option<()> {
    let Value::Table(entries) = &node.value else {
        let example = format!("write a table with some of: {}", keys.join(", "));
        return reader.wrong(node, "a table", &example);
    };
    for entry in entries {
        reader.path.push(entry.key.clone());
        if keys.contains(&entry.key.as_str()) {
            field(&entry.key, &entry.node, reader);
        } else {
            let place = reader.path[..reader.path.len() - 1].join(".");
            let message = match place.is_empty() {
                true => format!("unknown key `{}`", entry.key),
                false => format!("unknown key `{}` in `{place}`", entry.key),
            };
            let help = match super::often_meant(&place, &entry.key) {
                Some(advice) => advice,
                None => did_you_mean(&entry.key, keys, "keys here"),
            };
            reader.problems.error(entry.key_span, message, "not a key").help(help);
        }
        reader.path.pop();
    }
    Some(())
}

/// Defines a table of a scene: the struct, its reader and its schema from one list of keys. Every key may be absent;
/// a description that ends in "Required." makes the schema ask for it.
macro_rules! table {
    ($($(#[doc = $doc:literal])+ pub struct $Name:ident { $($(#[doc = $text:literal])+ $field:ident: $T:ty,)* })+) => { $(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $Name { $($(#[doc = $text])+ pub $field: Option<Spanned<$T>>,)* }

        impl Read for $Name {
            fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
                let mut table = $Name::default();
                let mut whole = true;
                read_keys(node, reader, &[$(plain_key(stringify!($field))),*], |key, node, reader| {
                    $(if key == plain_key(stringify!($field)) {
                        table.$field = Read::read(node, reader);
                        whole &= table.$field.is_some();
                    })*
                })?;
                whole.then_some(table)
            }

            fn schema() -> serde_json::Value {
                let mut properties = serde_json::Map::new();
                let mut required: Vec<&str> = Vec::new();
                $({
                    let key = plain_key(stringify!($field));
                    let text = [$($text.trim()),+].join(" ");
                    if text.ends_with("Required.") {
                        required.push(key);
                    }
                    let mut schema = <$T>::schema();
                    schema["description"] = text.into();
                    properties.insert(key.into(), schema);
                })*
                let description = [$($doc.trim()),+].join(" ");
                serde_json::json!({
                    "type": "object",
                    "description": description,
                    "properties": properties,
                    "required": required,
                    "additionalProperties": false
                })
            }
        }
    )+ };
}
pub(crate) use table;

/// `r#box` is written `box` in scenes.
pub(crate) const fn plain_key(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// Defines a choice between words: the enum, its reader and its schema from one list.
macro_rules! choices {
    ($($(#[doc = $doc:literal])+ pub enum $Name:ident { $($(#[doc = $text:literal])+ $Variant:ident = $word:literal,)+ })+) => { $(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name { $($(#[doc = $text])+ $Variant,)+ }

        impl $Name {
            /// All of them, as they are written in scenes.
            pub const WORDS: &[&str] = &[$($word),+];

            /// How it is written in a scene.
            pub fn word(self) -> &'static str {
                match self { $($Name::$Variant => $word,)+ }
            }
        }

        impl Read for $Name {
            fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
                match word(node, reader, Self::WORDS)? {
                    $($word => Some($Name::$Variant),)+
                    _ => None,
                }
            }

            fn schema() -> serde_json::Value {
                let words = [$(serde_json::json!({ "const": $word, "description": ([$($text.trim()),+].join(" ")) })),+];
                serde_json::json!({ "oneOf": words })
            }
        }
    )+ };
}
pub(crate) use choices;

/// Reads one of several words.
pub(crate) fn word<'n>(node: &'n Node, reader: &mut Reader<'_, '_>, words: &[&str]) -> Option<&'n str> {
    let list = words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ");
    let Value::Text(text) = &node.value else {
        return reader.wrong(node, &format!("one of {list}"), "");
    };
    if words.contains(&text.as_str()) {
        return Some(text);
    }
    let message = format!("`{}` cannot be \"{}\"", reader.key(), text.chars().take(60).collect::<String>());
    let help = did_you_mean(text, words, "choices");
    reader.problems.error(node.span, message, "not one of the choices").help(help);
    None
}

//! Tables and words of a scene, each declared once. See [`key`](super::key).

use super::key::Key;
use super::kind::{Kind, Reader};
use super::tree::{Node, Value};
use crate::diagnostic::{Span, Spanned, did_you_mean};
use crate::setup::Resolver;

/// Reads the keys of a table: hands each known one to `field`, reports the others. Whether all were known; `None`: it is no
/// table.
pub(crate) fn read_keys(
    node: &Node,
    reader: &mut Reader<'_, '_>,
    keys: &'static [Key],
    field: &mut dyn FnMut(&'static Key, &Node, &mut Reader<'_, '_>),
) -> Option<bool> {
    let Value::Table(entries) = &node.value else {
        let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
        let example = format!("write a table with some of: {}", names.join(", "));
        return reader.wrong(node, "a table", &example);
    };
    let mut known = true;
    for entry in entries {
        reader.path.push(entry.key.clone());
        if let Some(key) = keys.iter().find(|key| key.name == entry.key) {
            field(key, &entry.node, reader);
        } else {
            let place = reader.path[..reader.path.len() - 1].join(".");
            let message = match place.is_empty() {
                true => format!("unknown key `{}`", entry.key),
                false => format!("unknown key `{}` in `{place}`", entry.key),
            };
            let help = match super::often_meant(&place, &entry.key) {
                Some(advice) => advice,
                None => did_you_mean(&entry.key, &keys.iter().map(|key| key.name).collect::<Vec<_>>(), "keys here"),
            };
            reader.problems.error(entry.key_span, message, "not a key").help(help);
            known = false;
        }
        reader.path.pop();
    }
    Some(known)
}

/// Reads the value of a key, with its checks; `None` after having reported what is wrong.
pub(crate) fn read_value<T: Kind>(node: &Node, reader: &mut Reader<'_, '_>, key: &Key) -> Option<Spanned<T>> {
    let value = Spanned::<T>::read(node, reader)?;
    let path = reader.key();
    let mut right = true;
    value.numbers(node.span, &mut |number, span| right &= key.check(&path, number, span, reader.problems));
    right.then_some(value)
}

/// Reports keys that must be given and are not; whether all are there.
pub(crate) fn has_required(
    table: Span,
    reader: &mut Reader<'_, '_>,
    keys: &[Key],
    given: &dyn Fn(&str) -> bool,
) -> bool {
    let mut whole = true;
    for (key, example) in keys.iter().filter_map(|key| Some((key.name, key.required?))) {
        if !given(key) {
            let place = reader.key();
            if place.is_empty() {
                reader.problems.error(None, format!("the scene has no `[{key}]`"), "").help(example);
            } else {
                reader
                    .problems
                    .error(table, format!("`{place}` has no `{key}`"), format!("`{key}` is missing"))
                    .help(format!("for example {key} = {example}"));
            }
            whole = false;
        }
    }
    whole
}

/// Completes a key of a table: its default if it is not there, and what its value needs.
pub(crate) fn complete_value<T: Kind>(
    slot: &mut Option<Spanned<T>>,
    key: &Key,
    table: &str,
    resolver: &mut Resolver<'_>,
    default: fn(&Resolver<'_>) -> Option<T>,
) {
    let path = key.path_in(table);
    match slot {
        Some(typed) => resolver.has_key(key, &path, typed.span),
        None => *slot = default(resolver).map(|value| Spanned { value, span: Span::DEFAULT }),
    }
    if let Some(value) = slot {
        value.complete(Span::DEFAULT, &path, resolver);
        value.curves(Span::DEFAULT, &mut |curve, span| resolver.check_range(key, &path, curve, span));
    }
}

/// Defines tables of a scene: structs in which every key may be absent until the scene is completed, their readers, writers,
/// schemas and references. `as Plain` makes a second struct of plain values, for who uses them.
macro_rules! table {
    ($($(#[doc = $doc:literal])+ pub struct $Name:ident $(as $Plain:ident)? {
        $($(#[doc = $text:literal])+ $field:ident: $T:ty [$($about:expr),*] ($($default:tt)*),)*
    })+) => { $(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $Name { $($(#[doc = $text])+ pub $field: Option<$crate::diagnostic::Spanned<$T>>,)* }

        impl $Name {
            /// What is known of its keys.
            pub fn all_keys() -> &'static [$crate::scene::key::Key] {
                static KEYS: std::sync::LazyLock<Vec<$crate::scene::key::Key>> = std::sync::LazyLock::new(|| vec![$({
                    #[allow(unused_mut)]
                    let mut key = $crate::scene::key::Key::new(
                        $crate::scene::table::plain_key(stringify!($field)),
                        &[$($text),+],
                        <$T as $crate::scene::kind::Kind>::kind(),
                    )$(.with($about))*;
                    $crate::scene::table::default_words!(key, $T, $($default)*);
                    key
                }),*]);
                &KEYS
            }

            $($crate::scene::table::getter!($field, $T, $($default)*);)*
        }

        impl $crate::scene::kind::Kind for $Name {
            fn read(node: &$crate::scene::tree::Node, reader: &mut $crate::scene::kind::Reader<'_, '_>) -> Option<Self> {
                let mut table = $Name::default();
                let mut whole = true;
                let mut given: Vec<&str> = Vec::new();
                let keys = Self::all_keys();
                let known = $crate::scene::table::read_keys(node, reader, keys, &mut |key, node, reader| {
                    given.push(key.name);
                    $(if key.name == $crate::scene::table::plain_key(stringify!($field)) {
                        table.$field = $crate::scene::table::read_value(node, reader, key);
                        whole &= table.$field.is_some();
                    })*
                })?;
                // Behind a key that is not known, one that is missing may hide: one message is enough.
                whole &= known && $crate::scene::table::has_required(node.span, reader, keys, &|key| given.contains(&key));
                whole.then_some(table)
            }

            fn schema() -> serde_json::Value {
                let mut properties = serde_json::Map::new();
                let keys = Self::all_keys();
                let mut index = 0;
                $({
                    let key = &keys[index];
                    let mut schema = <$T as $crate::scene::kind::Kind>::schema();
                    if let Some(range) = key.range {
                        range.schema(&mut schema);
                    }
                    schema["description"] = key.description().into();
                    properties.insert(key.name.into(), schema);
                    index += 1;
                })*
                let _ = index;
                let required: Vec<&str> = keys.iter().filter(|key| key.required.is_some()).map(|key| key.name).collect();
                let description = [$($doc.trim()),+].join(" ");
                serde_json::json!({
                    "type": "object",
                    "description": description,
                    "properties": properties,
                    "required": required,
                    "additionalProperties": false
                })
            }

            fn kind() -> String {
                "table".to_owned()
            }

            fn write(&self, writer: &$crate::scene::write::Writer) -> String {
                let lines = self.lines(writer);
                if lines.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", lines.join(", ")) }
            }

            fn write_section(&self, heading: &str, writer: &$crate::scene::write::Writer, out: &mut String) {
                *out += &format!("\n[{heading}]\n");
                self.lines(writer).iter().for_each(|line| *out += &format!("{line}\n"));
            }

            fn is_section(&self) -> bool {
                true
            }

            fn complete(&mut self, _: $crate::diagnostic::Span, path: &str, resolver: &mut $crate::setup::Resolver<'_>) {
                let keys = Self::all_keys();
                let mut index = 0;
                $({
                    $crate::scene::table::complete_value(&mut self.$field, &keys[index], path, resolver,
                        $crate::scene::table::default_value!($T, $($default)*));
                    index += 1;
                })*
                let _ = index;
            }

            fn list(&self, path: &str, _: &'static $crate::scene::key::Key, out: &mut Vec<$crate::scene::key::Listed>) {
                self.list_keys(path, out);
            }
        }

        impl $Name {
            /// Adds all of its keys to a list, those without a value as well.
            #[allow(dead_code)]
            pub(crate) fn list_keys(&self, path: &str, out: &mut Vec<$crate::scene::key::Listed>) {
                let keys = Self::all_keys();
                let mut index = 0;
                $({
                    let key = &keys[index];
                    let path = key.path_in(path);
                    match &self.$field {
                        Some(value) => $crate::scene::kind::Kind::list(value, &path, key, out),
                        None => out.push($crate::scene::key::Listed { path, key, value: None }),
                    }
                    index += 1;
                })*
                let _ = index;
            }

            /// `key = value` for each key that matters to the writer.
            fn lines(&self, writer: &$crate::scene::write::Writer) -> Vec<String> {
                let mut lines = Vec::new();
                $(writer.line(&mut lines, Self::all_keys(), $crate::scene::table::plain_key(stringify!($field)), &self.$field);)*
                lines
            }

            /// As a whole file: what stands in lines first, then what has a heading.
            #[allow(dead_code)]
            pub(crate) fn write_file(&self, writer: &$crate::scene::write::Writer, out: &mut String) {
                for sections in [false, true] {
                    $(writer.part(out, Self::all_keys(), $crate::scene::table::plain_key(stringify!($field)), &self.$field, sections);)*
                }
            }
        }

        $crate::scene::table::plain_struct! {
            [$($Plain)?] $Name [$($doc)+] { $([$($text)+] $field: $T, ($($default)*);)* }
        }
    )+ };
}
pub(crate) use table;

/// The struct of plain values, if there is to be one.
macro_rules! plain_struct {
    ([] $Name:ident $docs:tt $fields:tt) => {};
    ([$Plain:ident] $Name:ident [$($doc:literal)+] { $([$($text:literal)+] $field:ident: $T:ty, ($($default:tt)*);)* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Plain { $($(#[doc = $text])+ pub $field: $crate::scene::table::plain_type!($T, $($default)*),)* }

        impl $crate::scene::kind::Plain for $Name {
            type Plain = $Plain;
            fn plain(&self) -> $Plain {
                $Plain { $($field: $crate::scene::table::plain_value!(self.$field, $($default)*),)* }
            }
        }
    };
}
pub(crate) use plain_struct;

/// What a default is called in the reference.
macro_rules! default_words {
    ($key:ident, $T:ty, none $text:literal) => {
        $key.default = Some($text.to_owned()).filter(|text: &String| !text.is_empty())
    };
    ($key:ident, $T:ty, required $example:literal) => {
        $key.required = Some($example)
    };
    ($key:ident, $T:ty, |$r:ident| $value:expr; $text:literal) => {
        $key.default = Some($text.to_owned())
    };
    ($key:ident, $T:ty, $value:expr) => {{
        let value: $T = $value;
        let text = $crate::scene::kind::Kind::write(&value, &$crate::scene::write::Writer::everything());
        $key.default = Some($crate::scene::key::plainly(text));
        $key.default_is_a_value = true;
    }};
}
pub(crate) use default_words;

/// What makes a default.
macro_rules! default_value {
    ($T:ty, none $text:literal) => {
        |_| None
    };
    ($T:ty, required $example:literal) => {
        |_| None
    };
    ($T:ty, |$r:ident| $value:expr; $text:literal) => {
        |$r: &$crate::setup::Resolver<'_>| Into::<Option<$T>>::into($value)
    };
    ($T:ty, $value:expr) => {
        |_| Some($value)
    };
}
pub(crate) use default_value;

/// A method that gives the value of a key that has one once the scene is completed.
macro_rules! getter {
    ($field:ident, $T:ty, none $text:literal) => {};
    ($field:ident, $T:ty, $($default:tt)*) => {
        #[allow(missing_docs, dead_code)]
        pub(crate) fn $field(&self) -> &$T {
            &self.$field.as_ref().expect("completed scenes have all values").value
        }
    };
}
pub(crate) use getter;

/// The type of a key among plain values.
macro_rules! plain_type {
    ($T:ty, none $text:literal) => { Option<<$T as $crate::scene::kind::Plain>::Plain> };
    ($T:ty, $($default:tt)*) => { <$T as $crate::scene::kind::Plain>::Plain };
}
pub(crate) use plain_type;

macro_rules! plain_value {
    ($field:expr, none $text:literal) => {
        $field.as_ref().map(|value| $crate::scene::kind::Plain::plain(&value.value))
    };
    ($field:expr, $($default:tt)*) => {
        $crate::scene::kind::Plain::plain(&$field.as_ref().expect("completed scenes have all values").value)
    };
}
pub(crate) use plain_value;

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

        impl $crate::scene::kind::Kind for $Name {
            fn read(node: &$crate::scene::tree::Node, reader: &mut $crate::scene::kind::Reader<'_, '_>) -> Option<Self> {
                match $crate::scene::table::word(node, reader, Self::WORDS)? {
                    $($word => Some($Name::$Variant),)+
                    _ => None,
                }
            }

            fn schema() -> serde_json::Value {
                let words = [$(serde_json::json!({ "const": $word, "description": ([$($text.trim()),+].join(" ")) })),+];
                serde_json::json!({ "oneOf": words })
            }

            fn kind() -> String {
                [$(concat!("`\"", $word, "\"`")),+].join(", ")
            }

            fn write(&self, _: &$crate::scene::write::Writer) -> String {
                format!("\"{}\"", self.word())
            }
        }

        impl $crate::scene::kind::Plain for $Name {
            type Plain = $Name;
            fn plain(&self) -> $Name {
                *self
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

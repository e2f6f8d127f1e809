//! Scenes as TOML: the completed scene, or the part of it that matters to something.

use super::choices::Model;
use super::key::{Key, Matters};
use super::kind::Kind;
use crate::diagnostic::Spanned;

/// Which keys are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    /// Those of this model; `None`: of all.
    pub model: Option<Model>,
    /// Those that matter to this much.
    pub matters: Matters,
}

impl Writer {
    /// Every key.
    pub fn everything() -> Self {
        Writer { model: None, matters: Matters::Run }
    }

    /// Adds `key = value`, if there is a value and it is to be written.
    pub fn line<T: Kind>(&self, lines: &mut Vec<String>, keys: &[Key], name: &str, value: &Option<Spanned<T>>) {
        if let Some(value) = value
            && self.wants_named(keys, name)
        {
            lines.push(format!("{name} = {}", value.write(self)));
        }
    }

    /// Writes a key of a file, if it has a heading or not as asked for.
    pub fn part<T: Kind>(
        &self,
        out: &mut String,
        keys: &[Key],
        name: &str,
        value: &Option<Spanned<T>>,
        sections: bool,
    ) {
        if let Some(value) = value
            && self.wants_named(keys, name)
            && value.is_section() == sections
        {
            match sections {
                true => value.write_section(name, self, out),
                false => *out += &format!("{name} = {}\n", value.write(self)),
            }
        }
    }

    fn wants_named(&self, keys: &[Key], name: &str) -> bool {
        keys.iter().find(|key| key.name == name).is_some_and(|key| self.wants(key))
    }

    /// Whether a key is written.
    pub fn wants(&self, key: &Key) -> bool {
        key.matters <= self.matters && self.model.is_none_or(|model| key.is_for(model))
    }
}

/// A text in quotes, as TOML has them.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

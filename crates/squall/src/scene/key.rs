//! What a scene key is: everything that Squall knows of it follows from one declaration in a `table!`.
//!
//! ```text
//! /// Rate at which smoke dissipates.
//! fade: f64 ["1/s", AtLeast(0.0)] (0.15),
//! ```
//!
//! From this line come the field of the struct, its reader with the checks, its default, its line in the resolved scene, its
//! entry of the JSON Schema and its row in the reference.
//!
//! In the brackets, in any order: the unit, the range of the numbers, the models that have it, and whether it matters
//! to pictures or to the run only, and not to the simulation. In the parentheses, the default:
//!
//! | | |
//! |---|---|
//! | `(0.15)` | this value |
//! | `(\|r\| r.longest() / 8.0; "1/8 of the longest side")` | computed from what is known of the scene, and in words |
//! | `(none "never")` | none, and what that means |
//! | `(required "[128, 192]")` | none: it must be given, for example like this |

use crate::diagnostic::{Problems, Span, number};
use crate::scene::choices::Model;

/// What is known of a key.
#[derive(Clone, Debug)]
pub struct Key {
    /// How it is written.
    pub name: &'static str,
    /// What it means.
    pub doc: String,
    /// What kind of value it takes.
    pub kind: String,
    /// In which unit.
    pub unit: &'static str,
    /// Within which bounds.
    pub range: Option<Range>,
    /// What it is if it is not given, as one would write it or in words.
    pub default: Option<String>,
    /// Whether that can be written in a scene.
    pub default_is_a_value: bool,
    /// An example, if it must be given.
    pub required: Option<&'static str>,
    /// The models that have it; empty: all.
    pub models: &'static [Model],
    /// What it matters to.
    pub matters: Matters,
}

/// A key of a scene and its value.
#[derive(Clone, Debug)]
pub struct Listed {
    /// How it is written after `--set`: `source.0.noise`.
    pub path: String,
    /// What is known of it.
    pub key: &'static Key,
    /// Its value as TOML; `None`: it has none, and the default says what that means.
    pub value: Option<String>,
}

/// What a key matters to. States can be resumed with other looks, and pictures taken again with other ways to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matters {
    /// To what the fluid does.
    #[default]
    Physics,
    /// To what pictures and other files look like.
    Look,
    /// To how long and how it is run, and not to any frame.
    Run,
}

/// Bounds of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// This or more.
    AtLeast(f64),
    /// More than this.
    Above(f64),
    /// From one to the other.
    Within(f64, f64),
}

impl Range {
    /// Whether it has the number.
    pub fn contains(self, value: f64) -> bool {
        match self {
            Range::AtLeast(low) => value >= low,
            Range::Above(low) => value > low,
            Range::Within(low, high) => (low..=high).contains(&value),
        }
    }

    /// What a number must do, and the same in short.
    fn rule(self) -> [String; 2] {
        let [rule, short] = match self {
            Range::AtLeast(0.0) => ["must not be negative".to_owned(), "0 or more".to_owned()],
            Range::AtLeast(low) => [format!("must be at least {low}"), format!("{low} or more")],
            Range::Above(0.0) => ["must be above zero".to_owned(), "more than 0".to_owned()],
            Range::Above(low) => [format!("must be above {low}"), format!("more than {low}")],
            Range::Within(low, high) => [format!("must lie between {low} and {high}"), format!("{low} to {high}")],
        };
        [rule, short]
    }

    /// In a few words, for the reference.
    pub fn words(self) -> String {
        self.rule()[1].clone()
    }

    /// As keywords of JSON Schema.
    pub(crate) fn schema(self, schema: &mut serde_json::Value) {
        let (low, high) = match self {
            Range::AtLeast(low) => (("minimum", low), None),
            Range::Above(low) => (("exclusiveMinimum", low), None),
            Range::Within(low, high) => (("minimum", low), Some(("maximum", high))),
        };
        for (word, bound) in [Some(low), high].into_iter().flatten() {
            schema[word] = if bound.fract() == 0.0 { (bound as i64).into() } else { bound.into() };
        }
    }
}

/// Something that stands in the brackets of a declaration.
pub(crate) trait About {
    fn tell(self, key: &mut Key);
}

impl About for &'static str {
    fn tell(self, key: &mut Key) {
        key.unit = self;
    }
}

impl About for Range {
    fn tell(self, key: &mut Key) {
        key.range = Some(self);
    }
}

impl About for Matters {
    fn tell(self, key: &mut Key) {
        key.matters = self;
    }
}

impl About for &'static [Model] {
    fn tell(self, key: &mut Key) {
        key.models = self;
    }
}

impl<const N: usize> About for &'static [Model; N] {
    fn tell(self, key: &mut Key) {
        key.models = self;
    }
}

/// A number as one says it: `2`, not `2.0`.
pub(crate) fn plainly(text: String) -> String {
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

impl Key {
    /// The key in a table at this path; at an empty one the key alone.
    pub(crate) fn path_in(&self, table: &str) -> String {
        if table.is_empty() { self.name.to_owned() } else { format!("{table}.{}", self.name) }
    }

    pub(crate) fn new(name: &'static str, doc: &[&str], kind: String) -> Self {
        let doc = doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        Key {
            name,
            doc,
            kind,
            unit: "",
            range: None,
            default: None,
            default_is_a_value: false,
            required: None,
            models: &[],
            matters: Matters::Physics,
        }
    }

    pub(crate) fn with(mut self, about: impl About) -> Self {
        about.tell(&mut self);
        self
    }

    /// Whether a model has it.
    pub fn is_for(&self, model: Model) -> bool {
        self.models.is_empty() || self.models.contains(&model)
    }

    /// Reports a number that is out of range.
    pub(crate) fn check(&self, path: &str, value: f64, span: Span, problems: &mut Problems<'_>) -> bool {
        self.check_at(path, value, "", span, problems)
    }

    /// The same for a number at some time or place: `when` says which.
    pub(crate) fn check_at(&self, path: &str, value: f64, when: &str, span: Span, problems: &mut Problems<'_>) -> bool {
        let Some(range) = self.range.filter(|range| !range.contains(value)) else { return true };
        let [rule, short] = range.rule();
        let fix = problems.error(span, format!("`{path}` {rule}, but is {}{when}", number(value)), short);
        if let Some(default) = &self.default {
            let verb = if self.default_is_a_value { "the default is" } else { "without it:" };
            fix.help(format!("{verb} {}", default.replace('`', "")));
        }
        false
    }

    /// What it means, with unit and default, for the JSON Schema.
    pub(crate) fn description(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" Unit: {}.", self.unit) };
        let default = match (&self.default, self.required) {
            (_, Some(_)) => " Required.".to_owned(),
            (Some(default), _) => format!(" Default: {}.", default.replace('`', "")),
            (None, _) => String::new(),
        };
        format!("{}{unit}{default}", self.doc)
    }

    /// Its row in the reference: key, kind, default, meaning; `prefix` is the table that it belongs to.
    pub fn row(&self, prefix: &str) -> String {
        let mut kind = self.kind.clone();
        if let Some(range) = self.range {
            kind += &format!(", {}", range.words());
        }
        let kind = &mut kind;
        if !self.unit.is_empty() {
            *kind += &format!(", {}", self.unit);
        }
        let default = match (&self.default, self.required) {
            (_, Some(_)) => "**required**".to_owned(),
            (Some(default), _) if self.default_is_a_value => format!("`{default}`"),
            (Some(default), _) => default.clone(),
            (None, _) => String::new(),
        };
        let models = match self.models {
            [] => String::new(),
            models => {
                let names: Vec<String> = models.iter().map(|m| format!("`{}`", m.word())).collect();
                format!(" ({} only)", names.join(", "))
            }
        };
        format!("| `{prefix}{}` | {kind} | {default} | {}{models} |", self.name, self.doc)
    }
}

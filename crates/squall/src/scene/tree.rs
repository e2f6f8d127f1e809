//! TOML as a tree that remembers where every key and value was written, and overrides merged into it.

use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Problems, Sources, Span, number};

/// Longest override, in bytes.
const MAX_OVERRIDE: usize = 10_000;
/// Most keys in the path of an override. TOML's own parser limits the file in the same way.
const MAX_DEPTH: usize = 32;

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub span: Span,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Date(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// One `key = value`.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Span,
    pub node: Node,
}

impl Node {
    /// What it is, for "expected a number, found ...".
    pub fn kind(&self) -> String {
        match &self.value {
            Value::Bool(b) => format!("`{b}`"),
            Value::Int(i) => format!("the number {i}"),
            Value::Float(f) => format!("the number {}", if f.fract() == 0.0 { format!("{f:?}") } else { number(*f) }),
            Value::Text(s) if s.chars().count() <= 40 => format!("the text {s:?}"),
            Value::Text(_) => "a text".to_owned(),
            Value::Date(d) => format!("the date {d}"),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }
}

/// Parses a whole file.
pub(crate) fn parse(text: &str, source: usize, problems: &mut Problems<'_>) -> Option<Node> {
    match DeTable::parse(text) {
        Ok(table) => {
            let span = Span { source, start: table.span().start, end: table.span().end };
            Some(Node { span, value: table_value(table.into_inner(), source, problems) })
        }
        Err(e) => {
            let span = e.span().map(|s| clip(text, s, source));
            let (message, help) = syntax(text, e.message().trim(), span);
            problems.error(span, message, "here").help(help);
            None
        }
    }
}

/// The parser's words in ours, with the commonest reason for each.
fn syntax(text: &str, message: &str, span: Option<Span>) -> (String, &'static str) {
    let culprit = span.and_then(|s| text.get(s.start..s.end)).unwrap_or("");
    let before = span.and_then(|s| text.get(..s.start)).unwrap_or("");
    if message.contains("duplicate key") {
        let help =
            "each key and each [table] appears once; several sources or forces are written [[source]], [[force]]";
        (format!("`{culprit}` is given twice"), help)
    } else if message.contains("must be quoted") {
        (format!("the text `{culprit}` needs quotes"), "write it as \"text\"")
    } else if message.contains("unclosed array") {
        ("this list is never closed".to_owned(), "add a `]`")
    } else if culprit.starts_with(',') && before.ends_with(|c: char| c.is_ascii_digit()) {
        ("did not expect a comma".to_owned(), "write decimal numbers with a point: 0.1")
    } else if message.contains("key with no value") {
        ("expected `key = value`".to_owned(), "lines are `key = value`, `[table]`, or comments that begin with #")
    } else {
        let help = "text needs quotes, tables are written [name], lists [1.0, 2.0], decimal numbers with a point";
        (format!("not valid TOML: {}", message.replace('\n', "; ")), help)
    }
}

/// A span that covers at least one character of `text`, where there is one, and is never beyond it.
fn clip(text: &str, span: std::ops::Range<usize>, source: usize) -> Span {
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = span.end.clamp(start, text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    // An empty span shows nothing: take the next character, or the last one at the end of a line.
    if start == end {
        match text[start..].chars().next() {
            Some(c) if c != '\n' && c != '\r' => end += c.len_utf8(),
            _ => start -= text[..start].chars().next_back().filter(|c| *c != '\n').map_or(0, char::len_utf8),
        }
    }
    Span { source, start, end }
}

fn table_value(table: DeTable<'_>, source: usize, problems: &mut Problems<'_>) -> Value {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| {
            let key_span = Span { source, start: key.span().start, end: key.span().end };
            let mut node = node(value, source, problems);
            // A table made by a dotted key has no text of its own: its key stands for it.
            if node.span.start == node.span.end {
                node.span = key_span;
            }
            Entry { key: key.into_inner().into_owned(), key_span, node }
        })
        .collect();
    // The order of the file: substances are numbered by it.
    entries.sort_by_key(|e| e.key_span.start);
    Value::Table(entries)
}

fn node(value: toml::Spanned<DeValue<'_>>, source: usize, problems: &mut Problems<'_>) -> Node {
    let span = Span { source, start: value.span().start, end: value.span().end };
    let value = match value.into_inner() {
        DeValue::String(s) => Value::Text(s.into_owned()),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(value) => Value::Int(value),
            Err(_) => {
                problems.error(span, format!("the number {i} is too large"), "whole numbers have at most 18 digits");
                Value::Int(0)
            }
        },
        DeValue::Float(f) => Value::Float(f.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Bool(b),
        DeValue::Datetime(d) => Value::Date(d.to_string()),
        DeValue::Array(list) => Value::List(list.into_iter().map(|v| node(v, source, problems)).collect()),
        DeValue::Table(table) => table_value(table, source, problems),
    };
    Node { span, value }
}

/// Applies `key.path=value` to the tree. Entries of lists are addressed by number from 0: `source.0.noise=0.5`; a whole entry with the next number is added:
/// `object.1={ shape = .. }`.
pub(crate) fn apply_override(root: &mut Node, text: &str, source: usize, problems: &mut Problems<'_>) {
    let whole = Span { source, start: 0, end: text.len() };
    let Some((path, value_text)) = text.split_once('=') else {
        problems
            .error(whole, format!("the override `{text}` has no `=`"), "expected key=value")
            .help("for example --set fluid.viscosity=1e-4");
        return;
    };
    if text.len() > MAX_OVERRIDE || path.split('.').count() > MAX_DEPTH {
        problems.error(None, "an override is too long", "").help("for example --set fluid.viscosity=1e-4");
        return;
    }
    let offset = path.len() + 1;
    let Some(value) = override_value(value_text, offset, source, problems) else { return };

    let mut at = &mut *root;
    let mut start = 0;
    let parts = path.split('.').count();
    for (number, part) in path.split('.').enumerate() {
        let is_whole = number + 1 == parts && matches!(value.value, Value::Table(_));
        let key = part.trim();
        let lead = part.len() - part.trim_start().len();
        let key_span = Span { source, start: start + lead, end: start + lead + key.len() };
        start += part.len() + 1;
        if key.is_empty() {
            problems
                .error(whole, "the override has an empty key", "expected key=value")
                .help("for example --set fluid.viscosity=1e-4");
            return;
        }
        let kind = at.kind();
        if is_whole && matches!(&at.value, Value::Table(entries) if entries.is_empty()) && key == "0" {
            at.value = Value::List(Vec::new());
        }
        if matches!(&at.value, Value::Table(entries) if entries.is_empty()) && key.parse::<usize>().is_ok() {
            let list = path[..key_span.start].trim_end_matches(['.', ' ']);
            let message = format!("there is no entry {key} in `{list}`");
            problems.error(key_span, message, "no such entry").help(format!("the scene has no [[{list}]] yet"));
            // A list without entries is right as it is: nothing more is to be said about it.
            at.value = Value::List(Vec::new());
            return;
        }
        at = match &mut at.value {
            Value::Table(entries) => {
                let index = entries.iter().position(|e| e.key == key).unwrap_or_else(|| {
                    let node = Node { span: key_span, value: Value::Table(Vec::new()) };
                    entries.push(Entry { key: key.to_owned(), key_span, node });
                    entries.len() - 1
                });
                &mut entries[index].node
            }
            Value::List(items) => {
                let count = items.len();
                if is_whole && key.parse() == Ok(count) {
                    items.push(Node { span: key_span, value: Value::Bool(false) });
                }
                match key.parse::<usize>().ok().and_then(|i| items.get_mut(i)) {
                    Some(item) => item,
                    None => {
                        let message = format!("`{key}` is not an entry of this list of {count}");
                        let last = count.saturating_sub(1);
                        problems
                            .error(key_span, message, "no such entry")
                            .help(format!("entries are numbered from 0 to {last}"));
                        return;
                    }
                }
            }
            _ => {
                let message = format!("there is no `{key}` inside {kind}");
                problems.error(key_span, message, "not a table").help("set the whole value instead");
                return;
            }
        };
    }
    *at = value;
}

/// The value of an override: TOML, or else the bare text, since shells eat quotes (`--set picture.map=viridis`).
fn override_value(text: &str, offset: usize, source: usize, problems: &mut Problems<'_>) -> Option<Node> {
    let trimmed = text.trim();
    let start = offset + (text.len() - text.trim_start().len());
    let span = Span { source, start, end: start + trimmed.len() };
    if trimmed.is_empty() {
        let whole = Span { source, start: 0, end: offset };
        problems
            .error(whole, "the override has no value", "expected a value after `=`")
            .help("for example --set fluid.viscosity=1e-4");
        return None;
    }
    match DeValue::parse(trimmed) {
        Ok(value) => {
            let mut node = node(value, source, problems);
            shift(&mut node, start);
            Some(node)
        }
        // What looks like TOML but is not would only confuse as a text.
        Err(e) if trimmed.starts_with(['[', '{', '"', '\'']) => {
            let place = e.span().map_or(span, |s| clip(trimmed, s, source));
            let place = Span { source, start: place.start + start, end: place.end + start };
            problems.error(place, format!("not a valid value: {}", e.message().trim()), "here");
            None
        }
        Err(_) => Some(Node { span, value: Value::Text(trimmed.to_owned()) }),
    }
}

fn shift(node: &mut Node, by: usize) {
    let moved = |span: &mut Span| (span.start, span.end) = (span.start + by, span.end + by);
    moved(&mut node.span);
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|n| shift(n, by)),
        Value::Table(entries) => entries.iter_mut().for_each(|e| {
            moved(&mut e.key_span);
            shift(&mut e.node, by);
        }),
        _ => {}
    }
}

/// Where byte range `inside` of a text value stands in its source; the whole value if escapes make that unclear.
pub(crate) fn inside_text(sources: &Sources, span: Span, text: &str, inside: std::ops::Range<usize>) -> Span {
    let raw = sources.text(span);
    let quotes =
        [0, 1, 3].into_iter().find(|&q| raw.len() == text.len() + 2 * q && raw.get(q..q + text.len()) == Some(text));
    match quotes {
        Some(q) => Span { start: span.start + q + inside.start, end: span.start + q + inside.end, ..span },
        None => span,
    }
}

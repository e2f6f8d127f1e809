//! Problems of a scene: message, position, advice.

use std::fmt;
use std::sync::Arc;

use crate::setup::Thing;

/// A stretch of text in one of the [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Which text: 0 is the scene file, the others are overrides.
    pub source: usize,
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

impl Span {
    /// Of a value that was not written anywhere, but is a default.
    pub const DEFAULT: Span = Span { source: usize::MAX, start: 0, end: 0 };
}

/// A value and where it was written. Two are equal if their values are.
#[derive(Clone, Debug, Default)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub span: Span,
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T> Spanned<T> {
    /// Whether it was written in the scene; else it is a default.
    pub fn is_typed(&self) -> bool {
        self.span != Span::DEFAULT
    }
}

/// A value that was written in the scene, and is not a default.
pub(crate) fn typed<T>(value: &Option<Spanned<T>>) -> Option<&Spanned<T>> {
    value.as_ref().filter(|value| value.is_typed())
}

impl<T> std::ops::Deref for Spanned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// A text that a scene was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What messages call it: a file, or `--set`.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// The texts that a scene was read from: the file, then each override.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<Arc<Source>>);

impl Sources {
    /// Adds a text and gives its number.
    pub(crate) fn add(&mut self, name: &str, text: &str) -> usize {
        self.0.push(Arc::new(Source { name: name.to_owned(), text: text.to_owned() }));
        self.0.len() - 1
    }

    /// The name of the scene file.
    pub fn name(&self) -> &str {
        self.0.first().map_or("scene", |s| &s.name)
    }

    /// What was written there.
    pub(crate) fn text(&self, span: Span) -> &str {
        self.0.get(span.source).and_then(|s| s.text.get(span.start..span.end)).unwrap_or("")
    }

    fn get(&self, span: Span) -> Option<Arc<Source>> {
        self.0.get(span.source).cloned()
    }
}

/// Most errors that are reported at once: a file with thousands has one cause.
const MAX_SHOWN: usize = 20;
/// Longest line of a file that is shown in a message, in bytes.
const MAX_LINE: usize = 500;
/// Longest message, in characters.
const MAX_MESSAGE: usize = 500;

/// A message that cannot flood or confuse a terminal, whatever the scene put into it.
fn tame(text: &str) -> String {
    text.chars().take(MAX_MESSAGE).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The scene cannot be used.
    Error,
    /// It can, but is hardly what was meant.
    Warning,
}

/// One mistake or one warning: what, where, and what to do about it. Data: the command draws it, with a caret under the culprit.
#[derive(Clone, Debug)]
pub struct Problem {
    message: String,
    label: String,
    help: Option<String>,
    severity: Severity,
    place: Option<(Arc<Source>, Span)>,
    /// Whether its line is short enough to be shown.
    shown: bool,
    /// Whether a file that exists cannot be read.
    is_io: bool,
}

impl Problem {
    fn new(sources: &Sources, span: Option<Span>, severity: Severity, message: String, label: String) -> Self {
        let place = span.and_then(|span| Some((sources.get(span)?, span)));
        let (message, label) = (tame(&message), tame(&label));
        let mut problem = Problem { message, label, help: None, severity, place, shown: true, is_io: false };
        problem.shown = problem.line_length() <= MAX_LINE;
        if let (false, Some((file, line, column))) = (problem.shown, problem.location()) {
            problem.message = format!("{} ({file}, line {line}, column {column})", problem.message);
        }
        problem
    }

    /// Length in bytes of the lines that the culprit stands on.
    fn line_length(&self) -> usize {
        let Some((source, span)) = &self.place else { return 0 };
        let text = source.text.as_bytes();
        let before = text[..span.start].iter().rev().take_while(|b| **b != b'\n').count();
        let after = text[span.end..].iter().take_while(|b| **b != b'\n').count();
        before + (span.end - span.start) + after
    }

    /// What is wrong, in one sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How to put it right, where that is known.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Where the culprit stands in the texts that the scene was read from.
    pub(crate) fn span(&self) -> Option<Span> {
        self.place.as_ref().map(|(_, span)| *span)
    }

    /// Whether it is a mistake or a warning.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// What stands under the caret; may be empty.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The text that it is about and the bytes of the culprit, where it has a place whose line is short enough to be shown.
    pub fn excerpt(&self) -> Option<(&Source, std::ops::Range<usize>)> {
        let (source, span) = self.place.as_ref().filter(|_| self.shown)?;
        Some((source, span.start..span.end))
    }

    /// File name, line and column (from 1) of the culprit, where it has a place.
    pub fn location(&self) -> Option<(&str, usize, usize)> {
        let (source, span) = self.place.as_ref()?;
        let before = source.text.get(..span.start)?;
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Some((&source.name, before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }

    /// The problem with its place and the fix in a few lines of plain text, for logs and tests.
    pub fn to_text(&self) -> String {
        let kind = if self.severity == Severity::Error { "error" } else { "warning" };
        let mut text = format!("{kind}: {}\n", self.message);
        if let (Some((file, line, column)), Some((source, span))) = (self.location(), self.excerpt()) {
            let culprit: Vec<&str> = source.text[span].lines().collect();
            let culprit = if culprit.len() > 1 { format!("{} ..", culprit[0]) } else { culprit.concat() };
            text += &format!("  {file}:{line}:{column}: {culprit}\n");
            if !self.label.is_empty() {
                text += &format!("    ^ {}\n", self.label);
            }
        }
        if let Some(help) = &self.help {
            text += &format!("  help: {help}\n");
        }
        text
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// Why a scene cannot be used. Shows every mistake that was found, each with its place and the fix.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SceneError {
    /// The scene says something that it may not say.
    Invalid {
        /// The name of the scene file.
        file: String,
        /// The mistakes found, at most 20 of them; never empty.
        problems: Vec<Problem>,
        /// How many there are in all.
        count: usize,
    },
    /// The scene is well formed but asks for more than Squall is willing to do.
    Budget(Problem),
}

impl SceneError {
    /// The mistakes, in the order in which they were found.
    pub fn problems(&self) -> &[Problem] {
        match self {
            SceneError::Invalid { problems, .. } => problems,
            SceneError::Budget(problem) => std::slice::from_ref(problem),
        }
    }

    /// Whether nothing is wrong but that files cannot be read, though they are there.
    pub fn is_io(&self) -> bool {
        self.problems().iter().all(|problem| problem.is_io)
    }

    /// All of it in plain text, for logs and tests.
    pub fn to_text(&self) -> String {
        let title = if self.single().is_some() { String::new() } else { format!("{self}\n") };
        title + &self.problems().iter().map(Problem::to_text).collect::<String>()
    }

    /// The only problem, if there is only one: then the error *is* that problem.
    pub fn single(&self) -> Option<&Problem> {
        match self.problems() {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.single()) {
            (_, Some(one)) => one.fmt(f),
            (SceneError::Invalid { file, problems, count }, None) if *count > problems.len() => {
                write!(f, "{file} has {count} mistakes; here are the first {}", problems.len())
            }
            (SceneError::Invalid { file, count, .. }, None) => write!(f, "{file} has {count} mistakes"),
            (SceneError::Budget(problem), None) => problem.fmt(f),
        }
    }
}

impl std::error::Error for SceneError {}

/// Collects problems while a scene is read and checked.
#[derive(Debug)]
pub(crate) struct Problems<'a> {
    pub sources: &'a Sources,
    pub errors: Vec<Problem>,
    pub warnings: Vec<Problem>,
    /// Errors in all, kept or not.
    count: usize,
}

impl<'a> Problems<'a> {
    pub fn new(sources: &'a Sources) -> Self {
        Problems { sources, errors: Vec::new(), warnings: Vec::new(), count: 0 }
    }

    /// Adds an error; `label` stands under the caret.
    pub fn error(
        &mut self,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Fix<'_> {
        self.count += 1;
        if self.errors.len() == MAX_SHOWN {
            return Fix(None);
        }
        let problem = Problem::new(self.sources, span.into(), Severity::Error, message.into(), label.into());
        self.errors.push(problem);
        Fix(self.errors.last_mut())
    }

    /// Adds a warning; `label` stands under the caret.
    pub fn warn(
        &mut self,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Fix<'_> {
        let problem = Problem::new(self.sources, span.into(), Severity::Warning, message.into(), label.into());
        self.warnings.push(problem);
        Fix(self.warnings.last_mut())
    }

    /// Reports a thing to be moved that the scene does not have; of its kind there are `count`.
    pub fn no_such_thing(&mut self, span: Option<Span>, thing: Thing, count: usize) {
        self.error(span, format!("there is no `{thing}` in the scene"), "not there")
            .help(format!("entries are numbered from 0; there are {count}"));
    }

    /// The errors as one, if there are any.
    pub fn into_result(mut self) -> Result<Vec<Problem>, SceneError> {
        if self.errors.is_empty() {
            return Ok(self.warnings);
        }
        let file = self.sources.name().to_owned();
        // What has no place in the file would not name it.
        let name = tame(&file);
        let nameless = |problem: &&mut Problem| problem.place.is_none() && !problem.message.starts_with(&name);
        for problem in self.errors.iter_mut().filter(nameless) {
            problem.message = format!("{name}: {}", problem.message);
        }
        Err(SceneError::Invalid { file, problems: self.errors, count: self.count })
    }
}

/// The problem just added, waiting for its fix.
pub(crate) struct Fix<'a>(Option<&'a mut Problem>);

impl Fix<'_> {
    /// Says how to put it right.
    pub fn help(self, help: impl Into<String>) {
        if let Some(problem) = self.0 {
            problem.help = Some(tame(&help.into()));
        }
    }

    /// The same for a file that cannot be read though it is there: no mistake of the scene.
    pub fn io_help(self, help: impl Into<String>) {
        if let Some(problem) = self.0 {
            problem.is_io = true;
            problem.help = Some(tame(&help.into()));
        }
    }
}

/// A number as one would write it: large and tiny ones with an exponent.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        a if a == 0.0 || (1e-4..1e9).contains(&a) => format!("{value}"),
        _ => format!("{value:e}"),
    }
}

/// The nearest of `candidates` to what was typed, if one is near enough to have been meant.
pub(crate) fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Case and the choice of separator are the commonest slips, so they cost nothing.
    let plain = |s: &str| s.chars().filter(|c| !"_- ".contains(*c)).flat_map(char::to_lowercase).collect::<String>();
    // What is longer than any of our words is none of them, and comparing it would be slow.
    if typed.len() > 60 {
        return None;
    }
    let typed = plain(typed);
    let (distance, best) = candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&typed, &plain(c)), c))
        .min_by_key(|&(distance, _)| distance)?;
    (distance <= 1 + typed.chars().count() / 4 && distance < typed.chars().count().max(1)).then_some(best)
}

/// "did you mean `x`?", or the list of what could be meant.
pub(crate) fn did_you_mean(typed: &str, candidates: &[&str], what: &str) -> String {
    match nearest(typed, candidates.iter().copied()) {
        Some(best) => format!("did you mean `{best}`?"),
        None if candidates.is_empty() => format!("there is no {what} here"),
        None => format!("{what}: {}", candidates.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ")),
    }
}

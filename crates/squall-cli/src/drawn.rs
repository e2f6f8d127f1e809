//! Error messages drawn by `miette`, with a caret under the position. Shared with the library's message tests.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use squall::diagnostic::Severity;
use squall::{Problem, SceneError};

/// A message, perhaps with its place and the fix.
#[derive(Debug)]
pub struct Message {
    text: String,
    help: Option<String>,
    severity: miette::Severity,
    /// A text and what in it is meant.
    place: Option<(NamedSource<String>, LabeledSpan)>,
    related: Vec<Message>,
}

impl Message {
    /// An error without a place.
    pub fn new(text: String, help: Option<String>) -> Self {
        Self { text, help, severity: miette::Severity::Error, place: None, related: Vec::new() }
    }
}

impl From<&Problem> for Message {
    fn from(problem: &Problem) -> Self {
        let place = problem.excerpt().map(|(source, at)| {
            let label = (!problem.label().is_empty()).then(|| problem.label().to_owned());
            let span = LabeledSpan::new(label, at.start, at.len());
            (NamedSource::new(&source.name, source.text.clone()), span)
        });
        let severity = match problem.severity() {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        };
        let message = Message::new(problem.message().to_owned(), problem.advice().map(str::to_owned));
        Message { severity, place, ..message }
    }
}

impl From<&SceneError> for Message {
    fn from(error: &SceneError) -> Self {
        match error.single() {
            Some(problem) => Message::from(problem),
            None => {
                let related = error.problems().iter().map(Message::from).collect();
                Message { related, ..Message::new(error.to_string(), None) }
            }
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Message {}

impl Diagnostic for Message {
    fn severity(&self) -> Option<miette::Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|(source, _)| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.place.as_ref().map(|(_, span)| Box::new(std::iter::once(span.clone())) as Box<_>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        let all = self.related.iter().map(|message| message as &dyn Diagnostic);
        (!self.related.is_empty()).then(|| Box::new(all) as Box<_>)
    }
}

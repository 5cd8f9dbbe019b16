//! A diagnostic as data. Must not know: how it is shown.

use crate::codes::{Code, Severity};
use crate::source::Span;

/// A second place that explains the first.
#[derive(Clone, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there, e.g. "first declared here".
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The stable code; it decides the severity.
    pub code: Code,
    /// The place.
    pub span: Span,
    /// One sentence, no full stop: what is wrong.
    pub message: String,
    /// Other places.
    pub labels: Vec<Label>,
    /// What to write instead, if there is a fix.
    pub help: Option<String>,
    /// A command that shows it happen.
    pub see: Option<String>,
}

impl Diagnostic {
    /// A finding at `span`.
    #[must_use]
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            span,
            message: shortened(message.into()),
            labels: Vec::new(),
            help: None,
            see: None,
        }
    }

    /// Adds a second place.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: shortened(text.into()),
        });
        self
    }

    /// Adds the fix.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(shortened(text.into()));
        self
    }

    /// Whether compilation must not go on to emit.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.code.severity() == Severity::Error
    }
}

/// Words of a message that are longer came from the source; their beginning tells which they are.
const LONGEST_WORD: usize = 120;

/// `text` with words that nobody would read to the end cut short.
fn shortened(text: String) -> String {
    if text.len() <= LONGEST_WORD {
        return text;
    }
    let words = text.split(' ').map(|word| {
        if word.chars().nth(LONGEST_WORD).is_none() {
            return word.to_owned();
        }
        let cut = word.char_indices().nth(LONGEST_WORD / 2);
        let cut = cut.map_or(word.len(), |(at, _)| at);
        let end = word.char_indices().rev().find(|(_, c)| c.is_alphanumeric());
        let behind = end.map_or("", |(at, c)| &word[at + c.len_utf8()..]);
        let behind = if behind.len() < 8 { behind } else { "" };
        format!("{}…{behind}", &word[..cut])
    });
    words.collect::<Vec<_>>().join(" ")
}

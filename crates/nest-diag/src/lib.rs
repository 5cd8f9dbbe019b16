//! Diagnostics as data: the problem, its location, the reason, and the fix.
//!
//! Knows source text and spans, but not the language. All other crates report through
//! [`Diagnostic`]; only the command line renders diagnostics. The codes are declared in [`codes`].

mod allow;
mod cells;
pub mod codes;
mod json;
mod place;
mod render;

pub use allow::{Allows, REMARK};
pub use codes::{Code, Severity};
pub use json::{render_json, render_json_with};
pub use render::{render_line, render_text};

/// A file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A half-open byte range of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The end, exclusive.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `file`.
    #[must_use]
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span {
            file,
            start: clamp(start),
            end: clamp(end),
        }
    }

    /// The smallest span that contains both, which must be in one file.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            file: self.file,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// One source file: the name as the user wrote it, and its text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// As given on the command line or in `%include`; `<stdin>` for standard input.
    pub name: String,
    /// The text, which never changes.
    pub text: String,
    /// The start of each line.
    starts: Vec<usize>,
}

/// All files of one compilation, indexed by [`FileId`].
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// In the order of loading; the first is the specification itself.
    pub files: Vec<SourceFile>,
}

impl SourceMap {
    /// Adds a file.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let text: String = text.into();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(end, _)| end + 1));
        self.files.push(SourceFile {
            name: name.into(),
            starts: starts.collect(),
            text,
        });
        FileId(u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX))
    }

    /// The file.
    #[must_use]
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// The text of a span.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file)
            .text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// Line and column, both from 1; columns count characters. O(line length).
    #[must_use]
    pub fn position(&self, file: FileId, offset: u32) -> (usize, usize) {
        let SourceFile { text, starts, .. } = self.file(file);
        let mut at = (offset as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let line = starts.partition_point(|start| *start <= at);
        let start = line.checked_sub(1).map_or(0, |before| starts[before]);
        let column = text.get(start..at).unwrap_or_default().chars().count();
        (line.max(1), column + 1)
    }
}

/// A second location that explains the first.
#[derive(Clone, Debug)]
pub struct Label {
    /// The location.
    pub span: Span,
    /// The explanation, for example "first declared here".
    pub text: String,
}

/// A finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The stable code, which determines the severity.
    pub code: Code,
    /// The location.
    pub span: Span,
    /// One sentence without a full stop that states the problem.
    pub message: String,
    /// Further locations.
    pub labels: Vec<Label>,
    /// The fix, if there is one.
    pub help: Option<String>,
    /// A command that reproduces it.
    pub see: Option<String>,
}

impl Diagnostic {
    /// Creates a finding at `span`.
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

    /// Adds a second location.
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

    /// Whether it prevents the generation of code.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.code.severity() == Severity::Error
    }
}

/// Longer words come from the source and are shortened; their beginning identifies them.
const LONGEST_WORD: usize = 120;

/// `text` with very long words shortened.
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

/// Longer names are not compared, because the time and memory of the comparison are proportional to
/// both lengths.
const LONGEST_NAME: usize = 100;

/// The known name nearest to `name`, if it is near enough for a suggestion.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > LONGEST_NAME {
        return None;
    }
    // For a single letter only its case may differ.
    let limit = (length / 3).max(usize::from(length > 1));
    known
        .into_iter()
        .filter(|k| k.chars().count().abs_diff(length) <= limit)
        .map(|k| (distance(&name.to_lowercase(), &k.to_lowercase()), k))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Optimal string alignment distance (insert, delete, replace, swap neighbours).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut d = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in d.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in d[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            d[i][j] = (d[i - 1][j] + 1)
                .min(d[i][j - 1] + 1)
                .min(d[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d[i][j] = d[i][j].min(d[i - 2][j - 2] + 1);
            }
        }
    }
    d[a.len()][b.len()]
}

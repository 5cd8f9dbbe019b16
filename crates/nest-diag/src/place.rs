//! The locations of spans: lines and columns of all files. Each file is scanned once.
//!
//! Impossible positions (beyond the end, inside a character, in a file that does not exist) are
//! moved to the nearest possible one. Must not know: how locations are shown.

use crate::source::{FileId, SourceFile, SourceMap, Span};

/// Line and column, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub line: usize,
    pub column: usize,
}

/// The bytes `start..end` of one line (numbered from 0), relative to the start of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub line: usize,
    pub start: usize,
    pub end: usize,
}

/// An index of the lines of every file.
pub(crate) struct Places<'a> {
    files: &'a [SourceFile],
    /// Per file: the start of each line.
    starts: Vec<Vec<usize>>,
}

impl<'a> Places<'a> {
    pub fn new(sources: &'a SourceMap) -> Self {
        let line_starts = |file: &SourceFile| {
            std::iter::once(0)
                .chain(
                    file.text
                        .bytes()
                        .enumerate()
                        .filter(|(_, b)| *b == b'\n')
                        .map(|(i, _)| i + 1),
                )
                .collect()
        };
        Places {
            files: &sources.files,
            starts: sources.files.iter().map(line_starts).collect(),
        }
    }

    /// The file; `None` if the number does not belong to this compilation.
    pub fn file(&self, id: FileId) -> Option<&'a SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// The line and column of a byte.
    pub fn at(&self, id: FileId, offset: u32) -> Place {
        let Some(file) = self.file(id) else {
            return Place { line: 1, column: 1 };
        };
        let at = floor(&file.text, offset as usize);
        let (line, start) = self.line_of(id, at);
        Place {
            line: line + 1,
            column: file.text[start..at].chars().count() + 1,
        }
    }

    /// The text of a line (from 0), without its end.
    pub fn line(&self, id: FileId, line: usize) -> &'a str {
        let Some(file) = self.file(id) else { return "" };
        let starts = &self.starts[id.0 as usize];
        let end = starts
            .get(line + 1)
            .map_or(file.text.len(), |next| next - 1);
        let text = &file.text[starts[line]..end];
        text.strip_suffix('\r').unwrap_or(text)
    }

    /// What to mark for a span: its line, or the first and the last of several lines.
    pub fn stretches(&self, span: Span) -> (Stretch, Option<Stretch>) {
        let Some(file) = self.file(span.file) else {
            return (
                Stretch {
                    line: 0,
                    start: 0,
                    end: 0,
                },
                None,
            );
        };
        let start = floor(&file.text, span.start as usize);
        let end = floor(&file.text, span.end as usize).max(start);
        let (first, first_at) = self.line_of(span.file, start);
        // A span that ends at a line end does not extend into the next line.
        let (last, last_at) = if end > start {
            self.line_of(span.file, floor(&file.text, end - 1))
        } else {
            (first, first_at)
        };
        let length = |line| self.line(span.file, line).len();
        let from = (start - first_at).min(length(first));
        if first == last {
            let to = (end - first_at).clamp(from, length(first).max(from));
            return (
                Stretch {
                    line: first,
                    start: from,
                    end: to,
                },
                None,
            );
        }
        let text = self.line(span.file, last);
        let indent = text.len() - text.trim_start().len();
        let to = (end - last_at).min(text.len());
        (
            Stretch {
                line: first,
                start: from,
                end: length(first),
            },
            Some(Stretch {
                line: last,
                start: indent.min(to),
                end: to,
            }),
        )
    }

    /// The line (from 0) that contains a byte, and its start.
    fn line_of(&self, id: FileId, at: usize) -> (usize, usize) {
        let starts = &self.starts[id.0 as usize];
        let line = starts.partition_point(|start| *start <= at) - 1;
        (line, starts[line])
    }
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

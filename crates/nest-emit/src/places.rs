//! Maps locations in generated files to the specification.
//!
//! `#line` gives the lines. Columns are right up to the first replaced text; this file knows the
//! columns after it. Must not know: how a C compiler prints locations.

use crate::replace::Text;
use nest_machine::Code;

/// One piece of the user's text.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The original text and its location.
    pub code: Code,
    /// The text in the generated file.
    pub text: Text,
    /// The number of blanks before its first line.
    pub pad: usize,
}

/// All pieces of a generated file.
#[derive(Clone, Debug, Default)]
pub struct Places {
    pieces: Vec<Piece>,
}

/// A location in the specification. Columns count characters, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The line.
    pub line: usize,
    /// The first column and the end; `None` if several pieces of one line are possible.
    pub columns: Option<(usize, usize)>,
}

impl Places {
    pub(crate) fn add(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    /// The location in the specification that corresponds to `line` of `file`, as reported by a C
    /// compiler, with `column` and `width`; `None` if it is not text of the user.
    #[must_use]
    pub fn origin(&self, file: &str, line: usize, column: usize, width: usize) -> Option<Origin> {
        let ours = |piece: &&Piece| piece.code.file == file && piece.code.line <= line;
        let found: Vec<Origin> = self
            .pieces
            .iter()
            .filter(ours)
            .flat_map(|piece| piece.origins(line, column, width))
            .collect();
        let first = *found.first()?;
        let begin = |origin: &Origin| (origin.line, origin.columns.map(|(from, _)| from));
        let same = found.iter().all(|origin| begin(origin) == begin(&first));
        let end = found
            .iter()
            .filter_map(|origin| origin.columns)
            .map(|(_, to)| to)
            .max();
        let columns = first.columns.zip(end).filter(|_| same);
        Some(Origin {
            columns: columns.map(|((from, _), to)| (from, to)),
            ..first
        })
    }
}

impl Piece {
    /// The possible positions: beyond ASCII some compilers count bytes and others characters.
    fn origins(&self, line: usize, column: usize, width: usize) -> Vec<Origin> {
        let mut lines = self.text.text.split('\n');
        let behind = line - self.code.line;
        let Some(here) = lines.nth(behind) else {
            return Vec::new();
        };
        let start: usize = self
            .text
            .text
            .split('\n')
            .take(behind)
            .map(|l| l.len() + 1)
            .sum();
        let pad = if behind == 0 { self.pad } else { 0 };
        let Some(at) = column.checked_sub(pad + 1) else {
            return Vec::new();
        };
        let bytes = (at <= here.len()).then_some(at);
        let mut ends = here.char_indices().map(|(i, _)| i).chain([here.len()]);
        [bytes, ends.nth(at)]
            .into_iter()
            .flatten()
            .map(|at| self.origin(start + at, width.min(here.len() - at)))
            .collect()
    }

    /// The location in the specification of byte `at` of the new text.
    fn origin(&self, at: usize, width: usize) -> Origin {
        let old = &self.code.text;
        let border = |mut at: usize| {
            at = at.min(old.len());
            while !old.is_char_boundary(at) {
                at += 1;
            }
            at
        };
        let from = border(self.before(at).0);
        let to = border(self.before(at + width.max(1) - 1).1).max(from);
        let place = self.code.part(from..to);
        let width = place.text.lines().next().unwrap_or_default().chars();
        Origin {
            line: place.line,
            columns: Some((place.column, place.column + width.count().max(1))),
        }
    }

    /// The range of the old text that byte `at` of the new text stands for.
    fn before(&self, at: usize) -> (usize, usize) {
        let (mut new_end, mut old_end) = (0, 0);
        for (new, old) in &self.text.stands {
            if at < new.start {
                break;
            }
            if at < new.end {
                return (old.start, old.end);
            }
            (new_end, old_end) = (new.end, old.end);
        }
        let at = old_end + (at - new_end);
        (at, at + 1)
    }
}

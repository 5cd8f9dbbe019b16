//! Parses what precedes the first rule: per-connection declarations, and mistakes that look like
//! them.
//!
//! Must not know rules, patterns or conditions.

use nest_diag::Code;

use super::{Parser, fence};
use crate::csource;
use crate::names::RESERVED;

/// The number of bytes of a line that are examined.
const LONGEST_REMARK: usize = 400;

impl Parser<'_> {
    /// Parses one per-connection declaration or `%{ %}` block, if there is one here.
    pub(super) fn local(&mut self) -> bool {
        let start = self.r.at;
        if self.r.looking_at("%{") {
            if let Some(text) = fence(&mut self.r) {
                self.locals.push(text);
            }
            return true;
        }
        let end = self.r.ident_end(start);
        let word = self.r.text(start, end);
        if end == start || RESERVED.contains(&word) || self.names.kind(word).is_some() {
            return false;
        }
        let next = self.r.after_blanks(end);
        if next < self.r.end && matches!(self.r.bytes[next], b':' | b'=') {
            return false;
        }
        let typed = csource::is_declaration_word(word);
        if let Some(end) = self
            .declarations
            .end(&self.r.bytes[..self.r.end], start, true)
        {
            self.r.at = end;
            self.locals.push(self.r.c_text(start, end));
            return true;
        }
        if typed {
            self.broken_declaration(start);
        }
        typed
    }

    /// A line that starts like a declaration but does not end like one.
    pub(super) fn broken_declaration(&mut self, start: usize) {
        let line = self.r.line_end(start);
        let end = start + self.r.bytes[start..line].trim_ascii_end().len();
        self.r.at = line;
        self.r.report(
            Code::E0502,
            start,
            end,
            "the declaration is not terminated",
            "end it with `;`",
        );
    }

    /// Reports and skips what belongs in another section.
    pub(super) fn misplaced(&mut self) -> bool {
        let start = self.r.at;
        if self.r.looking_at("%{") {
            self.r.report(
                Code::E0201,
                start,
                start + 2,
                "C text is among the rules",
                "write it before the first rule, or before the first `%%`",
            );
            fence(&mut self.r);
            return true;
        }
        let word_end = self.r.ident_end(start + 1);
        let word = self.r.text(start, word_end);
        let (message, help) = if self.r.looking_at("%") && word.len() > 1 {
            (
                format!("the declaration `{word}` is among the rules"),
                "write it before the first `%%`",
            )
        } else if self.comment_habit(start) {
            (
                "`#` does not begin a comment".to_owned(),
                "comments are `// …` and `/* … */`",
            )
        } else if csource::is_preprocessor_word(word) {
            (
                format!("the preprocessor line `{word}` is among the rules"),
                "write it into `%{ %}` before the first `%%`",
            )
        } else {
            return self.late_declaration(start);
        };
        let line = self.r.line_end(start);
        let end = start + self.r.bytes[start..line].trim_ascii_end().len();
        self.r.at = line;
        self.r.report(Code::E0201, start, end, message, help);
        true
    }

    /// Whether a line looks like a comment of another language: words after a `#`, and no action.
    fn comment_habit(&self, start: usize) -> bool {
        if !self.r.looking_at("#") {
            return false;
        }
        // Such comments are short; a very long line must not be read again for each of its rules.
        let end = self.r.char_end((start + LONGEST_REMARK).min(self.r.end));
        let line = self.r.text(start, end).lines().next().unwrap_or_default();
        let rest = line.trim_start_matches('#');
        let word = rest.split_whitespace().next().unwrap_or_default();
        let is_word = word.starts_with(|c: char| c.is_alphabetic() || c == '!')
            && self.names.kind(word).is_none();
        let apart = line.starts_with("##") || rest.starts_with([' ', '\t', '!']);
        is_word && apart && !line.contains('{')
    }

    /// A per-connection declaration after the first rule.
    pub(super) fn late_declaration(&mut self, start: usize) -> bool {
        let end = self.r.ident_end(start);
        let word = self.r.text(start, end);
        if !csource::is_declaration_word(word) || self.names.kind(word).is_some() {
            return false;
        }
        let bytes = &self.r.bytes[..self.r.end];
        let Some(end) = self.declarations.end(bytes, start, true) else {
            return false;
        };
        self.r.at = end;
        self.r.report(
            Code::E0201,
            start,
            end,
            "a C declaration is among the rules",
            "write per-connection declarations before the first rule",
        );
        true
    }
}

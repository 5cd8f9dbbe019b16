//! A position in the text of one file, with functions to look ahead, skip blanks and comments, and
//! report errors.
//!
//! Every parser of this crate moves the same [`Reader`]. Must not know what it reads: sections,
//! rules and patterns.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use nest_diag::{Code, Diagnostic, FileId, Span};

use crate::ast::{CText, Name};

/// One file's text.
pub(crate) struct Source {
    pub file: FileId,
    pub name: String,
    pub text: Rc<str>,
    /// Comments for the compiler: their starts and ends.
    pub remarks: RefCell<BTreeMap<usize, usize>>,
}

impl Source {
    /// The text of a file.
    pub fn new(file: FileId, name: &str, text: String) -> Source {
        Source {
            file,
            name: name.to_owned(),
            text: text.into(),
            remarks: RefCell::default(),
        }
    }

    /// Records a comment for the compiler. Lookahead may find it several times; it is recorded
    /// once.
    pub fn comment(&self, start: usize, end: usize) {
        if self.text[start..end].contains(nest_diag::REMARK) {
            self.remarks.borrow_mut().insert(start, end);
        }
    }
}

/// A half-open range of a file, and the diagnostics found in it.
pub(crate) struct Reader<'a> {
    pub source: &'a Source,
    pub bytes: &'a [u8],
    pub at: usize,
    pub end: usize,
    pub diags: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    /// Creates a reader of `start..end` of `source`.
    pub fn new(source: &'a Source, start: usize, end: usize) -> Self {
        Reader {
            source,
            bytes: source.text.as_bytes(),
            at: start,
            end,
            diags: Vec::new(),
        }
    }

    /// The byte at distance `ahead`, if it is in the range.
    pub fn peek_at(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        if at < self.end {
            Some(self.bytes[at])
        } else {
            None
        }
    }

    /// The current byte.
    pub fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    /// Whether `text` is here.
    pub fn looking_at(&self, text: &str) -> bool {
        self.bytes[self.at..self.end].starts_with(text.as_bytes())
    }

    /// Skips `text` if it is here.
    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// The text of a range; both ends are between characters.
    pub fn text(&self, start: usize, end: usize) -> &'a str {
        self.source.text.get(start..end).unwrap_or("")
    }

    /// The span of a range.
    pub fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.source.file, start, end)
    }

    /// C text of a range.
    pub fn c_text(&self, start: usize, end: usize) -> CText {
        CText {
            text: self.text(start, end).to_owned(),
            span: self.span(start, end),
        }
    }

    /// A name of a range.
    pub fn name(&self, start: usize, end: usize) -> Name {
        Name {
            text: self.text(start, end).to_owned(),
            span: self.span(start, end),
        }
    }

    /// The end of the identifier that starts at `at`; `at` if there is none.
    pub fn ident_end(&self, at: usize) -> usize {
        ident_end(&self.bytes[..self.end], at)
    }

    /// The end of the character at `at`, for steps and spans that must not split a character.
    pub fn char_end(&self, at: usize) -> usize {
        let mut next = at + 1;
        while next < self.end && self.bytes[next] & 0xc0 == 0x80 {
            next += 1;
        }
        next.min(self.end.max(at))
    }

    /// The end of the line that contains `at`: its `\n`, or the end of the range.
    pub fn line_end(&self, at: usize) -> usize {
        self.bytes[at..self.end]
            .iter()
            .position(|b| *b == b'\n')
            .map_or(self.end, |n| at + n)
    }

    /// The first position at or after `at` that is not a blank; does not skip comments.
    pub fn after_blanks(&self, at: usize) -> usize {
        self.bytes[at..self.end]
            .iter()
            .position(|b| !is_blank(*b))
            .map_or(self.end, |n| at + n)
    }

    /// Reports an error or warning with its fix.
    pub fn report(
        &mut self,
        code: Code,
        start: usize,
        end: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let span = self.span(start, end);
        self.diags
            .push(Diagnostic::new(code, span, message).help(help));
    }

    /// Skips blanks, line ends and comments. A comment begins at the start of a line or after a
    /// blank; with `here` also at the current position. Returns whether the next token is the first
    /// of its line, which is also true at the start of the text.
    pub fn gap(&mut self, here: bool) -> bool {
        let start = self.at;
        let before = if start == 0 {
            b'\n'
        } else {
            self.bytes[start - 1]
        };
        let mut comment = here || is_blank(before);
        let line = self.bytes[..start]
            .iter()
            .rposition(|b| !matches!(b, b' ' | b'\t'));
        let mut newline = line.is_none_or(|n| self.bytes[n] == b'\n');
        while let Some(byte) = self.peek() {
            if is_blank(byte) {
                newline |= byte == b'\n';
                comment = true;
                self.at += 1;
            } else if comment && self.looking_at("//") {
                self.line_comment();
            } else if comment && self.looking_at("/*") {
                newline |= self.block_comment();
            } else {
                break;
            }
        }
        newline
    }

    /// Skips the `//` comment that starts here, up to the end of its line.
    pub fn line_comment(&mut self) {
        let start = self.at;
        self.at = self.line_end(start);
        self.source.comment(start, self.at);
    }

    /// Skips the `/* */` comment that starts here. Returns whether it contains a line end.
    pub fn block_comment(&mut self) -> bool {
        let start = self.at;
        let inside = &self.bytes[start + 2..self.end];
        if let Some(n) = inside.windows(2).position(|w| w == b"*/") {
            self.at = start + 2 + n + 2;
            self.source.comment(start, self.at);
        } else {
            self.at = self.end;
            self.report(
                Code::E0003,
                start,
                start + 2,
                "the comment is not terminated",
                "end it with `*/`",
            );
        }
        self.bytes[start..self.at].contains(&b'\n')
    }
}

/// Text as shown between backquotes in a message.
pub(crate) fn shown(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() {
                c.escape_debug().to_string()
            } else {
                c.into()
            }
        })
        .collect()
}

/// Blanks: C's white space and NUL, which is reported once for the whole file.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0)
}

/// Whether an identifier can start with `byte`.
pub(crate) fn is_ident_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// Whether an identifier can contain `byte` after its first.
pub(crate) fn is_ident(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The end of the identifier at `at`; `at` if there is none.
pub(crate) fn ident_end(bytes: &[u8], at: usize) -> usize {
    if !bytes.get(at).copied().is_some_and(is_ident_start) {
        return at;
    }
    bytes[at..]
        .iter()
        .position(|b| !is_ident(*b))
        .map_or(bytes.len(), |n| at + n)
}

/// Whether a line of `text` starts with `%%`.
pub(crate) fn has_divider(text: &str) -> bool {
    text.trim_start_matches('\u{feff}')
        .lines()
        .any(|line| line.trim_start().starts_with("%%"))
}

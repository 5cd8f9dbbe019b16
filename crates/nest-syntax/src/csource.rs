//! Scans C text like C's lexer, to find the end of an action, a `%{ %}` block or a declaration.
//!
//! Distinguishes strings, character constants, comments, spliced lines, digraphs, numbers and
//! preprocessor lines. Does not parse. Must not know rules, patterns or directives. A `%%` at the
//! start of a line is never C and ends every scan, so that a forgotten brace affects only one
//! section.

use crate::reader::{is_ident, is_ident_start};

/// A scan that did not find the end.
pub(crate) struct Unended {
    /// The position where it stopped: the end of the text or a `%%` line.
    pub at: usize,
    /// An unterminated comment or literal, the likely cause.
    pub cause: Option<(usize, &'static str)>,
}

/// Finds the ends of declarations. After a long search without result, later searches see only one
/// line, so that a file full of unfinished declarations is still read in linear time.
#[derive(Default)]
pub(crate) struct Declarations {
    one_line: bool,
}

/// The length of a failed search after which later ones are limited to one line.
const FAR: usize = 4096;

impl Declarations {
    /// Returns the end of the declaration that starts at `from`: after its `;`, or after a
    /// function's body. `whole`: it may span lines.
    pub fn end(&mut self, bytes: &[u8], from: usize, whole: bool) -> Option<usize> {
        let limit = if self.one_line || !whole {
            bytes[from..]
                .iter()
                .position(|b| *b == b'\n')
                .map_or(bytes.len(), |n| from + n)
        } else {
            bytes.len()
        };
        let found = declaration(&bytes[..limit], from);
        if found.is_err_and(|at| at - from > FAR) {
            self.one_line = true;
        }
        found.ok()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Punct(u8),
    Word,
    Literal,
    If,
    Else,
    EndIf,
    Directive,
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    line_start: bool,
    cause: Option<(usize, &'static str)>,
    comments: Vec<(usize, usize)>,
}

impl<'a> Lexer<'a> {
    fn new(bytes: &'a [u8], at: usize) -> Self {
        Lexer {
            bytes,
            at,
            line_start: false,
            cause: None,
            comments: Vec::new(),
        }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The length of a backslash and line end at `at`, if they are there.
    fn splice(&self, at: usize) -> usize {
        match self.bytes.get(at..) {
            Some([b'\\', b'\n', ..]) => 2,
            Some([b'\\', b'\r', b'\n', ..]) => 3,
            _ => 0,
        }
    }

    /// Returns the next token and its start; none at the end.
    fn next(&mut self) -> Option<(Token, usize)> {
        loop {
            let start = self.at;
            let byte = *self.bytes.get(start)?;
            match byte {
                b'\n' => {
                    self.line_start = true;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c | 0 => self.at += 1,
                b'/' if matches!(self.byte(1), b'/' | b'*') => self.comment()?,
                b'%' if self.line_start && self.byte(1) == b'%' => return None,
                b'#' if self.line_start => return Some((self.directive(1), start)),
                b'%' if self.line_start && self.byte(1) == b':' => {
                    return Some((self.directive(2), start));
                }
                _ => {
                    let splice = self.splice(start);
                    if splice > 0 {
                        self.at += splice;
                        continue;
                    }
                    self.line_start = false;
                    return Some((self.token(byte), start));
                }
            }
        }
    }

    fn token(&mut self, byte: u8) -> Token {
        match byte {
            b'"' | b'\'' => {
                self.literal(byte);
                Token::Literal
            }
            b'0'..=b'9' => {
                self.number();
                Token::Literal
            }
            _ if is_ident_start(byte) => {
                while is_ident(self.byte(0)) {
                    self.at += 1;
                }
                Token::Word
            }
            _ => {
                let (as_if, length) = match (byte, self.byte(1)) {
                    (b'<', b'%') => (b'{', 2),
                    (b'%', b'>') => (b'}', 2),
                    (b'<', b':') => (b'[', 2),
                    (b':', b'>') => (b']', 2),
                    _ => (byte, 1),
                };
                self.at += length;
                Token::Punct(as_if)
            }
        }
    }

    /// A preprocessing number: C23's digit separators must not start a character constant.
    fn number(&mut self) {
        loop {
            let (byte, next) = (self.byte(0), self.byte(1));
            let sign = matches!(byte, b'e' | b'E' | b'p' | b'P') && matches!(next, b'+' | b'-');
            if sign || (byte == b'\'' && is_ident(next)) {
                self.at += 2;
            } else if is_ident(byte) || byte == b'.' {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// A literal ends at its quote. An unterminated one ends at the end of the line, as in C.
    fn literal(&mut self, quote: u8) {
        let start = self.at;
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => break,
                b'\\' => self.at += self.splice(self.at).max(2),
                _ => {
                    self.at += 1;
                    if byte == quote {
                        return;
                    }
                }
            }
        }
        self.at = self.at.min(self.bytes.len());
        let what = if quote == b'"' {
            "string"
        } else {
            "character constant"
        };
        self.cause.get_or_insert((start, what));
    }

    /// `None`: it is unterminated, and nothing follows.
    fn comment(&mut self) -> Option<()> {
        let start = self.at;
        if self.byte(1) == b'/' {
            self.rest_of_line();
            self.comments.push((start, self.at));
            return Some(());
        }
        let inside = &self.bytes[start + 2..];
        match inside.windows(2).position(|w| w == b"*/") {
            Some(n) => {
                self.at = start + 2 + n + 2;
                self.comments.push((start, self.at));
                Some(())
            }
            None => {
                self.cause = Some((start, "comment"));
                self.at = self.bytes.len();
                None
            }
        }
    }

    fn rest_of_line(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == b'\n' {
                return;
            }
            self.at += self.splice(self.at).max(1);
        }
    }

    /// A preprocessor line. Its braces do not count, and its quotes need not be paired (`#error
    /// don't`).
    fn directive(&mut self, mark: usize) -> Token {
        self.at += mark;
        while matches!(self.byte(0), b' ' | b'\t') {
            self.at += 1;
        }
        let word = self.at;
        while is_ident(self.byte(0)) {
            self.at += 1;
        }
        let kind = match &self.bytes[word..self.at] {
            b"if" | b"ifdef" | b"ifndef" => Token::If,
            b"else" | b"elif" | b"elifdef" | b"elifndef" => Token::Else,
            b"endif" => Token::EndIf,
            _ => Token::Directive,
        };
        let cause = self.cause;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => break,
                b'"' | b'\'' => self.literal(byte),
                b'/' if matches!(self.byte(1), b'/' | b'*') => {
                    if self.comment().is_none() {
                        return kind;
                    }
                }
                _ => self.at += self.splice(self.at).max(1),
            }
        }
        self.cause = cause;
        kind
    }

    fn unended(&self) -> Unended {
        Unended {
            at: self.at.min(self.bytes.len()),
            cause: self.cause,
        }
    }
}

/// Scans from after a `{` to its `}`. Returns the position of the `}` and the one after it. Passes
/// every identifier to `word`. In `#if … #else … #endif` each branch starts with the brace depth of
/// its `#if`.
pub(crate) fn block_end(
    bytes: &[u8],
    from: usize,
    word: &mut dyn FnMut(usize, usize),
) -> Result<(usize, usize), Unended> {
    let mut lexer = Lexer::new(bytes, from);
    let mut depth = 1usize;
    let mut branches = Vec::new();
    // The number of open `#if`s inside a group that `#if 0` removes, including that one.
    let mut dead = 0usize;
    while let Some((token, start)) = lexer.next() {
        match token {
            Token::If if dead > 0 => dead += 1,
            Token::EndIf if dead > 1 => dead -= 1,
            Token::Else | Token::EndIf if dead == 1 => {
                dead = 0;
                if token == Token::EndIf {
                    branches.pop();
                }
            }
            _ if dead > 0 => {}
            Token::Punct(b'{') => depth += 1,
            Token::Punct(b'}') => {
                depth -= 1;
                if depth == 0 {
                    return Ok((start, lexer.at));
                }
            }
            Token::Word => word(start, lexer.at),
            Token::If => {
                branches.push(depth);
                dead = usize::from(is_if_0(&bytes[start..lexer.at]));
            }
            Token::Else => depth = branches.last().copied().unwrap_or(depth),
            Token::EndIf => {
                branches.pop();
            }
            _ => {}
        }
    }
    Err(lexer.unended())
}

/// Whether a preprocessor line is `#if 0`.
fn is_if_0(line: &[u8]) -> bool {
    let words = line
        .split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty());
    words.take(3).eq([&b"#if"[..], b"0"]) || line.starts_with(b"#if 0 /")
}

/// The position of a `%%` at the start of a line after `from`, which ends all C text.
pub(crate) fn divider(bytes: &[u8], from: usize) -> Option<usize> {
    let mut lexer = Lexer::new(bytes, from);
    while lexer.next().is_some() {}
    bytes[lexer.at..].starts_with(b"%%").then_some(lexer.at)
}

/// The positions of comments in a C text.
pub(crate) fn comments(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut lexer = Lexer::new(bytes, 0);
    while lexer.next().is_some() {}
    lexer.comments
}

/// Scans from after a `%{` to its `%}` and returns the position of that.
pub(crate) fn fence_end(bytes: &[u8], from: usize) -> Result<usize, Unended> {
    let mut lexer = Lexer::new(bytes, from);
    while let Some((token, start)) = lexer.next() {
        if token == Token::Punct(b'%') && bytes.get(start + 1) == Some(&b'}') {
            return Ok(start);
        }
    }
    Err(lexer.unended())
}

/// Whether a C declaration starts at `from`, and its end. Before an initialiser a declaration
/// contains only names, brackets, stars and commas. If anything else is found, it is not a
/// declaration, and its position is returned.
fn declaration(bytes: &[u8], from: usize) -> Result<usize, usize> {
    let mut lexer = Lexer::new(bytes, from);
    let (mut depth, mut initialiser, mut body, mut last) = (0usize, false, false, 0u8);
    let mut words = 0usize;
    while let Some((token, _)) = lexer.next() {
        let punct = if let Token::Punct(p) = token { p } else { 0 };
        words += usize::from(depth == 0 && token == Token::Word);
        match punct {
            b'{' | b'(' | b'[' => {
                let begins = depth == 0 && punct == b'{' && last == b')' && !initialiser;
                // `Q(\n) { … }` is a rule: a function has a type before its name.
                if begins && words < 2 {
                    return Err(lexer.at);
                }
                body |= begins;
                depth += 1;
            }
            b'}' | b')' | b']' => {
                if depth == 0 {
                    return Err(lexer.at);
                }
                depth -= 1;
                if depth == 0 && body {
                    return Ok(lexer.at);
                }
            }
            b';' if depth == 0 => return Ok(lexer.at),
            b'=' if depth == 0 => initialiser = true,
            b',' | b'*' => {}
            _ if depth > 0 || initialiser || token == Token::Word => {}
            _ if matches!(token, Token::Punct(_) | Token::Literal) => return Err(lexer.at),
            _ => {}
        }
        last = punct;
    }
    Err(lexer.at.max(from))
}

/// Whether `word` can only start a C declaration.
pub(crate) fn is_declaration_word(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "_Alignas",
        "_Atomic",
        "_Bool",
        "_Complex",
        "_Static_assert",
        "_Thread_local",
        "auto",
        "bool",
        "char",
        "const",
        "double",
        "enum",
        "extern",
        "float",
        "inline",
        "int",
        "long",
        "register",
        "short",
        "signed",
        "static",
        "struct",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
    ];
    WORDS.binary_search(&word).is_ok()
}

/// Whether `word`, including its `#`, starts a preprocessor line.
pub(crate) fn is_preprocessor_word(word: &str) -> bool {
    matches!(
        word.strip_prefix('#').unwrap_or_default(),
        "include"
            | "define"
            | "undef"
            | "if"
            | "ifdef"
            | "ifndef"
            | "else"
            | "elif"
            | "endif"
            | "pragma"
    )
}

/// Whether `word` starts a C statement.
pub(crate) fn is_statement_word(word: &str) -> bool {
    matches!(
        word,
        "if" | "for" | "while" | "do" | "switch" | "return" | "goto" | "break"
    )
}

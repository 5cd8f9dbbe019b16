//! Parses groups and flags, and refuses what else PCRE2 writes with parentheses. With `%option
//! backtracking yes` it also parses the constructs that libpcre2 matches. Must not know: rules.

use nest_diag::Code;

use super::parser::{Abort, DEEPEST, Parser};
use crate::ast::{Atom, Flags, Reference, Special};
use crate::reader::{is_ident, is_ident_start, shown};

/// The meaning of the text after `(?`.
enum Opening {
    /// A group follows.
    Group(Flags),
    /// A capturing group follows, perhaps with a name.
    Capture(Option<String>),
    /// A look-around follows.
    Look { behind: bool, negative: bool },
    /// An atomic group follows.
    Atomic,
    /// The construct is complete, such as `(?i)` or `(?P=name)`; `None` if it is a comment or was refused.
    Done(Option<Atom>),
}

impl Parser<'_, '_> {
    /// Parses a group; the parser is after its `(`.
    pub(super) fn group(&mut self, start: usize) -> Result<Option<Atom>, Abort> {
        if self.depth >= DEEPEST {
            self.r.report(
                Code::E0008,
                start,
                start + 1,
                format!("groups are nested deeper than {DEEPEST} levels"),
                "define a macro for a part of the pattern",
            );
            return Err(Abort);
        }
        let opening = match self.r.peek() {
            Some(b'?') => {
                self.r.at += 1;
                match self.opening(start)? {
                    Opening::Done(atom) => return Ok(atom),
                    opening => opening,
                }
            }
            Some(b'*')
                if self
                    .r
                    .peek_at(1)
                    .is_some_and(|b| is_ident_start(b) || b == b':') =>
            {
                self.r.at += 1;
                self.verb(start)?;
                return Ok(None);
            }
            _ => {
                self.groups += 1;
                if self.names.backtracking {
                    Opening::Capture(None)
                } else {
                    Opening::Group(Flags::default())
                }
            }
        };
        let leading = self.leading;
        self.leading &= !matches!(opening, Opening::Look { behind: true, .. });
        self.depth += 1;
        let alt = self.alt()?;
        self.depth -= 1;
        if !self.r.eat(")") {
            self.unclosed(start);
            return Err(Abort);
        }
        Ok(Some(match opening {
            Opening::Capture(name) => Atom::Special(Special::Capture { name, alt }),
            Opening::Look { behind, negative } => {
                self.leading = leading; // it matches no byte
                Atom::Special(Special::Look {
                    behind,
                    negative,
                    alt,
                })
            }
            Opening::Atomic => Atom::Special(Special::Atomic {
                possessive: false,
                alt,
            }),
            Opening::Group(flags) => Atom::Group { flags, alt },
            Opening::Done(_) => return Ok(None),
        }))
    }

    fn unclosed(&mut self, start: usize) {
        self.r.report(
            Code::E0313,
            start,
            start + 1,
            "this parenthesis is not closed",
            "close it with `)` before the action; quote it to match text: \"(\"",
        );
    }

    fn opening(&mut self, start: usize) -> Result<Opening, Abort> {
        let group = Ok(Opening::Group(Flags::default()));
        if self.r.eat("#") {
            if self.skip_to_close() {
                return Ok(Opening::Done(None));
            }
            self.r.report(
                Code::E0003,
                start,
                start + 3,
                "the comment is not terminated",
                "end it with `)`",
            );
            return Err(Abort);
        }
        if self.r.eat(":") {
            return group;
        }
        for (text, what) in [
            ("<=", "look-behind"),
            ("<!", "look-behind"),
            ("<*", "look-behind"),
            ("=", "look-ahead"),
            ("!", "look-ahead"),
            ("*", "look-ahead"),
        ] {
            if self.r.eat(text) {
                let (behind, kind) = match text.strip_prefix('<') {
                    Some(kind) => (true, kind),
                    None => (false, text),
                };
                if self.names.backtracking && kind != "*" {
                    let negative = kind == "!";
                    return Ok(Opening::Look { behind, negative });
                }
                self.look_around(start, what, kind != "*");
                return group;
            }
        }
        if self.r.eat(">") {
            if self.names.backtracking {
                return Ok(Opening::Atomic);
            }
            self.backtracking(start, "an atomic group", "write `(?: )`");
            return group;
        }
        if self.r.eat("|") {
            self.refuse(
                start,
                Code::E0309,
                "`(?|` renumbers groups, but groups have no numbers here",
                "write `(?: )`",
            );
            return group;
        }
        if self.r.eat("(") {
            self.refuse_backtracking(start, "a conditional group", "write two rules");
            if self.skip_to_close() {
                return group;
            }
            self.unclosed(start);
            return Err(Abort);
        }
        self.named_or_flags(start)
    }

    fn named_or_flags(&mut self, start: usize) -> Result<Opening, Abort> {
        let (byte, next) = (self.r.peek().unwrap_or(0), self.r.peek_at(1).unwrap_or(0));
        match (byte, next) {
            (b'<' | b'\'', _) | (b'P', b'<') => {
                self.r.at += if byte == b'P' { 2 } else { 1 };
                let from = self.r.at;
                self.r.at = self.r.ident_end(from);
                let name = self.r.text(from, self.r.at).to_owned();
                if !self.r.eat(">") {
                    self.r.eat("'");
                }
                if self.names.backtracking && !name.is_empty() {
                    self.groups += 1;
                    return Ok(Opening::Capture(Some(name)));
                }
                self.refuse(
                    start,
                    Code::E0309,
                    "a named group",
                    "write `( )`, groups have no names or numbers; `$1`, `$2`, … are the elements",
                );
                Ok(Opening::Group(Flags::default()))
            }
            (b'P', b'=') if self.names.backtracking => {
                let from = self.r.at + 2;
                self.r.at = self.r.ident_end(from);
                let name = self.r.text(from, self.r.at).to_owned();
                if name.is_empty() || !self.r.eat(")") {
                    return self.refused(
                        start,
                        "a back-reference without a name",
                        "write `\\k<name>`",
                    );
                }
                let reference = Special::Reference(Reference::Name(name));
                Ok(Opening::Done(Some(Atom::Special(reference))))
            }
            (b'P', b'=') => self.refused(
                start,
                "a back-reference",
                &format!("write the text again{}", super::special::OTHER),
            ),
            (b'P', b'>') | (b'R' | b'&' | b'0'..=b'9', _) | (b'+' | b'-', b'0'..=b'9') => self
                .refused(
                    start,
                    "a recursion",
                    "define a macro for the part and write `{NAME}`",
                ),
            (b'C', _) => {
                self.r.at += 1;
                let closed = self.skip_to_close();
                self.refuse(
                    start,
                    Code::E0315,
                    "a callout has no meaning here",
                    "leave it off",
                );
                if closed {
                    Ok(Opening::Done(None))
                } else {
                    Err(Abort)
                }
            }
            _ => self.flags(start),
        }
    }

    /// Flags, up to `)` or `:`.
    fn flags(&mut self, start: usize) -> Result<Opening, Abort> {
        let mut flags = Flags::default();
        let caret = self.r.eat("^");
        if caret {
            flags.caseless = Some(false);
            flags.dot_all = Some(false);
            flags.multiline = self.names.backtracking.then_some(false);
        }
        let mut on = true;
        loop {
            let at = self.r.at;
            let Some(byte) = self.r.peek() else {
                self.unclosed(start);
                return Err(Abort);
            };
            self.r.at += 1;
            let value = Some(on);
            match byte {
                b')' => return Ok(Opening::Done(Some(Atom::SetFlags(flags)))),
                b':' => return Ok(Opening::Group(flags)),
                // In PCRE2 too, a letter on both sides of the hyphen is unset.
                b'-' if on && !caret => on = false,
                b'i' => flags.caseless = value,
                b's' => flags.dot_all = value,
                b'U' => flags.swap_greed = value,
                b'm' if self.names.backtracking => flags.multiline = value,
                b'n' | b'J' if self.names.backtracking => self.refuse(
                    at,
                    Code::E0315,
                    "the flags `n` and `J` change which groups have numbers and names",
                    "remove it: write `(?: )` for a group without a number",
                ),
                // They change `^` within a pattern, numbered groups and duplicate names, all of
                // which are refused elsewhere.
                b'm' | b'n' | b'J' => {}
                b'x' if !on => {}
                b'x' => {
                    while self.r.eat("x") {}
                    let end = self.r.at;
                    self.r.report(
                        Code::E0315,
                        at,
                        end,
                        "the flag `x` changes what blanks and `#` mean",
                        "remove it: blanks do not count inside `( )`, comments are `/* */`",
                    );
                }
                _ => {
                    let end = self.r.char_end(at);
                    let found = shown(self.r.text(at, end));
                    self.r.report(
                        Code::E0309,
                        start,
                        end,
                        format!("`{found}` has no meaning after `(?`"),
                        "groups are `( )`, `(?: )` and `(?i: )`, flags `i`, `s`, `U`",
                    );
                    self.r.at = at;
                    return Ok(Opening::Group(flags));
                }
            }
        }
    }

    /// Refuses `(*VERB)` and `(*pla: )`; the parser is after `(*`.
    fn verb(&mut self, start: usize) -> Result<(), Abort> {
        let word = self.r.at;
        while self.r.peek().is_some_and(is_ident) {
            self.r.at += 1;
        }
        let name = self.r.text(word, self.r.at);
        let settings = ["UTF", "UCP", "CR", "LF", "CRLF", "ANY", "ANYCRLF", "NUL"];
        let (code, message, fix) = if settings.contains(&name)
            || ["NO_", "LIMIT_", "BSR_", "NOTEMPTY"]
                .iter()
                .any(|p| name.starts_with(p))
        {
            (
                Code::E0315,
                format!("`(*{name}` configures another matcher"),
                "leave it off",
            )
        } else {
            let message = format!("`(*{name}` needs backtracking");
            (
                Code::E0308,
                message,
                "remove it; the longest match wins, then the first rule",
            )
        };
        let end = self.r.at;
        self.r.report(code, start, end, message, fix);
        self.close_nested(start)
    }

    /// Skips past the matching `)`, including inner groups.
    fn close_nested(&mut self, start: usize) -> Result<(), Abort> {
        let mut depth = 1usize;
        while let Some(byte) = self.r.peek() {
            self.r.at += 1;
            match byte {
                b'\\' if self.r.at < self.r.end => self.r.at = self.r.char_end(self.r.at),
                b'\n' => break,
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
        self.r.at = start + 1;
        Err(Abort)
    }

    /// Skips past the next `)` of this line. Returns whether there is one.
    fn skip_to_close(&mut self) -> bool {
        let line = self.r.line_end(self.r.at);
        let close = self.r.bytes[self.r.at..line]
            .iter()
            .position(|b| *b == b')');
        if let Some(n) = close {
            self.r.at += n + 1;
        }
        close.is_some()
    }

    /// Refuses a look-around; `other`: `%option backtracking yes` would allow it.
    fn look_around(&mut self, start: usize, what: &str, other: bool) {
        let fix = "what follows a match stays unread for the next rule: remove it";
        let other = if other { super::special::OTHER } else { "" };
        self.refuse(
            start,
            Code::E0307,
            &format!("a {what} depends on text outside the match"),
            &format!("{fix}{other}"),
        );
    }

    fn refused(&mut self, start: usize, what: &str, fix: &str) -> Result<Opening, Abort> {
        let closed = self.skip_to_close();
        self.refuse_backtracking(start, what, fix);
        if closed {
            Ok(Opening::Done(None))
        } else {
            Err(Abort)
        }
    }

    /// Refuses the construct from `start` to here, which automata cannot implement but `%option
    /// backtracking yes` allows.
    pub(super) fn backtracking(&mut self, start: usize, what: &str, fix: &str) {
        self.refuse_backtracking(start, what, &format!("{fix}{}", super::special::OTHER));
    }

    fn refuse_backtracking(&mut self, start: usize, what: &str, fix: &str) {
        self.refuse(
            start,
            Code::E0308,
            &format!("{what} needs backtracking"),
            fix,
        );
    }

    pub(super) fn refuse(&mut self, start: usize, code: Code, message: &str, fix: &str) {
        let end = self.r.at;
        self.r.report(code, start, end, message, fix);
    }
}

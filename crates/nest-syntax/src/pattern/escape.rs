//! Parses backslash escapes outside of strings, as in PCRE2.

use nest_diag::Code;

use super::parser::{Abort, Parser};
use super::special::OTHER;
use crate::ast::{Assertion, Atom, ByteSet, Reference, Special};

/// The meaning of an escape.
pub(super) enum Escape {
    /// One byte.
    Byte(u8),
    /// A class; negated or not.
    Set(ByteSet, bool),
    /// `\C`: any byte.
    Any,
    /// `\A`.
    Start,
    /// `\Q`.
    Quote,
    /// What `%option backtracking yes` allows.
    Special(Special),
    /// Nothing: `\E`, or an escape that was refused.
    Nothing,
}

/// The set of `\d`, `\h`, `\N`, `\s`, `\v`, `\w`, by its lower-case letter.
fn type_set(letter: u8) -> ByteSet {
    let mut set = ByteSet::EMPTY;
    let members: &[u8] = match letter {
        b's' => b" \t\n\x0b\x0c\r",
        b'h' => b" \t\xa0",
        b'v' => b"\n\x0b\x0c\r\x85",
        b'n' => b"\n",
        _ => b"",
    };
    members.iter().for_each(|b| set.insert(*b));
    if matches!(letter, b'd' | b'w') {
        set.insert_range(b'0', b'9');
    }
    if letter == b'w' {
        set.insert_range(b'a', b'z');
        set.insert_range(b'A', b'Z');
        set.insert(b'_');
    }
    set
}

impl Parser<'_, '_> {
    /// Parses an escape; the parser is after its backslash.
    pub(super) fn escape(&mut self, start: usize, in_class: bool) -> Result<Escape, Abort> {
        let Some(byte) = self.r.peek() else {
            self.refuse(
                start,
                Code::E0306,
                "nothing follows the backslash",
                "a macro ends with its line; write `\\\\` for a backslash",
            );
            return Ok(Escape::Nothing);
        };
        if matches!(byte, b'\n' | b'\r') {
            self.refuse(
                start,
                Code::E0306,
                "a line end follows the backslash",
                "write `\\n` for a line end, `\\\\` for a backslash; a rule's pattern goes on in \
                 the next line without it",
            );
            return Ok(Escape::Nothing);
        }
        if byte >= 0x80 {
            return Ok(Escape::Nothing);
        }
        self.r.at += 1;
        let value = match byte {
            b'a' => 0x07,
            b'e' => 0x1b,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' if in_class => 0x08,
            b'0'..=b'9' => return Ok(self.digit_escape(start, byte, in_class)),
            b'c' => return Ok(self.control(start)),
            b'o' => return Ok(self.braced(start, 8)),
            b'x' => return Ok(self.hexadecimal(start)),
            b'd' | b'h' | b's' | b'v' | b'w' => return Ok(Escape::Set(type_set(byte), false)),
            b'D' | b'H' | b'S' | b'V' | b'W' => {
                return Ok(Escape::Set(type_set(byte.to_ascii_lowercase()), true));
            }
            b'E' => return Ok(Escape::Nothing),
            b'Q' => return Ok(Escape::Quote),
            b'A' if !in_class => return Ok(Escape::Start),
            b'C' if !in_class => return Ok(Escape::Any),
            b'N' if !in_class && !self.r.looking_at("{U+") => {
                return Ok(Escape::Set(type_set(b'n'), true));
            }
            b'b' | b'B' | b'z' | b'Z' if !in_class => {
                let assertion = match byte {
                    b'b' => Assertion::Boundary,
                    b'B' => Assertion::NoBoundary,
                    b'z' => Assertion::End,
                    _ => Assertion::EndOrLineEnd,
                };
                return Ok(self.assertion_escape(start, assertion));
            }
            b'R' if !in_class && self.names.backtracking => {
                return Ok(Escape::Special(Special::LineEnds));
            }
            b'g' | b'k' if !in_class => {
                let reference = self.reference(byte);
                return Ok(self.back_reference(start, reference));
            }
            _ if byte.is_ascii_alphabetic() => {
                self.refuse_letter(start, byte, in_class);
                return Ok(Escape::Nothing);
            }
            _ => byte,
        };
        Ok(Escape::Byte(value))
    }

    /// `\0`, `\12`, `\377`; a back-reference where PCRE2 takes it for one.
    fn digit_escape(&mut self, start: usize, first: u8, in_class: bool) -> Escape {
        if first != b'0' && !in_class {
            let mut end = self.r.at;
            while end < self.r.end && self.r.bytes[end].is_ascii_digit() {
                end += 1;
            }
            let number = self.r.text(start + 1, end).parse().unwrap_or(u32::MAX);
            if number < 10 || first >= b'8' || number <= self.groups {
                self.r.at = end;
                return self.back_reference(start, Some(Reference::Number(number)));
            }
        }
        if first >= b'8' {
            return Escape::Byte(first);
        }
        self.r.at -= 1;
        let value = self.number(8, 3);
        self.one_byte(start, value)
    }

    fn one_byte(&mut self, start: usize, value: Option<u32>) -> Escape {
        if let Some(Ok(byte)) = value.map(u8::try_from) {
            return Escape::Byte(byte);
        }
        self.refuse(
            start,
            Code::E0306,
            "the escape is more than one byte",
            "patterns match bytes: write each byte as `\\xhh`",
        );
        Escape::Nothing
    }

    /// `\cX`; a blank here separates elements.
    fn control(&mut self, start: usize) -> Escape {
        match self.r.peek().filter(|b| b.is_ascii_graphic()) {
            Some(byte) => {
                self.r.at += 1;
                Escape::Byte(byte.to_ascii_uppercase() ^ 0x40)
            }
            None => {
                self.refuse(start, Code::E0306, "`\\c` needs a letter", "write `\\cX`");
                Escape::Nothing
            }
        }
    }

    /// `\xh`, `\xhh`, `\x{h…}`.
    fn hexadecimal(&mut self, start: usize) -> Escape {
        if self.r.peek() == Some(b'{') {
            return self.braced(start, 16);
        }
        let digits = self.r.at;
        let value = self.number(16, 2);
        if self.r.at == digits {
            self.refuse(
                start,
                Code::E0306,
                "`\\x` needs a hexadecimal digit",
                "write `\\x41`; `\\0` is NUL",
            );
            return Escape::Nothing;
        }
        self.one_byte(start, value)
    }

    /// `\o{101}`, `\x{41}`; the parser is at the brace.
    fn braced(&mut self, start: usize, base: u32) -> Escape {
        if self.r.eat("{") {
            let digits = self.r.at;
            let value = self.number(base, usize::MAX);
            if self.r.at > digits && self.r.eat("}") {
                return self.one_byte(start, value);
            }
        }
        self.r.at = start + 2;
        self.braces();
        let (what, fix) = if base == 8 {
            ("`\\o`", "write `\\o{101}`")
        } else {
            ("`\\x{`", "write `\\x{41}`")
        };
        self.refuse(start, Code::E0306, &format!("{what} is not complete"), fix);
        Escape::Nothing
    }

    /// Letters that have another meaning in PCRE2, or none.
    fn refuse_letter(&mut self, start: usize, byte: u8, in_class: bool) {
        let text = format!("`\\{}`", char::from(byte));
        match byte {
            b'p' | b'P' | b'X' => {
                self.braces();
                self.refuse(
                    start,
                    Code::E0315,
                    &format!("{text} is for Unicode, but patterns match bytes"),
                    "write a class of bytes, such as `[[:alpha:]]`",
                );
            }
            _ if in_class => self.refuse(
                start,
                Code::E0306,
                &format!("{text} has no meaning in a class"),
                "remove the backslash to match the letter",
            ),
            b'G' => {
                let end = self.r.at;
                self.anchor(start, end, &text);
            }
            b'K' => self.refuse(
                start,
                Code::E0308,
                "`\\K` needs backtracking",
                "write the part before it as a separate element: `$1`, `$2`, … are the parts",
            ),
            b'R' => self.refuse(
                start,
                Code::E0308,
                "`\\R` is an atomic group, which needs backtracking",
                &format!("write `(\\r\\n|\\n)`, or a macro for it{}", OTHER),
            ),
            b'N' => {
                self.braces();
                self.refuse(
                    start,
                    Code::E0315,
                    "`\\N{U+…}` is for Unicode, but patterns match bytes",
                    "write the character in a string",
                );
            }
            _ => self.refuse(
                start,
                Code::E0306,
                &format!("{text} is not an escape"),
                "remove the backslash to match the letter",
            ),
        }
    }

    fn assertion_escape(&mut self, start: usize, assertion: Assertion) -> Escape {
        match self.assertion(start, assertion) {
            Some(Atom::Special(special)) => Escape::Special(special),
            _ => Escape::Nothing,
        }
    }

    /// A back-reference, which ends here. `reference`: none if it cannot be understood.
    fn back_reference(&mut self, start: usize, reference: Option<Reference>) -> Escape {
        match reference {
            Some(reference) if self.names.backtracking => {
                return Escape::Special(Special::Reference(reference));
            }
            None if self.names.backtracking => self.refuse(
                start,
                Code::E0306,
                "this is not a back-reference",
                "write `\\1`, `\\g{-1}` or `\\k<name>`",
            ),
            _ => self.backtracking(
                start,
                "a back-reference",
                "match both parts and compare them in the action",
            ),
        }
        Escape::Nothing
    }

    /// Skips `{…}`.
    pub(super) fn braces(&mut self) {
        if self.r.peek() == Some(b'{') {
            self.skip_past(b'}');
        }
    }

    /// Skips a name in brackets up to `close`, if there is one.
    pub(super) fn skip_past(&mut self, close: u8) {
        let inside = &self.r.bytes[self.r.at + 1..self.r.end];
        let name = |b: &u8| crate::reader::is_ident(*b) || b"+-^&= ".contains(b);
        if let Some(n) = inside.iter().position(|b| !name(b))
            && inside[n] == close
        {
            self.r.at += n + 2;
        }
    }
}

//! Parses character classes in brackets.

use nest_diag::{Code, nearest};

use super::escape::Escape;
use super::parser::{Abort, Parser};
use crate::ast::{Atom, ByteSet};

/// A member of a class.
enum Member {
    /// A byte, which may begin or end a range.
    Byte(u8),
    /// Several bytes, which may not.
    Set(ByteSet),
    /// Nothing: an error, or `\E`.
    Nothing,
}

const NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// The bytes of a POSIX class in the C locale.
fn posix(name: &str) -> ByteSet {
    let mut set = ByteSet::EMPTY;
    for byte in 0..=127u8 {
        let member = match name {
            "alnum" => byte.is_ascii_alphanumeric(),
            "alpha" => byte.is_ascii_alphabetic(),
            "ascii" => true,
            "blank" => matches!(byte, b' ' | b'\t'),
            "cntrl" => byte.is_ascii_control(),
            "digit" => byte.is_ascii_digit(),
            "graph" => byte.is_ascii_graphic(),
            "lower" => byte.is_ascii_lowercase(),
            "print" => byte.is_ascii_graphic() || byte == b' ',
            "punct" => byte.is_ascii_punctuation(),
            "space" => matches!(byte, b' ' | b'\t'..=b'\r'),
            "upper" => byte.is_ascii_uppercase(),
            "word" => byte.is_ascii_alphanumeric() || byte == b'_',
            _ => byte.is_ascii_hexdigit(),
        };
        if member {
            set.insert(byte);
        }
    }
    set
}

impl Parser<'_, '_> {
    /// Parses a class; the parser is after its `[`.
    pub(super) fn class(&mut self, start: usize) -> Result<Option<Atom>, Abort> {
        for word in ["[[:<:]]", "[[:>:]]"] {
            if self.r.bytes[start..self.r.end].starts_with(word.as_bytes()) {
                self.r.at = start + word.len();
                let end = self.r.at;
                self.anchor(start, end, &format!("`{word}`"));
                return Ok(None);
            }
        }
        self.r.at = start;
        if let Some(end) = self.posix_end() {
            self.r.at = end;
            let fix = format!("write `[{}]`", self.r.text(start, end));
            self.refuse(start, Code::E0305, "a POSIX class is outside a class", &fix);
            return Ok(None);
        }
        self.r.at = start + 1;
        let mut quoting = false;
        self.skip_empty_quotes(&mut quoting);
        let negated = self.r.eat("^");
        let mut set = ByteSet::EMPTY;
        let mut first = true;
        let mut wide = false;
        loop {
            let at = self.r.at;
            if !quoting && !first && self.r.eat("]") {
                return Ok(Some(Atom::Class { set, negated }));
            }
            let member = self.member(start, &mut quoting, &mut wide)?;
            // `\Q` and `\E` are not members: a `]` after them is still the first member.
            let said_nothing = matches!(member, Member::Nothing)
                && matches!(self.r.bytes.get(at..at + 2), Some(b"\\Q" | b"\\E"));
            first &= said_nothing;
            match member {
                Member::Byte(low) => {
                    self.skip_empty_quotes(&mut quoting);
                    if self.range_follows(quoting) {
                        self.range(start, at, low, &mut set, &mut quoting, &mut wide)?;
                    } else {
                        set.insert(low);
                    }
                }
                Member::Set(more) => {
                    set = set.union(&more);
                    if self.range_follows(quoting) {
                        self.r.at += 1;
                        self.refuse(
                            at,
                            Code::E0305,
                            "a range cannot start with a class",
                            "to match a hyphen, write it last, or `\\-`",
                        );
                    }
                }
                Member::Nothing => {}
            }
        }
    }

    /// `\E` and `\Q\E` have no effect, not even between a byte and its hyphen.
    fn skip_empty_quotes(&mut self, quoting: &mut bool) {
        loop {
            if self.r.eat("\\E") {
                *quoting = false;
            } else if *quoting || !self.r.eat("\\Q\\E") {
                return;
            }
        }
    }

    /// Whether the hyphen here makes a range. As the last member it does not.
    fn range_follows(&self, quoting: bool) -> bool {
        !quoting
            && self.r.peek() == Some(b'-')
            && !matches!(self.r.peek_at(1), None | Some(b']' | b'\n'))
    }

    /// The rest of a range that starts with `low` at `at`.
    fn range(
        &mut self,
        start: usize,
        at: usize,
        low: u8,
        set: &mut ByteSet,
        quoting: &mut bool,
        wide: &mut bool,
    ) -> Result<(), Abort> {
        self.r.at += 1;
        let mut high = Member::Nothing;
        let said = self.r.diags.len();
        // `\E` and `\Q` may be between the hyphen and the end of the range.
        while matches!(high, Member::Nothing) && self.r.diags.len() == said {
            if !*quoting && self.r.peek() == Some(b']') {
                set.insert(low);
                set.insert(b'-');
                return Ok(());
            }
            high = self.member(start, quoting, wide)?;
        }
        match high {
            Member::Byte(high) if high < low => {
                let fix = format!("begin the range with {:?}", char::from(high));
                self.refuse(at, Code::E0305, "the range is out of order", &fix);
            }
            Member::Byte(high) => set.insert_range(low, high),
            Member::Set(_) => self.refuse(
                at,
                Code::E0305,
                "a range cannot end with a class",
                "to match a hyphen, write it last, or `\\-`",
            ),
            Member::Nothing => {}
        }
        Ok(())
    }

    fn member(
        &mut self,
        class: usize,
        quoting: &mut bool,
        wide: &mut bool,
    ) -> Result<Member, Abort> {
        let at = self.r.at;
        let Some(byte) = self.r.peek().filter(|b| *b != b'\n') else {
            let end = self.r.bytes[class..at].trim_ascii_end().len() + class;
            self.r.report(
                Code::E0003,
                class,
                end,
                "the class is not terminated",
                "end it with `]` on the same line; to match `]`, write it first, or `\\]`",
            );
            self.r.at = class + 1;
            return Err(Abort);
        };
        if byte >= 0x80 {
            let end = self.r.char_end(at);
            self.r.at = end;
            let text = self.r.text(at, end).to_owned();
            if !*wide {
                self.r.report(
                    Code::E0312,
                    at,
                    end,
                    format!("`{text}` is more than one byte, and a class contains single bytes"),
                    format!("write an alternative: `([…]|\"{text}\")`"),
                );
            }
            *wide = true;
            return Ok(Member::Nothing);
        }
        if *quoting && !self.r.looking_at("\\E") {
            self.r.at += 1;
            return Ok(Member::Byte(byte));
        }
        if byte == b'[' && self.posix_end().is_some() {
            return Ok(self.posix_class(at));
        }
        self.r.at += 1;
        if byte != b'\\' {
            return Ok(Member::Byte(byte));
        }
        Ok(match self.escape(at, true)? {
            Escape::Byte(byte) => Member::Byte(byte),
            Escape::Set(set, false) => Member::Set(set),
            Escape::Set(set, true) => Member::Set(set.complement()),
            Escape::Quote => {
                *quoting = true;
                Member::Nothing
            }
            Escape::Any | Escape::Start | Escape::Special(_) | Escape::Nothing => {
                *quoting = false;
                Member::Nothing
            }
        })
    }

    /// The position after the `[:…:]`, `[.….]` or `[=…=]` that starts here, recognised as in PCRE2.
    fn posix_end(&self) -> Option<usize> {
        let mark = self.r.peek_at(1)?;
        if self.r.peek() != Some(b'[') || !matches!(mark, b':' | b'.' | b'=') {
            return None;
        }
        let mut at = self.r.at + 2;
        while at + 1 < self.r.end {
            let (byte, next) = (self.r.bytes[at], self.r.bytes[at + 1]);
            match byte {
                b'\\' if matches!(next, b']' | b'\\') => at += 1,
                b']' | b'\n' => return None,
                b'[' if next == mark => return None,
                _ if byte == mark && next == b']' => return Some(at + 2),
                _ => {}
            }
            at += 1;
        }
        None
    }

    fn posix_class(&mut self, at: usize) -> Member {
        let end = self.posix_end().unwrap_or(at + 1);
        let kind = self.r.bytes[at + 1];
        let text = self.r.text(at + 2, end - 2);
        self.r.at = end;
        if kind != b':' {
            self.refuse(
                at,
                Code::E0305,
                "collating elements are not supported",
                "write the bytes themselves",
            );
            return Member::Nothing;
        }
        let (negated, name) = text
            .strip_prefix('^')
            .map_or((false, text), |name| (true, name));
        if !NAMES.contains(&name) {
            let meant = if name.len() > 16 {
                None
            } else {
                nearest(name, NAMES)
            };
            let fix = meant.map_or_else(
                || format!("the classes are {}", NAMES.join(", ")),
                |meant| format!("did you mean `{meant}`?"),
            );
            self.refuse(
                at,
                Code::E0305,
                &format!("there is no class `{name}`"),
                &fix,
            );
            return Member::Nothing;
        }
        // When case is ignored, PCRE2 treats `[:^upper:]` as "not a letter". A set that is
        // case-folded later cannot represent that.
        if negated && matches!(name, "upper" | "lower") {
            self.refuse(
                at,
                Code::E0305,
                &format!("`[:^{name}:]` has another meaning when case is ignored"),
                &format!("write `[^[:{name}:]]`"),
            );
            return Member::Nothing;
        }
        let set = posix(name);
        Member::Set(if negated { set.complement() } else { set })
    }
}

//! Parses literal text: strings with C's escapes, and `\Q…\E`.
//!
//! A string consists of bytes: the source between the quotes in UTF-8, with the escapes of C17 and
//! GNU C's `\e`. `\u00e9` and `\U0001f600` stand for the UTF-8 bytes of a character.

use nest_diag::Code;

use super::parser::{Abort, Parser};
use crate::ast::{Alt, Atom, Flags, Piece};
use crate::reader::shown;

impl Parser<'_, '_> {
    /// Parses a string; the parser is after its opening quote.
    pub(super) fn string(&mut self, start: usize) -> Result<Vec<u8>, Abort> {
        let mut bytes = Vec::new();
        loop {
            let at = self.r.at;
            match self.r.peek() {
                None | Some(b'\n') => {
                    self.unterminated(start, at);
                    return Err(Abort);
                }
                Some(b'"') => {
                    self.r.at += 1;
                    return Ok(bytes);
                }
                Some(b'\\') => {
                    self.r.at += 1;
                    self.string_escape(at, &mut bytes);
                }
                Some(byte) => {
                    self.r.at += 1;
                    bytes.push(byte);
                }
            }
        }
    }

    /// Reports the unterminated string at `start`, whose line ends at `end`. If an earlier string
    /// of the line contains the beginning of an action, that one is reported, because its missing
    /// end made the later quotes pair up wrongly.
    fn unterminated(&mut self, start: usize, end: usize) {
        let end = start + self.r.bytes[start..end].trim_ascii_end().len();
        let before = &self.r.bytes[..start];
        let line = before
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |n| n + 1);
        let action = before[line..].iter().position(|b| *b == b'{');
        let open = action.and_then(|n| before[line..line + n].iter().rposition(|b| *b == b'"'));
        let quotes = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'"').count();
        let (from, to) = match open {
            Some(n) if quotes(&before[line..line + n]) % 2 == 0 => {
                let from = line + n;
                let shut = before[from + 1..].iter().position(|b| *b == b'{');
                let to = from + 1 + shut.unwrap_or(0);
                (from, from + before[from..to].trim_ascii_end().len())
            }
            _ => (start, end),
        };
        self.r.report(
            Code::E0003,
            from,
            to,
            "the string is not terminated",
            "end it with `\"` on the same line",
        );
    }

    /// Parses an escape of a string; the parser is after its backslash.
    fn string_escape(&mut self, start: usize, bytes: &mut Vec<u8>) {
        let Some(byte) = self.r.peek() else { return };
        let simple = match byte {
            b'a' => 0x07,
            b'b' => 0x08,
            b'e' => 0x1b,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'\\' | b'"' | b'\'' | b'?' => byte,
            b'0'..=b'7' => {
                let value = self.number(8, 3);
                return self.string_byte(start, value, bytes);
            }
            b'x' => {
                self.r.at += 1;
                let digits = self.r.at;
                let value = self.number(16, usize::MAX);
                let value = if self.r.at == digits { None } else { value };
                return self.string_byte(start, value, bytes);
            }
            b'u' | b'U' => return self.string_character(start, byte, bytes),
            // A spliced line, as in C.
            b'\n' => {
                self.r.at += 1;
                return;
            }
            b'\r' if self.r.peek_at(1) == Some(b'\n') => {
                self.r.at += 2;
                return;
            }
            _ => {
                self.r.at = self.r.char_end(self.r.at);
                let end = self.r.at;
                let found = shown(self.r.text(start, end));
                self.r.report(
                    Code::E0306,
                    start,
                    end,
                    format!("`{found}` is not an escape of C strings"),
                    "write `\\\\` for a backslash; pattern escapes stand outside quotes",
                );
                return;
            }
        };
        self.r.at += 1;
        bytes.push(simple);
    }

    fn string_byte(&mut self, start: usize, value: Option<u32>, bytes: &mut Vec<u8>) {
        let end = self.r.at;
        match value.map(u8::try_from) {
            Some(Ok(byte)) => bytes.push(byte),
            Some(Err(_)) => self.r.report(
                Code::E0306,
                start,
                end,
                "the escape is more than one byte",
                "`\\x` takes all hexadecimal digits that follow: begin a new string after it, \
                 \"\\x41\"\"B\"",
            ),
            None => self.r.report(
                Code::E0306,
                start,
                end,
                "`\\x` needs a hexadecimal digit",
                "write `\\x41`, or `\\\\` for a backslash",
            ),
        }
    }

    /// `\u` and `\U`: a character number, converted to UTF-8.
    fn string_character(&mut self, start: usize, kind: u8, bytes: &mut Vec<u8>) {
        let length = if kind == b'u' { 4 } else { 8 };
        self.r.at += 1;
        let digits = self.r.at;
        let value = self.number(16, length);
        let whole = self.r.at == digits + length;
        match value.filter(|_| whole).and_then(char::from_u32) {
            Some(character) => {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => {
                let end = self.r.at;
                self.r.report(
                    Code::E0306,
                    start,
                    end,
                    "the escape is not a character",
                    "write four hexadecimal digits after `\\u`, eight after `\\U`",
                );
            }
        }
    }

    /// Reads at most `most` digits in `base`; saturates. `Some(0)` if there are none.
    pub(super) fn number(&mut self, base: u32, most: usize) -> Option<u32> {
        let mut value = 0u32;
        let mut left = most;
        while let Some(digit) = self.r.peek().and_then(|b| char::from(b).to_digit(base)) {
            if left == 0 {
                break;
            }
            left -= 1;
            value = value.saturating_mul(base).saturating_add(digit);
            self.r.at += 1;
        }
        Some(value)
    }

    /// `\Q…\E` outside of a class. A quantifier after it repeats only the last byte, as in PCRE2.
    pub(super) fn quoted(&mut self, start: usize) -> Result<Option<Atom>, Abort> {
        let from = self.r.at;
        let line = self.r.line_end(from);
        let Some(n) = self.r.bytes[from..line]
            .windows(2)
            .position(|w| w == b"\\E")
        else {
            self.r.report(
                Code::E0003,
                start,
                start + 2,
                "`\\Q` is not terminated",
                "end the literal text with `\\E` on the same line",
            );
            return Err(Abort);
        };
        self.r.at = from + n + 2;
        let text = self.r.text(from, from + n);
        if !text.is_ascii() {
            self.wide(from, from + n, text);
            return Ok(None);
        }
        let bytes = text.as_bytes();
        let Some((last, head)) = bytes.split_last() else {
            return Ok(None);
        };
        if head.is_empty() {
            return Ok(Some(Atom::Bytes(vec![*last])));
        }
        let (quant, possessive) = self.quantifier()?;
        if quant.is_none() {
            return Ok(Some(Atom::Bytes(bytes.to_vec())));
        }
        let split = from + head.len();
        let head = Piece {
            atom: Atom::Bytes(head.to_vec()),
            quant: None,
            span: self.r.span(from, split),
        };
        let span = self.r.span(split, self.r.at);
        let tail = Piece {
            atom: Atom::Bytes(vec![*last]),
            quant,
            span,
        };
        let tail = if possessive {
            super::special::possessive(tail)
        } else {
            tail
        };
        let alt = Alt {
            branches: vec![vec![head, tail]],
        };
        Ok(Some(Atom::Group {
            flags: Flags::default(),
            alt,
        }))
    }
}

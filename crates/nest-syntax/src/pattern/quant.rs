//! Parses quantifiers: `*`, `+`, `?` and counts.

use nest_diag::Code;

use super::parser::{Abort, Parser};
use crate::ast::Quant;
use crate::reader::Reader;

/// The largest count, as in PCRE2.
const LARGEST: u32 = 65535;

impl Parser<'_, '_> {
    /// Parses the quantifier here, if there is one, and whether it is possessive.
    pub(super) fn quantifier(&mut self) -> Result<(Option<Quant>, bool), Abort> {
        self.blanks_before(|r| {
            matches!(r.peek(), Some(b'*' | b'+' | b'?'))
                || (r.peek() == Some(b'{') && digit_follows(r))
        });
        let start = self.r.at;
        let bounds = match self.r.peek() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') if digit_follows(self.r) => self.count(start)?,
            Some(b'{') if self.r.peek_at(1) == Some(b',') => {
                return Ok((self.open_count(start), false));
            }
            _ => return Ok((None, false)),
        };
        if self.r.at == start {
            self.r.at += 1;
        }
        self.blanks_before(|r| matches!(r.peek(), Some(b'+' | b'?')));
        let greedy = !self.r.eat("?");
        let possessive = greedy && self.r.eat("+");
        if possessive && !self.names.backtracking {
            self.backtracking(start, "a possessive quantifier", "remove the `+`");
        }
        let again = self.r.at;
        if self.r.peek() == Some(b'{') && digit_follows(self.r) {
            self.count(again)?;
        } else {
            self.eat_bytes(b"*+?");
        }
        if self.r.at > again {
            let end = self.r.at;
            self.r.report(
                Code::E0303,
                again,
                end,
                "a quantifier follows a quantifier",
                "put the repeated part into `( )`",
            );
        }
        let quant = Quant {
            min: bounds.0,
            max: bounds.1,
            greedy,
        };
        Ok((Some(quant), possessive && self.names.backtracking))
    }

    /// Inside a group, skips blanks if `what` follows them.
    pub(super) fn blanks_before(&mut self, what: impl Fn(&Reader) -> bool) {
        if self.depth == 0 {
            return;
        }
        let (at, said) = (self.r.at, self.r.diags.len());
        self.r.gap(false);
        if !what(self.r) {
            self.r.at = at;
            self.r.diags.truncate(said);
        }
    }

    /// `{2}`, `{2,}`, `{2,3}`.
    pub(super) fn count(&mut self, start: usize) -> Result<(u32, Option<u32>), Abort> {
        self.r.at = start + 1;
        let min = self.digits();
        let max = match self.r.eat(",") {
            false => Some(min),
            true if self.r.peek().is_some_and(|b| b.is_ascii_digit()) => Some(self.digits()),
            true => None,
        };
        if !self.r.eat("}") {
            let end = self.r.at;
            self.r.report(
                Code::E0304,
                start,
                end,
                "the count is invalid",
                "counts are `{2}`, `{2,}` and `{2,3}`, without blanks",
            );
            return Err(Abort);
        }
        let end = self.r.at;
        if min > LARGEST || max.is_some_and(|max| max > LARGEST) {
            let message = format!("the count is larger than {LARGEST}");
            self.r.report(
                Code::E0304,
                start,
                end,
                message,
                "remove the upper limit: `{1,}`",
            );
            return Ok((0, None));
        }
        if max.is_some_and(|max| max < min) {
            let fix = format!("write `{{{},{min}}}`", max.unwrap_or(min));
            self.r.report(
                Code::E0304,
                start,
                end,
                "the limits of the count are out of order",
                fix,
            );
            return Ok((0, None));
        }
        Ok((min, max))
    }

    /// Reads the number here; saturates.
    pub(super) fn digits(&mut self) -> u32 {
        let mut value = 0u32;
        while let Some(digit) = self.r.peek().filter(u8::is_ascii_digit) {
            value = value
                .saturating_mul(10)
                .saturating_add(u32::from(digit - b'0'));
            self.r.at += 1;
        }
        value
    }

    /// `{,3}` is text in PCRE2 and a count in Perl, and would begin an action here.
    pub(super) fn open_count(&mut self, start: usize) -> Option<Quant> {
        let mut end = start + 2;
        while end < self.r.end && self.r.bytes[end].is_ascii_digit() {
            end += 1;
        }
        if end == start + 2 || end == self.r.end || self.r.bytes[end] != b'}' {
            return None;
        }
        let fix = format!("write `{{0,{}}}`", self.r.text(start + 2, end));
        self.r.at = end + 1;
        self.r.report(
            Code::E0304,
            start,
            end + 1,
            "the count has no lower bound",
            fix,
        );
        Some(Quant {
            min: 0,
            max: None,
            greedy: true,
        })
    }

    /// A count that follows nothing. It cannot be an action, because no C code starts like this.
    pub(super) fn stray_count(&mut self) -> bool {
        let start = self.r.at;
        if self.r.peek() != Some(b'{') {
            return false;
        }
        let inside = self.r.bytes[start + 1..self.r.end]
            .iter()
            .position(|b| !(b.is_ascii_digit() || *b == b','))
            .map_or(self.r.end, |n| start + 1 + n);
        if inside == start + 1 || inside == self.r.end || self.r.bytes[inside] != b'}' {
            return false;
        }
        self.r.at = inside + 1;
        self.r.report(
            Code::E0303,
            start,
            inside + 1,
            "the count has nothing to repeat",
            "write it directly after what it repeats",
        );
        true
    }
}

/// Whether the byte after the next is a digit.
fn digit_follows(r: &Reader) -> bool {
    r.peek_at(1).is_some_and(|b| b.is_ascii_digit())
}

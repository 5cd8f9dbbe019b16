//! Arguments of directives that have a form of their own: times, formats, and literals in them that
//! never end. Must not know: what each directive does with them.

use super::{Diag, Scan, arguments};
use crate::model::{Use, What};
use crate::options;
use nest_c::directives::{Directive, Form};
use nest_c::lexer::{self, Kind, Token};
use std::ops::Range;

impl Scan<'_, '_> {
    /// `5s`, `cold ? 1m : 10s`, or milliseconds as C counts them: literals become uses. Whether it
    /// may stand there.
    pub(super) fn duration(&mut self, directive: &Directive, at: &Range<usize>) -> bool {
        let inside = |t: &&Token| at.start <= t.at.start && t.at.end <= at.end;
        let tokens: Vec<Token> = self.tokens.iter().filter(inside).cloned().collect();
        let word = self.word(at);
        let none = word == "none" && directive.form == (Form::Duration { none: true });
        if word == "none" && !none {
            let what = format!("{} takes no `none`", directive.word());
            let help = match directive.form {
                Form::Timed { .. } => "leave it out, or write a time from 1ms to 24h, as in 30s",
                _ => "write a time from 1ms to 24h, as in 30s",
            };
            self.report(Diag::E0408, at, what, help);
            return false;
        }
        let number = |t: &Token| t.kind == Kind::Number;
        // `(5)` and `-5` are no clearer than `5`.
        let bare = tokens.iter().filter(|t| number(t)).count() == 1
            && tokens
                .iter()
                .all(|t| number(t) || matches!(t.kind, Kind::Punct(b'(' | b')' | b'+' | b'-')));
        let unit = |t: &Token| options::duration(&format!("1{}", self.word(&t.at))).is_some();
        if matches!(tokens.as_slice(), [n, apart] if number(n) && unit(apart)) {
            let what = format!("`{}` is not a time", self.word(at));
            let words: Vec<String> = tokens.iter().map(|t| self.word(&t.at)).collect();
            let help = format!(
                "write the unit directly after the number: {}",
                words.concat()
            );
            self.report(Diag::E0408, at, what, &help);
            return false;
        }
        let mut fits = true;
        for token in &tokens {
            let word = self.word(&token.at);
            match options::duration(&word) {
                Some(ms) if (token.kind == Kind::Number && ms > 0) || none => {
                    self.uses.push(Use {
                        at: token.at.clone(),
                        what: What::Milliseconds(ms),
                    });
                }
                _ if token.kind != Kind::Number => {}
                _ => {
                    let Some((what, help)) = no_time(directive, &word, &self.word(at), bare) else {
                        continue;
                    };
                    self.report(Diag::E0408, &token.at, what, &help);
                    fits = false;
                }
            }
        }
        fits
    }

    /// Whether the number of a class is one, if it is written as a number.
    pub(super) fn class(&mut self, word: &str, at: &Range<usize>) -> bool {
        let most = self.cx.classes;
        let number = word
            .trim_start_matches('-')
            .bytes()
            .all(|b| b.is_ascii_digit());
        if !number || word.parse::<u32>().is_ok_and(|n| (1..=most).contains(&n)) {
            return true;
        }
        let what = format!("there is no class {word}");
        let help = format!("write a class from 1 to {most}; class 1 goes first");
        self.report(Diag::E0221, at, what, &help);
        false
    }

    /// Says that a literal behind token `i` does not end on its line, if one does not.
    pub(super) fn broken_literal(&mut self, i: usize) -> bool {
        let text = &self.text.text;
        let literal = |t: &&Token| matches!(t.kind, Kind::Text | Kind::Char);
        let broken = |t: &&Token| !is_closed(&text[t.at.clone()]);
        let Some(found) = self.tokens[i..].iter().filter(literal).find(broken) else {
            return false;
        };
        let (what, quote) = match found.kind {
            Kind::Text => ("the string is not terminated", "\""),
            _ => ("the character constant is not terminated", "'"),
        };
        let help = format!("end it with `{quote}` on the same line");
        self.report(Diag::E0003, &found.at, what.to_string(), &help);
        true
    }

    /// Whether the argument `index` of the call is a format, and if so whether the arguments behind
    /// it are as many as its conversions. `always`: it must be one. `None`: they are not, which is
    /// reported.
    pub(super) fn format(
        &mut self,
        call: &lexer::Call,
        index: usize,
        always: bool,
        head: &Range<usize>,
    ) -> Option<bool> {
        let at = call.args[index].clone();
        let tokens: Vec<&Token> = self
            .tokens
            .iter()
            .filter(|t| at.start <= t.at.start && t.at.end <= at.end)
            .collect();
        let is_text = tokens.first().is_some_and(|t| t.kind == Kind::Text);
        let behind = call.args.len() - index - 1;
        if always && !is_text {
            let what = "the format is not a string literal".to_string();
            self.report(
                Diag::E0406,
                &at,
                what,
                "write \"%s\" and the variable after it",
            );
            return None;
        }
        let pieces: String = tokens
            .iter()
            .filter(|t| t.kind == Kind::Text)
            .map(|t| &self.text.text[t.at.clone()])
            .collect();
        let exact = tokens.iter().all(|t| t.kind == Kind::Text);
        let conversions = if is_text { conversions(&pieces) } else { 0 };
        let is_format = is_text && conversions > 0 && (behind > 0 || always);
        if (is_format || always) && exact && conversions != behind {
            let what = format!(
                "the format needs {}, but {behind} {} it",
                arguments(conversions),
                if behind == 1 { "follows" } else { "follow" }
            );
            let help = if conversions > behind {
                "write an argument for each conversion; write %% for a percent sign"
            } else {
                "write a conversion, such as %s, for each argument"
            };
            self.report(Diag::E0406, &(head.start..call.close + 1), what, help);
            return None;
        }
        Some(is_format)
    }
}

/// Whether a literal ends with the quote that it begins with.
fn is_closed(literal: &str) -> bool {
    let quote = literal.find(['"', '\'']).unwrap_or(0);
    let mut bytes = literal.bytes().skip(quote);
    let first = bytes.next();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            byte if Some(byte) == first => return true,
            _ => {}
        }
    }
    false
}

/// Why a number is no time, and what to write; none if it may count milliseconds in an expression.
/// `bare`: nothing else stands in the argument, which is `written`.
fn no_time(
    directive: &Directive,
    word: &str,
    written: &str,
    bare: bool,
) -> Option<(String, String)> {
    let number = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &word[number.len()..];
    let is_whole = number.bytes().all(|b| b.is_ascii_digit());
    if let Some(one) = options::duration(&format!("1{unit}")) {
        if is_whole {
            let mut help = "a time is from 1ms to 24h".to_string();
            if directive.form == (Form::Duration { none: true }) {
                help += &format!("; {}(none) disables the limit", directive.word());
            }
            return Some((format!("`{word}` is out of range"), help));
        }
        let help = match thousandths(number).map(|n| n * u64::from(one)) {
            Some(n) if n > 0 && n % 1000 == 0 => format!("write {}ms", n / 1000),
            _ => "write it in a smaller unit, as in 1500ms".to_string(),
        };
        let what = format!("`{word}` is not a time: its number is not whole");
        return Some((what, help));
    }
    let is_suffix = unit.bytes().all(|b| b"uUlLfF".contains(&b));
    if !is_suffix && is_whole {
        let help = "the units are ms, s, m and h, as in 500ms, 30s, 5m, 1h";
        return Some((format!("`{unit}` is not a unit of time"), help.to_string()));
    }
    let help = "write the unit, as in 500ms, 30s, 5m, 1h".to_string();
    let what = format!("${}({written}): {word} has no unit", directive.name);
    bare.then_some((what, help))
}

/// `1.5` as 1500; none if that is not exact.
fn thousandths(number: &str) -> Option<u64> {
    let (whole, part) = number.split_once('.')?;
    if whole.len() > 9 || part.len() > 3 {
        return None;
    }
    format!("{whole}{part:0<3}").parse().ok()
}

/// How many arguments a printf format takes. `pieces`: literals with their quotes, concatenated;
/// the quotes in the middle of a conversion are looked through, as C joins the literals.
fn conversions(pieces: &str) -> usize {
    let s: Vec<u8> = pieces.bytes().filter(|b| *b != b'"').collect();
    let (mut i, mut n) = (0, 0);
    while i < s.len() {
        if s[i] != b'%' {
            i += 1;
            continue;
        }
        i += 1;
        if s.get(i) == Some(&b'%') {
            i += 1;
            continue;
        }
        while let Some(b) = s.get(i) {
            match b {
                b'*' => n += 1,
                b'-' | b'+' | b' ' | b'#' | b'\'' | b'.' | b'$' | b'0'..=b'9' => {}
                b'h' | b'l' | b'j' | b'z' | b't' | b'L' | b'q' => {}
                _ => break,
            }
            i += 1;
        }
        if s.get(i) != Some(&b'm') {
            n += 1;
        }
        i += 1;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::conversions;

    #[test]
    fn conversions_are_counted() {
        assert_eq!(conversions("\"a %d %% %s\""), 2);
        assert_eq!(conversions("\"%-*.*f\""), 3);
        assert_eq!(conversions("\"100%%\""), 0);
        assert_eq!(conversions("\"%m\""), 0);
        assert_eq!(conversions("\"%lld\"\"%zu\""), 2);
    }
}

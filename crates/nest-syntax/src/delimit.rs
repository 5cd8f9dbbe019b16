//! Where a macro's text ends: at its line's end, without trailing blanks and comments.
//!
//! The text is delimited before it can be read, for its kind is not known yet; so quotes, classes
//! and escapes are told apart here just far enough to know what is no comment.

use crate::reader::{Reader, is_blank};

/// The text of a macro whose name ends at `from`; the reader goes behind its line.
pub(crate) fn macro_text(r: &mut Reader, from: usize) -> (usize, usize) {
    r.at = from;
    let line = r.line_end(from);
    let start = r.after_blanks(from).min(line);
    let mut end = start;
    let mut comment = true;
    r.at = start;
    while r.at < line {
        let at = r.at;
        let byte = r.bytes[at];
        if is_blank(byte) {
            comment = true;
            r.at += 1;
            continue;
        }
        if comment && r.looking_at("//") {
            r.line_comment();
            break;
        }
        if comment && r.looking_at("/*") {
            if r.block_comment() {
                break;
            }
            continue;
        }
        comment = false;
        r.at = token_end(&r.bytes[..line], at);
        end = r.at;
    }
    (start, end)
}

/// Where the token of a pattern at `at` ends, as far as comments need to know.
fn token_end(bytes: &[u8], at: usize) -> usize {
    let find = |from: usize, what: &[u8]| {
        bytes
            .get(from..)
            .and_then(|rest| rest.windows(what.len()).position(|w| w == what))
    };
    let end = match bytes[at..] {
        [b'\\', b'Q', ..] => find(at + 2, b"\\E").map_or(bytes.len(), |n| at + 2 + n + 2),
        [b'\\', ..] => at + 2,
        [b'(', b'?', b'#', ..] => find(at + 3, b")").map_or(bytes.len(), |n| at + 3 + n + 1),
        [b'"', ..] => closing(bytes, at + 1, b'"'),
        [b'[', ..] => {
            let first = at + 1 + usize::from(bytes.get(at + 1) == Some(&b'^'));
            class_end(bytes, first)
        }
        _ => at + 1,
    };
    end.min(bytes.len())
}

fn closing(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// One past the `]` of a class whose first member stands at `first`.
fn class_end(bytes: &[u8], first: usize) -> usize {
    let mut at = first;
    while at < bytes.len() {
        match bytes[at..] {
            [b'\\', ..] => at = token_end(bytes, at),
            [b']', ..] if at > first => return at + 1,
            [b'[', mark @ (b':' | b'.' | b'='), ..] => {
                let inner = bytes[at + 2..]
                    .iter()
                    .position(|b| matches!(b, b']' | b'['));
                let end = inner.map_or(bytes.len(), |n| at + 2 + n);
                at = if end < bytes.len()
                    && bytes[end] == b']'
                    && bytes[end - 1] == mark
                    && end > at + 2
                {
                    end + 1
                } else {
                    at + 1
                };
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

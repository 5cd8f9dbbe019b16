//! Finds the end of a macro's text: the end of its line, without trailing blanks and comments.
//!
//! The text must be delimited before its kind is known and it can be parsed. So quotes, classes and
//! escapes are recognised here just far enough to recognise comments.

use crate::reader::{Reader, is_blank};

/// Returns the text of a macro whose name ends at `from`, and moves the reader after its line.
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

/// The end of the pattern token at `at`, as far as it matters for comments and braces.
pub(crate) fn token_end(bytes: &[u8], at: usize) -> usize {
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

/// The position after the `]` of a class whose first member is at `first`.
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

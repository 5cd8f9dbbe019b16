//! Learns from the server which conditional requests for a file it answers with 304, and how.
//!
//! Must not know: where answers are kept, and how the programs judge a request.

use crate::date;
use crate::fill::{BROWSER, PLAIN, Prepared, agreed, compose, lasting};
use crate::origin::{Answer, Origin};
use crate::shape::{BLOCK, BLOCKS, Conditions, PIECE, form};

/// The 304 that the server gives in place of an answer, if it does.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unchanged {
    bytes: Vec<u8>,
    conditions: Conditions,
}

/// The value of a field in a head, given by its name in lower case: where it is, and its text.
fn value<'a>(head: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let mut at = 0;
    for line in head.split("\r\n") {
        if let Some((found, value)) = line.split_once(": ")
            && found.eq_ignore_ascii_case(name)
        {
            return Some((at + found.len() + 2, value));
        }
        at += line.len() + 2;
    }
    None
}

/// The part of an `ETag` from quote to quote; nothing if the programs cannot read such a tag in a list.
fn opaque(tag: &str) -> Option<&str> {
    let quoted = tag.strip_prefix("W/").unwrap_or(tag);
    let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let plain = |b: u8| b.is_ascii_graphic() && b != b'"' && b != b',';
    inner.bytes().all(plain).then_some(quoted)
}

/// Fields of requests that name the version, each with the bits of what it uses.
fn questions(tag: Option<&str>, since: Option<&str>) -> Vec<(u32, String)> {
    let none_match = |value: &str| format!("If-None-Match: {value}\r\n");
    let dated = |value: &str| format!("If-Modified-Since: {value}\r\n");
    let mut out = Vec::new();
    if let Some(tag) = tag {
        out.push((form::STRONG, none_match(tag)));
        out.push((form::WEAK, none_match(&format!("W/{tag}"))));
        out.push((
            form::LIST,
            none_match(&format!("\"-\", W/\"-\",{tag}, \"-\"")),
        ));
        out.push((form::ANY, none_match("*")));
    }
    if let Some(since) = since {
        out.push((form::SINCE, dated(since)));
    }
    if let (Some(tag), Some(since)) = (tag, since) {
        out.push((form::BESIDE, none_match(tag) + &dated(since)));
    }
    out
}

impl Unchanged {
    /// Asks the server.
    pub fn learn(origin: &mut Origin, host: &str, path: &str, prepared: &Prepared) -> Self {
        let limit = prepared.bytes.len();
        Self::of(prepared, |method, fields| {
            origin.request(method, host, path, fields, limit)
        })
    }

    /// Asks by `ask`, which is given a method and fields. A form counts if GET and HEAD both give 304. All
    /// of them must give the same one: otherwise the server answers them all.
    fn of(prepared: &Prepared, mut ask: impl FnMut(&str, &str) -> Result<Answer, String>) -> Self {
        let mut learnt = Unchanged::default();
        learnt.conditions.forms = form::ASKED;
        let head = String::from_utf8_lossy(&prepared.bytes[..prepared.head]);
        let tag = value(&head, "etag").and_then(|(at, whole)| {
            let quoted = opaque(whole)?;
            Some((at + whole.len() - quoted.len(), quoted))
        });
        let since = value(&head, "last-modified").filter(|(_, text)| text.len() == date::LENGTH);
        let (mut forms, mut answers) = (form::ASKED, Vec::new());
        for (bit, fields) in questions(tag.map(|(_, text)| text), since.map(|(_, text)| text)) {
            let mut get = |method, client: &str| {
                let answer = ask(method, &format!("{client}{fields}")).ok()?;
                Some((answer.status() == Some(304)).then_some(answer))
            };
            // After an error the connection is of no use.
            let (Some(first), Some(second)) = (get("GET", BROWSER), get("HEAD", PLAIN)) else {
                return learnt;
            };
            if let (Some(first), Some(second)) = (first, second) {
                forms |= bit;
                answers.extend([first, second]);
            }
        }
        let lines = answers.iter().map(|a| lasting(a, "304 Not Modified"));
        let lines: Result<Vec<_>, String> = lines.collect();
        let composed = lines.ok().and_then(|lines| agreed(&lines));
        let Some(Ok(composed)) = composed.map(|lines| compose(&lines, b"")) else {
            return learnt;
        };
        let number = |n: usize| u32::try_from(n).unwrap_or(0);
        learnt.conditions = Conditions {
            forms,
            tag: tag.map_or((0, 0), |(at, text)| (number(at), number(text.len()))),
            since: since.map_or(0, |(at, _)| number(at)),
            start: 0,
            size: number(composed.bytes.len()),
            date: number(composed.date),
        };
        learnt.bytes = composed.bytes;
        learnt
    }

    /// Whether the server was asked.
    pub fn asked(&self) -> bool {
        self.conditions.forms != 0
    }

    /// An answer with the 304 behind it, which is within one block. If there is no space for both, the server
    /// gives the 304.
    pub fn behind(&self, answer: &[u8]) -> (Vec<u8>, Conditions) {
        let (mut bytes, mut conditions) = (answer.to_vec(), self.conditions.clone());
        let mut start = bytes.len().next_multiple_of(PIECE);
        if start % BLOCK + self.bytes.len() > BLOCK {
            start = start.next_multiple_of(BLOCK);
        }
        if start + self.bytes.len() > BLOCK * BLOCKS {
            conditions.forms &= form::ASKED;
        } else if !self.bytes.is_empty() {
            bytes.resize(start, 0);
            bytes.extend_from_slice(&self.bytes);
            conditions.start = u32::try_from(start).unwrap_or(0);
        }
        (bytes, conditions)
    }
}

#[cfg(test)]
mod tests {
    use super::{Unchanged, opaque};
    use crate::fill::{Prepared, compose};
    use crate::origin::Answer;
    use crate::shape::{BLOCK, BLOCKS, PIECE, form};

    const SINCE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn prepared(etag: &str) -> Prepared {
        let lines = [
            "HTTP/1.1 200 OK",
            "Date",
            etag,
            &format!("Last-Modified: {SINCE}"),
        ];
        compose(&lines.map(str::to_owned), b"body").unwrap()
    }

    fn answer(head: &str) -> Answer {
        Answer {
            lines: head.split("\r\n").map(str::to_owned).collect(),
            body: Vec::new(),
        }
    }

    /// A server that answers 304 to what the test names.
    fn learn(prepared: &Prepared, test: impl Fn(&str, &str) -> bool) -> Unchanged {
        Unchanged::of(prepared, |method, fields| {
            Ok(answer(if test(method, fields) {
                "HTTP/1.1 304 Not Modified\r\nDate: x\r\nETag: \"a\""
            } else {
                "HTTP/1.1 200 OK\r\nContent-Length: 0"
            }))
        })
    }

    #[test]
    fn the_forms_are_those_that_the_server_answers_with_304() {
        let prepared = prepared("ETag: W/\"a\"");
        let all = learn(&prepared, |_, _| true);
        assert_eq!(all.conditions.forms, 127);
        let (at, size) = all.conditions.tag;
        let (at, since) = (at as usize, all.conditions.since as usize);
        assert_eq!(&prepared.bytes[at..at + size as usize], b"\"a\"");
        assert_eq!(&prepared.bytes[since..since + 29], SINCE.as_bytes());
        let dated = learn(&prepared, |_, fields| !fields.contains("None-Match"));
        assert_eq!(dated.conditions.forms, form::ASKED | form::SINCE);
        let half = learn(&prepared, |method, _| method == "GET");
        assert_eq!(half.conditions.forms, form::ASKED);
        assert!(half.asked() && !Unchanged::default().asked());
    }

    #[test]
    fn a_server_whose_304s_differ_gives_them_itself() {
        let prepared = prepared("ETag: \"a\"");
        let mut count = 0;
        let differing = Unchanged::of(&prepared, |_, _| {
            count += 1;
            Ok(answer(&format!("HTTP/1.1 304 Not Modified\r\nX: {count}")))
        });
        assert_eq!(differing.conditions.forms, form::ASKED);
        let lost = Unchanged::of(&prepared, |_, _| Err("it closed".to_owned()));
        assert_eq!(lost.conditions.forms, form::ASKED);
    }

    #[test]
    fn tags_that_no_list_can_hold_are_not_read() {
        assert_eq!(opaque("W/\"a-b\""), Some("\"a-b\""));
        assert_eq!(opaque("\"\""), Some("\"\""));
        for bad in [
            "a", "\"", "\"a,b\"", "\"a b\"", "\"a\"b\"", "w/\"a\"", "\"a",
        ] {
            assert_eq!(opaque(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_304_is_within_one_block_behind_the_answer() {
        let learnt = learn(&prepared("ETag: \"a\""), |_, _| true);
        for size in [1, 63, 64, 900, 1000, BLOCK, BLOCK * BLOCKS - 200] {
            let (bytes, conditions) = learnt.behind(&vec![b'x'; size]);
            let (start, length) = (conditions.start as usize, conditions.size as usize);
            assert_eq!(&bytes[start..], &learnt.bytes[..]);
            assert!(start >= size && start % PIECE == 0);
            assert_eq!(start / BLOCK, (start + length - 1) / BLOCK, "{size}");
        }
        let (bytes, conditions) = learnt.behind(&vec![b'x'; BLOCK * BLOCKS]);
        assert_eq!(
            (bytes.len(), conditions.forms),
            (BLOCK * BLOCKS, form::ASKED)
        );
    }
}

//! Writes a conversation as a page: what a client sends, what it receives, and the trace.
//!
//! Text that differed when the conversation was repeated, such as a date or a number, becomes a
//! pattern. Must not know: how conversations are found.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use nest_check::{Act, literal};

use super::script::{Entry, Ran, Talk};

/// Longer replies are written as their beginning and their length.
const LONGEST: usize = 600;
/// The length of that beginning.
const BEGINNING: usize = 200;

/// A conversation that always takes the same course.
pub struct Proposal {
    pub talk: Talk,
    /// The runs of it.
    pub ran: Vec<Ran>,
    /// The files that it leaves.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Output that was received, or replied.
#[derive(Debug, PartialEq, Eq)]
enum Text {
    Exact(Vec<u8>),
    Pattern(Vec<u8>),
}

impl Proposal {
    /// Whether time passes in it.
    pub fn is_timed(&self) -> bool {
        let silent = |act: &Act| matches!(act, Act::Silence(_));
        self.talk.acts.iter().any(silent)
    }

    /// The number of bytes that a client sends in it.
    pub fn sends(&self) -> usize {
        let bytes = |act: &Act| match act {
            Act::Send(bytes) => bytes.len(),
            Act::Silence(_) => 0,
        };
        let tail = self.talk.tail.as_ref().map_or(0, Vec::len);
        self.talk.acts.iter().map(bytes).sum::<usize>() + tail
    }

    /// Its two fences; `None` if its replies cannot be described.
    pub fn fences(&self, client: &str) -> Option<(String, String)> {
        Some((self.steps(client)?, self.trace(client)?))
    }

    fn steps(&self, client: &str) -> Option<String> {
        let mut text = format!("```client {client}\nconnect\n");
        let count = self.ran.first()?.parts.len();
        for part in 0..count {
            match part.checked_sub(1).map(|n| self.talk.acts.get(n)) {
                None => {}
                Some(Some(Act::Send(bytes))) => _ = writeln!(text, "send {}", literal(bytes)),
                Some(Some(Act::Silence(ms))) if ms % 1000 == 0 => {
                    let _ = writeln!(text, "pass {}s", ms / 1000);
                }
                Some(Some(Act::Silence(ms))) => _ = writeln!(text, "pass {ms}ms"),
                Some(None) => {
                    if let Some(tail) = &self.talk.tail {
                        let _ = writeln!(text, "send {}", literal(tail));
                    }
                    text.push_str("half-close\n");
                }
            }
            let replied = |ran: &Ran| {
                let replies = ran.parts[part].iter().filter_map(|entry| match entry {
                    Entry::Reply(bytes) => Some(bytes.as_slice()),
                    _ => None,
                });
                replies.collect::<Vec<_>>().concat()
            };
            match weakened(&self.ran.iter().map(replied).collect::<Vec<_>>())? {
                Text::Exact(bytes) if bytes.is_empty() => {}
                Text::Exact(bytes) => _ = writeln!(text, "expect {}", literal(&bytes)),
                Text::Pattern(bytes) => _ = writeln!(text, "expect~ {}", literal(&bytes)),
            }
            if ends(&self.ran[0].parts[part]) {
                break;
            }
        }
        text.push_str("expect-close\n```\n");
        Some(text)
    }

    fn trace(&self, client: &str) -> Option<String> {
        let mut text = format!("```trace {client}\n");
        let all: Vec<Vec<Entry>> = self.ran.iter().map(|ran| joined(&ran.parts)).collect();
        for (n, entry) in all.first()?.iter().enumerate() {
            let _ = match entry {
                Entry::Open => writeln!(text, "open"),
                Entry::Take(name, bytes) => writeln!(text, "take {name} {}", literal(bytes)),
                Entry::Timeout(name) => writeln!(text, "timeout {name}"),
                Entry::States(names, last) => {
                    writeln!(
                        text,
                        "states {}",
                        [names.as_slice(), &[format!("last={last}")]]
                            .concat()
                            .join(" ")
                    )
                }
                // `nest test` runs servers without a certificate.
                Entry::Tls => Ok(()),
                Entry::End(why) => writeln!(text, "end {why}"),
                Entry::Reply(_) => {
                    let replied = |lines: &Vec<Entry>| match lines.get(n) {
                        Some(Entry::Reply(bytes)) => bytes.clone(),
                        _ => Vec::new(),
                    };
                    match weakened(&all.iter().map(replied).collect::<Vec<_>>())? {
                        Text::Exact(bytes) => writeln!(text, "reply {}", literal(&bytes)),
                        Text::Pattern(bytes) => writeln!(text, "reply~ {}", literal(&bytes)),
                    }
                }
            };
        }
        text.push_str("```\n");
        Some(text)
    }
}

/// Whether the connection has ended.
pub fn ends(part: &[Entry]) -> bool {
    part.iter().any(|entry| matches!(entry, Entry::End(_)))
}

/// The trace lines of some parts, with consecutive replies merged.
fn joined(parts: &[Vec<Entry>]) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::new();
    for entry in parts.iter().flatten() {
        match (out.last_mut(), entry) {
            (_, Entry::Reply(more)) if more.is_empty() => {}
            (Some(Entry::Reply(bytes)), Entry::Reply(more)) => bytes.extend(more),
            _ => out.push(entry.clone()),
        }
    }
    out
}

/// The first part in which two runs differ in more than the bytes of replies.
pub fn parting(one: &Ran, other: &Ran) -> Option<usize> {
    let shape = |part: &Vec<Entry>| -> Vec<Entry> {
        let plain = |entry: Entry| match entry {
            Entry::Reply(_) => Entry::Reply(Vec::new()),
            other => other,
        };
        joined(std::slice::from_ref(part))
            .into_iter()
            .map(plain)
            .collect()
    };
    let all = one.parts.iter().zip(&other.parts);
    all.map(|(a, b)| shape(a) == shape(b))
        .position(|same| !same)
}

/// A pattern for all of them; `None` if a client could not find its end.
fn weakened(all: &[Vec<u8>]) -> Option<Text> {
    let first = all.first()?;
    if all.iter().all(|other| other == first) {
        if first.len() <= LONGEST {
            return Some(Text::Exact(first.clone()));
        }
        let mut pattern = escaped(&first[..BEGINNING]);
        pattern.extend(format!(".{{{}}}", first.len() - BEGINNING).bytes());
        return Some(Text::Pattern(pattern));
    }
    let lines: Vec<Vec<&[u8]>> = all
        .iter()
        .map(|text| text.split_inclusive(|byte| *byte == b'\n').collect())
        .collect();
    if lines.iter().any(|some| some.len() != lines[0].len()) {
        return same_length(all);
    }
    let mut pattern = Vec::new();
    for n in 0..lines[0].len() {
        let line = lines[0][n];
        if lines.iter().all(|some| some[n] == line) {
            pattern.extend(escaped(line));
        } else if lines.iter().all(|some| some[n].ends_with(b"\n")) {
            let variants: Vec<&[u8]> = lines.iter().map(|some| some[n]).collect();
            pattern.extend(varying(&variants));
        } else {
            let ends: Vec<Vec<u8>> = lines.iter().map(|some| some[n].to_vec()).collect();
            match same_length(&ends)? {
                Text::Exact(bytes) | Text::Pattern(bytes) => pattern.extend(bytes),
            }
        }
    }
    Some(Text::Pattern(pattern))
}

/// A pattern for a line that varies: the words at its beginning and its end that are always the same
/// remain.
fn varying(lines: &[&[u8]]) -> Vec<u8> {
    let all: Vec<Vec<&[u8]>> = lines.iter().map(|line| words(line)).collect();
    let shortest = all.iter().map(Vec::len).min().unwrap_or_default();
    let front = (0..shortest).take_while(|n| all.iter().all(|some| some[*n] == all[0][*n]));
    let front = front.count();
    let last = |some: &[&[u8]], n: usize| some[some.len() - 1 - n].to_vec();
    let back = (0..shortest - front)
        .take_while(|n| all.iter().all(|some| last(some, *n) == last(&all[0], *n)));
    let back = back.count();
    let first = &all[0];
    let mut pattern = escaped(&first[..front].concat());
    pattern.extend(b"[^\n]*");
    pattern.extend(escaped(&first[first.len() - back..].concat()));
    pattern
}

/// Letters and digits that stand together, and all other bytes one by one.
fn words(line: &[u8]) -> Vec<&[u8]> {
    line.chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric())
        .collect()
}

fn same_length(all: &[Vec<u8>]) -> Option<Text> {
    let length = all.first()?.len();
    let same = all.iter().all(|other| other.len() == length);
    same.then(|| Text::Pattern(format!(".{{{length}}}").into_bytes()))
}

/// Escapes bytes for a regular expression.
fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in bytes {
        if br".^$*+?{}[]\|()".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Text, weakened};

    fn of(all: &[&str]) -> Option<Text> {
        weakened(
            &all.iter()
                .map(|t| t.as_bytes().to_vec())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn what_varies_is_weakened_line_by_line() {
        let exact = Text::Exact(b"a (b)\n".to_vec());
        assert_eq!(of(&["a (b)\n", "a (b)\n"]), Some(exact));
        let pattern = |text: &str| Some(Text::Pattern(text.as_bytes().to_vec()));
        assert_eq!(
            of(&["a?\nat 9\nz", "a?\nat 10\nz"]),
            pattern("a\\?\nat [^\n]*\nz")
        );
        // Whole words remain, so that 19 and 18 do not leave a 1.
        assert_eq!(
            of(&["at 18, (b)\n", "at 19, (b)\n"]),
            pattern("at [^\n]*, \\(b\\)\n")
        );
        assert_eq!(of(&["a a\n", "a\n"]), pattern("a[^\n]*\n"));
        assert_eq!(of(&["a\n12", "a\n34"]), pattern("a\n.{2}"));
        // Its end cannot be found.
        assert_eq!(of(&["n=9", "n=10"]), None);
        assert_eq!(of(&["a\nb", "a\nb\nc"]), None);
        // Binary data may contain line feeds.
        assert_eq!(of(&["\nab", "xyz"]), pattern(".{3}"));
    }

    #[test]
    fn long_replies_are_shortened() {
        let long = "x".repeat(1000);
        let pattern = format!("{}.{{800}}", "x".repeat(200));
        assert_eq!(
            of(&[&long, &long]),
            Some(Text::Pattern(pattern.into_bytes()))
        );
    }
}

//! Reads access logs and traces: which files were asked for, and how large they are.
//!
//! Must not know: caches.

use std::collections::BTreeMap;

/// What was asked for, in order.
#[derive(Debug, Default)]
pub struct Trace {
    names: BTreeMap<String, u32>,
    /// The number of a file, and its bytes.
    pub accesses: Vec<(u32, u64)>,
    /// Requests of a log that sent no file.
    pub passed: u64,
    /// Lines that are neither of a log nor of a trace.
    pub strange: u64,
    /// The first of these: its place.
    pub first_strange: Option<String>,
}

impl Trace {
    /// How many different files there are.
    pub fn objects(&self) -> usize {
        self.names.len()
    }

    /// The sum of their sizes, as they were last.
    pub fn distinct(&self) -> u64 {
        let sizes: BTreeMap<u32, u64> = self.accesses.iter().copied().collect();
        sizes.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// The sum of what was sent.
    pub fn bytes(&self) -> u64 {
        let sizes = self.accesses.iter().map(|(_, n)| n);
        sizes.fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Adds a file of lines. Paths may have any bytes: each is taken for the character of its number,
    /// so that different ones stay different.
    pub fn read(&mut self, name: &str, text: &[u8]) {
        for (number, line) in text.split(|b| *b == b'\n').enumerate() {
            let line: String = line
                .trim_ascii_end()
                .iter()
                .map(|b| char::from(*b))
                .collect();
            match parse(&line) {
                Line::Access(path, bytes) => {
                    let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
                    let object = *self.names.entry(path.to_string()).or_insert(next);
                    self.accesses.push((object, bytes));
                }
                Line::Passed => self.passed += 1,
                Line::Empty => {}
                Line::Strange => {
                    self.strange += 1;
                    let place = || format!("{name}:{}", number + 1);
                    self.first_strange.get_or_insert_with(place);
                }
            }
        }
    }
}

#[derive(Debug, PartialEq)]
enum Line<'a> {
    Access(&'a str, u64),
    /// No file was sent whole.
    Passed,
    Empty,
    Strange,
}

/// A line of a log in the common or combined format; or of a trace, `PATH BYTES`.
fn parse(line: &str) -> Line<'_> {
    if line.is_empty() || line.starts_with('#') {
        return Line::Empty;
    }
    let Some((_, rest)) = line.split_once("] \"") else {
        return match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            [path, bytes] => size(bytes).map_or(Line::Strange, |n| Line::Access(path, n)),
            _ => Line::Strange,
        };
    };
    let Some((request, rest)) = rest.split_once("\" ") else {
        return Line::Strange;
    };
    let mut result = rest.split(' ');
    let (Some(status), Some(bytes)) = (result.next(), result.next()) else {
        return Line::Strange;
    };
    if status.len() != 3 || size(status).is_none() || (bytes != "-" && size(bytes).is_none()) {
        return Line::Strange;
    }
    let path = match request.split(' ').collect::<Vec<_>>()[..] {
        ["GET", path] | ["GET", path, _] => path,
        _ => return Line::Passed,
    };
    match size(bytes) {
        Some(n) if status == "200" => {
            let end = path.find(['?', '#']).unwrap_or(path.len());
            Line::Access(&path[..end], n)
        }
        _ => Line::Passed,
    }
}

fn size(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|n| digits && *n < 1 << 50)
}

#[cfg(test)]
mod tests {
    use super::{Line, Trace, parse};

    #[test]
    fn lines_of_logs_and_traces() {
        let common =
            r#"127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a.gif?x HTTP/1.0" 200 2326"#;
        assert_eq!(parse(common), Line::Access("/a.gif", 2326));
        let combined = format!("{common} \"http://x/\" \"Mozilla [en] (X11)\"");
        assert_eq!(parse(&combined), Line::Access("/a.gif", 2326));
        assert_eq!(parse("/a 12"), Line::Access("/a", 12));
        for passed in [
            "POST /a HTTP/1.0\" 200 5",
            "GET /a HTTP/1.0\" 404 5",
            "GET /a HTTP/1.0\" 304 -",
            "-\" 400 0",
        ] {
            assert_eq!(
                parse(&format!("h - - [t] \"{passed}")),
                Line::Passed,
                "{passed}"
            );
        }
        for strange in [
            "/a",
            "/a x",
            "/a 1 2",
            "h - - [t] \"GET /a",
            "h - - [t] \"GET /a\" 2000 1",
            "/a 99999999999999999999",
        ] {
            assert_eq!(parse(strange), Line::Strange, "{strange}");
        }
    }

    #[test]
    fn paths_that_differ_in_a_byte_are_different() {
        let mut trace = Trace::default();
        trace.read(
            "log",
            b"/\xff 1\n/\xfe 1\n/\xff 1\n/\xc3\xa0 2\r\n/\xc3\xa1 2\n",
        );
        assert_eq!(trace.accesses, [(0, 1), (1, 1), (0, 1), (2, 2), (3, 2)]);
        trace.read("log", b"h - - [t] \"GET /\xff?x HTTP/1.1\" 200 1\n");
        assert_eq!((trace.accesses[5], trace.strange), ((0, 1), 0));
    }

    #[test]
    fn a_trace_counts() {
        let mut trace = Trace::default();
        trace.read("log", b"/a 10\n\n# no line\n/b 5\n/a 20\nwhat is this\n");
        assert_eq!(trace.accesses, [(0, 10), (1, 5), (0, 20)]);
        assert_eq!(
            (trace.objects(), trace.distinct(), trace.bytes()),
            (2, 25, 35)
        );
        assert_eq!(trace.first_strange.as_deref(), Some("log:6"));
    }
}

//! What a server must answer: bytes, with the parts that vary marked; learnt from several runs.
//!
//! Must not know: sockets, specifications, when an answer is asked for.

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Exact(Vec<u8>),
    /// Any bytes up to the next line feed, which belongs to the next piece.
    Line,
    /// So many bytes.
    Any(usize),
}

/// A line that varies is not longer: a server that sends more without end is found out.
const LONGEST_LINE: usize = 1 << 16;

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect(pub Vec<Piece>);

/// How much of an answer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    piece: usize,
    offset: usize,
}

/// What some bytes are for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// All of them belong to it, and more must come.
    All,
    /// The first so many belong to it, and it is whole.
    Whole(usize),
    /// The byte at this offset is wrong.
    Wrong(usize),
}

impl Expect {
    /// An answer without parts that vary.
    #[must_use]
    pub fn exact(bytes: &[u8]) -> Expect {
        if bytes.is_empty() {
            return Expect::default();
        }
        Expect(vec![Piece::Exact(bytes.to_vec())])
    }

    /// Whether nothing is answered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an answer that follows at once.
    pub fn append(&mut self, other: Expect) {
        for piece in other.0 {
            match (self.0.last_mut(), piece) {
                (Some(Piece::Exact(bytes)), Piece::Exact(more)) => bytes.extend(more),
                (_, piece) => self.0.push(piece),
            }
        }
    }

    /// Compares the next bytes.
    pub fn take(&self, at: &mut Place, bytes: &[u8]) -> Taken {
        let mut used = 0;
        while let Some(piece) = self.0.get(at.piece) {
            let rest = &bytes[used..];
            let (n, done) = match piece {
                Piece::Exact(wanted) => {
                    let wanted = &wanted[at.offset..];
                    let n = wanted.len().min(rest.len());
                    if wanted[..n] != rest[..n] {
                        let same = wanted.iter().zip(rest).take_while(|(a, b)| a == b);
                        return Taken::Wrong(used + same.count());
                    }
                    (n, n == wanted.len())
                }
                Piece::Line => match rest.iter().position(|byte| *byte == b'\n') {
                    Some(n) => (n, true),
                    None => (rest.len(), false),
                },
                Piece::Any(count) => {
                    let n = (count - at.offset).min(rest.len());
                    (n, at.offset + n == *count)
                }
            };
            used += n;
            at.offset += n;
            if *piece == Piece::Line && at.offset > LONGEST_LINE {
                return Taken::Wrong(used);
            }
            if !done {
                return Taken::All;
            }
            *at = Place {
                piece: at.piece + 1,
                offset: 0,
            };
        }
        Taken::Whole(used)
    }

    /// The answer for all of these, with what varies marked; `None` if its end could not be found.
    #[must_use]
    pub fn learn(all: &[&[u8]]) -> Option<Expect> {
        let first = *all.first()?;
        if all.iter().all(|other| *other == first) {
            return Some(Expect::exact(first));
        }
        let lines: Vec<Vec<&[u8]>> = all
            .iter()
            .map(|text| text.split_inclusive(|byte| *byte == b'\n').collect())
            .collect();
        let mut learnt = Expect::default();
        if lines.iter().any(|some| some.len() != lines[0].len()) {
            return same_length(all);
        }
        for n in 0..lines[0].len() {
            let variants: Vec<&[u8]> = lines.iter().map(|some| some[n]).collect();
            if variants.iter().all(|line| *line == variants[0]) {
                learnt.append(Expect::exact(variants[0]));
            } else if variants.iter().all(|line| line.ends_with(b"\n")) {
                learnt.append(varying(&variants));
            } else {
                learnt.append(same_length(&variants)?);
            }
        }
        Some(learnt)
    }
}

impl std::fmt::Display for Expect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (n, piece) in self.0.iter().enumerate() {
            f.write_str(if n == 0 { "" } else { " " })?;
            match piece {
                Piece::Exact(bytes) => f.write_str(&literal(bytes))?,
                Piece::Line => f.write_str("(rest of a line)")?,
                Piece::Any(count) => write!(f, "({count} bytes)")?,
            }
        }
        Ok(())
    }
}

/// The longest text of bytes that is shown.
const SHOWN: usize = 160;

/// Bytes as a literal of C, shortened.
#[must_use]
pub fn literal(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes.iter().take(SHOWN) {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push('"');
    if bytes.len() > SHOWN {
        text.push_str(&format!(" and {} bytes more", bytes.len() - SHOWN));
    }
    text
}

/// A line that varies: whole words at its beginning that are always the same remain.
fn varying(lines: &[&[u8]]) -> Expect {
    let words = |line: &[u8]| -> Vec<Vec<u8>> {
        line.chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric())
            .map(<[u8]>::to_vec)
            .collect()
    };
    let all: Vec<Vec<Vec<u8>>> = lines.iter().map(|line| words(line)).collect();
    let shortest = all.iter().map(Vec::len).min().unwrap_or_default();
    let same = (0..shortest).take_while(|n| all.iter().all(|some| some[*n] == all[0][*n]));
    let front: Vec<u8> = all[0][..same.count()].concat();
    let mut learnt = Expect::exact(&front);
    learnt.append(Expect(vec![Piece::Line, Piece::Exact(b"\n".to_vec())]));
    learnt
}

fn same_length(all: &[&[u8]]) -> Option<Expect> {
    let length = all.first()?.len();
    let same = all.iter().all(|other| other.len() == length);
    same.then(|| Expect(vec![Piece::Any(length)]))
}

#[cfg(test)]
mod tests {
    use super::{Expect, Place, Taken};

    fn whole(expect: &Expect, bytes: &[u8]) -> Taken {
        let one = expect.take(&mut Place::default(), bytes);
        // In pieces of one byte the result is the same.
        let mut at = Place::default();
        let mut pieces = Taken::All;
        for (n, byte) in bytes.iter().enumerate() {
            pieces = match expect.take(&mut at, &[*byte]) {
                Taken::All => Taken::All,
                Taken::Whole(used) => Taken::Whole(n + used),
                Taken::Wrong(offset) => Taken::Wrong(n + offset),
            };
            if pieces != Taken::All {
                break;
            }
        }
        assert_eq!(one, pieces);
        one
    }

    #[test]
    fn exact_answers() {
        let expect = Expect::exact(b"ok\n");
        assert_eq!(whole(&expect, b"ok\n"), Taken::Whole(3));
        assert_eq!(whole(&expect, b"ok\nmore"), Taken::Whole(3));
        assert_eq!(whole(&expect, b"ok"), Taken::All);
        assert_eq!(whole(&expect, b"oK\n"), Taken::Wrong(1));
        assert_eq!(
            Expect::default().take(&mut Place::default(), b"x"),
            Taken::Whole(0)
        );
    }

    #[test]
    fn parts_that_vary_are_learnt() {
        let learnt = |all: &[&str]| {
            Expect::learn(&all.iter().map(|text| text.as_bytes()).collect::<Vec<_>>())
        };
        let expect = learnt(&["at 18, b\nend\n", "at 19, b\nend\n"]).unwrap();
        assert_eq!(whole(&expect, b"at 7, c\nend\n"), Taken::Whole(12));
        assert_eq!(whole(&expect, b"by 7, c\nend\n"), Taken::Wrong(0));
        assert_eq!(whole(&expect, b"at 7\nEnd\n"), Taken::Wrong(5));
        let expect = learnt(&["12", "34"]).unwrap();
        assert_eq!(whole(&expect, b"567"), Taken::Whole(2));
        assert_eq!(learnt(&["n=9", "n=10"]), None);
    }

    #[test]
    fn an_endless_line_is_wrong() {
        let all: [&[u8]; 2] = [b"at 1\n", b"at 2\n"];
        let expect = Expect::learn(&all).unwrap();
        let mut at = Place::default();
        let piece = vec![b'a'; 1 << 16];
        assert_eq!(expect.take(&mut at, b"at "), Taken::All);
        assert_eq!(expect.take(&mut at, &piece), Taken::All);
        assert_eq!(expect.take(&mut at, &piece), Taken::Wrong(1 << 16));
    }
}

//! What a server must answer: bytes, with the parts that vary marked.
//!
//! Must not know: sockets, specifications, when an answer is asked for, how answers are learnt.

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Exact(Vec<u8>),
    /// Digits. Another piece follows, which does not begin with one.
    Number,
    /// Any bytes up to the next line feed, which belongs to the next piece.
    Line,
    /// So many bytes.
    Any(usize),
}

/// A line that varies is not longer: a server that sends more without end is found out.
const LONGEST_LINE: usize = 1 << 16;
/// The same of a number: 64 bits, and more.
const LONGEST_NUMBER: usize = 40;

/// One of the answers that are right: its parts in order.
pub type Way = Vec<Piece>;

/// A whole answer: one of these. None: nothing is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect(pub Vec<Way>);

/// How much of an answer has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(Vec<Option<At>>);

/// How much of one of the right answers has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct At {
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

impl Place {
    /// Nothing of the next answer has come.
    pub fn begin(&mut self) {
        self.0.clear();
    }
}

impl Expect {
    /// An answer without parts that vary.
    #[must_use]
    pub fn exact(bytes: &[u8]) -> Expect {
        if bytes.is_empty() {
            return Expect::default();
        }
        Expect(vec![vec![Piece::Exact(bytes.to_vec())]])
    }

    /// Whether nothing is answered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares the next bytes.
    pub fn take(&self, at: &mut Place, bytes: &[u8]) -> Taken {
        if self.is_empty() {
            return Taken::Whole(0);
        }
        if at.0.is_empty() {
            at.0.resize(self.0.len(), Some(At::default()));
        }
        let (mut whole, mut open, mut wrong) = (None, false, 0);
        for (way, place) in self.0.iter().zip(&mut at.0) {
            let Some(reached) = place else { continue };
            match step(way, reached, bytes) {
                Taken::All => open = true,
                Taken::Whole(used) => whole = whole.max(Some(used)),
                Taken::Wrong(offset) => {
                    wrong = wrong.max(offset);
                    *place = None;
                }
            }
        }
        match whole {
            Some(used) => Taken::Whole(used),
            None if open => Taken::All,
            None => Taken::Wrong(wrong),
        }
    }
}

/// Compares the next bytes with one of the right answers.
fn step(way: &[Piece], at: &mut At, bytes: &[u8]) -> Taken {
    let mut used = 0;
    while let Some(piece) = way.get(at.piece) {
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
            Piece::Number => match rest.iter().position(|byte| !byte.is_ascii_digit()) {
                Some(0) if at.offset == 0 => return Taken::Wrong(used),
                Some(n) => (n, true),
                None => (rest.len(), false),
            },
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
        let most = match piece {
            Piece::Number => LONGEST_NUMBER,
            Piece::Line => LONGEST_LINE,
            Piece::Exact(_) | Piece::Any(_) => usize::MAX,
        };
        if at.offset > most {
            return Taken::Wrong(used);
        }
        if !done {
            return Taken::All;
        }
        *at = At {
            piece: at.piece + 1,
            offset: 0,
        };
    }
    Taken::Whole(used)
}

/// The number of right answers that are shown.
const SHOWN_WAYS: usize = 4;

impl std::fmt::Display for Expect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (n, way) in self.0.iter().take(SHOWN_WAYS).enumerate() {
            f.write_str(if n == 0 { "" } else { " or " })?;
            for (n, piece) in way.iter().enumerate() {
                f.write_str(if n == 0 { "" } else { " " })?;
                match piece {
                    Piece::Exact(bytes) => f.write_str(&literal(bytes))?,
                    Piece::Number => f.write_str("(number)")?,
                    Piece::Line => f.write_str("(rest of a line)")?,
                    Piece::Any(count) => write!(f, "({count} bytes)")?,
                }
            }
        }
        match self.0.len().saturating_sub(SHOWN_WAYS) {
            0 => Ok(()),
            more => write!(f, " or {more} others"),
        }
    }
}

/// The longest text of bytes that is shown.
const SHOWN: usize = 160;

/// Bytes in quotes, with the escapes `\n`, `\r`, `\t`, `\"`, `\\` and `\xHH`.
#[must_use]
pub fn quoted(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push('"');
    for byte in bytes {
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
    text
}

/// The same, shortened.
#[must_use]
pub fn literal(bytes: &[u8]) -> String {
    let mut text = quoted(&bytes[..bytes.len().min(SHOWN)]);
    if bytes.len() > SHOWN {
        text.push_str(&format!(" and {} bytes more", bytes.len() - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Expect, Piece, Place, Taken};

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

    fn exact(text: &str) -> Piece {
        Piece::Exact(text.as_bytes().to_vec())
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
    fn parts_that_vary() {
        let line = vec![exact("at "), Piece::Line, exact("\nend\n")];
        let expect = Expect(vec![line]);
        assert_eq!(whole(&expect, b"at 7, c\nend\n"), Taken::Whole(12));
        assert_eq!(whole(&expect, b"at 7\nEnd\n"), Taken::Wrong(5));
        let number = vec![exact("n "), Piece::Number, exact("\n")];
        let expect = Expect(vec![number]);
        assert_eq!(whole(&expect, b"n 123\n"), Taken::Whole(6));
        assert_eq!(whole(&expect, b"n \n"), Taken::Wrong(2));
        assert_eq!(whole(&expect, b"n 1x\n"), Taken::Wrong(3));
        assert_eq!(
            whole(&Expect(vec![vec![Piece::Any(2)]]), b"567"),
            Taken::Whole(2)
        );
    }

    #[test]
    fn one_of_several_answers() {
        let expect = Expect(vec![vec![exact("END\n")], vec![exact("VALUE 1\nEND\n")]]);
        assert_eq!(whole(&expect, b"END\n"), Taken::Whole(4));
        assert_eq!(whole(&expect, b"VALUE 1\nEND\nEND\n"), Taken::Whole(12));
        assert_eq!(whole(&expect, b"VALUE 2\n"), Taken::Wrong(6));
        assert_eq!(expect.to_string(), "\"END\\n\" or \"VALUE 1\\nEND\\n\"");
        // What was begun is not forgotten between two pieces.
        let mut at = Place::default();
        assert_eq!(expect.take(&mut at, b"VAL"), Taken::All);
        assert_eq!(expect.take(&mut at, b"END\n"), Taken::Wrong(0));
        at.begin();
        assert_eq!(expect.take(&mut at, b"END\n"), Taken::Whole(4));
    }

    #[test]
    fn an_endless_line_or_number_is_wrong() {
        let expect = Expect(vec![vec![exact("at "), Piece::Line, exact("\n")]]);
        let mut at = Place::default();
        let piece = vec![b'a'; 1 << 16];
        assert_eq!(expect.take(&mut at, b"at "), Taken::All);
        assert_eq!(expect.take(&mut at, &piece), Taken::All);
        assert_eq!(expect.take(&mut at, &piece), Taken::Wrong(1 << 16));
        let expect = Expect(vec![vec![Piece::Number, exact("\n")]]);
        assert_eq!(
            expect.take(&mut Place::default(), &[b'1'; 41]),
            Taken::Wrong(41)
        );
    }
}

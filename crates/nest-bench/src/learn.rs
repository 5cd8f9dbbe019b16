//! Learns from answers to a message which parts of them vary.
//!
//! Must not know: what the message was, how the answers came about.

use std::collections::{BTreeMap, BTreeSet};

use crate::expect::{Expect, Piece, Place, Taken, Way};

/// An answer, and when it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer<'a> {
    /// What was answered.
    pub bytes: &'a [u8],
    /// A number for the time of day and the address of the client: equal ones were given under the
    /// same circumstances.
    pub when: u64,
}

/// Answers of so many forms are told apart.
const MOST_FORMS: usize = 8;

/// An answer with its numbers left out: answers of one form differ only in these.
#[must_use]
pub fn form(answer: &[u8]) -> Vec<u8> {
    let runs = runs(answer).into_iter();
    let text = |run: &[u8]| match run.first() {
        Some(byte) if byte.is_ascii_digit() => b"0".to_vec(),
        _ => run.to_vec(),
    };
    runs.flat_map(text).collect()
}

impl Expect {
    /// The answer for all of these, with what varies marked; `None` if its end could not be found.
    ///
    /// If all forms came under different circumstances, they are the answers that exist: each of them
    /// is right. Otherwise there may be others, and parts of lines are any text.
    #[must_use]
    pub fn learn(all: &[Answer]) -> Option<Expect> {
        let first = all.first()?.bytes;
        if all.iter().all(|answer| answer.bytes == first) {
            return Some(Expect::exact(first));
        }
        if all.iter().any(|answer| answer.bytes.is_empty()) {
            return None;
        }
        let mut forms: BTreeMap<Vec<u8>, Vec<Answer>> = BTreeMap::new();
        for answer in all {
            forms.entry(form(answer.bytes)).or_default().push(*answer);
        }
        let again = |some: &Vec<Answer>| some.iter().any(|answer| answer.when != some[0].when);
        if forms.len() <= MOST_FORMS && forms.values().all(again) {
            return of_groups(forms.into_values(), all);
        }
        let mut lengths: BTreeMap<usize, Vec<Answer>> = BTreeMap::new();
        for answer in all {
            let count = lines(answer.bytes).len();
            lengths.entry(count).or_default().push(*answer);
        }
        of_groups(lengths.into_values(), all)
    }
}

/// An answer for each group, if the end of each can be told from the beginning of another.
fn of_groups<'a>(groups: impl Iterator<Item = Vec<Answer<'a>>>, all: &[Answer]) -> Option<Expect> {
    let ways: Vec<Way> = groups.map(|group| way(&group)).collect::<Option<_>>()?;
    let answers: BTreeSet<&[u8]> = all.iter().map(|answer| answer.bytes).collect();
    let clear = ways.iter().all(|way| {
        let one = Expect(vec![way.clone()]);
        answers
            .iter()
            .all(|answer| match one.take(&mut Place::default(), answer) {
                Taken::Whole(used) => used == answer.len(),
                Taken::All => false,
                Taken::Wrong(_) => true,
            })
    });
    clear.then_some(Expect(ways))
}

/// What is the same in answers of as many lines.
fn way(group: &[Answer]) -> Option<Way> {
    let all: Vec<Vec<&[u8]>> = group.iter().map(|answer| lines(answer.bytes)).collect();
    let same = |n: usize| all.iter().all(|some| some[n] == all[0][n]);
    let numbers: Vec<Vec<bool>> = (0..all[0].len())
        .map(|n| varying_numbers(&all.iter().map(|some| some[n]).collect::<Vec<_>>()))
        .collect();
    let mut way = Way::new();
    for n in 0..all[0].len() {
        let variants: Vec<&[u8]> = all.iter().map(|some| some[n]).collect();
        let line = variants[0];
        let ends = variants.iter().all(|line| line.ends_with(b"\n"));
        let like = variants.iter().all(|other| form(other) == form(line));
        if ends && like {
            // A list of numbers: what varies in one line may vary in another one.
            let kin = |k: &usize| same(*k) || !numbers[*k].is_empty();
            let kin = (0..all[0].len()).filter(kin);
            let kin = kin.filter(|k| *k == n || akin(all[0][*k], line));
            let varies = kin.fold(vec![false; runs(line).len()], |mut varies, k| {
                for (to, from) in varies.iter_mut().zip(&numbers[k]) {
                    *to |= from;
                }
                varies
            });
            for (run, varies) in runs(line).into_iter().zip(varies) {
                push(
                    &mut way,
                    if varies {
                        Piece::Number
                    } else {
                        Piece::Exact(run.to_vec())
                    },
                );
            }
        } else if same(n) {
            push(&mut way, Piece::Exact(line.to_vec()));
        } else if ends {
            push(&mut way, Piece::Exact(front(&variants)));
            push(&mut way, Piece::Line);
            push(&mut way, Piece::Exact(b"\n".to_vec()));
        } else if variants.iter().all(|other| other.len() == line.len()) {
            push(&mut way, Piece::Any(line.len()));
        } else {
            return None;
        }
    }
    Some(way)
}

fn push(way: &mut Way, piece: Piece) {
    match (way.last_mut(), piece) {
        (_, Piece::Exact(more)) if more.is_empty() => {}
        (Some(Piece::Exact(bytes)), Piece::Exact(more)) => bytes.extend(more),
        (_, piece) => way.push(piece),
    }
}

fn lines(answer: &[u8]) -> Vec<&[u8]> {
    answer.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Digits, and what is between them.
fn runs(line: &[u8]) -> Vec<&[u8]> {
    line.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
        .collect()
}

/// Which runs differ; none if more than numbers differs.
fn varying_numbers(variants: &[&[u8]]) -> Vec<bool> {
    let all: Vec<Vec<&[u8]>> = variants.iter().map(|line| runs(line)).collect();
    if variants.iter().any(|line| form(line) != form(variants[0])) {
        return Vec::new();
    }
    let differs = |n: usize| all.iter().any(|some| some[n] != all[0][n]);
    (0..all[0].len()).map(differs).collect()
}

/// Whether two lines are of one list: the same first word, further ones, and numbers at the same places.
fn akin(a: &[u8], b: &[u8]) -> bool {
    let words = |line: &[u8]| -> Vec<Vec<u8>> {
        line.split(|byte| *byte == b' ')
            .map(<[u8]>::to_vec)
            .collect()
    };
    let (words_a, words_b) = (words(a), words(b));
    let starts = |line: &[u8]| line.first().is_some_and(u8::is_ascii_digit);
    let first = &words_a[0];
    words_a.len() == words_b.len()
        && words_a.len() > 1
        && *first == words_b[0]
        && !first.is_empty()
        && !first.iter().any(u8::is_ascii_digit)
        && starts(a) == starts(b)
        && runs(a).len() == runs(b).len()
}

/// The whole words at the beginning of all lines that are always the same.
fn front(lines: &[&[u8]]) -> Vec<u8> {
    let words = |line: &[u8]| -> Vec<Vec<u8>> {
        line.chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric())
            .map(<[u8]>::to_vec)
            .collect()
    };
    let all: Vec<Vec<Vec<u8>>> = lines.iter().map(|line| words(line)).collect();
    let shortest = all.iter().map(Vec::len).min().unwrap_or_default();
    let same = (0..shortest).take_while(|n| all.iter().all(|some| some[*n] == all[0][*n]));
    let mut front = all[0][..same.count()].concat();
    // The line feed belongs to the next piece.
    if front.ends_with(b"\n") {
        front.pop();
    }
    front
}

#[cfg(test)]
mod tests {
    use super::Answer;
    use crate::expect::{Expect, Place, Taken};

    /// Each answer under other circumstances.
    fn learnt(all: &[&str]) -> Option<Expect> {
        let number = |(n, text): (usize, &&str)| (text.to_string(), n as u64);
        let all: Vec<(String, u64)> = all.iter().enumerate().map(number).collect();
        let answers = all.iter().map(|(text, when)| Answer {
            bytes: text.as_bytes(),
            when: *when,
        });
        Expect::learn(&answers.collect::<Vec<_>>())
    }

    fn takes(expect: &Option<Expect>, text: &str) -> bool {
        let taken = expect.as_ref().unwrap();
        let taken = taken.take(&mut Place::default(), text.as_bytes());
        taken == Taken::Whole(text.len())
    }

    #[test]
    fn numbers_that_vary() {
        let expect = learnt(&["at 18, b2\nend\n", "at 19, b2\nend\n"]);
        assert!(takes(&expect, "at 7, b2\nend\n"));
        assert!(!takes(&expect, "at 7, b3\nend\n"));
        assert!(!takes(&expect, "at x, b2\nend\n"));
        assert!(takes(&learnt(&["12", "34"]), "56"));
        assert_eq!(learnt(&["n=9", "n=10"]), None);
    }

    #[test]
    fn a_list_of_numbers() {
        let expect = learnt(&[
            "STAT version 1.6.0\nSTAT gets 0\nSTAT sets 3\nEND\n",
            "STAT version 1.6.0\nSTAT gets 0\nSTAT sets 4\nEND\n",
        ]);
        assert!(takes(
            &expect,
            "STAT version 1.6.0\nSTAT gets 5\nSTAT sets 17\nEND\n"
        ));
        assert!(!takes(
            &expect,
            "STAT version 1.6.1\nSTAT gets 5\nSTAT sets 17\nEND\n"
        ));
        // Other lines with a number are none of the list.
        let expect = learnt(&["Age: 1\nLength: 2\n", "Age: 3\nLength: 2\n"]);
        assert!(takes(&expect, "Age: 4\nLength: 2\n"));
        assert!(!takes(&expect, "Age: 4\nLength: 3\n"));
    }

    #[test]
    fn words_that_vary() {
        // Each form came again: there is no other one.
        let expect = learnt(&["new\n", "known before\n", "new\n", "known before\n"]);
        assert!(takes(&expect, "new\n") && takes(&expect, "known before\n"));
        assert!(!takes(&expect, "news\n"));
        // There may be more.
        let expect = learnt(&["on Mon, 1\n", "on Tue, 2\n", "on Tue, 3\n"]);
        assert!(takes(&expect, "on Wed, 4\n"));
        assert!(!takes(&expect, "in Wed, 4\n"));
        assert!(!takes(&expect, "on Wed, 4\nmore\n"));
    }

    #[test]
    fn the_number_of_lines_varies() {
        let expect = learnt(&[
            "END\n",
            "VALUE 3\nabc\nEND\n",
            "VALUE 5\nabc\nEND\n",
            "END\n",
        ]);
        assert!(takes(&expect, "END\n") && takes(&expect, "VALUE 7\nabc\nEND\n"));
        assert!(!takes(&expect, "VALUE 7\nabd\nEND\n"));
        // The end of one cannot be told from the beginning of the other.
        assert_eq!(learnt(&["a\n", "a\nb\n", "a\n", "a\nb\n"]), None);
        assert_eq!(learnt(&["x\n", "y\n", "z\nb\n"]), None);
    }
}

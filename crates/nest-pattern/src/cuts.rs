//! Which ends of elements are known without recording them, because they have a fixed distance from
//! another position.
//!
//! An element with only one possible length ties its two ends together. Each such chain needs at
//! most one tag, and none if it contains the start or the end of the message. Must not know:
//! automata with tags.

use crate::nfa::{Nfa, NfaState};
use std::collections::BTreeSet;

/// The position of a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Not needed.
    Unused,
    /// Bytes after the start of the message.
    Start(u32),
    /// Bytes before its end.
    End(u32),
    /// Bytes after a tag, given by its number.
    Tag(usize, i64),
}

/// The boundaries after all elements except the last, and the elements whose ends are tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cuts {
    /// For each element except the last.
    pub cuts: Vec<Cut>,
    /// The tags: each is the element that ends there.
    pub tags: Vec<u32>,
}

impl Cuts {
    /// For the given parts (elements, from 0).
    #[must_use]
    pub fn of(nfa: &Nfa, parts: &BTreeSet<u32>) -> Cuts {
        let lengths = lengths(nfa);
        let count = lengths.len();
        let ends: BTreeSet<usize> = parts
            .iter()
            .flat_map(|part| [part.checked_sub(1), Some(*part)])
            .flatten()
            .map(|end| end as usize)
            .filter(|end| end + 1 < count)
            .collect();
        let mut cuts = vec![Cut::Unused; count.saturating_sub(1)];
        let mut tags: Vec<u32> = Vec::new();
        let mut last: Option<(usize, usize)> = None; // the latest tag, and the element it ends
        for end in ends {
            let between = |from: usize, to: usize| -> Option<u32> {
                lengths[from..to]
                    .iter()
                    .try_fold(0u32, |sum, n| sum.checked_add((*n)?))
            };
            let from_last = last
                .and_then(|(tag, at)| Some(Cut::Tag(tag, i64::from(between(at + 1, end + 1)?))));
            cuts[end] = if let Some(n) = between(0, end + 1) {
                Cut::Start(n)
            } else if let Some(n) = between(end + 1, count) {
                Cut::End(n)
            } else if let Some(cut) = from_last {
                cut
            } else {
                tags.push(u32::try_from(end).unwrap_or(u32::MAX));
                last = Some((tags.len() - 1, end));
                Cut::Tag(tags.len() - 1, 0)
            };
        }
        Cuts { cuts, tags }
    }

    /// The position of a boundary in a message of `n` bytes.
    #[must_use]
    pub fn place(&self, end: usize, tags: &[usize], n: usize) -> Option<usize> {
        match self.cuts[end] {
            Cut::Unused => None,
            Cut::Start(by) => Some(by as usize),
            Cut::End(by) => n.checked_sub(by as usize),
            Cut::Tag(tag, by) => tags[tag].checked_add_signed(isize::try_from(by).ok()?),
        }
    }
}

/// The length of each element that has only one.
fn lengths(nfa: &Nfa) -> Vec<Option<u32>> {
    let mut entries = vec![None; nfa.parts as usize];
    if let Some(first) = entries.first_mut() {
        *first = Some(nfa.start);
    }
    for state in &nfa.states {
        if let NfaState::Mark { part, next } = state {
            entries[*part as usize + 1] = Some(*next);
        }
    }
    entries.iter().map(|entry| length(nfa, (*entry)?)).collect()
}

/// Follows all states of the element for each length in turn, until it can end.
fn length(nfa: &Nfa, entry: u32) -> Option<u32> {
    let mut at = BTreeSet::from([entry]);
    let mut n = 0;
    loop {
        let (mut bytes, mut ends) = (BTreeSet::new(), false);
        let mut todo: Vec<u32> = at.iter().copied().collect();
        let mut seen = at.clone();
        while let Some(id) = todo.pop() {
            match nfa.state(id) {
                NfaState::Byte { next, .. } => {
                    bytes.insert(*next);
                }
                NfaState::Split(targets) => {
                    todo.extend(targets.iter().filter(|t| seen.insert(**t)));
                }
                NfaState::Mark { .. } | NfaState::Match => ends = true,
            }
        }
        if ends || bytes.is_empty() {
            return (ends && bytes.is_empty()).then_some(n);
        }
        at = bytes;
        n += 1;
    }
}

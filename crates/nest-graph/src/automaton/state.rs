//! The automaton of a rule as data. Must not know: pictures.

use std::collections::BTreeMap;

/// Labels are not longer.
pub(super) const LONGEST: usize = 24;

/// A state of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// What was read so far matches.
    pub accepts: bool,
    /// More may be read.
    pub live: bool,
    /// The elements that may be read next, from 1.
    pub elements: Vec<u32>,
}

/// The automaton of a rule; state 0 is the first.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// What it is of.
    pub title: String,
    /// The pattern as written.
    pub pattern: String,
    /// The states that are reached, but the dead one.
    pub states: Vec<State>,
    /// Which bytes lead from one to another.
    pub edges: BTreeMap<(usize, usize), Bytes>,
}

/// A set of bytes.
pub type Bytes = Box<[bool; 256]>;

/// The byte, if it is one, or one in both cases; and whether it is both.
pub(super) fn letter(set: &[bool; 256]) -> Option<(u8, bool)> {
    let mut all = (0..=255u8).filter(|b| set[usize::from(*b)]);
    match (all.next(), all.next(), all.next()) {
        (Some(one), None, _) => Some((one, false)),
        (Some(a), Some(b), None) if a.is_ascii_uppercase() && a.to_ascii_lowercase() == b => {
            Some((b, true))
        }
        _ => None,
    }
}

//! The NFA of one repeated element, with a mark behind each repetition.
//!
//! It is run over the text of the element alone. This gives the repetitions of the path of the whole
//! match: paths are compared by their first different choice, all paths of an element begin in one
//! state and continue in one state, so if another path of the element over the same text were
//! preferred, the whole path with it would be preferred too. Must not know: how it is run.

use super::build::build_repeated;
use super::prune::prune;
use super::state::{Nfa, NfaState, TooLarge};
use crate::hir::Hir;

/// The maximum number of states. The server stores a bit for each state and byte of the text.
pub const REPEATED_LIMIT: usize = 512;

impl Nfa {
    /// The NFA of an element that is a repetition; `None` if it is not one.
    ///
    /// Splits and marks lead only to states with higher numbers, so that one pass over the states in
    /// descending order finds those from which a text can be matched.
    ///
    /// # Errors
    /// [`TooLarge`] if it needs more than [`REPEATED_LIMIT`] states.
    pub fn repeated(element: &Hir) -> Option<Result<Nfa, TooLarge>> {
        let Hir::Repeat { inner, .. } = element else {
            return None;
        };
        Some(build_repeated(element, inner).and_then(|(states, start)| {
            let (states, start) = prune(&states, start);
            if states.len() > REPEATED_LIMIT {
                return Err(TooLarge);
            }
            Ok(ordered(&states, start))
        }))
    }
}

/// The states renumbered so that each comes before those that it reaches without a byte.
fn ordered(states: &[NfaState], start: u32) -> Nfa {
    let mut done = vec![false; states.len()];
    let mut order = Vec::with_capacity(states.len());
    for id in 0..states.len() {
        visit(states, id, &mut done, &mut order);
    }
    order.reverse();
    let mut number = vec![0; states.len()];
    for (new, old) in (0u32..).zip(&order) {
        number[*old] = new;
    }
    let renumber = |id: &u32| number[*id as usize];
    let renumbered = order.iter().map(|old| match &states[*old] {
        NfaState::Byte { set, next } => NfaState::Byte {
            set: *set,
            next: renumber(next),
        },
        NfaState::Mark { part, next } => NfaState::Mark {
            part: *part,
            next: renumber(next),
        },
        NfaState::Split(targets) => NfaState::Split(targets.iter().map(renumber).collect()),
        NfaState::Match => NfaState::Match,
    });
    Nfa {
        states: renumbered.collect(),
        start: renumber(&start),
        parts: 1,
    }
}

/// Appends a state behind all that it reaches without a byte. At most [`REPEATED_LIMIT`] calls deep.
fn visit(states: &[NfaState], id: usize, done: &mut [bool], order: &mut Vec<usize>) {
    if std::mem::replace(&mut done[id], true) {
        return;
    }
    match &states[id] {
        NfaState::Split(targets) => {
            for target in targets {
                visit(states, *target as usize, done, order);
            }
        }
        NfaState::Mark { next, .. } => visit(states, *next as usize, done, order),
        NfaState::Byte { .. } | NfaState::Match => {}
    }
    order.push(id);
}

//! The ordered NFA as data. Must not know: how it is built, how it is run.

use nest_syntax::ast::ByteSet;
use std::fmt;

/// Most states a rule may have: a state number fits 16 bits, with room for marks of a table.
pub const STATE_LIMIT: usize = 65_000;

/// One state of the ordered NFA. Numbers index [`Nfa::states`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NfaState {
    /// Consumes one byte of `set`, goes to `next`.
    Byte {
        /// Which bytes.
        set: ByteSet,
        /// Where to.
        next: u32,
    },
    /// Tries each in order. (Pruned: every target can still reach Match.)
    Split(Vec<u32>),
    /// The boundary behind element `part` (0-based; the last element has none: it ends at Match).
    Mark {
        /// Index of the element that ends here.
        part: u32,
        /// Where to.
        next: u32,
    },
    /// Matched.
    Match,
}

/// Thompson NFA with preference order; states from which Match cannot be reached are not in it.
///
/// No cycle is without a [`NfaState::Byte`], so following Splits and Marks always ends. If nothing
/// can match (which [`crate::lower`] refuses), the only state is a Split without targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nfa {
    /// States, numbered in the order in which a reader of the pattern meets them.
    pub states: Vec<NfaState>,
    /// Where to begin.
    pub start: u32,
    /// Number of elements.
    pub parts: u32,
}

/// The pattern needs more than [`STATE_LIMIT`] states, or nests too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the pattern needs more than {STATE_LIMIT} states")
    }
}

impl std::error::Error for TooLarge {}

impl Nfa {
    /// The same without an element (from 0), to see how much of an automaton is its own.
    #[must_use]
    pub fn without(&self, element: u32) -> Nfa {
        let mut nfa = self.clone();
        // The last element has no mark: it ends at Match.
        let is_exit = |state: &NfaState| match state {
            NfaState::Mark { part, .. } => *part == element,
            NfaState::Match => element + 1 == self.parts,
            _ => false,
        };
        let exit = (0..).zip(&self.states).find(|(_, state)| is_exit(state));
        let Some((exit, _)) = exit else { return nfa };
        match element.checked_sub(1) {
            None => nfa.start = exit,
            Some(before) => {
                for state in &mut nfa.states {
                    if let NfaState::Mark { part, next } = state
                        && *part == before
                    {
                        *next = exit;
                    }
                }
            }
        }
        nfa
    }

    /// The state of that number.
    #[must_use]
    pub fn state(&self, id: u32) -> &NfaState {
        &self.states[id as usize]
    }
}

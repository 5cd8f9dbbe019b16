//! The ordered NFA of one rule.
//!
//! Must not know: notation, determinisation, how it is run.

mod build;
mod prune;

use crate::hir::Hir;
use nest_syntax::ast::ByteSet;
use std::fmt;

/// The maximum number of states of a rule: a state number fits 16 bits, with space for flags of a
/// table.
pub const STATE_LIMIT: usize = 65_000;

/// One state of the ordered NFA. Numbers are indexes into [`Nfa::states`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NfaState {
    /// Consumes one byte of `set` and goes to `next`.
    Byte {
        /// The bytes.
        set: ByteSet,
        /// The next state.
        next: u32,
    },
    /// Tries each in order. (Pruned: every target can reach Match.)
    Split(Vec<u32>),
    /// The boundary after element `part` (from 0; the last element has none, because it ends at
    /// Match).
    Mark {
        /// The element that ends here.
        part: u32,
        /// The next state.
        next: u32,
    },
    /// Matched.
    Match,
}

/// A Thompson NFA with order of preference, without states from which Match cannot be reached.
///
/// Every cycle contains a [`NfaState::Byte`], so following Splits and Marks always ends. If nothing
/// can match (which [`crate::lower`] refuses), the only state is a Split without targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nfa {
    /// The states, numbered in the order of the pattern.
    pub states: Vec<NfaState>,
    /// The start.
    pub start: u32,
    /// The number of elements.
    pub parts: u32,
}

/// The pattern needs more than [`STATE_LIMIT`] states, or is nested too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the pattern needs more than {STATE_LIMIT} states")
    }
}

impl std::error::Error for TooLarge {}

impl Nfa {
    /// Builds the NFA of a sequence of elements.
    ///
    /// # Errors
    /// [`TooLarge`], detected before more than [`STATE_LIMIT`] states exist.
    pub fn build(elements: &[Hir]) -> Result<Nfa, TooLarge> {
        let (states, start) = build::build(elements)?;
        let (states, start) = prune::prune(&states, start);
        let parts = u32::try_from(elements.len()).map_err(|_| TooLarge)?;
        Ok(Nfa {
            states,
            start,
            parts,
        })
    }

    /// Whether [`Nfa::build`] would succeed.
    pub(crate) fn fits(elements: &[Hir]) -> bool {
        build::build(elements).is_ok()
    }

    /// Built from these states, without those from which nothing can match.
    pub(crate) fn pruned(states: &[NfaState], start: u32, parts: u32) -> Nfa {
        let (states, start) = prune::prune(states, start);
        Nfa {
            states,
            start,
            parts,
        }
    }

    /// The same without an element (from 0), to see how much of an automaton it causes.
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

    /// The state with this number.
    #[must_use]
    pub fn state(&self, id: u32) -> &NfaState {
        &self.states[id as usize]
    }
}

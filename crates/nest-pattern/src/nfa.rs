//! The ordered NFA of one rule: states, and what builds and prunes them.
//!
//! Must not know: notation, determinisation, how it is run.

mod build;
mod prune;

mod state;

use crate::hir::Hir;
pub use state::{Nfa, NfaState, STATE_LIMIT, TooLarge};

impl Nfa {
    /// Builds the NFA of the elements, one after another.
    ///
    /// # Errors
    /// [`TooLarge`], found before more than [`STATE_LIMIT`] states exist.
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

    /// Whether [`Nfa::build`] builds it.
    pub(crate) fn fits(elements: &[Hir]) -> bool {
        build::build(elements).is_ok()
    }

    /// Of these states, without those from which nothing can match.
    pub(crate) fn pruned(states: &[NfaState], start: u32, parts: u32) -> Nfa {
        let (states, start) = prune::prune(states, start);
        Nfa {
            states,
            start,
            parts,
        }
    }
}

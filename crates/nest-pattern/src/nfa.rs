//! The ordered NFA of one rule.
//!
//! Must not know: notation, determinisation, how it is run.

mod build;
mod prune;
mod repeated;
mod state;

use crate::hir::Hir;
pub use repeated::REPEATED_LIMIT;
pub use state::{Nfa, NfaState, STATE_LIMIT, TooLarge};

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
}

//! From a pattern's syntax tree to the automata that run it.
//!
//! `ast::Pattern` → [`lower`] → [`Hir`] → [`Nfa`] (ordered choices, pruned) → [`Dfa`] (ordered
//! subset construction, up to a budget); [`sim`] runs them. Must not know: states, conditions,
//! actions, C.

mod dfa;
mod hir;
mod lower;
mod nfa;
pub mod sim;
mod threads;

pub use dfa::Dfa;
pub use hir::Hir;
pub use lower::lower;
pub use nest_syntax::ast::ByteSet;
pub use nfa::{Nfa, NfaState, STATE_LIMIT, TooLarge};

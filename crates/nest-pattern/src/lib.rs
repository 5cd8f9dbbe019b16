//! Compiles a pattern's syntax tree into automata.
//!
//! `ast::Pattern` → [`lower`] → [`Hir`] → [`Nfa`] (ordered choices, pruned) → [`Dfa`] (ordered
//! subset construction, up to a budget). [`sim`] runs them. Patterns with constructs that automata
//! cannot express become text for libpcre2 ([`backtracking`]). Must not know: states, conditions,
//! actions, C.

pub mod backtracking;
mod cuts;
mod dfa;
mod hash;
mod hir;
mod longest;
mod lower;
mod nfa;
mod parts;
mod product;
pub mod sim;
mod tagged;
mod threads;

pub use cuts::{Cut, Cuts};
pub use dfa::Dfa;
pub use dfa::classes::{BYTES, divide};
pub use hir::Hir;
pub use lower::lower;
pub use nest_syntax::ast::ByteSet;
pub use nfa::{Nfa, NfaState, REPEATED_LIMIT, STATE_LIMIT, TooLarge};
pub use parts::{Form, Shape};
pub use product::{Accept, Chain, Effect, Member, Product};
pub use tagged::{Moves, Source, Tagged};

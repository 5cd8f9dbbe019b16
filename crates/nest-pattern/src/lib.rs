//! From a pattern's syntax tree to the automata that run it.
//!
//! `ast::Pattern` → [`lower`] → [`Hir`] → [`Nfa`] (ordered choices, pruned) → [`Dfa`] (ordered
//! subset construction, up to a budget). Must not know: states, conditions, actions, C.

use nest_diag::Diagnostic;
pub use nest_syntax::ast::ByteSet;
use nest_syntax::ast::Pattern;
use std::collections::BTreeMap;

/// A pattern with macros expanded, flags applied, elements apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hir {
    /// The empty string.
    Empty,
    /// One byte of the set (never empty set; a class that is empty is an error before).
    Class(ByteSet),
    /// One after another.
    Concat(Vec<Hir>),
    /// In order of preference.
    Alt(Vec<Hir>),
    /// Repeated.
    Repeat {
        /// What.
        inner: Box<Hir>,
        /// At least.
        min: u32,
        /// At most.
        max: Option<u32>,
        /// Perl's preference.
        greedy: bool,
    },
}

/// Lowers a pattern: one [`Hir`] per element, `Err` holds what is wrong (macro recursion is
/// found before, by the caller). `caseless`: `%option caseless`.
///
/// # Errors
/// Diagnostics E0310, E0311, E0316 and what else only shows after expansion.
pub fn lower(
    _pattern: &Pattern,
    _macros: &BTreeMap<String, Pattern>,
    _caseless: bool,
) -> Result<Vec<Hir>, Vec<Diagnostic>> {
    Ok(Vec::new())
}

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
    /// Tries each in order. (Pruned: every target can still reach Match. May have one target.)
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nfa {
    /// States.
    pub states: Vec<NfaState>,
    /// Where to begin.
    pub start: u32,
    /// Number of elements.
    pub parts: u32,
}

/// Per-rule DFA: exact acceptance and liveness at every byte (`docs/language.md`, Matching).
/// State numbers are ordered by kind so that two comparisons classify a state:
/// 0 is dead; 1 accepts and is not live (always present, even if unused);
/// `2..first_silent` accept and are live; `first_silent..count` are live and do not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dfa {
    /// Byte to class.
    pub classes: [u8; 256],
    /// Number of classes (1..=256).
    pub class_count: u32,
    /// `next[state * class_count + class]`.
    pub next: Vec<u32>,
    /// The state before any byte; live, never accepting.
    pub start: u32,
    /// First state that is live and does not accept.
    pub first_silent: u32,
    /// Number of states.
    pub count: u32,
}

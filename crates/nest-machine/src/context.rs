//! What an action is checked against, and where findings go. Must not know: what is checked.

use nest_c::scope::Names;
use nest_diag::{Diagnostic, SourceMap};
use std::collections::BTreeSet;
use tree_sitter::Parser;

/// What an action is checked against.
pub struct Context<'a> {
    /// All source text.
    pub sources: &'a SourceMap,
    /// State names by number.
    pub states: &'a [String],
    /// Per-connection variables.
    pub variables: &'a Names,
    /// Those of them, by number, that are arrays.
    pub arrays: &'a BTreeSet<usize>,
    /// Variables of `%shared`; none if there is no `%shared`.
    pub shared: Option<&'a Names>,
    /// How many classes of clients there are; 0: clients have none.
    pub classes: u32,
    /// C functions that can be called only inside `$lock`.
    pub inside: &'a BTreeSet<String>,
    /// Findings.
    pub out: &'a mut Vec<Diagnostic>,
    /// The C parser.
    pub parser: &'a mut Parser,
}

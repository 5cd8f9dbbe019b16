//! A finding: what is reported, and the conversation that shows it. Must not know: how it is found.

use crate::witness::Witness;
use nest_diag::Diagnostic;

/// A finding.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What, where, and what to do about it.
    pub diagnostic: Diagnostic,
    /// What a client does to see it; nothing where there is nothing to be seen, or where it is not
    /// known how a client comes there.
    pub witness: Option<Witness>,
    /// Of those with the same number only the first that is not allowed is reported.
    pub once: Option<usize>,
}

impl From<Diagnostic> for Finding {
    /// One that is about no conversation.
    fn from(diagnostic: Diagnostic) -> Finding {
        Finding {
            diagnostic,
            witness: None,
            once: None,
        }
    }
}

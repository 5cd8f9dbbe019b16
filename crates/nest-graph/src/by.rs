//! What moves a conversation from one set of states to another. Must not know: pictures.

use nest_machine::reach::Step;

/// What moves a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// START's action.
    Start,
    /// A rule.
    Rule(usize),
    /// A TIMEOUT rule.
    Timer(usize),
    /// Nothing is active.
    Stuck,
}

impl From<Option<Step>> for By {
    fn from(step: Option<Step>) -> By {
        match step {
            None => By::Start,
            Some(Step::Rule(n)) => By::Rule(n),
            Some(Step::Timer(n)) => By::Timer(n),
        }
    }
}

//! The C of a specification: actions, and what stands around them. It is all that the analyses take.
//! Must not know: patterns, conditions, options.

use crate::action::{Action, Code};

/// The C of a specification.
#[derive(Clone, Debug)]
pub struct Source<'m> {
    /// The name that begins the generated names: states are `NAME_STATE_…` in C.
    pub name: &'m str,
    /// The names of states by number, at most 64.
    pub states: &'m [String],
    /// Each rule's action.
    pub rules: Vec<&'m Action>,
    /// Each TIMEOUT rule's.
    pub timers: Vec<&'m Action>,
    /// START's.
    pub start: Option<&'m Action>,
    /// END's.
    pub end: Option<&'m Action>,
    /// OVERLOAD's.
    pub overload: Option<&'m Action>,
    /// The code of `%timer` and `%signal`, which runs in a process without connections.
    pub server: Vec<&'m Action>,
    /// The code of `%worker`, which runs when a worker begins.
    pub beginning: Vec<&'m Action>,
    /// The code that initialises the variables of `%shared`.
    pub shared: Option<&'m Action>,
    /// The statements of the start-up section, in order.
    pub startup: Vec<&'m Code>,
    /// What stands at file scope, in order.
    pub file_scope: Vec<&'m Code>,
    /// Declarations of per-connection variables.
    pub variables: Vec<Declaration<'m>>,
    /// Macros whose bodies name such variables.
    pub macros: Vec<&'m Action>,
}

/// A declaration of per-connection variables, or another line that stands among them.
#[derive(Clone, Debug)]
pub struct Declaration<'m> {
    /// Its specifiers.
    pub specifiers: &'m Code,
    /// Its declarators.
    pub declarators: Vec<&'m Code>,
}

/// Whose action it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A rule's.
    Rule(usize),
    /// A TIMEOUT rule's.
    Timer(usize),
    /// START's.
    Start,
    /// END's.
    End,
    /// OVERLOAD's.
    Overload,
}

impl Owner {
    /// It runs when the conversation is over, or instead of one: what it does changes nothing later.
    #[must_use]
    pub fn is_last(self) -> bool {
        matches!(self, Owner::End | Owner::Overload)
    }
}

impl<'m> Source<'m> {
    /// All actions: of rules, of TIMEOUT rules, START's, END's, OVERLOAD's.
    pub fn actions(&self) -> impl Iterator<Item = (Owner, &'m Action)> {
        let rules = self.rules.iter().enumerate();
        let timers = self.timers.iter().enumerate();
        rules
            .map(|(n, a)| (Owner::Rule(n), *a))
            .chain(timers.map(|(n, a)| (Owner::Timer(n), *a)))
            .chain(self.start.map(|a| (Owner::Start, a)))
            .chain(self.end.map(|a| (Owner::End, a)))
            .chain(self.overload.map(|a| (Owner::Overload, a)))
    }
}

//! A piece of C whose paths are searched, and what its names mean. Must not know: statements.

use super::paths::Path;
use crate::action::{ArgKind, Args, Use};
use crate::directives::{Does, Reads, States};
use std::collections::{BTreeMap, BTreeSet};

/// Why the paths through a text are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The order of its statements is not clear; the names in it are.
    Unclear,
    /// Code that is not known gets the session: it may do anything.
    Anything,
}

/// A piece of C.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// The text that nodes are of.
    pub text: &'a str,
    /// Bytes in front of the piece.
    pub shift: usize,
    /// In an action, its uses by place.
    pub uses: &'a BTreeMap<usize, &'a Use>,
    /// Names that are sessions.
    pub sessions: &'a BTreeSet<&'a str>,
    /// `NAME_STATE_`, before the names of states in C.
    pub prefix: &'a str,
    /// The names of states.
    pub states: &'a [String],
    /// Whether a reply counts as an end, too: the client does not wait any longer then.
    pub answers: bool,
}

impl Text<'_> {
    /// Whether something takes more input, where that matters.
    pub fn reads(&self, does: &Does) -> bool {
        self.answers && does.reads != Reads::Nothing
    }

    /// Whether something counts as an end.
    pub fn ends(&self, does: &Does) -> bool {
        self.answers && does.replies
    }

    /// The bit of the state that a word of C names; `None` if it is no constant.
    pub fn state(&self, word: &str) -> Option<u64> {
        let named = word.strip_prefix(self.prefix);
        let number = match named {
            Some(name) => self.states.iter().position(|s| s == name)?,
            None => word.parse().ok()?,
        };
        (number < self.states.len()).then(|| 1 << number)
    }
}

/// All states of a machine.
pub fn all(states: &[String]) -> u64 {
    u64::MAX >> (64 - states.len().clamp(1, 64))
}

/// What a directive that changes states does, on its own.
pub fn directive(states: States, call: &Args, all: u64) -> Path {
    let mut done = match states {
        States::Only | States::ClearsAll => Path::cleared(all & !1),
        _ => Path::NOTHING,
    };
    for arg in &call.args {
        let step = match (states, &arg.kind) {
            (States::Marks | States::Only, ArgKind::State(n)) => Path::seen(1 << n),
            (States::Clears, ArgKind::State(n)) => Path::cleared(1 << n),
            (States::Clears, ArgKind::AllStates) => Path::cleared(all & !1),
            _ => continue,
        };
        done = done.and_then(&step).unwrap_or(done);
    }
    done
}

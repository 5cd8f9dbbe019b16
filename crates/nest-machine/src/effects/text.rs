//! A piece of C whose ways are looked for: what is known of its names. Must not know: statements.

use super::paths::Path;
use crate::model::{ArgKind, Args, Use};
use std::collections::{BTreeMap, BTreeSet};

/// Why the ways through a text are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its order is not clear; what it names is.
    Unclear,
    /// Somebody unknown has the session: anything may be done.
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
    /// Whether an answer counts as an end, too: who sent something waits no longer then.
    pub answers: bool,
}

/// What answers a client: directives, and functions of `nest.h`.
const ANSWERS: [&str; 10] = [
    "reply",
    "replyBytes",
    "fileReply",
    "nest_reply",
    "nest_replyf",
    "nest_vreplyf",
    "nest_reply_bytes",
    "nest_reply_list",
    "nest_file_reply",
    "nest_file_reply_path",
];

/// What takes more of what the client sends: then the message is not over where the match is.
const READS: [&str; 10] = [
    "read",
    "readLine",
    "readInto",
    "skip",
    "fileReceive",
    "nest_read",
    "nest_read_line",
    "nest_read_into",
    "nest_skip",
    "nest_file_receive",
];

impl Text<'_> {
    /// Whether a directive or function of this name takes more input, where that matters.
    pub fn reads(&self, name: &str) -> bool {
        self.answers && READS.contains(&name)
    }

    /// Whether a directive or function of this name counts as an end.
    pub fn ends(&self, name: &str) -> bool {
        self.answers && ANSWERS.contains(&name)
    }

    /// The bit of a state that C names; nothing if it says it in another way.
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

/// What a directive about states does, on its own.
pub fn directive(name: &str, call: &Args, states: u64) -> Path {
    let mut done = Path::NOTHING;
    if name == "next" {
        done = Path::cleared(states & !1);
    }
    for arg in &call.args {
        let step = match (name, &arg.kind) {
            ("seen" | "next", ArgKind::State(n)) => Path::seen(1 << n),
            ("clear", ArgKind::State(n)) => Path::cleared(1 << n),
            ("clear", ArgKind::AllStates) => Path::cleared(states & !1),
            _ => continue,
        };
        done = done.and_then(&step).unwrap_or(done);
    }
    done
}

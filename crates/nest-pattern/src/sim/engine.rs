//! Selects between rules: lines 1 to 15 of `docs/language.md`, Matching, for stream framing.
//!
//! The caller handles timers and closing. Must not know: how conditions select the active rules.

use super::product::{ProductRun, Together};
use super::runner::{Rule, Runner, parts};
use std::ops::Range;

/// Why a conversation ends at a read point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// End of file, and no input is unread.
    Eof,
    /// No rule matches the unread input.
    Input,
    /// The buffer is full, and no rule is selected.
    Overflow,
    /// No rule is active.
    Stuck,
}

/// The result of matching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The action of this rule runs; its bytes are consumed.
    Run {
        /// The index of the rule.
        rule: usize,
        /// The number of bytes consumed.
        length: usize,
        /// The parts, as ranges of these bytes.
        parts: Vec<Range<usize>>,
    },
    /// The conversation ends.
    End(Reason),
}

/// A decision, and when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The decision.
    pub outcome: Outcome,
    /// The number of bytes of the message read before it, from the first unread one.
    pub looked_at: usize,
}

/// A conversation with a set of rules.
///
/// Each [`Engine::begin`] is a read point. Then call [`Engine::decide`] until it returns `Some`,
/// with [`Engine::feed`] or [`Engine::end_of_file`] in between.
#[derive(Clone, Debug)]
pub struct Engine<'r> {
    rules: &'r [Rule],
    input_buffer: usize,
    unread: Vec<u8>,
    eof: bool,
    /// i: the number of unread bytes that were stepped over.
    at: usize,
    active: Vec<(usize, Runner<'r>)>,
    /// In place of `active`: all of them side by side.
    together: Option<(&'r Together, ProductRun<'r>)>,
    /// The latest accept: length and rule.
    best: Option<(usize, usize)>,
    /// An early rule has accepted: no more bytes are looked at.
    decided: bool,
    stuck: bool,
}

impl<'r> Engine<'r> {
    /// A conversation before its first read point. A message has at most `input_buffer` bytes (at
    /// least 1).
    #[must_use]
    pub fn new(rules: &'r [Rule], input_buffer: usize) -> Self {
        Engine {
            rules,
            input_buffer: input_buffer.max(1),
            unread: Vec::new(),
            eof: false,
            at: 0,
            active: Vec::new(),
            together: None,
            best: None,
            decided: false,
            stuck: true,
        }
    }

    /// The same with the product of the rules.
    #[must_use]
    pub fn product(rules: &'r [Rule], together: &'r Together, input_buffer: usize) -> Self {
        let run = together.run(&[]);
        Engine {
            together: Some((together, run)),
            ..Engine::new(rules, input_buffer)
        }
    }

    /// A read point: `active` are the pattern rules (in the order of the file) whose condition is
    /// true; `timers` tells whether that of a TIMEOUT rule is.
    pub fn begin(&mut self, active: impl IntoIterator<Item = usize>, timers: bool) {
        let active: Vec<usize> = active.into_iter().collect();
        self.stuck = active.is_empty() && !timers;
        if let Some((together, run)) = &mut self.together {
            *run = together.run(&active);
        } else {
            let rules = active.iter().map(|r| (*r, self.rules[*r].runner()));
            self.active = rules.collect();
        }
        self.at = 0;
        self.best = None;
        self.decided = false;
    }

    /// Adds received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// The client will send nothing more.
    pub fn end_of_file(&mut self) {
        self.eof = true;
    }

    /// The unread bytes.
    #[must_use]
    pub fn unread(&self) -> &[u8] {
        &self.unread
    }

    /// Continues until a decision, or until it needs bytes or end of file (`None`). After a
    /// decision, the next call must be [`Engine::begin`].
    pub fn decide(&mut self) -> Option<Decision> {
        if self.stuck {
            return Some(self.end(Reason::Stuck));
        }
        // The limit is checked first, so that the division into packets cannot matter.
        while self.at < self.unread.len().min(self.input_buffer) && self.is_live() {
            self.step();
        }
        if !self.is_live() && !self.unread.is_empty() {
            return Some(self.settle());
        }
        if self.at >= self.input_buffer {
            return Some(self.end(Reason::Overflow));
        }
        if self.eof {
            return Some(self.settle());
        }
        None
    }

    fn is_live(&self) -> bool {
        if self.decided {
            return false;
        }
        if let Some((_, run)) = &self.together {
            return run.is_live();
        }
        self.active.iter().any(|(_, runner)| runner.is_live())
    }

    fn step(&mut self) {
        let byte = self.unread[self.at];
        self.at += 1;
        if let Some((_, run)) = &mut self.together {
            run.step(byte);
            self.best = run.best().map(|(n, rule, _)| (*n, *rule));
            return;
        }
        let mut first = None;
        for (rule, runner) in self.active.iter_mut().filter(|(_, r)| r.is_live()) {
            runner.step(byte);
            if runner.accepts() {
                first.get_or_insert(*rule);
                self.decided |= self.rules[*rule].early;
            }
        }
        if let Some(rule) = first {
            self.best = Some((self.at, rule));
        }
    }

    /// Line 14.
    fn settle(&mut self) -> Decision {
        let Some((length, rule)) = self.best else {
            let reason = if self.unread.is_empty() {
                Reason::Eof
            } else {
                Reason::Input
            };
            return self.end(reason);
        };
        let rest = self.unread.split_off(length);
        let message = std::mem::replace(&mut self.unread, rest);
        let parts = match &self.together {
            None => parts(&self.rules[rule].nfa, &message),
            Some((together, run)) => run.best().and_then(|(_, _, tags)| {
                together.parts(&self.rules[rule].nfa, rule, tags, &message)
            }),
        };
        let parts = parts.expect("a rule that accepted has a path over those bytes");
        Decision {
            outcome: Outcome::Run {
                rule,
                length,
                parts,
            },
            looked_at: self.at,
        }
    }

    fn end(&self, reason: Reason) -> Decision {
        Decision {
            outcome: Outcome::End(reason),
            looked_at: self.at,
        }
    }
}

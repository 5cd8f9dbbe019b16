//! The ordered thread list T(r, i), and its step over an [`Nfa`].
//!
//! Used to build a DFA, and to match without one. Must not know: who stores the list.

use crate::nfa::{Nfa, NfaState};

/// Follows Splits and Marks of one NFA. Contains only scratch memory, no list.
#[derive(Clone, Debug)]
pub(crate) struct Stepper<'n> {
    nfa: &'n Nfa,
    /// `seen[state] == round`: already in the list that is being built.
    seen: Vec<u64>,
    round: u64,
    stack: Vec<u32>,
}

impl<'n> Stepper<'n> {
    pub(crate) fn new(nfa: &'n Nfa) -> Self {
        Stepper {
            nfa,
            seen: vec![0; nfa.states.len()],
            round: 0,
            stack: Vec::new(),
        }
    }

    /// T(r, 0): an empty match is ignored, and the threads after it stay.
    pub(crate) fn start(&mut self) -> Vec<u32> {
        let mut list = Vec::new();
        self.round += 1;
        self.follow(self.nfa.start, &mut list, false);
        list
    }

    /// Makes `to` the list after `from` and `byte`. Returns whether the rule accepts there. A
    /// thread at Match cuts off all threads after it.
    pub(crate) fn step(&mut self, from: &[u32], byte: u8, to: &mut Vec<u32>) -> bool {
        to.clear();
        self.round += 1;
        for id in from {
            if let NfaState::Byte { set, next } = self.nfa.state(*id)
                && set.contains(byte)
                && self.follow(*next, to, true)
            {
                return true;
            }
        }
        false
    }

    /// Appends the Byte states that `id` leads to, in order of preference, each once. At Match:
    /// with `cut`, stops and returns true; otherwise continues.
    fn follow(&mut self, id: u32, list: &mut Vec<u32>, cut: bool) -> bool {
        self.stack.clear();
        self.stack.push(id);
        while let Some(id) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[id as usize], self.round) == self.round {
                continue;
            }
            match self.nfa.state(id) {
                NfaState::Byte { .. } => list.push(id),
                NfaState::Split(targets) => self.stack.extend(targets.iter().rev()),
                NfaState::Mark { next, .. } => self.stack.push(*next),
                NfaState::Match if cut => return true,
                NfaState::Match => {}
            }
        }
        false
    }
}

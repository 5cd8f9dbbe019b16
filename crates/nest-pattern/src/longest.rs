//! The maximum length of a rule's matches, and states from which a match never ends.
//!
//! Must not know: buffers, other rules.

use crate::dfa::Dfa;
use crate::nfa::{Nfa, NfaState};

impl Dfa {
    /// The length of the longest input that the rule accepts; `None`: unlimited.
    #[must_use]
    pub fn longest(&self) -> Option<u64> {
        if !self.is_live(self.start) {
            return Some(0);
        }
        let live = |s: &usize| u32::try_from(*s).is_ok_and(|s| self.is_live(s));
        let next = |state: usize| -> Vec<(usize, u64)> {
            let at = state * self.class_count as usize;
            let row = &self.next[at..at + self.class_count as usize];
            let to = row.iter().map(|to| *to as usize);
            to.filter(live).map(|to| (to, 1)).collect()
        };
        // From each live state the rule can accept, and from the last one with one more byte.
        let live = longest_walk(self.count as usize, self.start as usize, next)?;
        Some(live + 1)
    }

    /// The reachable states from which the rule stays live for every input, by number.
    #[must_use]
    pub fn endless(&self) -> Vec<bool> {
        // All except those from which it can come to an end.
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.count as usize];
        for (at, to) in self.next.iter().enumerate() {
            before[*to as usize].push(at / self.class_count as usize);
        }
        let mut ends: Vec<bool> = (0..self.count).map(|s| !self.is_live(s)).collect();
        let mut todo: Vec<usize> = (0..ends.len()).filter(|s| ends[*s]).collect();
        while let Some(state) = todo.pop() {
            for from in &before[state] {
                if !std::mem::replace(&mut ends[*from], true) {
                    todo.push(*from);
                }
            }
        }
        ends.into_iter().map(|ends| !ends).collect()
    }
}

impl Nfa {
    /// No input that the rule accepts is longer than this; `None`: unlimited. A lazy repetition may
    /// end sooner.
    #[must_use]
    pub fn longest(&self) -> Option<u64> {
        let next = |state: usize| -> Vec<(usize, u64)> {
            match &self.states[state] {
                NfaState::Byte { next, .. } => vec![(*next as usize, 1)],
                NfaState::Mark { next, .. } => vec![(*next as usize, 0)],
                NfaState::Split(all) => all.iter().map(|to| (*to as usize, 0)).collect(),
                NfaState::Match => Vec::new(),
            }
        };
        longest_walk(self.states.len(), self.start as usize, next)
    }
}

/// The longest path from `start`, with weighted steps; `None` if there is a cycle.
fn longest_walk(
    count: usize,
    start: usize,
    next: impl Fn(usize) -> Vec<(usize, u64)>,
) -> Option<u64> {
    // The number of steps from reached states to each state.
    let (mut into, mut met) = (vec![0usize; count], vec![false; count]);
    let (mut reached, mut todo) = (0, vec![start]);
    met[start] = true;
    while let Some(state) = todo.pop() {
        reached += 1;
        for (to, _) in next(state) {
            into[to] += 1;
            if !std::mem::replace(&mut met[to], true) {
                todo.push(to);
            }
        }
    }
    // A state is processed after all its predecessors.
    let (mut passed, mut most) = (0, vec![0u64; count]);
    todo.extend((into[start] == 0).then_some(start));
    let mut longest = 0;
    while let Some(state) = todo.pop() {
        passed += 1;
        longest = longest.max(most[state]);
        for (to, weight) in next(state) {
            most[to] = most[to].max(most[state] + weight);
            into[to] -= 1;
            if into[to] == 0 {
                todo.push(to);
            }
        }
    }
    (passed == reached).then_some(longest)
}

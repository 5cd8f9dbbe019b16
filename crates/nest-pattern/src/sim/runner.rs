//! One rule on its way through a message, and the parts of a match. Must not know: other rules.

use crate::dfa::Dfa;
use crate::nfa::{Nfa, NfaState};
use crate::threads::Stepper;
use std::ops::Range;

/// The ordered thread list of one rule, T(r, i), stepped byte by byte.
#[derive(Clone, Debug)]
pub struct Threads<'n> {
    stepper: Stepper<'n>,
    list: Vec<u32>,
    spare: Vec<u32>,
    accepts: bool,
}

impl<'n> Threads<'n> {
    /// T(r, 0).
    #[must_use]
    pub fn new(nfa: &'n Nfa) -> Self {
        let mut stepper = Stepper::new(nfa);
        let list = stepper.start();
        Threads {
            stepper,
            list,
            spare: Vec::new(),
            accepts: false,
        }
    }

    /// T(r, i) to T(r, i + 1).
    pub fn step(&mut self, byte: u8) {
        self.accepts = self.stepper.step(&self.list, byte, &mut self.spare);
        std::mem::swap(&mut self.list, &mut self.spare);
    }

    /// The Byte states, in order of preference.
    #[must_use]
    pub fn list(&self) -> &[u32] {
        &self.list
    }

    /// Whether the rule accepts here.
    #[must_use]
    pub fn accepts(&self) -> bool {
        self.accepts
    }

    /// Whether more bytes can change anything.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !self.list.is_empty()
    }
}

/// One rule on its way through a message, by either automaton.
#[derive(Clone, Debug)]
pub enum Runner<'r> {
    /// By DFA: the automaton and its state.
    Dfa(&'r Dfa, u32),
    /// By thread list.
    Threads(Threads<'r>),
}

impl Runner<'_> {
    /// Takes one byte.
    pub fn step(&mut self, byte: u8) {
        match self {
            Runner::Dfa(dfa, state) => *state = dfa.step(*state, byte),
            Runner::Threads(threads) => threads.step(byte),
        }
    }

    /// Whether the rule accepts here.
    #[must_use]
    pub fn accepts(&self) -> bool {
        match self {
            Runner::Dfa(dfa, state) => dfa.accepts(*state),
            Runner::Threads(threads) => threads.accepts(),
        }
    }

    /// Whether the rule is live here.
    #[must_use]
    pub fn is_live(&self) -> bool {
        match self {
            Runner::Dfa(dfa, state) => dfa.is_live(*state),
            Runner::Threads(threads) => threads.is_live(),
        }
    }
}

/// A boundary that a thread passed, and the one before it.
struct Boundary {
    at: usize,
    before: Option<usize>,
}

/// The parts of a match: the highest-priority path over exactly `bytes`, `None` if there is none.
///
/// One range per element, in order, without gaps. A Match before the end ends no path and cuts
/// nothing off: only what reaches the end counts.
#[must_use]
pub fn parts(nfa: &Nfa, bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    // A thread is a state and the last boundary it passed; every path passes them in order.
    let mut passed: Vec<Boundary> = Vec::new();
    let mut seen = vec![usize::MAX; nfa.states.len()];
    let mut entries: Vec<(u32, Option<usize>)> = vec![(nfa.start, None)];
    for at in 0..=bytes.len() {
        let mut threads = Vec::new();
        entries.reverse();
        while let Some((id, last)) = entries.pop() {
            if std::mem::replace(&mut seen[id as usize], at) == at {
                continue;
            }
            match nfa.state(id) {
                NfaState::Byte { set, next } => {
                    if bytes.get(at).is_some_and(|b| set.contains(*b)) {
                        threads.push((*next, last));
                    }
                }
                NfaState::Split(targets) => {
                    entries.extend(targets.iter().rev().map(|t| (*t, last)));
                }
                NfaState::Mark { next, .. } => {
                    passed.push(Boundary { at, before: last });
                    entries.push((*next, Some(passed.len() - 1)));
                }
                NfaState::Match if at == bytes.len() => {
                    return Some(ranges(&passed, last, at));
                }
                NfaState::Match => {}
            }
        }
        entries = threads;
    }
    None
}

/// The repetitions of an element over exactly `bytes`; `nfa`: of [`Nfa::repeated`].
#[must_use]
pub fn items(nfa: &Nfa, bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut items = parts(nfa, bytes)?;
    items.pop(); // behind the last mark nothing is left
    Some(items)
}

fn ranges(passed: &[Boundary], last: Option<usize>, end: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut end, mut next) = (end, last);
    while let Some(boundary) = next.map(|at| &passed[at]) {
        ranges.push(boundary.at..end);
        end = boundary.at;
        next = boundary.before;
    }
    ranges.push(0..end);
    ranges.reverse();
    ranges
}

/// The automata of one rule; without a DFA it runs by thread list.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its NFA; decides the parts.
    pub nfa: Nfa,
    /// Its DFA, if it fits the budget.
    pub dfa: Option<Dfa>,
    /// Whether it decides as soon as it accepts.
    pub early: bool,
}

impl Rule {
    /// The rule's runner before any byte.
    #[must_use]
    pub fn runner(&self) -> Runner<'_> {
        match &self.dfa {
            Some(dfa) => Runner::Dfa(dfa, dfa.start),
            None => Runner::Threads(Threads::new(&self.nfa)),
        }
    }
}

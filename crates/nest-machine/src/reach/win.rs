//! Which of the rules that are active can take anything, and the shortest input that they take.
//!
//! A rule takes an input on which it accepts and no active rule that is written earlier does: then
//! it is what the client's end of file decides for. Must not know: states, actions.

use crate::model::{Machine, Rule};
use nest_pattern::sim::Threads;
use std::collections::HashMap;

/// States of a product beyond which it is taken for granted that the rule can win.
const MOST_STATES: usize = 4000;
/// Steps of all products together.
const MOST_STEPS: usize = 2_000_000;

/// Whether a rule can take anything among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wins {
    /// It takes this, and nothing shorter.
    With(Vec<u8>),
    /// The others take all that it matches.
    Never,
    /// It would take too long to tell.
    Perhaps,
}

/// Answers, and what they are made of.
pub struct Winners<'m> {
    rules: &'m [Rule],
    /// What each rule takes while no other is active.
    alone: Vec<Wins>,
    /// Earlier rules that match it, too.
    rivals: Vec<Vec<usize>>,
    known: HashMap<(usize, Vec<usize>), Wins>,
    steps: usize,
}

impl<'m> Winners<'m> {
    /// For the rules of `m`.
    #[must_use]
    pub fn new(m: &'m Machine) -> Winners<'m> {
        let mut winners = Winners {
            rules: &m.rules,
            alone: Vec::new(),
            rivals: Vec::new(),
            known: HashMap::new(),
            steps: MOST_STEPS,
        };
        for rule in 0..m.rules.len() {
            let alone = winners.search(rule, &[]);
            let also = |other: &usize| matches!(&alone, Wins::With(input) if accepts(&m.rules[*other], input));
            winners.rivals.push((0..rule).filter(also).collect());
            winners.alone.push(alone);
        }
        winners
    }

    /// Whether `rule` can take anything while the rules for which `active` says so are.
    pub fn wins(&mut self, rule: usize, active: &[bool]) -> &Wins {
        if !self.rivals[rule].iter().any(|r| active[*r]) {
            return &self.alone[rule];
        }
        let others: Vec<usize> = (0..rule).filter(|r| active[*r]).collect();
        let key = (rule, others);
        if !self.known.contains_key(&key) {
            let found = self.search(rule, &key.1);
            self.known.insert(key.clone(), found);
        }
        &self.known[&key]
    }

    /// The shortest input on which `rule` accepts and none of `others` does.
    fn search(&mut self, rule: usize, others: &[usize]) -> Wins {
        let all = std::iter::once(&rule).chain(others);
        let automata: Option<Vec<_>> = all.map(|r| self.rules[*r].dfa.as_ref()).collect();
        let Some(automata) = automata else {
            return Wins::Perhaps;
        };
        let mut samples: Vec<u8> = Vec::new();
        let mut met: HashMap<Vec<u8>, ()> = HashMap::new();
        for byte in readable() {
            let classes = automata.iter().map(|a| a.classes[usize::from(byte)]);
            if met.insert(classes.collect(), ()).is_none() {
                samples.push(byte);
            }
        }
        let start: Vec<u32> = automata.iter().map(|a| a.start).collect();
        let mut numbers = HashMap::from([(start.clone(), 0usize)]);
        let mut states = vec![(start, 0usize, 0u8)];
        let mut at = 0;
        while at < states.len() {
            for byte in &samples {
                let Some(left) = self.steps.checked_sub(automata.len()) else {
                    return Wins::Perhaps;
                };
                self.steps = left;
                let from = states[at].0.iter().zip(&automata);
                let to: Vec<u32> = from.map(|(s, a)| a.step(*s, *byte)).collect();
                let mut accepts = to.iter().zip(&automata).map(|(s, a)| a.accepts(*s));
                if accepts.next() == Some(true) && !accepts.any(|a| a) {
                    return Wins::With(spelt(&states, at, *byte));
                }
                if !automata[0].is_live(to[0]) || numbers.contains_key(&to) {
                    continue;
                }
                if states.len() >= MOST_STATES {
                    return Wins::Perhaps;
                }
                numbers.insert(to.clone(), states.len());
                states.push((to, at, *byte));
            }
            at += 1;
        }
        Wins::Never
    }
}

/// The bytes that lead to a state, and one more.
fn spelt(states: &[(Vec<u32>, usize, u8)], mut at: usize, last: u8) -> Vec<u8> {
    let mut bytes = vec![last];
    while at > 0 {
        bytes.push(states[at].2);
        at = states[at].1;
    }
    bytes.reverse();
    bytes
}

/// All bytes, those first that are easiest to read.
pub fn readable() -> impl Iterator<Item = u8> {
    let order = [b'a'..=b'z', b'A'..=b'Z', b'0'..=b'9', b' '..=b'~'];
    let nice = order.into_iter().flatten().chain([b'\n', b'\r', b'\t']);
    nice.chain(0..=255)
}

/// Whether a rule accepts at the end of `input`.
fn accepts(rule: &Rule, input: &[u8]) -> bool {
    if let Some(dfa) = &rule.dfa {
        let end = input.iter().fold(dfa.start, |state, b| dfa.step(state, *b));
        return dfa.accepts(end);
    }
    let mut threads = Threads::new(&rule.nfa);
    input.iter().for_each(|b| threads.step(*b));
    threads.accepts()
}

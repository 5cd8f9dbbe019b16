//! Which of the rules that are active can take anything, and the shortest input that they take.
//!
//! A rule takes an input on which it accepts and no active rule that is written earlier does: then
//! it is what the client's end of file decides for. Must not know: states, actions.

use super::product::{At, DfaProduct, Search};
use crate::model::{Machine, Rule};
use nest_pattern::sim::Threads;
use std::collections::HashMap;

/// Steps of all products together.
const MOST_STEPS: usize = 1_000_000;

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

    /// Earlier rules that match the shortest input that `rule` takes alone.
    #[must_use]
    pub fn rivals(&self, rule: usize) -> &[usize] {
        &self.rivals[rule]
    }

    /// The shortest input on which `rule` accepts and none of `others` does, which are earlier.
    fn search(&mut self, rule: usize, others: &[usize]) -> Wins {
        let all: Vec<usize> = others.iter().copied().chain([rule]).collect();
        let Some(product) = DfaProduct::of(self.rules, &all) else {
            return Wins::Perhaps;
        };
        let goal = |states: &[At]| product.first(states) == Some(rule);
        let goes_on = |states: &[At]| product.live(states).any(|r| r == rule);
        match product.search(&mut self.steps, goes_on, goal) {
            Search::Found(input) => Wins::With(input),
            Search::Nowhere => Wins::Never,
            Search::TooLong => Wins::Perhaps,
        }
    }
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

//! Which of the rules that are active can take anything, and the shortest input that they take.
//!
//! A rule takes an input on which it accepts, no active rule that is written earlier does, and no
//! active early rule has accepted before: then it is what the client's end of file decides for. Must
//! not know: states, actions.

use super::product::{At, DfaProduct, Search};
use super::rivals::Rivals;
use crate::model::{Machine, Rule};
use std::collections::HashMap;

/// Steps of all products together. A product takes one for each automaton as well.
const MOST_STEPS: usize = 1_000_000;

/// Rules that all answers together look at, to find out which others are active.
const MOST_LOOKS: usize = 50_000_000;

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
    rivals: Rivals,
    known: HashMap<(usize, Vec<usize>), Wins>,
    steps: usize,
    looks: usize,
}

impl<'m> Winners<'m> {
    /// For the rules of `m`.
    #[must_use]
    pub fn new(m: &'m Machine) -> Winners<'m> {
        let mut winners = Winners {
            rules: &m.rules,
            alone: Vec::new(),
            rivals: Rivals::default(),
            known: HashMap::new(),
            steps: MOST_STEPS,
            looks: MOST_LOOKS,
        };
        for rule in 0..m.rules.len() {
            let alone = winners.search(rule, &[]);
            winners.alone.push(alone);
        }
        let inputs = winners.alone.iter().map(|alone| match alone {
            Wins::With(input) => Some(input.as_slice()),
            Wins::Never | Wins::Perhaps => None,
        });
        winners.rivals = Rivals::of(&m.rules, &inputs.collect::<Vec<_>>());
        winners
    }

    /// Whether `rule` can take anything while the rules for which `active` says so are.
    pub fn wins(&mut self, rule: usize, active: &[bool]) -> &Wins {
        let left = self.looks.checked_sub(rule);
        if !self.rivals.any(rule, active) {
            return &self.alone[rule];
        }
        let Some(left) = left else {
            return &Wins::Perhaps;
        };
        self.looks = left;
        let rules = self.rules;
        let early = (rule + 1..rules.len()).filter(|r| rules[*r].early);
        let others = (0..rule).chain(early).filter(|r| active[*r]);
        let others: Vec<usize> = others.collect();
        let key = (rule, others);
        if !self.known.contains_key(&key) {
            if self.steps < key.1.len() {
                return &Wins::Perhaps;
            }
            let found = self.search(rule, &key.1);
            self.known.insert(key.clone(), found);
        }
        &self.known[&key]
    }

    /// Rules that take the shortest input that `rule` takes alone from it, as far as they are known.
    #[must_use]
    pub fn rivals(&self, rule: usize) -> &[usize] {
        self.rivals.of_rule(rule)
    }

    /// The shortest input that `rule` takes among `others`, which are earlier, or early.
    fn search(&mut self, rule: usize, others: &[usize]) -> Wins {
        self.steps = self.steps.saturating_sub(others.len());
        let mut all: Vec<usize> = others.iter().copied().chain([rule]).collect();
        all.sort_unstable();
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

//! What every check works with: the machine, what is known of its conversations, the steps that are
//! left, and the findings so far. Must not know: any check.

use crate::finding::Finding;
use crate::witness::{Talks, Witness};
use nest_c::effects::Effects;
use nest_diag::{Code, Diagnostic};
use nest_machine::Machine;
use nest_machine::reach::{Reach, Winners};
use std::collections::BTreeSet;

/// Steps of automata that the findings about waiting, and those about ambiguous rules, may take together.
const MOST_STEPS: usize = 2_000_000;

/// Steps of automata for all messages in which parts have a form.
const MOST_SEARCHES: usize = 4_000_000;

/// What findings are made from.
pub struct Checker<'m> {
    pub m: &'m Machine,
    pub reach: &'m Reach,
    pub effects: &'m Effects,
    pub answers: Vec<bool>,
    pub winners: Winners<'m>,
    pub talks: Talks<'m>,
    /// For checks that search few automata.
    pub steps: usize,
    /// For pairs of rules, of which there are more.
    pub pair_steps: usize,
    /// For messages in which parts have a form.
    pub searches: usize,
    /// Codes for which the steps did not suffice.
    pub late: BTreeSet<Code>,
    pub found: Vec<Finding>,
}

impl<'m> Checker<'m> {
    /// Nothing is found yet.
    pub fn new(
        m: &'m Machine,
        reach: &'m Reach,
        effects: &'m Effects,
        answers: Vec<bool>,
        winners: Winners<'m>,
    ) -> Checker<'m> {
        Checker {
            m,
            reach,
            effects,
            answers,
            winners,
            talks: Talks::new(m, reach),
            steps: MOST_STEPS,
            pair_steps: 2 * MOST_STEPS,
            searches: MOST_SEARCHES,
            late: BTreeSet::new(),
            found: Vec::new(),
        }
    }
}

impl Checker<'_> {
    /// Reports a finding.
    pub fn push(&mut self, diagnostic: Diagnostic, witness: Option<Witness>) {
        self.found.push(Finding {
            diagnostic,
            witness,
            once: None,
        });
    }

    /// Which rules' conditions hold in a set.
    pub fn active(&self, set: usize) -> Vec<bool> {
        let set = &self.reach.sets[set];
        self.m.rules.iter().map(|r| set.holds(&r.cond)).collect()
    }
}

//! Messages in which a part has a form that is looked for, and what a client does to have it used.
//!
//! Must not know: why it is looked for.

use crate::checker::Checker;
use crate::witness::{Witness, literal};
use nest_c::Owner;
use nest_machine::reach::{At, BESIDE, DfaProduct, Search};
use nest_pattern::sim::parts;
use nest_pattern::{Dfa, Form};
use std::collections::BTreeSet;

/// States of the automaton of what is looked for.
const MOST_STATES: usize = 6000;

/// Choices of active rules that are looked at.
const MOST_CHOICES: usize = 16;

/// What looking for a form came to.
pub enum Searched {
    /// A message has it.
    Shown(Shown),
    /// No message has.
    Never,
    /// It would take too long to tell.
    Perhaps,
}

/// A message that has the form.
pub struct Shown {
    set: usize,
    message: Vec<u8>,
}

/// What a client does, and the message that matters, as it is written.
#[derive(Clone)]
pub struct Example {
    pub witness: Witness,
    pub text: String,
}

impl Example {
    pub fn new(witness: Witness, message: &[u8]) -> Example {
        Example {
            witness,
            text: literal(message),
        }
    }
}

impl Checker<'_> {
    /// The shortest message that a rule takes and in which its parts have these forms.
    pub(crate) fn searched(&mut self, rule: usize, forms: &[(u32, Form)]) -> Searched {
        let m = self.m;
        let nfa = &m.rules[rule].nfa;
        let mut only = nfa.clone();
        for (part, form) in forms {
            only = match only.with_form(*part, form) {
                Ok(Some(only)) => only,
                Ok(None) => return Searched::Never,
                Err(_) => return Searched::Perhaps,
            };
        }
        let Some(only) = Dfa::build(&only, MOST_STATES) else {
            return Searched::Perhaps;
        };
        let has = |input: &[u8]| {
            let found = parts(nfa, input).unwrap_or_default();
            forms.iter().all(|(part, form)| {
                let range = match part.checked_sub(1) {
                    None => Some(0..input.len()),
                    Some(n) => found.get(n as usize).cloned(),
                };
                range.is_some_and(|range| form.fits(&input[range]))
            })
        };
        let mut met: BTreeSet<Vec<usize>> = BTreeSet::new();
        let mut unsure = !self.reach.is_complete();
        let sets = 0..self.reach.sets.len();
        for set in sets.filter(|s| self.reach.sets[*s].rules.contains(&rule)) {
            let active = self.active(set);
            let active: Vec<usize> = (0..active.len()).filter(|r| active[*r]).collect();
            if met.contains(&active) {
                continue;
            }
            if met.len() >= MOST_CHOICES {
                unsure = true;
                break;
            }
            let Some(product) = DfaProduct::of(&m.rules, &active) else {
                unsure = true;
                met.insert(active);
                continue;
            };
            met.insert(active);
            let product = product.beside(&only);
            let live = |states: &[At]| product.live(states).any(|r| r != BESIDE);
            let wanted = |states: &[At]| product.live(states).any(|r| r == BESIDE);
            let consumed = |states: &[At]| {
                product.first(states) == Some(rule)
                    && product.accepting(states).any(|r| r == BESIDE)
            };
            // Decided at once, if that can be; else when nothing more comes.
            for at_once in [true, false] {
                let goal = |states: &[At], input: &dyn Fn() -> Vec<u8>| {
                    consumed(states) && !(at_once && live(states)) && has(&input())
                };
                match product.find(&mut self.searches, wanted, goal) {
                    Search::Found(message) => return Searched::Shown(Shown { set, message }),
                    Search::Nowhere => {}
                    Search::TooLong => unsure = true,
                }
            }
        }
        if unsure {
            Searched::Perhaps
        } else {
            Searched::Never
        }
    }

    /// What a client does to have its message, which `rule` takes, used by an action.
    pub(crate) fn followed(&mut self, shown: Shown, rule: usize, owner: Owner) -> Option<Example> {
        let Shown { set, message } = shown;
        let before = self.talks.to(set)?;
        let witness = before.and(message.clone()).consumed_by(rule);
        if owner == Owner::Rule(rule) {
            return Some(Example::new(witness, &message));
        }
        let Owner::Rule(user) = owner else {
            return None;
        };
        // The next message is the one that uses it, if it can be.
        let states = self.reach.sets[set].states;
        let paths = self.effects.rules[rule].paths.iter();
        let there: Vec<u64> = paths
            .filter(|p| p.fits(states))
            .map(|p| p.outcome(states))
            .filter(|(_, varies)| *varies == 0)
            .map(|(states, _)| states)
            .collect();
        let mut sets = 0..self.reach.sets.len();
        let next = sets.find(|s| {
            let set = &self.reach.sets[*s];
            there.contains(&set.states) && set.rules.contains(&user)
        })?;
        let last = self.talks.message(next, user)?;
        Some(Example::new(witness.and(last).consumed_by(user), &message))
    }

    /// What a client does to have an action run.
    pub(crate) fn comes_to(&mut self, owner: Owner) -> Option<Witness> {
        match owner {
            Owner::Rule(rule) => {
                let mut sets = 0..self.reach.sets.len();
                let set = sets.find(|s| self.reach.sets[*s].rules.contains(&rule))?;
                let message = self.talks.message(set, rule)?;
                Some(self.talks.to(set)?.and(message).consumed_by(rule))
            }
            Owner::Start => Some(Witness::default()),
            Owner::Timer(_) | Owner::End | Owner::Overload => None,
        }
    }
}

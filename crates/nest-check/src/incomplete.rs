//! Which findings may be missing, and why: where a check rests on something that is not known exactly.
//!
//! Must not know: how findings are made, how this is shown.

use crate::checker::Checker;
use crate::checks::{Basis, resting_on};
use nest_diag::Code;
use nest_machine::matching::words::number;
use nest_machine::reach::MOST_SETS;
use nest_machine::{Rule, STATE_BUDGET};
use std::collections::BTreeMap;

/// Findings that may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// Of these codes, ascending.
    pub codes: Vec<Code>,
    /// Why: a sentence without a full stop.
    pub why: String,
}

impl Checker<'_> {
    /// The checks that rest on this, without those that have nothing to look at.
    fn resting_on(&self, basis: Basis, why: String) -> Incomplete {
        let early = self.m.rules.iter().any(|rule| rule.early);
        let mut codes = resting_on(basis);
        codes.retain(|code| early || !matches!(code, Code::W0305 | Code::W0306));
        Incomplete { codes, why }
    }

    /// What may be missing of what was looked for.
    pub(crate) fn incomplete(&self) -> Vec<Incomplete> {
        let mut all = Vec::new();
        if !self.reach.is_complete() {
            let why = format!(
                "conversations can reach more than {} sets of states",
                number(MOST_SETS)
            );
            all.push(self.resting_on(Basis::AllSets, why));
        }
        // Without states of its own it has nothing that depends on them.
        if self.m.states.len() > 2
            && let Some(name) = self.first_unclear()
        {
            let why = format!("the effect of {name} on states is not known exactly");
            all.push(self.resting_on(Basis::Effects, why));
        }
        let large = |r: &Rule| r.dfa.is_none() && r.backtracking.is_none();
        if let Some(rules) = self.first_of("of ", large) {
            let why = format!(
                "the automaton {rules} would have more than {} states",
                number(STATE_BUDGET)
            );
            all.push(self.resting_on(Basis::Automata, why));
        }
        if let Some(rules) = self.first_of("", |r| r.backtracking.is_some()) {
            let why = format!("only libpcre2 matches {rules}, and nest cannot look into that");
            all.push(self.resting_on(Basis::Automata, why));
        }
        let mut late: BTreeMap<Code, ()> = self.late.iter().map(|code| (*code, ())).collect();
        // Where an automaton is missing, that is the reason, and told above.
        let perhaps = |rule: &usize| self.m.rules[..=*rule].iter().all(|r| r.dfa.is_some());
        if self.reach.sets.iter().flat_map(|s| &s.perhaps).any(perhaps) {
            late.insert(Code::W0203, ());
        }
        if !late.is_empty() {
            let codes: Vec<Code> = late.into_keys().collect();
            let why = "comparing the rules would take too long".to_string();
            all.push(Incomplete { codes, why });
        }
        all
    }

    /// The first rule of a kind, and how many more there are; `of` stands before each.
    fn first_of(&self, of: &str, kind: impl Fn(&Rule) -> bool) -> Option<String> {
        let mut rules = self.m.rules.iter().filter(|r| kind(r));
        let first = called(&rules.next()?.label);
        Some(match rules.count() {
            0 => format!("{of}{first}"),
            1 => format!("{of}{first} and {of}one more rule"),
            n => format!("{of}{first} and {of}{n} more rules"),
        })
    }

    /// The first action whose effect may be more than it does.
    fn first_unclear(&self) -> Option<String> {
        let start = self.effects.start.iter().map(|e| (e, "START".to_string()));
        let rules = self.effects.rules.iter().zip(&self.m.rules);
        let rules = rules.map(|(e, r)| (e, called(&r.label)));
        let timers = self.effects.timers.iter().zip(&self.m.timers);
        let timers = timers.map(|(e, t)| (e, called(&t.label)));
        let all = start.chain(rules).chain(timers);
        let mut unclear = all.filter(|(e, _)| !e.exact).map(|(_, name)| name);
        let first = unclear.next()?;
        Some(match unclear.count() {
            0 => format!("the action of {first}"),
            n => format!("the action of {first}, and of {n} more,"),
        })
    }
}

/// A rule in a sentence.
fn called(label: &str) -> String {
    if label.starts_with("line ") {
        label.to_string()
    } else {
        format!("`{label}`")
    }
}

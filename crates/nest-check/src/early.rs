//! Marks NOW that do not do what they seem to.
//!
//! NOW after a pattern such as `x+` ends the match at the first `x`. NOW after a pattern that no rule
//! could continue changes nothing. The latter is reported only if all sets and automata are known, so
//! each report is true.

use crate::checker::Checker;
use crate::witness::literal;
use nest_diag::{Code, Diagnostic};
use nest_machine::reach::{At, DfaProduct, Search};
use nest_pattern::Dfa;
use std::collections::BTreeMap;

/// States of the automaton of a rule without its mark.
const MOST_STATES: usize = 6000;

/// Different choices of active rules that are considered for a rule.
const MOST_CHOICES: usize = 16;

impl Checker<'_> {
    /// W0305, W0306.
    pub(crate) fn early(&mut self) {
        for rule in (0..self.m.rules.len()).filter(|n| self.m.rules[*n].early) {
            let Some(whole) = Dfa::build(&self.m.rules[rule].nfa, MOST_STATES) else {
                self.late.extend([Code::W0305, Code::W0306]);
                continue;
            };
            let mut choices: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
            for set in 0..self.reach.sets.len() {
                if !self.reach.sets[set].rules.contains(&rule) {
                    continue;
                }
                let active = self.active(set);
                let active = (0..active.len()).filter(|r| active[*r]).collect();
                choices.entry(active).or_insert(set);
            }
            let mut choices: Vec<(Vec<usize>, usize)> = choices.into_iter().collect();
            choices.sort_by_key(|(_, set)| *set);
            let all = choices.len() <= MOST_CHOICES;
            if !all {
                self.late.extend([Code::W0305, Code::W0306]);
                choices.truncate(MOST_CHOICES);
            }
            let all = all && self.reach.is_complete();
            let goes_on = (0..whole.count).any(|s| whole.accepts(s) && whole.is_live(s));
            if goes_on {
                self.cuts_short(rule, &whole, &choices);
            } else if all && !choices.is_empty() {
                self.changes_nothing(rule, &choices);
            }
        }
    }

    /// W0305, with the first of these sets where the rule accepts and could continue.
    fn cuts_short(&mut self, rule: usize, whole: &Dfa, choices: &[(Vec<usize>, usize)]) {
        for (active, set) in choices {
            let Some(product) = DfaProduct::of(&self.m.rules, active) else {
                continue;
            };
            let product = product.beside(whole);
            let last = u32::try_from(active.len()).ok();
            let continues = |states: &[At]| {
                let its = states.iter().find(|(place, _)| Some(*place) == last);
                its.is_some_and(|(_, state)| whole.is_live(*state))
            };
            let goes_on = |states: &[At]| product.live(states).any(|r| r == rule);
            let cut = |states: &[At]| product.first(states) == Some(rule) && continues(states);
            let input = match product.search(&mut self.steps, goes_on, cut) {
                Search::Found(input) => input,
                Search::Nowhere => continue,
                Search::TooLong => {
                    self.late.insert(Code::W0305);
                    continue;
                }
            };
            let before = self.talks.to(*set);
            let came = match &before {
                Some(w) if !w.acts.is_empty() => format!("after {w}, "),
                _ => String::new(),
            };
            let what = "NOW ends this match although the pattern could continue";
            let help = format!(
                "{came}the rule matches {} and leaves what follows unread: end the pattern with \
                 what ends a message, or remove NOW",
                literal(&input)
            );
            let witness = before.map(|w| w.and(input).consumed_by(rule));
            let span = self.m.rules[rule].span;
            self.push(Diagnostic::new(Code::W0305, span, what).help(help), witness);
            return;
        }
    }

    /// W0306, if where the rule accepts no other rule could continue.
    fn changes_nothing(&mut self, rule: usize, choices: &[(Vec<usize>, usize)]) {
        for (active, _) in choices {
            let Some(product) = DfaProduct::of(&self.m.rules, active) else {
                return;
            };
            // With fewer decisions there are more matches: none is overlooked.
            let product = product.independent();
            let goes_on = |states: &[At]| product.live(states).any(|r| r == rule);
            let waits = |states: &[At]| {
                product.accepting(states).any(|r| r == rule)
                    && product.live(states).any(|r| r != rule)
            };
            match product.search(&mut self.steps, goes_on, waits) {
                Search::Nowhere => {}
                Search::Found(_) => return,
                Search::TooLong => {
                    self.late.insert(Code::W0306);
                    return;
                }
            }
        }
        let what = "NOW changes nothing: where this rule matches, no rule could continue";
        let span = self.m.rules[rule].span;
        self.push(
            Diagnostic::new(Code::W0306, span, what).help("remove NOW"),
            None,
        );
    }
}

//! Matches that nothing ends which a client can send.
//!
//! Once such a rule is live, it stays live whatever comes, so no rule at all is decided: until the
//! client closes, or a limit ends the conversation. That is so whatever other rules do, unless one of
//! them decides early.

use crate::checker::Checker;
use crate::finding::Finding;
use crate::witness::{Act, Then, literal};
use nest_diag::{Code, Diagnostic};
use nest_machine::Framing;
use nest_machine::reach::{At, DfaProduct, Search};
use nest_pattern::Dfa;

impl Checker<'_> {
    /// W0304.
    pub(crate) fn endless(&mut self) {
        // There a message ends where a packet ends.
        if self.m.settings.framing == Framing::Message {
            return;
        }
        let limit = |name: &str| {
            let option = self.m.settings.run.iter().find(|o| o.info.name == name);
            option.map_or("", |o| o.initial.as_str())
        };
        let (most, time) = (limit("inputBuffer"), limit("readTimeout"));
        let rules = || self.m.rules.iter().enumerate();
        let early: Vec<usize> = rules().filter(|(_, r)| r.early).map(|(n, _)| n).collect();
        for (number, rule) in rules() {
            let Some(dfa) = &rule.dfa else { continue };
            let endless = dfa.endless();
            if !endless.contains(&true) {
                continue; // before anything that looks at the other rules
            }
            let sets = &self.reach.sets;
            let Some(set) = sets.iter().position(|s| s.holds(&rule.cond)) else {
                continue;
            };
            let reported = |f: &Finding| {
                let d = &f.diagnostic;
                d.code == Code::W0302 && d.span == rule.span && leads(f, dfa, &endless)
            };
            if self.found.iter().any(reported) {
                continue;
            }
            let there = |r: &usize| *r != number && sets[set].holds(&self.m.rules[*r].cond);
            let mut with: Vec<usize> = early.iter().copied().filter(there).collect();
            with.push(number);
            with.sort_unstable();
            let Some(product) = DfaProduct::of(&self.m.rules, &with) else {
                continue;
            };
            let place = with.iter().position(|r| *r == number);
            let at = |states: &[At]| {
                let its = |(rule, _): &&At| Some(*rule as usize) == place;
                states.iter().find(its).map(|(_, state)| *state)
            };
            let there = |states: &[At]| {
                product.live(states).eq([number]) && at(states).is_some_and(|s| endless[s as usize])
            };
            let goes_on = |states: &[At]| product.live(states).any(|r| r == number);
            let Search::Found(input) = product.search(&mut self.steps, goes_on, there) else {
                continue;
            };
            let before = self.talks.to(set);
            let came = match &before {
                Some(w) if !w.acts.is_empty() => format!("after {w}, "),
                _ => String::new(),
            };
            let or_time = match time {
                "none" => String::new(),
                time => format!(" or readTimeout, {time},"),
            };
            let what = "a match without a limit: nothing that a client sends ends it";
            let help = format!(
                "{came}when a client has sent {}, every further byte belongs to this match, until the \
                 client closes, or until inputBuffer, {most},{or_time} ends the conversation: use a \
                 lazy repetition, such as `*?`, which ends as early as possible; receive data \
                 without an end with $fileReceive or $read in an action",
                literal(&input)
            );
            let witness = before.map(|w| w.and(input).then(Then::Waits));
            self.push(
                Diagnostic::new(Code::W0304, rule.span, what).help(help),
                witness,
            );
        }
    }
}

/// Whether a finding's last message leads to where the rule stays live whatever comes.
fn leads(finding: &Finding, dfa: &Dfa, endless: &[bool]) -> bool {
    let last = finding.witness.as_ref().and_then(|w| w.acts.last());
    let Some(Act::Send(input)) = last else {
        return false;
    };
    let state = input.iter().fold(dfa.start, |state, b| dfa.step(state, *b));
    endless[state as usize]
}

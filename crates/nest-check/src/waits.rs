//! Rules whose answer waits for bytes that a client has no reason to send.
//!
//! A rule accepts, but it or another rule could continue, so no rule is selected before another byte
//! arrives. A client that waits for the answer and the server wait for each other. Reported only for
//! actions that answer on every path; other rules may be part of a longer conversation.

use crate::checker::Checker;
use crate::witness::{Then, Witness, literal};
use nest_diag::{Code, Diagnostic};
use nest_machine::reach::{At, DfaProduct, Search};
use nest_machine::{Framing, Rule};
use std::collections::{BTreeMap, BTreeSet};

/// Rules that are near others, together; comparing sixteen pairs counts as one.
const MOST_NEAR: usize = 2_000_000;

/// A rule that waits.
struct Wait {
    /// For which rule.
    other: usize,
    /// What was sent.
    input: Vec<u8>,
    /// Where.
    set: usize,
}

/// A set of bytes.
pub(crate) type Bytes = [u64; 4];

impl Checker<'_> {
    /// W0302.
    pub(crate) fn waits(&mut self) {
        // There a message ends where a packet ends.
        if self.m.settings.framing == Framing::Message {
            return;
        }
        let answers = self.answers.clone();
        let edges: Vec<(Bytes, Bytes)> = self.m.rules.iter().map(edges).collect();
        // Of each rule, those whose bytes allow that it waits for them, looked at once for all sets.
        // That it waits for itself is easier to see, and comes first.
        let near = |rule: usize| -> Vec<usize> {
            let others = (0..edges.len()).filter(|other| *other != rule);
            let meet = |other: &usize| {
                let mut both = edges[rule].0.iter().zip(&edges[*other].1);
                both.any(|(last, live)| last & live != 0)
            };
            std::iter::once(rule).chain(others).filter(meet).collect()
        };
        let mut left = MOST_NEAR;
        let mut near = |rule: usize| {
            if !answers[rule] || left == 0 {
                return Vec::new();
            }
            let found = near(rule);
            left = left.saturating_sub(edges.len() / 16 + found.len());
            if left == 0 {
                self.late.insert(Code::W0302);
            }
            found
        };
        let near: Vec<Vec<usize>> = (0..edges.len()).map(&mut near).collect();
        let mut pairs: BTreeMap<(usize, usize), Option<Vec<u8>>> = BTreeMap::new();
        let mut waits: BTreeMap<usize, Wait> = BTreeMap::new();
        let mut known: BTreeSet<Vec<usize>> = BTreeSet::new();
        for set in 0..self.reach.sets.len() {
            let there = self.active(set);
            let active: Vec<usize> = (0..there.len()).filter(|r| there[*r]).collect();
            if !known.insert(active.clone()) {
                continue;
            }
            for rule in active.iter().copied() {
                if self.steps == 0 {
                    self.late.insert(Code::W0302);
                    break;
                }
                for other in near[rule].iter().copied().filter(|r| there[*r]) {
                    if waits.contains_key(&rule) {
                        break;
                    }
                    let pair = pairs
                        .entry((rule, other))
                        .or_insert_with(|| self.between(rule, other, &[]));
                    if pair.is_some()
                        && let Some(input) = self.between(rule, other, &active)
                    {
                        waits.insert(rule, Wait { other, input, set });
                    }
                }
            }
        }
        for (rule, wait) in waits {
            self.waiting(rule, wait);
        }
    }

    /// The shortest input that `rule` takes before others of `active`, and on which `other` is
    /// live.
    fn between(&mut self, rule: usize, other: usize, active: &[usize]) -> Option<Vec<u8>> {
        // Later ones matter only where they end a match that goes on.
        let m = self.m;
        let others = (active.iter().copied()).filter(|r| *r < rule || m.rules[*r].early);
        let all: BTreeSet<usize> = others.chain([rule, other]).collect();
        let all: Vec<usize> = all.into_iter().collect();
        let product = DfaProduct::of(&self.m.rules, &all)?;
        self.steps = self.steps.saturating_sub(product.cost());
        let live = |states: &[At], rule: usize| product.live(states).any(|r| r == rule);
        let both = |states: &[At]| live(states, rule) && live(states, other);
        // Of a rule that is written later it does not matter that it accepts, too.
        let accepts = |states: &[At]| product.accepting(states).find(|r| *r <= rule) == Some(rule);
        let waits = |states: &[At]| accepts(states) && live(states, other);
        match product.search(&mut self.steps, both, waits) {
            Search::Found(input) => Some(input),
            Search::Nowhere => None,
            Search::TooLong => {
                self.late.insert(Code::W0302);
                None
            }
        }
    }

    fn waiting(&mut self, number: usize, wait: Wait) {
        let rule = &self.m.rules[number];
        let shown = literal(&wait.input);
        let before = self.talks.to(wait.set);
        let came = match &before {
            Some(w) if !w.acts.is_empty() => format!("after {w}, "),
            _ => String::new(),
        };
        let client = format!(
            "{came}a client that sends {shown} and waits for the answer waits \
                              for ever"
        );
        let diagnostic = if wait.other != number {
            let other = &self.m.rules[wait.other];
            let what = "the answer waits for what another rule may still match";
            Diagnostic::new(Code::W0302, rule.span, what)
                .label(
                    other.span,
                    format!("this rule could continue after {shown}"),
                )
                .help(format!(
                    "{client}: end both patterns with what ends a message, or use states to \
                     select a rule"
                ))
        } else if never_ends(rule, &wait.input) {
            let what = "the answer waits until the client closes, because the pattern can \
                always continue";
            Diagnostic::new(Code::W0302, rule.span, what).help(format!(
                "{client}: use a lazy repetition, such as `*?`, which ends as early as possible"
            ))
        } else {
            let what =
                "the answer waits for a byte after the message, because the pattern could continue";
            Diagnostic::new(Code::W0302, rule.span, what).help(format!(
                "{client}: end the pattern with what ends a message, such as \"\\n\""
            ))
        };
        let witness = before.map(|w: Witness| w.and(wait.input).then(Then::Waits));
        self.push(diagnostic, witness);
    }
}

/// Whether a rule stays live behind `input`, whatever comes.
fn never_ends(rule: &Rule, input: &[u8]) -> bool {
    let Some(dfa) = &rule.dfa else { return false };
    let state = input.iter().fold(dfa.start, |state, b| dfa.step(state, *b));
    let (mut met, mut todo) = (BTreeSet::from([state]), vec![state]);
    while let Some(state) = todo.pop() {
        if !dfa.is_live(state) {
            return false;
        }
        let next = (0..=255).map(|b| dfa.step(state, b));
        todo.extend(next.filter(|s| met.insert(*s)));
    }
    true
}

/// The bytes with which a rule may accept, and those behind which it may be live. What has no
/// automaton is not looked at.
pub(crate) fn edges(rule: &Rule) -> (Bytes, Bytes) {
    let (mut last, mut live) = ([0; 4], [0; 4]);
    let Some(dfa) = &rule.dfa else {
        return (last, live);
    };
    // For each class of bytes first: there are few.
    let classes = dfa.class_count as usize;
    let mut found = vec![(false, false); classes];
    for state in (0..dfa.count).filter(|s| dfa.is_live(*s)) {
        let row = &dfa.next[state as usize * classes..][..classes];
        for ((last, live), to) in found.iter_mut().zip(row) {
            *last |= dfa.accepts(*to);
            *live |= dfa.is_live(*to);
        }
    }
    for byte in 0..=255u8 {
        let (at, bit) = (usize::from(byte / 64), byte % 64);
        let (accepts, goes_on) = found[usize::from(dfa.classes[usize::from(byte)])];
        last[at] |= u64::from(accepts) << bit;
        live[at] |= u64::from(goes_on) << bit;
    }
    (last, live)
}

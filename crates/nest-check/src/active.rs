//! Rules that are never active, and rules that never take anything.

use crate::checker::Checker;
use crate::witness::literal;
use nest_c::effects::Named;
use nest_diag::{Code, Diagnostic, FileId, Span};
use nest_machine::reach::Wins;
use nest_machine::{Cond, Machine, Rule};
use std::cell::LazyCell;

/// DEFAULT's number.
const DEFAULT: u32 = 1;

impl Checker<'_> {
    /// W0202.
    pub(crate) fn never_active(&mut self) {
        let m = self.m;
        let patterns = m.rules.iter().map(|r| (&r.cond, r.span));
        let timers = m.timers.iter().map(|t| (&t.cond, t.span));
        let never = |(cond, _): &(&Cond, Span)| !self.reach.may_hold(cond);
        let all: Vec<(&Cond, Span)> = patterns.chain(timers).filter(never).collect();
        if all.is_empty() {
            return;
        }
        let marked = LazyCell::new(|| Named::of(&m.source()).map(|named| named.marked));
        for (cond, span) in all {
            let unmarked = self.unmarked(cond);
            // W0201 has said what no action marks.
            let marked = |n: &u32| *n == DEFAULT || marked.is_none_or(|all| all >> n & 1 == 1);
            if unmarked.is_some_and(|n| !marked(&n)) {
                continue;
            }
            let what = "this rule is never active";
            let help = match unmarked {
                _ if self.reach.sets.is_empty() => {
                    "every conversation ends with START's action, which closes it".to_string()
                }
                Some(DEFAULT) => "DEFAULT is set only if START's action sets no other state: \
                    name the states that are set here"
                    .to_string(),
                Some(n) => format!("no action sets `{}`", m.states[n as usize]),
                None => {
                    "its condition is never true: no conversation reaches such states".to_string()
                }
            };
            self.push(Diagnostic::new(Code::W0202, span, what).help(help), None);
        }
    }

    /// A state that the condition needs and that is never marked.
    fn unmarked(&self, cond: &Cond) -> Option<u32> {
        match cond {
            Cond::State(n) => (self.reach.bounds.marked >> n & 1 == 0).then_some(*n),
            Cond::And(all) => all.iter().find_map(|c| self.unmarked(c)),
            Cond::Or(all) => {
                let each: Option<Vec<u32>> = all.iter().map(|c| self.unmarked(c)).collect();
                each?.first().copied()
            }
            Cond::True | Cond::Last(_) | Cond::Not(_) => None,
        }
    }

    /// Whether a rule of an included file would match without the earlier rules of other files, in one of
    /// these sets: rules of the including file replace those of a library on purpose.
    fn replaced(&mut self, n: usize, sets: &[usize]) -> bool {
        let file = |rule: usize| self.m.rules[rule].span.file;
        if file(n) == FileId(0) || (0..n).all(|r| file(r) == file(n)) {
            return false;
        }
        let own: Vec<bool> = (0..self.m.rules.len())
            .map(|r| r >= n || file(r) == file(n))
            .collect();
        sets.iter().any(|set| {
            let there = self.active(*set);
            let kept: Vec<bool> = there.iter().zip(&own).map(|(a, b)| *a && *b).collect();
            kept != there && matches!(self.winners.wins(n, &kept), Wins::With(_))
        })
    }

    /// W0203.
    pub(crate) fn never_wins(&mut self) {
        if !self.reach.is_complete() {
            return;
        }
        let m = self.m;
        let sets = &self.reach.sets;
        for (n, rule) in m.rules.iter().enumerate() {
            let active: Vec<usize> = (0..sets.len())
                .filter(|s| sets[*s].holds(&rule.cond))
                .collect();
            let Some(&first) = active.first() else {
                continue;
            };
            if active.iter().any(|set| sets[*set].rules.contains(&n)) || self.replaced(n, &active) {
                continue;
            }
            // Alone it would take this; the first that takes it instead is told.
            let alone: Vec<bool> = (0..m.rules.len()).map(|r| r == n).collect();
            let Wins::With(input) = self.winners.wins(n, &alone).clone() else {
                continue;
            };
            let there = self.active(first);
            let early = (0..m.rules.len()).any(|r| there[r] && m.rules[r].early);
            let taker = if early {
                taken(m, &there, &input)
            } else {
                self.winners.rivals(n).iter().copied().find(|r| there[*r])
            };
            let Some(taker) = taker.filter(|taker| *taker != n) else {
                continue;
            };
            let rival = &m.rules[taker];
            let others = (0..m.rules.len()).filter(|r| there[*r] && *r < n).count();
            let shown = literal(&input);
            let before = self.talks.to(first);
            let behind = match &before {
                Some(w) if !w.acts.is_empty() => format!(" after {w}"),
                _ => String::new(),
            };
            let (what, label, help) = if ends_early(rival, &input) {
                let what = "this rule never matches: a rule with NOW decides before";
                let label = format!("this rule decides before the end of {shown}{behind}");
                (what, label, "remove NOW, or remove this rule")
            } else {
                let help = if others > 1 {
                    "write it before them, or remove it"
                } else {
                    "write it before that rule, or remove it"
                };
                let what =
                    "this rule never matches: rules before it match everything that it matches";
                (what, format!("this rule matches {shown}{behind}"), help)
            };
            let witness = before.map(|w| w.and(input).consumed_by(taker));
            let diagnostic = Diagnostic::new(Code::W0203, rule.span, what)
                .label(rival.span, label)
                .help(help);
            self.push(diagnostic, witness);
        }
    }
}

/// The rule that takes this input, or a beginning of it, if nothing follows it.
fn taken(m: &Machine, active: &[bool], input: &[u8]) -> Option<usize> {
    let rules = m.rules.iter().enumerate().filter(|(n, _)| active[*n]);
    let mut states: Vec<_> = rules
        .filter_map(|(n, rule)| Some((n, rule.dfa.as_ref()?, rule.dfa.as_ref()?.start)))
        .collect();
    let mut best = None;
    for byte in input {
        for (_, dfa, state) in &mut states {
            *state = dfa.step(*state, *byte);
        }
        let accepting = states.iter().filter(|(_, dfa, state)| dfa.accepts(*state));
        let accepting: Vec<usize> = accepting.map(|(n, ..)| *n).collect();
        best = accepting.first().copied().or(best);
        if accepting.iter().any(|n| m.rules[*n].early) {
            break;
        }
    }
    best
}

/// Whether an early rule decides on a beginning of `input`, before its end.
pub(crate) fn ends_early(rule: &Rule, input: &[u8]) -> bool {
    let Some(dfa) = rule.dfa.as_ref().filter(|_| rule.early) else {
        return false;
    };
    let mut state = dfa.start;
    let mut whole = (1..).zip(input);
    whole.any(|(at, byte)| {
        state = dfa.step(state, *byte);
        dfa.accepts(state) && at < input.len()
    })
}

//! Rules that never take anything while clients send whole lines: a catch-all takes every line that
//! begins with what such a rule matches.
//!
//! The longest match wins. So a rule without the line end loses to a catch-all that takes the whole
//! line, although neither shadows the other: at the end of the input, the shorter match would win.
//! Rules that match any text are not reported, because they are often meant for a last line without an
//! end. Other inputs than lines of printable characters are not considered.

use crate::active::ends_early;
use crate::checker::Checker;
use crate::witness::literal;
use nest_diag::{Code, Diagnostic};
use nest_machine::reach::{At, DfaProduct, Wins};
use nest_machine::{Framing, Rule};
use std::collections::{BTreeSet, HashMap};

/// Different choices of active rules that are considered for a rule.
const MOST_CHOICES: usize = 16;

/// More nodes are not considered.
const MOST_NODES: usize = 4000;

const ENDS: [&[u8]; 2] = [b"\n", b"\r\n"];

/// What clients write in a line.
fn printable() -> impl Iterator<Item = u8> {
    (b'a'..=b'z').chain(b' '..=b'~').chain([b'\t'])
}

/// Whether a rule accepts an input, by its own automaton.
fn accepts(rule: &Rule, input: &[u8]) -> bool {
    rule.dfa.as_ref().is_some_and(|dfa| {
        let end = input.iter().fold(dfa.start, |state, b| dfa.step(state, *b));
        dfa.accepts(end)
    })
}

/// Whether a rule accepts every line of one character.
fn is_catch_all(rule: &Rule) -> bool {
    let line = |byte: u8, end: &[u8]| accepts(rule, &[&[byte], end].concat());
    printable().all(|byte| ENDS.iter().any(|end| line(byte, end)))
}

/// Whether a rule accepts every text of one character.
fn is_any_text(rule: &Rule) -> bool {
    printable().all(|byte| accepts(rule, &[byte]))
}

/// What lines come to while some rules are active.
enum Lines {
    /// The rule takes a part of some line, or may do so.
    Taken,
    /// It takes none. It first matches this.
    Never(Vec<u8>),
    /// It matches no beginning of a line.
    Other,
    /// It would take too long to tell.
    TooLong,
}

impl Checker<'_> {
    /// W0206.
    pub(crate) fn shadowed(&mut self) {
        let m = self.m;
        if m.settings.framing == Framing::Message || !self.reach.is_complete() {
            return;
        }
        let all: Vec<bool> = m.rules.iter().map(is_catch_all).collect();
        if !all.contains(&true) {
            return;
        }
        for n in 0..m.rules.len() {
            if all[n] || is_any_text(&m.rules[n]) || self.is_reported(n) {
                continue;
            }
            let sets = &self.reach.sets;
            let active = (0..sets.len()).filter(|s| sets[*s].holds(&m.rules[n].cond));
            let active: Vec<usize> = active.collect();
            let alone: Vec<bool> = (0..m.rules.len()).map(|r| r == n).collect();
            let Wins::With(input) = self.winners.wins(n, &alone).clone() else {
                continue;
            };
            // Most rules end with a line end, so that no longer match can take their lines. Other sets
            // than the first one may be reached only by the rule itself, so the first one decides.
            let beaten = |set: &usize| self.catch_all_for(&all, *set, &input).is_some();
            if !active.first().is_some_and(beaten) {
                continue;
            }
            if let Some((set, begin)) = self.never_on_lines(n, &active) {
                self.report_shadowed(n, set, begin, &all);
            }
        }
    }

    /// Whether another check has reported that the rule does not win as it seems to.
    fn is_reported(&self, rule: usize) -> bool {
        let span = self.m.rules[rule].span;
        let codes = [Code::W0202, Code::W0203, Code::W0302];
        let mut found = self.found.iter().map(|f| &f.diagnostic);
        found.any(|d| codes.contains(&d.code) && d.span == span)
    }

    /// A catch-all that is active in a set and matches the line that begins so, and the line.
    fn catch_all_for(&self, all: &[bool], set: usize, begin: &[u8]) -> Option<(usize, Vec<u8>)> {
        let there = self.active(set);
        let ends = |line: &[u8]| {
            let rules = self.m.rules.iter().zip(&there);
            rules
                .filter(|(_, on)| **on)
                .any(|(r, _)| ends_early(r, line))
        };
        let mut lines = ENDS.iter().map(|end| [begin, end].concat());
        let taken = lines.find_map(|line| {
            let takes = |r: &usize| there[*r] && accepts(&self.m.rules[*r], &line);
            let taker = (0..there.len()).find(takes).filter(|_| !ends(&line))?;
            Some((taker, line))
        });
        // A rule for such lines alone is most likely what the client means.
        taken.filter(|(taker, _)| all[*taker])
    }

    /// The first of these sets and what the rule matches there, if it takes a part of no line in any.
    fn never_on_lines(&mut self, rule: usize, sets: &[usize]) -> Option<(usize, Vec<u8>)> {
        let mut choices: BTreeSet<Vec<usize>> = BTreeSet::new();
        let mut first = None;
        for &set in sets {
            let there = self.active(set);
            let choice: Vec<usize> = (0..there.len()).filter(|r| there[*r]).collect();
            if choices.contains(&choice) {
                continue;
            }
            if choices.len() >= MOST_CHOICES {
                self.late.insert(Code::W0206);
                return None;
            }
            let product = DfaProduct::of(&self.m.rules, &choice)?;
            choices.insert(choice);
            self.steps = self.steps.saturating_sub(product.cost());
            match lines(&product, rule, &mut self.steps) {
                Lines::Never(begin) => first = first.or(Some((set, begin))),
                Lines::Other => {}
                Lines::Taken => return None,
                Lines::TooLong => {
                    self.late.insert(Code::W0206);
                    return None;
                }
            }
        }
        first
    }

    fn report_shadowed(&mut self, rule: usize, set: usize, begin: Vec<u8>, all: &[bool]) {
        let Some((taker, line)) = self.catch_all_for(all, set, &begin) else {
            return;
        };
        let before = self.talks.to(set);
        let behind = match &before {
            Some(w) if !w.acts.is_empty() => format!(" after {w}"),
            _ => String::new(),
        };
        let what = "this rule matches only the beginning of a line, and another rule matches every \
                    such line as a whole";
        let label = format!("this rule matches {}{behind}", literal(&line));
        let help = format!(
            "the longest match wins, so {} never runs this action: let the pattern match the whole \
             line, including \"\\n\"",
            literal(&line)
        );
        let witness = before.map(|w| w.and(line).consumed_by(taker));
        let diagnostic = Diagnostic::new(Code::W0206, self.m.rules[rule].span, what)
            .label(self.m.rules[taker].span, label)
            .help(help);
        self.push(diagnostic, witness);
    }
}

/// A position in some lines: the states of the automata, and whether a carriage return stands before.
type Node = (Vec<At>, bool);

/// Follows all lines. A rule takes a part of one if it accepts somewhere, and from there no rule accepts
/// before all are dead.
fn lines(product: &DfaProduct<'_>, rule: usize, steps: &mut usize) -> Lines {
    let mut bytes = product.kinds_among(printable());
    bytes.extend(b"\n\r");
    let mut nodes: Vec<Node> = vec![(product.start(), false)];
    let mut numbers: HashMap<Node, usize> = HashMap::from([(nodes[0].clone(), 0)]);
    // The node before each, and the byte between.
    let mut from: Vec<(usize, u8)> = vec![(0, 0)];
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let (mut at, mut to) = (0, Vec::new());
    while at < nodes.len() {
        let (states, after_return) = nodes[at].clone();
        let dead = product.live(&states).next().is_none();
        let next: &[u8] = match (dead, after_return) {
            (true, _) => &[],
            (false, true) => b"\n",
            (false, false) => &bytes,
        };
        for byte in next {
            let Some(left) = steps.checked_sub(states.len() + 1) else {
                return Lines::TooLong;
            };
            *steps = left;
            product.step(&states, *byte, &mut to);
            let node = (to.clone(), *byte == b'\r');
            let number = *numbers.entry(node.clone()).or_insert_with(|| {
                nodes.push(node);
                from.push((at, *byte));
                before.push(Vec::new());
                nodes.len() - 1
            });
            before[number].push(at);
        }
        if nodes.len() > MOST_NODES {
            return Lines::TooLong;
        }
        at += 1;
    }
    // From which nodes all rules can die before one accepts.
    let mut dies = vec![false; nodes.len()];
    let dead = |n: &usize| product.live(&nodes[*n].0).next().is_none();
    let mut todo: Vec<usize> = (0..nodes.len()).filter(dead).collect();
    todo.iter().for_each(|n| dies[*n] = true);
    while let Some(n) = todo.pop() {
        if product.first(&nodes[n].0).is_some() {
            continue;
        }
        for earlier in &before[n] {
            if !std::mem::replace(&mut dies[*earlier], true) {
                todo.push(*earlier);
            }
        }
    }
    let matched = (1..nodes.len()).filter(|n| product.first(&nodes[*n].0) == Some(rule));
    let matched: Vec<usize> = matched.collect();
    let Some(&first) = matched.first() else {
        return Lines::Other;
    };
    if matched.iter().any(|n| dies[*n]) {
        return Lines::Taken;
    }
    let (mut begin, mut at) = (Vec::new(), first);
    while at > 0 {
        begin.push(from[at].1);
        at = from[at].0;
    }
    begin.reverse();
    Lines::Never(begin)
}

//! Two rules between which only their order decides.
//!
//! Both are active, some input is matched by both at the same length, and each also takes what the
//! other does not match: neither is the special case of the other, so nothing but the order in which
//! they are written says which one is meant. An earlier rule that matches only what a later one
//! matches, too, is how a case is written before the rule for all, and is not said; nor is one that
//! begins with a command which the later one takes for any text. Must not know: actions.

use crate::checker::Checker;
use crate::lines::LINE_FEED;
use crate::waits::edges;
use crate::witness::{LONGEST_MESSAGE, literal};
use nest_diag::{Code, Diagnostic};
use nest_machine::Rule;
use nest_machine::reach::{At, DfaProduct, Search, Wins};
use nest_pattern::Dfa;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Steps of one look at many rules; what takes longer is looked at pair by pair.
const SWEEP: usize = 300_000;

/// Pairs of rules that accept together; more are not looked at.
const MOST_PAIRS: usize = 100_000;

/// Steps of one look at two rules.
const PAIR: usize = 100_000;

/// Bytes of a message in a label.
const MOST_SHOWN: usize = 40;

/// An earlier and a later rule.
type Pair = (usize, usize);

/// Two rules that tie.
struct Ambiguity {
    pair: Pair,
    /// What both match, and the earlier one takes.
    input: Vec<u8>,
    /// What the earlier one matches and the later one does not.
    alone: Vec<u8>,
    /// Where.
    set: usize,
}

/// Whether two rules are among these, which are ascending.
fn has_both(active: &[usize], (a, b): Pair) -> bool {
    active.binary_search(&a).is_ok() && active.binary_search(&b).is_ok()
}

impl Checker<'_> {
    /// W0205.
    pub(crate) fn ambiguous(&mut self) {
        // A rule for what is too long stands before the others as a matter of course.
        let nobody = vec![false; self.m.rules.len()];
        let short = |rule| match self.winners.wins(rule, &nobody) {
            Wins::With(input) => input.len() <= LONGEST_MESSAGE,
            Wins::Never | Wins::Perhaps => false,
        };
        let short: Vec<bool> = (0..self.m.rules.len()).map(short).collect();
        let mut sets: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        for set in 0..self.reach.sets.len() {
            let active = self.active(set);
            let known = |r: &usize| active[*r] && short[*r];
            let active: Vec<usize> = (0..active.len()).filter(known).collect();
            sets.entry(active).or_insert(set);
        }
        let mut sets: Vec<(Vec<usize>, usize)> = sets.into_iter().collect();
        sets.sort_by_key(|(_, set)| *set);
        let mut example: BTreeSet<usize> = BTreeSet::new();
        for (earlier, later) in self.meeting(&sets) {
            if self.pair_steps == 0 {
                self.late.insert(Code::W0205);
                break;
            }
            let rules = &self.m.rules;
            if example.contains(&later)
                || is_command(&rules[earlier], &rules[later])
                || !self.differ(earlier, later)
            {
                continue;
            }
            let pair = (earlier, later);
            for (active, set) in sets.iter().filter(|(active, _)| has_both(active, pair)) {
                if let Some((input, alone)) = self.ambiguous_input(pair, active) {
                    example.insert(later);
                    self.report_ambiguous(&Ambiguity {
                        pair,
                        input,
                        alone,
                        set: *set,
                    });
                    break;
                }
            }
        }
    }

    /// The pairs of rules that accept together somewhere, and are active together. Whether all of
    /// them are looked at side by side, or those that are active together, is the same: the former
    /// is quicker, unless rules that are never active together have much in common.
    fn meeting(&mut self, sets: &[(Vec<usize>, usize)]) -> BTreeSet<Pair> {
        let all: BTreeSet<usize> = sets
            .iter()
            .flat_map(|(active, _)| active)
            .copied()
            .collect();
        let all: Vec<usize> = all.into_iter().collect();
        let mut found = BTreeSet::new();
        if !self.sweep(&all, &mut found) {
            found.clear();
            let mut tested = BTreeSet::new();
            for (active, _) in sets {
                if self.sweep(active, &mut found) {
                    continue;
                }
                for (at, later) in active.iter().enumerate() {
                    if self.pair_steps == 0 || found.len() >= MOST_PAIRS {
                        self.late.insert(Code::W0205);
                        break;
                    }
                    for pair in active[..at].iter().map(|earlier| (*earlier, *later)) {
                        if tested.insert(pair) && self.meet(pair) {
                            found.insert(pair);
                        }
                    }
                }
            }
        }
        found.retain(|pair| sets.iter().any(|(active, _)| has_both(active, *pair)));
        found
    }

    /// Finds the pairs of `rules` that accept together; false if that takes too long.
    fn sweep(&mut self, rules: &[usize], found: &mut BTreeSet<Pair>) -> bool {
        let Some(product) = DfaProduct::of(&self.m.rules, rules) else {
            return false;
        };
        // They need not be active together.
        let product = product.independent();
        let pairs = RefCell::new(found);
        let note = |states: &[At]| {
            let accepting: Vec<usize> = product.accepting(states).collect();
            let mut pairs = pairs.borrow_mut();
            for (at, later) in accepting.iter().enumerate() {
                let before = accepting[..at].iter().map(|earlier| (*earlier, *later));
                pairs.extend(before);
                if pairs.len() >= MOST_PAIRS {
                    return true;
                }
            }
            false
        };
        let two = |states: &[At]| product.live(states).nth(1).is_some();
        self.search(&product, SWEEP, two, note) == Search::Nowhere
    }

    /// Whether two rules accept together.
    fn meet(&mut self, (a, b): Pair) -> bool {
        let Some(product) = DfaProduct::of(&self.m.rules, &[a, b]) else {
            return false;
        };
        let both = |states: &[At]| product.live(states).count() == 2;
        let accept = |states: &[At]| product.accepting(states).count() == 2;
        let search = self.search(&product, PAIR, both, accept);
        self.found(search).is_some()
    }

    /// A search that takes no more than `most` steps.
    fn search(
        &mut self,
        product: &DfaProduct<'_>,
        most: usize,
        goes_on: impl Fn(&[At]) -> bool,
        goal: impl Fn(&[At]) -> bool,
    ) -> Search {
        self.pair_steps = self.pair_steps.saturating_sub(product.cost());
        let most = self.pair_steps.min(most);
        let mut left = most;
        let found = product.search(&mut left, goes_on, goal);
        self.pair_steps -= most - left;
        found
    }

    /// What a search found. That it took too long is noted.
    fn found(&mut self, search: Search) -> Option<Vec<u8>> {
        match search {
            Search::Found(input) => Some(input),
            Search::Nowhere => None,
            Search::TooLong => {
                self.late.insert(Code::W0205);
                None
            }
        }
    }

    /// Whether each of two rules matches what the other does not.
    fn differ(&mut self, a: usize, b: usize) -> bool {
        let Some(product) = DfaProduct::of(&self.m.rules, &[a, b]) else {
            return false;
        };
        [a, b].into_iter().all(|one| {
            let live = |states: &[At]| product.live(states).any(|r| r == one);
            let alone = |states: &[At]| product.accepting(states).eq([one]);
            let search = self.search(&product, PAIR, live, alone);
            self.found(search).is_some()
        })
    }

    /// What both match and `earlier` takes among the active rules, and what it takes and the other
    /// does not match; if there is also something the other way round.
    fn ambiguous_input(
        &mut self,
        (earlier, later): Pair,
        active: &[usize],
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let m = self.m;
        let upto = (active.iter().copied()).filter(|r| *r <= later || m.rules[*r].early);
        let upto: Vec<usize> = upto.collect();
        let product = DfaProduct::of(&self.m.rules, &upto)?;
        let first = |states: &[At]| product.first(states);
        let live = |states: &[At], rule: usize| product.live(states).any(|r| r == rule);
        let also = |states: &[At]| product.accepting(states).any(|r| r == later);
        // What begins with a line that the later one takes is longer than that: no special case.
        let lines = edges(&self.m.rules[later]).0 == LINE_FEED;
        let mut find = |goes_on: &dyn Fn(&[At]) -> bool, goal: &dyn Fn(&[At]) -> bool| {
            let search = self.search(&product, SWEEP, goes_on, goal);
            self.found(search)
        };
        let earlier_on = |s: &[At]| live(s, earlier) && !(lines && also(s));
        let alone = find(&earlier_on, &|s| first(s) == Some(earlier) && !also(s))?;
        find(&|s| live(s, later), &|s| first(s) == Some(later))?;
        let shared = find(&|s| live(s, earlier) && live(s, later), &|s| {
            first(s) == Some(earlier) && also(s)
        });
        let shared = shared.filter(|input| input.len() <= LONGEST_MESSAGE)?;
        Some((shared, alone))
    }

    fn report_ambiguous(&mut self, ambiguous_input: &Ambiguity) {
        let (earlier, later) = (
            &self.m.rules[ambiguous_input.pair.0],
            &self.m.rules[ambiguous_input.pair.1],
        );
        let before = self.talks.to(ambiguous_input.set);
        let behind = match &before {
            Some(w) if !w.acts.is_empty() => format!(" after {w}"),
            _ => String::new(),
        };
        let shown = literal(&ambiguous_input.input);
        let what = "only the order of this rule and an earlier one decides which of them matches";
        let alone = shortened(&ambiguous_input.alone);
        let label = format!(
            "both rules match {shown}{behind}, and this one is selected; only this one matches {alone}"
        );
        let help = "each also matches input that the other does not: change a pattern, or select a rule \
                    by states; if the order is intended, allow the warning with a reason";
        let diagnostic = Diagnostic::new(Code::W0205, later.span, what)
            .label(earlier.span, label)
            .help(help);
        let witness = before.map(|w| {
            w.and(ambiguous_input.input.clone())
                .consumed_by(ambiguous_input.pair.0)
        });
        self.push(diagnostic, witness);
    }
}

/// Whether `earlier` begins with bytes that are all its own to choose, in either case of letters,
/// and `later` takes each of them for one of many.
fn is_command(earlier: &Rule, later: &Rule) -> bool {
    let (Some(command), Some(text)) = (&earlier.dfa, &later.dfa) else {
        return false;
    };
    let (mut at, mut beside) = (command.start, text.start);
    let mut met = false;
    while let Some(byte) = only(command, at) {
        if only(text, beside).is_some() {
            return false;
        }
        (at, beside) = (command.step(at, byte), text.step(beside, byte));
        met = true;
        // What leads back never ends.
        if !command.is_live(at) || !text.is_live(beside) || at == command.start {
            break;
        }
    }
    met
}

/// The byte, or the letter, that alone leads on from a state.
fn only(automaton: &Dfa, state: u32) -> Option<u8> {
    let on = |byte: &u8| {
        let to = automaton.step(state, *byte);
        automaton.is_live(to) || automaton.accepts(to)
    };
    let mut all = (0..=255u8).filter(on);
    let first = all.next()?;
    all.all(|other| other == first.to_ascii_lowercase())
        .then_some(first)
}

/// A message as a label has room for it.
fn shortened(message: &[u8]) -> String {
    if message.len() <= MOST_SHOWN {
        return literal(message);
    }
    let begin = literal(&message[..MOST_SHOWN / 2]);
    format!("{begin}... ({} bytes)", message.len())
}

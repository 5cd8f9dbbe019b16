//! What a picture of a large automaton need not show state by state: texts and counts.
//!
//! In a text each state has one way in and one way out, by one letter each. In a count each state
//! leads to the next by the same bytes, and does else what the first one does.

use super::state::{Automaton, Bytes, LONGEST, letter};
use crate::graph::Label;
use crate::text::{bytes, short};
use std::collections::BTreeMap;

/// Automata with no more states than this are drawn as they are.
const FEW: usize = 16;
/// Counts of fewer states are drawn as they are.
const LEAST: usize = 4;

/// A count, by its first state.
pub struct Run {
    /// How many states it has besides.
    pub more: usize,
    /// The last of them.
    pub last: usize,
    /// Where the last one leads by the same bytes.
    pub on: Option<usize>,
    /// The loop that stands for them.
    pub label: Label,
}

/// What is folded.
pub struct Folds {
    /// States within texts.
    pub passed: Vec<bool>,
    /// Counts, by their first states.
    pub runs: BTreeMap<usize, Run>,
    /// The first state of the count that a state is in.
    pub heads: BTreeMap<usize, usize>,
    /// The state before, within a count.
    before: BTreeMap<usize, usize>,
}

impl Folds {
    /// Whether a state has no node of its own.
    pub fn hidden(&self, state: usize) -> bool {
        self.passed[state] || self.before.contains_key(&state)
    }

    /// Whether it is a step of a count, or one that its first state has too.
    pub fn within(&self, from: usize, to: usize) -> bool {
        self.before.get(&to) == Some(&from)
    }

    /// States that are not drawn: of texts, of counts.
    pub fn count(&self) -> (usize, usize) {
        let strings = self.passed.iter().filter(|passed| **passed).count();
        (strings, self.before.len())
    }
}

impl Automaton {
    pub(super) fn folds(&self) -> Folds {
        let count = self.states.len();
        let mut folds = Folds {
            passed: vec![false; count],
            runs: BTreeMap::new(),
            heads: BTreeMap::new(),
            before: BTreeMap::new(),
        };
        if count <= FEW {
            return folds;
        }
        let mut next: Vec<Vec<(usize, &Bytes)>> = vec![Vec::new(); count];
        let mut sources = vec![0; count];
        let mut by: Vec<Option<&Bytes>> = vec![None; count];
        for ((from, to), set) in &self.edges {
            next[*from].push((*to, set));
            sources[*to] += 1;
            by[*to] = Some(set);
        }
        for first in 0..count {
            if folds.heads.contains_key(&first) {
                continue;
            }
            for (to, set) in &next[first] {
                let run = self.run(first, *to, set, &next, &sources);
                if run.len() >= LEAST && run.iter().all(|s| !folds.heads.contains_key(s)) {
                    let exits = next[first].len() > 1;
                    folds.add(&run, set, on(&next, &run, set), exits);
                    break;
                }
            }
        }
        for state in 1..count {
            let one = |all: &[(usize, &Bytes)]| matches!(all, [(to, set)] if *to != state && letter(set).is_some());
            let by_letter = by[state].is_some_and(|set| letter(set).is_some());
            folds.passed[state] = sources[state] == 1
                && by_letter
                && one(&next[state])
                && !self.states[state].accepts
                && !folds.heads.contains_key(&state);
        }
        folds
    }

    /// The states that count from `first` on, if its way on is `to`, by `set`.
    fn run(
        &self,
        first: usize,
        to: usize,
        set: &Bytes,
        next: &[Vec<(usize, &Bytes)>],
        sources: &[usize],
    ) -> Vec<usize> {
        let others = |state: usize, but: Option<usize>| {
            let all = next[state].iter();
            all.filter(move |(to, _)| Some(*to) != but)
        };
        let mut run = vec![first];
        let mut at = Some(to);
        while let Some(state) = at {
            let on = next[state]
                .iter()
                .find(|(_, by)| *by == set)
                .map(|(to, _)| *to);
            let alike = sources[state] == 1
                && !run.contains(&state)
                && self.states[state] == self.states[first]
                && others(state, on).eq(others(first, Some(to)));
            if !alike {
                break;
            }
            run.push(state);
            at = on;
        }
        run
    }
}

/// Where the last state of a count leads by the bytes that are counted.
fn on(next: &[Vec<(usize, &Bytes)>], run: &[usize], set: &Bytes) -> Option<usize> {
    let last = run.last()?;
    let found = next[*last].iter().find(|(_, by)| *by == set);
    found.map(|(to, _)| *to)
}

impl Folds {
    fn add(&mut self, run: &[usize], set: &Bytes, on: Option<usize>, exits: bool) {
        let (first, more) = (run[0], run.len() - 1);
        let what = match bytes(set) {
            range if range.starts_with(|c: char| c.is_ascii_alphanumeric()) && range.len() == 3 => {
                format!("[{range}]")
            }
            all if all.contains(' ') => format!("({all})"),
            other => other,
        };
        let times = if exits {
            format!("{{0,{more}}}")
        } else {
            format!("{{{more}}}")
        };
        let label = Label {
            text: short(&what, LONGEST) + &times,
            tip: format!("{what}{times}"),
            certain: true,
            codes: Vec::new(),
            on_path: false,
        };
        for pair in run.windows(2) {
            self.before.insert(pair[1], pair[0]);
        }
        self.heads.extend(run.iter().map(|s| (*s, first)));
        self.runs.insert(
            first,
            Run {
                more,
                last: run[more],
                on,
                label,
            },
        );
    }
}

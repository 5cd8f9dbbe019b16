//! A specification's conversations as data: sets of states, what leads from one to another, and the
//! findings about them.
//!
//! Where there are more sets than a picture holds, those are joined in which the same rules can take
//! something. Must not know: how it is drawn.

use crate::by::By;
use crate::follow;
use crate::marks::Marks;
use crate::text::{duration, plain, short};
use nest_c::effects::Effects;
use nest_check::{Finding, Witness};
use nest_diag::SourceMap;
use nest_machine::Machine;
use nest_machine::reach::{Move, Reach, Winners};
use std::collections::{BTreeMap, BTreeSet};

/// More sets than this are not drawn one by one.
pub const MOST_SETS: usize = 40;
/// Patterns longer than this are cut where they stand for a rule's name.
const LONGEST: usize = 26;

/// Where a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Before START's action.
    Entry,
    /// In one of the sets that are joined.
    Group(usize),
    /// In any of all of them.
    Any,
    /// It has ended.
    Exit,
}

/// Steps by where they begin and end; each with whether it is certain.
pub type Steps = BTreeMap<(Place, Place), BTreeMap<By, bool>>;

/// The conversations of a machine.
pub struct Conversation<'m> {
    pub(crate) m: &'m Machine,
    pub(crate) reach: Reach,
    pub(crate) effects: Effects,
    /// All steps between sets; none if the sets are too many to be known.
    pub(crate) moves: Option<Vec<Move>>,
    pub(crate) marks: Marks,
    /// What a client does, and what that comes to.
    pub(crate) path: Vec<Move>,
}

impl<'m> Conversation<'m> {
    /// Of a machine, with what was found about it, in the order of `nest check`.
    #[must_use]
    pub fn of(m: &'m Machine, sources: &SourceMap, findings: &[Finding]) -> Conversation<'m> {
        let effects = Effects::of(&m.source());
        let reach = Reach::by(m, &effects, &mut Winners::new(m));
        let moves = reach.moves(m, &effects);
        Conversation {
            marks: Marks::of(m, sources, findings),
            m,
            reach,
            effects,
            moves,
            path: Vec::new(),
        }
    }

    /// Shows the path that a client takes; false if it cannot be followed.
    #[must_use]
    pub fn show(&mut self, witness: &Witness) -> bool {
        let Some(moves) = &self.moves else {
            return false;
        };
        match follow::follow(self.m, &self.reach, moves, &witness.acts) {
            Some(path) => {
                self.path = path;
                true
            }
            None => false,
        }
    }

    /// Which sets may be drawn as one, the best way first: each by itself, and those together in
    /// which the same can be taken. What would be too many nodes is left out, and what says nothing.
    pub(crate) fn groupings(&self) -> Vec<Vec<Vec<usize>>> {
        if self.moves.is_none() {
            return Vec::new();
        }
        let sets = &self.reach.sets;
        let mut joined: Vec<Vec<usize>> = Vec::new();
        let mut known = BTreeMap::new();
        for (n, set) in sets.iter().enumerate() {
            let number = *known.entry((&set.rules, set.timer)).or_insert(joined.len());
            if number == joined.len() {
                joined.push(Vec::new());
            }
            joined[number].push(n);
        }
        let single: Vec<Vec<usize>> = (0..sets.len()).map(|n| vec![n]).collect();
        let mut found = vec![single];
        found.extend(Some(joined).filter(|joined| joined.len() > 1));
        found.retain(|groups| groups.len() <= MOST_SETS);
        found
    }

    /// All steps between groups.
    pub(crate) fn steps(&self, groups: &[Vec<usize>]) -> Steps {
        let mut group = vec![0; self.reach.sets.len()];
        for (n, sets) in groups.iter().enumerate() {
            sets.iter().for_each(|set| group[*set] = n);
        }
        let mut steps = Steps::new();
        let mut add = |from, to, by, certain: bool| {
            let known = steps.entry((from, to)).or_default().entry(by);
            *known.or_default() |= certain;
        };
        for step in self.moves.iter().flatten() {
            let from = step.from.map_or(Place::Entry, |n| Place::Group(group[n]));
            let to = step.to.map_or(Place::Exit, |n| Place::Group(group[n]));
            add(from, to, By::from(step.by), step.certain);
        }
        for (n, set) in self.reach.sets.iter().enumerate() {
            if set.is_stuck() {
                add(Place::Group(group[n]), Place::Exit, By::Stuck, set.certain);
            }
        }
        steps
    }

    /// The steps of the path that is shown, between groups.
    pub(crate) fn path(&self, groups: &[Vec<usize>]) -> BTreeSet<(Place, Place, By)> {
        let group = |set: usize| {
            let number = groups.iter().position(|sets| sets.contains(&set));
            number.map_or(Place::Exit, Place::Group)
        };
        let step = |s: &Move| {
            let from = s.from.map_or(Place::Entry, group);
            (from, s.to.map_or(Place::Exit, group), By::from(s.by))
        };
        self.path.iter().map(step).collect()
    }

    /// The names of states; START's only where it does not hold in all sets.
    pub(crate) fn names(&self, states: u64) -> Vec<String> {
        let first = usize::from(self.reach.bounds.held & 1 == 1);
        let names = (first..self.m.states.len()).filter(|n| states >> n & 1 == 1);
        names.map(|n| self.m.states[n].clone()).collect()
    }

    /// A set in words.
    pub(crate) fn set_name(&self, set: usize) -> Vec<String> {
        let set = &self.reach.sets[set];
        let mut names = self.names(set.states);
        if names.is_empty() {
            names.push(
                if set.states & 1 == 1 {
                    "START"
                } else {
                    "no state"
                }
                .into(),
            );
        }
        names
    }

    /// A rule in short: its name, or its pattern.
    pub(crate) fn short(&self, by: By) -> String {
        short_name(self.m, by)
    }

    /// A rule for those who ask.
    pub(crate) fn long(&self, by: By) -> String {
        let m = self.m;
        match by {
            By::Start => match &m.start {
                Some(action) => format!("START, line {}", action.code.line),
                None => "START".into(),
            },
            By::Stuck => "no rule is active: the conversation ends".into(),
            By::Rule(n) => {
                let rule = &m.rules[n];
                let pattern = plain(&rule.elements.join(" "));
                format!("{}: {pattern}", name_and_line(&rule.label, rule.line))
            }
            By::Timer(n) => {
                let timer = &m.timers[n];
                format!("line {}: TIMEOUT({})", timer.line, duration(timer.after))
            }
        }
    }
}

/// `quit, line 7`, or `line 7`.
fn name_and_line(label: &str, line: usize) -> String {
    let place = format!("line {line}");
    if label == place {
        place
    } else {
        format!("{label}, {place}")
    }
}

/// A rule's name, or its pattern as far as it is short.
pub(crate) fn short_name(m: &Machine, by: By) -> String {
    match by {
        By::Start => "START".into(),
        By::Stuck => "stuck".into(),
        By::Timer(n) => format!("TIMEOUT({})", duration(m.timers[n].after)),
        By::Rule(n) => {
            let rule = &m.rules[n];
            if rule.label == format!("line {}", rule.line) {
                short(&plain(&rule.elements.join(" ")), LONGEST)
            } else {
                short(&plain(&rule.label), LONGEST)
            }
        }
    }
}

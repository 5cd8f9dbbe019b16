//! Every step from every set that is reached: where conversations can go, not only how they first
//! came there.

use super::sets::{Node, Reach, START, Step, begun, outcomes, tests_last};
use crate::model::Machine;
use nest_c::effects::{Closes, Effect, Effects};
use std::collections::{BTreeMap, HashMap};

/// A step from a set to a set, or to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// The set before; none: it is START's action, or its absence.
    pub from: Option<usize>,
    /// What moves it; none: START's action.
    pub by: Option<Step>,
    /// The set behind it; none: the action closes the connection.
    pub to: Option<usize>,
    /// Whether some input and some way through the action lead there, as far as C's branches can
    /// be told from its text; else it is only not known that nothing does.
    pub certain: bool,
}

impl Reach {
    /// All steps, by the set before. Nothing if not all sets are known.
    #[must_use]
    pub fn moves(&self, m: &Machine, effects: &Effects) -> Option<Vec<Move>> {
        if !self.complete {
            return None;
        }
        let conditions = m.rules.iter().map(|r| &r.cond);
        let mut conditions = conditions.chain(m.timers.iter().map(|t| &t.cond));
        let lasts = conditions.any(tests_last);
        let all = (0..).zip(&self.sets);
        let numbers: HashMap<Node, usize> = all.map(|(n, s)| ((s.states, s.last), n)).collect();
        let mut found = Vec::new();
        let mut add = |from, by, to: BTreeMap<Option<Node>, bool>| {
            found.extend(to.into_iter().filter_map(|(to, certain)| {
                let to = match to {
                    Some(node) => Some(*numbers.get(&node)?),
                    None => None,
                };
                Some(Move {
                    from,
                    by,
                    to,
                    certain,
                })
            }));
        };
        let before = (START, None);
        let first = match &effects.start {
            Some(start) => targets(start, before, lasts, true),
            None => BTreeMap::from([(Some(before), true)]),
        };
        let first = first.into_iter();
        let first = first.map(|(to, certain)| (to.map(|node| begun(node, lasts)), certain));
        add(None, None, first.collect());
        for (n, set) in self.sets.iter().enumerate() {
            let node = (set.states, set.last);
            for rule in &set.rules {
                let takes = !set.perhaps.contains(rule);
                let to = targets(&effects.rules[*rule], node, lasts, takes);
                add(Some(n), Some(Step::Rule(*rule)), to);
            }
            if let Some(timer) = set.timer {
                let to = targets(&effects.timers[timer], node, lasts, true);
                add(Some(n), Some(Step::Timer(timer)), to);
            }
        }
        Some(found)
    }
}

/// Where an action may lead from a set; the end is none. Each with whether that is certain.
fn targets(effect: &Effect, node: Node, lasts: bool, takes: bool) -> BTreeMap<Option<Node>, bool> {
    let mut found: BTreeMap<Option<Node>, bool> = BTreeMap::new();
    let mut add = |to, certain| *found.entry(to).or_default() |= certain;
    for path in effect.paths.iter().filter(|p| p.fits(node.0)) {
        if path.closes != Closes::No {
            add(None, takes && effect.exact && path.closes == Closes::Yes);
        }
        if path.closes == Closes::Yes {
            continue;
        }
        let certain = takes && effect.exact && path.is_definite();
        for to in outcomes(path, node, lasts).unwrap_or_default() {
            add(Some(to), certain);
        }
    }
    found
}

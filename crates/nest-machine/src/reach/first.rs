//! The rules that may be active together when a client's first message comes. Must not know:
//! automata, what follows that message.

use super::sets::{Node, START, begun, outcomes, tests_last};
use crate::model::Machine;
use nest_c::effects::{Closes, Effects};
use std::collections::BTreeSet;

/// The sets of rules that may be active at the first read point, each ascending and not empty; not
/// exactly one of them if START's action has several results. `None` if there are too many.
#[must_use]
pub fn first(m: &Machine, effects: &Effects) -> Option<BTreeSet<Vec<usize>>> {
    let lasts = m.rules.iter().any(|rule| tests_last(&rule.cond));
    let before: Node = (START, None);
    let mut nodes = BTreeSet::new();
    match &effects.start {
        Some(start) => {
            let fitting = start.paths.iter().filter(|p| p.fits(START));
            for path in fitting.filter(|p| p.closes != Closes::Yes) {
                nodes.extend(outcomes(path, before, lasts)?);
            }
        }
        None => {
            nodes.insert(before);
        }
    }
    let active = |node: Node| {
        let (states, last) = begun(node, lasts);
        let holds = |n: &usize| m.rules[*n].cond.holds(&|s| states >> s & 1 == 1, last);
        (0..m.rules.len()).filter(holds).collect::<Vec<usize>>()
    };
    let sets = nodes.into_iter().map(active);
    Some(sets.filter(|set| !set.is_empty()).collect())
}

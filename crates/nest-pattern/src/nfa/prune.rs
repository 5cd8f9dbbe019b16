//! Removes the states of an NFA that cannot be reached or cannot reach Match, and renumbers the
//! rest.
//!
//! A rule is live while its thread list is not empty, so a thread that cannot reach Match would
//! make others wait.

use super::state::NfaState;
use nest_syntax::ast::ByteSet;

/// The remaining states, and the start.
pub(super) fn prune(states: &[NfaState], start: u32) -> (Vec<NfaState>, u32) {
    let hopeful = reaches_match(states);
    if !hopeful[start as usize] {
        return (vec![NfaState::Split(Vec::new())], 0);
    }
    // The target to use instead of `id`, skipping Splits with only one target.
    let settle = |mut id: u32| loop {
        let NfaState::Split(targets) = &states[id as usize] else {
            return id;
        };
        let mut left = targets.iter().filter(|t| hopeful[**t as usize]);
        match (left.next(), left.next()) {
            (Some(only), None) => id = *only,
            _ => return id,
        }
    };
    // Numbers in order of the first visit, preferred choice first.
    let start = settle(start);
    let mut number: Vec<Option<u32>> = vec![None; states.len()];
    let mut order: Vec<u32> = Vec::new();
    let mut stack = vec![start];
    while let Some(id) = stack.pop() {
        if number[id as usize].is_some() {
            continue;
        }
        number[id as usize] = u32::try_from(order.len()).ok();
        order.push(id);
        let from = stack.len();
        let hopes = targets(&states[id as usize]).iter().copied();
        stack.extend(hopes.filter(|t| hopeful[*t as usize]).map(settle));
        stack[from..].reverse();
    }
    let renumber = |id: u32| number[settle(id) as usize].expect("every target was visited");
    let kept = order.iter().map(|id| match &states[*id as usize] {
        NfaState::Byte { set, next } => NfaState::Byte {
            set: *set,
            next: renumber(*next),
        },
        NfaState::Mark { part, next } => NfaState::Mark {
            part: *part,
            next: renumber(*next),
        },
        NfaState::Match => NfaState::Match,
        NfaState::Split(targets) => {
            let left = targets.iter().filter(|t| hopeful[**t as usize]);
            NfaState::Split(left.map(|t| renumber(*t)).collect())
        }
    });
    (kept.collect(), 0)
}

/// The targets of a state, including those that cannot reach Match.
fn targets(state: &NfaState) -> &[u32] {
    match state {
        NfaState::Byte { set, .. } if *set == ByteSet::EMPTY => &[],
        NfaState::Byte { next, .. } | NfaState::Mark { next, .. } => std::slice::from_ref(next),
        NfaState::Split(targets) => targets,
        NfaState::Match => &[],
    }
}

fn reaches_match(states: &[NfaState]) -> Vec<bool> {
    let mut sources: Vec<Vec<u32>> = vec![Vec::new(); states.len()];
    let mut hopeful = vec![false; states.len()];
    let mut stack = Vec::new();
    for (id, state) in (0u32..).zip(states) {
        for target in targets(state) {
            sources[*target as usize].push(id);
        }
        if *state == NfaState::Match {
            stack.push(id);
        }
    }
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut hopeful[id as usize], true) {
            stack.extend(&sources[id as usize]);
        }
    }
    hopeful
}

//! Which registers an automaton saves while it waits for input: those whose value may still be
//! used.
//!
//! The other registers need no value while it runs either: only those used at the start get their
//! saved value. Must not know: how states become C.

use nest_pattern::{Effect, Product, Source};
use std::collections::BTreeSet;

/// The registers of each state; equal sets are stored once.
#[derive(Default)]
pub(super) struct Kept {
    groups: Vec<BTreeSet<u16>>,
    /// By state.
    group: Vec<usize>,
}

impl Kept {
    pub(super) fn of(product: &Product) -> Kept {
        let mut kept = Kept::default();
        for registers in requested(product) {
            let known = kept.groups.iter().position(|group| *group == registers);
            kept.group.push(known.unwrap_or(kept.groups.len()));
            if known.is_none() {
                kept.groups.push(registers);
            }
        }
        kept
    }

    /// The index of the state's set in `groups`.
    pub(super) fn group(&self, state: u32) -> usize {
        self.group[state as usize]
    }

    pub(super) fn groups(&self) -> &[BTreeSet<u16>] {
        &self.groups
    }

    /// The moves of an effect that leads to one of the states, without those to registers that are
    /// not used there.
    pub(super) fn moves(&self, effect: &Effect, to: &[u32]) -> Vec<(u16, Source)> {
        let groups = to.iter().map(|state| &self.groups[self.group(*state)]);
        let mut requested: BTreeSet<u16> = groups.flatten().copied().collect();
        let mut moves = Vec::new();
        for (set, source) in effect.moves.iter().rev() {
            if requested.remove(set) {
                requested.extend(register(source));
                moves.push((*set, *source));
            }
        }
        moves.reverse();
        moves
    }

    /// The same for any state.
    pub(super) fn all(&self) -> BTreeSet<u16> {
        self.groups.iter().flatten().copied().collect()
    }

    /// Those that serve within a transition alone, for an exchange.
    pub(super) fn passing(&self, product: &Product) -> BTreeSet<u16> {
        let edges: BTreeSet<(u32, u32)> = product.next.iter().copied().collect();
        let moves = edges
            .iter()
            .flat_map(|(to, effect)| self.moves(&product.effects[*effect as usize], &[*to]));
        let all = self.all();
        let set = moves.map(|(register, _)| register);
        set.filter(|register| !all.contains(register)).collect()
    }
}

/// For each state the registers that some way from it reads before it sets them.
fn requested(product: &Product) -> Vec<BTreeSet<u16>> {
    let mut requested = vec![BTreeSet::new(); product.states()];
    if product.registers == 0 {
        return requested;
    }
    let edges: Vec<BTreeSet<(u32, u32)>> = (0..product.states())
        .map(|state| product.row(state).iter().copied().collect())
        .collect();
    let mut grown = true;
    while grown {
        grown = false;
        for state in (0..product.states()).rev() {
            let mut all = std::mem::take(&mut requested[state]);
            let before = all.len();
            for (to, effect) in &edges[state] {
                let behind = if *to as usize == state {
                    all.clone()
                } else {
                    requested[*to as usize].clone()
                };
                all.extend(before_effect(&product.effects[*effect as usize], behind));
            }
            grown |= all.len() > before;
            requested[state] = all;
        }
        // A chain is one place in the code, whichever of its states it is in.
        for chain in &product.chains {
            let states = chain.first as usize..(chain.first + chain.length) as usize;
            let all: BTreeSet<u16> = requested[states.clone()]
                .iter()
                .flatten()
                .copied()
                .collect();
            grown |= requested[states.clone()].iter().any(|some| *some != all);
            requested[states].fill(all);
        }
    }
    requested
}

fn register(source: &Source) -> Option<u16> {
    match source {
        Source::Here => None,
        Source::Register(register) => Some(*register),
    }
}

/// What is asked for before a transition, of what is asked for behind it.
fn before_effect(effect: &Effect, mut requested: BTreeSet<u16>) -> BTreeSet<u16> {
    for (set, source) in effect.moves.iter().rev() {
        if requested.remove(set) {
            requested.extend(register(source));
        }
    }
    let tags = effect.accepts.iter().flat_map(|accept| &accept.tags);
    requested.extend(tags.filter_map(register));
    requested
}

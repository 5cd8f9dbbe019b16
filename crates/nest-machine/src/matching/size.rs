//! About how many bytes of C an automaton takes, before it is written.
//!
//! The figures are those of nest-emit's lines; over the examples they are right to a fourth. Must
//! not know: the C itself.

use nest_pattern::{Effect, Product};
use std::collections::BTreeSet;

/// A state as code, and each of its different edges.
const STATE: usize = 95;
const EDGE: usize = 55;
/// The classes of a table and the loop over it; a kind of edge besides what it does.
const LOOP: usize = 1500;
const KIND: usize = 40;
/// A look whether anything is live.
const LOOK: usize = 110;
/// An acceptance, the test of its condition, and what a tag or a move of a register adds.
const ACCEPT: usize = 90;
const TEST: usize = 75;
const MOVE: usize = 48;

/// An automaton whose rules have so many conditions, and the one of them that always holds.
pub(super) struct Size<'a> {
    pub(super) product: &'a Product,
    pub(super) conditions: usize,
    pub(super) always: Option<u32>,
}

impl Size<'_> {
    /// As code.
    pub(super) fn code(&self) -> usize {
        let mut bytes = 0;
        for state in self.product.blocks() {
            let mut edges = self.product.row(state).to_vec();
            edges.sort_unstable();
            edges.dedup();
            bytes += STATE;
            for (to, effect) in edges {
                let looks = self.looks(state, to as usize);
                bytes += EDGE + self.effect(effect) + if looks { LOOK } else { 0 };
            }
        }
        bytes
    }

    /// As a table.
    pub(super) fn table(&self) -> usize {
        let classes = self.product.class_count;
        let mut kinds = BTreeSet::new();
        let mut bytes = LOOP;
        for (from, row) in self.product.next.chunks(classes).enumerate() {
            for same in row.chunk_by(|a, b| a == b) {
                let (to, effect) = same[0];
                let looks = self.looks(from, to as usize);
                // A kind is above the 16 bits of the state.
                let (digits, kind) = if effect == 0 && !looks {
                    (to.checked_ilog10().map_or(1, |log| log as usize + 1), None)
                } else {
                    (7, Some((effect, looks.then_some(to))))
                };
                bytes += (digits + 2) * same.len();
                kinds.extend(kind);
            }
        }
        let kinds = kinds
            .into_iter()
            .map(|(effect, looks)| KIND + self.effect(effect) + looks.map_or(0, |_| LOOK));
        bytes + kinds.sum::<usize>()
    }

    /// Whether a transition must ask what is live: rules of some condition have left.
    fn looks(&self, from: usize, to: usize) -> bool {
        let live = |state: usize| &self.product.live[state];
        to != 0
            && self.conditions > 1
            && live(to).len() < self.conditions
            && self.always.is_none_or(|bit| !live(to).contains(&bit))
            && live(from).iter().any(|bit| !live(to).contains(bit))
    }

    fn effect(&self, effect: u32) -> usize {
        let Effect {
            accepts,
            decides,
            moves,
        } = &self.product.effects[effect as usize];
        let accept = ACCEPT + if self.conditions > 1 { TEST } else { 0 };
        let accepts = accepts.iter().map(|a| accept + MOVE * a.tags.len());
        let decides = if decides.is_empty() { 0 } else { LOOK };
        accepts.sum::<usize>() + decides + MOVE * moves.len()
    }
}

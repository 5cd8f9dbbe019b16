//! The product automaton as data, and the product before its registers have places. Must not know: how
//! either is built.

use crate::tagged::{Source, Tagged};

/// A rule on its way into the product.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Its automaton.
    pub automaton: &'a Tagged,
    /// The bit of its condition.
    pub bit: u32,
    /// Whether it decides as soon as it accepts.
    pub early: bool,
}

/// What a rule that accepts leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Accept {
    /// Which member.
    pub member: usize,
    /// The value of each of its tags, from the registers as they were before the byte.
    pub tags: Vec<Source>,
}

/// What a transition does, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Effect {
    /// The members that accept, the preferred first: the first that is active counts.
    pub accepts: Vec<Accept>,
    /// The bits of conditions, ascending: if one of them is true, an early member has accepted, and
    /// the run ends here.
    pub decides: Vec<u32>,
    /// Registers and their new values, one after the other.
    pub moves: Vec<(u16, Source)>,
}

impl Effect {
    /// Whether it leaves the same behind if it is done for the last of several bytes alone.
    #[must_use]
    pub fn at_once(&self) -> bool {
        let set: Vec<u16> = self.moves.iter().map(|(register, _)| *register).collect();
        let mut tags = self.accepts.iter().flat_map(|a| &a.tags);
        let mut moves = self.moves.iter();
        self.decides.is_empty()
            && moves.all(|(_, source)| *source == Source::Here)
            && tags.all(|source| match source {
                Source::Here => true,
                Source::Register(r) => !set.contains(r),
            })
    }
}

/// The product. State 0 is dead: nothing is live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// Byte to class.
    pub classes: [u8; 256],
    /// Number of classes.
    pub class_count: usize,
    /// `next[state * class_count + class]`: where to, and which of `effects`.
    pub next: Vec<(u32, u32)>,
    /// What transitions do; the first does nothing.
    pub effects: Vec<Effect>,
    /// The state before any byte.
    pub start: u32,
    /// The bits of the conditions whose rules are live, ascending, for each state.
    pub live: Vec<Vec<u32>>,
    /// Number of registers.
    pub registers: usize,
    /// These are 0 at the start.
    pub zeroed: Vec<u16>,
    /// States that count.
    pub chains: Vec<Chain>,
}

/// States `first` to `first + length - 1`: on bytes of `class`es each leads to the next, the last
/// to `exit`, with the same effect; on all others all do the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The first state.
    pub first: u32,
    /// How many there are.
    pub length: u32,
    /// Where the last leads.
    pub exit: u32,
    /// What each step does: one of [`Product::effects`].
    pub effect: u32,
}

impl Chain {
    /// The state behind `state`, one of the chain.
    #[must_use]
    pub fn next(&self, state: u32) -> u32 {
        if state + 1 == self.first + self.length {
            self.exit
        } else {
            state + 1
        }
    }

    /// How many steps lead from `state` to the exit; nothing if it is none of the chain.
    #[must_use]
    pub fn left(&self, state: u32) -> Option<u32> {
        (self.first..self.first + self.length)
            .contains(&state)
            .then(|| self.first + self.length - state)
    }
}

/// The members that are live, and their states.
pub(super) type Key = Vec<(u32, u32)>;

/// What one member does on a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub(super) member: u32,
    pub(super) moves: u32,
    pub(super) accepts: bool,
    pub(super) live: bool,
    /// It ends the run, if it is active.
    pub(super) decides: bool,
}

/// The product before its registers have places.
pub(super) struct Raw<'a> {
    pub(super) members: &'a [Member<'a>],
    pub(super) classes: [u8; 256],
    /// How many bytes each class has.
    pub(super) weights: Vec<usize>,
    pub(super) keys: Vec<Key>,
    /// Where to, and which of `parts`.
    pub(super) next: Vec<(u32, u32)>,
    pub(super) parts: Vec<Vec<Part>>,
}

impl Product {
    /// Number of states.
    #[must_use]
    pub fn states(&self) -> usize {
        self.live.len()
    }

    /// The transitions of a state: for each of the different ones, its bytes.
    #[must_use]
    pub fn row(&self, state: usize) -> &[(u32, u32)] {
        &self.next[state * self.class_count..(state + 1) * self.class_count]
    }
}

//! The DFA as data. Must not know: how it is built.

/// Per-rule DFA: exact acceptance and liveness at every byte (`docs/language.md`, Matching).
/// State numbers are ordered by kind so that two comparisons classify a state:
/// 0 is dead; 1 accepts and is not live (always present, even if unused);
/// `2..first_silent` accept and are live; `first_silent..count` are live and do not accept.
/// It is minimal, its numbering depends on nothing but the pattern's meaning, and `start` is
/// `first_silent` (except if nothing can match, which [`crate::lower`] refuses: then 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dfa {
    /// Byte to class.
    pub classes: [u8; 256],
    /// Number of classes (1..=256).
    pub class_count: u32,
    /// `next[state * class_count + class]`.
    pub next: Vec<u32>,
    /// The state before any byte; live, never accepting.
    pub start: u32,
    /// First state that is live and does not accept.
    pub first_silent: u32,
    /// Number of states.
    pub count: u32,
}

/// The state without threads.
pub(super) const DEAD: u32 = 0;
/// The accepting state without threads.
pub(super) const DONE: u32 = 1;

/// A DFA that is complete but neither minimal nor numbered by kind.
pub(super) struct Raw {
    pub(super) classes: [u8; 256],
    pub(super) class_count: usize,
    pub(super) next: Vec<u32>,
    pub(super) start: u32,
    /// Whether a state accepts. Live are all but [`DEAD`] and [`DONE`].
    pub(super) accepts: Vec<bool>,
}

impl Dfa {
    /// The state after `state` and `byte`.
    #[must_use]
    pub fn step(&self, state: u32, byte: u8) -> u32 {
        let class = u32::from(self.classes[usize::from(byte)]);
        self.next[(state * self.class_count + class) as usize]
    }

    /// Whether the rule accepts in `state`.
    #[must_use]
    pub fn accepts(&self, state: u32) -> bool {
        state != DEAD && state < self.first_silent
    }

    /// Whether the rule is live in `state`.
    #[must_use]
    pub fn is_live(&self, state: u32) -> bool {
        state > DONE
    }
}

//! What the parts of an automaton on its way to C share. Must not know: C.

use super::kept::Kept;
use nest_machine::matching::{Automaton, Matching};
use nest_pattern::{ByteSet, Product};
use std::cell::RefCell;

/// An automaton on its way to C.
pub(crate) struct Emitter<'a> {
    pub(super) matching: &'a Matching,
    pub(super) automaton: &'a Automaton,
    pub(super) product: &'a Product,
    pub(super) number: usize,
    /// Sets that single bytes are looked up in.
    pub(super) sets: RefCell<Vec<ByteSet>>,
    /// Of each class: its only byte, or its only letter and the bit in which the case differs.
    pub(super) letter_of: Vec<Option<(u8, u8)>>,
    /// Of each state whether words may begin there.
    pub(super) begins: Vec<bool>,
    pub(super) kept: Kept,
    /// Of each state the one whose run it begins.
    pub(super) leads: Vec<Option<u32>>,
}

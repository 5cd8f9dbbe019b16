//! Bytes that no state tells apart are one class.

use crate::nfa::{Nfa, NfaState};
use nest_syntax::ast::ByteSet;
use std::collections::{BTreeMap, BTreeSet};

/// The class of every byte, numbered by first byte, and one byte of every class.
pub(super) fn of(nfa: &Nfa) -> ([u8; 256], Vec<u8>) {
    let sets: BTreeSet<ByteSet> = nfa
        .states
        .iter()
        .filter_map(|s| {
            if let NfaState::Byte { set, .. } = s {
                Some(*set)
            } else {
                None
            }
        })
        .collect();
    let mut classes = [0u8; 256];
    for set in sets {
        classes = number(|b| (classes[usize::from(b)], set.contains(b))).0;
    }
    number(|b| classes[usize::from(b)])
}

/// Numbers the bytes by `key`, in order of first appearance; one byte of each number.
pub(super) fn number<K: Ord>(key: impl Fn(u8) -> K) -> ([u8; 256], Vec<u8>) {
    let mut numbers: BTreeMap<K, u8> = BTreeMap::new();
    let mut samples = Vec::new();
    let mut classes = [0u8; 256];
    for b in 0..=255u8 {
        classes[usize::from(b)] = *numbers.entry(key(b)).or_insert_with(|| {
            samples.push(b);
            u8::try_from(samples.len() - 1).expect("no more classes than bytes")
        });
    }
    (classes, samples)
}

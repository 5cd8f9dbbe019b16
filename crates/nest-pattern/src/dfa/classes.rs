//! Bytes that no state tells apart are one class.

use crate::nfa::{Nfa, NfaState};
use nest_syntax::ast::ByteSet;
use std::collections::{BTreeMap, BTreeSet};

/// The class of every byte, numbered by first byte, and one byte of every class.
pub(crate) fn of(nfa: &Nfa) -> ([u8; 256], Vec<u8>) {
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
    let mut samples = vec![0];
    for set in sets {
        (classes, samples) = split(&classes, &set);
    }
    (classes, samples)
}

/// Splits each class into the bytes in the set and the others; numbered by first byte.
fn split(old: &[u8; 256], set: &ByteSet) -> ([u8; 256], Vec<u8>) {
    let mut numbers = [[None; 2]; 256];
    let mut samples = Vec::new();
    let mut classes = [0u8; 256];
    for b in 0..=255u8 {
        let number = &mut numbers[usize::from(old[usize::from(b)])][usize::from(set.contains(b))];
        classes[usize::from(b)] = *number.get_or_insert_with(|| add(&mut samples, b));
    }
    (classes, samples)
}

/// Joins the classes that `key` does not tell apart; numbered by first byte.
pub(crate) fn join<K: Ord>(
    old: &[u8; 256],
    count: usize,
    key: impl Fn(usize) -> K,
) -> ([u8; 256], Vec<u8>) {
    let mut numbers: BTreeMap<K, usize> = BTreeMap::new();
    let joined: Vec<usize> = (0..count)
        .map(|class| {
            let next = numbers.len();
            *numbers.entry(key(class)).or_insert(next)
        })
        .collect();
    let mut samples = Vec::new();
    let mut classes = [0u8; 256];
    for b in 0..=255u8 {
        // Old classes are numbered by first byte, so the joined ones are as well.
        let class = joined[usize::from(old[usize::from(b)])];
        if class == samples.len() {
            add(&mut samples, b);
        }
        classes[usize::from(b)] = u8::try_from(class).expect("no more classes than bytes");
    }
    (classes, samples)
}

/// A new class whose first byte is `b`.
fn add(samples: &mut Vec<u8>, b: u8) -> u8 {
    samples.push(b);
    u8::try_from(samples.len() - 1).expect("no more classes than bytes")
}

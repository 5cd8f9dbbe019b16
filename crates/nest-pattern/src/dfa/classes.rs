//! Byte classes: bytes that no state distinguishes are one class.

use crate::nfa::{Nfa, NfaState};
use nest_syntax::ast::ByteSet;
use std::collections::{BTreeMap, BTreeSet};

/// Maps every byte to its class, numbered by first byte, and gives one byte of every class.
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
    let mut blocks = vec![ByteSet::ALL];
    for set in sets {
        for at in 0..blocks.len() {
            let (inside, outside) = (blocks[at].both(&set), blocks[at].both(&set.complement()));
            if inside != ByteSet::EMPTY && outside != ByteSet::EMPTY {
                blocks[at] = inside;
                blocks.push(outside);
            }
        }
    }
    blocks.sort_unstable_by_key(|block| block.iter().next());
    let (mut classes, mut samples) = ([0u8; 256], Vec::new());
    for block in blocks {
        let mut class = None;
        for byte in block.iter() {
            classes[usize::from(byte)] = *class.get_or_insert_with(|| add(&mut samples, byte));
        }
    }
    (classes, samples)
}

/// Merges classes (numbered by first byte) that no row of a table distinguishes. Returns the new
/// class of each byte, their number, and the new table.
pub(crate) fn join<K: Copy + Ord>(
    old: &[u8; 256],
    count: usize,
    table: Vec<K>,
) -> ([u8; 256], usize, Vec<K>) {
    // For each class, the first class that is equal to it.
    let mut first = vec![0; count];
    let mut kinds = 1;
    for row in table.chunks(count) {
        // Usually all are distinguished soon.
        if kinds == count {
            break;
        }
        if (0..count).any(|class| row[class] != row[first[class]]) {
            let mut known = BTreeMap::new();
            for (class, entry) in row.iter().enumerate() {
                first[class] = *known.entry((first[class], *entry)).or_insert(class);
            }
            kinds = known.len();
        }
    }
    if kinds == count {
        return (*old, count, table);
    }
    let kept: Vec<usize> = (0..count).filter(|class| first[*class] == *class).collect();
    let number = |class: u8| kept.partition_point(|k| *k < first[usize::from(class)]);
    let classes = old.map(|class| u8::try_from(number(class)).expect("no more than before"));
    let rows = table.chunks(count);
    let joined = rows.flat_map(|row| kept.iter().map(|class| row[*class]));
    (classes, kept.len(), joined.collect())
}

/// Every byte, in order.
pub const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut byte = 255;
    while byte > 0 {
        bytes[byte as usize] = byte;
        byte -= 1;
    }
    bytes
};

/// Splits the kinds of some bytes by `count` classes: bytes keep one kind if they are in one class.
/// Kinds are numbered by first byte.
pub fn divide(kinds: &mut [u8], bytes: &[u8], classes: &[u8; 256], count: usize) {
    let most = usize::from(kinds.iter().copied().max().unwrap_or(0)) + 1;
    if most == kinds.len() {
        return;
    }
    let mut known: Vec<Option<u8>> = vec![None; most * count];
    let mut new = (0..=u8::MAX).cycle();
    for (kind, byte) in kinds.iter_mut().zip(bytes) {
        let class = usize::from(classes[usize::from(*byte)]);
        let at = &mut known[usize::from(*kind) * count + class];
        // There are at most as many kinds as bytes.
        *kind = *at.get_or_insert_with(|| new.next().unwrap_or_default());
    }
}

/// A new class whose first byte is `b`.
fn add(samples: &mut Vec<u8>, b: u8) -> u8 {
    samples.push(b);
    u8::try_from(samples.len() - 1).expect("no more classes than bytes")
}

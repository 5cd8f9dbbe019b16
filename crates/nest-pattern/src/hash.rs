//! Hash tables whose keys are short lists of numbers. They are fast, and nothing iterates over
//! them.
//!
//! Constructions look up a state for every transition, so hashing takes most of their time. Keys
//! come from automata, not from clients, and every construction is limited by its budget. Must not
//! know: what the numbers mean.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map from lists of numbers.
pub(crate) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// Mixes in eight bytes at a time with a multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mix(u64);

/// 2^64 divided by the golden ratio: odd, with well-distributed bits.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Mix {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(u64::from_le_bytes(word.try_into().unwrap_or_default()));
        }
        let mut last = [0; 8];
        let rest = words.remainder();
        last[..rest.len()].copy_from_slice(rest);
        if !rest.is_empty() {
            self.mix(u64::from_le_bytes(last));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.mix(n.into());
    }

    fn write_u16(&mut self, n: u16) {
        self.mix(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.mix(n.into());
    }

    fn write_usize(&mut self, n: usize) {
        self.mix(n as u64);
    }

    fn finish(&self) -> u64 {
        // The table uses the low bits and the highest seven, but the low bits of a product are
        // poor.
        self.0 ^ (self.0 >> 32)
    }
}

//! Tables whose keys are short lists of numbers: quick to hash, and never walked through.
//!
//! Constructions look up a state for every transition, so the hash is most of their time. Keys come
//! of automata, not of clients, and every construction is bounded by its budget. Must not know: what
//! the numbers mean.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// From lists of numbers to anything.
pub(crate) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// Each word is mixed in by a multiplication, eight bytes at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mix(u64);

/// Odd, with bits all over: 2^64 divided by the golden ratio.
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
        // The table takes the low bits and the highest seven; a product's low bits are poor.
        self.0 ^ (self.0 >> 32)
    }
}

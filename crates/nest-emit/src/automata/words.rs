//! Selects among words of four bytes, usually the verbs of a protocol, with one jump.
//!
//! The bytes of a word lead from one state to another without effects. They are compared as one
//! number in a switch. If there is no such word, the choice by one byte follows. A switch for each
//! byte would cost as much each time. A jump by a hash would be mispredicted more often, because it
//! has many targets, while the comparisons of a sparse switch have two each. Must not know: runs,
//! tables.

use super::emitter::Emitter;
use crate::writer::{Writer, string};
use nest_pattern::Product;
use std::collections::BTreeSet;

/// Bytes of a word.
const LENGTH: usize = 4;
/// The minimum number of words for a switch.
const FEWEST: usize = 6;
/// The maximum number of words that are collected,
const MOST: usize = 128;
/// and of letters that are tried, because most may lead to no word.
const LETTERS: usize = 4096;

/// Four bytes with transitions; `fold` has the bit in which the case of a letter differs.
struct Word {
    text: [u8; LENGTH],
    fold: [u8; LENGTH],
    to: u32,
}

impl Word {
    /// The word as a number, as `nest__word4(p) | mask`.
    fn key(&self, mask: u32) -> u32 {
        u32::from_le_bytes(self.text) | mask
    }
}

impl Emitter<'_> {
    /// Matches a word that begins here, if there are several and all four bytes have arrived.
    pub(super) fn words(&self, state: u32, w: &mut Writer) {
        let Some(words) = self.words_from(state) else {
            return;
        };
        let mask = (words.iter()).fold(0, |mask, word| mask | u32::from_le_bytes(word.fold));
        let mut keys = BTreeSet::new();
        let words = words.into_iter().filter(|word| keys.insert(word.key(mask)));
        w.line(&format!("    if (end - p >= {LENGTH}) {{"));
        w.line(&format!("        switch (nest__word4(p) | {mask:#x}u) {{"));
        for word in words {
            w.line(&format!("        case {:#x}u:", word.key(mask)));
            let whole = u32::from_le_bytes(word.fold) == mask;
            if !whole {
                w.line(&format!(
                    "            if (!nest__like4(p, {}, {})) {{",
                    string(word.text),
                    string(word.fold)
                ));
                w.line("                break;");
                w.line("            }");
            }
            w.line(&format!("            p += {LENGTH};"));
            self.jump(word.to, "            ", w);
        }
        w.line("        default:");
        w.line("            break;");
        w.line("        }");
        w.line("    }");
    }

    /// All words from a state; `None` if they are too few, too many, or begin within other words.
    fn words_from(&self, state: u32) -> Option<Vec<Word>> {
        if !self.begins[state as usize] {
            return None;
        }
        let (mut found, mut letters) = (Vec::new(), LETTERS);
        let whole = self.words_behind(state, &mut Vec::new(), &mut found, &mut letters);
        (whole && found.len() >= FEWEST).then_some(found)
    }

    /// Adds the words that begin with the bytes in `read`; false: there are too many, or too many
    /// letters to try.
    fn words_behind(
        &self,
        state: u32,
        read: &mut Vec<(u8, u8)>,
        found: &mut Vec<Word>,
        left: &mut usize,
    ) -> bool {
        for (byte, bit, to) in self.letters(state) {
            if *left == 0 {
                return false;
            }
            *left -= 1;
            read.push((byte, bit));
            let go = if read.len() < LENGTH {
                self.product.chain_of(to).is_some() || self.words_behind(to, read, found, left)
            } else {
                found.push(Word {
                    text: std::array::from_fn(|at| read[at].0),
                    fold: std::array::from_fn(|at| read[at].1),
                    to,
                });
                found.len() <= MOST
            };
            read.pop();
            if !go {
                return false;
            }
        }
        true
    }

    /// The bytes that lead on without effects, with the bit in which their case differs.
    fn letters(&self, state: u32) -> impl Iterator<Item = (u8, u8, u32)> {
        let row = self.product.row(state as usize).iter().enumerate();
        row.filter_map(move |(class, (to, effect))| {
            let (byte, bit) = self.letter_of[class]?;
            let on = *to != 0 && *to != state && *effect == 0;
            (on && self.nothing_live_behind(state, *to).is_none()).then_some((byte, bit, *to))
        })
    }
}

/// For each class, its only byte or its only letter.
pub(super) fn letter_of(classes: &[u8; 256], count: usize) -> Vec<Option<(u8, u8)>> {
    let mut of: Vec<Vec<u8>> = vec![Vec::new(); count];
    for byte in 0..=255u8 {
        of[usize::from(classes[usize::from(byte)])].push(byte);
    }
    of.iter().map(|bytes| letter(bytes)).collect()
}

/// The only one of these (ascending) bytes, or the greater of the two cases of a letter with the
/// bit in which they differ.
pub(super) fn letter(bytes: &[u8]) -> Option<(u8, u8)> {
    match bytes {
        [a] => Some((*a, 0)),
        [a, b] if *b == a | 0x20 => Some((*b, 0x20)),
        _ => None,
    }
}

/// For each state whether words may begin there: something else than a letter leads to it.
pub(super) fn begins(product: &Product, letter_of: &[Option<(u8, u8)>]) -> Vec<bool> {
    let mut begins = vec![false; product.states()];
    begins[product.start as usize] = true;
    for (at, (to, effect)) in product.next.iter().enumerate() {
        if *effect != 0 || letter_of[at % product.class_count].is_none() {
            begins[*to as usize] = true;
        }
    }
    begins
}

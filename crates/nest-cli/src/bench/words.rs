//! Random messages of a rule, from its automaton.
//!
//! Must not know: in which states the rule is active, what its action does.

use nest_bench::Random;
use nest_pattern::Dfa;

/// The longest message.
const LONGEST: usize = 120;
/// Larger automata are not searched.
const MOST_STATES: u32 = 5000;

/// The words of an automaton.
pub struct Words<'m> {
    dfa: &'m Dfa,
    /// The number of bytes from each state to an accepting one.
    distance: Vec<u32>,
}

impl<'m> Words<'m> {
    /// For an automaton that is small enough.
    pub fn of(dfa: &'m Dfa) -> Option<Words<'m>> {
        if dfa.count > MOST_STATES {
            return None;
        }
        let mut distance = vec![u32::MAX; dfa.count as usize];
        // One byte of each class is enough.
        let mut bytes: Vec<u8> = (0..=255).collect();
        bytes.sort_by_key(|byte| dfa.classes[usize::from(*byte)]);
        bytes.dedup_by_key(|byte| dfa.classes[usize::from(*byte)]);
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); distance.len()];
        for state in 0..dfa.count {
            for byte in &bytes {
                before[dfa.step(state, *byte) as usize].push(state);
            }
        }
        let accepting = (0..dfa.count).filter(|state| dfa.accepts(*state));
        let mut todo: Vec<u32> = accepting.collect();
        let mut steps = 0;
        while !todo.is_empty() {
            let mut next = Vec::new();
            for state in todo {
                let known = &mut distance[state as usize];
                if *known == u32::MAX {
                    *known = steps;
                    next.extend(&before[state as usize]);
                }
            }
            todo = next;
            steps += 1;
        }
        Some(Words { dfa, distance })
    }

    /// A message that the rule matches: bytes at random, then the shortest way to an end.
    pub fn draw(&self, random: &mut Random) -> Option<Vec<u8>> {
        self.draw_within(random, 0)
    }

    /// The same where so many bytes are given, and do not count for the length.
    pub fn draw_within(&self, random: &mut Random, given: usize) -> Option<Vec<u8>> {
        let free = random.draw(32);
        let mut word = Vec::new();
        let mut at = self.dfa.start;
        while word.len() < LONGEST + given {
            let here = self.distance[at as usize];
            if here == 0 && word.len() >= free && !word.is_empty() {
                return Some(word);
            }
            let towards = word.len() >= free;
            let fits = |byte: &u8| {
                let there = self.distance[self.dfa.step(at, *byte) as usize];
                // An accepting state from which nothing follows is the end, not a way.
                if towards && here > 0 {
                    there < here
                } else {
                    there != u32::MAX
                }
            };
            let wanted = |of: &mut dyn Iterator<Item = u8>| of.filter(fits).collect::<Vec<u8>>();
            let mut choices = wanted(&mut (b'a'..=b'z').chain(b'0'..=b'9'));
            if choices.is_empty() || random.draw(8) == 0 {
                choices = wanted(&mut (b' '..=b'~'));
            }
            if choices.is_empty() {
                choices = wanted(&mut (0..=255));
            }
            if choices.is_empty() {
                return (here == 0 && !word.is_empty()).then_some(word);
            }
            let byte = choices[random.draw(choices.len())];
            word.push(byte);
            at = self.dfa.step(at, byte);
        }
        None
    }
}

//! Rules side by side over the same input, one state each, and the shortest input that leads
//! somewhere. Must not know: which rules are active when.

use crate::model::Rule;
use nest_pattern::Dfa;
use std::collections::{HashMap, HashSet};

/// More states are not looked at.
const MOST_STATES: usize = 4000;

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// The shortest input that leads there; of equally short ones an easily read one.
    Found(Vec<u8>),
    /// No input does.
    Nowhere,
    /// It would take too long to tell.
    TooLong,
}

/// Rules side by side. States are a slice: one for each rule, in order.
pub struct Product<'m> {
    rules: Vec<usize>,
    automata: Vec<&'m Dfa>,
    /// One of each kind of bytes.
    samples: Vec<u8>,
}

impl<'m> Product<'m> {
    /// Of `which` of the rules, ascending; nothing if one has no automaton.
    #[must_use]
    pub fn of(rules: &'m [Rule], which: &[usize]) -> Option<Product<'m>> {
        let automata: Option<Vec<&Dfa>> = which.iter().map(|r| rules[*r].dfa.as_ref()).collect();
        let automata = automata?;
        let mut met: HashSet<Vec<u8>> = HashSet::new();
        let mut samples = Vec::new();
        for byte in readable() {
            let classes = automata.iter().map(|a| a.classes[usize::from(byte)]);
            if met.insert(classes.collect()) {
                samples.push(byte);
            }
        }
        Some(Product {
            rules: which.to_vec(),
            automata,
            samples,
        })
    }

    /// The states before any input.
    #[must_use]
    pub fn start(&self) -> Vec<u32> {
        self.automata.iter().map(|a| a.start).collect()
    }

    /// The states after one more byte.
    #[must_use]
    pub fn step(&self, states: &[u32], byte: u8) -> Vec<u32> {
        let both = states.iter().zip(&self.automata);
        both.map(|(state, a)| a.step(*state, byte)).collect()
    }

    /// The first rule that accepts here.
    #[must_use]
    pub fn first(&self, states: &[u32]) -> Option<usize> {
        let mut accepts = states.iter().zip(&self.automata);
        let at = accepts.position(|(state, a)| a.accepts(*state))?;
        Some(self.rules[at])
    }

    /// The rules that are live here.
    pub fn live(&self, states: &[u32]) -> impl Iterator<Item = usize> {
        let all = 0..self.rules.len();
        all.filter(|at| self.is_live(states, *at))
            .map(|at| self.rules[at])
    }

    /// Whether the rule at a position is live.
    #[must_use]
    pub fn is_live(&self, states: &[u32], at: usize) -> bool {
        self.automata[at].is_live(states[at])
    }

    /// The shortest input after which `goal` is true, going on only from where `goes_on` is. Takes
    /// its steps from `steps`.
    pub fn search(
        &self,
        steps: &mut usize,
        goes_on: impl Fn(&[u32]) -> bool,
        mut goal: impl FnMut(&[u32]) -> bool,
    ) -> Search {
        let start = self.start();
        let mut met: HashMap<Vec<u32>, usize> = HashMap::from([(start.clone(), 0)]);
        let mut states = vec![(start, 0usize, 0u8)];
        let mut at = 0;
        while at < states.len() {
            for byte in &self.samples {
                let Some(left) = steps.checked_sub(self.automata.len() + 1) else {
                    return Search::TooLong;
                };
                *steps = left;
                let to = self.step(&states[at].0, *byte);
                if goal(&to) {
                    return Search::Found(spelt(&states, at, *byte));
                }
                if met.contains_key(&to) || !goes_on(&to) {
                    continue;
                }
                if states.len() >= MOST_STATES {
                    return Search::TooLong;
                }
                met.insert(to.clone(), states.len());
                states.push((to, at, *byte));
            }
            at += 1;
        }
        Search::Nowhere
    }
}

/// The bytes that lead to a state, and one more.
fn spelt(states: &[(Vec<u32>, usize, u8)], mut at: usize, last: u8) -> Vec<u8> {
    let mut bytes = vec![last];
    while at > 0 {
        bytes.push(states[at].2);
        at = states[at].1;
    }
    bytes.reverse();
    bytes
}

/// All bytes, those first that are easiest to read.
fn readable() -> impl Iterator<Item = u8> {
    let order = [b'a'..=b'z', b'A'..=b'Z', b'0'..=b'9', b' '..=b'~'];
    let nice = order.into_iter().flatten().chain(*b"\n\r\t");
    nice.chain(0..=255)
}

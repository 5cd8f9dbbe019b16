//! Rules side by side over the same input, one state each, and the shortest input that leads
//! somewhere. Must not know: which rules are active when.

use crate::model::Rule;
use nest_pattern::Dfa;
use std::collections::HashSet;

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

/// Stands for an automaton that is no rule's.
pub const BESIDE: usize = usize::MAX;

/// A rule, by its place in the product, and its state. Rules that are dead are left out.
pub type At = (u32, u32);

/// Rules side by side.
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
        Some(Product::over(which.to_vec(), automata?))
    }

    /// The same with one more automaton, whose rule is [`BESIDE`].
    #[must_use]
    pub fn beside(mut self, automaton: &'m Dfa) -> Product<'m> {
        self.rules.push(BESIDE);
        self.automata.push(automaton);
        Product::over(self.rules, self.automata)
    }

    fn over(rules: Vec<usize>, automata: Vec<&'m Dfa>) -> Product<'m> {
        let mut met: HashSet<Vec<u8>> = HashSet::new();
        let mut samples = Vec::new();
        for byte in readable() {
            let classes = automata.iter().map(|a| a.classes[usize::from(byte)]);
            if met.insert(classes.collect()) {
                samples.push(byte);
            }
        }
        Product {
            rules,
            automata,
            samples,
        }
    }

    /// The states before any input.
    #[must_use]
    pub fn start(&self) -> Vec<At> {
        let all = (0u32..).zip(&self.automata);
        all.map(|(rule, a)| (rule, a.start)).collect()
    }

    /// The states after one more byte.
    fn step(&self, states: &[At], byte: u8) -> Vec<At> {
        let on = |(rule, state): &At| {
            let automaton = self.automata[*rule as usize];
            let to = automaton.step(*state, byte);
            (automaton.is_live(to) || automaton.accepts(to)).then_some((*rule, to))
        };
        states.iter().filter_map(on).collect()
    }

    /// The rules that accept here, in order.
    pub fn accepting(&self, states: &[At]) -> impl Iterator<Item = usize> {
        let accepts = |(rule, state): &&At| self.automata[*rule as usize].accepts(*state);
        let all = states.iter().filter(accepts);
        all.map(|(rule, _)| self.rules[*rule as usize])
    }

    /// The first of them.
    #[must_use]
    pub fn first(&self, states: &[At]) -> Option<usize> {
        self.accepting(states).next()
    }

    /// The rules that are live here.
    pub fn live(&self, states: &[At]) -> impl Iterator<Item = usize> {
        let live = |(rule, state): &&At| self.automata[*rule as usize].is_live(*state);
        states
            .iter()
            .filter(live)
            .map(|(rule, _)| self.rules[*rule as usize])
    }

    /// The shortest input after which `goal` is true, going on only from where `goes_on` is. Takes
    /// its steps from `steps`.
    pub fn search(
        &self,
        steps: &mut usize,
        goes_on: impl Fn(&[At]) -> bool,
        goal: impl Fn(&[At]) -> bool,
    ) -> Search {
        self.find(steps, goes_on, |states, _| goal(states))
    }

    /// The same; `goal` may ask for the input.
    pub fn find(
        &self,
        steps: &mut usize,
        goes_on: impl Fn(&[At]) -> bool,
        goal: impl Fn(&[At], &dyn Fn() -> Vec<u8>) -> bool,
    ) -> Search {
        let start = self.start();
        let mut met: HashSet<Vec<At>> = HashSet::from([start.clone()]);
        let mut states = vec![(start, 0usize, 0u8)];
        let mut at = 0;
        while at < states.len() {
            for byte in &self.samples {
                let Some(left) = steps.checked_sub(states[at].0.len() + 1) else {
                    return Search::TooLong;
                };
                *steps = left;
                let to = self.step(&states[at].0, *byte);
                let input = || spelt(&states, at, *byte);
                if goal(&to, &input) {
                    return Search::Found(input());
                }
                if !goes_on(&to) || met.contains(&to) {
                    continue;
                }
                if states.len() >= MOST_STATES {
                    return Search::TooLong;
                }
                met.insert(to.clone());
                states.push((to, at, *byte));
            }
            at += 1;
        }
        Search::Nowhere
    }
}

/// The bytes that lead to a state, and one more.
fn spelt(states: &[(Vec<At>, usize, u8)], mut at: usize, last: u8) -> Vec<u8> {
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

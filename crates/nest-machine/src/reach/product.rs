//! Rules side by side over the same input, one state each, and the shortest input that leads
//! somewhere. Must not know: which rules are active when.

use crate::model::Rule;
use nest_pattern::{BYTES, Dfa, divide};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

/// More states are not looked at.
const MOST_STATES: usize = 4000;

/// Adding an automaton to a product takes as long as about so many steps of a search.
const STEPS_OF_AUTOMATON: usize = 20;

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

/// Hashes states. They are the specification's own, so nobody chooses them to collide.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u32(u32::from(*b)));
    }

    fn write_u32(&mut self, n: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(n)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        // The upper bits are the ones that are mixed well.
        self.0.rotate_left(26)
    }
}

/// Rules side by side.
#[derive(Clone)]
pub struct DfaProduct<'m> {
    rules: Vec<usize>,
    automata: Vec<&'m Dfa>,
    /// Whether the rule of each decides as soon as it accepts.
    early: Vec<bool>,
    /// Of each byte, which kind it is of: all automata take bytes of a kind alike.
    kinds: [u8; 256],
    /// One of each kind.
    samples: Vec<u8>,
}

impl<'m> DfaProduct<'m> {
    /// Of `which` of the rules, ascending; nothing if one has no automaton.
    #[must_use]
    pub fn of(rules: &'m [Rule], which: &[usize]) -> Option<DfaProduct<'m>> {
        let automata: Option<Vec<&Dfa>> = which.iter().map(|r| rules[*r].dfa.as_ref()).collect();
        let mut product = DfaProduct {
            rules: which.to_vec(),
            automata: Vec::new(),
            early: which.iter().map(|r| rules[*r].early).collect(),
            kinds: [0; 256],
            samples: Vec::new(),
        };
        for automaton in automata? {
            product.divide(automaton);
            product.automata.push(automaton);
        }
        product.sample();
        Some(product)
    }

    /// What making it takes, in steps of a search.
    #[must_use]
    pub fn cost(&self) -> usize {
        STEPS_OF_AUTOMATON * self.automata.len()
    }

    /// The same with one more automaton, whose rule is [`BESIDE`].
    #[must_use]
    pub fn beside(mut self, automaton: &'m Dfa) -> DfaProduct<'m> {
        self.divide(automaton);
        self.rules.push(BESIDE);
        self.automata.push(automaton);
        self.early.push(false);
        self.sample();
        self
    }

    /// The same, but no rule ends the others: as if each were active without them.
    #[must_use]
    pub fn independent(mut self) -> DfaProduct<'m> {
        self.early.fill(false);
        self
    }

    /// Whether an early rule accepts here: nothing follows.
    fn decided(&self, states: &[At]) -> bool {
        let ends = |(rule, state): &At| {
            let rule = *rule as usize;
            self.early[rule] && self.automata[rule].accepts(*state)
        };
        self.early.contains(&true) && states.iter().any(ends)
    }

    /// Divides the kinds of bytes by what one more automaton tells apart.
    fn divide(&mut self, automaton: &Dfa) {
        let classes = automaton.class_count as usize;
        divide(&mut self.kinds, &BYTES, &automaton.classes, classes);
    }

    /// Chooses a byte of each kind, one that is easy to read.
    fn sample(&mut self) {
        let mut met = [false; 256];
        let new = |byte: &u8| {
            !std::mem::replace(&mut met[usize::from(self.kinds[usize::from(*byte)])], true)
        };
        self.samples = readable().filter(new).collect();
    }

    /// The states before any input.
    #[must_use]
    pub fn start(&self) -> Vec<At> {
        let all = (0u32..).zip(&self.automata);
        all.map(|(rule, a)| (rule, a.start)).collect()
    }

    /// One of each kind among these bytes.
    #[must_use]
    pub fn kinds_among(&self, bytes: impl Iterator<Item = u8>) -> Vec<u8> {
        let mut met = [false; 256];
        let kind = |byte: u8| usize::from(self.kinds[usize::from(byte)]);
        bytes
            .filter(|byte| !std::mem::replace(&mut met[kind(*byte)], true))
            .collect()
    }

    /// The states after one more byte, into `to`.
    pub fn step(&self, states: &[At], byte: u8, to: &mut Vec<At>) {
        let on = |(rule, state): &At| {
            let automaton = self.automata[*rule as usize];
            let to = automaton.step(*state, byte);
            (automaton.is_live(to) || automaton.accepts(to)).then_some((*rule, to))
        };
        to.clear();
        if !self.decided(states) {
            to.extend(states.iter().filter_map(on));
        }
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

    /// The rules that are live here: none if an early rule accepts.
    pub fn live(&self, states: &[At]) -> impl Iterator<Item = usize> {
        let decided = self.decided(states);
        let live =
            move |(rule, state): &&At| !decided && self.automata[*rule as usize].is_live(*state);
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
        let all: Rc<[usize]> = (0..self.samples.len()).collect();
        let mut known = HashMap::new();
        let alike = |states: &[At]| {
            if states.len() == self.automata.len() {
                return Rc::clone(&all);
            }
            let live: Vec<u32> = states.iter().map(|(rule, _)| *rule).collect();
            let kinds = known.entry(live);
            let kinds = kinds.or_insert_with_key(|live| Rc::from(self.alike(live)));
            Rc::clone(kinds)
        };
        self.follow(steps, alike, goes_on, |states, _| goal(states))
    }

    /// The same; `goal` may ask for the input.
    pub fn find(
        &self,
        steps: &mut usize,
        goes_on: impl Fn(&[At]) -> bool,
        goal: impl Fn(&[At], &dyn Fn() -> Vec<u8>) -> bool,
    ) -> Search {
        let all: Rc<[usize]> = (0..self.samples.len()).collect();
        self.follow(steps, |_| Rc::clone(&all), goes_on, goal)
    }

    /// Of the samples, the first of each kind that these automata take alike: where few are live,
    /// few lead anywhere else.
    fn alike(&self, automata: &[u32]) -> Vec<usize> {
        let mut kinds = vec![0; self.samples.len()];
        for automaton in automata {
            let a = self.automata[*automaton as usize];
            divide(
                &mut kinds,
                &self.samples,
                &a.classes,
                a.class_count as usize,
            );
        }
        let mut count = 0;
        let new = |at: &usize| {
            let new = usize::from(kinds[*at]) == count;
            count += usize::from(new);
            new
        };
        (0..kinds.len()).filter(new).collect()
    }

    /// The search, by those of the samples that `which` says of each state; the others count as
    /// steps, too.
    fn follow(
        &self,
        steps: &mut usize,
        mut which: impl FnMut(&[At]) -> Rc<[usize]>,
        goes_on: impl Fn(&[At]) -> bool,
        goal: impl Fn(&[At], &dyn Fn() -> Vec<u8>) -> bool,
    ) -> Search {
        let start: Rc<[At]> = self.start().into();
        let mut met: HashSet<Rc<[At]>, BuildHasherDefault<Mixed>> = HashSet::default();
        met.insert(start.clone());
        let mut states = vec![(start, 0usize, 0u8)];
        let (mut at, mut to) = (0, Vec::new());
        while at < states.len() {
            let (cost, before) = (states[at].0.len() + 1, *steps);
            let enough = before / cost;
            for sample in which(&states[at].0).iter() {
                if *sample >= enough {
                    break;
                }
                *steps = before - cost * (sample + 1);
                let byte = self.samples[*sample];
                self.step(&states[at].0, byte, &mut to);
                let input = || spelt(&states, at, byte);
                if goal(&to, &input) {
                    return Search::Found(input());
                }
                if !goes_on(&to) || met.contains(to.as_slice()) {
                    continue;
                }
                if states.len() >= MOST_STATES {
                    return Search::TooLong;
                }
                let new: Rc<[At]> = to.as_slice().into();
                met.insert(new.clone());
                states.push((new, at, byte));
            }
            *steps = before - cost * enough.min(self.samples.len());
            if enough < self.samples.len() {
                return Search::TooLong;
            }
            at += 1;
        }
        Search::Nowhere
    }
}

/// The bytes that lead to a state, and one more.
fn spelt(states: &[(Rc<[At]>, usize, u8)], mut at: usize, last: u8) -> Vec<u8> {
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

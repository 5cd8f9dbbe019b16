//! The automaton of one rule that also keeps where elements end: registers on its transitions.
//!
//! Laurikari's determinisation over the ordered thread list: a state is the list, each thread with
//! the registers that hold its boundaries (V. Laurikari, *NFAs with Tagged Transitions*, SPIRE 2000;
//! U. Trafimovich, *Tagged Deterministic Finite Automata with Lookahead*, arXiv 1907.08837). The
//! order of the list is Perl's preference, so the boundaries are those of the preferred path. In
//! each state registers are numbered anew, by first use; [`crate::merged`] finds places for them.
//! Must not know: other rules, notation.

use crate::dfa::{Dfa, classes, minimise};
use crate::nfa::{Nfa, NfaState};
use std::collections::HashMap;

/// Where a value comes from as a byte is consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The position behind the byte.
    Here,
    /// A register of the state before.
    Register(u16),
}

/// What a transition does, all at once, besides leading on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Moves {
    /// For each register of the state after: its value.
    pub registers: Vec<Source>,
    /// If the rule accepts there: the value of each tag.
    pub tags: Vec<Source>,
}

/// An automaton with registers. Numbers 0 (dead) and 1 (accepts, not live) are as in [`Dfa`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// Byte to class.
    pub classes: [u8; 256],
    /// Number of classes.
    pub class_count: usize,
    /// `next[state * class_count + class]`: where to, and which of `moves`.
    pub next: Vec<(u32, u32)>,
    /// What transitions do; the first does nothing.
    pub moves: Vec<Moves>,
    /// The state before any byte.
    pub start: u32,
    /// The registers of the start are set to 0; how many there are.
    pub start_registers: usize,
    /// Whether a state accepts.
    pub accepts: Vec<bool>,
}

/// A boundary that is not passed yet.
const UNSET: u16 = u16::MAX;

/// A thread: a Byte state, and the register of each tag.
type Thread = (u32, Vec<u16>);

/// A state is its threads, in order, and whether the rule accepted on the way in.
type Key = (Vec<Thread>, bool);

impl Tagged {
    /// The same as `dfa`, which keeps no boundary.
    #[must_use]
    pub fn plain(dfa: &Dfa) -> Tagged {
        Tagged {
            classes: dfa.classes,
            class_count: dfa.class_count as usize,
            next: dfa.next.iter().map(|to| (*to, 0)).collect(),
            moves: vec![Moves::default()],
            start: dfa.start,
            start_registers: 0,
            accepts: (0..dfa.count).map(|s| dfa.accepts(s)).collect(),
        }
    }

    /// The automaton that keeps the boundaries behind the elements in `tags`; `None` if that takes
    /// more than `state_budget` states, or lists so long that they cost as much.
    #[must_use]
    pub fn build(nfa: &Nfa, tags: &[u32], state_budget: usize) -> Option<Tagged> {
        let mut builder = Builder::new(nfa, tags, state_budget);
        let (byte_classes, samples) = classes::of(nfa);
        let (start, _) = builder.start()?;
        let start_registers = builder.registers(start);
        let (mut next, mut done) = (Vec::new(), 0);
        while done < builder.keys.len() {
            let from = builder.keys[done].0.clone();
            for sample in &samples {
                next.push(builder.step(&from, *sample)?);
            }
            done += 1;
        }
        let raw = Tagged {
            classes: byte_classes,
            class_count: samples.len(),
            next,
            accepts: builder.keys.iter().map(|k| k.1).collect(),
            moves: builder.moves,
            start,
            start_registers,
        };
        Some(raw.minimised())
    }

    /// Whether more bytes can change anything.
    #[must_use]
    pub fn is_live(state: u32) -> bool {
        state > 1
    }

    /// States that do the same with whatever comes are one.
    fn minimised(&self) -> Tagged {
        let labels = |s: usize| -> Vec<u32> {
            let from = s * self.class_count;
            let row = &self.next[from..from + self.class_count];
            row.iter().map(|(_, moves)| *moves).collect()
        };
        let mut kinds: HashMap<(bool, bool, Vec<u32>), usize> = HashMap::new();
        let kind_of: Vec<usize> = (0..self.accepts.len())
            .map(|s| {
                let fresh = kinds.len();
                let key = (s > 1, self.accepts[s], labels(s));
                *kinds.entry(key).or_insert(fresh)
            })
            .collect();
        let targets: Vec<u32> = self.next.iter().map(|(to, _)| *to).collect();
        let block_of = minimise::refine(&targets, self.class_count, &kind_of);
        // Breadth first from the start, behind the two that are always there.
        let mut number: HashMap<usize, u32> = HashMap::from([(block_of[0], 0), (block_of[1], 1)]);
        let mut order = vec![0, 1, self.start as usize];
        number.insert(block_of[self.start as usize], 2);
        let mut next = Vec::new();
        let mut done = 0;
        while done < order.len() {
            let from = order[done] * self.class_count;
            for (to, moves) in &self.next[from..from + self.class_count] {
                let fresh = u32::try_from(order.len()).unwrap_or(u32::MAX);
                let at = *number.entry(block_of[*to as usize]).or_insert_with(|| {
                    order.push(*to as usize);
                    fresh
                });
                next.push((at, *moves));
            }
            done += 1;
        }
        let (merged, samples) = classes::join(&self.classes, self.class_count, |class| {
            let column = (0..order.len()).map(|s| next[s * self.class_count + class]);
            column.collect::<Vec<_>>()
        });
        let old = |sample: u8| usize::from(self.classes[usize::from(sample)]);
        Tagged {
            classes: merged,
            class_count: samples.len(),
            next: (0..order.len())
                .flat_map(|s| samples.iter().map(move |b| (s, *b)))
                .map(|(s, b)| next[s * self.class_count + old(b)])
                .collect(),
            moves: self.moves.clone(),
            start: number[&block_of[self.start as usize]],
            start_registers: self.start_registers,
            accepts: order.iter().map(|s| self.accepts[*s]).collect(),
        }
    }
}

/// A value while a step is taken: of the state before, or new.
type Value = u16;
const NEW: Value = UNSET - 1;

struct Builder<'n> {
    nfa: &'n Nfa,
    /// The tag of a Mark's element.
    tag_of: HashMap<u32, usize>,
    keys: Vec<Key>,
    numbers: HashMap<Key, u32>,
    moves: Vec<Moves>,
    move_numbers: HashMap<Moves, u32>,
    seen: Vec<u64>,
    round: u64,
    budget: usize,
    threads_left: usize,
}

impl<'n> Builder<'n> {
    fn new(nfa: &'n Nfa, tags: &[u32], budget: usize) -> Self {
        let keys = vec![(Vec::new(), false), (Vec::new(), true)];
        Builder {
            nfa,
            tag_of: tags
                .iter()
                .enumerate()
                .map(|(t, part)| (*part, t))
                .collect(),
            numbers: (0..).zip(&keys).map(|(n, k)| (k.clone(), n)).collect(),
            keys,
            moves: vec![Moves::default()],
            move_numbers: HashMap::from([(Moves::default(), 0)]),
            seen: vec![0; nfa.states.len()],
            round: 0,
            budget,
            // A step costs as much as its list is long: long lists use up the budget faster.
            threads_left: budget.saturating_mul(64),
        }
    }

    /// How many registers a state has.
    fn registers(&self, state: u32) -> usize {
        let threads = self.keys[state as usize].0.iter();
        let most = threads
            .flat_map(|(_, tags)| tags.iter().filter(|r| **r != UNSET))
            .max();
        most.map_or(0, |r| usize::from(*r) + 1)
    }

    fn start(&mut self) -> Option<(u32, u32)> {
        let mut list = Vec::new();
        self.round += 1;
        self.follow(
            self.nfa.start,
            vec![UNSET; self.tag_of.len()],
            &mut list,
            false,
        );
        self.arrive(list, None)
    }

    fn step(&mut self, from: &[Thread], byte: u8) -> Option<(u32, u32)> {
        let mut list = Vec::new();
        self.round += 1;
        for (id, tags) in from {
            if let NfaState::Byte { set, next } = self.nfa.state(*id)
                && set.contains(byte)
                && let Some(tags) = self.follow(*next, tags.clone(), &mut list, true)
            {
                return self.arrive(list, Some(tags));
            }
        }
        self.arrive(list, None)
    }

    /// Appends the threads that `id` stands for, the preferred first, each state once. At Match:
    /// its boundaries if `cut`, else it is passed over.
    fn follow(
        &mut self,
        id: u32,
        tags: Vec<Value>,
        list: &mut Vec<Thread>,
        cut: bool,
    ) -> Option<Vec<Value>> {
        let mut stack = vec![(id, tags)];
        while let Some((id, mut tags)) = stack.pop() {
            if std::mem::replace(&mut self.seen[id as usize], self.round) == self.round {
                continue;
            }
            match self.nfa.state(id) {
                NfaState::Byte { .. } => list.push((id, tags)),
                NfaState::Split(targets) => {
                    stack.extend(targets.iter().rev().map(|t| (*t, tags.clone())));
                }
                NfaState::Mark { part, next } => {
                    if let Some(tag) = self.tag_of.get(part) {
                        tags[*tag] = NEW;
                    }
                    stack.push((*next, tags));
                }
                NfaState::Match if cut => return Some(tags),
                NfaState::Match => {}
            }
        }
        None
    }

    /// The state of `list`, its registers numbered by first use, and the moves that lead there.
    fn arrive(&mut self, list: Vec<Thread>, tags: Option<Vec<Value>>) -> Option<(u32, u32)> {
        let source = |value: &Value| match *value {
            NEW => Source::Here,
            register => Source::Register(register),
        };
        let mut moves = Moves::default();
        let mut numbers: HashMap<Value, u16> = HashMap::new();
        self.threads_left = self.threads_left.checked_sub(list.len())?;
        let list: Vec<Thread> = list
            .into_iter()
            .map(|(id, values)| {
                let registers = values.iter().map(|value| {
                    if *value == UNSET {
                        return UNSET;
                    }
                    *numbers.entry(*value).or_insert_with(|| {
                        moves.registers.push(source(value));
                        u16::try_from(moves.registers.len() - 1).unwrap_or(UNSET)
                    })
                });
                (id, registers.collect())
            })
            .collect();
        let accepts = tags.is_some();
        moves.tags = tags.iter().flatten().map(source).collect();
        let state = self.number(list, accepts)?;
        let fresh = u32::try_from(self.moves.len()).ok()?;
        let known = self.move_numbers.entry(moves).or_insert_with_key(|moves| {
            self.moves.push(moves.clone());
            fresh
        });
        Some((state, *known))
    }

    fn number(&mut self, list: Vec<Thread>, accepts: bool) -> Option<u32> {
        let key = (list, accepts);
        if let Some(&number) = self.numbers.get(&key) {
            return Some(number);
        }
        if self.keys.len() >= self.budget {
            return None;
        }
        let number = u32::try_from(self.keys.len()).ok()?;
        self.keys.push(key.clone());
        self.numbers.insert(key, number);
        Some(number)
    }
}

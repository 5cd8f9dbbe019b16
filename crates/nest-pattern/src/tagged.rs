//! The automaton of one rule that also records where elements end, in registers set by its
//! transitions.
//!
//! Laurikari's determinisation over the ordered thread list: a state is the list, each thread with
//! the registers that hold its boundaries (V. Laurikari, *NFAs with Tagged Transitions*, SPIRE 2000;
//! U. Trafimovich, *Tagged Deterministic Finite Automata with Lookahead*, arXiv 1907.08837). The
//! order of the list is Perl's preference, so the boundaries are those of the preferred path. In
//! each state registers are numbered anew, by first use; [`crate::product`] finds places for them.
//! Must not know: other rules, notation.

use crate::dfa::{Dfa, classes, minimise};
use crate::hash::Table;
use crate::nfa::{Nfa, NfaState};

/// The source of a value when a byte is consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The position after the byte.
    Here,
    /// A register of the previous state.
    Register(u16),
}

/// The effects of a transition, which happen simultaneously.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Moves {
    /// For each register of the next state: its value.
    pub registers: Vec<Source>,
    /// If the rule accepts there: the value of each tag.
    pub tags: Vec<Source>,
}

/// An automaton with registers. Numbers 0 (dead) and 1 (accepts, not live) are as in [`Dfa`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// Maps a byte to its class.
    pub classes: [u8; 256],
    /// Number of classes.
    pub class_count: usize,
    /// `next[state * class_count + class]`: the next state, and an index into `moves`.
    pub next: Vec<(u32, u32)>,
    /// The effects of transitions; the first does nothing.
    pub moves: Vec<Moves>,
    /// The state before any byte.
    pub start: u32,
    /// The number of registers at the start, which are set to 0.
    pub start_registers: usize,
    /// Whether a state accepts.
    pub accepts: Vec<bool>,
}

/// A state is its threads, in order, followed by a number that tells whether the rule accepted on
/// the transition to it. A thread is a Byte state and the register of each tag.
type Key = Vec<u32>;

impl Tagged {
    /// The same as `dfa`, without boundaries.
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

    /// The automaton that records the boundaries after the elements in `tags`. `None` if that needs
    /// more than `state_budget` states, or lists so long that they cost as much.
    #[must_use]
    pub fn build(nfa: &Nfa, tags: &[u32], state_budget: usize) -> Option<Tagged> {
        let mut builder = Builder::new(nfa, tags, state_budget);
        let (byte_classes, samples) = classes::of(nfa);
        let (start, _) = builder.start()?;
        let start_registers = builder.registers(start);
        let (mut next, mut done) = (Vec::new(), 0);
        while done < builder.keys.len() {
            let mut from = builder.keys[done].clone();
            from.pop();
            for sample in &samples {
                next.push(builder.step(&from, *sample)?);
            }
            done += 1;
        }
        let raw = Tagged {
            classes: byte_classes,
            class_count: samples.len(),
            next,
            accepts: builder.keys.iter().map(|k| k.last() == Some(&1)).collect(),
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

    /// Merges states that behave the same for all input.
    fn minimised(&self) -> Tagged {
        let labels = |s: usize| -> Vec<u32> {
            let from = s * self.class_count;
            let row = &self.next[from..from + self.class_count];
            row.iter().map(|(_, moves)| *moves).collect()
        };
        let mut kinds: Table<(bool, bool, Vec<u32>), usize> = Table::default();
        let kind_of: Vec<usize> = (0..self.accepts.len())
            .map(|s| {
                let fresh = kinds.len();
                let key = (s > 1, self.accepts[s], labels(s));
                *kinds.entry(key).or_insert(fresh)
            })
            .collect();
        let targets: Vec<u32> = self.next.iter().map(|(to, _)| *to).collect();
        let block_of = minimise::refine(&targets, self.class_count, &kind_of);
        // Breadth-first from the start, after the two states that always exist.
        let mut order = vec![0, 1, self.start as usize];
        let mut number = vec![None; self.accepts.len()];
        for (at, state) in (0u32..).zip(&order) {
            number[block_of[*state]] = Some(at);
        }
        let mut next = Vec::with_capacity(self.next.len());
        let mut done = 0;
        while done < order.len() {
            let from = order[done] * self.class_count;
            for (to, moves) in &self.next[from..from + self.class_count] {
                let fresh = u32::try_from(order.len()).unwrap_or(u32::MAX);
                let at = *number[block_of[*to as usize]].get_or_insert_with(|| {
                    order.push(*to as usize);
                    fresh
                });
                next.push((at, *moves));
            }
            done += 1;
        }
        let (classes, class_count, next) = classes::join(&self.classes, self.class_count, next);
        Tagged {
            classes,
            class_count,
            next,
            moves: self.moves.clone(),
            start: 2,
            start_registers: self.start_registers,
            accepts: order.iter().map(|s| self.accepts[*s]).collect(),
        }
    }
}

/// The value of a tag: a register (of the previous state, during a step), or one of these.
type Value = u32;
/// The boundary has not been passed.
const UNSET: Value = Value::MAX;
/// It is passed in this step.
const NEW: Value = UNSET - 1;

/// No register yet.
const NONE: u32 = u32::MAX;

struct Builder<'n> {
    nfa: &'n Nfa,
    /// By element: its tag.
    tag_of: Vec<Option<usize>>,
    /// How many tags.
    tags: usize,
    keys: Vec<Key>,
    numbers: Table<Key, u32>,
    moves: Vec<Moves>,
    move_numbers: Table<Moves, u32>,
    seen: Vec<u64>,
    round: u64,
    budget: usize,
    threads_left: usize,
    /// The list that is being built, in the form of a key.
    list: Vec<u32>,
    /// NFA states to visit, and the start of their values in `values`.
    stack: Vec<(u32, usize)>,
    /// Values of threads, with all tags of a thread side by side.
    values: Vec<Value>,
    /// By value: its new number.
    renamed: Vec<u32>,
    /// The moves that are being built.
    made: Moves,
}

impl<'n> Builder<'n> {
    fn new(nfa: &'n Nfa, tags: &[u32], budget: usize) -> Self {
        let keys: Vec<Key> = vec![vec![0], vec![1]];
        let mut tag_of = vec![None; nfa.parts as usize];
        for (tag, part) in tags.iter().enumerate() {
            tag_of[*part as usize] = Some(tag);
        }
        Builder {
            nfa,
            tag_of,
            tags: tags.len(),
            numbers: (0..).zip(&keys).map(|(n, k)| (k.clone(), n)).collect(),
            keys,
            moves: vec![Moves::default()],
            move_numbers: Table::from_iter([(Moves::default(), 0)]),
            seen: vec![0; nfa.states.len()],
            round: 0,
            budget,
            // A step costs as much as its list is long, so long lists use up the budget faster.
            threads_left: budget.saturating_mul(64),
            list: Vec::new(),
            stack: Vec::new(),
            values: Vec::new(),
            renamed: Vec::new(),
            made: Moves::default(),
        }
    }

    /// How many registers a state has.
    fn registers(&self, state: u32) -> usize {
        let key = &self.keys[state as usize];
        let threads = key[..key.len() - 1].chunks(self.tags + 1);
        let registers = threads.flat_map(|thread| &thread[1..]);
        let most = registers.filter(|r| **r != UNSET).max();
        most.map_or(0, |r| *r as usize + 1)
    }

    fn begin(&mut self) {
        self.round += 1;
        self.list.clear();
    }

    fn start(&mut self) -> Option<(u32, u32)> {
        self.begin();
        let tags = vec![UNSET; self.tags];
        self.follow(self.nfa.start, &tags, false);
        self.arrive(None)
    }

    fn step(&mut self, from: &[u32], byte: u8) -> Option<(u32, u32)> {
        self.begin();
        for thread in from.chunks(self.tags + 1) {
            if let NfaState::Byte { set, next } = self.nfa.state(thread[0])
                && set.contains(byte)
                && let Some(at) = self.follow(*next, &thread[1..], true)
            {
                return self.arrive(Some(at));
            }
        }
        self.arrive(None)
    }

    /// Appends the threads that `id` stands for, the preferred one first, each state once. At
    /// Match: with `cut`, returns the position of its boundaries in `values`; otherwise skips it.
    fn follow(&mut self, id: u32, tags: &[Value], cut: bool) -> Option<usize> {
        self.values.clear();
        self.values.extend(tags);
        self.stack.clear();
        self.stack.push((id, 0));
        while let Some((id, at)) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[id as usize], self.round) == self.round {
                continue;
            }
            match self.nfa.state(id) {
                NfaState::Byte { .. } => {
                    self.list.push(id);
                    self.list.extend(&self.values[at..at + self.tags]);
                }
                NfaState::Split(targets) => {
                    self.stack.extend(targets.iter().rev().map(|t| (*t, at)));
                }
                NfaState::Mark { part, next } => {
                    let mut here = at;
                    if let Some(tag) = self.tag_of[*part as usize] {
                        here = self.values.len();
                        self.values.extend_from_within(at..at + self.tags);
                        self.values[here + tag] = NEW;
                    }
                    self.stack.push((*next, here));
                }
                NfaState::Match if cut => return Some(at),
                NfaState::Match => {}
            }
        }
        None
    }

    /// The state of the list, with its registers numbered by first use, and the moves that lead to
    /// it; `at`: the boundaries if the rule accepts.
    fn arrive(&mut self, at: Option<usize>) -> Option<(u32, u32)> {
        if self.list.is_empty() && at.is_none() {
            return Some((0, 0));
        }
        let source = |value: Value| match value {
            NEW => Source::Here,
            register => Source::Register(u16::try_from(register).unwrap_or(u16::MAX)),
        };
        let threads = self.list.len() / (self.tags + 1);
        self.threads_left = self.threads_left.checked_sub(threads)?;
        let moves = &mut self.made;
        moves.registers.clear();
        moves.tags.clear();
        self.renamed.clear();
        let mut here = NONE;
        for thread in self.list.chunks_mut(self.tags + 1) {
            for value in thread[1..].iter_mut().filter(|value| **value != UNSET) {
                let name = if *value == NEW {
                    &mut here
                } else {
                    let at = *value as usize;
                    if at >= self.renamed.len() {
                        self.renamed.resize(at + 1, NONE);
                    }
                    &mut self.renamed[at]
                };
                if *name == NONE {
                    *name = u32::try_from(moves.registers.len()).ok()?;
                    moves.registers.push(source(*value));
                }
                *value = *name;
            }
        }
        if moves.registers.len() >= usize::from(u16::MAX) {
            return None;
        }
        if let Some(at) = at {
            let values = &self.values[at..at + self.tags];
            moves.tags.extend(values.iter().map(|v| source(*v)));
        }
        self.list.push(at.is_some().into());
        let state = self.number()?;
        if let Some(known) = self.move_numbers.get(&self.made) {
            return Some((state, *known));
        }
        let fresh = u32::try_from(self.moves.len()).ok()?;
        self.moves.push(self.made.clone());
        self.move_numbers.insert(self.made.clone(), fresh);
        Some((state, fresh))
    }

    fn number(&mut self) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&self.list) {
            return Some(number);
        }
        if self.keys.len() >= self.budget {
            return None;
        }
        let number = u32::try_from(self.keys.len()).ok()?;
        self.keys.push(self.list.clone());
        self.numbers.insert(self.list.clone(), number);
        Some(number)
    }
}

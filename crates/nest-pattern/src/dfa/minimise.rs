//! Hopcroft's minimisation, and the final numbering by kind.
//!
//! States are distinguished by acceptance and liveness, not only by acceptance: a rule that is live
//! but does not accept makes others wait. The first four blocks are the dead state, the done state,
//! the live accepting states and the live silent states.

use super::classes;
use super::state::{DEAD, DONE, Dfa, Raw};
use std::collections::VecDeque;

pub(super) fn minimise(raw: &Raw) -> Dfa {
    let kinds: Vec<usize> = (0..raw.accepts.len())
        .map(|state| match u32::try_from(state) {
            Ok(DEAD) => 0,
            Ok(DONE) => 1,
            _ if raw.accepts[state] => 2,
            _ => 3,
        })
        .collect();
    let block_of = refine(&raw.next, raw.class_count, &kinds);
    let (order, first_silent) = order(raw, &block_of);
    let mut number = vec![0u32; raw.accepts.len()];
    for (n, state) in (0u32..).zip(&order) {
        number[block_of[*state as usize]] = n;
    }
    let mut next = Vec::with_capacity(order.len() * raw.class_count);
    for state in &order {
        let from = *state as usize * raw.class_count;
        let row = &raw.next[from..from + raw.class_count];
        next.extend(row.iter().map(|to| number[block_of[*to as usize]]));
    }
    // States that were merged may leave bytes that nothing tells apart any more.
    let (product, class_count, next) = classes::join(&raw.classes, raw.class_count, next);
    let count = |n: usize| u32::try_from(n).expect("state numbers are 32 bits");
    Dfa {
        classes: product,
        class_count: count(class_count),
        next,
        start: number[block_of[raw.start as usize]],
        first_silent,
        count: count(order.len()),
    }
}

/// One state of each block in the order of their final numbers, and the first silent number. Within
/// a kind the order is breadth-first from the start.
fn order(raw: &Raw, block_of: &[usize]) -> (Vec<u32>, u32) {
    let mut seen = vec![false; raw.accepts.len()];
    let (mut accepting, mut silent) = (Vec::new(), Vec::new());
    seen[block_of[DEAD as usize]] = true;
    seen[block_of[DONE as usize]] = true;
    let mut queue = VecDeque::from([raw.start]);
    while let Some(state) = queue.pop_front() {
        if std::mem::replace(&mut seen[block_of[state as usize]], true) {
            continue;
        }
        let kind = if raw.accepts[state as usize] {
            &mut accepting
        } else {
            &mut silent
        };
        kind.push(state);
        let from = state as usize * raw.class_count;
        queue.extend(&raw.next[from..from + raw.class_count]);
    }
    let mut order = vec![DEAD, DONE];
    order.extend(accepting);
    let first_silent = u32::try_from(order.len()).expect("state numbers are 32 bits");
    order.extend(silent);
    (order, first_silent)
}

/// The block of each state, for `targets[state * class_count + class]`: the coarsest partition that
/// separates states of different kinds, and states that lead to different blocks. State 0 is dead,
/// and the only one of its kind.
pub(crate) fn refine(targets: &[u32], class_count: usize, kinds: &[usize]) -> Vec<usize> {
    let sources = Sources::of(targets, class_count);
    let mut partition = Partition::new(kinds.len(), |state| kinds[state as usize]);
    let mut waiting: Vec<bool> = vec![true; partition.blocks.len()];
    let mut work: Vec<usize> = (0..partition.blocks.len()).collect();
    let mut into: Vec<Vec<u32>> = vec![Vec::new(); class_count];
    let mut some: Vec<usize> = Vec::new();
    while let Some(splitter) = work.pop() {
        waiting[splitter] = false;
        // For all classes at once, because the splitter may itself be split.
        for state in partition.members(splitter) {
            for (class, source) in sources.to(*state) {
                let class = usize::from(*class);
                if into[class].is_empty() {
                    some.push(class);
                }
                into[class].push(*source);
            }
        }
        for class in some.drain(..) {
            for source in into[class].drain(..) {
                partition.mark(source);
            }
            partition.split_marked(|old, new, new_is_smaller| {
                waiting.push(false);
                // Both if the old block is waiting, otherwise the smaller one.
                let add = if waiting[old] || new_is_smaller {
                    new
                } else {
                    old
                };
                waiting[add] = true;
                work.push(add);
            });
        }
    }
    partition.block_of
}

/// The reversed transitions: `list[first[target]..first[target + 1]]`, each with its class.
/// Transitions to state 0 are omitted: most lead there, and they are implied by the others.
struct Sources {
    first: Vec<usize>,
    list: Vec<(u8, u32)>,
}

impl Sources {
    fn of(next: &[u32], class_count: usize) -> Sources {
        let states = next.len() / class_count;
        let mut first = vec![0usize; states + 1];
        for target in next.iter().filter(|target| **target != DEAD) {
            first[*target as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut list = vec![(0, 0); first[states]];
        let mut fill = first.clone();
        for (state, row) in (0u32..).zip(next.chunks(class_count)) {
            for (class, target) in (0..=u8::MAX).zip(row).filter(|(_, to)| **to != DEAD) {
                let place = &mut fill[*target as usize];
                list[*place] = (class, state);
                *place += 1;
            }
        }
        Sources { first, list }
    }

    fn to(&self, target: u32) -> &[(u8, u32)] {
        let target = target as usize;
        &self.list[self.first[target]..self.first[target + 1]]
    }
}

/// A block is `states[start..end]`; its first `marked` states are marked.
struct Block {
    start: usize,
    end: usize,
    marked: usize,
}

/// A partition of the states that can be refined in time proportional to the number of marked
/// states.
struct Partition {
    states: Vec<u32>,
    /// The position of a state in `states`.
    place: Vec<usize>,
    block_of: Vec<usize>,
    blocks: Vec<Block>,
    /// Blocks with marked states.
    touched: Vec<usize>,
}

impl Partition {
    /// Blocks by `kind`; none may be empty.
    fn new(count: usize, kind: impl Fn(u32) -> usize) -> Partition {
        let mut states: Vec<u32> = (0..).take(count).collect();
        states.sort_by_key(|s| (kind(*s), *s));
        let mut blocks: Vec<Block> = Vec::new();
        let (mut place, mut block_of) = (vec![0; count], vec![0; count]);
        for (at, state) in states.iter().enumerate() {
            match blocks.last_mut() {
                Some(block) if kind(states[at - 1]) == kind(*state) => block.end = at + 1,
                _ => blocks.push(Block {
                    start: at,
                    end: at + 1,
                    marked: 0,
                }),
            }
            place[*state as usize] = at;
            block_of[*state as usize] = blocks.len() - 1;
        }
        Partition {
            states,
            place,
            block_of,
            blocks,
            touched: Vec::new(),
        }
    }

    fn members(&self, block: usize) -> &[u32] {
        &self.states[self.blocks[block].start..self.blocks[block].end]
    }

    /// Marks a state, once.
    fn mark(&mut self, state: u32) {
        let number = self.block_of[state as usize];
        let block = &mut self.blocks[number];
        let (at, to) = (self.place[state as usize], block.start + block.marked);
        if at < to {
            return;
        }
        if block.marked == 0 {
            self.touched.push(number);
        }
        block.marked += 1;
        let other = self.states[to];
        self.states.swap(at, to);
        self.place[state as usize] = to;
        self.place[other as usize] = at;
    }

    /// Splits the marked states of each block off into a new block and clears the marks. Calls
    /// `split` for each with the old block, the new block, and whether the new one is smaller.
    fn split_marked(&mut self, mut split: impl FnMut(usize, usize, bool)) {
        while let Some(old) = self.touched.pop() {
            let new = self.blocks.len();
            let block = &mut self.blocks[old];
            let marked = std::mem::take(&mut block.marked);
            let middle = block.start + marked;
            if middle == block.end {
                continue;
            }
            let start = std::mem::replace(&mut block.start, middle);
            let rest = block.end - middle;
            self.blocks.push(Block {
                start,
                end: middle,
                marked: 0,
            });
            for state in &self.states[start..middle] {
                self.block_of[*state as usize] = new;
            }
            split(old, new, marked <= rest);
        }
    }
}

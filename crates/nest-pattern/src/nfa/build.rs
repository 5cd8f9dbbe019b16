//! Thompson's construction, back to front, exact in Perl's order of preference.
//!
//! An own builder, not regex-automata's: ours has part boundaries as states, and takes Perl's
//! decision about empty iterations, which a plain Thompson NFA gets wrong after the first
//! iteration. In `x*`, an iteration of `x` that consumed nothing does not loop again but goes on
//! behind the loop, with the preference of the place it came from. So what follows a piece
//! depends on whether the iteration around it has consumed a byte yet: [`After`] holds both
//! continuations. Only nullable pieces inside nullable loops are built more than once, and a
//! piece in front of the same two continuations is built once; loops nested n deep thus cost n²
//! states at most, and no cycle of the NFA is without a byte.

use super::state::{NfaState, STATE_LIMIT, TooLarge};
use crate::hash::Table;
use crate::hir::Hir;

/// Deepest tree: three levels of [`Hir`] for each level of groups that lowering lets through.
const DEPTH_LIMIT: usize = 1_000;

/// Pieces visited; only trees that lowering would have simplified visit more than they build.
const VISIT_LIMIT: usize = 16 * STATE_LIMIT;

/// Where to go on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct After {
    /// If the innermost nullable loop's iteration has consumed nothing so far.
    empty: u32,
    /// If it has, or if there is no such loop.
    some: u32,
}

impl After {
    fn same(state: u32) -> After {
        After {
            empty: state,
            some: state,
        }
    }

    fn is_same(self) -> bool {
        self.empty == self.some
    }
}

/// All states, not pruned, and the first.
pub(super) fn build(elements: &[Hir]) -> Result<(Vec<NfaState>, u32), TooLarge> {
    let mut builder = Builder {
        states: Vec::new(),
        pieces: Table::default(),
        loops: Table::default(),
        depth: 0,
        visits: 0,
    };
    let mut next = builder.push(NfaState::Match)?;
    for (index, element) in elements.iter().enumerate().rev() {
        next = builder.piece(element, After::same(next))?;
        if let Some(before) = index.checked_sub(1) {
            let part = u32::try_from(before).map_err(|_| TooLarge)?;
            next = builder.push(NfaState::Mark { part, next })?;
        }
    }
    Ok((builder.states, next))
}

struct Builder {
    states: Vec<NfaState>,
    /// What was built: a piece (by its address, the tree does not move) and what follows it.
    pieces: Table<(usize, After), u32>,
    /// Unbounded loops: the inner piece and the exit; the loop's head and its body.
    loops: Table<(usize, u32), (u32, u32)>,
    depth: usize,
    visits: usize,
}

fn address(hir: &Hir) -> usize {
    std::ptr::from_ref(hir) as usize
}

impl Builder {
    fn push(&mut self, state: NfaState) -> Result<u32, TooLarge> {
        if self.states.len() >= STATE_LIMIT {
            return Err(TooLarge);
        }
        self.states.push(state);
        u32::try_from(self.states.len() - 1).map_err(|_| TooLarge)
    }

    /// The first state of `hir` in front of `after`, at a place where nothing is consumed so far.
    fn piece(&mut self, hir: &Hir, after: After) -> Result<u32, TooLarge> {
        self.visits += 1;
        if self.visits > VISIT_LIMIT || self.depth >= DEPTH_LIMIT {
            return Err(TooLarge);
        }
        if *hir == Hir::Empty {
            return Ok(after.empty);
        }
        // What must consume never goes on empty: one copy serves both continuations.
        let after = if after.is_same() || hir.is_nullable() {
            after
        } else {
            After::same(after.some)
        };
        let key = (address(hir), after);
        if let Some(&state) = self.pieces.get(&key) {
            return Ok(state);
        }
        self.depth += 1;
        let state = match hir {
            Hir::Empty => after.empty,
            Hir::Class(set) => self.push(NfaState::Byte {
                set: *set,
                next: after.some,
            })?,
            Hir::Concat(items) => self.concat(items, after)?,
            Hir::Alt(branches) => {
                let targets = branches.iter().map(|b| self.piece(b, after));
                let targets = targets.collect::<Result<Vec<u32>, TooLarge>>()?;
                self.push(NfaState::Split(targets))?
            }
            Hir::Repeat {
                inner,
                min,
                max: None,
                greedy,
            } => {
                let next = self.unbounded(inner, *min > 0, *greedy, after)?;
                self.copies(inner, min.saturating_sub(1), next)?.empty
            }
            Hir::Repeat {
                inner,
                min,
                max: Some(max),
                greedy,
            } => {
                let next = self.optional(inner, max.saturating_sub(*min), *greedy, after)?;
                self.copies(inner, *min, next)?.empty
            }
        };
        self.depth -= 1;
        self.pieces.insert(key, state);
        Ok(state)
    }

    /// The first states of `hir` in front of `after`, for both situations.
    fn both(&mut self, hir: &Hir, after: After) -> Result<After, TooLarge> {
        let some = self.piece(hir, After::same(after.some))?;
        let empty = if after.is_same() {
            some
        } else {
            self.piece(hir, after)?
        };
        Ok(After { empty, some })
    }

    fn concat(&mut self, items: &[Hir], after: After) -> Result<u32, TooLarge> {
        let Some((first, rest)) = items.split_first() else {
            return Ok(after.empty);
        };
        let mut next = after;
        for item in rest.iter().rev() {
            next = self.both(item, next)?;
        }
        self.piece(first, next)
    }

    /// `hir{n}`.
    fn copies(&mut self, hir: &Hir, n: u32, after: After) -> Result<After, TooLarge> {
        let mut next = after;
        for _ in 0..n {
            next = self.both(hir, next)?;
        }
        Ok(next)
    }

    /// `hir{0,n}`, as `(x(x(x)?)?)?`: Perl asks after every copy, and not whether it was empty.
    fn optional(
        &mut self,
        hir: &Hir,
        n: u32,
        greedy: bool,
        exit: After,
    ) -> Result<After, TooLarge> {
        let mut next = exit;
        for _ in 0..n {
            let body = self.both(hir, next)?;
            let some = self.fork(body.some, exit.some, greedy)?;
            let empty = if exit.is_same() {
                some
            } else {
                self.fork(body.empty, exit.empty, greedy)?
            };
            next = After { empty, some };
        }
        Ok(next)
    }

    /// `hir*`, or `hir+` if `once`.
    fn unbounded(
        &mut self,
        hir: &Hir,
        once: bool,
        greedy: bool,
        exit: After,
    ) -> Result<After, TooLarge> {
        let key = (address(hir), exit.some);
        let (head, body) = match self.loops.get(&key) {
            Some(&known) => known,
            None => {
                let head = self.push(NfaState::Split(Vec::new()))?;
                let body = self.piece(
                    hir,
                    After {
                        empty: exit.some,
                        some: head,
                    },
                )?;
                self.states[head as usize] = split(body, exit.some, greedy);
                self.loops.insert(key, (head, body));
                (head, body)
            }
        };
        let some = if once { body } else { head };
        if exit.is_same() {
            return Ok(After::same(some));
        }
        let first = self.piece(
            hir,
            After {
                empty: exit.empty,
                some: head,
            },
        )?;
        let empty = if once {
            first
        } else {
            self.fork(first, exit.empty, greedy)?
        };
        Ok(After { empty, some })
    }

    fn fork(&mut self, body: u32, exit: u32, greedy: bool) -> Result<u32, TooLarge> {
        self.push(split(body, exit, greedy))
    }
}

fn split(body: u32, exit: u32, greedy: bool) -> NfaState {
    NfaState::Split(if greedy {
        vec![body, exit]
    } else {
        vec![exit, body]
    })
}

//! Thompson's construction, from back to front, with exactly Perl's order of preference.
//!
//! regex-automata's builder cannot be used: here element boundaries are states, and empty
//! iterations follow Perl's rule, which a plain Thompson NFA violates after the first iteration. In
//! `x*`, an iteration of `x` that consumed nothing does not loop again but continues after the
//! loop, with the preference of its origin. So what follows a piece depends on whether the
//! iteration around it has consumed a byte: [`After`] holds both continuations. Only nullable
//! pieces inside nullable loops are built more than once, and a piece with the same two
//! continuations is built once. Loops nested n deep therefore need at most n² states, and every
//! cycle of the NFA contains a byte.

use super::state::{NfaState, STATE_LIMIT, TooLarge};
use crate::hash::Table;
use crate::hir::Hir;

/// The deepest tree: three levels of [`Hir`] for each level of groups that lowering accepts.
const DEPTH_LIMIT: usize = 1_000;

/// The maximum number of visited pieces; only trees that lowering would have simplified visit more
/// than they build.
const VISIT_LIMIT: usize = 16 * STATE_LIMIT;

/// The continuations of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct After {
    /// If the current iteration of the innermost nullable loop has consumed nothing.
    empty: u32,
    /// If it has consumed something, or if there is no such loop.
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

/// All states before pruning, and the first.
pub(super) fn build(elements: &[Hir]) -> Result<(Vec<NfaState>, u32), TooLarge> {
    let mut builder = Builder::new();
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

/// All states of one repeated element before pruning, and the first. A mark stands behind each
/// repetition of `inner`, which `element` repeats.
pub(super) fn build_repeated(element: &Hir, inner: &Hir) -> Result<(Vec<NfaState>, u32), TooLarge> {
    let mut builder = Builder::new();
    builder.marked = Some(address(inner));
    let end = builder.push(NfaState::Match)?;
    let start = builder.piece(element, After::same(end))?;
    Ok((builder.states, start))
}

struct Builder {
    states: Vec<NfaState>,
    /// The piece that has a mark behind it wherever it is built.
    marked: Option<usize>,
    /// Caches what was built: a piece (by its address, since the tree does not move) and its
    /// continuations.
    pieces: Table<(usize, After), u32>,
    /// Unbounded loops: the inner piece and the exit; the loop's head and body.
    loops: Table<(usize, u32), (u32, u32)>,
    depth: usize,
    visits: usize,
}

fn address(hir: &Hir) -> usize {
    std::ptr::from_ref(hir) as usize
}

impl Builder {
    fn new() -> Builder {
        Builder {
            states: Vec::new(),
            marked: None,
            pieces: Table::default(),
            loops: Table::default(),
            depth: 0,
            visits: 0,
        }
    }

    fn push(&mut self, state: NfaState) -> Result<u32, TooLarge> {
        if self.states.len() >= STATE_LIMIT {
            return Err(TooLarge);
        }
        self.states.push(state);
        u32::try_from(self.states.len() - 1).map_err(|_| TooLarge)
    }

    /// The first state of `hir` before `after`, where nothing has been consumed yet.
    fn piece(&mut self, hir: &Hir, after: After) -> Result<u32, TooLarge> {
        self.visits += 1;
        if self.visits > VISIT_LIMIT || self.depth >= DEPTH_LIMIT {
            return Err(TooLarge);
        }
        if *hir == Hir::Empty {
            return Ok(after.empty);
        }
        // A piece that always consumes never continues empty: one copy serves both continuations.
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
        let after = if self.marked == Some(address(hir)) {
            self.mark(after)?
        } else {
            after
        };
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

    /// A mark before `after`, for both situations.
    fn mark(&mut self, after: After) -> Result<After, TooLarge> {
        let mut mark = |next| self.push(NfaState::Mark { part: 0, next });
        let some = mark(after.some)?;
        let empty = if after.is_same() {
            some
        } else {
            mark(after.empty)?
        };
        Ok(After { empty, some })
    }

    /// The first states of `hir` before `after`, for both situations.
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

    /// `hir{0,n}`, as `(x(x(x)?)?)?`: Perl tests after every copy, even if it was empty.
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

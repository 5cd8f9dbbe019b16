//! What a path through an action does to the states of its conversation, and sets of such paths.
//!
//! A [`Path`] is a condition on the states before, and what becomes of them. Sets of paths are kept
//! small: equal ones are one, and when there are too many, one stands for all that they may do.
//! Must not know: C.

use std::collections::BTreeSet;

/// More paths are made one.
const MOST: usize = 64;

/// The state that was marked last behind a path, which `$LASTSEEN` tests: one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Last {
    /// It may stay what it was.
    pub same: bool,
    /// It may be one of these states.
    pub of: u64,
}

impl Last {
    /// It stays what it was.
    pub const SAME: Last = Last { same: true, of: 0 };
}

/// Whether a path calls `$close()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Closes {
    /// It does not.
    No,
    /// This is not known.
    May,
    /// It does.
    Yes,
}

/// A path through an action. States are bits of masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The path is possible only if these are marked,
    pub held: u64,
    /// and these are not.
    pub lacked: u64,
    /// Marked at its end.
    pub set: u64,
    /// Not marked at its end.
    pub clear: u64,
    /// It may mark each of these.
    pub may_set: u64,
    /// It may clear each of these.
    pub may_clear: u64,
    /// The state that was marked last.
    pub last: Last,
    /// Whether the connection ends.
    pub closes: Closes,
}

impl Path {
    /// Nothing is done.
    pub const NOTHING: Path = Path {
        held: 0,
        lacked: 0,
        set: 0,
        clear: 0,
        may_set: 0,
        may_clear: 0,
        last: Last::SAME,
        closes: Closes::No,
    };

    /// Marks a state.
    #[must_use]
    pub fn seen(state: u64) -> Path {
        Path {
            set: state,
            last: Last {
                same: false,
                of: state,
            },
            ..Path::NOTHING
        }
    }

    /// Clears states.
    #[must_use]
    pub fn cleared(states: u64) -> Path {
        Path {
            clear: states,
            ..Path::NOTHING
        }
    }

    /// Calls `$close()`.
    #[must_use]
    pub fn closing() -> Path {
        Path {
            closes: Closes::Yes,
            ..Path::NOTHING
        }
    }

    /// Does anything to the states in `all`.
    #[must_use]
    pub fn anything(all: u64) -> Path {
        Path {
            may_set: all,
            may_clear: all,
            last: Last {
                same: true,
                of: all,
            },
            closes: Closes::May,
            ..Path::NOTHING
        }
    }

    /// Whether it is possible in these states.
    #[must_use]
    pub fn fits(&self, states: u64) -> bool {
        self.held & !states == 0 && self.lacked & states == 0
    }

    /// Whether what it does is one thing only.
    #[must_use]
    pub fn is_definite(&self) -> bool {
        let one_last = if self.last.same {
            self.last.of == 0
        } else {
            self.last.of.count_ones() == 1
        };
        self.may_set | self.may_clear == 0 && self.closes != Closes::May && one_last
    }

    /// The states at its end, and those of them that may have the opposite value.
    #[must_use]
    pub fn outcome(&self, states: u64) -> (u64, u64) {
        let to = (states & !self.clear) | self.set;
        (to, (self.may_set & !to) | (self.may_clear & to))
    }

    /// The path under the condition that a state is marked, or is not; `None` if that is impossible.
    fn given(mut self, state: u64, marked: bool) -> Option<Path> {
        let (yes, no) = (self.set & state != 0, self.clear & state != 0);
        let varies = (self.may_set | self.may_clear) & state != 0;
        if varies {
            return Some(self);
        }
        if yes || no {
            return (yes == marked).then_some(self);
        }
        if marked {
            self.held |= state;
        } else {
            self.lacked |= state;
        }
        (self.held & self.lacked == 0).then_some(self)
    }

    /// The same where `state` was marked last, or was not.
    fn given_last(self, state: u64, is: bool) -> Option<Path> {
        let fits = if is {
            self.last.same || self.last.of & state != 0
        } else {
            self.last.same || self.last.of & !state != 0
        };
        fits.then_some(self)
    }

    /// This path followed by `then`; `None` if that is impossible.
    #[must_use]
    pub fn and_then(self, then: &Path) -> Option<Path> {
        let mut p = self;
        for (mask, marked) in [(then.held, true), (then.lacked, false)] {
            for bit in bits(mask) {
                p = p.given(bit, marked)?;
            }
        }
        let settled = then.set | then.clear;
        Some(Path {
            held: p.held,
            lacked: p.lacked,
            set: (p.set & !then.clear) | then.set,
            clear: (p.clear & !then.set) | then.clear,
            may_set: (p.may_set & !settled) | then.may_set,
            may_clear: (p.may_clear & !settled) | then.may_clear,
            last: if then.last.same {
                Last {
                    same: p.last.same,
                    of: p.last.of | then.last.of,
                }
            } else {
                then.last
            },
            closes: p.closes.max(then.closes),
        })
    }

    /// One that may do what either does.
    fn or(self, other: &Path) -> Path {
        let (set, clear) = (self.set & other.set, self.clear & other.clear);
        let may = |mine: u64, settled: u64| mine & !settled;
        Path {
            held: self.held & other.held,
            lacked: self.lacked & other.lacked,
            set,
            clear,
            may_set: self.may_set | other.may_set | may(self.set | other.set, set),
            may_clear: self.may_clear | other.may_clear | may(self.clear | other.clear, clear),
            last: Last {
                same: self.last.same || other.last.same,
                of: self.last.of | other.last.of,
            },
            closes: if self.closes == other.closes {
                self.closes
            } else {
                Closes::May
            },
        }
    }

    /// The same without its condition.
    fn unconditional(self) -> Path {
        Path {
            held: 0,
            lacked: 0,
            ..self
        }
    }
}

/// Each bit of a mask, as a mask.
pub fn bits(mut mask: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let lowest = mask & mask.wrapping_neg();
        mask ^= lowest;
        (lowest != 0).then_some(lowest)
    })
}

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    list: BTreeSet<Path>,
    /// Whether one of them covers more than the code does.
    widened: bool,
}

impl Paths {
    /// No path leads here.
    #[must_use]
    pub fn none() -> Paths {
        Paths::default()
    }

    /// One path.
    #[must_use]
    pub fn one(path: Path) -> Paths {
        Paths {
            list: BTreeSet::from([path]),
            widened: false,
        }
    }

    /// One path that covers more than the code does.
    #[must_use]
    pub fn widened(path: Path) -> Paths {
        Paths {
            list: BTreeSet::from([path]),
            widened: true,
        }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.list.iter()
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether one of them covers more than the code does.
    #[must_use]
    pub fn is_widened(&self) -> bool {
        self.widened
    }

    /// These and those.
    pub fn join(&mut self, other: Paths) {
        self.widened |= other.widened;
        if other.list.is_subset(&self.list) {
            return;
        }
        self.list.extend(other.list);
        self.tidy();
    }

    /// Each of these, and then each of those.
    #[must_use]
    pub fn and_then(&self, then: &Paths) -> Paths {
        let mut to = Paths {
            widened: self.widened | then.widened,
            ..Paths::default()
        };
        for first in &self.list {
            let both = then.list.iter().filter_map(|second| first.and_then(second));
            to.list.extend(both);
            to.narrow();
        }
        to.tidy();
        to
    }

    /// Each of these, and then that.
    #[must_use]
    pub fn then(&self, path: &Path) -> Paths {
        let list = self.list.iter().filter_map(|p| p.and_then(path)).collect();
        let mut to = Paths {
            list,
            widened: self.widened,
        };
        to.tidy();
        to
    }

    /// Those on which a state is marked, and those on which it is not.
    #[must_use]
    pub fn split(&self, state: u64) -> (Paths, Paths) {
        self.both(|path, is| path.given(state, is))
    }

    /// Those on which it was marked last, and the others.
    #[must_use]
    pub fn split_last(&self, state: u64) -> (Paths, Paths) {
        self.both(|path, is| path.given_last(state, is))
    }

    fn both(&self, given: impl Fn(Path, bool) -> Option<Path>) -> (Paths, Paths) {
        let side = |is| Paths {
            list: self.list.iter().filter_map(|p| given(*p, is)).collect(),
            widened: self.widened,
        };
        (side(true), side(false))
    }

    /// Paths that do the same on either side of a condition are one.
    fn tidy(&mut self) {
        while let Some((a, b, both)) = self.alike() {
            self.list.remove(&a);
            self.list.remove(&b);
            self.list.insert(both);
        }
        self.narrow();
    }

    fn alike(&self) -> Option<(Path, Path, Path)> {
        for a in &self.list {
            if a.held | a.lacked == 0 {
                continue;
            }
            for b in &self.list {
                if a == b || a.unconditional() != b.unconditional() {
                    continue;
                }
                let weaker = b.held & !a.held == 0 && b.lacked & !a.lacked == 0;
                let (held, lacked) = (a.held ^ b.held, a.lacked ^ b.lacked);
                if weaker {
                    return Some((*a, *b, *b));
                }
                if held == lacked && held.count_ones() == 1 {
                    let (held, lacked) = (a.held & !held, a.lacked & !lacked);
                    let both = Path { held, lacked, ..*a };
                    return Some((*a, *b, both));
                }
            }
        }
        None
    }

    /// Too many become one.
    fn narrow(&mut self) {
        if self.list.len() > MOST {
            let one = self.list.iter().skip(1);
            let one = one.fold(self.list.first().copied(), |one, p| Some(one?.or(p)));
            self.list = one.into_iter().collect();
            self.widened = true;
        }
    }

    /// One path that may do any of it in any order, and any number of times.
    #[must_use]
    pub fn in_any_order(&self) -> Path {
        let done = |all: Path, p: &Path| Path {
            may_set: all.may_set | p.set | p.may_set,
            may_clear: all.may_clear | p.clear | p.may_clear,
            last: Last {
                same: true,
                of: all.last.of | p.last.of,
            },
            closes: match (all.closes, p.closes) {
                (Closes::No, Closes::No) => Closes::No,
                _ => Closes::May,
            },
            ..Path::NOTHING
        };
        self.list.iter().fold(Path::NOTHING, done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_changes_nothing_leaves_no_trace() {
        let (yes, no) = Paths::one(Path::NOTHING).split(4);
        let mut both = yes.then(&Path::seen(8));
        both.join(no.then(&Path::seen(8)));
        assert_eq!(both, Paths::one(Path::seen(8)));
        let mut differ = yes.then(&Path::seen(8));
        differ.join(no);
        assert_eq!(differ.iter().count(), 2);
    }

    #[test]
    fn what_was_marked_before_decides() {
        let marked = Paths::one(Path::seen(2));
        let (yes, no) = marked.split(2);
        assert_eq!((yes.iter().count(), no.iter().count()), (1, 0));
        let twice = Path::cleared(2).and_then(&Path::seen(2));
        assert_eq!(twice, Some(Path::seen(2)));
        let (is, other) = marked.split_last(2);
        assert_eq!((is.iter().count(), other.iter().count()), (1, 0));
    }

    /// Whatever a path of many does, the one that stands for all may do.
    #[test]
    fn too_many_become_one_that_may_do_all() {
        let mut many = Paths::none();
        let each: Vec<Path> = (0..80u32)
            .map(|n| Path {
                held: 1 << (n % 7),
                set: 1 << (10 + n % 40),
                clear: 1 << (10 + (n + 1 + n / 40) % 40),
                ..Path::NOTHING
            })
            .collect();
        for path in &each {
            many.join(Paths::one(*path));
        }
        assert!(many.is_widened());
        let all: Vec<&Path> = many.iter().collect();
        for path in &each {
            for states in [0x7f, 0x7f | 0x3_ffff_ffff_fc00u64] {
                let (to, _) = path.outcome(states);
                let may = all.iter().any(|p| {
                    let (one, varies) = p.outcome(states);
                    p.fits(states) && (one ^ to) & !varies == 0
                });
                assert!(may, "{path:?} in {states:x}");
            }
        }
    }
}

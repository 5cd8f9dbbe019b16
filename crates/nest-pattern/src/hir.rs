//! The normal form of a pattern, without macros, flags and notation.
//!
//! The constructors simplify without changing any match, part or preference. Must not know: the
//! syntax tree, automata.

use nest_syntax::ast::ByteSet;

/// A pattern with macros expanded and flags applied; its elements are separate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hir {
    /// The empty string.
    Empty,
    /// One byte of the set (from [`crate::lower`]: never an empty set).
    Class(ByteSet),
    /// A sequence.
    Concat(Vec<Hir>),
    /// Alternatives in order of preference (from [`crate::lower`]: never none).
    Alt(Vec<Hir>),
    /// A repetition.
    Repeat {
        /// The repeated pattern.
        inner: Box<Hir>,
        /// The minimum.
        min: u32,
        /// The maximum.
        max: Option<u32>,
        /// Whether the longest repetition is preferred.
        greedy: bool,
    },
}

impl Hir {
    /// A pattern that matches nothing, not even the empty string. The constructors move it outwards
    /// until it disappears or is the whole pattern.
    pub(crate) const NOTHING: Hir = Hir::Alt(Vec::new());

    /// One byte of `set`.
    pub(crate) fn class(set: ByteSet) -> Hir {
        if set == ByteSet::EMPTY {
            Hir::NOTHING
        } else {
            Hir::Class(set)
        }
    }

    /// A sequence.
    pub(crate) fn concat(items: Vec<Hir>) -> Hir {
        if items.contains(&Hir::NOTHING) {
            return Hir::NOTHING;
        }
        let mut flat = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Hir::Empty => {}
                Hir::Concat(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        single_or(flat, Hir::Empty, Hir::Concat)
    }

    /// Alternatives in order of preference.
    pub(crate) fn alt(branches: Vec<Hir>) -> Hir {
        let mut flat: Vec<Hir> = Vec::with_capacity(branches.len());
        let mut has_empty = false;
        let mut add = |branch: Hir| match (flat.last_mut(), branch) {
            // Neighbouring alternatives that match one byte and continue alike are merged, because
            // the difference is not visible.
            (Some(Hir::Class(last)), Hir::Class(set)) => *last = last.union(&set),
            // An alternative that is repeated later can never be chosen the second time.
            (_, Hir::Empty) if std::mem::replace(&mut has_empty, true) => {}
            (_, branch) => flat.push(branch),
        };
        for branch in branches {
            match branch {
                Hir::Alt(inner) => inner.into_iter().for_each(&mut add),
                other => add(other),
            }
        }
        single_or(flat, Hir::NOTHING, Hir::Alt)
    }

    /// A repetition.
    pub(crate) fn repeat(inner: Hir, min: u32, max: Option<u32>, greedy: bool) -> Hir {
        if max == Some(0) || inner == Hir::Empty {
            return Hir::Empty;
        }
        if inner == Hir::NOTHING {
            return if min == 0 { Hir::Empty } else { Hir::NOTHING };
        }
        if min == 1 && max == Some(1) {
            return inner;
        }
        Hir::Repeat {
            inner: Box::new(inner),
            min,
            max,
            greedy,
        }
    }

    /// Whether it can match the empty string.
    pub(crate) fn is_nullable(&self) -> bool {
        match self {
            Hir::Empty => true,
            Hir::Class(_) => false,
            Hir::Concat(items) => items.iter().all(Hir::is_nullable),
            Hir::Alt(branches) => branches.iter().any(Hir::is_nullable),
            Hir::Repeat { inner, min, .. } => *min == 0 || inner.is_nullable(),
        }
    }
}

/// `none` for an empty list, the item itself for a list of one, otherwise `many` of them.
fn single_or(mut items: Vec<Hir>, none: Hir, many: fn(Vec<Hir>) -> Hir) -> Hir {
    match items.len() {
        0 => none,
        1 => items.pop().unwrap_or(none),
        _ => many(items),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte(b: u8) -> Hir {
        let mut set = ByteSet::EMPTY;
        set.insert(b);
        Hir::Class(set)
    }

    #[test]
    fn nothing_moves_outwards() {
        assert_eq!(Hir::class(ByteSet::EMPTY), Hir::NOTHING);
        assert_eq!(Hir::concat(vec![byte(b'a'), Hir::NOTHING]), Hir::NOTHING);
        assert_eq!(Hir::alt(vec![Hir::NOTHING, byte(b'a')]), byte(b'a'));
        assert_eq!(Hir::repeat(Hir::NOTHING, 0, None, true), Hir::Empty);
        assert_eq!(Hir::repeat(Hir::NOTHING, 2, None, true), Hir::NOTHING);
        assert_eq!(Hir::repeat(Hir::NOTHING, 0, Some(0), true), Hir::Empty);
    }

    #[test]
    fn empties_disappear() {
        assert_eq!(
            Hir::concat(vec![Hir::Empty, byte(b'a'), Hir::Empty]),
            byte(b'a')
        );
        assert_eq!(Hir::alt(vec![Hir::Empty, Hir::Empty]), Hir::Empty);
        assert_eq!(Hir::repeat(Hir::Empty, 3, None, true), Hir::Empty);
        assert_eq!(
            Hir::alt(vec![Hir::Empty, byte(b'a'), Hir::Empty]),
            Hir::Alt(vec![Hir::Empty, byte(b'a')])
        );
    }

    #[test]
    fn neighbouring_classes_become_one() {
        let mut ab = ByteSet::EMPTY;
        ab.insert_range(b'a', b'b');
        assert_eq!(Hir::alt(vec![byte(b'a'), byte(b'b')]), Hir::Class(ab));
        let standalone = Hir::alt(vec![byte(b'a'), Hir::Empty, byte(b'b')]);
        assert_eq!(
            standalone,
            Hir::Alt(vec![byte(b'a'), Hir::Empty, byte(b'b')])
        );
    }
}

//! The names of one specification: which are states, which are macros, and of which kind.
//!
//! The parsers ask here where the grammar depends on it. Must not know where macros are used.

use std::cell::Cell;
use std::collections::BTreeMap;

use nest_diag::{Span, nearest};

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    State,
    Condition,
    Pattern,
}

/// Names that cannot be declared.
pub(crate) const RESERVED: [&str; 6] = ["START", "END", "OVERLOAD", "DEFAULT", "TIMEOUT", "NOW"];

/// The maximum number of comparisons for suggestions in one run. Each takes about a microsecond,
/// and a file may have thousands of errors.
const COMPARISONS: usize = 50_000;
/// Longer names get no suggestion, because the comparison is quadratic in their length.
const LONGEST: usize = 48;

/// All declared names.
pub(crate) struct Names {
    /// Whether `%option backtracking yes` is given, which extends patterns.
    pub backtracking: bool,
    known: BTreeMap<String, (Kind, Option<Span>)>,
    comparisons: Cell<usize>,
}

impl Names {
    pub fn new() -> Self {
        let built_in = |name: &str| (name.to_owned(), (Kind::State, None));
        Names {
            backtracking: false,
            known: ["START", "DEFAULT"].map(built_in).into(),
            comparisons: Cell::new(COMPARISONS),
        }
    }

    /// Declares `name`. Returns the location of the first declaration if there is one already.
    pub fn declare(&mut self, name: &str, kind: Kind, span: Span) -> Result<(), Option<Span>> {
        if let Some((_, first)) = self.known.get(name) {
            return Err(*first);
        }
        self.known.insert(name.to_owned(), (kind, Some(span)));
        Ok(())
    }

    /// Sets the kind of a declared macro.
    pub fn set_kind(&mut self, name: &str, kind: Kind) {
        if let Some(entry) = self.known.get_mut(name) {
            entry.0 = kind;
        }
    }

    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.known.get(name).map(|(kind, _)| *kind)
    }

    /// "did you mean …" for an undeclared name, among the names for which `fits` is true.
    pub fn suggest(&self, name: &str, fits: impl Fn(Kind) -> bool) -> Option<String> {
        let left = self.comparisons.get();
        if name.len() > LONGEST || left < self.known.len() {
            return None;
        }
        self.comparisons.set(left - self.known.len());
        let known = self.known.iter().filter(|(known, (kind, _))| {
            fits(*kind) && known.len().abs_diff(name.len()) <= (name.len() / 3).max(1)
        });
        nearest(name, known.map(|(known, _)| known.as_str()))
            .map(|meant| format!("did you mean `{meant}`?"))
    }
}

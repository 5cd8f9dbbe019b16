//! The one table of checks: which codes each finds, and what it has to know to find all of them. A new
//! warning is a row here, a file beside this one, and a page in `nest-diag/codes`.

use crate::checker::Checker;
use nest_diag::Code;

/// What a check rests on. Where it is not known exactly, findings may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// All sets of states that conversations can come to.
    AllSets,
    /// What each action does to states.
    Effects,
    /// An automaton of each rule.
    Automata,
}

/// A check.
pub struct Check {
    /// The codes of its findings.
    pub codes: &'static [Code],
    /// What it rests on.
    pub rests_on: &'static [Basis],
    /// Adds its findings.
    pub run: fn(&mut Checker<'_>),
}

/// All checks, in the order in which they run: some look at what others have found.
pub const CHECKS: &[Check] = &[
    Check {
        codes: &[Code::W0202],
        rests_on: &[Basis::AllSets, Basis::Effects],
        run: |c| c.never_active(),
    },
    Check {
        codes: &[Code::W0203],
        rests_on: &[Basis::AllSets, Basis::Automata],
        run: |c| c.never_wins(),
    },
    Check {
        codes: &[Code::W0205],
        rests_on: &[Basis::Automata],
        run: |c| c.ambiguous(),
    },
    Check {
        codes: &[Code::W0302],
        rests_on: &[Basis::Automata],
        run: |c| c.waits(),
    },
    Check {
        codes: &[Code::W0206],
        rests_on: &[Basis::AllSets, Basis::Automata],
        run: |c| c.shadowed(),
    },
    Check {
        codes: &[Code::W0204],
        rests_on: &[Basis::AllSets, Basis::Effects],
        run: |c| c.ends(),
    },
    Check {
        codes: &[Code::W0303],
        rests_on: &[Basis::AllSets, Basis::Automata],
        run: |c| c.lines(),
    },
    Check {
        codes: &[
            Code::W0401,
            Code::W0402,
            Code::W0403,
            Code::W0404,
            Code::W0405,
            Code::W0511,
        ],
        rests_on: &[],
        run: |c| c.taint(),
    },
    Check {
        codes: &[Code::W0501],
        rests_on: &[],
        run: |c| c.globals(),
    },
    Check {
        codes: &[Code::W0304],
        rests_on: &[],
        run: |c| c.endless(),
    },
    Check {
        codes: &[Code::W0305, Code::W0306],
        rests_on: &[Basis::AllSets, Basis::Automata],
        run: |c| c.early(),
    },
];

/// Whether a check looks for findings of this code.
#[must_use]
pub fn looks_for(code: Code) -> bool {
    CHECKS.iter().any(|check| check.codes.contains(&code))
}

/// The codes of the checks that rest on this, ascending.
pub fn resting_on(basis: Basis) -> Vec<Code> {
    let checks = CHECKS.iter().filter(|c| c.rests_on.contains(&basis));
    let mut codes: Vec<Code> = checks.flat_map(|c| c.codes).copied().collect();
    codes.sort_unstable();
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_warning_is_found_by_one_check() {
        let all: Vec<Code> = CHECKS.iter().flat_map(|c| c.codes).copied().collect();
        let different: BTreeSet<Code> = all.iter().copied().collect();
        assert_eq!(different.len(), all.len());
        for code in Code::ALL.iter().filter(|c| c.name().starts_with('W')) {
            let compiler = nest_machine::WARNINGS.contains(code);
            // What `allow` allows nothing is found when all others are known.
            let late = *code == Code::W0104;
            assert!(looks_for(*code) || compiler || late, "{}", code.name());
        }
    }
}

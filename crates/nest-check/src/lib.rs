//! What a specification's conversations come to: findings about rules, states and texts, each with the
//! shortest conversation that shows it.
//!
//! From the sets of states that are reached ([`nest_machine::reach`]) and the rules' automata.
//! What is said holds; what is not said may be too large to tell. Must not know: C, files, how
//! findings are shown.

mod active;
mod advice;
mod ambiguous;
mod bounds;
mod coverage;
mod ends;
mod incomplete;
mod lines;
mod search;
mod taint;
mod waits;
mod witness;
mod words;

use nest_c::effects::Effects;
use nest_diag::{Allows, Code, Diagnostic, SourceMap};
use nest_machine::Machine;
use nest_machine::reach::{Reach, Winners};
use std::collections::BTreeSet;

pub use bounds::{Bounds, For, Limits, Reading, Silence, Wait, bounds};
pub use coverage::{Coverage, Heard, Share};
pub use incomplete::Incomplete;
pub use witness::{Act, Consumed, Talks, Then, Witness, literal};
pub use words::words;

/// Steps of automata that the findings about waiting, and those about ties, may take together.
const MOST_STEPS: usize = 2_000_000;

/// Steps of automata for all messages in which parts have a form.
const MOST_SEARCHES: usize = 4_000_000;

/// A finding.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What, where, and what to do about it.
    pub diagnostic: Diagnostic,
    /// What a client does to see it; nothing where there is nothing to be seen, or where it is not
    /// known how a client comes there.
    pub witness: Option<Witness>,
    /// Those of one number are said once, by the first that is not allowed.
    pub once: Option<usize>,
}

/// The codes that [`check`] looks for.
pub const LOOKED_FOR: [Code; 12] = [
    Code::W0202,
    Code::W0203,
    Code::W0204,
    Code::W0205,
    Code::W0302,
    Code::W0303,
    Code::W0304,
    Code::W0401,
    Code::W0402,
    Code::W0403,
    Code::W0404,
    Code::W0405,
];

/// Findings in the order of their places, without those that are allowed, and how many these were;
/// with what allows nothing, of the codes that were looked for.
pub fn settle(
    mut findings: Vec<Finding>,
    sources: &SourceMap,
    allows: &mut Allows,
    looked_for: impl Fn(Code) -> bool,
) -> (Vec<Finding>, usize) {
    let count = findings.len();
    findings.retain(|f| !allows.allows(sources, &f.diagnostic));
    let allowed = count - findings.len();
    findings.extend(allows.unused(looked_for).into_iter().map(Finding::from));
    findings.sort_by_key(|f| {
        let d = &f.diagnostic;
        (d.span.file, d.span.start, d.code)
    });
    (joined(findings), allowed)
}

/// Without those that another one says, too.
fn joined(mut findings: Vec<Finding>) -> Vec<Finding> {
    let mut reported = BTreeSet::new();
    findings.retain(|f| f.once.is_none_or(|number| reported.insert(number)));
    findings
}

impl From<Diagnostic> for Finding {
    /// One that is about no conversation.
    fn from(diagnostic: Diagnostic) -> Finding {
        Finding {
            diagnostic,
            witness: None,
            once: None,
        }
    }
}

/// What findings are made from.
struct Checker<'m> {
    m: &'m Machine,
    reach: &'m Reach,
    effects: &'m Effects,
    answers: Vec<bool>,
    winners: Winners<'m>,
    talks: Talks<'m>,
    steps: usize,
    /// The same for ties, which are looked for in more of them.
    ambiguous: usize,
    searches: usize,
    /// Of what steps did not suffice for.
    late: BTreeSet<Code>,
    found: Vec<Finding>,
}

/// What is found about `m`.
#[derive(Clone, Debug)]
pub struct Report {
    /// By their places; [`settle`] joins those that say the same.
    pub findings: Vec<Finding>,
    /// What may be missing.
    pub incomplete: Vec<Incomplete>,
}

impl Report {
    /// Whether all findings of a code that there are, are among these.
    #[must_use]
    pub fn is_whole(&self, code: Code) -> bool {
        LOOKED_FOR.contains(&code) && !self.incomplete.iter().any(|u| u.codes.contains(&code))
    }
}

/// All findings about `m`, by their places.
#[must_use]
pub fn check(m: &Machine) -> Vec<Finding> {
    joined(report(m).findings)
}

/// All findings about `m`, and what could not be told.
#[must_use]
pub fn report(m: &Machine) -> Report {
    let (effects, answers) = Effects::with_answers(&m.source());
    let mut winners = Winners::new(m);
    let reach = Reach::by(m, &effects, &mut winners);
    let mut checker = Checker {
        m,
        reach: &reach,
        effects: &effects,
        answers,
        winners,
        talks: Talks::new(m, &reach),
        steps: MOST_STEPS,
        searches: MOST_SEARCHES,
        ambiguous: 2 * MOST_STEPS,
        late: BTreeSet::new(),
        found: Vec::new(),
    };
    checker.never_active();
    checker.never_wins();
    checker.ambiguous();
    checker.waits();
    checker.ends();
    checker.lines();
    checker.taint();
    checker.endless();
    let incomplete = checker.incomplete();
    let mut findings = checker.found;
    findings.sort_by_key(|f| {
        let d = &f.diagnostic;
        (d.span.file, d.span.start, d.code)
    });
    Report {
        findings,
        incomplete,
    }
}

impl Checker<'_> {
    fn push(&mut self, diagnostic: Diagnostic, witness: Option<Witness>) {
        self.found.push(Finding {
            diagnostic,
            witness,
            once: None,
        });
    }

    /// Which rules' conditions hold in a set.
    fn active(&self, set: usize) -> Vec<bool> {
        let set = &self.reach.sets[set];
        self.m.rules.iter().map(|r| set.holds(&r.cond)).collect()
    }
}

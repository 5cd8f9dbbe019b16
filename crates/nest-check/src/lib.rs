//! What a specification's conversations come to: findings about rules, states and texts, each with the
//! shortest conversation that shows it.
//!
//! From the sets of states that are reached ([`nest_machine::reach`]) and the rules' automata.
//! Each finding holds. Findings may be missing where a specification is too large; the report says so.
//! Must not know: C, files, how findings are shown.

mod active;
mod advice;
mod ambiguous;
mod bounds;
mod checker;
mod checks;
mod coverage;
mod early;
mod endless;
mod ends;
mod finding;
mod globals;
mod incomplete;
mod lines;
mod search;
mod shadowed;
mod taint;
mod waits;
mod witness;
mod words;

use checker::Checker;
use checks::CHECKS;
use nest_c::effects::Effects;
use nest_diag::{Allows, Code, SourceMap};
use nest_machine::Machine;
use nest_machine::reach::{Reach, Winners};
use std::collections::BTreeSet;

pub use bounds::{Bounds, For, Limits, Reading, Silence, Wait, bounds};
pub use checks::looks_for;
pub use coverage::{Coverage, Heard, Share};
pub use finding::Finding;
pub use incomplete::Incomplete;
pub use witness::{Act, Consumed, Talks, Then, Witness, literal};
pub use words::words;

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
        looks_for(code) && !self.incomplete.iter().any(|u| u.codes.contains(&code))
    }
}

/// All findings about `m`, by their places.
#[must_use]
pub fn check(m: &Machine) -> Vec<Finding> {
    joined(report(m).findings)
}

/// All findings about `m`, and which may be missing.
#[must_use]
pub fn report(m: &Machine) -> Report {
    let (effects, answers) = Effects::with_answers(&m.source());
    let mut winners = Winners::new(m);
    let reach = Reach::by(m, &effects, &mut winners);
    let mut checker = Checker::new(m, &reach, &effects, answers, winners);
    for check in CHECKS {
        (check.run)(&mut checker);
    }
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

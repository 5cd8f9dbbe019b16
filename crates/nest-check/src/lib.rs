//! What a specification's conversations come to: findings about rules, states and texts, each with the
//! shortest conversation that shows it.
//!
//! From the sets of states that are reached ([`nest_machine::reach`]) and the rules' automata.
//! What is said holds; what is not said may be too large to tell. Must not know: C, files, how
//! findings are shown.

mod active;
mod advice;
mod ends;
mod lines;
mod sought;
mod texts;
mod waits;
mod witness;

use nest_diag::Diagnostic;
use nest_machine::Machine;
use nest_machine::effects::{Effects, answers};
use nest_machine::reach::{Reach, Winners};
use witness::Talks;

pub use witness::{Act, Witness};

/// Steps of automata that the findings about waiting may take together.
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
    searches: usize,
    found: Vec<Finding>,
}

/// All findings about `m`, by their places.
#[must_use]
pub fn check(m: &Machine) -> Vec<Finding> {
    let effects = Effects::of(m);
    let mut winners = Winners::new(m);
    let reach = Reach::by(m, &effects, &mut winners);
    let mut checker = Checker {
        m,
        reach: &reach,
        effects: &effects,
        answers: answers(m),
        winners,
        talks: Talks::new(m, &reach),
        steps: MOST_STEPS,
        searches: MOST_SEARCHES,
        found: Vec::new(),
    };
    checker.never_active();
    checker.never_wins();
    checker.waits();
    checker.ends();
    checker.lines();
    checker.texts();
    let mut found = checker.found;
    found.sort_by_key(|f| {
        let d = &f.diagnostic;
        (d.span.file, d.span.start, d.code)
    });
    found
}

impl Checker<'_> {
    fn say(&mut self, diagnostic: Diagnostic, witness: Option<Witness>) {
        self.found.push(Finding {
            diagnostic,
            witness,
        });
    }

    /// Which rules' conditions hold in a set.
    fn active(&self, set: usize) -> Vec<bool> {
        let set = &self.reach.sets[set];
        self.m.rules.iter().map(|r| set.holds(&r.cond)).collect()
    }
}

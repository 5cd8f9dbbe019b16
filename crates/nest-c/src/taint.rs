//! Where text from the client goes in the C of actions: what is compared, copied, opened and run.
//!
//! Parts of a match, and input that actions read, are followed through assignments, functions of C's
//! library, functions of the specification, and variables that outlive an action. A text is not
//! followed further if a condition has looked at it on every path to a use, or if a function that is
//! not known gets it. So each flow that is found exists, and there may be more. Must not know: what a
//! pattern lets a part be.

mod buffers;
mod calls;
mod common;
mod copies;
mod eval;
mod format;
mod table;
mod types;
mod values;
mod walk;

use crate::action::{Action, inner};
use crate::library::{Library, Parsed};
use crate::read::Read;
use crate::scope;
use crate::source::{Owner, Source};
use common::Common;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
pub use types::{Flow, Held, Origin, Use};
use values::{About, Value};
use walk::Walk;

/// Rounds in which variables that outlive actions are followed from one action to the next.
const ROUNDS: usize = 4;

/// Steps for all actions together, in each round; flows beyond them are not reported.
const MOST_WORK: usize = 2_000_000;

/// All flows of a specification, by action and place.
#[must_use]
pub fn flows(m: &Source<'_>) -> Vec<Flow> {
    let mut parser = scope::parser();
    let parsed = Parsed::of(m, &mut parser);
    let library = Library::of(m, &parsed);
    let common = Common::of(m, &library, parsed.root(), &mut parser);
    let read: Vec<(Owner, &Action, Read<'_>)> = m
        .actions()
        .map(|(owner, action)| (owner, action, Read::of(action, &mut parser)))
        .collect();
    let mut kept: BTreeMap<String, Value> = BTreeMap::new();
    let mut tested: BTreeSet<(Origin, About)> = BTreeSet::new();
    for round in 1.. {
        let (mut found, before) = (Vec::new(), Rc::new(kept.clone()));
        common.work.set(MOST_WORK);
        for (owner, action, read) in &read {
            let mut walk = Walk::new(*owner, &common, Rc::clone(&before));
            walk.action(read);
            for (key, value) in walk.kept {
                let known = kept.remove(&key).unwrap_or_default();
                kept.insert(key, known.join(value));
            }
            tested.extend(walk.tested);
            let known: BTreeSet<Origin> = walk.checked;
            found.extend(
                walk.found
                    .into_iter()
                    .filter(|(_, flow)| {
                        !matches!(flow.to, Use::Text | Use::Name) || !known.contains(&flow.origin)
                    })
                    .map(|(at, flow)| Flow {
                        span: inner(action.span, &at),
                        ..flow
                    }),
            );
        }
        if kept == *before || round == ROUNDS {
            // What another action has stored, a third may have looked at in between.
            let elsewhere = |flow: &Flow| match flow.origin {
                Origin::Part { rule, .. } => flow.owner != Owner::Rule(rule),
                Origin::Input(_) => false,
            };
            let looked: BTreeSet<Origin> = tested
                .iter()
                .filter(|(_, about)| about.looks() != 0)
                .map(|(origin, _)| *origin)
                .collect();
            found.retain(|flow| !elsewhere(flow) || !looked.contains(&flow.origin));
            return found;
        }
    }
    Vec::new()
}

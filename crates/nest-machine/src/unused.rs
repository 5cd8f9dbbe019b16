//! What is declared and decides nothing: macros that are not used, states that are marked and never
//! asked for, or the other way round.
//!
//! Must not know: which states are reached (what is marked somewhere counts).

use crate::model::{ArgKind, Machine, What};
use nest_c::directives::States;
use nest_c::effects::Named;
use nest_diag::{Code as Diag, Diagnostic, FileId};
use nest_syntax::ast::{Decl, Spec};
use std::collections::{BTreeMap, BTreeSet};

/// W0102.
pub fn macros(spec: &Spec, used: &BTreeSet<String>, out: &mut Vec<Diagnostic>) {
    for decl in &spec.decls {
        let Decl::Macro(m) = decl else { continue };
        // An included file may hold macros for many specifications.
        if m.name.span.file == FileId(0) && !used.contains(&m.name.text) {
            let what = format!("the macro `{}` is not used", m.name.text);
            out.push(Diagnostic::new(Diag::W0102, m.name.span, what));
        }
    }
}

/// W0201; `tested`: what conditions ask for.
pub fn states(spec: &Spec, m: &Machine, mut tested: BTreeSet<u32>, out: &mut Vec<Diagnostic>) {
    let mut set = BTreeSet::new();
    let actions = m.rules.iter().map(|r| &r.action);
    let actions = actions.chain(m.timers.iter().map(|t| &t.action));
    let mut handed_on = false;
    for u in actions
        .chain(&m.start)
        .chain(&m.end)
        .chain(&m.overload)
        .flat_map(|a| &a.uses)
    {
        let What::Directive { directive, call } = &u.what else {
            continue;
        };
        let does = directive.does.states;
        handed_on |= does == States::HandsOn;
        for arg in call.iter().flat_map(|call| &call.args) {
            if let ArgKind::State(n) = arg.kind {
                match does {
                    States::Marks | States::Only => set.insert(n),
                    States::Tests | States::TestsLast => tested.insert(n),
                    _ => false,
                };
            }
        }
    }
    if handed_on {
        // A function that nest does not see may mark and ask for what it likes.
        let Some(named) = Named::of(&m.source()) else {
            return;
        };
        set.extend((0..64).filter(|n| named.marked >> n & 1 == 1));
        tested.extend((0..64).filter(|n| named.tested >> n & 1 == 1));
    }
    let declared = spec.decls.iter().filter_map(|d| match d {
        Decl::State(names) => Some(names),
        _ => None,
    });
    let numbers: BTreeMap<&str, u32> = m.states.iter().map(String::as_str).zip(0..).collect();
    for name in declared.flatten() {
        let Some(&n) = numbers.get(name.text.as_str()) else {
            continue;
        };
        if name.span.file != FileId(0) {
            continue; // As with macros.
        }
        let what = match (set.contains(&n), tested.contains(&n)) {
            (true, false) => "is set and never tested",
            (false, true) => "is tested and never set",
            (false, false) => "is not used",
            (true, true) => continue,
        };
        let what = format!("the state `{}` {what}", name.text);
        out.push(Diagnostic::new(Diag::W0201, name.span, what));
    }
}

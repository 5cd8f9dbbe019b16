//! The repeated elements of a rule whose repetitions its action uses.
//!
//! Must not know: how repetitions are found.

use crate::model::{Action, ArgKind, What};
use nest_c::directives::Form;
use nest_c::inner;
use nest_diag::{Code as Diag, Diagnostic};
use nest_pattern::{Hir, Nfa, REPEATED_LIMIT};
use std::collections::BTreeMap;

/// The NFA of each element (from 0) that directives ask for, and, if functions may ask for any
/// (`open`), of each other repeated one. `alone`: whether the NFA of an element can tell. `None` after
/// an error.
pub fn of(
    action: &Action,
    elements: &[Hir],
    alone: &[bool],
    open: bool,
    out: &mut Vec<Diagnostic>,
) -> Option<BTreeMap<u32, Nfa>> {
    let mut found = BTreeMap::new();
    let mut is_right = true;
    for u in &action.uses {
        let What::Directive {
            directive,
            call: Some(call),
        } = &u.what
        else {
            continue;
        };
        let Form::OfPart(part) = directive.form else {
            continue;
        };
        let Some(ArgKind::PartNumber(n)) = call.args.first().map(|a| a.kind.clone()) else {
            continue;
        };
        if !part.is_of_repetition() {
            continue;
        }
        let element = n.checked_sub(1);
        if element.is_some_and(|e| alone.get(e as usize) == Some(&false)) {
            let what =
                format!("the repetitions of part {n} cannot be found: only libpcre2 matches it");
            let help = "look for the repetitions in the action; or write `(?: )` for groups to which \
                        nothing refers";
            out.push(
                Diagnostic::new(Diag::E0402, inner(action.span, &call.args[0].at), what).help(help),
            );
            is_right = false;
            continue;
        }
        let nfa = element.and_then(|e| Nfa::repeated(elements.get(e as usize)?));
        let (code, what, help) = match (element, nfa) {
            (Some(element), Some(Ok(nfa))) => {
                found.insert(element, nfa);
                continue;
            }
            (_, Some(Err(_))) => (
                Diag::E0311,
                format!(
                    "the repetitions of part {n} cannot be found: it needs more than \
                     {REPEATED_LIMIT} states"
                ),
                "use smaller counts, or look for the repetitions in the action".to_string(),
            ),
            (None, _) => (
                Diag::E0402,
                "the whole match is not a repetition".to_string(),
                format!(
                    "write {} with the number of a repeated part",
                    directive.usage
                ),
            ),
            (_, None) => (
                Diag::E0402,
                format!("part {n} is not a repetition"),
                "put a group before `*`, `+` or `{n,m}`, with blanks only around the whole element"
                    .to_string(),
            ),
        };
        out.push(Diagnostic::new(code, inner(action.span, &call.args[0].at), what).help(help));
        is_right = false;
    }
    if open {
        for ((element, hir), alone) in (0u32..).zip(elements).zip(alone) {
            if *alone && let Some(Ok(nfa)) = Nfa::repeated(hir) {
                found.entry(element).or_insert(nfa);
            }
        }
    }
    is_right.then_some(found)
}

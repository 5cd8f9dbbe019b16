//! C globals that actions write, in models in which connections do not share them, or several threads
//! write them at once.
//!
//! What becomes of a global stands in the table of models. Must not know: C, how writes are found.

use crate::checker::Checker;
use nest_c::Owner;
use nest_c::globals::{Apart, Guard, Write, apart, writes};
use nest_diag::{Code, Diagnostic};
use nest_machine::{Feature, Kept, MODELS, Model};
use std::collections::BTreeSet;

/// What becomes of a variable that is written so. `several`: the specification asks for several
/// dispatchers; `beside`: its actions run beside the loop.
fn kept(model: &Model, several: bool, beside: bool, guard: Guard) -> Kept {
    match guard {
        _ if several && model.dispatchers => Kept::Copies,
        Guard::None if beside && model.globals.helpers == Kept::Race => Kept::Race,
        Guard::None => model.globals.plain,
        Guard::Lock => model.globals.locked,
        Guard::Helper => model.globals.helpers,
    }
}

impl Checker<'_> {
    /// W0501.
    pub(crate) fn globals(&mut self) {
        let m = self.m;
        let model = m.settings.model.row();
        let several = m.settings.several();
        let beside = m.features.contains(Feature::Processors);
        let mut reported = BTreeSet::new();
        for write in writes(&m.source()) {
            let kept = kept(model, several, beside, write.guard);
            if kept != Kept::Right && reported.insert(write.variable.clone()) {
                self.report_global(&write, kept);
            }
        }
        for found in apart(&m.source()) {
            if reported.insert(found.variable.clone()) {
                self.report_apart(&found);
            }
        }
    }

    fn report_apart(&mut self, found: &Apart) {
        let name = named(&found.variable, found.behind);
        let what = if found.written {
            format!("code of the server writes {name}, and actions do not see it")
        } else {
            format!("code of the server reads {name}, which only actions write")
        };
        let help = "%timer, %signal and %cache run in a process of their own, with a copy of its own; declare the \
                    variable in %shared";
        self.push(
            Diagnostic::new(Code::W0501, found.span, what).help(help),
            None,
        );
    }

    fn report_global(&mut self, write: &Write, found: Kept) {
        let m = self.m;
        let name = named(&write.variable, write.behind);
        let action = match write.owner {
            Owner::Rule(n) => called(&m.rules[n].label),
            Owner::Timer(n) => format!("TIMEOUT in {}", m.timers[n].label),
            Owner::Start => "START".to_string(),
            Owner::End => "END".to_string(),
            Owner::Overload => "OVERLOAD".to_string(),
        };
        let what = match found {
            Kept::Copies => format!(
                "the action of {action} writes {name}, and each process has a copy of its own"
            ),
            _ => format!(
                "the action of {action} writes {name}, and several threads may do so at the same time"
            ),
        };
        let selectable = MODELS.iter().filter(|model| !model.option.is_empty());
        let right =
            selectable.filter(|model| kept(model, false, false, write.guard) == Kept::Right);
        let several = m.settings.several();
        let right: Vec<&str> = right.map(|model| model.name).collect();
        let one = right.contains(&m.settings.model.row().name);
        let beside = m.features.contains(Feature::Processors);
        let one = match (several && one, beside && one) {
            (true, true) => " with one dispatcher and without processors",
            (true, false) => " with one dispatcher",
            (false, true) => " without processors",
            (false, false) => "",
        };
        let models = match right.as_slice() {
            [] => "it is right in no model".to_string(),
            [only] => format!("it is right only in the {only} model{one}"),
            [some @ .., last] => format!(
                "it is right in the {} and {last} models{one}",
                some.join(", ")
            ),
        };
        let instead = match found {
            _ if write.atomic => {
                "; if each process is to have its own, write `// nest: allow W0501, W0104 \"why\"`"
            }
            Kept::Copies => "",
            _ if write.behind => "",
            _ => "; or make it _Atomic",
        };
        let help = format!(
            "{models}; declare it in %shared for one value in every model, or after the first %% for a \
             value of each connection{instead}"
        );
        self.push(
            Diagnostic::new(Code::W0501, write.span, what).help(help),
            None,
        );
    }
}

/// What is written, in a sentence.
fn named(variable: &str, behind: bool) -> String {
    let before = if behind { "the memory behind " } else { "" };
    format!("{before}the C global `{variable}`")
}

/// A rule in a sentence.
fn called(label: &str) -> String {
    if label.starts_with("line ") {
        label.to_string()
    } else {
        format!("`{label}`")
    }
}

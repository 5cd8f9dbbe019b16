//! Option `processors`: what it does not go together with. Must not know: how actions reach a thread.

use super::row::OptionInfo;
use crate::model::Settings;
use nest_diag::{Code, Diagnostic};
use nest_syntax::ast::OptionDecl;

const OPTION: &str = "processors";

/// Options about what a loop does with actions of its own, and why they do not go together.
const OPTIONS: &[(&str, &str)] = &[
    (
        "inetd",
        "inetd may start a server for each connection, which has one action to run",
    ),
    (
        "actionTimeout",
        "it watches the loop, which no action of such a server delays",
    ),
];

/// E0604. `seen`: the options that are given.
pub(super) fn look(
    seen: &[(&'static OptionInfo, &OptionDecl)],
    settings: &Settings,
    out: &mut Vec<Diagnostic>,
) {
    let given = |name: &str| seen.iter().find(|(i, _)| i.name == name).map(|(_, d)| d);
    let Some(processors) = given(OPTION) else {
        return;
    };
    let row = settings.model.row();
    if row.workers != "loops" {
        let what = format!(
            "`processors` takes actions off a loop, and servers of the {} model have none",
            row.name
        );
        let help = "there each client has a process or a thread for its actions; choose eventServer or \
                    uringServer, or remove the option";
        out.push(Diagnostic::new(Code::E0604, processors.name.span, what).help(help));
        return;
    }
    let others = OPTIONS.iter();
    let others = others.filter_map(|(name, why)| given(name).map(|decl| (name, decl, why)));
    for (name, decl, why) in others {
        let what = format!("`{name}` and `processors` exclude each other");
        out.push(
            Diagnostic::new(Code::E0604, decl.name.span, what)
                .label(processors.name.span, "actions run beside the loop")
                .help(format!("{why}; remove one of the two")),
        );
    }
}

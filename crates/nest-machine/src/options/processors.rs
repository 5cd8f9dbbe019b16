//! Option `processors`: what it does not go together with. Must not know: how actions reach a thread.

use super::row::OptionInfo;
use crate::model::{Action, Machine, Settings, What};
use nest_c::{directives, inner};
use nest_diag::{Code, Diagnostic};
use nest_feature::Feature;
use nest_syntax::ast::{Decl, OptionDecl, Spec};

const OPTION: &str = "processors";

/// Options about what a loop does with actions of its own, and why they do not go together.
const OPTIONS: &[(&str, &str)] = &[
    (
        "inetd",
        "inetd may start a server for each connection, which has one action to run",
    ),
    (
        "priorities",
        "quotas divide the turns of a loop, and a thread has none",
    ),
    (
        "quota",
        "quotas divide the turns of a loop, and a thread has none",
    ),
    (
        "listenPriority",
        "quotas divide the turns of a loop, and a thread has none",
    ),
    (
        "actionTimeout",
        "it watches the loop, which no action of such a server delays",
    ),
];

/// What directives need of the loop, and cannot have from a thread beside it.
const FEATURES: &[(Feature, &str)] = &[
    (
        Feature::Channels,
        "connections that actions open belong to the loop",
    ),
    (
        Feature::StartTls,
        "only the loop can encrypt a connection that has begun",
    ),
];

const HELP: &str =
    "choose threadServer, whose actions have a thread each, or remove one of the two";

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

/// E0604: directives and functions of actions.
pub(crate) fn directives(spec: &Spec, m: &Machine, out: &mut Vec<Diagnostic>) {
    let options = spec.decls.iter().filter_map(|decl| match decl {
        Decl::Option(option) => Some(option),
        _ => None,
    });
    let Some(option) = options.into_iter().find(|o| o.name.text == OPTION) else {
        return;
    };
    for (feature, why) in FEATURES {
        if !m.features.contains(*feature) {
            continue;
        }
        let sites = actions(m).flat_map(|action| {
            let needs = |name: &str| {
                let mut needed = nest_feature::Features::default();
                needed.extend(directives::feature(name));
                needed.contains(*feature)
            };
            action.uses.iter().filter_map(move |u| match &u.what {
                What::Directive { directive, .. } if needs(directive.c) => {
                    Some((directive.word(), inner(action.span, &u.at)))
                }
                _ => None,
            })
        });
        let mut found = Diagnostic::new(
            Code::E0604,
            option.name.span,
            format!("an action on a thread of `processors` cannot do this: {why}"),
        );
        if let Some((word, span)) = sites.into_iter().next() {
            let what = format!("{word} in a server with `processors`: {why}");
            found = Diagnostic::new(Code::E0604, span, what)
                .label(option.name.span, "actions run beside the loop");
        }
        out.push(found.help(HELP));
    }
}

fn actions(m: &Machine) -> impl Iterator<Item = &Action> {
    let rules = m.rules.iter().map(|r| &r.action);
    let timers = m.timers.iter().map(|t| &t.action);
    rules
        .chain(timers)
        .chain(&m.start)
        .chain(&m.end)
        .chain(&m.overload)
}

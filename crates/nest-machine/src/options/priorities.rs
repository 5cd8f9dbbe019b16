//! Options of classes of clients: whether they fit together, and the model. Must not know: what else an
//! option does.

use super::row::OptionInfo;
use super::words::{is_mark, slashed};
use crate::model::Settings;
use nest_diag::{Code, Diagnostic};
use nest_syntax::ast::OptionDecl;

/// The quotas of so many classes that have none of their own: each has twice that of the next.
pub(super) fn quota(classes: u32) -> String {
    let quotas = (0..classes).rev().map(|n| (1 << n).to_string());
    quotas.collect::<Vec<_>>().join("/")
}

/// E0218 to E0220, E0222. `seen`: the options that are given.
pub(super) fn look(
    seen: &[(&'static OptionInfo, &OptionDecl)],
    settings: &Settings,
    out: &mut Vec<Diagnostic>,
) {
    let given = |name: &str| seen.iter().find(|(i, _)| i.name == name);
    let classes = settings.classes;
    let Some((_, priorities)) = given("priorities") else {
        for name in ["quota", "listenPriority"] {
            if let Some((_, decl)) = given(name) {
                let what = format!("`{name}` is about classes of clients, and there are none");
                let help = format!("add `%option priorities 2`, or remove `{name}`");
                out.push(Diagnostic::new(Code::E0220, decl.name.span, what).help(help));
            }
        }
        return;
    };
    let row = settings.model.row();
    if row.workers != "loops" {
        let what = format!(
            "`priorities` divides the turns of a loop, and servers of the {} model have none",
            row.name
        );
        let help = "there the kernel decides which of the clients goes on, and it knows no quotas; \
                    choose eventServer or uringServer, or remove the option";
        out.push(Diagnostic::new(Code::E0218, priorities.name.span, what).help(help));
        return;
    }
    if let Some((_, decl)) = given("quota") {
        let word = &decl.values[0];
        let n = slashed(&word.text).map_or(0, |quotas| quotas.len());
        if n != classes as usize {
            let what = format!("{n} quotas for {classes} classes");
            let help = format!(
                "write one for each class, that of class 1 first, as in {}",
                quota(classes)
            );
            out.push(
                Diagnostic::new(Code::E0219, word.span, what)
                    .label(priorities.values[0].span, "the number of classes")
                    .help(help),
            );
        }
    }
    let Some((_, decl)) = given("listenPriority") else {
        return;
    };
    let word = &decl.values[0];
    let of = slashed(&word.text).unwrap_or_default();
    let addresses = given("listen").map_or(1, |(_, listen)| {
        listen.values.iter().filter(|w| !is_mark(&w.text)).count()
    });
    if let Some(class) = of.iter().find(|class| **class > classes) {
        let what = format!("there is no class {class}");
        let help = format!("write a class from 1 to {classes} for each address");
        out.push(
            Diagnostic::new(Code::E0222, word.span, what)
                .label(priorities.values[0].span, "the number of classes")
                .help(help),
        );
    } else if of.len() > addresses {
        let what = format!("{} classes for {addresses} addresses", of.len());
        let help = "write a class for each address of listen, in their order";
        out.push(Diagnostic::new(Code::E0222, word.span, what).help(help));
    }
}

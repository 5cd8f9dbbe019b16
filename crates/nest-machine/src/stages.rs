//! `%decode`: the functions that received bytes pass before they are matched, and what cannot be combined
//! with them. Must not know: what the functions do.

use crate::model::{Filter, Framing, Machine, Stage};
use nest_c::Code;
use nest_diag::{Code as Diag, Diagnostic, SourceMap};
use nest_feature::Feature;
use nest_syntax::ast::{Decl, Spec, StageDecl};

fn decls(spec: &Spec) -> impl Iterator<Item = &StageDecl> {
    spec.decls.iter().filter_map(|decl| match decl {
        Decl::Stage(stage) => Some(stage),
        _ => None,
    })
}

/// The stages in the order in which they are written. Says E0103.
pub fn settle(sources: &SourceMap, spec: &Spec, out: &mut Vec<Diagnostic>) -> Vec<Stage> {
    let mut all: Vec<&StageDecl> = Vec::new();
    for decl in decls(spec) {
        match all.iter().find(|other| other.name.text == decl.name.text) {
            Some(first) => {
                let what = format!("`{}` is declared twice", decl.name.text);
                out.push(
                    Diagnostic::new(Diag::E0103, decl.name.span, what)
                        .label(first.name.span, "first declared here")
                        .help("give each stage a name of its own"),
                );
            }
            None => all.push(decl),
        }
    }
    let stage = |decl: &StageDecl| Stage {
        name: decl.name.text.clone(),
        span: decl.word.span,
        function: Code::at(sources, decl.function.span),
        state: decl.state.as_ref().map(|c| Code::at(sources, c.span)),
    };
    all.into_iter().map(stage).collect()
}

/// E0604: what reads the bytes of clients before they are decoded.
pub fn exclusions(spec: &Spec, m: &Machine, out: &mut Vec<Diagnostic>) {
    let Some(decl) = decls(spec).next() else {
        return;
    };
    if out.iter().any(Diagnostic::is_error) {
        return;
    }
    let reads = |f: &&Filter| f.program.splits() || f.program.name == "proxy";
    let (other, help) = if m.features.contains(Feature::Inetd) {
        (
            "`inetd`".to_string(),
            "a connection of inetd may be a pair of pipes; let the server listen itself",
        )
    } else if let Some(filter) = m.filters.iter().find(reads) {
        (
            format!("`%filter {}`", filter.program.name),
            "the filter would read messages that are still encoded; remove one of the two",
        )
    } else if m.features.contains(Feature::Proxied) {
        (
            "the word `proxy` of `listen`".to_string(),
            "the header of the proxy would be decoded, too; let clients connect to the server itself",
        )
    } else if m.settings.framing == Framing::Message {
        (
            "`framing message`".to_string(),
            "a stage knows a stream of bytes, and not where messages end; remove one of the two",
        )
    } else {
        return;
    };
    let what = format!("`{}` and {other} exclude each other", decl.word.text);
    out.push(Diagnostic::new(Diag::E0604, decl.word.span, what).help(help));
}

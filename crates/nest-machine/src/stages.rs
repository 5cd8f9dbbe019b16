//! `%decode` and `%encode`: the functions that received bytes pass before they are matched, and those that sent
//! bytes pass; and what cannot be combined with them. Must not know: what the functions do.

use crate::model::{Filter, Framing, Machine, Stage};
use nest_c::Code;
use nest_diag::{Code as Diag, Diagnostic, SourceMap};
use nest_feature::Feature;
use nest_syntax::ast::{Decl, Spec, StageDecl};

/// Those of one direction, in the order in which they are written.
fn decls<'s>(spec: &'s Spec, word: &'static str) -> impl Iterator<Item = &'s StageDecl> {
    spec.decls.iter().filter_map(move |decl| match decl {
        Decl::Stage(stage) if stage.word.text == word => Some(stage),
        _ => None,
    })
}

/// The stages of `%decode` and of `%encode`. Says E0103.
pub fn settle(
    sources: &SourceMap,
    spec: &Spec,
    out: &mut Vec<Diagnostic>,
) -> (Vec<Stage>, Vec<Stage>) {
    let decodes = way(sources, spec, "%decode", out);
    (decodes, way(sources, spec, "%encode", out))
}

fn way(
    sources: &SourceMap,
    spec: &Spec,
    word: &'static str,
    out: &mut Vec<Diagnostic>,
) -> Vec<Stage> {
    let mut all: Vec<&StageDecl> = Vec::new();
    for decl in decls(spec, word) {
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

/// E0604: what reads the bytes of clients before they are decoded, or cannot know what was encoded.
pub fn exclusions(spec: &Spec, m: &Machine, out: &mut Vec<Diagnostic>) {
    if out.iter().any(Diagnostic::is_error) {
        return;
    }
    let found = |word, excluded: Option<(String, &'static str)>, out: &mut Vec<Diagnostic>| {
        if let (Some(decl), Some((other, help))) = (decls(spec, word).next(), excluded) {
            let what = format!("`{word}` and {other} exclude each other");
            out.push(Diagnostic::new(Diag::E0604, decl.word.span, what).help(help));
        }
    };
    found("%decode", excluded_from_input(m), out);
    found("%encode", excluded_from_output(m), out);
}

/// A filter that reads messages.
fn reader(m: &Machine) -> Option<String> {
    let reads = |filter: &&Filter| filter.program.splits();
    let filter = m.filters.iter().find(reads)?;
    Some(format!("`%filter {}`", filter.program.name))
}

fn framed(m: &Machine) -> Option<(String, &'static str)> {
    (m.settings.framing == Framing::Message).then(|| {
        let help =
            "a stage knows a stream of bytes, and not where messages end; remove one of the two";
        ("`framing message`".to_string(), help)
    })
}

fn excluded_from_input(m: &Machine) -> Option<(String, &'static str)> {
    let proxy = |filter: &Filter| filter.program.name == "proxy";
    if m.features.contains(Feature::Inetd) {
        return Some((
            "`inetd`".to_string(),
            "a connection of inetd may be a pair of pipes; let the server listen itself",
        ));
    }
    let filter = reader(m).or_else(|| {
        m.filters
            .iter()
            .any(proxy)
            .then(|| "`%filter proxy`".to_string())
    });
    if let Some(filter) = filter {
        let help = "the filter would read messages that are still encoded; remove one of the two";
        return Some((filter, help));
    }
    if m.features.contains(Feature::Proxied) {
        return Some((
            "the word `proxy` of `listen`".to_string(),
            "the header of the proxy would be decoded, too; let clients connect to the server itself",
        ));
    }
    framed(m)
}

fn excluded_from_output(m: &Machine) -> Option<(String, &'static str)> {
    if let Some(filter) = reader(m) {
        let help = "the filter splits a connection among servers, and each would begin to encode anew; remove one of \
                    the two";
        return Some((filter, help));
    }
    framed(m)
}

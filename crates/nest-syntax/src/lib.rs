//! Parses the text of a specification into its syntax tree.
//!
//! The only entry point is [`parse`]. It never fails: it returns what it understood, and
//! diagnostics. Must not know: files (a [`Loader`] reads them), and what names stand for beyond
//! their kind.

pub mod ast;
mod cond;
mod csource;
mod decls;
mod delimit;
mod loader;
mod lookahead;
mod macros;
mod names;
mod pattern;
mod reader;
mod rules;
mod server_code;
mod stages;

pub use loader::{Alone, Loader};
use nest_diag::{Diagnostic, FileId, REMARK, SourceMap, Span};
use std::collections::BTreeMap;

/// Parses the specification `name`, whose text is `text`, and what it includes.
/// All diagnostics of all files come back, in order of position.
pub fn parse(
    name: &str,
    text: &str,
    loader: &mut dyn Loader,
) -> (SourceMap, ast::Spec, Vec<Diagnostic>) {
    let mut all = decls::Declarations::new(loader);
    all.file(name, text.to_owned());
    let decls::Declarations {
        sources,
        units,
        decls,
        mut names,
        mut diags,
        ..
    } = all;
    names.backtracking = decls.iter().any(allows_backtracking);
    let mut spec = ast::Spec {
        decls: macros::resolve(decls, &units, &mut names, &mut diags),
        ..ast::Spec::default()
    };
    for unit in &units {
        let Some(start) = unit.rules else { continue };
        let mut section = rules::parse(&unit.source, start, &names);
        spec.locals.append(&mut section.locals);
        spec.rules.append(&mut section.rules);
        spec.startup.extend(section.startup);
        diags.append(&mut section.diags);
    }
    remarks(&units, &mut spec);
    diags.sort_by_key(|d| (d.span.file, d.span.start));
    (sources, spec, diags)
}

/// Whether it is `%option backtracking yes`, which extends the syntax of patterns.
fn allows_backtracking(raw: &decls::Raw) -> bool {
    let decls::Raw::Done(ast::Decl::Option(option)) = raw else {
        return false;
    };
    let yes = option.values.first().is_some_and(|v| v.text == "yes");
    option.name.text == "backtracking" && yes
}

/// Collects the comments for the compiler: those that the parsers found, and those in C code.
fn remarks(units: &[decls::Unit], spec: &mut ast::Spec) {
    let mut found: BTreeMap<(FileId, usize), usize> = BTreeMap::new();
    for unit in units {
        let met = unit.source.remarks.borrow();
        found.extend(met.iter().map(|(at, end)| ((unit.source.file, *at), *end)));
    }
    let declared = spec.decls.iter().flat_map(|decl| match decl {
        ast::Decl::Prologue(c) => vec![c],
        ast::Decl::Code(decl) => vec![&decl.code],
        ast::Decl::Shared(decl) => {
            let code = decl.code.iter();
            std::iter::once(&decl.declarations).chain(code).collect()
        }
        _ => Vec::new(),
    });
    let actions = spec.rules.iter().map(|r| &r.action);
    let c = declared.chain(&spec.locals).chain(&spec.startup);
    for c in c.chain(actions).filter(|c| c.text.contains(REMARK)) {
        let from = c.span.start as usize;
        let comments = csource::comments(c.text.as_bytes()).into_iter();
        let ours = comments.filter(|(at, end)| c.text[*at..*end].contains(REMARK));
        found.extend(ours.map(|(at, end)| ((c.span.file, from + at), from + end)));
    }
    let span = |((file, at), end)| Span::new(file, at, end);
    spec.remarks = found.into_iter().map(span).collect();
}

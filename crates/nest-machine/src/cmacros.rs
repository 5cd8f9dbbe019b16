//! The specification's C macros whose bodies name per-connection variables: each is written again
//! behind the record. Must not know: what a use becomes, the declarations of the variables.

use crate::model::{Action, Code, MacroFix, Use, What};
use nest_c::inner;
use nest_c::lexer;
use nest_c::scope::{self, Names};
use nest_diag::{Code as Diag, Diagnostic, SourceMap, Span};
use nest_syntax::ast::CText;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;
use tree_sitter::Parser;

/// Finds the macros whose bodies name variables.
pub fn fixes(
    sources: &SourceMap,
    pieces: &[&CText],
    parser: &mut Parser,
    names: &Names,
    out: &mut Vec<Diagnostic>,
) -> Vec<MacroFix> {
    if names.is_empty() {
        return Vec::new();
    }
    let all: Vec<(Span, MacroFix)> = pieces
        .iter()
        .flat_map(|text| macros_of(sources, text, parser, names))
        .collect();
    let mut fixed: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, fix) in &all {
        *fixed.entry(&fix.name).or_default() += usize::from(!fix.rest.uses.is_empty());
    }
    let mut met: BTreeSet<&str> = BTreeSet::new();
    for (span, fix) in &all {
        // Which definition holds is known to the preprocessor alone.
        if !met.insert(&fix.name) && fixed[fix.name.as_str()] > 0 {
            let what = format!("the macro `{}` is defined twice", fix.name);
            let help = "a macro that names per-connection variables can have only one \
                definition: let it use a second macro that differs";
            out.push(Diagnostic::new(Diag::E0103, *span, what).help(help));
        }
    }
    all.into_iter()
        .map(|(_, fix)| fix)
        .filter(|fix| !fix.rest.uses.is_empty())
        .collect()
}

/// Every macro, its uses of variables if it has any.
fn macros_of(
    sources: &SourceMap,
    text: &CText,
    parser: &mut Parser,
    names: &Names,
) -> Vec<(Span, MacroFix)> {
    let mut found = Vec::new();
    for at in lexer::preprocessor(&text.text) {
        if let Some(rest) = text.text[at.clone()].strip_prefix("define") {
            let start = at.end - rest.trim_start().len();
            found.extend(macro_fix(sources, text, start..at.end, parser, names));
        }
    }
    found
}

fn macro_fix(
    sources: &SourceMap,
    text: &CText,
    at: Range<usize>,
    parser: &mut Parser,
    names: &Names,
) -> Option<(Span, MacroFix)> {
    let whole = &text.text[at.clone()];
    let name_len = whole
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
        .count();
    let (name, rest) = whole.split_at(name_len);
    let body = match rest.strip_prefix('(') {
        Some(r) => rest.len() - r.len() + r.find(')')? + 1,
        None => 0,
    };
    let params: Vec<&str> = rest[..body]
        .trim_matches(['(', ')'])
        .split(',')
        .map(str::trim)
        .collect();
    let uses = scope::macro_uses(parser, &rest[body..], names, &params)
        .into_iter()
        .map(|(r, i)| Use {
            at: body + r.start..body + r.end,
            what: What::Variable(i),
        })
        .collect();
    let span = inner(text.span, &(at.start + name_len..at.end));
    let fix = MacroFix {
        name: name.to_string(),
        rest: Action {
            code: Code::at(sources, span),
            span,
            uses,
            body: OnceLock::new(),
        },
    };
    let named = inner(text.span, &(at.start..at.start + name_len));
    (!name.is_empty()).then_some((named, fix))
}

//! C functions of a specification that can be called only inside `$lock`: they call a function of nest.h
//! that needs the lock, or such a function. Must not know: where actions call them.

use nest_c::directives::{self, InLock};
use nest_c::lexer::{self, Kind};
use nest_c::scope::declared;
use nest_diag::{Code, Diagnostic};
use nest_syntax::ast::{CText, Decl, Spec};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tree_sitter::{Node, Parser};

/// Whether this function of nest.h needs the lock.
pub fn needs_lock(name: &str) -> bool {
    let how = directives::does(name).in_lock;
    matches!(how, InLock::Only | InLock::Recovers)
}

/// The functions; says E0805 where the start-up section calls one.
pub fn needing_lock(
    spec: &Spec,
    parser: &mut Parser,
    out: &mut Vec<Diagnostic>,
) -> BTreeSet<String> {
    let prologues = spec.decls.iter().filter_map(|decl| match decl {
        Decl::Prologue(text) => Some(text),
        _ => None,
    });
    let texts: Vec<&CText> = prologues.chain(&spec.startup).collect();
    let named = |text: &&CText| {
        let tokens = lexer::tokens(&text.text);
        let mut names = tokens.iter().filter(|t| t.kind == Kind::Name);
        names.any(|t| needs_lock(&text.text[t.at.clone()]))
    };
    if !texts.iter().any(named) {
        return BTreeSet::new();
    }
    let mut calls: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut outside: Vec<(&CText, Range<usize>)> = Vec::new();
    for text in &texts {
        let Some(tree) = parser.parse(&text.text, None) else {
            continue;
        };
        let mut cursor = tree.walk();
        let items: Vec<Node<'_>> = tree.root_node().children(&mut cursor).collect();
        for item in items {
            let name = item.child_by_field_name("declarator").and_then(declared);
            let function = item.kind() == "function_definition";
            let found = called(&text.text, item);
            let asking = found.iter().filter(|at| asks(&text.text[(*at).clone()]));
            out.extend(asking.map(|at| hidden(text, at)));
            match name.filter(|_| function) {
                Some(name) => calls
                    .entry(text.text[name.byte_range()].to_string())
                    .or_default()
                    .extend(found.iter().map(|at| text.text[at.clone()].to_string())),
                None => outside.extend(found.into_iter().map(|at| (*text, at))),
            }
        }
    }
    let mut inside: BTreeSet<String> = BTreeSet::new();
    loop {
        let more: Vec<String> = calls
            .iter()
            .filter(|(name, _)| !inside.contains(*name))
            .filter(|(_, called)| called.iter().any(|c| needs_lock(c) || inside.contains(c)))
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            break;
        }
        inside.extend(more);
    }
    for (text, at) in outside {
        let word = &text.text[at.clone()];
        if needs_lock(word) || inside.contains(word) {
            out.push(refused(text, &at, word));
        }
    }
    inside
}

/// Whether this function of nest.h asks whether a holder of the lock has died.
pub fn asks(name: &str) -> bool {
    directives::does(name).in_lock == InLock::Recovers
}

/// E0805 at a call that the lock does not know of: only a lock whose text asks goes on after a death.
pub fn hidden(text: &CText, at: &Range<usize>) -> Diagnostic {
    let word = &text.text[at.clone()];
    let name = directives::becoming(word).map_or(word, |d| d.usage);
    let what = format!("`{word}` is called as a function of C");
    Diagnostic::new(Code::E0805, nest_c::inner(text.span, at), what).help(format!(
        "write {name} in $lock {{ … }}, and pass the answer to C functions"
    ))
}

/// E0805 at a call.
pub fn refused(text: &CText, at: &Range<usize>, word: &str) -> Diagnostic {
    let what = format!("`{word}` outside $lock");
    Diagnostic::new(Code::E0805, nest_c::inner(text.span, at), what)
        .help("what it uses belongs to all connections: write $lock { … } around it")
}

/// The names of functions that are called.
fn called(text: &str, root: Node<'_>) -> Vec<Range<usize>> {
    let (mut found, mut todo) = (Vec::new(), vec![root]);
    while let Some(node) = todo.pop() {
        let name = node.child_by_field_name("function");
        let name =
            name.filter(|name| node.kind() == "call_expression" && name.kind() == "identifier");
        found.extend(name.map(|name| name.byte_range()));
        let mut cursor = node.walk();
        todo.extend(node.named_children(&mut cursor));
    }
    found.retain(|at| !text[at.clone()].is_empty());
    found
}

//! Per-connection variables that actions may change: what one message leaves for the next.
//!
//! Only uses that certainly read are left out; a variable whose address is taken, or an array that a
//! function gets, may be changed. START's action is not looked at: it prepares each connection. Must not
//! know: states, who asks.

use crate::action::{Action, Arg, What, inner};
use crate::directives::Reads;
use crate::read::Read;
use crate::scope::{BODY, parser};
use crate::source::{Owner, Source};
use nest_diag::Span;
use std::collections::BTreeSet;
use std::ops::Range;
use tree_sitter::Node;

/// A use of a variable that may change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The variable, by its number.
    pub variable: usize,
    /// Where.
    pub span: Span,
}

/// The first such use of each variable in the actions of rules and TIMEOUT rules, and in macros.
/// `depth` tells how often a variable must be dereferenced until it is a number; `None`: its type is
/// not known.
#[must_use]
pub fn changes(m: &Source<'_>, depth: impl Fn(usize) -> Option<usize>) -> Vec<Change> {
    let mut parser = parser();
    let mut found = Vec::new();
    let mut met = BTreeSet::new();
    let mut add = |action: &Action, variable: usize, at: &Range<usize>| {
        if met.insert(variable) {
            let span = inner(action.span, at);
            found.push(Change { variable, span });
        }
    };
    for (owner, action) in m.actions() {
        if owner == Owner::Start || owner.is_last() {
            continue;
        }
        let read = Read::of(action, &mut parser);
        for (variable, at) in variables(action) {
            let node = read.body().and_then(|body| {
                let (start, end) = (at.start + BODY.len(), at.end + BODY.len());
                body.descendant_for_byte_range(start, end)
            });
            let reads = node.is_some_and(|node| is_read(read.text, node, depth(variable)));
            if !reads && !is_shown(action, at.start) {
                add(action, variable, &at);
            }
        }
    }
    for action in &m.macros {
        for (variable, at) in variables(action) {
            add(action, variable, &at);
        }
    }
    found
}

/// The variables in an action, and where.
fn variables(action: &Action) -> impl Iterator<Item = (usize, Range<usize>)> {
    action.uses.iter().filter_map(|u| match u.what {
        What::Variable(n) => Some((n, u.at.clone())),
        _ => None,
    })
}

/// Whether a place begins an argument that only names a variable, or a part of one, in a call of a
/// directive that does not write to its arguments.
fn is_shown(action: &Action, at: usize) -> bool {
    let names = |arg: &Arg| {
        let text = &action.code.text[arg.at.clone()];
        let start = arg.at.start + (text.len() - text.trim_start().len());
        let part = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
        start == at && text.trim().chars().all(part)
    };
    action.uses.iter().any(|u| match &u.what {
        What::Directive {
            directive,
            call: Some(call),
        } => {
            let writes = matches!(directive.does.reads, Reads::Into(_));
            directive.does.replies && !writes && call.args.iter().any(names)
        }
        _ => false,
    })
}

/// Whether an expression that names a variable only reads it. `depth`: how often it is to be
/// dereferenced until it is a number.
fn is_read(text: &str, name: Node<'_>, depth: Option<usize>) -> bool {
    let mut node = name;
    let mut left = depth;
    if node.kind() != "identifier" {
        return false;
    }
    while let Some(parent) = node.parent() {
        let is = |field: &str| parent.child_by_field_name(field) == Some(node);
        match parent.kind() {
            "parenthesized_expression" => {}
            "subscript_expression" if is("argument") => left = left.and_then(|n| n.checked_sub(1)),
            "pointer_expression" if text[parent.byte_range()].starts_with('*') => {
                left = left.and_then(|n| n.checked_sub(1));
            }
            "pointer_expression" | "update_expression" => return false,
            "assignment_expression" if is("left") => return false,
            // What a member is, is not known.
            "field_expression" => left = None,
            "if_statement" | "while_statement" | "switch_statement" => return true,
            "binary_expression" if left != Some(0) => {}
            _ => return left == Some(0),
        }
        node = parent;
    }
    false
}

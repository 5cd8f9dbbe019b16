//! E0411: the session stored where it outlives its action: in a variable of the connection, a global, or a
//! static variable. Must not know: what actions do with it otherwise.
//!
//! Seen are assignments of the bare word to something that is not a local variable. A pointer that a
//! local holds may point anywhere, so what is stored through it is not looked at.

use crate::context::Context;
use crate::model::{Use, What};
use nest_c::directives::Form;
use nest_c::inner;
use nest_c::scope;
use nest_diag::{Code, Diagnostic};
use nest_syntax::ast::CText;
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// Checks an action. `plain`: the text as C.
pub fn check(cx: &mut Context<'_>, text: &CText, uses: &[Use], plain: &str) {
    let is_self = |u: &&Use| match &u.what {
        What::Directive { directive, .. } => directive.form == Form::Plain,
        _ => false,
    };
    let sessions: BTreeMap<usize, &Use> = uses
        .iter()
        .filter(is_self)
        .map(|u| (u.at.start + scope::BODY.len(), u))
        .collect();
    if sessions.is_empty() {
        return;
    }
    let Some(tree) = scope::body(cx.parser, plain) else {
        return;
    };
    let whole = format!("{}{plain}\n}}", scope::BODY);
    let mut found = Found {
        text: &whole,
        locals: BTreeSet::new(),
        statics: BTreeSet::new(),
        stored: Vec::new(),
    };
    found.walk(tree.root_node());
    for (value, name) in &found.stored {
        let outlives = found.statics.contains(name) || !found.locals.contains(name);
        if let Some(u) = sessions.get(value)
            && outlives
        {
            let word = &text.text[u.at.clone()];
            let what = format!("`{word}` is stored in `{name}`, which outlives the action");
            cx.out.push(
                Diagnostic::new(Code::E0411, inner(text.span, &u.at), what).help(
                    "a session may be used only by the action that was given it: store $id(), and \
                     reach the connection by $send",
                ),
            );
        }
    }
}

struct Found<'a> {
    text: &'a str,
    locals: BTreeSet<String>,
    statics: BTreeSet<String>,
    /// Where an assigned value begins, and the variable that it is assigned to.
    stored: Vec<(usize, String)>,
}

impl Found<'_> {
    fn word(&self, node: Node<'_>) -> String {
        self.text[node.byte_range()].to_string()
    }

    /// All declarations and assignments. Takes no stack, however the text nests.
    fn walk(&mut self, root: Node<'_>) {
        let mut cursor = root.walk();
        loop {
            let node = cursor.node();
            match node.kind() {
                "declaration" => self.declaration(node),
                "assignment_expression" => self.assignment(node),
                _ => {}
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    fn declaration(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let is_static = children
            .iter()
            .any(|n| n.kind() == "storage_class_specifier" && self.word(*n) != "register");
        for child in node.children_by_field_name("declarator", &mut node.walk()) {
            let declarator = child.child_by_field_name("declarator").unwrap_or(child);
            if let Some(name) = scope::declared(declarator) {
                let name = self.word(name);
                if is_static {
                    self.statics.insert(name.clone());
                }
                self.locals.insert(name);
            }
        }
    }

    fn assignment(&mut self, node: Node<'_>) {
        let (Some(left), Some(right)) = (
            node.child_by_field_name("left"),
            node.child_by_field_name("right"),
        ) else {
            return;
        };
        if let Some(name) = base(left) {
            self.stored
                .push((bare(right).start_byte(), self.word(name)));
        }
    }
}

/// The value without parentheses and casts.
fn bare(mut node: Node<'_>) -> Node<'_> {
    while let Some(inside) = match node.kind() {
        "parenthesized_expression" => node.named_child(0),
        "cast_expression" => node.child_by_field_name("value"),
        _ => None,
    } {
        node = inside;
    }
    node
}

/// The variable of which this is a part.
fn base(mut node: Node<'_>) -> Option<Node<'_>> {
    loop {
        node = match node.kind() {
            "identifier" => return Some(node),
            "parenthesized_expression" => node.named_child(0)?,
            "field_expression" | "subscript_expression" | "pointer_expression" => {
                node.child_by_field_name("argument")?
            }
            _ => return None,
        };
    }
}

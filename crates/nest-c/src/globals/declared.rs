//! The variables that declarations declare, and which of them connections share. Must not know: who
//! writes them.

use crate::leads::Global;
use crate::library::children;
use crate::members::{Types, is_atomic};
use crate::scope::path_to_name;
use std::collections::BTreeMap;
use tree_sitter::Node;

/// What stands at file scope.
#[derive(Default)]
pub(super) struct Declared<'t> {
    /// The variables that every connection shares.
    pub(super) globals: BTreeMap<String, Global>,
    /// Static pointers, which no other file of C names, and the values that they are declared with.
    pub(super) pointers: BTreeMap<String, Vec<Node<'t>>>,
    /// What the parser could not read, and static variables whose address is a value: these texts
    /// may name pointers in ways that are not seen.
    pub(super) unclear: Vec<&'t str>,
}

impl<'t> Declared<'t> {
    /// Reads it.
    pub(super) fn of(text: &'t str, root: Node<'t>, types: &Types) -> Declared<'t> {
        let mut found = Declared::default();
        let mut todo = vec![root];
        while let Some(node) = todo.pop() {
            let inside = matches!(
                node.kind(),
                "translation_unit" | "linkage_specification" | "declaration_list"
            );
            if inside || node.kind().starts_with("preproc_") {
                todo.extend(children(node));
                continue;
            }
            if node.has_error() {
                found.unclear.push(&text[node.byte_range()]);
            }
            if node.kind() == "declaration" {
                found.globals.extend(shared(text, node, types));
                found.pointers(text, node);
            }
        }
        found
    }

    fn pointers(&mut self, text: &'t str, declaration: Node<'t>) {
        let words = children(declaration).into_iter();
        let words: Vec<&str> = words.map(|child| &text[child.byte_range()]).collect();
        let is_static = words.contains(&"static") && !words.iter().any(|word| is_apart(word));
        let mut cursor = declaration.walk();
        for declarator in declaration.children_by_field_name("declarator", &mut cursor) {
            let value = declarator.child_by_field_name("value");
            let inner = value.and_then(|_| declarator.child_by_field_name("declarator"));
            let path = path_to_name(inner.unwrap_or(declarator)).unwrap_or_default();
            let Some((name, around)) = path.split_last() else {
                continue;
            };
            let is_pointer = |node: &Node<'_>| node.kind() == "pointer_declarator";
            let name = text[name.byte_range()].to_string();
            if is_static && !around.is_empty() && around.iter().all(is_pointer) {
                self.pointers.entry(name).or_default().extend(value);
            } else if let Some(value) = value {
                self.unclear.push(&text[value.byte_range()]);
            }
        }
    }
}

/// Whether this specifier makes a variable one of a thread, or one of another file.
fn is_apart(word: &str) -> bool {
    matches!(
        word,
        "extern" | "_Thread_local" | "thread_local" | "__thread"
    )
}

/// The variables of a declaration, without constants, and without those that are of one thread, or
/// defined elsewhere.
pub(super) fn shared(text: &str, declaration: Node<'_>, types: &Types) -> Vec<(String, Global)> {
    let base = types.before(text, declaration);
    let mut constant = false;
    for child in children(declaration) {
        let word = &text[child.byte_range()];
        if is_apart(word) {
            return Vec::new();
        }
        constant |= matches!(word, "const" | "constexpr");
    }
    let mut cursor = declaration.walk();
    let declarators = declaration.children_by_field_name("declarator", &mut cursor);
    let variable = |declarator: Node<'_>| {
        let mut node = declarator;
        if node.kind() == "init_declarator" {
            node = node.child_by_field_name("declarator")?;
        }
        let path = path_to_name(node)?;
        let (name, around) = path.split_last()?;
        let around = around.iter().rev();
        let mut around = around.filter(|node| node.kind() != "parenthesized_declarator");
        let mut next = around.next();
        let mut dimensions = 0;
        while next.is_some_and(|node| node.kind() == "array_declarator") {
            dimensions += 1;
            next = around.next();
        }
        let pointer = next.filter(|node| node.kind() == "pointer_declarator");
        if next.is_some() && pointer.is_none() {
            return None; // a function
        }
        let atomic = match pointer {
            // `char *const name`, `char *_Atomic name`
            Some(pointer) => {
                let qualified = children(*pointer).into_iter();
                let words: Vec<&str> = qualified.map(|child| &text[child.byte_range()]).collect();
                if words.contains(&"const") {
                    return None;
                }
                words.iter().any(|word| is_atomic(word))
            }
            None if constant => return None,
            None => {
                dimensions += base.dimensions;
                base.atomic
            }
        };
        let global = Global { dimensions, atomic };
        Some((text[name.byte_range()].to_string(), global))
    };
    declarators.filter_map(variable).collect()
}

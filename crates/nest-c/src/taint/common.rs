//! What the walks of all actions share: the functions that they may call, and what declarations say of
//! arrays, constants and formats. Must not know: statements.

use super::buffers::{Buffer, Buffers};
use crate::lexer::{self, Kind};
use crate::library::Library;
use crate::scope::declared;
use crate::source::Source;
use std::cell::Cell;
use std::collections::BTreeMap;
use tree_sitter::{Node, Parser};

/// What is the same for all actions.
pub struct Common<'a, 'p> {
    pub library: &'a Library<'p>,
    pub buffers: Buffers,
    /// The capacities of variables that outlive actions, by their keys.
    pub sizes: BTreeMap<String, u64>,
    /// Functions that are declared to take a format, and which argument that is.
    pub formats: BTreeMap<String, usize>,
    /// The steps that are left.
    pub work: Cell<usize>,
}

impl<'a, 'p> Common<'a, 'p> {
    /// Reads the declarations at file scope, whose tree is `root`, and those of variables.
    pub fn of(
        m: &Source<'_>,
        library: &'a Library<'p>,
        root: Option<Node<'_>>,
        parser: &mut Parser,
    ) -> Common<'a, 'p> {
        let mut buffers = Buffers::default();
        let mut sizes = BTreeMap::new();
        let mut formats = BTreeMap::new();
        if let Some(root) = root {
            buffers.read(library.text, root, parser);
            let mut cursor = root.walk();
            for node in root.named_children(&mut cursor) {
                if node.kind() == "declaration" {
                    let all = buffers.declared(library.text, node);
                    sizes.extend(all.into_iter().map(|buffer| size("@", buffer)));
                    formats.extend(declared_format(library.text, node));
                }
            }
        }
        for variables in &m.variables {
            for declarator in &variables.declarators {
                let text = format!("{} {};", variables.specifiers.text, declarator.text);
                let Some(tree) = parser.parse(&text, None) else {
                    continue;
                };
                buffers.read(&text, tree.root_node(), parser);
                if let Some(node) = tree.root_node().named_child(0) {
                    let all = buffers.declared(&text, node);
                    sizes.extend(all.into_iter().map(|buffer| size("#", buffer)));
                }
            }
        }
        Common {
            library,
            buffers,
            sizes,
            formats,
            work: Cell::new(0),
        }
    }
}

fn size(prefix: &str, buffer: Buffer) -> (String, u64) {
    let rows = if buffer.many { "[]" } else { "" };
    (format!("{prefix}{}{rows}", buffer.name), buffer.bytes)
}

/// A function that a declaration says takes a format, and which argument that is.
fn declared_format(text: &str, declaration: Node<'_>) -> Option<(String, usize)> {
    let name = declaration
        .child_by_field_name("declarator")
        .and_then(declared)?;
    let inside = &text[declaration.byte_range()];
    let tokens = lexer::tokens(inside);
    let word = |n: usize| tokens.get(n).map_or("", |t| &inside[t.at.clone()]);
    let number = |n: usize| word(n).parse::<usize>().ok()?.checked_sub(1);
    let at = (0..tokens.len())
        .filter(|n| tokens[*n].kind == Kind::Name)
        .find_map(|n| match (word(n), word(n + 2).trim_matches('_')) {
            ("format" | "__format__", "printf" | "gnu_printf") => number(n + 4),
            ("NEST_FORMAT", _) => number(n + 2),
            _ => None,
        })?;
    Some((text[name.byte_range()].to_string(), at))
}

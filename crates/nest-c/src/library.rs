//! The C around the actions, as far as it matters to states: functions that may be given a session,
//! and macros that may hide one. Must not know: what a function does.

use crate::action::Code;
use crate::directives::{self, SELF};
use crate::lexer::{self, Kind, Token};
use crate::scope::{declared, path_to_name};
use crate::source::Source;
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::{Node, Parser, Tree};

/// Words that lead elsewhere than to the next statement.
const JUMPS: [&str; 6] = ["return", "goto", "break", "continue", "case", "default"];

/// The C text, parsed.
pub struct Parsed {
    text: String,
    tree: Option<Tree>,
}

impl Parsed {
    /// Of a machine, all that stands at file scope.
    pub fn of(m: &Source<'_>, parser: &mut Parser) -> Parsed {
        let mut text = String::new();
        for code in &m.file_scope {
            text.push_str(&code.text);
            text.push('\n');
        }
        let tree = parser.parse(&text, None);
        Parsed { text, tree }
    }

    /// Its tree.
    pub fn root(&self) -> Option<Node<'_>> {
        Some(self.tree.as_ref()?.root_node())
    }
}

/// A definition of a function.
pub struct Function<'p> {
    /// Its body.
    pub body: Node<'p>,
    /// The list of its parameters.
    pub list: Node<'p>,
    /// The names of its parameters.
    pub parameters: Vec<Option<&'p str>>,
}

/// All that actions may call or name.
pub struct Library<'p> {
    /// The text in which functions stand.
    pub text: &'p str,
    /// By name; under conditions of the preprocessor there may be several.
    pub functions: BTreeMap<&'p str, Vec<Function<'p>>>,
    /// Macros, and whether they may do more than a function that is given no session.
    pub macros: BTreeMap<String, bool>,
    /// Files of the user's come in, and a macro of theirs may leave an action.
    pub may_leave: bool,
    /// Some code jumps out of functions: no order is certain.
    pub jumps: bool,
}

impl<'p> Library<'p> {
    /// Reads it.
    pub fn of(m: &Source<'_>, parsed: &'p Parsed) -> Library<'p> {
        let mut library = Library {
            text: &parsed.text,
            functions: BTreeMap::new(),
            macros: BTreeMap::new(),
            may_leave: false,
            jumps: false,
        };
        if let Some(tree) = &parsed.tree {
            library.functions(tree.root_node());
        }
        let actions = m.actions().filter(|(owner, _)| !owner.is_last());
        let actions = actions.map(|(_, action)| &action.code);
        let locals = m.variables.iter().map(|v| v.specifiers);
        let pieces: Vec<&str> = std::iter::once(parsed.text.as_str())
            .chain(actions.chain(locals).map(|c: &Code| c.text.as_str()))
            .collect();
        let defined: Vec<(String, &str)> = pieces.iter().flat_map(|t| defines(t)).collect();
        library.may_leave = pieces.iter().any(|text| includes_a_file(text));
        library.jumps = pieces.iter().any(|text| {
            let jump = |t: &Token| {
                let word = text[t.at.clone()].trim_start_matches('_');
                t.kind == Kind::Name && (word.starts_with("setjmp") || word.ends_with("longjmp"))
            };
            lexer::tokens(text).iter().any(jump)
        });
        library.macros(&defined);
        library
    }

    fn functions(&mut self, root: Node<'p>) {
        let mut todo = vec![root];
        while let Some(node) = todo.pop() {
            match node.kind() {
                "function_definition" => self.function(node),
                "translation_unit" | "linkage_specification" | "declaration_list" => {
                    todo.extend(children(node));
                }
                kind if kind.starts_with("preproc_") => todo.extend(children(node)),
                _ => {}
            }
        }
    }

    fn function(&mut self, node: Node<'p>) {
        let Some(body) = node.child_by_field_name("body") else {
            return;
        };
        let path = node
            .child_by_field_name("declarator")
            .and_then(path_to_name);
        let Some((name, around)) = path.as_deref().and_then(<[_]>::split_last) else {
            return;
        };
        // The list of parameters that stands right behind the name.
        let mut inside_out = around.iter().rev();
        let function = inside_out.find(|n| n.kind() == "function_declarator");
        let Some(list) = function.and_then(|n| n.child_by_field_name("parameters")) else {
            return;
        };
        let parameters = parameters(self.text, list);
        let name = &self.text[name.byte_range()];
        let function = Function {
            body,
            list,
            parameters,
        };
        self.functions.entry(name).or_default().push(function);
    }

    /// A macro does more if it jumps, changes states, names a session other than as the first
    /// argument of a function of `nest.h`, or names a macro that does.
    fn macros(&mut self, defined: &[(String, &str)]) {
        let mut sessions: BTreeSet<&str> = BTreeSet::from([SELF]);
        let all = self.functions.values().flatten();
        sessions.extend(all.flat_map(|f| f.parameters.iter().flatten().copied()));
        let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, body) in defined {
            let tokens = lexer::tokens(body);
            let word = |i: usize| &body[tokens[i].at.clone()];
            let names = (0..tokens.len()).filter(|i| tokens[*i].kind == Kind::Name);
            let more = names.clone().any(|i| {
                let given = i >= 2 && word(i - 1) == "(" && word(i - 2).starts_with("nest_");
                JUMPS.contains(&word(i))
                    || directives::does(word(i)).changes()
                    || (sessions.contains(word(i)) && !given)
            });
            *self.macros.entry(name.clone()).or_default() |= more;
            uses.entry(name).or_default().extend(names.map(word));
        }
        loop {
            let more = |name: &&str| self.macros.get(*name).copied().unwrap_or(false);
            let found: Vec<&str> = uses
                .iter()
                .filter(|(name, used)| !more(name) && used.iter().any(more))
                .map(|(name, _)| *name)
                .collect();
            if found.is_empty() {
                return;
            }
            for name in found {
                self.macros.insert(name.to_string(), true);
            }
        }
    }
}

/// The names in a list of parameters.
pub fn parameters<'t>(text: &'t str, list: Node<'_>) -> Vec<Option<&'t str>> {
    let all = children(list).into_iter();
    let all = all.filter(|p| p.kind() == "parameter_declaration");
    let names = all.map(|p| p.child_by_field_name("declarator").and_then(declared));
    names.map(|n| n.map(|n| &text[n.byte_range()])).collect()
}

/// The named children of a node, comments left out.
pub fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .filter(|child| child.kind() != "comment")
        .collect()
}

/// Each line of the preprocessor: the text behind its `#`.
pub fn preprocessor(text: &str) -> impl Iterator<Item = &str> {
    lexer::preprocessor(text).into_iter().map(|at| &text[at])
}

/// The macros that a text defines: names, and what stands behind them.
pub fn defines(text: &str) -> Vec<(String, &str)> {
    let defined = preprocessor(text).filter_map(|line| line.strip_prefix("define"));
    let named = defined.filter_map(|line| {
        let line = line.trim_start();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = line.find(|c| !is_name(c)).unwrap_or(line.len());
        (end > 0).then(|| (line[..end].to_string(), &line[end..]))
    });
    named.collect()
}

/// `#include "…"`, rather than `<…>`.
fn includes_a_file(text: &str) -> bool {
    let mut included = preprocessor(text).filter_map(|line| line.strip_prefix("include"));
    included.any(|what| !what.trim_start().starts_with('<'))
}

//! C sections outside actions: the per-connection declarations and the start-up section, sorted
//! by what each item is. Must not know: the record that is emitted, directives' meanings.

use crate::model::{Action, Code, Group, Locals, Startup, Use, Variable, What};
use nest_c::lexer::{self, Kind};
use nest_c::scope::{self, Names, Place, declared};
use nest_diag::{Code as Diag, Diagnostic, SourceMap, Span};
use nest_syntax::ast::CText;
use std::ops::Range;
use std::sync::OnceLock;
use tree_sitter::{Node, Parser};

/// Whose variables are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each connection has its own.
    Connection,
    /// All connections share them.
    Server,
}

impl Scope {
    /// In a sentence.
    fn adjective(self) -> &'static str {
        match self {
            Scope::Connection => "per-connection",
            Scope::Server => "shared",
        }
    }
}

/// Reads the declarations of variables.
pub fn locals(
    sources: &SourceMap,
    pieces: &[CText],
    scope: Scope,
    parser: &mut Parser,
    out: &mut Vec<Diagnostic>,
) -> (Locals, Names) {
    let mut reader = Reader {
        sources,
        scope,
        parser,
        out,
        locals: Locals::default(),
        names: Names::new(),
    };
    for text in pieces {
        reader.read(text);
    }
    (reader.locals, reader.names)
}

fn actions_span(text: &CText, at: &Range<usize>) -> Span {
    nest_c::inner(text.span, at)
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

fn declarators(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children_by_field_name("declarator", &mut cursor)
        .collect()
}

/// The first place that is no C to the parser.
fn first_error(root: Node<'_>) -> Option<Range<usize>> {
    if !root.has_error() {
        return None;
    }
    let mut todo = vec![root];
    let mut best: Option<Range<usize>> = None;
    while let Some(node) = todo.pop() {
        if node.is_error() || node.is_missing() {
            let r = node.byte_range();
            if best.as_ref().is_none_or(|b| r.start < b.start) {
                best = Some(r);
            }
        } else if node.has_error() {
            todo.extend(children(node));
        }
    }
    best
}

/// Whether a declarator declares a function rather than an object.
fn is_prototype(declarator: Node<'_>) -> bool {
    let path = scope::path_to_name(declarator).unwrap_or_default();
    let around = path.split_last().map_or(&[][..], |(_, around)| around);
    let mut inside_out = around.iter().rev();
    let around = inside_out.find(|n| n.kind() != "parenthesized_declarator");
    around.is_some_and(|n| n.kind() == "function_declarator")
}

fn storage<'t>(node: Node<'t>, text: &str) -> Option<(Node<'t>, String)> {
    children(node)
        .into_iter()
        .find(|c| c.kind() == "storage_class_specifier")
        .map(|c| (c, text[c.byte_range()].to_string()))
}

fn is_type_only(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "struct_specifier" | "union_specifier" | "enum_specifier" | "type_definition"
    ) || node.kind().starts_with("preproc_")
}

/// What stands between an `#if` and its `#endif`, in all branches.
#[derive(Default)]
struct Conditional {
    /// Variables and functions with bodies.
    holds_objects: bool,
    /// What only main can hold: statements, and variables that are not static.
    holds_statements: bool,
    /// What only file scope can hold.
    holds_file_scope: bool,
}

impl Conditional {
    fn of(node: Node<'_>, text: &str) -> Conditional {
        let mut found = Conditional::default();
        let branch = |n: Node<'_>| {
            ["preproc_if", "preproc_el"]
                .iter()
                .any(|k| n.kind().starts_with(k))
        };
        let mut todo = vec![node];
        while let Some(node) = todo.pop().filter(|n| branch(*n)) {
            let head = ["name", "condition"].map(|f| node.child_by_field_name(f).map(|n| n.id()));
            for child in children(node) {
                match child.kind() {
                    _ if branch(child) => todo.push(child),
                    "declaration" => {
                        let prototypes = declarators(child).iter().all(|d| is_prototype(*d));
                        found.holds_objects |= !prototypes;
                        found.holds_statements |= !prototypes && storage(child, text).is_none();
                    }
                    "function_definition" => {
                        found.holds_objects = true;
                        found.holds_file_scope = true;
                    }
                    "preproc_include" => found.holds_file_scope = true,
                    "comment" | ";" => {}
                    _ if is_type_only(child) || head.contains(&Some(child.id())) => {}
                    _ => found.holds_statements |= child.is_named(),
                }
            }
        }
        found
    }
}

struct Reader<'a> {
    sources: &'a SourceMap,
    scope: Scope,
    parser: &'a mut Parser,
    out: &'a mut Vec<Diagnostic>,
    locals: Locals,
    names: Names,
}

impl Reader<'_> {
    fn report(&mut self, code: Diag, text: &CText, at: Range<usize>, message: String, help: &str) {
        self.out
            .push(Diagnostic::new(code, actions_span(text, &at), message).help(help));
    }

    fn code(&self, text: &CText, at: Range<usize>) -> Code {
        Code::at(self.sources, actions_span(text, &at))
    }

    fn read(&mut self, text: &CText) {
        let Some(tree) = self.parser.parse(&text.text, None) else {
            return;
        };
        if let Some(at) = first_error(tree.root_node()) {
            let what = "this cannot be read as C declarations".to_string();
            let help = match self.scope {
                Scope::Connection => {
                    "before the first rule stand per-connection declarations, each with its `;`; \
                     %{ %} around them if they do not begin with a type"
                }
                Scope::Server => "write C declarations, each with its `;`",
            };
            return self.report(Diag::E0502, text, at, what, help);
        }
        for node in children(tree.root_node()) {
            let at = node.byte_range();
            match node.kind() {
                "comment" | ";" => {}
                "declaration" => self.declaration(text, node),
                "function_definition" => {
                    let what = format!("a function among the {} variables", self.scope.adjective());
                    let help = "put it into %{ %} or into the start-up section";
                    self.report(Diag::E0501, text, at, what, help);
                }
                _ if Conditional::of(node, &text.text).holds_objects => {
                    let what = format!("{} variables under a condition", self.scope.adjective());
                    let help = "declare them without it, or declare a struct type under it";
                    self.report(Diag::E0501, text, at, what, help);
                }
                _ if is_type_only(node) => self.no_variable(text, node),
                _ => {
                    let what = "this is not a declaration".to_string();
                    let help = match self.scope {
                        Scope::Connection => {
                            "before the first rule stand per-connection declarations; \
                             statements belong into START's action"
                        }
                        Scope::Server => "statements belong into the second block",
                    };
                    self.report(Diag::E0502, text, at, what, help);
                }
            }
        }
    }

    /// A type, a prototype or preprocessor lines: to file scope as they are.
    fn no_variable(&mut self, text: &CText, node: Node<'_>) {
        let at = node.byte_range();
        let uses = if node.kind().starts_with("preproc_") {
            Vec::new()
        } else {
            scope::uses_in(&text.text, node, &self.names)
        };
        let mut specifiers = self.code(text, at.clone());
        if !node.kind().starts_with("preproc_") && !specifiers.text.ends_with(';') {
            specifiers.text.push(';');
        }
        self.locals.groups.push(Group {
            specifiers,
            uses: variable_uses(uses, at.start),
            variables: Vec::new(),
        });
    }

    fn declaration(&mut self, text: &CText, node: Node<'_>) {
        let all = declarators(node);
        let plain = |d: &Node<'_>| d.kind() != "init_declarator";
        if all.iter().all(|d| plain(d) && is_prototype(*d)) {
            return self.no_variable(text, node);
        }
        if let Some((at, word)) = storage(node, &text.text) {
            let what = format!("a {} variable cannot be `{word}`", self.scope.adjective());
            let help = match word.as_str() {
                "static" if self.scope == Scope::Connection => {
                    "declare what all connections share in %shared"
                }
                _ => "remove the word",
            };
            return self.report(Diag::E0501, text, at.byte_range(), what, help);
        }
        let is_aligned = |c: &Node<'_>| {
            let word = &text.text[c.byte_range()];
            word.starts_with("_Alignas") || word.starts_with("alignas")
        };
        if let Some(aligned) = children(node).into_iter().find(is_aligned) {
            let what = format!(
                "a {} variable cannot have an alignment of its own",
                self.scope.adjective()
            );
            let help = "give it to a member: struct { _Alignas(16) char bytes[32]; } name";
            return self.report(Diag::E0501, text, aligned.byte_range(), what, help);
        }
        let first = all[0].start_byte();
        let specifiers = node.start_byte()..first;
        let spec_text = &text.text[specifiers.clone()];
        let is_const = lexer::tokens(spec_text)
            .iter()
            .any(|t| t.kind == Kind::Name && &spec_text[t.at.clone()] == "const");
        let spec_uses = children(node)
            .into_iter()
            .filter(|c| c.end_byte() <= first)
            .flat_map(|c| scope::uses_in(&text.text, c, &self.names))
            .collect();
        let mut group = Group {
            specifiers: self.code(text, specifiers),
            uses: variable_uses(spec_uses, node.start_byte()),
            variables: Vec::new(),
        };
        for declarator in all {
            if let Some(variable) = self.variable(text, declarator, is_const) {
                let index = self.locals.variables.len();
                group.variables.push(index);
                self.locals.variables.push(variable);
            }
        }
        self.locals.groups.push(group);
    }

    fn variable(&mut self, text: &CText, node: Node<'_>, is_const: bool) -> Option<Variable> {
        let init = node.kind() == "init_declarator";
        let declarator = if init {
            node.child_by_field_name("declarator")?
        } else {
            node
        };
        let value = if init {
            node.child_by_field_name("value")
        } else {
            None
        };
        let path = scope::path_to_name(declarator)?;
        let (name_node, around) = path.split_last()?;
        let name = text.text[name_node.byte_range()].to_string();
        if is_prototype(declarator) {
            let what = format!("`{name}` is a function among variables");
            self.report(
                Diag::E0501,
                text,
                name_node.byte_range(),
                what,
                "declare it separately",
            );
            return None;
        }
        if name.starts_with("nest_") {
            let what = format!("`{name}`: names that begin with nest_ are nest's");
            self.report(
                Diag::E0504,
                text,
                name_node.byte_range(),
                what,
                "choose another name",
            );
            return None;
        }
        if self.names.contains_key(&name) {
            let what = format!("`{name}` is declared twice");
            self.report(
                Diag::E0103,
                text,
                name_node.byte_range(),
                what,
                "choose another name",
            );
            return None;
        }
        let innermost = around.last().copied();
        let is_array = innermost.is_some_and(|p| p.kind() == "array_declarator");
        let unsized_array =
            is_array && innermost.is_some_and(|p| p.child_by_field_name("size").is_none());
        if unsized_array && value.is_none() {
            let what = format!("`{name}` has no size");
            let help = "write the size, or an initialiser that gives it";
            self.report(Diag::E0501, text, declarator.byte_range(), what, help);
            return None;
        }
        let base = declarator.start_byte();
        let hole = name_node.start_byte() - base..name_node.end_byte() - base;
        let found = scope::declarator_uses(&text.text, declarator, &self.names);
        let measured = measured(declarator);
        let is_measured = |at: &Range<usize>| {
            let before = measured.partition_point(|m| m.start <= at.start);
            measured[..before].last().is_some_and(|m| at.end <= m.end)
        };
        if let Some((at, _)) = found.iter().find(|(at, _)| !is_measured(at)) {
            let what = format!("the size of `{name}` is not constant");
            let at = at.clone();
            let help = match self.scope {
                Scope::Connection => {
                    "a connection's record has one size; allocate with $keep in START"
                }
                Scope::Server => "the size must be known when the server is compiled",
            };
            self.report(Diag::E0501, text, at, what, help);
            return None;
        }
        let index = self.locals.variables.len();
        self.names.insert(name.clone(), index);
        let object_const = match innermost {
            Some(p) if p.kind() == "pointer_declarator" => children(p)
                .iter()
                .any(|c| c.kind() == "type_qualifier" && &text.text[c.byte_range()] == "const"),
            Some(p) if p.kind() == "parenthesized_declarator" => false,
            _ => is_const,
        };
        let initialiser = value.map(|v| self.initialiser(text, v));
        let is_list = value.is_some_and(|v| v.kind() == "initializer_list");
        Some(Variable {
            name,
            declarator: self.code(text, declarator.byte_range()),
            hole,
            uses: variable_uses(found, base),
            unsized_array,
            aggregate: is_array || is_list || object_const,
            initialiser,
        })
    }

    fn initialiser(&mut self, text: &CText, value: Node<'_>) -> Action {
        let at = value.byte_range();
        let plain = text.text[at.clone()].to_string();
        let found = scope::uses(self.parser, &plain, Place::Initialiser, &self.names);
        Action {
            span: actions_span(text, &at),
            code: self.code(text, at),
            uses: variable_uses(found, 0),
            body: OnceLock::new(),
        }
    }
}

/// The operands of `sizeof` and `alignof` in a declarator, in order, the outermost ones only.
fn measured(declarator: Node<'_>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut todo = vec![declarator];
    while let Some(node) = todo.pop() {
        if matches!(node.kind(), "sizeof_expression" | "alignof_expression") {
            found.push(node.byte_range());
        } else {
            todo.extend(children(node).into_iter().rev());
        }
    }
    found
}

/// Uses found in a text, from `base` on in it.
fn variable_uses(found: Vec<(Range<usize>, usize)>, base: usize) -> Vec<Use> {
    found
        .into_iter()
        .map(|(at, i)| Use {
            at: at.start - base..at.end - base,
            what: What::Variable(i),
        })
        .collect()
}

/// Sorts the start-up section.
pub fn startup(
    sources: &SourceMap,
    pieces: &[CText],
    parser: &mut Parser,
    out: &mut Vec<Diagnostic>,
) -> Startup {
    let mut startup = Startup::default();
    for text in pieces {
        let Some(tree) = parser.parse(&text.text, None) else {
            continue;
        };
        if let Some(at) = first_error(tree.root_node()) {
            out.push(
                Diagnostic::new(Diag::E0502, actions_span(text, &at), "this is not valid C").help(
                    "the C code after the second `%%` runs once, at the start: write rules \
                    before it, and code that needs the preprocessor in %{ %}",
                ),
            );
            continue;
        }
        crate::actions::no_directives(text, "the start-up section", out);
        for node in children(tree.root_node()) {
            startup_item(sources, text, node, &mut startup, out);
        }
    }
    startup
}

fn startup_item(
    sources: &SourceMap,
    text: &CText,
    node: Node<'_>,
    startup: &mut Startup,
    out: &mut Vec<Diagnostic>,
) {
    let code = |at: Range<usize>| Code::at(sources, actions_span(text, &at));
    let at = node.byte_range();
    match node.kind() {
        "comment" | ";" => {}
        "function_definition" => {
            let name = node.child_by_field_name("declarator").and_then(declared);
            if name.is_some_and(|n| &text.text[n.byte_range()] == "main") {
                let span = actions_span(text, &name.map_or(at, |n| n.byte_range()));
                out.push(
                    Diagnostic::new(
                        Diag::E0503,
                        span,
                        "`main` is defined in the start-up \
                        section",
                    )
                    .help(
                        "the section is the beginning of main: write the statements without a \
                         function",
                    ),
                );
                return;
            }
            let body = node
                .child_by_field_name("body")
                .map_or(at.end, |b| b.start_byte());
            let mut prototype = code(at.start..body);
            // A comment may stand before the body, up to the end of its line.
            prototype.text = format!("{}\n;", prototype.text.trim_end());
            startup.file_scope.push(prototype);
            startup.functions.push(code(at));
        }
        "declaration" => {
            let prototypes = declarators(node).iter().all(|d| is_prototype(*d));
            if prototypes || storage(node, &text.text).is_some_and(|(_, w)| w != "register") {
                startup.file_scope.push(code(at));
            } else {
                startup.main.push(code(at));
            }
        }
        kind if kind.starts_with("preproc_if") => {
            let inside = Conditional::of(node, &text.text);
            if inside.holds_statements && inside.holds_file_scope {
                out.push(
                    Diagnostic::new(
                        Diag::E0502,
                        actions_span(text, &at),
                        "statements beside functions or an #include under one condition",
                    )
                    .help("give the statements a condition of their own"),
                );
            } else if inside.holds_statements {
                startup.main.push(code(at));
            } else {
                startup.file_scope.push(code(at));
            }
        }
        _ if is_type_only(node) => {
            let mut item = code(at);
            if !node.kind().starts_with("preproc_") && !item.text.ends_with(';') {
                item.text.push(';');
            }
            startup.file_scope.push(item);
        }
        _ => startup.main.push(code(at)),
    }
}

//! C sections outside actions: the per-connection declarations and the start-up section, sorted
//! by what each item is. Must not know: the record that is emitted, directives' meanings.

use crate::ctext::{self, Kind};
use crate::model::{Action, Code, Group, Locals, MacroFix, Startup, Use, Variable, What};
use crate::scope::{self, Names, Place, declared};
use nest_diag::{Code as Diag, Diagnostic, SourceMap, Span};
use nest_syntax::ast::CText;
use std::ops::Range;
use tree_sitter::{Node, Parser};

/// Reads the per-connection declarations.
pub fn locals(
    sources: &SourceMap,
    texts: &[CText],
    parser: &mut Parser,
    out: &mut Vec<Diagnostic>,
) -> (Locals, Names) {
    let mut reader = Reader {
        sources,
        parser,
        out,
        locals: Locals::default(),
        names: Names::new(),
    };
    for text in texts {
        reader.read(text);
    }
    (reader.locals, reader.names)
}

/// Finds the macros whose bodies name variables.
pub fn macros(sources: &SourceMap, texts: &[&CText], names: &Names) -> Vec<MacroFix> {
    texts
        .iter()
        .flat_map(|text| macros_of(sources, text, names))
        .collect()
}

fn macros_of(sources: &SourceMap, text: &CText, names: &Names) -> Vec<MacroFix> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.text.len() {
        let end = logical_line_end(&text.text, at);
        let line = &text.text[at..end];
        let define = line.trim_start().strip_prefix('#').map(str::trim_start);
        if let Some(rest) = define.and_then(|l| l.strip_prefix("define")) {
            let rest = rest.trim_start();
            let start = at + (line.len() - rest.len());
            found.extend(macro_fix(sources, text, start..end, names));
        }
        at = end + 1;
    }
    found
}

fn macro_fix(
    sources: &SourceMap,
    text: &CText,
    at: Range<usize>,
    names: &Names,
) -> Option<MacroFix> {
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
    let uses: Vec<Use> = scope::token_uses(&rest[body..], names, &params)
        .into_iter()
        .map(|(r, i)| Use {
            at: body + r.start..body + r.end,
            what: What::Variable(i),
        })
        .collect();
    let span = actions_span(text, &(at.start + name_len..at.end));
    (!uses.is_empty() && !name.is_empty()).then(|| MacroFix {
        name: name.to_string(),
        rest: Action {
            code: Code::at(sources, span),
            uses,
        },
    })
}

fn logical_line_end(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        match text[at..].find('\n') {
            None => return text.len(),
            Some(n) if text[..at + n].trim_end_matches('\r').ends_with('\\') => at += n + 1,
            Some(n) => return at + n,
        }
    }
}

fn actions_span(text: &CText, at: &Range<usize>) -> Span {
    crate::actions::inner(text.span, at)
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

/// Whether a declaration declares a function rather than an object.
fn is_prototype(declarator: Node<'_>) -> bool {
    match declarator.kind() {
        "function_declarator" => declarator
            .child_by_field_name("declarator")
            .is_some_and(|d| d.kind() == "identifier"),
        "pointer_declarator" => declarator
            .child_by_field_name("declarator")
            .is_some_and(is_prototype),
        _ => false,
    }
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

struct Reader<'a> {
    sources: &'a SourceMap,
    parser: &'a mut Parser,
    out: &'a mut Vec<Diagnostic>,
    locals: Locals,
    names: Names,
}

impl Reader<'_> {
    fn say(&mut self, code: Diag, text: &CText, at: Range<usize>, message: String, help: &str) {
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
            let help = "before the first rule stand per-connection declarations; %{ %} around them \
                        if they do not begin with a type";
            return self.say(Diag::E0502, text, at, what, help);
        }
        for node in children(tree.root_node()) {
            let at = node.byte_range();
            match node.kind() {
                "comment" | ";" => {}
                "declaration" => self.declaration(text, node),
                "function_definition" => {
                    let what = "a function among the per-connection variables".to_string();
                    let help = "put it into %{ %} or into the start-up section";
                    self.say(Diag::E0501, text, at, what, help);
                }
                _ if is_type_only(node) => {
                    let mut code = self.code(text, at);
                    if !node.kind().starts_with("preproc_") && !code.text.ends_with(';') {
                        code.text.push(';');
                    }
                    self.locals.file_scope.push(code);
                }
                _ => {
                    let what = "this is no declaration".to_string();
                    let help = "before the first rule stand per-connection declarations; \
                                statements belong into START's action";
                    self.say(Diag::E0502, text, at, what, help);
                }
            }
        }
    }

    fn declaration(&mut self, text: &CText, node: Node<'_>) {
        let all = declarators(node);
        let plain = |d: &Node<'_>| d.kind() != "init_declarator";
        if all.iter().all(|d| plain(d) && is_prototype(*d)) {
            let code = self.code(text, node.byte_range());
            self.locals.file_scope.push(code);
            return;
        }
        if let Some((at, word)) = storage(node, &text.text) {
            let what = format!("a per-connection variable cannot be `{word}`");
            let help = match word.as_str() {
                "static" => "what all connections share belongs into %{ %}",
                _ => "remove the word",
            };
            return self.say(Diag::E0501, text, at.byte_range(), what, help);
        }
        let first = all[0].start_byte();
        let specifiers = node.start_byte()..first;
        let spec_text = &text.text[specifiers.clone()];
        let is_const = ctext::tokens(spec_text)
            .iter()
            .any(|t| t.kind == Kind::Name && &spec_text[t.at.clone()] == "const");
        let spec_uses = variable_uses(scope::token_uses(spec_text, &self.names, &[]));
        let mut group = Group {
            specifiers: self.code(text, specifiers),
            uses: spec_uses,
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
        let name_node = declared(declarator)?;
        let name = text.text[name_node.byte_range()].to_string();
        if is_prototype(declarator) {
            let what = format!("`{name}` is a function among variables");
            self.say(
                Diag::E0501,
                text,
                name_node.byte_range(),
                what,
                "declare it apart",
            );
            return None;
        }
        if name.starts_with("nest_") {
            let what = format!("`{name}`: names that begin with nest_ are nest's");
            self.say(
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
            self.say(
                Diag::E0103,
                text,
                name_node.byte_range(),
                what,
                "choose another name",
            );
            return None;
        }
        let innermost = name_node.parent().filter(|p| p.id() != node.id());
        let is_array = innermost.is_some_and(|p| p.kind() == "array_declarator");
        let unsized_array =
            is_array && innermost.is_some_and(|p| p.child_by_field_name("size").is_none());
        if unsized_array && value.is_none() {
            let what = format!("`{name}` has no size");
            let help = "write the size, or an initialiser that gives it";
            self.say(Diag::E0501, text, declarator.byte_range(), what, help);
            return None;
        }
        let base = declarator.start_byte();
        let whole = &text.text[declarator.byte_range()];
        let hole = name_node.start_byte() - base..name_node.end_byte() - base;
        let uses = variable_uses(scope::token_uses(whole, &self.names, &[&name]));
        if let Some(u) = uses
            .iter()
            .find(|u| !whole[..u.at.start].contains("sizeof"))
        {
            let what = format!("the size of `{name}` is not constant");
            let at = base + u.at.start..base + u.at.end;
            let help = "a connection's record has one size; allocate with $keep in START";
            self.say(Diag::E0501, text, at, what, help);
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
            uses,
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
            code: self.code(text, at),
            uses: variable_uses(found),
        }
    }
}

fn variable_uses(found: Vec<(Range<usize>, usize)>) -> Vec<Use> {
    found
        .into_iter()
        .map(|(at, i)| Use {
            at,
            what: What::Variable(i),
        })
        .collect()
}

/// Sorts the start-up section.
pub fn startup(
    sources: &SourceMap,
    texts: &[CText],
    parser: &mut Parser,
    out: &mut Vec<Diagnostic>,
) -> Startup {
    let mut startup = Startup::default();
    for text in texts {
        let Some(tree) = parser.parse(&text.text, None) else {
            continue;
        };
        if let Some(at) = first_error(tree.root_node()) {
            out.push(
                Diagnostic::new(
                    Diag::E0502,
                    actions_span(text, &at),
                    "this cannot be read as C",
                )
                .help("what only a preprocessor can read belongs into %{ %} or another C file"),
            );
            continue;
        }
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
                    Diagnostic::new(Diag::E0503, span, "a main in the start-up section").help(
                        "the section itself is main's beginning: write the statements without it",
                    ),
                );
                return;
            }
            let body = node
                .child_by_field_name("body")
                .map_or(at.end, |b| b.start_byte());
            let mut prototype = code(at.start..body);
            prototype.text = format!("{};", prototype.text.trim_end());
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

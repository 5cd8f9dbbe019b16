//! Where C text uses a per-connection variable, by a real C parser: a local of the same name
//! shadows it, a struct member, a label or a tag is another thing.
//!
//! C cannot be parsed without its types (`a * b;`), but a per-connection name is never a type, so
//! where the grammar guesses a type of that name it is an expression. Must not know: directives
//! (the caller hides them), what a use becomes.

use crate::lexer::{self, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tree_sitter::{Node, Parser};

/// Names of per-connection variables and their numbers.
pub type Names = BTreeMap<String, usize>;

/// What the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The inside of a function's body.
    Body,
    /// An initialiser: an expression or a braced list.
    Initialiser,
}

/// A C parser.
///
/// # Panics
/// Never: the grammar is linked in and fits the library (a test holds it).
#[must_use]
pub fn parser() -> Parser {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_c::LANGUAGE.into())
        .expect("the C grammar is of the library's version");
    parser
}

/// What makes a body a function; as many bytes stand in front of it in [`body`]'s tree. No variable of the
/// user has its name, which would hide the variable.
pub const BODY: &str = "void nest_f(void) {";

/// The tree of a function's body.
pub fn body(parser: &mut Parser, code: &str) -> Option<tree_sitter::Tree> {
    parser.parse(format!("{BODY}{code}\n}}"), None)
}

/// The inside of a function's body as the parser reads it, and its tree.
#[derive(Clone, Debug)]
pub struct Body {
    /// With what makes it a function.
    pub text: String,
    /// None if the parser gave up.
    pub tree: Option<tree_sitter::Tree>,
}

impl Body {
    /// Parses it.
    pub fn of(parser: &mut Parser, code: &str) -> Body {
        let text = format!("{BODY}{code}\n}}");
        let tree = parser.parse(&text, None);
        Body { text, tree }
    }

    /// What stands between the braces, with them; none if the parser gave up.
    pub(crate) fn root(&self) -> Option<Node<'_>> {
        let function = self.tree.as_ref()?.root_node().child(0)?;
        function.child_by_field_name("body")
    }

    /// Every use of a name of `names`, by position.
    pub fn uses(&self, names: &Names) -> Vec<(Range<usize>, usize)> {
        let inside = BODY.len()..self.text.len() - "\n}".len();
        let tree = self.tree.as_ref();
        tree.map_or_else(Vec::new, |tree| found(&self.text, tree, inside, names))
    }
}

/// Every use of a name of `names` in `code`, by position.
pub fn uses(
    parser: &mut Parser,
    code: &str,
    place: Place,
    names: &Names,
) -> Vec<(Range<usize>, usize)> {
    if names.is_empty() {
        return Vec::new();
    }
    let before = match place {
        Place::Body => return Body::of(parser, code).uses(names),
        Place::Initialiser => "int nest_f = ",
    };
    let text = format!("{before}{code}\n;");
    let inside = before.len()..before.len() + code.len();
    let tree = parser.parse(&text, None);
    tree.map_or_else(Vec::new, |tree| found(&text, &tree, inside, names))
}

/// The uses that lie `inside`, from its start on.
fn found(
    text: &str,
    tree: &tree_sitter::Tree,
    inside: Range<usize>,
    names: &Names,
) -> Vec<(Range<usize>, usize)> {
    let mut found = walk(text, names, Step::Visit(tree.root_node()));
    found.retain(|(r, _)| r.start >= inside.start && r.end <= inside.end);
    for (r, _) in &mut found {
        *r = r.start - inside.start..r.end - inside.start;
    }
    found
}

/// Every use in `node` of a tree of `text`.
#[must_use]
pub fn uses_in(text: &str, node: Node<'_>, names: &Names) -> Vec<(Range<usize>, usize)> {
    walk(text, names, Step::Visit(node))
}

/// Every use in a declarator: in its sizes and parameters.
#[must_use]
pub fn declarator_uses(text: &str, node: Node<'_>, names: &Names) -> Vec<(Range<usize>, usize)> {
    walk(text, names, Step::Declarator(node))
}

fn walk(text: &str, names: &Names, from: Step<'_>) -> Vec<(Range<usize>, usize)> {
    let mut walk = Walk {
        text,
        names,
        scopes: vec![BTreeSet::new()],
        shadows: BTreeMap::new(),
        found: Vec::new(),
    };
    walk.run(from);
    walk.found.sort_by_key(|(r, _)| r.start);
    walk.found.dedup();
    walk.found
}

/// Uses in the body of a macro with the parameters `params`. A body that is an expression or
/// statements is parsed, so that its own locals shadow; any other is only tokens.
pub fn macro_uses(
    parser: &mut Parser,
    body: &str,
    names: &Names,
    params: &[&str],
) -> Vec<(Range<usize>, usize)> {
    let tokens = token_uses(body, names, params);
    if tokens.is_empty() {
        return tokens;
    }
    let text = format!("void f(void) {{{body}\n;}}");
    match parser.parse(&text, None) {
        Some(tree) if !tree.root_node().has_error() => {
            let mut left = names.clone();
            left.retain(|name, _| !params.contains(&name.as_str()));
            uses(parser, &format!("{body}\n;"), Place::Body, &left)
        }
        _ => tokens,
    }
}

/// Uses in text that is only tokens to C (macro bodies): names not behind `.` or `->`, not beside
/// `#` or `##` and not in `except`.
#[must_use]
pub fn token_uses(code: &str, names: &Names, except: &[&str]) -> Vec<(Range<usize>, usize)> {
    let tokens = lexer::tokens(code);
    let mut found = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let text = &code[token.at.clone()];
        let member = i > 0
            && (tokens[i - 1].kind == Kind::Punct(b'.')
                || (i > 1
                    && tokens[i - 1].kind == Kind::Punct(b'>')
                    && tokens[i - 2].kind == Kind::Punct(b'-')
                    && tokens[i - 2].at.end == tokens[i - 1].at.start));
        let pasted = (i > 0 && tokens[i - 1].kind == Kind::Punct(b'#'))
            || tokens
                .get(i + 1)
                .is_some_and(|t| t.kind == Kind::Punct(b'#'));
        if token.kind == Kind::Name
            && !member
            && !pasted
            && !except.contains(&text)
            && let Some(index) = names.get(text)
        {
            found.push((token.at.clone(), *index));
        }
    }
    found
}

/// The name that a declarator declares.
#[must_use]
pub fn declared<'t>(declarator: Node<'t>) -> Option<Node<'t>> {
    let mut node = declarator;
    while !is_name(node) {
        node = inner_declarator(node)?;
    }
    Some(node)
}

/// The nodes from a declarator to the name that it declares, both included. Asking each node for its
/// parent instead would take time in proportion to the square of the depth.
#[must_use]
pub fn path_to_name<'t>(declarator: Node<'t>) -> Option<Vec<Node<'t>>> {
    let mut path = vec![declarator];
    let mut node = declarator;
    while !is_name(node) {
        node = inner_declarator(node)?;
        path.push(node);
    }
    Some(path)
}

fn is_name(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "identifier" | "type_identifier" | "field_identifier"
    )
}

fn inner_declarator(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("declarator").or_else(|| {
        (node.kind() == "parenthesized_declarator" || node.kind() == "attributed_declarator")
            .then(|| named(node).into_iter().next_back())
            .flatten()
    })
}

fn named(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// One step of the walk; explicit, because hostile text nests deeper than a stack.
enum Step<'t> {
    Visit(Node<'t>),
    Declarator(Node<'t>),
    Bind(Node<'t>),
    Enter,
    Leave,
}

struct Walk<'a> {
    text: &'a str,
    names: &'a Names,
    scopes: Vec<BTreeSet<String>>,
    /// In how many of the scopes each name is bound.
    shadows: BTreeMap<String, usize>,
    found: Vec<(Range<usize>, usize)>,
}

impl Walk<'_> {
    fn run(&mut self, from: Step<'_>) {
        let mut todo = vec![from];
        while let Some(step) = todo.pop() {
            let mut next = Vec::new();
            match step {
                Step::Enter => self.scopes.push(BTreeSet::new()),
                Step::Leave => {
                    for name in self.scopes.pop().into_iter().flatten() {
                        self.shadows.entry(name).and_modify(|count| *count -= 1);
                    }
                }
                Step::Bind(node) => {
                    if let Some(name) = declared(node) {
                        let text = &self.text[name.byte_range()];
                        if let Some(scope) = self.scopes.last_mut()
                            && scope.insert(text.to_string())
                        {
                            *self.shadows.entry(text.to_string()).or_default() += 1;
                        }
                    }
                }
                Step::Visit(node) => self.visit(node, &mut next),
                Step::Declarator(node) => declarator(node, &mut next),
            }
            todo.extend(next.into_iter().rev());
        }
    }

    /// The variable that `node`'s text names here, if it is one and nothing shadows it.
    fn variable(&self, node: Node<'_>) -> Option<usize> {
        let text = &self.text[node.byte_range()];
        let index = self.names.get(text)?;
        (!self.is_shadowed(text)).then_some(*index)
    }

    /// Whether something around this place declares the name, too.
    fn is_shadowed(&self, name: &str) -> bool {
        self.shadows.get(name).is_some_and(|count| *count > 0)
    }

    fn visit<'t>(&mut self, node: Node<'t>, next: &mut Vec<Step<'t>>) {
        let all = |next: &mut Vec<Step<'t>>| next.extend(named(node).into_iter().map(Step::Visit));
        match node.kind() {
            "identifier" | "type_identifier" => {
                if let Some(index) = self.variable(node) {
                    self.found.push((node.byte_range(), index));
                }
            }
            "compound_statement" | "for_statement" => {
                next.push(Step::Enter);
                all(next);
                next.push(Step::Leave);
            }
            "function_definition" => function(node, next),
            "declaration" if !self.misread(node) => declaration(node, next),
            "type_definition" => {
                let mut cursor = node.walk();
                for child in node.children(&mut cursor) {
                    next.push(Step::Visit(child));
                }
                next.retain(|s| !matches!(s, Step::Visit(n) if is_declarator(node, *n)));
                let mut cursor = node.walk();
                for d in node.children_by_field_name("declarator", &mut cursor) {
                    next.extend([Step::Declarator(d), Step::Bind(d)]);
                }
            }
            "parameter_declaration" => {
                let declarator = node.child_by_field_name("declarator");
                for child in named(node) {
                    let is = declarator.is_some_and(|d| d.id() == child.id());
                    next.push(if is {
                        Step::Declarator(child)
                    } else {
                        Step::Visit(child)
                    });
                }
            }
            "struct_specifier" | "union_specifier" | "enum_specifier" => {
                let name = node.child_by_field_name("name");
                next.extend(
                    named(node)
                        .into_iter()
                        .filter(|c| name.is_none_or(|n| n.id() != c.id()))
                        .map(Step::Visit),
                );
            }
            "enumerator" => {
                next.extend(node.child_by_field_name("value").map(Step::Visit));
                next.extend(node.child_by_field_name("name").map(Step::Bind));
            }
            "preproc_arg" => {
                let (at, text) = (node.byte_range(), &self.text[node.byte_range()]);
                let params = self.parameters(node);
                for (r, index) in token_uses(text, self.names, &params) {
                    if !self.is_shadowed(&text[r.clone()]) {
                        self.found
                            .push((at.start + r.start..at.start + r.end, index));
                    }
                }
            }
            "preproc_def" | "preproc_function_def" => {
                next.extend(node.child_by_field_name("value").map(Step::Visit));
            }
            _ => all(next),
        }
    }

    /// The parameters of the macro whose body `node` is.
    fn parameters(&self, node: Node<'_>) -> Vec<&str> {
        node.parent()
            .and_then(|p| p.child_by_field_name("parameters"))
            .map_or(Vec::new(), named)
            .into_iter()
            .map(|p| &self.text[p.byte_range()])
            .collect()
    }

    /// `a * b;` with a variable `a` was taken for a declaration.
    fn misread(&self, node: Node<'_>) -> bool {
        node.child_by_field_name("type")
            .is_some_and(|t| t.kind() == "type_identifier" && self.variable(t).is_some())
    }
}

fn is_declarator(parent: Node<'_>, node: Node<'_>) -> bool {
    let mut cursor = parent.walk();
    parent
        .children_by_field_name("declarator", &mut cursor)
        .any(|d| d.id() == node.id())
}

fn declaration<'t>(node: Node<'t>, next: &mut Vec<Step<'t>>) {
    for child in named(node) {
        if !is_declarator(node, child) {
            next.push(Step::Visit(child));
        } else if child.kind() == "init_declarator" {
            let inner = child.child_by_field_name("declarator");
            next.extend(inner.map(Step::Declarator));
            next.extend(inner.map(Step::Bind));
            next.extend(child.child_by_field_name("value").map(Step::Visit));
        } else {
            next.extend([Step::Declarator(child), Step::Bind(child)]);
        }
    }
}

/// A function: its parameters hide variables in its body.
fn function<'t>(node: Node<'t>, next: &mut Vec<Step<'t>>) {
    let declarator = node.child_by_field_name("declarator");
    let path = declarator.and_then(path_to_name).unwrap_or_default();
    let list = path
        .iter()
        .rev()
        .find_map(|n| n.child_by_field_name("parameters"));
    next.extend(declarator.map(Step::Bind));
    next.push(Step::Enter);
    for child in named(node) {
        if declarator.is_none_or(|d| d.id() != child.id()) {
            if child.kind() == "compound_statement" {
                let parameters = list.map_or(Vec::new(), named).into_iter();
                let names = parameters.filter_map(|p| p.child_by_field_name("declarator"));
                next.extend(names.map(Step::Bind));
            }
            next.push(Step::Visit(child));
        } else {
            next.push(Step::Declarator(child));
        }
    }
    next.push(Step::Leave);
}

/// What a declarator uses: sizes and parameters, not the name it declares.
fn declarator<'t>(node: Node<'t>, next: &mut Vec<Step<'t>>) {
    match node.kind() {
        "identifier" | "type_identifier" | "field_identifier" => {}
        "array_declarator" => {
            next.extend(node.child_by_field_name("declarator").map(Step::Declarator));
            next.extend(node.child_by_field_name("size").map(Step::Visit));
        }
        "function_declarator" => {
            next.extend(node.child_by_field_name("declarator").map(Step::Declarator));
            next.push(Step::Enter);
            next.extend(node.child_by_field_name("parameters").map(Step::Visit));
            next.push(Step::Leave);
        }
        _ => next.extend(named(node).into_iter().map(Step::Declarator)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `code` with each use of `buf`, `cur`, `n` in angle brackets.
    fn marked(code: &str) -> String {
        let names: Names = [("buf", 0), ("cur", 1), ("n", 2)]
            .map(|(k, v)| (k.to_string(), v))
            .into();
        let mut out = code.to_string();
        for (r, _) in uses(&mut parser(), code, Place::Body, &names)
            .into_iter()
            .rev()
        {
            out.insert(r.end, '>');
            out.insert(r.start, '<');
        }
        out
    }

    #[test]
    fn plain_uses() {
        assert_eq!(
            marked("strlcpy(buf, x, sizeof(buf));"),
            "strlcpy(<buf>, x, sizeof(<buf>));"
        );
        assert_eq!(marked("n++; buf[n] = *cur;"), "<n>++; <buf>[<n>] = *<cur>;");
        assert_eq!(
            marked("f((n)); g((n) + 1, (n) - 1);"),
            "f((<n>)); g((<n>) + 1, (<n>) - 1);"
        );
        assert_eq!(
            marked("if (n) { x = n; } else y = n;"),
            "if (<n>) { x = <n>; } else y = <n>;"
        );
    }

    #[test]
    fn a_variable_is_never_a_type() {
        assert_eq!(marked("n * x;"), "<n> * x;");
        assert_eq!(marked("n * cur;"), "<n> * <cur>;");
        assert_eq!(
            marked("x = sizeof(n) + sizeof n;"),
            "x = sizeof(<n>) + sizeof <n>;"
        );
        assert_eq!(marked("x = (n)(1);"), "x = (<n>)(1);");
    }

    #[test]
    fn locals_shadow_from_their_declarator_on() {
        assert_eq!(
            marked("n = 1; int n = 2; n = 3;"),
            "<n> = 1; int n = 2; n = 3;"
        );
        assert_eq!(
            marked("{ char n; n = 1; } n = 2;"),
            "{ char n; n = 1; } <n> = 2;"
        );
        assert_eq!(
            marked("for (int n = 0; n < 3; n++) f(n); n;"),
            "for (int n = 0; n < 3; n++) f(n); <n>;"
        );
        assert_eq!(
            marked("int a = n, n = 2, b = n;"),
            "int a = <n>, n = 2, b = n;"
        );
        assert_eq!(
            marked("char x[n]; char *buf = x; *buf;"),
            "char x[<n>]; char *buf = x; *buf;"
        );
        assert_eq!(marked("enum { n = 3 }; x = n;"), "enum { n = 3 }; x = n;");
        assert_eq!(
            marked("typedef int n; n x; buf;"),
            "typedef int n; n x; <buf>;"
        );
    }

    #[test]
    fn other_name_spaces() {
        assert_eq!(marked("s.n = p->n + n;"), "s.n = p->n + <n>;");
        assert_eq!(marked("goto n; n: ;"), "goto n; n: ;");
        assert_eq!(marked("struct n v; v.buf = 1;"), "struct n v; v.buf = 1;");
        assert_eq!(
            marked("struct s v = { .n = n };"),
            "struct s v = { .n = <n> };"
        );
        assert_eq!(
            marked("void (*f)(int n); f(n);"),
            "void (*f)(int n); f(<n>);"
        );
        assert_eq!(
            marked("puts(\"n\"); /* n */ c = 'n';"),
            "puts(\"n\"); /* n */ c = 'n';"
        );
    }

    #[test]
    fn broken_and_deep_text_is_survived() {
        let _ = marked("if (n { ) } n = ; (((");
        let deep = format!("x = {}n{};", "(".repeat(20_000), ")".repeat(20_000));
        assert!(marked(&deep).contains("<n>"));
    }

    #[test]
    fn macro_bodies_are_tokens() {
        let names: Names = [("cur".to_string(), 0)].into();
        let found = token_uses("(cur + p->cur + q.cur + other)", &names, &[]);
        assert_eq!(found.len(), 1);
        assert!(token_uses("(cur)", &names, &["cur"]).is_empty());
    }
}

//! The macros of a specification that can be read as C: what stands in them, and how they are used.
//! Nothing is certain of a macro that has several meanings. Must not know: what is written, models.

use crate::lexer::{self, Kind};
use crate::library::{children, defines, preprocessor};
use crate::members::names;
use crate::scope::Body;
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::{Node, Parser};

/// Macros within macros; what stands deeper is not known.
const DEEPEST: usize = 64;

/// A macro.
pub(crate) struct Macro {
    pub(crate) name: String,
    /// None: it is used without parentheses.
    parameters: Option<Vec<String>>,
    body: Body,
    /// What it declares.
    pub(crate) own: BTreeSet<String>,
    /// Whether it is an expression of which nothing that stands behind its use becomes a part.
    whole: bool,
    /// The parameters that may get another value where it is used, by number.
    gives: BTreeSet<usize>,
}

impl Macro {
    /// `rest`: what stands behind its name. None: it is no C that can be read alone.
    fn of(name: &str, rest: &str, parser: &mut Parser) -> Option<Macro> {
        let (parameters, text) = parameters(rest)?;
        // A comment may end the last line.
        let body = Body::of(parser, &format!("{text}\n;"));
        let root = body.tree.as_ref()?.root_node();
        if root.has_error() || root.child_count() != 1 {
            return None;
        }
        let own = names(&body.text, body.root()?);
        let whole = only_expression(body.root()?).is_some();
        Some(Macro {
            name: name.to_string(),
            parameters,
            body,
            own,
            whole,
            gives: BTreeSet::new(),
        })
    }

    /// Its statements.
    pub(crate) fn root(&self) -> Option<Node<'_>> {
        self.body.root()
    }

    pub(crate) fn text(&self) -> &str {
        &self.body.text
    }

    /// The number of a parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<usize> {
        let all = self.parameters.as_ref()?;
        all.iter().position(|parameter| parameter == name)
    }

    /// The expression that it is.
    pub(crate) fn expression(&self) -> Option<Node<'_>> {
        self.root().filter(|_| self.whole).and_then(only_expression)
    }

    /// The names that may get another value where it is used. One that is only dereferenced does not.
    fn unsure(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut todo: Vec<(Node<'_>, bool)> =
            self.root().map(|root| (root, false)).into_iter().collect();
        while let Some((node, is_read)) = todo.pop() {
            let word = &self.text()[node.byte_range()];
            if node.kind() == "identifier" {
                if !is_read {
                    found.insert(word.to_string());
                }
                continue;
            }
            let leads = match node.kind() {
                "subscript_expression" => true,
                "field_expression" => {
                    let operator = node.child_by_field_name("operator");
                    operator.is_some_and(|operator| operator.kind() == "->")
                }
                "pointer_expression" => word.starts_with('*'),
                _ => false,
            };
            let argument = node.child_by_field_name("argument").filter(|_| leads);
            let inside = node.kind() == "parenthesized_expression" && is_read;
            for child in children(node) {
                todo.push((child, inside || argument == Some(child)));
            }
        }
        found
    }
}

/// The expression that a body is, if it stays one beside others.
fn only_expression(body: Node<'_>) -> Option<Node<'_>> {
    let statements = children(body);
    let [only] = statements.as_slice() else {
        return None;
    };
    let statement = Some(*only).filter(|only| only.kind() == "expression_statement");
    let found = statement?.named_child(0)?;
    let whole = matches!(
        found.kind(),
        "parenthesized_expression"
            | "identifier"
            | "field_expression"
            | "subscript_expression"
            | "call_expression"
    );
    whole.then_some(found)
}

/// The parameters of a macro, and what stands behind them. `rest`: what stands behind its name.
fn parameters(rest: &str) -> Option<(Option<Vec<String>>, &str)> {
    if !rest.starts_with('(') {
        return Some((None, rest));
    }
    let tokens = lexer::tokens(rest);
    let close = tokens
        .iter()
        .find(|token| token.kind == Kind::Punct(b')'))?
        .at
        .end;
    let named = tokens
        .iter()
        .filter(|token| token.kind == Kind::Name && token.at.end < close);
    let named = named.map(|token| rest[token.at.clone()].to_string());
    Some((Some(named.collect()), &rest[close..]))
}

/// Those of a specification.
#[derive(Default)]
pub(crate) struct Macros {
    readable: BTreeMap<String, Macro>,
    /// The names of all.
    pub(crate) defined: BTreeSet<String>,
    /// What may get another value where a macro is used.
    pub(crate) unsure: BTreeSet<String>,
}

impl Macros {
    /// Those that texts define.
    pub(crate) fn of(texts: &[&str], parser: &mut Parser) -> Macros {
        let mut macros = Macros::default();
        let mut met: BTreeMap<String, &str> = BTreeMap::new();
        let mut several: BTreeSet<String> = BTreeSet::new();
        for text in texts {
            let undefined = preprocessor(text).filter_map(|line| line.strip_prefix("undef"));
            let undefined = undefined.filter_map(|rest| rest.split_whitespace().next());
            several.extend(undefined.map(str::to_string));
            for (name, rest) in defines(text) {
                match met.get(&name) {
                    Some(known) if *known == rest => continue,
                    Some(_) => {
                        several.insert(name.clone());
                    }
                    None => {
                        met.insert(name.clone(), rest);
                    }
                }
                if let Some(mut found) = Macro::of(&name, rest, parser) {
                    for unsure in found.unsure() {
                        match found.parameter(&unsure) {
                            Some(number) => _ = found.gives.insert(number),
                            None => _ = macros.unsure.insert(unsure),
                        }
                    }
                    macros.readable.insert(name, found);
                } else {
                    let tokens = lexer::tokens(rest).into_iter();
                    let words = tokens.filter(|token| token.kind == Kind::Name);
                    let words = words.map(|token| rest[token.at].to_string());
                    macros.unsure.extend(words);
                }
            }
        }
        macros.readable.retain(|name, _| !several.contains(name));
        macros.defined = met.into_keys().collect();
        macros
    }

    /// Whether it is a macro which keeps the value of what it is given as this argument.
    pub(crate) fn keeps(&self, name: &str, argument: usize) -> bool {
        let of = self
            .readable
            .get(name)
            .and_then(|of| Some((of, of.parameters.as_ref()?)));
        of.is_some_and(|(of, all)| argument < all.len() && !of.gives.contains(&argument))
    }

    /// The macro that a node uses, and its arguments.
    pub(crate) fn used<'s>(
        &'s self,
        scope: &Scope<'_>,
        node: Node<'s>,
    ) -> Option<(&'s Macro, Vec<Node<'s>>)> {
        let is_call = node.kind() == "call_expression";
        let name = if is_call {
            node.child_by_field_name("function")?
        } else {
            node
        };
        let word = &scope.text[name.byte_range()];
        let found = self.readable.get(word)?;
        let fits = name.kind() == "identifier" && found.parameters.is_some() == is_call;
        if !fits || scope.is_inside(word) || scope.names(word) {
            return None;
        }
        let arguments = node.child_by_field_name("arguments").filter(|_| is_call);
        Some((found, arguments.map_or_else(Vec::new, children)))
    }
}

/// Where an expression stands: in a body, or in the macro that a body uses.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'s> {
    pub(crate) text: &'s str,
    used: Option<Used<'s>>,
}

/// A use of a macro.
#[derive(Clone, Copy)]
struct Used<'s> {
    of: &'s Macro,
    arguments: &'s [Node<'s>],
    caller: &'s Scope<'s>,
}

impl<'s> Scope<'s> {
    /// That of a body.
    pub(crate) fn of(text: &'s str) -> Scope<'s> {
        Scope { text, used: None }
    }

    /// That of a macro which is used in this one.
    pub(crate) fn inside(&'s self, of: &'s Macro, arguments: &'s [Node<'s>]) -> Scope<'s> {
        Scope {
            text: of.text(),
            used: Some(Used {
                of,
                arguments,
                caller: self,
            }),
        }
    }

    /// Whether it is that of this macro, or of one that this macro uses: its name stands for itself
    /// there.
    pub(crate) fn is_inside(&self, name: &str) -> bool {
        let used = std::iter::successors(self.used, |used| used.caller.used);
        used.take(DEEPEST).any(|used| used.of.name == name)
    }

    /// In how many macros it stands.
    pub(crate) fn depth(&self) -> usize {
        std::iter::successors(self.used, |used| used.caller.used).count()
    }

    /// Whether a name is a parameter of the macro, or declared in it.
    pub(crate) fn names(&self, name: &str) -> bool {
        let names =
            |used: Used<'_>| used.of.parameter(name).is_some() || used.of.own.contains(name);
        self.used.is_some_and(names)
    }

    /// The function that a call names; nothing if it calls what an expression gives.
    pub(crate) fn called(&self, call: Node<'s>) -> &'s str {
        let (mut scope, mut name) = (*self, call.child_by_field_name("function"));
        while let Some(node) = name.filter(|name| name.kind() == "identifier") {
            let word = &scope.text[node.byte_range()];
            let Some((caller, argument)) = scope.given(word) else {
                return if scope.names(word) { "" } else { word };
            };
            (scope, name) = (*caller, Some(argument));
        }
        ""
    }

    /// What is given as this parameter of the macro, and where it stands.
    pub(crate) fn given(&self, name: &str) -> Option<(&'s Scope<'s>, Node<'s>)> {
        let used = self.used?;
        let argument = used.arguments.get(used.of.parameter(name)?)?;
        Some((used.caller, *argument))
    }
}

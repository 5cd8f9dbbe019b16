//! To which shared variable a pointer leads, where that is certain.
//!
//! A local pointer leads to a variable if it gets no address but of that variable, or of a part of it. A
//! parameter leads to what a caller gives. Where a pointer at file scope leads, the caller says. A macro
//! stands for what it is. Of a pointer whose own address is taken, one that an unknown call, which may
//! be a macro, may change, and one to which a macro may give a value, nothing is certain. Must not
//! know: models, who writes.

use crate::library::children;
use crate::macros::{Macro, Macros, Scope};
use crate::members::{Names, Type, Types};
use crate::scope::declared;
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// Steps into one expression; what lies deeper is not known.
const DEEPEST: usize = 64;

/// Rounds in which pointers are followed from one to the next.
const ROUNDS: usize = 8;

/// Functions of the C library that return memory to which nothing else points.
const ALLOCATE: [&str; 6] = [
    "aligned_alloc",
    "calloc",
    "malloc",
    "realloc",
    "strdup",
    "strndup",
];

/// What is known of a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// It has no value, or is null.
    Nothing,
    /// Into this object.
    To(Place),
    /// It is not known where.
    Anywhere,
}

impl Lead {
    pub(crate) fn join(self, other: Lead) -> Lead {
        match (self, other) {
            (Lead::Nothing, one) | (one, Lead::Nothing) => one,
            (one, other) if one == other => one,
            _ => Lead::Anywhere,
        }
    }
}

/// What a pointer leads to, or into.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// This shared variable.
    Global(String),
    /// The memory that this pointer at file scope got from the C library.
    Behind(String),
    /// Memory that the C library has just given.
    Fresh,
    /// What the caller gives as this parameter.
    Given(usize),
}

/// A shared variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global {
    /// How many dimensions it has; 0: it is no array. What more indices name is no part of it.
    pub(crate) dimensions: usize,
    pub(crate) atomic: bool,
}

/// What stands at file scope, as far as it does not change.
#[derive(Default)]
pub(crate) struct Outside {
    /// The variables that connections share.
    pub(crate) globals: BTreeMap<String, Global>,
    pub(crate) types: Types,
    pub(crate) macros: Macros,
}

/// A step from an expression to a larger one.
enum Step<'t> {
    Element,
    Address,
    Member(&'t str),
}

/// What a body can name.
pub(crate) struct Visible<'g> {
    outside: &'g Outside,
    /// Pointers at file scope of which it is certain where they lead.
    pointers: &'g BTreeMap<String, Lead>,
    /// Its own names, which hide those.
    pub(crate) own: BTreeSet<String>,
    /// Their types.
    types: Names,
    /// Its static variables.
    pub(crate) statics: BTreeMap<String, Global>,
    /// Its pointers.
    leads: BTreeMap<String, Lead>,
}

impl<'g> Visible<'g> {
    pub(crate) fn new(
        outside: &'g Outside,
        pointers: &'g BTreeMap<String, Lead>,
        own: BTreeSet<String>,
        types: Names,
    ) -> Self {
        let (statics, leads) = (BTreeMap::new(), BTreeMap::new());
        Visible {
            outside,
            pointers,
            own,
            types,
            statics,
            leads,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Global> {
        let globals = &self.outside.globals;
        let global = || globals.get(name).filter(|_| !self.own.contains(name));
        self.statics.get(name).or_else(global).copied()
    }

    /// Whether this shared variable is atomic.
    pub(crate) fn is_atomic(&self, name: &str) -> bool {
        let globals = &self.outside.globals;
        let global = self.statics.get(name).or_else(|| globals.get(name));
        global.is_some_and(|global| global.atomic)
    }

    /// What the body gives to a pointer that is not its own. After [`Visible::follow`].
    pub(crate) fn gives(&self, name: &str) -> Lead {
        let lead = self.leads.get(name).filter(|_| !self.own.contains(name));
        lead.cloned().unwrap_or(Lead::Nothing)
    }

    /// Finds out where the pointers of a body lead; false: it cannot. `all`: its nodes. `parameters`: by number.
    /// `trusted`: functions that get a copy of what they are given.
    pub(crate) fn follow(
        &mut self,
        text: &str,
        all: &[Node<'_>],
        parameters: &[Option<String>],
        trusted: impl Fn(&str) -> bool,
    ) -> bool {
        if all.first().is_none_or(Node::has_error) {
            return false;
        }
        let mut fixed: BTreeMap<String, Lead> = BTreeMap::new();
        let mut give = |name: &str, lead: Lead| {
            let known = fixed.remove(name).unwrap_or(Lead::Nothing);
            fixed.insert(name.to_string(), known.join(lead));
        };
        for (number, name) in parameters.iter().enumerate() {
            give(
                name.as_deref().unwrap_or(""),
                Lead::To(Place::Given(number)),
            );
        }
        for name in &self.outside.macros.unsure {
            give(name, Lead::Anywhere);
        }
        let mut gets: Vec<(&str, Node<'_>)> = Vec::new();
        let name = |node: Option<Node<'_>>| variable(text, node?);
        for node in all {
            let field = |field: &str| node.child_by_field_name(field);
            match node.kind() {
                "declaration" => {
                    let mut cursor = node.walk();
                    for declarator in node.children_by_field_name("declarator", &mut cursor) {
                        let value = declarator.child_by_field_name("value");
                        let inner = declarator.child_by_field_name("declarator");
                        let inner = inner.filter(|_| value.is_some()).unwrap_or(declarator);
                        let Some(at) = declared(inner) else { continue };
                        let own = &text[at.byte_range()];
                        if is_array(inner) {
                            give(own, Lead::Anywhere);
                        } else if let Some(value) = value {
                            gets.push((own, value));
                        }
                    }
                }
                "assignment_expression" => {
                    let Some(own) = name(field("left")) else {
                        continue;
                    };
                    let operator = field("operator").map_or("", |o| &text[o.byte_range()]);
                    match (operator, field("right")) {
                        ("=", Some(right)) => gets.push((own, right)),
                        ("+=" | "-=", _) => {}
                        _ => give(own, Lead::Anywhere),
                    }
                }
                "pointer_expression" if text[node.byte_range()].starts_with('&') => {
                    if let Some(own) = name(field("argument")) {
                        give(own, Lead::Anywhere);
                    }
                }
                "call_expression" => {
                    let called = field("function").map_or("", |f| &text[f.byte_range()]);
                    if !trusted(called) {
                        let list = field("arguments").map_or(Vec::new(), children);
                        for (number, argument) in list.into_iter().enumerate() {
                            let own = variable(text, argument);
                            let macros = &self.outside.macros;
                            let own = own.filter(|_| !macros.keeps(called, number));
                            if let Some(own) = own {
                                give(own, Lead::Anywhere);
                            }
                        }
                    }
                }
                kind if kind.starts_with("gnu_asm") || kind.starts_with("preproc_") => {
                    return false;
                }
                _ => {}
            }
        }
        self.leads.clone_from(&fixed);
        let scope = Scope::of(text);
        for _ in 0..ROUNDS {
            let mut next = fixed.clone();
            for (own, value) in &gets {
                let known = next.remove(*own).unwrap_or(Lead::Nothing);
                next.insert((*own).to_string(), known.join(self.lead(&scope, *value, 1)));
            }
            if next == self.leads {
                return true;
            }
            self.leads = next;
        }
        self.leads.clear();
        false
    }

    /// The object that an expression is, or is a part of.
    pub(crate) fn place(&self, scope: &Scope<'_>, node: Node<'_>) -> Option<Place> {
        self.to(scope, node, 0)
    }

    /// The object that an expression points to, or into.
    pub(crate) fn target(&self, scope: &Scope<'_>, node: Node<'_>) -> Option<Place> {
        self.to(scope, node, 1)
    }

    fn to(&self, scope: &Scope<'_>, node: Node<'_>, depth: usize) -> Option<Place> {
        match self.lead(scope, node, depth) {
            Lead::To(place) => Some(place),
            _ => None,
        }
    }

    /// The object that is found when an expression is dereferenced so many times.
    pub(crate) fn lead(&self, scope: &Scope<'_>, node: Node<'_>, depth: usize) -> Lead {
        self.found(scope, node, depth, DEEPEST)
    }

    /// The same with `left` steps.
    fn found(&self, scope: &Scope<'_>, from: Node<'_>, from_depth: usize, left: usize) -> Lead {
        let (mut node, mut depth) = (from, from_depth);
        for left in (0..left).rev() {
            let word = &scope.text[node.byte_range()];
            let field = |field: &str| node.child_by_field_name(field);
            let operator = || field("operator").map_or("", |o| &scope.text[o.byte_range()]);
            let next = match node.kind() {
                "parenthesized_expression" => node.named_child(0),
                "subscript_expression" => {
                    depth += 1;
                    field("argument")
                }
                // An element of a member is a part of the whole if the member is an array.
                "field_expression" => {
                    let holds = |member: Type| depth <= member.dimensions;
                    if depth > 0 && !self.kind(scope, node, left).is_some_and(holds) {
                        return Lead::Anywhere;
                    }
                    depth = usize::from(operator() == "->");
                    field("argument")
                }
                "pointer_expression" if word.starts_with('*') => {
                    depth += 1;
                    field("argument")
                }
                "pointer_expression" if depth > 0 => {
                    depth -= 1;
                    field("argument")
                }
                "cast_expression" if depth == 1 => field("value"),
                "update_expression" if depth > 0 => field("argument"),
                "binary_expression" if depth > 0 => {
                    field("left").filter(|_| matches!(operator(), "+" | "-"))
                }
                "null" if depth > 0 => return Lead::Nothing,
                "number_literal" if depth > 0 && word == "0" => return Lead::Nothing,
                "identifier" | "call_expression" => {
                    if let Some((caller, argument)) = scope.given(word) {
                        return self.found(caller, argument, depth, left);
                    }
                    let inside =
                        |scope: &Scope<'_>, node: Node<'_>| self.found(scope, node, depth, left);
                    if let Some(found) = self.through_macro(scope, node, inside) {
                        return found;
                    }
                    if node.kind() == "identifier" {
                        return self.named(scope, word, depth);
                    }
                    let called = field("function").map_or("", |f| &scope.text[f.byte_range()]);
                    return if depth == 1 && ALLOCATE.contains(&called) {
                        Lead::To(Place::Fresh)
                    } else {
                        Lead::Anywhere
                    };
                }
                _ => None,
            };
            let Some(next) = next else {
                return Lead::Anywhere;
            };
            node = next;
        }
        Lead::Anywhere
    }

    fn named(&self, scope: &Scope<'_>, name: &str, depth: usize) -> Lead {
        if scope.names(name) {
            return Lead::Anywhere;
        }
        match self.get(name) {
            Some(global) if depth <= global.dimensions => {
                return Lead::To(Place::Global(name.to_string()));
            }
            _ => {}
        }
        if depth != 1 {
            return Lead::Anywhere;
        }
        if self.own.contains(name) {
            return self.leads.get(name).cloned().unwrap_or(Lead::Nothing);
        }
        self.pointers.get(name).cloned().unwrap_or(Lead::Anywhere)
    }

    /// The macro that a node uses, and its arguments.
    pub(crate) fn used<'s>(
        &'s self,
        scope: &Scope<'_>,
        node: Node<'s>,
    ) -> Option<(&'s Macro, Vec<Node<'s>>)> {
        let found = self.outside.macros.used(scope, node);
        found.filter(|(of, _)| !self.own.contains(&of.name))
    }

    /// Looks at the expression that a macro is, if the node uses one.
    fn through_macro<R>(
        &self,
        scope: &Scope<'_>,
        node: Node<'_>,
        look: impl FnOnce(&Scope<'_>, Node<'_>) -> R,
    ) -> Option<R> {
        let (of, arguments) = self.used(scope, node)?;
        let expression = of.expression()?;
        Some(look(&scope.inside(of, &arguments), expression))
    }

    /// Whether what an expression names is an atomic member.
    pub(crate) fn is_atomic_member(&self, scope: &Scope<'_>, node: Node<'_>) -> bool {
        self.kind(scope, node, DEEPEST)
            .is_some_and(|found| found.atomic)
    }

    /// The type of an expression, with `left` steps.
    fn kind(&self, scope: &Scope<'_>, node: Node<'_>, left: usize) -> Option<Type> {
        let mut steps = Vec::new();
        let mut node = node;
        let mut left = left;
        let begins = loop {
            left = left.checked_sub(1)?;
            let word = &scope.text[node.byte_range()];
            let field = |field: &str| node.child_by_field_name(field);
            let operator = || field("operator").map_or("", |o| &scope.text[o.byte_range()]);
            node = match node.kind() {
                "parenthesized_expression" => node.named_child(0)?,
                "subscript_expression" => {
                    steps.push(Step::Element);
                    field("argument")?
                }
                "pointer_expression" => {
                    let leads = word.starts_with('*');
                    steps.push(if leads { Step::Element } else { Step::Address });
                    field("argument")?
                }
                "field_expression" => {
                    steps.push(Step::Member(&scope.text[field("field")?.byte_range()]));
                    if operator() == "->" {
                        steps.push(Step::Element);
                    }
                    field("argument")?
                }
                "update_expression" => field("argument")?,
                "binary_expression" if matches!(operator(), "+" | "-") => field("left")?,
                "cast_expression" => {
                    break self.outside.types.cast(scope.text, field("type")?)?;
                }
                "identifier" | "call_expression" => {
                    if let Some((caller, argument)) = scope.given(word) {
                        break self.kind(caller, argument, left)?;
                    }
                    let inside = |scope: &Scope<'_>, node: Node<'_>| self.kind(scope, node, left);
                    if let Some(found) = self.through_macro(scope, node, inside) {
                        break found?;
                    }
                    let is_other = node.kind() != "identifier" || scope.names(word);
                    break if is_other {
                        return None;
                    } else if self.own.contains(word) {
                        self.types.get(word).copied().flatten()?
                    } else {
                        self.outside.types.variable(word)?
                    };
                }
                _ => return None,
            };
        };
        steps
            .into_iter()
            .rev()
            .try_fold(begins, |found, step| match step {
                Step::Element => found.element(),
                Step::Address => found.address(),
                Step::Member(name) => self.outside.types.member(found, name),
            })
    }
}

/// The variable that an expression names, and nothing else.
fn variable<'t>(text: &'t str, node: Node<'_>) -> Option<&'t str> {
    let mut node = node;
    for _ in 0..DEEPEST {
        match node.kind() {
            "parenthesized_expression" => node = node.named_child(0)?,
            "identifier" => return Some(&text[node.byte_range()]),
            _ => return None,
        }
    }
    None
}

/// Whether a function is one of the C library that allocates or frees memory.
pub(crate) fn is_allocator(name: &str) -> bool {
    name == "free" || ALLOCATE.contains(&name)
}

/// Whether a declarator declares an array.
fn is_array(declarator: Node<'_>) -> bool {
    let path = crate::scope::path_to_name(declarator).unwrap_or_default();
    let around = path.iter().rev().nth(1);
    around.is_some_and(|node| node.kind() == "array_declarator")
}

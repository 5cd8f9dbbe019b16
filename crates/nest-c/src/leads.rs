//! To which shared variable a pointer leads, where that is certain.
//!
//! A local pointer leads to a variable if it gets no address but of that variable, or of a part of it. A
//! parameter leads to what a caller gives. Where a pointer at file scope leads, the caller says. Of a pointer whose own address is taken, one that an unknown
//! call, which may be a macro, may change, and one that a macro names, nothing is certain. Must not know:
//! models, who writes.

use crate::library::children;
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
    /// How many dimensions it has; 0: it is no array.
    pub(crate) dimensions: usize,
    /// Whether it is a pointer, or an array of pointers.
    pub(crate) is_pointer: bool,
    pub(crate) atomic: bool,
}

impl Global {
    /// Whether an element that so many indices name is a part of it, or may be; else a pointer leads there.
    pub(crate) fn holds(self, indices: usize) -> bool {
        self.dimensions > 0 && (!self.is_pointer || indices <= self.dimensions)
    }
}

/// What a body can name.
pub(crate) struct Visible<'g> {
    globals: &'g BTreeMap<String, Global>,
    /// Pointers at file scope of which it is certain where they lead.
    pointers: &'g BTreeMap<String, Lead>,
    /// Its own names, which hide those.
    pub(crate) own: BTreeSet<String>,
    /// Its static variables.
    pub(crate) statics: BTreeMap<String, Global>,
    /// Its pointers.
    leads: BTreeMap<String, Lead>,
}

impl<'g> Visible<'g> {
    pub(crate) fn new(
        globals: &'g BTreeMap<String, Global>,
        pointers: &'g BTreeMap<String, Lead>,
        own: BTreeSet<String>,
    ) -> Self {
        let (statics, leads) = (BTreeMap::new(), BTreeMap::new());
        Visible {
            globals,
            pointers,
            own,
            statics,
            leads,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Global> {
        let global = || self.globals.get(name).filter(|_| !self.own.contains(name));
        self.statics.get(name).or_else(global).copied()
    }

    /// Whether this shared variable is atomic.
    pub(crate) fn is_atomic(&self, name: &str) -> bool {
        let global = self.statics.get(name).or_else(|| self.globals.get(name));
        global.is_some_and(|global| global.atomic)
    }

    /// What the body gives to a pointer that is not its own. After [`Visible::follow`].
    pub(crate) fn gives(&self, name: &str) -> Lead {
        let lead = self.leads.get(name).filter(|_| !self.own.contains(name));
        lead.cloned().unwrap_or(Lead::Nothing)
    }

    /// Finds out where the pointers of a body lead; false: it cannot. `all`: its nodes. `parameters`: by number.
    /// `trusted`: functions that get a copy of what they are given. `unsure`: names that macros may
    /// give other values.
    pub(crate) fn follow(
        &mut self,
        text: &str,
        all: &[Node<'_>],
        parameters: &[Option<String>],
        trusted: impl Fn(&str) -> bool,
        unsure: &BTreeSet<String>,
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
        for name in unsure {
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
                        for own in list.into_iter().filter_map(|node| variable(text, node)) {
                            give(own, Lead::Anywhere);
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
        for _ in 0..ROUNDS {
            let mut next = fixed.clone();
            for (own, value) in &gets {
                let known = next.remove(*own).unwrap_or(Lead::Nothing);
                next.insert(
                    (*own).to_string(),
                    known.join(self.lead(text, *value, true)),
                );
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
    pub(crate) fn place(&self, text: &str, node: Node<'_>) -> Option<Place> {
        self.to(text, node, false)
    }

    /// The object that an expression points to, or into.
    pub(crate) fn target(&self, text: &str, node: Node<'_>) -> Option<Place> {
        self.to(text, node, true)
    }

    fn to(&self, text: &str, node: Node<'_>, value: bool) -> Option<Place> {
        match self.lead(text, node, value) {
            Lead::To(place) => Some(place),
            _ => None,
        }
    }

    /// `value`: where the expression points; else which object it is.
    pub(crate) fn lead(&self, text: &str, node: Node<'_>, mut value: bool) -> Lead {
        let mut node = node;
        // Elements of an array may be arrays: `n[1][2]`.
        let mut elements = 0;
        for _ in 0..DEEPEST {
            let word = &text[node.byte_range()];
            let field = |field: &str| node.child_by_field_name(field);
            let next = match node.kind() {
                "parenthesized_expression" => node.named_child(0),
                "subscript_expression" if value && elements == 0 => return Lead::Anywhere,
                "subscript_expression" => {
                    (value, elements) = (true, elements + 1);
                    field("argument")
                }
                "field_expression" if !value => {
                    let operator = field("operator").map_or("", |o| &text[o.byte_range()]);
                    value = operator == "->";
                    field("argument")
                }
                "pointer_expression" if word.starts_with('&') && value => {
                    value = false;
                    field("argument")
                }
                "pointer_expression" if word.starts_with('*') && !value => {
                    value = true;
                    field("argument")
                }
                "cast_expression" if value => field("value"),
                "update_expression" if value => field("argument"),
                "binary_expression" if value => {
                    let operator = field("operator").map_or("", |o| &text[o.byte_range()]);
                    field("left").filter(|_| matches!(operator, "+" | "-"))
                }
                "call_expression" if value && elements == 0 => {
                    let called = field("function").map_or("", |f| &text[f.byte_range()]);
                    return if ALLOCATE.contains(&called) {
                        Lead::To(Place::Fresh)
                    } else {
                        Lead::Anywhere
                    };
                }
                "null" if value => return Lead::Nothing,
                "number_literal" if value && word == "0" => return Lead::Nothing,
                "identifier" => return self.named(word, value, elements),
                _ => None,
            };
            let Some(next) = next else {
                return Lead::Anywhere;
            };
            node = next;
        }
        Lead::Anywhere
    }

    fn named(&self, name: &str, value: bool, elements: usize) -> Lead {
        match self.get(name) {
            Some(global) if !value || global.holds(elements) => {
                return Lead::To(Place::Global(name.to_string()));
            }
            _ => {}
        }
        if !value || elements > 1 {
            return Lead::Anywhere;
        }
        if self.own.contains(name) {
            return self.leads.get(name).cloned().unwrap_or(Lead::Nothing);
        }
        self.pointers.get(name).cloned().unwrap_or(Lead::Anywhere)
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

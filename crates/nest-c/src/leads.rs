//! To which shared variable a pointer leads, where that is certain.
//!
//! A local pointer leads to a variable if it gets no address but of that variable, or of a part of it. A
//! parameter leads to what a caller gives. Of a pointer whose own address is taken, one that an unknown
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

/// What is known of a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Lead {
    /// It has no value, or is null.
    Nothing,
    /// Into this object.
    To(Place),
    /// It is not known where.
    Anywhere,
}

impl Lead {
    fn join(self, other: Lead) -> Lead {
        match (self, other) {
            (Lead::Nothing, one) | (one, Lead::Nothing) => one,
            (one, other) if one == other => one,
            _ => Lead::Anywhere,
        }
    }
}

/// What a pointer leads to, or into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// This shared variable.
    Global(String),
    /// What the caller gives as this parameter.
    Given(usize),
}

/// A shared variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global {
    pub(crate) is_array: bool,
}

/// What a body can name.
pub(crate) struct Visible<'g> {
    globals: &'g BTreeMap<String, Global>,
    /// Its own names, which hide those.
    pub(crate) own: BTreeSet<String>,
    /// Its static variables.
    pub(crate) statics: BTreeMap<String, Global>,
    /// Its pointers.
    leads: BTreeMap<String, Lead>,
}

impl<'g> Visible<'g> {
    pub(crate) fn new(globals: &'g BTreeMap<String, Global>, own: BTreeSet<String>) -> Self {
        let (statics, leads) = (BTreeMap::new(), BTreeMap::new());
        Visible {
            globals,
            own,
            statics,
            leads,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Global> {
        let global = || self.globals.get(name).filter(|_| !self.own.contains(name));
        self.statics.get(name).or_else(global).copied()
    }

    /// Finds out where the pointers of a body lead. `all`: its nodes. `parameters`: by number.
    /// `trusted`: functions that get a copy of what they are given. `unsure`: names that macros may
    /// give other values.
    pub(crate) fn follow(
        &mut self,
        text: &str,
        all: &[Node<'_>],
        parameters: &[Option<String>],
        trusted: impl Fn(&str) -> bool,
        unsure: &BTreeSet<String>,
    ) {
        if all.first().is_none_or(Node::has_error) {
            return;
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
                kind if kind.starts_with("gnu_asm") || kind.starts_with("preproc_") => return,
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
                return;
            }
            self.leads = next;
        }
        self.leads.clear();
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
    fn lead(&self, text: &str, node: Node<'_>, mut value: bool) -> Lead {
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
            Some(global) if !value || global.is_array => {
                return Lead::To(Place::Global(name.to_string()));
            }
            _ => {}
        }
        let local = self.own.contains(name) && value && elements < 2;
        match self.leads.get(name).filter(|_| local) {
            Some(lead) => lead.clone(),
            None if local => Lead::Nothing,
            None => Lead::Anywhere,
        }
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

/// Whether a declarator declares an array.
fn is_array(declarator: Node<'_>) -> bool {
    let path = crate::scope::path_to_name(declarator).unwrap_or_default();
    let around = path.iter().rev().nth(1);
    around.is_some_and(|node| node.kind() == "array_declarator")
}

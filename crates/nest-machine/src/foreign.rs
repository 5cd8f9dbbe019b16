//! Pointers that an action stores in `%shared` although they lead to memory of its own process: to parts,
//! to what malloc gives, to its own variables. Follows assignments to local pointers, but no control
//! flow, so a variable that has values of both kinds is not reported. Must not know: what a lock becomes.

use crate::model::{Use, What};
use nest_c::directives::InLock;
use nest_c::scope::{BODY, Body, declared};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tree_sitter::Node;

/// Functions of the C library that allocate memory of the process.
const ALLOCATE: [&str; 8] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "aligned_alloc",
    "strdup",
    "strndup",
    "alloca",
];

/// Where a pointer leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leads {
    /// To memory of `%shared`.
    Shared,
    /// To memory of one process.
    Private,
    /// It is no pointer, or this is not known.
    Unknown,
}

/// The values that are private and stored where all connections see them, in order. `arrays`: of the
/// connection's variables.
pub fn stored(body: &Body, uses: &[Use], arrays: &BTreeSet<usize>) -> Vec<Range<usize>> {
    let Some(tree) = &body.tree else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let mut todo = vec![tree.root_node()];
    while let Some(node) = todo.pop() {
        all.push(node);
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        todo.extend(children.into_iter().rev());
    }
    let mut walk = Walk {
        text: &body.text,
        uses: uses.iter().map(|u| (u.at.start, &u.what)).collect(),
        own: arrays,
        arrays: BTreeSet::new(),
        locals: BTreeMap::new(),
    };
    for node in &all {
        walk.declaration(*node);
    }
    // A pointer may get its value from one that is assigned later.
    for _ in 0..2 {
        for node in &all {
            walk.assignment(*node);
        }
    }
    let stores = all.into_iter().filter_map(|node| {
        let (left, right) = assigned(node)?;
        let reaches = walk.reaches_shared(left);
        (reaches && walk.leads(right) == Leads::Private).then(|| right.byte_range())
    });
    stores
        .map(|at| at.start - BODY.len()..at.end - BODY.len())
        .collect()
}

/// Both sides of `a = b`.
fn assigned(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let plain = node.kind() == "assignment_expression"
        && node
            .child_by_field_name("operator")
            .is_some_and(|operator| operator.kind() == "=");
    let side = |name| node.child_by_field_name(name).filter(|_| plain);
    Some((side("left")?, side("right")?))
}

struct Walk<'a> {
    text: &'a str,
    uses: BTreeMap<usize, &'a What>,
    /// The connection's variables that are arrays.
    own: &'a BTreeSet<usize>,
    /// Local arrays.
    arrays: BTreeSet<String>,
    /// Other local variables, and where their values lead; none: they have no value yet.
    locals: BTreeMap<String, Option<Leads>>,
}

impl Walk<'_> {
    fn word(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    fn used(&self, node: Node<'_>) -> Option<&What> {
        let at = node.start_byte().checked_sub(BODY.len())?;
        self.uses.get(&at).copied()
    }

    fn declaration(&mut self, node: Node<'_>) {
        if node.kind() != "declaration" {
            return;
        }
        let mut cursor = node.walk();
        let declarators: Vec<Node<'_>> = node
            .children_by_field_name("declarator", &mut cursor)
            .collect();
        for declarator in declarators {
            let inner = declarator.child_by_field_name("declarator");
            let inner = inner
                .filter(|_| declarator.kind() == "init_declarator")
                .unwrap_or(declarator);
            let Some(name) = declared(inner) else {
                continue;
            };
            let name = self.word(name).to_string();
            if inner.kind() == "array_declarator" {
                self.arrays.insert(name);
            } else {
                self.locals.insert(name, None);
            }
        }
    }

    /// Records what a local variable gets.
    fn assignment(&mut self, node: Node<'_>) {
        let (name, value) = if node.kind() == "init_declarator" {
            let name = node.child_by_field_name("declarator").and_then(declared);
            (name, node.child_by_field_name("value"))
        } else {
            let sides = assigned(node).filter(|(left, _)| left.kind() == "identifier");
            (sides.map(|s| s.0), sides.map(|s| s.1))
        };
        let (Some(name), Some(value)) = (name, value) else {
            return;
        };
        if self.used(name).is_some() {
            return;
        }
        let leads = self.leads(value);
        let name = self.word(name).to_string();
        if let Some(known) = self.locals.get_mut(&name) {
            *known = match *known {
                Some(before) if before != leads => Some(Leads::Unknown),
                _ => Some(leads),
            };
        }
    }

    /// Where the value of an expression leads.
    fn leads(&self, node: Node<'_>) -> Leads {
        let field = |name| node.child_by_field_name(name);
        let both = |a: Leads, b: Leads| if a == b { a } else { Leads::Unknown };
        match node.kind() {
            "parenthesized_expression" => node
                .named_child(0)
                .map_or(Leads::Unknown, |n| self.leads(n)),
            "cast_expression" => field("value").map_or(Leads::Unknown, |n| self.leads(n)),
            "assignment_expression" => field("right").map_or(Leads::Unknown, |n| self.leads(n)),
            "conditional_expression" => match (field("consequence"), field("alternative")) {
                (Some(yes), Some(no)) if self.none(yes) => self.leads(no),
                (Some(yes), Some(no)) if self.none(no) => self.leads(yes),
                (Some(yes), Some(no)) => both(self.leads(yes), self.leads(no)),
                _ => Leads::Unknown,
            },
            "binary_expression" => match field("left") {
                Some(left) if matches!(self.operator(node), "+" | "-") => self.leads(left),
                _ => Leads::Unknown,
            },
            "pointer_expression" if self.operator(node) == "&" => {
                field("argument").map_or(Leads::Unknown, |place| self.place(place))
            }
            "call_expression" => self.call(node),
            // A pointer that was stored there may be used by all.
            "field_expression" | "subscript_expression" if self.place(node) == Leads::Shared => {
                Leads::Shared
            }
            "identifier" => match self.used(node) {
                Some(What::Part(_)) => Leads::Private,
                Some(What::Directive { directive, .. }) if directive.does.private => Leads::Private,
                Some(What::Shared(_)) => Leads::Shared,
                Some(What::Variable(i)) if self.own.contains(i) => Leads::Private,
                Some(_) => Leads::Unknown,
                None if self.arrays.contains(self.word(node)) => Leads::Private,
                None => {
                    let known = self.locals.get(self.word(node)).copied().flatten();
                    known.unwrap_or(Leads::Unknown)
                }
            },
            _ => Leads::Unknown,
        }
    }

    /// It is the null pointer.
    fn none(&self, node: Node<'_>) -> bool {
        matches!(self.word(node), "NULL" | "0")
    }

    fn operator(&self, node: Node<'_>) -> &str {
        let operator = node.child_by_field_name("operator");
        operator.map_or("", |operator| self.word(operator))
    }

    fn call(&self, node: Node<'_>) -> Leads {
        let Some(function) = node.child_by_field_name("function") else {
            return Leads::Unknown;
        };
        match self.used(function) {
            Some(What::Directive { directive, .. }) if directive.does.in_lock == InLock::Only => {
                Leads::Shared
            }
            Some(What::Directive { directive, .. }) if directive.does.private => Leads::Private,
            None if ALLOCATE.contains(&self.word(function)) => Leads::Private,
            _ => Leads::Unknown,
        }
    }

    /// Where a place in memory is. A variable that was dereferenced on the way is what it leads to.
    fn place(&self, node: Node<'_>) -> Leads {
        let field = |name| node.child_by_field_name(name);
        match node.kind() {
            "parenthesized_expression" => node
                .named_child(0)
                .map_or(Leads::Unknown, |n| self.place(n)),
            "field_expression" => match (field("argument"), self.operator(node)) {
                (Some(of), ".") => self.place(of),
                (Some(of), _) => self.leads(of),
                _ => Leads::Unknown,
            },
            "subscript_expression" => field("argument").map_or(Leads::Unknown, |of| {
                match self.place(of) {
                    Leads::Private if !self.is_array(of) => self.leads(of),
                    // The element of an array, or what a shared pointer leads to.
                    found => found,
                }
            }),
            "pointer_expression" if self.operator(node) == "*" => {
                field("argument").map_or(Leads::Unknown, |of| self.leads(of))
            }
            "identifier" => match self.used(node) {
                Some(What::Shared(_)) => Leads::Shared,
                Some(What::Variable(_)) => Leads::Private,
                Some(_) => Leads::Unknown,
                None => {
                    let word = self.word(node);
                    let local = self.arrays.contains(word) || self.locals.contains_key(word);
                    if local {
                        Leads::Private
                    } else {
                        Leads::Unknown
                    }
                }
            },
            _ => Leads::Unknown,
        }
    }

    fn is_array(&self, node: Node<'_>) -> bool {
        self.used(node).is_none() && self.arrays.contains(self.word(node))
    }

    /// Whether this is a place that all connections see.
    fn reaches_shared(&self, left: Node<'_>) -> bool {
        self.place(left) == Leads::Shared
    }
}

//! What the body of a function or action does with shared variables. Must not know: models, other
//! bodies.

use super::declared::{names, shared};
use crate::leads::{Global, Lead, Place, Visible, is_allocator};
use crate::library::children;
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// Functions of the C library that write to what their first argument names.
const FILL: [&str; 15] = [
    "bzero",
    "fgets",
    "memcpy",
    "memmove",
    "memset",
    "snprintf",
    "sprintf",
    "stpcpy",
    "strcat",
    "strcpy",
    "strlcat",
    "strlcpy",
    "strncat",
    "strncpy",
    "vsnprintf",
];

/// What the body of a function or action does.
#[derive(Default)]
pub(super) struct Done {
    /// Variables at file scope and where they are named.
    pub(super) names: Vec<(String, usize)>,
    /// What it writes, and where.
    pub(super) writes: Vec<(Place, usize)>,
    /// The same of what is written atomically, or by a called function through a parameter while it
    /// holds a lock.
    pub(super) locked: Vec<(Place, usize)>,
    /// Parameters through which it writes, and whether atomically or while it holds a lock.
    pub(super) through: BTreeMap<usize, bool>,
    /// Functions and where they are called.
    pub(super) calls: Vec<(String, usize)>,
    /// What calls get that certainly leads somewhere: the call by its number, the argument by its
    /// number, where it leads.
    pub(super) given: Vec<(usize, usize, Place)>,
    /// Whether it takes a lock.
    pub(super) locks: bool,
}

/// What bodies can name.
#[derive(Default)]
pub(super) struct Around {
    pub(super) globals: BTreeMap<String, Global>,
    /// Pointers at file scope, and where they lead.
    pub(super) pointers: BTreeMap<String, Lead>,
    /// The functions of the specification that are no macros.
    pub(super) known: BTreeSet<String>,
    /// What macros name.
    pub(super) unsure: BTreeSet<String>,
    /// Functions and macros that take a lock and leave it taken.
    pub(super) holders: BTreeSet<String>,
}

impl Around {
    /// Whether a write there is atomic.
    pub(super) fn is_atomic(&self, place: &Place) -> bool {
        let Place::Global(name) = place else {
            return false;
        };
        self.globals.get(name).is_some_and(|global| global.atomic)
    }
}

/// A body, and where its pointers lead.
pub(super) struct Followed<'t, 'g> {
    pub(super) visible: Visible<'g>,
    /// Its nodes.
    all: Vec<Node<'t>>,
    /// Whether its pointers could be followed.
    pub(super) sure: bool,
}

impl<'t, 'g> Followed<'t, 'g> {
    /// Follows the pointers of a body. A name that is declared anywhere in it is taken for its own,
    /// except a static variable, which is shared like one at file scope.
    pub(super) fn of(
        text: &str,
        body: Node<'t>,
        around: &'g Around,
        parameters: &[Option<String>],
    ) -> Followed<'t, 'g> {
        let mut own: BTreeSet<String> = parameters.iter().flatten().cloned().collect();
        own.extend(names(text, body));
        let mut visible = Visible::new(&around.globals, &around.pointers, own);
        let mut all = vec![body];
        let mut next = 0;
        while next < all.len() {
            let node = all[next];
            next += 1;
            if node.kind() == "declaration" {
                let is_static = |child: &Node<'_>| &text[child.byte_range()] == "static";
                if children(node).iter().any(is_static) {
                    visible.statics.extend(shared(text, node));
                }
            }
            all.extend(children(node));
        }
        let trusted = |name: &str| {
            let standard = FILL.contains(&name) || is_allocator(name) || writes_atomically(name);
            standard || around.known.contains(name)
        };
        let sure = visible.follow(text, &all, parameters, trusted, &around.unsure);
        Followed { visible, all, sure }
    }
}

/// What a body does.
pub(super) fn done(
    text: &str,
    body: Node<'_>,
    around: &Around,
    parameters: &[Option<String>],
) -> Done {
    let globals = &around.globals;
    let Followed { visible, all, .. } = Followed::of(text, body, around, parameters);
    let mut done = Done::default();
    for node in all {
        let base = |place| base(text, place, &visible).map(Place::Global);
        let is = |place| base(place).or_else(|| visible.place(text, place));
        let mut atomic = false;
        let written = match node.kind() {
            "assignment_expression" => node.child_by_field_name("left").and_then(is),
            "update_expression" => node.child_by_field_name("argument").and_then(is),
            "call_expression" => {
                let name = node.child_by_field_name("function");
                let name = name.filter(|name| name.kind() == "identifier");
                let name = name.map_or("", |name| &text[name.byte_range()]);
                done.locks |= takes_lock(name);
                done.calls.push((name.to_string(), node.start_byte()));
                let arguments = node
                    .child_by_field_name("arguments")
                    .map_or(Vec::new(), children);
                for (number, argument) in arguments.iter().enumerate() {
                    if let Some(place) = visible.target(text, *argument) {
                        done.given.push((done.calls.len() - 1, number, place));
                    }
                }
                atomic = writes_atomically(name);
                let first = arguments.first().copied();
                let first = first.filter(|_| atomic || FILL.contains(&name));
                first.and_then(|first| {
                    let part = || base(first).filter(|_| first.kind() != "identifier");
                    visible.target(text, first).or_else(part)
                })
            }
            "identifier" => {
                let name = &text[node.byte_range()];
                if globals.contains_key(name) && !visible.own.contains(name) {
                    done.names.push((name.to_string(), node.start_byte()));
                }
                done.locks |= around.holders.contains(name) && !visible.own.contains(name);
                None
            }
            _ => None,
        };
        match written {
            None | Some(Place::Fresh) => {}
            Some(Place::Given(number)) => {
                let locked = done.through.entry(number).or_insert(atomic);
                *locked &= atomic;
            }
            Some(place) => {
                let of = |name: &String| visible.is_atomic(name);
                let atomic = atomic || matches!(&place, Place::Global(name) if of(name));
                let writes = if atomic {
                    &mut done.locked
                } else {
                    &mut done.writes
                };
                writes.push((place, node.start_byte()));
            }
        }
    }
    for locked in done.through.values_mut() {
        *locked |= done.locks;
    }
    done.writes.sort_by_key(|(_, at)| *at);
    done
}

/// Whether a function writes atomically to what its first argument points to.
fn writes_atomically(name: &str) -> bool {
    let reads = ["load", "fence", "lock_free"];
    let reads = reads.iter().any(|word| name.contains(word));
    !reads
        && ["atomic_", "__atomic_", "__sync_"]
            .iter()
            .any(|p| name.starts_with(p))
}

/// Whether a function takes a lock, by its name: `pthread_mutex_lock`, but not `clock` or `unlock`.
pub(super) fn takes_lock(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let others = ["clock", "block", "unlock"];
    let mut found = name.match_indices("lock").map(|(at, word)| at + word.len());
    let takes = found.any(|end| !others.iter().any(|other| name[..end].ends_with(other)));
    takes && !releases_lock(&name)
}

/// Whether a function releases a lock, by its name.
pub(super) fn releases_lock(name: &str) -> bool {
    name.to_ascii_lowercase().contains("unlock") || name == "nest_lock_end"
}

/// The shared variable that an expression is, or is a part of.
fn base(text: &str, place: Node<'_>, visible: &Visible<'_>) -> Option<String> {
    let mut node = place;
    let (mut indices, mut parts) = (0, false); // directly behind the name; whether there are others
    loop {
        node = match node.kind() {
            "parenthesized_expression" => node.named_child(0)?,
            "subscript_expression" => {
                indices += 1;
                node.child_by_field_name("argument")?
            }
            "field_expression" => {
                (indices, parts) = (0, parts || indices > 0);
                let operator = node.child_by_field_name("operator")?;
                if operator.kind() != "." {
                    return None;
                }
                node.child_by_field_name("argument")?
            }
            "pointer_expression" if text[node.byte_range()].starts_with('&') => {
                node.child_by_field_name("argument")?
            }
            "identifier" => break,
            _ => return None,
        };
    }
    let name = &text[node.byte_range()];
    let global = visible.get(name)?;
    let whole = indices == 0 && !parts;
    (whole || global.holds(indices)).then(|| name.to_string())
}

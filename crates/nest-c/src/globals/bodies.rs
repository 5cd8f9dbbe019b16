//! What the body of a function or action does with shared variables. Must not know: models, other
//! bodies.

use super::declared::shared;
use super::fills::{fills, written};
use crate::leads::{Lead, Outside, Place, Visible, is_allocator};
use crate::library::{children, parameters};
use crate::macros::Scope;
use crate::members::names;
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// Macros that are used in one another; what stands deeper is not looked at.
const DEEPEST: usize = 16;

/// How much of macros is looked at: so many nodes, and so many for each node of the body.
const MACROS: (usize, usize) = (4096, 16);

/// A call of a function.
pub(super) struct Call {
    pub(super) name: String,
    pub(super) at: usize,
    /// Whether it stands in a macro that takes a lock.
    pub(super) locked: bool,
}

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
    pub(super) calls: Vec<Call>,
    /// What calls get that certainly leads somewhere: the call by its number, the argument by its
    /// number, where it leads.
    pub(super) given: Vec<(usize, usize, Place)>,
    /// Whether it takes a lock.
    pub(super) locks: bool,
}

/// What bodies can name.
#[derive(Default)]
pub(super) struct Around {
    pub(super) outside: Outside,
    /// Pointers at file scope, and where they lead.
    pub(super) pointers: BTreeMap<String, Lead>,
    /// The functions of the specification that are no macros.
    pub(super) known: BTreeSet<String>,
    /// Functions and macros that take a lock and leave it taken.
    pub(super) holders: BTreeSet<String>,
}

impl Around {
    /// Whether a write there is atomic.
    pub(super) fn is_atomic(&self, place: &Place) -> bool {
        let Place::Global(name) = place else {
            return false;
        };
        self.outside
            .globals
            .get(name)
            .is_some_and(|global| global.atomic)
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
        list: Option<Node<'t>>,
    ) -> Followed<'t, 'g> {
        let outside = &around.outside;
        let named = list.map_or_else(Vec::new, |list| parameters(text, list));
        let named: Vec<Option<String>> = named.iter().map(|n| n.map(str::to_string)).collect();
        let mut own = names(text, body);
        own.extend(named.iter().flatten().cloned());
        let mut all = vec![body];
        let mut next = 0;
        while next < all.len() {
            all.extend(children(all[next]));
            next += 1;
        }
        let types = outside.types.locals(text, &all, list);
        let mut visible = Visible::new(outside, &around.pointers, own, types);
        let is_static = |child: &Node<'_>| &text[child.byte_range()] == "static";
        for node in all.iter().filter(|node| node.kind() == "declaration") {
            if children(*node).iter().any(is_static) {
                let statics = shared(text, *node, &outside.types);
                visible.statics.extend(statics);
            }
        }
        let trusted = |name: &str| {
            let standard = fills(name) || is_allocator(name) || writes_atomically(name);
            standard || around.known.contains(name)
        };
        let sure = visible.follow(text, &all, &named, trusted);
        Followed { visible, all, sure }
    }
}

/// What a body does. `list`: that of its parameters.
pub(super) fn done(text: &str, body: Node<'_>, around: &Around, list: Option<Node<'_>>) -> Done {
    let Followed { visible, all, .. } = Followed::of(text, body, around, list);
    let mut done = Done::default();
    let mut look = Look {
        around,
        visible: &visible,
        left: MACROS.0 + MACROS.1 * all.len(),
    };
    look.nodes(&Scope::of(text), &all, None, &mut done);
    for locked in done.through.values_mut() {
        *locked |= done.locks;
    }
    done.writes.sort_by_key(|(_, at)| *at);
    done
}

/// Looks at the nodes of a body, and at those of the macros that it uses.
struct Look<'g> {
    around: &'g Around,
    visible: &'g Visible<'g>,
    /// Nodes of macros that it still looks at.
    left: usize,
}

impl Look<'_> {
    /// `used`: where the body uses the macro in which they stand.
    fn nodes(&mut self, scope: &Scope<'_>, all: &[Node<'_>], used: Option<usize>, done: &mut Done) {
        for node in all {
            let at = used.unwrap_or(node.start_byte());
            let field = match node.kind() {
                "assignment_expression" => "left",
                "update_expression" => "argument",
                "identifier" => {
                    let name = &scope.text[node.byte_range()];
                    if !self.visible.own.contains(name) && !scope.names(name) {
                        if self.around.outside.globals.contains_key(name) {
                            done.names.push((name.to_string(), at));
                        }
                        done.locks |= self.around.holders.contains(name);
                    }
                    self.macro_of(scope, *node, at, done);
                    continue;
                }
                "call_expression" => {
                    done.locks |= takes_lock(scope.called(*node));
                    if !self.macro_of(scope, *node, at, done) {
                        self.call(scope, *node, at, done);
                    }
                    continue;
                }
                _ => continue,
            };
            if let Some(to) = node.child_by_field_name(field) {
                let atomic = self.visible.is_atomic_member(scope, to);
                self.writes(done, self.visible.place(scope, to), atomic, at);
            }
        }
    }

    fn writes(&self, done: &mut Done, place: Option<Place>, atomic: bool, at: usize) {
        let own = |name: &String| self.visible.is_atomic(name);
        match place {
            None | Some(Place::Fresh) => {}
            Some(Place::Given(number)) => through(done, number, atomic),
            Some(place) if atomic || matches!(&place, Place::Global(name) if own(name)) => {
                done.locked.push((place, at));
            }
            Some(place) => done.writes.push((place, at)),
        }
    }

    fn call(&self, scope: &Scope<'_>, node: Node<'_>, at: usize, done: &mut Done) {
        let name = scope.called(node);
        let list = node.child_by_field_name("arguments");
        let arguments = list.map_or_else(Vec::new, children);
        for (number, argument) in arguments.iter().enumerate() {
            if let Some(place) = self.visible.target(scope, *argument) {
                done.given.push((done.calls.len(), number, place));
            }
        }
        done.calls.push(Call {
            name: name.to_string(),
            at,
            locked: false,
        });
        let atomic = writes_atomically(name);
        let macros = &self.around.outside.macros.defined;
        let is_own = macros.contains(name)
            || self.around.known.contains(name)
            || self.visible.own.contains(name);
        let known = match (atomic, is_own) {
            (true, _) => 1,
            (false, true) => 0,
            (false, false) => arguments.len(),
        };
        for (number, to) in arguments.iter().enumerate().take(known) {
            if atomic || written(name, number) {
                self.writes(done, self.visible.target(scope, *to), atomic, at);
            }
        }
    }

    /// Adds what a macro does; false: the node uses none.
    fn macro_of(&mut self, scope: &Scope<'_>, node: Node<'_>, at: usize, done: &mut Done) -> bool {
        let Some((of, arguments)) = self.visible.used(scope, node) else {
            return false;
        };
        let root = of.root().filter(|_| scope.depth() < DEEPEST);
        let Some(root) = root.filter(|root| root.descendant_count() <= self.left) else {
            return true;
        };
        self.left -= root.descendant_count();
        let mut all = vec![root];
        let mut next = 0;
        while next < all.len() {
            all.extend(children(all[next]));
            next += 1;
        }
        let mut inside = Done::default();
        self.nodes(&scope.inside(of, &arguments), &all, Some(at), &mut inside);
        done.add(inside);
        true
    }
}

/// Records a write through a parameter.
fn through(done: &mut Done, number: usize, atomic: bool) {
    let locked = done.through.entry(number).or_insert(atomic);
    *locked &= atomic;
}

impl Done {
    /// Adds what a macro does. A lock that it takes protects what stands in it.
    fn add(&mut self, inside: Done) {
        let calls = self.calls.len();
        let locks = inside.locks;
        self.names.extend(inside.names);
        self.locked.extend(inside.locked);
        let writes = if locks {
            &mut self.locked
        } else {
            &mut self.writes
        };
        writes.extend(inside.writes);
        for (number, locked) in inside.through {
            through(self, number, locked || locks);
        }
        self.calls.extend(inside.calls.into_iter().map(|call| Call {
            locked: call.locked || locks,
            ..call
        }));
        let given = inside.given.into_iter();
        self.given
            .extend(given.map(|(call, number, place)| (calls + call, number, place)));
    }
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

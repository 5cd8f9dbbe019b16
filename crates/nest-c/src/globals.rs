//! C globals that actions write: variables at file scope, and static variables in functions.
//!
//! Only writes count that certainly reach such a variable, or memory that a static pointer got from
//! the C library: assignments, increments, and calls of the C library that are known to write to what
//! they are given. They may go through a pointer. What a pointer leads to that may have got another
//! value may be shared in a way that is not seen here. Functions and macros of the specification are
//! followed. Code of the server is compared with actions, because it runs in another process. Must not
//! know: models, what a write may do wrong.

mod bodies;
mod declared;
mod fills;
mod locks;
mod pointers;

use crate::action::{Action, What, inner};
use crate::leads::{Outside, Place};
use crate::library::{Library, Parsed, defines};
use crate::macros::Macros;
use crate::members::{Types, names};
use crate::read::Read;
use crate::scope::{BODY, Body, parser};
use crate::source::{Owner, Source};
use bodies::{Around, Call, Done, done};
use declared::Declared;
use nest_diag::Span;
use pointers::Piece;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tree_sitter::Parser;

/// Rounds in which parameters are followed from one function to the next.
const ROUNDS: usize = 8;

/// What protects a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guard {
    /// Nothing.
    None,
    /// The function, or one that calls it, takes a lock, or the write is atomic.
    Lock,
    /// It stands in `$block`, which may run on a helper thread.
    Helper,
}

/// A write to a C global.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The variable.
    pub variable: String,
    /// Whether it is a pointer, and what it points to is written.
    pub behind: bool,
    /// Whether it is atomic.
    pub atomic: bool,
    /// Whose action leads to it.
    pub owner: Owner,
    /// The write in the action, or the call that leads to it.
    pub span: Span,
    /// What protects it.
    pub guard: Guard,
}

/// A variable that actions and code of the server name, and one of them writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// The variable.
    pub variable: String,
    /// Whether it is a pointer, and what it points to is written.
    pub behind: bool,
    /// Whether the server's code writes it; else only actions do.
    pub written: bool,
    /// The place in the server's code.
    pub span: Span,
}

/// The shared variables, and what functions do with them.
struct Shared {
    around: Around,
    functions: BTreeMap<String, Vec<Done>>,
}

/// Where a variable is named first, and where it is written first.
struct Touched {
    named: Span,
    written: Option<Span>,
    behind: bool,
}

/// The variable that is written, or through which memory is, and whether the latter.
fn variable(place: &Place) -> Option<(&str, bool)> {
    match place {
        Place::Global(name) => Some((name, false)),
        Place::Behind(name) => Some((name, true)),
        Place::Given(_) | Place::Fresh => None,
    }
}

impl Shared {
    /// What these actions do with variables at file scope, also by functions that they call.
    fn touched<'a>(
        &self,
        actions: impl Iterator<Item = &'a Action>,
        parser: &mut Parser,
    ) -> BTreeMap<String, Touched> {
        let mut found: BTreeMap<String, Touched> = BTreeMap::new();
        for action in actions {
            let read = Read::of(action, parser);
            let Some(body) = read.body() else { continue };
            let mut own = done(read.text, body, &self.around, None);
            pass(&mut own, &self.functions, &self.around);
            let span = |at: usize| {
                let at = at.saturating_sub(BODY.len());
                inner(action.span, &(at..at + 1))
            };
            for (name, at) in &own.names {
                touch(&mut found, (name, false), span(*at), false);
            }
            for (place, at) in own.writes.iter().chain(&own.locked) {
                if let Some(written) = variable(place) {
                    touch(&mut found, written, span(*at), true);
                }
            }
            for call in &own.calls {
                let at = &call.at;
                let mut met = BTreeSet::new();
                let mut todo = vec![call.name.as_str()];
                while let Some(name) = todo.pop() {
                    if !met.insert(name) {
                        continue;
                    }
                    for function in self.functions.get(name).into_iter().flatten() {
                        for (name, _) in &function.names {
                            touch(&mut found, (name, false), span(*at), false);
                        }
                        for (place, _) in function.writes.iter().chain(&function.locked) {
                            if let Some(written) = variable(place) {
                                touch(&mut found, written, span(*at), true);
                            }
                        }
                        todo.extend(function.calls.iter().map(|call| call.name.as_str()));
                    }
                }
            }
        }
        found
    }
}

fn touch(
    found: &mut BTreeMap<String, Touched>,
    (name, behind): (&str, bool),
    span: Span,
    writes: bool,
) {
    let touched = found.entry(name.to_string()).or_insert(Touched {
        named: span,
        written: None,
        behind: false,
    });
    if writes && touched.written.is_none() {
        touched.written = Some(span);
        touched.behind = behind;
    }
}

/// The variables by which actions and code of the server cannot tell each other anything.
#[must_use]
pub fn apart(m: &Source<'_>) -> Vec<Apart> {
    if m.server.is_empty() {
        return Vec::new();
    }
    let mut parser = parser();
    let shared = shared_by(m, &mut parser);
    let actions = shared.touched(m.actions().map(|(_, action)| action), &mut parser);
    let server = shared.touched(m.server.iter().copied(), &mut parser);
    let both = server.into_iter().filter_map(|(variable, here)| {
        let there = actions.get(&variable)?;
        (here.written.is_some() || there.written.is_some()).then(|| Apart {
            variable,
            behind: if here.written.is_some() {
                here.behind
            } else {
                there.behind
            },
            written: here.written.is_some(),
            span: here.written.unwrap_or(here.named),
        })
    });
    both.collect()
}

/// The variables of a specification, and what its functions do with them.
fn shared_by(m: &Source<'_>, parser: &mut Parser) -> Shared {
    let parsed = Parsed::of(m, parser);
    let library = Library::of(m, &parsed);
    let root = parsed.root();
    let types = root.map_or_else(Types::default, |root| Types::of(library.text, root));
    let mut declared = root.map_or_else(Declared::default, |root| {
        Declared::of(library.text, root, &types)
    });
    for declaration in &m.variables {
        for declarator in &declaration.declarators {
            let text = format!("{} {};", declaration.specifiers.text, declarator.text);
            let tree = parser.parse(&text, None);
            let names = tree.iter().flat_map(|tree| names(&text, tree.root_node()));
            for name in names.collect::<Vec<_>>() {
                declared.globals.remove(&name);
                declared.pointers.remove(&name);
            }
        }
    }
    let texts = m.file_scope.iter().map(|code| code.text.as_str());
    let actions = m.actions().map(|(_, action)| action.code.text.as_str());
    let texts: Vec<&str> = texts.chain(actions).collect();
    let mut around = Around {
        outside: Outside {
            globals: std::mem::take(&mut declared.globals),
            types,
            macros: Macros::of(&texts, parser),
        },
        ..Around::default()
    };
    around
        .known
        .extend(library.functions.keys().map(|name| (*name).to_string()));
    let macros: Vec<(String, &str)> = texts.iter().flat_map(|text| defines(text)).collect();
    for (name, _) in &macros {
        around.known.remove(name);
    }
    around.holders = locks::holders(&library, &macros);
    if !declared.pointers.is_empty() {
        follow_pointers(m, parser, &library, &declared, &mut around);
    }
    let functions = library.functions.iter().map(|(name, all)| {
        let done = all
            .iter()
            .map(|function| done(library.text, function.body, &around, Some(function.list)));
        ((*name).to_string(), done.collect())
    });
    let mut functions: BTreeMap<String, Vec<Done>> = functions.collect();
    pass_all(&mut functions, &around);
    Shared { around, functions }
}

/// Finds out where static pointers lead.
fn follow_pointers(
    m: &Source<'_>,
    parser: &mut Parser,
    library: &Library<'_>,
    declared: &Declared<'_>,
    around: &mut Around,
) {
    let startup: Vec<&str> = m.startup.iter().map(|code| code.text.as_str()).collect();
    let startup = Body::of(parser, &startup.join("\n"));
    let actions: Vec<Read<'_>> = m.actions().map(|(_, a)| Read::of(a, parser)).collect();
    let apart: Vec<Read<'_>> = m
        .server
        .iter()
        .chain(&m.beginning)
        .map(|a| Read::of(a, parser))
        .collect();
    let mut beside: BTreeSet<&str> = BTreeSet::new();
    let mut todo: Vec<&str> = apart.iter().map(|read| read.text).collect();
    while let Some(text) = todo.pop() {
        for name in pointers::words(text) {
            let Some((name, all)) = library.functions.get_key_value(name) else {
                continue;
            };
            if beside.insert(name) {
                todo.extend(all.iter().map(|f| &library.text[f.body.byte_range()]));
            }
        }
    }
    let piece = |text, body, elsewhere| Piece {
        text,
        body,
        parameters: None,
        elsewhere,
    };
    let mut pieces = vec![piece(&startup.text, startup.root(), false)];
    pieces.extend(
        actions
            .iter()
            .map(|read| piece(read.text, read.body(), false)),
    );
    pieces.extend(apart.iter().map(|read| piece(read.text, read.body(), true)));
    for (name, all) in &library.functions {
        pieces.extend(all.iter().map(|function| Piece {
            text: library.text,
            body: Some(function.body),
            parameters: Some(function.list),
            elsewhere: beside.contains(name),
        }));
    }
    let locals = m
        .variables
        .iter()
        .flat_map(|v| v.declarators.iter().map(|d| d.text.as_str()));
    let shared = m.shared.iter().map(|action| action.code.text.as_str());
    let unclear: Vec<&str> = locals.chain(shared).collect();
    pointers::solve(around, library.text, declared, &pieces, &unclear);
}

/// Through which parameters all functions of this name write, and whether one holds a lock then.
fn through(functions: &BTreeMap<String, Vec<Done>>, name: &str) -> BTreeMap<usize, bool> {
    let mut all = functions.get(name).into_iter().flatten();
    let mut found = all.next().map_or_else(BTreeMap::new, |d| d.through.clone());
    for done in all {
        found.retain(|number, _| done.through.contains_key(number));
    }
    found
}

/// Adds what a body writes through what it gives to functions.
fn pass(done: &mut Done, functions: &BTreeMap<String, Vec<Done>>, around: &Around) {
    for (call, number, place) in &done.given {
        let Call { name, at, locked } = &done.calls[*call];
        let Some(inside) = through(functions, name).get(number).copied() else {
            continue;
        };
        let locked = *locked || inside;
        match place {
            Place::Given(own) => {
                done.through.entry(*own).or_insert(locked || done.locks);
            }
            Place::Fresh => {}
            place if locked || around.is_atomic(place) => done.locked.push((place.clone(), *at)),
            place => done.writes.push((place.clone(), *at)),
        }
    }
    for writes in [&mut done.writes, &mut done.locked] {
        writes.sort_by(|(a, at), (b, other)| (at, a).cmp(&(other, b)));
        writes.dedup();
    }
}

/// The same of all functions, until nothing is new. What is handed on through more of them than
/// `ROUNDS` may be missed.
fn pass_all(functions: &mut BTreeMap<String, Vec<Done>>, around: &Around) {
    let count = |functions: &BTreeMap<String, Vec<Done>>| -> usize {
        let all = functions.values().flatten();
        all.map(|done| done.through.len() + done.writes.len() + done.locked.len())
            .sum()
    };
    for _ in 0..ROUNDS {
        let before = count(functions);
        let names: Vec<String> = functions.keys().cloned().collect();
        for name in names {
            let mut own = functions.remove(&name).unwrap_or_default();
            for done in &mut own {
                pass(done, functions, around);
            }
            functions.insert(name, own);
        }
        if count(functions) == before {
            return;
        }
    }
}

/// The writes of all actions; those of a function at the first call that leads to it.
#[must_use]
pub fn writes(m: &Source<'_>) -> Vec<Write> {
    let mut parser = parser();
    let shared = shared_by(m, &mut parser);
    let mut follow = Follow {
        shared: &shared,
        met: BTreeSet::new(),
        found: Vec::new(),
    };
    for (owner, action) in m.actions() {
        let read = Read::of(action, &mut parser);
        if let Some(body) = read.body() {
            let mut done = done(read.text, body, &shared.around, None);
            pass(&mut done, &shared.functions, &shared.around);
            follow.action(owner, action, &done);
        }
    }
    follow.found
}

/// Follows actions into the functions that they call.
struct Follow<'p> {
    shared: &'p Shared,
    /// Functions whose writes are recorded, and whether they are protected: each is followed once,
    /// whatever calls it.
    met: BTreeSet<(String, Guard)>,
    found: Vec<Write>,
}

impl Follow<'_> {
    fn action(&mut self, owner: Owner, action: &Action, done: &Done) {
        let (mut blocks, mut locks) = (Vec::new(), Vec::new());
        for u in &action.uses {
            match u.what {
                What::Block { close } => blocks.push(u.at.start..close),
                What::Lock { close } => locks.push(u.at.start..close),
                _ => {}
            }
        }
        let is_in = |ranges: &[Range<usize>], at: usize| {
            let before = ranges.partition_point(|range| range.start <= at);
            ranges[..before].last().is_some_and(|range| at < range.end)
        };
        let guard = |at: usize| {
            if done.locks || is_in(&locks, at) {
                Guard::Lock
            } else if is_in(&blocks, at) {
                Guard::Helper
            } else {
                Guard::None
            }
        };
        let shared = self.shared;
        let write = |place: &Place, at: usize, guard: Guard| {
            let (name, behind) = variable(place)?;
            Some(Write {
                variable: name.to_string(),
                behind,
                atomic: shared.around.is_atomic(place),
                owner,
                span: inner(action.span, &(at..at + 1)),
                guard,
            })
        };
        for (place, at) in &done.writes {
            let at = at.saturating_sub(BODY.len());
            self.found.extend(write(place, at, guard(at)));
        }
        for (place, at) in &done.locked {
            let at = at.saturating_sub(BODY.len());
            self.found.extend(write(place, at, Guard::Lock));
        }
        for call in &done.calls {
            let at = call.at.saturating_sub(BODY.len());
            let guard = if call.locked { Guard::Lock } else { guard(at) };
            let mut todo = vec![(call.name.as_str(), guard)];
            while let Some((name, guard)) = todo.pop() {
                let Some(functions) = self.shared.functions.get(name) else {
                    continue;
                };
                if !self.met.insert((name.to_string(), guard)) {
                    continue;
                }
                for function in functions {
                    let guard = if function.locks { Guard::Lock } else { guard };
                    let writes = function.writes.iter();
                    let writes = writes.filter_map(|(place, _)| write(place, at, guard));
                    self.found.extend(writes);
                    let locked = function.locked.iter();
                    let locked = locked.filter_map(|(place, _)| write(place, at, Guard::Lock));
                    self.found.extend(locked);
                    todo.extend(function.calls.iter().map(|call| {
                        let guard = if call.locked { Guard::Lock } else { guard };
                        (call.name.as_str(), guard)
                    }));
                }
            }
        }
    }
}

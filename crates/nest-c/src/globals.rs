//! C globals that actions write: variables at file scope, and static variables in functions.
//!
//! Only writes to the variable itself count: assignments, increments, and calls of the C library that
//! fill an array, also through a pointer that certainly leads to it: a local one, or a
//! parameter. What another pointer leads to may be shared in a way that is not seen
//! here. Functions of the specification are followed. Code of the server is compared with actions, because it runs in another
//! process. Must not know: models, what a write may do wrong.

use crate::action::{Action, What, inner};
use crate::leads::{Global, Place, Visible};
use crate::lexer::{self, Kind};
use crate::library::{Library, Parsed, children, defines};
use crate::read::Read;
use crate::scope::{BODY, declared, parser};
use crate::source::{Owner, Source};
use nest_diag::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tree_sitter::{Node, Parser};

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

/// Rounds in which parameters are followed from one function to the next.
const ROUNDS: usize = 8;

/// What protects a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guard {
    /// Nothing.
    None,
    /// The function, or one that calls it, takes a lock.
    Lock,
    /// It stands in `$block`, which may run on a helper thread.
    Helper,
}

/// A write to a C global.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The variable.
    pub variable: String,
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
    /// Whether the server's code writes it; else only actions do.
    pub written: bool,
    /// The place in the server's code.
    pub span: Span,
}

/// What the body of a function or action does.
#[derive(Default)]
struct Done {
    /// Variables at file scope and where they are named.
    names: Vec<(String, usize)>,
    /// Variables and where they are written.
    writes: Vec<(String, usize)>,
    /// The same of those that a called function writes through a parameter while it holds a lock.
    locked: Vec<(String, usize)>,
    /// Parameters through which it writes, and whether it holds a lock then.
    through: BTreeMap<usize, bool>,
    /// Functions and where they are called.
    calls: Vec<(String, usize)>,
    /// What calls get that certainly leads somewhere: the call by its number, the argument by its
    /// number, where it leads.
    given: Vec<(usize, usize, Place)>,
    /// Whether it takes a lock.
    locks: bool,
}

/// The shared variables, and what functions do with them.
struct Shared {
    around: Around,
    functions: BTreeMap<String, Vec<Done>>,
}

/// What bodies can name.
#[derive(Default)]
struct Around {
    globals: BTreeMap<String, Global>,
    /// The functions of the specification that are no macros.
    known: BTreeSet<String>,
    /// What macros name.
    unsure: BTreeSet<String>,
}

/// Where a variable is named first, and where it is written first.
struct Touched {
    named: Span,
    written: Option<Span>,
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
            let mut own = done(read.text, body, &self.around, &[]);
            pass(&mut own, &self.functions);
            let span = |at: usize| {
                let at = at.saturating_sub(BODY.len());
                inner(action.span, &(at..at + 1))
            };
            for (name, at) in &own.names {
                touch(&mut found, name, span(*at), false);
            }
            for (name, at) in own.writes.iter().chain(&own.locked) {
                touch(&mut found, name, span(*at), true);
            }
            for (called, at) in &own.calls {
                let mut met = BTreeSet::new();
                let mut todo = vec![called.as_str()];
                while let Some(name) = todo.pop() {
                    if !met.insert(name) {
                        continue;
                    }
                    for function in self.functions.get(name).into_iter().flatten() {
                        for (name, _) in &function.names {
                            touch(&mut found, name, span(*at), false);
                        }
                        for (name, _) in function.writes.iter().chain(&function.locked) {
                            touch(&mut found, name, span(*at), true);
                        }
                        todo.extend(function.calls.iter().map(|(name, _)| name.as_str()));
                    }
                }
            }
        }
        found
    }
}

fn touch(found: &mut BTreeMap<String, Touched>, name: &str, span: Span, writes: bool) {
    let touched = found.entry(name.to_string()).or_insert(Touched {
        named: span,
        written: None,
    });
    if writes && touched.written.is_none() {
        touched.written = Some(span);
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
    let mut globals = BTreeMap::new();
    if let Some(root) = parsed.root() {
        file_scope(library.text, root, &mut globals);
    }
    for declaration in &m.variables {
        for declarator in &declaration.declarators {
            let text = format!("{} {};", declaration.specifiers.text, declarator.text);
            let tree = parser.parse(&text, None);
            let names = tree.iter().flat_map(|tree| names(&text, tree.root_node()));
            for name in names.collect::<Vec<_>>() {
                globals.remove(&name);
            }
        }
    }
    let mut around = Around {
        globals,
        ..Around::default()
    };
    around
        .known
        .extend(library.functions.keys().map(|name| (*name).to_string()));
    let macros = m.file_scope.iter().map(|code| code.text.as_str());
    let actions = m.actions().map(|(_, action)| action.code.text.as_str());
    for (name, body) in macros.chain(actions).flat_map(defines) {
        around.known.remove(&name);
        let tokens = lexer::tokens(body)
            .into_iter()
            .filter(|token| token.kind == Kind::Name);
        around
            .unsure
            .extend(tokens.map(|token| body[token.at].to_string()));
    }
    let functions = library.functions.iter().map(|(name, all)| {
        let done = all.iter().map(|function| {
            let parameters = function.parameters.iter();
            let parameters: Vec<_> = parameters.map(|name| name.map(str::to_string)).collect();
            done(library.text, function.body, &around, &parameters)
        });
        ((*name).to_string(), done.collect())
    });
    let mut functions: BTreeMap<String, Vec<Done>> = functions.collect();
    pass_all(&mut functions);
    Shared { around, functions }
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
fn pass(done: &mut Done, functions: &BTreeMap<String, Vec<Done>>) {
    for (call, number, place) in &done.given {
        let (name, at) = &done.calls[*call];
        let Some(locked) = through(functions, name).get(number).copied() else {
            continue;
        };
        match place {
            Place::Global(variable) if locked => done.locked.push((variable.clone(), *at)),
            Place::Global(variable) => done.writes.push((variable.clone(), *at)),
            Place::Given(own) => {
                done.through.entry(*own).or_insert(locked || done.locks);
            }
        }
    }
    for writes in [&mut done.writes, &mut done.locked] {
        writes.sort_by(|(a, at), (b, other)| (at, a).cmp(&(other, b)));
        writes.dedup();
    }
}

/// The same of all functions, until nothing is new. What is handed on through more of them than
/// `ROUNDS` may be missed.
fn pass_all(functions: &mut BTreeMap<String, Vec<Done>>) {
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
                pass(done, functions);
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
        functions: &shared.functions,
        met: BTreeSet::new(),
        found: Vec::new(),
    };
    for (owner, action) in m.actions() {
        let read = Read::of(action, &mut parser);
        if let Some(body) = read.body() {
            let mut done = done(read.text, body, &shared.around, &[]);
            pass(&mut done, &shared.functions);
            follow.action(owner, action, &done);
        }
    }
    follow.found
}

/// Follows actions into the functions that they call.
struct Follow<'p> {
    functions: &'p BTreeMap<String, Vec<Done>>,
    /// Functions whose writes are recorded, and whether they are protected: each is followed once,
    /// whatever calls it.
    met: BTreeSet<(String, Guard)>,
    found: Vec<Write>,
}

impl Follow<'_> {
    fn action(&mut self, owner: Owner, action: &Action, done: &Done) {
        let blocks = action.uses.iter().filter_map(|u| match u.what {
            What::Block { close } => Some(u.at.start..close),
            _ => None,
        });
        let blocks: Vec<Range<usize>> = blocks.collect();
        let guard = |at: usize| {
            let before = blocks.partition_point(|block| block.start <= at);
            let inside = blocks[..before].last().is_some_and(|b| at < b.end);
            match (done.locks, inside) {
                (true, _) => Guard::Lock,
                (false, true) => Guard::Helper,
                (false, false) => Guard::None,
            }
        };
        let write = |variable: &str, at: usize, guard: Guard| Write {
            variable: variable.to_string(),
            owner,
            span: inner(action.span, &(at..at + 1)),
            guard,
        };
        for (variable, at) in &done.writes {
            let at = at.saturating_sub(BODY.len());
            self.found.push(write(variable, at, guard(at)));
        }
        for (variable, at) in &done.locked {
            let at = at.saturating_sub(BODY.len());
            self.found.push(write(variable, at, Guard::Lock));
        }
        for (called, at) in &done.calls {
            let at = at.saturating_sub(BODY.len());
            let mut todo = vec![(called.as_str(), guard(at))];
            while let Some((name, guard)) = todo.pop() {
                let Some(functions) = self.functions.get(name) else {
                    continue;
                };
                if !self.met.insert((name.to_string(), guard)) {
                    continue;
                }
                for function in functions {
                    let guard = if function.locks { Guard::Lock } else { guard };
                    let writes = function.writes.iter();
                    let writes = writes.map(|(variable, _)| write(variable, at, guard));
                    self.found.extend(writes);
                    let locked = function.locked.iter();
                    let locked = locked.map(|(variable, _)| write(variable, at, Guard::Lock));
                    self.found.extend(locked);
                    todo.extend(
                        function
                            .calls
                            .iter()
                            .map(|(name, _)| (name.as_str(), guard)),
                    );
                }
            }
        }
    }
}

/// The variables at file scope that every connection shares.
fn file_scope(text: &str, root: Node<'_>, globals: &mut BTreeMap<String, Global>) {
    let mut todo = vec![root];
    while let Some(node) = todo.pop() {
        match node.kind() {
            "declaration" => globals.extend(shared(text, node)),
            "translation_unit" | "linkage_specification" | "declaration_list" => {
                todo.extend(children(node));
            }
            kind if kind.starts_with("preproc_") => todo.extend(children(node)),
            _ => {}
        }
    }
}

/// The variables of a declaration, without constants, and without those that are atomic, of one thread,
/// or defined elsewhere.
fn shared(text: &str, declaration: Node<'_>) -> Vec<(String, Global)> {
    let mut constant = false;
    for child in children(declaration) {
        let word = &text[child.byte_range()];
        let own = matches!(
            word,
            "extern" | "_Thread_local" | "thread_local" | "__thread"
        );
        if own || word.starts_with("_Atomic") || word.starts_with("atomic_") {
            return Vec::new();
        }
        constant |= matches!(word, "const" | "constexpr");
    }
    let mut cursor = declaration.walk();
    let declarators = declaration.children_by_field_name("declarator", &mut cursor);
    let variable = |declarator: Node<'_>| {
        let mut node = declarator;
        if node.kind() == "init_declarator" {
            node = node.child_by_field_name("declarator")?;
        }
        let pointer = node.kind() == "pointer_declarator";
        let is_array = node.kind() == "array_declarator";
        if (constant && !pointer) || !(pointer || is_array || node.kind() == "identifier") {
            return None;
        }
        // `char *const name`
        let qualified = children(node).into_iter();
        let fixed = |child: Node<'_>| &text[child.byte_range()] == "const";
        if pointer && qualified.into_iter().any(fixed) {
            return None;
        }
        let name = text[declared(node)?.byte_range()].to_string();
        Some((name, Global { is_array }))
    };
    declarators.filter_map(variable).collect()
}

/// All names that declarations and parameters in a tree declare.
fn names(text: &str, root: Node<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![root];
    while let Some(node) = todo.pop() {
        if matches!(node.kind(), "declaration" | "parameter_declaration") {
            let mut cursor = node.walk();
            let all = node.children_by_field_name("declarator", &mut cursor);
            let all = all.map(|d| d.child_by_field_name("declarator").unwrap_or(d));
            let all = all.filter_map(declared);
            found.extend(all.map(|name| text[name.byte_range()].to_string()));
        }
        todo.extend(children(node));
    }
    found
}

/// What a body does. A name that is declared anywhere in it is taken for its own, except a static
/// variable, which is shared like one at file scope.
fn done(text: &str, body: Node<'_>, around: &Around, parameters: &[Option<String>]) -> Done {
    let globals = &around.globals;
    let mut own: BTreeSet<String> = parameters.iter().flatten().cloned().collect();
    own.extend(names(text, body));
    let mut visible = Visible::new(globals, own);
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
    let trusted = |name: &str| FILL.contains(&name) || around.known.contains(name);
    visible.follow(text, &all, parameters, trusted, &around.unsure);
    let mut done = Done::default();
    for node in all {
        let base = |place| base(text, place, &visible).map(Place::Global);
        let is = |place| base(place).or_else(|| visible.place(text, place));
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
                let first = arguments.first().copied();
                let first = first.filter(|_| FILL.contains(&name));
                first.and_then(|first| base(first).or_else(|| visible.target(text, first)))
            }
            "identifier" => {
                let name = &text[node.byte_range()];
                if globals.contains_key(name) && !visible.own.contains(name) {
                    done.names.push((name.to_string(), node.start_byte()));
                }
                None
            }
            _ => None,
        };
        match written {
            Some(Place::Global(name)) => done.writes.push((name, node.start_byte())),
            Some(Place::Given(number)) => {
                done.through.insert(number, false);
            }
            None => {}
        }
    }
    for locked in done.through.values_mut() {
        *locked = done.locks;
    }
    done.writes.sort_by_key(|(_, at)| *at);
    done
}

/// Whether a function takes a lock, by its name: `pthread_mutex_lock`, but not `clock` or `unlock`.
fn takes_lock(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let others = ["clock", "block", "unlock"];
    let mut found = name.match_indices("lock").map(|(at, word)| at + word.len());
    found.any(|end| !others.iter().any(|other| name[..end].ends_with(other)))
}

/// The shared variable that an expression is, or is a part of.
fn base(text: &str, place: Node<'_>, visible: &Visible<'_>) -> Option<String> {
    let mut node = place;
    let mut element = false;
    loop {
        node = match node.kind() {
            "parenthesized_expression" => node.named_child(0)?,
            "subscript_expression" => {
                element = true;
                node.child_by_field_name("argument")?
            }
            "field_expression" => {
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
    (global.is_array || !element).then(|| name.to_string())
}

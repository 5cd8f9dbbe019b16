//! Where text from the client goes in the C of actions: what is compared, copied, opened and run.
//!
//! By the C parser: parts, and what actions read, are followed through assignments, through what
//! C's library does with them, through functions of the specification, and through variables that
//! outlive an action. What was looked at on every way to a use, in a condition, and what was handed
//! to somebody unknown, is not followed any further: what is found is there, and more may be. Must
//! not know: what a pattern lets a part be.

mod buffers;
mod calls;
mod copies;
mod eval;
mod format;
mod table;
mod values;
mod walk;

use crate::actions::inner;
use crate::effects::{Read, library::Library, library::Parsed};
use crate::model::{Action, Machine};
use crate::scope;
use buffers::Buffers;
use nest_diag::Span;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use values::{About, Value};
use walk::Walk;

/// Rounds in which variables that outlive actions are followed from one action to the next.
const ROUNDS: usize = 4;

/// Steps for all actions together, in each round; what is behind them is not told.
const MOST_WORK: usize = 2_000_000;

/// Whose action it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A rule's.
    Rule(usize),
    /// A TIMEOUT rule's.
    Timer(usize),
    /// START's.
    Start,
    /// END's.
    End,
}

/// Where a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// `$part` of a rule's match.
    Part {
        /// The rule.
        rule: usize,
        /// 0 is the whole match.
        part: u32,
    },
    /// What this directive or function has read.
    Input(&'static str),
}

/// How a text stands in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// The string is the part, which may hold a NUL.
    Part,
    /// The string begins within the part.
    Within,
    /// A copy, with nothing beside it, that ends at its first NUL.
    Copy,
    /// It stands among other text.
    Among {
        /// Nothing stands before it.
        begins: bool,
        /// On both sides there is a slash, or nothing.
        alone: bool,
        /// It stands between single quotes.
        quoted: bool,
    },
}

/// What is done with a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It is used as a string, where its NUL would end it.
    Text,
    /// It names a file, as a string.
    Name,
    /// It is a format.
    Format,
    /// A shell reads it.
    Command,
    /// It names a program that is run.
    Program,
    /// It names a file, wherever that is.
    Path,
    /// It is put into an array.
    Buffer {
        /// The array.
        array: String,
        /// Its bytes.
        capacity: u64,
        /// Bytes that are put there beside the texts.
        beside: u64,
        /// All texts that are put there, each with the most bytes that are left of it.
        taints: Vec<(Origin, Option<u64>)>,
    },
}

/// A text that comes to a use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Whose action does it.
    pub owner: Owner,
    /// The argument, in the action.
    pub span: Span,
    /// The text.
    pub origin: Origin,
    /// How it stands in what is used.
    pub held: Held,
    /// What it is used as.
    pub to: Use,
    /// By which function or directive.
    pub by: String,
    /// The function of the specification in which that happens.
    pub inside: Option<String>,
}

/// What is the same for all actions.
struct Common<'a, 'p> {
    library: &'a Library<'p>,
    buffers: &'a Buffers,
    /// The rooms of variables that outlive actions.
    sizes: BTreeMap<String, u64>,
    /// Functions that are declared to take a format, and which argument that is.
    formats: BTreeMap<String, usize>,
    /// What may still be done, in steps.
    work: Cell<usize>,
}

/// All flows of a machine, by action and place.
#[must_use]
pub fn flows(m: &Machine) -> Vec<Flow> {
    let mut parser = scope::parser();
    let parsed = Parsed::of(m, &mut parser);
    let library = Library::of(m, &parsed);
    let mut buffers = Buffers::default();
    let mut sizes = BTreeMap::new();
    let mut formats = BTreeMap::new();
    if let Some(root) = parsed.root() {
        buffers.read(library.text, root, &mut parser);
        let mut cursor = root.walk();
        for node in root.named_children(&mut cursor) {
            if node.kind() == "declaration" {
                let all = buffers.declared(library.text, node);
                sizes.extend(all.into_iter().map(|buffer| size("@", buffer)));
                formats.extend(calls::declared_format(library.text, node));
            }
        }
    }
    for group in &m.locals.groups {
        for variable in &group.variables {
            let declarator = &m.locals.variables[*variable].declarator.text;
            let text = format!("{} {declarator};", group.specifiers.text);
            let Some(tree) = parser.parse(&text, None) else {
                continue;
            };
            buffers.read(&text, tree.root_node(), &mut parser);
            if let Some(node) = tree.root_node().named_child(0) {
                let all = buffers.declared(&text, node);
                sizes.extend(all.into_iter().map(|buffer| size("#", buffer)));
            }
        }
    }
    let common = Common {
        library: &library,
        buffers: &buffers,
        sizes,
        formats,
        work: Cell::new(0),
    };
    let rules = m.rules.iter().enumerate();
    let timers = m.timers.iter().enumerate();
    let all: Vec<(Owner, &Action)> = rules
        .map(|(n, r)| (Owner::Rule(n), &r.action))
        .chain(timers.map(|(n, t)| (Owner::Timer(n), &t.action)))
        .chain(m.start.iter().map(|a| (Owner::Start, a)))
        .chain(m.end.iter().map(|a| (Owner::End, a)))
        .collect();
    let read: Vec<(Owner, &Action, Read<'_>)> = all
        .into_iter()
        .map(|(owner, action)| (owner, action, Read::of(action, &mut parser)))
        .collect();
    let mut kept: BTreeMap<String, Value> = BTreeMap::new();
    let mut tested: BTreeSet<(Origin, About)> = BTreeSet::new();
    for round in 1.. {
        let (mut found, before) = (Vec::new(), Rc::new(kept.clone()));
        common.work.set(MOST_WORK);
        for (owner, action, read) in &read {
            let mut walk = Walk::new(*owner, &common, Rc::clone(&before));
            walk.action(read);
            for (key, value) in walk.kept {
                let known = kept.remove(&key).unwrap_or_default();
                kept.insert(key, known.join(value));
            }
            tested.extend(walk.tested);
            let known: BTreeSet<Origin> = walk.checked;
            found.extend(
                walk.found
                    .into_iter()
                    .filter(|(_, flow)| {
                        !matches!(flow.to, Use::Text | Use::Name) || !known.contains(&flow.origin)
                    })
                    .map(|(at, flow)| Flow {
                        span: inner(action.span, &at),
                        ..flow
                    }),
            );
        }
        if kept == *before || round == ROUNDS {
            // What another action has stored, a third may have looked at in between.
            let elsewhere = |flow: &Flow| match flow.origin {
                Origin::Part { rule, .. } => flow.owner != Owner::Rule(rule),
                Origin::Input(_) => false,
            };
            let looked: BTreeSet<Origin> = tested
                .iter()
                .filter(|(_, about)| about.looks() != 0)
                .map(|(origin, _)| *origin)
                .collect();
            found.retain(|flow| !elsewhere(flow) || !looked.contains(&flow.origin));
            return found;
        }
    }
    Vec::new()
}

fn size(prefix: &str, buffer: buffers::Buffer) -> (String, u64) {
    let rows = if buffer.many { "[]" } else { "" };
    (format!("{prefix}{}{rows}", buffer.name), buffer.bytes)
}

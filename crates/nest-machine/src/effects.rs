//! What each action may do to the states of its conversation.
//!
//! By the C parser: every way through an action, the functions of the specification that it hands
//! the session, what it marks and clears on that way, and whether it ends the connection. All that
//! can happen is among it; where C cannot be followed, it is more. What is taken for granted: a
//! session is used by the action that was given it, as `nest.h` says, and macros of headers in
//! angle brackets are like functions. Must not know: patterns, which sets of states are reached.

mod lexical;
pub(crate) mod library;
mod named;
mod paths;
mod table;
mod text;
mod walk;

use crate::actions;
use crate::model::{Action, Machine, Use, What};
use crate::scope::{self, Body};
use library::{Library, Parsed};
use std::collections::{BTreeMap, BTreeSet};
use table::{Key, Table};
use text::{Stop, Text};
use tree_sitter::{Node, Parser, Tree};

pub use named::Named;
use paths::Paths;
pub use paths::{Closes, Last, Path, bits};

/// Rounds after which functions that call each other are given up.
const ROUNDS: usize = 40;

/// What an action may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The ways through it.
    pub paths: Vec<Path>,
    /// Whether these are the ways that its text has, and no more.
    pub exact: bool,
}

impl Effect {
    fn of(found: Result<Paths, Stop>, states: u64) -> Effect {
        match found {
            Ok(paths) => Effect {
                paths: paths.iter().copied().collect(),
                exact: !paths.is_widened(),
            },
            Err(_) => Effect {
                paths: vec![Path::anything(states)],
                exact: false,
            },
        }
    }
}

/// What all actions of a machine but END's may do, which changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// START's; none if there is no START rule.
    pub start: Option<Effect>,
    /// Each rule's.
    pub rules: Vec<Effect>,
    /// Each TIMEOUT rule's.
    pub timers: Vec<Effect>,
}

/// For each rule of `m`, whether every way through its action answers or ends the connection, and
/// none takes more input.
#[must_use]
pub fn answers(m: &Machine) -> Vec<bool> {
    Effects::with_answers(m).1
}

impl Effects {
    /// Reads the actions of `m`.
    #[must_use]
    pub fn of(m: &Machine) -> Effects {
        let [found] = Effects::of_actions(m, false, [false]);
        Effects::sorted(m, found)
    }

    /// The same, and [`answers`]: each action is parsed once.
    #[must_use]
    pub fn with_answers(m: &Machine) -> (Effects, Vec<bool>) {
        let [found, until] = Effects::of_actions(m, false, [false, true]);
        let ends = |e: &Effect| e.paths.iter().all(|p| p.closes == Closes::Yes);
        let answers = until.iter().take(m.rules.len()).map(ends).collect();
        (Effects::sorted(m, found), answers)
    }

    fn sorted(m: &Machine, mut found: Vec<Effect>) -> Effects {
        let start = m.start.as_ref().and_then(|_| found.pop());
        let timers = found.split_off(m.rules.len());
        Effects {
            start,
            rules: found,
            timers,
        }
    }

    /// Those of all actions, END's too.
    fn of_all(m: &Machine) -> Vec<Effect> {
        let [found] = Effects::of_actions(m, true, [false]);
        found
    }

    /// Of rules, TIMEOUT rules, START and, if it is asked for, END; for each of `answers`: whether
    /// an answer counts as an end.
    fn of_actions<const N: usize>(m: &Machine, end: bool, answers: [bool; N]) -> [Vec<Effect>; N] {
        let rules = m.rules.iter().map(|r| &r.action);
        let timers = m.timers.iter().map(|t| &t.action);
        let end = m.end.iter().filter(|_| end);
        let actions = rules.chain(timers).chain(&m.start).chain(end);
        let mut parser = scope::parser();
        let parsed = Parsed::of(m, &mut parser);
        let library = Library::of(m, &parsed);
        let prefix = format!("{}_STATE_", m.name);
        let all: Vec<Read<'_>> = actions
            .map(|action| Read::of(action, &mut parser))
            .collect();
        answers.map(|answers| {
            let mut reader = Reader {
                m,
                library: &library,
                table: Table::default(),
                prefix: &prefix,
                answers,
            };
            reader.all(&all)
        })
    }
}

/// An action, parsed.
pub(crate) struct Read<'a> {
    pub(crate) text: &'a str,
    tree: Option<&'a Tree>,
    pub(crate) uses: BTreeMap<usize, &'a Use>,
}

impl<'a> Read<'a> {
    pub(crate) fn of(action: &'a Action, parser: &mut Parser) -> Read<'a> {
        let body = action.body.get_or_init(|| {
            let c = |u: &&Use| !matches!(u.what, What::Variable(_));
            let uses: Vec<Use> = action.uses.iter().filter(c).cloned().collect();
            let plain = actions::without_directives(&action.code.text, &uses);
            Body::of(parser, &plain)
        });
        Read {
            text: &body.text,
            tree: body.tree.as_ref(),
            uses: action.uses.iter().map(|u| (u.at.start, u)).collect(),
        }
    }

    pub(crate) fn body(&self) -> Option<Node<'_>> {
        let root = self.tree?.root_node();
        let only = root.child(0).filter(|_| root.child_count() == 1)?;
        only.child_by_field_name("body")
            .filter(|_| !root.has_error())
    }
}

struct Reader<'a, 'p> {
    m: &'a Machine,
    library: &'a Library<'p>,
    table: Table,
    prefix: &'a str,
    answers: bool,
}

impl Reader<'_, '_> {
    /// Actions and functions, until nothing more is found.
    fn all(&mut self, actions: &[Read<'_>]) -> Vec<Effect> {
        let states = text::all(&self.m.states);
        for round in 0.. {
            self.table.changed = false;
            let found: Vec<Effect> = actions
                .iter()
                .map(|action| Effect::of(self.action(action), states))
                .collect();
            self.functions();
            if !self.table.changed {
                return found;
            }
            if round == ROUNDS {
                break;
            }
        }
        vec![Effect::of(Err(Stop::Anything), states); actions.len()]
    }

    fn functions(&mut self) {
        for _ in 0..ROUNDS {
            let before = std::mem::take(&mut self.table.changed);
            for key in self.table.keys() {
                let found = self.function(&key);
                self.table.put(&key, found);
            }
            let settled = !self.table.changed;
            self.table.changed |= before;
            if settled {
                return;
            }
        }
    }

    fn action(&mut self, action: &Read<'_>) -> Result<Paths, Stop> {
        let text = Text {
            text: action.text,
            shift: scope::BODY.len(),
            uses: &action.uses,
            sessions: &BTreeSet::new(),
            prefix: self.prefix,
            states: &self.m.states,
            answers: self.answers,
        };
        let inside = text.shift..action.text.len();
        self.paths(action.body(), inside, text)
    }

    fn function(&mut self, key: &Key) -> Result<Paths, Stop> {
        let mut all = Paths::none();
        let library = self.library;
        for function in library
            .functions
            .get(key.name.as_str())
            .into_iter()
            .flatten()
        {
            let mut sessions = BTreeSet::new();
            for at in &key.given {
                let parameter = function.parameters.get(*at).ok_or(Stop::Anything)?;
                sessions.extend(*parameter);
            }
            let text = Text {
                text: library.text,
                shift: 0,
                uses: &BTreeMap::new(),
                sessions: &sessions,
                prefix: self.prefix,
                states: &self.m.states,
                answers: self.answers,
            };
            let body = Some(function.body).filter(|b| !b.has_error());
            all.join(self.paths(body, function.body.byte_range(), text)?);
        }
        Ok(all)
    }

    /// The ways through a body; by its words if it cannot be followed.
    fn paths(
        &mut self,
        body: Option<Node<'_>>,
        inside: std::ops::Range<usize>,
        text: Text<'_>,
    ) -> Result<Paths, Stop> {
        let body = body.filter(|_| !self.library.jumps).ok_or(Stop::Unclear);
        match body.and_then(|body| walk::paths(body, text, self.library, &mut self.table)) {
            Err(Stop::Unclear) => {
                let path = lexical::any_order(inside, text, self.library, &mut self.table)?;
                Ok(Paths::widened(path))
            }
            found => found,
        }
    }
}

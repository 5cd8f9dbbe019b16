//! The paths through every action, and through the functions that it hands the session. Must not
//! know: how a body is followed.

use super::paths::{Closes, Path, Paths};
use super::table::{Key, Table};
use super::text::{Stop, Text};
use super::{lexical, text, walk};
use crate::library::{Library, Parsed};
use crate::read::Read;
use crate::scope;
use crate::source::Source;
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// Rounds after which actions are given up: each may show that more functions are called.
const ROUNDS: usize = 40;

/// What an action may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The paths through it.
    pub paths: Vec<Path>,
    /// Whether these are exactly the paths of its text.
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

/// What START's action does before the client's first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It neither replies nor takes input.
    Silent,
    /// It does one of them, at least on some paths.
    Speaks,
    /// Its C cannot be followed: it may.
    Unknown,
}

/// What START's action does first; without one it is silent.
#[must_use]
pub fn opening(m: &Source<'_>) -> Opening {
    let [found, until] = Effects::of_actions(m, false, [false, true]);
    let [found, until] = [found, until].map(|mut all| m.start.as_ref().and_then(|_| all.pop()));
    let (Some(found), Some(until)) = (found, until) else {
        return Opening::Silent;
    };
    let known = found.exact && found.paths.iter().all(|p| p.closes != Closes::May);
    match known {
        false => Opening::Unknown,
        true if found == until => Opening::Silent,
        true => Opening::Speaks,
    }
}

/// For each rule of `m`, whether every path through its action replies or ends the connection, and
/// none takes more input.
#[must_use]
pub fn answers(m: &Source<'_>) -> Vec<bool> {
    Effects::with_answers(m).1
}

impl Effects {
    /// Reads the actions of `m`.
    #[must_use]
    pub fn of(m: &Source<'_>) -> Effects {
        let [found] = Effects::of_actions(m, false, [false]);
        Effects::sorted(m, found)
    }

    /// The same, and [`answers`]: each action is parsed once.
    #[must_use]
    pub fn with_answers(m: &Source<'_>) -> (Effects, Vec<bool>) {
        let [found, until] = Effects::of_actions(m, false, [false, true]);
        let ends = |e: &Effect| e.paths.iter().all(|p| p.closes == Closes::Yes);
        let answers = until.iter().take(m.rules.len()).map(ends).collect();
        (Effects::sorted(m, found), answers)
    }

    fn sorted(m: &Source<'_>, mut found: Vec<Effect>) -> Effects {
        let start = m.start.as_ref().and_then(|_| found.pop());
        let timers = found.split_off(m.rules.len());
        Effects {
            start,
            rules: found,
            timers,
        }
    }

    /// Those of all actions, END's too.
    pub(super) fn of_all(m: &Source<'_>) -> Vec<Effect> {
        let [found] = Effects::of_actions(m, true, [false]);
        found
    }

    /// Of rules, TIMEOUT rules, START and, with `end`, END and OVERLOAD; once for each of `answers`, which says
    /// whether a reply counts as an end.
    fn of_actions<const N: usize>(
        m: &Source<'_>,
        end: bool,
        answers: [bool; N],
    ) -> [Vec<Effect>; N] {
        let actions = m.actions().filter(|(owner, _)| end || !owner.is_last());
        let mut parser = scope::parser();
        let parsed = Parsed::of(m, &mut parser);
        let library = Library::of(m, &parsed);
        let prefix = format!("{}_STATE_", m.name);
        let all: Vec<Read<'_>> = actions
            .map(|(_, action)| Read::of(action, &mut parser))
            .collect();
        answers.map(|answers| {
            let mut reader = Reader {
                states: m.states,
                library: &library,
                table: Table::default(),
                prefix: &prefix,
                answers,
            };
            reader.all(&all)
        })
    }
}

struct Reader<'a, 'p> {
    states: &'a [String],
    library: &'a Library<'p>,
    table: Table,
    prefix: &'a str,
    answers: bool,
}

impl Reader<'_, '_> {
    /// Actions and functions, until nothing more is found.
    fn all(&mut self, actions: &[Read<'_>]) -> Vec<Effect> {
        let states = text::all(self.states);
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
        while let Some(key) = self.table.next() {
            let found = self.function(&key);
            self.table.put(&key, found);
        }
    }

    fn action(&mut self, action: &Read<'_>) -> Result<Paths, Stop> {
        let text = Text {
            text: action.text,
            shift: scope::BODY.len(),
            uses: &action.uses,
            sessions: &BTreeSet::new(),
            prefix: self.prefix,
            states: self.states,
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
                states: self.states,
                answers: self.answers,
            };
            let body = Some(function.body).filter(|b| !b.has_error());
            all.join(self.paths(body, function.body.byte_range(), text)?);
        }
        Ok(all)
    }

    /// The paths through a body; if it cannot be followed, one path that may do all that it names.
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

//! Which states actions mark, and which states C tests, in functions that get the session too.
//!
//! It is needed for specifications whose actions pass the session on; what directives test is known
//! without it. Must not know: conditions, warnings.

use super::actions::{Effect, Effects};
use super::paths::Path;
use super::text::all;
use crate::action::{Action, Code};
use crate::directives::{self, States};
use crate::lexer::{self, Kind};
use crate::source::Source;

/// States, as masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// Marked on some path through an action.
    pub marked: u64,
    /// Asked for in C; all where it is not clear for which.
    pub tested: u64,
}

impl Named {
    /// Of a specification; `None` if code that is not known gets the session.
    #[must_use]
    pub fn of(m: &Source<'_>) -> Option<Named> {
        let found = Effects::of_all(m);
        let anything = [Path::anything(all(m.states))];
        if found.iter().any(|e| e.paths == anything) {
            return None;
        }
        let paths = found.iter().flat_map(|e: &Effect| &e.paths);
        Some(Named {
            marked: paths.fold(0, |marked, p| marked | p.set | p.may_set),
            tested: tested(m),
        })
    }
}

/// What `nest_isset` and `nest_lastseen` ask for, wherever they stand.
fn tested(m: &Source<'_>) -> u64 {
    let actions = m.actions().map(|(_, action)| action);
    let actions = actions.chain(m.macros.iter().copied());
    let codes = actions.map(|a: &Action| &a.code);
    let codes = codes.chain(m.file_scope.iter().copied());
    codes.fold(0, |tested, code: &Code| tested | tested_in(m, &code.text))
}

fn tested_in(m: &Source<'_>, text: &str) -> u64 {
    let tokens = lexer::tokens(text);
    let word = |i: usize| tokens.get(i).map_or("", |t| &text[t.at.clone()]);
    let mut found = 0;
    for i in (0..tokens.len()).filter(|i| tokens[*i].kind == Kind::Name) {
        found |= match directives::does(word(i)).states {
            States::TestsLast => all(m.states),
            States::Tests => {
                // `nest_isset(SESSION, STATE)`; in an action the session is two tokens.
                let comma = (i + 3..i + 5).find(|at| word(*at) == ",");
                let state = comma.filter(|at| word(i + 1) == "(" && word(*at + 2) == ")");
                let state = state.and_then(|at| number(m, word(at + 1)));
                state.map_or(all(m.states), |n| 1 << n)
            }
            _ => 0,
        };
    }
    found
}

/// The number of a state that C names.
fn number(m: &Source<'_>, word: &str) -> Option<usize> {
    let named = word.strip_prefix(&format!("{}_STATE_", m.name));
    let number = match named {
        Some(name) => m.states.iter().position(|s| s == name)?,
        None => word.parse().ok()?,
    };
    (number < m.states.len()).then_some(number)
}

//! What a piece of C may do to states, whatever its order: by its words alone.
//!
//! For text that a parser cannot follow. Must not know: statements.

use super::paths::{Path, Paths};
use super::table::{Key, Table};
use super::text::{Stop, Text, all, directive};
use crate::action::What;
use crate::directives::{self, SELF, States};
use crate::lexer::{self, Kind, Token};
use crate::library::Library;
use std::ops::Range;

/// One path that may do all that `range` of the text names.
pub fn any_order(
    range: Range<usize>,
    text: Text<'_>,
    library: &Library<'_>,
    table: &mut Table,
) -> Result<Path, Stop> {
    let piece = &text.text[range.clone()];
    let tokens = lexer::tokens(piece);
    let word = |i: usize| tokens.get(i).map_or("", |t: &Token| &piece[t.at.clone()]);
    let states = all(text.states);
    let mut done = Paths::none();
    for (i, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Name {
            continue;
        }
        let at = range.start + token.at.start;
        let u = at.checked_sub(text.shift).and_then(|at| text.uses.get(&at));
        if let Some(What::Directive {
            directive: what,
            call,
        }) = u.map(|u| &u.what)
        {
            match (what.does.states, call) {
                (States::HandsOn, _) => given(i, &word, library)?,
                _ if what.does.closes => done.join(Paths::one(Path::closing())),
                (does, Some(call)) => done.join(Paths::one(directive(does, call, states))),
                _ => {}
            }
            continue;
        }
        let name = word(i);
        if is_member(&tokens, i, piece) {
            continue;
        }
        if name == SELF || library.macros.get(name) == Some(&true) {
            return Err(Stop::Anything);
        }
        if text.sessions.contains(name) {
            given(i, &word, library)?;
        }
        let does = directives::does(name);
        if does.changes() {
            // Whichever it names, here any of them may be meant.
            done.join(Paths::one(
                match (does.states, text.state(word(i + 4)), word(i + 5)) {
                    _ if does.closes => Path::closing(),
                    (States::ClearsAll, ..) => Path::cleared(states & !1),
                    (States::Marks, Some(state), ")") => Path::seen(state),
                    (States::Clears, Some(state), ")") => Path::cleared(state),
                    _ => return Err(Stop::Anything),
                },
            ));
        } else if library.functions.contains_key(name) {
            let key = Key {
                name: name.to_string(),
                given: vec![0],
            };
            let called = word(i + 1) == "(" && is_session(i + 2, &tokens, &word, &range, &text);
            if called {
                done.join(table.get(&key).ok_or(Stop::Anything)?);
            }
        }
    }
    Ok(done.in_any_order())
}

fn is_session<'t>(
    i: usize,
    tokens: &[Token],
    word: &impl Fn(usize) -> &'t str,
    range: &Range<usize>,
    text: &Text<'_>,
) -> bool {
    let at = tokens.get(i).map(|t| range.start + t.at.start);
    let u = at.and_then(|at| text.uses.get(&at.checked_sub(text.shift)?));
    let directive = matches!(u.map(|u| &u.what), Some(What::Directive { directive, .. }) if directive.does.states == States::HandsOn);
    directive || text.sessions.contains(word(i))
}

/// A session must be the first argument of a function that is known.
fn given<'t>(
    i: usize,
    word: &impl Fn(usize) -> &'t str,
    library: &Library<'_>,
) -> Result<(), Stop> {
    let first = i >= 2 && word(i - 1) == "(" && matches!(word(i + 1), "," | ")");
    let function = if first { word(i - 2) } else { "" };
    let ours = function.starts_with("nest_") || library.functions.contains_key(function);
    let hidden = library.macros.contains_key(function);
    if ours && !hidden {
        Ok(())
    } else {
        Err(Stop::Anything)
    }
}

/// Whether a word stands behind `.` or `->`.
pub fn is_member(tokens: &[Token], i: usize, text: &str) -> bool {
    let before = |n: usize| i.checked_sub(n).map_or("", |i| &text[tokens[i].at.clone()]);
    before(1) == "." || (before(1) == ">" && before(2) == "-")
}

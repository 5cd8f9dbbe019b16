//! Functions and macros that take a lock and leave it taken, whatever they are called.
//!
//! A lock is left taken if some path that takes it does not release it: no release follows that
//! stands under the same conditions, or under fewer. Must not know: which lock it is, what is written.

use super::bodies::{releases_lock, takes_lock};
use crate::lexer::{self, Kind};
use crate::library::{Library, children};
use std::collections::BTreeSet;
use tree_sitter::Node;

/// Rounds in which locks are followed from one function to the next.
const ROUNDS: usize = 8;

/// Statements whose parts do not always run.
const CONDITIONS: [&str; 7] = [
    "if_statement",
    "else_clause",
    "for_statement",
    "while_statement",
    "do_statement",
    "switch_statement",
    "case_statement",
];

/// A name in a body.
struct Named<'t> {
    name: &'t str,
    at: usize,
    /// The condition under which it stands, by its number.
    under: usize,
}

/// A body: the names in it, in order, and the conditions around each condition. The first one is the
/// body itself.
struct Body<'t> {
    owner: &'t str,
    names: Vec<Named<'t>>,
    around: Vec<usize>,
}

impl<'t> Body<'t> {
    fn of(owner: &'t str, text: &'t str, body: Node<'_>) -> Body<'t> {
        let (mut names, mut around) = (Vec::new(), vec![0]);
        let mut todo = vec![(body, 0)];
        while let Some((node, mut under)) = todo.pop() {
            if CONDITIONS.contains(&node.kind()) {
                around.push(under);
                under = around.len() - 1;
            }
            if node.kind() == "identifier" {
                let (name, at) = (&text[node.byte_range()], node.start_byte());
                names.push(Named { name, at, under });
            }
            todo.extend(children(node).into_iter().map(|child| (child, under)));
        }
        names.sort_by_key(|named| named.at);
        Body {
            owner,
            names,
            around,
        }
    }

    /// Of a macro: nothing in it stands under a condition.
    fn of_macro(owner: &'t str, text: &'t str) -> Body<'t> {
        let tokens = lexer::tokens(text).into_iter();
        let names = tokens.filter(|token| token.kind == Kind::Name);
        let names = names.map(|token| Named {
            name: &text[token.at.clone()],
            at: token.at.start,
            under: 0,
        });
        Body {
            owner,
            names: names.collect(),
            around: vec![0],
        }
    }

    /// Whether it leaves a lock taken, and whether it releases one that it has not taken.
    fn leaves(&self, known: &Known<'_>) -> (bool, bool) {
        let takes = |named: &&Named<'_>| takes_lock(named.name) || known.take.contains(named.name);
        let releases =
            |named: &&Named<'_>| releases_lock(named.name) || known.release.contains(named.name);
        let released: Vec<&Named<'_>> = self.names.iter().filter(releases).collect();
        let taken: Vec<&Named<'_>> = self.names.iter().filter(takes).collect();
        // Where the last release under each condition stands, or under one around it.
        let mut last: Vec<Option<usize>> = vec![None; self.around.len()];
        for release in &released {
            last[release.under] = Some(release.at);
        }
        for condition in 1..last.len() {
            last[condition] = last[condition].max(last[self.around[condition]]);
        }
        let left = taken
            .iter()
            .any(|take| last[take.under].is_none_or(|at| at < take.at));
        let first = taken.first().map_or(usize::MAX, |take| take.at);
        (left, released.iter().any(|release| release.at < first))
    }
}

/// Functions and macros that leave a lock taken, and those that release one of their caller.
#[derive(Default, PartialEq, Eq)]
struct Known<'t> {
    take: BTreeSet<&'t str>,
    release: BTreeSet<&'t str>,
}

/// Finds them. `macros`: names, and what stands behind them.
pub(super) fn holders(library: &Library<'_>, macros: &[(String, &str)]) -> BTreeSet<String> {
    let functions = library.functions.iter();
    let functions = functions.flat_map(|(name, all)| all.iter().map(|f| (*name, f.body)));
    let functions = functions.map(|(name, body)| Body::of(name, library.text, body));
    let macros = macros.iter().map(|(name, text)| Body::of_macro(name, text));
    let bodies: Vec<Body<'_>> = functions.chain(macros).collect();
    let mut known = Known::default();
    for _ in 0..ROUNDS {
        let mut next = Known::default();
        for body in &bodies {
            let (take, release) = body.leaves(&known);
            next.take.extend(take.then_some(body.owner));
            next.release.extend(release.then_some(body.owner));
        }
        if next == known {
            break;
        }
        known = next;
    }
    known.take.into_iter().map(str::to_string).collect()
}

//! Where static pointers at file scope lead, if all values that they get lead to one place.
//!
//! Their values stand in declarations, start-up code, functions and actions. What `%worker`, and the
//! code of the server's own process, give to a pointer is private to a worker or to that process, so
//! nothing is certain of it then. Must not know: models, who writes.

use super::bodies::{Around, Followed};
use super::declared::Declared;
use crate::leads::{Lead, Place, Visible};
use crate::lexer::{self, Kind};
use crate::macros::Scope;
use crate::members::Names;
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// Rounds in which pointers are followed from one to the next.
const ROUNDS: usize = 8;

/// A body that may give values to pointers.
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    /// None: the parser could not read it.
    pub(super) body: Option<Node<'t>>,
    /// The list of its parameters.
    pub(super) parameters: Option<Node<'t>>,
    /// It runs when a worker begins, or in the process of the server's own code.
    pub(super) elsewhere: bool,
}

/// The names in a text.
pub(super) fn words(text: &str) -> BTreeSet<&str> {
    let tokens = lexer::tokens(text).into_iter();
    let names = tokens.filter(|token| token.kind == Kind::Name);
    names.map(|token| &text[token.at]).collect()
}

/// Adds the pointers to what bodies can name. `text`: in which they are declared. `unclear`: texts
/// that may name pointers in ways that are not seen.
pub(super) fn solve<'t>(
    around: &mut Around,
    text: &str,
    declared: &Declared<'_>,
    pieces: &[Piece<'t>],
    unclear: &[&str],
) {
    let mut pointers: BTreeMap<&str, Lead> = BTreeMap::new();
    for name in declared.pointers.keys() {
        if !around.outside.macros.unsure.contains(name) {
            pointers.insert(name, Lead::Nothing);
        }
    }
    // A value at file scope is a constant: it names a pointer only to take its address.
    let values = declared.pointers.values().flatten();
    let values = values.map(|value| &text[value.byte_range()]);
    for unclear in declared
        .unclear
        .iter()
        .chain(unclear)
        .copied()
        .chain(values)
    {
        if pointers.is_empty() {
            return;
        }
        for word in words(unclear) {
            pointers.remove(word);
        }
    }
    let pieces = pieces.iter().map(|piece| {
        let text = piece
            .body
            .map_or(piece.text, |body| &piece.text[body.byte_range()]);
        (piece, words(text))
    });
    let pieces = pieces.map(|(piece, words)| {
        let named = words
            .into_iter()
            .filter_map(|word| pointers.get_key_value(word));
        let named = named.map(|(name, _)| *name);
        (piece, named.collect::<Vec<&str>>())
    });
    let pieces: Vec<(&Piece<'t>, Vec<&str>)> =
        pieces.filter(|(_, named)| !named.is_empty()).collect();
    for _ in 0..ROUNDS {
        let known = pointers
            .iter()
            .map(|(name, lead)| ((*name).to_string(), lead.clone()));
        around.pointers = known.collect();
        let next = round(around, text, declared, &pieces, pointers.keys().copied());
        if next == pointers {
            return;
        }
        pointers = next;
    }
    around.pointers.clear();
}

/// Where pointers lead, if those of the last round lead where they did.
fn round<'n>(
    around: &Around,
    text: &str,
    declared: &Declared<'_>,
    pieces: &[(&Piece<'_>, Vec<&'n str>)],
    names: impl Iterator<Item = &'n str>,
) -> BTreeMap<&'n str, Lead> {
    let outside = Visible::new(
        &around.outside,
        &around.pointers,
        BTreeSet::new(),
        Names::new(),
    );
    let scope = Scope::of(text);
    let mut found: BTreeMap<&str, Lead> = BTreeMap::new();
    let mut give = |name: &'n str, lead: Lead| {
        let lead = match lead {
            Lead::To(Place::Fresh) => Lead::To(Place::Behind(name.to_string())),
            Lead::To(Place::Given(_)) => Lead::Anywhere,
            other => other,
        };
        let known = found.remove(name).unwrap_or(Lead::Nothing);
        found.insert(name, known.join(lead));
    };
    for name in names {
        give(name, Lead::Nothing);
        for value in &declared.pointers[name] {
            give(name, outside.lead(&scope, *value, 1));
        }
    }
    for (piece, named) in pieces {
        let followed = piece
            .body
            .map(|body| Followed::of(piece.text, body, around, piece.parameters))
            .filter(|followed| followed.sure);
        for name in named.iter().copied() {
            let lead = followed
                .as_ref()
                .map(|followed| followed.visible.gives(name));
            let lead = lead.unwrap_or(Lead::Anywhere);
            let apart = piece.elsewhere && lead != Lead::Nothing;
            give(name, if apart { Lead::Anywhere } else { lead });
        }
    }
    found
}

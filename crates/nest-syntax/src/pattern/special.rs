//! Parses what `%option backtracking yes` allows: assertions, back-references, possessive
//! quantifiers; refuses the same without the option. Look-arounds and atomic groups are groups
//! (`group`).

use super::parser::Parser;
use crate::ast::{Alt, Assertion, Atom, Piece, Reference, Special};

/// The end of a fix where the option is another way.
pub(super) const OTHER: &str = "; or allow it with `%option backtracking yes`";

/// `(?>PIECE)`, for a piece with a possessive quantifier.
pub(super) fn possessive(piece: Piece) -> Piece {
    let span = piece.span;
    let alt = Alt {
        branches: vec![vec![piece]],
    };
    Piece {
        atom: Atom::Special(Special::Atomic {
            possessive: true,
            alt,
        }),
        quant: None,
        span,
    }
}

/// Whether the position after it is the one before it: it matches no byte and has no content.
pub(super) fn stays(atom: &Atom) -> bool {
    matches!(
        atom,
        Atom::Nothing | Atom::SetFlags(_) | Atom::Special(Special::Assertion(_))
    )
}

impl Parser<'_, '_> {
    /// An assertion, which ends here.
    pub(super) fn assertion(&mut self, start: usize, assertion: Assertion) -> Option<Atom> {
        if self.names.backtracking {
            return Some(Atom::Special(Special::Assertion(assertion)));
        }
        let end = self.r.at;
        let what = format!("`{}`", self.r.text(start, end));
        self.anchor(start, end, &what);
        None
    }

    /// Parses what follows `\g` or `\k`; none if it is not a back-reference.
    pub(super) fn reference(&mut self, letter: u8) -> Option<Reference> {
        let from = self.r.at;
        match self.r.peek() {
            Some(b'{') => self.braces(),
            Some(b'<') => self.skip_past(b'>'),
            Some(b'\'') => self.skip_past(b'\''),
            _ => {
                while self
                    .r
                    .peek()
                    .is_some_and(|b| b.is_ascii_digit() || b"+-".contains(&b))
                {
                    self.r.at += 1;
                }
            }
        }
        let text = self.r.text(from, self.r.at);
        let quoted = text.starts_with(['<', '\'']);
        let inside = match text.as_bytes() {
            [b'{' | b'<' | b'\'', .., _] => text[1..text.len() - 1].trim(),
            _ if letter == b'k' => return None,
            _ => text,
        };
        // `\g<name>` calls a group, which is not a back-reference.
        if letter == b'g' && quoted {
            return None;
        }
        if inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let name = inside.bytes().all(crate::reader::is_ident);
            return name.then(|| Reference::Name(inside.to_owned()));
        }
        let number = match inside.split_at_checked(1)? {
            ("-", back) => (self.groups + 1).checked_sub(back.parse().ok()?)?,
            ("+", on) => self.groups.checked_add(on.parse().ok()?)?,
            _ => inside.parse().ok()?,
        };
        (letter == b'g' && number > 0).then_some(Reference::Number(number))
    }
}

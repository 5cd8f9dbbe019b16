//! Short ways to write the syntax tree of a pattern.

use nest_diag::{FileId, Span};
use nest_syntax::ast::{Alt, Atom, ByteSet, Element, Flags, Name, Pattern, Piece, Quant};

pub fn nowhere() -> Span {
    Span::new(FileId(0), 0, 0)
}

pub fn piece(atom: Atom) -> Piece {
    Piece {
        atom,
        quant: None,
        span: nowhere(),
    }
}

pub fn text(text: &str) -> Piece {
    piece(Atom::Bytes(text.as_bytes().to_vec()))
}

pub fn class(bytes: &str) -> Piece {
    piece(Atom::Class {
        set: set(bytes),
        negated: false,
    })
}

pub fn set(bytes: &str) -> ByteSet {
    let mut set = ByteSet::EMPTY;
    bytes.bytes().for_each(|b| set.insert(b));
    set
}

pub fn dot() -> Piece {
    piece(Atom::Dot)
}

pub fn group(branches: Vec<Vec<Piece>>) -> Piece {
    piece(Atom::Group {
        flags: Flags::default(),
        alt: Alt { branches },
    })
}

pub fn use_macro(name: &str) -> Piece {
    piece(Atom::Macro(Name {
        text: name.into(),
        span: nowhere(),
    }))
}

pub fn set_caseless(on: bool) -> Piece {
    piece(Atom::SetFlags(Flags {
        caseless: Some(on),
        ..Flags::default()
    }))
}

/// `quant` as written: `*`, `+?`, `{2,3}`.
pub fn times(mut what: Piece, quant: &str) -> Piece {
    let (range, greedy) = match quant.strip_suffix('?') {
        Some(range) if !range.is_empty() => (range, false),
        _ => (quant, true),
    };
    let (min, max) = match range {
        "*" => (0, None),
        "+" => (1, None),
        "?" => (0, Some(1)),
        _ => {
            let inside = range.trim_matches(['{', '}']);
            let number = |s: &str| s.parse().expect("a count");
            match inside.split_once(',') {
                None => (number(inside), Some(number(inside))),
                Some((min, "")) => (number(min), None),
                Some((min, max)) => (number(min), Some(number(max))),
            }
        }
    };
    what.quant = Some(Quant { min, max, greedy });
    what
}

/// An element with one branch.
pub fn one(pieces: Vec<Piece>) -> Element {
    any(vec![pieces])
}

/// An element with several branches.
pub fn any(branches: Vec<Vec<Piece>>) -> Element {
    Element {
        alt: Alt { branches },
        span: nowhere(),
    }
}

pub fn pattern(elements: Vec<Element>) -> Pattern {
    Pattern {
        flags: Flags::default(),
        elements,
        span: nowhere(),
        now: None,
    }
}

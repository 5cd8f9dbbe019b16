//! Makes a failing case smaller: removes rules, bytes and pieces of patterns while it still fails.

use crate::differential::Case;
use nest_syntax::ast::{Alt, Atom, Pattern, Piece};

/// A case that fails and of which nothing more can be removed.
pub fn smallest(mut case: Case, fails: impl Fn(&Case) -> bool) -> Case {
    while let Some(next) = smaller(&case).into_iter().find(&fails) {
        case = next;
    }
    case
}

/// The cases that differ from this one by one removal.
fn smaller(case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    let mut with = |change: &dyn Fn(&mut Case)| {
        let mut copy = case.clone();
        change(&mut copy);
        out.push(copy);
    };
    if case.rules.len() > 1 {
        for n in 0..case.rules.len() {
            with(&|c| {
                c.rules.remove(n);
                c.conditions.remove(n);
                c.early.remove(n);
                c.requested.remove(n);
                c.masks = vec![(1 << c.rules.len()) - 1];
            });
        }
    }
    for n in 0..case.input.len() {
        with(&|c| {
            c.input.remove(n);
            c.cuts.clear();
        });
    }
    if case.caseless {
        with(&|c| c.caseless = false);
    }
    for (n, rule) in case.rules.iter().enumerate() {
        for smaller in patterns(rule) {
            with(&|c| c.rules[n] = smaller.clone());
        }
    }
    for (name, body) in &case.macros {
        for smaller in patterns(body) {
            with(&|c| drop(c.macros.insert(name.clone(), smaller.clone())));
        }
    }
    out
}

fn patterns(pattern: &Pattern) -> Vec<Pattern> {
    let mut out = Vec::new();
    let mut with = |change: &dyn Fn(&mut Pattern)| {
        let mut copy = pattern.clone();
        change(&mut copy);
        out.push(copy);
    };
    if pattern.flags != Default::default() {
        with(&|p| p.flags = Default::default());
    }
    for (n, element) in pattern.elements.iter().enumerate() {
        if pattern.elements.len() > 1 {
            with(&|p| drop(p.elements.remove(n)));
        }
        for alt in alts(&element.alt) {
            with(&|p| p.elements[n].alt = alt.clone());
        }
    }
    out
}

fn alts(alt: &Alt) -> Vec<Alt> {
    let mut out = Vec::new();
    let mut with = |change: &dyn Fn(&mut Alt)| {
        let mut copy = alt.clone();
        change(&mut copy);
        out.push(copy);
    };
    for (b, branch) in alt.branches.iter().enumerate() {
        if alt.branches.len() > 1 {
            with(&|a| drop(a.branches.remove(b)));
        }
        for (p, piece) in branch.iter().enumerate() {
            with(&|a| drop(a.branches[b].remove(p)));
            for piece in pieces(piece) {
                with(&|a| a.branches[b][p] = piece.clone());
            }
        }
    }
    out
}

fn pieces(piece: &Piece) -> Vec<Piece> {
    let mut out = Vec::new();
    if piece.quant.is_some() {
        out.push(Piece {
            quant: None,
            ..piece.clone()
        });
    }
    if let Atom::Group { flags, alt } = &piece.atom {
        for alt in alts(alt) {
            out.push(Piece {
                atom: Atom::Group { flags: *flags, alt },
                ..piece.clone()
            });
        }
    }
    if let Atom::Bytes(bytes) = &piece.atom
        && bytes.len() > 1
    {
        out.push(Piece {
            atom: Atom::Bytes(bytes[1..].to_vec()),
            ..piece.clone()
        });
    }
    out
}

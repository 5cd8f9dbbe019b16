//! How many bytes a look-behind looks back.
//!
//! As in libpcre2 10.42, each alternative of the look-behind itself matches texts of one length, and
//! all alternatives of a group in it match texts of the same length. Must not know: the text that is
//! written.

use nest_diag::Span;
use nest_syntax::ast::{Alt, Atom, Pattern, Piece, Special};
use std::collections::BTreeMap;

type Macros = BTreeMap<String, Pattern>;

/// The longest look-behind, as in libpcre2.
const LONGEST: u64 = 65_535;

/// Whether each alternative has one length.
///
/// # Errors
/// The location of what has not.
pub fn check(alt: &Alt, macros: &Macros) -> Result<(), Option<Span>> {
    for branch in &alt.branches {
        if sequence(branch, macros)? > LONGEST {
            return Err(None);
        }
    }
    Ok(())
}

fn sequence(branch: &[Piece], macros: &Macros) -> Result<u64, Option<Span>> {
    branch.iter().try_fold(0u64, |sum, piece| {
        Ok(sum.saturating_add(width(piece, macros)?))
    })
}

/// Of a group: all alternatives have the same.
fn same(alt: &Alt, at: Span, macros: &Macros) -> Result<u64, Option<Span>> {
    let mut lengths = alt.branches.iter().map(|b| sequence(b, macros));
    let first = lengths.next().unwrap_or(Ok(0))?;
    for length in lengths {
        if length? != first {
            return Err(Some(at));
        }
    }
    Ok(first)
}

fn width(piece: &Piece, macros: &Macros) -> Result<u64, Option<Span>> {
    let at = piece.span;
    let once = match &piece.atom {
        Atom::Bytes(bytes) => bytes.len() as u64,
        Atom::Class { .. } | Atom::Dot => 1,
        Atom::Macro(name) => {
            let body = macros.get(&name.text).ok_or(Some(at))?;
            let elements = body.elements.iter();
            elements
                .map(|e| same(&e.alt, at, macros))
                .try_fold(0u64, |sum, n| -> Result<u64, Option<Span>> {
                    Ok(sum.saturating_add(n?))
                })?
        }
        Atom::SetFlags(_) | Atom::Nothing => 0,
        Atom::Special(Special::Look { .. } | Special::Assertion(_)) => 0,
        Atom::Special(Special::Reference(_) | Special::LineEnds) => return Err(Some(at)),
        Atom::Group { alt, .. }
        | Atom::Special(Special::Capture { alt, .. } | Special::Atomic { alt, .. }) => {
            same(alt, at, macros)?
        }
    };
    match piece.quant {
        None => Ok(once),
        Some(quant) if quant.max == Some(quant.min) => {
            Ok(once.saturating_mul(u64::from(quant.min)))
        }
        Some(_) if once == 0 => Ok(0),
        Some(_) => Err(Some(at)),
    }
}

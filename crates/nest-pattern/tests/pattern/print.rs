//! A pattern as PCRE2 text: every element a group of its own, macros written out.

use nest_syntax::ast::{Alt, Atom, ByteSet, Flags, Pattern, Piece};
use std::collections::BTreeMap;

pub type Macros = BTreeMap<String, Pattern>;

/// The text; group n of it is element n.
pub fn pcre(pattern: &Pattern, macros: &Macros, caseless: bool) -> String {
    let mut out = String::from("(*LF)");
    if caseless {
        out.push_str("(?i)");
    }
    elements(pattern, macros, "(", &mut out);
    out
}

fn elements(pattern: &Pattern, macros: &Macros, open: &str, out: &mut String) {
    if pattern.flags != Flags::default() {
        *out += &format!("(?{})", flags(pattern.flags));
    }
    for element in &pattern.elements {
        out.push_str(open);
        alt(&element.alt, macros, out);
        out.push(')');
    }
}

fn alt(alt: &Alt, macros: &Macros, out: &mut String) {
    for (n, branch) in alt.branches.iter().enumerate() {
        if n > 0 {
            out.push('|');
        }
        branch.iter().for_each(|p| piece(p, macros, out));
    }
}

fn piece(piece: &Piece, macros: &Macros, out: &mut String) {
    match &piece.atom {
        Atom::Bytes(bytes) => {
            out.push_str("(?:");
            bytes.iter().for_each(|b| *out += &byte(*b));
            out.push(')');
        }
        Atom::Class { set, negated } => class(set, *negated, out),
        // libpcre2 10.42 takes `(?s).{2}` in one step, and if the subject ends within it reports
        // "no match" instead of "partial" when that is at the start. A group is taken one by one.
        Atom::Dot if piece.quant.is_some() => out.push_str("(?:.)"),
        Atom::Dot => out.push('.'),
        Atom::Macro(name) => {
            out.push_str("(?:");
            elements(&macros[&name.text], macros, "(?:", out);
            out.push(')');
        }
        Atom::Group {
            flags: f,
            alt: inner,
        } => {
            *out += &format!("(?{}:", flags(*f));
            alt(inner, macros, out);
            out.push(')');
        }
        Atom::SetFlags(f) => *out += &format!("(?{})", flags(*f)),
        Atom::Nothing => out.push_str("\\A"),
        Atom::Special(_) => panic!("{:?} is not generated", piece.atom),
    }
    if let Some(q) = piece.quant {
        *out += &match (q.min, q.max) {
            (0, None) => "*".into(),
            (1, None) => "+".into(),
            (0, Some(1)) => "?".into(),
            (min, None) => format!("{{{min},}}"),
            (min, Some(max)) if min == max => format!("{{{min}}}"),
            (min, Some(max)) => format!("{{{min},{max}}}"),
        };
        if !q.greedy {
            out.push('?');
        }
    }
}

fn class(set: &ByteSet, negated: bool, out: &mut String) {
    out.push_str(if negated { "[^" } else { "[" });
    set.iter().for_each(|b| *out += &byte(b));
    out.push(']');
}

fn byte(b: u8) -> String {
    if b.is_ascii_alphanumeric() {
        char::from(b).to_string()
    } else {
        format!("\\x{b:02x}")
    }
}

fn flags(flags: Flags) -> String {
    let all = [
        ('i', flags.caseless),
        ('s', flags.dot_all),
        ('U', flags.swap_greed),
    ];
    let letters = |on| {
        all.iter()
            .filter(move |(_, f)| *f == Some(on))
            .map(|(c, _)| *c)
    };
    let off: String = letters(false).collect();
    let on: String = letters(true).collect();
    if off.is_empty() {
        on
    } else {
        format!("{on}-{off}")
    }
}

//! What starts at a place in the rules section, as far as its first tokens say.
//!
//! The rules and the patterns ask: a pattern may span lines, so a line that starts a rule ends it.
//! Nothing is consumed or reported.

use crate::cond;
use crate::names::{Kind, Names, RESERVED};
use crate::reader::Reader;

/// Whether a rule, a section or the end of a multistate starts here, the first token of its line.
pub(crate) fn rule_starts(r: &Reader, names: &Names) -> bool {
    r.looking_at("%%")
        || r.looking_at("}")
        || special(r).is_some()
        || timeout(r)
        || rule_name(r).is_some_and(|end| names.kind(r.text(r.at, end)).is_none())
        || cond::starts_here(r, names)
}

/// START or END as a rule of its own: where its `{` stands.
pub(crate) fn special(r: &Reader) -> Option<usize> {
    let end = r.ident_end(r.at);
    if !matches!(r.text(r.at, end), "START" | "END") {
        return None;
    }
    let mut brace = after_gap(r, end);
    if r.bytes[..r.end].get(brace) == Some(&b':') {
        brace = after_gap(r, brace + 1);
    }
    (r.bytes[..r.end].get(brace) == Some(&b'{')).then_some(brace)
}

/// Whether `TIMEOUT(` stands here.
pub(crate) fn timeout(r: &Reader) -> bool {
    let end = r.ident_end(r.at);
    r.text(r.at, end) == "TIMEOUT" && r.bytes[..r.end].get(r.after_blanks(end)) == Some(&b'(')
}

/// `NAME =`: where the name ends.
pub(crate) fn rule_name(r: &Reader) -> Option<usize> {
    let end = r.ident_end(r.at);
    (end > r.at && r.bytes[..r.end].get(r.after_blanks(end)) == Some(&b'=')).then_some(end)
}

/// `NAME =` where the name is a state's or reserved, which no condition goes on like.
pub(crate) fn taken_name(r: &Reader, names: &Names) -> bool {
    rule_name(r).is_some_and(|end| {
        let word = r.text(r.at, end);
        let sign = r.after_blanks(end);
        let taken = RESERVED.contains(&word) || names.kind(word) == Some(Kind::State);
        taken && r.bytes[..r.end].get(sign + 1) != Some(&b'=')
    })
}

/// The first place at or after `at` that holds neither blank nor comment.
fn after_gap(r: &Reader, at: usize) -> usize {
    let mut probe = Reader::new(r.source, at, r.end);
    probe.gap(true);
    probe.at
}

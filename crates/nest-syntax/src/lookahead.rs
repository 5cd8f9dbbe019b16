//! Recognises from its first tokens what starts at a position of the rules section.
//!
//! Used by the parsers of rules and patterns: a pattern may span lines, so a line that starts a
//! rule ends it. Consumes and reports nothing.

use crate::cond;
use crate::names::{Kind, Names, RESERVED};
use crate::reader::Reader;

/// Whether a rule, a section or the end of a multistate starts here, at the first token of a line.
pub(crate) fn rule_starts(r: &Reader, names: &Names) -> bool {
    r.looking_at("%%")
        || r.looking_at("}")
        || special(r).is_some()
        || timeout(r)
        || rule_name(r).is_some_and(|end| names.kind(r.text(r.at, end)).is_none())
        || cond::starts_here(r, names)
}

/// START, END or OVERLOAD as a rule: the position of its `{`.
pub(crate) fn special(r: &Reader) -> Option<usize> {
    let end = r.ident_end(r.at);
    if !matches!(r.text(r.at, end), "START" | "END" | "OVERLOAD") {
        return None;
    }
    let mut brace = after_gap(r, end);
    if r.bytes[..r.end].get(brace) == Some(&b':') {
        brace = after_gap(r, brace + 1);
    }
    (r.bytes[..r.end].get(brace) == Some(&b'{')).then_some(brace)
}

/// Whether `TIMEOUT(` is here.
pub(crate) fn timeout(r: &Reader) -> bool {
    let end = r.ident_end(r.at);
    r.text(r.at, end) == "TIMEOUT" && r.bytes[..r.end].get(r.after_blanks(end)) == Some(&b'(')
}

/// `NOW` before an action: the end of the word.
pub(crate) fn now(r: &Reader) -> Option<usize> {
    let end = r.ident_end(r.at);
    if r.text(r.at, end) != "NOW" {
        return None;
    }
    let brace = after_gap(r, end);
    let name = r.ident_end(brace + 1);
    let bytes = &r.bytes[..r.end];
    let is_macro = name > brace + 1 && bytes.get(name) == Some(&b'}');
    (bytes.get(brace) == Some(&b'{') && !is_macro).then_some(end)
}

/// `NAME =`: the end of the name.
pub(crate) fn rule_name(r: &Reader) -> Option<usize> {
    let end = r.ident_end(r.at);
    (end > r.at && r.bytes[..r.end].get(r.after_blanks(end)) == Some(&b'=')).then_some(end)
}

/// `NAME =` where the name is a state or reserved; no condition continues like this.
pub(crate) fn taken_name(r: &Reader, names: &Names) -> bool {
    rule_name(r).is_some_and(|end| {
        let word = r.text(r.at, end);
        let sign = r.after_blanks(end);
        let taken = RESERVED.contains(&word) || names.kind(word) == Some(Kind::State);
        taken && r.bytes[..r.end].get(sign + 1) != Some(&b'=')
    })
}

/// The first position at or after `at` that is neither in a blank nor in a comment.
fn after_gap(r: &Reader, at: usize) -> usize {
    let mut probe = Reader::new(r.source, at, r.end);
    probe.gap(true);
    probe.at
}

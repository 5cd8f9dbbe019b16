//! Parses `%decode NAME(FUNCTION, TYPE)` and `%encode NAME(FUNCTION, TYPE)`.
//!
//! Must not know whether the function and the type exist: they are C.

use nest_diag::Code;

use crate::ast::{Decl, StageDecl};
use crate::reader::Reader;

/// Behind the word.
const HELP: &str = "with the C type of the state that each connection has, as in";

/// The word stands from `start` to `from`. Nothing after an error.
pub(crate) fn parse(r: &mut Reader<'_>, start: usize, from: usize) -> Option<Decl> {
    let line = r.line_end(from);
    let found = stage(r, start, from, line);
    if found.is_none() {
        let end = start + r.bytes[start..line].trim_ascii_end().len();
        let word = r.text(start, from);
        let what = format!("not a `{word}`");
        let help = format!(
            "write `{word} NAME(FUNCTION)`, or `{word} NAME(FUNCTION, TYPE)` {HELP} \
             `{word} telnet(escape, struct telnet)`"
        );
        r.report(Code::E0101, start, end, what, help);
    }
    r.at = found.as_ref().map_or(line, |(_, end)| *end);
    found.map(|(decl, _)| Decl::Stage(decl))
}

/// The declaration, and where it ends.
fn stage(r: &Reader<'_>, start: usize, from: usize, line: usize) -> Option<(StageDecl, usize)> {
    let begin = r.after_blanks(from).min(line);
    let end = r.ident_end(begin);
    let open = r.after_blanks(end).min(line);
    if begin == from || end == begin || r.bytes.get(open) != Some(&b'(') {
        return None;
    }
    let first = r.after_blanks(open + 1).min(line);
    let last = r.ident_end(first);
    let mut at = r.after_blanks(last).min(line);
    let mut state = None;
    if last > first && r.bytes.get(at) == Some(&b',') {
        let rest = &r.bytes[at + 1..line];
        let close = at + 1 + closing(rest)?;
        let text = r.after_blanks(at + 1).min(close);
        let length = r.bytes[text..close].trim_ascii_end().len();
        state = Some(r.c_text(text, text + length)).filter(|_| length > 0);
        state.as_ref()?;
        at = close;
    }
    let behind = at + 1;
    let closed = last > first && at < line && r.bytes[at] == b')';
    let rest = r.bytes.get(behind..line)?.trim_ascii();
    let ends = rest.is_empty() || rest.starts_with(b"//") || rest.starts_with(b"/*");
    (closed && ends).then(|| {
        let decl = StageDecl {
            word: r.name(start, from),
            name: r.name(begin, end),
            function: r.c_text(first, last),
            state,
        };
        (decl, behind)
    })
}

/// Where the parenthesis ends that was open before.
fn closing(text: &[u8]) -> Option<usize> {
    let mut depth = 1usize;
    text.iter().position(|b| {
        depth = match b {
            b'(' => depth + 1,
            b')' => depth - 1,
            _ => depth,
        };
        depth == 0
    })
}

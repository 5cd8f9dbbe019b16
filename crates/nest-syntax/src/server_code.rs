//! Parses declarations that contain C code of the server in braces: `%shared SIZE { … } { … }`,
//! `%timer 5s { … }`, `%signal USR1 { … }`, `%worker { … }`, `%cache { … }`.
//!
//! The C is only delimited. Must not know what it means, or whether the words before it are valid.

use nest_diag::Code;

use crate::ast::{CText, CodeDecl, Decl, SharedDecl};
use crate::csource;
use crate::reader::{Reader, is_blank};
use crate::rules;

const SHARED: &str = "write `%shared SIZE { declarations } { initialisation }`, as in `%shared 64K { long \
                      visits; } { visits = 0; }`";

const TIMER: &str = "write `%timer TIME { code }`, as in `%timer 5s { refresh(); }`";
const SIGNAL: &str = "write `%signal NAME { code }`, as in `%signal USR1 { reopen(); }`";
const WORKER: &str = "write `%worker { code }`";
const CACHE: &str =
    "write `%cache { code }`, as in `%cache { return least + (double)uses / (double)size; }`";

/// The word stands from `start` to `from`. Nothing after an error.
pub(crate) fn parse(r: &mut Reader<'_>, start: usize, from: usize) -> Option<Decl> {
    match r.text(start, from) {
        "%shared" => shared(r, start, from),
        "%timer" => code(r, start, from, TIMER),
        "%signal" => code(r, start, from, SIGNAL),
        "%worker" => code(r, start, from, WORKER),
        _ => code(r, start, from, CACHE),
    }
}

/// `%timer 5s { … }`, `%signal USR1 { … }`, `%worker { … }`, `%cache { … }`.
fn code(r: &mut Reader<'_>, start: usize, from: usize, help: &str) -> Option<Decl> {
    let begin = r.after_blanks(from).min(r.line_end(from));
    let end = word_end(r, begin);
    let word = r.name(start, from);
    let argument = (begin < end).then(|| r.name(begin, end));
    r.at = end;
    let code = block(r, "the code");
    if code.is_none() && r.at == end {
        let what = format!("`{}` without its code", word.text);
        r.report(Code::E0101, start, end.max(from), what, help);
    }
    Some(Decl::Code(CodeDecl {
        word,
        argument,
        code: code?,
    }))
}

/// `%shared` stands from `start` to `from`. Nothing after an error.
fn shared(r: &mut Reader<'_>, start: usize, from: usize) -> Option<Decl> {
    let begin = r.after_blanks(from).min(r.line_end(from));
    let end = word_end(r, begin);
    if begin == end {
        r.report(Code::E0801, start, from, "`%shared` names no size", SHARED);
    }
    let size = r.name(begin, end);
    r.at = end;
    let Some(declarations) = block(r, "the declarations") else {
        if r.at == end {
            r.report(
                Code::E0801,
                start,
                end,
                "`%shared` without its declarations",
                SHARED,
            );
        }
        return None;
    };
    let before = r.at;
    let code = block(r, "the initialisation");
    let failed = code.is_none() && r.at != before;
    let decl = SharedDecl {
        word: r.name(start, from),
        size,
        declarations,
        code,
    };
    (begin < end && !failed).then_some(Decl::Shared(decl))
}

/// Where a word ends that a blank or a brace ends.
fn word_end(r: &Reader<'_>, from: usize) -> usize {
    let rest = &r.bytes[from..r.end];
    let end = rest.iter().position(|b| is_blank(*b) || *b == b'{');
    end.map_or(r.end, |n| from + n)
}

/// The C between braces that stand next, also on the next line. None, and the position unchanged: no
/// brace follows.
fn block(r: &mut Reader<'_>, what: &str) -> Option<CText> {
    let (at, said) = (r.at, r.diags.len());
    let _ = r.gap(true);
    let open = r.at;
    if r.peek() != Some(b'{') {
        r.at = at;
        r.diags.truncate(said);
        return None;
    }
    match csource::block_end(&r.bytes[..r.end], open + 1, &mut |_, _| {}) {
        Ok((end, next)) => {
            r.at = next;
            Some(r.c_text(open + 1, end))
        }
        Err(unended) => {
            rules::unterminated(r, open, open + 1, what, "close it with `}`", &unended);
            None
        }
    }
}

//! What stands inside `$lock { }`, where no other connection can be: it must not wait, and must be left
//! at its end or by `return`. And where variables of `%shared` are named. Must not know: what a lock
//! becomes.
//!
//! Takes time in proportion to the text, however it nests.

use crate::blocks::{Blocks, stopped};
use crate::context::Context;
use crate::model::{Use, What};
use crate::{foreign, functions};
use nest_c::directives::{Form, InLock};
use nest_c::inner;
use nest_c::lexer::{Kind, Token};
use nest_c::scope::{self, Body, Names};
use nest_diag::{Code, Diagnostic};
use nest_syntax::ast::CText;
use std::ops::Range;
use tree_sitter::Parser;

/// Functions of the C library that jump or end the thread, so that nobody would release the lock.
const JUMPS: [&str; 5] = [
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "pthread_exit",
    "thrd_exit",
];

/// The locks of an action.
pub fn of(uses: &[Use]) -> Blocks {
    Blocks::new(uses, |what| match what {
        What::Lock { close } => Some(*close),
        _ => None,
    })
}

/// Says E0803 and E0804. `plain`: the text as C, each `$lock` an `if`.
pub fn check(
    cx: &mut Context<'_>,
    text: &CText,
    locks: &Blocks,
    tokens: &[Token],
    (uses, plain): (&[Use], &str),
) {
    only_inside(cx, text, locks, tokens, uses);
    if locks.outer.is_empty() {
        return;
    }
    for u in uses {
        let Some(lock) = locks.around(u.at.start) else {
            continue;
        };
        let refused = match &u.what {
            What::Directive { directive, .. } => directive.does.in_lock == InLock::No,
            What::Block { .. } | What::Lock { .. } => true,
            _ => false,
        };
        if refused {
            let word = &text.text[u.at.clone()];
            let what = format!("`{word}` inside $lock");
            let why = match &u.what {
                What::Directive { directive, .. } if directive.form == Form::Plain => {
                    "a function that is given it may wait, and nothing inside may"
                }
                What::Lock { .. } => "the second lock would wait for this one for ever",
                _ => "nothing inside may wait: no other connection can enter meanwhile",
            };
            cx.out.push(
                Diagnostic::new(Code::E0803, inner(text.span, &u.at), what)
                    .label(inner(text.span, &lock.head), why)
                    .help("copy in the lock what you need, and use it after the lock"),
            );
        }
    }
    let stopped = stopped(cx.parser, locks, tokens, plain);
    for (i, token) in tokens.iter().enumerate() {
        let Some(lock) = locks.around(token.at.start) else {
            continue;
        };
        let word = &text.text[token.at.clone()];
        let called = tokens
            .get(i + 1)
            .is_some_and(|next| next.kind == Kind::Punct(b'('));
        let leaves = token.kind == Kind::Name
            && match word {
                "goto" => true,
                _ if called && JUMPS.contains(&word) => true,
                "break" | "continue" => !stopped.inside.contains(&token.at.start),
                _ => stopped.labels.contains(&token.at.start),
            };
        if leaves {
            let what = format!("`{word}` inside $lock");
            cx.out.push(
                Diagnostic::new(Code::E0804, inner(text.span, &token.at), what)
                    .label(
                        inner(text.span, &lock.head),
                        "a lock is left at its closing brace, or by `return`",
                    )
                    .help("store the decision in a variable, and act on it after the lock"),
            );
        }
    }
}

/// Says E0805.
fn only_inside(cx: &mut Context<'_>, text: &CText, locks: &Blocks, tokens: &[Token], uses: &[Use]) {
    for u in uses {
        if let What::Directive { directive, .. } = &u.what
            && matches!(directive.does.in_lock, InLock::Only | InLock::Recovers)
            && locks.around(u.at.start).is_none()
        {
            let word = &text.text[u.at.clone()];
            cx.out.push(functions::refused(text, &u.at, word));
        }
    }
    for pair in tokens.windows(2) {
        let word = &text.text[pair[0].at.clone()];
        let call = pair[0].kind == Kind::Name && pair[1].kind == Kind::Punct(b'(');
        if call && functions::asks(word) {
            cx.out.push(functions::hidden(text, &pair[0].at));
        } else if call
            && (cx.inside.contains(word) || functions::needs_lock(word))
            && locks.around(pair[0].at.start).is_none()
        {
            cx.out.push(functions::refused(text, &pair[0].at, word));
        }
    }
}

/// Says E0806.
pub fn foreign(cx: &mut Context<'_>, text: &CText, body: &Body, uses: &[Use]) {
    for at in foreign::stored(body, uses, cx.arrays) {
        let word = &text.text[at.clone()];
        let what = format!("`{word}` is stored in %shared, but leads to memory of one process");
        let help = "copy the bytes into a shared array, or into memory of $alloc";
        cx.out
            .push(Diagnostic::new(Code::E0806, inner(text.span, &at), what).help(help));
    }
}

/// Says E0802 at a use.
pub fn outside(cx: &mut Context<'_>, text: &CText, at: &Range<usize>) {
    let word = &text.text[at.clone()];
    let what = format!("`{word}` is used outside $lock");
    let help = "write $lock { … } around what uses it, and copy what is needed after it";
    cx.out
        .push(Diagnostic::new(Code::E0802, inner(text.span, at), what).help(help));
}

/// Says E0802 where C that is no action names a variable.
pub fn not_named(
    parser: &mut Parser,
    text: &CText,
    place: &str,
    names: &Names,
    out: &mut Vec<Diagnostic>,
) {
    if names.is_empty() {
        return;
    }
    let Some(tree) = parser.parse(&text.text, None) else {
        return;
    };
    for (at, _) in scope::uses_in(&text.text, tree.root_node(), names) {
        let word = &text.text[at.clone()];
        let what = format!("`{word}` is named in {place}");
        let help =
            "only actions name shared variables, inside $lock: give functions a pointer there";
        out.push(Diagnostic::new(Code::E0802, inner(text.span, &at), what).help(help));
    }
}

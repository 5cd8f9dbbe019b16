//! What stands inside `$block { }`: it may run on another thread, so it must neither touch the
//! connection nor be left, or entered, other than at its ends. Must not know: what it becomes.

use crate::actions::{Context, inner};
use crate::ctext::{Kind, Token};
use crate::directives::{Form, in_block};
use crate::model::{Use, What};
use crate::scope;
use nest_diag::{Code, Diagnostic};
use nest_syntax::ast::CText;
use std::ops::Range;

/// Says E0409 and E0410. `plain`: the text as C, each `$block` an `if`.
pub fn check(cx: &mut Context<'_>, text: &CText, tokens: &[Token], uses: &[Use], plain: &str) {
    let mut blocks: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for u in uses {
        if let What::Block { close } = u.what {
            blocks.push((u.at.clone(), u.at.end..close + 1));
        }
    }
    blocks.sort_by_key(|(head, _)| head.start);
    if blocks.is_empty() {
        return;
    }
    let enclosing = |at: &Range<usize>| {
        blocks
            .iter()
            .find(|(_, body)| body.start <= at.start && at.end <= body.end)
    };
    for u in uses {
        let Some((head, _)) = enclosing(&u.at) else {
            continue;
        };
        let refused = match &u.what {
            What::Directive { directive, .. } => {
                directive.form != Form::Return && !in_block(directive)
            }
            What::Block { .. } => true,
            What::Milliseconds(_) | What::Variable(_) | What::Dollar | What::Part(_) => false,
        };
        if refused {
            let word = &text.text[u.at.clone()];
            let what = format!("`{word}` inside $block");
            cx.out.push(
                Diagnostic::new(Code::E0409, inner(text.span, &u.at), what)
                    .label(inner(text.span, head), "this may run on another thread")
                    .help(
                        "leave the result in a variable, and go on with it behind the block; $1 and \
                         its like, $len, $ptr, $log, $id and $peer may stand in it",
                    ),
            );
        }
    }
    let jumps = Jumps::new(cx, plain, tokens);
    for (i, token) in tokens.iter().enumerate() {
        let Some((head, body)) = enclosing(&token.at) else {
            continue;
        };
        let word = &text.text[token.at.clone()];
        if jumps.leaves(i, word, body) {
            let what = format!("`{word}` inside $block");
            cx.out.push(
                Diagnostic::new(Code::E0410, inner(text.span, &token.at), what)
                    .label(inner(text.span, head), "the block ends only at its brace")
                    .help("note in a variable what is to happen, and do it behind the block"),
            );
        }
    }
}

struct Jumps<'a> {
    tree: Option<tree_sitter::Tree>,
    plain: &'a str,
    tokens: &'a [Token],
}

impl<'a> Jumps<'a> {
    fn new(cx: &mut Context<'_>, plain: &'a str, tokens: &'a [Token]) -> Self {
        Jumps {
            tree: scope::body(cx.parser, plain),
            plain,
            tokens,
        }
    }

    /// Whether token `i` leaves the block `body`, or lets a jump in.
    fn leaves(&self, i: usize, word: &str, body: &Range<usize>) -> bool {
        let token = &self.tokens[i];
        match (token.kind, word) {
            (Kind::Dollar, "$return") | (Kind::Name, "return" | "goto") => true,
            (Kind::Name, "break") => !self.within(&token.at, body, true),
            (Kind::Name, "continue") => !self.within(&token.at, body, false),
            (Kind::Name, "case" | "default") => !self.within_switch(&token.at, body),
            (Kind::Name, _) => self.labels(&token.at),
            _ => false,
        }
    }

    /// Whether something inside the block stops the `break` (or `continue`) at `at`.
    fn within(&self, at: &Range<usize>, body: &Range<usize>, is_break: bool) -> bool {
        self.encloses(at, body, &|kind| match kind {
            "for_statement" | "while_statement" | "do_statement" => true,
            "switch_statement" => is_break,
            _ => false,
        })
    }

    fn within_switch(&self, at: &Range<usize>, body: &Range<usize>) -> bool {
        // `default` of _Generic is no label.
        self.encloses(at, body, &|kind| {
            matches!(kind, "switch_statement" | "generic_expression")
        })
    }

    /// Whether a node of such a kind lies around `at`, inside the block. A block of statements
    /// behind `NAME(…)` counts: a macro that makes a loop.
    fn encloses(
        &self,
        at: &Range<usize>,
        body: &Range<usize>,
        fits: &dyn Fn(&str) -> bool,
    ) -> bool {
        let shift = scope::BODY.len();
        let mut node = self.tree.as_ref().and_then(|tree| {
            tree.root_node()
                .descendant_for_byte_range(at.start + shift, at.end + shift)
        });
        while let Some(n) = node {
            if n.start_byte() < body.start + shift {
                break;
            }
            if fits(n.kind()) || self.macro_loop(n.start_byte() - shift) {
                return true;
            }
            node = n.parent();
        }
        false
    }

    /// Whether the `{` at `at` stands behind the parenthesis of a call.
    fn macro_loop(&self, at: usize) -> bool {
        let Some(i) = self.tokens.iter().position(|t| t.at.start == at) else {
            return false;
        };
        let is = |i: usize, p: u8| self.tokens.get(i).is_some_and(|t| t.kind == Kind::Punct(p));
        if i == 0 || !is(i, b'{') || !is(i - 1, b')') {
            return false;
        }
        let (mut depth, mut j) = (0usize, i - 1);
        loop {
            depth += usize::from(is(j, b')'));
            depth -= usize::from(is(j, b'('));
            if depth == 0 || j == 0 {
                break;
            }
            j -= 1;
        }
        let Some(name) = j.checked_sub(1).map(|k| &self.tokens[k]) else {
            return false;
        };
        let word = &self.plain[name.at.clone()];
        name.kind == Kind::Name && !matches!(word, "if" | "switch" | "while" | "for" | "sizeof")
    }

    /// Whether the name at `at` is a label.
    fn labels(&self, at: &Range<usize>) -> bool {
        let shift = scope::BODY.len();
        let node = self.tree.as_ref().and_then(|tree| {
            tree.root_node()
                .descendant_for_byte_range(at.start + shift, at.end + shift)
        });
        node.is_some_and(|n| {
            n.kind() == "statement_identifier"
                && n.parent()
                    .is_some_and(|parent| parent.kind() == "labeled_statement")
        })
    }
}

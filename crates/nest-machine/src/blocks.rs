//! What stands inside `$block { }`: it may run on another thread, so it must neither touch the
//! connection nor be left, or entered, other than at its ends. Must not know: what it becomes.
//!
//! Takes time in proportion to the text, however it nests.

use crate::context::Context;
use crate::model::{Use, What};
use nest_c::directives::Form;
use nest_c::inner;
use nest_c::lexer::{self, Kind, Token};
use nest_c::scope;
use nest_diag::{Code, Diagnostic};
use nest_syntax::ast::CText;
use std::collections::BTreeSet;
use std::ops::Range;
use tree_sitter::{Node, Parser};

/// Says E0409 and E0410. `plain`: the text as C, each `$block` an `if`.
pub fn check(cx: &mut Context<'_>, text: &CText, tokens: &[Token], uses: &[Use], plain: &str) {
    let blocks = Blocks::new(uses, |what| match what {
        What::Block { close } => Some(*close),
        _ => None,
    });
    if blocks.outer.is_empty() {
        return;
    }
    for u in uses {
        let Some(block) = blocks.around(u.at.start) else {
            continue;
        };
        let refused = match &u.what {
            What::Directive { directive, .. } => {
                directive.form != Form::Return && !directive.does.in_block
            }
            What::Block { .. } => true,
            What::Milliseconds(_)
            | What::Variable(_)
            | What::Shared(_)
            | What::Lock { .. }
            | What::Dollar
            | What::Part(_) => false,
        };
        if refused {
            let word = &text.text[u.at.clone()];
            let what = format!("`{word}` inside $block");
            cx.out.push(
                Diagnostic::new(Code::E0409, inner(text.span, &u.at), what)
                    .label(
                        inner(text.span, &block.head),
                        "this may run on another thread",
                    )
                    .help(
                        "store the result in a variable, and use it after the block; the block may \
                         use $1 and other parts, $len, $ptr, $count, $item, \
                         $itemLen, $log, $id, $peer, $lock, \
                         $recovered, $alloc, $free, $alive, \
                         $fileCreate, $fileWrite, $fileCommit, \
                         $fileDrop and $fileDelete",
                    ),
            );
        }
    }
    let returns = uses.iter().filter(|u| match &u.what {
        What::Directive { directive, .. } => directive.form == Form::Return,
        _ => false,
    });
    let returns: BTreeSet<usize> = returns.map(|u| u.at.start).collect();
    let stopped = stopped(cx.parser, &blocks, tokens, plain);
    for token in tokens {
        let Some(block) = blocks.around(token.at.start) else {
            continue;
        };
        let word = &text.text[token.at.clone()];
        let leaves = match (token.kind, word) {
            (Kind::Dollar, _) => returns.contains(&token.at.start),
            (Kind::Name, "return" | "goto") => true,
            (Kind::Name, "break" | "continue") => !stopped.inside.contains(&token.at.start),
            (Kind::Name, _) => stopped.labels.contains(&token.at.start),
            _ => false,
        };
        if leaves {
            let what = format!("`{word}` inside $block");
            cx.out.push(
                Diagnostic::new(Code::E0410, inner(text.span, &token.at), what)
                    .label(
                        inner(text.span, &block.head),
                        "a block must not be left before its closing brace",
                    )
                    .help("store the decision in a variable, and act on it after the block"),
            );
        }
    }
}

/// A block of a directive.
pub struct Block {
    /// `$block`.
    pub head: Range<usize>,
    /// From behind it to its `}`.
    pub body: Range<usize>,
}

/// The blocks of an action that lie in no other of the same kind, in order.
pub struct Blocks {
    pub outer: Vec<Block>,
}

impl Blocks {
    /// `close`: the offset of the `}` of a block of this kind.
    pub fn new(uses: &[Use], close: impl Fn(&What) -> Option<usize>) -> Self {
        let mut all: Vec<Block> = uses
            .iter()
            .filter_map(|u| {
                close(&u.what).map(|close| Block {
                    head: u.at.clone(),
                    body: u.at.end..close,
                })
            })
            .collect();
        all.sort_by_key(|b| b.head.start);
        let mut outer: Vec<Block> = Vec::new();
        for block in all {
            if outer.last().is_none_or(|o| o.body.end <= block.head.start) {
                outer.push(block);
            }
        }
        Blocks { outer }
    }

    /// The block in which `at` lies.
    pub fn around(&self, at: usize) -> Option<&Block> {
        let n = self.outer.partition_point(|b| b.body.start <= at);
        self.outer[..n].last().filter(|b| at < b.body.end)
    }
}

/// Offsets of words inside blocks.
#[derive(Default)]
pub struct Stopped {
    /// `break` and `continue` whose statement lies inside the block, too.
    pub inside: BTreeSet<usize>,
    /// Labels, and `case` and `default` of a switch around the block.
    pub labels: BTreeSet<usize>,
}

/// Where the statements lie that stop a jump: starts of the ones around a node, and their ends.
#[derive(Default)]
struct Around(Vec<Range<usize>>);

impl Around {
    fn leave(&mut self, at: usize) {
        while self.0.last().is_some_and(|r| r.end <= at) {
            self.0.pop();
        }
    }

    /// Whether the innermost one begins at or after `from`.
    fn since(&self, from: usize) -> bool {
        self.0.last().is_some_and(|r| r.start >= from)
    }
}

/// What the C parser says of jumps.
pub fn stopped(parser: &mut Parser, blocks: &Blocks, tokens: &[Token], plain: &str) -> Stopped {
    let mut found = Stopped::default();
    let Some(tree) = scope::body(parser, plain) else {
        return found;
    };
    let loops = macro_loops(tokens, plain);
    let (mut breaks, mut continues, mut cases) =
        (Around::default(), Around::default(), Around::default());
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        // In front of the text stands what makes it a function.
        let place = |n: Node<'_>| {
            let [start, end] = [n.start_byte(), n.end_byte()];
            start.saturating_sub(scope::BODY.len())..end.saturating_sub(scope::BODY.len())
        };
        let at = place(node);
        for around in [&mut breaks, &mut continues, &mut cases] {
            around.leave(at.start);
        }
        let from = blocks.around(at.start).map(|b| b.body.start);
        match (node.kind(), from) {
            ("for_statement" | "while_statement" | "do_statement", _) => {
                breaks.0.push(at.clone());
                continues.0.push(at);
            }
            ("compound_statement", _) if loops.contains(&at.start) => {
                breaks.0.push(at.clone());
                continues.0.push(at);
            }
            ("switch_statement", _) => {
                breaks.0.push(at.clone());
                cases.0.push(at);
            }
            ("break", Some(from)) if breaks.since(from) => _ = found.inside.insert(at.start),
            ("continue", Some(from)) if continues.since(from) => _ = found.inside.insert(at.start),
            ("case" | "default", Some(from)) if !cases.since(from) => {
                found.labels.insert(at.start);
            }
            ("labeled_statement", Some(_)) => {
                found.labels.insert(at.start);
            }
            _ => {}
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

/// Where a `{` stands behind `NAME(…)`: a macro that makes a loop.
fn macro_loops(tokens: &[Token], plain: &str) -> BTreeSet<usize> {
    let opens = lexer::pairs(tokens, b'(', b')').1;
    let is = |i: usize, p: u8| tokens[i].kind == Kind::Punct(p);
    (2..tokens.len())
        .filter(|i| is(*i, b'{') && is(*i - 1, b')'))
        .filter(|i| {
            let name = opens[*i - 1].and_then(|open| open.checked_sub(1));
            name.is_some_and(|n| {
                let word = &plain[tokens[n].at.clone()];
                tokens[n].kind == Kind::Name
                    && !matches!(word, "if" | "switch" | "while" | "for" | "sizeof")
            })
        })
        .map(|i| tokens[i].at.start)
        .collect()
}

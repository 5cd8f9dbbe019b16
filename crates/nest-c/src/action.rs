//! An action as data: its C, and the places in it where something else must stand.
//!
//! The scanner that finds these places, the analyses that read them and the emitter that replaces them
//! share these types. Must not know: what a directive does, or what happens to a place.

use crate::directives::Directive;
use crate::scope::Body;
use nest_diag::{SourceMap, Span};
use std::ops::Range;
use std::sync::OnceLock;

/// C text of the user's and where it came from.
#[derive(Clone, Debug)]
pub struct Code {
    /// The file, as the user named it.
    pub file: String,
    /// The line on which the text begins, from 1.
    pub line: usize,
    /// The column on which it begins, from 1.
    pub column: usize,
    /// The text.
    pub text: String,
}

impl Code {
    /// The code at `span`.
    #[must_use]
    pub fn at(sources: &SourceMap, span: Span) -> Code {
        let (line, column) = sources.position(span.file, span.start);
        Code {
            file: sources.file(span.file).name.clone(),
            line,
            column,
            text: sources.text(span).to_string(),
        }
    }

    /// A part of it.
    #[must_use]
    pub fn part(&self, at: Range<usize>) -> Code {
        let before = &self.text[..at.start];
        let last = before.rsplit('\n').next().unwrap_or_default();
        let lines = before.matches('\n').count();
        let start = if lines == 0 { self.column } else { 1 };
        Code {
            file: self.file.clone(),
            line: self.line + lines,
            column: start + last.chars().count(),
            text: self.text[at].to_string(),
        }
    }
}

/// An action: text and what to replace in it.
#[derive(Clone, Debug)]
pub struct Action {
    /// The C between the braces.
    pub code: Code,
    /// Its place.
    pub span: Span,
    /// By position; they do not overlap, but a call's arguments lie inside it.
    pub uses: Vec<Use>,
    /// Parsed as a function's body, when it is first asked for.
    pub body: OnceLock<Body>,
}

/// A place in an action where something else must stand.
#[derive(Clone, Debug)]
pub struct Use {
    /// The token: the variable's name, the directive's head (`$reply`), or `\$`.
    pub at: Range<usize>,
    /// What it is.
    pub what: What,
}

/// What a [`Use`] is.
#[derive(Clone, Debug)]
pub enum What {
    /// A per-connection variable, by its number in [`Locals::variables`].
    Variable(usize),
    /// A variable of `%shared`, by its number there.
    Shared(usize),
    /// `$lock`, up to the `}` at `close`.
    Lock {
        /// Offset of its `}`.
        close: usize,
    },
    /// `\$`.
    Dollar,
    /// `$n`.
    Part(u32),
    /// A duration, in milliseconds.
    Milliseconds(u32),
    /// `$block`, up to the `}` at `close`.
    Block {
        /// Offset of its `}`.
        close: usize,
    },
    /// A directive.
    Directive {
        /// Which.
        directive: &'static Directive,
        /// Its arguments; none if it has no parentheses.
        call: Option<Args>,
    },
}

/// The arguments of a directive.
#[derive(Clone, Debug)]
pub struct Args {
    /// Offset of `(`.
    pub open: usize,
    /// Offset of `)`.
    pub close: usize,
    /// Each argument.
    pub args: Vec<Arg>,
    /// `$reply`: the first argument is a format.
    pub format: bool,
}

/// An argument.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Where.
    pub at: Range<usize>,
    /// What it was resolved to, where the directive asks for it.
    pub kind: ArgKind,
}

/// What an argument is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// A C expression.
    Expression,
    /// Exactly a part: `$n`.
    Part(u32),
    /// A part's number.
    PartNumber(u32),
    /// A state.
    State(u32),
    /// `*`.
    AllStates,
    /// The C name of a log level.
    Level(&'static str),
}

/// The text with every directive's head made a name of the same length, and that of `$block` and
/// `$lock` an `if`, so that a C parser can read it.
#[must_use]
pub fn without_directives(text: &str, uses: &[Use]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for u in uses {
        if let What::Block { .. } = u.what {
            bytes[u.at.clone()].copy_from_slice(b"if(1) ");
            continue;
        }
        if let What::Lock { .. } = u.what {
            bytes[u.at.clone()].copy_from_slice(b"if(1)");
            continue;
        }
        bytes[u.at.start] = b'_';
        if let What::Dollar = u.what {
            bytes[u.at.start + 1] = b'_';
        }
        if let What::Directive {
            call: Some(args), ..
        } = &u.what
        {
            for arg in args.args.iter().filter(|a| a.kind == ArgKind::AllStates) {
                bytes[arg.at.start] = b'0';
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_string())
}

/// The span of a range of a C text.
#[must_use]
pub fn inner(whole: Span, at: &Range<usize>) -> Span {
    let base = whole.start as usize;
    Span::new(whole.file, base + at.start, base + at.end)
}

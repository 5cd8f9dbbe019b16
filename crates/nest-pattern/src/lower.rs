//! Converts the syntax tree of a pattern into one [`Hir`] per element.
//!
//! Expands macros, applies flags and folds case. Must not know: automata beyond their size limit,
//! rules, states.

use crate::hir::Hir;
use crate::nfa::{Nfa, STATE_LIMIT};
use nest_diag::{Code, Diagnostic};
use nest_syntax::ast::{Alt, Atom, ByteSet, Flags, Name, Pattern, Piece, Special};
use std::collections::{BTreeMap, BTreeSet};

/// The deepest nesting of groups and macros, which limits every recursion over a pattern.
const DEPTH_LIMIT: usize = 250;

/// The maximum number of pieces after macro expansion. It is generous compared with
/// [`STATE_LIMIT`]: pieces without states (empty groups) are rare, while macros that double at each
/// level reach it at once.
const PIECE_LIMIT: usize = 4 * STATE_LIMIT;

/// Lowers a pattern to one [`Hir`] per element. `Err` contains diagnostics (the caller finds
/// recursive macros before). `caseless`: `%option caseless`.
///
/// The result fits [`Nfa::build`]. If the pattern has constructs that automata cannot express
/// ([`crate::backtracking`]), the result matches all that the pattern matches, and perhaps more.
///
/// # Errors
/// Diagnostics E0310, E0311, E0316, and others that depend on the expansion.
pub fn lower(
    pattern: &Pattern,
    macros: &BTreeMap<String, Pattern>,
    caseless: bool,
) -> Result<Vec<Hir>, Vec<Diagnostic>> {
    let mut lowering = Lowering {
        macros,
        open: Vec::new(),
        depth: 0,
        left: PIECE_LIMIT,
        referable: referable(pattern, macros),
    };
    let scope = Scope {
        caseless,
        dot_all: false,
        swap_greed: false,
        multiline: false,
    };
    let elements = lowering
        .elements(pattern, scope)
        .map_err(|stop| vec![explain(&stop, pattern)])?;
    match check(pattern, &elements) {
        Some(diagnostic) => Err(vec![diagnostic]),
        None => Ok(elements),
    }
}

/// Errors about a pattern as a whole.
fn check(pattern: &Pattern, elements: &[Hir]) -> Option<Diagnostic> {
    if let Some(at) = elements.iter().position(|e| *e == Hir::NOTHING) {
        let message = "nothing can ever match this: it needs a byte out of an empty class";
        return Some(
            Diagnostic::new(Code::E0316, pattern.elements[at].span, message)
                .help("a class must contain at least one byte, `[^\\x00-\\xff]` leaves none"),
        );
    }
    if elements.iter().all(|e| *e == Hir::Empty) {
        let message = "this pattern matches only the empty string, so its rule would never run";
        return Some(
            Diagnostic::new(Code::E0310, pattern.span, message)
                .help("let it match at least one byte"),
        );
    }
    // Only the construction determines the exact size, and it stops at the limit.
    if !Nfa::fits(elements) {
        let alone = elements
            .iter()
            .position(|e| !Nfa::fits(std::slice::from_ref(e)));
        let span = alone.map_or(pattern.span, |at| pattern.elements[at].span);
        let message = format!(
            "this pattern is too large: macros and counts written out, it needs more than \
             {STATE_LIMIT} states"
        );
        return Some(Diagnostic::new(Code::E0311, span, message).help(TOO_LARGE_HELP));
    }
    None
}

const TOO_LARGE_HELP: &str =
    "use smaller counts or fewer macros; `$read(n)` in the action reads a given number of bytes";

/// Why lowering stopped.
enum Stop {
    TooManyPieces,
    TooDeep,
    Undeclared(Name),
    Recursive(Name),
}

fn explain(stop: &Stop, pattern: &Pattern) -> Diagnostic {
    match stop {
        Stop::TooManyPieces => {
            let message = format!(
                "this pattern is too large: with its macros expanded it has more than \
                 {PIECE_LIMIT} pieces"
            );
            Diagnostic::new(Code::E0311, pattern.span, message).help(TOO_LARGE_HELP)
        }
        Stop::TooDeep => {
            let message = format!(
                "this pattern is too large: groups and macros are nested more than {DEPTH_LIMIT} \
                 levels deep"
            );
            Diagnostic::new(Code::E0311, pattern.span, message).help("nest fewer groups")
        }
        Stop::Undeclared(name) => {
            let message = format!("there is no pattern macro `{}`", name.text);
            Diagnostic::new(Code::E0203, name.span, message)
                .help("declare it before the first `%%`, or quote it to match text")
        }
        Stop::Recursive(name) => {
            let message = format!("the macro `{}` uses itself", name.text);
            Diagnostic::new(Code::E0104, name.span, message)
                .help("write the repetition with `*` or `+`")
        }
    }
}

/// The flags that apply at a position.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    pub caseless: bool,
    pub dot_all: bool,
    pub swap_greed: bool,
    pub multiline: bool,
}

impl Scope {
    pub fn with(self, flags: Flags) -> Scope {
        Scope {
            caseless: flags.caseless.unwrap_or(self.caseless),
            dot_all: flags.dot_all.unwrap_or(self.dot_all),
            swap_greed: flags.swap_greed.unwrap_or(self.swap_greed),
            multiline: flags.multiline.unwrap_or(self.multiline),
        }
    }
}

struct Lowering<'a> {
    macros: &'a BTreeMap<String, Pattern>,
    /// Macros that are being expanded, outermost first.
    open: Vec<String>,
    depth: usize,
    /// The number of pieces that may still be visited.
    left: usize,
    /// The bytes that a back-reference may match.
    referable: ByteSet,
}

/// All bytes that groups of the pattern and of its macros may match, and perhaps more.
fn referable<'a>(pattern: &'a Pattern, macros: &'a BTreeMap<String, Pattern>) -> ByteSet {
    let elements = |p: &'a Pattern| p.elements.iter().map(|e| &e.alt);
    let (mut todo, mut met): (Vec<&Alt>, _) = (elements(pattern).collect(), BTreeSet::new());
    let (mut found, mut refers) = (ByteSet::EMPTY, false);
    while let Some(alt) = todo.pop() {
        for piece in alt.branches.iter().flatten() {
            match &piece.atom {
                Atom::Bytes(bytes) => bytes.iter().for_each(|b| found.insert(*b)),
                Atom::Class {
                    set,
                    negated: false,
                } => found = found.union(set),
                Atom::Class { set, negated: true } => found = found.union(&set.complement()),
                Atom::Dot => found = ByteSet::ALL,
                Atom::Special(Special::LineEnds) => found = found.union(&line_ends()),
                Atom::Special(Special::Reference(_)) => refers = true,
                Atom::Macro(name) if met.insert(&name.text) => {
                    todo.extend(macros.get(&name.text).into_iter().flat_map(elements));
                }
                atom => todo.extend(atom.inner()),
            }
        }
    }
    match refers {
        true => found.fold(),
        false => ByteSet::EMPTY,
    }
}

impl Lowering<'_> {
    /// Each element is treated as if in parentheses: flags set in one do not affect the next.
    fn elements(&mut self, pattern: &Pattern, scope: Scope) -> Result<Vec<Hir>, Stop> {
        let scope = scope.with(pattern.flags);
        pattern
            .elements
            .iter()
            .map(|e| self.alt(&e.alt, scope))
            .collect()
    }

    /// As in PCRE2, flags set in a branch also apply to the later branches.
    fn alt(&mut self, alt: &Alt, mut scope: Scope) -> Result<Hir, Stop> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(Stop::TooDeep);
        }
        let mut branches = Vec::with_capacity(alt.branches.len());
        for branch in &alt.branches {
            self.spend(1)?;
            let mut items = Vec::with_capacity(branch.len());
            for piece in branch {
                if let Atom::SetFlags(flags) = &piece.atom {
                    scope = scope.with(*flags);
                } else {
                    items.push(self.piece(piece, scope)?);
                }
            }
            branches.push(Hir::concat(items));
        }
        self.depth -= 1;
        Ok(Hir::alt(branches))
    }

    fn piece(&mut self, piece: &Piece, scope: Scope) -> Result<Hir, Stop> {
        self.spend(1)?;
        let atom = self.atom(&piece.atom, scope)?;
        Ok(match piece.quant {
            None => atom,
            Some(q) => Hir::repeat(atom, q.min, q.max, q.greedy != scope.swap_greed),
        })
    }

    fn atom(&mut self, atom: &Atom, scope: Scope) -> Result<Hir, Stop> {
        Ok(match atom {
            Atom::Bytes(bytes) => {
                self.spend(bytes.len())?;
                Hir::concat(bytes.iter().map(|b| byte(*b, scope)).collect())
            }
            Atom::Class { set, negated } => {
                let set = if scope.caseless { set.fold() } else { *set };
                Hir::class(if *negated { set.complement() } else { set })
            }
            Atom::Dot if scope.dot_all => Hir::Class(ByteSet::ALL),
            Atom::Dot => Hir::Class(single(b'\n').complement()),
            Atom::Macro(name) => self.expand(name, scope)?,
            Atom::Group { flags, alt } => self.alt(alt, scope.with(*flags))?,
            Atom::SetFlags(_) | Atom::Nothing => Hir::Empty,
            Atom::Special(special) => self.special(special, scope)?,
        })
    }

    /// All that it matches, and perhaps more.
    fn special(&mut self, special: &Special, scope: Scope) -> Result<Hir, Stop> {
        Ok(match special {
            Special::Capture { alt, .. } | Special::Atomic { alt, .. } => self.alt(alt, scope)?,
            Special::Look { alt, .. } => {
                self.alt(alt, scope)?; // for its errors
                Hir::Empty
            }
            Special::Assertion(_) => Hir::Empty,
            // A group of this pattern has matched it.
            Special::Reference(_) => Hir::repeat(Hir::class(self.referable), 0, None, true),
            Special::LineEnds => {
                let pair = [b'\r', b'\n'].map(|b| Hir::Class(single(b)));
                Hir::alt(vec![Hir::concat(pair.to_vec()), Hir::Class(line_ends())])
            }
        })
    }

    /// The macro's text as if in parentheses, with the flags at the position of its use.
    fn expand(&mut self, name: &Name, scope: Scope) -> Result<Hir, Stop> {
        let Some(body) = self.macros.get(&name.text) else {
            return Err(Stop::Undeclared(name.clone()));
        };
        if self.open.contains(&name.text) {
            return Err(Stop::Recursive(name.clone()));
        }
        self.open.push(name.text.clone());
        let items = self.elements(body, scope)?;
        self.open.pop();
        Ok(Hir::concat(items))
    }

    fn spend(&mut self, pieces: usize) -> Result<(), Stop> {
        self.left = self.left.checked_sub(pieces).ok_or(Stop::TooManyPieces)?;
        Ok(())
    }
}

/// The bytes that end a line by themselves, for `\R`.
pub(crate) fn line_ends() -> ByteSet {
    let mut set = ByteSet::EMPTY;
    b"\n\x0b\x0c\r\x85".iter().for_each(|b| set.insert(*b));
    set
}

pub(crate) fn single(b: u8) -> ByteSet {
    let mut set = ByteSet::EMPTY;
    set.insert(b);
    set
}

fn byte(b: u8, scope: Scope) -> Hir {
    Hir::Class(if scope.caseless {
        single(b).fold()
    } else {
        single(b)
    })
}

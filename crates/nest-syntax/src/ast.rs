//! The syntax tree of a specification: what was written, where, nothing resolved.
//!
//! Must not know: what a state or macro stands for, what a directive does, automata, C semantics.
//! Names are kept as written; whether a declaration of that name exists is asked only where the
//! grammar itself depends on it (condition or pattern, macro of which kind).

use std::sync::Arc;

use nest_diag::Span;

/// A name where it was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// C text of the user's, copied to the server.
#[derive(Clone, Debug)]
pub struct CText {
    /// Exactly the bytes between the delimiters; `span` covers the same bytes.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A whole specification, its includes merged in.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// Declarations, in order, included ones where their `%include` stands.
    pub decls: Vec<Decl>,
    /// Per-connection C: the `local`s of each file. Text of declarations and `%{ %}` blocks alike.
    pub locals: Vec<CText>,
    /// Rules: those of the main file, then of each included file in the order of inclusion.
    pub rules: Vec<Rule>,
    /// Start-up sections, main file first.
    pub startup: Vec<CText>,
    /// Comments that speak to the compiler, of C too, in order.
    pub remarks: Vec<Span>,
}

/// A declaration.
#[derive(Clone, Debug)]
pub enum Decl {
    /// `%{ C %}`.
    Prologue(CText),
    /// `%option NAME VALUE…`.
    Option(OptionDecl),
    /// `%state A B`.
    State(Vec<Name>),
    /// `NAME text`.
    Macro(Macro),
}

/// `%option NAME [VALUE …]`; values as written, separated by blanks, quotes removed.
#[derive(Clone, Debug)]
pub struct OptionDecl {
    /// The option.
    pub name: Name,
    /// Its words.
    pub values: Vec<Name>,
}

/// A macro of either kind.
#[derive(Clone, Debug)]
pub struct Macro {
    /// Its name.
    pub name: Name,
    /// What it stands for.
    pub body: MacroBody,
}

/// The two kinds of macro.
#[derive(Clone, Debug)]
pub enum MacroBody {
    /// Its text parses as a condition over states and condition macros.
    Condition(Cond),
    /// Anything else.
    Pattern(Pattern),
}

/// A rule, its multistates already and-ed into `conditions`.
#[derive(Clone, Debug)]
pub struct Rule {
    /// START, END, TIMEOUT, or a pattern.
    pub kind: RuleKind,
    /// Conditions of the enclosing multistates, outermost first, then its own. All must hold.
    /// Shared: a multistate's condition is one tree, however many rules it encloses.
    pub conditions: Vec<Arc<Cond>>,
    /// `NAME =`.
    pub name: Option<Name>,
    /// The C between the braces, without them.
    pub action: CText,
    /// From condition to the end of the pattern (not the action).
    pub span: Span,
}

/// What starts a rule.
#[derive(Clone, Debug)]
pub enum RuleKind {
    /// The START rule.
    Start,
    /// The END rule.
    End,
    /// A TIMEOUT rule: what stands in its parentheses, as written.
    Timeout(Name),
    /// A pattern rule.
    Pattern(Pattern),
}

/// A boolean over states.
#[derive(Clone, Debug)]
pub enum Cond {
    /// `A || B || …`, at least two.
    Or(Vec<Cond>),
    /// `A && B && …`, at least two.
    And(Vec<Cond>),
    /// `!A`.
    Not(Box<Cond>),
    /// `$LASTSEEN(S)`.
    LastSeen(Name),
    /// A state or a condition macro.
    Name(Name),
}

/// A pattern: top-level elements, the parts.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// `(?i)` alone as first element (not in `elements`, not numbered).
    pub flags: Flags,
    /// At least one, unless in error.
    pub elements: Vec<Element>,
    /// Where.
    pub span: Span,
}

/// One top-level element: a part.
#[derive(Clone, Debug)]
pub struct Element {
    /// Its content.
    pub alt: Alt,
    /// Where.
    pub span: Span,
}

/// `a|b|c`; in order of preference.
#[derive(Clone, Debug)]
pub struct Alt {
    /// At least one; a branch may be empty only inside parentheses.
    pub branches: Vec<Vec<Piece>>,
}

/// An atom with its quantifier.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The atom.
    pub atom: Atom,
    /// `*`, `+?`, `{2,3}`.
    pub quant: Option<Quant>,
    /// Where, quantifier included.
    pub span: Span,
}

/// A quantifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quant {
    /// At least.
    pub min: u32,
    /// At most; none: no bound.
    pub max: Option<u32>,
    /// Perl's preference.
    pub greedy: bool,
}

/// Inline flags that are switched on or off; `None` leaves as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `i`: letters match both cases (ASCII).
    pub caseless: Option<bool>,
    /// `s`: `.` matches `\n` too.
    pub dot_all: Option<bool>,
    /// `U`: quantifiers are lazy unless followed by `?`.
    pub swap_greed: Option<bool>,
}

/// An atom.
#[derive(Clone, Debug)]
pub enum Atom {
    /// A quoted string, or one plain character or escape that is one byte. One unit for a quantifier.
    Bytes(Vec<u8>),
    /// A class as written, before case folding and negation. `\d` and `\N` are classes too.
    Class {
        /// The listed bytes.
        set: ByteSet,
        /// `[^…]`.
        negated: bool,
    },
    /// `.`
    Dot,
    /// `\R`: PCRE2's `(?>\r\n|\n|\x0b|\f|\r|\x85)` has an atomic group, so it is refused; kept
    /// out of the tree. (Documented here so that nobody adds it as a plain group.)
    /// `NAME` as an element of its own, or `{NAME}`.
    Macro(Name),
    /// `( alt )`, `(?: alt )`, `(?i: alt )`.
    Group {
        /// Flags for its inside.
        flags: Flags,
        /// Its inside.
        alt: Alt,
    },
    /// `(?i)` in the middle: holds to the end of the enclosing group (or element's alternation).
    SetFlags(Flags),
    /// A leading `^` or `\A`: says nothing.
    Nothing,
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteSet(pub [u64; 4]);

impl ByteSet {
    /// Nothing.
    pub const EMPTY: ByteSet = ByteSet([0; 4]);
    /// Every byte.
    pub const ALL: ByteSet = ByteSet([u64::MAX; 4]);

    /// Adds a byte.
    pub fn insert(&mut self, b: u8) {
        self.0[usize::from(b >> 6)] |= 1 << (b & 63);
    }

    /// Adds `lo..=hi`.
    pub fn insert_range(&mut self, lo: u8, hi: u8) {
        for b in lo..=hi {
            self.insert(b);
        }
    }

    /// Whether `b` is in it.
    #[must_use]
    pub fn contains(&self, b: u8) -> bool {
        self.0[usize::from(b >> 6)] >> (b & 63) & 1 == 1
    }

    /// The bytes that are in either.
    #[must_use]
    pub fn union(mut self, other: &ByteSet) -> ByteSet {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a |= b;
        }
        self
    }

    /// The bytes that are in both.
    #[must_use]
    pub fn both(mut self, other: &ByteSet) -> ByteSet {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= b;
        }
        self
    }

    /// The bytes that are not in it.
    #[must_use]
    pub fn complement(mut self) -> ByteSet {
        for a in &mut self.0 {
            *a = !*a;
        }
        self
    }

    /// With the other case of every ASCII letter in it.
    #[must_use]
    pub fn fold(mut self) -> ByteSet {
        for b in b'a'..=b'z' {
            let upper = b.to_ascii_uppercase();
            if self.contains(b) || self.contains(upper) {
                self.insert(b);
                self.insert(upper);
            }
        }
        self
    }

    /// Its bytes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        [0, 64, 128, 192]
            .into_iter()
            .zip(self.0)
            .flat_map(|(base, word)| {
                let after = |word: &u64| Some(word & (word - 1)).filter(|rest| *rest != 0);
                let words = std::iter::successors(Some(word).filter(|word| *word != 0), after);
                words.map(move |word| base + word.trailing_zeros() as u8)
            })
    }
}

//! The syntax tree of a specification: what the user wrote, and where. Names are not resolved.
//!
//! Must not know: what a state or macro stands for, what a directive does, automata, C semantics.
//! Names are kept as written. Whether a name is declared matters only where the grammar depends on
//! it: to tell conditions from patterns, and the kind of a macro.

use std::sync::Arc;

use nest_diag::Span;

/// A use of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its location.
    pub span: Span,
}

/// C text written by the user, copied into the server.
#[derive(Clone, Debug)]
pub struct CText {
    /// Exactly the bytes between the delimiters; `span` covers the same bytes.
    pub text: String,
    /// Its location.
    pub span: Span,
}

/// A complete specification, including the files that it includes.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// Declarations in order; those of an included file are at the position of its `%include`.
    pub decls: Vec<Decl>,
    /// Per-connection C declarations (`local`) and `%{ %}` blocks of each file.
    pub locals: Vec<CText>,
    /// Rules: those of the main file, then of each included file in the order of inclusion.
    pub rules: Vec<Rule>,
    /// Start-up sections, main file first.
    pub startup: Vec<CText>,
    /// Comments for the compiler, also those inside C code, in order.
    pub remarks: Vec<Span>,
}

/// A declaration.
#[derive(Clone, Debug)]
pub enum Decl {
    /// `%{ C %}`.
    Prologue(CText),
    /// `%option NAME VALUE…`.
    Option(OptionDecl),
    /// `%filter NAME KEY=VALUE…`.
    Filter(FilterDecl),
    /// `%shared SIZE { … } { … }`.
    Shared(SharedDecl),
    /// `%timer TIME { … }`, `%signal NAME { … }`, `%worker { … }`, `%cache { … }`.
    Code(CodeDecl),
    /// `%decode NAME(FUNCTION, TYPE)`, `%encode NAME(FUNCTION, TYPE)`.
    Stage(StageDecl),
    /// `%state A B`.
    State(Vec<Name>),
    /// `NAME text`.
    Macro(Macro),
}

/// `%option NAME [VALUE …]`; the values as written, separated by blanks, without quotes.
#[derive(Clone, Debug)]
pub struct OptionDecl {
    /// The option.
    pub name: Name,
    /// Its values.
    pub values: Vec<Name>,
}

/// `%filter NAME [KEY=VALUE …]`.
#[derive(Clone, Debug)]
pub struct FilterDecl {
    /// The filter.
    pub name: Name,
    /// Its options as written, separated by blanks.
    pub options: Vec<Name>,
}

/// `%shared SIZE { declarations } { initialisation }`.
#[derive(Clone, Debug)]
pub struct SharedDecl {
    /// `%shared`.
    pub word: Name,
    /// The size as written.
    pub size: Name,
    /// The declarations of the variables.
    pub declarations: CText,
    /// The code that initialises them, if there is any.
    pub code: Option<CText>,
}

/// `%timer TIME { code }`, `%signal NAME { code }`, `%worker { code }`, `%cache { code }`.
#[derive(Clone, Debug)]
pub struct CodeDecl {
    /// `%timer`.
    pub word: Name,
    /// The word behind it as written.
    pub argument: Option<Name>,
    /// The code.
    pub code: CText,
}

/// `%decode NAME(FUNCTION)`, `%decode NAME(FUNCTION, TYPE)`, and the same with `%encode`.
#[derive(Clone, Debug)]
pub struct StageDecl {
    /// `%decode` or `%encode`.
    pub word: Name,
    /// Its name.
    pub name: Name,
    /// The C function.
    pub function: CText,
    /// The C type of its state, if it has one.
    pub state: Option<CText>,
}

/// A macro of either kind.
#[derive(Clone, Debug)]
pub struct Macro {
    /// Its name.
    pub name: Name,
    /// Its text as a tree.
    pub body: MacroBody,
}

/// The two kinds of macro.
#[derive(Clone, Debug)]
pub enum MacroBody {
    /// The text is a condition over states and condition macros.
    Condition(Cond),
    /// Anything else.
    Pattern(Pattern),
}

/// A rule. The conditions of its multistates are included in `conditions`.
#[derive(Clone, Debug)]
pub struct Rule {
    /// START, END, TIMEOUT, or a pattern.
    pub kind: RuleKind,
    /// The conditions of the enclosing multistates, outermost first, then its own. All must be
    /// true. Shared, because a multistate's condition is one tree for all its rules.
    pub conditions: Vec<Arc<Cond>>,
    /// `NAME =`.
    pub name: Option<Name>,
    /// The C code without its braces.
    pub action: CText,
    /// From the condition to the end of the pattern, without the action.
    pub span: Span,
}

/// The event that starts a rule.
#[derive(Clone, Debug)]
pub enum RuleKind {
    /// The START rule.
    Start,
    /// The END rule.
    End,
    /// The OVERLOAD rule.
    Overload,
    /// A TIMEOUT rule, with the text in its parentheses.
    Timeout(Name),
    /// A pattern rule.
    Pattern(Pattern),
}

/// A Boolean expression over states.
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

/// A pattern: a list of elements, which are the parts.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// `(?i)` alone as the first element. It is not in `elements` and has no number.
    pub flags: Flags,
    /// At least one, except after an error.
    pub elements: Vec<Element>,
    /// Its location.
    pub span: Span,
    /// `NOW` behind it: the rule decides as soon as it accepts.
    pub now: Option<Span>,
}

/// One top-level element, which is a part.
#[derive(Clone, Debug)]
pub struct Element {
    /// Its content.
    pub alt: Alt,
    /// Its location.
    pub span: Span,
}

/// `a|b|c`, in order of preference.
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
    /// Its location, including the quantifier.
    pub span: Span,
}

/// A quantifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quant {
    /// The minimum.
    pub min: u32,
    /// The maximum; `None`: unlimited.
    pub max: Option<u32>,
    /// Whether the longest repetition is preferred, or (lazy) the shortest.
    pub greedy: bool,
}

/// Inline flags that are switched on or off; `None` leaves a flag unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `i`: letters match both cases (ASCII).
    pub caseless: Option<bool>,
    /// `s`: `.` also matches `\n`.
    pub dot_all: Option<bool>,
    /// `U`: quantifiers are lazy unless followed by `?`.
    pub swap_greed: Option<bool>,
    /// `m`: `^` and `$` also match at line ends. Recorded only with `%option backtracking yes`;
    /// without it, nothing depends on it.
    pub multiline: Option<bool>,
}

/// An atom.
#[derive(Clone, Debug)]
pub enum Atom {
    /// A quoted string, or one plain character or escape that is one byte. A quantifier applies to
    /// all of it.
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
    /// A macro as an element of its own, or `{NAME}`. (`\R` is not in the tree: in PCRE2 it is
    /// `(?>\r\n|\n|\x0b|\f|\r|\x85)`, an atomic group, so it is refused. Do not add it as a plain
    /// group.)
    Macro(Name),
    /// `( alt )`, `(?: alt )`, `(?i: alt )`.
    Group {
        /// The flags inside.
        flags: Flags,
        /// The content.
        alt: Alt,
    },
    /// `(?i)` in the middle: applies to the end of the enclosing group or element.
    SetFlags(Flags),
    /// A leading `^` or `\A`, which has no effect.
    Nothing,
    /// What only `%option backtracking yes` allows.
    Special(Special),
}

impl Atom {
    /// The content of a group of any kind.
    #[must_use]
    pub fn inner(&self) -> Option<&Alt> {
        match self {
            Atom::Group { alt, .. } => Some(alt),
            Atom::Special(
                Special::Capture { alt, .. }
                | Special::Look { alt, .. }
                | Special::Atomic { alt, .. },
            ) => Some(alt),
            _ => None,
        }
    }
}

/// A construct that only `%option backtracking yes` allows. Apart from groups to which nothing
/// refers, automata cannot express it.
#[derive(Clone, Debug)]
pub enum Special {
    /// `( )`, `(?<name> )`: a group that has a number, and perhaps a name.
    Capture {
        /// Its name.
        name: Option<String>,
        /// The content.
        alt: Alt,
    },
    /// `(?= )`, `(?! )`, `(?<= )`, `(?<! )`.
    Look {
        /// Whether it looks at what stands before.
        behind: bool,
        /// Whether its content must not match.
        negative: bool,
        /// The content.
        alt: Alt,
    },
    /// `(?> )`, or a possessive quantifier: the group contains what it repeats.
    Atomic {
        /// Whether it is written as a quantifier.
        possessive: bool,
        /// The content.
        alt: Alt,
    },
    /// `\1`, `\k<name>`.
    Reference(Reference),
    /// `^`, `$`, `\b` and the like.
    Assertion(Assertion),
    /// `\R`: an atomic group of all line ends.
    LineEnds,
}

/// The group to which a back-reference refers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// By its number, from 1. Counted are the groups of the text in which the reference stands: of
    /// a rule's pattern, or of a macro.
    Number(u32),
    /// By its name.
    Name(String),
}

/// A condition on the position, which matches no byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assertion {
    /// `^`.
    LineStart,
    /// `\A`.
    Start,
    /// `$`.
    LineEnd,
    /// `\Z`.
    EndOrLineEnd,
    /// `\z`.
    End,
    /// `\b`.
    Boundary,
    /// `\B`.
    NoBoundary,
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteSet(pub [u64; 4]);

impl ByteSet {
    /// The empty set.
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

    /// Whether it contains `b`.
    #[must_use]
    pub fn contains(&self, b: u8) -> bool {
        self.0[usize::from(b >> 6)] >> (b & 63) & 1 == 1
    }

    /// The union.
    #[must_use]
    pub fn union(mut self, other: &ByteSet) -> ByteSet {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a |= b;
        }
        self
    }

    /// The intersection.
    #[must_use]
    pub fn both(mut self, other: &ByteSet) -> ByteSet {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= b;
        }
        self
    }

    /// The complement.
    #[must_use]
    pub fn complement(mut self) -> ByteSet {
        for a in &mut self.0 {
            *a = !*a;
        }
        self
    }

    /// The set with both cases of every ASCII letter in it.
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

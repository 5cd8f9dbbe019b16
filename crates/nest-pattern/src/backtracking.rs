//! Patterns that automata cannot express, as text for libpcre2.
//!
//! The text means to libpcre2 what the pattern means to nest: macros are expanded, flags are
//! applied, classes and literals are bytes, and each group has the number that nest counts. It
//! contains nothing that depends on how libpcre2 was built, such as its idea of a line end. Must not
//! know: rules, how libpcre2 is called.

mod width;

use crate::lower::{Scope, line_ends, single};
use nest_diag::{Code, Diagnostic, Span};
use nest_syntax::ast::{
    Alt, Assertion, Atom, ByteSet, Element, Pattern, Piece, Quant, Reference, Special,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The macros of a specification.
type Macros = BTreeMap<String, Pattern>;

/// A construct that automata cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Construct {
    /// With an article: `a back-reference`.
    pub what: &'static str,
    /// Its location, in the pattern or in a macro.
    pub span: Span,
}

/// A pattern for libpcre2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The pattern, in ASCII.
    pub text: String,
    /// The number of the group around each element whose end is wanted.
    pub groups: Vec<u32>,
    /// The number of groups that libpcre2 records.
    pub captures: u32,
}

/// The first construct of an element that automata cannot express. Macros must not be recursive:
/// [`crate::lower`] has accepted the pattern.
#[must_use]
pub fn construct(element: &Element, macros: &Macros) -> Option<Construct> {
    let mut met = BTreeSet::new();
    first(&element.alt, macros, &mut met)
}

fn first<'a>(alt: &'a Alt, macros: &'a Macros, met: &mut BTreeSet<&'a str>) -> Option<Construct> {
    alt.branches.iter().flatten().find_map(|piece| {
        let what = match &piece.atom {
            Atom::Special(special) => name(special),
            Atom::Macro(name) if met.insert(&name.text) => {
                let mut elements = macros.get(&name.text)?.elements.iter();
                return elements.find_map(|e| first(&e.alt, macros, met));
            }
            _ => None,
        };
        let span = piece.span;
        what.map(|what| Construct { what, span })
            .or_else(|| first(piece.atom.inner()?, macros, met))
    })
}

/// None for a group, which automata express unless something refers to it.
fn name(special: &Special) -> Option<&'static str> {
    Some(match special {
        Special::Capture { .. } => return None,
        Special::Look { behind: true, .. } => "a look-behind",
        Special::Look { .. } => "a look-ahead",
        Special::Atomic {
            possessive: true, ..
        } => "a possessive quantifier",
        Special::Atomic { .. } | Special::LineEnds => "an atomic group",
        Special::Reference(_) => "a back-reference",
        Special::Assertion(Assertion::Boundary | Assertion::NoBoundary) => "a word boundary",
        Special::Assertion(Assertion::LineStart | Assertion::Start) => "an anchor at the start",
        Special::Assertion(_) => "an anchor at the end",
    })
}

/// Whether an element contains a group with a number.
#[must_use]
pub fn has_groups(element: &Element, macros: &Macros) -> bool {
    fn any<'a>(alt: &'a Alt, macros: &'a Macros, met: &mut BTreeSet<&'a str>) -> bool {
        alt.branches
            .iter()
            .flatten()
            .any(|piece| match &piece.atom {
                Atom::Special(Special::Capture { .. }) => true,
                Atom::Macro(name) if met.insert(&name.text) => macros
                    .get(&name.text)
                    .is_some_and(|m| m.elements.iter().any(|e| any(&e.alt, macros, met))),
                atom => atom.inner().is_some_and(|alt| any(alt, macros, met)),
            })
    }
    any(&element.alt, macros, &mut BTreeSet::new())
}

/// The text of a pattern that [`crate::lower`] has accepted. `ends`: the elements (from 0) whose ends
/// are wanted.
///
/// # Errors
/// Diagnostics about references without a group, look-behinds, and the size.
pub fn text(
    pattern: &Pattern,
    macros: &Macros,
    caseless: bool,
    ends: &[u32],
) -> Result<Text, Vec<Diagnostic>> {
    let mut writer = Writer {
        macros,
        out: vec![String::new()],
        references: Vec::new(),
        captures: 0,
        scopes: vec![Numbers::default()],
        current: 0,
        names: BTreeMap::new(),
        cost: 0,
        wrong: Vec::new(),
    };
    let scope = Scope {
        caseless,
        dot_all: false,
        swap_greed: false,
        multiline: false,
    };
    let scope = scope.with(pattern.flags);
    let mut groups = Vec::new();
    for (number, element) in (0u32..).zip(&pattern.elements) {
        let wanted = ends.contains(&number);
        if wanted {
            writer.captures += 1;
            groups.push(writer.captures);
        }
        writer.push(if wanted { "(" } else { "(?:" });
        writer.cost += GROUP;
        writer.alt(&element.alt, scope);
        writer.push(")");
    }
    if writer.cost > LARGEST {
        let message = "this pattern is too large for libpcre2: macros and counts written out, it \
                       would take more than 64K";
        let help = "use smaller counts or fewer macros";
        let too_large = Diagnostic::new(Code::E0311, pattern.span, message).help(help);
        writer.wrong.push(too_large);
    }
    let text = writer.joined();
    if writer.cost <= LARGEST && depth(&text) > DEEPEST {
        let message = format!(
            "this pattern is too large for libpcre2: its groups are nested more than {DEEPEST} levels \
             deep, and each macro is two of them"
        );
        let too_deep = Diagnostic::new(Code::E0311, pattern.span, message);
        let help = "nest fewer groups and macros";
        writer.wrong.push(too_deep.help(help));
    }
    if writer.wrong.is_empty() {
        Ok(Text {
            text,
            groups,
            captures: writer.captures,
        })
    } else {
        Err(writer.wrong)
    }
}

/// The most that libpcre2 takes for a compiled pattern, with a margin: bytes, if it was built with
/// links of two bytes, the default.
const LARGEST: usize = 60_000;
/// The deepest nesting of parentheses that libpcre2 takes, the default.
const DEEPEST: usize = 250;
/// What a group takes, at most, with its quantifier.
const GROUP: usize = 24;
/// What a class takes, at most, with its quantifier.
const CLASS: usize = 44;
/// What a reference or an assertion takes, at most.
const OTHER: usize = 8;

/// The groups of one text: of the rule's pattern, or of one use of a macro.
#[derive(Default)]
struct Numbers {
    /// The number that libpcre2 counts, of each group.
    numbers: Vec<u32>,
    names: BTreeMap<String, u32>,
}

/// A back-reference whose group may come later.
struct Pending<'a> {
    to: &'a Reference,
    /// The text in which it stands.
    scope: usize,
    span: Span,
    caseless: bool,
}

struct Writer<'a> {
    macros: &'a Macros,
    /// The text between back-references.
    out: Vec<String>,
    references: Vec<Pending<'a>>,
    captures: u32,
    scopes: Vec<Numbers>,
    current: usize,
    /// The groups of each name, in all texts.
    names: BTreeMap<&'a str, Vec<u32>>,
    /// An estimate of what libpcre2 makes of it, in bytes.
    cost: usize,
    wrong: Vec<Diagnostic>,
}

impl<'a> Writer<'a> {
    fn push(&mut self, text: &str) {
        if let Some(last) = self.out.last_mut() {
            last.push_str(text);
        }
    }

    fn alt(&mut self, alt: &'a Alt, mut scope: Scope) {
        for (n, branch) in alt.branches.iter().enumerate() {
            if n > 0 {
                self.push("|");
                self.cost += OTHER;
            }
            for piece in branch {
                if let Atom::SetFlags(flags) = &piece.atom {
                    scope = scope.with(*flags);
                } else {
                    self.piece(piece, scope);
                }
            }
        }
    }

    fn piece(&mut self, piece: &'a Piece, scope: Scope) {
        let before = self.cost;
        self.atom(piece, scope);
        let Some(quant) = piece.quant else { return };
        let (min, max) = (quant.min as usize, quant.max.map(|max| max as usize));
        // libpcre2 repeats the code of a group, but not that of a class.
        let copies = max.unwrap_or(min + 1).max(1);
        let copies = if matches!(piece.atom, Atom::Class { .. } | Atom::Dot) {
            copies.min(2)
        } else {
            copies
        };
        let once = self.cost - before + GROUP;
        self.cost = before.saturating_add(once.saturating_mul(copies));
        self.push(&quantifier(quant, scope.swap_greed));
    }

    fn atom(&mut self, piece: &'a Piece, scope: Scope) {
        match &piece.atom {
            Atom::Bytes(bytes) => {
                let group = bytes.len() != 1 && piece.quant.is_some();
                self.push(if group { "(?:" } else { "" });
                for byte in bytes {
                    self.byte(*byte, scope);
                }
                self.push(if group { ")" } else { "" });
            }
            Atom::Class { set, negated } => {
                let set = if scope.caseless { set.fold() } else { *set };
                self.class(if *negated { set.complement() } else { set });
            }
            Atom::Dot if scope.dot_all => self.class(ByteSet::ALL),
            Atom::Dot => self.class(single(b'\n').complement()),
            Atom::Macro(name) => {
                let macros = self.macros;
                let Some(body) = macros.get(&name.text) else {
                    return;
                };
                self.scopes.push(Numbers::default());
                let outer = std::mem::replace(&mut self.current, self.scopes.len() - 1);
                let scope = scope.with(body.flags);
                self.push("(?:");
                for element in &body.elements {
                    self.group("(?:", &element.alt, scope);
                }
                self.push(")");
                self.current = outer;
            }
            Atom::Group { flags, alt } => self.group("(?:", alt, scope.with(*flags)),
            Atom::SetFlags(_) | Atom::Nothing => {}
            Atom::Special(special) => self.special(special, piece.span, scope),
        }
    }

    fn special(&mut self, special: &'a Special, span: Span, scope: Scope) {
        match special {
            Special::Capture { name, alt } => {
                self.captures += 1;
                let number = self.captures;
                let scope_of = &mut self.scopes[self.current];
                scope_of.numbers.push(number);
                if let Some(name) = name {
                    if scope_of.names.insert(name.clone(), number).is_some() {
                        let message = format!("a second group is named `{name}`");
                        let help =
                            "give it another name; a reference is to one group, as in libpcre2";
                        let wrong = Diagnostic::new(Code::E0309, span, message);
                        self.wrong.push(wrong.help(help));
                    }
                    self.names.entry(name).or_default().push(number);
                }
                self.group("(", alt, scope);
            }
            Special::Look {
                behind,
                negative,
                alt,
            } => {
                if *behind && let Err(at) = width::check(alt, self.macros) {
                    let message = "a look-behind looks back by a fixed number of bytes";
                    let help = "repeat with counts such as `{2}`; alternatives may differ in \
                                length only outside of groups: `(?<=\"a\"|\"bc\")`";
                    let wrong = Diagnostic::new(Code::E0309, at.unwrap_or(span), message);
                    self.wrong.push(wrong.help(help));
                }
                let open = match (behind, negative) {
                    (false, false) => "(?=",
                    (false, true) => "(?!",
                    (true, false) => "(?<=",
                    (true, true) => "(?<!",
                };
                self.group(open, alt, scope);
            }
            Special::Atomic { alt, .. } => self.group("(?>", alt, scope),
            Special::LineEnds => {
                self.push("(?>\\r\\n|");
                self.class(line_ends());
                self.push(")");
                self.cost += GROUP + OTHER;
            }
            Special::Reference(to) => {
                self.references.push(Pending {
                    to,
                    scope: self.current,
                    span,
                    caseless: scope.caseless,
                });
                self.out.push(String::new());
                self.cost += GROUP + OTHER;
            }
            // `^`, `$` and `\Z` of libpcre2 10.42 do not report a partial match where only more text
            // can tell whether they hold; `\z` does.
            Special::Assertion(assertion) => {
                self.cost += 3 * GROUP;
                self.push(match assertion {
                    // As in Perl, no line starts behind a line feed at the end.
                    Assertion::LineStart if scope.multiline => "(?:\\A|(?<=\\n)(?!\\z))",
                    Assertion::LineStart | Assertion::Start => "\\A",
                    Assertion::LineEnd if scope.multiline => "(?=\\n|\\z)",
                    Assertion::LineEnd | Assertion::EndOrLineEnd => "(?=\\n?\\z)",
                    Assertion::End => "\\z",
                    Assertion::Boundary => "\\b",
                    Assertion::NoBoundary => "\\B",
                });
            }
        }
    }

    fn group(&mut self, open: &str, alt: &'a Alt, scope: Scope) {
        self.push(open);
        self.cost += GROUP;
        self.alt(alt, scope);
        self.push(")");
    }

    fn byte(&mut self, byte: u8, scope: Scope) {
        if scope.caseless && byte.is_ascii_alphabetic() {
            self.class(single(byte).fold());
        } else {
            self.cost += 2;
            self.push(&spelt(byte));
        }
    }

    /// A class of all bytes is written as a class, too: libpcre2 10.42 takes `(?s).{2}` in one step,
    /// and reports no match instead of a partial match if the text ends within it.
    fn class(&mut self, set: ByteSet) {
        self.cost += CLASS;
        if set == ByteSet::EMPTY {
            return self.push("(?!)");
        }
        let mut text = String::from("[");
        let mut bytes = set.iter().peekable();
        while let Some(low) = bytes.next() {
            let mut high = low;
            while let Some(next) = bytes.next_if(|next| Some(*next) == high.checked_add(1)) {
                high = next;
            }
            text.push_str(&spelt(low));
            if high > low {
                text.push('-');
                text.push_str(&spelt(high));
            }
        }
        text.push(']');
        self.push(&text);
    }

    /// The text with the numbers of all references.
    fn joined(&mut self) -> String {
        let mut pieces = std::mem::take(&mut self.out).into_iter();
        let mut text = pieces.next().unwrap_or_default();
        for (pending, behind) in std::mem::take(&mut self.references).iter().zip(pieces) {
            let number = match self.resolve(pending) {
                Ok(number) => number,
                Err(wrong) => {
                    self.wrong.push(wrong);
                    1
                }
            };
            let _ = match pending.caseless {
                true => write!(text, "(?i:\\g{{{number}}})"),
                false => write!(text, "\\g{{{number}}}"),
            };
            text.push_str(&behind);
        }
        text
    }

    fn resolve(&self, pending: &Pending) -> Result<u32, Diagnostic> {
        let scope = &self.scopes[pending.scope];
        let wrong = |message: String, help: &str| {
            Err(Diagnostic::new(Code::E0309, pending.span, message).help(help))
        };
        match pending.to {
            Reference::Number(n) => match scope.numbers.get((*n as usize).wrapping_sub(1)) {
                Some(number) => Ok(*number),
                None => wrong(
                    format!("there is no group {n}"),
                    "groups are `( )` and `(?<name> )`, counted in the pattern or macro in which \
                     the reference stands; elements without parentheses are not counted",
                ),
            },
            Reference::Name(name) => match scope.names.get(name) {
                Some(number) => Ok(*number),
                None => match self.names.get(name.as_str()).map(Vec::as_slice) {
                    Some([number]) => Ok(*number),
                    Some(_) => wrong(
                        format!("several groups are named `{name}`"),
                        "a macro that is used twice has its groups twice: write the reference in \
                         the macro",
                    ),
                    None => wrong(
                        format!("there is no group named `{name}`"),
                        "name it: `(?<name> )`",
                    ),
                },
            },
        }
    }
}

/// How deep the parentheses of a text are nested; [`spelt`] writes none.
fn depth(text: &str) -> usize {
    let (mut now, mut deepest) = (0usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' => now += 1,
            b')' => now = now.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(now);
    }
    deepest
}

/// A byte outside or inside of a class.
fn spelt(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() {
        char::from(byte).to_string()
    } else {
        format!("\\x{byte:02x}")
    }
}

fn quantifier(quant: Quant, swapped: bool) -> String {
    let mut text = match (quant.min, quant.max) {
        (0, None) => "*".to_string(),
        (1, None) => "+".to_string(),
        (0, Some(1)) => "?".to_string(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) if min == max => format!("{{{min}}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    };
    if quant.greedy == swapped {
        text.push('?');
    }
    text
}

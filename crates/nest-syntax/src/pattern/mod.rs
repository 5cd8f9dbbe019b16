//! Parses patterns: elements, alternatives, pieces, quantifiers.
//!
//! The dialect is that of PCRE2 (10.42, bytes). A construct that `pcre2pattern(3)` defines either
//! has the same meaning here or is refused with a fix. The exceptions belong to nest's own syntax:
//! strings, `{NAME}`, blanks between elements, and `{` at the beginning of an action. Must not know
//! automata, the effects of flags, or the texts of macros.

mod class;
mod escape;
mod group;
mod literal;
mod parser;
mod quant;
mod special;
mod word;

use nest_diag::{Code, Span};

use crate::ast::{Alt, Assertion, Atom, ByteSet, Element, Flags, Pattern, Piece, Special};
use crate::lookahead;
use crate::names::Names;
use crate::reader::{Reader, is_blank, is_ident_start};
use escape::Escape;
pub(crate) use parser::Abort;
use parser::Parser;

/// The end of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The reader is at the `{` of the action.
    Action,
    /// The end of the text, or the start of something that is not a pattern.
    Other,
}

/// Parses a rule's pattern, up to its action.
pub(crate) fn rule(r: &mut Reader, names: &Names) -> Result<(Pattern, Ending), Abort> {
    Parser::new(r, names, true).pattern()
}

/// Parses a macro's pattern, which is the whole range of the reader.
pub(crate) fn whole(r: &mut Reader, names: &Names) -> Result<Pattern, Abort> {
    Parser::new(r, names, false)
        .pattern()
        .map(|(pattern, _)| pattern)
}

/// A placeholder for a pattern with an error, so that no further errors follow from it.
pub(crate) fn stand_in(r: &Reader) -> Pattern {
    let span = r.span(r.at, r.end);
    Pattern {
        flags: Flags::default(),
        elements: vec![some_byte(span)],
        span,
        now: None,
    }
}

fn some_byte(span: Span) -> Element {
    let atom = Atom::Class {
        set: ByteSet::ALL,
        negated: false,
    };
    Element {
        alt: Alt {
            branches: vec![vec![Piece {
                atom,
                quant: None,
                span,
            }]],
        },
        span,
    }
}

impl<'r, 'a> Parser<'r, 'a> {
    fn new(r: &'r mut Reader<'a>, names: &'r Names, in_rule: bool) -> Self {
        let at = r.at;
        Parser {
            r,
            names,
            in_rule,
            depth: 0,
            groups: 0,
            leading: in_rule,
            anchors: 0,
            letters_end: 0,
            element: at,
        }
    }

    fn pattern(mut self) -> Result<(Pattern, Ending), Abort> {
        self.r.gap(false);
        let start = self.r.at;
        let said = self.r.diags.len();
        let mut end = start;
        let mut pattern = Pattern {
            flags: Flags::default(),
            elements: Vec::new(),
            span: self.r.span(start, end),
            now: None,
        };
        let ending = loop {
            if self.r.at >= self.r.end {
                break Ending::Other;
            }
            let brace = self.in_rule && self.r.peek() == Some(b'{') && !self.macro_use_here();
            if brace && !self.stray_count() {
                break Ending::Action;
            }
            let now =
                lookahead::now(self.r).filter(|_| self.in_rule && !pattern.elements.is_empty());
            if let Some(end) = now {
                pattern.now = Some(self.r.span(self.r.at, end));
                self.r.at = end;
            } else if !brace {
                self.element(&mut pattern)?;
            }
            end = self.r.at;
            let newline = self.r.gap(false);
            if self.in_rule && newline && lookahead::rule_starts(self.r, self.names) {
                break Ending::Other;
            }
        };
        pattern.span = self.r.span(start, end);
        if pattern.elements.is_empty() && end > start && self.r.diags.len() == said {
            self.r.report(
                Code::E0207,
                start,
                end,
                "the pattern contains nothing to match",
                "write a pattern after the flags",
            );
            return Err(Abort);
        }
        Ok((pattern, ending))
    }

    /// Parses one element, or the flags of the whole pattern.
    fn element(&mut self, pattern: &mut Pattern) -> Result<(), Abort> {
        let said = self.r.diags.len();
        let first = pattern.elements.is_empty();
        if first && self.in_rule {
            self.lex_habit()?;
        }
        let start = self.r.at;
        self.element = start;
        let alt = match self.bare_word()? {
            Some(piece) => Alt {
                branches: vec![vec![piece]],
            },
            None => self.alt()?,
        };
        let end = self.r.at;
        if let [branch] = alt.branches.as_slice() {
            match branch.as_slice() {
                // After an error it is still a part, so that the numbers of the others are right.
                [] if self.r.diags.len() > said => {
                    pattern.elements.push(some_byte(self.r.span(start, end)));
                    return Ok(());
                }
                [] => return Ok(()),
                [
                    Piece {
                        atom: Atom::SetFlags(set),
                        ..
                    },
                ] => {
                    if first || self.r.diags.len() == said {
                        self.lone_flags(start, first, *set, &mut pattern.flags);
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        if alt.branches.iter().any(Vec::is_empty) && self.r.diags.len() == said {
            self.r.report(
                Code::E0309,
                start,
                end,
                "an alternative is empty",
                "alternatives stand without blanks around `|`, or in `( )`, where blanks do not \
                 count and an alternative may be empty",
            );
        }
        pattern.elements.push(Element {
            alt,
            span: self.r.span(start, end),
        });
        Ok(())
    }

    /// Flags alone. As the first element they apply to the whole pattern; elsewhere they have no
    /// effect.
    fn lone_flags(&mut self, start: usize, first: bool, set: Flags, flags: &mut Flags) {
        if first {
            flags.caseless = set.caseless.or(flags.caseless);
            flags.dot_all = set.dot_all.or(flags.dot_all);
            flags.swap_greed = set.swap_greed.or(flags.swap_greed);
            flags.multiline = set.multiline.or(flags.multiline);
        } else {
            let end = self.r.at;
            self.r.report(
                Code::E0309,
                start,
                end,
                "flags in a separate element apply to nothing",
                "write them first, for the whole pattern, or `(?i: )` around a part of it",
            );
        }
    }

    /// All branches of a group or an element.
    fn alt(&mut self) -> Result<Alt, Abort> {
        let before = self.leading;
        let mut after = true;
        let mut branches = Vec::new();
        loop {
            self.leading = before;
            branches.push(self.branch()?);
            after &= self.leading;
            if self.r.peek() != Some(b'|') {
                self.leading = after;
                return Ok(Alt { branches });
            }
            self.r.at += 1;
        }
    }

    fn branch(&mut self) -> Result<Vec<Piece>, Abort> {
        let mut pieces = Vec::new();
        loop {
            if self.depth > 0 {
                let newline = self.r.gap(false);
                if self.in_rule && newline && lookahead::rule_starts(self.r, self.names) {
                    return Ok(pieces);
                }
            }
            let Some(byte) = self.r.peek() else {
                return Ok(pieces);
            };
            match byte {
                b'|' => return Ok(pieces),
                b')' if self.depth > 0 => return Ok(pieces),
                b'{' if !self.macro_use_here() => {
                    if self.stray_count() {
                        continue;
                    }
                    if self.in_rule {
                        return Ok(pieces);
                    }
                    self.refuse_brace();
                    continue;
                }
                _ if self.depth == 0 && is_blank(byte) => return Ok(pieces),
                _ => {}
            }
            let start = self.r.at;
            let anchors = self.anchors;
            let Some(atom) = self.atom(byte, !pieces.is_empty())? else {
                continue;
            };
            let (quant, possessive) = self.quantifier()?;
            let end = self.r.at;
            match atom {
                Atom::Nothing
                | Atom::SetFlags(_)
                | Atom::Special(Special::Look { .. } | Special::Assertion(_))
                    if quant.is_some() =>
                {
                    self.r.report(
                        Code::E0303,
                        start,
                        end,
                        "the quantifier has nothing to repeat",
                        "leave it off",
                    );
                }
                Atom::Group { .. } | Atom::Special(Special::Capture { .. })
                    if self.anchors > anchors
                        && quant.is_some_and(|q| q.max.is_none_or(|m| m > 1)) =>
                {
                    self.anchor(start, end, "a repeated group");
                }
                _ => {}
            }
            if atom.inner().is_none() && !special::stays(&atom) {
                self.leading = false;
            }
            let piece = Piece {
                atom,
                quant,
                span: self.r.span(start, end),
            };
            pieces.push(if possessive {
                special::possessive(piece)
            } else {
                piece
            });
        }
    }

    /// Parses one atom. Returns `None` after an error, or if it has no effect.
    fn atom(&mut self, byte: u8, inner: bool) -> Result<Option<Atom>, Abort> {
        let start = self.r.at;
        if byte >= 0x80 {
            self.wide_characters();
            return Ok(None);
        }
        self.r.at += 1;
        let message = match byte {
            b'"' => return self.string(start).map(|bytes| Some(Atom::Bytes(bytes))),
            b'[' => return self.class(start),
            b'(' => return self.group(start),
            b'\\' => return self.escape_atom(start),
            b'.' => return Ok(Some(Atom::Dot)),
            b'^' => return Ok(self.leading_anchor(start, Assertion::LineStart)),
            b'{' => return self.macro_use(start),
            b'$' => {
                if self.r.peek().is_some_and(is_ident_start) && self.depth == 0 {
                    let end = self.r.ident_end(start + 1);
                    let word = self.r.text(start, end);
                    self.r.report(
                        Code::E0205,
                        start,
                        end,
                        format!("`{word}` appears in a pattern"),
                        "write the action in `{ }`",
                    );
                    return Err(Abort);
                }
                return Ok(self.assertion(start, Assertion::LineEnd));
            }
            b'*' | b'+' | b'?' => {
                self.eat_bytes(b"*+?");
                let end = self.r.at;
                self.r.report(
                    Code::E0303,
                    start,
                    end,
                    "the quantifier has nothing to repeat",
                    "write it directly after what it repeats; quote it to match text",
                );
                return Ok(None);
            }
            b')' => "this parenthesis closes nothing",
            b'}' => "this brace closes nothing",
            b'/' if inner && self.depth == 0 && !self.element_ends() => {
                self.r.report(
                    Code::E0210,
                    start,
                    start + 1,
                    "`/` is Lex syntax for trailing context",
                    "let the next rule match what follows; quote it to match a slash: \"/\"",
                );
                return Ok(None);
            }
            _ => return Ok(Some(self.character(start, byte))),
        };
        let found = char::from(byte);
        self.r.report(
            Code::E0313,
            start,
            start + 1,
            message,
            format!("quote it to match text: \"{found}\""),
        );
        Ok(None)
    }

    /// Whether a top-level element ends here.
    fn element_ends(&self) -> bool {
        match self.r.peek() {
            None | Some(b'|') => true,
            Some(b'{') => !self.macro_use_here(),
            Some(byte) => is_blank(byte),
        }
    }

    fn eat_bytes(&mut self, any: &[u8]) {
        while self.r.peek().is_some_and(|b| any.contains(&b)) {
            self.r.at += 1;
        }
    }

    fn refuse_brace(&mut self) {
        let start = self.r.at;
        self.r.at += 1;
        self.r.report(
            Code::E0313,
            start,
            start + 1,
            "a macro has no action",
            "quote the brace to match text: \"{\"",
        );
    }

    /// `^` or `\A`, which ends here.
    fn leading_anchor(&mut self, start: usize, assertion: Assertion) -> Option<Atom> {
        if self.leading {
            self.anchors += 1;
            return Some(Atom::Nothing);
        }
        self.assertion(start, assertion)
    }

    fn anchor(&mut self, start: usize, end: usize, what: &str) {
        let text = self.r.text(start, end);
        let (message, fix) = match text {
            "^" | "\\A" if !self.in_rule => (
                format!("{what} is an assertion, which a macro cannot contain"),
                "remove it: a match always starts at the first unread byte",
            ),
            "$" | "\\Z" | "\\z" => (
                format!("{what} depends on text outside the match"),
                "match the line end itself: write \"\\r\\n\", or a macro for it",
            ),
            "\\b" | "\\B" | "[[:<:]]" | "[[:>:]]" => (
                format!("{what} depends on text outside the match"),
                "write the byte that follows",
            ),
            _ => (
                format!("{what} is an assertion inside the match"),
                "remove it: a match always starts at the first unread byte",
            ),
        };
        // The others stay errors with the option.
        let fix = match text {
            "^" | "\\A" | "$" | "\\Z" | "\\z" | "\\b" | "\\B" if !self.names.backtracking => {
                format!("{fix}{}", special::OTHER)
            }
            _ => fix.to_string(),
        };
        self.r.report(Code::E0307, start, end, message, fix);
    }

    /// Characters outside of ASCII, outside of a string.
    fn wide_characters(&mut self) {
        let start = self.r.at;
        while self.r.peek().is_some_and(|b| b >= 0x80) {
            self.r.at += 1;
        }
        let end = self.r.at;
        let text = self.r.text(start, end).to_owned();
        self.wide(start, end, &text);
    }

    fn wide(&mut self, start: usize, end: usize, text: &str) {
        self.r.report(
            Code::E0312,
            start,
            end,
            format!("`{text}` is more than one byte"),
            format!("write the string \"{text}\", or its bytes as `\\xhh`"),
        );
    }

    fn escape_atom(&mut self, start: usize) -> Result<Option<Atom>, Abort> {
        Ok(match self.escape(start, false)? {
            Escape::Byte(byte) => Some(Atom::Bytes(vec![byte])),
            Escape::Set(set, negated) => Some(Atom::Class { set, negated }),
            Escape::Any => Some(Atom::Class {
                set: ByteSet::ALL,
                negated: false,
            }),
            Escape::Start => self.leading_anchor(start, Assertion::Start),
            Escape::Special(special) => Some(Atom::Special(special)),
            Escape::Quote => self.quoted(start)?,
            Escape::Nothing => None,
        })
    }
}

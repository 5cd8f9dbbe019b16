//! Patterns: elements, alternatives, pieces, quantifiers.
//!
//! The dialect is PCRE2's (10.42, bytes): what `pcre2pattern(3)` defines is taken into the tree with
//! the same meaning or refused with its fix; nothing means a third thing. The exceptions are the
//! language's own: strings, `{NAME}`, blanks between elements, `{` that opens an action.
//! Must not know automata, flags' effects, what a macro holds.

mod class;
mod escape;
mod group;
mod literal;

use nest_diag::Code;

use crate::ast::{Alt, Atom, ByteSet, Element, Flags, Pattern, Piece, Quant};
use crate::lookahead;
use crate::names::{Kind, Names};
use crate::reader::{Reader, is_blank, is_ident, is_ident_start};
use escape::Escape;

/// Groups may nest this deep, as in PCRE2.
const DEEPEST: usize = 250;
/// The largest count, as in PCRE2.
const LARGEST: u32 = 65535;

/// The rest of the pattern cannot be understood; the reason is reported.
pub(crate) struct Abort;

/// What ended a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The reader stands on the `{` of the action.
    Action,
    /// The end of the text, or the start of something that is no pattern.
    Other,
}

/// Reads a rule's pattern, up to its action.
pub(crate) fn rule(r: &mut Reader, names: &Names) -> Result<(Pattern, Ending), Abort> {
    Parser::new(r, names, true).pattern()
}

/// Reads a macro's pattern, which is all of the reader's range.
pub(crate) fn whole(r: &mut Reader, names: &Names) -> Result<Pattern, Abort> {
    Parser::new(r, names, false)
        .pattern()
        .map(|(pattern, _)| pattern)
}

struct Parser<'r, 'a> {
    r: &'r mut Reader<'a>,
    names: &'r Names,
    in_rule: bool,
    /// Open groups.
    depth: usize,
    /// Plain `( )` groups so far: PCRE2 reads `\12` by their number.
    groups: u32,
    /// Nothing that can match stands before here: `^` says nothing.
    leading: bool,
    /// How many `^` and `\A` said nothing so far.
    anchors: u32,
    /// Up to here the letters have been looked at.
    letters_end: usize,
    /// Where the element being read starts.
    element: usize,
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
        };
        let ending = loop {
            if self.r.at >= self.r.end {
                break Ending::Other;
            }
            let brace = self.in_rule && self.r.peek() == Some(b'{') && !self.macro_use_here();
            if brace && !self.stray_count() {
                break Ending::Action;
            }
            if !brace {
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
                "the pattern holds nothing to match",
                "write what is to be matched behind the flags",
            );
            return Err(Abort);
        }
        Ok((pattern, ending))
    }

    /// One element, or the flags of the whole pattern.
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
                [] => return Ok(()),
                [
                    Piece {
                        atom: Atom::SetFlags(set),
                        ..
                    },
                ] => {
                    self.lone_flags(start, first, *set, &mut pattern.flags);
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

    /// Flags alone: for the whole pattern as its first element, for nothing elsewhere.
    fn lone_flags(&mut self, start: usize, first: bool, set: Flags, flags: &mut Flags) {
        if first {
            flags.caseless = set.caseless.or(flags.caseless);
            flags.dot_all = set.dot_all.or(flags.dot_all);
            flags.swap_greed = set.swap_greed.or(flags.swap_greed);
        } else {
            let end = self.r.at;
            self.r.report(
                Code::E0309,
                start,
                end,
                "flags as an element of their own hold for nothing",
                "write them first, for the whole pattern, or `(?i: )` around what they are for",
            );
        }
    }

    /// What users of Lex write at the start of a rule.
    fn lex_habit(&mut self) -> Result<(), Abort> {
        let start = self.r.at;
        if self.r.looking_at("<<EOF>>") {
            self.r.at += "<<EOF>>".len();
            let end = self.r.at;
            self.r.report(
                Code::E0210,
                start,
                end,
                "`<<EOF>>` is Lex's; a rule matches bytes",
                "write what is to be done when the client has gone in the END rule",
            );
            return Err(Abort);
        }
        if !self.r.looking_at("<") {
            return Ok(());
        }
        let mut at = start + 1;
        let mut states = false;
        loop {
            let end = if self.r.bytes[..self.r.end].get(at) == Some(&b'*') {
                at + 1
            } else {
                self.r.ident_end(at)
            };
            let word = self.r.text(at, end);
            states |= matches!(word, "*" | "INITIAL")
                || self.names.kind(word) == Some(Kind::State)
                || (!word.is_empty() && !word.bytes().any(|b| b.is_ascii_lowercase()));
            match self.r.bytes[..self.r.end].get(end) {
                Some(b',') if end > at => at = end + 1,
                Some(b'>') if end > at && states => {
                    let list = self.r.text(start + 1, end).replace(',', " || ");
                    self.r.at = end + 1;
                    self.r.report(
                        Code::E0210,
                        start,
                        end + 1,
                        "a start condition is written as in Lex",
                        format!("write `{list}:` in front of the pattern"),
                    );
                    return Ok(());
                }
                _ => return Ok(()),
            }
        }
    }

    /// An element that is one identifier, with at most a quantifier.
    fn bare_word(&mut self) -> Result<Option<Piece>, Abort> {
        let start = self.r.at;
        let end = self.r.ident_end(start);
        if end == start {
            return Ok(None);
        }
        let word = self.r.text(start, end);
        let kind = self.names.kind(word);
        let next = self.r.bytes[..self.r.end].get(end).copied();
        if kind == Some(Kind::State)
            && matches!(
                next,
                None | Some(b':' | b'&' | b'|' | b' ' | b'\t' | b'\r' | b'\n' | b'{')
            )
        {
            self.r.at = end;
            self.r.report(
                Code::E0205,
                start,
                end,
                format!("the state `{word}` stands in a pattern"),
                "if a new rule starts here, the rule above has no action: write `{ }` behind its \
                 pattern; if text is meant, quote it",
            );
            return Err(Abort);
        }
        self.r.at = end;
        let diags = self.r.diags.len();
        let quant = self.quantifier()?;
        let complete = match self.r.peek() {
            None => true,
            Some(b'{') => !self.macro_use_here(),
            Some(byte) => is_blank(byte),
        };
        if !complete {
            self.r.diags.truncate(diags);
            self.r.at = start;
            return Ok(None);
        }
        self.leading = false;
        match kind {
            Some(Kind::Pattern) => {}
            Some(Kind::Condition) => self.condition_macro(start, end),
            _ => {
                let help = self
                    .names
                    .suggest(word, |kind| kind == Kind::Pattern)
                    .map_or(String::new(), |meant| format!("{meant} "));
                self.r.report(
                    Code::E0301,
                    start,
                    end,
                    format!("`{word}` is no macro"),
                    format!("{help}quote it if text is meant: \"{word}\""),
                );
            }
        }
        let atom = Atom::Macro(self.r.name(start, end));
        Ok(Some(Piece {
            atom,
            quant,
            span: self.r.span(start, self.r.at),
        }))
    }

    fn condition_macro(&mut self, start: usize, end: usize) {
        let word = self.r.text(start, end);
        self.r.report(
            Code::E0314,
            start,
            end,
            format!("`{word}` is a condition macro and cannot stand in a pattern"),
            "a condition stands in front of the pattern, with a `:` between them",
        );
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
            let quant = self.quantifier()?;
            let end = self.r.at;
            match atom {
                Atom::Nothing | Atom::SetFlags(_) if quant.is_some() => self.r.report(
                    Code::E0303,
                    start,
                    end,
                    "the quantifier has nothing to repeat",
                    "leave it off",
                ),
                Atom::Group { .. }
                    if self.anchors > anchors
                        && quant.is_some_and(|q| q.max.is_none_or(|m| m > 1)) =>
                {
                    self.anchor(start, end, "a repeated group");
                }
                _ => {}
            }
            if !matches!(atom, Atom::Nothing | Atom::SetFlags(_) | Atom::Group { .. }) {
                self.leading = false;
            }
            pieces.push(Piece {
                atom,
                quant,
                span: self.r.span(start, end),
            });
        }
    }

    /// One atom; none if what stood here was reported, or says nothing at all.
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
            b'^' => return Ok(self.leading_anchor(start)),
            b'{' => return self.macro_use(start),
            b'$' => {
                if self.r.peek().is_some_and(is_ident_start) && self.depth == 0 {
                    let end = self.r.ident_end(start + 1);
                    let word = self.r.text(start, end);
                    self.r.report(
                        Code::E0205,
                        start,
                        end,
                        format!("`{word}` stands in a pattern"),
                        "an action stands in `{ }`",
                    );
                    return Err(Abort);
                }
                self.anchor(start, start + 1, "`$`");
                return Ok(None);
            }
            b'*' | b'+' | b'?' => {
                self.eat_bytes(b"*+?");
                let end = self.r.at;
                self.r.report(
                    Code::E0303,
                    start,
                    end,
                    "the quantifier has nothing to repeat",
                    "write it directly behind what it repeats; quote it if text is meant",
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
                    "`/` is Lex's trailing context",
                    "leave it to the next rule; quote it if a slash is meant: \"/\"",
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
            format!("quote it if text is meant: \"{found}\""),
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

    /// A character for itself, unless the word that starts with it is a macro's name.
    fn character(&mut self, start: usize, byte: u8) -> Atom {
        if is_ident(byte) && start >= self.letters_end && is_ident_start(byte) {
            let end = self.r.ident_end(start);
            let word = self.r.text(start, end);
            self.letters_end = end;
            match self.names.kind(word) {
                Some(Kind::Pattern) => {
                    self.r.at = end;
                    self.r.report(
                        Code::E0302,
                        start,
                        end,
                        format!("the macro `{word}` stands inside a longer element"),
                        format!("write `{{{word}}}`; quote it if text is meant: \"{word}\""),
                    );
                    return Atom::Macro(self.r.name(start, end));
                }
                Some(Kind::Condition) if start == self.element => {
                    self.condition_macro(start, end);
                }
                _ if word
                    .as_bytes()
                    .windows(2)
                    .any(|w| w.iter().all(u8::is_ascii_alphabetic)) =>
                {
                    self.r.report(
                        Code::W0301,
                        start,
                        end,
                        format!("`{word}` stands outside quotes"),
                        format!("write \"{word}\" if text is meant"),
                    );
                }
                _ => {}
            }
        }
        Atom::Bytes(vec![byte])
    }

    /// `{NAME}`: the parser stands behind its `{`.
    fn macro_use(&mut self, start: usize) -> Result<Option<Atom>, Abort> {
        let end = self.r.ident_end(start + 1);
        let name = self.r.name(start + 1, end);
        self.r.at = end + 1;
        match self.names.kind(&name.text) {
            Some(Kind::Pattern) => {}
            Some(Kind::Condition) => self.condition_macro(start + 1, end),
            Some(Kind::State) => self.r.report(
                Code::E0205,
                start + 1,
                end,
                format!("the state `{}` stands in a pattern", name.text),
                "a state stands in the condition in front of the pattern",
            ),
            None => {
                let help = self
                    .names
                    .suggest(&name.text, |kind| kind == Kind::Pattern)
                    .unwrap_or_else(|| {
                        format!(
                            "declare it: `{} pattern`; an action ends its statement with `;`",
                            name.text
                        )
                    });
                self.r.report(
                    Code::E0203,
                    start + 1,
                    end,
                    format!("the macro `{}` is not declared", name.text),
                    help,
                );
            }
        }
        Ok(Some(Atom::Macro(name)))
    }

    /// Whether `{NAME}` stands here.
    fn macro_use_here(&self) -> bool {
        let start = self.r.at + 1;
        let end = self.r.ident_end(start);
        self.r.peek() == Some(b'{')
            && end > start
            && self.r.bytes[..self.r.end].get(end) == Some(&b'}')
    }

    /// A count that follows nothing: no C starts like that, so it is no action either.
    fn stray_count(&mut self) -> bool {
        let start = self.r.at;
        if self.r.peek() != Some(b'{') {
            return false;
        }
        let inside = self.r.bytes[start + 1..self.r.end]
            .iter()
            .position(|b| !(b.is_ascii_digit() || *b == b','))
            .map_or(self.r.end, |n| start + 1 + n);
        if inside == start + 1 || inside == self.r.end || self.r.bytes[inside] != b'}' {
            return false;
        }
        self.r.at = inside + 1;
        self.r.report(
            Code::E0303,
            start,
            inside + 1,
            "the count has nothing to repeat",
            "write it directly behind what it repeats",
        );
        true
    }

    fn refuse_brace(&mut self) {
        let start = self.r.at;
        self.r.at += 1;
        self.r.report(
            Code::E0313,
            start,
            start + 1,
            "a macro has no action",
            "quote the brace if text is meant: \"{\"",
        );
    }

    /// The quantifier here, if there is one.
    fn quantifier(&mut self) -> Result<Option<Quant>, Abort> {
        self.blanks_before(|r| {
            matches!(r.peek(), Some(b'*' | b'+' | b'?'))
                || (r.peek() == Some(b'{') && digit_follows(r))
        });
        let start = self.r.at;
        let bounds = match self.r.peek() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') if digit_follows(self.r) => self.count(start)?,
            Some(b'{') if self.r.peek_at(1) == Some(b',') => return Ok(self.open_count(start)),
            _ => return Ok(None),
        };
        if self.r.at == start {
            self.r.at += 1;
        }
        self.blanks_before(|r| matches!(r.peek(), Some(b'+' | b'?')));
        let greedy = !self.r.eat("?");
        if greedy && self.r.peek() == Some(b'+') {
            self.r.at += 1;
            let end = self.r.at;
            self.r.report(
                Code::E0308,
                start,
                end,
                "a possessive quantifier needs backtracking",
                "leave off the `+`",
            );
        }
        let again = self.r.at;
        if self.r.peek() == Some(b'{') && digit_follows(self.r) {
            self.count(again)?;
        } else {
            self.eat_bytes(b"*+?");
        }
        if self.r.at > again {
            let end = self.r.at;
            self.r.report(
                Code::E0303,
                again,
                end,
                "a quantifier follows a quantifier",
                "put what is to be repeated into `( )`",
            );
        }
        Ok(Some(Quant {
            min: bounds.0,
            max: bounds.1,
            greedy,
        }))
    }

    /// Inside a group, skips blanks if `what` stands behind them.
    fn blanks_before(&mut self, what: impl Fn(&Reader) -> bool) {
        if self.depth == 0 {
            return;
        }
        let (at, said) = (self.r.at, self.r.diags.len());
        self.r.gap(false);
        if !what(self.r) {
            self.r.at = at;
            self.r.diags.truncate(said);
        }
    }

    /// `{2}`, `{2,}`, `{2,3}`.
    fn count(&mut self, start: usize) -> Result<(u32, Option<u32>), Abort> {
        self.r.at = start + 1;
        let min = self.digits();
        let max = match self.r.eat(",") {
            false => Some(min),
            true if self.r.peek().is_some_and(|b| b.is_ascii_digit()) => Some(self.digits()),
            true => None,
        };
        if !self.r.eat("}") {
            let end = self.r.at;
            self.r.report(
                Code::E0304,
                start,
                end,
                "the count is not one",
                "counts are `{2}`, `{2,}` and `{2,3}`, without blanks",
            );
            return Err(Abort);
        }
        let end = self.r.at;
        if min > LARGEST || max.is_some_and(|max| max > LARGEST) {
            let message = format!("the count is larger than {LARGEST}");
            self.r.report(
                Code::E0304,
                start,
                end,
                message,
                "leave off the bound: `{1,}`",
            );
            return Ok((0, None));
        }
        if max.is_some_and(|max| max < min) {
            let fix = format!("write `{{{},{min}}}`", max.unwrap_or(min));
            self.r.report(
                Code::E0304,
                start,
                end,
                "the count's bounds are out of order",
                fix,
            );
            return Ok((0, None));
        }
        Ok((min, max))
    }

    /// The number here, saturated.
    fn digits(&mut self) -> u32 {
        let mut value = 0u32;
        while let Some(digit) = self.r.peek().filter(u8::is_ascii_digit) {
            value = value
                .saturating_mul(10)
                .saturating_add(u32::from(digit - b'0'));
            self.r.at += 1;
        }
        value
    }

    /// `{,3}` is text in PCRE2, a count in Perl, and would open an action here.
    fn open_count(&mut self, start: usize) -> Option<Quant> {
        let mut end = start + 2;
        while end < self.r.end && self.r.bytes[end].is_ascii_digit() {
            end += 1;
        }
        if end == start + 2 || end == self.r.end || self.r.bytes[end] != b'}' {
            return None;
        }
        let fix = format!("write `{{0,{}}}`", self.r.text(start + 2, end));
        self.r.at = end + 1;
        self.r.report(
            Code::E0304,
            start,
            end + 1,
            "the count has no lower bound",
            fix,
        );
        Some(Quant {
            min: 0,
            max: None,
            greedy: true,
        })
    }

    /// `^` or `\A`, which ends here.
    fn leading_anchor(&mut self, start: usize) -> Option<Atom> {
        if self.leading {
            self.anchors += 1;
            return Some(Atom::Nothing);
        }
        let end = self.r.at;
        let what = format!("`{}`", self.r.text(start, end));
        self.anchor(start, end, &what);
        None
    }

    fn anchor(&mut self, start: usize, end: usize, what: &str) {
        let text = self.r.text(start, end);
        let (message, fix) = match text {
            "^" | "\\A" if !self.in_rule => (
                format!("{what} asserts a place, which a macro cannot"),
                "leave it off: a match always starts at the first unread byte",
            ),
            "$" | "\\Z" | "\\z" => (
                format!("{what} looks outside the match"),
                "write the line end that is to be matched: \"\\r\\n\", or a macro for it",
            ),
            "\\b" | "\\B" | "[[:<:]]" | "[[:>:]]" => (
                format!("{what} looks outside the match"),
                "write the byte that is to follow",
            ),
            _ => (
                format!("{what} asserts a place inside the match"),
                "leave it off: a match always starts at the first unread byte",
            ),
        };
        self.r.report(Code::E0307, start, end, message, fix);
    }

    /// Characters beyond ASCII outside a string.
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
            Escape::Start => self.leading_anchor(start),
            Escape::Quote => self.quoted(start)?,
            Escape::Nothing => None,
        })
    }
}

/// Whether the byte behind the next is a digit.
fn digit_follows(r: &Reader) -> bool {
    r.peek_at(1).is_some_and(|b| b.is_ascii_digit())
}

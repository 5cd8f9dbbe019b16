//! Parses conditions: Boolean expressions over states and condition macros.
//!
//! Must not know where a condition stands. The caller decides whether the text is a condition.

use nest_diag::Code;

use crate::ast::{Cond, Name};
use crate::names::{Kind, Names};
use crate::reader::{Reader, Source, is_ident_start, shown};

/// The deepest nesting of parentheses and negations.
pub(crate) const DEEPEST: usize = 250;

struct Parser<'r, 'a> {
    r: &'r mut Reader<'a>,
    /// `None`: check only the syntax.
    names: Option<&'r Names>,
    depth: usize,
}

/// Parses a condition. Returns `None` after an error, which is reported.
pub(crate) fn parse(r: &mut Reader, names: &Names) -> Option<Cond> {
    Parser {
        r,
        names: Some(names),
        depth: 0,
    }
    .or()
}

/// Parses the text `start..end` as a condition by its syntax alone, whatever its names stand for.
pub(crate) fn syntax(source: &Source, start: usize, end: usize) -> Option<Cond> {
    let mut r = Reader::new(source, start, end);
    r.gap(true);
    let cond = Parser {
        r: &mut r,
        names: None,
        depth: 0,
    }
    .or()?;
    (r.diags.is_empty() && r.at == r.end).then_some(cond)
}

/// All names of a condition, including those in `$LASTSEEN`.
pub(crate) fn names_of<'c>(cond: &'c Cond, all: &mut Vec<&'c Name>) {
    match cond {
        Cond::Or(parts) | Cond::And(parts) => parts.iter().for_each(|p| names_of(p, all)),
        Cond::Not(inner) => names_of(inner, all),
        Cond::LastSeen(name) | Cond::Name(name) => all.push(name),
    }
}

/// Whether the rule that starts here starts with a condition. Too many open parentheses count as a
/// condition, because a pattern may not open as many either.
pub(crate) fn starts_here(r: &Reader, names: &Names) -> bool {
    let mut at = r.after_blanks(r.at);
    let mut signs = 0;
    while at < r.end && matches!(r.bytes[at], b'(' | b'!') {
        at = r.after_blanks(at + 1);
        signs += 1;
        if signs > DEEPEST {
            return true;
        }
    }
    if r.bytes[at..r.end].starts_with(b"$LASTSEEN") {
        return true;
    }
    let end = r.ident_end(at);
    if end == at {
        return false;
    }
    match names.kind(r.text(at, end)) {
        Some(Kind::State | Kind::Condition) => true,
        Some(Kind::Pattern) => false,
        None => {
            let next = r.after_blanks(end);
            let rest = &r.bytes[next..r.end];
            rest.starts_with(b":") || rest.starts_with(b"&&") || rest.starts_with(b"||")
        }
    }
}

impl Parser<'_, '_> {
    fn or(&mut self) -> Option<Cond> {
        self.chain(b'|', "||", Self::and, Cond::Or)
    }

    fn and(&mut self) -> Option<Cond> {
        self.chain(b'&', "&&", Self::neg, Cond::And)
    }

    fn chain(
        &mut self,
        sign: u8,
        operator: &str,
        operand: fn(&mut Self) -> Option<Cond>,
        join: fn(Vec<Cond>) -> Cond,
    ) -> Option<Cond> {
        let mut parts = vec![operand(self)?];
        loop {
            self.r.gap(true);
            if self.r.eat(operator) {
                // An operand must follow.
            } else if self.r.peek() == Some(sign) || (sign == b'|' && self.r.peek() == Some(b',')) {
                let at = self.r.at;
                self.r.at += 1;
                let found = self.r.text(at, at + 1);
                self.r.report(
                    Code::E0204,
                    at,
                    at + 1,
                    format!("`{found}` is not a condition operator"),
                    format!("write `{operator}`"),
                );
            } else {
                break;
            }
            parts.push(operand(self)?);
        }
        if parts.len() == 1 {
            parts.pop()
        } else {
            Some(join(parts))
        }
    }

    fn neg(&mut self) -> Option<Cond> {
        self.r.gap(true);
        let start = self.r.at;
        let mut negations = 0;
        while self.r.peek() == Some(b'!') {
            negations += 1;
            self.r.at += 1;
            self.r.gap(true);
        }
        if self.depth + negations > DEEPEST {
            self.too_deep(start);
            return None;
        }
        self.depth += negations;
        let mut cond = self.primary()?;
        self.depth -= negations;
        for _ in 0..negations {
            cond = Cond::Not(Box::new(cond));
        }
        Some(cond)
    }

    fn primary(&mut self) -> Option<Cond> {
        let start = self.r.at;
        match self.r.peek() {
            Some(b'(') => self.parenthesised(),
            Some(b'$') => self.last_seen(),
            Some(byte) if is_ident_start(byte) => {
                let end = self.r.ident_end(start);
                let name = self.r.name(start, end);
                self.r.at = end;
                self.check(&name, true);
                Some(Cond::Name(name))
            }
            other => {
                let end = if other.is_some() {
                    self.r.char_end(start)
                } else {
                    start
                };
                let found = match other {
                    Some(_) => format!("`{}`", shown(self.r.text(start, end))),
                    None => "the end of the text".to_owned(),
                };
                self.r.report(
                    Code::E0204,
                    start,
                    end,
                    format!("a condition needs a state here, not {found}"),
                    "a condition consists of states, `&&`, `||`, `!`, `( )` and `$LASTSEEN(STATE)`",
                );
                None
            }
        }
    }

    fn parenthesised(&mut self) -> Option<Cond> {
        let start = self.r.at;
        if self.depth >= DEEPEST {
            self.too_deep(start);
            return None;
        }
        self.r.at += 1;
        self.depth += 1;
        let cond = self.or()?;
        self.depth -= 1;
        self.r.gap(true);
        if !self.r.eat(")") {
            self.r.report(
                Code::E0313,
                start,
                start + 1,
                "this parenthesis is not closed",
                "close it with `)` after the condition",
            );
        }
        Some(cond)
    }

    fn last_seen(&mut self) -> Option<Cond> {
        let start = self.r.at;
        let word = self.r.ident_end(start + 1);
        let open = self.r.after_blanks(word);
        let name = self.r.after_blanks((open + 1).min(self.r.end));
        let end = self.r.ident_end(name);
        let close = self.r.after_blanks(end);
        let bytes = &self.r.bytes[..self.r.end];
        let whole = bytes.get(open) == Some(&b'(') && end > name && bytes.get(close) == Some(&b')');
        if self.r.text(start, word) != "$LASTSEEN" || !whole {
            self.r.report(
                Code::E0204,
                start,
                word.max(start + 1),
                "this is not a condition",
                "the only directive that a condition may contain is `$LASTSEEN(STATE)`",
            );
            return None;
        }
        self.r.at = close + 1;
        let name = self.r.name(name, end);
        self.check(&name, false);
        Some(Cond::LastSeen(name))
    }

    /// Reports a name that is not allowed in a condition.
    fn check(&mut self, name: &Name, macros: bool) {
        let Some(names) = self.names else { return };
        let text = &name.text;
        let (start, end) = (name.span.start as usize, name.span.end as usize);
        match names.kind(text) {
            Some(Kind::State) => {}
            Some(Kind::Condition) if macros => {}
            Some(Kind::Condition) => self.r.report(
                Code::E0204,
                start,
                end,
                format!("`{text}` is a condition macro, not a state"),
                "`$LASTSEEN` takes one state",
            ),
            Some(Kind::Pattern) => self.r.report(
                Code::E0204,
                start,
                end,
                format!("`{text}` is a pattern macro and cannot stand in a condition"),
                "a condition consists of states; write the pattern after the `:`",
            ),
            None if matches!(text.as_str(), "END" | "TIMEOUT" | "OVERLOAD" | "NOW") => {
                self.r.report(
                    Code::E0204,
                    start,
                    end,
                    format!("`{text}` is not a state"),
                    format!(
                        "`{text}` cannot be tested; the states that need no declaration are \
                    START and DEFAULT"
                    ),
                )
            }
            None => {
                let fits = |kind| kind == Kind::State || (macros && kind == Kind::Condition);
                let help = names
                    .suggest(text, fits)
                    .unwrap_or_else(|| format!("declare it: `%state {text}`"));
                self.r.report(
                    Code::E0202,
                    start,
                    end,
                    format!("the state `{text}` is not declared"),
                    help,
                );
            }
        }
    }

    fn too_deep(&mut self, start: usize) {
        self.r.report(
            Code::E0008,
            start,
            start + 1,
            format!("the condition is nested deeper than {DEEPEST} levels"),
            "define a macro for a part of it",
        );
    }
}

//! Parses the rules section: per-connection declarations, rules, multistates.
//!
//! Must not know the content of a pattern or condition, nor where the file came from. Multistates
//! are a stack here; in the tree they are conditions of each rule.

mod locals;

use std::sync::Arc;

use nest_diag::{Code, Diagnostic, Span};

use crate::ast::{CText, Cond, Name, Rule, RuleKind};
use crate::csource::{self, Declarations, Unended};
use crate::names::{Kind, Names, RESERVED};
use crate::pattern::{self, Ending};
use crate::reader::{Reader, Source, is_blank, is_ident_start, shown};
use crate::{cond, delimit, lookahead};

/// The deepest nesting of multistates.
const DEEPEST: usize = 64;

/// The number of bytes of a string or class that are examined to tell rules from an action.
const LONGEST_TOKEN: usize = 400;

/// The content of the rules section of one file.
pub(crate) struct Section {
    pub locals: Vec<CText>,
    pub rules: Vec<Rule>,
    pub startup: Option<CText>,
    pub diags: Vec<Diagnostic>,
}

struct Multistate {
    /// `None` beyond the depth limit, or after an error.
    condition: Option<Arc<Cond>>,
    brace: usize,
}

struct Parser<'a> {
    r: Reader<'a>,
    names: &'a Names,
    declarations: Declarations,
    locals: Vec<CText>,
    rules: Vec<Rule>,
    open: Vec<Multistate>,
}

/// Parses the section that starts after the first `%%`, at `start`.
pub(crate) fn parse(source: &Source, start: usize, names: &Names) -> Section {
    let r = Reader::new(source, start, source.text.len());
    let mut parser = Parser {
        r,
        names,
        declarations: Declarations::default(),
        locals: Vec::new(),
        rules: Vec::new(),
        open: Vec::new(),
    };
    let startup = parser.section();
    Section {
        locals: parser.locals,
        rules: parser.rules,
        startup,
        diags: parser.r.diags,
    }
}

impl Parser<'_> {
    fn section(&mut self) -> Option<CText> {
        let mut declarations = true;
        let mut startup = None;
        while self.r.at < self.r.end {
            let newline = self.r.gap(true);
            let start = self.r.at;
            if start >= self.r.end {
                break;
            }
            if newline && self.r.looking_at("%%") {
                let end = self.third_divider(start).unwrap_or(self.r.end);
                startup = Some(self.r.c_text(start + 2, end));
                break;
            }
            if declarations && self.local() {
                continue;
            }
            // A preprocessor line is reported once; the declarations around it are still parsed.
            let among = self.r.bytes[start] == b'#' && declarations;
            declarations = self.misplaced();
            if !declarations {
                self.rule();
            }
            declarations &= among;
            if self.r.at == start {
                self.r.at = self.r.char_end(start);
            }
        }
        for open in std::mem::take(&mut self.open) {
            self.r.report(
                Code::E0003,
                open.brace,
                open.brace + 1,
                "this multistate is not closed",
                "close it with `}` after its last rule",
            );
        }
        startup
    }

    /// Reports a `%%` after the second one, which is at `second`.
    fn third_divider(&mut self, second: usize) -> Option<usize> {
        let at = csource::divider(&self.r.bytes[..self.r.end], second + 2)?;
        let found = Diagnostic::new(Code::E0004, self.r.span(at, at + 2), "a third `%%`")
            .label(self.r.span(second, second + 2), "the second is here")
            .help(
                "a specification has three sections: declarations, `%%`, rules, `%%`, C that runs \
                 at the start; all rules are between the first and the second `%%`",
            );
        self.r.diags.push(found);
        Some(at)
    }

    fn rule(&mut self) {
        let start = self.r.at;
        if self.r.peek() == Some(b'}') {
            self.r.at += 1;
            if self.open.pop().is_none() {
                self.r.report(
                    Code::E0313,
                    start,
                    start + 1,
                    "this brace closes nothing",
                    "remove it; an action ends at the brace that matches its first",
                );
            }
        } else if let Some(brace) = lookahead::special(&self.r) {
            self.special(start, brace);
        } else if lookahead::timeout(&self.r) {
            self.timeout(start, None);
        } else if !lookahead::taken_name(&self.r, self.names)
            && cond::starts_here(&self.r, self.names)
        {
            self.conditional(start);
        } else {
            self.body(start, None);
        }
    }

    /// START, END or OVERLOAD as a rule.
    fn special(&mut self, start: usize, brace: usize) {
        let end = self.r.ident_end(start);
        let kind = match self.r.text(start, end) {
            "START" => RuleKind::Start,
            "END" => RuleKind::End,
            _ => RuleKind::Overload,
        };
        let span = self.r.span(start, end);
        self.r.at = brace;
        let Some(action) = self.action() else { return };
        let conditions = self.conditions(None);
        self.rules.push(Rule {
            kind,
            conditions,
            name: None,
            action,
            span,
        });
    }

    /// `TIMEOUT(duration)` and its action. Does not check the duration.
    fn timeout(&mut self, start: usize, condition: Option<Arc<Cond>>) {
        let word = self.r.at;
        let open = self.r.after_blanks(self.r.ident_end(word));
        let rest = &self.r.bytes[open + 1..self.r.end];
        let Some(length) = rest
            .iter()
            .position(|b| matches!(b, b')' | b'{' | b'\n'))
            .filter(|n| rest[*n] == b')')
        else {
            self.r.report(
                Code::E0211,
                open,
                open + 1,
                "TIMEOUT's parenthesis is not closed on its line",
                "write `TIMEOUT(30s) { action }`",
            );
            self.skip_rule();
            return;
        };
        let inside = rest[..length].trim_ascii_start().len();
        let from = open + 1 + length - inside;
        let to = from + rest[..length].trim_ascii().len();
        let duration = self.r.name(from, to);
        self.r.at = open + 1 + length + 1;
        let span = self.r.span(start, self.r.at);
        let end = self.r.at;
        self.r.gap(true);
        if self.r.peek() != Some(b'{') {
            if self
                .r
                .peek()
                .is_some_and(|b| matches!(b, b':' | b'"' | b'['))
                && !self.r.bytes[end..self.r.at].contains(&b'\n')
            {
                let at = self.r.at;
                let what = "a TIMEOUT rule has no pattern";
                let help = "it runs when the client is silent; write its condition before it, as \
                            in `LOGIN: TIMEOUT(30s) { action }`";
                self.r.report(Code::E0211, at, at + 1, what, help);
                self.skip_rule();
                return;
            }
            self.no_action(span);
            return;
        }
        let Some(action) = self.action() else { return };
        let conditions = self.conditions(condition);
        self.rules.push(Rule {
            kind: RuleKind::Timeout(duration),
            conditions,
            name: None,
            action,
            span,
        });
    }

    /// A rule or multistate that starts with a condition.
    fn conditional(&mut self, start: usize) {
        let condition = match cond::parse(&mut self.r, self.names) {
            Some(condition) => Some(Arc::new(condition)),
            None if self.leave_condition() => None,
            None => return,
        };
        self.r.gap(true);
        if condition.is_some() && !matches!(self.r.peek(), Some(b':' | b'{')) && !self.colon() {
            return;
        }
        if self.r.eat(":") {
            self.r.gap(true);
        }
        if self.r.peek() == Some(b'{') && !self.brace_in_pattern() {
            self.multistate(start, condition);
            return;
        }
        if lookahead::timeout(&self.r) {
            self.timeout(start, condition);
        } else {
            self.body(start, condition);
        }
    }

    /// Reports that a condition has no proper end. Returns whether a pattern can still follow.
    fn colon(&mut self) -> bool {
        let at = self.r.at;
        let end = if at < self.r.end {
            self.r.char_end(at)
        } else {
            at
        };
        let found = match self.r.text(at, end) {
            "" => "the end of the text".to_owned(),
            text => format!("`{}`", shown(text)),
        };
        self.r.report(
            Code::E0204,
            at,
            end,
            format!("the condition ends with `:` or `{{`, not with {found}"),
            "write `condition: pattern { action }`, or `condition { rules }`",
        );
        self.r
            .peek()
            .is_some_and(|b| is_ident_start(b) || b"\"[(\\.^".contains(&b))
            || self.leave_condition()
    }

    /// After an error in a condition: continues at the `:` or `{` of its line. Returns whether
    /// there is one.
    fn leave_condition(&mut self) -> bool {
        let rest = &self.r.bytes[self.r.at..self.r.end];
        match rest
            .iter()
            .position(|b| matches!(b, b':' | b'{' | b'"' | b'\n'))
        {
            Some(n) if matches!(rest[n], b':' | b'{') => {
                self.r.at += n;
                true
            }
            _ => {
                self.skip_rule();
                false
            }
        }
    }

    /// Whether the `{` here begins a macro or a count.
    fn brace_in_pattern(&self) -> bool {
        let start = self.r.at + 1;
        let end = self.r.ident_end(start);
        (end > start && self.r.bytes[..self.r.end].get(end) == Some(&b'}'))
            || self.r.peek_at(1).is_some_and(|b| b.is_ascii_digit())
    }

    /// Opens the multistate whose `{` is here.
    fn multistate(&mut self, start: usize, condition: Option<Arc<Cond>>) {
        let brace = self.r.at;
        if self.is_action() {
            let end = start + self.r.bytes[start..brace].trim_ascii_end().len();
            self.r.report(
                Code::E0207,
                start,
                end,
                "the rule has no pattern",
                "write a pattern between the condition and the action",
            );
            self.action();
            return;
        }
        self.r.at += 1;
        let deep = self.open.len();
        if deep == DEEPEST {
            self.r.report(
                Code::E0008,
                brace,
                brace + 1,
                format!("multistates are nested deeper than {DEEPEST} levels"),
                "combine conditions with `&&`",
            );
        }
        self.open.push(Multistate {
            condition: condition.filter(|_| deep < DEEPEST),
            brace,
        });
    }

    /// Whether the block here contains C code and not rules: each rule has its own braces.
    fn is_action(&self) -> bool {
        let mut probe = Reader::new(self.r.source, self.r.at + 1, self.r.end);
        probe.gap(true);
        let first = probe.at;
        let dollar = usize::from(probe.peek() == Some(b'$'));
        let end = probe.ident_end(first + dollar);
        let word = self.r.text(first, end);
        // A rule or a macro may have the name of a statement.
        let named = lookahead::rule_name(&probe).is_some() || self.names.kind(word).is_some();
        if dollar > 0 || (csource::is_statement_word(word) && !named) {
            return word != "$LASTSEEN";
        }
        let mut statement = false;
        while let Some(byte) = probe.peek() {
            match byte {
                b'{' => return false,
                b'}' => return statement,
                byte if is_blank(byte) => {
                    probe.gap(false);
                }
                b'"' | b'[' | b'\\' => {
                    // A very long line must not be read again for each of its blocks.
                    let rest = &probe.bytes[probe.at..self.r.end.min(probe.at + LONGEST_TOKEN)];
                    let line = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                    probe.at += delimit::token_end(&rest[..line], 0);
                }
                byte => {
                    statement |= byte == b';';
                    probe.at += 1;
                }
            }
        }
        false
    }

    /// A pattern and its action, with an optional name.
    fn body(&mut self, start: usize, condition: Option<Arc<Cond>>) {
        let name = self.rule_name();
        let from = self.r.at;
        if let Some(name) = name.as_ref().filter(|_| lookahead::timeout(&self.r)) {
            self.r.diags.push(
                Diagnostic::new(Code::E0211, name.span, "a TIMEOUT rule has no name")
                    .help("traces and messages identify it by its line"),
            );
            self.timeout(start, condition);
            return;
        }
        let Ok((pattern, ending)) = pattern::rule(&mut self.r, self.names) else {
            self.skip_rule();
            return;
        };
        if pattern.elements.is_empty() && pattern.span.start == pattern.span.end {
            let end = (start + 1).max(from.min(self.r.end));
            let end = start + self.r.bytes[start..end].trim_ascii_end().len().max(1);
            self.r.report(
                Code::E0207,
                start,
                end,
                "the rule has no pattern",
                "write a pattern before the action",
            );
            if ending == Ending::Action {
                self.action();
            }
            return;
        }
        if ending == Ending::Other {
            self.no_action(pattern.span);
            return;
        }
        let span = self.r.span(start, pattern.span.end as usize);
        let Some(action) = self.action() else { return };
        let conditions = self.conditions(condition);
        let kind = RuleKind::Pattern(pattern);
        self.rules.push(Rule {
            kind,
            conditions,
            name,
            action,
            span,
        });
    }

    fn no_action(&mut self, span: Span) {
        let at = self.r.at;
        let mut found = Diagnostic::new(Code::E0205, span, "the rule has no action")
            .help("write `{ }` after the pattern to do nothing");
        if at < self.r.end && !self.r.looking_at("%%") && !self.r.looking_at("}") {
            let next = self
                .r
                .span(at, self.r.ident_end(at).max(self.r.char_end(at)));
            found = found.label(next, "the next rule starts here");
        }
        self.r.diags.push(found);
    }

    /// `NAME =`.
    fn rule_name(&mut self) -> Option<Name> {
        let start = self.r.at;
        let end = lookahead::rule_name(&self.r)?;
        let name = self.r.name(start, end);
        self.r.at = self.r.after_blanks(end) + 1;
        self.r.gap(true);
        if RESERVED.contains(&name.text.as_str())
            || self.names.kind(&name.text) == Some(Kind::State)
        {
            self.r.report(
                Code::E0102,
                start,
                end,
                format!("a rule cannot be named `{}`", name.text),
                "START, END, OVERLOAD, DEFAULT, TIMEOUT, NOW and the names of states are taken",
            );
        }
        Some(name)
    }

    fn conditions(&self, own: Option<Arc<Cond>>) -> Vec<Arc<Cond>> {
        self.open
            .iter()
            .filter_map(|open| open.condition.clone())
            .chain(own)
            .collect()
    }

    /// The action whose `{` is here; `None` if it does not end.
    fn action(&mut self) -> Option<CText> {
        let brace = self.r.at;
        let mut habits = Vec::new();
        let text = self.r.source.text.as_ref();
        let scanned =
            csource::block_end(&self.r.bytes[..self.r.end], brace + 1, &mut |from, to| {
                if matches!(&text[from..to], "yytext" | "yyleng") {
                    habits.push((from, to));
                }
            });
        for (from, to) in habits {
            let word = self.r.text(from, to);
            let (what, fix) = match word {
                "yytext" => ("text", "`$0` is the match, `$1`, `$2`, … are its parts"),
                _ => ("length", "`$len(0)` is the length of the match"),
            };
            let message = format!("`{word}` is Lex's name for the {what} of a match");
            self.r.report(Code::E0210, from, to, message, fix);
        }
        match scanned {
            Ok((end, next)) => {
                self.r.at = next;
                Some(self.r.c_text(brace + 1, end))
            }
            Err(unended) => {
                let help = "close it with `}`";
                unterminated(&mut self.r, brace, brace + 1, "the action", help, &unended);
                None
            }
        }
    }

    /// After an error in a pattern: continues after the rule's action, or at the next rule.
    fn skip_rule(&mut self) {
        while let Some(byte) = self.r.peek() {
            let start = self.r.at;
            match byte {
                b'\n' => {
                    self.r.at = self.r.after_blanks(start);
                    if lookahead::rule_starts(&self.r, self.names) {
                        return;
                    }
                }
                b'\\' => self.r.at = self.r.char_end((start + 1).min(self.r.end)),
                b'"' => self.r.at = self.string_end(start),
                b'{' if self.brace_in_pattern() => {
                    self.r.at = self.r.ident_end(start + 1).max(start + 1);
                }
                b'{' => {
                    self.action();
                    return;
                }
                _ => self.r.at += 1,
            }
        }
    }

    /// The position after the string at `start`, or after its quote if it does not end on its line.
    fn string_end(&self, start: usize) -> usize {
        let mut at = start + 1;
        while at < self.r.end && self.r.bytes[at] != b'\n' {
            match self.r.bytes[at] {
                b'"' => return at + 1,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        start + 1
    }
}

/// The text of the `%{ %}` block here; `None` after an error if it does not end.
pub(crate) fn fence(r: &mut Reader) -> Option<CText> {
    let start = r.at;
    match csource::fence_end(&r.bytes[..r.end], start + 2) {
        Ok(end) => {
            r.at = end + 2;
            Some(r.c_text(start + 2, end))
        }
        Err(unended) => {
            unterminated(
                r,
                start,
                start + 2,
                "the block",
                "close it with `%}`",
                &unended,
            );
            None
        }
    }
}

/// Reports C text without an end, and continues where the scan stopped.
pub(crate) fn unterminated(
    r: &mut Reader,
    start: usize,
    end: usize,
    what: &str,
    help: &str,
    unended: &Unended,
) {
    let span = r.span(start, end);
    let found = match unended.cause {
        // The mistake to fix is the one that hides the end.
        Some((at, cause)) => {
            let line = r.line_end(at);
            let to = at + r.bytes[at..line].trim_ascii_end().len();
            let help = match cause {
                "comment" => "end it with `*/`",
                "string" => "end it with `\"` on the same line",
                _ => "end it with `'` on the same line",
            };
            let message = format!("the {cause} is not terminated");
            Diagnostic::new(Code::E0003, r.span(at, to), message)
                .label(span, format!("so {what} that begins here does not end"))
                .help(help)
        }
        None => {
            let message = format!("{what} is not terminated");
            Diagnostic::new(Code::E0003, span, message).help(help)
        }
    };
    r.diags.push(found);
    r.at = unended.at;
}

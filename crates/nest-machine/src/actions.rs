//! Actions: which directives and per-connection variables they use, and whether rightly.
//!
//! Must not know: what stands in their place in the emitted C.

mod values;

use crate::blocks;
use crate::context::Context;
use crate::locks;
use crate::model::{Action, Arg, ArgKind, Args, Code, Use, What};
use crate::stored;
use nest_c::directives::{self, DIRECTIVES, Directive, Form, InLock, Others};
use nest_c::lexer::{self, Kind, Token};
use nest_c::scope::Body;
use nest_c::{inner, without_directives};
use nest_diag::{Code as Diag, Diagnostic, nearest};
use nest_feature::Feature;
use nest_syntax::ast::CText;
use std::ops::Range;
use std::sync::OnceLock;

/// Whose action it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A pattern rule with so many parts.
    Rule(usize),
    /// START, END or TIMEOUT.
    Special(&'static str),
    /// Code of the server, which belongs to no connection. It is called so.
    Server(&'static str),
}

/// The owner of the initialisation of `%shared`, which runs alone.
pub const SHARED: &str = "%shared";

/// The place of the policy of the cache.
pub const CACHE: &str = "%cache";

/// The flag of directives that write files.
const SYNC: &str = "NEST_SYNC";

/// Finds every use in an action.
pub fn action(cx: &mut Context<'_>, text: &CText, owner: Owner) -> Action {
    let tokens = lexer::tokens(&text.text);
    let mut scan = Scan {
        cx,
        text,
        tokens: &tokens,
        owner,
        uses: Vec::new(),
        hidden: Vec::new(),
        braces: None,
    };
    scan.all();
    let (mut uses, hidden) = (scan.uses, scan.hidden);
    let plain = without_directives(&text.text, &uses);
    blocks::check(cx, text, &tokens, &uses, &plain);
    stored::check(cx, text, &uses, &plain);
    let locks = locks::of(&uses);
    if owner != Owner::Server(SHARED) {
        locks::check(cx, text, &locks, &tokens, (&uses, &plain));
    }
    let body = OnceLock::new();
    let found = if cx.variables.is_empty() {
        Vec::new()
    } else {
        let body = body.get_or_init(|| Body::of(cx.parser, &plain));
        body.uses(cx.variables)
    };
    let mut push = |at: Range<usize>, what: What| {
        let inside = |r: &Range<usize>| r.start <= at.start && at.end <= r.end;
        let free = !hidden.iter().any(inside) && !uses.iter().any(|u| inside(&u.at));
        if free {
            uses.push(Use { at, what });
        }
    };
    for (at, index) in found {
        push(at, What::Variable(index));
    }
    if let Some(shared) = cx.shared.filter(|names| !names.is_empty()) {
        let body = body.get_or_init(|| Body::of(cx.parser, &plain));
        for (at, index) in body.uses(shared) {
            if owner != Owner::Server(SHARED) && locks.around(at.start).is_none() {
                locks::outside(cx, text, &at);
            }
            push(at, What::Shared(index));
        }
        locks::foreign(cx, text, body, &uses);
    }
    uses.sort_by_key(|u| u.at.start);
    Action {
        code: Code::at(cx.sources, text.span),
        span: text.span,
        uses,
        body,
    }
}

/// Says E0404 for every directive in C that is no action.
pub fn no_directives(text: &CText, place: &str, out: &mut Vec<Diagnostic>) {
    for token in lexer::tokens(&text.text) {
        if token.kind != Kind::Dollar {
            continue;
        }
        let word = &text.text[token.at.clone()];
        let span = inner(text.span, &token.at);
        let reported = Diagnostic::new(Diag::E0404, span, format!("`{word}` in {place}"));
        let directive = directives::find(&word[1..]).filter(|d| !d.c.is_empty());
        out.push(match directive {
            Some(d) if d.form == Form::Block => reported.help(
                "call nest_block_begin(self) and nest_block_end(self) of nest.h in a function that an \
                 action gave $self",
            ),
            Some(d) if d.form == Form::Lock => {
                reported.help("only actions enter the lock: give functions pointers to what they use")
            }
            Some(d) if matches!(d.form, Form::Global { .. }) => {
                reported.help(format!("call {}() of nest.h", d.c))
            }
            Some(d) if d.c.starts_with("nest_") && d.form != Form::Plain => reported.help(format!(
                "call {}(self, …) of nest.h in a function that an action gave $self",
                d.c
            )),
            _ => reported.help("directives belong in actions"),
        });
    }
}

struct Scan<'s, 'c> {
    cx: &'s mut Context<'c>,
    text: &'s CText,
    tokens: &'s [Token],
    owner: Owner,
    uses: Vec<Use>,
    /// Arguments that are no C: states, part numbers, levels.
    hidden: Vec<Range<usize>>,
    /// The closing brace of each token that opens one; made when the first `$block` asks.
    braces: Option<Vec<Option<usize>>>,
}

impl Scan<'_, '_> {
    fn all(&mut self) {
        for (i, token) in self.tokens.iter().enumerate() {
            match token.kind {
                Kind::EscapedDollar => {
                    self.uses.push(Use {
                        at: token.at.clone(),
                        what: What::Dollar,
                    });
                }
                Kind::Dollar => self.dollar(i),
                Kind::Text | Kind::Char => self.escaped(&token.at),
                _ => {}
            }
        }
    }

    /// `\$` in a literal, which C knows no more than outside.
    fn escaped(&mut self, literal: &Range<usize>) {
        let bytes = self.text.text.as_bytes();
        let mut at = literal.start;
        while at + 1 < literal.end {
            if bytes[at] != b'\\' {
                at += 1;
                continue;
            }
            if bytes[at + 1] == b'$' {
                self.uses.push(Use {
                    at: at..at + 2,
                    what: What::Dollar,
                });
            }
            at += 2;
        }
    }

    fn word(&self, at: &Range<usize>) -> String {
        self.text.text[at.clone()].to_string()
    }

    fn report(&mut self, code: Diag, at: &Range<usize>, message: String, help: &str) {
        let d = Diagnostic::new(code, inner(self.text.span, at), message);
        self.cx
            .out
            .push(if help.is_empty() { d } else { d.help(help) });
    }

    fn dollar(&mut self, i: usize) {
        let at = self.tokens[i].at.clone();
        let word = self.word(&at);
        let name = &word[1..];
        if name.is_empty() {
            let dollar = |t: &Token| t.kind == Kind::Dollar && self.word(&t.at) == "$";
            let beside = |n: usize, at: usize| {
                let other = self.tokens.get(n).filter(|t| dollar(t));
                other.is_some_and(|t| t.at.start == at || t.at.end == at)
            };
            if i > 0 && beside(i - 1, at.start) {
                return; // said at the first
            }
            if beside(i + 1, at.end) {
                let help = "an action returns no value: store values in per-connection \
                    variables; `$0`, `$1`, … are the matched texts";
                let at = at.start..at.end + 1;
                return self.report(Diag::E0401, &at, "`$$` is Yacc's".to_string(), help);
            }
            let help = "write \\$ for a dollar sign";
            return self.report(Diag::E0401, &at, "`$` without a name".to_string(), help);
        }
        if name.as_bytes()[0].is_ascii_digit() {
            if let Some(n) = self.part(name, &at) {
                self.uses.push(Use {
                    at,
                    what: What::Part(n),
                });
            }
            return;
        }
        let Some(directive) = directives::find(name) else {
            let other = DIRECTIVES.iter().find(|d| d.known_as.contains(&name));
            let near = other
                .map(|ours| ours.name)
                .or_else(|| nearest(name, DIRECTIVES.iter().map(|d| d.name)))
                .map_or(String::new(), |n| format!("did you mean `${n}`?"));
            return self.report(
                Diag::E0401,
                &at,
                format!("there is no directive `{word}`"),
                &near,
            );
        };
        if !self.has_place(directive, &at) {
            return;
        }
        let call = lexer::call(self.tokens, i);
        let usage = format!("it is written {}", directive.usage);
        let args = match (directive.form, call) {
            (Form::Block | Form::Lock, _) => return self.block(directive, i, &at),
            (Form::Plain | Form::Return, _) => None,
            (_, None) => {
                if self.broken_literal(i) {
                    return;
                }
                let what = format!("{word} needs its arguments in parentheses");
                return self.report(Diag::E0403, &at, what, &usage);
            }
            (form, Some(call)) => match self.arguments(directive, form, &call, &at) {
                Some(args) => Some(args),
                None => return,
            },
        };
        self.uses.push(Use {
            at,
            what: What::Directive {
                directive,
                call: args,
            },
        });
    }

    /// Whether the directive can stand in this code, and says so if it cannot.
    fn has_place(&mut self, directive: &Directive, at: &Range<usize>) -> bool {
        let word = directive.word();
        let locks = directive.form == Form::Lock || directive.does.in_lock != InLock::Yes;
        if locks && directive.does.needs == Some(Feature::Shared) && self.cx.shared.is_none() {
            let what = format!("{word} without a %shared");
            let help = "declare the variables that all connections share: %shared SIZE { … }";
            self.report(Diag::E0801, at, what, help);
            return false;
        }
        if directive.does.needs == Some(Feature::Priorities) && self.cx.classes == 0 {
            let what = format!("{word} without classes of clients");
            let help = "say how many there are: `%option priorities 2`";
            self.report(Diag::E0220, at, what, help);
            return false;
        }
        let Owner::Server(place) = self.owner else {
            return true;
        };
        let global = match directive.form {
            Form::Global { .. } => true,
            Form::Return => place != CACHE,
            _ => false,
        };
        let locks = directive.form == Form::Lock && place != SHARED;
        let sends = matches!(
            directive.does.others,
            Others::One | Others::Group | Others::Counts
        );
        if !global && !locks && (!sends || place == SHARED || place == CACHE) {
            let what = format!("{word} in the code of {place}");
            let help = match directive.form {
                Form::Return => "write `return VALUE;`: the code says what a file is worth",
                _ if sends && place == CACHE => {
                    "it runs for each use of a file: send in %timer or an action"
                }
                Form::Lock => "the code runs alone: name the variables without a lock",
                _ => "the code belongs to the server: there is no connection",
            };
            self.report(Diag::E0404, at, what, help);
            return false;
        }
        true
    }

    /// `$block {`, `$lock {`.
    fn block(&mut self, directive: &Directive, i: usize, at: &Range<usize>) {
        let word = directive.word();
        let braces = self
            .braces
            .get_or_insert_with(|| lexer::pairs(self.tokens, b'{', b'}').0);
        let Some(close) = braces.get(i + 1).copied().flatten() else {
            let what = format!("{word} needs braces");
            let help = format!("it is written {}", directive.usage);
            return self.report(Diag::E0403, at, what, &help);
        };
        // Where only a value may stand; the C compiler would point at what became of the block.
        let before = i.checked_sub(1).map(|b| &self.tokens[b]);
        let value = before.is_some_and(|b| match b.kind {
            Kind::Punct(p) => matches!(p, b'=' | b'(' | b',' | b'?' | b'!' | b'['),
            _ => self.word(&b.at) == "return",
        });
        if value {
            let what = format!("{word} gives no value");
            let help = "it is a statement: set a variable in it, and use the variable after it";
            return self.report(Diag::E0403, at, what, help);
        }
        let close = self.tokens[close].at.start;
        self.uses.push(Use {
            at: at.clone(),
            what: match directive.form {
                Form::Lock => What::Lock { close },
                _ => What::Block { close },
            },
        });
    }

    /// The number of a part, checked.
    fn part(&mut self, digits: &str, at: &Range<usize>) -> Option<u32> {
        let n: u32 = digits.parse().unwrap_or(u32::MAX);
        match self.owner {
            Owner::Special(name) | Owner::Server(name) => {
                let what = format!("{name} has no pattern, so there is no part {digits}");
                self.report(Diag::E0402, at, what, "");
                None
            }
            Owner::Rule(parts) if n as usize > parts => {
                let s = if parts == 1 { "" } else { "s" };
                let what = format!("there is no part {digits}: the pattern has {parts} element{s}");
                let help = "blanks separate the elements; $0 is the whole match";
                self.report(Diag::E0402, at, what, help);
                None
            }
            Owner::Rule(_) => Some(n),
        }
    }

    fn arguments(
        &mut self,
        directive: &'static Directive,
        form: Form,
        call: &lexer::Call,
        head: &Range<usize>,
    ) -> Option<Args> {
        let (least, most) = match form {
            Form::Call { least, most } => (least, most),
            Form::Filled { least, rest } => (least, least + rest.len()),
            Form::Timed { least } => (least, least + 1),
            Form::Global { arguments } => (arguments, arguments),
            Form::OfPart(part) => (part.arguments(), part.arguments()),
            Form::OneState | Form::Duration { .. } => (1, 1),
            Form::Log => (2, usize::MAX),
            Form::Reply { lead, .. } => (lead + 1, usize::MAX),
            _ => (1, usize::MAX),
        };
        let n = call.args.len();
        if n < least || n > most || call.args.iter().any(Range::is_empty) {
            let whole = head.start..call.close + 1;
            let what = match (least, most) {
                (0, 0) => format!("${} takes no argument", directive.name),
                (l, m) if l == m => {
                    format!("${} takes {}, not {n}", directive.name, arguments(l))
                }
                _ if n < least => format!("${} lacks an argument", directive.name),
                _ => format!("${} has an empty or superfluous argument", directive.name),
            };
            self.report(
                Diag::E0403,
                &whole,
                what,
                &format!("it is written {}", directive.usage),
            );
            return None;
        }
        if let Form::Filled { least, rest } = form
            && directive.usage.contains(SYNC)
            && let Some(at) = call.args.get(least).filter(|at| self.word(at) == SYNC)
            && n == least + 1
            && rest.len() > 1
        {
            // To C it is 1, as a length.
            let what = format!("{SYNC} is in the place of the length");
            let help = format!(
                "write {}; NEST_WHOLE as the length is what comes until the client stops sending",
                directive.usage
            );
            self.report(Diag::E0403, at, what, &help);
            return None;
        }
        let mut args = Vec::new();
        let mut fits = true;
        for at in &call.args {
            match self.argument(directive, form, at, args.len()) {
                Some(kind) => args.push(Arg {
                    at: at.clone(),
                    kind,
                }),
                None => fits = false,
            }
        }
        if !fits {
            return None;
        }
        if form == (Form::States { star: true })
            && args.len() > 1
            && args.iter().any(|a| a.kind == ArgKind::AllStates)
        {
            let whole = head.start..call.close + 1;
            let what = "`*` beside a state".to_string();
            self.report(Diag::E0403, &whole, what, "$clear(*) clears them all");
            return None;
        }
        let format = match form {
            Form::Reply { lead, .. } => self.format(call, lead, false, head)?,
            Form::Log => {
                self.format(call, 1, true, head)?;
                true
            }
            _ => false,
        };
        Some(Args {
            open: call.open,
            close: call.close,
            args,
            format,
        })
    }

    fn argument(
        &mut self,
        directive: &Directive,
        form: Form,
        at: &Range<usize>,
        index: usize,
    ) -> Option<ArgKind> {
        let word = self.word(at);
        match form {
            Form::OfPart(_) if index == 0 => {
                self.hidden.push(at.clone());
                if !word.bytes().all(|b| b.is_ascii_digit()) {
                    let what = format!("`{word}` is not the number of a part");
                    let help = format!("write {} with a number", directive.usage);
                    self.report(Diag::E0403, at, what, &help);
                    return None;
                }
                self.part(&word, at).map(ArgKind::PartNumber)
            }
            Form::States { star } if word == "*" => {
                self.hidden.push(at.clone());
                if star {
                    return Some(ArgKind::AllStates);
                }
                let what = format!("`*` in ${}", directive.name);
                self.report(Diag::E0403, at, what, "name the states");
                None
            }
            Form::States { .. } | Form::OneState => {
                self.hidden.push(at.clone());
                self.state(directive, &word, at).map(ArgKind::State)
            }
            Form::Duration { .. } => self.duration(directive, at).then_some(ArgKind::Expression),
            Form::Timed { least } if index == least => {
                self.duration(directive, at).then_some(ArgKind::Expression)
            }
            Form::Call { .. } if directive.does.needs == Some(Feature::Priorities) => {
                self.class(&word, at).then_some(ArgKind::Expression)
            }
            Form::Log if index == 0 => {
                let level = match word.as_str() {
                    "error" => "NEST_ERROR",
                    "warn" => "NEST_WARN",
                    "info" => "NEST_INFO",
                    "debug" => "NEST_DEBUG",
                    _ => return Some(ArgKind::Expression),
                };
                self.hidden.push(at.clone());
                Some(ArgKind::Level(level))
            }
            _ => {
                let digits = word.strip_prefix('$').unwrap_or("");
                let is_part = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                match digits.parse() {
                    Ok(n) if is_part => Some(ArgKind::Part(n)),
                    _ => Some(ArgKind::Expression),
                }
            }
        }
    }

    fn state(&mut self, directive: &Directive, word: &str, at: &Range<usize>) -> Option<u32> {
        let marks = directive.does.changes();
        if matches!(word, "END" | "TIMEOUT" | "OVERLOAD") || (word == "START" && marks) {
            let what = format!("{word} cannot be used in ${}", directive.name);
            let help = match word {
                "START" => "START is always set",
                _ => "END, OVERLOAD and TIMEOUT are kinds of rules, not states",
            };
            self.report(Diag::E0407, at, what, help);
            return None;
        }
        if let Some(n) = self.cx.states.iter().position(|s| s == word) {
            return u32::try_from(n).ok();
        }
        let help = if !word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            format!(
                "write {} with names of states; choose with `if`",
                directive.usage
            )
        } else if let Some(near) = nearest(word, self.cx.states.iter().map(String::as_str)) {
            format!("did you mean `{near}`?")
        } else {
            "declare it with %state".to_string()
        };
        self.report(
            Diag::E0405,
            at,
            format!("`{word}` is not a declared state"),
            &help,
        );
        None
    }
}

/// `1 argument`, `2 arguments`.
fn arguments(count: usize) -> String {
    format!("{count} argument{}", if count == 1 { "" } else { "s" })
}

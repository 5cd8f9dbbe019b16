//! What every test needs: files in memory, and the tree as compact text.
#![allow(dead_code)] // each test binary uses its part

use std::collections::BTreeMap;
use std::fmt::Write;

use nest_diag::{Diagnostic, SourceMap};
use nest_syntax::ast::{
    Alt, Atom, ByteSet, Cond, Decl, Flags, MacroBody, Pattern, Piece, Reference, Rule, RuleKind,
    Spec, Special,
};
use nest_syntax::{Loader, parse};

/// Files by name.
#[derive(Default)]
pub struct Files(pub BTreeMap<String, String>);

impl Loader for Files {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        self.0
            .get(path)
            .map(|text| (path.to_owned(), text.clone()))
            .ok_or_else(|| "no such file".to_owned())
    }
}

/// Parses `text`, which includes nothing.
pub fn read(text: &str) -> (SourceMap, Spec, Vec<Diagnostic>) {
    parse("test.nest", text, &mut Files::default())
}

/// One line a finding: `code file? "marked text" message | help`.
pub fn findings(sources: &SourceMap, diags: &[Diagnostic]) -> Vec<String> {
    diags
        .iter()
        .map(|d| {
            let (line, column) = sources.position(d.span.file, d.span.start);
            let marked = sources.text(d.span);
            let mut out = format!("{} {line}:{column} `{marked}` {}", d.code.name(), d.message);
            for label in &d.labels {
                let (line, column) = sources.position(label.span.file, label.span.start);
                let _ = write!(out, " [{line}:{column} {}]", label.text);
            }
            out
        })
        .collect()
}

/// The findings of `text`.
pub fn wrong(text: &str) -> Vec<String> {
    let (sources, _, diags) = read(text);
    findings(&sources, &diags)
}

/// Every case: the text, and all that is found in it.
pub fn check(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(wrong(text), *expected, "\n{text}");
    }
}

/// The tree of `text`, which must be without findings.
pub fn tree(text: &str) -> String {
    let (sources, spec, diags) = read(text);
    assert!(
        diags.is_empty(),
        "{text}\n{:#?}",
        findings(&sources, &diags)
    );
    dump(&spec)
}

/// A whole specification.
pub fn dump(spec: &Spec) -> String {
    let mut out = String::new();
    for decl in &spec.decls {
        let _ = match decl {
            Decl::Prologue(c) => writeln!(out, "C {:?}", c.text),
            Decl::Option(o) => {
                let values: Vec<&str> = o.values.iter().map(|v| v.text.as_str()).collect();
                writeln!(out, "option {} {values:?}", o.name.text)
            }
            Decl::Filter(f) => {
                let options: Vec<&str> = f.options.iter().map(|v| v.text.as_str()).collect();
                writeln!(out, "filter {} {options:?}", f.name.text)
            }
            Decl::Shared(s) => {
                let code = s.code.as_ref().map(|code| &code.text);
                writeln!(
                    out,
                    "shared {:?} {:?} {code:?}",
                    s.size.text, s.declarations.text
                )
            }
            Decl::Code(c) => {
                let argument = c.argument.as_ref().map(|argument| &argument.text);
                writeln!(out, "{} {argument:?} {:?}", c.word.text, c.code.text)
            }
            Decl::Stage(s) => {
                let state = s.state.as_ref().map(|state| &state.text);
                let (word, name) = (&s.word.text, &s.name.text);
                writeln!(out, "{word} {name:?} {:?} {state:?}", s.function.text)
            }
            Decl::State(names) => {
                let names: Vec<&str> = names.iter().map(|n| n.text.as_str()).collect();
                writeln!(out, "state {}", names.join(" "))
            }
            Decl::Macro(m) => match &m.body {
                MacroBody::Condition(c) => writeln!(out, "condition {} = {}", m.name.text, cond(c)),
                MacroBody::Pattern(p) => writeln!(out, "pattern {} = {}", m.name.text, pattern(p)),
            },
        };
    }
    for local in &spec.locals {
        let _ = writeln!(out, "local {:?}", local.text);
    }
    for r in &spec.rules {
        let _ = writeln!(out, "{}", rule(r));
    }
    for startup in &spec.startup {
        let _ = writeln!(out, "startup {:?}", startup.text);
    }
    out
}

fn rule(rule: &Rule) -> String {
    let mut out = String::new();
    for c in &rule.conditions {
        let _ = write!(out, "{}: ", cond(c));
    }
    if let Some(name) = &rule.name {
        let _ = write!(out, "{} = ", name.text);
    }
    match &rule.kind {
        RuleKind::Start => out.push_str("START"),
        RuleKind::End => out.push_str("END"),
        RuleKind::Overload => out.push_str("OVERLOAD"),
        RuleKind::Timeout(after) => {
            let _ = write!(out, "TIMEOUT({})", after.text);
        }
        RuleKind::Pattern(p) => out.push_str(&pattern(p)),
    }
    let _ = write!(out, " {{{}}}", rule.action.text);
    out
}

/// A condition with every pair of parentheses.
pub fn cond(c: &Cond) -> String {
    let join = |parts: &[Cond], sign: &str| {
        format!(
            "({})",
            parts.iter().map(cond).collect::<Vec<_>>().join(sign)
        )
    };
    match c {
        Cond::Or(parts) => join(parts, " || "),
        Cond::And(parts) => join(parts, " && "),
        Cond::Not(inner) => format!("!{}", cond(inner)),
        Cond::LastSeen(name) => format!("$LASTSEEN({})", name.text),
        Cond::Name(name) => name.text.clone(),
    }
}

/// A pattern: elements separated by blanks.
pub fn pattern(p: &Pattern) -> String {
    let mut parts = Vec::new();
    if p.flags != Flags::default() {
        parts.push(format!("(?{})!", flags(&p.flags)));
    }
    parts.extend(p.elements.iter().map(|e| alt(&e.alt)));
    parts.extend(p.now.map(|_| "NOW".to_string()));
    parts.join(" ")
}

fn alt(a: &Alt) -> String {
    let branch = |pieces: &Vec<Piece>| pieces.iter().map(piece).collect::<String>();
    a.branches.iter().map(branch).collect::<Vec<_>>().join("|")
}

fn flags(f: &Flags) -> String {
    let mut out = String::new();
    let letters = [
        ('i', f.caseless),
        ('s', f.dot_all),
        ('U', f.swap_greed),
        ('m', f.multiline),
    ];
    for (letter, flag) in letters {
        match flag {
            Some(true) => out.push(letter),
            Some(false) => out.extend(['-', letter]),
            None => {}
        }
    }
    out
}

fn piece(p: &Piece) -> String {
    let atom = match &p.atom {
        Atom::Bytes(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Atom::Class { set: s, negated } => {
            format!("[{}{}]", if *negated { "^" } else { "" }, set(s))
        }
        Atom::Dot => ".".to_owned(),
        Atom::Macro(name) => format!("{{{}}}", name.text),
        Atom::Group { flags: f, alt: a } => format!("({}:{})", flags(f), alt(a)),
        Atom::SetFlags(f) => format!("(?{})", flags(f)),
        Atom::Nothing => "^".to_owned(),
        Atom::Special(s) => special(s),
    };
    let quant = p.quant.map_or(String::new(), |q| {
        let max = q.max.map_or(String::new(), |m| m.to_string());
        format!("{{{},{max}}}{}", q.min, if q.greedy { "" } else { "?" })
    });
    format!("{atom}{quant}")
}

fn special(s: &Special) -> String {
    match s {
        Special::Capture { name, alt: a } => {
            format!("(<{}>{})", name.as_deref().unwrap_or(""), alt(a))
        }
        Special::Look {
            behind,
            negative,
            alt: a,
        } => {
            let behind = if *behind { "<" } else { "" };
            let kind = if *negative { "!" } else { "=" };
            format!("(?{behind}{kind}{})", alt(a))
        }
        Special::Atomic { possessive, alt: a } => {
            format!("(?>{}{})", alt(a), if *possessive { "+" } else { "" })
        }
        Special::Reference(Reference::Number(n)) => format!("\\{n}"),
        Special::Reference(Reference::Name(name)) => format!("\\k<{name}>"),
        Special::Assertion(assertion) => format!("<{assertion:?}>"),
        Special::LineEnds => "\\R".to_owned(),
    }
}

/// Bytes as ranges.
pub fn set(s: &ByteSet) -> String {
    let mut out = String::new();
    let mut bytes = s.iter().peekable();
    while let Some(low) = bytes.next() {
        let mut high = low;
        while bytes.peek() == Some(&high.wrapping_add(1)) && high < 255 {
            high = bytes.next().expect("it was peeked at");
        }
        let _ = write!(out, "{}", low.escape_ascii());
        if high > low {
            let _ = write!(out, "-{}", high.escape_ascii());
        }
    }
    out
}

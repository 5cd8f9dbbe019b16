//! What only the whole specification shows: what may stand there once, and which patterns the
//! parser already refused, so that nothing more is said of them. Must not know: automata, C.

use nest_diag::{Code, Diagnostic, FileId, Span};
use nest_syntax::ast::{Alt, Atom, Macro, MacroBody, Pattern, RuleKind, Spec};
use std::collections::{BTreeMap, BTreeSet};

/// Says E0206, E0208 and E0209.
pub fn check(spec: &Spec, out: &mut Vec<Diagnostic>) {
    let (mut specials, mut names) = (BTreeMap::new(), BTreeMap::new());
    for rule in &spec.rules {
        let special = match rule.kind {
            RuleKind::Start => Some("START"),
            RuleKind::End => Some("END"),
            RuleKind::Overload => Some("OVERLOAD"),
            RuleKind::Pattern(_) | RuleKind::Timeout(_) => None,
        };
        if let Some(special) = special {
            let first = *specials.entry(special).or_insert(rule.span);
            if first != rule.span {
                out.push(
                    Diagnostic::new(Code::E0206, rule.span, format!("a second {special} rule"))
                        .label(first, "the first is here")
                        .help("combine both in one action"),
                );
            }
        }
        if let Some(name) = &rule.name {
            let first = *names.entry(name.text.as_str()).or_insert(name.span);
            if first != name.span {
                let what = format!("a second rule is named `{}`", name.text);
                out.push(
                    Diagnostic::new(Code::E0208, name.span, what)
                        .label(first, "the first is here")
                        .help("names identify rules in traces and messages: choose another name"),
                );
            }
        }
    }
    // A mistake elsewhere may well have swallowed the rules.
    if spec.rules.is_empty() && !out.iter().any(Diagnostic::is_error) {
        let what = "the specification has no rule";
        out.push(match spec.startup.first().map(|text| text.span) {
            Some(startup) => {
                let start = startup.start as usize;
                let second = Span::new(startup.file, start.saturating_sub(2), start);
                Diagnostic::new(Code::E0209, second, what).help(
                    "rules are between the first and the second `%%`; the C code after the \
                     second runs once, at the start",
                )
            }
            None => Diagnostic::new(Code::E0209, Span::new(FileId(0), 0, 0), what)
                .help("write one after `%%`, such as `\"QUIT\" \\r?\\n { $close(); }`"),
        });
    }
}

/// The patterns that the parser refused.
pub struct Refused {
    /// Where its errors begin, ascending.
    errors: Vec<(FileId, u32)>,
    /// Macros whose text has an error, or leads to one that has.
    macros: BTreeSet<String>,
}

impl Refused {
    /// From what the parser said. Takes time in proportion to the text.
    pub fn new(spec_macros: &BTreeMap<String, &Macro>, reported: &[Diagnostic]) -> Self {
        let mut errors: Vec<(FileId, u32)> = reported
            .iter()
            .filter(|d| d.is_error())
            .map(|d| (d.span.file, d.span.start))
            .collect();
        errors.sort_unstable();
        let mut refused = Refused {
            errors,
            macros: BTreeSet::new(),
        };
        let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut todo: Vec<&str> = Vec::new();
        for (name, declared) in spec_macros {
            if let MacroBody::Pattern(pattern) = &declared.body {
                if refused.has_error(declared.name.span.to(pattern.span)) {
                    todo.push(name);
                }
                for used in macros_of(pattern) {
                    users.entry(used).or_default().push(name);
                }
            }
        }
        while let Some(name) = todo.pop() {
            if refused.macros.insert(name.to_string()) {
                todo.extend(users.get(name).into_iter().flatten());
            }
        }
        refused
    }

    /// Whether an error was said of this pattern or of a macro that it needs.
    pub fn holds(&self, pattern: &Pattern) -> bool {
        !self.errors.is_empty()
            && (self.has_error(pattern.span)
                || macros_of(pattern).any(|name| self.macros.contains(name)))
    }

    fn has_error(&self, span: Span) -> bool {
        let from = self
            .errors
            .partition_point(|at| *at < (span.file, span.start));
        self.errors
            .get(from)
            .is_some_and(|(file, at)| *file == span.file && *at < span.end)
    }
}

/// The macros that a pattern names itself.
fn macros_of(pattern: &Pattern) -> impl Iterator<Item = &str> {
    let mut alts: Vec<&Alt> = pattern.elements.iter().map(|e| &e.alt).collect();
    let mut found = Vec::new();
    while let Some(alt) = alts.pop() {
        for piece in alt.branches.iter().flatten() {
            match &piece.atom {
                Atom::Macro(name) => found.push(name.text.as_str()),
                atom => alts.extend(atom.inner()),
            }
        }
    }
    found.into_iter()
}

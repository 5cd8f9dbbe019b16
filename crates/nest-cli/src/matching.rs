//! `nest check --explain-matching`: which rules share an automaton, which do not, and why.
//!
//! The output uses the same `Matching` as the generated code, and the same words as its comments.
//! Must not know: how the matching is chosen.

use std::fmt::Write;

use nest_machine::Machine;
use nest_machine::matching::words::{self, Parts};
use nest_machine::matching::{Automaton, Matching, Reason};
use serde::Serialize;

use crate::term::{FAINT, GOOD, STRONG};

/// The width without a terminal.
const WIDTH: usize = 100;
/// The minimum width of text.
const LEAST: usize = 40;
/// Names are padded up to this length.
const NAME: usize = 16;

/// For humans.
pub fn text(m: &Machine, width: Option<usize>) -> String {
    let matching = Matching::of(m);
    let mut page = Page {
        m,
        text: String::new(),
        width: width.unwrap_or(WIDTH).max(LEAST),
    };
    for (n, automaton) in (1..).zip(&matching.automata) {
        page.head(&format!("Automaton {n}"), &automaton.form(m));
        page.wrapped("  ", &automaton.extent());
        for rule in &automaton.rules {
            page.rule(*rule, &words::parts(m, &matching, *rule));
        }
    }
    // Rules of which the same is to be said stand together.
    let mut reported: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
    for (rule, reason) in &matching.standalone {
        let mut lines = vec![reason.text(m)];
        lines.extend(words::cause(m, *rule, *reason));
        lines.push(words::alone(m, *rule));
        match reported.iter_mut().find(|(known, _)| *known == lines) {
            Some((_, rules)) => rules.push(*rule),
            None => reported.push((lines, vec![*rule])),
        }
    }
    for (lines, rules) in reported {
        page.head("Matched separately", &lines[0]);
        for line in &lines[1..] {
            page.wrapped("  ", line);
        }
        for rule in rules {
            page.rule(rule, &words::parts(m, &matching, rule));
        }
    }
    page.text
}

struct Page<'m> {
    m: &'m Machine,
    text: String,
    width: usize,
}

impl Page<'_> {
    fn head(&mut self, name: &str, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let line = self.lines(&format!("{name}: "), "  ", text);
        let _ = write!(self.text, "{STRONG}{name}{STRONG:#}{}", &line[name.len()..]);
    }

    /// A rule: its line, its name, and its explanation.
    fn rule(&mut self, rule: usize, text: &str) {
        let it = &self.m.rules[rule];
        let place = if it.file == self.m.file {
            format!("line {}", it.line)
        } else {
            format!("{}:{}", it.file, it.line)
        };
        // A rule without a name is identified by its line.
        let name = if it.label == format!("line {}", it.line) {
            ""
        } else {
            &it.label
        };
        if text.is_empty() {
            let _ = writeln!(
                self.text,
                "  {FAINT}{place:<9}{FAINT:#} {GOOD}{name}{GOOD:#}"
            );
            return;
        }
        let first = format!("  {place:<9} {name:<NAME$} ");
        let rest = " ".repeat(first.chars().count().min(self.width / 2));
        let lines = self.lines(&first, &rest, text);
        let _ = write!(
            self.text,
            "  {FAINT}{place:<9}{FAINT:#} {GOOD}{name:<NAME$}{GOOD:#} {}",
            lines.strip_prefix(&first).unwrap_or_default()
        );
    }

    fn wrapped(&mut self, indent: &str, text: &str) {
        let lines = self.lines(indent, indent, text);
        self.text.push_str(&lines);
    }

    /// Wraps words after `first`; further lines begin with `rest`.
    fn lines(&self, first: &str, rest: &str, text: &str) -> String {
        let mut lines = String::from(first);
        let (mut at, mut begins) = (first.chars().count(), true);
        for word in text.split(' ') {
            let length = word.chars().count();
            if !begins && at + 1 + length > self.width {
                let _ = write!(lines, "\n{rest}");
                (at, begins) = (rest.chars().count(), true);
            }
            if !begins {
                lines.push(' ');
                at += 1;
            }
            lines.push_str(word);
            (at, begins) = (at + length, false);
        }
        lines + "\n"
    }
}

/// A line of JSON: an automaton.
#[derive(Serialize)]
struct Together<'a> {
    matching: &'a str,
    number: usize,
    code: bool,
    form: String,
    states: usize,
    classes: usize,
    registers: usize,
    conditions: usize,
    bytes: usize,
    rules: Vec<One<'a>>,
}

/// A line of JSON: a rule with an automaton of its own.
#[derive(Serialize)]
struct Standalone<'a> {
    matching: &'a str,
    #[serde(flatten)]
    rule: One<'a>,
    why: String,
    causes: Vec<String>,
    option: Option<&'a str>,
    run: String,
}

#[derive(Serialize)]
struct One<'a> {
    rule: &'a str,
    file: &'a str,
    line: usize,
    #[serde(rename = "asked")]
    requested: Vec<u32>,
    parts: &'a str,
    text: String,
}

fn one<'a>(m: &'a Machine, matching: &Matching, rule: usize) -> One<'a> {
    let it = &m.rules[rule];
    One {
        rule: &it.label,
        file: &it.file,
        line: it.line,
        requested: it.requested.iter().map(|n| n + 1).collect(),
        parts: match matching.parts(m, rule) {
            Parts::None => "none",
            Parts::Fixed => "fixed",
            Parts::Kept(_) => "kept",
            Parts::Again(_) => "again",
        },
        text: words::parts(m, matching, rule),
    }
}

/// For tools: one JSON object per line, automata first, then rules with automata of their own. The
/// fields are an interface: fields may be added but not renamed.
pub fn json(m: &Machine) -> String {
    let matching = Matching::of(m);
    let together = |(number, a): (usize, &Automaton)| Together {
        matching: "automaton",
        number,
        code: a.direct,
        form: a.form(m),
        states: a.product.states(),
        classes: a.product.class_count,
        registers: a.product.registers,
        conditions: a.conditions.len(),
        bytes: a.size(),
        rules: a.rules.iter().map(|r| one(m, &matching, *r)).collect(),
    };
    let standalone = |(rule, reason): (&usize, &Reason)| Standalone {
        matching: "apart",
        rule: one(m, &matching, *rule),
        why: reason.text(m),
        causes: words::cause(m, *rule, *reason),
        option: reason.option(),
        run: words::alone(m, *rule),
    };
    let automata = (1..).zip(&matching.automata).map(together).map(line);
    automata
        .chain(matching.standalone.iter().map(standalone).map(line))
        .collect()
}

fn line(object: impl Serialize) -> String {
    let text = serde_json::to_string(&object).expect("strings and numbers are JSON");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoFiles;

    impl nest_syntax::Loader for NoFiles {
        fn load(&mut self, _: &str, path: &str) -> Result<(String, String), String> {
            Err(format!("no {path}"))
        }
    }

    #[test]
    fn lines_keep_to_the_width() {
        let spec = "%option matchingStates 40\n%%\nfirst = [a-z]+ \" \" [a-z ]+ \"\\n\" { $reply($1); }\n\
                    second = [^\\n]* \"x\" [a-z]{0,40} \"\\n\" { $reply($3); }\n";
        let compiled = nest_machine::compile(
            "w.nest",
            spec,
            &mut NoFiles,
            &nest_machine::Overrides::default(),
        );
        let m = compiled.machine.expect("nothing is wrong");
        for width in [1, 40, 60, 79, 200] {
            let text = anstream::adapter::strip_str(&text(&m, Some(width))).to_string();
            assert!(
                text.contains("first") && text.contains("Matched separately"),
                "{text}"
            );
            let longest = text.lines().map(|l| l.chars().count()).max();
            assert!(longest <= Some(width.max(LEAST)), "{width}:\n{text}");
        }
    }
}

//! Generates the comment before the matchers: how the rules are matched, and why.
//!
//! It uses the words of `nest check --explain-matching`. Must not know: the C code of the matchers.

use crate::tables::comment;
use crate::writer::Writer;
use nest_machine::Machine;
use nest_machine::matching::{Matching, words};

/// A line for each automaton, and for each rule whose parts or separate matching need an
/// explanation.
pub fn emit(m: &Machine, matching: &Matching, w: &mut Writer) {
    w.line("\n/* How rules are matched; nest check --explain-matching shows more.");
    for (n, automaton) in (1..).zip(&matching.automata) {
        line(
            w,
            &format!(
                "automaton {n}: {}; {}",
                automaton.form(m),
                automaton.extent()
            ),
        );
    }
    for (i, rule) in m.rules.iter().enumerate() {
        let standalone = matching.standalone.get(&i);
        let standalone = standalone.map(|why| {
            format!(
                "matched separately: {}; {}",
                why.text(m),
                words::alone(m, i)
            )
        });
        let parts = words::parts(m, matching, i);
        let parts = Some(parts).filter(|text| !text.is_empty());
        let said: Vec<String> = standalone.into_iter().chain(parts).collect();
        if !said.is_empty() {
            line(w, &format!("rule {i}, {}: {}", rule.label, said.join("; ")));
        }
    }
    w.line(" */");
}

fn line(w: &mut Writer, text: &str) {
    w.line(&format!(" * {}", comment(text)));
}

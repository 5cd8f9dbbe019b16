//! What the tests of findings about texts share: a specification's findings, as short lines.

use nest_check::{Act, check};
use nest_machine::{Machine, Overrides, compile};
use nest_pattern::sim;
use nest_syntax::Alone;

pub fn machine(text: &str) -> Machine {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    let machine = compiled.machine;
    machine.unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics))
}

/// `CODE place: witness`, for each finding about texts.
pub fn found(text: &str) -> Vec<String> {
    let machine = machine(text);
    let mut found = Vec::new();
    for finding in check(&machine) {
        let d = &finding.diagnostic;
        if !d.code.name().starts_with("W04") && d.code.name() != "W0511" {
            continue;
        }
        let place = &text[d.span.start as usize..d.span.end as usize];
        let witness = finding.witness;
        if let Some(Act::Send(last)) = witness.as_ref().and_then(|w| w.acts.last()) {
            assert!(takes(&machine, last), "{text}\nno rule takes {last:?}");
        }
        let witness = witness.map_or("-".to_string(), |w| w.to_string());
        found.push(format!("{} {place}: {witness}", d.code.name()));
    }
    found
}

/// Whether any rule does, or an action may read it.
fn takes(m: &Machine, message: &[u8]) -> bool {
    let reads = |text: &str| text.contains("$read");
    m.rules
        .iter()
        .any(|rule| sim::parts(&rule.nfa, message).is_some() || reads(&rule.action.code.text))
}

/// An action of `pattern`, with this in front of the rules.
pub fn action(before: &str, pattern: &str, code: &str) -> String {
    format!("%{{\n{before}\n%}}\n%%\nchar name[33], line[128];\nr = {pattern} {{ {code} }}\n")
}

#[track_caller]
pub fn draws(pattern: &str, code: &str, expected: &str) {
    assert_eq!(found(&action("", pattern, code)), [expected], "{code}");
}

#[track_caller]
pub fn is_quiet(pattern: &str, code: &str) {
    assert_eq!(
        found(&action("", pattern, code)),
        Vec::<String>::new(),
        "{code}"
    );
}

pub const WORD: &str = r#"[!-~]{1,32} "\n""#;

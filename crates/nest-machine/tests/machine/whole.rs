//! What only the whole specification shows: said once each, and nothing twice.

use nest_diag::Code;
use nest_machine::{Overrides, compile};
use nest_syntax::Alone;

#[track_caller]
fn check(text: &str, expected: &[Code]) {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    let codes: Vec<Code> = compiled
        .diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d| d.code)
        .collect();
    assert_eq!(codes, expected, "{text}\n{:#?}", compiled.diagnostics);
    assert_eq!(compiled.machine.is_some(), expected.is_empty());
}

#[test]
fn each_further_start_end_and_name_is_said_once() {
    check(
        "%%\nSTART { }\nEND { }\nSTART { }\nEND { }\nSTART { }\n",
        &[Code::E0206; 3],
    );
    check(
        "%%\na = \"a\" { }\nb = \"b\" { }\na = \"c\" { }\na = \"d\" { }\n",
        &[Code::E0208; 2],
    );
}

#[test]
fn a_server_that_only_greets_is_one() {
    check("%%\nSTART { $close(); }\n", &[]);
    check("%%\nEND { }\n", &[]);
    check("%%\n", &[Code::E0209]);
    check("%%\nint lines;\n", &[Code::E0209]);
}

#[test]
fn a_refused_pattern_is_not_looked_at_again() {
    check("%%\nQUIT \"\\n\" { }\n", &[Code::E0301]);
    check("%%\n[z-a]+ \"\\n\" { }\n", &[Code::E0305]);
    // A macro is refused once, however many rules and macros lead to it.
    let text = "BAD [z-a]\nUSER {BAD}+\n%%\nBAD { }\nUSER \"x\" { }\n(\"y\"|({USER})) { }\n";
    check(text, &[Code::E0305]);
    // Nor where groups have numbers.
    check(&format!("%option backtracking yes\n{text}"), &[Code::E0305]);
    // What has nothing to do with it is still said.
    check(
        "BAD [z-a]\n%%\nBAD { }\n\"\" { }\nNO { }\n",
        &[Code::E0305, Code::E0310, Code::E0301],
    );
}

#[test]
fn a_name_in_a_project_is_that_of_one_file() {
    for (file, name) in [
        ("web.nest", "web"),
        ("a/nest.nest", "server_nest"),
        ("nests.nest", "nests"),
        ("runtime.nest", "server_runtime"),
        ("Makefile", "server_Makefile"),
        ("clean.nest", "server_clean"),
    ] {
        let compiled = compile(file, "%%\n\"a\" { }\n", &mut Alone, &Overrides::default());
        let machine = compiled.machine.expect("the specification is correct");
        assert_eq!(machine.name, name);
    }
}

#[test]
fn a_name_is_that_of_one_group() {
    let rule = |pattern: &str| format!("%option backtracking yes\n%%\n{pattern} \"\\n\" {{ }}\n");
    check(&rule("(?<w> \"a\") (?<v> \"b\") \\k<w>"), &[]);
    check(&rule("((?<w> \"a\")|(?<w> \"b\")) \\k<w>"), &[Code::E0309]);
}

#[test]
fn groups_for_libpcre2_are_nested_within_its_limit() {
    let nested = |levels: usize| {
        let macros = (0..levels).map(|i| format!("M{} {{M{i}}}\n", i + 1));
        let macros: String = macros.collect();
        format!(
            "%option backtracking yes\nM0 \"x\"\n{macros}%%\nM{levels} (?= \"y\") {{ }}\n\"y\" {{ }}\n"
        )
    };
    check(&nested(100), &[]);
    check(&nested(130), &[Code::E0311]);
}

/// Definitions that each use the one before twice, then a rule under the last.
fn doubling(definitions: usize) -> String {
    use std::fmt::Write;
    let mut text = "%state A\nC0 A\n".to_owned();
    for i in 0..definitions {
        let _ = writeln!(text, "C{} C{i} && C{i}", i + 1);
    }
    text + &format!("%%\nC{definitions}: \"a\\n\" {{ $seen(A); }}\n")
}

#[test]
fn conditions_expand_within_a_limit() {
    check(&doubling(7), &[]);
    check(&doubling(22), &[Code::E0008]);
    check(&doubling(5000), &[Code::E0008]);
}

#[test]
fn conditions_are_nested_within_a_limit() {
    let nested = |levels: usize| {
        let chain = (0..levels).map(|i| format!("C{} !(A && C{i})\n", i + 1));
        let chain: String = chain.collect();
        format!("%state A\nC0 A\n{chain}%%\nC{levels}: \"a\\n\" {{ $seen(A); }}\n")
    };
    check(&nested(120), &[]);
    check(&nested(130), &[Code::E0008]);
}

#[test]
fn a_chain_of_condition_macros_keeps_its_meaning() {
    let chain: String = (0..100).map(|i| format!("C{} C{i}\n", i + 1)).collect();
    let text = format!("%state A\nC0 !A\n{chain}%%\nC100: \"a\\n\" {{ $seen(A); }}\n");
    let compiled = compile("t.nest", &text, &mut Alone, &Overrides::default());
    let machine = compiled.machine.expect("the specification is correct");
    assert!(matches!(machine.rules[0].cond, nest_machine::Cond::Not(_)));
}

#[test]
fn a_condition_of_many_rules_counts_for_each() {
    let condition = ["A"; 1200].join(" || ");
    let rules = "\"a\\n\" { $seen(A); }\n".repeat(900);
    let text = format!("%state A\n%%\n{condition}: {{\n{rules}}}\n");
    check(&text, &[Code::E0008]);
}

//! `%decode` and `%encode`: how they are written, and what excludes them.

use nest_machine::{Feature, Machine, Overrides, compile};
use nest_syntax::Alone;

const RULE: &str = "%%\n[^\\n]* \"\\n\" { $reply(\"ok\\n\"); }\n";

/// What is said: the code, the place and the text.
fn said(lines: &str) -> Vec<String> {
    let compiled = compile(
        "t.nest",
        &format!("{lines}\n{RULE}"),
        &mut Alone,
        &Overrides::default(),
    );
    let sources = &compiled.sources;
    let line = |d: &nest_diag::Diagnostic| {
        let line = sources.line(d.span.file, d.span.start);
        let text = sources.text(d.span);
        format!("{:?} {line} `{text}` {}", d.code, d.message)
    };
    compiled.diagnostics.iter().map(line).collect()
}

fn machine(lines: &str) -> Machine {
    let text = format!("{lines}\n{RULE}");
    let compiled = compile("t.nest", &text, &mut Alone, &Overrides::default());
    let said = compiled.diagnostics;
    compiled
        .machine
        .unwrap_or_else(|| panic!("{text}\n{said:#?}"))
}

#[test]
fn stages_are_in_the_order_of_the_lines() {
    let m = machine(
        "%decode one(f) // first\n%decode two ( g , struct state ) /* second */\n%decode z(h, char (*)[4])",
    );
    assert!(m.features.contains(Feature::Stages));
    let found: Vec<_> = m
        .decodes
        .iter()
        .map(|stage| {
            let state = stage.state.as_ref().map(|code| code.text.as_str());
            (stage.name.as_str(), stage.function.text.as_str(), state)
        })
        .collect();
    let expected = [
        ("one", "f", None),
        ("two", "g", Some("struct state")),
        ("z", "h", Some("char (*)[4]")),
    ];
    assert_eq!(found, expected);
    assert!(!machine("").features.contains(Feature::Stages));
}

#[test]
fn each_direction_has_its_own() {
    let m = machine("%encode one(f)\n%decode one(g)\n%encode two(h, struct state)");
    let names = |stages: &[nest_machine::Stage]| {
        let names = stages.iter().map(|stage| stage.name.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&m.decodes), names(&m.encodes)),
        (
            vec!["one".to_string()],
            vec!["one".to_string(), "two".to_string()]
        )
    );
    assert!(m.features.contains(Feature::Stages) && m.features.contains(Feature::Encodes));
    let m = machine("%encode one(f)");
    assert!(!m.features.contains(Feature::Stages) && m.features.contains(Feature::Encodes));
    assert_eq!(
        said("%encode x(f)\n%encode x(g)"),
        ["E0103 2 `x` `x` is declared twice"]
    );
    assert_eq!(
        said("%encode x(f g)"),
        ["E0101 1 `%encode x(f g)` not a `%encode`"]
    );
}

#[test]
fn what_cannot_be_encoded_is_said() {
    for (line, what) in [
        ("%option framing message", "`framing message`"),
        ("%filter request\n%filter persist", "`%filter persist`"),
    ] {
        let n = line.lines().count() + 1;
        let expected = format!("E0604 {n} `%encode` `%encode` and {what} exclude each other");
        assert_eq!(said(&format!("{line}\n%encode x(f)")), [expected]);
    }
    machine("%option inetd\n%encode x(f)");
    machine("%option listen *:80 proxy\n%encode x(f)");
    machine("%filter pass\n%encode x(f)");
}

#[test]
fn what_is_no_stage_is_said() {
    for wrong in [
        "%decode",
        "%decode x",
        "%decode x(",
        "%decode x()",
        "%decode (f)",
        "%decode x(f",
        "%decode x(f,)",
        "%decode x(f, struct t",
        "%decode x(f) more",
        "%decode x(f g)",
        "%decode x(f) { }",
    ] {
        let expected = format!("E0101 1 `{wrong}` not a `%decode`");
        assert_eq!(said(wrong), [expected]);
    }
    assert_eq!(
        said("%decode x(f)\n%decode y(f)\n%decode x(g)"),
        ["E0103 3 `x` `x` is declared twice"]
    );
}

#[test]
fn nothing_reads_before_a_stage() {
    for (line, what) in [
        ("%option inetd", "`inetd`"),
        ("%option listen *:80 proxy", "the word `proxy` of `listen`"),
        ("%option framing message", "`framing message`"),
        ("%filter proxy", "`%filter proxy`"),
    ] {
        let expected = format!("E0604 2 `%decode` `%decode` and {what} exclude each other");
        assert_eq!(said(&format!("{line}\n%decode x(f)")), [expected]);
    }
    assert_eq!(
        said("%filter request\n%decode x(f)"),
        ["E0702 2 `%decode` a filter reads the first message before `%decode` has decoded it"]
    );
    machine("%filter pass\n%decode x(f)\n%option tls a.pem a.key");
}
